/* Batch norm, recorded as StableHLO's batch_norm ops, which devices have as one kernel. Over several ranks (.sync) each
 * takes the mean of its own part and the squares of what is left, which rounds better than the mean of squares; these
 * and the number of elements are gathered once and put together (Chan, Golub and LeVeque 1979). The derivative adds up
 * once between the ranks what flows to mean and variance. An eps that changes from step to step is data, which those
 * ops' attribute cannot be: then the formula is recorded. running = running + momentum * (batch - running), with the
 * unbiased variance, as PyTorch keeps it. */
#include "lazy/mesh/mesh.h"
#include "nn/nn.h"
#include "ops/ops.h"

void nn_move_average(const xt_src *src, xt_tensor running, xt_tensor batch, xt_tensor momentum) {
    xt_dtype d = xt_dtype_of(running);
    xt_tensor f = xt_cast_at(src, momentum, d),
              keep = xt_mul_at(src, running, xt_sub__at(src, nn_number(src, 1, d), f));
    xt_tensor value = xt_add_at(src, keep, xt_mul_at(src, xt_cast_at(src, batch, d), f));
    if (!lazy_is_error(value)) lazy_assign(running, value);
}

typedef struct batch_norm {
    xt_tensor weight, bias, mean, var, count; /* mean .. count: none without running statistics */
    double eps, momentum;
    bool cumulative;
    ir_value *changing; /* eps as data, of the dtype that is computed in; NULL: a constant */
} batch_norm;

static void update_running(const xt_src *src, const batch_norm *n, xt_tensor mean, xt_tensor var, double correction) {
    xt_no_grad_begin();
    xt_tensor count = xt_add_at(src, n->count, nn_number(src, 1, XT_I64));
    if (!lazy_is_error(count)) lazy_assign(n->count, count);
    xt_tensor momentum = n->cumulative ? xt_div_at(src, nn_number(src, 1, XT_F32), xt_cast_at(src, n->count, XT_F32))
                                       : nn_given(src, "xt_batch_norm.momentum", n->momentum, XT_F32);
    nn_move_average(src, n->mean, mean, momentum);
    nn_move_average(src, n->var,
                    correction == 1 ? var : xt_mul_at(src, var, nn_number(src, correction, xt_dtype_of(var))),
                    momentum);
    xt_no_grad_end_at(NULL);
}

/* rsqrt(var + eps), [C] */
static ir_value *rate_of(ir_builder *b, const batch_norm *n, ir_value *var) {
    if (!var) return NULL;
    ir_value *eps = n->changing ? ir_broadcast_scalar(b, ir_convert(b, n->changing, var->type->dtype), var->type)
                                : ir_splat(b, var->type, n->eps);
    return ir_rsqrt(b, ir_add(b, var, eps));
}

/* The sum over all dims but the channels' (dim 1), divided by n. */
static ir_value *channel_mean(ir_builder *b, ir_value *x, double n) {
    int64_t others[XT_MAX_RANK];
    size_t k = 0;
    for (int64_t i = 0; x && i < (int64_t)x->type->rank; i++)
        if (i != 1) others[k++] = i;
    ir_value *sum = x ? ir_reduce(b, OP_add, x, k, others) : NULL;
    return sum ? ir_divide(b, sum, ir_splat(b, sum->type, n)) : NULL;
}

static ir_value *over_channels(ir_builder *b, ir_value *v, const ir_type *to) {
    int64_t channel = 1;
    return v ? ir_broadcast_in_dim(b, v, to, 1, &channel) : NULL;
}

/* --- statistics over ranks, whose parts may be of several sizes --- */
static double per_channel_of(const ir_type *t) {
    return t->dims[1] ? (double)(t->count / t->dims[1]) : 0;
}

