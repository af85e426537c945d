/* Detached steps: those that ended between forward and backward. A boundary that ends a step in which gradients were
 * recorded and nothing was differentiated keeps its trace and the buffers it read; xt_backward and xt_grad_of record
 * the part they need again, at the begin of the trace of their own step, so that the same walk goes through it as if
 * the step had not ended. A step that xt_backward has been through keeps nothing and costs nothing. Two keep what was
 * recorded behind its last backward pass: one that ends in the middle of an iteration (a file is written there), for in
 * a loop that has no other boundaries that is the forward of the iteration under way; and one that also holds the end
 * of an earlier loop, which no boundary has ended.
 *
 * Invariants
 *  1. A detached step is forgotten when the next step with ops ends, or, while a tensor of it lives on (slot.detached),
 *     the one after; not while a loop of the library's goes on with such a tensor (slot.of_loop).
 *  2. It holds buffers without keeping states from being updated in place (lazy_buf.detached): a state that has changed
 * is an error with both lines, as its gradient would belong to numbers that are gone. Batches, random keys and scalars
 *     are as they were.
 *  3. Only values are recorded again: what the step assigned to states (running statistics) is not assigned twice.
 *  4. A slot that is detached has no value; its leaf, once gradients go through it, is the result recorded again. */
#include "grad/grad.h"
#include "lazy/step/step.h"

typedef struct detached_value { /* a tensor of the step that needs gradients */
    uint32_t slot, generation;
    src_id src;
    ir_value *value, *again; /* again: in the present trace */
} detached_value;

struct lazy_graph {
    int refs;
    ir_module *m;
    grad_region *regions;
    size_t n_regions;
    ir_value **stops; /* results that states and leaves had when the step ended: their buffers hold them */
    size_t n_stops, cap_stops;
};

struct lazy_detached {
    lazy_graph *g;
    lazy_leaf *leaves; /* of the arguments, with buffers also for scalar packs; then of the stops */
    size_t n_leaves;
    detached_value *values;
    size_t n_values, cap_values;
    lazy_cause cause;
    src_id at; /* what ended it */
    int age;
    bool lives_on; /* some of its tensors do */
};

/* --- keeping --- */
static void hold(lazy_buf *b, int by) {
    if (b) atomic_fetch_add_explicit(&b->detached, by, memory_order_relaxed);
}

/* The memory of the last owner's module serves the next step that is kept. */
static void graph_release(lazy_ctx *c, lazy_graph *g) {
    if (!g || --g->refs > 0) return;
    base_free(g->regions);
    base_free(g->stops);
    if (!c || c->spare)
        ir_module_free(g->m);
    else
        c->spare = g->m;
    base_free(g);
}

void lazy_graph_release(lazy_graph *g) {
    graph_release(NULL, g);
}

static void forget(lazy_ctx *c, lazy_detached *e) {
    if (!e) return;
    for (size_t i = 0; e->leaves && i < e->n_leaves; i++) {
        hold(e->leaves[i].buf, -1);
        lazy_buf_release(e->leaves[i].buf);
    }
    base_free(e->leaves);
    base_free(e->values);
    graph_release(c, e->g);
    base_free(e);
}

void lazy_detached_forget(lazy_ctx *c) {
    for (int k = 0; k < LAZY_DETACHED; k++) {
        forget(c, c->detached[k]);
        c->detached[k] = NULL;
    }
}

/* A loop of the library's goes on with a tensor of it, whatever the program does in between. */
static bool is_awaited(const lazy_ctx *c, const lazy_detached *e) {
    for (size_t i = 0; i < e->n_values; i++) {
        const lazy_slot *s = &c->slots[e->values[i].slot];
        if (s->live && s->generation == e->values[i].generation && s->of_loop) return true;
    }
    return false;
}

void lazy_detached_age(lazy_ctx *c) {
    for (int k = LAZY_DETACHED - 1; k >= 0; k--) {
        lazy_detached *e = c->detached[k];
        if (!e || is_awaited(c, e) || ++e->age < (e->lives_on ? 2 : 1)) continue;
        forget(c, e);
        c->detached[k] = NULL;
    }
    if (!c->detached[0]) {
        c->detached[0] = c->detached[1];
        c->detached[1] = NULL;
    }
}

