/* Copies between dense arrays and host memory of any layout: NumPy slices, Fortran order, reversed axes. Integers of
 * less than a byte change their form on the way (base/narrow.h). */
#include "base/cpus.h"
#include "base/narrow.h"
#include "pjrt/face.h"

#include <unistd.h>

/* Walks both sides in row-major order. The innermost dim is one loop by element size, or one memcpy where the strided
 * side is contiguous too. */
typedef struct walk {
    char *strided, *dense;
    const int64_t *strides;
    const ir_type *type;
    size_t elem;
    unsigned bits; /* of a byte that leave: narrow_bits */
    bool to_dense;
} walk;

static void copy_row(const walk *w, char *s, char *d, int64_t n, int64_t stride) {
    if (w->bits != 255 && !w->to_dense) {
        for (int64_t i = 0; i < n; i++) s[i * stride] = (char)(d[i] & (char)w->bits);
        return;
    }
    if (stride == (int64_t)w->elem) {
        memcpy(w->to_dense ? d : s, w->to_dense ? s : d, (size_t)n * w->elem);
        return;
    }
    for (int64_t i = 0; i < n; i++, s += stride, d += w->elem)
        memcpy(w->to_dense ? d : s, w->to_dense ? s : d, w->elem);
}

static char *copy_dim(const walk *w, uint32_t dim, char *s, char *d) {
    const ir_type *t = w->type;
    int64_t n = t->dims[dim];
    if (dim + 1 == t->rank) {
        copy_row(w, s, d, n, w->strides[dim]);
        return d + (size_t)n * w->elem;
    }
    for (int64_t i = 0; i < n; i++) d = copy_dim(w, dim + 1, s + i * w->strides[dim], d);
    return d;
}

static void copy(void *dense, char *host, const int64_t *strides, const ir_type *t, bool to_dense) {
    walk w = {host, dense, strides, t, xt_dtype_size(t->dtype), narrow_bits(t->dtype), to_dense};
    size_t n = (size_t)t->count * w.elem;
    if (t->count == 0) return;
    if (!strides || t->rank == 0) {
        memcpy(to_dense ? dense : host, to_dense ? (void *)host : dense, n);
        if (!to_dense) narrow_mask(t->dtype, host, n);
    } else
        copy_dim(&w, 0, host, dense);
    if (to_dense) narrow_extend(t->dtype, dense, n);
}

void face_gather(void *dense, const char *host, const int64_t *strides, const ir_type *t) {
    copy(dense, (char *)host, strides, t, true);
}
void face_scatter(char *host, const int64_t *strides, const void *dense, const ir_type *t) {
    copy((void *)dense, host, strides, t, false);
}

/* --- large dense copies --- */
enum { PIECE = 64 << 10, THREADS = 4 };
static const size_t WORTH_THREADS = (size_t)4 << 20;
typedef struct copying {
    char *dst;
    const char *src;
    size_t n;
    bool dst_zero;
} copying;

static bool all_zero(const char *p, size_t n) {
    return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

static void *copy_piece(void *user) {
    const copying *c = user;
    for (size_t at = 0; at < c->n; at += PIECE) {
        size_t n = c->n - at < PIECE ? c->n - at : PIECE;
        if (!c->dst_zero || !all_zero(c->src + at, n)) memcpy(c->dst + at, c->src + at, n);
    }
    return NULL;
}

/* The first write to a page costs more than the copy: the system makes and clears it. That goes at the speed of the
 * cores that ask. */
void face_copy_in(void *dst, const void *src, size_t n, bool dst_zero) {
    copying part[THREADS];
    pthread_t thread[THREADS];
    bool running[THREADS] = {false};
    long cores = n >= WORTH_THREADS ? cpus_count() : 1;
    size_t parts = cores < 1         ? 1
                   : cores > THREADS ? THREADS
                                     : (size_t)cores,
           each = (n / parts + PIECE - 1) / PIECE * PIECE, done = 0;
    for (size_t k = 0; k < parts; k++, done += part[k - 1].n) {
        size_t rest = n - done;
        part[k] = (copying){(char *)dst + done, (const char *)src + done, k + 1 == parts || rest < each ? rest : each,
                            dst_zero};
    }
    for (size_t k = 1; k < parts; k++)
        running[k] = part[k].n && cpus_start(&thread[k], "a thread that copies to the host", copy_piece, &part[k]) == 0;
    for (size_t k = 0; k < parts; k++)
        if (!running[k]) copy_piece(&part[k]);
    for (size_t k = 1; k < parts; k++)
        if (running[k]) pthread_join(thread[k], NULL);
}

bool face_is_dense(const int64_t *strides, const ir_type *t) {
    if (!strides || t->count == 0) return true;
    int64_t want = (int64_t)xt_dtype_size(t->dtype);
    for (uint32_t i = t->rank; i-- > 0; want *= t->dims[i])
        if (t->dims[i] != 1 && strides[i] != want) return false;
    return true;
}

/* --- what strides reach --- */
/* Bytes below and from element 0,...,0. */
static xt_status reach(const int64_t *strides, const ir_type *t, int64_t *out_below, int64_t *out_above) {
    int64_t low = 0, high = 0, span;
    *out_below = 0;
    *out_above = (int64_t)ir_type_bytes(t);
    if (!strides || t->count == 0) return NULL;
    bool fits = true;
    for (uint32_t i = 0; i < t->rank && fits; i++) {
        fits = !__builtin_mul_overflow(t->dims[i] - 1, strides[i], &span) && span <= FACE_FURTHEST &&
               span >= -FACE_FURTHEST;
        if (fits && t->dims[i] > 1) *(span < 0 ? &low : &high) += span;
        fits = fits && high <= FACE_FURTHEST && low >= -FACE_FURTHEST;
    }
    if (!fits) return status_new(XT_INVALID_ARGUMENT, NULL, "the byte strides reach further than memory does");
    *out_below = -low;
    *out_above = high + (int64_t)xt_dtype_size(t->dtype);
    return NULL;
}

/* Sorted by stride, each dim has to step over all that the smaller ones cover. */
static bool overlaps(const int64_t *strides, const ir_type *t) {
    uint32_t order[IR_MAX_RANK], n = 0;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->dims[i] < 2) continue;
        uint32_t k = n++;
        for (; k > 0 && strides[order[k - 1]] > strides[i]; k--) order[k] = order[k - 1];
        order[k] = i;
    }
    int64_t covered = (int64_t)xt_dtype_size(t->dtype);
    for (uint32_t k = 0; k < n; k++) {
        if (strides[order[k]] < covered) return true;
        covered += strides[order[k]] * (t->dims[order[k]] - 1);
    }
    return false;
}

