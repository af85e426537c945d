/* Linear algebra made of products and factorisations (names.h). */
#include <float.h>
#include <math.h>

#include <xtrain/names.h>

#include "ops/optional.h"

static const xt_list LAST = {1, {-1}}, LAST_TWO = {2, {-2, -1}};

/* A matrix [...,m,n] of floats; false after an error, which is *out. */
static bool matrix(const xt_src *src, const char *what, xt_tensor a, xt_tensor *out) {
    const ir_type *t = lazy_type(a);
    ops_text text;
    *out = a;
    if (!t) return false;
    if (t->rank >= 2 && (ir_dtype_is_float(t->dtype) || ir_dtype_is_complex(t->dtype))) return true;
    *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: a is %s %s: floats [...,m,n] are needed", what,
                      xt_dtype_name(t->dtype), ops_shape(t, &text));
    return false;
}

xt_tensor xt_inner_at(const xt_src *src, xt_tensor x, xt_tensor y) {
    if (xt_rank_of(x) == 0 || xt_rank_of(y) == 0) return xt_mul_at(src, x, y);
    return xt_tensordot_at(src, x, y, LAST, LAST);
}

xt_tensor xt_vecdot_at(const xt_src *src, xt_tensor x, xt_tensor y, int axis) {
    const ir_type *t = lazy_type(x);
    if (t && ir_dtype_is_complex(t->dtype)) x = xt_conj_at(src, x);
    return xt_sum_axes_at(src, xt_mul_at(src, x, y), (xt_list){1, {axis}}, XT_OPTS(xt_reduce_opts, ));
}

static xt_tensor weighted(const xt_src *src, xt_tensor c, xt_tensor product, double beta, double alpha) {
    product = ops_by_alpha(src, product, alpha);
    return xt_add_at(src, ops_by_beta(src, c, beta), product);
}

xt_tensor xt_addmv_at(const xt_src *src, xt_tensor c, xt_tensor a, xt_tensor x, double beta, double alpha) {
    return weighted(src, c, xt_mv_at(src, a, x), beta, alpha);
}

xt_tensor xt_addr_at(const xt_src *src, xt_tensor c, xt_tensor x, xt_tensor y, double beta, double alpha) {
    return weighted(src, c, xt_outer_at(src, x, y), beta, alpha);
}

/* --- a chain of products, cut where that takes the fewest multiplications --- */
enum { MOST_FACTORS = 32 };

static xt_tensor chain(const xt_src *src, const xt_tensor *x, const int (*cut)[MOST_FACTORS], int from, int to) {
    if (from == to) return x[from];
    int k = cut[from][to];
    return xt_matmul_at(src, chain(src, x, cut, from, k), chain(src, x, cut, k + 1, to));
}

static void find_cuts(int n, const int64_t *sizes, int (*cut)[MOST_FACTORS]) {
    double cost[MOST_FACTORS][MOST_FACTORS];
    for (int i = 0; i < n; i++) cost[i][i] = 0;
    for (int width = 1; width < n; width++)
        for (int i = 0, j = width; j < n; i++, j++) {
            cost[i][j] = HUGE_VAL;
            for (int k = i; k < j; k++) {
                double c = cost[i][k] + cost[k + 1][j] + (double)sizes[i] * (double)sizes[k + 1] * (double)sizes[j + 1];
                if (c < cost[i][j]) cost[i][j] = c, cut[i][j] = k;
            }
        }
}

