/* The rest of torch.linalg: LU with what is solved by it, eigenvalues of general matrices, products of Householder
 * reflectors, the exponential of a matrix, inverses and solutions of tensors (linalg.h). Matrices: the last two dims.
 */
#include <math.h>

#include <xtrain/linalg.h>
#include <xtrain/loop.h>
#include <xtrain/names.h>

#include "ir/config.h"
#include "ops/expr.h"
#include "ops/factor.h"

/* A matrix of floats or complex numbers, in f32 at least; NULL after an error, which is *out. */
static ir_value *matrix(const xt_src *src, const char *what, ir_builder *b, xt_tensor x, bool square, xt_tensor *out) {
    ir_value *v = lazy_value(x);
    ops_text shape;
    if (!v) return *out = lazy_wrap(NULL, what), NULL;
    const ir_type *t = v->type;
    bool fits = t->rank >= 2 && t->count > 0 && (ir_dtype_is_float(t->dtype) || ir_dtype_is_complex(t->dtype));
    if (!fits || (square && t->dims[t->rank - 1] != t->dims[t->rank - 2])) {
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: %s %s: %s of floats, [...,%s], without dims of size 0", what,
                          xt_dtype_name(t->dtype), ops_shape(t, &shape), square ? "square matrices" : "matrices",
                          square ? "n,n" : "m,n");
        return NULL;
    }
    return ops_widen(b, v);
}
static xt_tensor give(ir_builder *b, ir_value *v, xt_tensor like, const char *what) {
    const ir_type *t = lazy_type(like);
    bool narrow = t && v && ir_dtype_is_float(t->dtype) && ir_dtype_is_float(v->type->dtype);
    return lazy_wrap(narrow ? ops_narrow(b, v, t->dtype) : v, what);
}

/* --- LU --- */
void xt_linalg_lu_factor_at(const xt_src *src, xt_tensor a, xt_tensor *out_lu, xt_tensor *out_rows) {
    static const char what[] = "xt_linalg_lu_factor";
    ir_builder *b = lazy_begin(src);
    xt_tensor failed;
    ir_value *v = matrix(src, what, b, a, false, &failed);
    if (!v) {
        *out_lu = *out_rows = failed;
        return;
    }
    ops_lu f = ops_lu_of(b, v);
    *out_lu = give(b, f.packed, a, what);
    *out_rows = lazy_wrap(f.rows, what);
}
void xt_linalg_lu_at(const xt_src *src, xt_tensor a, xt_tensor *out_p, xt_tensor *out_l, xt_tensor *out_u) {
    xt_tensor packed, rows;
    xt_linalg_lu_factor_at(src, a, &packed, &rows);
    xt_linalg_lu_unpack_at(src, packed, rows, out_p, out_l, out_u);
}
static ir_value *unit_of(ir_builder *b, const ir_type *t) { /* ones on the diagonal of t's matrices */
    const ir_type *index = ir_with_dtype(t, XT_I32);
    ir_value *on =
        ir_compare(b, IR_EQ, ir_iota(b, index, (int64_t)t->rank - 2), ir_iota(b, index, (int64_t)t->rank - 1));
    return on ? ir_convert(b, on, t->dtype) : NULL;
}
void xt_linalg_lu_unpack_at(const xt_src *src, xt_tensor lu, xt_tensor rows, xt_tensor *out_p, xt_tensor *out_l,
                            xt_tensor *out_u) {
    static const char what[] = "xt_linalg_lu_unpack";
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(lu), *r = lazy_value(rows);
    ops_text sv, sr;
    *out_p = *out_l = *out_u = lazy_failed_tensor(src);
    if (!v || !r) {
        *out_p = *out_l = *out_u = lazy_wrap(NULL, what);
        return;
    }
    const ir_type *t = v->type;
    if (t->rank < 2 || r->type->rank + 1 != t->rank || r->type->dims[t->rank - 2] != t->dims[t->rank - 2]) {
        *out_p = *out_l = *out_u =
            lazy_error(src, XT_INVALID_ARGUMENT,
                       "%s: lu %s and rows %s: expected what xt_linalg_lu_factor gives, [...,m,n], [...,m]", what,
                       ops_shape(t, &sv), ops_shape(r->type, &sr));
        return;
    }
    int64_t m = t->dims[t->rank - 2], n = t->dims[t->rank - 1], k = m < n ? m : n, dims[XT_MAX_RANK];
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    dims[t->rank - 1] = m;
    const ir_type *square = ir_tensor(XT_I32, t->rank, dims);
    /* row r of P has its 1 in the column c with rows[c] == r */
    ir_value *hit =
        ir_compare(b, IR_EQ, ir_iota(b, square, (int64_t)t->rank - 2), ops_spread(b, r, square, (int64_t)t->rank - 2));
    *out_p = lazy_wrap(hit ? ir_convert(b, hit, t->dtype) : NULL, what);
    xt_tensor left = xt_tril_at(src, xt_slice_at(src, lu, -1, 0, k), -1);
    *out_u = xt_triu_at(src, xt_slice_at(src, lu, -2, 0, k), 0);
    b = lazy_begin(src);
    ir_value *l = lazy_value(left);
    *out_l = lazy_wrap(l ? ir_add(b, l, unit_of(b, l->type)) : NULL, what);
}
xt_tensor xt_linalg_lu_solve_at(const xt_src *src, xt_tensor lu, xt_tensor rows, xt_tensor y) {
    static const char what[] = "xt_linalg_lu_solve";
    ir_builder *b = lazy_begin(src);
    xt_tensor failed;
    ir_value *v = matrix(src, what, b, lu, true, &failed), *r = lazy_value(rows), *right = lazy_value(y);
    ops_text sv, sr, sy;
    if (!v) return failed;
    if (!r || !right) return lazy_wrap(NULL, what);
    const ir_type *t = v->type, *ty = right->type;
    bool fits = ty->rank == t->rank && r->type->rank + 1 == t->rank &&
                memcmp(t->dims, ty->dims, (t->rank - 1) * sizeof *t->dims) == 0 &&
                memcmp(t->dims, r->type->dims, r->type->rank * sizeof *t->dims) == 0;
    if (!fits)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: lu %s, rows %s and right side %s: expected [...,n,n], [...,n] and [...,n,k]", what,
                          ops_shape(t, &sv), ops_shape(r->type, &sr), ops_shape(ty, &sy));
    ops_lu f = {v, NULL, r};
    return give(b, ops_lu_solve(b, &f, ir_convert(b, right, t->dtype)), y, what);
}

