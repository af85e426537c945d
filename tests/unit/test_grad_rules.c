/* Every derivative rule against central differences in f64 through the reference interpreter; second derivatives too. A
 * row builds f from its inputs; the scalar that is differentiated is sum(f * w) with fixed, irregular weights w, so
 * that every element counts differently. Run one row: test_grad_rules NAME. */
#include <ctype.h>

#include "grad_numeric.h"

enum { MAX_IN = 5 };
typedef struct dims {
    size_t rank;
    int64_t d[5];
} dims;

/* --- what rows are built with --- */
typedef ir_value *V;
typedef ir_builder *B;
#define F64(...) ir_tensor(XT_F64, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})
#define I(...) ((const int64_t[]){__VA_ARGS__})

static V ints(B b, size_t rank, const int64_t *d, const int32_t *values) {
    return ir_constant(b, ir_tensor(XT_I32, rank, d), values);
}
static V scalar(B b, double v) {
    return ir_splat(b, ir_scalar(XT_F64), v);
}

/* Rows of one builder call. */
#define UNARY(op)                      \
    static V f_##op(B b, V const *x) { \
        return ir_##op(b, x[0]);       \
    }
#define BINARY(op)                     \
    static V f_##op(B b, V const *x) { \
        return ir_##op(b, x[0], x[1]); \
    }
UNARY(abs)
UNARY(cbrt)
UNARY(cosine)
UNARY(exponential)
UNARY(exponential_minus_one)
UNARY(log)
UNARY(log_plus_one)
UNARY(logistic)
UNARY(negate)
UNARY(rsqrt)
UNARY(sine)
UNARY(sqrt)
UNARY(tan)
UNARY(tanh)
UNARY(floor)
UNARY(sign)
BINARY(add)
BINARY(atan2)
BINARY(divide)
BINARY(maximum)
BINARY(minimum)
BINARY(multiply)
BINARY(power)
BINARY(remainder)
BINARY(subtract)

static V f_square_same(B b, V const *x) {
    return ir_multiply(b, x[0], x[0]);
}
static V f_pow_const2(B b, V const *x) {
    return ir_power(b, x[0], ir_splat(b, x[0]->type, 2));
}
static V f_pow_const3(B b, V const *x) {
    return ir_power(b, x[0], ir_splat(b, x[0]->type, 3.5));
}
static V f_pow_const1(B b, V const *x) {
    return ir_power(b, x[0], ir_splat(b, x[0]->type, 1));
}
static V f_relu(B b, V const *x) {
    return ir_maximum(b, x[0], ir_splat(b, x[0]->type, 0));
}
static V f_relu_broadcast(B b, V const *x) {
    return ir_maximum(b, ir_broadcast_scalar(b, scalar(b, 0.1), x[0]->type), x[0]);
}
static V f_complex(B b, V const *x) {
    /* exp(z) z / conj-free functions of z = x + iy, back to reals. */
    V z = ir_complex(b, x[0], x[1]), w = ir_multiply(b, ir_exponential(b, z), ir_sine(b, z));
    return ir_add(b, ir_real(b, w), ir_multiply(b, ir_imag(b, w), ir_splat(b, x[0]->type, 0.7)));
}
static V f_complex_abs(B b, V const *x) {
    return ir_abs(b, ir_complex(b, x[0], x[1]));
}
static V f_convert_complex(B b, V const *x) {
    V z = ir_convert(b, x[0], XT_C128);
    return ir_convert(b, ir_multiply(b, z, z), XT_F64);
}
static V f_select(B b, V const *x) {
    return ir_select(b, ir_compare(b, IR_GT, x[0], x[1]), ir_multiply(b, x[0], x[0]), x[1]);
}
static V f_select_scalar(B b, V const *x) {
    uint8_t yes = 1;
    return ir_select(b, ir_constant(b, ir_scalar(XT_BOOL), &yes), x[0], x[1]);
}
static V f_clamp(B b, V const *x) {
    return ir_clamp(b, scalar(b, -0.5), x[0], scalar(b, 0.6));
}
static V f_clamp_bounds(B b, V const *x) {
    return ir_clamp(b, x[0], x[1], x[2]);
}
static V f_barrier(B b, V const *x) {
    ir_op *op = ir_build(b, OP_optimization_barrier, 2, x, 0, NULL, 0, NULL, 0, NULL);
    return op ? ir_multiply(b, &op->out[0], &op->out[1]) : NULL;
}

