/* The end of a step that logs: each stage's state gets its next value in the step's program, made of what was noted
 * (log_record.c) by the ops of log_update.c. What differs from step to step, such as where a window begins, is data, so
 * that the program stays the same. */
#include "metrics/log_int.h"

enum { LEAST_ROWS = 32, SPARE_ROWS = 16 };

static bool new_state(log_set *set, const xt_src *src, int64_t rows, const float *init) {
    int64_t dims[2] = {rows, LOG_COLUMNS};
    set->state = lazy_state_new(src, LAZY_LOG, "log accumulators", XT_F32, 2, dims, init);
    bool made = !lazy_is_error(set->state);
    if (!made) set->state = (xt_tensor){0}; /* a step behind the error makes it */
    set->rows = made ? rows : 0;
    return made;
}

/* The old rows are values of the step being recorded, and the new ones come behind them there. Takes init over. */
static bool grow_within(log_set *set, const xt_src *src, int64_t rows, float *init) {
    lazy_begin(src);
    ir_value *old = lazy_value(set->state);
    int64_t more[2] = {rows - set->rows, LOG_COLUMNS};
    xt_drop_at(src, set->state);
    ir_builder *b = lazy_begin(src);
    ir_value *parts[2] = {old, ir_constant(b, ir_tensor(XT_F32, 2, more), init)};
    bool made = new_state(set, src, rows, init);
    base_free(init);
    if (made) lazy_assign(set->state, lazy_wrap(ir_concatenate(b, 2, parts, 0), "xt_log"));
    return made;
}

/* Room for the metrics known now; a new metric may mean a larger state, which starts with what the old one held, and
 * new programs for all steps that log: so there is some to spare from the beginning. */
static bool make_room(log_set *set, const xt_src *src) {
    int64_t rows = set->rows ? set->rows : LEAST_ROWS;
    while (!set->rows && rows < set->used + SPARE_ROWS) rows *= 2;
    while (rows < set->used) rows *= 2;
    if (rows == set->rows) return true;
    float *init = log_empty_rows(rows);
    if (!init) {
        lazy_fail(status_at(status_oom((size_t)rows * LOG_COLUMNS * sizeof *init, "logged values"), src));
        return false;
    }
    if (set->within && !grow_within(set, src, rows, init)) return false;
    if (set->within) return true;
    xt_status lost =
        set->rows ? lazy_state_read(set->state, init, (size_t)set->rows * LOG_COLUMNS * sizeof *init) : NULL;
    if (lost) lazy_fail(lost);
    if (set->state.slot) xt_drop_at(src, set->state);
    bool made = new_state(set, src, rows, init);
    base_free(init);
    return made;
}

/* Columns before this one begin anew: the epoch's sums, at its first step. What the newest window logged stays until it
 * is logged again, so that the next row has it. */
static double epoch_of(void *user) {
    log_set *set = user;
    return set->began = set->epoch_begins ? LOG_LEAST : 0;
}
static double epoch_again(void *user) {
    return ((const log_set *)user)->began;
}

/* Of the window that the step belongs to; `recorded` turns the page afterwards. */
static double window_of(void *user) {
    const log_set *set = user;
    return log_stamp(set->window + set->window_begins);
}

lazy_pass log_pass_of(const log_engine *e, const log_set *set) {
    const lazy_position *at = lazy_position_of_thread();
    if (e->manual) return (lazy_pass){at->loader, at->batch_size, at->batch, at->epoch, at->padded, 0};
    lazy_pass p = at->passes[set == &e->sets[LOG_VALIDATE] ? LAZY_EVALUATED : LAZY_TRAINED];
    if (!p.loader) p.batch_size = 1;
    return p;
}

static double samples_now(void *user) {
    const log_engine *e = log_engine_peek();
    return e ? (double)log_pass_of(e, user).batch_size : 1;
}

static double number_of(void *user) {
    return *(const double *)user;
}
static const double off = 0, on = 1;

static xt_tensor data(const xt_src *src, const double *number) {
    return lazy_scalar_from(src, XT_F32, number_of, (void *)(uintptr_t)number);
}

/* What a recorded update is to the host; compiled step functions do it again at each call. */
void log_step_noted(log_set *set) {
    const log_engine *e = log_engine_peek();
    const lazy_position *at = lazy_position_of_thread();
    lazy_pass trained = at->passes[LAZY_TRAINED], its = e ? log_pass_of(e, set) : (lazy_pass){0};
    if (set->epoch_begins) set->first_loader = its.loader;
    set->window += set->window_begins;
    set->epoch_begins = set->window_begins = false;
    set->fresh = true;
    set->loader = its.loader;
    set->noted = (log_moment){lazy_loop_steps(), trained.loader ? trained.epoch : its.epoch,
                              its.loader ? its.batch : trained.batch, at->samples};
}
static void recorded(void *user) {
    log_step_noted(user);
}

