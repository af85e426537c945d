/* Strided copies: the one loop behind broadcast, transpose, slice, pad, concatenate, reverse and the window gathers.
 *
 * The index space is first made small: dims of size 1 go, neighbours that step alike on both sides become one. What
 * remains runs its innermost dim as memcpy (both sides contiguous), as a fill (source stands still) or as a typed
 * strided loop; when the source is contiguous along another dim than the destination (a transpose), those two dims run
 * in square tiles so that both sides use whole cache lines. */
#include "ir/interp_int.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

typedef struct elem16 {
    uint64_t a, b;
} elem16;

typedef struct space {
    size_t rank;
    int64_t dims[INTERP_MAX_RANK], dst[INTERP_MAX_RANK], src[INTERP_MAX_RANK];
} space;

#define BY_SIZE(size, M)        \
    switch (size) {             \
    case 1: M(uint8_t); break;  \
    case 2: M(uint16_t); break; \
    case 4: M(uint32_t); break; \
    case 8: M(uint64_t); break; \
    default: M(elem16); break;  \
    }

void fill_elems(void *dst, int64_t n, const void *value, size_t size) {
#define FILL(T)                                   \
    do {                                          \
        T v, *d = dst;                            \
        memcpy(&v, value, sizeof v);              \
        for (int64_t i = 0; i < n; i++) d[i] = v; \
    } while (0)
    BY_SIZE(size, FILL)
}

static void copy_row(int64_t n, void *dst, int64_t ds, const void *src, int64_t ss, size_t size) {
    if (ds == 1 && ss == 1) {
        memcpy(dst, src, (size_t)n * size);
        return;
    }
    if (ds == 1 && ss == 0) {
        fill_elems(dst, n, src, size);
        return;
    }
#define ROW(T)                                                     \
    do {                                                           \
        T *d = dst;                                                \
        const T *s = src;                                          \
        if (ds == 1 && ss == 2)                                    \
            for (int64_t i = 0; i < n; i++) d[i] = s[2 * i];       \
        else                                                       \
            for (int64_t i = 0; i < n; i++) d[i * ds] = s[i * ss]; \
    } while (0)
    BY_SIZE(size, ROW)
}

/* [n0, n1] with dst contiguous along 1 and src contiguous along 0. */
static void copy_tiles(int64_t n0, int64_t n1, void *dst, int64_t ds0, const void *src, int64_t ss1, size_t size) {
    enum { TILE = 16 };
#define TILES(T)                                                                                    \
    do {                                                                                            \
        T *d = dst;                                                                                 \
        const T *s = src;                                                                           \
        for (int64_t i0 = 0; i0 < n0; i0 += TILE)                                                   \
            for (int64_t j0 = 0; j0 < n1; j0 += TILE) {                                             \
                int64_t i1 = i0 + TILE < n0 ? i0 + TILE : n0, j1 = j0 + TILE < n1 ? j0 + TILE : n1; \
                for (int64_t i = i0; i < i1; i++)                                                   \
                    for (int64_t j = j0; j < j1; j++) d[i * ds0 + j] = s[i + j * ss1];              \
            }                                                                                       \
    } while (0)
    BY_SIZE(size, TILES)
}

static void simplify(space *p, size_t rank, const int64_t *dims, const int64_t *dst, const int64_t *src) {
    p->rank = 0;
    for (size_t d = 0; d < rank; d++) {
        if (dims[d] == 1) continue;
        size_t k = p->rank;
        if (k && p->dst[k - 1] == dst[d] * dims[d] && p->src[k - 1] == src[d] * dims[d]) {
            p->dims[k - 1] *= dims[d];
            p->dst[k - 1] = dst[d];
            p->src[k - 1] = src[d];
            continue;
        }
        p->dims[k] = dims[d];
        p->dst[k] = dst[d];
        p->src[k] = src[d];
        p->rank++;
    }
}

/* Puts the dim along which src is contiguous next to the innermost one; false when there is none. */
static bool find_tile_dim(space *p) {
    size_t last = p->rank - 1;
    if (p->rank < 2 || p->dst[last] != 1 || p->src[last] == 1 || p->src[last] == 0 || p->dims[last] < 4) return false;
    for (size_t d = 0; d < last; d++) {
        if (p->src[d] != 1 || p->dims[d] < 4) continue;
        int64_t dim = p->dims[d], dst = p->dst[d];
        for (size_t k = d; k + 1 < last; k++)
            p->dims[k] = p->dims[k + 1], p->dst[k] = p->dst[k + 1], p->src[k] = p->src[k + 1];
        p->dims[last - 1] = dim;
        p->dst[last - 1] = dst;
        p->src[last - 1] = 1;
        return true;
    }
    return false;
}

void copy_strided(size_t rank, const int64_t *dims, void *dst, const int64_t *dst_stride, const void *src,
                  const int64_t *src_stride, size_t size) {
    space p;
    for (size_t d = 0; d < rank; d++)
        if (dims[d] <= 0) return;
    simplify(&p, rank, dims, dst_stride, src_stride);
    if (p.rank == 0) {
        memcpy(dst, src, size);
        return;
    }
    bool tiles = find_tile_dim(&p);
    size_t inner = p.rank - 1, outer = tiles ? inner - 1 : inner;
    int64_t index[INTERP_MAX_RANK] = {0}, d_at = 0, s_at = 0;
    for (;;) {
        char *d = (char *)dst + d_at * (int64_t)size;
        const char *s = (const char *)src + s_at * (int64_t)size;
        if (tiles)
            copy_tiles(p.dims[outer], p.dims[inner], d, p.dst[outer], s, p.src[inner], size);
        else
            copy_row(p.dims[inner], d, p.dst[inner], s, p.src[inner], size);
        size_t k = outer;
        for (;; k--) {
            if (k == 0) return;
            index[k - 1]++;
            d_at += p.dst[k - 1];
            s_at += p.src[k - 1];
            if (index[k - 1] < p.dims[k - 1]) break;
            d_at -= p.dst[k - 1] * p.dims[k - 1];
            s_at -= p.src[k - 1] * p.dims[k - 1];
            index[k - 1] = 0;
        }
    }
}

void strides_of(size_t rank, const int64_t *dims, int64_t *out) {
    int64_t n = 1;
    for (size_t d = rank; d-- > 0;) {
        out[d] = n;
        n *= dims[d];
    }
}
