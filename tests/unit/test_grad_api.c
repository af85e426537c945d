/* The public face of differentiation: what gradients mean, when they add, what is an error. The cases are PyTorch's
 * unless a line says otherwise. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lazy/lazy.h"
#include <xtrain/xtrain.h>

static void nothing_left(void) {
    static const char *const kinds[] = {"tensor", "buffer", "executable", "client", "graph"};
    assert_int_equal(xt_finish(), 0);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (xt_live_objects(kinds[i]) != 0)
            fail_msg("%lld %s objects are alive", (long long)xt_live_objects(kinds[i]), kinds[i]);
}

static xt_tensor vector(float a, float b) {
    return xt_from_array(((float[]){a, b}), XT_F32, 2);
}
static xt_tensor wanted(float a, float b) {
    return xt_requires_grad(vector(a, b), true);
}

static void is_near(xt_tensor t, double a, double b) {
    float v[2];
    if (!xt_read(t, v, sizeof v)) fail_msg("no value: %s", xt_error() ? xt_status_message(xt_error()) : "?");
    if (!(fabs(v[0] - a) <= 1e-5 * (1 + fabs(a)) && fabs(v[1] - b) <= 1e-5 * (1 + fabs(b))))
        fail_msg("%g %g instead of %g %g", v[0], v[1], a, b);
}

static void refused(const char *with) {
    assert_non_null(xt_error());
    if (!strstr(xt_status_message(xt_error()), with))
        fail_msg("the message does not say '%s': %s", with, xt_status_message(xt_error()));
    xt_clear_error();
}

/* --- xt_backward --- */
static void gradients_add(void **state) {
    (void)state;
    xt_tensor x = wanted(1, 2), loss = xt_sum(xt_mul(x, x));
    assert_true(xt_is_none(xt_grad(x)));
    xt_backward(loss);
    is_near(xt_grad(x), 2, 4);
    xt_backward(loss); /* the same graph again: nothing was freed */
    is_near(xt_grad(x), 4, 8);
    xt_backward(xt_sum(x)); /* another loss */
    is_near(xt_grad(x), 5, 9);
    nothing_left();
}

static void results_of_ops_have_none_unless_retained(void **state) {
    (void)state;
    xt_tensor x = wanted(1, 2), y = xt_mul(x, x), z = xt_retain_grad(xt_exp(y));
    assert_true(xt_requires_grad(y, true).slot == y.slot); /* flows already: nothing changes */
    xt_backward(xt_sum(xt_mul(z, z)));
    assert_true(xt_is_none(xt_grad(y)));
    is_near(xt_grad(z), 2 * exp(1), 2 * exp(4));
    assert_null(xt_error());
    xt_requires_grad(y, false);
    refused("xt_detach");
    xt_retain_grad(vector(1, 2));
    refused("never have one");
    nothing_left();
}

static void made_by_an_op_and_still_a_leaf(void **state) {
    (void)state;
    xt_tensor x = xt_requires_grad(xt_full(3, XT_F32, 2), true), y = xt_requires_grad(xt_detach(xt_mul(x, x)), true);
    xt_backward(xt_sum(xt_mul(x, y)));
    is_near(xt_grad(x), 9, 9);
    is_near(xt_grad(y), 3, 3);
    xt_keep(x);
    assert_true(xt_mark_step());
    xt_backward(xt_sum(xt_mul(x, x))); /* it stays a leaf in later steps */
    is_near(xt_grad(x), 15, 15);
    xt_drop(x);
    nothing_left();
}

static void a_loss_may_be_the_leaf(void **state) {
    (void)state;
    xt_tensor x = xt_requires_grad(xt_full(3, XT_F32, 1), true);
    xt_backward(x);
    assert_true(xt_item(xt_grad(x)) == 1);
    nothing_left();
}

