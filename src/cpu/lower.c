/* Which ops have a fast kernel. Elementwise ops are not here: they run as fused loops (group.c); windows on an operand (broadcasts, slices) are read in
 * place or copied by a loop; the rest runs on the interpreter's code. */
#include "cpu/kernel/kernel.h"
#include "cpu/plan/stages.h"

static xt_status plan(cpu_exec *e) {
    return cpu_plan_make(e, &cpu_kernels);
}

const cpu_lowering cpu_kernels = {
    .elementwise = cpu_lower_rows,
    .interpreter = cpu_lower_interp,
    .whole_program = &cpu_program_kernel,
    .plan = plan,
    .blocked = {conv_images, blocked_window_ok, blocked_window, blocked_norm},
    .ways =
        {
            [OP_dot_general] = {cpu_lower_dot_general, cpu_lower_gemm},
            [OP_dot] = {cpu_lower_dot_general, cpu_lower_gemm},
            [OP_convolution] = {cpu_lower_convolution, cpu_lower_conv_any},
            [OP_reduce] = {cpu_lower_again, cpu_lower_reduce, cpu_lower_fold},
            [OP_reduce_window] = {cpu_lower_scan, cpu_lower_reduce_window, cpu_lower_window_any},
            [OP_select_and_scatter] = {cpu_lower_select_and_scatter, cpu_lower_select_any},
            [OP_batch_norm_training] = {cpu_lower_batch_norm_training},
            [OP_batch_norm_grad] = {cpu_lower_batch_norm_grad},
            [OP_batch_norm_inference] = {cpu_lower_batch_norm_inference},
            [OP_transpose] = {cpu_lower_transpose}, /* of an array that somebody reads dense */
            [OP_pad] = {cpu_lower_pad},
            [OP_concatenate] = {cpu_lower_concatenate},
            [OP_dynamic_slice] = {cpu_lower_dynamic_slice},
            [OP_dynamic_update_slice] = {cpu_lower_dynamic_update_slice},
            [OP_gather] = {cpu_lower_gather},
            [OP_scatter] = {cpu_lower_scatter, cpu_lower_scatter_any},
            [OP_map] = {cpu_lower_map},
            [OP_iota] = {cpu_lower_iota},
            [OP_broadcast] = {cpu_lower_window},
            [OP_broadcast_in_dim] = {cpu_lower_window},
            [OP_slice] = {cpu_lower_window},
            [OP_reverse] = {cpu_lower_window},
            [OP_fft] = {cpu_lower_fft},
            [OP_sort] = {cpu_lower_sort, cpu_lower_merge},
            [OP_chlo_top_k] = {cpu_lower_top_k},
            [OP_while] = {cpu_lower_control},
            [OP_if] = {cpu_lower_control},
            [OP_case] = {cpu_lower_control},
            [OP_rng] = {cpu_lower_rng},
            [OP_rng_bit_generator] = {cpu_lower_rng_bit_generator},
            [OP_cholesky] = {cpu_lower_cholesky},
            [OP_triangular_solve] = {cpu_lower_triangular_solve},
            [OP_custom_call] = {cpu_lower_tile, cpu_lower_lapack, cpu_lower_linalg_call, cpu_lower_eig},
            [OP_all_reduce] = {cpu_lower_collective},
            [OP_all_gather] = {cpu_lower_collective},
            [OP_all_to_all] = {cpu_lower_collective},
            [OP_reduce_scatter] = {cpu_lower_collective},
            [OP_collective_broadcast] = {cpu_lower_collective},
            [OP_collective_permute] = {cpu_lower_collective},
            [OP_collective_reduce] = {cpu_lower_collective},
            [OP_replica_id] = {cpu_lower_collective},
            [OP_partition_id] = {cpu_lower_collective},
        },
};
