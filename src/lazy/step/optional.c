/* Values that only some steps are asked for: logged, printed or read when they arrive, under an `if`. Each needs a
 * program that gives it out; so that k of them need at most k programs more, and not one for each combination that
 * occurs, a step may run a program with optional outputs of which it switches some off.
 *
 * Steps that compute the same apart from such optional outputs, their base, are a group. While a group has few
 * combinations each gets a program of its own, which computes nothing that is not asked for. When the number of
 * optional outputs allows no more of them, a superset is made: one program with all optional outputs known, whose log
 * update takes as data which of them count, and whose other values are read by those who asked. What a step lacks of it
 * is recorded again (optional_subgraph.c). A later combination runs the smallest superset that has it all; a new
 * optional output makes a new superset.
 *
 * Invariants
 *  1. Programs of a group, the first not counted, are at most as many as conditions: optional outputs that were always
 *     asked for together are of one. Own programs are made only while there is one left for a superset.
 *  2. All this happens where a step's program is not in memory. A step whose own program is there never comes here.
 *  3. A superset's inputs are known by what they are to the base, for steps meet their arguments in different orders.
 *     Its results are the base's in their order, whose buffers are taken over as the base has it, then the owners'
 *     states, whose place among the base's differs from step to step.
 *  4. An optional output that reads a tensor which other steps do not have, or that ranks compute together, is not
 *     switched off: steps with it have programs of their own. */
#include "lazy/core/layout.h"
#include "lazy/step/optional.h"

enum { MOST_GROUPS = 64, MOST_COMBINATIONS = 4096, MOST_ITEMS = 512 };

static void superset_free(lazy_superset *f) {
    if (!f) return;
    base_free(f->inputs);
    base_free(f->places);
    base_free(f->has);
    base_free(f);
}

static void group_free(program_group *f) {
    for (size_t i = 0; i < f->n_items; i++) {
        ir_module_free(f->items[i].subgraph);
        base_free(f->items[i].leaves);
    }
    for (size_t i = 0; i < f->n_combos; i++) base_free(f->combos[i]);
    for (size_t i = 0; i < f->n_supersets; i++) superset_free(f->supersets[i]);
    base_free(f->items);
    base_free(f->combos);
    base_free(f->supersets);
    base_free(f);
}

void optional_forget_groups(optional_registry *k) {
    for (size_t i = 0; i < k->n_groups; i++) group_free(k->groups[i]);
    map_free(k->combos, NULL);
    k->combos = NULL;
    k->n_groups = k->n_combos = 0;
}

static program_group *group_of(optional_registry *k, hash128 base) {
    for (size_t i = 0; i < k->n_groups; i++)
        if (hash_equal(k->groups[i]->base, base)) return k->groups[i];
    /* shapes without end: begun again */
    if (k->n_groups >= MOST_GROUPS || k->n_combos >= MOST_COMBINATIONS) optional_forget_groups(k);
    program_group *f = base_calloc(1, sizeof *f);
    if (f) f->base = base;
    if (f && VEC_PUSH(k->groups, k->n_groups, k->cap_groups, f)) return f;
    base_free(f);
    return NULL;
}

static uint64_t set_of(const optional_step *st) {
    uint64_t set = 0;
    for (size_t i = 0; i < st->n_now; i++) set += optional_mix(st->now[i].line, st->now[i].id + 1);
    return set;
}

static uint64_t state_types(const optional_registry *k) {
    uint64_t h = 1;
    for (size_t i = 0; i < k->n_owners; i++) {
        const ir_type *t = lazy_type(k->owners[i].o.state(k->owners[i].o.user));
        if (k->owners[i].active) h = optional_mix(h, (t ? t->id : 0) + (uint64_t)i * 7);
    }
    return h;
}

