#!/usr/bin/env python3
"""Writes what tests/cli/read_options.sh compiles: each public function that takes options, called with each of them in
turn given as another value than its default. The call must come to something else, or say of the option why not: one
that is taken and ignored is a mistake of the library's.

What a call comes to: the tensors it gives, and the names, shapes and values of its module's tensors behind two steps.

usage: read_options.py FUNCTIONS_JSON INCLUDE_DIR SRC_DIR    on stderr: what is wrong with the lists below
       FUNCTIONS_JSON is what tools/entries.py table prints
"""
import json
import re
import sys
from pathlib import Path

import options

HEAD = r"""
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xtrain/xtrain.h>
static xt_module *m; /* of the call that is tried */
static uint64_t digest;
static xt_tensor seen; /* what an option asks for */
static int bad, calls;
static xt_status status; /* what the call has given */
static void quiet(xt_status s, void *u) { (void)s, (void)u; }
static void mix(const void *p, size_t n) {
    for (size_t i = 0; i < n; i++) digest = (digest ^ ((const unsigned char *)p)[i]) * 1099511628211u;
}
static void see(xt_tensor t) {
    static char room[1 << 16];
    int rank = xt_rank_of(t);
    xt_dtype d = xt_dtype_of(t);
    mix(&rank, sizeof rank), mix(&d, sizeof d);
    size_t bytes = xt_dtype_size(d);
    for (int i = 0; i < rank; i++) {
        int64_t n = xt_dim(t, i);
        mix(&n, sizeof n);
        bytes *= (size_t)n;
    }
    if (xt_error() || bytes > sizeof room) return;
    if (xt_read(t, room, bytes)) mix(room, bytes);
}
static void see_text(const char *t) { mix(t ? t : "NULL", t ? strlen(t) : 4); }
static void see_number(double v) { mix(&v, sizeof v); }
static void see_metric(xt_metric v) {
    if (v.sums.slot) see(v.sums);
    if (v.numerator.slot) see(v.numerator), see(v.denominator);
}
static void see_module(void) {
    for (int i = 0; m && i < xt_module_tensors(m); i++) {
        see_text(xt_module_tensor_name(m, i));
        see(xt_module_tensor(m, i));
    }
}
static xt_tensor nothing(xt_module *n, xt_tensor x, void *u) { (void)n, (void)u; return x; }
static xt_tensor line(xt_module *n, xt_tensor x, void *u) { (void)u; return xt_linear(n, "fc", x, 3); }
static float number(int i) { return 0.05f + (float)((i * 37 + i * i * 11) % 97) / 97; }
static xt_tensor filled(int n, const int64_t *dims) {
    float v[4096];
    int64_t all[9] = {0};
    int count = 1;
    for (int i = 0; i < n; i++) count *= (int)(all[i] = dims[i]);
    for (int i = 0; i < count; i++) v[i] = number(i);
    return xt_from_array_at(XT_HERE, v, XT_F32, all);
}
#define X(...) filled((int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]){__VA_ARGS__})
#define I(...) xt_from_array(((int64_t[]){__VA_ARGS__}), XT_I64, sizeof((int64_t[]){__VA_ARGS__}) / 8)
#define F(...) xt_from_array(((float[]){__VA_ARGS__}), XT_F32, sizeof((float[]){__VA_ARGS__}) / 4)
#define B(...) xt_from_array(((bool[]){__VA_ARGS__}), XT_BOOL, sizeof((bool[]){__VA_ARGS__}))
#define YES xt_gt_scalar(X(2, 3), 0.5)
#define SEE(t) see(t)
#define SEE_RNN(call) { xt_rnn_out r = call; see(r.output); see(r.h); }
static xt_tensor unary(xt_tensor x) { return xt_mul_scalar(x, 2); }
static void scanned(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *u) {
    carry[0] = xt_add(carry[0], x[0]);
    if (u) carry[0] = xt_mul_scalar(carry[0], 2);
    y[0] = carry[0];
}
static bool eight_steps(xt_optimizer *o) {
    static const double targets[] = {3, -0.5, 2, 0.4, -1, 0.2, 0.1, -0.1};
    for (int i = 0; o && i < 8; i++) {
        xt_tensor y = xt_forward(m, X(4, 5));
        xt_backward(xt_mean(xt_square(xt_add_scalar(y, targets[i]))));
        xt_optimizer_step(o);
        xt_mark_step();
    }
    return o != NULL;
}
static void learn(xt_optimizer *o) { eight_steps(o), see_module(), xt_optimizer_free(o); }
#define LEARN(call) m = xt_module_new(line, NULL), learn(call)
static xt_optimizer *momentum(void) {
    return xt_sgd(m = xt_module_new(line, NULL), .lr = 0.1, .momentum = 0.9);
}
static void rates(xt_optimizer *o, xt_scheduler *s) {
    for (int i = 0; s && i < 9; i++) {
        see_number(xt_optimizer_lr(o)), see_number(xt_optimizer_momentum(o));
        xt_schedule_step(s);
    }
    xt_optimizer_free(o);
}
#define RATES(call) { xt_optimizer *o = momentum(); rates(o, call); }
static void begin(void (*call)(void)) {
    digest = 14695981039346656037u;
    xt_seed(3);
    m = xt_module_new(nothing, NULL);
    call();
    if (!xt_error() && seen.slot) see(seen);
    if (!xt_error()) xt_mark_step();
    if (!xt_error()) see_module();
    seen = (xt_tensor){0};
}
static void end(void) {
    xt_status_free(status), status = NULL;
    xt_clear_error();
    xt_module_free(m), m = NULL;
}
/* `said`: what errors may call the option besides */
static void try(const char *call, const char *option, const char *said, void (*base)(void), void (*with)(void)) {
    uint64_t before;
    void (*const both[])(void) = {base, with};
    for (int k = 0; k < 2; k++) {
        before = digest;
        begin(both[k]);
        const char *e = xt_error() ? xt_status_message(xt_error()) : status ? xt_status_message(status) : NULL;
        const char *named = e ? strstr(e, option) ? strstr(e, option) : strstr(e, said) : NULL;
        if (!k && e && !status) bad = printf("%s cannot be tried: %s\n", call, e);
        if (k && e && !named) bad = printf("%s with .%s: %s\n", call, option, e);
        if (k && !e && before == digest) bad = printf("%s: .%s changes nothing, and nobody says so\n", call, option);
        end();
    }
    calls++;
}
/* A default that a call gives changes nothing, and is no mistake. */
static void harmless(const char *call, void (*base)(void), void (*with)(void)) {
    uint64_t before = 0;
    void (*const both[])(void) = {base, with};
    for (int k = 0; k < 2; k++) {
        begin(both[k]);
        if (xt_error()) bad = printf("%s, which is the default: %s\n", call, xt_status_message(xt_error()));
        if (k && !xt_error() && !status && digest != before)
            bad = printf("%s, which is the default, changes something\n", call);
        before = digest;
        end();
    }
}
"""

