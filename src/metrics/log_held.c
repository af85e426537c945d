/* Values noted behind a stage's last step, in a hook that comes after it. Another stage's program may be next, or none:
 * they wait for the stage's next step, which takes them as it takes what a hook between two steps of an epoch notes. A
 * checkpoint has them too: [value, weight] of each, in rows behind those of the state. */
#include "metrics/log_int.h"

void log_pending_drop(log_pending *p) {
    if (!p->held) return;
    if (lazy_type(p->value)) xt_drop_at(XT_HERE, p->value);
    if (lazy_type(p->weight)) xt_drop_at(XT_HERE, p->weight);
    p->held = false;
}

void log_forget_step(log_stage s) {
    log_engine *e = log_engine_peek();
    for (size_t i = 0; e && i < e->sets[s].n_pending; i++) log_pending_drop(&e->sets[s].pending[i]);
    if (e) e->sets[s].n_pending = 0, e->sets[s].holds = false;
    if (e) log_pending_index(&e->sets[s]);
    if (e) log_behind_drop(&e->sets[s]);
}

void log_forget_failed_step(log_stage s) {
    log_engine *e = log_engine_peek();
    log_set *set = e ? &e->sets[s] : NULL;
    while (set && set->n_pending > set->n_before_step) log_pending_drop(&set->pending[--set->n_pending]);
    if (set) log_pending_index(set);
}

/* A handle of our own, since the user's ends with the step or is the user's to drop. */
static xt_tensor kept(const xt_src *src, xt_tensor t) {
    if (!lazy_type(t)) return t;
    lazy_begin(src);
    return xt_keep_at(src, lazy_wrap(lazy_value(t), "xt_log"));
}

void log_hold_step(log_stage s) {
    log_engine *e = log_engine_peek();
    log_set *set = e ? &e->sets[s] : NULL;
    for (size_t i = 0; set && i < set->n_pending; i++) {
        log_pending *p = &set->pending[i];
        const xt_src *src = src_get(set->metrics[p->metric].src);
        if (p->held || p->is_number) continue;
        p->value = kept(src, p->value);
        p->weight = kept(src, p->weight);
        p->held = true;
    }
    if (set) set->holds = true;
}

void log_resume_step(log_stage s) {
    log_engine *e = log_engine_peek();
    if (e) e->sets[s].holds = false;
}

void log_step_left(log_stage s) {
    const log_engine *e = log_engine_peek();
    const log_set *set = e ? &e->sets[s] : NULL;
    for (size_t i = 0; set && i < set->n_pending; i++) {
        log_pending *p = &set->pending[i];
        if (p->weigh == LOG_WEIGH_SAMPLES) p->weight_value = (double)log_pass_of(e, set).batch_size;
        if (p->weigh != LOG_WEIGH_TENSOR) p->weigh = LOG_WEIGH_NUMBER;
    }
}

static void add_pending(log_set *set) {
    if (!set->opened) set->window_begins = true;
    set->opened = true;
    set->holds = false;
    lazy_boundary(LAZY_STEP_END, src_get(set->metrics[set->pending[0].metric].src));
    set->holds = true;
}

void log_epoch_ends(void) {
    log_engine *e = log_engine_peek();
    log_set *set = e ? &e->sets[LOG_TRAIN] : NULL;
    bool any = false;
    for (size_t i = 0; set && i < set->n_pending; i++)
        any = any || set->metrics[set->pending[i].metric].o.on_epoch == XT_ON;
    if (any && !e->mute && !lazy_pending()) add_pending(set);
}

bool log_held_opened(log_set *set) {
    if (set->opened && set->n_pending && !lazy_pending()) add_pending(set);
    return set->opened;
}

/* --- for checkpoints --- */
int64_t log_held_rows(const log_set *set) {
    int64_t rows = 0;
    for (size_t i = 0; i < set->n_pending; i++) rows += set->metrics[set->pending[i].metric].kind.count;
    return rows;
}

static bool numbers_of(xt_tensor t, int64_t count, float *out) {
    return xt_read(xt_cast_at(XT_HERE, t, XT_F32), out, (size_t)count * sizeof *out);
}

xt_status log_held_save(const log_set *set, float *rows) {
    for (size_t i = 0; i < set->n_pending; i++) {
        const log_pending *p = &set->pending[i];
        int64_t count = set->metrics[p->metric].kind.count, given = p->is_number          ? 1
                                                                    : lazy_type(p->value) ? lazy_type(p->value)->count
                                                                                          : 0;
        float weight = (float)p->weight_value, *v = base_calloc((size_t)count, sizeof *v);
        bool ok = v && given > 0 && given <= count;
        xt_no_grad_begin();
        if (p->is_number && v)
            v[0] = (float)p->number;
        else
            ok = ok && numbers_of(p->value, given, v);
        if (p->weigh == LOG_WEIGH_TENSOR) ok = ok && numbers_of(p->weight, 1, &weight);
        xt_no_grad_end_at(NULL);
        for (int64_t r = 0; ok && r < count; r++, rows += LOG_COLUMNS)
            rows[LOG_MOST] = v[given == 1 ? 0 : r], rows[LOG_EPOCH_WEIGHT] = weight;
        base_free(v);
        if (!ok)
            return lazy_pending() ? status_clone(lazy_pending())
                                  : status_oom((size_t)count * sizeof *v, "values logged after a step");
    }
    return NULL;
}

xt_status log_held_restore(log_set *set, int metric, log_weigh weigh, bool is_number, const float *rows) {
    int64_t count = set->metrics[metric].kind.count;
    log_pending p = {.metric = metric,
                     .number = rows[LOG_MOST],
                     .weight_value = rows[LOG_EPOCH_WEIGHT],
                     .is_number = is_number || count == 1};
    p.weigh = weigh == LOG_WEIGH_TENSOR ? LOG_WEIGH_NUMBER : weigh;
    if (!p.is_number) {
        float *v = base_calloc((size_t)count, sizeof *v);
        if (!v) return status_oom((size_t)count * sizeof *v, "values logged after a step");
        for (int64_t r = 0; r < count; r++) v[r] = rows[r * LOG_COLUMNS + LOG_MOST];
        p.value = xt_keep_at(XT_HERE, xt_from_array_at(XT_HERE, v, XT_F32, XT_DIMS_(count, 0)));
        p.held = true;
        base_free(v);
    }
    if (log_pending_push(set, p)) return NULL;
    log_pending_drop(&p);
    return status_oom(sizeof p, "values logged after a step");
}
