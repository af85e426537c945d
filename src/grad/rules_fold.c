/* Reductions and window reductions by any computation: taken apart into elementwise ops on whole tensors, and those are
 * differentiated.
 *
 * Along each dim, windows of 1, 2, 4, ... elements are combined from two neighbours of half the size, and a window of
 * any size from those that its binary digits name: the number of ops grows with the logarithm of the window. This folds
 * in another order than the op may, which StableHLO leaves open; the computation is associative, and the initial value
 * its identity, or the op itself would have no one result. */
#include "grad/grad_int.h"

xt_status grad_apply_scalars(grad_call *c, const ir_block *body, const ir_type *like, ir_value *const *args,
                             ir_value **out_results) {
    ir_builder *b = c->b;
    const ir_op *end = ir_block_return(body);
    ir_value **made, **in;
    size_t n = 0;
    for (const ir_op *o = body->first; o; o = o->next) n++;
    XT_TRY(grad_values(c, n, &made));
    n = 0;
    for (const ir_op *o = body->first; o; o = o->next, n++) {
        bool plain =
            o->n_out == 1 && !o->n_regions && ((ir_op_infos[o->code].flags & IR_ELEMENTWISE) || o->code == OP_constant);
        if (o != end && !plain) return grad_refuse(c, "its computation has more than elementwise ops");
        XT_TRY(grad_values(c, o->n_in, &in));
        for (size_t i = 0; i < o->n_in; i++) {
            ir_value *v = o->in[i];
            size_t at = 0;
            if (!v->def && v->block == body)
                in[i] = args[v->index];
            else if (!grad_within(v, body))
                in[i] = ir_broadcast_scalar(b, v, ir_with_dtype(like, v->type->dtype));
            else {
                for (const ir_op *p = body->first; p != v->def; p = p->next) at++;
                in[i] = made[at];
            }
        }
        if (o == end) {
            memcpy(out_results, in, o->n_in * sizeof *in);
            return NULL;
        }
        /* convert's result type is not in its operands */
        const ir_type *full = ir_with_dtype(like, o->out[0].type->dtype);
        ir_op *copy = ir_build(b, o->code, o->n_in, in, o->n_attrs, o->attrs, 0, NULL, o->code != OP_constant, &full);
        made[n] = copy ? &copy->out[0] : NULL;
        if (o->code == OP_constant) made[n] = ir_broadcast_scalar(b, made[n], full);
        if (!made[n]) return NULL; /* the builder says why */
    }
    return NULL;
}

xt_status grad_map(grad_call *c) {
    ir_value *y = NULL;
    const ir_op *stop = grad_last_op(c->b);
    XT_TRY(grad_apply_scalars(c, c->op->regions[0].block, c->op->out[0].type, c->op->in, &y));
    return grad_through(c, stop, &y);
}

typedef struct fold {
    grad_call *c;
    size_t n; /* tensors that are folded together */
    ir_value **x;
} fold;

static xt_status combine(fold *f, ir_value *const *left, ir_value *const *right, ir_value **out) {
    ir_value **args;
    XT_TRY(grad_values(f->c, 2 * f->n, &args));
    for (size_t i = 0; i < f->n; i++) {
        if (!left[i] || !right[i]) return NULL;
        args[i] = left[i];
        args[f->n + i] = right[i];
    }
    return grad_apply_scalars(f->c, f->c->op->regions[0].block, left[0]->type, args, out);
}

/* x[from, from + length) along a dim, every `step`-th. */
static ir_value *part(fold *f, ir_value *x, size_t dim, int64_t from, int64_t length, int64_t step) {
    int64_t start[IR_MAX_RANK] = {0}, limit[IR_MAX_RANK], stride[IR_MAX_RANK];
    if (!x) return NULL;
    for (size_t i = 0; i < x->type->rank; i++) {
        limit[i] = x->type->dims[i];
        stride[i] = 1;
    }
    start[dim] = from;
    limit[dim] = from + length;
    stride[dim] = step;
    return ir_slice(f->c->b, x, start, limit, stride);
}

