module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x4x5xf64>) -> (tensor<3x4x5xcomplex<f64>> {jax.result_info = -9223372036854775808"result[0]"}, tensor<4x3xcomplex<f64>>
  }
  func.func private @fft(%arg0: tensor<3x4x5xf64>) -> tensor<3x4x5xcomplex<f64>> {
    %0 = stablehlo.convert %arg0 : (tensor<3x4x5xf64>) ->!tensor<3ex<f64>>
  }
}
