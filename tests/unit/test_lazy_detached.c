/* xt_backward after the step of the forward has ended: the gradients are those of one step, the report says what was
 * recorded again and which line ended the step, and nothing is kept longer than it can be used. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lazy/lazy.h"
#include <xtrain/xtrain.h>

static void nothing_left(void) {
    static const char *const kinds[] = {"tensor", "buffer", "executable", "graph", "module", "optimizer"};
    assert_int_equal(xt_finish(), 0);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (xt_live_objects(kinds[i]) != 0)
            fail_msg("%lld %s objects are alive", (long long)xt_live_objects(kinds[i]), kinds[i]);
}

static char notices[4000];
static void sink(xt_severity sev, const char *text, size_t n, void *user) {
    (void)sev;
    (void)user;
    size_t have = strlen(notices);
    if (n > sizeof notices - 1 - have) n = sizeof notices - 1 - have;
    memcpy(notices + have, text, n);
    notices[have + n] = 0;
}

static void expect(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("no \"%s\" in: %s", part, text);
}

static void expect_line(const char *text, int line) {
    char here[64];
    snprintf(here, sizeof here, "test_lazy_detached.c:%d", line);
    expect(text, here);
}

static void expect_error(const char *part, int line) {
    assert_non_null(xt_error());
    expect(xt_status_message(xt_error()), part);
    if (line) expect_line(xt_status_message(xt_error()), line);
    xt_clear_error();
}

enum { B = 6, I = 5, H = 8 };
static float inputs[B * I];

/* Random numbers, statistics that the forward updates, and a block that the backward pass computes again. */
static xt_tensor block(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_dropout(m, xt_relu(xt_batch_norm(m, "bn", xt_linear(m, "fc1", x, H))), 0.4);
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    bool checkpoint = user && *(bool *)user;
    x = checkpoint ? xt_checkpoint_block(block, xt_sub(m, "h", -1), x, NULL) : block(xt_sub(m, "h", -1), x, NULL);
    return xt_linear(m, "fc2", x, 3);
}

static xt_tensor forward(xt_module *m) {
    for (int i = 0; i < B * I; i++) inputs[i] = sinf((float)i);
    return xt_mean(xt_square(xt_forward(m, xt_from_array(inputs, XT_F32, B, I))));
}

typedef struct result { /* gradients of the four parameters of the linear layers, then the running mean */
    float fc1[H * I], fc2[3 * H], mean[H];
    double loss;
} result;

static void read_result(xt_module *m, result *r) {
    assert_true(xt_mark_step());
    assert_true(xt_read(xt_grad(xt_module_find(m, "h.fc1.weight")), r->fc1, sizeof r->fc1));
    assert_true(xt_read(xt_grad(xt_module_find(m, "fc2.weight")), r->fc2, sizeof r->fc2));
    assert_true(xt_read(xt_module_find(m, "h.bn.running_mean"), r->mean, sizeof r->mean));
}

typedef enum cut { UNCUT, WAIT, MARK, ITEM_AND_WAIT, WAIT_TWICE, KEPT_AND_WORK, CUT_COUNT } cut;

static void run(cut how, bool checkpoint, result *r) {
    xt_seed(7);
    xt_module *m = xt_module_new(net, &checkpoint);
    xt_tensor loss = forward(m);
    if (how == ITEM_AND_WAIT) r->loss = xt_item(loss);
    if (how == KEPT_AND_WORK) xt_keep(loss);
    if (how == WAIT || how == ITEM_AND_WAIT || how == WAIT_TWICE) assert_true(xt_wait());
    if (how == WAIT_TWICE) assert_true(xt_wait());
    if (how == MARK || how == KEPT_AND_WORK) assert_true(xt_mark_step());
    if (how == KEPT_AND_WORK) { /* a whole step in between, which reads the loss */
        xt_tensor y = xt_mul_scalar(xt_detach(loss), 2);
        assert_true(fabs(xt_item(y) - 2 * xt_item(loss)) < 1e-6);
        assert_true(xt_mark_step());
    }
    xt_backward(loss);
    assert_null(xt_error());
    if (how == KEPT_AND_WORK) xt_drop(loss);
    read_result(m, r);
    xt_module_free(m);
}

