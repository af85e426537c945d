/* Learning rate schedules: PyTorch's formulas, arguments and defaults (torch.optim.lr_scheduler), computed on the host
 * in double. A new rate is data of the next step and never recompiles.
 *
 * A schedule belongs to its optimizer, which frees it. Making one sets the first rate at once (a warm-up begins low).
 * In a plain loop call xt_schedule_step after an epoch, or after each optimizer step, as the schedule is meant; the
 * Trainer calls it by `.interval`: XT_EACH_EPOCH (the default, as Lightning) or XT_EACH_STEP. Schedules put into
 * xt_sequential_schedule or xt_chained_schedule are stepped by that one only. Parameter groups keep their own rates:
 * each formula runs a group. Checkpoints of the Trainer and xt_optimizer_save hold the schedules' positions. A position
 * is how often the schedule was stepped; "the rate" below is the one that the optimizer, or a group, was made with.
 *
 * What options mean that several have:
 *     .interval: when the Trainer steps it; plain loops step it themselves
 *     .gamma: factor of the rate each time
 *     .total_iters: positions until the end of the change, 1 and above
 *     .eta_min: the lowest rate
 *     .base_momentum, .max_momentum: lowest and highest momentum (the Adam family: beta1), 0 to 1
 *
 *     xt_optimizer *opt = xt_adamw(net, .lr = 3e-4);
 *     xt_warmup_schedule(opt, 500, xt_cosine_schedule(opt, .t_max = 10000), .interval = XT_EACH_STEP); */
#ifndef XTRAIN_SCHEDULE_H
#define XTRAIN_SCHEDULE_H

#include <xtrain/optim.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A rule for an optimizer's rate with a position; the optimizer's, which frees it. */
typedef struct xt_scheduler xt_scheduler;
/* When the Trainer steps a schedule. */
typedef enum xt_interval {
    XT_EACH_EPOCH = 0, /* after each epoch */
    XT_EACH_STEP /* after each optimizer step */
} xt_interval;
enum { XT_SCHEDULE_MOST = 16 }; /* milestones, schedules of a sequence */

#define XT_DEFAULTS_xt_step_schedule_opts(is) is(gamma, 0.1) is(step_size, XT_UNSET)
XT_DEFAULTS_OF(xt_step_schedule_opts)
typedef struct XT_OPTIONS_ xt_step_schedule_opts {
    size_t struct_size XT_SIZE(xt_step_schedule_opts);
    int64_t step_size XT_IS(xt_step_schedule_opts, step_size); /* needed: positions from one change to the next */
    double gamma XT_IS(xt_step_schedule_opts, gamma);
    xt_interval interval XT_ZERO;
} xt_step_schedule_opts;
#define xt_step_schedule(...) XT_STEP_SCHEDULE_(__VA_ARGS__, ) /* times gamma every step_size */
#define XT_STEP_SCHEDULE_(opt, ...) xt_step_schedule_opt(XT_HERE, opt, XT_OPTS(xt_step_schedule_opts, __VA_ARGS__))
XT_API xt_scheduler *xt_step_schedule_opt(const xt_src *src, xt_optimizer *opt, xt_step_schedule_opts o);

#define XT_DEFAULTS_xt_multistep_schedule_opts(is) is(gamma, 0.1)
XT_DEFAULTS_OF(xt_multistep_schedule_opts)
typedef struct XT_OPTIONS_ xt_multistep_schedule_opts {
    size_t struct_size XT_SIZE(xt_multistep_schedule_opts);
    int64_t milestones[XT_SCHEDULE_MOST] XT_ZERO; /* up to the first 0 */
    double gamma XT_IS(xt_multistep_schedule_opts, gamma);
    xt_interval interval XT_ZERO;
} xt_multistep_schedule_opts;
/* times gamma at each milestone: .milestones = {30, 80} */
#define xt_multistep_schedule(...) XT_MULTISTEP_SCHEDULE_(__VA_ARGS__, )
#define XT_MULTISTEP_SCHEDULE_(opt, ...) \
    xt_multistep_schedule_opt(XT_HERE, opt, XT_OPTS(xt_multistep_schedule_opts, __VA_ARGS__))
