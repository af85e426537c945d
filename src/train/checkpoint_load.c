/* Reading a checkpoint: everything is checked, the checksum too, before anything is changed. */
#include "train/checkpoint.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/look.h"
#include "base/shown.h"
#include "base/saved.h"
#include "coll/coll.h"
#include "data/data.h"
#include "dist/restart.h"
#include "format/safetensors.h"
#include "lazy/mesh/mesh.h"
#include "nn/nn.h"
#include "optim/optim.h"
#include "train/checkpoint_listed.h"

typedef struct restored {
    train_position position;
    int64_t epoch, global_step;
    uint64_t seed;
    int64_t elapsed_ns;
    double lr;
    bool row_seen, window_open;
    int64_t samples_rest;
} restored;

static xt_status missing(const char *path, const char *key) {
    return status_new(XT_DATA_LOSS, NULL,
                      "%s: metadata \"%s\" is missing or no number; the file is not a whole checkpoint of a trainer "
                      "(xt_load reads weights alone)",
                      path, key);
}

/* "EPOCH BATCH BATCHES SAMPLES": the loader skips so many batches, and counters go on from the others. */
static xt_status read_position(const char *text, train_position *out) {
    static const char *const names[] = {"position's epoch", "position's batch", "position's count of batches",
                                        "position's count of samples"};
    char words[4][32] = {""};
    int64_t at[4];
    if (sscanf(text, "%31s %31s %31s %31s", words[0], words[1], words[2], words[3]) != 4)
        return status_new(XT_DATA_LOSS, NULL, "its position is %.80s; four numbers are expected", text);
    for (int i = 0; i < 4; i++) XT_TRY(saved_text(names[i], words[i], 0, i < 3 ? SAVED_COUNT : SAVED_SAMPLES, &at[i]));
    if (at[1] > at[2])
        return status_new(
            XT_DATA_LOSS, NULL,
            "its position is batch %lld of an epoch, after %lld batches of all epochs; the file is damaged",
            (long long)at[1], (long long)at[2]);
    *out = (train_position){at[0], at[1], at[2], at[3]};
    return NULL;
}

static xt_status read_meta(const st_file *f, const char *path, restored *r) {
    const char *position = st_get_meta(f, "position"), *seed = st_get_meta(f, "seed"), *lr = st_get_meta(f, "lr"),
               *elapsed = st_get_meta(f, "elapsed_ns");
    static const char *const needed[] = {"position", "epoch", "global_step"};
    for (size_t i = 0; i < BASE_COUNT(needed); i++)
        if (!st_get_meta(f, needed[i])) return missing(path, needed[i]);
    XT_TRY(status_context(read_position(position, &r->position), "%s", path));
    XT_TRY(status_context(saved_text("epoch", st_get_meta(f, "epoch"), 0, SAVED_COUNT, &r->epoch), "%s", path));
    XT_TRY(status_context(saved_text("global_step", st_get_meta(f, "global_step"), 0, SAVED_COUNT, &r->global_step),
                          "%s", path));
    /* those of all ranks; an older version's file has one rank's alone, and is gone on from by as many */
    const char *samples = st_get_meta(f, "samples");
    int64_t all = 0, ranks = world_get()->size;
    if (samples) {
        XT_TRY(status_context(saved_text("samples", samples, 0, SAVED_SAMPLES, &all), "%s", path));
        r->position.samples = all / ranks;
        r->samples_rest = all % ranks;
    }
    char *end = NULL;
    errno = 0;
    r->seed = seed ? strtoull(seed, &end, 10) : 0;
    if (!seed || end == seed || *end || errno || *seed == '-') return missing(path, "seed");
    if (!lr || !parse_double(lr, &r->lr)) return missing(path, "lr");
    /* of an older version: max_time begins anew */
    if (elapsed) XT_TRY(status_context(saved_text("elapsed_ns", elapsed, 0, SAVED_NS, &r->elapsed_ns), "%s", path));
    const char *row = st_get_meta(f, "row_seen");
    r->row_seen = row && strcmp(row, "1") == 0;
    const char *open = st_get_meta(f, "window_open");
    r->window_open = open && strcmp(open, "1") == 0;
    return NULL;
}