# How a call looks, which goes on in lines that are set in; with [fields] it is for those alone. O stands for the
# options. Several rows of one function: of its several ways.
CALLS = """
xt_softplus_at SEE(xt_softplus(X(2, 3) O))
xt_isclose_at SEE(xt_isclose(F(1, 1, NAN), F(1.4, 1.000001, NAN) O))
xt_allclose_at[rtol,atol] SEE(xt_allclose(F(1), F(1.4) O))
xt_allclose_at[equal_nan] SEE(xt_allclose(F(NAN), F(NAN) O))
xt_fft_at SEE(xt_fft(X(2, 6), -1 O))
xt_ifft_at SEE(xt_ifft(X(2, 6), -1 O))
xt_rfft_at SEE(xt_rfft(X(2, 6), -1 O))
xt_irfft_at SEE(xt_irfft(xt_rfft(X(2, 6), -1), -1 O))
xt_rfftn_at SEE(xt_rfftn(X(2, 6), XT_AXES(0, 1) O))
xt_irfftn_at SEE(xt_irfftn(xt_rfft(X(2, 6), -1), XT_AXES(0, 1) O))
xt_fftn_at SEE(xt_fftn(X(6, 6), XT_AXES(0, 1) O))
xt_ifftn_at SEE(xt_ifftn(X(6, 6), XT_AXES(0, 1) O))
xt_hfft_at SEE(xt_hfft(xt_rfft(X(2, 6), -1), -1 O))
xt_ihfft_at SEE(xt_ihfft(X(2, 6), -1 O))
xt_hfftn_at SEE(xt_hfftn(xt_rfft(X(2, 6), -1), XT_AXES(0, 1) O))
xt_ihfftn_at SEE(xt_ihfftn(X(2, 6), XT_AXES(0, 1) O))
xt_window_at SEE(xt_window(XT_WINDOW_HANN, 8, true, XT_F32 O))
xt_window_at SEE(xt_window(XT_WINDOW_HAMMING, 8, true, XT_F32 O))
xt_window_at SEE(xt_window(XT_WINDOW_KAISER, 8, true, XT_F32 O))
xt_window_at SEE(xt_window(XT_WINDOW_GAUSSIAN, 8, true, XT_F32 O))
xt_window_at SEE(xt_window(XT_WINDOW_EXPONENTIAL, 8, true, XT_F32 O))
xt_stft_at SEE(xt_stft(X(32), 8 O))
xt_istft_at SEE(xt_istft(xt_stft(X(32), 8), 8 O))
xt_conv_fn_at SEE(xt_conv1d_fn(X(2, 4, 9), X(4, 4, 3), X(4) O))
xt_conv_fn_at SEE(xt_conv2d_fn(X(2, 4, 9, 9), X(4, 4, 3, 3), X(4) O))
xt_conv_transpose_fn_at SEE(xt_conv_transpose2d_fn(X(2, 4, 9, 9), X(4, 4, 3, 3), (xt_tensor){0} O))
xt_conv_at SEE(xt_conv1d(m, "c", X(2, 4, 9), 4, 3 O))
xt_conv_at SEE(xt_conv2d(m, "c", X(2, 4, 9, 9), 4, 3 O))
xt_conv_at SEE(xt_conv_transpose2d(m, "c", X(2, 4, 9, 9), 4, 3 O))
xt_pool_at SEE(xt_max_pool1d(X(2, 4, 9), 4 O))
xt_pool_at SEE(xt_max_pool2d(X(2, 4, 9, 9), 4 O))
xt_pool_at SEE(xt_avg_pool2d(X(2, 4, 9, 9), 4 O))
xt_max_pool_with_indices_at xt_tensor i; SEE(xt_max_pool2d_with_indices(X(2, 4, 9, 9), 4, &i O)); see(i)
xt_lp_pool_at SEE(xt_lp_pool2d(X(2, 4, 9, 9), 2, 4 O))
xt_max_unpool_at SEE(xt_max_unpool1d(X(1, 1, 2), xt_unsqueeze(xt_unsqueeze(I(0, 1), 0), 0), 2 O))
xt_fractional_max_pool_at SEE(xt_fractional_max_pool2d(X(1, 2, 8, 8), 2, NULL, .ratio = 0.7 O))
xt_fractional_max_pool_at[sizes] SEE(xt_fractional_max_pool2d(X(1, 2, 8, 8), 2, NULL, .ratio = 0.7 O))
xt_fractional_max_pool_at[ratio] SEE(xt_fractional_max_pool2d(X(1, 2, 8, 8), 2, NULL, .sizes = {3} O))
xt_interpolate_at SEE(xt_interpolate(X(1, 2, 4, 4), .scale = 2 O))
xt_interpolate_at[scale] SEE(xt_interpolate(X(1, 2, 4, 4), .sizes = {3, 3} O))
xt_interpolate_at SEE(xt_interpolate(X(1, 2, 4, 4), .scale = 2, .mode = XT_LINEAR O))
xt_linear_at SEE(xt_linear(m, "l", X(2, 3), 4 O))
xt_bilinear_at SEE(xt_bilinear(m, "l", X(2, 3), X(2, 5), 4 O))
xt_embedding_at SEE(xt_embedding(m, "e", I(0, 1, 2), 5, 4 O))
xt_batch_norm_at SEE(xt_batch_norm(m, "n", X(2, 4, 6) O))
xt_batch_norm_at SEE(xt_batch_norm(m, "n", X(2, 4, 6), .track = XT_OFF O))
xt_batch_norm_at SEE(xt_batch_norm(m, "n", X(2, 4, 6), .cumulative = XT_ON O))
xt_instance_norm_at SEE(xt_instance_norm(m, "n", X(2, 4, 6) O))
xt_instance_norm_at SEE(xt_instance_norm(m, "n", X(2, 4, 6), .track = XT_ON O))
xt_layer_norm_at SEE(xt_layer_norm(m, "n", X(2, 4, 6) O))
xt_rms_norm_at SEE(xt_rms_norm(m, "n", X(2, 4, 6) O))
xt_group_norm_at SEE(xt_group_norm(m, "n", X(2, 4, 6), 2 O))
xt_local_response_norm_at SEE(xt_local_response_norm(X(2, 4, 6), 3 O))
xt_self_attention_at SEE(xt_self_attention(m, "a", X(2, 4, 6) O))
xt_multihead_attention_at SEE(xt_multihead_attention(m, "a", X(2, 3, 6), X(2, 3, 6), X(2, 3, 6) O))
xt_transformer_encoder_layer_at SEE(xt_transformer_encoder_layer(m, "t", X(2, 3, 6) O))
xt_transformer_decoder_layer_at SEE(xt_transformer_decoder_layer(m, "t", X(2, 3, 6), X(2, 3, 6) O))
xt_moe_at SEE(xt_moe(m, "e", X(2, 4, 6) O))
xt_pipeline_at SEE(xt_pipeline(m, "p", X(2, 3), block O))
xt_pipeline_loss_at SEE(xt_pipeline_loss(m, "p", X(2, 3), X(2, 3), block, head O))
xt_sinusoidal_embedding_at SEE(xt_sinusoidal_embedding(X(3), 6 O))
xt_rotary_opt SEE(xt_rotary(X(2, 3, 6), 0 O))
xt_rotary_opt SEE(xt_rotary(X(2, 3, 6), 0, .positions = I(4, 5, 6) O))
xt_adaptive_log_softmax_at SEE(xt_adaptive_log_softmax(m, "s", X(2, 8), I(1, 5), 8, XT_LIST(3) O).output)
xt_adaptive_log_prob_at SEE(xt_adaptive_log_prob(m, "s", X(2, 8), 8, XT_LIST(3) O))
xt_rnn_at SEE_RNN(xt_rnn(m, "r", X(2, 3, 4), 5 O))
xt_rnn_at SEE_RNN(xt_lstm(m, "r", X(2, 3, 4), 5 O))
xt_rnn_at SEE_RNN(xt_gru(m, "r", X(2, 3, 4), 5 O))
xt_rnn_cell_at SEE_RNN(xt_rnn_cell(m, "r", X(2, 4), 5 O))
xt_rnn_cell_at SEE_RNN(xt_lstm_cell(m, "r", X(2, 4), 5 O))
xt_rnn_cell_at SEE_RNN(xt_gru_cell(m, "r", X(2, 4), 5 O))
xt_addmm_at SEE(xt_addmm(X(2, 2), X(2, 3), X(3, 2) O))
xt_addmm_at SEE(xt_addmm(X(2, 2), X(2, 3), X(3, 2), .no_input = true O))
xt_baddbmm_at SEE(xt_baddbmm(X(1, 2, 2), X(1, 2, 3), X(1, 3, 2) O))
xt_triangular_solve_at SEE(xt_triangular_solve(X(2, 2), X(2, 2) O))
xt_linalg_svd_at xt_tensor u, s, v; xt_linalg_svd(X(3, 2), &u, &s, &v O); see(u)
xt_linalg_eigh_at xt_tensor w, v; xt_linalg_eigh(X(2, 2), &w, &v O); see(w)
xt_linalg_eigvalsh_at SEE(xt_linalg_eigvalsh(X(2, 2) O))
xt_linalg_qr_at xt_tensor q, r; xt_linalg_qr(X(3, 2), &q, &r O); see(q)
xt_scaled_dot_product_attention_at SEE(xt_scaled_dot_product_attention(X(2, 3, 4), X(2, 3, 4), X(2, 3, 4) O))
xt_scan_at xt_tensor c = X(3), x = X(4, 3), y; xt_scan(scanned, 1, &c, 1, &x, 1, &y O); see(y), see(c)
xt_nll_loss_at SEE(xt_nll_loss(X(2, 3), I(0, 2) O))
xt_cross_entropy_at SEE(xt_cross_entropy(X(3, 3), I(0, 2, 1) O))
xt_perplexity_at see_metric(xt_perplexity(X(3, 3), I(0, 2, 1) O))
xt_multi_margin_loss_at SEE(xt_multi_margin_loss(X(2, 3), I(0, 2) O))
xt_ctc_loss_at[blank,reduction] SEE(xt_ctc_loss(xt_log_softmax(X(5, 2, 3), -1), xt_reshape(I(1, 1, 1, 1), 2, 2), I(5,
  5), I(2, 2) O))
xt_ctc_loss_at[zero_infinity] SEE(xt_ctc_loss(xt_log_softmax(X(5, 2, 3), -1), xt_reshape(I(1, 2, 1, 1), 2, 2), I(5,
  1), I(2, 2) O))
xt_mse_loss_at SEE(xt_mse_loss(X(2, 3), xt_neg(X(2, 3)) O))
xt_l1_loss_at SEE(xt_l1_loss(X(2, 3), xt_neg(X(2, 3)) O))
xt_soft_margin_loss_at SEE(xt_soft_margin_loss(X(2, 3), X(2, 3) O))
xt_smooth_l1_loss_at SEE(xt_smooth_l1_loss(X(2, 3), xt_neg(X(2, 3)) O))
xt_huber_loss_at SEE(xt_huber_loss(X(2, 3), xt_neg(X(2, 3)) O))
xt_binary_cross_entropy_at SEE(xt_binary_cross_entropy(X(2, 3), X(2, 3) O))
xt_bce_with_logits_at SEE(xt_bce_with_logits(X(2, 3), X(2, 3) O))
xt_kl_div_at SEE(xt_kl_div(xt_log_softmax(X(2, 3), -1), xt_softmax(X(2, 3), -1) O))
xt_poisson_nll_loss_at SEE(xt_poisson_nll_loss(X(2, 3), xt_add_scalar(X(2, 3), 2) O))
xt_poisson_nll_loss_at SEE(xt_poisson_nll_loss(X(2, 3), xt_add_scalar(X(2, 3), 2), .log_input = XT_OFF O))
xt_gaussian_nll_loss_at SEE(xt_gaussian_nll_loss(X(2, 3), xt_neg(X(2, 3)), X(2, 3) O))
xt_hinge_embedding_loss_at SEE(xt_hinge_embedding_loss(X(3), F(1, -1, -1) O))
xt_margin_ranking_loss_at SEE(xt_margin_ranking_loss(X(3), xt_neg(X(3)), F(1, -1, -1) O))
xt_cosine_embedding_loss_at SEE(xt_cosine_embedding_loss(X(2, 3), X(2, 3), F(1, -1) O))
xt_triplet_margin_loss_at SEE(xt_triplet_margin_loss(X(2, 3), xt_neg(X(2, 3)), xt_mul_scalar(X(2, 3), -2) O))
xt_multilabel_soft_margin_loss_at SEE(xt_multilabel_soft_margin_loss(X(2, 3), X(2, 3) O))
xt_multilabel_margin_loss_at SEE(xt_multilabel_margin_loss(X(2, 3), xt_reshape(I(0, -1, -1, 1, 2, -1), 2, 3) O))
xt_cosine_similarity_at SEE(xt_cosine_similarity(X(3, 3), xt_exp(X(3, 3)) O))
xt_accuracy_at see_metric(xt_accuracy(X(2, 3), I(0, 2) O))
xt_topk_accuracy_at see_metric(xt_topk_accuracy(X(2, 3), I(0, 2), 2 O))
xt_precision_at see_metric(xt_precision(X(2, 3), I(1, 2), 1 O))
xt_recall_at see_metric(xt_recall(X(2, 3), I(1, 2), 1 O))
xt_f1_at see_metric(xt_f1(X(2, 3), I(1, 2), 1 O))
xt_class_score_at see_metric(xt_f1_avg(X(2, 3), I(0, 2), XT_MACRO O))
xt_confusion_matrix_at see_metric(xt_confusion_matrix(X(2, 3), I(0, 2) O))
xt_auroc_at see_metric(xt_auroc(X(3), I(0, 1, 1) O))
xt_init_at m = xt_module_new(line, NULL); xt_init_uniform(m, "fc.weight" O); SEE(xt_forward(m, X(2, 3)))
xt_init_at m = xt_module_new(line, NULL); xt_init_normal(m, "fc.weight" O); SEE(xt_forward(m, X(2, 3)))
xt_init_at m = xt_module_new(line, NULL); xt_init_truncated_normal(m, "fc.weight" O); SEE(xt_forward(m, X(2, 3)))
xt_init_at m = xt_module_new(line, NULL); xt_init_xavier_uniform(m, "fc.weight" O); SEE(xt_forward(m, X(2, 3)))
xt_init_at m = xt_module_new(line, NULL); xt_init_kaiming_normal(m, "fc.weight" O); SEE(xt_forward(m, X(2, 4)))
xt_init_at m = xt_module_new(line, NULL); xt_init_orthogonal(m, "fc.weight" O); SEE(xt_forward(m, X(2, 3)))
xt_init_at m = xt_module_new(line, NULL); xt_init_sparse(m, "fc.weight" O); SEE(xt_forward(m, X(2, 9)))
xt_init_at xt_init_dirac(m, "c.weight" O); SEE(xt_conv1d(m, "c", X(2, 4, 9), 4, 3))
xt_spectral_norm_at xt_spectral_norm(m, "l.weight" O); SEE(xt_linear(m, "l", X(2, 3), 4))
xt_orthogonal_at m = xt_module_new(line, NULL); xt_orthogonal(m, "fc.weight" O); SEE(xt_forward(m, X(4, 5)));
  xt_mark_step(); learn(xt_sgd(m, .lr = 0.1))
xt_lora_at m = xt_module_new(line, NULL); xt_lora(m, "fc.weight" O); SEE(xt_forward(m, X(4, 5))); xt_mark_step();
  learn(xt_sgd(m, .lr = 0.1))
xt_gradient_at SEE(xt_gradient(X(5), 0 O))
xt_gradient_at SEE(xt_gradient(X(5), 0, .coordinates = F(0, 1, 3, 4, 6) O))
xt_histogram_at xt_tensor h, e; xt_histogram(X(6), 3, &h, &e O); see(h), see(e)
xt_histogram_at xt_tensor h, e; xt_histogram(X(6), 3, &h, &e, .edges = F(0, 0.2, 0.4, 1) O); see(h), see(e)
xt_histogramdd_at xt_tensor h, e[2]; xt_histogramdd(X(6, 2), XT_LIST(2, 2), &h, e O); see(h), see(e[0])
xt_histogramdd_at xt_tensor h; xt_histogramdd(X(6, 1), XT_LIST(2), &h, NULL, .edges = (xt_tensor[]){F(0, 0.3, 1)} O);
  see(h)
xt_sgd_opt LEARN(xt_sgd(m, .lr = 0.1, .momentum = 0.9 O))
xt_adamw_opt LEARN(xt_adamw(m O))
xt_adam_opt LEARN(xt_adam(m O))
xt_adagrad_opt LEARN(xt_adagrad(m O))
xt_rmsprop_opt LEARN(xt_rmsprop(m O))
xt_adadelta_opt LEARN(xt_adadelta(m O))
xt_adamax_opt LEARN(xt_adamax(m O))
xt_nadam_opt LEARN(xt_nadam(m, .weight_decay = 0.1 O))
xt_radam_opt LEARN(xt_radam(m, .weight_decay = 0.1 O))
xt_lion_opt LEARN(xt_lion(m O))
xt_lamb_opt LEARN(xt_lamb(m O))
xt_adafactor_opt LEARN(xt_adafactor(m O))
xt_rprop_opt LEARN(xt_rprop(m O))
xt_asgd_opt LEARN(xt_asgd(m O))
xt_sparse_adam_opt LEARN(xt_sparse_adam(m O))
xt_muon_opt LEARN(xt_muon(m O))
xt_optimizer_group_opt xt_optimizer *o = momentum(); SEE(xt_forward(m, X(4, 5))); xt_optimizer_group(o, "fc.weight"
  O); learn(o)
xt_linalg_norm_at SEE(xt_linalg_norm(X(2, 3), 2, XT_AXES(-1) O))
xt_sum_axes_at SEE(xt_sum_axes(X(2, 3), XT_AXES(1) O))
xt_mean_axes_at SEE(xt_mean_axes(X(2, 3), XT_AXES(1) O))
xt_prod_axes_at SEE(xt_prod_axes(X(2, 3), XT_AXES(1) O))
xt_amax_axes_at SEE(xt_amax_axes(X(2, 3), XT_AXES(1) O))
xt_amin_axes_at SEE(xt_amin_axes(X(2, 3), XT_AXES(1) O))
xt_any_axes_at SEE(xt_any_axes(X(2, 3), XT_AXES(1) O))
xt_all_axes_at SEE(xt_all_axes(X(2, 3), XT_AXES(1) O))
xt_logsumexp_axes_at SEE(xt_logsumexp_axes(X(2, 3), XT_AXES(1) O))
xt_count_nonzero_axes_at SEE(xt_count_nonzero_axes(X(2, 3), XT_AXES(1) O))
xt_nansum_axes_at SEE(xt_nansum_axes(X(2, 3), XT_AXES(1) O))
xt_nanmean_axes_at SEE(xt_nanmean_axes(X(2, 3), XT_AXES(1) O))
xt_cov_at SEE(xt_cov(X(2, 3) O))
xt_var_axes_at SEE(xt_var_axes(X(2, 3), XT_AXES(1) O))
xt_var_axes_at SEE(xt_var_axes(X(2, 3), XT_AXES(1), .population = true O))
xt_std_axes_at SEE(xt_std_axes(X(2, 3), XT_AXES(1) O))
xt_norm_axes_at SEE(xt_norm_axes(X(2, 3), XT_AXES(1) O))
xt_norm_axes_at SEE(xt_norm_axes(X(2, 3), XT_AXES(1), .zero = true O))
xt_normalize_at SEE(xt_normalize(X(2, 3), 1 O))
xt_pairwise_distance_at SEE(xt_pairwise_distance(X(2, 3), xt_neg(X(2, 3)) O))
xt_sort_at xt_tensor v, i; xt_sort(X(2, 3), 1, &v, &i O); see(v)
xt_argsort_at SEE(xt_argsort(X(2, 3), 1 O))
xt_topk_at xt_tensor v, i; xt_topk(X(2, 3), 2, 1, &v, &i O); see(v)
xt_quantile_at SEE(xt_quantile(X(2, 4), 0.3, 1 O))
xt_nanquantile_at SEE(xt_nanquantile(X(2, 4), 0.3, 1 O))
xt_searchsorted_at SEE(xt_searchsorted(F(1, 2, 3), F(2) O))
xt_step_schedule_opt RATES(xt_step_schedule(o, .step_size = 2 O))
xt_multistep_schedule_opt RATES(xt_multistep_schedule(o, .milestones = {2} O))
xt_exponential_schedule_opt RATES(xt_exponential_schedule(o, .gamma = 0.5 O))
xt_linear_schedule_opt RATES(xt_linear_schedule(o O))
xt_constant_schedule_opt RATES(xt_constant_schedule(o O))
xt_polynomial_schedule_opt RATES(xt_polynomial_schedule(o O))
xt_cosine_schedule_opt RATES(xt_cosine_schedule(o, .t_max = 4 O))
xt_warm_restarts_schedule_opt RATES(xt_warm_restarts_schedule(o, .t_0 = 4 O))
xt_one_cycle_schedule_opt RATES(xt_one_cycle_schedule(o, .max_lr = 0.1, .total_steps = 9 O))
xt_one_cycle_schedule_opt RATES(xt_one_cycle_schedule(o, .max_lr = 0.1, .total_steps = 9, .cycle_momentum = XT_OFF O))
xt_cyclic_schedule_opt RATES(xt_cyclic_schedule(o, .base_lr = 0.1, .max_lr = 1, .step_size_up = 2 O))
xt_cyclic_schedule_opt RATES(xt_cyclic_schedule(o, .base_lr = 0.1, .max_lr = 1, .step_size_up = 2, .cycle_momentum =
  XT_OFF O))
xt_cyclic_schedule_opt RATES(xt_cyclic_schedule(o, .base_lr = 0.1, .max_lr = 1, .step_size_up = 2, .mode =
  XT_EXP_RANGE O))
xt_pad_at SEE(xt_pad(X(2, 3), XT_LIST(1, 1) O))
xt_pad_at SEE(xt_pad(X(2, 3), XT_LIST(1, 1), .mode = XT_PAD_REFLECT O))
xt_pad_sequence_at SEE(xt_pad_sequence(2, XT_TENSORS(X(2), X(3)) O))
xt_unfold_at SEE(xt_unfold(X(1, 2, 5, 5), 2, 2 O))
xt_embedding_bag_at SEE(xt_embedding_bag(I(1, 0, 1), X(3, 2), XT_BAG_SUM, X(3) O))
xt_embedding_bag_at SEE(xt_embedding_bag(I(1, 0, 1), X(3, 2), XT_BAG_MEAN, (xt_tensor){0}, .offsets = I(0, 1, 3) O))
xt_fold_at SEE(xt_fold(X(1, 8, 16), 5, 5, 2, 2 O))
xt_grid_sample_at SEE(xt_grid_sample(X(1, 2, 4, 4), xt_mul_scalar(X(1, 3, 3, 2), 1.5) O))
xt_scatter_reduce_at SEE(xt_scatter_reduce(X(4), 0, I(0, 1), X(2), XT_REDUCE_SUM O))
xt_index_reduce_at SEE(xt_index_reduce(X(4), 0, I(0, 1), xt_neg(X(2)), XT_REDUCE_MEAN O))
xt_put_at SEE(xt_put(X(4), I(0, 0), X(2) O))
xt_index_put_at SEE(xt_index_put(X(4), 1, XT_TENSORS(I(0, 0)), X(2) O))
xt_unique_at SEE(xt_unique(F(2, 1, 2, 2), -1 O))
xt_all_reduce_at SEE(xt_all_reduce(X(2) O))
xt_all_gather_at SEE(xt_all_gather(X(2), 0 O))
xt_reduce_scatter_at SEE(xt_reduce_scatter(X(2), 0 O))
xt_all_to_all_at SEE(xt_all_to_all(X(2), 0, 0 O))
xt_collective_permute_at SEE(xt_collective_permute(X(2), .pairs = "0>0" O))
xt_broadcast_at SEE(xt_broadcast(X(2) O))
xt_host_all_reduce_at float v[2] = {1, 2}; see_status(xt_host_all_reduce(v, XT_F32, 2 O))
xt_host_all_gather_at float v[2] = {1, 2}, w[2]; see_status(xt_host_all_gather(v, 8, w O))
xt_host_reduce_scatter_at float v[2] = {1, 2}, w[2]; see_status(xt_host_reduce_scatter(v, XT_F32, 2, w O))
xt_host_all_to_all_at float v[2] = {1, 2}, w[2]; see_status(xt_host_all_to_all(v, 8, w O))
xt_host_permute_at float v[2] = {1, 2}, w[2]; see_status(xt_host_permute(v, 8, w, .pairs = "0>0" O))
xt_host_broadcast_at float v[2] = {1, 2}; see_status(xt_host_broadcast(v, 8 O))
xt_while_at xt_tensor v = xt_zeros(XT_I64, 1); xt_while(small, counted, 1, &v O); see(v)
xt_vmap_at xt_tensor x = X(3, 3), y; xt_vmap(rowwise, 1, &x, 1, &y O); see(y)
xt_custom_grad_at xt_tensor x = X(3), y; xt_custom_grad(own, own_back, 1, &x, 1, &y, .saved = 1 O); see(y)
xt_grad_of_at xt_tensor x = X(1), g; xt_grad_of(xt_square(x), 1, &x, &g O); see(g)
xt_lbfgs_opt m = xt_module_new(line, NULL); xt_optimizer *o = xt_lbfgs(m O); for (int i = 0; i < 2; i++)
  xt_optimizer_step_closure(o, loss, NULL); see_module(); xt_optimizer_free(o)
xt_clip_grad_norm_at xt_optimizer *o = momentum(); gradients(); SEE(xt_clip_grad_norm(o, 0.1 O));
  xt_optimizer_step(o); see_module(); xt_mark_step(); xt_optimizer_free(o)
xt_module_clip_grad_norm_at xt_optimizer *o = momentum(); gradients(); SEE(xt_module_clip_grad_norm(m, 0.1 O));
  xt_mark_step(); xt_optimizer_free(o)
xt_grad_norm_at xt_optimizer *o = momentum(); gradients(); SEE(xt_grad_norm(o O)); xt_mark_step(); xt_optimizer_free(o)
xt_lambda_schedule_opt RATES(xt_lambda_schedule(o, half O))
xt_sequential_schedule_opt RATES(xt_sequential_schedule(o, .schedules = {slow(o), slow(o)}, .milestones = {3} O))
xt_chained_schedule_opt RATES(xt_chained_schedule(o, .schedules = {slow(o), slow(o)} O))
xt_warmup_schedule_opt RATES(xt_warmup_schedule(o, 3, NULL O))
xt_log_metric_at[reduce,batch_size] xt_log_metric("a", xt_confusion_matrix(X(2, 3), I(0, 2)) O)
xt_tar_dataset_opt[side] pending(xt_tar_dataset("none", .decode = decode, .x = {XT_F32, {3}} O) == NULL)
xt_loader_opt[tokens_user] xt_loader_free(xt_loader_new(xt_drawn_digits(4, 0) O))
xt_weight_averaging_opt[start_epoch,swa_lr,anneal_epochs] added(xt_weight_averaging(.swa = XT_OFF O))
xt_weight_averaging_opt[decay,every_n_steps] added(xt_weight_averaging(.swa = XT_ON O))
xt_lora_load_at[base_model,task_type,fan_in_fan_out] xt_linear(m, "l", X(2, 3), 4); see_status(xt_lora_load(m, "none"
  O))
"""

