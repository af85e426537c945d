/* Checkpoints: one safetensors file with the module's tensors under their own names, the optimizer's as "optimizer:NAME", a checksum of all data as the
 * last tensor, and the rest as metadata: versions, position, seed, callbacks' state as JSON. It appears whole or not at all. Reading checks everything,
 * the checksum too, before anything is changed. A later reader may rely on: unknown metadata and unknown "xtrain:" tensors are to be ignored. */
#include <cjson/cJSON.h>
#include <stdlib.h>

#include "format/safetensors.h"
#include "lazy/mesh.h"
#include "optim/optim.h"
#include "train/train_int.h"

static const char *const CHECKSUM = "xtrain:checksum";

/* --- metadata --------------------------------------------------------------------------------------------------------------------------------- */
typedef struct fact { /* compared at resume: a difference is a warning */
    const char *key, *what;
    char value[256];
} fact;
enum { FACT_XTRAIN, FACT_PLUGIN, FACT_PJRT, FACT_STABLEHLO, FACT_EFFECTIVE, FACT_OPTIMIZER, FACT_BATCHES, FACT_COUNT };

static void facts_of(const xt_trainer *t, fact out[FACT_COUNT]) {
    static const fact empty[FACT_COUNT] = {{"xtrain", "xtrain version", ""},
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
        snprintf(out[FACT_STABLEHLO].value, sizeof out->value, "%lld.%lld.%lld", (long long)d->stablehlo[0], (long long)d->stablehlo[1],
                 (long long)d->stablehlo[2]);
    }
    xt_status_free(s);
    if (t->effective_batch) snprintf(out[FACT_EFFECTIVE].value, sizeof out->value, "%lld", (long long)t->effective_batch);
    if (t->epoch_batches_known) snprintf(out[FACT_BATCHES].value, sizeof out->value, "%lld", (long long)t->epoch_batches_known);
    if (t->opt) snprintf(out[FACT_OPTIMIZER].value, sizeof out->value, "%s", t->opt->kind->name);
}

static void add_callback(cJSON *all, const xt_callback *c) {
    char small[512], key[256], *text = small;
    size_t n = c->d.save_state(small, sizeof small, c->user);
    if (n >= sizeof small && (text = base_malloc(n + 1))) c->d.save_state(text, n + 1, c->user);
    cJSON *state = text ? cJSON_Parse(text) : NULL;
    snprintf(key, sizeof key, "%s", c->d.name);
    for (int i = 2; cJSON_HasObjectItem(all, key); i++) snprintf(key, sizeof key, "%s#%d", c->d.name, i); /* the second of a kind, in order */
    if (state) cJSON_AddItemToObject(all, key, state);
    if (text != small) base_free(text);
}

static xt_status write_meta(xt_trainer *t, st_writer *w) {
    fact facts[FACT_COUNT];
    facts_of(t, facts);
    for (int i = 0; i < FACT_COUNT; i++) XT_TRY(st_meta(w, facts[i].key, facts[i].value));
    char text[256];
    snprintf(text, sizeof text, "%lld %lld %lld %lld", (long long)t->position.epoch, (long long)t->position.batch, (long long)t->position.batches,
             (long long)t->position.samples);
    XT_TRY(st_meta(w, "position", text)); /* of the next micro-batch: epoch, batch in it; micro-batches and samples so far */
    snprintf(text, sizeof text, "%lld", (long long)t->epoch);
    XT_TRY(st_meta(w, "epoch", text));
    snprintf(text, sizeof text, "%lld", (long long)t->global_step);
    XT_TRY(st_meta(w, "global_step", text));
    snprintf(text, sizeof text, "%llu", (unsigned long long)lazy_seed());
    XT_TRY(st_meta(w, "seed", text));
    snprintf(text, sizeof text, "%.17g", xt_optimizer_lr(t->opt));
    XT_TRY(st_meta(w, "lr", text));
    char *optimizer = optim_state_text(t->opt); /* rates of groups, step counts, schedules */
    xt_status kept = optimizer ? st_meta(w, "optimizer_state", optimizer) : status_oom(64, "the optimizer's state");
    base_free(optimizer);
    XT_TRY(kept);
    cJSON *all = cJSON_CreateObject();
    for (size_t i = 0; all && i < t->n_callbacks; i++)
        if (t->callbacks[i]->d.save_state) add_callback(all, t->callbacks[i]);
    char *json = all ? cJSON_PrintUnformatted(all) : NULL;
    xt_status s = json ? st_meta(w, "callbacks", json) : status_oom(64, "callbacks' state");
    cJSON_free(json);
    cJSON_Delete(all);
    return s;
}

