/* The process-wide device, opened at its first use; ranks of a run open one client together. */
#include "base/cpus.h"
#include "coll/coll.h"
#include "lazy/core/ctx.h"
#include "lazy/core/exit.h"
#include "lazy/core/listeners.h"

#include <stdlib.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    device_client *client;
    src_id where;
    atomic_bool finished, at_rest, left_open; /* at_rest: finished, but not by xt_finish */
    atomic_bool once; /* xt_finish has been there, be it before something else was begun */
    _Atomic pid_t pid;
    struct finish_hook {
        void (*fn)(void *);
        void *user;
    } * hooks;
    size_t n_hooks, cap_hooks;
} dev = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic int64_t memory_limit; /* bytes; 0: not asked yet, -1: unknown */

static xt_status kv_get(void *user, const char *key, size_t n, int timeout_ms, char **value, size_t *value_size) {
    return coll_get(user, key, n, timeout_ms, value, value_size);
}

static xt_status kv_put(void *user, const char *key, size_t n, const char *value, size_t value_size) {
    return coll_put(user, key, n, value, value_size);
}

/* Threads do not come along into a forked process: whoever waited there for the device's, the reader's or the logger's
 * would wait for good. */
static atomic_int forked_from; /* the process in which there was any then; 0: none */
static const char *forked_while; /* what one of them was for; NULL: the device was open */

static _Atomic(void (*)(void)) at_unfinished;
void lazy_at_unfinished(void (*fn)(void)) {
    atomic_store(&at_unfinished, fn);
}

static bool is_unfinished(void) {
    return !atomic_load(&forked_from) && !dev.finished && getpid() == dev.pid;
}

const char *lazy_unfinished(void) {
    return dev.once ? "without another xt_finish() behind what followed the last one" : "without xt_finish()";
}

static void unfinished(void) {
    static atomic_bool told;
    void (*tell)(void) = atomic_load(&at_unfinished);
    if (atomic_exchange(&told, true)) return;
    if (tell) tell();
}

/* Before the ranks' group is closed, which has an exit handler of its own: the last rows and steps need it. */
static void before_groups_close(int status, void *unused) {
    (void)status;
    (void)unused;
    if (is_unfinished()) unfinished();
}

void lazy_check_finished(void) {
    if (!is_unfinished()) return;
    unfinished();
    /* where nothing has run an error that was told is all there is to say */
    if (dev.client || (lazy_left_open() && !lazy_error_told()))
        log_msg(XT_SEV_WARNING,
                "the program ended %s: the last step may not have run, and its errors were not shown; end main with "
                "`return xt_finish();`",
                lazy_unfinished());
}

/* A fit failed, and the program would end as if it had not. */
static void end_with_1(src_id failed) {
    char at[512];
    log_msg(XT_SEV_ERROR,
            "%s: this call has failed, and the program ended with exit code 0: it is 1 (a program that goes on after a "
            "failure says so: xt_clear_error())",
            src_text(failed, at, sizeof at));
    dev.finished = true;
    exit(1);
}

/* The thread that runs the exit handlers, of which ours has had its turn. */
static atomic_int leaving;

/* A program may end with `return xt_fit(...)`: everything has run and is written, and what is left is freed here as
 * xt_finish would. */
static void at_exit(int status, void *unused) {
    (void)unused;
    src_id failed;
    if (getpid() != dev.pid || atomic_load(&forked_from)) return;
    lazy_fail_by_unseen(true);
    bool again = atomic_exchange(&leaving, gettid());
    if (status == 0 && (lazy_error_ends() || lazy_error_died())) {
        log_msg(XT_SEV_ERROR,
                "the program ended %s and without looking at the error above (xt_error()): its exit code "
                "is 1",
                again && dev.finished ? "with an exit handler that failed behind xt_finish()" : lazy_unfinished());
        dev.finished = true; /* all is said */
        exit(1); /* the C library goes on with the functions that are left, and this status */
    }
    if (status == 0 && lazy_failed_call(&failed)) end_with_1(failed);
    lazy_check_finished();
    if ((!dev.client && !dev.n_hooks) || !dev.finished || dev.left_open || gettid() != getpid())
        return; /* tensors belong to the thread that made them */
    lazy_run_finish_hooks();
    lazy_free_owned();
    lazy_reset_thread();
    lazy_device_close();
}

/* An older exit handler than ours goes on computing, and what it meets is an error of the program too. */
void lazy_watch_late_error(void) {
    if (atomic_load(&leaving) == gettid()) on_exit(at_exit, NULL);
}

static void watch_exit(void) {
    on_exit(at_exit, NULL);
}

/* From the first tensor on: a program that ends with its only step still open has lost that step and its errors. */
void lazy_watch_exit(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_exit);
    dev.pid = getpid();
}

static const char *spec; /* instead of the environment's */
void lazy_device_use(const char *s) {
    spec = s;
}

static void in_child(void) {
    const char *at_work = dev.client ? NULL : cpus_at_work();
    if (atomic_load(&forked_from) || (!dev.client && !at_work)) return;
    forked_while = at_work;
    atomic_store(&forked_from, (int)getppid());
}

/* From the beginning on: there are threads before the device is open, and some may outlive it. */
__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(NULL, NULL, in_child);
}

