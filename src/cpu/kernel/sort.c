/* sort and chlo.top_k by keys: comparators that compare a function of the left elements with the same function of the
 * right ones (all of JAX's, PyTorch/XLA's and our own sorts of one key). The function runs over whole rows; its
 * values become unsigned numbers of the same order, which are sorted with their positions, stably, by digits (radix
 * sort, least significant first; digits that are all alike are skipped). Then every operand is put in that order. Of
 * a sort whose results are only read in their first k places (top-k), just those are selected, by a heap behind a
 * vectorised threshold.
 *
 * Comparators of several keys run on the interpreter's code. A comparator that is false for NaN both ways leaves their
 * place open: they come last. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-trapping-math")
#endif
#include "cpu/kernel/kernel.h"
#include "cpu/vector/simd.h"
#include "ir/interp_int.h"

enum { DIGIT = 256, SMALL = 48, OPERANDS_MOST = 32, POSITIONS = -1 };

typedef struct sort_state {
    int64_t n, inner, slices; /* along the sorted dim; of the dims behind it; rows in all */
    int64_t first; /* how many places of the order are wanted */
    size_t n_operands, *sizes;
    int8_t
        /* the thunk's input that operand j is; POSITIONS: it counts along the sorted dim, so its results are the
         * order itself */
        from[OPERANDS_MOST];
    int key_operand; /* -1: the region computes keys */
    xt_dtype key_type;
    bool total, descending;
    const ir_block *region;
    ir_value *left; /* the key of the left element, in the region */
    const ir_module *module;
    bool top_k;
    size_t row_bytes; /* scratch of one thread */
} sort_state;

typedef struct rec {
    uint64_t key;
    uint32_t at;
} rec;
typedef struct rec32 {
    uint32_t key, at;
} rec32;

/* --- keys --- */
#define SIGNED_KEY(U, x, top) ((U)(x) ^ (U)(top))
/* Floats by their bits: negative ones turned over, positive ones above them. */
#define FLOAT_KEY(U, bits, top) ((bits) & (top) ? (U) ~(bits) : (U)((bits) | (top)))

/* Loops that AVX2 doubles (base x86 has no unsigned minimum): written once, compiled for both. */
#define INLINE static inline __attribute__((always_inline))
#if defined(__x86_64__)
#define WIDE __attribute__((target("avx2")))
#define HAS_WIDE (simd_level() >= 1)
#else
#define WIDE
#define HAS_WIDE false
#endif

#define KEYS(name, T, U, K, expr)                                                              \
    INLINE void name##_from(const T *x, int64_t step, int64_t n, bool total, K flip, K *out) { \
        (void)total;                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                      \
            U u;                                                                               \
            memcpy(&u, &x[i * step], sizeof u);                                                \
            out[i] = (K)(expr) ^ flip;                                                         \
        }                                                                                      \
    }                                                                                          \
    WIDE static void name##_wide(const T *x, int64_t n, bool total, K flip, K *out) {          \
        if (total)                                                                             \
            name##_from(x, 1, n, true, flip, out);                                             \
        else                                                                                   \
            name##_from(x, 1, n, false, flip, out);                                            \
    }                                                                                          \
    static void name(const void *src, int64_t step, int64_t n, bool total, K flip, K *out) {   \
        if (step == 1 && HAS_WIDE)                                                             \
            name##_wide(src, n, total, flip, out);                                             \
        else                                                                                   \
            name##_from(src, step, n, total, flip, out);                                       \
    }
