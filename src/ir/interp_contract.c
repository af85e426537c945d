/* dot_general, dot and einsum: operands are packed as [batch, M, K] and [batch, K, N] in the type of the
 * sums, then multiplied by tiles of 4 rows that stay in registers while a packed panel of 256 rows of the
 * right side streams by. */
#include "ir/interp_gemm.h"

#include <complex.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

typedef float complex c64;
typedef double complex c128;

enum { TILE_M = 4, DEPTH = 256 };

/* A tile row is two vectors of 16 bytes, the least every machine has: 4 x 2 sums stay in registers. */
#define ROWS(T)                                                                                                     \
    typedef T T##_vec __attribute__((vector_size(16)));                                                             \
    typedef struct T##_row {                                                                                        \
        T##_vec lo, hi;                                                                                             \
    } T##_row;                                                                                                      \
    static void tile_##T(int64_t rows, int64_t k, const T *a, int64_t lda, const T##_row *panel, T##_row *sum) {    \
        if (rows == TILE_M) {                                                                                       \
            const T *a0 = a, *a1 = a + lda, *a2 = a + 2 * lda, *a3 = a + 3 * lda;                                   \
            T##_vec l0 = {0}, l1 = {0}, l2 = {0}, l3 = {0}, h0 = {0}, h1 = {0}, h2 = {0}, h3 = {0};                 \
            for (int64_t p = 0; p < k; p++) {                                                                       \
                T##_vec lo = panel[p].lo, hi = panel[p].hi;                                                         \
                l0 += a0[p] * lo, h0 += a0[p] * hi;                                                                 \
                l1 += a1[p] * lo, h1 += a1[p] * hi;                                                                 \
                l2 += a2[p] * lo, h2 += a2[p] * hi;                                                                 \
                l3 += a3[p] * lo, h3 += a3[p] * hi;                                                                 \
            }                                                                                                       \
            sum[0] = (T##_row){l0, h0}, sum[1] = (T##_row){l1, h1};                                                 \
            sum[2] = (T##_row){l2, h2}, sum[3] = (T##_row){l3, h3};                                                 \
            return;                                                                                                 \
        }                                                                                                           \
        for (int64_t i = 0; i < rows; i++) {                                                                        \
            T##_vec lo = {0}, hi = {0};                                                                             \
            for (int64_t p = 0; p < k; p++) lo += a[i * lda + p] * panel[p].lo, hi += a[i * lda + p] * panel[p].hi; \
            sum[i] = (T##_row){lo, hi};                                                                             \
        }                                                                                                           \
    }
#define COMPLEX_ROWS(T)                                                                                          \
    typedef struct T##_row {                                                                                     \
        T v[2];                                                                                                  \
    } T##_row;                                                                                                   \
    static void tile_##T(int64_t rows, int64_t k, const T *a, int64_t lda, const T##_row *panel, T##_row *sum) { \
        for (int64_t i = 0; i < rows; i++)                                                                       \
            for (int j = 0; j < 2; j++) {                                                                        \
                T s = 0;                                                                                         \
                for (int64_t p = 0; p < k; p++) s += a[i * lda + p] * panel[p].v[j];                             \
                sum[i].v[j] = s;                                                                                 \
            }                                                                                                    \
    }
