/* Derivatives of svd, eigh, qr, LU and eig, recorded as custom calls (ops/factor.c, decompose.c); of real matrices.
 * Sources: Giles, "An extended collection of matrix derivative results" (2008); Townsend, "Differentiating the singular
 * value decomposition" (2016); Walter and Lehmann, "Algorithmic differentiation of linear algebra functions" (2010) for
 * qr; which columns count of full matrices, and what is refused, is PyTorch's choice.
 *
 * Equal singular values or eigenvalues divide by zero where vectors are differentiated, as they must: the vectors are
 * not functions of the matrix there. */
#include "grad/grad_int.h"

static ir_value *result_of(const grad_call *c, uint32_t i) {
    return &((ir_op *)(uintptr_t)c->op)->out[i];
}

/* v [..., n] over the matrices of type t: one number for each column, or for each row. */
static ir_value *spread(grad_call *c, ir_value *v, const ir_type *t, bool columns) {
    int64_t dims[IR_MAX_RANK];
    if (!v) return NULL;
    for (uint32_t d = 0; d + 2 < t->rank; d++) dims[d] = d;
    dims[t->rank - 2] = columns ? t->rank - 1 : t->rank - 2;
    return ir_broadcast_in_dim(c->b, v, ir_with_dtype(t, v->type->dtype), t->rank - 1, dims);
}

static ir_value *on_diagonal(grad_call *c, const ir_type *t) {
    const ir_type *index = ir_with_dtype(t, XT_I32);
    return ir_compare(c->b, IR_EQ, ir_iota(c->b, index, t->rank - 2), ir_iota(c->b, index, t->rank - 1));
}

/* v on the diagonal of a matrix of type t. */
static ir_value *diagonal(grad_call *c, ir_value *v, const ir_type *t) {
    return ir_select(c->b, on_diagonal(c, t), spread(c, v, t, true), grad_zeros(c->b, t));
}

static ir_value *skew(grad_call *c, ir_value *x) {
    return ir_subtract(c->b, x, grad_matrix_turn(c, x));
}

/* w_j - w_i at (i, j), ones on the diagonal. */
static ir_value *gaps(grad_call *c, ir_value *w, const ir_type *t) {
    ir_value *d = ir_subtract(c->b, spread(c, w, t, true), spread(c, w, t, false));
    return d ? ir_select(c->b, on_diagonal(c, t), ir_splat(c->b, t, 1), d) : NULL;
}

static ir_value *sum(grad_call *c, ir_value *x, ir_value *y) {
    return !x ? y : !y ? x : ir_add(c->b, x, y);
}

/* The first n of x along the last dim but `back`. */
static ir_value *first(grad_call *c, ir_value *x, uint32_t back, int64_t from, int64_t to) {
    int64_t start[IR_MAX_RANK] = {0}, limit[IR_MAX_RANK];
    if (!x) return NULL;
    uint32_t dim = x->type->rank - 1 - back;
    memcpy(limit, x->type->dims, x->type->rank * sizeof *limit);
    start[dim] = from;
    limit[dim] = to;
    if (from == 0 && to == x->type->dims[dim]) return x;
    return ir_slice(c->b, x, start, limit, NULL);
}

/* A = V diag(w) V^T: V (skew(V^T dV) / 2 / gaps + diag(dw)) V^T. */
static xt_status grad_eigh(grad_call *c) {
    ir_builder *b = c->b;
    ir_value *v = result_of(c, 0), *w = result_of(c, 1), *inner = NULL;
    const ir_type *t = v->type;
    if (c->d_out[0])
        inner = ir_divide(b, grad_times(b, skew(c, grad_matrix_product(c, grad_matrix_turn(c, v), c->d_out[0])), 0.5),
                          gaps(c, w, t));
    if (c->d_out[1]) inner = sum(c, inner, diagonal(c, c->d_out[1], t));
    if (inner) c->d_in[0] = grad_matrix_product(c, grad_matrix_product(c, v, inner), grad_matrix_turn(c, v));
    return NULL;
}

/* d - v (v^T d): what of d lies outside the columns of v. */
static ir_value *outside(grad_call *c, ir_value *v, ir_value *d) {
    return ir_subtract(c->b, d, grad_matrix_product(c, v, grad_matrix_product(c, grad_matrix_turn(c, v), d)));
}

