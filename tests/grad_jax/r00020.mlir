// input 0: -0.659772112109522 -0.11655987059117345 -1.1348409222706743 0.06782505515679738 -0.2724947736773853 -1.2850813583860052
// grad 0: -1.4826464998738473 -0.27007829030478436 -2.263225824021276 0.1572177300170154 -0.6295338504090675 -2.4110213815764316
// input 1: -1.2030999725444045 1.4588650919002406
// grad 1: -2.406199945088809 2.917730183800481
// input 2: 0.5822036470727601 -0.15393461921064389 0.4205304257692859 -0.6885334306365082
// grad 2: 1.373220536293699 -0.060825377516092044 1.069278982843818 -1.184022183476789
// value: 8.694208327192992
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x1xf64>, %arg1: tensor<2x1xf64>, %arg2: tensor<4x1xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %0 = call @fft(%arg2) : (tensor<4x1xf64>) -> tensor<4x1xcomplex<f64>>
    %cst = stablehlo.constant dense<(1.000000e+00,2.000000e+00)> : tensor<complex<f64>>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<4x1xcomplex<f64>>
    %2 = stablehlo.multiply %0, %1 : tensor<4x1xcomplex<f64>>
    %3 = stablehlo.real %2 : (tensor<4x1xcomplex<f64>>) -> tensor<4x1xf64>
    %cst_0 = stablehlo.constant dense<2.000000e-01> : tensor<f64>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x3x1xf64>
    %5 = stablehlo.compare GT, %arg0, %4, FLOAT : (tensor<2x3x1xf64>, tensor<2x3x1xf64>) -> tensor<2x3x1xi1>
    %6 = stablehlo.multiply %arg0, %arg0 : tensor<2x3x1xf64>
    %7 = call @_where(%5, %arg0, %6) : (tensor<2x3x1xi1>, tensor<2x3x1xf64>, tensor<2x3x1xf64>) -> tensor<2x3x1xf64>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<4x1xf64>
    %9 = stablehlo.add %3, %8 : tensor<4x1xf64>
    %10 = stablehlo.sine %9 : tensor<4x1xf64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %11 = stablehlo.reduce(%10 init: %cst_2) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x1xf64>, tensor<f64>) -> tensor<f64>
    %cst_3 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %12 = stablehlo.divide %11, %cst_3 : tensor<f64>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %13 = stablehlo.add %cst_4, %12 : tensor<f64>
    %cst_5 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %14 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<2x3x1xf64>
    %15 = stablehlo.add %7, %14 : tensor<2x3x1xf64>
    %16 = stablehlo.sine %15 : tensor<2x3x1xf64>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %17 = stablehlo.reduce(%16 init: %cst_6) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x3x1xf64>, tensor<f64>) -> tensor<f64>
    %cst_7 = stablehlo.constant dense<6.000000e+00> : tensor<f64>
    %18 = stablehlo.divide %17, %cst_7 : tensor<f64>
    %19 = stablehlo.add %13, %18 : tensor<f64>
    %20 = stablehlo.multiply %arg0, %arg0 : tensor<2x3x1xf64>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %21 = stablehlo.reduce(%20 init: %cst_8) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x3x1xf64>, tensor<f64>) -> tensor<f64>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %22 = stablehlo.add %cst_9, %21 : tensor<f64>
    %23 = stablehlo.multiply %arg1, %arg1 : tensor<2x1xf64>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %24 = stablehlo.reduce(%23 init: %cst_10) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x1xf64>, tensor<f64>) -> tensor<f64>
    %25 = stablehlo.add %22, %24 : tensor<f64>
    %26 = stablehlo.multiply %arg2, %arg2 : tensor<4x1xf64>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %27 = stablehlo.reduce(%26 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x1xf64>, tensor<f64>) -> tensor<f64>
    %28 = stablehlo.add %25, %27 : tensor<f64>
    %29 = stablehlo.add %19, %28 : tensor<f64>
    return %29 : tensor<f64>
  }
  func.func private @fft(%arg0: tensor<4x1xf64>) -> tensor<4x1xcomplex<f64>> {
    %0 = stablehlo.fft %arg0, type = RFFT, length = [1] : (tensor<4x1xf64>) -> tensor<4x1xcomplex<f64>>
    return %0 : tensor<4x1xcomplex<f64>>
  }
  func.func private @_where(%arg0: tensor<2x3x1xi1>, %arg1: tensor<2x3x1xf64>, %arg2: tensor<2x3x1xf64>) -> tensor<2x3x1xf64> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<2x3x1xi1>, tensor<2x3x1xf64>
    return %0 : tensor<2x3x1xf64>
  }
}
