/* Rows of several ranks: they meet at each row of a trainer, compare names, and combine what sync_dist asks for; small
 * host collectives of the logger threads. What they do not have alike is an error of the thread that trains, at its
 * next row or at its end: a rank that went on with its own values would write what no other rank has. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "coll/coll.h"
#include "lazy/mesh/mesh.h"
#include "metrics/log_job.h"

static struct {
    pthread_mutex_t lock; /* of `failure`, and of the next two */
    int64_t made, made_at; /* log_job.meeting of the newest row, and lazy_rank_sequence then */
    coll_group *group;
    bool group_failed, sync_failed;
    atomic_bool last; /* log_ranks_last */
    int64_t rows; /* that ranks meet at, this one's; of the logger thread alone */
    xt_status failure; /* of the ranks' agreement, for the thread that trains */
} lr = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- over ranks --- */
static xt_status open_group(void) {
    static int opened; /* of the logger thread alone; all ranks open theirs as often */
    coll_group *run;
    char tag[24];
    XT_TRY(coll_run_group(&run));
    snprintf(tag, sizeof tag, "log%d", opened++);
    return coll_duplicate(run, tag, coll_default_timeout(), &lr.group);
}

/* What the ranks merge of a row, by name: each rank may log in an order of its own. */
static int by_name(const void *a, const void *b) {
    return strcmp((*(row_metric *const *)a)->name, (*(row_metric *const *)b)->name);
}

/* base_free; NULL without memory */
static row_metric **merged_of(const log_job *j, size_t *out_n) {
    row_metric **list = base_calloc(j->n + 1, sizeof *list);
    size_t n = 0;
    for (size_t i = 0; list && i < j->n; i++)
        if (j->metrics[i].sync) list[n++] = &j->metrics[i];
    if (list) qsort(list, n, sizeof *list, by_name);
    *out_n = n;
    return list;
}

static uint64_t names_hash(row_metric *const *list, size_t n) {
    hash128 h = {1, 2};
    for (size_t i = 0; i < n; i++) h = hash_bytes(list[i]->name, strlen(list[i]->name) + 1, h);
    return h.lo;
}

/* What a name stands for, which all ranks must have alike. One that only a checkpoint or an earlier fit has named says
 * it with its next log call. */
typedef struct name_kind {
    int64_t count;
    uint64_t hash; /* 0: not known */
} name_kind;

/* "loss" (train.c:12), and so on; all ranks show it, so it has one size. */
enum { NAMES_BYTES = 960 };
static void names_text(row_metric *const *list, size_t n, char out[static NAMES_BYTES]) {
    char line[256];
    size_t at = 0;
    memset(out, 0, NAMES_BYTES);
    for (size_t i = 0; i < n && at < NAMES_BYTES; i++)
        at += (size_t)snprintf(out + at, NAMES_BYTES - at, "%s\"%s\" (%s)", at ? ", " : "", list[i]->name,
                               src_text(list[i]->src, line, sizeof line));
}

static name_kind kind_of(const row_metric *m) {
    char text[LOG_KIND_BYTES];
    hash128 h = {5, 6};
    if (m->restored || m->unknown) return (name_kind){.count = m->kind.count};
    log_kind_text(&m->kind, text);
    h = hash_bytes(text, strlen(text), h);
    return (name_kind){.count = m->kind.count, .hash = h.lo | 1};
}

static bool other_kind(name_kind a, name_kind b) {
    return a.count != b.count || (a.hash && b.hash && a.hash != b.hash);
}

static uint64_t kinds_hash(row_metric *const *list, size_t n) {
    hash128 h = {3, 4};
    for (size_t i = 0; i < n; i++) {
        name_kind one = kind_of(list[i]);
        h = hash_bytes(&one, sizeof one, h);
    }
    return h.lo;
}

/* What each rank has in its row and where it logs it, as text that fits a message; where the names differ, all ranks
 * tell the same. */
typedef struct rank_names {
    uint64_t hash, kinds;
    int64_t step, epoch_level, stage;
    char text[NAMES_BYTES];
} rank_names;

/* The name is of another kind on rank `other`: all ranks exchange where it is logged, and as what. */
static xt_status differs_at(const row_metric *m, int other) {
    typedef struct logged {
        char at[256], kind[LOG_KIND_BYTES];
    } logged;
    size_t size = (size_t)world_get()->size;
    logged mine, *all = base_calloc(size, sizeof *all);
    if (!all) return status_oom(size * sizeof *all, "a log row");
    memset(&mine, 0, sizeof mine);
    src_text(m->src, mine.at, sizeof mine.at);
    log_kind_text(&m->kind, mine.kind);
    xt_status s = coll_all_gather(lr.group, &mine, sizeof mine, all);
    if (!s)
        s = status_new(XT_FAILED_PRECONDITION, NULL,
                       "\"%s\" with sync_dist is not the same on all ranks: rank 0 logs it at %s as %s, rank %d at %s "
                       "as %s. All ranks must log a name as the same kind of value",
                       m->name, all[0].at, all[0].kind, other, all[other].at, all[other].kind);
    base_free(all);
    return s;
}

