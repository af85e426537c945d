/* Step boundaries: collect what the step must leave behind, run the one program that makes it, hand the results to
 * their slots, end the step. */
#include "coll/coll.h"
#include "base/ending.h"
#include "lazy/core/left.h"
#include "lazy/core/listeners.h"
#include "lazy/step/step.h"

#include <stdlib.h>

static lazy_listeners observers = LAZY_LISTENERS_INIT;

xt_status lazy_observe(const lazy_observer *o) {
    return lazy_listen(&observers, o, sizeof *o) ? NULL : status_oom(sizeof *o, "an observer of step boundaries");
}

static const lazy_observer *observer(const lazy_listener *i) {
    return (const lazy_observer *)(const void *)i->data;
}

/* The core knows nobody above it: who runs what it records under XT_DEBUG=eager is told to it here, in a file that no
 * program with steps is linked without. */
__attribute__((constructor)) static void attend_recording(void) {
    lazy_on_recorded(lazy_run_eagerly);
}

/* The thread goes: its step ends nowhere. */
static void step_freed(lazy_ctx *c) {
    base_free(c->done_fns);
    base_free(c->done_users);
    for (size_t i = 0; i < c->n_phases; i++) c->phases[i].done(c->phases[i].user);
    base_free(c->phases);
}

static const lazy_guest guest = {.freed = step_freed};

const char *lazy_cause_name(lazy_cause c) {
    static const char *const names[LAZY_CAUSE_COUNT] = {"step end",
                                                        "loader",
                                                        "xt_mark_step",
                                                        "value read (xt_item)",
                                                        "value read (xt_read)",
                                                        "xt_finish",
                                                        "checkpoint",
                                                        "evaluation",
                                                        "xt_wait",
                                                        "xt_call",
                                                        "next iteration",
                                                        "xt_module_build"};
    return c < LAZY_CAUSE_COUNT ? names[c] : "?";
}

bool lazy_within_iteration(lazy_cause c) {
    return c == LAZY_ITEM || c == LAZY_READ || c == LAZY_CHECKPOINT || c == LAZY_EVAL || c == LAZY_WAIT;
}

void lazy_when_step_done(lazy_done_fn fn, void *user) {
    lazy_ctx *c = lazy_ctx_get();
    if (c) lazy_attend(c, &guest);
    if (!c || !VEC_PUSH(c->done_fns, c->n_done, c->cap_done, fn)) return;
    if (!VEC_PUSH(c->done_users, c->n_done_users, c->cap_done_users, user)) c->n_done--;
    if (c->replay_log) lazy_replay_log_add(c, (lazy_replay_item){.kind = LAZY_REPLAY_DONE, .done = fn, .user = user});
}

static bool add_root(lazy_roots *r, ir_value *v, int32_t alias, const struct lazy_layout *layout,
                     lazy_requester requester) {
    if (r->n == r->cap) {
        size_t cap_values = r->cap, cap_alias = r->cap, cap_layouts = r->cap, cap_requesters = r->cap;
        if (!vec_grow((void **)&r->values, &cap_values, r->n + 1, sizeof *r->values)) return false;
        if (!vec_grow((void **)&r->alias_leaf, &cap_alias, r->n + 1, sizeof *r->alias_leaf)) return false;
        if (!vec_grow((void **)&r->layouts, &cap_layouts, r->n + 1, sizeof *r->layouts)) return false;
        if (!vec_grow((void **)&r->requesters, &cap_requesters, r->n + 1, sizeof *r->requesters)) return false;
        r->cap = cap_values < cap_alias ? cap_values : cap_alias;
        if (cap_requesters < r->cap) r->cap = cap_requesters;
        if (cap_layouts < r->cap) r->cap = cap_layouts;
    }
    r->values[r->n] = v;
    r->requesters[r->n] = requester;
    r->layouts[r->n] = layout;
    r->alias_leaf[r->n++] = alias;
    return true;
}

/* Gradients and dropped states of the last steps leave buffers that new values of the same type can take over. Which
 * buffers may be taken over is a matter of structure, so that it is the same in every step; whether one is at run time
 * (nobody else holds it) is decided in run.c. */
