/* Causes of values that are read in the middle of a step. */
#include "causes.h"

static void read_early(void) {
    for (int i = 0; i < 2; i++) {
        xt_tensor s = xt_sum(some(8));
        double v = xt_item(s); /* @read */
        xt_when_ready(xt_mul(s, s), NULL, NULL);
        if (v < 0) puts("never");
        xt_mark_step();
    }
}

/* Each is a value that is read, whatever the other one of the line is. */
static void read_two(void) {
    double sum = 0;
    for (int i = 0; i < 2; i++) {
        xt_tensor x = xt_reshape(some(16), 8, 2);
        sum += xt_item(xt_sum(xt_log_e(xt_add(x, 1)))) + xt_item(xt_sum(xt_cast(xt_gt(x, 0.5), XT_F32))); /* @two */
        xt_mark_step();
    }
    printf("%g\n", sum);
}

static void read_shapes(void) {
    for (int n = 8; n > 6; n--) {
        xt_tensor x = some(n); /* a read of another size each time */
        xt_item(xt_sum(x)); /* @sized */
        xt_mark_step();
    }
}

static void open_step(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    for (int i = 0; i < 2; i++) {
        train_on(m, sgd, xt_reshape(some(16), 8, 2));
        xt_item(xt_sum(xt_module_find(m, "fc.weight"))); /* @open */
    }
}

static void open_state(void) {
    unsetenv("XT_DEBUG");
    xt_tensor state = xt_state("state", XT_F32, 8);
    for (int i = 0; i < 12; i++) {
        xt_assign(state, xt_add(xt_sin(state), some(8)));
        xt_item(xt_sum(state)); /* @decoded */
    }
}

/* Which numbers an op is made with, and not a shape. */
static void places_read(void) {
    unsetenv("XT_DEBUG");
    for (int i = 0; i < 12; i++) xt_item(xt_sum(xt_exp(xt_slice(some(24), 0, i, i + 4)))); /* @window */
}

static xt_tensor doubled(const xt_tensor *in, int n, void *user) {
    (void)n;
    (void)user;
    return xt_mul_scalar(xt_exp(in[0]), 2);
}

/* The first read of what a compiled function gave is no other one. */
static void behind_call(void) {
    xt_step *step = xt_compile(doubled);
    xt_item(xt_sum(xt_call(step, some(8)))); /* @behind */
}

static void own_array_of_read(void) {
    for (int i = 0; i < 2; i++) {
        xt_tensor x = xt_exp(xt_from_array(numbers, XT_F32, 4, 3));
        if (i) x = xt_add(x, xt_from_array(numbers, XT_I64, 3)); /* @own_read */
        xt_item(xt_sum(xt_mul(x, xt_from_array(numbers, XT_F32, 4, 1))));
        xt_mark_step();
    }
}

static xt_tensor dropped(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", xt_dropout(xt_sub(m, "drop", -1), x, 0.25), 3);
}

static void read_mode(void) {
    xt_module *m = xt_module_new(dropped, NULL);
    for (int i = 0; i < 2; i++) {
        if (i) xt_eval(xt_sub(m, "drop", -1)); /* @read_mode */
        xt_item(xt_sum(xt_forward(m, xt_reshape(some(16), 8, 2))));
        xt_mark_step();
    }
}

/* A mode that the value has nothing of. */
static void read_beside_mode(void) {
    xt_module *m = xt_module_new(dropped, NULL);
    for (int i = 0; i < 2; i++) {
        if (i) xt_eval(xt_sub(m, "drop", -1));
        xt_when_ready(xt_forward(m, xt_reshape(some(16), 8, 2)), NULL, NULL);
        xt_item(xt_sum(xt_exp(some(8 - i))));
        xt_mark_step();
    }
}

/* The program of the read is no evaluation yet. */
static void evaluation_read(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    backward(m, 8);
    xt_optimizer_step(sgd);
    xt_mark_step();
    xt_eval(m);
    xt_tensor y = xt_sum(xt_forward(m, xt_reshape(some(16), 8, 2)));
    xt_item(y);
    xt_when_ready(xt_exp(y), NULL, NULL);
    xt_mark_step();
}

static void read_cast(void) {
    xt_module *m = xt_module_new(net, NULL);
    for (int i = 0; i < 2; i++) {
        if (i) xt_autocast_begin(XT_BF16); /* @read_cast */
        xt_tensor y = xt_forward(m, xt_reshape(some(16), 8, 2));
        if (i) xt_autocast_end();
        xt_item(xt_sum(y));
        xt_mark_step();
    }
}

static void read_window(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    for (int i = 0; i < 4; i++) {
        backward(m, 8);
        xt_item(xt_sum(xt_grad(xt_module_find(m, "fc.bias"))));
        if (i % 2) xt_optimizer_step(sgd);
        xt_mark_step();
    }
}

static void lengths_read(void) {
    for (int i = 0; i < 3; i++) xt_item(xt_sum(xt_exp(xt_slice(some(16), 0, 0, 5 + i)))), xt_mark_step(); /* @long */
}

static char told[1 << 16];
static void hear(xt_severity severity, const char *text, size_t n, void *user) {
    (void)severity, (void)user;
    size_t have = strlen(told);
    if (have + n < sizeof told) memcpy(told + have, text, n), told[have + n] = 0;
}

static void eager_reads(void) {
    setenv("XT_DEBUG", "eager", 1);
    xt_set_sink(hear, NULL);
    xt_module *m = xt_module_new(deeper, &(int){1});
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    for (int n = 4; n < 16; n++) {
        train_on(m, sgd, xt_exp(xt_sin(xt_cos(xt_reshape(some(2 * n), n, 2)))));
        xt_mark_step();
    }
    xt_set_sink(NULL, NULL);
    bool reads = strstr(told, "reads in a row") || strstr(told, "reads a value");
    printf("eager told %s of reads\n", reads ? told : "nothing");
}

const cause causes_reads[] = {{"read", read_early},
                              {"read_two", read_two},
                              {"read_shape", read_shapes},
                              {"open", open_step},
                              {"open_state", open_state},
                              {"places", places_read},
                              {"behind", behind_call},
                              {"own_read", own_array_of_read},
                              {"read_mode", read_mode},
                              {"beside_mode", read_beside_mode},
                              {"evaluation", evaluation_read},
                              {"read_cast", read_cast},
                              {"read_window", read_window},
                              {"lengths_read", lengths_read},
                              {"eager", eager_reads},
                              {NULL, NULL}};
