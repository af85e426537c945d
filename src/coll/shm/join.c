/* Joining a group's segment, and groups of some ranks: each has a segment of its own, so that its steps count and wait
 * for its members alone. The first member makes it and the others learn its name from the key-value store of the whole
 * group; where that one was found by an agreed word (its ranks may not see each other's /proc), by a word too. */
#include "coll/shm/segment.h"
#include "coll/shm/shm.h"

static const char first_of_group[] = "the first collective of a group of ranks";

xt_status shm_join(coll_group *g, const char *name, const coll_ops *ops, const coll_group *whole, int64_t deadline) {
    segment *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a group of ranks");
    xt_status st = segment_attach(name, g->rank, g->size, deadline, s);
    if (st) {
        base_free(s);
        return st;
    }
    s->later = whole || g->later;
    if (whole) {
        s->parent = whole->state;
        s->parent_ranks = g->segment_ranks;
    }
    g->state = s;
    g->ops = ops;
    call_desc call = {.kind = CALL_JOIN};
    return segment_step(s, &call, deadline, s->later ? first_of_group : call_kind_name(CALL_JOIN));
}

static size_t key_text(const coll_group *sub, char *out, size_t n) {
    return (size_t)snprintf(out, n, "group/%016llx", (unsigned long long)sub->key);
}

/* Other members need not wait for one that has died before it came. */
static void announce_members(const char *name, const coll_group *g, const coll_group *sub) {
    const segment *all = g->state;
    for (int i = 0; i < sub->size; i++) shm_announce(name, i, atomic_load(&all->slots[sub->segment_ranks[i]].pid));
}

static xt_status make_segment(coll_group *g, const coll_group *sub, char **out_name) {
    char key[40];
    size_t n = key_text(sub, key, sizeof key);
    xt_status st = shm_create(sub->size, out_name);
    if (!st) announce_members(*out_name, g, sub);
    const char *said = st ? "" : *out_name; /* empty: it could not be made */
    xt_status told = shm_put(g, key, n, said, strlen(said));
    if (st) xt_status_free(told);
    return st ? st : told;
}

/* The name that the first member says, while it lives. */
static xt_status receive_name(coll_group *g, const coll_group *sub, int64_t deadline, char **out_name) {
    segment *s = g->state;
    char key[40];
    size_t n = key_text(sub, key, sizeof key), size;
    _Atomic uint32_t *bell = kv_bell(s->head, key, n);
    for (int64_t since = 0;;) {
        uint32_t seen = atomic_load(bell);
        bool found;
        XT_TRY(shm_look(g, key, n, out_name, &size, &found));
        if (found && size) return NULL;
        if (found)
            return status_new(XT_ABORTED, NULL,
                              "rank %d could not make the memory of its group of %d ranks; its own message says why",
                              sub->members ? sub->members[0] : sub->segment_ranks[0], sub->size);
        xt_status st = segment_check_rank(s, sub->segment_ranks[0], first_of_group);
        if (segment_confirm(&st, &since)) return st;
        if (coll_now() >= deadline) return segment_late(s, sub->segment_ranks[0], first_of_group);
        segment_sleep(bell, seen, deadline);
    }
}

static xt_status find_name(coll_group *g, const coll_group *sub, int64_t deadline, char **out_name) {
    char tag[24];
    snprintf(tag, sizeof tag, "g%016llx", (unsigned long long)sub->key);
    if (!g->name || g->name[0] != '/') return coll_derive_name(g->name ? g->name : "one", tag, out_name);
    return sub->rank == 0 ? make_segment(g, sub, out_name) : receive_name(g, sub, deadline, out_name);
}

xt_status shm_duplicate_name(coll_group *g, const char *tag, int64_t deadline, char **out_name) {
    if (!g->name || g->name[0] != '/') return coll_derive_name(g->name ? g->name : "one", tag, out_name);
    int *all = base_malloc((size_t)g->size * sizeof *all);
    if (!all) return status_oom((size_t)g->size * sizeof *all, "a group of ranks");
    for (int r = 0; r < g->size; r++) all[r] = r;
    coll_group copy = {.rank = g->rank, .size = g->size, .members = all, .segment_ranks = all};
    copy.key = hash_bytes(tag, strlen(tag), (hash128){(uint64_t)g->size, 2}).lo;
    xt_status st = g->rank == 0 ? make_segment(g, &copy, out_name) : receive_name(g, &copy, deadline, out_name);
    base_free(all);
    return st;
}

xt_status shm_subgroup(coll_group *g, coll_group *sub, int *segment_ranks, int64_t deadline) {
    char *name = NULL;
    sub->segment_ranks = segment_ranks;
    if (sub->size == 1) {
        XT_TRY(shm_create(1, &name));
    } else {
        XT_TRY(find_name(g, sub, deadline, &name));
    }
    xt_status st = shm_join(sub, name, g->ops, g, deadline);
    if (sub->rank == 0) shm_destroy(name); /* all are in */
    base_free(name);
    return st;
}

xt_status shm_side_group(coll_group *g, int *segment_ranks, int rank, int size, uint64_t key, int64_t deadline,
                         coll_group **out) {
    coll_group *side = NULL;
    xt_status st = group_new(rank, size, &side);
    if (st) {
        base_free(segment_ranks);
        return st;
    }
    side->parent = g;
    side->key = key;
    st = shm_subgroup(g, side, segment_ranks, deadline);
    if (st) {
        coll_close(side);
        return st;
    }
    *out = side;
    return NULL;
}