/* What it says that it holds. Those of earlier versions say nothing. */
static xt_status check_holds(const st_file *f, const char *path) {
    const char *text = st_get_meta(f, CHECKPOINT_HOLDS), *lost = NULL;
    cJSON *names = text ? cJSON_Parse(text) : NULL;
    const cJSON *one;
    int n = 0;
    cJSON_ArrayForEach(one, names) {
        if (!cJSON_IsString(one) || st_find(f, one->valuestring)) continue;
        if (!n++) lost = one->valuestring;
    }
    str shown = STR_INIT, others = STR_INIT;
    if (lost) str_append_name(&shown, lost);
    if (n > 1) str_printf(&others, " and %d more", n - 1);
    xt_status s = n ? status_new(XT_DATA_LOSS, NULL,
                                 "%s lacks the tensor %s%s, which the run has saved in it: the file is not whole; "
                                 "nothing was loaded",
                                 path, str_cstr(&shown), str_cstr(&others))
                    : NULL;
    str_free(&shown);
    str_free(&others);
    cJSON_Delete(names);
    return s;
}

static xt_status check_sum(st_file *f, const char *path) {
    bool has;
    XT_TRY(st_check_sums(f, &has));
    return has ? check_holds(f, path)
               : status_new(XT_DATA_LOSS, NULL,
                            "%s has no checksum; it is not a checkpoint of a trainer, or not a whole one", path);
}

/* "optimizer:NAME" belongs to the first, "optimizer1:NAME" to the second, and so on. NULL: no optimizer's, or of one
 * this run does not have. */
static xt_optimizer *owner_of(const xt_trainer *t, const char *name, const char **out_own) {
    static const char word[] = "optimizer";
    if (strncmp(name, word, sizeof word - 1) != 0) return NULL;
    char *end;
    long k = strtol(name + sizeof word - 1, &end, 10);
    *out_own = end + 1;
    return *end == ':' && k >= 0 && k < t->n_opts ? t->opts[k] : NULL;
}

static const xt_callback *callback_of(const xt_trainer *t, const char *name, const char **out_own) {
    if (strncmp(name, "callback:", 9) != 0) return NULL;
    for (size_t i = 0; i < t->n_callbacks; i++) {
        size_t n = strlen(t->callbacks[i]->d.name);
        *out_own = name + 9 + n + 1;
        if (t->callbacks[i]->tensors && strncmp(name + 9, t->callbacks[i]->d.name, n) == 0 && name[9 + n] == ':')
            return t->callbacks[i];
    }
    return NULL;
}

static void optimizer_key(int i, char *out, size_t n) {
    snprintf(out, n, i ? "optimizer_state%d" : "optimizer_state", i);
}

/* A program that has changed may be meant to leave it out, or to begin it anew; nobody would see it otherwise. */
static void tell_optimizers(const xt_trainer *t, const st_file *f, const char *path) {
    char key[40];
    int n = 0;
    for (optimizer_key(n, key, sizeof key); n < TRAIN_MAX_OPTIMIZERS && st_get_meta(f, key);)
        optimizer_key(++n, key, sizeof key);
    if (n && n != t->n_opts)
        log_msg(XT_SEV_WARNING, "%s holds the state of %d optimizer%s, and this run has %d: %s", path, n,
                n > 1 ? "s" : "", t->n_opts,
                n > t->n_opts ? "the state of the last ones is left out" : "the last ones begin anew");
}

static void tell_callbacks(const xt_trainer *t, const st_file *f, const char *path) {
    static const char word[] = "callback:";
    char last[256] = "";
    for (size_t i = 0; i < st_count(f); i++) {
        const char *name = st_at(f, i)->name, *own, *begin = name + sizeof word - 1;
        if (strncmp(name, word, sizeof word - 1) != 0 || callback_of(t, name, &own)) continue;
        int n = (int)strcspn(begin, ":");
        if ((int)strlen(last) == n && strncmp(last, begin, (size_t)n) == 0) continue; /* a callback's lie together */
        snprintf(last, sizeof last, "%.*s", n, begin);
        log_msg(XT_SEV_WARNING, "%s holds tensors of the callback %s, which this run does not have: they are left out",
                path, last);
    }
}

