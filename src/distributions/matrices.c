/* Distributions with matrices: normal vectors whose covariance is W W^T + diag(d) (loc, W [...,D,R], d), Wishart's over
 * positive definite matrices (scale_tril [...,D,D], df), and that over Cholesky factors of correlation matrices
 * (Lewandowski, Kurowicka and Joe 2009; the concentration stands at each place of a matrix, which says the size).
 * Written by the public functions: what they give is handed on as tensors of this step. */
#include "distributions/dist.h"

static const double LOG_2PI = 1.83787706640934548356;
#define REDUCE_OPTS                           \
    (xt_reduce_opts) {                        \
        .struct_size = sizeof(xt_reduce_opts) \
    }

/* --- between tensors and values --- */
static xt_tensor of(dist_args *a, ir_value *v) {
    return lazy_wrap(v, a->what);
}
static ir_value *taken(dist_args *a, xt_tensor t) {
    a->b = lazy_begin(a->src);
    return lazy_value(t);
}
static xt_tensor solve_lower(dist_args *a, xt_tensor tril, xt_tensor y) {
    xt_triangular_opts o = {.struct_size = sizeof o};
    return xt_triangular_solve_at(a->src, tril, y, o);
}
static xt_tensor product(dist_args *a, xt_tensor x, xt_tensor y) {
    return xt_matmul_at(a->src, x, y);
}
static xt_tensor turned(dist_args *a, xt_tensor x) {
    return xt_transpose_at(a->src, x, -1, -2);
}
static xt_tensor sum(dist_args *a, xt_tensor x, int n) {
    return xt_sum_axes_at(a->src, x, n == 1 ? XT_LIST(-1) : XT_LIST(-2, -1), REDUCE_OPTS);
}
static xt_tensor square_sum(dist_args *a, xt_tensor x) {
    return sum(a, xt_mul_at(a->src, x, x), 2);
}
static xt_tensor log_diagonal(dist_args *a, xt_tensor tril) {
    return sum(a, xt_log_e_at(a->src, xt_diagonal_at(a->src, tril, 0, -2, -1)), 1);
}
static int64_t side_of(const ir_value *v) {
    return v ? v->type->dims[v->type->rank - 1] : 0;
}
/* v [...] at [..., n], less k * step along the last dim. */
static ir_value *ladder(ir_builder *b, ir_value *v, int64_t n, double step) {
    int64_t dims[XT_MAX_RANK], axes[XT_MAX_RANK];
    if (!v || v->type->rank + 1 > XT_MAX_RANK) return NULL;
    for (uint32_t i = 0; i < v->type->rank; i++) dims[i] = v->type->dims[i], axes[i] = i;
    dims[v->type->rank] = n;
    const ir_type *t = ir_tensor(v->type->dtype, v->type->rank + 1, dims);
    v = ir_broadcast_in_dim(b, v, t, t->rank - 1, axes);
    return ir_subtract(b, v, ex_times(b, ir_iota(b, t, (int64_t)t->rank - 1), step));
}
/* Logarithm of the multivariate gamma function, and its derivative. */
static ir_value *multi_lgamma(ir_builder *b, ir_value *x, int64_t p) {
    ir_value *each = dist_sum_last(b, ir_chlo_lgamma(b, ladder(b, x, p, 0.5)), 1);
    return ex_plus(b, each, (double)p * (double)(p - 1) / 4 * log(M_PI));
}
static ir_value *multi_digamma(ir_builder *b, ir_value *x, int64_t p) {
    return dist_sum_last(b, ir_chlo_digamma(b, ladder(b, x, p, 0.5)), 1);
}

