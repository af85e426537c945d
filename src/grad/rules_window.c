/* Derivatives of window reductions and of max pooling's own gradient. A window sum is transposed into a window sum over
 * the cotangent, padded and dilated by the strides, as JAX does; a maximum becomes select_and_scatter, which takes the
 * first of equals. */
#include "grad/grad_int.h"

#include <math.h>

typedef grad_window window;

static xt_status ones_or(grad_call *c, ir_attr_key k, size_t n, const int64_t **out) {
    size_t have;
    *out = ir_get_ints(c->op, k, &have);
    if (have) return NULL;
    int64_t *own;
    XT_TRY(grad_ints(c, n, &own));
    for (size_t i = 0; i < n; i++) own[i] = 1;
    *out = own;
    return NULL;
}

static xt_status read_window(grad_call *c, window *w) {
    size_t n_pad;
    w->rank = c->op->in[0]->type->rank;
    XT_TRY(ones_or(c, IR_A_window_dimensions, w->rank, &w->size));
    XT_TRY(ones_or(c, IR_A_window_strides, w->rank, &w->strides));
    XT_TRY(ones_or(c, IR_A_base_dilations, w->rank, &w->base));
    XT_TRY(ones_or(c, IR_A_window_dilations, w->rank, &w->dilation));
    XT_TRY(grad_ints(c, w->rank, &w->low));
    XT_TRY(grad_ints(c, w->rank, &w->high));
    const int64_t *pad = ir_get_ints(c->op, IR_A_padding, &n_pad);
    for (size_t i = 0; n_pad && i < w->rank; i++) {
        w->low[i] = pad[2 * i];
        w->high[i] = pad[2 * i + 1];
    }
    return NULL;
}

static bool all_ones(const int64_t *v, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (v[i] != 1) return false;
    return true;
}

static int64_t dilated(int64_t n, int64_t by) {
    return n ? (n - 1) * by + 1 : 0;
}

/* Sums d over all windows that an element was in. */
static xt_status spread_windows(grad_call *c, const window *w, ir_value *d, ir_value **out) {
    const ir_type *x = c->op->in[0]->type;
    int64_t *low, *high, *interior;
    XT_TRY(grad_ints(c, w->rank, &low));
    XT_TRY(grad_ints(c, w->rank, &high));
    XT_TRY(grad_ints(c, w->rank, &interior));
    if (!d || d->type->count == 0) return NULL;
    for (size_t i = 0; i < w->rank; i++) {
        int64_t size = dilated(w->size[i], w->dilation[i]), out_size = dilated(d->type->dims[i], w->strides[i]);
        interior[i] = w->strides[i] - 1;
        low[i] = size - w->low[i] - 1;
        high[i] = dilated(x->dims[i], w->base[i]) + size - out_size - low[i] - 1;
    }
    ir_value *padded = ir_pad(c->b, d, grad_scalar(c->b, x->dtype, 0), low, high, interior);
    *out = ir_reduce_window(c->b, OP_add, padded, w->size, w->base, NULL, NULL, NULL, w->dilation);
    return NULL;
}

/* A maximum over windows with dilation, which select_and_scatter cannot say: the windows' k-th elements, for each k,
 * are a strided slice of the padded operand; the first that equals the maximum takes the cotangent. */
