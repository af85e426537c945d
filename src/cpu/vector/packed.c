/* Which products are packed, how they are cut, and the loops over panels. */
#include "cpu/vector/packed.h"

#define GROUP 12 /* panels of A a task packs at a time, when threads take rows */
#define LINE 64

static int64_t panels(int64_t n, int64_t of) {
    return (n + of - 1) / of;
}
static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t tasks_of(const packed_product *p) {
    return p->by_rows ? panels(p->m, GROUP * PACKED_ROWS) : panels(p->n, PACKED_COLUMNS);
}

bool packed_plan(packed_product *p, int threads) {
    enum { K_MOST = 1024, FLOPS = 30000000, ROWS_LEAST = 32, COLUMNS_LEAST = 48, K_LEAST = 32, SMALL = 8 };
    bool unit = (p->a_row == 1 || p->a_col == 1) && (p->b_row == 1 || p->b_col == 1);
    if (!packed_get() || !unit) return false;
    bool large = p->m >= ROWS_LEAST && p->n >= COLUMNS_LEAST && p->k >= K_LEAST &&
                 (double)p->m * (double)p->n * (double)p->k >= FLOPS;
    bool small = p->m >= SMALL && p->n >= SMALL && p->k >= SMALL && env_flag("XT_CPU_SMALL", false);
    if (!large && !small) return false;
    /* each block is two meetings of all threads */
    int64_t blocks = panels(p->k, p->k > 8 * K_MOST ? 2 * K_MOST : K_MOST);
    p->k_block = panels(p->k, blocks);
    p->by_rows = p->m > p->n;
    int64_t all_a = panels(p->m, PACKED_ROWS) * PACKED_ROWS, all_b = panels(p->n, PACKED_COLUMNS) * PACKED_COLUMNS;
    p->shared = (size_t)((p->by_rows ? all_b : all_a) * p->k_block);
    p->own = (size_t)((p->by_rows ? GROUP * PACKED_ROWS : PACKED_COLUMNS) * p->k_block);
    /* Enough tasks for all threads, though each part of one packs its panels anew. */
    int64_t tasks = tasks_of(p), other = p->by_rows ? panels(p->n, PACKED_COLUMNS) : panels(p->m, PACKED_ROWS * 4);
    p->parts = smaller(panels(4 * (int64_t)threads, tasks), other);
    return true;
}

static size_t aligned(size_t floats) {
    return (floats * sizeof(float) + LINE - 1) / LINE * LINE;
}
size_t packed_scratch(const packed_product *p, int threads) {
    return aligned(p->shared) + (size_t)threads * aligned(p->own);
}

typedef struct run {
    const packed_product *p;
    const packed_ops *ops;
    const float *a, *b;
    float *c, *shared;
    char *own;
    int64_t from, k; /* this pass over k */
    int64_t threads;
} run;

static const float *row_of(const run *r, int64_t i) {
    return r->a + i * r->p->a_row + r->from * r->p->a_col;
}
static const float *column_of(const run *r, int64_t j) {
    return r->b + j * r->p->b_col + r->from * r->p->b_row;
}

static void pack_shared(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const run *r = ctx;
    const packed_product *p = r->p;
    for (int64_t i = begin; i < end; i++) {
        if (p->by_rows)
            r->ops->pack_b(column_of(r, i * PACKED_COLUMNS), p->b_row, p->b_col,
                           smaller(p->n - i * PACKED_COLUMNS, PACKED_COLUMNS), r->k,
                           r->shared + i * PACKED_COLUMNS * r->k);
        else
            r->ops->pack_a(row_of(r, i * PACKED_ROWS), p->a_row, p->a_col, smaller(p->m - i * PACKED_ROWS, PACKED_ROWS),
                           r->k, r->shared + i * PACKED_ROWS * r->k);
    }
}

/* What packing `lines` vectors of `length` elements will read: element (i, q) at p + i * outer + q * inner,
 * one of them 1. */
static packed_ahead fetch(const float *p, int64_t outer, int64_t inner, int64_t count, int64_t length) {
    bool along = inner == 1;
    int64_t step = (along ? outer : inner) * (int64_t)sizeof *p, bytes = (along ? length : count) * (int64_t)sizeof *p;
    int64_t offset = (int64_t)((uintptr_t)p % LINE), row = panels(offset + bytes, LINE);
    return (packed_ahead){(const char *)p - offset, row * (along ? count : length), row, row, step - row * LINE};
}

