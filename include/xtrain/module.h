/* Modules: functions over named layers. The first call makes the parameters (shapes inferred, PyTorch's
 * initialisation), later calls find them by name; state-dict names are PyTorch's ("conv1.weight", "bn1.running_mean",
 * "h.3.attn.c_attn.bias"). The same layer name twice in one forward pass is an error unless xt_share was called for it.
 * A module belongs to one thread. */
#ifndef XTRAIN_MODULE_H
#define XTRAIN_MODULE_H

#include <xtrain/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A function over named layers, with the parameters and buffers that its calls have made. */
typedef struct xt_module xt_module;
/* Computes the output from x by calling layers of m; `user` is xt_module_new's. Called once for each recorded pass. */
typedef xt_tensor (*xt_module_fn)(xt_module *m, xt_tensor x, void *user);
/* A root without parameters yet; `user` is handed to fn and stays the caller's. Freed by xt_module_free, or
 * by xt_finish. */
XT_API xt_module *xt_module_new(xt_module_fn fn, void *user);
/* a root; children belong to it. An optimizer of it must not step any more */
XT_API void xt_module_free(xt_module *m);
/* fn on x, recorded: lives until the step ends, nothing waits; an error in fn is an error tensor */
#define xt_forward(m, x) xt_forward_at(XT_HERE, m, x)
XT_API xt_tensor xt_forward_at(const xt_src *src, xt_module *m, xt_tensor x);
/* Makes the parameters by tracing fn on inputs of this spec, without data and without running anything: what fn gives
 * to states by xt_assign is left out. */
XT_API XT_CHECK xt_status xt_module_build(xt_module *m, xt_spec x);
/* A forward of several inputs and outputs: `in` are the call's n_in tensors, `out` is to be filled with n_out. All
 * else is as above; xt_forward serves where both are 1. False after an error, with error tensors in out.
 *     static void unet(xt_module *m, const xt_tensor *in, xt_tensor *out, void *user);   // image, time -> noise
 *     xt_module *m = xt_module_new_many(unet, 2, 1, NULL);
 *     xt_forward_many(m, 2, XT_TENSORS(x, t), 1, &noise); */
typedef void (*xt_module_many_fn)(xt_module *m, const xt_tensor *in, xt_tensor *out, void *user);
XT_API xt_module *xt_module_new_many(xt_module_many_fn fn, int n_in, int n_out, void *user);
/* (m, n_in, in, n_out, out) */
#define xt_forward_many(...) (XT_NO_DTYPE_(__VA_ARGS__), xt_forward_many_at(XT_HERE, __VA_ARGS__))
XT_API bool xt_forward_many_at(const xt_src *src, xt_module *m, int n_in, const xt_tensor *in, int n_out,
                               xt_tensor *out);
XT_API XT_CHECK xt_status xt_module_build_many(xt_module *m, int n_in, const xt_spec *x); /* a spec for each input */
/* child "name.index", "name" when index < 0, "index" when name is ""; borrowed */
XT_API xt_module *xt_sub(xt_module *m, const char *name, int index);
/* xt_sub(a, b), the difference of tensors elsewhere, does not compile and says what it is called here. */
xt_tensor xt_sub_names_a_child_module(xt_tensor a, xt_tensor b) __attribute__((
    error("xt_sub(module, name, index) names a child module; the difference of tensors is xt_minus(a, b)")));
#define xt_sub(...) \
    XT_SUB_PICK_(__VA_ARGS__, XT_SUB_CHILD_, xt_sub_names_a_child_module, xt_sub_names_a_child_module, )(__VA_ARGS__)
#define XT_SUB_PICK_(a, b, c, pick, ...) pick
#define XT_SUB_CHILD_(m, name, index) (xt_sub)(m, name, index)
/* layers that fit the pattern, and all within a child that does, may be called more than once a pass */
XT_API void xt_share(xt_module *m, const char *name);
/* torch.nn.SyncBatchNorm.convert_sync_batchnorm: in training over several ranks without a mesh, batch norms of m and
 * all below it take the statistics of all ranks' batches, but those that say .sync = XT_OFF; one exchange of 2 values a
 * channel forward and one backward. Before the layers are called or after; a mesh's statistics are of the whole batch
 * without it. */
#define xt_sync_batch_norm(m) xt_sync_batch_norm_at(XT_HERE, m)
XT_API void xt_sync_batch_norm_at(const xt_src *src, xt_module *m);
XT_API void xt_train(xt_module *m); /* the mode at birth; affects children */
/* dropout off, running statistics of norms used; affects children */
XT_API void xt_eval(xt_module *m);
/* the same; compile reports name the line that turned the switch */
XT_API void xt_train_at(const xt_src *src, xt_module *m);
XT_API void xt_eval_at(const xt_src *src, xt_module *m);
#ifndef XT_BUILDING
#define xt_train(m) xt_train_at(XT_HERE, m)
#define xt_eval(m) xt_eval_at(XT_HERE, m)
#endif
XT_API bool xt_is_training(const xt_module *m); /* of a child: what it was told, or else its parent */
/* Evaluation mode for m and all below it, and afterwards each module's own mode again: what xt_eval of a child said (a
 * frozen batch norm) stays, where xt_eval(m); ...; xt_train(m) ends it, as in PyTorch. The Trainer does the same around
 * its validations. These nest; an end without its begin is an error. Neither waits or ends a step.
 *     xt_eval_begin(net);
 *     xt_no_grad_begin();
 *     while (xt_next(val, &b)) ...
 *     xt_no_grad_end();
 *     xt_eval_end(net); */
