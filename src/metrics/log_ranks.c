/* Rows of several ranks: they meet at each row of a trainer, compare names, and combine what sync_dist asks for; small
 * host collectives of the logger threads. */
#include "coll/coll.h"
#include "lazy/mesh/mesh.h"
#include "metrics/log_job.h"

static struct {
    pthread_mutex_t lock; /* of `failure` */
    coll_group *group;
    bool group_failed, sync_failed;
    xt_status failure; /* of the ranks' agreement, for the thread that trains */
} lr = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- over ranks --- */
static xt_status open_group(void) {
    static int opened; /* of the logger thread alone; all ranks open theirs as often */
    coll_group *run;
    char tag[24];
    if (!env_get("XT_RENDEZVOUS")) return status_new(XT_FAILED_PRECONDITION, NULL, "the ranks have no rendezvous");
    XT_TRY(coll_run_group(&run));
    snprintf(tag, sizeof tag, "log%d", opened++);
    return coll_duplicate(run, tag, 300, &lr.group);
}

static uint64_t names_hash(const log_job *j) {
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

static xt_status same_names(const log_job *j) {
    int size = world_get()->size, other = 0;
    rank_names mine = {.hash = names_hash(j)}, *all = base_calloc((size_t)size, sizeof *all);
    if (!all) return status_oom((size_t)size * sizeof *all, "a log row");
    size_t at = 0;
    for (size_t i = 0; i < j->n && at < sizeof mine.text; i++)
        if (j->metrics[i].sync)
            at += (size_t)snprintf(mine.text + at, sizeof mine.text - at, "%s%s", at ? ", " : "", j->metrics[i].name);
    xt_status s = coll_all_gather(lr.group, &mine, sizeof mine, all);
    for (int r = 1; !s && r < size && !other; r++)
        if (all[r].hash != all[0].hash) other = r;
    if (!s && other)
        s = status_new(XT_FAILED_PRECONDITION, NULL,
                       "ranks logged different names with sync_dist, at step %lld: rank 0 logged %s; rank %d logged "
                       "%s. All ranks must log the same names",
                       (long long)j->row.step, *all[0].text ? all[0].text : "none", other,
                       *all[other].text ? all[other].text : "none");
    base_free(all);
    return s;
}

/* In a trainer's fit all ranks come to each row, whatever they logged, so that a rank without a name is found,
 * not waited for. */
static xt_status meet(const log_job *j) {
    if (!lr.group && !lr.group_failed) {
        xt_status s = open_group();
        if (s) {
            lr.group_failed = true;
            return s;
        }
    }
    return lr.group ? same_names(j) : NULL;
}

/* Adds up sums and weights and takes the least and the most over the ranks, for the metrics that ask: three small
 * reductions of one row. */
static xt_status combine(log_job *j) {
    XT_TRY(meet(j));
    size_t n = 0, k = 0;
    for (size_t i = 0; i < j->n; i++) n += j->metrics[i].sync ? (size_t)j->metrics[i].count : 0;
    if (!n || !lr.group) return NULL;
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
    xt_status s = coll_all_reduce(lr.group, COLL_SUM, XT_F32, sum, n * 4);
    if (!s) s = coll_all_reduce(lr.group, COLL_MIN, XT_F32, lo, n);
    if (!s) s = coll_all_reduce(lr.group, COLL_MAX, XT_F32, hi, n);
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

/* With a mesh, values are those of the whole batch. */
void log_ranks_combine(log_job *j) {
    bool sync = j->all_meet;
    for (size_t i = 0; i < j->n; i++) sync = sync || j->metrics[i].sync;
    if (!sync || world_get()->size <= 1 || lazy_spmd() || lr.sync_failed) return;
    xt_status s = !j->all_meet || env_get("XT_RENDEZVOUS") ? combine(j) : NULL;
    if (!s) return;
    lr.sync_failed = true;
    if (j->all_meet) { /* the fit ends with it */
        pthread_mutex_lock(&lr.lock);
        lr.failure = s;
        pthread_mutex_unlock(&lr.lock);
    } else {
        log_msg(XT_SEV_ERROR, "logging with sync_dist: %s; from here on each rank's own values are written",
                status_message(s));
        xt_status_free(s);
    }
}

void log_ranks_take_failure(void) {
    pthread_mutex_lock(&lr.lock);
    xt_status s = lr.failure;
    lr.failure = NULL;
    pthread_mutex_unlock(&lr.lock);
    if (s) lazy_fail(status_context(s, "logging"));
}

void log_ranks_close(void) {
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
