/* Checks the invariants of a plan (run/plan.h): of each finished plan, and after each stage of planning in builds with
 * assertions and with XT_DEBUG=passes. */
#include "cpu/plan/stages.h"

#include <stdlib.h>

xt_status cpu_plan_broken(const cpu_exec *e, uint32_t t, const char *what, uint32_t slot) {
    char name[96] = "the end";
    if (t < e->plan.n_thunks) cpu_thunk_name(&e->plan.thunks[t], name, sizeof name);
    return status_new(XT_INTERNAL, NULL, "thunk %u, %s: %s (slot %u)", t, name, what, slot);
}

static uint32_t root_of(const cpu_plan *p, uint32_t s) {
    for (size_t steps = 0; p->slots[s].same_as != CPU_NONE && steps <= p->n_slots; steps++) s = p->slots[s].same_as;
    return s;
}

/* Places lie inside their slots, and what a thunk reads has been written. */
static xt_status check_order(const cpu_exec *e, bool *written) {
    const cpu_plan *p = &e->plan;
    for (size_t i = 0; i < p->n_slots; i++)
        written[i] = p->slots[i].kind == CPU_SLOT_ARG || p->slots[i].kind == CPU_SLOT_CONST;
    for (uint32_t t = 0; t < p->n_thunks; t++) {
        const cpu_thunk *th = &p->thunks[t];
        for (uint32_t i = 0; i < th->n_in; i++) {
            if (th->in[i].slot >= p->n_slots)
                return cpu_plan_broken(e, t, "reads a slot that is not there", th->in[i].slot);
            if (!written[th->in[i].slot]) return cpu_plan_broken(e, t, "reads what nobody has written", th->in[i].slot);
            if (th->in[i].offset > p->slots[th->in[i].slot].bytes)
                return cpu_plan_broken(e, t, "reads beyond a slot's end", th->in[i].slot);
        }
        for (uint32_t i = 0; i < th->n_out; i++) {
            uint32_t s = th->out[i].slot;
            if (s >= p->n_slots || p->slots[s].kind == CPU_SLOT_CONST)
                return cpu_plan_broken(e, t, "writes no place of its own", s);
            if (p->slots[s].kind == CPU_SLOT_ARG) return cpu_plan_broken(e, t, "writes an argument", s);
            written[s] = true;
        }
    }
    for (size_t j = 0; j < e->main->n_results; j++)
        if (!written[p->out_slots[j]])
            return cpu_plan_broken(e, (uint32_t)p->n_thunks, "a result is never written", p->out_slots[j]);
    return NULL;
}

typedef struct span {
    size_t begin, end;
    uint32_t first, last, slot;
} span;
static int by_begin(const void *a, const void *b) {
    const span *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->slot < y->slot ? -1 : x->slot > y->slot;
}

/* A set of numbers below `n`, in levels: a bit of the next level for 64 of the one before. */
enum { SET_LEVELS = 6 };
typedef struct number_set {
    uint64_t *bits[SET_LEVELS];
} number_set;

static bool set_init(number_set *s, size_t n) {
    for (int k = 0; k < SET_LEVELS; k++) {
        n = n / 64 + 1;
        if (!(s->bits[k] = base_calloc(n, sizeof **s->bits))) return false;
    }
    return true;
}

static void set_free(number_set *s) {
    for (int k = 0; k < SET_LEVELS; k++) base_free(s->bits[k]);
}

static void set_add(number_set *s, size_t i) {
    for (int k = 0; k < SET_LEVELS; k++, i /= 64) s->bits[k][i / 64] |= UINT64_C(1) << i % 64;
}

static void set_remove(number_set *s, size_t i) {
    for (int k = 0; k < SET_LEVELS; k++, i /= 64) {
        s->bits[k][i / 64] &= ~(UINT64_C(1) << i % 64);
        if (s->bits[k][i / 64]) return;
    }
}

/* The next number above i (up), or below it, that is in the set; SIZE_MAX: none. */
static size_t set_beside(const number_set *s, size_t i, bool up) {
    for (int k = 0; k < SET_LEVELS; k++, i /= 64) {
        uint64_t mask = up ? ~(((UINT64_C(1) << i % 64) - 1) << 1 | 1) : (UINT64_C(1) << i % 64) - 1;
        uint64_t word = s->bits[k][i / 64] & mask;
        if (!word) continue;
        i = i / 64 * 64 + (size_t)(up ? __builtin_ctzll(word) : 63 - __builtin_clzll(word));
        for (; k > 0; k--) {
            word = s->bits[k - 1][i];
            i = i * 64 + (size_t)(up ? __builtin_ctzll(word) : 63 - __builtin_clzll(word));
        }
        return i;
    }
    return SIZE_MAX;
}

