/* Files that are written within a step, as PyTorch's programs write them anywhere: the step's batch and its losses are
 * still there behind the call, and the training is that of a program which writes none. So it is where a Trainer's
 * hooks and its training_step end steps by themselves, in whatever way. */
#include "train_test.h"

enum { BATCHES = 12, BATCH = 4 };

static float xs[BATCHES * BATCH][3], ys[BATCHES * BATCH][1];

static xt_loader *data(void) {
    for (int i = 0; i < BATCHES * BATCH; i++) {
        for (int k = 0; k < 3; k++) xs[i][k] = sinf((float)(3 * i + k));
        ys[i][0] = cosf((float)i);
    }
    return xt_loader_new(xt_array_dataset(xs, (xt_spec){XT_F32, {3}}, ys, (xt_spec){XT_F32, {1}}, BATCHES * BATCH),
                         .batch = BATCH);
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "out", xt_dropout(m, xt_tanh(xt_linear(m, "in", x, 8)), 0.3), 1);
}

/* --- where, and which files --- */
static const char *where;
static int writes;
static xt_optimizer *opt;
static bool waits; /* in place of files */
/* What a place does in place of files. */
typedef enum way { FILES, MARK, WAIT, ITEM, CALL, EVALUATION, WAYS } way;
static const char *const way_names[WAYS] = {"xt_save", "xt_mark_step", "xt_wait",
                                            "xt_item", "xt_call",      "an evaluation"};
static way in_this_way;
static xt_module *other; /* of the program's own, beside the one that is trained */
static xt_loader *others_data;
static xt_step *compiled;

static xt_tensor call_other(const xt_tensor *in, int n, void *user) {
    (void)n, (void)user;
    return xt_sum(xt_forward(other, in[0]));
}

static void evaluate_other(void) {
    xt_eval(other);
    xt_no_grad_begin();
    for (xt_batch b; xt_next(others_data, &b);) assert_true(isfinite(xt_item(xt_sum(xt_forward(other, b.x)))));
    xt_no_grad_end();
    xt_train(other);
}

static void others_begin(void) {
    other = xt_module_new(net, NULL);
    others_data = data();
    assert_null(xt_module_build(other, (xt_spec){XT_F32, {BATCH, 3}}));
    xt_eval(other);
    compiled = xt_compile(call_other);
}
static void others_end(void) {
    xt_step_free(compiled);
    xt_loader_free(others_data);
    xt_module_free(other);
}

static void write_files(xt_module *m) {
    switch (in_this_way) {
    case MARK: assert_true(xt_mark_step()); break;
    case WAIT: assert_true(xt_wait()); break;
    case ITEM:
        if (xt_module_tensors(m)) assert_true(isfinite(xt_item(xt_sum(xt_module_tensor(m, 0)))));
        break;
    case CALL: assert_true(isfinite(xt_item(xt_call(compiled, xt_from_array(xs, XT_F32, 4, 3))))); break;
    case EVALUATION: evaluate_other(); break;
    default: break;
    }
    if (in_this_way != FILES) {
        writes++;
        return;
    }
    writes++;
    if (waits) {
        assert_true(xt_wait());
        return;
    }
    xt_status s = xt_save(m, in_dir("net.safetensors"));
    assert_null(s);
    if (opt) s = xt_optimizer_save(opt, in_dir("opt.safetensors"));
    assert_null(s);
}
static void at(xt_module *m, const char *place) {
    if (where && strcmp(where, place) == 0) write_files(m);
}

/* A number that all parameters have a part in. */
static double sum_of(xt_module *m) {
    double sum = 0;
    for (int i = 0; i < xt_module_tensors(m); i++) sum += (i + 1) * xt_item(xt_sum(xt_square(xt_module_tensor(m, i))));
    return sum;
}

