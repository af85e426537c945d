/* The memory of a device: an account with a limit, over the host's allocator.
 *
 * Large blocks are kept for reuse: a training step asks for the same results and temporaries again and again, and the
 * system would take each block back and hand it out page by page, zeroed (a ResNet-18 step: 280,000 page faults).
 * Invariants, all under `account`:
 *  1. in_use counts the bytes asked for, never a block's slack; a kept block is not in use.
 *  2. in_use and kept_bytes together never pass the largest in_use so far, so keeping blocks raises no peak and
 *     respects the limit.
 *  3. A block serves a request only if at most a quarter of it is left over.
 *  4. A large block is pages of its own: as new, it is zero and takes no memory until it is written. So nothing is
 *     noted in the block itself: a note would make the system find and clear 2 MiB for each of a model's zero moments,
 *     on one thread. */
#include "pjrt/face.h"

enum { LARGE = 1 << 20, ALIGN = 64 };

static xt_status over_limit(const PJRT_Device *d, size_t n, int64_t held) {
    char also[80] = "";
    if (held > 0)
        snprintf(also, sizeof also, ", %.2f more are needed by programs on their way", (double)held / 1048576);
    return status_new(
        XT_RESOURCE_EXHAUSTED, NULL,
        "out of device memory: %.2f MiB are needed, %.2f of the %.2f MiB allowed by XT_MEMORY_LIMIT are in use%s",
        (double)n / 1048576, (double)d->in_use / 1048576, (double)d->limit / 1048576, also);
}

/* --- promises --- */
static int64_t largest_promise(const PJRT_Device *d) {
    int64_t most = 0;
    for (const face_promise *p = d->promises; p; p = p->next)
        if (p->bytes > most) most = p->bytes;
    return most;
}

/* What others must leave alone. */
static int64_t held_back(const PJRT_Device *d) {
    int64_t held = largest_promise(d) - d->drawn;
    return held > 0 ? held : 0;
}

void face_promise_make(PJRT_Device *d, int64_t n, face_promise *p) {
    *p = (face_promise){NULL, 0};
    if (n <= 0) return;
    pthread_mutex_lock(&d->account);
    int64_t most = largest_promise(d), wanted = (n > most ? n : most) - d->drawn;
    if (d->limit > 0 && d->in_use + (wanted > 0 ? wanted : 0) <= d->limit) {
        *p = (face_promise){d->promises, n};
        d->promises = p;
    }
    pthread_mutex_unlock(&d->account);
}

void face_promise_end(PJRT_Device *d, face_promise *p) {
    if (!p->bytes) return;
    pthread_mutex_lock(&d->account);
    face_promise **link = &d->promises;
    while (*link && *link != p) link = &(*link)->next;
    if (*link) *link = p->next;
    d->drawn = 0;
    pthread_mutex_unlock(&d->account);
    p->bytes = 0;
}

