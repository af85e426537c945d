/* Averages of a module's parameters beside it (xt_ema): values against sums made here, buffers, files, programs, and
 * what wrong calls say. */
#include <math.h>

#include "nn_test.h"

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", xt_batch_norm(m, "bn", xt_linear(m, "in", x, 3)), 1);
}
static xt_module *made(xt_module_fn fn) {
    xt_module *m = xt_module_new(fn, NULL);
    ok(xt_module_build(m, (xt_spec){XT_F32, {4, 2}}));
    return m;
}
static const float data[8] = {1, 2, -1, 0.5f, 3, -2, 0.25f, 1.5f};
static xt_tensor input(void) {
    return xt_from_array(data, XT_F32, 4, 2);
}
static void train(xt_module *m, xt_optimizer *opt) {
    xt_backward(xt_mean(xt_square(xt_forward(m, input()))));
    xt_optimizer_step(opt);
}
static void values(xt_module *m, const char *name, float out[6]) {
    xt_tensor t = xt_module_find(m, name);
    assert_true(xt_read(t, out, (size_t)xt_numel(t) * sizeof(float)));
}

static void averages(void **state) {
    (void)state;
    const double decays[6] = {0.5, 0.9, 0.999, 0, 0.25, 1};
    float now[6], got[6], stat[6], mean_stat[6];
    double want[6];
    xt_module *m = made(net), *ema = xt_ema(m);
    xt_optimizer *opt = xt_sgd(m, .lr = 0.1, .momentum = 0.5);
    assert_non_null(ema);
    assert_int_equal(xt_module_tensors(ema), xt_module_tensors(m));
    values(m, "in.weight", now);
    values(ema, "in.weight", got);
    for (int i = 0; i < 6; i++) want[i] = now[i];
    assert_memory_equal(now, got, sizeof now);
    assert_true(xt_mark_step());
    for (int s = 0; s < 6; s++) {
        train(m, opt);
        assert_true(xt_ema_update(ema, m, decays[s]));
        assert_true(xt_mark_step());
        values(m, "in.weight", now);
        values(ema, "in.weight", got);
        for (int i = 0; i < 6; i++) {
            want[i] = s == 0 ? now[i] : decays[s] * want[i] + (1 - decays[s]) * now[i];
            if (!(fabs(got[i] - want[i]) <= 1e-6)) fail_msg("step %d: %g, expected %g", s, (double)got[i], want[i]);
            if (s == 0 || decays[s] == 0) assert_true(got[i] == now[i]);
        }
        values(m, "bn.running_mean", stat);
        values(ema, "bn.running_mean", mean_stat);
        assert_memory_equal(stat, mean_stat, 3 * sizeof *stat);
    }
    assert_false(xt_is_training(ema));
    xt_tensor of_ema = xt_forward(ema, input());
    assert_int_equal(xt_numel(of_ema), 4);
    xt_backward(xt_add(xt_sum(of_ema), xt_sum(xt_forward(m, input()))));
    assert_true(xt_is_none(xt_grad(xt_module_find(ema, "fc.weight")))); /* frozen */
    assert_false(xt_is_none(xt_grad(xt_module_find(m, "fc.weight"))));
    xt_zero_grad(opt);
    assert_true(xt_mark_step());
    assert_true(xt_ema_copy_to(ema, m));
    assert_true(xt_mark_step());
    values(m, "in.weight", now);
    values(ema, "in.weight", got);
    assert_memory_equal(now, got, sizeof now);
    finish();
}

/* Two steps of training; built: with parameters before the average is made; begun: and an update before the first step;
 * read: the average goes through a file between the two. */