/* The names are the same, and some of them are of other kinds, or not known everywhere. */
static xt_status same_kinds(row_metric *const *list, size_t n) {
    int size = world_get()->size;
    name_kind *mine = base_calloc(n + 1, sizeof *mine), *all = base_calloc((size_t)size * (n + 1), sizeof *all);
    xt_status s = mine && all ? NULL : status_oom((size_t)size * n * sizeof *all, "a log row");
    for (size_t i = 0; !s && i < n; i++) mine[i] = kind_of(list[i]);
    if (!s) s = coll_all_gather(lr.group, mine, n * sizeof *mine, all);
    size_t which = n;
    int other = 0;
    for (size_t i = 0; !s && i < n * (size_t)size && which == n; i++)
        if (other_kind(all[i % n], all[i])) which = i % n, other = (int)(i / n);
    base_free(mine);
    base_free(all);
    return s || which == n ? s : differs_at(list[which], other);
}

/* Rows of steps meet those of the same step, and none of an epoch; rows of a stage those of the same one. */
static bool same_row(const rank_names *a, const rank_names *b) {
    return a->step == b->step && a->epoch_level == b->epoch_level && a->stage == b->stage;
}

static xt_status other_row(const rank_names *all, int other) {
    static const char *const stages[LOG_STAGE_COUNT] = {"the training", "a validation", "a test"};
    bool stage = all[0].stage != all[other].stage;
    char at[2][96];
    for (int k = 0; k < 2; k++) {
        const rank_names *of = &all[k ? other : 0];
        int n = of->epoch_level ? snprintf(at[k], sizeof at[k], "that of an epoch")
                                : snprintf(at[k], sizeof at[k], "that of step %lld", (long long)of->step);
        if (stage) snprintf(at[k] + n, sizeof at[k] - (size_t)n, " of %s", stages[of->stage]);
    }
    return status_new(
        XT_FAILED_PRECONDITION, NULL,
        "ranks are at different rows of values with sync_dist: rank 0 at %s (%s), rank %d at %s (%s); all "
        "ranks must make the same number of steps and log in the same of them%s",
        at[0], *all[0].text ? all[0].text : "no names", other, at[1], *all[other].text ? all[other].text : "no names",
        stage ? ", and each must call xt_eval and xt_train where the others do" : "");
}

static xt_status same_names(const log_job *j, row_metric *const *list, size_t n) {
    int size = world_get()->size, other = 0, differs = 0, apart = 0;
    rank_names mine = {.hash = names_hash(list, n),
                       .kinds = kinds_hash(list, n),
                       .step = j->row.epoch_level ? 0 : j->own_step,
                       .epoch_level = j->row.epoch_level,
                       .stage = j->row.stage},
               *all = base_calloc((size_t)size, sizeof *all);
    if (!all) return status_oom((size_t)size * sizeof *all, "a log row");
    names_text(list, n, mine.text);
    xt_status s = coll_all_gather(lr.group, &mine, sizeof mine, all);
    for (int r = 1; !s && r < size; r++) {
        if (!other && all[r].hash != all[0].hash) other = r;
        if (!apart && !same_row(&all[0], &all[r])) apart = r;
        if (!differs && all[r].kinds != all[0].kinds) differs = r;
    }
    if (!s && apart)
        s = other_row(all, apart);
    else if (!s && other)
        s = status_new(XT_FAILED_PRECONDITION, NULL,
                       "ranks logged different names with sync_dist, at step %lld: rank 0 logged %s, rank %d logged "
                       "%s; all ranks must log the same names",
                       (long long)j->row.step, *all[0].text ? all[0].text : "none", other,
                       *all[other].text ? all[other].text : "none");
    else if (!s && differs)
        s = same_kinds(list, n);
    base_free(all);
    return s;
}

/* The number of rows that rank r has come to; -1 after an error, which whoever waits for it meets as well. */
static int64_t rows_of(coll_group *run, int r) {
    char key[32], *text = NULL;
    size_t n = 0;
    snprintf(key, sizeof key, "log rows %d", r);
    xt_status s = coll_get(run, key, strlen(key), 0, &text, &n);
    bool not_yet = s && (status_code(s) == XT_DEADLINE_EXCEEDED || status_code(s) == XT_NOT_FOUND);
    int64_t rows = s ? -!not_yet : strtoll(text, NULL, 10);
    xt_status_free(s);
    base_free(text);
    return rows;
}

