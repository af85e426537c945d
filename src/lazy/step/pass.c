/* Where the passes over loaders are that a loop is in: the training's newest batch, and an evaluation's, which the
 * newest batch of all says nothing of once it is another loader's. A pass may come within another one, over references,
 * say; behind it the outer one is at the batch where it was. Passes that have begun and are not over lie on a stack,
 * the outermost first. That one was left (by `break`, or as the other half of a pair) shows when the one it came within
 * goes on. */
#include "lazy/lazy.h"
#include "lazy/step/step.h"

static void end(lazy_pass *p) {
    if (p->loader && !p->over) p->over = lazy_loop_steps() + 1;
}

/* Its place on the stack; -1: it is not there. */
static int find(const lazy_position *at, const void *loader) {
    int i = at->n_open;
    while (i-- > 0 && at->open[i].at.loader != loader) {
    }
    return i;
}

/* The innermost one of the kind that goes on behind the pass at `i`. */
static lazy_pass outer_of(const lazy_position *at, int i, int kind) {
    while (i-- > 0)
        if (at->open[i].kind == kind && !at->open[i].at.over) return at->open[i].at;
    return (lazy_pass){0};
}

/* The innermost one goes off the stack. */
static void pop(lazy_position *at) {
    int i = --at->n_open;
    const lazy_open_pass p = at->open[i];
    for (int k = 0; k < 2; k++) {
        if (at->passes[k].loader != p.at.loader) continue;
        lazy_pass outer = outer_of(at, i, k);
        if (outer.loader && !at->passes[k].over)
            at->passes[k] = outer;
        else
            end(&at->passes[k]);
    }
    if (!i || !p.around.loader || at->loader != p.at.loader) return;
    at->loader = p.around.loader;
    at->batch_size = p.around.batch_size;
    at->batch = p.around.batch;
    at->epoch = p.around.epoch;
    at->padded = p.around.padded;
    at->uncounted = 0;
}

static void leave(lazy_position *at) {
    int i = at->n_open - 1, kind = at->open[i].kind;
    lazy_pass outer = outer_of(at, i, kind);
    if (outer.loader) lazy_pass_left(at->open[i].at.loader, outer.loader, kind);
    pop(at);
}

void lazy_pass_goes_on(const void *loader) {
    lazy_position *at = lazy_position_of_thread();
    for (int i = find(at, loader); i >= 0 && at->n_open > i + 1;) leave(at);
}

void lazy_batch_given(lazy_pass around) {
    lazy_position *at = lazy_position_of_thread();
    int kind = lazy_evaluates() ? LAZY_EVALUATED : LAZY_TRAINED, i = find(at, at->loader);
    if (kind == LAZY_TRAINED) { /* one that was left early */
        end(&at->passes[LAZY_EVALUATED]);
        for (int j = 0; j < at->n_open; j++)
            if (at->open[j].kind == LAZY_EVALUATED) end(&at->open[j].at);
    }
    at->passes[kind] = (lazy_pass){at->loader, at->batch_size, at->batch, at->epoch, at->padded, 0};
    if (i < 0 && at->n_open < LAZY_OPEN_PASSES) at->open[i = at->n_open++].around = around;
    if (i < 0) return;
    at->open[i].at = at->passes[kind];
    at->open[i].kind = kind;
}

void lazy_pass_ends(const void *loader) {
    lazy_position *at = lazy_position_of_thread();
    int i = find(at, loader);
    lazy_pass outer[2] = {{0}, {0}};
    for (int k = 0; k < 2 && i >= 0; k++) outer[k] = outer_of(at, i, k);
    lazy_pass_ended(loader, outer);
    lazy_pass_over(loader);
}

void lazy_pass_over(const void *loader) {
    lazy_position *at = lazy_position_of_thread();
    int i = find(at, loader);
    lazy_pass_goes_on(loader);
    if (i >= 0) leave(at);
    for (int k = 0; k < 2; k++)
        if (at->passes[k].loader == loader) end(&at->passes[k]);
}
