/* Batch norm, recorded as StableHLO's batch_norm ops, which devices have as one kernel; with .sync over several ranks
 * as sums added up between them (mean first, then the squares of what is left, which rounds better than the mean of
 * squares); their derivative adds up between the ranks too. An eps that changes from step to step is data, which those
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

/* The sum over all dims but the channels' (dim 1), then over the ranks, divided by n. */
static ir_value *mean_of_ranks(ir_builder *b, ir_value *x, int ranks, double n) {
    int64_t others[XT_MAX_RANK];
    size_t k = 0;
    for (int64_t i = 0; x && i < (int64_t)x->type->rank; i++)
        if (i != 1) others[k++] = i;
    ir_value *sum = x ? ir_reduce(b, OP_add, x, k, others) : NULL, *all = sum;
    if (!sum || (ranks > 1 && !ir_all_reduce(b, OP_add, 1, &sum, ranks, 1, &all))) return NULL;
    return ir_divide(b, all, ir_splat(b, all->type, n));
}

static ir_value *over_channels(ir_builder *b, ir_value *v, const ir_type *to) {
    int64_t channel = 1;
    return v ? ir_broadcast_in_dim(b, v, to, 1, &channel) : NULL;
}

/* The statistics of the batches of all ranks, which are of one size, for all ranks run one program; of one rank by the
 * same formula. */
static xt_tensor of_ranks(const xt_src *src, const batch_norm *n, xt_tensor x, int ranks, bool move) {
    const ir_type *t = lazy_type(x);
    double per_channel = t->dims[1] ? (double)(t->count / t->dims[1]) * ranks : 0;
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x), *scale = lazy_value(n->weight), *offset = lazy_value(n->bias);
    if (v && scale) v = ir_convert(b, v, scale->type->dtype);
    ir_value *mean = scale && offset ? mean_of_ranks(b, v, ranks, per_channel) : NULL;
    ir_value *left = mean ? ir_subtract(b, v, over_channels(b, mean, v->type)) : NULL;
    ir_value *var = left ? mean_of_ranks(b, ir_multiply(b, left, left), ranks, per_channel) : NULL;
    ir_value *rate = var ? ir_multiply(b, scale, rate_of(b, n, var)) : NULL;
    ir_value *y =
        rate ? ir_add(b, ir_multiply(b, left, over_channels(b, rate, left->type)), over_channels(b, offset, left->type))
             : NULL;
    xt_tensor out = lazy_wrap(y ? ir_convert(b, y, t->dtype) : NULL, "xt_batch_norm");
    if (lazy_is_error(out) || !move || xt_is_none(n->mean)) return out;
    xt_no_grad_begin();
    xt_tensor m = lazy_wrap(mean, "xt_batch_norm"), s = lazy_wrap(var, "xt_batch_norm");
    xt_no_grad_end_at(NULL);
    update_running(src, n, m, s, per_channel > 1 ? per_channel / (per_channel - 1) : 1);
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
    if (!(o.eps >= 0 || o.eps == XT_AUTO) || !(o.momentum >= 0 && o.momentum <= 1))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_batch_norm %s: eps is %g and momentum %g; eps must not be negative and momentum in [0,1]",
                          name, o.eps, o.momentum);
    if (nn_is_fused(m, name)) return x;
    bool track = o.track != XT_OFF, training = nn_is_training(m, name), batch = training || !track,
         move = training && nn_tracks(m);
    /* a mesh's statistics are of the whole batch already */
    int ranks = (o.sync == XT_ON || (sync_all && o.sync != XT_OFF)) && training && !lazy_spmd() ? world_get()->size : 1;
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
