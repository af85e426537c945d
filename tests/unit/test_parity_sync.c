/* Batch norm over two ranks, with .sync and by xt_sync_batch_norm, each with half of PyTorch's batch: outputs, input
 * gradients and running statistics are those of the whole batch. */
#include "launched.h"
#include "parity.h"

enum { N = 6, C = 4, HALF = N / 2 * C };

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    return xt_batch_norm(m, "", x, .sync = user ? XT_ON : XT_DEFAULT);
}

static bool near(const float *got, const parity_tensor *want, int64_t from, int64_t n, const char *what) {
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(got[i] - parity_element(want, from + i)) <= 2e-5)) {
            fprintf(stderr, "%s [%lld]: %g, PyTorch has %g\n", what, (long long)(from + i), got[i],
                    parity_element(want, from + i));
            return false;
        }
    return true;
}

/* In a child process: 0 when everything agrees. */
static int of_rank(int rank, void *by_layer) {
    parity_file *f = parity_open("norm");
    const parity_tensor *x = parity_get(f, "bn2/x0"), *r = parity_get(f, "bn2/r0");
    xt_module *m = xt_module_new(net, by_layer);
    if (!by_layer) xt_sync_batch_norm(m);
    parity_weights(f, "bn2", m);
    xt_tensor in = xt_keep(xt_from_array((float *)x->data + rank * HALF, XT_F32, N / 2, C));
    xt_requires_grad(in, true);
    xt_tensor y = xt_keep(xt_forward(m, in));
    xt_backward(xt_sum(xt_mul(y, xt_from_array((float *)r->data + rank * HALF, XT_F32, N / 2, C))));
    float v[HALF];
    bool ok = xt_mark_step() && xt_read(y, v, sizeof v) && near(v, parity_get(f, "bn2/y0"), rank * HALF, HALF, "y");
    ok = ok && xt_read(xt_grad(in), v, sizeof v) && near(v, parity_get(f, "bn2/dx0"), rank * HALF, HALF, "dx");
    ok = ok && xt_read(xt_module_find(m, "running_mean"), v, C * sizeof *v) &&
         near(v, parity_get(f, "bn2/b/running_mean"), 0, C, "running_mean");
    ok = ok && xt_read(xt_module_find(m, "running_var"), v, C * sizeof *v) &&
         near(v, parity_get(f, "bn2/b/running_var"), 0, C, "running_var");
    parity_close_file(f);
    return xt_finish() || !ok;
}

static void two_halves(void **state) {
    (void)state;
    bool by_layer = true;
    assert_int_equal(launched(2, of_rank, &by_layer), 0);
    assert_int_equal(launched(2, of_rank, NULL), 0);
    unsetenv("CPU_NUM_DEVICES");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_halves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
