/* Taking a checkpoint: the module's tensors under their own names, the optimizer's as "optimizer:NAME" (of a
 * second one "optimizer1:NAME"), callbacks' as "callback:CALLBACK:NAME", other ranks' buffers as
 * "xtrain:ranks:NAME" (checkpoint_ranks.c), gradients that wait as "xtrain:gradient:NAME", the newest logged values as
 * "xtrain:values", running means as "xtrain:running:N" and what callbacks have of each rank as
 * "xtrain:callback:CALLBACK:NAME" (checkpoint_running.c), and the rest as metadata: versions, position, seed, the
 * network's outline (nn/outline.c), callbacks' state as JSON. A snapshot copies them to the host, so that the next step
 * may change the device's; checkpoint_writer.c writes it. A later reader may rely on: unknown metadata and unknown
 * "xtrain:" tensors are to be ignored. */
#include "train/checkpoint.h"

#include <cjson/cJSON.h>

#include "coll/coll.h"
#include "data/data.h"
#include "device/device.h"
#include "format/safetensors.h"
#include "lazy/mesh/mesh.h"
#include "nn/nn.h"
#include "optim/optim.h"

/* --- metadata --- */
void checkpoint_facts(const xt_trainer *t, checkpoint_fact out[FACT_COUNT]) {
    static const checkpoint_fact empty[FACT_COUNT] = {{"xtrain", "xtrain version", ""},
                                                      {"plugin", "plugin", ""},
                                                      {"pjrt", "PJRT API version", ""},
                                                      {"stablehlo", "StableHLO version", ""},
                                                      {"effective_batch", "effective batch", ""},
                                                      {"optimizer", "optimizer", ""},
                                                      {"batches_per_epoch", "number of batches in an epoch", ""}};
    memcpy(out, empty, sizeof empty);
    snprintf(out[FACT_XTRAIN].value, sizeof out->value, "%s", xt_version());
    device_client *c;
    xt_status s = lazy_device(&c);
    if (!s) {
        const device_info *d = device_get_info(c);
        snprintf(out[FACT_PLUGIN].value, sizeof out->value, "%s %s", d->platform, d->platform_version);
        snprintf(out[FACT_PJRT].value, sizeof out->value, "%d.%d", d->api_major, d->api_minor);
        snprintf(out[FACT_STABLEHLO].value, sizeof out->value, "%lld.%lld.%lld", (long long)d->stablehlo[0],
                 (long long)d->stablehlo[1], (long long)d->stablehlo[2]);
    }
    xt_status_free(s);
    if (t->effective_batch)
        snprintf(out[FACT_EFFECTIVE].value, sizeof out->value, "%lld", (long long)t->effective_batch);
    if (t->epoch_batches_known)
        snprintf(out[FACT_BATCHES].value, sizeof out->value, "%lld", (long long)t->epoch_batches_known);
    if (t->opt) snprintf(out[FACT_OPTIMIZER].value, sizeof out->value, "%s", t->opt->name->name);
}

static void add_callback(cJSON *all, const xt_callback *c) {
    char small[512], key[256], *text = small;
    lazy_inside_fn call;
    lazy_enter(&call, "a callback's save_state", c);
    size_t n = c->d.save_state(small, sizeof small, c->user);
    if (n >= sizeof small && (text = base_malloc(n + 1))) c->d.save_state(text, n + 1, c->user);
    lazy_leave(&call);
    cJSON *state = text ? cJSON_Parse(text) : NULL;
    snprintf(key, sizeof key, "%s", c->d.name);
    /* the second of a kind, in order */
    for (int i = 2; cJSON_HasObjectItem(all, key); i++) snprintf(key, sizeof key, "%s#%d", c->d.name, i);
    if (state && c->watches) cJSON_AddStringToObject(state, "watches", c->watches);
    if (state) cJSON_AddItemToObject(all, key, state);
    if (text != small) base_free(text);
}

/* The state that a function of the program writes, as metadata. */
static xt_status take_own_state(const xt_trainer *t, snapshot *s, const char *key,
                                size_t (*save)(char *, size_t, void *), void *user) {
    char small[512], *text = small;
    lazy_inside_fn call;
    lazy_enter(&call, "a function save_state", t);
    size_t n = save(small, sizeof small, user);
    if (n >= sizeof small && (text = base_malloc(n + 1))) save(text, n + 1, user);
    lazy_leave(&call);
    xt_status st = text ? snapshot_add_meta(s, key, text) : status_oom(n, key);
    if (text != small) base_free(text);
    return st;
}