/* A = U diag(s) V^T with k singular values: U (skew(U^T dU) / E s + s skew(V^T dV) / E + diag(ds)) V^T, E = gaps of the
 * squares, and what lies outside the columns of U and V. */
static xt_status grad_svd(grad_call *c) {
    ir_builder *b = c->b;
    ir_value *s = result_of(c, 1);
    int64_t k = s->type->dims[s->type->rank - 1], m = c->op->in[0]->type->dims[s->type->rank - 1],
            n = c->op->in[0]->type->dims[s->type->rank];
    ir_value *u = first(c, result_of(c, 2), 0, 0, k), *v = grad_matrix_turn(c, first(c, result_of(c, 3), 1, 0, k));
    ir_value *du = first(c, c->d_out[2], 0, 0, k),
             *dv = c->d_out[3] ? grad_matrix_turn(c, first(c, c->d_out[3], 1, 0, k)) : NULL, *inner = NULL;
    if (!u || !v) return NULL;
    int64_t dims[IR_MAX_RANK];
    memcpy(dims, s->type->dims, s->type->rank * sizeof *dims);
    dims[s->type->rank] = k;
    const ir_type *t = ir_tensor(s->type->dtype, s->type->rank + 1, dims);
    ir_value *gap = du || dv ? gaps(c, ir_multiply(b, s, s), t) : NULL;
    if (du)
        inner = ir_multiply(b, ir_divide(b, skew(c, grad_matrix_product(c, grad_matrix_turn(c, u), du)), gap),
                            spread(c, s, t, true));
    if (dv)
        inner = sum(c, inner,
                    ir_multiply(b, ir_divide(b, skew(c, grad_matrix_product(c, grad_matrix_turn(c, v), dv)), gap),
                                spread(c, s, t, false)));
    if (c->d_out[1]) inner = sum(c, inner, diagonal(c, c->d_out[1], t));
    if (!inner) return NULL;
    ir_value *left = grad_matrix_product(c, u, inner);
    if (du && m > k) left = ir_add(b, left, outside(c, u, ir_divide(b, du, spread(c, s, u->type, true))));
    ir_value *d = grad_matrix_product(c, left, grad_matrix_turn(c, v));
    if (dv && n > k)
        d = ir_add(b, d,
                   grad_matrix_product(
                       c, u, grad_matrix_turn(c, outside(c, v, ir_divide(b, dv, spread(c, s, v->type, true))))));
    c->d_in[0] = d;
    return NULL;
}

/* Of A with at least as many rows as columns: (dQ + Q sym(dR R^T - Q^T dQ)) R^-T, sym(M): the upper triangle of M and
 * its mirror image. */
static ir_value *grad_tall_qr(grad_call *c, ir_value *q, ir_value *r, ir_value *dq, ir_value *dr) {
    ir_builder *b = c->b;
    ir_value *m = dr ? grad_matrix_product(c, dr, grad_matrix_turn(c, r)) : NULL;
    if (dq) {
        ir_value *x = ir_negate(b, grad_matrix_product(c, grad_matrix_turn(c, q), dq));
        m = sum(c, m, x);
    }
    ir_value *mirrored = ir_add(b, grad_triangle(c, m, false, 1), grad_matrix_turn(c, grad_triangle(c, m, false, 0)));
    ir_value *d = sum(c, dq, grad_matrix_product(c, q, mirrored));
    return grad_triangular_system(c, r, d, (grad_system){.left = false, .lower = false, .transpose = GRAD_TRANSPOSE});
}

/* A wide A = [X | Y] has X = Q U and Q^T Y beside U in R. */
static xt_status grad_qr(grad_call *c) {
    ir_value *q = result_of(c, 0), *r = result_of(c, 1), *dq = c->d_out[0], *dr = c->d_out[1], *a = c->op->in[0];
    uint32_t rank = a->type->rank;
    int64_t m = a->type->dims[rank - 2], n = a->type->dims[rank - 1];
    if (!dq && !dr) return NULL;
    if (m > n && q->type->dims[rank - 1] > n)
        return grad_refuse(c, "a complete Q has columns that the matrix does not decide; leave .complete out");
    if (m >= n) {
        c->d_in[0] = grad_tall_qr(c, q, r, dq, dr);
        return NULL;
    }
    ir_value *y = first(c, a, 0, m, n), *du = first(c, dr, 0, 0, m), *dv = first(c, dr, 0, m, n);
    if (dv) dq = sum(c, dq, grad_matrix_product(c, y, grad_matrix_turn(c, dv)));
    ir_value *dx = grad_tall_qr(c, q, first(c, r, 0, 0, m), dq, du),
             *dy = dv ? grad_matrix_product(c, q, dv) : grad_zeros(c->b, y->type);
    c->d_in[0] = dx && dy ? ir_concatenate(c->b, 2, (ir_value *[]){dx, dy}, rank - 1) : NULL;
    return NULL;
}

