/* The Trainer: loops, validation, logging, checkpoints, throughput around a task described as functions. */
#ifndef XTRAIN_TRAIN_H
#define XTRAIN_TRAIN_H

#include <xtrain/data.h>
#include <xtrain/dist.h>
#include <xtrain/metrics.h>
#include <xtrain/optim.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct xt_trainer xt_trainer;
typedef struct xt_callback xt_callback;

/* What is trained. Only net (or module), training_step and configure_optimizers are needed to fit. `user` is passed to all. */
typedef struct xt_task {
    xt_module_fn net;         /* the trainer makes the module from it ... */
    xt_module *module;        /* ... unless one is given here (borrowed) */
    void *user;
    xt_tensor (*training_step)(xt_module *net, xt_batch b, void *user);   /* returns the loss */
    void (*validation_step)(xt_module *net, xt_batch b, void *user);
    void (*test_step)(xt_module *net, xt_batch b, void *user);
    xt_tensor (*predict_step)(xt_module *net, xt_batch b, void *user);
    xt_optimizer *(*configure_optimizers)(xt_module *net, void *user);
    /* Hooks, all optional. */
    void (*on_fit_start)(xt_module *net, void *user);
    void (*on_fit_end)(xt_module *net, void *user);
    void (*on_train_epoch_start)(xt_module *net, int64_t epoch, void *user);
    void (*on_train_epoch_end)(xt_module *net, int64_t epoch, void *user);
    void (*on_validation_epoch_end)(xt_module *net, int64_t epoch, void *user);
} xt_task;

typedef struct xt_trainer_opts {
    size_t struct_size;
    int64_t max_epochs;              /* 0 = 1000 when max_steps is unset too (with a warning), -1 = no limit */
    int64_t max_steps;               /* optimizer steps; 0 = no limit */
    int64_t accumulate_grad_batches; /* 0 = 1 */
    int64_t log_every_n_steps;       /* optimizer steps; 0 = 50 */
    int64_t log_every_n_batches;     /* micro-batches; 0 = unused; must be a multiple of accumulate_grad_batches */
    int64_t limit_train_batches, limit_val_batches; /* 0 = all */
    int64_t val_every_n_epochs;      /* 0 = 1 */
    int64_t val_every_n_batches;     /* 0 = at the epoch's end */
    double gradient_clip_val;        /* 0 = off; norm */
    const char *precision;           /* "fp32" (default), "bf16" */
    const char *run_name;            /* folder under runs/; NULL = "default" */
    const char *runs_dir;            /* NULL = XT_RUNS_DIR or "runs" */
    xt_switch progress_bar;          /* default: on when the sink is a terminal, plain lines otherwise */
    xt_switch logger;                /* default on: CSV + TensorBoard */
    xt_switch checkpointing;         /* default on: last.ckpt at the end */
    xt_switch model_summary;         /* default on */
    const char *resume;              /* checkpoint to continue from; "last" = newest of the run */
    uint64_t seed;
} xt_trainer_opts;
#define xt_trainer_new(...) xt_trainer_opt(XT_HERE, XT_OPTS(xt_trainer_opts, __VA_ARGS__))
XT_API xt_trainer *xt_trainer_opt(const xt_src *src, xt_trainer_opts o);
/* --max_epochs 5, --max_epochs=5, --help; unknown names are errors with the nearest one. Returns through xt_error and exits at fit. */
XT_API void xt_trainer_args(xt_trainer *t, int argc, char **argv);
XT_API void xt_trainer_add(xt_trainer *t, xt_callback *c);           /* takes c over */
/* Trains; 0, or 1 with the message printed. Loaders are taken over; val may be NULL. */
#define xt_fit(t, task, ...) XT_FIT_(t, task, __VA_ARGS__, NULL, )
#define XT_FIT_(t, task, train, val, ...) xt_fit_at(XT_HERE, t, task, train, val)
XT_API int xt_fit_at(const xt_src *src, xt_trainer *t, const xt_task *task, xt_loader *train, xt_loader *val);
#define xt_validate(t, task, loader) xt_validate_at(XT_HERE, t, task, loader)
#define xt_test(t, task, loader) xt_test_at(XT_HERE, t, task, loader)
XT_API int xt_validate_at(const xt_src *src, xt_trainer *t, const xt_task *task, xt_loader *loader);
XT_API int xt_test_at(const xt_src *src, xt_trainer *t, const xt_task *task, xt_loader *loader);
XT_API void xt_trainer_free(xt_trainer *t);                          /* xt_fit leaves t usable; xt_finish frees what is left */
XT_API void xt_trainer_stop(xt_trainer *t);                          /* after this batch; from any callback */
XT_API xt_module *xt_trainer_module(xt_trainer *t);
XT_API int64_t xt_trainer_epoch(const xt_trainer *t);
XT_API int64_t xt_trainer_global_step(const xt_trainer *t);          /* optimizer steps */
/* Newest arrived value of a logged name (epoch value if there is one); NaN if none. Waits only when `wait`. */
XT_API double xt_trainer_metric(xt_trainer *t, const char *name, bool wait);


typedef struct xt_model_checkpoint_opts {
    size_t struct_size;
    const char *monitor;   /* NULL = save by period only */
    xt_reduce mode;        /* XT_MIN (default) or XT_MAX */
    int save_top_k;        /* 0 = 1, -1 = all */
    xt_switch save_last;   /* default on */
    const char *dirpath;   /* NULL = the run's checkpoints/ */
    const char *filename;  /* NULL = "{epoch}-{step}" */
    int64_t every_n_epochs, every_n_steps; /* 0,0 = after each validation */
} xt_model_checkpoint_opts;
#define xt_model_checkpoint(...) xt_model_checkpoint_opt(XT_OPTS(xt_model_checkpoint_opts, __VA_ARGS__))
XT_API xt_callback *xt_model_checkpoint_opt(xt_model_checkpoint_opts o);
typedef struct xt_early_stopping_opts {
    size_t struct_size;
    const char *monitor;
    xt_reduce mode;
    int patience;          /* checks; 0 = 3 */
    double min_delta;
} xt_early_stopping_opts;
#define xt_early_stopping(...) xt_early_stopping_opt(XT_OPTS(xt_early_stopping_opts, __VA_ARGS__))
XT_API xt_callback *xt_early_stopping_opt(xt_early_stopping_opts o);
typedef struct xt_throughput_opts {
    size_t struct_size;
    int window;            /* optimizer steps; 0 = 100 */
    double peak_flops;     /* for MFU; 0 = measured or from a table, printed */
} xt_throughput_opts;
#define xt_throughput_monitor(...) xt_throughput_monitor_opt(XT_OPTS(xt_throughput_opts, __VA_ARGS__))
XT_API xt_callback *xt_throughput_monitor_opt(xt_throughput_opts o);
XT_API xt_callback *xt_lr_monitor(void);

#ifdef __cplusplus
}
#endif
#endif