static xt_status restore_tensors(xt_trainer *t, st_file *f, const char *path) {
    for (size_t i = 0; t->opt && i < st_count(f); i++) {
        const st_entry *e = st_at(f, i);
        const char *own = NULL;
        xt_optimizer *opt = owner_of(t, e->name, &own);
        const xt_callback *cb = opt ? NULL : callback_of(t, e->name, &own);
        if (!opt && !cb) continue;
        size_t n = (size_t)(e->end - e->begin);
        const ir_type *type = ir_tensor(e->dtype, (size_t)e->rank, e->dims);
        void *data = base_malloc(n + 1);
        xt_status s = data && type ? st_read(f, e, data, n) : status_oom(n, path);
        if (!s && opt)
            s = optim_restore(opt, own, type, data);
        else if (!s)
            TRAIN_HOOK(s =, t, cb, tensors->restore, own, e->dtype, e->rank, e->dims, data, false);
        base_free(data);
        XT_TRY(s);
    }
    return NULL;
}

/* The state of callback i: that of its kind which watches the same; where states do not say what they watch, the one
 * at its place. */
static const cJSON *state_of(const xt_trainer *t, size_t i, const cJSON *all) {
    const xt_callback *c = t->callbacks[i];
    char key[256];
    int nth = 1;
    for (size_t k = 0; k < i; k++) nth += strcmp(t->callbacks[k]->d.name, c->d.name) == 0;
    snprintf(key, sizeof key, nth > 1 ? "%s#%d" : "%s", c->d.name, nth);
    const cJSON *at_place = cJSON_GetObjectItemCaseSensitive(all, key), *one;
    if (!c->watches || !cJSON_GetObjectItemCaseSensitive(at_place, "watches")) return at_place;
    cJSON_ArrayForEach(one, all) {
        const char *watches = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, "watches"));
        if (strncmp(one->string, c->d.name, strlen(c->d.name)) == 0 && watches && strcmp(watches, c->watches) == 0)
            return one;
    }
    return callback_is(c, &model_checkpoint_desc) ? at_place : NULL; /* which knows what to do with another monitor's */
}

static xt_status restore_callbacks(xt_trainer *t, const st_file *f, const char *path) {
    const char *text = st_get_meta(f, "callbacks");
    cJSON *all = text ? cJSON_Parse(text) : NULL;
    xt_status s = all ? NULL : status_new(XT_DATA_LOSS, NULL, "%s: the callbacks' state is no JSON", path);
    for (size_t i = 0; i < t->n_callbacks && !s; i++) {
        const xt_callback *c = t->callbacks[i];
        if (!c->d.load_state) continue;
        char *state = cJSON_PrintUnformatted(state_of(t, i, all));
        lazy_inside_fn call;
        lazy_enter(&call, "a callback's load_state", c);
        if (state) s = lazy_returned(c->d.load_state(state, c->user), "its load_state");
        lazy_leave(&call);
        s = status_context(s, "%s: callback %s", path, c->d.name);
        cJSON_free(state);
    }
    cJSON_Delete(all);
    return s;
}

/* The sums of logged values. The ranks may be others than those that saved: then rank 0 goes on with what all had
 * together. On a mesh every rank has the sums of the whole, and must: states made in another order would make
 * another program. */
static xt_status restore_log(xt_trainer *t, st_file *f, const char *path) {
    const st_entry *e = st_find(f, CHECKPOINT_LOG);
    const char *text = st_get_meta(f, "log");
    if (!e || !text) return NULL;
    if (e->rank != 3 || e->dtype != XT_F32 || (e->dims[2] != LOG_COLUMNS && e->dims[2] != LOG_COLUMNS_WERE) ||
        e->dims[0] < 1 || e->dims[1] < 1)
        return status_new(XT_DATA_LOSS, NULL, "%s: %s is not [ranks, rows, %d] f32", path, CHECKPOINT_LOG, LOG_COLUMNS);
    float *all = base_malloc((size_t)(e->end - e->begin) + 1);
    xt_status s = all ? st_read(f, e, all, (size_t)(e->end - e->begin)) : status_oom((size_t)(e->end - e->begin), path);
    if (!s && e->dims[2] == LOG_COLUMNS_WERE) {
        float *wide = log_state_widen(all, e->dims[0] * e->dims[1], e->dims[2]);
        base_free(all);
        all = wide;
        if (!wide) s = status_oom((size_t)(e->end - e->begin), path);
    }
    int64_t each = e->dims[1] * LOG_COLUMNS;
    const world *w = world_get();
    bool same = e->dims[0] == w->size && !lazy_spmd();
    for (int64_t r = 1; !s && !same && r < e->dims[0]; r++) log_state_add(all, all + r * each, e->dims[1]);
    log_frame outer = train_log_enter(t);
    if (!s)
        s = log_state_restore(text, same ? all + w->rank * each : w->rank == 0 || lazy_spmd() ? all : NULL, e->dims[1]);
    log_leave(outer);
    base_free(all);
    return status_context(s, "%s", path);
}

