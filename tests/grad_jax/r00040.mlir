// input 0: 0.6896954857941529 0.5802448704056413 1.3257630517037482 -1.3210438198656775 0.5715629121769599 1.2671925570396487
// grad 0: 1.5079642738966808 1.2998778124771229 2.691957537751196 -2.600893614303137 1.283301915979314 2.5842119629081943
// input 1: -0.072950467437076 -0.4848279270416298 0.30564841581074287 0.6918832786125 -1.1632122166034744 -1.1741151607253264 0.41178386357661667 -1.3730138357332207 -1.356859843339771 -0.5421840521681188 -0.866383465485453 0.8287375463539437
// grad 1: 0.02944842045841564 -0.9387368369307395 0.8599982806253972 1.6061578507603453 -2.219341601756844 -2.244404686531895 0.9110336233356081 -2.7246996707695312 -2.68826808307799 -0.9036448062256587 -1.5949016534363147 1.6350877133998745
// value: 16.920713400337274
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x2x3xf64>, %arg1: tensor<2x2x3xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %0 = stablehlo.reshape %arg0 : (tensor<1x2x3xf64>) -> tensor<1x1x1x2x1x3xf64>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2, 3, 4, 5] : (tensor<1x1x1x2x1x3xf64>) -> tensor<1x1x1x2x2x3xf64>
    %2 = stablehlo.reshape %1 : (tensor<1x1x1x2x2x3xf64>) -> tensor<1x2x6xf64>
    %cst = stablehlo.constant dense<1.500000e+00> : tensor<f64>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x2x3xf64>
    %4 = stablehlo.multiply %arg1, %3 : tensor<2x2x3xf64>
    %5 = stablehlo.reshape %arg1 : (tensor<2x2x3xf64>) -> tensor<12xf64>
    %6 = call @resize(%5) : (tensor<12xf64>) -> tensor<2x2xf64>
    %7 = stablehlo.cosine %6 : tensor<2x2xf64>
    %8 = stablehlo.dot_general %6, %6, batching_dims = [1] x [1], contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2xf64>
    %9 = stablehlo.dot_general %7, %8, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x2xf64>, tensor<2xf64>) -> tensor<2xf64>
    %cst_0 = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %10 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x2x3xf64>
    %11 = stablehlo.multiply %4, %10 : tensor<2x2x3xf64>
    %12 = stablehlo.slice %4 [0:1, 0:2, 0:3] : (tensor<2x2x3xf64>) -> tensor<1x2x3xf64>
    %13 = stablehlo.concatenate %4, %11, %12, dim = 0 : (tensor<2x2x3xf64>, tensor<2x2x3xf64>, tensor<1x2x3xf64>) -> tensor<5x2x3xf64>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %14 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<1x2x6xf64>
    %15 = stablehlo.add %2, %14 : tensor<1x2x6xf64>
    %16 = stablehlo.sine %15 : tensor<1x2x6xf64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %17 = stablehlo.reduce(%16 init: %cst_2) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x2x6xf64>, tensor<f64>) -> tensor<f64>
    %cst_3 = stablehlo.constant dense<1.200000e+01> : tensor<f64>
    %18 = stablehlo.divide %17, %cst_3 : tensor<f64>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %19 = stablehlo.add %cst_4, %18 : tensor<f64>
    %cst_5 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %20 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<2x2x3xf64>
    %21 = stablehlo.add %4, %20 : tensor<2x2x3xf64>
    %22 = stablehlo.sine %21 : tensor<2x2x3xf64>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %23 = stablehlo.reduce(%22 init: %cst_6) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x2x3xf64>, tensor<f64>) -> tensor<f64>
    %cst_7 = stablehlo.constant dense<1.200000e+01> : tensor<f64>
    %24 = stablehlo.divide %23, %cst_7 : tensor<f64>
    %25 = stablehlo.add %19, %24 : tensor<f64>
    %cst_8 = stablehlo.constant dense<6.000000e-01> : tensor<f64>
    %26 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %27 = stablehlo.add %9, %26 : tensor<2xf64>
    %28 = stablehlo.sine %27 : tensor<2xf64>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %29 = stablehlo.reduce(%28 init: %cst_9) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    %cst_10 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %30 = stablehlo.divide %29, %cst_10 : tensor<f64>
    %31 = stablehlo.add %25, %30 : tensor<f64>
    %cst_11 = stablehlo.constant dense<0.89999999999999991> : tensor<f64>
    %32 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f64>) -> tensor<5x2x3xf64>
    %33 = stablehlo.add %13, %32 : tensor<5x2x3xf64>
    %34 = stablehlo.sine %33 : tensor<5x2x3xf64>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %35 = stablehlo.reduce(%34 init: %cst_12) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<5x2x3xf64>, tensor<f64>) -> tensor<f64>
    %cst_13 = stablehlo.constant dense<3.000000e+01> : tensor<f64>
    %36 = stablehlo.divide %35, %cst_13 : tensor<f64>
    %37 = stablehlo.add %31, %36 : tensor<f64>
    %38 = stablehlo.multiply %arg0, %arg0 : tensor<1x2x3xf64>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %39 = stablehlo.reduce(%38 init: %cst_14) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x2x3xf64>, tensor<f64>) -> tensor<f64>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %40 = stablehlo.add %cst_15, %39 : tensor<f64>
    %41 = stablehlo.multiply %arg1, %arg1 : tensor<2x2x3xf64>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %42 = stablehlo.reduce(%41 init: %cst_16) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x2x3xf64>, tensor<f64>) -> tensor<f64>
    %43 = stablehlo.add %40, %42 : tensor<f64>
    %44 = stablehlo.add %37, %43 : tensor<f64>
    return %44 : tensor<f64>
  }
  func.func private @resize(%arg0: tensor<12xf64>) -> tensor<2x2xf64> {
    %0 = stablehlo.reshape %arg0 : (tensor<12xf64>) -> tensor<1x12xf64>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<1x12xf64>) -> tensor<1x12xf64>
    %2 = stablehlo.reshape %1 : (tensor<1x12xf64>) -> tensor<12xf64>
    %3 = stablehlo.slice %2 [0:4] : (tensor<12xf64>) -> tensor<4xf64>
    %4 = stablehlo.reshape %3 : (tensor<4xf64>) -> tensor<2x2xf64>
    return %4 : tensor<2x2xf64>
  }
}