void checkpoint_optimizer_key(int k, const char *name, char *out, size_t n) {
    if (k)
        snprintf(out, n, "optimizer%d:%s", k, name);
    else
        snprintf(out, n, "optimizer:%s", name);
}

static xt_status take_meta(xt_trainer *t, snapshot *w) {
    checkpoint_fact facts[FACT_COUNT];
    checkpoint_facts(t, facts);
    for (int i = 0; i < FACT_COUNT; i++) XT_TRY(snapshot_add_meta(w, facts[i].key, facts[i].value));
    char text[256];
    snprintf(text, sizeof text, "%lld %lld %lld %lld", (long long)t->position.epoch, (long long)t->position.batch,
             (long long)(t->position.batches - t->in_window.batches),
             (long long)(t->position.samples - t->in_window.samples));
    /* of the next micro-batch: epoch, batch in it; micro-batches and samples so far */
    XT_TRY(snapshot_add_meta(w, "position", text));
    /* samples of all ranks: their number may be another in the run that resumes */
    snprintf(text, sizeof text, "%lld",
             (long long)((t->position.samples - t->in_window.samples) * world_get()->size + t->samples_rest));
    XT_TRY(snapshot_add_meta(w, "samples", text));
    if (t->train) { /* what such a batch is to the epoch's order: other ranks go on behind the same samples */
        snprintf(text, sizeof text, "%lld", (long long)(xt_loader_batch_size(t->train) * loader_readers(t->train)));
        XT_TRY(snapshot_add_meta(w, "global_batch", text));
    }
    snprintf(text, sizeof text, "%lld", (long long)t->epoch);
    XT_TRY(snapshot_add_meta(w, "epoch", text));
    XT_TRY(snapshot_add_meta(w, "row_seen", t->row_seen ? "1" : "0"));
    if (t->task && t->task->manual_optimization)
        XT_TRY(snapshot_add_meta(w, "window_open", t->step_recorded || t->in_window.batches ? "0" : "1"));
    snprintf(text, sizeof text, "%lld", (long long)t->global_step);
    XT_TRY(snapshot_add_meta(w, "global_step", text));
    snprintf(text, sizeof text, "%llu", (unsigned long long)lazy_seed());
    XT_TRY(snapshot_add_meta(w, "seed", text));
    snprintf(text, sizeof text, "%lld", (long long)stopping_elapsed(t));
    XT_TRY(snapshot_add_meta(w, "elapsed_ns", text));
    snprintf(text, sizeof text, "%.17g", xt_optimizer_lr(t->opt));
    XT_TRY(snapshot_add_meta(w, "lr", text));
    for (int i = 0; i < t->n_opts; i++) { /* rates of groups, step counts, schedules */
        char *optimizer = optim_state_text(t->opts[i]), key[40];
        snprintf(key, sizeof key, i ? "optimizer_state%d" : "optimizer_state", i);
        xt_status kept = optimizer ? snapshot_add_meta(w, key, optimizer) : status_oom(64, "the optimizer's state");
        base_free(optimizer);
        XT_TRY(kept);
    }
    char *outline = nn_outline_text(t->net->root);
    xt_status outlined = outline ? snapshot_add_meta(w, NN_OUTLINE, outline) : status_oom(64, "the network's outline");
    base_free(outline);
    XT_TRY(outlined);
    char *config = config_text(t);
    xt_status told = config ? snapshot_add_meta(w, "config", config) : status_oom(64, "the configuration");
    base_free(config);
    XT_TRY(told);
    if (t->task && t->task->save_state) XT_TRY(take_own_state(t, w, "task", t->task->save_state, t->task->user));
    if (t->data.save_state) XT_TRY(take_own_state(t, w, "data", t->data.save_state, t->data.user));
    cJSON *all = cJSON_CreateObject();
    for (size_t i = 0; all && i < t->n_callbacks; i++)
        if (t->callbacks[i]->d.save_state) add_callback(all, t->callbacks[i]);
    char *json = all ? cJSON_PrintUnformatted(all) : NULL;
    xt_status s = json ? snapshot_add_meta(w, "callbacks", json) : status_oom(64, "callbacks' state");
    cJSON_free(json);
    cJSON_Delete(all);
    return s;
}

