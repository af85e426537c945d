/* Each number of each public function that numbers.def lists as data: steps that each give another one run at most one
 * program more than steps that all give the same, and compute what programs with that number as a constant do. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "base/base.h"
#include "lazy/lazy.h"

enum { ROWS = 4, COLUMNS = 6, STEPS = 4, MOST = 4096 };
static const float values[ROWS * COLUMNS] = {-2,    -0.75f, -0.1f, 0.3f, 1.25f, 4,     0.5f, -1.5f,
                                             0.2f,  0.9f,   -0.4f, 1,    2.5f,  -3,    0.7f, 1.1f,
                                             -0.6f, 0.1f,   -1.2f, 0.8f, 3,     -2.2f, 0.6f, -0.9f};
static const int64_t labels[ROWS] = {2, 0, 3, 1};

/* --- what the expressions are made of --- */
typedef struct row_input {
    xt_module *m;
    xt_tensor x;
    double v;
    int64_t whole;
} row_input;

#define after(before, then) ((void)(before), (then))

static xt_tensor other(void) {
    float z[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) z[i] = 0.25f + 0.125f * (float)((i * 5) % 11);
    return xt_from_array(z, XT_F32, ROWS, COLUMNS);
}

/* Counts and edges. */
static xt_tensor histogram(xt_tensor x, double lo, double hi) {
    xt_tensor of[2];
    xt_histogram(x, 4, &of[0], &of[1], .lo = lo, .hi = hi);
    return xt_concat(2, of, 0);
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "l", x, 2);
}

typedef enum change {
    CLIP_NORM,
    CLIP_MODULE_NORM,
    CLIP_TYPE,
    CLIP_MODULE_TYPE,
    NORM_TYPE,
    CLIP_VALUE,
    CLIP_MODULE_VALUE,
    SET_LR,
    SET_GROUP_LR,
    SET_MOMENTUM
} change;
static xt_optimizer *optimizer; /* of the row's module */

static xt_tensor stepped(xt_module *m, xt_tensor x, double v, change what) {
    if (!optimizer) optimizer = xt_sgd(m, .lr = 0.1, .momentum = 0.5);
    xt_backward(xt_mean(xt_square(xt_forward(m, x))));
    switch (what) {
    case CLIP_NORM: xt_clip_grad_norm(optimizer, v); break;
    case CLIP_MODULE_NORM: xt_module_clip_grad_norm(m, v); break;
    case CLIP_TYPE: xt_clip_grad_norm(optimizer, 1e-3, .norm_type = 1 + v); break;
    case CLIP_MODULE_TYPE: xt_module_clip_grad_norm(m, 1e-3, .norm_type = 1 + v); break;
    case NORM_TYPE: xt_when_ready(xt_grad_norm(optimizer, .norm_type = 1 + v), NULL, NULL); break;
    case CLIP_VALUE: xt_clip_grad_value(optimizer, v); break;
    case CLIP_MODULE_VALUE: xt_module_clip_grad_value(m, v); break;
    case SET_LR: xt_optimizer_set_lr(optimizer, v); break;
    case SET_GROUP_LR: xt_optimizer_set_group_lr(optimizer, 0, v); break;
    case SET_MOMENTUM: xt_optimizer_set_momentum(optimizer, v); break;
    }
    xt_optimizer_step(optimizer);
    return xt_module_find(m, "l.weight");
}

static xt_module *average; /* of the row's module */

static xt_tensor averaged(xt_module *m, xt_tensor x, double v) {
    stepped(m, x, 0.1, SET_LR);
    if (!average) average = xt_ema(m);
    xt_ema_update(average, m, v);
    return xt_module_find(average, "l.weight");
}

