/* Where the passes over loaders are that a loop is in: the training's newest batch, and an evaluation's, which the
 * newest batch of all says nothing of once it is another loader's. A pass may come within another one of its kind, over
 * references, say; behind it the outer one is at the batch where it was. */
#include "lazy/lazy.h"

/* It goes on behind the pass of another loader that begins now. */
static bool is_open(const lazy_pass *p, const void *loader) {
    return p->loader && p->loader != loader && !p->over;
}

static void end(lazy_pass *p) {
    if (p->loader && !p->over) p->over = lazy_loop_steps() + 1;
}

void lazy_batch_given(bool begins, lazy_pass outer[static 2]) {
    lazy_position *at = lazy_position_of_thread();
    for (int k = 0; k < 2 && begins; k++)
        outer[k] = is_open(&at->passes[k], at->loader) ? at->passes[k] : (lazy_pass){0};
    int kind = lazy_evaluates() ? LAZY_EVALUATED : LAZY_TRAINED;
    if (kind == LAZY_TRAINED) end(&at->passes[LAZY_EVALUATED]); /* one that was left early */
    at->passes[kind] = (lazy_pass){at->loader, at->batch_size, at->batch, at->epoch, at->padded, 0};
}

void lazy_pass_over(const void *loader, const lazy_pass outer[static 2]) {
    lazy_pass *passes = lazy_position_of_thread()->passes;
    for (int k = 0; k < 2; k++) {
        if (passes[k].loader != loader) continue;
        if (outer[k].loader && !passes[k].over)
            passes[k] = outer[k];
        else
            end(&passes[k]);
    }
}
