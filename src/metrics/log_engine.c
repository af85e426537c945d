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
    log_engine *e = log_engine_peek();
    for (size_t i = 0; e && i < e->sets[s].n; i++)
        if (strcmp(e->sets[s].metrics[i].name, name) == 0 && !e->sets[s].metrics[i].restored) return true;
    return false;
}

bool log_own_has_epochs(const char *name) {
    const log_engine *e = log_engine_peek();
    for (size_t i = 0; e && i < e->sets[LOG_TRAIN].n; i++)
        if (strcmp(e->sets[LOG_TRAIN].metrics[i].name, name) == 0)
            return e->sets[LOG_TRAIN].metrics[i].own && e->sets[LOG_TRAIN].metrics[i].o.on_epoch == XT_ON;
    return false;
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

void log_append_names(log_stage s, str *out) {
    log_engine *e = log_engine_peek();
    size_t before = out->len;
    for (size_t i = 0; e && i < e->sets[s].n; i++)
        if (!e->sets[s].metrics[i].restored)
            str_printf(out, "%s%s", out->len > before ? ", " : "", e->sets[s].metrics[i].name);
}

xt_status log_not_logged(const char *who, const char *name) {
    static const log_stage stages[] = {LOG_VALIDATE, LOG_TRAIN};
    const log_engine *e = log_engine_peek();
    str names = STR_INIT;
    const char **all = NULL, *near;
    size_t n = 0, cap = 0;
    for (size_t k = 0; k < BASE_COUNT(stages); k++) {
        for (size_t i = 0; e && i < e->sets[stages[k]].n; i++)
            if (!e->sets[stages[k]].metrics[i].restored && !VEC_PUSH(all, n, cap, e->sets[stages[k]].metrics[i].name))
                break;
        if (k && names.len) str_append(&names, ", ");
        log_append_names(stages[k], &names);
    }
    near = text_nearest(name, all, n);
    xt_status s = status_new(XT_INVALID_ARGUMENT, NULL, "%s: monitor = %s was not logged; logged so far: %s%s%s%s", who,
                             name, str_cstr(&names), near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    base_free(all);
    str_free(&names);
    return s;
}

void log_names_anew(log_stage s) {
    log_engine *e = log_engine_peek();
    for (size_t i = 0; e && i < e->sets[s].n; i++) e->sets[s].metrics[i].restored = true;
    if (e) e->sets[s].fresh = e->sets[s].opened = false, e->sets[s].row_window = e->sets[s].window;
    if (e) log_columns_forget(e, s);
    if (e && s == LOG_TRAIN) e->plain = false;
}
