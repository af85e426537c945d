/* Keeps the best checkpoints by a logged value, or the newest ones, and last.ckpt. A save waits for the validation that
 * follows its step, so that the file is judged by its own value and a resumed run neither repeats nor misses that
 * validation, and for the end of the accumulation window, whose gradients no file holds. The new file is written before
 * an older one is deleted; only files this callback wrote are ever deleted, and not the one that the program named to
 * resume from. The list of kept files travels in the checkpoints themselves, and so do those just given up and the best
 * of all: a resumed run knows it until it is beaten, though the file is another run's. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/look.h"
#include "coll/coll.h"
#include "lazy/mesh/mesh.h"
#include "train/checkpoint.h"
#include "train/checkpoint_claim.h"
#include "train/checkpoint_listed.h"
#include "train/checkpoint_name.h"
#include "train/train_int.h"

typedef struct kept {
    char *path;
    size_t root; /* so many characters are the folder below which it may be removed */
    double score; /* smaller is better; +inf for NaN */
    bool stays; /* the program has named it to resume from */
} kept;
enum { LEAVING = 64 };
typedef struct saver {
    xt_model_checkpoint_opts o;
    char *dir;
    kept *files;
    size_t n, cap;
    kept prior; /* the best of the run that was resumed, in a folder that is not ours; .path NULL = none */
    int64_t saved_step, saved_epoch; /* of the newest save, and where a run goes on from it; -1 */
    bool due; /* the epoch's validation is over: save when the epoch is */
    /* a save is due, and waits for the validation that comes now; for the window's end */
    bool after_validation, after_window;
    char *leaving[LEAVING]; /* the last files given up: the writer may have them yet to remove */
    size_t n_leaving;
    size_t n_given_up; /* by the newest save, the last of `leaving`: where its run is killed they may be there yet */
    kept *left; /* those of a killed run, which the next save gives up again */
    size_t n_left, left_cap;
    bool told_none; /* that the monitor has no value in this fit, or none yet */
    bool owns_last; /* last.ckpt is of this run, not of an earlier one */
    int64_t every_ns, saved_ns; /* 0 = not by time; when the newest save was */
} saver;

static void free_saver(void *user) {
    saver *m = user;
    for (size_t i = 0; i < m->n; i++) base_free(m->files[i].path);
    base_free(m->files);
    for (size_t i = 0; i < m->n_leaving; i++) base_free(m->leaving[i]);
    for (size_t i = 0; i < m->n_left; i++) base_free(m->left[i].path);
    base_free(m->left);
    base_free(m->prior.path);
    base_free(m->dir);
    base_free(m);
}

static const char *pattern_of(const saver *m) {
    return m->o.filename && *m->o.filename ? m->o.filename : "{epoch}-{step}";
}

/* A name has the values of its own save: rows under way are waited for. Without a trainer a name is only tried. */
static double value_of(void *user, const char *key) {
    return xt_trainer_metric(user, key, true);
}

static bool same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Of files that may not be written yet: the same name, in folders that are one, however they are spelled. */
static bool same_name(const char *a, const char *b) {
    const char *x = strrchr(a, '/'), *y = strrchr(b, '/');
    if (!x || !y || strcmp(a, b) == 0) return strcmp(a, b) == 0;
    if (strcmp(x, y) != 0) return false;
    char *in_a = base_strndup(a, (size_t)(x - a) + 1), *in_b = base_strndup(b, (size_t)(y - b) + 1);
    bool same = in_a && in_b && same_file(in_a, in_b);
    base_free(in_a);
    base_free(in_b);
    return same;
}

/* The trainer's savers, one after the other; *i begins with 0. NULL: no more. */
static saver *next_saver(const xt_trainer *t, size_t *i) {
    while (*i < t->n_callbacks) {
        const xt_callback *c = t->callbacks[(*i)++];
        if (callback_is(c, &model_checkpoint_desc)) return c->user;
    }
    return NULL;
}

static bool keeps(const saver *m, const char *path) {
    for (size_t i = 0; i < m->n; i++)
        if (same_name(m->files[i].path, path)) return true;
    return m->prior.path && same_name(m->prior.path, path);
}

