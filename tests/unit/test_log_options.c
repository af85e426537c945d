/* Values that are logged or printed under an `if` (R1.1): k of them cost at most k programs more, whatever combinations
 * occur, and each is what it is when it is asked for alone. */
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
            if (!r->epoch_level && strcmp(r->values[i].name, names[k]) == 0 && r->step > first_step &&
                r->step <= first_step + STEPS)
                rows[k][r->step - first_step - 1] = r->values[i].value;
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
typedef enum kind {
    PART_OF_THE_STEP,
    OPS_OF_THEIR_OWN,
    BEFORE_THE_FORWARD,
    NUMBERS,
    NAN_WHEN_OFF,
    EXTREMES,
    METRICS,
    SIZES,
    OTHER_TENSORS,
    ANOTHER_BATCH
} kind;
typedef enum loop { PLAIN, COMPILED, NO_TRAINING } loop;

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

static bool due(int k, int i, unsigned mask) {
    return (mask >> k & 1) && i % every[k] == every[k] - 1;
}

static xt_tensor frozen, unused; /* that the step itself does not read */
static xt_tensor other; /* made before x, of its type, in the steps that ask for the first */
static void log_one(int k, int i, kind how, xt_module *m, xt_tensor x, xt_tensor out, xt_tensor loss, bool show) {
    xt_tensor w = xt_module_find(m, "in.weight"), v = loss;
    if (how == OPS_OF_THEIR_OWN || how == BEFORE_THE_FORWARD)
        v = xt_sum(xt_square(k == 1 ? w : k == 2 ? x : xt_mul_scalar(w, 3)));
    if (how == PART_OF_THE_STEP) v = k == 1 ? loss : xt_mean(k == 2 ? out : x);
    if (how == OTHER_TENSORS) v = xt_sum(xt_mul(k == 1 ? frozen : unused, k == 3 ? xt_mean(out) : xt_mean(x)));
    if (how == ANOTHER_BATCH) v = xt_mean(xt_square(k == 1 ? other : k == 2 ? x : out));
    if (how == NAN_WHEN_OFF) v = xt_log_e(xt_sum(xt_slice(xt_slice(x, 0, 0, 1), 1, k, k + 1))); /* -1 in other steps */
    if (show)
        print(k, i, v);
    else if (how == NUMBERS)
        xt_log_value(names[k], i * 0.25 + k);
    else if (how == EXTREMES)
        xt_log(names[k],
               xt_mean(k == 1   ? x
                       : k == 2 ? xt_neg(x)
                                : xt_square(x)),
               .reduce = k == 1   ? XT_MIN
                         : k == 2 ? XT_MAX
                                  : XT_LAST,
               .on_epoch = XT_ON);
    else if (how == METRICS && k == 1)
        xt_log_metric(names[k], xt_mse(out, xt_zeros_like(out)));
    else if (how == METRICS)
        xt_log_metric(names[k], k == 2 ? xt_mae(out, xt_tanh(out)) : xt_r2(out, xt_tanh(out)));
    else if (how == SIZES)
        xt_log(names[k], loss, .batch_size = 1 + i);
    else
        xt_log(names[k], v);
}

typedef struct cost {
    int64_t programs, executions, reads, uploads;
} cost;

typedef struct ways {
    kind how;
    unsigned mask, show; /* which are asked for; printed instead of logged */
    bool lead; /* and the loss in every step */
    loop loop;
} ways;
typedef struct train {
    ways w;
    xt_module *m;
    xt_optimizer *opt;
    int i;
} train;

static void ask(const train *t, xt_tensor x, xt_tensor out, xt_tensor loss) {
    for (int k = 1; k < NAMES; k++)
        if (due(k, t->i, t->w.mask)) log_one(k, t->i, t->w.how, t->m, x, out, loss, t->w.show >> k & 1);
}

static xt_tensor step(const xt_tensor *in, int n, void *user) {
    const train *t = user;
    assert_int_equal(n, 1);
    if (t->w.loop == COMPILED) xt_scalar(t->i, XT_F32); /* recorded again at every call */
    if (t->w.how == BEFORE_THE_FORWARD) ask(t, in[0], in[0], in[0]);
    xt_tensor out = xt_forward(t->m, in[0]), loss = xt_mean(xt_square(out));
    if (t->w.lead) xt_log("loss", loss);
    if (t->w.how != BEFORE_THE_FORWARD) ask(t, in[0], out, loss);
    if (t->w.loop == NO_TRAINING) return loss;
    xt_backward(loss);
    xt_optimizer_step(t->opt);
    return loss;
}

