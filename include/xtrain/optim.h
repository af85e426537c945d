/* Optimizers: PyTorch's formulas and defaults. xt_optimizer_step averages gradients over ranks (one device: the same
 * call), clips if asked, updates parameters in place and consumes the gradients. It records; nothing waits. Learning
 * rates are device scalars: changing one never recompiles. schedule.h has their schedules.
 *
 * Parameters without a gradient are left alone, and so is their state. What options mean that several have:
 *     .lr: learning rate, 0 and above; changed later by schedules, xt_optimizer_set_lr and groups
 *     .weight_decay: L2 penalty: so much of a parameter is added to its gradient; 0 = none
 *     .momentum: factor of the running sum of gradients, 0 to 1; 0 = none is kept
 *     .beta1, .beta2: decay of the running means of gradients and of their squares, 0 to 1
 *     .eps: added to the root of the squares' mean, which the step is divided by
 *     .clip_norm: largest norm of all gradients together, after averaging over ranks; 0 = off
 *     .clip_norm_type: the p of that norm: 2, 1, HUGE_VAL for the largest element, any above 0; also of the norm that
 *         the Trainer's .gradient_clip_val bounds, and of nothing without either
 *     .clip_value: largest absolute value of an element of the gradients; 0 = off
 *     .maximize: on: climbs, for what is to grow
 *
 *     xt_optimizer *opt = xt_adamw(net, .lr = 3e-4, .weight_decay = 0.1, .clip_norm = 1);
 *     xt_optimizer_group(opt, "*.bias", .weight_decay = 0);
 *     xt_cosine_schedule(opt, .t_max = 100); */
#ifndef XTRAIN_OPTIM_H
#define XTRAIN_OPTIM_H

#include <xtrain/module.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A rule that updates the parameters of a module, with its states, groups and schedules. */
typedef struct xt_optimizer xt_optimizer;
/* Made over the parameters that net has or will have. Of a child, xt_adam(xt_sub(net, "head", -1), ...), over those of
 * that child and of all below it: torch.optim.Adam(net.head.parameters()); xt_zero_grad and clipping keep to them, and
 * several children may have an optimizer each. Names in groups and checkpoints are whole ("head.fc.weight"). Freed by
 * xt_optimizer_free or xt_finish. A number out of its range gives NULL and xt_error() with this line; given NULL,
 * functions fail with their line. */
#define XT_DEFAULTS_xt_sgd_opts(is) is(lr, 1e-3) is(clip_norm_type, 2)
XT_DEFAULTS_OF(xt_sgd_opts)
typedef struct XT_OPTIONS_ xt_sgd_opts {
    size_t struct_size XT_SIZE(xt_sgd_opts);
    double lr XT_IS(xt_sgd_opts, lr);
    double momentum XT_ZERO;
    /* share of each gradient that stays out of the momentum, [0,1]; 0 with Nesterov's. Without .momentum it changes
     * nothing, as in PyTorch, until a group or a schedule gives one */
    double dampening XT_ZERO;
    double weight_decay XT_ZERO;
    xt_switch nesterov XT_ZERO; /* default off; on: looks one step ahead along the momentum, which it needs */
    double clip_norm XT_ZERO;
    double clip_value XT_ZERO;
    double clip_norm_type XT_IS(xt_sgd_opts, clip_norm_type);
    xt_switch maximize XT_ZERO;
} xt_sgd_opts;
#define xt_sgd(...) XT_SGD_(__VA_ARGS__, ) /* torch.optim.SGD: plain, with momentum, Nesterov's too */
#define XT_SGD_(net, ...) xt_sgd_opt(XT_HERE, net, XT_OPTS(xt_sgd_opts, __VA_ARGS__))
XT_API xt_optimizer *xt_sgd_opt(const xt_src *src, xt_module *net, xt_sgd_opts o);

#define XT_DEFAULTS_xt_adamw_opts(is)                                                                          \
    is(lr, 1e-3) is(beta1, 0.9) is(beta2, 0.999) is(eps, 1e-8) is(weight_decay, XT_AUTO) is(clip_norm_type, 2) \
        is(state_bits, 32)
XT_DEFAULTS_OF(xt_adamw_opts)
typedef struct XT_OPTIONS_ xt_adamw_opts {
    size_t struct_size XT_SIZE(xt_adamw_opts);
    double lr XT_IS(xt_adamw_opts, lr);
    double beta1 XT_IS(xt_adamw_opts, beta1), beta2 XT_IS(xt_adamw_opts, beta2);
    double eps XT_IS(xt_adamw_opts, eps);
    /* XT_AUTO: 0.01 for adamw, 0 for adam. AdamW shrinks parameters by lr times this, Adam adds so much of them to
     * their gradients; 0 = none */
    double weight_decay XT_IS(xt_adamw_opts, weight_decay);
    double clip_norm XT_ZERO, clip_value XT_ZERO, clip_norm_type XT_IS(xt_adamw_opts, clip_norm_type);
    xt_switch amsgrad XT_ZERO; /* default off; on: divides by the largest second moment so far */
    xt_switch maximize XT_ZERO;
    /* 32: the moments are as wide as the parameters (xt_optimizer_set_state_dtype); 8: of parameters with at least 4096
     * numbers they are integers of 8 bits, with a factor for each 256 of them: 2 bytes a parameter for 8. Not with
     * amsgrad. */
    int64_t state_bits XT_IS(xt_adamw_opts, state_bits);
} xt_adamw_opts;
#define xt_adamw(...) XT_ADAMW_(__VA_ARGS__, ) /* torch.optim.AdamW: weight decay apart from the gradient */
#define XT_ADAMW_(net, ...) xt_adamw_opt(XT_HERE, net, XT_OPTS(xt_adamw_opts, __VA_ARGS__))
XT_API xt_optimizer *xt_adamw_opt(const xt_src *src, xt_module *net, xt_adamw_opts o);
#define xt_adam(...) XT_ADAM_(__VA_ARGS__, ) /* torch.optim.Adam: weight decay added to the gradient */
#define XT_ADAM_(net, ...) xt_adam_opt(XT_HERE, net, XT_OPTS(xt_adamw_opts, __VA_ARGS__))
XT_API xt_optimizer *xt_adam_opt(const xt_src *src, xt_module *net, xt_adamw_opts o);