static bool another_keeps(const xt_trainer *t, const saver *m, const char *path) {
    size_t i = 0;
    for (const saver *other; (other = next_saver(t, &i));)
        if (other != m && keeps(other, path)) return true;
    return false;
}

static bool given_up(const saver *m, const char *path) {
    for (size_t i = 0; i < m->n_leaving; i++)
        if (same_name(m->leaving[i], path)) return true;
    return false;
}

/* Files are written and removed behind the fit's back, in order. A name is taken once it was chosen, and free once its
 * file was given up, by whichever of the trainer's savers: so names do not depend on how far the writer is, and no file
 * is removed that was written anew or that another saver keeps. But what is gone by now may be another process's file:
 * `ours` says that this process has a claim on the name already. */
static bool taken(const xt_trainer *t, const saver *m, const char *path, const char *replaced, bool ours) {
    if (another_keeps(t, m, path)) return true;
    if (replaced && strcmp(path, replaced) == 0) return false;
    for (size_t i = 0; i < m->n; i++)
        if (same_name(m->files[i].path, path)) return true;
    size_t i = 0;
    for (const saver *any; ours && (any = next_saver(t, &i));)
        if (given_up(any, path)) return false;
    return !file_is_missing(path);
}

/* Only what may be free is claimed: a claim, however short, makes another process take the next name. */
static bool choose(const xt_trainer *t, const saver *m, const char *path, const char *replaced) {
    if (taken(t, m, path, replaced, true)) return false;
    claim_made made = checkpoint_claim(path);
    if (!made) return false;
    if (!taken(t, m, path, replaced, made == CLAIM_ADDED)) return true;
    checkpoint_unclaim(path);
    return false;
}

/* The writer has two files before it at most, so what left before the last few is gone. */
static bool leave(saver *m, const char *path) {
    if (m->n_leaving == LEAVING) {
        base_free(m->leaving[0]);
        memmove(m->leaving, m->leaving + 1, --m->n_leaving * sizeof *m->leaving);
    }
    if (!(m->leaving[m->n_leaving] = base_strdup(path))) return false;
    m->n_leaving++;
    m->n_given_up += m->n_given_up < LEAVING;
    return true;
}

/* dir/NAME.ckpt, or -v1, -v2 when the name is taken; the file that the new one takes the place of may give it its own,
 * so filename = "best" is best.ckpt after every save. */
static xt_status free_path(xt_trainer *t, saver *m, const char *replaced, char **out) {
    str name = STR_INIT;
    xt_status s = checkpoint_name(pattern_of(m), t->epoch, t->global_step, value_of, t,
                                  m->o.auto_insert_metric_name != XT_OFF, &name);
    *out = NULL;
    for (int v = 0; !s && !*out; v++) {
        str path = STR_INIT;
        str_printf(&path, "%s/%s", m->dir, str_cstr(&name));
        if (v) str_printf(&path, "-v%d", v);
        str_append(&path, ".ckpt");
        if (path.failed)
            s = status_oom(path.len, "a checkpoint's name");
        else if (choose(t, m, str_cstr(&path), replaced) && !(*out = base_strdup(str_cstr(&path)))) {
            checkpoint_unclaim(str_cstr(&path));
            s = status_oom(path.len, "a checkpoint's name");
        }
        str_free(&path);
    }
    str_free(&name);
    return s;
}

static size_t worst(const saver *m) {
    size_t w = 0;
    for (size_t i = 1; i < m->n; i++)
        if (m->files[i].score > m->files[w].score) w = i;
    return w;
}

/* The file that goes when one more comes; NULL: none, or the one that the fit was resumed from, which stays. */
static const char *replaced_file(const saver *m, int64_t k) {
    const kept *f = m->n && (int64_t)m->n >= k ? &m->files[worst(m)] : NULL;
    return f && !f->stays ? f->path : NULL;
}

static bool give_up(saver *m, const kept *f, checkpoint_job *job, size_t *cap) {
    checkpoint_old old = {f->path, f->root, checkpoint_claim(f->path) != CLAIM_NONE};
    if (leave(m, f->path) && VEC_PUSH(job->drop, job->n_drop, *cap, old)) return true;
    if (old.claimed) checkpoint_unclaim(f->path);
    return false;
}

