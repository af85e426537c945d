/* Short functions of PyTorch's about places and steps: combinations, flat places, numbers as quantized ones are. */
#include <math.h>

#include <xtrain/names.h>

#include "ops/expr.h"

/* --- combinations --- */
/* How many ways there are to choose r of n; -1: more than fit. */
static int64_t ways(int64_t n, int r) {
    double count = 1;
    if (r > n) return 0;
    for (int i = 1; i <= r; i++) count = count * (double)(n - r + i) / i;
    return count < 0x1p52 ? (int64_t)llround(count) : -1;
}

/* [ways,r]: the places, each row ascending, rows in order. All n^r tuples are looked at, as PyTorch does. */
static xt_tensor chosen(const xt_src *src, int64_t n, int r, bool again, int64_t count) {
    xt_tensor each[XT_MAX_RANK], at[XT_MAX_RANK], places;
    for (int i = 0; i < r; i++) each[i] = xt_arange_at(src, n, XT_I64);
    if (r == 1) return xt_unsqueeze_at(src, each[0], 1);
    if (!xt_meshgrid_at(src, r, each, false, at)) return lazy_failed_tensor(src);
    xt_tensor good = {0};
    for (int i = 1; i < r; i++) {
        xt_tensor up = again ? xt_le_at(src, at[i - 1], at[i]) : xt_lt_at(src, at[i - 1], at[i]);
        good = i == 1 ? up : xt_logical_and_at(src, good, up);
    }
    places = xt_nonzero_at(src, good, count, NULL);
    return places;
}

xt_tensor xt_combinations_at(const xt_src *src, xt_tensor x, int r, bool with_replacement) {
    static const char *const what = "xt_combinations";
    const ir_type *t = lazy_type(x);
    ops_text shape;
    if (!t) return lazy_failed_tensor(src);
    int64_t n = t->rank == 1 ? t->count : 0, count = ways(with_replacement && n ? n + r - 1 : n, r);
    if (t->rank != 1 || r < 1 || r > XT_MAX_RANK || count < 0 || (n && pow((double)n, r) > 0x1p40))
        return lazy_error(
            src, XT_INVALID_ARGUMENT,
            "%s: x %s, %d of them: expected a vector, 1 to %d of its elements, and fewer than 2^40 tuples", what,
            ops_shape(t, &shape), r, XT_MAX_RANK);
    if (count == 0) { /* [0,r] */
        xt_tensor none = xt_unsqueeze_at(src, xt_slice_at(src, x, 0, 0, 0), 1), columns[XT_MAX_RANK];
        for (int i = 0; i < r; i++) columns[i] = none;
        return xt_concat_at(src, r, columns, 1);
    }
    xt_tensor flat = xt_flatten_at(src, chosen(src, n, r, with_replacement, count), 0, -1);
    return xt_reshape_at(src, xt_index_select_at(src, x, 0, flat), (int64_t[]){count, r, 0});
}

/* --- flat places --- */
xt_tensor xt_put_at(const xt_src *src, xt_tensor x, xt_tensor index, xt_tensor values, xt_index_put_opts o) {
    static const char *const what = "xt_put";
    const ir_type *t = lazy_type(x), *i = lazy_type(index), *v = lazy_type(values);
    ops_text sx, si, sv;
    if (!t || !i || !v) return lazy_failed_tensor(src);
    if (i->count != v->count || !ir_dtype_is_int(i->dtype) || t->count == 0)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: x %s, index %s %s, values %s: expected elements, integers, and a value for each index",
                          what, ops_shape(t, &sx), xt_dtype_name(i->dtype), ops_shape(i, &si), ops_shape(v, &sv));
    xt_tensor at = xt_flatten_at(src, index, 0, -1);
    xt_tensor r = xt_index_put_at(src, xt_flatten_at(src, x, 0, -1), 1, &at, xt_flatten_at(src, values, 0, -1), o);
    return xt_view_as_at(src, r, x);
}

bool xt_unravel_index_at(const xt_src *src, xt_tensor index, xt_list dims, xt_tensor *out) {
    static const char *const what = "xt_unravel_index";
    const ir_type *t = lazy_type(index);
    int n = dims.n < 0 ? 0 : dims.n > XT_MAX_RANK ? XT_MAX_RANK : dims.n;
    bool fits = dims.n >= 1 && dims.n <= XT_MAX_RANK && t && ir_dtype_is_int(t->dtype);
    for (int i = 0; i < n; i++) fits &= dims.v[i] > 0;
    if (!fits) {
        if (t)
            lazy_error(src, XT_INVALID_ARGUMENT,
                       "%s: index is %s, %d dims: expected integers, and 1 to %d dims above 0", what,
                       xt_dtype_name(t->dtype), dims.n, XT_MAX_RANK);
        for (int i = 0; i < n; i++) out[i] = lazy_failed_tensor(src);
        return false;
    }
    xt_tensor rest = xt_cast_at(src, index, XT_I64);
    for (int i = n; i-- > 0;) {
        xt_tensor size = xt_full_like_at(src, rest, (double)dims.v[i]);
        out[i] = xt_remainder_at(src, rest, size);
        if (i) rest = xt_floor_divide_at(src, rest, size);
    }
    return true;
}

