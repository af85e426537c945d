/* Which function runs an op: the table of all that are neither elementwise nor control flow, and the words for an op
 * that nobody runs. */
#include "ir/interp_plan.h"

static const interp_fn functions[OP_COUNT] = {
    [OP_select] = interp_select,
    [OP_clamp] = interp_clamp,
    [OP_bitcast_convert] = interp_bitcast_convert,
    [OP_map] = interp_map,
    [OP_constant] = interp_constant,
    [OP_chlo_constant] = interp_constant,
    [OP_iota] = interp_iota,
    [OP_dynamic_iota] = interp_iota,
    [OP_reshape] = interp_identity,
    [OP_dynamic_reshape] = interp_identity,
    [OP_broadcast] = interp_broadcast,
    [OP_broadcast_in_dim] = interp_broadcast_in_dim,
    [OP_dynamic_broadcast_in_dim] = interp_broadcast_in_dim,
    [OP_transpose] = interp_transpose,
    [OP_slice] = interp_slice,
    [OP_real_dynamic_slice] = interp_slice,
    [OP_pad] = interp_pad,
    [OP_dynamic_pad] = interp_pad,
    [OP_concatenate] = interp_concatenate,
    [OP_reverse] = interp_reverse,
    [OP_get_dimension_size] = interp_get_dimension_size,
    [OP_set_dimension_size] = interp_identity,
    [OP_reduce] = interp_reduce,
    [OP_reduce_window] = interp_reduce_window,
    [OP_select_and_scatter] = interp_select_and_scatter,
    [OP_sort] = interp_sort,
    [OP_chlo_top_k] = interp_top_k,
    [OP_dot_general] = interp_dot_general,
    [OP_dot] = interp_dot_general,
    [OP_einsum] = interp_einsum,
    [OP_unary_einsum] = interp_einsum,
    [OP_convolution] = interp_convolution,
    [OP_dynamic_conv] = interp_convolution,
    [OP_gather] = interp_gather,
    [OP_dynamic_gather] = interp_gather,
    [OP_torch_index_select] = interp_torch_index_select,
    [OP_scatter] = interp_scatter,
    [OP_dynamic_slice] = interp_dynamic_slice,
    [OP_dynamic_update_slice] = interp_dynamic_update_slice,
    [OP_batch_norm_training] = interp_batch_norm_training,
    [OP_batch_norm_grad] = interp_batch_norm_grad,
    [OP_batch_norm_inference] = interp_batch_norm_inference,
    [OP_rng] = interp_rng,
    [OP_rng_bit_generator] = interp_rng_bit_generator,
    [OP_cholesky] = interp_cholesky,
    [OP_triangular_solve] = interp_triangular_solve,
    [OP_fft] = interp_fft,
    [OP_optimization_barrier] = interp_identity,
    [OP_sdy_sharding_constraint] = interp_identity,
    [OP_sdy_reshard] = interp_identity,
    [OP_sdy_propagation_barrier] = interp_identity,
    [OP_tuple] = interp_tuple,
    [OP_get_tuple_element] = interp_get_tuple_element,
    [OP_after_all] = interp_token,
    [OP_create_token] = interp_token,
    [OP_custom_call] = interp_custom_call,
    [OP_all_gather] = interp_collective,
    [OP_all_reduce] = interp_collective,
    [OP_all_to_all] = interp_collective,
    [OP_collective_broadcast] = interp_collective,
    [OP_collective_reduce] = interp_collective,
    [OP_collective_permute] = interp_collective,
    [OP_reduce_scatter] = interp_collective,
    [OP_partition_id] = interp_collective,
    [OP_replica_id] = interp_collective,
    [OP_infeed] = interp_host_transfer,
    [OP_outfeed] = interp_host_transfer,
    [OP_send] = interp_host_transfer,
    [OP_recv] = interp_host_transfer,
    [OP_async_start] = interp_async_start,
    [OP_async_done] = interp_get_tuple_element,
    [OP_check_expect_eq] = interp_check,
    [OP_check_expect_eq_const] = interp_check,
    [OP_check_expect_almost_eq] = interp_check,
    [OP_check_expect_almost_eq_const] = interp_check,
    [OP_check_expect_close] = interp_check,
    [OP_interpreter_print] = interp_check,
    [OP_interpreter_run_parallel] = interp_run_parallel,
};

bool interp_knows(ir_opcode code) {
    if (functions[code] || is_control(code) || code == OP_call || code == OP_composite) return true;
    unsigned flags = ir_op_infos[code].flags;
    if (flags & IR_TERMINATOR) return true;
    if (!(flags & IR_ELEMENTWISE)) return false;
    return code == OP_convert || code == OP_compare || code == OP_complex || ew_float(code, XT_F32, -1, false) ||
           ew_int(code, XT_I32, -1);
}

xt_status interp_dispatch(interp *c, const ir_op *op, const array *in, array *out) {
    interp_fn fn = functions[op->code];
    if (!fn && (ir_op_infos[op->code].flags & IR_ELEMENTWISE)) fn = interp_elementwise;
    if (!fn) return interp_unsupported(op, "this op");
    return fn(c, op, in, out);
}

xt_status interp_temp(size_t count, size_t size, void *out_ptr) {
    size_t bytes;
    void *p = size_mul(count, size, &bytes) && bytes <= PTRDIFF_MAX ? base_aligned(64, bytes ? bytes : 64) : NULL;
    memcpy(out_ptr, &p, sizeof p);
    return p ? NULL : status_oom(count * size, "the interpreter's scratch memory");
}

xt_status interp_unsupported(const ir_op *op, const char *what) {
    str t = STR_INIT;
    for (uint32_t j = 0; j < op->n_in; j++) {
        if (j) str_append(&t, ", ");
        ir_type_print(op->in[j]->type, &t);
    }
    xt_status s = status_new(XT_UNIMPLEMENTED, NULL, "%s.%s(%s): the interpreter has no meaning for %s",
                             ir_op_infos[op->code].dialect, ir_op_infos[op->code].name, str_cstr(&t), what);
    str_free(&t);
    return s;
}
