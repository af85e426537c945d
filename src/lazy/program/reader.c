/* The reader thread: values asked for with xt_when_ready arrive from the device in any order and are handed out in the
 * order they were asked for. */
#include "base/cpus.h"
#include "base/ending.h"
#include "lazy/program/program.h"

#include <math.h>
#include <time.h>

enum { LAST_PATIENCE_S = 5 }; /* for a function that runs when the program ends */

typedef struct job {
    lazy_buf *buf;
    void *data;
    size_t bytes;
    xt_dtype dtype;
    xt_ready_fn fn;
    void (*failed)(void *);
    void *user;
    lazy_requester asked;
    bool arrived;
    lazy_inside_fn call; /* while fn runs */
    xt_status error;
    struct job *next;
} job;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    job *head, *tail;
    cpus_server server; /* ends with the device */
    bool busy;
    lazy_requester asked; /* by whom the function was given that is busy; */
    uint64_t done; /* how many have returned */
} rd = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void arrived(void *user, xt_status error) {
    job *j = user;
    pthread_mutex_lock(&rd.lock);
    j->arrived = true;
    j->error = error;
    pthread_cond_broadcast(&rd.changed);
    pthread_mutex_unlock(&rd.lock);
}

static void (*_Atomic at_return)(const xt_src *);
void lazy_reader_at_return(void (*fn)(const xt_src *)) {
    atomic_store_explicit(&at_return, fn, memory_order_release);
}

static void drop(job *j) {
    void (*returned)(const xt_src *) = atomic_load(&at_return);
    if (returned) returned(src_get(j->asked.src));
    lazy_buf_release(j->buf);
    base_free(j->data);
    base_free(j);
}

static void *serve(void *unused);
static void end_with_device(void);
static void watch_device(void) {
    lazy_at_device_close(end_with_device);
}
static int start(void) { /* pthread_create's error */
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_device);
    return cpus_start(&rd.server.thread, "the thread that gives values to xt_when_ready", serve, NULL);
}

static void returned(bool thread_left) {
    pthread_mutex_lock(&rd.lock);
    if (thread_left) pthread_detach(pthread_self()); /* nobody waits for it any more */
    if (thread_left) rd.server.running = start() == 0;
    rd.busy = false;
    rd.done++;
    pthread_cond_broadcast(&rd.changed);
    pthread_mutex_unlock(&rd.lock);
}

/* The function has ended the thread: another one serves those behind it. */
static void left(void *p) {
    job *j = p;
    lazy_leave(&j->call);
    lazy_fail(status_new(XT_ABORTED, src_get(j->asked.src),
                         "the function given to %s has left by pthread_exit; it must return",
                         j->asked.what ? j->asked.what : "xt_when_ready"));
    returned(true);
    drop(j);
}

static void call(job *j) {
    lazy_enter(&j->call, "the function of xt_when_ready", NULL);
    pthread_cleanup_push(left, j);
    j->fn(j->user, j->data, j->bytes, j->dtype);
    pthread_cleanup_pop(0);
    lazy_leave(&j->call);
}

static void finish(job *j) {
    if (j->error) {
        if (j->failed)
            j->failed(j->user);
        else
            log_once("reader", XT_SEV_WARNING, "a value asked for with xt_when_ready did not arrive: %s",
                     status_message(j->error));
        xt_status_free(j->error);
    } else
        call(j);
    drop(j);
}

static __thread bool on_reader;
bool lazy_on_reader(void) {
    return on_reader;
}

static void *serve(void *unused) {
    (void)unused;
    on_reader = true;
    lazy_thread_is_ours();
    pthread_mutex_lock(&rd.lock);
    for (;;) {
        while (!(rd.head ? rd.head->arrived : rd.server.ends)) pthread_cond_wait(&rd.changed, &rd.lock);
        if (!rd.head) break;
        job *j = rd.head;
        rd.head = j->next;
        if (!rd.head) rd.tail = NULL;
        rd.busy = true;
        rd.asked = j->asked;
        pthread_mutex_unlock(&rd.lock);
        finish(j);
        returned(false);
        pthread_mutex_lock(&rd.lock);
    }
    rd.server.running = rd.server.ends = false;
    pthread_mutex_unlock(&rd.lock);
    return NULL;
}

