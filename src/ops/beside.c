/* Functions of two tensors where a number stands for one of them (XT_TWO_ in tensor.h chooses these forms). What the
 * compiler folds well, sums and products with a constant, is in elementwise.c. */
#include <math.h>

#include "ops/number.h"

/* FITS: the number has the dtype of the result, which has to hold it (a float may become infinite). WRAPS: and whole
 * numbers wrap. COMPARES: it keeps its value, so integers are compared as what they are with a whole one, as f32 with a
 * fraction. DIVIDES: the result is a fraction. */
typedef enum use { FITS, WRAPS, COMPARES, DIVIDES } use;
static xt_dtype dtype_of_number(use u, xt_dtype t, double v) {
    bool floats = ir_dtype_is_float(t) || ir_dtype_is_complex(t);
    if (u == FITS || u == WRAPS) return ops_beside_number(t, v);
    if (u == DIVIDES) return floats ? t : XT_F32;
    if (t == XT_F16 && !(fabs(v) <= 65504)) return XT_F32;
    return floats ? t : fabs(v) < 0x1p63 && v == rint(v) ? XT_I64 : XT_F32;
}

/* The number as a tensor without dims; an error where its value is none of that dtype. */
static xt_tensor number_of(const xt_src *src, const char *what, xt_tensor x, double v, use u) {
    const ir_type *t = lazy_type(x);
    if (!t) return lazy_failed_tensor(src);
    xt_dtype dtype = dtype_of_number(u, t->dtype, v);
    xt_tensor failed;
    if (u == FITS && ir_dtype_is_int(dtype) && !ops_number_fits(src, what, dtype, v, true, &failed)) return failed;
    lazy_begin(src);
    return lazy_wrap(ops_number(src, what, dtype, v, NULL), what);
}

#define BEHIND(form, fn, what, u)                              \
    xt_tensor form(const xt_src *src, xt_tensor x, double v) { \
        return fn(src, x, number_of(src, what, x, v, u));      \
    }
#define BEFORE(form, fn, what, u)                              \
    xt_tensor form(const xt_src *src, double v, xt_tensor y) { \
        return fn(src, number_of(src, what, y, v, u), y);      \
    }
