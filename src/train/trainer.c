/* A trainer's life: made, given its options by C, the environment and the command line, settled, asked, freed. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "base/handle.h"
#include "lazy/mesh/mesh.h"
#include "nn/nn.h"
#include "optim/optim.h"
#include "train/train_int.h"

extern char **environ;

/* --- life --- */
static void free_trainer(void *t) {
    xt_trainer_free(t);
}

static void keep_problem(xt_trainer *t, xt_status s) {
    if (!s) return;
    lazy_fail(status_clone(s));
    if (t->problem)
        xt_status_free(s);
    else
        t->problem = s;
}

/* Strings of a caller's struct may be on its stack. */
static void intern_strings(xt_trainer_opts *o) {
    const char **fields[] = {&o->precision, &o->gradient_clip_algorithm,
                             &o->run_name,  &o->runs_dir,
                             &o->loggers,   &o->resume,
                             &o->ckpt,      &o->val_every,
                             &o->max_time,  &o->signals,
                             &o->strategy};
    for (size_t i = 0; i < BASE_COUNT(fields); i++)
        if (*fields[i]) *fields[i] = intern_text(intern(*fields[i]));
}

/* XT_TRAINER_MAX_EPOCHS=5 wins over the program's value, and the command line over both. */
static xt_status take_environment(xt_trainer *t) {
    static const char prefix[] = "XT_TRAINER_";
    xt_status s = NULL;
    for (char **e = environ; e && *e && !s; e++) {
        const char *equals = strchr(*e, '=');
        if (!equals || strncmp(*e, prefix, sizeof prefix - 1) != 0 || !equals[1]) continue;
        char *name = base_strndup(*e + sizeof prefix - 1, (size_t)(equals - *e) - (sizeof prefix - 1));
        if (!name) return status_oom(64, prefix);
        for (char *p = name; *p; p++) *p = (char)tolower((unsigned char)*p);
        s = status_context(
            train_explain_name(
                options_set(train_option_rows, train_option_count, &t->given, TRAIN_DEFAULTS, name, equals + 1), name),
            "environment variable %.*s", (int)(equals - *e), *e);
        base_free(name);
    }
    return s;
}

/* Loaders that are made next give each rank its part, so the mesh is made with the trainer; a strategy of the command
 * line's at the start of the fit. */
xt_status train_strategy(xt_trainer *t, const xt_src *src) {
    const char *name = t->given.strategy;
    if (!name || strcmp(name, "ddp") == 0 || world_get()->size == 1 || t->has_mesh) return NULL;
    if (lazy_mesh_of_run())
        return status_new(XT_FAILED_PRECONDITION, NULL,
                          "xt_trainer_new: strategy \"%s\" makes a mesh of its own, but the run has one already; leave "
                          ".strategy unset and use xt_mesh_zero or xt_mesh_fsdp on that",
                          name);
    const xt_axis axes[] = {{"data", 0}, {NULL, 0}};
    t->has_mesh = xt_mesh_new_at(src, axes) != NULL; /* xt_finish frees it */
    return t->has_mesh ? NULL : status_clone(lazy_pending());
}

xt_trainer *trainer_new(const xt_src *src, xt_trainer_opts o, bool environment) {
    xt_trainer *t = handle_new(HANDLE_trainer, sizeof *t);
    if (!t || !lazy_own(t, free_trainer)) {
        handle_free(t);
        lazy_fail(status_oom(sizeof *t, "a trainer"));
        return NULL;
    }
    live_add(LIVE_trainer, 1);
    t->given = o;
    intern_strings(&t->given);
    t->src = src_intern(src);
    t->result = (xt_fit_result){.loss_first = NAN, .loss_last = NAN, .val_loss = NAN};
    xt_trainer_opts probe = t->given;
    xt_status s = options_check(train_option_rows, train_option_count, &probe, TRAIN_DEFAULTS, "xt_trainer_new");
    keep_problem(t, status_at(s, src));
    if (environment) keep_problem(t, take_environment(t));
    keep_problem(t, status_at(train_words_check(&t->given), src));
    if (!t->problem) keep_problem(t, status_at(train_strategy(t, src), src));
    if (t->given.seed != XT_SEED_OF_RUN)
        xt_seed(t->given.seed); /* already here: a loader made next takes its order from it */
    return t;
}

xt_trainer *xt_trainer_opt(const xt_src *src, xt_trainer_opts o) {
    return trainer_new(src, o, true);
}

