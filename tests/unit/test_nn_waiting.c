/* What waits in a module for tensors that are not there yet: of files, and of layers that say how their own begin. A
 * name waits or is there, never both, so a module can be saved at any time and what it wrote can be loaded again. */
#include "train_test.h"

#include <string.h>

#include "lazy/lazy.h"

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

/* --- files for a part of what a module will have --- */
static xt_tensor body(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "a", x, 4);
}
static xt_tensor head(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(xt_sub(m, "head", -1), "out", x, 3);
}
static xt_tensor head_of_body(xt_module *m, xt_tensor x, void *user) {
    return head(m, body(m, x, user), user);
}
static xt_tensor as_two(xt_module *m) {
    return head(m, xt_forward(m, input()), NULL);
}
static double sum_of(xt_module *m, const char *name) {
    double sum = xt_item(xt_sum(xt_module_find(m, name)));
    assert_true(xt_mark_step());
    return sum;
}
/* A file of a module of that function whose numbers are all c. */
static void write_file(const char *name, xt_module_fn fn, double c) {
    xt_module *m = xt_module_new(fn, NULL);
    ok(xt_module_build(m, (xt_spec){XT_F32, {5, 4}}));
    for (int i = 0; i < xt_module_tensors(m); i++) {
        xt_tensor t = xt_module_tensor(m, i);
        xt_assign(t, xt_add(xt_mul(t, 0.), c));
    }
    assert_true(xt_mark_step());
    ok(xt_save(m, in_dir(name)));
    xt_module_free(m);
}

/* What waits is in what is saved, and that can be loaded again, by the module that wrote it too, whole or of a child:
 * of names that wait the newest value does. */
static void what_waits_is_loaded_again(void **state) {
    (void)state;
    write_file("whole", head_of_body, 2);
    write_file("newer", head_of_body, 3);
    for (int i = 0; i < 5; i++) {
        xt_module *m = xt_module_new(body, NULL);
        xt_load_report report = {0};
        ok(xt_load(m, in_dir("whole")));
        xt_forward(m, input());
        assert_true(xt_mark_step());
        ok(xt_save(m, in_dir("again")));
        ok(xt_save(xt_sub(m, "head", -1), in_dir("head")));
        if (i == 0) ok(xt_load(m, in_dir("again")));
        if (i == 1) ok(xt_load(m, in_dir("newer")));
        if (i == 2) ok(xt_load_with(m, in_dir("newer"), .strict = XT_OFF, .report = &report));
        if (i == 3) ok(xt_load(xt_sub(m, "head", -1), in_dir("head")));
        if (i == 4) { /* names that neither are there nor wait are unexpected still */
            xt_status s = xt_load(xt_sub(m, "head", -1), in_dir("whole"));
            assert_non_null(s);
            assert_non_null(strstr(xt_status_message(s), "which the module does not have"));
            xt_status_free(s);
        }
        if (i == 2) assert_true(report.loaded == 4 && !report.missing && !report.unexpected);
        as_two(m);
        double c = i == 1 || i == 2 ? 3 : 2;
        assert_true(sum_of(m, "head.out.weight") == 12 * c && sum_of(m, "a.weight") == 16 * c);
        xt_module_free(m);
    }
    assert_int_equal(xt_finish(), 0);
    assert_null(strstr(str_cstr(&said), "no layer"));
}

/* Files of two parts, in either order, whose tensors the module's function uses, or layers beside it. */
static void parts_come_together(void **state) {
    (void)state;
    write_file("body", body, 2);
    write_file("head", head, 3);
    write_file("whole", head_of_body, 5);
    for (int i = 0; i < 8; i++) {
        const char *files[2] = {i & 1 ? "body" : "head", i & 1 ? "head" : "body"};
        xt_module *m = xt_module_new(i & 2 ? head_of_body : body, NULL);
        if (i & 4) ok(xt_load(m, in_dir("whole")));
        for (int k = 0; k < 2; k++) ok(xt_load(m, in_dir(files[k])));
        xt_tensor y = xt_forward(m, input());
        xt_freeze(m, "head.*"); /* a name that waits is one */
        if (!(i & 2)) head(m, y, NULL);
        assert_false(lazy_trains(xt_module_find(m, "head.out.weight")));
        assert_true(sum_of(m, "a.weight") == 16 * 2 && sum_of(m, "head.out.weight") == 12 * 3);
        xt_module_free(m);
    }
    assert_int_equal(xt_finish(), 0);
    assert_null(strstr(str_cstr(&said), "no layer"));
    assert_null(strstr(str_cstr(&said), "no parameter"));
}

static xt_tensor more(xt_module *m, xt_tensor x, void *user) {
    return xt_linear(m, "more", head_of_body(m, x, user), 2);
}
static xt_tensor plain(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_mul(x, xt_param(m, "w", "ones", 0, XT_F32, 1));
}

/* What neither file has is an error, and what nobody takes is told of each file. */
static void parts_that_lack_something(void **state) {
    (void)state;
    static const char *const said_of[] = {"head holds no tensor a.weight", "head and what was loaded before it hold no "
                                                                           "tensor more.weight"};
    write_file("body", body, 2);
    write_file("head", head, 3);
    for (int i = 0; i < 2; i++) {
        xt_module *m = xt_module_new(more, NULL);
        if (i) ok(xt_load(m, in_dir("body")));
        ok(xt_load(m, in_dir("head")));
        xt_forward(m, input());
        assert_non_null(xt_error());
        if (!strstr(xt_status_message(xt_error()), said_of[i])) fail_msg("%s", xt_status_message(xt_error()));
        xt_clear_error();
        xt_module_free(m);
    }
    xt_module *m = xt_module_new(plain, NULL);
    ok(xt_module_build(m, (xt_spec){XT_F32, {5, 4}}));
    ok(xt_save(m, in_dir("plain")));
    xt_module_free(m);
    m = xt_module_new(plain, NULL);
    ok(xt_load(m, in_dir("head")));
    ok(xt_load(m, in_dir("body")));
    ok(xt_load(m, in_dir("plain")));
    xt_forward(m, input());
    assert_true(xt_mark_step());
    str_clear(&said);
    xt_module_free(m);
    says("/head holds 2 tensors that no layer of the module has taken, head.out.");
    says("/body holds 2 tensors that no layer of the module has taken, a.");
    assert_null(strstr(str_cstr(&said), "/plain holds"));
    assert_int_equal(xt_finish(), 0);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {T(norms_in_children_are_saved), T(norms_in_children_are_resumed),
                                       T(what_waits_is_loaded_again), T(parts_come_together),
                                       T(parts_that_lack_something)};
    return cmocka_run_group_tests_name("nn_waiting", tests, NULL, NULL);
}
