// input 0: 1.3624533088860136 0.8037962719067977 -1.1220877596353938 0.9809642577922344
// grad 0: 2.239229529086587 1.4837758279299762 -2.2808321984809146 1.7541083781601154
// input 1: 1.0472162202935866 -0.4506514900062797 0.03422770414637899 0.30749972548992854 -0.483492260287115 0.36541920283381946 0.6974540222341141 1.0832648412342074 -0.4865268205139772
// grad 1: 1.6484558430267984 -0.9013029800125594 0.16774091688784543 0.6900689883418001 -0.96698452057423 0.8020762451128225 1.3981319726699604 1.6399786322570231 -0.9730536410279544
// value: 11.949841955678366
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x2xf64>, %arg1: tensor<3x3xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %0 = stablehlo.abs %arg0 : tensor<2x2xf64>
    %cst = stablehlo.constant dense<0.69999999999999996> : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x2xf64>
    %2 = stablehlo.add %0, %1 : tensor<2x2xf64>
    %3 = call @remainder(%arg0, %2) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
    %4 = call @cummax(%3) : (tensor<2x2xf64>) -> tensor<2x2xf64>
    %5 = stablehlo.add %arg0, %arg0 : tensor<2x2xf64>
    %values, %indices = chlo.top_k(%arg1, k = 2) : tensor<3x3xf64> -> (tensor<3x2xf64>, tensor<3x2xi32>)
    %6 = stablehlo.multiply %values, %values : tensor<3x2xf64>
    %7 = stablehlo.multiply %6, %values : tensor<3x2xf64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x2xf64>
    %9 = stablehlo.add %3, %8 : tensor<2x2xf64>
    %10 = stablehlo.sine %9 : tensor<2x2xf64>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %11 = stablehlo.reduce(%10 init: %cst_1) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf64>, tensor<f64>) -> tensor<f64>
    %cst_2 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %12 = stablehlo.divide %11, %cst_2 : tensor<f64>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %13 = stablehlo.add %cst_3, %12 : tensor<f64>
    %cst_4 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %14 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<2x2xf64>
    %15 = stablehlo.add %4, %14 : tensor<2x2xf64>
    %16 = stablehlo.sine %15 : tensor<2x2xf64>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %17 = stablehlo.reduce(%16 init: %cst_5) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf64>, tensor<f64>) -> tensor<f64>
    %cst_6 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %18 = stablehlo.divide %17, %cst_6 : tensor<f64>
    %19 = stablehlo.add %13, %18 : tensor<f64>
    %cst_7 = stablehlo.constant dense<6.000000e-01> : tensor<f64>
    %20 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f64>) -> tensor<2x2xf64>
    %21 = stablehlo.add %5, %20 : tensor<2x2xf64>
    %22 = stablehlo.sine %21 : tensor<2x2xf64>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %23 = stablehlo.reduce(%22 init: %cst_8) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf64>, tensor<f64>) -> tensor<f64>
    %cst_9 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %24 = stablehlo.divide %23, %cst_9 : tensor<f64>
    %25 = stablehlo.add %19, %24 : tensor<f64>
    %cst_10 = stablehlo.constant dense<0.89999999999999991> : tensor<f64>
    %26 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<3x2xf64>
    %27 = stablehlo.add %values, %26 : tensor<3x2xf64>
    %28 = stablehlo.sine %27 : tensor<3x2xf64>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %29 = stablehlo.reduce(%28 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x2xf64>, tensor<f64>) -> tensor<f64>
    %cst_12 = stablehlo.constant dense<6.000000e+00> : tensor<f64>
    %30 = stablehlo.divide %29, %cst_12 : tensor<f64>
    %31 = stablehlo.add %25, %30 : tensor<f64>
    %cst_13 = stablehlo.constant dense<1.200000e+00> : tensor<f64>
    %32 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f64>) -> tensor<3x2xf64>
    %33 = stablehlo.add %7, %32 : tensor<3x2xf64>
    %34 = stablehlo.sine %33 : tensor<3x2xf64>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %35 = stablehlo.reduce(%34 init: %cst_14) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x2xf64>, tensor<f64>) -> tensor<f64>
    %cst_15 = stablehlo.constant dense<6.000000e+00> : tensor<f64>
    %36 = stablehlo.divide %35, %cst_15 : tensor<f64>
    %37 = stablehlo.add %31, %36 : tensor<f64>
    %38 = stablehlo.multiply %arg0, %arg0 : tensor<2x2xf64>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %39 = stablehlo.reduce(%38 init: %cst_16) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf64>, tensor<f64>) -> tensor<f64>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %40 = stablehlo.add %cst_17, %39 : tensor<f64>
    %41 = stablehlo.multiply %arg1, %arg1 : tensor<3x3xf64>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %42 = stablehlo.reduce(%41 init: %cst_18) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x3xf64>, tensor<f64>) -> tensor<f64>
    %43 = stablehlo.add %40, %42 : tensor<f64>
    %44 = stablehlo.add %37, %43 : tensor<f64>
    return %44 : tensor<f64>
  }
  func.func private @remainder(%arg0: tensor<2x2xf64>, %arg1: tensor<2x2xf64>) -> tensor<2x2xf64> {
    %0 = stablehlo.remainder %arg0, %arg1 : tensor<2x2xf64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x2xf64>
    %2 = stablehlo.compare NE, %0, %1, FLOAT : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xi1>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x2xf64>
    %4 = stablehlo.compare LT, %0, %3, FLOAT : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xi1>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<2x2xf64>
    %6 = stablehlo.compare LT, %arg1, %5, FLOAT : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xi1>
    %7 = stablehlo.compare NE, %4, %6, UNSIGNED : (tensor<2x2xi1>, tensor<2x2xi1>) -> tensor<2x2xi1>
    %8 = stablehlo.and %7, %2 : tensor<2x2xi1>
    %9 = stablehlo.add %0, %arg1 : tensor<2x2xf64>
    %10 = stablehlo.select %8, %9, %0 : tensor<2x2xi1>, tensor<2x2xf64>
    return %10 : tensor<2x2xf64>
  }
  func.func private @cummax(%arg0: tensor<2x2xf64>) -> tensor<2x2xf64> {
    %cst = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<f64>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %2 = stablehlo.maximum %arg1, %arg2 : tensor<f64>
      stablehlo.return %2 : tensor<f64>
    }) : (tensor<2x2xf64>, tensor<f64>) -> tensor<2x2xf64>
    return %1 : tensor<2x2xf64>
  }
}
