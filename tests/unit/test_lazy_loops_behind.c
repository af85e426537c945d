/* Loops in which nothing ends the step, and which compute, log or assign something behind their update, or log at
 * their head: they cost what they cost with xt_mark_step at the end of their body, and compute and log the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lazy/lazy.h"
#include "metrics/log.h"
#include <xtrain/xtrain.h>

#include "same_bits.h"

enum { STEPS = 24, BATCH = 4, IN = 5 };

/* --- the loops --- */
typedef struct loop { /* what the body of one has */
    xt_module *m, *target;
    xt_optimizer *o;
    xt_tensor state;
    xt_running *mean;
    int i;
} loop;

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "out", xt_tanh(xt_linear(m, "in", x, 6)), 2);
}

static xt_tensor batch(int i) {
    float data[BATCH * IN];
    for (int j = 0; j < BATCH * IN; j++) data[j] = (float)((i * 31 + j * 17) % 23) * 0.1f - 1;
    return xt_from_array(data, XT_F32, BATCH, IN);
}

static xt_tensor labels(int i) {
    int64_t data[BATCH];
    for (int j = 0; j < BATCH; j++) data[j] = (i + j * j) % 2;
    return xt_from_array(data, XT_I64, BATCH);
}

typedef struct step {
    xt_tensor out, loss, y;
} step;

static step train(const loop *l) {
    step s = {.y = labels(l->i)};
    xt_tensor x = batch(l->i);
    s.out = xt_forward(l->m, x);
    s.loss = xt_cross_entropy(s.out, s.y);
    xt_backward(s.loss);
    xt_optimizer_step(l->o);
    return s;
}

static void accuracy(loop *l) {
    step s = train(l);
    xt_log_metric("acc", xt_accuracy(s.out, s.y), .on_epoch = XT_ON);
    xt_log("loss", s.loss, .on_epoch = XT_ON);
}

static void norm_of_weights(loop *l) {
    train(l);
    xt_log("norm", xt_sum(xt_square(xt_module_find(l->m, "in.weight"))));
}

static void three_reductions(loop *l) {
    step s = train(l);
    xt_log("sum", xt_mul_scalar(s.loss, 2), .on_epoch = XT_ON, .reduce = XT_SUM);
    xt_log("least", xt_mean(s.out), .on_epoch = XT_ON, .reduce = XT_MIN);
    xt_log("last", xt_max(s.out), .on_epoch = XT_ON, .reduce = XT_LAST);
}

static void numbers_alone(loop *l) {
    train(l);
    xt_log_value("i", l->i, .on_epoch = XT_ON, .reduce = XT_SUM);
}

static void at_the_head(loop *l) {
    xt_log_value("rate", 1 + l->i, .on_epoch = XT_ON);
    step s = train(l);
    xt_log("loss", s.loss);
}

static void alone_at_the_head(loop *l) {
    xt_log_value("i", l->i, .on_epoch = XT_ON, .reduce = XT_LAST);
    train(l);
}

static void seldom_at_the_head(loop *l) {
    if (l->i % 3 == 1) xt_log_value("i", l->i, .on_epoch = XT_ON, .reduce = XT_LAST);
    xt_backward(xt_cross_entropy(xt_forward(l->m, batch(l->i)), labels(l->i)));
    xt_optimizer_step(l->o);
}

static void later_at_the_head(loop *l) {
    if (l->i % 5 == 4) xt_log_value("i", l->i, .on_epoch = XT_ON, .reduce = XT_LAST);
    xt_backward(xt_cross_entropy(xt_forward(l->m, batch(l->i)), labels(l->i)));
    xt_optimizer_step(l->o);
    if (l->i % 7 == 5) xt_log_value("end", l->i, .on_epoch = XT_ON, .reduce = XT_LAST);
}

static void tensor_at_the_head(loop *l) {
    xt_log("x", xt_mean(batch(l->i)), .on_epoch = XT_ON, .reduce = XT_LAST);
    train(l);
}

static void head_middle_and_end(loop *l) {
    xt_log_value("head", l->i, .reduce = XT_LAST);
    xt_tensor x = batch(l->i), y = labels(l->i), loss = xt_cross_entropy(xt_forward(l->m, x), y);
    xt_log("middle", loss, .reduce = XT_LAST);
    xt_backward(loss);
    xt_log_value("update", l->i, .reduce = XT_LAST);
    xt_optimizer_step(l->o);
    xt_log_value("end", l->i, .reduce = XT_LAST);
}

