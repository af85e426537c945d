/* Passes in a hook of a fit, of its own trainer with another task and of another trainer, and fits of other trainers
 * there: the fit goes on as if nothing had been there. Its rows, and so its weights, are those of a fit without them.
 * So are those of a fit in two parts, whatever is trained in between. */
#include "train_test.h"

enum { N = 32, IN = 4, ROWS = 64 };
typedef enum within {
    NOTHING,
    VALIDATE,
    TEST,
    PREDICT,
    FIT,
    SWITCHES,
    FIND_LR,
    FIND_BATCH,
    WITHIN_COUNT,
    PLAIN = WITHIN_COUNT
} within;
typedef struct run {
    within what;
    bool own; /* of the fit's own trainer */
    enum { AT_EPOCHS, AT_VALIDATIONS, BETWEEN } place;
    xt_dataset *samples;
    xt_trainer *t, *other;
    xt_loader *data;
    int nested, failed, n_rows;
    struct {
        int64_t step;
        bool epoch_level;
        char name[32];
        float value;
    } rows[ROWS];
} run;

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 1);
}
static xt_tensor step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor loss = xt_mse_loss(xt_forward(m, b.x), b.y);
    xt_log("error", loss);
    return loss;
}
static void look(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_log("looked", xt_mse_loss(xt_forward(m, b.x), b.y));
}
static xt_tensor predict(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_forward(m, b.x);
}
static xt_optimizer *optimizer(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.05);
}

static xt_loader *make(int64_t batch, void *user) {
    run *r = user;
    return xt_loader_new(xt_dataset_retain(r->samples), .batch = batch);
}

/* A loop without a trainer, which logs by a name of the fit's. */
static void plain(void) {
    static const float x[2 * IN] = {1, 2, 3};
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = NULL;
    xt_log_every_n_steps(1);
    for (int i = 0; i < 3; i++) {
        xt_tensor loss = xt_mean(xt_forward(m, xt_from_array(x, XT_F32, 2, IN)));
        if (!o) o = xt_sgd(m, .lr = 0.1);
        xt_log("error", loss);
        xt_backward(loss);
        xt_optimizer_step(o);
        xt_mark_step();
    }
    xt_optimizer_free(o);
    xt_module_free(m);
}

/* Another training, or a pass, in the middle of the fit. Its values are not this trainer's. */
static void something(run *r) {
    xt_task task = {.net = net,
                    .training_step = step,
                    .validation_step = look,
                    .test_step = look,
                    .predict_step = predict,
                    .configure_optimizers = optimizer,
                    .user = r};
    xt_trainer *t = r->own ? r->t : r->other;
    double was = xt_trainer_metric(r->t, "error", true);
    if (r->what == PLAIN) plain();
    if (r->what == VALIDATE) r->failed |= xt_validate(t, &task, r->data);
    if (r->what == TEST) r->failed |= xt_test(t, &task, r->data);
    if (r->what == PREDICT) r->failed |= xt_predict(t, &task, r->data, NULL, NULL);
    if (r->what == FIT || r->what == SWITCHES)
        r->failed |= xt_fit(t, &task, make(4, r), r->what == FIT ? NULL : make(8, r));
    if (r->what == FIND_LR) r->failed |= !(xt_lr_find(&task, r->data, .steps = 30) > 0);
    if (r->what == FIND_BATCH) r->failed |= xt_batch_find(&task, make, r, .most = 8) < 1;
    r->failed |= !(was == xt_trainer_metric(r->t, "error", true));
    r->nested += r->what != NOTHING;
}
static void epoch_end(xt_module *m, int64_t epoch, void *user) {
    run *r = user;
    (void)m, (void)epoch;
    if (r->place == AT_EPOCHS) something(r);
}
static void validation_end(xt_module *m, int64_t epoch, void *user) {
    run *r = user;
    (void)m, (void)epoch;
    if (r->place == AT_VALIDATIONS) something(r);
}
static void batch_end(xt_module *m, const xt_batch *b, xt_tensor loss, void *user) {
    run *r = user;
    (void)m, (void)loss;
    if (r->place == BETWEEN && !r->nested && b->epoch == 1 && b->index == 1) xt_trainer_stop(r->t);
}
static xt_status take_row(const xt_log_row *row, void *user) {
    run *r = user;
    for (int64_t i = 0; i < row->n && r->n_rows < ROWS; i++) {
        if (strcmp(row->names[i], "looked") == 0) continue;
        r->rows[r->n_rows].step = row->step;
        r->rows[r->n_rows].epoch_level = row->epoch_level;
        snprintf(r->rows[r->n_rows].name, sizeof r->rows[0].name, "%s", row->names[i]);
        r->rows[r->n_rows++].value = (float)row->values[i];
    }
    return NULL;
}

