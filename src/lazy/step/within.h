/* Ends of steps within a call that ends steps by itself (the evaluations of a closure): the program's tensors live on.
 *
 *     lazy_within w = lazy_within_begin();             as the call begins
 *     while (...) lazy_boundary_within(LAZY_MARK_STEP, src, &w); */
#ifndef XT_SRC_LAZY_WITHIN_H
#define XT_SRC_LAZY_WITHIN_H

#include "lazy/lazy.h"

struct lazy_ctx;
struct xt_step;

typedef struct lazy_within {
    size_t held; /* step slots that were there before the call */
    int64_t since; /* the step in which the call began */
} lazy_within;
lazy_within lazy_within_begin(void);
bool lazy_boundary_within(lazy_cause cause, const xt_src *src, lazy_within *w);
/* A loop of the library's has a batch, and calls functions of the program's about it (a Trainer's hooks, its
 * training_step): what ends steps under these, but for the loop itself, leaves alone what a file would, and what the
 * loop says it goes on to use, for as long as this is on. Gradients flow into that over all such ends. */
void lazy_in_step_of_loop(bool on);
void lazy_goes_on_with(xt_tensor t);
/* A compiled step is called at that line: of a loop, where it was called there before. Then what the iteration before
 * made in front of its call dies, once the loop has made another in its place; not what the loop, or this call, has
 * used since, and not what was there before the loop. Gives how the program came to the call. */
call_path lazy_call_comes_round(struct lazy_ctx *c, struct xt_step *f, const xt_src *src, int n, const xt_tensor *in);

#endif
