/* Every kind of macro in ops.h, functional.h, layers.h and module.h, compiled (not run) as C11 and C++20 with
 * -Wpedantic by install.sh: lists, options, shapes, arrays of tensors. */
#include <xtrain/xtrain.h>

static void body(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    (void)user;
    y[0] = carry[0] = xt_add(carry[0], x[0]);
}

int use_ops(void);
int use_ops(void) {
    xt_tensor x = xt_rand(XT_F32, 2, 3), v, i, part[4];
    const int64_t sizes[2] = {1, 1};
    xt_sum_axes(x, XT_AXES(0, -1), .keepdim = true);
    xt_scan(body, 1, &v, 1, &x, 1, part);
    xt_scan(body, 1, &v, 1, &x, 1, part, .reverse = XT_ON, .recompute = XT_ON);
    xt_sum_axes(x, XT_ALL_AXES);
    xt_var_axes(x, XT_AXES(1), .population = true);
    xt_norm_axes(x, XT_AXES(1), .p = 3);
    xt_sort(x, 0, &v, &i, .descending = true);
    xt_sort(x, 0, &v, &i);
    xt_argsort(x, 0);
    xt_topk(x, 2, 0, &v, &i, .smallest = true);
    xt_searchsorted(x, v, .right = true);
    xt_pad(x, XT_LIST(1, 2), .mode = XT_PAD_REFLECT);
    xt_permute(x, 1, 0);
    xt_repeat(x, XT_LIST(2, 3));
    xt_unflatten(x, 0, 2, -1);
    xt_unfold(x, 2, 2, .stride = 2);
    xt_fold(x, 4, 4, 2, 2, .stride = 2);
    xt_concat(2, XT_TENSORS(x, v), 0);
    xt_stack(2, XT_TENSORS(x, x), 0);
    xt_meshgrid(2, XT_TENSORS(x, x), true, part);
    xt_split_sizes(x, 2, sizes, 0, part);
    xt_einsum("ij,ij", 2, XT_TENSORS(x, x));
    xt_softplus(x);
    xt_softplus(x, .beta = 2);
    xt_isclose(x, v);
    xt_scatter_reduce(x, 0, i, x, XT_REDUCE_MEAN, .exclude_self = true);
    xt_index_put(x, 2, XT_TENSORS(i, i), v, .accumulate = true);
    xt_addmm(x, x, x, .beta = 2);
    xt_triangular_solve(x, v, .upper = true);
    xt_scaled_dot_product_attention(x, x, x, .causal = XT_ON);
    xt_fft(x, -1);
    xt_fftn(x, XT_AXES(0, 1), .norm = XT_FFT_ORTHO);
    xt_uniform(-1, 1, XT_F32, 2, 3);
    xt_trunc_normal(0, 1, -2, 2, XT_F32, 2);
    xt_exponential(1, XT_F32, 3);
    xt_acos(x);
    xt_zeros_like(x);
    return xt_is_error((xt_hypot)(x, x)); /* a function too */
}

static xt_tensor relu_stage(xt_module *m, xt_tensor x, void *user) {
    return user || !m ? x : xt_relu(x);
}

int use_layers(xt_module *m);
int use_layers(xt_module *m) {
    xt_tensor x = xt_rand(XT_F32, 2, 4, 8, 8), none = {0, 0}, weights;
    xt_load_report report;
    char text[64];
    xt_linear(m, "l", x, 3);
    xt_linear(m, "l", x, 3, .bias = XT_OFF);
    xt_bilinear(m, "b", x, x, 3);
    xt_embedding(m, "e", xt_arange(3, XT_I64), 5, 2);
    xt_embedding(m, "e", xt_arange(3, XT_I64), 5, 2, .padding_idx = -1);
    xt_prelu(m, "p", x, 4);
    xt_conv2d(m, "c", x, 8, 3);
    xt_conv2d(m, "c", x, 8, 0, .paddings = {1, 0}, .kernels = {3, 1}, .padding_mode = XT_PAD_REFLECT);
    xt_conv_transpose1d(m, "t", x, 8, 3, .stride = 2, .output_padding = 1);
    xt_conv3d_fn(x, x, none);
    xt_conv_transpose2d_fn(x, x, none, .stride = 2);
    xt_max_pool2d(x, 2, .padding = 1, .ceil_mode = XT_ON);
    xt_avg_pool3d(x, 0, .kernels = {1, 2, 2});
    xt_lp_pool2d(x, 2, 2);
    xt_adaptive_max_pool2d(x, 3, 4);
    xt_global_avg_pool(x);
    xt_interpolate(x, .mode = XT_LINEAR, .sizes = {4, 6}, .align_corners = XT_ON);
    xt_pixel_shuffle(x, 2);
    xt_batch_norm(m, "bn", x);
    xt_batch_norm(m, "bn", x, .eps = 1e-3, .cumulative = XT_ON, .sync = XT_ON);
    xt_layer_norm(m, "ln", x, .dims = 2);
    xt_instance_norm(m, "in", x, .affine = XT_ON);
    xt_rms_norm(m, "rms", x);
    xt_group_norm(m, "gn", x, 2, .eps = 1e-4);
    xt_local_response_norm(x, 3, .alpha = 1e-3);
    xt_dropout2d(m, x, 0.5);
    xt_multihead_attention(m, "mha", x, x, x, .heads = 2, .key_padding_mask = none, .out_weights = &weights);
    xt_transformer_encoder_layer(m, "enc", x, .heads = 2, .causal = XT_ON);
    xt_transformer_decoder_layer(m, "dec", x, x);
    xt_rotary(xt_sinusoidal_positions(4, 8), 0);
    x = xt_lstm(m, "lstm", x, 8, .layers = 2, .h0 = none).output;
    x = xt_gru_cell(m, "cell", x, 8).h;
    xt_sequential(m, "s", x, {relu_stage, NULL}, {relu_stage, NULL});
    xt_sequential(m, "one", x, {relu_stage, NULL});
    xt_init_normal(m, "*.weight", .mean = 1, .std = 0.02);
    xt_init_xavier_uniform(m, "*.weight");
    xt_init_zeros(m, "*.bias");
    xt_freeze(m, "l.*");
    xt_status_free(xt_load_with(m, "file", .strict = XT_OFF, .report = &report));
    xt_status_free(xt_load_with(m, "file"));
    return (int)xt_module_summary(m, text, sizeof text) + xt_module_next(m, "*", 0);
}
