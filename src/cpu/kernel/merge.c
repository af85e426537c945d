/* sort by any comparator on scalars: what kernel/sort.c finds no key for (several keys, ties broken by other operands,
 * complex numbers, ...).
 *
 * A stable merge sort of positions, bottom-up, for all slices at once. Comparisons are not made one by one: merges of
 * one level run abreast, one comparison of each at a time, and the comparator runs over the row of them. Where a level
 * has few long merges they are cut into pieces: for the places d, 2d, ... of a merged run a binary search (again
 * abreast) finds how many of the first d come from the left run ("merge path": Odeh, Green, Mwassi, Shmueli, Birk,
 * IPDPSW 2012). A comparator that is no order (NaN) may give cuts that cross; they are put straight, so the result is a
 * permutation whatever it says. */
#include "cpu/kernel/kernel.h"
#include "cpu/kernel/region_rows.h"

enum { LANES = ROWS_MOST, MERGE_MOST = 16, LEAST_PIECE = 32 };

typedef struct merge_state {
    region_rows region;
    uint32_t n_operands;
    size_t elem[MERGE_MOST];
    bool reads[2 * MERGE_MOST]; /* which arguments the comparator looks at */
    int64_t n, inner, slices, count;
    int64_t piece; /* places of a merged run that one lane makes */
    int64_t most_pieces;
    size_t starts_at, rows_at;
} merge_state;
typedef struct merge_run {
    const merge_state *s;
    const cpu_call *call;
    rows_eval *evals;
    const uint32_t *from; /* [slices][n]: positions in the operands */
    uint32_t *to, *starts; /* starts: per piece, how many of the places before it come from the left run */
    char *rows; /* per thread: 2 rows an operand */
    int64_t width, pairs, pieces; /* of a run; pairs of runs of a slice; pieces of a pair */
} merge_run;

static size_t rows_bytes(const merge_state *s) {
    return (size_t)(2 * s->n_operands + 1) * ROWS_MOST * ROWS_ELEM;
}

typedef struct pair { /* two neighbouring runs, and the piece of their merge that begins at place d */
    const uint32_t *a, *b;
    uint32_t *to;
    int64_t na, nb, d, length;
} pair;
static pair pair_of(const merge_run *r, int64_t piece) {
    const merge_state *s = r->s;
    int64_t slice = piece / (r->pairs * r->pieces), k = piece / r->pieces % r->pairs, lo = 2 * k * r->width,
            d = piece % r->pieces * s->piece;
    int64_t mid = lo + r->width < s->n ? lo + r->width : s->n, hi = lo + 2 * r->width < s->n ? lo + 2 * r->width : s->n;
    int64_t base = slice * s->n, left = hi - lo - d;
    return (pair){r->from + base + lo,
                  r->from + base + mid,
                  r->to + base + lo + d,
                  mid - lo,
                  hi - mid,
                  d,
                  left < 0          ? 0
                  : left < s->piece ? left
                                    : s->piece};
}

/* out[i] = comparator(right[i], left[i]): whether the right one goes first. */
static void compare(const merge_run *r, int thread, int64_t n, const uint32_t *right, const uint32_t *left,
                    uint8_t *out) {
    const merge_state *s = r->s;
    char *rows = r->rows + (size_t)thread * rows_bytes(s);
    void *args[2 * MERGE_MOST], *const results[1] = {out};
#define ROW(T)                                                                   \
    for (int64_t i = 0; i < n; i++) ((T *)args[j])[i] = ((const T *)src)[at[i]]; \
    break
    for (uint32_t j = 0; j < 2 * s->n_operands; j++) {
        const uint32_t *at = j % 2 ? left : right;
        const void *src = r->call->in[j / 2];
        args[j] = rows + (size_t)j * ROWS_MOST * ROWS_ELEM;
        if (!s->reads[j]) continue;
        switch (s->elem[j / 2]) {
        case 1: ROW(uint8_t);
        case 2: ROW(uint16_t);
        case 4: ROW(uint32_t);
        case 8: ROW(uint64_t);
        default:
            for (int64_t i = 0; i < n; i++)
                memcpy((char *)args[j] + i * 16, (const char *)src + (size_t)at[i] * 16, 16);
        }
    }
#undef ROW
    rows_eval_run(&r->evals[thread], n, args, results);
}

