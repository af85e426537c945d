/* Products with narrow matrices: tasks, divided among threads. */
#include "cpu/vector/narrow.h"
#include "cpu/vector/simd.h"

void narrow_plan(narrow_product *p) {
    const narrow_fn *fns = narrow_base;
#if defined(__x86_64__)
    if (simd_get() == &simd_avx512) fns = narrow_avx512;
    if (simd_get() == &simd_avx2) fns = narrow_avx2;
#endif
    p->fn = fns[p->kind];
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
                             .out_stride = p->rows});
    }
}

void narrow_run(const narrow_product *p, const cpu_team *team, const float *x, const void *matrix, const float *factors,
                float *out) {
    run r = {p, x, factors, matrix, out};
    team_for(team, (p->rows + TILE - 1) / TILE, WORK / (TILE * p->m * p->depth + 1) + 1, tasks, &r);
}
