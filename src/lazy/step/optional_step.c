/* What the step that is being ended is asked for: by requests, and by the owners of states (the log engine) that make
 * one new value of all. And what its arguments are to other steps. */
#include "lazy/step/optional.h"

void optional_step_free(optional_step *st) {
    base_free(st->roots);
    base_free(st->layouts);
    base_free(st->aliases);
    base_free(st->now);
    base_free(st->numbers);
    base_free(st->places);
    *st = (optional_step){0};
}

static void registry_free(lazy_ctx *c) {
    optional_registry *k = c->optionals;
    optional_forget_groups(k);
    optional_step_free(&k->step);
    base_free(k->groups);
    base_free(k->order);
    base_free(k->tensors);
    base_free(k->owners);
    base_free(k);
    c->optionals = NULL;
}

static void step_ended(lazy_ctx *c) {
    optional_registry *k = c->optionals;
    for (size_t i = 0; i < k->n_owners; i++) {
        if (k->owners[i].active || k->owners[i].used) k->owners[i].o.ended(k->owners[i].o.user);
        k->owners[i].active = k->owners[i].used = false;
    }
    k->begun = k->apart = k->serves = false;
    if (k->step.roots) optional_step_free(&k->step);
    c->request_order = NULL;
    c->n_request_order = 0;
    c->places = NULL;
}

static const lazy_guest guest = {.trace_cleared = step_ended, .freed = registry_free};

optional_registry *optional_registry_of(lazy_ctx *c) {
    if (c->optionals) return c->optionals;
    c->optionals = base_calloc(1, sizeof *c->optionals);
    if (c->optionals) lazy_attend(c, &guest);
    return c->optionals;
}

/* An owner that is not entered would not be told when the step has ended. */
xt_status lazy_optional_begin(const lazy_optional_owner *o) {
    lazy_ctx *c = lazy_ctx_get();
    optional_registry *k = c ? optional_registry_of(c) : NULL;
    if (!k) return status_oom(sizeof *k, "the optional outputs of a step");
    size_t i = 0;
    while (i < k->n_owners && k->owners[i].o.user != o->user) i++;
    if (i == k->n_owners && !VEC_PUSH(k->owners, k->n_owners, k->cap_owners, ((optional_owner){.o = *o})))
        return status_oom(sizeof *k->owners, "the optional outputs of a step");
    k->owners[i].o = *o;
    k->owners[i].active = true;
    for (size_t p = 0; !k->begun && p < c->n_packs; p++) c->packs[p].before_optionals = c->packs[p].n;
    k->begun = c->optionals_begun = true;
    return NULL;
}

void lazy_optional_apart(void) {
    lazy_ctx *c = lazy_ctx_get();
    optional_registry *k = c ? optional_registry_of(c) : NULL;
    if (k)
        k->apart = true;
    else if (c)
        lazy_fail(status_oom(sizeof *k, "the optional outputs of a step"));
}

void lazy_optional_forget(const void *user) {
    lazy_ctx *c = lazy_ctx_get();
    optional_registry *k = c ? c->optionals : NULL;
    if (!k) return;
    optional_forget_groups(k);
    for (size_t i = k->n_owners; i-- > 0;)
        if (k->owners[i].o.user == user) k->owners[i] = k->owners[--k->n_owners];
}

bool lazy_request_is_optional(const lazy_request *q) {
    return q->value && !q->to_slot;
}

size_t optional_owner_of_slot(const optional_registry *k, uint32_t slot) {
    size_t i = 0;
    while (i < k->n_owners && k->owners[i].o.state(k->owners[i].o.user).slot != slot) i++;
    return i;
}

static bool list_owner(optional_registry *k, size_t i, optional_step *st) {
    const lazy_optional_owner *o = &k->owners[i].o;
    size_t n = o->count(o->user);
    lazy_optional *all = base_calloc(n + 1, sizeof *all);
    if (!all) return false;
    o->list(o->user, all);
    bool ok = true;
    for (size_t j = 0; j < n && ok; j++) {
        optional_now now = {
            .line = optional_mix((uint64_t)(uintptr_t)o->user, all[j].id), .o = all[j], .owner = o->user};
        ok = VEC_PUSH(st->now, st->n_now, st->cap_now, now);
    }
    base_free(all);
    return ok;
}

static bool list_requests(lazy_ctx *c, optional_step *st) {
    for (size_t i = 0; i < c->n_requests; i++) {
        const lazy_request *q = &c->requests[i];
        if (!lazy_request_is_optional(q)) continue;
        optional_now now = {.line = optional_mix((uint64_t)(uintptr_t)q->asked.what, q->asked.src),
                            .o = {.what = q->asked.what, .src = q->asked.src, .values = {q->value}},
                            .request = i};
        if (!VEC_PUSH(st->now, st->n_now, st->cap_now, now)) return false;
    }
    return true;
}

/* One line may ask for several values, from a helper function, say: each is known by how it is made. */
static void tell_requests_apart(optional_step *st, size_t i) {
    optional_now *now = &st->now[i];
    if (now->owner) return;
    now->line = optional_mix(now->line, now->marks[0]);
    for (size_t j = 0; j < i; j++) now->id += st->now[j].line == now->line;
}

