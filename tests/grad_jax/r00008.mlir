// input 0: -0.5190831701833178 1.4618305300137768 -0.5438674845434498 0.8656468074600867 1.1096895350886484 -0.32674558038241797 -0.1863543806316037 -0.381753290731941
// grad 0: -0.8389218666446275 2.960773247554689 -0.8930179412714403 1.8314230960975664 2.2873670019233656 -0.42426583833067255 -0.1308766258608689 -0.5416568121166697
// value: 6.214598753500535
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x2xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %0 = stablehlo.tanh %arg0 : tensor<4x2xf64>
    %cst = stablehlo.constant dense<9.000000e-01> : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<4x2xf64>
    %2 = stablehlo.multiply %1, %0 : tensor<4x2xf64>
    %3 = chlo.erf_inv %2 : tensor<4x2xf64> -> tensor<4x2xf64>
    %4 = stablehlo.tanh %arg0 : tensor<4x2xf64>
    %cst_0 = stablehlo.constant dense<0.70710678118654757> : tensor<f64>
    %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<4x2xf64>
    %6 = stablehlo.multiply %4, %5 : tensor<4x2xf64>
    %7 = stablehlo.abs %6 : tensor<4x2xf64>
    %cst_1 = stablehlo.constant dense<0.70710678118654757> : tensor<f64>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<4x2xf64>
    %9 = stablehlo.compare LT, %7, %8, FLOAT : (tensor<4x2xf64>, tensor<4x2xf64>) -> tensor<4x2xi1>
    %10 = chlo.erf %6 : tensor<4x2xf64> -> tensor<4x2xf64>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %11 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<4x2xf64>
    %12 = stablehlo.add %11, %10 : tensor<4x2xf64>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %13 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<4x2xf64>
    %14 = stablehlo.compare GT, %6, %13, FLOAT : (tensor<4x2xf64>, tensor<4x2xf64>) -> tensor<4x2xi1>
    %15 = chlo.erfc %7 : tensor<4x2xf64> -> tensor<4x2xf64>
    %cst_4 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %16 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<4x2xf64>
    %17 = stablehlo.subtract %16, %15 : tensor<4x2xf64>
    %18 = chlo.erfc %7 : tensor<4x2xf64> -> tensor<4x2xf64>
    %19 = stablehlo.select %14, %17, %18 : tensor<4x2xi1>, tensor<4x2xf64>
    %20 = stablehlo.select %9, %12, %19 : tensor<4x2xi1>, tensor<4x2xf64>
    %cst_5 = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %21 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<4x2xf64>
    %22 = stablehlo.multiply %21, %20 : tensor<4x2xf64>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %23 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f64>) -> tensor<4x2xf64>
    %24 = stablehlo.add %3, %23 : tensor<4x2xf64>
    %25 = stablehlo.sine %24 : tensor<4x2xf64>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %26 = stablehlo.reduce(%25 init: %cst_7) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x2xf64>, tensor<f64>) -> tensor<f64>
    %cst_8 = stablehlo.constant dense<8.000000e+00> : tensor<f64>
    %27 = stablehlo.divide %26, %cst_8 : tensor<f64>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %28 = stablehlo.add %cst_9, %27 : tensor<f64>
    %cst_10 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %29 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<4x2xf64>
    %30 = stablehlo.add %4, %29 : tensor<4x2xf64>
    %31 = stablehlo.sine %30 : tensor<4x2xf64>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %32 = stablehlo.reduce(%31 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x2xf64>, tensor<f64>) -> tensor<f64>
    %cst_12 = stablehlo.constant dense<8.000000e+00> : tensor<f64>
    %33 = stablehlo.divide %32, %cst_12 : tensor<f64>
    %34 = stablehlo.add %28, %33 : tensor<f64>
    %cst_13 = stablehlo.constant dense<6.000000e-01> : tensor<f64>
    %35 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f64>) -> tensor<4x2xf64>
    %36 = stablehlo.add %22, %35 : tensor<4x2xf64>
    %37 = stablehlo.sine %36 : tensor<4x2xf64>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %38 = stablehlo.reduce(%37 init: %cst_14) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x2xf64>, tensor<f64>) -> tensor<f64>
    %cst_15 = stablehlo.constant dense<8.000000e+00> : tensor<f64>
    %39 = stablehlo.divide %38, %cst_15 : tensor<f64>
    %40 = stablehlo.add %34, %39 : tensor<f64>
    %41 = stablehlo.multiply %arg0, %arg0 : tensor<4x2xf64>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %42 = stablehlo.reduce(%41 init: %cst_16) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x2xf64>, tensor<f64>) -> tensor<f64>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %43 = stablehlo.add %cst_17, %42 : tensor<f64>
    %44 = stablehlo.add %40, %43 : tensor<f64>
    return %44 : tensor<f64>
  }
}