/* --- eigenvalues of general matrices --- */
void xt_linalg_eig_at(const xt_src *src, xt_tensor a, xt_tensor *out_values, xt_tensor *out_vectors) {
    static const char what[] = "xt_linalg_eig";
    ir_builder *b = lazy_begin(src);
    xt_tensor failed;
    ir_value *v = matrix(src, what, b, a, true, &failed);
    if (!v) {
        *out_values = *out_vectors = failed;
        return;
    }
    const ir_type *t = v->type, *status = ir_tensor(XT_I32, t->rank - 2, t->dims);
    bool complex = ir_dtype_is_complex(t->dtype), wide = t->dtype == XT_F64 || t->dtype == XT_C128;
    const ir_type *vectors = ir_with_dtype(t, wide ? XT_C128 : XT_C64);
    const ir_type *values = ir_tensor(t->dtype, t->rank - 1, t->dims);
    const ir_type *types[5] = {values, values, vectors, vectors, status};
    if (complex) types[1] = vectors, types[3] = status;
    const char *target = t->dtype == XT_F32   ? "lapack_sgeev_ffi"
                         : t->dtype == XT_F64 ? "lapack_dgeev_ffi"
                         : t->dtype == XT_C64 ? "lapack_cgeev_ffi"
                                              : "lapack_zgeev_ffi";
    ir_attr attrs[] = {ir_attr_string(b, IR_A_call_target_name, target), ir_attr_int(IR_A_api_version, 4),
                       ir_attr_numbers(b, IR_A_backend_config, 2, (const char *[]){"compute_left", "compute_right"},
                                       (const int64_t[]){'N', 'V'})};
    ir_op *op = ir_build(b, OP_custom_call, 1, &v, BASE_COUNT(attrs), attrs, 0, NULL, complex ? 4 : 5, types);
    if (!op) {
        *out_values = *out_vectors = lazy_wrap(NULL, what);
        return;
    }
    *out_values = lazy_wrap(complex ? ops_copy(b, &op->out[0]) : ir_complex(b, &op->out[0], &op->out[1]), what);
    *out_vectors = lazy_wrap(&op->out[complex ? 2 : 3], what);
}
xt_tensor xt_linalg_eigvals_at(const xt_src *src, xt_tensor a) {
    xt_tensor w, v;
    xt_linalg_eig_at(src, a, &w, &v);
    return w;
}

