/* The logger thread: rows and other work in the order they were asked for, whichever values come first, handed
 * to the sinks. */
#include <stdatomic.h>
#include <time.h>

#include "base/cpus.h"
#include "base/ending.h"
#include "metrics/log_job.h"

/* Seconds without a change: for a sink that another thread is in, for rows when the program ends, and for rows that may
 * stand behind one of a thread that does not go on. */
enum { SINK_PATIENCE_S = 5, ROW_PATIENCE_S = 1, THREAD_PATIENCE_S = 20 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    log_job *head;
    int under_way; /* asked for, not written */
    /* rows: ranks meet at each, so all write them in the order they were asked for */
    int64_t issued, served, written;
    cpus_server server; /* ends with the device */
    int64_t asked; /* values, in steps that have not ended */
    log_sink sinks[16];
    size_t n_sinks;
    int in_sinks; /* threads that are calling some, which are not closed meanwhile */
} lg = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

void log_job_free(log_job *j) {
    if (!j) return;
    for (size_t i = 0; j->metrics && i < j->n; i++) base_free(j->metrics[i].name);
    base_free(j->metrics);
    base_free(j->data);
    base_free(j->values);
    base_free(j);
}

static __thread int in_sinks; /* of lg.in_sinks, this thread's: a sink may itself log */
static const char plain_loops; /* the owner of the sinks that plain loops open: they get nothing of a trainer's own */
/* those that get what `owner` has; a trainer's get nothing of a loop without one */
static size_t enter_sinks(const void *owner, log_sink out[static 16]) {
    pthread_mutex_lock(&lg.lock);
    size_t n = 0;
    for (size_t i = 0; i < lg.n_sinks; i++)
        if (!lg.sinks[i].owner || lg.sinks[i].owner == (owner ? owner : &plain_loops)) out[n++] = lg.sinks[i];
    lg.in_sinks++, in_sinks++;
    pthread_mutex_unlock(&lg.lock);
    return n;
}
static void leave_sinks(void) {
    pthread_mutex_lock(&lg.lock);
    lg.in_sinks--, in_sinks--;
    pthread_cond_broadcast(&lg.changed);
    pthread_mutex_unlock(&lg.lock);
}
static bool wait_for_change(int seconds) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    return pthread_cond_timedwait(&lg.changed, &lg.lock, &until) == 0;
}
/* Until no other thread is in a sink, under the lock; false: one is for too long. */
static bool wait_for_sinks(void) {
    while (lg.in_sinks > in_sinks)
        if (!wait_for_change(SINK_PATIENCE_S)) return false;
    return true;
}

static void write_row(log_job *j) {
    if (j->data && !j->row.epoch_level) log_values_drop_seen(j);
    if (j->metrics) {
        log_ranks_combine(j);
        log_values_fill(j);
    }
    if (j->row.n == 0) return;
    log_values_remember(&j->row);
    if (world_get()->rank != 0) return;
    counter_add(COUNTER_log_rows, !j->row.aside);
    for (size_t i = 0; j->metrics && i < j->row.n; i++)
        log_loss_seen(j->row.stage, j->row.values[i].name, j->row.values[i].value, j->row.step);
    log_sink sinks[16];
    size_t n = enter_sinks(j->row.owner, sinks);
    for (size_t i = 0; i < n; i++) sinks[i].row(sinks[i].user, &j->row);
    leave_sinks();
}

static __thread bool on_logger;

static void *serve(void *unused);
static void end_with_device(void);
static void watch_device(void) {
    lazy_at_device_close(end_with_device);
}
static bool start(void) { /* under the lock */
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_device);
    return cpus_start(&lg.server.thread, "the thread that writes logs", serve, NULL) == 0;
}

static void over(log_job *j) { /* under the lock */
    lg.under_way--;
    if (j->number) lg.written = j->number;
    log_job_free(j);
    pthread_cond_broadcast(&lg.changed);
}