BEHIND(xt_eq_scalar_at, xt_eq_at, "xt_eq", COMPARES)
BEFORE(xt_eq_of_scalar_at, xt_eq_at, "xt_eq", COMPARES)
BEHIND(xt_ne_scalar_at, xt_ne_at, "xt_ne", COMPARES)
BEFORE(xt_ne_of_scalar_at, xt_ne_at, "xt_ne", COMPARES)
BEHIND(xt_lt_scalar_at, xt_lt_at, "xt_lt", COMPARES)
BEFORE(xt_lt_of_scalar_at, xt_lt_at, "xt_lt", COMPARES)
BEHIND(xt_le_scalar_at, xt_le_at, "xt_le", COMPARES)
BEFORE(xt_le_of_scalar_at, xt_le_at, "xt_le", COMPARES)
BEHIND(xt_gt_scalar_at, xt_gt_at, "xt_gt", COMPARES)
BEFORE(xt_gt_of_scalar_at, xt_gt_at, "xt_gt", COMPARES)
BEHIND(xt_ge_scalar_at, xt_ge_at, "xt_ge", COMPARES)
BEFORE(xt_ge_of_scalar_at, xt_ge_at, "xt_ge", COMPARES)
BEHIND(xt_maximum_scalar_at, xt_maximum_at, "xt_maximum", FITS)
BEFORE(xt_maximum_of_scalar_at, xt_maximum_at, "xt_maximum", FITS)
BEHIND(xt_minimum_scalar_at, xt_minimum_at, "xt_minimum", FITS)
BEFORE(xt_minimum_of_scalar_at, xt_minimum_at, "xt_minimum", FITS)
BEHIND(xt_remainder_scalar_at, xt_remainder_at, "xt_remainder", WRAPS)
BEFORE(xt_remainder_of_scalar_at, xt_remainder_at, "xt_remainder", WRAPS)
BEHIND(xt_fmod_scalar_at, xt_fmod_at, "xt_fmod", WRAPS)
BEFORE(xt_fmod_of_scalar_at, xt_fmod_at, "xt_fmod", WRAPS)
BEHIND(xt_floor_divide_scalar_at, xt_floor_divide_at, "xt_floor_divide", WRAPS)
BEFORE(xt_floor_divide_of_scalar_at, xt_floor_divide_at, "xt_floor_divide", WRAPS)
BEHIND(xt_bitwise_and_scalar_at, xt_bitwise_and_at, "xt_bitwise_and", WRAPS)
BEFORE(xt_bitwise_and_of_scalar_at, xt_bitwise_and_at, "xt_bitwise_and", WRAPS)
BEHIND(xt_bitwise_or_scalar_at, xt_bitwise_or_at, "xt_bitwise_or", WRAPS)
BEFORE(xt_bitwise_or_of_scalar_at, xt_bitwise_or_at, "xt_bitwise_or", WRAPS)
BEHIND(xt_bitwise_xor_scalar_at, xt_bitwise_xor_at, "xt_bitwise_xor", WRAPS)
BEFORE(xt_bitwise_xor_of_scalar_at, xt_bitwise_xor_at, "xt_bitwise_xor", WRAPS)
BEHIND(xt_bitwise_left_shift_scalar_at, xt_bitwise_left_shift_at, "xt_bitwise_left_shift", WRAPS)
BEFORE(xt_bitwise_left_shift_of_scalar_at, xt_bitwise_left_shift_at, "xt_bitwise_left_shift", WRAPS)
BEHIND(xt_bitwise_right_shift_scalar_at, xt_bitwise_right_shift_at, "xt_bitwise_right_shift", WRAPS)
BEFORE(xt_bitwise_right_shift_of_scalar_at, xt_bitwise_right_shift_at, "xt_bitwise_right_shift", WRAPS)
BEFORE(xt_div_of_scalar_at, xt_div_at, "xt_div", DIVIDES)
BEFORE(xt_pow_of_scalar_at, xt_pow_at, "xt_pow", WRAPS)

xt_tensor xt_add_of_scalar_at(const xt_src *src, double v, xt_tensor y) {
    return xt_add_scalar_at(src, y, v);
}
xt_tensor xt_mul_of_scalar_at(const xt_src *src, double v, xt_tensor y) {
    return xt_mul_scalar_at(src, y, v);
}
xt_tensor xt_sub__scalar_at(const xt_src *src, xt_tensor x, double v) {
    return xt_add_scalar_at(src, x, -v);
}
xt_tensor xt_sub__of_scalar_at(const xt_src *src, double v, xt_tensor y) {
    return xt_rsub_scalar_at(src, y, v);
}

xt_tensor xt_lerp_of_scalar_at(const xt_src *src, double x, xt_tensor y, xt_tensor weight) {
    return xt_lerp_at(src, number_of(src, "xt_lerp", y, x, FITS), y, weight);
}
xt_tensor xt_where_scalar_at(const xt_src *src, xt_tensor cond, xt_tensor x, double v) {
    return xt_where_at(src, cond, x, number_of(src, "xt_where", x, v, FITS));
}
xt_tensor xt_where_of_scalar_at(const xt_src *src, xt_tensor cond, double v, xt_tensor y) {
    return xt_where_at(src, cond, number_of(src, "xt_where", y, v, FITS), y);
}
xt_tensor xt_where_numbers_at(const xt_src *src, xt_tensor cond, double x, double y, xt_dtype dtype) {
    lazy_begin(src);
    xt_tensor failed, at_true, at_false;
    if (dtype == XT_I64 && (!ops_number_fits(src, "xt_where", dtype, x, true, &failed) ||
                            !ops_number_fits(src, "xt_where", dtype, y, true, &failed)))
        return failed;
    at_true = lazy_wrap(ops_number(src, "xt_where", dtype, x, NULL), "xt_where");
    at_false = lazy_wrap(ops_number(src, "xt_where", dtype, y, NULL), "xt_where");
    return xt_where_at(src, cond, at_true, at_false);
}
