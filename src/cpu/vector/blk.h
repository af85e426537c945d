/* The inner loops over blocked images: pixels of as many features as a vector has lanes, f32 or bf16 in memory, f32 in
 * between. blk.inc compiled for AVX-512 (16) and AVX2 (8); layout.c blocks nothing elsewhere. */
#ifndef XT_SRC_CPU_VECTOR_BLK_H
#define XT_SRC_CPU_VECTOR_BLK_H

#include "base/base.h"

typedef struct blk_in { /* pixels; p NULL: none */
    const void *p;
    bool half; /* bf16 */
} blk_in;

typedef struct blk_norm { /* one feature block of one image: n pixels; the arrays are of this block's features */
    int64_t n;
    blk_in x, residual, g[2], z;
    bool relu;
    float *out, *masked; /* NULL: not wanted */
    uint16_t *narrow;
    const float *mean, *a, *b, *shift;
    const float *relu_a, *relu_shift; /* gradient, with relu and without z */
} blk_norm;

typedef struct blk_window { /* one feature block of one image */
    int64_t in[2], out[2], size[2], stride[2], dil[2], low[2]; /* rows, columns */
    bool sum; /* else the largest */
} blk_window;

enum { BLK_MOST = 16 }; /* features of a block */
typedef struct blk_ops {
    int features; /* of a block */
    /* Mean and sum of squared deviations of n > 0 pixels, by feature. */
    void (*stats)(blk_in x, int64_t n, double *mean, double *m2);
    void (*apply)(const blk_norm *t); /* (x - mean) * a + shift [+ residual] [max 0] */
    /* The gradient that counts (g0 [+ g1], where z > 0 or, without z, (x - mean) * relu_a + relu_shift > 0); its sum
     * and that of its products with x - mean. Writes `masked`. */
    void (*grad_sums)(const blk_norm *t, double *sum, double *dev);
    void (*grad_apply)(const blk_norm *t); /* g * a + (x - mean) * b + shift; reads `masked` when it is there */
    void (*pool)(const blk_window *w, blk_in x, float init, float *out);
    /* Adds src[o] to the first place of window o that no other exceeds; out is filled with init first. */
    void (*pool_grad)(const blk_window *w, blk_in x, blk_in src, float init, float *out);
} blk_ops;
extern const blk_ops blk_avx512, blk_avx2; /* where the architecture has them */
const blk_ops *blk_get(void); /* NULL: this processor has none */

#endif
