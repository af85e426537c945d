/* Winograd's F(2x2,3x3): inner loops for processors with AVX-512, of f32 (wino_f32_avx512.c) and, with avx512_bf16, of
 * bf16 (wino_avx512.c), used by kernel/wino.c.
 *
 * An image is cut into tiles of 2x2 results; each needs 4x4 pixels. Y = A'[(G g G') * (B' d B)]A (Lavin and Gray, "Fast
 * Algorithms for Convolutional Neural Networks", 2015): 16 products of matrices [tiles x features in] x [features in x
 * features out] for what 9 * 4 / 16 = 2.25 times as many products do directly. Transforms and sums are f32; of bf16
 * images what the products read is rounded to bf16. The gradient of g is the same formula transposed: G'[(A dY A') *
 * (B' d B)]G, its products sum over tiles. */
#ifndef XT_SRC_CPU_VECTOR_WINO_H
#define XT_SRC_CPU_VECTOR_WINO_H

#include "base/base.h"

#define WINO_POINTS 16
#define WINO_COLUMNS 64 /* of one product, at most */

typedef struct wino_image { /* [N, C/16, H, W, 16], and where tile (0, 0) begins */
    int64_t c, h, w;
    int64_t y0, x0;
} wino_image;
typedef struct wino_tiles {
    int64_t n, rows, cols; /* images, tiles of each */
} wino_tiles;

typedef struct wino_ops {
    size_t elem; /* bytes of a number of an image, a kernel and a point */
    int64_t pack; /* features that a step of a product reads side by side: of bf16 a pair, else one */
    /* B' d B of tiles [from, to), for all features. Place of (point, tile, feature): point * point_step + (paired ?
     * (tile / 2 * c + feature) * 2 + tile % 2 : tile * c + feature), tiles counted from `from`; `from` and `to` are
     * even when paired, tiles beyond the last are zero. */
    void (*input)(const wino_tiles *t, const wino_image *i, const void *src, int64_t from, int64_t to, bool paired,
                  int64_t point_step, void *out);
    /* A dY A' of 2x2 pixels a tile, paired. */
    void (*gradient)(const wino_tiles *t, const wino_image *i, const void *src, int64_t from, int64_t to,
                     int64_t point_step, void *out);
    /* A' m A of [point][tile][columns] into as many features of the image, the first of which is `feature`. True: Inf
     * or NaN was there, by the first 16 features and the first tile of all (conv_finite.h says why these tell of all).
     */
    bool (*output)(const wino_tiles *t, const wino_image *i, const float *m, int64_t point_step, int64_t from,
                   int64_t to, int64_t feature, int64_t columns, void *dst);
    /* G g G' for `columns` features out and 16 in: [point][16 / pack][columns][pack]; g at w + out * out_step + in *
     * in_step + tap's row * tap_step[0] + its column * tap_step[1] (of bf16 {3, 1}), or turned around. */
    void (*kernel)(const void *w, int64_t out_step, int64_t in_step, const int64_t tap_step[2], bool flipped,
                   int64_t columns, int64_t point_step, void *out);
    /* G' m G for one feature in and 64 out: m[point][64]; to dw + out * out_step + tap. */
    void (*kernel_gradient)(const float *m, int64_t point_step, int64_t out_step, void *dw);
    /* Without a transform: the pixels at y0 + stride[0] * row, x0 + stride[1] * column of positions [from, to), as
     * `input` lays out pairs of one point; zeros outside, and beyond the last position. */
    void (*pixels)(const wino_tiles *positions, const wino_image *i, const int64_t stride[2], const uint16_t *src,
                   int64_t from, int64_t to, uint16_t *out);
    /* 16 sums rounded to bf16, out_step apart. */
    void (*spread)(const float *sums, int64_t out_step, uint16_t *out);
    /* c[row][columns] = (add ? c : 0) + sum over k of a[row * a_row + k * a_k ..] by b[k * b_k + column * pack ..],
     * pack numbers of each. */
    void (*product)(const void *a, int64_t a_row, int64_t a_k, const void *b, int64_t b_k, float *c, int64_t columns,
                    int64_t rows, int64_t k, bool add);
} wino_ops;
/* NULL: not on this processor. bf16's take 64 columns; f32's 64, 32 or 16, and no gradients of kernels, of which
 * oneDNN's F(4x4,3x3) are as exact as its direct ones. */
const wino_ops *wino_get(void);
const wino_ops *wino_get_f32(void);

#endif
