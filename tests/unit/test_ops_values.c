/* The public tensor ops: what they record is run by the reference interpreter and compared with numbers worked out by
 * hand or with libm. One row an op and case; run one: test_ops_values NAME. No device is opened: operands are made from
 * arange and constants. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ir/interp.h"
#include "lazy/core/ctx.h"
#include <xtrain/losses.h>

typedef xt_tensor T;
#define NO \
    { 0 }

/* 0, 1, 2, ... in a shape. */
#define COUNT(dtype, n, ...) xt_reshape(xt_arange(n, dtype), __VA_ARGS__)
/* scale * i + shift */
static T line(int64_t n, double scale, double shift) {
    return xt_add_scalar(xt_mul_scalar(xt_arange(n, XT_F32), scale), shift);
}
/* v[0..n) as f32. */
static T vec_of(int n, const double *v) {
    T t = xt_full(v[0], XT_F32, 1);
    for (int i = 1; i < n; i++) {
        T two[2] = {t, xt_full(v[i], XT_F32, 1)};
        t = xt_concat(2, two, 0);
    }
    return t;
}
#define VEC(...) vec_of(sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

/* --- cases --- */
#define CASE(name, expr)      \
    static T t_##name(void) { \
        return expr;          \
    }
CASE(abs, xt_abs(VEC(-1.5, 0, 2)))
CASE(ceil, xt_ceil(VEC(-1.5, 0.2, 2)))
CASE(cos, xt_cos(VEC(0, 1)))
CASE(exp, xt_exp(VEC(0, 1)))
CASE(expm1, xt_expm1(VEC(0, 1e-5)))
CASE(floor, xt_floor(VEC(-1.5, 0.2, 2)))
CASE(log_e, xt_log_e(VEC(1, 2)))
CASE(log1p, xt_log1p(VEC(0, 1)))
CASE(sigmoid, xt_sigmoid(VEC(0, 2)))
CASE(neg, xt_neg(VEC(1, -2)))
CASE(relu, xt_relu(VEC(-1, 0, 2)))
CASE(relu_int, xt_relu(xt_minus(xt_arange(3, XT_I32), xt_full(1, XT_I32))))
CASE(gelu, xt_gelu(VEC(-1, 0, 1)))
CASE(silu, xt_silu(VEC(-1, 0, 1)))
CASE(round, xt_round(VEC(0.5, 1.5, -2.5)))
CASE(rsqrt, xt_rsqrt(VEC(4)))
CASE(sign, xt_sign(VEC(-3, 0, 4)))
CASE(sin, xt_sin(VEC(0, 1)))
CASE(sqrt, xt_sqrt(VEC(4, 2)))
CASE(sqrt_int, xt_sqrt(xt_arange(3, XT_I64)))
CASE(tanh, xt_tanh(VEC(0, 1)))
CASE(square, xt_square(VEC(-3, 2)))
CASE(square_int, xt_square(xt_arange(4, XT_I32)))
CASE(logical_not, xt_logical_not(VEC(0, 2)))
CASE(isfinite, xt_isfinite(xt_div(VEC(0, 1, 1), VEC(0, 0, 1))))
CASE(isfinite_int, xt_isfinite(xt_arange(2, XT_I32)))
CASE(detach, xt_detach(VEC(1, 2)))