static void under_an_if(loop *l) {
    step s = train(l);
    if (l->i % 5 == 3) xt_log("seldom", xt_mean(xt_square(s.out)), .on_epoch = XT_ON);
}

static void running_mean(loop *l) {
    if (!l->mean) l->mean = xt_running_new(5);
    step s = train(l);
    xt_log("mean", xt_running_mean(l->mean, s.loss), .reduce = XT_LAST);
}

static void moving_average(loop *l) {
    train(l);
    if (!l->i) l->state = xt_state("average", XT_F32, 6, IN);
    xt_tensor w = xt_module_find(l->m, "in.weight");
    xt_assign(l->state, xt_add(xt_mul_scalar(l->state, 0.9), xt_mul_scalar(w, 0.1)));
}

static void sum_of_losses(loop *l) {
    step s = train(l);
    if (!l->i) l->state = xt_state("sum", XT_F32);
    xt_assign(l->state, xt_add(l->state, s.loss));
}

static void target_network(loop *l) {
    if (!l->target) {
        xt_spec spec = {XT_F32, {BATCH, IN}};
        l->target = xt_module_new(net, NULL);
        xt_status_free(xt_module_build(l->target, spec));
    }
    xt_tensor x = batch(l->i);
    xt_no_grad_begin();
    xt_tensor want = xt_forward(l->target, x);
    xt_no_grad_end();
    xt_backward(xt_mse_loss(xt_forward(l->m, x), xt_add_scalar(want, 0.1)));
    xt_optimizer_step(l->o);
    for (int k = 0; k < xt_module_tensors(l->target); k++) {
        xt_tensor t = xt_module_tensor(l->target, k), w = xt_module_tensor(l->m, k);
        xt_assign(t, xt_add(xt_mul_scalar(t, 0.9), xt_mul_scalar(w, 0.1)));
    }
}

static void clipped_weights(loop *l) {
    train(l);
    xt_tensor w = xt_module_find(l->m, "in.weight");
    xt_assign(w, xt_clamp(w, -0.2, 0.2));
}

static void evaluated(loop *l) {
    step s = train(l);
    if (l->i % 6 == 5) {
        xt_eval(l->m);
        for (int k = 0; k < 3; k++) xt_log("val/loss", xt_cross_entropy(xt_forward(l->m, batch(k)), labels(k)));
        xt_train(l->m);
    }
    xt_log("loss", s.loss);
}

/* A function of one's own that the head calls too. */
static xt_tensor error_of(xt_tensor a, xt_tensor b) {
    return xt_mean(xt_square(xt_minus(a, b)));
}
static void helper(loop *l) {
    xt_tensor x = batch(l->i), y = xt_cast(labels(l->i), XT_F32), out = xt_select(xt_forward(l->m, x), 1, 0);
    xt_backward(error_of(out, y));
    xt_optimizer_step(l->o);
    xt_log("again", error_of(xt_relu(out), y));
}

/* No xt_forward at all. */
static void by_hand(loop *l) {
    xt_tensor w = xt_module_find(l->m, "in.weight");
    xt_backward(xt_mean(xt_square(xt_matmul(batch(l->i), xt_transpose(w, 0, 1)))));
    xt_optimizer_step(l->o);
    xt_log("norm", xt_norm(xt_module_find(l->m, "in.weight")));
}

/* Two networks that know nothing of each other: an iteration has two updates. */
static void two_networks(loop *l) {
    static xt_optimizer *other;
    if (!l->target) {
        xt_spec spec = {XT_F32, {BATCH, IN}};
        l->target = xt_module_new(net, NULL);
        xt_status_free(xt_module_build(l->target, spec));
        other = xt_sgd(l->target, .lr = 0.05);
    }
    step s = train(l);
    xt_tensor loss = xt_mean(xt_square(xt_forward(l->target, batch(l->i))));
    xt_backward(loss);
    xt_optimizer_step(other);
    xt_log("both", xt_add(s.loss, loss));
}

