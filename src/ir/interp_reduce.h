/* Folding kernels, shared by reduce and reduce_window. */
#ifndef XT_SRC_IR_INTERP_REDUCE_H
#define XT_SRC_IR_INTERP_REDUCE_H

#include "ir/interp_int.h"

typedef void (*fold_fn)(int64_t n, const void *src, void *acc);
typedef struct fold_kernel {
    fold_fn fold; /* n elements of `compute` into one accumulator */
    fold_fn rows; /* element i into accumulator i */
    xt_dtype compute; /* what the elements are read as: f32 for the narrow floats */
    xt_dtype acc; /* the accumulators' type: f64 for sums and products of f32 and narrower */
} fold_kernel;
/* False when the op or dtype has none. */
bool fold_kernel_find(ir_opcode code, xt_dtype t, fold_kernel *out);

/* A region's element types may be wider than the operands': operands converted to them. `out_tmp` goes to promote_free,
 * also on failure. */
xt_status promote_operands(const ir_op *op, size_t n, const array *in, array *out, array **out_tmp);
void promote_free(array *tmp);

#endif