static V f_broadcast_new(B b, V const *x) {
    return ir_broadcast_in_dim(b, x[0], F64(4, 2, 3), 2, I(1, 2));
}
static V f_broadcast_stretch(B b, V const *x) {
    return ir_broadcast_in_dim(b, x[0], F64(2, 4, 3), 3, I(0, 1, 2));
}
static V f_broadcast_swapped(B b, V const *x) {
    return ir_broadcast_in_dim(b, x[0], F64(3, 5, 2), 2, I(2, 0));
}
static V f_broadcast_scalar(B b, V const *x) {
    return ir_broadcast_scalar(b, x[0], F64(3, 2));
}
static V f_reshape(B b, V const *x) {
    return ir_reshape(b, x[0], 2, I(3, 4));
}
static V f_transpose(B b, V const *x) {
    return ir_transpose(b, x[0], 3, I(2, 0, 1));
}
static V f_slice(B b, V const *x) {
    return ir_slice(b, x[0], I(1, 0), I(6, 4), I(2, 3));
}
static V f_slice_plain(B b, V const *x) {
    return ir_slice(b, x[0], I(2, 1), I(5, 3), NULL);
}
static V f_pad(B b, V const *x) {
    return ir_pad(b, x[0], x[1], I(1, 2), I(0, 3), I(2, 0));
}
static V f_pad_cut(B b, V const *x) {
    return ir_pad(b, x[0], x[1], I(-1, 1), I(2, -2), I(1, 0));
}
static V f_concatenate(B b, V const *x) {
    return ir_concatenate(b, 3, x, 1);
}
static V f_reverse(B b, V const *x) {
    return ir_reverse(b, x[0], 2, I(0, 2));
}

static V f_reduce_add(B b, V const *x) {
    return ir_reduce(b, OP_add, x[0], 2, I(0, 2));
}
static V f_reduce_max(B b, V const *x) {
    return ir_reduce(b, OP_maximum, x[0], 1, I(1));
}
static V f_reduce_min(B b, V const *x) {
    return ir_reduce(b, OP_minimum, x[0], 2, I(0, 1));
}
static V f_reduce_mul(B b, V const *x) {
    return ir_reduce(b, OP_multiply, x[0], 2, I(0, 2));
}
static V f_reduce_mul_zeros(B b, V const *x) { /* one factor of each product is zero, in one column two */
    double mask[8] = {0, 1, 1, 0, 1, 1, 1, 0};
    return ir_reduce(b, OP_multiply, ir_multiply(b, x[0], ir_constant(b, F64(4, 2), mask)), 1, I(0));
}

static V f_dot_matrix(B b, V const *x) {
    return ir_dot_general(b, x[0], x[1], 0, NULL, NULL, 1, I(1), I(0), IR_PREC_HIGHEST);
}
static V f_dot_batched(B b, V const *x) {
    return ir_dot_general(b, x[0], x[1], 1, I(0), I(0), 1, I(2), I(2), IR_PREC_DEFAULT);
}
static V f_dot_odd(B b, V const *x) {
    return ir_dot_general(b, x[0], x[1], 1, I(1), I(2), 2, I(0, 3), I(3, 0), IR_PREC_DEFAULT);
}
static V f_dot_outer(B b, V const *x) {
    return ir_dot_general(b, x[0], x[1], 0, NULL, NULL, 0, NULL, NULL, IR_PREC_DEFAULT);
}
static V f_dot_inner(B b, V const *x) {
    return ir_dot_general(b, x[0], x[1], 0, NULL, NULL, 1, I(0), I(0), IR_PREC_DEFAULT);
}
static V f_dot_self(B b, V const *x) {
    return ir_dot_general(b, x[0], x[0], 0, NULL, NULL, 1, I(1), I(1), IR_PREC_DEFAULT);
}

