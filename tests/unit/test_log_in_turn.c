/* What is logged or printed under an `if` while states and networks are updated in turn: steps that compute the same
 * and give their results to other states, or keep an input that another step takes over, are each what they say. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/base.h"
#include <xtrain/xtrain.h>

static uint32_t random_state;
static int draw(int n) {
    random_state = random_state * 1664525u + 1013904223u;
    return (int)((random_state >> 10) % (uint32_t)n);
}

static void quiet(xt_severity sev, const char *text, size_t n, void *user) {
    (void)sev, (void)text, (void)n, (void)user;
}

/* --- states --- */
enum { STATES = 3, STEPS = 20 };
static float given[STEPS];
static int n_given;
static void arrived(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    assert_true(bytes == 4 && dtype == XT_F32);
    memcpy(&given[*(int *)user], data, 4);
    n_given++;
}
typedef struct program { /* which state is read and written in a step, and when something is asked for */
    bool arrays, third, asks_before;
    int n, turns, reads, log_every, print_every;
} program;

static program any_program(uint32_t seed) {
    random_state = seed * 2654435761u;
    for (int i = 0; i < 5; i++) draw(2);
    return (program){draw(2), draw(2), draw(2), 2 + draw(2), 2 + draw(2), draw(3), draw(4), 2 + draw(4)};
}

static void run_states(uint32_t seed) {
    program p = any_program(seed);
    static int places[STEPS];
    float want[STATES] = {0}, printed[STEPS];
    xt_tensor s[STATES];
    int asked = 0;
    n_given = 0;
    for (int i = 0; i < STATES; i++) s[i] = p.arrays ? xt_state("s", XT_F32, 32, 7) : xt_state("s", XT_F32);
    for (int i = 0; i < STEPS; i++) {
        int to = i % p.turns % p.n, from = p.reads == 0 ? 0 : p.reads == 1 ? to : (to + 1) % p.n;
        xt_tensor v = xt_add(xt_mul(s[from], 0.5), i * 0.25 + 1);
        float value = want[from] * 0.5f + (float)(i * 0.25 + 1);
        if (!p.asks_before) xt_assign(s[to], v);
        if (p.log_every && i % p.log_every == 0) xt_log("a", xt_mean(v));
        if (i % p.print_every == 0) {
            places[i] = i;
            printed[i] = value;
            asked++;
            xt_when_ready(xt_mean(v), arrived, &places[i]);
        }
        if (p.asks_before) xt_assign(s[to], v);
        want[to] = value;
        if (p.third) {
            xt_assign(s[2], xt_add(s[2], xt_mul(s[to], 0.125)));
            want[2] += want[to] * 0.125f;
        }
        assert_true(xt_mark_step());
    }
    assert_true(xt_wait());
    if (n_given != asked) fail_msg("program %u: %d of %d values came", seed, n_given, asked);
    for (int i = 0; i < STEPS; i += p.print_every)
        if (fabsf(given[i] - printed[i]) > 1e-4f)
            fail_msg("program %u, step %d: printed %g, is %g", seed, i, (double)given[i], (double)printed[i]);
    for (int i = 0; i < STATES; i++) {
        double got = xt_item(xt_mean(s[i]));
        if (!(fabs(got - (double)want[i]) <= 1e-4))
            fail_msg("program %u: state %d is %g, not %g", seed, i, got, (double)want[i]);
    }
    assert_true(xt_mark_step());
}

static void states_in_turn(void **state) {
    (void)state;
    for (uint32_t seed = 0; seed < 150; seed++) run_states(seed);
    assert_int_equal(xt_finish(), 0);
}

/* --- networks --- */
enum { NETS = 3, BATCH = 8, WIDE = 6, UPDATES = 24 };
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "out", xt_tanh(xt_linear(m, "in", x, 5)), 1);
}

/* Trains n of them in turn; period 0: asks for nothing. Gives the sum of all weights' squares of each. */
static void train_in_turn(int n, int period, bool adam, bool number, double *out) {
    xt_module *m[NETS];
    xt_optimizer *o[NETS];
    float x[BATCH][WIDE];
    xt_seed(3);
    for (int k = 0; k < n; k++) {
        m[k] = xt_module_new(net, NULL);
        o[k] = adam ? xt_adam(m[k], .lr = 0.01) : xt_sgd(m[k], .lr = 0.1);
    }
    for (int i = 0; i < UPDATES; i++) {
        for (int a = 0; a < BATCH; a++)
            for (int b = 0; b < WIDE; b++) x[a][b] = (float)((a * 31 + b * 17 + i * 5) % 23) / 23;
        xt_tensor loss = xt_mean(xt_square(xt_forward(m[i % n], xt_from_array(x, XT_F32, BATCH, WIDE))));
        xt_backward(loss);
        xt_optimizer_step(o[i % n]);
        if (period) xt_log("a", loss);
        if (period && i % period == 0 && number) xt_log_value("b", i);
        if (period && i % period == 0 && !number) xt_log("b", loss);
        assert_true(xt_mark_step());
        if (period) assert_true(xt_wait());
    }
    for (int k = 0; k < n; k++) {
        out[k] = 0;
        for (int j = 0; j < xt_module_tensors(m[k]); j++)
            out[k] += xt_item(xt_sum(xt_square(xt_module_tensor(m[k], j))));
        xt_module_free(m[k]); /* xt_finish frees the optimizers, which nobody steps any more */
    }
    assert_true(xt_mark_step());
}

static void networks_in_turn(void **state) {
    (void)state;
    for (int n = 2; n <= NETS; n++)
        for (int adam = 0; adam < 2; adam++) {
            double want[NETS], got[NETS];
            train_in_turn(n, 0, adam, false, want);
            for (int period = 2; period <= 9; period++)
                for (int number = 0; number < 2; number++) {
                    train_in_turn(n, period, adam, number, got);
                    for (int k = 0; k < n; k++)
                        if (!(fabs(got[k] - want[k]) <= 1e-5 * want[k]))
                            fail_msg("%d networks, %s, an `if` in every step %d: network %d is %g, not %g", n,
                                     adam ? "adam" : "sgd", period, k, got[k], want[k]);
                }
        }
    assert_int_equal(xt_finish(), 0);
}

int main(void) {
    xt_set_sink(quiet, NULL);
    const struct CMUnitTest tests[] = {cmocka_unit_test(states_in_turn), cmocka_unit_test(networks_in_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
