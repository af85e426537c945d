/* Averages of parameters of which not all are there: of layers that a loop or a fit calls in some steps alone, that
 * only a validation calls, or that are yet to be called behind a load. Whatever has been loaded is as good as there. */
#include "train_test.h"

#include <string.h>

#include "format/safetensors.h"

static void ok(xt_status s) {
    if (s) fail_msg("%s", xt_status_message(s));
}

static void not_said(const char *part) {
    const char *at = strstr(str_cstr(&said), part);
    if (at) fail_msg("\"%s\" was said: ...%.*s", part, 300, at - str_cstr(&said) > 150 ? at - 150 : str_cstr(&said));
}

/* Every tensor of a whose name begins with `with` is in b with the same bits, and there are as many. */
static void same_files(const char *a, const char *b, const char *with) {
    st_file *f[2];
    size_t n[2] = {0};
    ok(st_open(a, &f[0]));
    ok(st_open(b, &f[1]));
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < st_count(f[k]); i++) n[k] += strncmp(st_at(f[k], i)->name, with, strlen(with)) == 0;
    for (size_t i = 0; i < st_count(f[0]); i++) {
        const st_entry *e = st_at(f[0], i), *other = st_find(f[1], e->name);
        char mine[1024], theirs[1024];
        size_t size = (size_t)(e->end - e->begin);
        if (strncmp(e->name, with, strlen(with)) != 0) continue;
        if (!other) fail_msg("%s is not in %s", e->name, b);
        assert_true(size <= sizeof mine && size == (size_t)(other->end - other->begin));
        ok(st_read(f[0], e, mine, size));
        ok(st_read(f[1], other, theirs, size));
        if (memcmp(mine, theirs, size) != 0) fail_msg("%s differs in %s and %s", e->name, a, b);
    }
    if (!n[0] || n[0] != n[1]) fail_msg("%zu tensors %s* in %s, %zu in %s", n[0], with, a, n[1], b);
    st_close(f[0]);
    st_close(f[1]);
}

static char *path(int of, const char *name, int64_t k) {
    static char paths[4][256];
    snprintf(paths[of], sizeof paths[of], "%s/%s%lld", dir, name, (long long)k);
    return paths[of];
}

/* --- a loop of one's own --- */
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_relu(xt_linear(m, "a", x, 4));
}
static xt_tensor input(void) {
    float x[20];
    for (int i = 0; i < 20; i++) x[i] = (float)(i * 7 % 11) / 11 - 0.25f;
    return xt_from_array(x, XT_F32, 5, 4);
}
/* Layers beside the module's function, with a buffer of floats and one of integers, in two of five steps. */
static xt_tensor some(xt_module *m, xt_tensor h) {
    xt_module *c = xt_sub(m, "some", -1);
    h = xt_batch_norm(c, "bn", xt_linear(c, "fc", h, 3));
    xt_tensor endless = xt_buffer(c, "endless", "zeros", 0, XT_F32, 2); /* of which no mean is a number */
    if (xt_is_training(c)) xt_assign(endless, xt_full(-INFINITY, XT_F32, 2));
    return xt_mean(xt_square(xt_add(h, 1.)));
}
typedef enum loaded { NOTHING_LOADED, AVERAGE_BEHIND, AVERAGE_BEFORE, AVERAGE_ALONE, LOADED_COUNT } loaded;

/* Steps [from, to), saved under what they lead to; the average begins behind the parameters' file, or before it. */
static void steps(int64_t from, int64_t to, loaded how, const char *save) {
    xt_seed(3);
    xt_module *m = xt_module_new(net, NULL), *ema = NULL;
    xt_optimizer *o = xt_adam(m, .lr = 0.05);
    if (how == AVERAGE_BEFORE || how == AVERAGE_ALONE) ema = xt_ema(m);
    if (how) ok(xt_load(m, path(0, "net", from)));
    if (!ema) ema = xt_ema(m);
    if (how) ok(xt_load(ema, path(0, "ema", from)));
    if (how) ok(xt_optimizer_load(o, path(0, "opt", from)));
    for (int64_t i = from; i < to; i++) {
        xt_tensor h = xt_forward(m, input()), loss = xt_mean(xt_square(xt_minus(h, 0.5)));
        if (i % 5 == 1 || i % 5 == 2) loss = xt_add(loss, some(m, h));
        xt_backward(loss);
        xt_optimizer_step(o);
        if (!xt_ema_update(ema, m, i == 4 ? 0 : 0.75)) fail_msg("%s", xt_status_message(xt_error()));
        assert_true(xt_mark_step());
        if (how) continue;
        ok(xt_save(m, path(0, "net", i + 1)));
        ok(xt_save(ema, path(0, "ema", i + 1)));
        ok(xt_optimizer_save(o, path(0, "opt", i + 1)));
    }
    char name[32];
    snprintf(name, sizeof name, "net%s", save);
    ok(xt_save(m, path(1, name, to)));
    snprintf(name, sizeof name, "ema%s", save);
    ok(xt_save(ema, path(1, name, to)));
    xt_optimizer_free(o);
    xt_module_free(ema);
    xt_module_free(m);
}

