/* Products of matrices under their PyTorch names, factorisations and what is solved with them. Batch dims come first,
 * matrices are the last two.
 *
 * General systems of at most SOLVE_LIMIT rows are solved by Gauss-Jordan elimination with partial pivoting (Golub and
 * Van Loan, Matrix Computations, 3.4), recorded step by step: every device can run that, every derivative is that of
 * the steps, and a program grows with the matrix. Larger ones go through LU, a custom call (factor.c). */
#include <math.h>

#include "ops/expr.h"
#include "ops/factor.h"
#include "ops/number.h"
#include "ops/optional.h"

enum { SOLVE_LIMIT = 64 };

/* --- products --- */
static bool ranks(const xt_src *src, const char *what, xt_tensor x, xt_tensor y, uint32_t rank_x, uint32_t rank_y,
                  xt_tensor *out) {
    const ir_type *tx = lazy_type(x), *ty = lazy_type(y);
    ops_text sx, sy;
    if (!tx || !ty || (tx->rank == rank_x && ty->rank == rank_y)) return true;
    *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: x %s and y %s: %u and %u dims are needed; xt_matmul takes others",
                      what, ops_shape(tx, &sx), ops_shape(ty, &sy), rank_x, rank_y);
    return false;
}
/* A product of fixed ranks whose inner sizes agree; batches must be equal. */
static xt_tensor product(const xt_src *src, const char *what, xt_tensor x, xt_tensor y, uint32_t rank_x,
                         uint32_t rank_y) {
    xt_tensor failed;
    const ir_type *tx = lazy_type(x), *ty = lazy_type(y);
    ops_text sx, sy;
    if (!ranks(src, what, x, y, rank_x, rank_y, &failed)) return failed;
    if (tx && ty) {
        int64_t inner_x = tx->dims[rank_x - 1], inner_y = ty->dims[rank_y == 1 ? 0 : rank_y - 2];
        if (inner_x != inner_y || (rank_x == 3 && rank_y == 3 && tx->dims[0] != ty->dims[0]))
            return lazy_error(src, XT_INVALID_ARGUMENT, "%s: x %s and y %s: inner sizes%s must be equal", what,
                              ops_shape(tx, &sx), ops_shape(ty, &sy), rank_x == 3 ? " and batches" : "");
    }
    return xt_matmul_at(src, x, y);
}
xt_tensor xt_mm_at(const xt_src *src, xt_tensor x, xt_tensor y) {
    return product(src, "xt_mm", x, y, 2, 2);
}
xt_tensor xt_bmm_at(const xt_src *src, xt_tensor x, xt_tensor y) {
    return product(src, "xt_bmm", x, y, 3, 3);
}
xt_tensor xt_mv_at(const xt_src *src, xt_tensor x, xt_tensor y) {
    return product(src, "xt_mv", x, y, 2, 1);
}
xt_tensor xt_dot_at(const xt_src *src, xt_tensor x, xt_tensor y) {
    return product(src, "xt_dot", x, y, 1, 1);
}
xt_tensor xt_outer_at(const xt_src *src, xt_tensor x, xt_tensor y) {
    xt_tensor failed;
    if (!ranks(src, "xt_outer", x, y, 1, 1, &failed)) return failed;
    return xt_mul_at(src, xt_unsqueeze_at(src, x, 1), y);
}

static xt_tensor scaled(const xt_src *src, const char *what, xt_tensor x, double v, bool ends_at_0) {
    const ir_type *t = lazy_type(x);
    xt_tensor failed;
    if (!t) return x;
    xt_dtype d = ops_beside_number(t->dtype, v);
    if (!ops_number_fits(src, what, d, v, true, &failed)) return failed;
    ex_number n = ex_given(src, what, d, v);
    if (ex_always(n, 1)) return x;
    ir_builder *b = lazy_begin(src);
    ir_value *a = ir_convert(b, lazy_value(x), d), *k = ex_of(b, a, n), *y = a && k ? ir_multiply(b, a, k) : NULL;
    if (ends_at_0 && (n.data || v == 0) && y) y = ex_keep(b, ex_is(b, k, IR_NE, 0), y, 0);
    return lazy_wrap(y, what);
}
xt_tensor ops_by_alpha(const xt_src *src, xt_tensor x, double alpha) {
    return scaled(src, "alpha", x, alpha, false);
}
xt_tensor ops_by_beta(const xt_src *src, xt_tensor c, double beta) {
    return scaled(src, "beta", c, beta, true);
}

