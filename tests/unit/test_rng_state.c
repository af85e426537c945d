/* Random draws of a loop of one's own: what is done between its steps changes none of them, and a loop that goes on
 * from files draws what the unbroken one drew. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

enum { STEPS = 12, HALF = 5 };

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_dropout(m, xt_tanh(xt_linear(m, "in", x, 16)), 0.5);
    return xt_linear(m, "out", xt_mul(x, xt_rand(XT_F32, 16)), 1);
}

static xt_tensor batch(int i) {
    float data[8 * 6];
    for (int j = 0; j < 8 * 6; j++) data[j] = (float)((i * 13 + j * 7) % 19) * 0.1f - 0.9f;
    return xt_from_array(data, XT_F32, 8, 6);
}

typedef struct loop {
    xt_module *m;
    xt_optimizer *o;
} loop;

static loop begin(void) {
    loop l = {xt_module_new(net, NULL), NULL};
    l.o = xt_sgd(l.m, .lr = 0.05, .momentum = 0.9);
    return l;
}

static xt_tensor step(const xt_tensor *in, int n, void *user) {
    const loop *l = user;
    (void)n;
    xt_tensor loss = xt_mean(xt_square(xt_forward(l->m, in[0])));
    xt_backward(loss);
    xt_optimizer_step(l->o);
    return loss;
}

/* What else a loop does between two of its steps. */
static void nothing(const loop *l, int i) {
    (void)l, (void)i;
}
static void marks(const loop *l, int i) {
    (void)l;
    for (int k = 0; k < i % 4; k++) assert_true(xt_mark_step());
    assert_true(xt_wait());
}
static void evaluation(const loop *l, int i) {
    if (i % 3) return;
    xt_eval(l->m);
    xt_no_grad_begin();
    for (int k = 0; k < 2; k++) {
        xt_item(xt_mean(xt_forward(l->m, batch(100 + k)))); /* draws too */
        assert_true(xt_mark_step());
    }
    xt_no_grad_end();
    xt_train(l->m);
}
static void restart_of_the_device(const loop *l, int i) {
    (void)l;
    if (i == 4) assert_true(xt_reinitialize());
}
static void a_read(const loop *l, int i) {
    (void)l;
    if (i % 2) xt_item(xt_sum(batch(i)));
    assert_true(xt_mark_step());
}

typedef enum way { MARKED, UNMARKED, COMPILED } way;

static void run(way w, void (*between)(const loop *l, int i), double *out) {
    xt_seed(77);
    loop l = begin();
    xt_step *f = xt_compile(step, .user = &l);
    for (int i = 0; i < STEPS; i++) {
        xt_tensor x = batch(i);
        out[i] = xt_item(w == COMPILED ? xt_call(f, x) : step(&x, 1, &l));
        if (w == MARKED) assert_true(xt_mark_step());
        between(&l, i);
    }
    if (xt_error()) fail_msg("%s", xt_status_message(xt_error()));
    assert_int_equal(xt_finish(), 0);
    assert_int_equal(xt_live_objects("tensor") + xt_live_objects("buffer"), 0);
}

static void expect_same(const char *what, const double *want, const double *got, int from) {
    for (int i = from; i < STEPS; i++)
        if (memcmp(&want[i], &got[i], sizeof *want) != 0)
            fail_msg("%s: the loss of step %d is %.9g instead of %.9g", what, i, got[i], want[i]);
}

static void nothing_in_between_counts(void **state) {
    (void)state;
    static const struct {
        const char *what;
        way w;
        void (*between)(const loop *l, int i);
    } ways[] = {{"boundaries", MARKED, marks},
                {"evaluations", MARKED, evaluation},
                {"xt_reinitialize", MARKED, restart_of_the_device},
                {"reads", MARKED, a_read},
                {"no boundary", UNMARKED, nothing},
                {"a compiled function", COMPILED, nothing},
                {"a compiled function, evaluations", COMPILED, evaluation}};
    double want[STEPS], got[STEPS];
    run(MARKED, nothing, want);
    assert_true(want[0] != want[1]);
    for (size_t k = 0; k < sizeof ways / sizeof ways[0]; k++) {
        run(ways[k].w, ways[k].between, got);
        expect_same(ways[k].what, want, got, 0);
    }
}

