// input 0: -1.245908735143154
// grad 0: -1.3456542903279682
// input 1: 1.036713170482913
// grad 1: 2.073426340965826
// input 2: 0.8565198590230585
// grad 2: 1.713039718046117
// value: 2.1167434459732553
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1xf64>, %arg1: tensor<1xf64>, %arg2: tensor<1x1xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %0 = call @_flip(%arg0) : (tensor<1xf64>) -> tensor<1xf64>
    %1 = stablehlo.sine %arg0 : tensor<1xf64>
    %2 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<1xf64>) -> tensor<1x1xf64>
    %3 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<1xf64>) -> tensor<1x1xf64>
    %4 = stablehlo.concatenate %2, %3, dim = 0 : (tensor<1x1xf64>, tensor<1x1xf64>) -> tensor<2x1xf64>
    %5 = stablehlo.tanh %4 : tensor<2x1xf64>
    %6 = stablehlo.sine %4 : tensor<2x1xf64>
    %7 = stablehlo.complex %5, %6 : tensor<2x1xcomplex<f64>>
    %8 = stablehlo.exponential %7 : tensor<2x1xcomplex<f64>>
    %cst = stablehlo.constant dense<(3.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x1xcomplex<f64>>
    %10 = stablehlo.add %7, %9 : tensor<2x1xcomplex<f64>>
    %11 = stablehlo.divide %8, %10 : tensor<2x1xcomplex<f64>>
    %12 = stablehlo.real %11 : (tensor<2x1xcomplex<f64>>) -> tensor<2x1xf64>
    %13 = stablehlo.real %7 : (tensor<2x1xcomplex<f64>>) -> tensor<2x1xf64>
    %14 = stablehlo.imag %7 : (tensor<2x1xcomplex<f64>>) -> tensor<2x1xf64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %15 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x1xf64>
    %16 = stablehlo.compare EQ, %13, %15, FLOAT : (tensor<2x1xf64>, tensor<2x1xf64>) -> tensor<2x1xi1>
    %17 = stablehlo.sine %13 : tensor<2x1xf64>
    %18 = stablehlo.cosine %13 : tensor<2x1xf64>
    %19 = stablehlo.exponential_minus_one %14 : tensor<2x1xf64>
    %20 = stablehlo.negate %14 : tensor<2x1xf64>
    %21 = stablehlo.exponential_minus_one %20 : tensor<2x1xf64>
    %22 = stablehlo.subtract %19, %21 : tensor<2x1xf64>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %23 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<2x1xf64>
    %24 = stablehlo.divide %22, %23 : tensor<2x1xf64>
    %25 = stablehlo.add %19, %21 : tensor<2x1xf64>
    %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %26 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2x1xf64>
    %27 = stablehlo.add %25, %26 : tensor<2x1xf64>
    %cst_3 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %28 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<2x1xf64>
    %29 = stablehlo.divide %27, %28 : tensor<2x1xf64>
    %30 = stablehlo.multiply %17, %29 : tensor<2x1xf64>
    %31 = stablehlo.multiply %18, %24 : tensor<2x1xf64>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %32 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<2x1xf64>
    %33 = stablehlo.complex %32, %31 : tensor<2x1xcomplex<f64>>
    %34 = stablehlo.complex %30, %31 : tensor<2x1xcomplex<f64>>
    %35 = stablehlo.select %16, %33, %34 : tensor<2x1xi1>, tensor<2x1xcomplex<f64>>
    %36 = stablehlo.real %7 : (tensor<2x1xcomplex<f64>>) -> tensor<2x1xf64>
    %37 = stablehlo.imag %7 : (tensor<2x1xcomplex<f64>>) -> tensor<2x1xf64>
    %38 = stablehlo.negate %37 : tensor<2x1xf64>
    %39 = stablehlo.complex %36, %38 : tensor<2x1xcomplex<f64>>
    %40 = stablehlo.multiply %35, %39 : tensor<2x1xcomplex<f64>>
    %41 = stablehlo.imag %40 : (tensor<2x1xcomplex<f64>>) -> tensor<2x1xf64>
    %42 = stablehlo.add %12, %41 : tensor<2x1xf64>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %43 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %44 = stablehlo.add %0, %43 : tensor<1xf64>
    %45 = stablehlo.sine %44 : tensor<1xf64>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %46 = stablehlo.reduce(%45 init: %cst_6) applies stablehlo.add across dimensions = [0] : (tensor<1xf64>, tensor<f64>) -> tensor<f64>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %47 = stablehlo.divide %46, %cst_7 : tensor<f64>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %48 = stablehlo.add %cst_8, %47 : tensor<f64>
    %cst_9 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %49 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f64>) -> tensor<2x1xf64>
    %50 = stablehlo.add %4, %49 : tensor<2x1xf64>
    %51 = stablehlo.sine %50 : tensor<2x1xf64>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %52 = stablehlo.reduce(%51 init: %cst_10) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x1xf64>, tensor<f64>) -> tensor<f64>
    %cst_11 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %53 = stablehlo.divide %52, %cst_11 : tensor<f64>
    %54 = stablehlo.add %48, %53 : tensor<f64>
    %cst_12 = stablehlo.constant dense<6.000000e-01> : tensor<f64>
    %55 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f64>) -> tensor<2x1xf64>
    %56 = stablehlo.add %42, %55 : tensor<2x1xf64>
    %57 = stablehlo.sine %56 : tensor<2x1xf64>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %58 = stablehlo.reduce(%57 init: %cst_13) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x1xf64>, tensor<f64>) -> tensor<f64>
    %cst_14 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %59 = stablehlo.divide %58, %cst_14 : tensor<f64>
    %60 = stablehlo.add %54, %59 : tensor<f64>
    %61 = stablehlo.multiply %arg0, %arg0 : tensor<1xf64>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %62 = stablehlo.reduce(%61 init: %cst_15) applies stablehlo.add across dimensions = [0] : (tensor<1xf64>, tensor<f64>) -> tensor<f64>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %63 = stablehlo.add %cst_16, %62 : tensor<f64>
    %64 = stablehlo.multiply %arg1, %arg1 : tensor<1xf64>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %65 = stablehlo.reduce(%64 init: %cst_17) applies stablehlo.add across dimensions = [0] : (tensor<1xf64>, tensor<f64>) -> tensor<f64>
    %66 = stablehlo.add %63, %65 : tensor<f64>
    %67 = stablehlo.multiply %arg2, %arg2 : tensor<1x1xf64>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %68 = stablehlo.reduce(%67 init: %cst_18) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1xf64>, tensor<f64>) -> tensor<f64>
    %69 = stablehlo.add %66, %68 : tensor<f64>
    %70 = stablehlo.add %60, %69 : tensor<f64>
    return %70 : tensor<f64>
  }
  func.func private @_flip(%arg0: tensor<1xf64>) -> tensor<1xf64> {
    %0 = stablehlo.reverse %arg0, dims = [0] : tensor<1xf64>
    return %0 : tensor<1xf64>
  }
}