/* Every tensor of a checkpoint, in the same order on every rank. */
typedef snapshot_tensor_fn tensor_fn;

typedef struct waiting_state {
    tensor_fn fn;
    void *user;
} waiting_state;

static xt_status each_waiting_state(void *user, const char *name, nn_loaded *l) {
    const waiting_state *w = user;
    return l->t.slot ? w->fn(w->user, name, l->t) : NULL;
}

static xt_status each_tensor(const xt_trainer *t, tensor_fn fn, void *user) {
    char name[1100], own[1000];
    for (int i = 0; i < xt_module_tensors(t->net); i++)
        XT_TRY(fn(user, xt_module_tensor_name(t->net, i), xt_module_tensor(t->net, i)));
    for (int k = 0; k < t->n_opts; k++)
        for (int i = 0; i < xt_optimizer_tensors(t->opts[k]); i++) {
            checkpoint_optimizer_key(k, xt_optimizer_tensor_name(t->opts[k], i), name, sizeof name);
            XT_TRY(fn(user, name, xt_optimizer_tensor(t->opts[k], i)));
        }
    for (size_t c = 0; c < t->n_callbacks; c++) {
        const xt_callback *cb = t->callbacks[c];
        for (int i = 0; cb->tensors; i++) {
            xt_tensor tensor = cb->tensors->at(i, own, sizeof own, cb->user);
            if (!tensor.slot) break;
            snprintf(name, sizeof name, "callback:%s:%s", cb->d.name, own);
            XT_TRY(fn(user, name, tensor));
        }
    }
    return nn_each_waiting(t->net->root, each_waiting_state, &(waiting_state){fn, user});
}

/* What the file that was resumed holds of layers that have not been called since: of a second network, say, before the
 * first training step. */
static xt_status take_loaded(void *user, const char *name, nn_loaded *l) {
    char *data;
    if (l->t.slot) return NULL; /* which each_tensor has */
    XT_TRY(nn_loaded_copy(l, &data));
    return snapshot_add(user, name, l->type, data, ir_type_bytes(l->type));
}

typedef struct moments {
    snapshot *s;
    int optimizer;
} moments;

static xt_status take_moment(void *user, const char *name, const ir_type *type, const void *data) {
    const moments *m = user;
    char key[1100];
    size_t n = ir_type_bytes(type);
    checkpoint_optimizer_key(m->optimizer, name, key, sizeof key);
    char *copy = base_malloc(n + 1);
    if (!copy) return status_oom(n, key);
    memcpy(copy, data, n);
    return snapshot_add(m->s, key, type, copy, n);
}

static xt_status take_waiting(const xt_trainer *t, snapshot *s) {
    XT_TRY(nn_each_waiting(t->net->root, take_loaded, s));
    for (int k = 0; k < t->n_opts; k++) XT_TRY(optim_each_waiting(t->opts[k], take_moment, &(moments){s, k}));
    return NULL;
}

static xt_status take_one(void *user, const char *name, xt_tensor tensor) {
    return snapshot_add_tensor(user, name, tensor);
}

/* This rank's share. */
typedef struct share {
    shard_loads loads;
    int rank;
    snapshot *s; /* NULL: the tensors are brought to their writers */
} share;

static xt_status share_one(void *user, const char *name, xt_tensor tensor) {
    share *h = user;
    const ir_type *type = lazy_type(tensor);
    if (!type) return status_new(XT_FAILED_PRECONDITION, NULL, "tensor %s is gone", name);
    int writer = shard_writer(&h->loads, ir_type_bytes(type));
    if (!h->s) return status_context(lazy_gather_state(tensor, writer), "tensor %s", name);
    return writer == h->rank ? snapshot_add_tensor(h->s, name, tensor) : NULL;
}

static xt_status share_out(const xt_trainer *t, snapshot *s) {
    const world *w = world_get();
    share h = {.loads = {base_calloc((size_t)w->size, sizeof(int64_t)), w->size}, .rank = w->rank, .s = s};
    xt_status e = h.loads.bytes ? each_tensor(t, share_one, &h) : status_oom((size_t)w->size * 8, "a shard");
    base_free(h.loads.bytes);
    return e;
}

