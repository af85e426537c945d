/* The last whole optimizer step of a fit that ended with an error, as a file. */
#include <unistd.h>

#include "lazy/mesh/mesh.h"
#include "train/checkpoint.h"
#include "train/train_int.h"

typedef struct keeper {
    const char *dirpath, *filename; /* interned */
    char *path;
} keeper;

static void free_keeper(void *user) {
    keeper *k = user;
    base_free(k->path);
    base_free(k);
}

static xt_status fit_start(xt_trainer *t, void *user) {
    keeper *k = user;
    str name = STR_INIT;
    const char *folder = k->dirpath ? k->dirpath : t->run_dir ? t->run_dir : train_runs_dir(t);
    str_printf(&name, "%s%s/%s.ckpt", folder, k->dirpath ? "" : "/checkpoints",
               k->filename ? k->filename : "on_exception");
    base_free(k->path);
    k->path = name.failed ? NULL : base_strdup(str_cstr(&name));
    str_free(&name);
    return k->path ? NULL : status_oom(64, "on_exception.ckpt");
}

/* Other ranks may be lost: rank 0 saves what it has, without meeting them. Divided states cannot be saved so, nor the
 * epoch's sums, which are all ranks'. */
static void exception(xt_trainer *t, xt_status error, void *user) {
    keeper *k = user;
    (void)error;
    if (world_get()->rank != 0 || t->at.micro_batches == 0 || !k->path || t->o.fast_dev_run || rehearsal_skips())
        return;
    if (world_get()->size > 1 && lazy_spmd()) {
        log_msg(XT_SEV_WARNING, "the state before the error was not saved: each rank has a part of it, and only all "
                                "ranks together can save that; xt_model_checkpoint(.every_n_steps) keeps one in time");
        return;
    }
    if (world_get()->size == 1) xt_status_free(checkpoint_gather(t)); /* what cannot be had is not in the file */
    bool left_out = world_get()->size > 1 && checkpoint_gradients_wait(t);
    xt_status s = checkpoint_save(t, k->path);
    checkpoint_release(t);
    if (s)
        log_msg(XT_SEV_WARNING, "the state before the error was not saved: %s", status_message(s));
    else {
        log_msg(XT_SEV_INFO, "the state before the error is in %s (step %lld)", k->path, (long long)t->global_step);
        if (t->in_window.batches)
            log_msg(
                XT_SEV_WARNING,
                "%s: %lld micro-batches of the window behind step %lld had run, so running statistics (batch norms) "
                "and the epoch's sums have them already; parameters and optimizers do not",
                k->path, (long long)t->in_window.batches, (long long)t->global_step);
        if (left_out)
            log_msg(
                XT_SEV_WARNING,
                "%s does not hold the gradients that wait for an optimizer's step: each rank has its own, and after "
                "an error they cannot be brought together. A run that resumes from it begins without them; the "
                "files of xt_model_checkpoint(.every_n_steps) have them",
                k->path);
        train_note_last(t, k->path);
    }
    xt_status_free(s);
}

static void fit_end(xt_trainer *t, bool ok, void *user) {
    keeper *k = user;
    (void)t;
    if (ok && k->path && world_get()->rank == 0 && !rehearsal_on()) unlink(k->path);
}

static const xt_callback_desc desc = {.struct_size = sizeof(xt_callback_desc),
                                      .name = "exception_checkpoint",
                                      .fit_start = fit_start,
                                      .exception = exception,
                                      .fit_end = fit_end,
                                      .free_user = free_keeper};

static const option_row rows[] = {
    {"dirpath", "folder of the file", OPTION_STRING, offsetof(xt_exception_checkpoint_opts, dirpath), 0, 0, NULL},
    {"filename", "its name", OPTION_STRING, offsetof(xt_exception_checkpoint_opts, filename), 0, 0, NULL},
};

xt_callback *xt_exception_checkpoint_opt(const xt_src *src, xt_exception_checkpoint_opts o) {
    SRC_CALLED_FROM(src);
    keeper *k = base_calloc(1, sizeof *k);
    xt_status s = k ? options_check(rows, BASE_COUNT(rows), &o, OPTION_DEFAULTS(xt_exception_checkpoint_opts),
                                    "xt_exception_checkpoint")
                    : status_oom(sizeof *k, "a callback");
    if (s) {
        lazy_fail(s);
        base_free(k);
        return NULL;
    }
    k->dirpath = o.dirpath ? intern_text(intern(o.dirpath)) : NULL;
    k->filename = o.filename ? intern_text(intern(o.filename)) : NULL;
    return callback_make(&desc, k);
}
