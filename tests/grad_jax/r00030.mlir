// input 0: -0.7926035855624016 -0.21267900400256656
// grad 0: -1.5852071711248032 -0.4253580080051331
// input 1: -1.2231809503401236 0.27780827086413096 0.8480960400140658 1.1027339912433969
// grad 1: -2.3557173830090687 0.6462610593994407 1.7868365976993104 2.2961125001579723
// input 2: -0.5206354313922478 -1.1712588848711292
// grad 2: -1.0412708627844955 -2.3425177697422583
// value: 8.664343294875449
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x2xf64>, %arg1: tensor<1x4xf64>, %arg2: tensor<2x1xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %0 = call @log_softmax(%arg1) : (tensor<1x4xf64>) -> tensor<1x4xf64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %1 = stablehlo.reduce(%arg1 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<1x4xf64>, tensor<f64>) -> tensor<1xf64>
    %cst_0 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %3 = stablehlo.divide %1, %2 : tensor<1xf64>
    %4 = stablehlo.atan2 %arg1, %arg1 : tensor<1x4xf64>
    %5 = stablehlo.abs %3 : tensor<1xf64>
    %cst_1 = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %7 = stablehlo.add %5, %6 : tensor<1xf64>
    %8 = chlo.lgamma %7 : tensor<1xf64> -> tensor<1xf64>
    %9 = call @cumsum(%0) : (tensor<1x4xf64>) -> tensor<1x4xf64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<1x4xf64>
    %11 = stablehlo.add %0, %10 : tensor<1x4xf64>
    %12 = stablehlo.sine %11 : tensor<1x4xf64>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %13 = stablehlo.reduce(%12 init: %cst_3) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x4xf64>, tensor<f64>) -> tensor<f64>
    %cst_4 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %14 = stablehlo.divide %13, %cst_4 : tensor<f64>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %15 = stablehlo.add %cst_5, %14 : tensor<f64>
    %cst_6 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %16 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %17 = stablehlo.add %3, %16 : tensor<1xf64>
    %18 = stablehlo.sine %17 : tensor<1xf64>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %19 = stablehlo.reduce(%18 init: %cst_7) applies stablehlo.add across dimensions = [0] : (tensor<1xf64>, tensor<f64>) -> tensor<f64>
    %cst_8 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %20 = stablehlo.divide %19, %cst_8 : tensor<f64>
    %21 = stablehlo.add %15, %20 : tensor<f64>
    %cst_9 = stablehlo.constant dense<6.000000e-01> : tensor<f64>
    %22 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f64>) -> tensor<1x4xf64>
    %23 = stablehlo.add %4, %22 : tensor<1x4xf64>
    %24 = stablehlo.sine %23 : tensor<1x4xf64>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %25 = stablehlo.reduce(%24 init: %cst_10) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x4xf64>, tensor<f64>) -> tensor<f64>
    %cst_11 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %26 = stablehlo.divide %25, %cst_11 : tensor<f64>
    %27 = stablehlo.add %21, %26 : tensor<f64>
    %cst_12 = stablehlo.constant dense<0.89999999999999991> : tensor<f64>
    %28 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %29 = stablehlo.add %8, %28 : tensor<1xf64>
    %30 = stablehlo.sine %29 : tensor<1xf64>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %31 = stablehlo.reduce(%30 init: %cst_13) applies stablehlo.add across dimensions = [0] : (tensor<1xf64>, tensor<f64>) -> tensor<f64>
    %cst_14 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %32 = stablehlo.divide %31, %cst_14 : tensor<f64>
    %33 = stablehlo.add %27, %32 : tensor<f64>
    %cst_15 = stablehlo.constant dense<1.200000e+00> : tensor<f64>
    %34 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f64>) -> tensor<1x4xf64>
    %35 = stablehlo.add %9, %34 : tensor<1x4xf64>
    %36 = stablehlo.sine %35 : tensor<1x4xf64>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %37 = stablehlo.reduce(%36 init: %cst_16) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x4xf64>, tensor<f64>) -> tensor<f64>
    %cst_17 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %38 = stablehlo.divide %37, %cst_17 : tensor<f64>
    %39 = stablehlo.add %33, %38 : tensor<f64>
    %40 = stablehlo.multiply %arg0, %arg0 : tensor<1x2xf64>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %41 = stablehlo.reduce(%40 init: %cst_18) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x2xf64>, tensor<f64>) -> tensor<f64>
    %cst_19 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %42 = stablehlo.add %cst_19, %41 : tensor<f64>
    %43 = stablehlo.multiply %arg1, %arg1 : tensor<1x4xf64>
    %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %44 = stablehlo.reduce(%43 init: %cst_20) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x4xf64>, tensor<f64>) -> tensor<f64>
    %45 = stablehlo.add %42, %44 : tensor<f64>
    %46 = stablehlo.multiply %arg2, %arg2 : tensor<2x1xf64>
    %cst_21 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %47 = stablehlo.reduce(%46 init: %cst_21) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x1xf64>, tensor<f64>) -> tensor<f64>
    %48 = stablehlo.add %45, %47 : tensor<f64>
    %49 = stablehlo.add %39, %48 : tensor<f64>
    return %49 : tensor<f64>
  }
  func.func private @log_softmax(%arg0: tensor<1x4xf64>) -> tensor<1x4xf64> {
    %cst = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [0] : (tensor<1x4xf64>, tensor<f64>) -> tensor<4xf64>
    %cst_0 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %2 = stablehlo.maximum %1, %0 : tensor<4xf64>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<4xf64>) -> tensor<1x4xf64>
    %4 = stablehlo.subtract %arg0, %3 : tensor<1x4xf64>
    %5 = stablehlo.exponential %4 : tensor<1x4xf64>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %6 = stablehlo.reduce(%5 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<1x4xf64>, tensor<f64>) -> tensor<4xf64>
    %7 = stablehlo.broadcast_in_dim %6, dims = [1] : (tensor<4xf64>) -> tensor<1x4xf64>
    %8 = stablehlo.log %7 : tensor<1x4xf64>
    %9 = stablehlo.subtract %4, %8 : tensor<1x4xf64>
    return %9 : tensor<1x4xf64>
  }
  func.func private @cumsum(%arg0: tensor<1x4xf64>) -> tensor<1x4xf64> {
    %0 = call @cumsum_0(%arg0) : (tensor<1x4xf64>) -> tensor<1x4xf64>
    return %0 : tensor<1x4xf64>
  }
  func.func private @cumsum_0(%arg0: tensor<1x4xf64>) -> tensor<1x4xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<f64>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [3, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 1, 4>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<f64>
      stablehlo.return %2 : tensor<f64>
    }) : (tensor<1x4xf64>, tensor<f64>) -> tensor<1x4xf64>
    return %1 : tensor<1x4xf64>
  }
}