#define xt_eval_begin(m) xt_eval_begin_at(XT_HERE, m)
#define xt_eval_end(m) xt_eval_end_at(XT_HERE, m)
XT_API void xt_eval_begin_at(const xt_src *src, xt_module *m);
XT_API void xt_eval_end_at(const xt_src *src, xt_module *m);

/* There are no hooks: a module's function is C code of yours, so what a forward hook would do stands before or after
 * the layer's call, a gradient hook's work after xt_backward on xt_grad (of results in between: xt_retain_grad), and
 * what happens around steps in callbacks (train.h). */

/* Activation checkpointing: the same value as fn(m, x, user), but the backward pass computes what happens inside again,
 * from x and the parameters, instead of keeping it: less memory for one more forward computation. Random draws inside
 * are the same both times, batch-norm statistics are updated once, blocks nest, and gradients are the same bit for bit
 * on a device that computes the same ops alike. Whatever else fn reads (through `user`) gets its gradient too. Under
 * xt_no_grad_begin it is just the call.
 *     for (int i = 0; i < layers; i++) x = xt_checkpoint_block(block, xt_sub(m, "h", i), x, &cfg); */
#define xt_checkpoint_block(fn, m, x, user) xt_checkpoint_block_at(XT_HERE, fn, m, x, user)
XT_API xt_tensor xt_checkpoint_block_at(const xt_src *src, xt_module_fn fn, xt_module *m, xt_tensor x, void *user);

/* Parameters and buffers, in creation order. `i` counts both; names are full state-dict names. */
XT_API int xt_module_tensors(const xt_module *m);
XT_API const char *xt_module_tensor_name(const xt_module *m, int i); /* borrowed; NULL out of range */
XT_API xt_tensor xt_module_tensor(const xt_module *m, int i); /* its state: lives as long as m; none out of range */
XT_API bool xt_module_tensor_is_param(const xt_module *m, int i); /* false: a buffer (running statistics) */
/* by its name, of a child: within it, as xt_module_next; none when absent */
XT_API xt_tensor xt_module_find(const xt_module *m, const char *name);
XT_API int64_t xt_module_param_count(const xt_module *m); /* elements */
/* The dtype of the parameters that the first pass makes, where they would be f32: XT_BF16 for a model whose weights are
 * bf16 altogether. Statistics of norms stay f32, or are f64 with it. Before the first pass; parameters of another dtype
 * that are there already are an error. Files of another float dtype convert on loading. */
XT_API XT_CHECK xt_status xt_module_set_dtype(xt_module *m, xt_dtype dtype);

/* xt_save and xt_load: safetensors with PyTorch's names (of a child: its own tensors, under their names within it,
 * which loading needs to be there already); written to a temporary name, synced, renamed. Load checks names, shapes and
 * dtypes (floats of another width convert) and names the first difference; nothing is changed on failure. An unbuilt
 * module takes shapes from the file, or from several that each hold a part, at its first call; what its function does
 * not use waits for layers that are called later or beside it, is saved with the rest, may be loaded anew, and is told
 * when nobody has taken it after two updates, or when the module is freed. A path to load may also be a
 * NAME.safetensors.index.json, whose shards lie beside it, or a folder with a model.safetensors or its index. Both end
 * the step being recorded, and wait for the device; the batch and what xt_backward was called for live on, so they may
 * stand anywhere in it (what that was made of is read before, or kept: of xt_backward(xt_mul(loss, 0.5)) the loss).
 *
 * Of several ranks that save under one path the file is rank 0's, which the others wait for if it is being written:
 * what they have of their own, such as a batch norm's running statistics, is not in it. A rank alone may save, and each
 * under a path of its own. On a mesh (mesh.h) all ranks call it, and rank 0 writes the whole.
 *
 * Tensors of a megabyte and more are read at their first use, straight into the device's memory, so the file stays open
 * until then; another file may take its place, but what is written over in place before that is an error. What a file
 * has is never drawn at random, whichever comes first of loading and xt_module_build. */
#define xt_save(m, path) xt_save_at(XT_HERE, m, path)
#define xt_load(m, path) xt_load_at(XT_HERE, m, path)
XT_API XT_CHECK xt_status xt_save_at(const xt_src *src, xt_module *m, const char *path);
XT_API XT_CHECK xt_status xt_load_at(const xt_src *src, xt_module *m, const char *path);
XT_API XT_CHECK xt_status(xt_save)(xt_module *m, const char *path);
XT_API XT_CHECK xt_status(xt_load)(xt_module *m, const char *path);

