/* Weights as integers (xt_quantize): each is as near as its group's factor says, layers compute with them, what does
 * not fit stays, and what cannot be is an error that changes nothing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "base/base.h"

enum { IN = 96, OUT = 5, ROWS = 3 };

static xt_tensor two_layers(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "b", xt_relu(xt_linear(m, "a", x, IN)), OUT, .bias = XT_OFF);
}

static xt_module *make(void) {
    xt_module *m = xt_module_new(two_layers, NULL);
    assert_null(xt_module_build(m, (xt_spec){XT_F32, {1, IN}}));
    return m;
}

static const char *take_message(void) {
    static char text[400];
    xt_status e = xt_error();
    snprintf(text, sizeof text, "%s", e ? xt_status_message(e) : "");
    xt_clear_error();
    return text;
}

/* The weight number (row, p) that integers and factors stand for. */
static double number_at(const uint8_t *q, const float *f, int bits, int group, int row, int p) {
    int k = p % group, half = group / 2, at = row * IN + p;
    double factor = (double)f[at / group];
    if (bits == 8) return factor * (int8_t)q[at];
    unsigned byte = q[(row * IN + p - k) / 2 + k % half];
    return factor * ((double)(k < half ? byte & 15 : byte >> 4) - 8);
}

static void weights_are_near(void **state) {
    (void)state;
    static const struct {
        int bits, group;
        double half_steps; /* how far a number may be, in factors */
    } rows[] = {{8, 32, 0.5001}, {4, 32, 1.0001}, {8, 96, 0.5001}, {4, 48, 1.0001}};
    for (size_t r = 0; r < BASE_COUNT(rows); r++) {
        xt_module *m = make();
        float w[IN * OUT], f[IN * OUT], x[ROWS * IN], y[ROWS * IN], got[ROWS * OUT];
        uint8_t q[IN * OUT];
        int bits = rows[r].bits, group = rows[r].group;
        assert_true(xt_read(xt_module_find(m, "b.weight"), w, sizeof w));
        for (int i = 0; i < group; i++) w[i] = 0; /* a group of zeros */
        w[group + 1] = -3, w[2 * IN] = 4;
        xt_assign(xt_module_find(m, "b.weight"), xt_from_array(w, XT_F32, OUT, IN));
        xt_mark_step();
        assert_int_equal(xt_quantize(m, "b.weight", .bits = bits, .block_size = group), 1);
        xt_tensor integers = xt_module_find(m, "b.weight"), factors = xt_module_find(m, "b.weight_scale");
        assert_int_equal(xt_dim(integers, 2), bits == 8 ? group : group / 2);
        assert_true(xt_read(integers, q, (size_t)(IN * OUT * bits / 8)));
        assert_true(xt_read(factors, f, (size_t)(IN * OUT / group) * sizeof *f));
        for (int i = 0; i < IN * OUT; i++) {
            double is = number_at(q, f, bits, group, i / IN, i % IN);
            if (!(fabs(is - (double)w[i]) <= rows[r].half_steps * fabs((double)f[i / group])))
                fail_msg("%d bits: weight %d is %g, was %g", bits, i, is, (double)w[i]);
        }
        /* the layer computes with just these */
        for (int i = 0; i < ROWS * IN; i++) x[i] = (float)(i % 11) / 7 - 0.6f;
        xt_eval(m);
        xt_no_grad_begin();
        xt_tensor in = xt_from_array(x, XT_F32, ROWS, IN);
        assert_true(xt_read(xt_forward(m, in), got, sizeof got));
        xt_tensor a = xt_matmul(in, xt_transpose(xt_module_find(m, "a.weight"), 0, 1));
        assert_true(xt_read(xt_relu(xt_add(a, xt_module_find(m, "a.bias"))), y, sizeof y));
        xt_no_grad_end();
        for (int i = 0; i < ROWS * OUT; i++) {
            double want = 0;
            for (int p = 0; p < IN; p++) want += (double)y[i / OUT * IN + p] * number_at(q, f, bits, group, i % OUT, p);
            if (!(fabs(want - (double)got[i]) <= 1e-4)) fail_msg("%d bits: %g, %g", bits, want, (double)got[i]);
        }
        xt_module_free(m);
    }
}

static void what_fits(void **state) {
    (void)state;
    xt_module *m = make();
    int n = xt_module_tensors(m);
    assert_int_equal(xt_quantize(m, "*.bias"), 0);
    assert_int_equal(xt_quantize(m, "*.weight", .block_size = 64), 0); /* rows of 96 */
    assert_int_equal(xt_module_tensors(m), n);
    assert_int_equal(xt_quantize(m, "*"), 2);
    assert_int_equal(xt_module_tensors(m), n + 2);
    assert_int_equal(xt_quantize(m, "*", .bits = 4), 0); /* integers stay what they are */
    for (int i = 0; i < n + 2; i++)
        if (strstr(xt_module_tensor_name(m, i), "weight")) assert_false(xt_module_tensor_is_param(m, i));
    xt_module_free(m);
}

static void refusals_change_nothing(void **state) {
    (void)state;
    xt_module *m = make(), *unbuilt = xt_module_new(two_layers, NULL);
    int n = xt_module_tensors(m);
    assert_int_equal(xt_quantize(unbuilt, "*"), -1);
    assert_non_null(strstr(take_message(), "no tensors yet"));
    assert_int_equal(xt_quantize(m, "*", .bits = 3), -1);
    assert_non_null(strstr(take_message(), ".bits = 3"));
    assert_int_equal(xt_quantize(m, "*", .block_size = 0), -1);
    assert_non_null(strstr(take_message(), ".block_size = 0"));
    assert_int_equal(xt_quantize(m, "*", .block_size = 33), -1);
    take_message();
    xt_assign(xt_module_find(m, "b.weight"), xt_full(NAN, XT_F32, OUT, IN));
    xt_mark_step();
    assert_int_equal(xt_quantize(m, "b.weight"), -1);
    assert_non_null(strstr(take_message(), "b.weight has numbers that are not finite"));
    assert_int_equal(xt_module_tensors(m), n);
    assert_true(xt_module_tensor_is_param(m, xt_module_next(m, "b.weight", 0)));
    xt_module_free(m);
    xt_module_free(unbuilt);
}

static int end(void **state) {
    (void)state;
    return xt_finish() || live_get(LIVE_status) != 0 || live_get(LIVE_module) != 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(weights_are_near), cmocka_unit_test(what_fits),
                                       cmocka_unit_test(refusals_change_nothing)};
    return cmocka_run_group_tests(tests, NULL, end);
}
