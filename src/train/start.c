/* The start of a fit: module, optimizer, checkpoint, run folder, loggers, and the lines that say what is
 * going to happen. */
#include <xtrain/memory.h>

#include "crash/crash.h"
#include "diag/diag.h"
#include "dist/restart.h"
#include "lazy/mesh/mesh.h"
#include "nn/nn.h"
#include "optim/optim.h"
#include "train/checkpoint.h"
#include "train/logger.h"
#include "train/train_int.h"

static xt_status find_module(xt_trainer *t, const xt_task *task) {
    if (task->module) {
        XT_TRY(train_use(HANDLE_module, task->module, "the task's .module"));
        t->net = task->module;
        t->net_fn = NULL;
        return NULL;
    }
    if (t->net && (!task->net || t->net_fn == task->net)) return train_use(HANDLE_module, t->net, "an earlier call");
    if (!task->net) return status_new(XT_INVALID_ARGUMENT, NULL, "the task has no .net and no .module");
    t->net = xt_module_new(task->net, task->user);
    t->net_fn = task->net;
    lazy_use(t->net);
    return t->net ? NULL : status_clone(lazy_pending());
}

/* The module's parameters and optimizer state are divided as .strategy says. */
static xt_status divide(xt_trainer *t) {
    const char *name = t->given.strategy;
    XT_TRY(train_strategy(t, src_get(t->src)));
    if (!name || !t->has_mesh) return NULL;
    if (strncmp(name, "zero", 4) == 0) xt_mesh_zero(lazy_mesh_of_run(), t->net, "data");
    if (strcmp(name, "fsdp") == 0) xt_mesh_fsdp(lazy_mesh_of_run(), t->net, "data");
    return lazy_pending() ? status_clone(lazy_pending()) : NULL;
}

/* Downloads and the like are done once; the other ranks find them done. */
static xt_status prepare_data(const xt_task *task) {
    if (!task->prepare_data) return NULL;
    if (world_get()->rank == 0) task->prepare_data(task->user);
    if (world_get()->size > 1) XT_TRY(xt_barrier(0));
    return lazy_pending() ? status_clone(lazy_pending()) : NULL;
}

xt_status train_module(xt_trainer *t, const xt_task *task) {
    xt_module *before = t->net;
    XT_TRY(prepare_data(task));
    XT_TRY(find_module(t, task));
    if (t->net != before) XT_TRY(divide(t));
    nn_loaded_passed(t->net);
    return train_precision_module(t);
}

/* The trainer calls a training step once for an update; LBFGS evaluates the loss as often as it needs. */
static xt_status closures_are_the_tasks(const xt_trainer *t) {
    for (int i = 0; i < t->n_opts && !t->task->manual_optimization; i++)
        if (t->opts[i]->lbfgs)
            return status_new(XT_FAILED_PRECONDITION, NULL,
                              "%s gave an xt_lbfgs, which evaluates the loss several times a step: set "
                              ".manual_optimization = true in the task, and let its training_step call "
                              "xt_optimizer_step_closure(opt, closure, user), whose function computes the loss",
                              t->task->configure_several ? "configure_several" : "configure_optimizers");
    return NULL;
}

/* The task's own optimizers. */
static xt_status configure_own(xt_trainer *t) {
    const xt_task *task = t->task;
    int n = 1;
    if (task->configure_several)
        n = task->configure_several(t->net, t->opts, TRAIN_MAX_OPTIMIZERS, task->user);
    else
        t->opts[0] = task->configure_optimizers(t->net, task->user);
    if (lazy_pending()) return status_clone(lazy_pending());
    if (n < 1 || n > TRAIN_MAX_OPTIMIZERS)
        return status_new(XT_INVALID_ARGUMENT, NULL, "configure_several gave %d optimizers; 1 to %d are expected", n,
                          TRAIN_MAX_OPTIMIZERS);
    for (int i = 0; i < n; i++)
        if (!t->opts[i])
            return status_new(XT_INVALID_ARGUMENT, NULL, "%s gave NULL%s; it must return an optimizer",
                              task->configure_several ? "configure_several" : "configure_optimizers",
                              n > 1 ? " among its optimizers" : "");
    t->n_opts = n;
    return NULL;
}

