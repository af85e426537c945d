/* Collectives over the areas of a segment. Each works in steps (segment.h, invariant 2): what is written before a step is read by the
 * others after it, with one wait per chunk and the next chunk's copy running while others still read.
 *
 * all_reduce of a message that fits half an area: each rank copies its data once and folds all ranks' itself; one wait.
 * Larger: in step t a rank writes the others' shares of chunk t into its `in` area, folds its own share of chunk t-1 from all ranks' `in`
 * (its own data are read where they are) into its `out` area and its data, and copies the others' results of chunk t-2 from their `out`. Each rank
 * folds 1/size of every chunk, always in rank order, so the bits do not depend on who folds. */
#include "coll/segment.h"

/* Above this the redundant folding of the one-step way costs more than the second wait. */
#define SMALL_BYTES ((size_t)32 << 10)

enum { MAX_ON_STACK = 64 };

typedef struct share {
    size_t begin, count; /* in elements of the chunk */
} share;

/* Shares are multiples of 32 elements, so that folding stays aligned; the last ranks may get none. */
static share share_of(size_t count, int size, int rank) {
    size_t each = (count + (size_t)size - 1) / (size_t)size;
    each = (each + 31) & ~(size_t)31;
    size_t begin = each * (size_t)rank;
    if (begin >= count) return (share){count, 0};
    return (share){begin, count - begin < each ? count - begin : each};
}

static xt_status reduce_small(segment *s, const call_desc *call, coll_op op, xt_dtype t, void *data, size_t count, const void **src,
                              int64_t deadline) {
    int parity = (int)((s->step + 1) & 1);
    memcpy(segment_area(s, s->rank, parity), data, call->bytes);
    XT_TRY(segment_step(s, call, deadline, call_kind_name(call->kind)));
    for (int r = 0; r < s->size; r++) src[r] = segment_area(s, r, parity);
    src[s->rank] = data;
    reduce_fold(op, t, data, src, s->size, count);
    return NULL;
}

typedef struct chunked {
    segment *s;
    coll_op op;
    xt_dtype dtype;
    size_t elem, per_chunk, count, chunks;
    char *data;
    const void **src;
} chunked;

static size_t chunk_count(const chunked *c, size_t chunk) {
    size_t begin = chunk * c->per_chunk;
    return c->count - begin < c->per_chunk ? c->count - begin : c->per_chunk;
}

static void give_shares(const chunked *c, size_t chunk, int parity) {
    char *in = segment_area(c->s, c->s->rank, parity), *from = c->data + chunk * c->per_chunk * c->elem;
    size_t n = chunk_count(c, chunk);
    for (int r = 0; r < c->s->size; r++) {
        share part = share_of(n, c->s->size, r);
        if (r != c->s->rank && part.count) memcpy(in + part.begin * c->elem, from + part.begin * c->elem, part.count * c->elem);
    }
}

static void fold_share(const chunked *c, size_t chunk, int in_parity, int out_parity) {
    const segment *s = c->s;
    share part = share_of(chunk_count(c, chunk), s->size, s->rank);
    if (!part.count) return;
    char *own = c->data + (chunk * c->per_chunk + part.begin) * c->elem;
    for (int r = 0; r < s->size; r++) c->src[r] = segment_area(s, r, in_parity) + part.begin * c->elem;
    c->src[s->rank] = own;
    reduce_fold(c->op, c->dtype, own, c->src, s->size, part.count);
    memcpy(segment_area(s, s->rank, 2 + out_parity) + part.begin * c->elem, own, part.count * c->elem);
}

static void take_results(const chunked *c, size_t chunk, int parity) {
    char *to = c->data + chunk * c->per_chunk * c->elem;
    size_t n = chunk_count(c, chunk);
    for (int r = 0; r < c->s->size; r++) {
        share part = share_of(n, c->s->size, r);
        if (r != c->s->rank && part.count)
            memcpy(to + part.begin * c->elem, segment_area(c->s, r, 2 + parity) + part.begin * c->elem, part.count * c->elem);
    }
}

static xt_status reduce_large(const chunked *c, const call_desc *call, int64_t deadline) {
    /* Writes before step t of this call carry the parity of that step; reads after it carry the parity of the step just completed. */
    for (size_t t = 0; t < c->chunks + 2; t++) {
        int now = (int)((c->s->step + 1) & 1), before = now ^ 1;
        if (t < c->chunks) give_shares(c, t, now);
        if (t >= 1 && t - 1 < c->chunks) fold_share(c, t - 1, before, now);
        if (t >= 2) take_results(c, t - 2, before);
        if (t + 1 < c->chunks + 2) XT_TRY(segment_step(c->s, call, deadline, call_kind_name(call->kind)));
    }
    return NULL;
}

