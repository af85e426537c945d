/* Which checkpoints are kept, and under which names. The cases with numbers are Lightning's own. */
#include "train_test.h"

#include "format/safetensors.h"
#include "train/checkpoint_name.h"

/* --- names --- */
static double named(void *user, const char *key) {
    (void)user;
    return strcmp(key, "acc") == 0 || strcmp(key, "val/loss") == 0 ? 0.03
           : strcmp(key, "epoch_test") == 0                        ? 3
           : strcmp(key, "val/mAP@0.50") == 0                      ? 0.2
                                                                   : -NAN;
}

/* But that '/' makes no folder, and a value that nobody logged is nan, not 0, where the format allows it. */
static void files_have_names(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *name; /* name NULL: refused */
        bool bare;
    } rows[] = {{"{epoch}-{step}", "epoch=3-step=2", false},
                {"{epoch:03d}-{acc}", "epoch=003-acc=0.03", false},
                {"{epoch:03d}-{epoch_test:03d}", "epoch=003-epoch_test=003", false},
                {"{epoch}_{val/loss:.5f}", "epoch=3_val_loss=0.03000", false},
                {"mAP@0.50={val/mAP@0.50:.4f}", "mAP@0.50=0.2000", true},
                {"epoch={epoch:03d}-acc={acc}", "epoch=003-acc=0.03", true},
                {"{missing:d}", "missing=0", false},
                {"{missing}", "missing=nan", false},
                {"plain", "plain", false},
                {"{epoch", NULL, false},
                {"{}", NULL, false},
                {"{acc:s}", NULL, false},
                {"{acc:n}", NULL, false}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        str out = STR_INIT;
        xt_status s = checkpoint_name(rows[i].pattern, 3, 2, named, NULL, !rows[i].bare, &out);
        if (rows[i].name)
            assert_string_equal(str_cstr(&out), rows[i].name);
        else
            assert_non_null(strstr(xt_status_message(s), "filename = "));
        assert_int_equal(s != NULL, rows[i].name == NULL);
        xt_status_free(s);
        str_free(&out);
    }
}

/* --- a run whose validation says what it is told to --- */
static const double *scores;
static xt_trainer *now;
static const char *fails_in = "";
static void here(const char *hook) {
    if (strcmp(hook, fails_in) == 0) xt_matmul(xt_zeros(XT_F32, 2, 3), xt_zeros(XT_F32, 2, 3));
}
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_mul(x, xt_param(m, "w", "ones", 0, XT_F32, 1));
}
static int steps;
static xt_tensor train_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    steps++;
    if (b.index == 1) here("training_step");
    return xt_mean(xt_forward(m, b.x));
}
static void val_step(xt_module *m, xt_batch b, void *user) {
    (void)m;
    (void)b;
    (void)user;
    here("validation_step");
    if (scores) xt_log_value("val/score", scores[xt_trainer_epoch(now)]);
}
static xt_optimizer *sgd(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.01);
}
static const xt_task task = {
    .net = net, .training_step = train_step, .validation_step = val_step, .configure_optimizers = sgd};

static xt_loader *data(int64_t batches) {
    static float x[64];
    for (int i = 0; i < 64; i++) x[i] = 1;
    return xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 2 * batches), .batch = 2);
}

/* The names of the .ckpt files of a folder, sorted, "a b c". */
static const char *files_of(const char *folder) {
    static char out[1024];
    char command[512];
    snprintf(command, sizeof command, "cd %s 2>/dev/null && LC_ALL=C ls | sed -n 's/.ckpt$//p' | tr '\\n' ' '",
             in_dir(folder));
    FILE *p = popen(command, "r");
    assert_non_null(p);
    size_t n = fread(out, 1, sizeof out - 1, p);
    pclose(p);
    while (n && out[n - 1] == ' ') n--;
    out[n] = 0;
    return out;
}

/* Rows say what is not the default. */
#define KEPT(...) XT_OPTS(xt_model_checkpoint_opts, .save_last = XT_OFF, __VA_ARGS__)
#define LAST(...) XT_OPTS(xt_model_checkpoint_opts, .filename = "{step}", __VA_ARGS__)
typedef struct kept_case {
    const char *folder;
    int64_t epochs, batches;
    const char *val_every; /* NULL: no validation */
    const double *scores;
    const char *resume;
    xt_model_checkpoint_opts o;
    const char *files;
    double best;
} kept_case;