static xt_status take_log(xt_trainer *t, snapshot *s) {
    const checkpoint_log *l = &t->log_sums;
    if (!l->text) return NULL;
    int64_t dims[3] = {l->ranks, l->rows, LOG_COLUMNS};
    const ir_type *type = ir_tensor(XT_F32, 3, dims);
    size_t n = type ? ir_type_bytes(type) : 0;
    void *data = base_malloc(n + 1);
    if (!data || !type) {
        base_free(data);
        return status_oom(n, CHECKPOINT_LOG);
    }
    memcpy(data, l->sums, n);
    XT_TRY(snapshot_add(s, CHECKPOINT_LOG, type, data, n));
    return snapshot_add_meta(s, "log", l->text);
}

static xt_status check_trained(const xt_trainer *t, const char *path) {
    if (t->net && xt_module_tensors(t->net) > 0) return NULL;
    return status_new(XT_FAILED_PRECONDITION, NULL, "%s: nothing has been trained yet, so there is nothing to save",
                      path);
}

static xt_status list_one(void *user, const char *name, xt_tensor tensor) {
    (void)tensor;
    return cJSON_AddItemToArray(user, cJSON_CreateString(name)) ? NULL : status_oom(strlen(name), "a list of tensors");
}

/* Which tensors there are, in the file or in its shards: a file that has lost some since is not whole, and what begins
 * anew in their place would be none of the run's. */
static xt_status take_list(const xt_trainer *t, bool sharded, snapshot *s) {
    cJSON *names = cJSON_CreateArray();
    xt_status e = names ? NULL : status_oom(64, "a list of tensors");
    if (!e && sharded) e = each_tensor(t, list_one, names);
    if (!e) e = snapshot_each_name(s, list_one, names);
    char *text = e ? NULL : cJSON_PrintUnformatted(names);
    if (!e) e = text ? snapshot_add_meta(s, CHECKPOINT_HOLDS, text) : status_oom(64, "a list of tensors");
    cJSON_free(text);
    cJSON_Delete(names);
    return e;
}

/* p: the tensors lie in shards, which are named; NULL: here. */
static xt_status take(xt_trainer *t, const char *path, const shard_plan *p, snapshot **out) {
    str list = STR_INIT;
    *out = NULL;
    XT_TRY(check_trained(t, path));
    snapshot *s = snapshot_new();
    xt_status e = s ? take_meta(t, s) : status_oom(256, path);
    if (!e) e = p ? shard_list(p, &list) : each_tensor(t, take_one, s);
    if (!e) e = take_waiting(t, s);
    if (!e && p) e = snapshot_add_meta(s, ST_SHARDS, str_cstr(&list));
    str_free(&list);
    if (!e) e = take_log(t, s);
    if (!e) snapshot_note_rows(s);
    if (!e) e = checkpoint_ranks_take(&t->own_buffers, t->net, s);
    if (!e) e = checkpoint_running_take(&t->running, s);
    if (!e) e = checkpoint_values_take(&t->newest, s);
    if (!e) e = checkpoint_modes_take(t, s);
    if (!e) e = checkpoint_gradients_take(&t->gradients, t->net, s);
    if (!e) e = take_list(t, p != NULL, s);
    if (e) {
        snapshot_free(s);
        return status_context(e, "saving %s", path);
    }
    *out = s;
    return NULL;
}

xt_status snapshot_take(xt_trainer *t, const char *path, snapshot **out) {
    return take(t, path, NULL, out);
}

xt_status snapshot_take_shard(xt_trainer *t, const shard_plan *p, snapshot **out, snapshot **out_shard) {
    *out = *out_shard = NULL;
    XT_TRY(check_trained(t, p->stem));
    snapshot *s = snapshot_new();
    xt_status e = s ? share_out(t, s) : status_oom(256, p->stem);
    if (!e && world_get()->rank == 0) e = take(t, p->stem, p, out);
    if (e) {
        snapshot_free(s);
        return status_context(e, "saving %s", p->stem);
    }
    *out_shard = s;
    return NULL;
}

xt_status checkpoint_save(xt_trainer *t, const char *path) {
    snapshot *s;
    XT_TRY(snapshot_take(t, path, &s));
    xt_status e = snapshot_write(s, path);
    snapshot_free(s);
    return e;
}