/* All have been waited for (lazy_reader_drain). One whose function does not return is left to itself. */
static void end_with_device(void) {
    if (on_reader || lazy_is_forked()) return;
    pthread_mutex_lock(&rd.lock);
    cpus_server_end(&rd.server, !rd.busy && !rd.head, &rd.lock, &rd.changed);
}

xt_status lazy_reader_add(lazy_buf *buf, const lazy_request *q) {
    job *j = base_calloc(1, sizeof *j);
    if (!j) return status_oom(sizeof *j, "a value to read");
    size_t bytes = j->bytes = device_buffer_bytes(buf->dev);
    j->data = base_malloc(bytes ? bytes : 1);
    if (!j->data) {
        base_free(j);
        return status_oom(bytes, "a value to read");
    }
    j->buf = buf;
    j->dtype = device_buffer_dtype(buf->dev);
    j->fn = q->fn;
    j->failed = q->failed;
    j->user = q->user;
    j->asked = q->asked;
    pthread_mutex_lock(&rd.lock);
    int error = rd.server.running ? 0 : start();
    rd.server.running = !error;
    if (!error) {
        lazy_buf_retain(buf);
        if (rd.tail)
            rd.tail->next = j;
        else
            rd.head = j;
        rd.tail = j;
    }
    pthread_mutex_unlock(&rd.lock);
    if (error) {
        base_free(j->data);
        base_free(j);
        return status_no_thread(error, "the thread that gives values to xt_when_ready");
    }
    xt_status s = device_read_async(buf->dev, j->data, j->bytes, arrived, j);
    if (s) arrived(j, s); /* the job is in the queue: it fails there, in its turn */
    return NULL;
}

/* How long one function may take before that is told: as a step may (XT_WATCHDOG); 0: for ever. */
static double patience(void) {
    double seconds = 10;
    bool on;
    const char *text = env_get("XT_WATCHDOG");
    if (text && parse_double(text, &seconds)) return seconds;
    return text && parse_flag(text, &on) && !on ? 0 : 10;
}

/* Waits until `until` for a change; false: there was none. Under the lock. */
static bool wait_until(const struct timespec *until) {
    return pthread_cond_timedwait(&rd.changed, &rd.lock, until) == 0;
}

static void tell(lazy_requester asked, double seconds) {
    char at[256];
    pthread_mutex_unlock(&rd.lock); /* a sink may do what needs it */
    log_msg(XT_SEV_WARNING,
            "%s: the function given to %s has not returned for %g s; everything behind it waits, and so does the end "
            "of the program. It should note the value and return",
            src_text(asked.src, at, sizeof at), asked.what ? asked.what : "xt_when_ready", seconds);
    pthread_mutex_lock(&rd.lock);
}

/* A function that a value was handed to is itself what this would wait for. */
void lazy_reader_drain(void) {
    if (on_reader || lazy_is_forked()) return; /* it stayed with the parent */
    bool ending = atomic_load(&ending_now);
    double seconds = ending ? LAST_PATIENCE_S : patience();
    pthread_mutex_lock(&rd.lock);
    for (bool told = false; rd.head || rd.busy;) {
        struct timespec until;
        uint64_t done = rd.done;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += (time_t)seconds;
        until.tv_nsec += (long)((seconds - floor(seconds)) * 1e9);
        if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
        if (told || !(seconds > 0 && seconds < 1e6))
            pthread_cond_wait(&rd.changed, &rd.lock);
        else if (!wait_until(&until) && rd.busy && rd.done == done) {
            if (ending) break; /* it has failed as well, and is held */
            tell(rd.asked, seconds);
            told = true;
        }
    }
    pthread_mutex_unlock(&rd.lock);
}
