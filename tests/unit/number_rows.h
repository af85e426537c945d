/* The rows of numbers.def as functions: one tensor of a module's pass in which a number is v, or `whole`. */
#ifndef XT_TESTS_UNIT_NUMBER_ROWS_H
#define XT_TESTS_UNIT_NUMBER_ROWS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "base/base.h"
#include "lazy/lazy.h"

enum { ROWS = 4, COLUMNS = 6, MOST = 4096 };
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

static int bits(double v) {
    return (int)(20 * fmin(fmax(v, -8), 8));
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
typedef enum row_kind { PLAIN, ROUND, RANDOM, UPDATE } row_kind;
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
#define ROUNDED ROW_FUNCTION
#define DRAWN ROW_FUNCTION
#define UPDATED ROW_FUNCTION
#define PLACE ROW_FUNCTION
#define DRAWN_PLACE ROW_FUNCTION
#define NO_DATA(function, number, why)
#include "numbers.def"
#undef NUMBER
#undef ROUNDED
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
#define ROUNDED(function, number, ...) {#function " " #number, row_##function##_##number, ROUND},
#define PLACE NUMBER
#define DRAWN_PLACE DRAWN
#define UPDATED(function, number, ...) {#function " " #number, row_##function##_##number, UPDATE},
static const row rows[] = {
#include "numbers.def"
};

/* --- calling them --- */
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

static xt_module *row_module(under_test *t) {
    return xt_module_new(t->r->kind == UPDATE ? net : call_row, t);
}

/* What the row makes of x. */
static xt_tensor row_result(under_test *t, xt_module *m, xt_tensor x) {
    return t->r->kind == UPDATE ? call_row(m, x, t) : xt_forward(m, x);
}

static void row_end(xt_module *m) {
    if (optimizer) xt_optimizer_free(optimizer);
    optimizer = NULL;
    if (average) xt_module_free(average);
    average = NULL;
    xt_module_free(m);
}

#endif
