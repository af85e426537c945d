/* Inside the optimizers: one shared engine (average, unscale, clip, walk the parameters) and one descriptor a kind.
 *
 * Invariants
 *  1. Learning rates, and momenta that a schedule moves, are data: another value never makes another program. All other
 *     numbers are constants of it.
 *  2. A parameter's step count (bias correction) is the number of updates it got, kept on the device: a step that the
 *     loss scaler skips is not counted, and the host never knows. Parameters that were always updated together share
 *     one count (counters.c).
 *  3. Nothing here reads from the device. */
#ifndef XT_SRC_OPTIM_H
#define XT_SRC_OPTIM_H

#include <math.h>

#include <xtrain/optim.h>
#include <xtrain/schedule.h>

#include "lazy/lazy.h"

enum { OPTIM_MAX_STATES = 5, OPTIM_MAX_SHARED = 4 };

/* The numbers of a group: those that groups and schedules change, and the others in the struct of the kind's options.
 */
typedef struct optim_hyper {
    double lr, weight_decay;
    double momentum; /* the options' momentum, or beta1 */
    bool momentum_moves; /* a schedule or the program sets it: data */
    bool maximize;
    const void *opts; /* settled; the optimizer's own copy */
} optim_hyper;
#define OPTIM_OPTS(h, type) ((const type *)(h)->opts)

typedef struct optim_group { /* group 0: what no pattern matches */
    char *pattern;
    optim_hyper h;
    double lr_ratio; /* to group 0's, when it was made: what xt_optimizer_set_lr keeps */
    double initial_lr; /* what schedules begin from; < 0: there is none yet */
    bool frozen;
    size_t members;
    src_id made;
} optim_group;

typedef struct optim_param { /* one parameter with its state, found at the first step that has a gradient for it */
    xt_tensor param;
    char *name;
    int group, counter; /* counter: -1 before its first step, and for kinds that do not count */
    bool active; /* is updated in the step being recorded */
    unsigned unsaid; /* a bit for each state that a state loaded since then has had no value for: it begins anew */
    xt_tensor state[OPTIM_MAX_STATES];
} optim_param;

/* What an update sees: values of this step's trace, all of the parameter's type unless said otherwise. Scalars are f64
 * for f64 parameters, f32 for all others. */
typedef struct optim_update {
    ir_builder *b;
    const optim_hyper *h;
    ir_value *lr; /* scalar */
    /* scalars m, 1 - m, log m where the momentum is data; NULL: a constant of the hyper-parameters */
    ir_value *momentum, *rest, *log_m;
    ir_value *step; /* scalar: updates of this parameter, counting this one; kinds that count */
    /* kind->begin's values: scalars, the same for all parameters of a group, a counter and a width */
    ir_value *shared[OPTIM_MAX_SHARED];
    ir_value *param, *grad;
    ir_value *state[OPTIM_MAX_STATES];
    ir_value *new_param, *new_state[OPTIM_MAX_STATES];
} optim_update;

/* optimizers.def. */
typedef enum optim_id {
#define OPTIMIZER(name, title, options) OPTIM_##name,
#include "optim/optimizers.def"
#undef OPTIMIZER
    OPTIM_COUNT,
    OPTIM_lbfgs = OPTIM_COUNT /* takes a closure, so it is none of those that a trainer or a command can be told */
} optim_id;
typedef struct optim_name {
    const char *name, *title; /* "adamw", and PyTorch's class name: "AdamW" */
} optim_name;
extern const optim_name optim_names[OPTIM_COUNT];

typedef struct optim_kind {
    optim_id id;
    bool momentum; /* has one that schedules may cycle */
    int n_states;
    const char *state_names[OPTIM_MAX_STATES]; /* PyTorch's: momentum_buffer, exp_avg, exp_avg_sq */
    bool (*counts)(const optim_hyper *h); /* needs step counts; NULL: never */
    /* The type of state k of a parameter, NULL when it is not used; the function NULL: all states, each of the
     * parameter's type. */
    const ir_type *(*state_type)(const optim_hyper *h, int k, const ir_type *param);
    double (*initial)(const optim_hyper *h, int k); /* first value of a state; NULL: 0 */
    void (*begin)(optim_update *u); /* fills shared from step; NULL: nothing is shared */
    void (*update)(optim_update *u);
} optim_kind;

typedef struct optim_counter {
    xt_tensor count; /* f32 scalar */
    ir_value *now; /* in the step being recorded */
} optim_counter;

