/* Values that only some steps are asked for: logged, printed or read when they arrive, under an `if`. Each needs a program that gives it out; so that k of them
 * need at most k programs more, and not one for each combination that occurs, a step may run a program with options of which it switches some off.
 *
 * Steps that compute the same apart from such options, their base, are a family. While a family has few combinations each gets a program of its own, which
 * computes nothing that is not asked for. When the number of options allows no more of them, a form is made: one program with all options known, whose log
 * update takes as data which of them count, and whose other values are read by those who asked. What a step lacks of it is recorded again (option_tail.c). A
 * later combination runs the smallest form that has it all; a new option makes a new form.
 *
 * Invariants
 *  1. Programs of a family, the first not counted, are at most as many as conditions: options that were always asked for together are of one. Own programs
 *     are made only while there is one left for a form.
 *  2. All this happens where a step's program is not in memory. A step whose own program is there never comes here.
 *  3. A form's inputs are known by what they are to the base, for steps meet their arguments in different orders.
 *  4. An option that reads a tensor which other steps do not have, or that ranks compute together, is not switched off: steps with it have programs of their
 *     own. */
#include "lazy/option.h"
#include "lazy/mesh.h"

#include <stdatomic.h>

typedef struct combination { /* of options: what its steps run */
    uint64_t set, states; /* states: types of those that the owners had */
    struct family *of;
    lazy_form *form; /* NULL: a program of its own */
} combination;

typedef struct family {
    hash128 base;
    option_item *items;
    size_t n_items, cap_items;
    combination **combos;
    size_t n_combos, cap_combos;
    lazy_form **forms;
    size_t n_forms, cap_forms;
    size_t n_own;
    uint64_t always, never; /* patterns of items asked for in every combination, and in none */
} family;

enum { MOST_OWNERS = 4, MOST_FAMILIES = 64, MOST_COMBINATIONS = 4096, MOST_ITEMS = 512 };
typedef struct lazy_book {
    struct {
        lazy_options o;
        bool active, used; /* in this step: it has options, its state has a new value */
    } owners[MOST_OWNERS];
    size_t n_owners;
    bool begun;
    family **families;
    size_t n_families, cap_families;
    map *combos; /* by natural key */
    size_t n_combos;
    size_t *order;
    size_t n_order, cap_order;
    option_step step; /* the present one, where it was looked at */
    uint32_t *tensors; /* slots of its tensors that have buffers, in the order in which they were made */
    size_t n_tensors, cap_tensors;
} book;

/* --- life ----------------------------------------------------------------------------------------------------------------------------------------- */
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

static void forget_families(book *k) {
    for (size_t i = 0; i < k->n_families; i++) family_free(k->families[i]);
    map_free(k->combos, NULL);
    k->combos = NULL;
    k->n_families = k->n_combos = 0;
}

static void step_free(option_step *st) {
    base_free(st->roots);
    base_free(st->layouts);
    base_free(st->now);
    base_free(st->numbers);
    base_free(st->places);
    *st = (option_step){0};
}

void lazy_book_free(lazy_ctx *c) {
    book *k = c->book;
    if (!k) return;
    forget_families(k);
    step_free(&k->step);
    base_free(k->families);
    base_free(k->order);
    base_free(k->tensors);
    base_free(k);
    c->book = NULL;
}

static book *book_of(lazy_ctx *c) {
    if (!c->book) c->book = base_calloc(1, sizeof *c->book);
    return c->book;
}

void lazy_options_step_ended(lazy_ctx *c) {
    book *k = c->book;
    for (size_t i = 0; i < k->n_owners; i++) {
        if (k->owners[i].active || k->owners[i].used) k->owners[i].o.ended(k->owners[i].o.user);
        k->owners[i].active = k->owners[i].used = false;
    }
    k->begun = false;
    if (k->step.roots) step_free(&k->step);
    c->request_order = NULL;
    c->n_request_order = 0;
    c->places = NULL;
}

