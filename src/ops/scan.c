/* Running totals along an axis: after step k each element holds what the 2^k elements up to it combine to (Hillis and
 * Steele 1986), so a scan of n is log2(n) elementwise steps, every one with a derivative of its own. */
#include <math.h>

#include "ops/expr.h"

typedef struct scan {
    ir_builder *b;
    int64_t axis, n;
} scan;

/* x moved `by` places along the axis; `fill` comes in at the front. */
static ir_value *moved(scan *s, ir_value *x, int64_t by, double fill) {
    int64_t low[XT_MAX_RANK] = {0}, none[XT_MAX_RANK] = {0};
    if (!x) return NULL;
    low[s->axis] = by;
    return ir_pad(s->b, ops_part(s->b, x, s->axis, 0, s->n - by), ir_splat(s->b, ir_scalar(x->type->dtype), fill), low,
                  none, none);
}

static ir_value *log_add(ir_builder *b, ir_value *x, ir_value *y) {
    ir_value *m = ir_maximum(b, x, y);
    m = ex_detach(b, ex_keep(b, ir_is_finite(b, m), m, 0));
    ir_value *sum = ir_add(b, ir_exponential(b, ir_subtract(b, x, m)), ir_exponential(b, ir_subtract(b, y, m)));
    ir_value *none = ex_is(b, sum, IR_EQ, 0); /* minus infinity plus minus infinity, without a slope */
    return ir_add(b, ex_keep(b, ir_not(b, none), ir_log(b, ex_pick(b, none, ex_num(b, sum, 1), sum)), -INFINITY), m);
}

typedef struct running {
    const char *what;
    ops_binary_fn combine;
    double identity;
    bool floats, divides;
} running;

static xt_tensor run(const xt_src *src, const running *r, xt_tensor x, int axis) {
    scan s = {.b = lazy_begin(src)};
    ir_value *v = lazy_value(x);
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, r->what);
    if (v->type->rank && !ops_axis(src, r->what, v->type, axis, &s.axis, &failed)) return failed;
    if (r->floats && ir_dtype_is_complex(v->type->dtype))
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: x is %s: complex numbers have no order", r->what,
                          xt_dtype_name(v->type->dtype));
    xt_dtype t = v->type->dtype;
    if (r->floats)
        v = ops_float(s.b, v);
    else if (t == XT_BOOL || ir_dtype_is_int(t))
        v = ir_convert(s.b, v, XT_I64);
    t = v ? v->type->dtype : t;
    if (ir_dtype_is_float(t) && xt_dtype_size(t) < 4) v = ir_convert(s.b, v, XT_F32);
    if (!v) return lazy_wrap(NULL, r->what);
    if (v->type->rank == 0 || v->type->count == 0) return lazy_wrap(ops_copy(s.b, v), r->what);
    s.n = v->type->dims[s.axis];
    ir_value *y = v;
    if (r->divides && ir_dtype_is_float(t) && s.n > 1) { /* PyTorch divides what it has multiplied */
        ir_value *nan = ir_compare(s.b, IR_NE, v, v);
        y = ex_pick(s.b, nan, ex_unknown(s.b, nan, v), v);
    }
    for (int64_t by = 1; by < s.n && y; by *= 2) y = r->combine(s.b, moved(&s, y, by, r->identity), y);
    if (y == v) y = ops_copy(s.b, y);
    return lazy_wrap(y ? ir_convert(s.b, y, t) : NULL, r->what);
}

xt_tensor xt_cumsum_at(const xt_src *src, xt_tensor x, int axis) {
    return run(src, &(running){"xt_cumsum", ir_add, 0, false, false}, x, axis);
}
xt_tensor xt_cumprod_at(const xt_src *src, xt_tensor x, int axis) {
    return run(src, &(running){"xt_cumprod", ir_multiply, 1, false, true}, x, axis);
}
xt_tensor xt_logcumsumexp_at(const xt_src *src, xt_tensor x, int axis) {
    return run(src, &(running){"xt_logcumsumexp", log_add, -INFINITY, true, false}, x, axis);
}