/* Samples of the epoch's order that all ranks together take with one micro-batch each; 0: nobody knows. */
static int64_t batch_of_all(const xt_trainer *t) {
    return t->train ? xt_loader_batch_size(t->train) * loader_readers(t->train) : 0;
}

static int64_t global_batch_in(const st_file *f) {
    const char *text = st_get_meta(f, "global_batch");
    int64_t n;
    return text && parse_i64(text, &n) && n > 0 ? n : 0;
}

/* With another number of ranks, or another batch, the epoch goes on behind the samples that were seen, where a window
 * of accumulated batches begins: what does not divide, less than an effective batch, is seen again. */
static void settle_position(const xt_trainer *t, const st_file *f, restored *r) {
    int64_t then = global_batch_in(f), now = batch_of_all(t), k = t->o.accumulate_grad_batches, seen;
    if (!then || !now || then == now || __builtin_mul_overflow(r->position.batch, then, &seen)) return;
    int64_t batch = seen / (now * k) * k;
    if (world_get()->rank == 0)
        log_msg(
            XT_SEV_INFO,
            "all ranks together took %lld samples a micro-batch when the checkpoint was written, and take %lld now: "
            "epoch %lld goes on behind sample %lld of %lld that were seen; the learning rate stays as it is",
            (long long)then, (long long)now, (long long)r->position.epoch, (long long)(batch * now), (long long)seen);
    r->position.batch = batch;
    if (r->position.batches < batch) r->position.batches = batch;
}

/* " (--accumulate_grad_batches 4 keeps it)" where a number does. */
static void offer_accumulation(const xt_trainer *t, const char *then, char *out, size_t n) {
    int64_t was, each = t->effective_batch / t->o.accumulate_grad_batches;
    out[0] = 0;
    if (!parse_i64(then, &was) || each < 1 || was % each) return;
    snprintf(out, n, "; --accumulate_grad_batches %lld keeps it", (long long)(was / each));
}

static void warn_difference(const xt_trainer *t, const checkpoint_fact *now, const char *then, const char *path) {
    char keeps[64] = "";
    if (strcmp(now->key, "effective_batch") == 0) offer_accumulation(t, then, keeps, sizeof keeps);
    log_msg(XT_SEV_WARNING,
            "%s was written with another %s (%s, now %s): the run may not go on exactly as it would have%s", path,
            now->what, then, now->value, keeps);
}

static void warn_differences(const xt_trainer *t, const st_file *f, const char *path) {
    checkpoint_fact now[FACT_COUNT];
    checkpoint_facts(t, now);
    for (int i = 0; i < FACT_COUNT; i++) {
        const char *then = st_get_meta(f, now[i].key);
        if (i == FACT_BATCHES && batch_of_all(t) != global_batch_in(f)) continue; /* which settle_position tells */
        if (then && *then && *now[i].value && strcmp(then, now[i].value) != 0) warn_difference(t, &now[i], then, path);
    }
}

static bool is_rehearsed(const st_file *f) {
    const char *plugin = st_get_meta(f, "plugin");
    return plugin && strncmp(plugin, "dry ", 4) == 0;
}

/* What a run could go on from: its sum is right, and its numbers are those of a run. */
static xt_status look_through(st_file *f, const char *path) {
    restored r;
    if (is_rehearsed(f)) return status_new(XT_DATA_LOSS, NULL, "%s holds zeros", path);
    XT_TRY(check_sum(f, path));
    return read_meta(f, path, &r);
}