CASE(add_broadcast, xt_add(COUNT(XT_F32, 6, 2, 3), COUNT(XT_F32, 2, 2, 1)))
CASE(add_scalar_tensor, xt_add(xt_arange(3, XT_F32), xt_full(0.5, XT_F64)))
CASE(add_int_float_scalar, xt_add(xt_arange(3, XT_I32), xt_full(0.5, XT_F32)))
CASE(add_int_float, xt_add(xt_arange(3, XT_I64), xt_arange(3, XT_F16)))
CASE(add_halves, xt_add(xt_arange(2, XT_F16), xt_arange(2, XT_BF16)))
CASE(add_u8_i8, xt_add(xt_arange(2, XT_U8), xt_arange(2, XT_I8)))
CASE(add_int_wide_scalar, xt_add(xt_arange(2, XT_I32), xt_full(1, XT_I64)))
CASE(add_bool_int, xt_add(xt_ge(xt_arange(3, XT_F32), xt_full(1, XT_F32)), xt_arange(3, XT_I16)))
CASE(minus, xt_minus(VEC(3, 2), VEC(1, 5)))
CASE(mul, xt_mul(VEC(3, 2), VEC(1, 5)))
CASE(div_int, xt_div(xt_arange(3, XT_I32), xt_full(2, XT_I32)))
CASE(pow, xt_pow(VEC(3, 2), VEC(2, 0.5)))
CASE(maximum, xt_maximum(VEC(3, 2), VEC(2, 4)))
CASE(minimum, xt_minimum(VEC(3, 2), VEC(2, 4)))
CASE(remainder, xt_remainder(VEC(7, -7, 7, -7, 6), VEC(3, 3, -3, -3, 3)))
CASE(remainder_int, xt_remainder(xt_minus(xt_arange(5, XT_I32), xt_full(2, XT_I32)), xt_full(3, XT_I32)))
CASE(eq, xt_eq(VEC(1, 2, 3), VEC(1, 3, 2)))
CASE(ne, xt_ne(VEC(1, 2, 3), VEC(1, 3, 2)))
CASE(lt, xt_lt(VEC(1, 2, 3), VEC(1, 3, 2)))
CASE(le, xt_le(VEC(1, 2, 3), VEC(1, 3, 2)))
CASE(gt, xt_gt(VEC(1, 2, 3), VEC(1, 3, 2)))
CASE(ge, xt_ge(VEC(1, 2, 3), VEC(1, 3, 2)))
CASE(logical_and, xt_logical_and(VEC(0, 1, 2), VEC(1, 0, 3)))
CASE(logical_or, xt_logical_or(VEC(0, 1, 0), VEC(1, 0, 0)))
CASE(add_scalar_int, xt_add_scalar(xt_arange(2, XT_I32), 2))
CASE(add_scalar_half, xt_add_scalar(xt_arange(2, XT_I32), 0.5))
CASE(mul_scalar, xt_mul_scalar(VEC(1, -2), 0.5))
CASE(pow_scalar_2, xt_pow_scalar(VEC(-3, 2), 2))
CASE(pow_scalar_3, xt_pow_scalar(VEC(-3, 2), 3))
CASE(pow_scalar_half, xt_pow_scalar(VEC(4, 9), 0.5))
CASE(pow_scalar_int, xt_pow_scalar(xt_add_scalar(xt_arange(2, XT_I32), 1), -1))
CASE(clamp, xt_clamp(VEC(-2, 0.5, 3), -1, 1))
CASE(clamp_int, xt_clamp(xt_arange(5, XT_I32), 0.5, INFINITY))
CASE(where, xt_where(xt_gt(VEC(1, 2), VEC(2, 1)), COUNT(XT_I32, 2, 2, 1), xt_full(0.5, XT_F32)))
CASE(cast, xt_cast(VEC(1.9, -1.9, 0), XT_I32))
CASE(cast_bool, xt_cast(VEC(0.1, 0), XT_BOOL))

CASE(reshape, xt_reshape(xt_arange(6, XT_F32), 3, -1))
CASE(reshape_same, xt_reshape(xt_arange(2, XT_F32), 2))
CASE(flatten, xt_flatten(COUNT(XT_F32, 12, 2, 3, 2), 1))
CASE(flatten_scalar, xt_flatten(xt_full(3, XT_F32), 0))
CASE(transpose, xt_transpose(COUNT(XT_F32, 6, 2, 3), 0, -1))
CASE(permute, xt_permute(COUNT(XT_F32, 12, 2, 3, 2), 2, 0, 1))
CASE(slice, xt_slice(xt_arange(5, XT_F32), 0, 1, -1))
CASE(slice_far, xt_slice(COUNT(XT_F32, 6, 2, 3), -1, -2, 99))
static T t_concat(void) {
    T two[2] = {COUNT(XT_I32, 2, 2, 1), COUNT(XT_F32, 4, 2, 2)};
    return xt_concat(2, two, -1);
}
CASE(broadcast_to, xt_broadcast_to(COUNT(XT_F32, 2, 2, 1), 2, -1, 2))
CASE(unsqueeze, xt_unsqueeze(xt_arange(2, XT_F32), -1))
CASE(squeeze, xt_squeeze(COUNT(XT_F32, 2, 2, 1), 1))
CASE(squeeze_stays, xt_squeeze(COUNT(XT_F32, 2, 2, 1), 0))

