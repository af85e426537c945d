/* Compiled step functions: a replay does everything the recorded call did, and a call that differs is recorded again.
 * Each test ends with xt_finish and no live object. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "metrics/log.h"
#include <xtrain/xtrain.h>

static int64_t count(const char *name) {
    return xt_counter(name);
}

static void nothing_left(void) {
    static const char *const kinds[] = {"tensor", "buffer",    "executable", "client",  "graph",
                                        "module", "optimizer", "loader",     "dataset", "step"};
    assert_int_equal(xt_finish(), 0);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (xt_live_objects(kinds[i]) != 0)
            fail_msg("%lld %s objects are alive", (long long)xt_live_objects(kinds[i]), kinds[i]);
}

static void expect_error(const char *words, const char *also) {
    const char *text = xt_error() ? xt_status_message(xt_error()) : "no error";
    if (!strstr(text, words) || !strstr(text, also)) fail_msg("expected \"%s\" and \"%s\" in: %s", words, also, text);
    xt_clear_error();
}

/* --- the same training, with and without --- */
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_relu(xt_max_pool2d(xt_conv2d(m, "conv1", x, 4, 3), 2));
    x = xt_batch_norm(m, "bn1", x);
    x = xt_dropout(m, xt_relu(xt_linear(m, "fc1", xt_flatten(x, 1), 16)), 0.25);
    return xt_log_softmax(xt_linear(m, "fc2", x, 3), 1);
}

enum { STEPS = 50, SIDE = 10, SAMPLES = 64 };
static xt_loader *data(int64_t batch) {
    static float x[SAMPLES][SIDE * SIDE];
    static int64_t y[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        for (int k = 0; k < SIDE * SIDE; k++) x[i][k] = sinf((float)(i * 31 + k));
        y[i] = i % 3;
    }
    return xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {1, SIDE, SIDE}}, y, (xt_spec){XT_I64, {0}}, SAMPLES),
                         .batch = batch);
}

typedef struct trainer {
    xt_module *net;
    xt_optimizer *opt;
    bool accumulate; /* no optimizer step */
    int runs;
} trainer;

static xt_tensor train_step(const xt_tensor *in, int n, void *user) {
    trainer *t = user;
    assert_int_equal(n, 2);
    t->runs++;
    xt_tensor loss = xt_nll_loss(xt_forward(t->net, in[0]), in[1]);
    xt_log("loss", loss);
    xt_log("twice", xt_mul_scalar(loss, 2), .reduce = XT_MAX);
    xt_backward(loss);
    if (!t->accumulate) xt_optimizer_step(t->opt);
    return loss;
}

typedef struct rows {
    int n;
    int64_t begin; /* optimizer steps of the process before this training */
    double step[STEPS], loss[STEPS], twice[STEPS];
} rows;

static void row(void *user, const log_row *r) {
    rows *all = user;
    if (all->n >= STEPS) return;
    all->step[all->n] = (double)(r->step - all->begin);
    for (size_t i = 0; i < r->n; i++) {
        if (strcmp(r->values[i].name, "loss") == 0) all->loss[all->n] = r->values[i].value;
        if (strcmp(r->values[i].name, "twice") == 0) all->twice[all->n] = r->values[i].value;
    }
    all->n++;
}

typedef struct outcome {
    double loss[STEPS], running_mean[4];
    int64_t optimizer_steps, tracked, steps;
    rows rows;
} outcome;

