/* Shared memory as a transport: its row of functions, that of a group that has it, and that of a rank alone. */
#include "coll/shm/segment.h"
#include "coll/shm/shm.h"

static xt_status shm_barrier(coll_group *g, int64_t deadline, const char *what) {
    call_desc call = {.kind = CALL_BARRIER};
    return segment_step(g->state, &call, deadline, what);
}

static void shm_note(coll_group *g, const char *doing) {
    segment_note(g->state, doing);
}

static bool shm_peer_note(coll_group *g, int rank, char *out, size_t n) {
    const segment *s = g->state;
    if (rank < 0 || rank >= s->size || !n) return false;
    segment_read_note(&s->slots[rank], out, n);
    return out[0] != 0;
}

static void shm_leaving(coll_group *g, coll_end end, const char *how) {
    segment *s = g->state;
    segment_say_end(&s->slots[s->rank], end, how);
}

static void shm_exits(coll_group *g, str *out) {
    segment_exits(g->state, out);
}

/* A group of its own: its ranks are those of the segment. */
static xt_status shm_own_subgroup(coll_group *g, coll_group *sub, int64_t deadline) {
    size_t n = (size_t)sub->size * sizeof *sub->members;
    int *ranks = base_malloc(n);
    if (!ranks) return status_oom(n, "a group of ranks");
    memcpy(ranks, sub->members, n);
    return shm_subgroup(g, sub, ranks, deadline);
}

void shm_rename_ranks(coll_group *g, const int *ranks) {
    ((segment *)g->state)->names = ranks;
}

static void shm_fail(coll_group *g, const char *why) {
    segment_leave(g->state, SLOT_FAILED, why);
}

static void shm_close(coll_group *g) {
    segment *s = g->state;
    if (!group_whole(g)->failed) segment_leave(s, SLOT_CLOSED, NULL);
    segment_detach(s);
    base_free(s);
}

static const coll_ops shm_ops = {
    .barrier = shm_barrier,
    .put = shm_put,
    .get = shm_get,
    .advance = shm_advance,
    .all_gather = shm_all_gather,
    .broadcast = shm_broadcast,
    .all_to_all = shm_all_to_all,
    .reduce_scatter = shm_reduce_scatter,
    .permute = shm_permute,
    .subgroup = shm_own_subgroup,
    .note = shm_note,
    .peer_note = shm_peer_note,
    .leaving = shm_leaving,
    .exits = shm_exits,
    .fail = shm_fail,
    .close = shm_close,
};

/* --- how groups come to be --- */

static bool serves(const char *name, int size) {
    (void)name, (void)size;
    return true; /* the last one asked: a name of the maker's, or any word */
}

static bool creates(int size) {
    (void)size;
    return true;
}

static xt_status open_group(coll_group *g, const char *name, int64_t deadline) {
    return shm_join(g, name, &shm_ops, NULL, deadline);
}

const coll_transport shm_transport = {
    .name = "shared memory",
    .serves = serves,
    .creates = creates,
    .create = shm_create,
    .run_name = job_word,
    .duplicate_name = shm_duplicate_name,
    .open = open_group,
    .destroy = shm_destroy,
    .announce = shm_announce,
    .announce_end = shm_announce_end,
    .last_note = shm_last_note,
};

/* --- a rank alone: the same code over a segment that nobody else knows --- */

static bool serves_alone(const char *name, int size) {
    (void)name;
    return size == 1;
}

static xt_status open_alone(coll_group *g, const char *name, int64_t deadline) {
    char *own = NULL;
    (void)name;
    XT_TRY(shm_create(1, &own));
    xt_status st = open_group(g, own, deadline);
    shm_destroy(own);
    base_free(own);
    return st;
}

const coll_transport alone_transport = {
    .name = "one rank alone",
    .across_hosts = true,
    .serves = serves_alone,
    .duplicate_name = shm_duplicate_name,
    .open = open_alone,
};
