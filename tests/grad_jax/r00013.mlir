// input 0: 1.0943927610497592 1.0659075447961772 0.9330701963530266 -0.7156609157505702
// grad 0: 2.175513401026624 2.115118076643448 1.7063378365785893 -1.2330137993243309
// input 1: -1.2684016268447358 1.33939734133819 0.34137507314130566 -1.4921077391211008 1.2312215341975135 1.4544104257126662 -0.6411101875014887 0.9409833691169385
// grad 1: -2.3606954355341254 2.3773844032961664 0.5339739839858887 -2.8210026790764937 2.281017194298445 2.6312457462716132 -1.2030008051445458 1.6231618658509446
// value: 15.61407863792613
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x2xf64>, %arg1: tensor<2x2x2xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %0 = stablehlo.abs %arg0 : tensor<2x2xf64>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x2xf64>
    %2 = stablehlo.add %0, %1 : tensor<2x2xf64>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x2xf64>
    %4 = chlo.polygamma %3, %2 : tensor<2x2xf64>, tensor<2x2xf64> -> tensor<2x2xf64>
    %5 = stablehlo.iota dim = 0 : tensor<2xi64>
    %6 = stablehlo.reshape %5 : (tensor<2xi64>) -> tensor<2x1xi64>
    %7 = stablehlo.convert %6 : (tensor<2x1xi64>) -> tensor<2x1xf64>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<2x1xf64>) -> tensor<2x2xf64>
    %9 = stablehlo.add %4, %8 : tensor<2x2xf64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %10 = call @_std(%9, %c) : (tensor<2x2xf64>, tensor<i64>) -> tensor<2xf64>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %11 = stablehlo.reduce(%arg1 init: %cst_1) applies stablehlo.multiply across dimensions = [0] : (tensor<2x2x2xf64>, tensor<f64>) -> tensor<2x2xf64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2x2xf64>
    %13 = stablehlo.add %4, %12 : tensor<2x2xf64>
    %14 = stablehlo.sine %13 : tensor<2x2xf64>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %15 = stablehlo.reduce(%14 init: %cst_3) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf64>, tensor<f64>) -> tensor<f64>
    %cst_4 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %16 = stablehlo.divide %15, %cst_4 : tensor<f64>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %17 = stablehlo.add %cst_5, %16 : tensor<f64>
    %cst_6 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %18 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %19 = stablehlo.add %10, %18 : tensor<2xf64>
    %20 = stablehlo.sine %19 : tensor<2xf64>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %21 = stablehlo.reduce(%20 init: %cst_7) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    %cst_8 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %22 = stablehlo.divide %21, %cst_8 : tensor<f64>
    %23 = stablehlo.add %17, %22 : tensor<f64>
    %cst_9 = stablehlo.constant dense<6.000000e-01> : tensor<f64>
    %24 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f64>) -> tensor<2x2xf64>
    %25 = stablehlo.add %11, %24 : tensor<2x2xf64>
    %26 = stablehlo.sine %25 : tensor<2x2xf64>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %27 = stablehlo.reduce(%26 init: %cst_10) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf64>, tensor<f64>) -> tensor<f64>
    %cst_11 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %28 = stablehlo.divide %27, %cst_11 : tensor<f64>
    %29 = stablehlo.add %23, %28 : tensor<f64>
    %30 = stablehlo.multiply %arg0, %arg0 : tensor<2x2xf64>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %31 = stablehlo.reduce(%30 init: %cst_12) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf64>, tensor<f64>) -> tensor<f64>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %32 = stablehlo.add %cst_13, %31 : tensor<f64>
    %33 = stablehlo.multiply %arg1, %arg1 : tensor<2x2x2xf64>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %34 = stablehlo.reduce(%33 init: %cst_14) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x2x2xf64>, tensor<f64>) -> tensor<f64>
    %35 = stablehlo.add %32, %34 : tensor<f64>
    %36 = stablehlo.add %29, %35 : tensor<f64>
    return %36 : tensor<f64>
  }
  func.func private @_std(%arg0: tensor<2x2xf64>, %arg1: tensor<i64>) -> tensor<2xf64> {
    %0 = call @_var(%arg0, %arg1) : (tensor<2x2xf64>, tensor<i64>) -> tensor<2xf64>
    %1 = stablehlo.sqrt %0 : tensor<2xf64>
    return %1 : tensor<2xf64>
  }
  func.func private @_var(%arg0: tensor<2x2xf64>, %arg1: tensor<i64>) -> tensor<2xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<2x2xf64>, tensor<f64>) -> tensor<2xf64>
    %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<2xf64>) -> tensor<1x2xf64>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<1x2xf64>
    %3 = stablehlo.divide %1, %2 : tensor<1x2xf64>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x2xf64>) -> tensor<2x2xf64>
    %5 = stablehlo.subtract %arg0, %4 : tensor<2x2xf64>
    %6 = chlo.square %5 : tensor<2x2xf64> -> tensor<2x2xf64>
    %7 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<f64>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %8 = stablehlo.subtract %cst_1, %7 : tensor<f64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %9 = stablehlo.reduce(%6 init: %cst_2) applies stablehlo.add across dimensions = [0] : (tensor<2x2xf64>, tensor<f64>) -> tensor<2xf64>
    %10 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %11 = stablehlo.divide %9, %10 : tensor<2xf64>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %12 = stablehlo.compare GT, %8, %cst_3, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %cst_4 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %13 = call @_where(%12, %11, %cst_4) : (tensor<i1>, tensor<2xf64>, tensor<f64>) -> tensor<2xf64>
    return %13 : tensor<2xf64>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<2xf64>, %arg2: tensor<f64>) -> tensor<2xf64> {
    %0 = stablehlo.convert %arg2 : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<i1>, tensor<2xf64>
    return %2 : tensor<2xf64>
  }
}
