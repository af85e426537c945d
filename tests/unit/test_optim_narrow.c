/* Moments of 8 bits (xt_adamw's .state_bits): what is kept and what it takes, training as with f32, and what cannot be.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "optim/optim.h"

enum { IN = 64, WIDE = 200, OUT = 7, ROWS = 48, STEPS = 250 };

static xt_tensor two_layers(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "b", xt_tanh(xt_linear(m, "a", x, WIDE)), OUT);
}

static float x[ROWS * IN], y[ROWS * OUT];

static xt_module *make(void) {
    xt_seed(4);
    xt_module *m = xt_module_new(two_layers, NULL);
    assert_null(xt_module_build(m, (xt_spec){XT_F32, {1, IN}}));
    for (int i = 0; i < ROWS * IN; i++) x[i] = sinf((float)(i * i % 997));
    for (int i = 0; i < ROWS * OUT; i++) y[i] = cosf((float)(i * 31 % 101)) * 2;
    return m;
}

static double loss_after(xt_module *m, xt_optimizer *o, int steps) {
    double last = 0;
    for (int i = 0; i < steps; i++) {
        xt_tensor out = xt_forward(m, xt_from_array(x, XT_F32, ROWS, IN));
        xt_tensor loss = xt_mean(xt_square(xt_minus(out, xt_from_array(y, XT_F32, ROWS, OUT))));
        xt_backward(loss);
        if (i == 0 || i + 1 == steps) last = xt_item(loss);
        xt_optimizer_step(o);
        xt_mark_step();
    }
    return last;
}

/* 64 x 200 numbers are 50 blocks; the rest is too few to be narrow. */
static void what_is_kept(void **state) {
    (void)state;
    static const struct {
        const char *name;
        xt_dtype dtype;
        int64_t count;
    } rows[] = {{"a.weight.exp_avg", XT_I8, IN * WIDE},
                {"a.weight.exp_avg_sq", XT_U8, IN * WIDE},
                {"a.weight.exp_avg_factors", XT_F32, IN * WIDE / 256},
                {"a.weight.exp_avg_sq_factors", XT_F32, IN * WIDE / 256},
                {"a.bias.exp_avg", XT_F32, WIDE},
                {"b.weight.exp_avg", XT_F32, WIDE * OUT},
                {"b.weight.exp_avg_sq", XT_F32, WIDE * OUT}};
    xt_module *m = make();
    xt_optimizer *o = xt_adamw(m, .state_bits = 8);
    loss_after(m, o, 2);
    size_t found = 0;
    for (int i = 0; i < xt_optimizer_tensors(o); i++)
        for (size_t r = 0; r < BASE_COUNT(rows); r++) {
            if (strcmp(xt_optimizer_tensor_name(o, i), rows[r].name) != 0) continue;
            xt_tensor t = xt_optimizer_tensor(o, i);
            int64_t n = 1;
            for (int k = 0; k < xt_rank_of(t); k++) n *= xt_dim(t, k);
            assert_int_equal(n, rows[r].count);
            assert_int_equal(xt_dtype_of(t), rows[r].dtype);
            found++;
        }
    assert_int_equal(found, BASE_COUNT(rows));
    xt_optimizer_free(o);
    xt_module_free(m);
}

static void it_trains_as_f32(void **state) {
    (void)state;
    double first, last[2];
    for (int narrow = 0; narrow < 2; narrow++) {
        xt_module *m = make();
        xt_optimizer *o = xt_adamw(m, .lr = 3e-3, .state_bits = narrow ? 8 : 32);
        first = loss_after(m, o, 1);
        last[narrow] = loss_after(m, o, STEPS);
        xt_optimizer_free(o);
        xt_module_free(m);
    }
    print_message("the loss goes from %g to %g with f32, to %g with 8 bits\n", first, last[0], last[1]);
    assert_true(last[0] < first / 100);
    assert_true(last[1] < first / 100 && last[1] < 2 * last[0] + 1e-4 * first);
}

