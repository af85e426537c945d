/* Inner loops of convolutions and windows whose batch is the innermost dim: the lanes of a vector are images, so any
 * number of channels fills them. Compiled once per instruction set (chwn_*.c include chwn.inc), picked with the other
 * vector loops (simd.h).
 *
 * Activations are CHWN, as cuda-convnet and Neon called it: [C][H][W][N], or any other order of the first three;
 * strides are in elements. N need not be a multiple of the lanes: the last vector is loaded and stored in part. Every
 * result is one thread's, summed in an order that only shapes decide. */
#ifndef XT_SRC_CPU_VECTOR_CHWN_H
#define XT_SRC_CPU_VECTOR_CHWN_H

#include "cpu/vector/simd.h"

#define CHWN_BLOCK_MAX 12 /* channels of one register block */
#define CHWN_COLUMNS_MAX 5 /* kernel columns of one block of a weight gradient */

/* The products of one position of the result along one dim: kernel position k + j * k_step meets input position in + j
 * * in_step, j < n. */
typedef struct chwn_line {
    int32_t k, k_step, n, in, in_step;
} chwn_line;

typedef struct chwn_conv { /* one row of the result, `block` channels, some vectors of images */
    const float *in;
    int64_t in_c, in_y, in_x;
    int64_t channels; /* of the input */
    const float *weights; /* [channels][kernel rows][kernel columns][block] */
    int64_t w_c, w_y, w_x;
    chwn_line y;
    const chwn_line *x; /* per column of the result */
    int64_t columns;
    float *out;
    int64_t out_c, out_x;
    int64_t n; /* images, at most vectors * lanes */
} chwn_conv;

typedef struct chwn_grad {
    /* kernel columns [0, columns) of one kernel row, `block` output channels, over a rectangle of positions */
    const float *in; /* where the first kernel column reads at the first position */
    int64_t in_k, in_x, in_y;
    const float *dy;
    int64_t dy_c, dy_x, dy_y;
    int64_t width, height, n;
    float *sums; /* [columns][block][lanes], added to */
} chwn_grad;

/* Windows over rows of `count` neighbouring elements: element i of row k is one element of window i. */
typedef void (*chwn_pool_fn)(float *out, const float *const *rows, int n, float init, int64_t count);
/* src[i] goes to out[k][i] of the row that window i selects, by GE in the order of the rows (first wins); the others
 * get nothing. add: to what is there, else it is all there will be. */
typedef void (*chwn_pool_grad_fn)(float *const *out, const float *const *rows, int n, const float *src, int64_t count,
                                  bool add);

typedef struct chwn_ops {
    int lanes, block_max;
    int vectors[CHWN_BLOCK_MAX + 1]; /* per block size: vectors of images that one call of conv takes */
    void (*conv[CHWN_BLOCK_MAX + 1])(const chwn_conv *c);
    int grad_block[CHWN_COLUMNS_MAX + 1]; /* per number of columns: the most channels */
    void (*grad[CHWN_COLUMNS_MAX + 1][CHWN_BLOCK_MAX + 1])(const chwn_grad *g); /* [columns][block] */
    chwn_pool_fn pool[FOLD_COUNT];
    chwn_pool_grad_fn pool_grad;
    void (*fold)(const float *sums, int64_t n, float *out); /* out[i] = sum of vector i */
} chwn_ops;

extern const chwn_ops chwn_base;
#if defined(__x86_64__)
extern const chwn_ops chwn_avx2, chwn_avx512;
#endif
const chwn_ops *chwn_get(void); /* the one that goes with simd_get() */

#endif
