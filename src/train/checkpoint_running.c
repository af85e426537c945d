/* What each rank keeps beside the module: running means (xt_running), as "xtrain:running:N", and tensors of callbacks
 * that judge a rank's own batches, as "xtrain:callback:CALLBACK:NAME"; [ranks, elements] each. The rows of a
 * resumed run show, and its callbacks judge, what the unbroken run's do. */
#include "base/saved.h"
#include "coll/coll.h"
#include "lazy/mesh/mesh.h"
#include "metrics/running.h"
#include "train/checkpoint.h"

static const char of_means[] = "xtrain:running:", of_callbacks[] = "xtrain:callback:";

void checkpoint_running_forget(checkpoint_running *r) {
    for (size_t i = 0; i < r->n; i++) base_free(r->all[i].rows);
    base_free(r->all);
    *r = (checkpoint_running){0};
}

/* The i-th of the tensors of callbacks that each rank has of its own; false: there are no more. */
static bool callback_tensor(const xt_trainer *t, size_t i, char *name, size_t n, xt_tensor *out) {
    for (size_t c = 0; c < t->n_callbacks; c++) {
        const xt_callback *cb = t->callbacks[c];
        char own[64];
        for (int k = 0; cb->tensors && cb->tensors->of_ranks; k++) {
            *out = cb->tensors->at(k, own, sizeof own, cb->user);
            if (!lazy_type(*out)) break;
            if (i-- > 0) continue;
            snprintf(name, n, "%s%s:%s", of_callbacks, cb->d.name, own);
            return true;
        }
    }
    return false;
}

/* A callback's tensors stand in the file anyway; of one rank that is all there is. */
static bool own_tensor(const xt_trainer *t, size_t i, int64_t ranks, char *name, size_t n, xt_tensor *out) {
    if (i >= running_count()) return ranks > 1 && callback_tensor(t, i - running_count(), name, n, out);
    snprintf(name, n, "%s%zu", of_means, i);
    *out = running_ring(i);
    return true;
}

/* Ranks that made others, or a mesh, whose ranks all have the whole: this rank's stand alone. */
static xt_status ranks_of(const xt_trainer *t, coll_group **out_group, int64_t *out) {
    const world *w = world_get();
    xt_tensor one;
    char name[128];
    *out = 1;
    if (w->size <= 1 || lazy_spmd()) return NULL;
    XT_TRY(coll_run_group(out_group));
    uint64_t mine = 1;
    for (size_t i = 0; own_tensor(t, i, w->size, name, sizeof name, &one); i++)
        mine = mine * 1048583 + (uint64_t)lazy_type(one)->count;
    uint64_t *all = base_calloc((size_t)w->size, sizeof *all);
    xt_status s = all ? coll_all_gather(*out_group, &mine, sizeof mine, all) : status_oom(8, "running means");
    bool same = !s;
    for (int r = 0; r < w->size && same; r++) same = all[r] == mine;
    base_free(all);
    if (same) *out = w->size;
    return s;
}

static xt_status gather_one(checkpoint_running *r, const char *name, xt_tensor tensor, coll_group *g, int64_t ranks) {
    const ir_type *type = lazy_type(tensor);
    size_t bytes = ir_type_bytes(type);
    checkpoint_ring one = {
        .rows = base_malloc(bytes * (size_t)ranks), .dtype = type->dtype, .ranks = ranks, .n = type->count};
    snprintf(one.name, sizeof one.name, "%s", name);
    void *mine = ranks > 1 ? base_malloc(bytes) : one.rows;
    xt_status s = one.rows && mine ? lazy_state_read(tensor, mine, bytes) : status_oom(bytes, name);
    if (!s && ranks > 1) s = coll_all_gather(g, mine, bytes, one.rows);
    if (!s && !VEC_PUSH(r->all, r->n, r->cap, one)) s = status_oom(sizeof one, name);
    if (ranks > 1) base_free(mine);
    if (s) base_free(one.rows);
    return s;
}