/* beta c + alpha x y. */
static xt_tensor add_product(const xt_src *src, const char *what, xt_tensor c, xt_tensor x, xt_tensor y, uint32_t rank,
                             xt_addmm_opts o) {
    xt_tensor p = product(src, what, x, y, rank, rank);
    const ir_type *tc = lazy_type(c), *tp = lazy_type(p);
    size_t n, bad;
    int64_t dims[XT_MAX_RANK];
    ops_text sc, sp;
    if (tc && tp &&
        (!ops_common_dims(tc, tp, &n, dims, &bad) || n != tp->rank || memcmp(dims, tp->dims, n * sizeof *dims)))
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: the input %s does not broadcast to the product %s", what,
                          ops_shape(tc, &sc), ops_shape(tp, &sp));
    p = ops_by_alpha(src, p, o.alpha);
    if (o.no_input) return p;
    return xt_add_at(src, ops_by_beta(src, c, o.beta), p);
}
xt_tensor xt_addmm_at(const xt_src *src, xt_tensor c, xt_tensor x, xt_tensor y, xt_addmm_opts o) {
    return add_product(src, "xt_addmm", c, x, y, 2, o);
}
xt_tensor xt_baddbmm_at(const xt_src *src, xt_tensor c, xt_tensor x, xt_tensor y, xt_addmm_opts o) {
    return add_product(src, "xt_baddbmm", c, x, y, 3, o);
}

/* Every element of x times all of y: [a b], [c d] -> [a c, b d]. */
xt_tensor xt_kron_at(const xt_src *src, xt_tensor x, xt_tensor y) {
    ir_builder *b = lazy_begin(src);
    ir_value *vx = lazy_value(x), *vy = lazy_value(y);
    if (!vx || !vy) return lazy_wrap(NULL, "xt_kron");
    size_t rx = vx->type->rank, ry = vy->type->rank, rank = rx > ry ? rx : ry;
    int64_t dx[2 * XT_MAX_RANK], dy[2 * XT_MAX_RANK], both[2 * XT_MAX_RANK], dims[XT_MAX_RANK];
    for (size_t i = 0; i < rank; i++) {
        int64_t nx = i + rx >= rank ? vx->type->dims[i + rx - rank] : 1,
                ny = i + ry >= rank ? vy->type->dims[i + ry - rank] : 1;
        dx[2 * i] = both[2 * i] = nx;
        dy[2 * i + 1] = both[2 * i + 1] = ny;
        dx[2 * i + 1] = dy[2 * i] = 1;
        if (__builtin_mul_overflow(nx, ny, &dims[i]))
            return lazy_error(src, XT_INVALID_ARGUMENT, "xt_kron: the result is too large");
    }
    int64_t axes[2 * XT_MAX_RANK];
    for (size_t i = 0; i < 2 * rank; i++) axes[i] = (int64_t)i;
    xt_dtype t = ops_promote(vx->type, vy->type);
    ir_value *wx = ir_reshape(b, ir_convert(b, vx, t), 2 * rank, dx),
             *wy = ir_reshape(b, ir_convert(b, vy, t), 2 * rank, dy);
    if (!wx || !wy) return lazy_wrap(NULL, "xt_kron");
    const ir_type *wide = ir_tensor(t, 2 * rank, both);
    ir_value *p = ir_multiply(b, ir_broadcast_in_dim(b, wx, wide, 2 * rank, axes),
                              ir_broadcast_in_dim(b, wy, wide, 2 * rank, axes));
    return lazy_wrap(p ? ir_reshape(b, p, rank, dims) : NULL, "xt_kron");
}