xt_status shm_all_reduce(coll_group *g, coll_op op, xt_dtype t, void *data, size_t count, int64_t deadline) {
    segment *s = g->state;
    size_t elem = xt_dtype_size(t);
    call_desc call = {.kind = CALL_ALL_REDUCE, .op = (uint8_t)op, .dtype = (uint8_t)t, .bytes = count * elem, .tag = g->tag};
    const void *on_stack[MAX_ON_STACK], **src = s->size <= MAX_ON_STACK ? on_stack : base_malloc((size_t)s->size * sizeof *src);
    if (!src) return status_oom((size_t)s->size * sizeof *src, "an all_reduce");
    xt_status st;
    if (call.bytes <= SMALL_BYTES && call.bytes <= s->head->area) {
        st = reduce_small(s, &call, op, t, data, count, src, deadline);
    } else {
        chunked c = {.s = s, .op = op, .dtype = t, .elem = elem, .per_chunk = s->head->area / elem, .count = count, .data = data, .src = src};
        c.chunks = (count + c.per_chunk - 1) / c.per_chunk;
        st = reduce_large(&c, &call, deadline);
    }
    if (src != on_stack) base_free(src);
    return st;
}

/* `at` runs over [0, bytes) in chunks; empty messages still take one step, so that the ranks meet. */
static size_t chunk_at(size_t at, size_t bytes, size_t area) {
    return bytes - at < area ? bytes - at : area;
}

xt_status shm_all_gather(coll_group *g, const void *src, size_t bytes, void *dst, int64_t deadline) {
    segment *s = g->state;
    call_desc call = {.kind = CALL_ALL_GATHER, .bytes = bytes, .tag = g->tag};
    size_t at = 0;
    do {
        size_t n = chunk_at(at, bytes, s->head->area);
        int parity = (int)((s->step + 1) & 1);
        if (n) memcpy(segment_area(s, s->rank, parity), (const char *)src + at, n);
        XT_TRY(segment_step(s, &call, deadline, call_kind_name(call.kind)));
        for (int r = 0; r < s->size && n; r++) memcpy((char *)dst + (size_t)r * bytes + at, segment_area(s, r, parity), n);
        at += n;
    } while (at < bytes);
    return NULL;
}

xt_status shm_broadcast(coll_group *g, int root, void *data, size_t bytes, int64_t deadline) {
    segment *s = g->state;
    call_desc call = {.kind = CALL_BROADCAST, .root = (uint32_t)root, .bytes = bytes, .tag = g->tag};
    size_t at = 0;
    do {
        size_t n = chunk_at(at, bytes, s->head->area);
        int parity = (int)((s->step + 1) & 1);
        if (n && s->rank == root) memcpy(segment_area(s, root, parity), (char *)data + at, n);
        XT_TRY(segment_step(s, &call, deadline, call_kind_name(call.kind)));
        if (n && s->rank != root) memcpy((char *)data + at, segment_area(s, root, parity), n);
        at += n;
    } while (at < bytes);
    return NULL;
}

xt_status shm_all_to_all(coll_group *g, const void *src, size_t bytes_each, void *dst, int64_t deadline) {
    segment *s = g->state;
    call_desc call = {.kind = CALL_ALL_TO_ALL, .bytes = bytes_each, .tag = g->tag};
    size_t room = s->head->area / (size_t)s->size, at = 0; /* one piece per receiver in each chunk */
    do {
        size_t n = chunk_at(at, bytes_each, room);
        int parity = (int)((s->step + 1) & 1);
        for (int r = 0; r < s->size && n; r++)
            memcpy(segment_area(s, s->rank, parity) + (size_t)r * room, (const char *)src + (size_t)r * bytes_each + at, n);
        XT_TRY(segment_step(s, &call, deadline, call_kind_name(call.kind)));
        for (int r = 0; r < s->size && n; r++)
            memcpy((char *)dst + (size_t)r * bytes_each + at, segment_area(s, r, parity) + (size_t)s->rank * room, n);
        at += n;
    } while (at < bytes_each);
    return NULL;
}