struct xt_optimizer {
    const optim_kind *kind;
    const optim_name *name;
    void *opts; /* the kind's, settled */
    xt_module *net; /* its parameters are those of net and of all below it */
    xt_module *root; /* which owns net, if it is a child */
    optim_group *groups;
    size_t n_groups, cap_groups;
    bool has_momentum, has_decay; /* the kind's options have such a number */
    double clip_norm, clip_norm_type, clip_value;
    xt_dtype state_dtype; /* of the states of narrower parameters; XT_DTYPE_NONE: the parameters' */
    bool reduced, unscaled, patterns_checked; /* reduced, unscaled: the gradients are already, since the last step */
    xt_tensor found; /* unscaled: bool scalar, kept until the step: whether one was not finite */
    src_id unscaled_at; /* unscaled: where, behind so many calls of xt_backward */
    int64_t unscaled_calls;
    struct { /* where a scaler stepped it last, which had been updated so often then */
        const struct xt_loss_scaler *by;
        src_id at;
        int64_t updates;
    } stepped;
    bool replicated; /* ranks had equal values, or got those of rank 0, before the first step */
    int64_t bucket_bytes; /* of gradients averaged together; 0 = the default */
    int64_t check_every; /* steps between comparisons of the replicas; 0 = never */
    struct { /* the note that this rank has left last, or compares (pace.c) */
        int64_t number, step, batch, epoch; /* step: 0: none */
        char key[64], line[256];
        bool told;
    } pace;
    const option_row *rows; /* of opts */
    size_t n_rows;
    struct { /* limits of clipping by hand since the last step; 0: none */
        double norm, value;
    } clipped;
    struct { /* with the other ranks' numbers (numbers.c) */
        bool met; /* before the first step */
        int64_t number, step; /* text: that of this step, which has not met rank 0's yet */
        char key[64], *text;
    } compared;
    optim_param *params;
    size_t n, cap;
    int *slots; /* a tensor's number in the module -> its place in params, or -1 */
    size_t n_slots, cap_slots;
    optim_counter *counters;
    size_t n_counters, cap_counters;
    map *loaded; /* state name -> value read before the state exists */
    map *loaded_counter; /* parameter name -> number of its counter + 1 */
    bool loaded_one; /* of an older version: all parameters with a state share the one counter there is */
    int loaded_for; /* as many tensors had the module when loaded values became their states */
    struct xt_loss_scaler *scaler; /* borrowed; its state is saved with the optimizer's */
    struct xt_optimizer *next_unmet; /* loss_scaler.c */
    struct xt_scheduler **schedulers; /* owned: those that are no part of another one */
    size_t n_schedulers, cap_schedulers;
    struct optim_offload *offload; /* state lives in host memory: offload.c; or NULL */
    struct optim_lbfgs *lbfgs; /* lbfgs.c; NULL: another kind */
    /* the gradients of the step recorded last (averaged, unscaled, not clipped), valid in lazy_step() == last_step */
    ir_value **last;
    size_t n_last;
    int64_t last_step;
    lazy_updater updater;
    int64_t reduced_calls; /* calls of xt_backward in the thread when they were averaged */
    struct { /* what took its gradients last: a call at a line, after so many backward passes of the thread */
        const char *by;
        src_id at;
        int64_t calls;
    } taken;
    int64_t refused, refused_in; /* calls of the step that met an error, in the step of that number */
    bool is_trained; /* finite.c, and the next one that is */
    struct xt_optimizer *next_trained;
    struct { /* forgotten.c */
        src_id made;
        uint64_t network;
        int64_t waiting; /* calls of xt_backward that left it gradients before it has ever stepped */
        int64_t passes; /* ended passes over loaders when the first did */
        src_id stepped_for; /* the last xt_backward before its last step */
        int64_t mixed; /* its steps with gradients of two losses, one of them from before another update */
        int64_t first_passes; /* ended passes over loaders at its first step */
        bool in_fit; /* it has stepped where a trainer sets the boundaries */
        bool trained; /* its network has trained in training mode */
        int64_t evaluating; /* steps since in evaluation mode */
        bool told_waiting, told_mixed, told_unreached, told_others, told_mode;
        const void *thread; /* that made it */
    } forgets;
    struct xt_optimizer *next_there; /* in the process */
};

/* --- finite.c: at xt_finish, are the parameters still numbers? --- */
void optim_watch_finite(xt_optimizer *o); /* it steps */
void optim_forget_finite(xt_optimizer *o); /* before it dies */