/* --- normal, with a covariance of low rank: by the capacitance I + W^T D^-1 W, which is small --- */
#define LOC a->p[0]
#define FACTOR a->p[1]
#define DIAG a->p[2]
typedef struct low_rank {
    xt_tensor w, d, scaled, tril; /* [D,R], [D], D^-1 W, Cholesky factor of the capacitance */
} low_rank;
static low_rank low_rank_of(dist_args *a) {
    low_rank r = {of(a, FACTOR), of(a, DIAG), {0}, {0}};
    r.scaled = xt_div_at(a->src, r.w, xt_unsqueeze_at(a->src, r.d, -1));
    xt_tensor small = product(a, turned(a, r.w), r.scaled);
    xt_tensor eye = xt_eye_at(a->src, side_of(FACTOR), 0, FACTOR->type->dtype);
    r.tril = xt_cholesky_at(a->src, xt_add_at(a->src, small, eye), false);
    return r;
}
static xt_tensor low_rank_log_det(dist_args *a, const low_rank *r) {
    xt_tensor twice = xt_mul_scalar_at(a->src, log_diagonal(a, r->tril), 2);
    return xt_add_at(a->src, twice, sum(a, xt_log_e_at(a->src, r->d), 1));
}
/* Of x's columns c [D,k] the sum of c^T covariance^-1 c, by which the best c' = W^T covariance^-1 c leaves of them, as
 * of least squares: |D^-1/2 (c - W c')|^2 + |c'|^2. Nothing is subtracted that is as large as the result. */
static xt_tensor low_rank_distance(dist_args *a, const low_rank *r, xt_tensor columns) {
    const xt_src *src = a->src;
    xt_tensor best = xt_cholesky_solve_at(src, product(a, turned(a, r->scaled), columns), r->tril, false);
    xt_tensor rest = xt_sub__at(src, columns, product(a, r->w, best));
    xt_tensor own = xt_div_at(src, xt_mul_at(src, rest, rest), xt_unsqueeze_at(src, r->d, -1));
    return xt_add_at(src, sum(a, own, 2), square_sum(a, best));
}
static ir_value *low_rank_draw(dist_args *a, bool grad) {
    (void)grad;
    int64_t dims[XT_MAX_RANK];
    dist_args narrow = *a;
    memcpy(dims, LOC->type->dims, LOC->type->rank * sizeof *dims);
    dims[LOC->type->rank - 1] = side_of(FACTOR);
    narrow.t = ir_tensor(LOC->type->dtype, LOC->type->rank, dims);
    ir_value *z = dist_normals(&narrow);
    xt_tensor shared = xt_squeeze_at(a->src, product(a, of(a, FACTOR), xt_unsqueeze_at(a->src, of(a, z), -1)), -1);
    a->b = lazy_begin(a->src);
    ir_value *own = dist_normals(a);
    own = ir_multiply(a->b, own, ir_sqrt(a->b, DIAG));
    ir_value *both = taken(a, xt_add_at(a->src, shared, of(a, own)));
    return ir_add(a->b, LOC, both);
}
static ir_value *low_rank_log_prob(dist_args *a, ir_value *x) {
    low_rank r = low_rank_of(a);
    a->b = lazy_begin(a->src);
    xt_tensor m = low_rank_distance(a, &r, xt_unsqueeze_at(a->src, of(a, ir_subtract(a->b, x, LOC)), -1));
    ir_value *l = taken(a, xt_add_at(a->src, m, low_rank_log_det(a, &r)));
    return ex_times(a->b, ex_plus(a->b, l, (double)side_of(LOC) * LOG_2PI), -0.5);
}
static ir_value *low_rank_mean(dist_args *a) {
    return ops_copy(a->b, LOC);
}
static ir_value *low_rank_variance(dist_args *a) {
    return ir_add(a->b, dist_sum_last(a->b, ir_multiply(a->b, FACTOR, FACTOR), 1), DIAG);
}
static ir_value *low_rank_entropy(dist_args *a) {
    low_rank r = low_rank_of(a);
    ir_value *l = taken(a, low_rank_log_det(a, &r));
    return ex_times(a->b, ex_plus(a->b, l, (double)side_of(LOC) * (1 + LOG_2PI)), 0.5);
}
/* With r = p's diagonal over q's, less 1: trace, D and both diagonals' logarithms are the sum of r - log(1 + r), which
 * keeps its digits where the two are close. */