static bool add_combination(optional_registry *k, program_group *f, hash128 key, uint64_t set,
                            lazy_superset *superset) {
    combination *n = base_calloc(1, sizeof *n), *old = NULL;
    if (n) *n = (combination){set, state_types(k), f, superset};
    if (!n || !VEC_PUSH(f->combos, f->n_combos, f->cap_combos, n)) {
        base_free(n);
        return false;
    }
    k->n_combos++;
    if (!k->combos) k->combos = map_new();
    return k->combos && map_put(k->combos, &key, sizeof key, n, (void **)&old);
}

/* Finds the step's optional outputs among the group's; false where one is made in another way than it was. */
static bool find_items(const program_group *f, optional_step *st) {
    bool same = true;
    for (size_t i = 0; i < st->n_now; i++) {
        optional_now *now = &st->now[i];
        now->item = 0;
        while (now->item < f->n_items && (f->items[now->item].line != now->line || f->items[now->item].id != now->id))
            now->item++;
        if (now->item == f->n_items) continue;
        const optional_item *it = &f->items[now->item];
        same &= it->marks[0] == now->marks[0] && it->marks[1] == now->marks[1] && it->o.kind == now->o.kind &&
                it->o.number == now->o.number;
    }
    return same;
}

static xt_status add_items(lazy_ctx *c, program_group *f, optional_step *st) {
    size_t known = f->n_items;
    for (size_t i = 0; i < st->n_now; i++) {
        optional_now *now = &st->now[i];
        if (now->item < known) continue;
        optional_item it = {.line = now->line,
                            .id = now->id,
                            .o = now->o,
                            .owner = now->owner,
                            .marks = {now->marks[0], now->marks[1]},
                            .pattern = f->never};
        now->item = f->n_items;
        if (!VEC_PUSH(f->items, f->n_items, f->cap_items, it))
            return status_oom(sizeof it, "an optional output of a step");
    }
    for (size_t i = 0; i < f->n_items; i++) {
        bool there = false;
        for (size_t j = 0; j < st->n_now; j++) there |= st->now[j].item == i;
        f->items[i].pattern = optional_mix(f->items[i].pattern, there);
    }
    f->always = optional_mix(f->always, true);
    f->never = optional_mix(f->never, false);
    return f->n_items > known ? optional_save(c, st, f->items, known, f->n_items) : NULL;
}

/* Sets of optional outputs that come and go together. */
static size_t conditions(const program_group *f) {
    size_t n = 0;
    for (size_t i = 0; i < f->n_items; i++) {
        bool counts = f->items[i].pattern != f->always && !f->items[i].foreign;
        for (size_t j = 0; j < i && counts; j++)
            counts = f->items[j].pattern != f->items[i].pattern || f->items[j].foreign;
        n += counts;
    }
    return n;
}

static bool has_all(const lazy_superset *superset, const optional_step *st) {
    for (size_t i = 0; i < st->n_now; i++)
        if (st->now[i].item >= superset->n_has || !superset->has[st->now[i].item]) return false;
    return true;
}

static size_t count(const bool *list, size_t n) {
    size_t k = 0;
    for (size_t i = 0; i < n; i++) k += list[i];
    return k;
}

/* The smallest superset with the step's optional outputs. */
static lazy_superset *smallest(const program_group *f, const optional_step *st) {
    lazy_superset *best = NULL;
    for (size_t i = 0; i < f->n_supersets; i++)
        if (has_all(f->supersets[i], st) &&
            (!best || count(f->supersets[i]->has, f->supersets[i]->n_has) < count(best->has, best->n_has)))
            best = f->supersets[i];
    return best;
}

static bool has_every_one(const program_group *f) {
    size_t all = 0;
    for (size_t i = 0; i < f->n_items; i++) all += !f->items[i].foreign;
    for (size_t i = 0; i < f->n_supersets; i++)
        if (count(f->supersets[i]->has, f->supersets[i]->n_has) == all) return true;
    return false;
}