/* The newest checkpoint of a folder, `but` left out under whatever name, that is whole; base_free. NULL: none. */
static xt_status newest_whole(const char *folder, const char *but, char **out) {
    char *best = NULL;
    struct timespec newest = {0};
    struct stat left_out;
    bool leaves = false;
    DIR *d = NULL;
    xt_status bad = but ? file_look(but, &left_out, &leaves) : NULL;
    if (!bad) bad = file_look_into(folder, &d);
    for (struct dirent *e; !bad && d && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        char *other = n > 5 && strcmp(e->d_name + n - 5, ".ckpt") == 0 ? path_join(folder, e->d_name) : NULL;
        struct stat st;
        bool there = false;
        if (other) bad = file_look(other, &st, &there);
        bool newer = there && !(leaves && st.st_ino == left_out.st_ino && st.st_dev == left_out.st_dev) &&
                     (!best || st.st_mtim.tv_sec > newest.tv_sec ||
                      (st.st_mtim.tv_sec == newest.tv_sec && st.st_mtim.tv_nsec > newest.tv_nsec));
        st_file *f = NULL;
        xt_status s = newer ? st_open(other, &f) : NULL;
        if (newer && !s) s = look_through(f, other);
        st_close(f);
        if (newer && !s) {
            base_free(best);
            best = base_strdup(other);
            newest = st.st_mtim;
        }
        xt_status_free(s);
        base_free(other);
    }
    if (d) closedir(d);
    *out = best;
    return bad;
}

/* A damaged file is refused by name; the newest other one beside it that is whole is offered. */
static xt_status offer_another(xt_status damage, const char *path) {
    char *folder = base_strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash) *slash = 0;
    char *best = NULL;
    if (folder) xt_status_free(newest_whole(slash ? folder : ".", path, &best)); /* the damage is what is told */
    xt_status s = best ? status_new(XT_DATA_LOSS, NULL, "%s; the newest whole checkpoint beside it is %s: --resume %s",
                                    status_message(damage), best, best)
                       : NULL;
    if (s) xt_status_free(damage);
    base_free(best);
    base_free(folder);
    return s ? s : damage;
}

/* --- which file --- */
/* The best file that a model checkpoint left word of in the run's newest checkpoint: of its list, or of the run
 * that it resumed. */
static xt_status best_listed(const char *last, char **out) {
    st_file *f = NULL;
    XT_TRY(st_open(last, &f));
    const char *text = st_get_meta(f, "callbacks");
    cJSON *all = text ? cJSON_Parse(text) : NULL;
    const cJSON *state = cJSON_GetObjectItemCaseSensitive(all, "model_checkpoint"), *file, *best = NULL;
    double least = 0;
    cJSON *list = cJSON_GetObjectItemCaseSensitive(state, "files"),
          *also = cJSON_GetObjectItemCaseSensitive(state, "best");
    if (list && also) cJSON_AddItemReferenceToArray(list, also);
    cJSON_ArrayForEach(file, list) {
        const cJSON *score = cJSON_GetObjectItemCaseSensitive(file, "score"),
                    *path = cJSON_GetObjectItemCaseSensitive(file, "path");
        double v = cJSON_IsNumber(score) ? score->valuedouble : HUGE_VAL;
        const char *why;
        if (!cJSON_IsString(path) || (best && v >= least)) continue;
        if (checkpoint_listed(NULL, "", true, path->valuestring, &why) != LISTED_ELSEWHERE)
            continue; /* a claim of the file's: it is read, if it is a checkpoint */
        best = path;
        least = v;
    }
    *out = best ? base_strdup(best->valuestring) : NULL;
    cJSON_Delete(all);
    st_close(f);
    return *out ? NULL
                : status_new(XT_NOT_FOUND, NULL,
                             "best: %s lists no file that an xt_model_checkpoint kept and that is still there; "
                             "\"last\" or a path names one",
                             last);
}

static xt_status find_best(const xt_trainer *t, char **out) {
    const char *mine = xt_trainer_best_checkpoint(t, NULL);
    if (mine) return (*out = base_strdup(mine)) ? NULL : status_oom(strlen(mine), mine);
    char *last;
    XT_TRY(run_dir_last("best", train_runs_dir(t), train_run_name(t), model_checkpoint_folder(t), &last));
    xt_status s = best_listed(last, out);
    base_free(last);
    return s;
}

