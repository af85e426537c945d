/* An explicit 0 of an option is 0, or is refused with a sentence: what a call computes with it, beside a number so
 * small that it must come to the same, or beside the value worked out by hand. (That each field can be 0 at all is
 * tests/cli/options.sh.) */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "base/base.h"

enum { N = 4 };
static const float values[N] = {-1.5f, -0.25f, 0.5f, 3};
static xt_tensor x4(void) {
    return xt_from_array(values, XT_F32, N);
}
static xt_tensor x22(void) {
    return xt_from_array(values, XT_F32, 2, 2);
}
static xt_tensor y22(void) {
    return xt_from_array(((float[]){1, 0.5f, -1, 2}), XT_F32, 2, 2);
}
static xt_tensor labels(void) {
    return xt_from_array(((int64_t[]){0, 1}), XT_I64, 2);
}

/* --- functions --- */
typedef struct same {
    const char *name;
    xt_tensor (*zero)(void), (*want)(void);
} same;
#define SAME(name, zero, want)           \
    static xt_tensor name##_zero(void) { \
        return zero;                     \
    }                                    \
    static xt_tensor name##_want(void) { \
        return want;                     \
    }
#define SAMES(X)                                                                                                       \
    X(softplus_threshold, xt_softplus(x4(), .threshold = 0), xt_softplus(x4(), .threshold = 1e-30))                    \
    X(close_rtol, xt_isclose(x4(), xt_add_scalar(x4(), 1e-9), .rtol = 0, .atol = 0),                                   \
      xt_eq(x4(), xt_add_scalar(x4(), 1e-9)))                                                                          \
    X(var_correction, xt_var_axes(x4(), XT_AXES(0), .correction = 0),                                                  \
      xt_var_axes(x4(), XT_AXES(0), .population = true))                                                               \
    X(norm_p, xt_norm_axes(x4(), XT_AXES(0), .p = 0), xt_cast(xt_count_nonzero(x4()), XT_F32))                         \
    X(sinusoidal_scale, xt_sinusoidal_embedding(x4(), 4, .scale = 0),                                                  \
      xt_sinusoidal_embedding(x4(), 4, .scale = 1e-30))                                                                \
    X(sinusoidal_shift, xt_sinusoidal_embedding(x4(), 4, .downscale_freq_shift = 0),                                   \
      xt_sinusoidal_embedding(x4(), 4, .downscale_freq_shift = 1e-30))                                                 \
    X(normalize_eps, xt_normalize(x4(), 0, .eps = 0), xt_normalize(x4(), 0, .eps = 1e-30))                             \
    X(addmm_alpha, xt_addmm(y22(), x22(), x22(), .alpha = 0), y22())                                                   \
    X(addmm_beta, xt_addmm(y22(), x22(), x22(), .beta = 0), xt_matmul(x22(), x22()))                                   \
    X(sdpa_scale, xt_scaled_dot_product_attention(x22(), y22(), y22(), .scale = 0),                                    \
      xt_scaled_dot_product_attention(x22(), y22(), y22(), .scale = 1e-30))                                            \
    X(lrn_k, xt_local_response_norm(xt_reshape(x4(), 1, 2, 2), 2, .alpha = 1, .k = 0),                                 \
      xt_local_response_norm(xt_reshape(x4(), 1, 2, 2), 2, .alpha = 1, .k = 1e-30))                                    \
    X(lrn_beta, xt_local_response_norm(xt_reshape(x4(), 1, 2, 2), 2, .beta = 0), xt_reshape(x4(), 1, 2, 2))            \
    X(multi_margin, xt_multi_margin_loss(x22(), labels(), .margin = 0),                                                \
      xt_multi_margin_loss(x22(), labels(), .margin = 1e-30))                                                          \
    X(hinge_margin, xt_hinge_embedding_loss(x22(), xt_full(-1, XT_F32, 2, 2), .margin = 0),                            \
      xt_mean(xt_relu(xt_neg(x22()))))                                                                                 \
    X(triplet_margin, xt_triplet_margin_loss(x22(), y22(), xt_neg(y22()), .margin = 0),                                \
      xt_triplet_margin_loss(x22(), y22(), xt_neg(y22()), .margin = 1e-30))                                            \
    X(smooth_l1_beta, xt_smooth_l1_loss(x22(), y22(), .beta = 0), xt_l1_loss(x22(), y22()))                            \
    X(ignore_index, xt_cross_entropy(x22(), labels(), .ignore_index = 0),                                              \
      xt_cross_entropy(xt_slice(x22(), 0, 1, 2), xt_slice(labels(), 0, 1, 2)))                                         \
    X(class_axis, xt_cross_entropy(x22(), labels(), .axis = 0), xt_cross_entropy(xt_transpose(x22(), 0, 1), labels())) \
    X(gaussian_eps, xt_gaussian_nll_loss(x22(), y22(), xt_full(1e-9, XT_F32, 2, 2), .eps = 0),                         \
      xt_gaussian_nll_loss(x22(), y22(), xt_full(1e-9, XT_F32, 2, 2), .eps = 1e-30))                                   \
    X(cosine_axis, xt_cosine_similarity(x22(), y22(), .axis = 0),                                                      \
      xt_cosine_similarity(xt_transpose(x22(), 0, 1), xt_transpose(y22(), 0, 1), .axis = 1))                           \
    X(distance_eps, xt_pairwise_distance(x22(), y22(), .eps = 0), xt_norm_axes(xt_minus(x22(), y22()), XT_AXES(-1)))