static void fit_case(const kept_case *c) {
    char folder[256], resume[128] = "";
    snprintf(folder, sizeof folder, "%s", in_dir(c->folder));
    if (c->resume) snprintf(resume, sizeof resume, "%s/%s.ckpt", dir, c->resume);
    scores = c->scores;
    xt_trainer *t = now = TEST_TRAINER(.max_epochs = c->epochs, .logger = XT_OFF, .val_every = c->val_every,
                                       .resume = c->resume ? resume : NULL);
    xt_model_checkpoint_opts o = c->o;
    o.struct_size = sizeof o;
    o.dirpath = folder;
    xt_trainer_add(t, xt_model_checkpoint_opt(XT_HERE, o));
    if (xt_fit(t, &task, data(c->batches), c->val_every ? data(1) : NULL))
        fail_msg("%s: %s", c->folder, str_cstr(&said));
    double best;
    xt_trainer_best_checkpoint(t, &best);
    if (!(best == c->best || (isnan(best) && isnan(c->best))))
        fail_msg("%s: the best is %g, not %g", c->folder, best, c->best);
    xt_finish();
    if (strcmp(files_of(c->folder), c->files) != 0)
        fail_msg("%s: %s, not %s", c->folder, files_of(c->folder), c->files);
}

static void what_is_kept(void **state) {
    (void)state;
    static const double late[] = {NAN, 8, 7, 5}, no[] = {NAN, NAN, NAN}, falls[] = {9, 8, 7, 6};
    const kept_case rows[] = {
        {"newest", 3, 5, NULL, NULL, NULL, KEPT(.save_top_k = 1), "epoch=2-step=15", NAN},
        {"all", 3, 5, NULL, NULL, NULL, KEPT(.save_top_k = -1, .filename = "{step}"), "step=10 step=15 step=5", NAN},
        {"empty", 1, 5, NULL, NULL, NULL, KEPT(.filename = ""), "epoch=0-step=5", NAN},
        {"by1", 5, 2, NULL, NULL, NULL, KEPT(.save_top_k = -1, .every_n_epochs = 1, .filename = "{epoch}"),
         "epoch=0 epoch=1 epoch=2 epoch=3 epoch=4", NAN},
        {"by2", 5, 2, NULL, NULL, NULL, KEPT(.save_top_k = -1, .every_n_epochs = 2, .filename = "{epoch}"),
         "epoch=1 epoch=3", NAN},
        {"by3", 5, 2, NULL, NULL, NULL, KEPT(.save_top_k = -1, .every_n_epochs = 3, .filename = "{epoch}"), "epoch=2",
         NAN},
        {"validated2", 5, 2, "2epochs", NULL, NULL, KEPT(.save_top_k = -1, .filename = "{epoch}"), "epoch=1 epoch=3",
         NAN},
        {"bysteps", 2, 7, NULL, NULL, NULL, KEPT(.save_top_k = -1, .every_n_steps = 4, .filename = "{step}"),
         "step=12 step=4 step=8", NAN},
        {"last", 2, 5, NULL, NULL, NULL, XT_OPTS(xt_model_checkpoint_opts, .last_only = XT_ON), "last", NAN},
        {"late", 4, 2, "1epochs", late, NULL, KEPT(.monitor = "val/score", .filename = "{epoch}"), "epoch=3", 5},
        {"four", 4, 2, "1epochs", late, NULL, KEPT(.monitor = "val/score", .save_top_k = -1, .filename = "{epoch}"),
         "epoch=0 epoch=1 epoch=2 epoch=3", 5},
        {"nan", 3, 2, "1epochs", no, NULL, KEPT(.monitor = "val/score", .filename = "{epoch}"), "epoch=0", INFINITY},
        /* Where nothing validates there is no such value, whatever its name: the file of the run's end alone. */
        {"none", 2, 3, NULL, NULL, NULL, LAST(.monitor = "valid_loss"), "last", NAN},
        {"none_by_steps", 2, 3, NULL, NULL, NULL, LAST(.monitor = "acc", .every_n_steps = 2), "last", NAN},
        {"none_by_epochs", 2, 3, NULL, NULL, NULL, LAST(.monitor = "acc", .every_n_epochs = 1), "last", NAN},
        {"none_at_all", 2, 3, NULL, NULL, NULL, KEPT(.monitor = "acc"), "", NAN},
        /* Files of every so many epochs are of the steps whose value it is: those epochs' validations. */
        {"within", 4, 4, "2batches", falls, NULL,
         KEPT(.monitor = "val/score", .every_n_epochs = 2, .save_top_k = -1, .filename = "{step}"),
         "step=14 step=16 step=6 step=8", 6},
        {"seldom", 4, 2, "3epochs", falls, NULL,
         KEPT(.monitor = "val/score", .every_n_epochs = 2, .save_top_k = -1, .filename = "{step}"), "", NAN},
        {"at_times", 4, 2, "2epochs", falls, NULL,
         KEPT(.monitor = "val/score", .every_n_epochs = 1, .save_top_k = -1, .filename = "{step}"), "step=4 step=8", 6},
        /* A fixed name is the newest's, or the best's, after any number of saves; values in names are those
         * of the save. */
        {"fixed", 2, 2, NULL, NULL, NULL, KEPT(.filename = "newest"), "newest", NAN},
        {"fixed", 4, 2, "1epochs", falls, NULL, KEPT(.monitor = "val/score", .filename = "best"), "best newest", 6},
        {"valued", 4, 2, "1epochs", falls, NULL, KEPT(.filename = "{epoch}-{val/score:.0f}"), "epoch=3-val_score=6",
         NAN},
        /* The same folder twice: the files of the other fit stay as they are. */
        {"twice", 2, 2, NULL, NULL, NULL, KEPT(.save_top_k = -1, .filename = "{epoch}"), "epoch=0 epoch=1", NAN},
        {"twice", 2, 2, NULL, NULL, NULL, KEPT(.save_top_k = -1, .filename = "{epoch}"),
         "epoch=0-v1 epoch=0 epoch=1-v1 epoch=1", NAN},
        /* The best two, at steps 2 and 4; going on from step 4 to 8 leaves 4 there, and another folder
         * leaves both alone. */
        {"two", 2, 2, "1epochs", falls, NULL, KEPT(.monitor = "val/score", .save_top_k = 2, .filename = "{step}"),
         "step=2 step=4", 8},
        {"other", 4, 2, "1epochs", falls, "two/step=4",
         KEPT(.monitor = "val/score", .save_top_k = 2, .filename = "{step}"), "step=6 step=8", 6},
        {"two", 4, 2, "1epochs", falls, "two/step=4",
         KEPT(.monitor = "val/score", .save_top_k = 2, .filename = "{step}"), "step=4 step=6 step=8", 6}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        fit_case(&rows[i]);
        if (strcmp(rows[i].folder, "other") == 0) assert_string_equal(files_of("two"), "step=2 step=4");
    }
    scores = NULL;
}

