/* What the user gets wrong in a tensor op: the result is an error tensor, the message names function, shapes, what was
 * expected and the user's line, and nothing else is recorded for what is fed by it. */
#include "error_rows.h"

CASE(add, xt_add(F(128, 320), F(50, 320)))
CASE(add_bool, xt_minus(TRUTH, TRUTH))
CASE(neg_bool, xt_neg(TRUTH))
CASE(matmul, xt_matmul(F(128, 320), F(50, 320)))
CASE(matmul_no_hint, xt_matmul(F(128, 320), F(50, 60)))
CASE(matmul_scalar, xt_matmul(F(2, 2), xt_full(1, XT_F32)))
CASE(matmul_batch, xt_matmul(F(2, 4, 3), F(5, 3, 4)))
CASE(reshape, xt_reshape(F(2, 3), 4, 2))
CASE(reshape_hole, xt_reshape(F(2, 3), 4, -1))
CASE(reshape_holes, xt_reshape(F(2, 3), -1, -1))
CASE(transpose, xt_transpose(F(2, 3), 0, 2))
CASE(permute, xt_permute(F(2, 3), 0, 0))
CASE(permute_short, xt_permute(F(2, 3), 1))
CASE(slice, xt_slice(F(2, 3), 2, 0, 1))
static T e_concat(void) {
    T two[2] = {F(2, 3), F(2, 4)};
    return xt_concat(2, two, 0);
}
CASE(broadcast_to, xt_broadcast_to(F(2, 3), 2, 4))
CASE(unsqueeze, xt_unsqueeze(F(2), 3))
CASE(unsqueeze_full, xt_unsqueeze(F(1, 1, 1, 1, 1, 1, 1, 1), 0))
CASE(sum_axis, xt_sum_axis(F(2), -2))
CASE(argmax, xt_argmax(xt_full(1, XT_F32), 0))
CASE(max_empty, xt_max(xt_slice(F(2), 0, 1, 1)))
CASE(conv_rank, xt_conv2d_fn(F(28, 28), F(1, 1, 3, 3), (T){0}))
CASE(conv_channels, xt_conv2d_fn(F(1, 3, 8, 8), F(4, 1, 3, 3), (T){0}))
CASE(conv_kernel, xt_conv2d_fn(F(1, 1, 4, 4), F(1, 1, 3, 3), (T){0}, .dilation = 2))
CASE(conv_bias, xt_conv2d_fn(F(1, 1, 4, 4), F(2, 1, 3, 3), F(3)))
CASE(conv_stride, xt_conv2d_fn(F(1, 1, 4, 4), F(2, 1, 3, 3), (T){0}, .stride = -1))
CASE(pool_rank, xt_max_pool2d(F(4, 4), 2))
CASE(pool_padding, xt_max_pool2d(F(1, 1, 4, 4), 2, .padding = 2))
CASE(adaptive_avg_zero, xt_adaptive_avg_pool2d(F(1, 1, 4, 4), 0, 0))
CASE(adaptive_max_zero, xt_adaptive_max_pool2d(F(1, 1, 4, 4), 2, 0))
CASE(pool_small, xt_avg_pool2d(F(1, 1, 4, 4), 5))
CASE(softmax, xt_softmax(F(2, 3), 2))
CASE(nll_labels, xt_nll_loss(F(2, 3), F(2)))
CASE(nll_shape, xt_nll_loss(F(2, 3), LABELS(3)))
CASE(cross_entropy, xt_cross_entropy(F(2, 3, 4), LABELS(2)))
CASE(cross_entropy_axis, xt_cross_entropy(F(2, 4, 4), xt_cast(F(2, 4), XT_I64)))
CASE(cross_entropy_weight, xt_cross_entropy(F(2, 3), LABELS(2), .weight = F(4)))
CASE(cross_entropy_smoothing, xt_cross_entropy(F(2, 3), LABELS(2), .label_smoothing = 1.5))
CASE(mse, xt_mse_loss(F(4, 1), F(4)))
CASE(mse_reduction, xt_mse_loss(F(4), F(4), .reduction = XT_MAX))
CASE(bce_weight, xt_bce_with_logits(F(4, 2), F(4, 2), .pos_weight = F(3)))
CASE(gauss_variance, xt_gaussian_nll_loss(F(4, 2), F(4, 2), F(3)))
CASE(take, xt_take(F(4, 1), F(4)))
CASE(one_hot, xt_one_hot(LABELS(4), 0, XT_F32))
CASE(clamp, xt_clamp(F(2), 1, 0))
CASE(where, xt_where(F(3), F(2), F(2)))
CASE(cast, xt_cast(F(2), XT_TOKEN))
CASE(full, xt_full(1, XT_F32, 2, -3))
CASE(zeros, xt_zeros(XT_F32, 0, 2))
CASE(ones, xt_ones(XT_F32, 2, -3))
CASE(arange, xt_arange(-1, XT_F32))
CASE(rand, xt_rand(XT_I32, 2))