static ir_value *low_rank_kl(dist_args *p, dist_args *q) {
    const xt_src *src = p->src;
    low_rank rp = low_rank_of(p), rq = low_rank_of(q);
    p->b = lazy_begin(src);
    xt_tensor apart = xt_unsqueeze_at(src, of(p, ir_subtract(p->b, q->p[0], p->p[0])), -1);
    xt_tensor columns = low_rank_distance(p, &rq, rp.w);
    apart = low_rank_distance(p, &rq, apart);
    xt_tensor r = xt_div_at(src, xt_sub__at(src, rp.d, rq.d), rq.d);
    xt_tensor own = sum(p, xt_sub__at(src, r, xt_log1p_at(src, r)), 1);
    xt_tensor roots = xt_sub__at(src, log_diagonal(p, rq.tril), log_diagonal(p, rp.tril));
    xt_tensor inner = solve_lower(p, rq.tril, turned(p, rq.scaled)), row = xt_unsqueeze_at(src, rp.d, -2);
    xt_tensor less = sum(p, xt_mul_at(src, xt_mul_at(src, inner, inner), row), 2);
    xt_tensor shared = xt_sub__at(src, xt_add_at(src, columns, xt_mul_scalar_at(src, roots, 2)), less);
    return ex_times(p->b, taken(p, xt_add_at(src, xt_add_at(src, shared, own), apart)), 0.5);
}
const dist_kind dist_low_rank_multivariate_normal = {.name = "LowRankMultivariateNormal",
                                                     .n_params = 3,
                                                     .dims = {1, 2, 1},
                                                     .event = 1,
                                                     .reparameterized = true,
                                                     .draw = low_rank_draw,
                                                     .log_prob = low_rank_log_prob,
                                                     .mean = low_rank_mean,
                                                     .variance = low_rank_variance,
                                                     .entropy = low_rank_entropy,
                                                     .kl = low_rank_kl};
#undef LOC
#undef FACTOR
#undef DIAG

