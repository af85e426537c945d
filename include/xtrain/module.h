/* Modules: functions over named layers. The first call makes the parameters (shapes inferred, PyTorch's initialisation), later calls find
 * them by name; state-dict names are PyTorch's ("conv1.weight", "bn1.running_mean", "h.3.attn.c_attn.bias").
 * The same layer name twice in one forward pass is an error unless xt_share was called for it. A module belongs to one thread. */
#ifndef XTRAIN_MODULE_H
#define XTRAIN_MODULE_H

#include <xtrain/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct xt_module xt_module;
typedef xt_tensor (*xt_module_fn)(xt_module *m, xt_tensor x, void *user);

XT_API xt_module *xt_module_new(xt_module_fn fn, void *user);
XT_API void xt_module_free(xt_module *m);            /* a root; children belong to it */
#define xt_forward(m, x) xt_forward_at(XT_HERE, m, x)
XT_API xt_tensor xt_forward_at(const xt_src *src, xt_module *m, xt_tensor x);
/* Makes the parameters by tracing fn on inputs of this spec, without data and without running anything. */
XT_API xt_status xt_module_build(xt_module *m, xt_spec x);
XT_API xt_module *xt_sub(xt_module *m, const char *name, int index); /* child "name.index", "name" when index < 0, "index" when name is ""; borrowed */
XT_API void xt_share(xt_module *m, const char *name); /* this layer may be called more than once a pass */
XT_API void xt_train(xt_module *m);                  /* the mode at birth; affects children */
XT_API void xt_eval(xt_module *m);
XT_API bool xt_is_training(const xt_module *m);

/* Activation checkpointing: the same value as fn(m, x, user), but the backward pass computes what happens inside again, from x and the parameters,
 * instead of keeping it: less memory for one more forward computation. Random draws inside are the same both times, batch-norm statistics are
 * updated once, blocks nest, and gradients are the same bit for bit on a device that computes the same ops alike. Whatever else fn reads (through
 * `user`) gets its gradient too. Under xt_no_grad_begin it is just the call.
 *     for (int i = 0; i < layers; i++) x = xt_checkpoint_block(block, xt_sub(m, "h", i), x, &cfg); */
#define xt_checkpoint_block(fn, m, x, user) xt_checkpoint_block_at(XT_HERE, fn, m, x, user)
XT_API xt_tensor xt_checkpoint_block_at(const xt_src *src, xt_module_fn fn, xt_module *m, xt_tensor x, void *user);

/* Parameters and buffers, in creation order. `i` counts both; names are full state-dict names. */
XT_API int xt_module_tensors(const xt_module *m);
XT_API const char *xt_module_tensor_name(const xt_module *m, int i);
XT_API xt_tensor xt_module_tensor(const xt_module *m, int i);
XT_API bool xt_module_tensor_is_param(const xt_module *m, int i);
XT_API xt_tensor xt_module_find(const xt_module *m, const char *name); /* none when absent */
XT_API int64_t xt_module_param_count(const xt_module *m);              /* elements */

/* safetensors with PyTorch's names; written to a temporary name, synced, renamed. Load checks names, shapes and dtypes and names the first
 * difference; nothing is changed on failure. An unbuilt module takes shapes from the file at its first call. Both wait for the device. */
XT_API xt_status xt_save(xt_module *m, const char *path);
XT_API xt_status xt_load(xt_module *m, const char *path);

/* A parameter of one's own: made at the first call (init "zeros", "ones", "uniform" with bound a, "normal" with std a). */
#define xt_param(m, name, init, a, ...) XT_PARAM_(m, name, init, a, __VA_ARGS__, 0)
#define XT_PARAM_(m, name, init, a, dtype, ...) xt_param_at(XT_HERE, m, name, init, a, dtype, XT_DIMS_(__VA_ARGS__))
XT_API xt_tensor xt_param_at(const xt_src *src, xt_module *m, const char *name, const char *init, double a, xt_dtype dtype, const int64_t *dims);

#ifdef __cplusplus
}
#endif

#include <xtrain/layers.h>

#endif