xt_tensor xt_multi_dot_at(const xt_src *src, int n, const xt_tensor *tensors) {
    xt_tensor x[MOST_FACTORS];
    int64_t sizes[MOST_FACTORS + 1];
    int cut[MOST_FACTORS][MOST_FACTORS] = {{0}};
    ops_text text;
    if (n < 2 || n > MOST_FACTORS || !tensors)
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_multi_dot: %d tensors: expected 2 to %d", n, MOST_FACTORS);
    bool row = xt_rank_of(tensors[0]) == 1, column = xt_rank_of(tensors[n - 1]) == 1;
    for (int i = 0; i < n; i++) {
        x[i] = tensors[i];
        if (i == 0 && row) x[i] = xt_unsqueeze_at(src, x[i], 0);
        if (i == n - 1 && column) x[i] = xt_unsqueeze_at(src, x[i], 1);
        const ir_type *t = lazy_type(x[i]);
        if (!t) return lazy_failed_tensor(src);
        if (t->rank != 2 || (i && t->dims[0] != sizes[i]))
            return lazy_error(
                src, XT_INVALID_ARGUMENT,
                "xt_multi_dot: tensor %d is %s: expected matrices whose sizes meet (the first and the last "
                "may be vectors)",
                i, ops_shape(t, &text));
        sizes[i] = t->dims[0];
        sizes[i + 1] = t->dims[1];
    }
    find_cuts(n, sizes, cut);
    xt_tensor y = chain(src, x, cut, 0, n - 1);
    if (column) y = xt_squeeze_at(src, y, -1);
    return row ? xt_squeeze_at(src, y, 0) : y;
}

/* --- by factors --- */
xt_tensor xt_cholesky_inverse_at(const xt_src *src, xt_tensor l, bool upper) {
    xt_tensor bad;
    if (!matrix(src, "xt_cholesky_inverse", l, &bad)) return bad;
    const ir_type *t = lazy_type(l);
    xt_tensor eye = xt_eye_at(src, t->dims[t->rank - 1], 0, t->dtype);
    int64_t dims[XT_MAX_RANK + 1] = {0};
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    return xt_cholesky_solve_at(src, t->rank > 2 ? xt_broadcast_to_at(src, eye, dims) : eye, l, upper);
}

/* The singular values that count: bool [...,k]. PyTorch's threshold: eps times the larger size, of the largest. */
static xt_tensor counting(const xt_src *src, const ir_type *t, xt_tensor s, double rcond) {
    int64_t m = t->dims[t->rank - 2], n = t->dims[t->rank - 1];
    bool wide = t->dtype == XT_F64 || t->dtype == XT_C128;
    if (rcond < 0) rcond = (double)(m > n ? m : n) * (wide ? DBL_EPSILON : FLT_EPSILON);
    xt_tensor most = xt_amax_axes_at(src, s, LAST, (xt_reduce_opts){.keepdim = true});
    return xt_gt_at(src, s, xt_mul_scalar_at(src, most, rcond));
}

xt_tensor xt_pinverse_at(const xt_src *src, xt_tensor a, double rcond) {
    xt_tensor bad, u, s, vh;
    if (!matrix(src, "xt_pinverse", a, &bad)) return bad;
    xt_linalg_svd_at(src, a, (xt_svd_opts){.full_matrices = XT_OFF}, &u, &s, &vh);
    xt_tensor ok = counting(src, lazy_type(a), xt_detach_at(src, s), rcond), one = xt_full_like_at(src, s, 1);
    xt_tensor inverse = xt_div_at(src, xt_cast_at(src, ok, xt_dtype_of(s)), xt_where_at(src, ok, s, one));
    return xt_matmul_at(src, xt_mul_at(src, xt_adjoint_at(src, vh), xt_unsqueeze_at(src, inverse, -2)),
                        xt_adjoint_at(src, u));
}

xt_tensor xt_matrix_rank_at(const xt_src *src, xt_tensor a, double rcond) {
    xt_tensor bad;
    if (!matrix(src, "xt_matrix_rank", a, &bad)) return bad;
    xt_tensor ok = counting(src, lazy_type(a), xt_linalg_svdvals_at(src, a), rcond);
    return xt_sum_axes_at(src, xt_cast_at(src, ok, XT_I64), LAST, XT_OPTS(xt_reduce_opts, ));
}

