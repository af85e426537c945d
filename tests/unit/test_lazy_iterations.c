/* Loops in which nothing ends the step cost and compute what they do with xt_mark_step at the head of their body, and
 * what they hold stays readable. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lazy/lazy.h"
#include <xtrain/xtrain.h>

#include "said.h"
#include "same_bits.h"

enum { STEPS = 40, BATCH = 4, IN = 5 };

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "out", xt_tanh(xt_linear(m, "in", x, 6)), 1);
}

static xt_tensor batch(int i) {
    float data[BATCH * IN];
    for (int j = 0; j < BATCH * IN; j++) data[j] = (float)((i * 31 + j * 17) % 23) * 0.1f - 1;
    return xt_from_array(data, XT_F32, BATCH, IN);
}

static void end(bool marked) {
    if (marked) assert_true(xt_mark_step());
}

/* One loop's numbers, and what they cost. */
typedef struct result {
    double numbers[4 * STEPS];
    int n;
    int64_t programs, executions, forced;
} result;

static void note(result *r, double v) {
    assert_true(r->n < 4 * STEPS);
    r->numbers[r->n++] = v;
}

static result run(void (*loop)(result *r, bool marked), bool marked) {
    static result r;
    r = (result){.programs = xt_counter("compiles"),
                 .executions = xt_counter("executions"),
                 .forced = xt_counter("forced_executions")};
    xt_seed(3);
    loop(&r, marked);
    if (xt_error()) fail_msg("%s", xt_status_message(xt_error()));
    assert_true(xt_wait());
    r.programs = xt_counter("compiles") - r.programs;
    r.executions = xt_counter("executions") - r.executions;
    r.forced = xt_counter("forced_executions") - r.forced;
    assert_int_equal(xt_finish(), 0);
    assert_int_equal(xt_live_objects("tensor") + xt_live_objects("buffer") + xt_live_objects("optimizer"), 0);
    return r;
}

/* The first program has two iterations and one program more has one. */
static void as_marked(const char *what, void (*loop)(result *r, bool marked)) {
    result want = run(loop, true), got = run(loop, false);
    assert_int_equal(want.n, got.n);
    int i = other_number(want.n, want.numbers, got.numbers);
    if (i >= 0) fail_msg("%s: number %d is %.9g, with xt_mark_step %.9g", what, i, got.numbers[i], want.numbers[i]);
    if (got.programs > want.programs + 1 || got.executions > want.executions || got.forced > want.forced)
        fail_msg("%s: %lld programs run %lld times (%lld forced); with xt_mark_step %lld, %lld (%lld)", what,
                 (long long)got.programs, (long long)got.executions, (long long)got.forced, (long long)want.programs,
                 (long long)want.executions, (long long)want.forced);
    if (got.executions < want.executions - 2) fail_msg("%s: only %lld executions", what, (long long)got.executions);
}

static void weights_of(result *r, const xt_module *m) {
    float w[6];
    assert_true(xt_wait());
    assert_true(xt_read(xt_module_find(m, "out.weight"), w, sizeof w));
    for (int i = 0; i < 6; i++) note(r, w[i]);
}

static xt_tensor loss_of(xt_module *m, int i) {
    return xt_mean(xt_square(xt_add_scalar(xt_forward(m, batch(i)), -0.3)));
}

/* Word for word as in other frameworks; the loss is read behind the update. */
static void plain_loop(result *r, bool marked) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_adamw(m, .lr = 0.05);
    int64_t buffers = 0;
    for (int i = 0; i < STEPS; i++) {
        end(marked);
        xt_tensor loss = loss_of(m, i);
        xt_zero_grad(o);
        xt_backward(loss);
        xt_optimizer_step(o);
        if (i % 8 == 0) note(r, xt_item(loss));
        if (i == 12) buffers = xt_live_objects("buffer");
    }
    assert_true(xt_live_objects("buffer") <= buffers + 2); /* what no iteration reads any more is given back */
    weights_of(r, m);
}

static void a_plain_loop(void **state) {
    (void)state;
    as_marked("a plain loop", plain_loop);
}

static void accumulating(result *r, bool marked) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.05, .momentum = 0.9);
    for (int i = 0; i < STEPS; i++) {
        if (i % 2 == 0) end(marked);
        xt_backward(loss_of(m, i));
        if (i % 2) xt_optimizer_step(o);
    }
    weights_of(r, m);
}

