/* What lives on where a call ends steps by itself, without growing in a loop that has no boundaries. */
#include "lazy/step/within.h"

#include "lazy/core/ctx.h"
#include "lazy/core/left.h"
#include "lazy/step/step.h"

static bool hold_value(lazy_ctx *c, uint32_t index, const char *by, src_id at) {
    lazy_slot *s = &c->slots[index];
    lazy_request q = {.t = {index, s->generation}, .value = s->value, .to_slot = true, .asked = {by, at}};
    s->outlives_step = true;
    return VEC_PUSH(c->requests, c->n_requests, c->cap_requests, q);
}

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
        if (!hold_value(c, c->step_slots[i], "the program, behind a call that ends steps", at)) return false;
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

/* What is printed has a request: no output more. */
static bool shares_request(lazy_ctx *c, uint32_t index) {
    const lazy_slot *s = &c->slots[index];
    for (size_t k = 0; k < c->n_requests; k++) {
        lazy_request *q = &c->requests[k];
        if (q->value != s->value || q->to_slot || q->also.slot) continue;
        q->also = (xt_tensor){index, s->generation};
        return true;
    }
    return false;
}

/* A value that has been read is there: the step need not give it out again. */
static bool was_read(lazy_slot *s) {
    if (!s->read_buf || s->layout) return false;
    lazy_buf_retain(s->buf = s->read_buf);
    return s->outlives_step = true;
}

static bool in_step_of_loop(const lazy_ctx *c) {
    return c->in_step_of_loop && lazy_errors_held(); /* in a call that was not left by longjmp */
}

/* What xt_backward was called for, and what was on the way to it as one number: a loss that was divided for it. */
static bool is_loss(const lazy_slot *s) {
    return s->is_loss || (s->value->type->count == 1 && lazy_v_needs_grad(s->value) && !s->of_update);
}

/* The batch is used again, and so are arrays and what was computed in the step before, where two files are written one
 * after the other. Of what the step computes, the losses, and where there is none yet, or behind the last backward pass
 * (in a loop without boundaries the next iteration may have begun there), what no op has read and no update has made:
 * the others were on the way to them, and to give those out as well would cost memory for every handle of the step. In
 * a step of a loop's, what was there before the first such end lives as long as the step, and so does what gradients
 * flow into. A loop that the program runs there leaves the rest behind, as it would elsewhere, so nothing grows. */
void lazy_hold_in_step(lazy_ctx *c, lazy_cause cause, const xt_src *src) {
    bool ok = true, differentiated = false, of_loop = in_step_of_loop(c), first = of_loop && !c->cut_in_it;
    if (cause != LAZY_CHECKPOINT && !of_loop) return;
    c->cut_in_it = true;
    for (size_t i = 0; i < c->n_step_slots; i++) {
        const lazy_slot *s = &c->slots[c->step_slots[i]];
        differentiated = differentiated || (s->live && s->value && s->is_loss);
    }
    size_t behind = differentiated ? c->n_swept : 0;
    for (size_t i = 0; i < c->n_step_slots && ok; i++) {
        lazy_slot *s = &c->slots[c->step_slots[i]];
        if (!s->live || s->persistent || s->failed || s->outlives_step) continue;
        if (s->value && (is_loss(s) || s->of_loop || (i >= behind && s->value->uses == 0 && !s->of_update))) {
            s->of_loop |= first || (of_loop && lazy_v_needs_grad(s->value));
            ok = was_read(s) || shares_request(c, c->step_slots[i]) ||
                 hold_value(c, c->step_slots[i], "the program, behind what ended the step", src_intern(src));
        } else if (s->buf && !s->value)
            s->outlives_step = s->of_loop || s->leaf || s->buf->info.step + LAZY_FILES >= c->step ||
                               (s->buf->info.role == LAZY_BATCH && cause != LAZY_LOADER);
    }
    if (!ok) lazy_fail(status_oom(sizeof(lazy_request), "the tensors behind what ended the step"));
}