xt_status checkpoint_running_gather(checkpoint_running *r, const xt_trainer *t) {
    coll_group *g = NULL;
    int64_t ranks;
    xt_tensor one;
    char name[128];
    checkpoint_running_forget(r);
    XT_TRY(ranks_of(t, &g, &ranks));
    for (size_t i = 0; own_tensor(t, i, ranks, name, sizeof name, &one); i++)
        XT_TRY(gather_one(r, name, one, g, ranks));
    return NULL;
}

xt_status checkpoint_running_take(const checkpoint_running *r, snapshot *s) {
    for (size_t i = 0; i < r->n; i++) {
        const checkpoint_ring *one = &r->all[i];
        const ir_type *type = ir_tensor(one->dtype, 2, (int64_t[]){one->ranks, one->n});
        size_t bytes = type ? ir_type_bytes(type) : 0;
        void *copy = type ? base_malloc(bytes) : NULL;
        if (!copy) return status_oom(bytes, one->name);
        memcpy(copy, one->rows, bytes);
        XT_TRY(snapshot_add(s, one->name, type, copy, bytes)); /* which takes the copy over */
    }
    return NULL;
}

static xt_status give_to_callback(const xt_trainer *t, const char *name, xt_dtype dtype, int64_t n, const void *row) {
    const char *own = strchr(name, ':');
    for (size_t c = 0; own && c < t->n_callbacks; c++) {
        const xt_callback *cb = t->callbacks[c];
        size_t len = strlen(cb->d.name);
        if (!cb->tensors || !cb->tensors->of_ranks || (size_t)(own - name) != len || memcmp(cb->d.name, name, len) != 0)
            continue;
        xt_status s;
        TRAIN_HOOK(s =, t, cb, tensors->restore, own + 1, dtype, 1, &n, row, true);
        return s;
    }
    return NULL; /* of a callback that this run does without */
}

/* The row of this rank. More ranks than the file has share running means; a callback's judgement of one rank's batches
 * is no other's: rank 0's, which it has, must do. */
static xt_status restore_one(const xt_trainer *t, st_file *f, const st_entry *e, const char *path) {
    bool mean = strncmp(e->name, of_means, sizeof of_means - 1) == 0;
    const char *rest = e->name + (mean ? sizeof of_means : sizeof of_callbacks) - 1;
    int64_t index = 0, ranks = e->rank == 2 ? e->dims[0] : 0;
    if (mean) XT_TRY(status_context(saved_text("running mean", rest, 0, SAVED_COUNT, &index), "%s", path));
    if ((mean && e->dtype != XT_F32) || ranks < 1 || e->dims[1] < 2)
        return status_new(XT_DATA_LOSS, NULL, "%s: %s does not hold a row of numbers for each rank", path, e->name);
    int64_t rank = world_get()->rank;
    if (!mean && (rank >= ranks || lazy_spmd())) return NULL;
    size_t all = (size_t)(e->end - e->begin);
    char *rows = base_malloc(all + 1), *row = rows ? rows + all / (size_t)ranks * (size_t)(rank % ranks) : NULL;
    xt_status s = rows ? st_read(f, e, rows, all) : status_oom(64, path);
    if (!s)
        s = mean ? running_restore((size_t)index, (const float *)(void *)row, e->dims[1])
                 : give_to_callback(t, rest, e->dtype, e->dims[1], row);
    base_free(rows);
    return s;
}

xt_status checkpoint_running_restore(const xt_trainer *t, st_file *f, const char *path) {
    running_forget_waiting();
    for (size_t i = 0; i < st_count(f); i++) {
        const st_entry *e = st_at(f, i);
        if (strncmp(e->name, of_means, sizeof of_means - 1) == 0 ||
            strncmp(e->name, of_callbacks, sizeof of_callbacks - 1) == 0)
            XT_TRY(restore_one(t, f, e, path));
    }
    return NULL;
}