/* --- what all ranks do before rank 0 saves --- */
static void forget_log(checkpoint_log *l) {
    base_free(l->text);
    base_free(l->sums);
    *l = (checkpoint_log){NULL, NULL, 0, 0};
}

/* Rank 0's rows must be everybody's, or the sums cannot be laid side by side; then rank 0's stand alone. */
static xt_status gather_log(checkpoint_log *l) {
    const world *w = world_get();
    l->ranks = 1;
    if (w->size <= 1 || lazy_spmd()) return NULL; /* a mesh's are of the whole on every rank */
    coll_group *g;
    XT_TRY(coll_run_group(&g));
    size_t bytes = (size_t)l->rows * LOG_COLUMNS * sizeof(float);
    uint64_t mine = l->text ? hash_bytes(l->text, strlen(l->text), (hash128){(uint64_t)l->rows, 1}).lo : 0,
             *all = base_calloc((size_t)w->size, sizeof *all);
    xt_status s = all ? coll_all_gather(g, &mine, sizeof mine, all) : status_oom(8, "sums of logged values");
    bool same = mine != 0;
    for (int r = 0; !s && r < w->size; r++) same = same && all[r] == mine;
    base_free(all);
    if (s || !same) return s;
    float *sums = base_malloc(bytes * (size_t)w->size);
    if (!sums) return status_oom(bytes * (size_t)w->size, "sums of logged values");
    s = coll_all_gather(g, l->sums, bytes, sums);
    base_free(l->sums);
    l->sums = sums;
    l->ranks = w->size;
    return s;
}

static xt_status gather_all(xt_trainer *t, bool shards) {
    for (int k = 0; t->net && k < t->n_opts; k++)
        if (!lazy_pending() && !optim_take_loaded(src_get(t->src), t->opts[k])) return status_clone(lazy_pending());
    for (size_t i = 0; i < t->n_callbacks; i++) {
        const xt_callback *cb = t->callbacks[i];
        xt_status s = NULL;
        if (cb->tensors && cb->tensors->ready) TRAIN_HOOK(s =, t, cb, tensors->ready, t);
        XT_TRY(s);
    }
    XT_TRY(shards ? share_out(t, NULL) : lazy_gather_states());
    XT_TRY(checkpoint_ranks_gather(&t->own_buffers, t->net));
    XT_TRY(checkpoint_running_gather(&t->running, t));
    XT_TRY(checkpoint_values_gather(&t->newest, t));
    forget_log(&t->log_sums);
    log_frame outer = train_log_enter(t);
    xt_status s = log_state_save(&t->log_sums.text, &t->log_sums.sums, &t->log_sums.rows);
    log_leave(outer);
    XT_TRY(s);
    XT_TRY(gather_log(&t->log_sums));
    return checkpoint_gradients_gather(&t->gradients, t);
}

xt_status checkpoint_gather(xt_trainer *t) {
    xt_status s = gather_all(t, false);
    if (s) checkpoint_release(t);
    return s;
}

xt_status checkpoint_gather_shards(xt_trainer *t) {
    lazy_forget_states();
    xt_status s = gather_all(t, true);
    if (s) checkpoint_release(t);
    return s;
}

void checkpoint_release(xt_trainer *t) {
    lazy_forget_states();
    checkpoint_ranks_forget(&t->own_buffers);
    checkpoint_running_forget(&t->running);
    checkpoint_values_forget(&t->newest);
    checkpoint_ranks_forget(&t->gradients);
    forget_log(&t->log_sums);
}

xt_status checkpoint_of_ranks(xt_trainer *t, const char *path) {
    xt_status s = checkpoint_gather(t);
    if (!s && path && world_get()->rank == 0) s = checkpoint_wait(t);
    if (!s && path && world_get()->rank == 0) s = checkpoint_save(t, path);
    checkpoint_release(t);
    return s;
}

xt_status xt_trainer_save(xt_trainer *t, const char *path) {
    if (!t || !path) return status_new(XT_INVALID_ARGUMENT, NULL, "xt_trainer_save: a trainer and a path are needed");
    if (t->net) XT_TRY(train_use(HANDLE_module, t->net, "xt_trainer_save: the fit"));
    XT_TRY(train_use_optimizers(t));
    xt_status s = checkpoint_of_ranks(t, path);
    return s && world_get()->size > 1 ? status_context(s, "xt_trainer_save, which all ranks call at the same place")
                                      : s;
}
