/* Which inputs a vector program reads in place although they are not dense: windows and broadcasts whose last dim is
 * long enough that the loop may go row by row. Within a row such an input is either one run of memory or one element,
 * so machine code reads it there; collected into a register of scratch memory first, each element would be written and
 * read once more, which is what a short loop's time goes by. Numbers that count up (the positions that masks are made
 * of) are such inputs too: windows of a short table, in place of numbers that are made for each block. */
#include "cpu/vector/vprog_int.h"

enum {
    LEAST_COUNT = 4096, /* smaller loops are one block, and bound to their places (vprog_bind) */
    LONG_ROW = 1024, /* bytes that a loop of simd.h should be called for */
    MOST_COUNTED = 1 << 14 /* numbers of a table, which the second-level cache has room for */
};

static int64_t common_divisor(int64_t x, int64_t y) {
    while (y) {
        int64_t rest = x % y;
        x = y, y = rest;
    }
    return x;
}

/* All readers of load v become machine code. */
static bool is_for_code(const vprog_builder *b, int v, bool code) {
    for (size_t i = 0; i < b->n; i++) {
        const ssa_ins *in = &b->ins[i];
        if ((in->x == v || in->y == v || in->z == v) && (!code || !jit_takes(in->op, in->of))) return false;
    }
    return true;
}

/* Where in a table of numbers that count up element i is, which is i / inner % size. */
static view view_of_counts(const vprog_source *s, int64_t count) {
    view v = {.n = 3, .dims = {count / (s->size * s->inner), s->size, s->inner}, .strides = {0, 1, 0}};
    view_collapse(&v);
    return v;
}

/* The shortest row that load v may be read by; 0: it is not read by rows. */
static int64_t shortest_row(const vprog_builder *b, int v, bool code) {
    const vprog_source *s = &b->sources[b->ins[v].source];
    if (s->kind == VPROG_IOTA && s->elem == sizeof(int32_t) && s->size <= MOST_COUNTED &&
        b->count % (s->size * s->inner) == 0)
        return is_for_code(b, v, code) ? SHORTEST_ROW : 0;
    if (s->kind != VPROG_STRIDED || s->v.n == 0 || s->v.n >= VIEW_MAX) return 0;
    int64_t step = s->v.strides[s->v.n - 1];
    bool fast = is_for_code(b, v, code);
    return step == 1 ? (fast ? SHORTEST_ROW : LONG_ROW / (int64_t)s->elem) : step == 0 && fast ? SHORTEST_ROW : 0;
}

/* The view's last dim becomes `row` long: as many elements in the same order. */
static void cut_rows(view *v, int64_t row) {
    int last = v->n - 1;
    if (v->dims[last] == row) return;
    v->dims[last + 1] = row;
    v->strides[last + 1] = v->strides[last];
    v->dims[last] /= row;
    v->strides[last] *= row;
    v->n++;
}

static bool make_counts(vprog *t, int64_t n) {
    if (n == 0) return true;
    t->counts = base_malloc((size_t)n * sizeof *t->counts);
    if (t->counts) simd_get()->iota(t->counts, 0, n);
    return t->counts != NULL;
}

bool vprog_choose_rows(vprog_builder *b, vprog *t, bool code) {
    if (b->count <= LEAST_COUNT) return true;
    int64_t longest = b->run; /* that all chosen so far may be read by; where rows are folded, no others */
    int64_t counts = 0;
    for (size_t v = 0; v < b->n && t->n_row_sources < MOST_ROW_SOURCES; v++) {
        int64_t least = b->ins[v].source < 0 ? 0 : shortest_row(b, (int)v, code);
        if (least == 0) continue;
        vprog_source *s = &b->sources[b->ins[v].source];
        view rows = s->kind == VPROG_IOTA ? view_of_counts(s, b->count) : s->v;
        if (rows.n == 0 || rows.n >= VIEW_MAX) continue;
        int64_t row = common_divisor(rows.dims[rows.n - 1], longest);
        if (row < least || row < t->row || (b->run && row != b->run)) continue;
        if (least > t->row) t->row = least; /* for now: what the shortest may be */
        longest = row;
        s->counted = s->kind == VPROG_IOTA;
        s->v = rows;
        if (s->counted && s->size > counts) counts = s->size;
        t->row_sources[t->n_row_sources++] = (uint32_t)b->ins[v].source;
    }
    t->row = longest;
    for (size_t k = 0; k < t->n_row_sources; k++) {
        vprog_source *s = &b->sources[t->row_sources[k]];
        s->kind = VPROG_ROWS;
        cut_rows(&s->v, longest);
    }
    return make_counts(t, counts);
}
