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

#define BEHIND(fn, what, u)                                              \
    xt_tensor fn##_scalar_at(const xt_src *src, xt_tensor x, double v) { \
        return fn##_at(src, x, number_of(src, what, x, v, u));           \
    }
#define BEFORE(fn, what, u)                                                 \
    xt_tensor fn##_of_scalar_at(const xt_src *src, double v, xt_tensor y) { \
        return fn##_at(src, number_of(src, what, y, v, u), y);              \
    }
#define BOTH(fn, what, u) BEHIND(fn, what, u) BEFORE(fn, what, u)
BOTH(xt_eq, "xt_eq", COMPARES)
BOTH(xt_ne, "xt_ne", COMPARES)
BOTH(xt_lt, "xt_lt", COMPARES)
BOTH(xt_le, "xt_le", COMPARES)
BOTH(xt_gt, "xt_gt", COMPARES)
BOTH(xt_ge, "xt_ge", COMPARES)
BOTH(xt_maximum, "xt_maximum", FITS)
BOTH(xt_minimum, "xt_minimum", FITS)
BOTH(xt_remainder, "xt_remainder", WRAPS)
BOTH(xt_fmod, "xt_fmod", WRAPS)
BOTH(xt_floor_divide, "xt_floor_divide", WRAPS)
BOTH(xt_bitwise_and, "xt_bitwise_and", WRAPS)
BOTH(xt_bitwise_or, "xt_bitwise_or", WRAPS)
BOTH(xt_bitwise_xor, "xt_bitwise_xor", WRAPS)
BOTH(xt_bitwise_left_shift, "xt_bitwise_left_shift", WRAPS)
BOTH(xt_bitwise_right_shift, "xt_bitwise_right_shift", WRAPS)
BEFORE(xt_div, "xt_div", DIVIDES)
BEFORE(xt_pow, "xt_pow", WRAPS)

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
