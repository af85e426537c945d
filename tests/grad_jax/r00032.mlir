// input 0: -1.0192715088756958 0.2166884864162517
// grad 0: -1.017517745244188 2.0204741228848233
// value: 0.9172747682682179
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %0 = chlo.asinh %arg0 : tensor<2xf64> -> tensor<2xf64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %1 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %2 = stablehlo.divide %1, %cst_0 : tensor<f64>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %4 = stablehlo.multiply %3, %3 : tensor<2xf64>
    %cst_1 = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %6 = stablehlo.add %4, %5 : tensor<2xf64>
    %7 = stablehlo.divide %arg0, %6 : tensor<2xf64>
    %8 = stablehlo.compare GT, %arg0, %0, FLOAT : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xi1>
    %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %9 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %10 = stablehlo.multiply %9, %arg0 : tensor<2xf64>
    %11 = stablehlo.select %8, %0, %10 : tensor<2xi1>, tensor<2xf64>
    %12 = stablehlo.compare GT, %0, %arg0, FLOAT : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xi1>
    %cst_3 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %13 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %14 = stablehlo.multiply %13, %0 : tensor<2xf64>
    %15 = stablehlo.select %12, %arg0, %14 : tensor<2xi1>, tensor<2xf64>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %16 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %17 = stablehlo.add %0, %16 : tensor<2xf64>
    %18 = stablehlo.sine %17 : tensor<2xf64>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %19 = stablehlo.reduce(%18 init: %cst_5) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    %cst_6 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %20 = stablehlo.divide %19, %cst_6 : tensor<f64>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %21 = stablehlo.add %cst_7, %20 : tensor<f64>
    %cst_8 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %22 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %23 = stablehlo.add %7, %22 : tensor<2xf64>
    %24 = stablehlo.sine %23 : tensor<2xf64>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %25 = stablehlo.reduce(%24 init: %cst_9) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    %cst_10 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %26 = stablehlo.divide %25, %cst_10 : tensor<f64>
    %27 = stablehlo.add %21, %26 : tensor<f64>
    %cst_11 = stablehlo.constant dense<6.000000e-01> : tensor<f64>
    %28 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %29 = stablehlo.add %11, %28 : tensor<2xf64>
    %30 = stablehlo.sine %29 : tensor<2xf64>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %31 = stablehlo.reduce(%30 init: %cst_12) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    %cst_13 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %32 = stablehlo.divide %31, %cst_13 : tensor<f64>
    %33 = stablehlo.add %27, %32 : tensor<f64>
    %cst_14 = stablehlo.constant dense<0.89999999999999991> : tensor<f64>
    %34 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %35 = stablehlo.add %15, %34 : tensor<2xf64>
    %36 = stablehlo.sine %35 : tensor<2xf64>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %37 = stablehlo.reduce(%36 init: %cst_15) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    %cst_16 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %38 = stablehlo.divide %37, %cst_16 : tensor<f64>
    %39 = stablehlo.add %33, %38 : tensor<f64>
    %40 = stablehlo.multiply %arg0, %arg0 : tensor<2xf64>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %41 = stablehlo.reduce(%40 init: %cst_17) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %42 = stablehlo.add %cst_18, %41 : tensor<f64>
    %43 = stablehlo.add %39, %42 : tensor<f64>
    return %43 : tensor<f64>
  }
}