/* --- saving ------------------------------------------------------------------------------------------------------------------------------------- */
static int count(const xt_trainer *t) {
    return xt_module_tensors(t->net) + xt_optimizer_tensors(t->opt);
}

static xt_tensor tensor_at(const xt_trainer *t, int i, char *name, size_t n) {
    int of_module = xt_module_tensors(t->net);
    if (i < of_module)
        snprintf(name, n, "%s", xt_module_tensor_name(t->net, i));
    else
        snprintf(name, n, "optimizer:%s", xt_optimizer_tensor_name(t->opt, i - of_module));
    return i < of_module ? xt_module_tensor(t->net, i) : xt_optimizer_tensor(t->opt, i - of_module);
}

static xt_status declare_all(xt_trainer *t, st_writer *w) {
    char name[1100];
    for (int i = 0; i < count(t); i++) {
        const ir_type *type = lazy_type(tensor_at(t, i, name, sizeof name));
        if (!type) return status_new(XT_FAILED_PRECONDITION, NULL, "tensor %s is gone", name);
        XT_TRY(st_declare(w, name, type->dtype, (int)type->rank, type->dims));
    }
    int64_t two = 2;
    return st_declare(w, CHECKSUM, XT_U64, 1, &two);
}

static xt_status write_data(xt_trainer *t, st_writer *w) {
    char name[1100];
    hash128 sum = {0, 0};
    for (int i = 0; i < count(t); i++) {
        xt_tensor tensor = tensor_at(t, i, name, sizeof name);
        size_t n = ir_type_bytes(lazy_type(tensor));
        void *data = base_malloc(n + 1);
        xt_status s = data ? lazy_state_read(tensor, data, n) : status_oom(n, name);
        if (!s) s = st_data(w, data, n);
        if (!s) sum = hash_bytes(data, n, sum);
        base_free(data);
        XT_TRY(s);
    }
    return st_data(w, &sum, sizeof sum);
}

xt_status checkpoint_save(xt_trainer *t, const char *path) {
    if (!t->net || xt_module_tensors(t->net) == 0)
        return status_new(XT_FAILED_PRECONDITION, NULL, "%s: nothing has been trained yet, so there is nothing to save", path);
    char *folder = base_strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    xt_status s = folder ? NULL : status_oom(strlen(path), path);
    if (slash && slash != folder) {
        *slash = 0;
        s = file_make_dirs(folder, 0755);
    }
    base_free(folder);
    XT_TRY(s);
    st_writer *w;
    XT_TRY(st_create(path, &w));
    s = write_meta(t, w);
    if (!s) s = declare_all(t, w);
    if (!s) s = write_data(t, w);
    if (!s) return st_commit(w);
    st_abandon(w);
    return status_context(s, "saving %s", path);
}

xt_status xt_trainer_save(xt_trainer *t, const char *path) {
    if (!t || !path) return status_new(XT_INVALID_ARGUMENT, NULL, "xt_trainer_save: a trainer and a path are needed");
    xt_status s = lazy_gather_states(); /* all ranks come here */
    if (!s && world_get()->rank == 0) s = checkpoint_save(t, path);
    lazy_forget_states();
    return s;
}

/* --- loading -------------------------------------------------------------------------------------------------------------------------------------- */
typedef struct restored {
    train_position position;
    int64_t epoch, global_step;
    uint64_t seed;
    double lr;
} restored;

static xt_status missing(const char *path, const char *key) {
    return status_new(XT_DATA_LOSS, NULL,
                      "%s: metadata \"%s\" is missing or no number; the file is not a whole checkpoint of a trainer (xt_load reads weights alone)",
                      path, key);
}

static xt_status read_meta(const st_file *f, const char *path, restored *r) {
    const char *position = st_get_meta(f, "position"), *epoch = st_get_meta(f, "epoch"), *step = st_get_meta(f, "global_step"),
               *seed = st_get_meta(f, "seed"), *lr = st_get_meta(f, "lr");
    long long at[4];
    if (!position || sscanf(position, "%lld %lld %lld %lld", &at[0], &at[1], &at[2], &at[3]) != 4 || at[0] < 0 || at[1] < 0)
        return missing(path, "position");
    r->position = (train_position){at[0], at[1], at[2], at[3]};
    if (!epoch || !parse_i64(epoch, &r->epoch)) return missing(path, "epoch");
    if (!step || !parse_i64(step, &r->global_step)) return missing(path, "global_step");
    if (!seed) return missing(path, "seed");
    r->seed = strtoull(seed, NULL, 10);
    if (!lr || !parse_double(lr, &r->lr)) return missing(path, "lr");
    return NULL;
}

