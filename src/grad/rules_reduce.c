/* Derivatives of reductions. Several equal extremes share the cotangent evenly (PyTorch's amax); products are differentiated without dividing,
 * so zeros among the factors are no exception. */
#include "grad/grad_int.h"

typedef struct reduction {
    const int64_t *dims;
    size_t n;
    ir_value *x, *d; /* the operand; the cotangent of the result */
} reduction;

static ir_value *d_extreme(grad_call *c, const reduction *r, ir_value *result) {
    ir_builder *b = c->b;
    const ir_type *t = r->x->type;
    ir_value *hit = ir_compare(b, IR_EQ, r->x, grad_spread(b, result, t, r->n, r->dims));
    ir_value *mask = hit ? ir_convert(b, hit, t->dtype) : NULL;
    ir_value *share = ir_divide(b, r->d, mask ? ir_reduce(b, OP_add, mask, r->n, r->dims) : NULL);
    return ir_multiply(b, grad_spread(b, share, t, r->n, r->dims), mask);
}

/* p moved along the last dim by `shift` places, towards the end or (back) the beginning; ones come in. */
static ir_value *shifted(ir_builder *b, ir_value *p, int64_t shift, bool back) {
    static const int64_t none[2] = {0, 0};
    int64_t in[2] = {0, shift}, out[2] = {0, -shift};
    return p ? ir_pad(b, p, grad_scalar(b, p->type->dtype, 1), back ? out : in, back ? in : out, none) : NULL;
}

/* x [outer, n] -> the product of all elements before (or after) each one along the last dim, in log n steps. */
static ir_value *product_of_others(ir_builder *b, ir_value *x, bool after) {
    ir_value *p = shifted(b, x, 1, after);
    for (int64_t shift = 1; shift < x->type->dims[1]; shift *= 2) p = ir_multiply(b, p, shifted(b, p, shift, after));
    return p;
}

/* The derivative by each factor is the product of all others. Reduced dims are brought together as the last one. */
static xt_status d_product(grad_call *c, const reduction *r, ir_value **out) {
    ir_builder *b = c->b;
    const ir_type *t = r->x->type;
    if (t->count == 0) return NULL;
    int64_t *perm, *inverse, *moved, flat[2] = {1, 1};
    XT_TRY(grad_ints(c, t->rank, &perm));
    XT_TRY(grad_ints(c, t->rank, &inverse));
    XT_TRY(grad_ints(c, t->rank, &moved));
    size_t k = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < (int64_t)t->rank; i++) {
            bool reduced = false;
            for (size_t j = 0; j < r->n; j++) reduced |= r->dims[j] == i;
            if (reduced != (pass == 1)) continue;
            flat[pass] *= t->dims[i];
            inverse[i] = (int64_t)k;
            moved[k] = t->dims[i];
            perm[k++] = i;
        }
    ir_value *x = ir_reshape(b, ir_transpose(b, r->x, t->rank, perm), 2, flat);
    if (!x) return NULL;
    ir_value *others = ir_multiply(b, product_of_others(b, x, false), product_of_others(b, x, true));
    if (others) others = ir_transpose(b, ir_reshape(b, others, t->rank, moved), t->rank, inverse);
    *out = ir_multiply(b, grad_spread(b, r->d, t, r->n, r->dims), others);
    return NULL;
}

/* The scalar the fold begins with (and, as StableHLO has it, folds in once per result element). */
static xt_status d_init(grad_call *c, ir_opcode code, const reduction *r, ir_value *init, ir_value **out) {
    ir_builder *b = c->b;
    ir_value *y = &((ir_op *)c->op)->out[0];
    if (code == OP_add) {
        *out = grad_sum_all(b, r->d);
        return NULL;
    }
    if (grad_is_constant(init, NULL)) return NULL;
    if (code == OP_multiply) {
        ir_value *product = ir_reduce(b, OP_multiply, r->x, r->n, r->dims);
        *out = grad_sum_all(b, ir_multiply(b, r->d, product));
        return NULL;
    }
    ir_value *held = ir_compare(b, IR_EQ, y, ir_broadcast_scalar(b, init, y->type));
    *out = grad_sum_all(b, ir_select(b, held, r->d, grad_zeros(b, y->type)));
    return NULL;
}

xt_status grad_reduce(grad_call *c) {
    const ir_op *op = c->op;
    ir_opcode code = op->n_in == 2 ? grad_region_op(op, 0) : OP_COUNT;
    if (code != OP_add && code != OP_maximum && code != OP_minimum && code != OP_multiply)
        return grad_refuse(c, "only sums, products, maxima and minima of one tensor have one");
    reduction r = {.x = op->in[0], .d = c->d_out[0]};
    r.dims = ir_get_ints(op, IR_A_dimensions, &r.n);
    if (c->want[0]) {
        if (r.n == 0)
            c->d_in[0] = r.d;
        else if (code == OP_add)
            c->d_in[0] = grad_spread(c->b, r.d, r.x->type, r.n, r.dims);
        else if (code == OP_multiply)
            XT_TRY(d_product(c, &r, &c->d_in[0]));
        else
            c->d_in[0] = d_extreme(c, &r, &((ir_op *)op)->out[0]);
    }
    if (c->want[1]) XT_TRY(d_init(c, code, &r, op->in[1], &c->d_in[1]));
    return NULL;
}
