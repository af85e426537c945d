func.func @f(%a: tensor<2xf32>) {
 check.expect_eq_const %a, dense<"0x0000803F00000040"> : tensor<2xf32>
 check.expect_close %a, %a, max_ulp_difference = 3, min_ulp_difference = -1 : tensor<2xf32>, tensor<2xf32>
 %0 = stablehlo.slice %a [0:2:1] : (tensor<2xf32>) -> tensor<2xf32>
 %1 = stablehlo.reduce_precision %0, format = e5m10 : tensor<2xf32>
 return
}