/* As xt_save, in the form that another library's file has: what xt_load_with reads with the same words. */
#define XT_DEFAULTS_xt_save_opts(is)
typedef struct XT_OPTIONS_ xt_save_opts {
    size_t struct_size XT_SIZE(xt_save_opts);
    const char *prefix XT_ZERO; /* names in the file begin with this ("transformer."); NULL = nothing */
    /* matrices whose names in the module fit this pattern ('*', '?') lie in the file the other way round: Hugging
     * Face's GPT-2 is "h.*.c_*.weight"; weights that are integers lie as they do, and are an error; NULL = none */
    const char *transposed XT_ZERO;
    /* bytes: a larger module becomes NAME-00001-of-00002.safetensors, ..., and NAME.safetensors.index.json (`path` is
     * NAME.safetensors, of which there is none then); 0 = one file, whatever its size */
    int64_t max_shard_size XT_ZERO;
} xt_save_opts;
#define xt_save_with(m, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_save_with(m, path, ...): path is missing"), XT_SAVE_WITH_(m, __VA_ARGS__, ))
#define XT_SAVE_WITH_(m, path, ...) xt_save_opt_at(XT_HERE, m, path, XT_OPTS(xt_save_opts, __VA_ARGS__))
XT_API XT_CHECK xt_status xt_save_opt_at(const xt_src *src, xt_module *m, const char *path, xt_save_opts o);

/* xt_load_with is xt_load with a choice: .strict = XT_OFF loads what both have (shapes must agree still) and counts the
 * rest. */
typedef struct xt_load_report {
    int loaded, missing, unexpected; /* tensors: taken; in the module only; in the file only */
    /* of the missing ("- name") and the unexpected ("+ name"), one a line; cut off when there are too many */
    char names[2048];
} xt_load_report;
#define XT_DEFAULTS_xt_load_opts(is) is(strict, XT_ON)
XT_DEFAULTS_OF(xt_load_opts)
typedef struct XT_OPTIONS_ xt_load_opts {
    size_t struct_size XT_SIZE(xt_load_opts);
    /* default on; off needs a built module (a pass has run, or xt_module_build) */
    xt_switch strict XT_IS(xt_load_opts, strict);
    const char *prefix XT_ZERO; /* names in the file begin with this ("transformer."); others are left alone */
    /* tensors whose names in the module fit this pattern ('*', '?') are matrices the file has the other way
     * round, floats; NULL = none */
    const char *transposed XT_ZERO;
    xt_load_report *report XT_ZERO; /* not NULL: filled in, also when nothing is loaded */
    /* names by rules, before .prefix is looked for: "OLD=NEW,OLD=NEW", the first whose OLD fits counts; each '*' of OLD
     * matches any text, those of NEW stand for what they matched, in order ("model.*=*,lm_head.*=head.*") */
    const char *rename XT_ZERO;
} xt_load_opts;
#define xt_load_with(m, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_load_with(m, path, ...): path is missing"), XT_LOAD_WITH_(m, __VA_ARGS__, ))
#define XT_LOAD_WITH_(m, path, ...) xt_load_opt_at(XT_HERE, m, path, XT_OPTS(xt_load_opts, __VA_ARGS__))
XT_API XT_CHECK xt_status xt_load_opt_at(const xt_src *src, xt_module *m, const char *path, xt_load_opts o);

/* From file to file, a tensor at a time, without a module: `from` is what xt_load takes, `to` what xt_save writes.
 *     xt_convert_weights("llama", "out/model.safetensors", .dtype = XT_BF16, .max_shard_size = 5000000000) */
