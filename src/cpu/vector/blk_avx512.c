/* blk.h for AVX-512. */
#include "cpu/vector/blk.h"

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))), \
                             apply_to = function)
#else
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
#endif
#include <immintrin.h>

#define LANES 16
#define FLUSH 512 /* pixels whose f32 sums join the total in double */

static inline __m512 widen(__m256i h) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}
/* To nearest, ties to even; a NaN stays one. */
static inline __m256i narrow(__m512 v) {
    __m512i u = _mm512_castps_si512(v), odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
    __m512i r = _mm512_srli_epi32(_mm512_add_epi32(u, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
    __m512i nan = _mm512_or_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(0x40));
    return _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(r, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), nan));
}
static inline __m512 load(blk_in x, int64_t i) {
    if (x.half) return widen(_mm256_loadu_si256((const __m256i *)(const void *)((const uint16_t *)x.p + i * LANES)));
    return _mm512_loadu_ps((const float *)x.p + i * LANES);
}
static inline void store_narrow(uint16_t *p, int64_t i, __m512 v) {
    _mm256_storeu_si256((__m256i *)(void *)(p + i * LANES), narrow(v));
}

static inline void add_wide(double total[LANES], __m512 v) {
    _mm512_storeu_pd(total, _mm512_add_pd(_mm512_loadu_pd(total), _mm512_cvtps_pd(_mm512_castps512_ps256(v))));
    _mm512_storeu_pd(total + 8,
                     _mm512_add_pd(_mm512_loadu_pd(total + 8), _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1))));
}

static void stats(blk_in x, int64_t n, double mean[LANES], double m2[LANES]) {
    float m[LANES];
    memset(mean, 0, LANES * sizeof *mean);
    memset(m2, 0, LANES * sizeof *m2);
    for (int64_t i = 0; i < n;) {
        int64_t stop = i + FLUSH < n ? i + FLUSH : n;
        __m512 s[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps()};
        for (; i + 4 <= stop; i += 4)
            for (int k = 0; k < 4; k++) s[k] = _mm512_add_ps(s[k], load(x, i + k));
        for (; i < stop; i++) s[0] = _mm512_add_ps(s[0], load(x, i));
        add_wide(mean, _mm512_add_ps(_mm512_add_ps(s[0], s[1]), _mm512_add_ps(s[2], s[3])));
    }
    for (int c = 0; c < LANES; c++) m[c] = (float)(mean[c] /= (double)n);
    __m512 about = _mm512_loadu_ps(m);
    for (int64_t i = 0; i < n;) {
        int64_t stop = i + FLUSH < n ? i + FLUSH : n;
        __m512 s[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps()};
        for (; i + 4 <= stop; i += 4)
            for (int k = 0; k < 4; k++) {
                __m512 d = _mm512_sub_ps(load(x, i + k), about);
                s[k] = _mm512_fmadd_ps(d, d, s[k]);
            }
        for (; i < stop; i++) {
            __m512 d = _mm512_sub_ps(load(x, i), about);
            s[0] = _mm512_fmadd_ps(d, d, s[0]);
        }
        add_wide(m2, _mm512_add_ps(_mm512_add_ps(s[0], s[1]), _mm512_add_ps(s[2], s[3])));
    }
}

/* The loops below are compiled once for each combination of what is there, so that no test is left inside. */
#define ALWAYS static inline __attribute__((always_inline))

ALWAYS void apply_as(const blk_norm *t, bool half, bool residual, bool wide, bool slim) {
    __m512 mean = _mm512_loadu_ps(t->mean), a = _mm512_loadu_ps(t->a), shift = _mm512_loadu_ps(t->shift),
           zero = _mm512_setzero_ps();
    blk_in x = {t->x.p, half};
    for (int64_t i = 0; i < t->n; i++) {
        __m512 v = _mm512_fmadd_ps(_mm512_sub_ps(load(x, i), mean), a, shift);
        if (residual) v = _mm512_add_ps(v, load(t->residual, i));
        if (t->relu) v = _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(v, zero, _CMP_LE_OQ), zero);
        if (wide) _mm512_storeu_ps(t->out + i * LANES, v);
        if (slim) store_narrow(t->narrow, i, v);
    }
}
static void apply(const blk_norm *t) {
    bool r = t->residual.p != NULL, w = t->out != NULL, s = t->narrow != NULL;
    if (!t->x.half && !r && w && !s)
        apply_as(t, false, false, true, false);
    else if (!t->x.half && r && w && !s)
        apply_as(t, false, true, true, false);
    else if (t->x.half && !r && !w && s)
        apply_as(t, true, false, false, true);
    else if (t->x.half && r && w && s)
        apply_as(t, true, true, true, true);
    else
        apply_as(t, t->x.half, r, w, s);
}