/* --- running extremes --- */
static ir_value *least_of(ir_builder *b, const ir_type *t, bool most) {
    if (ir_dtype_is_float(t->dtype)) return ir_splat(b, ir_scalar(t->dtype), most ? INFINITY : -INFINITY);
    static const int bits[] = {0, 8, 16, 0, 32, 0, 0, 0, 64};
    int n = bits[xt_dtype_size(t->dtype)];
    bool is_signed = ir_dtype_is_signed(t->dtype);
    uint64_t all = n == 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1, v = is_signed ? (most ? all >> 1 : (all >> 1) + 1)
                                                                      : most    ? all
                                                                                : 0;
    return ir_constant(b, ir_scalar(t->dtype), &v); /* little-endian, as every machine this runs on */
}

/* Each element folded with all before it; the identity comes in at the front. */
static ir_value *fold_before(scan *s, ir_value *x, bool least) {
    ir_value *identity = least_of(s->b, x->type, least);
    int64_t low[XT_MAX_RANK] = {0}, none[XT_MAX_RANK] = {0};
    for (int64_t by = 1; by < s->n && x && identity; by *= 2) {
        low[s->axis] = by;
        ir_value *before = ir_pad(s->b, ops_part(s->b, x, s->axis, 0, s->n - by), identity, low, none, none);
        x = least ? ir_minimum(s->b, before, x) : ir_maximum(s->b, before, x);
    }
    return x;
}

/* Positions of the extreme so far: the later of equals, and NaN once it was met. An element that equals the running
 * extreme is its newest holder. */
static ir_value *running_extreme(scan *s, ir_value *x, bool least) {
    ir_builder *b = s->b;
    ir_value *holds = ir_compare(b, IR_EQ, x, fold_before(s, x, least)), *at = ops_positions(b, x->type, s->axis);
    if (ir_dtype_is_float(x->type->dtype)) holds = ir_or(b, holds, ir_compare(b, IR_NE, x, x));
    return at && holds ? fold_before(s, ex_pick(b, holds, at, ex_num(b, at, 0)), false) : NULL;
}

static void extremes(const xt_src *src, const char *what, xt_tensor x, int axis, bool least, xt_tensor *out_values,
                     xt_tensor *out_indices) {
    scan s = {.b = lazy_begin(src)};
    ir_value *v = lazy_value(x);
    xt_tensor failed = {0};
    if (v && ir_dtype_is_complex(v->type->dtype))
        failed = lazy_error(src, XT_INVALID_ARGUMENT, "%s: complex numbers have no order", what);
    else if (v)
        ops_axis(src, what, v->type, axis, &s.axis, &failed);
    if (failed.slot) {
        *out_values = *out_indices = failed;
        return;
    }
    s.n = v ? v->type->dims[s.axis] : 0;
    ir_value *key = v && v->type->dtype == XT_BOOL ? ir_convert(s.b, v, XT_I32) : v;
    ir_value *at = key ? running_extreme(&s, key, least) : NULL;
    ir_value *values = at ? ops_gather_axis(s.b, v, s.axis, at) : NULL;
    *out_indices = lazy_wrap(at ? ir_convert(s.b, at, XT_I64) : NULL, what);
    *out_values = lazy_wrap(values, what);
}
void xt_cummax_at(const xt_src *src, xt_tensor x, int axis, xt_tensor *out_values, xt_tensor *out_indices) {
    extremes(src, "xt_cummax", x, axis, false, out_values, out_indices);
}
void xt_cummin_at(const xt_src *src, xt_tensor x, int axis, xt_tensor *out_values, xt_tensor *out_indices) {
    extremes(src, "xt_cummin", x, axis, true, out_values, out_indices);
}

/* Differences of neighbours, n times. */
xt_tensor xt_diff_at(const xt_src *src, xt_tensor x, int n, int axis) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    int64_t a;
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, "xt_diff");
    if (!ops_axis(src, "xt_diff", v->type, axis, &a, &failed)) return failed;
    if (n < 0) return lazy_error(src, XT_INVALID_ARGUMENT, "xt_diff: n is %d: it must not be negative", n);
    if (n == 0) return lazy_wrap(ops_copy(b, v), "xt_diff");
    if (v->type->dims[a] == 0) return lazy_wrap(ops_copy(b, v), "xt_diff");
    for (int i = 0; i < n && v && v->type->dims[a] > 0; i++) {
        int64_t size = v->type->dims[a], from = 1, to = size - 1;
        ir_value *later = ops_part(b, v, a, from, size), *earlier = ops_part(b, v, a, 0, to);
        v = v->type->dtype == XT_BOOL ? ir_xor(b, later, earlier) : ir_subtract(b, later, earlier);
    }
    return lazy_wrap(v, "xt_diff");
}
