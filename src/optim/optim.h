/* Inside the optimizers: one shared driver (average, clip, walk the parameters) and one update function a kind. */
#ifndef XT_SRC_OPTIM_H
#define XT_SRC_OPTIM_H

#include <xtrain/optim.h>

#include "lazy/lazy.h"

enum { OPTIM_MAX_STATES = 3 };
typedef struct optim_param { /* one parameter with its state, found at the first step that has a gradient for it */
    xt_tensor param;
    char *name;
    xt_tensor state[OPTIM_MAX_STATES];
} optim_param;

/* What an update sees: values of this step's trace, all of the parameter's type; scalars are f32 data. */
typedef struct optim_update {
    ir_builder *b;
    const xt_optimizer *opt;
    ir_value *param, *grad, *lr;      /* lr: scalar data, broadcast by optim_scale */
    ir_value *state[OPTIM_MAX_STATES];
    ir_value *shared[2];              /* kind->begin's values, the same for all parameters (bias corrections) */
    ir_value *new_param, *new_state[OPTIM_MAX_STATES];
} optim_update;

typedef struct optim_kind {
    const char *name;
    int n_states;
    const char *state_names[OPTIM_MAX_STATES]; /* PyTorch's: momentum_buffer, exp_avg, exp_avg_sq */
    bool counts_steps;                         /* keeps the number of steps on the device for bias correction */
    bool (*uses_state)(const xt_optimizer *o, int k);
    void (*begin)(ir_builder *b, const xt_optimizer *o, ir_value *step /* f32, after counting this one */, ir_value *shared[2]);
    void (*update)(optim_update *u);
} optim_kind;
extern const optim_kind optim_sgd, optim_adamw, optim_adam;

struct xt_optimizer {
    const optim_kind *kind;
    xt_module *net;
    double lr, momentum, dampening, weight_decay, beta1, beta2, eps, clip_norm, clip_value;
    bool nesterov, reduced; /* reduced: xt_reduce_gradients was called since the last step */
    int64_t steps;
    xt_tensor step_count;   /* f32 scalar state of kinds that count */
    optim_param *params;
    size_t n, cap;
    map *loaded;            /* state name -> value read before the state exists */
};

/* Gives a state tensor (a name of xt_optimizer_tensor_name) its value; one that does not exist yet takes it when the first step makes it. */
xt_status optim_restore(xt_optimizer *o, const char *name, const ir_type *type, const void *data);
xt_optimizer *optim_new(const optim_kind *k, xt_module *net, const char *what);
ir_value *optim_scale(ir_builder *b, ir_value *x, ir_value *scalar); /* x * scalar, the scalar converted and broadcast */
ir_value *optim_times(ir_builder *b, ir_value *x, double c);

#endif