static void flows_stop(void **state) {
    (void)state;
    xt_tensor x = wanted(1, 2), y = xt_mul(x, xt_detach(x));
    xt_no_grad_begin();
    xt_tensor z = xt_exp(x);
    xt_no_grad_end();
    xt_backward(xt_sum(xt_mul(y, z)));
    is_near(xt_grad(x), exp(1), 2 * exp(2));
    xt_requires_grad(x, false);
    xt_tensor w = wanted(1, 1);
    xt_backward(xt_sum(xt_mul(x, w)));
    is_near(xt_grad(x), exp(1), 2 * exp(2));
    is_near(xt_grad(w), 1, 2);
    nothing_left();
}

static void losses_that_cannot_be(void **state) {
    (void)state;
    xt_tensor x = wanted(1, 2);
    xt_backward(xt_mul(x, x));
    refused("one element");
    xt_backward(xt_sum(vector(1, 2)));
    refused("nothing that requires a gradient");
    xt_backward(xt_sum(xt_detach(x)));
    refused("detached");
    xt_backward(xt_sum(xt_cast(x, XT_I64)));
    refused("integer");
    xt_requires_grad(xt_cast(x, XT_I32), true);
    refused("only floating-point and complex");
    nothing_left();
}

/* PyTorch refuses to go back through a value that was overwritten; here the value that was used counts, in
 * every update. */
static void states_updated_in_between(void **state) {
    (void)state;
    float w0[2] = {1, 2};
    xt_tensor w = lazy_state_new(XT_HERE, LAZY_PARAMETER, "w", XT_F32, 1, (int64_t[]){2}, w0);
    xt_requires_grad(w, true);
    xt_tensor first = xt_sum(xt_mul(w, w));
    for (int i = 0; i < 2; i++) {
        xt_no_grad_begin();
        lazy_begin(XT_HERE);
        lazy_assign(w, xt_add_scalar(w, 10));
        xt_no_grad_end();
    }
    xt_tensor second = xt_sum(xt_mul_scalar(w, 100)), g;
    xt_backward(xt_add(first, second));
    is_near(xt_grad(w), 102, 104);
    assert_true(xt_grad_of(first, 1, &w, &g));
    is_near(g, 2, 4);
    is_near(w, 21, 22);
    assert_true(xt_mark_step());
    is_near(xt_grad(w), 102, 104);
    xt_drop(w);
    nothing_left();
}

/* --- xt_grad_of --- */
static void with_respect_to_anything(void **state) {
    (void)state;
    xt_tensor x = wanted(1, 2), c = vector(3, 4), y = xt_mul(x, c), loss = xt_sum(xt_mul(y, y));
    xt_tensor by[3] = {x, c, y}, g[3];
    assert_true(xt_grad_of(loss, 3, by, g));
    is_near(g[0], 18, 64);
    is_near(g[1], 6, 32);
    is_near(g[2], 6, 16);
    assert_true(xt_is_none(xt_grad(x)));
    assert_true(xt_is_none(xt_grad(c)));
    nothing_left();
}

/* A function without a kink has its derivative where two of its branches meet. */
static void branches_meet(void **state) {
    (void)state;
    xt_tensor x = wanted(0, 3), y = wanted(0, 3);
    xt_backward(xt_sum(xt_logaddexp(x, y)));
    is_near(xt_grad(x), 0.5, 0.5);
    is_near(xt_grad(y), 0.5, 0.5);
    x = wanted(0, 3), y = wanted(0, 3);
    xt_backward(xt_sum(xt_logaddexp2(x, y)));
    is_near(xt_grad(x), 0.5, 0.5);
    x = wanted(0, 0);
    xt_backward(xt_sum(xt_dist_log_prob(xt_bernoulli_logits_dist(x), vector(0, 1))));
    is_near(xt_grad(x), -0.5, 0.5);
    x = wanted(0, 0);
    xt_backward(xt_sum(xt_dist_entropy(xt_bernoulli_logits_dist(x))));
    is_near(xt_grad(x), 0, 0);
    x = wanted(0.5f, 0.5f);
    xt_backward(xt_sum(xt_dist_log_prob(xt_bernoulli_dist(x), vector(0, 1))));
    is_near(xt_grad(x), -2, 2);
    nothing_left();
}

