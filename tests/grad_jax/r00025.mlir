// input 0: -1.0178363003039765 -1.499063894486989
// grad 0: -1.866502400181777 -2.5832112444021744
// input 1: -0.8502046066115492 -0.39591210902950413 -1.4939213759570933 -0.9207513588971966
// grad 1: -1.7004092132230983 -0.7918242180590083 -2.9878427519141866 -1.8415027177943932
// value: 8.088961133376905
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2xf64>, %arg1: tensor<4x1xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %1 = stablehlo.add %arg0, %0 : tensor<2xf64>
    %2 = call @hypot(%arg0, %1) : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %3 = stablehlo.reduce(%arg0 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %4 = stablehlo.divide %3, %cst_1 : tensor<f64>
    %5 = stablehlo.multiply %4, %4 : tensor<f64>
    %cst_2 = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %6 = stablehlo.add %5, %cst_2 : tensor<f64>
    %7 = stablehlo.divide %4, %6 : tensor<f64>
    %8 = call @sort(%2) : (tensor<2xf64>) -> tensor<2xf64>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %9 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %10 = stablehlo.add %2, %9 : tensor<2xf64>
    %11 = stablehlo.sine %10 : tensor<2xf64>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %12 = stablehlo.reduce(%11 init: %cst_4) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    %cst_5 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %13 = stablehlo.divide %12, %cst_5 : tensor<f64>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %14 = stablehlo.add %cst_6, %13 : tensor<f64>
    %cst_7 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %15 = stablehlo.add %4, %cst_7 : tensor<f64>
    %16 = stablehlo.sine %15 : tensor<f64>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %17 = stablehlo.reduce(%16 init: %cst_8) applies stablehlo.add across dimensions = [] : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %18 = stablehlo.divide %17, %cst_9 : tensor<f64>
    %19 = stablehlo.add %14, %18 : tensor<f64>
    %cst_10 = stablehlo.constant dense<6.000000e-01> : tensor<f64>
    %20 = stablehlo.add %7, %cst_10 : tensor<f64>
    %21 = stablehlo.sine %20 : tensor<f64>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %22 = stablehlo.reduce(%21 init: %cst_11) applies stablehlo.add across dimensions = [] : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %cst_12 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %23 = stablehlo.divide %22, %cst_12 : tensor<f64>
    %24 = stablehlo.add %19, %23 : tensor<f64>
    %cst_13 = stablehlo.constant dense<0.89999999999999991> : tensor<f64>
    %25 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %26 = stablehlo.add %8, %25 : tensor<2xf64>
    %27 = stablehlo.sine %26 : tensor<2xf64>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %28 = stablehlo.reduce(%27 init: %cst_14) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    %cst_15 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %29 = stablehlo.divide %28, %cst_15 : tensor<f64>
    %30 = stablehlo.add %24, %29 : tensor<f64>
    %31 = stablehlo.multiply %arg0, %arg0 : tensor<2xf64>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %32 = stablehlo.reduce(%31 init: %cst_16) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %33 = stablehlo.add %cst_17, %32 : tensor<f64>
    %34 = stablehlo.multiply %arg1, %arg1 : tensor<4x1xf64>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %35 = stablehlo.reduce(%34 init: %cst_18) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x1xf64>, tensor<f64>) -> tensor<f64>
    %36 = stablehlo.add %33, %35 : tensor<f64>
    %37 = stablehlo.add %30, %36 : tensor<f64>
    return %37 : tensor<f64>
  }
  func.func private @hypot(%arg0: tensor<2xf64>, %arg1: tensor<2xf64>) -> tensor<2xf64> {
    %0 = stablehlo.abs %arg0 : tensor<2xf64>
    %1 = stablehlo.abs %arg1 : tensor<2xf64>
    %cst = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %3 = stablehlo.compare EQ, %0, %2, FLOAT : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xi1>
    %cst_0 = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %5 = stablehlo.compare EQ, %1, %4, FLOAT : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xi1>
    %6 = stablehlo.or %3, %5 : tensor<2xi1>
    %7 = stablehlo.maximum %0, %1 : tensor<2xf64>
    %8 = stablehlo.minimum %0, %1 : tensor<2xf64>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %10 = stablehlo.compare EQ, %7, %9, FLOAT : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xi1>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %11 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %12 = stablehlo.compare EQ, %7, %11, FLOAT : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xi1>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %13 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %14 = call @_where(%12, %13, %7) : (tensor<2xi1>, tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    %15 = stablehlo.divide %8, %14 : tensor<2xf64>
    %16 = chlo.square %15 : tensor<2xf64> -> tensor<2xf64>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %17 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %18 = stablehlo.add %17, %16 : tensor<2xf64>
    %19 = stablehlo.sqrt %18 : tensor<2xf64>
    %20 = stablehlo.multiply %7, %19 : tensor<2xf64>
    %21 = call @_where(%10, %7, %20) : (tensor<2xi1>, tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    %cst_5 = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
    %22 = call @_where_0(%6, %cst_5, %21) : (tensor<2xi1>, tensor<f64>, tensor<2xf64>) -> tensor<2xf64>
    return %22 : tensor<2xf64>
  }
  func.func private @_where(%arg0: tensor<2xi1>, %arg1: tensor<2xf64>, %arg2: tensor<2xf64>) -> tensor<2xf64> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<2xi1>, tensor<2xf64>
    return %0 : tensor<2xf64>
  }
  func.func private @_where_0(%arg0: tensor<2xi1>, %arg1: tensor<f64>, %arg2: tensor<2xf64>) -> tensor<2xf64> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<2xi1>, tensor<2xf64>
    return %1 : tensor<2xf64>
  }
  func.func private @sort(%arg0: tensor<2xf64>) -> tensor<2xf64> {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %1 = stablehlo.compare EQ, %arg1, %cst, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %2 = stablehlo.select %1, %cst_0, %arg1 : tensor<i1>, tensor<f64>
      %3 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %cst_1 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
      %4 = stablehlo.select %3, %cst_1, %2 : tensor<i1>, tensor<f64>
      %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %5 = stablehlo.compare EQ, %arg2, %cst_2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %6 = stablehlo.select %5, %cst_3, %arg2 : tensor<i1>, tensor<f64>
      %7 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %cst_4 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
      %8 = stablehlo.select %7, %cst_4, %6 : tensor<i1>, tensor<f64>
      %9 = stablehlo.compare LT, %4, %8, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }) : (tensor<2xf64>) -> tensor<2xf64>
    return %0 : tensor<2xf64>
  }
}