/* Of vectors along an axis of size 3. */
xt_tensor xt_cross_at(const xt_src *src, xt_tensor x, xt_tensor y, int axis) {
    ir_builder *b = lazy_begin(src);
    ir_value *vx = lazy_value(x), *vy = lazy_value(y);
    int64_t a;
    xt_tensor failed;
    ops_text shape;
    if (!ops_meet(src, "xt_cross", b, XT_DTYPE_NONE, &vx, &vy, &failed)) return failed;
    if (!vx || !vy) return lazy_wrap(NULL, "xt_cross");
    if (!ops_axis(src, "xt_cross", vx->type, axis, &a, &failed)) return failed;
    if (vx->type->dims[a] != 3)
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_cross: axis %lld of %s: 3 elements are needed there",
                          (long long)a, ops_shape(vx->type, &shape));
    ir_value *px[3], *py[3], *r[3];
    for (int i = 0; i < 3; i++) {
        px[i] = ops_part(b, vx, a, i, i + 1);
        py[i] = ops_part(b, vy, a, i, i + 1);
    }
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        r[i] = ir_subtract(b, ir_multiply(b, px[j], py[k]), ir_multiply(b, px[k], py[j]));
        if (!r[i]) return lazy_wrap(NULL, "xt_cross");
    }
    return lazy_wrap(ir_concatenate(b, 3, r, a), "xt_cross");
}

/* Distances between the rows of x and those of y. */
xt_tensor xt_cdist_at(const xt_src *src, xt_tensor x, xt_tensor y, double p) {
    const ir_type *tx = lazy_type(x), *ty = lazy_type(y);
    ops_text sx, sy;
    if (!(p >= 0))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_cdist: p is %g: it must be 0 or above (0: how many differ; INFINITY: the largest "
                          "difference)",
                          p);
    if (tx && ty &&
        (tx->rank < 2 || ty->rank < 2 || tx->dims[tx->rank - 1] != ty->dims[ty->rank - 1] || tx->rank == XT_MAX_RANK ||
         ty->rank == XT_MAX_RANK))
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_cdist: x %s and y %s: [...,rows,n] with the same n is needed",
                          ops_shape(tx, &sx), ops_shape(ty, &sy));
    xt_tensor d = xt_sub__at(src, xt_unsqueeze_at(src, x, -2), xt_unsqueeze_at(src, y, -3));
    return xt_norm_axes_at(src, d, (xt_list){1, {-1}}, XT_OPTS(xt_vector_norm_opts, .p = p, .zero = p == 0));
}

/* --- triangular and symmetric --- */
static bool is_square(const xt_src *src, const char *what, const ir_type *t, xt_tensor *out) {
    ops_text shape;
    if (t->rank >= 2 && t->dims[t->rank - 1] == t->dims[t->rank - 2] &&
        (ir_dtype_is_float(t->dtype) || ir_dtype_is_complex(t->dtype)))
        return true;
    *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: %s %s: square matrices of floats are needed", what,
                      xt_dtype_name(t->dtype), ops_shape(t, &shape));
    return false;
}

/* The lower factor, its upper triangle zero; upper: the transposed one. Reads one triangle only. NaN where the matrix
 * is not positive definite. */
xt_tensor xt_cholesky_at(const xt_src *src, xt_tensor x, bool upper) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, "xt_cholesky");
    if (!is_square(src, "xt_cholesky", v->type, &failed)) return failed;
    ir_attr lower = ir_attr_bool(IR_A_lower, true);
    ir_op *op = ir_build(b, OP_cholesky, 1, &v, 1, &lower, 0, NULL, 0, NULL);
    xt_tensor l = xt_tril_at(src, lazy_wrap(op ? &op->out[0] : NULL, "xt_cholesky"), 0);
    return upper ? xt_transpose_at(src, l, -1, -2) : l;
}

