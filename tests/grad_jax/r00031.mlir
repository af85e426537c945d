// input 0: 1.2095154327445812 -1.2969652129151008 0.5181924423010926 -0.08236588206229012
// grad 0: 2.616955703530148 -2.3581082000913747 1.5837474057311622 0.6277225715340726
// value: 5.012570280242358
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x4xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %0 = stablehlo.negate %arg0 : tensor<1x4xf64>
    %1 = stablehlo.exponential %0 : tensor<1x4xf64>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<1x4xf64>
    %3 = stablehlo.add %2, %1 : tensor<1x4xf64>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<1x4xf64>
    %5 = stablehlo.divide %4, %3 : tensor<1x4xf64>
    %6 = stablehlo.tanh %arg0 : tensor<1x4xf64>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<1x4xf64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %8:3 = stablehlo.while(%iterArg = %6, %iterArg_14 = %c, %iterArg_15 = %7) : tensor<1x4xf64>, tensor<i64>, tensor<1x4xf64>
    cond {
      %c_16 = stablehlo.constant dense<1> : tensor<i64>
      %31 = stablehlo.compare LT, %iterArg_14, %c_16, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %31 : tensor<i1>
    } do {
      %31 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_14) : (tensor<1x4xf64>, tensor<i64>) -> tensor<4xf64>
      %32 = func.call @closed_call(%31) : (tensor<4xf64>) -> tensor<4xf64>
      %33 = func.call @dynamic_update_index_in_dim(%iterArg_15, %32, %iterArg_14) : (tensor<1x4xf64>, tensor<4xf64>, tensor<i64>) -> tensor<1x4xf64>
      %c_16 = stablehlo.constant dense<1> : tensor<i64>
      %34 = stablehlo.add %iterArg_14, %c_16 : tensor<i64>
      stablehlo.return %iterArg, %34, %33 : tensor<1x4xf64>, tensor<i64>, tensor<1x4xf64>
    }
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %9 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<1x4xf64>
    %10 = stablehlo.add %5, %9 : tensor<1x4xf64>
    %11 = stablehlo.sine %10 : tensor<1x4xf64>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %12 = stablehlo.reduce(%11 init: %cst_3) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x4xf64>, tensor<f64>) -> tensor<f64>
    %cst_4 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %13 = stablehlo.divide %12, %cst_4 : tensor<f64>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %14 = stablehlo.add %cst_5, %13 : tensor<f64>
    %cst_6 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %15 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f64>) -> tensor<1x4xf64>
    %16 = stablehlo.add %6, %15 : tensor<1x4xf64>
    %17 = stablehlo.sine %16 : tensor<1x4xf64>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %18 = stablehlo.reduce(%17 init: %cst_7) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x4xf64>, tensor<f64>) -> tensor<f64>
    %cst_8 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %19 = stablehlo.divide %18, %cst_8 : tensor<f64>
    %20 = stablehlo.add %14, %19 : tensor<f64>
    %cst_9 = stablehlo.constant dense<6.000000e-01> : tensor<f64>
    %21 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f64>) -> tensor<1x4xf64>
    %22 = stablehlo.add %8#2, %21 : tensor<1x4xf64>
    %23 = stablehlo.sine %22 : tensor<1x4xf64>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %24 = stablehlo.reduce(%23 init: %cst_10) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x4xf64>, tensor<f64>) -> tensor<f64>
    %cst_11 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %25 = stablehlo.divide %24, %cst_11 : tensor<f64>
    %26 = stablehlo.add %20, %25 : tensor<f64>
    %27 = stablehlo.multiply %arg0, %arg0 : tensor<1x4xf64>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %28 = stablehlo.reduce(%27 init: %cst_12) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x4xf64>, tensor<f64>) -> tensor<f64>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %29 = stablehlo.add %cst_13, %28 : tensor<f64>
    %30 = stablehlo.add %26, %29 : tensor<f64>
    return %30 : tensor<f64>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<1x4xf64>, %arg1: tensor<i64>) -> tensor<4xf64> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, sizes = [1, 4] : (tensor<1x4xf64>, tensor<i64>, tensor<i64>) -> tensor<1x4xf64>
    %1 = stablehlo.reshape %0 : (tensor<1x4xf64>) -> tensor<4xf64>
    return %1 : tensor<4xf64>
  }
  func.func private @closed_call(%arg0: tensor<4xf64>) -> tensor<4xf64> {
    %0 = stablehlo.cosine %arg0 : tensor<4xf64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %1 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %3 = stablehlo.multiply %0, %2 : tensor<4xf64>
    return %3 : tensor<4xf64>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<1x4xf64>, %arg1: tensor<4xf64>, %arg2: tensor<i64>) -> tensor<1x4xf64> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<4xf64>) -> tensor<1x4xf64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c : (tensor<1x4xf64>, tensor<1x4xf64>, tensor<i64>, tensor<i64>) -> tensor<1x4xf64>
    return %1 : tensor<1x4xf64>
  }
}
