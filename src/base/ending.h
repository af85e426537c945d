/* One thread ends the program while others run. From the moment that it begins to, no call of another thread begins:
 * it waits until the process is gone. Calls that are under way in the device are waited for, because exit() takes down
 * what they use. The library's own threads go on, so that what is under way is written. */
#ifndef XT_SRC_BASE_ENDING_H
#define XT_SRC_BASE_ENDING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

extern atomic_bool ending_now;

/* This thread ends the program; does not return where another does already. */
void ending_begin(void);
/* This thread is one of the library's own, which ending_begin of another does not hold. */
void ending_exempts_thread(void);
/* Waits, at most so long, until no other thread is between ending_enter and ending_leave; false: one is. */
bool ending_wait(double seconds);

void ending_hold(void);
/* Where a call begins. */
static inline void ending_check(void) {
    if (__builtin_expect(atomic_load_explicit(&ending_now, memory_order_relaxed), false)) ending_hold();
}

/* Around what must not be under way when the process goes; they nest. ending_enter is for where a thread can be held,
 * with no lock and nothing half done; ending_enter_within only counts. */
void ending_enter(void);
void ending_enter_within(void);
void ending_leave(void);

/* --- pthread_cancel ---
 * It ends a thread where that waits or writes, which in the middle of a call would be with locks held. In every public
 * function that is no op, and in what an op may wait in, it is put off: to the beginning of the next such function, or
 * to where a pass has nothing in hand. */
extern __thread bool ending_cancellable; /* the thread was when it came into the library */
static inline int ending_cancel_later(void) {
    int was;
    pthread_testcancel();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
    if (was == PTHREAD_CANCEL_ENABLE) ending_cancellable = true;
    return was;
}
static inline void ending_cancel_again(const int *was) {
    if (*was != PTHREAD_CANCEL_ENABLE) return;
    ending_cancellable = false;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
}
#define ENDING_CANCEL_LATER \
    __attribute__((cleanup(ending_cancel_again), unused)) const int cancel_was = ending_cancel_later()
void ending_cancel_point(void);

#endif
