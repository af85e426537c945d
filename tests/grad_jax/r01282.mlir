// input 0: 0.7152479647578396 1.441466901029445
// grad 0: 1.8221022921089938 2.736456518065663
// value: 5.240352969891393
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %0 = chlo.atan %arg0 : tensor<2xf64> -> tensor<2xf64>
    %1 = stablehlo.slice %arg0 [1:2:2] : (tensor<2xf64>) -> tensor<1xf64>
    %2 = stablehlo.tanh %arg0 : tensor<2xf64>
    %3 = stablehlo.tan %2 : tensor<2xf64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %5 = stablehlo.add %0, %4 : tensor<2xf64>
    %6 = stablehlo.sine %5 : tensor<2xf64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %7 = stablehlo.reduce(%6 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %8 = stablehlo.divide %7, %cst_1 : tensor<f64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %9 = stablehlo.add %cst_2, %8 : tensor<f64>
    %cst_3 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %10 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %11 = stablehlo.add %1, %10 : tensor<1xf64>
    %12 = stablehlo.sine %11 : tensor<1xf64>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %13 = stablehlo.reduce(%12 init: %cst_4) applies stablehlo.add across dimensions = [0] : (tensor<1xf64>, tensor<f64>) -> tensor<f64>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %14 = stablehlo.divide %13, %cst_5 : tensor<f64>
    %15 = stablehlo.add %9, %14 : tensor<f64>
    %cst_6 = stablehlo.constant dense<6.000000e-01> : tensor<f64>
    %16 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %17 = stablehlo.add %3, %16 : tensor<2xf64>
    %18 = stablehlo.sine %17 : tensor<2xf64>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %19 = stablehlo.reduce(%18 init: %cst_7) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    %cst_8 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %20 = stablehlo.divide %19, %cst_8 : tensor<f64>
    %21 = stablehlo.add %15, %20 : tensor<f64>
    %22 = stablehlo.multiply %arg0, %arg0 : tensor<2xf64>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %23 = stablehlo.reduce(%22 init: %cst_9) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %24 = stablehlo.add %cst_10, %23 : tensor<f64>
    %25 = stablehlo.add %21, %24 : tensor<f64>
    return %25 : tensor<f64>
  }
}
