/* The reader thread: values asked for with xt_when_ready arrive from the device in any order and are handed out in the
 * order they were asked for. */
#include "lazy/program/program.h"

typedef struct job {
    lazy_buf *buf;
    void *data;
    size_t bytes;
    xt_dtype dtype;
    xt_ready_fn fn;
    void (*failed)(void *);
    void *user;
    bool arrived;
    xt_status error;
    struct job *next;
} job;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    job *head, *tail;
    bool running, busy;
    pthread_t thread;
} rd = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void arrived(void *user, xt_status error) {
    job *j = user;
    pthread_mutex_lock(&rd.lock);
    j->arrived = true;
    j->error = error;
    pthread_cond_broadcast(&rd.changed);
    pthread_mutex_unlock(&rd.lock);
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
        j->fn(j->user, j->data, j->bytes, j->dtype);
    lazy_buf_release(j->buf);
    base_free(j->data);
    base_free(j);
}

static __thread bool on_reader;
bool lazy_on_reader(void) {
    return on_reader;
}

static void *serve(void *unused) {
    (void)unused;
    on_reader = true;
    pthread_mutex_lock(&rd.lock);
    for (;;) {
        while (!rd.head || !rd.head->arrived) pthread_cond_wait(&rd.changed, &rd.lock);
        job *j = rd.head;
        rd.head = j->next;
        if (!rd.head) rd.tail = NULL;
        rd.busy = true;
        pthread_mutex_unlock(&rd.lock);
        finish(j);
        pthread_mutex_lock(&rd.lock);
        rd.busy = false;
        pthread_cond_broadcast(&rd.changed);
    }
    return NULL;
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
    pthread_mutex_lock(&rd.lock);
    if (!rd.running && pthread_create(&rd.thread, NULL, serve, NULL) == 0) {
        pthread_detach(rd.thread);
        rd.running = true;
    }
    bool ok = rd.running;
    if (ok) {
        lazy_buf_retain(buf);
        if (rd.tail)
            rd.tail->next = j;
        else
            rd.head = j;
        rd.tail = j;
    }
    pthread_mutex_unlock(&rd.lock);
    if (!ok) {
        base_free(j->data);
        base_free(j);
        return status_new(XT_UNAVAILABLE, NULL, "the reader thread could not be started");
    }
    xt_status s = device_read_async(buf->dev, j->data, j->bytes, arrived, j);
    if (s) arrived(j, s); /* the job is in the queue: it fails there, in its turn */
    return NULL;
}

/* A function that a value was handed to is itself what this would wait for. */
void lazy_reader_drain(void) {
    if (on_reader) return;
    pthread_mutex_lock(&rd.lock);
    while (rd.head || rd.busy) pthread_cond_wait(&rd.changed, &rd.lock);
    pthread_mutex_unlock(&rd.lock);
}