MORE = r"""
#define YES_OF_KEYS xt_gt_scalar(X(3, 2), 0.5)
#define STATE xt_unsqueeze(X(2, 5), 0)
#define LENGTHS I(2, 1, 2)
static xt_tensor block(xt_module *n, xt_tensor x, void *u) { return xt_mul_scalar(xt_linear(n, "l", x, 3), u ? 2 : 1); }
static xt_tensor head(xt_module *n, xt_tensor x, xt_tensor y, void *u) {
    (void)n;
    return xt_mul_scalar(xt_mse_loss(x, y), u ? 2 : 1);
}
static xt_status decode(void *u, const xt_tar_sample *s, void *x, void *y) {
    (void)u, (void)s, (void)x, (void)y;
    return NULL;
}
static void added(xt_callback *c) {
    xt_trainer *t = c ? xt_trainer_new(.max_epochs = 1, .logger = XT_OFF) : NULL;
    if (t) xt_trainer_add(t, c), xt_trainer_free(t);
}
/* It fails in any case, of no file: only what is said of an option counts. */
static void pending(bool failed) {
    if (failed && strstr(xt_status_message(xt_error()), "none")) xt_clear_error();
}
static void see_status(xt_status s) { see_text(s ? xt_status_message(s) : NULL), status = s; }
static xt_tensor small(const xt_tensor *s, void *u) { (void)u; return xt_lt_scalar(s[0], 5); }
static void counted(xt_tensor *s, void *u) { s[0] = xt_add_scalar(s[0], u ? 2 : 1); }
static void rowwise(const xt_tensor *in, xt_tensor *out, void *u) {
    out[0] = xt_cumsum(xt_mul_scalar(in[0], u ? 2 : 1), 0);
}
static void own(const xt_tensor *in, xt_tensor *out, xt_tensor *saved, void *u) {
    saved[0] = in[0];
    out[0] = xt_mul_scalar(in[0], u ? 2 : 1);
}
static void own_back(const xt_tensor *saved, const xt_tensor *d_out, xt_tensor *d_in, void *u) {
    (void)saved, (void)u;
    d_in[0] = d_out[0];
}
static xt_tensor loss(void *u) { (void)u; return xt_mean(xt_square(xt_add_scalar(xt_forward(m, X(4, 5)), -1))); }
static void gradients(void) { xt_backward(loss(NULL)); }
static double half(int64_t i, void *u) { (void)i; return u ? 0.25 : 0.5; }
static xt_scheduler *slow(xt_optimizer *o) { return xt_exponential_schedule(o, .gamma = 0.9); }
"""