/* --- Wishart --- */
#define TRIL a->p[0]
#define DF a->p[1]
/* Bartlett: roots of chi-squared numbers on the diagonal, normal ones below. */
static ir_value *wishart_draw(dist_args *a, bool grad) {
    int64_t n = side_of(TRIL);
    dist_args diagonal = *a;
    ir_value *half = ladder(a->b, ex_times(a->b, DF, 0.5), n, 0.5);
    if (!half) return NULL;
    diagonal.t = half->type;
    ir_value *l = dist_log_gamma_draw(&diagonal, half, grad);
    ir_value *root = ir_exponential(diagonal.b, ex_times(diagonal.b, ex_plus(diagonal.b, l, M_LN2), 0.5));
    xt_tensor on = xt_diag_embed_at(a->src, of(a, root), 0, -2, -1);
    a->b = lazy_begin(a->src);
    ir_value *z = dist_normals(a);
    xt_tensor noise = xt_add_at(a->src, xt_tril_at(a->src, of(a, z), -1), on);
    xt_tensor factor = product(a, of(a, TRIL), noise);
    return taken(a, product(a, factor, turned(a, factor)));
}
/* trace of (tril tril^T)^-1 x */
static xt_tensor trace_by(dist_args *a, xt_tensor tril, xt_tensor x) {
    xt_tensor z = solve_lower(a, tril, turned(a, solve_lower(a, tril, x)));
    return sum(a, xt_diagonal_at(a->src, z, 0, -2, -1), 1);
}
static ir_value *wishart_log_prob(dist_args *a, ir_value *x) {
    double n = (double)side_of(TRIL);
    xt_tensor value = of(a, x), tril = of(a, TRIL);
    xt_tensor even = xt_mul_scalar_at(a->src, xt_add_at(a->src, value, turned(a, value)), 0.5);
    xt_tensor logs[3] = {log_diagonal(a, tril), log_diagonal(a, xt_cholesky_at(a->src, even, false)),
                         trace_by(a, tril, value)};
    ir_value *v[3];
    for (int i = 0; i < 3; i++)
        if (!(v[i] = taken(a, logs[i]))) return NULL;
    ir_builder *b = a->b;
    ir_value *l = ir_multiply(b, ir_negate(b, DF), ex_plus(b, v[0], n * M_LN2 / 2));
    l = ir_subtract(b, l, multi_lgamma(b, ex_times(b, DF, 0.5), side_of(TRIL)));
    l = ir_add(b, l, ir_multiply(b, ex_plus(b, DF, -n - 1), v[1])); /* half of it, of twice the sum */
    return ir_subtract(b, l, ex_times(b, v[2], 0.5));
}
/* [...] at the matrices' dims. */
static ir_value *over_matrix(ir_builder *b, ir_value *v, const ir_value *like) {
    int64_t axes[XT_MAX_RANK];
    if (!v || !like) return NULL;
    for (uint32_t i = 0; i < v->type->rank; i++) axes[i] = i;
    return ir_broadcast_in_dim(b, v, like->type, v->type->rank, axes);
}
static ir_value *wishart_covariance(dist_args *a) {
    xt_tensor tril = of(a, TRIL);
    return taken(a, product(a, tril, turned(a, tril)));
}
static ir_value *wishart_mean(dist_args *a) {
    ir_value *c = wishart_covariance(a);
    return ir_multiply(a->b, over_matrix(a->b, DF, c), c);
}
static ir_value *wishart_variance(dist_args *a) {
    ir_value *c = wishart_covariance(a);
    xt_tensor d = xt_diagonal_at(a->src, of(a, c), 0, -2, -1);
    d = xt_mul_at(a->src, xt_unsqueeze_at(a->src, d, -1), xt_unsqueeze_at(a->src, d, -2));
    ir_value *outer = taken(a, d);
    return ir_multiply(a->b, over_matrix(a->b, DF, c), ir_add(a->b, ir_multiply(a->b, c, c), outer));
}
static ir_value *wishart_entropy(dist_args *a) {
    double n = (double)side_of(TRIL);
    ir_value *l = taken(a, log_diagonal(a, of(a, TRIL)));
    ir_builder *b = a->b;
    ir_value *half = ex_times(b, DF, 0.5);
    ir_value *e = ir_add(b, ex_times(b, ex_plus(b, l, n * M_LN2 / 2), n + 1), multi_lgamma(b, half, side_of(TRIL)));
    ir_value *rest = ir_multiply(b, ex_times(b, ex_plus(b, DF, -n - 1), 0.5), multi_digamma(b, half, side_of(TRIL)));
    return ir_add(b, ir_subtract(b, e, rest), ex_times(b, DF, n / 2));
}
static ir_value *wishart_kl(dist_args *p, dist_args *q) {
    int64_t n = side_of(p->p[0]);
    xt_tensor pl = of(p, p->p[0]), ql = of(p, q->p[0]), ratio = solve_lower(p, ql, pl);
    ir_value *dets = taken(p, xt_sub__at(p->src, log_diagonal(p, ql), log_diagonal(p, pl)));
    ir_value *trace = taken(p, square_sum(p, ratio));
    ir_builder *b = p->b;
    ir_value *pd = ex_times(b, p->p[1], 0.5), *qd = ex_times(b, q->p[1], 0.5);
    ir_value *l = ir_multiply(b, q->p[1], dets);
    l = ir_add(b, l, ir_multiply(b, pd, ex_plus(b, trace, -(double)n)));
    l = ir_add(b, l, ir_subtract(b, multi_lgamma(b, qd, n), multi_lgamma(b, pd, n)));
    return ir_add(b, l, ir_multiply(b, ir_subtract(b, pd, qd), multi_digamma(b, pd, n)));
}
const dist_kind dist_wishart = {.name = "Wishart",
                                .n_params = 2,
                                .dims = {2, 0},
                                .event = 2,
                                .support = DIST_OWN,
                                .reparameterized = true,
                                .draw = wishart_draw,
                                .log_prob = wishart_log_prob,
                                .mean = wishart_mean,
                                .variance = wishart_variance,
                                .entropy = wishart_entropy,
                                .kl = wishart_kl};
#undef TRIL
#undef DF