static void context_freed(lazy_ctx *c) {
    lazy_detached_forget(c);
    ir_module_free(c->spare);
    c->spare = NULL;
}

/* What was recorded again in this trace is gone with it. */
static void trace_gone(lazy_ctx *c) {
    for (int k = 0; k < LAZY_DETACHED && c->detached[k]; k++)
        for (size_t i = 0; i < c->detached[k]->n_values; i++) c->detached[k]->values[i].again = NULL;
}

static bool add_value(lazy_ctx *c, lazy_detached *e, uint32_t index) {
    const lazy_slot *s = &c->slots[index];
    if (!s->live || s->failed || s->is_state || s->grad_leaf || !s->value || !lazy_v_needs_grad(s->value)) return true;
    return VEC_PUSH(e->values, e->n_values, e->cap_values,
                    ((detached_value){index, s->generation, s->src, s->value, NULL}));
}

/* Behind the last backward pass, if there was one. */
static bool list_values(lazy_ctx *c, lazy_detached *e) {
    bool ok = true;
    for (size_t k = c->n_swept; ok && k < c->n_step_slots; k++)
        if (c->swept || !c->slots[c->step_slots[k]].persistent) ok = add_value(c, e, c->step_slots[k]);
    for (size_t k = 0; ok && !c->swept && k < c->n_persistent; k++) ok = add_value(c, e, c->persistent[k]);
    return ok;
}

/* Nobody goes on with what was recorded in the step, or it is differentiated. */
static bool is_over(const lazy_ctx *c, lazy_cause cause) {
    return c->swept && (c->replay_log || !(lazy_within_iteration(cause) || cause == LAZY_CALL));
}

static bool take_leaves(lazy_ctx *c, lazy_detached *e) {
    for (size_t i = 0; i < c->n_leaves; i++) {
        lazy_leaf *l = &c->leaves[i];
        if (l->pack < 0) continue;
        xt_status s = lazy_upload_pack(c, &c->packs[l->pack]); /* nothing to do where a program has run */
        if (s) {
            xt_status_free(s);
            return false;
        }
        lazy_buf_retain(l->buf = c->packs[l->pack].buf);
    }
    size_t gone; /* a module that was freed in this step had them: what was made without it goes on */
    xt_status missing = lazy_fill_leaves(c, &gone);
    xt_status_free(missing);
    if (missing) return false;
    for (size_t i = 0; i < c->n_leaves; i++) hold(c->leaves[i].buf, 1);
    e->leaves = c->leaves;
    e->n_leaves = c->n_leaves;
    c->leaves = NULL;
    c->n_leaves = c->cap_leaves = 0;
    return true;
}

static const lazy_guest guest = {.trace_cleared = trace_gone, .freed = context_freed};

/* The trace goes over to the detached step, its context gets an empty module for the next one. */
static lazy_graph *take_trace(lazy_ctx *c) {
    lazy_attend(c, &guest);
    lazy_graph *g = base_calloc(1, sizeof *g);
    ir_module *fresh = g ? c->spare ? c->spare : ir_module_new() : NULL;
    if (!fresh) {
        base_free(g);
        return NULL;
    }
    *g = (lazy_graph){.refs = 1, .m = c->b.m, .regions = c->regions, .n_regions = c->n_regions};
    c->spare = NULL;
    c->b.m = fresh;
    c->regions = NULL;
    c->n_regions = c->cap_regions = 0;
    return g;
}

/* States that the step gave values, and tensors that became leaves in it. */
static bool list_stops(lazy_ctx *c, lazy_detached *e) {
    size_t cap = e->n_leaves;
    for (size_t k = 0; k < c->n_persistent; k++) {
        uint32_t index = c->persistent[k];
        const lazy_slot *s = &c->slots[index];
        if (!s->value || !s->value->def || !s->buf || s->role == LAZY_GRADIENT || !(s->is_state || s->grad_leaf))
            continue;
        lazy_leaf l = {.buf = s->buf, .pack = -1, .slot = index, .generation = s->generation, .layout = s->layout};
        if (!VEC_PUSH(e->g->stops, e->g->n_stops, e->g->cap_stops, s->value) ||
            !VEC_PUSH(e->leaves, e->n_leaves, cap, l))
            return false;
        lazy_buf_retain(s->buf);
        hold(s->buf, 1);
    }
    return true;
}

