/* Several optimizers over one network, each with the others' parameters frozen: a step takes the gradients of its own
 * parameters, and those of the others stay. Momentum that begins at 0, and moves through it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

enum { STEPS = 10, WIDE = 3 };

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    xt_tensor a = xt_param(m, "a", "ones", 0, XT_F32, WIDE), b = xt_param(m, "b", "ones", 0, XT_F32, WIDE);
    return xt_add(xt_mul(x, a), xt_mul(xt_square(x), b));
}

static xt_tensor loss_of(xt_module *m, int t) {
    float x[WIDE] = {1 + t % 3, -0.5f * (float)t, 2};
    return xt_sum(xt_forward(m, xt_from_array(x, XT_F32, WIDE)));
}

static void values(xt_module *m, const char *name, float out[WIDE]) {
    assert_true(xt_read(xt_module_find(m, name), out, WIDE * sizeof *out));
}

static void no_error(const char *where, int t) {
    if (xt_error()) fail_msg("%s, step %d: %s", where, t, xt_status_message(xt_error()));
}

static bool has_gradient(xt_module *m, const char *name) {
    bool none = xt_is_none(xt_grad(xt_module_find(m, name)));
    xt_clear_error();
    return !none;
}

/* --- several --- */
/* By PyTorch: each parameter moves by its own optimizer's rule, whichever order they step in. */
static void each_its_own(void **state) {
    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        xt_module *m = xt_module_new(net, NULL);
        xt_optimizer *of_a = xt_sgd(m, .lr = 0.5), *of_b = xt_sgd(m, .lr = 0.25);
        xt_optimizer_group(of_a, "b", .frozen = XT_ON);
        xt_optimizer_group(of_b, "a", .frozen = XT_ON);
        float a[WIDE], b[WIDE], sum[WIDE] = {0}, squares[WIDE] = {0};
        int64_t compiles = xt_counter("compiles");
        for (int t = 0; t < 4; t++) {
            xt_backward(loss_of(m, t));
            xt_optimizer_step(swapped ? of_b : of_a);
            assert_true(has_gradient(m, swapped ? "a" : "b"));
            assert_false(has_gradient(m, swapped ? "b" : "a"));
            xt_optimizer_step(swapped ? of_a : of_b);
            assert_false(has_gradient(m, "a") || has_gradient(m, "b"));
            no_error("each_its_own", t);
            xt_mark_step();
            float x[WIDE] = {1 + t % 3, -0.5f * (float)t, 2};
            for (int i = 0; i < WIDE; i++) sum[i] += x[i], squares[i] += x[i] * x[i];
        }
        assert_true(xt_counter("compiles") - compiles <= 1);
        values(m, "a", a);
        values(m, "b", b);
        for (int i = 0; i < WIDE; i++) {
            assert_float_equal(a[i], 1 - 0.5f * sum[i], 1e-5);
            assert_float_equal(b[i], 1 - 0.25f * squares[i], 1e-5);
        }
        xt_optimizer_free(of_a);
        xt_optimizer_free(of_b);
        xt_module_free(m);
    }
    assert_int_equal(xt_finish(), 0);
}

/* What is nobody's is forgotten, so that it is not computed: alone, frozen by both, and when the other is freed. */
static void nobodys(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.5), *other = xt_sgd(m, .lr = 0.5);
    xt_optimizer_group(o, "b", .frozen = XT_ON);
    for (int t = 0; t < 2; t++) {
        xt_backward(loss_of(m, t));
        if (t) xt_optimizer_free(other);
        xt_optimizer_step(o);
        assert_int_equal(has_gradient(m, "b"), t == 0);
        no_error("nobodys", t);
        if (!t) xt_optimizer_step(other);
        xt_mark_step();
    }
    other = xt_sgd(m, .lr = 0.5);
    xt_optimizer_group(other, "b", .frozen = XT_ON);
    xt_backward(loss_of(m, 0));
    xt_optimizer_step(o);
    assert_false(has_gradient(m, "b"));
    no_error("nobodys", 2);
    assert_int_equal(xt_finish(), 0);
}

/* The scaler unscales what its optimizer takes, and clipping leaves the others' alone. */
static void scaled_and_clipped(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *of_a = xt_sgd(m, .lr = 1), *of_b = xt_sgd(m, .lr = 1, .clip_value = 0.5);
    xt_loss_scaler *s = xt_loss_scaler_new(.init_scale = 8);
    xt_optimizer_group(of_a, "b", .frozen = XT_ON);
    xt_optimizer_group(of_b, "a", .frozen = XT_ON);
    xt_backward(xt_scale_loss(s, loss_of(m, 0)));
    xt_scaler_step(s, of_a);
    xt_scaler_step(s, of_b);
    xt_scaler_update(s);
    xt_mark_step();
    no_error("scaled_and_clipped", 0);
    float a[WIDE], b[WIDE];
    values(m, "a", a);
    values(m, "b", b);
    assert_float_equal(a[2], 1 - 2, 1e-5);
    assert_float_equal(b[2], 1 - 0.5, 1e-5);
    assert_int_equal(xt_finish(), 0);
}