static void accumulation(void **state) {
    (void)state;
    as_marked("two backward passes, one update", accumulating);
}

/* Two optimizers, the second network's gradients through the first one's new parameters. */
static void adversaries(result *r, bool marked) {
    xt_module *d = xt_module_new(net, NULL), *g = xt_module_new(net, NULL);
    xt_optimizer *of_d = xt_adam(d, .lr = 0.02), *of_g = xt_adam(g, .lr = 0.02);
    for (int i = 0; i < STEPS; i++) {
        end(marked);
        xt_tensor fake = xt_mul(batch(i), xt_forward(g, batch(i + 1)));
        xt_tensor of_real = xt_forward(d, batch(i + 2)), of_fake = xt_forward(d, xt_detach(fake));
        xt_backward(xt_minus(xt_mean(xt_square(of_fake)), xt_mean(of_real)));
        xt_optimizer_step(of_d);
        xt_zero_grad(of_g);
        xt_backward(xt_neg(xt_mean(xt_forward(d, fake))));
        xt_optimizer_step(of_g);
        xt_zero_grad(of_d);
    }
    weights_of(r, d);
    weights_of(r, g);
}

static void two_optimizers(void **state) {
    (void)state;
    as_marked("two optimizers", adversaries);
}

/* What the loop holds: data from before it, a state that it hands on, its last loss, and what it made behind the
 * update. Only where the step is marked are they kept by hand. */
static void holding_loop(result *r, bool marked) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.05);
    xt_tensor held[5] = {xt_mul_scalar(batch(0), 0.5), batch(9), xt_zeros(XT_F32, BATCH, IN)};
    xt_tensor *x = &held[0], *seldom = &held[1], *hidden = &held[2], *last = &held[3], *total = &held[4];
    for (int i = 0; i < STEPS; i++) {
        for (int k = 0; k < 5 && marked; k++)
            if (held[k].slot) xt_keep(held[k]);
        end(marked);
        xt_tensor in = xt_add(*x, *hidden), out = xt_forward(m, in), loss = xt_mean(xt_square(out));
        if (last->slot) note(r, xt_item(*last));
        *hidden = xt_detach(xt_tanh(xt_add(in, xt_mul_scalar(in, 0.1))));
        xt_backward(loss);
        xt_optimizer_step(o);
        xt_tensor largest = xt_max(xt_abs(out));
        *total = total->slot ? xt_add(*total, largest) : largest;
        if (i % 10 == 9) note(r, xt_item(xt_sum(*seldom)));
        *last = loss;
    }
    note(r, xt_item(xt_sum(*total)));
}

static void what_lives_on(void **state) {
    (void)state;
    result want = run(holding_loop, true), got = run(holding_loop, false);
    assert_int_equal(want.n, got.n);
    int i = other_number(want.n, want.numbers, got.numbers);
    if (i >= 0) fail_msg("number %d is %.9g, with xt_keep and xt_mark_step %.9g", i, got.numbers[i], want.numbers[i]);
    assert_true(got.executions >= STEPS - 2);
}

/* An outer loop makes tensors in front of an inner one, and reads them behind it: `returns` of a batch alone (0), of
 * what was computed (1), or, with no_grad's forward of a module, in a loop of one line (2), or of a batch while the
 * inner loop makes batches too, by the same function (3). */