/* accumulate: an optimizer step every second batch. */
static void train(bool compiled, bool adam, bool accumulate, outcome *o) {
    memset(o, 0, sizeof *o);
    xt_seed(7);
    trainer t = {.net = xt_module_new(net, NULL)}, micro = {.accumulate = true};
    t.opt = adam ? xt_adamw(t.net, .lr = 0.01) : xt_sgd(t.net, .lr = 0.05, .momentum = 0.9);
    micro.net = t.net;
    xt_step *whole = xt_compile(train_step, .user = &t, .name = "train"),
            *part = xt_compile(train_step, .user = &micro, .name = "micro");
    xt_loader *l = data(16);
    xt_log_every_n_steps(5);
    log_sink sink = {.row = row, .user = &o->rows};
    log_add_sink(&sink);
    o->rows.begin = count("optimizer_steps");
    int64_t compiles = count("compiles"), before = count("steps");
    int i = 0;
    while (i < STEPS)
        for (xt_batch b; i < STEPS && xt_next(l, &b); i++) {
            bool ends = !accumulate || i % 2 == 1;
            xt_optimizer_set_lr(t.opt, 0.01 / (1 + i / 7));
            xt_tensor in[2] = {b.x, b.y}, loss;
            if (compiled)
                loss = xt_call(ends ? whole : part, b.x, b.y);
            else
                loss = train_step(in, 2, ends ? &t : &micro);
            o->loss[i] = xt_item(loss);
        }
    assert_true(xt_mark_step());
    assert_true(xt_wait());
    o->optimizer_steps = xt_optimizer_steps(t.opt);
    o->steps = count("steps") - before;
    assert_true(xt_read(xt_module_find(t.net, "bn1.num_batches_tracked"), &o->tracked, sizeof o->tracked));
    float mean[4];
    assert_true(xt_read(xt_module_find(t.net, "bn1.running_mean"), mean, sizeof mean));
    for (int k = 0; k < 4; k++) o->running_mean[k] = mean[k];
    log_drain();
    log_remove_sink(&sink);
    if (compiled) {
        assert_int_equal(t.runs, 1);
        assert_int_equal(xt_step_traces(whole), 1);
        assert_int_equal(xt_step_programs(whole), 1);
        assert_int_equal(xt_step_replays(whole), accumulate ? STEPS / 2 - 1 : STEPS - 1);
        assert_int_equal(count("compiles") - compiles, accumulate ? 2 : 1);
        assert_string_equal(xt_step_reason(whole), "first call");
    }
    nothing_left();
}

static void same(const outcome *a, const outcome *b) {
    for (int i = 0; i < STEPS; i++)
        if (a->loss[i] != b->loss[i])
            fail_msg("step %d: loss %.9g without, %.9g with xt_compile", i, a->loss[i], b->loss[i]);
    assert_true(a->loss[STEPS - 1] < a->loss[0]);
    assert_memory_equal(a->running_mean, b->running_mean, sizeof a->running_mean);
    assert_int_equal(a->optimizer_steps, b->optimizer_steps);
    assert_int_equal(a->tracked, b->tracked);
    assert_int_equal(a->steps, b->steps);
    assert_int_equal(a->rows.n, b->rows.n);
    assert_true(a->rows.n > 2);
    assert_memory_equal(a->rows.step, b->rows.step, sizeof a->rows.step);
    assert_memory_equal(a->rows.loss, b->rows.loss, sizeof a->rows.loss);
    assert_memory_equal(a->rows.twice, b->rows.twice, sizeof a->rows.twice);
}

static void equals_the_loop(void **state) {
    (void)state;
    static outcome a, b;
    for (int k = 0; k < 4; k++) {
        train(false, k % 2, k / 2, &a);
        train(true, k % 2, k / 2, &b);
        same(&a, &b);
    }
}

/* --- what makes a recording again --- */
static xt_tensor twice(const xt_tensor *in, int n, void *user) {
    if (user) ++*(int *)user;
    xt_tensor y = in[0];
    for (int i = 1; i < n; i++) y = xt_mul(y, in[i]);
    return xt_sum(xt_mul_scalar(y, 2));
}

static xt_tensor ones(int n, float v) {
    float a[8];
    for (int i = 0; i < n; i++) a[i] = v;
    return xt_from_array(a, XT_F32, n);
}

static void shapes_alternate(void **state) {
    (void)state;
    int runs = 0;
    xt_step *f = xt_compile(twice, .user = &runs);
    int64_t compiles = count("compiles");
    for (int i = 0; i < 10; i++) {
        int n = i % 2 ? 3 : 5;
        assert_true(xt_item(xt_call(f, ones(n, (float)i))) == 2.0 * n * i);
    }
    assert_int_equal(count("compiles") - compiles, 2);
    assert_int_equal(xt_step_programs(f), 2);
    assert_int_equal(xt_step_replays(f), 8);
    assert_int_equal(runs, 2);
    assert_non_null(strstr(xt_step_reason(f), "tensor<3xf32> instead of tensor<5xf32>"));
    nothing_left();
}

/* The same tensor twice at the recording, two different ones later; a tensor of the loop's own step, and one that is
 * recorded only. */
