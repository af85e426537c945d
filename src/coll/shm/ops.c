/* Collectives over the areas of a segment. Each works in steps (segment.h, invariant 2): what is written before a step
 * is read by the others after it, with one wait per chunk and the next chunk's copy running while others still read.
 *
 * all_reduce goes by turns, so that it can be left while another rank is late (shm_advance without a deadline). Of a
 * small message: each rank copies its data once and folds all ranks' itself; one wait. Larger: in step t a rank writes
 * the others' shares of chunk t into its `in` area, folds its own share of chunk t-1 from all ranks' `in` (its own data
 * are read where they are) into its data and the sums of all ranks, and copies those of chunk t-2. Each rank folds
 * 1/size of every chunk, always in rank order, so the bits do not depend on who folds. */
#include "coll/shm/segment.h"
#include "coll/shm/shm.h"

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

/* All of the chunk but its own share, which nobody else reads. */
static void give_shares(const chunked *c, size_t chunk, int parity) {
    const segment *s = c->s;
    size_t n = chunk_count(c, chunk);
    share own = share_of(n, s->size, s->rank);
    char *in = segment_area(s, s->rank, parity), *from = c->data + chunk * c->per_chunk * c->elem;
    size_t begin = own.begin * c->elem, end = (own.begin + own.count) * c->elem;
    memcpy(in, from, begin);
    memcpy(in + end, from + end, n * c->elem - end);
}

static void fold_share(const chunked *c, size_t chunk, int in_parity, int out_parity) {
    const segment *s = c->s;
    share part = share_of(chunk_count(c, chunk), s->size, s->rank);
    if (!part.count) return;
    char *own = c->data + (chunk * c->per_chunk + part.begin) * c->elem;
    for (int r = 0; r < s->size; r++) c->src[r] = segment_area(s, r, in_parity) + part.begin * c->elem;
    c->src[s->rank] = own;
    reduce_fold(c->op, c->dtype, own, c->src, s->size, part.count);
    memcpy(segment_sums(s, out_parity) + part.begin * c->elem, own, part.count * c->elem);
}

static void take_results(const chunked *c, size_t chunk, int parity) {
    char *to = c->data + chunk * c->per_chunk * c->elem;
    memcpy(to, segment_sums(c->s, parity), chunk_count(c, chunk) * c->elem);
}

/* --- one all_reduce as turns: the work of a turn, then a step that all ranks must reach before the next turn --- */
static void small_turn(const chunked *c, size_t turn, size_t bytes) {
    segment *s = c->s;
    if (turn == 0) {
        memcpy(segment_area(s, s->rank, (int)((s->step + 1) & 1)), c->data, bytes);
        return;
    }
    for (int r = 0; r < s->size; r++) c->src[r] = segment_area(s, r, (int)(s->step & 1));
    c->src[s->rank] = c->data;
    reduce_fold(c->op, c->dtype, c->data, c->src, s->size, c->count);
}

/* Writes before a step carry its parity; reads after it carry the parity of the step just completed. */
static void large_turn(const chunked *c, size_t turn) {
    int now = (int)((c->s->step + 1) & 1), before = now ^ 1;
    if (turn < c->chunks) give_shares(c, turn, now);
    if (turn >= 1 && turn - 1 < c->chunks) fold_share(c, turn - 1, before, now);
    if (turn >= 2) take_results(c, turn - 2, before);
}

/* --- gathers and spreads as turns: before step t a rank writes chunk t, after it others read it --- */

static bool writes(const segment *s, const shm_work *w) {
    return w->how == SHM_GATHER ? s->rank != w->root : s->rank == w->root;
}

static void write_chunk(const segment *s, const shm_work *w, size_t chunk) {
    size_t area = s->head->area, at = chunk * area, n = w->count - at < area ? w->count - at : area;
    const char *from = w->how == SHM_GATHER ? w->src : w->data;
    if (writes(s, w) && n) memcpy(segment_area(s, s->rank, (int)((s->step + 1) & 1)), from + at, n);
}

static void read_chunk(const segment *s, const shm_work *w, size_t chunk) {
    size_t area = s->head->area, at = chunk * area, n = w->count - at < area ? w->count - at : area;
    int parity = (int)(s->step & 1);
    if (!n || writes(s, w)) return;
    if (w->how == SHM_SPREAD) {
        memcpy((char *)w->data + at, segment_area(s, w->root, parity), n);
        return;
    }
    for (int r = 0; r < s->size; r++)
        memcpy((char *)w->data + (size_t)r * w->count + at,
               r == s->rank ? (const char *)w->src + at : segment_area(s, r, parity), n);
}

static size_t chunks_of(size_t bytes, size_t area) { /* empty messages still take a step, so that the ranks meet */
    return bytes ? (bytes + area - 1) / area : 1;
}

static void move_turn(const segment *s, const shm_work *w) {
    size_t chunks = chunks_of(w->count, s->head->area);
    if (w->turn < chunks) write_chunk(s, w, w->turn);
    if (w->turn) read_chunk(s, w, w->turn - 1);
}

typedef struct plan { /* of a work: all that a turn needs */
    chunked reduce;
    size_t turns;
    bool small;
} plan;

static plan plan_of(segment *s, const shm_work *w, const void **src) {
    if (w->how != SHM_REDUCE) return (plan){.turns = chunks_of(w->count, s->head->area) + 1};
    size_t elem = xt_dtype_size(w->dtype), bytes = w->count * elem, per_chunk = s->head->area / elem;
    plan p = {.small = bytes <= SMALL_BYTES && bytes <= s->head->area,
              .reduce = {.s = s,
                         .op = w->op,
                         .dtype = w->dtype,
                         .elem = elem,
                         .per_chunk = per_chunk,
                         .count = w->count,
                         .chunks = (w->count + per_chunk - 1) / per_chunk,
                         .data = w->data,
                         .src = src}};
    p.turns = p.small ? 2 : p.reduce.chunks + 2;
    return p;
}