#define XT_DEFAULTS_xt_adagrad_opts(is) is(lr, 0.01) is(eps, 1e-10) is(clip_norm_type, 2)
XT_DEFAULTS_OF(xt_adagrad_opts)
typedef struct XT_OPTIONS_ xt_adagrad_opts {
    size_t struct_size XT_SIZE(xt_adagrad_opts);
    double lr XT_IS(xt_adagrad_opts, lr);
    double lr_decay XT_ZERO; /* the rate falls as 1 / (1 + (t - 1) lr_decay) in step t; 0 = it stays */
    double weight_decay XT_ZERO;
    double initial_accumulator_value XT_ZERO; /* where the sums of squared gradients begin; 0 and above */
    double eps XT_IS(xt_adagrad_opts, eps);
    double clip_norm XT_ZERO, clip_value XT_ZERO, clip_norm_type XT_IS(xt_adagrad_opts, clip_norm_type);
    xt_switch maximize XT_ZERO;
} xt_adagrad_opts;
#define xt_adagrad(...) XT_ADAGRAD_(__VA_ARGS__, ) /* torch.optim.Adagrad */
#define XT_ADAGRAD_(net, ...) xt_adagrad_opt(XT_HERE, net, XT_OPTS(xt_adagrad_opts, __VA_ARGS__))
XT_API xt_optimizer *xt_adagrad_opt(const xt_src *src, xt_module *net, xt_adagrad_opts o);

#define XT_DEFAULTS_xt_rmsprop_opts(is) is(lr, 0.01) is(alpha, 0.99) is(eps, 1e-8) is(clip_norm_type, 2)
XT_DEFAULTS_OF(xt_rmsprop_opts)
typedef struct XT_OPTIONS_ xt_rmsprop_opts {
    size_t struct_size XT_SIZE(xt_rmsprop_opts);
    double lr XT_IS(xt_rmsprop_opts, lr);
    double alpha XT_IS(xt_rmsprop_opts, alpha); /* decay of the running mean of squared gradients, [0,1] */
    double eps XT_IS(xt_rmsprop_opts, eps);
    double weight_decay XT_ZERO, momentum XT_ZERO;
    double clip_norm XT_ZERO, clip_value XT_ZERO, clip_norm_type XT_IS(xt_rmsprop_opts, clip_norm_type);
    xt_switch centered
        XT_ZERO; /* default off; on: divides by the standard deviation: a mean of gradients is kept too */
    xt_switch maximize XT_ZERO;
} xt_rmsprop_opts;
#define xt_rmsprop(...) XT_RMSPROP_(__VA_ARGS__, ) /* torch.optim.RMSprop */
#define XT_RMSPROP_(net, ...) xt_rmsprop_opt(XT_HERE, net, XT_OPTS(xt_rmsprop_opts, __VA_ARGS__))
XT_API xt_optimizer *xt_rmsprop_opt(const xt_src *src, xt_module *net, xt_rmsprop_opts o);

#define XT_DEFAULTS_xt_adadelta_opts(is) is(lr, 1) is(rho, 0.9) is(eps, 1e-6) is(clip_norm_type, 2)
XT_DEFAULTS_OF(xt_adadelta_opts)
typedef struct XT_OPTIONS_ xt_adadelta_opts {
    size_t struct_size XT_SIZE(xt_adadelta_opts);
    double lr XT_IS(xt_adadelta_opts, lr);
    /* decay of the running means of squared gradients and of squared updates, [0,1] */
    double rho XT_IS(xt_adadelta_opts, rho);
    double eps XT_IS(xt_adadelta_opts, eps); /* added under both roots */
    double weight_decay XT_ZERO;
    double clip_norm XT_ZERO, clip_value XT_ZERO, clip_norm_type XT_IS(xt_adadelta_opts, clip_norm_type);
    xt_switch maximize XT_ZERO;
} xt_adadelta_opts;
#define xt_adadelta(...) XT_ADADELTA_(__VA_ARGS__, ) /* torch.optim.Adadelta */
#define XT_ADADELTA_(net, ...) xt_adadelta_opt(XT_HERE, net, XT_OPTS(xt_adadelta_opts, __VA_ARGS__))
XT_API xt_optimizer *xt_adadelta_opt(const xt_src *src, xt_module *net, xt_adadelta_opts o);

/* Adamax, NAdam and RAdam: the first Adam's relatives. */
#define XT_DEFAULTS_xt_adam_family_opts(is) \
    is(lr, XT_AUTO) is(beta1, 0.9) is(beta2, 0.999) is(eps, 1e-8) is(momentum_decay, 4e-3) is(clip_norm_type, 2)
