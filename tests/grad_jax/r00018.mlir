// input 0: -0.3020826923472817 0.6522440378646484 -0.6575300158919898 -1.2518252460056511
// grad 0: -0.576749386685343 1.9237105465702182 -1.3091451647719534 -1.8890347739740019
// value: 4.28895515321787
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %0 = stablehlo.abs %arg0 : tensor<4xf64>
    %cst = stablehlo.constant dense<1.000000e-01> : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %2 = stablehlo.add %0, %1 : tensor<4xf64>
    %cst_0 = stablehlo.constant dense<1.700000e+00> : tensor<f64>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %4 = stablehlo.power %2, %3 : tensor<4xf64>
    %5 = stablehlo.minimum %arg0, %4 : tensor<4xf64>
    %6 = stablehlo.sine %4 : tensor<4xf64>
    %7 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<4xf64>) -> tensor<4x1xf64>
    %8 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<4xf64>) -> tensor<4x1xf64>
    %9 = stablehlo.concatenate %7, %8, dim = 1 : (tensor<4x1xf64>, tensor<4x1xf64>) -> tensor<4x2xf64>
    %10 = call @fft(%arg0) : (tensor<4xf64>) -> tensor<3xcomplex<f64>>
    %cst_1 = stablehlo.constant dense<(0.000000e+00,5.000000e-01)> : tensor<complex<f64>>
    %11 = stablehlo.exponential %cst_1 : tensor<complex<f64>>
    %12 = stablehlo.convert %11 : tensor<complex<f64>>
    %13 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<complex<f64>>) -> tensor<3xcomplex<f64>>
    %14 = stablehlo.multiply %10, %13 : tensor<3xcomplex<f64>>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %15 = call @_pad(%14, %c) : (tensor<3xcomplex<f64>>, tensor<i64>) -> tensor<3xcomplex<f64>>
    %16 = call @fft_0(%15) : (tensor<3xcomplex<f64>>) -> tensor<4xf64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %17 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %18 = stablehlo.add %4, %17 : tensor<4xf64>
    %19 = stablehlo.sine %18 : tensor<4xf64>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %20 = stablehlo.reduce(%19 init: %cst_3) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
    %cst_4 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %21 = stablehlo.divide %20, %cst_4 : tensor<f64>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %22 = stablehlo.add %cst_5, %21 : tensor<f64>
    %cst_6 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %23 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %24 = stablehlo.add %5, %23 : tensor<4xf64>
    %25 = stablehlo.sine %24 : tensor<4xf64>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %26 = stablehlo.reduce(%25 init: %cst_7) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
    %cst_8 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %27 = stablehlo.divide %26, %cst_8 : tensor<f64>
    %28 = stablehlo.add %22, %27 : tensor<f64>
    %cst_9 = stablehlo.constant dense<6.000000e-01> : tensor<f64>
    %29 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f64>) -> tensor<4x2xf64>
    %30 = stablehlo.add %9, %29 : tensor<4x2xf64>
    %31 = stablehlo.sine %30 : tensor<4x2xf64>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %32 = stablehlo.reduce(%31 init: %cst_10) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x2xf64>, tensor<f64>) -> tensor<f64>
    %cst_11 = stablehlo.constant dense<8.000000e+00> : tensor<f64>
    %33 = stablehlo.divide %32, %cst_11 : tensor<f64>
    %34 = stablehlo.add %28, %33 : tensor<f64>
    %cst_12 = stablehlo.constant dense<0.89999999999999991> : tensor<f64>
    %35 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %36 = stablehlo.add %16, %35 : tensor<4xf64>
    %37 = stablehlo.sine %36 : tensor<4xf64>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %38 = stablehlo.reduce(%37 init: %cst_13) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
    %cst_14 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %39 = stablehlo.divide %38, %cst_14 : tensor<f64>
    %40 = stablehlo.add %34, %39 : tensor<f64>
    %41 = stablehlo.multiply %arg0, %arg0 : tensor<4xf64>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %42 = stablehlo.reduce(%41 init: %cst_15) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %43 = stablehlo.add %cst_16, %42 : tensor<f64>
    %44 = stablehlo.add %40, %43 : tensor<f64>
    return %44 : tensor<f64>
  }
  func.func private @fft(%arg0: tensor<4xf64>) -> tensor<3xcomplex<f64>> {
    %0 = stablehlo.fft %arg0, type = RFFT, length = [4] : (tensor<4xf64>) -> tensor<3xcomplex<f64>>
    return %0 : tensor<3xcomplex<f64>>
  }
  func.func private @_pad(%arg0: tensor<3xcomplex<f64>>, %arg1: tensor<i64>) -> tensor<3xcomplex<f64>> {
    %0 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<complex<f64>>
    %1 = stablehlo.pad %arg0, %0, low = [0], high = [0], interior = [0] : (tensor<3xcomplex<f64>>, tensor<complex<f64>>) -> tensor<3xcomplex<f64>>
    return %1 : tensor<3xcomplex<f64>>
  }
  func.func private @fft_0(%arg0: tensor<3xcomplex<f64>>) -> tensor<4xf64> {
    %0 = stablehlo.fft %arg0, type = IRFFT, length = [4] : (tensor<3xcomplex<f64>>) -> tensor<4xf64>
    return %0 : tensor<4xf64>
  }
}
