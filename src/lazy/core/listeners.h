/* Those who are told when something happens: a list that only grows, in the order of registration. Any thread may add
 * to it while others go through it, which takes no lock: a listener that was told is never moved or freed. */
#ifndef XT_SRC_LAZY_LISTENERS_H
#define XT_SRC_LAZY_LISTENERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lazy_listener {
    _Atomic(struct lazy_listener *) next;
    _Alignas(16) char data[];
} lazy_listener;
typedef struct lazy_listeners {
    pthread_mutex_t lock; /* of those who add */
    _Atomic(lazy_listener *) first;
    lazy_listener *last;
} lazy_listeners;
#define LAZY_LISTENERS_INIT \
    { .lock = PTHREAD_MUTEX_INITIALIZER }

bool lazy_listen(lazy_listeners *l, const void *data, size_t n); /* copies; false without memory */

static inline const lazy_listener *lazy_listener_first(lazy_listeners *l) {
    return atomic_load_explicit(&l->first, memory_order_acquire);
}
static inline const lazy_listener *lazy_listener_next(const lazy_listener *i) {
    return atomic_load_explicit(&((lazy_listener *)(uintptr_t)i)->next, memory_order_acquire);
}

#endif