/* Only rank 0 knows what a model checkpoint keeps, and one rank's view of a folder is enough. */
static xt_status find_on_rank_0(xt_trainer *t, const char *given, char **out) {
    char path[4096] = "";
    const world *w = world_get();
    xt_status s = NULL;
    *out = NULL;
    if (w->rank == 0) {
        s = checkpoint_wait(t);
        if (!s)
            s = strcmp(given, "best") == 0
                    ? find_best(t, out)
                    : run_dir_last("last", train_runs_dir(t), train_run_name(t), model_checkpoint_folder(t), out);
    }
    if (w->size <= 1) return s;
    if (*out) snprintf(path, sizeof path, "%s", *out);
    base_free(*out);
    *out = NULL;
    coll_group *g;
    xt_status e = coll_run_group(&g);
    if (!e) e = coll_broadcast(g, 0, path, sizeof path);
    if (e || s) {
        xt_status_free(s ? e : NULL);
        return s ? s : e;
    }
    if (!*path)
        return status_new(XT_NOT_FOUND, NULL, "%s: rank 0 found no such checkpoint; its message says more", given);
    return (*out = base_strdup(path)) ? NULL : status_oom(strlen(path), path);
}

/* A folder means what a fit goes on from: its last.ckpt, or else the newest checkpoint in it; a version's folder has
 * them in checkpoints/. */
static xt_status find_in_folder(const char *folder, char **out) {
    char *inner = path_join(folder, "checkpoints");
    const char *places[] = {folder, inner};
    xt_status s = inner ? NULL : status_oom(strlen(folder), "a folder of checkpoints");
    *out = NULL;
    for (size_t p = 0; !s && p < 2 && !*out; p++) {
        char *last = path_join(places[p], "last.ckpt");
        struct stat st;
        bool there = false;
        s = last ? file_look(last, &st, &there) : status_oom(strlen(folder), "a checkpoint's name");
        if (!s) s = there ? checkpoint_after_last(last, out) : newest_whole(places[p], NULL, out);
        if (!s && there && !*out)
            *out = last;
        else
            base_free(last);
    }
    if (s) {
        base_free(*out);
        *out = NULL;
    }
    base_free(inner);
    if (s) return s;
    return *out ? NULL
                : status_new(
                      XT_NOT_FOUND, NULL,
                      "%s is a folder without a checkpoint (last.ckpt, or another whole *.ckpt); name a file, or last",
                      folder);
}

static xt_status find_file(xt_trainer *t, const char *given, char **out) {
    if (strcmp(given, "last") == 0 || strcmp(given, "best") == 0) return find_on_rank_0(t, given, out);
    struct stat st;
    bool there;
    XT_TRY(file_look(given, &st, &there));
    if (there && S_ISDIR(st.st_mode)) return find_in_folder(given, out);
    return (*out = base_strdup(given)) ? NULL : status_oom(strlen(given), given);
}

bool checkpoint_rehearsed(const char *path) {
    st_file *f = NULL;
    xt_status s = st_open(path, &f);
    bool is = !s && is_rehearsed(f);
    xt_status_free(s);
    st_close(f);
    return is;
}

static xt_status refuse_rehearsed(const st_file *f, const char *path) {
    if (rehearsal_on() || !is_rehearsed(f)) return NULL;
    return status_new(XT_DATA_LOSS, NULL,
                      "%s was written by a rehearsal (xtrain plan, XT_DEVICE=dry): its values are zeros; remove it, "
                      "and give another checkpoint",
                      path);
}

/* To be closed in any case. f NULL without an error: what a rehearsal saved before was not written, so it goes on with
 * the zeros it has. What this host has no file for may be on another. */
static xt_status open_checkpoint(xt_trainer *t, const char *given, checkpoint_source *c) {
    *c = (checkpoint_source){0};
    bool word = strcmp(given, "last") == 0 || strcmp(given, "best") == 0;
    xt_status missing = find_file(t, given, &c->path);
    if (rehearsal_on() && (!c->path || !file_exists(c->path))) {
        xt_status_free(missing);
        return NULL;
    }
    if (missing && (word || world_get()->size <= 1 || !(c->path = base_strdup(given)))) return missing;
    xt_status s = checkpoint_source_open(c);
    if (missing) {
        xt_status_free(s ? s : missing);
        if (s) return missing;
    }
    return s ? s : refuse_rehearsed(c->f, c->path);
}

/* --- what it holds --- */
static const char average_prefix[] = "callback:weight_averaging:";

/* Whether the averages stand under the parameters' names, and the parameters under theirs: a file of a fit's end. 1, 0,
 * or -1 where nobody averaged. */