/* Brings the batch dims of a and c together. False after an error. */
static bool meet_systems(const xt_src *src, const char *what, ir_builder *b, ir_value **a, ir_value **c, bool left,
                         xt_tensor *out) {
    const ir_type *ta = (*a)->type, *tc = (*c)->type;
    ops_text sa, sc;
    size_t rank = 0, bad;
    int64_t dims[XT_MAX_RANK + 2];
    bool fits = tc->rank >= 2 && ta->dims[ta->rank - 1] == tc->dims[tc->rank - (left ? 2 : 1)] &&
                ops_common_dims(ir_tensor(XT_F32, ta->rank - 2, ta->dims), ir_tensor(XT_F32, tc->rank - 2, tc->dims),
                                &rank, dims, &bad);
    if (!fits) {
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: a %s and right side %s: [...,n,n] and [...,%s] are needed",
                          what, ops_shape(ta, &sa), ops_shape(tc, &sc), left ? "n,k" : "k,n");
        return false;
    }
    xt_dtype t = ops_promote(ta, tc);
    memcpy(dims + rank, ta->dims + ta->rank - 2, 2 * sizeof *dims);
    *a = ops_broadcast(b, ir_convert(b, *a, t), rank + 2, dims);
    memcpy(dims + rank, tc->dims + tc->rank - 2, 2 * sizeof *dims);
    *c = ops_broadcast(b, ir_convert(b, *c, t), rank + 2, dims);
    if (*a && *c) return true;
    *out = lazy_wrap(NULL, what);
    return false;
}

static ir_value *triangular(ir_builder *b, ir_value *a, ir_value *c, bool upper, bool transpose, bool unit, bool left) {
    if (!a || !c) return NULL;
    ir_attr attrs[] = {ir_attr_bool(IR_A_left_side, left), ir_attr_bool(IR_A_lower, !upper),
                       ir_attr_bool(IR_A_unit_diagonal, unit),
                       ir_attr_enum(IR_A_transpose_a, transpose ? IR_TRANSPOSE : IR_NO_TRANSPOSE)};
    ir_op *op = ir_build(b, OP_triangular_solve, 2, (ir_value *[]){a, c}, BASE_COUNT(attrs), attrs, 0, NULL, 0, NULL);
    return op ? &op->out[0] : NULL;
}

xt_tensor xt_triangular_solve_at(const xt_src *src, xt_tensor a, xt_tensor y, xt_triangular_opts o) {
    const char *what = "xt_triangular_solve";
    ir_builder *b = lazy_begin(src);
    ir_value *va = lazy_value(a), *vy = lazy_value(y);
    xt_tensor failed;
    if (!va || !vy) return lazy_wrap(NULL, what);
    if (!is_square(src, what, va->type, &failed) || !meet_systems(src, what, b, &va, &vy, !o.right, &failed))
        return failed;
    return lazy_wrap(triangular(b, va, vy, o.upper, o.transpose, o.unit_diagonal, !o.right), what);
}

/* x with l l^T x = y. */
xt_tensor xt_cholesky_solve_at(const xt_src *src, xt_tensor y, xt_tensor l, bool upper) {
    const char *what = "xt_cholesky_solve";
    ir_builder *b = lazy_begin(src);
    ir_value *vl = lazy_value(l), *vy = lazy_value(y);
    xt_tensor failed;
    if (!vl || !vy) return lazy_wrap(NULL, what);
    if (!is_square(src, what, vl->type, &failed) || !meet_systems(src, what, b, &vl, &vy, true, &failed)) return failed;
    ir_value *half = triangular(b, vl, vy, upper, upper, false, true);
    return lazy_wrap(triangular(b, vl, half, upper, !upper, false, true), what);
}

/* --- general --- */
static ir_value *magnitude(ir_builder *b, ir_value *x) {
    ir_value *m = ir_abs(b, x);
    lazy_no_grad_value(m);
    return m;
}