static int shape_of_loops;
static void loops_in_a_loop(result *r, bool marked) {
    enum { ROUNDS = 6, POLICY = 3, VALUE = 4 };
    xt_module *policy = xt_module_new(net, NULL), *value = xt_module_new(net, NULL);
    xt_optimizer *op = xt_sgd(policy, .lr = 0.1), *ov = xt_sgd(value, .lr = 0.1);
    for (int round = 0; round < ROUNDS; round++) {
        xt_tensor x = batch(round), returns = xt_sum_axes(batch(round + 9), 1, .keepdim = true);
        xt_no_grad_begin();
        xt_tensor before = xt_forward(value, x), advantage = xt_minus(returns, before);
        if (shape_of_loops == 1) returns = xt_add(advantage, xt_mul(before, 0.5));
        xt_no_grad_end();
        if (marked) xt_keep(x), xt_keep(returns), xt_keep(advantage), xt_keep(before);
        for (int k = 0; k < POLICY; k++) {
            xt_tensor seen = shape_of_loops == 3 ? batch(k) : x;
            xt_zero_grad(op);
            xt_backward(xt_neg(xt_mean(xt_mul(xt_forward(policy, seen), advantage))));
            xt_optimizer_step(op);
            end(marked);
        }
        if (shape_of_loops == 2)
            for (int k = 0; k < VALUE; k++, xt_zero_grad(ov),
                     xt_backward(xt_mean(xt_square(xt_minus(xt_forward(value, x), returns)))), xt_optimizer_step(ov),
                     end(marked)) {
            }
        for (int k = 0; k < VALUE && shape_of_loops != 2; k++) {
            xt_tensor loss = xt_mean(xt_square(xt_minus(xt_forward(value, x), returns)));
            xt_zero_grad(ov);
            xt_backward(loss);
            xt_optimizer_step(ov);
            end(marked);
        }
        note(r, xt_item(xt_mean(xt_mul(before, returns))));
        if (marked) xt_drop(x), xt_drop(returns), xt_drop(advantage), xt_drop(before);
    }
    weights_of(r, policy);
    weights_of(r, value);
    xt_module_free(policy);
    xt_module_free(value);
    xt_optimizer_free(op);
    xt_optimizer_free(ov);
}

static void what_an_outer_loop_made(void **state) {
    (void)state;
    for (shape_of_loops = 0; shape_of_loops < 4; shape_of_loops++) {
        result want = run(loops_in_a_loop, true), got = run(loops_in_a_loop, false);
        assert_int_equal(want.n, got.n);
        int i = other_number(want.n, want.numbers, got.numbers);
        if (i >= 0)
            fail_msg("%d: number %d is %.9g, with xt_keep and xt_mark_step %.9g", shape_of_loops, i, got.numbers[i],
                     want.numbers[i]);
    }
}

/* The same optimizer twice on purpose: each update is a step then. */
static void twice_a_round(result *r, bool marked) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.05);
    for (int i = 0; i < STEPS / 2; i++) {
        for (int k = 0; k < 2; k++) {
            xt_backward(loss_of(m, 2 * i + k));
            xt_optimizer_step(o);
        }
        end(marked);
    }
    weights_of(r, m);
}

static void two_updates_are_two_steps(void **state) {
    (void)state;
    result with = run(twice_a_round, true), without = run(twice_a_round, false);
    for (int i = 0; i < with.n; i++) assert_true(with.numbers[i] == without.numbers[i]);
    assert_true(with.executions >= STEPS - 2 && without.executions >= STEPS - 2);
}

/* Gradients that flow back through all iterations keep them in one step. */
static void gradients_through_all(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.05);
    xt_tensor total = xt_scalar(0, XT_F32);
    int64_t before = xt_counter("executions");
    for (int i = 0; i < 4; i++) {
        total = xt_add(total, loss_of(m, i));
        xt_backward(total);
        xt_optimizer_step(o);
    }
    assert_int_equal(xt_counter("executions"), before);
    assert_true(xt_wait());
    assert_int_equal(xt_finish(), 0);
}

/* Each task has an optimizer of its own; `of_tasks` says how many updates of it, and what stands behind them. */
static struct {
    int inner;
    bool meta, frees, reads;
} of_tasks;

static void tasks_of_a_loop(result *r, bool marked) {
    xt_module *m = xt_module_new(net, NULL), *slow = xt_module_new(net, NULL);
    xt_optimizer *meta = xt_adam(slow, .lr = 0.02), *all[STEPS];
    int64_t buffers = 0;
    for (int i = 0; i < STEPS; i++) {
        end(marked);
        xt_optimizer *o = all[i] = xt_sgd(m, .lr = 0.05);
        for (int k = 0; k < of_tasks.inner; k++) {
            if (k) end(marked);
            xt_zero_grad(o);
            xt_backward(loss_of(m, i + k));
            xt_optimizer_step(o);
        }
        if (of_tasks.meta) {
            xt_zero_grad(meta);
            xt_backward(loss_of(slow, i));
            xt_optimizer_step(meta);
        }
        if (of_tasks.reads) {
            xt_no_grad_begin();
            note(r, xt_item(loss_of(m, 7)));
            xt_no_grad_end();
        }
        if (of_tasks.frees) xt_optimizer_free(o);
        if (i == STEPS / 2) buffers = xt_live_objects("buffer");
    }
    assert_true(xt_live_objects("buffer") <= buffers + 8); /* less than one for each task */
    weights_of(r, m);
    for (int i = 0; i < STEPS && !of_tasks.frees; i++) xt_optimizer_free(all[i]);
}