/* Takes file i out of the list; its path is now the job's, which removes the file when the newer one is complete,
 * unless that has the same name. The file the fit was resumed from stays, and one that another saver keeps too (earlier
 * versions gave two the same). */
static bool drop(const xt_trainer *t, saver *m, size_t i, checkpoint_job *job, size_t *cap) {
    bool stays = (job->path && strcmp(job->path, m->files[i].path) == 0) || m->files[i].stays ||
                 another_keeps(t, m, m->files[i].path);
    if (stays)
        base_free(m->files[i].path);
    else if (!give_up(m, &m->files[i], job, cap))
        return false;
    memmove(&m->files[i], &m->files[i + 1], (m->n - i - 1) * sizeof *m->files);
    m->n--;
    return true;
}

/* A file that the program has named, itself or by a link. last.ckpt may be a second name of a kept file, which is no
 * reason to keep that: a run that is killed and resumed again and again would leave one each time. */
static bool named_to_resume(const xt_trainer *t, const char *path) {
    char *given = t->o.resume ? realpath(t->o.resume, NULL) : NULL, *own = given ? realpath(path, NULL) : NULL;
    bool same = own && strcmp(given, own) == 0;
    free(given);
    free(own);
    return same;
}

/* What a killed run had given up joins the job, unless it is somebody's by now. */
static bool drop_left(const xt_trainer *t, saver *m, checkpoint_job *job, size_t *cap) {
    while (m->n_left) {
        kept *f = &m->left[m->n_left - 1];
        bool stays = (job->path && same_name(job->path, f->path)) || keeps(m, f->path) ||
                     another_keeps(t, m, f->path) || named_to_resume(t, f->path);
        if (stays)
            base_free(f->path);
        else if (!give_up(m, f, job, cap))
            return false;
        m->n_left--;
    }
    return true;
}

static const kept *best_of(const saver *m) {
    const kept *best = m->prior.path ? &m->prior : NULL;
    for (size_t i = 0; i < m->n; i++)
        if (!best || m->files[i].score < best->score) best = &m->files[i];
    return best;
}

static double shown_score(const saver *m, const kept *f) {
    return !m->o.monitor ? NAN : m->o.mode == XT_MAX ? -f->score : f->score;
}

const char *xt_trainer_best_checkpoint(const xt_trainer *t, double *out_value) {
    if (out_value) *out_value = NAN;
    /* a resumed run knows the earlier best on every rank, but only this one keeps files */
    if (world_get()->rank != 0) return NULL;
    size_t i = 0;
    for (const saver *m; t && (m = next_saver(t, &i));) {
        const kept *best = best_of(m);
        if (best && out_value) *out_value = shown_score(m, best);
        if (best) return best->path;
    }
    return NULL;
}

const char *model_checkpoint_folder(const xt_trainer *t) {
    size_t i = 0;
    const saver *first = next_saver(t, &i);
    return first ? first->o.dirpath : NULL;
}

void model_checkpoint_sweep(const xt_trainer *t) {
    size_t i = 0;
    for (const saver *m; (m = next_saver(t, &i));)
        if (m->dir) checkpoint_folder_sweep(m->dir, false);
}

/* A value that this fit has not logged judges no file: one that a validation may log yet, or would log if this fit had
 * one, whatever its name. A validation that has been and did not log it leaves none to wait for. */
static xt_status without_value(const xt_trainer *t, saver *m) {
    const char *files = m->o.save_last == XT_OFF ? "nothing is kept" : "last.ckpt alone is kept";
    if (t->val && t->validated) return log_not_logged("xt_model_checkpoint", m->o.monitor);
    if (m->told_none) return NULL;
    m->told_none = true;
    if (t->val) {
        log_msg(XT_SEV_INFO, "xt_model_checkpoint: %s has no value before the first validation; until then %s",
                m->o.monitor, files);
        return NULL;
    }
    xt_status s = log_not_logged("xt_model_checkpoint", m->o.monitor);
    log_msg(XT_SEV_WARNING, "%s; this fit does not validate, and without the value %s", status_message(s), files);
    xt_status_free(s);
    return NULL;
}

