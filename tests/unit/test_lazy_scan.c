/* xt_scan against the same loop written out: values, gradients of carries, inputs and captured tensors, both
 * directions, loops in loops, second derivatives; what cannot be done inside; that a forward pass alone
 * keeps nothing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

enum { T = 5, B = 2, H = 3 };

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

static xt_tensor numbers(int seed, int rank, const int64_t *dims) {
    double v[64];
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= dims[i];
    assert_true(n <= 64);
    for (int64_t i = 0; i < n; i++) v[i] = sin(1.7 * (double)i + seed);
    return xt_requires_grad(xt_from_data(v, XT_F64, rank, dims), true);
}

static void same(xt_tensor a, xt_tensor b, const char *what) {
    double x[64], y[64];
    assert_int_equal(xt_numel(a), xt_numel(b));
    size_t n = (size_t)xt_numel(a);
    if (!xt_read(a, x, n * 8) || !xt_read(b, y, n * 8))
        fail_msg("%s: %s", what, xt_error() ? xt_status_message(xt_error()) : "no value");
    for (size_t i = 0; i < n; i++)
        if (!(fabs(x[i] - y[i]) <= 1e-12 * (1 + fabs(y[i]))))
            fail_msg("%s[%zu]: %.17g instead of %.17g", what, i, x[i], y[i]);
}

/* --- cells --- */
typedef struct weights {
    xt_tensor w, scale, table;
} weights;

static void plain(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    const weights *p = user;
    carry[0] = xt_tanh(xt_add(x[0], xt_matmul(carry[0], p->w)));
    y[0] = xt_mul(carry[0], p->scale);
}

/* Two states, one that only the other's sum reads; the weight twice, a detached part, an integer input, a whole table
 * read at a row of the data's. */
static void rich(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    const weights *p = user;
    xt_tensor h = xt_sigmoid(xt_add(xt_matmul(carry[0], p->w), xt_matmul(x[0], p->w)));
    xt_tensor row = xt_index_select(p->table, 0, x[1]);
    carry[1] = xt_add(carry[1], xt_mul(h, xt_detach(h)));
    carry[0] = xt_add(h, xt_mul(row, p->scale));
    y[0] = xt_sum(xt_mul(carry[1], carry[0]));
    y[1] = carry[0];
}

typedef struct row {
    const char *name;
    xt_scan_fn fn;
    int n_carry, n_x, n_y;
    bool reverse, recompute;
} row;
static const row rows[] = {
    {"plain", plain, 1, 1, 1, false, false},
    {"plain, reverse", plain, 1, 1, 1, true, false},
    {"rich", rich, 2, 2, 2, false, false},
    {"rich, reverse", rich, 2, 2, 2, true, false},
    {"plain, recompute", plain, 1, 1, 1, false, true},
    {"rich, reverse, recompute", rich, 2, 2, 2, true, true},
};

static void written_out(const row *r, xt_tensor *carry, const xt_tensor *xs, xt_tensor *ys, void *user) {
    xt_tensor parts[2][T], x[2], y[2];
    for (int k = 0; k < T; k++) {
        int t = r->reverse ? T - 1 - k : k;
        for (int i = 0; i < r->n_x; i++) x[i] = xt_squeeze(xt_slice(xs[i], 0, t, t + 1), 0);
        r->fn(carry, x, y, user);
        for (int i = 0; i < r->n_y; i++) parts[i][t] = xt_unsqueeze(y[i], 0);
    }
    for (int i = 0; i < r->n_y; i++) ys[i] = xt_concat(T, parts[i], 0);
}

typedef struct all {
    xt_tensor h, c, x, ids, out[8]; /* out: last states, stacks, then gradients of h, x, w, scale, table */
    weights p;
    int n;
} all;

static all inputs(void) {
    static const int32_t ids[T * B] = {0, 3, 1, 1, 2, 0, 3, 3, 1, 2};
    all a = {.h = numbers(1, 2, (int64_t[]){B, H}),
             .x = numbers(2, 3, (int64_t[]){T, B, H}),
             .ids = xt_from_array(ids, XT_I32, T, B)};
    a.c = xt_mul_scalar(a.h, 0.25);
    a.p.w = numbers(3, 2, (int64_t[]){H, H});
    a.p.scale = numbers(4, 1, (int64_t[]){H});
    a.p.table = numbers(5, 2, (int64_t[]){4, H});
    return a;
}

static xt_tensor run(const row *r, all *a, bool loop, xt_tensor *out) {
    xt_tensor carry[2] = {a->h, a->c}, xs[2] = {a->x, a->ids}, ys[2], loss = {0};
    if (loop)
        assert_true(xt_scan(r->fn, r->n_carry, carry, r->n_x, xs, r->n_y, ys, .reverse = r->reverse ? XT_ON : XT_OFF,
                            .recompute = r->recompute ? XT_ON : XT_OFF, .user = &a->p));
    else
        written_out(r, carry, xs, ys, &a->p);
    int n = 0;
    for (int i = 0; i < r->n_carry; i++) out[n++] = carry[i];
    for (int i = 0; i < r->n_y; i++) out[n++] = ys[i];
    for (int i = 0; i < n; i++) {
        xt_tensor part = xt_sum(xt_mul(out[i], xt_sin(out[i])));
        loss = i ? xt_add(loss, part) : part;
    }
    a->n = n;
    return loss;
}