SAMES(SAME)
#undef SAME
#define SAME(name, zero, want) {#name, name##_zero, name##_want},
static const same sames[] = {SAMES(SAME)};
#undef SAME

static void functions(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(sames); i++) {
        xt_tensor got = sames[i].zero(), want = sames[i].want(),
                  far = xt_max(xt_abs(xt_minus(xt_cast(got, XT_F32), xt_cast(want, XT_F32))));
        double d = xt_item(far);
        if (!(d <= 1e-6))
            fail_msg("%s: differs by %g %s", sames[i].name, d, xt_error() ? xt_status_message(xt_error()) : "");
    }
    xt_mark_step();
}

/* --- layers, optimizers --- */
static xt_tensor weight(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_mul(x, xt_param(m, "w", "ones", 1, XT_F32, 1));
}
static double trained(xt_optimizer *(*make)(xt_module *m, bool zero), bool zero) {
    static const float g[3] = {1, -2, 3};
    float w = NAN;
    xt_module *m = xt_module_new(weight, NULL);
    assert_null(xt_module_build(m, (xt_spec){XT_F32, {1}}));
    xt_optimizer *o = make(m, zero);
    assert_non_null(o);
    for (int i = 0; i < 3; i++) {
        xt_backward(xt_sum(xt_forward(m, xt_from_array(g + i, XT_F32, 1))));
        xt_optimizer_step(o);
        assert_true(xt_mark_step());
    }
    assert_true(xt_read(xt_module_find(m, "w"), &w, sizeof w));
    xt_optimizer_free(o);
    xt_module_free(m);
    return w;
}
#define OPTIMIZERS(X)                                             \
    X(sgd_lr, xt_sgd, lr, 0.1, 1e-40)                             \
    X(adam_beta1, xt_adam, beta1, 0.1, 1e-30)                     \
    X(adam_beta2, xt_adam, beta2, 0.1, 1e-30)                     \
    X(adam_eps, xt_adam, eps, 0.1, 1e-30)                         \
    X(adamw_decay, xt_adamw, weight_decay, 0.1, 1e-30)            \
    X(adagrad_eps, xt_adagrad, eps, 0.1, 1e-30)                   \
    X(rmsprop_alpha, xt_rmsprop, alpha, 0.1, 1e-30)               \
    X(adadelta_rho, xt_adadelta, rho, 0.1, 1e-30)                 \
    X(adamax_beta1, xt_adamax, beta1, 0.1, 1e-30)                 \
    X(nadam_momentum_decay, xt_nadam, momentum_decay, 0.1, 1e-30) \
    X(lion_beta1, xt_lion, beta1, 0.1, 1e-30)                     \
    X(lamb_decay, xt_lamb, weight_decay, 0.1, 1e-30)              \
    X(adafactor_eps2, xt_adafactor, eps2, 0.1, 1e-30)             \
    X(asgd_lambd, xt_asgd, lambd, 0.1, 1e-30)                     \
    X(sparse_adam_beta1, xt_sparse_adam, beta1, 0.1, 1e-30)       \
    X(muon_decay, xt_muon, weight_decay, 0.1, 1e-30)