void lazy_options_begin(const lazy_options *o) {
    lazy_ctx *c = lazy_ctx_get();
    book *k = c ? book_of(c) : NULL;
    if (!k) return;
    size_t i = 0;
    while (i < k->n_owners && k->owners[i].o.user != o->user) i++;
    if (i == MOST_OWNERS) return;
    if (i == k->n_owners) k->n_owners++;
    k->owners[i].o = *o;
    k->owners[i].active = true;
    for (size_t p = 0; !k->begun && p < c->n_packs; p++) c->packs[p].before_options = c->packs[p].n;
    k->begun = true;
}

void lazy_options_forget(const void *user) {
    lazy_ctx *c = lazy_ctx_get();
    book *k = c ? c->book : NULL;
    if (!k) return;
    forget_families(k);
    for (size_t i = k->n_owners; i-- > 0;)
        if (k->owners[i].o.user == user) k->owners[i] = k->owners[--k->n_owners];
}

bool lazy_request_is_option(const lazy_request *q) { return q->value && !q->to_slot; }

/* --- the step that is being ended --------------------------------------------------------------------------------------------------------------- */
static size_t owner_of_slot(const book *k, uint32_t slot) {
    size_t i = 0;
    while (i < k->n_owners && k->owners[i].o.state(k->owners[i].o.user).slot != slot) i++;
    return i;
}

static uint64_t mix(uint64_t a, uint64_t b) { return hash_mix((hash128){a, 0x6f70}, (hash128){b, 0x74}).lo; }

static bool list_owner(book *k, size_t i, option_step *st) {
    const lazy_options *o = &k->owners[i].o;
    size_t n = o->count(o->user);
    lazy_option *all = base_calloc(n + 1, sizeof *all);
    if (!all) return false;
    o->list(o->user, all);
    bool ok = true;
    for (size_t j = 0; j < n && ok; j++) {
        option_now now = {.line = mix((uint64_t)(uintptr_t)o->user, all[j].id), .o = all[j], .owner = o->user};
        ok = VEC_PUSH(st->now, st->n_now, st->cap_now, now);
    }
    base_free(all);
    return ok;
}

static bool list_requests(lazy_ctx *c, option_step *st) {
    for (size_t i = 0; i < c->n_requests; i++) {
        const lazy_request *q = &c->requests[i];
        if (!lazy_request_is_option(q)) continue;
        option_now now = {.line = mix((uint64_t)(uintptr_t)q->asked.what, q->asked.src), .o = {.what = q->asked.what, .src = q->asked.src, .values = {q->value}}, .request = i};
        if (!VEC_PUSH(st->now, st->n_now, st->cap_now, now)) return false;
    }
    return true;
}

/* One line may ask for several values, from a helper function, say: each is known by how it is made. */
static void tell_requests_apart(option_step *st, size_t i) {
    option_now *now = &st->now[i];
    if (now->owner) return;
    now->line = mix(now->line, now->marks[0]);
    for (size_t j = 0; j < i; j++) now->id += st->now[j].line == now->line;
}

/* --- arguments that are not the base's -------------------------------------------------------------------------------------------------------------- */
enum { OF_BASE = 1, OF_PACK, OF_LOG, OF_STATE, OF_STEP, KIND_SHIFT = 60 };

static bool list_tensors(lazy_ctx *c, book *k) {
    k->n_tensors = 0;
    for (size_t i = 0; i < c->n_step_slots; i++) {
        const lazy_slot *s = &c->slots[c->step_slots[i]];
        if (s->live && s->buf && !s->value && !s->persistent && !VEC_PUSH(k->tensors, k->n_tensors, k->cap_tensors, c->step_slots[i])) return false;
    }
    return true;
}

uint64_t lazy_leaf_id(const lazy_ctx *c, uint32_t place) {
    const lazy_leaf *l = &c->leaves[place];
    const book *k = c->book;
    const lazy_slot *s = &c->slots[l->slot];
    if (l->pack >= 0) return (uint64_t)OF_PACK << KIND_SHIFT | (uint32_t)l->pack;
    if (!s->live || s->generation != l->generation || l->slot >> (KIND_SHIFT - 32)) return 0;
    if (s->is_state) return (uint64_t)OF_STATE << KIND_SHIFT | (uint64_t)l->slot << 32 | l->generation;
    for (size_t i = 0; i < k->n_tensors; i++)
        if (k->tensors[i] == l->slot) return (uint64_t)OF_STEP << KIND_SHIFT | i;
    return 0;
}