/* The value that a save by steps goes by is that of its step, whatever rows there are. */
static void values_between_rows(void **state) {
    (void)state;
    char files[2][1024], folder[256];
    double best[2];
    for (int i = 0; i < 2; i++) {
        snprintf(folder, sizeof folder, "%s", in_dir(i ? "no-rows" : "rows"));
        xt_trainer *t = now = TEST_TRAINER(.max_epochs = 1, .logger = XT_OFF, .log_every_n_steps = i ? 50 : 1);
        xt_trainer_add(t, xt_model_checkpoint(.dirpath = folder, .monitor = "loss", .every_n_steps = 2, .save_top_k = 3,
                                              .filename = "{step}-{loss:.6f}"));
        if (xt_fit(t, &task, data(9), NULL)) fail_msg("%s", str_cstr(&said));
        xt_trainer_best_checkpoint(t, &best[i]);
        xt_finish();
        snprintf(files[i], sizeof files[i], "%s", files_of(i ? "no-rows" : "rows"));
    }
    assert_string_equal(files[0], files[1]);
    assert_true(isfinite(best[0]) && best[0] == best[1]);
}

static void what_is_refused(void **state) {
    (void)state;
    static const struct {
        xt_model_checkpoint_opts o;
        const char *says;
    } rows[] = {{{.save_top_k = -3}, "save_top_k = -3 is out of range"},
                {{.save_top_k = 3}, "save_top_k = 3 needs a monitor"},
                {{.every_n_steps = 2, .every_n_epochs = 1}, "choose one"},
                {{.every_time = "often"}, "every_time"},
                {{.monitor = "a", .mode = XT_SUM}, "XT_MIN or XT_MAX"}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        xt_model_checkpoint_opts o = rows[i].o;
        o.struct_size = sizeof o;
        assert_null(xt_model_checkpoint_opt(XT_HERE, o));
        if (!strstr(xt_status_message(xt_error()), rows[i].says)) fail_msg("%s", xt_status_message(xt_error()));
        xt_clear_error();
    }
}