/* Column k of m at m's own shape. */
static ir_value *column(ir_builder *b, ir_value *m, int64_t k) {
    ir_value *c = ops_part(b, m, (int64_t)m->type->rank - 1, k, k + 1);
    return c ? ops_broadcast(b, c, m->type->rank, m->type->dims) : NULL;
}
/* A row [..., 1, w] at m's shape. */
static ir_value *rows_of(ir_builder *b, ir_value *row, const ir_value *m) {
    return row ? ops_broadcast(b, row, m->type->rank, m->type->dims) : NULL;
}

/* One elimination step on m [..., n, w]: the row with the largest element of column k at or below row k comes to row k,
 * is divided by that element (jordan), and column k is cleared in the other rows (jordan: in all, else below). *sign
 * flips where rows were exchanged; *pivot is the element. */
static ir_value *eliminate(ir_builder *b, ir_value *m, int64_t k, bool jordan, ir_value **pivot, ir_value **exchanged) {
    int64_t rank = m->type->rank, row_axis = rank - 2, column_axis = rank - 1;
    ir_value *row = ir_iota(b, ir_with_dtype(m->type, XT_I32), row_axis);
    ir_value *candidates = ops_part(b, m, column_axis, k, k + 1);
    ir_value *at = candidates ? ir_iota(b, ir_with_dtype(candidates->type, XT_I32), row_axis) : NULL;
    ir_value *size = candidates ? ex_keep(b, ex_is(b, at, IR_GE, (double)k), magnitude(b, candidates), -1) : NULL;
    ir_value *best = size ? ops_arg_extreme(b, size, row_axis, false) : NULL; /* [..., 1] */
    best = best ? ops_unsqueeze(b, best, row_axis) : NULL;
    *exchanged = best ? ex_is(b, best, IR_NE, (double)k) : NULL; /* [..., 1, 1] */
    ir_value *is_best = best ? ir_compare(b, IR_EQ, row, rows_of(b, best, m)) : NULL,
             *is_k = ex_is(b, row, IR_EQ, (double)k);
    ir_value *picked = is_best ? ir_reduce(b, OP_add, ex_keep(b, is_best, m, 0), 1, &row_axis) : NULL;
    ir_value *chosen = picked ? ops_unsqueeze(b, picked, row_axis) : NULL, *own = ops_part(b, m, row_axis, k, k + 1);
    ir_value *swapped = ex_pick(b, is_k, rows_of(b, chosen, m), ex_pick(b, is_best, rows_of(b, own, m), m));
    *pivot = chosen ? ops_part(b, chosen, column_axis, k, k + 1) : NULL;
    if (!swapped || !*pivot) return NULL;
    ir_value *scaled = ir_divide(b, chosen, ops_broadcast(b, *pivot, (size_t)rank, chosen->type->dims));
    ir_value *cleared = ir_subtract(b, swapped, ir_multiply(b, column(b, swapped, k), rows_of(b, scaled, m)));
    if (jordan) return ex_pick(b, is_k, rows_of(b, scaled, m), cleared);
    return ex_pick(b, ex_is(b, row, IR_GT, (double)k), cleared, swapped);
}

static bool is_real(const xt_src *src, const char *what, const ir_type *t, xt_tensor *out) {
    ops_text shape;
    if (t->dims[t->rank - 1] > 0 && ir_dtype_is_float(t->dtype)) return true;
    *out = lazy_error(src, XT_UNIMPLEMENTED, "%s: %s %s: real matrices of at least one row are needed", what,
                      xt_dtype_name(t->dtype), ops_shape(t, &shape));
    return false;
}
static bool is_large(const ir_value *a) {
    return a->type->dims[a->type->rank - 1] > SOLVE_LIMIT;
}

static ir_value *in_f32(ir_builder *b, ir_value *x) {
    return x && xt_dtype_size(x->type->dtype) < 4 ? ir_convert(b, x, XT_F32) : x;
}