/* --- the rows --- */
typedef enum row_kind { PLAIN, RANDOM, UPDATE } row_kind;
#define ROW_FUNCTION(function, number, ...)                                                                  \
    static xt_tensor row_##function##_##number(const row_input *in) {                                        \
        xt_module *m = in->m;                                                                                \
        double v = in->v;                                                                                    \
        int64_t whole = in->whole;                                                                           \
        xt_tensor x = in->x, z = other(), y = xt_from_array(labels, XT_I64, ROWS),                           \
                  image = xt_reshape(x, 1, 1, ROWS, COLUMNS), tokens = xt_reshape(x, ROWS, 1, COLUMNS),      \
                  channels = xt_reshape(x, 1, ROWS, COLUMNS), across = xt_transpose(z, 0, 1);                \
        (void)m, (void)v, (void)whole, (void)x, (void)z, (void)y, (void)image, (void)tokens, (void)channels; \
        (void)across;                                                                                        \
        return __VA_ARGS__;                                                                                  \
    }
#define NUMBER ROW_FUNCTION
#define DRAWN ROW_FUNCTION
#define UPDATED ROW_FUNCTION
#define PLACE ROW_FUNCTION
#define DRAWN_PLACE ROW_FUNCTION
#define NO_DATA(function, number, why)
#include "numbers.def"
#undef NUMBER
#undef DRAWN
#undef UPDATED
#undef PLACE
#undef DRAWN_PLACE

typedef struct row {
    const char *name;
    xt_tensor (*make)(const row_input *in);
    row_kind kind;
} row;
#define NUMBER(function, number, ...)                           \
    { #function " " #number, row_##function##_##number, PLAIN } \
    ,
#define DRAWN(function, number, ...) {#function " " #number, row_##function##_##number, RANDOM},
#define PLACE NUMBER
#define DRAWN_PLACE DRAWN
#define UPDATED(function, number, ...) {#function " " #number, row_##function##_##number, UPDATE},
static const row rows[] = {
#include "numbers.def"
};

/* --- running them --- */
typedef struct under_test {
    const row *r;
    row_input in;
} under_test;

static xt_tensor call_row(xt_module *m, xt_tensor x, void *user) {
    under_test *t = user;
    t->in.m = m;
    t->in.x = x;
    return t->r->make(&t->in);
}

/* One step; what it computes is read behind it. */
static size_t step(under_test *t, xt_module *m, float out[static MOST]) {
    xt_tensor x = xt_from_array(values, XT_F32, ROWS, COLUMNS);
    xt_tensor y = t->r->kind == UPDATE ? call_row(m, x, t) : xt_forward(m, x);
    int64_t n = lazy_type(y) ? lazy_type(y)->count : MOST + 1;
    if (xt_error()) fail_msg("%s: %s", t->r->name, xt_status_message(xt_error()));
    if (n > MOST) fail_msg("%s: %lld elements", t->r->name, (long long)n);
    xt_tensor kept = xt_keep(xt_neg(xt_cast(y, XT_F32)));
    if (!xt_mark_step()) fail_msg("%s: %s", t->r->name, xt_status_message(xt_error()));
    assert_true(xt_read(kept, out, (size_t)n * sizeof *out));
    xt_drop(kept);
    return (size_t)n;
}

/* `apart`: each step's number is at a place of its own, where it is a constant. */
static int64_t run(const row *r, bool apart, float out[STEPS][MOST], size_t *n) {
    under_test t = {.r = r};
    xt_seed(5);
    xt_module *m = xt_module_new(r->kind == UPDATE ? net : call_row, &t);
    int64_t before = xt_counter("compiles");
    for (int s = 0; s < STEPS; s++) {
        char path[32];
        snprintf(path, sizeof path, "number %d", s);
        t.in.v = 0.05 + 0.2 * s;
        t.in.whole = s;
        if (apart) lazy_path_push(path);
        *n = step(&t, m, out[s]);
        if (apart) lazy_path_pop();
    }
    if (optimizer) xt_optimizer_free(optimizer);
    optimizer = NULL;
    if (average) xt_module_free(average);
    average = NULL;
    xt_module_free(m);
    return xt_counter("compiles") - before;
}

static void each_number(void **state) {
    (void)state;
    int failed = 0;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        static float data[STEPS][MOST], constant[STEPS][MOST];
        size_t n = 0;
        int64_t programs = run(&rows[i], false, data, &n);
        if (programs > 2) {
            failed++;
            print_error("%s: %lld programs for %d numbers\n", rows[i].name, (long long)programs, STEPS);
        }
        if (rows[i].kind == RANDOM) continue;
        run(&rows[i], true, constant, &n);
        for (size_t k = 0; k < STEPS * n; k++) {
            double got = data[k / n][k % n], want = constant[k / n][k % n];
            if (fabs(got - want) <= 2e-5 * (1 + fabs(want)) || (isnan(got) && isnan(want)) || got == want) continue;
            failed++;
            print_error("%s: step %zu, element %zu is %g, with a constant %g\n", rows[i].name, k / n, k % n, got, want);
            break;
        }
    }
    assert_int_equal(failed, 0);
}

