/* reduce, and the folding kernels that reduce_window's running sums share.
 *
 * One input and a region that is one known op: the input is read once, in memory order; a reduced row folds into one
 * accumulator (16 lanes, then the lanes in order), a kept row folds into a row of accumulators. Sums and products of
 * floats accumulate in f64 and round once at the end, so the result hardly depends on the order; everything else
 * accumulates in its own type, where the order does not matter.
 *
 * Any other region runs by region_eval, vectorised over results when there are many, else over equal segments of the
 * reduced elements that are joined in order afterwards (the region and its initial values form a monoid, as
 * StableHLO demands). */
/* Before the includes: an inline helper compiled under other rules would take its caller's loop along. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-trapping-math")
#endif

#include "ir/interp_reduce.h"

#include "ir/interp_float.h"

enum { LANES = 16 };

/* fold: n elements into *acc. fold_rows: element i into acc[i]. */
#define FOLDS(name, T, A, a_op_b)                                                          \
    static inline A name##_op(A a, A b) {                                                  \
        return (A)(a_op_b);                                                                \
    }                                                                                      \
    static void name##_fold(int64_t n, const void *src, void *acc) {                       \
        const T *x = src;                                                                  \
        A total = *(A *)acc;                                                               \
        int64_t i = 0;                                                                     \
        if (n >= 2 * LANES) {                                                              \
            A lane[LANES];                                                                 \
            for (int k = 0; k < LANES; k++) lane[k] = (A)x[k];                             \
            for (i = LANES; i + LANES <= n; i += LANES)                                    \
                for (int k = 0; k < LANES; k++) lane[k] = name##_op(lane[k], (A)x[i + k]); \
            for (int k = 0; k < LANES; k++) total = name##_op(total, lane[k]);             \
        }                                                                                  \
        for (; i < n; i++) total = name##_op(total, (A)x[i]);                              \
        *(A *)acc = total;                                                                 \
    }                                                                                      \
    static void name##_rows(int64_t n, const void *src, void *acc) {                       \
        const T *x = src;                                                                  \
        A *r = acc;                                                                        \
        INTERP_IVDEP                                                                       \
        for (int64_t i = 0; i < n; i++) r[i] = name##_op(r[i], (A)x[i]);                   \
    }
