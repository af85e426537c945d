/* Options of the trainer that turn a whole subject on or off, several validation loaders, and optimizers by name. */
#include "optim/optim.h"
#include "train/train_int.h"
#include "train_test.h"

static int seen[3];

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_mul(x, xt_param(m, "w", "ones", 0, XT_F32, 1));
}
static xt_tensor train_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor loss = xt_mean(xt_square(xt_forward(m, b.x)));
    xt_log("train/loss", loss);
    return loss;
}
static xt_trainer *running;
static void val_step(xt_module *m, xt_batch b, void *user) {
    seen[xt_trainer_val_index(running)]++;
    xt_log(user ? "val/loss/dataloader_idx_0" : "val/loss", xt_mean(xt_forward(m, b.x)));
}
static xt_optimizer *sgd(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.1);
}
static const xt_task task = {
    .net = net, .training_step = train_step, .validation_step = val_step, .configure_optimizers = sgd};

static xt_loader *data(int64_t batches, float value) {
    static float rows[8][64]; /* borrowed by the datasets: one for each value */
    float *x = rows[(int)value + 1];
    for (int i = 0; i < 64; i++) x[i] = value;
    return xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 2 * batches), .batch = 2);
}

/* One program for all of them, one read each; the values are those of each loader. */
static void several_validation_loaders(void **state) {
    (void)state;
    xt_trainer *t = running = TEST_TRAINER(.max_epochs = 2, .num_sanity_val_steps = 1);
    xt_trainer_add_val_loader(t, data(3, 2));
    xt_trainer_add_val_loader(t, data(1, 5));
    memset(seen, 0, sizeof seen);
    assert_int_equal(xt_fit(t, &task, data(4, 0), data(2, 1)), 0);
    assert_int_equal(seen[0], 1 + 2 * 2);
    assert_int_equal(seen[1], 1 + 2 * 3);
    assert_int_equal(seen[2], 1 + 2 * 1);
    assert_float_equal(xt_trainer_metric(t, "val/loss/dataloader_idx_0", true), 1, 1e-6);
    assert_float_equal(xt_trainer_metric(t, "val/loss/dataloader_idx_1", true), 2, 1e-6);
    assert_float_equal(xt_trainer_metric(t, "val/loss/dataloader_idx_2", true), 5, 1e-6);
    assert_true(isnan(xt_trainer_metric(t, "val/loss", true)));
    xt_fit_result r = xt_trainer_result(t);
    assert_float_equal(r.val_loss, 1, 1e-6);
    assert_int_equal(r.compiles, 2);
    assert_int_equal(r.executions, 2 * 4 + 3 + 2 * 6);
    xt_task odd = task;
    odd.user = &seen;
    assert_int_equal(xt_fit(t, &odd, data(4, 0), data(2, 1)), 0); /* two epochs are over: nothing is left to do */
    float *x = base_calloc(7, sizeof *x);
    xt_trainer *t2 = TEST_TRAINER(.max_epochs = 1);
    running = t2;
    xt_trainer_add_val_loader(t2, xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 7),
                                                .batch = 2, .drop_last = XT_ON));
    assert_int_equal(xt_fit(t2, &task, data(4, 0),
                            xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 5),
                                          .batch = 3, .drop_last = XT_ON)),
                     0);
    says("validation loader 0: the last 2 samples fill no batch");
    says("validation loader 1: the last 1 sample fill");
    base_free(x);
    t = running = TEST_TRAINER(.max_epochs = 1);
    xt_trainer_add_val_loader(t, data(3, 2));
    assert_int_equal(xt_fit(t, &odd, data(4, 0), data(2, 1)), 1);
    says("names end with /dataloader_idx_K by themselves");
}

/* A monitor of the name that the log call has is told the names that rows have. */
static void monitor_of_several_validation_loaders(void **state) {
    (void)state;
    xt_trainer *t = running = TEST_TRAINER(.max_epochs = 1);
    xt_trainer_add_val_loader(t, data(3, 2));
    xt_trainer_add(t, xt_early_stopping(.monitor = "val/loss"));
    assert_int_equal(xt_fit(t, &task, data(4, 0), data(2, 1)), 1);
    says("logged so far: val/loss/dataloader_idx_0, val/loss/dataloader_idx_1, train/loss, loss, loss_epoch; "
         "did you mean val/loss/dataloader_idx_0?");
}