static void push(lazy_ctx *c, lazy_detached *e, lazy_cause cause, src_id at) {
    e->cause = cause;
    e->at = at;
    for (size_t i = 0; i < e->n_values; i++) {
        lazy_slot *s = &c->slots[e->values[i].slot];
        s->detached = s->persistent || s->outlives_step;
        e->lives_on |= s->detached;
    }
    int last = LAZY_DETACHED - 1;
    while (last > 0 && c->detached[last] && is_awaited(c, c->detached[last])) last--;
    forget(c, c->detached[last]);
    memmove(&c->detached[1], &c->detached[0], (size_t)last * sizeof *c->detached);
    c->detached[0] = e;
}

/* Calls of a compiled function that gives out a tensor with gradients: what a replay needs so that it can be
 * differentiated too. */
static void keep_for_replays(lazy_ctx *c, const lazy_detached *e, lazy_plan *p) {
    const lazy_program *g = c->replay_log->program;
    xt_tensor t = c->replay_log->result;
    for (size_t i = 0; i < e->n_values; i++)
        if (e->values[i].slot == t.slot && e->values[i].generation == t.generation)
            p->graph_result = e->values[i].value;
    if (!p->graph_result || !(p->graph_args = base_calloc(g->n_inputs + 1, sizeof *p->graph_args))) return;
    for (size_t k = 0; k < g->n_inputs; k++) p->graph_args[k] = lazy_place(c, g, k);
    size_t n = e->n_leaves - e->g->n_stops;
    if (!(p->graph_stops = base_calloc(e->g->n_stops + 1, sizeof *p->graph_stops))) return;
    for (size_t i = 0; i < e->g->n_stops; i++)
        p->graph_stops[i] = (xt_tensor){e->leaves[n + i].slot, e->leaves[n + i].generation};
    p->n_graph_args = n;
    p->graph = e->g;
    p->graph->refs++;
}

void lazy_detach_step(lazy_ctx *c, lazy_cause cause, src_id at) {
    lazy_detached_age(c);
    if (c->error || !c->func || is_over(c, cause)) return;
    lazy_settle(c);
    if (!c->grads_recorded) return;
    lazy_detached *e = base_calloc(1, sizeof *e);
    if (!e || !list_values(c, e) || !e->n_values || !take_leaves(c, e) || !(e->g = take_trace(c)) ||
        !list_stops(c, e)) {
        /* without memory a later xt_backward says that nothing was kept */
        forget(c, e);
        return;
    }
    if (c->replay_log && c->replay_log->plan) keep_for_replays(c, e, c->replay_log->plan);
    push(c, e, cause, at);
}

static void set_leaf(lazy_leaf *l, lazy_buf *b, xt_tensor t) {
    *l = (lazy_leaf){.buf = b, .pack = -1, .slot = t.slot, .generation = t.generation, .layout = b ? b->layout : NULL};
    lazy_buf_retain(b);
    hold(b, 1);
}

void lazy_detached_replayed(lazy_ctx *c, const lazy_plan *p, lazy_buf *const *bufs, const xt_src *src,
                            xt_tensor result) {
    lazy_detached *e = base_calloc(1, sizeof *e);
    lazy_slot *s = lazy_slot_of(c, result);
    detached_value v = {result.slot, result.generation, s ? s->src : 0, p->graph_result, NULL};
    size_t n_stops = p->graph->n_stops;
    if (!e || !s || !(e->leaves = base_calloc(p->n_graph_args + n_stops + 1, sizeof *e->leaves)) ||
        !VEC_PUSH(e->values, e->n_values, e->cap_values, v)) {
        forget(c, e);
        return;
    }
    e->n_leaves = p->n_graph_args + n_stops;
    for (size_t k = 0; k < p->n_inputs; k++) {
        xt_tensor state = {p->inputs[k].slot, p->inputs[k].generation};
        set_leaf(&e->leaves[p->graph_args[k]], bufs[k], p->inputs[k].from == LAZY_FROM_SLOT ? state : (xt_tensor){0});
    }
    for (size_t i = 0; i < n_stops; i++) {
        const lazy_slot *state = lazy_slot_of(c, p->graph_stops[i]);
        set_leaf(&e->leaves[p->n_graph_args + i], state ? state->buf : NULL, p->graph_stops[i]);
    }
    e->g = p->graph;
    p->graph->refs++;
    s->outlives_step = s->requires_grad = true;
    push(c, e, LAZY_CALL, src_intern(src));
    s->outlives_step = false;
}

