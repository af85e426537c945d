/* Every hook x everything that can be logged x when rows are due x which loggers there are: what is found in the
 * files, or which error names the line. Each case has a time limit of its own: a value of a step that nobody ends
 * must be computed or refused, never waited for. */
#include "train_test.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/proto.h"
#include "format/event.h"
#include "launched.h"
#include "metrics/log.h"
#include "train/logger.h"

/* --- what is logged, and where --- */
typedef enum thing {
    HISTOGRAM,
    IMAGE,
    COMPUTED,
    TEXT,
    NUMBER,
    TENSOR,
    METRIC,
    THINGS
} thing; /* COMPUTED: a histogram of what the step would compute */
static const char *const thing_names[] = {"histogram", "image", "computed", "text", "number", "tensor", "metric"};
static bool is_row(thing k) {
    return k >= NUMBER;
}

static const char *place = "";
static thing what;
static int log_line;

static void log_it(void) {
    static const float w[4] = {1, 2, 3, 4};
    xt_tensor t = xt_from_array(w, XT_F32, 4);
    switch (what) {
#define LINE log_line = __LINE__ + 1
    case HISTOGRAM:
        LINE;
        xt_log_histogram("x", t);
        break;
    case IMAGE:
        LINE;
        xt_log_image("x", xt_reshape(t, 2, 2));
        break;
    case COMPUTED:
        LINE;
        xt_log_histogram("x", xt_add(t, xt_exp(t)));
        break;
    case TEXT:
        LINE;
        xt_log_text("x", "seven");
        break;
    case NUMBER:
        LINE;
        xt_log_value("x", 7);
        break;
    case TENSOR:
        LINE;
        xt_log("x", xt_sum(xt_slice(t, 0, 2, 4)));
        break;
    case METRIC:
        LINE;
        xt_log_metric("x", ((xt_metric){.numerator = xt_scalar(14, XT_F32), .denominator = xt_scalar(2, XT_F32)}));
        break;
    case THINGS: break;
    }
}

static void here(const char *name) {
    if (strcmp(name, place) == 0) log_it();
}

/* --- a task and a callback with every hook --- */
static int fails_at; /* training_step number that fails; 0: none */
static int steps_seen;
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_mul(x, xt_param(m, "w", "ones", 0, XT_F32, 1));
}
static xt_tensor training_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor loss = xt_mean(xt_forward(m, b.x));
    here("training_step");
    if (++steps_seen == fails_at) xt_reshape(b.x, 1000);
    return loss;
}
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    here("configure_optimizers");
    return xt_sgd(m, .lr = 0.001);
}
static xt_tensor predict_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    here("predict_step");
    return xt_forward(m, b.x);
}
static xt_batch on_after_batch_transfer(xt_module *m, xt_batch b, void *user) {
    (void)m, (void)user;
    here("on_after_batch_transfer");
    return b;
}
static bool on_train_batch_start(xt_module *m, const xt_batch *b, void *user) {
    (void)m, (void)b, (void)user;
    here("on_train_batch_start");
    return false;
}
/* Hooks by the arguments they have besides the first one and `user`. */
#define TASK_PLAIN(X)    \
    X(on_fit_start)      \
    X(on_fit_end)        \
    X(on_train_start)    \
    X(on_train_end)      \
    X(on_after_backward) \
    X(on_before_optimizer_step) X(on_test_start) X(on_test_end) X(on_predict_start) X(on_predict_end)
#define TASK_EPOCH(X) \
    X(on_train_epoch_start) X(on_train_epoch_end) X(on_validation_epoch_start) X(on_validation_epoch_end)
#define TASK_BATCH(X)            \
    X(on_validation_batch_start) \
    X(on_validation_batch_end) X(on_test_batch_start) X(on_test_batch_end) X(on_predict_batch_start)
#define TASK_STEP(X) X(validation_step) X(test_step)
#define TASK_STAGE(X) X(setup) X(teardown)
#define CALL_PLAIN(X)   \
    X(epoch_start)      \
    X(step_end)         \
    X(row)              \
    X(validation_start) \
    X(validation_end)   \
    X(epoch_end)        \
    X(sanity_start)     \
    X(sanity_end) X(test_start) X(test_end) X(predict_start) X(predict_end) X(after_backward) X(before_optimizer_step)
#define CALL_BATCH(X) \
    X(batch_start)    \
    X(batch_end)      \
    X(validation_batch_start) X(validation_batch_end) X(test_batch_start) X(test_batch_end) X(predict_batch_start)