#define XT_DEFAULTS_xt_convert_opts(is)
typedef struct XT_OPTIONS_ xt_convert_opts {
    size_t struct_size XT_SIZE(xt_convert_opts);
    xt_dtype dtype XT_ZERO; /* of tensors of floats; 0 = as they are */
    const char *rename XT_ZERO; /* as xt_load_opts */
    const char *keep XT_ZERO, *leave_out XT_ZERO; /* names that fit are written, or are not; NULL = all, none */
    const char *transposed XT_ZERO; /* matrices of floats whose old names fit become [columns,rows]; NULL = none */
    /* the name that an xt_pipeline was given, "h": h.attn.weight [12,...] becomes h.0.attn.weight to h.11.attn.weight,
     * as the blocks of a loop are called, before the other options look at names; NULL = none */
    const char *unstacked XT_ZERO;
    int64_t max_shard_size XT_ZERO; /* as xt_save_opts */
    /* a folder with an adapter of LoRA's (xt_lora_save, or the library peft): its products are added to the weights
     * that they stand beside, in f32, and are no tensors of their own any more; NULL = none */
    const char *merge XT_ZERO;
} xt_convert_opts;
#define xt_convert_weights(from, ...)                                             \
    (XT_GIVEN_(#__VA_ARGS__, "xt_convert_weights(from, to, ...): to is missing"), \
     XT_CONVERT_WEIGHTS_(from, __VA_ARGS__, ))
#define XT_CONVERT_WEIGHTS_(from, to, ...) xt_convert_weights_opt(from, to, XT_OPTS(xt_convert_opts, __VA_ARGS__))
XT_API XT_CHECK xt_status xt_convert_weights_opt(const char *from, const char *to, xt_convert_opts o);

/* --- Parameters by pattern: names with '*' (any text, dots too) and '?'; of a child: names within it. --- */
/* The first tensor from index `from` on whose name fits; -1 when there is none:
 *     for (int i = -1; (i = xt_module_next(m, "*.bias", i + 1)) >= 0;) ... xt_module_tensor(m, i) ... */
XT_API int xt_module_next(const xt_module *m, const char *pattern, int from);
/* No gradient for parameters that fit, those to come included (requires_grad off); the optimizer leaves them alone. The
 * last call that fits a name counts. Gives the number of parameters there are now that fit (none, in a module that has
 * parameters, is warned of); -1 after an error. */
#define xt_freeze(m, pattern) xt_freeze_at(XT_HERE, m, pattern, true)
#define xt_unfreeze(m, pattern) xt_freeze_at(XT_HERE, m, pattern, false)
XT_API int xt_freeze_at(const xt_src *src, xt_module *m, const char *pattern, bool frozen);
/* torchao's quantize_ for weights alone: matrices [out,in] that fit, which are there and loaded, become integers with a
 * factor for each .block_size numbers of a row, and layers that ask for such a weight get the product, f32. For weights
 * of linear layers and embeddings in a model that is not trained any more, in front of functions compiled with it: the
 * integers (under the weight's name) and the factors (.._scale) are no parameters. An embedding widens the rows that it
 * looks up; an output layer tied to it asks for the weight by xt_param, which gives the product too.
 * Matrices whose rows are no whole number of blocks stay. xt_save writes integers and factors, and xt_load of such a
 * file makes them of a module's weights, so that a start costs no more than reading them (xtrain convert --weights).
 * Gives the number of weights that became integers; -1 after an error, of numbers that are not finite too. Waits for
 * the device. xt_quantize(net, "*_proj.weight", .bits = 4); */
#define XT_DEFAULTS_xt_quantize_opts(is) is(bits, 8) is(block_size, 32)
XT_DEFAULTS_OF(xt_quantize_opts)
typedef struct XT_OPTIONS_ xt_quantize_opts {
    size_t struct_size XT_SIZE(xt_quantize_opts);
    int bits XT_IS(xt_quantize_opts, bits); /* 8 or 4 */
    int block_size XT_IS(xt_quantize_opts, block_size); /* even; the CPU reads multiples of 32 as they lie */
} xt_quantize_opts;
#define xt_quantize(m, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_quantize(m, pattern, ...): pattern is missing"), XT_QUANTIZE_(m, __VA_ARGS__, ))
#define XT_QUANTIZE_(m, pattern, ...) xt_quantize_at(XT_HERE, m, pattern, XT_OPTS(xt_quantize_opts, __VA_ARGS__))
XT_API int xt_quantize_at(const xt_src *src, xt_module *m, const char *pattern, xt_quantize_opts o);
/* torch.nn.utils.parametrizations.weight_norm (Salimans and Kingma 2016) for the parameters that fit, which must be
 * made later (call it before the first pass and xt_module_build): W = g v / |v|, with a norm for each index of dim 0. A
 * weight's place in names is taken by parametrizations.weight.original0 (g, begins as |v|) and .original1 (v, begins as
 * the weight would). False after an error.
 *     xt_module *m = xt_module_new(net, NULL);
 *     xt_weight_norm(m, "conv*.weight"); */
#define xt_weight_norm(m, pattern) xt_weight_norm_at(XT_HERE, m, pattern)
XT_API bool xt_weight_norm_at(const xt_src *src, xt_module *m, const char *pattern);
/* torch.nn.utils.parametrizations.spectral_norm (Miyato et al. 2018), likewise: a layer that asks for such a parameter
 * gets W / sigma, sigma the largest singular value of W as a matrix [rows, the rest], by the power method on two
 * vectors that each training pass moves on. Tensors parametrizations.weight.original, and 0._u and 0._v beside it. */
#define XT_DEFAULTS_xt_spectral_norm_opts(is) is(n_power_iterations, 1) is(eps, 1e-12)
XT_DEFAULTS_OF(xt_spectral_norm_opts)
typedef struct XT_OPTIONS_ xt_spectral_norm_opts {
    size_t struct_size XT_SIZE(xt_spectral_norm_opts);
    int n_power_iterations XT_IS(xt_spectral_norm_opts, n_power_iterations); /* in each training pass */
    double eps XT_IS(xt_spectral_norm_opts, eps); /* smaller norms count as this */
    int dim XT_ZERO; /* whose indices are the rows; default 0. PyTorch takes 1 for transposed convolutions */
} xt_spectral_norm_opts;
#define xt_spectral_norm(m, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_spectral_norm(m, pattern, ...): pattern is missing"), \
     XT_SPECTRAL_NORM_(m, __VA_ARGS__, ))
#define XT_SPECTRAL_NORM_(m, pattern, ...) \
    xt_spectral_norm_at(XT_HERE, m, pattern, XT_OPTS(xt_spectral_norm_opts, __VA_ARGS__))
