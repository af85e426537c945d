/* Elementwise functions of elementwise.h with three operands or with a number, and comparisons within a tolerance. */
#include <math.h>

#include "ops/expr.h"

/* Brings three to one shape and dtype; false after an error. */
static bool meet_three(const xt_src *src, const char *what, ir_builder *b, ir_value *v[3], xt_tensor *out) {
    if (!v[0] || !v[1] || !v[2]) {
        *out = lazy_wrap(NULL, what);
        return false;
    }
    xt_dtype t = ops_promote(ir_with_dtype(v[0]->type, ops_promote(v[0]->type, v[1]->type)), v[2]->type);
    for (int round = 0; round < 2; round++) /* the second round gives the first two the dims that the third brought */
        if (!ops_meet(src, what, b, t, &v[0], &v[1], out) || !ops_meet(src, what, b, t, &v[0], &v[2], out))
            return false;
    return true;
}

static xt_tensor ternary(const xt_src *src, const char *what,
                         ir_value *(*make)(ir_builder *, ir_value *, ir_value *, ir_value *), bool real, xt_tensor x,
                         xt_tensor y, xt_tensor z) {
    ir_builder *b = lazy_begin(src);
    ir_value *v[3] = {lazy_value(x), lazy_value(y), lazy_value(z)};
    xt_tensor failed;
    if (!meet_three(src, what, b, v, &failed)) return failed;
    if (real)
        for (int i = 0; i < 3; i++) v[i] = ops_float(b, v[i]);
    xt_dtype t = v[0] ? v[0]->type->dtype : XT_DTYPE_NONE;
    for (int i = 0; i < 3; i++) v[i] = ops_widen(b, v[i]);
    return lazy_wrap(ops_narrow(b, make(b, v[0], v[1], v[2]), t), what);
}

/* Exact at both ends of the weight. */
static ir_value *lerp(ir_builder *b, ir_value *x, ir_value *y, ir_value *w) {
    ir_value *d = ir_subtract(b, y, x);
    ir_value *from_x = ir_add(b, x, ir_multiply(b, w, d)),
             *from_y = ir_subtract(b, y, ir_multiply(b, d, ir_subtract(b, ex_num(b, w, 1), w)));
    return ex_pick(b, ex_is(b, w, IR_LT, 0.5), from_x, from_y);
}
static ir_value *multiply_add(ir_builder *b, ir_value *x, ir_value *y, ir_value *z) {
    return ir_add(b, x, ir_multiply(b, y, z));
}

xt_tensor xt_lerp_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_tensor weight) {
    return ternary(src, "xt_lerp", lerp, true, x, y, weight);
}
/* The dtype of a number beside these: as exact as the widest of them. */
static xt_dtype beside(size_t n, const xt_tensor *t) {
    for (size_t i = 0; i < n; i++) {
        const ir_type *type = lazy_type(t[i]);
        if (type && (type->dtype == XT_F64 || type->dtype == XT_C128)) return XT_F64;
    }
    return XT_F32;
}

xt_tensor xt_lerp_scalar_at(const xt_src *src, xt_tensor x, xt_tensor y, double weight) {
    const char *what = "xt_lerp_scalar";
    ir_value *w = ops_number(src, what, beside(2, (xt_tensor[]){x, y}), weight, NULL);
    ir_builder *b = lazy_begin(src);
    ir_value *vx = lazy_value(x), *vy = lazy_value(y);
    xt_tensor failed;
    if (!ops_meet(src, what, b, XT_DTYPE_NONE, &vx, &vy, &failed)) return failed;
    vx = ops_float(b, vx);
    vy = ops_float(b, vy);
    xt_dtype result = vx ? vx->type->dtype : XT_DTYPE_NONE;
    vx = ops_widen(b, vx);
    vy = ops_widen(b, vy);
    if (!vx || !vy) return lazy_wrap(NULL, what);
    w = ops_broadcast(b, ir_convert(b, w, vx->type->dtype), vx->type->rank, vx->type->dims);
    return lazy_wrap(ops_narrow(b, lerp(b, vx, vy, w), result), what);
}

/* x + value y z, or x + value y / z. Among integers a fraction is cut to a whole number, as in PyTorch. */
static xt_tensor add_product(const xt_src *src, const char *what, bool divide, xt_tensor x, xt_tensor y, xt_tensor z,
                             double value) {
    const ir_type *t = lazy_type(x);
    bool whole = t && ir_dtype_is_int(t->dtype) && !divide, constant;
    xt_dtype common = t ? t->dtype : XT_F32;
    for (int i = 0; i < 2 && whole; i++) {
        const ir_type *other = lazy_type(i ? z : y);
        if (other) common = ops_promote(ir_with_dtype(t, common), other);
        whole = other && ir_dtype_is_int(common);
    }
    xt_tensor failed;
    if (whole && !ops_number_fits(src, what, common, value, true, &failed)) return failed;
    if (whole) value = trunc(value);
    ir_value *k = ops_number(src, what, whole ? XT_I64 : beside(3, (xt_tensor[]){x, y, z}), value, &constant);
    if (constant && value == 1) k = NULL;
    ir_builder *b = lazy_begin(src);
    ir_value *v[3] = {lazy_value(x), lazy_value(y), lazy_value(z)};
    if (!meet_three(src, what, b, v, &failed)) return failed;
    if (divide || (k && !whole))
        for (int i = 0; i < 3; i++) v[i] = ops_float(b, v[i]);
    if (!v[0]) return lazy_wrap(NULL, what);
    xt_dtype result = v[0]->type->dtype;
    for (int i = 0; i < 3; i++) v[i] = ops_widen(b, v[i]);
    if (!v[0]) return lazy_wrap(NULL, what);
    if (k) k = ops_broadcast(b, ir_convert(b, k, v[0]->type->dtype), v[0]->type->rank, v[0]->type->dims);
    ir_value *scaled = k ? ir_multiply(b, v[1], k) : v[1];
    ir_value *r = divide ? ir_add(b, v[0], ir_divide(b, scaled, v[2])) : multiply_add(b, v[0], scaled, v[2]);
    return lazy_wrap(ops_narrow(b, r, result), what);
}
xt_tensor xt_addcmul_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_tensor z, double value) {
    return add_product(src, "xt_addcmul", false, x, y, z, value);
}
xt_tensor xt_addcdiv_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_tensor z, double value) {
    return add_product(src, "xt_addcdiv", true, x, y, z, value);
}