/* --- an error, wherever it comes from, leaves the last whole step --- */
#define M0(name)                                 \
    static void name(xt_module *m, void *user) { \
        (void)m;                                 \
        (void)user;                              \
        here(#name);                             \
    }
#define M_EPOCH(name)                                           \
    static void name(xt_module *m, int64_t epoch, void *user) { \
        (void)m;                                                \
        (void)user;                                             \
        (void)epoch;                                            \
        here(#name);                                            \
    }
#define M_BATCH(name)                                               \
    static void name(xt_module *m, const xt_batch *b, void *user) { \
        (void)m;                                                    \
        (void)user;                                                 \
        if (b->index == 1) here(#name);                             \
    }
#define C_EPOCH(name)                                 \
    static void c_##name(xt_trainer *t, void *user) { \
        (void)t;                                      \
        (void)user;                                   \
        here("c_" #name);                             \
    }
#define C0(name)                                         \
    static void c_##name(xt_trainer *t, void *user) {    \
        (void)user;                                      \
        if (xt_trainer_global_step(t)) here("c_" #name); \
    }
#define C_BATCH(name)                                                    \
    static void c_##name(xt_trainer *t, const xt_batch *b, void *user) { \
        (void)t;                                                         \
        (void)user;                                                      \
        if (b->index == 1) here("c_" #name);                             \
    }
static bool on_train_batch_start(xt_module *m, const xt_batch *b, void *user) {
    (void)m;
    (void)user;
    if (b->index == 1) here("on_train_batch_start");
    return false;
}
static void on_before_backward(xt_module *m, xt_tensor loss, void *user) {
    (void)m;
    (void)loss;
    (void)user;
    if (steps == 2) here("on_before_backward");
}
static void on_after_backward(xt_module *m, void *user) {
    (void)m;
    (void)user;
    if (steps == 2) here("on_after_backward");
}
static void on_before_optimizer_step(xt_module *m, void *user) {
    (void)m;
    (void)user;
    if (steps == 2) here("on_before_optimizer_step");
}
static void on_train_batch_end(xt_module *m, const xt_batch *b, xt_tensor loss, void *user) {
    (void)m;
    (void)loss;
    (void)user;
    if (b->index == 1) here("on_train_batch_end");
}
static xt_batch on_after_batch_transfer(xt_module *m, xt_batch b, void *user) {
    (void)m;
    (void)user;
    if (steps == 1) here("on_after_batch_transfer");
    return b;
}
static void c_before_backward(xt_trainer *t, xt_tensor loss, void *user) {
    (void)t;
    (void)loss;
    (void)user;
    if (steps == 2) here("c_before_backward");
}
static void c_after_backward(xt_trainer *t, void *user) {
    (void)t;
    (void)user;
    if (steps == 2) here("c_after_backward");
}
static void c_before_step(xt_trainer *t, void *user) {
    (void)t;
    (void)user;
    if (steps == 2) here("c_before_step");
}
M_EPOCH(on_train_epoch_end)
M_EPOCH(on_validation_epoch_start)
M_EPOCH(on_validation_epoch_end)
M_BATCH(on_validation_batch_start)
M_BATCH(on_validation_batch_end)
C0(step_end)
C0(epoch_end)
C0(validation_start)
C0(validation_end)
C0(row)
C_BATCH(batch_start)
C_BATCH(batch_end)
C_BATCH(validation_batch_start)
C_BATCH(validation_batch_end)
C_EPOCH(sanity_end)

static void errors_leave_a_checkpoint(void **state) {
    (void)state;
    static const char *const hooks[] = {"training_step",
                                        "validation_step",
                                        "on_train_batch_start",
                                        "on_before_backward",
                                        "on_after_backward",
                                        "on_before_optimizer_step",
                                        "on_train_batch_end",
                                        "on_after_batch_transfer",
                                        "on_train_epoch_end",
                                        "on_validation_epoch_start",
                                        "on_validation_epoch_end",
                                        "on_validation_batch_start",
                                        "on_validation_batch_end",
                                        "c_step_end",
                                        "c_epoch_end",
                                        "c_validation_start",
                                        "c_validation_end",
                                        "c_row",
                                        "c_batch_start",
                                        "c_batch_end",
                                        "c_validation_batch_start",
                                        "c_validation_batch_end",
                                        "c_before_backward",
                                        "c_after_backward",
                                        "c_before_step"};
    static const xt_task hooked = {.net = net,
                                   .training_step = train_step,
                                   .validation_step = val_step,
                                   .configure_optimizers = sgd,
                                   .on_train_batch_start = on_train_batch_start,
                                   .on_before_backward = on_before_backward,
                                   .on_after_backward = on_after_backward,
                                   .on_before_optimizer_step = on_before_optimizer_step,
                                   .on_train_batch_end = on_train_batch_end,
                                   .on_after_batch_transfer = on_after_batch_transfer,
                                   .on_train_epoch_end = on_train_epoch_end,
                                   .on_validation_epoch_start = on_validation_epoch_start,
                                   .on_validation_epoch_end = on_validation_epoch_end,
                                   .on_validation_batch_start = on_validation_batch_start,
                                   .on_validation_batch_end = on_validation_batch_end};
    static const xt_callback_desc everywhere = {.struct_size = sizeof(xt_callback_desc),
                                                .name = "everywhere",
                                                .step_end = c_step_end,
                                                .epoch_end = c_epoch_end,
                                                .validation_start = c_validation_start,
                                                .validation_end = c_validation_end,
                                                .row = c_row,
                                                .batch_start = c_batch_start,
                                                .batch_end = c_batch_end,
                                                .before_backward = c_before_backward,
                                                .validation_batch_start = c_validation_batch_start,
                                                .validation_batch_end = c_validation_batch_end,
                                                .after_backward = c_after_backward,
                                                .before_optimizer_step = c_before_step,
                                                .sanity_end = c_sanity_end};
    for (size_t i = 0; i < BASE_COUNT(hooks) + 2; i++) {
        bool sanity = i == BASE_COUNT(hooks), smoke = i > BASE_COUNT(hooks);
        fails_in = sanity ? "c_sanity_end" : smoke ? "validation_step" : hooks[i];
        steps = 0;
        xt_trainer *t = TEST_TRAINER(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF, .log_every_n_steps = 1,
                                     .num_sanity_val_steps = sanity, .fast_dev_run = smoke ? 2 : 0);
        xt_trainer_add(t, xt_callback_new(&everywhere, NULL));
        xt_trainer_add(t, xt_exception_checkpoint(.dirpath = in_dir("broken")));
        if (xt_fit(t, &hooked, data(3), data(2)) != 1) fail_msg("an error in %s went unnoticed", fails_in);
        bool there = file_exists(in_dir("broken/on_exception.ckpt"));
        if (there == (sanity || smoke))
            fail_msg("an error in %s%s: %s", fails_in, smoke ? " of a smoke run" : "",
                     there ? "a checkpoint" : "no checkpoint");
        unlink(in_dir("broken/on_exception.ckpt"));
        fails_in = "";
        xt_finish();
    }
}

/* A run that goes on from an error has the epoch's values of the unbroken one. */
static int64_t breaks_behind;
static void break_there(xt_trainer *t, const xt_batch *b, void *user) {
    (void)t;
    (void)user;
    if (b->index == breaks_behind) xt_add(xt_zeros(XT_F32, 2), xt_zeros(XT_F32, 3));
}
static void sums_survive_an_error(void **state) {
    (void)state;
    static const xt_callback_desc breaks = {
        .struct_size = sizeof(xt_callback_desc), .name = "breaks", .batch_end = break_there};
    double mean[3];
    for (int i = 0; i < 3; i++) { /* unbroken, broken, resumed */
        char path[256];
        snprintf(path, sizeof path, "%s", in_dir("sums/on_exception.ckpt"));
        breaks_behind = i == 1 ? 4 : -1;
        xt_trainer *t = now =
            TEST_TRAINER(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF, .resume = i == 2 ? path : NULL);
        xt_trainer_add(t, xt_callback_new(&breaks, NULL));
        xt_trainer_add(t, xt_exception_checkpoint(.dirpath = in_dir("sums")));
        assert_int_equal(xt_fit(t, &task, data(6), NULL), i == 1);
        mean[i] = i == 1 ? 0 : xt_trainer_metric(t, "loss_epoch", true);
        xt_clear_error();
        xt_finish();
    }
    assert_true(isfinite(mean[0]) && mean[0] == mean[2]);
}

/* --- states of two callbacks of one kind --- */
static void two_val(xt_module *m, xt_batch b, void *user) {
    (void)m;
    (void)b;
    (void)user;
    xt_log_value("val/a", (double)xt_trainer_epoch(now)); /* rises: no improvement after the first */
    xt_log_value("val/b", -(double)xt_trainer_epoch(now));
}
static void order_does_not_matter(void **state) {
    (void)state;
    xt_task two = task;
    two.validation_step = two_val;
    for (int swapped = 0; swapped < 2; swapped++) {
        xt_trainer *t = now = TEST_TRAINER(.max_epochs = 3, .logger = XT_OFF);
        xt_trainer_add(t, xt_model_checkpoint(.dirpath = in_dir("order"), .last_only = XT_ON));
        xt_trainer_add(t, xt_early_stopping(.monitor = "val/a", .patience = 4));
        xt_trainer_add(t, xt_early_stopping(.monitor = "val/b", .patience = 4));
        assert_int_equal(xt_fit(t, &two, data(2), data(1)), 0); /* a has waited 2, b never */
        xt_finish();
        str_clear(&said);
        t = now = TEST_TRAINER(.max_epochs = 9, .logger = XT_OFF, .checkpointing = XT_OFF,
                               .resume = in_dir("order/last.ckpt"));
        xt_trainer_add(t, xt_early_stopping(.monitor = swapped ? "val/b" : "val/a", .patience = 4));
        xt_trainer_add(t, xt_early_stopping(.monitor = swapped ? "val/a" : "val/b", .patience = 4));
        assert_int_equal(xt_fit(t, &two, data(2), data(1)), 0);
        /* epochs 3 and 4 are a's third and fourth without improvement */
        assert_int_equal(xt_trainer_global_step(t), 2 * 5);
        says("val/a");
        xt_finish();
    }
}

/* What is told of a value that this fit will not have: what is kept without it, and what there is to watch. */
static void what_is_kept_without_a_value(void **state) {
    (void)state;
    for (int last = 0; last < 2; last++) {
        for (int validates = 0; validates < 2; validates++) {
            str_clear(&said);
            xt_trainer *t = now = TEST_TRAINER(.max_epochs = 1, .logger = XT_OFF);
            xt_trainer_add(t, xt_model_checkpoint(.dirpath = in_dir(last ? "kept" : "not kept"), .every_n_steps = 2,
                                                  .monitor = last ? "accuracy" : "valid_loss",
                                                  .save_last = last ? XT_ON : XT_OFF));
            scores = NULL;
            int code = xt_fit(t, &task, data(4), validates ? data(1) : NULL);
            /* with a validation that does not log it the name is wrong */
            if (code != validates) fail_msg("%d %d: %s", last, validates, str_cstr(&said));
            if (!validates) says(last ? "accuracy was not logged; logged so far: " : "valid_loss was not logged; ");
            says(last ? "last.ckpt alone is kept" : "nothing is kept");
            xt_finish();
        }
    }
}

/* A monitored validation value has none before the first validation: until then only last.ckpt is kept, from a resumed
 * run in the middle of an epoch too. */
static void saves_before_the_first_validation(void **state) {
    (void)state;
    xt_task two = task;
    two.validation_step = two_val;
    for (int resumed = 0; resumed < 2; resumed++) {
        xt_trainer *t = now = TEST_TRAINER(.max_epochs = 1 + resumed, .max_steps = resumed ? -1 : 3, .logger = XT_OFF,
                                           .resume = resumed ? in_dir("early/last.ckpt") : NULL);
        xt_trainer_add(t,
                       xt_model_checkpoint(.dirpath = in_dir("early"), .monitor = "val/b",
                                           .every_n_steps = resumed ? 3 : 2, .save_top_k = -1, .filename = "{step}"));
        assert_int_equal(xt_fit(t, &two, data(4), data(1)), 0);
        if (!resumed) says("val/b has no value before the first validation"); /* once a process and name */
        assert_true(file_exists(in_dir("early/last.ckpt")) && !file_exists(in_dir("early/step=2.ckpt")));
        /* the validation of epoch 0 was after step 4 */
        if (resumed) assert_true(file_exists(in_dir("early/step=6.ckpt")));
        xt_finish();
    }
}

/* --- two callbacks, two values, one folder --- */
static const double acc[] = {0.5, 0.9, 0.7, 0.6, 0.55, 0.4}, f1[] = {0.1, 0.5, 0.6, 0.7, 0.8, 0.9};
static void two_scores(xt_module *m, xt_batch b, void *user) {
    (void)m;
    (void)b;
    (void)user;
    xt_log_value("val/acc", acc[xt_trainer_epoch(now)]);
    xt_log_value("val/f1", f1[xt_trainer_epoch(now)]);
}

static void fit_two(const char *folder, const char *again, int64_t epochs, int top_k, const char *resume) {
    char one[256], other[256], from[256];
    snprintf(one, sizeof one, "%s", in_dir(folder));
    snprintf(other, sizeof other, "%s", in_dir(again));
    snprintf(from, sizeof from, "%s", in_dir(resume ? resume : ""));
    xt_task two = task;
    two.validation_step = two_scores;
    str_clear(&said);
    xt_trainer *t = now = TEST_TRAINER(.max_epochs = epochs, .logger = XT_OFF, .resume = resume ? from : NULL);
    xt_trainer_add(t, xt_model_checkpoint(.monitor = "val/acc", .mode = XT_MAX, .dirpath = one, .save_top_k = top_k));
    xt_trainer_add(t, xt_model_checkpoint(.monitor = "val/f1", .mode = XT_MAX, .dirpath = other, .save_top_k = top_k));
    if (xt_fit(t, &two, data(10), data(1))) fail_msg("%s", str_cstr(&said));
    double best;
    const char *path = xt_trainer_best_checkpoint(t, &best);
    if (!path || !strstr(path, "/epoch=1-step=20.ckpt") || fabs(best - 0.9) > 1e-6 || !file_exists(path))
        fail_msg("the best is %s, %g", path ? path : "none", best);
    if (strstr(str_cstr(&said), "earlier run")) fail_msg("last.ckpt is one for both: %s", str_cstr(&said));
    xt_finish();
}

/* Where last.ckpt is another name of the newest file, a run that was resumed from last.ckpt gives that file up as any
 * other: one that is killed and resumed again and again would leave one each time. */
static void resumed_from_last(void **state) {
    (void)state;
    static const double falls[] = {9, 8, 7, 6, 5};
    const kept_case rows[] = {
        {"moves", 2, 10, "1epochs", falls, NULL, LAST(.monitor = "val/score", .background = XT_OFF), "last step=20", 8},
        {"moves", 5, 10, "1epochs", falls, "moves/last", LAST(.monitor = "val/score", .background = XT_OFF),
         "last step=50", 5}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) fit_case(&rows[i]);
    scores = NULL;
}

/* Each has files of its own, also of a step that both keep, and removes no other; a resumed run goes on with both
 * lists, however the folder is spelled. */
static void each_keeps_its_own_best(void **state) {
    (void)state;
    for (int links = 0; links < 2; links++) {
        const char *folder = links ? "again" : "both";
        char spelled[64], best[128], last[64];
        snprintf(spelled, sizeof spelled, links ? "./%s" : "%s", folder);
        snprintf(best, sizeof best, "%s/epoch=1-step=20.ckpt", folder);
        snprintf(last, sizeof last, "%s/last.ckpt", folder);
        fit_two(folder, spelled, 2, 1, NULL);
        assert_string_equal(files_of(folder), "epoch=1-step=20-v1 epoch=1-step=20 last");
        fit_two(folder, spelled, 4, 1, last);
        assert_string_equal(files_of(folder), "epoch=1-step=20 epoch=3-step=40 last");
        fit_two(folder, spelled, 6, 1, last);
        assert_string_equal(files_of(folder), "epoch=1-step=20 epoch=5-step=60 last");
        xt_trainer *t =
            TEST_TRAINER(.max_steps = 21, .logger = XT_OFF, .checkpointing = XT_OFF, .resume = in_dir(best));
        assert_int_equal(xt_fit(t, &task, data(10), NULL), 0);
        assert_int_equal(xt_trainer_global_step(t), 21);
        xt_finish();
    }
    fit_two("top2", "top2", 6, 2, NULL);
    assert_string_equal(files_of("top2"), "epoch=1-step=20 epoch=2-step=30 epoch=4-step=50 epoch=5-step=60 last");
}

/* What a run had given up when it was killed, and not removed yet, goes with the next save; what the program names to
 * resume from stays. */
static void fit_newest(int epochs, const char *from) {
    char folder[256];
    snprintf(folder, sizeof folder, "%s", in_dir("killed"));
    str_clear(&said);
    xt_trainer *t = TEST_TRAINER(.max_epochs = epochs, .logger = XT_OFF, .resume = from);
    xt_trainer_add(t, xt_model_checkpoint(.dirpath = folder, .background = XT_OFF));
    if (xt_fit(t, &task, data(10), NULL)) fail_msg("%s", str_cstr(&said));
    xt_finish();
}
static void a_killed_run_leaves_nothing(void **state) {
    (void)state;
    char newest[256], before[256], last[256];
    snprintf(newest, sizeof newest, "%s", in_dir("killed/epoch=1-step=20.ckpt"));
    snprintf(before, sizeof before, "%s", in_dir("killed/epoch=0-step=10.ckpt"));
    snprintf(last, sizeof last, "%s", in_dir("killed/last.ckpt"));
    fit_newest(2, NULL);
    assert_string_equal(files_of("killed"), "epoch=1-step=20 last");
    assert_int_equal(link(newest, before), 0);
    fit_newest(3, last);
    assert_string_equal(files_of("killed"), "epoch=2-step=30 last");
    snprintf(newest, sizeof newest, "%s", in_dir("killed/epoch=2-step=30.ckpt"));
    fit_newest(4, newest);
    assert_string_equal(files_of("killed"), "epoch=2-step=30 epoch=3-step=40 last");
}

/* Gradients that wait at the end of an epoch are in the checkpoint, unless they are divided by a scale: no file says
 * that of them. */
static xt_loss_scaler *scaler;
static xt_optimizer *own;
static bool divides;
static xt_optimizer *scaled(xt_module *m, void *user) {
    scaler = xt_loss_scaler_new(.init_scale = 8);
    return own = sgd(m, user);
}
static xt_tensor leaves_gradients(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor loss = xt_mean(xt_forward(m, b.x));
    xt_backward(xt_scale_loss(scaler, loss));
    if (b.index < 3) {
        xt_scaler_step(scaler, own);
        xt_scaler_update(scaler);
    } else if (divides)
        xt_scaler_unscale(scaler, own);
    return loss;
}
static void gradients_that_wait(void **state) {
    (void)state;
    const xt_task manual = {
        .net = net, .training_step = leaves_gradients, .configure_optimizers = scaled, .manual_optimization = true};
    for (int i = 0; i < 2; i++) {
        char file[64];
        snprintf(file, sizeof file, "waits%d/last.ckpt", i);
        divides = i == 1;
        str_clear(&said);
        xt_trainer *t = TEST_TRAINER(.max_epochs = 1, .logger = XT_OFF);
        char folder[256];
        snprintf(folder, sizeof folder, "%s", in_dir(i ? "waits1" : "waits0"));
        xt_trainer_add(t, xt_model_checkpoint(.dirpath = folder));
        assert_int_equal(xt_fit(t, &manual, data(4), NULL), 0);
        st_file *f;
        assert_null(st_open(in_dir(file), &f));
        assert_int_equal(st_find(f, "xtrain:gradient:w") != NULL, !divides);
        st_close(f);
        if (divides != (strstr(str_cstr(&said), "xt_scaler_unscale has divided them already") != NULL))
            fail_msg("%d: %s", i, str_cstr(&said));
        xt_finish();
    }
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_have_names),
                                       T(what_is_kept),
                                       T(values_between_rows),
                                       T(a_killed_run_leaves_nothing),
                                       T(sums_survive_an_error),
                                       T(what_is_refused),
                                       T(errors_leave_a_checkpoint),
                                       T(order_does_not_matter),
                                       T(what_is_kept_without_a_value),
                                       T(saves_before_the_first_validation),
                                       T(resumed_from_last),
                                       T(each_keeps_its_own_best),
                                       T(gradients_that_wait)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
