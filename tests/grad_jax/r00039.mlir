// input 0: 0.00513587145422445 0.1180062186194657 -1.0923773941341346 -0.580840294735023
// grad 0: 0.5884155452422367 0.791053461755109 -1.8603362245945632 -0.6460694310606848
// value: 1.5959262689565832
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x1xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %0 = stablehlo.tanh %arg0 : tensor<4x1xf64>
    %cst = stablehlo.constant dense<9.000000e-01> : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<4x1xf64>
    %2 = stablehlo.multiply %1, %0 : tensor<4x1xf64>
    %3 = chlo.erf_inv %2 : tensor<4x1xf64> -> tensor<4x1xf64>
    %4 = stablehlo.tanh %arg0 : tensor<4x1xf64>
    %cst_0 = stablehlo.constant dense<9.000000e-01> : tensor<f64>
    %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<4x1xf64>
    %6 = stablehlo.multiply %5, %4 : tensor<4x1xf64>
    %7 = chlo.asin %6 : tensor<4x1xf64> -> tensor<4x1xf64>
    %cst_1 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %8 = stablehlo.reduce(%3 init: %cst_1) applies stablehlo.maximum across dimensions = [1] : (tensor<4x1xf64>, tensor<f64>) -> tensor<4xf64>
    %cst_2 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %9 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %10 = stablehlo.maximum %9, %8 : tensor<4xf64>
    %11 = stablehlo.is_finite %10 : (tensor<4xf64>) -> tensor<4xi1>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %13 = stablehlo.select %11, %10, %12 : tensor<4xi1>, tensor<4xf64>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0] : (tensor<4xf64>) -> tensor<4x1xf64>
    %15 = stablehlo.subtract %3, %14 : tensor<4x1xf64>
    %16 = stablehlo.exponential %15 : tensor<4x1xf64>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %17 = stablehlo.reduce(%16 init: %cst_4) applies stablehlo.add across dimensions = [1] : (tensor<4x1xf64>, tensor<f64>) -> tensor<4xf64>
    %18 = stablehlo.abs %17 : tensor<4xf64>
    %19 = stablehlo.log %18 : tensor<4xf64>
    %20 = stablehlo.add %19, %13 : tensor<4xf64>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %21 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<4x1xf64>
    %22 = stablehlo.add %3, %21 : tensor<4x1xf64>
    %23 = stablehlo.sine %22 : tensor<4x1xf64>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %24 = stablehlo.reduce(%23 init: %cst_6) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x1xf64>, tensor<f64>) -> tensor<f64>
    %cst_7 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %25 = stablehlo.divide %24, %cst_7 : tensor<f64>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %26 = stablehlo.add %cst_8, %25 : tensor<f64>
    %cst_9 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %27 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f64>) -> tensor<4x1xf64>
    %28 = stablehlo.add %7, %27 : tensor<4x1xf64>
    %29 = stablehlo.sine %28 : tensor<4x1xf64>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %30 = stablehlo.reduce(%29 init: %cst_10) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x1xf64>, tensor<f64>) -> tensor<f64>
    %cst_11 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %31 = stablehlo.divide %30, %cst_11 : tensor<f64>
    %32 = stablehlo.add %26, %31 : tensor<f64>
    %cst_12 = stablehlo.constant dense<6.000000e-01> : tensor<f64>
    %33 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %34 = stablehlo.add %20, %33 : tensor<4xf64>
    %35 = stablehlo.sine %34 : tensor<4xf64>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %36 = stablehlo.reduce(%35 init: %cst_13) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
    %cst_14 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %37 = stablehlo.divide %36, %cst_14 : tensor<f64>
    %38 = stablehlo.add %32, %37 : tensor<f64>
    %39 = stablehlo.multiply %arg0, %arg0 : tensor<4x1xf64>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %40 = stablehlo.reduce(%39 init: %cst_15) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x1xf64>, tensor<f64>) -> tensor<f64>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %41 = stablehlo.add %cst_16, %40 : tensor<f64>
    %42 = stablehlo.add %38, %41 : tensor<f64>
    return %42 : tensor<f64>
  }
}