static const row rows[] = {
    ROW(add, "xt_add: x [128,320] and y [50,320] do not broadcast: 128 and 50 differ in dim -2"),
    ROW(add_bool, "xt_minus: x and y are bool"),
    ROW(neg_bool, "xt_neg: x is bool"),
    ROW(matmul, "xt_matmul: x [128,320] and y [50,320]: inner sizes 320 and 50 differ; xt_transpose(y, 0, 1)?"),
    ROW(matmul_no_hint, "inner sizes 320 and 50 differ"),
    ROW(matmul_scalar, "xt_mul multiplies by a scalar"),
    ROW(matmul_batch, "batch dims [2] and [5] do not broadcast"),
    ROW(reshape, "xt_reshape: [2,3] has 6 elements, [4,2] has 8"),
    ROW(reshape_hole, "xt_reshape: [2,3] has 6 elements, [4,-1] needs a multiple of 4"),
    ROW(reshape_holes, "one dim may be -1"),
    ROW(transpose, "xt_transpose: axis 2 of [2,3]: axes run from -2 to 1"),
    ROW(permute, "axis 0 stands twice"),
    ROW(permute_short, "xt_permute: 1 axes for [2,3]"),
    ROW(slice, "xt_slice: axis 2 of [2,3]"),
    ROW(concat, "tensor 0 is [2,3] and tensor 1 is [2,4]: all dims but axis 0 must agree"),
    ROW(broadcast_to, "xt_broadcast_to: [2,3] does not broadcast to [2,4]"),
    ROW(unsqueeze, "a new axis can stand at -2 to 1"),
    ROW(unsqueeze_full, "most dims"),
    ROW(sum_axis, "xt_sum_axis: axis -2 of [2]: axes run from -1 to 0"),
    ROW(argmax, "without dims"),
    ROW(max_empty, "xt_max: x [0] has no elements"),
    ROW(conv_rank, "x must be [N,C,H,W]"),
    ROW(conv_channels, "3 channels of x need a weight with 3 in dim 1, it has 1"),
    ROW(conv_kernel, "is 4 in dim 2, the kernel [1,1,3,3] reaches over 5"),
    ROW(conv_bias, "bias [3] for a weight [2,1,3,3]: it must be [2]"),
    ROW(conv_stride, "stride -1"),
    ROW(pool_rank, "xt_max_pool2d: x is f32 [4,4]"),
    ROW(pool_padding, "padding 2: it must be from 0 to half the kernel (1)"),
    ROW(adaptive_avg_zero, "xt_adaptive_avg_pool2d: x [1,1,4,4] to size 0 in dim 2"),
    ROW(adaptive_max_zero, "xt_adaptive_max_pool2d: x [1,1,4,4] to size 0 in dim 3"),
    ROW(pool_small, "smaller than the kernel 5x5"),
    ROW(softmax, "xt_softmax: axis 2 of [2,3]"),
    ROW(nll_labels, "labels f32 [2]: class numbers are integers"),
    ROW(nll_shape, "scores are f32 [2,3] and labels i64 [3]: labels have the scores' shape without the class axis"),
    ROW(cross_entropy, "labels have the scores' shape without the class axis, which is dim 1 ([N,C,d1,...]) or the "
                       "last one ([N,T,C])"),
    ROW(cross_entropy_axis, "the classes may be dim 1 or the last dim; say .axis = 1 or .axis = -1"),
    ROW(cross_entropy_weight, ".weight is [4]; one factor a class is needed, [3]"),
    ROW(cross_entropy_smoothing, "xt_cross_entropy: .label_smoothing = 1.5 is out of range: expected 0 to 1"),
    ROW(mse, "xt_mse_loss: x [4,1] and y [4] must have the same shape"),
    ROW(mse_reduction, "xt_mse_loss: .reduction = 4 is out of range: expected XT_MEAN, XT_SUM or XT_NONE"),
    ROW(bce_weight, "xt_bce_with_logits: .pos_weight [3] does not broadcast to [4,2]"),
    ROW(gauss_variance, "xt_gaussian_nll_loss: .variance [3] does not broadcast to [4,2]"),
    ROW(take, "integer indices"),
    ROW(one_hot, "at least 1 class"),
    ROW(clamp, "bounds 1 and 0"),
    ROW(where, "the condition [3] does not broadcast with x and y [2]"),
    ROW(cast, "no dtype of numbers"),
    ROW(full, "xt_full: dtype f32, shape [2,-3]"),
    ROW(zeros, "xt_zeros: dtype f32, shape [0,2]"),
    ROW(ones, "xt_ones: dtype f32, shape [2,-3]"),
    ROW(arange, "xt_arange: -1 numbers"),
    ROW(rand, "random numbers are floats"),
};

ERROR_MAIN("ops_errors")
