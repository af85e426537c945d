/* A hook of a Trainer goes over a loader of its own, to its end or not, and logs behind it: the run's rows are those of
 * a hook that only logs. */
#include "train_test.h"

enum { BATCHES = 6, BATCH = 4 };

static float xs[BATCHES * BATCH][3], ys[BATCHES * BATCH][1];

static xt_loader *data(int batches, int batch) {
    for (int i = 0; i < BATCHES * BATCH; i++) {
        for (int k = 0; k < 3; k++) xs[i][k] = sinf((float)(3 * i + k));
        ys[i][0] = cosf((float)i);
    }
    return xt_loader_new(xt_array_dataset(xs, (xt_spec){XT_F32, {3}}, ys, (xt_spec){XT_F32, {1}}, batches * BATCH),
                         .batch = batch);
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "out", xt_tanh(xt_linear(m, "in", x, 8)), 1);
}

typedef enum way { NO_LOOP, TO_ITS_END, LEFT, LEFT_AT_ONCE, WAYS } way;
static const char *const way_names[] = {"no loop", "a whole pass", "a pass that was left", "a pass left at its first"};
typedef enum hook {
    EPOCH_START,
    BATCH_START,
    TRAINING_STEP,
    BEFORE_BACKWARD,
    AFTER_BACKWARD,
    BEFORE_STEP,
    BATCH_END,
    VALIDATION_START,
    VALIDATION_BATCH_START,
    VALIDATION_STEP,
    VALIDATION_BATCH_END,
    VALIDATION_END,
    EPOCH_END,
    HOOKS
} hook;
static const char *const hook_names[] = {"train_epoch_start", "train_batch_start",      "training_step",
                                         "before_backward",   "after_backward",         "before_optimizer_step",
                                         "train_batch_end",   "validation_epoch_start", "validation_batch_start",
                                         "validation_step",   "validation_batch_end",   "validation_epoch_end",
                                         "train_epoch_end"};

static struct {
    hook hook;
    way way;
    bool evaluates, tensor;
    xt_loader *loader;
    xt_module *m;
    int calls;
} now;

static void at(hook h, xt_module *m) {
    if (h != now.hook) return;
    int stop = now.way == LEFT ? 2 : now.way == LEFT_AT_ONCE ? 1 : BATCHES + 1, n = 0;
    bool evaluated = now.evaluates && xt_is_training(m);
    if (evaluated) xt_eval(m);
    for (xt_batch b; now.way != NO_LOOP && xt_next(now.loader, &b);)
        if (++n == stop) break;
    if (evaluated) xt_train(m);
    now.calls++;
    if (now.tensor)
        xt_log("own", xt_scalar(now.calls, XT_F32), .reduce = XT_SUM);
    else
        xt_log_value("own", now.calls, .reduce = XT_SUM);
}

static xt_tensor training_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor loss = xt_mse_loss(xt_forward(m, b.x), b.y);
    xt_log("mine", loss, .on_step = XT_ON, .on_epoch = XT_ON);
    at(TRAINING_STEP, m);
    return loss;
}
static void validation_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_log("val/loss", xt_mse_loss(xt_forward(m, b.x), b.y));
    at(VALIDATION_STEP, m);
}
static xt_optimizer *sgd(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.01);
}
#define PLAIN(name, h)                           \
    static void name(xt_module *m, void *user) { \
        (void)user;                              \
        at(h, m);                                \
    }
PLAIN(after_backward, AFTER_BACKWARD)
PLAIN(before_step, BEFORE_STEP)
#define EPOCH(name, h)                                          \
    static void name(xt_module *m, int64_t epoch, void *user) { \
        (void)user, (void)epoch;                                \
        at(h, m);                                               \
    }
EPOCH(epoch_start, EPOCH_START)
EPOCH(epoch_end, EPOCH_END)
EPOCH(validation_start, VALIDATION_START)
EPOCH(validation_end, VALIDATION_END)
#define OF_BATCH(name, h)                                           \
    static void name(xt_module *m, const xt_batch *b, void *user) { \
        (void)user, (void)b;                                        \
        at(h, m);                                                   \
    }