static int32_t dead_input_of_type(lazy_ctx *c, const ir_type *type, const struct lazy_layout *layout, bool *taken) {
    for (size_t i = 0; i < c->n_leaves; i++) {
        const lazy_leaf *l = &c->leaves[i];
        if (taken[i] || !l->buf || c->b.block->args[i]->type != type || l->layout != layout) continue;
        const lazy_slot *s = &c->slots[l->slot];
        if (s->live && s->generation == l->generation) continue;
        if (l->buf->info.role == LAZY_BATCH) continue; /* loaders may give a batch again */
        taken[i] = true;
        return (int32_t)i;
    }
    return -1;
}

typedef struct boundary {
    lazy_roots roots;
    uint32_t *slots; /* slot of root i; UINT32_MAX for a request */
    size_t n_slots, cap_slots;
    size_t *requests; /* request of root i */
    size_t n_requests, cap_requests;
    size_t n_own; /* roots of the step; behind them are those that XT_DEBUG=bounds looks at */
} boundary;

static bool add(boundary *b, ir_value *v, int32_t alias, const struct lazy_layout *layout, lazy_requester requester,
                uint32_t slot, size_t request) {
    return add_root(&b->roots, v, alias, layout, requester) && VEC_PUSH(b->slots, b->n_slots, b->cap_slots, slot) &&
           VEC_PUSH(b->requests, b->n_requests, b->cap_requests, request);
}

/* States first, then what was kept, then gradients: gradients come and go, and the order of the results, which is in
 * the key, must not depend on whether states (of the optimizer, of logs) were made before or after the gradients of
 * this window. */
static int rank_of(const lazy_slot *s) {
    return s->role == LAZY_GRADIENT ? 2 : !s->is_state;
}

static int32_t own_input(const lazy_slot *s) {
    return s->leaf && s->leaf->type == s->value->type ? (int32_t)s->leaf->index : -1;
}

static int32_t alias_of(lazy_ctx *c, const lazy_slot *s, bool *taken) {
    int32_t own = own_input(s);
    if (!s->leaf) return dead_input_of_type(c, s->value->type, s->layout, taken);
    if (own < 0 || taken[own]) return -1;
    taken[own] = true;
    return own;
}

static bool add_slot(const lazy_ctx *c, boundary *b, uint32_t index, int32_t alias) {
    const lazy_slot *s = &c->slots[index];
    lazy_requester requester = {s->is_state || s->role == LAZY_GRADIENT ? NULL : "xt_keep", s->kept ? s->kept : s->src,
                                s->kept ? s->src : 0};
    return add(b, s->value, alias, s->layout, requester, index, SIZE_MAX);
}

static xt_status collect(lazy_ctx *c, boundary *b) {
    bool *taken = base_calloc(c->n_leaves + 1, 1);
    bool ok = taken != NULL, superset = lazy_superset_serves(c);
    for (size_t k = 0; k < 3 * c->n_persistent && ok; k++) {
        uint32_t index = c->persistent[k % c->n_persistent];
        const lazy_slot *s = &c->slots[index];
        if (rank_of(s) != (int)(k / c->n_persistent) || !s->value || s->failed) continue;
        if (lazy_superset_owns(c, index)) continue;
        ok = add_slot(c, b, index, superset ? lazy_superset_alias(c, b->roots.n) : alias_of(c, s, taken));
    }
    for (size_t k = 0; k < c->n_requests && ok; k++) {
        if (!c->requests[k].value || (c->request_order && lazy_request_is_optional(&c->requests[k]))) continue;
        ok = add(b, c->requests[k].value, -1, NULL, c->requests[k].asked, UINT32_MAX, k);
    }
    for (size_t i = 0; i < c->n_request_order && ok; i++) {
        size_t k = c->request_order[i];
        ok = add(b, c->requests[k].value, -1, NULL, c->requests[k].asked, UINT32_MAX, k);
    }
    for (size_t i = 0; i < lazy_superset_owners(c) && ok; i++) {
        uint32_t index = lazy_superset_state(c, i);
        if (index != UINT32_MAX) ok = add_slot(c, b, index, own_input(&c->slots[index]));
    }
    base_free(taken);
    return ok ? NULL : status_oom(c->n_persistent * sizeof(void *), "the results of a step");
}

