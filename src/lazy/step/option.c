/* Values that only some steps are asked for: logged, printed or read when they arrive, under an `if`. Each needs a
 * program that gives it out; so that k of them need at most k programs more, and not one for each combination that
 * occurs, a step may run a program with options of which it switches some off.
 *
 * Steps that compute the same apart from such options, their base, are a family. While a family has few combinations
 * each gets a program of its own, which computes nothing that is not asked for. When the number of options allows no
 * more of them, a form is made: one program with all options known, whose log update takes as data which of them count,
 * and whose other values are read by those who asked. What a step lacks of it is recorded again (option_tail.c). A
 * later combination runs the smallest form that has it all; a new option makes a new form.
 *
 * Invariants
 *  1. Programs of a family, the first not counted, are at most as many as conditions: options that were always asked
 *     for together are of one. Own programs are made only while there is one left for a form.
 *  2. All this happens where a step's program is not in memory. A step whose own program is there never comes here.
 *  3. A form's inputs are known by what they are to the base, for steps meet their arguments in different orders.
 *  4. An option that reads a tensor which other steps do not have, or that ranks compute together, is not switched off:
 *     steps with it have programs of their own. */
#include "lazy/core/layout.h"
#include "lazy/step/option.h"

enum { MOST_FAMILIES = 64, MOST_COMBINATIONS = 4096, MOST_ITEMS = 512 };

static void form_free(lazy_form *f) {
    if (!f) return;
    base_free(f->inputs);
    base_free(f->places);
    base_free(f->has);
    base_free(f);
}

static void family_free(family *f) {
    for (size_t i = 0; i < f->n_items; i++) {
        ir_module_free(f->items[i].tail);
        base_free(f->items[i].leaves);
    }
    for (size_t i = 0; i < f->n_combos; i++) base_free(f->combos[i]);
    for (size_t i = 0; i < f->n_forms; i++) form_free(f->forms[i]);
    base_free(f->items);
    base_free(f->combos);
    base_free(f->forms);
    base_free(f);
}

void option_forget_families(book *k) {
    for (size_t i = 0; i < k->n_families; i++) family_free(k->families[i]);
    map_free(k->combos, NULL);
    k->combos = NULL;
    k->n_families = k->n_combos = 0;
}

static family *family_of(book *k, hash128 base) {
    for (size_t i = 0; i < k->n_families; i++)
        if (hash_equal(k->families[i]->base, base)) return k->families[i];
    /* shapes without end: begun again */
    if (k->n_families >= MOST_FAMILIES || k->n_combos >= MOST_COMBINATIONS) option_forget_families(k);
    family *f = base_calloc(1, sizeof *f);
    if (f) f->base = base;
    if (f && VEC_PUSH(k->families, k->n_families, k->cap_families, f)) return f;
    base_free(f);
    return NULL;
}

static uint64_t set_of(const option_step *st) {
    uint64_t set = 0;
    for (size_t i = 0; i < st->n_now; i++) set += option_mix(st->now[i].line, st->now[i].id + 1);
    return set;
}

static uint64_t state_types(const book *k) {
    uint64_t h = 1;
    for (size_t i = 0; i < k->n_owners; i++) {
        const ir_type *t = lazy_type(k->owners[i].o.state(k->owners[i].o.user));
        if (k->owners[i].active) h = option_mix(h, (t ? t->id : 0) + (uint64_t)i * 7);
    }
    return h;
}

static bool add_combination(book *k, family *f, hash128 key, uint64_t set, lazy_form *form) {
    combination *n = base_calloc(1, sizeof *n), *old = NULL;
    if (n) *n = (combination){set, state_types(k), f, form};
    if (!n || !VEC_PUSH(f->combos, f->n_combos, f->cap_combos, n)) {
        base_free(n);
        return false;
    }
    k->n_combos++;
    if (!k->combos) k->combos = map_new();
    return k->combos && map_put(k->combos, &key, sizeof key, n, (void **)&old);
}

/* Finds the step's options among the family's; false where one is made in another way than it was. */
static bool find_items(const family *f, option_step *st) {
    bool same = true;
    for (size_t i = 0; i < st->n_now; i++) {
        option_now *now = &st->now[i];
        now->item = 0;
        while (now->item < f->n_items && (f->items[now->item].line != now->line || f->items[now->item].id != now->id))
            now->item++;
        if (now->item == f->n_items) continue;
        const option_item *it = &f->items[now->item];
        same &= it->marks[0] == now->marks[0] && it->marks[1] == now->marks[1] && it->o.kind == now->o.kind &&
                it->o.number == now->o.number;
    }
    return same;
}

static xt_status add_items(lazy_ctx *c, family *f, option_step *st) {
    size_t known = f->n_items;
    for (size_t i = 0; i < st->n_now; i++) {
        option_now *now = &st->now[i];
        if (now->item < known) continue;
        option_item it = {.line = now->line,
                          .id = now->id,
                          .o = now->o,
                          .owner = now->owner,
                          .marks = {now->marks[0], now->marks[1]},
                          .pattern = f->never};
        now->item = f->n_items;
        if (!VEC_PUSH(f->items, f->n_items, f->cap_items, it)) return status_oom(sizeof it, "an option of a step");
    }
    for (size_t i = 0; i < f->n_items; i++) {
        bool there = false;
        for (size_t j = 0; j < st->n_now; j++) there |= st->now[j].item == i;
        f->items[i].pattern = option_mix(f->items[i].pattern, there);
    }
    f->always = option_mix(f->always, true);
    f->never = option_mix(f->never, false);
    return f->n_items > known ? option_save(c, st, f->items, known, f->n_items) : NULL;
}