static void inputs_are_values(void **state) {
    (void)state;
    xt_step *f = xt_compile(twice);
    xt_tensor a = xt_keep(ones(4, 3));
    assert_true(xt_item(xt_call(f, a, a)) == 2 * 4 * 9);
    assert_true(xt_item(xt_call(f, a, ones(4, 5))) == 2 * 4 * 15);
    xt_tensor b = ones(4, 2), c = xt_add(b, a); /* 5 */
    assert_true(xt_item(xt_call(f, c, b)) == 2 * 4 * 10);
    /* b has its value and lives on; so does c, which an input made one */
    assert_true(xt_item(xt_call(f, b, b)) == 2 * 4 * 4);
    assert_true(xt_item(xt_call(f, c, a)) == 2 * 4 * 15);
    assert_int_equal(xt_step_traces(f), 1);
    assert_true(xt_mark_step());
    assert_true(xt_is_error(c));
    xt_drop(a);
    nothing_left();
}

static xt_tensor predict(const xt_tensor *in, int n, void *user) {
    (void)n;
    return xt_forward(user, in[0]);
}

static void modes(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL);
    xt_step *f = xt_compile(predict, .user = m);
    xt_loader *l = data(16);
    int64_t compiles = count("compiles");
    double eval_first = NAN;
    for (int e = 0; e < 4; e++) {
        xt_batch b;
        xt_loader_set_epoch(l, 0, 0);
        xt_train(m);
        assert_true(xt_next(l, &b));
        xt_call(f, b.x);
        xt_eval(m);
        double v = xt_item(xt_sum(xt_call(f, b.x)));
        if (e) assert_true(v != eval_first); /* the statistics moved on */
        eval_first = v;
        xt_no_grad_begin();
        xt_call(f, b.x);
        xt_no_grad_end();
    }
    assert_int_equal(xt_step_traces(f), 3);
    assert_int_equal(xt_step_programs(f), 2); /* without gradients asked for, no_grad is the same program */
    assert_int_equal(xt_step_replays(f), 9);
    assert_int_equal(count("compiles") - compiles, 3); /* the read is one */
    nothing_left();
}

static xt_tensor grows(const xt_tensor *in, int n, void *user) {
    (void)n;
    xt_tensor *held = user;
    *held = xt_keep(xt_add_scalar(in[0], 1));
    return xt_mul_scalar(*held, 10);
}

static void kept_inside(void **state) {
    (void)state;
    xt_tensor held = {0};
    xt_step *f = xt_compile(grows, .user = &held);
    assert_true(xt_item(xt_call(f, ones(1, 1))) == 20);
    assert_true(xt_item(held) == 2);
    assert_true(xt_item(xt_call(f, ones(1, 5))) == 60);
    assert_true(xt_item(held) == 6); /* the newest call's value */
    assert_int_equal(xt_step_traces(f), 1);
    xt_drop(held);
    assert_true(xt_item(xt_call(f, ones(1, 6))) == 70);
    assert_int_equal(xt_step_traces(f), 2);
    assert_non_null(strstr(xt_step_reason(f), "is gone"));
    assert_true(xt_item(held) == 7);
    xt_drop(held);
    nothing_left();
}

static void program_limit(void **state) {
    (void)state;
    xt_step *f = xt_compile(twice, .name = "small", .max_programs = 1);
    assert_true(xt_item(xt_call(f, ones(2, 1))) == 4);
    xt_tensor t = xt_call(f, ones(3, 1));
    assert_true(xt_is_error(t));
    expect_error("small has 1 programs and needs another", "input 0 is tensor<3xf32> instead of tensor<2xf32>");
    assert_true(xt_item(xt_call(f, ones(2, 3))) == 12);
    nothing_left();
}

/* --- data from the host --- */
static xt_tensor scaled(const xt_tensor *in, int n, void *user) {
    (void)n;
    return xt_mul(in[0], xt_scalar_ref((const double *)user, XT_F32));
}
static xt_tensor fixed(const xt_tensor *in, int n, void *user) {
    (void)n;
    return xt_mul(in[0], xt_scalar(*(const double *)user, XT_F32));
}
static xt_tensor drawn(const xt_tensor *in, int n, void *user) {
    (void)n;
    (void)user;
    return xt_add(in[0], xt_rand(XT_F32, 1));
}

