/* Numbers that every step adds to, by the thread that runs most steps for a nanosecond instead of an atomic's five:
 * each number is two, one that only the owner thread writes (a plain add) and one for everybody else (an atomic add).
 * Their sum is exact once threads are at rest, as with one atomic. The first thread that asks becomes the owner for the
 * life of the process; a forked child inherits it with the thread that forked. A thread is known by its thread pointer:
 * in a shared library that is a register, where a variable of the thread would be a call. One that gets a dead owner's
 * pointer is the owner. */
#ifndef XT_SRC_BASE_TALLY_H
#define XT_SRC_BASE_TALLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

static inline uintptr_t tally_thread(void) {
#if defined(__x86_64__)
    uintptr_t p;
    __asm__("mov %%fs:0, %0" : "=r"(p)); /* the first word of a thread's block is its own address */
    return p;
#elif defined(__aarch64__)
    uintptr_t p;
    __asm__("mrs %0, tpidr_el0" : "=r"(p));
    return p;
#else
    static __thread char own;
    return (uintptr_t)&own;
#endif
}

extern _Atomic uintptr_t tally_owner; /* 0: none yet */
void tally_own(void); /* counters.c: makes this thread the owner unless there is one */

static inline bool tally_mine(void) {
    return atomic_load_explicit(&tally_owner, memory_order_relaxed) == tally_thread();
}

static inline void tally_add(_Atomic int64_t *owned, _Atomic int64_t *others, int64_t delta) {
    if (tally_mine())
        atomic_store_explicit(owned, atomic_load_explicit(owned, memory_order_relaxed) + delta, memory_order_relaxed);
    else
        atomic_fetch_add_explicit(others, delta, memory_order_relaxed);
}

static inline int64_t tally_get(const _Atomic int64_t *owned, const _Atomic int64_t *others) {
    return atomic_load_explicit(owned, memory_order_relaxed) + atomic_load_explicit(others, memory_order_relaxed);
}

#endif