XT_DEFAULTS_OF(xt_adam_family_opts)
typedef struct XT_OPTIONS_ xt_adam_family_opts {
    size_t struct_size XT_SIZE(xt_adam_family_opts);
    double lr XT_IS(xt_adam_family_opts, lr); /* XT_AUTO: 2e-3; RAdam 1e-3 */
    double beta1 XT_IS(xt_adam_family_opts, beta1), beta2 XT_IS(xt_adam_family_opts, beta2);
    double eps XT_IS(xt_adam_family_opts, eps);
    double weight_decay XT_ZERO;
    double momentum_decay XT_IS(xt_adam_family_opts, momentum_decay); /* NAdam */
    double clip_norm XT_ZERO, clip_value XT_ZERO, clip_norm_type XT_IS(xt_adam_family_opts, clip_norm_type);
    xt_switch decoupled_weight_decay XT_ZERO; /* NAdam, RAdam: as AdamW; default off */
    xt_switch maximize XT_ZERO;
} xt_adam_family_opts;
/* Adam with the largest gradient seen, decayed, in place of the root of the second moment */
#define xt_adamax(...) XT_ADAMAX_(__VA_ARGS__, )
#define XT_ADAMAX_(net, ...) xt_adamax_opt(XT_HERE, net, XT_OPTS(xt_adam_family_opts, __VA_ARGS__))
XT_API xt_optimizer *xt_adamax_opt(const xt_src *src, xt_module *net, xt_adam_family_opts o);
/* Adam with Nesterov momentum */
#define xt_nadam(...) XT_NADAM_(__VA_ARGS__, )
#define XT_NADAM_(net, ...) xt_nadam_opt(XT_HERE, net, XT_OPTS(xt_adam_family_opts, __VA_ARGS__))
XT_API xt_optimizer *xt_nadam_opt(const xt_src *src, xt_module *net, xt_adam_family_opts o);
/* Adam whose first steps go without the second moment, while its variance is unknown */
#define xt_radam(...) XT_RADAM_(__VA_ARGS__, )
#define XT_RADAM_(net, ...) xt_radam_opt(XT_HERE, net, XT_OPTS(xt_adam_family_opts, __VA_ARGS__))
XT_API xt_optimizer *xt_radam_opt(const xt_src *src, xt_module *net, xt_adam_family_opts o);

/* Lion (Chen et al. 2023, arXiv 2302.06675): the sign of an interpolated momentum; weight decay as AdamW. */
#define XT_DEFAULTS_xt_lion_opts(is) is(lr, 1e-4) is(beta1, 0.9) is(beta2, 0.99) is(clip_norm_type, 2)
XT_DEFAULTS_OF(xt_lion_opts)
typedef struct XT_OPTIONS_ xt_lion_opts {
    size_t struct_size XT_SIZE(xt_lion_opts);
    double lr XT_IS(xt_lion_opts, lr);
    /* share of the momentum in the direction, and the decay of the momentum itself; 0 to 1 */
    double beta1 XT_IS(xt_lion_opts, beta1), beta2 XT_IS(xt_lion_opts, beta2);
    double weight_decay XT_ZERO; /* a step shrinks parameters by lr times this; 0 = none */
    double clip_norm XT_ZERO, clip_value XT_ZERO, clip_norm_type XT_IS(xt_lion_opts, clip_norm_type);
    xt_switch maximize XT_ZERO;
} xt_lion_opts;
#define xt_lion(...) XT_LION_(__VA_ARGS__, )
#define XT_LION_(net, ...) xt_lion_opt(XT_HERE, net, XT_OPTS(xt_lion_opts, __VA_ARGS__))
XT_API xt_optimizer *xt_lion_opt(const xt_src *src, xt_module *net, xt_lion_opts o);

/* LAMB (You et al. 2020, arXiv 1904.00962): Adam whose step is scaled a parameter to its own norm; for very
 * large batches. */
#define XT_DEFAULTS_xt_lamb_opts(is) \
    is(lr, 1e-3) is(beta1, 0.9) is(beta2, 0.999) is(eps, 1e-6) is(weight_decay, 0.01) is(clip_norm_type, 2)
XT_DEFAULTS_OF(xt_lamb_opts)
typedef struct XT_OPTIONS_ xt_lamb_opts {
    size_t struct_size XT_SIZE(xt_lamb_opts);
    double lr XT_IS(xt_lamb_opts, lr);
    double beta1 XT_IS(xt_lamb_opts, beta1), beta2 XT_IS(xt_lamb_opts, beta2);
    double eps XT_IS(xt_lamb_opts, eps);
    double weight_decay XT_IS(xt_lamb_opts, weight_decay); /* share of the parameter in the direction; 0 = none */
    double clip_norm XT_ZERO, clip_value XT_ZERO, clip_norm_type XT_IS(xt_lamb_opts, clip_norm_type);
    xt_switch maximize XT_ZERO;
} xt_lamb_opts;
#define xt_lamb(...) XT_LAMB_(__VA_ARGS__, )
#define XT_LAMB_(net, ...) xt_lamb_opt(XT_HERE, net, XT_OPTS(xt_lamb_opts, __VA_ARGS__))
XT_API xt_optimizer *xt_lamb_opt(const xt_src *src, xt_module *net, xt_lamb_opts o);

/* Adafactor (Shazeer and Stern 2018), in PyTorch's form: second moments of matrices kept as row and column means. */
#define XT_DEFAULTS_xt_adafactor_opts(is) \
    is(lr, 0.01) is(beta2_decay, -0.8) is(eps1, XT_AUTO) is(eps2, 1e-3) is(d, 1) is(clip_norm_type, 2)
