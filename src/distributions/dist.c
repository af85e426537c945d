/* What is asked of distributions, through their layers: a layer turns the question about itself into one about what
 * lies below it. The lowest is a kind's own function. */
#include "distributions/layers.h"

/* --- the lowest: the functions of kinds --- */
/* x where a density can be, and what its logarithm becomes elsewhere. */
static ir_value *inside(const dist_kind *k, const dist_args *a, ir_value *x, ir_value **out_ok) {
    ir_builder *b = a->b;
    *out_ok = NULL;
    switch (k->support) {
    case DIST_REAL:
    case DIST_OWN: return x;
    case DIST_NONNEGATIVE: *out_ok = ex_is(b, x, IR_GE, 0); break;
    case DIST_POSITIVE: *out_ok = ex_is(b, x, IR_GT, 0); break;
    case DIST_UNIT: *out_ok = ir_and(b, ex_is(b, x, IR_GE, 0), ex_is(b, x, IR_LE, 1)); break;
    case DIST_COUNTS:
        *out_ok = ir_and(b, ex_is(b, x, IR_GE, 0), x ? ir_compare(b, IR_EQ, x, ir_floor(b, x)) : NULL);
        if (a->count) *out_ok = ir_and(b, *out_ok, ex_is(b, x, IR_LE, (double)a->count));
        break;
    }
    double usual = k->support == DIST_UNIT ? 0.5 : 1;
    return ex_keep(b, ir_or(b, *out_ok, x ? ir_compare(b, IR_NE, x, x) : NULL), x, usual); /* NaN stays NaN */
}

static ir_value *kind_log_prob(dist_load *l, const xt_dist *d, ir_value *x) {
    const dist_kind *k = dist_kinds[d->kind];
    dist_args a;
    ir_value *ok;
    if (!dist_load_kind(l, d, &x, 0, NULL, &a)) return NULL;
    ir_value *in = inside(k, &a, x, &ok), *p = k->log_prob(&a, in);
    if (!ok) return p;
    ir_value *known = ir_or(a.b, ok, ir_compare(a.b, IR_NE, x, x));
    return ex_keep(a.b, known, p, -INFINITY);
}

static bool there_is(dist_load *l, const xt_dist *d, bool has, const char *why) {
    if (has) return true;
    dist_text name;
    lazy_error(l->src, XT_UNIMPLEMENTED, "%s: %s has none%s", l->what, dist_name_of(d, d->n_layers, &name), why);
    l->failed = true;
    return false;
}
static ir_value *kind_of(dist_load *l, const xt_dist *d, dist_of_fn fn) {
    dist_args a;
    return there_is(l, d, fn != NULL, ", as in PyTorch") && dist_load_kind(l, d, NULL, 0, NULL, &a) ? fn(&a) : NULL;
}
static ir_value *kind_at(dist_load *l, const xt_dist *d, dist_at_fn fn, ir_value *x) {
    dist_args a;
    return there_is(l, d, fn != NULL, ", as in PyTorch") && dist_load_kind(l, d, &x, 0, NULL, &a) ? fn(&a, x) : NULL;
}
/* Below the support of a distribution over positive numbers the distribution function is 0. */
static ir_value *kind_cdf(dist_load *l, const xt_dist *d, ir_value *x) {
    const dist_kind *k = dist_kinds[d->kind];
    if (k->support != DIST_NONNEGATIVE || !x) return kind_at(l, d, k->cdf, x);
    ir_builder *b = lazy_begin(l->src);
    return kind_at(l, d, k->cdf, ir_maximum(b, x, ex_num(b, x, 0)));
}

/* --- through layers; n counts those that are left --- */
static bool no_layer(dist_load *l, const xt_dist *d, int n, const char *why) {
    dist_text name;
    lazy_error(l->src, XT_UNIMPLEMENTED, "%s: %s has none: %s", l->what, dist_name_of(d, n, &name), why);
    l->failed = true;
    return false;
}

static ir_value *log_prob(dist_load *l, const xt_dist *d, int n, ir_value *x) {
    if (n == 0) return kind_log_prob(l, d, x);
    const xt_dist_layer *y = &d->layer[n - 1];
    int event = dist_event_of(d, n - 1);
    if (y->kind == LAYER_INDEPENDENT) {
        ir_value *p = log_prob(l, d, n - 1, x);
        return dist_sum_last(lazy_begin(l->src), p, y->n);
    }
    if (y->kind == LAYER_MIXTURE) {
        ir_builder *b = lazy_begin(l->src);
        ir_value *p = log_prob(l, d, n - 1, x ? ops_unsqueeze(b, x, (int64_t)x->type->rank - event) : NULL);
        return layer_log_mixed(l, y, p);
    }
    ir_value *jacobian, *inner = layer_inverse(l, y, x, &jacobian);
    ir_value *p = log_prob(l, d, n - 1, inner);
    ir_builder *b = lazy_begin(l->src);
    return layer_minus(b, p, dist_sum_last(b, jacobian, event));
}