/* n of [C] as one [1,n,C], so that they travel together; and of [ranks,n,C] one of them, [ranks,1,C]. */
static ir_value *together(ir_builder *b, size_t n, ir_value *const *v) {
    for (size_t i = 0; i < n; i++)
        if (!v[i]) return NULL;
    ir_value *row = ir_concatenate(b, n, v, 0);
    return row ? ir_reshape(b, row, 3, (int64_t[]){1, (int64_t)n, v[0]->type->dims[0]}) : NULL;
}
static ir_value *one_of(ir_builder *b, ir_value *rows, int64_t which) {
    const int64_t *d = rows->type->dims;
    return ir_slice(b, rows, (int64_t[]){0, which, 0}, (int64_t[]){d[0], which + 1, d[2]}, NULL);
}
/* over the ranks: [C] */
static ir_value *summed(ir_builder *b, ir_value *rows) {
    return rows ? ir_reduce(b, OP_add, rows, 2, (int64_t[]){0, 1}) : NULL;
}

typedef struct moments {
    ir_value *mean, *var; /* [C], biased */
    ir_value *count; /* [C]: of how many elements, over the ranks; NULL: of this rank's */
} moments;

static moments own_moments(ir_builder *b, ir_value *x) {
    double n = per_channel_of(x->type), divisor = n > 0 ? n : 1;
    moments m = {.mean = channel_mean(b, x, divisor)};
    ir_value *left = m.mean ? ir_subtract(b, x, over_channels(b, m.mean, x->type)) : NULL;
    if (left) m.var = channel_mean(b, ir_multiply(b, left, left), divisor);
    return m;
}

/* With n elements of each rank: the mean of the ranks' variances, and beside it the variance of their means. */
static moments joined_moments(ir_builder *b, ir_value *x, int ranks) {
    moments own = own_moments(b, x);
    ir_value *count = own.mean ? ir_splat(b, own.mean->type, per_channel_of(x->type)) : NULL;
    ir_value *rows = together(b, 3, (ir_value *[]){own.mean, own.var, count}),
             *all = rows ? ir_all_gather(b, rows, 0, ranks, 1) : NULL;
    if (!all) return (moments){0};
    ir_value *means = one_of(b, all, 0), *counts = one_of(b, all, 2);
    moments m = {.count = summed(b, counts)};
    ir_value *sum = means ? summed(b, ir_multiply(b, means, counts)) : NULL;
    if (!sum || !m.count) return (moments){0};
    m.mean = ir_divide(b, sum, m.count);
    int64_t channel = 2;
    ir_value *apart = ir_subtract(b, means, ir_broadcast_in_dim(b, m.mean, means->type, 1, &channel));
    ir_value *both = apart ? ir_add(b, one_of(b, all, 1), ir_multiply(b, apart, apart)) : NULL;
    m.var = both ? ir_divide(b, summed(b, ir_multiply(b, both, counts)), m.count) : NULL;
    return m;
}

/* saved: x, mean, count; d_out: of mean and variance, this rank's share. Through the mean in the variance nothing
 * flows: what is left of x sums to zero. */
static bool moments_backward(void (*user_fn)(void), void *user, const xt_src *src, const xt_tensor *saved,
                             const xt_tensor *d_out, xt_tensor *d_in) {
    (void)user_fn, (void)user;
    ir_builder *b = lazy_begin(src);
    ir_value *x = lazy_value(saved[0]), *mean = lazy_value(saved[1]), *count = lazy_value(saved[2]);
    ir_value *own = together(b, 2, (ir_value *[]){lazy_value(d_out[0]), lazy_value(d_out[1])}), *all = NULL;
    if (x && mean && count && own && ir_all_reduce(b, OP_add, 1, &own, world_get()->size, 1, &all)) {
        ir_value *to_mean = over_channels(b, summed(b, one_of(b, all, 0)), x->type),
                 *to_var = over_channels(b, summed(b, one_of(b, all, 1)), x->type);
        ir_value *left = ir_subtract(b, x, over_channels(b, mean, x->type));
        ir_value *twice = left ? ir_multiply(b, ir_add(b, left, left), to_var) : NULL,
                 *sum = twice ? ir_add(b, to_mean, twice) : NULL;
        d_in[0] = lazy_wrap(sum ? ir_divide(b, sum, over_channels(b, count, x->type)) : NULL, "xt_batch_norm");
    }
    return !lazy_pending();
}

