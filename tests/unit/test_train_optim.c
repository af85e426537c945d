/* What the trainer does with optimizers: schedules by step and by epoch, plateaus, precisions with a loss scaler,
 * clipping, and that a resumed run goes on with the same bits and rates. */
#include "train_test.h"

#include "optim/optim.h"
#include "train/train_int.h"

enum { SAMPLES = 96, FEATURES = 4, WEIGHTS = 67, MOST = 64 };

static xt_loader *data(void) { /* 6 batches */
    static float x[SAMPLES][FEATURES];
    static int64_t y[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        for (int k = 0; k < FEATURES; k++) x[i][k] = sinf((float)(i * FEATURES + k));
        y[i] = x[i][0] > 0.3f ? 0 : x[i][1] > 0 ? 1 : 2;
    }
    return xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {FEATURES}}, y, (xt_spec){XT_I64, {0}}, SAMPLES),
                         .batch = 16, .shuffle = XT_ON);
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_dropout(m, xt_relu(xt_linear(m, "fc1", x, 8)), 0.25);
    return xt_linear(m, "fc2", x, 3);
}
static xt_tensor train_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_cross_entropy(xt_forward(m, b.x), b.y);
}
static void val_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    /* never gets better */
    xt_log("val/loss", xt_add_scalar(xt_mul_scalar(xt_cross_entropy(xt_forward(m, b.x), b.y), 0), 1));
}

/* Rates by optimizer step, seen before each batch. */
typedef struct rates {
    double lr[MOST], momentum[MOST], scale[MOST];
    int n;
} rates;
static void see(xt_trainer *t, const xt_batch *b, void *user) {
    rates *r = user;
    (void)b;
    assert_true(r->n < MOST);
    r->lr[r->n] = xt_optimizer_lr(xt_trainer_optimizer(t));
    r->momentum[r->n++] = xt_optimizer_momentum(xt_trainer_optimizer(t));
}
static void watch(xt_trainer *t, rates *r) {
    r->n = 0;
    xt_trainer_add(
        t, xt_callback_new(
               &(xt_callback_desc){.struct_size = sizeof(xt_callback_desc), .name = "rates", .batch_start = see}, r));
}

static xt_optimizer *by_step(xt_module *m, void *user) {
    (void)user;
    xt_optimizer *o = xt_adamw(m, .lr = 0.01);
    xt_optimizer_group(o, "*.bias", .weight_decay = 0, .lr_scale = 0.5);
    xt_warmup_schedule(o, 4, xt_cosine_schedule(o, .t_max = 14), .interval = XT_EACH_STEP);
    return o;
}
static xt_optimizer *by_epoch(xt_module *m, void *user) {
    (void)user;
    xt_optimizer *o = xt_sgd(m, .lr = 0.1, .momentum = 0.9);
    xt_step_schedule(o, .step_size = 2, .gamma = 0.5);
    return o;
}
static xt_optimizer *one_cycle(xt_module *m, void *user) {
    (void)user;
    xt_optimizer *o = xt_sgd(m, .lr = 0.1, .momentum = 0.9);
    xt_one_cycle_schedule(o, .max_lr = 0.2, .total_steps = 18, .interval = XT_EACH_STEP);
    return o;
}
static xt_optimizer *adam(xt_module *m, void *user) {
    (void)user;
    return xt_adamw(m, .lr = 0.01);
}
static xt_optimizer *plateau(xt_module *m, void *user) {
    (void)user;
    xt_optimizer *o = xt_sgd(m, .lr = 0.1);
    xt_plateau_schedule(o, .monitor = "val/loss", .patience = 1, .factor = 0.1);
    return o;
}
static xt_optimizer *lost(xt_module *m, void *user) {
    (void)user;
    xt_optimizer *o = xt_sgd(m, .lr = 0.1);
    xt_plateau_schedule(o, .monitor = "val/nothing");
    return o;
}