static xt_status dilated_extreme(grad_call *c, const window *w, double identity, ir_value **out) {
    ir_builder *b = c->b;
    ir_value *x = c->op->in[0], *y = &((ir_op *)c->op)->out[0], *d = c->d_out[0];
    int64_t *interior, *at, *start, *limit, *low, *high, *gap, *unpad_low, *unpad_high, *zero;
    int64_t **arrays[] = {&interior, &at, &start, &limit, &low, &high, &gap, &unpad_low, &unpad_high, &zero};
    for (size_t i = 0; i < BASE_COUNT(arrays); i++) XT_TRY(grad_ints(c, w->rank, arrays[i]));
    for (size_t i = 0; i < w->rank; i++) {
        interior[i] = w->base[i] - 1;
        gap[i] = w->strides[i] - 1;
        unpad_low[i] = -w->low[i];
        unpad_high[i] = -w->high[i];
    }
    ir_value *padded = ir_pad(b, x, grad_scalar(b, x->type->dtype, identity), w->low, w->high, interior);
    if (!padded) return NULL;
    const int64_t *full = padded->type->dims;
    ir_value *left = d, *sum = NULL, *none = grad_zeros(b, d->type);
    for (size_t more = 1; more;) {
        for (size_t i = 0; i < w->rank; i++) {
            start[i] = at[i] * w->dilation[i];
            limit[i] = start[i] + (d->type->dims[i] - 1) * w->strides[i] + 1;
            low[i] = start[i];
            high[i] = full[i] - limit[i];
        }
        ir_value *hit = ir_compare(b, IR_EQ, ir_slice(b, padded, start, limit, w->strides), y);
        ir_value *part = ir_pad(b, ir_select(b, hit, left, none), grad_scalar(b, x->type->dtype, 0), low, high, gap);
        left = ir_select(b, hit, none, left);
        sum = sum ? ir_add(b, sum, part) : part;
        for (more = w->rank; more && ++at[more - 1] == w->size[more - 1]; more--) at[more - 1] = 0;
    }
    /* Back from the padded, dilated operand to the operand. */
    sum = ir_pad(b, sum, grad_scalar(b, x->type->dtype, 0), unpad_low, unpad_high, zero);
    *out = sum && !all_ones(w->base, w->rank) ? ir_slice(b, sum, zero, sum->type->dims, w->base) : sum;
    return NULL;
}

static xt_status window_extreme(grad_call *c, const window *w, bool max) {
    if (c->op->out[0].type->count == 0 || c->op->in[0]->type->count == 0) return NULL;
    if (!all_ones(w->base, w->rank) || !all_ones(w->dilation, w->rank))
        return dilated_extreme(c, w, max ? -INFINITY : INFINITY, &c->d_in[0]);
    ir_value *x = max ? c->op->in[0] : ir_negate(c->b, c->op->in[0]);
    c->d_in[0] = ir_select_and_scatter_max(c->b, x, c->d_out[0], w->size, w->strides, w->low, w->high);
    return NULL;
}

/* The product of all other factors of a window: the product with zeros left out, over the factor, where the window has
 * no zero; the same without dividing for its only zero; nothing elsewhere. */
static xt_status window_product(grad_call *c, const window *w) {
    ir_builder *b = c->b;
    ir_value *x = c->op->in[0], *d = c->d_out[0], *zero = grad_zeros(b, x->type), *one = ir_splat(b, x->type, 1),
             *sums[2] = {NULL, NULL};
    ir_value *at_zero = ir_compare(b, IR_EQ, x, zero), *filled = ir_select(b, at_zero, one, x);
    ir_value *product =
        ir_reduce_window(b, OP_multiply, filled, w->size, w->strides, w->low, w->high, w->base, w->dilation);
    ir_value *zeros = ir_reduce_window(b, OP_add, ir_select(b, at_zero, one, zero), w->size, w->strides, w->low,
                                       w->high, w->base, w->dilation);
    if (!product || !zeros) return NULL;
    for (int n = 0; n < 2; n++) { /* windows with n zeros */
        ir_value *these = ir_compare(b, IR_EQ, zeros, ir_splat(b, zeros->type, n));
        XT_TRY(spread_windows(c, w, ir_select(b, these, ir_multiply(b, d, product), grad_zeros(b, d->type)), &sums[n]));
    }
    if (sums[0] && sums[1]) c->d_in[0] = ir_select(b, at_zero, sums[1], ir_divide(b, sums[0], filled));
    return NULL;
}

/* The body of the window reduction below: (v, t) of the larger v, the first of equals. */
static ir_block *argmax_body(ir_builder *b, const ir_type *t) {
    ir_block *body = ir_block_new(b->m);
    if (!body) {
        if (!b->status) b->status = status_oom(0, "gradients");
        return NULL;
    }
    ir_value *arg[4];
    for (int i = 0; i < 4; i++) arg[i] = ir_block_arg(b->m, body, t);
    ir_builder in = ir_at_end(b->m, body);
    in.src = b->src;
    in.path = b->path;
    ir_value *first = ir_compare(&in, IR_GE, arg[0], arg[2]);
    ir_value *chosen[2] = {ir_select(&in, first, arg[0], arg[2]), ir_select(&in, first, arg[1], arg[3])};
    ir_return(&in, 2, chosen);
    if (!in.status) return body;
    if (b->status)
        xt_status_free(in.status);
    else
        b->status = in.status;
    return NULL;
}