XT_API xt_scheduler *xt_multistep_schedule_opt(const xt_src *src, xt_optimizer *opt, xt_multistep_schedule_opts o);

#define XT_DEFAULTS_xt_exponential_schedule_opts(is) is(gamma, XT_AUTO)
XT_DEFAULTS_OF(xt_exponential_schedule_opts)
typedef struct XT_OPTIONS_ xt_exponential_schedule_opts {
    size_t struct_size XT_SIZE(xt_exponential_schedule_opts);
    double gamma XT_IS(xt_exponential_schedule_opts, gamma); /* needed: factor of the rate each time */
    xt_interval interval XT_ZERO;
} xt_exponential_schedule_opts;
#define xt_exponential_schedule(...) XT_EXPONENTIAL_SCHEDULE_(__VA_ARGS__, ) /* times gamma every time */
#define XT_EXPONENTIAL_SCHEDULE_(opt, ...) \
    xt_exponential_schedule_opt(XT_HERE, opt, XT_OPTS(xt_exponential_schedule_opts, __VA_ARGS__))
XT_API xt_scheduler *xt_exponential_schedule_opt(const xt_src *src, xt_optimizer *opt, xt_exponential_schedule_opts o);

#define XT_DEFAULTS_xt_linear_schedule_opts(is) is(start_factor, (1.0 / 3)) is(end_factor, 1) is(total_iters, 5)
XT_DEFAULTS_OF(xt_linear_schedule_opts)
typedef struct XT_OPTIONS_ xt_linear_schedule_opts {
    size_t struct_size XT_SIZE(xt_linear_schedule_opts);
    double start_factor XT_IS(xt_linear_schedule_opts, start_factor); /* of the rate at position 0; 0 to 1 */
    double end_factor XT_IS(xt_linear_schedule_opts, end_factor); /* of the rate from total_iters on; 0 to 1 */
    int64_t total_iters XT_IS(xt_linear_schedule_opts, total_iters);
    xt_interval interval XT_ZERO;
} xt_linear_schedule_opts;
/* from start_factor to end_factor of the rate */
#define xt_linear_schedule(...) XT_LINEAR_SCHEDULE_(__VA_ARGS__, )
#define XT_LINEAR_SCHEDULE_(opt, ...) \
    xt_linear_schedule_opt(XT_HERE, opt, XT_OPTS(xt_linear_schedule_opts, __VA_ARGS__))
XT_API xt_scheduler *xt_linear_schedule_opt(const xt_src *src, xt_optimizer *opt, xt_linear_schedule_opts o);

#define XT_DEFAULTS_xt_constant_schedule_opts(is) is(factor, (1.0 / 3)) is(total_iters, 5)
XT_DEFAULTS_OF(xt_constant_schedule_opts)
typedef struct XT_OPTIONS_ xt_constant_schedule_opts {
    size_t struct_size XT_SIZE(xt_constant_schedule_opts);
    double factor XT_IS(xt_constant_schedule_opts, factor); /* of the rate until total_iters, 0 to 1 */
    int64_t total_iters XT_IS(xt_constant_schedule_opts, total_iters);
    xt_interval interval XT_ZERO;
} xt_constant_schedule_opts;
/* times factor until total_iters, then the rate itself */
#define xt_constant_schedule(...) XT_CONSTANT_SCHEDULE_(__VA_ARGS__, )
#define XT_CONSTANT_SCHEDULE_(opt, ...) \
    xt_constant_schedule_opt(XT_HERE, opt, XT_OPTS(xt_constant_schedule_opts, __VA_ARGS__))
XT_API xt_scheduler *xt_constant_schedule_opt(const xt_src *src, xt_optimizer *opt, xt_constant_schedule_opts o);

