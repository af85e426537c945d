/* Objects a program need not free: modules, optimizers, loaders, trainers made by a thread are freed by its xt_finish,
 * newest first; what threads left that have ended, by that of the last thread. One list for all threads: whoever frees
 * an object by hand takes it out, whichever thread made it, or that thread's xt_finish would free it again. */
#include "base/handle.h"
#include "lazy/core/ctx.h"

#include <pthread.h>

typedef struct owned {
    void *object;
    void (*free_fn)(void *);
    uint64_t thread; /* 0: it has ended */
} owned;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static owned *items;
static size_t n_items, cap_items;

bool lazy_own(void *object, void (*free_fn)(void *)) {
    owned o = {object, free_fn, handle_thread()};
    if (!lazy_ctx_get()) return false; /* by which the thread's end is told */
    pthread_mutex_lock(&lock);
    bool ok = VEC_PUSH(items, n_items, cap_items, o);
    pthread_mutex_unlock(&lock);
    return ok;
}

bool lazy_owns(const void *object) {
    bool found = false;
    uint64_t me = handle_thread();
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_items && !found; i++) found = items[i].object == object && items[i].thread == me;
    pthread_mutex_unlock(&lock);
    return found;
}

/* Under the lock. The list goes with its last object: a program that frees what it made leaves nothing behind. */
static owned take_out(size_t at) {
    owned o = items[at];
    memmove(&items[at], &items[at + 1], (n_items - at - 1) * sizeof *items);
    if (--n_items) return o;
    base_free(items);
    items = NULL;
    cap_items = 0;
    return o;
}

void lazy_disown(const void *object) {
    pthread_mutex_lock(&lock);
    for (size_t i = n_items; i-- > 0;)
        if (items[i].object == object) {
            take_out(i);
            break;
        }
    pthread_mutex_unlock(&lock);
}

void lazy_leave_owned(void) {
    uint64_t me = handle_thread();
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_items; i++)
        if (items[i].thread == me) items[i].thread = 0;
    pthread_mutex_unlock(&lock);
}

/* The newest of this thread, taken out; false: there is none. What frees it may free others, so each is looked for
 * anew. */
static bool newest(owned *out) {
    bool found = false, last = lazy_ctx_count() <= 1;
    uint64_t me = handle_thread();
    pthread_mutex_lock(&lock);
    for (size_t i = n_items; i-- > 0 && !found;)
        if (items[i].thread == me || (last && !items[i].thread)) *out = take_out(i), found = true;
    pthread_mutex_unlock(&lock);
    return found;
}

void lazy_free_owned(void) {
    for (owned o; newest(&o); handle_unpin(o.object)) {
        handle_pin(o.object); /* a function of the program's that is called meanwhile may not free it again */
        o.free_fn(o.object);
    }
}
