/* What every kernel stands on, and the lowerings: lower.c is the table of who is asked for an op. */
#ifndef XT_SRC_CPU_KERNEL_KERNEL_H
#define XT_SRC_CPU_KERNEL_KERNEL_H

#include "cpu/plan/build.h"
#include "cpu/vector/simd.h"

#define CPU_LOWER(name) xt_status cpu_lower_##name(cpu_builder *b, const ir_op *op, bool *out_done)
CPU_LOWER(interp);
CPU_LOWER(dot_general);
CPU_LOWER(convolution);
CPU_LOWER(reduce);
CPU_LOWER(reduce_fused);
CPU_LOWER(reduce_window);
CPU_LOWER(select_and_scatter);
CPU_LOWER(batch_norm_training);
CPU_LOWER(batch_norm_grad);
CPU_LOWER(batch_norm_inference);
CPU_LOWER(transpose);
CPU_LOWER(pad);
CPU_LOWER(concatenate);
CPU_LOWER(dynamic_slice);
CPU_LOWER(dynamic_update_slice);
CPU_LOWER(gather);
CPU_LOWER(scatter);
CPU_LOWER(collective);
CPU_LOWER(rows);
CPU_LOWER(fold);
CPU_LOWER(control);
CPU_LOWER(sort);
CPU_LOWER(top_k);
CPU_LOWER(fft);
CPU_LOWER(iota);
CPU_LOWER(window);
CPU_LOWER(rng);
CPU_LOWER(rng_bit_generator);
CPU_LOWER(scan);
CPU_LOWER(gemm);
CPU_LOWER(cholesky);
CPU_LOWER(triangular_solve);
CPU_LOWER(map);
CPU_LOWER(window_any);
CPU_LOWER(select_any);
CPU_LOWER(scatter_any);
CPU_LOWER(merge);
CPU_LOWER(conv_any);
CPU_LOWER(conv_line);
CPU_LOWER(lapack);
CPU_LOWER(linalg_call);
CPU_LOWER(attention);
CPU_LOWER(rowwise);
CPU_LOWER(eig);
CPU_LOWER(narrow);
CPU_LOWER(sparse);
/* conv.c, blocked.c: see cpu_lowering.blocked. */
bool conv_images(const ir_op *op, int out_feature[3], double *out_winograd_flops);
bool blocked_window_ok(const ir_op *op, int feature);
xt_status blocked_window(cpu_builder *b, const ir_op *op);
xt_status blocked_norm(cpu_builder *b, const struct norm_fusion *f);
extern const cpu_kernel cpu_program_kernel; /* interp.c: runs a program that has no plan */

extern const cpu_lowering cpu_kernels; /* lower.c */

#endif
