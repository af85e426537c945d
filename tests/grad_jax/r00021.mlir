// input 0: 0.843352766452413 0.317541088712904 0.6294035712252755 -1.2327063812333732 0.3921432476217128 1.4424321066733583 -0.22978448292073184 -1.1627907499579733 1.374799336097527 0.5279465547651205 -0.9084217921651633 0.5161777695803611
// grad 0: 2.461660309802035 2.377374197419362 -0.9124867157927341 -0.9986898050850024 4.187543870267503 -1.5817856283068794 1.0606564693129417 1.0337331510356553 -1.711490124376339 1.8474212923593434 -0.10246948544487733 -1.133827212515761
// value: 9.359965845606371
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x3xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %0 = call @trapezoid(%arg0) : (tensor<4x3xf64>) -> tensor<3xf64>
    %1 = call @resize(%0) : (tensor<3xf64>) -> tensor<1x1x3x4xf64>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %3 = stablehlo.multiply %2, %0 : tensor<3xf64>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %5 = stablehlo.add %3, %4 : tensor<3xf64>
    %6 = stablehlo.sine %5 : tensor<3xf64>
    %7 = call @resize_0(%6) : (tensor<3xf64>) -> tensor<1x1x3x2xf64>
    %8 = stablehlo.transpose %1, dims = [0, 2, 3, 1] : (tensor<1x1x3x4xf64>) -> tensor<1x3x4x1xf64>
    %9 = stablehlo.transpose %7, dims = [2, 3, 1, 0] : (tensor<1x1x3x2xf64>) -> tensor<3x2x1x1xf64>
    %10 = stablehlo.convolution(%8, %9) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[2, -1], [1, 2]], lhs_dilate = [2, 1], rhs_dilate = [1, 2], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<1x3x4x1xf64>, tensor<3x2x1x1xf64>) -> tensor<1x4x5x1xf64>
    %11 = stablehlo.exponential_minus_one %10 : tensor<1x4x5x1xf64>
    %cst_1 = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
    %12 = stablehlo.reduce(%0 init: %cst_1) applies stablehlo.minimum across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %13 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<4x3xf64>
    %14 = stablehlo.add %arg0, %13 : tensor<4x3xf64>
    %15 = stablehlo.sine %14 : tensor<4x3xf64>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %16 = stablehlo.reduce(%15 init: %cst_3) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x3xf64>, tensor<f64>) -> tensor<f64>
    %cst_4 = stablehlo.constant dense<1.200000e+01> : tensor<f64>
    %17 = stablehlo.divide %16, %cst_4 : tensor<f64>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %18 = stablehlo.add %cst_5, %17 : tensor<f64>
    %cst_6 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %19 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %20 = stablehlo.add %0, %19 : tensor<3xf64>
    %21 = stablehlo.sine %20 : tensor<3xf64>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %22 = stablehlo.reduce(%21 init: %cst_7) applies stablehlo.add across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
    %cst_8 = stablehlo.constant dense<3.000000e+00> : tensor<f64>
    %23 = stablehlo.divide %22, %cst_8 : tensor<f64>
    %24 = stablehlo.add %18, %23 : tensor<f64>
    %cst_9 = stablehlo.constant dense<6.000000e-01> : tensor<f64>
    %25 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f64>) -> tensor<1x4x5x1xf64>
    %26 = stablehlo.add %10, %25 : tensor<1x4x5x1xf64>
    %27 = stablehlo.sine %26 : tensor<1x4x5x1xf64>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %28 = stablehlo.reduce(%27 init: %cst_10) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<1x4x5x1xf64>, tensor<f64>) -> tensor<f64>
    %cst_11 = stablehlo.constant dense<2.000000e+01> : tensor<f64>
    %29 = stablehlo.divide %28, %cst_11 : tensor<f64>
    %30 = stablehlo.add %24, %29 : tensor<f64>
    %cst_12 = stablehlo.constant dense<0.89999999999999991> : tensor<f64>
    %31 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f64>) -> tensor<1x4x5x1xf64>
    %32 = stablehlo.add %11, %31 : tensor<1x4x5x1xf64>
    %33 = stablehlo.sine %32 : tensor<1x4x5x1xf64>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %34 = stablehlo.reduce(%33 init: %cst_13) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<1x4x5x1xf64>, tensor<f64>) -> tensor<f64>
    %cst_14 = stablehlo.constant dense<2.000000e+01> : tensor<f64>
    %35 = stablehlo.divide %34, %cst_14 : tensor<f64>
    %36 = stablehlo.add %30, %35 : tensor<f64>
    %cst_15 = stablehlo.constant dense<1.200000e+00> : tensor<f64>
    %37 = stablehlo.add %12, %cst_15 : tensor<f64>
    %38 = stablehlo.sine %37 : tensor<f64>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %39 = stablehlo.reduce(%38 init: %cst_16) applies stablehlo.add across dimensions = [] : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %cst_17 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %40 = stablehlo.divide %39, %cst_17 : tensor<f64>
    %41 = stablehlo.add %36, %40 : tensor<f64>
    %42 = stablehlo.multiply %arg0, %arg0 : tensor<4x3xf64>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %43 = stablehlo.reduce(%42 init: %cst_18) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x3xf64>, tensor<f64>) -> tensor<f64>
    %cst_19 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %44 = stablehlo.add %cst_19, %43 : tensor<f64>
    %45 = stablehlo.add %41, %44 : tensor<f64>
    return %45 : tensor<f64>
  }
  func.func private @trapezoid(%arg0: tensor<4x3xf64>) -> tensor<3xf64> {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<4x3xf64>) -> tensor<3x4xf64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<3x4xf64>, tensor<f64>) -> tensor<3xf64>
    %2 = stablehlo.slice %0 [0:3, 0:1] : (tensor<3x4xf64>) -> tensor<3x1xf64>
    %3 = stablehlo.reshape %2 : (tensor<3x1xf64>) -> tensor<3xf64>
    %4 = stablehlo.slice %0 [0:3, 3:4] : (tensor<3x4xf64>) -> tensor<3x1xf64>
    %5 = stablehlo.reshape %4 : (tensor<3x1xf64>) -> tensor<3xf64>
    %6 = stablehlo.add %3, %5 : tensor<3xf64>
    %cst_0 = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %7 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %8 = stablehlo.multiply %7, %6 : tensor<3xf64>
    %9 = stablehlo.subtract %1, %8 : tensor<3xf64>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %10 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %11 = stablehlo.multiply %10, %9 : tensor<3xf64>
    return %11 : tensor<3xf64>
  }
  func.func private @resize(%arg0: tensor<3xf64>) -> tensor<1x1x3x4xf64> {
    %0 = stablehlo.reshape %arg0 : (tensor<3xf64>) -> tensor<1x3xf64>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<1x3xf64>) -> tensor<4x3xf64>
    %2 = stablehlo.reshape %1 : (tensor<4x3xf64>) -> tensor<12xf64>
    %3 = stablehlo.reshape %2 : (tensor<12xf64>) -> tensor<1x1x3x4xf64>
    return %3 : tensor<1x1x3x4xf64>
  }
  func.func private @resize_0(%arg0: tensor<3xf64>) -> tensor<1x1x3x2xf64> {
    %0 = stablehlo.reshape %arg0 : (tensor<3xf64>) -> tensor<1x3xf64>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<1x3xf64>) -> tensor<2x3xf64>
    %2 = stablehlo.reshape %1 : (tensor<2x3xf64>) -> tensor<6xf64>
    %3 = stablehlo.reshape %2 : (tensor<6xf64>) -> tensor<1x1x3x2xf64>
    return %3 : tensor<1x1x3x2xf64>
  }
}