#define INT_FOLDS(T)                                    \
    FOLDS(add_##T, T, T, (uint64_t)a + (uint64_t)b)     \
    FOLDS(multiply_##T, T, T, (uint64_t)a *(uint64_t)b) \
    FOLDS(maximum_##T, T, T, a > b ? a : b)             \
    FOLDS(minimum_##T, T, T, a < b ? a : b)             \
    FOLDS(and_##T, T, T, a &b)                          \
    FOLDS(or_##T, T, T, a | b)                          \
    FOLDS(xor_##T, T, T, a ^ b)
INT_FOLDS(int8_t)
INT_FOLDS(int16_t)
INT_FOLDS(int32_t)
INT_FOLDS(int64_t)
INT_FOLDS(uint8_t)
INT_FOLDS(uint16_t)
INT_FOLDS(uint32_t)
INT_FOLDS(uint64_t)
FOLDS(add_f32, f32, f64, a + b)
FOLDS(multiply_f32, f32, f64, a *b)
FOLDS(maximum_f32, f32, f32, max_f32(a, b))
FOLDS(minimum_f32, f32, f32, min_f32(a, b))
FOLDS(add_f64, f64, f64, a + b)
FOLDS(multiply_f64, f64, f64, a *b)
FOLDS(maximum_f64, f64, f64, max_f64(a, b))
FOLDS(minimum_f64, f64, f64, min_f64(a, b))

bool fold_kernel_find(ir_opcode code, xt_dtype t, fold_kernel *out) {
#define PAIR(name) \
    { name##_fold, name##_rows }
#define INT_ROW(T)           \
    {                        \
        PAIR(add_##T)        \
        , PAIR(multiply_##T) \
        , PAIR(maximum_##T)  \
        , PAIR(minimum_##T)  \
        , PAIR(and_##T)      \
        , PAIR(or_##T)       \
        , PAIR(xor_##T)      \
    }
    static const struct {
        fold_fn fold, rows;
    } fns[XT_F64 + 1][7] = {
        /* bool: sum and maximum are or, product and minimum are and. */
        [XT_BOOL] = {PAIR(or_uint8_t), PAIR(and_uint8_t), PAIR(or_uint8_t), PAIR(and_uint8_t), PAIR(and_uint8_t),
                     PAIR(or_uint8_t), PAIR(xor_uint8_t)},
        [XT_I8] = INT_ROW(int8_t),
        [XT_I16] = INT_ROW(int16_t),
        [XT_I32] = INT_ROW(int32_t),
        [XT_I64] = INT_ROW(int64_t),
        [XT_U8] = INT_ROW(uint8_t),
        [XT_U16] = INT_ROW(uint16_t),
        [XT_U32] = INT_ROW(uint32_t),
        [XT_U64] = INT_ROW(uint64_t),
        [XT_F32] = {PAIR(add_f32), PAIR(multiply_f32), PAIR(maximum_f32), PAIR(minimum_f32)},
        [XT_F64] = {PAIR(add_f64), PAIR(multiply_f64), PAIR(maximum_f64), PAIR(minimum_f64)},
    };
    static const int column[OP_COUNT] = {
        [OP_add] = 1, [OP_multiply] = 2, [OP_maximum] = 3, [OP_minimum] = 4, [OP_and] = 5, [OP_or] = 6, [OP_xor] = 7};
    xt_dtype compute = dtype_is_subbyte(t) ? XT_DTYPE_NONE : dtype_compute(t);
    int k = column[code] - 1;
    if (k < 0 || compute > XT_F64 || !fns[compute][k].fold) return false;
    bool wide = (code == OP_add || code == OP_multiply) && compute == XT_F32;
    *out = (fold_kernel){
        .fold = fns[compute][k].fold, .rows = fns[compute][k].rows, .compute = compute, .acc = wide ? XT_F64 : compute};
    return true;
}

/* --- One known op --- */
/* Dims of size 1 dropped, neighbours of the same fate joined. */
typedef struct fold_space {
    size_t rank;
    int64_t dims[INTERP_MAX_RANK], out_stride[INTERP_MAX_RANK]; /* out_stride 0: reduced */
    bool reduced[INTERP_MAX_RANK];
} fold_space;

static void fold_space_init(fold_space *p, const ir_type *t, const bool *reduced) {
    p->rank = 0;
    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->dims[d] == 1) continue;
        if (p->rank && p->reduced[p->rank - 1] == reduced[d]) {
            p->dims[p->rank - 1] *= t->dims[d];
            continue;
        }
        p->reduced[p->rank] = reduced[d];
        p->dims[p->rank++] = t->dims[d];
    }
    int64_t stride = 1;
    for (size_t d = p->rank; d-- > 0;) {
        p->out_stride[d] = p->reduced[d] ? 0 : stride;
        if (!p->reduced[d]) stride *= p->dims[d];
    }
}

/* A row of narrow floats goes through f32 in pieces. */
static void fold_row(const fold_kernel *k, bool reduced, int64_t n, xt_dtype t, const char *x, char *acc) {
    size_t size = xt_dtype_size(t), acc_size = xt_dtype_size(k->acc);
    float piece[INTERP_CHUNK];
    if (k->compute == t) {
        (reduced ? k->fold : k->rows)(n, x, acc);
        return;
    }
    for (int64_t at = 0; at < n; at += INTERP_CHUNK) {
        int64_t m = n - at < INTERP_CHUNK ? n - at : INTERP_CHUNK;
        convert_elems(m, t, x + (size_t)at * size, XT_F32, piece);
        if (reduced)
            k->fold(m, piece, acc);
        else
            k->rows(m, piece, acc + (size_t)at * acc_size);
    }
}

static xt_status reduce_known(const fold_kernel *k, const array *in, const array *init, const bool *reduced,
                              array *out) {
    fold_space p;
    fold_space_init(&p, in->type, reduced);
    int64_t n_out = out->type->count;
    size_t size = xt_dtype_size(in->type->dtype), acc_size = xt_dtype_size(k->acc);
    char *acc;
    XT_TRY(interp_temp((size_t)n_out, acc_size, &acc));
    double first; /* holds the accumulators' first value, whatever their type */
    convert_elems(1, init->type->dtype, init->data, k->acc, &first);
    fill_elems(acc, n_out, &first, acc_size);
    if (in->type->count > 0) {
        if (p.rank == 0) p.rank = 1, p.dims[0] = 1, p.reduced[0] = true, p.out_stride[0] = 0;
        size_t outer = p.rank - 1;
        int64_t index[INTERP_MAX_RANK] = {0}, row = p.dims[outer];
        const char *x = in->data;
        do {
            int64_t o = 0;
            for (size_t d = 0; d < outer; d++) o += index[d] * p.out_stride[d];
            fold_row(k, p.reduced[outer], row, in->type->dtype, x, acc + (size_t)o * acc_size);
            x += (size_t)row * size;
        } while (index_next(outer, p.dims, index));
    }
    convert_elems(n_out, k->acc, acc, out->type->dtype, out->data);
    base_free(acc);
    return NULL;
}

/* --- Any region --- */
typedef struct general {
    region_eval *r;
    size_t n; /* inputs */
    const array *in, *init;
    array *out;
    int64_t n_red, n_out;
    int64_t *red_offset; /* of each reduced element from the first one, in order */
    int64_t kept_dims[INTERP_MAX_RANK], kept_stride[INTERP_MAX_RANK];
    size_t n_kept;
    char **acc, **row, **half; /* per input: INTERP_CHUNK elements */
    const void **args;
    void **results;
} general;

static size_t size_of(const general *g, size_t j) {
    return xt_dtype_size(g->in[j].type->dtype);
}

static void gather_row(void *dst, const void *src, const int64_t *offsets, int64_t base, int64_t n, size_t size) {
    switch (size) {
    case 1:
        for (int64_t i = 0; i < n; i++) ((uint8_t *)dst)[i] = ((const uint8_t *)src)[base + offsets[i]];
        break;
    case 2:
        for (int64_t i = 0; i < n; i++) ((uint16_t *)dst)[i] = ((const uint16_t *)src)[base + offsets[i]];
        break;
    case 4:
        for (int64_t i = 0; i < n; i++) ((uint32_t *)dst)[i] = ((const uint32_t *)src)[base + offsets[i]];
        break;
    case 8:
        for (int64_t i = 0; i < n; i++) ((uint64_t *)dst)[i] = ((const uint64_t *)src)[base + offsets[i]];
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy((char *)dst + (size_t)i * size, (const char *)src + (size_t)(base + offsets[i]) * size, size);
    }
}

/* acc = region(left, right), rows of n. */
static xt_status join(general *g, int64_t n, char **left, char **right) {
    for (size_t j = 0; j < g->n; j++) {
        g->args[j] = left[j];
        g->args[g->n + j] = right[j];
        g->results[j] = g->acc[j];
    }
    return region_eval_run(g->r, n, g->args, g->results);
}

/* Where each of n results from `first` on begins in the input; `index` walks the kept dims. */
static void kept_bases(const general *g, int64_t *index, int64_t n, int64_t *out) {
    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0;
        for (size_t d = 0; d < g->n_kept; d++) at += index[d] * g->kept_stride[d];
        out[i] = at;
        index_next(g->n_kept, g->kept_dims, index);
    }
}

static xt_status over_results(general *g) {
    int64_t index[INTERP_MAX_RANK] = {0}, bases[INTERP_CHUNK];
    for (int64_t at = 0; at < g->n_out; at += INTERP_CHUNK) {
        int64_t n = g->n_out - at < INTERP_CHUNK ? g->n_out - at : INTERP_CHUNK;
        kept_bases(g, index, n, bases);
        for (size_t j = 0; j < g->n; j++) fill_elems(g->acc[j], n, g->init[j].data, size_of(g, j));
        for (int64_t r = 0; r < g->n_red; r++) {
            for (size_t j = 0; j < g->n; j++)
                gather_row(g->row[j], g->in[j].data, bases, g->red_offset[r], n, size_of(g, j));
            XT_TRY(join(g, n, g->acc, g->row));
        }
        for (size_t j = 0; j < g->n; j++)
            memcpy((char *)g->out[j].data + (size_t)at * size_of(g, j), g->acc[j], (size_t)n * size_of(g, j));
    }
    return NULL;
}

/* Joins neighbours until one is left; acc holds `n` partial results in order. */
static xt_status join_lanes(general *g, int64_t n) {
    while (n > 1) {
        int64_t pairs = n / 2;
        for (size_t j = 0; j < g->n; j++) {
            size_t size = size_of(g, j);
            for (int64_t i = 0; i < pairs; i++) {
                memcpy(g->half[j] + (size_t)i * size, g->acc[j] + (size_t)(2 * i) * size, size);
                memcpy(g->row[j] + (size_t)i * size, g->acc[j] + (size_t)(2 * i + 1) * size, size);
            }
            if (n & 1) memcpy(g->half[j] + (size_t)pairs * size, g->acc[j] + (size_t)(n - 1) * size, size);
        }
        XT_TRY(join(g, pairs, g->half, g->row));
        for (size_t j = 0; j < g->n && (n & 1); j++)
            memcpy(g->acc[j] + (size_t)pairs * size_of(g, j), g->half[j] + (size_t)pairs * size_of(g, j),
                   size_of(g, j));
        n = pairs + (n & 1);
    }
    return NULL;
}

static xt_status over_segments(general *g) {
    int64_t lanes = g->n_red / 16 < INTERP_CHUNK ? g->n_red / 16 : INTERP_CHUNK;
    int64_t length = (g->n_red + lanes - 1) / lanes;
    lanes = (g->n_red + length - 1) / length;
    int64_t index[INTERP_MAX_RANK] = {0}, starts[INTERP_CHUNK], base;
    for (int64_t o = 0; o < g->n_out; o++) {
        kept_bases(g, index, 1, &base);
        for (int64_t s = 0; s < length; s++) {
            int64_t n = 0;
            for (; n < lanes && n * length + s < g->n_red; n++) starts[n] = g->red_offset[n * length + s];
            for (size_t j = 0; j < g->n; j++)
                gather_row(s ? g->row[j] : g->acc[j], g->in[j].data, starts, base, n, size_of(g, j));
            if (s) XT_TRY(join(g, n, g->acc, g->row));
        }
        XT_TRY(join_lanes(g, lanes));
        for (size_t j = 0; j < g->n; j++) memcpy(g->half[j], g->init[j].data, size_of(g, j));
        XT_TRY(join(g, 1, g->half, g->acc));
        for (size_t j = 0; j < g->n; j++)
            memcpy((char *)g->out[j].data + (size_t)o * size_of(g, j), g->acc[j], size_of(g, j));
    }
    return NULL;
}

static xt_status general_offsets(general *g, const ir_type *t, const bool *reduced) {
    int64_t strides[INTERP_MAX_RANK], dims[INTERP_MAX_RANK], stride[INTERP_MAX_RANK], index[INTERP_MAX_RANK] = {0};
    size_t n = 0;
    strides_of(t->rank, t->dims, strides);
    g->n_red = 1;
    for (uint32_t d = 0; d < t->rank; d++) {
        if (reduced[d]) {
            dims[n] = t->dims[d];
            stride[n++] = strides[d];
            g->n_red *= t->dims[d];
        } else {
            g->kept_dims[g->n_kept] = t->dims[d];
            g->kept_stride[g->n_kept++] = strides[d];
        }
    }
    XT_TRY(interp_temp((size_t)g->n_red, sizeof *g->red_offset, &g->red_offset));
    for (int64_t r = 0; r < g->n_red; r++) {
        int64_t at = 0;
        for (size_t d = 0; d < n; d++) at += index[d] * stride[d];
        g->red_offset[r] = at;
        index_next(n, dims, index);
    }
    return NULL;
}

static xt_status reduce_general(interp *c, const ir_region *region, size_t n, const array *in, const array *init,
                                const bool *reduced, array *out) {
    general g = {.n = n, .in = in, .init = init, .out = out, .n_out = out[0].type->count};
    char *rows = NULL;
    size_t row_bytes = INTERP_CHUNK * 16;
    char **ptrs = base_calloc(7 * n, sizeof *ptrs);
    xt_status s = ptrs ? NULL : status_oom(7 * n * sizeof *ptrs, "a reduction");
    if (!s) s = interp_temp(3 * n, row_bytes, &rows);
    if (!s) s = general_offsets(&g, in->type, reduced);
    if (!s) s = region_eval_new(c, region->block, 0, NULL, &g.r);
    if (!s) {
        g.acc = ptrs;
        g.row = ptrs + n;
        g.half = ptrs + 2 * n;
        g.args = (const void **)(ptrs + 3 * n);
        g.results = (void **)(ptrs + 5 * n);
        for (size_t j = 0; j < 3 * n; j++) ptrs[j] = rows + j * row_bytes;
        s = g.n_out < 64 && g.n_red >= 128 ? over_segments(&g) : over_results(&g);
    }
    region_eval_free(g.r);
    base_free(g.red_offset);
    base_free(rows);
    base_free(ptrs);
    return s;
}

/* Operands in the element type of the region, which may be wider (constraint of promotion); `tmp` is what to free. */
xt_status promote_operands(const ir_op *op, size_t n, const array *in, array *out, array **out_tmp) {
    *out_tmp = NULL;
    const ir_block *b = op->regions[op->n_regions - 1].block;
    bool same = true;
    for (size_t j = 0; j < n; j++) same = same && in[j].type->dtype == b->args[j % b->n_args]->type->dtype;
    if (same) {
        memcpy(out, in, n * sizeof *in);
        return NULL;
    }
    array *tmp = base_calloc(n + 1, sizeof *tmp); /* ends with a NULL type */
    if (!tmp) return status_oom(n * sizeof *tmp, "promoted operands");
    *out_tmp = tmp;
    for (size_t j = 0; j < n; j++) {
        const ir_type *t = ir_with_dtype(in[j].type, b->args[j % b->n_args]->type->dtype);
        if (!t) return status_oom(sizeof *t, "a type");
        XT_TRY(array_new_raw(t, &tmp[j]));
        convert_elems(t->count, in[j].type->dtype, in[j].data, t->dtype, tmp[j].data);
        out[j] = tmp[j];
    }
    return NULL;
}

void promote_free(array *tmp) {
    for (array *a = tmp; a && a->type; a++) array_free(a);
    base_free(tmp);
}

xt_status interp_reduce(interp *c, const ir_op *op, const array *in, array *out) {
    size_t n = op->n_in / 2, n_dims;
    const int64_t *dims = ir_get_ints(op, IR_A_dimensions, &n_dims);
    bool reduced[INTERP_MAX_RANK] = {false};
    for (size_t k = 0; k < n_dims; k++) reduced[dims[k]] = true;
    array *ops = base_calloc(op->n_in, sizeof *ops), *tmp = NULL;
    if (!ops) return status_oom(op->n_in * sizeof *ops, "a reduction");
    xt_status s = promote_operands(op, op->n_in, in, ops, &tmp);
    ir_opcode code;
    fold_kernel k;
    if (!s && n == 1 && region_is_binary(&op->regions[0], &code) && fold_kernel_find(code, out->type->dtype, &k))
        s = reduce_known(&k, &ops[0], &ops[1], reduced, out);
    else if (!s)
        s = reduce_general(c, &op->regions[0], n, ops, ops + n, reduced, out);
    promote_free(tmp);
    base_free(ops);
    return s;
}
