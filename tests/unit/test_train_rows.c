/* What is in the rows: names and levels, x axes, weighted means, values logged outside the steps, rates of
 * several optimizers, and a loss that is NaN. The numbers are those of Lightning's own tests (but that a row's
 * step counts from 1). */
#include "train_rows_test.h"

/* --- means --- */
static void weighted(const xt_batch *b) {
    int64_t v = b->index + 1;
    if (v <= 2) xt_log("two", xt_scalar(v == 1 ? 2 : 4, XT_F32), .batch_size = v == 1 ? 3 : 5);
    if (v <= 9) xt_log("squares", xt_scalar((double)v, XT_F32), .batch_size = v * v);
    if (v <= 3) xt_log("min", xt_scalar((double)b->index, XT_F32), .reduce = XT_MIN);
    if (v <= 11) xt_log("max", xt_scalar((double)b->index, XT_F32), .reduce = XT_MAX);
    if (v <= 5) xt_log("avg", xt_scalar((double)b->index, XT_F32), .reduce = XT_MEAN);
    if (v <= 5) xt_log("total", xt_scalar((double)b->index, XT_F32), .reduce = XT_SUM);
    if (v <= 2) xt_log_value("mean", 5, .reduce = XT_MEAN);
    if (v <= 2) xt_log_value("sum", 5, .reduce = XT_SUM, .batch_size = 64);
    static const xt_dtype types[] = {XT_I8, XT_F16, XT_BF16};
    static const char *const names[] = {"i8", "f16", "bf16"};
    for (int i = 0; i < 3; i++) xt_log(names[i], xt_full(1, types[i]), .reduce = XT_SUM);
}

static void means_are_weighted(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double want;
    } rows[] = {{"two", 3.25}, {"squares", 2025.0 / 285},
                {"min", 0},    {"max", 10},
                {"avg", 2},    {"total", 10},
                {"mean", 5},   {"sum", 10},
                {"i8", 1000},  {"f16", 1000},
                {"bf16", 1000}};
    in_validation = weighted;
    xt_trainer *t = LOGGED(.max_epochs = 1);
    assert_int_equal(xt_validate(t, &task, data(1000, 1)), 0);
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        double v = xt_trainer_metric(t, rows[i].name, true);
        if (fabs(v - rows[i].want) > 1e-6) fail_msg("%s is %g, not %g", rows[i].name, v, rows[i].want);
    }
    in_validation = NULL;
}

/* --- the trainer's own loss --- */
static int taken_at; /* the task logs "loss" in this batch, and in no other */
static void loss_of_one(xt_tensor loss, const xt_batch *b) {
    if (b->index == taken_at) xt_log("loss", xt_mul_scalar(loss, 10));
}
static void each_loss(xt_tensor loss, const xt_batch *b) {
    (void)b;
    xt_log("loss", xt_mul_scalar(loss, 10));
}

/* A task that logs "loss" itself, be it once, has that name for itself; the trainer's is found all the same. */
static void every_step_has_a_loss(void **state) {
    (void)state;
    in_training = loss_of_one;
    for (taken_at = -1; taken_at < 4; taken_at++) {
        static const char *const losses[] = {"1=1 2=1 3=1 4=1", "1=10", "1=1 2=10", "1=1 2=1 3=10", "1=1 2=1 3=1 4=10"},
                                 *const others[] = {"", "2=1 3=1 4=1", "3=1 4=1", "4=1", ""};
        xt_trainer *t = LOGGED(.max_epochs = 1, .log_every_n_steps = 1);
        xt_task still = task;
        still.configure_optimizers = rests;
        assert_int_equal(xt_fit(t, &still, data(4, 1), NULL), 0);
        ROWS("step", "loss", losses[taken_at + 1]);
        ROWS("step", "trainer/loss", others[taken_at + 1]);
        xt_trainer_free(t);
    }
    in_training = each_loss;
    xt_trainer *t = LOGGED(.max_epochs = 1, .log_every_n_steps = 1);
    xt_task still = task;
    still.configure_optimizers = rests;
    assert_int_equal(xt_fit(t, &still, data(3, 1), NULL), 0);
    ROWS("step", "loss", "1=10 2=10 3=10");
    ROWS("step", "trainer/loss", "");
    in_training = NULL;
}