/* --- a plain loop --- */
static double losses[BATCHES];
static double plain(const char *place, bool accumulates) {
    where = place;
    writes = 0;
    xt_seed(3);
    xt_module *m = xt_module_new(net, NULL);
    xt_loader *l = data();
    xt_batch b;
    opt = xt_adam(m, .lr = 0.01);
    for (int i = 0; xt_next(l, &b); i++) {
        if (i % 5 == 3) at(m, "begin");
        xt_tensor y = xt_forward(m, b.x);
        if (i % 5 == 3) at(m, "forward");
        xt_tensor loss = xt_mse_loss(y, b.y);
        if (i % 5 == 3) at(m, "loss");
        xt_backward(accumulates ? xt_mul_scalar(loss, 0.5) : loss);
        if (i % 5 == 3) at(m, "backward");
        if (!accumulates || i % 2) xt_optimizer_step(opt);
        if (i % 5 == 3) at(m, "update");
        losses[i] = xt_item(loss);
        assert_true(xt_item(xt_sum(b.x)) != 0); /* the batch is there to the end of its step */
    }
    double sum = sum_of(m);
    xt_optimizer_free(opt);
    opt = NULL;
    xt_loader_free(l);
    xt_module_free(m);
    assert_int_equal(writes, place ? 2 : 0);
    return sum;
}

static void a_plain_loop_goes_on(void **state) {
    (void)state;
    static const char *const places[] = {"begin", "forward", "loss", "backward", "update"};
    for (int accumulates = 0; accumulates < 2; accumulates++) {
        double expected[BATCHES], sum = plain(NULL, accumulates);
        memcpy(expected, losses, sizeof losses);
        for (size_t i = 0; i < BASE_COUNT(places); i++) {
            double found = plain(places[i], accumulates);
            if (fabs(found - sum) > 1e-6 * sum) fail_msg("written at %s: %.9g instead of %.9g", places[i], found, sum);
            for (int k = 0; k < BATCHES; k++) assert_true(fabs(losses[k] - expected[k]) <= 1e-6);
        }
    }
}

/* A loop in which nothing but its files ends steps: they come in the middle of its iterations, and the next iteration's
 * forward stands in one step with the update of the one before. */
typedef struct turns {
    int every, at, accumulate;
} turns;
static double bare(const char *place, turns t) {
    where = place;
    writes = 0;
    xt_seed(3);
    xt_module *m = xt_module_new(net, NULL);
    assert_null(xt_module_build(m, (xt_spec){XT_F32, {BATCH, 3}}));
    opt = xt_adam(m, .lr = 0.01);
    for (int i = 0; i < BATCHES; i++) {
        bool here = i % t.every == t.at;
        if (here) at(m, "begin");
        xt_tensor x = xt_from_array(xs[i * BATCH], XT_F32, BATCH, 3),
                  y = xt_from_array(ys[i * BATCH], XT_F32, BATCH, 1);
        xt_tensor loss = xt_mse_loss(xt_forward(m, x), y);
        if (here) at(m, "loss");
        xt_backward(loss);
        if (here) at(m, "backward");
        if (i % t.accumulate == t.accumulate - 1) xt_optimizer_step(opt);
        if (here) at(m, "update");
        losses[i] = waits ? 0 : xt_item(loss); /* behind xt_wait a tensor has no value, but its gradient */
    }
    double sum = sum_of(m);
    xt_optimizer_free(opt);
    opt = NULL;
    xt_module_free(m);
    return sum;
}

