/* The names that values have in rows: that of the log call, with _step and _epoch where both are on, and with the
 * number of the loader where there are several. Two values under one name would be two numbers in one place of a table,
 * a curve that jumps, and one of them what a callback watches: an error with both lines. */
#include "metrics/log_int.h"

/* The trainer's own value is in each run's rows: of its two names the steps' is the short one. */
static const char *ending(const log_metric *m, bool epoch_level) {
    bool both = m->o.on_step == XT_ON && m->o.on_epoch == XT_ON;
    return !both ? "" : epoch_level ? "_epoch" : m->own ? "" : "_step";
}

void log_column_name(const log_metric *m, int loader_plus_1, bool epoch_level, char out[static LOG_COLUMN_BYTES]) {
    char loader[40] = "";
    if (loader_plus_1) snprintf(loader, sizeof loader, "/dataloader_idx_%d", loader_plus_1 - 1);
    snprintf(out, LOG_COLUMN_BYTES, "%s%s%s", m->name, ending(m, epoch_level), loader);
}

static bool taken(const xt_src *src, const char *name, const char *column, src_id by) {
    char at[256];
    lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                         "%s \"%s\": rows would have two values named \"%s\", this one and what is logged at %s "
                         "(a name logged with on_step and on_epoch is NAME_step and NAME_epoch in rows); give one of "
                         "them another name",
                         log_call(), name, column, src_text(by, at, sizeof at)));
    return false;
}

/* Rows of both levels go to the same curves and tables, so a column is one whatever its level. */
static bool same_column(const log_metric *a, const log_metric *b, char column[static LOG_COLUMN_BYTES]) {
    char other[LOG_COLUMN_BYTES];
    for (int i = 0; i < 4; i++) {
        bool epoch_a = i & 1, epoch_b = i >> 1;
        if ((epoch_a ? a->o.on_epoch : a->o.on_step) != XT_ON || (epoch_b ? b->o.on_epoch : b->o.on_step) != XT_ON)
            continue;
        log_column_name(a, 0, epoch_a, column);
        log_column_name(b, 0, epoch_b, other);
        if (strcmp(column, other) == 0) return true;
    }
    return false;
}

bool log_columns_shared(const log_metric *a, const log_metric *b) {
    char column[LOG_COLUMN_BYTES];
    return same_column(a, b, column);
}

/* The trainer's own value gives the epoch's name to whom the task calls so. */
static bool gives_way(log_metric *m, const char *column) {
    if (!m->own || strcmp(m->name, column) == 0) return false;
    m->o.on_epoch = XT_OFF;
    return true;
}

bool log_columns_free(const log_engine *e, log_set *set, size_t which, const xt_src *src) {
    const log_metric *m = &set->metrics[which];
    char column[LOG_COLUMN_BYTES];
    size_t beside[LOG_BESIDE];
    log_metrics_beside(set, m, beside);
    for (size_t k = 0; k < LOG_BESIDE; k++) {
        size_t i = beside[k];
        if (i == LOG_NONE || i == which || set->metrics[i].restored || !same_column(m, &set->metrics[i], column))
            continue;
        if (!gives_way(&set->metrics[i], column)) return taken(src, m->name, column, set->metrics[i].src);
    }
    log_column_name(m, 0, true, column);
    for (size_t i = 0; i < e->n_seen && m->o.on_epoch == XT_ON; i++)
        if (set == &e->sets[e->seen[i].stage] && strcmp(e->seen[i].name, column) == 0)
            return taken(src, m->name, column, e->seen[i].src);
    return true;
}

/* --- between steps --- */
/* With several loaders the steps' value of each has its number behind it. */
static bool of_a_loader(const char *name, const char *column) {
    static const char mark[] = "/dataloader_idx_";
    size_t n = strlen(column);
    return strncmp(name, column, n) == 0 && strncmp(name + n, mark, sizeof mark - 1) == 0;
}

bool log_columns_known(const log_engine *e, log_stage s, const char *column) {
    char its[LOG_COLUMN_BYTES];
    for (size_t i = 0; i < e->sets[s].n; i++) {
        const log_metric *m = &e->sets[s].metrics[i];
        for (int epoch = 0; epoch < 2 && !m->own && !m->restored; epoch++) {
            log_column_name(m, 0, epoch, its);
            if ((epoch ? m->o.on_epoch : m->o.on_step) == XT_ON && strcmp(its, column) == 0) return true;
        }
    }
    for (size_t i = 0; i < e->n_seen; i++)
        if (e->seen[i].stage == s && strcmp(e->seen[i].name, column) == 0) return true;
    return false;
}

/* The highest loader that has logged it stands for all before it. */
static bool columns_of(const log_metric *m, log_each_column *each, void *user) {
    char column[LOG_COLUMN_BYTES];
    for (int k = m->loaders ? 1 : 0; k <= m->loaders; k++)
        for (int epoch = 0; epoch < 2; epoch++) {
            if ((epoch ? m->o.on_epoch : m->o.on_step) != XT_ON) continue;
            log_column_name(m, k, epoch, column);
            if (!each(m->name, column, user)) return false;
        }
    return true;
}

bool log_columns_each(const log_engine *e, log_stage s, log_each_column *each, void *user) {
    for (size_t i = 0; i < e->sets[s].n; i++)
        if (!e->sets[s].metrics[i].restored && !columns_of(&e->sets[s].metrics[i], each, user)) return false;
    for (size_t i = 0; i < e->n_seen; i++)
        if (e->seen[i].stage == s && !each(e->seen[i].name, e->seen[i].name, user)) return false;
    return true;
}

bool log_columns_between(log_engine *e, const xt_src *src, const char *name) {
    log_set *set = &e->sets[e->given_stage];
    char column[LOG_COLUMN_BYTES];
    for (size_t i = 0; i < set->n; i++) {
        log_metric *m = &set->metrics[i];
        log_column_name(m, 0, true, column);
        if (m->restored || m->o.on_epoch != XT_ON) continue;
        if (strcmp(name, column) == 0 && gives_way(m, column)) continue;
        if (strcmp(name, column) == 0 || of_a_loader(name, column)) return taken(src, name, name, m->src);
    }
    for (size_t i = 0; i < e->n_seen; i++)
        if (e->seen[i].stage == e->given_stage && strcmp(e->seen[i].name, name) == 0) return true;
    log_seen s = {base_strdup(name), e->given_stage, src_intern(src)};
    if (!s.name || !VEC_PUSH(e->seen, e->n_seen, e->cap_seen, s)) base_free(s.name); /* a check less */
    return true;
}

void log_columns_forget(log_engine *e, log_stage s) {
    size_t n = 0;
    for (size_t i = 0; i < e->n_seen; i++)
        if (e->seen[i].stage == s)
            base_free(e->seen[i].name);
        else
            e->seen[n++] = e->seen[i];
    e->n_seen = n;
}

void log_columns_end(log_engine *e) {
    for (size_t i = 0; i < e->n_seen; i++) base_free(e->seen[i].name);
    base_free(e->seen);
}