/* x [N,C,H,W], w [O,C,KH,KW] unless a row says otherwise. */
static V conv(B b, V const *x, ir_conv_dims d) {
    if (!d.n_spatial) {
        d.lhs_batch = 0, d.lhs_feature = 1, d.rhs_out = 0, d.rhs_in = 1, d.out_batch = 0, d.out_feature = 1,
        d.n_spatial = 2;
        d.lhs_spatial = d.rhs_spatial = d.out_spatial = I(2, 3);
        return ir_convolution(b, x[0], x[1], &d, IR_PREC_DEFAULT);
    }
    return ir_convolution(b, x[0], x[1], &d, IR_PREC_DEFAULT);
}
static V f_conv_plain(B b, V const *x) {
    return conv(b, x, (ir_conv_dims){0});
}
static V f_conv_stride_pad(B b, V const *x) {
    return conv(b, x, (ir_conv_dims){.strides = I(2, 3), .pad_low = I(1, 2), .pad_high = I(2, 0)});
}
static V f_conv_dilated(B b, V const *x) {
    return conv(b, x,
                (ir_conv_dims){.rhs_dilation = I(2, 1),
                               .lhs_dilation = I(1, 3),
                               .pad_low = I(1, -1),
                               .pad_high = I(0, 1),
                               .strides = I(1, 2)});
}
static V f_conv_groups(B b, V const *x) {
    return conv(b, x, (ir_conv_dims){.feature_groups = 2, .pad_low = I(1, 1), .pad_high = I(1, 1)});
}
static V f_conv_depthwise(B b, V const *x) {
    return conv(b, x, (ir_conv_dims){.feature_groups = 3, .strides = I(2, 2)});
}
static V f_conv_batch_groups(B b, V const *x) {
    return conv(b, x, (ir_conv_dims){.batch_groups = 2, .pad_low = I(1, 0), .pad_high = I(0, 1)});
}
static V f_conv_reversed(B b, V const *x) {
    return conv(b, x, (ir_conv_dims){.reverse = (const bool[]){true, false}, .strides = I(2, 1)});
}
static V f_conv_nhwc(B b, V const *x) {
    return conv(b, x,
                (ir_conv_dims){.lhs_batch = 0,
                               .lhs_feature = 3,
                               .lhs_spatial = I(1, 2),
                               .rhs_in = 2,
                               .rhs_out = 3,
                               .rhs_spatial = I(0, 1),
                               .out_batch = 0,
                               .out_feature = 3,
                               .out_spatial = I(1, 2),
                               .n_spatial = 2,
                               .strides = I(2, 1)});
}
static V f_conv_1d_odd(B b, V const *x) { /* x [W,C,N], w [O,W,I], out [N,O,W] */
    return conv(b, x,
                (ir_conv_dims){.lhs_batch = 2,
                               .lhs_feature = 1,
                               .lhs_spatial = I(0),
                               .rhs_in = 2,
                               .rhs_out = 0,
                               .rhs_spatial = I(1),
                               .out_batch = 0,
                               .out_feature = 1,
                               .out_spatial = I(2),
                               .n_spatial = 1,
                               .pad_low = I(2),
                               .pad_high = I(1)});
}

static V f_window_add(B b, V const *x) {
    return ir_reduce_window(b, OP_add, x[0], I(1, 2, 3), I(1, 2, 1), I(0, 1, 0), I(0, 0, 2), NULL, NULL);
}
static V f_window_add_dilated(B b, V const *x) {
    return ir_reduce_window(b, OP_add, x[0], I(2, 2), I(1, 2), I(1, 0), I(0, 1), I(2, 1), I(1, 2));
}
static V f_window_max(B b, V const *x) {
    return ir_reduce_window(b, OP_maximum, x[0], I(1, 2, 3), I(1, 2, 2), I(0, 1, 0), I(0, 0, 2), NULL, NULL);
}
static V f_window_min(B b, V const *x) {
    return ir_reduce_window(b, OP_minimum, x[0], I(1, 2, 2), I(1, 1, 2), NULL, NULL, NULL, NULL);
}
static V f_window_max_dilated(B b, V const *x) {
    return ir_reduce_window(b, OP_maximum, x[0], I(2, 2), I(1, 2), I(1, 0), I(0, 1), I(2, 1), I(1, 2));
}
static V f_cumsum(B b, V const *x) {
    return ir_reduce_window(b, OP_add, x[0], I(1, 5), NULL, I(0, 4), I(0, 0), NULL, NULL);
}
static V f_cumprod(B b, V const *x) {
    return ir_reduce_window(b, OP_multiply, x[0], I(1, 5), NULL, I(0, 4), I(0, 0), NULL, NULL);
}
static V f_cumprod_zeros(B b, V const *x) { /* one zero in the first row, two in the second */
    double mask[10] = {1, 0, 1, 1, 1, 1, 0, 1, 0, 1};
    return ir_reduce_window(b, OP_multiply, ir_multiply(b, x[0], ir_constant(b, F64(2, 5), mask)), I(1, 5), NULL,
                            I(0, 4), I(0, 0), NULL, NULL);
}
static V f_cummax(B b, V const *x) {
    return ir_reduce_window(b, OP_maximum, x[0], I(1, 5), NULL, I(0, 4), I(0, 0), NULL, NULL);
}
static V f_select_and_scatter(B b, V const *x) {
    return ir_select_and_scatter_max(b, x[0], x[1], I(2, 3), I(2, 2), I(0, 1), I(0, 1));
}

static V f_bn_training(B b, V const *x) {
    V out[3];
    return ir_batch_norm_training(b, x[0], x[1], x[2], 1e-3f, 1, out) ? out[0] : NULL;
}
static V f_bn_all(B b, V const *x) { /* output, mean and variance all count */
    V out[3];
    if (!ir_batch_norm_training(b, x[0], x[1], x[2], 1e-3f, 2, out)) return NULL;
    V mean = ir_broadcast_in_dim(b, out[1], x[0]->type, 1, I(2)),
      var = ir_broadcast_in_dim(b, out[2], x[0]->type, 1, I(2));
    return ir_add(b, ir_multiply(b, out[0], var), ir_sine(b, mean));
}
static V f_bn_inference(B b, V const *x) {
    return ir_batch_norm_inference(b, x[0], x[1], x[2], x[3], x[4], 1e-3f, 1);
}

