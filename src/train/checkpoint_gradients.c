/* Manual optimization may step one optimizer while gradients of the others wait, and those may wait over the end of an
 * epoch: as "xtrain:gradient:NAME" [ranks, elements], each rank's own, so that a resumed run adds to what there was.
 * The Trainer's own windows have none: it saves where they end. */
#include "coll/coll.h"
#include "lazy/mesh/mesh.h"
#include "nn/nn.h"
#include "optim/optim.h"
#include "train/checkpoint.h"

static const char prefix[] = "xtrain:gradient:";

static xt_tensor waiting(const xt_module *m, int i) {
    return xt_module_tensor_is_param(m, i) ? lazy_grad(xt_module_tensor(m, i)) : (xt_tensor){0};
}

/* Which of the tensors have a gradient on some rank; their number, -1 without memory. */
static xt_status list_waiting(const xt_module *m, uint8_t *has, int n, bool *out_any) {
    coll_group *g;
    *out_any = false;
    for (int i = 0; i < n; i++) has[i] = lazy_type(waiting(m, i)) != NULL;
    if (world_get()->size > 1 && n) {
        XT_TRY(coll_run_group(&g));
        XT_TRY(coll_all_reduce(g, COLL_MAX, XT_U8, has, (size_t)n));
    }
    for (int i = 0; i < n; i++) *out_any |= has[i];
    return NULL;
}

bool checkpoint_gradients_wait(const xt_trainer *t) {
    int n = t->net && t->task && t->task->manual_optimization ? xt_module_tensors(t->net) : 0;
    for (int i = 0; i < n; i++)
        if (lazy_type(waiting(t->net, i))) return true;
    return false;
}

/* A rank that has none of it adds nothing. */
static xt_status gather_one(checkpoint_ranks *r, const xt_module *m, int i) {
    const world *w = world_get();
    xt_tensor grad = waiting(m, i);
    const char *name = xt_module_tensor_name(m, i);
    size_t n = ir_type_bytes(lazy_type(xt_module_tensor(m, i))), all = 0;
    coll_group *g;
    if (!size_mul(n, (size_t)w->size, &all)) return status_oom(n, name);
    checkpoint_own own = {i, base_malloc(all + 1)};
    char *mine = base_calloc(1, n + 1);
    xt_status s = own.rows && mine ? NULL : status_oom(all, name);
    if (!s && lazy_type(grad)) s = lazy_state_read(grad, mine, n);
    if (!s && w->size > 1) s = coll_run_group(&g);
    if (!s && w->size > 1)
        s = coll_all_gather(g, mine, n, own.rows);
    else if (!s)
        memcpy(own.rows, mine, n);
    if (!s && !VEC_PUSH(r->all, r->n, r->cap, own)) s = status_oom(sizeof own, name);
    if (s) base_free(own.rows);
    base_free(mine);
    return s;
}

/* Why a checkpoint of now cannot hold them; NULL: it can. Of those that xt_scaler_unscale has divided a file would have
 * to say so, and what was found in them. */
static const char *why_left_out(const xt_trainer *t) {
    if (t->in_window.batches)
        return "it was saved between two steps: behind a step of an optimizer they would be in it";
    if (lazy_spmd()) return "a mesh's ranks have them in parts: with strategy \"ddp\" they would be in it";
    for (int i = 0; i < t->n_opts; i++)
        if (t->opts[i]->unscaled)
            return "xt_scaler_unscale has divided them already: behind the xt_scaler_step that follows it they "
                   "would be in it";
    return NULL;
}

static void tell_left_out(const xt_trainer *t, const char *why) {
    if (world_get()->rank != 0) return;
    log_once("gradients left out", XT_SEV_WARNING,
             "the checkpoint of step %lld does not hold the gradients that wait for an optimizer's step, and a run "
             "that resumes from it begins without them: %s",
             (long long)t->global_step, why);
}

xt_status checkpoint_gradients_gather(checkpoint_ranks *r, const xt_trainer *t) {
    checkpoint_ranks_forget(r);
    int n = t->net ? xt_module_tensors(t->net) : 0;
    if (!n || !t->task || !t->task->manual_optimization) return NULL;
    uint8_t *has = base_calloc((size_t)n, 1);
    bool any = false;
    xt_status s = has ? list_waiting(t->net, has, n, &any) : status_oom((size_t)n, "gradients that wait");
    const char *why = !s && any ? why_left_out(t) : NULL;
    if (why) tell_left_out(t, why);
    for (int i = 0; i < n && any && !why && !s; i++)
        if (has[i]) s = gather_one(r, t->net, i);
    base_free(has);
    if (s) checkpoint_ranks_forget(r);
    return s;
}

xt_status checkpoint_gradients_take(const checkpoint_ranks *r, const xt_module *m, snapshot *s) {
    return checkpoint_rows_take(r, prefix, m, s);
}

/* Gradients are averaged over the ranks when an optimizer steps: of another number of ranks each has the mean. */
static xt_status mean_of(const ir_type *type, const char *rows, int64_t ranks, char *out) {
    array sum, one;
    XT_TRY(array_new(type, &sum));
    for (int64_t i = 0; i < type->count; i++) {
        double v = 0;
        for (int64_t r = 0; r < ranks; r++) {
            one = (array){type, (char *)rows + (size_t)r * ir_type_bytes(type)};
            v += array_get(&one, i);
        }
        array_set(&sum, i, v / (double)ranks);
    }
    memcpy(out, sum.data, ir_type_bytes(type));
    array_free(&sum);
    return NULL;
}

static xt_status restore_one(xt_module *m, const char *name, st_file *f, const st_entry *e, const char *path) {
    const st_entry *param = st_find(f, name);
    const ir_type *type = param ? ir_tensor(e->dtype, (size_t)param->rank, param->dims) : NULL;
    if (!type || e->rank != 2 || e->dtype != param->dtype || e->dims[0] < 1 || e->dims[1] != type->count)
        return status_new(XT_DATA_LOSS, NULL, "%s: %s does not hold a row for each rank, of as many elements as %s has",
                          path, e->name, name);
    size_t all = (size_t)(e->end - e->begin), n = all / (size_t)e->dims[0];
    char *rows = base_malloc(all + 1), *own = rows;
    xt_status s = rows ? st_read(f, e, rows, all) : status_oom(all, path);
    if (!s && e->dims[0] == world_get()->size)
        own = rows + n * (size_t)world_get()->rank;
    else if (!s)
        s = mean_of(type, rows, e->dims[0], own);
    if (!s) s = nn_give_gradient(m, name, type, own);
    base_free(rows);
    return s;
}

xt_status checkpoint_gradients_restore(xt_module *m, st_file *f, const char *path) {
    for (size_t i = 0; i < st_count(f); i++) {
        const st_entry *e = st_at(f, i);
        if (strncmp(e->name, prefix, sizeof prefix - 1) == 0)
            XT_TRY(restore_one(m, e->name + sizeof prefix - 1, f, e, path));
    }
    return NULL;
}