/* --- recording again --- */
typedef struct copy_of {
    const ir_op *from, *op;
} copy_of;

typedef struct again { /* one value on its way back */
    lazy_ctx *c;
    lazy_detached *e;
    const detached_value *of;
    const xt_src *src;
    const char *what;
    ir_op *last; /* of the ops recorded again */
    size_t n;
    copy_of *copies; /* listed only where regions need them */
    size_t n_copies, cap_copies;
    bool failed;
} again;

static detached_value *find(lazy_ctx *c, xt_tensor t, lazy_detached **out) {
    for (int k = 0; k < LAZY_DETACHED && c->detached[k]; k++)
        for (size_t i = 0; i < c->detached[k]->n_values; i++)
            if (c->detached[k]->values[i].slot == t.slot && c->detached[k]->values[i].generation == t.generation) {
                *out = c->detached[k];
                return &c->detached[k]->values[i];
            }
    return NULL;
}

static xt_status value_again(lazy_ctx *c, const xt_src *src, const char *what, lazy_detached *e, detached_value *v);

static xt_status expired(lazy_ctx *c, const xt_src *src, const char *what, const lazy_slot *s) {
    char made[256];
    return status_new(XT_FAILED_PRECONDITION, src,
                      "%s: gradients flow into the tensor kept at %s in step %lld, and step %lld is being recorded: "
                      "the forward of an ended step is kept for two more steps. "
                      "Differentiate earlier, or use xt_detach or xt_no_grad_begin if no gradient is meant to go there",
                      what, src_text(s->src, made, sizeof made), (long long)s->step, (long long)c->step);
}

/* The value in this trace of a kept tensor whose step has ended. */
static xt_status cut_again(lazy_ctx *c, const xt_src *src, const char *what, xt_tensor t) {
    lazy_detached *e;
    detached_value *v = find(c, t, &e);
    lazy_slot *s = lazy_slot_of(c, t);
    if (!v) return expired(c, src, what, s);
    XT_TRY(value_again(c, src, what, e, v));
    if (!lazy_older_read(c, t.slot)) return status_oom(sizeof t.slot, "a tensor of an ended step");
    lazy_slot_of(c, t)->leaf = v->again;
    return NULL;
}

static xt_status changed(const again *a, const lazy_leaf *l) {
    const lazy_slot *s = &a->c->slots[l->slot];
    char forward[256], by[256];
    const char *name = l->buf->info.path ? intern_text(l->buf->info.path) : "a tensor";
    bool lives = s->live && s->generation == l->generation && s->changed;
    return status_new(XT_FAILED_PRECONDITION, a->src,
                      "%s: the forward recorded at %s read %s, which %s%s has given a new value since its step ended: "
                      "the values that the gradient needs are gone; call %s "
                      "before the update",
                      a->what, src_text(a->of->src, forward, sizeof forward), name, lives ? "" : "a later step",
                      lives ? src_text(s->changed, by, sizeof by) : "", a->what);
}

/* A state that gets its first reader of this trace after it was assigned: the gradient is that of the value before. */
static xt_status leaf_of_state(again *a, const lazy_leaf *l, ir_value **out) {
    lazy_ctx *c = a->c;
    bool known = c->slots[l->slot].leaf != NULL;
    *out = lazy_leaf_of(c, l->slot);
    const lazy_slot *s = &c->slots[l->slot];
    lazy_slot_value past = {l->slot, l->generation, *out};
    if (!*out || (!known && s->value && s->grad_leaf && !VEC_PUSH(c->pasts, c->n_pasts, c->cap_pasts, past)))
        return status_oom(sizeof past, a->what);
    return NULL;
}

