module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<32xf32>, %arg1: tensor<32xf32>) -> (tensor<32xf32> {jax.result_info = "result[0]"}, tensor<32xf32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.convert %arg0 : (tensor<32xf32>) -> tensor<32xf8E4M3FN>
    %1 = stablehlo.convert %arg1 : (tensor<32xf32>) -> tensor<32xf8E4M3FN>
    %2 = stablehlo.add %0, %1 : tensor<32xf8E4M3FN>
    %3 = stablehlo.convert %2 : (tensor<32xf8E4M3FN>) -> tensor<32xf32>
    %4 = stablehlo.convert %arg0 : (tensor<32xf32>) -> tensor<32xf8E4M3FN>
    %5 = stablehlo.convert %arg1 : (tensor<32xf32>) -> tensor<32xf8E4M3FN>
    %6 = stablehlo.multiply %4, %5 : tensor<32xf8E4M3FN>
    %7 = stablehlo.convert %6 : (tensor<32xf8E4M3FN>) -> tensor<32xf32>
    return %3, %7 : tensor<32xf32>, tensor<32xf32>
  }
}