/* --- products of reflectors: I - V T V^H with T = (I + D triu(V^H V, 1))^-1 D, D = diag(tau) (Puglisi 1992) --- */
xt_tensor xt_householder_product_at(const xt_src *src, xt_tensor v, xt_tensor tau) {
    static const char what[] = "xt_householder_product";
    const ir_type *t = lazy_type(v), *s = lazy_type(tau);
    ops_text sv, st;
    if (!t || !s) return lazy_failed_tensor(src);
    bool fits = t->rank >= 2 && s->rank + 1 == t->rank && t->dims[t->rank - 2] >= t->dims[t->rank - 1] &&
                s->dims[s->rank - 1] <= t->dims[t->rank - 1] && s->dims[s->rank - 1] > 0;
    if (!fits)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: v %s and tau %s: expected [...,m,n], m >= n, and [...,k], k <= n", what,
                          ops_shape(t, &sv), ops_shape(s, &st));
    int64_t n = t->dims[t->rank - 1], k = s->dims[s->rank - 1];
    xt_tensor below = xt_tril_at(src, xt_slice_at(src, v, -1, 0, k), -1);
    ir_builder *b = lazy_begin(src);
    ir_value *w = lazy_value(below);
    xt_tensor whole = lazy_wrap(w ? ir_add(b, w, unit_of(b, w->type)) : NULL, what);
    xt_tensor adjoint = xt_adjoint_at(src, whole), d = xt_unsqueeze_at(src, tau, -1);
    xt_tensor inner = xt_mul_at(src, d, xt_triu_at(src, xt_matmul_at(src, adjoint, whole), 1));
    xt_triangular_opts o = {.struct_size = sizeof o, .upper = true, .unit_diagonal = true};
    xt_tensor right = xt_mul_at(src, d, xt_slice_at(src, adjoint, -1, 0, n));
    xt_tensor left = xt_matmul_at(src, whole, xt_triangular_solve_at(src, inner, right, o));
    b = lazy_begin(src);
    ir_value *product = lazy_value(left);
    return lazy_wrap(product ? ir_subtract(b, unit_of(b, product->type), product) : NULL, what);
}