static void work_turn(segment *s, const shm_work *w, const plan *p) {
    if (w->how != SHM_REDUCE)
        move_turn(s, w);
    else if (p->small)
        small_turn(&p->reduce, w->turn, w->count * p->reduce.elem);
    else
        large_turn(&p->reduce, w->turn);
}

xt_status shm_advance_work(coll_group *g, shm_work *w, int64_t deadline) {
    segment *s = g->state;
    const void *on_stack[MAX_ON_STACK],
        **src = s->size <= MAX_ON_STACK ? on_stack : base_malloc((size_t)s->size * sizeof *src);
    if (!src) return status_oom((size_t)s->size * sizeof *src, "a collective");
    plan p = plan_of(s, w, src);
    xt_status st = NULL;
    while (!w->done && !st) {
        if (w->posted) {
            if (!deadline && !segment_reached(s)) break;
            st = segment_settle(s, &w->call, deadline ? deadline : coll_deadline(0), call_kind_name(w->call.kind));
            if (st) break;
        }
        work_turn(s, w, &p);
        w->posted = ++w->turn < p.turns;
        if (w->posted)
            segment_post(s, &w->call);
        else
            w->done = true;
    }
    if (src != on_stack) base_free(src);
    return st;
}

bool shm_rest(coll_group *g, const shm_work *w, int64_t ns) {
    return w->posted && segment_rest(g->state, ns);
}

xt_status shm_check_work(coll_group *g, const shm_work *w, int64_t *since) {
    segment *s = g->state;
    xt_status st = w->posted ? segment_check_missing(s, s->step, call_kind_name(w->call.kind)) : NULL;
    return segment_confirm(&st, since) ? st : NULL;
}

xt_status shm_advance(coll_group *g, coll_job *j, int64_t deadline) {
    shm_work w = {.how = SHM_REDUCE,
                  .op = j->op,
                  .dtype = j->dtype,
                  .data = j->data,
                  .count = j->count,
                  .turn = j->turn,
                  .posted = j->posted,
                  .done = j->done,
                  .call = {.kind = CALL_ALL_REDUCE,
                           .op = (uint8_t)j->op,
                           .dtype = (uint8_t)j->dtype,
                           .bytes = j->count * xt_dtype_size(j->dtype),
                           .tag = j->tag}};
    xt_status st = shm_advance_work(g, &w, deadline);
    j->turn = w.turn;
    j->posted = w.posted;
    j->done = w.done;
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
        for (int r = 0; r < s->size && n; r++)
            memcpy((char *)dst + (size_t)r * bytes + at, segment_area(s, r, parity), n);
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
            memcpy(segment_area(s, s->rank, parity) + (size_t)r * room, (const char *)src + (size_t)r * bytes_each + at,
                   n);
        XT_TRY(segment_step(s, &call, deadline, call_kind_name(call.kind)));
        for (int r = 0; r < s->size && n; r++)
            memcpy((char *)dst + (size_t)r * bytes_each + at, segment_area(s, r, parity) + (size_t)s->rank * room, n);
        at += n;
    } while (at < bytes_each);
    return NULL;
}

xt_status shm_reduce_scatter(coll_group *g, coll_op op, xt_dtype t, const void *src, size_t count, void *dst,
                             int64_t deadline) {
    segment *s = g->state;
    size_t elem = xt_dtype_size(t), room = s->head->area / (size_t)s->size / elem * elem, bytes = count * elem, at = 0;
    call_desc call = {
        .kind = CALL_REDUCE_SCATTER, .op = (uint8_t)op, .dtype = (uint8_t)t, .bytes = bytes, .tag = g->tag};
    const void **from = base_malloc((size_t)s->size * sizeof *from);
    xt_status st = from ? NULL : status_oom((size_t)s->size * sizeof *from, "a reduce_scatter");
    if (!st) do {
            size_t n = chunk_at(at, bytes, room);
            int parity = (int)((s->step + 1) & 1);
            for (int r = 0; r < s->size && n; r++)
                if (r != s->rank)
                    memcpy(segment_area(s, s->rank, parity) + (size_t)r * room,
                           (const char *)src + (size_t)r * bytes + at, n);
            st = segment_step(s, &call, deadline, call_kind_name(call.kind));
            for (int r = 0; r < s->size; r++) from[r] = segment_area(s, r, parity) + (size_t)s->rank * room;
            from[s->rank] = (const char *)src + (size_t)s->rank * bytes + at;
            if (!st && n) reduce_fold(op, t, (char *)dst + at, from, s->size, n / elem);
            at += n;
        } while (at < bytes && !st);
    base_free(from);
    return st;
}

xt_status shm_permute(coll_group *g, int to, int from, const void *src, size_t bytes, void *dst, int64_t deadline) {
    segment *s = g->state;
    call_desc call = {.kind = CALL_PERMUTE, .bytes = bytes, .tag = g->tag};
    size_t at = 0;
    do {
        size_t n = chunk_at(at, bytes, s->head->area);
        int parity = (int)((s->step + 1) & 1);
        if (n && to >= 0 && to != s->rank) memcpy(segment_area(s, s->rank, parity), (const char *)src + at, n);
        XT_TRY(segment_step(s, &call, deadline, call_kind_name(call.kind)));
        if (n && from >= 0)
            memcpy((char *)dst + at, from == s->rank ? (const char *)src + at : segment_area(s, from, parity), n);
        at += n;
    } while (at < bytes);
    return NULL;
}