static xt_status hand_over(lazy_ctx *c, boundary *b, device_buffer **out) {
    xt_status first = NULL;
    for (size_t i = 0; i < b->n_own; i++) {
        if (b->slots[i] != UINT32_MAX) {
            lazy_slot *s = &c->slots[b->slots[i]];
            lazy_buf *nb = lazy_buf_new(out[i], s->src, s->name ? s->name : s->path, s->role, s->type, c->step);
            if (nb) nb->layout = s->layout;
            lazy_buf_kept(nb, s->kept, s->which);
            lazy_buf_release(s->buf);
            s->buf = nb;
            if (!nb && !first) first = status_oom(sizeof *nb, "a result of a step");
            lazy_host_drop(s);
        } else {
            lazy_request *q = &c->requests[b->requests[i]];
            q->buf = lazy_buf_new(out[i], c->b.src, 0, LAZY_VALUE, q->value->type, c->step);
            if (!q->buf && !first) first = status_oom(sizeof *q->buf, "a value to read");
        }
    }
    return first;
}

static xt_status start_requests(lazy_ctx *c) {
    xt_status first = NULL;
    for (size_t k = 0; k < c->n_requests; k++) {
        lazy_request *q = &c->requests[k];
        if (q->to_slot) {
            lazy_slot *t = lazy_slot_of(c, q->t);
            if (t && q->buf) {
                t->buf = q->buf; /* the reference goes along */
                t->outlives_step = true;
            } else
                lazy_buf_release(q->buf);
            continue;
        }
        lazy_slot *also = q->also.slot && q->buf ? lazy_slot_of(c, q->also) : NULL;
        if (also) {
            lazy_buf_retain(q->buf);
            also->buf = q->buf;
            also->outlives_step = true;
        }
        xt_status s = q->buf && q->fn ? lazy_reader_add(q->buf, q) : NULL;
        if ((s || !q->buf) && q->failed) q->failed(q->user);
        lazy_buf_release(q->buf);
        if (!first)
            first = s;
        else
            xt_status_free(s);
    }
    c->n_requests = 0;
    return first;
}

static void fail_requests(lazy_ctx *c) {
    for (size_t k = 0; k < c->n_requests; k++) {
        lazy_buf_release(c->requests[k].buf);
        if (c->requests[k].failed) c->requests[k].failed(c->requests[k].user);
    }
    c->n_requests = 0;
}

static void forget_results(boundary *b) {
    base_free(b->slots);
    base_free(b->requests);
    lazy_roots_free(&b->roots);
    *b = (boundary){0};
}

static bool add_bounds(void *user, ir_value *v, src_id at) {
    boundary *b = user;
    return add(b, v, -1, NULL, (lazy_requester){.what = "XT_DEBUG=bounds", .src = at}, UINT32_MAX, SIZE_MAX);
}

static xt_status collect_results(lazy_ctx *c, boundary *b) {
    xt_status s = collect(c, b);
    b->n_own = b->roots.n;
    if (!s && !lazy_bounds_roots(c, add_bounds, b)) s = status_oom(sizeof *b, "the bounds of indices");
    b->roots.also = c->requesters; /* borrowed */
    b->roots.n_also = c->n_requesters;
    b->roots.assigned = c->assigned; /* likewise */
    b->roots.n_assigned = c->n_assigned;
    return s;
}

/* The program of the step: one in memory, a superset that serves it, or none, and then it is to be made. */
static xt_status seek(lazy_ctx *c, boundary *b, lazy_sought *out) {
    lazy_known_as *superset;
    XT_TRY(lazy_program_seek(c, &b->roots, out));
    if (out->program) return NULL;
    xt_status s = lazy_superset_choose(c, out->key, &b->roots, b->slots, b->requests, &superset);
    if (!s && !superset) return NULL;
    lazy_sought_free(out);
    XT_TRY(s);
    forget_results(b);
    XT_TRY(collect_results(c, b));
    b->roots.known_as = superset;
    return lazy_program_seek(c, &b->roots, out);
}

static xt_status start_step(lazy_ctx *c, boundary *b, lazy_cause cause, const xt_src *src, device_buffer ***out) {
    lazy_sought sought;
    XT_TRY(status_at(seek(c, b, &sought), src));
    if ((*out = base_calloc(b->roots.n, sizeof **out)))
        return lazy_run_sought(c, &b->roots, &sought, cause, false, src, *out);
    lazy_sought_free(&sought);
    return status_oom(b->roots.n * sizeof **out, "the results of a step");
}

