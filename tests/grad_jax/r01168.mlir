// input 0: -0.19557231242912732 0.08435493762880597
// grad 0: -0.39114462485825463 0.16870987525761194
// input 1: 0.9300802870616649 -0.03625756085697618 -0.39328382634661274 0.33078858163826474 0.1503159762391073 1.2191914246485882 -1.3772232645974773 1.0398159486321865 1.4181141821957426
// grad 1: 1.855273634082867 -0.024426426526958103 -0.7320348522586235 0.48057785647789486 0.10448221462938181 2.4036350569457294 -2.750906323520935 2.049693275629847 2.827068855084038
// input 2: 1.186425386321916 -0.2368083012127986
// grad 2: 2.487523107528081 0.06951949386720252
// value: 12.8427253993362
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x2x1xf64>, %arg1: tensor<3x3xf64>, %arg2: tensor<1x1x2xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %0 = call @cumlogsumexp(%arg2) : (tensor<1x1x2xf64>) -> tensor<1x1x2xf64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %1:3 = stablehlo.while(%iterArg = %c_0, %iterArg_24 = %c, %iterArg_25 = %arg1) : tensor<i64>, tensor<i64>, tensor<3x3xf64>
    cond {
      %c_26 = stablehlo.constant dense<3> : tensor<i64>
      %50 = stablehlo.compare LT, %iterArg, %c_26, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %50 : tensor<i1>
    } do {
      %50:2 = func.call @closed_call(%iterArg_24, %iterArg_25) : (tensor<i64>, tensor<3x3xf64>) -> (tensor<i64>, tensor<3x3xf64>)
      %c_26 = stablehlo.constant dense<1> : tensor<i64>
      %51 = stablehlo.add %iterArg, %c_26 : tensor<i64>
      stablehlo.return %51, %50#0, %50#1 : tensor<i64>, tensor<i64>, tensor<3x3xf64>
    }
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %2 = stablehlo.reduce(%1#2 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<3x3xf64>, tensor<f64>) -> tensor<3xf64>
    %3 = stablehlo.negate %arg1 : tensor<3x3xf64>
    %4 = stablehlo.exponential %3 : tensor<3x3xf64>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<3x3xf64>
    %6 = stablehlo.add %5, %4 : tensor<3x3xf64>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %7 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<3x3xf64>
    %8 = stablehlo.divide %7, %6 : tensor<3x3xf64>
    %cst_3 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %9 = stablehlo.pad %arg2, %cst_3, low = [0, 0, 1], high = [1, 0, 0], interior = [0, 0, 2] : (tensor<1x1x2xf64>, tensor<f64>) -> tensor<2x1x5xf64>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %10 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<1x1x2xf64>
    %11 = stablehlo.add %0, %10 : tensor<1x1x2xf64>
    %12 = stablehlo.sine %11 : tensor<1x1x2xf64>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %13 = stablehlo.reduce(%12 init: %cst_5) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x2xf64>, tensor<f64>) -> tensor<f64>
    %cst_6 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %14 = stablehlo.divide %13, %cst_6 : tensor<f64>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %15 = stablehlo.add %cst_7, %14 : tensor<f64>
    %cst_8 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %16 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f64>) -> tensor<3x3xf64>
    %17 = stablehlo.add %1#2, %16 : tensor<3x3xf64>
    %18 = stablehlo.sine %17 : tensor<3x3xf64>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %19 = stablehlo.reduce(%18 init: %cst_9) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x3xf64>, tensor<f64>) -> tensor<f64>
    %cst_10 = stablehlo.constant dense<9.000000e+00> : tensor<f64>
    %20 = stablehlo.divide %19, %cst_10 : tensor<f64>
    %21 = stablehlo.add %15, %20 : tensor<f64>
    %cst_11 = stablehlo.constant dense<6.000000e-01> : tensor<f64>
    %22 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %23 = stablehlo.add %2, %22 : tensor<3xf64>
    %24 = stablehlo.sine %23 : tensor<3xf64>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %25 = stablehlo.reduce(%24 init: %cst_12) applies stablehlo.add across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
    %cst_13 = stablehlo.constant dense<3.000000e+00> : tensor<f64>
    %26 = stablehlo.divide %25, %cst_13 : tensor<f64>
    %27 = stablehlo.add %21, %26 : tensor<f64>
    %cst_14 = stablehlo.constant dense<0.89999999999999991> : tensor<f64>
    %28 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f64>) -> tensor<3x3xf64>
    %29 = stablehlo.add %8, %28 : tensor<3x3xf64>
    %30 = stablehlo.sine %29 : tensor<3x3xf64>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %31 = stablehlo.reduce(%30 init: %cst_15) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x3xf64>, tensor<f64>) -> tensor<f64>
    %cst_16 = stablehlo.constant dense<9.000000e+00> : tensor<f64>
    %32 = stablehlo.divide %31, %cst_16 : tensor<f64>
    %33 = stablehlo.add %27, %32 : tensor<f64>
    %cst_17 = stablehlo.constant dense<1.200000e+00> : tensor<f64>
    %34 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f64>) -> tensor<2x1x5xf64>
    %35 = stablehlo.add %9, %34 : tensor<2x1x5xf64>
    %36 = stablehlo.sine %35 : tensor<2x1x5xf64>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %37 = stablehlo.reduce(%36 init: %cst_18) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x1x5xf64>, tensor<f64>) -> tensor<f64>
    %cst_19 = stablehlo.constant dense<1.000000e+01> : tensor<f64>
    %38 = stablehlo.divide %37, %cst_19 : tensor<f64>
    %39 = stablehlo.add %33, %38 : tensor<f64>
    %40 = stablehlo.multiply %arg0, %arg0 : tensor<1x2x1xf64>
    %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %41 = stablehlo.reduce(%40 init: %cst_20) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x2x1xf64>, tensor<f64>) -> tensor<f64>
    %cst_21 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %42 = stablehlo.add %cst_21, %41 : tensor<f64>
    %43 = stablehlo.multiply %arg1, %arg1 : tensor<3x3xf64>
    %cst_22 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %44 = stablehlo.reduce(%43 init: %cst_22) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x3xf64>, tensor<f64>) -> tensor<f64>
    %45 = stablehlo.add %42, %44 : tensor<f64>
    %46 = stablehlo.multiply %arg2, %arg2 : tensor<1x1x2xf64>
    %cst_23 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %47 = stablehlo.reduce(%46 init: %cst_23) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x2xf64>, tensor<f64>) -> tensor<f64>
    %48 = stablehlo.add %45, %47 : tensor<f64>
    %49 = stablehlo.add %39, %48 : tensor<f64>
    return %49 : tensor<f64>
  }
  func.func private @cumlogsumexp(%arg0: tensor<1x1x2xf64>) -> tensor<1x1x2xf64> {
    %cst = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %0 = "stablehlo.reduce_window"(%arg0, %cst) <{base_dilations = array<i64: 1, 1, 1>, padding = dense<0> : tensor<3x2xi64>, window_dilations = array<i64: 1, 1, 1>, window_dimensions = array<i64: 1, 1, 1>, window_strides = array<i64: 1, 1, 1>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %1 = stablehlo.maximum %arg1, %arg2 : tensor<f64>
      %2 = stablehlo.subtract %arg1, %arg2 : tensor<f64>
      %3 = stablehlo.compare NE, %2, %2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %4 = stablehlo.add %arg1, %arg2 : tensor<f64>
      %5 = stablehlo.abs %2 : tensor<f64>
      %6 = stablehlo.negate %5 : tensor<f64>
      %7 = stablehlo.exponential %6 : tensor<f64>
      %8 = stablehlo.log_plus_one %7 : tensor<f64>
      %9 = stablehlo.add %1, %8 : tensor<f64>
      %10 = stablehlo.select %3, %4, %9 : tensor<i1>, tensor<f64>
      stablehlo.return %10 : tensor<f64>
    }) : (tensor<1x1x2xf64>, tensor<f64>) -> tensor<1x1x2xf64>
    return %0 : tensor<1x1x2xf64>
  }
  func.func private @closed_call(%arg0: tensor<i64>, %arg1: tensor<3x3xf64>) -> (tensor<i64>, tensor<3x3xf64>) {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %0 = stablehlo.add %arg0, %c : tensor<i64>
    %1 = stablehlo.sine %arg1 : tensor<3x3xf64>
    %2 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<f64>
    %cst = stablehlo.constant dense<1.000000e-01> : tensor<f64>
    %3 = stablehlo.multiply %2, %cst : tensor<f64>
    %4 = stablehlo.convert %3 : tensor<f64>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f64>) -> tensor<3x3xf64>
    %6 = stablehlo.add %1, %5 : tensor<3x3xf64>
    return %0, %6 : tensor<i64>, tensor<3x3xf64>
  }
}
