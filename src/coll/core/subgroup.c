/* Groups of some ranks of another (coll_subgroup): found among those that are open, or opened. */
#include <stdatomic.h>

#include "coll/core/group.h"

static xt_status describe_sub(coll_group *g, const int *ranks, int n, coll_group **out) {
    coll_group *sub = NULL;
    int own = -1;
    for (int i = 0; i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= g->size)
            return status_new(XT_INVALID_ARGUMENT, NULL, "a group with rank %d of %d", ranks[i], g->size);
        if (ranks[i] == g->rank) own = i;
    }
    if (own < 0)
        return status_new(XT_INVALID_ARGUMENT, NULL, "rank %d is not in the group of ranks whose collective it calls",
                          g->rank);
    XT_TRY(group_new(own, n, &sub));
    sub->parent = g;
    sub->members = base_malloc((size_t)n * sizeof *sub->members);
    if (!sub->members) {
        coll_close(sub);
        return status_oom((size_t)n * sizeof *sub->members, "a group of ranks");
    }
    memcpy(sub->members, ranks, (size_t)n * sizeof *ranks);
    sub->key = hash_bytes(ranks, (size_t)n * sizeof *ranks, (hash128){(uint64_t)n, 1}).lo;
    *out = sub;
    return NULL;
}

xt_status coll_subgroup(coll_group *g, const int *ranks, int n, coll_group **out) {
    for (coll_group *sub = atomic_load(&g->subgroups); sub; sub = sub->next)
        if (sub->size == n && memcmp(sub->members, ranks, (size_t)n * sizeof *ranks) == 0) return *out = sub, NULL;
    coll_group *sub = NULL;
    XT_TRY(describe_sub(g, ranks, n, &sub));
    xt_status st = group_enter_alone(g);
    if (st) {
        coll_close(sub);
        return st;
    }
    st = group_leave(g, g->ops->subgroup(g, sub, coll_deadline(0)));
    if (st) {
        coll_close(sub);
        return st;
    }
    sub->next = atomic_load(&g->subgroups);
    atomic_store(&g->subgroups, sub);
    *out = sub;
    return NULL;
}
