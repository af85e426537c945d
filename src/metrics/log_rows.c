/* The writing side: a row's packed state arrives on the reader thread, goes to the logger thread, is combined over ranks if asked, and is handed to
 * the sinks in order. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/blackbox.h"
#include "coll/coll.h"
#include "lazy/mesh.h"
#include "metrics/log_int.h"

typedef struct row_metric {
    char *name;
    xt_reduce reduce;
    bool on_level, sync, prog_bar; /* on_level: belongs to this row */
    int64_t at, count; /* its rows of the state */
    xt_metric_finish finish;
    double arg;
} row_metric;
typedef struct log_job {
    log_row row;
    row_metric *metrics; /* NULL: a host row, whose values are ready */
    size_t n;
    bool all_meet; /* of a trainer with several ranks: each of them has this row */
    int64_t window, seen; /* a row of step values: windows begun so far, and how many of them the row before has seen */
    float *data; /* [rows, LOG_COLUMNS] */
    log_value *values;
    void (*work)(void *user); /* instead of a row */
    void *work_user;
    int64_t number; /* of the row, from 1 */
    bool lost;      /* its values never came */
    struct log_job *next;
} job;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    job *head;
    int under_way; /* asked for, not written */
    int64_t issued, served; /* rows: ranks meet at each, so all write them in the order they were asked for, whichever values come first */
    bool running;
    log_sink sinks[16];
    size_t n_sinks;
    map *latest, *sums; /* by name: values; sums of metrics that have some */
    coll_group *group;
    bool group_failed, sync_failed;
    atomic_bool warned; /* of a loss that is not finite */
    xt_status failure; /* of the ranks' agreement, for the thread that trains */
} lg = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void job_free(job *j) {
    if (!j) return;
    for (size_t i = 0; j->metrics && i < j->n; i++) base_free(j->metrics[i].name);
    base_free(j->metrics);
    base_free(j->data);
    base_free(j->values);
    base_free(j);
}

/* --- over ranks ------------------------------------------------------------------------------------------------------------------------------- */
static xt_status open_group(void) {
    const world *w = world_get();
    char *name = NULL;
    const char *run = env_get("XT_RENDEZVOUS");
    if (!run) return status_new(XT_FAILED_PRECONDITION, NULL, "the ranks have no rendezvous");
    XT_TRY(coll_derive_name(run, "log", &name));
    xt_status s = coll_open(name, w->rank, w->size, 300, &lg.group);
    base_free(name);
    return s;
}

static uint64_t names_hash(const job *j) {
    hash128 h = {1, 2};
    for (size_t i = 0; i < j->n; i++)
        if (j->metrics[i].sync) {
            h = hash_bytes(j->metrics[i].name, strlen(j->metrics[i].name) + 1, h);
            h = hash_bytes(&j->metrics[i].count, sizeof j->metrics[i].count, h);
        }
    return h.lo;
}

/* What each rank has in its row, as text that fits a message; where the names differ, all ranks tell the same. */
enum { NAMES_BYTES = 480 };
typedef struct rank_names {
    uint64_t hash;
    char text[NAMES_BYTES];
} rank_names;

static xt_status same_names(const job *j) {
    int size = world_get()->size, other = 0;
    rank_names mine = {.hash = names_hash(j)}, *all = base_calloc((size_t)size, sizeof *all);
    if (!all) return status_oom((size_t)size * sizeof *all, "a log row");
    size_t at = 0;
    for (size_t i = 0; i < j->n && at < sizeof mine.text; i++)
        if (j->metrics[i].sync) at += (size_t)snprintf(mine.text + at, sizeof mine.text - at, "%s%s", at ? ", " : "", j->metrics[i].name);
    xt_status s = coll_all_gather(lg.group, &mine, sizeof mine, all);
    for (int r = 1; !s && r < size && !other; r++)
        if (all[r].hash != all[0].hash) other = r;
    if (!s && other)
        s = status_new(XT_FAILED_PRECONDITION, NULL, "ranks logged different names with sync_dist, at step %lld: rank 0 logged %s; rank %d logged %s. All ranks must log the same names", (long long)j->row.step,
                       *all[0].text ? all[0].text : "none", other, *all[other].text ? all[other].text : "none");
    base_free(all);
    return s;
}

