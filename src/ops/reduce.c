/* The public reductions: over everything, or over one axis. Integer sums are i64, means of integers f32; bf16 and f16
 * are summed in f32. */
#include <math.h>

#include "ops/ops.h"

ir_value *ops_reduce(ir_builder *b, ops_reduction kind, ir_value *x, size_t n, const int64_t *axes) {
    xt_dtype t = x->type->dtype;
    if (kind == OPS_MAX || kind == OPS_MIN) {
        if (n == 0) return ops_copy(b, x);
        bool truth = t == XT_BOOL;
        return ir_reduce(b,
                         truth             ? (kind == OPS_MAX ? OP_or : OP_and)
                         : kind == OPS_MAX ? OP_maximum
                                           : OP_minimum,
                         x, n, axes);
    }
    bool whole = t == XT_BOOL || ir_dtype_is_int(t);
    if (whole) x = ir_convert(b, x, kind == OPS_SUM ? XT_I64 : XT_F32);
    if (kind == OPS_SUM || !x) return ops_sum(b, x, n, axes);
    double count = 1;
    for (size_t i = 0; i < n; i++) count *= (double)x->type->dims[axes[i]];
    bool narrow = ir_dtype_is_float(t) && xt_dtype_size(t) < 4; /* divided before it is rounded */
    ir_value *sum = ops_sum(b, narrow ? ir_convert(b, x, XT_F32) : x, n, axes);
    ir_value *mean = sum ? ir_divide(b, sum, ir_splat(b, sum->type, count)) : NULL;
    return mean && narrow ? ir_convert(b, mean, t) : mean;
}

/* Whether there is a largest and a smallest element among `count`; false after an error. */
static bool has_extreme(const xt_src *src, const char *what, const ir_type *t, int64_t count, xt_tensor *out) {
    ops_text shape;
    if (ir_dtype_is_complex(t->dtype))
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: complex numbers have no order", what);
    else if (count == 0)
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: x %s has no elements, so there is no largest or smallest",
                          what, ops_shape(t, &shape));
    else
        return true;
    return false;
}

static xt_tensor over_all(const xt_src *src, const char *what, ops_reduction kind, xt_tensor x) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, what);
    if ((kind == OPS_MAX || kind == OPS_MIN) && !has_extreme(src, what, v->type, v->type->count, &failed))
        return failed;
    int64_t axes[XT_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    return lazy_wrap(ops_reduce(b, kind, v, v->type->rank, axes), what);
}

static xt_tensor over_axis(const xt_src *src, const char *what, ops_reduction kind, xt_tensor x, int axis) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    int64_t a;
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, what);
    if (!ops_axis(src, what, v->type, axis, &a, &failed)) return failed;
    if (kind == OPS_MAX && !has_extreme(src, what, v->type, v->type->dims[a], &failed)) return failed;
    return lazy_wrap(ops_reduce(b, kind, v, 1, &a), what);
}

xt_tensor xt_sum_at(const xt_src *src, xt_tensor x) {
    return over_all(src, "xt_sum", OPS_SUM, x);
}
xt_tensor xt_mean_at(const xt_src *src, xt_tensor x) {
    return over_all(src, "xt_mean", OPS_MEAN, x);
}
xt_tensor xt_max_at(const xt_src *src, xt_tensor x) {
    return over_all(src, "xt_max", OPS_MAX, x);
}
xt_tensor xt_min_at(const xt_src *src, xt_tensor x) {
    return over_all(src, "xt_min", OPS_MIN, x);
}
xt_tensor xt_sum_axis_at(const xt_src *src, xt_tensor x, int axis) {
    return over_axis(src, "xt_sum_axis", OPS_SUM, x, axis);
}
xt_tensor xt_mean_axis_at(const xt_src *src, xt_tensor x, int axis) {
    return over_axis(src, "xt_mean_axis", OPS_MEAN, x, axis);
}
xt_tensor xt_max_axis_at(const xt_src *src, xt_tensor x, int axis) {
    return over_axis(src, "xt_max_axis", OPS_MAX, x, axis);
}

/* The body of an argmax or argmin: of (value, index) pairs the more extreme value wins, NaN before all, the smaller
 * index among equals. The form is JAX's. */
