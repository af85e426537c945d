/* Callbacks by name, as the command line and configuration files ask for them:
 *     --callbacks early_stopping,lr_monitor --callbacks.early_stopping.monitor val/loss
 * adds them to the program's own. The names are those of their functions in train.h and train_callbacks.h, and their
 * options the fields of the structs there: each constructor's own table of rows reads and checks them (options_give).
 */
#include "train/train_int.h"

enum { MOST = 24, LONGEST = 64 };

#define CALLBACKS(X)                                      \
    X(early_stopping, xt_early_stopping_opts)             \
    X(model_checkpoint, xt_model_checkpoint_opts)         \
    X(throughput_monitor, xt_throughput_opts)             \
    X(timer, xt_timer_opts)                               \
    X(weight_averaging, xt_weight_averaging_opts)         \
    X(exception_checkpoint, xt_exception_checkpoint_opts) \
    X(spike_detection, xt_spike_detection_opts)
#define NEW(name, type)                                \
    static xt_callback *new_##name(void) {             \
        return xt_##name##_opt(NULL, XT_OPTS(type, )); \
    }
CALLBACKS(NEW)

static const struct {
    const char *name;
    xt_callback *(*make)(void);
} known[] = {
#define ROW(name, type) {#name, new_##name},
    CALLBACKS(ROW){"lr_monitor", xt_lr_monitor},
    {"device_stats", xt_device_stats},
};

/* What a command line cannot say. */
static const struct {
    const char *name, *why;
} in_programs[] = {
    {"accumulation_schedule",
     "it takes two arrays: xt_trainer_add(t, xt_accumulation_schedule(.n = 1, .epochs = ..., .factors = ...)); one "
     "number for the whole fit is --trainer.accumulate_grad_batches N"},
    {"sample_writer", "it takes a function: xt_trainer_add(t, xt_sample_writer(.sample = your_function))"},
    {"prediction_writer",
     "a fit predicts nothing: xtrain predict NAME --output FILE writes predictions, and in a program "
     "xt_trainer_add(t, xt_prediction_writer(.path = FILE)) before xt_predict"},
};

static int named(const char *name) {
    for (size_t i = 0; i < BASE_COUNT(known); i++)
        if (strcmp(known[i].name, name) == 0) return (int)i;
    return -1;
}

static xt_status unknown(const char *name) {
    const char *names[BASE_COUNT(known)];
    str list = STR_INIT;
    for (size_t i = 0; i < BASE_COUNT(in_programs); i++)
        if (strcmp(in_programs[i].name, name) == 0)
            return status_new(XT_INVALID_ARGUMENT, NULL, "--callbacks %s: %s", name, in_programs[i].why);
    for (size_t i = 0; i < BASE_COUNT(known); i++) {
        names[i] = known[i].name;
        str_printf(&list, "%s%s", i ? ", " : "", names[i]);
    }
    const char *near = text_nearest(name, names, BASE_COUNT(known));
    xt_status s = status_new(XT_NOT_FOUND, NULL, "--callbacks %s: there is none of this name%s%s%s; there are %s", name,
                             near ? "; did you mean " : "", near ? near : "", near ? "?" : "", str_cstr(&list));
    str_free(&list);
    return s;
}

/* Those without options do not look at what they are given. */
static xt_status add(xt_trainer *t, const char *name) {
    char section[LONGEST + 16];
    const char *names[MOST], *values[MOST];
    options_by_name g;
    int which = named(name);
    if (which < 0) return unknown(name);
    snprintf(section, sizeof section, "callbacks.%s", name);
    config_ask(t, section, &g, names, values, MOST);
    options_give(g.n ? &g : NULL);
    xt_callback *c = known[which].make();
    options_give(NULL);
    if (!c) return status_context(status_clone(lazy_pending()), "--callbacks %s", name);
    xt_trainer_add(t, c);
    return g.n <= 0
               ? NULL
               : status_new(XT_INVALID_ARGUMENT, NULL, "--callbacks.%s.%s: %s has no options", name, names[0], name);
}

/* The names of a list with commas, one after the other; false at its end. */
static bool next_name(const char **list, char out[static LONGEST]) {
    size_t skip = strspn(*list, ", "), n = strcspn(*list + skip, ", ");
    snprintf(out, LONGEST, "%.*s", (int)n, *list + skip);
    *list += skip + n;
    return n > 0;
}

static bool lists(const char *list, const char *name, size_t n) {
    char one[LONGEST];
    while (list && next_name(&list, one))
        if (strlen(one) == n && strncmp(one, name, n) == 0) return true;
    return false;
}

/* --callbacks.NAME.OPTION of a callback that was not asked for would do nothing. */
static xt_status check_options(xt_trainer *t, const char *list) {
    const char *names[MOST], *values[MOST];
    options_by_name g;
    config_ask(t, "callbacks", &g, names, values, MOST);
    for (int i = 0; i < g.n; i++) {
        size_t n = strcspn(names[i], ".");
        char name[LONGEST];
        snprintf(name, sizeof name, "%.*s", (int)n, names[i]);
        if (named(name) < 0) return unknown(name);
        if (!names[i][n])
            return status_new(XT_INVALID_ARGUMENT, NULL, "--callbacks.%s: an option of it is --callbacks.%s.OPTION X",
                              name, name);
        if (!lists(list, names[i], n))
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "--callbacks.%s is given without --callbacks %s, which adds it (several with a comma)",
                              names[i], name);
    }
    return NULL;
}

xt_status by_name_callbacks(xt_trainer *t) {
    const char *list = xt_trainer_text(t, "callbacks.name", NULL);
    char name[LONGEST];
    if (t->named_callbacks_added) return NULL;
    XT_TRY(check_options(t, list));
    while (list && next_name(&list, name)) XT_TRY(add(t, name));
    t->named_callbacks_added = true;
    return NULL;
}