static ir_value *solve(ir_builder *b, ir_value *a, ir_value *y) {
    xt_dtype t = a->type->dtype;
    int64_t n = a->type->dims[a->type->rank - 1], last = (int64_t)a->type->rank - 1, k = y->type->dims[last];
    ir_value *pair[2] = {in_f32(b, a), in_f32(b, y)};
    if (is_large(a)) {
        ops_lu f = ops_lu_of(b, pair[0]);
        ir_value *x = ops_lu_solve(b, &f, pair[1]);
        return x ? ir_convert(b, x, t) : NULL;
    }
    ir_value *m = pair[0] && pair[1] ? ir_concatenate(b, 2, pair, last) : NULL, *pivot, *exchanged;
    for (int64_t i = 0; i < n && m; i++) m = eliminate(b, m, i, true, &pivot, &exchanged);
    m = m ? ops_part(b, m, last, n, n + k) : NULL;
    return m ? ir_convert(b, m, t) : NULL;
}

/* y: [...,n,k], or [n] for one right side. */
xt_tensor xt_solve_at(const xt_src *src, xt_tensor a, xt_tensor y) {
    const ir_type *ty = lazy_type(y);
    if (ty && ty->rank == 1) return xt_squeeze_at(src, xt_solve_at(src, a, xt_unsqueeze_at(src, y, 1)), -1);
    ir_builder *b = lazy_begin(src);
    ir_value *va = lazy_value(a), *vy = lazy_value(y);
    xt_tensor failed;
    if (!va || !vy) return lazy_wrap(NULL, "xt_solve");
    if (!is_square(src, "xt_solve", va->type, &failed) || !is_real(src, "xt_solve", va->type, &failed) ||
        !meet_systems(src, "xt_solve", b, &va, &vy, true, &failed))
        return failed;
    return lazy_wrap(solve(b, va, vy), "xt_solve");
}

static ir_value *identity(ir_builder *b, const ir_type *t) {
    const ir_type *index = ir_with_dtype(t, XT_I32);
    ir_value *on =
        ir_compare(b, IR_EQ, ir_iota(b, index, (int64_t)t->rank - 2), ir_iota(b, index, (int64_t)t->rank - 1));
    return on ? ir_convert(b, on, t->dtype) : NULL;
}

xt_tensor xt_inverse_at(const xt_src *src, xt_tensor a) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(a);
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, "xt_inverse");
    if (!is_square(src, "xt_inverse", v->type, &failed) || !is_real(src, "xt_inverse", v->type, &failed)) return failed;
    ir_value *one = identity(b, v->type);
    return lazy_wrap(one ? solve(b, v, one) : NULL, "xt_inverse");
}

/* By LU: pivots [...,1,n], and the sign of the exchanges [...,1,1]. */
static bool large_pivots(ir_builder *b, ir_value *m, ir_value **sign, ir_value **pivots) {
    ops_lu f = ops_lu_of(b, m);
    if (!f.packed) return false;
    int64_t rank = m->type->rank, last = rank - 2;
    *pivots = ops_diagonal(b, f.packed, rank - 2, rank - 1, 0);
    ir_value *same = *pivots ? ir_compare(b, IR_EQ, f.pivots, ir_iota(b, f.pivots->type, last)) : NULL;
    ir_value *each = same ? ex_pick(b, same, ex_num(b, *pivots, 1), ex_num(b, *pivots, -1)) : NULL;
    ir_value *s = each ? ir_reduce(b, OP_multiply, each, 1, &last) : NULL;
    *sign = s ? ops_unsqueeze(b, ops_unsqueeze(b, s, last), last) : NULL;
    *pivots = *pivots ? ops_unsqueeze(b, *pivots, last) : NULL;
    return *sign && *pivots;
}
/* The product of the pivots; its sign and the logarithm of its size apart, or both together. */
static bool determinant(const xt_src *src, const char *what, ir_builder *b, ir_value *a, ir_value **sign,
                        ir_value **pivots, xt_tensor *out) {
    if (!is_square(src, what, a->type, out) || !is_real(src, what, a->type, out)) return false;
    int64_t rank = a->type->rank, n = a->type->dims[rank - 1];
    ir_value *m = in_f32(b, a), *pivot, *exchanged, *p[SOLVE_LIMIT];
    *sign = NULL;
    if (is_large(a)) {
        if (!large_pivots(b, m, sign, pivots)) *out = lazy_wrap(NULL, what);
        return *sign && *pivots;
    }
    for (int64_t i = 0; i < n && m; i++) {
        m = eliminate(b, m, i, false, &p[i], &exchanged);
        pivot = p[i];
        ir_value *flip = m ? ex_pick(b, exchanged, ex_num(b, pivot, -1), ex_num(b, pivot, 1)) : NULL;
        *sign = *sign ? ir_multiply(b, *sign, flip) : flip;
    }
    *pivots = m ? (n == 1 ? p[0] : ir_concatenate(b, (size_t)n, p, rank - 1)) : NULL; /* [...,1,n] */
    if (*pivots && *sign) return true;
    *out = lazy_wrap(NULL, what);
    return false;
}
static ir_value *without_last_two(ir_builder *b, ir_value *x) {
    return x ? ir_reshape(b, x, x->type->rank - 2, x->type->dims) : NULL;
}

