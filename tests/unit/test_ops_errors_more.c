/* What the user gets wrong in the functions of ops.h. Names stand as `function_mistake`. */
#include "error_rows.h"

#define C64 xt_complex(F(3), F(3))

/* Functions with several results give the first. */
#define FIRST(name, call)              \
    static T e_##name(void) {          \
        T v = {0}, i = {0};            \
        call;                          \
        return xt_is_error(i) ? v : i; \
    }
#define PARTS(name, count, call)       \
    static T e_##name(void) {          \
        T part[4] = {{0}};             \
        assert_int_equal(call, count); \
        return part[0];                \
    }
/* --- elementwise */
CASE(erf_complex, xt_erf(C64))
CASE(bitwise_and_float, xt_bitwise_and(F(2), F(2)))
CASE(bitwise_not_float, xt_bitwise_not(F(2)))
CASE(shift_bool, xt_bitwise_left_shift(TRUTH, TRUTH))
CASE(fmod_bool, xt_fmod(TRUTH, TRUTH))
CASE(hypot_shape, xt_hypot(F(2, 3), F(4)))
CASE(isinf_complex, xt_isinf(C64))
CASE(lerp_shape, xt_lerp(F(2), F(2), F(3)))
CASE(addcmul_shape, xt_addcmul(F(2), F(2), F(3), 1))
CASE(clamp_none, xt_clamp_tensor(F(2), (T){0}, (T){0}))
CASE(clamp_shape, xt_clamp_tensor(F(2), F(3), (T){0}))
CASE(isclose_shape, xt_isclose(F(2), F(3)))
CASE(isclose_tolerance, xt_isclose(F(2), F(2), .rtol = -1))
CASE(celu_zero, xt_celu(F(2), 0))
CASE(hardtanh_bounds, xt_hardtanh(F(2), 1, 0))
CASE(softshrink_negative, xt_softshrink(F(2), -1))
CASE(glu_odd, xt_glu(F(2, 3), 1))
CASE(prelu_channels, xt_prelu_fn(F(2, 3), F(2)))
/* --- reductions, scans, sorting */
CASE(sum_axis, xt_sum_axes(F(2, 3), XT_AXES(2)))
CASE(sum_twice, xt_sum_axes(F(2, 3), XT_AXES(1, -1)))
CASE(sum_many, xt_sum_axes(F(2, 3), XT_AXES(0, 1, 2)))
CASE(sum_dtype, xt_sum_axes(F(2, 3), XT_AXES(0), .dtype = XT_TOKEN))
CASE(amax_empty, xt_amax_axes(xt_slice(F(2), 0, 1, 1), XT_ALL_AXES))
CASE(amax_complex, xt_amax_axes(C64, XT_ALL_AXES))
CASE(norm_nan, xt_norm_axes(F(2), XT_ALL_AXES, .p = NAN))
CASE(argmin_axis, xt_argmin(F(2), 1))
FIRST(max_with_index_axis, xt_max_with_index(F(2), 1, &v, &i))
CASE(cumsum_axis, xt_cumsum(F(2), 1))
CASE(logcumsumexp_complex, xt_logcumsumexp(C64, 0))
FIRST(cummax_axis, xt_cummax(F(2), 3, &v, &i))
CASE(diff_negative, xt_diff(F(2), -1, 0))
FIRST(sort_complex, xt_sort(C64, 0, &v, &i))
FIRST(sort_axis, xt_sort(F(2), 1, &v, &i))
FIRST(topk_k, xt_topk(F(2, 3), 4, 1, &v, &i))
FIRST(kthvalue_k, xt_kthvalue(F(2, 3), 0, 1, &v, &i))
FIRST(median_empty, xt_median_axis(xt_slice(F(2), 0, 1, 1), 0, &v, &i))
CASE(quantile_q, xt_quantile(F(2), 1.5, 0))
CASE(searchsorted_shape, xt_searchsorted(F(2, 3), F(3, 3)))
/* --- shapes */
CASE(narrow_far, xt_narrow(F(5), 0, 3, 4))
CASE(select_far, xt_select(F(5), 0, 5))
CASE(slice_step_zero, xt_slice_step(F(5), 0, 0, 5, 0))
PARTS(split_room, 0, xt_split(F(5), 1, 0, 4, part))
PARTS(split_size, 0, xt_split(F(5), 0, 0, 4, part))
CASE(diag_embed_far, xt_diag_embed(F(3), INT64_MAX))
CASE(diag_far, xt_diag(F(3), INT64_MIN))
PARTS(split_sizes_sum, 0, xt_split_sizes(F(5), 2, (int64_t[]){1, 3}, 0, part))
PARTS(unbind_axis, 0, xt_unbind(F(5), 1, 4, part))
CASE(stack_shapes, xt_stack(2, XT_TENSORS(F(2), F(3)), 0))
CASE(stack_axis, xt_stack(2, XT_TENSORS(F(2), F(2)), 2))
CASE(stack_none, xt_stack(0, NULL, 0))
CASE(repeat_short, xt_repeat(F(2, 3), XT_LIST(2)))
CASE(repeat_list, xt_repeat(F(2), (xt_list){.n = -1}))
CASE(repeat_negative, xt_repeat(F(2), XT_LIST(-1)))
CASE(repeat_counts_number, xt_repeat_interleave_counts(F(2, 3), LABELS(2), 1, 4))
CASE(repeat_counts_dtype, xt_repeat_interleave_counts(F(2), F(2), 0, 4))
CASE(repeat_counts_size, xt_repeat_interleave_counts(F(2), LABELS(2), 0, 0))
CASE(channel_groups, xt_channel_shuffle(F(2, 6, 3), 4))
CASE(tril_indices_negative, xt_tril_indices(-1, 3, 0))
CASE(pairwise_distance_p, xt_pairwise_distance(F(2), F(2), .p = NAN))
CASE(repeat_interleave_negative, xt_repeat_interleave(F(2), -1, 0))
CASE(flip_axis, xt_flip(F(2), XT_AXES(1)))
CASE(roll_pairs, xt_roll(F(2, 3), XT_LIST(1, 2), XT_AXES(0)))
CASE(movedim_pairs, xt_movedim(F(2, 3), XT_AXES(0, 1), XT_AXES(0)))
CASE(unflatten_product, xt_unflatten(F(2, 3), 1, 2, -1))
CASE(view_as_count, xt_view_as(F(2, 3), F(5)))
CASE(expand_as_shape, xt_expand_as(F(2, 3), F(2, 4)))
PARTS(broadcast_shapes, 0, xt_broadcast_tensors(2, XT_TENSORS(F(2), F(3)), part))
PARTS(meshgrid_rank, 0, xt_meshgrid(1, XT_TENSORS(F(2, 3)), false, part))
CASE(pad_huge, xt_pad(F(2), XT_LIST(INT64_MAX, INT64_MAX)))
CASE(pad_pairs, xt_pad(F(2), XT_LIST(1)))
CASE(pad_many, xt_pad(F(2), XT_LIST(1, 1, 1, 1)))
CASE(pad_reflect_far, xt_pad(F(2), XT_LIST(2, 0), .mode = XT_PAD_REFLECT))
CASE(unfold_axis_size, xt_unfold_axis(F(2), 0, 3, 1))
CASE(unfold_rank, xt_unfold(F(2, 3), 2, 2))
CASE(tril_rank, xt_tril(F(2), 0))
CASE(diag_rank, xt_diag(F(1, 2, 3), 0))
CASE(diagonal_axes, xt_diagonal(F(2, 3), 0, 1, -1))
CASE(trace_rank, xt_trace(F(2)))
CASE(range_step, xt_range(0, 1, 0, XT_F32))
CASE(linspace_bool, xt_linspace(0, 1, 3, XT_BOOL))
CASE(eye_none, xt_eye(0, 0, XT_F32))
/* --- indices */
CASE(gather_float, xt_gather(F(2), 0, F(2)))
CASE(gather_rank, xt_gather(F(2, 3), 0, LABELS(2)))
CASE(gather_large, xt_gather(F(2, 3), 0, LABELS(2, 4)))
CASE(take_along_axis_shape, xt_take_along_axis(F(2, 3), LABELS(3, 3), 1))
CASE(scatter_src, xt_scatter(F(2, 3), 0, LABELS(2, 3), F(2, 2)))
CASE(scatter_axis, xt_scatter(F(2, 3), 2, LABELS(2, 3), F(2, 3)))
CASE(scatter_reduce_how, xt_scatter_reduce(F(2), 0, LABELS(2), F(2), (xt_reduction)9))
CASE(scatter_reduce_bool, xt_scatter_reduce(TRUTH, 0, LABELS(2), TRUTH, XT_REDUCE_SUM))
CASE(index_select_rank, xt_index_select(F(2, 3), 0, LABELS(2, 2)))
CASE(index_add_shape, xt_index_add(F(2, 3), 0, LABELS(2), F(3, 3), 1))
CASE(index_many, xt_index(F(2), 2, XT_TENSORS(LABELS(1), LABELS(1))))
CASE(index_shapes, xt_index(F(2, 2), 2, XT_TENSORS(LABELS(2), LABELS(3))))
CASE(index_put_values, xt_index_put(F(2, 3), 1, XT_TENSORS(LABELS(2)), F(4)))
CASE(masked_fill_mask, xt_masked_fill(F(2), F(2), 0))
CASE(masked_fill_shape, xt_masked_fill(F(3), TRUTH, 0))
CASE(bincount_rank, xt_bincount(LABELS(2, 2), 4, (T){0}))
/* --- linear algebra */
CASE(einsum_count, xt_einsum("ij,jk", 1, XT_TENSORS(F(2, 3))))
CASE(einsum_rank, xt_einsum("ijk", 1, XT_TENSORS(F(2, 3))))
CASE(einsum_size, xt_einsum("ij,jk", 2, XT_TENSORS(F(2, 3), F(4, 5))))
CASE(einsum_label, xt_einsum("ij->k", 1, XT_TENSORS(F(2, 3))))
CASE(einsum_twice, xt_einsum("ij->ii", 1, XT_TENSORS(F(2, 3))))
CASE(einsum_sign, xt_einsum("i;j", 1, XT_TENSORS(F(2))))
CASE(tensordot_sizes, xt_tensordot(F(2, 3), F(4, 5), XT_AXES(1), XT_AXES(0)))
CASE(mm_rank, xt_mm(F(2, 3, 4), F(4, 5)))
CASE(bmm_batch, xt_bmm(F(2, 3, 4), F(3, 4, 5)))
CASE(dot_size, xt_dot(F(2), F(3)))
CASE(addmm_input, xt_addmm(F(3), F(2, 3), F(3, 2)))
CASE(cross_size, xt_cross(F(2), F(2), 0))
CASE(cdist_p, xt_cdist(F(2, 3), F(2, 3), -1))
CASE(cdist_size, xt_cdist(F(2, 3), F(2, 4), 2))
CASE(cholesky_square, xt_cholesky(F(2, 3), false))
CASE(cholesky_int, xt_cholesky(LABELS(2, 2), false))
CASE(triangular_rows, xt_triangular_solve(F(2, 2), F(3, 1)))
CASE(solve_rows, xt_solve(F(2, 2), F(3, 1)))
CASE(det_square, xt_det(F(2, 3)))
FIRST(svd_vector, T u; xt_linalg_svd(F(3), &u, &v, &i))
FIRST(svd_int, T u; xt_linalg_svd(LABELS(2, 2), &u, &v, &i))
FIRST(eigh_square, xt_linalg_eigh(F(2, 3), &v, &i))
FIRST(qr_vector, xt_linalg_qr(F(4), &v, &i))
CASE(matrix_power_square, xt_matrix_power(F(2, 3), 2))
CASE(sdpa_shape, xt_scaled_dot_product_attention(F(2, 3, 4), F(2, 5, 3), F(2, 5, 4)))
CASE(sdpa_mask, xt_scaled_dot_product_attention(F(3, 4), F(5, 4), F(5, 4), .mask = F(3, 4)))
CASE(sdpa_mask_int, xt_scaled_dot_product_attention(F(3, 4), F(5, 4), F(5, 4), .mask = LABELS(3, 5)))
CASE(sdpa_both, xt_scaled_dot_product_attention(F(3, 4), F(5, 4), F(5, 4), .mask = F(3, 5), .causal = XT_ON))
CASE(sdpa_dropout, xt_scaled_dot_product_attention(F(3, 4), F(5, 4), F(5, 4), .dropout = 1.5))
/* --- complex, Fourier, random */
CASE(view_as_real_float, xt_view_as_real(F(2)))
CASE(view_as_complex_dim, xt_view_as_complex(F(3)))
CASE(fft_axis, xt_fft(F(3), 1))
CASE(rfft_complex, xt_rfft(C64, 0))
CASE(fft_n, xt_fft(F(3), 0, .n = 0))
CASE(uniform_ends, xt_uniform(1, 0, XT_F32, 2))
CASE(uniform_int, xt_uniform(0, 1, XT_I32, 2))
CASE(normal_std, xt_normal(0, -1, XT_F32, 2))
CASE(randint_ends, xt_randint(3, 3, XT_I64, 2))
CASE(randint_wide, xt_randint(100, 300, XT_I8, 2))
CASE(randint_negative, xt_randint(-1, 3, XT_U8, 2))
CASE(exponential_rate, xt_exponential(0, XT_F32, 2))
CASE(trunc_normal_ends, xt_trunc_normal(0, 1, 2, 2, XT_F32, 2))
CASE(randperm_none, xt_randperm(0))
CASE(bernoulli_int, xt_bernoulli(LABELS(2)))
CASE(multinomial_many, xt_multinomial(F(3), 4, false))
CASE(multinomial_rank, xt_multinomial(F(1, 1, 3), 1, true))
CASE(dropout_p, xt_dropout_fn(F(3), 1.5))
CASE(rand_like_int, xt_rand_like(LABELS(2)))
CASE(window_size, xt_window(XT_WINDOW_HANN, 0, false, XT_F32))
CASE(fftfreq_distance, xt_fftfreq(4, 0))
CASE(rfftn_axes, xt_rfftn(F(2, 2), XT_AXES(2)))
CASE(stft_window, xt_stft(F(20), 8, .window = F(6)))
CASE(renorm_rank, xt_renorm(F(3), 2, 0, 1))
CASE(cumulative_trapezoid_axis, xt_cumulative_trapezoid(F(3), 1, 1))
FIRST(nanmedian_axis, xt_nanmedian_axis(F(3), 1, &v, &i))
CASE(grid_sample_shape, xt_grid_sample(F(1, 2, 3, 4), F(1, 2, 2, 3)))
CASE(affine_grid_shape, xt_affine_grid(F(2, 3), 2, 2, false))
CASE(slice_scatter_shape, xt_slice_scatter(F(5), F(3), 0, 1, 3, 1))
CASE(select_scatter_far, xt_select_scatter(F(5), F(1), 0, 5))
PARTS(tensor_split_axis, 0, xt_tensor_split(F(5), 4, 1, part))
CASE(block_diag_rank, xt_block_diag(1, XT_TENSORS(F(1, 2, 3))))
CASE(normalize_axis, xt_normalize(F(2), 1))
CASE(cov_rank, xt_cov(F(2, 3, 4)))
CASE(cov_weights, xt_cov(F(2, 3), .fweights = F(3)))
CASE(grid_sample_volume, xt_grid_sample(F(1, 2, 3, 4, 5), F(1, 2, 2, 2, 3), .bicubic = true))
CASE(unfold_pairs, xt_unfold(F(1, 1, 4, 4), 2, 2, .dilations = {1, 4}))
CASE(fftn_sizes, xt_fftn(F(2, 2), XT_AXES(0, 1), .s = {3}))
CASE(embedding_bag_offsets, xt_embedding_bag(LABELS(2, 2), F(3, 3), XT_BAG_SUM, (T){0}, .offsets = LABELS(2)))
CASE(embedding_bag_padding, xt_embedding_bag(LABELS(2, 2), F(3, 3), XT_BAG_SUM, (T){0}, .padding_idx = 3))
CASE(antialias_rank, xt_interpolate(F(1, 1, 4), .scale = 2, .mode = XT_LINEAR, .antialias = true))
CASE(trapezoid_axis, xt_trapezoid(F(3), 1, 1))
CASE(fold_places, xt_fold(F(1, 4, 5), 3, 3, 2, 2))
CASE(masked_scatter_dtype, xt_masked_scatter(F(2), TRUTH, LABELS(2)))
CASE(histc_ends, xt_histc(F(2), 4, 1, 1))
CASE(embedding_bag_index, xt_embedding_bag(F(2, 2), F(3, 3), XT_BAG_SUM, (T){0}))
CASE(embedding_bag_weights, xt_embedding_bag(LABELS(2, 2), F(3, 3), XT_BAG_MEAN, F(2, 2)))
CASE(fftn_axes, xt_fftn(F(2, 2), XT_AXES(0, 0)))
CASE(fftshift_axis, xt_fftshift(F(2), XT_AXES(1)))
CASE(gumbel_tau, xt_gumbel_softmax(F(2), 0, false, 0))

