/* Collectives of a group, whatever carries them: arguments are checked and bytes counted here, then the group's row is
 * called, one collective at a time. */
#include "coll/core/group.h"

xt_status coll_barrier(coll_group *g, double timeout, const char *what) {
    XT_TRY(group_enter_alone(g));
    return group_leave(g, g->ops->barrier(g, coll_deadline(timeout), what ? what : "barrier"));
}

xt_status coll_put(coll_group *g, const char *key, size_t key_size, const char *value, size_t value_size) {
    if (key_size == 0 || key_size > 4096 || value_size > COLL_VALUE_MAX)
        return status_new(
            XT_INVALID_ARGUMENT, NULL,
            "a key of %zu and a value of %zu bytes for the ranks' key-value store; at most 4096 and %zu are possible",
            key_size, value_size, COLL_VALUE_MAX);
    g = group_whole(g);
    return g->ops->put(g, key, key_size, value, value_size);
}

xt_status coll_get(coll_group *g, const char *key, size_t key_size, int timeout_ms, char **out, size_t *out_size) {
    *out = NULL;
    *out_size = 0;
    g = group_whole(g);
    return g->ops->get(g, key, key_size, coll_now() + (int64_t)timeout_ms * 1000000, out, out_size);
}

/* Of the group's list, to its end at once where there is a deadline. */
static xt_status begin(coll_group *g, coll_op op, xt_dtype t, void *data, size_t count, int64_t deadline,
                       coll_job *out) {
    size_t bytes;
    *out = (coll_job){.kind = CALL_ALL_REDUCE, .op = op, .dtype = t, .data = data, .count = count, .done = true};
    XT_TRY(reduce_check(op, t));
    if (!size_mul(count, xt_dtype_size(t), &bytes))
        return status_new(XT_INVALID_ARGUMENT, NULL, "all_reduce of %zu elements is too large", count);
    if (g->size == 1) return NULL;
    counter_add(COUNTER_collective_bytes, (int64_t)bytes);
    XT_TRY(g->parent ? group_enter_alone(g) : group_enter(g));
    out->done = false;
    out->tag = g->tag;
    if (g->last_job)
        g->last_job->next = out;
    else
        g->first_job = out;
    g->last_job = out;
    return group_leave(g, group_advance(g, deadline ? out : NULL, deadline));
}

xt_status coll_start(coll_group *g, coll_op op, xt_dtype t, void *data, size_t count, coll_job *out) {
    /* one list of started jobs is enough: that of the whole group */
    return begin(g, op, t, data, count, g->parent ? coll_deadline(0) : 0, out);
}

xt_status coll_poll(coll_group *g) {
    XT_TRY(group_enter(g));
    return group_leave(g, group_advance(g, NULL, 0));
}

xt_status coll_finish(coll_group *g, coll_job *j) {
    if (g->size == 1) return NULL;
    XT_TRY(group_enter(g));
    return group_leave(g, j->done ? NULL : group_advance(g, j, coll_deadline(0)));
}

xt_status coll_all_reduce(coll_group *g, coll_op op, xt_dtype t, void *data, size_t count) {
    coll_job j;
    return begin(g, op, t, data, count, coll_deadline(0), &j);
}

xt_status coll_all_gather(coll_group *g, const void *src, size_t bytes, void *dst) {
    counter_add(COUNTER_collective_bytes, (int64_t)bytes);
    XT_TRY(group_enter_alone(g));
    return group_leave(g, g->ops->all_gather(g, src, bytes, dst, coll_deadline(0)));
}

xt_status coll_broadcast(coll_group *g, int root, void *data, size_t bytes) {
    if (root < 0 || root >= g->size)
        return status_new(XT_INVALID_ARGUMENT, NULL, "broadcast from rank %d of %d", root, g->size);
    if (root == g->rank) counter_add(COUNTER_collective_bytes, (int64_t)bytes);
    XT_TRY(group_enter_alone(g));
    return group_leave(g, g->ops->broadcast(g, root, data, bytes, coll_deadline(0)));
}

xt_status coll_all_to_all(coll_group *g, const void *src, size_t bytes_each, void *dst) {
    counter_add(COUNTER_collective_bytes, (int64_t)bytes_each * g->size);
    XT_TRY(group_enter_alone(g));
    return group_leave(g, g->ops->all_to_all(g, src, bytes_each, dst, coll_deadline(0)));
}

xt_status coll_reduce_scatter(coll_group *g, coll_op op, xt_dtype t, const void *src, size_t count, void *dst) {
    size_t bytes;
    XT_TRY(reduce_check(op, t));
    if (!size_mul(count, xt_dtype_size(t) * (size_t)g->size, &bytes))
        return status_new(XT_INVALID_ARGUMENT, NULL, "reduce_scatter of %zu elements for each rank is too large",
                          count);
    counter_add(COUNTER_collective_bytes, (int64_t)bytes);
    XT_TRY(group_enter_alone(g));
    return group_leave(g, g->ops->reduce_scatter(g, op, t, src, count, dst, coll_deadline(0)));
}

xt_status coll_permute(coll_group *g, int to, int from, const void *src, size_t bytes, void *dst) {
    if (to >= g->size || from >= g->size)
        return status_new(XT_INVALID_ARGUMENT, NULL, "a permute to rank %d and from rank %d of %d", to, from, g->size);
    if (to >= 0) counter_add(COUNTER_collective_bytes, (int64_t)bytes);
    XT_TRY(group_enter_alone(g));
    return group_leave(g, g->ops->permute(g, to, from, src, bytes, dst, coll_deadline(0)));
}