/* The step being ended may have an update behind the values, that of a training which follows a validation. */
static void recorded_pending(log_set *set, size_t n) {
    recorded(set);
    set->noted.step = 0;
    for (size_t i = 0; i < n; i++)
        if (set->pending[i].updates > set->noted.step) set->noted.step = set->pending[i].updates;
}

/* A compiled step function logs into the stage it was recorded in. */
static bool same_stage(void *user) {
    const log_engine *e = log_engine_peek();
    return e && user == &e->sets[e->stage];
}

xt_tensor log_samples(const xt_src *src, const log_set *set) {
    return lazy_scalar_from(src, XT_F32, samples_now, (void *)(uintptr_t)set);
}

/* The samples are those of the batch that the call was at, which the step's end may be beyond; in a compiled function
 * they are each call's. */
static void enter_numbers(const xt_src *src, const log_set *set, log_pending *p) {
    if (p->is_number) p->value = lazy_scalar(src, XT_F32, p->number);
    if (p->weigh == LOG_WEIGH_SAMPLES && lazy_tracing())
        p->weight = log_samples(src, set);
    else if (p->weigh == LOG_WEIGH_NUMBER || p->weigh == LOG_WEIGH_SAMPLES)
        p->weight = lazy_scalar(src, XT_F32, p->weight_value);
}

bool log_record_update(log_set *set, const xt_src *src, const log_step *l, xt_tensor epoch, xt_tensor window) {
    log_beginning begins = {lazy_value(epoch), lazy_value(window)};
    ir_builder *b = lazy_begin(src);
    ir_value *state = set->before ? set->before : lazy_value(set->state);
    xt_tensor next = lazy_wrap(state ? log_updated(b, set, l, state, &begins) : NULL, "xt_log");
    if (lazy_is_error(next)) return false;
    lazy_assign(set->state, next);
    return true;
}

static bool record_update(log_set *set, const xt_src *src, const log_step *l, xt_tensor epoch) {
    xt_tensor window = lazy_scalar_from(src, XT_F32, window_of, set);
    lazy_begin(src);
    if (!set->before) set->before = lazy_value(set->state);
    return log_record_update(set, src, l, epoch, window);
}

/* --- steps that log only some of the names (lazy_optional_owner) --- */
static size_t count_options(void *user) {
    return ((const log_set *)user)->n_recorded;
}

static void list_options(void *user, lazy_optional *out) {
    const log_set *set = user;
    for (size_t i = 0; i < set->n_recorded; i++) {
        const log_pending *p = &set->pending[i];
        const log_metric *m = &set->metrics[p->metric];
        out[i] = (lazy_optional){.id = (uint64_t)p->metric + 1,
                                 .kind = (uint64_t)m->kind.count << 8 | (uint64_t)p->weigh << 1 | p->is_number,
                                 .what = "xt_log",
                                 .src = m->src};
        out[i].number = p->weigh == LOG_WEIGH_CONSTANT ? p->weight_value : 0;
        if (!p->is_number) out[i].values[0] = lazy_value(p->value);
        if (p->weigh == LOG_WEIGH_TENSOR) out[i].values[1] = lazy_value(p->weight);
    }
}

/* Records the update with all of them, in the order given; those that are off change nothing. */
static bool record_options(void *user, const lazy_optional *all, size_t n) {
    log_set *set = user;
    log_pending *list = base_calloc(n + 1, sizeof *list);
    const log_pending **of = base_calloc(set->n + 1, sizeof *of); /* by metric: what the step has of it */
    if (!list || !of) {
        base_free(list);
        base_free(of);
        return false;
    }
    for (size_t i = 0; i < set->n_recorded; i++) of[set->pending[i].metric] = &set->pending[i];
    const xt_src *src = src_get(all[0].src);
    xt_no_grad_begin();
    lazy_path_push("log");
    xt_tensor epoch = set->n_recorded ? lazy_scalar_from(src, XT_F32, epoch_again, set) : data(src, &off);
    for (size_t i = 0; i < n; i++) {
        const log_pending *p = all[i].on ? of[all[i].id - 1] : NULL;
        if (p)
            list[i] = *p;
        else
            list[i] = (log_pending){.metric = (int)(all[i].id - 1),
                                    .weight_value = all[i].number,
                                    .is_number = all[i].kind & 1,
                                    .weigh = (log_weigh)(all[i].kind >> 1 & 3)};
        list[i].on = data(src, p ? &on : &off);
        enter_numbers(src, set, &list[i]);
        lazy_begin(src);
        if (!p && all[i].values[0]) list[i].value = lazy_wrap(all[i].values[0], "xt_log");
        if (!p && all[i].values[1]) list[i].weight = lazy_wrap(all[i].values[1], "xt_log");
    }
    bool ok = record_update(set, src, &(log_step){.list = list, .n = n, .switched = true}, epoch);
    lazy_path_pop();
    xt_no_grad_end_at(NULL);
    base_free(list);
    base_free(of);
    return ok;
}