static void a_loop_goes_on(void **state) {
    (void)state;
    steps(0, 12, NOTHING_LOADED, "whole");
    for (loaded how = AVERAGE_BEHIND; how < AVERAGE_ALONE; how++)
        for (int64_t cut = 1; cut < 10; cut++) {
            steps(cut, cut + 2, how, "part");
            same_files(path(2, "net", cut + 2), path(3, "netpart", cut + 2), "");
            same_files(path(2, "ema", cut + 2), path(3, "emapart", cut + 2), "");
        }
    assert_int_equal(xt_finish(), 0);
}

/* The average of what a file has begins as that, be the module built or not. */
static void averages_of_what_is_loaded(void **state) {
    (void)state;
    steps(0, 3, NOTHING_LOADED, "whole");
    for (int first = 0; first < 2; first++) {
        xt_module *m = xt_module_new(net, NULL), *ema = first ? xt_ema(m) : NULL;
        ok(xt_load(m, path(0, "net", 3)));
        if (first) assert_true(xt_ema_update(ema, m, 0.5));
        if (!first) ema = xt_ema(m);
        assert_non_null(ema);
        ok(xt_save(ema, path(1, "began", first)));
        same_files(path(0, "net", 3), path(1, "began", first), "");
        xt_module_free(ema);
        xt_module_free(m);
    }
    assert_int_equal(xt_finish(), 0);
}

/* Averages that are loaded become the parameters of a module that has none yet, or some. */
static void averages_come_back(void **state) {
    (void)state;
    steps(0, 7, NOTHING_LOADED, "whole");
    for (int built = 0; built < 3; built++) {
        xt_module *m = xt_module_new(net, NULL), *ema = xt_ema(m);
        if (built) ok(xt_module_build(m, (xt_spec){XT_F32, {5, 4}}));
        ok(xt_load(ema, path(0, "ema", 7)));
        if (built == 2) xt_forward(ema, input());
        assert_true(xt_ema_copy_to(ema, m));
        if (built == 1) some(m, xt_forward(m, input())); /* in the step that copies */
        ok(xt_save(m, path(1, "copy", built)));
        if (built == 1) {
            same_files(path(0, "ema", 7), path(1, "copy", built), "a.");
            same_files(path(0, "ema", 7), path(1, "copy", built), "some.fc.");
        } else
            same_files(path(0, "ema", 7), path(1, "copy", built), "");
        xt_module_free(ema);
        xt_module_free(m);
    }
    assert_int_equal(xt_finish(), 0);
}

/* What waits in the one and has another shape in the other is told, as what is there. */
static xt_tensor wider(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_relu(xt_linear(m, "a", x, 6));
}
static void of_another_shape(void **state) {
    (void)state;
    steps(0, 1, NOTHING_LOADED, "whole");
    xt_module *m = xt_module_new(wider, NULL), *ema = xt_module_new(net, NULL);
    ok(xt_module_build(m, (xt_spec){XT_F32, {5, 4}}));
    ok(xt_load(ema, path(0, "net", 1)));
    assert_false(xt_ema_copy_to(ema, m));
    assert_non_null(strstr(xt_status_message(xt_error()), "in one module and"));
    xt_clear_error();
    xt_module_free(ema);
    xt_module_free(m);
    assert_int_equal(xt_finish(), 0);
}

