!q = !quant.uniform<i8<-127:127>:f32, 0.5:3>
func.func @main(%a: tensor<4x!q>, %b: tensor<2x3x!quant.uniform<u8:bf16:1, {0.1:3, 0.2:4, 0.3}>>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %a : tensor<4x!q>
  %1 = stablehlo.transpose %b, dims = [1, 0] : (tensor<2x3x!quant.uniform<u8:bf16:1, {0.1:3, 0.2:4, 0.3}>>) -> tensor<3x2x!quant.uniform<u8:bf16:0, {0.1:3, 0.2:4, 0.3}>>
  %z = stablehlo.constant dense<3> : tensor<!q>
  %2 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4x!q>, tensor<!q>) -> tensor<!q>
  %3 = stablehlo.uniform_dequantize %0 : (tensor<4x!q>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
