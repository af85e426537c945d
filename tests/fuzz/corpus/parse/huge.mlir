func.func @f() {
  %0 = stablehlo.constant dense<0> : tensor<1000000000x1000000000xf32>
  return
}