/* --- LU --- */
/* P^T a = L U, packed into one matrix with L's ones left out; k the smaller side. With L1 and U1 the leading [k,k]:
 *     [k,k] of P^T da: L1^-T (tril(L1^T dL1 - dU2 U2^T, -1) + triu(dU1 U1^T - L2^T dL2)) U1^-T
 *     columns behind (wide): L1^-T dU2; rows below (tall): dL2 U1^-T */
static xt_status grad_lu(grad_call *c) {
    ir_builder *b = c->b;
    ir_value *lu = result_of(c, 0), *rows = result_of(c, 2), *d = c->d_out[0];
    uint32_t rank = lu->type->rank;
    int64_t m = lu->type->dims[rank - 2], n = lu->type->dims[rank - 1], k = m < n ? m : n;
    if (!d) return NULL;
    ir_value *lead = first(c, first(c, lu, 0, 0, k), 1, 0, k), *d_lead = first(c, first(c, d, 0, 0, k), 1, 0, k);
    if (!lead || !d_lead) return NULL;
    ir_value *one = ir_splat(b, lead->type, 1), *zero = grad_zeros(b, lead->type);
    ir_value *l = ir_add(b, grad_triangle(c, lead, true, 0), ir_select(b, on_diagonal(c, lead->type), one, zero));
    ir_value *u = grad_triangle(c, lead, false, 1);
    ir_value *low = grad_matrix_product(c, grad_matrix_turn(c, l), grad_triangle(c, d_lead, true, 0));
    ir_value *high = grad_matrix_product(c, grad_triangle(c, d_lead, false, 1), grad_matrix_turn(c, u));
    ir_value *beside = n > k ? first(c, d, 0, k, n) : NULL, *under = m > k ? first(c, d, 1, k, m) : NULL;
    if (beside) low = ir_subtract(b, low, grad_matrix_product(c, beside, grad_matrix_turn(c, first(c, lu, 0, k, n))));
    if (under) high = ir_subtract(b, high, grad_matrix_product(c, grad_matrix_turn(c, first(c, lu, 1, k, m)), under));
    grad_system by_l = {.left = true, .lower = true, .unit = true, .transpose = GRAD_TRANSPOSE};
    grad_system by_u = {.left = false, .lower = false, .transpose = GRAD_TRANSPOSE};
    ir_value *x = ir_add(b, grad_triangle(c, low, true, 0), grad_triangle(c, high, false, 1));
    x = grad_triangular_system(c, u, x, by_u);
    if (beside && x) x = ir_concatenate(b, 2, (ir_value *[]){x, beside}, rank - 1);
    x = grad_triangular_system(c, l, x, by_l);
    ir_value *below = under ? grad_triangular_system(c, u, under, by_u) : NULL;
    if (under) x = x && below ? ir_concatenate(b, 2, (ir_value *[]){x, below}, rank - 2) : NULL;
    /* row rows[i] gets row i */
    int64_t dims[IR_MAX_RANK];
    memcpy(dims, lu->type->dims, rank * sizeof *dims);
    dims[rank - 1] = m;
    const ir_type *square = ir_tensor(XT_I32, rank, dims);
    ir_value *p = ir_compare(b, IR_EQ, ir_iota(b, square, rank - 2), spread(c, rows, square, true));
    c->d_in[0] = grad_matrix_product(c, p ? ir_convert(b, p, lu->type->dtype) : NULL, x);
    return NULL;
}