# What is given instead of another number: where a default plus one is none that fits, or what an option goes with. A
# value may be followed by other options, and so may a row say "" and those alone.
VALUES = {
    "xt_close_opts.rtol": "1", "xt_close_opts.atol": "1",
    "xt_softplus_opts.threshold": "0.1",
    "xt_fft_opts.n": "4", "xt_fft_opts.s": "{3, 3}",
    "xt_unfold_opts.strides": "{2}", "xt_unfold_opts.paddings": "{1}", "xt_unfold_opts.dilations": "{2}",
    "xt_embedding_bag_opts.offsets": "I(0, 1)", "xt_cov_opts.fweights": "I(1, 2, 3)", "xt_cov_opts.aweights": "X(3)",
    "xt_stft_opts.window": "X(8)", "xt_istft_opts.window": "X(8)", "xt_stft_opts.hop": "4", "xt_istft_opts.hop": "4",
    "xt_stft_opts.win_length": "4", "xt_istft_opts.win_length": "4", "xt_istft_opts.two_sided": "true",
    "xt_istft_opts.length": "20",
    "xt_conv_opts.groups": "2", "xt_conv_opts.strides": "{2}", "xt_conv_opts.paddings": "{1}",
    "xt_conv_opts.dilations": "{2}", "xt_conv_opts.kernels": "{2}", "xt_conv_opts.output_padding": "1, .stride = 2",
    "xt_conv_opts.output_paddings": "{1}, .stride = 2", "xt_conv_opts.padding_mode": "XT_PAD_REFLECT, .padding = 1",
    "xt_pool_opts.strides": "{2}", "xt_pool_opts.paddings": "{1}", "xt_pool_opts.dilations": "{2}",
    "xt_pool_opts.kernels": "{2}", "xt_pool_opts.count_include_pad": "XT_OFF, .padding = 1",
    "xt_pool_opts.ceil_mode": "XT_ON", "xt_pool_opts.divisor": "5", "xt_pool_opts.stride": "3",
    "xt_unpool_opts.strides": "{1}", "xt_unpool_opts.paddings": "{1}", "xt_unpool_opts.kernels": "{3}",
    "xt_unpool_opts.sizes": "{5}", 
    "xt_fractional_opts.sizes": "{3}",
    "xt_fractional_opts.kernels": "{3}", "xt_fractional_opts.samples": "X(1, 2, 2)",
    "xt_interpolate_opts.sizes": "{3, 3}",
    "xt_norm_opts.dims": "2", "xt_norm_opts.sync": "XT_ON", "xt_norm_opts.eps": "0.5",
    "xt_attention_opts.heads": "2", "xt_attention_opts.dropout": "0.5",
    "xt_mha_opts.heads": "2", "xt_mha_opts.dropout": "0.5", "xt_mha_opts.key_padding_mask": "YES_OF_KEYS",
    "xt_mha_opts.attn_mask": "X(2, 2)",
    "xt_transformer_opts.heads": "2", "xt_transformer_opts.key_padding_mask": "YES_OF_KEYS",
    "xt_transformer_opts.mask": "X(2, 2)", "xt_transformer_opts.memory_mask": "X(2, 2)",
    "xt_transformer_opts.memory_key_padding_mask": "YES_OF_KEYS",
    "xt_moe_opts.experts": "4", "xt_moe_opts.capacity_factor": "8", "xt_moe_opts.hidden": "5",
    "xt_pipeline_opts.layers": "2", "xt_pipeline_opts.user": "m",
    "xt_rotary_opts.positions": "I(4, 5, 6)",
    "xt_adaptive_softmax_opts.div_value": "2",
    "xt_rnn_opts.h0": "STATE", "xt_rnn_opts.c0": "STATE", "xt_rnn_opts.proj_size": "2",
    "xt_rnn_opts.lengths": "LENGTHS", "xt_rnn_opts.dropout": "0.5, .layers = 2",
    "xt_svd_opts.full_matrices": "XT_OFF",
    "xt_sdpa_opts.mask": "X(3, 3)", "xt_sdpa_opts.dropout": "0.5", "xt_sdpa_opts.scale": "0.3",
    "xt_scan_opts.user": "&digest", "xt_scan_opts.length": "3",
    "xt_class_loss_opts.weight": "F(1, 2, 3)", "xt_class_loss_opts.ignore_index": "2", "xt_class_loss_opts.axis": "0",
    "xt_multi_margin_opts.weight": "F(1, 2, 3)", "xt_multi_margin_opts.p": "2",
    "xt_bce_opts.weight": "X(2, 3)", "xt_bce_opts.pos_weight": "X(3)",
    "xt_ctc_opts.blank": "2", "xt_gaussian_nll_opts.eps": "0.5", "xt_triplet_opts.eps": "0.5",
    "xt_margin_opts.margin": "2", "xt_multilabel_opts.weight": "X(3)", "xt_cosine_opts.axis": "0",
    "xt_cosine_opts.eps": "1",
    "xt_metric_opts.ignore_index": "0", "xt_precision_at.ignore_index": "1",
    "xt_recall_at.ignore_index": "1", "xt_f1_at.ignore_index": "1",
    "xt_auroc_opts.ignore_index": "1", "xt_auroc_opts.thresholds": "5",
    "xt_init_opts.high": "0.5", "xt_init_opts.low": "-1", "xt_init_opts.groups": "2", "xt_init_opts.sparsity": "0.9",
    "xt_orthogonal_opts.orthogonal_map": "XT_CAYLEY",
    "xt_lora_opts.dropout": "0.5",
    "xt_lora_file_opts.base_model": '"a"', "xt_lora_file_opts.task_type": '"a"',
    "xt_gradient_opts.coordinates": "F(0, 1, 3, 4, 6)", "xt_gradient_opts.edge_order": "2",
    "xt_histogram_opts.edges": "F(0, 0.2, 0.4, 1)", "xt_histogram_opts.weights": "X(6)",
    "xt_histogram_opts.lo": "0", "xt_histogram_opts.hi": "2",
    "xt_histogramdd_opts.ends": "((double[]){0, 1, 0, 1})",
    "xt_histogramdd_opts.edges": "((xt_tensor[]){F(0, 0.3, 1), F(0, 0.3, 1)})",
    "xt_histogramdd_opts.weights": "X(6)",
    "xt_adafactor_opts.eps2": "2", "xt_rprop_opts.step_max": "0.011", "xt_lbfgs_opts.max_iter": "1",
    "xt_lbfgs_opts.history_size": "1", "xt_group_opts.momentum": "0.2", "xt_normalize_opts.eps": "5",
    "xt_any_axes_at.dtype": "XT_I32", "xt_all_axes_at.dtype": "XT_I32", "xt_count_nonzero_axes_at.dtype": "XT_I32",
    "xt_instance_norm_at.affine": "XT_ON", "xt_instance_norm_at.track": "XT_ON",
    "*.reduction": "XT_SUM", "xt_lp_pool_at.count_include_pad": "XT_OFF", "xt_rnn_cell_at.dropout": "0.5",
    "xt_rprop_opts.eta_minus": "0.3", "xt_spectral_norm_opts.eps": "5",
    "*.clip_norm_type": "1, .clip_norm = 0.01",
    "xt_reduce_opts.dtype": "XT_F64",
    "xt_polynomial_schedule_opts.power": "2", "xt_linear_schedule_opts.end_factor": "0.5",
    "xt_pad_opts.mode": "XT_PAD_REFLECT",
    "xt_collective_opts.groups": '"0,1"', "xt_collective_opts.pairs": '"0>5"', "xt_collective_opts.group_size": "3",
    "xt_mha_opts.out_weights": "&seen", "xt_unique_opts.inverse": "&seen", "xt_unique_opts.counts": "&seen",
    "xt_unique_opts.count": "&seen",
    "xt_loader_opts.tokens_user": "m",
    "xt_vmap_opts.in_axes": "(int[]){1}", "xt_vmap_opts.out_axes": "(int[]){1}", "xt_vmap_opts.user": "m",
    "xt_custom_grad_opts.user": "m",
    "xt_grad_of_opts.grad_output": "F(2)",
    "xt_while_opts.user": "m", "xt_while_opts.max_steps": "2",
    "xt_lambda_schedule_opts.user": "m",
    "xt_sequence_opts.milestones": "{2}",
    "xt_clip_opts.norm_type": "1",
    "xt_collective_opts.op": "XT_AND", "xt_collective_opts.root": "4", "xt_collective_opts.shift": "2",
}
# What no number shows, and why; what is needed of others that have no row.
UNSEEN = {
    "*.interval": "when the Trainer moves the schedule on",
    "xt_batch_norm_at.sync": "there is one rank",
    "xt_pipeline_loss_at.schedule": "the same numbers by another program",
    "xt_sdpa_opts.enable_gqa": "what would be an error without it",
    "xt_adamw_opts.state_bits": "of parameters of 4096 numbers and more",
    "xt_asgd_opts.t0": "the average is a state of the optimizer's",
    "xt_rprop_opts.clip_norm": "it looks at signs alone", "xt_rprop_opts.clip_value": "it looks at signs alone",
    "xt_rprop_opts.clip_norm_type": "it looks at signs alone",
    "xt_grad_of_opts.create_graph": "whether what it gives has gradients",
    "xt_grad_of_opts.allow_unused": "what would be an error without it",
    "xt_rnn_opts.loop": "the same numbers by another program",
    "xt_attention_opts.tile": "the same numbers by another program",
    "xt_mha_opts.tile": "the same numbers by another program",
    "xt_scan_opts.recompute": "the same numbers by another program",
    "xt_pipeline_opts.microbatches": "the same numbers by another program",
}
# What errors call an option whose name they do not have.
CALLED = {"op": "reduction", "schedule": "xt_pipeline_loss", "two_sided": "frequencies", "padding_mode": "pads"}
# Functions whose struct is theirs alone, and which are not called here: why. Their fields are read somewhere in src/.
NOT_CALLED = {
    "xt_csv_dataset_opt xt_token_dataset_opt xt_augment_opt xt_weighted_sampler_opt xt_tar_sampler_opt "
    "xt_sample_loader_opt xt_combined_loader_opt xt_save_opt_at xt_load_opt_at xt_convert_weights_opt xt_lora_save_at "
    "xt_quantize_at xt_fuse_bn_at": "data sets and files",
    "xt_profile_opt xt_cache_prune_opt xt_compile_at xt_optimizer_offload_opt xt_loss_scaler_opt": "how it runs",
    "xt_launch_opt xt_launch_on_hosts_opt xt_remote_call_opt": "processes",
    "xt_trainer_opt xt_model_checkpoint_opt xt_early_stopping_opt xt_throughput_monitor_opt xt_timer_opt "
    "xt_accumulation_schedule_opt xt_exception_checkpoint_opt xt_spike_detection_opt xt_prediction_writer_opt "
    "xt_sample_writer_opt xt_lr_find_at xt_batch_find_at xt_plateau_schedule_opt xt_log_at xt_log_value_at": "fits",
}
NOT_CALLED = {name: why for names, why in NOT_CALLED.items() for name in names.split()}