/* --- a fit --- */
static bool reads, freezes, judges, slows;
static xt_optimizer *slowed; /* of the newest fit */
static void hooks(bool read, bool freeze, bool judge) {
    reads = read;
    freezes = freeze;
    judges = judge;
}
static xt_tensor train_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor h = xt_forward(m, b.x), loss = xt_mean(xt_square(xt_minus(xt_linear(m, "out", h, 2), 1)));
    return b.index % 3 ? loss : xt_add(loss, some(m, h));
}
static double sum_of(xt_module *m, const char *name) {
    return xt_item(xt_sum(xt_module_find(m, name)));
}
static void val_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_log("v", xt_mean(xt_square(xt_linear(m, "out", xt_forward(m, b.x), 2))));
    if (judges) xt_log("judge", xt_sum(xt_linear(m, "judge", xt_full(1, XT_F32, 1, 4), 2)));
}
static void epoch_start(xt_module *m, int64_t epoch, void *user) {
    (void)user;
    if (freezes && epoch == 1) xt_freeze(m, "some.*");
    if (freezes && epoch == 1) xt_freeze(m, "judge.*");
    if (reads && xt_module_tensors(m)) sum_of(m, "a.weight");
    if (slows) xt_optimizer_set_lr(slowed, 0.02 / (double)(1 + epoch)); /* behind what the callback has set */
}
static void epoch_end(xt_module *m, int64_t epoch, void *user) {
    (void)epoch;
    (void)user;
    if (reads) sum_of(m, "out.weight");
}
static xt_optimizer *adam(xt_module *m, void *user) {
    (void)user;
    return slowed = xt_adam(m, .lr = 0.02);
}
static const xt_task task = {.net = net,
                             .training_step = train_step,
                             .validation_step = val_step,
                             .configure_optimizers = adam,
                             .on_train_epoch_start = epoch_start,
                             .on_train_epoch_end = epoch_end,
                             .on_validation_epoch_start = epoch_end,
                             .on_validation_epoch_end = epoch_end};

static float x[32];
static xt_loader *data(void) {
    for (int i = 0; i < 32; i++) x[i] = (float)(i * 5 % 7) / 7;
    return xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {4}}, NULL, (xt_spec){0}, 8), .batch = 2);
}
static void fits(xt_trainer *t, const xt_task *k) {
    if (xt_fit(t, k, data(), data()) != 0) fail_msg("%s", str_cstr(&said));
}
typedef enum averaging { EMA, SWA, SWA_RATE } averaging; /* the last: with a rate of its own, beside a hook's */
static xt_trainer *fit_trainer(int64_t epochs, const char *resume, averaging how) {
    xt_trainer *t = TEST_TRAINER(.max_epochs = epochs, .logger = XT_OFF, .checkpointing = XT_OFF, .resume = resume,
                                 .seed = resume ? XT_SEED_OF_RUN : 5);
    slows = how == SWA_RATE;
    if (slows)
        xt_trainer_add(t, xt_weight_averaging(.swa = XT_ON, .start_epoch = 1, .swa_lr = 0.005, .anneal_epochs = 2));
    else if (how == SWA)
        xt_trainer_add(t, xt_weight_averaging(.swa = XT_ON, .start_epoch = 1));
    else
        xt_trainer_add(t, xt_weight_averaging(.decay = 0.75));
    return t;
}

/* What a fit ends with, from its own end and from each of its checkpoints. */
static void a_fit_goes_on(void **state) {
    (void)state;
    hooks(false, false, true);
    for (averaging how = EMA; how <= SWA_RATE; how++) {
        xt_trainer *t = fit_trainer(3, NULL, how);
        xt_trainer_add(t,
                       xt_model_checkpoint(.dirpath = path(0, "steps", (int)how), .every_n_steps = 1, .save_top_k = -1,
                                           .filename = "{step:d}", .auto_insert_metric_name = XT_OFF));
        fits(t, &task);
        ok(xt_trainer_save(t, path(1, "whole", (int)how)));
        ok(xt_save(xt_trainer_module(t), path(2, "weights", (int)how)));
        assert_int_equal(xt_validate(t, &task, data()), 0);
        double v = xt_trainer_metric(t, "v", true), judge = xt_trainer_metric(t, "judge", true);
        xt_trainer_free(t);
        for (int step = 1; step <= 12; step++) {
            char from[300];
            snprintf(from, sizeof from, "%s/%d.ckpt", path(0, "steps", (int)how), step);
            str_clear(&said);
            t = fit_trainer(3, step == 12 ? path(1, "whole", (int)how) : from, how);
            fits(t, &task);
            ok(xt_trainer_save(t, path(3, "parts", (int)how)));
            same_files(path(1, "whole", (int)how), path(3, "parts", (int)how), "callback:");
            ok(xt_save(xt_trainer_module(t), path(3, "parts", (int)how)));
            same_files(path(2, "weights", (int)how), path(3, "parts", (int)how), "");
            assert_int_equal(xt_validate(t, &task, data()), 0);
            if (xt_trainer_metric(t, "v", true) != v || xt_trainer_metric(t, "judge", true) != judge)
                fail_msg("averaging %d, step %d: %g %g, not %g %g", (int)how, step, xt_trainer_metric(t, "v", true),
                         xt_trainer_metric(t, "judge", true), v, judge);
            xt_trainer_free(t);
            xt_finish();
            not_said("no layer");
        }
    }
}