static void optimizers_made_in_the_loop(void **state) {
    (void)state;
    for (int shape = 0; shape < 24; shape++) {
        of_tasks.inner = 1 + shape / 8;
        of_tasks.meta = shape & 1, of_tasks.frees = shape & 2, of_tasks.reads = shape & 4;
        result want = run(tasks_of_a_loop, true), got = run(tasks_of_a_loop, false);
        assert_int_equal(want.n, got.n);
        int i = other_number(want.n, want.numbers, got.numbers);
        if (i >= 0)
            fail_msg("%d: number %d is %.9g, with xt_mark_step %.9g", shape, i, got.numbers[i], want.numbers[i]);
        if (got.programs > want.programs + 4 || got.executions < want.executions - 4)
            fail_msg("%d: %lld programs run %lld times; with xt_mark_step %lld, %lld", shape, (long long)got.programs,
                     (long long)got.executions, (long long)want.programs, (long long)want.executions);
    }
}

/* --- calls of compiled steps --- */
static xt_tensor scaled(const xt_tensor *in, int n, void *user) {
    (void)n, (void)user;
    return xt_add(in[0], xt_mul_scalar(in[1], 0.5));
}

static double sum_of(xt_tensor t) {
    return xt_item(xt_sum(t));
}

static xt_tensor wide(int i) { /* 4.3 KiB */
    float data[1100] = {0};
    for (int j = 0; j < BATCH * IN; j++) data[j] = (float)((i * 31 + j * 17) % 23) * 0.1f - 1;
    return xt_from_array(data, XT_F32, 1100);
}

/* What was there before the loop, what the outer loop has made by the same function, what is handed on, in each round
 * or in some, and results behind their call are alive; what nothing goes on with is not,
 * where it is large: small results live on as they may be listed (tests/cli/loop_memory.py). */
static void calls_in_a_loop(void **state) {
    (void)state;
    xt_step *f = xt_compile(scaled);
    xt_tensor first = wide(3), hidden = wide(0), rare = wide(1);
    double of_first = sum_of(first), of_hidden = sum_of(hidden), of_rare = sum_of(rare);
    int64_t buffers = 0;
    for (int i = 0; i < STEPS; i++) {
        xt_tensor front = wide(i + 5), given = {0}, x = {0};
        for (int k = 0; k < 4; k++) {
            x = wide(i + k);
            given = xt_call(f, x, x);
            hidden = xt_call(f, hidden, x);
            of_hidden += 0.5 * sum_of(x);
            if (k == 2 && i % 3 == 0) {
                rare = xt_call(f, rare, x);
                of_rare += 0.5 * sum_of(x);
            }
        }
        assert_float_equal(sum_of(given), 1.5 * sum_of(wide(i + 3)), 1e-3);
        assert_float_equal(sum_of(front), sum_of(wide(i + 5)), 1e-4);
        assert_float_equal(sum_of(x), sum_of(wide(i + 3)), 1e-4);
        if (i == STEPS / 2) buffers = xt_live_objects("buffer");
    }
    assert_true(xt_live_objects("buffer") <= buffers + 8); /* less than one for each round */
    assert_float_equal(sum_of(first), of_first, 1e-4);
    assert_float_equal(sum_of(hidden), of_hidden, 1e-2);
    assert_float_equal(sum_of(rare), of_rare, 1e-2);
    if (xt_error()) fail_msg("%s", xt_status_message(xt_error()));
    assert_int_equal(xt_finish(), 0);
}

static xt_tensor of_older; /* what a function takes from around it */
static xt_tensor with_older(const xt_tensor *in, int n, void *user) {
    (void)n, (void)user;
    return xt_add(in[0], of_older);
}

/* Results that are no longer among the newest of their call are tensors as any: ops read them, in a compiled function
 * too, again and again; xt_keep keeps them; gradients flow; the program's own boundary ends the others. */
