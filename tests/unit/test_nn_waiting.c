/* What waits in a module for tensors that are not there yet: of files, and of layers that say how their own begin. A
 * name waits or is there, never both, so a module can be saved at any time and what it wrote can be loaded again. */
#include "train_test.h"

#include <string.h>

static void ok(xt_status s) {
    if (s) fail_msg("%s", xt_status_message(s));
}

/* --- weights made of others, of layers in children, beside the module's function too --- */
typedef bool (*wish)(xt_module *m);
static bool spectral(xt_module *m) {
    return xt_spectral_norm(xt_sub(m, "disc", -1), "*.weight");
}
static bool weight(xt_module *m) {
    return xt_weight_norm(xt_sub(m, "disc", -1), "*.weight");
}
static bool orthogonal(xt_module *m) {
    return xt_orthogonal(xt_sub(m, "disc", -1), "*.weight");
}
static bool spectral_of_root(xt_module *m) {
    return xt_spectral_norm(m, "disc.*.weight");
}
static const struct {
    const char *name;
    wish make;
} wishes[] = {{"spectral norm", spectral},
              {"weight norm", weight},
              {"orthogonal", orthogonal},
              {"spectral norm of the root", spectral_of_root}};

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(xt_sub(m, "disc", -1), "fc", xt_relu(xt_linear(m, "a", x, 4)), 3);
}
static xt_tensor both(xt_module *m, xt_tensor x) {
    return xt_linear(xt_sub(m, "disc", -1), "beside", xt_forward(m, x), 3);
}
static xt_tensor input(void) {
    float x[20];
    for (int i = 0; i < 20; i++) x[i] = (float)(i * 7 % 11) / 11 - 0.25f;
    return xt_from_array(x, XT_F32, 5, 4);
}
static double output(xt_module *m) {
    double y = xt_item(xt_sum(both(m, input())));
    assert_true(xt_mark_step());
    return y;
}
static xt_module *wished(wish make, uint64_t seed) {
    xt_seed(seed);
    xt_module *m = xt_module_new(net, NULL);
    assert_true(make(m));
    return m;
}

static void norms_in_children_are_saved(void **state) {
    (void)state;
    for (size_t k = 0; k < BASE_COUNT(wishes); k++) {
        xt_module *m = wished(wishes[k].make, 3);
        xt_optimizer *o = xt_sgd(m, .lr = 0.1);
        for (int i = 0; i < 3; i++) {
            xt_backward(xt_mean(xt_square(both(m, input()))));
            xt_optimizer_step(o);
            assert_true(xt_mark_step());
        }
        ok(xt_save(m, in_dir("net")));
        ok(xt_save(xt_sub(m, "disc", -1), in_dir("child")));
        double next = output(m), after = output(m);
        xt_optimizer_free(o);
        xt_module_free(m);

        m = wished(wishes[k].make, 4); /* of a file that is there before the tensors, or behind them */
        for (int built = 0; built < 2; built++) {
            ok(xt_load(m, in_dir("net")));
            double loaded = output(m), again = output(m);
            if (loaded != next || again != after)
                fail_msg("%s: %g %g, not %g %g", wishes[k].name, loaded, again, next, after);
        }
        ok(xt_load(xt_sub(m, "disc", -1), in_dir("child")));
        assert_true(output(m) == next);
        ok(xt_save(m, in_dir("again")));
        xt_module_free(m);
    }
    assert_int_equal(xt_finish(), 0);
    assert_null(strstr(str_cstr(&said), "no layer"));
}

/* --- the same in a fit --- */
static wish made;
static void setup(xt_module *m, const char *stage, void *user) {
    (void)stage;
    (void)user;
    assert_true(made(m));
}
static xt_tensor train_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_mean(xt_square(both(m, b.x)));
}
static xt_optimizer *adam(xt_module *m, void *user) {
    (void)user;
    return xt_adam(m, .lr = 0.01);
}
static const xt_task task = {.net = net, .setup = setup, .training_step = train_step, .configure_optimizers = adam};

static double fit(int64_t epochs, const char *resume, const char *to) {
    static float x[32];
    double y;
    for (int i = 0; i < 32; i++) x[i] = (float)(i * 5 % 7) / 7;
    xt_trainer *t = TEST_TRAINER(.max_epochs = epochs, .logger = XT_OFF, .checkpointing = XT_OFF, .resume = resume,
                                 .seed = resume ? XT_SEED_OF_RUN : 5);
    assert_int_equal(
        xt_fit(t, &task, xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {4}}, NULL, (xt_spec){0}, 8), .batch = 2)),
        0);
    ok(xt_trainer_save(t, to));
    y = output(xt_trainer_module(t));
    xt_trainer_free(t);
    return y;
}

static void norms_in_children_are_resumed(void **state) {
    (void)state;
    for (size_t k = 0; k < BASE_COUNT(wishes); k++) {
        char first[256], last[256];
        snprintf(first, sizeof first, "%s", in_dir("first.ckpt"));
        snprintf(last, sizeof last, "%s", in_dir("last.ckpt"));
        made = wishes[k].make;
        double whole = fit(2, NULL, last);
        fit(1, NULL, first);
        double parts = fit(2, first, last);
        if (whole != parts) fail_msg("%s: %g, not %g", wishes[k].name, parts, whole);
    }
    assert_int_equal(xt_finish(), 0);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {T(norms_in_children_are_saved), T(norms_in_children_are_resumed)};
    return cmocka_run_group_tests_name("nn_waiting", tests, NULL, NULL);
}