static xt_status leaf_again(void *user, size_t k, const ir_value *from, ir_value **out) {
    again *a = user;
    const lazy_leaf *l = &a->e->leaves[k];
    xt_tensor t = {l->slot, l->generation};
    lazy_slot *s = l->pack < 0 ? lazy_slot_of(a->c, t) : NULL;
    if (s && s->detached) {
        if (!s->leaf || !s->leaf->def) XT_TRY(cut_again(a->c, a->src, a->what, t));
        *out = lazy_slot_of(a->c, t)->leaf;
        return NULL;
    }
    if (s && s->buf == l->buf) return leaf_of_state(a, l, out);
    if (!l->buf) return lazy_leaf_gone();
    if ((s && s->requires_grad) || device_buffer_deleted(l->buf->dev)) return changed(a, l);
    lazy_buf_retain(l->buf);
    *out = lazy_new_leaf(
        a->c, from->type,
        (lazy_leaf){.buf = l->buf, .pack = -1, .slot = l->slot, .generation = l->generation, .layout = l->layout});
    return *out ? NULL : status_oom(sizeof *l, a->what);
}

static void made_again(void *user, const ir_op *from, ir_op *op) {
    again *a = user;
    a->last = op;
    a->n++;
    op->user = from->user;
    bool needs = op->user != LAZY_OP_NO_GRAD && lazy_op_reads(op, LAZY_V_GRAD);
    for (uint32_t i = 0; i < op->n_out; i++) {
        if (lazy_v_no_grad(&from->out[i]))
            lazy_no_grad_value(&op->out[i]);
        else if (needs && grad_differentiable(op->out[i].type))
            op->out[i].user |= LAZY_V_GRAD;
    }
    if (a->e->g->n_regions && !VEC_PUSH(a->copies, a->n_copies, a->cap_copies, ((copy_of){from, op}))) a->failed = true;
}

/* xt_checkpoint_block's regions come along, in front of those of this trace: they end earlier. */
static bool regions_again(again *a) {
    lazy_ctx *c = a->c;
    const lazy_graph *g = a->e->g;
    uint64_t epoch = ir_new_epoch();
    for (size_t i = 0; i < a->n_copies; i++) a->copies[i].from->out[0].mark = epoch | i;
    grad_region *all = base_malloc((g->n_regions + c->n_regions + 1) * sizeof *all);
    /* inside[k]: how many of the first k are needed */
    size_t *inside = base_calloc(g->n_regions + 1, sizeof *inside), n = 0;
    for (size_t k = 0; all && inside && k < g->n_regions; k++) {
        grad_region r = {.inside = inside[g->regions[k].inside]};
        for (const ir_op *op = g->regions[k].first;; op = op->next) {
            uint64_t mark = op->n_out ? op->out[0].mark : 0;
            if (mark >> 32 == epoch >> 32) r.last = a->copies[(uint32_t)mark].op;
            if (r.last && !r.first) r.first = r.last;
            if (op == g->regions[k].last) break;
        }
        if (r.first) all[n++] = r;
        inside[k + 1] = n;
    }
    bool ok = all && inside;
    for (size_t k = 0; ok && k < c->n_regions; k++) {
        all[n + k] = c->regions[k];
        all[n + k].inside += n;
    }
    base_free(inside);
    if (!ok) {
        base_free(all);
        return false;
    }
    base_free(c->regions);
    c->regions = all;
    c->cap_regions = g->n_regions + c->n_regions + 1;
    c->n_regions += n;
    return true;
}

static void report(const again *a) {
    char forward[256], by[256];
    counter_add(COUNTER_ops_recomputed, (int64_t)a->n);
    if (!env_has_word("XT_DEBUG", "exec") && !env_has_word("XT_DEBUG", "compile")) return;
    log_msg(XT_SEV_INFO, "%s: recomputed %zu ops of the forward recorded at %s because %s ended the step (%s)", a->what,
            a->n, src_text(a->of->src, forward, sizeof forward), src_text(a->e->at, by, sizeof by),
            lazy_cause_name(a->e->cause));
}