void xt_trainer_free(xt_trainer *t) {
    if (!t) return;
    lazy_disown(t);
    train_freed(t);
    for (size_t i = 0; i < t->n_sinks; i++) log_remove_sink(&t->sinks[i]);
    log_engine_end(t->log);
    for (size_t i = 0; i < t->n_callbacks; i++) callback_free(t->callbacks[i]);
    if (lazy_type(t->loss_state)) xt_drop_at(XT_HERE, t->loss_state);
    history_free(t->history);
    config_free(t);
    checkpoint_writer_free(t);
    checkpoint_release(t);
    base_free(t->callbacks);
    base_free(t->details);
    base_free(t->run_dir);
    base_free(t->resumed_from);
    nn_mark_free(t->at_start);
    base_free(t->said_frozen);
    base_free(t->said_freezes);
    base_free(t->said_modes);
    base_free(t->saved_last);
    xt_status_free(t->problem);
    handle_free(t);
    live_add(LIVE_trainer, -1);
}

/* --- the command line --- */
static void print_help(const char *program) {
    str text = STR_INIT;
    str_printf(&text, "usage: %s [--name value | --name=value ...]\n", program ? program : "program");
    options_help(train_option_rows, train_option_count, TRAIN_DEFAULTS, &text);
    str_append(
        &text,
        "  --config FILE.json          options under \"trainer\", settings under \"model\" and \"data\"; may be given "
        "again\n"
        "  --print-config              prints what all of it comes to, as such a file\n"
        "  --optimizer NAME            takes the place of the program's: sgd, adam, adamw, lion, ...; --optimizer.lr X "
        "and the like\n"
        "  --scheduler NAME            adds a schedule: cosine, step, one_cycle, ...; --scheduler.t_max N, "
        "--scheduler.interval step\n"
        "  --callbacks NAME,NAME       adds callbacks: early_stopping, lr_monitor, ...; "
        "--callbacks.early_stopping.monitor "
        "val/loss\n"
        "  --model.NAME, --data.NAME   settings of this program\n"
        "Each can also come from the environment: XT_TRAINER_MAX_EPOCHS=5. Dashes and underscores are the same.\n");
    log_raw(XT_SEV_INFO, str_cstr(&text), text.len);
    str_free(&text);
}

static bool is_switch(const char *name, size_t n) {
    for (size_t i = 0; i < train_option_count; i++) {
        const char *field = train_option_rows[i].name;
        if (train_option_rows[i].kind != OPTION_SWITCH || strlen(field) != n) continue;
        bool same = true;
        for (size_t k = 0; k < n; k++) same = same && field[k] == (name[k] == '-' ? '_' : name[k]);
        if (same) return true;
    }
    return false;
}

/* One argument at argv[*i]; `--name` of a switch alone means on. */
static xt_status take_argument(xt_trainer *t, int argc, char **argv, int *i) {
    const char *arg = argv[*i];
    if (strncmp(arg, "--", 2) != 0 || !arg[2])
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "%s is no option: --name value is expected; --help lists the names", arg);
    const char *name = arg + 2, *equals = strchr(name, '='), *value = equals ? equals + 1 : NULL;
    size_t n = equals ? (size_t)(equals - name) : strlen(name), skip = strncmp(name, "trainer.", 8) == 0 ? 8 : 0;
    bool next = *i + 1 < argc && strncmp(argv[*i + 1], "--", 2) != 0;
    if (!value && next)
        value = argv[++*i];
    else if (!value && is_switch(name + skip, n - skip))
        value = "on";
    char *key = base_strndup(name, n);
    if (!key) return status_oom(n, arg);
    if (config_is_setting(key)) {
        xt_status s =
            value ? config_give(t, key, value) : status_new(XT_INVALID_ARGUMENT, NULL, "--%s needs a value", key);
        base_free(key);
        return s;
    }
    if (strcmp(key, "config") == 0) {
        xt_status s = value ? config_read(t, value) : status_new(XT_INVALID_ARGUMENT, NULL, "--config needs a file");
        base_free(key);
        return s;
    }
    /* An unknown name is the likelier mistake than a missing value, so it is looked at first. */
    xt_trainer_opts scratch = t->given;
    str was = STR_INIT;
    const char *plain = strncmp(key, "trainer.", 8) == 0 ? key + 8 : key;
    xt_status s = train_explain_name(options_get(train_option_rows, train_option_count, &scratch, plain, &was), plain);
    if (!s && !value) s = status_new(XT_INVALID_ARGUMENT, NULL, "--%s needs a value", key);
    if (!s) s = train_set_option(t, plain, value);
    str_free(&was);
    base_free(key);
    return s;
}

void xt_trainer_args(xt_trainer *t, int argc, char **argv) {
    if (!t) return;
    bool print = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--print-config") == 0 || strcmp(argv[i], "--print_config") == 0) {
            print = true;
            continue;
        }
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            t->help = true;
            print_help(argv[0]);
            return;
        }
        xt_status s = take_argument(t, argc, argv, &i);
        if (!s) continue;
        keep_problem(t, s);
        return;
    }
    if (t->given.seed != XT_SEED_OF_RUN) xt_seed(t->given.seed);
    t->prints_config = print;
}

