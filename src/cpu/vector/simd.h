/* The vector loops of the CPU compiler, compiled once per instruction set (simd_*.c include simd.inc) and picked when
 * the process starts.
 *
 * Two tables: the instructions of vector programs (one loop over a block of elements each; dst may be one of the
 * operands exactly, never partly overlap), and the inner loops that reductions, normalisation and pooling share. */
#ifndef XT_SRC_CPU_VECTOR_SIMD_H
#define XT_SRC_CPU_VECTOR_SIMD_H

#include "cpu/vector/view.h"

/* What a register of a vector program holds. bf16 and f16 live in f32 registers, rounded after each instruction. */
typedef enum vprog_type {
    VPROG_F32,
    VPROG_F64,
    VPROG_I8,
    VPROG_I16,
    VPROG_I32,
    VPROG_I64,
    VPROG_U8,
    VPROG_U16,
    VPROG_U32,
    VPROG_U64,
    VPROG_B1,
    VPROG_TYPE_COUNT
} vprog_type;

typedef enum vprog_op {
    VPROG_NONE,
    /* two operands */
    VPROG_ADD,
    VPROG_SUB,
    VPROG_MUL,
    VPROG_DIV,
    VPROG_REM,
    VPROG_MAX,
    VPROG_MIN,
    VPROG_POW,
    VPROG_ATAN2,
    VPROG_AND,
    VPROG_OR,
    VPROG_XOR,
    VPROG_SHL,
    VPROG_SHRA,
    VPROG_SHRL,
    VPROG_MUL_HIGH, /* the upper half of a product, of twice the bits */
    /* two operands, the result is a bool; in the order of ir_cmp_dir */
    VPROG_EQ,
    VPROG_NE,
    VPROG_GE,
    VPROG_GT,
    VPROG_LE,
    VPROG_LT,
    /* one operand */
    VPROG_NEG,
    VPROG_ABS,
    VPROG_SIGN,
    VPROG_SQRT,
    VPROG_RSQRT,
    VPROG_CBRT,
    VPROG_EXP,
    VPROG_EXPM1,
    VPROG_LOG,
    VPROG_LOG1P,
    VPROG_TANH,
    VPROG_LOGISTIC,
    VPROG_SIN,
    VPROG_COS,
    VPROG_TAN,
    VPROG_FLOOR,
    VPROG_CEIL,
    VPROG_ROUND_AFZ,
    VPROG_ROUND_EVEN,
    VPROG_IS_FINITE,
    VPROG_NOT,
    VPROG_POPCNT,
    VPROG_CLZ,
    VPROG_ROUND_BF16,
    VPROG_ROUND_F16, /* f32 registers that stand for narrower ones */
    /* predicate, then two of the type */
    VPROG_SELECT,
    /* memory of a narrow type to an f32 register and back */
    VPROG_LOAD_BF16,
    VPROG_LOAD_F16,
    VPROG_STORE_BF16,
    VPROG_STORE_F16,
    /* element i of the block gets value a[0] */
    VPROG_FILL,
    VPROG_COPY,
    /* to type (op - VPROG_CONVERT) from the table's type */
    VPROG_CONVERT,
    VPROG_OP_COUNT = VPROG_CONVERT + VPROG_TYPE_COUNT
} vprog_op;

typedef void (*vprog_fn)(void *d, const void *a, const void *b, const void *c, int64_t n);

/* Folds of f32, used by reductions. Sums keep a fixed set of partial sums, so the result depends on n and the
 * instruction set only. */
typedef enum fold_op { FOLD_SUM, FOLD_MAX, FOLD_MIN, FOLD_PROD, FOLD_COUNT } fold_op;

/* Rows of n numbers, each into its place: acc[at[w] + i] = fold(of it, x[w * step + i]) for w = which[0], which[1],
 * ..., in order. x lies elsewhere. */
typedef void (*simd_fold_at)(float *acc, const int64_t *at, const float *x, int64_t step, const uint16_t *which,
                             int64_t rows, int64_t n);