static void barebones_is_the_loop(void **state) {
    (void)state;
    xt_trainer *t = running = xt_trainer_new(.runs_dir = dir, .max_epochs = 2, .barebones = XT_ON);
    assert_int_equal(xt_fit(t, &task, data(4, 1), data(2, 1)), 0);
    assert_null(xt_trainer_run_dir(t));
    assert_true(isnan(xt_trainer_metric(t, "val/loss", true)));
    assert_int_equal(xt_trainer_result(t).host_reads, 1); /* the losses of the result */
    says("the trainer is barebones, nothing is logged");
    assert_null(strstr(str_cstr(&said), "parameters ("));
    t = xt_trainer_new(.runs_dir = dir, .max_epochs = 1, .barebones = XT_ON, .log_every_n_steps = 5);
    assert_int_equal(xt_fit(t, &task, data(4, 1), NULL), 1);
    says("barebones switches off what costs time, but log_every_n_steps is asked for");
    t = running = TEST_TRAINER(.max_epochs = 1); /* it ends with its fit */
    assert_int_equal(xt_fit(t, &task, data(4, 1), data(2, 3)), 0);
    assert_false(isnan(xt_trainer_metric(t, "val/loss", true)));
}

static xt_tensor root_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_mean(xt_sqrt(xt_forward(m, b.x)));
}
static void anomalies_are_errors(void **state) {
    (void)state;
    xt_task bad = task;
    bad.training_step = root_step;
    xt_trainer *t = running = TEST_TRAINER(.max_epochs = 1);
    assert_int_equal(xt_fit(t, &bad, data(4, -1), NULL), 1); /* nobody looks before its end */
    says("with a loss of NaN and no model: ");
    t = running = TEST_TRAINER(.max_epochs = 1, .detect_anomaly = XT_ON);
    assert_int_equal(xt_fit(t, &bad, data(4, -1), NULL), 1);
    says("test_train_options.c");
    says("NaN");
}

static void optimizers_by_name(void **state) {
    (void)state;
    xt_task without = task;
    without.configure_optimizers = NULL;
    xt_trainer *t = running = TEST_TRAINER(.max_epochs = 1);
    assert_int_equal(xt_fit(t, &without, data(4, 1), NULL), 1);
    says("no .configure_optimizers (or --optimizer NAME)");
    t = running = TEST_TRAINER(.max_epochs = 1);
    xt_trainer_args(t, 9,
                    (char *[]){"prog", "--optimizer", "adamw", "--optimizer.lr", "0.25", "--scheduler", "step",
                               "--scheduler.step-size=2", "--scheduler.interval=step"});
    assert_int_equal(xt_fit(t, &without, data(4, 1), NULL), 0);
    /* 0.25 times 0.1 twice: after steps 2 and 4 */
    assert_float_equal(xt_optimizer_lr(xt_trainer_optimizer(t)), 0.0025, 1e-12);
    t = running = TEST_TRAINER(.max_epochs = 1);
    xt_trainer_args(t, 5, (char *[]){"prog", "--scheduler", "multistep", "--scheduler.milestones", "1,3"});
    assert_int_equal(xt_fit(t, &task, data(4, 1), NULL), 0); /* the task's own optimizer, epochs */
    assert_float_equal(xt_optimizer_lr(xt_trainer_optimizer(t)), 0.01, 1e-12);
    t = running = TEST_TRAINER(.max_epochs = 1);
    xt_trainer_args(t, 5, (char *[]){"prog", "--scheduler", "cosine", "--scheduler.interval", "week"});
    assert_int_equal(xt_fit(t, &task, data(4, 1), NULL), 1);
    says("--scheduler.interval week: step or epoch is expected");
    t = running = TEST_TRAINER(.max_epochs = 1);
    xt_trainer_args(t, 5, (char *[]){"prog", "--optimizer", "adamw", "--optimizer.betta1", "0.5"});
    assert_int_equal(xt_fit(t, &task, data(4, 1), NULL), 1);
    says("there is no option betta1; did you mean beta1?");
    /* A zero that is written out is one, also where the default is another number. */
    for (int i = 0; i < 2; i++) {
        t = running = TEST_TRAINER(.max_epochs = 1);
        xt_trainer_args(t, 5,
                        i ? (char *[]){"prog", "--optimizer", "radam", "--optimizer.lr", "0"}
                          : (char *[]){"prog", "--optimizer", "adamw", "--optimizer.weight_decay", "0"});
        assert_int_equal(xt_fit(t, &task, data(4, 1), NULL), 0);
        const xt_optimizer *o = xt_trainer_optimizer(t);
        assert_true(o->groups[0].h.weight_decay == 0 && o->groups[0].h.lr == (i ? 0 : 1e-3));
    }
}