CASE(sum, xt_sum(COUNT(XT_F32, 6, 2, 3)))
CASE(sum_int, xt_sum(xt_arange(4, XT_I32)))
CASE(sum_bool, xt_sum(xt_ge(xt_arange(4, XT_F32), xt_full(2, XT_F32))))
CASE(sum_bf16, xt_sum(xt_full(1, XT_BF16, 300)))
CASE(sum_scalar, xt_sum(xt_full(5, XT_F32)))
CASE(mean, xt_mean(xt_arange(4, XT_F32)))
CASE(mean_int, xt_mean(xt_arange(4, XT_I64)))
CASE(max, xt_max(VEC(3, -1, 7)))
CASE(min, xt_min(VEC(3, -1, 7)))
CASE(sum_axis, xt_sum_axis(COUNT(XT_F32, 6, 2, 3), 0))
CASE(mean_axis, xt_mean_axis(COUNT(XT_F32, 6, 2, 3), -1))
CASE(max_axis, xt_max_axis(COUNT(XT_F32, 6, 2, 3), 1))
CASE(argmax, xt_argmax(xt_reshape(VEC(1, 5, 5, 9, 2, 9), 2, 3), 1))
CASE(argmax_nan, xt_argmax(xt_div(VEC(1, 0, 2, 0), VEC(1, 0, 1, 0)), 0))
CASE(argmax_int, xt_argmax(xt_neg(xt_arange(3, XT_I64)), 0))

CASE(matmul, xt_matmul(COUNT(XT_F32, 6, 2, 3), COUNT(XT_F32, 6, 3, 2)))
CASE(matmul_vectors, xt_matmul(xt_arange(3, XT_F32), xt_arange(3, XT_F32)))
CASE(matmul_row, xt_matmul(xt_arange(2, XT_F32), COUNT(XT_F32, 6, 2, 3)))
CASE(matmul_column, xt_matmul(COUNT(XT_F32, 6, 2, 3), xt_arange(3, XT_F32)))
CASE(matmul_linear, xt_matmul(COUNT(XT_F32, 8, 2, 2, 2), COUNT(XT_F32, 4, 2, 2)))
CASE(matmul_batched, xt_matmul(COUNT(XT_F32, 4, 2, 1, 2), COUNT(XT_F32, 4, 2, 2, 1)))
CASE(matmul_broadcast, xt_matmul(COUNT(XT_F32, 2, 1, 1, 2), COUNT(XT_F32, 4, 2, 2, 1)))
CASE(matmul_2d_batched, xt_matmul(COUNT(XT_F32, 2, 1, 2), COUNT(XT_F32, 4, 2, 2, 1)))
CASE(matmul_row_batched, xt_matmul(xt_arange(2, XT_F32), COUNT(XT_F32, 8, 2, 2, 2)))
CASE(matmul_int, xt_matmul(COUNT(XT_I32, 4, 2, 2), COUNT(XT_I32, 4, 2, 2)))
static T t_matmul_autocast(void) {
    xt_autocast_begin(XT_BF16);
    T r = xt_matmul(xt_full(1.001, XT_F32, 1, 1), xt_full(256, XT_F32, 1, 1)); /* 1.001 is 1 in bf16 */
    xt_autocast_end();
    return r;
}
CASE(conv, xt_conv2d_fn(COUNT(XT_F32, 9, 1, 1, 3, 3), COUNT(XT_F32, 4, 1, 1, 2, 2), xt_full(100, XT_F32, 1)))
CASE(conv_options, xt_conv2d_fn(COUNT(XT_F32, 18, 1, 2, 3, 3), xt_full(1, XT_F32, 2, 1, 2, 2), (T)NO, .stride = 2,
                                .padding = 1, .groups = 2))