static int are_swapped(const st_file *f) {
    const char *text = st_get_meta(f, "callbacks");
    cJSON *all = text ? cJSON_Parse(text) : NULL;
    const cJSON *swapped =
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(all, "weight_averaging"), "swapped");
    int out = cJSON_IsBool(swapped) ? cJSON_IsTrue(swapped) : -1;
    cJSON_Delete(all);
    return out;
}

/* NAME of an entry "callback:weight_averaging:NAME" beside which there is one NAME; else NULL. */
static const char *averaged_name(const st_file *f, const st_entry *e) {
    size_t n = sizeof average_prefix - 1;
    return strncmp(e->name, average_prefix, n) == 0 && st_find(f, e->name + n) ? e->name + n : NULL;
}

/* The module's tensors come from what stands under the averages' names. */
static xt_status take_averages(xt_trainer *t, st_file *f, const char *path) {
    if (xt_module_tensors(t->net))
        return nn_load_opened(src_get(t->src), t->net, f, path,
                              XT_OPTS(xt_load_opts, .prefix = average_prefix, .strict = XT_OFF));
    xt_status s = NULL;
    for (size_t i = 0; !s && i < st_count(f); i++) {
        /* the first pass makes the module and takes its tensors from these */
        const st_entry *e = st_at(f, i);
        const char *own = averaged_name(f, e);
        if (!own) continue;
        size_t n = (size_t)(e->end - e->begin);
        void *data = base_malloc(n + 1);
        s = data ? st_read(f, e, data, n) : status_oom(n, path);
        if (!s) s = nn_preload(t->net->root, own, ir_tensor(e->dtype, (size_t)e->rank, e->dims), data);
        base_free(data);
    }
    return s;
}

/* A fit goes on with the parameters in the module, which may be yet to be made, and the averages in its callback, if it
 * has one: whichever way round the file has them. */
static xt_status put_in_place(xt_trainer *t, st_file *f, const char *path) {
    if (are_swapped(f) != 1) return NULL;
    XT_TRY(take_averages(t, f, path));
    xt_status s = NULL;
    for (size_t i = 0; !s && i < st_count(f); i++) {
        const char *own = averaged_name(f, st_at(f, i)), *found = NULL;
        const xt_callback *cb = own ? callback_of(t, st_at(f, i)->name, &found) : NULL;
        if (!cb) continue;
        const st_entry *e = st_find(f, own);
        size_t n = (size_t)(e->end - e->begin);
        void *data = base_malloc(n + 1);
        s = data ? st_read(f, e, data, n) : status_oom(n, path);
        if (!s) TRAIN_HOOK(s =, t, cb, tensors->restore, own, e->dtype, e->rank, e->dims, data, false);
        base_free(data);
    }
    return s;
}

xt_status checkpoint_for_pass(xt_trainer *t) {
    if (!t->o.ckpt) return t->o.resume && !t->opt ? checkpoint_load(t, t->o.resume) : NULL;
    checkpoint_source c;
    xt_status s = open_checkpoint(t, t->o.ckpt, &c);
    const char *path = c.path;
    st_file *f = c.f;
    if (!s && !f) {
        checkpoint_source_close(&c);
        return NULL;
    }
    /* A run with weight averaging validates with the averages, and keeps the checkpoint that did best with them; so a
     * pass on its own takes them in the parameters' place. At the end of a fit they are there already. */
    bool averages = !s && are_swapped(f) == 0;
    /* a file of weights alone has neither */
    if (!s && (st_find(f, CHECKPOINT_CHECKSUM) || st_get_meta(f, "global_step"))) s = check_sum(f, path);
    if (!s) s = nn_load_checkpoint(src_get(t->src), t->net, f, path, false);
    if (!s && averages) s = take_averages(t, f, path);
    if (!s && world_get()->rank == 0)
        log_msg(XT_SEV_INFO, "weights of %s%s", path, averages ? " (their averages)" : "");
    if (s && path && status_code(s) == XT_DATA_LOSS) s = offer_another(s, path);
    checkpoint_source_close(&c);
    return s;
}

