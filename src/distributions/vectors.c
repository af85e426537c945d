/* Distributions over vectors: Dirichlet with concentrations [...,K]; multivariate normal with a mean [...,D] and the
 * lower Cholesky factor [...,D,D] of its covariance. */
#include "distributions/dist.h"

static int64_t last_of(const ir_value *x) {
    return (int64_t)x->type->rank - 1;
}
/* x [...], at like's [...,K]. */
static ir_value *over_last(ir_builder *b, ir_value *x, const ir_value *like) {
    return like ? ops_spread(b, x, like->type, last_of(like)) : NULL;
}

/* --- Dirichlet --- */
#define ALPHA a->p[0]
/* Each part is a beta draw of its concentration and the sum of the others, and what it gains the others lose in
 * proportion, as in PyTorch: dx_j / d alpha_i = s_i x_i ((i = j) - x_j), s_i being the slope of x_i's logit. */
static ir_value *dirichlet_draw(dist_args *a, bool grad) {
    ir_value *l = dist_log_gamma_draw(a, ALPHA, false), *slopes[2];
    ir_builder *b = a->b;
    if (!l) return NULL;
    ir_value *log_x = ops_log_softmax(b, l, last_of(l)), *x = ir_exponential(b, log_x);
    if (!grad || !x) return x;
    x = ex_detach(b, x);
    ir_value *alpha = ex_detach(b, ALPHA), *none = ex_num(b, x, dist_smallest(x->type->dtype));
    ir_value *others = ir_subtract(b, over_last(b, dist_sum_last(b, alpha, 1), alpha), alpha);
    ir_value *rest = ir_maximum(b, ir_negate(b, ir_exponential_minus_one(b, log_x)), none);
    ir_value *logit = ex_detach(b, ir_subtract(b, log_x, ir_log(b, rest)));
    if (!dist_beta_slopes(a, alpha, ir_maximum(b, others, none), logit, slopes)) return NULL;
    b = a->b;
    ir_value *gains = ir_multiply(b, ex_detach(b, ir_multiply(b, slopes[0], x)), ir_subtract(b, ALPHA, alpha));
    ir_value *all = over_last(b, dist_sum_last(b, gains, 1), x);
    return ir_add(b, x, ir_subtract(b, gains, ir_multiply(b, x, all)));
}
static ir_value *dirichlet_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *l = dist_sum_last(b, dist_xlogy(b, ex_plus(b, ALPHA, -1), x), 1);
    ir_value *sum = dist_sum_last(b, ALPHA, 1), *each = dist_sum_last(b, ir_chlo_lgamma(b, ALPHA), 1);
    return ir_subtract(b, ir_add(b, l, ir_chlo_lgamma(b, sum)), each);
}
static ir_value *dirichlet_mean(dist_args *a) {
    return ir_divide(a->b, ALPHA, over_last(a->b, dist_sum_last(a->b, ALPHA, 1), ALPHA));
}
static ir_value *dirichlet_variance(dist_args *a) {
    ir_builder *b = a->b;
    ir_value *sum = over_last(b, dist_sum_last(b, ALPHA, 1), ALPHA);
    ir_value *below = ir_multiply(b, ir_multiply(b, sum, sum), ex_plus(b, sum, 1));
    return ir_divide(b, ir_multiply(b, ALPHA, ir_subtract(b, sum, ALPHA)), below);
}
static ir_value *dirichlet_entropy(dist_args *a) {
    ir_builder *b = a->b;
    ir_value *sum = dist_sum_last(b, ALPHA, 1), *each = dist_sum_last(b, ir_chlo_lgamma(b, ALPHA), 1);
    double k = ALPHA ? (double)ALPHA->type->dims[last_of(ALPHA)] : 0;
    ir_value *whole = ir_multiply(b, ex_plus(b, sum, -k), ir_chlo_digamma(b, sum));
    ir_value *parts = dist_sum_last(b, ir_multiply(b, ex_plus(b, ALPHA, -1), ir_chlo_digamma(b, ALPHA)), 1);
    return ir_add(b, ir_subtract(b, each, ir_chlo_lgamma(b, sum)), ir_subtract(b, whole, parts));
}
/* lgamma(q) - lgamma(p) - (q - p) digamma(p), which is never negative. */
static ir_value *bent(ir_builder *b, ir_value *p, ir_value *q) {
    ir_value *logs = ir_subtract(b, ir_chlo_lgamma(b, q), ir_chlo_lgamma(b, p));
    return ir_subtract(b, logs, ir_multiply(b, ir_subtract(b, q, p), ir_chlo_digamma(b, p)));
}
static ir_value *dirichlet_kl(dist_args *p, dist_args *q) {
    ir_builder *b = p->b;
    ir_value *pa = p->p[0], *qa = q->p[0];
    ir_value *whole = bent(b, dist_sum_last(b, pa, 1), dist_sum_last(b, qa, 1));
    return ir_subtract(b, dist_sum_last(b, bent(b, pa, qa), 1), whole);
}
const dist_kind dist_dirichlet = {.name = "Dirichlet",
                                  .n_params = 1,
                                  .dims = {1},
                                  .event = 1,
                                  .support = DIST_OWN,
                                  .reparameterized = true,
                                  .draw = dirichlet_draw,
                                  .log_prob = dirichlet_log_prob,
                                  .mean = dirichlet_mean,
                                  .variance = dirichlet_variance,
                                  .entropy = dirichlet_entropy,
                                  .kl = dirichlet_kl};