static void a_loop_without_boundaries_goes_on(void **state) {
    (void)state;
    static const char *const places[] = {"begin", "loss", "backward", "update"};
    static const turns all[] = {{1, 0, 1}, {2, 1, 1}, {5, 3, 1}, {1, 0, 3}, {2, 0, 2}, {3, 1, 2}};
    xt_loader_free(data());
    for (size_t k = 0; k < BASE_COUNT(all); k++) {
        double expected[BATCHES], sum = bare(NULL, all[k]);
        memcpy(expected, losses, sizeof losses);
        for (size_t i = 0; i < BASE_COUNT(places); i++)
            for (int marked = 0; marked < 2; marked++) {
                waits = marked;
                double found = bare(places[i], all[k]);
                if (xt_error()) fail_msg("%s", xt_status_message(xt_error()));
                if (!(fabs(found - sum) <= 1e-6 * sum))
                    fail_msg("%s at %s, %d %% %d, an update every %d: %.9g instead of %.9g",
                             marked ? "waited" : "written", places[i], all[k].at, all[k].every, all[k].accumulate,
                             found, sum);
                for (int j = 0; j < BATCHES && !waits; j++) assert_true(fabs(losses[j] - expected[j]) <= 1e-6);
            }
        waits = false;
    }
}

/* An optimizer that steps again ends the step, with the batch still in use. */
static double twice(const char *place, double *out_loss) {
    where = place;
    writes = 0;
    xt_seed(3);
    xt_module *m = xt_module_new(net, NULL);
    xt_loader *l = data();
    opt = xt_adam(m, .lr = 0.01);
    *out_loss = 0;
    for (xt_batch b; xt_next(l, &b);) {
        xt_tensor first = xt_mse_loss(xt_forward(m, b.x), b.y);
        xt_backward(first);
        at(m, "backward");
        xt_optimizer_step(opt);
        at(m, "update");
        xt_backward(xt_mse_loss(xt_forward(m, b.x), b.y));
        at(m, "second backward");
        xt_optimizer_step(opt);
        at(m, "second update");
        *out_loss += xt_item(first);
    }
    double sum = sum_of(m);
    xt_optimizer_free(opt);
    opt = NULL;
    xt_loader_free(l);
    xt_module_free(m);
    assert_int_equal(writes, place ? BATCHES : 0);
    return sum;
}

static void two_updates_a_batch_go_on(void **state) {
    (void)state;
    static const char *const places[] = {"backward", "update", "second backward", "second update"};
    double loss, found, sum = twice(NULL, &loss);
    for (size_t i = 0; i < BASE_COUNT(places); i++)
        if (fabs(twice(places[i], &found) - sum) > 1e-6 * sum || fabs(found - loss) > 1e-5 * loss)
            fail_msg("written at %s", places[i]);
}

/* What a loop writes in each iteration does not make it grow. */
static void tensors_do_not_gather(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL);
    int64_t live = 0;
    for (int i = 0; i < 12; i++) {
        float x[4][3] = {{(float)i}};
        xt_tensor y = xt_sum(xt_forward(m, xt_from_array(x, XT_F32, 4, 3)));
        write_files(m);
        assert_true(isfinite(xt_item(y)));
        if (i == 4) live = live_get(LIVE_tensor);
    }
    assert_true(live_get(LIVE_tensor) <= live);
    xt_module_free(m);
}