OF_BATCH(validation_batch_start, VALIDATION_BATCH_START)
OF_BATCH(validation_batch_end, VALIDATION_BATCH_END)
static bool batch_start(xt_module *m, const xt_batch *b, void *user) {
    (void)user, (void)b;
    at(BATCH_START, m);
    return false;
}
static void before_backward(xt_module *m, xt_tensor loss, void *user) {
    (void)user, (void)loss;
    at(BEFORE_BACKWARD, m);
}
static void batch_end(xt_module *m, const xt_batch *b, xt_tensor loss, void *user) {
    (void)user, (void)b, (void)loss;
    at(BATCH_END, m);
}

/* Each row without its fifth column, the time. */
static void leave_out_time(char *text) {
    char *to = text;
    int column = 0;
    for (const char *from = text; *from; from++) {
        column = from[0] == '\n' ? 0 : column + (from[0] == ',');
        if (column != 4) *to++ = *from;
    }
    *to = 0;
}

/* What differs first. */
static void tell(const char *want, const char *got) {
    int line = 1;
    for (; *want && *want == *got; want++, got++) line += *want == '\n';
    print_error("    line %d: ...%.60s instead of ...%.60s\n", line, got, want);
}

/* The text of metrics.csv; base_free. */
static char *rows(hook h, way w, bool evaluates, bool tensor) {
    static const xt_task task = {.net = net,
                                 .training_step = training_step,
                                 .validation_step = validation_step,
                                 .configure_optimizers = sgd,
                                 .on_train_epoch_start = epoch_start,
                                 .on_train_epoch_end = epoch_end,
                                 .on_train_batch_start = batch_start,
                                 .on_before_backward = before_backward,
                                 .on_after_backward = after_backward,
                                 .on_before_optimizer_step = before_step,
                                 .on_train_batch_end = batch_end,
                                 .on_validation_epoch_start = validation_start,
                                 .on_validation_epoch_end = validation_end,
                                 .on_validation_batch_start = validation_batch_start,
                                 .on_validation_batch_end = validation_batch_end};
    char path[256];
    size_t n;
    char *text = NULL;
    xt_seed(3);
    now.hook = h;
    now.way = w;
    now.evaluates = evaluates;
    now.tensor = tensor;
    now.calls = 0;
    now.loader = data(5, 3);
    snprintf(path, sizeof path, "%s/own", dir);
    xt_trainer *t = xt_trainer_new(.runs_dir = dir, .run_name = "own", .progress_bar = XT_OFF, .model_summary = XT_OFF,
                                   .max_epochs = 2, .loggers = "csv", .checkpointing = XT_OFF, .log_every_n_steps = 2,
                                   .num_sanity_val_steps = 0);
    if (xt_fit(t, &task, data(BATCHES, BATCH), data(3, BATCH))) print_error("%s", str_cstr(&said));
    snprintf(path, sizeof path, "%s/metrics.csv", xt_trainer_run_dir(t));
    xt_trainer_free(t);
    xt_loader_free(now.loader);
    xt_clear_error();
    xt_status s = file_read_all(path, &text, &n);
    if (s) print_error("%s\n", xt_status_message(s));
    xt_status_free(s);
    if (text) leave_out_time(text);
    return text;
}

static void rows_are_the_hooks(void **state) {
    (void)state;
    int failed = 0;
    for (int h = 0; h < HOOKS; h++)
        for (int tensor = 0; tensor < 2; tensor++) {
            char *want = rows(h, NO_LOOP, false, tensor);
            assert_non_null(want);
            for (int w = 1; w < WAYS; w++)
                for (int evaluates = 0; evaluates < 2; evaluates++) {
                    char *got = rows(h, w, evaluates, tensor);
                    bool same = got && strcmp(want, got) == 0;
                    if (!same)
                        print_error("%s in %s%s, %s logged behind it\n", way_names[w], hook_names[h],
                                    evaluates ? ", evaluating" : "", tensor ? "a tensor" : "a number");
                    if (!same) tell(want, got ? got : "");
                    failed += !same;
                    base_free(got);
                }
            base_free(want);
        }
    assert_int_equal(failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(rows_are_the_hooks, begin, end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