static void older_results(void **state) {
    (void)state;
    enum { N = 300 };
    static xt_tensor v[N];
    xt_step *f = xt_compile(scaled), *g = xt_compile(with_older);
    xt_tensor x = xt_keep(batch(1)), y = xt_keep(batch(2));
    double one = sum_of(x) + 0.5 * sum_of(y);
    xt_mark_step();
    int64_t tensors = xt_live_objects("tensor");
    for (int i = 0; i < N; i++) v[i] = xt_call(f, x, y);
    xt_keep(v[0]);
    of_older = v[1];
    for (int again = 0; again < 3; again++) {
        assert_float_equal(sum_of(xt_add(v[1], v[2])), 2 * one, 1e-4);
        assert_float_equal(sum_of(xt_call(g, v[3])), 2 * one, 1e-4);
        for (int i = 0; i < 100; i++) (void)xt_call(f, x, y);
    }
    xt_requires_grad(v[5], true);
    xt_backward(xt_sum(xt_square(v[5])));
    assert_float_equal(sum_of(xt_grad(v[5])), 2 * one, 1e-4);
    for (int i = 0; i < N; i++) assert_float_equal(sum_of(v[i]), one, 1e-4);
    xt_mark_step();
    assert_int_equal(xt_live_objects("tensor"), tensors + 1);
    assert_float_equal(sum_of(v[0]), one, 1e-4);
    assert_true(isnan(sum_of(v[1])));
    assert_non_null(strstr(xt_status_message(xt_error()), "dead"));
    xt_clear_error();
    assert_int_equal(xt_finish(), 0);
}

/* --- where a boundary cannot be --- */
typedef struct trained {
    xt_module *m;
    xt_optimizer *o;
} trained;

static int first_line, second_line;
static xt_tensor two_updates(const xt_tensor *in, int n, void *user) {
    const trained *t = user;
    (void)n;
    xt_backward(xt_mean(xt_forward(t->m, in[0])));
    first_line = __LINE__ + 1;
    xt_optimizer_step(t->o);
    xt_backward(xt_mean(xt_forward(t->m, in[0])));
    second_line = __LINE__ + 1;
    xt_optimizer_step(t->o);
    return in[0];
}

static void in_a_compiled_function(void **state) {
    (void)state;
    trained t = {xt_module_new(net, NULL), NULL};
    t.o = xt_sgd(t.m, .lr = 0.1);
    xt_step *f = xt_compile(two_updates, .user = &t);
    char lines[2][64];
    xt_call(f, batch(0));
    snprintf(lines[0], sizeof lines[0], "test_lazy_iterations.c:%d", first_line);
    snprintf(lines[1], sizeof lines[1], "test_lazy_iterations.c:%d", second_line);
    const char *text = xt_error() ? xt_status_message(xt_error()) : "nothing";
    for (int i = 0; i < 2; i++)
        if (!strstr(text, lines[i])) fail_msg("no %s in: %s", lines[i], text);
    xt_clear_error();
    assert_int_equal(xt_finish(), 0);
}

static void said_what_ends_it(void **state) {
    (void)state;
    setenv("XT_DEBUG", "compile", 1);
    said[0] = 0;
    xt_set_sink(sink, NULL);
    result r;
    memset(&r, 0, sizeof r);
    plain_loop(&r, false);
    assert_int_equal(xt_finish(), 0);
    xt_set_sink(NULL, NULL);
    unsetenv("XT_DEBUG");
    const char *const words[] = {"came again and nothing had ended the step", "next iteration at "};
    for (int i = 0; i < 2; i++)
        if (!strstr(said, words[i])) fail_msg("no \"%s\" in: %s", words[i], said);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_loop),
        cmocka_unit_test(accumulation),
        cmocka_unit_test(two_optimizers),
        cmocka_unit_test(what_lives_on),
        cmocka_unit_test(what_an_outer_loop_made),
        cmocka_unit_test(two_updates_are_two_steps),
        cmocka_unit_test(gradients_through_all),
        cmocka_unit_test(optimizers_made_in_the_loop),
        cmocka_unit_test(calls_in_a_loop),
        cmocka_unit_test(older_results),
        cmocka_unit_test(in_a_compiled_function),
        cmocka_unit_test(said_what_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