/* In a trainer's fit all ranks come to each row, whatever they logged, so that a rank without a name is found, not waited for. */
static xt_status meet(const job *j) {
    if (!lg.group && !lg.group_failed) {
        xt_status s = open_group();
        if (s) {
            lg.group_failed = true;
            return s;
        }
    }
    return lg.group ? same_names(j) : NULL;
}

/* Adds up sums and weights and takes the least and the most over the ranks, for the metrics that ask: three small reductions of one row. */
static xt_status combine(job *j) {
    XT_TRY(meet(j));
    size_t n = 0, k = 0;
    for (size_t i = 0; i < j->n; i++) n += j->metrics[i].sync ? (size_t)j->metrics[i].count : 0;
    if (!n || !lg.group) return NULL;
    float *sum = base_calloc(n * 6 + 1, sizeof *sum), *lo = sum + n * 4, *hi = lo + n;
    if (!sum) return status_oom(n * 24, "a log row");
    for (size_t i = 0; i < j->n; i++)
        for (int64_t r = 0; j->metrics[i].sync && r < j->metrics[i].count; r++) {
            const float *c = j->data + (j->metrics[i].at + r) * LOG_COLUMNS;
            float part[4] = {c[LOG_EPOCH_SUM], c[LOG_EPOCH_WEIGHT], c[LOG_WINDOW_SUM], c[LOG_WINDOW_WEIGHT]};
            memcpy(sum + 4 * k, part, sizeof part);
            lo[k] = c[LOG_LEAST];
            hi[k++] = c[LOG_MOST];
        }
    xt_status s = coll_all_reduce(lg.group, COLL_SUM, XT_F32, sum, n * 4);
    if (!s) s = coll_all_reduce(lg.group, COLL_MIN, XT_F32, lo, n);
    if (!s) s = coll_all_reduce(lg.group, COLL_MAX, XT_F32, hi, n);
    k = 0;
    for (size_t i = 0; !s && i < j->n; i++)
        for (int64_t r = 0; j->metrics[i].sync && r < j->metrics[i].count; r++) {
            float *c = j->data + (j->metrics[i].at + r) * LOG_COLUMNS;
            c[LOG_EPOCH_SUM] = sum[4 * k];
            c[LOG_EPOCH_WEIGHT] = sum[4 * k + 1];
            c[LOG_WINDOW_SUM] = sum[4 * k + 2];
            c[LOG_WINDOW_WEIGHT] = sum[4 * k + 3];
            c[LOG_LEAST] = lo[k];
            c[LOG_MOST] = hi[k++];
        }
    base_free(sum);
    return s;
}

/* A row of step values has what was logged since the row before: the newest window of each name. What is older, that row has shown. */
static void drop_seen(job *j) {
    for (size_t i = 0; i < j->n; i++)
        for (int64_t r = j->metrics[i].at; r < j->metrics[i].at + j->metrics[i].count; r++) {
            float *c = j->data + r * LOG_COLUMNS;
            double age = log_stamp(j->window) - (double)c[LOG_STAMP];
            if (age < 0) age += LOG_STAMPS;
            if (c[LOG_STAMP] > 0 && age < (double)(j->window - j->seen)) continue;
            c[LOG_WINDOW_SUM] = c[LOG_WINDOW_WEIGHT] = 0;
        }
}