static V f_gather_rows(B b, V const *x) { /* table [5,3], four rows, one of them twice, one outside (clamped) */
    static const int32_t rows[] = {4, 0, 4, 9};
    ir_gather_dims d = {.n_offset = 1,
                        .offset = I(1),
                        .n_collapsed = 1,
                        .collapsed = I(0),
                        .n_index_map = 1,
                        .index_map = I(0),
                        .index_vector_dim = 1};
    return ir_gather(b, x[0], ints(b, 1, I(4), rows), &d, I(1, 3), false);
}
static V f_gather_boxes(B b, V const *x) { /* x [4,5], boxes [2,2] at (row, column) pairs; one reaches over the edge */
    static const int32_t at[] = {0, 1, 3, 4, 2, 2, -1, 0};
    ir_gather_dims d = {
        .n_offset = 2, .offset = I(0, 2), .n_index_map = 2, .index_map = I(1, 0), .index_vector_dim = 1};
    return ir_gather(b, x[0], ints(b, 2, I(4, 2), at), &d, I(2, 2), false);
}
static const int32_t scatter_at[] = {2, 0, 2, 7};
static V scatter_rows(B b, V const *x, ir_opcode combine) {
    /* x [4,3], updates [4,3]; row 2 twice, row 7 does not exist */
    ir_scatter_dims d = {.n_window = 1,
                         .window = I(1),
                         .n_inserted = 1,
                         .inserted = I(0),
                         .n_scatter_to_operand = 1,
                         .scatter_to_operand = I(0),
                         .index_vector_dim = 1};
    return ir_scatter(b, combine, x[0], ints(b, 1, I(4), scatter_at), x[1], &d, false, false);
}
static V f_scatter_add(B b, V const *x) {
    return scatter_rows(b, x, OP_add);
}
static V f_scatter_replace(B b, V const *x) {
    return scatter_rows(b, x, OP_COUNT);
}
static V f_scatter_multiply(B b, V const *x) {
    return scatter_rows(b, x, OP_multiply);
}
static V f_scatter_multiply_zeros(B b, V const *x) {
    /* row 2 gets a zero from one of its two updates, in the last column from both */
    double mask[12] = {1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1};
    V in[2] = {x[0], ir_multiply(b, x[1], ir_constant(b, F64(4, 3), mask))};
    return scatter_rows(b, in, OP_multiply);
}
static V f_scatter_max(B b, V const *x) {
    return scatter_rows(b, x, OP_maximum);
}
static V f_scatter_min(B b, V const *x) {
    return scatter_rows(b, x, OP_minimum);
}
static V f_dynamic_slice(B b, V const *x) { /* the second start is moved back inside */
    V start[2] = {ints(b, 0, NULL, &(int32_t){1}), ints(b, 0, NULL, &(int32_t){9})};
    return ir_dynamic_slice(b, x[0], 2, start, I(2, 3));
}
static V f_dynamic_update_slice(B b, V const *x) {
    V start[2] = {ints(b, 0, NULL, &(int32_t){1}), ints(b, 0, NULL, &(int32_t){9})};
    return ir_dynamic_update_slice(b, x[0], x[1], 2, start);
}
static V f_sort(B b, V const *x) {
    V out[2];
    return ir_sort(b, 2, x, 1, true, true, out) ? ir_multiply(b, out[0], out[1]) : NULL;
}
static V plus_diagonal(B b, V x, double k) {
    const ir_type *t = ir_with_dtype(x->type, XT_I32);
    V on = ir_compare(b, IR_EQ, ir_iota(b, t, t->rank - 2), ir_iota(b, t, t->rank - 1));
    return ir_add(b, x, ir_select(b, on, ir_splat(b, x->type, k), ir_splat(b, x->type, 0)));
}
static V one_triangle(B b, V x, bool lower) { /* the other one is not defined */
    const ir_type *t = ir_with_dtype(x->type, XT_I32);
    V in = ir_compare(b, lower ? IR_GE : IR_LE, ir_iota(b, t, t->rank - 2), ir_iota(b, t, t->rank - 1));
    return ir_select(b, in, x, ir_splat(b, x->type, 0));
}
static V cholesky(B b, V x, bool lower) {
    V a = plus_diagonal(b, ir_dot_general(b, x, x, 1, I(0), I(0), 1, I(2), I(2), IR_PREC_DEFAULT), 2);
    ir_attr attr = ir_attr_bool(IR_A_lower, lower);
    ir_op *op = ir_build(b, OP_cholesky, 1, &a, 1, &attr, 0, NULL, 0, NULL);
    return op ? one_triangle(b, &op->out[0], lower) : NULL;
}
static V f_cholesky(B b, V const *x) {
    return cholesky(b, x[0], true);
}
static V f_cholesky_upper(B b, V const *x) {
    return cholesky(b, x[0], false);
}
static V solve(B b, V const *x, bool left, bool lower, bool unit, int transpose) {
    ir_attr attrs[] = {ir_attr_bool(IR_A_left_side, left), ir_attr_bool(IR_A_lower, lower),
                       ir_attr_bool(IR_A_unit_diagonal, unit), ir_attr_enum(IR_A_transpose_a, transpose)};
    V in[2] = {plus_diagonal(b, x[0], 3), x[1]};
    ir_op *op = ir_build(b, OP_triangular_solve, 2, in, 4, attrs, 0, NULL, 0, NULL);
    return op ? &op->out[0] : NULL;
}
static V f_solve(B b, V const *x) {
    return solve(b, x, true, true, false, 1);
}
static V f_solve_right(B b, V const *x) {
    return solve(b, x, false, false, false, 1);
}
static V f_solve_transposed(B b, V const *x) {
    return solve(b, x, true, false, false, 2);
}
static V f_solve_unit(B b, V const *x) {
    return solve(b, x, false, true, true, 3);
}