static xt_status run_step(lazy_ctx *c, lazy_cause cause, const xt_src *src) {
    boundary b = {0};
    device_buffer **out = NULL;
    xt_status s = collect_results(c, &b);
    if (!s && b.roots.n && c->was_read && !c->replay_log) {
        bool moved = false;
        s = lazy_settle_reads(c, &b.roots, &moved);
        if (moved) forget_results(&b);
        if (!s && moved) s = collect_results(c, &b);
    }
    if (!s && b.roots.n) {
        s = start_step(c, &b, cause, src, &out);
        bool ran = !s;
        if (!s && c->bounds) s = lazy_bounds_check(c, out + b.n_own);
        b.roots.n = b.n_own;
        if (!s && c->nan) s = lazy_look_for_nan(c, &b.roots, out, false, src);
        for (size_t i = 0; s && ran && i < b.n_own; i++) device_buffer_release(out[i]);
        if (!s && c->replay_log && !c->bounds) lazy_replay_plan_make(c, &b.roots, b.slots, b.requests);
        if (!s) s = hand_over(c, &b, out);
    }
    if (!s) s = start_requests(c);
    base_free(out);
    forget_results(&b);
    return s;
}

/* The graph that made a tensor ends with its step, unless that is kept (detached.c). */
static void outlive(const lazy_ctx *c, lazy_slot *s) {
    if (s->leaf) s->used = c->step;
    if (s->value && !s->is_state && !s->grad_leaf) s->requires_grad = s->detached;
    s->value = s->leaf = NULL;
}

/* What a program may have listed goes on over what is no end of a step to it. */
static bool ends_lists(lazy_cause cause) {
    return cause == LAZY_STEP_END || cause == LAZY_LOADER || cause == LAZY_MARK_STEP || cause == LAZY_WAIT;
}

/* A slot is listed twice where a handle that had it died before the boundary and another got it. */
static void end_step(lazy_ctx *c, src_id at, size_t n_kept) {
    size_t n = 0, listed = 0;
    for (size_t i = 0; i < c->n_step_slots; i++) {
        uint32_t index = c->step_slots[i];
        lazy_slot *s = &c->slots[index];
        if (!s->live || s->persistent) continue;
        if (s->buf && (s->outlives_step || (i < n_kept && !s->value))) {
            outlive(c, s);
            s->outlives_step = true;
            c->step_slots[listed++] = index;
        } else
            lazy_slot_free(c, index, at);
    }
    for (size_t i = 0; i < listed; i++) {
        lazy_slot *s = &c->slots[c->step_slots[i]];
        if (s->outlives_step) c->step_slots[n++] = c->step_slots[i];
        s->outlives_step = false;
    }
    c->n_step_slots = n;
    for (size_t i = 0; i < c->older.n_read; i++) {
        lazy_slot *s = &c->slots[c->older.read[i]];
        if (s->live && s->older) outlive(c, s);
    }
    c->older.n_read = 0;
    for (size_t k = 0; k < c->n_persistent; k++) {
        lazy_slot *s = &c->slots[c->persistent[k]];
        outlive(c, s);
        lazy_buf_release(s->read_buf);
        s->read_buf = NULL;
        /* kept, but its step never made it; in host memory is what no step has used since it was taken there */
        if (!s->buf && !s->has_host && !s->is_state) s->failed = true;
    }
    c->now_ns = clock_ns();
    counter_add(COUNTER_trace_ns, c->now_ns - c->step_began_ns);
    lazy_clear_trace(c);
}

void lazy_then(const lazy_phases *p, const char *what) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    lazy_attend(c, &guest);
    if (c->replay_log) lazy_replay_log_volatile(c, c->b.src, what);
    if (VEC_PUSH(c->phases, c->n_phases, c->cap_phases, *p)) return;
    lazy_fail(status_oom(sizeof *p, "the programs of a step"));
    p->done(p->user);
}

void lazy_then_not(const void *user) {
    lazy_ctx *c = lazy_ctx_get();
    for (size_t i = c ? c->n_phases : 0; i-- > 0;) {
        if (c->phases[i].user != user) continue;
        c->phases[i].done(c->phases[i].user);
        memmove(&c->phases[i], &c->phases[i + 1], (--c->n_phases - i) * sizeof *c->phases);
    }
}

