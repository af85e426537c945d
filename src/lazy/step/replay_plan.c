/* The recording of a compiled step function: what the host does besides recording ops is noted in the replay log; at
 * the boundary the replay log, the roots and the leaves become a plan. */
#include "lazy/step/step.h"

/* --- what a plan holds --- */
static void items_free(lazy_replay_item *items, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (items[i].kind == LAZY_REPLAY_ACTION && items[i].action.release)
            items[i].action.release(items[i].action.user);
    base_free(items);
}

static void origin_free(lazy_origin *o) {
    if (o->from == LAZY_FROM_HELD) lazy_buf_release(o->held);
}

void lazy_plan_free(lazy_plan *p) {
    if (!p) return;
    base_free(p->sig.in);
    base_free(p->labels);
    base_free(p->guards);
    items_free(p->items, p->n_items);
    for (size_t i = 0; i < p->n_inputs; i++) origin_free(&p->inputs[i]);
    for (size_t i = 0; i < p->n_requests; i++)
        if (p->requests[i].has_origin) origin_free(&p->requests[i].origin);
    if (p->result_is_origin) origin_free(&p->result);
    base_free(p->inputs);
    base_free(p->outputs);
    base_free(p->requests);
    base_free(p->consumed);
    lazy_graph_release(p->graph);
    base_free(p->graph_args);
    base_free(p->graph_stops);
    base_free(p->pack_words);
    base_free(p->in);
    base_free(p->out);
    base_free(p->keep);
    base_free(p);
}

static bool uses(const lazy_plan *p, const void *user) {
    for (size_t i = 0; i < p->n_items; i++)
        if (p->items[i].user == user || (p->items[i].kind == LAZY_REPLAY_ACTION && p->items[i].action.user == user))
            return true;
    return false;
}

void lazy_replay_forget(const void *user) {
    lazy_ctx *c = lazy_ctx_get();
    for (xt_step *f = c ? c->steps : NULL; f; f = f->next)
        for (size_t i = f->n_plans; i-- > 0;)
            if (uses(f->plans[i], user)) {
                lazy_plan_free(f->plans[i]);
                memmove(&f->plans[i], &f->plans[i + 1], (--f->n_plans - i) * sizeof *f->plans);
            }
    if (c && c->replay_log) lazy_replay_log_volatile(c, c->b.src, "an object is freed in the function");
}

/* --- from log to plan --- */
/* The slot was there with this tensor in it when the call began. */
static bool was_there(const lazy_replay_log *t, uint32_t slot, uint32_t generation) {
    return slot < t->n_entry && t->entry[slot].live && t->entry[slot].generation == generation;
}

/* The owner of a gradient slot: at the begin of the call, or (`now`) at its end. 0: it is no gradient. */
static uint32_t owner_of(const lazy_ctx *c, const lazy_replay_log *t, uint32_t slot, uint32_t generation, bool now) {
    size_t n = now ? c->n_slots : t->n_entry;
    for (uint32_t i = 1; i < n; i++) {
        xt_tensor g = now ? c->slots[i].grad : t->entry[i].grad;
        if (g.slot == slot && g.generation == generation && (now ? c->slots[i].live : t->entry[i].live)) return i;
    }
    return 0;
}

static lazy_origin origin_of(lazy_ctx *c, const lazy_replay_log *t, uint32_t slot, uint32_t generation, lazy_buf *buf) {
    for (size_t i = 0; i < t->sig.n; i++)
        if (t->in[i].slot == slot && t->in[i].generation == generation && !t->sig.in[i].slot)
            return (lazy_origin){.from = LAZY_FROM_INPUT, .index = (int)i};
    uint32_t owner = owner_of(c, t, slot, generation, false);
    if (owner) return (lazy_origin){.from = LAZY_FROM_GRAD, .slot = owner, .generation = t->entry[owner].generation};
    lazy_slot *s = &c->slots[slot];
    bool lives = s->live && s->generation == generation;
    if (was_there(t, slot, generation) || (lives && s->persistent))
        return (lazy_origin){.from = LAZY_FROM_SLOT, .slot = slot, .generation = generation};
    lazy_buf_retain(buf); /* made in the function from the host's memory: a constant of the recording */
    return (lazy_origin){.from = LAZY_FROM_HELD, .held = buf};
}