/* Weights, momentum and the state of the draws go to files in the middle, and another start goes on from them. */
static void goes_on(void **state) {
    (void)state;
    char weights[64], moments[64];
    snprintf(weights, sizeof weights, "/tmp/xt_rng_%d.safetensors", (int)getpid());
    snprintf(moments, sizeof moments, "/tmp/xt_rng_%d.opt", (int)getpid());
    double want[STEPS], got[STEPS];
    xt_rng_state draws = {{0}};
    run(MARKED, nothing, want);
    for (int part = 0; part < 2; part++) {
        xt_seed(part ? 5 : 77);
        loop l = begin();
        if (part) {
            xt_item(xt_sum(xt_rand(XT_F32, 3)));
            assert_null(xt_load(l.m, weights));
            assert_null(xt_optimizer_load(l.o, moments));
            xt_rng_state_load(draws);
        }
        for (int i = part ? HALF : 0; i < (part ? STEPS : HALF); i++) {
            xt_tensor x = batch(i);
            got[i] = xt_item(step(&x, 1, &l));
            assert_true(xt_mark_step());
        }
        if (!part) {
            assert_null(xt_save(l.m, weights));
            assert_null(xt_optimizer_save(l.o, moments));
            draws = xt_rng_state_save();
        }
        assert_int_equal(xt_finish(), 0);
    }
    expect_same("going on", want, got, 0);
    unlink(weights);
    unlink(moments);
}

/* Draws in one optimizer step, and over boundaries without any, differ from one another. */
static void no_draw_comes_again(void **state) {
    (void)state;
    double seen[20];
    int n = 0;
    xt_seed(9);
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 2; k++) seen[n++] = xt_item(xt_sum(xt_rand(XT_F32, 8)));
        xt_no_grad_begin();
        for (int k = 0; k < 2; k++) seen[n++] = xt_item(xt_sum(xt_rand(XT_F32, 8)));
        xt_no_grad_end();
        assert_true(xt_mark_step());
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) assert_true(seen[i] != seen[j]);
    xt_rng_state at = xt_rng_state_save();
    double next = xt_item(xt_sum(xt_rand(XT_F32, 8)));
    xt_seed(9);
    assert_true(xt_item(xt_sum(xt_rand(XT_F32, 8))) == seen[0]);
    xt_rng_state_load(at);
    assert_true(xt_item(xt_sum(xt_rand(XT_F32, 8))) == next);
    assert_int_equal(xt_finish(), 0);
}

/* --- threads --- */
static double draw(void) {
    return xt_item(xt_sum(xt_rand(XT_F32, 3)));
}

typedef struct other {
    bool seeds, loads; /* otherwise it draws with the seed that it finds */
    xt_rng_state state;
    double first;
} other;

static void *draw_elsewhere(void *user) {
    other *o = user;
    if (o->seeds) xt_seed(8);
    if (o->loads) xt_rng_state_load(o->state);
    o->first = draw();
    return NULL;
}

/* A thread's seed is its own; one that has none takes the newest, its parent's. */
static void threads_have_seeds_of_their_own(void **state) {
    (void)state;
    other others[] = {{.seeds = true}, {.loads = true}, {0}};
    xt_seed(8);
    others[1].state = xt_rng_state_save();
    double of_8 = draw();
    xt_seed(7);
    double first = draw(), second = draw();
    for (int i = 0; i < 3; i++) {
        pthread_t t;
        xt_seed(7);
        assert_true(draw() == first);
        assert_int_equal(pthread_create(&t, NULL, draw_elsewhere, &others[i]), 0);
        assert_int_equal(pthread_join(t, NULL), 0);
        assert_true(others[i].first == (i < 2 ? of_8 : first));
        assert_true(draw() == second);
        assert_int_equal(xt_rng_state_save().words[0], 7);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_in_between_counts), cmocka_unit_test(goes_on),
                                       cmocka_unit_test(no_draw_comes_again),
                                       cmocka_unit_test(threads_have_seeds_of_their_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
