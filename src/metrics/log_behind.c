/* What a plain loop logs behind a compiled call. The call has run its program, so the update of the stage's state would
 * be a program of its own in each step, which costs the host some three times what a small step does. Values
 * that are there as buffers, as the result of a call is, and numbers of the host wait instead, LOG_BEHIND_STEPS steps
 * of them at most, and one program adds them all before a row is due.
 *
 * Invariants
 *  1. What waits commutes with what other programs add to the state meanwhile: it begins no epoch, and none of its
 *     names is logged within a compiled function.
 *  2. The steps that wait log the same names in the same way, so that there is one program for any number of them.
 *  3. Nothing waits when a row is sent. */
#include <xtrain/ops.h>

#include "metrics/log_int.h"

/* The same ops make it part of the state, whatever its value. */
static bool alike(const log_pending *a, const log_pending *b) {
    return a->metric == b->metric && a->is_number == b->is_number && !a->weight.slot == !b->weight.slot;
}

static bool fits_those_before(const log_set *set, size_t n) {
    if (!set->n_behind) return true;
    if (n != set->behind_each) return false;
    for (size_t i = 0; i < n; i++)
        if (!alike(&set->pending[i], &set->behind[i])) return false;
    return true;
}

/* A copy that outlives the step; false: one of its tensors is still to be computed, or is a state's. */
static bool share(const log_set *set, const log_pending *p, log_pending *out) {
    const xt_src *src = src_get(set->metrics[p->metric].src);
    *out = *p;
    out->held = true;
    out->value = out->weight = (xt_tensor){0};
    if (p->weigh == LOG_WEIGH_SAMPLES) { /* those of this step */
        out->weigh = LOG_WEIGH_NUMBER;
        out->weight_value = (double)log_pass_of(log_engine_peek(), set).batch_size;
    }
    if (!p->is_number && !lazy_type(out->value = lazy_share(src, p->value))) return false;
    return p->weigh != LOG_WEIGH_TENSOR || lazy_type(out->weight = lazy_share(src, p->weight));
}

static bool may_wait(const log_set *set, size_t n) {
    if (!n || set->holds || set->epoch_begins || !set->rows || set->used > set->rows) return false;
    for (size_t i = 0; i < n; i++)
        if (set->metrics[set->pending[i].metric].within_call) return false;
    return true;
}

bool log_behind_take(log_set *set, size_t of_step) {
    size_t n = set->n_behind, each = log_pending_merge(set, of_step), i = 0;
    if (lazy_pending() || !may_wait(set, each) || !fits_those_before(set, each)) return false;
    if (!vec_grow((void **)&set->behind, &set->cap_behind, n + each, sizeof *set->behind)) return false;
    while (i < each && share(set, &set->pending[i], &set->behind[n + i])) i++;
    if (i < each) {
        for (size_t k = 0; k <= i; k++) log_pending_drop(&set->behind[n + k]);
        return false;
    }
    set->behind_window = log_stamp(set->window + set->window_begins);
    set->n_behind = n + each;
    set->behind_each = each;
    for (i = 0; i < each; i++) log_pending_drop(&set->pending[i]);
    set->n_pending -= each;
    memmove(set->pending, set->pending + each, set->n_pending * sizeof *set->pending);
    log_pending_index(set);
    log_step_noted(set);
    return true;
}

bool log_behind_full(const log_set *set) {
    return set->n_behind && set->n_behind / set->behind_each == LOG_BEHIND_STEPS;
}

/* One that the step being recorded logs waits, and the order of two values of one name matters. */
bool log_behind_meets(const log_set *set) {
    for (size_t k = 0; k < set->behind_each && set->n_behind; k++)
        if (log_pending_first(set, (size_t)set->behind[k].metric) != LOG_NONE) return true;
    return false;
}

void log_behind_drop(log_set *set) {
    for (size_t i = 0; i < set->n_behind; i++) log_pending_drop(&set->behind[i]);
    set->n_behind = 0;
}

/* --- the program --- */
/* Its rows are steps, oldest first. Before the first that waits come rows of no weight with that one's tensors, so that
 * the newest is always the last. */
static const log_pending *in_row(const log_set *set, size_t row, size_t i) {
    size_t none = LOG_BEHIND_STEPS - set->n_behind / set->behind_each;
    return &set->behind[(row > none ? row - none : 0) * set->behind_each + i];
}
static bool is_none(const log_set *set, size_t row) {
    return row + set->n_behind / set->behind_each < LOG_BEHIND_STEPS;
}