/* Without a monitor the newest are the best. *judged: there is a score. */
static xt_status score_of(xt_trainer *t, saver *m, double *out, bool *judged) {
    *out = -(double)t->global_step;
    *judged = true;
    if (!m->o.monitor) return NULL;
    double v = xt_trainer_metric(t, m->o.monitor, true), probe;
    if (isnan(v) && !log_find(t->log, m->o.monitor, &probe)) {
        *judged = false;
        return without_value(t, m);
    }
    monitors_tell(t, "xt_model_checkpoint", m->o.monitor, v);
    *out = isnan(v) ? INFINITY : m->o.mode == XT_MAX ? -v : v;
    return NULL;
}

/* A run goes on from a file of the folder, but for an earlier run's last-v1.ckpt: then last.ckpt is another's. */
static bool goes_on_here(const xt_trainer *t, const saver *m) {
    const char *from = t->resumed_from, *slash = from ? strrchr(from, '/') : NULL, *name = slash ? slash + 1 : from;
    char *folder = slash == from ? base_strdup("/")
                   : slash       ? base_strndup(from, (size_t)(slash - from))
                                 : base_strdup(".");
    bool here = from && folder && same_file(folder, m->dir) && strncmp(name, "last-v", 6) != 0;
    base_free(folder);
    return here;
}

/* Before the first last.ckpt of this run is written; savers of one folder share it. */
static xt_status own_last(const xt_trainer *t, saver *m, const char *last) {
    if (!last || m->owns_last) return NULL;
    size_t i = 0;
    for (const saver *other; !m->owns_last && (other = next_saver(t, &i));)
        m->owns_last = other->owns_last && other->dir && same_file(other->dir, m->dir);
    if (m->owns_last) return NULL;
    if (!goes_on_here(t, m)) XT_TRY(checkpoint_keep_last(last));
    m->owns_last = true;
    return NULL;
}

static xt_status hand_to_writer(xt_trainer *t, const saver *m, checkpoint_job job) {
    xt_status s = checkpoint_background(t, job);
    return !s && m->o.background == XT_OFF ? checkpoint_wait(t) : s;
}

static bool in_shards(const saver *m) {
    return m->o.sharded == XT_ON && world_get()->size > 1;
}

static xt_status gather(xt_trainer *t, const saver *m) {
    return in_shards(m) ? checkpoint_gather_shards(t) : checkpoint_gather(t);
}

/* Whether a checkpoint is written in shards, and as what, is rank 0's word; a count of 0: it is not, or not at all. */
static xt_status tell_plan(shard_plan *p) {
    coll_group *g;
    XT_TRY(coll_run_group(&g));
    return coll_broadcast(g, 0, p, sizeof *p);
}

static xt_status write_files(xt_trainer *t, const saver *m, checkpoint_job job, bool *out_told) {
    shard_plan p = {0};
    if (!in_shards(m)) return hand_to_writer(t, m, job);
    xt_status s = shard_plan_make(job.path ? job.path : job.last, world_get()->size, &p);
    if (!s) {
        *out_told = true;
        s = tell_plan(&p);
    }
    if (s) {
        checkpoint_job_forget(&job);
        return s;
    }
    job.shards = &p;
    return hand_to_writer(t, m, job);
}

/* On the other ranks: each writes its shard, when rank 0 says so. */
static xt_status write_own_shard(xt_trainer *t, const saver *m) {
    shard_plan p = {0};
    if (!in_shards(m)) return NULL;
    XT_TRY(tell_plan(&p));
    return p.count ? hand_to_writer(t, m, (checkpoint_job){.shards = &p}) : NULL;
}

/* Rank 0 could not come so far: nobody waits for its word. */
static xt_status tell_none(const saver *m, xt_status failed, bool told) {
    shard_plan none = {0};
    xt_status s = in_shards(m) && !told ? tell_plan(&none) : NULL;
    if (failed) xt_status_free(s);
    return failed ? failed : s;
}