static xt_status never_comes(int r, const char *there, const char *here) {
    return status_new(
        XT_FAILED_PRECONDITION, NULL,
        "the ranks make different numbers of steps: rank %d has ended its training (%s) and waits with its "
        "values for rank %d, which goes on (%s) and waits for a step of rank %d; all ranks must make the "
        "same number of steps",
        world_get()->rank, here, r, there, world_get()->rank);
}

/* --- rows of a loop without a trainer, which a rank has or not --- */
void log_ranks_made(log_job *j) {
    bool meets = false;
    char key[32], text[24];
    for (size_t i = 0; i < j->n && j->metrics; i++) meets = meets || j->metrics[i].sync;
    if (!meets || j->all_meet || world_get()->size <= 1 || lazy_spmd()) return;
    int64_t now = lazy_rank_sequence();
    pthread_mutex_lock(&lr.lock);
    j->meeting = ++lr.made;
    lr.made_at = now;
    pthread_mutex_unlock(&lr.lock);
    if (!now) return; /* the ranks have not met yet, and need not come to the same places */
    snprintf(key, sizeof key, "log made %d", world_get()->rank);
    snprintf(text, sizeof text, "%lld", (long long)j->meeting);
    lazy_ranks_note(key, text);
}

/* Where this rank has made a row behind this one, *later, rank r has started the programs of all steps up to there, and
 * the row is none of those that it has made on its way: it never comes. */
static bool went_without(const log_job *j, int r, int64_t *later, char *out_there, size_t n) {
    char key[32], text[24];
    if (!j->meeting) return false;
    pthread_mutex_lock(&lr.lock);
    if (!*later && lr.made > j->meeting) *later = lr.made_at;
    pthread_mutex_unlock(&lr.lock);
    if (!*later || !lazy_rank_is_past(r, *later, out_there, n)) return false;
    snprintf(key, sizeof key, "log made %d", r);
    return !lazy_ranks_look(key, text, sizeof text) || strtoll(text, NULL, 10) < j->meeting;
}

static xt_status has_no_row(const log_job *j, row_metric *const *list, size_t n, int r, const char *there) {
    static const char *const stages[LOG_STAGE_COUNT] = {"", " of a validation", " of a test"};
    char names[NAMES_BYTES];
    names_text(list, n, names);
    return status_new(XT_FAILED_PRECONDITION, NULL,
                      "rank %d logs %s with sync_dist, and rank %d does not: it has gone on (%s) without a row like "
                      "that of step %lld%s; all ranks must log the same names with sync_dist, in the same steps",
                      world_get()->rank, names, r, there, (long long)j->row.step, stages[j->row.stage]);
}

/* Waits until the others come to this row. A rank whose training has ended looks, as long as it waits, whether another
 * is in a step that needs it: those two would wait for each other. */