static ir_value *cdf(dist_load *l, const xt_dist *d, int n, ir_value *x) {
    if (n == 0) return kind_cdf(l, d, x);
    const xt_dist_layer *y = &d->layer[n - 1];
    if (y->kind == LAYER_INDEPENDENT) {
        no_layer(l, d, n, "events have several numbers");
        return NULL;
    }
    if (y->kind == LAYER_MIXTURE) {
        ir_builder *b = lazy_begin(l->src);
        ir_value *p = cdf(l, d, n - 1, x ? ops_unsqueeze(b, x, (int64_t)x->type->rank) : NULL);
        return layer_mixed(l, y, p, 0);
    }
    ir_value *jacobian;
    ir_value *p = cdf(l, d, n - 1, layer_inverse(l, y, x, &jacobian));
    return layer_beyond(lazy_begin(l->src), y, x, layer_turned(l, y, p));
}

static ir_value *icdf(dist_load *l, const xt_dist *d, int n, ir_value *q) {
    if (n == 0) return kind_at(l, d, dist_kinds[d->kind]->icdf, q);
    const xt_dist_layer *y = &d->layer[n - 1];
    if (y->kind != LAYER_INDEPENDENT && y->kind != LAYER_MIXTURE)
        return layer_forward(l, y, icdf(l, d, n - 1, layer_turned(l, y, q)));
    no_layer(l, d, n, "as in PyTorch");
    return NULL;
}

static ir_value *mean(dist_load *l, const xt_dist *d, int n) {
    if (n == 0) return kind_of(l, d, dist_kinds[d->kind]->mean);
    const xt_dist_layer *y = &d->layer[n - 1];
    if (y->kind == LAYER_INDEPENDENT) return mean(l, d, n - 1);
    if (y->kind == LAYER_MIXTURE) return layer_mixed(l, y, mean(l, d, n - 1), dist_event_of(d, n));
    no_layer(l, d, n, "as in PyTorch; average samples");
    return NULL;
}
/* The mean of the variances and the variance of the means. */
static ir_value *mixture_variance(dist_load *l, const xt_dist *d, int n, ir_value *each) {
    const xt_dist_layer *y = &d->layer[n - 1];
    int event = dist_event_of(d, n);
    ir_value *m = mean(l, d, n - 1), *within = layer_mixed(l, y, each, event), *all = layer_mixed(l, y, m, event);
    ir_builder *b = lazy_begin(l->src);
    if (!all || !within) return NULL;
    ir_value *apart = ir_subtract(b, m, ops_spread(b, all, m->type, (int64_t)m->type->rank - 1 - event));
    ir_value *between = layer_mixed(l, y, ir_multiply(b, apart, apart), event);
    return ir_add(lazy_begin(l->src), within, between);
}
static ir_value *variance(dist_load *l, const xt_dist *d, int n) {
    if (n == 0) return kind_of(l, d, dist_kinds[d->kind]->variance);
    int kind = d->layer[n - 1].kind;
    if (kind == LAYER_INDEPENDENT) return variance(l, d, n - 1);
    if (kind == LAYER_MIXTURE) return mixture_variance(l, d, n, variance(l, d, n - 1));
    no_layer(l, d, n, "as in PyTorch; xt_var_axes of samples");
    return NULL;
}

static ir_value *entropy(dist_load *l, const xt_dist *d, int n) {
    if (n == 0) return kind_of(l, d, dist_kinds[d->kind]->entropy);
    if (d->layer[n - 1].kind == LAYER_INDEPENDENT) {
        ir_value *e = entropy(l, d, n - 1);
        return dist_sum_last(lazy_begin(l->src), e, d->layer[n - 1].n);
    }
    no_layer(l, d, n, "as in PyTorch; average xt_dist_log_prob of samples");
    return NULL;
}