xt_tensor xt_det_at(const xt_src *src, xt_tensor a) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(a), *sign, *pivots;
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, "xt_det");
    if (!determinant(src, "xt_det", b, v, &sign, &pivots, &failed)) return failed;
    int64_t last = (int64_t)pivots->type->rank - 1;
    ir_value *size = ir_reduce(b, OP_multiply, pivots, 1, &last);
    ir_value *d = ir_multiply(b, size ? ops_unsqueeze(b, size, last) : NULL, sign);
    return lazy_wrap(d ? ir_convert(b, without_last_two(b, d), v->type->dtype) : NULL, "xt_det");
}
void xt_slogdet_at(const xt_src *src, xt_tensor a, xt_tensor *out_sign, xt_tensor *out_logabsdet) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(a), *sign = NULL, *pivots = NULL;
    xt_tensor failed;
    if (!v) {
        *out_sign = *out_logabsdet = lazy_wrap(NULL, "xt_slogdet");
        return;
    }
    if (!determinant(src, "xt_slogdet", b, v, &sign, &pivots, &failed)) {
        *out_sign = *out_logabsdet = failed;
        return;
    }
    int64_t last = (int64_t)pivots->type->rank - 1;
    ir_value *signs = ir_reduce(b, OP_multiply, ir_sign(b, pivots), 1, &last),
             *logs = ir_reduce(b, OP_add, ir_log(b, ir_abs(b, pivots)), 1, &last);
    ir_value *s = without_last_two(b, ir_multiply(b, signs ? ops_unsqueeze(b, signs, last) : NULL, sign));
    ir_value *l = logs ? without_last_two(b, ops_unsqueeze(b, logs, last)) : NULL;
    *out_sign = lazy_wrap(s ? ir_convert(b, s, v->type->dtype) : NULL, "xt_slogdet");
    *out_logabsdet = lazy_wrap(l ? ir_convert(b, l, v->type->dtype) : NULL, "xt_slogdet");
}
/* NaN where the determinant is negative. */
xt_tensor xt_logdet_at(const xt_src *src, xt_tensor a) {
    return xt_log_e_at(src, xt_det_at(src, a));
}

/* By repeated squaring. */
xt_tensor xt_matrix_power_at(const xt_src *src, xt_tensor a, int n) {
    lazy_begin(src);
    ir_value *v = lazy_value(a);
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, "xt_matrix_power");
    if (!is_square(src, "xt_matrix_power", v->type, &failed)) return failed;
    if (n == 0) {
        ir_builder *b = lazy_begin(src);
        return lazy_wrap(identity(b, v->type), "xt_matrix_power");
    }
    xt_tensor base = n < 0 ? xt_inverse_at(src, a) : a, r = {0};
    for (unsigned left = n < 0 ? 0u - (unsigned)n : (unsigned)n; left; left >>= 1) {
        if (left & 1) r = r.slot ? xt_matmul_at(src, r, base) : base;
        if (left > 1) base = xt_matmul_at(src, base, base);
    }
    return n == 1 ? xt_slice_at(src, r, 0, 0, INT64_MAX) : r;
}
