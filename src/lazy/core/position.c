/* Where a thread's loop is, as rows and reports count it. Nothing of a trace is looked at, so errors may ask. */
#include "lazy/lazy.h"

lazy_position *lazy_position_of_thread(void) {
    static __thread lazy_position p = {.batch_size = 1};
    return &p;
}

int64_t lazy_shown_step(int64_t step) {
    int64_t of_trainer = lazy_position_of_thread()->step;
    return of_trainer ? of_trainer : step;
}
