/* What each rank has of its own in plain data parallel training: buffers that every rank moves by its own batches
 * (running statistics of batch norm). The checkpoint's tensors are rank 0's; of buffers in which ranks differ it holds
 * all ranks' as "xtrain:ranks:NAME" [ranks, elements] too, so that a resumed run goes on exactly as it would have.
 * Other programs ignore these. */
#include "coll/coll.h"
#include "lazy/mesh/mesh.h"
#include "nn/nn.h"
#include "train/checkpoint.h"

static const char prefix[] = "xtrain:ranks:";

void checkpoint_ranks_forget(checkpoint_ranks *r) {
    for (size_t i = 0; i < r->n; i++) base_free(r->all[i].rows);
    base_free(r->all);
    *r = (checkpoint_ranks){0};
}

static bool has_copies(void) {
    return world_get()->size > 1 && !lazy_spmd();
}

static xt_status gather_one(coll_group *g, checkpoint_ranks *r, int tensor, xt_tensor buffer, const char *name) {
    const ir_type *type = lazy_type(buffer);
    size_t n = type ? ir_type_bytes(type) : 0, all = 0;
    if (!size_mul(n, (size_t)coll_size(g), &all)) return status_oom(n, name);
    char *mine = base_malloc(n + 1);
    checkpoint_own own = {tensor, base_malloc(all + 1)};
    xt_status s = mine && own.rows ? lazy_state_read(buffer, mine, n) : status_oom(all, name);
    if (!s) s = coll_all_gather(g, mine, n, own.rows);
    if (!s && !VEC_PUSH(r->all, r->n, r->cap, own)) s = status_oom(sizeof own, name);
    base_free(mine);
    if (s) base_free(own.rows);
    return s;
}

static bool ranks_differ(const hash128 *all, size_t n, size_t i) {
    for (int k = 1; k < world_get()->size; k++)
        if (!hash_equal(all[(size_t)k * n + i], all[i])) return true;
    return false;
}

static xt_status gather_differing(checkpoint_ranks *r, const xt_module *m, const int *which, size_t n,
                                  const hash128 *all) {
    coll_group *g;
    XT_TRY(coll_run_group(&g));
    for (size_t i = 0; i < n; i++)
        if (ranks_differ(all, n, i))
            XT_TRY(gather_one(g, r, which[i], xt_module_tensor(m, which[i]), xt_module_tensor_name(m, which[i])));
    return NULL;
}

xt_status checkpoint_ranks_gather(checkpoint_ranks *r, const xt_module *m) {
    checkpoint_ranks_forget(r);
    if (!m || !has_copies()) return NULL;
    size_t room = (size_t)xt_module_tensors(m) + 1, n = 0;
    xt_tensor *buffers = base_calloc(room, sizeof *buffers);
    const char **names = base_calloc(room, sizeof *names);
    int *which = base_calloc(room, sizeof *which);
    hash128 *all = base_calloc(room * (size_t)world_get()->size, sizeof *all);
    xt_status s = buffers && names && which && all ? NULL : status_oom(room * sizeof *all, "buffers of all ranks");
    for (int i = 0; i < xt_module_tensors(m) && !s; i++) {
        if (xt_module_tensor_is_param(m, i)) continue;
        buffers[n] = xt_module_tensor(m, i);
        names[n] = xt_module_tensor_name(m, i);
        which[n++] = i;
    }
    if (!s && n) s = lazy_replicas_compare("a checkpoint of several ranks", n, buffers, names, all);
    if (!s && n) s = gather_differing(r, m, which, n, all);
    base_free(buffers);
    base_free(names);
    base_free(which);
    base_free(all);
    if (s) checkpoint_ranks_forget(r);
    return s;
}

xt_status checkpoint_rows_take(const checkpoint_ranks *r, const char *under, const xt_module *m, snapshot *s) {
    char name[1100];
    for (size_t i = 0; i < r->n; i++) {
        const ir_type *type = lazy_type(xt_module_tensor(m, r->all[i].tensor));
        const char *own = xt_module_tensor_name(m, r->all[i].tensor);
        if (!type) return status_new(XT_FAILED_PRECONDITION, NULL, "tensor %s is gone", own);
        snprintf(name, sizeof name, "%s%s", under, own);
        const ir_type *rows = ir_tensor(type->dtype, 2, (int64_t[]){world_get()->size, (int64_t)type->count});
        size_t n = rows ? ir_type_bytes(rows) : 0;
        void *copy = rows ? base_malloc(n + 1) : NULL;
        if (!copy) return status_oom(n, name);
        memcpy(copy, r->all[i].rows, n);
        XT_TRY(snapshot_add(s, name, rows, copy, n)); /* which takes the copy over */
    }
    return NULL;
}

xt_status checkpoint_ranks_take(const checkpoint_ranks *r, const xt_module *m, snapshot *s) {
    return checkpoint_rows_take(r, prefix, m, s);
}

/* The module may not have its tensors yet: then its first pass takes them. Ranks may be more or fewer than those that
 * saved: they share what there is. */
static xt_status restore_one(xt_module *m, const char *name, st_file *f, const st_entry *e, const char *path) {
    const st_entry *first = st_find(f, name);
    const ir_type *type = first ? ir_tensor(first->dtype, (size_t)first->rank, first->dims) : NULL;
    if (!type || e->rank != 2 || e->dtype != type->dtype || e->dims[0] < 1 || e->dims[1] != type->count)
        return status_new(XT_DATA_LOSS, NULL, "%s: %s does not hold a row for each rank, of as many elements as %s has",
                          path, e->name, name);
    size_t all = (size_t)(e->end - e->begin), n = all / (size_t)e->dims[0];
    char *rows = base_malloc(all + 1), *own = rows ? rows + n * (size_t)(world_get()->rank % e->dims[0]) : NULL;
    xt_status s = rows ? st_read(f, e, rows, all) : status_oom(all, path);
    if (!s) s = nn_preload(m->root, name, type, own);
    const nn_entry *made = s ? NULL : nn_find(m->root, name);
    if (made) lazy_state_set_own(made->t); /* an optimizer's first step leaves it */
    base_free(rows);
    return s;
}

xt_status checkpoint_ranks_restore(xt_module *m, st_file *f, const char *path) {
    for (size_t i = 0; has_copies() && i < st_count(f); i++) {
        const st_entry *e = st_at(f, i);
        if (strncmp(e->name, prefix, sizeof prefix - 1) == 0)
            XT_TRY(restore_one(m, e->name + sizeof prefix - 1, f, e, path));
    }
    return NULL;
}
