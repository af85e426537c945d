"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x4xf32>, tensor<i1>, tensor<i32>, tensor<2x4xf32>, tensor<2xui64>, tensor<8x8xcomplex<f32>>, tensor<4xf32>, tensor<f32>, !stablehlo.token) -> tensor<4x4xf32>, sym_name = "main"}> ({
  ^bb0(%arg1: tensor<4x4xf32>, %arg2: tensor<i1>, %arg3: tensor<i32>, %arg4: tensor<2x4xf32>, %arg5: tensor<2xui64>, %arg6: tensor<8x8xcomplex<f32>>, %arg7: tensor<4xf32>, %arg8: tensor<f32>, %arg9: !stablehlo.token):
    %0 = "stablehlo.constant"() <{value = dense<[3, 4]> : tensor<2xi64>}> : () -> tensor<2xi64>
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<2xi32>}> : () -> tensor<2xi32>
    %2 = "stablehlo.constant"() <{value = dense<true> : tensor<4xi1>}> : () -> tensor<4xi1>
    %3 = "stablehlo.constant"() <{value = dense<"0x0100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100"> : tensor<140xi1>}> : () -> tensor<140xi1>
    %4 = "stablehlo.constant"() <{value = dense<"0x010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E010E"> : tensor<140xi4>}> : () -> tensor<140xi4>
    %5 = "stablehlo.cholesky"(%arg1) <{lower = true}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %6 = "stablehlo.triangular_solve"(%arg1, %arg1) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %7 = "stablehlo.if"(%arg2) ({
      "stablehlo.return"(%arg1) : (tensor<4x4xf32>) -> ()
    }, {
      "stablehlo.return"(%arg1) : (tensor<4x4xf32>) -> ()
    }) : (tensor<i1>) -> tensor<4x4xf32>
    %8 = "stablehlo.case"(%arg3) ({
      "stablehlo.return"(%arg1) : (tensor<4x4xf32>) -> ()
    }, {
      "stablehlo.return"(%arg1) : (tensor<4x4xf32>) -> ()
    }) : (tensor<i32>) -> tensor<4x4xf32>
    %9:2 = "stablehlo.rng_bit_generator"(%arg5) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)
    %10 = "stablehlo.fft"(%arg6) <{fft_length = array<i64: 8>, fft_type = #stablehlo<fft_type FFT>}> : (tensor<8x8xcomplex<f32>>) -> tensor<8x8xcomplex<f32>>
    %11:3 = "stablehlo.batch_norm_training"(%arg1, %arg7, %arg7) <{epsilon = 9.99999974E-6 : f32, feature_index = 1 : i64}> : (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>)
    %12 = "stablehlo.reduce_precision"(%arg1) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %13 = "stablehlo.all_reduce"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg21: tensor<f32>, %arg22: tensor<f32>):
      %55 = "stablehlo.add"(%arg21, %arg22) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%55) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %14 = "stablehlo.all_gather"(%arg1) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x8xf32>
    %15 = "stablehlo.all_to_all"(%arg1) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<4x4xf32>) -> tensor<8x2xf32>
    %16 = "stablehlo.collective_permute"(%arg1) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %17 = "stablehlo.reduce_scatter"(%arg1) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({
    ^bb0(%arg19: tensor<f32>, %arg20: tensor<f32>):
      %54 = "stablehlo.add"(%arg19, %arg20) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%54) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>) -> tensor<4x2xf32>
    %18 = "stablehlo.partition_id"() : () -> tensor<ui32>
    %19 = "stablehlo.replica_id"() : () -> tensor<ui32>
    %20 = "stablehlo.tuple"(%arg1, %arg7) : (tensor<4x4xf32>, tensor<4xf32>) -> tuple<tensor<4x4xf32>, tensor<4xf32>>
    %21 = "stablehlo.get_tuple_element"(%20) <{index = 1 : i32}> : (tuple<tensor<4x4xf32>, tensor<4xf32>>) -> tensor<4xf32>
    %22 = "stablehlo.create_token"() : () -> !stablehlo.token
    %23 = "stablehlo.after_all"(%22, %22) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
    %24 = "stablehlo.custom_call"(%arg1) <{api_version = 2 : i32, backend_config = "bar", call_target_name = "foo", called_computations = [@main], has_side_effect = true, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]}> {mhlo.x = 1 : i32} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %25 = "stablehlo.composite"(%arg1) <{composite_attributes = {n = 1 : i32}, decomposition = @dec, name = "my.op", version = 1 : i32}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %26 = "stablehlo.map"(%arg1) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg18: tensor<f32>):
      "stablehlo.return"(%arg18) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %27 = "stablehlo.dot_general"(%arg1, %arg1) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
    %28 = "stablehlo.exponential"(%arg1) <{result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %29 = "stablehlo.rng"(%arg8, %arg8, %0) <{rng_distribution = #stablehlo<rng_distribution NORMAL>}> : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x4xf32>
    %30 = "stablehlo.get_dimension_size"(%arg1) <{dimension = 1 : i64}> : (tensor<4x4xf32>) -> tensor<i32>
    %31 = "stablehlo.clamp"(%arg8, %arg1, %arg8) : (tensor<f32>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
    %32 = "stablehlo.dot"(%arg1, %arg7) <{precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGH>]}> : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %33 = "stablehlo.broadcast"(%arg7) <{broadcast_sizes = array<i64: 3>}> : (tensor<4xf32>) -> tensor<3x4xf32>
    %34:2 = "stablehlo.infeed"(%arg9) <{infeed_config = "x", layout = [[0, 1]]}> : (!stablehlo.token) -> (tensor<3x3xi32>, !stablehlo.token)
    %35 = "stablehlo.outfeed"(%arg1, %arg9) <{outfeed_config = "x"}> : (tensor<4x4xf32>, !stablehlo.token) -> !stablehlo.token
    %36 = "stablehlo.einsum"(%arg1, %arg1) <{einsum_config = "ab,bc->ac"}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %37 = "stablehlo.torch_index_select"(%arg1, %1) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<4x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
    %38:2 = "stablehlo.reduce"(%arg1, %arg1, %arg8, %arg8) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg14: tensor<f32>, %arg15: tensor<f32>, %arg16: tensor<f32>, %arg17: tensor<f32>):
      %53 = "stablehlo.add"(%arg14, %arg15) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%53, %53) : (tensor<f32>, tensor<f32>) -> ()
    }) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
    %39 = "stablehlo.reduce"(%arg1, %arg8) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg12: tensor<f32>, %arg13: tensor<f32>):
      %52 = "stablehlo.add"(%arg13, %arg12) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%52) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
    %40 = "stablehlo.while"(%arg1) ({
    ^bb0(%arg11: tensor<4x4xf32>):
      "stablehlo.return"(%arg2) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg10: tensor<4x4xf32>):
      "stablehlo.return"(%arg10) : (tensor<4x4xf32>) -> ()
    }) {foo = "x"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %41:2 = "stablehlo.optimization_barrier"(%arg1, %arg7) : (tensor<4x4xf32>, tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
    %42 = "stablehlo.complex"(%arg1, %arg1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xcomplex<f32>>
    %43 = "stablehlo.real"(%42) : (tensor<4x4xcomplex<f32>>) -> tensor<4x4xf32>
    %44 = "stablehlo.send"(%arg1, %arg9) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<4x4xf32>, !stablehlo.token) -> !stablehlo.token
    %45 = "stablehlo.constant"() <{value = dense<(1.000000e+00,2.000000e+00)> : tensor<2xcomplex<f32>>}> : () -> tensor<2xcomplex<f32>>
    %46 = "stablehlo.constant"() <{value = dense<[1.101560e+00, 0x7FC0, -2.500000e+00, 3.389530e+38]> : tensor<4xbf16>}> : () -> tensor<4xbf16>
    %47 = "stablehlo.constant"() <{value = dense<1.125000e+00> : tensor<f8E4M3FN>}> : () -> tensor<f8E4M3FN>
    %48 = "stablehlo.constant"() <{value = dense<> : tensor<0x3xf32>}> : () -> tensor<0x3xf32>
    %49 = "stablehlo.select"(%arg2, %arg1, %arg1) : (tensor<i1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %50 = "stablehlo.concatenate"(%arg1, %arg4) <{dimension = 0 : i64}> {foo} : (tensor<4x4xf32>, tensor<2x4xf32>) -> tensor<6x4xf32>
    %51 = "stablehlo.add"(%arg1, %arg1) {foo = "x"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    "func.return"(%arg1) : (tensor<4x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x4xf32>) -> tensor<4x4xf32>, sym_name = "dec", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4x4xf32>):
    "func.return"(%arg0) : (tensor<4x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

