func.func @f() {
  %a = stablehlo.constant dense<[[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 5.0]]> : tensor<3x3xf32>
  %b = stablehlo.constant dense<[[7.0, 8.0, 9.0]]> : tensor<1x3xf32>
  %r = "stablehlo.triangular_solve"(%a, %b) {left_sbroadcast_in_dimer = true, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf32>, tensor<1x3xf32>) -> tensor<1x3xf32>
  func.return
}