/* --- settling --- */
static xt_status settle_validation(xt_trainer *t) {
    t->val_interval = (train_interval){.unit = INTERVAL_EPOCHS, .n = t->o.val_every_n_epochs};
    if (!t->o.val_every) return NULL;
    if (t->o.val_every_n_epochs != TRAIN_DEFAULTS->val_every_n_epochs || t->o.val_every_n_batches)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "val_every = %s and val_every_n_%s are both given; one of them says when to validate",
                          t->o.val_every, t->o.val_every_n_batches ? "batches" : "epochs");
    return interval_parse("val_every", t->o.val_every, &t->val_interval);
}

/* A few batches of everything, once, and nothing on disk. */
static void settle_smoke_run(xt_trainer *t) {
    if (!t->o.fast_dev_run) return;
    t->o.max_epochs = 1;
    t->o.max_steps = -1;
    t->o.min_epochs = t->o.min_steps = 0;
    t->o.logger = t->o.checkpointing = XT_OFF;
    t->o.val_every_n_batches = 0;
    t->val_interval = (train_interval){.unit = INTERVAL_EPOCHS, .n = 1};
    if (world_get()->rank == 0)
        log_msg(XT_SEV_INFO, "fast_dev_run: %lld batch%s of training and validation, no logs, no checkpoints",
                (long long)t->o.fast_dev_run, t->o.fast_dev_run == 1 ? "" : "es");
}

/* What is on by itself unless the run is barebones. */
static void settle_switches(xt_trainer *t) {
    xt_switch *costs[] = {&t->o.logger, &t->o.checkpointing, &t->o.progress_bar, &t->o.model_summary};
    for (size_t i = 0; i < BASE_COUNT(costs); i++)
        if (*costs[i] == XT_DEFAULT) *costs[i] = t->o.barebones == XT_ON ? XT_OFF : XT_ON;
}

/* What costs is off; what was asked for expressly is a contradiction. */
static xt_status settle_barebones(xt_trainer *t) {
    const struct {
        const char *name;
        bool asked;
    } costs[] = {{"logger", t->o.logger == XT_ON},
                 {"loggers", t->o.loggers != NULL},
                 {"checkpointing", t->o.checkpointing == XT_ON},
                 {"progress_bar", t->o.progress_bar == XT_ON},
                 {"model_summary", t->o.model_summary == XT_ON},
                 {"num_sanity_val_steps", t->o.num_sanity_val_steps != 0},
                 {"fast_dev_run", t->o.fast_dev_run != 0},
                 {"detect_anomaly", t->o.detect_anomaly == XT_ON},
                 {"log_every_n_steps", t->o.log_every_n_steps != TRAIN_DEFAULTS->log_every_n_steps},
                 {"log_every_n_batches", t->o.log_every_n_batches != 0},
                 {"reinitialize_every_n_steps", t->o.reinitialize_every_n_steps != 0}};
    if (t->o.barebones != XT_ON) return NULL;
    for (size_t i = 0; i < BASE_COUNT(costs); i++)
        if (costs[i].asked)
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "barebones switches off what costs time, but %s is asked for; give one of them",
                              costs[i].name);
    return NULL;
}

xt_status train_settle(xt_trainer *t) {
    if (t->problem) return status_clone(t->problem);
    t->o = t->given;
    XT_TRY(settle_barebones(t));
    settle_switches(t);
    bool steps_given = t->o.log_every_n_steps != TRAIN_DEFAULTS->log_every_n_steps;
    XT_TRY(options_check(train_option_rows, train_option_count, &t->o, TRAIN_DEFAULTS, "xt_trainer_new"));
    if (steps_given && t->o.log_every_n_batches)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "log_every_n_steps = %lld and log_every_n_batches = %lld are both given; one of them says "
                          "when a row is due",
                          (long long)t->o.log_every_n_steps, (long long)t->o.log_every_n_batches);
    XT_TRY(period_settle(t->o.accumulate_grad_batches, t->o.log_every_n_steps, t->o.log_every_n_batches, &t->every));
    XT_TRY(train_words_check(&t->o));
    XT_TRY(by_name_settle(t));
    XT_TRY(settle_validation(t));
    XT_TRY(stopping_settle(t));
    settle_smoke_run(t);
    t->no_end = t->o.max_epochs == XT_UNSET && t->o.max_steps < 0 && !t->o.max_time;
    if (t->o.max_epochs == XT_UNSET) t->o.max_epochs = t->no_end ? 1000 : -1;
    return NULL;
}