def another(owner, kind, field, default):
    """Another value than the default; None: the list has to say one."""
    if kind == "xt_switch":
        return "XT_OFF" if default in ("XT_ON", "XT_DEFAULT") else "XT_ON"
    if kind == "bool":
        return "true"
    if kind in ("int", "int64_t", "uint64_t"):
        return {"-1": "1", "XT_UNSET": "1", "XT_AXIS_AUTO": "0"}.get(default, f"({default}) + 1")
    if kind == "double":
        return "0.5" if default == "XT_AUTO" else f"({default}) * 0.5 + 0.25"
    if kind.startswith("xt_") and kind not in ("xt_tensor", "xt_spec"):
        return f"({kind})(({default}) + 1)"
    return None


def main():
    functions, folder, source = json.load(open(sys.argv[1])), sys.argv[2], Path(sys.argv[3])
    rows = {}
    for line in re.sub(r"\n +", " ", CALLS.strip()).splitlines():
        name, only, call = re.match(r"(\w+)(?:\[([\w,]+)\])? (.*)", line).groups()
        rows.setdefault(name, []).append((call, only.split(",") if only else None))
    structs = {}
    for _, text, name, body in options.structs(folder):
        listed = re.search(rf"#define XT_DEFAULTS_{name}\(is\)((?:[^\n]*\\\n)*[^\n]*)", text)
        given = dict(re.findall(r"\bis\((\w+), ((?:[^()]|\([^()]*\))*)\)", listed.group(1)))
        structs[name] = [(kind, f, given.get(f, "0"), array) for kind, f, _, array in options.fields(body)
                         if f != "struct_size"]
    sources = "\n".join(path.read_text() for path in sorted(source.rglob("*.c")))
    names, used = {f["name"] for f in functions}, set()
    for name in [*rows, *NOT_CALLED]:
        if name not in names:
            print(f"{name}: there is no such function", file=sys.stderr)
    print(HEAD + MORE)
    tried, plain = [], []
    for f in functions:
        kinds = [p["text"].split(" ")[0] for p in f["parameters"]]
        owner = next((kind for kind in kinds if kind.endswith("_opts")), None)
        if owner not in structs:
            continue
        if f["name"] not in rows and f["name"] not in NOT_CALLED:
            print(f"{f['name']} takes {owner}: it has no row in CALLS, nor a reason in NOT_CALLED", file=sys.stderr)
        if f["name"] in NOT_CALLED or any(only for _, only in rows.get(f["name"], [])):
            for _, field, _, _ in structs[owner]:
                if not re.search(rf"(\.|->){field}\b", sources):
                    print(f"{owner}.{field}: no source reads it", file=sys.stderr)
        for call, only in rows.get(f["name"], []):
            cases = []
            for kind, field, default, array in structs[owner]:
                if (only and field not in only) or re.search(rf"\.{field} = ", call):
                    continue
                at = f"{owner}.{field}"
                keys = (f"{f['name']}.{field}", at, f"*.{field}")
                known = default if not array and kind not in ("xt_tensor", "xt_spec") else None
                for said in sorted({known, "XT_DEFAULT" if kind == "xt_switch" else None} - {None}):
                    plain.append((call.replace(" O", f", .{field} = {said}"), call.replace(" O", "")))
                unseen, listed = ([k for k in keys if k in table] for table in (UNSEEN, VALUES))
                used.update(unseen, listed[:1])
                if unseen and field not in [r.split("[")[0] for r, _ in f["parameters"][-1]["unread"]]:
                    continue
                value = VALUES[listed[0]] if listed else None if array else another(owner, kind, field, default)
                if not value:
                    print(f"{at}: VALUES has to say another value than the default", file=sys.stderr)
                    continue
                extra = value.split(", .", 1)[1] if ", ." in value else None
                cases.append((field, f", .{field} = {value}", f", .{extra}" if extra else ""))
            for field, given, beside in cases:
                k = len(tried)
                shown = re.sub(r"[\"\\]", "'", call.replace(" O", f" {given}"))
                said = CALLED.get(field, re.sub(r"s$", "", field))
                tried.append(f'    try("{shown}", "{field}", "{said}", base_{k}, with_{k});')
                print(f"static void base_{k}(void) {{ {call.replace(' O', beside)}; }}")
                print(f"static void with_{k}(void) {{ {call.replace(' O', given)}; }}")
    for at in [*VALUES, *UNSEEN]:
        if at not in used:
            print(f"{at}: nothing is called with it", file=sys.stderr)
    for k, (with_it, without) in enumerate(plain):
        print(f"static void given_{k}(void) {{ {with_it}; }}")
        print(f"static void left_out_{k}(void) {{ {without}; }}")
    print('int main(void) {\n    xt_on_error(quiet, NULL);\n    setvbuf(stdout, NULL, _IOLBF, 0);')
    print("\n".join(tried))
    for k, (with_it, _) in enumerate(plain):
        shown = re.sub(r'["\\]', "'", with_it)
        print(f'    harmless("{shown}", left_out_{k}, given_{k});')
    print('    printf("%d calls\\n", calls);\n    xt_finish();\n    return bad != 0;\n}')


if __name__ == "__main__":
    main()