/* Groups of options that come and go together. */
static size_t conditions(const family *f) {
    size_t n = 0;
    for (size_t i = 0; i < f->n_items; i++) {
        bool counts = f->items[i].pattern != f->always && !f->items[i].foreign;
        for (size_t j = 0; j < i && counts; j++)
            counts = f->items[j].pattern != f->items[i].pattern || f->items[j].foreign;
        n += counts;
    }
    return n;
}

static bool has_all(const lazy_form *form, const option_step *st) {
    for (size_t i = 0; i < st->n_now; i++)
        if (st->now[i].item >= form->n_has || !form->has[st->now[i].item]) return false;
    return true;
}

static size_t count(const bool *list, size_t n) {
    size_t k = 0;
    for (size_t i = 0; i < n; i++) k += list[i];
    return k;
}

/* The smallest form with the step's options. */
static lazy_form *smallest(const family *f, const option_step *st) {
    lazy_form *best = NULL;
    for (size_t i = 0; i < f->n_forms; i++)
        if (has_all(f->forms[i], st) &&
            (!best || count(f->forms[i]->has, f->forms[i]->n_has) < count(best->has, best->n_has)))
            best = f->forms[i];
    return best;
}

static bool has_every_option(const family *f) {
    size_t all = 0;
    for (size_t i = 0; i < f->n_items; i++) all += !f->items[i].foreign;
    for (size_t i = 0; i < f->n_forms; i++)
        if (count(f->forms[i]->has, f->forms[i]->n_has) == all) return true;
    return false;
}

static lazy_form *new_form(family *f) {
    lazy_form *form = base_calloc(1, sizeof *form);
    if (form) form->has = base_calloc(f->n_items + 1, sizeof *form->has);
    if (!form || !form->has || !VEC_PUSH(f->forms, f->n_forms, f->cap_forms, form)) {
        form_free(form);
        return NULL;
    }
    form->known.bind = option_bind_form;
    form->n_has = f->n_items;
    for (size_t i = 0; i < f->n_items; i++) form->has[i] = !f->items[i].foreign;
    return form;
}

/* Invariant 1. */
static bool may_have_its_own(const family *f) {
    size_t n = conditions(f), programs = f->n_own + f->n_forms;
    return f->n_items > MOST_ITEMS || programs + 1 + (n >= 2 && !has_every_option(f)) <= 1 + n;
}

static xt_status decide(lazy_ctx *c, book *k, hash128 key, option_step *st, family *f, lazy_form **out) {
    uint64_t set = set_of(st);
    bool same = find_items(f, st), own = true, counts = true;
    *out = NULL;
    for (size_t i = 0; i < f->n_combos && same; i++) {
        /* seen before: with another state of the log, or in another order, for which a program of its
         * own is one more */
        if (f->combos[i]->set != set || (!f->combos[i]->form && f->combos[i]->states == state_types(k))) continue;
        *out = f->combos[i]->form;
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
    if (!own && !*out) *out = new_form(f);
    return (own || *out) && add_combination(k, f, key, set, *out) ? NULL
                                                                  : status_oom(sizeof(combination), "a step's program");
}

xt_status lazy_options_choose(lazy_ctx *c, hash128 key, const lazy_roots *r, const uint32_t *slots,
                              const size_t *requests, lazy_known_as **out_other) {
    *out_other = NULL;
    if (c->nan || c->eager || lazy_spmd() || lazy_rehearsing()) return NULL;
    book *k = option_book_of(c);
    if (!k) return status_oom(sizeof *k, "the options of a step");
    const combination *known = k->combos ? map_get(k->combos, &key, sizeof key) : NULL;
    if (known && !known->form) return NULL; /* evicted */
    option_step_free(&k->step);
    option_step *st = &k->step;
    lazy_form *form = known ? known->form : NULL;
    xt_status s = option_list_tensors(c, k) ? option_read_step(c, k, r, slots, requests, st)
                                            : status_oom(c->n_step_slots * sizeof(uint32_t), "the options of a step");
    /* a pass over data that is only logged */
    if (!st->n_base)
        st->base = hash_mix((hash128){1, c->used.mode}, (hash128){(uint64_t)c->used.no_grad, c->used.autocast});
    family *f = s ? NULL : known ? known->of : family_of(k, st->base);
    bool as_known = f && known && find_items(f, st) && has_all(form, st); /* the key does not know which lines ask */
    bool ok = false;
    if (f && !as_known) s = decide(c, k, key, st, f, &form);
    if (!s && form) s = option_record_form(c, k, f, form, st, &ok);
    if (s && f) option_forget_families(k); /* they may have been left half made */
    if (!s && ok) option_key_form(c, k, form);
    lazy_key_tree_done(c);
    if (!s && ok) *out_other = &form->known;
    return s;
}