/* --- the Trainer's hooks --- */
static int n_steps;
static bool due(void) {
    return n_steps % 5 == 3;
}
static xt_tensor training_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    n_steps++;
    if (due()) at(m, "step begins");
    xt_tensor y = xt_forward(m, b.x);
    if (due()) at(m, "forward");
    y = xt_add(y, xt_mul_scalar(xt_randn(XT_F32, BATCH, 1), 0.1)); /* other numbers than the dropout's */
    xt_tensor loss = xt_mse_loss(y, b.y);
    if (due()) at(m, "step ends");
    if (due()) assert_true(xt_item(xt_sum(xt_square(b.x))) > 0 && isfinite(xt_item(loss)));
    return loss;
}
static void validation_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    if (b.index % 5 == 3) at(m, "validation_step");
    xt_tensor loss = xt_mse_loss(xt_forward(m, b.x), b.y);
    if (b.index % 5 == 3) at(m, "validation_step ends");
    xt_log("val/loss", loss);
}
static xt_batch transfer(xt_module *m, xt_batch b, void *user) {
    (void)m, (void)user;
    b.x = xt_mul_scalar(b.x, 0.5);
    if (b.index % 5 == 3) at(m, "transfer");
    return b;
}
static void validation_start(xt_module *m, const xt_batch *b, void *user) {
    (void)user;
    if (b->index % 5 == 3) at(m, "validation_start");
}
static void validation_end(xt_module *m, const xt_batch *b, void *user) {
    (void)user;
    if (b->index % 5 == 3) at(m, "validation_end");
    assert_true(xt_item(xt_sum(xt_square(b->x))) > 0);
}
static bool batch_start(xt_module *m, const xt_batch *b, void *user) {
    (void)user;
    if (b->index % 5 == 3) at(m, "batch_start");
    return false;
}
static void batch_end(xt_module *m, const xt_batch *b, xt_tensor loss, void *user) {
    (void)user;
    if (b->index % 5 == 3) at(m, "batch_end");
    if (b->index % 5 == 3) losses[b->index] = xt_item(loss);
    assert_true(xt_item(xt_sum(xt_square(b->x))) > 0);
}
static void before_backward(xt_module *m, xt_tensor loss, void *user) {
    (void)user;
    if (due()) at(m, "before_backward");
    if (due()) assert_true(isfinite(xt_item(loss)));
}
static void before_update(xt_module *m, void *user) {
    (void)user;
    if (due()) at(m, "before_optimizer_step");
}
static void after_backward(xt_module *m, void *user) {
    (void)user;
    if (due()) at(m, "after_backward");
}
static void callback_before_backward(xt_trainer *t, xt_tensor loss, void *user) {
    (void)user;
    if (due()) at(xt_trainer_module(t), "callback before_backward");
    if (due()) assert_true(isfinite(xt_item(loss)));
}
static void step_end(xt_trainer *t, void *user) {
    (void)user;
    if (due()) at(xt_trainer_module(t), "step_end");
}
static void row(xt_trainer *t, void *user) {
    (void)user;
    if (due()) at(xt_trainer_module(t), "row");
}
static xt_optimizer *adam(xt_module *m, void *user) {
    (void)user;
    return xt_adam(m, .lr = 0.01);
}

typedef struct variant {
    int64_t accumulates, validates_every;
    const char *precision;
} variant;

static double fitted(const char *place, const variant *v) {
    static const xt_task task = {.net = net,
                                 .training_step = training_step,
                                 .configure_optimizers = adam,
                                 .validation_step = validation_step,
                                 .on_after_batch_transfer = transfer,
                                 .on_validation_batch_start = validation_start,
                                 .on_validation_batch_end = validation_end,
                                 .on_train_batch_start = batch_start,
                                 .on_train_batch_end = batch_end,
                                 .on_before_backward = before_backward,
                                 .on_before_optimizer_step = before_update,
                                 .on_after_backward = after_backward};
    static const xt_callback_desc desc = {.struct_size = sizeof desc,
                                          .name = "writes",
                                          .before_backward = callback_before_backward,
                                          .step_end = step_end,
                                          .row = row};
    where = place;
    n_steps = writes = 0;
    str_clear(&said);
    others_begin();
    xt_seed(3);
    xt_trainer *t = TEST_TRAINER(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF, .log_every_n_steps = 1,
                                 .num_sanity_val_steps = 0, .accumulate_grad_batches = v->accumulates,
                                 .val_every_n_batches = v->validates_every, .precision = v->precision);
    xt_trainer_add(t, xt_callback_new(&desc, NULL));
    bool ok = xt_fit(t, &task, data(), data()) == 0;
    if (!ok) print_error("%s", str_cstr(&said));
    double sum = ok ? sum_of(xt_trainer_module(t)) : NAN;
    xt_clear_error();
    assert_true(writes >= 1 || !place || !ok);
    xt_trainer_free(t);
    others_end();
    return sum;
}