/* --- names under an `if` --- */
static void now_and_then(xt_tensor loss, const xt_batch *b) {
    (void)loss;
    if (b->index % 10 == 2) xt_log_value("rare", (double)b->index);
    if (b->index % 10 >= 6) xt_log_value("half", (double)b->index);
    if (b->index == 1)
        xt_log("last", xt_scalar((double)(b->epoch + 1), XT_F32), .on_step = XT_OFF, .on_epoch = XT_ON,
               .reduce = XT_LAST);
    if (b->index % 10 == 3) xt_log("nothing", xt_scalar(NAN, XT_F32));
}

/* A row has the newest value of each name since the row before, once; nothing is lost between rows, nor at an
 * epoch's end. */
static void newest_since_the_row_before(void **state) {
    (void)state;
    in_training = now_and_then;
    xt_trainer *t = LOGGED(.max_epochs = 2, .log_every_n_steps = 5);
    assert_int_equal(xt_fit(t, &task, data(18, 1), NULL), 0);
    ROWS("step", "rare", "5=2 15=12 25=2 35=12"); /* steps 3, 13, 21 and 31 */
    /* steps 7 to 10, 17 and 18; 25 to 28, 35 and 36, the last, which has a row */
    ROWS("step", "half", "10=9 20=17 25=6 30=9 35=16 36=17");
    ROWS("step", "nothing", "5=nan 15=nan 25=nan 35=nan");
    ROWS("epoch", "last", "18=1 36=2");
    t = LOGGED(.max_epochs = 1, .log_every_n_steps = 2, .accumulate_grad_batches = 4);
    assert_int_equal(xt_fit(t, &task, data(40, 1), NULL), 0);
    /* Windows of four: 2 is in the first, 12 in the fourth, 22 in the sixth, 32 in the ninth; of `half`, the second has
     * 6 and 7, the third 8 and 9. */
    ROWS("step", "rare", "2=2 4=12 6=22 10=32");
    ROWS("step", "half", "2=6.5 4=8.5 6=17.5 8=28.5 10=37.5");
    in_training = NULL;
}

/* What is logged after a step goes with the next one, though an epoch ends or a validation comes between: a number, a
 * tensor made there, a parameter. The means of an epoch have it in that step's epoch, also behind the last one. */
static void behind_the_step(xt_trainer *t, void *user) {
    int64_t step = xt_trainer_global_step(t), rare = *(const int64_t *)user;
    if (step != rare) return;
    xt_log_value("number", (double)step);
    xt_log("tensor", xt_scalar((double)step / 2, XT_F32), .on_step = XT_ON, .on_epoch = XT_ON);
    xt_log("w", xt_module_find(xt_trainer_module(t), "w"));
    xt_log_metric("share", ((xt_metric){.numerator = xt_scalar(3, XT_F32), .denominator = xt_scalar(4, XT_F32)}));
}
static const xt_callback_desc behind = {
    .struct_size = sizeof(xt_callback_desc), .name = "behind", .step_end = behind_the_step};

static void after_a_step(void **state) {
    (void)state;
    static const struct {
        int64_t step;
        const char *val_every, *number, *tensor, *mean, *w, *share;
    } rows[] = {
        {4, NULL, "6=4", "6=2", "4=2", "6=0.996000051", "6=0.75"}, /* an epoch's last, and a validation */
        {2, "2batches", "4=2", "4=1", "4=1", "4=0.998000026", "4=0.75"},
        {8, NULL, "8=8", "8=4", "8=4", "8=0.992000103", "8=0.75"}}; /* there is no next one: a row of their own */
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        int64_t step = rows[i].step;
        xt_trainer *t = LOGGED(.max_epochs = 2, .log_every_n_steps = 2, .val_every = rows[i].val_every);
        xt_trainer_add(t, xt_callback_new(&behind, &step));
        assert_int_equal(xt_fit(t, &task, data(4, 1), data(2, 1)), 0);
        ROWS("step", "number", rows[i].number);
        ROWS("step", "tensor_step", rows[i].tensor);
        ROWS("epoch", "tensor_epoch", rows[i].mean);
        ROWS("step", "w", rows[i].w);
        ROWS("step", "share", rows[i].share);
        xt_finish();
    }
}