/* The new file joins the list before the snapshot is taken: its own entry is in the state it saves. */
static xt_status save_first(xt_trainer *t, saver *m, bool *out_told) {
    double score = 0;
    bool judged;
    XT_TRY(score_of(t, m, &score, &judged));
    int64_t k = m->o.last_only == XT_ON ? 0 : m->o.save_top_k < 0 ? INT64_MAX : m->o.save_top_k;
    bool good = judged && ((int64_t)m->n < k || (k > 0 && score < m->files[worst(m)].score));
    char *path = NULL, *last = m->o.save_last == XT_OFF ? NULL : path_join(m->dir, "last.ckpt");
    checkpoint_job job = {.last = last};
    size_t cap = 0;
    m->n_given_up = 0;
    xt_status s = good ? free_path(t, m, replaced_file(m, k), &path) : NULL;
    if (!s && good) {
        kept entry = {path, (size_t)(strrchr(path, '/') - path), score, false};
        job.path = path;
        if (!VEC_PUSH(m->files, m->n, m->cap, entry)) s = status_oom(sizeof entry, "a checkpoint");
    }
    while (!s && (int64_t)m->n > k)
        if (!drop(t, m, worst(m), &job, &cap)) s = status_oom(sizeof path, "a checkpoint");
    if (!s && !drop_left(t, m, &job, &cap)) s = status_oom(sizeof path, "a checkpoint");
    if (!s) s = own_last(t, m, last);
    bool handed = !s && (job.path || job.last);
    if (handed) s = write_files(t, m, job, out_told);
    if (!handed) checkpoint_job_forget(&job);
    base_free(last);
    return s;
}

static xt_status save(xt_trainer *t, saver *m) {
    bool told = false;
    if (m->saved_step == t->global_step) return NULL;
    XT_TRY(gather(t, m));
    m->saved_step = t->global_step;
    m->saved_epoch = t->position.epoch;
    if (world_get()->rank != 0) return write_own_shard(t, m);
    xt_status s = save_first(t, m, &told);
    return tell_none(m, s, told);
}

static void save_or_fail(xt_trainer *t, saver *m) {
    m->due = m->after_validation = m->after_window = false;
    xt_status s = save(t, m);
    checkpoint_release(t);
    if (s) lazy_fail(s);
    m->saved_ns = clock_ns();
}

static xt_status fit_start(xt_trainer *t, void *user) {
    saver *m = user;
    m->saved_step = -1;
    m->saved_ns = clock_ns();
    m->due = m->after_validation = m->after_window = m->told_none = false;
    if (world_get()->rank != 0 || m->dir) return NULL;
    m->owns_last = false;
    m->dir = m->o.dirpath ? base_strdup(m->o.dirpath)
                          : path_join(t->run_dir ? t->run_dir : train_runs_dir(t), "checkpoints");
    XT_TRY(m->dir ? file_make_dirs(m->dir, 0755) : status_oom(64, "the folder of checkpoints"));
    checkpoint_folder_sweep(m->dir, false);
    for (size_t i = 0; i < m->n; i++) m->files[i].stays = t->resumed_from && named_to_resume(t, m->files[i].path);
    return NULL;
}

static void step_end(xt_trainer *t, void *user) {
    saver *m = user;
    bool by_step = m->o.every_n_steps && t->global_step % m->o.every_n_steps == 0;
    bool by_time = m->every_ns && train_ranks_agree(clock_ns() - m->saved_ns >= m->every_ns);
    if (!by_step && !by_time && !m->after_window) return;
    if (t->validation_next) {
        m->after_validation = true;
        return;
    }
    if (m->o.monitor) train_values_now(t); /* the monitor's may be of a row that is long past, or still to come */
    save_or_fail(t, m);
}

static bool by_validation(const saver *m) {
    return m->o.every_n_steps == 0 && m->o.every_n_epochs == 0 && m->every_ns == 0;
}

static bool by_epoch(const xt_trainer *t, const saver *m) {
    return m->o.every_n_epochs && (t->epoch + 1) % m->o.every_n_epochs == 0;
}