/* --- Cholesky factors of correlation matrices --- */
static ir_value *corner(dist_args *a) {
    ir_value *c = a->p[0];
    for (int i = 0; i < 2 && c; i++) {
        int64_t last = (int64_t)c->type->rank - 1;
        c = ops_squeeze(a->b, ops_part(a->b, c, last, 0, 1), last);
    }
    return c;
}
/* The onion: row i is a direction among i numbers, as long as the root of a beta number; the diagonal is what lacks. */
static ir_value *lkj_draw(dist_args *a, bool grad) {
    (void)grad;
    int64_t n = side_of(a->p[0]);
    ir_builder *b = a->b;
    ir_value *eta = ex_detach(b, corner(a));
    /* of row i: 1/2 + max(i - 1, 0) / 2 and eta + (n - 2) / 2 - max(i - 1, 0) / 2; the first row has no direction */
    ir_value *rows = ladder(b, ex_num(b, eta, 1), n, 1);
    ir_value *offset = ex_times(b, ir_maximum(b, ir_negate(b, rows), ex_num(b, rows, 0)), 0.5);
    dist_args beta = *a;
    beta.p[0] = ex_plus(b, offset, 0.5);
    beta.p[1] = ir_subtract(b, ladder(b, ex_plus(b, eta, 0.5 * (double)(n - 2)), n, 0), offset);
    if (!beta.p[0] || !beta.p[1]) return NULL;
    beta.t = beta.p[0]->type;
    ir_value *y = dist_beta.draw(&beta, false);
    a->b = lazy_begin(a->src);
    xt_tensor u = xt_tril_at(a->src, of(a, dist_normals(a)), -1);
    xt_tensor size = xt_sum_axes_at(a->src, xt_mul_at(a->src, u, u), XT_LIST(-1),
                                    (xt_reduce_opts){.struct_size = sizeof(xt_reduce_opts), .keepdim = true});
    xt_tensor length = xt_sqrt_at(a->src, xt_div_at(a->src, xt_unsqueeze_at(a->src, of(a, y), -1), size));
    length = xt_where_at(a->src, xt_eq_at(a->src, size, xt_full_like_at(a->src, size, 0)),
                         xt_full_like_at(a->src, size, 0), length);
    xt_tensor w = xt_mul_at(a->src, u, length);
    ir_value *below = taken(a, sum(a, xt_mul_at(a->src, w, w), 1));
    b = a->b;
    ir_value *rest = ir_maximum(b, ex_plus(b, ir_negate(b, below), 1), ex_num(b, below, 0x1p-126));
    xt_tensor diagonal = xt_diag_embed_at(a->src, of(a, ir_sqrt(b, rest)), 0, -2, -1);
    return taken(a, xt_add_at(a->src, w, diagonal));
}
static ir_value *lkj_log_prob(dist_args *a, ir_value *x) {
    int64_t n = side_of(a->p[0]);
    double less = (double)(n - 1);
    ir_builder *b = a->b;
    int64_t rank = x ? x->type->rank : 0;
    ir_value *eta = corner(a), *d = x ? ops_diagonal(b, x, rank - 2, rank - 1, 0) : NULL;
    ir_value *order = ladder(b, ex_plus(b, ex_times(b, eta, 2), (double)n - 3), n, 1); /* of row i = 0: not counted */
    int64_t last = d ? (int64_t)d->type->rank - 1 : 0;
    order = order ? ex_plus(b, ops_part(b, order, last, 1, n), 0) : NULL;
    ir_value *logs = d ? ir_log(b, ops_part(b, d, last, 1, n)) : NULL;
    ir_value *l = dist_sum_last(b, ir_multiply(b, order, logs), 1), *alpha = ex_plus(b, eta, 0.5 * less);
    ir_value *norm = multi_lgamma(b, ex_plus(b, alpha, -0.5), n - 1);
    norm = ex_plus(b, ir_subtract(b, norm, ex_times(b, ir_chlo_lgamma(b, alpha), less)), 0.5 * less * log(M_PI));
    return ir_subtract(b, l, norm);
}
const dist_kind dist_lkj_cholesky = {.name = "LKJCholesky",
                                     .n_params = 1,
                                     .dims = {2},
                                     .event = 2,
                                     .support = DIST_OWN,
                                     .draw = lkj_draw,
                                     .log_prob = lkj_log_prob};
