/* Matrix-vector products: tasks, divided among threads. */
#include "cpu/vector/matvec.h"
#include "cpu/vector/simd.h"

const matvec_fns *matvec_loops(void) {
#if defined(__x86_64__)
    if (simd_get() == &simd_avx512) return &matvec_avx512;
    if (simd_get() == &simd_avx2) return &matvec_avx2;
#endif
    return &matvec_base;
}

enum {
    WORK = 1 << 16, /* multiplications that are worth a task */
    CACHED = 1 << 17 /* numbers of a matrix that a loop may find in the caches of a core: asking for them takes time */
};

bool matvec_plan(matvec *p) {
    enum { ALONG = 16, ACROSS = 1024, MOST = 64, LEAST_ALONG = 4096, LEAST_ACROSS = 64 };
    bool along = p->vector_depth == 1 && p->matrix_depth == 1;
    p->across = !along;
    if (p->depth < 2 || (!along && (p->matrix_row != 1 || p->rows == 1))) return false;
    p->fns = matvec_loops();
    p->tile = along ? ALONG : ACROSS;
    if (p->tile > p->rows) p->tile = p->rows;
    p->tiles = (p->rows + p->tile - 1) / p->tile;
    double work = (double)p->batch * (double)p->rows * (double)p->depth;
    int64_t tasks = p->batch * p->tiles, want = work > MOST * (double)WORK ? MOST : (int64_t)(work / WORK) + 1,
            most = p->depth / (along ? LEAST_ALONG : LEAST_ACROSS);
    p->parts = want / tasks < most ? want / tasks : most;
    if (p->parts < 1) p->parts = 1;
    p->scratch_bytes = p->parts > 1 ? (size_t)(p->parts * p->batch * p->rows) * sizeof(float) : 0;
    return true;
}

typedef struct run {
    const matvec *p;
    const float *matrix, *vector;
    float *out; /* [parts][batch][rows] */
} run;

static void tasks(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const run *r = ctx;
    const matvec *p = r->p;
    for (int64_t t = begin; t < end; t++) {
        int64_t part = t % p->parts, row = t / p->parts % p->tiles * p->tile, q = t / p->parts / p->tiles,
                n = p->rows - row < p->tile ? p->rows - row : p->tile, from = p->depth * part / p->parts,
                depth = p->depth * (part + 1) / p->parts - from;
        const float *a = r->matrix + q * p->matrix_batch + row * p->matrix_row + from * p->matrix_depth,
                    *x = r->vector + q * p->vector_batch + from * p->vector_depth;
        float *out = r->out + (part * p->batch + q) * p->rows + row;
        const bool ahead = p->batch * p->rows * p->depth > CACHED;
        if (!p->across) {
            p->fns->along(out, a, p->matrix_row, x, n, depth, ahead);
            continue;
        }
        for (int64_t i = 0; i < n; i++) out[i] = 0;
        p->fns->across(out, a, p->matrix_depth, x, p->vector_depth, depth, n, ahead);
    }
}

void matvec_run(const matvec *p, const cpu_team *team, const float *matrix, const float *vector, float *out,
                void *scratch) {
    const int64_t results = p->batch * p->rows, each = p->tile * p->depth / p->parts;
    run r = {p, matrix, vector, p->parts > 1 ? scratch : out};
    team_for(team, p->batch * p->tiles * p->parts, WORK / (each + 1) + 1, tasks, &r);
    if (p->parts == 1) return;
    for (int64_t i = 0; i < results; i++) out[i] = r.out[i];
    for (int64_t part = 1; part < p->parts; part++)
        for (int64_t i = 0; i < results; i++) out[i] += r.out[part * results + i];
}

/* --- small products --- */
bool small_product_pays(int64_t m, int64_t n, int64_t k, bool by_rows) {
    enum { NEAR = 1 << 18, /* numbers of the right side that a core finds in its second-level cache */ TINY = 1 << 16 };
    return m > 1 && n > 1 && k <= NEAR / n && (by_rows || (double)m * (double)n * (double)k <= TINY);
}

typedef struct small_run {
    const small_product *p;
    const float *lhs, *rhs;
    float *out;
    const matvec_fns *fns;
    int64_t rows, columns, down, across; /* of a task; tasks of a product */
} small_run;
static void small_products(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const small_run *r = ctx;
    const small_product *p = r->p;
    for (int64_t t = begin; t < end; t++) {
        int64_t j = t % r->across * r->columns, i = t / r->across % r->down * r->rows, q = t / r->across / r->down;
        r->fns->small(r->out + (q * p->m + i) * p->n + j, r->lhs + q * p->lhs_batch + i * p->lhs_row,
                      r->rhs + q * p->rhs_batch + j, p, p->m - i < r->rows ? p->m - i : r->rows,
                      p->n - j < r->columns ? p->n - j : r->columns);
    }
}

/* One dim in about so many pieces of whole tiles. */
static int64_t piece(int64_t size, int64_t pieces, int64_t tile) {
    int64_t tiles = (size + tile - 1) / tile;
    return pieces < 2 ? size : (tiles + pieces - 1) / pieces * tile;
}

void small_product_run(const small_product *p, const cpu_team *team, const float *lhs, const float *rhs, float *out) {
    enum { TASK = 1 << 18, MOST = 64, ROWS = 8, COLUMNS = 64 };
    const int64_t work = p->m * p->n * p->k, pieces = work / TASK < MOST ? work / TASK : MOST;
    const bool by_rows = p->m >= 2 * ROWS;
    small_run r = {p, lhs, rhs, out, matvec_loops(), .rows = p->m, .columns = p->n};
    if (by_rows)
        r.rows = piece(p->m, pieces, ROWS);
    else
        r.columns = piece(p->n, pieces, COLUMNS);
    r.down = (p->m + r.rows - 1) / r.rows;
    r.across = (p->n + r.columns - 1) / r.columns;
    team_for(team, p->batch * r.down * r.across, TASK / (r.rows * r.columns * p->k) + 1, small_products, &r);
}