/* Without the total order -0 is +0 and every NaN the last. */
#define CANON(u, top, inf) (total ? (u) : ((u) & ~(top)) == 0 ? 0 : ((u) & ~(top)) > (inf) ? ~(top) : (u))
KEYS(keys_i8, int8_t, uint8_t, uint32_t, SIGNED_KEY(uint8_t, u, 0x80u))
KEYS(keys_i16, int16_t, uint16_t, uint32_t, SIGNED_KEY(uint16_t, u, 0x8000u))
KEYS(keys_i32, int32_t, uint32_t, uint32_t, SIGNED_KEY(uint32_t, u, 0x80000000u))
KEYS(keys_u8, uint8_t, uint8_t, uint32_t, u)
KEYS(keys_u16, uint16_t, uint16_t, uint32_t, u)
KEYS(keys_u32, uint32_t, uint32_t, uint32_t, u)
static inline uint32_t key_f32(uint32_t u, bool total) {
    u = CANON(u, 0x80000000u, 0x7f800000u);
    return FLOAT_KEY(uint32_t, u, 0x80000000u);
}
static inline uint32_t key_16(uint32_t u, bool total, uint32_t inf) {
    u = CANON(u, 0x8000u, inf) & 0xffffu;
    return u & 0x8000u ? ~u & 0xffffu : u | 0x8000u;
}
static inline uint64_t key_f64(uint64_t u, bool total) {
    const uint64_t top = UINT64_C(1) << 63;
    u = CANON(u, top, UINT64_C(0x7ff0000000000000));
    return FLOAT_KEY(uint64_t, u, top);
}
KEYS(keys_f32, float, uint32_t, uint32_t, key_f32(u, total))
KEYS(keys_bf16, uint16_t, uint16_t, uint32_t, key_16(u, total, 0x7f80u))
KEYS(keys_f16, uint16_t, uint16_t, uint32_t, key_16(u, total, 0x7c00u))
KEYS(keys_i64, int64_t, uint64_t, uint64_t, SIGNED_KEY(uint64_t, u, UINT64_C(1) << 63))
KEYS(keys_u64, uint64_t, uint64_t, uint64_t, u)
KEYS(keys_f64, double, uint64_t, uint64_t, key_f64(u, total))

typedef void (*keys32_fn)(const void *src, int64_t step, int64_t n, bool total, uint32_t flip, uint32_t *out);
typedef void (*keys64_fn)(const void *src, int64_t step, int64_t n, bool total, uint64_t flip, uint64_t *out);
static keys32_fn keys32_of(xt_dtype t) {
    switch ((int)t) {
    case XT_BOOL:
    case XT_U8: return keys_u8;
    case XT_I8: return keys_i8;
    case XT_I16: return keys_i16;
    case XT_U16: return keys_u16;
    case XT_I32: return keys_i32;
    case XT_U32: return keys_u32;
    case XT_F32: return keys_f32;
    case XT_BF16: return keys_bf16;
    case XT_F16: return keys_f16;
    default: return NULL;
    }
}
static keys64_fn keys64_of(xt_dtype t) {
    return t == XT_I64 ? keys_i64 : t == XT_U64 ? keys_u64 : t == XT_F64 ? keys_f64 : NULL;
}