static void two_steps(bool built, bool begun, bool read, float got[6]) {
    xt_seed(1);
    xt_module *m = xt_module_new(net, NULL);
    if (built) ok(xt_module_build(m, (xt_spec){XT_F32, {4, 2}}));
    xt_module *ema = xt_ema(m);
    xt_optimizer *opt = xt_sgd(m, .lr = 0.5);
    if (begun) assert_true(xt_ema_update(ema, m, 0.9));
    for (int s = 0; s < 2; s++) {
        train(m, opt);
        assert_true(xt_ema_update(ema, m, 0.9));
        assert_true(xt_mark_step());
        if (s || !read) continue;
        ok(xt_save(ema, "ema.safetensors"));
        xt_module_free(ema);
        ema = xt_ema(m);
        ok(xt_load(ema, "ema.safetensors"));
        remove("ema.safetensors");
    }
    values(ema, "in.weight", got);
    finish();
}
/* As AveragedModel's, the first update is a copy, whether there were parameters or not. */
static void the_first_update(void **state) {
    (void)state;
    float later[6], built[6], begun[6], read[6];
    two_steps(false, false, false, later);
    two_steps(true, false, false, built);
    two_steps(true, true, false, begun);
    two_steps(true, false, true, read);
    assert_memory_equal(later, built, sizeof later);
    assert_memory_equal(read, built, sizeof read);
    assert_memory_not_equal(begun, built, sizeof begun);
}

/* A decay that changes is data; so is 0. */
static void programs(void **state) {
    (void)state;
    xt_module *m = made(net), *ema = xt_ema(m);
    xt_optimizer *opt = xt_adam(m, .lr = 0.01);
    int64_t before = 0;
    for (int s = 0; s < 12; s++) {
        if (s == 3) before = xt_counter("compiles");
        train(m, opt);
        assert_true(xt_ema_update(ema, m, s % 4 ? fmin(0.999, (1.0 + s) / (10.0 + s)) : 0));
        assert_true(xt_mark_step());
    }
    assert_int_equal(xt_counter("compiles"), before);
    finish();
}

/* Of a module without parameters yet, and of one whose average is in a file. */
static void later(void **state) {
    (void)state;
    float now[6], got[6], kept[6];
    xt_module *m = xt_module_new(net, NULL), *ema = xt_ema(m);
    xt_optimizer *opt = xt_sgd(m, .lr = 0.1);
    assert_int_equal(xt_module_tensors(ema), 0);
    train(m, opt);
    if (!xt_ema_update(ema, m, 0.5))
        fail_msg("%s", xt_status_message(xt_error())); /* begins as the parameters are behind the first step */
    assert_true(xt_mark_step());
    values(m, "in.weight", now);
    values(ema, "in.weight", got);
    assert_memory_equal(now, got, sizeof now);
    train(m, opt);
    assert_true(xt_ema_update(ema, m, 0.5));
    ok(xt_save(ema, "ema.safetensors"));
    values(ema, "in.weight", kept);
    xt_module *fresh = xt_module_new(net, NULL), *again = xt_ema(fresh);
    ok(xt_load(again, "ema.safetensors"));
    assert_true(xt_ema_update(again, m, 1));
    assert_true(xt_mark_step());
    values(again, "in.weight", got);
    assert_memory_equal(kept, got, sizeof kept);
    remove("ema.safetensors");
    finish();
}

/* An average that was not a number is a number again where nothing of it stays. */
static void not_finite(void **state) {
    (void)state;
    float got[6];
    xt_module *m = made(net), *ema = xt_ema(m);
    xt_assign(xt_module_find(ema, "in.weight"), xt_full(NAN, XT_F32, 3, 2));
    assert_true(xt_ema_update(ema, m, 0));
    assert_true(xt_mark_step());
    values(ema, "in.weight", got);
    for (int i = 0; i < 6; i++) assert_true(isfinite(got[i]));
    finish();
}

static xt_tensor wider(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", xt_batch_norm(m, "bn", xt_linear(m, "in", x, 4)), 1);
}
static void wrong(void **state) {
    (void)state;
    xt_module *m = made(net), *ema = xt_ema(m), *other = made(wider);
    assert_false(xt_ema_update(ema, m, 1.5));
    error_says("decay is 1.5", "[0,1]");
    assert_false(xt_ema_update(ema, m, NAN));
    error_says("decay is nan", "[0,1]");
    assert_false(xt_ema_update(m, m, 0.5));
    error_says("the same module", "(ema, net, decay)");
    assert_false(xt_ema_update(ema, other, 0.5));
    error_says("in.weight is tensor<3x2xf32> in one module and tensor<4x2xf32>", "of one function");
    assert_null(xt_ema(xt_sub(m, "fc", -1)));
    error_says("\"fc\" is a child module", "a whole one");
    xt_module_free(ema);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(averages), cmocka_unit_test(the_first_update), cmocka_unit_test(programs),
        cmocka_unit_test(later),    cmocka_unit_test(not_finite),       cmocka_unit_test(wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
