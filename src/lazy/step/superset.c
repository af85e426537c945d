/* A superset in a step: its optional outputs are recorded so that those the step does not ask for are off, and the
 * inputs of its program are found among the step's arguments. */
#include "lazy/step/optional.h"

#include <stdatomic.h>

static uint64_t new_serial(void) {
    static _Atomic(uint64_t) last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

static bool is_read(const lazy_ctx *c, xt_tensor state) {
    return c->slots[state.slot].leaf != NULL;
}

/* What the program of a superset depends on besides its optional outputs, which were recorded the same way: the states'
 * types and whether they are read (their buffers are taken over then), where numbers of the step lie. */
static uint64_t superset_shape(lazy_ctx *c, const optional_registry *k) {
    uint64_t h = 1;
    for (size_t i = 0; i < k->n_owners; i++) {
        if (!k->owners[i].used) continue;
        xt_tensor state = k->owners[i].o.state(k->owners[i].o.user);
        h = optional_mix(h, lazy_type(state)->id + (uint64_t)i * 7 + ((uint64_t)is_read(c, state) << 40));
    }
    for (size_t i = 0; i < c->n_packs; i++) h = optional_mix(h, (uint64_t)c->packs[i].n << 8 | i);
    return h;
}

static bool record_owner(optional_registry *k, size_t owner, const program_group *f, const lazy_superset *superset,
                         const lazy_optional *all) {
    lazy_optional *list = base_calloc(superset->n_has + 1, sizeof *list);
    size_t n = 0;
    if (!list) return false;
    for (size_t i = 0; i < superset->n_has; i++)
        if (superset->has[i] && f->items[i].owner == k->owners[owner].o.user) list[n++] = all[i];
    bool ok = n == 0 || k->owners[owner].o.record(k->owners[owner].o.user, list, n);
    k->owners[owner].used = n > 0;
    base_free(list);
    return ok;
}

/* Requests of the superset in its order; those that are off are asked for by nobody. */
static bool order_requests(lazy_ctx *c, optional_registry *k, const program_group *f, const lazy_superset *superset,
                           const optional_step *st, const lazy_optional *all) {
    k->n_order = 0;
    for (size_t i = 0; i < superset->n_has; i++) {
        if (!superset->has[i] || f->items[i].owner) continue;
        size_t at = c->n_requests;
        for (size_t j = 0; j < st->n_now; j++)
            if (st->now[j].item == i) at = st->now[j].request;
        lazy_request off = {.value = all[i].values[0], .asked = {all[i].what, all[i].src, 0, true}};
        if (at == c->n_requests && !VEC_PUSH(c->requests, c->n_requests, c->cap_requests, off)) return false;
        if (!VEC_PUSH(k->order, k->n_order, k->cap_order, at)) return false;
    }
    c->request_order = k->order;
    c->n_request_order = k->n_order;
    return k->order || !k->n_order;
}

static void note_off(lazy_ctx *c, const lazy_optional *o) {
    lazy_requester off = {o->what, o->src, 0, true};
    if (!VEC_PUSH(c->requesters, c->n_requesters, c->cap_requesters, off)) return; /* a report says less */
}

static bool record_all(lazy_ctx *c, optional_registry *k, const program_group *f, lazy_superset *superset,
                       const optional_step *st, const lazy_optional *all) {
    for (size_t i = 0; i < superset->n_has; i++)
        if (superset->has[i] && !all[i].on && f->items[i].owner) note_off(c, &all[i]);
    for (size_t i = 0; k->begun && i < c->n_packs; i++) c->packs[i].n = c->packs[i].before_optionals;
    for (size_t i = 0; i < k->n_owners; i++)
        if (!record_owner(k, i, f, superset, all)) return false;
    return order_requests(c, k, f, superset, st, all);
}

/* Records the superset's optional outputs in this trace; *out_ok: false where something that one of them reads is not
 * there. */
xt_status optional_record_superset(lazy_ctx *c, optional_registry *k, const program_group *f, lazy_superset *superset,
                                   const optional_step *st, bool *out_ok) {
    bool *on = base_calloc(superset->n_has + 1, sizeof *on);
    ir_value **again = base_calloc(2 * superset->n_has + 1, sizeof *again);
    lazy_optional *all = base_calloc(superset->n_has + 1, sizeof *all);
    xt_status s =
        on && again && all ? NULL : status_oom(superset->n_has * sizeof *all, "the optional outputs of a step");
    for (size_t i = 0; i < st->n_now && !s; i++) {
        all[st->now[i].item] = st->now[i].o;
        on[st->now[i].item] = all[st->now[i].item].on = true;
    }
    lazy_settle(c);
    c->no_grad++;
    if (!s) s = optional_graft(c, f->items, superset->n_has, superset->has, on, again, out_ok);
    for (size_t i = 0; i < superset->n_has && !s; i++) {
        if (on[i]) continue;
        all[i] = f->items[i].o;
        all[i].on = false;
        all[i].values[0] = again[2 * i];
        all[i].values[1] = again[2 * i + 1];
    }
    lazy_settle(c);
    if (!s && *out_ok && !record_all(c, k, f, superset, st, all))
        s = status_oom(superset->n_has * sizeof *all, "the optional outputs of a step");
    c->no_grad--;
    base_free(on);
    base_free(again);
    base_free(all);
    return s;
}

void optional_key_superset(lazy_ctx *c, const optional_registry *k, lazy_superset *superset) {
    uint64_t shape = superset_shape(c, k);
    if (superset->known.key.hi == shape) return;
    superset->known.key = (hash128){hash_mix((hash128){new_serial(), shape}, (hash128){0x666f726d, 1}).lo, shape};
}

/* --- inputs --- */
static uint64_t identify(const lazy_ctx *c, const optional_registry *k, uint32_t place) {
    const lazy_leaf *l = &c->leaves[place];
    size_t owner = l->pack >= 0 ? k->n_owners : optional_owner_of_slot(k, l->slot);
    /* it may become larger, and is another state then */
    if (owner < k->n_owners) return (uint64_t)OF_LOG << KIND_SHIFT | owner;
    bool of_base =
        l->pack < 0 && place < k->step.n_numbers && k->step.numbers[place] && k->step.numbers[place] <= k->step.in_base;
    return of_base ? (uint64_t)OF_BASE << KIND_SHIFT | k->step.numbers[place] : optional_leaf_id(c, place);
}

static bool place_of(const lazy_ctx *c, const optional_registry *k, uint64_t what, uint32_t *out) {
    uint32_t n = (uint32_t)what;
    const ir_value *leaf = NULL;
    switch (what >> KIND_SHIFT) {
    case OF_BASE: *out = n <= k->step.in_base ? k->step.places[n] : 0; return n <= k->step.in_base;
    case OF_PACK: leaf = n < c->n_packs ? c->packs[n].leaf : NULL; break;
    case OF_LOG: leaf = c->slots[k->owners[n].o.state(k->owners[n].o.user).slot].leaf; break;
    default: leaf = optional_slot_of(c, what) ? c->slots[optional_slot_of(c, what)].leaf : NULL; break;
    }
    if (leaf) *out = leaf->index;
    return leaf != NULL;
}

static xt_status set_inputs(const lazy_ctx *c, lazy_superset *f, const lazy_program *p) {
    base_free(f->inputs);
    base_free(f->places);
    f->inputs = base_calloc(p->n_inputs + 1, sizeof *f->inputs);
    f->places = base_calloc(p->n_inputs + 1, sizeof *f->places);
    if (!f->inputs || !f->places) return status_oom(p->n_inputs * sizeof *f->inputs, "the inputs of a step");
    for (size_t i = 0; i < p->n_inputs; i++) f->inputs[i] = identify(c, c->optionals, p->inputs[i]);
    return NULL;
}

xt_status optional_bind_superset(lazy_ctx *c, lazy_known_as *k, const lazy_program *p, bool made) {
    lazy_superset *f = (lazy_superset *)k;
    xt_status s = made ? set_inputs(c, f, p) : NULL;
    if (s)
        f->known.key =
            (hash128){0}; /* only the trace that made a program tells what its inputs are: it is made again */
    for (size_t i = 0; i < p->n_inputs && !s; i++)
        if (!f->inputs[i] || !place_of(c, c->optionals, f->inputs[i], &f->places[i]))
            s = status_new(XT_INTERNAL, NULL, "input %zu of a step with optional outputs is not there", i);
    if (!s) c->places = f->places;
    return s;
}

/* --- results --- */
bool lazy_superset_serves(const lazy_ctx *c) {
    return c->optionals && c->optionals->serves;
}

bool lazy_superset_owns(const lazy_ctx *c, uint32_t slot) {
    return lazy_superset_serves(c) && optional_owner_of_slot(c->optionals, slot) < c->optionals->n_owners;
}

size_t lazy_superset_owners(const lazy_ctx *c) {
    return lazy_superset_serves(c) ? c->optionals->n_owners : 0;
}

uint32_t lazy_superset_state(const lazy_ctx *c, size_t i) {
    const optional_owner *o = &c->optionals->owners[i];
    uint32_t slot = o->o.state(o->o.user).slot;
    return o->used && c->slots[slot].value && !c->slots[slot].failed ? slot : UINT32_MAX;
}

int32_t lazy_superset_alias(const lazy_ctx *c, size_t k) {
    const optional_step *st = &c->optionals->step;
    return k < st->n_base ? st->aliases[k] : -1;
}