static void one_tile(const run *r, const float *a, const float *b, int64_t i, int64_t j, packed_ahead *ahead) {
    const packed_product *p = r->p;
    r->ops->tile(r->k, a, b, r->c + i * PACKED_ROWS * p->n + j * PACKED_COLUMNS, p->n,
                 smaller(p->m - i * PACKED_ROWS, PACKED_ROWS), smaller(p->n - j * PACKED_COLUMNS, PACKED_COLUMNS),
                 r->from > 0, ahead);
}

static void take_columns(const run *r, int64_t j, int64_t part, float *own) {
    const packed_product *p = r->p;
    int64_t all = panels(p->m, PACKED_ROWS), from = all * part / p->parts, to = all * (part + 1) / p->parts;
    r->ops->pack_b(column_of(r, j * PACKED_COLUMNS), p->b_row, p->b_col,
                   smaller(p->n - j * PACKED_COLUMNS, PACKED_COLUMNS), r->k, own);
    int64_t next = j + r->threads, columns = panels(p->n, PACKED_COLUMNS), begin = r->from;
    if (next >= columns && begin + r->k < p->k) next -= columns, begin += r->k; /* the next pass begins there */
    next = smaller(next, columns - 1);
    packed_ahead ahead = fetch(r->b + next * PACKED_COLUMNS * p->b_col + begin * p->b_row, p->b_col, p->b_row,
                               smaller(p->n - next * PACKED_COLUMNS, PACKED_COLUMNS), smaller(p->k - begin, r->k));
    for (int64_t i = from; i < to; i++) one_tile(r, r->shared + i * PACKED_ROWS * r->k, own, i, j, &ahead);
}
static void take_rows(const run *r, int64_t group, int64_t part, float *own) {
    const packed_product *p = r->p;
    int64_t all = panels(p->n, PACKED_COLUMNS), from = all * part / p->parts, to = all * (part + 1) / p->parts;
    int64_t i0 = group * GROUP, i1 = smaller(i0 + GROUP, panels(p->m, PACKED_ROWS));
    for (int64_t i = i0; i < i1; i++)
        r->ops->pack_a(row_of(r, i * PACKED_ROWS), p->a_row, p->a_col, smaller(p->m - i * PACKED_ROWS, PACKED_ROWS),
                       r->k, own + (i - i0) * PACKED_ROWS * r->k);
    int64_t next = smaller(i0 + r->threads * GROUP, panels(p->m, PACKED_ROWS) - 1);
    packed_ahead ahead = fetch(row_of(r, next * PACKED_ROWS), p->a_row, p->a_col,
                               smaller(p->m - next * PACKED_ROWS, GROUP * PACKED_ROWS), r->k);
    for (int64_t j = from; j < to; j++)
        for (int64_t i = i0; i < i1; i++)
            one_tile(r, own + (i - i0) * PACKED_ROWS * r->k, r->shared + j * PACKED_COLUMNS * r->k, i, j, &ahead);
}

static void take_tasks(void *ctx, int64_t begin, int64_t end, int thread) {
    const run *r = ctx;
    float *own = (float *)(void *)(r->own + (size_t)thread * aligned(r->p->own));
    for (int64_t t = begin; t < end; t++)
        (r->p->by_rows ? take_rows : take_columns)(r, t / r->p->parts, t % r->p->parts, own);
}

void packed_run(const packed_product *p, const cpu_team *team, const float *a, const float *b, float *c,
                void *scratch) {
    run r = {.p = p,
             .ops = packed_get(),
             .a = a,
             .b = b,
             .c = c,
             .shared = scratch,
             .own = (char *)scratch + aligned(p->shared),
             .threads = team->threads};
    for (r.from = 0; r.from < p->k; r.from += p->k_block) {
        r.k = smaller(p->k - r.from, p->k_block);
        team_for(team, p->by_rows ? panels(p->n, PACKED_COLUMNS) : panels(p->m, PACKED_ROWS), 1, pack_shared, &r);
        team_for(team, tasks_of(p) * p->parts, 1, take_tasks, &r);
    }
}
