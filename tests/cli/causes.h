/* What the programs of causes.c, causes_reads.c and causes_learning.c share. Each provokes one cause of a compile or an
 * execution, alone: causes NAME. The lines that reports must name carry a mark (causes.sh looks them up). */
#ifndef TESTS_CLI_CAUSES_H
#define TESTS_CLI_CAUSES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xtrain/xtrain.h>

typedef struct cause {
    const char *name; /* NULL ends a list */
    void (*fn)(void);
} cause;
extern const cause causes_reads[], causes_learning[];

static float numbers[64] = {3, 1, 4, 1, 5, 9, 2, 6};
static __attribute__((unused)) xt_tensor some(int n) {
    return xt_from_data(numbers, XT_F32, 1, ((const int64_t[]){n}));
}

static __attribute__((unused)) xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    return user ? x : xt_linear(m, "fc", x, 3);
}

static __attribute__((unused)) void backward(xt_module *m, int n) {
    xt_backward(xt_mean(xt_square(xt_forward(m, xt_reshape(some(2 * n), n, 2)))));
}

static __attribute__((unused)) void train_on(xt_module *m, xt_optimizer *o, xt_tensor x) {
    xt_backward(xt_mean(xt_square(xt_forward(m, x))));
    xt_optimizer_step(o);
}

static __attribute__((unused)) xt_tensor deeper(xt_module *m, xt_tensor x, void *user) {
    const int *deep = user;
    if (*deep) x = xt_linear(m, "mid", x, 2); /* @mid */
    return xt_linear(m, "fc", x, 3);
}

#endif
