/* What a thread's modules are for: which of them optimizers train, and which are in evaluation mode. Kept from the
 * first change on, so that whoever asks later (the log engine, at a program's first value) is told what was said
 * before. */
#include "lazy/core/ctx.h"

struct lazy_mode {
    uint64_t module;
    bool evaluates, optimized;
    bool trains; /* though it evaluates */
    bool stepped; /* its optimizer, since a module was last put back into training mode */
};

/* NULL: a module of which nothing was said; made where there is memory, if `make`. */
static struct lazy_mode *mode_of(lazy_ctx *c, uint64_t module, bool make) {
    for (size_t i = 0; i < c->n_modes; i++)
        if (c->modes[i].module == module) return &c->modes[i];
    struct lazy_mode fresh = {.module = module};
    if (!make || !VEC_PUSH(c->modes, c->n_modes, c->cap_modes, fresh)) return NULL;
    return &c->modes[c->n_modes - 1];
}

/* The batch was taken for an evaluation's, and is one of the training's. */
static void stepped(lazy_ctx *c, struct lazy_mode *m) {
    lazy_position *at = lazy_position_of_thread();
    if (m->evaluates && !m->trains) {
        c->stepped_evaluating = true;
        at->samples += at->uncounted;
        at->uncounted = 0;
        if (at->loader && at->loader == at->passes[LAZY_EVALUATED].loader)
            at->passes[LAZY_TRAINED] = at->passes[LAZY_EVALUATED];
        for (int i = 0; i < at->n_open; i++)
            if (at->open[i].at.loader == at->loader) at->open[i].kind = LAZY_TRAINED;
    }
    m->trains = m->evaluates;
    m->stepped = true;
}

/* What is trained from here on shows by the steps to come. */
static void trains_again(lazy_ctx *c, struct lazy_mode *m) {
    for (size_t i = 0; m->evaluates && i < c->n_modes; i++) c->modes[i].stepped = false;
    m->evaluates = m->trains = false;
}

void lazy_module_now(uint64_t module, lazy_module_is what) {
    bool news = what == LAZY_MODULE_EVALUATING || what == LAZY_MODULE_OPTIMIZED;
    lazy_ctx *c = news ? lazy_ctx_get() : lazy_ctx_there();
    struct lazy_mode *m = c ? mode_of(c, module, news) : NULL;
    if (!m) return;
    switch (what) {
    case LAZY_MODULE_TRAINING: trains_again(c, m); break;
    case LAZY_MODULE_EVALUATING:
        m->evaluates = true;
        m->trains = false;
        break;
    case LAZY_MODULE_OPTIMIZED: m->optimized = true; break;
    case LAZY_MODULE_STEPPED: stepped(c, m); break;
    case LAZY_MODULE_GONE: *m = c->modes[--c->n_modes]; break;
    }
}

/* Of several modules with optimizers those count that are trained now; before anything is, any that evaluates does. */
bool lazy_evaluates(void) {
    const lazy_ctx *c = lazy_ctx_there();
    size_t optimized = 0, evaluated = 0, trained = 0, trained_evaluated = 0, others = 0;
    for (size_t i = 0; c && i < c->n_modes; i++) {
        const struct lazy_mode *m = &c->modes[i];
        bool evaluates = m->evaluates && !m->trains, is_trained = m->optimized && m->stepped;
        optimized += m->optimized;
        evaluated += m->optimized && evaluates;
        trained += is_trained;
        trained_evaluated += is_trained && evaluates;
        others += evaluates;
    }
    if (trained) return trained_evaluated == trained;
    return optimized ? evaluated > 0 : others > 0;
}

bool lazy_stepped_evaluating(void) {
    lazy_ctx *c = lazy_ctx_there();
    bool was = c && c->stepped_evaluating;
    if (c) c->stepped_evaluating = false;
    return was;
}
