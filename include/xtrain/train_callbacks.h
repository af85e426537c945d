/* Callbacks beyond the common ones of train.h. Each is given to xt_trainer_add, which takes it over. None reads a
 * value while training runs, unless its text says so. Mistakes in options give NULL with a pending error, and the
 * fit is refused. */
#ifndef XTRAIN_TRAIN_CALLBACKS_H
#define XTRAIN_TRAIN_CALLBACKS_H

#include <xtrain/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ends the fit after so much training time; the time of earlier fits that a checkpoint brings is counted. As
 * xt_trainer_opts.max_time. */
#define XT_DEFAULTS_xt_timer_opts(is)
typedef struct XT_OPTIONS_ xt_timer_opts {
    size_t struct_size XT_SIZE(xt_timer_opts);
    const char *duration XT_ZERO; /* "45s", "90min", "2h", "1d", "DD:HH:MM:SS"; needed */
} xt_timer_opts;
#define xt_timer(...) xt_timer_opt(XT_HERE, XT_OPTS(xt_timer_opts, __VA_ARGS__))
XT_API xt_callback *xt_timer_opt(const xt_src *src, xt_timer_opts o);

/* From epochs[i] on, factors[i] micro-batches make one optimizer step; before epochs[0] it is
 * xt_trainer_opts.accumulate_grad_batches. No other program: the divisor is data. xt_accumulation_schedule(.n = 2,
 * .epochs = (int64_t[]){2, 5}, .factors = (int64_t[]){4, 8}) */
#define XT_DEFAULTS_xt_accumulation_schedule_opts(is)
typedef struct XT_OPTIONS_ xt_accumulation_schedule_opts {
    size_t struct_size XT_SIZE(xt_accumulation_schedule_opts);
    int n XT_ZERO; /* entries; at least 1 */
    const int64_t *epochs XT_ZERO, *factors XT_ZERO; /* rising epochs; factors of at least 1; both copied */
} xt_accumulation_schedule_opts;
#define xt_accumulation_schedule(...) \
    xt_accumulation_schedule_opt(XT_HERE, XT_OPTS(xt_accumulation_schedule_opts, __VA_ARGS__))
XT_API xt_callback *xt_accumulation_schedule_opt(const xt_src *src, xt_accumulation_schedule_opts o);

/* Five values with each row of logs: device/memory_mib, device/memory_peak_mib, host/rss_mib, host/cpu_percent (100 =
 * one core, since the row before), host/memory_percent (of the machine, in use). An error of the fit when the trainer
 * has no logger. */
XT_API xt_callback *xt_device_stats(void);

/* An average of the parameters beside them, kept on the device by the step's own program. Validation runs with the
 * average, and the fit ends with it in the module; checkpoints hold both (averages as
 * "callback:weight_averaging:NAME"): a resumed run goes on with the parameters themselves, xt_test and its like
 * with `.ckpt` take the averages, as the validations of the fit did. Batch-norm statistics are not averaged
 * (xt_update_batch_norms makes them anew). EMA: Polyak and Juditsky 1992 with exponential weights; SWA: Izmailov
 * et al. 2018. */
#define XT_DEFAULTS_xt_weight_averaging_opts(is) \
    is(decay, 0.999) is(every_n_steps, 1) is(start_epoch, -1) is(swa_lr, XT_AUTO) is(anneal_epochs, 10)
XT_DEFAULTS_OF(xt_weight_averaging_opts)
typedef struct XT_OPTIONS_ xt_weight_averaging_opts {
    size_t struct_size XT_SIZE(xt_weight_averaging_opts);
    /* EMA: average = decay * average + (1 - decay) * parameter. Unused by SWA */
    double decay XT_IS(xt_weight_averaging_opts, decay);
    /* EMA: optimizer steps between updates; the average begins as the parameters behind the fit's first step, whatever
     * this is */
    int64_t every_n_steps XT_IS(xt_weight_averaging_opts, every_n_steps);
    /* default off: EMA. On: the plain mean of the parameters at the end of each epoch from start_epoch on */
    xt_switch swa XT_ZERO;
    /* SWA: -1 = 0.8 of max_epochs; the average is the parameters themselves until then */
    int64_t start_epoch XT_IS(xt_weight_averaging_opts, start_epoch);
    /* SWA: the learning rate goes to this from start_epoch on, instead of its schedules; XT_AUTO: the schedules stay */
    double swa_lr XT_IS(xt_weight_averaging_opts, swa_lr);
    /* SWA: epochs it takes to get there along a cosine */
    int64_t anneal_epochs XT_IS(xt_weight_averaging_opts, anneal_epochs);
} xt_weight_averaging_opts;
#define xt_weight_averaging(...) xt_weight_averaging_opt(XT_HERE, XT_OPTS(xt_weight_averaging_opts, __VA_ARGS__))
XT_API xt_callback *xt_weight_averaging_opt(const xt_src *src, xt_weight_averaging_opts o);

