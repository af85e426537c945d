// input 0: -1.4879152695208693 1.116530742811627
// grad 0: -2.778428141130095 2.33062772640879
// input 1: -0.7717728371867573 0.4531838935850556 -0.04772285109010621 0.8656004825026082
// grad 1: -1.4282208333203048 1.030069474003422 0.10732858722123273 1.7574514481326755
// input 2: 1.1421676961069216 1.1991659894305498 0.0629786808256998 1.3924968731415412
// grad 2: 2.3882413629864367 2.489115718564138 0.37546173622125745 2.829332807175779
// value: 12.060942771578517
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x2xf64>, %arg1: tensor<4xf64>, %arg2: tensor<1x4xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %0 = stablehlo.slice %arg2 [0:1:2, 0:4] : (tensor<1x4xf64>) -> tensor<1x4xf64>
    %1 = stablehlo.compare GT, %arg0, %arg0, FLOAT : (tensor<1x2xf64>, tensor<1x2xf64>) -> tensor<1x2xi1>
    %2 = stablehlo.multiply %arg0, %arg0 : tensor<1x2xf64>
    %3 = call @_where(%1, %2, %arg0) : (tensor<1x2xi1>, tensor<1x2xf64>, tensor<1x2xf64>) -> tensor<1x2xf64>
    %4 = call @elu(%arg1) : (tensor<4xf64>) -> tensor<4xf64>
    %5 = stablehlo.multiply %3, %3 : tensor<1x2xf64>
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<1x2xf64>
    %7 = stablehlo.add %5, %6 : tensor<1x2xf64>
    %8 = stablehlo.rsqrt %7 : tensor<1x2xf64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<1x4xf64>
    %10 = stablehlo.add %0, %9 : tensor<1x4xf64>
    %11 = stablehlo.sine %10 : tensor<1x4xf64>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %12 = stablehlo.reduce(%11 init: %cst_1) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x4xf64>, tensor<f64>) -> tensor<f64>
    %cst_2 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %13 = stablehlo.divide %12, %cst_2 : tensor<f64>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %14 = stablehlo.add %cst_3, %13 : tensor<f64>
    %cst_4 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %15 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<1x2xf64>
    %16 = stablehlo.add %3, %15 : tensor<1x2xf64>
    %17 = stablehlo.sine %16 : tensor<1x2xf64>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %18 = stablehlo.reduce(%17 init: %cst_5) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x2xf64>, tensor<f64>) -> tensor<f64>
    %cst_6 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %19 = stablehlo.divide %18, %cst_6 : tensor<f64>
    %20 = stablehlo.add %14, %19 : tensor<f64>
    %cst_7 = stablehlo.constant dense<6.000000e-01> : tensor<f64>
    %21 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %22 = stablehlo.add %4, %21 : tensor<4xf64>
    %23 = stablehlo.sine %22 : tensor<4xf64>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %24 = stablehlo.reduce(%23 init: %cst_8) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
    %cst_9 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %25 = stablehlo.divide %24, %cst_9 : tensor<f64>
    %26 = stablehlo.add %20, %25 : tensor<f64>
    %cst_10 = stablehlo.constant dense<0.89999999999999991> : tensor<f64>
    %27 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<1x2xf64>
    %28 = stablehlo.add %8, %27 : tensor<1x2xf64>
    %29 = stablehlo.sine %28 : tensor<1x2xf64>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %30 = stablehlo.reduce(%29 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x2xf64>, tensor<f64>) -> tensor<f64>
    %cst_12 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %31 = stablehlo.divide %30, %cst_12 : tensor<f64>
    %32 = stablehlo.add %26, %31 : tensor<f64>
    %33 = stablehlo.multiply %arg0, %arg0 : tensor<1x2xf64>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %34 = stablehlo.reduce(%33 init: %cst_13) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x2xf64>, tensor<f64>) -> tensor<f64>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %35 = stablehlo.add %cst_14, %34 : tensor<f64>
    %36 = stablehlo.multiply %arg1, %arg1 : tensor<4xf64>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %37 = stablehlo.reduce(%36 init: %cst_15) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
    %38 = stablehlo.add %35, %37 : tensor<f64>
    %39 = stablehlo.multiply %arg2, %arg2 : tensor<1x4xf64>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %40 = stablehlo.reduce(%39 init: %cst_16) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x4xf64>, tensor<f64>) -> tensor<f64>
    %41 = stablehlo.add %38, %40 : tensor<f64>
    %42 = stablehlo.add %32, %41 : tensor<f64>
    return %42 : tensor<f64>
  }
  func.func private @_where(%arg0: tensor<1x2xi1>, %arg1: tensor<1x2xf64>, %arg2: tensor<1x2xf64>) -> tensor<1x2xf64> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<1x2xi1>, tensor<1x2xf64>
    return %0 : tensor<1x2xf64>
  }
  func.func private @elu(%arg0: tensor<4xf64>) -> tensor<4xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %1 = stablehlo.compare GT, %arg0, %0, FLOAT : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %3 = stablehlo.compare GT, %arg0, %2, FLOAT : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %4 = call @_where_0(%3, %cst_1, %arg0) : (tensor<4xi1>, tensor<f64>, tensor<4xf64>) -> tensor<4xf64>
    %5 = stablehlo.exponential_minus_one %4 : tensor<4xf64>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %6 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %7 = stablehlo.multiply %6, %5 : tensor<4xf64>
    %8 = call @_where_1(%1, %arg0, %7) : (tensor<4xi1>, tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    return %8 : tensor<4xf64>
  }
  func.func private @_where_0(%arg0: tensor<4xi1>, %arg1: tensor<f64>, %arg2: tensor<4xf64>) -> tensor<4xf64> {
    %0 = stablehlo.convert %arg1 : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %2 = stablehlo.select %arg0, %1, %arg2 : tensor<4xi1>, tensor<4xf64>
    return %2 : tensor<4xf64>
  }
  func.func private @_where_1(%arg0: tensor<4xi1>, %arg1: tensor<4xf64>, %arg2: tensor<4xf64>) -> tensor<4xf64> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<4xi1>, tensor<4xf64>
    return %0 : tensor<4xf64>
  }
}
