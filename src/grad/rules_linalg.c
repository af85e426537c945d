/* Derivatives of factorisations, triangular solves and Fourier transforms. Source of the Cholesky formula: Iain Murray,
 * "Differentiation of the Cholesky decomposition" (2016). The op reads one triangle of its operand, so the gradient
 * stands in that triangle. */
#include "grad/grad_int.h"

ir_value *grad_matrix_turn(grad_call *c, ir_value *x) {
    int64_t *perm;
    if (!x) return NULL;
    size_t rank = x->type->rank;
    xt_status st = grad_ints(c, rank, &perm);
    if (st) {
        if (c->b->status)
            xt_status_free(st);
        else
            c->b->status = st;
        return NULL;
    }
    for (size_t i = 0; i < rank; i++) perm[i] = (int64_t)i;
    perm[rank - 2] = (int64_t)rank - 1;
    perm[rank - 1] = (int64_t)rank - 2;
    return ir_transpose(c->b, x, rank, perm);
}

ir_value *grad_matrix_product(grad_call *c, ir_value *x, ir_value *y) {
    if (!x || !y) return NULL;
    int64_t batch[IR_MAX_RANK], last = (int64_t)x->type->rank - 1, before = last - 1;
    for (int64_t i = 0; i < before; i++) batch[i] = i;
    return ir_dot_general(c->b, x, y, (size_t)before, batch, batch, 1, &last, &before, IR_PREC_HIGHEST);
}

ir_value *grad_triangle(grad_call *c, ir_value *x, bool lower, double diagonal) {
    if (!x) return NULL;
    ir_builder *b = c->b;
    const ir_type *t = ir_with_dtype(x->type, XT_I32);
    ir_value *row = ir_iota(b, t, t->rank - 2), *column = ir_iota(b, t, t->rank - 1), *zero = grad_zeros(b, x->type);
    ir_value *inside = ir_select(b, ir_compare(b, lower ? IR_GT : IR_LT, row, column), x, zero);
    if (diagonal == 0) return inside;
    ir_value *on = diagonal == 1 ? x : grad_times(b, x, diagonal);
    return ir_select(b, ir_compare(b, IR_EQ, row, column), on, inside);
}

ir_value *grad_triangular_system(grad_call *c, ir_value *a, ir_value *x, grad_system s) {
    if (!a || !x) return NULL;
    ir_attr attrs[] = {ir_attr_bool(IR_A_left_side, s.left), ir_attr_bool(IR_A_lower, s.lower),
                       ir_attr_bool(IR_A_unit_diagonal, s.unit), ir_attr_enum(IR_A_transpose_a, s.transpose)};
    ir_op *op =
        ir_build(c->b, OP_triangular_solve, 2, (ir_value *[]){a, x}, BASE_COUNT(attrs), attrs, 0, NULL, 0, NULL);
    return op ? &op->out[0] : NULL;
}

xt_status grad_cholesky(grad_call *c) {
    const ir_op *op = c->op;
    if (!c->want[0]) return NULL;
    if (ir_dtype_is_complex(op->out[0].type->dtype)) return grad_refuse(c, "only real matrices are differentiated");
    bool lower = ir_get_bool(op, IR_A_lower, false);
    ir_value *l = &((ir_op *)op)->out[0], *d = c->d_out[0];
    if (!lower) l = grad_matrix_turn(c, l), d = grad_matrix_turn(c, d);
    l = grad_triangle(c, l, true, 1); /* what the op leaves in the other triangle is not defined */
    d = grad_triangle(c, d, true, 1);
    ir_value *p = grad_triangle(c, grad_matrix_product(c, grad_matrix_turn(c, l), d), true, 0.5);
    ir_value *s =
        grad_triangular_system(c, l, p, (grad_system){.left = true, .lower = true, .transpose = GRAD_TRANSPOSE});
    s = grad_triangular_system(c, l, s, (grad_system){.left = false, .lower = true, .transpose = GRAD_NO_TRANSPOSE});
    /* symmetric, as PyTorch's and JAX's: that of a matrix whose triangles move together */
    c->d_in[0] = grad_times(c->b, ir_add(c->b, s, grad_matrix_turn(c, s)), 0.5);
    return NULL;
}

/* op(A) X = B (or X op(A) = B): B's is the solution of the transposed system; op(A)'s is minus its product with X, in
 * A's triangle. */