static lazy_superset *new_superset(program_group *f) {
    lazy_superset *superset = base_calloc(1, sizeof *superset);
    if (superset) superset->has = base_calloc(f->n_items + 1, sizeof *superset->has);
    if (!superset || !superset->has || !VEC_PUSH(f->supersets, f->n_supersets, f->cap_supersets, superset)) {
        superset_free(superset);
        return NULL;
    }
    superset->known.bind = optional_bind_superset;
    superset->n_has = f->n_items;
    for (size_t i = 0; i < f->n_items; i++) superset->has[i] = !f->items[i].foreign;
    return superset;
}

/* Invariant 1. */
static bool may_have_its_own(const program_group *f) {
    size_t n = conditions(f), programs = f->n_own + f->n_supersets;
    return f->n_items > MOST_ITEMS || programs + 1 + (n >= 2 && !has_every_one(f)) <= 1 + n;
}

static xt_status decide(lazy_ctx *c, optional_registry *k, hash128 key, optional_step *st, program_group *f,
                        lazy_superset **out) {
    uint64_t set = set_of(st);
    bool same = find_items(f, st), own = true, counts = true;
    *out = NULL;
    for (size_t i = 0; i < f->n_combos && same; i++) {
        /* seen before: with another state of the log, or in another order, for which a program of its
         * own is one more */
        if (f->combos[i]->set != set || (!f->combos[i]->superset && f->combos[i]->states == state_types(k))) continue;
        *out = f->combos[i]->superset;
        return add_combination(k, f, key, set, *out) ? NULL : status_oom(sizeof(combination), "a step's program");
    }
    if (same) {
        XT_TRY(add_items(c, f, st));
        for (size_t i = 0; i < st->n_now; i++) counts &= !f->items[st->now[i].item].foreign;
        own = !counts || may_have_its_own(f);
    }
    if (own)
        f->n_own += same && counts;
    else
        *out = smallest(f, st);
    if (!own && !*out) *out = new_superset(f);
    return (own || *out) && add_combination(k, f, key, set, *out) ? NULL
                                                                  : status_oom(sizeof(combination), "a step's program");
}

xt_status lazy_superset_choose(lazy_ctx *c, hash128 key, const lazy_roots *r, const uint32_t *slots,
                               const size_t *requests, lazy_known_as **out_other) {
    *out_other = NULL;
    if (c->nan || c->bounds || c->eager || lazy_spmd() || lazy_rehearsing()) return NULL;
    optional_registry *k = optional_registry_of(c);
    if (!k) return status_oom(sizeof *k, "the optional outputs of a step");
    if (k->apart) return NULL;
    const combination *known = k->combos ? map_get(k->combos, &key, sizeof key) : NULL;
    if (known && !known->superset) return NULL; /* evicted */
    optional_step_free(&k->step);
    optional_step *st = &k->step;
    lazy_superset *superset = known ? known->superset : NULL;
    xt_status s = optional_list_tensors(c, k)
                      ? optional_read_step(c, k, r, slots, requests, st)
                      : status_oom(c->n_step_slots * sizeof(uint32_t), "the optional outputs of a step");
    /* a pass over data that is only logged */
    if (!st->n_base)
        st->base = hash_mix((hash128){1, c->used.mode}, (hash128){(uint64_t)c->used.no_grad, c->used.autocast});
    bool same_base = known && hash_equal(known->of->base, st->base);
    program_group *f = s ? NULL : same_base ? known->of : group_of(k, st->base);
    bool as_known =
        f && same_base && find_items(f, st) && has_all(superset, st); /* the key does not know which lines ask */
    bool ok = false;
    if (f && !as_known) s = decide(c, k, key, st, f, &superset);
    if (!s && superset) s = optional_record_superset(c, k, f, superset, st, &ok);
    if (s && f) optional_forget_groups(k); /* they may have been left half made */
    if (!s && ok) optional_key_superset(c, k, superset);
    lazy_key_tree_done(c);
    if (!s && ok) {
        *out_other = &superset->known;
        k->serves = true;
    }
    return s;
}