static xt_task task_of(xt_optimizer *(*configure)(xt_module *, void *)) {
    return (xt_task){
        .net = net, .training_step = train_step, .validation_step = val_step, .configure_optimizers = configure};
}

static void follows_schedules(void **state) {
    (void)state;
    rates r;
    xt_task steps = task_of(by_step), epochs = task_of(by_epoch), flat = task_of(plateau);
    xt_trainer *t = xt_trainer_new(.max_epochs = 3, .runs_dir = dir, .progress_bar = XT_OFF);
    watch(t, &r);
    assert_int_equal(xt_fit(t, &steps, data()), 0);
    assert_int_equal(r.n, 18);
    for (int i = 0; i < 18; i++) {
        double want = i < 4 ? 0.01 * (0.01 + 0.99 * i / 4) : 0.01 * (1 + cos(M_PI * (i - 4) / 14)) / 2;
        assert_float_equal(r.lr[i], want, 1e-14);
    }
    assert_int_equal(xt_trainer_result(t).compiles_after_first_epoch, 0);
    t = xt_trainer_new(.max_epochs = 5, .runs_dir = dir, .progress_bar = XT_OFF, .accumulate_grad_batches = 2);
    watch(t, &r);
    assert_int_equal(xt_fit(t, &epochs, data()), 0);
    for (int i = 0; i < 30; i++) assert_float_equal(r.lr[i], 0.1 * pow(0.5, i / 12), 1e-15);
    t = xt_trainer_new(.max_epochs = 5, .runs_dir = dir, .progress_bar = XT_OFF);
    watch(t, &r);
    assert_int_equal(xt_fit(t, &flat, data(), data()), 0);
    /* worse after epochs 1 and 2 */
    for (int i = 0; i < 30; i++) assert_float_equal(r.lr[i], i < 18 ? 0.1 : 0.01, 1e-15);
}

static void says_what_is_not_logged(void **state) {
    (void)state;
    xt_task task = task_of(lost);
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .runs_dir = dir, .progress_bar = XT_OFF);
    assert_int_equal(xt_fit(t, &task, data(), data()), 1);
    t = xt_trainer_new(.max_epochs = 1, .runs_dir = dir, .progress_bar = XT_OFF, .precision = "fp8");
    assert_int_equal(xt_fit(t, &task, data()), 1);
}

/* An epoch without a validation has no value to go by: it counts neither as good nor as bad. */
static void plateaus_without_validations(void **state) {
    (void)state;
    rates r;
    xt_task flat = task_of(plateau);
    xt_trainer *t = xt_trainer_new(.max_epochs = 8, .runs_dir = dir, .progress_bar = XT_OFF, .val_every_n_epochs = 2);
    watch(t, &r);
    assert_int_equal(xt_fit(t, &flat, data(), data()), 0);
    /* worse after epochs 3 and 5 */
    for (int i = 0; i < 48; i++) assert_float_equal(r.lr[i], i < 36 ? 0.1 : 0.01, 1e-15);
    t = xt_trainer_new(.max_epochs = 5, .runs_dir = dir, .progress_bar = XT_OFF, .val_every = "9steps");
    watch(t, &r);
    assert_int_equal(xt_fit(t, &flat, data(), data()), 0);
    /* the first value is there in epoch 1; worse after epochs 2 and 3 */
    for (int i = 0; i < 30; i++) assert_float_equal(r.lr[i], i < 24 ? 0.1 : 0.01, 1e-15);
}

/* --- what evaluates a loss several times a step --- */
static xt_optimizer *closures;
static xt_optimizer *lbfgs(xt_module *m, void *user) {
    (void)user;
    return closures = xt_lbfgs(m, .max_iter = 4);
}
typedef struct evaluation {
    xt_module *net;
    xt_batch b;
} evaluation;
static xt_tensor evaluate(void *user) {
    evaluation *e = user;
    return train_step(e->net, e->b, NULL);
}
static xt_tensor step_of_closures(xt_module *m, xt_batch b, void *user) {
    (void)user;
    evaluation e = {m, b};
    xt_optimizer_step_closure(closures, evaluate, &e);
    return (xt_tensor){0};
}

