/* The newest value of each logged name, as "xtrain:values" [ranks, names] of f64, with the names as metadata "values".
 * Schedules, early stopping and checkpoints that watch a value may look at it long after the validation that logged it:
 * a run that resumes between the two has what the unbroken one has, each rank its own. */
#include <cjson/cJSON.h>

#include "coll/coll.h"
#include "lazy/mesh/mesh.h"
#include "train/checkpoint.h"

static const char name_of_rows[] = "xtrain:values", key_of_names[] = "values";

void checkpoint_values_forget(checkpoint_values *v) {
    base_free(v->names);
    base_free(v->rows);
    *v = (checkpoint_values){0};
}

/* Ranks that have logged other names, or a mesh, whose ranks have the same values: this rank's stand alone. */
static xt_status gather_rows(checkpoint_values *v) {
    const world *w = world_get();
    coll_group *g;
    if (w->size <= 1 || lazy_spmd()) return NULL;
    XT_TRY(coll_run_group(&g));
    uint64_t mine = hash_bytes(v->names, strlen(v->names), (hash128){(uint64_t)v->n, 1}).lo,
             *all = base_calloc((size_t)w->size, sizeof *all);
    xt_status s = all ? coll_all_gather(g, &mine, sizeof mine, all) : status_oom(8, name_of_rows);
    bool same = !s;
    for (int r = 0; r < w->size && same; r++) same = all[r] == mine;
    base_free(all);
    if (!same || !v->n) return s;
    size_t bytes = (size_t)v->n * sizeof(double);
    double *rows = base_malloc(bytes * (size_t)w->size);
    s = rows ? coll_all_gather(g, v->rows, bytes, rows) : status_oom(bytes, name_of_rows);
    if (s) {
        base_free(rows);
        return s;
    }
    base_free(v->rows);
    v->rows = rows;
    v->ranks = w->size;
    return NULL;
}

xt_status checkpoint_values_gather(checkpoint_values *v, const xt_trainer *t) {
    size_t n;
    checkpoint_values_forget(v);
    if (!t->log) return NULL;
    log_drain();
    XT_TRY(log_values_save(t->log, &v->names, &v->rows, &n));
    v->ranks = 1;
    v->n = (int64_t)n;
    return gather_rows(v);
}

xt_status checkpoint_values_take(const checkpoint_values *v, snapshot *s) {
    if (!v->n) return NULL;
    const ir_type *type = ir_tensor(XT_F64, 2, (int64_t[]){v->ranks, v->n});
    size_t bytes = type ? ir_type_bytes(type) : 0;
    void *copy = type ? base_malloc(bytes) : NULL;
    if (!copy) return status_oom(bytes, name_of_rows);
    memcpy(copy, v->rows, bytes);
    XT_TRY(snapshot_add(s, name_of_rows, type, copy, bytes)); /* which takes the copy over */
    return snapshot_add_meta(s, key_of_names, v->names);
}

/* With another number of ranks each has the mean of those that saved, which is what ranks agree on by a value. */
static double of_this_rank(const double *rows, int64_t ranks, int64_t n, int64_t i) {
    const world *w = world_get();
    double sum = 0;
    if (ranks == 1 || ranks == w->size) return rows[(ranks == 1 ? 0 : w->rank) * n + i];
    for (int64_t r = 0; r < ranks; r++) sum += rows[r * n + i];
    return sum / (double)ranks;
}

xt_status checkpoint_values_restore(const xt_trainer *t, st_file *f, const char *path) {
    const st_entry *e = st_find(f, name_of_rows);
    const char *text = st_get_meta(f, key_of_names);
    if (!e || !text || !t->log) return NULL;
    cJSON *names = cJSON_Parse(text);
    int64_t n = cJSON_IsArray(names) ? cJSON_GetArraySize(names) : -1;
    size_t bytes = (size_t)(e->end - e->begin);
    double *rows = base_malloc(bytes + 1);
    xt_status s = rows ? NULL : status_oom(bytes, path);
    if (!s && (e->rank != 2 || e->dtype != XT_F64 || e->dims[0] < 1 || e->dims[1] != n))
        s = status_new(XT_DATA_LOSS, NULL, "%s: %s does not hold a value for each of the names that its metadata lists",
                       path, name_of_rows);
    if (!s) s = st_read(f, e, rows, bytes);
    for (int64_t i = 0; i < n && !s; i++) {
        const char *name = cJSON_GetStringValue(cJSON_GetArrayItem(names, (int)i));
        if (name) log_values_restore(t->log, name, of_this_rank(rows, e->dims[0], n, i));
    }
    base_free(rows);
    cJSON_Delete(names);
    return s;
}