XT_DEFAULTS_OF(xt_adafactor_opts)
typedef struct XT_OPTIONS_ xt_adafactor_opts {
    size_t struct_size XT_SIZE(xt_adafactor_opts);
    double lr XT_IS(xt_adafactor_opts, lr); /* the most; 1 / sqrt(step) where that is less */
    /* second moments decay by 1 - t^beta2_decay in step t; [-10,0] */
    double beta2_decay XT_IS(xt_adafactor_opts, beta2_decay);
    double eps1 XT_IS(xt_adafactor_opts, eps1); /* least root of a second moment; XT_AUTO: the dtype's epsilon */
    /* least root mean square of a parameter: steps are in proportion to it */
    double eps2 XT_IS(xt_adafactor_opts, eps2);
    /* largest root mean square of an update in front of its rate: a larger update is scaled to it */
    double d XT_IS(xt_adafactor_opts, d);
    double weight_decay XT_ZERO; /* a step shrinks parameters by lr times this; 0 = none */
    double clip_norm XT_ZERO, clip_value XT_ZERO, clip_norm_type XT_IS(xt_adafactor_opts, clip_norm_type);
    xt_switch maximize XT_ZERO;
} xt_adafactor_opts;
#define xt_adafactor(...) XT_ADAFACTOR_(__VA_ARGS__, )
#define XT_ADAFACTOR_(net, ...) xt_adafactor_opt(XT_HERE, net, XT_OPTS(xt_adafactor_opts, __VA_ARGS__))
XT_API xt_optimizer *xt_adafactor_opt(const xt_src *src, xt_module *net, xt_adafactor_opts o);

/* torch.optim.Rprop: signs of gradients of the whole data set, with a step size for each element. */
#define XT_DEFAULTS_xt_rprop_opts(is) \
    is(lr, 0.01) is(eta_minus, 0.5) is(eta_plus, 1.2) is(step_min, 1e-6) is(step_max, 50) is(clip_norm_type, 2)
XT_DEFAULTS_OF(xt_rprop_opts)
typedef struct XT_OPTIONS_ xt_rprop_opts {
    size_t struct_size XT_SIZE(xt_rprop_opts);
    double lr XT_IS(xt_rprop_opts, lr); /* where step sizes begin; a schedule changes nothing */
    /* factors of an element's step size: where its gradient turned, [0,1], and where not, 1 and above */
    double eta_minus XT_IS(xt_rprop_opts, eta_minus), eta_plus XT_IS(xt_rprop_opts, eta_plus);
    /* bounds of the step sizes */
    double step_min XT_IS(xt_rprop_opts, step_min), step_max XT_IS(xt_rprop_opts, step_max);
    double clip_norm XT_ZERO, clip_value XT_ZERO, clip_norm_type XT_IS(xt_rprop_opts, clip_norm_type);
    xt_switch maximize XT_ZERO;
} xt_rprop_opts;
#define xt_rprop(...) XT_RPROP_(__VA_ARGS__, )
#define XT_RPROP_(net, ...) xt_rprop_opt(XT_HERE, net, XT_OPTS(xt_rprop_opts, __VA_ARGS__))
XT_API xt_optimizer *xt_rprop_opt(const xt_src *src, xt_module *net, xt_rprop_opts o);

/* torch.optim.ASGD: the average of the parameters is the state "ax" of each. */
#define XT_DEFAULTS_xt_asgd_opts(is) is(lr, 0.01) is(lambd, 1e-4) is(alpha, 0.75) is(t0, 1e6) is(clip_norm_type, 2)
XT_DEFAULTS_OF(xt_asgd_opts)
typedef struct XT_OPTIONS_ xt_asgd_opts {
    size_t struct_size XT_SIZE(xt_asgd_opts);
    double lr XT_IS(xt_asgd_opts, lr);
    /* in step t the rate is lr / (1 + lambd lr (t - 1))^alpha, and parameters shrink by lambd times it */
    double lambd XT_IS(xt_asgd_opts, lambd), alpha XT_IS(xt_asgd_opts, alpha);
    double t0 XT_IS(xt_asgd_opts, t0); /* the step from which on it averages */
    double weight_decay XT_ZERO;
    double clip_norm XT_ZERO, clip_value XT_ZERO, clip_norm_type XT_IS(xt_asgd_opts, clip_norm_type);
    xt_switch maximize XT_ZERO;
} xt_asgd_opts;
#define xt_asgd(...) XT_ASGD_(__VA_ARGS__, )
#define XT_ASGD_(net, ...) xt_asgd_opt(XT_HERE, net, XT_OPTS(xt_asgd_opts, __VA_ARGS__))
XT_API xt_optimizer *xt_asgd_opt(const xt_src *src, xt_module *net, xt_asgd_opts o);

/* torch.optim.SparseAdam, for embeddings: rows (first dim) whose gradient is zero keep value and moments. */
#define XT_DEFAULTS_xt_sparse_adam_opts(is) \
    is(lr, 1e-3) is(beta1, 0.9) is(beta2, 0.999) is(eps, 1e-8) is(clip_norm_type, 2)