/* --- the logger thread --------------------------------------------------------------------------------------------------------------------------- */
static double value_of(const row_metric *m, const float *c, bool epoch_level) {
    double sum = c[epoch_level ? LOG_EPOCH_SUM : LOG_WINDOW_SUM], weight = c[epoch_level ? LOG_EPOCH_WEIGHT : LOG_WINDOW_WEIGHT];
    switch (m->reduce) {
    case XT_SUM: return weight > 0 ? sum : NAN;
    case XT_MIN: return epoch_level ? c[LOG_LEAST] : sum / weight;
    case XT_MAX: return epoch_level ? c[LOG_MOST] : sum / weight;
    case XT_LAST: return c[LOG_WINDOW_SUM] / c[LOG_WINDOW_WEIGHT];
    default: return sum / weight;
    }
}

static void remember_sums(const char *name, double *sums, size_t n);

/* A metric that is a function of its sums; the sums are remembered under its name. */
static double finished(const row_metric *m, const float *c, bool epoch_level) {
    double *sums = base_malloc((size_t)m->count * sizeof *sums);
    if (!sums) return NAN;
    for (int64_t r = 0; r < m->count; r++) sums[r] = c[r * LOG_COLUMNS + (epoch_level ? LOG_EPOCH_SUM : LOG_WINDOW_SUM)];
    double v = m->finish(sums, m->count, m->arg);
    remember_sums(m->name, sums, (size_t)m->count);
    return v;
}

static void fill_values(job *j) {
    size_t k = 0;
    for (size_t i = 0; i < j->n; i++) {
        const float *c = j->data + j->metrics[i].at * LOG_COLUMNS;
        if (!j->metrics[i].on_level || !(c[j->row.epoch_level ? LOG_EPOCH_WEIGHT : LOG_WINDOW_WEIGHT] > 0)) continue; /* not logged since the epoch, or in this window */
        j->values[k++] = (log_value){j->metrics[i].name, NAN, j->metrics[i].prog_bar};
        j->values[k - 1].value = (j->metrics[i].finish ? finished : value_of)(&j->metrics[i], c, j->row.epoch_level);
    }
    j->row.n = k;
    j->row.values = j->values;
}

typedef struct sums {
    size_t n;
    double v[];
} sums;

/* Takes v over. */
static void remember_sums(const char *name, double *v, size_t n) {
    sums *s = base_malloc(sizeof *s + n * sizeof *v), *old = NULL;
    if (s) {
        s->n = n;
        memcpy(s->v, v, n * sizeof *v);
    }
    base_free(v);
    pthread_mutex_lock(&lg.lock);
    if (!lg.sums) lg.sums = map_new();
    if (s && lg.sums && map_put(lg.sums, name, strlen(name), s, (void **)&old)) s = old;
    pthread_mutex_unlock(&lg.lock);
    base_free(s);
}

size_t log_sums(const char *name, double *out, size_t n) {
    pthread_mutex_lock(&lg.lock);
    const sums *s = lg.sums && name ? map_get(lg.sums, name, strlen(name)) : NULL;
    size_t all = s ? s->n : 0;
    if (s) memcpy(out, s->v, (all < n ? all : n) * sizeof *out);
    pthread_mutex_unlock(&lg.lock);
    return all;
}

int64_t xt_logged_sums(const char *name, double *out, int64_t n) {
    log_drain();
    return (int64_t)log_sums(name, out, n > 0 ? (size_t)n : 0);
}

static void remember(const log_row *row) {
    pthread_mutex_lock(&lg.lock);
    if (!lg.latest) lg.latest = map_new();
    for (size_t i = 0; lg.latest && i < row->n; i++) {
        double *v = map_get(lg.latest, row->values[i].name, strlen(row->values[i].name));
        if (!v && (v = base_malloc(sizeof *v)) && !map_put(lg.latest, row->values[i].name, strlen(row->values[i].name), v, NULL)) {
            base_free(v);
            v = NULL;
        }
        if (v) *v = row->values[i].value;
        blackbox_value(row->values[i].name, row->values[i].value);
    }
    pthread_mutex_unlock(&lg.lock);
}