/* What the loop still holds (results of xt_call) lives on: all step slots that are there now. */
static void run_phases(lazy_ctx *c, lazy_cause cause, const xt_src *src) {
    lazy_replay_log *log = c->replay_log;
    c->replay_log = NULL;
    for (size_t i = 0; i < c->n_phases; i++) {
        for (size_t held = c->n_step_slots; !c->error && c->phases[i].record(c->phases[i].user);
             held = c->n_step_slots) {
            xt_status s = c->error ? NULL : run_step(c, cause, src);
            if (s) lazy_fail(s);
            end_step(c, src_intern(src), held);
            if ((s = lazy_new_trace(c))) lazy_fail(s);
        }
        c->phases[i].done(c->phases[i].user);
    }
    c->n_phases = 0;
    c->replay_log = log;
}

/* Other ranks' errors show where this one was seen last. */
static void note_place(const lazy_ctx *c, lazy_cause cause, const xt_src *src) {
    char text[720];
    if (world_get()->size < 2) return;
    snprintf(text, sizeof text, "%.100s:%d (%s, step %lld, %d in flight)%s%s", src ? src->file : "?",
             src ? src->line : 0, lazy_cause_name(cause), (long long)lazy_shown_step(c->step), lazy_in_flight(),
             *lazy_rank_check_last() ? ", last collectives: " : "", lazy_rank_check_last());
    coll_run_note(text);
}

void lazy_observe_before(lazy_cause cause) {
    for (const lazy_listener *i = lazy_listener_first(&observers); i; i = lazy_listener_next(i))
        if (observer(i)->before) observer(i)->before(observer(i)->user, cause);
}

void lazy_came_round(size_t calls) {
    for (const lazy_listener *i = lazy_listener_first(&observers); i; i = lazy_listener_next(i))
        if (observer(i)->came_round) observer(i)->came_round(observer(i)->user, calls);
}

void lazy_pass_ended(const void *loader, const lazy_pass outer[static 2]) {
    for (const lazy_listener *i = lazy_listener_first(&observers); i; i = lazy_listener_next(i))
        if (observer(i)->pass_ended) observer(i)->pass_ended(observer(i)->user, loader, outer);
}

void lazy_pass_left(const void *loader, const void *outer, int kind) {
    for (const lazy_listener *i = lazy_listener_first(&observers); i; i = lazy_listener_next(i))
        if (observer(i)->pass_left) observer(i)->pass_left(observer(i)->user, loader, outer, kind);
}

void lazy_step_passed(lazy_ctx *c, lazy_cause cause, bool counts, bool ok) {
    int64_t step = c->step;
    lazy_updates_settle(c, ok);
    c->counts_since++;
    if (counts) {
        c->step++;
        counter_add(COUNTER_steps, 1);
    }
    for (const lazy_listener *i = lazy_listener_first(&observers); i; i = lazy_listener_next(i))
        if (observer(i)->after) observer(i)->after(observer(i)->user, cause, step, ok);
}

/* What a function that got a value records is a step of the reader thread, where no other call ends it: it would stay
 * for ever, and its error unseen. The line is that of the call that the function was given to. */
static void end_step_of_function(const xt_src *asked) {
    static const char call[] = "xt_when_ready";
    if (!lazy_left_open()) return;
    lazy_end_if_unseen(call, asked);
    lazy_boundary(LAZY_MARK_STEP, asked);
    lazy_end_if_lost(call, asked);
}

