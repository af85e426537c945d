/* Derivatives of the batch normalisation ops. Training uses batch_norm_grad, which devices have as one kernel; the two
 * others are taken apart into elementwise ops and reductions, and those are differentiated. */
#include "grad/grad_int.h"

typedef struct norm {
    ir_builder *b;
    const ir_type *full;
    int64_t feature, *others; /* all dims but the feature dim */
    float epsilon;
    double count; /* elements per feature */
} norm;

static xt_status read_norm(grad_call *c, norm *n) {
    n->b = c->b;
    n->full = c->op->in[0]->type;
    n->feature = ir_get_int(c->op, IR_A_feature_index, 0);
    n->epsilon = (float)ir_get_float(c->op, IR_A_epsilon, 0);
    XT_TRY(grad_ints(c, n->full->rank, &n->others));
    for (int64_t i = 0, k = 0; i < (int64_t)n->full->rank; i++)
        if (i != n->feature) n->others[k++] = i;
    int64_t features = n->full->dims[n->feature];
    n->count = features ? (double)(n->full->count / features) : 0;
    return NULL;
}

static ir_value *per_element(const norm *n, ir_value *v) /* [C] -> the full shape */
{
    return v ? ir_broadcast_in_dim(n->b, v, n->full, 1, &n->feature) : NULL;
}

static ir_value *per_feature(const norm *n, ir_value *v) /* sum to [C] */
{
    return n->full->rank > 1 ? ir_reduce(n->b, OP_add, v, n->full->rank - 1, n->others) : v;
}

static ir_value *sum2(ir_builder *b, ir_value *x, ir_value *y) {
    return !x ? y : !y ? x : ir_add(b, x, y);
}

xt_status grad_batch_norm_training(grad_call *c) {
    norm n;
    XT_TRY(read_norm(c, &n));
    if (n.full->count == 0) return NULL;
    const ir_op *op = c->op;
    ir_builder *b = c->b;
    ir_value *x = op->in[0], *scale = op->in[1], *mean = &((ir_op *)op)->out[1], *var = &((ir_op *)op)->out[2];
    ir_value *grads[3] = {NULL, NULL, NULL};
    if (c->d_out[0]) ir_batch_norm_grad(b, x, scale, mean, var, c->d_out[0], n.epsilon, n.feature, grads);
    if (c->want[0]) {
        c->d_in[0] = grads[0];
        if (c->d_out[1]) c->d_in[0] = sum2(b, c->d_in[0], per_element(&n, grad_times(b, c->d_out[1], 1 / n.count)));
        /* var = mean((x - mean)^2); through the mean nothing comes, for x - mean sums to zero. */
        if (c->d_out[2]) {
            ir_value *centred = ir_subtract(b, x, per_element(&n, mean));
            c->d_in[0] =
                sum2(b, c->d_in[0], ir_multiply(b, centred, per_element(&n, grad_times(b, c->d_out[2], 2 / n.count))));
        }
    }
    if (c->want[1]) c->d_in[1] = grads[1];
    if (c->want[2]) c->d_in[2] = grads[2];
    return NULL;
}

/* operands: x, scale, mean, variance, d; results: d_x, d_scale, d_offset, by StableHLO's formulas. */
xt_status grad_batch_norm_grad(grad_call *c) {
    norm n;
    XT_TRY(read_norm(c, &n));
    if (n.full->count == 0) return NULL;
    ir_builder *b = c->b;
    const ir_op *stop = grad_last_op(b);
    ir_value *x = c->op->in[0], *scale = c->op->in[1], *mean = c->op->in[2], *d = c->op->in[4];
    ir_value *inverse = ir_rsqrt(b, grad_plus(b, c->op->in[3], n.epsilon));
    ir_value *centred = ir_subtract(b, x, per_element(&n, mean));
    ir_value *sum_d = per_feature(&n, d), *moment = per_feature(&n, ir_multiply(b, d, centred));
    ir_value *pull = ir_multiply(b, centred, per_element(&n, ir_multiply(b, moment, ir_multiply(b, inverse, inverse))));
    ir_value *around = ir_subtract(b, ir_subtract(b, grad_times(b, d, n.count), per_element(&n, sum_d)), pull);
    ir_value *gain = grad_times(b, ir_multiply(b, scale, inverse), 1 / n.count);
    ir_value *parts[3] = {ir_multiply(b, per_element(&n, gain), around), ir_multiply(b, moment, inverse), NULL};
    /* d_offset is a sum of d: as a result of its own, even where it is the same value as sum_d. */
    parts[2] = sum_d;
    return grad_through(c, stop, parts);
}

/* operands: x, scale, offset, mean, variance. */
xt_status grad_batch_norm_inference(grad_call *c) {
    norm n;
    XT_TRY(read_norm(c, &n));
    ir_builder *b = c->b;
    const ir_op *stop = grad_last_op(b);
    ir_value *x = c->op->in[0], *scale = c->op->in[1], *offset = c->op->in[2], *mean = c->op->in[3];
    ir_value *gain = ir_multiply(b, scale, ir_rsqrt(b, grad_plus(b, c->op->in[4], n.epsilon)));
    ir_value *centred = ir_subtract(b, x, per_element(&n, mean));
    ir_value *y = ir_add(b, ir_multiply(b, centred, per_element(&n, gain)), per_element(&n, offset));
    return grad_through(c, stop, &y);
}