typedef struct moment { /* a life's beginning or end */
    uint32_t thunk, number;
    bool begins;
} moment;
static int by_time(const void *a, const void *b) { /* a life ends after its last thunk, before the next one */
    const moment *x = a, *y = b;
    if (x->thunk != y->thunk) return x->thunk < y->thunk ? -1 : 1;
    if (x->begins != y->begins) return x->begins ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Through time: what begins to live overlaps one that lives only if it overlaps one of those beside it in memory, as
 * they do not overlap each other. */
static xt_status check_apart(const cpu_exec *e, const span *all, size_t n, moment *moments, number_set *alive) {
    for (size_t i = 0; i < n; i++) {
        moments[2 * i] = (moment){all[i].first, (uint32_t)i, true};
        moments[2 * i + 1] = (moment){all[i].last, (uint32_t)i, false};
    }
    qsort(moments, 2 * n, sizeof *moments, by_time);
    for (size_t i = 0; i < 2 * n; i++) {
        size_t k = moments[i].number;
        if (!moments[i].begins) {
            set_remove(alive, k);
            continue;
        }
        size_t above = set_beside(alive, k, true), below = set_beside(alive, k, false);
        if ((above != SIZE_MAX && all[above].begin < all[k].end) ||
            (below != SIZE_MAX && all[below].end > all[k].begin))
            return cpu_plan_broken(e, all[k].first, "shares memory with one that is alive", all[k].slot);
        set_add(alive, k);
    }
    return NULL;
}

/* Temporaries that live at the same time lie apart, inside the arena; a life covers every thunk that touches the slot
 * or one that goes on in it. */
static xt_status check_memory(const cpu_exec *e, span *all) {
    const cpu_plan *p = &e->plan;
    size_t n = 0;
    for (uint32_t t = 0; t < p->n_thunks; t++) {
        const cpu_thunk *th = &p->thunks[t];
        for (uint32_t i = 0; i < th->n_in + th->n_out + 1; i++) {
            uint32_t s = i < th->n_in               ? th->in[i].slot
                         : i < th->n_in + th->n_out ? th->out[i - th->n_in].slot
                                                    : th->scratch;
            if (s == CPU_NONE || p->slots[s].kind != CPU_SLOT_TEMP) continue;
            const cpu_slot *r = &p->slots[root_of(p, s)];
            if (r->kind == CPU_SLOT_TEMP && (r->first > t || r->last < t))
                return cpu_plan_broken(e, t, "touches a slot outside its life", s);
            if (p->slots[s].bytes > r->bytes) return cpu_plan_broken(e, t, "goes on in memory that is too small", s);
        }
    }
    for (uint32_t i = 0; i < p->n_slots; i++) {
        const cpu_slot *s = &p->slots[i];
        if (s->kind != CPU_SLOT_TEMP || s->same_as != CPU_NONE || s->first == CPU_NONE || !s->bytes) continue;
        if (s->offset + s->bytes > p->arena_bytes) return cpu_plan_broken(e, s->first, "lies beyond the arena", i);
        all[n++] = (span){s->offset, s->offset + s->bytes, s->first, s->last, i};
    }
    qsort(all, n, sizeof *all, by_begin);
    moment *moments = base_malloc((2 * n + 1) * sizeof *moments);
    number_set alive = {0};
    xt_status s = set_init(&alive, n) && moments ? check_apart(e, all, n, moments, &alive)
                                                 : status_oom(n * sizeof *moments, "checking a plan");
    set_free(&alive);
    base_free(moments);
    return s;
}

xt_status cpu_plan_verify(const cpu_exec *e, bool assigned) {
    const cpu_plan *p = &e->plan;
    bool *written = base_calloc(p->n_slots + 1, sizeof *written);
    span *all = base_calloc(p->n_slots + 1, sizeof *all);
    xt_status s = written && all ? NULL : status_oom(p->n_slots * sizeof *all, "checking a plan");
    if (!s) s = check_order(e, written);
    if (!s) s = cpu_plan_verify_reads(e);
    if (!s && assigned) s = check_memory(e, all);
    base_free(written);
    base_free(all);
    return s;
}
