/* What formulas of many kinds are made of. */
#include "distributions/dist.h"

ir_value *dist_sum_last(ir_builder *b, ir_value *x, int n) {
    int64_t axes[XT_MAX_RANK];
    if (!x || n == 0) return x;
    for (int i = 0; i < n; i++) axes[i] = (int64_t)x->type->rank - n + i;
    return ir_reduce(b, OP_add, x, (size_t)n, axes);
}

ir_value *dist_known(ir_builder *b, ir_value *x, ir_value *p, int n) {
    int64_t axes[XT_MAX_RANK];
    ir_value *nan = p ? ir_compare(b, IR_NE, p, p) : NULL;
    for (int i = 0; nan && i < n; i++) axes[i] = (int64_t)p->type->rank - n + i;
    if (nan && n > 0) nan = ir_reduce(b, OP_or, nan, (size_t)n, axes);
    if (!nan || !x) return NULL;
    for (uint32_t i = 0; i < nan->type->rank; i++) axes[i] = i;
    nan = ir_broadcast_in_dim(b, nan, ir_with_dtype(x->type, XT_BOOL), nan->type->rank, axes);
    return ex_keep(b, ir_not(b, nan), x, ir_dtype_is_float(x->type->dtype) ? NAN : -1);
}
