func.func @main(%a: tensor<2x3x4xf32>, %i: tensor<2x1xi32>) -> tensor<?x?x?xf32> {
  %s = stablehlo.constant dense<1> : tensor<3xi32>
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [0, 1, 2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>} : (tensor<2x3x4xf32>, tensor<2x1xi32>, tensor<3xi32>) -> tensor<?x?x?xf32>
  return %0 : tensor<?x?x?xf32>
}
