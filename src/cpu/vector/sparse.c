/* Sums and dots of gathered rows: edges become runs of the loops in sparse.inc, divided among threads. */
#include "cpu/vector/sparse.h"
#include "cpu/vector/simd.h"

enum {
    WORK = 1 << 14, /* numbers that are worth a task */
    PIECES = 64,
    BLOCK = 256, /* edges whose places are worked out at a time */
    ROOM = BLOCK + SPARSE_AHEAD
};

void sparse_begin(sparse_plan *p, const sparse_set *set, int threads) {
    p->set = set ? set : &sparse_base;
#if defined(__x86_64__)
    if (!set && simd_get() == &simd_avx512) p->set = &sparse_avx512;
    if (!set && simd_get() == &simd_avx2) p->set = &sparse_avx2;
#endif
    p->threads = threads;
    /* a row of zeros; of bf16, f32 sums of all rows */
    p->scratch_bytes = (size_t)(p->groups * p->width) * 8;
    if (p->kind == SPARSE_BF16) p->scratch_bytes += (size_t)(p->to.rows * p->groups * p->width) * sizeof(float);
}

static size_t elem_of(const sparse_plan *p) {
    return p->kind == SPARSE_F32 ? 4 : p->kind == SPARSE_F64 ? 8 : 2;
}

static int64_t place_of(const sparse_rows *r, const void *places, int64_t edge) {
    return r->wide ? ((const int64_t *)places)[edge] : ((const int32_t *)places)[edge];
}
static int64_t nearest(const sparse_rows *r, const void *places, int64_t edge) {
    int64_t at = place_of(r, places, edge);
    return at < 0 ? 0 : at < r->rows ? at : r->rows - 1;
}

typedef struct job {
    const sparse_plan *p;
    const sparse_arrays *a;
    const char *zeros;
    size_t row_bytes; /* of a matrix */
    int64_t pieces;
    bool ordered, unordered[PIECES]; /* edges come in the order of the rows they go to; of a piece */
} job;

static const char *row_of(const job *j, int64_t edge) {
    if (j->a->mask && !j->a->mask[edge]) return j->zeros;
    return (const char *)j->a->x + (size_t)nearest(&j->p->from, j->a->from, edge) * j->row_bytes;
}

/* --- sums --- */
typedef struct block { /* edges that go to rows of the piece, and what is asked for behind them */
    const char *row[ROOM];
    int32_t edge[ROOM];
    int64_t to[ROOM], n;
} block;

/* The edges from *edge on, up to `end`, that go to rows in [low, high), as many as there is room for. */
static void fill(const job *j, block *b, int64_t *edge, int64_t end, int64_t low, int64_t high) {
    int64_t n = b->n, e = *edge;
    for (; e < end && n < ROOM; e++) {
        int64_t to = place_of(&j->p->to, j->a->to, e);
        if (to < low || to >= high) continue;
        b->row[n] = row_of(j, e);
        b->to[n] = to;
        b->edge[n++] = (int32_t)e;
    }
    *edge = e;
    b->n = n;
    for (; n < ROOM; n++) b->row[n] = j->zeros;
}

static void add_run(const job *j, const block *b, int64_t begin, int64_t n, char *sum, size_t sum_elem, bool first) {
    const sparse_plan *p = j->p;
    size_t elem = elem_of(p);
    sparse_run r = {.row = b->row + begin, .edge = b->edge + begin, .groups = p->groups, .n = n, .width = p->width};
    for (int64_t g = 0; g < p->groups; g++) {
        r.at = (size_t)(g * p->width) * elem;
        r.weight = j->a->weight ? (const char *)j->a->weight + (size_t)g * elem : NULL;
        p->set->sum[p->kind](&r, sum + (size_t)(g * p->width) * sum_elem, first);
    }
}

static void round_rows(const float *from, uint16_t *to, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, from + i, sizeof bits);
        bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
        to[i] = (uint16_t)(is_nan ? (bits >> 16) | 64 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
}
static void widen_rows(const uint16_t *from, float *to, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)from[i] << 16;
        memcpy(to + i, &bits, sizeof bits);
    }
}

/* What rows [low, high) are before anything is added. */
static void begin_rows(const job *j, char *sums, int64_t low, int64_t high) {
    const sparse_plan *p = j->p;
    int64_t row = p->groups * p->width, first = low * row, n = (high - low) * row;
    const char *from = j->a->begin;
    size_t elem = p->kind == SPARSE_BF16 ? sizeof(float) : elem_of(p);
    if (n <= 0) return;
    if (!from)
        memset(sums + (size_t)first * elem, 0, (size_t)n * elem);
    else if (p->kind == SPARSE_BF16)
        widen_rows((const uint16_t *)(const void *)from + first, (float *)(void *)sums + first, n);
    else if (from != sums)
        memcpy(sums + (size_t)first * elem, from + (size_t)first * elem, (size_t)n * elem);
}

