/* Products with narrow matrices: tasks, divided among threads. */
#include "cpu/vector/narrow.h"
#include "cpu/vector/simd.h"

void narrow_plan_for(narrow_product *p, const narrow_set *set) {
    p->fn = set->fn[p->kind];
    p->lanes = set->lanes;
    p->ordered = 0;
    if (p->kind != NARROW_U4) return;
    int64_t words = p->group / 8; /* a group's; a block of words is of whole groups, or a group of whole blocks */
    if (words % p->lanes == 0 || p->lanes % words == 0) p->ordered = p->depth / (8 * p->lanes) * (8 * p->lanes);
}

void narrow_plan(narrow_product *p) {
    const narrow_set *set = &narrow_base;
#if defined(__x86_64__)
    if (simd_get() == &simd_avx512) set = &narrow_avx512;
    if (simd_get() == &simd_avx2) set = &narrow_avx2;
#endif
    narrow_plan_for(p, set);
}

size_t narrow_row_bytes(narrow_kind kind, int64_t depth) {
    return kind == NARROW_U4 ? (size_t)depth / 2 : (size_t)depth * (kind == NARROW_I8 ? 1 : 2);
}

typedef struct run {
    const narrow_product *p;
    const float *x, *factors;
    const char *matrix;
    float *out;
} run;
enum { TILE = 16, WORK = 1 << 16 }; /* rows of a task; multiplications that are worth one */

static void tasks(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const run *r = ctx;
    const narrow_product *p = r->p;
    for (int64_t row = begin * TILE; row < end * TILE && row < p->rows; row += TILE) {
        int64_t factor = r->factors ? row * (p->depth / p->group) : 0;
        p->fn(&(narrow_call){.matrix = r->matrix + (size_t)row * narrow_row_bytes(p->kind, p->depth),
                             .factors = r->factors ? r->factors + factor : NULL,
                             .x = r->x,
                             .out = r->out + row,
                             .rows = p->rows - row < TILE ? p->rows - row : TILE,
                             .depth = p->depth,
                             .group = p->group,
                             .m = p->m,
                             .out_stride = p->rows,
                             .ordered = p->ordered});
    }
}

size_t narrow_scratch(const narrow_product *p) {
    return p->ordered ? sizeof(float) * (size_t)(p->m * p->depth) : 0;
}

/* A row of x, as the words of the matrix want it: word i of a block has four bytes of a group's half, each with a
 * number of the group's first half and the one that is half a group behind it. */
static void order(const narrow_product *p, const float *x, float *out) {
    const int64_t half = p->group / 2, lanes = p->lanes;
    int64_t byte = 0; /* of its group */
    const float *group = x;
    for (int64_t at = 0; at < p->ordered; at += 8 * lanes)
        for (int64_t i = 0; i < lanes; i++) {
            for (int k = 0; k < 4; k++) {
                out[at + 2 * k * lanes + i] = group[byte + k];
                out[at + (2 * k + 1) * lanes + i] = group[byte + k + half];
            }
            if ((byte += 4) == half) byte = 0, group += p->group;
        }
    memcpy(out + p->ordered, x + p->ordered, sizeof *x * (size_t)(p->depth - p->ordered));
}
struct ordering {
    const narrow_product *p;
    const float *x;
    float *out;
};
static void order_rows(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const struct ordering *o = ctx;
    for (int64_t i = begin; i < end; i++) order(o->p, o->x + i * o->p->depth, o->out + i * o->p->depth);
}

void narrow_run(const narrow_product *p, const cpu_team *team, const float *x, const void *matrix, const float *factors,
                float *out, float *scratch) {
    if (p->ordered) {
        struct ordering o = {p, x, scratch};
        team_for(team, p->m, WORK / (4 * p->depth) + 1, order_rows, &o);
        x = scratch;
    }
    run r = {p, x, factors, matrix, out};
    team_for(team, (p->rows + TILE - 1) / TILE, WORK / (TILE * p->m * p->depth + 1) + 1, tasks, &r);
}