/* With a monitor, every so many epochs mean their validations, where there are any: at the end of one that has none, or
 * that trained on behind its last, a file would be kept by a value that is not its own. */
static void validation_end(xt_trainer *t, void *user) {
    saver *m = user;
    if (!by_validation(m) && !m->after_validation && !(m->o.monitor && by_epoch(t, m))) return;
    bool within = t->o.val_every_n_batches || t->val_interval.unit != INTERVAL_EPOCHS;
    if (!within)
        m->due = true; /* saved at the epoch's end, so that resuming does not validate again */
    else if (!t->step_recorded)
        m->after_window = true;
    else
        save_or_fail(t, m);
}

static void epoch_end(xt_trainer *t, void *user) {
    saver *m = user;
    if (m->due || (by_validation(m) && !t->val) || (by_epoch(t, m) && !(m->o.monitor && t->val))) save_or_fail(t, m);
}

static xt_status save_last(xt_trainer *t, saver *m) {
    bool told = false;
    char *last = path_join(m->dir ? m->dir : ".", "last.ckpt");
    xt_status s = last ? own_last(t, m, last) : status_oom(64, "last.ckpt");
    if (!s) s = write_files(t, m, (checkpoint_job){.last = last}, &told);
    base_free(last);
    return tell_none(m, s, told);
}

static void fit_end(xt_trainer *t, bool ok, void *user) {
    saver *m = user;
    if (!train_moved(t) && !m->o.dirpath && m->dir) {
        /* The run's folder may go, and the next fit has another. */
        xt_status s = checkpoint_wait(t);
        if (s) lazy_fail(s);
        if (rmdir(m->dir) == 0 || file_is_missing(m->dir)) {
            base_free(m->dir);
            m->dir = NULL;
        }
    }
    /* behind an epoch's last step a file may have the epoch's end still to come */
    bool saved = m->saved_step == t->global_step && m->saved_epoch == t->position.epoch;
    if (!ok || saved || m->o.save_last == XT_OFF || !train_moved(t)) return;
    xt_status s = gather(t, m);
    if (!s) s = world_get()->rank == 0 ? save_last(t, m) : write_own_shard(t, m);
    checkpoint_release(t);
    if (s) lazy_fail(s);
}

static size_t save_state(char *buf, size_t n, void *user) {
    const saver *m = user;
    cJSON *o = cJSON_CreateObject(), *files = o ? cJSON_AddArrayToObject(o, "files") : NULL;
    if (o && m->o.monitor) cJSON_AddStringToObject(o, "monitor", m->o.monitor);
    for (size_t i = 0; files && i < m->n; i++) {
        cJSON *f = cJSON_CreateObject();
        cJSON_AddStringToObject(f, "path", m->files[i].path);
        if (isfinite(m->files[i].score)) cJSON_AddNumberToObject(f, "score", m->files[i].score);
        cJSON_AddItemToArray(files, f);
    }
    cJSON *left = o && m->n_given_up ? cJSON_AddArrayToObject(o, "left") : NULL;
    for (size_t i = m->n_leaving - m->n_given_up; left && i < m->n_leaving; i++) {
        cJSON *f = cJSON_CreateObject();
        cJSON_AddStringToObject(f, "path", m->leaving[i]);
        cJSON_AddItemToArray(left, f);
    }
    const kept *best = m->o.monitor ? best_of(m) : NULL;
    if (o && best && isfinite(best->score)) {
        cJSON *b = cJSON_AddObjectToObject(o, "best");
        cJSON_AddStringToObject(b, "path", best->path);
        cJSON_AddNumberToObject(b, "score", best->score);
    }
    char *text = cJSON_PrintUnformatted(o);
    size_t len = (size_t)snprintf(buf, n, "%s", text ? text : "{}");
    cJSON_free(text);
    cJSON_Delete(o);
    return len;
}

/* What an entry of the list that travelled in a checkpoint names; NULL: nothing that is used, which is told where the
 * entry is no saver's. */