static V fft(B b, V x, int type, size_t n, const int64_t *length) {
    ir_attr attrs[] = {ir_attr_enum(IR_A_fft_type, type), ir_attr_ints(b, IR_A_fft_length, n, length)};
    ir_op *op = ir_build(b, OP_fft, 1, &x, 2, attrs, 0, NULL, 0, NULL);
    return op ? &op->out[0] : NULL;
}
static V both_parts(B b, V z) {
    V re = ir_real(b, z), im = ir_imag(b, z);
    return re ? ir_add(b, re, ir_multiply(b, im, ir_splat(b, re->type, 0.7))) : NULL;
}
static V f_fft(B b, V const *x) {
    return both_parts(b, fft(b, ir_complex(b, x[0], x[1]), 0, 2, I(2, 3)));
}
static V f_ifft(B b, V const *x) {
    return both_parts(b, fft(b, ir_complex(b, x[0], x[1]), 1, 1, I(3)));
}
static V f_rfft(B b, V const *x) {
    return both_parts(b, fft(b, x[0], 2, 1, I(4)));
}
static V f_rfft_odd(B b, V const *x) {
    return both_parts(b, fft(b, x[0], 2, 2, I(2, 5)));
}
static V f_irfft(B b, V const *x) {
    return fft(b, ir_complex(b, x[0], x[1]), 3, 1, I(4));
}
static V f_irfft_odd(B b, V const *x) {
    return fft(b, ir_complex(b, x[0], x[1]), 3, 2, I(2, 5));
}

static V f_all_reduce(B b, V const *x) {
    V out[2];
    return ir_all_reduce(b, OP_add, 2, x, 2, 1, out) ? ir_multiply(b, out[0], out[1]) : NULL;
}
static V f_fan_in(B b, V const *x) { /* one value read five times, once through a chain */
    V t = ir_tanh(b, x[0]);
    V s = ir_add(b, ir_multiply(b, t, t), ir_multiply(b, x[0], t));
    return ir_add(b, s, ir_exponential(b, ir_multiply(b, t, s)));
}
static V f_softmax(B b, V const *x) {
    V m = ir_reduce(b, OP_maximum, x[0], 1, I(1));
    V e = ir_exponential(b, ir_subtract(b, x[0], ir_broadcast_in_dim(b, m, x[0]->type, 1, I(0))));
    return ir_divide(b, e, ir_broadcast_in_dim(b, ir_reduce(b, OP_add, e, 1, I(1)), x[0]->type, 1, I(0)));
}

/* --- rows --- */
typedef struct row {
    const char *name;
    V (*build)(B b, V const *x);
    double lo, hi; /* range of the inputs; 0, 0 = [-1.5, 1.5] */
    size_t n;
    dims in[MAX_IN];
} row;
#define M23      \
    {            \
        2, {     \
            2, 3 \
        }        \
    }
#define ROW1(f, lo, hi)         \
    {                           \
#f, f_##f, lo, hi, 1, { \
            M23                 \
        }                       \
    }
#define ROW2(f, lo, hi)         \
    {                           \
#f, f_##f, lo, hi, 2, { \
            M23, M23            \
        }                       \
    }