/* Every other iteration has a term of its own in front of its forward pass. */
static void alternating(loop *l) {
    xt_tensor loss = {0};
    if (l->i % 2) loss = xt_mul_scalar(xt_sum(xt_square(xt_module_find(l->m, "in.weight"))), 0.01);
    xt_tensor x = batch(l->i), y = labels(l->i);
    xt_tensor of_data = xt_cross_entropy(xt_forward(l->m, x), y);
    xt_backward(l->i % 2 ? xt_add(of_data, loss) : of_data);
    xt_optimizer_step(l->o);
}

/* One function learns and measures. */
static void pass(const loop *l, int i, bool learn) {
    xt_tensor loss = xt_cross_entropy(xt_forward(l->m, batch(i)), labels(i));
    if (learn) {
        xt_backward(loss);
        xt_optimizer_step(l->o);
    }
    if (learn)
        xt_log("loss", loss, .on_epoch = XT_ON);
    else
        xt_log("val", loss, .on_epoch = XT_ON);
}

/* A body's last call is no tail call: a loop goes on behind its body. */
static volatile int rounds;

static void measured(const loop *l, int i) {
    xt_no_grad_begin();
    pass(l, i, false);
    xt_no_grad_end();
}

static void learns_and_measures(loop *l) {
    pass(l, l->i, true);
    measured(l, 100 + l->i);
    rounds++;
}

static void learns_and_measures_at_times(loop *l) {
    pass(l, l->i, true);
    if (l->i % 3 == 1) measured(l, 100 + l->i);
    rounds++;
}

static void learns_and_measures_thrice(loop *l) {
    pass(l, l->i, true);
    for (int k = 0; k < 3 && l->i % 3 == 1; k++) measured(l, 100 + l->i + k);
    rounds++;
}

static void learns_and_measures_late(loop *l) {
    pass(l, l->i, true);
    if (l->i == 17) measured(l, 100 + l->i);
    rounds++;
}

static void learns_and_measures_with_gradients(loop *l) {
    pass(l, l->i, true);
    pass(l, 100 + l->i, false);
    rounds++;
}

static void learns_and_measures_at_times_with_gradients(loop *l) {
    pass(l, l->i, true);
    if (l->i % 3 == 1) pass(l, 100 + l->i, false);
    rounds++;
}

static void measures_first(loop *l) {
    measured(l, 100 + l->i);
    pass(l, l->i, true);
    rounds++;
}

static void measures_first_at_times(loop *l) {
    if (l->i % 3 == 1) measured(l, 100 + l->i);
    pass(l, l->i, true);
    rounds++;
}

static void learns_in_a_helper(loop *l) {
    xt_log_value("head", l->i, .on_epoch = XT_ON);
    pass(l, l->i, true);
    if (l->i % 3 == 1) xt_log_value("end", l->i, .on_epoch = XT_ON);
    rounds++;
}

static void learns_in_a_helper_headed_at_times(loop *l) {
    if (l->i % 3 == 1) xt_log_value("head", l->i, .on_epoch = XT_ON);
    pass(l, l->i, true);
    rounds++;
}

/* --- run twice --- */
static char rows[2][60000];
static char *row_at;
static int64_t steps_before; /* this loop: a multiple of the rows' periods */

static void row(void *user, const log_row *r) {
    (void)user;
    for (size_t i = 0; i < r->n; i++)
        row_at += snprintf(row_at, (size_t)(rows[row_at >= rows[1]] + sizeof rows[0] - row_at), "%lld %d %d %s %.5g\n",
                           (long long)(r->step - steps_before), (int)r->stage, r->epoch_level, r->values[i].name,
                           r->values[i].value);
}
static void open_sink(void) {
    log_add_sink(&(log_sink){.row = row});
}

typedef struct result {
    float weight[6 * IN];
    double state;
    int64_t executions, tensors, buffers; /* of both kinds, more in the last step than in the twelfth */
} result;