bool lazy_end_step(lazy_ctx *c, lazy_cause cause, const xt_src *src, size_t n_kept) {
    lazy_reader_at_return(end_step_of_function);
    ending_enter();
    lazy_forget_left(c);
    c->in_boundary = true;
    note_place(c, cause, src);
    lazy_observe_before(cause);
    bool counts =
        (c->b.block->first || c->replay_log || (!c->call_ended_step && cause != LAZY_CALL)) && cause != LAZY_BUILD;
    xt_status late = lazy_take_async_error();
    if (late) {
        lazy_quiesce();
        lazy_fail(late);
    }
    if (!c->error) {
        xt_status s = run_step(c, cause, src);
        if (s) lazy_fail(s);
    }
    fail_requests(c);
    /* nobody goes on with what a build recorded */
    if (c->b.block->first && cause != LAZY_BUILD) lazy_detach_step(c, cause, src_intern(src));
    end_step(c, src_intern(src), n_kept);
    if (n_kept == 0 && ends_lists(cause)) lazy_older_end(c, src_intern(src));
    c->n_done = c->n_done_users = 0;
    bool ok = c->error == NULL;
    xt_status s = lazy_new_trace(c);
    if (s) {
        lazy_fail(s);
        ok = false;
    }
    if (c->n_phases) {
        run_phases(c, cause, src);
        ok = c->error == NULL;
    }
    c->call_ended_step = false;
    c->own_ends += cause == LAZY_STEP_END || cause == LAZY_LOADER || cause == LAZY_MARK_STEP;
    c->begun.cause = cause;
    c->begun.name = lazy_cause_name(cause);
    c->begun.at = src_intern(src);
    lazy_step_passed(c, cause, counts, ok);
    c->in_boundary = false;
    ending_leave();
    return ok;
}

bool lazy_boundary(lazy_cause cause, const xt_src *src) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c || c->in_boundary) return c != NULL;
    if (lazy_in_loop(c, src, lazy_cause_name(cause)) || lazy_in_whole(src, lazy_cause_name(cause))) return false;
    xt_status forked = lazy_forked(lazy_cause_name(cause), src);
    if (forked) {
        lazy_fail(forked);
        return false;
    }
    if (!c->replay_log) {
        lazy_hold_in_step(c, cause, src);
        return lazy_end_step(c, cause, src, 0);
    }
    lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                         "%s inside the compiled step function %s, called at %s:%d: a call is one step and ends by "
                         "itself; move it out of the function",
                         lazy_cause_name(cause), c->replay_log->step->name, c->replay_log->src->file,
                         c->replay_log->src->line));
    return false;
}

bool lazy_trace_is_empty(void) {
    const lazy_ctx *c = lazy_ctx_get();
    return c && !c->b.block->first && !c->n_leaves && !c->n_requests && !c->n_phases && !c->replay_log && !c->loop &&
           !c->in_boundary && !c->error;
}

/* Arguments are numbered as they enter a trace, so parameters that entered it for the build would make another program
 * of the first step. Tensors with buffers live on: the build was no step of the loop's. */
void lazy_end_build(const xt_src *src) {
    lazy_ctx *c = lazy_ctx_get();
    if (c && !c->in_boundary) lazy_end_step(c, LAZY_BUILD, src, LAZY_KEEP_ALL);
}

/* A build in the middle of a step: what it recorded goes nowhere, so parameters that entered the trace for it alone are
 * not used there, and may be written. */
void lazy_forget_build(size_t n_leaves) {
    lazy_ctx *c = lazy_ctx_get();
    for (size_t i = n_leaves; c && i < c->n_leaves; i++) {
        const lazy_leaf *l = &c->leaves[i];
        lazy_slot *s = l->pack < 0 ? &c->slots[l->slot] : NULL;
        if (s && s->live && s->generation == l->generation && s->leaf == c->b.block->args[i] && !s->value)
            s->leaf = NULL;
    }
}

size_t lazy_leaves(void) {
    const lazy_ctx *c = lazy_ctx_there();
    return c ? c->n_leaves : 0;
}

void lazy_building(bool on) {
    lazy_ctx *c = lazy_ctx_get();
    if (c) c->building = on;
}

void lazy_not_recording(int64_t ns) {
    lazy_ctx *c = lazy_ctx_get();
    if (c) c->step_began_ns += ns;
}

bool xt_mark_step_at(const xt_src *src) {
    lazy_end_if_unseen("xt_mark_step", src);
    bool ok = lazy_boundary(LAZY_MARK_STEP, src);
    lazy_end_if_lost("xt_mark_step", src);
    return ok;
}

bool xt_wait_at(const xt_src *src) {
    lazy_end_if_unseen("xt_wait", src);
    bool ok = lazy_boundary(LAZY_WAIT, src);
    ok = lazy_drain() && ok;
    lazy_end_if_lost("xt_wait", src);
    return ok;
}
