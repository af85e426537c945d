/* Reads in the middle of a step run programs of their own. One such program serves the same value wherever in a step
 * it stands: what else the step holds, and where its numbers lie, is no part of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

enum { DRAWS = 40, N = 6 }; /* more than the 16 whose numbers one pack has room for */

static int64_t count(const char *name) {
    return xt_counter(name);
}

static void finish(void) {
    static const char *const kinds[] = {"tensor", "buffer", "executable", "graph", "module"};
    assert_int_equal(xt_finish(), 0);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (xt_live_objects(kinds[i])) fail_msg("%lld %s alive", (long long)xt_live_objects(kinds[i]), kinds[i]);
}

static xt_tensor x; /* [N], kept */

static xt_tensor uniform(int i) {
    (void)i;
    return xt_rand(XT_F32, N);
}
static xt_tensor normal(int i) {
    (void)i;
    return xt_randn(XT_F32, N);
}
static xt_tensor dropped(int i) {
    (void)i;
    return xt_dropout_fn(x, 0.5);
}
static xt_tensor two_draws(int i) {
    (void)i;
    return xt_add(xt_rand(XT_F32, N), xt_mul(x, xt_rand(XT_F32, N)));
}
static xt_tensor number(int i) {
    return xt_mul(x, xt_scalar(i * 0.5, XT_F32));
}
static xt_tensor numbers_and_draw(int i) {
    return xt_add(xt_mul(xt_rand(XT_F32, N), xt_scalar(i, XT_F32)), xt_cast(xt_scalar(i * 3, XT_I64), XT_F32));
}

typedef struct kind {
    const char *name;
    xt_tensor (*make)(int i);
} kind;
static const kind kinds[] = {{"uniform", uniform},     {"normal", normal}, {"dropout", dropped},
                             {"two draws", two_draws}, {"number", number}, {"numbers and a draw", numbers_and_draw}};

/* The values of one step, read as they are made (in_step) or when it has ended. Values of other kinds in between. */
static void values(const kind *k, bool in_step, bool others, float (*out)[N]) {
    xt_tensor t[DRAWS];
    for (int i = 0; i < DRAWS; i++) {
        if (others && i % 3 == 1) xt_mul(x, xt_scalar(7, XT_F32));
        if (others && i % 5 == 2) xt_randn(XT_F32, 3);
        t[i] = xt_keep(k->make(i));
        if (in_step) assert_true(xt_read(t[i], out[i], sizeof out[i]));
    }
    assert_true(xt_mark_step());
    for (int i = 0; i < DRAWS; i++) {
        if (!in_step) assert_true(xt_read(t[i], out[i], sizeof out[i]));
        xt_drop(t[i]);
    }
    assert_true(xt_mark_step());
}

static void one_kind(const kind *k, bool others) {
    float read[DRAWS][N], later[DRAWS][N], first[N] = {1, 2, 3, 4, 5, 6};
    x = xt_keep(xt_from_array(first, XT_F32, N));
    xt_seed(3);
    values(k, false, others, later); /* compiles the step itself */
    int64_t compiles = count("compiles"), forced = count("forced_executions");
    xt_seed(3);
    values(k, true, others, read);
    if (count("compiles") - compiles != 1)
        fail_msg("%s: %lld programs for %d equal reads", k->name, (long long)(count("compiles") - compiles), DRAWS);
    assert_int_equal(count("forced_executions") - forced, DRAWS);
    if (memcmp(read, later, sizeof read) != 0) fail_msg("%s: a read gives another value than its step", k->name);
    xt_seed(3);
    values(k, true, others, read);
    assert_int_equal(count("compiles") - compiles, 1);
    xt_drop(x);
    finish();
}

static void equal_values_share_a_program(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) one_kind(&kinds[i], false);
}

static void whatever_stands_between(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) one_kind(&kinds[i], true);
}

/* The same function of other tensors: its argument is another one of the step's each time. */
static void other_arguments(void **state) {
    (void)state;
    xt_tensor a[10];
    float one = 0;
    for (int i = 0; i < 10; i++) {
        one = (float)i;
        a[i] = xt_keep(xt_from_data(&one, XT_F32, 0, NULL));
    }
    xt_mark_step();
    int64_t compiles = count("compiles");
    for (int i = 0; i < 10; i++)
        assert_true(xt_item(xt_minus(xt_mul_scalar(a[i], 3), a[(i + 1) % 10])) == i * 3 - (i + 1) % 10);
    assert_true(xt_item(xt_minus(xt_mul_scalar(a[5], 3), a[5])) == 10); /* one argument: another program */
    assert_int_equal(count("compiles") - compiles, 2);
    for (int i = 0; i < 10; i++) xt_drop(a[i]);
    finish();
}

/* Reads leave the step as it is: it has one program and trains as without them. */
static double trained(int reads) {
    float first = 1;
    xt_seed(5);
    xt_tensor w = xt_keep(xt_from_data(&first, XT_F32, 0, NULL));
    for (int i = 0; i < 6; i++) {
        xt_tensor sum = w;
        for (int k = 0; k < 4; k++) {
            xt_tensor d = xt_mean(xt_rand(XT_F32, N));
            if (k < reads) xt_item(d);
            sum = xt_add(sum, xt_mul(d, xt_scalar(i, XT_F32)));
        }
        xt_tensor next = xt_keep(sum);
        assert_true(xt_mark_step());
        xt_drop(w);
        w = next;
    }
    double v = xt_item(w);
    xt_drop(w);
    return v;
}

