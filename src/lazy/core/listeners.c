/* What listeners.h says first. */
#include "lazy/core/listeners.h"

#include "base/base.h"

bool lazy_listen(lazy_listeners *l, const void *data, size_t n) {
    lazy_listener *new = base_malloc(sizeof *new + n);
    if (!new) return false;
    atomic_init(&new->next, NULL);
    memcpy(new->data, data, n);
    pthread_mutex_lock(&l->lock);
    atomic_store_explicit(l->last ? &l->last->next : &l->first, new, memory_order_release);
    l->last = new;
    pthread_mutex_unlock(&l->lock);
    return true;
}