/* --- names, axes --- */
static void at_all_levels(xt_tensor loss, const xt_batch *b) {
    (void)b;
    xt_log("default", loss);
    xt_log("s", loss, .on_step = XT_ON, .on_epoch = XT_OFF);
    xt_log("e", loss, .on_step = XT_OFF, .on_epoch = XT_ON);
    xt_log("se", xt_scalar((double)b->index, XT_F32), .on_step = XT_ON, .on_epoch = XT_ON);
}
static void val_at_both(const xt_batch *b) {
    xt_log("v", xt_scalar((double)b->index, XT_F32), .on_step = XT_ON, .on_epoch = XT_ON);
}

static void names_say_the_level(void **state) {
    (void)state;
    in_training = at_all_levels;
    in_validation = val_at_both;
    xt_trainer *t = LOGGED(.max_epochs = 2, .log_every_n_steps = 1);
    assert_int_equal(xt_fit(t, &task, data(2, 1), data(2, 1)), 0);
    static const char *const there[][2] = {{"step", "default"}, {"step", "s"},         {"epoch", "e"},
                                           {"step", "se_step"}, {"epoch", "se_epoch"}, {"epoch", "v_epoch"}};
    static const char *const not_there[][2] = {{"epoch", "default"}, {"epoch", "s"},  {"step", "e"},
                                               {"step", "se"},       {"epoch", "se"}, {"epoch", "v"}};
    for (size_t i = 0; i < BASE_COUNT(there); i++) {
        assert_int_not_equal(rows_of(xt_trainer_run_dir(t), there[i][0], there[i][1])[0], 0);
        ROWS(not_there[i][0], not_there[i][1], "");
    }
    ROWS("step", "se_step", "1=0 2=1 3=0 4=1");
    ROWS("epoch", "se_epoch", "2=0.5 4=0.5");
    ROWS("epoch", "v_epoch", "2=0.5 4=0.5");
    assert_true(xt_trainer_metric(t, "se", true) == 0.5); /* callbacks find the epoch's value under the plain name */
    assert_true(xt_trainer_metric(t, "v", true) == 0.5);
    ROWS("step", "v_step", "2=1 4=1"); /* one read a validation: its last batch's, on the axis of training */
    assert_true(xt_trainer_metric(t, "v_step", true) == 1);
    in_validation = NULL;
    xt_finish();
    t = LOGGED(.max_epochs = 4, .max_steps = 10, .log_every_n_steps = 5);
    assert_int_equal(xt_fit(t, &task, data(3, 1), NULL), 0);
    ROWS("step", "se_step", "5=1 10=0"); /* an epoch that had no row has none in the files */
    in_training = NULL;
}

/* Its last step's values are there all the same for who looks at the newest; and a training that ends without a row has
 * that of its last step, whatever ends it. */
static double newest[4];
static void look_at_newest(xt_trainer *t, void *user) {
    (void)user;
    if (xt_trainer_epoch(t) < 4) newest[xt_trainer_epoch(t)] = xt_trainer_metric(t, "se_step", true);
}
static const xt_callback_desc looks = {
    .struct_size = sizeof(xt_callback_desc), .name = "looks", .epoch_end = look_at_newest};
static void in_the_third_epoch(xt_trainer *t, void *user) {
    (void)user;
    if (xt_trainer_epoch(t) == 2) xt_trainer_stop(t);
}
static const xt_callback_desc stops = {
    .struct_size = sizeof(xt_callback_desc), .name = "stops", .epoch_end = in_the_third_epoch};