static bool add_guard(lazy_ctx *c, const lazy_replay_log *t, lazy_plan *p, uint32_t slot) {
    for (size_t i = 0; i < p->n_guards; i++)
        if (p->guards[i].slot == slot) return true;
    const lazy_slot *s = &c->slots[slot];
    lazy_guard g = {slot, s->generation, s->requires_grad, s->grad_leaf, false, s->layout};
    if (was_there(t, slot, s->generation)) {
        const struct lazy_entry *e = &t->entry[slot];
        g.requires_grad = e->requires_grad;
        g.grad_leaf = e->grad_leaf;
        g.has_grad = e->grad.slot && e->grad.slot < t->n_entry && t->entry[e->grad.slot].live &&
                     t->entry[e->grad.slot].generation == e->grad.generation;
    }
    return VEC_PUSH(p->guards, p->n_guards, p->cap_guards, g);
}

static bool plan_inputs(lazy_ctx *c, lazy_replay_log *t, lazy_plan *p) {
    const lazy_program *g = t->program;
    p->inputs = base_calloc(g->n_inputs + 1, sizeof *p->inputs);
    p->in = base_calloc(g->n_inputs + 1, sizeof *p->in);
    p->keep = base_calloc(g->n_inputs + 1, sizeof *p->keep);
    p->pack_words = base_calloc(c->n_packs + 1, sizeof *p->pack_words);
    if (!p->inputs || !p->in || !p->keep || !p->pack_words) return false;
    p->n_packs = c->n_packs;
    for (size_t i = 0; i < c->n_packs; i++) p->pack_words[i] = c->packs[i].leaf ? c->packs[i].n : 0;
    for (size_t k = 0; k < g->n_inputs; k++) {
        const lazy_leaf *l = &c->leaves[lazy_place(c, g, k)];
        p->inputs[k] = l->pack >= 0 ? (lazy_origin){.from = LAZY_FROM_PACK, .index = l->pack}
                                    : origin_of(c, t, l->slot, l->generation, l->buf);
        p->n_inputs = k + 1;
        if ((p->inputs[k].from == LAZY_FROM_SLOT || p->inputs[k].from == LAZY_FROM_GRAD) &&
            !add_guard(c, t, p, p->inputs[k].slot))
            return false;
    }
    return true;
}

static bool target_of(lazy_ctx *c, lazy_replay_log *t, lazy_plan *p, uint32_t slot, lazy_target *out) {
    const lazy_slot *s = &c->slots[slot];
    *out = (lazy_target){.to = LAZY_TO_SLOT,
                         .slot = slot,
                         .generation = s->generation,
                         .type = s->type,
                         .src = s->src,
                         .path = s->name ? s->name : s->path};
    uint32_t owner = owner_of(c, t, slot, s->generation, true);
    if (!owner) return add_guard(c, t, p, slot);
    if (!was_there(t, owner, c->slots[owner].generation) && !c->slots[owner].persistent) {
        /* of a tensor of the step (xt_retain_grad): both end with it */
        out->to = LAZY_TO_NOWHERE;
        return true;
    }
    out->to = was_there(t, slot, s->generation) ? LAZY_TO_GRAD : LAZY_TO_NEW_GRAD;
    out->slot = owner;
    out->generation = c->slots[owner].generation;
    return add_guard(c, t, p, owner);
}

