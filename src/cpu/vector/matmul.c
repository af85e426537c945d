/* See matmul.h: which blocks a product has, their primitives, and the loops over them. */
#include "cpu/vector/matmul.h"
#include "cpu/vector/align.h"
#include "cpu/vector/move.h"

#include <stdatomic.h>

static int64_t pieces_of(int64_t n, int64_t of) {
    return (n - 1) / of + 1;
}
static size_t aligned(size_t bytes) {
    return (bytes + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
}

/* --- blocks --- */
/* About `pieces` blocks of whole units: equal ones where the size allows it, for a shorter last one needs a
 * primitive more. */
static void divide(matmul *p, int axis, int64_t pieces, int64_t unit) {
    int64_t n = p->size[axis];
    if (pieces < 1) pieces = 1;
    p->block[axis] = pieces == 1 ? n : (pieces_of(n, pieces) + unit - 1) / unit * unit;
    for (int64_t c = pieces; c < 2 * pieces; c++)
        if (n % c == 0 && n / c % unit == 0) {
            p->block[axis] = n / c;
            break;
        }
    if (p->block[axis] > n) p->block[axis] = n;
    p->count[axis] = pieces_of(n, p->block[axis]);
}

/* A product of a few million flops is over before threads have met: equal parts by rows or columns, or none. */
static void divide_small(matmul *p, double flops) {
    enum { MOST = 8, FLOPS = 1000000, LEAST = 16 };
    for (int64_t c = MOST; c > 1 && p->size[MATMUL_BATCH] == 1; c /= 2) {
        if (flops < (double)c * FLOPS) continue;
        for (int axis = MATMUL_ROWS; axis <= MATMUL_COLUMNS; axis++) {
            int64_t n = p->size[axis];
            if (n % c || n / c < LEAST) continue;
            p->block[axis] = n / c;
            p->count[axis] = c;
            return;
        }
    }
}

/* What oneDNN packs of an operand it packs anew for each block, which costs less the larger the block is: so a product
 * is in 8 blocks before there are more of them, and these are large. */
static int64_t least_extent(double flops, int64_t blocks) {
    enum { FEW = 8 };
    return blocks >= FEW ? 512 : flops < 1e8 ? 64 : flops < 1e9 ? 128 : 256;
}

/* Adding up a piece's result takes two passes over it, which its own products have to outweigh. */
static int64_t least_depth(const matmul *p) {
    enum { LEAST = 1024, PASSES = 16 };
    double m = (double)p->size[MATMUL_ROWS], n = (double)p->size[MATMUL_COLUMNS], depth = PASSES * m * n / (m + n);
    return depth > LEAST ? (int64_t)depth : LEAST;
}

/* Whether oneDNN's own threads give the same bits for any number of them. That is measured, not promised: with oneDNN
 * 2.6.3 on AVX-512 and AMX, over 1, 2, 3 and 8 threads, bf16 products of at least LEAST rows and columns had equal bits
 * with sums of up to 1024 numbers, and other bits on three threads with sums of 3072 (512 x 3072 x 768) and 4096. In
 * between nothing was measured, so the class ends at 1024; test_cpu_threads looks at it with whichever oneDNN is
 * installed. */
static bool is_whole(const matmul *p) {
    enum { LEAST = 128, DEEPEST = 1024 };
    const int64_t *n = p->size;
    return p->in == XT_BF16 && n[MATMUL_ROWS] >= LEAST && n[MATMUL_COLUMNS] >= LEAST && n[MATMUL_DEPTH] <= DEEPEST;
}

void matmul_plan(matmul *p) {
    enum { SMALL = 8000000, MOST = 64 };
    /* Of a block: below that a call's own cost shows. Matrix units (AMX) do a TFLOP in a second. */
    const double worth = p->in == XT_F32 ? 8e6 : 256e6;
    double flops = 2;
    for (int i = 0; i < MATMUL_AXES; i++) {
        flops *= (double)p->size[i];
        p->block[i] = p->size[i];
        p->count[i] = 1;
    }
    if (flops < SMALL) {
        divide_small(p, flops);
        return;
    }
    p->whole = is_whole(p);
    if (p->whole) return;
    int64_t want = flops > MOST * worth ? MOST : (int64_t)(flops / worth) + 1, pieces[2] = {1, 1};
    divide(p, MATMUL_BATCH, want < p->size[MATMUL_BATCH] ? want : p->size[MATMUL_BATCH], 1);
    want = pieces_of(want, p->count[MATMUL_BATCH]);
    for (int64_t blocks; (blocks = pieces[0] * pieces[1]) < want;) {
        int64_t m = p->size[MATMUL_ROWS] / pieces[0], n = p->size[MATMUL_COLUMNS] / pieces[1];
        int longer = n >= m;
        if ((longer ? n : m) < 2 * least_extent(flops, blocks * p->count[MATMUL_BATCH])) break;
        pieces[longer] *= 2;
    }
    divide(p, MATMUL_ROWS, pieces[0], 16);
    divide(p, MATMUL_COLUMNS, pieces[1], 16);
    want = pieces_of(want, p->count[MATMUL_ROWS] * p->count[MATMUL_COLUMNS]);
    int64_t deep = p->size[MATMUL_DEPTH] / least_depth(p);
    bool floats = p->out != XT_I32; /* pieces are added up in f32 */
    if (p->count[MATMUL_BATCH] == 1 && want > 1 && deep > 1 && floats)
        divide(p, MATMUL_DEPTH, want < deep ? want : deep, 64);
}

static bool has_kind(const matmul *p, int kind) {
    for (int i = 0; i < MATMUL_AXES; i++)
        if (kind >> i & 1 && (p->count[i] == 1 || p->size[i] % p->block[i] == 0)) return false;
    return true;
}
static int64_t extent(const matmul *p, int kind, int axis) {
    return kind >> axis & 1 ? p->size[axis] % p->block[axis] : p->block[axis];
}

/* --- primitives --- */
/* oneDNN looks at strides of dims of size 1 too: they get the ones of a dense matrix. */
static void matrix_desc(dnnl_memory_desc_t *md, dnnl_data_type_t t, int64_t b, int64_t rows, int64_t cols, int64_t sb,
                        int64_t sr, int64_t sc) {
    if (cols == 1 && rows > 1) sc = sr == 1 ? rows : 1;
    if (rows == 1) sr = cols == 1 ? 1 : sc == 1 ? cols : 1;
    if (rows == 1 && cols == 1) sc = 1;
    if (b == 1) {
        dnnl_dims_t d = {rows, cols}, s = {sr, sc};
        dnnl_memory_desc_init_by_strides(md, 2, d, t, s);
    } else {
        dnnl_dims_t d = {b, rows, cols}, s = {sb, sr, sc};
        dnnl_memory_desc_init_by_strides(md, 3, d, t, s);
    }
}

static void describe(const matmul *p, int kind, dnnl_memory_desc_t lies[3]) {
    dnnl_data_type_t types[2];
    int64_t size[MATMUL_AXES], n = p->size[MATMUL_COLUMNS];
    for (int i = 0; i < MATMUL_AXES; i++) size[i] = extent(p, kind, i);
    int64_t b = size[MATMUL_BATCH], m = size[MATMUL_ROWS], columns = size[MATMUL_COLUMNS], k = size[MATMUL_DEPTH];
    dnnl_product_types(p->in, p->count[MATMUL_DEPTH] > 1 ? XT_F32 : p->out, types);
    matrix_desc(&lies[0], types[0], b, m, k, p->lhs[MATMUL_BATCH], p->lhs[MATMUL_ROWS], p->lhs[MATMUL_DEPTH]);
    matrix_desc(&lies[1], types[0], b, k, columns, p->rhs[MATMUL_BATCH], p->rhs[MATMUL_DEPTH], p->rhs[MATMUL_COLUMNS]);
    matrix_desc(&lies[2], types[1], b, m, columns, p->size[MATMUL_ROWS] * n, n, 1);
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* The move of a block of an operand from how it lies to how the primitive wants it. */
static xt_status make_move(matmul *p, int threads, dnnl_prim *move, const dnnl_memory_desc_t *lies,
                           const dnnl_memory_desc_t *wanted, size_t *bytes, bool *out_ok) {
    *bytes = larger(*bytes, aligned(dnnl_memory_desc_get_size(wanted)));
    if (move->primitive) return NULL;
    XT_TRY(dnnl_reorder_make(lies, wanted, threads, move, out_ok));
    p->own_bytes = larger(p->own_bytes, aligned(move->scratch_bytes));
    return NULL;
}

/* The layouts of a block are those that the primitive of whole blocks on the other side chose: both read it. */
static xt_status make_kind(matmul *p, int kind, int threads, bool *out_ok) {
    dnnl_memory_desc_t lies[3], used[3];
    dnnl_matmul_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;
    const int of_lhs = kind & ~(1 << MATMUL_COLUMNS), of_rhs = kind & ~(1 << MATMUL_ROWS);
    describe(p, kind, lies);
    memcpy(used, lies, sizeof used);
    if (p->block_lhs && of_lhs != kind)
        used[0] = p->prims[of_lhs].md[0];
    else if (p->block_lhs)
        dnnl_memory_desc_init_by_tag(&used[0], lies[0].ndims, lies[0].dims, lies[0].data_type, dnnl_format_tag_any);
    if (p->block_rhs && of_rhs != kind)
        used[1] = p->prims[of_rhs].md[1];
    else if (p->block_rhs)
        dnnl_memory_desc_init_by_tag(&used[1], lies[1].ndims, lies[1].dims, lies[1].data_type, dnnl_format_tag_any);
    *out_ok = dnnl_matmul_desc_init(&desc, &used[0], &used[1], NULL, &used[2]) == dnnl_success;
    if (!*out_ok) return NULL;
    dnnl_prim *prim = &p->prims[kind];
    XT_TRY(dnnl_prim_make(&desc, NULL, threads, prim, &pd, out_ok));
    if (!*out_ok) return NULL;
    used[0] = *dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0);
    used[1] = *dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    dnnl_primitive_desc_destroy(pd);
    dnnl_prim_add(prim, DNNL_ARG_SRC, &used[0]);
    dnnl_prim_add(prim, DNNL_ARG_WEIGHTS, &used[1]);
    dnnl_prim_add(prim, DNNL_ARG_DST, &used[2]);
    p->own_bytes = larger(p->own_bytes, aligned(prim->scratch_bytes));
    xt_status s = NULL;
    if (p->block_lhs) s = make_move(p, threads, &p->lhs_moves[of_lhs], &lies[0], &used[0], &p->lhs_bytes, out_ok);
    if (p->block_rhs && !s && *out_ok)
        s = make_move(p, threads, &p->rhs_moves[of_rhs], &lies[1], &used[1], &p->rhs_bytes, out_ok);
    return s;
}

static size_t take(matmul *p, size_t bytes) {
    size_t at = p->scratch_bytes;
    p->scratch_bytes += aligned(bytes);
    return at;
}

xt_status matmul_make(matmul *p, int threads, bool *out_ok) {
    xt_status s = NULL;
    *out_ok = true;
    for (int kind = 0; kind < MATMUL_KINDS && !s && *out_ok; kind++)
        if (has_kind(p, kind)) s = make_kind(p, kind, p->whole ? threads : 1, out_ok);
    if (s || !*out_ok) {
        matmul_free(p);
        return s;
    }
    int64_t results = p->size[MATMUL_BATCH] * p->size[MATMUL_ROWS] * p->size[MATMUL_COLUMNS];
    p->scratch_bytes = 0;
    p->lhs_at = take(p, p->lhs_bytes * (size_t)(p->count[MATMUL_ROWS] * p->count[MATMUL_DEPTH]));
    p->rhs_at = take(p, p->rhs_bytes * (size_t)(p->count[MATMUL_COLUMNS] * p->count[MATMUL_DEPTH]));
    p->sums_at = take(p, p->count[MATMUL_DEPTH] > 1 ? (size_t)(p->count[MATMUL_DEPTH] * results) * sizeof(float) : 0);
    p->own_at = take(p, p->own_bytes * (size_t)threads);
    return NULL;
}

void matmul_free(matmul *p) {
    for (int kind = 0; kind < MATMUL_KINDS; kind++) {
        dnnl_prim_free(&p->prims[kind]);
        dnnl_prim_free(&p->lhs_moves[kind]);
        dnnl_prim_free(&p->rhs_moves[kind]);
    }
}

/* --- running --- */
typedef struct run {
    const matmul *p;
    void **stream;
    const char *lhs, *rhs;
    char *to, *scratch; /* the result, or the pieces' results one after the other */
    size_t to_elem;
    _Atomic(xt_status) failed; /* the first */
} run;

static void keep_first(run *r, xt_status s) {
    xt_status none = NULL;
    if (s && !atomic_compare_exchange_strong(&r->failed, &none, s)) xt_status_free(s);
}
static char *own_scratch(const run *r, int thread) {
    return r->scratch + r->p->own_at + r->p->own_bytes * (size_t)thread;
}
static int kind_of(const matmul *p, const int64_t at[MATMUL_AXES]) {
    int kind = 0;
    for (int i = 0; i < MATMUL_AXES; i++)
        if ((at[i] + 1) * p->block[i] > p->size[i]) kind |= 1 << i;
    return kind;
}
static const char *block_at(const matmul *p, const char *data, const int64_t strides[MATMUL_AXES],
                            const int64_t at[MATMUL_AXES]) {
    int64_t offset = 0;
    for (int i = 0; i < MATMUL_AXES; i++) offset += at[i] * p->block[i] * strides[i];
    return data + offset * (int64_t)xt_dtype_size(p->in);
}
static char *lhs_block(const run *r, const int64_t at[MATMUL_AXES]) {
    const matmul *p = r->p;
    return r->scratch + p->lhs_at +
           p->lhs_bytes * (size_t)(at[MATMUL_ROWS] * p->count[MATMUL_DEPTH] + at[MATMUL_DEPTH]);
}
static char *rhs_block(const run *r, const int64_t at[MATMUL_AXES]) {
    const matmul *p = r->p;
    return r->scratch + p->rhs_at +
           p->rhs_bytes * (size_t)(at[MATMUL_COLUMNS] * p->count[MATMUL_DEPTH] + at[MATMUL_DEPTH]);
}

/* Blocks of the left operand, then of the right one. */
static int64_t moves_of(const matmul *p, bool left) {
    return left           ? (p->block_lhs ? p->count[MATMUL_ROWS] * p->count[MATMUL_DEPTH] : 0)
           : p->block_rhs ? p->count[MATMUL_COLUMNS] * p->count[MATMUL_DEPTH]
                          : 0;
}
static void move_blocks(void *ctx, int64_t begin, int64_t end, int thread) {
    run *r = ctx;
    const matmul *p = r->p;
    for (int64_t t = begin; t < end; t++) {
        bool left = t < moves_of(p, true);
        int64_t i = left ? t : t - moves_of(p, true), at[MATMUL_AXES] = {0};
        at[left ? MATMUL_ROWS : MATMUL_COLUMNS] = i / p->count[MATMUL_DEPTH];
        at[MATMUL_DEPTH] = i % p->count[MATMUL_DEPTH];
        int kind = kind_of(p, at);
        const char *from = left ? block_at(p, r->lhs, p->lhs, at) : block_at(p, r->rhs, p->rhs, at);
        void *both[2] = {(void *)(uintptr_t)from, left ? lhs_block(r, at) : rhs_block(r, at)};
        keep_first(r, dnnl_prim_run(left ? &p->lhs_moves[kind] : &p->rhs_moves[kind], r->stream, both,
                                    own_scratch(r, thread)));
    }
}

static void make_blocks(void *ctx, int64_t begin, int64_t end, int thread) {
    run *r = ctx;
    const matmul *p = r->p;
    const int64_t m = p->size[MATMUL_ROWS], n = p->size[MATMUL_COLUMNS], all = p->size[MATMUL_BATCH] * m * n;
    const int64_t strides[MATMUL_AXES] = {
        [MATMUL_BATCH] = m * n, [MATMUL_ROWS] = n, [MATMUL_COLUMNS] = 1, [MATMUL_DEPTH] = 0};
    for (int64_t t = begin; t < end; t++) {
        int64_t at[MATMUL_AXES], left = t, offset;
        for (int i = MATMUL_AXES; i-- > 0; left /= p->count[i]) at[i] = left % p->count[i];
        offset = at[MATMUL_DEPTH] * all;
        for (int i = 0; i < MATMUL_AXES; i++) offset += at[i] * p->block[i] * strides[i];
        const char *a = p->block_lhs ? lhs_block(r, at) : block_at(p, r->lhs, p->lhs, at);
        const char *b = p->block_rhs ? rhs_block(r, at) : block_at(p, r->rhs, p->rhs, at);
        void *data[3] = {(void *)(uintptr_t)a, (void *)(uintptr_t)b, r->to + offset * (int64_t)r->to_elem};
        keep_first(r, dnnl_prim_run(&p->prims[kind_of(p, at)], r->stream, data, own_scratch(r, thread)));
    }
}

typedef struct adding {
    const float *pieces;
    float *out;
    int64_t n, count;
} adding;
static void add_pieces(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const adding *a = ctx;
    for (int64_t i = begin; i < end; i++) {
        float sum = a->pieces[i];
        for (int64_t p = 1; p < a->count; p++) sum += a->pieces[p * a->n + i];
        a->out[i] = sum;
    }
}

xt_status matmul_run(const matmul *p, const cpu_team *team, void **stream, const void *lhs, const void *rhs, void *out,
                     void *scratch) {
    const bool pieces = p->count[MATMUL_DEPTH] > 1;
    int64_t blocks = 1, results = p->size[MATMUL_BATCH] * p->size[MATMUL_ROWS] * p->size[MATMUL_COLUMNS];
    for (int i = 0; i < MATMUL_AXES; i++) blocks *= p->count[i];
    run r = {.p = p,
             .stream = stream,
             .lhs = lhs,
             .rhs = rhs,
             .to = pieces ? (char *)scratch + p->sums_at : out,
             .scratch = scratch};
    r.to_elem = pieces ? sizeof(float) : xt_dtype_size(p->out);
    XT_TRY(dnnl_stream_open(stream));
    if (p->whole) {
        for (int64_t t = 0; t < moves_of(p, true) + moves_of(p, false); t++) move_blocks(&r, t, t + 1, 0);
        make_blocks(&r, 0, 1, 0);
        return r.failed;
    }
    team_for_alone(team, &dnnl_library, moves_of(p, true) + moves_of(p, false), 1, move_blocks, &r);
    team_for_alone(team, &dnnl_library, blocks, 1, make_blocks, &r);
    if (!pieces) return r.failed;
    float *sums = (float *)(void *)r.to;
    adding a = {sums, p->out == XT_F32 ? out : sums, results, p->count[MATMUL_DEPTH]};
    team_for(team, results, 4096, add_pieces, &a);
    if (p->out != XT_F32) cpu_converted(team, XT_F32, (const char *)sums, p->out, out, results);
    return r.failed;
}