/* Reads the whole data once, in file order. */
static xt_status check_sum(st_file *f, const char *path) {
    const st_entry *last = st_find(f, CHECKSUM);
    if (!last || last->end - last->begin != sizeof(hash128))
        return status_new(XT_DATA_LOSS, NULL, "%s has no checksum; it is not a checkpoint of a trainer, or not a whole one", path);
    hash128 sum = {0, 0}, want;
    for (size_t i = 0; i < st_count(f); i++) {
        const st_entry *e = st_at(f, i);
        size_t n = (size_t)(e->end - e->begin);
        if (e == last) continue;
        void *data = base_malloc(n + 1);
        xt_status s = data ? st_read(f, e, data, n) : status_oom(n, path);
        if (!s) sum = hash_bytes(data, n, sum);
        base_free(data);
        XT_TRY(s);
    }
    XT_TRY(st_read(f, last, &want, sizeof want));
    return hash_equal(sum, want)
               ? NULL
               : status_new(XT_DATA_LOSS, NULL, "%s: the data does not match its checksum: the file is damaged; nothing was loaded", path);
}

static xt_status restore_optimizer(xt_trainer *t, st_file *f, const char *path) {
    for (size_t i = 0; t->opt && i < st_count(f); i++) {
        const st_entry *e = st_at(f, i);
        if (strncmp(e->name, "optimizer:", 10) != 0) continue;
        size_t n = (size_t)(e->end - e->begin);
        const ir_type *type = ir_tensor(e->dtype, (size_t)e->rank, e->dims);
        void *data = base_malloc(n + 1);
        xt_status s = data && type ? st_read(f, e, data, n) : status_oom(n, path);
        if (!s) s = optim_restore(t->opt, e->name + 10, type, data);
        base_free(data);
        XT_TRY(s);
    }
    return NULL;
}

static xt_status restore_callbacks(xt_trainer *t, const st_file *f, const char *path) {
    const char *text = st_get_meta(f, "callbacks");
    cJSON *all = text ? cJSON_Parse(text) : NULL;
    xt_status s = all ? NULL : status_new(XT_DATA_LOSS, NULL, "%s: the callbacks' state is no JSON", path);
    for (size_t i = 0; i < t->n_callbacks && !s; i++) {
        const xt_callback *c = t->callbacks[i];
        if (!c->d.load_state) continue;
        int nth = 1;
        for (size_t k = 0; k < i; k++) nth += strcmp(t->callbacks[k]->d.name, c->d.name) == 0;
        char key[256];
        snprintf(key, sizeof key, nth > 1 ? "%s#%d" : "%s", c->d.name, nth);
        char *state = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(all, key));
        if (state) s = status_context(c->d.load_state(state, c->user), "%s: callback %s", path, key);
        cJSON_free(state);
    }
    cJSON_Delete(all);
    return s;
}

static void warn_differences(const xt_trainer *t, const st_file *f, const char *path) {
    fact now[FACT_COUNT];
    facts_of(t, now);
    for (int i = 0; i < FACT_COUNT; i++) {
        const char *then = st_get_meta(f, now[i].key);
        if (then && *then && *now[i].value && strcmp(then, now[i].value) != 0)
            log_msg(XT_SEV_WARNING, "%s was written with another %s (%s, now %s): the run may not go on exactly as it would have", path, now[i].what,
                    then, now[i].value);
    }
}

xt_status checkpoint_load(xt_trainer *t, const char *given) {
    char *path = NULL;
    if (strcmp(given, "last") == 0)
        XT_TRY(run_dir_last(train_runs_dir(t), train_run_name(t), &path));
    else if (!(path = base_strdup(given)))
        return status_oom(strlen(given), given);
    st_file *f = NULL;
    restored r = {0};
    xt_status s = st_open(path, &f);
    if (!s) s = read_meta(f, path, &r);
    if (!s) s = check_sum(f, path);
    if (!s) warn_differences(t, f, path);
    if (!s) s = xt_load(t->net, path);
    if (!s) xt_seed(r.seed);
    const char *optimizer = f ? st_get_meta(f, "optimizer_state") : NULL;
    if (!s && t->opt) xt_optimizer_set_lr(t->opt, r.lr);
    if (!s && t->opt && optimizer) s = status_context(optim_state_load(t->opt, optimizer), "%s", path);
    if (!s) s = restore_optimizer(t, f, path);
    if (!s) s = restore_callbacks(t, f, path);
    if (!s) {
        t->position = r.position;
        t->epoch = r.position.epoch;
        t->global_step = r.global_step;
        lazy_position_of_thread()->samples = r.position.samples;
        if (world_get()->rank == 0)
            log_msg(XT_SEV_INFO, "resuming from %s: epoch %lld, batch %lld, step %lld", path, (long long)r.position.epoch,
                    (long long)r.position.batch, (long long)r.global_step);
    }
    st_close(f);
    base_free(path);
    return s;
}
