func.func @main(%a: tensor<2x3x!quant.uniform<i8:f32, 2.0:15>>, %b: tensor<3x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>) -> tensor<2x2x!quant.uniform<i32:f32:1, {0.1:-1, 0.2}>> {
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32, 2.0:15>>, tensor<3x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>) -> tensor<2x2x!quant.uniform<i32:f32:1, {0.1:-1, 0.2}>>
  return %0 : tensor<2x2x!quant.uniform<i32:f32:1, {0.1:-1, 0.2}>>
}
