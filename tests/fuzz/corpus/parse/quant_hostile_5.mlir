func.func @main(%a: tensor<3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  return
}