/* --- eigenvalues of general matrices --- */
static ir_value *conjugate(grad_call *c, ir_value *x) {
    return ir_complex(c->b, ir_real(c->b, x), ir_negate(c->b, ir_imag(c->b, x)));
}
static ir_value *adjoint(grad_call *c, ir_value *x) {
    return conjugate(c, grad_matrix_turn(c, x));
}
/* y with a y = x, of complex a, by LU. */
static ir_value *complex_system(grad_call *c, ir_value *a, ir_value *x) {
    ir_builder *b = c->b;
    if (!a || !x) return NULL;
    const ir_type *t = a->type, *row = ir_tensor(XT_I32, t->rank - 1, t->dims), *types[3] = {t, row, row};
    ir_attr name = ir_attr_string(b, IR_A_call_target_name, "LuDecomposition");
    ir_op *op = ir_build(b, OP_custom_call, 1, &a, 1, &name, 0, NULL, 3, types);
    const ir_type *index = ir_with_dtype(t, XT_I32);
    ir_value *p =
        op ? ir_compare(b, IR_EQ, ir_iota(b, index, t->rank - 1), spread(c, &op->out[2], index, false)) : NULL;
    ir_value *y = grad_matrix_product(c, p ? ir_convert(b, p, t->dtype) : NULL, x);
    grad_system s = {.left = true, .lower = true, .unit = true, .transpose = GRAD_NO_TRANSPOSE};
    y = op ? grad_triangular_system(c, &op->out[0], y, s) : NULL;
    s.lower = s.unit = false;
    return op ? grad_triangular_system(c, &op->out[0], y, s) : NULL;
}
/* A = V diag(w) V^-1 with columns of length 1, G their gradient: V^-H (diag(dw) + (V^H G - V^H V diag(Re(V^H G)_ii)) /
 * conj(gaps)) V^H (Boeddeker et al. 2017; PyTorch's choice of what the length fixes). What flows back through complex
 * numbers is, as everywhere here, the conjugate of that gradient. */
static xt_status grad_eig(grad_call *c) {
    ir_builder *b = c->b;
    ir_value *v = result_of(c, 3), *w = ir_complex(b, result_of(c, 0), result_of(c, 1)), *inner = NULL;
    const ir_type *t = v->type;
    if (c->d_out[2]) return grad_refuse(c, "left eigenvectors are not differentiated");
    ir_value *vh = adjoint(c, v);
    if (c->d_out[3]) {
        ir_value *g = grad_matrix_product(c, vh, conjugate(c, c->d_out[3]));
        ir_value *real = ir_select(b, on_diagonal(c, t), ir_complex(b, ir_real(b, g), ir_imag(b, grad_zeros(b, t))),
                                   grad_zeros(b, t));
        g = ir_subtract(b, g, grad_matrix_product(c, grad_matrix_product(c, vh, v), real));
        inner = ir_divide(b, g, conjugate(c, gaps(c, w, t)));
        inner = ir_select(b, on_diagonal(c, t), grad_zeros(b, t), inner);
    }
    if (c->d_out[0] || c->d_out[1]) {
        ir_value *none = grad_zeros(b, result_of(c, 0)->type);
        inner = sum(c, inner,
                    diagonal(c, ir_complex(b, c->d_out[0] ? c->d_out[0] : none, c->d_out[1] ? c->d_out[1] : none), t));
    }
    if (inner) c->d_in[0] = ir_real(b, complex_system(c, vh, grad_matrix_product(c, inner, vh)));
    return NULL;
}

bool grad_factorisation(grad_call *c, xt_status *out) {
    static const struct {
        const char *target;
        xt_status (*fn)(grad_call *c);
    } rules[] = {{"Eigh", grad_eigh},
                 {"xtrain.qr", grad_qr},
                 {"LuDecomposition", grad_lu},
                 {"lapack_sgeev_ffi", grad_eig},
                 {"lapack_dgeev_ffi", grad_eig},
                 {"lapack_sgesdd_ffi", grad_svd},
                 {"lapack_dgesdd_ffi", grad_svd},
                 {"lapack_cgesdd_ffi", grad_svd},
                 {"lapack_zgesdd_ffi", grad_svd}};
    const char *target = ir_get_string(c->op, IR_A_call_target_name);
    for (size_t i = 0; target && i < BASE_COUNT(rules); i++) {
        if (strcmp(target, rules[i].target) != 0) continue;
        *out = ir_dtype_is_complex(c->op->in[0]->type->dtype)
                   ? grad_refuse(c, "only factorisations of real matrices are differentiated")
               : c->want[0] ? rules[i].fn(c)
                            : NULL;
        return true;
    }
    return false;
}
