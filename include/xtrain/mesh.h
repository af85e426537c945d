/* Meshes and shardings: one program, written as if for one device, trained by all devices of the run. A mesh names the
 * axes along which the devices stand; a sharding says along which axes the dims of a tensor are divided. The compiler
 * does the rest: every rank holds its part of what is sharded, computes its part, and collectives appear where values
 * must meet. Losses, gradients and metrics are those of the whole batch.
 *
 *     xt_mesh *mesh = xt_mesh_new({"data", 0}, {"tensor", 2});   // 0: what is left of the run's devices
 *     xt_mesh_fsdp(mesh, net, "data");                           // parameters and optimizer state divided over "data"
 *     xt_mesh_tensor_parallel(mesh, net, "tensor");              // GPT-2's blocks divided over "tensor"
 *     ... the training loop of one device ...
 *
 * A run has one mesh, over all its ranks (rank = the row-major number of the device's coordinates); make it before
 * loaders and before the first step, in all ranks alike. From then on loaders give each rank its part of the global
 * batch (dim 0 divided over the batch axes; a tensor's dims are always those of the whole), every tensor holds the
 * same value on all ranks, and xt_optimizer_step has nothing left to average. What one rank reads (xt_item,
 * xt_read, xt_save) all must read, since making it may take all of them. With one device everything here is checked
 * and does nothing.
 *
 * Axis lists are texts: "data", or "data+tensor" for both on one dim, the first dividing coarsest; NULL or "" =
 * not divided. */
#ifndef XTRAIN_MESH_H
#define XTRAIN_MESH_H

#include <xtrain/module.h>