/* --- momentum --- */
/* PyTorch's: in a step whose momentum is 0 the running sum stays, and the first step with one begins it. */
static const double momenta[STEPS] = {0, 0, 0.5, 0.5, 0, 0, 0.5, 0.25, 0, 0.75};

static void expected(int t, const float g[WIDE], double dampening, float buf[WIDE], bool *begun, float p[WIDE]) {
    double mu = momenta[t];
    for (int i = 0; i < WIDE; i++) {
        if (mu != 0) buf[i] = *begun ? (float)(mu * buf[i] + (1 - dampening) * g[i]) : g[i];
        p[i] -= 0.125f * (mu != 0 ? buf[i] : g[i]);
    }
    *begun = *begun || mu != 0;
}

static xt_module *compiled_net;
static xt_optimizer *compiled_opt;
static xt_tensor one_step(const xt_tensor *in, int n, void *user) {
    (void)n, (void)user;
    xt_tensor l = xt_sum(xt_forward(compiled_net, in[0]));
    xt_backward(l);
    xt_optimizer_step(compiled_opt);
    return l;
}

static void through_zero(bool compiled, double dampening) {
    xt_module *m = compiled_net = xt_module_new(net, NULL);
    xt_optimizer *o = compiled_opt = xt_sgd(m, .lr = 0.125, .dampening = dampening);
    xt_step *s = xt_compile(one_step);
    float want[WIDE] = {1, 1, 1}, buf[WIDE] = {0}, got[WIDE];
    bool begun = false;
    int64_t compiles = xt_counter("compiles");
    for (int t = 0; t < STEPS; t++) {
        float x[WIDE] = {1 + t % 3, -0.5f * (float)t, 2};
        xt_tensor in = xt_from_array(x, XT_F32, WIDE);
        if (t > 1) xt_optimizer_set_momentum(o, momenta[t]);
        if (compiled)
            xt_call(s, in);
        else
            one_step(&in, 1, NULL);
        no_error("through_zero", t);
        if (!compiled) xt_mark_step();
        expected(t, x, dampening, buf, &begun, want);
    }
    /* one more at the first call */
    if (xt_counter("compiles") - compiles > 2)
        fail_msg("%lld programs of %s", (long long)(xt_counter("compiles") - compiles), compiled ? "xt_call" : "steps");
    values(m, "a", got);
    for (int i = 0; i < WIDE; i++)
        if (!(got[i] - want[i] < 1e-4f && want[i] - got[i] < 1e-4f))
            fail_msg("compiled %d, dampening %g: a[%d] is %g, want %g", compiled, dampening, i, (double)got[i],
                     (double)want[i]);
    xt_step_free(s);
    xt_optimizer_free(o);
    xt_module_free(m);
}

static void momentum_through_zero(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) through_zero(k & 1, k & 2 ? 0.25 : 0);
    assert_int_equal(xt_finish(), 0);
}

/* Every kind that has a momentum takes any one in any step, with one program for all of them. */
static void every_kind(void **state) {
    (void)state;
    for (int k = 0; k < 7; k++) {
        xt_module *m = xt_module_new(net, NULL);
        xt_optimizer *o = k == 0   ? xt_rmsprop(m, .lr = 0.01)
                          : k == 1 ? xt_adam(m, .beta1 = 0)
                          : k == 2 ? xt_lamb(m, .beta1 = 0)
                          : k == 3 ? xt_nadam(m, .beta1 = 0)
                          : k == 4 ? xt_adamax(m, .beta1 = 0)
                          : k == 5 ? xt_lion(m, .beta1 = 0)
                                   : xt_sparse_adam(m, .beta1 = 0);
        int64_t compiles = xt_counter("compiles");
        for (int t = 0; t < STEPS; t++) {
            if (t > 1) xt_optimizer_set_momentum(o, momenta[t]);
            xt_backward(loss_of(m, t));
            xt_optimizer_step(o);
            no_error("every_kind", k);
            xt_mark_step();
        }
        if (xt_counter("compiles") - compiles > 2)
            fail_msg("kind %d: %lld programs", k, (long long)(xt_counter("compiles") - compiles));
        xt_optimizer_free(o);
        xt_module_free(m);
    }
    assert_int_equal(xt_finish(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_its_own),          cmocka_unit_test(nobodys),    cmocka_unit_test(scaled_and_clipped),
        cmocka_unit_test(momentum_through_zero), cmocka_unit_test(every_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