static void as_written_out(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        xt_tensor grads[2][5], out[2][4];
        all a = inputs();
        const xt_tensor of[5] = {a.h, a.x, a.p.w, a.p.scale, a.p.table};
        for (int loop = 0; loop < 2; loop++) {
            xt_tensor loss = run(&rows[k], &a, loop, out[loop]);
            assert_true(xt_grad_of(loss, 5, of, grads[loop], .allow_unused = XT_ON));
        }
        for (int i = 0; i < a.n; i++) same(out[1][i], out[0][i], rows[k].name);
        for (int i = 0; i < 5; i++) {
            assert_int_equal(xt_is_none(grads[0][i]), xt_is_none(grads[1][i]));
            if (!xt_is_none(grads[0][i])) same(grads[1][i], grads[0][i], rows[k].name);
        }
        xt_mark_step();
    }
    nothing_left();
}

static void second_derivatives(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        xt_tensor out[4], grads[2][3], first[3];
        all a = inputs();
        const xt_tensor of[3] = {a.h, a.x, a.p.w};
        for (int loop = 0; loop < 2; loop++) {
            xt_tensor loss = run(&rows[k], &a, loop, out), again = {0};
            assert_true(xt_grad_of(loss, 3, of, first, .create_graph = XT_ON));
            for (int i = 0; i < 3; i++) {
                xt_tensor part = xt_sum(xt_mul(first[i], xt_cos(first[i])));
                again = i ? xt_add(again, part) : part;
            }
            if (!xt_grad_of(again, 3, of, grads[loop])) fail_msg("%s: %s", rows[k].name, xt_status_message(xt_error()));
        }
        for (int i = 0; i < 3; i++) same(grads[1][i], grads[0][i], rows[k].name);
        xt_mark_step();
    }
    nothing_left();
}

/* --- a loop in a loop --- */
static void inner(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    const weights *p = user;
    carry[0] = xt_sin(xt_add(xt_mul(carry[0], p->scale), x[0]));
    y[0] = xt_mul(carry[0], x[0]);
}

static void outer(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    xt_tensor h = xt_slice(carry[0], 0, 0, 1), ys;
    h = xt_squeeze(h, 0);
    xt_scan(inner, 1, &h, 1, &x[0], 1, &ys, .user = user);
    carry[0] = xt_add(carry[0], xt_unsqueeze(h, 0));
    y[0] = ys;
}

static void outer_written_out(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    xt_tensor h = xt_squeeze(xt_slice(carry[0], 0, 0, 1), 0), parts[B], o;
    for (int b = 0; b < B; b++) {
        xt_tensor in = xt_squeeze(xt_slice(x[0], 0, b, b + 1), 0);
        inner(&h, &in, &o, user);
        parts[b] = xt_unsqueeze(o, 0);
    }
    carry[0] = xt_add(carry[0], xt_unsqueeze(h, 0));
    y[0] = xt_concat(B, parts, 0);
}

static void nested(void **state) {
    (void)state;
    all a = inputs();
    xt_tensor grads[2][3], out[2][4];
    const xt_tensor of[3] = {a.h, a.x, a.p.scale};
    static const row loops[2] = {{"nested", outer_written_out, 1, 1, 1, true, false},
                                 {"nested", outer, 1, 1, 1, true, false}};
    for (int loop = 0; loop < 2; loop++)
        assert_true(xt_grad_of(run(&loops[loop], &a, loop, out[loop]), 3, of, grads[loop]));
    for (int i = 0; i < 2; i++) same(out[1][i], out[0][i], "nested");
    for (int i = 0; i < 3; i++) same(grads[1][i], grads[0][i], "nested");
    nothing_left();
}

/* --- layers, dropout, no inputs --- */
static void layered(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    carry[0] = xt_dropout(user, xt_relu(xt_linear(user, "fc", xt_concat(2, XT_TENSORS(carry[0], x[0]), 0), 4)), 0.5);
    carry[0] = xt_slice(carry[0], 0, 0, 2);
    y[0] = xt_gt(carry[0], xt_mul_scalar(carry[0], 0));
}

static xt_tensor layered_net(xt_module *m, xt_tensor x, void *user) {
    xt_tensor h = xt_ones(XT_F32, 2, 4), y;
    xt_scan(layered, 1, &h, 1, &x, 1, &y, .user = m);
    *(xt_tensor *)user = y;
    return xt_sum(h);
}

/* Parameters are made inside, an optimizer trains them, and each step drops other elements. */
static void layers_inside(void **state) {
    (void)state;
    enum { STEPS = 40 };
    xt_tensor kept;
    xt_module *net = xt_module_new(layered_net, &kept);
    xt_optimizer *sgd = xt_sgd(net, .lr = 0.1);
    xt_tensor loss = xt_forward(net, xt_ones(XT_F32, STEPS, 1, 4));
    xt_backward(loss);
    xt_optimizer_step(sgd);
    uint8_t bits[STEPS * 8];
    assert_true(xt_read(kept, bits, sizeof bits));
    int alike = 0;
    for (int t = 1; t < STEPS; t++) alike += memcmp(bits + 8 * t, bits + 8 * (t - 1), 8) == 0;
    assert_true(alike < STEPS / 2);
    assert_true(xt_mark_step());
    nothing_left();
}