/* PyTorch's choices at ties, also beside a number and a constant. */
static void ties(void **state) {
    (void)state;
    xt_tensor x = wanted(0, 2);
    xt_backward(xt_sum(xt_maximum(x, 0)));
    is_near(xt_grad(x), 0.5, 1);
    x = wanted(0, 2);
    xt_backward(xt_sum(xt_minimum(x, xt_zeros(XT_F32, 2))));
    is_near(xt_grad(x), 0.5, 0);
    x = wanted(0, 2);
    xt_backward(xt_sum(xt_relu(x)));
    is_near(xt_grad(x), 0, 1);
    x = wanted(0.5f, 1); /* of class 1: the margin is held exactly */
    xt_backward(xt_multi_margin_loss(xt_reshape(x, 1, 2), xt_from_array((int64_t[]){1}, XT_I64, 1), .margin = 0.5));
    is_near(xt_grad(x), 0, 0);
    x = wanted(0, 1);
    xt_backward(xt_multilabel_margin_loss(xt_reshape(x, 1, 2), xt_from_array((int64_t[]){1, -1}, XT_I64, 1, 2)));
    is_near(xt_grad(x), 0, 0);
    nothing_left();
}

/* Where a number leaves nothing of a tensor its gradient is zeros: it is there, as when the number is another one. */
static void nothing_is_left(void **state) {
    (void)state;
    xt_tensor x = wanted(3, 2), square = xt_full(1, XT_F32, 2, 2);
    xt_backward(xt_sum(xt_pow(x, 0)));
    is_near(xt_grad(x), 0, 0);
    x = wanted(INFINITY, 2);
    xt_backward(xt_sum(xt_addmv(x, square, vector(1, 2), 0, 1)));
    is_near(xt_grad(x), 0, 0);
    x = wanted(INFINITY, 2);
    xt_backward(xt_sum(xt_addmm(x, square, square, .beta = 0)));
    is_near(xt_grad(x), 0, 0);
    nothing_left();
}

/* torch asks for no_grad where a leaf gets a value; here the value is a leaf again, whatever it was made of. */
static void a_leafs_new_value_is_a_leaf(void **state) {
    (void)state;
    const float two[2] = {1, 2};
    xt_tensor w = xt_requires_grad(xt_state("w", XT_F32, 2), true);
    xt_assign(w, xt_from_array(two, XT_F32, 2));
    xt_mark_step();
    xt_tensor before = xt_sum(xt_square(w));
    xt_assign(w, xt_mul_scalar(w, 3));
    xt_tensor after = xt_sum(xt_square(w));
    xt_backward(after);
    is_near(xt_grad(w), 6, 12); /* 2w of the new value, and nothing of the old one */
    xt_backward(before);
    is_near(xt_grad(w), 8, 16); /* a loss made of the old value adds its derivative by that one: 2 and 4 */
    xt_drop(w);
    nothing_left();
}

static void roots_with_many_elements(void **state) {
    (void)state;
    xt_tensor x = wanted(1, 2), y = xt_mul(x, x), g;
    assert_true(xt_grad_of(y, 1, &x, &g, .grad_output = vector(10, 100)));
    is_near(g, 20, 400);
    assert_false(xt_grad_of(y, 1, &x, &g));
    assert_true(xt_is_error(g));
    refused("one element");
    assert_false(xt_grad_of(y, 1, &x, &g, .grad_output = xt_full(1, XT_F32, 3)));
    refused("tensor<3xf32>");
    nothing_left();
}