static ir_value *draw(dist_load *l, const xt_dist *d, int n, bool grad, int n_dims, const int64_t *dims) {
    if (n == 0) {
        const dist_kind *k = dist_kinds[d->kind];
        dist_args a;
        ir_value *x = dist_load_kind(l, d, NULL, n_dims, dims, &a) ? k->draw(&a, grad) : NULL;
        for (int i = 0; x && i < k->n_params; i++) x = dist_known(lazy_begin(l->src), x, a.p[i], k->dims[i]);
        return x;
    }
    const xt_dist_layer *y = &d->layer[n - 1];
    ir_value *x = draw(l, d, n - 1, grad, n_dims, dims);
    if (y->kind == LAYER_INDEPENDENT) return x;
    return y->kind == LAYER_MIXTURE ? layer_choose(l, y, x, dist_event_of(d, n)) : layer_forward(l, y, x);
}

static ir_value *kl(dist_load *l, const xt_dist *p, const xt_dist *q, int n) {
    if (n > 0) {
        const xt_dist_layer *f = &p->layer[n - 1];
        ir_value *k = kl(l, p, q, n - 1);
        if (f->kind == LAYER_INDEPENDENT) return dist_sum_last(lazy_begin(l->src), k, f->n);
        return dist_event_of(p, n) ? k : layer_spread(l, f, k); /* a change of variables changes nothing */
    }
    dist_args a, c;
    const dist_kind *k = dist_kinds[p->kind];
    if (!there_is(l, p, k->kl != NULL, ", as in PyTorch")) return NULL;
    if (!dist_load_kind(l, p, NULL, 0, NULL, &a) || !dist_load_kind(l, q, NULL, 0, NULL, &c)) return NULL;
    if (!dist_load_pair(l, k, &a, &c)) return NULL;
    return k->kl(&a, &c);
}

/* --- public --- */
static bool is_dist(dist_load *l, const xt_dist *d, xt_tensor *out) {
    if (d->kind > DIST_NONE && d->kind < DIST_COUNT && d->n_layers >= 0 && d->n_layers <= XT_DIST_LAYERS) return true;
    *out = lazy_error(
        l->src, XT_INVALID_ARGUMENT,
        "%s: this is no distribution: expected what xt_normal_dist(loc, scale) or one of the others gives", l->what);
    return false;
}
/* What d and x (where it is not NULL) are computed in. */
static bool choose_dtype(dist_load *l, const xt_dist *d, const xt_tensor *x, xt_tensor *out) {
    if (!is_dist(l, d, out)) return false;
    ir_builder *b = lazy_begin(l->src);
    ir_value *p = lazy_value(d->p[0]), *v = x && p ? lazy_value(*x) : NULL;
    if (!p || (x && !v)) return *out = lazy_wrap(NULL, l->what), false;
    if (v && ir_dtype_is_complex(v->type->dtype)) {
        *out = lazy_error(l->src, XT_INVALID_ARGUMENT, "%s: the value is %s: real numbers are needed", l->what,
                          xt_dtype_name(v->type->dtype));
        return false;
    }
    l->result = p->type->dtype;
    if (v) {
        v = ops_float(b, v);
        l->result = v ? ops_promote(p->type, v->type) : XT_F32;
    }
    l->dtype = xt_dtype_size(l->result) < 4 ? XT_F32 : l->result;
    return true;
}
static xt_tensor give(dist_load *l, ir_value *v) {
    if (!v && l->failed) return lazy_failed_tensor(l->src);
    ir_builder *b = lazy_begin(l->src);
    return lazy_wrap(ops_narrow(b, v, l->result), l->what);
}

typedef ir_value *(*at_fn)(dist_load *l, const xt_dist *d, int n, ir_value *x);
typedef ir_value *(*of_fn)(dist_load *l, const xt_dist *d, int n);
static xt_tensor ask_at(const xt_src *src, const char *what, at_fn fn, const xt_dist *d, xt_tensor x) {
    dist_load l = {.src = src, .what = what};
    xt_tensor failed;
    if (!choose_dtype(&l, d, &x, &failed)) return failed;
    ir_value *v = dist_value(&l, x);
    return give(&l, v ? fn(&l, d, d->n_layers, v) : NULL);
}
static xt_tensor ask_of(const xt_src *src, const char *what, of_fn fn, const xt_dist *d) {
    dist_load l = {.src = src, .what = what};
    xt_tensor failed;
    if (!choose_dtype(&l, d, NULL, &failed)) return failed;
    return give(&l, fn(&l, d, d->n_layers));
}
xt_tensor xt_dist_log_prob_at(const xt_src *src, xt_dist d, xt_tensor value) {
    return ask_at(src, "xt_dist_log_prob", log_prob, &d, value);
}
xt_tensor xt_dist_cdf_at(const xt_src *src, xt_dist d, xt_tensor value) {
    return ask_at(src, "xt_dist_cdf", cdf, &d, value);
}
xt_tensor xt_dist_icdf_at(const xt_src *src, xt_dist d, xt_tensor q) {
    return ask_at(src, "xt_dist_icdf", icdf, &d, q);
}
xt_tensor xt_dist_mean_at(const xt_src *src, xt_dist d) {
    return ask_of(src, "xt_dist_mean", mean, &d);
}
xt_tensor xt_dist_variance_at(const xt_src *src, xt_dist d) {
    return ask_of(src, "xt_dist_variance", variance, &d);
}
xt_tensor xt_dist_entropy_at(const xt_src *src, xt_dist d) {
    return ask_of(src, "xt_dist_entropy", entropy, &d);
}
static ir_value *stddev(dist_load *l, const xt_dist *d, int n) {
    ir_value *v = variance(l, d, n);
    return v ? ir_sqrt(lazy_begin(l->src), v) : NULL;
}
xt_tensor xt_dist_stddev_at(const xt_src *src, xt_dist d) {
    return ask_of(src, "xt_dist_stddev", stddev, &d);
}