bool lazy_is_forked(void) {
    return atomic_load_explicit(&forked_from, memory_order_relaxed) != 0;
}

xt_status lazy_forked(const char *what, const xt_src *src) {
    int parent = atomic_load_explicit(&forked_from, memory_order_relaxed);
    if (__builtin_expect(!parent, true)) return NULL;
    return status_new(
        XT_FAILED_PRECONDITION, src,
        "%s in a process that was forked (from %d) %s%s%s: its threads stayed there, so nothing can run here; fork %s, "
        "or start another program (exec), and leave this process by _exit",
        what, parent, forked_while ? "while " : "after the device was opened", forked_while ? forked_while : "",
        forked_while ? " was at work there" : "",
        forked_while ? "when that has ended (xt_finish)" : "before the first tensor is computed, or behind xt_finish");
}

static xt_status open_device(device_client **out) {
    const world *w = world_get();
    device_open_opts o = {.spec = spec, .n_nodes = 1};
    static device_kv kv;
    if (w->size > 1) {
        coll_group *g;
        XT_TRY(coll_run_group(&g));
        on_exit(before_groups_close, NULL);
        kv = (device_kv){.user = g, .get = kv_get, .put = kv_put};
        o = (device_open_opts){.spec = spec, .node_id = w->rank, .n_nodes = w->size, .kv = &kv, .local_devices = 1};
    }
    return device_open(&o, out);
}

xt_status lazy_device(device_client **out) {
    *out = NULL;
    XT_TRY(lazy_forked("a computation", NULL));
    xt_status s = NULL;
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    pthread_mutex_lock(&dev.lock);
    if (!dev.client) {
        env_report_unknown();
        s = open_device(&dev.client);
        if (!s) {
            lazy_ctx *c = lazy_ctx_get();
            dev.where = c ? c->b.src : 0;
            dev.finished = false;
            lazy_watch_exit();
        } else
            dev.client = NULL;
    }
    *out = dev.client;
    pthread_mutex_unlock(&dev.lock);
    pthread_setcancelstate(cancel, NULL);
    return s;
}

bool lazy_device_is_open(src_id *out_where) {
    pthread_mutex_lock(&dev.lock);
    bool open = dev.client != NULL;
    if (out_where) *out_where = dev.where;
    pthread_mutex_unlock(&dev.lock);
    return open;
}

static lazy_listeners closing = LAZY_LISTENERS_INIT;
void lazy_at_device_close(void (*fn)(void)) {
    if (!lazy_listen(&closing, &fn, sizeof fn)) lazy_fail(status_oom(sizeof fn, "what closes with the device"));
}

void lazy_device_close(void) {
    void (*fn)(void);
    for (const lazy_listener *i = lazy_listener_first(&closing); i; i = lazy_listener_next(i)) {
        memcpy(&fn, i->data, sizeof fn);
        fn();
    }
    pthread_mutex_lock(&dev.lock);
    device_close(dev.client);
    dev.client = NULL;
    atomic_store(&memory_limit, 0); /* the next device may have another */
    pthread_mutex_unlock(&dev.lock);
}

int64_t lazy_memory_limit(void) {
    device_client *client;
    device_memory m = {.limit = -1};
    int64_t known = atomic_load_explicit(&memory_limit, memory_order_relaxed);
    if (known) return known;
    xt_status s = lazy_device(&client);
    if (!s) s = device_memory_stats(client, &m);
    xt_status_free(s);
    known = m.limit > 0 ? m.limit : -1;
    atomic_store_explicit(&memory_limit, known, memory_order_relaxed);
    return known;
}

static atomic_bool rehearsing;
bool lazy_rehearsing(void) {
    return atomic_load_explicit(&rehearsing, memory_order_relaxed);
}
void lazy_set_rehearsing(bool on) {
    atomic_store_explicit(&rehearsing, on, memory_order_relaxed);
}

void lazy_tear_down(void) {
    lazy_run_finish_hooks();
    lazy_free_owned();
    lazy_reset_thread();
    lazy_device_close();
}

void lazy_leave_open(void) {
    dev.left_open = true;
}

void lazy_at_rest(void) {
    dev.finished = dev.at_rest = true;
}

void lazy_at_work(void) {
    if (dev.at_rest && atomic_exchange(&dev.at_rest, false)) dev.finished = false;
}

void lazy_at_finish(void (*fn)(void *), void *user) {
    struct finish_hook hook = {fn, user};
    pthread_mutex_lock(&dev.lock);
    bool ok = VEC_PUSH(dev.hooks, dev.n_hooks, dev.cap_hooks, hook);
    pthread_mutex_unlock(&dev.lock);
    if (!ok) lazy_fail(status_oom(sizeof hook, "what is done when the program finishes"));
}

void lazy_run_finish_hooks(void) {
    struct finish_hook hook;
    dev.at_rest = false;
    dev.finished = dev.once = true;
    for (bool more = true; more;) {
        pthread_mutex_lock(&dev.lock);
        if ((more = dev.n_hooks > 0)) hook = dev.hooks[--dev.n_hooks];
        pthread_mutex_unlock(&dev.lock);
        if (more) hook.fn(hook.user);
    }
}