static void unused_tensors(void **state) {
    (void)state;
    xt_tensor x = wanted(1, 2), c = vector(3, 4), by[2] = {x, c}, g[2];
    xt_tensor loss = xt_sum(xt_mul(x, x));
    assert_false(xt_grad_of(loss, 2, by, g));
    refused(".allow_unused");
    assert_true(xt_grad_of(loss, 2, by, g, .allow_unused = XT_ON));
    is_near(g[0], 2, 4);
    assert_true(xt_is_none(g[1]));
    xt_tensor n = xt_cast(c, XT_I64);
    assert_false(xt_grad_of(loss, 1, &n, g));
    refused("i64");
    nothing_left();
}

/* (H v) by differentiating g . v, compared with the Hessian of sum(x^3 y) on paper. */
static void hessian_times_vector(void **state) {
    (void)state;
    xt_tensor x = wanted(1, 2), y = wanted(3, 4), v = vector(1, 10), g[2], h[2], by[2] = {x, y};
    xt_tensor loss = xt_sum(xt_mul(xt_mul(xt_mul(x, x), x), y));
    assert_true(xt_grad_of(loss, 2, by, g, .create_graph = XT_ON));
    assert_true(xt_grad_of(xt_sum(xt_mul(g[0], v)), 2, by, h));
    is_near(h[0], 6 * 1 * 3 * 1, 6 * 2 * 4 * 10);
    is_near(h[1], 3 * 1 * 1, 3 * 4 * 10);
    /* A third time, and a penalty on the size of a gradient through xt_backward. */
    xt_backward(xt_add(loss, xt_sum(xt_mul(g[1], g[1])))); /* g[1] = x^3 */
    is_near(xt_grad(x), 3 * 3 + 6, 3 * 4 * 4 + 6 * 32);
    is_near(xt_grad(y), 1, 8);
    nothing_left();
}

static void values_only_without_create_graph(void **state) {
    (void)state;
    xt_tensor x = wanted(1, 2), g, h;
    assert_true(xt_grad_of(xt_sum(xt_mul(xt_mul(x, x), x)), 1, &x, &g));
    assert_false(xt_grad_of(xt_sum(g), 1, &x, &h));
    refused("does not depend");
    xt_backward(xt_sum(g));
    refused("nothing that requires");
    nothing_left();
}

/* Complex gradients are conjugated as in PyTorch: for |z|^2 the gradient is 2 z. */
static void complex_gradients(void **state) {
    (void)state;
    float z[2] = {3, -4}, got[2];
    xt_tensor t = xt_requires_grad(xt_from_array(z, XT_C64, 1), true), size = xt_abs(t);
    if (xt_is_error(size)) fail_msg("%s", xt_status_message(xt_error()));
    xt_backward(xt_sum(xt_mul(size, size)));
    assert_true(xt_read(xt_grad(t), got, sizeof got));
    assert_true(fabsf(got[0] - 6) < 1e-5f && fabsf(got[1] + 8) < 1e-5f);
    nothing_left();
}

static void dead_and_absent(void **state) {
    (void)state;
    xt_tensor x = wanted(1, 2), none = {0}, g;
    xt_tensor loss = xt_sum(x);
    assert_true(xt_mark_step());
    xt_backward(loss);
    refused("dead");
    assert_false(xt_grad_of(none, 1, &x, &g));
    refused("none");
    assert_false(xt_grad_of(xt_sum(vector(1, 2)), 0, &x, &g));
    refused("at least one");
    nothing_left();
}

static xt_tensor scaled(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_mul(x, xt_param(m, "w", "ones", 1, XT_F32, 2));
}