/* Ways through a layer that p = 0 and p = 1 have as constants are none when p moves. */
static char notices[1000];
static void note(xt_severity severity, const char *text, size_t n, void *user) {
    (void)severity, (void)user;
    size_t have = strlen(notices);
    if (n > sizeof notices - 1 - have) n = sizeof notices - 1 - have;
    memcpy(notices + have, text, n);
    notices[have + n] = 0;
}
static xt_tensor dropped(int kind, xt_module *m, xt_tensor x, double p) {
    return kind == 0   ? xt_dropout(m, x, p)
           : kind == 1 ? xt_dropout1d(m, x, p)
           : kind == 2 ? xt_alpha_dropout(m, x, p)
                       : xt_feature_alpha_dropout(m, x, p);
}
static xt_tensor nothing(xt_module *m, xt_tensor x, void *user) {
    (void)m, (void)user;
    return x;
}
static void dropout_from_none_to_all(void **state) {
    (void)state;
    static const char *const names[] = {"xt_dropout", "xt_dropout1d", "xt_alpha_dropout", "xt_feature_alpha_dropout"};
    static const double p[] = {0, 0.25, 0.5, 1, 0};
    for (int kind = 0; kind < 4; kind++) {
        xt_module *m = xt_module_new(nothing, NULL);
        int64_t before = xt_counter("compiles");
        char named[64];
        notices[0] = 0;
        xt_set_sink(note, NULL);
        for (int s = 0; s < 5; s++) {
            float out[ROWS * COLUMNS];
            xt_tensor x = xt_from_array(values, XT_F32, 1, ROWS, COLUMNS);
            xt_tensor y = xt_keep(xt_add(dropped(kind, m, x, p[s]), 1));
            assert_true(xt_mark_step());
            assert_true(xt_read(y, out, sizeof out));
            xt_drop(y);
            int zeros = 0, same = 0;
            for (int i = 0; i < ROWS * COLUMNS; i++)
                zeros += out[i] == 1, same += fabsf(out[i] - 1 - values[i]) < 1e-6f;
            if (p[s] == 0) assert_int_equal(same, ROWS * COLUMNS);
            if (p[s] == 1) assert_int_equal(zeros, ROWS * COLUMNS);
            if (p[s] > 0 && p[s] < 1) assert_true(same < ROWS * COLUMNS && zeros < ROWS * COLUMNS);
        }
        xt_set_sink(NULL, NULL);
        if (xt_counter("compiles") - before > 2)
            fail_msg("%s: %lld programs", names[kind], (long long)(xt_counter("compiles") - before));
        snprintf(named, sizeof named, "the number of %s changed from 0 to 0.25", names[kind]);
        if (!strstr(notices, named) || strstr(strstr(notices, named) + 1, "the number of"))
            fail_msg("%s: told \"%s\"", names[kind], notices);
        xt_module_free(m);
        assert_true(xt_mark_step());
    }
}

static int end(void **state) {
    (void)state;
    return xt_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_number), cmocka_unit_test(dropout_from_none_to_all)};
    return cmocka_run_group_tests(tests, NULL, end);
}