static xt_tensor state_of_options(void *user) {
    return ((const log_set *)user)->state;
}

static void forget_recorded(void *user) {
    log_set *set = user;
    for (size_t i = 0; i < set->n_recorded; i++) log_pending_drop(&set->pending[i]);
    set->n_recorded = 0;
    set->before = NULL;
}

/* The update with the first n of what is pending. */
static void record_pending(log_set *set, const xt_src *src, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const xt_src *line = src_get(set->metrics[set->pending[i].metric].src);
        lazy_note_requester(line, "xt_log");
        if (lazy_tracing()) set->metrics[set->pending[i].metric].within_call = true;
        enter_numbers(line, set, &set->pending[i]);
    }
    xt_no_grad_begin();
    lazy_path_push("log");
    xt_tensor epoch = lazy_scalar_from(src, XT_F32, epoch_of, set);
    record_update(set, src, &(log_step){.list = set->pending, .n = n}, epoch);
    lazy_path_pop();
    xt_no_grad_end_at(NULL);
}

size_t log_pending_merge(log_set *set, size_t n) {
    size_t kept = 0;
    set->listing++; /* entered as they are kept */
    for (size_t i = 0; i < n; i++) {
        log_pending p = set->pending[i];
        log_metric *m = &set->metrics[p.metric];
        if (m->listed == set->listing) {
            log_again(src_get(m->src), m, &set->pending[m->first_pending], &p);
            continue;
        }
        m->listed = set->listing;
        m->first_pending = kept;
        set->pending[kept++] = p;
    }
    memmove(set->pending + kept, set->pending + n, (set->n_pending - n) * sizeof *set->pending);
    set->n_pending -= n - kept;
    log_pending_index(set);
    return kept;
}

void log_record_round(log_set *set, size_t n) {
    const xt_src *src = src_get(set->metrics[set->pending[0].metric].src);
    size_t made = lazy_tensors_made();
    n = log_pending_merge(set, n);
    if (log_behind_meets(set)) log_behind_record(set);
    if (!lazy_pending() && make_room(set, src)) {
        lazy_optional_apart();
        record_pending(set, src, n);
        recorded_pending(set, n);
        set->within = true;
    }
    for (size_t i = 0; i < n; i++) log_pending_drop(&set->pending[i]);
    memmove(set->pending, set->pending + n, (set->n_pending - n) * sizeof *set->pending);
    set->n_pending -= n;
    log_pending_index(set);
    set->before = NULL;
    lazy_tensors_drop(made);
}

void log_record_step(log_engine *e) {
    e->asked = 0;
    for (int s = 0; s < LOG_STAGE_COUNT; s++) {
        log_set *set = &e->sets[s];
        bool behind = e->manual || set->behind_due || log_behind_meets(set);
        if (behind && set->n_behind) {
            log_behind_record(set);
            set->behind_recorded = !set->n_behind;
        }
        if (set->n_pending == 0 || set->holds) continue;
        const xt_src *src = src_get(set->metrics[set->pending[0].metric].src);
        if (lazy_pending() || !make_room(set, src)) {
            log_forget_step((log_stage)s);
            continue;
        }
        log_pending_merge(set, set->n_pending);
        xt_status begun = lazy_optional_begin(&(lazy_optional_owner){count_options, list_options, record_options,
                                                                     state_of_options, forget_recorded, set});
        if (begun) {
            lazy_fail(status_at(begun, src));
            log_forget_step((log_stage)s);
            continue;
        }
        record_pending(set, src, set->n_pending);
        set->n_recorded = set->n_pending;
        set->n_pending = 0;
        log_pending_index(set);
        recorded_pending(set, set->n_recorded);
        lazy_on_replay(&(lazy_replay){.valid = same_stage, .before = recorded, .user = set});
    }
}