XT_API bool xt_spectral_norm_at(const xt_src *src, xt_module *m, const char *pattern, xt_spectral_norm_opts o);
/* torch.nn.utils.parametrizations.orthogonal (Lezcano and Martinez-Rubio 2019), likewise: matrices (the last two dims)
 * with orthonormal columns, or rows where there are fewer of these, made of a parameter without bounds, so that each
 * optimizer step leads to another such matrix. Tensors parametrizations.weight.original and 0.base beside it (not with
 * .use_trivialization = XT_OFF): the first weight, made orthogonal, which the map is multiplied with. */
typedef enum xt_orthogonal_map {
    XT_MAP_DEFAULT = 0, /* PyTorch's: the exponential for square matrices, else Householder's */
    XT_MATRIX_EXP = 1, /* exp(A), A = X - X^T */
    XT_CAYLEY = 2, /* (I + A/2)(I - A/2)^-1 */
    XT_HOUSEHOLDER = 3 /* a product of reflections; fewer operations for narrow matrices */
} xt_orthogonal_map;
#define XT_DEFAULTS_xt_orthogonal_opts(is) is(use_trivialization, XT_ON)
XT_DEFAULTS_OF(xt_orthogonal_opts)
typedef struct XT_OPTIONS_ xt_orthogonal_opts {
    size_t struct_size XT_SIZE(xt_orthogonal_opts);
    xt_orthogonal_map orthogonal_map XT_ZERO; /* how the matrix is made of the parameter */
    /* default on; off: the map alone, with which only Householder's can begin as a given matrix */
    xt_switch use_trivialization XT_IS(xt_orthogonal_opts, use_trivialization);
} xt_orthogonal_opts;
#define xt_orthogonal(m, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_orthogonal(m, pattern, ...): pattern is missing"), XT_ORTHOGONAL_(m, __VA_ARGS__, ))
#define XT_ORTHOGONAL_(m, pattern, ...) xt_orthogonal_at(XT_HERE, m, pattern, XT_OPTS(xt_orthogonal_opts, __VA_ARGS__))
XT_API bool xt_orthogonal_at(const xt_src *src, xt_module *m, const char *pattern, xt_orthogonal_opts o);
/* torch.nn.utils.parametrize.remove_parametrizations (leave_parametrized = True), remove_weight_norm and
 * remove_spectral_norm: the weights that fit become plain parameters, with the value that a pass in evaluation mode has
 * for them; what they were made of is gone. For a module that is built, whose optimizer does not step any more. Gives
 * their number; -1 after an error. Waits for the device. */
#define xt_remove_parametrizations(m, pattern) xt_remove_parametrizations_at(XT_HERE, m, pattern)
#define xt_remove_weight_norm(m, pattern) xt_remove_parametrizations_at(XT_HERE, m, pattern)
#define xt_remove_spectral_norm(m, pattern) xt_remove_parametrizations_at(XT_HERE, m, pattern)
XT_API int xt_remove_parametrizations_at(const xt_src *src, xt_module *m, const char *pattern);
/* torch.nn.utils.fuse_conv_bn_eval, fuse_linear_bn_eval: the batch norm `norm` behind the convolution or linear layer
 * `layer` becomes a part of its weight and bias, which the layer has from here on, and the norm's call gives its input
 * back. For a built module that is not trained any more; the two must stand behind one another in its function, which
 * nobody checks. False after an error. Waits for the device.
 *     xt_fuse_conv_bn(net, "conv1", "bn1"); */
