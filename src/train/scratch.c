#include "data/data.h"
#include "train/train_int.h"

/* The hooks that a user has for a real fit do not run in a trial. */
static xt_task bare(const xt_task *task) {
    return (xt_task){.net = task->net,
                     .user = task->user,
                     .training_step = task->training_step,
                     .configure_optimizers = task->configure_optimizers,
                     .configure_several = task->configure_several,
                     .manual_optimization = task->manual_optimization,
                     .setup = task->setup,
                     .teardown = task->teardown};
}

static xt_status pending(xt_status s) {
    if (!s && lazy_pending()) s = status_clone(lazy_pending());
    lazy_forget_error();
    return s;
}

xt_status scratch_fit(const xt_src *src, const char *what, const xt_task *task, xt_loader *loader, int64_t steps,
                      xt_callback *callback) {
    xt_status refused = train_may_begin(NULL, what);
    if (refused) {
        callback_free(callback);
        return refused;
    }
    if (!task || !task->net || !task->training_step || (!task->configure_optimizers && !task->configure_several) ||
        !loader) {
        callback_free(callback);
        return status_new(XT_INVALID_ARGUMENT, src,
                          "a trial needs a loader and a task with .net (a module of its own is made from it), "
                          ".training_step and .configure_optimizers");
    }
    uint64_t seed = lazy_seed();
    lazy_drawn drawn = lazy_draws_now();
    loader_pass outer = loader_mark(loader);
    lazy_position position = *lazy_position_of_thread();
    xt_task trial = bare(task);
    xt_trainer *t = trainer_new(src,
                                XT_OPTS(xt_trainer_opts, .max_epochs = -1, .max_steps = steps, .logger = XT_OFF,
                                        .checkpointing = XT_OFF,
                                        /* XT_TRAINER_MAX_STEPS is of the real fit */
                                        .progress_bar = XT_OFF, .model_summary = XT_OFF, .signals = ""),
                                false);
    if (!t) {
        callback_free(callback);
        return pending(NULL);
    }
    t->quiet = true;
    xt_trainer_add(t, callback);
    xt_status s = train_settle(t);
    if (!s) s = train_fit(src, t, &trial, loader, NULL);
    s = pending(s);
    for (int i = 0; i < t->n_opts; i++) xt_optimizer_free(t->opts[i]);
    xt_module_free(t->net);
    xt_trainer_free(t);
    xt_loader_set_epoch(loader, outer.epoch, outer.next);
    *lazy_position_of_thread() = position;
    xt_seed(seed);
    lazy_draws_again(drawn);
    return pending(s);
}