static void same_gradients(void **state) {
    (void)state;
    static result plain, got;
    for (int checkpoint = 0; checkpoint < 2; checkpoint++) {
        run(UNCUT, checkpoint, &plain);
        assert_true(fabsf(plain.fc1[0]) > 0 || fabsf(plain.fc1[7]) > 0);
        for (int how = WAIT; how < CUT_COUNT; how++) {
            memset(&got, 0, sizeof got);
            run((cut)how, checkpoint, &got);
            for (int i = 0; i < H * I; i++)
                if (fabsf(got.fc1[i] - plain.fc1[i]) > 1e-6f)
                    fail_msg("cut %d, fc1[%d]: %g instead of %g", how, i, (double)got.fc1[i], (double)plain.fc1[i]);
            for (int i = 0; i < 3 * H; i++) assert_true(fabsf(got.fc2[i] - plain.fc2[i]) <= 1e-6f);
            for (int i = 0; i < H; i++) assert_true(fabsf(got.mean[i] - plain.mean[i]) <= 1e-6f); /* updated once */
        }
    }
    nothing_left();
}

/* Half of the forward in one step, half in the next: gradients flow through the kept tensor. Its detached
 * value cuts them. */
static void through_a_kept_tensor(void **state) {
    (void)state;
    float a[3] = {1, 2, 3}, g[3];
    for (int detach = 0; detach < 2; detach++) {
        xt_tensor w = xt_requires_grad(xt_keep(xt_from_array(a, XT_F32, 3)), true);
        xt_tensor h = xt_keep(xt_mul(w, w));
        assert_true(xt_mark_step());
        xt_tensor use = detach ? xt_detach(h) : h;
        xt_backward(xt_sum(xt_mul(xt_mul(use, use), w))); /* w^5: 5 w^4; detached w^4 */
        assert_null(xt_error());
        assert_true(xt_read(xt_grad(w), g, sizeof g));
        for (int i = 0; i < 3; i++) assert_float_equal(g[i], (detach ? 1 : 5) * powf(a[i], 4), 1e-3);
        xt_drop(h);
        xt_drop(w);
        assert_true(xt_mark_step());
    }
    nothing_left();
}

static void through_two_steps(void **state) {
    (void)state;
    float a[3] = {1, 2, 3}, g[3];
    xt_tensor w = xt_requires_grad(xt_keep(xt_from_array(a, XT_F32, 3)), true), out[1];
    xt_tensor h = xt_keep(xt_mul(w, w));
    assert_true(xt_mark_step());
    xt_tensor loss = xt_keep(xt_sum(xt_mul(h, w))); /* w^3 */
    assert_true(xt_mark_step());
    assert_true(xt_grad_of(loss, 1, &w, out));
    assert_true(xt_read(out[0], g, sizeof g));
    for (int i = 0; i < 3; i++) assert_float_equal(g[i], 3 * a[i] * a[i], 1e-4);
    xt_backward(xt_mul_scalar(loss, 2));
    assert_true(xt_read(xt_grad(w), g, sizeof g));
    for (int i = 0; i < 3; i++) assert_float_equal(g[i], 6 * a[i] * a[i], 1e-4);
    nothing_left();
}

static void the_report(void **state) {
    (void)state;
    notices[0] = 0;
    setenv("XT_DEBUG", "exec", 1);
    xt_set_sink(sink, NULL);
    xt_tensor w = xt_requires_grad(xt_keep(xt_ones(XT_F32, 4)), true);
    int made = __LINE__ + 1;
    xt_tensor loss = xt_sum(xt_mul(w, w));
    int ended = __LINE__ + 1;
    assert_true(xt_wait());
    int64_t before = xt_counter("ops_recomputed");
    xt_backward(loss);
    assert_null(xt_error());
    xt_set_sink(NULL, NULL);
    unsetenv("XT_DEBUG");
    assert_true(xt_counter("ops_recomputed") - before >= 2);
    expect(notices, "xt_backward: recomputed ");
    expect_line(notices, made);
    expect_line(notices, ended);
    expect(notices, "ended the step (xt_wait)");
    nothing_left();
}

/* What cannot be had is an error that names the lines. */
static void what_is_gone(void **state) {
    (void)state;
    xt_seed(1);
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *opt = xt_sgd(m, .lr = 0.1);
    xt_backward(forward(m));
    xt_optimizer_step(opt);
    assert_true(xt_mark_step());
    int made = __LINE__ + 1;
    xt_tensor kept = xt_keep(forward(m));
    assert_true(xt_mark_step());
    xt_backward(forward(m));
    int update = __LINE__ + 1;
    xt_optimizer_step(opt);
    assert_true(xt_mark_step());
    xt_backward(kept);
    assert_non_null(xt_error());
    expect_line(xt_status_message(xt_error()), update);
    expect(xt_status_message(xt_error()), "has given a new value");
    expect(xt_status_message(xt_error()), "test_lazy_detached.c:"); /* of the forward's last op */
    (void)made;
    xt_clear_error();
    xt_drop(kept);

    xt_tensor old = xt_keep(forward(m));
    for (int i = 0; i < 4; i++) {
        xt_keep(xt_sum(xt_rand(XT_F32, 4)));
        assert_true(xt_mark_step());
    }
    xt_backward(old);
    expect_error("kept for two more steps", 0);
    xt_drop(old);

    xt_tensor first = xt_keep(forward(m)), second = xt_keep(forward(m));
    xt_backward(first);
    assert_true(xt_mark_step());
    xt_backward(second);
    expect_error("in which xt_backward", 0);
    xt_drop(first);
    xt_drop(second);
    nothing_left();
}

