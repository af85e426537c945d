/* The ledger beside the device's own count of its memory, in training and after it; an error for want of memory names
 * its line and what it needed, and the process computes on. On a device that keeps no count or has no limit the parts
 * that need them are skipped by name. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lazy/lazy.h"
#include <xtrain/xtrain.h>

enum { WIDE = 1024, ROWS = 256, BLOCK = 256 }; /* allocators round up to blocks */

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_relu(xt_linear(m, "in", x, WIDE));
    return xt_linear(m, "out", x, WIDE);
}

static int64_t in_use(void) {
    device_client *c;
    device_memory m;
    xt_status s = lazy_device(&c);
    if (!s) s = device_memory_stats(c, &m);
    assert_null(s);
    return m.in_use;
}

/* What the device says minus what the ledger says, when nothing is under way. */
static void ledger_agrees(const char *when) {
    assert_true(xt_wait());
    xt_memory_info m = xt_memory();
    int64_t device = in_use(), off = device - m.live_bytes, allowed = m.live_bytes / 100 + BLOCK * m.live_buffers;
    print_message("%s: the ledger has %lld bytes in %lld buffers, the device %lld\n", when, (long long)m.live_bytes,
                  (long long)m.live_buffers, (long long)device);
    if (off > allowed || -off > allowed) fail_msg("%s: %lld bytes apart", when, (long long)off);
}

static void test_ledger(void **state) {
    (void)state;
    static float data[ROWS * WIDE];
    xt_item(xt_sum(xt_ones(XT_F32, 4)));
    xt_mark_step();
    if (in_use() < 0) {
        print_message("this device keeps no count of its memory\n");
        skip();
    }
    for (int i = 0; i < ROWS * WIDE; i++) data[i] = (float)(i % 17) / 17;
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *adam = xt_adam(m, .lr = 1e-3);
    int64_t settled = 0;
    for (int i = 0; i < 60; i++) {
        xt_tensor x = xt_from_array(data, XT_F32, ROWS, WIDE);
        xt_backward(xt_mean(xt_square(xt_add_scalar(xt_forward(m, x), -1))));
        xt_optimizer_step(adam);
        assert_true(xt_mark_step());
        if (i == 9 || i == 59) ledger_agrees(i == 9 ? "step 10" : "step 60");
        if (i == 9) settled = in_use();
    }
    int64_t grown = in_use() - settled;
    if (grown > settled / 100) fail_msg("%lld bytes more than 50 steps before", (long long)grown);
    assert_int_equal(xt_finish(), 0);
    assert_int_equal(xt_live_objects("buffer"), 0);
}

static void test_out_of_memory(void **state) {
    (void)state;
    xt_item(xt_sum(xt_ones(XT_F32, 4)));
    int64_t limit = xt_memory().limit_bytes;
    if (limit <= 0) {
        print_message("this device has no limit\n");
        xt_finish();
        skip();
    }
    xt_mark_step();
    int64_t side = (int64_t)sqrt((double)limit / 4) + 1;
    for (int round = 0; round < 3; round++) {
        xt_item(xt_sum(xt_matmul(xt_rand(XT_F32, side, 8), xt_rand(XT_F32, 8, side)))); /* the line */
        const char *said = xt_status_message(xt_error());
        if (xt_error()) print_message("%.600s\n", said);
        /* a compiler may fold the product away, and then nothing is wrong */
        xt_tensor kept = xt_keep(xt_rand(XT_F32, side, side));
        xt_mark_step();
        xt_item(xt_sum(kept));
        assert_int_equal(xt_status_code(xt_error()), XT_RESOURCE_EXHAUSTED);
        assert_non_null(strstr(xt_status_message(xt_error()), "test_lazy_device_memory.c:"));
        xt_clear_error();
        xt_drop(kept);
        assert_true(fabs(xt_item(xt_sum(xt_full(2, XT_F32, 1000))) - 2000) < 1e-3);
        assert_true(xt_mark_step());
    }
    if (in_use() >= 0) ledger_agrees("after errors");
    assert_int_equal(xt_finish(), 0);
    assert_int_equal(xt_live_objects("buffer"), 0);
}

int main(void) {
    setenv("XT_MEMORY_LIMIT", "64M", 0); /* read by our own device; others have a limit or none */
    setenv("XT_GPU_MEMORY_FRACTION", "0.1", 0);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ledger), cmocka_unit_test(test_out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
