/* The memory of a device: an account with a limit, over the host's allocator.
 *
 * Large blocks are kept for reuse: a training step asks for the same results and temporaries again and again, and the system would take each block
 * back and hand it out page by page, zeroed (a ResNet-18 step: 280,000 page faults). Invariants, all under `account`:
 *  1. in_use counts the bytes asked for, never a block's slack; a kept block is not in use.
 *  2. in_use and kept_bytes together never pass the largest in_use so far, so keeping blocks raises no peak and respects the limit.
 *  3. A block serves a request only if at most a quarter of it is left over.
 *  4. A large block is pages of its own: as new, it is zero and takes no memory until it is written. */
#include "pjrt/face.h"

enum { LARGE = 1 << 20, ALIGN = 64 };

struct face_block { /* lies in the 64 bytes before the data */
    size_t size;
};
static_assert(sizeof(face_block) <= ALIGN, "the header fits before the data");

static xt_status over_limit(const PJRT_Device *d, size_t n) {
    return status_new(XT_RESOURCE_EXHAUSTED, NULL,
                      "out of device memory: %.2f MiB are needed, %.2f of the %.2f MiB allowed by XT_MEMORY_LIMIT are in use", (double)n / 1048576,
                      (double)d->in_use / 1048576, (double)d->limit / 1048576);
}

static face_block *take_at(PJRT_Device *d, size_t i) {
    face_block *b = d->kept[i];
    d->n_kept--;
    memmove(&d->kept[i], &d->kept[i + 1], (d->n_kept - i) * sizeof d->kept[0]);
    d->kept_bytes -= (int64_t)b->size;
    return b;
}

/* The smallest kept block that serves n, or NULL. */
static face_block *take_fitting(PJRT_Device *d, size_t n) {
    size_t best = d->n_kept;
    for (size_t i = 0; i < d->n_kept; i++) {
        size_t size = d->kept[i]->size;
        if (size >= n && size - n <= size / 4 && (best == d->n_kept || size < d->kept[best]->size)) best = i;
    }
    return best < d->n_kept ? take_at(d, best) : NULL;
}

/* Takes kept blocks, oldest first, until another of `need` bytes may be kept (0: until invariant 2 holds); they are freed by the caller, outside the
 * lock. */
static size_t make_room(PJRT_Device *d, int64_t need, face_block *out[BASE_COUNT(d->kept)]) {
    size_t n = 0;
    while (d->n_kept > 0 && ((need > 0 && d->n_kept == BASE_COUNT(d->kept)) || d->in_use + d->kept_bytes + need > d->peak)) out[n++] = take_at(d, 0);
    return n;
}

static void free_blocks(face_block **blocks, size_t n) {
    for (size_t i = 0; i < n; i++) base_pages_free(blocks[i], blocks[i]->size + ALIGN);
}

int64_t face_largest_kept(const PJRT_Device *d) {
    int64_t most = 0;
    for (size_t i = 0; i < d->n_kept; i++)
        if ((int64_t)d->kept[i]->size > most) most = (int64_t)d->kept[i]->size;
    return most;
}

void face_memory_trim(PJRT_Device *d) {
    pthread_mutex_lock(&d->account);
    face_block *out[BASE_COUNT(d->kept)];
    size_t n = d->n_kept;
    memcpy(out, d->kept, sizeof out);
    d->n_kept = 0;
    d->kept_bytes = 0;
    pthread_mutex_unlock(&d->account);
    free_blocks(out, n);
}

static void *host_block(PJRT_Device *d, size_t n) {
    size_t size = n;
    if (n >= LARGE && !size_add(n, ALIGN, &size)) return NULL;
    char *p = n < LARGE ? base_aligned(ALIGN, size ? size : 1) : base_pages(size);
    if (!p) { /* the kept blocks may be what is missing */
        face_memory_trim(d);
        p = n < LARGE ? base_aligned(ALIGN, size ? size : 1) : base_pages(size);
    }
    if (!p || n < LARGE) return p;
    ((face_block *)p)->size = n;
    return p + ALIGN;
}

xt_status face_alloc(PJRT_Device *d, size_t n, void **out) {
    bool zero;
    return face_alloc_told(d, n, out, &zero);
}

xt_status face_alloc_told(PJRT_Device *d, size_t n, void **out, bool *out_zero) {
    *out = NULL;
    *out_zero = false;
    xt_status s = NULL;
    face_block *reuse = NULL, *drop[BASE_COUNT(d->kept)];
    size_t n_drop = 0;
    pthread_mutex_lock(&d->account);
    if (n > INT64_MAX / 2 || (d->limit > 0 && (int64_t)n > d->limit - d->in_use))
        s = over_limit(d, n);
    else {
        if (n >= LARGE) reuse = take_fitting(d, n);
        d->in_use += (int64_t)n;
        d->n_allocs++;
        if (d->in_use > d->peak) d->peak = d->in_use;
        if ((int64_t)n > d->largest) d->largest = (int64_t)n;
        if (!reuse) n_drop = make_room(d, 0, drop);
    }
    pthread_mutex_unlock(&d->account);
    free_blocks(drop, n_drop);
    if (s) return s;
    *out = reuse ? (char *)reuse + ALIGN : host_block(d, n);
    *out_zero = !reuse && n >= LARGE;
    if (*out) return NULL;
    pthread_mutex_lock(&d->account);
    d->in_use -= (int64_t)n;
    pthread_mutex_unlock(&d->account);
    return status_oom(n, "device memory");
}

void face_free(PJRT_Device *d, void *p, size_t n) {
    if (!p) return;
    face_block *drop[BASE_COUNT(d->kept) + 1];
    size_t n_drop = 0;
    pthread_mutex_lock(&d->account);
    d->in_use -= (int64_t)n;
    if (n >= LARGE) {
        face_block *b = (face_block *)((char *)p - ALIGN);
        n_drop = make_room(d, (int64_t)b->size, drop);
        if (d->in_use + d->kept_bytes + (int64_t)b->size <= d->peak) {
            d->kept[d->n_kept++] = b;
            d->kept_bytes += (int64_t)b->size;
        } else
            drop[n_drop++] = b;
    }
    pthread_mutex_unlock(&d->account);
    free_blocks(drop, n_drop);
    if (n < LARGE) base_free(p);
}
