/* Optimizers: PyTorch's formulas and defaults. xt_optimizer_step averages gradients over ranks (one device: the same call), clips if asked,
 * updates parameters in place and consumes the gradients. It records; nothing waits. Learning rates are device scalars: changing one
 * never recompiles. */
#ifndef XTRAIN_OPTIM_H
#define XTRAIN_OPTIM_H

#include <xtrain/module.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct xt_optimizer xt_optimizer;

typedef struct xt_sgd_opts {
    size_t struct_size;
    double lr;            /* 0 = 0.01; > 0 */
    double momentum;      /* [0,1) */
    double dampening;
    double weight_decay;
    xt_switch nesterov;   /* default off */
    double clip_norm;     /* 0 = off; after averaging */
    double clip_value;
} xt_sgd_opts;
#define xt_sgd(...) XT_SGD_(__VA_ARGS__, )
#define XT_SGD_(net, ...) xt_sgd_opt(net, XT_OPTS(xt_sgd_opts, __VA_ARGS__))
XT_API xt_optimizer *xt_sgd_opt(xt_module *net, xt_sgd_opts o);

typedef struct xt_adamw_opts {
    size_t struct_size;
    double lr;            /* 0 = 1e-3 */
    double beta1, beta2;  /* 0 = 0.9, 0.999 */
    double eps;           /* 0 = 1e-8 */
    double weight_decay;  /* 0 = 0.01 for adamw (use a negative value for none), 0 for adam */
    double clip_norm, clip_value;
} xt_adamw_opts;
#define xt_adamw(...) XT_ADAMW_(__VA_ARGS__, )
#define XT_ADAMW_(net, ...) xt_adamw_opt(net, XT_OPTS(xt_adamw_opts, __VA_ARGS__))
XT_API xt_optimizer *xt_adamw_opt(xt_module *net, xt_adamw_opts o);
#define xt_adam(...) XT_ADAM_(__VA_ARGS__, )
#define XT_ADAM_(net, ...) xt_adam_opt(net, XT_OPTS(xt_adamw_opts, __VA_ARGS__))
XT_API xt_optimizer *xt_adam_opt(xt_module *net, xt_adamw_opts o);

#define xt_optimizer_step(opt) xt_optimizer_step_at(XT_HERE, opt)
XT_API void xt_optimizer_step_at(const xt_src *src, xt_optimizer *opt);
#define xt_reduce_gradients(opt) xt_reduce_gradients_at(XT_HERE, opt)  /* averages over ranks now; once a step; xt_optimizer_step then does not */
XT_API void xt_reduce_gradients_at(const xt_src *src, xt_optimizer *opt);
#define xt_zero_grad(opt) xt_zero_grad_at(XT_HERE, opt)
XT_API void xt_zero_grad_at(const xt_src *src, xt_optimizer *opt);
XT_API void xt_optimizer_set_lr(xt_optimizer *opt, double lr);
XT_API double xt_optimizer_lr(const xt_optimizer *opt);
XT_API int64_t xt_optimizer_steps(const xt_optimizer *opt);
XT_API void xt_optimizer_free(xt_optimizer *opt);
/* State tensors for checkpoints ("conv1.weight.momentum_buffer", ...): as in module.h. */
XT_API int xt_optimizer_tensors(const xt_optimizer *opt);
XT_API const char *xt_optimizer_tensor_name(const xt_optimizer *opt, int i);
XT_API xt_tensor xt_optimizer_tensor(const xt_optimizer *opt, int i);

#ifdef __cplusplus
}
#endif
#endif
