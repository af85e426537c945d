/* xt_cond and xt_while: values, gradients and second ones beside the same thing written out with what the host knows;
 * loops of known, unknown and bounded length; branches in loops and loops in branches; draws, indices outside their
 * axis, and what cannot be done inside. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

static void nothing_left(void) {
    static const char *const kinds[] = {"tensor", "buffer", "executable", "client", "graph"};
    assert_int_equal(xt_finish(), 0);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (xt_live_objects(kinds[i]) != 0)
            fail_msg("%lld %s objects are alive", (long long)xt_live_objects(kinds[i]), kinds[i]);
}

static void refused(const char *with) {
    assert_non_null(xt_error());
    if (!strstr(xt_status_message(xt_error()), with))
        fail_msg("the message does not say '%s': %s", with, xt_status_message(xt_error()));
    xt_clear_error();
    xt_mark_step();
}

static void close_to(xt_tensor a, xt_tensor b, double tolerance, const char *what) {
    double x[64], y[64];
    assert_int_equal(xt_numel(a), xt_numel(b));
    size_t n = (size_t)xt_numel(a);
    if (!xt_read(a, x, n * 8) || !xt_read(b, y, n * 8))
        fail_msg("%s: %s", what, xt_error() ? xt_status_message(xt_error()) : "no value");
    for (size_t i = 0; i < n; i++)
        if (!(fabs(x[i] - y[i]) <= tolerance * (1 + fabs(y[i]))))
            fail_msg("%s[%zu]: %.17g instead of %.17g", what, i, x[i], y[i]);
}

static xt_tensor three(double a, double b, double c) {
    return xt_requires_grad(xt_from_array(((double[3]){a, b, c}), XT_F64, 3), true);
}

/* A constant is no number that the host could decide by: it comes from data. */
static xt_tensor truth(bool yes) {
    return xt_from_array(((float[1]){yes ? 3 : 0}), XT_F32, 1);
}

/* --- xt_cond --- */
typedef struct outside {
    xt_tensor w;
    bool own; /* gradients of both branches are of what they read from outside, too */
} outside;
static void on_true(const xt_tensor *in, xt_tensor *out, void *user) {
    const outside *o = user;
    out[0] = xt_sin(xt_mul(in[0], o->w));
    out[1] = xt_sum(xt_square(in[1]));
}
static void on_false(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    out[0] = xt_mul(in[0], xt_exp(in[1]));
    out[1] = xt_mul_scalar(xt_sum(in[1]), 2);
}

static xt_tensor loss_of(const xt_tensor *out) {
    return xt_add(xt_sum(xt_square(out[0])), xt_mul(out[1], out[1]));
}

static void branches(void **state) {
    (void)state;
    for (int yes = 0; yes < 2; yes++) {
        xt_tensor in[3] = {three(1, -2, 0.5), three(0.3, 0.7, -1), three(2, 0.1, -0.4)}, g[2][3], gg[2][3], out[2][2];
        outside o = {.w = in[2]};
        assert_true(xt_cond(truth(yes), on_true, on_false, 2, in, 2, out[0], &o));
        (yes ? on_true : on_false)(in, out[1], &o);
        for (int k = 0; k < 2; k++) close_to(out[0][k], out[1][k], 1e-15, "output");
        for (int k = 0; k < 2; k++)
            assert_true(xt_grad_of(loss_of(out[k]), 3, in, g[k], .allow_unused = XT_ON, .create_graph = XT_ON));
        for (int i = 0; i < 3; i++) {
            if (xt_is_none(g[1][i])) { /* the other branch reads it */
                close_to(g[0][i], xt_zeros(XT_F64, 3), 0, "a gradient of what did not run");
                continue;
            }
            close_to(g[0][i], g[1][i], 1e-13, "gradient");
            for (int k = 0; k < 2; k++)
                assert_true(xt_grad_of(xt_sum(xt_square(g[k][i])), 3, in, gg[k], .allow_unused = XT_ON));
            for (int j = 0; j < 3; j++)
                if (!xt_is_none(gg[1][j])) close_to(gg[0][j], gg[1][j], 1e-12, "second gradient");
        }
        xt_mark_step();
    }
    nothing_left();
}

/* --- xt_while --- */
typedef struct loop {
    xt_tensor w;
    double limit;
} loop;
static xt_tensor below(const xt_tensor *s, void *user) {
    const loop *l = user;
    return xt_lt(xt_sum(xt_square(s[0])), xt_full(l->limit, XT_F64, 1));
}
static void step(xt_tensor *s, void *user) {
    const loop *l = user;
    s[0] = xt_add(xt_mul(s[0], l->w), xt_mul_scalar(xt_sin(s[1]), 0.1));
    s[1] = xt_add_scalar(s[1], 1);
}
static xt_tensor counted(const xt_tensor *s, void *user) {
    (void)user;
    return xt_lt(s[2], xt_full(4, XT_F64, 1));
}
static void counted_step(xt_tensor *s, void *user) {
    step(s, user);
    s[2] = xt_add_scalar(s[2], 1);
}