/* Bounds as tensors; either may be none. Where they cross, hi wins. */
xt_tensor xt_clamp_tensor_at(const xt_src *src, xt_tensor x, xt_tensor lo, xt_tensor hi) {
    const char *what = "xt_clamp_tensor";
    ir_builder *b = lazy_begin(src);
    if (xt_is_none(lo) && xt_is_none(hi))
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: both bounds are none; at least one is needed", what);
    ir_value *v[3] = {xt_is_none(lo) ? NULL : lazy_value(lo), lazy_value(x), xt_is_none(hi) ? NULL : lazy_value(hi)};
    xt_tensor failed;
    if (!v[1]) return lazy_wrap(NULL, what);
    if (ir_dtype_is_complex(v[1]->type->dtype))
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: complex numbers have no order", what);
    if (v[0] && v[2]) {
        if (!meet_three(src, what, b, v, &failed)) return failed;
        return lazy_wrap(ir_clamp(b, v[0], v[1], v[2]), what);
    }
    ir_value **bound = xt_is_none(lo) ? &v[2] : &v[0];
    if (!ops_meet(src, what, b, XT_DTYPE_NONE, &v[1], bound, &failed)) return failed;
    ir_value *inside = ir_compare(b, xt_is_none(lo) ? IR_LE : IR_GE, v[1], *bound);
    /* NaN stays */
    inside = v[1] && ir_dtype_is_float(v[1]->type->dtype) ? ir_or(b, inside, ir_compare(b, IR_NE, v[1], v[1])) : inside;
    return lazy_wrap(ex_pick(b, inside, v[1], *bound), what);
}

/* --- within a tolerance --- */
/* |x - y| <= atol + rtol |y|; infinities only equal themselves. */
xt_tensor xt_isclose_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_close_opts o) {
    ir_builder *b = lazy_begin(src);
    ir_value *vx = lazy_value(x), *vy = lazy_value(y);
    xt_tensor failed;
    if (!(o.rtol >= 0) || !(o.atol >= 0))
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_isclose: .rtol %g and .atol %g: neither may be negative",
                          o.rtol, o.atol);
    if (!ops_meet(src, "xt_isclose", b, XT_DTYPE_NONE, &vx, &vy, &failed)) return failed;
    double rtol = o.rtol, atol = o.atol;
    ir_value *same = ir_compare(b, IR_EQ, vx, vy);
    if (!vx || !same) return lazy_wrap(NULL, "xt_isclose");
    if (ir_dtype_is_complex(vx->type->dtype))
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_isclose: complex numbers; compare xt_view_as_real of both");
    bool floats = ir_dtype_is_float(vx->type->dtype);
    ir_value *nan =
        floats && o.equal_nan ? ir_and(b, ir_compare(b, IR_NE, vx, vx), ir_compare(b, IR_NE, vy, vy)) : NULL;
    ir_value *fx = floats ? vx : ir_convert(b, vx, XT_F64), *fy = floats ? vy : ir_convert(b, vy, XT_F64);
    ir_value *gap = ir_abs(b, ir_subtract(b, fx, fy)), *size = ir_abs(b, fy);
    ex_number share = ex_given(src, "xt_isclose", fx->type->dtype, rtol),
              least = ex_given(src, "xt_isclose", fx->type->dtype, atol);
    ir_value *allowed = ir_add(b, ir_multiply(b, size, ex_of(b, size, share)), ex_of(b, size, least));
    ir_value *near = ir_and(b, ir_compare(b, IR_LE, gap, allowed), ir_and(b, ir_is_finite(b, fx), ir_is_finite(b, fy)));
    ir_value *r = ir_or(b, same, near);
    return lazy_wrap(nan ? ir_or(b, r, nan) : r, "xt_isclose");
}
xt_tensor xt_allclose_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_close_opts o) {
    return xt_all_at(src, xt_isclose_at(src, x, y, o));
}
/* A truth value; false too when the shapes differ. */
xt_tensor xt_equal_at(const xt_src *src, xt_tensor x, xt_tensor y) {
    const ir_type *tx = lazy_type(x), *ty = lazy_type(y);
    if (tx && ty && !ops_same_dims(tx, ty)) return xt_full_at(src, 0, XT_BOOL, (int64_t[]){0});
    return xt_all_at(src, xt_eq_at(src, x, y));
}

xt_tensor xt_isin_at(const xt_src *src, xt_tensor x, xt_tensor set) {
    const ir_type *t = lazy_type(x);
    ops_text shape;
    if (t && t->rank == XT_MAX_RANK)
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_isin: x %s: one dim less is needed", ops_shape(t, &shape));
    xt_tensor same = xt_eq_at(src, xt_unsqueeze_at(src, x, -1), xt_flatten_at(src, set, 0, -1));
    return xt_any_axes_at(src, same, (xt_list){1, {-1}}, XT_OPTS(xt_reduce_opts, ));
}