static void quiet(xt_severity sev, const char *text, size_t n, void *user) {
    (void)sev, (void)text, (void)n, (void)user;
}

static cost run(ways w) {
    xt_set_sink(quiet, NULL);
    memset(printed, 0, sizeof printed);
    for (int k = 0; k < NAMES; k++)
        for (int i = 0; i < STEPS; i++) rows[k][i] = NAN;
    xt_seed(5);
    n_new = 0;
    train t = {w, xt_module_new(net, NULL), NULL, 0};
    t.opt = xt_adamw(t.m, .lr = 0.01);
    xt_step *compiled = xt_compile(step, .user = &t, .name = "step");
    frozen = lazy_state_new(XT_HERE, LAZY_BUFFER, "frozen", XT_F32, 1, (int64_t[]){4}, (float[]){1, 2, 3, 4});
    xt_log_every_n_steps(1);
    log_sink sink = {.row = row};
    log_add_sink(&sink);
    first_step = xt_counter("optimizer_steps");
    cost before = {xt_counter("compiles") + xt_counter("disk_hits"), xt_counter("executions"), xt_counter("host_reads"),
                   xt_counter("uploads")};
    for (t.i = 0; t.i < STEPS; t.i++) {
        float data[BATCH * SIDE];
        for (int j = 0; j < BATCH * SIDE; j++) data[j] = sinf((float)(t.i * 7 + j));
        for (int k = 1; k < NAMES && w.how == NAN_WHEN_OFF; k++) data[k] = t.i % every[k] == every[k] - 1 ? 2 : -1;
        float others[BATCH * SIDE];
        for (int j = 0; j < BATCH * SIDE; j++) others[j] = 3 + cosf((float)(t.i * 5 + j));
        bool with_other = w.how == ANOTHER_BATCH && due(1, t.i, w.mask);
        if (with_other) other = xt_from_array(others, XT_F32, BATCH, SIDE);
        xt_tensor x = xt_from_array(data, XT_F32, BATCH, SIDE);
        unused = xt_from_array(data, XT_F32, SIDE);
        xt_optimizer_set_lr(t.opt, 0.01 / (1 + t.i));
        if (w.loop == COMPILED)
            xt_call(compiled, x);
        else
            step(&x, 1, &t);
        if (!xt_mark_step()) fail_msg("step %d: %s", t.i, xt_status_message(xt_error()));
    }
    assert_true(xt_wait());
    log_drain();
    log_remove_sink(&sink);
    cost c = {xt_counter("compiles") + xt_counter("disk_hits") - before.programs,
              xt_counter("executions") - before.executions, xt_counter("host_reads") - before.reads,
              xt_counter("uploads") - before.uploads};
    assert_int_equal(xt_finish(), 0);
    assert_int_equal(xt_live_objects("tensor") + xt_live_objects("buffer") + xt_live_objects("graph"), 0);
    return c;
}

/* Where nothing is logged in a step at all, the row has the values of the last that did. */
static void same(const char *what, int k, double (*got)[STEPS], double (*want)[STEPS]) {
    for (int i = 0; i < STEPS; i++)
        if (i % every[k] == every[k] - 1 && memcmp(&got[k][i], &want[k][i], sizeof(double)) != 0 &&
            !(isnan(got[k][i]) && isnan(want[k][i])))
            fail_msg("%s, %s, step %d: %.9g, alone it is %.9g", what, names[k], i, got[k][i], want[k][i]);
}

static double all[2][NAMES][STEPS];