/* One pass over the loader in training mode without gradients, after which running statistics of batch norms are the
 * mean over its batches: for averaged weights, whose layers see other values than those of the last parameters did
 * (torch's swa_utils.update_bn). After xt_fit, whose module has the averages; then xt_save. Every rank has the
 * statistics of its own batches; rank 0's are what it saves. Waits. */
#define xt_update_batch_norms(net, loader) xt_update_batch_norms_at(XT_HERE, net, loader)
XT_API XT_CHECK xt_status xt_update_batch_norms_at(const xt_src *src, xt_module *net, xt_loader *loader);

/* When the fit ends with an error: a checkpoint of the last whole optimizer step (DIR/on_exception.ckpt), which
 * "--resume last" takes when it is the newest. Removed when a later fit ends well. Within a window of accumulation the
 * running statistics of batch norms and the epoch's sums have its micro-batches too, which the run that goes on makes
 * once more: a warning says so. Of several ranks the epoch's sums begin anew. */
#define XT_DEFAULTS_xt_exception_checkpoint_opts(is)
typedef struct XT_OPTIONS_ xt_exception_checkpoint_opts {
    size_t struct_size XT_SIZE(xt_exception_checkpoint_opts);
    const char *dirpath XT_ZERO; /* NULL = the run's checkpoints/ */
    const char *filename XT_ZERO; /* NULL = "on_exception" */
} xt_exception_checkpoint_opts;
#define xt_exception_checkpoint(...) \
    xt_exception_checkpoint_opt(XT_HERE, XT_OPTS(xt_exception_checkpoint_opts, __VA_ARGS__))
XT_API xt_callback *xt_exception_checkpoint_opt(const xt_src *src, xt_exception_checkpoint_opts o);

/* A loss far above its running mean, or not finite, found by the step's own program: no read a batch. Each spike is
 * reported with its batch when the row of logs it belongs to arrives ("spikes" is logged with the row); the batches are
 * listed in DIR/skip_batches.json for a run that leaves them out. */
#define XT_DEFAULTS_xt_spike_detection_opts(is) is(window, 10) is(warmup, -1) is(rtol, 2)
XT_DEFAULTS_OF(xt_spike_detection_opts)
typedef struct XT_OPTIONS_ xt_spike_detection_opts {
    size_t struct_size XT_SIZE(xt_spike_detection_opts);
    int window XT_IS(xt_spike_detection_opts, window); /* losses of the running mean */
    int warmup XT_IS(xt_spike_detection_opts, warmup); /* losses before the first judgement; -1 = window */
    /* a spike is more than (1 + rtol) times the mean's magnitude above the mean */
    double rtol XT_IS(xt_spike_detection_opts, rtol);
    xt_switch stop XT_ZERO; /* default off; on: the fit ends at the first spike known */
} xt_spike_detection_opts;
#define xt_spike_detection(...) xt_spike_detection_opt(XT_HERE, XT_OPTS(xt_spike_detection_opts, __VA_ARGS__))
XT_API xt_callback *xt_spike_detection_opt(const xt_src *src, xt_spike_detection_opts o);

/* Writes what xt_predict gives, samples in order, to PATH (numpy's .npy; with several ranks PATH's name gets ".rankN").
 * The file appears whole. */
#define XT_DEFAULTS_xt_prediction_writer_opts(is)
typedef struct XT_OPTIONS_ xt_prediction_writer_opts {
    size_t struct_size XT_SIZE(xt_prediction_writer_opts);
    const char *path XT_ZERO; /* NULL = "predictions.npy" in the run's folder, or here when there is none */
} xt_prediction_writer_opts;
#define xt_prediction_writer(...) xt_prediction_writer_opt(XT_HERE, XT_OPTS(xt_prediction_writer_opts, __VA_ARGS__))
XT_API xt_callback *xt_prediction_writer_opt(const xt_src *src, xt_prediction_writer_opts o);

/* Calls `sample` from time to time, rank 0 only, in eval mode without gradients, with a path without ending
 * (RUN/samples/step_0001200) for the pictures or texts it makes: generated text, reconstructed images. It may read
 * values: training waits for it. */
typedef void (*xt_sample_fn)(xt_module *net, int64_t step, const char *path, void *user);
#define XT_DEFAULTS_xt_sample_writer_opts(is)
typedef struct XT_OPTIONS_ xt_sample_writer_opts {
    size_t struct_size XT_SIZE(xt_sample_writer_opts);
    xt_sample_fn sample XT_ZERO; /* needed */
    void *user XT_ZERO;
    const char *every XT_ZERO; /* "1epochs" (default), "500steps", ... as xt_trainer_opts.val_every */
} xt_sample_writer_opts;
/* xt_sample_writer(.sample = generate, .every = "500steps"): as said of xt_sample_fn */
#define xt_sample_writer(...) xt_sample_writer_opt(XT_HERE, XT_OPTS(xt_sample_writer_opts, __VA_ARGS__))
XT_API xt_callback *xt_sample_writer_opt(const xt_src *src, xt_sample_writer_opts o);

