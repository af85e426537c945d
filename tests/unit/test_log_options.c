/* Values that are logged or printed under an `if` (R1.1): k of them cost at most k programs more, whatever combinations occur, and each is what it is when it
 * is asked for alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lazy/lazy.h"
#include "metrics/log.h"
#include <xtrain/xtrain.h>

enum { STEPS = 60, NAMES = 4, BATCH = 4, SIDE = 6 };
static const char *const names[NAMES] = {"loss", "a", "b", "c"};
static const int every[NAMES] = {1, 2, 3, 5};
static double rows[NAMES][STEPS];
static int64_t first_step;

static void row(void *user, const log_row *r) {
    (void)user;
    for (size_t i = 0; i < r->n; i++)
        for (int k = 0; k < NAMES; k++)
            if (!r->epoch_level && strcmp(r->values[i].name, names[k]) == 0 && r->step > first_step && r->step <= first_step + STEPS) rows[k][r->step - first_step - 1] = r->values[i].value;
}

static char reasons[16][1024];
static int n_new;
static void on_event(void *user, const lazy_event *e) {
    (void)user;
    if (e->source == LAZY_FROM_MEMORY) return;
    snprintf(reasons[n_new++ % 16], sizeof reasons[0], "%s", e->reason);
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "out", xt_tanh(xt_linear(m, "in", x, 5)), 3);
}

/* How the three are made. */
typedef enum kind { PART_OF_THE_STEP, OPS_OF_THEIR_OWN, BEFORE_THE_FORWARD, NUMBERS, NAN_WHEN_OFF, EXTREMES, METRICS, SIZES } kind;

static double printed[NAMES][STEPS];
typedef struct slot {
    int k, i;
} slot;
static void arrived(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    slot *s = user;
    assert_int_equal(bytes, 4);
    printed[s->k][s->i] = lazy_as_double(data, dtype);
    free(s);
}
static void print(int k, int i, xt_tensor t) {
    slot *s = malloc(sizeof *s);
    *s = (slot){k, i};
    xt_when_ready(t, arrived, s);
}

static bool due(int k, int i, unsigned mask) { return (mask >> k & 1) && i % every[k] == every[k] - 1; }

static void log_one(int k, int i, kind how, xt_module *m, xt_tensor x, xt_tensor out, xt_tensor loss, bool show) {
    xt_tensor w = xt_module_find(m, "in.weight"), v = loss;
    if (how == OPS_OF_THEIR_OWN || how == BEFORE_THE_FORWARD) v = xt_sum(xt_square(k == 1 ? w : k == 2 ? x : xt_mul_scalar(w, 3)));
    if (how == PART_OF_THE_STEP) v = k == 1 ? loss : xt_mean(k == 2 ? out : x);
    if (how == NAN_WHEN_OFF) v = xt_log_e(xt_sum(xt_slice(xt_slice(x, 0, 0, 1), 1, k, k + 1))); /* -1 in other steps */
    if (show) print(k, i, v);
    else if (how == NUMBERS) xt_log_value(names[k], i * 0.25 + k);
    else if (how == EXTREMES) xt_log(names[k], xt_mean(k == 1 ? x : k == 2 ? xt_neg(x) : xt_square(x)), .reduce = k == 1 ? XT_MIN : k == 2 ? XT_MAX : XT_LAST, .on_epoch = XT_ON);
    else if (how == METRICS && k == 1) xt_log_metric(names[k], xt_mse(out, xt_zeros_like(out)));
    else if (how == METRICS) xt_log_metric(names[k], k == 2 ? xt_mae(out, xt_tanh(out)) : xt_r2(out, xt_tanh(out)));
    else if (how == SIZES) xt_log(names[k], loss, .batch_size = 1 + i);
    else xt_log(names[k], v);
}

typedef struct cost {
    int64_t programs, executions, reads;
} cost;

