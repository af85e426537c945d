module @jit__lambda attributes {jax.uses_shape_polymorphism = true, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<?x2x?x?xf32>, %arg1: tensor<3x2x3x3xf32>) -> (tensor<?x3x?x?xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x2x?x?xf32>) -> tensor<i32>
    %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
    %2 = stablehlo.get_dimension_size %arg0, dim = 2 : (tensor<?x2x?x?xf32>) -> tensor<i32>
    %3 = stablehlo.convert %2 : (tensor<i32>) -> tensor<i64>
    %4 = stablehlo.get_dimension_size %arg0, dim = 3 : (tensor<?x2x?x?xf32>) -> tensor<i32>
    %5 = stablehlo.convert %4 : (tensor<i32>) -> tensor<i64>
    %6 = stablehlo.compare GE, %1, %c, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%6, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'b'. Using the following polymorphic shapes specifications: args[0].shape = (b, 2, h, w). Obtained dimension variables: 'b' = {0} from specification 'b' for dimension args[0].shape[0] (= {0}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i64>) -> ()
    %7 = stablehlo.compare GE, %3, %c, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%7, %1, %3) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'h'. Using the following polymorphic shapes specifications: args[0].shape = (b, 2, h, w). Obtained dimension variables: 'b' = {0} from specification 'b' for dimension args[0].shape[0] (= {0}), 'h' = {1} from specification 'h' for dimension args[0].shape[2] (= {1}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i64>, tensor<i64>) -> ()
    %8 = stablehlo.compare GE, %5, %c, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%8, %1, %3, %5) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'w'. Using the following polymorphic shapes specifications: args[0].shape = (b, 2, h, w). Obtained dimension variables: 'b' = {0} from specification 'b' for dimension args[0].shape[0] (= {0}), 'h' = {1} from specification 'h' for dimension args[0].shape[2] (= {1}), 'w' = {2} from specification 'w' for dimension args[0].shape[3] (= {2}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i64>, tensor<i64>, tensor<i64>) -> ()
    %9 = call @_wrapped_jax_export_main(%1, %3, %5, %arg0, %arg1) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<?x2x?x?xf32>, tensor<3x2x3x3xf32>) -> tensor<?x3x?x?xf32>
    return %9 : tensor<?x3x?x?xf32>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i64> {jax.global_constant = "b"}, %arg1: tensor<i64> {jax.global_constant = "h"}, %arg2: tensor<i64> {jax.global_constant = "w"}, %arg3: tensor<?x2x?x?xf32>, %arg4: tensor<3x2x3x3xf32>) -> (tensor<?x3x?x?xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<-2> : tensor<i64>
    %c_0 = stablehlo.constant dense<2> : tensor<i64>
    %c_1 = stablehlo.constant dense<-1> : tensor<i64>
    %c_2 = stablehlo.constant dense<1> : tensor<i64>
    %c_3 = stablehlo.constant dense<1> : tensor<1xi32>
    %0 = stablehlo.concatenate %c_3, %c_3, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %1 = stablehlo.reshape %0 : (tensor<2xi32>) -> tensor<1x2xi32>
    %2 = stablehlo.convert %arg2 : tensor<i64>
    %3 = stablehlo.multiply %2, %c_1 : tensor<i64>
    %4:2 = call @divmod(%arg0, %arg1, %arg2, %3, %c_0) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
    %5 = stablehlo.multiply %4#0, %c : tensor<i64>
    %6 = stablehlo.convert %arg2 : tensor<i64>
    %7 = stablehlo.multiply %6, %c_1 : tensor<i64>
    %8 = stablehlo.add %5, %7 : tensor<i64>
    %9 = stablehlo.add %8, %c_2 : tensor<i64>
    %10:2 = call @divmod(%arg0, %arg1, %arg2, %9, %c_0) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
    %11 = stablehlo.convert %arg2 : tensor<i64>
    %12 = stablehlo.multiply %11, %c_1 : tensor<i64>
    %13:2 = call @divmod(%arg0, %arg1, %arg2, %12, %c_0) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
    %14 = stablehlo.multiply %13#0, %c : tensor<i64>
    %15 = stablehlo.convert %arg2 : tensor<i64>
    %16 = stablehlo.multiply %15, %c_1 : tensor<i64>
    %17 = stablehlo.add %14, %16 : tensor<i64>
    %18 = stablehlo.add %17, %c_2 : tensor<i64>
    %19:2 = call @divmod(%arg0, %arg1, %arg2, %18, %c_0) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
    %20 = stablehlo.multiply %19#0, %c_1 : tensor<i64>
    %21 = stablehlo.convert %arg2 : tensor<i64>
    %22 = stablehlo.multiply %21, %c_1 : tensor<i64>
    %23:2 = call @divmod(%arg0, %arg1, %arg2, %22, %c_0) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
    %24 = stablehlo.multiply %23#0, %c : tensor<i64>
    %25 = stablehlo.convert %arg2 : tensor<i64>
    %26 = stablehlo.multiply %25, %c_1 : tensor<i64>
    %27 = stablehlo.add %20, %24 : tensor<i64>
    %28 = stablehlo.add %27, %26 : tensor<i64>
    %29 = stablehlo.add %28, %c_2 : tensor<i64>
    %30 = stablehlo.convert %10#0 : (tensor<i64>) -> tensor<i32>
    %31 = stablehlo.reshape %30 : (tensor<i32>) -> tensor<1xi32>
    %32 = stablehlo.convert %29 : (tensor<i64>) -> tensor<i32>
    %33 = stablehlo.reshape %32 : (tensor<i32>) -> tensor<1xi32>
    %34 = stablehlo.concatenate %31, %33, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %35 = stablehlo.reshape %34 : (tensor<2xi32>) -> tensor<1x2xi32>
    %36 = stablehlo.concatenate %1, %35, dim = 0 : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<2x2xi32>
    %37 = "stablehlo.dynamic_conv"(%arg3, %arg4, %36) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>, feature_group_count = 1 : i64, window_strides = array<i64: 1, 2>}> : (tensor<?x2x?x?xf32>, tensor<3x2x3x3xf32>, tensor<2x2xi32>) -> tensor<?x3x?x?xf32>
    return %37 : tensor<?x3x?x?xf32>
  }
  func.func private @divmod(%arg0: tensor<i64> {jax.global_constant = "b"}, %arg1: tensor<i64> {jax.global_constant = "h"}, %arg2: tensor<i64> {jax.global_constant = "w"}, %arg3: tensor<i64>, %arg4: tensor<i64>) -> (tensor<i64>, tensor<i64>) {
    %0 = call @floor_divide(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<i64>
    %1 = call @remainder(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<i64>
    return %0, %1 : tensor<i64>, tensor<i64>
  }
  func.func private @floor_divide(%arg0: tensor<i64> {jax.global_constant = "b"}, %arg1: tensor<i64> {jax.global_constant = "h"}, %arg2: tensor<i64> {jax.global_constant = "w"}, %arg3: tensor<i64>, %arg4: tensor<i64>) -> tensor<i64> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.divide %arg3, %arg4 : tensor<i64>
    %1 = stablehlo.sign %arg3 : tensor<i64>
    %2 = stablehlo.sign %arg4 : tensor<i64>
    %3 = stablehlo.compare NE, %1, %2, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %4 = stablehlo.remainder %arg3, %arg4 : tensor<i64>
    %5 = stablehlo.compare NE, %4, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %6 = stablehlo.and %3, %5 : tensor<i1>
    %7 = stablehlo.subtract %0, %c : tensor<i64>
    %8 = call @_where(%arg0, %arg1, %arg2, %6, %7, %0) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i1>, tensor<i64>, tensor<i64>) -> tensor<i64>
    return %8 : tensor<i64>
  }
  func.func private @_where(%arg0: tensor<i64> {jax.global_constant = "b"}, %arg1: tensor<i64> {jax.global_constant = "h"}, %arg2: tensor<i64> {jax.global_constant = "w"}, %arg3: tensor<i1>, %arg4: tensor<i64>, %arg5: tensor<i64>) -> tensor<i64> {
    %0 = stablehlo.select %arg3, %arg4, %arg5 : tensor<i1>, tensor<i64>
    return %0 : tensor<i64>
  }
  func.func private @remainder(%arg0: tensor<i64> {jax.global_constant = "b"}, %arg1: tensor<i64> {jax.global_constant = "h"}, %arg2: tensor<i64> {jax.global_constant = "w"}, %arg3: tensor<i64>, %arg4: tensor<i64>) -> tensor<i64> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.compare EQ, %arg4, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %1 = call @_where(%arg0, %arg1, %arg2, %0, %c, %arg4) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i1>, tensor<i64>, tensor<i64>) -> tensor<i64>
    %2 = stablehlo.remainder %arg3, %1 : tensor<i64>
    %3 = stablehlo.compare NE, %2, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %4 = stablehlo.compare LT, %2, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %5 = stablehlo.compare LT, %1, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %6 = stablehlo.compare NE, %4, %5, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %7 = stablehlo.and %6, %3 : tensor<i1>
    %8 = stablehlo.add %2, %1 : tensor<i64>
    %9 = stablehlo.select %7, %8, %2 : tensor<i1>, tensor<i64>
    return %9 : tensor<i64>
  }
}