static void short_runs_have_a_row(void **state) {
    (void)state;
    const struct {
        xt_trainer_opts o;
        const char *want;
        const xt_callback_desc *callback;
    } rows[] = {{XT_OPTS(xt_trainer_opts, .max_epochs = 2), "6=2", &looks},
                {XT_OPTS(xt_trainer_opts, .max_epochs = 9, .max_steps = 4), "4=0", NULL},
                {XT_OPTS(xt_trainer_opts, .max_epochs = 9), "9=2", &stops},
                {XT_OPTS(xt_trainer_opts, .max_epochs = 3, .log_every_n_steps = 8), "8=1 9=2", NULL},
                /* steps end at micro-batches 2, 3, 5, 6, 8 and 9 */
                {XT_OPTS(xt_trainer_opts, .max_epochs = 3, .accumulate_grad_batches = 2, .log_every_n_batches = 8),
                 "5=0.5 6=2", NULL},
                {XT_OPTS(xt_trainer_opts, .max_epochs = 3, .accumulate_grad_batches = 2, .log_every_n_batches = 10),
                 "6=2", NULL}};
    in_training = at_all_levels;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        xt_trainer_opts o = rows[i].o;
        o.runs_dir = dir, o.loggers = "csv", o.checkpointing = XT_OFF, o.progress_bar = XT_OFF;
        xt_trainer *t = xt_trainer_opt(XT_HERE, o);
        if (rows[i].callback) xt_trainer_add(t, xt_callback_new(rows[i].callback, NULL));
        assert_int_equal(xt_fit(t, &task, data(3, 1), NULL), 0);
        if (strcmp(rows_of(xt_trainer_run_dir(t), "step", "se_step"), rows[i].want) != 0)
            fail_msg("row %zu: %s, not %s", i, rows_of(xt_trainer_run_dir(t), "step", "se_step"), rows[i].want);
        xt_finish();
    }
    assert_true(newest[0] == 2 && newest[1] == 2);
    in_training = NULL;
}

static void two_elements(xt_tensor loss, const xt_batch *b) {
    (void)loss;
    xt_log("pair", b->x);
}
static void other_flags(xt_tensor loss, const xt_batch *b) {
    (void)b;
    xt_log("twice", loss);
    xt_log("twice", loss, .on_epoch = XT_ON);
}
static void never(xt_tensor loss, const xt_batch *b) {
    (void)b;
    xt_log("never", loss, .on_step = XT_OFF, .on_epoch = XT_OFF);
}
static void product(xt_tensor loss, const xt_batch *b) {
    (void)b;
    xt_log("product", loss, .reduce = XT_PRODUCT);
}
static void less_than_none(xt_tensor loss, const xt_batch *b) {
    (void)b;
    xt_log("less", loss, .batch_size = -3);
}
static void imaginary(xt_tensor loss, const xt_batch *b) {
    (void)b;
    xt_log("i", xt_complex(loss, loss));
}
static void on_the_bar_or_not(xt_tensor loss, const xt_batch *b) {
    (void)b;
    xt_log("bar", loss);
    xt_log("bar", loss, .prog_bar = XT_ON);
}
static int first_line;
static void value_and_metric(xt_tensor loss, const xt_batch *b) {
    (void)b;
    first_line = __LINE__ + 1;
    xt_log("same", loss);
    xt_log_metric("same", xt_mse(b->x, b->x));
}
static void metric_and_number(xt_tensor loss, const xt_batch *b) {
    (void)loss;
    first_line = __LINE__ + 1;
    xt_log_metric("same", xt_mse(b->x, b->x));
    xt_log_value("same", 1);
}
static void mistakes_are_named(void **state) {
    (void)state;
    static const struct {
        void (*log)(xt_tensor, const xt_batch *);
        const char *says;
    } rows[] = {{two_elements, "a logged value has one element"},
                {other_flags, "with other options"},
                {never, "it would never be written"},
                {product, "expected XT_MEAN, XT_SUM, XT_MIN, XT_MAX or XT_LAST"},
                {less_than_none, ".batch_size is -3"},
                {imaginary, "the tensor is complex"},
                {on_the_bar_or_not, "prog_bar must agree"},
                {value_and_metric, "as a value with XT_MEAN, here as xt_mse"},
                {metric_and_number, "as xt_mse, here as a value with XT_MEAN"}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        in_training = rows[i].log;
        str_clear(&said);
        assert_int_equal(xt_fit(LOGGED(.max_epochs = 1), &task, data(2, 1), NULL), 1);
        says(rows[i].says);
        says("test_train_rows.c:");
        if (i + 2 >= BASE_COUNT(rows)) { /* both lines */
            char lines[2][64];
            for (int k = 0; k < 2; k++) {
                snprintf(lines[k], sizeof lines[k], "test_train_rows.c:%d", first_line + k);
                says(lines[k]);
            }
        }
        xt_finish();
    }
    in_training = NULL;
}