/* --- as quantized numbers are --- */
/* zero: how many steps 0 lies above the scale's own zero, of x's shape. Gradients reach x where it is in range. */
static xt_tensor quantized(const xt_src *src, xt_tensor x, xt_tensor scale, xt_tensor zero, int64_t low, int64_t high) {
    scale = xt_detach_at(src, scale);
    xt_tensor steps = xt_round_at(src, xt_mul_at(src, xt_detach_at(src, x), xt_reciprocal_at(src, scale)));
    steps = xt_add_at(src, steps, zero);
    xt_tensor least = xt_full_like_at(src, steps, (double)low), most = xt_full_like_at(src, steps, (double)high);
    xt_tensor inside = xt_logical_and_at(src, xt_ge_at(src, steps, least), xt_le_at(src, steps, most));
    xt_tensor kept = xt_minimum_at(src, xt_maximum_at(src, steps, least), most);
    xt_tensor y = xt_mul_at(src, xt_sub__at(src, kept, zero), scale);
    xt_tensor through = xt_where_at(src, inside, x, xt_full_like_at(src, x, 0));
    return xt_add_at(src, xt_detach_at(src, y), xt_sub__at(src, through, xt_detach_at(src, through)));
}

static bool quantizes(const xt_src *src, const char *what, const ir_type *t, int64_t low, int64_t high) {
    if (t && ir_dtype_is_float(t->dtype) && low <= 0 && high >= 0 && low < high) return true;
    if (t)
        lazy_error(src, XT_INVALID_ARGUMENT,
                   "%s: x is %s, steps from %lld to %lld: floats, and a range with 0 in it are expected", what,
                   xt_dtype_name(t->dtype), (long long)low, (long long)high);
    return false;
}

xt_tensor xt_fake_quantize_per_tensor_affine_at(const xt_src *src, xt_tensor x, double scale, int64_t zero_point,
                                                int64_t low, int64_t high) {
    static const char *const what = "xt_fake_quantize_per_tensor_affine";
    const ir_type *t = lazy_type(x);
    if (!quantizes(src, what, t, low, high)) return lazy_failed_tensor(src);
    if (!(scale > 0) || zero_point < low || zero_point > high)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: scale %g, zero point %lld: above 0, and within %lld to %lld are expected", what, scale,
                          (long long)zero_point, (long long)low, (long long)high);
    xt_tensor step = lazy_wrap(ops_number(src, what, t->dtype, scale, NULL), what);
    return quantized(src, x, step, xt_full_at(src, (double)zero_point, t->dtype, (int64_t[]){0}), low, high);
}

xt_tensor xt_fake_quantize_per_channel_affine_at(const xt_src *src, xt_tensor x, xt_tensor scale, xt_tensor zero_point,
                                                 int axis, int64_t low, int64_t high) {
    static const char *const what = "xt_fake_quantize_per_channel_affine";
    const ir_type *t = lazy_type(x), *s = lazy_type(scale), *z = lazy_type(zero_point);
    int64_t a, along[XT_MAX_RANK + 1] = {0};
    xt_tensor failed;
    ops_text sx, ss, sz;
    if (!s || !z || !quantizes(src, what, t, low, high)) return lazy_failed_tensor(src);
    if (!ops_axis(src, what, t, axis, &a, &failed)) return failed;
    if (s->rank != 1 || s->count != t->dims[a] || z->rank != 1 || z->count != s->count)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: x %s, scales %s, zero points %s: one of each for each channel of axis %lld is expected",
                          what, ops_shape(t, &sx), ops_shape(s, &ss), ops_shape(z, &sz), (long long)a);
    for (uint32_t i = 0; i < t->rank; i++) along[i] = (int64_t)i == a ? s->count : 1;
    scale = xt_reshape_at(src, xt_cast_at(src, scale, t->dtype), along);
    return quantized(src, x, scale, xt_reshape_at(src, xt_cast_at(src, zero_point, t->dtype), along), low, high);
}