/* --- compiled step functions --- */
static xt_module *model;
static xt_tensor forward_only(const xt_tensor *in, int n, void *user) {
    (void)n;
    (void)user;
    return xt_mean(xt_square(xt_forward(model, in[0])));
}

static void a_compiled_forward(void **state) {
    (void)state;
    enum { STEPS = 6 };
    static float plain[STEPS][H * I], got[H * I];
    for (int compiled = 0; compiled < 2; compiled++) {
        xt_seed(3);
        model = xt_module_new(net, NULL);
        xt_optimizer *opt = xt_sgd(model, .lr = 0.1);
        xt_step *f = compiled ? xt_compile(forward_only) : NULL;
        int64_t replays = xt_counter("replays");
        for (int i = 0; i < STEPS; i++) {
            for (int k = 0; k < B * I; k++) inputs[k] = sinf((float)(k * (i + 1)));
            xt_tensor x = xt_from_array(inputs, XT_F32, B, I), loss = f ? xt_call(f, x) : forward_only(&x, 1, NULL);
            if (!f) assert_true(xt_mark_step());
            xt_backward(loss);
            assert_null(xt_error());
            float *to = f ? got : plain[i];
            assert_true(xt_read(xt_grad(xt_module_find(model, "h.fc1.weight")), to, sizeof got));
            for (int k = 0; f && k < H * I; k++)
                if (fabsf(got[k] - plain[i][k]) > 1e-5f)
                    fail_msg("step %d, [%d]: %g instead of %g", i, k, (double)got[k], (double)plain[i][k]);
            xt_optimizer_step(opt);
            assert_true(xt_mark_step());
        }
        if (f) assert_true(xt_counter("replays") - replays >= STEPS - 2);
        nothing_left();
    }
}

static xt_tensor late_loss;
static xt_tensor differentiates(const xt_tensor *in, int n, void *user) {
    (void)n;
    (void)user;
    xt_backward(late_loss);
    return xt_sum(in[0]);
}

/* The recording reads the batch of the ended step: it is not replayed with an old one. */
static void backward_inside_a_compiled_function(void **state) {
    (void)state;
    xt_step *f = xt_compile(differentiates);
    xt_tensor w = xt_requires_grad(xt_keep(xt_ones(XT_F32, 2)), true);
    xt_tensor one = xt_keep(xt_ones(XT_F32, 2));
    for (int i = 1; i < 5; i++) {
        float a[2] = {(float)i, 2}, g[2];
        late_loss = xt_keep(xt_sum(xt_mul(w, xt_from_array(a, XT_F32, 2))));
        assert_true(xt_mark_step());
        xt_call(f, one);
        assert_null(xt_error());
        assert_true(xt_read(xt_grad(w), g, sizeof g));
        assert_float_equal(g[0], i * (i + 1) / 2, 1e-5); /* they add up */
        xt_drop(late_loss);
        assert_true(xt_mark_step());
    }
    nothing_left();
}

/* --- cost --- */
static void nothing_piles_up(void **state) {
    (void)state;
    xt_tensor w = xt_requires_grad(xt_keep(xt_ones(XT_F32, 2)), true), sum = {0};
    int64_t graphs = 0, buffers = 0;
    for (int i = 0; i < 10000; i++) { /* as an evaluation that forgot xt_no_grad_begin, and keeps its sum */
        xt_tensor loss = xt_sum(xt_mul(w, w)), next = xt_keep(sum.slot ? xt_add(sum, loss) : loss);
        if (sum.slot) xt_drop(sum);
        sum = next;
        assert_true(i % 2 ? xt_mark_step() : xt_wait());
        if (i == 10) {
            graphs = xt_live_objects("graph");
            buffers = xt_live_objects("buffer");
        }
    }
    assert_true(xt_live_objects("graph") <= graphs);
    assert_true(xt_live_objects("buffer") <= buffers + 1);
    assert_float_equal(xt_item(sum), 20000, 0);
    nothing_left();
}

int main(void) {
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_gradients),
        cmocka_unit_test(through_a_kept_tensor),
        cmocka_unit_test(through_two_steps),
        cmocka_unit_test(the_report),
        cmocka_unit_test(what_is_gone),
        cmocka_unit_test(a_compiled_forward),
        cmocka_unit_test(backward_inside_a_compiled_function),
        cmocka_unit_test(nothing_piles_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