/* --- rates, NaN --- */
static xt_tensor pair_net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_add(xt_mul(x, xt_param(m, "a", "ones", 0, XT_F32, 1)), xt_param(m, "b", "ones", 0, XT_F32, 1));
}
static int configure_two(xt_module *m, xt_optimizer **out, int max, void *user) {
    (void)max;
    (void)user;
    out[0] = xt_adam(m, .lr = 0.5);
    out[1] = xt_adam(m, .lr = 0.25);
    xt_optimizer_group(out[0], "b", .frozen = XT_ON);
    xt_optimizer_group(out[1], "a", .lr = 0.125);
    xt_linear_schedule(out[0], .start_factor = 1, .end_factor = 0.5, .total_iters = 4);
    return 2;
}
static void rates_of_all_optimizers(void **state) {
    (void)state;
    const xt_task both = {.net = pair_net, .training_step = train_step, .configure_several = configure_two};
    xt_trainer *t = LOGGED(.max_epochs = 2, .log_every_n_steps = 2);
    xt_trainer_add(t, xt_lr_monitor());
    assert_int_equal(xt_fit(t, &both, data(7, 1), NULL), 0);
    static const char *const names[] = {"lr-Adam/pg1", "lr-Adam-1/pg1", "lr-Adam-1/pg2"};
    for (size_t i = 0; i < BASE_COUNT(names); i++) {
        int n = 0;
        for (const char *p = rows_of(xt_trainer_run_dir(t), "step", names[i]); (p = strchr(p, '=')); p++) n++;
        assert_int_equal(n, 7); /* of 14 steps, a row every 2 */
    }
    assert_non_null(strstr(rows_of(xt_trainer_run_dir(t), "step", "lr-Adam-1/pg2"), "2=0.125 "));
    xt_finish();
    t = LOGGED(.max_epochs = 1, .log_every_n_steps = 2); /* one optimizer with one group: its kind alone */
    for (int i = 0; i < 2; i++) xt_trainer_add(t, xt_lr_monitor()); /* by the program and by --callbacks */
    assert_int_equal(xt_fit(t, &task, data(4, 1), NULL), 0);
    ROWS("step", "lr-SGD", "2=0.001 4=0.001");
}

static xt_tensor spoilt_step(xt_module *m, xt_batch b, void *user) { /* NaN to look at, but not in the gradients */
    return xt_add(train_step(m, b, user), xt_full(NAN, XT_F32));
}