#define XT_DEFAULTS_xt_polynomial_schedule_opts(is) is(total_iters, 5) is(power, 1)
XT_DEFAULTS_OF(xt_polynomial_schedule_opts)
typedef struct XT_OPTIONS_ xt_polynomial_schedule_opts {
    size_t struct_size XT_SIZE(xt_polynomial_schedule_opts);
    int64_t total_iters XT_IS(xt_polynomial_schedule_opts, total_iters);
    double power XT_IS(xt_polynomial_schedule_opts, power); /* 1: a straight line; more: a faster fall at first */
    xt_interval interval XT_ZERO;
} xt_polynomial_schedule_opts;
/* (1 - t / total_iters)^power, down to 0 */
#define xt_polynomial_schedule(...) XT_POLYNOMIAL_SCHEDULE_(__VA_ARGS__, )
#define XT_POLYNOMIAL_SCHEDULE_(opt, ...) \
    xt_polynomial_schedule_opt(XT_HERE, opt, XT_OPTS(xt_polynomial_schedule_opts, __VA_ARGS__))
XT_API xt_scheduler *xt_polynomial_schedule_opt(const xt_src *src, xt_optimizer *opt, xt_polynomial_schedule_opts o);

#define XT_DEFAULTS_xt_cosine_schedule_opts(is) is(t_max, XT_UNSET)
XT_DEFAULTS_OF(xt_cosine_schedule_opts)
typedef struct XT_OPTIONS_ xt_cosine_schedule_opts {
    size_t struct_size XT_SIZE(xt_cosine_schedule_opts);
    int64_t t_max XT_IS(xt_cosine_schedule_opts, t_max); /* needed: half a period */
    double eta_min XT_ZERO; /* the lowest rate */
    xt_interval interval XT_ZERO;
} xt_cosine_schedule_opts;
#define xt_cosine_schedule(...) XT_COSINE_SCHEDULE_(__VA_ARGS__, ) /* from the rate to eta_min along half a cosine */
#define XT_COSINE_SCHEDULE_(opt, ...) \
    xt_cosine_schedule_opt(XT_HERE, opt, XT_OPTS(xt_cosine_schedule_opts, __VA_ARGS__))
XT_API xt_scheduler *xt_cosine_schedule_opt(const xt_src *src, xt_optimizer *opt, xt_cosine_schedule_opts o);

#define XT_DEFAULTS_xt_warm_restarts_schedule_opts(is) is(t_mult, 1) is(t_0, XT_UNSET)
XT_DEFAULTS_OF(xt_warm_restarts_schedule_opts)
typedef struct XT_OPTIONS_ xt_warm_restarts_schedule_opts {
    size_t struct_size XT_SIZE(xt_warm_restarts_schedule_opts);
    int64_t t_0 XT_IS(xt_warm_restarts_schedule_opts, t_0); /* needed: length of the first cycle */
    int64_t t_mult XT_IS(xt_warm_restarts_schedule_opts, t_mult); /* factor from cycle to cycle */
    double eta_min XT_ZERO;
    xt_interval interval XT_ZERO;
} xt_warm_restarts_schedule_opts;
#define xt_warm_restarts_schedule(...) XT_WARM_RESTARTS_SCHEDULE_(__VA_ARGS__, ) /* cosine that begins again (SGDR) */
#define XT_WARM_RESTARTS_SCHEDULE_(opt, ...) \
    xt_warm_restarts_schedule_opt(XT_HERE, opt, XT_OPTS(xt_warm_restarts_schedule_opts, __VA_ARGS__))
XT_API xt_scheduler *xt_warm_restarts_schedule_opt(const xt_src *src, xt_optimizer *opt,
                                                   xt_warm_restarts_schedule_opts o);

#define XT_DEFAULTS_xt_one_cycle_schedule_opts(is)                                                                 \
    is(pct_start, 0.3) is(base_momentum, 0.85) is(max_momentum, 0.95) is(div_factor, 25) is(final_div_factor, 1e4) \
        is(cycle_momentum, XT_ON) is(max_lr, XT_AUTO) is(total_steps, XT_UNSET)