/* The slot that an id stands for in this step; 0: none. */
static uint32_t slot_of(const lazy_ctx *c, uint64_t id) {
    const book *k = c->book;
    uint32_t slot = (uint32_t)(id >> 32) & ((1u << (KIND_SHIFT - 32)) - 1);
    if (id >> KIND_SHIFT == OF_STEP) return (uint32_t)id < k->n_tensors ? k->tensors[(uint32_t)id] : 0;
    bool there = id >> KIND_SHIFT == OF_STATE && slot < c->n_slots && c->slots[slot].live && c->slots[slot].generation == (uint32_t)id;
    return there ? slot : 0;
}

ir_value *option_leaf_again(lazy_ctx *c, const struct option_leaf *l) {
    uint32_t slot = slot_of(c, l->id), pack = (uint32_t)l->id;
    ir_value *v = slot ? lazy_leaf_of(c, slot) : l->id >> KIND_SHIFT == OF_PACK && pack < c->n_packs ? c->packs[pack].leaf : NULL;
    return v && v->type == l->type ? v : NULL;
}

static xt_status read_step(lazy_ctx *c, book *k, const lazy_roots *r, const uint32_t *slots, const size_t *requests, option_step *st) {
    bool ok = true;
    for (size_t i = 0; i < k->n_owners && ok; i++)
        if (k->owners[i].active) ok = list_owner(k, i, st);
    ok = ok && list_requests(c, st);
    st->n_numbers = c->b.block->n_args;
    st->roots = base_calloc(r->n + 2 * st->n_now + 1, sizeof *st->roots);
    st->layouts = base_calloc(r->n + 1, sizeof *st->layouts);
    st->numbers = base_calloc(st->n_numbers + 1, sizeof *st->numbers);
    st->places = base_calloc(st->n_numbers + 1, sizeof *st->places);
    if (!ok || !st->roots || !st->layouts || !st->numbers || !st->places) return status_oom((r->n + st->n_now) * sizeof *st->roots, "the options of a step");
    for (size_t i = 0; i < r->n; i++) {
        if (slots[i] == UINT32_MAX ? lazy_request_is_option(&c->requests[requests[i]]) : owner_of_slot(k, slots[i]) < k->n_owners) continue;
        st->layouts[st->n_base] = r->layouts ? r->layouts[i] : NULL;
        st->roots[st->n_base++] = r->values[i];
    }
    st->n_roots = st->n_base;
    for (size_t i = 0; i < st->n_now; i++)
        for (int j = 0; j < 2; j++)
            if (st->now[i].o.values[j]) st->roots[st->n_roots++] = st->now[i].o.values[j];
    XT_TRY(option_marks(c, st));
    for (size_t i = 0; i < st->n_now; i++) tell_requests_apart(st, i);
    for (uint32_t i = 0; i < st->n_numbers; i++) st->places[st->numbers[i]] = i; /* 0: unused ones, never asked for */
    return NULL;
}

/* --- families ------------------------------------------------------------------------------------------------------------------------------------- */
static family *family_of(book *k, hash128 base) {
    for (size_t i = 0; i < k->n_families; i++)
        if (hash_equal(k->families[i]->base, base)) return k->families[i];
    if (k->n_families >= MOST_FAMILIES || k->n_combos >= MOST_COMBINATIONS) forget_families(k); /* shapes without end: begun again */
    family *f = base_calloc(1, sizeof *f);
    if (f) f->base = base;
    if (f && VEC_PUSH(k->families, k->n_families, k->cap_families, f)) return f;
    base_free(f);
    return NULL;
}

static uint64_t set_of(const option_step *st) {
    uint64_t set = 0;
    for (size_t i = 0; i < st->n_now; i++) set += mix(st->now[i].line, st->now[i].id + 1);
    return set;
}

