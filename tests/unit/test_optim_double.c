/* Optimizers of f64 parameters compute in f64: rates, momenta and the clipping factor are the caller's numbers to the
 * last bit. Each step beside the same step in C's double, from the values that the device had before it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include <xtrain/xtrain.h>

enum { N = 5, STEPS = 12 };

static double gradient(int step, int k) {
    return sin(1 + 3.0 * step + k) * pow(10, k - 2);
}

/* The derivative of its sum is x. */
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_sum(xt_mul(xt_param(m, "w", "normal", 1, XT_F64, N), x));
}

static void read_tensor(xt_tensor t, double out[static N]) {
    assert_true(xt_read(t, out, N * sizeof *out));
}

static void read_state(const xt_optimizer *o, const char *name, double out[static N]) {
    memset(out, 0, N * sizeof *out);
    for (int i = 0; i < xt_optimizer_tensors(o); i++)
        if (strcmp(xt_optimizer_tensor_name(o, i), name) == 0) read_tensor(xt_optimizer_tensor(o, i), out);
}

static int64_t ordered(double x) { /* neighbouring doubles are neighbouring integers */
    int64_t i;
    memcpy(&i, &x, sizeof i);
    return i < 0 ? INT64_MIN - i : i;
}

typedef struct before { /* of one element */
    double p, g, a, b; /* parameter, gradient, two states */
    int step; /* from 1 */
    double lr, norm;
} before;
typedef struct row {
    const char *name, *state_a, *state_b;
    xt_optimizer *(*make)(xt_module *m);
    double (*step)(const before *v);
    int ulps; /* the device may round a product and a sum at once */
} row;

static double sgd(const before *v) {
    return v->p - v->lr * v->g;
}
static double momentum(const before *v) {
    double g = v->g + 0.013 * v->p, buffer = 0.9 * v->a + g;
    return v->p - v->lr * buffer;
}
static double adamw(const before *v) {
    double m = 0.9 * v->a + (1 - 0.9) * v->g, s = 0.999 * v->b + (1 - 0.999) * (v->g * v->g);
    double c1 = -expm1(v->step * log(0.9)), c2 = -expm1(v->step * log(0.999));
    double p = v->p - v->p * 0.013 * v->lr;
    return p - m / (sqrt(s) * (1 / sqrt(c2)) + 1e-8) * (v->lr / c1);
}
static double clipped(const before *v) {
    double factor = 0.3 / (v->norm + 1e-6);
    return v->p - v->lr * (v->g * (factor < 1 ? factor : 1));
}

static xt_optimizer *make_sgd(xt_module *m) {
    return xt_sgd(m, .lr = 0.1);
}
static xt_optimizer *make_momentum(xt_module *m) {
    return xt_sgd(m, .lr = 0.1, .momentum = 0.9, .weight_decay = 0.013);
}
static xt_optimizer *make_adamw(xt_module *m) {
    return xt_adamw(m, .lr = 0.1, .weight_decay = 0.013);
}
static xt_optimizer *make_clipped(xt_module *m) {
    return xt_sgd(m, .lr = 0.1, .clip_norm = 0.3);
}
static const row rows[] = {
    {"sgd", "none", "none", make_sgd, sgd, 1},
    {"sgd with momentum", "w.momentum_buffer", "none", make_momentum, momentum, 1},
    {"adamw", "w.exp_avg", "w.exp_avg_sq", make_adamw, adamw, 1},
    {"sgd with clipping", "none", "none", make_clipped, clipped, 1},
};

static void one_row(const row *r) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = NULL;
    double w[N], a[N], b[N], now[N], g[N];
    for (int s = 0; s < STEPS; s++) {
        double norm = 0, lr = 0.1 / (1 + s);
        for (int k = 0; k < N; k++) {
            g[k] = gradient(s, k);
            norm += g[k] * g[k];
        }
        xt_tensor loss = xt_forward(m, xt_from_array(g, XT_F64, N));
        if (!o) o = r->make(m);
        read_tensor(xt_module_find(m, "w"), w);
        read_state(o, r->state_a, a);
        read_state(o, r->state_b, b);
        xt_optimizer_set_lr(o, lr);
        xt_backward(loss);
        xt_optimizer_step(o);
        assert_true(xt_mark_step());
        read_tensor(xt_module_find(m, "w"), now);
        for (int k = 0; k < N; k++) {
            before v = {w[k], g[k], a[k], b[k], s + 1, lr, sqrt(norm)};
            double want = r->step(&v);
            if (llabs(ordered(now[k]) - ordered(want)) > r->ulps)
                fail_msg("%s, step %d: %.17g, expected %.17g", r->name, s, now[k], want);
        }
    }
    xt_optimizer_free(o);
    xt_module_free(m);
    assert_int_equal(xt_finish(), 0);
    assert_int_equal(xt_live_objects("buffer"), 0);
}

static void steps_in_double(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) one_row(&rows[i]);
}

int main(void) {
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_in_double)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