CASE(conv_dilated, xt_conv2d_fn(COUNT(XT_F32, 9, 1, 1, 3, 3), COUNT(XT_F32, 4, 1, 1, 2, 2), (T)NO, .dilation = 2))
CASE(max_pool, xt_max_pool2d(COUNT(XT_F32, 16, 1, 1, 4, 4), 2))
CASE(max_pool_options, xt_max_pool2d(xt_neg(COUNT(XT_F32, 9, 1, 1, 3, 3)), 2, .stride = 1, .padding = 1))
CASE(avg_pool, xt_avg_pool2d(COUNT(XT_F32, 16, 1, 1, 4, 4), 2))
CASE(avg_pool_pad, xt_avg_pool2d(xt_full(4, XT_F32, 1, 1, 2, 2), 2, .padding = 1))
CASE(avg_pool_pad_out, xt_avg_pool2d(xt_full(4, XT_F32, 1, 1, 2, 2), 2, .padding = 1, .count_include_pad = XT_OFF))

CASE(softmax, xt_softmax(xt_reshape(VEC(1000, 1000, 0, 0), 2, 2), 1))
CASE(softmax_axis0, xt_softmax(xt_reshape(VEC(0, 1, 0, 1), 2, 2), 0))
CASE(log_softmax, xt_log_softmax(VEC(0, 1, 2), 0))
CASE(one_hot, xt_one_hot(xt_arange(2, XT_I64), 3, XT_F32))
CASE(nll, xt_nll_loss(xt_neg(COUNT(XT_F32, 6, 2, 3)), xt_add_scalar(xt_arange(2, XT_I64), 1)))
CASE(cross_entropy, xt_cross_entropy(xt_full(0, XT_F32, 2, 2, 4), xt_full(3, XT_I64, 2, 2)))
CASE(mse, xt_mse_loss(VEC(1, 2), VEC(3, 5)))
CASE(take, xt_take(COUNT(XT_F32, 6, 3, 2), xt_reshape(xt_minus(xt_full(2, XT_I64), xt_arange(2, XT_I64)), 2, 1)))
CASE(take_scalar, xt_take(COUNT(XT_F32, 6, 3, 2), xt_full(1, XT_I32)))
CASE(full, xt_full(2.5, XT_F64, 2))
CASE(zeros, xt_zeros(XT_I32, 2))
CASE(ones, xt_ones(XT_BOOL, 2))
CASE(arange, xt_arange(3, XT_I64))
CASE(line, line(3, 2, 1))
static T via_pointer(T (*f)(T), T x) {
    return f(x);
}
CASE(pointer, via_pointer((xt_square), VEC(3)))

typedef struct row {
    const char *name;
    T (*build)(void);
    xt_dtype dtype;
    int rank;
    int64_t dims[4];
    double values[18];
} row;
#define D0 \
    0, {   \
        0  \
    }
#define D1(a) \
    1, {      \
        a     \
    }
#define D2(a, b) \
    2, {         \
        a, b     \
    }
#define D3(a, b, c) \
    3, {            \
        a, b, c     \
    }
#define D4(a, b, c, d) \
    4, {               \
        a, b, c, d     \
    }
