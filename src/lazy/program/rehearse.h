/* Rehearsals: what a training program would send to a device, for xtrain plan. */
#ifndef XT_SRC_LAZY_PROGRAM_REHEARSE_H
#define XT_SRC_LAZY_PROGRAM_REHEARSE_H

#include "lazy/lazy.h"

typedef struct lazy_rehearsed { /* one program */
    char *text; /* with ordinals and the user's lines */
    size_t text_size;
    size_t n_inputs;
    lazy_live *inputs; /* type NULL: the step's scalars */
    int partitions;
    int64_t runs; /* in the later half of the steps: with two optimizer steps rehearsed, what one of them takes */
    lazy_live *others; /* live during a run without being an input, when they were most */
    size_t n_others;
    int64_t other_bytes;
} lazy_rehearsed;
typedef struct lazy_ran {
    size_t program; /* from 0 */
    int64_t step, moved; /* moved: bytes between host and device before it */
} lazy_ran;
typedef struct lazy_rehearsal {
    lazy_rehearsed *programs;
    size_t n, cap;
    lazy_ran *runs; /* in order */
    size_t n_runs, cap_runs;
    /* bytes between host and device after the first program of the later half: what a step itself moves,
     * not its batch */
    int64_t moved;
} lazy_rehearsal;
/* Runs fn on the device "dry:N" and tears everything down again: states, trace, programs, device. Refused when a device
 * is open. fn's result other than 0, or an error it left pending, is the status. */
xt_status lazy_rehearse(int64_t devices, int (*fn)(void *user), void *user, lazy_rehearsal **out);
void lazy_rehearsal_free(lazy_rehearsal *r);

#endif