XT_DEFAULTS_OF(xt_one_cycle_schedule_opts)
typedef struct XT_OPTIONS_ xt_one_cycle_schedule_opts {
    size_t struct_size XT_SIZE(xt_one_cycle_schedule_opts);
    double max_lr XT_IS(xt_one_cycle_schedule_opts, max_lr); /* needed; groups keep their ratio to it */
    int64_t total_steps XT_IS(xt_one_cycle_schedule_opts, total_steps); /* needed; one step more is an error */
    double pct_start XT_IS(xt_one_cycle_schedule_opts, pct_start); /* share of the rise */
    xt_switch linear XT_ZERO; /* default off: cosine */
    /* default on: the momentum (beta1) moves the other way */
    xt_switch cycle_momentum XT_IS(xt_one_cycle_schedule_opts, cycle_momentum);
    double base_momentum XT_IS(xt_one_cycle_schedule_opts, base_momentum), max_momentum
        XT_IS(xt_one_cycle_schedule_opts, max_momentum);
    double div_factor XT_IS(xt_one_cycle_schedule_opts, div_factor); /* the first rate is max_lr / div_factor */
    /* the last rate is the first / final_div_factor */
    double final_div_factor XT_IS(xt_one_cycle_schedule_opts, final_div_factor);
    xt_switch three_phase XT_ZERO; /* default off */
    xt_interval interval XT_ZERO;
} xt_one_cycle_schedule_opts;
/* Smith and Topin 2018: up to max_lr, then far below the first rate */
#define xt_one_cycle_schedule(...) XT_ONE_CYCLE_SCHEDULE_(__VA_ARGS__, )
#define XT_ONE_CYCLE_SCHEDULE_(opt, ...) \
    xt_one_cycle_schedule_opt(XT_HERE, opt, XT_OPTS(xt_one_cycle_schedule_opts, __VA_ARGS__))
XT_API xt_scheduler *xt_one_cycle_schedule_opt(const xt_src *src, xt_optimizer *opt, xt_one_cycle_schedule_opts o);

/* What becomes of the height of a cycle. */
typedef enum xt_cyclic_mode {
    XT_TRIANGULAR = 0, /* it stays */
    XT_TRIANGULAR2, /* half of it after each cycle */
    XT_EXP_RANGE /* times gamma^position */
} xt_cyclic_mode;
#define XT_DEFAULTS_xt_cyclic_schedule_opts(is)                                                             \
    is(step_size_up, 2000) is(step_size_down, -1) is(gamma, 1) is(base_momentum, 0.8) is(max_momentum, 0.9) \
        is(cycle_momentum, XT_ON) is(base_lr, XT_AUTO) is(max_lr, XT_AUTO)
XT_DEFAULTS_OF(xt_cyclic_schedule_opts)
typedef struct XT_OPTIONS_ xt_cyclic_schedule_opts {
    size_t struct_size XT_SIZE(xt_cyclic_schedule_opts);
    double base_lr XT_IS(xt_cyclic_schedule_opts, base_lr), max_lr
        XT_IS(xt_cyclic_schedule_opts, max_lr); /* needed; groups keep their ratio to them */
    /* positions from the lowest rate to the highest */
    int64_t step_size_up XT_IS(xt_cyclic_schedule_opts, step_size_up);
    int64_t step_size_down XT_IS(xt_cyclic_schedule_opts, step_size_down); /* -1 = step_size_up */
    xt_cyclic_mode mode XT_ZERO; /* what becomes of later cycles */
    double gamma XT_IS(xt_cyclic_schedule_opts, gamma); /* of XT_EXP_RANGE */
    xt_switch cycle_momentum XT_IS(xt_cyclic_schedule_opts, cycle_momentum); /* default on */
    double base_momentum XT_IS(xt_cyclic_schedule_opts, base_momentum), max_momentum
        XT_IS(xt_cyclic_schedule_opts, max_momentum);
    xt_interval interval XT_ZERO;
} xt_cyclic_schedule_opts;
#define xt_cyclic_schedule(...) XT_CYCLIC_SCHEDULE_(__VA_ARGS__, ) /* Smith 2017: up and down between two rates */
#define XT_CYCLIC_SCHEDULE_(opt, ...) \
    xt_cyclic_schedule_opt(XT_HERE, opt, XT_OPTS(xt_cyclic_schedule_opts, __VA_ARGS__))
