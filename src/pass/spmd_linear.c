/* Ops through which a sum over devices may pass: applied to each device's summand they give summands of the result. */
#include "pass/spmd.h"

/* Sums of elements of these types do not depend on how they are put together, but for rounding. */
static bool adds_up(const ir_type *t) {
    return t->kind == IR_TENSOR && t->dtype != XT_BOOL;
}

/* Narrowing an integer keeps sums (they wrap alike); between floating-point types only the rounding differs. */
static bool convert_is_linear(const ir_op *op) {
    xt_dtype from = op->in[0]->type->dtype, to = op->out[0].type->dtype;
    if (ir_dtype_is_int(from)) return ir_dtype_is_int(to) && xt_dtype_size(to) <= xt_dtype_size(from);
    return !ir_dtype_is_int(to) && to != XT_BOOL && xt_dtype_size(to) >= 2;
}

static bool sums_up(const ir_op *op) {
    return op->n_in == 2 && spmd_region_op(op) == OP_add && spmd_is_number(op->in[1], 0);
}

spmd_linear spmd_linear_of(const ir_op *op) {
    spmd_linear none = {0}, first = {1, false}, both = {3, false};
    if (op->n_out != 1 || !adds_up(op->out[0].type) || op->n_in == 0 || !adds_up(op->in[0]->type)) {
        bool chosen = op->code == OP_select && op->n_out == 1 && adds_up(op->out[0].type);
        return chosen ? (spmd_linear){6, false} : none;
    }
    switch (op->code) {
    case OP_add:
    case OP_subtract:
    case OP_dynamic_update_slice: return both;
    case OP_negate:
    case OP_real:
    case OP_imag:
    case OP_broadcast_in_dim:
    case OP_reshape:
    case OP_transpose:
    case OP_reverse:
    case OP_slice:
    case OP_dynamic_slice:
    case OP_gather: return first;
    case OP_convert: return convert_is_linear(op) ? first : none;
    case OP_pad: return spmd_is_number(op->in[1], 0) ? first : none;
    case OP_reduce: return sums_up(op) ? first : none;
    case OP_concatenate:
        return op->n_in <= 32 ? (spmd_linear){op->n_in == 32 ? ~0u : (1u << op->n_in) - 1, false} : none;
    case OP_scatter: return op->n_in == 3 && spmd_region_op(op) == OP_add ? (spmd_linear){5, false} : none;
    case OP_multiply:
    case OP_dot_general:
    case OP_convolution: return (spmd_linear){3, true};
    case OP_divide: return ir_dtype_is_int(op->in[0]->type->dtype) ? none : first;
    default: return none;
    }
}