const xt_task *train_sized(const xt_src *src, const xt_task *task, size_t size, xt_task *room) {
    if (!task) return NULL;
    *room = (xt_task){0};
    memcpy(room, task, size < sizeof *room ? size : sizeof *room);
    for (size_t i = sizeof *room; i < size; i++) {
        if (!((const char *)task)[i]) continue;
        lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                             "the task has a member that this library does not know (at byte %zu; its tasks have %zu): "
                             "the program was compiled for a newer one; build it with this library's headers, or use "
                             "the newer library",
                             i, sizeof *room));
        break;
    }
    return room;
}

/* --- queries --- */
void xt_trainer_add(xt_trainer *t, xt_callback *c) {
    if (!c) return; /* its own error is pending */
    if (t)
        callback_insert(t, c);
    else
        callback_free(c);
}
void xt_trainer_stop(xt_trainer *t) {
    if (t) t->stop = true;
}
xt_module *xt_trainer_module(xt_trainer *t) {
    return t ? t->net : NULL;
}
xt_optimizer *xt_trainer_optimizer(xt_trainer *t) {
    return t ? t->opt : NULL;
}
int64_t xt_trainer_epoch(const xt_trainer *t) {
    return t ? t->epoch : 0;
}
int64_t xt_trainer_global_step(const xt_trainer *t) {
    return t ? t->global_step : 0;
}
int64_t xt_trainer_planned_steps(const xt_trainer *t) {
    if (!t || !t->train) return 0;
    int64_t most = t->o.max_steps, k = t->o.accumulate_grad_batches, all = 0, from = 0;
    for (int64_t next; t->o.max_epochs > 0 && from < t->o.max_epochs; from = next) {
        /* stretches of epochs with windows of one size */
        next = accumulation_change(t, from, &k);
        int64_t epoch = (t->train_limit + k - 1) / k, n = (next < t->o.max_epochs ? next : t->o.max_epochs) - from;
        if (n > (INT64_MAX - all) / (epoch ? epoch : 1)) return most;
        all += n * epoch;
    }
    return t->o.max_epochs < 0 ? most : most < 0 || all < most ? all : most;
}
const char *xt_trainer_run_dir(const xt_trainer *t) {
    return t ? t->run_dir : NULL;
}
xt_fit_result xt_trainer_result(const xt_trainer *t) {
    return t ? t->result : (xt_fit_result){.loss_first = NAN, .loss_last = NAN, .val_loss = NAN};
}
void train_note_last(xt_trainer *t, const char *path) {
    char *copy = base_strdup(path);
    if (!copy) return;
    base_free(t->saved_last);
    t->saved_last = copy;
}
const char *train_runs_dir(const xt_trainer *t) {
    const char *env = env_get("XT_RUNS_DIR");
    return t->o.runs_dir ? t->o.runs_dir : env ? env : "runs";
}
const char *train_run_name(const xt_trainer *t) {
    return t->o.run_name ? t->o.run_name : "default";
}

double train_metric_of(const xt_trainer *t, const char *name) {
    static const char *const endings[] = {"", "_epoch", "_step"};
    char full[512];
    for (size_t i = 0; name && i < BASE_COUNT(endings); i++) {
        double v;
        snprintf(full, sizeof full, "%s%s", name, endings[i]);
        if (log_find(t ? t->log : NULL, full, &v)) return v;
    }
    return NAN;
}

void train_values_now(xt_trainer *t) {
    if (t->valued_step == t->global_step) return;
    t->valued_step = t->global_step;
    log_emit_out_of_turn(LOG_TRAIN, t->global_step, true);
}

double xt_trainer_metric(xt_trainer *t, const char *name, bool wait) {
    double between;
    if (t && wait && log_between_find(t->log, name, &between)) return between;
    if (t && wait) log_drain();
    return train_metric_of(t, name);
}

void xt_trainer_add_val_loader(xt_trainer *t, xt_loader *l) {
    if (!t || !l) return; /* its own error is pending */
    if (t->n_added == BASE_COUNT(t->added))
        lazy_fail(status_new(XT_OUT_OF_RANGE, NULL, "xt_trainer_add_val_loader: %zu further loaders at most",
                             BASE_COUNT(t->added)));
    else
        t->added[t->n_added++] = l;
}
int xt_trainer_val_index(const xt_trainer *t) {
    return t ? t->val_index : 0;
}

void xt_trainer_log_host(xt_trainer *t, int n, const char *const *names, const double *values) {
    if (!t || n < 1) return;
    log_value *v = base_calloc((size_t)n, sizeof *v);
    if (!v) return;
    for (int i = 0; i < n; i++) v[i] = (log_value){names[i], values[i], false};
    log_host_row(LOG_TRAIN, t->global_step, (size_t)n, v);
    base_free(v);
}