/* With all three, with two, and with each alone. */
static void try_all(const char *what, ways w) {
    w.mask = 0;
    cost base = run(w);
    w.mask = 14;
    cost three = run(w);
    memcpy(all[0], rows, sizeof rows);
    memcpy(all[1], printed, sizeof printed);
    if (three.programs > base.programs + 3)
        fail_msg("%s, loop %d: %lld programs, without them %lld", what, w.loop, (long long)three.programs,
                 (long long)base.programs);
    if (w.lead) assert_int_equal(three.executions, base.executions);
    if (w.lead && !w.show) assert_int_equal(three.reads, base.reads);
    /* a step's numbers go to the device once, also where another program than its own serves it; besides them the log's
     * state and a tensor that the base does not read */
    if (w.loop != NO_TRAINING && w.how != ANOTHER_BATCH && three.uploads > base.uploads + 2)
        fail_msg("%s, loop %d: %lld uploads, without them %lld", what, w.loop, (long long)three.uploads,
                 (long long)base.uploads);
    for (int k = 1; k < NAMES; k++) {
        w.mask = 1u << k;
        run(w);
        same(what, k, all[0], rows);
        same(what, k, all[1], printed);
        if (w.lead) same(what, 0, all[0], rows);
    }
    w.mask = 6;
    cost two = run(w);
    if (two.programs > base.programs + 2)
        fail_msg("%s, loop %d: %lld programs for two, without them %lld", what, w.loop, (long long)two.programs,
                 (long long)base.programs);
}

static void logged(void **state) {
    (void)state;
    static const struct {
        kind how;
        const char *name;
    } kinds[] = {{PART_OF_THE_STEP, "part of the step"},
                 {OPS_OF_THEIR_OWN, "ops of their own"},
                 {BEFORE_THE_FORWARD, "before the forward"},
                 {NUMBERS, "numbers"},
                 {NAN_WHEN_OFF, "NaN when off"},
                 {EXTREMES, "extremes"},
                 {METRICS, "metrics"},
                 {SIZES, "sizes"},
                 {OTHER_TENSORS, "other tensors"},
                 {ANOTHER_BATCH, "another batch"}};
    for (size_t j = 0; j < sizeof kinds / sizeof kinds[0]; j++)
        try_all(kinds[j].name, (ways){.how = kinds[j].how, .lead = j % 3 != 2});
    try_all("of their own, without the loss", (ways){.how = OPS_OF_THEIR_OWN});
}

static void printed_values(void **state) {
    (void)state;
    for (kind how = PART_OF_THE_STEP; how <= BEFORE_THE_FORWARD; how++)
        try_all("printed", (ways){.how = how, .show = 14, .lead = true});
    try_all("printed, other tensors", (ways){.how = OTHER_TENSORS, .show = 14});
}

static void logged_and_printed(void **state) {
    (void)state;
    try_all("logged and printed", (ways){.how = OPS_OF_THEIR_OWN, .show = 4, .lead = true});
    try_all("printed and logged", (ways){.how = PART_OF_THE_STEP, .show = 10});
}

static void other_loops(void **state) {
    (void)state;
    for (loop l = COMPILED; l <= NO_TRAINING; l++)
        for (int show = 0; show < 2; show++) {
            try_all("other loops", (ways){.how = OPS_OF_THEIR_OWN, .show = show ? 8 : 0, .lead = true, .loop = l});
            try_all("other loops", (ways){.how = OTHER_TENSORS, .show = show ? 8 : 0, .lead = true, .loop = l});
        }
}

/* The report of a new program names the line of what is new in it, also where the program has more. */
static void named(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *opt = xt_sgd(m, .lr = 0.01);
    char line[3][64];
    int found[3] = {0, 0, 0};
    n_new = 0;
    for (int i = 0; i < 12; i++) {
        xt_tensor out = xt_forward(m, xt_ones(XT_F32, BATCH, SIDE)), loss = xt_mean(xt_square(out));
        xt_log("loss", loss);
        snprintf(line[0], sizeof line[0], "test_log_options.c:%d ", __LINE__ + 1);
        if (i % 4 == 1) xt_log("first", xt_sum(xt_square(out)));
        snprintf(line[1], sizeof line[1], "test_log_options.c:%d ", __LINE__ + 1);
        if (i % 4 == 2) xt_log("second", xt_sum(xt_abs(out)));
        snprintf(line[2], sizeof line[2], "test_log_options.c:%d ", __LINE__ + 1);
        if (i % 4 == 3) xt_when_ready(xt_sum(xt_exp(out)), NULL, NULL);
        xt_backward(loss);
        xt_optimizer_step(opt);
        assert_true(xt_mark_step());
    }
    assert_int_equal(n_new, 4);
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < n_new; j++) found[k] += strstr(reasons[j], line[k]) != NULL;
    for (int k = 0; k < 3; k++)
        if (!found[k]) fail_msg("no %s in %s | %s | %s", line[k], reasons[1], reasons[2], reasons[3]);
    assert_int_equal(xt_finish(), 0);
}