static void train(run *r) {
    static float x[N * IN], y[N];
    for (int i = 0; i < N * IN; i++) x[i] = (float)(i * 7 % 13) / 13;
    for (int i = 0; i < N; i++) y[i] = x[i * IN] - x[i * IN + 1];
    xt_dataset *d = xt_array_dataset(x, (xt_spec){XT_F32, {IN}}, y, (xt_spec){XT_F32, {1}}, N);
    r->samples = d;
    xt_loader *data = make(8, r), *val = make(16, r);
    r->data = make(16, r);
    r->t = xt_trainer_new(.max_epochs = 3, .log_every_n_steps = 2, .runs_dir = dir, .loggers = "csv",
                          .progress_bar = XT_OFF, .checkpointing = XT_OFF);
    bool other = r->what == SWITCHES;
    r->other = xt_trainer_new(.runs_dir = dir, .run_name = "other", .max_epochs = other ? 3 : 2,
                              .logger = other ? XT_ON : XT_OFF, .progress_bar = XT_OFF, .checkpointing = XT_OFF,
                              .detect_anomaly = other ? XT_ON : XT_OFF, .accumulate_grad_batches = other ? 2 : 1,
                              .precision = other ? "bf16" : NULL);
    xt_trainer_add_logger(r->t, &(xt_logger_desc){.row = take_row}, r);
    xt_task task = {.net = net,
                    .training_step = step,
                    .validation_step = look,
                    .configure_optimizers = optimizer,
                    .on_train_batch_end = batch_end,
                    .on_train_epoch_end = epoch_end,
                    .on_validation_epoch_end = validation_end,
                    .user = r};
    xt_seed(3);
    assert_int_equal(xt_fit(r->t, &task, data, val), 0);
    if (r->place == BETWEEN) {
        something(r);
        r->nested = 3;
        assert_int_equal(xt_fit(r->t, &task, data, val), 0);
    }
    assert_int_equal(r->failed, 0);
    assert_int_equal(xt_trainer_global_step(r->t), 12);
    xt_loader_free(data);
    xt_loader_free(val);
    xt_loader_free(r->data);
    xt_trainer_free(r->t);
    xt_trainer_free(r->other);
    xt_dataset_free(d);
}

static void a_fit_goes_on(void **state) {
    (void)state;
    for (int place = AT_EPOCHS; place <= BETWEEN; place++) {
        static run alone, r;
        alone = (run){.place = place};
        train(&alone);
        assert_true(alone.n_rows > 6);
        for (int own = 0; own < 2; own++)
            for (within w = VALIDATE; w < (own ? FIT : place == BETWEEN ? WITHIN_COUNT + 1 : WITHIN_COUNT); w++) {
                r = (run){.what = w, .own = own, .place = place};
                train(&r);
                assert_int_equal(r.nested, 3);
                assert_int_equal(r.n_rows, alone.n_rows);
                assert_memory_equal(r.rows, alone.rows, sizeof r.rows);
            }
    }
}

/* --- what would end the step under way, or its own fit --- */
static xt_trainer *outer;
static bool own_fit;
static int refused;
static void try_to_fit(void) {
    static float x[8];
    xt_task task = {.net = net, .training_step = step, .configure_optimizers = optimizer};
    xt_trainer *t = own_fit ? outer : xt_trainer_new(.runs_dir = dir, .logger = XT_OFF, .checkpointing = XT_OFF);
    xt_loader *l = xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {IN}}, x, (xt_spec){XT_F32, {1}}, 2));
    refused += xt_fit(t, &task, l);
    xt_loader_free(l);
    if (!own_fit) xt_trainer_free(t);
}
static xt_tensor step_with_a_fit(xt_module *m, xt_batch b, void *user) {
    if (!own_fit) try_to_fit();
    return step(m, b, user);
}
static void epoch_with_a_fit(xt_module *m, int64_t epoch, void *user) {
    (void)m, (void)epoch, (void)user;
    if (own_fit) try_to_fit();
}
static void fits_are_refused_where_they_would_do_harm(void **state) {
    (void)state;
    static float x[8 * IN], y[8];
    xt_task task = {.net = net,
                    .training_step = step_with_a_fit,
                    .on_train_epoch_end = epoch_with_a_fit,
                    .configure_optimizers = optimizer};
    for (int own = 0; own < 2; own++) {
        own_fit = own;
        refused = 0;
        outer = xt_trainer_new(.max_epochs = 2, .runs_dir = dir, .logger = XT_OFF, .checkpointing = XT_OFF,
                               .progress_bar = XT_OFF);
        xt_loader *l =
            xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {IN}}, y, (xt_spec){XT_F32, {1}}, 8), .batch = 4);
        assert_int_equal(xt_fit(outer, &task, l), 0);
        assert_int_equal(refused, own ? 2 : 4);
        says(own ? "xt_fit in a hook of a fit of the same trainer" : "xt_fit within a step of another fit");
        assert_int_equal(xt_trainer_global_step(outer), 4);
        xt_trainer_free(outer);
        xt_loader_free(l);
    }
}

int main(void) {
    setenv("XT_SUMMARY", "off", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_fit_goes_on),
                                       cmocka_unit_test(fits_are_refused_where_they_would_do_harm)};
    return cmocka_run_group_tests(tests, begin, end);
}
