// input 0: 1.1838837525982933 -1.028806108140417 -1.1540512673333747 -0.35115688178063964
// grad 0: 2.333896517302124 -0.6808096881419554 -1.0169243849736238 -0.7687901699004556
// value: 4.212757387971608
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<4xf64>
    %cst = stablehlo.constant dense<1.500000e+00> : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %2 = stablehlo.add %1, %0 : tensor<4xf64>
    %3 = call @arccosh(%2) : (tensor<4xf64>) -> tensor<4xf64>
    %cst_0 = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<f64>
    %5 = "stablehlo.reduce_window"(%arg0, %4) <{base_dilations = array<i64: 1>, padding = dense<0> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %55 = stablehlo.minimum %arg1, %arg2 : tensor<f64>
      stablehlo.return %55 : tensor<f64>
    }) : (tensor<4xf64>, tensor<f64>) -> tensor<2xf64>
    %6 = call @fft(%5) : (tensor<2xf64>) -> tensor<2xcomplex<f64>>
    %cst_1 = stablehlo.constant dense<(0.000000e+00,5.000000e-01)> : tensor<complex<f64>>
    %7 = stablehlo.exponential %cst_1 : tensor<complex<f64>>
    %8 = stablehlo.convert %7 : tensor<complex<f64>>
    %9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<complex<f64>>) -> tensor<2xcomplex<f64>>
    %10 = stablehlo.multiply %6, %9 : tensor<2xcomplex<f64>>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %11 = call @_pad(%10, %c) : (tensor<2xcomplex<f64>>, tensor<i64>) -> tensor<2xcomplex<f64>>
    %12 = call @fft_0(%11) : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
    %13 = stablehlo.tanh %5 : tensor<2xf64>
    %cst_2 = stablehlo.constant dense<9.000000e-01> : tensor<f64>
    %14 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %15 = stablehlo.multiply %14, %13 : tensor<2xf64>
    %16 = chlo.asin %15 : tensor<2xf64> -> tensor<2xf64>
    %17 = stablehlo.tanh %5 : tensor<2xf64>
    %cst_3 = stablehlo.constant dense<9.000000e-01> : tensor<f64>
    %18 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %19 = stablehlo.multiply %18, %17 : tensor<2xf64>
    %20 = chlo.atanh %19 : tensor<2xf64> -> tensor<2xf64>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %21 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %22 = stablehlo.add %3, %21 : tensor<4xf64>
    %23 = stablehlo.sine %22 : tensor<4xf64>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %24 = stablehlo.reduce(%23 init: %cst_5) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
    %cst_6 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %25 = stablehlo.divide %24, %cst_6 : tensor<f64>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %26 = stablehlo.add %cst_7, %25 : tensor<f64>
    %cst_8 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %27 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %28 = stablehlo.add %5, %27 : tensor<2xf64>
    %29 = stablehlo.sine %28 : tensor<2xf64>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %30 = stablehlo.reduce(%29 init: %cst_9) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    %cst_10 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %31 = stablehlo.divide %30, %cst_10 : tensor<f64>
    %32 = stablehlo.add %26, %31 : tensor<f64>
    %cst_11 = stablehlo.constant dense<6.000000e-01> : tensor<f64>
    %33 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %34 = stablehlo.add %12, %33 : tensor<2xf64>
    %35 = stablehlo.sine %34 : tensor<2xf64>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %36 = stablehlo.reduce(%35 init: %cst_12) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    %cst_13 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %37 = stablehlo.divide %36, %cst_13 : tensor<f64>
    %38 = stablehlo.add %32, %37 : tensor<f64>
    %cst_14 = stablehlo.constant dense<0.89999999999999991> : tensor<f64>
    %39 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %40 = stablehlo.add %16, %39 : tensor<2xf64>
    %41 = stablehlo.sine %40 : tensor<2xf64>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %42 = stablehlo.reduce(%41 init: %cst_15) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    %cst_16 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %43 = stablehlo.divide %42, %cst_16 : tensor<f64>
    %44 = stablehlo.add %38, %43 : tensor<f64>
    %cst_17 = stablehlo.constant dense<1.200000e+00> : tensor<f64>
    %45 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %46 = stablehlo.add %20, %45 : tensor<2xf64>
    %47 = stablehlo.sine %46 : tensor<2xf64>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %48 = stablehlo.reduce(%47 init: %cst_18) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
    %cst_19 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %49 = stablehlo.divide %48, %cst_19 : tensor<f64>
    %50 = stablehlo.add %44, %49 : tensor<f64>
    %51 = stablehlo.multiply %arg0, %arg0 : tensor<4xf64>
    %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %52 = stablehlo.reduce(%51 init: %cst_20) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
    %cst_21 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %53 = stablehlo.add %cst_21, %52 : tensor<f64>
    %54 = stablehlo.add %50, %53 : tensor<f64>
    return %54 : tensor<f64>
  }
  func.func private @arccosh(%arg0: tensor<4xf64>) -> tensor<4xf64> {
    %0 = chlo.acosh %arg0 : tensor<4xf64> -> tensor<4xf64>
    return %0 : tensor<4xf64>
  }
  func.func private @fft(%arg0: tensor<2xf64>) -> tensor<2xcomplex<f64>> {
    %0 = stablehlo.fft %arg0, type = RFFT, length = [2] : (tensor<2xf64>) -> tensor<2xcomplex<f64>>
    return %0 : tensor<2xcomplex<f64>>
  }
  func.func private @_pad(%arg0: tensor<2xcomplex<f64>>, %arg1: tensor<i64>) -> tensor<2xcomplex<f64>> {
    %0 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<complex<f64>>
    %1 = stablehlo.pad %arg0, %0, low = [0], high = [0], interior = [0] : (tensor<2xcomplex<f64>>, tensor<complex<f64>>) -> tensor<2xcomplex<f64>>
    return %1 : tensor<2xcomplex<f64>>
  }
  func.func private @fft_0(%arg0: tensor<2xcomplex<f64>>) -> tensor<2xf64> {
    %0 = stablehlo.fft %arg0, type = IRFFT, length = [2] : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
    return %0 : tensor<2xf64>
  }
}
