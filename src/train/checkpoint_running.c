/* The running means (xt_running) of all ranks, as "xtrain:running:N" [ranks, window + 1]: the rows of a resumed run show what the unbroken run's show. */
#include "coll/coll.h"
#include "lazy/mesh.h"
#include "metrics/running.h"
#include "train/checkpoint.h"

static const char prefix[] = "xtrain:running:";

void checkpoint_running_forget(checkpoint_running *r) {
    for (size_t i = 0; i < r->n; i++) base_free(r->all[i].rows);
    base_free(r->all);
    *r = (checkpoint_running){0};
}

/* Ranks that made others, or a mesh, whose ranks all have the whole: this rank's stand alone. */
static xt_status ranks_of(size_t n, coll_group **out_group, int64_t *out) {
    const world *w = world_get();
    *out = 1;
    if (w->size <= 1 || lazy_spmd()) return NULL;
    XT_TRY(coll_run_group(out_group));
    uint64_t mine = n;
    for (size_t i = 0; i < n; i++) mine = mine * 1048583 + (uint64_t)lazy_type(running_ring(i))->count;
    uint64_t *all = base_calloc((size_t)w->size, sizeof *all);
    xt_status s = all ? coll_all_gather(*out_group, &mine, sizeof mine, all) : status_oom(8, "running means");
    bool same = !s;
    for (int r = 0; r < w->size && same; r++) same = all[r] == mine;
    base_free(all);
    if (same) *out = w->size;
    return s;
}

static xt_status gather_one(checkpoint_running *r, size_t i, coll_group *g, int64_t ranks) {
    const ir_type *type = lazy_type(running_ring(i));
    size_t bytes = (size_t)type->count * sizeof(float);
    checkpoint_ring one = {base_malloc(bytes * (size_t)ranks), ranks, type->count};
    float *mine = ranks > 1 ? base_malloc(bytes) : one.rows;
    xt_status s = one.rows && mine ? lazy_state_read(running_ring(i), mine, bytes) : status_oom(bytes, "running means");
    if (!s && ranks > 1) s = coll_all_gather(g, mine, bytes, one.rows);
    if (!s && !VEC_PUSH(r->all, r->n, r->cap, one)) s = status_oom(sizeof one, "running means");
    if (ranks > 1) base_free(mine);
    if (s) base_free(one.rows);
    return s;
}

xt_status checkpoint_running_gather(checkpoint_running *r) {
    coll_group *g = NULL;
    int64_t ranks;
    checkpoint_running_forget(r);
    XT_TRY(ranks_of(running_count(), &g, &ranks));
    for (size_t i = 0; i < running_count(); i++) XT_TRY(gather_one(r, i, g, ranks));
    return NULL;
}

xt_status checkpoint_running_take(const checkpoint_running *r, snapshot *s) {
    for (size_t i = 0; i < r->n; i++) {
        const checkpoint_ring *one = &r->all[i];
        char name[64];
        snprintf(name, sizeof name, "%s%zu", prefix, i);
        const ir_type *type = ir_tensor(XT_F32, 2, (int64_t[]){one->ranks, one->n});
        size_t bytes = type ? ir_type_bytes(type) : 0;
        void *copy = type ? base_malloc(bytes) : NULL;
        if (!copy) return status_oom(bytes, name);
        memcpy(copy, one->rows, bytes);
        XT_TRY(snapshot_add(s, name, type, copy, bytes)); /* which takes the copy over */
    }
    return NULL;
}

xt_status checkpoint_running_restore(st_file *f, const char *path) {
    running_forget_waiting();
    for (size_t i = 0; i < st_count(f); i++) {
        const st_entry *e = st_at(f, i);
        int64_t index;
        if (strncmp(e->name, prefix, sizeof prefix - 1) != 0) continue;
        if (!parse_i64(e->name + sizeof prefix - 1, &index) || index < 0 || e->rank != 2 || e->dtype != XT_F32 || e->dims[0] < 1 || e->dims[1] < 2)
            return status_new(XT_DATA_LOSS, NULL, "%s: %s does not hold a running mean for each rank", path, e->name);
        float *rows = base_malloc((size_t)(e->end - e->begin) + 1);
        xt_status s = rows ? st_read(f, e, rows, (size_t)(e->end - e->begin)) : status_oom(64, path);
        if (!s) s = running_restore((size_t)index, rows + e->dims[1] * (world_get()->rank % e->dims[0]), e->dims[1]);
        base_free(rows);
        XT_TRY(s);
    }
    return NULL;
}