static cost run(kind how, unsigned mask, bool show, bool lead) {
    memset(printed, 0, sizeof printed);
    for (int k = 0; k < NAMES; k++)
        for (int i = 0; i < STEPS; i++) rows[k][i] = NAN;
    xt_seed(5);
    n_new = 0;
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *opt = xt_adamw(m, .lr = 0.01);
    xt_log_every_n_steps(1);
    log_sink sink = {.row = row};
    log_add_sink(&sink);
    first_step = xt_counter("optimizer_steps");
    cost before = {xt_counter("compiles") + xt_counter("disk_hits"), xt_counter("executions"), xt_counter("host_reads")};
    for (int i = 0; i < STEPS; i++) {
        float data[BATCH * SIDE];
        for (int j = 0; j < BATCH * SIDE; j++) data[j] = sinf((float)(i * 7 + j));
        for (int k = 1; k < NAMES && how == NAN_WHEN_OFF; k++) data[k] = i % every[k] == every[k] - 1 ? 2 : -1;
        xt_tensor x = xt_from_array(data, XT_F32, BATCH, SIDE);
        for (int k = 1; k < NAMES && how == BEFORE_THE_FORWARD; k++)
            if (due(k, i, mask)) log_one(k, i, how, m, x, x, x, show);
        xt_optimizer_set_lr(opt, 0.01 / (1 + i));
        xt_tensor out = xt_forward(m, x), loss = xt_mean(xt_square(out));
        if (lead) xt_log("loss", loss);
        for (int k = 1; k < NAMES && how != BEFORE_THE_FORWARD; k++)
            if (due(k, i, mask)) log_one(k, i, how, m, x, out, loss, show);
        xt_backward(loss);
        xt_optimizer_step(opt);
        if (!xt_mark_step()) fail_msg("step %d: %s", i, xt_status_message(xt_error()));
    }
    assert_true(xt_wait());
    log_drain();
    log_remove_sink(&sink);
    cost c = {xt_counter("compiles") + xt_counter("disk_hits") - before.programs, xt_counter("executions") - before.executions, xt_counter("host_reads") - before.reads};
    assert_int_equal(xt_finish(), 0);
    assert_int_equal(xt_live_objects("tensor") + xt_live_objects("buffer") + xt_live_objects("graph"), 0);
    return c;
}

/* Where nothing is logged in a step at all, the row has the values of the last that did. */
static void same(const char *what, int k, double (*got)[STEPS], double (*want)[STEPS]) {
    for (int i = 0; i < STEPS; i++)
        if (i % every[k] == every[k] - 1 && memcmp(&got[k][i], &want[k][i], sizeof(double)) != 0 && !(isnan(got[k][i]) && isnan(want[k][i])))
            fail_msg("%s, %s, step %d: %.9g, alone it is %.9g", what, names[k], i, got[k][i], want[k][i]);
}

static void logged(void **state) {
    (void)state;
    static const struct {
        kind how;
        const char *name;
    } kinds[] = {{PART_OF_THE_STEP, "part of the step"}, {OPS_OF_THEIR_OWN, "ops of their own"}, {BEFORE_THE_FORWARD, "before the forward"}, {NUMBERS, "numbers"}, {NAN_WHEN_OFF, "NaN when off"},
                 {EXTREMES, "extremes"}, {METRICS, "metrics"}, {SIZES, "sizes"}};
    static double all[NAMES][STEPS];
    for (size_t j = 0; j < sizeof kinds / sizeof kinds[0]; j++)
        for (int lead = 0; lead < 2; lead++) {
            cost base = run(kinds[j].how, 0, false, lead), three = run(kinds[j].how, 14, false, lead);
            memcpy(all, rows, sizeof all);
            if (three.programs > base.programs + 3) fail_msg("%s: %lld programs, without them %lld", kinds[j].name, (long long)three.programs, (long long)base.programs);
            assert_int_equal(three.executions, base.executions);
            if (lead) assert_int_equal(three.reads, base.reads);
            for (int k = 1; k < NAMES; k++) {
                run(kinds[j].how, 1u << k, false, lead);
                same(kinds[j].name, k, all, rows);
                if (lead) same(kinds[j].name, 0, all, rows);
            }
            cost two = run(kinds[j].how, 6, false, lead);
            if (two.programs > base.programs + 2) fail_msg("%s: %lld programs, without them %lld", kinds[j].name, (long long)two.programs, (long long)base.programs);
        }
}

static void printed_values(void **state) {
    (void)state;
    static double all[NAMES][STEPS];
    for (kind how = PART_OF_THE_STEP; how <= BEFORE_THE_FORWARD; how++) {
        cost base = run(how, 0, true, true), three = run(how, 14, true, true);
        memcpy(all, printed, sizeof all);
        if (three.programs > base.programs + 3) fail_msg("kind %d: %lld programs, without them %lld", how, (long long)three.programs, (long long)base.programs);
        assert_int_equal(three.executions, base.executions);
        for (int k = 1; k < NAMES; k++) {
            run(how, 1u << k, true, true);
            same("printed", k, all, printed);
        }
    }
}

int main(void) {
    lazy_on_event(on_event, NULL);
    const struct CMUnitTest tests[] = {cmocka_unit_test(logged), cmocka_unit_test(printed_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