/* --- asked for at other lines, and without memory --- */
static int asked, came, told, wrong;
static void expect(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    double *want = user;
    came++;
    wrong += bytes != 4 || fabs(lazy_as_double(data, dtype) - *want) > 1e-4;
    free(want);
}
static double *wanted(double v) {
    double *w = malloc(sizeof *w);
    assert_non_null(w);
    *w = v;
    asked++;
    return w;
}
static void gone(void *user) {
    told++;
    free(user);
}

/* A step of a base of its own for each `number`, asked for what mask says: k times the sum of [number, number]. */
static void ask_step(int number, unsigned mask, bool elsewhere) {
    xt_tensor x = xt_full((double)number, XT_F32, 2), base = xt_sum(xt_tanh(xt_add_scalar(x, (double)number)));
    lazy_request_value(XT_HERE, "base", base, NULL, NULL, NULL);
    for (int k = 1; k < NAMES; k++) {
        if (!(mask >> k & 1)) continue;
        xt_tensor v = xt_mul_scalar(xt_sum(x), (double)k);
        double *want = wanted(2.0 * number * k);
        if (elsewhere && k == 1)
            lazy_request_value(XT_HERE, "there", v, expect, gone, want);
        else
            lazy_request_value(XT_HERE, "here", v, expect, gone, want);
    }
}

/* Programs know no lines: a step that asks for the same values at other lines has the program of one that was
 * given a form. */
static void asked_for_elsewhere(void **state) {
    (void)state;
    static const unsigned masks[] = {0, 2, 4, 8, 6, 10, 12, 14, 6, 14, 10};
    asked = came = wrong = 0;
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
            ask_step(3, masks[i], round > 0 && i % 2 == 0);
            assert_true(xt_mark_step());
        }
    assert_true(xt_wait());
    assert_int_equal(wrong, 0);
    assert_int_equal(came, asked);
    assert_int_equal(xt_finish(), 0);
}

/* The n-th allocation of a step that makes an optional output, a superset, or runs one fails: it is an error of that
 * step, and what the others ask for comes. */
static void without_memory(void **state) {
    (void)state;
    static const unsigned masks[] = {0, 2, 4, 6, 8, 14, 10, 6, 12, 14, 2};
    enum { N = sizeof masks / sizeof masks[0] };
    int failed = 0;
    asked = came = told = wrong = 0;
    xt_set_sink(quiet, NULL);
    for (int at = 1; at < 6; at++)
        for (int64_t n = 1; n < 240; n += n < 40 ? 1 : 7) {
            for (int i = 0; i < N; i++) {
                if (i == at) base_fail_alloc_after(n);
                ask_step((int)(n * 10) + at, masks[i], false);
                bool ok = xt_mark_step();
                base_fail_alloc_after(-1);
                if (!ok && i != at)
                    fail_msg("step %d, allocation %lld in step %d: %s", i, (long long)n, at,
                             xt_status_message(xt_error()));
                failed += !ok;
                xt_clear_error();
                assert_true(xt_wait());
                bool right = i == at ? came + told == asked : came == asked;
                if (wrong || !right)
                    fail_msg("step %d, allocation %lld in step %d: %d values of %d came, %d of them wrong", i,
                             (long long)n, at, came, asked, wrong);
                asked = came = told = 0;
            }
        }
    assert_true(failed > 100);
    assert_int_equal(xt_finish(), 0);
}

int main(void) {
    lazy_on_event(on_event, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logged),        cmocka_unit_test(printed_values), cmocka_unit_test(logged_and_printed),
        cmocka_unit_test(other_loops),   cmocka_unit_test(named),          cmocka_unit_test(asked_for_elsewhere),
        cmocka_unit_test(without_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