/* It is the training step's to call, and a fit without that does not begin. */
static void closures_are_the_tasks(void **state) {
    (void)state;
    xt_task task = task_of(lbfgs);
    str_clear(&said);
    assert_int_equal(xt_fit(TEST_TRAINER(.max_epochs = 1), &task, data()), 1);
    says(".manual_optimization = true");
    task.training_step = step_of_closures, task.manual_optimization = true;
    xt_trainer *t = TEST_TRAINER(.max_epochs = 1);
    assert_int_equal(xt_fit(t, &task, data()), 0);
    assert_int_equal(xt_trainer_global_step(t), 6);
}

/* As they are stored, whatever their dtype. */
static void weights(xt_trainer *t, unsigned char out[WEIGHTS * 8]) {
    int n = 0;
    size_t at = 0;
    xt_module *m = xt_trainer_module(t);
    memset(out, 0, WEIGHTS * 8);
    for (int i = 0; i < xt_module_tensors(m); i++) {
        xt_tensor w = xt_module_tensor(m, i);
        size_t bytes = (size_t)xt_numel(w) * xt_dtype_size(xt_dtype_of(w));
        assert_true(xt_read(w, out + at, bytes));
        at += bytes;
        n += (int)xt_numel(w);
    }
    assert_int_equal(n, WEIGHTS);
}