/* --- orders --- */
/* Sorts n records of (key, position) that begin in `a`; gives the array they end in. */
#define RADIX(name, R, BYTES)                                                                        \
    static R *name(R *a, R *b, int64_t n) {                                                          \
        if (n <= SMALL) {                                                                            \
            for (int64_t i = 1; i < n; i++) {                                                        \
                R v = a[i];                                                                          \
                int64_t j = i;                                                                       \
                for (; j > 0 && v.key < a[j - 1].key; j--) a[j] = a[j - 1];                          \
                a[j] = v;                                                                            \
            }                                                                                        \
            return a;                                                                                \
        }                                                                                            \
        uint32_t count[BYTES][DIGIT] = {{0}};                                                        \
        for (int64_t i = 0; i < n; i++)                                                              \
            for (int d = 0; d < BYTES; d++) count[d][a[i].key >> (8 * d) & (DIGIT - 1)]++;           \
        for (int d = 0; d < BYTES; d++) {                                                            \
            if (count[d][a[0].key >> (8 * d) & (DIGIT - 1)] == (uint32_t)n) continue;                \
            uint32_t at = 0;                                                                         \
            for (int i = 0; i < DIGIT; i++) {                                                        \
                uint32_t c = count[d][i];                                                            \
                count[d][i] = at;                                                                    \
                at += c;                                                                             \
            }                                                                                        \
            for (int64_t i = 0; i < n; i++) b[count[d][a[i].key >> (8 * d) & (DIGIT - 1)]++] = a[i]; \
            R *swap = a;                                                                             \
            a = b;                                                                                   \
            b = swap;                                                                                \
        }                                                                                            \
        return a;                                                                                    \
    }                                                                                                \
    static bool name##_after(R a, R b) {                                                             \
        return a.key != b.key ? a.key > b.key : a.at > b.at;                                         \
    }                                                                                                \
    static void name##_sink(R *h, int64_t n, int64_t i) {                                            \
        for (;;) {                                                                                   \
            int64_t c = 2 * i + 1;                                                                   \
            if (c >= n) return;                                                                      \
            if (c + 1 < n && name##_after(h[c + 1], h[c])) c++;                                      \
            if (!name##_after(h[c], h[i])) return;                                                   \
            R t = h[c];                                                                              \
            h[c] = h[i];                                                                             \
            h[i] = t;                                                                                \
            i = c;                                                                                   \
        }                                                                                            \
    }
RADIX(radix32, rec32, 4)
RADIX(radix64, rec, 8)

/* The first k of n keys, in order, at the front of `h`: a heap whose top is the last of those held; blocks without a
 * smaller key are passed over. */
#define SELECT(name, R, K, sort)                                                               \
    INLINE void name##_from(const K *keys, int64_t n, int64_t k, R *h) {                       \
        enum { BLOCK = 128 };                                                                  \
        for (int64_t i = 0; i < k; i++) h[i] = (R){keys[i], (uint32_t)i};                      \
        for (int64_t i = k / 2; i-- > 0;) sort##_sink(h, k, i);                                \
        for (int64_t i = k; i < n; i += BLOCK) {                                               \
            int64_t m = n - i < BLOCK ? n - i : BLOCK;                                         \
            K least = keys[i];                                                                 \
            for (int64_t j = 0; j < m; j++) least = keys[i + j] < least ? keys[i + j] : least; \
            for (int64_t j = 0; j < m && least < h[0].key; j++) {                              \
                if (keys[i + j] >= h[0].key) continue;                                         \
                h[0] = (R){keys[i + j], (uint32_t)(i + j)};                                    \
                sort##_sink(h, k, 0);                                                          \
            }                                                                                  \
        }                                                                                      \
        for (int64_t left = k; left > 1;) {                                                    \
            R t = h[0];                                                                        \
            h[0] = h[--left];                                                                  \
            h[left] = t;                                                                       \
            sort##_sink(h, left, 0);                                                           \
        }                                                                                      \
    }                                                                                          \
    WIDE static void name##_wide(const K *keys, int64_t n, int64_t k, R *h) {                  \
        name##_from(keys, n, k, h);                                                            \
    }                                                                                          \
    static void name(const K *keys, int64_t n, int64_t k, R *h) {                              \
        if (HAS_WIDE)                                                                          \
            name##_wide(keys, n, k, h);                                                        \
        else                                                                                   \
            name##_from(keys, n, k, h);                                                        \
    }
SELECT(select32, rec32, uint32_t, radix32)
SELECT(select64, rec, uint64_t, radix64)

/* --- running --- */
typedef struct sort_run {
    const sort_state *s;
    void *const *in, *const *out;
    char *scratch;
    xt_status *failed; /* per thread */
} sort_run;

/* A row of the key: values that the region computes from the operands' rows. */
static xt_status region_keys(const sort_run *r, region_eval *e, int64_t base, char *values, char *rows) {
    const sort_state *s = r->s;
    const void *args[64];
    size_t size = xt_dtype_size(s->key_type);
    for (int64_t at = 0; at < s->n; at += INTERP_CHUNK) {
        int64_t m = s->n - at < INTERP_CHUNK ? s->n - at : INTERP_CHUNK, one = 1;
        char *row = rows;
        for (size_t j = 0; j < s->n_operands; j++) {
            copy_strided(1, &m, row, &one,
                         (const char *)r->in[s->from[j]] + (size_t)(base + at * s->inner) * s->sizes[j], &s->inner,
                         s->sizes[j]);
            args[2 * j] = args[2 * j + 1] = row;
            row += INTERP_CHUNK * 16;
        }
        XT_TRY(region_eval_run(e, m, args, (void *const[]){values + (size_t)at * size}));
    }
    return NULL;
}

static void put_positions(const sort_run *r, size_t j, int64_t base, const uint32_t *order, int64_t step) {
    const sort_state *s = r->s;
    for (int64_t i = 0; i < s->first && s->sizes[j] == 4; i++)
        ((uint32_t *)r->out[j])[base + i * s->inner] = order[i * step];
    for (int64_t i = 0; i < s->first && s->sizes[j] == 8; i++)
        ((uint64_t *)r->out[j])[base + i * s->inner] = order[i * step];
}