XT_DEFAULTS_OF(xt_sparse_adam_opts)
typedef struct XT_OPTIONS_ xt_sparse_adam_opts {
    size_t struct_size XT_SIZE(xt_sparse_adam_opts);
    double lr XT_IS(xt_sparse_adam_opts, lr);
    double beta1 XT_IS(xt_sparse_adam_opts, beta1), beta2 XT_IS(xt_sparse_adam_opts, beta2);
    double eps XT_IS(xt_sparse_adam_opts, eps);
    double clip_norm XT_ZERO, clip_value XT_ZERO, clip_norm_type XT_IS(xt_sparse_adam_opts, clip_norm_type);
    xt_switch maximize XT_ZERO;
} xt_sparse_adam_opts;
#define xt_sparse_adam(...) XT_SPARSE_ADAM_(__VA_ARGS__, )
#define XT_SPARSE_ADAM_(net, ...) xt_sparse_adam_opt(XT_HERE, net, XT_OPTS(xt_sparse_adam_opts, __VA_ARGS__))
XT_API xt_optimizer *xt_sparse_adam_opt(const xt_src *src, xt_module *net, xt_sparse_adam_opts o);

/* torch.optim.Muon for matrices, orthogonalised in f32; parameters that are none are AdamW's with the same lr and
 * weight_decay. Embeddings are matrices too: for AdamW there, two optimizers and frozen groups. */
#define XT_DEFAULTS_xt_muon_opts(is)                                                                        \
    is(lr, 1e-3) is(momentum, 0.95) is(weight_decay, 0.1) is(eps, 1e-7) is(ns_steps, 5) is(adam_beta1, 0.9) \
        is(adam_beta2, 0.999) is(adam_eps, 1e-8) is(clip_norm_type, 2) is(nesterov, XT_ON)
XT_DEFAULTS_OF(xt_muon_opts)
typedef struct XT_OPTIONS_ xt_muon_opts {
    size_t struct_size XT_SIZE(xt_muon_opts);
    double lr XT_IS(xt_muon_opts, lr);
    double momentum XT_IS(xt_muon_opts, momentum); /* decay of the running mean of gradients, [0,1] */
    /* a step shrinks parameters by lr times this; 0 = none */
    double weight_decay XT_IS(xt_muon_opts, weight_decay);
    double eps XT_IS(xt_muon_opts, eps); /* least norm that a momentum is divided by before the iterations */
    /* as AdamW's beta1, beta2 and eps: of parameters that are no matrices */
    double adam_beta1 XT_IS(xt_muon_opts, adam_beta1), adam_beta2 XT_IS(xt_muon_opts, adam_beta2);
    double adam_eps XT_IS(xt_muon_opts, adam_eps); /* likewise */
    double clip_norm XT_ZERO, clip_value XT_ZERO, clip_norm_type XT_IS(xt_muon_opts, clip_norm_type);
    /* iterations of Newton and Schulz, 1 to 99: more bring singular values nearer to 1 */
    int ns_steps XT_IS(xt_muon_opts, ns_steps);
    xt_switch nesterov XT_IS(xt_muon_opts, nesterov); /* default on: looks one step ahead along the momentum */
    xt_switch match_rms_adamw XT_ZERO; /* default off: adjust_lr_fn "original"; on: "match_rms_adamw" */
    xt_switch maximize XT_ZERO;
} xt_muon_opts;
#define xt_muon(...) XT_MUON_(__VA_ARGS__, )
#define XT_MUON_(net, ...) xt_muon_opt(XT_HERE, net, XT_OPTS(xt_muon_opts, __VA_ARGS__))
XT_API xt_optimizer *xt_muon_opt(const xt_src *src, xt_module *net, xt_muon_opts o);

/* torch.optim.LBFGS (Liu and Nocedal 1989): for losses of all the data, by xt_optimizer_step_closure alone. Directions
 * and line search are computed in f64 on the host, of f32 and f64 parameters; one program, that of the closure, runs at
 * each evaluation. No groups and no clipping, and no mesh; ranks average loss and gradients. */
/* How far an L-BFGS step goes along its direction. */
typedef enum xt_line_search {
    XT_FIXED_RATE = 0, /* lr times the direction; less in the very first step */
    XT_STRONG_WOLFE = 1 /* until the strong Wolfe conditions hold: several evaluations */
} xt_line_search;
#define XT_DEFAULTS_xt_lbfgs_opts(is)                                                               \
    is(lr, 1) is(tolerance_grad, 1e-7) is(tolerance_change, 1e-9) is(max_iter, 20) is(max_eval, -1) \
        is(history_size, 100)
XT_DEFAULTS_OF(xt_lbfgs_opts)
typedef struct XT_OPTIONS_ xt_lbfgs_opts {
    size_t struct_size XT_SIZE(xt_lbfgs_opts);
    double lr XT_IS(xt_lbfgs_opts, lr); /* factor of the direction; with a line search its first try */
    double tolerance_grad XT_IS(xt_lbfgs_opts, tolerance_grad); /* done when no gradient is larger */
    double tolerance_change XT_IS(xt_lbfgs_opts, tolerance_change); /* or loss and parameters change by less */
    int max_iter XT_IS(xt_lbfgs_opts, max_iter); /* iterations a step */
    int max_eval XT_IS(xt_lbfgs_opts, max_eval); /* evaluations a step; -1 = max_iter * 5 / 4 */
    int history_size XT_IS(xt_lbfgs_opts, history_size); /* changes of gradient that are kept: 2 vectors each */
    xt_line_search line_search XT_ZERO; /* default a fixed rate, lr */
} xt_lbfgs_opts;
/* The optimizer described above, whose steps are xt_optimizer_step_closure's: xt_lbfgs(net, .line_search =
 * XT_STRONG_WOLFE) */