/* The step of the forward pass ends before xt_backward: the loop is recorded again. */
static void after_a_wait(void **state) {
    (void)state;
    xt_tensor out[4], grads[2];
    all a = inputs();
    xt_keep(a.h), xt_keep(a.x), xt_keep(a.p.w), xt_keep(a.p.scale);
    for (int wait = 0; wait < 2; wait++) {
        xt_tensor loss = xt_keep(run(&rows[1], &a, true, out));
        if (wait) xt_wait();
        xt_backward(loss);
        grads[wait] = xt_keep(xt_mul_scalar(xt_grad(a.p.w), wait ? 0.5 : 1)); /* the second adds to the first */
        xt_drop(loss);
        xt_mark_step();
    }
    same(grads[1], grads[0], "after a wait");
    xt_drop(grads[0]), xt_drop(grads[1]), xt_drop(a.h), xt_drop(a.x), xt_drop(a.p.w), xt_drop(a.p.scale);
    nothing_left();
}

static void count(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    (void)x, (void)user;
    y[0] = carry[0];
    carry[0] = xt_add_scalar(carry[0], 2);
}

static void without_inputs(void **state) {
    (void)state;
    xt_tensor n = xt_zeros(XT_I32, 1), y;
    int32_t v[6];
    assert_true(xt_scan(count, 1, &n, 0, NULL, 1, &y, .length = 6, .reverse = XT_ON));
    assert_true(xt_read(y, v, sizeof v));
    for (int i = 0; i < 6; i++) assert_int_equal(v[i], 10 - 2 * i);
    /* no step at all, as lax.scan(length=0): the carry as it came, and stacks without rows */
    n = xt_full(7, XT_I32, 1);
    assert_true(xt_scan(count, 1, &n, 0, NULL, 1, &y, .length = 0));
    assert_true(xt_item(n) == 7);
    assert_int_equal(xt_rank_of(y), 2);
    assert_int_equal(xt_dim(y, 0), 0);
    assert_int_equal(xt_dim(y, 1), 1);
    nothing_left();
}

/* --- mistakes --- */
static xt_tensor escaped;
static void wrong(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    switch (*(int *)user) {
    case 0: carry[0] = xt_sum(carry[0]); break;
    case 1: y[0] = (xt_tensor){0}; return;
    case 2: xt_item(xt_sum(x[0])); break;
    case 3: xt_backward(xt_sum(carry[0])); break;
    case 4: xt_mark_step(); break;
    case 5: xt_keep(xt_sin(x[0])); break;
    case 6: xt_log("x", xt_sum(x[0])); break;
    case 7: xt_master_printf("%t\n", xt_sum(x[0])); break;
    case 8: carry[0] = xt_matmul(carry[0], carry[0]); break;
    case 9: escaped = xt_sin(x[0]); break;
    default: break;
    }
    y[0] = x[0];
}

static void mistakes(void **state) {
    (void)state;
    static const char *const say[] = {"carry 0 comes in as",
                                      "did not fill y[0]",
                                      "xt_item inside the function of xt_scan",
                                      "xt_backward inside",
                                      "inside the function of xt_scan",
                                      "xt_keep inside",
                                      "inside the function of xt_scan",
                                      "inside the function of xt_scan",
                                      "matmul"};
    for (int k = 0; k < 9; k++) {
        all a = inputs();
        xt_tensor y;
        if (xt_scan(wrong, 1, &a.h, 1, &a.x, 1, &y, .user = &k)) fail_msg("mistake %d was not seen", k);
        assert_true(xt_is_error(a.h) && xt_is_error(y));
        refused(say[k]);
    }
    all a = inputs();
    xt_tensor y, xs[2] = {a.x, a.p.w};
    int nine = 9;
    assert_true(xt_scan(wrong, 1, &a.h, 1, &a.x, 1, &y, .user = &nine));
    xt_sum(escaped);
    refused("belonged to one step of the loop or branch");
    a = inputs();
    assert_false(xt_scan(plain, 1, &a.h, 0, NULL, 1, &y, .user = &a.p));
    refused(".length = -1 is out of range");
    a = inputs();
    assert_false(xt_scan(plain, 1, &a.h, 1, &a.x, 1, &y, .length = 7, .user = &a.p));
    refused(".length is 7");
    a = inputs();
    xs[0] = a.x, xs[1] = a.p.w;
    assert_false(xt_scan(plain, 1, &a.h, 2, xs, 1, &y, .user = &a.p));
    refused("must be equal");
    xt_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_written_out), cmocka_unit_test(second_derivatives), cmocka_unit_test(nested),
        cmocka_unit_test(layers_inside),  cmocka_unit_test(after_a_wait),       cmocka_unit_test(without_inputs),
        cmocka_unit_test(mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