static ir_block *extreme_body(ir_builder *b, ir_cmp_dir further, const ir_type *value, const ir_type *index) {
    ir_block *body = ir_block_new(b->m);
    if (!body) return NULL;
    ir_value *x = ir_block_arg(b->m, body, value), *i = ir_block_arg(b->m, body, index);
    ir_value *y = ir_block_arg(b->m, body, value), *j = ir_block_arg(b->m, body, index);
    ir_builder in = ir_at_end(b->m, body);
    in.src = b->src;
    in.path = b->path;
    ir_value *wins = ir_or(&in, ir_compare(&in, further, x, y), ir_compare(&in, IR_NE, x, x));
    ir_value *tie = ir_and(&in, ir_compare(&in, IR_EQ, x, y), ir_compare(&in, IR_LT, i, j));
    ir_value *first = ir_or(&in, wins, tie);
    ir_value *result[2] = {ir_select(&in, wins, x, y), ir_select(&in, first, i, j)};
    ir_return(&in, 2, result);
    if (!in.status) return body;
    if (b->status)
        xt_status_free(in.status);
    else
        b->status = in.status;
    return NULL;
}

/* What every value of the type is at least, or at most. */
static ir_value *bound(ir_builder *b, xt_dtype t, bool least) {
    if (ir_dtype_is_float(t)) return ir_splat(b, ir_scalar(t), least ? -INFINITY : INFINITY);
    int bits = 8 * (int)xt_dtype_size(t);
    if (ir_dtype_is_signed(t)) {
        ir_value *lowest = ir_splat(b, ir_scalar(t), -ldexp(1, bits - 1));
        return least ? lowest : ir_not(b, lowest);
    }
    ir_value *zero = ir_splat(b, ir_scalar(t), 0);
    return least ? zero : ir_not(b, zero);
}

ir_value *ops_arg_extreme(ir_builder *b, ir_value *v, int64_t a, bool least) {
    if (v && v->type->dtype == XT_BOOL) v = ir_convert(b, v, XT_I32);
    if (!v) return NULL;
    xt_dtype t = v->type->dtype;
    ir_value *positions = ops_positions(b, v->type, a);
    if (!positions) return NULL;
    const ir_type *index = ir_scalar(positions->type->dtype);
    ir_block *body = extreme_body(b, least ? IR_LT : IR_GT, ir_scalar(t), index);
    if (!body) return NULL;
    ir_attr attr = ir_attr_ints(b, IR_A_dimensions, 1, &a);
    ir_value *in[4] = {v, positions, bound(b, t, !least), ir_splat(b, index, 0)};
    ir_op *op = ir_build(b, OP_reduce, 4, in, 1, &attr, 1, &body, 0, NULL);
    return op ? &op->out[1] : NULL;
}

static xt_tensor arg_extreme(const xt_src *src, const char *what, xt_tensor x, int axis, bool least) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    int64_t a;
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, what);
    if (!ops_axis(src, what, v->type, axis, &a, &failed)) return failed;
    if (!has_extreme(src, what, v->type, v->type->dims[a], &failed)) return failed;
    ir_value *i = ops_arg_extreme(b, v, a, least);
    return lazy_wrap(i ? ir_convert(b, i, XT_I64) : NULL, what);
}
xt_tensor xt_argmax_at(const xt_src *src, xt_tensor x, int axis) {
    return arg_extreme(src, "xt_argmax", x, axis, false);
}
xt_tensor xt_argmin_at(const xt_src *src, xt_tensor x, int axis) {
    return arg_extreme(src, "xt_argmin", x, axis, true);
}

/* The gradient of the value goes to the one element that the index names. */
static void with_index(const xt_src *src, const char *what, xt_tensor x, int axis, bool least, xt_tensor *out_values,
                       xt_tensor *out_indices) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x), *i = NULL;
    int64_t a = 0;
    xt_tensor failed = {0};
    if (v && v->type->rank == 0 && (axis == 0 || axis == -1)) v = ir_reshape(b, v, 1, (int64_t[]){1});
    if (v && ops_axis(src, what, v->type, axis, &a, &failed) &&
        has_extreme(src, what, v->type, v->type->dims[a], &failed))
        i = ops_arg_extreme(b, v, a, least);
    if (failed.slot) {
        *out_values = *out_indices = failed;
        return;
    }
    ir_value *picked = i ? ops_gather_axis(b, v, a, ops_unsqueeze(b, i, a)) : NULL;
    *out_indices = lazy_wrap(i ? ir_convert(b, i, XT_I64) : NULL, what);
    *out_values = lazy_wrap(picked ? ir_reshape(b, picked, i->type->rank, i->type->dims) : NULL, what);
}
void xt_max_with_index_at(const xt_src *src, xt_tensor x, int axis, xt_tensor *out_values, xt_tensor *out_indices) {
    with_index(src, "xt_max_with_index", x, axis, false, out_values, out_indices);
}
void xt_min_with_index_at(const xt_src *src, xt_tensor x, int axis, xt_tensor *out_values, xt_tensor *out_indices) {
    with_index(src, "xt_min_with_index", x, axis, true, out_values, out_indices);
}