static bool has_gradient(dist_load *l, const xt_dist *d, xt_tensor *out) {
    dist_text name;
    bool ok = dist_kinds[d->kind]->reparameterized;
    for (int i = 0; i < d->n_layers && ok; i++) ok = d->layer[i].kind != LAYER_MIXTURE;
    if (!ok)
        *out = lazy_error(l->src, XT_UNIMPLEMENTED,
                          "%s: no gradient flows through draws of %s: xt_dist_sample, and a loss of xt_dist_log_prob",
                          l->what, dist_name_of(d, d->n_layers, &name));
    return ok;
}
static xt_tensor draws(const xt_src *src, const char *what, const xt_dist *d, const int64_t *dims, bool grad) {
    dist_load l = {.src = src, .what = what};
    xt_tensor failed;
    int n = ops_rank(dims);
    if (!choose_dtype(&l, d, NULL, &failed) || (grad && !has_gradient(&l, d, &failed))) return failed;
    for (int i = 0; i < n; i++)
        if (dims[i] < 0) {
            ops_text shape;
            return lazy_error(src, XT_INVALID_ARGUMENT, "%s: sample dims %s: each must be at least 1", what,
                              ops_dims((size_t)n, dims, &shape));
        }
    ir_value *x = draw(&l, d, d->n_layers, grad && lazy_grad_enabled(), n, dims);
    if (x && !grad) x = ex_detach(lazy_begin(src), x);
    return give(&l, x);
}
xt_tensor xt_dist_sample_at(const xt_src *src, xt_dist d, const int64_t *dims) {
    return draws(src, "xt_dist_sample", &d, dims, false);
}
xt_tensor xt_dist_rsample_at(const xt_src *src, xt_dist d, const int64_t *dims) {
    return draws(src, "xt_dist_rsample", &d, dims, true);
}

/* Equal kinds under the same layers. */
static bool comparable(dist_load *l, const xt_dist *p, const xt_dist *q, xt_tensor *out) {
    bool ok = p->kind == q->kind && p->n_layers == q->n_layers;
    for (int i = 0; ok && i < p->n_layers; i++) ok = layer_same(&p->layer[i], &q->layer[i]);
    dist_text of, other;
    if (!ok)
        *out = lazy_error(l->src, XT_UNIMPLEMENTED,
                          "%s: of %s and %s: there is a formula for two of one kind, independent alike and under the "
                          "same transforms (of the very same tensors; none for mixtures); for others average "
                          "xt_dist_log_prob(p, x) - xt_dist_log_prob(q, x) over samples x of p",
                          l->what, dist_name_of(p, p->n_layers, &of), dist_name_of(q, q->n_layers, &other));
    return ok;
}
xt_tensor xt_dist_kl_at(const xt_src *src, xt_dist p, xt_dist q) {
    dist_load l = {.src = src, .what = "xt_dist_kl"};
    xt_tensor failed;
    if (!is_dist(&l, &p, &failed) || !is_dist(&l, &q, &failed) || !choose_dtype(&l, &p, &q.p[0], &failed) ||
        !comparable(&l, &p, &q, &failed))
        return failed;
    return give(&l, kl(&l, &p, &q, p.n_layers));
}
int xt_dist_event_dims(xt_dist d) {
    bool is = d.kind > DIST_NONE && d.kind < DIST_COUNT && d.n_layers >= 0 && d.n_layers <= XT_DIST_LAYERS;
    return is ? dist_event_of(&d, d.n_layers) : 0;
}
