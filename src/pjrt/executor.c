/* The executor of a device: one thread that joins the device's group, makes the compiler's device (its thread
 * team belongs to this thread), and runs tasks in the order they came until it is stopped; what is enqueued by
 * then still runs. */
#include "pjrt/face.h"
#include "base/cpus.h"

static xt_status start_device(PJRT_Device *d) {
    PJRT_Client *c = d->client;
    if (c->coll_name)
        XT_TRY(coll_open(c->coll_name, d->description.id, (int)c->n_devices, coll_default_timeout(), &d->coll));
    return cpu_device_new(c->threads, d->coll, &d->cpu);
}

/* The devices of an assignment meet as a group of their own, in its order, opened when the first program for them runs
 * here. Every device runs its programs in the order they were enqueued, so all come to the opening alike. */
xt_status face_executor_join(PJRT_Device *d, const PJRT_LoadedExecutable *e) {
    const PJRT_Client *c = d->client;
    size_t n = (size_t)e->program->options.replicas * (size_t)e->program->options.partitions, self = 0;
    if (!e->own_group) {
        cpu_device_set_group(d->cpu, n > 1 ? d->coll : NULL);
        return NULL;
    }
    face_group *g = d->groups;
    while (g && strcmp(g->tag, e->group_tag) != 0) g = g->next;
    if (!g) {
        char *name;
        while (self < n && e->ids[self] != d->description.id) self++;
        if (!(g = base_calloc(1, sizeof *g))) return status_oom(sizeof *g, "a group of devices");
        memcpy(g->tag, e->group_tag, sizeof g->tag);
        xt_status s = coll_derive_name(c->coll_name, g->tag, &name);
        if (!s) {
            s = coll_open(name, (int)self, (int)n, coll_default_timeout(), &g->coll);
            base_free(name);
        }
        if (s) {
            base_free(g);
            return s;
        }
        g->next = d->groups;
        d->groups = g;
    }
    cpu_device_set_group(d->cpu, g->coll);
    return NULL;
}

static void close_groups(PJRT_Device *d) {
    for (face_group *g = d->groups, *next; g; g = next) {
        next = g->next;
        coll_close(g->coll);
        base_free(g);
    }
    d->groups = NULL;
    coll_close(d->coll);
    d->coll = NULL;
}

static void report_started(PJRT_Device *d, xt_status s) {
    pthread_mutex_lock(&d->lock);
    d->start_error = s;
    d->ready = true;
    pthread_cond_broadcast(&d->wake);
    pthread_mutex_unlock(&d->lock);
}

static face_task *next_task(PJRT_Device *d) {
    pthread_mutex_lock(&d->lock);
    d->busy = false;
    while (d->lent || (!d->first && !d->stop)) pthread_cond_wait(&d->wake, &d->lock);
    face_task *t = d->first;
    if (t && !(d->first = t->next)) d->last = NULL;
    d->busy = t != NULL;
    pthread_mutex_unlock(&d->lock);
    return t;
}

static void *executor(void *arg) {
    PJRT_Device *d = arg;
    xt_status s = start_device(d);
    if (s) face_executor_missing(d);
    report_started(d, s);
    for (face_task *t; (t = next_task(d));) t->run(t, d);
    cpu_device_free(d->cpu);
    d->cpu = NULL;
    close_groups(d);
    return NULL;
}

/* Of processes that made the group themselves, which is where all devices of a client of one process are. */
void face_executor_missing(const PJRT_Device *d) {
    if (d->client->coll_name) coll_announce_end(d->client->coll_name, d->description.id, NULL);
}

xt_status face_executor_start(PJRT_Device *d) {
    int rc = cpus_start(&d->executor, "the thread of a device", executor, d);
    d->started = rc == 0;
    char what[200];
    snprintf(what, sizeof what, "the thread of %s", d->description.text);
    return rc == 0 ? NULL : status_no_thread(rc, what);
}

xt_status face_executor_wait_started(PJRT_Device *d) {
    pthread_mutex_lock(&d->lock);
    while (!d->ready) pthread_cond_wait(&d->wake, &d->lock);
    xt_status s = d->start_error;
    d->start_error = NULL;
    pthread_mutex_unlock(&d->lock);
    return s;
}

bool face_executor_borrow(PJRT_Device *d) {
    pthread_mutex_lock(&d->lock);
    bool idle = !d->busy && !d->lent && !d->first && !d->stop;
    if (idle) {
        d->lent = true;
        d->borrower = pthread_self();
    }
    pthread_mutex_unlock(&d->lock);
    return idle;
}

bool face_executor_is_here(PJRT_Device *d) {
    pthread_mutex_lock(&d->lock);
    bool here = (d->started && pthread_equal(d->executor, pthread_self())) ||
                (d->lent && pthread_equal(d->borrower, pthread_self()));
    pthread_mutex_unlock(&d->lock);
    return here;
}

void face_executor_give_back(PJRT_Device *d) {
    pthread_mutex_lock(&d->lock);
    d->lent = false;
    if (d->first || d->stop) pthread_cond_broadcast(&d->wake);
    pthread_mutex_unlock(&d->lock);
}

xt_status face_executor_enqueue(PJRT_Device *d, face_task *t) {
    t->next = NULL;
    pthread_mutex_lock(&d->lock);
    bool stopped = d->stop;
    if (!stopped) {
        if (d->last)
            d->last->next = t;
        else
            d->first = t;
        d->last = t;
        pthread_cond_signal(&d->wake);
    }
    pthread_mutex_unlock(&d->lock);
    return stopped
               ? status_new(XT_FAILED_PRECONDITION, NULL, "the client of %s has been destroyed", d->description.text)
               : NULL;
}

void face_executor_stop(PJRT_Device *d) {
    if (!d->started) return;
    pthread_mutex_lock(&d->lock);
    d->stop = true;
    pthread_cond_broadcast(&d->wake);
    pthread_mutex_unlock(&d->lock);
    pthread_join(d->executor, NULL);
    d->started = false;
}