typedef enum mask_kind { NO_MASK, MASK_OF_Z, MASK_OF_X } mask_kind;
static mask_kind mask_of(const blk_norm *t) {
    return !t->relu ? NO_MASK : t->z.p ? MASK_OF_Z : MASK_OF_X;
}
/* What a gradient's loops read; `half`: x and the only gradient are bf16, known where it is called, else
 * asked for each. */
typedef struct grad_source {
    blk_in x, g[2], z;
    __m512 mean, relu_a, relu_shift;
} grad_source;
ALWAYS grad_source source_of(const blk_norm *t, mask_kind mask, bool half) {
    grad_source s = {.x = t->x, .g = {t->g[0], t->g[1]}, .z = t->z, .mean = _mm512_loadu_ps(t->mean)};
    if (mask == MASK_OF_X) s.relu_a = _mm512_loadu_ps(t->relu_a), s.relu_shift = _mm512_loadu_ps(t->relu_shift);
    if (half) s.x.half = s.g[0].half = true;
    return s;
}
/* The gradient that counts, and how far x is from the mean. */
ALWAYS __m512 gradient(const grad_source *s, int64_t i, bool two, mask_kind mask, __m512 *out_away) {
    __m512 g = load(s->g[0], i), zero = _mm512_setzero_ps();
    *out_away = _mm512_sub_ps(load(s->x, i), s->mean);
    if (two) g = _mm512_add_ps(g, load(s->g[1], i));
    if (mask == NO_MASK) return g;
    __m512 z = mask == MASK_OF_Z ? load(s->z, i) : _mm512_fmadd_ps(*out_away, s->relu_a, s->relu_shift);
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(z, zero, _CMP_GT_OQ), g);
}

ALWAYS void grad_sums_as(const blk_norm *t, double sum[LANES], double dev[LANES], bool two, mask_kind mask, bool keep,
                         bool half) {
    grad_source from = source_of(t, mask, half);
    memset(sum, 0, LANES * sizeof *sum);
    memset(dev, 0, LANES * sizeof *dev);
    for (int64_t i = 0; i < t->n;) {
        int64_t stop = i + FLUSH < t->n ? i + FLUSH : t->n;
        __m512 s[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()}, d[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()},
               away;
        for (; i + 2 <= stop; i += 2)
            for (int k = 0; k < 2; k++) {
                __m512 g = gradient(&from, i + k, two, mask, &away);
                s[k] = _mm512_add_ps(s[k], g);
                d[k] = _mm512_fmadd_ps(away, g, d[k]);
                if (keep) _mm512_storeu_ps(t->masked + (i + k) * LANES, g);
            }
        for (; i < stop; i++) {
            __m512 g = gradient(&from, i, two, mask, &away);
            s[0] = _mm512_add_ps(s[0], g);
            d[0] = _mm512_fmadd_ps(away, g, d[0]);
            if (keep) _mm512_storeu_ps(t->masked + i * LANES, g);
        }
        add_wide(sum, _mm512_add_ps(s[0], s[1]));
        add_wide(dev, _mm512_add_ps(d[0], d[1]));
    }
}
static void grad_sums(const blk_norm *t, double sum[LANES], double dev[LANES]) {
    bool two = t->g[1].p != NULL, keep = t->masked != NULL, half = t->x.half && t->g[0].half;
    mask_kind mask = mask_of(t);
    if (!two && mask == MASK_OF_X && !keep && half)
        grad_sums_as(t, sum, dev, false, MASK_OF_X, false, true);
    else if (!two && mask == MASK_OF_X && !keep)
        grad_sums_as(t, sum, dev, false, MASK_OF_X, false, false);
    else if (two && mask == MASK_OF_Z && keep)
        grad_sums_as(t, sum, dev, true, MASK_OF_Z, true, false);
    else if (!two && !mask && !keep)
        grad_sums_as(t, sum, dev, false, NO_MASK, false, false);
    else
        grad_sums_as(t, sum, dev, two, mask, keep, false);
}

