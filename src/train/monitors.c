/* What is said of the values that callbacks watch (checkpoints by score, early stopping): what no validation will log,
 * what is NaN, and what is one rank's part. */
#include <math.h>

#include "lazy/mesh/mesh.h"
#include "train/train_int.h"

/* "min val/loss" -> "val/loss" */
static const char *watched(const xt_callback *c) {
    const char *space = c->watches ? strchr(c->watches, ' ') : NULL;
    return space && space[1] ? space + 1 : NULL;
}

/* A value of that name comes from validation_step by custom. */
static bool left_out(const xt_trainer *t, const char *name) {
    return !t->val && (strncmp(name, "val/", 4) == 0 || strncmp(name, "val_", 4) == 0);
}

/* What a callback does without its value comes an epoch later; which checkpoints are kept, it tells there. */
void monitors_begin(const xt_trainer *t) {
    for (size_t i = 0; i < t->n_callbacks && world_get()->rank == 0; i++) {
        const char *name = watched(t->callbacks[i]);
        if (!name || callback_rests(t, t->callbacks[i]) || !left_out(t, name)) continue;
        log_msg(XT_SEV_WARNING, "xt_%s watches %s, but this fit does not validate: %s", t->callbacks[i]->d.name, name,
                !t->task->validation_step     ? "the task has no .validation_step"
                : t->o.limit_val_batches == 0 ? "limit_val_batches = 0 leaves validations out"
                                              : "the validation loader that xt_fit was given is NULL");
    }
}

void monitors_tell(const xt_trainer *t, const char *who, const char *name, double v) {
    const world *w = world_get();
    char key[300], at[256];
    src_id src;
    if (w->rank != 0) return;
    snprintf(key, sizeof key, "%.32s nan %.200s", who, name);
    if (isnan(v))
        log_once(key, XT_SEV_WARNING,
                 "%s: %s is NaN at step %lld: it counts as the worst value there is, as every NaN of it will", who,
                 name, (long long)t->global_step);
    snprintf(key, sizeof key, "%.32s step %.200s", who, name);
    if (log_own_has_epochs(name))
        log_once(key, XT_SEV_INFO,
                 "%s watches %s, the loss of the newest row's step alone; %s_epoch is its mean over the epoch", who,
                 name, name);
    snprintf(key, sizeof key, "%.32s part %.200s", who, name);
    if (w->size > 1 && !lazy_spmd() && log_of_one_rank(name, &src))
        log_once(key, XT_SEV_WARNING,
                 "%s watches %s, logged at %s without .sync_dist: with %d ranks its value is that of rank 0's samples "
                 "alone; xt_log(\"%s\", ..., .sync_dist = XT_ON) makes it that of all",
                 who, name, src_text(src, at, sizeof at), w->size, name);
}
