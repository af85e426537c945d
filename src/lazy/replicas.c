/* States that every rank holds whole (data parallel training without a mesh): comparing them by hash, and giving all ranks the value of rank 0.
 * Every rank calls these at the same place; they wait for the step before and for each other. */
#include "coll/coll.h"
#include "lazy/mesh.h"
#include "lazy/step.h"

typedef struct network { /* what must be equal before values can be compared */
    uint64_t n;
    hash128 names;
} network;

static xt_status same_network(coll_group *g, const char *what, size_t n, const xt_tensor *states, const char *const *names) {
    const world *w = world_get();
    network mine = {.n = n}, *all = base_calloc((size_t)w->size, sizeof *all);
    if (!all) return status_oom((size_t)w->size * sizeof *all, "comparing ranks");
    for (size_t i = 0; i < n; i++) {
        const ir_type *t = lazy_type(states[i]);
        mine.names = hash_bytes(names[i], strlen(names[i]) + 1, mine.names);
        if (t) mine.names = hash_bytes(t->dims, t->rank * sizeof *t->dims, mine.names);
    }
    xt_status s = coll_all_gather(g, &mine, sizeof mine, all);
    for (int r = 1; r < w->size && !s; r++)
        if (all[r].n != all[0].n || !hash_equal(all[r].names, all[0].names))
            s = status_new(XT_FAILED_PRECONDITION, NULL,
                           "%s: rank %d has another network than rank 0 (%llu and %llu parameters and buffers, or other names or shapes); every rank must build the same one", what, r,
                           (unsigned long long)all[r].n, (unsigned long long)all[0].n);
    base_free(all);
    return s;
}

static xt_status value_hash(xt_tensor t, const char *name, hash128 *out) {
    const ir_type *type = lazy_type(t);
    size_t n = type ? ir_type_bytes(type) : 0;
    void *data = base_malloc(n ? n : 1);
    xt_status s = data ? lazy_state_read(t, data, n) : status_oom(n, name);
    if (!s) *out = hash_bytes(data, n, (hash128){0});
    base_free(data);
    return s;
}

xt_status lazy_replicas_compare(const char *what, size_t n, const xt_tensor *states, const char *const *names, hash128 *out_all) {
    coll_group *g;
    XT_TRY(coll_run_group(&g));
    XT_TRY(same_network(g, what, n, states, names));
    hash128 *mine = base_calloc(n + 1, sizeof *mine);
    xt_status s = mine ? NULL : status_oom(n * sizeof *mine, "comparing ranks");
    for (size_t i = 0; i < n && !s; i++) s = value_hash(states[i], names[i], &mine[i]);
    if (!s && n) s = coll_all_gather(g, mine, n * sizeof *mine, out_all);
    base_free(mine);
    return s;
}

/* What the step being recorded has read of the state is the new value as well. */
static xt_status replace(lazy_ctx *c, xt_tensor t, void *data) {
    lazy_slot *s = lazy_slot_of(c, t);
    lazy_buf *old = s->buf;
    base_free(s->host);
    s->host = data;
    s->has_host = true;
    s->buf = NULL;
    if (!old) return NULL;
    xt_status e = lazy_upload_state(c, s);
    if (e) {
        s->buf = old;
        return e;
    }
    for (size_t k = 0; k < c->n_leaves; k++) {
        lazy_leaf *leaf = &c->leaves[k];
        if (leaf->buf != old || leaf->slot != t.slot || leaf->generation != t.generation) continue;
        lazy_buf_release(leaf->buf);
        lazy_buf_retain(s->buf);
        leaf->buf = s->buf;
    }
    lazy_buf_release(old);
    return NULL;
}

xt_status lazy_replicas_take(xt_tensor state, const char *name) {
    coll_group *g;
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, state) : NULL;
    if (!s || s->failed) return status_new(XT_INVALID_ARGUMENT, NULL, "%s is gone", name);
    XT_TRY(coll_run_group(&g));
    size_t n = ir_type_bytes(s->type);
    void *data = base_malloc(n ? n : 1);
    xt_status e = data ? lazy_state_read(state, data, n) : status_oom(n, name);
    if (!e) e = coll_broadcast(g, 0, data, n);
    if (!e && world_get()->rank != 0) return replace(c, state, data);
    base_free(data);
    return e;
}
