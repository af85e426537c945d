module @jit__lambda attributes {jax.uses_shape_polymorphism = true, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<?xf32>) -> (tensor<f32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?xf32>) -> tensor<i32>
    %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
    %2 = stablehlo.compare GE, %1, %c, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%2, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'n'. Using the following polymorphic shapes specifications: args[0].shape = (n,). Obtained dimension variables: 'n' = {0} from specification 'n' for dimension args[0].shape[0] (= {0}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i64>) -> ()
    %3 = call @_wrapped_jax_export_main(%1, %arg0) : (tensor<i64>, tensor<?xf32>) -> tensor<f32>
    return %3 : tensor<f32>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i64> {jax.global_constant = "n"}, %arg1: tensor<?xf32>) -> (tensor<f32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0:4 = stablehlo.while(%iterArg = %arg1, %iterArg_1 = %c_0, %iterArg_2 = %arg0, %iterArg_3 = %cst) : tensor<?xf32>, tensor<i64>, tensor<i64>, tensor<f32>
    cond {
      %1 = stablehlo.compare LT, %iterArg_1, %iterArg_2, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.add %iterArg_1, %c : tensor<i64>
      %2 = stablehlo.convert %arg0 : tensor<i64>
      %3 = stablehlo.compare LT, %iterArg_1, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      %4 = stablehlo.convert %iterArg_1 : tensor<i64>
      %5 = stablehlo.add %4, %2 : tensor<i64>
      %6 = stablehlo.select %3, %5, %iterArg_1 : tensor<i1>, tensor<i64>
      %7 = stablehlo.dynamic_slice %iterArg, %6, sizes = [1] : (tensor<?xf32>, tensor<i64>) -> tensor<1xf32>
      %8 = stablehlo.reshape %7 : (tensor<1xf32>) -> tensor<f32>
      %9 = stablehlo.convert %iterArg_1 : (tensor<i64>) -> tensor<f32>
      %10 = stablehlo.multiply %8, %9 : tensor<f32>
      %11 = stablehlo.add %iterArg_3, %10 : tensor<f32>
      stablehlo.return %iterArg, %1, %iterArg_2, %11 : tensor<?xf32>, tensor<i64>, tensor<i64>, tensor<f32>
    }
    return %0#3 : tensor<f32>
  }
}
