/* What a step costs the host.
 *
 *     dispatch_bench [STEPS]
 *
 * A step of ten operations on eight numbers: recording them, the key, the boundary, replaying a known program, and the
 * whole step with its value read, implicitly and as a compiled step function. The device is XT_DEVICE's. Prints median
 * and best, in microseconds; on a loaded machine believe the best. */
#include <stdio.h>
#include <stdlib.h>

#include "lazy/program/program.h"
#include <xtrain/xtrain.h>

enum { OPS = 10, PLACES = 100, MOST = 200000 };
static double us[MOST];
static int n_us;

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void note(int64_t ns) {
    if (n_us < MOST) us[n_us++] = (double)ns / 1e3;
}

static void row(const char *what, double per) {
    qsort(us, (size_t)n_us, sizeof *us, by_value);
    printf("%-58s %9.3f %9.3f %9.3f\n", what, us[n_us / 2] / per, us[0] / per, us[n_us - 1 - n_us / 100] / per);
    n_us = 0;
}

/* x/2+1 five times: the value stays near 2. */
static xt_tensor ten(xt_tensor x) {
    for (int i = 0; i < OPS / 2; i++) x = xt_add(xt_mul(x, x), x);
    return x;
}

static xt_tensor step_fn(const xt_tensor *in, int n, void *user) {
    (void)n;
    (void)user;
    return ten(in[0]);
}

static xt_tensor scalar_of(float v) {
    return xt_from_data(&v, XT_F32, 0, NULL);
}

static void check(void) {
    if (!xt_error()) return;
    fprintf(stderr, "dispatch_bench: %s\n", xt_status_message(xt_error()));
    exit(1);
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 10000;
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 0);
    if (steps < 100 || steps > MOST) steps = 10000;
    float zeros[8] = {0};
    lazy_ctx *c = lazy_ctx_get();
    xt_tensor x = xt_keep(xt_from_array(zeros, XT_F32, 8)), s = xt_keep(scalar_of(0));
    for (int i = 0; i < 50; i++) { /* compile, and warm up */
        xt_item(ten(s));
        xt_when_ready(ten(x), NULL, NULL);
        xt_mark_step();
    }
    xt_wait();
    check();
    printf("%-58s %9s %9s %9s\n", "microseconds", "median", "best", "p99");

    src_id last = 0;
    for (int i = 0; i < steps; i++) {
        int64_t t = clock_ns();
        for (int k = 0; k < PLACES; k++) last ^= src_intern(XT_HERE);
        note(clock_ns() - t);
    }
    if (last) fprintf(stderr, "dispatch_bench: one place has two numbers\n");
    row("the number of a known source line", PLACES);

    for (int i = 0; i < steps; i++) {
        int64_t t = clock_ns();
        ten(x);
        note(clock_ns() - t);
        xt_mark_step();
    }
    row("recording one op (xt_add, xt_mul)", OPS);

    for (int i = 0; i < steps; i++) {
        xt_tensor y = ten(x);
        ir_value *v = lazy_slot_of(c, y)->value;
        int32_t none = -1;
        lazy_roots r = {
            .n = 1, .cap = 1, .values = &v, .alias_leaf = &none, .requesters = &(lazy_requester){"bench", 0}};
        hash128 key;
        lazy_node *nodes;
        size_t n;
        int64_t t = clock_ns();
        xt_status_free(lazy_key(c, &r, &key, &nodes, &n));
        note(clock_ns() - t);
        base_free(nodes);
        xt_mark_step();
    }
    row("the key of ten ops", 1);

    for (int i = 0; i < steps; i++) {
        ten(x);
        int64_t t = clock_ns();
        xt_mark_step();
        note(clock_ns() - t);
    }
    row("xt_mark_step with nothing to run", 1);

    for (int i = 0; i < steps; i++) {
        xt_when_ready(ten(x), NULL, NULL);
        int64_t t = clock_ns();
        xt_mark_step();
        note(clock_ns() - t);
        xt_wait();
    }
    row("xt_mark_step that starts a known program, idle device", 1);

    for (int i = 0; i < steps; i++) {
        int64_t t = clock_ns();
        xt_tensor y = xt_keep(ten(s));
        xt_mark_step();
        xt_item(y);
        xt_drop(y);
        note(clock_ns() - t);
    }
    row("step of ten ops: record, xt_mark_step, read", 1);

    for (int i = 0; i < steps; i++) {
        int64_t t = clock_ns();
        xt_item(ten(s));
        xt_mark_step();
        note(clock_ns() - t);
    }
    row("step of ten ops: record, xt_item, xt_mark_step", 1);

    xt_step *f = xt_compile(step_fn);
    xt_call(f, s);
    for (int i = 0; i < steps; i++) {
        int64_t t = clock_ns();
        xt_call(f, s);
        note(clock_ns() - t);
        xt_wait();
    }
    row("xt_call alone, idle device", 1);

    for (int i = 0; i < steps; i++) {
        int64_t t = clock_ns();
        xt_item(xt_call(f, s));
        xt_mark_step();
        note(clock_ns() - t);
    }
    row("step of ten ops: xt_call, read, xt_mark_step", 1);
    check();
    return xt_finish();
}