ALWAYS void grad_apply_as(const blk_norm *t, bool two, mask_kind mask, bool wide, bool slim, bool half) {
    grad_source from = source_of(t, mask, half);
    __m512 a = _mm512_loadu_ps(t->a), b = _mm512_loadu_ps(t->b), shift = _mm512_loadu_ps(t->shift), away;
    for (int64_t i = 0; i < t->n; i++) {
        __m512 g = gradient(&from, i, two, mask, &away);
        __m512 v = _mm512_fmadd_ps(away, b, _mm512_fmadd_ps(g, a, shift));
        if (wide) _mm512_storeu_ps(t->out + i * LANES, v);
        if (slim) store_narrow(t->narrow, i, v);
    }
}
static void grad_apply(const blk_norm *given) {
    blk_norm t = *given;
    if (t.masked) {
        t.g[0] = (blk_in){t.masked, false};
        t.g[1].p = NULL;
        t.relu = false;
    }
    bool two = t.g[1].p != NULL, w = t.out != NULL, s = t.narrow != NULL, half = t.x.half && t.g[0].half;
    mask_kind mask = mask_of(&t);
    if (!two && mask == MASK_OF_X && w && !s)
        grad_apply_as(&t, false, MASK_OF_X, true, false, false);
    else if (!two && mask == MASK_OF_X && !w && s && half)
        grad_apply_as(&t, false, MASK_OF_X, false, true, true);
    else if (!two && mask == MASK_OF_X && !w && s)
        grad_apply_as(&t, false, MASK_OF_X, false, true, false);
    else if (!two && !mask && w && !s)
        grad_apply_as(&t, false, NO_MASK, true, false, false);
    else if (!two && !mask && !w && s)
        grad_apply_as(&t, false, NO_MASK, false, true, false);
    else
        grad_apply_as(&t, two, mask, w, s, false);
}

/* --- windows --- */
/* The places of a window that lie inside: k in [*from, *to). */
static inline void inside(const blk_window *w, int d, int64_t o, int64_t *from, int64_t *to) {
    int64_t at = o * w->stride[d] - w->low[d];
    *from = 0;
    *to = w->size[d];
    if (at >= 0 && at + (w->size[d] - 1) * w->dil[d] < w->in[d]) return; /* most of them: spares the divisions */
    if (at < 0) *from = (-at + w->dil[d] - 1) / w->dil[d];
    int64_t end = at >= w->in[d] ? 0 : (w->in[d] - at + w->dil[d] - 1) / w->dil[d];
    if (end < *to) *to = end;
}

/* Where a window lies that is whole, and the same for its pixels row by row. Sizes are constants where it is called, so
 * that the loops come apart. */
typedef struct whole {
    const blk_window *w;
    const float *x; /* its first pixel */
    int rows, cols;
} whole;
ALWAYS __m512 pixel(const whole *p, int k) {
    return _mm512_loadu_ps(p->x + (k / p->cols * p->w->in[1] + k % p->cols) * LANES);
}

/* The larger of two numbers, and +0 of two zeros, as XLA's maximum; of a number and a NaN the number. */
ALWAYS __m512 larger(__m512 a, __m512 b) {
    return _mm512_range_ps(a, b, 5);
}

/* The largest pixel. False: there is a NaN, which `larger` loses. */
ALWAYS bool largest(const whole *p, float init, __m512 *out) {
    __m512 acc = _mm512_set1_ps(init), before = acc;
    __mmask16 nan = 0;
    for (int k = 0; k < p->rows * p->cols; k++) {
        __m512 v = pixel(p, k);
        acc = larger(acc, v);
        /* two at a time */
        if (k % 2 == 0 || k == p->rows * p->cols - 1) nan |= _mm512_cmp_ps_mask(v, before, _CMP_UNORD_Q);
        before = v;
    }
    *out = acc;
    return nan == 0;
}