/* --- Finders: trial runs on a module of their own; the trainer they prepare for, the seed and the loader are left as
 * they were. --- */
/* Leslie Smith's range test (2017): one short run with a rate that grows exponentially, or linearly; suggests where the
 * smoothed loss falls most steeply from one step to the next. NaN with a pending error, or when there are fewer than
 * two finite points. */
#define XT_DEFAULTS_xt_lr_find_opts(is) \
    is(min_lr, 1e-8) is(max_lr, 1) is(steps, 100) is(stop_factor, 4) is(skip_first, 10) is(skip_last, 1)
XT_DEFAULTS_OF(xt_lr_find_opts)
typedef struct XT_OPTIONS_ xt_lr_find_opts {
    size_t struct_size XT_SIZE(xt_lr_find_opts);
    /* the first rate and the last */
    double min_lr XT_IS(xt_lr_find_opts, min_lr), max_lr XT_IS(xt_lr_find_opts, max_lr);
    int64_t steps XT_IS(xt_lr_find_opts, steps); /* training steps, of as many rates from min_lr to max_lr */
    /* ends when the smoothed loss is above so many times the best, at least 1; 1e9: not before its last step */
    double stop_factor XT_IS(xt_lr_find_opts, stop_factor);
    int64_t skip_first XT_IS(xt_lr_find_opts, skip_first), skip_last
        XT_IS(xt_lr_find_opts, skip_last); /* points left out of the suggestion */
    const char *plot XT_ZERO; /* PNG of the curve; NULL = none */
    /* default off: rates rise by equal factors; on: by equal amounts, for a range of one order of magnitude or less */
    xt_switch linear XT_ZERO;
} xt_lr_find_opts;
#define xt_lr_find(task, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_lr_find(task, loader, ...): loader is missing"), XT_LR_FIND_(task, __VA_ARGS__, ))
#define XT_LR_FIND_(task, loader, ...) \
    xt_lr_find_at(XT_HERE, task, sizeof(xt_task), loader, XT_OPTS(xt_lr_find_opts, __VA_ARGS__))
XT_API double xt_lr_find_at(const xt_src *src, const xt_task *task, size_t task_size, xt_loader *loader,
                            xt_lr_find_opts o);

/* The largest batch, but for a margin, that trains without running out of device memory (XT_MEMORY_LIMIT counts): from
 * `first` doubled until it does not fit, or halved until it does (or until there are so many samples), then halved
 * intervals in between. The size of the data set ends the search: what is less than one batch of the samples says
 * nothing about memory. What halved intervals
 * have found is the last to fit, so `margin` of it is kept free; a power of two is given as it is. `make` gives a
 * loader of that batch size, which is freed after its trial (xt_dataset_retain keeps its dataset for the next). Trials
 * that run out of memory leave no crash folder. Each trial holds what the fullest moment holds, all batches read ahead
 * and those of the steps in flight, so a search finds the same size again. 0 with a pending error when not even one
 * sample fits. */
#define XT_DEFAULTS_xt_batch_find_opts(is) is(first, 2) is(most, 8192) is(steps, 3) is(margin, 0.05) is(max_trials, 25)
XT_DEFAULTS_OF(xt_batch_find_opts)
typedef struct XT_OPTIONS_ xt_batch_find_opts {
    size_t struct_size XT_SIZE(xt_batch_find_opts);
    /* where the search begins, and where it ends; samples a batch */
    int64_t first XT_IS(xt_batch_find_opts, first), most XT_IS(xt_batch_find_opts, most);
    int64_t steps XT_IS(xt_batch_find_opts, steps); /* optimizer steps a trial */
    xt_switch power_only XT_ZERO; /* default off; on: `first` times or divided by powers of two only */
    double margin XT_IS(xt_batch_find_opts, margin); /* of the result, kept free after a search by halves */
    int64_t max_trials XT_IS(xt_batch_find_opts, max_trials); /* then the result is of those that did fit */
} xt_batch_find_opts;
#define xt_batch_find(task, make, ...) XT_BATCH_FIND_(task, make, __VA_ARGS__, )
#define XT_BATCH_FIND_(task, make, user, ...) \
    xt_batch_find_at(XT_HERE, task, sizeof(xt_task), make, user, XT_OPTS(xt_batch_find_opts, __VA_ARGS__))
XT_API int64_t xt_batch_find_at(const xt_src *src, const xt_task *task, size_t task_size,
                                xt_loader *(*make)(int64_t batch, void *user), void *user, xt_batch_find_opts o);

#ifdef __cplusplus
}
#endif
#endif