static xt_status configure(xt_trainer *t) {
    t->n_opts = 0;
    if (!by_name_optimizer(t))
        XT_TRY(configure_own(t));
    else if (t->task->manual_optimization || t->task->configure_several)
        return status_new(
            XT_INVALID_ARGUMENT, NULL,
            "--optimizer: the task has optimizers that it knows one by one; they cannot be replaced by name");
    XT_TRY(train_use_optimizers(t));
    XT_TRY(closures_are_the_tasks(t));
    XT_TRY(by_name_configure(t));
    t->opt = t->opts[0];
    for (int i = 0; i < t->n_opts && t->o.offload_optimizer == XT_ON; i++) xt_optimizer_offload(t->opts[i]);
    for (int i = 0; i < t->n_opts && t->o.check_replicas_every_n_steps > 0; i++)
        xt_optimizer_check_replicas_at(NULL, t->opts[i], t->o.check_replicas_every_n_steps);
    return lazy_pending() ? status_clone(lazy_pending()) : NULL;
}

/* Those of an earlier fit, unless the program has freed one since. */
static bool has_optimizers(const xt_trainer *t) {
    bool there = t->opt != NULL;
    for (int i = 0; there && i < t->n_opts; i++) there = handle_look(HANDLE_optimizer, t->opts[i]) == HANDLE_LIVES;
    return there && t->opt->net == t->net;
}

static xt_status make_optimizers(xt_trainer *t) {
    XT_TRY(has_optimizers(t) ? train_use_optimizers(t) : configure(t));
    bool by_value = t->o.gradient_clip_algorithm && strcmp(t->o.gradient_clip_algorithm, "value") == 0;
    for (int i = 0; i < t->n_opts && t->o.gradient_clip_val > 0; i++)
        *(by_value ? &t->opts[i]->clip_value : &t->opts[i]->clip_norm) = t->o.gradient_clip_val;
    return train_precision_attach(t);
}

static bool keeps_checkpoints(const xt_trainer *t) {
    if (t->o.fast_dev_run) return false;
    for (size_t i = 0; i < t->n_callbacks; i++)
        if (callback_is(t->callbacks[i], &model_checkpoint_desc)) return true;
    return t->o.checkpointing != XT_OFF;
}

/* A checkpoint is of the task's network and of the optimizers: of a module beside the network it has the moments
 * alone, which nobody would notice before a fit is resumed. */
static void tell_modules_beside(const xt_trainer *t) {
    char at[256];
    if (!keeps_checkpoints(t) || t->quiet || world_get()->rank != 0) return;
    for (int i = 0; i < t->n_opts; i++) {
        if (nn_network(t->opts[i]->root) == nn_network(t->net)) continue;
        log_msg(XT_SEV_WARNING,
                "%s: the optimizer made here is of a module beside the task's network: checkpoints have no weights of "
                "that module, and a fit that is resumed begins with new ones; make it a child of the network, "
                "xt_sub(m, \"name\", -1), or xt_save it in a hook",
                t->opts[i]->forgets.made ? src_text(t->opts[i]->forgets.made, at, sizeof at) : "?");
        return;
    }
}

static xt_status open_loggers(xt_trainer *t) {
    size_t n = config_count(t);
    const char **names = base_calloc(n + 1, sizeof *names), **texts = base_calloc(n + 1, sizeof *texts);
    xt_status s = names && texts ? NULL : status_oom(n, "loggers");
    logger_settings settings = {0, names, texts};
    for (size_t i = 0; i < n && !s; i++) {
        names[settings.n] = config_at(t, i, &texts[settings.n]);
        settings.n += texts[settings.n] != NULL;
    }
    if (!s)
        s = loggers_open(t->o.loggers ? t->o.loggers : "csv,tensorboard", t->run_dir, settings, t->sinks,
                         BASE_COUNT(t->sinks) - 1 - TRAIN_MAX_LOGGERS, &t->n_sinks);
    base_free(names);
    base_free(texts);
    for (size_t i = 0; i < t->n_loggers && !s; i++) {
        s = logger_open_own(&t->loggers[i], t->run_dir, &t->sinks[t->n_sinks]);
        t->n_sinks += !s;
    }
    return s;
}