/* Two optimizers of one network, each with the other's parameters frozen: both step after every window, and each does
 * what it would do alone. */
static xt_tensor pair(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_add(xt_mul(x, xt_param(m, "a", "ones", 0, XT_F32, 1)), xt_param(m, "b", "zeros", 0, XT_F32, 1));
}
static int configure_two(xt_module *m, xt_optimizer **out, int max, void *user) {
    (void)user;
    assert_true(max >= 2);
    out[0] = xt_sgd(m, .lr = 0.5);
    out[1] = xt_sgd(m, .lr = 0.25);
    xt_optimizer_group(out[0], "b", .frozen = XT_ON);
    xt_optimizer_group(out[1], "a", .frozen = XT_ON);
    return 2;
}
static xt_tensor sum_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_mean(xt_forward(m, b.x)); /* gradients: mean(x) and 1 */
}
static void two_optimizers_of_one_network(void **state) {
    (void)state;
    xt_task both = {.net = pair, .training_step = sum_step, .configure_several = configure_two};
    xt_trainer *t = TEST_TRAINER(.max_epochs = 1, .accumulate_grad_batches = 2);
    assert_int_equal(xt_fit(t, &both, data(4, 2), NULL), 0);
    float a = 0, b = 0;
    assert_true(xt_read(xt_module_find(xt_trainer_module(t), "a"), &a, sizeof a));
    assert_true(xt_read(xt_module_find(xt_trainer_module(t), "b"), &b, sizeof b));
    assert_float_equal(a, 1 - 2 * 0.5 * 2, 1e-6);
    assert_float_equal(b, 0 - 2 * 0.25 * 1, 1e-6);
}

/* Two networks in one module, called directly: a layer may come once a step without xt_share, and in every step. */
static xt_optimizer *of_a, *of_b;
static xt_tensor part(xt_module *m, const char *name, xt_tensor x) {
    return xt_linear(xt_sub(m, name, -1), "fc", x, 1);
}
static xt_tensor both_parts(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return part(m, "b", part(m, "a", x));
}
static int configure_parts(xt_module *m, xt_optimizer **out, int max, void *user) {
    (void)max;
    (void)user;
    out[0] = of_a = xt_sgd(m, .lr = 0.1);
    out[1] = of_b = xt_sgd(m, .lr = 0.1);
    xt_optimizer_group(of_a, "b.*", .frozen = XT_ON);
    xt_optimizer_group(of_b, "a.*", .frozen = XT_ON);
    return 2;
}
static xt_tensor adversaries(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_share(xt_sub(m, "b", -1), "fc");
    xt_tensor fake = part(m, "a", b.x), loss = xt_mean(part(m, "b", fake));
    xt_backward(loss);
    xt_optimizer_step(of_a);
    xt_zero_grad(of_b);
    xt_tensor other = xt_mean(xt_square(part(m, "b", xt_detach(fake))));
    xt_backward(other);
    xt_optimizer_step(of_b);
    xt_log("a/loss", loss);
    xt_log("b/loss", other);
    return other;
}
static void layers_called_without_forward(void **state) {
    (void)state;
    const xt_task manual = {.net = both_parts,
                            .training_step = adversaries,
                            .configure_several = configure_parts,
                            .manual_optimization = true};
    xt_trainer *t = TEST_TRAINER(.max_epochs = 2, .log_every_n_steps = 1);
    assert_int_equal(xt_fit(t, &manual, data(4, 1), NULL), 0);
    assert_int_equal(xt_trainer_global_step(t), 8);
    assert_true(isfinite(xt_trainer_metric(t, "a/loss", true)) && isfinite(xt_trainer_metric(t, "b/loss", true)));
}

