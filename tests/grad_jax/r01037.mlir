// input 0: -0.5329997315562001 -0.5728233419636515 0.32709216270840136 -0.1358841609952406
// grad 0: -0.445704240868052 -1.0283267652134265 0.5260469104341479 0.31344911618110416
// value: 1.5607369201413677
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x1xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %0 = stablehlo.abs %arg0 : tensor<4x1xf64>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<4x1xf64>
    %2 = stablehlo.add %0, %1 : tensor<4x1xf64>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<4x1xf64>
    %4 = chlo.polygamma %3, %2 : tensor<4x1xf64>, tensor<4x1xf64> -> tensor<4x1xf64>
    %5 = call @median(%arg0) : (tensor<4x1xf64>) -> tensor<1xf64>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<4x1xf64>
    %7 = stablehlo.add %4, %6 : tensor<4x1xf64>
    %8 = stablehlo.sine %7 : tensor<4x1xf64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %9 = stablehlo.reduce(%8 init: %cst_2) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x1xf64>, tensor<f64>) -> tensor<f64>
    %cst_3 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %10 = stablehlo.divide %9, %cst_3 : tensor<f64>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %11 = stablehlo.add %cst_4, %10 : tensor<f64>
    %cst_5 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %12 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %13 = stablehlo.add %5, %12 : tensor<1xf64>
    %14 = stablehlo.sine %13 : tensor<1xf64>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %15 = stablehlo.reduce(%14 init: %cst_6) applies stablehlo.add across dimensions = [0] : (tensor<1xf64>, tensor<f64>) -> tensor<f64>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %16 = stablehlo.divide %15, %cst_7 : tensor<f64>
    %17 = stablehlo.add %11, %16 : tensor<f64>
    %18 = stablehlo.multiply %arg0, %arg0 : tensor<4x1xf64>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %19 = stablehlo.reduce(%18 init: %cst_8) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x1xf64>, tensor<f64>) -> tensor<f64>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %20 = stablehlo.add %cst_9, %19 : tensor<f64>
    %21 = stablehlo.add %17, %20 : tensor<f64>
    return %21 : tensor<f64>
  }
  func.func private @median(%arg0: tensor<4x1xf64>) -> tensor<1xf64> {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %0 = call @quantile(%arg0, %cst) : (tensor<4x1xf64>, tensor<f64>) -> tensor<1xf64>
    return %0 : tensor<1xf64>
  }
  func.func private @quantile(%arg0: tensor<4x1xf64>, %arg1: tensor<f64>) -> tensor<1xf64> {
    %0 = stablehlo.compare NE, %arg0, %arg0, FLOAT : (tensor<4x1xf64>, tensor<4x1xf64>) -> tensor<4x1xi1>
    %c = stablehlo.constant dense<false> : tensor<i1>
    %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.or across dimensions = [0] : (tensor<4x1xi1>, tensor<i1>) -> tensor<1xi1>
    %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<1xi1>) -> tensor<1x1xi1>
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %3 = call @_where(%2, %cst, %arg0) : (tensor<1x1xi1>, tensor<f64>, tensor<4x1xf64>) -> tensor<4x1xf64>
    %4 = "stablehlo.sort"(%3) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %22 = stablehlo.compare EQ, %arg2, %cst_9, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %23 = stablehlo.select %22, %cst_10, %arg2 : tensor<i1>, tensor<f64>
      %24 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %cst_11 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
      %25 = stablehlo.select %24, %cst_11, %23 : tensor<i1>, tensor<f64>
      %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %26 = stablehlo.compare EQ, %arg3, %cst_12, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %27 = stablehlo.select %26, %cst_13, %arg3 : tensor<i1>, tensor<f64>
      %28 = stablehlo.compare NE, %arg3, %arg3, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %cst_14 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
      %29 = stablehlo.select %28, %cst_14, %27 : tensor<i1>, tensor<f64>
      %30 = stablehlo.compare LT, %25, %29, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %30 : tensor<i1>
    }) : (tensor<4x1xf64>) -> tensor<4x1xf64>
    %cst_0 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %5 = stablehlo.subtract %cst_0, %cst_1 : tensor<f64>
    %6 = stablehlo.multiply %arg1, %5 : tensor<f64>
    %7 = stablehlo.floor %6 : tensor<f64>
    %8 = stablehlo.ceil %6 : tensor<f64>
    %cst_2 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %9 = stablehlo.subtract %cst_2, %cst_3 : tensor<f64>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %10 = stablehlo.clamp %cst_4, %7, %9 : tensor<f64>
    %cst_5 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %11 = stablehlo.subtract %cst_5, %cst_6 : tensor<f64>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %12 = stablehlo.clamp %cst_7, %8, %11 : tensor<f64>
    %13 = stablehlo.convert %10 : (tensor<f64>) -> tensor<i64>
    %14 = stablehlo.convert %12 : (tensor<f64>) -> tensor<i64>
    %15 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<i64>) -> tensor<1xi64>
    %16 = "stablehlo.gather"(%4, %15) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0]>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<4x1xf64>, tensor<1xi64>) -> tensor<1xf64>
    %17 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<i64>) -> tensor<1xi64>
    %18 = "stablehlo.gather"(%4, %17) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0]>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<4x1xf64>, tensor<1xi64>) -> tensor<1xf64>
    %19 = stablehlo.add %16, %18 : tensor<1xf64>
    %cst_8 = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %20 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %21 = stablehlo.multiply %19, %20 : tensor<1xf64>
    return %21 : tensor<1xf64>
  }
  func.func private @_where(%arg0: tensor<1x1xi1>, %arg1: tensor<f64>, %arg2: tensor<4x1xf64>) -> tensor<4x1xf64> {
    %0 = stablehlo.convert %arg1 : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<1x1xi1>) -> tensor<4x1xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f64>) -> tensor<4x1xf64>
    %3 = stablehlo.select %1, %2, %arg2 : tensor<4x1xi1>, tensor<4x1xf64>
    return %3 : tensor<4x1xf64>
  }
}