/* --- arguments that are not the base's --- */
bool optional_list_tensors(lazy_ctx *c, optional_registry *k) {
    k->n_tensors = 0;
    for (size_t i = 0; i < c->n_step_slots; i++) {
        const lazy_slot *s = &c->slots[c->step_slots[i]];
        if (s->live && s->buf && !s->value && !s->persistent &&
            !VEC_PUSH(k->tensors, k->n_tensors, k->cap_tensors, c->step_slots[i]))
            return false;
    }
    for (size_t i = 0; i < c->older.n_read; i++)
        if (!VEC_PUSH(k->tensors, k->n_tensors, k->cap_tensors, c->older.read[i])) return false;
    return true;
}

uint64_t optional_leaf_id(const lazy_ctx *c, uint32_t place) {
    const lazy_leaf *l = &c->leaves[place];
    const optional_registry *k = c->optionals;
    const lazy_slot *s = &c->slots[l->slot];
    if (l->pack >= 0) return (uint64_t)OF_PACK << KIND_SHIFT | (uint32_t)l->pack;
    if (!s->live || s->generation != l->generation || l->slot >> (KIND_SHIFT - 32)) return 0;
    if (s->is_state) return (uint64_t)OF_STATE << KIND_SHIFT | (uint64_t)l->slot << 32 | l->generation;
    for (size_t i = 0; i < k->n_tensors; i++)
        if (k->tensors[i] == l->slot) return (uint64_t)OF_STEP << KIND_SHIFT | i;
    return 0;
}

/* The slot that an id stands for in this step; 0: none. */
uint32_t optional_slot_of(const lazy_ctx *c, uint64_t id) {
    const optional_registry *k = c->optionals;
    uint32_t slot = (uint32_t)(id >> 32) & ((1u << (KIND_SHIFT - 32)) - 1);
    if (id >> KIND_SHIFT == OF_STEP) return (uint32_t)id < k->n_tensors ? k->tensors[(uint32_t)id] : 0;
    bool there = id >> KIND_SHIFT == OF_STATE && slot < c->n_slots && c->slots[slot].live &&
                 c->slots[slot].generation == (uint32_t)id;
    return there ? slot : 0;
}

/* Another argument for a tensor that the base reads: in a step where the optional output is on it is another tensor. */
static ir_value *leaf_beside(lazy_ctx *c, uint32_t slot) {
    const lazy_slot *s = &c->slots[slot];
    if (s->is_state || !s->buf) return NULL; /* a state's buffer may be given away with the base's argument */
    lazy_buf_retain(s->buf);
    return lazy_new_leaf(
        c, s->type,
        (lazy_leaf){.buf = s->buf, .pack = -1, .slot = slot, .generation = s->generation, .layout = s->layout});
}

ir_value *optional_leaf_again(lazy_ctx *c, const struct optional_leaf *l) {
    uint32_t slot = optional_slot_of(c, l->id), pack = (uint32_t)l->id;
    if (!slot) {
        ir_value *v = l->id >> KIND_SHIFT == OF_PACK && pack < c->n_packs ? c->packs[pack].leaf : NULL;
        return v && v->type == l->type ? v : NULL;
    }
    if (c->slots[slot].type != l->type) return NULL;
    ir_value *v = lazy_leaf_of(c, slot);
    return v && v->user & LAZY_V_BASE ? leaf_beside(c, slot) : v;
}

xt_status optional_read_step(lazy_ctx *c, optional_registry *k, const lazy_roots *r, const uint32_t *slots,
                             const size_t *requests, optional_step *st) {
    bool ok = true;
    for (size_t i = 0; i < k->n_owners && ok; i++)
        if (k->owners[i].active) ok = list_owner(k, i, st);
    ok = ok && list_requests(c, st);
    st->n_numbers = c->b.block->n_args;
    st->roots = base_calloc(r->n + 2 * st->n_now + 1, sizeof *st->roots);
    st->layouts = base_calloc(r->n + 1, sizeof *st->layouts);
    st->aliases = base_calloc(r->n + 1, sizeof *st->aliases);
    st->numbers = base_calloc(st->n_numbers + 1, sizeof *st->numbers);
    st->places = base_calloc(st->n_numbers + 1, sizeof *st->places);
    if (!ok || !st->roots || !st->layouts || !st->aliases || !st->numbers || !st->places)
        return status_oom((r->n + st->n_now) * sizeof *st->roots, "the optional outputs of a step");
    for (size_t i = 0; i < r->n; i++) {
        if (slots[i] == UINT32_MAX ? lazy_request_is_optional(&c->requests[requests[i]])
                                   : optional_owner_of_slot(k, slots[i]) < k->n_owners)
            continue;
        st->layouts[st->n_base] = r->layouts ? r->layouts[i] : NULL;
        st->aliases[st->n_base] = r->alias_leaf[i];
        st->roots[st->n_base++] = r->values[i];
    }
    st->n_roots = st->n_base;
    for (size_t i = 0; i < st->n_now; i++)
        for (int j = 0; j < 2; j++)
            if (st->now[i].o.values[j]) st->roots[st->n_roots++] = st->now[i].o.values[j];
    XT_TRY(optional_marks(c, st));
    for (size_t i = 0; i < st->n_now; i++) tell_requests_apart(st, i);
    for (uint32_t i = 0; i < st->n_numbers; i++) st->places[st->numbers[i]] = i; /* 0: unused ones, never asked for */
    return NULL;
}