/* --- the numbers --- */
enum { NUMBERS = 4096 + 300 }; /* the last block is not full */

static void round_trip(const float *in, narrow_moment which, float *out) {
    ir_builder *b = lazy_begin(XT_HERE);
    ir_value *v = lazy_value(xt_from_array(in, XT_F32, NUMBERS)), *factors;
    ir_value *q = narrow_state_write(b, v, which, &factors);
    assert_non_null(q);
    assert_int_equal(q->type->dtype, which == NARROW_MEAN ? XT_I8 : XT_U8);
    assert_int_equal(q->type->dims[0], (NUMBERS + 255) / 256);
    assert_true(
        xt_read(lazy_wrap(narrow_state_read(b, q, factors, v->type, which), "read"), out, NUMBERS * sizeof *out));
}

/* Of a block's largest a, roots are met to half a step: r = sqrt(|x| / a) to 1 / 254, or 1 / 510 of the fourth root. */
static void numbers_are_near(void **state) {
    (void)state;
    static float in[NUMBERS], out[NUMBERS];
    for (int which = NARROW_MEAN; which <= NARROW_SQUARE; which++) {
        double steps = which == NARROW_MEAN ? 127 : 255;
        for (int i = 0; i < NUMBERS; i++) {
            in[i] = (float)((i % 2 && which == NARROW_MEAN ? -1 : 1) * exp(-(i * 37 % 1000) / 90.0) * (1 + i / 256));
            if (i / 256 == 3) in[i] = 0;
            if (i / 256 == 4) in[i] *= 1e-32f;
        }
        round_trip(in, (narrow_moment)which, out);
        for (int begin = 0; begin < NUMBERS; begin += 256) {
            int end = begin + 256 < NUMBERS ? begin + 256 : NUMBERS;
            double most = 0;
            for (int i = begin; i < end; i++) most = fmax(most, fabs((double)in[i]));
            for (int i = begin; i < end; i++) {
                double root = sqrt(fabs((double)in[i]) / (most > 0 ? most : 1)), is = sqrt(fabs((double)out[i]) / most);
                if (which == NARROW_SQUARE) root = sqrt(root), is = sqrt(is);
                bool nothing = most < 1e-30 && which == NARROW_MEAN;
                if (most == 0 || nothing) {
                    assert_true(out[i] == 0);
                    continue;
                }
                double bound = 0.5001 / steps;
                if (which == NARROW_SQUARE && root < 1 / steps) bound = 1.0001 / steps;
                if (!(fabs(is - root) <= bound)) fail_msg("%d: %g is %g", i, (double)in[i], (double)out[i]);
                assert_true((in[i] < 0) == (out[i] < 0) || out[i] == 0);
                if (which == NARROW_SQUARE) assert_true(out[i] > 0); /* nothing is divided by a root that is gone */
            }
        }
    }
    in[5] = NAN;
    round_trip(in, NARROW_MEAN, out);
    assert_true(isnan(out[5]));
}

static void what_cannot_be(void **state) {
    (void)state;
    static const struct {
        int64_t bits;
        xt_switch amsgrad;
        const char *said;
    } rows[] = {{16, XT_OFF, ".state_bits = 16; 32 or 8 are known"},
                {8, XT_ON, ".state_bits = 8 and .amsgrad"},
                {0, XT_OFF, "state_bits"}};
    xt_module *m = make();
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        assert_null(xt_adam(m, .state_bits = rows[i].bits, .amsgrad = rows[i].amsgrad));
        const char *said = xt_error() ? xt_status_message(xt_error()) : "no error";
        if (!strstr(said, rows[i].said)) fail_msg("%s", said);
        xt_clear_error();
    }
    xt_module_free(m);
}

static int end(void **state) {
    (void)state;
    return xt_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_kept), cmocka_unit_test(it_trains_as_f32),
                                       cmocka_unit_test(numbers_are_near), cmocka_unit_test(what_cannot_be)};
    return cmocka_run_group_tests(tests, NULL, end);
}