/* True for a window reduction with the body above: (v, t) pairs of which the larger v wins. */
static bool carries(const ir_op *op) {
    const ir_block *body = op->n_in == 4 && op->n_regions == 1 ? op->regions[0].block : NULL;
    const ir_op *first = body && body->n_args == 4 ? body->first : NULL, *end = first ? ir_block_return(body) : NULL;
    if (!end || end->n_in != 2 || first->code != OP_compare ||
        ir_get_int(first, IR_A_comparison_direction, -1) != IR_GE)
        return false;
    if (first->in[0] != body->args[0] || first->in[1] != body->args[2]) return false;
    for (int i = 0; i < 2; i++) {
        const ir_op *chosen = end->in[i]->def;
        if (!chosen || chosen->code != OP_select || chosen->in[0] != &first->out[0]) return false;
        if (chosen->in[1] != body->args[i] || chosen->in[2] != body->args[i + 2]) return false;
    }
    return true;
}

/* Both results come from the element of each window where v is largest, and their cotangents go back there. */
static xt_status carried_along(grad_call *c) {
    window w = {0};
    XT_TRY(read_window(c, &w));
    if (!all_ones(w.base, w.rank) || !all_ones(w.dilation, w.rank)) return grad_fold_windows(c, &w);
    for (int i = 0; i < 2; i++)
        if (c->want[i] && c->d_out[i])
            c->d_in[i] = ir_select_and_scatter_max(c->b, c->op->in[0], c->d_out[i], w.size, w.strides, w.low, w.high);
    return NULL;
}

xt_status grad_reduce_window(grad_call *c) {
    const ir_op *op = c->op;
    if (carries(op)) return carried_along(c);
    ir_opcode code = op->n_in == 2 ? grad_region_op(op, 0) : OP_COUNT;
    bool known = code == OP_add || code == OP_maximum || code == OP_minimum || code == OP_multiply;
    window w = {0};
    XT_TRY(read_window(c, &w));
    if (!known || (c->want[1] && !ir_is_constant(op->in[1], NULL))) return grad_fold_windows(c, &w);
    if (!c->want[0]) return NULL;
    if (code == OP_add) return spread_windows(c, &w, c->d_out[0], &c->d_in[0]);
    if (code != OP_multiply) return window_extreme(c, &w, code == OP_maximum);
    return window_product(c, &w);
}

/* Each window of the operand sends its source element to its largest element, so the source receives what has arrived
 * there: the cotangent carried along through the same choice. */
xt_status grad_select_and_scatter(grad_call *c) {
    const ir_op *op = c->op;
    ir_builder *b = c->b;
    const ir_op *choose = op->regions[0].block ? op->regions[0].block->first : NULL;
    int64_t dir = choose && choose->code == OP_compare && choose->in[0] == op->regions[0].block->args[0]
                      ? ir_get_int(choose, IR_A_comparison_direction, -1)
                      : -1;
    if ((dir != IR_GE && dir != IR_LE) || grad_region_op(op, 1) != OP_add)
        return grad_refuse(c,
                           "only the gradients of max and min pooling (select by GE or LE, scatter by add) have one");
    window w = {0};
    XT_TRY(read_window(c, &w));
    ir_value *x = dir == IR_GE ? op->in[0] : ir_negate(b, op->in[0]), *d = c->d_out[0];
    if (c->want[2]) c->d_in[2] = grad_sum_all(b, d);
    if (!c->want[1]) return NULL;
    const ir_type *s = ir_scalar(x->type->dtype);
    ir_block *body = argmax_body(b, s);
    if (!body) return NULL;
    int64_t *pad;
    XT_TRY(grad_ints(c, 2 * w.rank, &pad));
    for (size_t i = 0; i < w.rank; i++) {
        pad[2 * i] = w.low[i];
        pad[2 * i + 1] = w.high[i];
    }
    ir_attr attrs[] = {
        ir_attr_ints(b, IR_A_window_dimensions, w.rank, w.size),
        ir_attr_ints(b, IR_A_window_strides, w.rank, w.strides),
        ir_attr_ints2(b, IR_A_padding, w.rank, 2, pad),
    };
    ir_value *in[4] = {x, d, ir_splat(b, s, -INFINITY), ir_splat(b, s, 0)};
    ir_op *pick = ir_build(b, OP_reduce_window, 4, in, BASE_COUNT(attrs), attrs, 1, &body, 0, NULL);
    c->d_in[1] = pick ? &pick->out[1] : NULL;
    return NULL;
}
