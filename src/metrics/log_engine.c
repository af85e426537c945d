/* What all parts of the log engine look up: the thread's engine, if it has one, and the names that its stages know. It
 * stands on none of the parts, which would else all need each other; log_thread.c opens an engine and frees it. */
#include "metrics/log_int.h"

static __thread log_engine *engine;

log_engine *log_engine_peek(void) {
    return engine;
}

void log_engine_set(log_engine *e) {
    engine = e;
}

static __thread const char *call = "xt_log";

void log_calls(const char *name) {
    call = name;
}

const char *log_call(void) {
    return call;
}

int64_t log_engine_number(const log_engine *e) {
    return e ? e->number : 0;
}

const void *log_owner(void) {
    return engine && engine->own_sinks ? engine : NULL;
}

bool log_muted(log_engine *e, const char *what, const char *name) {
    if (!e->mute) return false;
    if (!e->mute_said && world_get()->rank == 0)
        log_msg(XT_SEV_WARNING, "%s \"%s\": the trainer is barebones, nothing is logged", what, name);
    e->mute_said = true;
    return true;
}

bool log_knows(log_stage s, const char *name) {
    const log_engine *e = log_engine_peek();
    size_t i = e ? log_metric_named(&e->sets[s], name) : LOG_NONE;
    return i != LOG_NONE && !e->sets[s].metrics[i].restored;
}

bool log_own_has_epochs(const char *name) {
    const log_engine *e = log_engine_peek();
    size_t i = e ? log_metric_named(&e->sets[LOG_TRAIN], name) : LOG_NONE;
    const log_metric *m = i == LOG_NONE ? NULL : &e->sets[LOG_TRAIN].metrics[i];
    return m && m->own && m->o.on_epoch == XT_ON;
}

/* A row's name may have more behind that of the log call. */
static bool names_row(const char *logged, const char *row) {
    size_t n = strlen(logged);
    return n && strncmp(logged, row, n) == 0 &&
           (!row[n] || strcmp(row + n, "_step") == 0 || strcmp(row + n, "_epoch") == 0 ||
            strncmp(row + n, "/dataloader_idx_", 16) == 0);
}

bool log_of_one_rank(const char *name, src_id *out) {
    const log_engine *e = log_engine_peek();
    for (int s = 0; e && s < LOG_STAGE_COUNT; s++)
        for (size_t i = 0; i < e->sets[s].n; i++) {
            const log_metric *m = &e->sets[s].metrics[i];
            if (m->restored || m->o.sync_dist == XT_ON || !names_row(m->name, name)) continue;
            *out = m->src;
            return true;
        }
    return false;
}

/* Names that a monitor may have, for messages: in a text, and beside those of their log calls. */
typedef struct known_names {
    str text;
    const char **names;
    char **columns;
    size_t n, cap, n_columns, cap_columns;
} known_names;

static bool know_name(const char *name, const char *column, void *user) {
    known_names *k = user;
    char *copy = base_strdup(column);
    str_printf(&k->text, "%s%s", k->n ? ", " : "", column);
    if (copy && VEC_PUSH(k->columns, k->n_columns, k->cap_columns, copy)) return VEC_PUSH(k->names, k->n, k->cap, name);
    base_free(copy);
    return false;
}

/* The one that was meant: first by the log call's name, to which rows may have put more. */
static const char *nearest_column(const known_names *k, const char *name) {
    const char *near = text_nearest(name, k->names, k->n);
    for (size_t i = 0; near && i < k->n; i++)
        if (strcmp(k->names[i], near) == 0) return k->columns[i];
    return text_nearest(name, (const char *const *)k->columns, k->n);
}

static void known_names_free(known_names *k) {
    for (size_t i = 0; i < k->n_columns; i++) base_free(k->columns[i]);
    base_free(k->columns);
    base_free(k->names);
    str_free(&k->text);
}

static bool knows_column(const known_names *k, const char *name) {
    for (size_t i = 0; i < k->n_columns; i++)
        if (strcmp(k->columns[i], name) == 0) return true;
    return false;
}

/* A log call of that name is known, by an earlier pass whose values are gone (a sanity check, a resumed run), and none
 * of this run has a value yet. */
static xt_status without_value(const char *who, const char *name, bool of_validation) {
    return status_new(XT_INVALID_ARGUMENT, NULL, "%s: monitor = %s has no value yet: it is logged by %s; %s", who, name,
                      of_validation ? "the validation, and the first comes later" : "the training step, later",
                      of_validation ? "validate before the value is needed (.val_every = \"1epochs\"), or watch a "
                                      "value that the training step logs"
                                    : "log it before the value is needed");
}

xt_status log_not_logged(const char *who, const char *name) {
    const log_engine *e = log_engine_peek();
    known_names k = {.text = STR_INIT};
    bool goes_on = e && log_columns_each(e, LOG_VALIDATE, know_name, &k), of_validation = knows_column(&k, name);
    if (goes_on) log_columns_each(e, LOG_TRAIN, know_name, &k);
    const char *near = nearest_column(&k, name);
    if (knows_column(&k, name)) {
        known_names_free(&k);
        return without_value(who, name, of_validation);
    }
    xt_status s = status_new(XT_INVALID_ARGUMENT, NULL, "%s: monitor = %s was not logged; logged so far: %s%s%s%s", who,
                             name, k.n ? str_cstr(&k.text) : "nothing", near ? "; did you mean " : "", near ? near : "",
                             near ? "?" : "");
    known_names_free(&k);
    return s;
}

void log_names_anew(log_stage s) {
    log_engine *e = log_engine_peek();
    for (size_t i = 0; e && i < e->sets[s].n; i++) e->sets[s].metrics[i].restored = true;
    if (e) e->sets[s].fresh = e->sets[s].opened = false, e->sets[s].row_window = e->sets[s].window;
    if (e) log_columns_forget(e, s);
    if (e && s == LOG_TRAIN) e->plain = false;
}