static void a_fit_goes_on(void **state) {
    (void)state;
    static const variant variants[] = {{2, 4, "fp32"}, {1, 4, "16-mixed"}, {1, 0, "fp32"}};
    static const char *const places[] = {"transfer",
                                         "batch_start",
                                         "step begins",
                                         "forward",
                                         "step ends",
                                         "callback before_backward",
                                         "before_backward",
                                         "after_backward",
                                         "batch_end",
                                         "row",
                                         "validation_start",
                                         "validation_step",
                                         "validation_step ends",
                                         "validation_end",
                                         "before_optimizer_step",
                                         "step_end"};
    int failed = 0;
    for (size_t v = 0; v < BASE_COUNT(variants); v++) {
        in_this_way = FILES;
        double sum = fitted(NULL, &variants[v]), loss = losses[3];
        for (; in_this_way < WAYS; in_this_way++)
            for (size_t i = 0; i < BASE_COUNT(places); i++) {
                double found = fitted(places[i], &variants[v]);
                if (fabs(found - sum) <= 1e-6 * sum && fabs(losses[3] - loss) <= 1e-6 * loss) continue;
                print_error("%s at %s, variant %zu: %.9g instead of %.9g, the loss %.9g instead of %.9g\n",
                            way_names[in_this_way], places[i], v, found, sum, losses[3], loss);
                failed++;
            }
    }
    in_this_way = FILES;
    assert_int_equal(failed, 0);
}

/* --- passes that do not train --- */
static double predicted;
static void test_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    if (b.index % 5 == 3) at(m, "test_step");
    xt_tensor loss = xt_mse_loss(xt_forward(m, b.x), b.y);
    if (b.index % 5 == 3) at(m, "test_step ends");
    xt_log("test/loss", loss);
}
static void test_end(xt_module *m, const xt_batch *b, void *user) {
    (void)user;
    if (b->index % 5 == 3) at(m, "test_batch_end");
    assert_true(xt_item(xt_sum(xt_square(b->x))) > 0);
}
static xt_tensor predict_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    if (b.index % 5 == 3) at(m, "predict_step");
    xt_tensor y = xt_forward(m, b.x);
    if (b.index % 5 == 3) at(m, "predict_step ends");
    return y;
}
static void predict_end(xt_module *m, const xt_batch *b, xt_tensor out, void *user) {
    (void)user, (void)out;
    if (b->index % 5 == 3) at(m, "predict_batch_end");
}
static void take(const xt_batch *b, xt_tensor out, void *user) {
    xt_tensor sum = xt_sum(out);
    if (b->index % 5 == 3) at(user, "prediction");
    predicted += (double)(b->index + 1) * (xt_item(sum) + xt_item(xt_sum(xt_square(out))) + xt_item(xt_sum(b->x)));
}

static double judged(const char *place) {
    others_begin();
    where = place;
    writes = 0;
    predicted = 0;
    str_clear(&said);
    xt_seed(3);
    xt_module *m = xt_module_new(net, NULL);
    xt_task task = {.module = m,
                    .test_step = test_step,
                    .predict_step = predict_step,
                    .on_test_batch_end = test_end,
                    .on_after_batch_transfer = transfer,
                    .on_predict_batch_end = predict_end};
    assert_null(xt_module_build(m, (xt_spec){XT_F32, {BATCH, 3}}));
    xt_trainer *t = TEST_TRAINER(.logger = XT_OFF, .checkpointing = XT_OFF);
    xt_loader *l = data();
    bool ok = xt_test(t, &task, l) == 0;
    double loss = xt_trainer_metric(t, "test/loss", true);
    ok = ok && xt_predict(t, &task, l, take, m) == 0;
    if (!ok) print_error("%s", str_cstr(&said));
    xt_clear_error();
    xt_trainer_free(t);
    xt_loader_free(l);
    xt_module_free(m);
    others_end();
    assert_true(writes > 0 || !place || !ok);
    return ok ? loss + predicted : NAN;
}