static void put_in_order(const sort_run *r, int64_t base, const uint32_t *order, int64_t step) {
    const sort_state *s = r->s;
#define PUT(T)                                                                          \
    for (int64_t i = 0; i < s->first; i++)                                              \
        ((T *)r->out[j])[base + i * s->inner] =                                         \
            ((const T *)r->in[s->from[j]])[base + (int64_t)order[i * step] * s->inner]; \
    break
    for (size_t j = 0; j < s->n_operands; j++) {
        if (s->from[j] == POSITIONS) {
            put_positions(r, j, base, order, step);
            continue;
        }
        switch (s->sizes[j]) {
        case 1: PUT(uint8_t);
        case 2: PUT(uint16_t);
        case 4: PUT(uint32_t);
        case 8: PUT(uint64_t);
        default:
            for (int64_t i = 0; i < s->first; i++)
                memcpy((char *)r->out[j] + (size_t)(base + i * s->inner) * s->sizes[j],
                       (const char *)r->in[s->from[j]] +
                           (size_t)(base + (int64_t)order[i * step] * s->inner) * s->sizes[j],
                       s->sizes[j]);
        }
    }
#undef PUT
}

/* chlo.top_k: values and their positions, rows of `first`. */
static void put_top(const sort_run *r, int64_t row, const uint32_t *order, int64_t step) {
    const sort_state *s = r->s;
    int32_t *at = (int32_t *)r->out[1] + row * s->first;
    for (int64_t i = 0; i < s->first; i++) {
        at[i] = (int32_t)order[i * step];
        memcpy((char *)r->out[0] + (size_t)(row * s->first + i) * s->sizes[0],
               (const char *)r->in[0] + (size_t)(row * s->n + at[i]) * s->sizes[0], s->sizes[0]);
    }
}

static void sort_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    const sort_run *r = ctx;
    const sort_state *s = r->s;
    char *mine = r->scratch + (size_t)thread * s->row_bytes;
    size_t n = (size_t)s->n;
    rec *a = (rec *)(void *)mine, *b = a + n;
    uint64_t *keys = (uint64_t *)(void *)(b + n);
    char *values = (char *)(keys + n), *rows = values + n * 8 + 64;
    bool narrow = keys32_of(s->key_type) != NULL, some = s->first < s->n / 4;
    region_eval *e = NULL;
    xt_status st = NULL;
    interp c = {.m = s->module};
    if (s->key_operand < 0) st = region_eval_new(&c, s->region, 1, (ir_value *const *)&s->left, &e);
    for (int64_t row = begin; row < end && !st; row++) {
        int64_t base = row / s->inner * s->n * s->inner + row % s->inner;
        const void *src = values;
        if (e)
            st = region_keys(r, e, base, values, rows);
        else
            src = (const char *)r->in[s->from[s->key_operand]] + (size_t)base * s->sizes[s->key_operand];
        if (st) break;
        int64_t step = e ? 1 : s->inner;
        const uint32_t *order;
        if (narrow) {
            uint32_t *k = (uint32_t *)(void *)keys;
            rec32 *x = (rec32 *)(void *)a, *y = (rec32 *)(void *)b;
            keys32_of(s->key_type)(src, step, s->n, s->total, s->descending ? UINT32_MAX : 0, k);
            for (int64_t i = 0; i < s->n && !some; i++) x[i] = (rec32){k[i], (uint32_t)i};
            if (some)
                select32(k, s->n, s->first, x);
            else
                x = radix32(x, y, s->n);
            order = &x->at;
        } else {
            keys64_of(s->key_type)(src, step, s->n, s->total, s->descending ? UINT64_MAX : 0, keys);
            for (int64_t i = 0; i < s->n && !some; i++) a[i] = (rec){keys[i], (uint32_t)i};
            rec *x = a;
            if (some)
                select64(keys, s->n, s->first, x);
            else
                x = radix64(a, b, s->n);
            order = &x->at;
        }
        int64_t stride = (int64_t)((narrow ? sizeof(rec32) : sizeof(rec)) / sizeof(uint32_t));
        if (s->first > 0 && s->top_k)
            put_top(r, row, order, stride);
        else if (s->first > 0)
            put_in_order(r, base, order, stride);
    }
    region_eval_free(e);
    if (st && !r->failed[thread])
        r->failed[thread] = st;
    else
        xt_status_free(st);
}