static void the_step_is_as_it_was(void **state) {
    (void)state;
    double without = trained(0);
    int64_t compiles = count("compiles");
    for (int reads = 1; reads <= 4; reads++) assert_true(trained(reads) == without);
    assert_int_equal(count("compiles") - compiles, 1); /* of the reads */
    finish();
}

/* --- what stands before a training step and is read --- */
typedef enum before { NOTHING, ALL_DRAWS, FORWARDS, NUMBERS, BEFORE_ALL, BEFORES } before;

static xt_tensor net(xt_module *m, xt_tensor in, void *user) {
    (void)user;
    return xt_linear(m, "out", xt_dropout(m, xt_relu(xt_linear(m, "in", in, 5)), 0.5), 1);
}

/* An episode of another length in each step: under xt_no_grad_begin, so that its draws count apart. */
static void episode(xt_module *m, before what, int length) {
    float in[N] = {0};
    xt_no_grad_begin();
    for (int i = 0; i < length; i++) {
        in[0] = (float)i;
        if (what == ALL_DRAWS || what == BEFORE_ALL) xt_item(xt_sum(xt_rand(XT_F32, 3)));
        if (what == FORWARDS || what == BEFORE_ALL) xt_item(xt_forward(m, xt_from_array(in, XT_F32, 1, N)));
        if (what == NUMBERS || what == BEFORE_ALL)
            xt_item(xt_mul(xt_scalar(i, XT_F32), xt_cast(xt_scalar(i, XT_I64), XT_F32)));
    }
    xt_no_grad_end();
}

typedef struct run {
    before what;
    bool between; /* of the forward and the backward pass */
    bool apart; /* a boundary ends the forward pass's step */
    bool logs; /* in some steps, a value that has numbers of its own */
} run;

static void train_behind(run r, float out[5 * N]) {
    float in[2][N] = {{1, -2, 3, 0.5f, 0, 1}, {0.25f, 1, 1, -1, 2, 3}};
    xt_seed(11);
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_adam(m, .lr = 0.01);
    for (int t = 0; t < 6; t++) {
        static const int lengths[] = {3, 0, 1, 20, 0, 7};
        if (!r.between && t) episode(m, r.what, lengths[t]);
        xt_tensor loss = xt_mean(xt_square(xt_forward(m, xt_from_array(in, XT_F32, 2, N))));
        if (r.between) episode(m, r.what, lengths[t]);
        if (r.apart) {
            xt_keep(loss);
            assert_true(xt_mark_step());
        }
        xt_backward(loss);
        xt_optimizer_step(o);
        if (r.logs && t % 2) xt_log("scaled", xt_mul(xt_detach(loss), xt_scalar(t, XT_F32)));
        if (r.logs) xt_log("loss", loss);
        assert_true(xt_mark_step());
        if (r.apart) xt_drop(loss);
    }
    assert_true(xt_read(xt_module_find(m, "in.weight"), out, 5 * N * sizeof *out));
    xt_optimizer_free(o);
    xt_module_free(m);
    assert_true(xt_mark_step());
}

static void reads_before_the_step(void **state) {
    (void)state;
    for (int k = 0; k < 2 * 2; k++) {
        float want[5 * N], got[5 * N];
        run r = {NOTHING, k & 1, k & 2, false};
        train_behind(r, want);
        for (r.what = ALL_DRAWS; r.what < BEFORES; r.what++) {
            int64_t compiles = count("compiles"), own = 0;
            train_behind(r, got);
            own = count("compiles") - compiles;
            /* of the reads: a draw, a forward pass, a product of numbers */
            int64_t reads = r.what == BEFORE_ALL ? 3 : 1;
            if (own > reads)
                fail_msg("reads %d, between %d, apart %d: %lld programs", (int)r.what, r.between, r.apart,
                         (long long)own);
            if (memcmp(want, got, sizeof got) != 0)
                fail_msg("reads %d, between %d, apart %d: other values", (int)r.what, r.between, r.apart);
        }
    }
    finish();
}

/* The first logs of the process: steps with both values and with one, and the read; lengths make no further ones. */
static void reads_beside_logs(void **state) {
    (void)state;
    float w[5 * N];
    int64_t compiles = count("compiles");
    train_behind((run){ALL_DRAWS, false, false, true}, w);
    if (count("compiles") - compiles > 4) fail_msg("%lld programs", (long long)(count("compiles") - compiles));
    finish();
}

int main(void) {
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 1);
    setenv("XT_RUNS_DIR", "/tmp/xtrain_test_reads", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_values_share_a_program),
        cmocka_unit_test(whatever_stands_between),
        cmocka_unit_test(other_arguments),
        cmocka_unit_test(the_step_is_as_it_was),
        cmocka_unit_test(reads_before_the_step),
        cmocka_unit_test(reads_beside_logs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
