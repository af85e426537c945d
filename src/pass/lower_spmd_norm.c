/* Batch norm in ops that have rules of their own: over a divided batch, its sums become sums over devices. Forward: y =
 * (x - mean) / sqrt(var + e) * scale + offset with the batch's own biased variance. Backward (Ioffe & Szegedy 2015):
 * with u = (x - mean) / sqrt(var + e) and n elements a feature, d_offset = sum d, d_scale = sum d u, d_x = scale /
 * sqrt(var + e) (d - (d_offset + u d_scale) / n). */
#include "pass/spmd.h"

typedef struct norm {
    ir_builder b;
    const ir_type *x;
    int64_t feature, others[IR_MAX_RANK];
    size_t n_others;
    double count, epsilon;
} norm;

static norm norm_of(ir_module *m, ir_op *op) {
    norm n = {.b = ir_before(m, op),
              .x = op->in[0]->type,
              .feature = ir_get_int(op, IR_A_feature_index, 0),
              .epsilon = ir_get_float(op, IR_A_epsilon, 0)};
    n.b.src = op->src;
    n.b.path = op->path;
    for (uint32_t d = 0; d < n.x->rank; d++)
        if (d != (uint32_t)n.feature) n.others[n.n_others++] = d;
    int64_t features = n.x->dims[n.feature];
    n.count = features ? (double)(n.x->count / features) : 1;
    return n;
}

static ir_value *wide(norm *n, ir_value *v) {
    return v ? ir_broadcast_in_dim(&n->b, v, n->x, 1, &n->feature) : NULL;
}
static ir_value *sum(norm *n, ir_value *v) {
    return v ? ir_reduce(&n->b, OP_add, v, n->n_others, n->others) : NULL;
}
static ir_value *times(norm *n, ir_value *v, double k) {
    return v ? ir_multiply(&n->b, v, ir_splat(&n->b, v->type, k)) : NULL;
}
static ir_value *inverse(norm *n, ir_value *var) {
    return var ? ir_rsqrt(&n->b, ir_add(&n->b, var, ir_splat(&n->b, var->type, n->epsilon))) : NULL;
}

static void training(norm *n, const ir_op *op, ir_value *out[3]) {
    ir_builder *b = &n->b;
    out[1] = times(n, sum(n, op->in[0]), 1 / n->count);
    ir_value *centred = ir_subtract(b, op->in[0], wide(n, out[1]));
    out[2] = times(n, sum(n, ir_multiply(b, centred, centred)), 1 / n->count);
    ir_value *scaled = ir_multiply(b, centred, wide(n, ir_multiply(b, inverse(n, out[2]), op->in[1])));
    out[0] = ir_add(b, scaled, wide(n, op->in[2]));
}

/* Operands: x, scale, mean, variance, d. */
static void gradient(norm *n, const ir_op *op, ir_value *out[3]) {
    ir_builder *b = &n->b;
    ir_value *inv = inverse(n, op->in[3]), *d = op->in[4];
    ir_value *u = ir_multiply(b, ir_subtract(b, op->in[0], wide(n, op->in[2])), wide(n, inv));
    out[2] = sum(n, d);
    out[1] = sum(n, ir_multiply(b, d, u));
    ir_value *mean_d = wide(n, times(n, out[2], 1 / n->count)), *mean_du = wide(n, times(n, out[1], 1 / n->count));
    ir_value *rest = ir_subtract(b, d, ir_add(b, mean_d, ir_multiply(b, u, mean_du)));
    out[0] = ir_multiply(b, rest, wide(n, ir_multiply(b, inv, op->in[1])));
}

xt_status spmd_lower_norm(ir_module *m, ir_block *block) {
    for (ir_op *op = block ? block->first : NULL, *next; op; op = next) {
        next = op->next;
        for (uint32_t r = 0; r < op->n_regions; r++) XT_TRY(spmd_lower_norm(m, op->regions[r].block));
        if (op->code != OP_batch_norm_training && op->code != OP_batch_norm_grad) continue;
        norm n = norm_of(m, op);
        ir_value *out[3] = {0};
        if (op->code == OP_batch_norm_training)
            training(&n, op, out);
        else
            gradient(&n, op, out);
        if (n.b.status) return n.b.status;
        if (!out[0] || !out[1] || !out[2]) return status_oom(0, "partitioning");
        for (int i = 0; i < 3; i++) ir_replace_uses(m, &op->out[i], out[i]);
        ir_erase(op);
    }
    return NULL;
}
