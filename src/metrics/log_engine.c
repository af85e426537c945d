/* The log engine of a thread: its stages, where the thread is in them, and the names that they know. */
#include "metrics/log_int.h"

static __thread log_engine *engine;

static void engine_free(void *p) {
    log_engine *e = p;
    for (int s = 0; s < LOG_STAGE_COUNT; s++) {
        log_set *set = &e->sets[s];
        for (size_t i = 0; i < set->n; i++) base_free(set->metrics[i].name);
        base_free(set->metrics);
        for (size_t i = 0; i < set->n_pending || i < set->n_recorded; i++) log_pending_drop(&set->pending[i]);
        base_free(set->pending);
        if (lazy_type(set->state)) xt_drop_at(XT_HERE, set->state);
        lazy_replay_forget(set);
        lazy_optional_forget(set);
    }
    log_between_free(e);
    log_unread_free(e);
    base_free(e);
    if (engine == e) engine = NULL;
}

log_engine *log_engine_get(void) {
    if (engine) return engine;
    log_engine *e = base_calloc(1, sizeof *e);
    if (!e) return NULL;
    e->every = 50;
    for (int s = 0; s < LOG_STAGE_COUNT; s++) e->sets[s].epoch_begins = e->sets[s].window_begins = true;
    lazy_own(e, engine_free);
    engine = e;
    log_observe_boundaries();
    return e;
}

log_engine *log_engine_peek(void) {
    return engine;
}

void log_set_stage(log_stage s) {
    log_engine *e = log_engine_get();
    if (e) e->stage = s;
}

void log_set_manual(bool on) {
    log_engine *e = log_engine_get();
    if (!e) return;
    e->manual = on;
    /* of a plain loop that follows: only its own steps make rows */
    e->seen_steps = counter_get(COUNTER_optimizer_steps);
}

log_place log_set_place(log_place place, log_stage of) {
    log_engine *e = log_engine_get();
    log_place was = e ? e->place : LOG_IN_STEP;
    if (e) e->place = place, e->given_stage = of;
    return was;
}

void log_set_mute(bool on) {
    log_engine *e = log_engine_get();
    if (e) e->mute = on, e->mute_said = false;
}

void log_set_sanity(bool on) {
    log_engine *e = log_engine_get();
    if (e) e->sanity = on;
}

void log_set_loader(int k) {
    log_engine *e = log_engine_get();
    if (e) e->loader_plus_1 = k + 1;
}

void log_window_begin(void) {
    log_engine *e = log_engine_get();
    if (e) e->sets[e->stage].window_begins = true;
}

bool log_knows(log_stage s, const char *name) {
    log_engine *e = log_engine_peek();
    for (size_t i = 0; e && i < e->sets[s].n; i++)
        if (strcmp(e->sets[s].metrics[i].name, name) == 0 && !e->sets[s].metrics[i].restored) return true;
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
    if (e) e->sets[s].fresh = false, e->sets[s].row_window = e->sets[s].window;
    if (e && s == LOG_TRAIN) e->plain = false;
}

void log_epoch_begin(log_stage s) {
    log_engine *e = log_engine_get();
    if (e) e->sets[s].epoch_begins = e->sets[s].window_begins = true;
}

void xt_log_every_n_steps_at(const xt_src *src, int64_t n) {
    SRC_CALLED_FROM(src);
    log_engine *e = log_engine_get();
    if (n < 1)
        lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL,
                             "xt_log_every_n_steps: %lld; a period of at least 1 step is needed", (long long)n));
    else if (e)
        e->every = n;
}
