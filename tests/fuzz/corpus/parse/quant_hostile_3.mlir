func.func @main(%a: tensor<2x!quant.uniform<i8:f32:7, {0.5, 0.25}>>) {
  return
}