static const row rows[] = {
    ROW1(abs, 0, 0),
    ROW1(cbrt, 0.2, 2),
    ROW1(cosine, 0, 0),
    ROW1(exponential, 0, 0),
    ROW1(exponential_minus_one, 0, 0),
    ROW1(log, 0.3, 3),
    ROW1(log_plus_one, -0.5, 3),
    ROW1(logistic, 0, 0),
    ROW1(negate, 0, 0),
    ROW1(rsqrt, 0.3, 3),
    ROW1(sine, 0, 0),
    ROW1(sqrt, 0.3, 3),
    ROW1(tan, -1, 1),
    ROW1(tanh, 0, 0),
    ROW1(floor, 0, 0),
    ROW1(sign, 0, 0),
    ROW1(square_same, 0, 0),
    ROW1(pow_const2, 0, 0),
    ROW1(pow_const3, 0.2, 2),
    ROW1(pow_const1, 0, 0),
    ROW1(relu, 0, 0),
    ROW1(relu_broadcast, 0, 0),
    ROW1(convert_complex, 0, 0),
    ROW1(fan_in, 0, 0),
    ROW1(softmax, 0, 0),
    ROW1(clamp, 0, 0),
    ROW2(add, 0, 0),
    ROW2(atan2, 0.2, 2),
    ROW2(divide, 0.5, 2),
    ROW2(maximum, 0, 0),
    ROW2(minimum, 0, 0),
    ROW2(multiply, 0, 0),
    ROW2(power, 0.3, 2),
    ROW2(remainder, 0.6, 3),
    ROW2(subtract, 0, 0),
    ROW2(complex, 0, 0),
    ROW2(complex_abs, 0, 0),
    ROW2(select, 0, 0),
    ROW2(select_scalar, 0, 0),
    ROW2(barrier, 0, 0),
    ROW2(all_reduce, 0, 0),
    {"clamp_bounds", f_clamp_bounds, 0, 0, 3, {{0}, {2, {4, 5}}, {0}}},
    {"clamp_full_bounds", f_clamp_bounds, 0, 0, 3, {{2, {4, 5}}, {2, {4, 5}}, {2, {4, 5}}}},
    {"broadcast_new", f_broadcast_new, 0, 0, 1, {M23}},
    {"broadcast_stretch", f_broadcast_stretch, 0, 0, 1, {{3, {2, 1, 3}}}},
    {"broadcast_swapped", f_broadcast_swapped, 0, 0, 1, {M23}},
    {"broadcast_scalar", f_broadcast_scalar, 0, 0, 1, {{0}}},
    {"reshape", f_reshape, 0, 0, 1, {{3, {2, 3, 2}}}},
    {"transpose", f_transpose, 0, 0, 1, {{3, {2, 3, 4}}}},
    {"slice", f_slice, 0, 0, 1, {{2, {7, 5}}}},
    {"slice_plain", f_slice_plain, 0, 0, 1, {{2, {7, 5}}}},
    {"pad", f_pad, 0, 0, 2, {{2, {3, 4}}, {0}}},
    {"pad_cut", f_pad_cut, 0, 0, 2, {{2, {3, 4}}, {0}}},
    {"concatenate", f_concatenate, 0, 0, 3, {{2, {2, 3}}, {2, {2, 1}}, {2, {2, 2}}}},
    {"reverse", f_reverse, 0, 0, 1, {{3, {2, 3, 2}}}},
    {"reduce_add", f_reduce_add, 0, 0, 1, {{3, {2, 3, 2}}}},
    {"reduce_max", f_reduce_max, 0, 0, 1, {{3, {2, 5, 2}}}},
    {"reduce_min", f_reduce_min, 0, 0, 1, {{3, {2, 3, 2}}}},
    {"reduce_mul", f_reduce_mul, 0, 0, 1, {{3, {3, 2, 2}}}},
    {"reduce_mul_zeros", f_reduce_mul_zeros, 0, 0, 1, {{2, {4, 2}}}},
    {"dot_matrix", f_dot_matrix, 0, 0, 2, {{2, {3, 4}}, {2, {4, 2}}}},
    {"dot_batched", f_dot_batched, 0, 0, 2, {{3, {2, 3, 4}}, {3, {2, 2, 4}}}},
    {"dot_odd", f_dot_odd, 0, 0, 2, {{4, {2, 3, 2, 4}}, {4, {4, 2, 3, 2}}}},
    {"dot_outer", f_dot_outer, 0, 0, 2, {{1, {3}}, {2, {2, 2}}}},
    {"dot_inner", f_dot_inner, 0, 0, 2, {{1, {3}}, {1, {3}}}},
    {"dot_self", f_dot_self, 0, 0, 1, {{2, {3, 4}}}},
    {"conv_plain", f_conv_plain, 0, 0, 2, {{4, {2, 2, 4, 5}}, {4, {3, 2, 2, 3}}}},
    {"conv_stride_pad", f_conv_stride_pad, 0, 0, 2, {{4, {1, 2, 5, 6}}, {4, {2, 2, 3, 2}}}},
    {"conv_dilated", f_conv_dilated, 0, 0, 2, {{4, {1, 2, 6, 4}}, {4, {2, 2, 3, 2}}}},
    {"conv_groups", f_conv_groups, 0, 0, 2, {{4, {2, 4, 3, 3}}, {4, {6, 2, 2, 2}}}},
    {"conv_depthwise", f_conv_depthwise, 0, 0, 2, {{4, {1, 3, 5, 4}}, {4, {6, 1, 2, 2}}}},
    {"conv_batch_groups", f_conv_batch_groups, 0, 0, 2, {{4, {4, 2, 3, 3}}, {4, {6, 2, 2, 2}}}},
    {"conv_reversed", f_conv_reversed, 0, 0, 2, {{4, {1, 2, 5, 4}}, {4, {2, 2, 3, 2}}}},
    {"conv_nhwc", f_conv_nhwc, 0, 0, 2, {{4, {1, 5, 4, 2}}, {4, {3, 2, 2, 3}}}},
    {"conv_1d_odd", f_conv_1d_odd, 0, 0, 2, {{3, {5, 2, 3}}, {3, {3, 2, 2}}}},
    {"window_add", f_window_add, 0, 0, 1, {{3, {2, 5, 4}}}},
    {"window_add_dilated", f_window_add_dilated, 0, 0, 1, {{2, {4, 6}}}},
    {"window_max", f_window_max, 0, 0, 1, {{3, {2, 5, 4}}}},
    {"window_min", f_window_min, 0, 0, 1, {{3, {2, 4, 5}}}},
    {"window_max_dilated", f_window_max_dilated, 0, 0, 1, {{2, {4, 6}}}},
    {"cumsum", f_cumsum, 0, 0, 1, {{2, {2, 5}}}},
    {"cumprod", f_cumprod, 0.5, 2, 1, {{2, {2, 5}}}},
    {"cumprod_zeros", f_cumprod_zeros, 0.5, 2, 1, {{2, {2, 5}}}},
    {"cummax", f_cummax, 0, 0, 1, {{2, {2, 5}}}},
    {"select_and_scatter", f_select_and_scatter, 0, 0, 2, {{2, {4, 5}}, {2, {2, 3}}}},
    {"batch_norm_training", f_bn_training, 0, 0, 3, {{3, {3, 2, 2}}, {1, {2}}, {1, {2}}}},
    {"batch_norm_all", f_bn_all, 0, 0, 3, {{3, {3, 2, 2}}, {1, {2}}, {1, {2}}}},
    {"batch_norm_inference", f_bn_inference, 0.2, 2, 5, {{2, {3, 2}}, {1, {2}}, {1, {2}}, {1, {2}}, {1, {2}}}},
    {"gather_rows", f_gather_rows, 0, 0, 1, {{2, {5, 3}}}},
    {"gather_boxes", f_gather_boxes, 0, 0, 1, {{2, {4, 5}}}},
    {"scatter_add", f_scatter_add, 0, 0, 2, {{2, {4, 3}}, {2, {4, 3}}}},
    {"scatter_replace", f_scatter_replace, 0, 0, 2, {{2, {4, 3}}, {2, {4, 3}}}},
    {"scatter_multiply", f_scatter_multiply, 0, 0, 2, {{2, {4, 3}}, {2, {4, 3}}}},
    {"scatter_multiply_zeros", f_scatter_multiply_zeros, 0, 0, 2, {{2, {4, 3}}, {2, {4, 3}}}},
    {"scatter_max", f_scatter_max, 0, 0, 2, {{2, {4, 3}}, {2, {4, 3}}}},
    {"scatter_min", f_scatter_min, 0, 0, 2, {{2, {4, 3}}, {2, {4, 3}}}},
    {"dynamic_slice", f_dynamic_slice, 0, 0, 1, {{2, {4, 5}}}},
    {"dynamic_update_slice", f_dynamic_update_slice, 0, 0, 2, {{2, {4, 5}}, {2, {2, 3}}}},
    {"cholesky", f_cholesky, 0, 0, 1, {{3, {2, 3, 3}}}},
    {"cholesky_upper", f_cholesky_upper, 0, 0, 1, {{3, {1, 3, 3}}}},
    {"solve", f_solve, 0, 0, 2, {{3, {2, 3, 3}}, {3, {2, 3, 2}}}},
    {"solve_right", f_solve_right, 0, 0, 2, {{2, {3, 3}}, {2, {2, 3}}}},
    {"solve_transposed", f_solve_transposed, 0, 0, 2, {{2, {3, 3}}, {2, {3, 2}}}},
    {"solve_unit", f_solve_unit, 0, 0, 2, {{2, {3, 3}}, {2, {2, 3}}}},
    {"fft", f_fft, 0, 0, 2, {M23, M23}},
    {"ifft", f_ifft, 0, 0, 2, {M23, M23}},
    {"rfft", f_rfft, 0, 0, 1, {{2, {2, 4}}}},
    {"rfft_odd", f_rfft_odd, 0, 0, 1, {{2, {2, 5}}}},
    {"irfft", f_irfft, 0, 0, 2, {M23, M23}},
    {"irfft_odd", f_irfft_odd, 0, 0, 2, {M23, M23}},
    {"sort", f_sort, 0, 0, 2, {{2, {2, 5}}, {2, {2, 5}}}},
};