static moments moments_of_ranks(const xt_src *src, ir_value *x, int ranks) {
    xt_no_grad_begin();
    moments m = joined_moments(lazy_begin(src), x, ranks);
    xt_no_grad_end_at(NULL);
    lazy_custom g = {moments_backward, NULL, NULL, src_intern(src), 1, 3, 2};
    lazy_begin(src);
    ir_op *op = lazy_custom_op(&g, (ir_value *[]){x, x, m.mean, m.count, m.mean, m.var});
    return op ? (moments){&op->out[4], &op->out[5], m.count} : (moments){0};
}

/* n / (n - 1) for the n of each channel; 1 for one */
static xt_tensor unbiased(ir_builder *b, const moments *m) {
    ir_value *one = ir_splat(b, m->count->type, 1);
    ir_value *ratio = ir_divide(b, m->count, ir_subtract(b, m->count, one));
    return lazy_wrap(ir_multiply(b, m->var, ir_select(b, ir_compare(b, IR_GT, m->count, one), ratio, one)),
                     "xt_batch_norm");
}

/* By the formula: the statistics of `ranks` ranks together, 1: of this one alone. */
static xt_tensor of_ranks(const xt_src *src, const batch_norm *n, xt_tensor x, int ranks, bool move) {
    const ir_type *t = lazy_type(x);
    double per_channel = per_channel_of(t);
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x), *scale = lazy_value(n->weight), *offset = lazy_value(n->bias);
    if (v && scale) v = ir_convert(b, v, scale->type->dtype);
    moments of = {0};
    if (v && scale && offset) of = ranks > 1 ? moments_of_ranks(src, v, ranks) : own_moments(b, v);
    ir_value *left = of.var ? ir_subtract(b, v, over_channels(b, of.mean, v->type)) : NULL;
    ir_value *rate = left ? ir_multiply(b, scale, rate_of(b, n, of.var)) : NULL;
    ir_value *y =
        rate ? ir_add(b, ir_multiply(b, left, over_channels(b, rate, left->type)), over_channels(b, offset, left->type))
             : NULL;
    xt_tensor out = lazy_wrap(y ? ir_convert(b, y, t->dtype) : NULL, "xt_batch_norm");
    if (lazy_is_error(out) || !move || xt_is_none(n->mean)) return out;
    xt_no_grad_begin();
    xt_tensor mean = lazy_wrap(of.mean, "xt_batch_norm");
    xt_tensor var = of.count ? unbiased(b, &of) : lazy_wrap(of.var, "xt_batch_norm");
    xt_no_grad_end_at(NULL);
    update_running(src, n, mean, var, !of.count && per_channel > 1 ? per_channel / (per_channel - 1) : 1);
    return out;
}

/* The batch's own statistics; they move the running ones when there are any and `move` is on. */
static xt_tensor of_batch(const xt_src *src, const batch_norm *n, xt_tensor x, bool move) {
    const ir_type *t = lazy_type(x);
    if (n->changing) return of_ranks(src, n, x, 1, move);
    int64_t per_channel = t->dims[1] ? t->count / t->dims[1] : 0;
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x), *scale = lazy_value(n->weight), *offset = lazy_value(n->bias), *out[3] = {0};
    if (v && scale && offset)
        ir_batch_norm_training(b, ir_convert(b, v, scale->type->dtype), scale, offset, (float)n->eps, 1, out);
    xt_tensor y = lazy_wrap(out[0] ? ir_convert(b, out[0], t->dtype) : NULL, "xt_batch_norm");
    if (lazy_is_error(y) || !move || xt_is_none(n->mean)) return y;
    xt_no_grad_begin();
    xt_tensor mean = lazy_wrap(out[1], "xt_batch_norm"), var = lazy_wrap(out[2], "xt_batch_norm");
    xt_no_grad_end_at(NULL);
    update_running(src, n, mean, var, per_channel > 1 ? (double)per_channel / (double)(per_channel - 1) : 1);
    return y;
}