/* --- forgotten.c: what the loop around it leaves out --- */
void forgotten_begin(xt_optimizer *o);
void forgotten_end(xt_optimizer *o); /* before it dies */
struct gradients;
void forgotten_look(const xt_src *src, xt_optimizer *o, const struct gradients *g); /* it steps with these */
/* Another optimizer of this thread has tensor i of the network too, not in a frozen group: its gradient is for it. */
bool optim_is_anothers(const xt_optimizer *o, int i);

/* --- optimizer.c --- */
/* Checks the options by their rows and makes the optimizer with a copy of them. Rows of these names are read here too:
 * lr, weight_decay, momentum or beta1, maximize, clip_norm, clip_norm_type, clip_value. NULL with a
 * pending error. */
xt_optimizer *optim_new(const optim_kind *k, xt_module *net, const option_row *rows, size_t n_rows, void *opts,
                        const void *defaults, size_t size);
#define OPTIM_ROW(type, field, min, max, help) \
    { #field, help, OPTION_DOUBLE, offsetof(type, field), min, max, NULL }
#define OPTIM_SWITCH(type, field, help) \
    { #field, help, OPTION_SWITCH, offsetof(type, field), 0, 0, NULL }
#define OPTIM_CLIP_ROWS(type)                                                               \
    OPTIM_ROW(type, clip_norm, 0, 1e30, "largest norm of all gradients together; 0 = off"), \
        OPTIM_ROW(type, clip_norm_type, 1e-3, HUGE_VAL, "which norm"),                      \
        OPTIM_ROW(type, clip_value, 0, 1e30, "largest absolute value of a gradient; 0 = off")
/* Is the module's tensor number i among what it trains? */
bool optim_has(const xt_optimizer *o, int i);
void optim_move_momentum(xt_optimizer *o); /* that of each group is data from here on */
int optim_group_of(const xt_optimizer *o, const char *param); /* the last pattern that matches */
bool optim_has_momentum(const optim_hyper *h); /* now, or it may get one: running sums are kept */
bool optim_counts(const xt_optimizer *o);
const ir_type *optim_state_type(const xt_optimizer *o, const optim_param *p, int k, const ir_type *param);

/* --- arithmetic for the kinds --- */
/* x * scalar, the scalar converted and broadcast */
ir_value *optim_scale(ir_builder *b, ir_value *x, ir_value *scalar);
ir_value *optim_times(ir_builder *b, ir_value *x, double c);
ir_value *optim_number(const optim_update *u, double v); /* a constant scalar, as wide as the update is */
ir_value *optim_plus(ir_builder *b, ir_value *x, double c);
ir_value *optim_keep(optim_update *u, ir_value *x); /* momentum * x */
/* `with`, or `without` in steps whose momentum is 0: as in PyTorch, a running sum stays as it is then. */
ir_value *optim_if_momentum(optim_update *u, ir_value *with, ir_value *without);
ir_value *optim_take(optim_update *u, ir_value *x); /* (1 - momentum) * x */
ir_value *optim_mean_of(optim_update *u, ir_value *old, ir_value *x); /* momentum * old + (1 - momentum) * x */
ir_value *optim_mix(ir_builder *b, ir_value *old, ir_value *x, double keep); /* keep * old + (1 - keep) * x */
ir_value *optim_bias(ir_builder *b, ir_value *step, double beta,
                     ir_value *log_beta); /* 1 - beta^step without cancellation; log_beta: data, or NULL */
/* weight decay: into the gradient, or decoupled: out of the parameter */
void optim_decay(optim_update *u, bool decoupled);
void optim_descend(optim_update *u, ir_value *direction, ir_value *rate); /* new_param = param - rate * direction */

/* --- narrow_state.c: moments of 8 bits --- */
typedef enum narrow_moment { NARROW_MEAN, NARROW_SQUARE } narrow_moment; /* of gradients, or of their squares */
bool narrow_state_fits(const ir_type *param); /* few numbers stay as they are */
const ir_type *narrow_state_type(const ir_type *param, narrow_moment which); /* integers [blocks,256] */
const ir_type *narrow_state_factors(const ir_type *param); /* f32 [blocks] */
/* As f32 of the shape `to`, and back. */
ir_value *narrow_state_read(ir_builder *b, ir_value *integers, ir_value *factors, const ir_type *to,
                            narrow_moment which);
ir_value *narrow_state_write(ir_builder *b, ir_value *x, narrow_moment which, ir_value **out_factors);

/* --- gradients.c --- */
typedef struct gradients {
    xt_tensor *params, *grads;
    ir_value **values;
    int *index; /* in the module */
    size_t n;
} gradients;
/* The parameters of o that have a gradient now and are not frozen, in the module's order. False without memory. Free it
 * in any case of success. */
bool gradients_get(xt_optimizer *o, gradients *g);
bool gradients_of_module(const xt_module *m, gradients *g);
void gradients_free(gradients *g);
enum { OPTIM_BUCKET_BYTES = 1 << 20 };
/* Over ranks: one all-reduce for each bucket of gradients that are ready one after the other, of so many bytes (<= 0:
 * OPTIM_BUCKET_BYTES) or one gradient. */
bool gradients_average(ir_builder *b, gradients *g, int64_t bucket_bytes);
void gradients_assign(const gradients *g, const char *what); /* the values become the gradients */
/* scalar, f64 where a value is, else f32; NULL when a value is */
ir_value *gradients_norm(ir_builder *b, ir_value *const *values, size_t n, double p);
/* all times min(1, max / (norm + 1e-6)) */
/* The limit that the next two are given, a number of the caller's (ops_number): f64 where a gradient is, else f32. */
ir_value *gradients_limit(const xt_src *src, const char *what, const gradients *g, double max);
void gradients_clip_norm(ir_builder *b, gradients *g, ir_value *norm, ir_value *max);
void gradients_clip_value(ir_builder *b, gradients *g, ir_value *max);
ir_value *gradients_not_finite(ir_builder *b, const gradients *g); /* i1 scalar */

/* --- optim_step.c: the parts of a step --- */
/* the parameters of this step, in g's order; all others are inactive */
bool optim_activate(xt_optimizer *o, const xt_src *src, const gradients *g);
/* makes its state at the first call; NULL without memory */
optim_param *optim_param_of(xt_optimizer *o, const xt_src *src, int tensor);
/* Records the update of n parameters, by their numbers in the module. skip: i1 scalar or NULL. */
void optim_update_params(const xt_src *src, xt_optimizer *o, size_t n, const int *tensors, ir_value *const *grads,
                         ir_value *skip);

/* --- offload.c: the same with the state in host memory: what is recorded now keeps the gradients, the updates follow
 * when the step ends --- */
void optim_offload_step(const xt_src *src, xt_optimizer *o, const gradients *g, ir_value *skip);
void optim_offload_free(xt_optimizer *o);

/* What a step is to the host: it is counted; `recorded`: as one of the step being recorded. */
void optim_count_step(xt_optimizer *o, bool recorded);

/* --- lbfgs.c: its state is no parameter's, and is listed as tensors when somebody asks for it --- */
int optim_lbfgs_tensors(const xt_optimizer *o);
xt_tensor optim_lbfgs_tensor(const xt_optimizer *o, int i, char *name, size_t n);
void optim_lbfgs_forget(xt_optimizer *o); /* what there was; a state is loaded */
void optim_lbfgs_free(xt_optimizer *o);

/* --- replicas.c: plain data parallel --- */
/* once: all ranks train from rank 0's values. False with a pending error */
bool replicas_begin(const xt_src *src, const char *what, xt_optimizer *o);
/* every check_every steps: an error when parameters of ranks differ */
bool replicas_check(const xt_src *src, xt_optimizer *o);

/* --- numbers.c --- */
/* before a step, by s if it is not NULL: an error where ranks have other numbers. False with a pending error */
struct xt_loss_scaler;
bool numbers_check(const xt_src *src, xt_optimizer *o, const struct xt_loss_scaler *s);

/* --- pace.c --- */
/* before a step: says once that ranks step with different batches */
void pace_check(const xt_src *src, xt_optimizer *o);

/* --- counters.c --- */
/* Those that a loaded state has. False with a pending error */
bool optim_counters_loaded(const xt_src *src, xt_optimizer *o);
/* The one of them that counts a parameter, which has a state there or has not; -1: none does. */
int optim_counter_loaded(xt_optimizer *o, const char *param, bool has_state);
/* Counts this step for the active parameters. `skip`: i1 scalar, true = nothing is counted; or NULL. */
bool optim_count(const xt_src *src, xt_optimizer *o, ir_value *skip);

/* --- loss_scaler.c --- */
extern const char *const scaler_names[2]; /* of its state: scale, tracker */
struct xt_loss_scaler {
    xt_tensor scale, tracker; /* f32 scalars */
    double initial, growth, backoff, interval;
    bool enabled;
    xt_tensor found; /* bool scalar, kept until xt_scaler_update: a gradient was not finite, in any optimizer */
    int64_t updates; /* calls of xt_scaler_update */
    bool scales; /* a loss has been scaled */
    int64_t looked; /* for what loaded states have for it, behind so many of them */
    enum {
        SCALER_OWN,
        SCALER_LOADED,
        SCALER_LATE
    } begun; /* as its options say; as a state that was loaded; it goes on
                as that behind the update that is next */
    float loaded[2]; /* scale and tracker of that state */
};
/* Errors, false: gradients of o that are divided by the scale and others that are not; that were clipped while the
 * scale is in them. */
bool scaler_not_mixed(const xt_src *src, const char *what, const xt_optimizer *o);
bool scaler_not_clipped(const xt_src *src, const char *what, const xt_optimizer *o);
/* Divides the values by the scale; *out_skip: i1 scalar, true when one is not finite. */
bool scaler_unscale(const xt_src *src, struct xt_loss_scaler *s, gradients *g, ir_value **out_skip);
void scaler_forget_found(xt_tensor *found);
/* o has met the scaler, whose state is its own's from here on, and which takes what a loaded state has for it. */
void scaler_attach(xt_optimizer *o, struct xt_loss_scaler *s);
/* A state that was loaded has one for the scaler of o, which o has not met. The loss is scaled before they meet, so the
 * first use of a new scaler looks for it. */
void scaler_waits(xt_optimizer *o);
void scaler_forget_waiting(xt_optimizer *o);

/* --- optim_state.c: for checkpoints --- */
/* Gives a state tensor (a name of xt_optimizer_tensor_name) its value; one that does not exist yet takes it when the
 * first step makes it. */
xt_status optim_restore(xt_optimizer *o, const char *name, const ir_type *type, const void *data);
/* The type of what waits for a state of this name, NULL: nothing does. *out_data (or NULL): its elements, the
 * optimizer's. */
const ir_type *optim_waiting(const xt_optimizer *o, const char *name, const void **out_data);
typedef xt_status (*optim_waiting_fn)(void *user, const char *name, const ir_type *type, const void *data);
xt_status optim_each_waiting(const xt_optimizer *o, optim_waiting_fn fn, void *user);
void optim_forget_waiting(xt_optimizer *o, const char *name);
/* A new state tensor, with the value restored for its name if there is one, else filled with `fill`. */
xt_tensor optim_new_state(const xt_src *src, xt_optimizer *o, const char *name, const ir_type *type, double fill);
/* Loaded values become the states of the module's parameters, of those without a gradient too: else they would be in
 * no checkpoint, and a parameter that is trained again later would be without. False with a pending error */
bool optim_take_loaded(const xt_src *src, xt_optimizer *o);
void optim_state_free(xt_optimizer *o);
/* What is not a tensor, as JSON: steps, rates of the groups, the scheduler. base_free. NULL without memory. */
char *optim_state_text(const xt_optimizer *o);
xt_status optim_state_load(xt_optimizer *o, const char *json);

/* gradients.c: they are averages over the ranks. A backward pass since then has added this rank's own, and the average
 * of the sum is that of both: what is the same on all ranks already stays as it is. */
bool optim_is_reduced(const xt_optimizer *o);
/* `by`, a call of the program's, takes the gradients that there are */
void optim_taken(const xt_src *src, const char *by, xt_optimizer *o);

/* --- schedule_watch.c: schedules that a loop steps in the wrong place, or never --- */
void schedule_watch_update(const xt_src *src, const xt_optimizer *o); /* it is about to step */
/* it ends; of so many passes over loaders that have ended while it trained */
void schedule_watch_end(const xt_optimizer *o, int64_t passes);
/* a fit ends whose task steps its optimizers itself, after so many epochs */
void schedule_watch_manual(const xt_optimizer *o, int64_t epochs);

/* --- schedule.c --- */
void schedule_poll(xt_optimizer *o); /* applies values that have arrived (plateau) */
void schedule_free(struct xt_scheduler *s);
char *schedule_text(const struct xt_scheduler *s); /* base_free; NULL without memory */
struct cJSON;
xt_status schedule_load(struct xt_scheduler *s, const struct cJSON *state);
/* A number that reads back as the same bits: cJSON itself prints 15 digits where it finds them good enough. */
struct cJSON *json_number(double v);

#endif
