/* Machine code for vector programs: runs of simple instructions become one function of the processor (jit.h), as long
 * as it has registers enough. */
#include "cpu/vector/vprog_int.h"

static bool takes(const ssa_ins *i) {
    return i->fn && jit_takes(i->op, i->of);
}

bool vprog_gather_kinds(vprog_builder *b) {
    size_t n = 0, fast = 0, total = 0;
    for (size_t i = 0; i < b->n; i++) total += b->ins[i].fn != NULL, fast += takes(&b->ins[i]);
    if (fast == 0 || fast == total) return true;
    int *to = base_malloc((b->n + 1) * sizeof *to);
    ssa_ins *sorted = base_malloc((b->n + 1) * sizeof *sorted);
    bool ok = to && sorted;
    for (size_t i = 0; ok && i < b->n; i++) to[i] = -1;
    for (size_t i = 0; ok && i < b->n; i++)
        if (!b->ins[i].fn) to[i] = (int)n, sorted[n++] = b->ins[i];
    for (bool kind = false; ok && n < b->n; kind = !kind)
        for (size_t i = 0; i < b->n; i++) {
            ssa_ins in = b->ins[i];
            int *args[3] = {&in.x, &in.y, &in.z};
            bool ready = to[i] < 0 && takes(&in) == kind;
            for (int k = 0; k < 3 && ready; k++) ready = *args[k] < 0 || to[*args[k]] >= 0;
            if (!ready) continue;
            for (int k = 0; k < 3; k++)
                if (*args[k] >= 0) *args[k] = to[*args[k]];
            to[i] = (int)n;
            sorted[n++] = in;
        }
    for (size_t r = 0; ok && r < b->n_roots; r++) b->roots[r].value = to[b->roots[r].value];
    for (size_t k = 0; ok && k < b->n_parts; k++) b->parts[k].value = to[b->parts[k].value];
    if (ok && b->run) b->folded = to[b->folded];
    if (ok) memcpy(b->ins, sorted, n * sizeof *sorted);
    base_free(to);
    base_free(sorted);
    return ok;
}

bool vprog_read_slowly(const vprog_builder *b, const vprog *t, int v) {
    for (size_t i = 0; i < b->n; i++) {
        const ssa_ins *in = &b->ins[i];
        if (!in->fn || (in->x != v && in->y != v && in->z != v)) continue;
        bool inside = false;
        for (size_t s = 0; s < t->n_segments; s++)
            inside = inside || (i >= t->segments[s].begin && i < t->segments[s].end);
        if (!inside) return true;
    }
    return false;
}

typedef struct segment_build {
    jit_source *sources;
    jit_ins *ins;
    size_t n_sources, n_ins;
    int *number; /* per value: of the instruction, ~ of the source; INT32_MAX = none yet */
} segment_build;

static bool add_ptr(segment *s, int v, uint32_t *out) {
    for (*out = 0; *out < s->n_ptr; (*out)++)
        if (s->ptr[*out] == (uint32_t)v) return true;
    return s->n_ptr < SEGMENT_MAX_PTR && VEC_PUSH(s->ptr, s->n_ptr, s->cap_ptr, (uint32_t)v);
}

static bool segment_operand(const vprog_builder *b, segment *s, segment_build *w, int v, int *out) {
    *out = 0;
    if (v < 0) return true;
    if (w->number[v] == INT32_MAX) {
        const ssa_ins *def = &b->ins[v];
        const vprog_source *src = def->fn ? NULL : &b->sources[def->source];
        jit_source j = {.kind = JIT_VECTOR, .type = def->type};
        if (src && src->kind == VPROG_SPLAT) {
            j.kind = JIT_CONST;
            memcpy(j.splat, src->splat, sizeof j.splat);
        } else {
            if (src && (src->kind == VPROG_SCALAR || vprog_is_row_of_one(src))) j.kind = JIT_SCALAR;
            if (!add_ptr(s, v, &j.ptr)) return false;
        }
        w->sources[w->n_sources] = j;
        w->number[v] = ~(int)w->n_sources++;
    }
    *out = w->number[v];
    return true;
}

static bool is_folded_in(const vprog_builder *b, size_t begin, size_t end) {
    return b->run && b->folded >= (int)begin && b->folded < (int)end;
}

