/* Remedies for device memory besides smaller batches, xt_checkpoint_block and accumulation: optimizer state in host
 * memory, and giving everything back without leaving the process. doc/memory.md shows when; `xtrain plan` says what
 * each would save. xt_memory_rows (diag.h) shows that it did. */
#ifndef XTRAIN_MEMORY_H
#define XTRAIN_MEMORY_H

#include <xtrain/optim.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Keeps the optimizer's state in host memory. On the device there is none of it during forward and backward; when the
 * step ends, a group of parameters after the other is updated by a program of its own: its state goes up, is updated,
 * and comes back while the next group is at work. Values, checkpoints and losses are the same bits. The price is that
 * each optimizer step moves the state twice over the host's link, and that its boundary waits for it. Parameters are
 * updated when the step ends: an xt_item of a parameter between xt_optimizer_step and that has its old value. Call it
 * before or after the first step; xt_compile'd functions with such a step are recorded at each call. With a mesh each
 * rank keeps its part. */
#define XT_DEFAULTS_xt_offload_opts(is) is(group_bytes, (64 << 20))
XT_DEFAULTS_OF(xt_offload_opts)
typedef struct XT_OPTIONS_ xt_offload_opts {
    size_t struct_size XT_SIZE(xt_offload_opts);
    /* of state on the device at a time, times two. A larger single state is a group of its own */
    int64_t group_bytes XT_IS(xt_offload_opts, group_bytes);
} xt_offload_opts;
#define xt_optimizer_offload(...) XT_OPTIMIZER_OFFLOAD_(__VA_ARGS__, )
#define XT_OPTIMIZER_OFFLOAD_(opt, ...) xt_optimizer_offload_opt(XT_HERE, opt, XT_OPTS(xt_offload_opts, __VA_ARGS__))
XT_API void xt_optimizer_offload_opt(const xt_src *src, xt_optimizer *opt, xt_offload_opts o);

/* Ends the step, brings the value of every state and kept tensor of this thread (parameters, optimizer state,
 * gradients, xt_keep) to host memory, and closes the device with all its programs: its allocator, caches and fragments
 * are gone, and xt_memory says 0 bytes. The next step opens it again, uploads what it uses, and takes its programs from
 * the disk cache (XT_CACHE) or compiles them. Handles, modules, optimizers and loaders stay valid, and training goes on
 * with the same bits. Waits. With several ranks all call it at the same place, and it opens the device again at once,
 * which they do together. False after an error, which is pending; tensors of other threads that are on the device are
 * one. .reinitialize_every_n_steps (train.h) does it in a fit, after a checkpoint. */
#define xt_reinitialize() xt_reinitialize_at(XT_HERE)
XT_API bool xt_reinitialize_at(const xt_src *src);

#ifdef __cplusplus
}
#endif
#endif