void lazy_in_step_of_loop(bool on) {
    lazy_ctx *c = lazy_ctx_there();
    if (!c) return;
    c->in_step_of_loop = on;
    c->cut_in_it = false;
}

void lazy_goes_on_with(xt_tensor t) {
    lazy_ctx *c = lazy_ctx_there();
    lazy_slot *s = c && t.slot ? lazy_slot_of(c, t) : NULL;
    if (s && !s->persistent) s->of_loop = true;
}

static bool is_same_way(call_path a, call_path b) {
    return a == b || !a || !b;
}

static lazy_called_at *place_of(xt_step *f, src_id line, call_path way) {
    for (size_t i = 0; i < f->calls.n; i++)
        if (f->calls.at[i].line == line && is_same_way(f->calls.at[i].way, way)) return &f->calls.at[i];
    return NULL;
}

static bool may_die(const lazy_slot *s) {
    return s->live && !s->persistent && !s->failed && s->buf && !s->value && !s->leaf && !s->outlives_step;
}

static bool is_made_anew(const lazy_ctx *c, const lazy_slot *s, int64_t since) {
    for (size_t i = c->n_step_slots; i-- > 0;) {
        const lazy_slot *other = &c->slots[c->step_slots[i]];
        if (other->live && other->step >= since && other->src == s->src && is_same_way(other->way, s->way)) return true;
    }
    return false;
}

/* The loop's own boundary has not come for so long that there is none. */
static bool is_unended(const lazy_ctx *c, const lazy_called_at *p) {
    return p->calls > LAZY_LISTED && !in_step_of_loop(c);
}

/* Arrays are of one iteration; results may be listed: the newest stay where they are, small ones live on as older. */
static void end_iteration_before(lazy_ctx *c, const lazy_called_at *p, src_id line) {
    size_t left = 0;
    int64_t listed = p->newest[p->calls % LAZY_LISTED];
    for (size_t i = 0; i < c->n_step_slots; i++) {
        uint32_t index = c->step_slots[i];
        const lazy_slot *s = &c->slots[index];
        int64_t since = s->result ? listed : p->last;
        bool of_loop = may_die(s) && s->step > p->first && s->step < since && s->used <= p->last;
        bool dies = of_loop && is_made_anew(c, s, p->last);
        if (dies && s->result)
            lazy_older_add(c, index, line);
        else if (dies)
            lazy_slot_free(c, index, line);
        else if (s->live)
            c->step_slots[left++] = index;
    }
    c->n_step_slots = left;
}

/* Looked at from the second call in a row on: a loop with boundaries of its own has no use for it, and pays nothing. */
static call_path way_of_call(lazy_ctx *c, xt_step *f) {
    bool in_a_row = f->calls.own_ends == c->own_ends;
    f->calls.own_ends = c->own_ends;
    if (in_a_row)
        lazy_watch_ways(c);
    else
        c->told = NULL;
    return lazy_way_here(c);
}

call_path lazy_call_comes_round(lazy_ctx *c, xt_step *f, const xt_src *src, int n, const xt_tensor *in) {
    src_id line = src_intern(src);
    call_path way = way_of_call(c, f);
    lazy_called_at *p = place_of(f, line, way);
    for (int i = 0; i < n; i++) {
        lazy_slot *s = lazy_slot_of(c, in[i]);
        if (s) s->used = c->step;
    }
    if (!p) {
        lazy_called_at fresh = {.line = line, .own_ends = -1};
        if (!VEC_PUSH(f->calls.at, f->calls.n, f->calls.cap, fresh)) return way; /* the loop keeps more alive */
        p = &f->calls.at[f->calls.n - 1];
    }
    if (p->own_ends != c->own_ends) {
        p->own_ends = c->own_ends;
        p->first = c->step;
        p->calls = 0;
    }
    p->calls++;
    if (is_unended(c, p)) end_iteration_before(c, p, line);
    p->last = p->newest[p->calls % LAZY_LISTED] = c->step;
    p->way = way;
    return way;
}