/* Where p stands among the loose blocks, or would. */
static size_t loose_at(const PJRT_Device *d, const void *p) {
    size_t low = 0, high = d->n_loose;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if ((uintptr_t)d->loose[mid].p < (uintptr_t)p)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* A kept block that serves n, or NULL. Where it is larger its size is noted: whoever frees it knows n only. */
static void *take_fitting(PJRT_Device *d, size_t n) {
    if (!d->kept) return NULL;
    if (d->n_loose == d->cap_loose) {
        face_block *more = base_realloc(d->loose, (2 * d->cap_loose + 8) * sizeof *more);
        if (!more) return NULL;
        d->loose = more;
        d->cap_loose = 2 * d->cap_loose + 8;
    }
    face_block b = face_kept_take(d->kept, n);
    d->kept_bytes -= (int64_t)b.size;
    if (b.size > n) {
        size_t at = loose_at(d, b.p);
        memmove(&d->loose[at + 1], &d->loose[at], (d->n_loose++ - at) * sizeof d->loose[0]);
        d->loose[at] = b;
    }
    return b.p;
}

/* The block that n bytes at p were given in. */
static face_block block_of(PJRT_Device *d, void *p, size_t n) {
    size_t at = loose_at(d, p);
    if (at == d->n_loose || d->loose[at].p != p) return (face_block){p, n};
    face_block b = d->loose[at];
    memmove(&d->loose[at], &d->loose[at + 1], (--d->n_loose - at) * sizeof d->loose[0]);
    return b;
}

static face_block take_oldest(PJRT_Device *d) {
    face_block b = face_kept_take_oldest(d->kept);
    d->kept_bytes -= (int64_t)b.size;
    return b;
}

/* Takes kept blocks, oldest first, until another of `need` bytes may be kept (0: until invariant 2 holds); they are
 * freed by the caller, outside the lock. */
static size_t make_room(PJRT_Device *d, int64_t need, face_block out[FACE_KEPT]) {
    size_t n = 0;
    while (d->kept && d->kept->n > 0 &&
           ((need > 0 && d->kept->n == FACE_KEPT) || d->in_use + d->kept_bytes + need > d->peak))
        out[n++] = take_oldest(d);
    return n;
}

static void free_blocks(const face_block *blocks, size_t n) {
    for (size_t i = 0; i < n; i++) base_pages_free(blocks[i].p, blocks[i].size);
}

int64_t face_largest_kept(const PJRT_Device *d) {
    return d->kept ? (int64_t)face_kept_largest(d->kept) : 0;
}

void face_memory_trim(PJRT_Device *d) {
    pthread_mutex_lock(&d->account);
    face_block out[FACE_KEPT];
    size_t n = 0;
    while (d->kept && d->kept->n) out[n++] = take_oldest(d);
    pthread_mutex_unlock(&d->account);
    free_blocks(out, n);
}

static void *host_block(PJRT_Device *d, size_t n) {
    void *p = n < LARGE ? base_aligned(ALIGN, n ? n : 1) : base_pages(n);
    if (p) return p;
    face_memory_trim(d); /* the kept blocks may be what is missing */
    return n < LARGE ? base_aligned(ALIGN, n ? n : 1) : base_pages(n);
}

xt_status face_alloc(PJRT_Device *d, size_t n, void **out) {
    bool zero;
    return face_alloc_told(d, n, out, &zero);
}

static xt_status take(PJRT_Device *d, size_t n, face_promise *p, bool running, void **out, bool *out_zero);

xt_status face_alloc_told(PJRT_Device *d, size_t n, void **out, bool *out_zero) {
    return take(d, n, NULL, false, out, out_zero);
}

xt_status face_alloc_promised(PJRT_Device *d, face_promise *p, size_t n, void **out) {
    bool zero;
    return take(d, n, p, true, out, &zero);
}

/* A program that runs needs not leave anything to those after it: it gives its own back before. */
static xt_status take(PJRT_Device *d, size_t n, face_promise *p, bool running, void **out, bool *out_zero) {
    *out = NULL;
    *out_zero = false;
    xt_status s = NULL;
    void *reuse = NULL;
    face_block drop[FACE_KEPT];
    size_t n_drop = 0;
    pthread_mutex_lock(&d->account);
    int64_t held = running ? 0 : held_back(d);
    if (n > INT64_MAX / 2 || (d->limit > 0 && (int64_t)n > d->limit - d->in_use - held))
        s = over_limit(d, n, held);
    else {
        if (p && p->bytes) d->drawn += (int64_t)n;
        if (n >= LARGE) reuse = take_fitting(d, n);
        d->in_use += (int64_t)n;
        d->n_allocs++;
        if (d->in_use > d->peak) d->peak = d->in_use;
        if ((int64_t)n > d->largest) d->largest = (int64_t)n;
        if (!reuse) n_drop = make_room(d, 0, drop);
    }
    pthread_mutex_unlock(&d->account);
    if (n_drop) free_blocks(drop, n_drop);
    if (s) return s;
    *out = reuse ? reuse : host_block(d, n);
    *out_zero = !reuse && n >= LARGE;
    if (*out) return NULL;
    pthread_mutex_lock(&d->account);
    d->in_use -= (int64_t)n;
    if (p && p->bytes) d->drawn -= (int64_t)n;
    pthread_mutex_unlock(&d->account);
    return status_oom(n, "device memory");
}

void face_free(PJRT_Device *d, void *p, size_t n) {
    if (!p) return;
    face_block drop[FACE_KEPT + 1];
    size_t n_drop = 0;
    pthread_mutex_lock(&d->account);
    d->in_use -= (int64_t)n;
    if (n >= LARGE) {
        face_block b = block_of(d, p, n);
        n_drop = make_room(d, (int64_t)b.size, drop);
        if (!d->kept) d->kept = face_kept_new();
        if (d->kept && d->in_use + d->kept_bytes + (int64_t)b.size <= d->peak && face_kept_add(d->kept, b))
            d->kept_bytes += (int64_t)b.size;
        else
            drop[n_drop++] = b;
    }
    pthread_mutex_unlock(&d->account);
    if (n_drop) free_blocks(drop, n_drop);
    if (n < LARGE) base_free(p);
}
