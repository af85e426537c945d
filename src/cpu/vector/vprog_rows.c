/* Which inputs a vector program reads in place although they are not dense: windows and broadcasts whose last dim is
 * long enough that the loop may go row by row. Within a row such an input is either one run of memory or one element,
 * so machine code reads it there; collected into a register of scratch memory first, each element would be written and
 * read once more, which is what a short loop's time goes by. */
#include "cpu/vector/vprog_int.h"

enum {
    LEAST_COUNT = 4096, /* smaller loops are one block, and bound to their places (vprog_bind) */
    LONG_ROW = 1024 /* bytes that a loop of simd.h should be called for */
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

/* The shortest row that load v may be read by; 0: it is not read by rows. */
static int64_t shortest_row(const vprog_builder *b, int v, bool code) {
    const vprog_source *s = &b->sources[b->ins[v].source];
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

void vprog_choose_rows(vprog_builder *b, vprog *t, bool code) {
    if (b->count <= LEAST_COUNT) return;
    int64_t longest = b->run; /* that all chosen so far may be read by; where rows are folded, no others */
    for (size_t v = 0; v < b->n && t->n_row_sources < MOST_ROW_SOURCES; v++) {
        int64_t least = b->ins[v].source < 0 ? 0 : shortest_row(b, (int)v, code);
        if (least == 0) continue;
        vprog_source *s = &b->sources[b->ins[v].source];
        int64_t row = common_divisor(s->v.dims[s->v.n - 1], longest);
        if (row < least || row < t->row || (b->run && row != b->run)) continue;
        if (least > t->row) t->row = least; /* for now: what the shortest may be */
        longest = row;
        t->row_sources[t->n_row_sources++] = (uint32_t)b->ins[v].source;
    }
    t->row = longest;
    for (size_t k = 0; k < t->n_row_sources; k++) {
        vprog_source *s = &b->sources[t->row_sources[k]];
        s->kind = VPROG_ROWS;
        cut_rows(&s->v, longest);
    }
}