static void find_starts(void *ctx, int64_t begin, int64_t end, int thread) {
    const merge_run *r = ctx;
    int64_t low[LANES], high[LANES];
    uint32_t right[LANES], left[LANES], lane[LANES];
    uint8_t first[LANES];
    for (int64_t p0 = begin; p0 < end; p0 += LANES) {
        int64_t n = end - p0 < LANES ? end - p0 : LANES, active;
        for (int64_t i = 0; i < n; i++) {
            pair p = pair_of(r, p0 + i);
            int64_t d = p.d < p.na + p.nb ? p.d : p.na + p.nb;
            low[i] = d > p.nb ? d - p.nb : 0;
            high[i] = d < p.na ? d : p.na;
        }
        do {
            active = 0;
            for (int64_t i = 0; i < n; i++) {
                if (low[i] >= high[i]) continue;
                pair p = pair_of(r, p0 + i);
                int64_t middle = (low[i] + high[i]) / 2;
                left[active] = p.a[middle];
                right[active] = p.b[p.d - 1 - middle];
                lane[active++] = (uint32_t)i;
            }
            if (active) compare(r, thread, active, right, left, first);
            for (int64_t k = 0; k < active; k++) {
                int64_t i = lane[k], middle = (low[i] + high[i]) / 2;
                if (first[k])
                    high[i] = middle;
                else
                    low[i] = middle + 1;
            }
        } while (active);
        for (int64_t i = 0; i < n; i++) r->starts[p0 + i] = (uint32_t)low[i];
    }
}

/* Cuts of one merge that do not cross, whatever the comparator said. */
static void straighten(const merge_run *r, int64_t total) {
    const merge_state *s = r->s;
    for (int64_t p = 0; p < total; p++) {
        if (p % r->pieces == 0) continue;
        pair q = pair_of(r, p);
        int64_t before = r->starts[p - 1], start = r->starts[p], d = q.d < q.na + q.nb ? q.d : q.na + q.nb,
                last = q.d - s->piece;
        if (last > q.na + q.nb) last = q.na + q.nb;
        if (start < before) start = before;
        if (start > before + (d - last)) start = before + (d - last);
        r->starts[p] = (uint32_t)start;
    }
}

static void merge_pieces(void *ctx, int64_t begin, int64_t end, int thread) {
    const merge_run *r = ctx;
    const uint32_t *a[LANES], *a_end[LANES], *b[LANES], *b_end[LANES];
    uint32_t *to[LANES], right[LANES], left[LANES];
    uint8_t first[LANES];
    for (int64_t p0 = begin; p0 < end; p0 += LANES) {
        int64_t n = 0;
        for (int64_t piece = p0; piece < end && piece < p0 + LANES; piece++) {
            pair p = pair_of(r, piece);
            int64_t i = r->pieces > 1 ? r->starts[piece] : 0, stop = p.d + p.length;
            bool last = piece % r->pieces == r->pieces - 1 || stop >= p.na + p.nb;
            int64_t i_end = last ? p.na : r->starts[piece + 1];
            if (p.length == 0) continue;
            a[n] = p.a + i, a_end[n] = p.a + i_end;
            b[n] = p.b + (p.d - i), b_end[n] = p.b + (stop - i_end);
            to[n++] = p.to;
        }
        while (n) {
            int64_t k = 0;
            for (int64_t i = 0; i < n; i++) { /* lanes with one run left are done at once; the others move up */
                bool none_left = a[i] == a_end[i], none_right = b[i] == b_end[i];
                if (none_left || none_right) {
                    const uint32_t *rest = none_left ? b[i] : a[i];
                    memcpy(to[i], rest, (size_t)((none_left ? b_end[i] : a_end[i]) - rest) * sizeof *rest);
                    continue;
                }
                a[k] = a[i], a_end[k] = a_end[i], b[k] = b[i], b_end[k] = b_end[i], to[k] = to[i];
                left[k] = *a[k];
                right[k] = *b[k];
                k++;
            }
            if ((n = k)) compare(r, thread, n, right, left, first);
            for (int64_t i = 0; i < n; i++) {
                bool f = first[i];
                *to[i]++ = f ? right[i] : left[i];
                b[i] += f;
                a[i] += !f;
            }
        }
    }
}

static void begin_positions(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const merge_run *r = ctx;
    const merge_state *s = r->s;
    for (int64_t k = begin; k < end; k++) {
        int64_t slice = k / s->n, i = k % s->n;
        r->to[k] = (uint32_t)(slice / s->inner * s->n * s->inner + slice % s->inner + i * s->inner);
    }
}