#ifdef __cplusplus
#include <initializer_list>
extern "C" {
#endif

#define XT_MESH_AXES 8 /* at most */

/* The run's devices as a grid with named axes; one of a run. */
typedef struct xt_mesh xt_mesh;
/* An axis of a mesh: its name and how many devices lie along it. */
typedef struct xt_axis {
    const char *name; /* letters, digits and '_' */
    int64_t size; /* 0 = what the other axes leave of the run's devices; at most one axis may say so */
} xt_axis;
/* NULL after an error (with the line): a name twice, sizes whose product is not the number of devices of the run, a
 * second mesh. xt_finish frees it. */
#define xt_mesh_new(...) xt_mesh_new_at(XT_HERE, XT_AXES_(__VA_ARGS__))
XT_API xt_mesh *xt_mesh_new_at(const xt_src *src, const xt_axis *axes); /* ends at the first NULL name */
XT_API void xt_mesh_free(xt_mesh *mesh); /* NULL is allowed */
/* devices along an axis list; NULL = all; 0 for an unknown axis. mesh: NULL = the run's, which a Trainer's .strategy
 * makes too; 0 where there is none */
XT_API int64_t xt_mesh_size(const xt_mesh *mesh, const char *axes);
/* of this rank along it; -1 for an unknown axis */
XT_API int64_t xt_mesh_coordinate(const xt_mesh *mesh, const char *axes);
/* The axes over which loaders divide a batch. Without this call: those of "data", "fsdp" and "expert" that the mesh
 * has. Before the loaders are made. */
#define xt_mesh_batch(mesh, axes) xt_mesh_batch_at(XT_HERE, mesh, axes)
XT_API void xt_mesh_batch_at(const xt_src *src, xt_mesh *mesh, const char *axes);

/* xt_shard(t, mesh, "data", NULL, ...): says how t is to be divided, an axis list per dim (fewer: the rest is whole);
 * gives the same value under a handle of its own. Gradients that flow back through it are divided alike. An axis twice,
 * an unknown one, a dim smaller than its devices are many, more lists than dims: an error tensor. */
XT_API xt_tensor xt_shard_at(const xt_src *src, xt_tensor t, xt_mesh *mesh, int n, const char *const *axes);

/* xt_shard_params(net, mesh, "h.*.mlp.c_fc.weight", "tensor", ...): parameters whose names match `pattern` ('*' = any
 * characters, '?' = one) are divided so, as is their optimizer state: each rank holds its part only. They begin with
 * the values they have on one device, and xt_save writes whole tensors. The last rule that matches decides. Parameters
 * that are there already are divided at once. */
XT_API void xt_shard_params_at(const xt_src *src, xt_module *net, xt_mesh *mesh, const char *pattern, int n,
                               const char *const *axes);

/* Recipes. Each may be used alone; fsdp and tensor parallelism combine on different axes, in any order.
 *  data parallel:   the batch is divided over `axes`; parameters are whole on every rank.
 *  fully sharded:   also every parameter of 2 dims or more, and its optimizer state, on its first divisible dim that no
 *                   rule divides, else the largest (Rajbhandari et al. 2020, ZeRO stage 3). Small vectors stay whole.
 *  sharded state:   the batch and the optimizer's state are divided over `axes`, parameters are whole (the same,
 *                   stage 1): each rank updates its part and the parts are joined. Before the first optimizer step.
 *                   tensor parallel: the blocks of models/gpt2 (Shoeybi et al. 2019, Megatron-LM): attention and the
 *                   first layer of the MLP divided by their outputs, the second layers by their inputs, the embedding
 *                   by the vocabulary.
 *  context parallel: the positions of xt_self_attention's sequences are divided over `axes`, and with them what comes
 *                   before and behind: keys and values go round from device to device (ring attention, Liu et al.
 *                   2023), and no device has scores of more than its positions for one other's. Where the devices do
 *                   not divide the positions, or attention drops weights out, each has all keys and values.
 *  expert parallel: the experts of xt_moe are divided over `axes`, which may divide batches too
 *                   (xt_mesh_batch(mesh, "data+expert")): tokens go to their experts' devices and back, an all_to_all
 *                   each (GShard, Lepikhin et al. 2020). Values are those of one device, dropped tokens included. Fewer
 *                   experts than devices: an error.
 *  pipeline parallel: the blocks of xt_pipeline are divided over `axes`, the first ones to the first device, and the
 *                   micro-batches go from device to device (GPipe, Huang et al. 2019). What a rule says of a parameter
 *                   is about one block's. */
/* the first recipe: the batch alone is divided */
#define xt_mesh_data_parallel(mesh, net, axes) xt_mesh_data_parallel_at(XT_HERE, mesh, net, axes)
/* fully sharded: parameters, optimizer state and batch */
#define xt_mesh_fsdp(mesh, net, axes) xt_mesh_fsdp_at(XT_HERE, mesh, net, axes)
/* sharded state: optimizer state and batch */
#define xt_mesh_zero(mesh, net, axes) xt_mesh_zero_at(XT_HERE, mesh, net, axes)
/* tensor parallel: the matrices of GPT-2's blocks */
#define xt_mesh_tensor_parallel(mesh, net, axes) xt_mesh_tensor_parallel_at(XT_HERE, mesh, net, axes)
/* context parallel: the positions of sequences */
#define xt_mesh_context_parallel(mesh, net, axes) xt_mesh_context_parallel_at(XT_HERE, mesh, net, axes)
/* expert parallel: the experts of xt_moe */
#define xt_mesh_expert_parallel(mesh, net, axes) xt_mesh_expert_parallel_at(XT_HERE, mesh, net, axes)
/* pipeline parallel: the blocks of xt_pipeline */
#define xt_mesh_pipeline_parallel(mesh, net, axes) xt_mesh_pipeline_parallel_at(XT_HERE, mesh, net, axes)
XT_API void xt_mesh_data_parallel_at(const xt_src *src, xt_mesh *mesh, xt_module *net, const char *axes);
XT_API void xt_mesh_fsdp_at(const xt_src *src, xt_mesh *mesh, xt_module *net, const char *axes);
XT_API void xt_mesh_zero_at(const xt_src *src, xt_mesh *mesh, xt_module *net, const char *axes);
XT_API void xt_mesh_tensor_parallel_at(const xt_src *src, xt_mesh *mesh, xt_module *net, const char *axes);
XT_API void xt_mesh_context_parallel_at(const xt_src *src, xt_mesh *mesh, xt_module *net, const char *axes);
XT_API void xt_mesh_expert_parallel_at(const xt_src *src, xt_mesh *mesh, xt_module *net, const char *axes);
XT_API void xt_mesh_pipeline_parallel_at(const xt_src *src, xt_mesh *mesh, xt_module *net, const char *axes);

#ifdef __cplusplus
} /* braced lists make arrays in both languages */
struct xt_axes_ {
    xt_axis a[XT_MESH_AXES + 1];
};
#define XT_AXES_(...) (xt_axes_{{__VA_ARGS__}}.a)
static inline xt_tensor xt_shard_lists_(const xt_src *src, xt_tensor t, xt_mesh *mesh,
                                        std::initializer_list<const char *> axes) {
    return xt_shard_at(src, t, mesh, static_cast<int>(axes.size()), axes.begin());
}
static inline void xt_shard_params_lists_(const xt_src *src, xt_module *net, xt_mesh *mesh, const char *pattern,
                                          std::initializer_list<const char *> axes) {
    xt_shard_params_at(src, net, mesh, pattern, static_cast<int>(axes.size()), axes.begin());
}
#define XT_SHARD_(t, mesh, ...) xt_shard_lists_(XT_HERE, t, mesh, {__VA_ARGS__})
#define XT_SHARD_PARAMS_(net, mesh, pattern, ...) xt_shard_params_lists_(XT_HERE, net, mesh, pattern, {__VA_ARGS__})
#else
#define XT_AXES_(...) ((const xt_axis[XT_MESH_AXES + 1]){__VA_ARGS__})
/* one entry more than was given: no list at all is legal */
#define XT_AXIS_LISTS_(...) ((const char *const[]){__VA_ARGS__ NULL})
#define XT_AXIS_COUNT_(...) ((int)(sizeof(XT_AXIS_LISTS_(__VA_ARGS__)) / sizeof(const char *)) - 1)
#define XT_SHARD_(t, mesh, ...) xt_shard_at(XT_HERE, t, mesh, XT_AXIS_COUNT_(__VA_ARGS__), XT_AXIS_LISTS_(__VA_ARGS__))
#define XT_SHARD_PARAMS_(net, mesh, pattern, ...) \
    xt_shard_params_at(XT_HERE, net, mesh, pattern, XT_AXIS_COUNT_(__VA_ARGS__), XT_AXIS_LISTS_(__VA_ARGS__))
#endif
/* xt_shard_at with a list of axes for each dim: xt_shard(t, mesh, "data", NULL) */
#define xt_shard(t, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_shard(t, mesh, ...): mesh is missing"), XT_SHARD_(t, __VA_ARGS__, ))
/* Divides the parameters whose names match over axes of the mesh, a dim each, from here on; NULL keeps a dim whole:
 * xt_shard_params(net, mesh, "fc*.weight", "tensor") */
#define xt_shard_params(net, mesh, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_shard_params(net, mesh, pattern, ...): pattern is missing"), \
     XT_SHARD_PARAMS_(net, mesh, __VA_ARGS__, ))
#endif
