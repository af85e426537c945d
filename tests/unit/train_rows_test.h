/* What the tests of the rows share: a task that logs what the test asks for, and the rows of a name in the run's CSV.
 * Included once, by a test program. */
#ifndef TESTS_UNIT_TRAIN_ROWS_TEST_H
#define TESTS_UNIT_TRAIN_ROWS_TEST_H

#include "train_test.h"

static const char *place = ""; /* where `here` logs */
static __attribute__((unused)) void here(const char *name) {
    if (strcmp(name, place) == 0) xt_log_value(name, 7);
}

/* --- a task that logs what the test asks for --- */
static void (*in_training)(xt_tensor loss, const xt_batch *b), (*in_validation)(const xt_batch *b);
static __attribute__((unused)) xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_mul(x, xt_param(m, "w", "ones", 0, XT_F32, 1));
}
static __attribute__((unused)) xt_tensor train_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor loss = xt_mean(xt_forward(m, b.x));
    if (in_training) in_training(loss, &b);
    here("training_step");
    return loss;
}
static __attribute__((unused)) void val_step(xt_module *m, xt_batch b, void *user) {
    (void)m;
    (void)user;
    if (in_validation)
        in_validation(&b);
    else
        xt_log_value("val/loss", 1);
    here("validation_step");
}
static __attribute__((unused)) xt_optimizer *sgd(xt_module *m, void *user) {
    (void)user;
    here("configure_optimizers");
    return xt_sgd(m, .lr = 0.001);
}
static __attribute__((unused)) xt_optimizer *rests(xt_module *m, void *user) { /* the loss stays what it is */
    (void)user;
    return xt_sgd(m, .lr = 1e-12);
}
static const xt_task task = {
    .net = net, .training_step = train_step, .validation_step = val_step, .configure_optimizers = sgd};

static __attribute__((unused)) xt_loader *data(int64_t batches, float value) {
    static float rows[2][2048];
    float *x = rows[isnan(value)];
    for (int i = 0; i < 2048; i++) x[i] = value;
    return xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 2 * batches), .batch = 2);
}

/* The rows of a name in the run's CSV, as "step=value step=value": of the steps, or of the epochs. */
static __attribute__((unused)) const char *rows_of(const char *run, const char *level, const char *name) {
    static str out = STR_INIT;
    char path[256], *text, *save = NULL, want[128];
    size_t n;
    str_clear(&out);
    snprintf(path, sizeof path, "%s/metrics.csv", run);
    snprintf(want, sizeof want, ",%s,%s,", level, name);
    assert_null(file_read_all(path, &text, &n));
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        const char *at = strstr(line, want);
        if (at) str_printf(&out, "%s%d=%s", out.len ? " " : "", atoi(line), at + strlen(want));
    }
    base_free(text);
    static char kept[2048];
    snprintf(kept, sizeof kept, "%s", str_cstr(&out));
    str_free(&out);
    return kept;
}
#define ROWS(level, name, want) assert_string_equal(rows_of(xt_trainer_run_dir(t), level, name), want)
#define LOGGED(...) TEST_TRAINER(.loggers = "csv", .checkpointing = XT_OFF, __VA_ARGS__)

#endif
