/* PyTorch's second names and short functions (xtrain/names.h): values and gradients. */
#include "parity.h"

#define FN(name, ...)                                                                  \
    static void c_##name(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) { \
        (void)m, (void)x, (void)user;                                                  \
        __VA_ARGS__;                                                                   \
    }
#define UNARY(name) FN(name, y[0] = xt_##name(x[0]))
#define BINARY(name) FN(name, y[0] = xt_##name(x[0], x[1]))
UNARY(absolute)
UNARY(arcsinh)
UNARY(arctan)
UNARY(negative)
UNARY(fix)
UNARY(sgn)
UNARY(arccos)
UNARY(arcsin)
UNARY(arctanh)
UNARY(arccosh)
BINARY(arctan2)
BINARY(divide)
BINARY(true_divide)
BINARY(multiply)
BINARY(subtract)
BINARY(greater)
BINARY(greater_equal)
BINARY(less)
BINARY(less_equal)
BINARY(not_equal)
FN(clip, y[0] = xt_clip(x[0], -0.5, 0.7))
FN(clamp_min, y[0] = xt_clamp_min(x[0], -0.5))
FN(clamp_max, y[0] = xt_clamp_max(x[0], 0.7))
FN(cat, y[0] = xt_cat(2, x, 1))
FN(shapes, {
    y[0] = xt_swapaxes(x[0], 0, 1);
    y[1] = xt_moveaxis(x[0], XT_AXES(0), XT_AXES(1));
    y[2] = xt_t(x[0]);
    y[3] = xt_ravel(x[0]);
    y[4] = xt_fliplr(x[0]);
    y[5] = xt_flipud(x[0]);
})
FN(bucketize, y[0] = xt_bucketize(x[0], x[1], .right = true))
FN(fft2, y[0] = xt_abs(xt_rfft2(x[0])))
FN(special, {
    y[0] = xt_expit(x[0]);
    y[1] = xt_psi(x[0]);
    y[2] = xt_gammaln(x[0]);
    y[3] = xt_entr(x[0]);
    y[4] = xt_ndtr(x[0]);
})
UNARY(ndtri)
UNARY(log_ndtr)
FN(mvlgamma, y[0] = xt_mvlgamma(x[0], 3))
BINARY(float_power)
FN(rrelu_eval, y[0] = xt_rrelu(x[0], 0.1, 0.3, false))
FN(pairs, {
    xt_aminmax(x[0], XT_AXES(1), &y[0], &y[1]);
    xt_var_mean(x[0], XT_AXES(0), 1, &y[2], &y[3]);
    xt_std_mean(x[0], XT_ALL_AXES, 1, &y[4], &y[5]);
})
UNARY(msort)
FN(stacks, {
    y[0] = xt_hstack(2, x);
    y[1] = xt_vstack(2, x);
    y[2] = xt_dstack(2, x);
    y[3] = xt_column_stack(2, x);
})
FN(cartesian_prod, y[0] = xt_cartesian_prod(3, x))
FN(atleast, {
    y[0] = xt_atleast_2d(x[0]);
    y[1] = xt_atleast_3d(x[0]);
    y[2] = xt_atleast_3d(x[1]);
})
FN(diagflat, y[0] = xt_diagflat(x[0], -1))
FN(vander, {
    y[0] = xt_vander(x[0], 0, false);
    y[1] = xt_vander(x[0], 5, true);
})
BINARY(inner)
FN(vecdot, y[0] = xt_vecdot(x[0], x[1], 0))
FN(addmv, y[0] = xt_addmv(x[0], x[1], x[2], 0.5, 2))
FN(addr, y[0] = xt_addr(x[0], x[1], x[2], 0.25, 3))
FN(addr_0, y[0] = xt_addr(x[0], x[1], x[2], 0, 1)) /* c is not read */
FN(multi_dot, y[0] = xt_multi_dot(4, x))
FN(cholesky_inverse, xt_tensor s = xt_matmul(x[0], xt_t(x[0]));
   y[0] = xt_cholesky_inverse(xt_cholesky(s, false), false))
