/* What used to be silent, or said without a line: labels that name no class, switches without their begin, patterns
 * that fit nothing, numbers of heads, options of optimizers, schedules and loaders. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lazy/lazy.h"
#include <xtrain/xtrain.h>

static char notices[4000];
static void sink(xt_severity sev, const char *text, size_t n, void *user) {
    (void)sev;
    (void)user;
    size_t have = strlen(notices);
    if (n > sizeof notices - 1 - have) n = sizeof notices - 1 - have;
    memcpy(notices + have, text, n);
    notices[have + n] = 0;
}

static void refused(const char *part, int line) {
    const char *text = xt_error() ? xt_status_message(xt_error()) : "no error";
    char here[64];
    snprintf(here, sizeof here, "test_nn_messages.c:%d", line);
    if (!strstr(text, part)) fail_msg("no \"%s\" in: %s", part, text);
    if (line && !strstr(text, here)) fail_msg("no %s in: %s", here, text);
    xt_clear_error();
}

static void labels_without_a_class(void **state) { /* computed on the device; test_data_labels has those of the host */
    (void)state;
    float logits[12] = {0.1f, 0.2f, 0.3f, 1, 2, 3, -1, 0, 1, 2, 0, 0};
    int64_t labels[4] = {0, 3, -100, -1}; /* the second and the fourth name none; the third is ignored */
    float each[4];
    xt_tensor x = xt_requires_grad(xt_from_array(logits, XT_F32, 4, 3), true),
              y = xt_add_scalar(xt_from_array(labels, XT_I64, 4), 0);
    xt_tensor loss = xt_cross_entropy(x, y, .reduction = XT_NONE);
    assert_true(xt_read(loss, each, sizeof each));
    assert_true(isfinite(each[0]) && isnan(each[1]) && each[2] == 0 && isnan(each[3]));
    xt_tensor mean = xt_cross_entropy(x, y);
    assert_true(isnan(xt_item(mean)));
    xt_backward(mean);
    float g[12];
    assert_true(xt_read(xt_grad(x), g, sizeof g));
    for (int i = 0; i < 12; i++) assert_true(isfinite(g[i]));
    uint8_t small[4] = {0, 2, 3, 1};
    assert_true(xt_read(
        xt_nll_loss(xt_log_softmax(x, 1), xt_add_scalar(xt_from_array(small, XT_U8, 4), 0), .reduction = XT_NONE), each,
        sizeof each));
    assert_true(isfinite(each[0]) && isfinite(each[1]) && isnan(each[2]) && isfinite(each[3]));
    assert_int_equal(xt_finish(), 0);
}

static void switches(void **state) {
    (void)state;
    xt_autocast_begin(XT_BF16);
    xt_autocast_begin(XT_F32);
    assert_int_equal(lazy_autocast(), XT_DTYPE_NONE);
    xt_autocast_end();
    assert_int_equal(lazy_autocast(), XT_BF16);
    xt_autocast_end();
    assert_int_equal(lazy_autocast(), XT_DTYPE_NONE);
    int line = __LINE__ + 1;
    xt_autocast_end();
    refused("xt_autocast_end without xt_autocast_begin", line);
    line = __LINE__ + 1;
    xt_no_grad_end();
    refused("xt_no_grad_end without xt_no_grad_begin", line);
    assert_int_equal(xt_finish(), 0);
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc2", xt_linear(m, "fc1", x, 3), 2);
}

static void patterns(void **state) {
    (void)state;
    float a[4] = {1, 2, 3, 4};
    xt_module *m = xt_module_new(net, NULL);
    notices[0] = 0;
    xt_set_sink(sink, NULL);
    assert_int_equal(xt_freeze(m, "encoder.*"), 0); /* before there are any: they may come */
    assert_string_equal(notices, "");
    xt_forward(m, xt_from_array(a, XT_F32, 1, 4)); /* now it is known */
    assert_non_null(strstr(notices, "no parameter's name fits \"encoder.*\""));
    notices[0] = 0;
    xt_forward(m, xt_from_array(a, XT_F32, 1, 4));
    assert_string_equal(notices, ""); /* said once */
    int line = __LINE__ + 1;
    assert_int_equal(xt_freeze(m, "encoder.*"), 0);
    xt_set_sink(NULL, NULL);
    char here[64];
    snprintf(here, sizeof here, "xt_freeze at ../tests/unit/test_nn_messages.c:%d", line);
    assert_non_null(strstr(notices, "test_nn_messages.c"));
    assert_non_null(strstr(notices, strchr(here, ':')));
    assert_non_null(strstr(
        notices, "no parameter's name fits \"encoder.*\"; there are fc1.weight, fc1.bias, fc2.weight, fc2.bias"));
    assert_int_equal(xt_finish(), 0);
}

