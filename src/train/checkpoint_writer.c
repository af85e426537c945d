/* Checkpoints in the background: the fit takes a snapshot and goes on; one thread of the trainer's writes the files in
 * order. An older file is removed only when the newer one is complete, and not at all when it failed. At most one
 * snapshot waits while another is written, so memory stays bounded. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/ending.h"
#include "base/process.h"
#include "dist/restart.h"
#include "train/checkpoint.h"
#include "train/checkpoint_claim.h"
#include "train/checkpoint_listed.h"

typedef struct job {
    snapshot *what, *shard; /* shard: NULL where all lies in one file */
    shard_plan plan;
    char *path, *last;
    checkpoint_old *drop;
    size_t n_drop;
} job;
struct checkpoint_writer {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool running, ends, busy;
    job *waiting;
    xt_status failed;
};

void checkpoint_job_forget(const checkpoint_job *of) {
    if (of->path) checkpoint_unclaim(of->path);
    for (size_t i = 0; i < of->n_drop; i++) {
        if (of->drop[i].claimed) checkpoint_unclaim(of->drop[i].path);
        base_free(of->drop[i].path);
    }
    base_free(of->drop);
}

static void job_free(job *j) {
    if (!j) return;
    checkpoint_job_forget(&(checkpoint_job){.path = j->path, .drop = j->drop, .n_drop = j->n_drop});
    snapshot_free(j->what);
    snapshot_free(j->shard);
    base_free(j->path);
    base_free(j->last);
    base_free(j);
}

/* Shards of a file that has just been replaced. */
static void remove_shards(const char *path, const char *list) {
    const char *slash = strrchr(path, '/');
    char *folder = !list ? NULL : slash ? base_strndup(path, (size_t)(slash - path) + 1) : base_strdup(".");
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) shards_remove(fd, list);
    if (fd >= 0) close(fd);
    base_free(folder);
}

static xt_status write_over(const snapshot *s, const char *path) {
    char *before = shards_of(AT_FDCWD, path);
    xt_status e = snapshot_write(s, path);
    if (!e) remove_shards(path, before);
    base_free(before);
    return e;
}

/* Rank 0 goes on when all shards are there; the others have nothing else to write. */
static xt_status write_shard(const job *j) {
    str path = STR_INIT;
    xt_status s = shard_path(&j->plan, world_get()->rank, &path);
    if (!s) s = snapshot_write_shard(j->shard, str_cstr(&path));
    str_free(&path);
    return s || world_get()->rank != 0 ? s : shard_gather(&j->plan);
}

/* last.ckpt is another name of the newest file where links work, a file of its own elsewhere. */
static xt_status make_last(const job *j) {
    if (!j->last) return NULL;
    str temporary = STR_INIT;
    static atomic_uint made; /* a file writer counts from 0 */
    str_printf(&temporary, "%s.tmp.%ld.%llu.%u", j->last, (long)getpid(), (unsigned long long)process_ticks(getpid()),
               1000000 + atomic_fetch_add(&made, 1));
    bool linked = false;
    char *before = j->path ? shards_of(AT_FDCWD, j->last) : NULL;
    if (j->path && !temporary.failed) {
        unlink(str_cstr(&temporary));
        linked = link(j->path, str_cstr(&temporary)) == 0 && rename(str_cstr(&temporary), j->last) == 0;
        if (!linked) unlink(str_cstr(&temporary));
    }
    str_free(&temporary);
    if (linked) remove_shards(j->last, before);
    base_free(before);
    return linked ? NULL : write_over(j->what, j->last);
}