/* The code of s, NULL when it cannot be one piece. `last`: last readers over the whole vector program. */
static bool segment_compile(const vprog_builder *b, segment *s, const int *last) {
    segment_build w = {0};
    size_t n = s->end - s->begin;
    w.sources = base_calloc(3 * n + 1, sizeof *w.sources);
    w.ins = base_calloc(n + 1, sizeof *w.ins);
    w.number = base_malloc((b->n + 1) * sizeof *w.number);
    bool ok = w.sources && w.ins && w.number;
    s->n_ptr = 0;
    for (size_t v = 0; ok && v < b->n; v++) w.number[v] = INT32_MAX;
    for (size_t i = s->begin; ok && i < s->end; i++) {
        const ssa_ins *in = &b->ins[i];
        if (!in->fn) continue;
        jit_ins j = {.op = in->op, .type = in->of, .store = -1};
        ok = segment_operand(b, s, &w, in->x, &j.x) && segment_operand(b, s, &w, in->y, &j.y) &&
             segment_operand(b, s, &w, in->z, &j.z);
        if (ok && (in->store_out >= 0 || last[i] >= (int)s->end)) {
            uint32_t p;
            ok = add_ptr(s, (int)i, &p);
            j.store = (int)p;
        }
        w.number[i] = (int)w.n_ins;
        w.ins[w.n_ins++] = j;
    }
    s->folds = is_folded_in(b, s->begin, s->end);
    if (ok && s->folds) {
        jit_fold fold = {b->fold, b->ins[b->folded].type, w.number[b->folded], (uint32_t)s->n_ptr};
        s->code = jit_compile_fold(w.sources, w.n_sources, w.ins, w.n_ins, &fold);
    } else if (ok) {
        s->code = jit_compile(w.sources, w.n_sources, w.ins, w.n_ins);
    }
    base_free(w.sources);
    base_free(w.ins);
    base_free(w.number);
    return s->code != NULL;
}

/* Splits [begin, end) until each piece has registers enough; what cannot be compiled at all is left to the loops of
 * simd.h. */
static bool add_segments(const vprog_builder *b, vprog *t, size_t begin, size_t end, const int *last) {
    size_t n = 0, half = 0;
    bool work = is_folded_in(b, begin, end), wide = work;
    for (size_t i = begin; i < end; i++) {
        const ssa_ins *in = &b->ins[i];
        if (!in->fn) continue;
        n++;
        work = work || in->op != VPROG_COPY;
        wide = wide || in->size > 1 || vprog_type_size(in->of) > 1;
    }
    if (!work) return true; /* plain copies: memmove knows how */
    if (!wide) return true; /* bools alone: the loops have a lane a byte, machine code one for four */
    segment s = {.begin = begin, .end = end};
    if (segment_compile(b, &s, last)) {
        s.fn = jit_function(s.code);
        if (VEC_PUSH(t->segments, t->n_segments, t->cap_segments, s)) return true;
        jit_release(s.code);
        base_free(s.ptr);
        return false;
    }
    base_free(s.ptr);
    if (n <= 8) return true;
    size_t middle = begin;
    while (half < n / 2) half += b->ins[middle++].fn != NULL;
    return add_segments(b, t, begin, middle, last) && add_segments(b, t, middle, end, last);
}

static bool find_segments(const vprog_builder *b, vprog *t, const int *last) {
    for (size_t i = 0; i < b->n;) {
        if (!takes(&b->ins[i])) {
            i++;
            continue;
        }
        size_t begin = i;
        while (i < b->n && (!b->ins[i].fn || takes(&b->ins[i]))) i++;
        if (!add_segments(b, t, begin, i, last)) return false;
    }
    return true;
}

bool vprog_find_segments(vprog_builder *b, vprog *t, const int *last) {
    if (!find_segments(b, t, last)) return false;
    for (size_t v = 0; v < b->n; v++) {
        vprog_source *s = b->ins[v].source < 0 ? NULL : &b->sources[b->ins[v].source];
        if (!s || !vprog_is_row_of_one(s) || !vprog_read_slowly(b, t, (int)v)) continue;
        s->kind = s->counted ? VPROG_IOTA : VPROG_STRIDED; /* no loop of simd.h reads one element for all */
        s->counted = false;
        vprog_free_segments(t);
        return vprog_find_segments(b, t, last);
    }
    return true;
}

void vprog_free_segments(vprog *t) {
    for (size_t s = 0; s < t->n_segments; s++) {
        jit_release(t->segments[s].code);
        base_free(t->segments[s].ptr);
    }
    t->n_segments = 0;
}