static void a_loss_that_is_nan_is_told_once(void **state) {
    (void)state;
    int64_t reads[2];
    for (int nan = 0; nan < 2; nan++) {
        xt_trainer *t = LOGGED(.max_epochs = 2, .log_every_n_steps = 2);
        assert_int_equal(xt_fit(t, &task, data(4, nan ? NAN : 1), NULL), nan); /* there is nothing to go on with */
        reads[nan] = xt_trainer_result(t).host_reads;
        xt_finish();
    }
    assert_int_equal(reads[0], reads[1]);
    static const char told[] = "loss is NaN at step 2, the first row that has it so";
    says(told);
    says("detect_anomaly");
    says("no model: ");
    says("xt_early_stopping(.monitor = \"loss\") ends it soon"); /* a name that this fit logs */
    assert_null(strstr(str_cstr(&said), "train/loss"));
    assert_null(strstr(strstr(str_cstr(&said), told) + 1, "loss is NaN"));
    str_clear(&said);
    /* no rows: the fit's own last loss tells */
    xt_trainer *t = xt_trainer_new(.runs_dir = dir, .max_epochs = 2, .barebones = XT_ON);
    assert_int_equal(xt_fit(t, &task, data(4, NAN), NULL), 1);
    says("loss is NaN at step 8");
    says("the fit ended with a loss of NaN and no model: ");
    assert_null(strstr(str_cstr(&said), "ends it soon")); /* nothing is logged */
    assert_null(xt_error());
    str_clear(&said);
    const xt_task spoilt = {
        .net = task.net, .training_step = spoilt_step, .configure_optimizers = task.configure_optimizers};
    t = LOGGED(.max_epochs = 1);
    assert_int_equal(xt_fit(t, &spoilt, data(4, 1), NULL), 0);
    says("the fit ended with a loss of NaN, and all its parameters are finite");
    assert_null(strstr(str_cstr(&said), "no model"));
}

/* --- a validation's NaN, and watched values --- */
static int validations;
static void nan_at_first(const xt_batch *b) {
    validations += b->index == 0;
    xt_log_value("val/score", validations < 3 ? NAN : -1.0 * validations, .prog_bar = XT_OFF);
}

static int times_said(const char *text) {
    int n = 0;
    for (const char *p = str_cstr(&said); (p = strstr(p, text)); p++) n++;
    return n;
}

static void a_validation_that_is_nan_is_told_once(void **state) {
    (void)state;
    in_validation = nan_at_first;
    for (int mode = 0; mode < 2; mode++) { /* NaN is the worst, whether small or large is good */
        validations = 0;
        str_clear(&said);
        xt_trainer *t = LOGGED(.max_epochs = 4);
        xt_trainer_add(t, xt_model_checkpoint(.monitor = "val/score", .mode = mode ? XT_MAX : XT_MIN, .save_top_k = 2));
        assert_int_equal(xt_fit(t, &task, data(4, 1), data(2, 1)), 0);
        assert_int_equal(times_said("val/score is NaN in the validation at step 4"), 1);
        assert_int_equal(times_said("in the validation at step"), 1);
        says("Usual cause: input of the validation that is not finite");
        if (!mode)
            assert_int_equal(times_said("xt_model_checkpoint: val/score is NaN at step 4: it counts as the worst"), 1);
        double best;
        assert_non_null(xt_trainer_best_checkpoint(t, &best));
        assert_true(best == (mode ? -3 : -4));
        xt_finish();
    }
    in_validation = NULL;
}

/* A report's step is the row's, whatever validations there were before it. */
static void a_step_is_the_rows_step_in_reports(void **state) {
    (void)state;
    long most = 0, n = 0;
    str_clear(&said);
    setenv("XT_DEBUG", "exec", 1);
    assert_int_equal(xt_fit(LOGGED(.max_epochs = 2), &task, data(4, 1), data(3, 1)), 0);
    unsetenv("XT_DEBUG");
    for (const char *p = str_cstr(&said); (p = strstr(p, ", step ")); n++) {
        long step = strtol(p + 7, (char **)&p, 10);
        if (step > most) most = step;
    }
    assert_true(n >= 14); /* 8 steps and 6 batches of validations */
    assert_int_equal(most, 8);
    xt_finish();
}

static int steps_seen;
static void log_of_the_sixth(xt_tensor loss, const xt_batch *b) {
    (void)b;
    if (++steps_seen == 6) xt_log("bad", xt_log_e(xt_neg(loss)));
}
static void mean_of_input(const xt_batch *b) {
    xt_log("val/x", xt_mean(b->x));
}