static xt_status open_run(xt_trainer *t) {
    bool logs = t->o.logger != XT_OFF;
    if (world_get()->rank != 0 || t->n_sinks || rehearsal_skips()) return NULL;
    if (!t->run_dir && (logs || keeps_checkpoints(t))) {
        XT_TRY(run_dir_make(train_runs_dir(t), train_run_name(t), &t->run_dir));
        t->run_dir_fresh = true;
    }
    if (t->run_dir) XT_TRY(config_save(t, t->run_dir));
    if (!logs) return NULL;
    XT_TRY(open_loggers(t));
    t->history = history_new();
    if (!t->history) return status_oom(64, "the loss curve");
    t->sinks[t->n_sinks] = history_sink(t->history);
    log_add_sink(&t->sinks[t->n_sinks++]);
    return NULL;
}

void train_forget_run(xt_trainer *t, const char *why) {
    for (size_t i = 0; i < t->n_sinks; i++) log_remove_sink(&t->sinks[i]);
    t->n_sinks = 0;
    history_free(t->history);
    t->history = NULL;
    if (run_dir_unmake(t->run_dir) && !t->quiet) log_msg(XT_SEV_INFO, "%s: %s is not kept", why, t->run_dir);
    base_free(t->run_dir);
    t->run_dir = NULL;
}

/* --- the run of a pass without a fit before it --- */
static void row_written(void *user, const log_row *row) {
    xt_trainer *t = user;
    t->pass_wrote = t->pass_wrote || (row->n && !row->aside);
}

/* Of those loggers that it chose; the others show it or not. */
static bool artifact_written(void *user, const log_artifact *a) {
    xt_trainer *t = user;
    (void)a;
    t->pass_wrote = t->pass_wrote || strstr(t->o.loggers, "tensorboard");
    return false;
}

/* Looks whether anything comes; a logger of the program's own has been opened, and decides what it leaves. */
static void watch_pass(xt_trainer *t) {
    t->pass_opened = t->n_sinks && t->n_sinks < BASE_COUNT(t->sinks) && t->run_dir_fresh && !t->n_loggers;
    t->pass_wrote = false;
    if (!t->pass_opened) return;
    t->sinks[t->n_sinks] = (log_sink){.row = row_written, .artifact = artifact_written, .user = t};
    log_add_sink(&t->sinks[t->n_sinks++]);
}

void train_pass_ended(xt_trainer *t, const char *what) {
    char why[64];
    bool opened = t->pass_opened;
    t->pass_opened = false;
    if (!opened || t->pass_wrote) return;
    snprintf(why, sizeof why, "%s has logged nothing", what);
    train_forget_run(t, why);
}

/* What it logs is written where the program chose loggers; a validation's table, and xt_trainer_metric, need none. */
xt_status train_open_for_pass(xt_trainer *t, const char *what) {
    bool chosen = t->o.logger != XT_OFF && (t->o.loggers || t->n_loggers);
    if (t->fitting || t->n_sinks || !chosen) return NULL;
    log_frame own = log_enter(&t->log, true); /* what they get is the trainer's, not a plain loop's behind the pass */
    xt_status s = open_run(t);
    if (!s) watch_pass(t);
    log_leave(own);
    if (s) return s;
    t->run_dir_fresh = false; /* a fit with nothing left to do leaves what the pass has written */
    if (t->n_sinks && !t->quiet) log_msg(XT_SEV_INFO, "%s writes to %s", what, t->run_dir);
    return NULL;
}

static const char *plural(int64_t n) {
    return n == 1 ? "" : "s";
}

static void say_header(const xt_trainer *t) {
    str text = STR_INIT;
    int64_t micro = xt_loader_batch_size(t->train), k = t->o.accumulate_grad_batches;
    int64_t part, ranks;
    lazy_batch_part(&part, &ranks);
    char batch[128];
    snprintf(batch, sizeof batch, "micro-batch %lld x accumulate %lld x %s %lld = effective batch %lld",
             (long long)micro, (long long)k, lazy_spmd() ? "parts" : "ranks", (long long)ranks,
             (long long)(micro * k * ranks));
    blackbox *box = blackbox_get();
    if (box) memcpy(box->batch, batch, sizeof batch);
    diag_run_header(&text);
    str_printf(&text, " | precision %s\n", t->o.precision ? t->o.precision : "fp32");
    str_printf(&text, "%s; a row every %lld step%s = %lld batch%s", batch, (long long)t->every.steps,
               plural(t->every.steps), (long long)t->every.batches, t->every.batches == 1 ? "" : "es");
    if (t->run_dir) str_printf(&text, "\nwriting to %s", t->run_dir);
    log_msg(XT_SEV_INFO, "%s", str_cstr(&text));
    str_free(&text);
}

