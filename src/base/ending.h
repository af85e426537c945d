/* One thread ends the program while others run. From the moment that it begins to, no call of another thread begins:
 * it waits until the process is gone. Calls that are under way in the device are waited for, because exit() takes down
 * what they use. The library's own threads go on, so that what is under way is written. */
#ifndef XT_SRC_BASE_ENDING_H
#define XT_SRC_BASE_ENDING_H

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

#endif