#define xt_lbfgs(...) XT_LBFGS_(__VA_ARGS__, )
#define XT_LBFGS_(net, ...) xt_lbfgs_opt(XT_HERE, net, XT_OPTS(xt_lbfgs_opts, __VA_ARGS__))
XT_API xt_optimizer *xt_lbfgs_opt(const xt_src *src, xt_module *net, xt_lbfgs_opts o);
/* xt_optimizer_step_closure, optimizer.step(closure): the function computes the loss, one element, and gives it;
 * xt_backward is called for it unless the function has called it. Any optimizer takes one: the others step once. Gives
 * the first loss (NaN after an error). Gradients there were are forgotten, and each evaluation is a step of its own
 * that waits; the tensors that the program has made in the step before live on, so a closure may read the batch of
 * xt_next. */
typedef xt_tensor (*xt_closure_fn)(void *user);
#define xt_optimizer_step_closure(opt, closure, user) xt_optimizer_step_closure_at(XT_HERE, opt, closure, user)
XT_API double xt_optimizer_step_closure_at(const xt_src *src, xt_optimizer *opt, xt_closure_fn closure, void *user);

/* Records the update, after xt_backward: gradients averaged over ranks, unscaled, clipped; every parameter that has one
 * moves in place; they are consumed. Gradients of frozen parameters stay if another optimizer updates those, else they
 * are forgotten. Waits for nothing. No gradient at all is an error, and so is a second step of one
 * optimizer in a compiled step function; in a loop it shows that nothing ends the steps (tensor.h). */
#define xt_optimizer_step(opt) xt_optimizer_step_at(XT_HERE, opt)
XT_API void xt_optimizer_step_at(const xt_src *src, xt_optimizer *opt);
/* averages over ranks now; xt_optimizer_step then does not, unless xt_backward adds to them in between */
#define xt_reduce_gradients(opt) xt_reduce_gradients_at(XT_HERE, opt)
XT_API void xt_reduce_gradients_at(const xt_src *src, xt_optimizer *opt);
/* Ranks without a mesh train copies of one network. At the first step (or xt_reduce_gradients) they compare their
 * values, and where they differ all take those of rank 0, for that step's forward pass already. This asks for a
 * comparison of the parameters before every `every`-th step (0 = never, the default): it waits for the step before, and
 * copies that have grown apart are an error with the parameter's name and the ranks. */
#define xt_optimizer_check_replicas(...) \
    (XT_NO_DTYPE_(__VA_ARGS__), xt_optimizer_check_replicas_at(XT_HERE, __VA_ARGS__))
XT_API void xt_optimizer_check_replicas_at(const xt_src *src, xt_optimizer *opt, int64_t every);
/* Gradients are averaged in buckets of this many bytes (0 = the default, 1 MiB; a larger gradient is a bucket of its
 * own), in the order in which the backward pass has them ready; a bucket travels while the rest of the backward pass
 * runs. Before the first step: another size is another program. */
#define xt_optimizer_bucket(...) (XT_NO_DTYPE_(__VA_ARGS__), xt_optimizer_bucket_at(XT_HERE, __VA_ARGS__))
XT_API void xt_optimizer_bucket_at(const xt_src *src, xt_optimizer *opt, int64_t bytes);
#define xt_zero_grad(opt) xt_zero_grad_at(XT_HERE, opt) /* forgets the gradients of all its module's parameters */
XT_API void xt_zero_grad_at(const xt_src *src, xt_optimizer *opt);
/* The same of a module, for updates by hand (xt_assign of a parameter): without an optimizer's step nothing consumes
 * gradients, and those of the next xt_backward are added to them. */
#define xt_module_zero_grad(m) xt_module_zero_grad_at(XT_HERE, m)
XT_API void xt_module_zero_grad_at(const xt_src *src, xt_module *m);
XT_API int64_t xt_optimizer_steps(const xt_optimizer *opt); /* taken so far, those of a loaded state included */
XT_API void xt_optimizer_free(xt_optimizer *opt); /* its schedules too; the module stays. NULL is allowed */

/* --- Groups and rates. Group 0 holds what no pattern matches. ---
 * A group of the parameters whose names match a shell pattern ("*.bias", "h.*.ln_?.*"), with numbers of its own; the
 * last group that matches wins. Call before the first step and before a schedule is made. Gives the group's number, -1
 * with a pending error. */
#define XT_DEFAULTS_xt_group_opts(is) is(lr, XT_AUTO) is(lr_scale, 1) is(weight_decay, XT_AUTO) is(momentum, XT_AUTO)
XT_DEFAULTS_OF(xt_group_opts)
typedef struct XT_OPTIONS_ xt_group_opts {
    size_t struct_size XT_SIZE(xt_group_opts);
    double lr XT_IS(xt_group_opts, lr); /* XT_AUTO: the optimizer's times lr_scale */
    double lr_scale XT_IS(xt_group_opts, lr_scale); /* factor of the optimizer's rate; used where lr is XT_AUTO */
    double weight_decay XT_IS(xt_group_opts, weight_decay); /* XT_AUTO: the optimizer's */
    double momentum XT_IS(xt_group_opts, momentum); /* XT_AUTO: the optimizer's (the Adam family: beta1) */
    xt_switch frozen
        XT_ZERO; /* its parameters are not updated: they are another optimizer's, or nobody's; default off */
} xt_group_opts;
#define xt_optimizer_group(opt, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_optimizer_group(opt, pattern, ...): pattern is missing"), \
     XT_OPTIMIZER_GROUP_(opt, __VA_ARGS__, ))
#define XT_OPTIMIZER_GROUP_(opt, pattern, ...) \
    xt_optimizer_group_opt(XT_HERE, opt, pattern, XT_OPTS(xt_group_opts, __VA_ARGS__))