/* Cut after 8 of 18 steps: rates, momenta, scale and weights go on as if it had not been. */
static void resumes(void **state) {
    (void)state;
    static const struct {
        xt_optimizer *(*configure)(xt_module *, void *);
        const char *precision;
    } rows[] = {{by_step, "32"},     {by_epoch, "bf16-mixed"}, {one_cycle, "16-mixed"}, {plateau, "16-mixed"},
                {adam, "bf16-true"}, {by_step, "bf16-true"},   {adam, "16-true"},       {adam, "64-true"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned char whole[WEIGHTS * 8], resumed[WEIGHTS * 8];
        rates all, rest;
        xt_task task = task_of(rows[i].configure);
        xt_trainer *t = xt_trainer_new(.max_epochs = 3, .seed = 3, .runs_dir = dir, .progress_bar = XT_OFF,
                                       .precision = rows[i].precision);
        watch(t, &all);
        assert_int_equal(xt_fit(t, &task, data(), data()), 0);
        weights(t, whole);
        xt_finish();
        char name[32];
        snprintf(name, sizeof name, "cut%zu", i);
        t = xt_trainer_new(.max_epochs = 3, .max_steps = 8, .seed = 3, .run_name = name, .runs_dir = dir,
                           .progress_bar = XT_OFF, .precision = rows[i].precision);
        assert_int_equal(xt_fit(t, &task, data(), data()), 0);
        xt_finish();
        t = xt_trainer_new(.max_epochs = 3, .resume = "last", .run_name = name, .runs_dir = dir, .progress_bar = XT_OFF,
                           .precision = rows[i].precision);
        watch(t, &rest);
        assert_int_equal(xt_fit(t, &task, data(), data()), 0);
        weights(t, resumed);
        assert_int_equal(rest.n, 10);
        for (int k = 0; k < 10; k++) {
            if (rest.lr[k] != all.lr[8 + k])
                fail_msg("row %zu: rate %.17g at step %d, without a cut %.17g", i, rest.lr[k], 8 + k, all.lr[8 + k]);
            assert_true(rest.momentum[k] == all.momentum[8 + k]);
        }
        assert_memory_equal(whole, resumed, sizeof whole);
        xt_finish();
    }
}

/* f16 trains, and a scale that is far too large comes down by itself without a program of its own. */
static void f16(void **state) {
    (void)state;
    xt_task task = task_of(by_epoch);
    xt_trainer *t = xt_trainer_new(.max_epochs = 8, .runs_dir = dir, .progress_bar = XT_OFF, .precision = "16-mixed");
    assert_int_equal(xt_fit(t, &task, data()), 0);
    xt_fit_result r = xt_trainer_result(t);
    assert_true(isfinite(r.loss_last) && r.loss_last < r.loss_first);
    assert_int_equal(r.compiles_after_first_epoch, 0);
    double scale = xt_item(xt_loss_scale(t->scaler));
    assert_true(scale == 65536 || scale < 65536);
    t->task = NULL;
    float far = 0x1p60f;
    assert_null(lazy_state_write(t->scaler->scale, &far, sizeof far));
    assert_int_equal(xt_fit(t, &task, data()), 0); /* max_epochs are done: nothing happens */
    xt_trainer *more =
        xt_trainer_new(.max_epochs = 8, .runs_dir = dir, .progress_bar = XT_OFF, .precision = "16-mixed");
    more->scaler = t->scaler;
    assert_int_equal(xt_fit(more, &task, data()), 0);
    r = xt_trainer_result(more);
    assert_true(isfinite(r.loss_last));
    assert_true(xt_item(xt_loss_scale(t->scaler)) < 0x1p40);
    assert_int_equal(r.compiles_after_first_epoch, 0);
}

/* Weights, moments and what the layers give are all of the precision; validation too; an update is rounded once. */
static xt_dtype seen_out;
static xt_tensor look(xt_module *m, xt_batch b, void *user) {
    xt_tensor out = xt_forward(m, b.x);
    (void)user;
    seen_out = xt_dtype_of(out);
    return xt_cross_entropy(out, b.y);
}
static void all_of_one_precision(void **state) {
    (void)state;
    static const struct {
        const char *precision;
        xt_dtype dtype;
    } rows[] = {{"bf16-true", XT_BF16}, {"16-true", XT_F16}, {"64-true", XT_F64}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        xt_task task = task_of(adam);
        task.training_step = look;
        xt_trainer *t = TEST_TRAINER(.max_epochs = 6, .precision = rows[i].precision);
        assert_int_equal(xt_fit(t, &task, data(), data()), 0);
        xt_fit_result r = xt_trainer_result(t);
        assert_true(isfinite(r.loss_last) && r.loss_last < r.loss_first);
        assert_int_equal(r.compiles_after_first_epoch, 0);
        assert_int_equal(seen_out, rows[i].dtype);
        xt_module *m = xt_trainer_module(t);
        for (int k = 0; k < xt_module_tensors(m); k++)
            assert_int_equal(xt_dtype_of(xt_module_tensor(m, k)), rows[i].dtype);
        xt_optimizer *o = xt_trainer_optimizer(t);
        for (int k = 0; k < xt_optimizer_tensors(o); k++)
            if (strstr(xt_optimizer_tensor_name(o, k), "exp_avg"))
                assert_int_equal(xt_dtype_of(xt_optimizer_tensor(o, k)), rows[i].dtype);
        xt_task other = {.module = m, .training_step = look, .configure_optimizers = adam};
        t = TEST_TRAINER(.max_epochs = 1, .precision = i ? "bf16-true" : "16-true");
        assert_int_equal(xt_fit(t, &other, data()), 1); /* the parameters are there already */
        says("before the first pass");
        xt_finish();
        str_clear(&said);
    }
}

static void clips_by_value(void **state) {
    (void)state;
    xt_task task = task_of(by_epoch);
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .runs_dir = dir, .progress_bar = XT_OFF, .gradient_clip_val = 0.25,
                                   .gradient_clip_algorithm = "value");
    assert_int_equal(xt_fit(t, &task, data()), 0);
    assert_true(xt_trainer_optimizer(t)->clip_value == 0.25 && xt_trainer_optimizer(t)->clip_norm == 0);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {TEST(follows_schedules),
                                       TEST(says_what_is_not_logged),
                                       TEST(plateaus_without_validations),
                                       TEST(closures_are_the_tasks),
                                       TEST(resumes),
                                       TEST(f16),
                                       TEST(all_of_one_precision),
                                       TEST(clips_by_value)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