/* --- the check --- */
static bool met[OP_COUNT]; /* ops that a row's function and its gradients are made of */
static void meet(const ir_block *block) {
    for (const ir_op *op = block ? block->first : NULL; op; op = op->next) {
        met[op->code] = true;
        for (uint32_t r = 0; r < op->n_regions; r++) meet(op->regions[r].block);
    }
}

/* main returns the scalar and its gradients by all inputs; with `second` the scalar is made of the first gradients. */
static ir_module *program(const row *r, bool second) {
    ir_module *m = ir_module_new();
    ir_func *f = ir_func_new(m, "main", true);
    V x[MAX_IN];
    for (size_t i = 0; i < r->n; i++) x[i] = ir_func_arg(f, ir_tensor(XT_F64, r->in[i].rank, r->in[i].d));
    ir_builder b = ir_at_end(m, ir_func_block(f));
    finish_program(&b, r->n, x, weighted(&b, r->build(&b, x), 1), second);
    if (!second) meet(ir_func_block(f)); /* the first gradients as well: they are differentiated for the second ones */
    return m;
}

/* A world of two ranks with the same data: their sum is twice the value. */
static xt_status twins(void *user, const ir_op *op, const array *in, array *out) {
    (void)user;
    assert_int_equal(op->code, OP_all_reduce);
    for (uint32_t k = 0; k < op->n_in; k++)
        for (int64_t i = 0; i < in[k].type->count; i++) array_set(&out[k], i, 2 * array_get(&in[k], i));
    return NULL;
}
static const interp_hooks hooks = {.collective = twins};