static bool plan_outputs(lazy_ctx *c, lazy_replay_log *t, lazy_plan *p, const lazy_roots *r, const uint32_t *slots,
                         const size_t *requests) {
    p->outputs = base_calloc(r->n + 1, sizeof *p->outputs);
    p->out = base_calloc(r->n + 1, sizeof *p->out);
    p->requests = base_calloc(c->n_requests + 1, sizeof *p->requests);
    if (!p->outputs || !p->out || !p->requests) return false;
    p->n_outputs = r->n;
    p->n_requests = c->n_requests;
    for (size_t j = 0; j < c->n_requests; j++) {
        const lazy_request *q = &c->requests[j];
        p->requests[j].q = *q;
        p->requests[j].q.buf = NULL;
        p->requests[j].q.value = NULL;
        if (!q->buf) continue;
        p->requests[j].has_origin = true;
        p->requests[j].origin = origin_of(c, t, q->t.slot, q->t.generation, q->buf);
    }
    for (size_t i = 0; i < r->n; i++) {
        lazy_target *o = &p->outputs[i];
        if (slots[i] != UINT32_MAX) {
            if (!target_of(c, t, p, slots[i], o)) return false;
            continue;
        }
        const lazy_request *q = &c->requests[requests[i]];
        *o = (lazy_target){.to = q->to_slot ? LAZY_TO_RESULT : LAZY_TO_REQUEST,
                           .request = requests[i],
                           .type = r->values[i]->type,
                           .src = lazy_src(q->t)};
    }
    return true;
}

static bool plan_gradients(lazy_ctx *c, lazy_replay_log *t, lazy_plan *p) {
    for (uint32_t i = 1; i < t->n_entry; i++) {
        const struct lazy_entry *e = &t->entry[i];
        if (!e->live || !e->grad.slot || !was_there(t, e->grad.slot, e->grad.generation)) continue;
        const lazy_slot *s = &c->slots[i];
        if (!s->live || s->generation != e->generation) continue;
        bool same = s->grad.slot == e->grad.slot && s->grad.generation == e->grad.generation;
        lazy_guard g = {.slot = i, .generation = e->generation};
        if (!same && (!VEC_PUSH(p->consumed, p->n_consumed, p->cap_consumed, g) || !add_guard(c, t, p, i)))
            return false;
    }
    for (size_t k = 0; k < t->n_asked; k++)
        if (c->slots[t->asked[k]].live && !add_guard(c, t, p, t->asked[k])) return false;
    return true;
}

static bool plan_result(lazy_ctx *c, lazy_replay_log *t, lazy_plan *p) {
    const lazy_slot *s = lazy_slot_of(c, t->result);
    p->has_result = s != NULL;
    for (size_t i = 0; i < p->n_outputs; i++)
        if (!s || p->outputs[i].to == LAZY_TO_RESULT) return true;
    p->result_is_origin = true;
    p->result_src = s->src;
    uint32_t owner = owner_of(c, t, t->result.slot, t->result.generation, true);
    if (owner)
        p->result = (lazy_origin){.from = LAZY_FROM_GRAD, .slot = owner, .generation = c->slots[owner].generation};
    else
        p->result = origin_of(c, t, t->result.slot, t->result.generation, s->buf);
    return true;
}

/* An input that fn keeps has a slot of its own, which no output fills at a replay. */
static bool keeps_input(lazy_ctx *c, const lazy_replay_log *t) {
    for (size_t i = 0; i < t->sig.n; i++) {
        const lazy_slot *s = t->sig.in[i].slot ? NULL : lazy_slot_of(c, t->in[i]);
        if (s && s->persistent && !s->value) return true;
    }
    return false;
}

void lazy_replay_plan_make(lazy_ctx *c, const lazy_roots *r, const uint32_t *slots, const size_t *requests) {
    lazy_replay_log *t = c->replay_log;
    if (!t->volatile_what && keeps_input(c, t))
        lazy_replay_log_volatile(c, src_intern(t->src), "an input is kept by the function");
    if (t->volatile_what || t->failed || !t->program) return;
    lazy_plan *p = base_calloc(1, sizeof *p);
    if (!p) return;
    p->key = t->program->key;
    p->sig = t->sig; /* moves; the replay log keeps the numbers it needs below */
    bool ok = plan_inputs(c, t, p) && plan_outputs(c, t, p, r, slots, requests) && plan_gradients(c, t, p) &&
              plan_result(c, t, p) && !t->failed;
    p->items = t->items;
    p->n_items = t->n_items;
    p->labels = t->labels;
    p->n_labels = t->n_labels;
    t->items = NULL;
    t->labels = NULL;
    t->n_items = t->cap_items = t->n_labels = t->cap_labels = 0;
    t->sig.in = NULL;
    t->sig.n = 0;
    if (ok)
        t->plan = p;
    else
        lazy_plan_free(p);
}