#undef ALPHA

/* --- multivariate normal --- */
#define LOC a->p[0]
#define TRIL a->p[1]
static const double LOG_2PI = 1.83787706640934548356;

static ir_value *wrapped(dist_args *a, xt_tensor t) {
    a->b = lazy_begin(a->src);
    return lazy_value(t);
}
/* tril x for vectors x. */
static ir_value *times_tril(dist_args *a, ir_value *x) {
    if (!x) return NULL;
    xt_tensor column = lazy_wrap(ops_unsqueeze(a->b, x, (int64_t)x->type->rank), a->what);
    ir_value *y = wrapped(a, xt_matmul_at(a->src, lazy_wrap(TRIL, a->what), column));
    return y ? ops_squeeze(a->b, y, last_of(y)) : NULL;
}
/* tril^-1 x for matrices x [...,D,k]. */
static ir_value *solve_tril(dist_args *a, ir_value *tril, ir_value *x) {
    if (!tril || !x) return NULL;
    xt_tensor l = lazy_wrap(tril, a->what), r = lazy_wrap(x, a->what);
    return wrapped(
        a, xt_triangular_solve_at(a->src, l, r, (xt_triangular_opts){.struct_size = sizeof(xt_triangular_opts)}));
}
static ir_value *log_root_det(ir_builder *b, ir_value *tril) {
    if (!tril) return NULL;
    return dist_sum_last(b, ir_log(b, ops_diagonal(b, tril, last_of(tril) - 1, last_of(tril), 0)), 1);
}
/* |tril^-1 x|^2 */
static ir_value *mahalanobis(dist_args *a, ir_value *tril, ir_value *x) {
    ir_value *z = x ? solve_tril(a, tril, ops_unsqueeze(a->b, x, (int64_t)x->type->rank)) : NULL;
    return z ? dist_sum_last(a->b, ir_multiply(a->b, z, z), 2) : NULL;
}
static double size_of(const dist_args *a) {
    return LOC ? (double)LOC->type->dims[last_of(LOC)] : 0;
}

static ir_value *multivariate_draw(dist_args *a, bool grad) {
    (void)grad;
    ir_value *x = times_tril(a, dist_normals(a));
    return ir_add(a->b, LOC, x);
}
static ir_value *multivariate_log_prob(dist_args *a, ir_value *x) {
    ir_value *m = mahalanobis(a, TRIL, ir_subtract(a->b, x, LOC));
    ir_value *l = ex_times(a->b, ex_plus(a->b, m, size_of(a) * LOG_2PI), -0.5);
    return ir_subtract(a->b, l, log_root_det(a->b, TRIL));
}
static ir_value *multivariate_mean(dist_args *a) {
    return ops_copy(a->b, LOC);
}
static ir_value *multivariate_variance(dist_args *a) {
    return dist_sum_last(a->b, ir_multiply(a->b, TRIL, TRIL), 1);
}
static ir_value *multivariate_entropy(dist_args *a) {
    return ex_plus(a->b, log_root_det(a->b, TRIL), 0.5 * size_of(a) * (1 + LOG_2PI));
}
static ir_value *multivariate_kl(dist_args *p, dist_args *q) {
    ir_value *ratio = solve_tril(p, q->p[1], p->p[1]);
    ir_value *apart = mahalanobis(p, q->p[1], ir_subtract(p->b, q->p[0], p->p[0]));
    ir_builder *b = p->b;
    ir_value *trace = ratio ? dist_sum_last(b, ir_multiply(b, ratio, ratio), 2) : NULL;
    ir_value *dets = ir_subtract(b, log_root_det(b, q->p[1]), log_root_det(b, p->p[1]));
    return ir_add(b, dets, ex_times(b, ex_plus(b, ir_add(b, trace, apart), -size_of(p)), 0.5));
}
const dist_kind dist_multivariate_normal = {.name = "MultivariateNormal",
                                            .n_params = 2,
                                            .dims = {1, 2},
                                            .event = 1,
                                            .reparameterized = true,
                                            .draw = multivariate_draw,
                                            .log_prob = multivariate_log_prob,
                                            .mean = multivariate_mean,
                                            .variance = multivariate_variance,
                                            .entropy = multivariate_entropy,
                                            .kl = multivariate_kl};