/* [steps, count] of f32 */
static xt_tensor stacked(const xt_src *src, const log_set *set, size_t i, bool weight, int64_t count) {
    xt_tensor rows[LOG_BEHIND_STEPS];
    for (size_t r = 0; r < LOG_BEHIND_STEPS; r++) {
        const log_pending *p = in_row(set, r, i);
        rows[r] = xt_reshape_at(src, xt_cast_at(src, weight ? p->weight : p->value, XT_F32), XT_DIMS_(count, 0));
    }
    return xt_stack_at(src, LOG_BEHIND_STEPS, rows, 0);
}

/* [steps, 1] */
static xt_tensor numbers(const xt_src *src, const log_set *set, size_t i, bool weight) {
    float all[LOG_BEHIND_STEPS];
    for (size_t r = 0; r < LOG_BEHIND_STEPS; r++) {
        const log_pending *p = in_row(set, r, i);
        all[r] = (float)(!weight ? p->number : is_none(set, r) ? 0 : p->weight_value);
    }
    return xt_from_array_at(src, all, XT_F32, XT_DIMS_(LOG_BEHIND_STEPS, 1, 0));
}

/* [steps, 1], true where a step waits */
static xt_tensor there(const xt_src *src, const log_set *set) {
    bool all[LOG_BEHIND_STEPS];
    for (size_t r = 0; r < LOG_BEHIND_STEPS; r++) all[r] = !is_none(set, r);
    return xt_from_array_at(src, all, XT_BOOL, XT_DIMS_(LOG_BEHIND_STEPS, 1, 0));
}

/* What the i-th of the values adds: its newest, its sums over the steps, its range. */
static void fold(const log_set *set, size_t i, xt_tensor on, log_pending out[static 3]) {
    const log_pending *p = &set->behind[i];
    const log_metric *m = &set->metrics[p->metric];
    const xt_src *src = src_get(m->src);
    xt_tensor none = xt_full_at(src, 0, XT_F32, XT_DIMS_(0));
    xt_tensor v = p->is_number ? numbers(src, set, i, false) : stacked(src, set, i, false, m->kind.count);
    xt_tensor w =
        p->weight.slot ? xt_where_at(src, on, stacked(src, set, i, true, 1), none) : numbers(src, set, i, true);
    /* chosen, not multiplied: the tensors of a row of no weight may hold an infinity */
    xt_tensor sum = xt_sum_axis_at(src, xt_where_at(src, on, xt_mul_at(src, v, w), none), 0);
    for (int k = 0; k < 3; k++) out[k] = (log_pending){.metric = p->metric, .weigh = LOG_WEIGH_TENSOR};
    out[0].value = xt_select_at(src, v, 0, -1);
    out[0].weight = xt_select_at(src, w, 0, -1);
    out[1].value = sum;
    out[1].weight = xt_sum_axis_at(src, w, 0);
    bool extremes = m->o.reduce == XT_MIN || m->o.reduce == XT_MAX;
    out[2].value = extremes ? xt_neg_at(src, xt_max_axis_at(src, xt_neg_at(src, v), 0)) : out[0].value;
    out[2].weight = extremes ? xt_max_axis_at(src, v, 0) : out[0].value;
}

static void record(log_set *set, const xt_src *src) {
    size_t n = set->behind_each;
    log_pending *all = base_calloc(3 * n, sizeof *all), of[3];
    if (!all) {
        lazy_fail(status_oom(3 * n * sizeof *all, "values logged behind a compiled call"));
        return;
    }
    xt_tensor on = there(src, set);
    for (size_t i = 0; i < n; i++) {
        fold(set, i, on, of);
        for (size_t k = 0; k < 3; k++) all[k * n + i] = of[k];
    }
    log_record_update(set, src, &(log_step){.list = all, .n = n, .epoch = all + n, .range = all + 2 * n},
                      lazy_scalar(src, XT_F32, 0), lazy_scalar(src, XT_F32, set->behind_window));
    base_free(all);
}

void log_behind_record(log_set *set) {
    if (!set->n_behind || lazy_pending()) return;
    const xt_src *src = src_get(set->metrics[set->behind[0].metric].src);
    lazy_optional_apart();
    lazy_note_requester(src, "xt_log");
    xt_no_grad_begin();
    lazy_path_push("log");
    record(set, src);
    lazy_path_pop();
    xt_no_grad_end_at(NULL);
    log_behind_drop(set);
    set->behind_due = false;
    set->within = true;
}

void log_behind_send(log_set *set) {
    if (!set->n_behind || lazy_pending() || !lazy_device_is_open(NULL)) return;
    set->behind_due = true;
    lazy_boundary(LAZY_LOADER, src_get(set->metrics[set->behind[0].metric].src));
}
