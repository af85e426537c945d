/* Integer products: panels and tiles, divided among threads. */
#include "cpu/vector/int_gemm.h"
#include "cpu/vector/align.h"
#include "cpu/vector/simd.h"

static const int_gemm_fns *fns_of_machine(void) {
#if defined(__x86_64__)
    if (simd_get() == &simd_avx512) return &int_gemm_avx512;
    if (simd_get() == &simd_avx2) return &int_gemm_avx2;
#endif
    return &int_gemm_base;
}

static int type_row(xt_dtype t) {
    static const xt_dtype types[] = {XT_I8, XT_I16, XT_I32, XT_I64, XT_U8, XT_U16, XT_U32, XT_U64};
    for (int i = 0; i < (int)BASE_COUNT(types); i++)
        if (types[i] == t) return i;
    return -1;
}

static int64_t pieces_of(int64_t n, int64_t of) {
    return (n + of - 1) / of;
}

bool int_gemm_plan(int_gemm *g, xt_dtype type, xt_dtype sum) {
    g->fns = fns_of_machine();
    g->type = type_row(type);
    if (g->type < 0 || type_row(sum) < 0) return false;
    bool wide = xt_dtype_size(sum) == 8;
    g->word = wide ? INT_GEMM_64 : g->fns->pack[INT_GEMM_PAIRS][g->type] ? INT_GEMM_PAIRS : INT_GEMM_32;
    if (!g->fns->pack[g->word][g->type]) return false;
    g->elem = xt_dtype_size(type);
    g->word_bytes = wide ? 8 : 4;
    g->words = g->word == INT_GEMM_PAIRS ? (g->k + 1) / 2 : g->k;
    g->row_panels = pieces_of(g->m, g->fns->rows);
    g->column_panels = pieces_of(g->n, g->fns->columns[g->word]);
    size_t lhs = (size_t)(g->batch * g->row_panels * g->fns->rows * g->words) * g->word_bytes,
           rhs = (size_t)(g->batch * g->column_panels * g->fns->columns[g->word] * g->words) * g->word_bytes;
    g->rhs_at = (lhs + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
    g->scratch_bytes = g->rhs_at + rhs;
    return true;
}

typedef struct run {
    const int_gemm *g;
    const char *a, *b;
    char *c, *panels;
} run;

static char *panel_of(const run *r, bool left, int64_t panel) {
    const int_gemm *g = r->g;
    int64_t lanes = left ? g->fns->rows : g->fns->columns[g->word];
    return r->panels + (left ? 0 : g->rhs_at) + (size_t)(panel * lanes * g->words) * g->word_bytes;
}

/* Panels of the left side, then of the right one. */
static void pack_panels(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const run *r = ctx;
    const int_gemm *g = r->g;
    for (int64_t t = begin; t < end; t++) {
        bool left = t < g->batch * g->row_panels;
        int64_t panel = left ? t : t - g->batch * g->row_panels, panels = left ? g->row_panels : g->column_panels,
                lanes = left ? g->fns->rows : g->fns->columns[g->word], first = panel % panels * lanes,
                all = left ? g->m : g->n, have = all - first < lanes ? all - first : lanes;
        const int_gemm_side *s = left ? &g->lhs : &g->rhs;
        const char *src = (left ? r->a : r->b) + (panel / panels * s->batch + first * s->lane) * (int64_t)g->elem;
        g->fns->pack[g->word][g->type](src, s->lane, s->depth, have, lanes, g->k, panel_of(r, left, panel));
    }
}

/* Tiles column panel by column panel: that of the right side stays in the cache while the rows go by. */
static void make_tiles(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const run *r = ctx;
    const int_gemm *g = r->g;
    int64_t rows = g->fns->rows, columns = g->fns->columns[g->word];
    for (int64_t t = begin; t < end; t++) {
        int64_t i = t % g->row_panels, j = t / g->row_panels % g->column_panels,
                q = t / g->row_panels / g->column_panels, m = g->m - i * rows < rows ? g->m - i * rows : rows,
                n = g->n - j * columns < columns ? g->n - j * columns : columns;
        char *c = r->c + (size_t)((q * g->m + i * rows) * g->n + j * columns) * g->word_bytes;
        g->fns->tile[g->word](g->words, panel_of(r, true, q * g->row_panels + i),
                              panel_of(r, false, q * g->column_panels + j), c, g->n, m, n);
    }
}

void int_gemm_run(const int_gemm *g, const cpu_team *team, const void *a, const void *b, void *c, void *scratch) {
    enum { PACKED = 32768, MULTIPLIED = 1 << 18 }; /* elements, products: worth a thread's while */
    run r = {g, a, b, c, scratch};
    int64_t lanes = g->fns->columns[g->word];
    team_for(team, g->batch * (g->row_panels + g->column_panels), PACKED / (g->k * lanes) + 1, pack_panels, &r);
    team_for(team, g->batch * g->row_panels * g->column_panels, MULTIPLIED / (g->k * g->fns->rows * lanes) + 1,
             make_tiles, &r);
}