static void put_in_order(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const merge_run *r = ctx;
    const merge_state *s = r->s;
#define PUT(T)                                                                             \
    for (int64_t k = begin; k < end; k++) {                                                \
        int64_t slice = k / s->n, i = k % s->n;                                            \
        ((T *)out)[slice / s->inner * s->n * s->inner + slice % s->inner + i * s->inner] = \
            ((const T *)in)[r->from[k]];                                                   \
    }                                                                                      \
    break
    typedef struct wide {
        uint64_t part[2];
    } wide;
    for (uint32_t j = 0; j < s->n_operands; j++) {
        const void *in = r->call->in[j];
        void *out = r->call->out[j];
        switch (s->elem[j]) {
        case 1: PUT(uint8_t);
        case 2: PUT(uint16_t);
        case 4: PUT(uint32_t);
        case 8: PUT(uint64_t);
        default: PUT(wide);
        }
    }
#undef PUT
}

static xt_status merge_run_op(const cpu_call *c) {
    const merge_state *s = c->thunk->state;
    const cpu_team *team = &c->device->team;
    uint32_t *a = c->scratch, *b = a + s->count;
    merge_run r = {.s = s,
                   .call = c,
                   .to = a,
                   .starts = (uint32_t *)(void *)((char *)c->scratch + s->starts_at),
                   .rows = (char *)c->scratch + s->rows_at};
    XT_TRY(rows_evals_new(&s->region, c, &r.evals));
    team_for(team, s->count, 65536, begin_positions, &r);
    for (r.width = 1; r.width < s->n; r.width *= 2) {
        r.from = r.to;
        r.to = r.from == a ? b : a;
        r.pairs = (s->n + 2 * r.width - 1) / (2 * r.width);
        r.pieces = (2 * r.width + s->piece - 1) / s->piece;
        int64_t total = s->slices * r.pairs * r.pieces, grain = LANES;
        if (total < 2 * LANES && total > 64) grain = (total + team->threads - 1) / team->threads;
        if (r.pieces > 1) {
            team_for(team, total, grain, find_starts, &r);
            straighten(&r, total);
        }
        team_for(team, total, grain, merge_pieces, &r);
    }
    r.from = r.to;
    team_for(team, s->count, 16384, put_in_order, &r);
    rows_evals_free(r.evals, c);
    return NULL;
}
static const cpu_kernel merge_kernel = {"merge-sort", merge_run_op, region_state_free, true};

static size_t aligned(size_t n) {
    return (n + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
}

CPU_LOWER(merge) {
    const ir_type *t = op->in[0]->type;
    const ir_block *region = op->regions[0].block;
    int64_t dim = ir_get_int(op, IR_A_dimension, -1);
    if (dim < 0) dim += t->rank;
    if (t->rank == 0 || t->count <= 0 || t->count >= UINT32_MAX || op->n_in > MERGE_MOST || !region) return NULL;
    merge_state *s = base_calloc(1, sizeof *s);
    captured outside = {0};
    bool ok = false;
    if (!s) return status_oom(sizeof *s, "a plan");
    xt_status st = captured_collect(op, &outside) ? NULL : status_oom(0, "a plan");
    if (!st) st = region_rows_make(cpu_build_module(b), region, &outside, op->n_in, &s->region, &ok);
    base_free(outside.values);
    if (st || !ok || s->region.n_results != 1 || region->n_args != 2 * op->n_in) {
        region_state_free(s);
        return st;
    }
    s->n_operands = op->n_in;
    for (uint32_t j = 0; j < op->n_in; j++) {
        s->elem[j] = xt_dtype_size(op->in[j]->type->dtype);
        s->reads[2 * j] = region->args[2 * j]->uses > 0;
        s->reads[2 * j + 1] = region->args[2 * j + 1]->uses > 0;
    }
    s->n = t->dims[dim];
    s->inner = 1;
    for (uint32_t d = (uint32_t)dim + 1; d < t->rank; d++) s->inner *= t->dims[d];
    s->count = t->count;
    s->slices = t->count / s->n;
    s->piece = t->count / (2 * LANES) + 1;
    if (s->piece < LEAST_PIECE) s->piece = LEAST_PIECE;
    s->most_pieces = 4 * (s->count / s->piece + 1) + 2 * s->slices + 2;
    s->starts_at = aligned(2 * (size_t)s->count * sizeof(uint32_t));
    s->rows_at = s->starts_at + aligned((size_t)s->most_pieces * sizeof(uint32_t));
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &merge_kernel,
                        .op = op,
                        .n_out = op->n_out,
                        .scratch_bytes = s->rows_at + rows_bytes(s) * (size_t)cpu_build_threads(b),
                        .state = s,
                        .flops = cpu_op_flops(op)};
    return region_rows_thunk(b, &s->region, &d);
}