#define xt_fuse_conv_bn(m, ...)                                                         \
    (XT_GIVEN_(#__VA_ARGS__, "xt_fuse_conv_bn(m, layer, norm, ...): layer is missing"), \
     XT_FUSE_CONV_BN_(m, __VA_ARGS__, ))
#define XT_FUSE_CONV_BN_(m, layer, norm, ...) xt_fuse_bn_at(XT_HERE, m, layer, norm, XT_OPTS(xt_fuse_opts, __VA_ARGS__))
#define xt_fuse_linear_bn(m, ...)                                                         \
    (XT_GIVEN_(#__VA_ARGS__, "xt_fuse_linear_bn(m, layer, norm, ...): layer is missing"), \
     XT_FUSE_CONV_BN_(m, __VA_ARGS__, ))
#define XT_DEFAULTS_xt_fuse_opts(is) is(eps, 1e-5)
XT_DEFAULTS_OF(xt_fuse_opts)
typedef struct XT_OPTIONS_ xt_fuse_opts {
    size_t struct_size XT_SIZE(xt_fuse_opts);
    double eps XT_IS(xt_fuse_opts, eps); /* what the norm's call says */
    xt_switch transposed XT_ZERO; /* default off; on: a transposed convolution, whose outputs are dim 1 of the weight */
} xt_fuse_opts;
XT_API bool xt_fuse_bn_at(const xt_src *src, xt_module *m, const char *layer, const char *norm, xt_fuse_opts o);
/* --- LoRA (Hu et al. 2021), computed and stored as the library peft does ---
 * Linear layers whose weight W [O,I] has a name that fits, those to come included, get two narrow matrices beside it,
 * lora_A.weight [r,I] and lora_B.weight [O,r], f32 also beside narrower weights:
 *     y = x W^T + bias + scale * dropout(x) A^T B^T,  scale = alpha / r (.rslora: alpha / sqrt r)
 * A begins as a linear layer's weight does and B as zeros, so the first pass gives what there was. All other parameters
 * of m are frozen by the first call (xt_unfreeze the head of a new task behind it): only A and B have gradients, and
 * optimizer state. Of several calls the last that fits a name counts. A pattern that fits the weight of no linear layer
 * is warned of after the next pass. xt_load of the pretrained model may come before or behind it, before or behind the
 * first pass: a file that has none of the adapters leaves them as they are. False after an error.
 *     xt_lora(m, "*.q_proj.weight", .r = 8, .alpha = 16, .dropout = 0.05);
 *     ...
 *     XT_TRY(xt_lora_save(m, "adapter", .base_model = "meta-llama/Llama-3.2-1B")); */
#define XT_DEFAULTS_xt_lora_opts(is) is(r, 8) is(alpha, 8)
XT_DEFAULTS_OF(xt_lora_opts)
typedef struct XT_OPTIONS_ xt_lora_opts {
    size_t struct_size XT_SIZE(xt_lora_opts);
    int64_t r XT_IS(xt_lora_opts, r); /* rank of the change: rows of A, columns of B; 1 and above */
    double alpha XT_IS(xt_lora_opts, alpha); /* what `scale` is made of */
    double dropout XT_ZERO; /* of what A reads, in training: [0,1) */
    xt_switch rslora XT_ZERO; /* default off */
} xt_lora_opts;
#define xt_lora(m, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_lora(m, pattern, ...): pattern is missing"), XT_LORA_(m, __VA_ARGS__, ))
#define XT_LORA_(m, pattern, ...) xt_lora_at(XT_HERE, m, pattern, XT_OPTS(xt_lora_opts, __VA_ARGS__))
XT_API bool xt_lora_at(const xt_src *src, xt_module *m, const char *pattern, xt_lora_opts o);
/* An adapter as a folder that peft's PeftModel.from_pretrained reads: adapter_model.safetensors and
 * adapter_config.json. The folder is made. Of a whole network, not of a child; waits for the device. */
#define XT_DEFAULTS_xt_lora_file_opts(is)
typedef struct XT_OPTIONS_ xt_lora_file_opts {
    size_t struct_size XT_SIZE(xt_lora_file_opts);
    /* what stands before the module's names in the other library's model ("transformer." for a GPT-2); NULL = nothing
     */
    const char *prefix XT_ZERO;
    const char *base_model XT_ZERO; /* save: base_model_name_or_path, "" by default */
    const char *task_type XT_ZERO; /* save: CAUSAL_LM (the default), SEQ_CLS, ... */
    xt_switch fan_in_fan_out
        XT_ZERO; /* save: the other library keeps the weights as [I,O] (GPT-2's Conv1D); default off */
} xt_lora_file_opts;
#define xt_lora_save(m, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_lora_save(m, dir, ...): dir is missing"), XT_LORA_SAVE_(m, __VA_ARGS__, ))
#define XT_LORA_SAVE_(m, dir, ...) xt_lora_save_at(XT_HERE, m, dir, XT_OPTS(xt_lora_file_opts, __VA_ARGS__))
XT_API XT_CHECK xt_status xt_lora_save_at(const xt_src *src, xt_module *m, const char *dir, xt_lora_file_opts o);
/* Adapts the layers that the adapter has matrices for, as xt_lora does, with its values. The module's weights must be
 * there (xt_module_build, a pass). A tensor that fits no weight, or a kind of adapter that is computed otherwise (DoRA,
 * embeddings), is an error with its name, and nothing is changed then. */
#define xt_lora_load(m, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_lora_load(m, dir, ...): dir is missing"), XT_LORA_LOAD_(m, __VA_ARGS__, ))
#define XT_LORA_LOAD_(m, dir, ...) xt_lora_load_at(XT_HERE, m, dir, XT_OPTS(xt_lora_file_opts, __VA_ARGS__))
XT_API XT_CHECK xt_status xt_lora_load_at(const xt_src *src, xt_module *m, const char *dir, xt_lora_file_opts o);
/* How parameters that fit begin, those to come included; ones that exist are drawn anew at once, unless this is called
 * inside the module's own function. The numbers depend on the seed, the name and the index only. The last call that
 * fits a name counts; formulas and defaults are torch.nn.init's. Gives the number of parameters drawn; -1 after an
 * error (a used parameter in a step not ended, a vector where inputs and outputs are counted). */
typedef enum xt_init_kind {
    XT_INIT_CONSTANT, /* .value */
    XT_INIT_UNIFORM, /* in [low,high) */
    XT_INIT_NORMAL, /* N(mean,std^2) */
    XT_INIT_TRUNCATED_NORMAL, /* the same without what lies outside of [low,high] */
    XT_INIT_XAVIER_UNIFORM, /* Glorot and Bengio 2010: +-gain sqrt(6 / (inputs + outputs)) */
    XT_INIT_XAVIER_NORMAL, /* deviation gain sqrt(2 / (inputs + outputs)) */
    XT_INIT_KAIMING_UNIFORM, /* He et al. 2015: +-sqrt(6 / ((1 + slope^2) inputs)) */
    XT_INIT_KAIMING_NORMAL, /* deviation sqrt(2 / ((1 + slope^2) inputs)) */
    XT_INIT_ORTHOGONAL, /* orthonormal rows or columns (Saxe et al. 2013), times gain */
    XT_INIT_EYE, /* the identity matrix */
    XT_INIT_DIRAC, /* kernels that give their input back */
    XT_INIT_SPARSE /* normal numbers with zeros among them */
} xt_init_kind;
#define XT_DEFAULTS_xt_init_opts(is) \
    is(std, XT_AUTO) is(low, XT_AUTO) is(high, XT_AUTO) is(gain, 1) is(groups, 1) is(sparsity, 0.1)
XT_DEFAULTS_OF(xt_init_opts)
typedef struct XT_OPTIONS_ xt_init_opts {
    size_t struct_size XT_SIZE(xt_init_opts);
    double value XT_ZERO; /* constant */
    double mean XT_ZERO,
        std XT_IS(xt_init_opts, std); /* normal, truncated normal, sparse; std XT_AUTO: 1; sparse: 0.01 */
    double low XT_IS(xt_init_opts, low), high
        XT_IS(xt_init_opts, high); /* XT_AUTO: uniform: [0,1); truncated normal: [-2,2] */
    double gain XT_IS(xt_init_opts, gain); /* Xavier, orthogonal */
    double slope XT_ZERO; /* Kaiming: of the leaky ReLU that follows; 0 = ReLU (nn.Linear's own is sqrt 5) */
    xt_switch fan_out XT_ZERO; /* Kaiming: count outputs instead of inputs; default off */
    int64_t groups XT_IS(xt_init_opts, groups); /* Dirac: of the convolution */
    double sparsity XT_IS(xt_init_opts, sparsity); /* sparse: the share of each column that is 0 */
} xt_init_opts;
#define xt_init_zeros(m, pattern) xt_init_at(XT_HERE, XT_INIT_CONSTANT, m, pattern, XT_OPTS(xt_init_opts, .value = 0))
#define xt_init_ones(m, pattern) xt_init_at(XT_HERE, XT_INIT_CONSTANT, m, pattern, XT_OPTS(xt_init_opts, .value = 1))
#define xt_init_constant(m, pattern, v) \
    xt_init_at(XT_HERE, XT_INIT_CONSTANT, m, pattern, XT_OPTS(xt_init_opts, .value = v))
/* xt_init_uniform(m, "*.weight", .low = -0.1, .high = 0.1) */
#define xt_init_uniform(m, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_init_uniform(m, pattern, ...): pattern is missing"), \
     XT_INIT_(XT_INIT_UNIFORM, m, __VA_ARGS__, ))
#define xt_init_normal(m, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_init_normal(m, pattern, ...): pattern is missing"), \
     XT_INIT_(XT_INIT_NORMAL, m, __VA_ARGS__, ))
