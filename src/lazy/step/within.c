/* What lives on where a call ends steps by itself, without growing in a loop that has no boundaries. */
#include "lazy/step/within.h"

#include "lazy/core/ctx.h"

/* Of the tensors that were there before the call: which live on through this end of a step. Batches do, until xt_next
 * takes them; what was made since the step before the call, which the program may go on to use; and what the ending
 * step has read. So what a loop without boundaries leaves behind does not grow. */
static bool hold_tensors(lazy_ctx *c, const lazy_within *w, src_id at) {
    for (size_t i = 0; i < w->held && i < c->n_step_slots; i++) {
        lazy_slot *s = &c->slots[c->step_slots[i]];
        if (!s->live || s->persistent || s->failed || s->outlives_step) continue;
        if (!s->value) {
            s->outlives_step = s->buf && (s->leaf || s->buf->info.role == LAZY_BATCH || s->buf->info.step >= w->since);
            continue;
        }
        lazy_request q = {.t = {c->step_slots[i], s->generation},
                          .value = s->value,
                          .to_slot = true,
                          .asked = {"the program, behind a call that ends steps", at}};
        if (!VEC_PUSH(c->requests, c->n_requests, c->cap_requests, q)) return false;
        s->outlives_step = true;
    }
    return true;
}

lazy_within lazy_within_begin(void) {
    const lazy_ctx *c = lazy_ctx_get();
    return c ? (lazy_within){c->n_step_slots, c->step} : (lazy_within){0};
}

bool lazy_boundary_within(lazy_cause cause, const xt_src *src, lazy_within *w) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c || c->in_boundary) return c != NULL;
    if (!hold_tensors(c, w, src_intern(src)))
        lazy_fail(status_oom(sizeof(lazy_request), "the tensors behind a call that ends steps"));
    bool ok = lazy_boundary(cause, src);
    w->held = c->n_step_slots;
    return ok;
}