static const char *listed(const saver *m, const cJSON *file, listed_kind *out, int *refused) {
    const char *path = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(file, "path")), *why = NULL;
    if (!path) return NULL;
    *out = checkpoint_listed(m->o.dirpath, pattern_of(m), m->o.auto_insert_metric_name != XT_OFF, path, &why);
    if (*out == LISTED_REFUSED && refused) checkpoint_listed_tell(path, why, (*refused)++);
    return *out == LISTED_OWN || *out == LISTED_ELSEWHERE ? path : NULL;
}

/* Keeps `file` in mind when it is better than all that is known. Scores of another value are no measure. */
static void remember(saver *m, const cJSON *state, const cJSON *file, int *refused) {
    const char *monitor = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(state, "monitor"));
    const cJSON *score = cJSON_GetObjectItemCaseSensitive(file, "score");
    const kept *best = best_of(m);
    listed_kind kind;
    if (!m->o.monitor || !monitor || strcmp(monitor, m->o.monitor) != 0 || !cJSON_IsNumber(score)) return;
    if (best && best->score <= score->valuedouble) return;
    const char *path = listed(m, file, &kind, refused);
    char *copy = path ? base_strdup(path) : NULL;
    if (!copy) return;
    base_free(m->prior.path);
    m->prior = (kept){copy, 0, score->valuedouble, false};
}

/* Only a checkpoint that lies in this saver's folder under a name of the saver's joins the list, once. */
static void take_listed(saver *m, const cJSON *file, int *refused) {
    listed_kind kind;
    const cJSON *score = cJSON_GetObjectItemCaseSensitive(file, "score");
    const char *path = listed(m, file, &kind, refused);
    if (!path || kind != LISTED_OWN) return;
    for (size_t i = 0; i < m->n; i++)
        if (same_name(m->files[i].path, path)) {
            checkpoint_listed_tell(path, "the list has it twice", (*refused)++);
            return;
        }
    kept entry = {base_strdup(path), strlen(m->o.dirpath), cJSON_IsNumber(score) ? score->valuedouble : INFINITY,
                  false};
    if (!entry.path || !VEC_PUSH(m->files, m->n, m->cap, entry)) base_free(entry.path);
}

static void take_left(saver *m, const cJSON *file, int *refused) {
    listed_kind kind;
    const char *path = listed(m, file, &kind, refused);
    if (!path || kind != LISTED_OWN) return;
    kept entry = {base_strdup(path), strlen(m->o.dirpath), INFINITY, false};
    if (!entry.path || !VEC_PUSH(m->left, m->n_left, m->left_cap, entry)) base_free(entry.path);
}

/* Files of another folder stay untouched: they belong to the run that was resumed from. The best of them
 * is remembered. */
static xt_status load_state(const char *json, void *user) {
    saver *m = user;
    cJSON *o = cJSON_Parse(json);
    const cJSON *f, *best = cJSON_GetObjectItemCaseSensitive(o, "best");
    int refused = 0;
    cJSON_ArrayForEach(f, cJSON_GetObjectItemCaseSensitive(o, "files")) take_listed(m, f, &refused);
    cJSON_ArrayForEach(f, cJSON_GetObjectItemCaseSensitive(o, "left")) take_left(m, f, &refused);
    if (best) remember(m, o, best, &refused);
    cJSON_ArrayForEach(f, cJSON_GetObjectItemCaseSensitive(o, "files"))
        remember(m, o, f, NULL); /* what is refused was told above */
    cJSON_Delete(o);
    return NULL;
}

const xt_callback_desc model_checkpoint_desc = {
    .struct_size = sizeof(xt_callback_desc),
    .name = "model_checkpoint",
    .fit_start = fit_start,
    .step_end = step_end,
    .validation_end = validation_end,
    .epoch_end = epoch_end,
    .fit_end = fit_end,
    .save_state = save_state,
    .load_state = load_state,
    .free_user = free_saver,
};

