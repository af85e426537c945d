func.func @main(%a: tensor<2x!quant.uniform<ui64:f32, 0.5>>) {
  return
}
