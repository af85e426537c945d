// input 0: 1.329168316717103 0.0339826584430849 1.4287311171231125 -1.2574919283131933
// grad 0: 2.553924479426077 0.885034919110772 2.687739140938939 -2.502737045640487
// value: 9.019481573930852
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x4xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<3.000000e+00> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<1x4xf64>
    %1 = stablehlo.add %arg0, %0 : tensor<1x4xf64>
    %2 = stablehlo.cbrt %1 : tensor<1x4xf64>
    %3 = stablehlo.reshape %arg0 : (tensor<1x4xf64>) -> tensor<4xf64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
    %cst_1 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %5 = stablehlo.divide %4, %cst_1 : tensor<f64>
    %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f64>) -> tensor<1x4xf64>
    %7 = stablehlo.abs %6 : tensor<1x4xf64>
    %cst_2 = stablehlo.constant dense<0.69999999999999996> : tensor<f64>
    %8 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<1x4xf64>
    %9 = stablehlo.add %7, %8 : tensor<1x4xf64>
    %10 = call @fmod(%2, %9) : (tensor<1x4xf64>, tensor<1x4xf64>) -> tensor<1x4xf64>
    %11 = stablehlo.abs %arg0 : tensor<1x4xf64>
    %cst_3 = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<1x4xf64>
    %13 = stablehlo.add %11, %12 : tensor<1x4xf64>
    %14 = chlo.digamma %13 : tensor<1x4xf64> -> tensor<1x4xf64>
    %15 = stablehlo.cosine %3 : tensor<4xf64>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %16 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<1x4xf64>
    %17 = stablehlo.add %2, %16 : tensor<1x4xf64>
    %18 = stablehlo.sine %17 : tensor<1x4xf64>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %19 = stablehlo.reduce(%18 init: %cst_5) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x4xf64>, tensor<f64>) -> tensor<f64>
    %cst_6 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %20 = stablehlo.divide %19, %cst_6 : tensor<f64>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %21 = stablehlo.add %cst_7, %20 : tensor<f64>
    %cst_8 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %22 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %23 = stablehlo.add %3, %22 : tensor<4xf64>
    %24 = stablehlo.sine %23 : tensor<4xf64>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %25 = stablehlo.reduce(%24 init: %cst_9) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
    %cst_10 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %26 = stablehlo.divide %25, %cst_10 : tensor<f64>
    %27 = stablehlo.add %21, %26 : tensor<f64>
    %cst_11 = stablehlo.constant dense<6.000000e-01> : tensor<f64>
    %28 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f64>) -> tensor<1x4xf64>
    %29 = stablehlo.add %10, %28 : tensor<1x4xf64>
    %30 = stablehlo.sine %29 : tensor<1x4xf64>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %31 = stablehlo.reduce(%30 init: %cst_12) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x4xf64>, tensor<f64>) -> tensor<f64>
    %cst_13 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %32 = stablehlo.divide %31, %cst_13 : tensor<f64>
    %33 = stablehlo.add %27, %32 : tensor<f64>
    %cst_14 = stablehlo.constant dense<0.89999999999999991> : tensor<f64>
    %34 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f64>) -> tensor<1x4xf64>
    %35 = stablehlo.add %14, %34 : tensor<1x4xf64>
    %36 = stablehlo.sine %35 : tensor<1x4xf64>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %37 = stablehlo.reduce(%36 init: %cst_15) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x4xf64>, tensor<f64>) -> tensor<f64>
    %cst_16 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %38 = stablehlo.divide %37, %cst_16 : tensor<f64>
    %39 = stablehlo.add %33, %38 : tensor<f64>
    %cst_17 = stablehlo.constant dense<1.200000e+00> : tensor<f64>
    %40 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %41 = stablehlo.add %15, %40 : tensor<4xf64>
    %42 = stablehlo.sine %41 : tensor<4xf64>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %43 = stablehlo.reduce(%42 init: %cst_18) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
    %cst_19 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %44 = stablehlo.divide %43, %cst_19 : tensor<f64>
    %45 = stablehlo.add %39, %44 : tensor<f64>
    %46 = stablehlo.multiply %arg0, %arg0 : tensor<1x4xf64>
    %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %47 = stablehlo.reduce(%46 init: %cst_20) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x4xf64>, tensor<f64>) -> tensor<f64>
    %cst_21 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %48 = stablehlo.add %cst_21, %47 : tensor<f64>
    %49 = stablehlo.add %45, %48 : tensor<f64>
    return %49 : tensor<f64>
  }
  func.func private @fmod(%arg0: tensor<1x4xf64>, %arg1: tensor<1x4xf64>) -> tensor<1x4xf64> {
    %0 = stablehlo.remainder %arg0, %arg1 : tensor<1x4xf64>
    return %0 : tensor<1x4xf64>
  }
}
