/* Linear layers against PyTorch, and the finding of reference tensors. */
#include "parity.h"

static void layer(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) {
    const int64_t *out = user;
    y[0] = xt_linear(m, "", x[0], *out, .bias = *out == 6 ? XT_OFF : XT_ON);
}

static void cases(void **state) {
    (void)state;
    parity_file *f = parity_open("linear");
    parity_case(f, "plain", layer, &(int64_t){3}, 0, 0);
    parity_case(f, "no_bias", layer, &(int64_t){6}, 0, 0);
    parity_case(f, "f64", layer, &(int64_t){2}, 1e-12, 0);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(cases), cmocka_unit_test(absent_is_found_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
