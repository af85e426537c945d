/* Collectives on host memory, over the run's group. Without groups they go straight to the engine; with groups all ranks exchange everything and each takes
 * its part: groups on the host are for small things. */
#include "coll/coll.h"
#include "dist/collective.h"

typedef struct host_call {
    coll_group *group;
    rank_groups g;
    const int64_t *row; /* this rank's group */
    size_t place;
} host_call;

static xt_status begin(host_call *c, const xt_src *src, const char *what, const xt_collective_opts *o, bool permutes) {
    const world *w = world_get();
    char note[160], line[100];
    *c = (host_call){0};
    XT_TRY(rank_groups_read(o, w->size, permutes, &c->g));
    c->row = rank_groups_row(&c->g, w->rank, &c->place);
    if (w->size == 1) return NULL;
    XT_TRY(coll_run_group(&c->group));
    snprintf(note, sizeof note, "%s at %s", what, src_text(src_intern(src), line, sizeof line));
    coll_note(c->group, note);
    return NULL;
}

static xt_status end(host_call *c, const xt_src *src, const char *what, xt_status s) {
    rank_groups_free(&c->g);
    return status_at(status_context(s, "%s", what), src);
}

static bool whole_run(const host_call *c) {
    for (size_t i = 0; i < c->g.size; i++)
        if (c->g.ranks[i] != (int64_t)i) return false;
    return c->g.n == 1;
}

/* Everyone's bytes, side by side; base_free. */
static xt_status everything(const host_call *c, const void *from, size_t bytes, char **out) {
    size_t total;
    if (!size_mul(bytes, c->g.n * c->g.size, &total)) return status_oom(SIZE_MAX, "a collective");
    *out = base_malloc(total ? total : 1);
    if (!*out) return status_oom(total, "a collective");
    if (c->group) return coll_all_gather(c->group, from, bytes, *out);
    memcpy(*out, from, bytes);
    return NULL;
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

/* data[count] becomes the group's reduction. */
static xt_status reduce(const host_call *c, xt_reduce op, void *data, xt_dtype t, size_t count) {
    size_t bytes;
    XT_TRY(rank_reduce_check(op, t));
    if (!size_mul(count, xt_dtype_size(t), &bytes)) return status_new(XT_INVALID_ARGUMENT, NULL, "%zu elements are too many", count);
    if (c->group && whole_run(c)) {
        XT_TRY(coll_all_reduce(c->group, op_of(op), t, data, count));
    } else if (c->group) {
        char *all = NULL;
        const void **from = base_malloc(c->g.size * sizeof *from);
        xt_status s = from ? everything(c, data, bytes, &all) : status_oom(c->g.size * sizeof *from, "a collective");
        for (size_t i = 0; i < c->g.size && !s; i++) from[i] = all + (size_t)c->row[i] * bytes;
        if (!s) s = coll_fold(op_of(op), t, data, from, (int)c->g.size, count);
        base_free(from);
        base_free(all);
        XT_TRY(s);
    }
    if (op == XT_MEAN && c->g.size > 1) divide(data, t, count, (double)c->g.size);
    return NULL;
}

xt_status xt_host_all_reduce_at(const xt_src *src, void *data, xt_dtype t, size_t count, xt_collective_opts o) {
    host_call c;
    xt_status s = begin(&c, src, "xt_host_all_reduce", &o, false);
    if (!s) s = reduce(&c, o.op, data, t, count);
    return end(&c, src, "xt_host_all_reduce", s);
}

xt_status xt_host_reduce_scatter_at(const xt_src *src, const void *from, xt_dtype t, size_t count, void *to, xt_collective_opts o) {
    host_call c;
    size_t part = count * xt_dtype_size(t), bytes = 0;
    xt_status s = begin(&c, src, "xt_host_reduce_scatter", &o, false);
    char *all = NULL;
    if (!s && !size_mul(part, c.g.size, &bytes)) s = status_new(XT_INVALID_ARGUMENT, NULL, "%zu elements are too many", count);
    if (!s && !(all = base_malloc(bytes ? bytes : 1))) s = status_oom(bytes, "a collective");
    if (!s) {
        memcpy(all, from, bytes);
        s = reduce(&c, o.op, all, t, count * c.g.size);
    }
    if (!s) memcpy(to, all + c.place * part, part);
    base_free(all);
    return end(&c, src, "xt_host_reduce_scatter", s);
}

xt_status xt_host_all_gather_at(const xt_src *src, const void *from, size_t bytes, void *to, xt_collective_opts o) {
    host_call c;
    xt_status s = begin(&c, src, "xt_host_all_gather", &o, false);
    char *all = NULL;
    if (!s && c.group && whole_run(&c)) {
        s = coll_all_gather(c.group, from, bytes, to);
    } else if (!s) {
        s = everything(&c, from, bytes, &all);
        for (size_t i = 0; i < c.g.size && !s; i++) memcpy((char *)to + i * bytes, all + (size_t)c.row[i] * bytes, bytes);
    }
    base_free(all);
    return end(&c, src, "xt_host_all_gather", s);
}

xt_status xt_host_all_to_all_at(const xt_src *src, const void *from, size_t bytes, void *to, xt_collective_opts o) {
    host_call c;
    xt_status s = begin(&c, src, "xt_host_all_to_all", &o, false);
    char *all = NULL;
    if (!s && c.group && whole_run(&c)) {
        s = coll_all_to_all(c.group, from, bytes, to);
    } else if (!s) {
        size_t own = bytes * c.g.size;
        s = everything(&c, from, own, &all);
        for (size_t i = 0; i < c.g.size && !s; i++) memcpy((char *)to + i * bytes, all + (size_t)c.row[i] * own + c.place * bytes, bytes);
    }
    base_free(all);
    return end(&c, src, "xt_host_all_to_all", s);
}

xt_status xt_host_permute_at(const xt_src *src, const void *from, size_t bytes, void *to, xt_collective_opts o) {
    host_call c;
    char *all = NULL;
    xt_status s = begin(&c, src, "xt_host_permute", &o, true);
    if (!s) s = everything(&c, from, bytes, &all);
    int64_t sender = s ? -1 : rank_groups_sender(&c.g, world_get()->rank);
    if (!s && sender >= 0) memcpy(to, all + (size_t)sender * bytes, bytes);
    if (!s && sender < 0) memset(to, 0, bytes);
    base_free(all);
    return end(&c, src, "xt_host_permute", s);
}

xt_status xt_host_broadcast_at(const xt_src *src, void *data, size_t bytes, xt_collective_opts o) {
    host_call c;
    char *all = NULL;
    xt_status s = begin(&c, src, "xt_host_broadcast", &o, false);
    if (!s && c.group && c.g.n == 1) {
        s = coll_broadcast(c.group, (int)c.row[o.root], data, bytes);
    } else if (!s && c.group) {
        s = everything(&c, data, bytes, &all);
        if (!s) memcpy(data, all + (size_t)c.row[o.root] * bytes, bytes);
    }
    base_free(all);
    return end(&c, src, "xt_host_broadcast", s);
}
