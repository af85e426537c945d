/* Derivatives of reductions. Several equal extremes share the cotangent evenly (PyTorch's amax); products are
 * differentiated without dividing, so zeros among the factors are no exception. Several tensors may be reduced at once:
 * each for itself, or one deciding which position of all is taken (argmax with its value). Other computations are taken
 * apart (rules_fold.c). */
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
static xt_status d_init(grad_call *c, ir_opcode code, const reduction *r, ir_value *y, ir_value *init, ir_value **out) {
    ir_builder *b = c->b;
    if (code == OP_add) {
        *out = grad_sum_all(b, r->d);
        return NULL;
    }
    if (ir_is_constant(init, NULL)) return NULL;
    if (code == OP_multiply) {
        ir_value *product = ir_reduce(b, OP_multiply, r->x, r->n, r->dims);
        *out = grad_sum_all(b, ir_multiply(b, r->d, product));
        return NULL;
    }
    ir_value *held = ir_compare(b, IR_EQ, y, ir_broadcast_scalar(b, init, y->type));
    *out = grad_sum_all(b, ir_select(b, held, r->d, grad_zeros(b, y->type)));
    return NULL;
}

/* Result i = `code`(argument i of the left, argument i of the right), whatever else the body does. */
static ir_opcode folded_by(const ir_op *op, size_t i) {
    const ir_block *body = op->regions[0].block;
    const ir_op *end = ir_block_return(body), *only = end->in[i]->def;
    if (!only || only->n_in != 2) return OP_COUNT;
    const ir_value *left = body->args[i], *right = body->args[op->n_out + i];
    bool both = (only->in[0] == left && only->in[1] == right) || (only->in[0] == right && only->in[1] == left);
    bool known =
        only->code == OP_add || only->code == OP_multiply || only->code == OP_maximum || only->code == OP_minimum;
    return both && known ? only->code : OP_COUNT;
}

static xt_status independent(grad_call *c, size_t i, ir_opcode code) {
    const ir_op *op = c->op;
    size_t init = op->n_out + i;
    reduction r = {.x = op->in[i], .d = c->d_out[i]};
    ir_value *y = &((ir_op *)(uintptr_t)op)->out[i];
    r.dims = ir_get_ints(op, IR_A_dimensions, &r.n);
    if (c->want[i]) {
        if (r.n == 0)
            c->d_in[i] = r.d;
        else if (code == OP_add)
            c->d_in[i] = grad_spread(c->b, r.d, r.x->type, r.n, r.dims);
        else if (code == OP_multiply) {
            reduction scaled = r; /* the initial value is one more factor */
            double factor;
            if (!ir_is_constant(op->in[init], &factor) || factor != 1)
                scaled.d = ir_multiply(c->b, r.d, ir_broadcast_scalar(c->b, op->in[init], y->type));
            XT_TRY(d_product(c, &scaled, &c->d_in[i]));
        } else
            c->d_in[i] = d_extreme(c, &r, y);
    }
    return c->want[init] ? d_init(c, code, &r, y, op->in[init], &c->d_in[init]) : NULL;
}

/* True when every result is one of its two arguments, by some choice that is a select. */
static bool selects(const ir_op *op) {
    const ir_block *body = op->regions[0].block;
    const ir_op *end = ir_block_return(body);
    for (size_t i = 0; i < op->n_out; i++) {
        const ir_op *choice = end->in[i]->def;
        if (!choice || choice->code != OP_select || choice->in[1] != body->args[i] ||
            choice->in[2] != body->args[op->n_out + i])
            return false;
    }
    return true;
}

/* The same reduction with the positions of the elements carried along by result i's choice; *out is the position that
 * was taken, -1 for the initial value. */
static xt_status taken_position(grad_call *c, size_t i, ir_value *position, ir_value **out) {
    const ir_op *op = c->op;
    ir_builder *b = c->b;
    size_t n = op->n_out;
    const ir_block *from = op->regions[0].block;
    ir_block *body = ir_block_new(b->m);
    ir_value **in, **args, **results;
    XT_TRY(grad_values(c, 2 * n + 2, &in));
    XT_TRY(grad_values(c, 2 * n + 2, &args));
    XT_TRY(grad_values(c, n + 1, &results));
    if (!body || !position) return body ? NULL : status_oom(sizeof *body, "gradients");
    for (size_t side = 0; side < 2; side++)
        for (size_t k = 0; k <= n; k++) {
            ir_value *arg = ir_block_arg(b->m, body, k < n ? from->args[side * n + k]->type : ir_scalar(XT_I64));
            if (!arg) return status_oom(sizeof *arg, "gradients");
            in[side * (n + 1) + k] = k < n  ? op->in[side * n + k]
                                     : side ? ir_splat(b, ir_scalar(XT_I64), -1)
                                            : position;
            args[k < n ? side * n + k : 2 * n + side] = arg;
        }
    ir_builder inner = ir_at_end(b->m, body);
    XT_TRY(grad_copy_body(&inner, from, args, results));
    results[n] = ir_select(&inner, results[i]->def->in[0], args[2 * n], args[2 * n + 1]);
    ir_return(&inner, n + 1, results);
    if (inner.status) return inner.status;
    ir_op *again = ir_build(b, OP_reduce, 2 * n + 2, in, op->n_attrs, op->attrs, 1, &body, 0, NULL);
    *out = again ? &again->out[n] : NULL;
    return NULL;
}

static xt_status selected(grad_call *c, size_t i) {
    ir_builder *b = c->b;
    const ir_op *op = c->op;
    const ir_type *t = op->in[i]->type, *flat = ir_tensor(XT_I64, 1, &t->count);
    size_t n;
    const int64_t *dims = ir_get_ints(op, IR_A_dimensions, &n);
    ir_value *position = flat ? grad_reshape_to(b, ir_iota(b, flat, 0), t) : NULL, *taken = NULL;
    XT_TRY(taken_position(c, i, position, &taken));
    ir_value *d = c->d_out[i], *hit = ir_compare(b, IR_EQ, position, grad_spread(b, taken, t, n, dims));
    if (c->want[i]) c->d_in[i] = ir_select(b, hit, grad_spread(b, d, t, n, dims), grad_zeros(b, t));
    ir_value *none = taken ? ir_compare(b, IR_LT, taken, grad_zeros(b, taken->type)) : NULL;
    if (c->want[op->n_out + i]) c->d_in[op->n_out + i] = grad_sum_all(b, ir_select(b, none, d, grad_zeros(b, d->type)));
    return NULL;
}

xt_status grad_reduce(grad_call *c) {
    const ir_op *op = c->op;
    for (size_t i = 0; i < op->n_out; i++) {
        if (!c->d_out[i] || !(c->want[i] || c->want[op->n_out + i])) continue;
        ir_opcode code = folded_by(op, i);
        if (code != OP_COUNT)
            XT_TRY(independent(c, i, code));
        else if (selects(op))
            XT_TRY(selected(c, i));
        else
            return grad_fold_dims(c); /* of all results at once */
    }
    return NULL;
}
