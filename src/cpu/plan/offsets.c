/* Offsets of temporaries in one arena: largest first, each at the lowest place free during its whole life (the greedy
 * order of Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020).
 *
 * Each one is compared with all that have a place: quadratic, but fast, and what programs of some thousand temporaries
 * need. Beyond MOST_STEPS comparisons the rest, which are the program's smallest, are compared only with those that
 * live at the same time. They are found by time: a tree over the thunks keeps each life at the few nodes that make it
 * up, so those alive at a thunk lie on its way to the root, and a list a thunk has the lives that begin there. Where
 * even they are more than MOST_NEIGHBOURS, the place is the lowest one above all of them: the tree knows that height.
 */
#include "cpu/plan/build_int.h"
#include "cpu/plan/stages.h"
#include "cpu/run/zones.h"

#include <stdlib.h>

enum { MOST_STEPS = 1 << 24, MOST_NEIGHBOURS = 1024 };

typedef struct placed {
    uint32_t slot;
    size_t bytes, offset;
    uint32_t first, last;
} placed;

static int by_size(const void *a, const void *b) {
    const placed *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static xt_status list_temporaries(const cpu_plan *p, placed *all, size_t *out_n) {
    size_t n = 0;
    for (uint32_t i = 0; i < p->n_slots; i++) {
        const cpu_slot *x = &p->slots[i];
        if (x->kind != CPU_SLOT_TEMP || x->same_as != CPU_NONE || x->first == CPU_NONE || x->bytes == 0) continue;
        size_t bytes;
        if (!size_add(x->bytes, CPU_ALIGN - 1, &bytes))
            return status_new(XT_RESOURCE_EXHAUSTED, NULL, "a temporary of %zu bytes is too large", x->bytes);
        all[n++] = (placed){i, bytes / CPU_ALIGN * CPU_ALIGN, 0, x->first, x->last};
    }
    qsort(all, n, sizeof *all, by_size);
    *out_n = n;
    return NULL;
}

/* The lowest gap for `x` between those of `order`, by offset, that live when it does. */
static size_t lowest_gap(const placed *x, const placed *all, const uint32_t *order, size_t n) {
    size_t at = 0;
    for (size_t k = 0; k < n; k++) {
        const placed *q = &all[order[k]];
        if (q->last < x->first || q->first > x->last) continue;
        if (q->offset >= at && q->offset - at >= x->bytes) break;
        if (q->offset + q->bytes > at) at = q->offset + q->bytes;
    }
    return at;
}

static xt_status settle(cpu_plan *p, placed *x, size_t at) {
    size_t end;
    if (!size_add(at, x->bytes, &end))
        return status_new(XT_RESOURCE_EXHAUSTED, NULL,
                          "the temporaries of this program do not fit into the address space");
    x->offset = at;
    p->slots[x->slot].offset = at;
    if (end > p->arena_bytes) p->arena_bytes = end;
    return NULL;
}

/* --- who lives when --- */
typedef struct life {
    uint32_t who, next; /* next: 1 + its number in the same list */
} life;
typedef struct times {
    const placed *all;
    size_t leaves; /* a power of two; node k has the children 2k and 2k + 1, the thunk t is node leaves + t */
    uint32_t *begins; /* a thunk's list of lives that begin there: 1 + number */
    uint32_t *at; /* a node's list of lives that cover it */
    uint32_t *count; /* of that list */
    size_t *height, *covered; /* a node's highest end of all that live in it, and of those that cover it */
    life *lives;
    size_t n, cap;
} times;

static bool enlist(times *t, uint32_t *list, uint32_t who) {
    life one = {who, *list};
    if (!VEC_PUSH(t->lives, t->n, t->cap, one)) return false;
    *list = (uint32_t)t->n;
    return true;
}

static bool cover(times *t, size_t node, uint32_t who) {
    const placed *x = &t->all[who];
    size_t end = x->offset + x->bytes;
    if (end > t->covered[node]) t->covered[node] = end;
    t->count[node]++;
    return enlist(t, &t->at[node], who);
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static void raise_above(times *t, size_t node) {
    for (; node; node /= 2) {
        size_t below = node < t->leaves ? larger(t->height[2 * node], t->height[2 * node + 1]) : 0;
        t->height[node] = larger(t->covered[node], below);
    }
}

static bool add_life(times *t, uint32_t who) {
    const placed *x = &t->all[who];
    bool good = enlist(t, &t->begins[x->first], who);
    for (size_t l = t->leaves + x->first, r = t->leaves + x->last + 1; good && l < r; l /= 2, r /= 2) {
        if (l & 1) good = cover(t, l++, who);
        if (good && (r & 1)) good = cover(t, --r, who);
    }
    for (size_t l = t->leaves + x->first, r = t->leaves + x->last + 1; l < r; l /= 2, r /= 2) {
        if (l & 1) raise_above(t, l++);
        if (r & 1) raise_above(t, --r);
    }
    return good;
}

/* Above all that live at any time from x's first to its last thunk. */
static size_t height_over(const times *t, const placed *x) {
    size_t top = 0;
    for (size_t l = t->leaves + x->first, r = t->leaves + x->last + 1; l < r; l /= 2, r /= 2) {
        if (l & 1) top = larger(top, t->height[l++]);
        if (r & 1) top = larger(top, t->height[--r]);
    }
    for (size_t k = (t->leaves + x->first) / 2; k; k /= 2) top = larger(top, t->covered[k]);
    for (size_t k = (t->leaves + x->last) / 2; k; k /= 2) top = larger(top, t->covered[k]);
    return top;
}

/* Those that live when x does, each once; false: they are more than MOST_NEIGHBOURS. */
static bool neighbours(const times *t, const placed *x, uint32_t *out, size_t *out_n) {
    size_t n = 0;
    if (x->last - x->first > MOST_NEIGHBOURS) return false;
    for (size_t k = t->leaves + x->first; k; k /= 2) {
        if (n + t->count[k] > MOST_NEIGHBOURS) return false;
        for (uint32_t i = t->at[k]; i; i = t->lives[i - 1].next) out[n++] = t->lives[i - 1].who;
    }
    for (uint32_t b = x->first + 1; b <= x->last; b++)
        for (uint32_t i = t->begins[b]; i; i = t->lives[i - 1].next) {
            if (n == MOST_NEIGHBOURS) return false;
            out[n++] = t->lives[i - 1].who;
        }
    *out_n = n;
    return true;
}

typedef struct by_offset {
    size_t offset;
    uint32_t who;
} by_offset;
static int compare_offsets(const void *a, const void *b) {
    const by_offset *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x->who < y->who ? -1 : x->who > y->who;
}

static size_t place_among(const times *t, const placed *x) {
    uint32_t found[MOST_NEIGHBOURS];
    by_offset order[MOST_NEIGHBOURS];
    size_t n;
    if (!neighbours(t, x, found, &n)) return height_over(t, x);
    for (size_t i = 0; i < n; i++) order[i] = (by_offset){t->all[found[i]].offset, found[i]};
    qsort(order, n, sizeof *order, compare_offsets);
    for (size_t i = 0; i < n; i++) found[i] = order[i].who;
    return lowest_gap(x, t->all, found, n);
}

/* The temporaries from the one numbered `done` on. */
static xt_status place_by_time(cpu_plan *p, placed *all, size_t done, size_t n) {
    times t = {.all = all, .leaves = 1};
    while (t.leaves < p->n_thunks + 1) t.leaves *= 2;
    t.begins = base_calloc(t.leaves, sizeof *t.begins);
    t.at = base_calloc(2 * t.leaves, sizeof *t.at);
    t.count = base_calloc(2 * t.leaves, sizeof *t.count);
    t.height = base_calloc(2 * t.leaves, sizeof *t.height);
    t.covered = base_calloc(2 * t.leaves, sizeof *t.covered);
    bool good = t.begins && t.at && t.count && t.height && t.covered;
    xt_status s = NULL;
    for (size_t i = 0; good && !s && i < n; i++) {
        if (i >= done) s = settle(p, &all[i], place_among(&t, &all[i]));
        if (!s) good = add_life(&t, (uint32_t)i);
    }
    base_free(t.begins);
    base_free(t.at);
    base_free(t.count);
    base_free(t.height);
    base_free(t.covered);
    base_free(t.lives);
    return s ? s : good ? NULL : status_oom(t.leaves * sizeof *t.height, "a buffer plan");
}

static xt_status place_all(cpu_plan *p, placed *all, uint32_t *order) {
    size_t n = 0, done = 0;
    XT_TRY(list_temporaries(p, all, &n));
    for (size_t steps = 0; done < n && steps <= MOST_STEPS; done++) {
        placed *x = &all[done];
        XT_TRY(settle(p, x, lowest_gap(x, all, order, done)));
        size_t where = done;
        while (where > 0 && all[order[where - 1]].offset > x->offset) where--;
        memmove(order + where + 1, order + where, (done - where) * sizeof *order);
        order[where] = (uint32_t)done;
        steps += done;
    }
    return done < n ? place_by_time(p, all, done, n) : NULL;
}

xt_status cpu_plan_offsets(cpu_plan *p) {
    if (p->zoned) return cpu_zones_offsets(p);
    placed *all = base_malloc((p->n_slots + 1) * sizeof *all);
    uint32_t *order = base_malloc((p->n_slots + 1) * sizeof *order); /* those that have a place, by offset */
    xt_status s = all && order ? place_all(p, all, order) : status_oom(0, "a buffer plan");
    base_free(all);
    base_free(order);
    return s;
}