#define CALL_STAGE(X) X(setup) X(teardown)
#define X(n)                                  \
    static void n(xt_module *m, void *user) { \
        (void)m, (void)user;                  \
        here(#n);                             \
    }
TASK_PLAIN(X)
#undef X
#define X(n)                                                 \
    static void n(xt_module *m, int64_t epoch, void *user) { \
        (void)m, (void)epoch, (void)user;                    \
        here(#n);                                            \
    }
TASK_EPOCH(X)
#undef X
#define X(n)                                                     \
    static void n(xt_module *m, const xt_batch *b, void *user) { \
        (void)m, (void)b, (void)user;                            \
        here(#n);                                                \
    }
TASK_BATCH(X)
#undef X
#define X(n)                                              \
    static void n(xt_module *m, xt_batch b, void *user) { \
        (void)m, (void)b, (void)user;                     \
        here(#n);                                         \
    }
TASK_STEP(X)
#undef X
#define X(n)                                                     \
    static void n(xt_module *m, const char *stage, void *user) { \
        (void)m, (void)stage, (void)user;                        \
        here(#n);                                                \
    }
TASK_STAGE(X)
#undef X
#define X(n)                                       \
    static void c_##n(xt_trainer *t, void *user) { \
        (void)t, (void)user;                       \
        here("c_" #n);                             \
    }
CALL_PLAIN(X)
#undef X
#define X(n)                                                          \
    static void c_##n(xt_trainer *t, const xt_batch *b, void *user) { \
        (void)t, (void)b, (void)user;                                 \
        here("c_" #n);                                                \
    }
CALL_BATCH(X)
#undef X
#define X(n)                                                          \
    static void c_##n(xt_trainer *t, const char *stage, void *user) { \
        (void)t, (void)stage, (void)user;                             \
        here("c_" #n);                                                \
    }
CALL_STAGE(X)
#undef X
static void on_before_backward(xt_module *m, xt_tensor loss, void *user) {
    (void)m, (void)loss, (void)user;
    here("on_before_backward");
}
static void on_train_batch_end(xt_module *m, const xt_batch *b, xt_tensor loss, void *user) {
    (void)m, (void)b, (void)loss, (void)user;
    here("on_train_batch_end");
}
static void on_predict_batch_end(xt_module *m, const xt_batch *b, xt_tensor out, void *user) {
    (void)m, (void)b, (void)out, (void)user;
    here("on_predict_batch_end");
}
static void on_exception(xt_module *m, xt_status error, void *user) {
    (void)m, (void)error, (void)user;
    here("on_exception");
}
static xt_status c_fit_start(xt_trainer *t, void *user) {
    (void)t, (void)user;
    here("c_fit_start");
    return NULL;
}
static void c_fit_end(xt_trainer *t, bool ok, void *user) {
    (void)t, (void)ok, (void)user;
    here("c_fit_end");
}
static void c_exception(xt_trainer *t, xt_status error, void *user) {
    (void)t, (void)error, (void)user;
    here("c_exception");
}
static void c_before_backward(xt_trainer *t, xt_tensor loss, void *user) {
    (void)t, (void)loss, (void)user;
    here("c_before_backward");
}
static void c_predict_batch_end(xt_trainer *t, const xt_batch *b, xt_tensor out, void *user) {
    (void)t, (void)b, (void)out, (void)user;
    here("c_predict_batch_end");
}
static void prediction(const xt_batch *b, xt_tensor out, void *user) {
    (void)b, (void)out, (void)user;
    here("prediction");
}

static const xt_task task = {.net = net,
                             .training_step = training_step,
                             .configure_optimizers = configure,
                             .predict_step = predict_step,
                             .on_after_batch_transfer = on_after_batch_transfer,
                             .on_train_batch_start = on_train_batch_start,
                             .on_before_backward = on_before_backward,
                             .on_train_batch_end = on_train_batch_end,
                             .on_predict_batch_end = on_predict_batch_end,
                             .on_exception = on_exception,
#define X(n) .n = n,
                             TASK_PLAIN(X) TASK_EPOCH(X) TASK_BATCH(X) TASK_STEP(X) TASK_STAGE(X)
#undef X
};
static const xt_callback_desc everywhere = {.struct_size = sizeof(xt_callback_desc),
                                            .name = "everywhere",
                                            .fit_start = c_fit_start,
                                            .fit_end = c_fit_end,
                                            .exception = c_exception,
                                            .before_backward = c_before_backward,
                                            .predict_batch_end = c_predict_batch_end,
#define X(n) .n = c_##n,
                                            CALL_PLAIN(X) CALL_BATCH(X) CALL_STAGE(X)
#undef X
};

static xt_loader *data(int64_t batches) {
    static float rows[64];
    return xt_loader_new(xt_array_dataset(rows, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 2 * batches), .batch = 2);
}

/* --- what the files have --- */
typedef struct found {
    char rows[3][256],
        others[3][256]; /* of x, in csv, jsonl and events: "4=7 8=7"; pictures, distributions and texts: "4 8" */
    char levels[64]; /* of the rows in csv: "train/epoch" */
} found;

static void add(char *list, size_t size, const char *fmt, ...) {
    size_t n = strlen(list);
    va_list a;
    va_start(a, fmt);
    if (n) list[n++] = ' ';
    vsnprintf(list + n, size - n, fmt, a);
    va_end(a);
}

static char *read_file(const char *folder, const char *name, size_t *n) {
    char path[600], *text = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    xt_status_free(file_read_all(path, &text, n));
    return text;
}

static void read_csv(found *f, const char *run) {
    size_t n;
    char *save = NULL, *text = read_file(run, "metrics.csv", &n), name[64], stage[32], level[32];
    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
        double value;
        int step;
        if (sscanf(line, "%d,%*[^,],%*[^,],%*[^,],%*[^,],%31[^,],%31[^,],%63[^,],%lf", &step, stage, level, name,
                   &value) != 5)
            continue;
        if (strcmp(name, "x") != 0) continue;
        add(f->rows[0], sizeof f->rows[0], "%d=%g", step, value);
        snprintf(f->levels, sizeof f->levels, "%s/%s", stage, level);
    }
    base_free(text);
}

static void read_jsonl(found *f, const char *run) {
    size_t n;
    char *save = NULL, *text = read_file(run, "metrics.jsonl", &n);
    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
        const char *x = strstr(line, "\"x\":");
        int step = -1;
        const char *at = strstr(line, "\"step\":");
        if (at) step = atoi(at + 7);
        if (x) add(f->rows[1], sizeof f->rows[1], "%d=%g", step, atof(x + 4));
        if (strstr(line, "\"name\":\"x\",\"text\":\"seven\"")) add(f->others[1], sizeof f->others[1], "%d", step);
    }
    base_free(text);
}

/* A value of a summary: its tag, and which field it is in. */
static void read_value(found *f, int64_t step, const proto_field *summary) {
    proto_reader r = proto_read(summary->data, summary->size);
    proto_field v;
    bool ours = false, number = false;
    float value = 0;
    while (proto_next(&r, &v)) {
        if (v.number == 1)
            ours = (v.size == 1 && *(const char *)v.data == 'x') || (v.size > 1 && memcmp(v.data, "x/", 2) == 0);
        if (v.number != 2) continue;
        uint32_t bits = (uint32_t)v.value;
        memcpy(&value, &bits, sizeof value);
        number = true;
    }
    if (ours && number)
        add(f->rows[2], sizeof f->rows[2], "%d=%g", (int)step, (double)value);
    else if (ours)
        add(f->others[2], sizeof f->others[2], "%d", (int)step);
}

static void read_events(found *f, const char *run) {
    DIR *d = opendir(run);
    size_t n = 0;
    char *text = NULL;
    for (struct dirent *e; d && (e = readdir(d));)
        if (strncmp(e->d_name, "events.out", 10) == 0) text = read_file(run, e->d_name, &n);
    if (d) closedir(d);
    event_reader r = {(const unsigned char *)text, (const unsigned char *)text + n};
    const void *record;
    size_t size;
    for (bool more = text != NULL; more && !event_next(&r, &more, &record, &size) && more;) {
        proto_reader event = proto_read(record, size);
        proto_field field, value;
        int64_t step = 0;
        while (proto_next(&event, &field)) {
            if (field.number == 2) step = (int64_t)field.value;
            if (field.number != 5) continue;
            proto_reader summary = proto_read(field.data, field.size);
            while (proto_next(&summary, &value))
                if (value.number == 1) read_value(f, step, &value);
        }
    }
    base_free(text);
}

static found look(const char *run) {
    found f = {0};
    if (!run) return f;
    read_csv(&f, run);
    read_jsonl(&f, run);
    read_events(&f, run);
    return f;
}

/* --- the table --- */
typedef enum pass { FIT, FAILING, VALIDATE, TEST, PREDICT } pass;
static const char EACH[] = "1 2 3 4 5 6 7 8", LATER[] = "2 3 4 5 6 7 8", ENDS[] = "4 8", TWICE[] = "4 4 8 8";
/* Steps at which x is found with a row every step, and every 50 steps (a fit of 8 has one at its end). rows NULL:
 * refused; "": thrown away. `others` are histograms and images; texts NULL: as `others` of a row every step. */
typedef struct cell {
    pass pass;
    const char *hook, *level, *rows, *rows50, *others, *others50, *texts;
} cell;
#define SAME(list) list, list
#define IN_STEP(hook) \
    { FIT, hook, "train/step", EACH, "8", EACH, "8", NULL }
#define AT(pass, hook, level, list) \
    { pass, hook, level, SAME(list), SAME(list), NULL }
#define NO_ROW(pass, hook, list) \
    { pass, hook, NULL, SAME(NULL), SAME(list), NULL }
static const cell table[] = {
    IN_STEP("training_step"),
    IN_STEP("on_train_batch_start"),
    IN_STEP("on_before_backward"),
    IN_STEP("on_after_backward"),
    IN_STEP("on_before_optimizer_step"),
    IN_STEP("on_train_batch_end"),
    IN_STEP("c_batch_start"),
    IN_STEP("c_batch_end"),
    IN_STEP("c_before_backward"),
    IN_STEP("c_after_backward"),
    IN_STEP("c_before_optimizer_step"),
    {FIT, "c_step_end", "train/step", LATER, "8", EACH, "8", NULL}, /* a number behind a step goes with the next one */
    {FIT, "c_row", "train/step", LATER, NULL, EACH, NULL, NULL},
    AT(FIT, "on_train_start", "train/epoch", "0"),
    AT(FIT, "on_train_epoch_start", "train/epoch", "0 4"),
    AT(FIT, "c_epoch_start", "train/epoch", "0 4"),
    AT(FIT, "on_train_epoch_end", "train/epoch", ENDS),
    AT(FIT, "c_epoch_end", "train/epoch", ENDS),
    AT(FIT, "on_validation_epoch_start", "validate/epoch", ENDS),
    AT(FIT, "on_validation_epoch_end", "validate/epoch", ENDS),
    AT(FIT, "c_validation_start", "validate/epoch", ENDS),
    AT(FIT, "c_validation_end", "validate/epoch", ENDS),
    {FIT, "validation_step", "validate/epoch", SAME(ENDS), SAME(TWICE), NULL},
    {FIT, "on_validation_batch_start", "validate/epoch", SAME(ENDS), SAME(TWICE), NULL},
    {FIT, "on_validation_batch_end", "validate/epoch", SAME(ENDS), SAME(TWICE), NULL},
    {FIT, "c_validation_batch_start", "validate/epoch", SAME(ENDS), SAME(TWICE), NULL},
    {FIT, "c_validation_batch_end", "validate/epoch", SAME(ENDS), SAME(TWICE), NULL},
    AT(FIT, "c_sanity_start", "", ""),
    AT(FIT, "c_sanity_end", "", ""),
    NO_ROW(FIT, "setup", NULL),
    NO_ROW(FIT, "c_setup", NULL),
    NO_ROW(FIT, "configure_optimizers", NULL),
    NO_ROW(FIT, "on_fit_start", "0"),
    NO_ROW(FIT, "c_fit_start", "0"),
    NO_ROW(FIT, "on_train_end", "8"),
    NO_ROW(FIT, "on_fit_end", "8"),
    NO_ROW(FIT, "c_fit_end", "8"),
    NO_ROW(FIT, "teardown", "8"),
    NO_ROW(FIT, "c_teardown", "8"),
    NO_ROW(FAILING, "on_exception", "2"),
    NO_ROW(FAILING, "c_exception", "2"),
    NO_ROW(FAILING, "c_fit_end", "2"),
    NO_ROW(FAILING, "teardown", "2"),
    AT(VALIDATE, "on_validation_epoch_start", "validate/epoch", "8"),
    AT(VALIDATE, "on_validation_epoch_end", "validate/epoch", "8"),
    AT(VALIDATE, "c_validation_start", "validate/epoch", "8"),
    AT(VALIDATE, "c_validation_end", "validate/epoch", "8"),
    {VALIDATE, "validation_step", "validate/epoch", SAME("8"), SAME("8 8"), NULL},
    {VALIDATE, "on_validation_batch_end", "validate/epoch", SAME("8"), SAME("8 8"), NULL},
    {VALIDATE, "on_after_batch_transfer", "validate/epoch", SAME("8"), SAME("8 8"), NULL},
    NO_ROW(VALIDATE, "setup", "8"),
    NO_ROW(VALIDATE, "teardown", "8"),
    AT(TEST, "on_test_start", "test/epoch", "8"),
    AT(TEST, "on_test_end", "test/epoch", "8"),
    AT(TEST, "c_test_start", "test/epoch", "8"),
    AT(TEST, "c_test_end", "test/epoch", "8"),
    {TEST, "test_step", "test/epoch", SAME("8"), SAME("8 8"), NULL},
    {TEST, "on_test_batch_start", "test/epoch", SAME("8"), SAME("8 8"), NULL},
    {TEST, "on_test_batch_end", "test/epoch", SAME("8"), SAME("8 8"), NULL},
    {TEST, "c_test_batch_start", "test/epoch", SAME("8"), SAME("8 8"), NULL},
    {TEST, "c_test_batch_end", "test/epoch", SAME("8"), SAME("8 8"), NULL},
    NO_ROW(TEST, "c_setup", "8"),
    NO_ROW(TEST, "c_teardown", "8"),
    NO_ROW(PREDICT, "on_predict_start", "8"),
    NO_ROW(PREDICT, "on_predict_end", "8"),
    NO_ROW(PREDICT, "c_predict_start", "8"),
    NO_ROW(PREDICT, "c_predict_end", "8"),
    NO_ROW(PREDICT, "predict_step", "8 8"),
    NO_ROW(PREDICT, "on_predict_batch_start", "8 8"),
    NO_ROW(PREDICT, "on_predict_batch_end", "8 8"),
    NO_ROW(PREDICT, "c_predict_batch_start", "8 8"),
    NO_ROW(PREDICT, "c_predict_batch_end", "8 8"),
    NO_ROW(PREDICT, "prediction", "8 8"),
    NO_ROW(PREDICT, "setup", "8"),
    NO_ROW(PREDICT, "teardown", "8"),
};

static char now_at[160]; /* the case under way */
static void hangs(int sig) {
    (void)sig;
    static const char text[] = ": it waits for ever\n";
    if (write(2, now_at, strlen(now_at)) < 0 || write(2, text, sizeof text - 1) < 0) _exit(2);
    _exit(1);
}
static void limit(const char *fmt, ...) {
    va_list a;
    va_start(a, fmt);
    vsnprintf(now_at, sizeof now_at, fmt, a);
    va_end(a);
    signal(SIGALRM, hangs);
    alarm(20);
}

/* "4 8" as rows have it: "4=7 8=7". */
static const char *sevens(const char *steps) {
    static char list[256];
    list[0] = 0;
    for (const char *p = steps; *p; p += strspn(p, " ")) {
        add(list, sizeof list, "%d=7", atoi(p));
        p += strcspn(p, " ");
    }
    return list;
}

static int wrong; /* cases; all are shown */
static void same(const char *file, const char *got, const char *want) {
    if (strcmp(got, want) == 0) return;
    wrong++;
    print_error("%s: %s has \"%s\", not \"%s\"; said:\n%s\n", now_at, file, got, want, str_cstr(&said));
}

static int run_case(xt_trainer *t, const cell *r) {
    bool alone = r->pass >= VALIDATE;
    steps_seen = 0;
    fails_at = r->pass == FAILING ? 3 : 0;
    place = alone ? "" : r->hook;
    int rc = xt_fit(t, &task, data(4), data(2));
    if (!alone) return rc;
    if (rc) fail_msg("%s: the fit before it: %s", now_at, str_cstr(&said));
    place = r->hook;
    return r->pass == VALIDATE ? xt_validate(t, &task, data(2))
           : r->pass == TEST   ? xt_test(t, &task, data(2))
                               : xt_predict(t, &task, data(2), prediction, NULL);
}

static void check_case(const cell *r, thing k, int every) {
    static const char *const passes[] = {"fit", "failing fit", "validate", "test", "predict"};
    const char *want = is_row(k)    ? (every == 1 ? r->rows : r->rows50)
                       : k == TEXT  ? (r->texts ? r->texts : r->others)
                       : every == 1 ? r->others
                                    : r->others50;
    char line[160];
    what = k;
    str_clear(&said);
    limit("%s of %s, %s, a row every %d", r->hook, passes[r->pass], thing_names[k], every);
    xt_trainer *t = TEST_TRAINER(.max_epochs = 2, .log_every_n_steps = every, .loggers = "csv,tensorboard,jsonl",
                                 .checkpointing = XT_OFF, .num_sanity_val_steps = 1);
    xt_trainer_add(t, xt_callback_new(&everywhere, NULL));
    int rc = run_case(t, r);
    found f = look(xt_trainer_run_dir(t));
    place = "";
    snprintf(line, sizeof line, "test_train_log_hooks.c:%d: xt_log", log_line);
    same("the result", rc ? "an error" : "", r->pass == FAILING || !want ? "an error" : "");
    if (!want && !strstr(str_cstr(&said), line)) same("what is said", "no line", line);
    bool computes = k == IMAGE || k == COMPUTED, told = r->pass == FAILING && computes && !strstr(r->hook, "exception");
    if (told) { /* nothing is computed for a fit that has failed */
        want = "";
        strcat(line, k == IMAGE ? "_image \"x\" is not written" : "_histogram \"x\" is not written");
        if (!strstr(str_cstr(&said), line)) same("what is said", "no line", line);
    }
    if (!want) want = "";
    for (int i = 0; i < 3; i++) {
        bool shows = is_row(k) || i == 2 || (i == 1 && k == TEXT);
        same(i == 0   ? "metrics.csv"
             : i == 1 ? "metrics.jsonl"
                      : "the event file",
             is_row(k) ? f.rows[i] : f.others[i],
             !shows      ? ""
             : is_row(k) ? sevens(want)
                         : want);
    }
    if (is_row(k) && *want) same("the level in metrics.csv", f.levels, r->level);
    if (r->pass == FIT && strstr(str_cstr(&said), "is not written")) fail_msg("%s: %s", now_at, str_cstr(&said));
    xt_finish();
}

static void every_hook(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(table); i++)
        for (int k = 0; k < THINGS; k++)
            for (int every = 1; every <= 50; every += 49)
                if (every == 1 || (table[i].pass == FIT && strcmp(table[i].hook, "c_row") != 0))
                    check_case(&table[i], (thing)k, every);
    alarm(0);
    assert_int_equal(wrong, 0);
}

/* --- one logger, or none --- */
static void each_logger(void **state) {
    (void)state;
    static const struct {
        const char *loggers;
        bool rows, texts, pictures;
        int file; /* of `found` */
    } rows[] = {{"csv", true, false, false, 0},
                {"jsonl", true, true, false, 1},
                {"tensorboard", true, true, true, 2},
                {NULL, true, false, false, 0}};
    static const struct {
        const char *hook, *steps;
    } hooks[] = {
        {"training_step", EACH}, {"on_train_epoch_end", ENDS}, {"on_validation_epoch_end", ENDS}, {"on_fit_end", "8"}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        for (size_t h = 0; h < BASE_COUNT(hooks); h++)
            for (int k = 0; k < THINGS; k++) {
                bool shown = is_row((thing)k) ? rows[i].rows : k == TEXT ? rows[i].texts : rows[i].pictures;
                char line[160];
                if (is_row((thing)k) && strcmp(hooks[h].hook, "on_fit_end") == 0) continue; /* refused: above */
                what = (thing)k;
                str_clear(&said);
                limit("%s, %s, loggers %s", hooks[h].hook, thing_names[k], rows[i].loggers ? rows[i].loggers : "none");
                xt_trainer *t = TEST_TRAINER(.max_epochs = 2, .log_every_n_steps = 1, .loggers = rows[i].loggers,
                                             .logger = rows[i].loggers ? XT_ON : XT_OFF, .checkpointing = XT_OFF);
                place = hooks[h].hook;
                assert_int_equal(xt_fit(t, &task, data(4), data(2)), 0);
                place = "";
                found f = look(rows[i].loggers ? xt_trainer_run_dir(t) : NULL);
                if (rows[i].loggers)
                    same("the file", is_row((thing)k) ? f.rows[rows[i].file] : f.others[rows[i].file],
                         !shown             ? ""
                         : is_row((thing)k) ? sevens(hooks[h].steps)
                                            : hooks[h].steps);
                else if (is_row((thing)k) && xt_trainer_metric(t, "x", true) != 7)
                    same("the newest value", "another value", "7");
                snprintf(line, sizeof line,
                         "test_train_log_hooks.c:%d: xt_log_%s \"x\" is not written: no logger of this run shows",
                         log_line,
                         k == IMAGE  ? "image"
                         : k == TEXT ? "text"
                                     : "histogram");
                const char *once = strstr(str_cstr(&said), line);
                same("what is said", once ? strstr(once + 1, line) ? "twice" : "once" : "", shown ? "" : "once");
                xt_finish();
            }
    alarm(0);
    assert_int_equal(wrong, 0);
}

/* A short fit has its histograms at its last step, known beforehand; one that is stopped says what it has not
 * written. */
static void stop_it(xt_trainer *t, void *user) {
    (void)user;
    if (xt_trainer_global_step(t) == 2) xt_trainer_stop(t);
}
static void what_no_step_read_is_told(void **state) {
    (void)state;
    static const xt_callback_desc stops = {.struct_size = sizeof stops, .name = "stops", .step_end = stop_it};
    what = HISTOGRAM;
    for (int i = 0; i < 2; i++) {
        xt_trainer *t = TEST_TRAINER(.max_epochs = 2, .loggers = "tensorboard", .checkpointing = XT_OFF);
        if (i) xt_trainer_add(t, xt_callback_new(&stops, NULL));
        str_clear(&said);
        limit("a fit that %s", i ? "is stopped" : "is short");
        place = "training_step";
        assert_int_equal(xt_fit(t, &task, data(4), NULL), 0);
        place = "";
        same("the event file", look(xt_trainer_run_dir(t)).others[2], i ? "" : "8");
        if (i)
            says("xt_log_histogram \"x\" is not written: training steps read it when their row is due, and none of "
                 "them was");
        else
            assert_null(strstr(str_cstr(&said), "is not written"));
        xt_finish();
    }
    alarm(0);
    assert_int_equal(wrong, 0);
}

/* --- loops without a trainer --- */
typedef enum moment { BEFORE, WITHIN, AFTER, FINISHED } moment;

/* Three optimizer steps; x is logged before them, in the second, behind the last, or after xt_finish. */
static void plain_loop(moment when, int every) {
    static float x[4] = {1, 2, 3, 4};
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = NULL;
    xt_log_every_n_steps(every);
    if (when == BEFORE) log_it();
    for (int i = 0; i < 3; i++) {
        xt_tensor loss = xt_mean(xt_forward(m, xt_from_array(x, XT_F32, 4, 1)));
        if (!o) o = xt_sgd(m, .lr = 0.1);
        if (when == WITHIN && i == 1) log_it();
        xt_backward(loss);
        xt_optimizer_step(o);
        xt_mark_step();
    }
    if (when == AFTER) log_it();
    assert_int_equal(xt_finish(), 0);
    if (when == FINISHED) log_it();
    assert_int_equal(xt_finish(), 0);
}

/* What plain_log.c does in the library, which the linker leaves out of a program that does not name it. */
static char opens[300];
static void open_loggers(void) {
    log_sink sinks[4];
    size_t n;
    xt_status s = mkdir(opens, 0777) ? status_errno("mkdir", opens) : NULL;
    if (!s) s = loggers_open("csv,tensorboard", opens, (logger_settings){0}, sinks, BASE_COUNT(sinks), &n);
    same("opening the loggers", s ? xt_status_message(s) : "", "");
}

/* In a process of its own, whose steps count from 1. Forked while this one has no thread of the library yet. */
static void in_a_child(void (*body)(const char *run, int when, int every), int when, int every) {
    snprintf(opens, sizeof opens, "%s/%d-%d-%d", dir, when, (int)what, every);
    fflush(NULL);
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        limit("a plain loop, %d, %s, a row every %d", when, thing_names[what], every);
        log_set_default_sinks(open_loggers);
        body(opens, when, every);
        fflush(NULL);
        _exit(wrong != 0);
    }
    waitpid(pid, &status, 0);
    wrong += status != 0;
}

static void check_plain(const char *run, int when, int every) {
    plain_loop((moment)when, every);
    found f = look(run);
    bool number = is_row(what);
    int step = when == BEFORE   ? (number ? every == 1 ? 1 : 3 : 0)
               : when == WITHIN ? (number ? every == 1 ? 2 : 3 : 1)
                                : 3;
    char want[32];
    snprintf(want, sizeof want, number ? "%d=7" : "%d", step);
    same("the event file", number ? f.rows[2] : f.others[2], want);
    if (number) same("metrics.csv", f.rows[0], want);
}

static void plain_loops(void **state) {
    (void)state;
    for (int when = BEFORE; when <= FINISHED; when++)
        for (int k = 0; k < THINGS; k++)
            for (int every = 1; every <= 50; every += 49) {
                what = (thing)k;
                in_a_child(check_plain, when, every);
            }
    assert_int_equal(wrong, 0);
}

static void check_epoch(const char *run, int when, int every) {
    (void)when, (void)every;
    for (int i = 0; i < 4; i++) {
        xt_log_value("x", 4 + 2 * i, .on_epoch = XT_ON, .on_step = XT_OFF);
        xt_mark_step();
    }
    xt_finish();
    found f = look(run);
    same("metrics.csv", f.rows[0], "0=7");
    same("the level", f.levels, "train/epoch");
}

/* With both levels on, the loop is the epoch. */
static void a_plain_loop_is_an_epoch(void **state) {
    (void)state;
    what = THINGS - 1;
    in_a_child(check_epoch, 9, 50);
    assert_int_equal(wrong, 0);
}

/* --- every wait, with a value of the open step pending --- */
static xt_trainer *waiter;
static int given;
static bool count_given(void *user, const log_artifact *a) {
    (void)user;
    given += strcmp(a->name, "x") == 0 && a->kind == LOG_HISTOGRAM && a->count == 4;
    return true;
}
static void no_row(void *user, const log_row *row) {
    (void)user, (void)row;
}

static void w_wait(xt_tensor t) {
    (void)t, xt_wait();
}
static void w_mark(xt_tensor t) {
    (void)t, xt_mark_step();
}
static void w_item(xt_tensor t) {
    assert_true(xt_item(xt_sum(t)) == 20);
}
static void w_read(xt_tensor t) {
    float v[4];
    assert_true(xt_read(t, v, sizeof v) && v[3] == 8);
}
static void w_sums(xt_tensor t) {
    (void)t;
    double v;
    xt_logged_sums("none", &v, 1);
}
static void w_confusion(xt_tensor t) {
    (void)t;
    double v;
    xt_logged_confusion("none", XT_NORMALIZE_ALL, &v, 1);
}
static void w_metric(xt_tensor t) {
    (void)t, xt_trainer_metric(waiter, "none", true);
}
static void w_drain(xt_tensor t) {
    (void)t, lazy_drain();
}
static void w_log_drain(xt_tensor t) {
    (void)t, log_drain();
}
static void w_log_close(xt_tensor t) {
    (void)t;
    log_sink s = {.row = no_row, .user = &wrong};
    log_add_sink(&s);
    log_remove_sink(&s);
}
static void w_free(xt_tensor t) {
    (void)t, xt_trainer_free(waiter), waiter = NULL;
}
static void w_finish(xt_tensor t) {
    (void)t, waiter = NULL, xt_finish();
}
static void w_reinitialize(xt_tensor t) {
    (void)t, xt_reinitialize();
}

static void every_wait(void **state) {
    (void)state;
    static const struct {
        const char *name;
        void (*wait)(xt_tensor t);
        bool gives; /* the histogram has been given when it returns */
    } waits[] = {{"xt_wait", w_wait, false},
                 {"xt_mark_step", w_mark, false},
                 {"xt_item", w_item, false},
                 {"xt_read", w_read, false},
                 {"xt_logged_sums", w_sums, true},
                 {"xt_logged_confusion", w_confusion, true},
                 {"xt_trainer_metric", w_metric, true},
                 {"lazy_drain", w_drain, false},
                 {"log_drain", w_log_drain, true},
                 {"log_remove_sink", w_log_close, true},
                 {"xt_trainer_free", w_free, false},
                 {"xt_finish", w_finish, true},
                 {"xt_reinitialize", w_reinitialize, false}};
    static const float w[4] = {1, 2, 3, 4};
    for (size_t i = 0; i < BASE_COUNT(waits); i++) {
        limit("%s", waits[i].name);
        given = 0;
        waiter = TEST_TRAINER(.max_epochs = 1, .logger = XT_OFF);
        log_sink s = {.row = no_row, .artifact = count_given};
        log_add_sink(&s);
        xt_tensor t = xt_from_array(w, XT_F32, 4), twice = xt_add(t, t);
        xt_log_histogram("x", twice);
        xt_master_printf("%t", xt_sum(twice)); /* another's value of the step, which nobody waits for here */
        waits[i].wait(twice);
        if (waits[i].gives) assert_int_equal(given, 1);
        xt_wait();
        log_drain();
        assert_int_equal(given, 1);
        log_remove_sink(&s);
        assert_null(xt_error());
        xt_finish();
    }
    alarm(0);
}

/* Threads of the library that values go through: what asks for values there is what they would wait for. */
static int asked;
static xt_status asks_on_the_logger(const xt_log_row *r, void *user) {
    double v;
    (void)r;
    xt_trainer_metric(user, "loss", true);
    xt_logged_sums("loss", &v, 1);
    asked++;
    return NULL;
}
static void asks_on_the_reader(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    double v;
    (void)user, (void)data, (void)bytes, (void)dtype;
    xt_logged_sums("loss", &v, 1);
    xt_wait();
    asked++;
}
static void ask_when_ready(xt_module *m, int64_t epoch, void *user) {
    (void)m, (void)epoch, (void)user;
    xt_when_ready(xt_scalar(1, XT_F32), asks_on_the_reader, NULL);
    xt_log_histogram("x", xt_exp(xt_scalar(1, XT_F32)));
}
static void threads_of_the_library_do_not_wait(void **state) {
    (void)state;
    xt_task asking = task;
    asking.on_train_epoch_end = ask_when_ready;
    limit("a logger and an xt_when_ready function that ask for values");
    xt_trainer *t = TEST_TRAINER(.max_epochs = 2, .log_every_n_steps = 2, .checkpointing = XT_OFF);
    xt_trainer_add_logger(
        t, &(xt_logger_desc){.struct_size = sizeof(xt_logger_desc), .name = "asks", .row = asks_on_the_logger}, t);
    assert_int_equal(xt_fit(t, &asking, data(4), NULL), 0);
    assert_int_equal(asked, 4 + 2);
    alarm(0);
}

/* A wait within a compiled step function, whose values come only when it has run, fails with the line of what it
 * waits for. */
static xt_tensor waits_inside(const xt_tensor *in, int n, void *user) {
    double v;
    (void)n;
    xt_tensor twice = xt_add(in[0], in[0]);
    log_line = __LINE__ + 1;
    xt_log_histogram("x", twice);
    if (user) xt_logged_sums("none", &v, 1);
    return xt_sum(twice);
}
static void compiled_functions(void **state) {
    (void)state;
    static const float w[4] = {1, 2, 3, 4};
    char line[64];
    limit("compiled step functions");
    log_sink s = {.row = no_row, .artifact = count_given};
    log_add_sink(&s);
    given = 0;
    xt_step *f = xt_compile(waits_inside, .name = "logs");
    for (int i = 0; i < 5; i++) assert_true(xt_item(xt_call(f, xt_from_array(w, XT_F32, 4))) == 20);
    log_drain();
    assert_int_equal(given, 5); /* at replays too */
    xt_call(xt_compile(waits_inside, .user = &given, .name = "waits"), xt_from_array(w, XT_F32, 4));
    snprintf(line, sizeof line, "test_train_log_hooks.c:%d", log_line);
    assert_non_null(xt_error());
    assert_non_null(strstr(xt_status_message(xt_error()), line));
    xt_clear_error();
    log_drain();
    log_remove_sink(&s);
    alarm(0);
}

/* --- two ranks --- */
static int rank_fits(int rank, void *user) {
    (void)user;
    alarm(60);
    static const char *const hooks[] = {"training_step", "on_train_epoch_end", "on_validation_epoch_end",
                                        "c_validation_end", "c_fit_end"};
    static const thing things[] = {HISTOGRAM, IMAGE, COMPUTED, TENSOR};
    for (size_t h = 0; h < BASE_COUNT(hooks); h++)
        for (size_t k = 0; k < BASE_COUNT(things); k++) {
            if (is_row(things[k]) && h == 4) continue;
            place = hooks[h];
            what = things[k];
            xt_trainer *t = TEST_TRAINER(.max_epochs = 2, .log_every_n_steps = 1, .loggers = "tensorboard",
                                         .checkpointing = XT_OFF);
            xt_trainer_add(t, xt_callback_new(&everywhere, NULL));
            if (xt_fit(t, &task, data(8), data(4))) return 1;
            found f = look(xt_trainer_run_dir(t));
            const char *want = h == 0 ? EACH : h == 4 ? "8" : ENDS;
            if (rank == 0)
                same("the event file", is_row(things[k]) ? f.rows[2] : f.others[2],
                     is_row(things[k]) ? sevens(want) : want);
            if (wrong) return 2;
            xt_trainer_free(t);
        }
    return xt_finish();
}
static void two_ranks(void **state) {
    (void)state;
    assert_int_equal(launched(2, rank_fits, NULL), 0);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        T(plain_loops),       T(a_plain_loop_is_an_epoch),  T(two_ranks),  T(every_hook),
        T(each_logger),       T(what_no_step_read_is_told), T(every_wait), T(threads_of_the_library_do_not_wait),
        T(compiled_functions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