static void numbers(void **state) {
    (void)state;
    double v = 0;
    xt_step *f = xt_compile(scaled, .user = &v), *g = xt_compile(fixed, .user = &v), *h = xt_compile(drawn);
    int64_t compiles = count("compiles");
    double last = -1;
    for (v = 1; v < 6; v++) {
        xt_tensor x = ones(1, 3);
        assert_true(xt_item(xt_call(f, x)) == 3 * v);
        assert_true(xt_item(xt_call(g, x)) == 3 * v);
        double r = xt_item(xt_call(h, x));
        assert_true(r >= 3 && r < 4 && r != last);
        last = r;
    }
    assert_int_equal(xt_step_traces(f), 1);
    assert_int_equal(xt_step_traces(g), 5);
    assert_int_equal(xt_step_traces(h), 1);
    assert_true(count("compiles") - compiles <= 2); /* f and g are one program */
    nothing_left();
}

static void took(void *user, const void *p, size_t n, xt_dtype t) {
    (void)n;
    (void)t;
    double *sum = user;
    *sum += (double)*(const float *)p;
}
static xt_tensor tells(const xt_tensor *in, int n, void *user) {
    (void)n;
    xt_tensor y = xt_sum(xt_mul_scalar(in[0], 2));
    xt_when_ready(y, took, user);
    xt_when_ready(in[0], took, user);
    xt_master_printf("y = %t of %t (%d)\n", y, in[0], 5);
    xt_master_printf("called\n");
    return (xt_tensor){0};
}

static void values_are_told(void **state) {
    (void)state;
    double sum = 0;
    xt_step *f = xt_compile(tells, .user = &sum);
    fflush(stdout);
    int out = dup(1), pipes[2];
    assert_int_equal(pipe(pipes), 0);
    dup2(pipes[1], 1);
    for (int i = 1; i <= 3; i++) assert_true(xt_is_none(xt_call(f, ones(1, (float)i))));
    bool ok = xt_wait();
    fflush(stdout);
    dup2(out, 1);
    close(out);
    close(pipes[1]);
    char text[400] = {0};
    assert_true(read(pipes[0], text, sizeof text - 1) > 0);
    close(pipes[0]);
    assert_true(ok);
    assert_int_equal(xt_step_traces(f), 1);
    assert_true(sum == 3 * (1 + 2 + 3));
    for (int i = 1; i <= 3; i++) {
        char want[40];
        snprintf(want, sizeof want, "y = %d of %d (5)\n", 2 * i, i);
        if (!strstr(text, want)) fail_msg("no \"%s\" in: %s", want, text);
    }
    int called = 0;
    for (const char *p = text; (p = strstr(p, "called")); p++) called++;
    assert_int_equal(called, 3);
    nothing_left();
}

/* --- gradients of inputs, results that are no nodes --- */
static xt_tensor squared(const xt_tensor *in, int n, void *user) {
    (void)n;
    (void)user;
    xt_backward(xt_sum(xt_mul(in[0], in[0])));
    return in[0];
}

static void gradients_of_inputs(void **state) {
    (void)state;
    xt_step *f = xt_compile(squared);
    xt_tensor w = xt_requires_grad(xt_keep(ones(1, 3)), true);
    for (int i = 1; i <= 4; i++) {
        assert_true(xt_item(xt_call(f, w)) == 3);
        assert_true(xt_item(xt_grad(w)) == 6.0 * i);
    }
    assert_int_equal(xt_step_traces(f), 2); /* the first gradient, and adding to one */
    assert_int_equal(xt_step_programs(f), 2);
    xt_drop(w);
    nothing_left();
}

static xt_tensor outer(const xt_tensor *in, int n, void *user) {
    return xt_mul_scalar(xt_call_at(XT_HERE, user, n, in), 3);
}

static void nested(void **state) {
    (void)state;
    xt_step *in = xt_compile(twice), *f = xt_compile(outer, .user = in);
    for (int i = 0; i < 3; i++) assert_true(xt_item(xt_call(f, ones(2, (float)i))) == 12 * i);
    assert_int_equal(xt_step_traces(in), 0);
    assert_int_equal(xt_step_traces(f), 1);
    xt_step_free(in);
    nothing_left();
}