UNARY(pinverse)
UNARY(matrix_rank)
BINARY(lstsq)
FN(hfft_of_axes, {
    xt_tensor z = xt_complex(x[0], x[1]);
    y[0] = xt_hfft2(z);
    y[1] = xt_hfftn(z, XT_AXES(0, 1), .norm = XT_FFT_ORTHO);
    y[2] = xt_real(xt_ihfft2(x[0]));
    y[3] = xt_imag(xt_ihfftn(x[0], XT_AXES(0, 2), .norm = XT_FFT_FORWARD));
})
FN(linalg_norm, {
    y[0] = xt_linalg_norm(x[0]);
    y[1] = xt_linalg_norm(x[0], 2);
    y[2] = xt_linalg_norm(xt_select(x[0], 0, 0), 1);
    y[3] = xt_linalg_norm(x[0], 1, 0);
    y[4] = xt_linalg_norm(x[0], 'n', XT_AXES(1, 0), .keepdim = true);
})
FN(of_all_or_axes, {
    y[0] = xt_amax(x[0], 1);
    y[1] = xt_amin(x[0]);
    y[2] = xt_nansum(x[0]);
    y[3] = xt_nansum(x[0], 1);
    y[4] = xt_nanmean(x[0], 0, .keepdim = true);
})
FN(matrix_norm, {
    static const double ords[] = {'f', 'n', 1, -1, 2, -2, INFINITY};
    for (size_t i = 0; i < BASE_COUNT(ords); i++) y[i] = xt_matrix_norm(x[0], ords[i]);
})
FN(pdist, y[0] = xt_pdist(x[0], 2))
FN(pdist_1, y[0] = xt_pdist(x[0], 1))