static xt_status all_come(const log_job *j, row_metric *const *list, size_t n) {
    coll_group *run;
    char key[32], text[24], there[200], here[200];
    int me = world_get()->rank;
    XT_TRY(coll_run_group(&run));
    snprintf(key, sizeof key, "log rows %d", me);
    snprintf(text, sizeof text, "%lld", (long long)++lr.rows);
    XT_TRY(coll_put(run, key, strlen(key), text, strlen(text)));
    int64_t deadline = clock_ns() + (int64_t)(coll_default_timeout() * 1e9), later = 0;
    for (int r = 0; r < world_get()->size; r++)
        for (int64_t rows; r != me && (rows = rows_of(run, r)) < lr.rows;) {
            str gone = STR_INIT;
            coll_run_exits(&gone);
            bool left = gone.len > 0;
            str_free(&gone);
            if (rows < 0 || left || clock_ns() > deadline) return NULL; /* the collective that follows says who */
            if (atomic_load(&lr.last) && lazy_rank_goes_on(r, there, here, sizeof there))
                return never_comes(r, there, here);
            if (went_without(j, r, &later, there, sizeof there)) return has_no_row(j, list, n, r, there);
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
    return NULL;
}

/* In a trainer's fit all ranks come to each row, whatever they logged, so that a rank without a name is found,
 * not waited for. */
static xt_status meet(const log_job *j, row_metric *const *list, size_t n) {
    XT_TRY(all_come(j, list, n));
    if (!lr.group && !lr.group_failed) {
        xt_status s = open_group();
        if (s) {
            lr.group_failed = true;
            return s;
        }
    }
    return lr.group ? same_names(j, list, n) : NULL;
}

/* Adds up sums and weights and takes the least and the most over the ranks, for the metrics that ask: three small
 * reductions of one row. */
static xt_status reduce(const log_job *j, row_metric *const *list, size_t n_list) {
    size_t n = 0, k = 0;
    for (size_t i = 0; i < n_list; i++) n += (size_t)list[i]->kind.count;
    if (!n || !lr.group) return NULL;
    float *sum = base_calloc(n * 6 + 1, sizeof *sum), *lo = sum + n * 4, *hi = lo + n;
    if (!sum) return status_oom(n * 24, "a log row");
    for (size_t i = 0; i < n_list; i++)
        for (int64_t r = 0; r < list[i]->kind.count; r++) {
            const float *c = j->data + (list[i]->at + r) * LOG_COLUMNS;
            float part[4] = {c[LOG_EPOCH_SUM], c[LOG_EPOCH_WEIGHT], c[LOG_WINDOW_SUM], c[LOG_WINDOW_WEIGHT]};
            memcpy(sum + 4 * k, part, sizeof part);
            /* the column that has the window's (log.h) is of the other kind */
            /* what this rank has not logged in the epoch, or since the last row, may still be an earlier one's */
            bool max = list[i]->kind.reduce == XT_MAX, min = list[i]->kind.reduce == XT_MIN;
            bool has_lo = c[max ? LOG_WINDOW_WEIGHT : LOG_EPOCH_WEIGHT] > 0,
                 has_hi = c[min ? LOG_WINDOW_WEIGHT : LOG_EPOCH_WEIGHT] > 0;
            lo[k] = !has_lo ? INFINITY : max ? -c[LOG_LEAST] : c[LOG_LEAST];
            hi[k++] = !has_hi ? -INFINITY : min ? -c[LOG_MOST] : c[LOG_MOST];
        }
    xt_status s = coll_all_reduce(lr.group, COLL_SUM, XT_F32, sum, n * 4);
    if (!s) s = coll_all_reduce(lr.group, COLL_MIN, XT_F32, lo, n);
    if (!s) s = coll_all_reduce(lr.group, COLL_MAX, XT_F32, hi, n);
    k = 0;
    for (size_t i = 0; !s && i < n_list; i++)
        for (int64_t r = 0; r < list[i]->kind.count; r++) {
            float *c = j->data + (list[i]->at + r) * LOG_COLUMNS;
            c[LOG_EPOCH_SUM] = sum[4 * k];
            c[LOG_EPOCH_WEIGHT] = sum[4 * k + 1];
            c[LOG_WINDOW_SUM] = sum[4 * k + 2];
            c[LOG_WINDOW_WEIGHT] = sum[4 * k + 3];
            c[LOG_LEAST] = list[i]->kind.reduce == XT_MAX ? -lo[k] : lo[k];
            c[LOG_MOST] = list[i]->kind.reduce == XT_MIN ? -hi[k] : hi[k];
            k++;
        }
    base_free(sum);
    return s;
}

static xt_status combine(log_job *j) {
    size_t n;
    row_metric **list = merged_of(j, &n);
    if (!list) return status_oom(j->n * sizeof *list, "a log row");
    xt_status s = meet(j, list, n);
    if (!s) s = reduce(j, list, n);
    char line[256];
    if (s && status_code(s) == XT_ABORTED && n) /* it went without a row like this one */
        s = status_context(s, "all ranks must log \"%s\" (%s) with sync_dist", list[0]->name,
                           src_text(list[0]->src, line, sizeof line));
    base_free(list);
    return s;
}

/* With a mesh, values are those of the whole batch. */
void log_ranks_combine(log_job *j) {
    bool sync = j->all_meet;
    for (size_t i = 0; i < j->n; i++) sync = sync || j->metrics[i].sync;
    if (!sync || world_get()->size <= 1 || lazy_spmd() || lr.sync_failed) return;
    xt_status s = combine(j);
    if (!s) return;
    lr.sync_failed = true;
    pthread_mutex_lock(&lr.lock);
    lr.failure = s;
    pthread_mutex_unlock(&lr.lock);
}

void log_ranks_take_failure(void) {
    pthread_mutex_lock(&lr.lock);
    xt_status s = lr.failure;
    lr.failure = NULL;
    pthread_mutex_unlock(&lr.lock);
    if (s) lazy_fail(status_context(s, "logging"));
}

void log_ranks_last(void) {
    atomic_store(&lr.last, true);
}

void log_ranks_close(void) {
    atomic_store(&lr.last, false);
    pthread_mutex_lock(&lr.lock);
    xt_status_free(lr.failure);
    lr.failure = NULL;
    pthread_mutex_unlock(&lr.lock);
    lr.sync_failed = false;
    coll_close(lr.group);
    lr.group = NULL;
}

bool log_ranks_meet(const log_engine *e) {
    return world_get()->size > 1 && e && e->manual && !lazy_spmd();
}