#define xt_init_truncated_normal(m, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_init_truncated_normal(m, pattern, ...): pattern is missing"), \
     XT_INIT_(XT_INIT_TRUNCATED_NORMAL, m, __VA_ARGS__, ))
#define xt_init_xavier_uniform(m, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_init_xavier_uniform(m, pattern, ...): pattern is missing"), \
     XT_INIT_(XT_INIT_XAVIER_UNIFORM, m, __VA_ARGS__, ))
#define xt_init_xavier_normal(m, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_init_xavier_normal(m, pattern, ...): pattern is missing"), \
     XT_INIT_(XT_INIT_XAVIER_NORMAL, m, __VA_ARGS__, ))
#define xt_init_kaiming_uniform(m, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_init_kaiming_uniform(m, pattern, ...): pattern is missing"), \
     XT_INIT_(XT_INIT_KAIMING_UNIFORM, m, __VA_ARGS__, ))
#define xt_init_kaiming_normal(m, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_init_kaiming_normal(m, pattern, ...): pattern is missing"), \
     XT_INIT_(XT_INIT_KAIMING_NORMAL, m, __VA_ARGS__, ))
#define xt_init_orthogonal(m, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_init_orthogonal(m, pattern, ...): pattern is missing"), \
     XT_INIT_(XT_INIT_ORTHOGONAL, m, __VA_ARGS__, ))
#define xt_init_eye(m, pattern) xt_init_at(XT_HERE, XT_INIT_EYE, m, pattern, XT_OPTS(xt_init_opts, .value = 1))
/* kernels of convolutions that give their input back, as far as there are channels */
#define xt_init_dirac(m, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_init_dirac(m, pattern, ...): pattern is missing"), \
     XT_INIT_(XT_INIT_DIRAC, m, __VA_ARGS__, ))
