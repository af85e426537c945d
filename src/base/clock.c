/* Monotonic time in nanoseconds. A test's fake is installed while nothing else runs; the release store orders `user` before it. */
#include <stdatomic.h>
#include <time.h>

#include "base/base.h"

typedef int64_t (*clock_fn)(void *);
static _Atomic(clock_fn) fake;
static void *_Atomic fake_user;

int64_t clock_ns(void) {
    clock_fn fn = atomic_load_explicit(&fake, memory_order_acquire);
    if (fn) return fn(atomic_load_explicit(&fake_user, memory_order_relaxed));
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void clock_set_fake(int64_t (*fn)(void *), void *user) {
    atomic_store_explicit(&fake_user, user, memory_order_relaxed);
    atomic_store_explicit(&fake, fn, memory_order_release);
}