static xt_status perform(job *j) {
    if (rehearsal_skips()) return NULL; /* also last.ckpt stays, and the older files */
    if (j->shard) XT_TRY(write_shard(j));
    if (!j->what) return NULL;
    if (j->path) XT_TRY(write_over(j->what, j->path));
    XT_TRY(make_last(j));
    restart_note(j->last ? j->last : j->path);
    stopping_saved(j->last ? j->last : j->path);
    for (size_t i = 0; i < j->n_drop; i++) {
        const char *why = checkpoint_remove(j->drop[i].path, j->drop[i].root);
        if (why) log_msg(XT_SEV_WARNING, "the older checkpoint %s was not removed: %s", j->drop[i].path, why);
    }
    return NULL;
}

static void *serve(void *user) {
    struct checkpoint_writer *w = user;
    ending_exempts_thread();
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (!w->waiting && !w->ends) pthread_cond_wait(&w->changed, &w->lock);
        job *j = w->waiting;
        if (!j) break;
        w->waiting = NULL;
        w->busy = true;
        pthread_cond_broadcast(&w->changed);
        pthread_mutex_unlock(&w->lock);
        xt_status s = perform(j);
        job_free(j);
        pthread_mutex_lock(&w->lock);
        w->busy = false;
        if (!w->failed)
            w->failed = s;
        else
            xt_status_free(s);
        pthread_cond_broadcast(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static struct checkpoint_writer *writer_of(xt_trainer *t) {
    if (t->writer) return t->writer;
    struct checkpoint_writer *w = base_calloc(1, sizeof *w);
    if (!w) return NULL;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    w->running = cpus_start(&w->thread, "the thread that writes checkpoints", serve, w) == 0;
    return t->writer = w;
}

/* Takes the failure out: it is told once. */
static xt_status failure(struct checkpoint_writer *w) {
    xt_status s = w->failed;
    w->failed = NULL;
    return s;
}

static xt_status hand_over(struct checkpoint_writer *w, job *j) {
    if (!w->running) { /* no thread to be had: written here and now */
        xt_status s = perform(j);
        job_free(j);
        return s;
    }
    pthread_mutex_lock(&w->lock);
    while (w->waiting) pthread_cond_wait(&w->changed, &w->lock);
    xt_status s = failure(w);
    w->waiting = j;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return s;
}

xt_status checkpoint_background(xt_trainer *t, checkpoint_job of) {
    job *j = base_calloc(1, sizeof *j);
    struct checkpoint_writer *w = writer_of(t);
    if (j)
        *j = (job){.path = of.path ? base_strdup(of.path) : NULL,
                   .last = of.last ? base_strdup(of.last) : NULL,
                   .drop = of.drop,
                   .n_drop = of.n_drop};
    if (j && of.shards) j->plan = *of.shards;
    xt_status s = !j || !w || (!j->path && of.path) || (!j->last && of.last) ? status_oom(sizeof *j, "a checkpoint")
                  : of.shards ? snapshot_take_shard(t, of.shards, &j->what, &j->shard)
                              : snapshot_take(t, of.path ? of.path : of.last, &j->what);
    if (!s) {
        if (of.last) train_note_last(t, of.last);
        return hand_over(w, j);
    }
    if (!j)
        checkpoint_job_forget(&of);
    else if (!j->path && of.path)
        checkpoint_unclaim(of.path);
    job_free(j);
    return s;
}

xt_status checkpoint_wait(xt_trainer *t) {
    struct checkpoint_writer *w = t->writer;
    if (!w) return NULL;
    pthread_mutex_lock(&w->lock);
    while (w->running && (w->waiting || w->busy)) pthread_cond_wait(&w->changed, &w->lock);
    xt_status s = failure(w);
    pthread_mutex_unlock(&w->lock);
    return s;
}

void checkpoint_writer_free(xt_trainer *t) {
    struct checkpoint_writer *w = t->writer;
    if (!w) return;
    xt_status s = checkpoint_wait(t);
    if (s) log_msg(XT_SEV_ERROR, "%s", status_message(s));
    xt_status_free(s);
    pthread_mutex_lock(&w->lock);
    w->ends = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    if (w->running) pthread_join(w->thread, NULL);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
    base_free(w);
    t->writer = NULL;
}
