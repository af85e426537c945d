/* A thread does not wait for what another one has logged in a step that it does not end: that one may be waiting for
 * it. What was logged is written when its step ends. */
#include "train_test.h"

#include <pthread.h>

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 2);
}
static xt_tensor predict(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_forward(m, b.x);
}

static void *run_predict(void *out) {
    static const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    xt_loader *data =
        xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {2}}, NULL, (xt_spec){XT_DTYPE_NONE}, 4), .batch = 2);
    xt_trainer *t = TEST_TRAINER(.logger = XT_OFF, .checkpointing = XT_OFF);
    xt_task task = {.net = net, .predict_step = predict};
    *(int *)out = xt_predict(t, &task, data, NULL, NULL);
    xt_trainer_free(t);
    xt_loader_free(data);
    return NULL;
}

static void another_threads_step(void **state) {
    (void)state;
    pthread_t thread;
    int code = -1;
    alarm(100); /* it waited for ever */
    xt_log_histogram("h", xt_randn(XT_F32, 16));
    assert_int_equal(pthread_create(&thread, NULL, run_predict, &code), 0);
    pthread_join(thread, NULL);
    alarm(0);
    assert_int_equal(code, 0);
    assert_true(xt_mark_step());
}

int main(void) {
    setenv("XT_SUMMARY", "off", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(another_threads_step)};
    return cmocka_run_group_tests(tests, begin, end);
}