#define ROW(name) \
    { #name, c_##name }
FN(mode, xt_mode(x[0], 1, &y[0], NULL); xt_mode(x[0], 0, &y[1], NULL))
FN(mode_indices, xt_mode(x[0], 1, NULL, &y[0]); xt_mode(x[0], 0, NULL, &y[1]))
FN(mode_ints, xt_mode(x[0], -1, &y[0], &y[1]))
FN(gradient, {
    for (int axis = 0; axis < 2; axis++) {
        y[axis] = xt_gradient(x[0], axis, .spacing = 0.5);
        y[2 + axis] = xt_gradient(x[0], axis, .edge_order = 2);
    }
})
FN(gradient_at, {
    y[0] = xt_gradient(x[0], 1, .coordinates = x[1]);
    y[1] = xt_gradient(x[0], 1, .coordinates = x[1], .edge_order = 2);
    y[2] = xt_gradient(xt_t(x[0]), 0, .coordinates = x[1], .edge_order = 2);
})
FN(gradient_two, y[0] = xt_gradient(x[0], 0))
FN(histogram, {
    xt_histogram(x[0], 10, &y[0], &y[1]);
    xt_histogram(x[0], 7, &y[2], &y[3], .lo = -1.5, .hi = 2);
    xt_histogram(x[0], 4, &y[4], &y[5], .edges = x[1]);
})
FN(histogram_weighted, {
    xt_histogram(x[0], 6, &y[0], &y[1], .weights = x[1], .density = true);
    xt_histogram(x[0], 5, &y[2], NULL, .density = true);
})
FN(histogramdd, {
    xt_histogramdd(x[0], XT_LIST(5, 3), &y[0], &y[1]);
    const double ends[] = {-1, 2, -0.5, 1.5};
    xt_histogramdd(x[0], XT_LIST(2, 7), &y[3], &y[4], .ends = ends);
    const xt_tensor edges[] = {x[1], x[2]};
    xt_histogramdd(x[0], XT_LIST(4, 2), &y[6], NULL, .edges = edges);
})
FN(histogramdd_weighted, xt_histogramdd(x[0], XT_LIST(3, 2, 4), &y[0], NULL, .weights = x[1], .density = true))
FN(histogram_same, xt_histogram(x[0], 4, &y[0], &y[1]))
FN(divisors, {
    y[0] = xt_gcd(x[0], x[1]);
    y[1] = xt_lcm(x[0], x[1]);
    y[2] = xt_gcd(xt_cast(x[0], XT_I32), xt_cast(xt_slice(x[1], 0, 0, 1), XT_I32));
    xt_tensor low[2] = {xt_slice(x[0], 0, 0, 4), xt_slice(x[1], 0, 0, 4)};
    y[3] = xt_lcm(xt_cast(low[0], XT_I16), xt_cast(low[1], XT_I16));
})
BINARY(gcd)
FN(istft, {
    xt_tensor z = xt_view_as_complex(x[0]);
    y[0] = xt_istft(z, 16, .window = x[1]);
    y[1] = xt_istft(z, 16, .hop = 5, .length = 41, .window = x[1]);
    y[2] = xt_istft(z, 16, .hop = 4, .win_length = 10, .window = x[2], .normalized = true);
})
FN(istft_two_sided, {
    xt_tensor z = xt_view_as_complex(x[0]);
    y[0] = xt_istft(z, 8, .hop = 2, .two_sided = true);
    y[1] = xt_istft(z, 8, .hop = 3, .center = XT_OFF, .two_sided = true, .length = 40);
})
#define RULES(f, i, q, axis, keep) \
    for (int r = 0; r < 5; r++) y[(i) + r] = f(x[0], q, axis, .interpolation = (xt_quantile_rule)r, .keepdim = keep)
FN(quantile_rules, RULES(xt_quantile, 0, 0.3, 1, false); RULES(xt_quantile, 5, 0.5, 0, true))
FN(nanquantile, RULES(xt_nanquantile, 0, 0.3, 1, false); RULES(xt_nanquantile, 5, 0.5, 0, true))
FN(nanquantile_grad, y[0] = xt_nanquantile(x[0], 0.3, 1); y[1] = xt_nanquantile(x[0], 0.9, 0))
FN(combinations, {
    y[0] = xt_combinations(x[0]);
    y[1] = xt_combinations(x[0], 3);
    y[2] = xt_combinations(x[0], 1);
    y[3] = xt_combinations(x[0], 3, true);
    y[4] = xt_combinations(x[0], 5, true);
})
FN(combinations_none, y[0] = xt_combinations(x[0], 4))
FN(put, y[0] = xt_put(x[0], x[1], x[2]); y[1] = xt_put(x[0], x[1], x[2], .accumulate = true))
FN(unravel_index, xt_unravel_index(x[0], XT_LIST(4, 3, 5), y))
#define INDEX_REDUCE(name, how)                                    \
    FN(name##_1, y[0] = xt_index_reduce(x[0], 1, x[1], x[2], how)) \
    FN(name##_0, y[0] = xt_index_reduce(x[0], 1, x[1], x[2], how, .exclude_self = true))
INDEX_REDUCE(index_reduce_prod, XT_REDUCE_PROD)
INDEX_REDUCE(index_reduce_mean, XT_REDUCE_MEAN)
INDEX_REDUCE(index_reduce_amax, XT_REDUCE_AMAX)
INDEX_REDUCE(index_reduce_amin, XT_REDUCE_AMIN)
FN(index_reduce_ints, {
    static const xt_reduction how[] = {XT_REDUCE_PROD, XT_REDUCE_MEAN, XT_REDUCE_AMAX, XT_REDUCE_AMIN};
    for (int i = 0; i < 4; i++) y[i] = xt_index_reduce(x[0], 0, x[1], x[2], how[i]);
})
FN(scatter_prod, {
    y[0] = xt_scatter_reduce(x[0], 1, x[1], x[2], XT_REDUCE_PROD);
    y[1] = xt_scatter_reduce(x[0], 1, x[1], x[2], XT_REDUCE_PROD, .exclude_self = true);
})
FN(frexp, xt_frexp(x[0], &y[0], &y[1]))
FN(frexp_grad, xt_frexp(x[0], &y[0], NULL))
FN(windows, {
    y[0] = xt_hann_window(7);
    y[1] = xt_hamming_window(6, false);
    y[2] = xt_hamming_window(6, true, 0.6);
    y[3] = xt_blackman_window(9);
    y[4] = xt_bartlett_window(8);
    y[5] = xt_bartlett_window(7, false);
    y[6] = xt_kaiser_window(10);
    y[7] = xt_kaiser_window(9, false, 6.5);
    y[8] = xt_kaiser_window(1);
    y[9] = xt_window(XT_WINDOW_COSINE, 6, true, XT_F32);
    y[10] = xt_window(XT_WINDOW_COSINE, 7, false, XT_F32);
    y[11] = xt_window(XT_WINDOW_GAUSSIAN, 9, true, XT_F32, .std = 2.5);
    y[12] = xt_window(XT_WINDOW_GAUSSIAN, 8, false, XT_F32, .std = 0.7);
    y[13] = xt_window(XT_WINDOW_EXPONENTIAL, 9, true, XT_F32, .tau = 3);
    y[14] = xt_window(XT_WINDOW_EXPONENTIAL, 8, false, XT_F32);
    y[15] = xt_window(XT_WINDOW_NUTTALL, 12, true, XT_F32);
    y[16] = xt_window(XT_WINDOW_NUTTALL, 7, false, XT_F32);
})
FN(windows_f64, {
    y[0] = xt_window(XT_WINDOW_KAISER, 9, true, XT_F64, .beta = 8);
    y[1] = xt_window(XT_WINDOW_GAUSSIAN, 9, true, XT_F64);
    y[2] = xt_window(XT_WINDOW_NUTTALL, 9, true, XT_F64);
})
FN(one_given, {
    y[0] = xt_hardtanh(x[0], -0.3);
    y[1] = xt_diff(x[0], 2);
    y[2] = xt_trapz(x[0], 0.5);
    y[3] = xt_cumulative_trapezoid(x[0], 0.5);
    y[4] = xt_rot90(x[0], 3);
    y[5] = xt_diagonal(x[0], 1);
    y[6] = xt_rrelu(x[0], 0.05);
    y[7] = xt_diagonal(xt_stack(2, XT_TENSORS(x[0], xt_add_scalar(x[0], 1)), 0), 0, 2);
})
FN(fake_quantize, {
    y[0] = xt_fake_quantize_per_tensor_affine(x[0], 0.1, 3, 0, 15);
    y[1] = xt_fake_quantize_per_tensor_affine(x[0], 0.03, 0, -128, 127);
})
FN(fake_quantize_channels, y[0] = xt_fake_quantize_per_channel_affine(x[0], x[1], x[2], 1, -8, 7))
static const parity_row rows[] = {
    ROW(absolute),
    ROW(arcsinh),
    ROW(arctan),
    ROW(negative),
    ROW(fix),
    ROW(sgn),
    ROW(arccos),
    ROW(arcsin),
    ROW(arctanh),
    ROW(arccosh),
    ROW(arctan2),
    ROW(divide),
    ROW(true_divide),
    ROW(multiply),
    ROW(subtract),
    ROW(greater),
    ROW(greater_equal),
    ROW(less),
    ROW(less_equal),
    ROW(not_equal),
    ROW(clip),
    ROW(clamp_min),
    ROW(clamp_max),
    ROW(cat),
    ROW(shapes),
    ROW(bucketize),
    ROW(fft2),
    ROW(special),
    ROW(ndtri),
    ROW(log_ndtr),
    ROW(mvlgamma),
    ROW(float_power),
    ROW(rrelu_eval),
    ROW(pairs),
    ROW(msort),
    ROW(stacks),
    {"stacks_of_vectors", c_stacks},
    ROW(cartesian_prod),
    ROW(atleast),
    ROW(diagflat),
    ROW(vander),
    ROW(mode),
    ROW(mode_indices),
    ROW(mode_ints),
    ROW(gradient),
    ROW(gradient_at),
    ROW(gradient_two),
    ROW(histogram),
    ROW(histogram_weighted),
    ROW(histogramdd),
    ROW(histogramdd_weighted),
    ROW(histogram_same),
    ROW(divisors),
    {"divisors_u8", c_gcd},
    ROW(istft),
    ROW(istft_two_sided),
    ROW(quantile_rules),
    ROW(nanquantile),
    ROW(nanquantile_grad),
    ROW(combinations),
    ROW(combinations_none),
    ROW(put),
    ROW(unravel_index),
    ROW(index_reduce_prod_1),
    ROW(index_reduce_prod_0),
    ROW(index_reduce_mean_1),
    ROW(index_reduce_mean_0),
    ROW(index_reduce_amax_1),
    ROW(index_reduce_amax_0),
    ROW(index_reduce_amin_1),
    ROW(index_reduce_amin_0),
    ROW(index_reduce_ints),
    ROW(scatter_prod),
    ROW(frexp),
    {"frexp_f64", c_frexp},
    {"frexp_f16", c_frexp},
    ROW(frexp_grad),
    ROW(windows),
    ROW(windows_f64),
    ROW(one_given),
    ROW(fake_quantize),
    ROW(fake_quantize_channels),
    ROW(inner),
    ROW(vecdot),
    ROW(addmv),
    ROW(addr),
    ROW(addr_0),
    ROW(multi_dot),
    ROW(cholesky_inverse),
    ROW(pinverse),
    {"pinverse_low", c_pinverse},
    ROW(matrix_rank),
    ROW(lstsq),
    ROW(hfft_of_axes),
    ROW(linalg_norm),
    ROW(of_all_or_axes),
    ROW(matrix_norm),
    ROW(pdist),
    ROW(pdist_1),
};

static void cases(void **state) {
    (void)state;
    parity_cases("names", rows, BASE_COUNT(rows));
}

/* The logarithm keeps its digits where the function itself has none left. */
static void digits(void **state) {
    (void)state;
    parity_file *f = parity_open("names");
    parity_case(f, "log_ndtr_f64", c_log_ndtr, NULL, 1e-12, 0);
    xt_tensor y = xt_rrelu(xt_full(-1, XT_F32, 64), 0.25, 0.5, true);
    float v[64];
    assert_true(xt_read(y, v, sizeof v));
    for (int i = 0; i < 64; i++) assert_true(v[i] <= -0.25f && v[i] >= -0.5f && (i == 0 || v[i] != v[i - 1]));
    y = xt_max(xt_gumbel_softmax(xt_zeros(XT_F32, 16, 8), 2)); /* not .hard */
    assert_true(xt_item(y) < 0.99);
    parity_close_file(f);
    assert_int_equal(xt_finish(), 0);
}

/* Of two results the one that is asked for. */
static void one_of_two(void **state) {
    (void)state;
    xt_tensor x = xt_from_array(((float[]){3, -1, 2, 8}), XT_F32, 4), r[3];
    xt_aminmax(x, XT_ALL_AXES, NULL, &r[0]);
    xt_var_mean(x, XT_ALL_AXES, 1, &r[1], NULL);
    xt_std_mean(x, XT_ALL_AXES, 1, NULL, &r[2]);
    xt_aminmax(x, XT_ALL_AXES, NULL, NULL);
    const double want[3] = {8, 14, 3};
    for (int i = 0; i < 3; i++) assert_float_equal(xt_item(r[i]), want[i], 1e-5);
    assert_int_equal(xt_finish(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cases), cmocka_unit_test(digits), cmocka_unit_test(one_of_two)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