xt_status face_write_extent(const int64_t *strides, const ir_type *t, size_t *out) {
    int64_t below, above;
    XT_TRY(reach(strides, t, &below, &above));
    if (below > 0)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "byte strides of the destination reach %lld bytes below it: expected positive ones",
                          (long long)below);
    if (strides && t->count > 0 && overlaps(strides, t))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "byte strides of the destination let elements lie over each other: expected each dim's to "
                          "step over the smaller ones");
    *out = (size_t)above;
    return NULL;
}

xt_status face_check_read(const void *host, const int64_t *strides, const ir_type *t) {
    int64_t below, above;
    XT_TRY(reach(strides, t, &below, &above));
    uintptr_t at = (uintptr_t)host;
    if ((uintptr_t)below <= at && (uintptr_t)above <= UINTPTR_MAX - at) return NULL;
    return status_new(
        XT_INVALID_ARGUMENT, NULL,
        "the byte strides reach from %lld bytes below the host memory to %lld above it: outside of memory",
        (long long)below, (long long)above);
}

static xt_status tiled_strides(const PJRT_Buffer_MemoryLayout_Tiled *l, const ir_type *t, int64_t *strides) {
    if (l->num_tiles > 0)
        return status_new(XT_UNIMPLEMENTED, NULL,
                          "a host layout with tiles: this CPU plugin knows dense and strided layouts");
    if (l->minor_to_major_size != t->rank)
        return status_new(XT_INVALID_ARGUMENT, NULL, "the host layout orders %zu dims, the array has %u",
                          l->minor_to_major_size, t->rank);
    int64_t stride = (int64_t)xt_dtype_size(t->dtype);
    for (uint32_t i = 0; i < t->rank; i++) strides[i] = -1;
    for (uint32_t i = 0; i < t->rank; i++) {
        int64_t dim = l->minor_to_major[i];
        if (dim < 0 || dim >= t->rank || strides[dim] >= 0)
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "the host layout's minor_to_major is no permutation of 0 to %d", (int)t->rank - 1);
        strides[dim] = stride;
        if (t->count > 0) stride *= t->dims[dim]; /* an array without elements may have any other dims */
    }
    return NULL;
}

xt_status face_strides_stored(int64_t **strides, const face_value *v) {
    const int64_t *order = face_layout_major_to_minor(v->layout);
    const ir_type *t = v->type;
    if (!order || t->count == 0) return NULL;
    int64_t *out = base_malloc(t->rank * sizeof *out), logical[IR_MAX_RANK], stride = (int64_t)xt_dtype_size(t->dtype);
    for (uint32_t i = t->rank; i-- > 0; stride *= t->dims[i]) logical[i] = *strides ? (*strides)[i] : stride;
    for (uint32_t k = 0; k < t->rank && out; k++) out[k] = logical[order[k]];
    base_free(*strides);
    *strides = out;
    return out ? NULL : status_oom(t->rank * sizeof *out, "a layout");
}

xt_status face_layout_strides(const PJRT_Buffer_MemoryLayout *layout, const ir_type *t, int64_t **out_strides) {
    *out_strides = NULL;
    if (!layout) return NULL;
    int64_t *strides = base_malloc((t->rank + 1) * sizeof *strides);
    if (!strides) return status_oom(t->rank * sizeof *strides, "a layout");
    xt_status s = NULL;
    if (layout->type == PJRT_LAYOUT_TILED)
        s = tiled_strides(&layout->tiled, t, strides);
    else if (layout->strides.num_byte_strides != t->rank)
        s = status_new(XT_INVALID_ARGUMENT, NULL, "the host layout has %zu strides, the array %u dims",
                       layout->strides.num_byte_strides, t->rank);
    else if (t->rank > 0)
        memcpy(strides, layout->strides.byte_strides, t->rank * sizeof *strides);
    if (!s && !face_is_dense(strides, t))
        *out_strides = strides;
    else
        base_free(strides);
    return s;
}
