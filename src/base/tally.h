/* Numbers that every step adds to, by the thread that runs most steps for a nanosecond instead of an atomic's five: each number is two, one that only the owner
 * thread writes (a plain add) and one for everybody else (an atomic add). Their sum is exact once threads are at rest, as with one atomic.
 * The first thread that asks becomes the owner for the life of the process; a forked child inherits it with the thread that forked. */
#ifndef XT_SRC_BASE_TALLY_H
#define XT_SRC_BASE_TALLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern __thread bool tally_owner;
void tally_own(void); /* counters.c: makes this thread the owner unless there is one */

static inline void tally_add(_Atomic int64_t *owned, _Atomic int64_t *others, int64_t delta) {
    if (tally_owner) atomic_store_explicit(owned, atomic_load_explicit(owned, memory_order_relaxed) + delta, memory_order_relaxed);
    else atomic_fetch_add_explicit(others, delta, memory_order_relaxed);
}

static inline int64_t tally_get(const _Atomic int64_t *owned, const _Atomic int64_t *others) {
    return atomic_load_explicit(owned, memory_order_relaxed) + atomic_load_explicit(others, memory_order_relaxed);
}

#endif
