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

xt_dist dist_make(const xt_src *src, const char *what, dist_kind_id kind, int n, const xt_tensor *tensors) {
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

#define MAKE_1(name, function, kind, x)                                       \
    xt_dist function(const xt_src *src, xt_tensor x) {                        \
        return dist_make(src, #name, DIST_##kind, 1, (const xt_tensor[]){x}); \
    }
#define MAKE_2(name, function, kind, x, y)                                       \
    xt_dist function(const xt_src *src, xt_tensor x, xt_tensor y) {              \
        return dist_make(src, #name, DIST_##kind, 2, (const xt_tensor[]){x, y}); \
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
MAKE_2(xt_pareto_dist, xt_pareto_dist_at, pareto, scale, alpha)
MAKE_2(xt_weibull_dist, xt_weibull_dist_at, weibull, scale, concentration)
MAKE_2(xt_kumaraswamy_dist, xt_kumaraswamy_dist_at, kumaraswamy, concentration1, concentration0)
MAKE_2(xt_inverse_gamma_dist, xt_inverse_gamma_dist_at, inverse_gamma, concentration, rate)
MAKE_2(xt_fisher_snedecor_dist, xt_fisher_snedecor_dist_at, fisher_snedecor, df1, df2)
MAKE_2(xt_von_mises_dist, xt_von_mises_dist_at, von_mises, loc, concentration)
MAKE_1(xt_poisson_dist, xt_poisson_dist_at, poisson, rate)
MAKE_1(xt_dirichlet_dist, xt_dirichlet_dist_at, dirichlet, concentration)

xt_dist xt_student_t_dist_at(const xt_src *src, xt_tensor df, xt_tensor loc, xt_tensor scale) {
    return dist_make(src, "xt_student_t_dist", DIST_student_t, 3, (const xt_tensor[]){df, loc, scale});
}

xt_dist xt_generalized_pareto_dist_at(const xt_src *src, xt_tensor loc, xt_tensor scale, xt_tensor concentration) {
    return dist_make(src, "xt_generalized_pareto_dist", DIST_generalized_pareto, 3,
                     (const xt_tensor[]){loc, scale, concentration});
}

/* Gamma(df / 2, 1 / 2). */
xt_dist xt_chi2_dist_at(const xt_src *src, xt_tensor df) {
    xt_dist d = dist_make(src, "xt_chi2_dist", DIST_exponential, 1, (const xt_tensor[]){df});
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
    xt_dist d = dist_make(src, what, DIST_poisson, 1, &x);
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

/* Of a probability that is clamped: the formulas need both logarithms. */
static xt_dist make_continuous(const xt_src *src, const char *what, xt_tensor x, bool logits) {
    xt_dist d = make_odds(src, what, DIST_continuous_bernoulli, 0, x, logits);
    ir_builder *b = lazy_begin(src);
    ir_value *p = lazy_value(d.p[1]);
    if (p) d.p[1] = lazy_wrap(inside_unit(b, p), what);
    return d;
}
xt_dist xt_continuous_bernoulli_dist_at(const xt_src *src, xt_tensor probs) {
    return make_continuous(src, "xt_continuous_bernoulli_dist", probs, false);
}
xt_dist xt_continuous_bernoulli_logits_dist_at(const xt_src *src, xt_tensor logits) {
    return make_continuous(src, "xt_continuous_bernoulli_logits_dist", logits, true);
}
/* A kind whose first parameter is `first` and whose second are log odds. */
static xt_dist make_beside_odds(const xt_src *src, const char *what, dist_kind_id kind, xt_tensor first, xt_tensor x,
                                bool logits) {
    xt_dist odds = make_odds(src, what, DIST_bernoulli, 1, x, logits);
    return dist_make(src, what, kind, 2, (const xt_tensor[]){first, odds.p[0]});
}
xt_dist xt_negative_binomial_dist_at(const xt_src *src, xt_tensor total_count, xt_tensor probs) {
    return make_beside_odds(src, "xt_negative_binomial_dist", DIST_negative_binomial, total_count, probs, false);
}
xt_dist xt_negative_binomial_logits_dist_at(const xt_src *src, xt_tensor total_count, xt_tensor logits) {
    return make_beside_odds(src, "xt_negative_binomial_logits_dist", DIST_negative_binomial, total_count, logits, true);
}
xt_dist xt_relaxed_bernoulli_dist_at(const xt_src *src, xt_tensor temperature, xt_tensor probs) {
    return xt_sigmoid_dist_at(
        src, make_beside_odds(src, "xt_relaxed_bernoulli_dist", DIST_relaxed_bernoulli, temperature, probs, false));
}
xt_dist xt_relaxed_bernoulli_logits_dist_at(const xt_src *src, xt_tensor temperature, xt_tensor logits) {
    return xt_sigmoid_dist_at(src, make_beside_odds(src, "xt_relaxed_bernoulli_logits_dist", DIST_relaxed_bernoulli,
                                                    temperature, logits, true));
}

/* --- several: as logarithms that sum to 1, and as probabilities --- */
static xt_dist make_choices(const xt_src *src, const char *what, dist_kind_id kind, xt_tensor x, bool logits) {
    xt_dist d = dist_make(src, what, DIST_dirichlet, 1, &x);
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

xt_dist xt_one_hot_straight_through_dist_at(const xt_src *src, xt_tensor probs) {
    return make_choices(src, "xt_one_hot_straight_through_dist", DIST_one_hot_straight_through, probs, false);
}
xt_dist xt_one_hot_straight_through_logits_dist_at(const xt_src *src, xt_tensor logits) {
    return make_choices(src, "xt_one_hot_straight_through_logits_dist", DIST_one_hot_straight_through, logits, true);
}
static xt_dist make_multinomial(const xt_src *src, const char *what, int64_t count, xt_tensor x, bool logits) {
    xt_dist d = make_choices(src, what, DIST_multinomial, x, logits);
    d.count = count;
    if (count >= 0) return d;
    return failed(d, lazy_error(src, XT_INVALID_ARGUMENT, "%s: total_count is %lld: it must not be negative", what,
                                (long long)count));
}
xt_dist xt_multinomial_dist_at(const xt_src *src, int64_t total_count, xt_tensor probs) {
    return make_multinomial(src, "xt_multinomial_dist", total_count, probs, false);
}
xt_dist xt_multinomial_logits_dist_at(const xt_src *src, int64_t total_count, xt_tensor logits) {
    return make_multinomial(src, "xt_multinomial_logits_dist", total_count, logits, true);
}
static xt_dist make_relaxed_choice(const xt_src *src, const char *what, xt_tensor temperature, xt_tensor x,
                                   bool logits) {
    xt_dist d = make_choices(src, what, DIST_categorical, x, logits);
    return xt_exp_dist_at(src, dist_make(src, what, DIST_relaxed_one_hot, 2, (const xt_tensor[]){d.p[0], temperature}));
}
xt_dist xt_relaxed_one_hot_dist_at(const xt_src *src, xt_tensor temperature, xt_tensor probs) {
    return make_relaxed_choice(src, "xt_relaxed_one_hot_dist", temperature, probs, false);
}
xt_dist xt_relaxed_one_hot_logits_dist_at(const xt_src *src, xt_tensor temperature, xt_tensor logits) {
    return make_relaxed_choice(src, "xt_relaxed_one_hot_logits_dist", temperature, logits, true);
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
    return dist_make(src, what, DIST_multivariate_normal, 2, (const xt_tensor[]){loc, factor});
}
xt_dist xt_multivariate_normal_tril_dist_at(const xt_src *src, xt_tensor loc, xt_tensor scale_tril) {
    const char *what = "xt_multivariate_normal_tril_dist";
    xt_tensor error;
    if (!vectors_fit(src, what, loc, scale_tril, &error))
        return failed((xt_dist){.kind = DIST_multivariate_normal}, error);
    return dist_make(src, what, DIST_multivariate_normal, 2, (const xt_tensor[]){loc, scale_tril});
}

xt_dist xt_low_rank_multivariate_normal_dist_at(const xt_src *src, xt_tensor loc, xt_tensor cov_factor,
                                                xt_tensor cov_diag) {
    const char *what = "xt_low_rank_multivariate_normal_dist";
    const ir_type *t = lazy_type(loc), *w = lazy_type(cov_factor), *d = lazy_type(cov_diag);
    ops_text st, sw, sd;
    if (t && w && d &&
        (t->rank < 1 || w->rank < 2 || d->rank < 1 || t->dims[t->rank - 1] != w->dims[w->rank - 2] ||
         t->dims[t->rank - 1] != d->dims[d->rank - 1]))
        return failed((xt_dist){.kind = DIST_low_rank_multivariate_normal},
                      lazy_error(src, XT_INVALID_ARGUMENT,
                                 "%s: loc %s, cov_factor %s and cov_diag %s: expected [...,D], [...,D,R] and [...,D]",
                                 what, ops_shape(t, &st), ops_shape(w, &sw), ops_shape(d, &sd)));
    return dist_make(src, what, DIST_low_rank_multivariate_normal, 3, (const xt_tensor[]){loc, cov_factor, cov_diag});
}

/* --- matrices --- */
static bool is_square(const xt_src *src, const char *what, xt_tensor matrix, xt_tensor *out) {
    const ir_type *t = lazy_type(matrix);
    ops_text text;
    if (!t || (t->rank >= 2 && t->dims[t->rank - 1] == t->dims[t->rank - 2])) return true;
    *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: the matrix is %s: [...,D,D] is needed", what, ops_shape(t, &text));
    return false;
}
xt_dist xt_wishart_tril_dist_at(const xt_src *src, xt_tensor df, xt_tensor scale_tril) {
    const char *what = "xt_wishart_tril_dist";
    xt_tensor error;
    if (!is_square(src, what, scale_tril, &error)) return failed((xt_dist){.kind = DIST_wishart}, error);
    return dist_make(src, what, DIST_wishart, 2, (const xt_tensor[]){scale_tril, df});
}
xt_dist xt_wishart_dist_at(const xt_src *src, xt_tensor df, xt_tensor covariance) {
    const char *what = "xt_wishart_dist";
    xt_tensor error;
    if (!is_square(src, what, covariance, &error)) return failed((xt_dist){.kind = DIST_wishart}, error);
    xt_tensor factor = xt_cholesky_at(src, symmetric(src, what, covariance), false);
    return dist_make(src, what, DIST_wishart, 2, (const xt_tensor[]){factor, df});
}
xt_dist xt_lkj_cholesky_dist_at(const xt_src *src, int64_t dim, xt_tensor concentration) {
    const char *what = "xt_lkj_cholesky_dist";
    const ir_type *t = lazy_type(concentration);
    int64_t dims[XT_MAX_RANK + 1] = {0};
    if (t && (dim < 2 || t->rank + 2 > XT_MAX_RANK))
        return failed(
            (xt_dist){.kind = DIST_lkj_cholesky},
            lazy_error(src, XT_INVALID_ARGUMENT, "%s: dim is %lld: expected at least 2", what, (long long)dim));
    if (t) memcpy(dims, t->dims, t->rank * sizeof *dims);
    if (t) dims[t->rank] = dims[t->rank + 1] = dim;
    xt_tensor wide = xt_unsqueeze_at(src, xt_unsqueeze_at(src, concentration, -1), -1);
    wide = t ? xt_broadcast_to_at(src, wide, dims) : wide;
    return dist_make(src, what, DIST_lkj_cholesky, 1, &wide);
}

/* x with one more at its last dim's end. */
static xt_tensor with_last(const xt_src *src, xt_tensor x, double v) {
    xt_tensor parts[2] = {x, xt_full_like_at(src, xt_slice_at(src, x, -1, 0, 1), v)};
    return xt_concat_at(src, 2, parts, -1);
}
xt_dist xt_logistic_normal_dist_at(const xt_src *src, xt_tensor loc, xt_tensor scale) {
    const char *what = "xt_logistic_normal_dist";
    const ir_type *t = lazy_type(loc), *s = lazy_type(scale);
    if (t && s && (t->rank < 1 || s->rank < 1))
        return failed((xt_dist){.kind = DIST_logistic_normal},
                      lazy_error(src, XT_INVALID_ARGUMENT, "%s: loc and scale need a last dim: [...,K - 1]", what));
    /* brought to one shape first: the last dim of either may be 1 */
    xt_tensor zero = xt_mul_scalar_at(src, xt_add_at(src, loc, scale), 0);
    loc = with_last(src, xt_add_at(src, loc, zero), 0);
    scale = with_last(src, xt_add_at(src, scale, zero), 1);
    return dist_make(src, what, DIST_logistic_normal, 2, (const xt_tensor[]){loc, scale});
}