static xt_status sort_run_op(const cpu_call *c) {
    const sort_state *s = c->thunk->state;
    xt_status *failed = base_calloc((size_t)c->device->team.threads + 1, sizeof *failed), st = NULL;
    if (!failed) return status_oom(sizeof *failed, "a sort");
    sort_run r = {s, c->in, c->out, c->scratch, failed};
    team_for(&c->device->team, s->slices, s->n > 0 ? 16384 / s->n + 1 : 1, sort_chunk, &r);
    for (int i = 0; i < c->device->team.threads; i++) {
        if (!st)
            st = failed[i];
        else
            xt_status_free(failed[i]);
    }
    base_free(failed);
    return st;
}
static void sort_free(void *state) {
    sort_state *s = state;
    if (s) base_free(s->sizes);
    base_free(s);
}
static const cpu_kernel sort_kernel = {"sort", sort_run_op, sort_free, false};
static const cpu_kernel top_k_kernel = {"top-k", sort_run_op, sort_free, false};

/* --- comparators --- */
/* The same computation on corresponding arguments: what `l` is of left elements, `r` is of right ones. Sets *operand
 * when it is just one of them. */
static bool mirrors(const ir_block *b, const ir_value *l, const ir_value *r, int left, int depth) {
    if (l->type != r->type || depth > 32) return false;
    if (!l->def || !r->def) {
        if (l->def || r->def || l->block != b || r->block != b) return false;
        return l->index / 2 == r->index / 2 && (int)(l->index % 2) == left && (int)(r->index % 2) == 1 - left;
    }
    const ir_op *x = l->def, *y = r->def;
    if (x->code == OP_constant && y->code == OP_constant) {
        const ir_literal *p = ir_get_literal(x), *q = ir_get_literal(y);
        return p && q && x->block == b && y->block == b && memcmp(p->data, q->data, xt_dtype_size(l->type->dtype)) == 0;
    }
    if (x->code != y->code || x->n_in != y->n_in || x->n_regions || x->n_out != 1 || x->block != b || y->block != b)
        return false;
    if (!(ir_op_infos[x->code].flags & IR_ELEMENTWISE) || x->n_attrs != y->n_attrs) return false;
    if (ir_get_int(x, IR_A_comparison_direction, 0) != ir_get_int(y, IR_A_comparison_direction, 0) ||
        ir_get_int(x, IR_A_compare_type, 0) != ir_get_int(y, IR_A_compare_type, 0) || x->code == OP_reduce_precision)
        return false;
    for (uint32_t i = 0; i < x->n_in; i++)
        if (!mirrors(b, x->in[i], y->in[i], left, depth + 1)) return false;
    return true;
}

static bool read_comparator(const ir_block *b, sort_state *s) {
    const ir_op *ret = ir_block_return(b), *cmp = ret && ret->n_in == 1 ? ret->in[0]->def : NULL;
    if (!cmp || cmp->block != b || cmp->code != OP_compare) return false;
    int64_t dir = ir_get_int(cmp, IR_A_comparison_direction, IR_EQ);
    s->key_type = cmp->in[0]->type->dtype;
    if (dir == IR_EQ || dir == IR_NE || (!keys32_of(s->key_type) && !keys64_of(s->key_type))) return false;
    s->total = ir_get_int(cmp, IR_A_compare_type, IR_CMP_NOTYPE) == IR_CMP_TOTALORDER;
    bool straight = mirrors(b, cmp->in[0], cmp->in[1], 0, 0),
         crossed = !straight && mirrors(b, cmp->in[0], cmp->in[1], 1, 0);
    if (!straight && !crossed) return false;
    s->descending = (dir == IR_GT || dir == IR_GE) == straight;
    s->left = cmp->in[straight ? 0 : 1];
    s->key_operand = s->left->def ? -1 : (int)(s->left->index / 2);
    return true;
}

/* How many places along `dim` the readers of an op's results look at, when all of them are slices; else all. */
static int64_t places_read(const ir_op *op, int64_t dim) {
    int64_t n = op->in[0]->type->dims[dim], most = 0;
    size_t seen = 0, uses = 0, len;
    for (uint32_t j = 0; j < op->n_out; j++) uses += op->out[j].uses;
    for (const ir_op *o = op->next; o; o = o->next)
        for (uint32_t i = 0; i < o->n_in; i++) {
            if (o->in[i]->def != op) continue;
            if (o->code != OP_slice) return n;
            int64_t limit = ir_get_ints(o, IR_A_limit_indices, &len)[dim];
            if (limit > most) most = limit;
            seen++;
        }
    return seen == uses ? most : n; /* readers inside regions are not found here */
}