#define MAKE(name, make, field, rate, tiny)                                    \
    static xt_optimizer *name(xt_module *m, bool zero) {                       \
        xt_optimizer *o = zero ? make(m, .field = 0) : make(m, .field = tiny); \
        if (!strstr(#name, "_lr")) xt_optimizer_set_lr(o, rate);               \
        return o;                                                              \
    }
OPTIMIZERS(MAKE)
static void optimizers(void **state) {
    (void)state;
#define ROW(name, make, field, rate, tiny) {#name, name},
    static const struct {
        const char *name;
        xt_optimizer *(*make)(xt_module *m, bool zero);
    } rows[] = {OPTIMIZERS(ROW)};
#undef ROW
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        double zero = trained(rows[i].make, true), tiny = trained(rows[i].make, false);
        if (!(fabs(zero - tiny) < 1e-6)) fail_msg("%s: %g with 0, %g with hardly more", rows[i].name, zero, tiny);
    }
}

static void groups(void **state) {
    (void)state;
    xt_module *m = xt_module_new(weight, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.1, .momentum = 0.9, .weight_decay = 0.1);
    int g = xt_optimizer_group(o, "*", .lr = 0, .weight_decay = 0, .momentum = 0);
    assert_true(g == 1 && xt_optimizer_group_lr(o, g) == 0);
    assert_true(xt_optimizer_group_lr(o, xt_optimizer_group(o, "w")) == 0.1);
    xt_module_free(m);
    xt_optimizer_free(o);
}

/* --- schedules: their first rates, by hand; of PyTorch where it takes a 0 there --- */
enum { RATES = 6 };
static xt_scheduler *cyclic_from_0(xt_optimizer *o) {
    return xt_cyclic_schedule(o, .base_lr = 0, .max_lr = 1, .step_size_up = 2, .cycle_momentum = XT_OFF);
}
static xt_scheduler *constant_0(xt_optimizer *o) {
    return xt_constant_schedule(o, .factor = 0, .total_iters = 2);
}
static xt_scheduler *linear_from_0(xt_optimizer *o) {
    return xt_linear_schedule(o, .start_factor = 0, .total_iters = 4);
}
static xt_scheduler *warmup_from_0(xt_optimizer *o) {
    return xt_warmup_schedule(o, 4, NULL, .start_factor = 0);
}
static void schedules(void **state) {
    (void)state;
    static const struct {
        xt_scheduler *(*make)(xt_optimizer *o);
        double rates[RATES];
    } rows[] = {{cyclic_from_0, {0, 0.5, 1, 0.5, 0, 0.5}},
                {constant_0, {0, 0, 1, 1, 1, 1}},
                {linear_from_0, {0, 0.25, 0.5, 0.75, 1, 1}},
                {warmup_from_0, {0, 0.25, 0.5, 0.75, 1, 1}}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        xt_module *m = xt_module_new(weight, NULL);
        xt_optimizer *o = xt_sgd(m, .lr = 1);
        int half = xt_optimizer_group(o, "w", .lr_scale = 0.5);
        xt_scheduler *s = rows[i].make(o);
        assert_non_null(s);
        for (int k = 0; k < RATES; k++) {
            double now = xt_optimizer_lr(o), other = xt_optimizer_group_lr(o, half);
            if (!(fabs(now - rows[i].rates[k]) < 1e-12 && fabs(other - now / 2) < 1e-12))
                fail_msg("schedule %zu, step %d: %g and %g, expected %g and half", i, k, now, other, rows[i].rates[k]);
            xt_schedule_step(s);
        }
        xt_optimizer_free(o);
        xt_module_free(m);
    }
}

/* --- switches: false is off, as true is on, also of those that are on by themselves --- */
static xt_tensor without_bias(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_layer_norm(m, "norm", xt_linear(m, "fc", x, 2, .bias = false), .affine = false);
}
static xt_tensor with_bias(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_instance_norm(m, "norm", xt_linear(m, "fc", x, 2, .bias = true), .affine = XT_DEFAULT);
}
static int tensors_of(xt_tensor (*net)(xt_module *m, xt_tensor x, void *user), xt_spec x) {
    xt_module *m = xt_module_new(net, NULL);
    assert_null(xt_module_build(m, x));
    int n = xt_module_tensors(m);
    xt_module_free(m);
    return n;
}
static void switches(void **state) {
    (void)state;
    static float x[7];
    assert_int_equal(tensors_of(without_bias, (xt_spec){XT_F32, {3, 4}}), 1);
    assert_int_equal(tensors_of(with_bias, (xt_spec){XT_F32, {3, 4, 4}}), 2);
    for (int keep = 0; keep < 2; keep++) {
        xt_dataset *d = xt_array_dataset(x, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 7);
        xt_loader *l = xt_loader_new(d, .batch = 2, .drop_last = !keep);
        assert_int_equal(xt_loader_batches(l), keep ? 4 : 3);
        xt_loader_free(l);
    }
}

/* --- what cannot be 0 says so --- */
static xt_module *any;
static int64_t nothing; /* a dim that came out as 0 is no end of a shape */
#define REFUSALS(X)                                                                                     \
    X(heads, xt_self_attention(any, "a", xt_zeros(XT_F32, 1, 2, 4), .heads = 0))                        \
    X(groups, xt_conv2d(any, "b", xt_zeros(XT_F32, 1, 2, 4, 4), 2, 3, .groups = 0))                     \
    X(stride, xt_conv2d(any, "c", xt_zeros(XT_F32, 1, 2, 4, 4), 2, 3, .stride = 0))                     \
    X(dilation, xt_conv2d(any, "d", xt_zeros(XT_F32, 1, 2, 4, 4), 2, 3, .dilation = 0))                 \
    X(pool_stride, xt_max_pool2d(xt_zeros(XT_F32, 1, 2, 4, 4), 2, .stride = 0))                         \
    X(divisor, xt_avg_pool2d(xt_zeros(XT_F32, 1, 2, 4, 4), 2, .divisor = 0))                            \
    X(layers, xt_lstm(any, "e", xt_zeros(XT_F32, 3, 2, 4), 4, .layers = 0).output)                      \
    X(dims, xt_layer_norm(any, "f", xt_zeros(XT_F32, 2, 4), .dims = 0))                                 \
    X(feedforward, xt_transformer_encoder_layer(any, "g", xt_zeros(XT_F32, 3, 2, 4), .feedforward = 0)) \
    X(delta, xt_huber_loss(x22(), y22(), .delta = 0))                                                   \
    X(power, xt_multi_margin_loss(x22(), labels(), .p = 0))                                             \
    X(hop, xt_stft(x4(), 4, .hop = 0))                                                                  \
    X(fft, xt_fft(x4(), 0, .n = 0))                                                                     \
    X(unfold, xt_unfold(xt_zeros(XT_F32, 1, 2, 4, 4), 2, 2, .stride = 0))                               \
    X(softplus_beta, xt_softplus(x4(), .beta = 0))                                                      \
    X(zeros, xt_zeros(XT_F32, nothing, 2))                                                              \
    X(full, xt_add(x22(), xt_full(1, XT_F32, 2, nothing)))                                              \
    X(from_array, xt_from_array(values, XT_F32, nothing, 2))                                            \
    X(reshape, xt_reshape(x22(), nothing, 4))                                                           \
    X(randn, xt_randn(XT_F32, nothing))                                                                 \
    X(state, xt_state("s", XT_F32, nothing, 2))                                                         \
    X(param, xt_param(any, "p", "ones", 1, XT_F32, nothing, 2))
#define REFUSE(name, call)                 \
    static xt_tensor refuse_##name(void) { \
        return call;                       \
    }