/* How many windows of a row, from *first on, are whole in this dimension. */
static int64_t whole_ones(const blk_window *w, int d, int64_t *first) {
    int64_t reach = (w->size[d] - 1) * w->dil[d] + 1, last = w->in[d] - reach + w->low[d];
    *first = w->low[d] > 0 ? (w->low[d] + w->stride[d] - 1) / w->stride[d] : 0;
    if (last < 0) return 0;
    int64_t end = last / w->stride[d] + 1 < w->out[d] ? last / w->stride[d] + 1 : w->out[d];
    return end > *first ? end - *first : 0;
}
/* The rows and columns of windows with loops of their own: 0, 2 or 3. */
static int common_size(const blk_window *w) {
    bool close = w->dil[0] == 1 && w->dil[1] == 1 && w->size[0] == w->size[1];
    return close && (w->size[0] == 2 || w->size[0] == 3) ? (int)w->size[0] : 0;
}

ALWAYS __m512 pool_any(const blk_window *w, blk_in x, float init, int64_t oy, int64_t ox) {
    int64_t y0, y1, x0, x1;
    __m512 acc = _mm512_set1_ps(init);
    inside(w, 0, oy, &y0, &y1);
    inside(w, 1, ox, &x0, &x1);
    for (int64_t ky = y0; ky < y1; ky++) {
        int64_t row = (oy * w->stride[0] - w->low[0] + ky * w->dil[0]) * w->in[1] + ox * w->stride[1] - w->low[1];
        for (int64_t kx = x0; kx < x1; kx++) {
            __m512 v = load(x, row + kx * w->dil[1]);
            if (w->sum) {
                acc = _mm512_add_ps(acc, v);
                continue;
            }
            /* a NaN on either side stays */
            __m512 next = _mm512_mask_mov_ps(larger(acc, v), _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), v);
            acc = _mm512_mask_mov_ps(next, _mm512_cmp_ps_mask(acc, acc, _CMP_UNORD_Q), acc);
        }
    }
    return acc;
}

/* n whole windows of row oy from ox on. */
ALWAYS void pool_whole(const blk_window *w, blk_in x, float init, int64_t oy, int64_t ox, int64_t n, int size,
                       float *out) {
    for (int64_t stop = ox + n; ox < stop; ox++) {
        int64_t corner = (oy * w->stride[0] - w->low[0]) * w->in[1] + ox * w->stride[1] - w->low[1];
        whole p = {w, (const float *)x.p + corner * LANES, size, size};
        __m512 v;
        if (!largest(&p, init, &v)) v = pool_any(w, x, init, oy, ox);
        _mm512_storeu_ps(out + (oy * w->out[1] + ox) * LANES, v);
    }
}

static void pool(const blk_window *w, blk_in x, float init, float *out) {
    int64_t y, left, rows = whole_ones(w, 0, &y), cols = whole_ones(w, 1, &left);
    int size = w->sum || x.half || rows == 0 || cols == 0 || init != init ? 0 : common_size(w);
    for (int64_t oy = 0; oy < w->out[0]; oy++) {
        bool fast = size && oy >= y && oy < y + rows;
        for (int64_t ox = 0; ox < w->out[1]; ox++) {
            if (fast && ox == left) {
                if (size == 3)
                    pool_whole(w, x, init, oy, ox, cols, 3, out);
                else
                    pool_whole(w, x, init, oy, ox, cols, 2, out);
                ox += cols - 1;
                continue;
            }
            _mm512_storeu_ps(out + (oy * w->out[1] + ox) * LANES, pool_any(w, x, init, oy, ox));
        }
    }
}

/* --- gradient of the largest: which place of a window gets it, then each place its windows, in order --- */
ALWAYS __m512i chosen_whole(const whole *p) {
    __m512 best = pixel(p, 0);
    __m512i where = _mm512_setzero_si512();
    for (int k = 1; k < p->rows * p->cols; k++) {
        __m512 v = pixel(p, k);
        __mmask16 better = _mm512_cmp_ps_mask(best, v, _CMP_NGE_UQ);
        best = _mm512_mask_mov_ps(best, better, v);
        where = _mm512_mask_mov_epi32(where, better, _mm512_set1_epi32(k));
    }
    return where;
}