xt_status grad_triangular_solve(grad_call *c) {
    const ir_op *op = c->op;
    ir_value *a = op->in[0], *x = &((ir_op *)op)->out[0];
    grad_system s = {.left = ir_get_bool(op, IR_A_left_side, true),
                     .lower = ir_get_bool(op, IR_A_lower, true),
                     .unit = ir_get_bool(op, IR_A_unit_diagonal, false),
                     .transpose = (int)ir_get_int(op, IR_A_transpose_a, GRAD_NO_TRANSPOSE)};
    bool turned = s.transpose != GRAD_NO_TRANSPOSE;
    if (s.transpose == GRAD_ADJOINT && ir_dtype_is_complex(a->type->dtype))
        return grad_refuse(c, "an adjoint complex system is not differentiated");
    grad_system back = s;
    back.transpose = turned ? GRAD_NO_TRANSPOSE : GRAD_TRANSPOSE;
    ir_value *db = grad_triangular_system(c, a, c->d_out[0], back);
    if (c->want[1]) c->d_in[1] = db;
    if (!c->want[0]) return NULL;
    ir_value *da = s.left ? grad_matrix_product(c, db, grad_matrix_turn(c, x))
                          : grad_matrix_product(c, grad_matrix_turn(c, x), db);
    if (turned) da = grad_matrix_turn(c, da);
    c->d_in[0] = grad_triangle(c, da ? ir_negate(c->b, da) : NULL, s.lower, s.unit ? 0 : 1);
    return NULL;
}

/* --- Fourier --- */
enum { FFT, IFFT, RFFT, IRFFT };

static ir_value *transform(grad_call *c, ir_value *x, int type) {
    size_t n;
    const int64_t *length = ir_get_ints(c->op, IR_A_fft_length, &n);
    ir_attr attrs[] = {ir_attr_enum(IR_A_fft_type, type), ir_attr_ints(c->b, IR_A_fft_length, n, length)};
    ir_op *op = ir_build(c->b, OP_fft, 1, &x, BASE_COUNT(attrs), attrs, 0, NULL, 0, NULL);
    return op ? &op->out[0] : NULL;
}

/* A real transform keeps the first half of the full one: the other half gets zeros. */
static xt_status real_transform(grad_call *c, int64_t n, ir_value **out) {
    ir_value *d = c->d_out[0];
    int64_t *none, *high, last = (int64_t)d->type->rank - 1;
    XT_TRY(grad_ints(c, d->type->rank, &none));
    XT_TRY(grad_ints(c, d->type->rank, &high));
    high[last] = n - d->type->dims[last];
    *out = ir_real(c->b, transform(c, ir_pad(c->b, d, grad_scalar(c->b, d->type->dtype, 0), none, high, none), FFT));
    return NULL;
}

/* The inverse counts all frequencies twice but the first and, for an even length, the last. */
static ir_value *inverse_real_transform(grad_call *c, double scale, int64_t n) {
    ir_builder *b = c->b;
    ir_value *f = transform(c, c->d_out[0], RFFT);
    if (!f) return NULL;
    const ir_type *real = ir_with_dtype(f->type, c->d_out[0]->type->dtype), *index = ir_with_dtype(f->type, XT_I64);
    ir_value *k = ir_iota(b, index, index->rank - 1);
    ir_value *once = ir_compare(b, IR_EQ, k, grad_zeros(b, index));
    if (n % 2 == 0) once = ir_or(b, once, ir_compare(b, IR_EQ, k, ir_splat(b, index, (double)(n / 2))));
    ir_value *weight = ir_select(b, once, ir_splat(b, real, scale), ir_splat(b, real, 2 * scale));
    return ir_complex(b, ir_multiply(b, ir_real(b, f), weight), ir_negate(b, ir_multiply(b, ir_imag(b, f), weight)));
}

xt_status grad_fft(grad_call *c) {
    size_t n;
    const int64_t *length = ir_get_ints(c->op, IR_A_fft_length, &n);
    int type = (int)ir_get_int(c->op, IR_A_fft_type, FFT);
    if (!c->want[0] || c->op->out[0].type->count == 0) return NULL;
    double elements = 1;
    for (size_t i = 0; i < n; i++) elements *= (double)length[i];
    if (type == RFFT) return real_transform(c, length[n - 1], &c->d_in[0]);
    c->d_in[0] =
        type == IRFFT ? inverse_real_transform(c, 1 / elements, length[n - 1]) : transform(c, c->d_out[0], type);
    return NULL;
}