static uint64_t state_types(const book *k) {
    uint64_t h = 1;
    for (size_t i = 0; i < k->n_owners; i++) {
        const ir_type *t = lazy_type(k->owners[i].o.state(k->owners[i].o.user));
        if (k->owners[i].active) h = mix(h, (t ? t->id : 0) + (uint64_t)i * 7);
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
        while (now->item < f->n_items && (f->items[now->item].line != now->line || f->items[now->item].id != now->id)) now->item++;
        if (now->item == f->n_items) continue;
        const option_item *it = &f->items[now->item];
        same &= it->marks[0] == now->marks[0] && it->marks[1] == now->marks[1] && it->o.kind == now->o.kind && it->o.number == now->o.number;
    }
    return same;
}

static xt_status add_items(lazy_ctx *c, family *f, option_step *st) {
    size_t known = f->n_items;
    for (size_t i = 0; i < st->n_now; i++) {
        option_now *now = &st->now[i];
        if (now->item < known) continue;
        option_item it = {.line = now->line, .id = now->id, .o = now->o, .owner = now->owner, .marks = {now->marks[0], now->marks[1]}, .pattern = f->never};
        now->item = f->n_items;
        if (!VEC_PUSH(f->items, f->n_items, f->cap_items, it)) return status_oom(sizeof it, "an option of a step");
    }
    for (size_t i = 0; i < f->n_items; i++) {
        bool there = false;
        for (size_t j = 0; j < st->n_now; j++) there |= st->now[j].item == i;
        f->items[i].pattern = mix(f->items[i].pattern, there);
    }
    f->always = mix(f->always, true);
    f->never = mix(f->never, false);
    return f->n_items > known ? option_save(c, st, f->items, known, f->n_items) : NULL;
}