typedef struct simd_ops {
    const char *name;
    const vprog_fn (*ops)[VPROG_TYPE_COUNT]; /* [VPROG_OP_COUNT]; NULL where the type has no such op */
    float (*fold[FOLD_COUNT])(const float *x, int64_t n); /* n > 0 */
    void (*fold_rows[FOLD_COUNT])(float *acc, const float *x, int64_t n); /* acc[i] = fold(acc[i], x[i]) */
    /* the same of x[i], x[step + i], ..., one row after the other */
    void (*fold_stack[FOLD_COUNT])(float *acc, const float *x, int64_t step, int64_t rows, int64_t n);
    simd_fold_at fold_at[FOLD_COUNT];
    /* acc[i] = fold(acc[i], x[i * step]); acc lies elsewhere */
    void (*fold_steps[FOLD_COUNT])(float *acc, const float *x, int64_t step, int64_t n);
    /* out[k] = the fold of the n numbers x[k * n + ...], 0 < n <= 64 */
    void (*fold_short[FOLD_COUNT])(float *out, const float *x, int64_t rows, int64_t n);
    /* Of other types, sums of integers and any fold of f64; NULL: there is none. *out = that of the n > 0 numbers;
     * integers wrap. */
    void (*run[FOLD_COUNT][VPROG_TYPE_COUNT])(void *out, const void *x, int64_t n);
    /* out[k] = that of the n numbers x[k * n + ...], 0 < n < 64 */
    void (*short_runs[FOLD_COUNT][VPROG_TYPE_COUNT])(void *out, const void *x, int64_t rows, int64_t n);
    float (*dot)(const float *x, const float *y, int64_t n);
    double (*square_dev)(const float *x, float mean, int64_t n); /* sum of (x - mean)^2 */
    double (*dev_dot)(const float *x, float mean, const float *y, int64_t n); /* sum of (x - mean) * y */
    /* (x - mean) * scale + shift */
    void (*affine)(float *d, const float *x, float mean, float scale, float shift, int64_t n);
    /* x*a + (y-mean)*b + c */
    void (*affine2)(float *d, const float *x, float a, const float *y, float mean, float b, float c, int64_t n);
    /* The same four with one mean, factor and sum per element: rows whose last dim is the feature. */
    void (*square_dev_rows)(float *acc, const float *x, const float *mean, int64_t n);
    void (*dev_dot_rows)(float *acc, const float *x, const float *mean, const float *y, int64_t n);
    void (*affine_rows)(float *d, const float *x, const float *mean, const float *scale, const float *shift, int64_t n);
    void (*affine2_rows)(float *d, const float *x, const float *a, const float *y, const float *mean, const float *b,
                         const float *c, int64_t n);
    /* 2x2 pooling of `pairs` pairs of rows that lie one after the other, each row `width` long (even): out gets
     * width / 2 a pair. */
    void (*pool2)(float *out, const float *in, int64_t width, int64_t pairs);
    void (*pool2_grad)(float *out, const float *in, const float *src, int64_t width, int64_t pairs);
    void (*iota)(int32_t *d, int32_t first, int64_t n); /* first, first + 1, ... */
    void (*count_by)(int64_t *d, int64_t first, int64_t step, int64_t n); /* first, first + step, ... */
    /* By the index's type: off[j] += index[j * step] * stride, indices moved into [0, limit], or off[j] = -1 where
     * they, or off[j], are outside. */
    void (*starts[VPROG_TYPE_COUNT])(int64_t *off, const void *index, int64_t step, int64_t n, int64_t stride,
                                     int64_t limit, bool clamp);
    void (*abs_c64)(float *d, const float *z, int64_t n); /* of pairs of real and imaginary parts */
    /* Products of pairs; true where a part of one is NaN, as those are that C's rules make infinite: d, which lies
     * elsewhere, is then not to be used. */
    bool (*mul_c64)(float *d, const float *a, const float *b, int64_t n);
    /* Elements [begin, begin + n) of a view of src, n > 0, by element size 1, 2, 4, 8: runs along the
     * last dim, the outer dims an odometer. */
    /* dst[r * dst_row + c] = src[c * src_col + r], by the size of an element as gather */
    void (*turn[4])(void *dst, int64_t dst_row, const void *src, int64_t src_col, int64_t rows, int64_t cols);
    void (*gather[4])(void *dst, const void *src, const view *v, int64_t begin, int64_t n);
    /* Writes elements [begin, begin + n) of each of `parts` arrays, whose first is src[k][0], where they go in dst:
     * `width` elements of each array in turn, again and again. */
    void (*interleave[4])(void *dst, const void *const *src, int64_t parts, int64_t width, int64_t begin, int64_t n);
} simd_ops;

extern const simd_ops simd_base;
#if defined(__x86_64__)
extern const simd_ops simd_avx2, simd_avx512;
#endif
const simd_ops *simd_get(void); /* the best this machine runs, or what XT_CPU_FEATURES allows */
int simd_level(void); /* of that: 0 base, 1 avx2, 2 avx512 */
bool simd_has_bf16(void); /* and products of bf16 besides */

#endif