#define GEMM(T)                                                                                                   \
    static void gemm_##T(int64_t m, int64_t n, int64_t k, const T *a, int64_t lda, const T *b, int64_t ldb, T *c, \
                         int64_t ldc) {                                                                           \
        enum { TILE_N = sizeof(T##_row) / sizeof(T) };                                                            \
        T##_row panel[DEPTH], sum[TILE_M];                                                                        \
        for (int64_t p0 = 0; p0 < k; p0 += DEPTH) {                                                               \
            int64_t depth = k - p0 < DEPTH ? k - p0 : DEPTH;                                                      \
            for (int64_t j0 = 0; j0 < n; j0 += TILE_N) {                                                          \
                size_t cols = (size_t)(n - j0 < TILE_N ? n - j0 : TILE_N);                                        \
                if (cols < TILE_N) memset(panel, 0, sizeof panel);                                                \
                for (int64_t p = 0; p < depth; p++) memcpy(&panel[p], b + (p0 + p) * ldb + j0, cols * sizeof(T)); \
                for (int64_t i0 = 0; i0 < m; i0 += TILE_M) {                                                      \
                    int64_t rows = m - i0 < TILE_M ? m - i0 : TILE_M;                                             \
                    tile_##T(rows, depth, a + i0 * lda + p0, lda, panel, sum);                                    \
                    for (int64_t i = 0; i < rows; i++) {                                                          \
                        T part[TILE_N], *to = c + (i0 + i) * ldc + j0;                                            \
                        memcpy(part, &sum[i], sizeof part);                                                       \
                        for (size_t j = 0; j < cols; j++) to[j] += part[j];                                       \
                    }                                                                                             \
                }                                                                                                 \
            }                                                                                                     \
        }                                                                                                         \
    }
/* Integers wrap, so they are calculated unsigned. */
ROWS(float)
ROWS(double)
ROWS(uint32_t)
ROWS(uint64_t)
COMPLEX_ROWS(c64)
COMPLEX_ROWS(c128)
GEMM(float)
GEMM(double)
GEMM(uint32_t)
GEMM(uint64_t)
GEMM(c64)
GEMM(c128)

void gemm(xt_dtype t, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb, void *c,
          int64_t ldc) {
    switch (t) {
    case XT_F32: gemm_float(m, n, k, a, lda, b, ldb, c, ldc); break;
    case XT_F64: gemm_double(m, n, k, a, lda, b, ldb, c, ldc); break;
    case XT_I32: gemm_uint32_t(m, n, k, a, lda, b, ldb, c, ldc); break;
    case XT_I64: gemm_uint64_t(m, n, k, a, lda, b, ldb, c, ldc); break;
    case XT_C64: gemm_c64(m, n, k, a, lda, b, ldb, c, ldc); break;
    default: gemm_c128(m, n, k, a, lda, b, ldb, c, ldc); break;
    }
}

xt_dtype gemm_dtype(xt_dtype lhs, xt_dtype rhs, xt_dtype out) {
    bool wide = lhs == XT_F64 || rhs == XT_F64 || out == XT_F64 || lhs == XT_C128 || rhs == XT_C128 || out == XT_C128;
    if (ir_dtype_is_complex(lhs) || ir_dtype_is_complex(rhs) || ir_dtype_is_complex(out))
        return wide ? XT_C128 : XT_C64;
    if (ir_dtype_is_float(lhs) || ir_dtype_is_float(rhs) || ir_dtype_is_float(out)) return wide ? XT_F64 : XT_F32;
    return xt_dtype_size(out) == 8 ? XT_I64 : XT_I32;
}

xt_status gemm_pack(const array *src, const int64_t *perm, xt_dtype t, void *out_ptr) {
    const ir_type *st = src->type;
    size_t size = xt_dtype_size(st->dtype);
    int64_t from[INTERP_MAX_RANK], dims[INTERP_MAX_RANK], stride[INTERP_MAX_RANK], dst[INTERP_MAX_RANK];
    strides_of(st->rank, st->dims, from);
    for (uint32_t d = 0; d < st->rank; d++) {
        dims[d] = st->dims[perm[d]];
        stride[d] = from[perm[d]];
    }
    strides_of(st->rank, dims, dst);
    void *packed, *moved = NULL;
    XT_TRY(interp_temp((size_t)st->count, xt_dtype_size(t), &packed));
    xt_status s = t == st->dtype ? NULL : interp_temp((size_t)st->count, size, &moved);
    if (!s && st->count) copy_strided(st->rank, dims, moved ? moved : packed, dst, src->data, stride, size);
    if (!s && moved) convert_elems(st->count, st->dtype, moved, t, packed);
    base_free(moved);
    if (s)
        base_free(packed);
    else
        memcpy(out_ptr, &packed, sizeof packed);
    return s;
}

typedef struct dot_dims {
    const int64_t *batch[2], *contract[2]; /* of lhs, rhs */
    size_t n_batch, n_contract;
} dot_dims;

/* dims of one side in the order first, second, third; gives the product of sizes of the free ones. */
static int64_t order_dims(const ir_type *t, const dot_dims *d, int side, int64_t *perm) {
    bool used[INTERP_MAX_RANK] = {false};
    int64_t free_dims[INTERP_MAX_RANK], size = 1;
    size_t n_free = 0, k = 0;
    for (size_t i = 0; i < d->n_batch; i++) used[d->batch[side][i]] = true;
    for (size_t i = 0; i < d->n_contract; i++) used[d->contract[side][i]] = true;
    for (uint32_t i = 0; i < t->rank; i++)
        if (!used[i]) free_dims[n_free++] = i, size *= t->dims[i];
    for (size_t i = 0; i < d->n_batch; i++) perm[k++] = d->batch[side][i];
    for (size_t i = 0; side == 0 && i < n_free; i++) perm[k++] = free_dims[i];
    for (size_t i = 0; i < d->n_contract; i++) perm[k++] = d->contract[side][i];
    for (size_t i = 0; side == 1 && i < n_free; i++) perm[k++] = free_dims[i];
    return size;
}

/* The result's memory: its own when the sums have its type, else scratch that is converted at the end. */
static xt_status dot(const dot_dims *d, const array *in, array *out) {
    int64_t perm[2][INTERP_MAX_RANK], batch = 1, depth = 1;
    int64_t m = order_dims(in[0].type, d, 0, perm[0]), n = order_dims(in[1].type, d, 1, perm[1]);
    for (size_t i = 0; i < d->n_batch; i++) batch *= in[0].type->dims[d->batch[0][i]];
    for (size_t i = 0; i < d->n_contract; i++) depth *= in[0].type->dims[d->contract[0][i]];
    xt_dtype t = gemm_dtype(in[0].type->dtype, in[1].type->dtype, out->type->dtype);
    size_t size = xt_dtype_size(t);
    char *a = NULL, *b = NULL, *c = out->data, *scratch = NULL;
    xt_status s = gemm_pack(&in[0], perm[0], t, &a);
    if (!s) s = gemm_pack(&in[1], perm[1], t, &b);
    if (!s && t != out->type->dtype) {
        s = interp_temp((size_t)out->type->count, size, &scratch);
        c = scratch;
    }
    if (!s) memset(c, 0, (size_t)out->type->count * size);
    for (int64_t i = 0; i < batch && !s; i++)
        gemm(t, m, n, depth, a + (size_t)(i * m * depth) * size, depth, b + (size_t)(i * depth * n) * size, n,
             c + (size_t)(i * m * n) * size, n);
    if (!s && scratch) convert_elems(out->type->count, t, scratch, out->type->dtype, out->data);
    base_free(a);
    base_free(b);
    base_free(scratch);
    return s;
}

xt_status interp_dot_general(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    dot_dims d = {{NULL}, {NULL}, 0, 0};
    const int64_t zero = 0, last = in[0].type->rank ? (int64_t)in[0].type->rank - 1 : 0;
    size_t n;
    if (op->code == OP_dot) { /* vectors and matrices: the last dim with the first */
        d.contract[0] = &last;
        d.contract[1] = &zero;
        d.n_contract = 1;
    } else {
        d.batch[0] = ir_get_ints(op, IR_A_lhs_batching_dimensions, &d.n_batch);
        d.batch[1] = ir_get_ints(op, IR_A_rhs_batching_dimensions, &n);
        d.contract[0] = ir_get_ints(op, IR_A_lhs_contracting_dimensions, &d.n_contract);
        d.contract[1] = ir_get_ints(op, IR_A_rhs_contracting_dimensions, &n);
    }
    return dot(&d, in, out);
}

/* --- einsum: deprecated and rare, so one plain loop over all labels --- */
/* Strides of one operand by label; false when its labels do not fit its rank. */
static bool label_strides(const char *labels, size_t n, const ir_type *t, int64_t *size, int64_t *stride) {
    int64_t strides[INTERP_MAX_RANK];
    if (n != t->rank) return false;
    strides_of(t->rank, t->dims, strides);
    memset(stride, 0, 128 * sizeof *stride);
    for (size_t i = 0; i < n; i++) {
        unsigned char l = (unsigned char)labels[i];
        if (l >= 128 || (size[l] && size[l] != t->dims[i])) return false;
        size[l] = t->dims[i];
        stride[l] += strides[i];
    }
    return true;
}

xt_status interp_einsum(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    const char *config = ir_get_string(op, IR_A_einsum_config), *arrow = config ? strstr(config, "->") : NULL;
    if (!arrow || strchr(config, '.')) return interp_unsupported(op, "an einsum without -> or with an ellipsis");
    const char *comma = memchr(config, ',', (size_t)(arrow - config)), *lhs_end = comma ? comma : arrow;
    int64_t size[128] = {0}, stride[3][128] = {{0}}, dims[INTERP_MAX_RANK], step[3][INTERP_MAX_RANK],
            index[INTERP_MAX_RANK] = {0};
    size_t n_labels = 0;
    bool fits = label_strides(config, (size_t)(lhs_end - config), in[0].type, size, stride[0]);
    if (op->n_in == 2)
        fits = fits && comma && label_strides(comma + 1, (size_t)(arrow - comma - 1), in[1].type, size, stride[1]);
    fits = fits && label_strides(arrow + 2, strlen(arrow + 2), out->type, size, stride[2]);
    if (!fits)
        return status_new(XT_INVALID_ARGUMENT, NULL, "einsum \"%s\" does not fit the ranks and sizes of its operands",
                          config);
    bool empty = false;
    for (int l = 0; l < 128; l++) {
        if (!stride[0][l] && !stride[1][l] && !stride[2][l]) continue;
        if (n_labels == INTERP_MAX_RANK) return interp_unsupported(op, "so many labels");
        dims[n_labels] = size[l];
        for (int k = 0; k < 3; k++) step[k][n_labels] = stride[k][l];
        empty = empty || size[l] == 0;
        n_labels++;
    }
    xt_dtype t = gemm_dtype(in[0].type->dtype, op->n_in == 2 ? in[1].type->dtype : in[0].type->dtype, out->type->dtype);
    ew mul, add;
    if (!ew_init_binary(&mul, OP_multiply, t) || !ew_init_binary(&add, OP_add, t))
        return interp_unsupported(op, "this element type");
    char *sums, *side[2] = {NULL, NULL};
    size_t bytes = xt_dtype_size(t);
    XT_TRY(interp_temp((size_t)out->type->count, bytes, &sums));
    memset(sums, 0, (size_t)out->type->count * bytes);
    xt_status s = NULL;
    for (uint32_t j = 0; j < op->n_in && !s; j++) {
        s = interp_temp((size_t)in[j].type->count, bytes, &side[j]);
        if (!s) convert_elems(in[j].type->count, in[j].type->dtype, in[j].data, t, side[j]);
    }
    if (!s && !empty) {
        do {
            int64_t at[3] = {0};
            for (size_t d = 0; d < n_labels; d++)
                for (int k = 0; k < 3; k++) at[k] += index[d] * step[k][d];
            uint64_t product[2];
            const void *value = side[0] + (size_t)at[0] * bytes;
            if (side[1]) {
                ew_run(&mul, 1, (const void *const[]){value, side[1] + (size_t)at[1] * bytes}, product);
                value = product;
            }
            char *sum = sums + (size_t)at[2] * bytes;
            ew_run(&add, 1, (const void *const[]){sum, value}, sum);
        } while (index_next(n_labels, dims, index));
    }
    if (!s) convert_elems(out->type->count, t, sums, out->type->dtype, out->data);
    base_free(sums);
    base_free(side[0]);
    base_free(side[1]);
    return s;
}
