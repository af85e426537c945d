/* Collectives on host memory: one call of the engine each, over the run's group or, with groups, among the ranks of
 * this rank's group alone. */
#include "coll/coll.h"
#include "dist/collective.h"

typedef struct host_call {
    coll_group *group; /* NULL: this rank is alone in its group (and in the run, for a permute) */
    rank_groups g;
    size_t place;
} host_call;

/* The group of the ranks in row. */
static xt_status narrow(host_call *c, const int64_t *row) {
    bool all = c->g.n == 1;
    int *members = base_malloc(c->g.size * sizeof *members);
    if (!members) return status_oom(c->g.size * sizeof *members, "a collective");
    for (size_t i = 0; i < c->g.size; i++) {
        members[i] = (int)row[i];
        all &= row[i] == (int64_t)i;
    }
    xt_status s = NULL;
    if (c->g.size == 1)
        c->group = NULL;
    else if (!all)
        s = coll_subgroup(c->group, members, (int)c->g.size, &c->group);
    base_free(members);
    return s;
}

static xt_status begin(host_call *c, const xt_src *src, const char *what, const xt_collective_opts *o, bool permutes) {
    const world *w = world_get();
    char note[160], line[100];
    *c = (host_call){0};
    XT_TRY(rank_groups_read(o, w->size, permutes, &c->g));
    const int64_t *row = rank_groups_row(&c->g, w->rank, &c->place);
    if (w->size == 1) return NULL;
    XT_TRY(coll_run_group(&c->group));
    snprintf(note, sizeof note, "%s at %s", what, src_text(src_intern(src), line, sizeof line));
    coll_note(c->group, note);
    return permutes ? NULL : narrow(c, row);
}

static xt_status end(host_call *c, const xt_src *src, const char *what, xt_status s) {
    rank_groups_free(&c->g);
    return status_at(status_context(s, "%s", what), src);
}

/* A part for each rank of the group is no more than memory can hold: a negative number that became a size is not. */
static xt_status fits(const host_call *c, size_t bytes) {
    size_t all;
    if (size_mul(bytes, c->g.size ? c->g.size : 1, &all) && all <= PTRDIFF_MAX) return NULL;
    return status_new(XT_INVALID_ARGUMENT, NULL, "%zu bytes for each of %zu ranks are too many", bytes, c->g.size);
}
static xt_status elements_fit(const host_call *c, xt_dtype t, size_t count) {
    size_t bytes;
    if (size_mul(count, xt_dtype_size(t), &bytes)) return fits(c, bytes);
    return status_new(XT_INVALID_ARGUMENT, NULL, "%zu elements are too many", count);
}

static coll_op op_of(xt_reduce op) {
    switch (op) {
    case XT_MIN: return COLL_MIN;
    case XT_MAX: return COLL_MAX;
    case XT_PRODUCT: return COLL_PROD;
    case XT_AND: return COLL_AND;
    case XT_OR: return COLL_OR;
    default: return COLL_SUM;
    }
}

/* data /= n, rounded once from the sum as it was rounded. */
static void divide(void *data, xt_dtype t, size_t count, double n) {
    switch (t) {
    case XT_F64:
    case XT_C128:
        for (size_t i = 0; i < count * (t == XT_C128 ? 2 : 1); i++) ((double *)data)[i] /= n;
        break;
    case XT_F32:
    case XT_C64:
        for (size_t i = 0; i < count * (t == XT_C64 ? 2 : 1); i++) ((float *)data)[i] /= (float)n;
        break;
    default: coll_scale_half(data, t, count, (float)(1 / n)); break;
    }
}

xt_status xt_host_all_reduce_at(const xt_src *src, void *data, xt_dtype t, size_t count, xt_collective_opts o) {
    host_call c;
    xt_status s = begin(&c, src, "xt_host_all_reduce", &o, false);
    if (!s) s = rank_reduce_check(o.op, t);
    if (!s) s = elements_fit(&c, t, count);
    if (!s && c.group) s = coll_all_reduce(c.group, op_of(o.op), t, data, count);
    if (!s && o.op == XT_MEAN && c.g.size > 1) divide(data, t, count, (double)c.g.size);
    return end(&c, src, "xt_host_all_reduce", s);
}

xt_status xt_host_reduce_scatter_at(const xt_src *src, const void *from, xt_dtype t, size_t count, void *to,
                                    xt_collective_opts o) {
    host_call c;
    xt_status s = begin(&c, src, "xt_host_reduce_scatter", &o, false);
    if (!s) s = rank_reduce_check(o.op, t);
    if (!s) s = elements_fit(&c, t, count);
    if (!s && c.group) s = coll_reduce_scatter(c.group, op_of(o.op), t, from, count, to);
    if (!s && !c.group) memmove(to, from, count * xt_dtype_size(t));
    if (!s && o.op == XT_MEAN && c.g.size > 1) divide(to, t, count, (double)c.g.size);
    return end(&c, src, "xt_host_reduce_scatter", s);
}

xt_status xt_host_all_gather_at(const xt_src *src, const void *from, size_t bytes, void *to, xt_collective_opts o) {
    host_call c;
    xt_status s = begin(&c, src, "xt_host_all_gather", &o, false);
    if (!s) s = fits(&c, bytes);
    if (!s && c.group)
        s = coll_all_gather(c.group, from, bytes, to);
    else if (!s)
        memmove(to, from, bytes);
    return end(&c, src, "xt_host_all_gather", s);
}

xt_status xt_host_all_to_all_at(const xt_src *src, const void *from, size_t bytes, void *to, xt_collective_opts o) {
    host_call c;
    xt_status s = begin(&c, src, "xt_host_all_to_all", &o, false);
    if (!s) s = fits(&c, bytes);
    if (!s && c.group)
        s = coll_all_to_all(c.group, from, bytes, to);
    else if (!s)
        memmove(to, from, bytes);
    return end(&c, src, "xt_host_all_to_all", s);
}

xt_status xt_host_permute_at(const xt_src *src, const void *from, size_t bytes, void *to, xt_collective_opts o) {
    host_call c;
    xt_status s = begin(&c, src, "xt_host_permute", &o, true);
    if (!s) s = fits(&c, bytes);
    int64_t self = world_get()->rank, sender = s ? -1 : rank_groups_sender(&c.g, self),
            receiver = s ? -1 : rank_groups_receiver(&c.g, self);
    if (!s && c.group)
        s = coll_permute(c.group, (int)receiver, (int)sender, from, bytes, to);
    else if (!s && sender >= 0)
        memmove(to, from, bytes);
    if (!s && sender < 0) memset(to, 0, bytes);
    return end(&c, src, "xt_host_permute", s);
}

xt_status xt_host_broadcast_at(const xt_src *src, void *data, size_t bytes, xt_collective_opts o) {
    host_call c;
    xt_status s = begin(&c, src, "xt_host_broadcast", &o, false);
    if (!s) s = fits(&c, bytes);
    if (!s && c.group) s = coll_broadcast(c.group, o.root, data, bytes);
    return end(&c, src, "xt_host_broadcast", s);
}