/* --- a task of another version's header --- */
static void never(xt_module *m, void *user) {
    (void)m, (void)user;
    fail_msg("a member is read that the program's task does not have");
}
static void tasks_of_other_sizes(void **state) {
    (void)state;
    size_t older = offsetof(xt_task, on_fit_start);
    xt_task beyond = task;
    beyond.on_fit_start = beyond.on_fit_end = beyond.on_train_end = never; /* not the program's, as it says */
    xt_trainer *t = TEST_TRAINER(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF);
    assert_int_equal(xt_fit_at(XT_HERE, t, &beyond, older, data(4, 0), NULL), 0);
    struct {
        xt_task known;
        void *more[2];
    } newer = {.known = task};
    running = t;
    assert_int_equal(xt_validate_at(XT_HERE, t, &newer.known, sizeof newer, data(2, 0)), 0); /* does not use it */
    newer.more[1] = &newer;
    str_clear(&said);
    assert_int_equal(xt_validate_at(XT_HERE, t, &newer.known, sizeof newer, data(2, 0)), 1);
    says("the task has a member that this library does not know");
    says("test_train_options.c:");
    str_clear(&said);
    assert_int_equal(xt_fit_at(XT_HERE, t, &newer.known, sizeof newer, data(2, 0), NULL), 1);
    says("the task has a member that this library does not know");
}

/* Each option that takes one of some words refuses another one where it is given, in C and on the command line, and
 * says which there are; the others are names and paths. */
static void words_are_checked_where_they_are_given(void **state) {
    (void)state;
    static const char *const free_text[] = {"run_name", "runs_dir", "resume", "ckpt"};
    static const struct {
        const char *option, *right;
    } more[] = {{"precision", "bf16-true"}, {"gradient_clip_algorithm", "value"},
                {"strategy", "ddp"},        {"loggers", "csv, tensorboard"},
                {"signals", "TERM,SIGINT"}, {"val_every", "0.5epochs"},
                {"max_time", "90min"}};
    size_t words = 0;
    for (size_t i = 0; i < train_option_count; i++) {
        const option_row *row = &train_option_rows[i];
        bool any = row->kind != OPTION_STRING;
        for (size_t k = 0; k < BASE_COUNT(free_text); k++) any = any || strcmp(row->name, free_text[k]) == 0;
        if (any) continue;
        words++;
        xt_trainer_opts o = XT_OPTS(xt_trainer_opts, .runs_dir = dir);
        const char **field = (const char **)(void *)((char *)&o + row->offset);
        *field = "fp99";
        str_clear(&said);
        xt_trainer_opt(XT_HERE, o);
        says(row->name);
        says("fp99");
        says("test_train_options.c:");
        xt_clear_error();
        char *argv[] = {"program", NULL, "fp99"}, flag[64];
        snprintf(flag, sizeof flag, "--%s", row->name);
        argv[1] = flag;
        xt_trainer *t = xt_trainer_new(.runs_dir = dir);
        assert_null(xt_error());
        str_clear(&said);
        xt_trainer_args(t, 3, argv);
        says("fp99");
        assert_non_null(xt_error());
        xt_clear_error();
        for (size_t k = 0; k < BASE_COUNT(more); k++) {
            if (strcmp(more[k].option, row->name) != 0) continue;
            *field = more[k].right;
            xt_trainer_opt(XT_HERE, o);
            assert_null(xt_error());
        }
    }
    assert_int_equal(words, BASE_COUNT(more));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(several_validation_loaders, begin, end),
        cmocka_unit_test_setup_teardown(monitor_of_several_validation_loaders, begin, end),
        cmocka_unit_test_setup_teardown(barebones_is_the_loop, begin, end),
        cmocka_unit_test_setup_teardown(anomalies_are_errors, begin, end),
        cmocka_unit_test_setup_teardown(optimizers_by_name, begin, end),
        cmocka_unit_test_setup_teardown(two_optimizers_of_one_network, begin, end),
        cmocka_unit_test_setup_teardown(layers_called_without_forward, begin, end),
        cmocka_unit_test_setup_teardown(tasks_of_other_sizes, begin, end),
        cmocka_unit_test_setup_teardown(words_are_checked_where_they_are_given, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