XT_API xt_scheduler *xt_cyclic_schedule_opt(const xt_src *src, xt_optimizer *opt, xt_cyclic_schedule_opts o);

/* The factor at a position, which counts from 0 in epochs or steps as the schedule is stepped. */
typedef double (*xt_schedule_fn)(int64_t epoch, void *user);
#define XT_DEFAULTS_xt_lambda_schedule_opts(is)
typedef struct XT_OPTIONS_ xt_lambda_schedule_opts {
    size_t struct_size XT_SIZE(xt_lambda_schedule_opts);
    void *user XT_ZERO;
    xt_switch multiplicative
        XT_ZERO; /* default off: the first rate times fn(epoch); on: the rate before times fn(epoch) */
    xt_interval interval XT_ZERO;
} xt_lambda_schedule_opts;
/* xt_lambda_schedule(opt, fn, .user = p): fn says the factor of each position */
#define xt_lambda_schedule(opt, ...)                                             \
    (XT_GIVEN_(#__VA_ARGS__, "xt_lambda_schedule(opt, fn, ...): fn is missing"), \
     XT_LAMBDA_SCHEDULE_(opt, __VA_ARGS__, ))
#define XT_LAMBDA_SCHEDULE_(opt, fn, ...) \
    xt_lambda_schedule_opt(XT_HERE, opt, fn, XT_OPTS(xt_lambda_schedule_opts, __VA_ARGS__))
XT_API xt_scheduler *xt_lambda_schedule_opt(const xt_src *src, xt_optimizer *opt, xt_schedule_fn fn,
                                            xt_lambda_schedule_opts o);

/* Lowers the rate when a value has stopped getting better. Plain loops feed it: xt_schedule_step_value, or
 * xt_schedule_step_tensor without a wait. */
#define XT_DEFAULTS_xt_plateau_schedule_opts(is) is(factor, 0.1) is(patience, 10) is(threshold, 1e-4) is(eps, 1e-8)
XT_DEFAULTS_OF(xt_plateau_schedule_opts)
typedef struct XT_OPTIONS_ xt_plateau_schedule_opts {
    size_t struct_size XT_SIZE(xt_plateau_schedule_opts);
    /* the Trainer's: name of a logged value. Its newest is read at the end of each epoch, of those with a validation
     * where .val_every_n_epochs leaves some out */
    const char *monitor XT_ZERO;
    xt_reduce mode XT_ZERO; /* XT_MIN (default) or XT_MAX */
    double factor XT_IS(xt_plateau_schedule_opts, factor); /* of the rate each time, below 1 */
    /* values in a row without improvement that are borne; the next one lowers the rate */
    int64_t patience XT_IS(xt_plateau_schedule_opts, patience);
    /* better by more than this share of the best counts as improvement */
    double threshold XT_IS(xt_plateau_schedule_opts, threshold);
    xt_switch absolute XT_ZERO; /* default off: the threshold is relative to the best value */
    int64_t cooldown XT_ZERO; /* values behind a reduction that are not counted as bad */
    double min_lr XT_ZERO; /* the lowest rate */
    double eps XT_IS(xt_plateau_schedule_opts, eps); /* smaller changes of the rate are not made */
} xt_plateau_schedule_opts;
#define xt_plateau_schedule(...) XT_PLATEAU_SCHEDULE_(__VA_ARGS__, )
#define XT_PLATEAU_SCHEDULE_(opt, ...) \
    xt_plateau_schedule_opt(XT_HERE, opt, XT_OPTS(xt_plateau_schedule_opts, __VA_ARGS__))
XT_API xt_scheduler *xt_plateau_schedule_opt(const xt_src *src, xt_optimizer *opt, xt_plateau_schedule_opts o);

/* --- Several. They take their parts over. --- */
#define XT_DEFAULTS_xt_sequence_opts(is)
typedef struct XT_OPTIONS_ xt_sequence_opts {
    size_t struct_size XT_SIZE(xt_sequence_opts);
    xt_scheduler *schedules[XT_SCHEDULE_MOST] XT_ZERO; /* up to the first NULL */
    int64_t milestones[XT_SCHEDULE_MOST] XT_ZERO; /* one fewer: where the next one takes over and begins at its 0 */
    xt_interval interval XT_ZERO;
} xt_sequence_opts;
/* one after the other: .schedules = {warmup, cosine}, .milestones = {500} */
#define xt_sequential_schedule(...) XT_SEQUENTIAL_SCHEDULE_(__VA_ARGS__, )
#define XT_SEQUENTIAL_SCHEDULE_(opt, ...) \
    xt_sequential_schedule_opt(XT_HERE, opt, XT_OPTS(xt_sequence_opts, __VA_ARGS__))
XT_API xt_scheduler *xt_sequential_schedule_opt(const xt_src *src, xt_optimizer *opt, xt_sequence_opts o);
/* all at every step; milestones are not used */
#define xt_chained_schedule(...) XT_CHAINED_SCHEDULE_(__VA_ARGS__, )
#define XT_CHAINED_SCHEDULE_(opt, ...) xt_chained_schedule_opt(XT_HERE, opt, XT_OPTS(xt_sequence_opts, __VA_ARGS__))
XT_API xt_scheduler *xt_chained_schedule_opt(const xt_src *src, xt_optimizer *opt, xt_sequence_opts o);
#define XT_DEFAULTS_xt_warmup_opts(is) is(start_factor, 0.01)
XT_DEFAULTS_OF(xt_warmup_opts)
typedef struct XT_OPTIONS_ xt_warmup_opts {
    size_t struct_size XT_SIZE(xt_warmup_opts);
    double start_factor XT_IS(xt_warmup_opts, start_factor); /* of the rate, at the first step */
    xt_interval interval XT_ZERO;
} xt_warmup_opts;
/* Linear from start_factor to the whole rate in `steps`, then `then` (NULL: the rate stays). */
#define xt_warmup_schedule(opt, steps, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_warmup_schedule(opt, steps, then, ...): then is missing"), \
     XT_WARMUP_SCHEDULE_(opt, steps, __VA_ARGS__, ))
