/* A plain loop that has trained on NaN is told at its end, with the steps and the parameter; one that has not is not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "said.h"

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", xt_log_e(x), 2);
}

static void trained_on(float least) {
    float x[4] = {least, 1, 2, 3};
    said[0] = 0;
    xt_set_sink(sink, NULL);
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.1);
    for (int i = 0; i < 3; i++) {
        xt_backward(xt_mean(xt_forward(m, xt_from_array(x, XT_F32, 2, 2))));
        xt_optimizer_step(o);
        xt_mark_step();
    }
    assert_int_equal(xt_finish(), 0);
    xt_set_sink(NULL, NULL);
}

static void not_a_number(void **state) {
    (void)state;
    trained_on(-1);
    if (!strstr(said, "fc.weight is NaN or Inf after 3 optimizer steps, the last at ") || !strstr(said, "XT_DEBUG=nan"))
        fail_msg("not told: %s", said);
}

static void numbers(void **state) {
    (void)state;
    trained_on(1);
    if (strstr(said, "NaN or Inf")) fail_msg("told: %s", said);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(not_a_number), cmocka_unit_test(numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