/* What is wrong with the file is left to the fit to say, which looks at all of it. */
xt_status checkpoint_resume_meta(xt_trainer *t, const char *key, bool sums, char **out) {
    char *point = NULL;
    *out = NULL;
    if (t->global_step) return NULL;
    restart_check();
    XT_TRY(checkpoint_restart_point(&point));
    const char *from = point ? point : t->o.resume;
    checkpoint_source c = {0};
    xt_status s = from ? open_checkpoint(t, from, &c) : NULL;
    const char *text = from && !s && c.f ? st_get_meta(c.f, key) : NULL;
    if (text && sums) s = check_sum(c.f, c.path);
    if (!s && text && !(*out = base_strdup(text))) s = status_oom(strlen(text), key);
    bool memory = s && status_code(s) == XT_RESOURCE_EXHAUSTED;
    if (from) checkpoint_source_close(&c);
    base_free(point);
    if (memory) return s;
    xt_status_free(s);
    return NULL;
}

xt_status checkpoint_load(xt_trainer *t, const char *given) {
    checkpoint_source c;
    restored r = {0};
    xt_status s = open_checkpoint(t, given, &c);
    const char *path = c.path;
    st_file *f = c.f;
    if (s && !path && t->opt && strcmp(given, "last") == 0 && status_code(s) == XT_NOT_FOUND) {
        /* a job that is started again and again with one command line */
        if (world_get()->rank == 0)
            log_msg(XT_SEV_WARNING, "resume = last: %s/%s has no checkpoint yet; training begins anew",
                    train_runs_dir(t), train_run_name(t));
        xt_status_free(s);
        checkpoint_source_close(&c);
        return NULL;
    }
    if (!s && !f) {
        checkpoint_source_close(&c);
        return NULL;
    }
    if (!s) s = read_meta(f, path, &r);
    if (!s) s = check_sum(f, path);
    if (!s) warn_differences(t, f, path);
    if (!s) settle_position(t, f, &r);
    if (!s) s = nn_load_checkpoint(src_get(t->src), t->net, f, path, t->opt != NULL);
    if (!s) xt_seed(r.seed);
    if (!s && t->opt) xt_optimizer_set_lr_at(NULL, t->opt, r.lr);
    for (int i = 0; i < t->n_opts && !s; i++) {
        char key[40];
        optimizer_key(i, key, sizeof key);
        const char *text = st_get_meta(f, key);
        if (text) s = status_context(optim_state_load(t->opts[i], text), "%s", path);
    }
    if (!s && t->opt && world_get()->rank == 0) {
        tell_optimizers(t, f, path);
        tell_callbacks(t, f, path);
    }
    if (!s) s = restore_tensors(t, f, path);
    if (!s && t->opt) s = checkpoint_ranks_restore(t->net, f, path);
    if (!s && t->opt) s = checkpoint_running_restore(t, f, path);
    if (!s && t->opt) s = checkpoint_values_restore(t, f, path);
    if (!s && t->opt && t->task->manual_optimization) s = checkpoint_gradients_restore(t->net, f, path);
    const char *task = !s && t->task && t->task->load_state ? st_get_meta(f, "task") : NULL;
    lazy_inside_fn call;
    lazy_enter(&call, "a task's load_state", t);
    if (task)
        s = status_context(lazy_returned(t->task->load_state(task, t->task->user), "its load_state"),
                           "%s: the task's state", path);
    lazy_leave(&call);
    if (!s) s = restore_callbacks(t, f, path);
    if (!s && t->opt) s = put_in_place(t, f, path);
    /* behind an epoch's end, too: the next row shows what was logged since the row before */
    if (!s) s = restore_log(t, f, path);
    if (!s) {
        base_free(t->resumed_from);
        t->resumed_from = base_strdup(path);
        stopping_saved(path);
        t->elapsed_before_ns = r.elapsed_ns;
        t->position = r.position;
        t->epoch = r.position.epoch;
        t->global_step = r.global_step;
        t->row_seen = r.row_seen;
        t->window_open = r.window_open;
        if (t->opt) checkpoint_modes_read(t, f);
        lazy_position_of_thread()->samples = r.position.samples;
        t->samples_rest = r.samples_rest;
        log_frame outer = train_log_enter(t);
        log_samples_rest(r.samples_rest);
        log_leave(outer);
        if (world_get()->rank == 0)
            log_msg(XT_SEV_INFO, "resuming from %s: epoch %lld, batch %lld, step %lld", path,
                    (long long)r.position.epoch, (long long)r.position.batch, (long long)r.global_step);
    }
    if (s && path && status_code(s) == XT_DATA_LOSS) s = offer_another(s, path);
    checkpoint_source_close(&c);
    return s;
}
