/* Derivatives of svd, eigh and qr, recorded as custom calls (ops/factor.c); of real matrices. Sources: Giles, "An
 * extended collection of matrix derivative results" (2008); Townsend, "Differentiating the singular value
 * decomposition" (2016); Walter and Lehmann, "Algorithmic differentiation of linear algebra functions" (2010) for qr;
 * which columns count of full matrices, and what is refused, is PyTorch's choice.
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

bool grad_factorisation(grad_call *c, xt_status *out) {
    static const struct {
        const char *target;
        xt_status (*fn)(grad_call *c);
    } rules[] = {{"Eigh", grad_eigh},
                 {"xtrain.qr", grad_qr},
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