static const option_row rows[] = {
    {"save_top_k", "files to keep; -1 = all", OPTION_INT, offsetof(xt_model_checkpoint_opts, save_top_k), -1, 1e6,
     NULL},
    {"background", "write while training goes on", OPTION_SWITCH, offsetof(xt_model_checkpoint_opts, background), 0, 0,
     NULL},
    {"last_only", "keep nothing but last.ckpt", OPTION_SWITCH, offsetof(xt_model_checkpoint_opts, last_only), 0, 0,
     NULL},
    {"auto_insert_metric_name", "names in file names", OPTION_SWITCH,
     offsetof(xt_model_checkpoint_opts, auto_insert_metric_name), 0, 0, NULL},
    {"sharded", "every rank writes a share", OPTION_SWITCH, offsetof(xt_model_checkpoint_opts, sharded), 0, 0, NULL},
    {"save_last", "keep last.ckpt", OPTION_SWITCH, offsetof(xt_model_checkpoint_opts, save_last), 0, 0, NULL},
    {"every_n_epochs", "save after every so many epochs", OPTION_I64,
     offsetof(xt_model_checkpoint_opts, every_n_epochs), 0, 1e15, NULL},
    {"every_n_steps", "save after every so many optimizer steps", OPTION_I64,
     offsetof(xt_model_checkpoint_opts, every_n_steps), 0, 1e15, NULL},
    {"monitor", "the logged value to watch", OPTION_STRING, offsetof(xt_model_checkpoint_opts, monitor), 0, 0, NULL},
    {"mode", "what is better", OPTION_ENUM, offsetof(xt_model_checkpoint_opts, mode), 0, 0, callback_modes},
    {"dirpath", "folder of the files", OPTION_STRING, offsetof(xt_model_checkpoint_opts, dirpath), 0, 0, NULL},
    {"filename", "pattern of their names", OPTION_STRING, offsetof(xt_model_checkpoint_opts, filename), 0, 0, NULL},
    {"every_time", "save after so much time", OPTION_STRING, offsetof(xt_model_checkpoint_opts, every_time), 0, 0,
     NULL},
};

static xt_status check(xt_model_checkpoint_opts *o) {
    XT_TRY(options_check(rows, BASE_COUNT(rows), o, OPTION_DEFAULTS(xt_model_checkpoint_opts), "xt_model_checkpoint"));
    if (o->mode != XT_REDUCE_DEFAULT && o->mode != XT_MIN && o->mode != XT_MAX)
        return status_new(XT_INVALID_ARGUMENT, NULL, "xt_model_checkpoint: mode is XT_MIN or XT_MAX");
    if (o->save_top_k > 1 && !o->monitor)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "xt_model_checkpoint: save_top_k = %d needs a monitor to know the best by (-1 keeps all)",
                          o->save_top_k);
    if (o->every_n_steps && o->every_n_epochs)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "xt_model_checkpoint: every_n_steps and every_n_epochs are both given; choose one");
    int64_t ns;
    if (o->every_time) XT_TRY(status_context(duration_parse("every_time", o->every_time, &ns), "xt_model_checkpoint"));
    str probe = STR_INIT;
    xt_status s = checkpoint_name(o->filename ? o->filename : "", 0, 0, value_of, NULL, true, &probe);
    str_free(&probe);
    return status_context(s, "xt_model_checkpoint");
}

xt_callback *xt_model_checkpoint_opt(const xt_src *src, xt_model_checkpoint_opts o) {
    SRC_CALLED_FROM(src);
    saver *m = base_calloc(1, sizeof *m);
    xt_status s = m ? check(&o) : status_oom(sizeof *m, "a callback");
    if (s) {
        lazy_fail(s);
        base_free(m);
        return NULL;
    }
    m->o = o;
    m->o.monitor = o.monitor ? intern_text(intern(o.monitor)) : NULL;
    m->o.dirpath = o.dirpath ? intern_text(intern(o.dirpath)) : NULL;
    m->o.filename = o.filename ? intern_text(intern(o.filename)) : NULL;
    m->saved_step = -1;
    m->o.every_time = NULL;
    if (o.every_time) xt_status_free(duration_parse("every_time", o.every_time, &m->every_ns)); /* checked above */
    xt_callback *c = callback_make(&model_checkpoint_desc, m);
    if (c) c->saves = true;
    return callback_watching(c, o.monitor, o.mode);
}
