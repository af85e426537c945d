/* What a function of the user's writes behind the tensors that were announced is an error with the line of the call,
 * and harms nothing: every function that takes one with an array to fill, and each such array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "base/base.h"

static int more; /* how many are written behind what was announced */
static bool of_saved; /* by forward: behind saved, else behind out */

static void fill(xt_tensor *t, int n, xt_tensor value) {
    for (int k = 0; k < n + more; k++) t[k] = value;
}
static void fn(const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    fill(out, 1, xt_sum(xt_square(in[0])));
}
static void scanned(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    (void)x;
    if (user)
        fill(carry, 1, xt_mul_scalar(carry[0], 2)), y[0] = carry[0];
    else
        fill(y, 1, carry[0]);
}
static xt_tensor below(const xt_tensor *state, void *user) {
    (void)user;
    return xt_lt(xt_sum(state[0]), xt_full(100, XT_F32));
}
static void doubled(xt_tensor *state, void *user) {
    (void)user;
    fill(state, 1, xt_mul_scalar(state[0], 2));
}
static void forward(const xt_tensor *in, xt_tensor *out, xt_tensor *saved, void *user) {
    int wrong = more;
    if (user) more = 0; /* backward is the one that is wrong */
    bool s = of_saved;
    if (s) fill(saved, 0, in[0]), out[0] = in[0];
    if (!s) fill(out, 1, xt_mul_scalar(in[0], 1));
    more = wrong;
}
static void backward(const xt_tensor *saved, const xt_tensor *d_out, xt_tensor *d_in, void *user) {
    (void)saved, (void)user;
    fill(d_in, 1, d_out[0]);
}
static void many(xt_module *m, const xt_tensor *in, xt_tensor *out, void *user) {
    (void)m, (void)user;
    fill(out, 2, in[0]);
}

static bool forward_many(xt_tensor x, xt_tensor *y) {
    xt_module *m = xt_module_new_many(many, 1, 2, NULL);
    xt_tensor out[2];
    bool ok = xt_forward_many(m, 1, &x, 2, out);
    *y = out[1];
    xt_module_free(m);
    return ok;
}

static bool custom(xt_tensor x, xt_tensor *y, bool saves, void *user) {
    of_saved = saves;
    x = xt_requires_grad(xt_mul_scalar(x, 1), true);
    if (!xt_custom_grad(forward, backward, 1, &x, 1, y, .user = user)) return false;
    if (user) xt_backward(xt_sum(*y));
    *y = user && !xt_error() ? xt_grad(x) : *y;
    return !xt_error();
}

enum { CALLS = 16 };
static const char *called(int k, xt_tensor x, bool *ok, xt_tensor *y) {
    xt_tensor d, one = xt_ones(XT_F32), state = x;
    int yes;
    switch (k) {
    case 0: *ok = xt_vmap(fn, 1, &x, 1, y); return "of xt_vmap filled out[1], but n_out is 1";
    case 1: *ok = xt_grad_fn(fn, NULL, 1, &x, NULL, y); return "of xt_grad_fn filled out[1], but n_out is 1";
    case 2: *ok = xt_grad_fn(fn, NULL, 1, &x, y, &d); return "of xt_grad_fn filled out[1]";
    case 3: *ok = xt_vjp(fn, NULL, 1, &x, 1, &one, y, &d); return "of xt_vjp filled out[1]";
    case 4: *ok = xt_jvp(fn, NULL, 1, &x, &x, 1, y, &d); return "of xt_jvp filled out[1]";
    case 5: *ok = xt_hvp(fn, NULL, 1, &x, &x, y, &d); return "of xt_hvp filled out[1]";
    case 6: *ok = xt_jacobian(fn, NULL, 1, &x, y); return "of xt_jacobian filled out[1]";
    case 7: *ok = xt_hessian(fn, NULL, x, y); return "of xt_hessian filled out[1]";
    case 8: *ok = xt_cond(xt_ones(XT_BOOL), fn, fn, 1, &x, 1, y, NULL); return "of xt_cond filled out[1]";
    case 9:
        *ok = xt_scan(scanned, 1, &state, 0, NULL, 1, y, .length = 3, .user = &yes);
        return "of xt_scan filled carry[1], but n_carry is 1";
    case 10:
        *ok = xt_scan(scanned, 1, &state, 0, NULL, 1, y, .length = 3);
        return "of xt_scan filled y[1], but n_y is 1";
    case 11: *ok = xt_while(below, doubled, 1, &state), *y = state; return "of xt_while filled state[1], but n is 1";
    case 12:
        *ok = xt_while(below, doubled, 1, &state, .max_steps = 9), *y = state;
        return "of xt_while filled state[1], but n is 1";
    case 13: *ok = custom(x, y, false, NULL); return "forward function of xt_custom_grad filled out[1], but n_out is 1";
    case 14:
        *ok = custom(x, y, true, NULL);
        return "forward function of xt_custom_grad filled saved[0], but .saved is 0";
    default:
        *ok = custom(x, y, false, &yes);
        return "backward function of xt_custom_grad filled d_in[1], but n_in is 1";
    }
}

static void look(const char *says, int n, bool ok) {
    if (n == 0) {
        if (!ok || xt_error()) fail_msg("%s: %s", says, xt_error() ? xt_status_message(xt_error()) : "no error");
        return;
    }
    const char *got = xt_error() ? xt_status_message(xt_error()) : "no error";
    if (ok || !strstr(got, says) || !strstr(got, "test_filled_arrays.c:")) fail_msg("not '%s': %s", says, got);
    xt_clear_error();
}

static void behind(void **state) {
    (void)state;
    static const int how_many[] = {0, 1, 3, 20};
    for (int k = 0; k < CALLS; k++)
        for (size_t i = 0; i < BASE_COUNT(how_many); i++) {
            xt_tensor y[4] = {{0}, {7, 7}, {7, 7}, {7, 7}}, x = xt_ones(XT_F32, 3);
            bool ok;
            more = how_many[i];
            const char *says = called(k, x, &ok, y);
            more = 0;
            look(says, how_many[i], ok);
            assert_true(y[1].slot == 7 && y[2].slot == 7 && y[3].slot == 7); /* the caller's own array */
            if (how_many[i]) assert_true(k == 15 || xt_is_error(y[0]));
            xt_mark_step();
        }
    for (size_t i = 0; i < BASE_COUNT(how_many); i++) {
        xt_tensor y;
        more = how_many[i];
        bool ok = forward_many(xt_ones(XT_F32, 3), &y);
        look("the module's function filled out[2], but n_out is 2", more, ok);
        assert_true(ok || xt_is_error(y));
        xt_mark_step();
    }
    more = 0;
}

static void left(void **state) {
    (void)state;
    static const char *const kinds[] = {"tensor", "buffer", "executable", "client", "graph"};
    assert_int_equal(xt_finish(), 0);
    for (size_t i = 0; i < BASE_COUNT(kinds); i++) assert_int_equal(xt_live_objects(kinds[i]), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(behind), cmocka_unit_test(left)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