/* --- the exponential: a polynomial of degree 16 of a / 2^s, squared s times (Paterson and Stockmeyer 1973) --- */
typedef struct squaring {
    const xt_src *src;
} squaring;
static xt_tensor more_squares(const xt_tensor *state, void *user) {
    const xt_src *src = ((squaring *)user)->src;
    xt_tensor left = xt_gt_at(src, state[1], xt_full_like_at(src, state[1], 0));
    return xt_any_at(src, left);
}
static void square(xt_tensor *state, void *user) {
    const xt_src *src = ((squaring *)user)->src;
    xt_tensor left = xt_gt_at(src, state[1], xt_full_like_at(src, state[1], 0));
    state[0] = xt_where_at(src, left, xt_matmul_at(src, state[0], state[0]), state[0]);
    state[1] = xt_add_scalar_at(src, state[1], -1);
}
xt_tensor xt_matrix_exp_at(const xt_src *src, xt_tensor a) {
    static const char what[] = "xt_matrix_exp";
    ir_builder *b = lazy_begin(src);
    xt_tensor failed;
    ir_value *v = matrix(src, what, b, a, true, &failed);
    if (!v) return failed;
    bool wide = v->type->dtype == XT_F64 || v->type->dtype == XT_C128;
    const ir_type *unit = v->type;
    /* how often it is halved: 0 where the largest sum of a column is small enough for the polynomial */
    int64_t rows = (int64_t)v->type->rank - 2, columns = rows;
    ir_value *size = ir_abs(b, ex_detach(b, v)), *sum = size ? ir_reduce(b, OP_add, size, 1, &rows) : NULL;
    ir_value *norm = sum ? ir_reduce(b, OP_maximum, sum, 1, &columns) : NULL;
    norm = norm ? ops_unsqueeze(b, ops_unsqueeze(b, norm, rows), rows) : NULL;
    ir_value *ratio = ex_over(b, norm, wide ? 0.7 : 2.5);
    ir_value *halvings = ir_ceil(b, ex_over(b, ir_log(b, ir_maximum(b, ratio, ex_num(b, ratio, 1))), M_LN2));
    halvings = ex_keep(b, ir_is_finite(b, halvings), halvings, 0);
    ir_value *factor = ir_power(b, ex_num(b, halvings, 0.5), halvings);
    if (!factor) return lazy_wrap(NULL, what);
    xt_tensor x = lazy_wrap(v, what), s = lazy_wrap(halvings, what), f = lazy_wrap(factor, what);
    x = xt_mul_at(src, x, f);
    double c[17] = {1};
    for (int i = 1; i <= 16; i++) c[i] = c[i - 1] / i;
    xt_tensor power[5], sum_of = {0};
    power[1] = x;
    for (int i = 2; i <= 4; i++) power[i] = xt_matmul_at(src, power[i - 1], x);
    for (int block = 3; block >= 0; block--) {
        const double *k = c + 4 * (ptrdiff_t)block;
        b = lazy_begin(src);
        xt_tensor part = lazy_wrap(ex_times(b, unit_of(b, unit), k[0]), what);
        for (int i = 1; i <= (block == 3 ? 4 : 3); i++)
            part = xt_add_at(src, part, xt_mul_scalar_at(src, power[i], k[i]));
        sum_of = block == 3 ? part : xt_add_at(src, part, xt_matmul_at(src, sum_of, power[4]));
    }
    xt_tensor state[2] = {sum_of, s};
    squaring user = {src};
    xt_while_opts o = {.struct_size = sizeof o, .max_steps = -1, .user = &user};
    if (!xt_while_at(src, more_squares, square, 2, state, o)) return lazy_failed_tensor(src);
    b = lazy_begin(src);
    return give(b, lazy_value(state[0]), a, what);
}

/* --- tensors as matrices --- */
xt_tensor xt_tensorinv_at(const xt_src *src, xt_tensor a, int ind) {
    const ir_type *t = lazy_type(a);
    ops_text text;
    if (!t) return a;
    int64_t left = 1, right = 1, dims[XT_MAX_RANK + 1] = {0};
    for (uint32_t i = 0; i < t->rank; i++) *((int)i < ind ? &left : &right) *= t->dims[i];
    if (ind < 1 || ind > (int)t->rank || left != right)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_tensorinv: %s, ind %d: expected as many elements in the first ind dims as in the others",
                          ops_shape(t, &text), ind);
    for (uint32_t i = 0; i < t->rank; i++) dims[i] = t->dims[(i + (uint32_t)ind) % t->rank];
    xt_tensor flat = xt_reshape_at(src, a, (int64_t[]){left, right, 0});
    return xt_reshape_at(src, xt_inverse_at(src, flat), dims);
}
xt_tensor xt_tensorsolve_at(const xt_src *src, xt_tensor a, xt_tensor y) {
    const ir_type *t = lazy_type(a), *ty = lazy_type(y);
    ops_text sa, sy;
    if (!t || !ty) return lazy_failed_tensor(src);
    int64_t n = 1, dims[XT_MAX_RANK + 1] = {0};
    for (uint32_t i = ty->rank; i < t->rank; i++) n *= dims[i - ty->rank] = t->dims[i];
    bool fits = t->rank > ty->rank && memcmp(t->dims, ty->dims, ty->rank * sizeof *t->dims) == 0 && n == ty->count;
    if (!fits)
        return lazy_error(
            src, XT_INVALID_ARGUMENT,
            "xt_tensorsolve: a %s and y %s: expected y's dims first in a, and as many elements behind them",
            ops_shape(t, &sa), ops_shape(ty, &sy));
    xt_tensor flat = xt_reshape_at(src, a, (int64_t[]){n, n, 0}), right = xt_reshape_at(src, y, (int64_t[]){n, 1, 0});
    return xt_reshape_at(src, xt_solve_at(src, flat, right), dims);
}