xt_tensor xt_lstsq_at(const xt_src *src, xt_tensor a, xt_tensor y) {
    xt_tensor bad, q, r;
    ops_text text;
    if (!matrix(src, "xt_lstsq", a, &bad) || !matrix(src, "xt_lstsq", y, &bad)) return bad;
    const ir_type *t = lazy_type(a);
    if (t->dims[t->rank - 2] < t->dims[t->rank - 1])
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_lstsq: a is %s, with fewer rows than columns: xt_matmul(xt_pinverse(a), y) gives the "
                          "shortest solution",
                          ops_shape(t, &text));
    xt_linalg_qr_at(src, a, XT_OPTS(xt_qr_opts, ), &q, &r);
    return xt_triangular_solve_at(src, r, xt_matmul_at(src, xt_adjoint_at(src, q), y),
                                  (xt_triangular_opts){.upper = true});
}

xt_tensor xt_matrix_norm_at(const xt_src *src, xt_tensor a, double ord) {
    xt_tensor bad;
    xt_reduce_opts none = XT_OPTS(xt_reduce_opts, );
    if (!matrix(src, "xt_matrix_norm", a, &bad)) return bad;
    if (ord == 'f') return xt_norm_axes_at(src, a, LAST_TWO, XT_OPTS(xt_vector_norm_opts, ));
    if (ord == 'n') return xt_sum_axes_at(src, xt_linalg_svdvals_at(src, a), LAST, none);
    bool least = ord < 0, rows = isinf(ord);
    if (fabs(ord) != 1 && fabs(ord) != 2 && !rows)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_matrix_norm: ord is %g: expected 'f', 'n', 1, -1, 2, -2, INFINITY or -INFINITY", ord);
    xt_tensor sums = fabs(ord) == 2 ? xt_linalg_svdvals_at(src, a)
                                    : xt_sum_axes_at(src, xt_abs_at(src, a), (xt_list){1, {rows ? -1 : -2}}, none);
    return least ? xt_amin_axes_at(src, sums, LAST, none) : xt_amax_axes_at(src, sums, LAST, none);
}

xt_tensor xt_linalg_norm_at(const xt_src *src, xt_tensor x, double ord, xt_list axes, xt_reduce_opts o) {
    const ir_type *t = lazy_type(x);
    if (!t) return x;
    size_t rank = t->rank, n = axes.n ? (size_t)axes.n : rank;
    if (n != 1 && n != 2)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_linalg_norm: ord is %g, for %zu axes: expected one axis (a vector) or two (a matrix), as "
                          "xt_linalg_norm(x, ord, XT_AXES(-2, -1)); xt_linalg_norm(x) is of all elements",
                          ord, n);
    if (n == 1) {
        xt_vector_norm_opts v = XT_OPTS(xt_vector_norm_opts, .p = ord, .zero = ord == 0);
        v.keepdim = o.keepdim;
        return xt_norm_axes_at(src, x, axes, v);
    }
    if (axes.n) x = xt_movedim_at(src, x, axes, LAST_TWO);
    xt_tensor y = xt_matrix_norm_at(src, x, ord);
    if (!o.keepdim) return y;
    y = xt_unsqueeze_at(src, xt_unsqueeze_at(src, y, -1), -1);
    return axes.n ? xt_movedim_at(src, y, LAST_TWO, axes) : y;
}

xt_tensor xt_pdist_at(const xt_src *src, xt_tensor x, double p) {
    const ir_type *t = lazy_type(x);
    ops_text text;
    if (!t) return x;
    if (t->rank != 2)
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_pdist: x is %s: expected [n,d]", ops_shape(t, &text));
    /* of the pairs alone: a distance of a row to itself has no slope */
    xt_tensor pairs = xt_triu_indices_at(src, t->dims[0], t->dims[0], 1);
    xt_tensor a = xt_index_select_at(src, x, 0, xt_select_at(src, pairs, 0, 0));
    xt_tensor b = xt_index_select_at(src, x, 0, xt_select_at(src, pairs, 0, 1));
    return xt_norm_axes_at(src, xt_sub__at(src, a, b), LAST, XT_OPTS(xt_vector_norm_opts, .p = p, .zero = p == 0));
}