/* A sink's function has ended the thread: another one goes on. */
static void left(void *job) {
    pthread_mutex_lock(&lg.lock);
    lg.in_sinks -= in_sinks;
    in_sinks = 0;
    pthread_detach(pthread_self()); /* nobody waits for it any more */
    lg.server.running = start();
    over(job);
    pthread_mutex_unlock(&lg.lock);
}

static void *serve(void *unused) {
    (void)unused;
    on_logger = true;
    lazy_thread_is_ours();
    pthread_mutex_lock(&lg.lock);
    for (;;) {
        while (lg.head ? lg.head->number && lg.head->number != lg.served + 1 : !lg.server.ends)
            pthread_cond_wait(&lg.changed, &lg.lock);
        if (!lg.head) break;
        log_job *j = lg.head;
        if (j->number) lg.served = j->number;
        lg.head = j->next;
        pthread_mutex_unlock(&lg.lock);
        pthread_cleanup_push(left, j);
        if (j->work)
            j->work(j->work_user);
        else if (!j->lost)
            write_row(j);
        pthread_cleanup_pop(0);
        pthread_mutex_lock(&lg.lock);
        over(j);
    }
    lg.server.running = lg.server.ends = false;
    pthread_mutex_unlock(&lg.lock);
    return NULL;
}

/* What was waited for is written (log_drain). With a row that stays behind it stays, too. */
static void end_with_device(void) {
    if (on_logger || lazy_is_forked()) return;
    pthread_mutex_lock(&lg.lock);
    cpus_server_end(&lg.server, !lg.under_way && !lg.head, &lg.lock, &lg.changed);
}

void log_job_queue(log_job *j) {
    pthread_mutex_lock(&lg.lock);
    if (lg.server.running || (lg.server.running = start())) {
        log_job **at = &lg.head;
        while (*at && !(j->number && (*at)->number > j->number)) at = &(*at)->next;
        j->next = *at;
        *at = j;
    } else {
        if (j->number) lg.served = j->number;
        over(j);
    }
    pthread_cond_broadcast(&lg.changed);
    pthread_mutex_unlock(&lg.lock);
}

void log_job_number(log_job *j) {
    log_work_begin();
    pthread_mutex_lock(&lg.lock);
    j->number = ++lg.issued;
    pthread_mutex_unlock(&lg.lock);
}

void log_job_lost(void *user) {
    log_job *j = user;
    j->lost = true;
    log_job_queue(j);
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
    log_job *j = base_calloc(1, sizeof *j);
    if (!j) { /* no memory for a note about it: done here */
        fn(user);
        log_work_lost();
        return;
    }
    j->work = fn;
    j->work_user = user;
    log_job_queue(j);
}

/* --- values asked for --- */
/* One function for all of them, by which the requests of a step are found again. */
static void arrived(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    log_request *r = user;
    if (r) r->arrived(r, data, bytes, dtype);
}

static void lost(void *user) {
    log_request *r = user;
    if (r) r->lost(r);
}

static __thread int64_t asked_here; /* of lg.asked */

void log_step_ended(void) {
    if (!asked_here) return;
    pthread_mutex_lock(&lg.lock);
    lg.asked -= asked_here;
    asked_here = 0;
    pthread_cond_broadcast(&lg.changed);
    pthread_mutex_unlock(&lg.lock);
}

void log_request_value(const xt_src *src, const char *what, xt_tensor t, log_request *r) {
    pthread_mutex_lock(&lg.lock);
    lg.asked++, asked_here++;
    pthread_mutex_unlock(&lg.lock);
    lazy_request_value(src, what, t, arrived, lost, r);
}

void log_requests_now(void) {
    lazy_requests_now(arrived);
}

/* What is left may be behind a row that waits for such a step. */
static void tell_not_waiting(void) {
    log_once("log_drain elsewhere", XT_SEV_WARNING,
             "values that another thread has logged in a step that it does not end are not waited for");
}