/* xt_keep makes a gradient outlive the step that consumes it, and what happens to later ones. */
static void kept_gradients(void **state) {
    (void)state;
    for (int way = 0; way < 4; way++) { /* consumed by an optimizer, zeroed; accumulated before; parameter freed */
        xt_module *m = xt_module_new(scaled, NULL);
        xt_optimizer *o = xt_sgd(m, .lr = 0.5);
        for (int i = 0; i < (way == 2 ? 2 : 1); i++) {
            xt_backward(xt_sum(xt_forward(m, vector(3, 4))));
            if (way == 2) assert_true(xt_mark_step());
        }
        xt_tensor g = xt_keep(xt_grad(xt_module_find(m, "w")));
        if (way == 1)
            xt_zero_grad(o);
        else if (way < 3)
            xt_optimizer_step(o);
        assert_true(xt_mark_step());
        if (way == 3) {
            xt_optimizer_free(o);
            xt_module_free(m);
        }
        double k = way == 2 ? 2 : 1;
        is_near(g, 3 * k, 4 * k);
        if (way < 3) {
            xt_backward(xt_sum(xt_forward(m, vector(5, 6))));
            xt_optimizer_step(o);
            assert_true(xt_mark_step());
            is_near(xt_module_find(m, "w"), 1 - 0.5 * (5 + (way == 1 ? 0 : 3 * k)),
                    1 - 0.5 * (6 + (way == 1 ? 0 : 4 * k)));
        }
        is_near(g, 3 * k, 4 * k);
        is_near(xt_add(g, g), 6 * k, 8 * k);
        xt_drop(g);
        nothing_left();
    }
}

/* What takes the keeping back leaves the gradient to the optimizer. */
static void kept_and_dropped(void **state) {
    (void)state;
    xt_module *m = xt_module_new(scaled, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.5);
    xt_backward(xt_sum(xt_forward(m, vector(3, 4))));
    xt_drop(xt_keep(xt_grad(xt_module_find(m, "w"))));
    xt_optimizer_step(o);
    assert_true(xt_mark_step());
    is_near(xt_module_find(m, "w"), -0.5, -1);
    nothing_left();
}

typedef struct trained {
    xt_module *m;
    xt_optimizer *o;
} trained;

static xt_tensor kept_in_a_step; /* by the call before, until this one keeps its own */
static xt_tensor keeping(const xt_tensor *in, int n, void *user) {
    const trained *t = user;
    (void)n;
    xt_tensor loss = xt_sum(xt_forward(t->m, in[0]));
    xt_backward(loss);
    kept_in_a_step = xt_keep(xt_grad(xt_module_find(t->m, "w")));
    xt_optimizer_step(t->o);
    return loss;
}

static void kept_in_a_compiled_function(void **state) {
    (void)state;
    trained t = {xt_module_new(scaled, NULL), NULL};
    t.o = xt_sgd(t.m, .lr = 0.5);
    xt_step *f = xt_compile(keeping, .user = &t);
    for (int i = 1; i < 4; i++) {
        xt_call(f, vector((float)i, (float)(2 * i)));
        is_near(kept_in_a_step, i, 2 * i);
        xt_drop(kept_in_a_step);
    }
    nothing_left();
}

int main(void) {
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_add),
        cmocka_unit_test(ties),
        cmocka_unit_test(nothing_is_left),
        cmocka_unit_test(results_of_ops_have_none_unless_retained),
        cmocka_unit_test(made_by_an_op_and_still_a_leaf),
        cmocka_unit_test(a_loss_may_be_the_leaf),
        cmocka_unit_test(flows_stop),
        cmocka_unit_test(losses_that_cannot_be),
        cmocka_unit_test(states_updated_in_between),
        cmocka_unit_test(with_respect_to_anything),
        cmocka_unit_test(branches_meet),
        cmocka_unit_test(a_leafs_new_value_is_a_leaf),
        cmocka_unit_test(roots_with_many_elements),
        cmocka_unit_test(unused_tensors),
        cmocka_unit_test(hessian_times_vector),
        cmocka_unit_test(values_only_without_create_graph),
        cmocka_unit_test(complex_gradients),
        cmocka_unit_test(dead_and_absent),
        cmocka_unit_test(kept_gradients),
        cmocka_unit_test(kept_and_dropped),
        cmocka_unit_test(kept_in_a_compiled_function),
    };
    return cmocka_run_group_tests_name("grad_api", tests, NULL, NULL);
}