static void passes_go_on(void **state) {
    (void)state;
    static const char *const places[] = {"transfer",     "test_step",         "test_step ends",    "test_batch_end",
                                         "predict_step", "predict_step ends", "predict_batch_end", "prediction"};
    int failed = 0;
    double sum = judged(NULL);
    for (in_this_way = FILES; in_this_way < WAYS; in_this_way++)
        for (size_t i = 0; i < BASE_COUNT(places); i++) {
            double found = judged(places[i]);
            if (fabs(found - sum) <= 1e-6 * fabs(sum)) continue;
            print_error("%s at %s: %.9g instead of %.9g\n", way_names[in_this_way], places[i], found, sum);
            failed++;
        }
    in_this_way = FILES;
    assert_int_equal(failed, 0);
}

/* What a hook's own loop makes does not gather in the step that the hook is of. */
static int64_t most_alive;
static void long_evaluation(xt_module *m, void *user) {
    (void)user, (void)m;
    for (int pass = 0; pass < 8; pass++) {
        evaluate_other();
        if (pass == 1) most_alive = live_get(LIVE_tensor);
    }
    assert_true(live_get(LIVE_tensor) <= most_alive);
}
static void an_evaluation_gathers_nothing(void **state) {
    (void)state;
    xt_task task = {
        .net = net, .training_step = training_step, .configure_optimizers = adam, .on_after_backward = long_evaluation};
    others_begin();
    where = NULL;
    xt_trainer *t = TEST_TRAINER(.max_steps = 2, .logger = XT_OFF, .checkpointing = XT_OFF);
    xt_loader *l = data();
    assert_int_equal(xt_fit(t, &task, l, NULL), 0);
    xt_trainer_free(t);
    xt_loader_free(l);
    others_end();
}

/* Between xt_scaler_unscale and the update: whether a gradient was not finite is known there still. */
static double scaled(bool cuts) {
    xt_seed(3);
    xt_module *m = xt_module_new(net, NULL);
    xt_loader *l = data();
    xt_loss_scaler *s = xt_loss_scaler_new(.growth_interval = 3, .init_scale = 1e30);
    opt = xt_adam(m, .lr = 0.01);
    for (xt_batch b; xt_next(l, &b);) {
        xt_backward(xt_scale_loss(s, xt_mul_scalar(xt_mse_loss(xt_forward(m, b.x), b.y), 1e9)));
        if (cuts) write_files(m);
        xt_scaler_unscale(s, opt);
        if (cuts) write_files(m);
        xt_clip_grad_norm(opt, 1);
        xt_scaler_step(s, opt);
        if (cuts) write_files(m);
        xt_scaler_update(s);
    }
    double sum = sum_of(m) + xt_item(xt_loss_scale(s)) * 1e-30;
    xt_optimizer_free(opt);
    opt = NULL;
    xt_loss_scaler_free(s);
    xt_loader_free(l);
    xt_module_free(m);
    return sum;
}
static void a_scaled_step_goes_on(void **state) {
    (void)state;
    others_begin();
    double sum = scaled(false);
    if (xt_error()) fail_msg("%s", str_cstr(&said));
    for (in_this_way = FILES; in_this_way < WAYS; in_this_way++) {
        if (in_this_way == EVALUATION) continue; /* its xt_next takes the batch */
        double found = scaled(true);
        if (!(fabs(found - sum) <= 1e-6 * sum))
            fail_msg("%s: %.9g instead of %.9g", way_names[in_this_way], found, sum);
    }
    in_this_way = FILES;
    others_end();
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {T(a_plain_loop_goes_on),
                                       T(a_loop_without_boundaries_goes_on),
                                       T(two_updates_a_batch_go_on),
                                       T(tensors_do_not_gather),
                                       T(a_fit_goes_on),
                                       T(passes_go_on),
                                       T(an_evaluation_gathers_nothing),
                                       T(a_scaled_step_goes_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
