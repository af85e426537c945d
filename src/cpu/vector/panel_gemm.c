/* Products on packed panels: panels and tiles, divided among threads. */
#include "cpu/vector/panel_gemm.h"
#include "cpu/vector/align.h"
#include "cpu/vector/simd.h"

static const panel_gemm_fns *fns_of_machine(void) {
#if defined(__x86_64__)
    if (simd_get() == &simd_avx512) return &panel_gemm_avx512;
    if (simd_get() == &simd_avx2) return &panel_gemm_avx2;
#endif
    return &panel_gemm_base;
}

static int type_row(xt_dtype t) {
    static const xt_dtype types[] = {XT_I8, XT_I16, XT_I32, XT_I64, XT_U8, XT_U16, XT_U32, XT_U64, XT_F64};
    for (int i = 0; i < (int)BASE_COUNT(types); i++)
        if (types[i] == t) return i;
    return -1;
}

static int64_t pieces_of(int64_t n, int64_t of) {
    return (n + of - 1) / of;
}

static int64_t words_of(const panel_gemm *g, int64_t depth) {
    return g->word == PANEL_GEMM_PAIRS ? (depth + 1) / 2 : depth;
}

/* Products of few rows or columns would fill tiles with zeros. */
static bool takes_f64(const panel_gemm *g) {
    return g->fns->tile[PANEL_GEMM_F64] && 2 * g->m >= g->fns->rows && 2 * g->n >= g->fns->columns[PANEL_GEMM_F64];
}

bool panel_gemm_plan(panel_gemm *g, xt_dtype type, xt_dtype sum) {
    enum { DEEP = 1024, DEEP_F64 = 256 }; /* whose panels the first-level cache holds */
    g->fns = fns_of_machine();
    g->type = type_row(type);
    if (g->type < 0 || type_row(sum) < 0 || (type == XT_F64) != (sum == XT_F64)) return false;
    if (type == XT_F64 && !takes_f64(g)) return false;
    bool wide = xt_dtype_size(sum) == 8;
    g->word = type == XT_F64                            ? PANEL_GEMM_F64
              : wide                                    ? PANEL_GEMM_64
              : g->fns->pack[PANEL_GEMM_PAIRS][g->type] ? PANEL_GEMM_PAIRS
                                                        : PANEL_GEMM_32;
    if (!g->fns->pack[g->word][g->type]) return false;
    g->depth = type == XT_F64 ? DEEP_F64 : DEEP;
    if (g->depth > g->k) g->depth = g->k;
    g->elem = xt_dtype_size(type);
    g->word_bytes = wide ? 8 : 4;
    g->words = words_of(g, g->depth);
    g->row_panels = pieces_of(g->m, g->fns->rows);
    g->column_panels = pieces_of(g->n, g->fns->columns[g->word]);
    size_t lhs = (size_t)(g->batch * g->row_panels * g->fns->rows * g->words) * g->word_bytes,
           rhs = (size_t)(g->batch * g->column_panels * g->fns->columns[g->word] * g->words) * g->word_bytes;
    g->rhs_at = (lhs + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
    g->scratch_bytes = g->rhs_at + rhs;
    return true;
}

typedef struct run {
    const panel_gemm *g;
    const char *a, *b;
    char *c, *panels;
    int64_t from, depth; /* the stretch of the depth that is packed */
} run;

static char *panel_of(const run *r, bool left, int64_t panel) {
    const panel_gemm *g = r->g;
    int64_t lanes = left ? g->fns->rows : g->fns->columns[g->word];
    return r->panels + (left ? 0 : g->rhs_at) + (size_t)(panel * lanes * g->words) * g->word_bytes;
}

/* Panels of the left side, then of the right one. */
static void pack_panels(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const run *r = ctx;
    const panel_gemm *g = r->g;
    for (int64_t t = begin; t < end; t++) {
        bool left = t < g->batch * g->row_panels;
        int64_t panel = left ? t : t - g->batch * g->row_panels, panels = left ? g->row_panels : g->column_panels,
                lanes = left ? g->fns->rows : g->fns->columns[g->word], first = panel % panels * lanes,
                all = left ? g->m : g->n, have = all - first < lanes ? all - first : lanes;
        const panel_gemm_side *s = left ? &g->lhs : &g->rhs;
        const char *src = (left ? r->a : r->b) +
                          (panel / panels * s->batch + first * s->lane + r->from * s->depth) * (int64_t)g->elem;
        g->fns->pack[g->word][g->type](src, s->lane, s->depth, have, lanes, r->depth, panel_of(r, left, panel));
    }
}

/* Tiles column panel by column panel: that of the right side stays in the cache while the rows go by. */
static void make_tiles(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const run *r = ctx;
    const panel_gemm *g = r->g;
    int64_t rows = g->fns->rows, columns = g->fns->columns[g->word];
    for (int64_t t = begin; t < end; t++) {
        int64_t i = t % g->row_panels, j = t / g->row_panels % g->column_panels,
                q = t / g->row_panels / g->column_panels, m = g->m - i * rows < rows ? g->m - i * rows : rows,
                n = g->n - j * columns < columns ? g->n - j * columns : columns;
        char *c = r->c + (size_t)((q * g->m + i * rows) * g->n + j * columns) * g->word_bytes;
        g->fns->tile[g->word](words_of(g, r->depth), panel_of(r, true, q * g->row_panels + i),
                              panel_of(r, false, q * g->column_panels + j), c, g->n, m, n, r->from > 0);
    }
}

void panel_gemm_run(const panel_gemm *g, const cpu_team *team, const void *a, const void *b, void *c, void *scratch) {
    enum { PACKED = 32768, MULTIPLIED = 1 << 18 }; /* elements, products: worth a thread's while */
    int64_t lanes = g->fns->columns[g->word], rows = g->batch * g->row_panels, columns = g->batch * g->column_panels;
    for (int64_t from = 0; from < g->k; from += g->depth) {
        run r = {g, a, b, c, scratch, from, g->k - from < g->depth ? g->k - from : g->depth};
        team_for(team, rows + columns, PACKED / (r.depth * lanes) + 1, pack_panels, &r);
        team_for(team, rows * g->column_panels, MULTIPLIED / (r.depth * g->fns->rows * lanes) + 1, make_tiles, &r);
    }
}
