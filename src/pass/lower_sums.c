/* needs: nothing. keeps: meaning up to the rounding of f32 sums. Sums in stages, for a compiler that would add
 * thousands of f32 in one accumulator: XLA's CPU plugin of PJRT 0.81 cuts a reduction over [N,C,H,W] into windows of
 * 32x1x32x32, and sums each window one element after the other. Constant backgrounds of images then round the same way
 * 4,000 times: batch statistics were off by 6e-6, two orders more than in any other compiler here. Each long sum
 * becomes one reduction per dim, with barriers between, because that compiler joins consecutive reductions again; batch
 * norm is taken apart, because its sums are hidden. */
#include "pass/rewrite.h"

enum { LONG_SUM = 1024 }; /* elements; shorter sums round well enough in one accumulator (1e-6) */

static ir_value *barrier(ir_builder *b, ir_value *x) {
    const ir_op *op = ir_build(b, OP_optimization_barrier, 1, &x, 0, NULL, 0, NULL, 0, NULL);
    return op ? &op->out[0] : NULL;
}

/* The dims in falling order, so that each is still where it was when its turn comes. */
static ir_value *sum_in_stages(ir_builder *b, ir_value *x, size_t n, const int64_t *dims) {
    bool reduced[IR_MAX_RANK] = {false};
    for (size_t i = 0; i < n; i++) reduced[dims[i]] = true;
    bool first = true;
    for (int64_t d = x->type->rank; x && d-- > 0;) {
        if (!reduced[d]) continue;
        x = ir_reduce(b, OP_add, first ? x : barrier(b, x), 1, &d);
        first = false;
    }
    return x;
}

/* --- batch norm --- */
typedef struct norm {
    ir_builder *b;
    const ir_type *type; /* of the operand */
    int64_t feature;
    double per_channel; /* elements */
    ir_value *x, *scale, *epsilon;
} norm;

static norm norm_of(ir_builder *b, const ir_op *op) {
    norm n = {.b = b,
              .type = op->in[0]->type,
              .feature = ir_get_int(op, IR_A_feature_index, 0),
              .x = op->in[0],
              .scale = op->in[1]};
    n.per_channel = (double)n.type->count / (double)n.scale->type->count;
    n.epsilon = ir_splat(b, n.scale->type, ir_get_float(op, IR_A_epsilon, 0));
    return n;
}
static ir_value *sums(const norm *n, ir_value *x) {
    int64_t dims[IR_MAX_RANK];
    size_t k = 0;
    for (int64_t d = 0; d < n->type->rank; d++)
        if (d != n->feature) dims[k++] = d;
    return sum_in_stages(n->b, x, k, dims);
}
static ir_value *mean(const norm *n, ir_value *x) {
    return ir_divide(n->b, sums(n, x), ir_splat(n->b, n->scale->type, n->per_channel));
}
static ir_value *spread(const norm *n, ir_value *per_channel) {
    return ir_broadcast_in_dim(n->b, per_channel, n->type, 1, &n->feature);
}
static ir_value *deviation(const norm *n, ir_value *var) {
    return ir_sqrt(n->b, ir_add(n->b, var, n->epsilon));
}

static void training(ir_builder *b, const ir_op *op, ir_value *out[3]) {
    norm n = norm_of(b, op);
    out[1] = mean(&n, n.x);
    ir_value *centred = ir_subtract(b, n.x, spread(&n, out[1]));
    out[2] = mean(&n, ir_multiply(b, centred, centred));
    ir_value *factor = ir_divide(b, n.scale, deviation(&n, out[2]));
    out[0] = ir_add(b, ir_multiply(b, centred, spread(&n, factor)), spread(&n, op->in[2]));
}

/* With s = sqrt(var + epsilon): d_x = scale/s * (g - mean(g) - (x - mean) * mean(g*(x - mean)) / s^2), d_scale =
 * sum(g*(x - mean)) / s. */
static void gradient(ir_builder *b, const ir_op *op, ir_value *out[3]) {
    norm n = norm_of(b, op);
    ir_value *g = op->in[4], *s = deviation(&n, op->in[3]), *count = ir_splat(b, n.scale->type, n.per_channel);
    ir_value *centred = ir_subtract(b, n.x, spread(&n, op->in[2]));
    ir_value *product = sums(&n, ir_multiply(b, g, centred));
    out[1] = ir_divide(b, product, s);
    out[2] = sums(&n, g);
    ir_value *slope = ir_divide(b, ir_divide(b, product, count), ir_multiply(b, s, s));
    ir_value *inner = ir_subtract(b, g, spread(&n, ir_divide(b, out[2], count)));
    inner = ir_subtract(b, inner, ir_multiply(b, centred, spread(&n, slope)));
    out[0] = ir_multiply(b, spread(&n, ir_divide(b, n.scale, s)), inner);
}

/* --- the walk --- */
static bool is_sum(const ir_op *op) {
    const ir_op *first = op->regions[0].block ? op->regions[0].block->first : NULL;
    return op->n_in == 2 && first && first->code == OP_add && first->next && !first->next->next;
}

static void sum(ir_builder *b, const ir_op *op, ir_value *out[3]) {
    size_t n;
    const int64_t *dims = ir_get_ints(op, IR_A_dimensions, &n);
    ir_value *init = ir_broadcast_scalar(b, op->in[1], op->out[0].type);
    out[0] = ir_add(b, sum_in_stages(b, op->in[0], n, dims), init);
}

static bool is_long(const ir_op *op, int64_t outputs) {
    const ir_type *t = op->in[0]->type;
    return t->dtype == XT_F32 && t->count > 0 && outputs > 0 && t->count / outputs > LONG_SUM;
}

static xt_status visit(rewriter *r, pass_ctx *c, ir_op *op, void *user) {
    void (*expand)(ir_builder *, const ir_op *, ir_value *[3]) = NULL;
    size_t n_dims = 0;
    switch (op->code) {
    case OP_batch_norm_training: expand = is_long(op, op->in[1]->type->count) ? training : NULL; break;
    case OP_batch_norm_grad: expand = is_long(op, op->in[1]->type->count) ? gradient : NULL; break;
    case OP_reduce:
        ir_get_ints(op, IR_A_dimensions, &n_dims);
        expand = n_dims > 1 && is_sum(op) && is_long(op, op->out[0].type->count) ? sum : NULL;
        break;
    default: break;
    }
    if (!expand) return NULL;
    ir_builder b = ir_before(user, op);
    b.src = op->src;
    b.path = op->path;
    ir_value *out[3] = {NULL};
    expand(&b, op, out);
    XT_TRY(b.status);
    for (uint32_t i = 0; i < op->n_out; i++)
        if (!rewrite_value(r, &op->out[i], out[i])) return status_oom(sizeof *out, "sums in stages");
    c->changed = true;
    return NULL;
}

xt_status pass_lower_sums(pass_ctx *c, ir_module *m) {
    rewriter r = REWRITER_INIT;
    xt_status s = rewrite_module(&r, c, m, visit, m);
    rewriter_deinit(&r);
    return s ? s : c->changed ? pass_opt_dce(c, m) : NULL; /* the ops that were replaced */
}