XT_API int xt_optimizer_group_opt(const xt_src *src, xt_optimizer *opt, const char *pattern, xt_group_opts o);
XT_API int xt_optimizer_groups(const xt_optimizer *opt); /* how many, group 0 included */
/* of group 0; the other groups keep their ratio to it */
#define xt_optimizer_set_lr(...) (XT_NO_DTYPE_(__VA_ARGS__), xt_optimizer_set_lr_at(XT_HERE, __VA_ARGS__))
XT_API void xt_optimizer_set_lr_at(const xt_src *src, xt_optimizer *opt, double lr);
XT_API double xt_optimizer_lr(const xt_optimizer *opt); /* the rate of group 0 in the coming step; no wait */
/* the rate of one group, by its number, from the coming step on; the others keep theirs */
#define xt_optimizer_set_group_lr(...) (XT_NO_DTYPE_(__VA_ARGS__), xt_optimizer_set_group_lr_at(XT_HERE, __VA_ARGS__))
XT_API void xt_optimizer_set_group_lr_at(const xt_src *src, xt_optimizer *opt, int group, double lr);
XT_API double xt_optimizer_group_lr(const xt_optimizer *opt, int group); /* likewise */
/* Of all groups (the Adam family: beta1). Momenta become data at the first call: one more compilation if steps were
 * taken before it. */
#define xt_optimizer_set_momentum(...) (XT_NO_DTYPE_(__VA_ARGS__), xt_optimizer_set_momentum_at(XT_HERE, __VA_ARGS__))
XT_API void xt_optimizer_set_momentum_at(const xt_src *src, xt_optimizer *opt, double momentum);
XT_API double xt_optimizer_momentum(const xt_optimizer *opt); /* the Adam family: beta1 */
/* The float dtype of the states of narrower parameters: XT_F32 keeps moments of bf16 weights in f32, where PyTorch has
 * them in bf16, which the smallest changes do not reach. Before the first step that makes them; checkpoints keep what
 * there is, so a run that goes on says it again. */
#define xt_optimizer_set_state_dtype(opt, dtype) xt_optimizer_set_state_dtype_at(XT_HERE, opt, dtype)
XT_API void xt_optimizer_set_state_dtype_at(const xt_src *src, xt_optimizer *opt, xt_dtype dtype);

/* --- Gradients by hand: between xt_backward and xt_optimizer_step. None of these waits or reads. ---
 * Scales the gradients so that their common norm is at most max (times min(1, max / (norm + 1e-6))) and gives the norm
 * before, a scalar for xt_log. The optimizer's form averages over ranks first, and leaves frozen parameters out. */