static xt_tensor of_running(const xt_src *src, const batch_norm *n, xt_tensor x) {
    const ir_type *t = lazy_type(x);
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x), *w = lazy_value(n->weight), *o = lazy_value(n->bias), *m = lazy_value(n->mean),
             *s = lazy_value(n->var);
    if (n->changing && v && w && o && m && s) {
        v = ir_convert(b, v, w->type->dtype);
        ir_value *left = ir_subtract(b, v, over_channels(b, m, v->type)),
                 *rate = over_channels(b, ir_multiply(b, w, rate_of(b, n, s)), v->type);
        ir_value *y = left && rate ? ir_add(b, ir_multiply(b, left, rate), over_channels(b, o, v->type)) : NULL;
        return lazy_wrap(y ? ir_convert(b, y, t->dtype) : NULL, "xt_batch_norm");
    }
    ir_value *y = v && w && o && m && s
                      ? ir_batch_norm_inference(b, ir_convert(b, v, w->type->dtype), w, o, m, s, (float)n->eps, 1)
                      : NULL;
    return lazy_wrap(y ? ir_convert(b, y, t->dtype) : NULL, "xt_batch_norm");
}

static xt_tensor constant_vector(const xt_src *src, double v, xt_dtype d, int64_t n) {
    return lazy_wrap(ir_splat(lazy_begin(src), ir_tensor(d, 1, &n), v), "xt_batch_norm");
}

static __thread bool sync_all;

void nn_sync_batch_norms(bool on) {
    sync_all = on;
}

static bool all_cumulate;
void nn_cumulate_batch_norms(bool on) {
    all_cumulate = on;
}

xt_tensor xt_batch_norm_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_norm_opts o) {
    const ir_type *t = lazy_type(x);
    if (!t || t->rank < 2 || !ir_dtype_is_float(t->dtype))
        return nn_bad_input(src, "xt_batch_norm", name, x, "floats [N,C,...] are needed");
    if (!(o.eps >= 0 || o.eps == XT_AUTO))
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_batch_norm %s: eps is %g; it must not be negative", name,
                          o.eps);
    if (!(o.momentum >= 0 && o.momentum <= 1))
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_batch_norm %s: momentum is %g; it must be in [0,1]", name,
                          o.momentum);
    if (nn_is_fused(m, name)) return x;
    bool track = o.track != XT_OFF, training = nn_is_training(m, name), batch = training || !track,
         move = training && nn_tracks(m);
    bool sync = o.sync == XT_ON || (o.sync != XT_OFF && (sync_all || nn_syncs(m, name)));
    /* a mesh's statistics are of the whole batch already */
    int ranks = sync && training && !lazy_spmd() ? world_get()->size : 1;
    if (batch && ranks == 1 && t->dims[1] && t->count / t->dims[1] < 2)
        return nn_bad_input(
            src, "xt_batch_norm", name, x,
            "more than one value per channel is needed in training mode (call xt_eval, or use a larger batch)");
    if (!nn_layer_begin(src, m, name)) return nn_bad_input(src, "xt_batch_norm", name, (xt_tensor){0}, "");
    xt_dtype d = nn_param_dtype(t);
    int64_t c = t->dims[1];
    batch_norm n = {.eps = o.eps == XT_AUTO ? 1e-5 : o.eps,
                    .momentum = o.momentum,
                    .cumulative = all_cumulate || o.cumulative == XT_ON};
    bool affine = o.affine != XT_OFF, constant;
    ir_value *eps = ops_number(src, "xt_batch_norm", d, n.eps, &constant);
    if (!constant) n.changing = eps;
    n.weight = affine ? nn_tensor(src, m, name, "weight", true, NN_ONES, 0, d, 1, &c) : constant_vector(src, 1, d, c);
    n.bias = affine ? nn_tensor(src, m, name, "bias", true, NN_ZEROS, 0, d, 1, &c) : constant_vector(src, 0, d, c);
    n.weight = xt_cast_at(src, n.weight, d); /* narrow parameters are used in f32, as the statistics are */
    n.bias = xt_cast_at(src, n.bias, d);
    if (track) {
        n.mean = nn_tensor(src, m, name, "running_mean", false, NN_ZEROS, 0, d, 1, &c);
        n.var = nn_tensor(src, m, name, "running_var", false, NN_ONES, 0, d, 1, &c);
        n.count = nn_tensor(src, m, name, "num_batches_tracked", false, NN_ZEROS, 0, XT_I64, 0, NULL);
    }
    xt_tensor y = !batch      ? of_running(src, &n, x)
                  : ranks > 1 ? of_ranks(src, &n, x, ranks, move)
                              : of_batch(src, &n, x, move);
    nn_layer_end();
    return y;
}
