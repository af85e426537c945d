/* Rows, on the thread that trains: when one is due, which metrics it has, and who is asked for their values; the logger
 * thread writes it (log_queue.c). */
#include <stdatomic.h>
#include <time.h>

#include "metrics/log_job.h"

static void arrived(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    log_job *j = user;
    (void)dtype;
    j->data = base_malloc(bytes);
    if (!j->data ||
        bytes < (size_t)(j->metrics[j->n - 1].at + j->metrics[j->n - 1].kind.count) * LOG_COLUMNS * sizeof(float)) {
        log_job_lost(j);
        return;
    }
    memcpy(j->data, data, bytes);
    log_job_queue(j);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void begin_row(log_job *j, log_stage s, bool epoch_level, const log_moment *at) {
    const log_engine *e = log_engine_peek();
    bool joins = e && e->joins;
    j->row =
        (log_row){.stage = s,
                  .epoch_level = epoch_level,
                  .step = joins ? e->loop.step : at->step,
                  .epoch = joins ? e->loop.epoch : at->epoch,
                  .batch = at->batch,
                  .samples = (joins ? e->loop.samples : at->samples) * world_get()->size + (e ? e->samples_rest : 0),
                  .wall = now(),
                  .owner = log_owner(),
                  .of = log_engine_number(e)};
    j->own_step = at->step; /* rank 0 alone has files, and knows whose the row is */
    log_job_number(j);
    log_ranks_made(j);
}

/* Where a trainer's thread is. */
static log_moment moment_now(int64_t step) {
    const lazy_position *p = lazy_position_of_thread();
    return (log_moment){step, p->epoch, p->batch, p->samples};
}

static _Atomic(int64_t) epoch_rows[LOG_STAGE_COUNT];

int64_t log_epoch_rows(log_stage s) {
    return atomic_load(&epoch_rows[s]);
}

/* A row without values: this rank has none, but the others may. */
static void emit_nothing(log_stage s, bool epoch_level, const log_moment *at) {
    log_job *j = base_calloc(1, sizeof *j);
    if (j) j->metrics = base_calloc(1, sizeof *j->metrics);
    if (!j || !j->metrics) {
        log_job_free(j);
        return;
    }
    j->all_meet = true;
    begin_row(j, s, epoch_level, at);
    log_job_queue(j);
}

/* Room for n metrics; NULL without memory. */
static log_job *job_of(size_t n, bool all_meet) {
    log_job *j = base_calloc(1, sizeof *j);
    if (!j) return NULL;
    j->all_meet = all_meet;
    j->metrics = base_calloc(n + 1, sizeof *j->metrics);
    j->values = base_calloc(n + 1, sizeof *j->values);
    if (j->metrics && j->values) return j;
    log_job_free(j);
    return NULL;
}

/* The next metric of the row, under the name it has in rows of this level. Without memory the job is freed. */
static bool name_metric(log_job *j, const log_metric *m, int loader_plus_1, bool epoch_level) {
    char name[LOG_COLUMN_BYTES];
    log_column_name(m, loader_plus_1, epoch_level, name);
    row_metric r = {.name = base_strdup(name),
                    .src = m->src,
                    .kind = log_kind_of(m),
                    .on_level = (epoch_level ? m->o.on_epoch : m->o.on_step) == XT_ON,
                    .sync = m->o.sync_dist == XT_ON,
                    .prog_bar = m->o.prog_bar == XT_ON && !(m->own && epoch_level),
                    .at = m->at,
                    .unknown = m->unknown,
                    .restored = m->restored};
    if (!r.name) {
        log_job_free(j);
        return false;
    }
    j->metrics[j->n++] = r;
    return true;
}

/* The stage's row on its way; NULL: it has none. */
static log_set *emit(log_stage s, bool epoch_level, bool aside, const log_moment *at) {
    log_engine *e = log_engine_peek();
    log_set *set = e ? &e->sets[s] : NULL;
    bool all_meet = log_ranks_meet(e), any = false;
    log_ranks_take_failure();
    if (e && e->mute) return NULL;
    if (set && set->n && set->rows && (epoch_level ? set->fresh : set->window > set->row_window))
        for (size_t i = 0; i < set->n; i++)
            any = any || (epoch_level ? set->metrics[i].o.on_epoch : set->metrics[i].o.on_step) == XT_ON;
    if (!any && all_meet) emit_nothing(s, epoch_level, at);
    if (!any) return NULL;
    log_job *j = job_of(set->n, all_meet);
    for (size_t i = 0; j && i < set->n; i++)
        if (!name_metric(j, &set->metrics[i], e->loader_plus_1, epoch_level)) j = NULL;
    if (!j) return NULL;
    begin_row(j, s, epoch_level, at);
    j->row.aside = aside;
    if (!epoch_level) j->window = set->window, j->seen = set->row_window;
    lazy_state_when_ready(set->state, arrived, log_job_lost, j);
    return set;
}

void log_emit_at(log_stage s, bool epoch_level, const log_moment *at) {
    log_set *set = emit(s, epoch_level, false, at);
    if (!set) return;
    if (epoch_level) {
        set->fresh = false;
        atomic_fetch_add(&epoch_rows[s], 1);
    } else
        set->row_window = set->window;
}

void log_emit(log_stage s, bool epoch_level, int64_t step) {
    const log_moment at = moment_now(step);
    log_emit_at(s, epoch_level, &at);
}

void log_emit_out_of_turn(log_stage s, int64_t step, bool aside) {
    const log_moment at = moment_now(step);
    emit(s, false, aside, &at);
}

void log_emit_opened(log_stage s, int64_t step) {
    log_set *set = &log_engine_peek()->sets[s];
    int64_t seen = set->row_window;
    set->row_window = set->window - 1;
    log_emit_out_of_turn(s, step, false);
    set->row_window = seen;
}

/* --- rows of values given by the host --- */
void log_nothing_row(log_stage s, int64_t step) {
    const log_moment at = moment_now(step);
    emit_nothing(s, true, &at);
}

log_job *log_given_row(const log_engine *e, bool epoch_level, int64_t step, const log_given *given, size_t n) {
    int64_t rows = 0;
    log_job *j = job_of(n, log_ranks_meet(e));
    for (size_t i = 0; j && i < n; i++) {
        rows += given[i].metric.kind.count;
        if (!name_metric(j, &given[i].metric, 0, epoch_level)) return NULL;
    }
    if (j && !(j->data = base_calloc((size_t)rows * LOG_COLUMNS, sizeof *j->data))) {
        log_job_free(j);
        return NULL;
    }
    if (!j) return NULL;
    const log_moment at = moment_now(step);
    begin_row(j, e->given_stage, epoch_level, &at);
    j->window = 0, j->seen = -1; /* the window that log_given_fill says is new */
    return j;
}

void log_given_fill(log_job *j, size_t i, const float *values, float weight) {
    for (int64_t r = 0; r < j->metrics[i].kind.count; r++) {
        float *c = j->data + (j->metrics[i].at + r) * LOG_COLUMNS;
        c[LOG_EPOCH_SUM] = c[LOG_WINDOW_SUM] = values[r] * weight;
        c[LOG_EPOCH_WEIGHT] = c[LOG_WINDOW_WEIGHT] = weight;
        c[LOG_LEAST] = c[LOG_MOST] = values[r];
        c[LOG_STAMP] = (float)log_stamp(0);
    }
}

void log_given_send(log_job *j) {
    log_job_queue(j);
}

void log_given_lost(log_job *j) {
    log_job_lost(j);
}

void log_host_row(log_stage s, int64_t step, size_t n, const log_value *values) {
    log_job *j = base_calloc(1, sizeof *j);
    if (j) j->values = base_calloc(n + 1, sizeof *j->values);
    if (!j || !j->values) {
        log_job_free(j);
        return;
    }
    for (size_t i = 0; i < n; i++)
        j->values[i] = (log_value){intern_text(intern(values[i].name)), values[i].value, values[i].prog_bar};
    const log_moment at = moment_now(step);
    begin_row(j, s, false, &at);
    j->row.n = n;
    j->row.values = j->values;
    log_job_queue(j);
}