static result run(void (*body)(loop *l), int every, bool marked) {
    result r;
    loop l = {.m = xt_module_new(net, NULL)};
    xt_spec spec = {XT_F32, {BATCH, IN}};
    row_at = rows[marked];
    *row_at = 0;
    steps_before = lazy_loop_steps();
    xt_seed(3);
    xt_status_free(xt_module_build(l.m, spec));
    l.o = xt_sgd(l.m, .lr = 0.05, .momentum = 0.5);
    xt_log_every_n_steps(every);
    r.executions = xt_counter("executions");
    for (l.i = 0; l.i < STEPS; l.i++) {
        body(&l);
        if (marked) assert_true(xt_mark_step());
        if (l.i == STEPS / 2 - 1) r.tensors = xt_live_objects("tensor"), r.buffers = xt_live_objects("buffer");
    }
    r.tensors = xt_live_objects("tensor") - r.tensors;
    r.buffers = xt_live_objects("buffer") - r.buffers;
    if (xt_error()) fail_msg("%s", xt_status_message(xt_error()));
    assert_true(xt_wait());
    r.executions = xt_counter("executions") - r.executions;
    assert_true(xt_read(xt_module_find(l.m, "in.weight"), r.weight, sizeof r.weight));
    r.state = lazy_type(l.state) ? xt_item(xt_sum(l.state)) : 0;
    assert_int_equal(xt_finish(), 0);
    assert_int_equal(xt_live_objects("tensor") + xt_live_objects("buffer") + xt_live_objects("optimizer"), 0);
    return r;
}

static const struct {
    const char *name;
    void (*body)(loop *l);
} loops[] = {
    {"an accuracy", accuracy},
    {"a norm of the new weights", norm_of_weights},
    {"reductions", three_reductions},
    {"numbers alone", numbers_alone},
    {"a number at the head", at_the_head},
    {"a number at the head alone", alone_at_the_head},
    {"a number at the head of some", seldom_at_the_head},
    {"a number at the head of some and at the end of others", later_at_the_head},
    {"a tensor at the head", tensor_at_the_head},
    {"numbers at the head, in the middle and at the end", head_middle_and_end},
    {"a value under an if", under_an_if},
    {"a running mean", running_mean},
    {"a moving average", moving_average},
    {"a sum of losses", sum_of_losses},
    {"a network that follows", target_network},
    {"weights that are clipped", clipped_weights},
    {"an evaluation", evaluated},
    {"a function that the head calls too", helper},
    {"tensors by hand", by_hand},
    {"two networks", two_networks},
    {"a term in every other iteration", alternating},
    {"a function that learns and measures", learns_and_measures},
    {"a function that learns, and measures at times", learns_and_measures_at_times},
    {"a function that learns, and measures thrice at times", learns_and_measures_thrice},
    {"a function that learns, and measures late", learns_and_measures_late},
    {"a function that learns and measures with gradients", learns_and_measures_with_gradients},
    {"a function that learns, and measures with gradients at times", learns_and_measures_at_times_with_gradients},
    {"a function that measures and learns", measures_first},
    {"a function that measures at times and learns", measures_first_at_times},
    {"a function that learns, a number at its end at times", learns_in_a_helper},
    {"a function that learns, a number at its head at times", learns_in_a_helper_headed_at_times},
};

static bool same_numbers(const result *a, const result *b) {
    double weights[2][6 * IN];
    for (int i = 0; i < 6 * IN; i++) weights[0][i] = a->weight[i], weights[1][i] = b->weight[i];
    return other_number(6 * IN, weights[0], weights[1]) < 0 && other_number(1, &a->state, &b->state) < 0;
}

static void as_marked(void **state) {
    (void)state;
    log_set_default_sinks(open_sink);
    int failed = 0;
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        for (int every = 1; every <= 6; every += 5) {
            result want = run(loops[i].body, every, true), got = run(loops[i].body, every, false);
            bool numbers = same_numbers(&want, &got),
                 cost = got.executions >= want.executions - 2 && got.executions <= want.executions + 1,
                 memory = got.tensors <= 40 && got.buffers <= 20, logged = strcmp(rows[0], rows[1]) == 0;
            if (numbers && cost && memory && logged) continue;
            failed++;
            print_error("%s, a row every %d:%s %lld executions, %lld with xt_mark_step; %lld tensors and %lld buffers "
                        "more in the last step\n",
                        loops[i].name, every, numbers ? "" : " other numbers,", (long long)got.executions,
                        (long long)want.executions, (long long)got.tensors, (long long)got.buffers);
            if (!logged)
                fprintf(stderr, "logged:\n%swith xt_mark_step:\n%s", rows[0], rows[1]); /* longer than cmocka's */
        }
    assert_int_equal(failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_marked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
