/* Products in whole numbers: panels and tiles, divided among threads. */
#include "cpu/vector/grouped.h"
#include "cpu/vector/align.h"
#include "cpu/vector/simd.h"

enum { GROUP_UNIT = 32, WORK = 1 << 18 }; /* multiplications that are worth a task */

const grouped_set *grouped_set_here(void) {
#if defined(__x86_64__)
    if (simd_get() == &simd_avx512) return __builtin_cpu_supports("avx512vnni") ? &grouped_vnni : &grouped_avx512;
    if (simd_get() == &simd_avx2) return &grouped_avx2;
#endif
    return NULL;
}

bool grouped_fits(narrow_kind kind, int64_t group) {
    int64_t most = kind == NARROW_I8 ? 128 : 8;
    return (kind == NARROW_I8 || kind == NARROW_U4) && group % GROUP_UNIT == 0 && group <= INT32_MAX / 32767 / most;
}

static size_t aligned(size_t n) {
    return (n + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
}
/* A panel's words, and behind them its factors. */
static size_t words_of(const grouped_product *p, int64_t lanes) {
    return aligned((size_t)(lanes * p->depth) * sizeof(int16_t));
}
static size_t panel_of(const grouped_product *p, int64_t lanes) {
    return words_of(p, lanes) + aligned((size_t)(lanes * (p->depth / p->group)) * sizeof(float));
}

void grouped_plan_for(grouped_product *p, const grouped_set *set, int threads) {
    p->set = set;
    p->matrix_at = panel_of(p, set->rows) * (size_t)((p->m + set->rows - 1) / set->rows);
    p->matrix_bytes = panel_of(p, set->columns);
    p->scratch_bytes = p->matrix_at + p->matrix_bytes * (size_t)threads;
}

typedef struct run {
    const grouped_product *p;
    const float *x, *factors;
    const char *matrix;
    float *out;
    char *scratch;
} run;

static void pack_x(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const run *r = ctx;
    const grouped_product *p = r->p;
    int64_t rows = p->set->rows;
    for (int64_t i = begin; i < end; i++) {
        char *to = r->scratch + (size_t)i * panel_of(p, rows);
        p->set->pack_x(&(grouped_side){.from = r->x + i * rows * p->depth,
                                       .have = p->m - i * rows < rows ? p->m - i * rows : rows,
                                       .depth = p->depth,
                                       .group = p->group,
                                       .nibbles = p->kind == NARROW_U4,
                                       .to = (int16_t *)(void *)to,
                                       .to_factors = (float *)(void *)(to + words_of(p, rows))});
    }
}

static void tasks(void *ctx, int64_t begin, int64_t end, int thread) {
    const run *r = ctx;
    const grouped_product *p = r->p;
    int64_t rows = p->set->rows, columns = p->set->columns, groups = p->depth / p->group;
    char *panel = r->scratch + p->matrix_at + p->matrix_bytes * (size_t)thread;
    for (int64_t j = begin; j < end; j++) {
        int64_t first = j * columns, have = p->rows - first < columns ? p->rows - first : columns;
        grouped_side matrix = {.from = r->matrix + (size_t)first * narrow_row_bytes(p->kind, p->depth),
                               .factors = r->factors + first * groups,
                               .have = have,
                               .depth = p->depth,
                               .group = p->group,
                               .nibbles = p->kind == NARROW_U4,
                               .to = (int16_t *)(void *)panel,
                               .to_factors = (float *)(void *)(panel + words_of(p, columns))};
        p->set->pack_matrix(&matrix);
        for (int64_t i = 0; i < p->m; i += rows) {
            const char *x = r->scratch + (size_t)(i / rows) * panel_of(p, rows);
            p->set->multiply(&(grouped_tile){.x = (const int16_t *)(const void *)x,
                                             .x_factors = (const float *)(const void *)(x + words_of(p, rows)),
                                             .matrix = matrix.to,
                                             .factors = matrix.to_factors,
                                             .out = r->out + i * p->rows + first,
                                             .groups = groups,
                                             .pairs = p->group / 2,
                                             .rows = p->m - i < rows ? p->m - i : rows,
                                             .columns = have,
                                             .stride = p->rows});
        }
    }
}

void grouped_run(const grouped_product *p, const cpu_team *team, const float *x, const void *matrix,
                 const float *factors, float *out, void *scratch) {
    run r = {p, x, factors, matrix, out, scratch};
    int64_t rows = p->set->rows, columns = p->set->columns;
    team_for(team, (p->m + rows - 1) / rows, WORK / (32 * rows * p->depth) + 1, pack_x, &r);
    team_for(team, (p->rows + columns - 1) / columns, WORK / (columns * p->m * p->depth) + 1, tasks, &r);
}