/* Rows [low, high) of the result, of edges [edge, end). */
static void sum_rows(const job *j, int64_t low, int64_t high, int64_t edge, int64_t end) {
    const sparse_plan *p = j->p;
    int64_t row = p->groups * p->width, done = low; /* rows below are written, or begun */
    bool narrow = p->kind == SPARSE_BF16;
    size_t sum_elem = narrow ? sizeof(float) : elem_of(p), sum_row = (size_t)row * sum_elem;
    char *sums = narrow ? (char *)j->a->scratch + (size_t)row * 8 : j->a->out;
    block b = {.n = 0};
    if (!j->ordered) begin_rows(j, sums, low, done = high);
    for (;;) {
        fill(j, &b, &edge, end, low, high);
        int64_t most = b.n < ROOM ? b.n : BLOCK, n;
        for (int64_t i = 0; i < most; i += n) {
            for (n = 1; i + n < most && b.to[i + n] == b.to[i];) n++;
            bool first = b.to[i] >= done && !j->a->begin;
            if (b.to[i] >= done) {
                begin_rows(j, sums, done, b.to[i] + !first);
                done = b.to[i] + 1;
            }
            if (!j->ordered && i + SPARSE_AHEAD < b.n)
                for (size_t k = 0; k < sum_row && k < 512; k += 64)
                    __builtin_prefetch(sums + (size_t)b.to[i + SPARSE_AHEAD] * sum_row + k, 1);
            add_run(j, &b, i, n, sums + (size_t)b.to[i] * sum_row, sum_elem, first);
        }
        if (b.n < ROOM) break;
        b.n -= most;
        memmove(b.row, b.row + most, (size_t)b.n * sizeof *b.row);
        memmove(b.edge, b.edge + most, (size_t)b.n * sizeof *b.edge);
        memmove(b.to, b.to + most, (size_t)b.n * sizeof *b.to);
    }
    begin_rows(j, sums, done, high);
    if (narrow)
        round_rows((const float *)(const void *)sums + low * row, (uint16_t *)j->a->out + low * row,
                   (high - low) * row);
}

/* Pieces of the edges begin where another row does, and write the rows from there to where the next piece begins. */
static int64_t edge_of(const job *j, int64_t piece) {
    int64_t n = j->p->edges, e = n / j->pieces * piece;
    if (piece == 0) return 0;
    if (piece == j->pieces) return n;
    while (e > 0 && e < n && place_of(&j->p->to, j->a->to, e) == place_of(&j->p->to, j->a->to, e - 1)) e++;
    return e;
}
static int64_t first_row(const job *j, int64_t piece, int64_t edge) {
    int64_t rows = j->p->to.rows;
    if (piece == 0) return 0;
    if (edge == j->p->edges) return rows;
    int64_t at = place_of(&j->p->to, j->a->to, edge);
    return at < 0 ? 0 : at < rows ? at : rows;
}

static void sum_pieces(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const job *j = ctx;
    for (int64_t k = begin; k < end; k++) {
        int64_t rows = j->p->to.rows;
        if (!j->ordered) {
            sum_rows(j, rows * k / j->pieces, rows * (k + 1) / j->pieces, 0, j->p->edges);
            continue;
        }
        int64_t from = edge_of(j, k), to = edge_of(j, k + 1);
        int64_t low = first_row(j, k, from), high = k + 1 == j->pieces ? rows : first_row(j, k + 1, to);
        if (low < high) sum_rows(j, low, high, from, to);
    }
}

static void look_at_order(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    job *j = ctx;
    for (int64_t k = begin; k < end; k++) {
        int64_t e = j->p->edges / PIECES * k, last = k + 1 == PIECES ? j->p->edges : j->p->edges / PIECES * (k + 1) + 1;
        bool falls = false;
        if (j->p->to.wide)
            for (const int64_t *to = j->a->to; e + 1 < last; e++) falls |= to[e] > to[e + 1];
        else
            for (const int32_t *to = j->a->to; e + 1 < last; e++) falls |= to[e] > to[e + 1];
        j->unordered[k] = falls;
    }
}

static job job_of(const sparse_plan *p, const sparse_arrays *a) {
    size_t row = (size_t)(p->groups * p->width);
    memset(a->scratch, 0, row * 8);
    return (job){.p = p, .a = a, .zeros = a->scratch, .row_bytes = row * elem_of(p), .pieces = 1, .ordered = true};
}

void sparse_sums(const sparse_plan *p, const cpu_team *team, const sparse_arrays *a) {
    enum { ORDER_WORK = 1 << 15 };
    job j = job_of(p, a);
    team_for(team, PIECES, p->edges < ORDER_WORK ? PIECES : PIECES / 8, look_at_order, &j);
    for (int k = 0; k < PIECES; k++) j.ordered &= !j.unordered[k];
    if ((p->edges + p->to.rows) * p->groups * p->width >= 2 * WORK) j.pieces = j.ordered ? PIECES : team->threads;
    if (j.pieces > p->edges) j.pieces = p->edges > 0 ? p->edges : 1;
    team_for(team, j.pieces, 1, sum_pieces, &j);
}

/* --- dots --- */
static void dot_edges(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const job *j = ctx;
    const sparse_plan *p = j->p;
    const char *row[ROOM], *other[ROOM];
    for (int64_t edge = begin; edge < end; edge += BLOCK) {
        int64_t n = end - edge < BLOCK ? end - edge : BLOCK;
        for (int64_t i = 0; i < n + SPARSE_AHEAD; i++) {
            bool there = edge + i < end;
            row[i] = there ? row_of(j, edge + i) : j->zeros;
            other[i] = j->zeros;
            if (there)
                other[i] = (const char *)j->a->other + (size_t)nearest(&p->to, j->a->to, edge + i) * j->row_bytes;
        }
        for (int64_t g = 0; g < p->groups; g++) {
            size_t elem = elem_of(p);
            sparse_run r = {
                .row = row, .at = (size_t)(g * p->width) * elem, .groups = p->groups, .n = n, .width = p->width};
            p->set->dot[p->kind](&r, other, (char *)j->a->out + (size_t)(edge * p->groups + g) * elem);
        }
    }
}

void sparse_dots(const sparse_plan *p, const cpu_team *team, const sparse_arrays *a) {
    job j = job_of(p, a);
    team_for(team, p->edges, WORK / (p->groups * p->width + 1) + BLOCK, dot_edges, &j);
}
