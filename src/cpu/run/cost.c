/* What an op costs: flops by the shapes of StableHLO, whatever kernel runs it. */
#include "cpu/run/cost.h"

static double count_of(const ir_type *t) {
    return t->kind == IR_TENSOR && t->count > 0 ? (double)t->count : 0;
}

static int64_t int_at(const ir_op *op, ir_attr_key k, size_t i, int64_t fallback) {
    size_t n;
    const int64_t *v = ir_get_ints(op, k, &n);
    return i < n ? v[i] : fallback;
}

/* Products with real elements only: what padding and dilation put in is not computed by any good kernel (and not
 * counted by XLA). */
static double conv_flops(const ir_op *op) {
    const ir_type *l = op->in[0]->type, *r = op->in[1]->type, *o = op->out[0].type;
    size_t n;
    const int64_t *ls = ir_get_ints(op, IR_A_input_spatial_dimensions, &n),
                  *rs = ir_get_ints(op, IR_A_kernel_spatial_dimensions, &n);
    const int64_t *os = ir_get_ints(op, IR_A_output_spatial_dimensions, &n);
    double flops = 2.0 * (double)o->dims[ir_get_int(op, IR_A_output_batch_dimension, 0)] *
                   (double)o->dims[ir_get_int(op, IR_A_output_feature_dimension, 0)] *
                   (double)r->dims[ir_get_int(op, IR_A_kernel_input_feature_dimension, 0)];
    for (size_t d = 0; d < n; d++) {
        int64_t stride = int_at(op, IR_A_window_strides, d, 1), low = int_at(op, IR_A_padding, 2 * d, 0), hits = 0;
        int64_t l_dil = int_at(op, IR_A_lhs_dilation, d, 1), r_dil = int_at(op, IR_A_rhs_dilation, d, 1);
        double places = (double)o->dims[os[d]] * (double)r->dims[rs[d]];
        if (places > 1e7) { /* an estimate is enough, and this loop is not to outlast the convolution */
            flops *= places;
            continue;
        }
        for (int64_t i = 0; i < o->dims[os[d]]; i++)
            for (int64_t k = 0; k < r->dims[rs[d]]; k++) {
                int64_t at = i * stride + k * r_dil - low;
                hits += at >= 0 && at % l_dil == 0 && at / l_dil < l->dims[ls[d]];
            }
        flops *= (double)hits;
    }
    return flops;
}

static double contraction_flops(const ir_op *op) {
    const ir_type *l = op->in[0]->type;
    double per = 1; /* products in one element of the result */
    size_t n;
    if (op->code == OP_convolution) return conv_flops(op);
    if (op->code == OP_dot) {
        per = l->rank ? (double)l->dims[l->rank - 1] : 1;
    } else {
        const int64_t *lc = ir_get_ints(op, IR_A_lhs_contracting_dimensions, &n);
        for (size_t i = 0; i < n; i++) per *= (double)l->dims[lc[i]];
    }
    return 2 * per * count_of(op->out[0].type);
}

static double window_size(const ir_op *op) {
    size_t n;
    const int64_t *w = ir_get_ints(op, IR_A_window_dimensions, &n);
    double p = 1;
    for (size_t i = 0; i < n; i++) p *= (double)w[i];
    return p;
}

double cpu_op_flops(const ir_op *op) {
    if (op->n_out == 0) return 0;
    double out = count_of(op->out[0].type);
    switch ((int)op->code) {
    case OP_dot:
    case OP_dot_general:
    case OP_convolution: return contraction_flops(op);
    case OP_reduce:
    case OP_sort:
    case OP_scatter: return count_of(op->in[0]->type);
    case OP_reduce_window: return out * window_size(op);
    case OP_select_and_scatter: return count_of(op->in[1]->type) * window_size(op);
    case OP_batch_norm_training: return 8 * out;
    case OP_batch_norm_grad: return 10 * out;
    case OP_batch_norm_inference: return 4 * out;
    case OP_while:
    case OP_if:
    case OP_case: return 0; /* their programs' (control) */
    default: return ir_op_infos[op->code].flags & IR_ELEMENTWISE ? out : 0;
    }
}

double cpu_op_transcendentals(const ir_op *op) {
    return ir_op_infos[op->code].flags & IR_TRANSCENDENTAL ? count_of(op->out[0].type) : 0;
}

double cpu_block_flops(const ir_block *b, double *out_transcendentals) {
    double flops = 0;
    for (const ir_op *op = b->first; op; op = op->next) {
        flops += cpu_op_flops(op);
        *out_transcendentals += cpu_op_transcendentals(op);
    }
    return flops;
}