/* What the loop does, with the host looking. */
static int written_out(loop *l, xt_tensor *s, int most) {
    int n = 0;
    while (n < most && xt_item(below(s, l)) != 0) step(s, l), n++;
    return n;
}

static void check_loop(double limit, int64_t most, int expected) {
    xt_tensor x = three(0.5, -0.3, 0.2), w = three(1.5, 1.7, -1.2), leaves[2] = {x, w}, g[2][2], gg[2][2];
    loop l = {w, limit};
    xt_tensor s[2][2] = {{x, xt_zeros(XT_F64, 3)}, {x, xt_zeros(XT_F64, 3)}};
    assert_true(xt_while(below, step, 2, s[0], .max_steps = most, .user = &l));
    assert_int_equal(written_out(&l, s[1], most < 0 ? 1000 : (int)most), expected);
    for (int k = 0; k < 2; k++) {
        close_to(s[0][k], s[1][k], 1e-14, "state");
        assert_true(xt_grad_of(xt_sum(xt_cos(s[k][0])), 2, leaves, g[k], .create_graph = XT_ON, .allow_unused = XT_ON));
    }
    for (int i = 0; i < 2; i++) {
        if (xt_is_none(g[1][i])) continue; /* no step: nothing reads w */
        close_to(g[0][i], g[1][i], 1e-12, "gradient");
        if (most < 0 && expected > 4) continue; /* a second derivative of a loop of unknown length takes its cube */
        for (int k = 0; k < 2; k++)
            assert_true(xt_grad_of(xt_sum(xt_square(g[k][i])), 2, leaves, gg[k], .allow_unused = XT_ON));
        for (int j = 0; j < 2; j++)
            if (!xt_is_none(gg[1][j])) close_to(gg[0][j], gg[1][j], 1e-11, "second gradient");
    }
    xt_mark_step();
}

static void loops(void **state) {
    (void)state;
    check_loop(5, -1, 3);
    check_loop(50, -1, 6);
    check_loop(0.1, -1, 0);
    check_loop(5, 12, 3);
    check_loop(50, 3, 3);
    check_loop(0.1, 2, 0);
    nothing_left();
}

/* A loop that counts to a constant is one of known length, and gives what unrolling gives. */
static void counts(void **state) {
    (void)state;
    xt_tensor x = three(0.5, -0.3, 0.2), w = three(1.5, 1.7, -1.2), g[2];
    loop l = {w, 0};
    xt_tensor s[2][3];
    for (int k = 0; k < 2; k++) s[k][0] = x, s[k][1] = xt_zeros(XT_F64, 3), s[k][2] = xt_zeros(XT_F64, 1);
    assert_true(xt_while(counted, counted_step, 3, s[0], .user = &l));
    for (int i = 0; i < 4; i++) step(s[1], &l);
    for (int k = 0; k < 2; k++) assert_true(xt_grad_of(xt_sum(s[k][0]), 1, &w, &g[k]));
    close_to(g[0], g[1], 1e-13, "gradient");
    nothing_left();
}

/* --- inside one another --- */
static void grows(const xt_tensor *in, xt_tensor *out, void *user) {
    loop *l = user;
    xt_tensor s[2] = {in[0], xt_zeros(XT_F64, 3)};
    xt_while(below, step, 2, s, .user = l);
    out[0] = s[0];
}
static void same(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    out[0] = xt_mul_scalar(in[0], 0.5);
}
static void cell(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    (void)y;
    xt_cond(x[0], grows, same, 1, carry, 1, carry, user);
}

static void nested(void **state) {
    (void)state;
    xt_tensor x = three(0.5, -0.3, 0.2), w = three(1.5, 1.7, -1.2), a = x, b = x, g[2][2], leaves[2] = {x, w};
    loop l = {w, 5};
    xt_tensor which = xt_from_array(((float[4]){0, 1, 0, 1}), XT_F32, 4);
    assert_true(xt_scan(cell, 1, &a, 1, &which, 0, NULL, .user = &l));
    for (int i = 0; i < 4; i++) (i % 2 ? grows : same)(&b, &b, &l);
    close_to(a, b, 1e-14, "carry");
    assert_true(xt_grad_of(xt_sum(a), 2, leaves, g[0]) && xt_grad_of(xt_sum(b), 2, leaves, g[1]));
    for (int i = 0; i < 2; i++) close_to(g[0][i], g[1][i], 1e-12, "gradient");
    nothing_left();
}

/* --- draws and indices --- */
static void add_draw(xt_tensor *s, void *user) {
    (void)user;
    xt_tensor at = xt_cast(xt_eq(xt_arange(3, XT_F64), s[1]), XT_F64);
    s[0] = xt_add(s[0], xt_mul(at, xt_rand(XT_F64, 1)));
    s[1] = xt_add_scalar(s[1], 1);
}
static xt_tensor to_three(const xt_tensor *s, void *user) {
    return xt_lt(s[1], *(xt_tensor *)user);
}
static void draw_one(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    out[0] = xt_add(in[0], xt_rand(XT_F64, 3));
}

