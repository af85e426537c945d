/* The constructors: parameters become floats of one dtype at their common batch shape. What fails makes a distribution
 * whose first parameter is an error tensor, which whatever is asked of it hands on. */
#include "distributions/dist.h"

static xt_dist failed(xt_dist d, xt_tensor error) {
    d.p[0] = error;
    return d;
}

/* The dtype that all of them become. */
static xt_dtype common_dtype(ir_builder *b, int n, ir_value **v) {
    for (int i = 0; i < n; i++) v[i] = ops_float(b, v[i]);
    if (!v[0]) return XT_DTYPE_NONE;
    xt_dtype t = v[0]->type->dtype;
    const ir_type *with = v[0]->type;
    for (int i = 1; i < n; i++) {
        if (!v[i]) return XT_DTYPE_NONE;
        t = ops_promote(with, v[i]->type);
        with = ir_with_dtype(v[i]->type->rank > with->rank ? v[i]->type : with, t);
    }
    return t;
}

/* A distribution of a kind, of parameters that are checked by bringing them together once. */
static xt_dist make(const xt_src *src, const char *what, dist_kind_id kind, int n, const xt_tensor *tensors) {
    xt_dist d = {.kind = (int)kind};
    ir_value *v[XT_DIST_PARAMS] = {NULL};
    for (int i = 0; i < n; i++) {
        lazy_begin(src);
        const ir_type *t = lazy_type(tensors[i]);
        if (t && ir_dtype_is_complex(t->dtype))
            return failed(d, lazy_error(src, XT_INVALID_ARGUMENT, "%s: parameter %d is %s: real numbers are needed",
                                        what, i + 1, xt_dtype_name(t->dtype)));
        v[i] = lazy_value(tensors[i]);
        if (!v[i]) return failed(d, lazy_wrap(NULL, what));
    }
    ir_builder *b = lazy_begin(src);
    xt_dtype t = common_dtype(b, n, v);
    for (int i = 0; i < n; i++) d.p[i] = lazy_wrap(t ? ir_convert(b, v[i], t) : NULL, what);
    dist_load l = {.src = src, .what = what};
    dist_args a;
    if (!dist_load_kind(&l, &d, NULL, 0, NULL, &a)) return failed(d, lazy_failed_tensor(src));
    for (int i = 0; i < n; i++) d.p[i] = lazy_wrap(a.p[i], what);
    return d;
}