#define XT_DEFAULTS_xt_clip_opts(is) is(norm_type, 2)
XT_DEFAULTS_OF(xt_clip_opts)
typedef struct XT_OPTIONS_ xt_clip_opts {
    size_t struct_size XT_SIZE(xt_clip_opts);
    double norm_type XT_IS(xt_clip_opts, norm_type); /* HUGE_VAL: the largest absolute value */
} xt_clip_opts;
#define xt_clip_grad_norm(opt, ...)                                               \
    (XT_GIVEN_(#__VA_ARGS__, "xt_clip_grad_norm(opt, max, ...): max is missing"), \
     XT_CLIP_GRAD_NORM_(opt, __VA_ARGS__, ))
#define XT_CLIP_GRAD_NORM_(opt, max, ...) \
    xt_clip_grad_norm_at(XT_HERE, opt, XT_NUMBER_(max), XT_OPTS(xt_clip_opts, __VA_ARGS__))
XT_API xt_tensor xt_clip_grad_norm_at(const xt_src *src, xt_optimizer *opt, double max, xt_clip_opts o);
/* xt_clip_grad_norm of all parameters of a module, by hand: without averaging. */
#define xt_module_clip_grad_norm(m, ...)                                               \
    (XT_GIVEN_(#__VA_ARGS__, "xt_module_clip_grad_norm(m, max, ...): max is missing"), \
     XT_MODULE_CLIP_GRAD_NORM_(m, __VA_ARGS__, ))
#define XT_MODULE_CLIP_GRAD_NORM_(m, max, ...) \
    xt_module_clip_grad_norm_at(XT_HERE, m, XT_NUMBER_(max), XT_OPTS(xt_clip_opts, __VA_ARGS__))
XT_API xt_tensor xt_module_clip_grad_norm_at(const xt_src *src, xt_module *m, double max, xt_clip_opts o);
/* Cuts each element of the gradients to [-max, max], max above 0; averages over ranks first. */
#define xt_clip_grad_value(opt, max) xt_clip_grad_value_at(XT_HERE, opt, XT_NUMBER_(max))
XT_API void xt_clip_grad_value_at(const xt_src *src, xt_optimizer *opt, double max);
/* The same of all parameters of a module, by hand: without averaging. */
#define xt_module_clip_grad_value(m, max) xt_module_clip_grad_value_at(XT_HERE, m, XT_NUMBER_(max))
XT_API void xt_module_clip_grad_value_at(const xt_src *src, xt_module *m, double max);
/* The norm of all gradients that are there, averaged over ranks: after xt_backward (a loss scaler's scale is in them
 * until xt_scaler_unscale), or after xt_optimizer_step in the same step of those that it took (unscaled, not clipped).
 * Costs nothing unless something asks for the value, as xt_log does. */
#define xt_grad_norm(...) XT_GRAD_NORM_(__VA_ARGS__, )
#define XT_GRAD_NORM_(opt, ...) xt_grad_norm_at(XT_HERE, opt, XT_OPTS(xt_clip_opts, __VA_ARGS__))
XT_API xt_tensor xt_grad_norm_at(const xt_src *src, xt_optimizer *opt, xt_clip_opts o);

/* --- Loss scaling for f16 (torch.amp.GradScaler), wholly on the device: the host never learns whether a step was
 * skipped. ---
 *     xt_autocast_begin(XT_F16);  loss = ...;  xt_autocast_end();
 *     xt_backward(xt_scale_loss(scaler, loss));
 *     xt_scaler_step(scaler, opt);
 *     xt_scaler_update(scaler);
 * The step unscales; where a gradient is not finite every parameter and state keeps its value. The update gives the
 * next scale: times backoff after such a step, times growth after growth_interval good ones. */
/* The factor that keeps gradients of f16 away from 0, and how many steps went well with it. */
typedef struct xt_loss_scaler xt_loss_scaler;
#define XT_DEFAULTS_xt_loss_scaler_opts(is) \
    is(init_scale, 65536) is(growth_factor, 2) is(backoff_factor, 0.5) is(growth_interval, 2000) is(enabled, XT_ON)
XT_DEFAULTS_OF(xt_loss_scaler_opts)
typedef struct XT_OPTIONS_ xt_loss_scaler_opts {
    size_t struct_size XT_SIZE(xt_loss_scaler_opts);
    double init_scale XT_IS(xt_loss_scaler_opts, init_scale); /* the first factor of the loss */
    double growth_factor XT_IS(xt_loss_scaler_opts, growth_factor); /* > 1 */
    double backoff_factor XT_IS(xt_loss_scaler_opts, backoff_factor); /* < 1 */
    int64_t growth_interval XT_IS(xt_loss_scaler_opts, growth_interval); /* good steps in a row until the scale grows */
    xt_switch enabled XT_IS(xt_loss_scaler_opts, enabled); /* default on; off: everything below passes through */
} xt_loss_scaler_opts;
/* xt_loss_scaler_new(.init_scale = 1024). NULL, with a pending error, for a number out of its range. */
#define xt_loss_scaler_new(...) xt_loss_scaler_opt(XT_HERE, XT_OPTS(xt_loss_scaler_opts, __VA_ARGS__))
XT_API xt_loss_scaler *xt_loss_scaler_opt(const xt_src *src, xt_loss_scaler_opts o);
XT_API void xt_loss_scaler_free(xt_loss_scaler *s); /* after the optimizers it stepped; xt_finish frees what is left */
/* The loss times the scale, for xt_backward; of a scaler that is not enabled the loss itself. */
#define xt_scale_loss(s, loss) xt_scale_loss_at(XT_HERE, s, loss)
XT_API xt_tensor xt_scale_loss_at(const xt_src *src, xt_loss_scaler *s, xt_tensor loss);
/* before one's own clipping; xt_scaler_step then does not. An error where there are no gradients, a second time before
 * the step, and when a backward pass follows: gradients with the scale and without it are never added */
#define xt_scaler_unscale(s, opt) xt_scaler_unscale_at(XT_HERE, s, opt)
XT_API void xt_scaler_unscale_at(const xt_src *src, xt_loss_scaler *s, xt_optimizer *opt);
/* xt_optimizer_step of gradients without the scale; where one is not finite nothing changes but the next scale */
#define xt_scaler_step(s, opt) xt_scaler_step_at(XT_HERE, s, opt)
XT_API void xt_scaler_step_at(const xt_src *src, xt_loss_scaler *s, xt_optimizer *opt);
/* once a step, after the steps of all optimizers */
#define xt_scaler_update(s) xt_scaler_update_at(XT_HERE, s)
XT_API void xt_scaler_update_at(const xt_src *src, xt_loss_scaler *s);
/* the scale now, a state to log or read; borrowed */
XT_API xt_tensor xt_loss_scale(const xt_loss_scaler *s);

/* --- State for checkpoints, by PyTorch's names: "conv1.weight.exp_avg", "conv1.weight.momentum_buffer",
 * "optimizer.step" ("optimizer.step.1" where parameters have been updated a different number of times),
 * "loss_scaler.scale". As in module.h. ----------------------------------------------- */
/* how many there are: those of parameters come into being with their first step */
XT_API int xt_optimizer_tensors(const xt_optimizer *opt);
XT_API const char *xt_optimizer_tensor_name(const xt_optimizer *opt, int i); /* kept for good; NULL out of range */
XT_API xt_tensor xt_optimizer_tensor(const xt_optimizer *opt, int i); /* its state, borrowed; none out of range */
/* All of it with rates, step number and schedule, as one safetensors file, which xt_optimizer_load reads. Loading
 * before the first step is as good as after: a loss scaler that has scaled nothing yet begins as it was saved. Both
 * wait. Of several ranks that save under one path the file is rank 0's, as with xt_save. */
#define xt_optimizer_save(opt, path) xt_optimizer_save_at(XT_HERE, opt, path)
#define xt_optimizer_load(opt, path) xt_optimizer_load_at(XT_HERE, opt, path)
XT_API XT_CHECK xt_status xt_optimizer_save_at(const xt_src *src, xt_optimizer *opt, const char *path);
XT_API XT_CHECK xt_status xt_optimizer_load_at(const xt_src *src, xt_optimizer *opt, const char *path);

#ifdef __cplusplus
}
#endif
#endif