/* The average of a layer that a validation makes begins as its parameters, which nothing changes. */
static double judged[8];
static int n_judged;
static void note(xt_trainer *t, void *user) {
    (void)user;
    judged[n_judged++] = xt_trainer_metric(t, "judge", true);
}
static void layers_of_validation(void **state) {
    (void)state;
    static const xt_callback_desc desc = {.struct_size = sizeof desc, .name = "note", .epoch_end = note};
    hooks(false, false, true);
    for (int dtype = 0; dtype < 2; dtype++) {
        n_judged = 0;
        xt_trainer *t = fit_trainer(3, NULL, EMA);
        xt_trainer_args(t, 3, (char *[]){"p", "--precision", dtype ? "bf16-true" : "32-true"});
        xt_trainer_add(t, xt_callback_new(&desc, NULL));
        fits(t, &task);
        assert_int_equal(n_judged, 3);
        assert_true(judged[0] != 0 && judged[1] == judged[0] && judged[2] == judged[0]);
        xt_trainer_free(t);
        assert_int_equal(xt_finish(), 0);
    }
}

/* A fit, a look at the weights, the same fit's rest: hooks read them too. */
static double two_fits(bool look) {
    xt_trainer *t = fit_trainer(2, NULL, EMA);
    hooks(look, false, false);
    fits(t, &task);
    if (look) sum_of(xt_trainer_module(t), "a.weight");
    if (look) sum_of(xt_trainer_module(t), "out.weight");
    xt_trainer_args(t, 3, (char *[]){"p", "--max_epochs", "4"});
    fits(t, &task);
    double sum = sum_of(xt_trainer_module(t), "a.weight");
    xt_trainer_free(t);
    assert_int_equal(xt_finish(), 0);
    return sum;
}
static void weights_may_be_read(void **state) {
    (void)state;
    double unread = two_fits(false);
    assert_true(two_fits(true) == unread);
}

/* A trainer's next fit, of another module, begins with that module's weights, and its averages are theirs. */
static xt_optimizer *still(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0);
}
static void of_another_module(void **state) {
    (void)state;
    hooks(false, false, false);
    xt_trainer *t = fit_trainer(2, NULL, EMA);
    fits(t, &task);
    xt_task other = task;
    other.configure_optimizers = still;
    other.module = xt_module_new(net, NULL);
    ok(xt_module_build(other.module, (xt_spec){XT_F32, {2, 4}}));
    xt_assign(xt_module_find(other.module, "a.bias"), xt_full(7, XT_F32, 4));
    assert_true(xt_mark_step());
    xt_trainer_args(t, 3, (char *[]){"p", "--max_epochs", "4"});
    fits(t, &other);
    assert_true(sum_of(other.module, "a.bias") == 28);
    assert_true(xt_mark_step());
    xt_trainer_free(t);
    xt_module_free(other.module);
    assert_int_equal(xt_finish(), 0);
}

/* What a hook has frozen of layers beside the module's function is so in a run that goes on, and in the one behind. */
static void what_is_frozen_goes_on(void **state) {
    (void)state;
    hooks(false, true, true);
    xt_trainer *t = fit_trainer(2, NULL, EMA);
    fits(t, &task);
    ok(xt_trainer_save(t, path(0, "end", 0)));
    xt_trainer_free(t);
    xt_finish();
    for (int i = 0; i < 2; i++) {
        str_clear(&said);
        t = fit_trainer(3 + i, path(0, "end", i), EMA);
        fits(t, &task);
        ok(xt_trainer_save(t, path(1, "end", i + 1)));
        xt_trainer_free(t);
        xt_finish();
        says("some.fc.weight, ...) frozen");
        not_said("no parameter");
        same_files(path(0, "end", 0), path(1, "end", i + 1), "callback:weight_averaging:some.fc."); /* it was the end */
    }
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        T(a_loop_goes_on),        T(averages_of_what_is_loaded), T(averages_come_back),  T(of_another_shape),
        T(a_fit_goes_on),         T(layers_of_validation),       T(weights_may_be_read), T(of_another_module),
        T(what_is_frozen_goes_on)};
    return cmocka_run_group_tests_name("nn_averages", tests, NULL, NULL);
}
