/* The end of the program by one of its threads. */
#include "base/ending.h"
#include "base/base.h"

#include <time.h>
#include <unistd.h>

atomic_bool ending_now;
static atomic_int under_way; /* threads between enter and leave */
static __thread bool exempt, ender;
static __thread int depth, cancel_was;
__thread bool ending_cancellable;
enum { STILL_MS = 10 };

void ending_exempts_thread(void) {
    exempt = true;
}

void ending_begin(void) {
    if (ender) return; /* an exit handler has come here again */
    if (atomic_exchange(&ending_now, true))
        for (;;) pause();
    exempt = ender = true;
}

void ending_hold(void) {
    if (exempt) return;
    if (depth) { /* from a function of the program's that such a call has called */
        depth = 0;
        atomic_fetch_sub(&under_way, 1);
    }
    for (;;) pause();
}

void ending_enter_within(void) {
    if (depth++) return;
    atomic_fetch_add(&under_way, 1);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_was);
}

void ending_enter(void) {
    ending_enter_within();
    if (depth == 1 && __builtin_expect(atomic_load(&ending_now), false)) ending_hold();
}

void ending_leave(void) {
    if (--depth) return;
    atomic_fetch_sub(&under_way, 1);
    pthread_setcancelstate(cancel_was, NULL);
}

void ending_cancel_point(void) {
    if (!ending_cancellable || depth) return;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    pthread_testcancel();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
}

/* None for a while: a call that began before the end did may be on its way there. */
bool ending_wait(double seconds) {
    const struct timespec ms = {.tv_nsec = 1000000};
    const int own = depth > 0;
    int64_t until = clock_ns() + (int64_t)(seconds * 1e9);
    for (int none = 0; none < STILL_MS; nanosleep(&ms, NULL)) {
        none = atomic_load(&under_way) > own ? 0 : none + 1;
        if (clock_ns() >= until) return false;
    }
    return true;
}