/* An anomaly's step is the row's too; a pass has none, and says which step it follows. */
static void a_step_is_the_rows_step_in_anomalies(void **state) {
    (void)state;
    steps_seen = 0;
    in_training = log_of_the_sixth;
    assert_int_equal(xt_fit(LOGGED(.max_epochs = 2, .detect_anomaly = XT_ON), &task, data(4, 1), data(3, 1)), 1);
    says("makes the first NaN or Inf of step 6:");
    xt_finish();
    in_training = NULL;
    in_validation = mean_of_input;
    assert_int_equal(xt_fit(LOGGED(.max_epochs = 2, .detect_anomaly = XT_ON), &task, data(4, 1), data(3, NAN)), 1);
    says("has NaN or Inf when batch index 0 of the validation after step 4 begins: ");
    xt_finish();
    assert_int_equal(xt_fit(LOGGED(.max_epochs = 2, .detect_anomaly = XT_ON, .num_sanity_val_steps = 2), &task,
                            data(4, 1), data(3, NAN)),
                     1);
    says("has NaN or Inf when batch index 0 of the sanity check begins: ");
    xt_finish();
    in_validation = NULL;
}

static void nothing_validates_what_is_watched(void **state) {
    (void)state;
    str_clear(&said);
    xt_trainer *t = LOGGED(.max_epochs = 1);
    xt_trainer_add(t, xt_early_stopping(.monitor = "val/score"));
    assert_int_equal(xt_fit(t, &task, data(2, 1), NULL), 1);
    says("xt_early_stopping watches val/score, but this fit does not validate: the validation loader that xt_fit was "
         "given is NULL");
    xt_finish();
}

/* A loader or a step of a validation, without the other: the fit says that it has none. */
static void half_a_validation(void **state) {
    (void)state;
    xt_task no_step = task;
    no_step.validation_step = NULL;
    for (int half = 0; half < 4; half++) {
        str_clear(&said);
        xt_loader *val = half & 1 ? data(2, 1) : NULL;
        assert_int_equal(xt_fit(LOGGED(.max_epochs = 1), half & 2 ? &task : &no_step, data(2, 1), val), 0);
        bool told = strstr(str_cstr(&said), "this fit does not validate") != NULL;
        if (told != (half == 1 || half == 2)) fail_msg("half %d: %s", half, str_cstr(&said));
        xt_finish();
    }
}

/* --- sizes of a plan --- */
static xt_trainer *planning;
static int64_t planned;
static xt_optimizer *planner(xt_module *m, void *user) {
    (void)user;
    planned = xt_trainer_planned_steps(planning);
    return xt_sgd(m, .lr = 0.1);
}
static void steps_are_known_in_advance(void **state) {
    (void)state;
    /* epochs of 7, max_steps, accumulation -> steps */
    static const int64_t rows[][4] = {{2, -1, 1, 14}, {2, -1, 2, 8}, {2, 5, 2, 5},
                                      {-1, 5, 1, 5},  {0, -1, 1, 0}, {2, 0, 1, 0}};
    xt_task plans = task;
    plans.configure_optimizers = planner;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        planning = LOGGED(.max_epochs = rows[i][0], .max_steps = rows[i][1], .accumulate_grad_batches = rows[i][2]);
        planned = 0;
        assert_int_equal(xt_fit(planning, &plans, data(7, 1), NULL), 0);
        assert_int_equal(planned, rows[i][3]);
        assert_int_equal(xt_trainer_global_step(planning), planned);
        xt_finish();
    }
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        T(newest_since_the_row_before),
        T(short_runs_have_a_row),
        T(after_a_step),
        T(means_are_weighted),
        T(every_step_has_a_loss),
        T(names_say_the_level),
        T(mistakes_are_named),
        T(rates_of_all_optimizers),
        T(a_loss_that_is_nan_is_told_once),
        T(a_validation_that_is_nan_is_told_once),
        T(nothing_validates_what_is_watched),
        T(half_a_validation),
        T(a_step_is_the_rows_step_in_reports),
        T(a_step_is_the_rows_step_in_anomalies),
        T(steps_are_known_in_advance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