/* Groups of options that come and go together. */
static size_t conditions(const family *f) {
    size_t n = 0;
    for (size_t i = 0; i < f->n_items; i++) {
        bool counts = f->items[i].pattern != f->always && !f->items[i].foreign;
        for (size_t j = 0; j < i && counts; j++) counts = f->items[j].pattern != f->items[i].pattern || f->items[j].foreign;
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
        if (has_all(f->forms[i], st) && (!best || count(f->forms[i]->has, f->forms[i]->n_has) < count(best->has, best->n_has))) best = f->forms[i];
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
    for (size_t i = 0; i < f->n_combos && same; i++) { /* seen before: with another state of the log, or in another order, for which a program of its own is one more */
        if (f->combos[i]->set != set || (!f->combos[i]->form && f->combos[i]->states == state_types(k))) continue;
        *out = f->combos[i]->form;
        return add_combination(k, f, key, set, *out) ? NULL : status_oom(sizeof(combination), "a step's program");
    }
    if (same) {
        XT_TRY(add_items(c, f, st));
        for (size_t i = 0; i < st->n_now; i++) counts &= !f->items[st->now[i].item].foreign;
        own = !counts || may_have_its_own(f);
    }
    if (own) f->n_own += same && counts;
    else *out = smallest(f, st);
    if (!own && !*out) *out = new_form(f);
    return (own || *out) && add_combination(k, f, key, set, *out) ? NULL : status_oom(sizeof(combination), "a step's program");
}

/* --- recording a form ------------------------------------------------------------------------------------------------------------------------------ */
static uint64_t new_serial(void) {
    static _Atomic(uint64_t) last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

/* What the program of a form depends on besides its options, which were recorded the same way: the states' types, where numbers of the step lie. */
static uint64_t form_shape(lazy_ctx *c, const book *k) {
    uint64_t h = 1;
    for (size_t i = 0; i < k->n_owners; i++)
        if (k->owners[i].used) h = mix(h, lazy_type(k->owners[i].o.state(k->owners[i].o.user))->id + (uint64_t)i * 7);
    for (size_t i = 0; i < c->n_packs; i++) h = mix(h, (uint64_t)c->packs[i].n << 8 | i);
    return h;
}

static bool record_owner(book *k, size_t owner, const family *f, const lazy_form *form, const lazy_option *all) {
    lazy_option *list = base_calloc(form->n_has + 1, sizeof *list);
    size_t n = 0;
    if (!list) return false;
    for (size_t i = 0; i < form->n_has; i++)
        if (form->has[i] && f->items[i].owner == k->owners[owner].o.user) list[n++] = all[i];
    bool ok = n == 0 || k->owners[owner].o.record(k->owners[owner].o.user, list, n);
    k->owners[owner].used = n > 0;
    base_free(list);
    return ok;
}

/* Requests of the form in its order; those that are off are asked for by nobody. */
static bool order_requests(lazy_ctx *c, book *k, const family *f, const lazy_form *form, const option_step *st, const lazy_option *all) {
    k->n_order = 0;
    for (size_t i = 0; i < form->n_has; i++) {
        if (!form->has[i] || f->items[i].owner) continue;
        size_t at = c->n_requests;
        for (size_t j = 0; j < st->n_now; j++)
            if (st->now[j].item == i) at = st->now[j].request;
        lazy_request off = {.value = all[i].values[0], .asked = {all[i].what, all[i].src}};
        if (at == c->n_requests && !VEC_PUSH(c->requests, c->n_requests, c->cap_requests, off)) return false;
        if (!VEC_PUSH(k->order, k->n_order, k->cap_order, at)) return false;
    }
    c->request_order = k->order;
    c->n_request_order = k->n_order;
    return k->order || !k->n_order;
}

static bool record_all(lazy_ctx *c, book *k, const family *f, lazy_form *form, const option_step *st, const lazy_option *all) {
    for (size_t i = 0; i < form->n_has; i++)
        if (form->has[i] && !all[i].on && f->items[i].owner) lazy_note_asker(src_get(all[i].src), all[i].what);
    for (size_t i = 0; k->begun && i < c->n_packs; i++) c->packs[i].n = c->packs[i].before_options;
    for (size_t i = 0; i < k->n_owners; i++)
        if (!record_owner(k, i, f, form, all)) return false;
    return order_requests(c, k, f, form, st, all);
}

/* Records the form's options in this trace; *out_ok: false where something that one of them reads is not there. */
static xt_status record_form(lazy_ctx *c, book *k, const family *f, lazy_form *form, const option_step *st, bool *out_ok) {
    bool *on = base_calloc(form->n_has + 1, sizeof *on);
    ir_value **again = base_calloc(2 * form->n_has + 1, sizeof *again);
    lazy_option *all = base_calloc(form->n_has + 1, sizeof *all);
    xt_status s = on && again && all ? NULL : status_oom(form->n_has * sizeof *all, "the options of a step");
    for (size_t i = 0; i < st->n_now && !s; i++) {
        all[st->now[i].item] = st->now[i].o;
        on[st->now[i].item] = all[st->now[i].item].on = true;
    }
    lazy_settle(c);
    c->no_grad++;
    if (!s) s = option_graft(c, f->items, form->n_has, form->has, on, again, out_ok);
    for (size_t i = 0; i < form->n_has && !s; i++) {
        if (on[i]) continue;
        all[i] = f->items[i].o;
        all[i].on = false;
        all[i].values[0] = again[2 * i];
        all[i].values[1] = again[2 * i + 1];
    }
    lazy_settle(c);
    if (!s && *out_ok && !record_all(c, k, f, form, st, all)) s = status_oom(form->n_has * sizeof *all, "the options of a step");
    c->no_grad--;
    base_free(on);
    base_free(again);
    base_free(all);
    return s;
}

static void key_form(lazy_ctx *c, const book *k, lazy_form *form) {
    uint64_t shape = form_shape(c, k);
    if (form->key.hi == shape) return;
    form->key = (hash128){hash_mix((hash128){new_serial(), shape}, (hash128){0x666f726d, 1}).lo, shape};
}

xt_status lazy_options_choose(lazy_ctx *c, hash128 key, const lazy_roots *r, const uint32_t *slots, const size_t *requests, lazy_form **out_form) {
    *out_form = NULL;
    if (c->nan || c->eager || lazy_spmd() || lazy_rehearsing()) return NULL;
    book *k = book_of(c);
    if (!k) return status_oom(sizeof *k, "the options of a step");
    const combination *known = k->combos ? map_get(k->combos, &key, sizeof key) : NULL;
    if (known && !known->form) return NULL; /* evicted */
    step_free(&k->step);
    option_step *st = &k->step;
    lazy_form *form = known ? known->form : NULL;
    xt_status s = list_tensors(c, k) ? read_step(c, k, r, slots, requests, st) : status_oom(c->n_step_slots * sizeof(uint32_t), "the options of a step");
    if (!st->n_base) st->base = hash_mix((hash128){1, c->used.mode}, (hash128){(uint64_t)c->used.no_grad, c->used.autocast}); /* a pass over data that is only logged */
    family *f = s ? NULL : known ? known->of : family_of(k, st->base);
    bool as_known = f && known && find_items(f, st) && has_all(form, st); /* the key does not know which lines ask */
    bool ok = false;
    if (f && !as_known) s = decide(c, k, key, st, f, &form);
    if (!s && form) s = record_form(c, k, f, form, st, &ok);
    if (s && f) forget_families(k); /* they may have been left half made */
    if (!s && ok) key_form(c, k, form);
    lazy_key_tree_done(c);
    if (!s && ok) *out_form = form;
    return s;
}

/* --- inputs ------------------------------------------------------------------------------------------------------------------------------------------ */
static uint64_t identify(const lazy_ctx *c, const book *k, uint32_t place) {
    const lazy_leaf *l = &c->leaves[place];
    size_t owner = l->pack >= 0 ? k->n_owners : owner_of_slot(k, l->slot);
    if (owner < k->n_owners) return (uint64_t)OF_LOG << KIND_SHIFT | owner; /* it may become larger, and is another state then */
    bool of_base = l->pack < 0 && place < k->step.n_numbers && k->step.numbers[place] && k->step.numbers[place] <= k->step.in_base;
    return of_base ? (uint64_t)OF_BASE << KIND_SHIFT | k->step.numbers[place] : lazy_leaf_id(c, place);
}

static bool place_of(const lazy_ctx *c, const book *k, uint64_t what, uint32_t *out) {
    uint32_t n = (uint32_t)what;
    const ir_value *leaf = NULL;
    switch (what >> KIND_SHIFT) {
    case OF_BASE: *out = n <= k->step.in_base ? k->step.places[n] : 0; return n <= k->step.in_base;
    case OF_PACK: leaf = n < c->n_packs ? c->packs[n].leaf : NULL; break;
    case OF_LOG: leaf = c->slots[k->owners[n].o.state(k->owners[n].o.user).slot].leaf; break;
    default: leaf = slot_of(c, what) ? c->slots[slot_of(c, what)].leaf : NULL; break;
    }
    if (leaf) *out = leaf->index;
    return leaf != NULL;
}

static xt_status set_inputs(const lazy_ctx *c, lazy_form *f, const lazy_program *p) {
    base_free(f->inputs);
    base_free(f->places);
    f->inputs = base_calloc(p->n_inputs + 1, sizeof *f->inputs);
    f->places = base_calloc(p->n_inputs + 1, sizeof *f->places);
    if (!f->inputs || !f->places) return status_oom(p->n_inputs * sizeof *f->inputs, "the inputs of a step");
    for (size_t i = 0; i < p->n_inputs; i++) f->inputs[i] = identify(c, c->book, p->inputs[i]);
    return NULL;
}

xt_status lazy_form_bind(lazy_ctx *c, lazy_form *f, const lazy_program *p, bool made) {
    xt_status s = made ? set_inputs(c, f, p) : NULL;
    if (s) f->key = (hash128){0}; /* only the trace that made a program tells what its inputs are: it is made again */
    for (size_t i = 0; i < p->n_inputs && !s; i++)
        if (!f->inputs[i] || !place_of(c, c->book, f->inputs[i], &f->places[i])) s = status_new(XT_INTERNAL, NULL, "input %zu of a step with options is not there", i);
    if (!s) c->places = f->places;
    return s;
}