/* What is asked of parameters that are to come, whatever it is, and none of them fits. */
static void patterns_of_all_kinds(void **state) {
    (void)state;
    static const char *const says[] = {"xt_init at", "xt_unfreeze at", "xt_weight_norm at", "xt_spectral_norm at",
                                       "xt_orthogonal at"};
    float a[4] = {1, 2, 3, 4};
    xt_module *m = xt_module_new(net, NULL), *fits = xt_module_new(net, NULL);
    notices[0] = 0;
    xt_set_sink(sink, NULL);
    xt_init_zeros(fits, "*.bias");
    xt_freeze(fits, "fc1.*");
    xt_module *made[3] = {fits, xt_module_new(net, NULL), xt_module_new(net, NULL)};
    xt_weight_norm(made[0], "fc2.weight");
    xt_spectral_norm(made[1], "fc2.weight");
    xt_orthogonal(made[2], "fc2.weight");
    for (int i = 0; i < 3; i++) {
        xt_forward(made[i], xt_from_array(a, XT_F32, 1, 4));
        assert_string_equal(notices, "");
    }
    for (int i = 0; i < 5; i++) {
        if (i == 0) xt_init_normal(m, "layer1.*");
        if (i == 1) xt_unfreeze(m, "layer2.*");
        if (i == 2) xt_weight_norm(m, "layer3.*");
        if (i == 3) xt_spectral_norm(m, "layer5.*");
        if (i == 4) xt_orthogonal(m, "layer6.*");
    }
    xt_forward(m, xt_from_array(a, XT_F32, 1, 4));
    xt_init_ones(m, "layer4.*"); /* of a network that is there */
    xt_set_sink(NULL, NULL);
    for (int i = 0; i < 5; i++)
        if (!strstr(notices, says[i])) fail_msg("no \"%s\" in: %s", says[i], notices);
    assert_non_null(strstr(notices, "layer4.*"));
    assert_int_equal(xt_finish(), 0);
}

static int heads_line;
static xt_tensor heads(xt_module *m, xt_tensor x, void *user) {
    heads_line = __LINE__ + (*(bool *)user ? 1 : 2);
    if (*(bool *)user) return xt_self_attention(m, "a", x, .heads = 3);
    return xt_multihead_attention(m, "a", x, x, x, .heads = 3);
}

static void numbers_of_heads(void **state) {
    (void)state;
    for (int own = 0; own < 2; own++) {
        bool which = own;
        xt_forward(xt_module_new(heads, &which), xt_zeros(XT_F32, 2, 5, 8));
        refused(own ? ".heads = 3 does not divide the width C = 8"
                    : ".heads = 3 does not divide the query's width E = 8",
                heads_line);
    }
    assert_int_equal(xt_finish(), 0);
}

static void projections(void **state) {
    (void)state;
    xt_tensor x = xt_zeros(XT_F32, 3, 2, 4);
    xt_module *m = xt_module_new(net, NULL);
    xt_lstm(m, "l", x, 4, .proj_size = 4);
    refused(".proj_size = 4 is out of range: expected 1 to 3", __LINE__ - 1);
    xt_gru(m, "g", x, 4, .proj_size = 2);
    refused("only a whole LSTM has .proj_size", __LINE__ - 1);
    assert_int_equal(xt_finish(), 0);
}

/* These calls take no line: it is found from the return address. */
static void lines_of_options(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL);
    int line = __LINE__ + 1;
    assert_null(xt_sgd(m, .lr = -1));
    refused("lr", line);
    xt_optimizer *opt = xt_adam(m);
    line = __LINE__ + 1;
    assert_null(xt_step_schedule(opt, .step_size = -2));
    refused("step_size", line);
    line = __LINE__ + 1;
    assert_null(xt_loader_new(NULL, .batch = 4));
    refused("", line);
    assert_int_equal(xt_finish(), 0);
}

/* An option that changes nothing where it stands is refused where PyTorch refuses it, or where it is of this library
 * alone; what PyTorch warns of is a warning; what agrees with the others is taken. */