#define XT_WARMUP_SCHEDULE_(opt, steps, then, ...) \
    xt_warmup_schedule_opt(XT_HERE, opt, XT_NUMBER_(steps), then, XT_OPTS(xt_warmup_opts, __VA_ARGS__))
XT_API xt_scheduler *xt_warmup_schedule_opt(const xt_src *src, xt_optimizer *opt, int64_t steps, xt_scheduler *then,
                                            xt_warmup_opts o);

/* --- Use --- */
/* to the next position, and sets its rate; not of parts of another schedule, nor of a plateau */
XT_API void xt_schedule_step(xt_scheduler *s);
XT_API void xt_schedule_step_value(xt_scheduler *s, double value); /* plateau: a value the host has */
/* Plateau: a tensor of one element. Does not wait: the rate changes at the first xt_optimizer_step after the value
 * has arrived. */
#define xt_schedule_step_tensor(s, t) xt_schedule_step_tensor_at(XT_HERE, s, t)
XT_API void xt_schedule_step_tensor_at(const xt_src *src, xt_scheduler *s, xt_tensor t);
XT_API double xt_schedule_lr(const xt_scheduler *s); /* of group 0 */
XT_API int64_t xt_schedule_last_epoch(const xt_scheduler *s); /* times it was stepped */
/* The position as JSON (snprintf's meaning of buf and n), and with xt_schedule_load back into a schedule made the same
 * way. Rates are the optimizer's state, not its. */
XT_API size_t xt_schedule_save(const xt_scheduler *s, char *buf, size_t n);
XT_API XT_CHECK xt_status xt_schedule_load(xt_scheduler *s, const char *json);

#ifdef __cplusplus
}
#endif
#endif
