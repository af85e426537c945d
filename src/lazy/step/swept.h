/* What xt_backward has done in this thread, for whoever tells what a loop forgets (src/optim/forgotten.c). */
#ifndef XT_SRC_LAZY_SWEPT_H
#define XT_SRC_LAZY_SWEPT_H

#include "lazy/lazy.h"

typedef struct lazy_swept {
    int64_t calls;
    src_id at; /* the last */
    int64_t updated; /* the last step in which an optimizer stepped; -1: none */
    /* In step mixed_step xt_backward at `at` has added to a gradient of `mixed` that another line (mixed_by) left there
     * in an earlier step, and an optimizer has stepped since. */
    xt_tensor mixed;
    src_id mixed_by;
    int64_t mixed_step;
} lazy_swept;
lazy_swept *lazy_swept_here(void);
void lazy_swept_count(const xt_src *src); /* xt_backward is called */

/* A call of xt_backward behind the first `calls` has added to the parameter's gradient: its line, else 0. */
src_id lazy_swept_since(xt_tensor param, int64_t calls);
void lazy_note_clipped(xt_tensor param, src_id at); /* its gradient */
src_id lazy_clipped_at(xt_tensor param); /* 0: it has none, or was not clipped */

bool lazy_has_gradient(xt_tensor t); /* without being a part of a recording, as lazy_grad is */
/* fn(user, parameter, its name, where it was made) for each parameter that has a gradient now. */
typedef void (*lazy_gradient_fn)(void *user, xt_tensor param, const char *name, src_id made);
void lazy_each_gradient(lazy_gradient_fn fn, void *user);

/* What this step's ops make of a parameter that xt_backward has not reached. */
typedef enum lazy_unreached {
    /* nothing that tells: it is not read, or under xt_no_grad_begin, or made to end by xt_detach; or no loss is there
     */
    LAZY_NOT_READ,
    LAZY_NO_DERIVATIVE, /* a loss, by an op that has no derivative */
    LAZY_NOT_IN_LOSS /* nothing that a loss is made of */
} lazy_unreached;
/* *out_at: the line of that op, or of the last op of what is made of it. Marks of values are overwritten. */
lazy_unreached lazy_why_unreached(xt_tensor param, src_id *out_at);

#endif
