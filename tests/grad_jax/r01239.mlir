// input 0: 0.20926040258808687 0.3530966987643618 0.5518330076892108 -1.1940719532423494
// grad 0: 0.6696777889197936 0.9414861285399855 1.2988750408864804 -2.3249954926541747
// value: 2.9429483538047396
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x1xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %0 = stablehlo.tanh %arg0 : tensor<4x1xf64>
    %1 = chlo.sinh %0 : tensor<4x1xf64> -> tensor<4x1xf64>
    %2 = stablehlo.tanh %1 : tensor<4x1xf64>
    %3 = chlo.cosh %2 : tensor<4x1xf64> -> tensor<4x1xf64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<4x1xf64>
    %5 = stablehlo.add %1, %4 : tensor<4x1xf64>
    %6 = stablehlo.sine %5 : tensor<4x1xf64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %7 = stablehlo.reduce(%6 init: %cst_0) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x1xf64>, tensor<f64>) -> tensor<f64>
    %cst_1 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %8 = stablehlo.divide %7, %cst_1 : tensor<f64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %9 = stablehlo.add %cst_2, %8 : tensor<f64>
    %cst_3 = stablehlo.constant dense<3.000000e-01> : tensor<f64>
    %10 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<4x1xf64>
    %11 = stablehlo.add %3, %10 : tensor<4x1xf64>
    %12 = stablehlo.sine %11 : tensor<4x1xf64>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %13 = stablehlo.reduce(%12 init: %cst_4) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x1xf64>, tensor<f64>) -> tensor<f64>
    %cst_5 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %14 = stablehlo.divide %13, %cst_5 : tensor<f64>
    %15 = stablehlo.add %9, %14 : tensor<f64>
    %16 = stablehlo.multiply %arg0, %arg0 : tensor<4x1xf64>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %17 = stablehlo.reduce(%16 init: %cst_6) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x1xf64>, tensor<f64>) -> tensor<f64>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %18 = stablehlo.add %cst_7, %17 : tensor<f64>
    %19 = stablehlo.add %15, %18 : tensor<f64>
    return %19 : tensor<f64>
  }
}