static void pool_grad_any(const blk_window *w, blk_in x, blk_in src, int64_t oy, int64_t ox, float *out) {
    int64_t y0, y1, x0, x1;
    inside(w, 0, oy, &y0, &y1);
    inside(w, 1, ox, &x0, &x1);
    if (y0 >= y1 || x0 >= x1) return;
    int64_t corner = (oy * w->stride[0] - w->low[0]) * w->in[1] + ox * w->stride[1] - w->low[1];
    __m512 best = load(x, corner + y0 * w->in[1] + x0), add = load(src, oy * w->out[1] + ox);
    __m512i where = _mm512_set1_epi32((int)(y0 * w->size[1] + x0));
    for (int64_t ky = y0; ky < y1; ky++)
        for (int64_t kx = x0; kx < x1; kx++) {
            __m512 v = load(x, corner + ky * w->in[1] + kx);
            __mmask16 better = _mm512_cmp_ps_mask(best, v, _CMP_NGE_UQ);
            best = _mm512_mask_mov_ps(best, better, v);
            where = _mm512_mask_mov_epi32(where, better, _mm512_set1_epi32((int)(ky * w->size[1] + kx)));
        }
    for (int64_t ky = y0; ky < y1; ky++)
        for (int64_t kx = x0; kx < x1; kx++) {
            float *p = out + (corner + ky * w->in[1] + kx) * LANES;
            __mmask16 here = _mm512_cmpeq_epi32_mask(where, _mm512_set1_epi32((int)(ky * w->size[1] + kx)));
            __m512 old = _mm512_loadu_ps(p);
            _mm512_storeu_ps(p, _mm512_mask_add_ps(old, here, old, add));
        }
}

/* n whole windows of row oy from ox on. */
ALWAYS void pool_grad_whole(const blk_window *w, blk_in x, blk_in src, int64_t oy, int64_t ox, int64_t n, int size,
                            float *out) {
    for (int64_t stop = ox + n; ox < stop; ox++) {
        int64_t corner = (oy * w->stride[0] - w->low[0]) * w->in[1] + ox * w->stride[1] - w->low[1];
        whole p = {w, (const float *)x.p + corner * LANES, size, size};
        __m512 add = load(src, oy * w->out[1] + ox);
        __m512i where = chosen_whole(&p);
        for (int k = 0; k < size * size; k++) {
            float *to = out + (corner + k / size * w->in[1] + k % size) * LANES;
            __m512 old = _mm512_loadu_ps(to);
            _mm512_storeu_ps(to,
                             _mm512_mask_add_ps(old, _mm512_cmpeq_epi32_mask(where, _mm512_set1_epi32(k)), old, add));
        }
    }
}

static void pool_grad(const blk_window *w, blk_in x, blk_in src, float init, float *out) {
    int64_t y, left, rows = whole_ones(w, 0, &y), cols = whole_ones(w, 1, &left), filled = 0,
                     area = w->in[0] * w->in[1];
    int size = x.half || rows == 0 || cols == 0 ? 0 : common_size(w);
    for (int64_t oy = 0; oy < w->out[0]; oy++) {
        /* Rows are filled when the first window comes to them, so that they are still in cache. */
        int64_t reach = (oy * w->stride[0] - w->low[0] + w->size[0]) * w->in[1];
        for (; filled < area && filled < reach; filled++) _mm512_storeu_ps(out + filled * LANES, _mm512_set1_ps(init));
        bool fast = size && oy >= y && oy < y + rows;
        for (int64_t ox = 0; ox < w->out[1]; ox++) {
            if (fast && ox == left) {
                if (size == 3)
                    pool_grad_whole(w, x, src, oy, ox, cols, 3, out);
                else
                    pool_grad_whole(w, x, src, oy, ox, cols, 2, out);
                ox += cols - 1;
                continue;
            }
            pool_grad_any(w, x, src, oy, ox, out);
        }
    }
    for (; filled < area; filled++) _mm512_storeu_ps(out + filled * LANES, _mm512_set1_ps(init));
}

static const blk_ops ops = {stats, apply, grad_sums, grad_apply, pool, pool_grad};
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif

const blk_ops *blk_get(void) {
#if defined(__x86_64__)
    return &ops;
#else
    return NULL;
#endif
}
