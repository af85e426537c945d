/* Passes in a hook of a fit, of its own trainer with another task and of another trainer: the fit goes on as if nothing
 * had been there. Its rows, and so its weights, are those of a fit without them. */
#include "train_test.h"

enum { N = 32, IN = 4, ROWS = 64 };
typedef enum within { NOTHING, VALIDATE, TEST, PREDICT, WITHIN_COUNT } within;
typedef struct run {
    within what;
    bool own; /* of the fit's own trainer */
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

static void epoch_end(xt_module *m, int64_t epoch, void *user) {
    run *r = user;
    (void)m, (void)epoch;
    xt_task task = {.net = net, .validation_step = look, .test_step = look, .predict_step = predict, .user = r};
    xt_trainer *t = r->own ? r->t : r->other;
    if (r->what == VALIDATE) r->failed |= xt_validate(t, &task, r->data);
    if (r->what == TEST) r->failed |= xt_test(t, &task, r->data);
    if (r->what == PREDICT) r->failed |= xt_predict(t, &task, r->data, NULL, NULL);
    r->nested += r->what != NOTHING;
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
    xt_loader *data = xt_loader_new(xt_dataset_retain(d), .batch = 8);
    r->data = xt_loader_new(d, .batch = 16);
    r->t = xt_trainer_new(.max_epochs = 3, .log_every_n_steps = 2, .runs_dir = dir, .loggers = "csv",
                          .progress_bar = XT_OFF, .checkpointing = XT_OFF);
    r->other = xt_trainer_new(.runs_dir = dir, .logger = XT_OFF, .progress_bar = XT_OFF, .checkpointing = XT_OFF);
    xt_trainer_add_logger(r->t, &(xt_logger_desc){.row = take_row}, r);
    xt_task task = {.net = net,
                    .training_step = step,
                    .configure_optimizers = optimizer,
                    .on_train_epoch_end = epoch_end,
                    .user = r};
    xt_seed(3);
    assert_int_equal(xt_fit(r->t, &task, data, NULL), 0);
    assert_int_equal(r->failed, 0);
    xt_loader_free(data);
    xt_loader_free(r->data);
    xt_trainer_free(r->t);
    xt_trainer_free(r->other);
}

static void a_fit_goes_on(void **state) {
    (void)state;
    static run alone;
    train(&alone);
    assert_true(alone.n_rows > 6);
    for (int own = 0; own < 2; own++)
        for (within w = VALIDATE; w < WITHIN_COUNT; w++) {
            static run r;
            r = (run){.what = w, .own = own};
            train(&r);
            assert_int_equal(r.nested, 3);
            assert_int_equal(r.n_rows, alone.n_rows);
            assert_memory_equal(r.rows, alone.rows, sizeof r.rows);
        }
}

int main(void) {
    setenv("XT_SUMMARY", "off", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_fit_goes_on)};
    return cmocka_run_group_tests(tests, begin, end);
}