/* The value is here anyway, and a run that trains on nothing but NaN must not end without a word. */
void log_loss_seen(const char *name, double v, int64_t step) {
    if (isfinite(v) || !strstr(name, "loss") || atomic_exchange(&lg.warned, true)) return;
    log_msg(XT_SEV_WARNING, "%s is %s at step %lld, the first row that has it so, and the training goes on: detect_anomaly (XT_DEBUG=nan) stops at the op that makes it and names its line; "
            "a label outside the classes (--detect_anomaly on names it), a too large learning rate, gradients without gradient_clip_val or "
            "input data that is not finite are the usual causes; xt_early_stopping(.monitor = \"%s\") ends such a run", name, isnan(v) ? "NaN" : v > 0 ? "Inf" : "-Inf", (long long)step, name);
}

void log_loss_watch(void) {
    atomic_store(&lg.warned, false);
}

static void write_row(job *j) {
    if (j->data && !j->row.epoch_level) drop_seen(j);
    if (j->metrics) {
        bool sync = j->all_meet;
        for (size_t i = 0; i < j->n; i++) sync = sync || j->metrics[i].sync;
        if (sync && world_get()->size > 1 && !lazy_spmd() && !lg.sync_failed) { /* with a mesh, values are those of the whole batch */
            xt_status s = !j->all_meet || env_get("XT_RENDEZVOUS") ? combine(j) : NULL;
            if (s) {
                lg.sync_failed = true;
                if (j->all_meet) { /* the fit ends with it */
                    pthread_mutex_lock(&lg.lock);
                    lg.failure = s;
                    pthread_mutex_unlock(&lg.lock);
                } else {
                    log_msg(XT_SEV_ERROR, "logging with sync_dist: %s; from here on each rank's own values are written", xt_status_message(s));
                    xt_status_free(s);
                }
            }
        }
        fill_values(j);
    }
    if (j->row.n == 0) return;
    remember(&j->row);
    if (world_get()->rank != 0) return;
    counter_add(COUNTER_log_rows, 1);
    for (size_t i = 0; j->metrics && i < j->row.n; i++)
        if (j->row.stage == LOG_TRAIN) log_loss_seen(j->row.values[i].name, j->row.values[i].value, j->row.step);
    pthread_mutex_lock(&lg.lock);
    log_sink sinks[16];
    size_t n = lg.n_sinks;
    memcpy(sinks, lg.sinks, n * sizeof *sinks);
    pthread_mutex_unlock(&lg.lock);
    for (size_t i = 0; i < n; i++) sinks[i].row(sinks[i].user, &j->row);
}

static void *serve(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lg.lock);
    for (;;) {
        while (!lg.head || (lg.head->number && lg.head->number != lg.served + 1)) pthread_cond_wait(&lg.changed, &lg.lock);
        job *j = lg.head;
        if (j->number) lg.served = j->number;
        lg.head = j->next;
        pthread_mutex_unlock(&lg.lock);
        if (j->work)
            j->work(j->work_user);
        else if (!j->lost)
            write_row(j);
        job_free(j);
        pthread_mutex_lock(&lg.lock);
        lg.under_way--;
        pthread_cond_broadcast(&lg.changed);
    }
    return NULL;
}

static void enqueue(job *j) {
    pthread_mutex_lock(&lg.lock);
    pthread_t t;
    if (!lg.running && pthread_create(&t, NULL, serve, NULL) == 0) {
        pthread_detach(t);
        lg.running = true;
    }
    if (lg.running) {
        job **at = &lg.head;
        while (*at && !(j->number && (*at)->number > j->number)) at = &(*at)->next;
        j->next = *at;
        *at = j;
    } else {
        lg.under_way--;
        if (j->number) lg.served = j->number;
        job_free(j);
    }
    pthread_cond_broadcast(&lg.changed);
    pthread_mutex_unlock(&lg.lock);
}

void log_work_begin(void) {
    pthread_mutex_lock(&lg.lock);
    lg.under_way++;
    pthread_mutex_unlock(&lg.lock);
}