/* --- mistakes --- */
static xt_tensor mistaken(const xt_tensor *in, int n, void *user) {
    (void)n;
    switch (*(int *)user) {
    case 0: xt_matmul(xt_unsqueeze(in[0], 0), xt_unsqueeze(in[0], 0)); break;
    case 1: xt_item(xt_sum(in[0])); break;
    case 2: xt_mark_step(); break;
    }
    return xt_sum(in[0]);
}

static void *call_elsewhere(void *step) {
    float one = 1;
    xt_call(step, xt_from_array(&one, XT_F32, 1));
    bool refused = xt_error() && strstr(xt_status_message(xt_error()), "another thread");
    xt_clear_error();
    lazy_reset_thread();
    return refused ? step : NULL;
}

static void mistakes(void **state) {
    (void)state;
    static const char *const words[] = {"xt_matmul", "xt_item inside the compiled step function wrong",
                                        "xt_mark_step inside the compiled step function wrong"};
    int which = 0;
    xt_step *f = xt_compile(mistaken, .user = &which, .name = "wrong");
    for (which = 0; which < 3; which++) {
        xt_tensor x = ones(2, 1), t = xt_call(f, x);
        assert_true(xt_is_error(t));
        assert_true(xt_is_error(xt_call(f, x))); /* still pending: nothing runs, nothing is said twice */
        expect_error(words[which], "test_step_compile.c");
        assert_null(xt_error());
    }
    assert_true(xt_item(xt_call(f, ones(2, 1))) == 2);
    xt_tensor gone = ones(2, 1);
    assert_true(xt_mark_step());
    assert_true(xt_is_error(xt_call(f, gone)));
    expect_error("input 0 of wrong", "dead");
    assert_true(xt_is_error(xt_call(f, (xt_tensor){0})));
    expect_error("input 0 of wrong", "none");
    pthread_t other;
    void *refused = NULL;
    assert_int_equal(pthread_create(&other, NULL, call_elsewhere, f), 0);
    pthread_join(other, &refused);
    assert_non_null(refused);
    assert_true(xt_is_error(xt_call(NULL, ones(2, 1))));
    expect_error("NULL", "xt_compile");
    assert_null(xt_compile(NULL));
    expect_error("NULL", "xt_compile");
    nothing_left();
}

static void freed_optimizer(void **state) {
    (void)state;
    trainer t = {.net = xt_module_new(net, NULL)};
    t.opt = xt_sgd(t.net, .lr = 0.1);
    xt_step *f = xt_compile(train_step, .user = &t);
    xt_loader *l = data(16);
    xt_batch b;
    for (int i = 0; i < 2 && xt_next(l, &b); i++) xt_call(f, b.x, b.y);
    xt_optimizer_free(t.opt);
    t.opt = xt_sgd(t.net, .lr = 0.1);
    assert_true(xt_next(l, &b));
    xt_call(f, b.x, b.y);
    assert_true(xt_mark_step());
    assert_int_equal(xt_step_traces(f), 2);
    assert_int_equal(xt_step_programs(f), 1);
    assert_int_equal(xt_optimizer_steps(t.opt), 1);
    nothing_left();
}

static void without_memory(void **state) {
    (void)state;
    double v = 2;
    xt_step *f = xt_compile(scaled, .user = &v);
    for (int64_t n = 1; n < 400; n += n < 60 ? 1 : 17) {
        xt_tensor x = ones(n % 3 ? 1 : 2, 3);
        base_fail_alloc_after(n);
        xt_tensor y = xt_call(f, x);
        base_fail_alloc_after(-1);
        bool failed = xt_error() != NULL;
        if (!failed && n % 3 && xt_item(y) != 6) fail_msg("allocation %lld: a wrong value and no error", (long long)n);
        xt_clear_error();
        assert_true(xt_mark_step());
    }
    assert_true(xt_item(xt_call(f, ones(1, 4))) == 8);
    nothing_left();
}

int main(void) {
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_loop), cmocka_unit_test(shapes_alternate), cmocka_unit_test(inputs_are_values),
        cmocka_unit_test(modes),           cmocka_unit_test(kept_inside),      cmocka_unit_test(program_limit),
        cmocka_unit_test(numbers),         cmocka_unit_test(values_are_told),  cmocka_unit_test(gradients_of_inputs),
        cmocka_unit_test(nested),          cmocka_unit_test(mistakes),         cmocka_unit_test(freed_optimizer),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