static const row rows[] = {
    ROW(erf_complex, "xt_erf: x is c64, real numbers are needed"),
    ROW(bitwise_and_float, "xt_bitwise_and: the common type of x and y is f32, integers or truth values are needed"),
    ROW(bitwise_not_float, "xt_bitwise_not: x is f32"),
    ROW(shift_bool, "integers are needed"),
    ROW(fmod_bool, "xt_fmod: x and y are bool"),
    ROW(hypot_shape, "xt_hypot: x [2,3] and y [4] do not broadcast"),
    ROW(isinf_complex, "xt_isinf: x is c64"),
    ROW(lerp_shape, "xt_lerp: x [2] and y [3] do not broadcast"),
    ROW(addcmul_shape, "xt_addcmul: x [2] and y [3] do not broadcast"),
    ROW(clamp_none, "both bounds are none"),
    ROW(clamp_shape, "xt_clamp_tensor: x [2] and y [3] do not broadcast"),
    ROW(isclose_shape, "xt_isclose: x [2] and y [3]"),
    ROW(isclose_tolerance, ".rtol -1"),
    ROW(celu_zero, "alpha is 0"),
    ROW(hardtanh_bounds, "bounds 1 and 0"),
    ROW(softshrink_negative, "lambda is -1"),
    ROW(glu_odd, "xt_glu: axis 1 of [2,3] has an odd size"),
    ROW(prelu_channels, "weight [2] for x [2,3]: one element, or one for each of the 3 channels"),
    ROW(sum_axis, "xt_sum_axes: axis 2 of [2,3]: axes run from -2 to 1"),
    ROW(sum_twice, "xt_sum_axes: axis 1 of [2,3] stands twice"),
    ROW(sum_many, "3 axes for [2,3]"),
    ROW(sum_dtype, ".dtype 23 is no dtype of numbers"),
    ROW(amax_empty, "xt_amax_axes: x [0] has no elements there"),
    ROW(amax_complex, "complex numbers are not taken"),
    ROW(norm_nan, ".p is NaN"),
    ROW(argmin_axis, "xt_argmin: axis 1 of [2]"),
    ROW(max_with_index_axis, "xt_max_with_index: axis 1 of [2]"),
    ROW(cumsum_axis, "xt_cumsum: axis 1 of [2]"),
    ROW(logcumsumexp_complex, "xt_logcumsumexp: x is c64"),
    ROW(cummax_axis, "xt_cummax: axis 3 of [2]"),
    ROW(diff_negative, "n is -1"),
    ROW(sort_complex, "xt_sort: complex numbers have no order"),
    ROW(sort_axis, "xt_sort: axis 1 of [2]"),
    ROW(topk_k, "xt_topk: k is 4, and axis 1 of [2,3] holds 3 elements"),
    ROW(kthvalue_k, "xt_kthvalue: axis 1 of [2,3] holds 3 elements, there is no number 0"),
    ROW(median_empty, "xt_median_axis: axis 0 of [0] holds 0 elements"),
    ROW(quantile_q, "q is 1.5"),
    ROW(searchsorted_shape, "xt_searchsorted: sorted [2,3] and values [3,3]"),
    ROW(narrow_far, "xt_narrow: 4 elements from 3 on, and axis 0 of [5] holds 5"),
    ROW(select_far, "xt_select: index 5 on axis 0 of [5]"),
    ROW(slice_step_zero, "step 0: it must be at least 1"),
    ROW(split_room, "xt_split: axis 0 of [5] gives 5 parts, and there is room for 4"),
    ROW(split_size, "parts of 0 elements"),
    ROW(diag_embed_far, "xt_diag_embed: a diagonal 9223372036854775807 places from the middle is too far out"),
    ROW(diag_far, "xt_diag: a diagonal -9223372036854775808 places from the middle is too far out"),
    ROW(split_sizes_sum, "parts [1,3] of axis 0 of [5]: they must add up to 5"),
    ROW(unbind_axis, "xt_unbind: axis 1 of [5]"),
    ROW(stack_shapes, "tensor 0 is [2] and tensor 1 is [3]"),
    ROW(stack_axis, "the new axis can stand at -2 to 1"),
    ROW(stack_none, "0 tensors"),
    ROW(repeat_counts_number, "for each of 3 slices"),
    ROW(repeat_counts_dtype, "counts f32 [2]"),
    ROW(repeat_counts_size, "output_size is 0"),
    ROW(channel_groups, "[2,6,3] in 4 groups"),
    ROW(tril_indices_negative, "-1 rows"),
    ROW(pairwise_distance_p, ".p nan"),
    ROW(repeat_short, "xt_repeat: [2,3] times [2]"),
    ROW(repeat_list, "`times` is a list of -1 numbers; 0 to 16 are possible"),
    ROW(repeat_negative, "xt_repeat: [2] times [-1]"),
    ROW(repeat_interleave_negative, "-1 times"),
    ROW(flip_axis, "xt_flip: axis 1 of [2]"),
    ROW(roll_pairs, "2 shifts for 1 axes"),
    ROW(movedim_pairs, "2 axes to 1 places"),
    ROW(unflatten_product, "axis 1 of [2,3] into [2,-1]: the product must be 3"),
    ROW(view_as_count, "x [2,3] does not fill [5]"),
    ROW(expand_as_shape, "x [2,3] does not broadcast to [2,4]"),
    ROW(broadcast_shapes, "tensor 1 is [3], which does not broadcast with [2]"),
    ROW(meshgrid_rank, "tensor 0 is [2,3]: one dim at most"),
    ROW(pad_huge, "far too many"),
    ROW(pad_pairs, "1 amounts for [2]"),
    ROW(pad_many, "4 amounts for [2]"),
    ROW(pad_reflect_far, "cannot be padded by 2 and 0 in dim 0 with mode reflect"),
    ROW(unfold_axis_size, "xt_unfold_axis: windows of 3 elements, 1 apart, on axis 0 of [2]"),
    ROW(unfold_rank, "x must be [N,C,H,W] and hold the kernel"),
    ROW(tril_rank, "xt_tril: x [2]: at least two dims"),
    ROW(diag_rank, "xt_diag: x [1,2,3]"),
    ROW(diagonal_axes, "axes 1 and -1 of [2,3] are the same"),
    ROW(trace_rank, "xt_trace: x [2]: two dims"),
    ROW(range_step, "xt_range: from 0 to 1 by 0"),
    ROW(linspace_bool, "a dtype of numbers"),
    ROW(eye_none, "xt_eye: 0 rows"),
    ROW(gather_float, "xt_gather: the index is f32; integers are needed"),
    ROW(gather_rank, "xt_gather: index [2] for x [2,3]"),
    ROW(gather_large, "xt_gather: index [2,4] for x [2,3]: as many dims as x has, none larger than there but axis 0"),
    ROW(take_along_axis_shape, "index [3,3] for x [2,3]: all dims but axis 1 must be equal or 1"),
    ROW(scatter_src, "xt_scatter: src [2,2] for index [2,3]"),
    ROW(scatter_axis, "xt_scatter: axis 2 of [2,3]"),
    ROW(scatter_reduce_how, "9 is no xt_reduction"),
    ROW(scatter_reduce_bool, "x is bool"),
    ROW(index_select_rank, "index [2,2]: one dim is needed"),
    ROW(index_add_shape, "xt_index_add: src [3,3]: [2,3] is needed"),
    ROW(index_many, "2 indices for [2]"),
    ROW(index_shapes, "indices [2] and [3] do not broadcast"),
    ROW(index_put_values, "values [4] do not broadcast to [2,3]"),
    ROW(masked_fill_mask, "the mask is f32; bool is needed"),
    ROW(masked_fill_shape, "the mask [2] does not broadcast with x [3]"),
    ROW(bincount_rank, "xt_bincount: x [2,2]"),
    ROW(einsum_count, "\"ij,jk\" describes 2 operands, 1 were given"),
    ROW(einsum_rank, "operand 0 is [2,3], its term names 3 dims"),
    ROW(einsum_size, "a label is 3 elsewhere, and 4 in dim 0 of operand 1 [4,5]"),
    ROW(einsum_label, "the result has a label that no operand has"),
    ROW(einsum_twice, "the result has a label twice"),
    ROW(einsum_sign, "letters, ..., commas and one -> are understood"),
    ROW(tensordot_sizes, "xt_tensordot: x [2,3] and y [4,5]"),
    ROW(mm_rank, "xt_mm: x [2,3,4] and y [4,5]: 2 and 2 dims are needed; xt_matmul takes others"),
    ROW(bmm_batch, "xt_bmm: x [2,3,4] and y [3,4,5]: inner sizes and batches must be equal"),
    ROW(dot_size, "xt_dot: x [2] and y [3]"),
    ROW(addmm_input, "xt_addmm: the input [3] does not broadcast to the product [2,2]"),
    ROW(cross_size, "xt_cross: axis 0 of [2]: 3 elements"),
    ROW(cdist_p, "p is -1"),
    ROW(cdist_size, "xt_cdist: x [2,3] and y [2,4]"),
    ROW(cholesky_square, "xt_cholesky: f32 [2,3]: square matrices of floats"),
    ROW(cholesky_int, "xt_cholesky: i64 [2,2]"),
    ROW(triangular_rows, "xt_triangular_solve: a [2,2] and right side [3,1]"),
    ROW(solve_rows, "xt_solve: a [2,2] and right side [3,1]"),
    ROW(det_square, "xt_det: f32 [2,3]"),
    ROW(svd_vector, "xt_linalg_svd: f32 [3]: matrices of floats"),
    ROW(svd_int, "xt_linalg_svd: i64 [2,2]: matrices of floats"),
    ROW(eigh_square, "xt_linalg_eigh: f32 [2,3]: square matrices"),
    ROW(qr_vector, "xt_linalg_qr: f32 [4]: matrices of floats"),
    ROW(matrix_power_square, "xt_matrix_power: f32 [2,3]"),
    ROW(sdpa_shape, "q f32 [2,3,4], k f32 [2,5,3]"),
    ROW(sdpa_mask, ".mask [3,4] does not broadcast to the scores [3,5]"),
    ROW(sdpa_mask_int, ".mask is i64"),
    ROW(sdpa_both, ".causal and .mask are both given"),
    ROW(sdpa_dropout, ".dropout is 1"),
    ROW(view_as_real_float, "xt_view_as_real: x is f32 [2]"),
    ROW(view_as_complex_dim, "xt_view_as_complex: x is f32 [3]"),
    ROW(fft_axis, "xt_fft: axis 1 of [3]"),
    ROW(rfft_complex, "xt_rfft: x is c64 [3]"),
    ROW(fft_n, ".n 0"),
    ROW(uniform_ends, "from 1 to 0"),
    ROW(uniform_int, "xt_uniform: dtype i32: floats are drawn"),
    ROW(normal_std, "std is -1"),
    ROW(randint_ends, "xt_randint: from 3 to below 3"),
    ROW(randint_wide, "does not hold the numbers from 100 to below 300"),
    ROW(randint_negative, "does not hold the numbers from -1 to below 3"),
    ROW(exponential_rate, "the rate is 0"),
    ROW(trunc_normal_ends, "from 2 to 2"),
    ROW(randperm_none, "0 numbers"),
    ROW(bernoulli_int, "xt_bernoulli: p is i64 [2]"),
    ROW(multinomial_many, "4 draws without replacement"),
    ROW(multinomial_rank, "weights f32 [1,1,3]"),
    ROW(dropout_p, "p is 1.5"),
    ROW(window_size, "0 elements of f32"),
    ROW(fftfreq_distance, "4 samples 0 apart"),
    ROW(rfftn_axes, "xt_rfftn: axis 2 of [2,2]"),
    ROW(stft_window, "x f32 [20], n_fft 8, .hop 2, .win_length 8, .window [6]"),
    ROW(renorm_rank, "xt_renorm: x [3]"),
    ROW(cumulative_trapezoid_axis, "xt_cumulative_trapezoid: axis 1 of [3]"),
    ROW(nanmedian_axis, "xt_nanmedian_axis: axis 1 of [3]"),
    ROW(grid_sample_shape, "x f32 [1,2,3,4], grid f32 [1,2,2,3]"),
    ROW(affine_grid_shape, "theta f32 [2,3]"),
    ROW(slice_scatter_shape, "xt_slice_scatter: y [3]: [2] is needed there"),
    ROW(select_scatter_far, "xt_select_scatter: index 5 on axis 0 of [5]"),
    ROW(tensor_split_axis, "xt_tensor_split: axis 1 of [5]"),
    ROW(block_diag_rank, "tensor 0 is [1,2,3]: two dims at most"),
    ROW(normalize_axis, "xt_normalize: axis 1 of [2]"),
    ROW(cov_rank, "xt_cov: x [2,3,4]: [variables,samples]"),
    ROW(cov_weights, "xt_cov: .fweights f32 [3] for x f32 [2,3]: integers, one for each sample"),
    ROW(grid_sample_volume, ".bicubic = true for x [1,2,3,4,5]: it is for [N,C,H,W]"),
    ROW(unfold_pairs, "xt_unfold: x [1,1,4,4], kernel 2x2, .stride 1, .padding 0, .dilations {1, 4}"),
    ROW(fftn_sizes, "xt_fftn: 1 sizes in .s for 2 axes of x [2,2]"),
    ROW(embedding_bag_offsets, ".offsets i64 [2] for indices [2,2]: integers [B]"),
    ROW(embedding_bag_padding, "xt_embedding_bag: .padding_idx = 3; the 3 rows"),
    ROW(antialias_rank, ".antialias = true for x [1,1,4]: it is for [N,C,H,W]"),
    ROW(trapezoid_axis, "xt_trapezoid: axis 1 of [3]"),
    ROW(fold_places, "xt_fold: x [1,4,5] to 3x3, kernel 2x2, .stride 1, .padding 0, .dilation 1: x must be [N, C KH "
                     "KW, places], and there are 4 places"),
    ROW(masked_scatter_dtype, "the mask is bool, x f32 and source i64"),
    ROW(histc_ends, "4 bins from 1 to 1"),
    ROW(embedding_bag_index, "indices f32 [2,2]"),
    ROW(embedding_bag_weights, "weights are for XT_BAG_SUM"),
    ROW(fftn_axes, "xt_fftn: axis 0 of [2,2] stands twice"),
    ROW(fftshift_axis, "xt_fftshift: axis 1 of [2]"),
    ROW(gumbel_tau, "tau is 0"),
    ROW(rand_like_int, "xt_rand_like: x is i64 [2]"),
};

ERROR_MAIN("ops_errors_more")