/* normal numbers of deviation 0.01, zeros among them: xt_init_sparse(m, "fc.weight", .sparsity = 0.9) */
#define xt_init_sparse(m, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_init_sparse(m, pattern, ...): pattern is missing"), \
     XT_INIT_(XT_INIT_SPARSE, m, __VA_ARGS__, ))
#define XT_INIT_(kind, m, pattern, ...) xt_init_at(XT_HERE, kind, m, pattern, XT_OPTS(xt_init_opts, __VA_ARGS__))
XT_API int xt_init_at(const xt_src *src, xt_init_kind kind, xt_module *m, const char *pattern, xt_init_opts o);

/* torch.nn.utils: the parameters in the module's order, one behind the other, [n]; gradients flow to them. Back: each
 * takes its part as its new value, from here on in this step and after it, as xt_assign does; false after an error. */
#define xt_parameters_to_vector(m) xt_parameters_to_vector_at(XT_HERE, m)
/* the way back: each parameter takes its part of v */
#define xt_vector_to_parameters(v, m) xt_vector_to_parameters_at(XT_HERE, v, m)
XT_API xt_tensor xt_parameters_to_vector_at(const xt_src *src, const xt_module *m);
XT_API bool xt_vector_to_parameters_at(const xt_src *src, xt_tensor v, const xt_module *m);

/* An exponential moving average of net's parameters, outside the Trainer (its callback is xt_weight_averaging):
 * torch.optim.swa_utils.AveragedModel with get_ema_multi_avg_fn. A module of its own with net's function, `user` and
 * names, frozen and in evaluation mode: xt_forward(ema, x), xt_save(ema, path) and xt_load work as with any other, and
 * a checkpoint is the two files. It begins as net is; a root; freed as one. NULL after an error.
 *     xt_module *ema = xt_ema(net);
 *     ... xt_backward(loss); xt_optimizer_step(opt); xt_ema_update(ema, net, 0.999);
 *     xt_tensor y = xt_forward(ema, x); */
#define xt_ema(net) xt_ema_at(XT_HERE, net)
XT_API xt_module *xt_ema_at(const xt_src *src, const xt_module *net);
/* ema = decay ema + (1 - decay) net, each parameter; behind xt_optimizer_step, of that step's new values. decay in
 * [0,1] may change from step to step (a warm-up: fmin(0.999, (1 + n) / (10 + n))), in one program. The first update is
 * a copy, as AveragedModel's, whatever was built before (decay 0 always is); so is a parameter's that is new. Averages
 * that xt_load has read go on. Averages from net's first values, as torch_ema's and a teacher's: one update before
 * training too. Buffers (statistics of batch norms) are copied. Each keeps net's dtype: averages
 * in 16 bits lose small steps, so train with f32 parameters (xt_autocast_begin). Recorded, in the step's own program;
 * nothing waits. False after an error. Not for parameters that a mesh divides. */
#define xt_ema_update(ema, net, decay) xt_ema_update_at(XT_HERE, ema, net, XT_NUMBER_(decay))
XT_API bool xt_ema_update_at(const xt_src *src, xt_module *ema, const xt_module *net, double decay);
#define xt_ema_copy_to(ema, net) xt_ema_update_at(XT_HERE, net, ema, 0) /* net's parameters become the averages */

/* The table of layers: name, parameters, shapes of tensors, and totals. Writes at most n bytes with the final NUL;
 * gives the whole length, as snprintf. */
XT_API size_t xt_module_summary(const xt_module *m, char *buf, size_t n);

/* A parameter of one's own: made at the first call (init "zeros", "ones", "uniform" with bound a, "normal"
 * with std a). */
#define xt_param(m, name, init, a, ...) XT_PARAM_(m, name, init, a, __VA_ARGS__, 0)
#define XT_PARAM_(m, name, init, a, dtype, ...) \
    xt_param_at(XT_HERE, m, name, init, XT_NUMBER_(a), XT_DTYPE_(dtype), XT_DIMS_(__VA_ARGS__))
XT_API xt_tensor xt_param_at(const xt_src *src, xt_module *m, const char *name, const char *init, double a,
                             xt_dtype dtype, const int64_t *dims);

/* A buffer of one's own (register_buffer): made as a parameter is, of any dtype, saved, loaded and kept in checkpoints
 * with the module, and moved by xt_assign alone: no optimizer knows it, and no gradient flows to it.
 *     xt_tensor book = xt_buffer(m, "codebook", "normal", 1, XT_F32, 512, 64); */
#define xt_buffer(m, name, init, a, ...) XT_BUFFER_(m, name, init, a, __VA_ARGS__, 0)
#define XT_BUFFER_(m, name, init, a, dtype, ...) \
    xt_buffer_at(XT_HERE, m, name, init, XT_NUMBER_(a), XT_DTYPE_(dtype), XT_DIMS_(__VA_ARGS__))
XT_API xt_tensor xt_buffer_at(const xt_src *src, xt_module *m, const char *name, const char *init, double a,
                              xt_dtype dtype, const int64_t *dims);

#ifdef __cplusplus
}
#endif

#include <xtrain/layers.h>

#endif