/* The killed run that this one goes on from wrote to a folder of its own: what it left unfinished is nobody's now. */
void train_sweep_behind(const xt_trainer *t) {
    const char *from = world_get()->rank == 0 ? t->resumed_from : NULL, *slash = from ? strrchr(from, '/') : NULL;
    char *folder = !from    ? NULL
                   : !slash ? base_strdup(".")
                            : base_strndup(from, slash == from ? 1 : (size_t)(slash - from));
    if (folder) checkpoint_folder_sweep(folder, true);
    base_free(folder);
}

static xt_status not_found(xt_status s, const char *from) {
    static const char *const words[] = {"last", "best"};
    const char *near = strchr(from, '/') ? NULL : text_nearest(from, words, BASE_COUNT(words));
    bool meant = near && strcmp(near, from) != 0;
    return status_context(s, "resume = %s (--resume): a checkpoint, a folder with one, last or best is needed%s%s%s",
                          from, meant ? " (did you mean " : "", meant ? near : "", meant ? "?)" : "");
}

/* A group that the launcher started again goes on from where the last one got to, not from where that one began. */
static xt_status resume(xt_trainer *t) {
    if (t->global_step) return NULL;
    restart_check();
    char *point = NULL;
    XT_TRY(checkpoint_restart_point(&point));
    const char *from = point ? point : t->o.resume;
    xt_status s = from ? checkpoint_load(t, from) : NULL;
    if (!s) train_sweep_behind(t);
    if (s && !point && status_code(s) == XT_NOT_FOUND) s = not_found(s, from);
    base_free(point);
    return s;
}

xt_status train_begin(xt_trainer *t, const xt_src *src) {
    device_client *client;
    XT_TRY(status_at(lazy_device(&client), src));
    if (t->o.seed != XT_SEED_OF_RUN) xt_seed(t->o.seed);
    int64_t part, parts;
    lazy_batch_part(&part, &parts);
    t->effective_batch = xt_loader_batch_size(t->train) * t->o.accumulate_grad_batches * parts;
    t->epoch_batches_known = xt_loader_batches(t->train);
    XT_TRY(train_module(t, t->task));
    hooks_setup(t, "fit"); /* what the optimizers are made from may be made there */
    if (lazy_pending()) return status_clone(lazy_pending());
    XT_TRY(make_optimizers(t));
    XT_TRY(callbacks_built_in(t));
    /* of a window that a stop cut short; a checkpoint's own come behind it */
    for (int i = 0; i < t->n_opts && t->global_step > 0; i++) xt_zero_grad_at(src, t->opts[i]);
    XT_TRY(resume(t));
    t->begun_epoch = t->position.epoch;
    t->accumulate = t->o.accumulate_grad_batches;
    t->divides = t->accumulate > 1;
    t->rates_taken = false;
    for (size_t i = 0; i < t->n_callbacks; i++)
        t->divides = t->divides || callback_is(t->callbacks[i], &accumulation_schedule_desc);
    XT_TRY(open_run(t));
    if (world_get()->rank == 0 && !t->quiet) say_header(t);
    tell_modules_beside(t);
    bool whole = t->val && !t->quiet && t->o.limit_val_batches < 0 && !t->o.fast_dev_run && t->o.overfit_batches == 0;
    if (whole) train_tell_left_out(t->val, t->n_vals ? "validation loader 0" : "validation");
    for (size_t i = 0; whole && i < t->n_vals; i++) {
        char what[48];
        snprintf(what, sizeof what, "validation loader %zu", i + 1);
        train_tell_left_out(t->vals[i], what);
    }
    if (!t->quiet) monitors_begin(t);
    train_rewind_validation(t);
    return NULL;
}