#define ROW(name, dtype, dims, ...) \
    { #name, t_##name, dtype, dims, __VA_ARGS__ }

static const row rows[] = {
    ROW(abs, XT_F32, D1(3), {1.5, 0, 2}),
    ROW(ceil, XT_F32, D1(3), {-1, 1, 2}),
    ROW(cos, XT_F32, D1(2), {1, 0.5403023058681398}),
    ROW(exp, XT_F32, D1(2), {1, M_E}),
    ROW(expm1, XT_F32, D1(2), {0, 1.000005e-5}),
    ROW(floor, XT_F32, D1(3), {-2, 0, 2}),
    ROW(log_e, XT_F32, D1(2), {0, M_LN2}),
    ROW(log1p, XT_F32, D1(2), {0, M_LN2}),
    ROW(sigmoid, XT_F32, D1(2), {0.5, 0.8807970779778823}),
    ROW(neg, XT_F32, D1(2), {-1, 2}),
    ROW(relu, XT_F32, D1(3), {0, 0, 2}),
    ROW(relu_int, XT_I32, D1(3), {0, 0, 1}),
    ROW(gelu, XT_F32, D1(3), {-0.15880801, 0, 0.84119199}),
    ROW(silu, XT_F32, D1(3), {-0.26894142, 0, 0.73105858}),
    ROW(round, XT_F32, D1(3), {0, 2, -2}),
    ROW(rsqrt, XT_F32, D1(1), {0.5}),
    ROW(sign, XT_F32, D1(3), {-1, 0, 1}),
    ROW(sin, XT_F32, D1(2), {0, 0.8414709848078965}),
    ROW(sqrt, XT_F32, D1(2), {2, M_SQRT2}),
    ROW(sqrt_int, XT_F32, D1(3), {0, 1, M_SQRT2}),
    ROW(tanh, XT_F32, D1(2), {0, 0.7615941559557649}),
    ROW(square, XT_F32, D1(2), {9, 4}),
    ROW(square_int, XT_I32, D1(4), {0, 1, 4, 9}),
    ROW(logical_not, XT_BOOL, D1(2), {1, 0}),
    ROW(isfinite, XT_BOOL, D1(3), {0, 0, 1}),
    ROW(isfinite_int, XT_BOOL, D1(2), {1, 1}),
    ROW(detach, XT_F32, D1(2), {1, 2}),
    ROW(add_broadcast, XT_F32, D2(2, 3), {0, 1, 2, 4, 5, 6}),
    ROW(add_scalar_tensor, XT_F32, D1(3), {0.5, 1.5, 2.5}),
    ROW(add_int_float_scalar, XT_F32, D1(3), {0.5, 1.5, 2.5}),
    ROW(add_int_float, XT_F16, D1(3), {0, 2, 4}),
    ROW(add_halves, XT_F32, D1(2), {0, 2}),
    ROW(add_u8_i8, XT_I16, D1(2), {0, 2}),
    ROW(add_int_wide_scalar, XT_I32, D1(2), {1, 2}),
    ROW(add_bool_int, XT_I16, D1(3), {0, 2, 3}),
    ROW(minus, XT_F32, D1(2), {2, -3}),
    ROW(mul, XT_F32, D1(2), {3, 10}),
    ROW(div_int, XT_F32, D1(3), {0, 0.5, 1}),
    ROW(pow, XT_F32, D1(2), {9, M_SQRT2}),
    ROW(maximum, XT_F32, D1(2), {3, 4}),
    ROW(minimum, XT_F32, D1(2), {2, 2}),
    ROW(remainder, XT_F32, D1(5), {1, 2, -2, -1, 0}),
    ROW(remainder_int, XT_I32, D1(5), {1, 2, 0, 1, 2}),
    ROW(eq, XT_BOOL, D1(3), {1, 0, 0}),
    ROW(ne, XT_BOOL, D1(3), {0, 1, 1}),
    ROW(lt, XT_BOOL, D1(3), {0, 1, 0}),
    ROW(le, XT_BOOL, D1(3), {1, 1, 0}),
    ROW(gt, XT_BOOL, D1(3), {0, 0, 1}),
    ROW(ge, XT_BOOL, D1(3), {1, 0, 1}),
    ROW(logical_and, XT_BOOL, D1(3), {0, 0, 1}),
    ROW(logical_or, XT_BOOL, D1(3), {1, 1, 0}),
    ROW(add_scalar_int, XT_I32, D1(2), {2, 3}),
    ROW(add_scalar_half, XT_F32, D1(2), {0.5, 1.5}),
    ROW(mul_scalar, XT_F32, D1(2), {0.5, -1}),
    ROW(pow_scalar_2, XT_F32, D1(2), {9, 4}),
    ROW(pow_scalar_3, XT_F32, D1(2), {-27, 8}),
    ROW(pow_scalar_half, XT_F32, D1(2), {2, 3}),
    ROW(pow_scalar_int, XT_F32, D1(2), {1, 0.5}),
    ROW(clamp, XT_F32, D1(3), {-1, 0.5, 1}),
    ROW(clamp_int, XT_F32, D1(5), {0.5, 1, 2, 3, 4}),
    ROW(where, XT_F32, D2(2, 2), {0.5, 0, 0.5, 1}),
    ROW(cast, XT_I32, D1(3), {1, -1, 0}),
    ROW(cast_bool, XT_BOOL, D1(2), {1, 0}),
    ROW(reshape, XT_F32, D2(3, 2), {0, 1, 2, 3, 4, 5}),
    ROW(reshape_same, XT_F32, D1(2), {0, 1}),
    ROW(flatten, XT_F32, D2(2, 6), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
    ROW(flatten_scalar, XT_F32, D1(1), {3}),
    ROW(transpose, XT_F32, D2(3, 2), {0, 3, 1, 4, 2, 5}),
    ROW(permute, XT_F32, D3(2, 2, 3), {0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}),
    ROW(slice, XT_F32, D1(3), {1, 2, 3}),
    ROW(slice_far, XT_F32, D2(2, 2), {1, 2, 4, 5}),
    ROW(concat, XT_F32, D2(2, 3), {0, 0, 1, 1, 2, 3}),
    ROW(broadcast_to, XT_F32, D3(2, 2, 2), {0, 0, 1, 1, 0, 0, 1, 1}),
    ROW(unsqueeze, XT_F32, D2(2, 1), {0, 1}),
    ROW(squeeze, XT_F32, D1(2), {0, 1}),
    ROW(squeeze_stays, XT_F32, D2(2, 1), {0, 1}),
    ROW(sum, XT_F32, D0, {15}),
    ROW(sum_int, XT_I64, D0, {6}),
    ROW(sum_bool, XT_I64, D0, {2}),
    ROW(sum_bf16, XT_BF16, D0, {300}),
    ROW(sum_scalar, XT_F32, D0, {5}),
    ROW(mean, XT_F32, D0, {1.5}),
    ROW(mean_int, XT_F32, D0, {1.5}),
    ROW(max, XT_F32, D0, {7}),
    ROW(min, XT_F32, D0, {-1}),
    ROW(sum_axis, XT_F32, D1(3), {3, 5, 7}),
    ROW(mean_axis, XT_F32, D1(2), {1, 4}),
    ROW(max_axis, XT_F32, D1(2), {2, 5}),
    ROW(argmax, XT_I64, D1(2), {1, 0}),
    ROW(argmax_nan, XT_I64, D0, {1}),
    ROW(argmax_int, XT_I64, D0, {0}),
    ROW(matmul, XT_F32, D2(2, 2), {10, 13, 28, 40}),
    ROW(matmul_vectors, XT_F32, D0, {5}),
    ROW(matmul_row, XT_F32, D1(3), {3, 4, 5}),
    ROW(matmul_column, XT_F32, D1(2), {5, 14}),
    ROW(matmul_linear, XT_F32, D3(2, 2, 2), {2, 3, 6, 11, 10, 19, 14, 27}),
    ROW(matmul_batched, XT_F32, D3(2, 1, 1), {1, 13}),
    ROW(matmul_broadcast, XT_F32, D3(2, 1, 1), {1, 3}),
    ROW(matmul_2d_batched, XT_F32, D3(2, 1, 1), {1, 3}),
    ROW(matmul_row_batched, XT_F32, D2(2, 2), {2, 3, 6, 7}),
    ROW(matmul_int, XT_I32, D2(2, 2), {2, 3, 6, 11}),
    ROW(matmul_autocast, XT_F32, D2(1, 1), {256}),
    ROW(conv, XT_F32, D4(1, 1, 2, 2), {119, 125, 137, 143}),
    ROW(conv_options, XT_F32, D4(1, 2, 2, 2), {0, 3, 9, 24, 9, 21, 27, 60}),
    ROW(conv_dilated, XT_F32, D4(1, 1, 1, 1), {0 * 0 + 2 * 1 + 6 * 2 + 8 * 3}),
    ROW(max_pool, XT_F32, D4(1, 1, 2, 2), {5, 7, 13, 15}),
    ROW(max_pool_options, XT_F32, D4(1, 1, 4, 4), {0, 0, -1, -2, 0, 0, -1, -2, -3, -3, -4, -5, -6, -6, -7, -8}),
    ROW(avg_pool, XT_F32, D4(1, 1, 2, 2), {2.5, 4.5, 10.5, 12.5}),
    ROW(avg_pool_pad, XT_F32, D4(1, 1, 2, 2), {1, 1, 1, 1}),
    ROW(avg_pool_pad_out, XT_F32, D4(1, 1, 2, 2), {4, 4, 4, 4}),
    ROW(softmax, XT_F32, D2(2, 2), {0.5, 0.5, 0.5, 0.5}),
    ROW(softmax_axis0, XT_F32, D2(2, 2), {0.5, 0.5, 0.5, 0.5}),
    ROW(log_softmax, XT_F32, D1(3), {-2.40760596, -1.40760596, -0.40760596}),
    ROW(one_hot, XT_F32, D2(2, 3), {1, 0, 0, 0, 1, 0}),
    ROW(nll, XT_F32, D0, {3}),
    ROW(cross_entropy, XT_F32, D0, {1.3862943611198906}),
    ROW(mse, XT_F32, D0, {6.5}),
    ROW(take, XT_F32, D3(2, 1, 2), {4, 5, 2, 3}),
    ROW(take_scalar, XT_F32, D1(2), {2, 3}),
    ROW(full, XT_F64, D1(2), {2.5, 2.5}),
    ROW(zeros, XT_I32, D1(2), {0, 0}),
    ROW(ones, XT_BOOL, D1(2), {1, 1}),
    ROW(arange, XT_I64, D1(3), {0, 1, 2}),
    ROW(line, XT_F32, D1(3), {1, 3, 5}),
    ROW(pointer, XT_F32, D1(1), {9}),
};

static void ok(xt_status s) {
    if (s) print_error("%s\n", xt_status_message(s));
    assert_null(s);
}

/* Ends the trace with t as its result and interprets it; the trace is gone afterwards. Packs of scalars are its
 * only arguments. */
static void evaluate(T t, array *out) {
    lazy_ctx *c = lazy_ctx_get();
    ok(xt_error());
    ir_builder *b = lazy_begin(XT_HERE);
    ir_value *v = lazy_value(t);
    assert_non_null(v);
    ir_return(b, 1, &v);
    ok(b->status);
    ok(ir_verify(b->m));
    array in[8];
    assert_true(c->n_leaves <= 8);
    for (size_t i = 0; i < c->n_leaves; i++) {
        assert_true(c->leaves[i].pack >= 0);
        lazy_pack *p = &c->packs[c->leaves[i].pack];
        in[i] = (array){p->leaf->type, &p->now};
    }
    ok(interp_run(b->m, "main", NULL, c->n_leaves, in, 1, out));
    lazy_reset_thread();
}

static void check_row(void **state) {
    const row *r = *state;
    T t = r->build();
    array a = {0};
    assert_int_equal(xt_dtype_of(t), r->dtype);
    evaluate(t, &a);
    assert_int_equal(a.type->dtype, r->dtype);
    assert_int_equal(a.type->rank, r->rank);
    for (int i = 0; i < r->rank; i++) assert_int_equal(a.type->dims[i], r->dims[i]);
    for (int64_t i = 0; i < a.type->count; i++)
        if (!(fabs(array_get(&a, i) - r->values[i]) <= 2e-7 + 1e-6 * fabs(r->values[i])))
            fail_msg("%s: element %lld is %.9g, expected %.9g", r->name, (long long)i, array_get(&a, i), r->values[i]);
    array_free(&a);
}

/* --- random --- */
static void test_random_bits_are_the_hosts(void **state) {
    (void)state;
    xt_seed(0x123456789abcdefu);
    xt_rand(XT_F32, 3); /* draw 0 */
    T t = xt_rand(XT_F32, 2, 7);
    array a = {0};
    evaluate(t, &a);
    for (int i = 0; i < 14; i++)
        assert_true((float)array_get(&a, i) == rng_uniform(0x123456789abcdefu, 1, (uint64_t)i));
    array_free(&a);
    t = xt_randn(XT_F32, 11);
    evaluate(t, &a);
    for (int i = 0; i < 11; i++) {
        double want = rng_normal(0x123456789abcdefu, 0, (uint64_t)i);
        assert_true(fabs(array_get(&a, i) - want) <= 2e-6); /* f32 logarithm and cosine */
    }
    array_free(&a);
}

/* --- numbers --- */
static int notices;
static void count_notices(xt_severity sev, const char *text, size_t n, void *user) {
    (void)sev, (void)n, (void)user;
    notices += strstr(text, "from now on it is data") != NULL;
}

static bool recorded_as_constant(double v) {
    T t = xt_mul_scalar(xt_arange(2, XT_F32), v); /* one place of the program: this line */
    const ir_value *number = lazy_value(t)->def->in[1];
    return number->def->code == OP_constant;
}

static void test_a_number_that_changes_becomes_data(void **state) {
    (void)state;
    static const struct {
        double v;
        bool constant;
    } steps[] = {{0.5, true}, {0.5, true}, {0.7, false}, {0.7, false}, {0.5, false}};
    notices = 0;
    xt_set_sink(count_notices, NULL);
    for (size_t i = 0; i < BASE_COUNT(steps); i++) {
        assert_int_equal(recorded_as_constant(steps[i].v), steps[i].constant);
        if (i == 0) assert_true(recorded_as_constant(9)); /* the same line again in one step is another place */
        assert_true(xt_mark_step());
    }
    assert_int_equal(notices, 1);
    /* a line that comes by more than once in a step, as in a loop over parameters, says it once */
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 5; k++) xt_mul_scalar(xt_arange(2, XT_F32), i + 0.5);
        assert_true(xt_mark_step());
    }
    xt_set_sink(NULL, NULL);
    assert_int_equal(notices, 2);
    lazy_reset_thread();
}