static void check_row(void **state) {
    const row *r = *state;
    array x[MAX_IN] = {0};
    const ir_type *types[MAX_IN];
    for (size_t k = 0; k < r->n; k++) types[k] = ir_tensor(XT_F64, r->in[k].rank, r->in[k].d);
    fill_inputs(r->n, types, r->lo == r->hi ? -1.5 : r->lo, r->lo == r->hi ? 1.5 : r->hi, x);
    for (int second = 0; second < 2; second++) {
        ir_module *m = program(r, second);
        compare_numeric(&(numeric){r->name, m, "main", 1, r->n, &hooks}, x, second ? "second" : "first");
        ir_module_free(m);
    }
    for (size_t k = 0; k < r->n; k++) array_free(&x[k]);
}

/* `word` stands in text, and no longer word does there. */
static bool has_word(const char *text, const char *word) {
    for (const char *at = text; (at = strstr(at, word)); at++) {
        char next = at[strlen(word)];
        if (next != '_' && !isalnum((unsigned char)next)) return true;
    }
    return false;
}
/* By its full name, or as test_grad_text's macros are given it. */
static bool is_in_text(const char *text, const char *dialect, const char *name) {
    static const char *const forms[] = {"CHLO", "SPREAD_ROW", "SPREAD_ORDER"};
    char full[64];
    snprintf(full, sizeof full, "%s.%s", dialect, name);
    bool found = has_word(text, full), spread = strncmp(name, "broadcast_", 10) == 0;
    if (strcmp(dialect, "chlo") != 0) return found;
    for (size_t i = spread ? 1 : 0; i < (spread ? BASE_COUNT(forms) : 1); i++) {
        snprintf(full, sizeof full, "%s(\"%s\"", forms[i], spread ? name + 10 : name);
        found = found || strstr(text, full);
    }
    return found;
}
/* An op whose row in ops.def says GRAD stands in one of the rows above, or in a program of test_grad_text. */
static void every_rule_is_compared(void **state) {
    (void)state;
    char *text;
    size_t bytes, rules = 0, alone = 0;
    xt_status s = file_read_all("tests/unit/test_grad_text.c", &text, &bytes);
    if (s) xt_status_free(s), skip();
    for (int op = 0; op < OP_COUNT; op++) {
        const char *name = ir_op_infos[op].name, *dialect = ir_op_infos[op].dialect;
        if (!grad_rules[op].fn || op == OP_custom_call) continue; /* factorisations by name: test_linalg */
        rules++;
        if (met[op] || is_in_text(text, dialect, name)) continue;
        print_error("%s.%s has a derivative, and no row compares it with differences\n", dialect, name);
        alone++;
    }
    assert_int_equal(alone, 0);
    assert_true(rules > 60);
    base_free(text);
}

int main(int argc, char **argv) {
    struct CMUnitTest tests[BASE_COUNT(rows) + 1];
    size_t n = 0;
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        if (argc < 2 || strcmp(argv[1], rows[i].name) == 0)
            tests[n++] =
                (struct CMUnitTest){.name = rows[i].name, .test_func = check_row, .initial_state = (void *)&rows[i]};
    if (n == BASE_COUNT(rows)) tests[n++] = (struct CMUnitTest)cmocka_unit_test(every_rule_is_compared);
    return n ? _cmocka_run_group_tests("grad_rules", tests, n, NULL, NULL) : 1;
}