static void draws(void **state) {
    (void)state;
    double v[6];
    xt_tensor s[2] = {xt_zeros(XT_F64, 3), xt_zeros(XT_F64, 1)}, most = xt_from_array(((double[1]){3}), XT_F64, 1), out;
    assert_true(xt_while(to_three, add_draw, 2, s, .user = &most));
    xt_tensor zeros = xt_zeros(XT_F64, 3);
    assert_true(xt_cond(truth(true), draw_one, same, 1, &zeros, 1, &out, NULL));
    assert_true(xt_read(s[0], v, 24) && xt_read(out, v + 3, 24));
    for (int i = 0; i < 6; i++) {
        assert_true(v[i] > 0);
        for (int k = 0; k < i; k++) assert_true(v[i] != v[k]);
    }
    nothing_left();
}

static void look_up(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    out[0] = xt_take(xt_arange(4, XT_F64), in[0]);
}
static void nothing_looked_up(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    out[0] = xt_cast(in[0], XT_F64);
}
static void look_on(xt_tensor *s, void *user) {
    (void)user;
    s[1] = xt_add(s[1], xt_sum(xt_take(xt_arange(4, XT_F64), s[0])));
    s[0] = xt_add(s[0], xt_ones(XT_I64, 2));
}
static xt_tensor up_to(const xt_tensor *s, void *user) {
    return xt_lt(xt_max(s[0]), xt_full(*(double *)user, XT_I64, 1));
}

/* XT_DEBUG=bounds sees indices of the branch that runs, and of every iteration. */
static void outside_their_axis(void **state) {
    (void)state;
    setenv("XT_DEBUG", "bounds", 1);
    for (int bad = 0; bad < 4; bad++) {
        xt_tensor at = xt_cast(xt_add_scalar(xt_from_array(((double[2]){1, bad & 1 ? 6 : 2}), XT_F64, 2), 0), XT_I64);
        xt_tensor out;
        assert_true(xt_cond(truth(bad & 2), look_up, nothing_looked_up, 1, &at, 1, &out, NULL));
        xt_when_ready(xt_sum(out), NULL, NULL);
        if (xt_mark_step() == (bad == 3)) fail_msg("a branch, case %d", bad);
        xt_clear_error();
        double most = bad & 1 ? 6 : 4;
        at = xt_cast(xt_add_scalar(xt_from_array(((double[2]){0, 1}), XT_F64, 2), 0), XT_I64);
        xt_tensor s[2] = {at, xt_zeros(XT_F64, 1)};
        assert_true(xt_while(up_to, look_on, 2, s, .max_steps = bad & 2 ? 9 : -1, .user = &most));
        xt_when_ready(xt_sum(s[1]), NULL, NULL);
        if (xt_mark_step() == (bad & 1)) fail_msg("a loop, case %d", bad);
        xt_clear_error();
    }
    unsetenv("XT_DEBUG");
    nothing_left();
}

/* --- mistakes --- */
static void two_dims(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    out[0] = xt_reshape(in[0], 3, 1);
}
static void reads(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    xt_item(xt_sum(in[0]));
    out[0] = in[0];
}
static void becomes_f32(xt_tensor *s, void *user) {
    (void)user;
    s[0] = xt_cast(s[0], XT_F32);
}
static xt_tensor never(const xt_tensor *s, void *user) {
    (void)user;
    return s[0];
}

static void mistakes(void **state) {
    (void)state;
    xt_tensor x = three(1, 2, 3), out;
    assert_false(xt_cond(truth(true), same, two_dims, 1, &x, 1, &out, NULL));
    assert_true(xt_is_error(out));
    refused("xt_cond: output 0 is tensor<3xf64> where the condition holds and tensor<3x1xf64>");
    x = three(1, 2, 3);
    assert_false(xt_cond(x, same, same, 1, &x, 1, &out, NULL));
    refused("the condition is [3]: expected one element");
    x = three(1, 2, 3);
    assert_false(xt_cond(truth(true), same, reads, 1, &x, 1, &out, NULL));
    refused("xt_item inside the function of xt_cond");
    x = three(1, 2, 3);
    loop l = {x, 1};
    assert_false(xt_while(below, becomes_f32, 1, &x, .user = &l));
    refused("xt_while: state 0 is tensor<3xf64> before a step and tensor<3xf32> behind it");
    x = three(1, 2, 3);
    assert_false(xt_while(never, becomes_f32, 1, &x));
    refused("xt_while: the condition is [3]");
    x = three(1, 2, 3);
    assert_false(xt_while(never, becomes_f32, 1, &x, .max_steps = 0));
    refused(".max_steps = 0 is out of range");
    nothing_left();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outside_their_axis),
        cmocka_unit_test(branches),
        cmocka_unit_test(loops),
        cmocka_unit_test(counts),
        cmocka_unit_test(nested),
        cmocka_unit_test(draws),
        cmocka_unit_test(mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