/* --- gradients that must not flow --- */
static void test_detach_and_the_maximum_of_softmax_are_cut(void **state) {
    (void)state;
    T x = xt_arange(3, XT_F32);
    lazy_value(x)->user |= LAZY_V_GRAD;
    assert_false(lazy_v_needs_grad(lazy_value(xt_detach(x))));
    assert_true(lazy_v_needs_grad(lazy_value(xt_square(x))));
    ir_value *s = lazy_value(xt_softmax(x, 0));
    assert_true(lazy_v_needs_grad(s));
    for (ir_op *op = lazy_ctx_get()->b.block->first; op; op = op->next)
        if (op->code == OP_reduce && op->in[0] == lazy_value(x)) assert_false(lazy_v_needs_grad(&op->out[0]));
    assert_false(lazy_v_needs_grad(lazy_value(xt_argmax(x, 0))));
    lazy_reset_thread();
}

/* --- pools --- */
/* Adaptive windows of one size are x's own elements in their order: no copy of them is gathered. */
static void test_even_adaptive_windows_are_not_gathered(void **state) {
    (void)state;
    T x = xt_reshape(xt_arange(36, XT_F32), 1, 1, 6, 6), at;
    T y[2] = {xt_adaptive_max_pool2d(x, 2), xt_adaptive_max_pool2d_with_indices(x, &at, 3, 2)};
    for (ir_op *op = lazy_ctx_get()->b.block->first; op; op = op->next)
        assert_false(op->code == OP_gather && op->in[0] == lazy_value(x));
    float v[6];
    int64_t i[6];
    assert_true(xt_read(y[0], v, 4 * sizeof *v));
    assert_true(v[0] == 14 && v[1] == 17 && v[2] == 32 && v[3] == 35);
    assert_true(xt_read(y[1], v, sizeof v) && xt_read(at, i, sizeof i));
    for (int k = 0; k < 6; k++)
        assert_true(v[k] == 8 + 12 * (float)(k / 2) + 3 * (float)(k % 2) && i[k] == (int64_t)v[k]);
    lazy_reset_thread();
}

int main(int argc, char **argv) {
    struct CMUnitTest tests[BASE_COUNT(rows) + 4];
    size_t n = 0;
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        if (argc < 2 || strcmp(argv[1], rows[i].name) == 0)
            tests[n++] =
                (struct CMUnitTest){.name = rows[i].name, .test_func = check_row, .initial_state = (void *)&rows[i]};
    if (argc < 2) {
        tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_random_bits_are_the_hosts);
        tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_a_number_that_changes_becomes_data);
        tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_detach_and_the_maximum_of_softmax_are_cut);
        tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_even_adaptive_windows_are_not_gathered);
    }
    return n ? _cmocka_run_group_tests("ops_values", tests, n, NULL, NULL) : 1;
}
