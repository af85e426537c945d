/* Linear layers against PyTorch, and the finding of reference tensors. */
#include "parity.h"

static void layer(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) {
    const int64_t *out = user;
    y[0] = xt_linear(m, "", x[0], *out, .bias = *out == 6 ? XT_OFF : XT_ON);
}

static void weight_norm(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) {
    xt_weight_norm(m, "weight");
    y[0] = user ? xt_conv1d(m, "", x[0], 4, 3) : xt_linear(m, "", x[0], 3);
}

static xt_tensor normed(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "out", xt_linear(m, "fc", x, 3), 2);
}

/* A new weight is what it would be without: g begins as the norm of v. The names are PyTorch's, and a second call
 * comes too late. */
static void weight_norm_begins_as_the_weight(void **state) {
    (void)state;
    float a[4] = {1, 2, 3, 4}, plain[2], with[2];
    for (int k = 0; k < 2; k++) {
        xt_module *m = xt_module_new(normed, NULL);
        xt_init_constant(m, "fc.*weight*", 0.5);
        xt_init_constant(m, "*original1", 0.5);
        if (k) assert_true(xt_weight_norm(m, "fc.weight"));
        xt_init_constant(m, "out.weight", 0.25);
        xt_init_zeros(m, "*bias");
        assert_true(xt_read(xt_forward(m, xt_from_array(a, XT_F32, 1, 4)), k ? with : plain, sizeof plain));
        if (k) {
            assert_false(xt_is_none(xt_module_find(m, "fc.parametrizations.weight.original0")));
            assert_true(xt_is_none(xt_module_find(m, "fc.weight")));
            assert_false(xt_weight_norm(m, "out.weight"));
            assert_non_null(strstr(xt_status_message(xt_error()), "out.weight is there already"));
            xt_clear_error();
        }
        xt_module_free(m);
    }
    for (int i = 0; i < 2; i++) assert_float_equal(plain[i], with[i], 1e-5);
    assert_int_equal(xt_finish(), 0);
}

static void cases(void **state) {
    (void)state;
    parity_file *f = parity_open("linear");
    parity_case(f, "plain", layer, &(int64_t){3}, 0, 0);
    parity_case(f, "no_bias", layer, &(int64_t){6}, 0, 0);
    parity_case(f, "f64", layer, &(int64_t){2}, 1e-12, 0);
    parity_case(f, "weight_norm", weight_norm, NULL, 0, 0);
    parity_case(f, "weight_norm_conv", weight_norm, f, 0, 0);
    parity_close_file(f);
    assert_int_equal(xt_finish(), 0);
}

static void absent_is_found_out(void **state) {
    (void)state;
    parity_file *f = parity_open("linear");
    assert_null(parity_find(f, "plain/w/%s", "nothing"));
    assert_non_null(parity_find(f, "plain/w/%s", "weight"));
    assert_int_equal(parity_count(f, "plain", "g"), 2);
    parity_close_file(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cases), cmocka_unit_test(weight_norm_begins_as_the_weight),
                                       cmocka_unit_test(absent_is_found_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