static size_t scratch_of(const sort_state *s) {
    size_t n = (size_t)s->n, bytes = n * (2 * sizeof(rec) + 16) + 128;
    if (s->key_operand < 0) bytes += s->n_operands * INTERP_CHUNK * 16;
    return (bytes + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
}

/* It need not be read, nor be in memory for that. */
static bool is_positions(const ir_value *v, int64_t dim) {
    xt_dtype t = v->type->dtype;
    bool holds = t == XT_I32 || t == XT_U32 || t == XT_I64 || t == XT_U64;
    return holds && v->def && v->def->code == OP_iota && ir_get_int(v->def, IR_A_iota_dimension, -1) == dim;
}

CPU_LOWER(sort) {
    const ir_type *t = op->in[0]->type;
    int64_t dim = ir_get_int(op, IR_A_dimension, -1);
    if (dim < 0) dim += t->rank;
    sort_state found = {.region = op->regions[0].block, .module = cpu_build_module(b), .n_operands = op->n_in};
    if (t->rank == 0 || t->count <= 0 || op->n_in > OPERANDS_MOST || !found.region ||
        !read_comparator(found.region, &found) || t->dims[dim] >= UINT32_MAX)
        return NULL;
    sort_state *s = base_malloc(sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    *s = found;
    s->n = t->dims[dim];
    s->inner = 1;
    for (uint32_t d = (uint32_t)dim + 1; d < t->rank; d++) s->inner *= t->dims[d];
    s->slices = t->count / s->n;
    s->first = places_read(op, dim);
    s->sizes = base_malloc((op->n_in + 1) * sizeof *s->sizes);
    if (!s->sizes) {
        base_free(s);
        return status_oom(0, "a plan");
    }
    for (uint32_t j = 0; j < op->n_in; j++) s->sizes[j] = xt_dtype_size(op->in[j]->type->dtype);
    s->row_bytes = scratch_of(s);
    const ir_value *in[OPERANDS_MOST];
    uint32_t n_in = 0;
    for (uint32_t j = 0; j < op->n_in; j++) {
        bool counts = s->key_operand >= 0 && (int)j != s->key_operand && is_positions(op->in[j], dim);
        s->from[j] = counts ? POSITIONS : (int8_t)n_in;
        if (!counts) in[n_in++] = op->in[j];
    }
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &sort_kernel,
                        .op = op,
                        .n_in = n_in,
                        .in = in,
                        .n_out = op->n_out,
                        .scratch_bytes = s->row_bytes * (size_t)cpu_build_threads(b),
                        .state = s,
                        .flops = cpu_op_flops(op)};
    return cpu_build_thunk(b, &d);
}

CPU_LOWER(top_k) {
    const ir_type *t = op->in[0]->type;
    if (t->rank == 0 || t->count <= 0 || op->out[1].type->dtype != XT_I32 ||
        (!keys32_of(t->dtype) && !keys64_of(t->dtype)))
        return NULL;
    sort_state *s = base_malloc(sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    *s = (sort_state){.n = t->dims[t->rank - 1],
                      .inner = 1,
                      .first = ir_get_int(op, IR_A_k, 1),
                      .n_operands = 1,
                      .key_type = t->dtype,
                      .total = true,
                      .descending = true,
                      .top_k = true};
    s->slices = t->count / s->n;
    s->sizes = base_malloc(sizeof *s->sizes);
    if (!s->sizes || s->n >= INT32_MAX) {
        base_free(s->sizes);
        base_free(s);
        return NULL;
    }
    s->sizes[0] = xt_dtype_size(t->dtype);
    s->row_bytes = scratch_of(s);
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &top_k_kernel,
                        .op = op,
                        .n_in = 1,
                        .n_out = 2,
                        .scratch_bytes = s->row_bytes * (size_t)cpu_build_threads(b),
                        .state = s,
                        .flops = (double)t->count};
    return cpu_build_thunk(b, &d);
}
