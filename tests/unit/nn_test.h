/* What the tests of modules share. */
#ifndef XT_TESTS_NN_TEST_H
#define XT_TESTS_NN_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "nn/nn.h"
#include <xtrain/xtrain.h>

enum { MANY = 64 * 1024 };

static inline void ok(xt_status s) {
    if (s) fail_msg("%s", xt_status_message(s));
}

static inline void finish(void) {
    static const char *const kinds[] = {"tensor", "buffer", "executable", "graph", "module", "optimizer"};
    assert_int_equal(xt_finish(), 0);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (xt_live_objects(kinds[i]) != 0)
            fail_msg("%lld %s objects are alive", (long long)xt_live_objects(kinds[i]), kinds[i]);
}

/* The pending error holds every one of the texts; forgets it. */
static inline void error_says(const char *a, const char *b) {
    const char *text = xt_error() ? xt_status_message(xt_error()) : "no error";
    if (!strstr(text, a) || !strstr(text, b)) fail_msg("\"%s\", expected \"%s\" and \"%s\"", text, a, b);
    xt_clear_error();
}

typedef struct moments {
    double mean, std, least, most;
    int64_t n;
    float v[MANY];
} moments;

static inline moments *read(const xt_module *m, const char *name) {
    static moments r;
    xt_tensor t = xt_module_find(m, name);
    r.n = xt_numel(t);
    assert_true(r.n > 0 && r.n <= MANY);
    ok(lazy_state_read(t, r.v, (size_t)r.n * sizeof *r.v));
    double sum = 0, squares = 0;
    r.least = INFINITY;
    r.most = -INFINITY;
    for (int64_t i = 0; i < r.n; i++) {
        sum += r.v[i];
        squares += (double)r.v[i] * r.v[i];
        r.least = fmin(r.least, r.v[i]);
        r.most = fmax(r.most, r.v[i]);
    }
    r.mean = sum / (double)r.n;
    r.std = sqrt(squares / (double)r.n - r.mean * r.mean);
    return &r;
}

/* Its parameters made for an input [1,width]. */
static inline xt_module *built(xt_module_fn fn, int64_t width) {
    xt_module *m = xt_module_new(fn, NULL);
    ok(xt_module_build(m, (xt_spec){XT_F32, {1, width}}));
    assert_true(xt_mark_step());
    return m;
}

#endif
