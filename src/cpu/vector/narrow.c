/* Products with narrow matrices: tasks, divided among threads. */
#include "cpu/vector/narrow.h"
#include "cpu/vector/simd.h"

enum { TILE = 16, COLUMNS = 256, WORK = 1 << 16 }; /* rows of a task, or columns; multiplications that are worth one */

static int64_t tile_of(const narrow_product *p) {
    return p->across ? COLUMNS : TILE;
}
static int64_t tiles_of(const narrow_product *p) {
    return (p->rows + tile_of(p) - 1) / tile_of(p);
}
static int64_t work_of(const narrow_product *p) { /* multiplications of a task */
    return (p->rows < tile_of(p) ? p->rows : tile_of(p)) * (p->depth / p->parts + 1) * p->m;
}

void narrow_plan_for(narrow_product *p, const narrow_set *set) {
    enum { MOST = 64, LEAST = 64 }; /* parts, and rows of the matrix in one */
    p->fn = p->across ? set->across[p->kind] : set->fn[p->kind];
    p->lanes = set->lanes;
    p->ordered = 0;
    p->parts = 1;
    if (p->across) { /* what one row of x takes decides, so that it gives the same bits among others */
        double work = (double)p->batch * (double)p->rows * (double)p->depth;
        int64_t want = work > MOST * (double)WORK ? MOST : (int64_t)(work / WORK) + 1, most = p->depth / LEAST;
        p->parts = want / (p->batch * tiles_of(p));
        if (p->parts > most) p->parts = most;
        if (p->parts < 1) p->parts = 1;
    }
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
    float *out; /* [parts][batch][m][rows] */
} run;

static void tasks(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const run *r = ctx;
    const narrow_product *p = r->p;
    const int64_t tiles = tiles_of(p);
    for (int64_t t = begin; t < end; t++) {
        const int64_t row = t % tiles * TILE, q = t / tiles, matrix_row = q * p->rows + row;
        p->fn(&(narrow_call){.matrix = r->matrix + (size_t)matrix_row * narrow_row_bytes(p->kind, p->depth),
                             .factors = r->factors ? r->factors + row * (p->depth / p->group) : NULL,
                             .x = r->x + q * p->m * p->depth,
                             .out = r->out + q * p->m * p->rows + row,
                             .rows = p->rows - row < TILE ? p->rows - row : TILE,
                             .depth = p->depth,
                             .group = p->group,
                             .m = p->m,
                             .out_stride = p->rows,
                             .ordered = p->ordered});
    }
}

static void tasks_across(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const run *r = ctx;
    const narrow_product *p = r->p;
    const int64_t tiles = tiles_of(p);
    for (int64_t t = begin; t < end; t++) {
        const int64_t part = t % p->parts, row = t / p->parts % tiles * COLUMNS, q = t / p->parts / tiles;
        const int64_t from = p->depth * part / p->parts, to = p->depth * (part + 1) / p->parts;
        const uint16_t *matrix = (const uint16_t *)(const void *)r->matrix + (q * p->depth + from) * p->rows + row;
        p->fn(&(narrow_call){.matrix = matrix,
                             .x = r->x + q * p->m * p->depth + from,
                             .out = r->out + (part * p->batch + q) * p->m * p->rows + row,
                             .rows = p->rows - row < COLUMNS ? p->rows - row : COLUMNS,
                             .depth = to - from,
                             .m = p->m,
                             .out_stride = p->rows,
                             .stride = p->rows,
                             .x_stride = p->depth});
    }
}

size_t narrow_scratch(const narrow_product *p) {
    if (p->parts > 1) return sizeof(float) * (size_t)(p->parts * p->batch * p->m * p->rows);
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
    run r = {p, x, factors, matrix, p->parts > 1 ? scratch : out};
    team_for(team, p->batch * tiles_of(p) * p->parts, WORK / work_of(p) + 1, p->across ? tasks_across : tasks, &r);
    if (p->parts == 1) return;
    const int64_t n = p->batch * p->m * p->rows;
    memcpy(out, scratch, sizeof *out * (size_t)n);
    for (int64_t part = 1; part < p->parts; part++)
        for (int64_t i = 0; i < n; i++) out[i] += scratch[part * n + i];
}