/* What is under way may be of the step that this thread is recording, and nobody else ends that. Of other threads'
 * steps that have not ended nothing is waited for: they may be waiting for this thread. The threads that rows and
 * values go through wait for none: a logger of the program's that asks for a value is itself under way. */
void log_drain(void) {
    if (on_logger || lazy_on_reader() || lazy_is_forked()) return;
    log_requests_now();
    pthread_mutex_lock(&lg.lock);
    bool stays = false;
    while (lg.under_way > lg.asked - asked_here && !stays)
        if (!atomic_load(&ending_now) && lg.asked == asked_here)
            pthread_cond_wait(&lg.changed, &lg.lock);
        else /* what stays is of threads that are held, or a sink has failed as well */
            stays = !wait_for_change(atomic_load(&ending_now) ? ROW_PATIENCE_S : THREAD_PATIENCE_S);
    pthread_mutex_unlock(&lg.lock);
    if (stays && !atomic_load(&ending_now)) tell_not_waiting();
    if (log_engine_peek()) log_ranks_take_failure();
}

int64_t log_rows_issued(void) {
    pthread_mutex_lock(&lg.lock);
    int64_t n = lg.issued;
    pthread_mutex_unlock(&lg.lock);
    return n;
}

static void wait_rows(int64_t n, int patience) {
    if (on_logger || lazy_on_reader() || lazy_is_forked()) return;
    pthread_mutex_lock(&lg.lock);
    while (lg.written < n && !atomic_load(&ending_now) && wait_for_change(patience)) {
    }
    pthread_mutex_unlock(&lg.lock);
}

void log_wait_rows(int64_t n) {
    wait_rows(n, SINK_PATIENCE_S);
}

void log_wait_at_exit(void) {
    wait_rows(log_rows_issued(), ROW_PATIENCE_S);
}

/* --- sinks --- */
static void (*default_sinks)(void);
static atomic_bool defaults_opened;

void log_set_default_sinks(void (*open)(void)) {
    default_sinks = open;
}

/* of no trainer */
static bool shared_sinks(void) {
    bool any = false;
    pthread_mutex_lock(&lg.lock);
    for (size_t i = 0; i < lg.n_sinks; i++) any = any || !lg.sinks[i].owner || lg.sinks[i].owner == &plain_loops;
    pthread_mutex_unlock(&lg.lock);
    return any;
}

static __thread bool opens_defaults;

void log_open_default_sinks(void) {
    if (shared_sinks() || !default_sinks || atomic_exchange(&defaults_opened, true)) return;
    opens_defaults = true;
    default_sinks();
    opens_defaults = false;
}

bool log_give_artifact(const log_artifact *a) {
    if (world_get()->rank != 0) return true;
    log_sink sinks[16];
    size_t n = enter_sinks(a->owner, sinks);
    bool shown = false;
    for (size_t i = 0; i < n; i++) shown = (sinks[i].artifact && sinks[i].artifact(sinks[i].user, a)) || shown;
    leave_sinks();
    return shown;
}

void log_add_sink(const log_sink *s) {
    pthread_mutex_lock(&lg.lock);
    if (lg.n_sinks < BASE_COUNT(lg.sinks)) {
        lg.sinks[lg.n_sinks] = *s;
        lg.sinks[lg.n_sinks++].owner = opens_defaults ? &plain_loops : log_owner();
    }
    pthread_mutex_unlock(&lg.lock);
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
    bool left = found && wait_for_sinks();
    pthread_mutex_unlock(&lg.lock);
    if (left && s->close) s->close(s->user);
}

void log_close(void) {
    log_drain();
    atomic_store(&defaults_opened, false);
    while (lg.n_sinks) {
        log_sink s = lg.sinks[lg.n_sinks - 1];
        log_remove_sink(&s);
    }
    log_values_forget();
    log_ranks_close();
}