REFUSALS(REFUSE)
static void refusals(void **state) {
    (void)state;
#define ROW(name, call) {#name, refuse_##name},
    static const struct {
        const char *name;
        xt_tensor (*call)(void);
    } rows[] = {REFUSALS(ROW)};
#undef ROW
    any = xt_module_new(weight, NULL);
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        xt_tensor t = rows[i].call();
        if (!xt_is_error(t) || !xt_error()) fail_msg("%s: 0 was taken", rows[i].name);
        xt_clear_error();
        xt_mark_step();
    }
    xt_module_free(any);
}

static void loaders(void **state) {
    (void)state;
    static float x[8];
#define LOADER(...) xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 8), __VA_ARGS__)
    assert_null(LOADER(.batch = 0));
    xt_clear_error();
    assert_null(LOADER(.batch = 2, .limit = 0));
    assert_non_null(strstr(xt_status_message(xt_error()), "limit = 0"));
    xt_clear_error();
    assert_null(LOADER(.batch = 2, .prefetch = 0));
    xt_clear_error();
}

static int end(void **state) {
    (void)state;
    return xt_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions), cmocka_unit_test(optimizers), cmocka_unit_test(groups),
        cmocka_unit_test(schedules), cmocka_unit_test(switches),   cmocka_unit_test(refusals),
        cmocka_unit_test(loaders),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}
