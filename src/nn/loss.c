/* Operands, checks and reductions of the losses. */
#include <math.h>

#include "nn/loss.h"

bool loss_open(loss *l, const xt_src *src, const char *what, int n, const xt_tensor *in, ir_value **out) {
    *l = (loss){src, what, lazy_begin(src), {0}};
    xt_dtype t = XT_F32;
    bool ok = true;
    for (int i = 0; i < n; i++) {
        out[i] = lazy_value(in[i]);
        ok = ok && out[i];
        if (out[i] && out[i]->type->dtype == XT_F64) t = XT_F64;
    }
    if (!ok) {
        l->failed = lazy_wrap(NULL, what);
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (ir_dtype_is_complex(out[i]->type->dtype)) {
            l->failed = lazy_error(src, XT_INVALID_ARGUMENT,
                                   "%s: an argument is complex; a loss is made of real numbers (xt_abs of it?)", what);
            return false;
        }
        out[i] = ir_convert(l->b, out[i], t);
    }
    return true;
}

bool loss_same_shape(loss *l, const ir_value *x, const ir_value *y, const char *name_x, const char *name_y) {
    const ir_type *tx = x->type, *ty = y->type;
    ops_text sx, sy;
    if (tx->rank == ty->rank && (tx->rank == 0 || memcmp(tx->dims, ty->dims, tx->rank * sizeof *tx->dims) == 0) &&
        tx->count > 0)
        return true;
    l->failed = lazy_error(
        l->src, XT_INVALID_ARGUMENT, "%s: %s %s and %s %s must have the same shape and at least one element%s", l->what,
        name_x, ops_shape(tx, &sx), name_y, ops_shape(ty, &sy),
        tx->count == ty->count && tx->count > 0 ? "; xt_unsqueeze, xt_squeeze or xt_reshape makes them alike" : "");
    return false;
}

bool loss_fit(loss *l, ir_value **w, const ir_value *x, const char *name) {
    size_t rank, bad;
    int64_t dims[XT_MAX_RANK];
    ops_text sx, sw;
    const ir_type *t = x->type;
    if (!ops_common_dims((*w)->type, t, &rank, dims, &bad) || rank != t->rank ||
        (rank && memcmp(dims, t->dims, rank * sizeof *dims) != 0)) {
        l->failed = lazy_error(l->src, XT_INVALID_ARGUMENT, "%s: .%s %s does not broadcast to %s", l->what, name,
                               ops_shape((*w)->type, &sw), ops_shape(t, &sx));
        return false;
    }
    *w = ops_broadcast(l->b, *w, rank, dims);
    return true;
}

bool loss_number(loss *l, const char *field, double v, double min, double max) {
    if (v >= min && v <= max) return true;
    l->failed = lazy_error(l->src, XT_INVALID_ARGUMENT, "%s: .%s = %g is out of range: expected %g to %g", l->what,
                           field, v, min, max);
    return false;
}

ex_number loss_made(loss *l, const ir_value *like, double v, double made) {
    ex_number n = like ? ex_made(l->src, l->what, like->type->dtype, v, made) : ex_constant(made);
    l->b = lazy_begin(l->src);
    return n;
}

ex_number loss_given(loss *l, const ir_value *like, double v) {
    return loss_made(l, like, v, v);
}

bool loss_reduction(loss *l, xt_reduce r, bool batch_mean) {
    if (r == XT_REDUCE_DEFAULT || r == XT_MEAN || r == XT_SUM || r == XT_NONE || (r == XT_BATCH_MEAN && batch_mean))
        return true;
    l->failed =
        lazy_error(l->src, XT_INVALID_ARGUMENT, "%s: .reduction = %d is out of range: expected XT_MEAN, XT_SUM%s",
                   l->what, (int)r, batch_mean ? ", XT_NONE or XT_BATCH_MEAN" : " or XT_NONE");
    return false;
}

xt_tensor loss_close(loss *l, ir_value *each, xt_reduce r) {
    if (!loss_reduction(l, r, false)) return l->failed;
    if (!each) return lazy_wrap(NULL, l->what);
    double count = (double)each->type->count;
    if (r == XT_NONE) return lazy_wrap(each, l->what);
    ir_value *sum = loss_sum_all(l->b, each);
    return lazy_wrap(r == XT_SUM || !sum ? sum : ir_divide(l->b, sum, loss_splat(l->b, sum, count)), l->what);
}

/* --- arithmetic --- */
ir_value *loss_splat(ir_builder *b, const ir_value *like, double v) {
    return like ? ir_splat(b, like->type, v) : NULL;
}
ir_value *loss_times(ir_builder *b, ir_value *x, double v) {
    return ir_multiply(b, x, loss_splat(b, x, v));
}
ir_value *loss_plus(ir_builder *b, ir_value *x, double v) {
    return ir_add(b, x, loss_splat(b, x, v));
}
ir_value *loss_where(ir_builder *b, ir_cmp_dir dir, ir_value *x, double v, ir_value *yes, ir_value *no) {
    return ir_select(b, ir_compare(b, dir, x, loss_splat(b, x, v)), yes, no);
}
ir_value *loss_positive(ir_builder *b, ir_value *x) {
    return loss_where(b, IR_LT, x, 0, loss_splat(b, x, 0), x); /* a NaN stays */
}

/* max(x, 0) + log1p(exp(-|x|)), written so that the derivative at 0 is 1/2. */
ir_value *loss_softplus(ir_builder *b, ir_value *x) {
    ir_value *low = loss_where(b, IR_GT, x, 0, ir_negate(b, x), x);
    return ir_add(b, loss_where(b, IR_GT, x, 0, x, loss_splat(b, x, 0)), ir_log_plus_one(b, ir_exponential(b, low)));
}

ir_value *loss_root(ir_builder *b, ir_value *x) {
    ir_value *safe = loss_where(b, IR_EQ, x, 0, loss_splat(b, x, 1), x);
    return loss_where(b, IR_EQ, x, 0, loss_splat(b, x, 0), ir_sqrt(b, safe));
}

ir_value *loss_raise(ir_builder *b, ir_value *x, ex_number least) {
    ir_value *floor = ex_of(b, x, least), *raised = ir_add(b, ir_subtract(b, x, loss_detach(b, x)), floor);
    return ir_select(b, ir_compare(b, IR_LT, x, floor), raised, x);
}

ir_value *loss_sum_all(ir_builder *b, ir_value *x) {
    int64_t axes[XT_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    return x && x->type->rank ? ir_reduce(b, OP_add, x, x->type->rank, axes) : ops_copy(b, x);
}
ir_value *loss_sum_axis(ir_builder *b, ir_value *x, int64_t axis) {
    return x ? ir_reduce(b, OP_add, x, 1, &axis) : NULL;
}

ir_value *loss_detach(ir_builder *b, ir_value *x) {
    ir_value *v = ops_copy(b, x);
    if (v) lazy_no_grad_value(v);
    return v;
}