static xt_status value_again(lazy_ctx *c, const xt_src *src, const char *what, lazy_detached *e, detached_value *v) {
    if (v->again) return NULL;
    if (c->replay_log) lazy_replay_log_volatile(c, src_intern(src), "it differentiates what an earlier step computed");
    lazy_settle(c);
    ir_op *top = c->b.block->first;
    ir_builder b = top ? ir_before(c->b.m, top) : ir_at_end(c->b.m, c->b.block);
    again a = {.c = c, .e = e, .of = v, .src = src, .what = what};
    ir_value *out = NULL;
    xt_status s =
        ir_copy_needed(&b, v->value, &(ir_copy_hooks){e->g->n_stops, e->g->stops, leaf_again, made_again, &a}, &out);
    if (!c->settled) c->settled = a.last;
    if (!s && (a.failed || (a.n_copies && !regions_again(&a)))) s = status_oom(a.n * sizeof *a.copies, what);
    base_free(a.copies);
    if (s) return s;
    v->again = out;
    report(&a);
    return NULL;
}

bool lazy_detached_value(lazy_ctx *c, const xt_src *src, const char *what, xt_tensor t, ir_value **out) {
    lazy_slot *s = lazy_slot_of(c, t);
    lazy_detached *e;
    *out = NULL;
    if (s ? !s->detached : !find(c, t, &e)) return false;
    xt_status st = NULL;
    if (!s) {
        detached_value *v = find(c, t, &e);
        st = value_again(c, src, what, e, v);
        *out = v->again;
    } else if (!s->leaf || !s->leaf->def)
        st = cut_again(c, src, what, t);
    if (s && !st) *out = lazy_slot_of(c, t)->leaf;
    if (st) lazy_fail(st);
    return true;
}

/* --- grafting --- */
static void reach(const ir_op *op) {
    for (uint32_t i = 0; i < op->n_in; i++)
        if (lazy_v_needs_grad(op->in[i])) op->in[i]->user |= LAZY_V_REACHED;
    for (uint32_t r = 0; r < op->n_regions; r++)
        for (const ir_op *inner = op->regions[r].block ? op->regions[r].block->first : NULL; inner; inner = inner->next)
            reach(inner);
}

/* Marks the arguments and results that gradients of root may flow through. */
static void reach_back(ir_value *root) {
    root->user |= LAZY_V_REACHED;
    for (const ir_op *op = root->def; op; op = op->prev) {
        bool hit = false;
        for (uint32_t i = 0; i < op->n_out && !hit; i++)
            hit = (op->out[i].user & LAZY_V_REACHED) && !lazy_v_no_grad(&op->out[i]);
        if (hit && op->user != LAZY_OP_NO_GRAD) reach(op);
    }
}

static void forget_op(const ir_op *op) {
    for (uint32_t i = 0; i < op->n_in; i++) op->in[i]->user &= ~(uint64_t)LAZY_V_REACHED;
    for (uint32_t r = 0; r < op->n_regions; r++)
        for (const ir_op *inner = op->regions[r].block ? op->regions[r].block->first : NULL; inner; inner = inner->next)
            forget_op(inner);
}

static void forget_reached(ir_value *root) {
    root->user &= ~(uint64_t)LAZY_V_REACHED;
    for (const ir_op *op = root->def; op; op = op->prev) forget_op(op);
}

static bool is_cut_leaf(const lazy_slot *s) {
    return s->live && s->detached && s->leaf && !s->leaf->def;
}

bool lazy_detached_graft(lazy_ctx *c, const xt_src *src, const char *what, ir_value *root) {
    xt_status st = NULL;
    bool any = false;
    for (uint32_t i = 1; i < c->n_slots && !any; i++) any = is_cut_leaf(&c->slots[i]);
    if (!any) return true;
    lazy_settle(c);
    reach_back(root);
    for (uint32_t i = 1; i < c->n_slots && !st; i++) {
        if (!is_cut_leaf(&c->slots[i]) || !(c->slots[i].leaf->user & LAZY_V_REACHED)) continue;
        ir_value *leaf = c->slots[i].leaf;
        st = cut_again(c, src, what, (xt_tensor){i, c->slots[i].generation});
        if (!st) ir_replace_uses(c->b.m, leaf, c->slots[i].leaf);
    }
    forget_reached(root);
    if (st) lazy_fail(st);
    return !st;
}
