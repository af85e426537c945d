/* Folds of updates into arrays: one loop an op and element type. bf16 and f16 are widened, folded and rounded, update
 * by update, as the program says. */
#include "cpu/vector/index_fold.h"
#include "cpu/vector/vprog.h"

#include <math.h>

#define DIRECT(name, I, T, expr)                                                                            \
    static void name(void *dst, const void *src, const index_line *l) {                                     \
        T *d = dst;                                                                                         \
        const T *s = src;                                                                                   \
        const I *at = l->index;                                                                             \
        int64_t n = l->n, stride = l->stride, along = l->along, step = l->step, index_step = l->index_step; \
        uint64_t limit = l->limit;                                                                          \
        for (int64_t j = 0; j < n; j++) {                                                                   \
            uint64_t v = (uint64_t)(int64_t)at[j * index_step];                                             \
            if (v > limit) continue;                                                                        \
            T *to = d + (int64_t)v * stride + j * along, a = *to, b = s[j * step];                          \
            *to = (T)(expr);                                                                                \
        }                                                                                                   \
    }
#define FOLD(name, T, expr)                                                                               \
    DIRECT(name##_by_i32, int32_t, T, expr)                                                               \
    DIRECT(name##_by_i64, int64_t, T, expr)                                                               \
    static void name(void *dst, const void *src, int64_t step, const int64_t *at, int64_t n, int64_t low, \
                     int64_t high) {                                                                      \
        T *d = dst;                                                                                       \
        const T *s = src;                                                                                 \
        for (int64_t j = 0; j < n; j++) {                                                                 \
            if (at[j] < low || at[j] >= high) continue;                                                   \
            T a = d[at[j]], b = s[j * step];                                                              \
            d[at[j]] = (T)(expr);                                                                         \
        }                                                                                                 \
    }
#define FLOATS(t, T)                                                                                 \
    FOLD(add_##t, T, a + b)                                                                          \
    FOLD(mul_##t, T, a *b)                                                                           \
    FOLD(max_##t, T, a != a ? a : b != b ? b : a > b ? a : b == a && signbit(a) ? b : a < b ? b : a) \
    FOLD(min_##t, T, a != a ? a : b != b ? b : a < b ? a : b == a && signbit(b) ? b : a > b ? b : a)
FLOATS(f32, float)
FLOATS(f64, double)
/* Sums and products wrap: they are made without a sign. */
#define INTS(t, T, U)                                \
    FOLD(add_##t, T, (U)a + (U)b)                    \
    FOLD(mul_##t, T, (uint64_t)(U)a *(uint64_t)(U)b) \
    FOLD(max_##t, T, a > b ? a : b)                  \
    FOLD(min_##t, T, a < b ? a : b)                  \
    FOLD(and_##t, T, a &b)                           \
    FOLD(or_##t, T, a | b)                           \
    FOLD(xor_##t, T, a ^ b)
INTS(i8, int8_t, uint8_t)
INTS(i16, int16_t, uint16_t)
INTS(i32, int32_t, uint32_t)
INTS(i64, int64_t, uint64_t)
INTS(u8, uint8_t, uint8_t)
INTS(u16, uint16_t, uint16_t)
INTS(u32, uint32_t, uint32_t)
INTS(u64, uint64_t, uint64_t)

#define HALF(name, load, store, op)                                                                       \
    static void name(void *dst, const void *src, int64_t step, const int64_t *at, int64_t n, int64_t low, \
                     int64_t high) {                                                                      \
        const vprog_fn(*t)[VPROG_TYPE_COUNT] = simd_get()->ops;                                           \
        uint16_t *d = dst;                                                                                \
        const uint16_t *s = src;                                                                          \
        for (int64_t j = 0; j < n; j++) {                                                                 \
            float a, b;                                                                                   \
            if (at[j] < low || at[j] >= high) continue;                                                   \
            t[load][VPROG_F32](&a, d + at[j], NULL, NULL, 1);                                             \
            t[load][VPROG_F32](&b, s + j * step, NULL, NULL, 1);                                          \
            t[op][VPROG_F32](&a, &a, &b, NULL, 1);                                                        \
            t[store][VPROG_F32](d + at[j], &a, NULL, NULL, 1);                                            \
        }                                                                                                 \
    }
HALF(add_bf16, VPROG_LOAD_BF16, VPROG_STORE_BF16, VPROG_ADD)
HALF(mul_bf16, VPROG_LOAD_BF16, VPROG_STORE_BF16, VPROG_MUL)
HALF(max_bf16, VPROG_LOAD_BF16, VPROG_STORE_BF16, VPROG_MAX)
HALF(min_bf16, VPROG_LOAD_BF16, VPROG_STORE_BF16, VPROG_MIN)
HALF(add_f16, VPROG_LOAD_F16, VPROG_STORE_F16, VPROG_ADD)
HALF(mul_f16, VPROG_LOAD_F16, VPROG_STORE_F16, VPROG_MUL)
HALF(max_f16, VPROG_LOAD_F16, VPROG_STORE_F16, VPROG_MAX)
HALF(min_f16, VPROG_LOAD_F16, VPROG_STORE_F16, VPROG_MIN)

typedef struct fold_fns {
    index_scatter_fn scatter;
    index_direct_fn from_i32, from_i64;
} fold_fns;
typedef struct fold_row {
    fold_fns add, multiply, maximum, minimum, and_, or_, xor_;
} fold_row;
#define FNS(f) \
    { f, f##_by_i32, f##_by_i64 }
#define NO_FNS \
    { NULL, NULL, NULL }
#define HALF_ROW(t)                                                                                                 \
    {                                                                                                               \
        {add_##t, NULL, NULL}, {mul_##t, NULL, NULL}, {max_##t, NULL, NULL}, {min_##t, NULL, NULL}, NO_FNS, NO_FNS, \
            NO_FNS                                                                                                  \
    }
#define FLOAT_ROW(t) \
    { FNS(add_##t), FNS(mul_##t), FNS(max_##t), FNS(min_##t), NO_FNS, NO_FNS, NO_FNS }
#define INT_ROW(t) \
    { FNS(add_##t), FNS(mul_##t), FNS(max_##t), FNS(min_##t), FNS(and_##t), FNS(or_##t), FNS(xor_##t) }
static const fold_row *row_of(xt_dtype t) {
    static const fold_row f32 = FLOAT_ROW(f32), f64 = FLOAT_ROW(f64), bf16 = HALF_ROW(bf16), f16 = HALF_ROW(f16);
    static const fold_row i8 = INT_ROW(i8), i16 = INT_ROW(i16), i32 = INT_ROW(i32), i64 = INT_ROW(i64);
    static const fold_row u8 = INT_ROW(u8), u16 = INT_ROW(u16), u32 = INT_ROW(u32), u64 = INT_ROW(u64);
    static const fold_row boolean = {FNS(or_u8),  FNS(and_u8), FNS(or_u8), FNS(and_u8),
                                     FNS(and_u8), FNS(or_u8),  FNS(xor_u8)}; /* sums and maxima of truth are or */
    switch ((int)t) {
    case XT_F32: return &f32;
    case XT_F64: return &f64;
    case XT_BF16: return &bf16;
    case XT_F16: return &f16;
    case XT_I8: return &i8;
    case XT_I16: return &i16;
    case XT_I32: return &i32;
    case XT_I64: return &i64;
    case XT_U8: return &u8;
    case XT_U16: return &u16;
    case XT_U32: return &u32;
    case XT_U64: return &u64;
    case XT_BOOL: return &boolean;
    default: return NULL;
    }
}

bool index_fold_of(const ir_region *r, xt_dtype t, index_fold *out) {
    const ir_block *b = r->block;
    const ir_op *o = b ? b->first : NULL;
    const fold_row *row = row_of(t);
    if (!row || !o || b->n_args != 2 || o->n_in != 2 || o->n_out != 1 || !o->next || o->next->n_in != 1 ||
        o->next->in[0] != &o->out[0])
        return false;
    if (!((o->in[0] == b->args[0] && o->in[1] == b->args[1]) || (o->in[0] == b->args[1] && o->in[1] == b->args[0])))
        return false;
    out->elem = xt_dtype_size(t);
    vprog_op vector = VPROG_NONE;
    fold_op fold = FOLD_COUNT;
    fold_fns fns = NO_FNS;
    switch ((int)o->code) {
    case OP_add: fns = row->add, vector = VPROG_ADD, fold = FOLD_SUM; break;
    case OP_multiply: fns = row->multiply, vector = VPROG_MUL, fold = FOLD_PROD; break;
    case OP_maximum: fns = row->maximum, vector = VPROG_MAX, fold = FOLD_MAX; break;
    case OP_minimum: fns = row->minimum, vector = VPROG_MIN, fold = FOLD_MIN; break;
    case OP_and: fns = row->and_, vector = VPROG_AND; break;
    case OP_or: fns = row->or_, vector = VPROG_OR; break;
    case OP_xor: fns = row->xor_, vector = VPROG_XOR; break;
    default: break;
    }
    out->scatter = fns.scatter;
    out->from_i32 = fns.from_i32;
    out->from_i64 = fns.from_i64;
    out->sums = o->code == OP_add && t != XT_BOOL;
    vprog_type reg;
    out->row = vprog_type_of(t, &reg) && vprog_type_size(reg) == out->elem ? simd_get()->ops[vector][reg] : NULL;
    out->rows = t == XT_F32 && fold < FOLD_COUNT ? simd_get()->fold_at[fold] : NULL;
    return out->scatter != NULL;
}

void index_fold_window(const index_fold *f, const cpu_move *w, void *dst, const void *src) {
    enum { ROW = 256 };
    const view *d = &w->dst, *s = &w->src;
    int last = d->n - 1;
    int64_t at[VIEW_MAX] = {0}, places[ROW], e = (int64_t)f->elem;
    for (;;) {
        int64_t x = d->offset, y = s->offset;
        for (int i = 0; i < last; i++) x += at[i] * d->strides[i], y += at[i] * s->strides[i];
        bool dense = f->row && d->strides[last] == 1 && s->strides[last] == 1;
        if (dense) f->row((char *)dst + x * e, (char *)dst + x * e, (const char *)src + y * e, NULL, d->dims[last]);
        for (int64_t j = 0; j < d->dims[last] && !dense; j += ROW) {
            int64_t n = d->dims[last] - j < ROW ? d->dims[last] - j : ROW;
            for (int64_t k = 0; k < n; k++) places[k] = k * d->strides[last];
            f->scatter((char *)dst + (x + j * d->strides[last]) * e, (const char *)src + (y + j * s->strides[last]) * e,
                       s->strides[last], places, n, 0, INT64_MAX);
        }
        int i = last - 1;
        for (; i >= 0; i--) {
            if (++at[i] < d->dims[i]) break;
            at[i] = 0;
        }
        if (i < 0) return;
    }
}