static xt_status fold_dim(fold *f, size_t dim, int64_t window, int64_t dilation, int64_t stride) {
    ir_value **now, **left, **right, **sum = NULL;
    XT_TRY(grad_values(f->c, f->n, &now));
    XT_TRY(grad_values(f->c, f->n, &left));
    XT_TRY(grad_values(f->c, f->n, &right));
    memcpy(now, f->x, f->n * sizeof *now);
    if (!now[0]) return NULL;
    int64_t length = now[0]->type->dims[dim], results = length - (window - 1) * dilation, at = 0;
    for (int64_t size = 1; size <= window; size *= 2) { /* now: windows of `size` elements */
        if (window & size) {
            for (size_t i = 0; i < f->n; i++) right[i] = part(f, now[i], dim, at * dilation, results, 1);
            if (!sum) {
                XT_TRY(grad_values(f->c, f->n, &sum));
                memcpy(sum, right, f->n * sizeof *sum);
            } else
                XT_TRY(combine(f, sum, right, sum));
            at += size;
        }
        if (2 * size > window) break;
        int64_t shorter = length - (2 * size - 1) * dilation;
        for (size_t i = 0; i < f->n; i++) {
            left[i] = part(f, now[i], dim, 0, shorter, 1);
            right[i] = part(f, now[i], dim, size * dilation, shorter, 1);
        }
        XT_TRY(combine(f, left, right, now));
    }
    for (size_t i = 0; i < f->n; i++) f->x[i] = stride == 1 ? sum[i] : part(f, sum[i], dim, 0, results, stride);
    return NULL;
}

/* The initial values are folded in, and the results get their shapes. */
static xt_status finish(fold *f, const ir_op *stop) {
    grad_call *c = f->c;
    ir_value **init;
    XT_TRY(grad_values(c, f->n, &init));
    for (size_t i = 0; i < f->n; i++) {
        f->x[i] = grad_reshape_to(c->b, f->x[i], c->op->out[i].type);
        init[i] = ir_broadcast_scalar(c->b, c->op->in[f->n + i],
                                      ir_with_dtype(c->op->out[i].type, c->op->in[f->n + i]->type->dtype));
    }
    XT_TRY(combine(f, init, f->x, f->x));
    return grad_through(c, stop, f->x);
}

static xt_status begin(grad_call *c, fold *f) {
    f->c = c;
    f->n = c->op->n_out;
    XT_TRY(grad_values(c, f->n, &f->x));
    memcpy(f->x, c->op->in, f->n * sizeof *f->x);
    return NULL;
}

xt_status grad_fold_dims(grad_call *c) {
    const ir_op *op = c->op, *stop = grad_last_op(c->b);
    size_t n;
    const int64_t *dims = ir_get_ints(op, IR_A_dimensions, &n);
    fold f;
    if (op->in[0]->type->count == 0) return NULL;
    XT_TRY(begin(c, &f));
    for (size_t i = 0; i < n; i++) XT_TRY(fold_dim(&f, (size_t)dims[i], op->in[0]->type->dims[dims[i]], 1, 1));
    return finish(&f, stop);
}

xt_status grad_fold_windows(grad_call *c, const grad_window *w) {
    const ir_op *op = c->op, *stop = grad_last_op(c->b);
    int64_t *interior;
    fold f;
    if (op->out[0].type->count == 0 || op->in[0]->type->count == 0) return NULL;
    XT_TRY(begin(c, &f));
    XT_TRY(grad_ints(c, w->rank, &interior));
    for (size_t i = 0; i < w->rank; i++) interior[i] = w->base[i] - 1;
    for (size_t i = 0; i < f.n; i++) f.x[i] = ir_pad(c->b, f.x[i], op->in[f.n + i], w->low, w->high, interior);
    for (size_t d = 0; d < w->rank; d++) XT_TRY(fold_dim(&f, d, w->size[d], w->dilation[d], w->strides[d]));
    return finish(&f, stop);
}