static void options_that_change_nothing(void **state) {
    (void)state;
    float numbers[24] = {0.5f, 0.25f, 0.25f, 1, 0, 0};
    int64_t labels[2] = {0, 1};
    xt_tensor two = xt_from_array(numbers, XT_F32, 2, 3), three = xt_from_array(numbers, XT_F32, 1, 2, 3),
              four = xt_from_array(numbers, XT_F32, 1, 1, 2, 3), y = xt_from_array(labels, XT_I64, 2);
    assert_true(xt_is_error(xt_cross_entropy(two, two, .ignore_index = 0)));
    refused("xt_cross_entropy: .ignore_index = 0, and labels f32 are probabilities", __LINE__ - 1);
    assert_false(xt_is_error(xt_cross_entropy(two, two, .ignore_index = -1)));
    assert_false(xt_is_error(xt_cross_entropy(two, y, .ignore_index = 0)));
    assert_true(xt_is_error(xt_interpolate(three, .sizes = {4, 5})));
    refused("one number in the list", __LINE__ - 1);
    assert_true(xt_is_error(xt_interpolate(four, .sizes = {4, 5, 6})));
    refused("one number for each spatial dim", __LINE__ - 1);
    assert_false(xt_is_error(xt_interpolate(four, .sizes = {4, 5})));
    assert_true(xt_is_error(xt_interpolate(four, .sizes = {4}, .mode = XT_AREA, .align_corners = XT_ON)));
    refused("means of areas have no corners", __LINE__ - 1);
    float population, given;
    assert_true(xt_read(xt_var_axes(two, XT_ALL_AXES, .population = true), &population, 4) &&
                xt_read(xt_var_axes(two, XT_ALL_AXES, .population = true, .correction = 0), &given, 4));
    assert_true(population == given);
    assert_true(xt_is_error(xt_var_axes(two, XT_ALL_AXES, .population = true, .correction = 2)));
    refused("give one of the two", __LINE__ - 1);
    for (int i = 0; i < 2; i++) {
        assert_null(
            xt_loader_new(xt_drawn_digits(4, 0), .on_device = XT_ON, .workers = i ? 1 : 2, .prefetch = i ? 4 : -1));
        refused("nothing is read ahead", 0);
    }
    xt_module *m = xt_module_new(net, NULL);
    notices[0] = 0;
    xt_set_sink(sink, NULL);
    xt_lstm(m, "one", three, 4, .dropout = 0.5);
    assert_non_null(strstr(notices, "xt_lstm one: .dropout = 0.5 is between layers, and there is one"));
    notices[0] = 0;
    xt_lstm(m, "two", three, 4, .dropout = 0.5, .layers = 2);
    xt_gru(m, "none", three, 4);
    assert_null(strstr(notices, "dropout"));
    xt_set_sink(NULL, NULL);
    assert_null(xt_error());
    xt_module_free(m);
    assert_int_equal(xt_finish(), 0);
}

/* Of a function behind several names, the one that the program has written; of one made of others, its own before
 * theirs. */
static void names_that_were_called(void **state) {
    (void)state;
    float numbers[24] = {0};
    xt_tensor row = xt_from_array(numbers, XT_F32, 2, 3), image = xt_from_array(numbers, XT_F32, 1, 1, 2, 3),
              x = xt_from_array(numbers, XT_F32, 1, 2, 3);
    xt_module *m = xt_module_new(net, NULL);
    xt_gru_cell(m, "cell", row, 4, .layers = 2);
    refused("xt_gru_cell: ", __LINE__ - 1);
    xt_gru(m, "gru", x, 4, .c0 = x);
    refused("xt_gru gru: ", __LINE__ - 1);
    xt_max_pool2d(image, 2, .divisor = 3);
    refused("xt_max_pool2d: ", __LINE__ - 1);
    xt_lp_pool2d(row, 2, 2);
    refused("xt_lp_pool2d: xt_avg_pool2d: x is f32 [2,3]", __LINE__ - 1);
    xt_conv2d(m, "conv", image, 2, 5);
    refused("xt_conv2d conv: xt_conv2d_fn: x [1,1,2,3]", __LINE__ - 1);
    xt_perplexity(row, row, .axis = 4);
    refused("xt_perplexity: xt_cross_entropy: axis 4", __LINE__ - 1);
    xt_matmul(row, row);
    refused(": xt_matmul: x [2,3] and y [2,3]: inner sizes", __LINE__ - 1);
    xt_module_free(m);
    assert_int_equal(xt_finish(), 0);
}

int main(void) {
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(options_that_change_nothing),
                                       cmocka_unit_test(names_that_were_called),
                                       cmocka_unit_test(labels_without_a_class),
                                       cmocka_unit_test(switches),
                                       cmocka_unit_test(patterns),
                                       cmocka_unit_test(patterns_of_all_kinds),
                                       cmocka_unit_test(numbers_of_heads),
                                       cmocka_unit_test(projections),
                                       cmocka_unit_test(lines_of_options)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
