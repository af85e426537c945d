/* The public reductions: over everything, or over one axis. Integer sums are i64, means of integers f32; bf16 and f16 are summed in f32. */
#include <math.h>

#include "lazy/ops.h"

typedef enum reduction { SUM, MEAN, MAX, MIN } reduction;

static ir_value *reduce(ir_builder *b, reduction kind, ir_value *x, size_t n, const int64_t *axes) {
    xt_dtype t = x->type->dtype;
    if (kind == MAX || kind == MIN) {
        if (n == 0) return ops_copy(b, x);
        bool truth = t == XT_BOOL;
        return ir_reduce(b, truth ? (kind == MAX ? OP_or : OP_and) : kind == MAX ? OP_maximum : OP_minimum, x, n, axes);
    }
    bool whole = t == XT_BOOL || ir_dtype_is_int(t);
    if (whole) x = ir_convert(b, x, kind == SUM ? XT_I64 : XT_F32);
    if (kind == SUM || !x) return ops_sum(b, x, n, axes);
    double count = 1;
    for (size_t i = 0; i < n; i++) count *= (double)x->type->dims[axes[i]];
    bool narrow = ir_dtype_is_float(t) && xt_dtype_size(t) < 4; /* divided before it is rounded */
    ir_value *sum = ops_sum(b, narrow ? ir_convert(b, x, XT_F32) : x, n, axes);
    ir_value *mean = sum ? ir_divide(b, sum, ir_splat(b, sum->type, count)) : NULL;
    return mean && narrow ? ir_convert(b, mean, t) : mean;
}

static bool has_extreme(const xt_src *src, const char *what, const ir_type *t, xt_tensor *out) {
    ops_text shape;
    if (ir_dtype_is_complex(t->dtype))
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: complex numbers have no order", what);
    else if (t->count == 0)
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: x %s has no elements, so there is no largest or smallest", what, ops_shape(t, &shape));
    else
        return true;
    return false;
}

static xt_tensor over_all(const xt_src *src, const char *what, reduction kind, xt_tensor x) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, what);
    if ((kind == MAX || kind == MIN) && !has_extreme(src, what, v->type, &failed)) return failed;
    int64_t axes[XT_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    return lazy_wrap(reduce(b, kind, v, v->type->rank, axes), what);
}

static xt_tensor over_axis(const xt_src *src, const char *what, reduction kind, xt_tensor x, int axis) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    int64_t a;
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, what);
    if (!ops_axis(src, what, v->type, axis, &a, &failed)) return failed;
    if (kind == MAX && v->type->dims[a] == 0 && !has_extreme(src, what, v->type, &failed)) return failed;
    return lazy_wrap(reduce(b, kind, v, 1, &a), what);
}

xt_tensor xt_sum_at(const xt_src *src, xt_tensor x) {
    return over_all(src, "xt_sum", SUM, x);
}
xt_tensor xt_mean_at(const xt_src *src, xt_tensor x) {
    return over_all(src, "xt_mean", MEAN, x);
}
xt_tensor xt_max_at(const xt_src *src, xt_tensor x) {
    return over_all(src, "xt_max", MAX, x);
}
xt_tensor xt_min_at(const xt_src *src, xt_tensor x) {
    return over_all(src, "xt_min", MIN, x);
}
xt_tensor xt_sum_axis_at(const xt_src *src, xt_tensor x, int axis) {
    return over_axis(src, "xt_sum_axis", SUM, x, axis);
}
xt_tensor xt_mean_axis_at(const xt_src *src, xt_tensor x, int axis) {
    return over_axis(src, "xt_mean_axis", MEAN, x, axis);
}
xt_tensor xt_max_axis_at(const xt_src *src, xt_tensor x, int axis) {
    return over_axis(src, "xt_max_axis", MAX, x, axis);
}

/* The body of an argmax: of (value, index) pairs the larger value wins, NaN before all, the smaller index among equals. The form is JAX's. */
static ir_block *argmax_body(ir_builder *b, const ir_type *value, const ir_type *index) {
    ir_block *body = ir_block_new(b->m);
    if (!body) return NULL;
    ir_value *x = ir_block_arg(b->m, body, value), *i = ir_block_arg(b->m, body, index);
    ir_value *y = ir_block_arg(b->m, body, value), *j = ir_block_arg(b->m, body, index);
    ir_builder in = ir_at_end(b->m, body);
    in.src = b->src;
    in.path = b->path;
    ir_value *larger = ir_or(&in, ir_compare(&in, IR_GT, x, y), ir_compare(&in, IR_NE, x, x));
    ir_value *tie = ir_and(&in, ir_compare(&in, IR_EQ, x, y), ir_compare(&in, IR_LT, i, j));
    ir_value *first = ir_or(&in, larger, tie);
    ir_value *result[2] = {ir_select(&in, larger, x, y), ir_select(&in, first, i, j)};
    ir_return(&in, 2, result);
    if (!in.status) return body;
    if (b->status)
        xt_status_free(in.status);
    else
        b->status = in.status;
    return NULL;
}

static ir_value *lowest(ir_builder *b, xt_dtype t) {
    if (ir_dtype_is_float(t)) return ir_splat(b, ir_scalar(t), -INFINITY);
    return ir_splat(b, ir_scalar(t), ir_dtype_is_signed(t) ? -ldexp(1, 8 * (int)xt_dtype_size(t) - 1) : 0);
}

xt_tensor xt_argmax_at(const xt_src *src, xt_tensor x, int axis) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    int64_t a;
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, "xt_argmax");
    if (!ops_axis(src, "xt_argmax", v->type, axis, &a, &failed)) return failed;
    if (!has_extreme(src, "xt_argmax", v->type, &failed)) return failed;
    if (v->type->dtype == XT_BOOL) v = ir_convert(b, v, XT_I32);
    if (!v) return lazy_wrap(NULL, "xt_argmax");
    xt_dtype t = v->type->dtype;
    ir_block *body = argmax_body(b, ir_scalar(t), ir_scalar(XT_I32));
    if (!body) return lazy_wrap(NULL, "xt_argmax");
    ir_attr attr = ir_attr_ints(b, IR_A_dimensions, 1, &a);
    ir_value *in[4] = {v, ir_iota(b, ir_with_dtype(v->type, XT_I32), a), lowest(b, t), ir_splat(b, ir_scalar(XT_I32), 0)};
    ir_op *op = ir_build(b, OP_reduce, 4, in, 1, &attr, 1, &body, 0, NULL);
    return lazy_wrap(op ? ir_convert(b, &op->out[1], XT_I64) : NULL, "xt_argmax");
}
