/* Events: set once, waited for or called back any number of times. A handle given to the client is one reference; so is
 * every maker's. */
#include "pjrt/face.h"

typedef struct waiter {
    struct waiter *next;
    face_event_fn fn;
    void *user;
} waiter;

struct PJRT_Event {
    atomic_int refs;
    pthread_mutex_t lock;
    pthread_cond_t cond;
    atomic_bool ready; /* changed under the lock */
    xt_status error; /* kept until the last reference goes: each asker gets a clone */
    waiter *first, **last; /* called in the order they came */
    PJRT_Device *maker; /* NULL: a client, or nobody in particular */
    atomic_bool open; /* made by a client, which may set it, once */
};

face_event *face_event_new(void) {
    face_event *e = face_handle_new(sizeof *e);
    if (!e) return NULL;
    atomic_init(&e->refs, 1);
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->cond, NULL);
    e->last = &e->first;
    live_add(LIVE_plugin_event, 1);
    return e;
}

face_event *face_event_retain(face_event *e) {
    atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    return e;
}

void face_event_release(face_event *e) {
    if (!e || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1) return;
    for (waiter *w = e->first; w;) { /* nobody will set it: those who wait must hear that */
        waiter *next = w->next;
        w->fn(w->user, status_new(XT_CANCELLED, NULL, "the event was dropped before it was set"));
        base_free(w);
        w = next;
    }
    xt_status_free(e->error);
    pthread_cond_destroy(&e->cond);
    pthread_mutex_destroy(&e->lock);
    face_handle_free(e, sizeof *e);
    live_add(LIVE_plugin_event, -1);
}

void face_event_set(face_event *e, xt_status s) {
    pthread_mutex_lock(&e->lock);
    assert(!e->ready);
    e->error = s;
    e->ready = true;
    waiter *w = e->first;
    e->first = NULL;
    e->last = &e->first;
    pthread_cond_broadcast(&e->cond);
    pthread_mutex_unlock(&e->lock);
    while (w) {
        waiter *next = w->next;
        w->fn(w->user, status_clone(s));
        base_free(w);
        w = next;
    }
}

bool face_event_is_ready(face_event *e) {
    return atomic_load_explicit(&e->ready, memory_order_acquire);
}

void face_event_made_by(face_event *e, PJRT_Device *d) {
    e->maker = d;
}
void face_event_follows(face_event *e, const face_event *of) {
    e->maker = of->maker;
}

bool face_event_is_promised(face_event *e) {
    return !e->maker && !face_event_is_ready(e);
}

xt_status face_event_wait(face_event *e) {
    if (face_event_is_ready(e)) return status_clone(e->error);
    if (e->maker && face_executor_is_here(e->maker) && !face_event_is_ready(e))
        return status_new(XT_FAILED_PRECONDITION, NULL,
                          "a callback on %s's own thread waits for what only comes after it: ask for it by "
                          "PJRT_Event_OnReady, or wait on another thread",
                          e->maker->description.text);
    pthread_mutex_lock(&e->lock);
    while (!e->ready) pthread_cond_wait(&e->cond, &e->lock);
    pthread_mutex_unlock(&e->lock);
    return status_clone(e->error);
}

xt_status face_event_then(face_event *e, face_event_fn fn, void *user) {
    pthread_mutex_lock(&e->lock);
    if (!e->ready) {
        waiter *w = base_malloc(sizeof *w);
        if (w) {
            *w = (waiter){NULL, fn, user};
            *e->last = w;
            e->last = &w->next;
        }
        pthread_mutex_unlock(&e->lock);
        return w ? NULL : status_oom(sizeof *w, "waiting for an event");
    }
    pthread_mutex_unlock(&e->lock);
    fn(user, status_clone(e->error));
    return NULL;
}

xt_status face_event_done(xt_status s, face_event **out) {
    *out = face_event_new();
    if (!*out) {
        xt_status_free(s);
        return status_oom(sizeof **out, "an event");
    }
    face_event_set(*out, s);
    return NULL;
}

xt_status face_event_given(xt_status s, face_event **out) {
    XT_TRY(face_event_done(s, out));
    FACE_GIVE(*out);
    return NULL;
}

/* --- the table's functions --- */
void face_event_end(void *handle) {
    face_event_release(handle);
}

/* One that a client was to set can be set no more: who waits for it in another call hears that now. */
FACE(Event_Destroy) {
    if (!face_is_given(a->event, FACE_EVENT) && atomic_exchange(&a->event->open, false))
        face_event_set(a->event, status_new(XT_CANCELLED, NULL, "the event was dropped before it was set"));
    return NULL;
}

FACE(Event_IsReady) {
    a->is_ready = face_event_is_ready(a->event);
    return NULL;
}

FACE(Event_Error) {
    if (!face_event_is_ready(a->event))
        return status_new(XT_FAILED_PRECONDITION, NULL, "PJRT_Event_Error: the event is not ready yet");
    return face_event_wait(a->event);
}

void face_event_asked(const face_event *e) {
    if (e->maker && !atomic_load_explicit(&e->ready, memory_order_acquire)) atomic_store(&e->maker->awaited, true);
}

FACE(Event_Await) {
    face_event_asked(a->event);
    return face_event_wait(a->event);
}

typedef struct client_callback {
    PJRT_Event_OnReadyCallback fn;
    void *user_arg;
} client_callback;

static void call_client(void *user, xt_status s) {
    client_callback c = *(client_callback *)user;
    base_free(user);
    c.fn(face_error(s), c.user_arg);
}

FACE(Event_OnReady) {
    client_callback *c = base_malloc(sizeof *c);
    if (!c) return status_oom(sizeof *c, "a callback");
    *c = (client_callback){a->callback, a->user_arg};
    xt_status s = face_event_then(a->event, call_client, c);
    if (s) base_free(c);
    return s;
}

/* A mark of work that a client follows; it is told of nothing, and ends with its handle. */
struct PJRT_AsyncTrackingEvent {
    PJRT_Device *device;
};

FACE(Device_CreateAsyncTrackingEvent) {
    a->event = face_handle_new(sizeof *a->event);
    if (!a->event) return status_oom(sizeof *a->event, "an event");
    a->event->device = a->device;
    FACE_GIVE(a->event);
    return NULL;
}

void face_tracking_end(void *handle) {
    face_handle_free(handle, sizeof(PJRT_AsyncTrackingEvent));
}

FACE(AsyncTrackingEvent_Destroy) {
    (void)a;
    return NULL;
}

FACE(Event_Create) {
    a->event = face_event_new();
    if (!a->event) return status_oom(sizeof *a->event, "an event");
    atomic_store(&a->event->open, true);
    FACE_GIVE(a->event);
    return NULL;
}

FACE(Event_Set) {
    if (!atomic_exchange(&a->event->open, false))
        return status_new(XT_FAILED_PRECONDITION, NULL,
                          "PJRT_Event_Set: the event is set already, or was not made by PJRT_Event_Create");
    xt_status s = NULL;
    if (a->error_code != PJRT_OK)
        s = face_take_error(face_callback_error(a->error_code, a->error_message, a->error_message_size),
                            "set by the client");
    face_event_set(a->event, s);
    return NULL;
}