void log_work_lost(void) {
    pthread_mutex_lock(&lg.lock);
    lg.under_way--;
    pthread_cond_broadcast(&lg.changed);
    pthread_mutex_unlock(&lg.lock);
}

void log_work_queue(void (*fn)(void *user), void *user) {
    job *j = base_calloc(1, sizeof *j);
    if (!j) { /* no memory for a note about it: done here */
        fn(user);
        log_work_lost();
        return;
    }
    j->work = fn;
    j->work_user = user;
    enqueue(j);
}

void log_give_artifact(const log_artifact *a) {
    if (world_get()->rank != 0) return;
    pthread_mutex_lock(&lg.lock);
    log_sink sinks[16];
    size_t n = lg.n_sinks;
    memcpy(sinks, lg.sinks, n * sizeof *sinks);
    pthread_mutex_unlock(&lg.lock);
    for (size_t i = 0; i < n; i++)
        if (sinks[i].artifact) sinks[i].artifact(sinks[i].user, a);
}

static void dropped(void *user) {
    job *j = user;
    j->lost = true;
    enqueue(j);
}

static void arrived(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    job *j = user;
    (void)dtype;
    j->data = base_malloc(bytes);
    if (!j->data || bytes < (size_t)(j->metrics[j->n - 1].at + j->metrics[j->n - 1].count) * LOG_COLUMNS * sizeof(float)) {
        dropped(j);
        return;
    }
    memcpy(j->data, data, bytes);
    enqueue(j);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void begin_row(job *j, log_stage s, bool epoch_level, int64_t step) {
    const lazy_position *p = lazy_position_of_thread();
    j->row = (log_row){.stage = s,
                       .epoch_level = epoch_level,
                       .step = step,
                       .epoch = p->epoch,
                       .batch = p->batch,
                       .samples = p->samples * world_get()->size,
                       .wall = now()};
    log_work_begin();
    pthread_mutex_lock(&lg.lock);
    j->number = ++lg.issued;
    pthread_mutex_unlock(&lg.lock);
}

static _Atomic(int64_t) epoch_rows[LOG_STAGE_COUNT];

int64_t log_epoch_rows(log_stage s) {
    return atomic_load(&epoch_rows[s]);
}

/* What the ranks' logger threads could not agree on becomes the error of the thread that trains. */
static void take_failure(void) {
    pthread_mutex_lock(&lg.lock);
    xt_status s = lg.failure;
    lg.failure = NULL;
    pthread_mutex_unlock(&lg.lock);
    if (s) lazy_fail(status_context(s, "logging"));
}

/* A row without values: this rank has none, but the others may. */
static void emit_nothing(log_stage s, bool epoch_level, int64_t step) {
    job *j = base_calloc(1, sizeof *j);
    if (j) j->metrics = base_calloc(1, sizeof *j->metrics);
    if (!j || !j->metrics) {
        job_free(j);
        return;
    }
    j->all_meet = true;
    begin_row(j, s, epoch_level, step);
    enqueue(j);
}

/* Room for n metrics; NULL without memory. */
static job *job_of(size_t n, bool all_meet) {
    job *j = base_calloc(1, sizeof *j);
    if (!j) return NULL;
    j->all_meet = all_meet;
    j->metrics = base_calloc(n + 1, sizeof *j->metrics);
    j->values = base_calloc(n + 1, sizeof *j->values);
    if (j->metrics && j->values) return j;
    job_free(j);
    return NULL;
}

/* The next metric of the row, under the name it has in rows of this level. Without memory the job is freed. */
static bool name_metric(job *j, const log_metric *m, int loader_plus_1, bool epoch_level) {
    bool both = m->o.on_step == XT_ON && m->o.on_epoch == XT_ON;
    char name[512], loader[40] = "";
    if (loader_plus_1) snprintf(loader, sizeof loader, "/dataloader_idx_%d", loader_plus_1 - 1);
    snprintf(name, sizeof name, "%s%s%s", m->name, both ? (epoch_level ? "_epoch" : "_step") : "", loader);
    row_metric r = {.name = base_strdup(name),
                    .reduce = m->o.reduce,
                    .on_level = (epoch_level ? m->o.on_epoch : m->o.on_step) == XT_ON,
                    .sync = m->o.sync_dist == XT_ON,
                    .prog_bar = m->o.prog_bar == XT_ON,
                    .at = m->at,
                    .count = m->count,
                    .finish = m->finish,
                    .arg = m->arg};
    if (!r.name) {
        job_free(j);
        return false;
    }
    j->metrics[j->n++] = r;
    return true;
}

bool log_ranks_meet(const log_engine *e) {
    return world_get()->size > 1 && e && e->manual && !lazy_spmd();
}

void log_emit(log_stage s, bool epoch_level, int64_t step) {
    log_engine *e = log_engine_peek();
    log_set *set = e ? &e->sets[s] : NULL;
    bool all_meet = log_ranks_meet(e), any = false;
    take_failure();
    if (e && e->mute) return;
    if (set && set->n && set->rows && set->fresh)
        for (size_t i = 0; i < set->n; i++) any = any || (epoch_level ? set->metrics[i].o.on_epoch : set->metrics[i].o.on_step) == XT_ON;
    if (!any && all_meet) emit_nothing(s, epoch_level, step);
    if (!any) return;
    job *j = job_of(set->n, all_meet);
    for (size_t i = 0; j && i < set->n; i++)
        if (!name_metric(j, &set->metrics[i], e->loader_plus_1, epoch_level)) j = NULL;
    if (!j) return;
    begin_row(j, s, epoch_level, step);
    if (epoch_level) {
        set->fresh = false;
        atomic_fetch_add(&epoch_rows[s], 1);
    } else {
        j->window = set->window;
        j->seen = set->row_window;
        set->row_window = set->window;
    }
    lazy_state_when_ready(set->state, arrived, dropped, j);
}

/* --- rows of values given by the host ---------------------------------------------------------------------------------------------------------- */
void log_nothing_row(log_stage s, int64_t step) {
    emit_nothing(s, true, step);
}

job *log_given_row(const log_engine *e, log_stage s, int64_t step, const log_given *given, size_t n) {
    int64_t rows = 0;
    job *j = job_of(n, log_ranks_meet(e));
    for (size_t i = 0; j && i < n; i++) {
        rows += given[i].metric.count;
        if (!name_metric(j, &given[i].metric, 0, true)) return NULL;
    }
    if (j && !(j->data = base_calloc((size_t)rows * LOG_COLUMNS, sizeof *j->data))) {
        job_free(j);
        return NULL;
    }
    if (j) begin_row(j, s, true, step);
    return j;
}

void log_given_fill(job *j, size_t i, const float *values, float weight) {
    for (int64_t r = 0; r < j->metrics[i].count; r++) {
        float *c = j->data + (j->metrics[i].at + r) * LOG_COLUMNS;
        c[LOG_EPOCH_SUM] = c[LOG_WINDOW_SUM] = values[r] * weight;
        c[LOG_EPOCH_WEIGHT] = c[LOG_WINDOW_WEIGHT] = weight;
        c[LOG_LEAST] = c[LOG_MOST] = values[r];
    }
}

void log_given_send(job *j) {
    enqueue(j);
}

void log_given_lost(job *j) {
    dropped(j);
}

void log_host_row(log_stage s, int64_t step, size_t n, const log_value *values) {
    job *j = base_calloc(1, sizeof *j);
    if (j) j->values = base_calloc(n + 1, sizeof *j->values);
    if (!j || !j->values) {
        job_free(j);
        return;
    }
    for (size_t i = 0; i < n; i++) j->values[i] = (log_value){intern_text(intern(values[i].name)), values[i].value, values[i].prog_bar};
    begin_row(j, s, false, step);
    j->row.n = n;
    j->row.values = j->values;
    enqueue(j);
}

/* --- sinks ----------------------------------------------------------------------------------------------------------------------------------------- */
static void (*default_sinks)(void);
static atomic_bool defaults_opened;

void log_set_default_sinks(void (*open)(void)) {
    default_sinks = open;
}

void log_drain(void) {
    pthread_mutex_lock(&lg.lock);
    while (lg.under_way > 0) pthread_cond_wait(&lg.changed, &lg.lock);
    pthread_mutex_unlock(&lg.lock);
    if (log_engine_peek()) take_failure();
}

void log_add_sink(const log_sink *s) {
    pthread_mutex_lock(&lg.lock);
    if (lg.n_sinks < BASE_COUNT(lg.sinks)) lg.sinks[lg.n_sinks++] = *s;
    pthread_mutex_unlock(&lg.lock);
}

bool log_has_sinks(void) {
    return lg.n_sinks > 0;
}

void log_remove_sink(const log_sink *s) {
    log_drain();
    bool found = false;
    pthread_mutex_lock(&lg.lock);
    for (size_t i = 0; i < lg.n_sinks && !found; i++)
        if (lg.sinks[i].row == s->row && lg.sinks[i].user == s->user) {
            memmove(&lg.sinks[i], &lg.sinks[i + 1], (lg.n_sinks - i - 1) * sizeof *lg.sinks);
            lg.n_sinks--;
            found = true;
        }
    pthread_mutex_unlock(&lg.lock);
    if (found && s->close) s->close(s->user);
}

void log_close(void) {
    log_drain();
    atomic_store(&defaults_opened, false);
    log_loss_watch();
    while (lg.n_sinks) {
        log_sink s = lg.sinks[lg.n_sinks - 1];
        log_remove_sink(&s);
    }
    pthread_mutex_lock(&lg.lock);
    map_free(lg.latest, base_free);
    map_free(lg.sums, base_free);
    lg.latest = lg.sums = NULL;
    xt_status_free(lg.failure);
    lg.failure = NULL;
    lg.sync_failed = false;
    coll_close(lg.group);
    lg.group = NULL;
    pthread_mutex_unlock(&lg.lock);
}

bool log_find(const char *name, double *out) {
    pthread_mutex_lock(&lg.lock);
    const double *v = lg.latest && name ? map_get(lg.latest, name, strlen(name)) : NULL;
    if (v) *out = *v;
    pthread_mutex_unlock(&lg.lock);
    if (v || !lazy_rehearsing()) return v != NULL;
    *out = NAN; /* a rehearsal's values are zeros, of which some metrics have no value: no reason to stop it */
    return true;
}

double log_latest(const char *name) {
    double v;
    return log_find(name, &v) ? v : NAN;
}

/* --- boundaries -------------------------------------------------------------------------------------------------------------------------------------- */
static void before(void *user, lazy_cause cause) {
    (void)user;
    (void)cause;
    log_engine *e = log_engine_peek();
    if (e) log_record_step(e);
}

/* Plain loops: every optimizer step is a window, and every n-th sends a row. */
static void after(void *user, lazy_cause cause, int64_t step, bool ok) {
    (void)user;
    (void)cause;
    (void)step;
    log_engine *e = log_engine_peek();
    if (!e || e->manual || !ok) return;
    int64_t steps = counter_get(COUNTER_optimizer_steps);
    if (steps == e->seen_steps) return;
    e->seen_steps = steps;
    e->sets[LOG_TRAIN].window_begins = true;
    if (steps % e->every != 0) return;
    if (e->sets[LOG_TRAIN].n && !log_has_sinks() && default_sinks && !atomic_exchange(&defaults_opened, true)) default_sinks();
    log_emit(LOG_TRAIN, false, steps);
}

static void finish(void *user) {
    (void)user;
    log_close();
}

void log_observe_boundaries(void) {
    static atomic_bool done;
    lazy_at_finish(finish, NULL);
    if (!atomic_exchange(&done, true)) lazy_observe(&(lazy_observer){.before = before, .after = after});
}