#define MAKE_1(name, function, kind, x)                                  \
    xt_dist function(const xt_src *src, xt_tensor x) {                   \
        return make(src, #name, DIST_##kind, 1, (const xt_tensor[]){x}); \
    }
#define MAKE_2(name, function, kind, x, y)                                  \
    xt_dist function(const xt_src *src, xt_tensor x, xt_tensor y) {         \
        return make(src, #name, DIST_##kind, 2, (const xt_tensor[]){x, y}); \
    }
MAKE_2(xt_normal_dist, xt_normal_dist_at, normal, loc, scale)
MAKE_2(xt_log_normal_dist, xt_log_normal_dist_at, log_normal, loc, scale)
MAKE_2(xt_laplace_dist, xt_laplace_dist_at, laplace, loc, scale)
MAKE_2(xt_cauchy_dist, xt_cauchy_dist_at, cauchy, loc, scale)
MAKE_2(xt_gumbel_dist, xt_gumbel_dist_at, gumbel, loc, scale)
MAKE_2(xt_uniform_dist, xt_uniform_dist_at, uniform, low, high)
MAKE_1(xt_half_normal_dist, xt_half_normal_dist_at, half_normal, scale)
MAKE_1(xt_half_cauchy_dist, xt_half_cauchy_dist_at, half_cauchy, scale)
MAKE_1(xt_exponential_dist, xt_exponential_dist_at, exponential, rate)
MAKE_2(xt_gamma_dist, xt_gamma_dist_at, gamma, concentration, rate)
MAKE_2(xt_beta_dist, xt_beta_dist_at, beta, concentration1, concentration0)
MAKE_1(xt_poisson_dist, xt_poisson_dist_at, poisson, rate)
MAKE_1(xt_dirichlet_dist, xt_dirichlet_dist_at, dirichlet, concentration)

xt_dist xt_student_t_dist_at(const xt_src *src, xt_tensor df, xt_tensor loc, xt_tensor scale) {
    return make(src, "xt_student_t_dist", DIST_student_t, 3, (const xt_tensor[]){df, loc, scale});
}

/* Gamma(df / 2, 1 / 2). */
xt_dist xt_chi2_dist_at(const xt_src *src, xt_tensor df) {
    xt_dist d = make(src, "xt_chi2_dist", DIST_exponential, 1, (const xt_tensor[]){df});
    d.kind = DIST_gamma;
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(d.p[0]);
    if (!v) return failed(d, lazy_wrap(NULL, "xt_chi2_dist"));
    d.p[0] = lazy_wrap(ex_times(b, v, 0.5), "xt_chi2_dist");
    d.p[1] = lazy_wrap(ex_num(b, v, 0.5), "xt_chi2_dist");
    return d;
}

/* --- one probability: as log odds and as itself --- */
static double tiny_step(xt_dtype t) { /* torch.finfo(t).eps */
    return t == XT_F64 ? 0x1p-52 : t == XT_BF16 ? 0x1p-7 : t == XT_F16 ? 0x1p-10 : 0x1p-23;
}
static ir_value *inside_unit(ir_builder *b, ir_value *p) {
    double eps = p ? tiny_step(p->type->dtype) : 0;
    const ir_type *t = p ? ir_scalar(p->type->dtype) : NULL;
    return p ? ir_clamp(b, ir_splat(b, t, eps), p, ir_splat(b, t, 1 - eps)) : NULL;
}
/* p[0]: log odds, p[1]: probability. Probabilities of 0 and 1 have finite odds, as in PyTorch. */
static xt_dist make_odds(const xt_src *src, const char *what, dist_kind_id kind, int64_t count, xt_tensor x,
                         bool logits) {
    xt_dist d = make(src, what, DIST_poisson, 1, &x);
    d.kind = (int)kind;
    d.count = count;
    if (count < 0)
        return failed(d, lazy_error(src, XT_INVALID_ARGUMENT, "%s: total_count is %lld: it must not be negative", what,
                                    (long long)count));
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(d.p[0]);
    if (!v) return failed(d, lazy_wrap(NULL, what));
    ir_value *p = logits ? NULL : inside_unit(b, v);
    ir_value *odds = logits ? v : ir_subtract(b, ir_log(b, p), ir_log_plus_one(b, ir_negate(b, p)));
    d.p[1] = lazy_wrap(logits ? ir_logistic(b, v) : v, what);
    d.p[0] = lazy_wrap(odds, what);
    return d;
}
xt_dist xt_bernoulli_dist_at(const xt_src *src, xt_tensor probs) {
    return make_odds(src, "xt_bernoulli_dist", DIST_bernoulli, 1, probs, false);
}
xt_dist xt_bernoulli_logits_dist_at(const xt_src *src, xt_tensor logits) {
    return make_odds(src, "xt_bernoulli_logits_dist", DIST_bernoulli, 1, logits, true);
}
xt_dist xt_geometric_dist_at(const xt_src *src, xt_tensor probs) {
    return make_odds(src, "xt_geometric_dist", DIST_geometric, 0, probs, false);
}
xt_dist xt_geometric_logits_dist_at(const xt_src *src, xt_tensor logits) {
    return make_odds(src, "xt_geometric_logits_dist", DIST_geometric, 0, logits, true);
}
xt_dist xt_binomial_dist_at(const xt_src *src, int64_t total_count, xt_tensor probs) {
    return make_odds(src, "xt_binomial_dist", DIST_binomial, total_count, probs, false);
}
xt_dist xt_binomial_logits_dist_at(const xt_src *src, int64_t total_count, xt_tensor logits) {
    return make_odds(src, "xt_binomial_logits_dist", DIST_binomial, total_count, logits, true);
}

/* --- several: as logarithms that sum to 1, and as probabilities --- */
static xt_dist make_choices(const xt_src *src, const char *what, dist_kind_id kind, xt_tensor x, bool logits) {
    xt_dist d = make(src, what, DIST_dirichlet, 1, &x);
    d.kind = (int)kind;
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(d.p[0]);
    if (!v) return failed(d, lazy_wrap(NULL, what));
    int64_t last = (int64_t)v->type->rank - 1;
    ir_value *l, *p;
    if (logits) {
        l = ops_log_softmax(b, v, last);
        p = ir_exponential(b, l);
    } else {
        p = ir_divide(b, v, ops_spread(b, ir_reduce(b, OP_add, v, 1, &last), v->type, last));
        l = ir_log(b, inside_unit(b, p));
    }
    d.p[0] = lazy_wrap(l, what);
    d.p[1] = lazy_wrap(p, what);
    return d;
}
xt_dist xt_categorical_dist_at(const xt_src *src, xt_tensor probs) {
    return make_choices(src, "xt_categorical_dist", DIST_categorical, probs, false);
}
xt_dist xt_categorical_logits_dist_at(const xt_src *src, xt_tensor logits) {
    return make_choices(src, "xt_categorical_logits_dist", DIST_categorical, logits, true);
}
xt_dist xt_one_hot_categorical_dist_at(const xt_src *src, xt_tensor probs) {
    return make_choices(src, "xt_one_hot_categorical_dist", DIST_one_hot_categorical, probs, false);
}
xt_dist xt_one_hot_categorical_logits_dist_at(const xt_src *src, xt_tensor logits) {
    return make_choices(src, "xt_one_hot_categorical_logits_dist", DIST_one_hot_categorical, logits, true);
}

/* --- vectors of normals --- */
static bool vectors_fit(const xt_src *src, const char *what, xt_tensor loc, xt_tensor matrix, xt_tensor *out) {
    const ir_type *t = lazy_type(matrix), *m = lazy_type(loc);
    ops_text sm, st;
    bool square = t && t->rank >= 2 && t->dims[t->rank - 1] == t->dims[t->rank - 2];
    if (!t || !m || (square && m->rank >= 1 && m->dims[m->rank - 1] == t->dims[t->rank - 1])) return true;
    *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: loc %s and a matrix %s: [...,D] and [...,D,D] are needed", what,
                      ops_shape(m, &sm), ops_shape(t, &st));
    return false;
}
/* (x + x^T) / 2: the factor reads one triangle, but both are the parameter's, and get a gradient each. */
static xt_tensor symmetric(const xt_src *src, const char *what, xt_tensor x) {
    xt_tensor sum = xt_add_at(src, x, xt_transpose_at(src, x, -1, -2));
    ir_builder *b = lazy_begin(src);
    ir_value *v = ops_float(b, lazy_value(sum));
    return lazy_wrap(v ? ex_times(b, v, 0.5) : NULL, what);
}
xt_dist xt_multivariate_normal_dist_at(const xt_src *src, xt_tensor loc, xt_tensor covariance) {
    const char *what = "xt_multivariate_normal_dist";
    xt_tensor error;
    if (!vectors_fit(src, what, loc, covariance, &error))
        return failed((xt_dist){.kind = DIST_multivariate_normal}, error);
    xt_tensor factor = xt_cholesky_at(src, symmetric(src, what, covariance), false);
    return make(src, what, DIST_multivariate_normal, 2, (const xt_tensor[]){loc, factor});
}
xt_dist xt_multivariate_normal_tril_dist_at(const xt_src *src, xt_tensor loc, xt_tensor scale_tril) {
    const char *what = "xt_multivariate_normal_tril_dist";
    xt_tensor error;
    if (!vectors_fit(src, what, loc, scale_tril, &error))
        return failed((xt_dist){.kind = DIST_multivariate_normal}, error);
    return make(src, what, DIST_multivariate_normal, 2, (const xt_tensor[]){loc, scale_tril});
}
