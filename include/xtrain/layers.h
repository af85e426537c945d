/* Layers: what a module function calls. Each has a name; its parameters are made at the first call, shapes from the
 * input, with PyTorch's names and initialisation, and found again by name at every later call. "" names the module
 * itself: xt_linear(xt_sub(m, "layers", 0), "", x, 8) makes layers.0.weight. Functions without parameters (pooling,
 * resizing, activations) are in xtrain/functional.h and xtrain/tensor.h.
 *
 * Inputs are floats unless a line says otherwise; parameters are f32, or f64 for f64 inputs. With f16 or bf16 inputs
 * norms and recurrent layers compute in f32 and give the input's dtype; products with f32 parameters (linear,
 * convolution, attention) give f32, as promotion says. Wrong shapes, a name used twice in one pass, and a call whose
 * shapes do not fit the parameters made by an earlier one give error tensors.
 *
 *     static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
 *         x = xt_relu(xt_batch_norm(m, "bn1", xt_conv2d(m, "conv1", x, 16, 3, .padding = 1)));
 *         return xt_linear(m, "fc", xt_global_avg_pool(x), 10);
 *     } */
#ifndef XTRAIN_LAYERS_H
#define XTRAIN_LAYERS_H

#include <xtrain/functional.h>
#include <xtrain/module.h>
#include <xtrain/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Linear --- */
/* xt_linear(m, "fc1", x, 50, .bias = XT_OFF): [...,I] -> [...,O] */
#define xt_linear(m, name, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_linear(m, name, x, out, ...): x is missing"), XT_LINEAR_(m, name, __VA_ARGS__, ))
#define XT_LINEAR_(m, name, x, out, ...)                                                                             \
    xt_linear_at(                                                                                                    \
        XT_HERE, m, name, x,                                                                                         \
        XT_NEEDED_(out, "xt_linear(m, name, x, out, ...): out, the size of the last dim of the result, is missing"), \
        XT_OPTS(xt_linear_opts, __VA_ARGS__))
#define XT_DEFAULTS_xt_linear_opts(is) is(bias, XT_ON)
XT_DEFAULTS_OF(xt_linear_opts)
typedef struct XT_OPTIONS_ xt_linear_opts {
    size_t struct_size XT_SIZE(xt_linear_opts);
    xt_switch bias XT_IS(xt_linear_opts, bias); /* default on */
} xt_linear_opts;
XT_API xt_tensor xt_linear_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, int64_t out,
                              xt_linear_opts o);
/* y[...,o] = sum over i, j of x[...,i] weight[o,i,j] z[...,j] + bias[o] */
/* xt_bilinear(m, "b", x, z, 8): [...,I], [...,J] -> [...,O] */
#define xt_bilinear(m, name, x, ...)                                                \
    (XT_GIVEN_(#__VA_ARGS__, "xt_bilinear(m, name, x, z, out, ...): z is missing"), \
     XT_BILINEAR_(m, name, x, __VA_ARGS__, ))
#define XT_BILINEAR_(m, name, x, z, out, ...)                                                                        \
    xt_bilinear_at(                                                                                                  \
        XT_HERE, m, name, x, z,                                                                                      \
        XT_NEEDED_(out,                                                                                              \
                   "xt_bilinear(m, name, x, z, out, ...): out, the size of the last dim of the result, is missing"), \
        XT_OPTS(xt_linear_opts, __VA_ARGS__))
XT_API xt_tensor xt_bilinear_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_tensor z,
                                int64_t out, xt_linear_opts o);
/* max(x, 0) + weight * min(x, 0), one weight for all (channels 1) or one per channel of [N,C,...]; weights
 * begin as 0.25. */
/* xt_prelu(m, name, x, channels = 1) */
#define xt_prelu(m, name, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_prelu(m, name, x, ...): x is missing"), XT_PRELU_(m, name, __VA_ARGS__, 1, ))
#define XT_PRELU_(m, name, x, channels, ...) \
    (XT_LAST_(1, __VA_ARGS__), xt_prelu_at(XT_HERE, m, name, x, XT_NUMBER_(channels)))
XT_API xt_tensor xt_prelu_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, int64_t channels);
#define XT_DEFAULTS_xt_embedding_opts(is) is(padding_idx, XT_UNSET)
XT_DEFAULTS_OF(xt_embedding_opts)
typedef struct XT_OPTIONS_ xt_embedding_opts {
    size_t struct_size XT_SIZE(xt_embedding_opts);
    /* this row begins as zeros and gets no gradient; negative counts from the end; XT_UNSET: there is none */
    int64_t padding_idx XT_IS(xt_embedding_opts, padding_idx);
} xt_embedding_opts;
/* int [...] -> [...,dim]; rows begin as N(0,1) */
#define xt_embedding(m, name, indices, vocab, ...) XT_EMBEDDING_(m, name, indices, vocab, __VA_ARGS__, )
#define XT_EMBEDDING_(m, name, indices, vocab, dim, ...)                                                        \
    xt_embedding_at(                                                                                            \
        XT_HERE, m, name, indices, XT_NUMBER_(vocab),                                                           \
        XT_NEEDED_(dim, "xt_embedding(m, name, indices, vocab, dim, ...): dim, the size of a row, is missing"), \
        XT_OPTS(xt_embedding_opts, __VA_ARGS__))
XT_API xt_tensor xt_embedding_at(const xt_src *src, xt_module *m, const char *name, xt_tensor indices, int64_t vocab,
                                 int64_t dim, xt_embedding_opts o);

/* --- Convolution: xt_conv2d(m, "c", x, 64, 3, .stride = 2, .padding = 1); options in xtrain/functional.h; .kernels =
 * {3, 1} with kernel 0 --- */
#define xt_conv1d(m, name, x, ...) XT_CONV_(1, m, name, x, __VA_ARGS__, ) /* [N,C,L] */
#define xt_conv2d(m, name, x, ...) XT_CONV_(2, m, name, x, __VA_ARGS__, ) /* [N,C,H,W] */
#define xt_conv3d(m, name, x, ...) XT_CONV_(3, m, name, x, __VA_ARGS__, ) /* [N,C,D,H,W] */
#define XT_CONV_(n, m, name, x, out, kernel, ...)                                                                \
    xt_conv_at(XT_HERE, n, false, m, name, x,                                                                    \
               XT_NEEDED_(out, "xt_conv(m, name, x, out, kernel, ...): the channels of the result are missing"), \
               XT_NEEDED_(kernel, "xt_conv(m, name, x, out, kernel, ...): the size of the kernel is missing"),   \
               XT_OPTS(xt_conv_opts, __VA_ARGS__))
#define xt_conv_transpose1d(m, name, x, ...) XT_CONV_TRANSPOSE_(1, m, name, x, __VA_ARGS__, )
#define xt_conv_transpose2d(m, name, x, ...) XT_CONV_TRANSPOSE_(2, m, name, x, __VA_ARGS__, )
#define xt_conv_transpose3d(m, name, x, ...) XT_CONV_TRANSPOSE_(3, m, name, x, __VA_ARGS__, )
#define XT_CONV_TRANSPOSE_(n, m, name, x, out, kernel, ...)                                                         \
    xt_conv_at(                                                                                                     \
        XT_HERE, n, true, m, name, x,                                                                               \
        XT_NEEDED_(out, "xt_conv_transpose(m, name, x, out, kernel, ...): the channels of the result are missing"), \
        XT_NEEDED_(kernel, "xt_conv_transpose(m, name, x, out, kernel, ...): the size of the kernel is missing"),   \
        XT_OPTS(xt_conv_opts, __VA_ARGS__))
XT_API xt_tensor xt_conv_at(const xt_src *src, int n_spatial, bool transposed, xt_module *m, const char *name,
                            xt_tensor x, int64_t out, int kernel, xt_conv_opts o);

/* --- Normalisation --- */
#define XT_DEFAULTS_xt_norm_opts(is)                                                                                 \
    is(eps, XT_AUTO) is(momentum, 0.1) is(dims, 1) is(affine, XT_DEFAULT) is(track, XT_DEFAULT) is(bias, XT_DEFAULT) \
        is(sync, XT_DEFAULT)
XT_DEFAULTS_OF(xt_norm_opts)
typedef struct XT_OPTIONS_ xt_norm_opts {
    size_t struct_size XT_SIZE(xt_norm_opts);
    double eps XT_IS(xt_norm_opts, eps); /* XT_AUTO: 1e-5; RMS norm: the dtype's epsilon */
    /* of running statistics; without any, or with cumulative ones, an error */
    double momentum XT_IS(xt_norm_opts, momentum);
    xt_switch affine XT_IS(xt_norm_opts, affine); /* weight and bias; default on (instance norm: off) */
    /* running statistics, used in eval mode; default on (instance norm: off) */
    xt_switch track XT_IS(xt_norm_opts, track);
    /* batch norm: default off; on: the running statistics are plain averages over all batches (PyTorch's momentum =
     * None); needs them, so not together with .track = XT_OFF */
    xt_switch cumulative XT_ZERO;
    /* batch norm: statistics over the batches of all ranks; default: as xt_sync_batch_norm or the Trainer's
     * .sync_batchnorm say */
    xt_switch sync XT_IS(xt_norm_opts, sync);
    int dims XT_IS(xt_norm_opts, dims); /* layer and RMS norm: over this many last dims */
    xt_switch bias XT_IS(xt_norm_opts, bias); /* layer norm: default on with affine */
} xt_norm_opts;
/* Channels are dim 1 of [N,C] or [N,C,...] (PyTorch's BatchNorm1d, 2d and 3d). Training normalises with the batch's own
 * statistics and moves running_mean and running_var (unbiased) towards them; num_batches_tracked counts. */
#define xt_batch_norm(m, name, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_batch_norm(m, name, x, ...): x is missing"), XT_BATCH_NORM_(m, name, __VA_ARGS__, ))
#define XT_BATCH_NORM_(m, name, x, ...) xt_batch_norm_at(XT_HERE, m, name, x, XT_OPTS(xt_norm_opts, __VA_ARGS__))
XT_API xt_tensor xt_batch_norm_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_norm_opts o);
/* Each channel of each image of [N,C,...] by itself. */
#define xt_instance_norm(m, name, ...)                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_instance_norm(m, name, x, ...): x is missing"), \
     XT_INSTANCE_NORM_(m, name, __VA_ARGS__, ))
#define XT_INSTANCE_NORM_(m, name, x, ...) xt_instance_norm_at(XT_HERE, m, name, x, XT_OPTS(xt_norm_opts, __VA_ARGS__))
XT_API xt_tensor xt_instance_norm_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_norm_opts o);
/* over the last dim, or the last .dims dims */
#define xt_layer_norm(m, name, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_layer_norm(m, name, x, ...): x is missing"), XT_LAYER_NORM_(m, name, __VA_ARGS__, ))
#define XT_LAYER_NORM_(m, name, x, ...) xt_layer_norm_at(XT_HERE, m, name, x, XT_OPTS(xt_norm_opts, __VA_ARGS__))
XT_API xt_tensor xt_layer_norm_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_norm_opts o);
/* x / sqrt(mean x^2 + eps) * weight */
#define xt_rms_norm(m, name, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_rms_norm(m, name, x, ...): x is missing"), XT_RMS_NORM_(m, name, __VA_ARGS__, ))
#define XT_RMS_NORM_(m, name, x, ...) xt_rms_norm_at(XT_HERE, m, name, x, XT_OPTS(xt_norm_opts, __VA_ARGS__))
XT_API xt_tensor xt_rms_norm_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_norm_opts o);
/* xt_group_norm(m, "gn", x, 4): [N,C,...], groups divide C */
#define xt_group_norm(m, name, x, ...) XT_GROUP_NORM_(m, name, x, __VA_ARGS__, )
#define XT_GROUP_NORM_(m, name, x, groups, ...)                                                                     \
    xt_group_norm_at(XT_HERE, m, name, x,                                                                           \
                     XT_NEEDED_(groups, "xt_group_norm(m, name, x, groups, ...): the number of groups is missing"), \
                     XT_OPTS(xt_norm_opts, __VA_ARGS__))
XT_API xt_tensor xt_group_norm_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, int groups,
                                  xt_norm_opts o);
/* x / (k + alpha * mean of x^2 over `size` neighbouring channels)^beta on [N,C,...]; no parameters. */
#define XT_DEFAULTS_xt_lrn_opts(is) is(alpha, 1e-4) is(beta, 0.75) is(k, 1)
XT_DEFAULTS_OF(xt_lrn_opts)
typedef struct XT_OPTIONS_ xt_lrn_opts {
    size_t struct_size XT_SIZE(xt_lrn_opts);
    /* the formula's: factor of the squares, power of the sum, and what it begins with */
    double alpha XT_IS(xt_lrn_opts, alpha), beta XT_IS(xt_lrn_opts, beta), k XT_IS(xt_lrn_opts, k);
} xt_lrn_opts;
#define xt_local_response_norm(x, ...) XT_LRN_(x, __VA_ARGS__, )
#define XT_LRN_(x, size, ...)                                                                                 \
    xt_local_response_norm_at(                                                                                \
        XT_HERE, x,                                                                                           \
        XT_NEEDED_(size, "xt_local_response_norm(x, size, ...): the number of channels together is missing"), \
        XT_OPTS(xt_lrn_opts, __VA_ARGS__))
XT_API xt_tensor xt_local_response_norm_at(const xt_src *src, xt_tensor x, int size, xt_lrn_opts o);

/* --- Dropout: identity in eval mode; p in [0,1] is the share that becomes 0, the rest grows by 1/(1-p). --- */
/* Each element becomes 0 with probability p in training mode: xt_dropout(m, x, p = 0.5) */
#define xt_dropout(m, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_dropout(m, x, ...): x is missing"), XT_DROPOUT_(m, __VA_ARGS__, 0.5, ))
#define XT_DROPOUT_(m, x, p, ...) (XT_LAST_(1, __VA_ARGS__), xt_dropout_at(XT_HERE, m, x, XT_NUMBER_(p)))
XT_API xt_tensor xt_dropout_at(const xt_src *src, xt_module *m, xt_tensor x, double p);
/* whole channels of [N,C,L]; 2d: of [N,C,H,W]; 3d: of [N,C,D,H,W] */
/* xt_dropout1d(m, x, p = 0.5) */
#define xt_dropout1d(m, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_dropout1d(m, x, ...): x is missing"), XT_DROPOUT1D_(m, __VA_ARGS__, 0.5, ))
#define XT_DROPOUT1D_(m, x, p, ...) (XT_LAST_(1, __VA_ARGS__), xt_channel_dropout_at(XT_HERE, 1, m, x, XT_NUMBER_(p)))
/* xt_dropout2d(m, x, p = 0.5) */
/* As xt_dropout, whole channels of [N,C,H,W]: xt_dropout2d(m, x, p = 0.5) */
#define xt_dropout2d(m, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_dropout2d(m, x, ...): x is missing"), XT_DROPOUT2D_(m, __VA_ARGS__, 0.5, ))
#define XT_DROPOUT2D_(m, x, p, ...) (XT_LAST_(1, __VA_ARGS__), xt_channel_dropout_at(XT_HERE, 2, m, x, XT_NUMBER_(p)))
/* xt_dropout3d(m, x, p = 0.5) */
/* As xt_dropout, whole channels of [N,C,D,H,W]: xt_dropout3d(m, x, p = 0.5) */
#define xt_dropout3d(m, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_dropout3d(m, x, ...): x is missing"), XT_DROPOUT3D_(m, __VA_ARGS__, 0.5, ))
#define XT_DROPOUT3D_(m, x, p, ...) (XT_LAST_(1, __VA_ARGS__), xt_channel_dropout_at(XT_HERE, 3, m, x, XT_NUMBER_(p)))
XT_API xt_tensor xt_channel_dropout_at(const xt_src *src, int n_spatial, xt_module *m, xt_tensor x, double p);
/* for SELU: mean 0 and variance 1 stay so */
/* xt_alpha_dropout(m, x, p = 0.5) */
#define xt_alpha_dropout(m, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_alpha_dropout(m, x, ...): x is missing"), XT_ALPHA_DROPOUT_(m, __VA_ARGS__, 0.5, ))
#define XT_ALPHA_DROPOUT_(m, x, p, ...) (XT_LAST_(1, __VA_ARGS__), xt_alpha_dropout_at(XT_HERE, m, x, XT_NUMBER_(p)))
XT_API xt_tensor xt_alpha_dropout_at(const xt_src *src, xt_module *m, xt_tensor x, double p);
/* the same of whole channels: [N,C,...] */
/* xt_feature_alpha_dropout(m, x, p = 0.5) */
#define xt_feature_alpha_dropout(m, ...)                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_feature_alpha_dropout(m, x, ...): x is missing"), \
     XT_FEATURE_ALPHA_DROPOUT_(m, __VA_ARGS__, 0.5, ))
#define XT_FEATURE_ALPHA_DROPOUT_(m, x, p, ...) \
    (XT_LAST_(1, __VA_ARGS__), xt_feature_alpha_dropout_at(XT_HERE, m, x, XT_NUMBER_(p)))
XT_API xt_tensor xt_feature_alpha_dropout_at(const xt_src *src, xt_module *m, xt_tensor x, double p);

/* --- Attention --- */
#define XT_DEFAULTS_xt_attention_opts(is) is(heads, 1)
XT_DEFAULTS_OF(xt_attention_opts)
typedef struct XT_OPTIONS_ xt_attention_opts {
    size_t struct_size XT_SIZE(xt_attention_opts);
    int heads XT_IS(xt_attention_opts, heads); /* must divide C */
    xt_switch causal XT_ZERO; /* default off: row i sees columns <= i */
    double dropout XT_ZERO; /* of the attention weights, in training mode */
    /* Tiled attention (Rabe and Staats 2021): positions whose scores are computed at a time, so that memory for scores
     * is tile * T, not T * T, and the backward pass computes them again. Must divide T, if it is less than T. What
     * dropout takes out is what it takes out without tiles. 0: all at once (the CPU device tiles such programs by
     * itself). Positions that a mesh divides are tiles already. */
    int64_t tile XT_ZERO;
} xt_attention_opts;
/* GPT-2's: [B,T,C] -> [B,T,C]; layers name.c_attn, name.c_proj. INVALID_ARGUMENT for heads that do not divide C, and a
 * tile that does not divide T. */
#define xt_self_attention(m, name, ...)                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_self_attention(m, name, x, ...): x is missing"), \
     XT_SELF_ATTENTION_(m, name, __VA_ARGS__, ))
#define XT_SELF_ATTENTION_(m, name, x, ...) \
    xt_self_attention_at(XT_HERE, m, name, x, XT_OPTS(xt_attention_opts, __VA_ARGS__))
XT_API xt_tensor xt_self_attention_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x,
                                      xt_attention_opts o);
/* torch.nn.MultiheadAttention: query [T,B,E], key [S,B,K], value [S,B,V] -> [T,B,E]; batch first with the switch;
 * without B when all are 2-D. Parameters in_proj_weight [3E,E] (or q_proj_weight, k_proj_weight, v_proj_weight when K
 * or V differ from E), in_proj_bias, out_proj.weight, .bias. */
#define XT_DEFAULTS_xt_mha_opts(is) is(heads, 1) is(bias, XT_ON)
XT_DEFAULTS_OF(xt_mha_opts)
typedef struct XT_OPTIONS_ xt_mha_opts {
    size_t struct_size XT_SIZE(xt_mha_opts);
    int heads XT_IS(xt_mha_opts, heads); /* must divide E */
    double dropout XT_ZERO; /* of the attention weights, in training mode */
    xt_switch bias XT_IS(xt_mha_opts, bias); /* default on */
    xt_switch batch_first XT_ZERO; /* default off, as in PyTorch */
    xt_switch causal XT_ZERO; /* adds the causal mask */
    xt_tensor key_padding_mask XT_ZERO; /* [B,S]: bool, true = ignore this key; or floats to add */
    xt_tensor attn_mask XT_ZERO; /* [T,S] or [B*heads,T,S]: bool, true = may not be seen; or floats to add */
    xt_tensor *out_weights XT_ZERO; /* not NULL: receives the attention weights [B,T,S], averaged over heads */
    /* queries whose scores are computed at a time, as in xt_attention_opts: tile * S instead of T * S. Must divide T */
    int64_t tile XT_ZERO;
} xt_mha_opts;
#define xt_multihead_attention(m, name, q, k, ...)                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_multihead_attention(m, name, q, k, v, ...): v is missing"), \
     XT_MHA_(m, name, q, k, __VA_ARGS__, ))
#define XT_MHA_(m, name, q, k, v, ...) \
    xt_multihead_attention_at(XT_HERE, m, name, q, k, v, XT_OPTS(xt_mha_opts, __VA_ARGS__))
XT_API xt_tensor xt_multihead_attention_at(const xt_src *src, xt_module *m, const char *name, xt_tensor q, xt_tensor k,
                                           xt_tensor v, xt_mha_opts o);
/* torch.nn.TransformerEncoderLayer and TransformerDecoderLayer: self_attn, (multihead_attn,) linear1, linear2, norm1,
 * norm2 (norm3). */
#define XT_DEFAULTS_xt_transformer_opts(is) is(heads, 1) is(feedforward, 2048) is(dropout, 0.1) is(eps, 1e-5)
XT_DEFAULTS_OF(xt_transformer_opts)
typedef struct XT_OPTIONS_ xt_transformer_opts {
    size_t struct_size XT_SIZE(xt_transformer_opts);
    int heads XT_IS(xt_transformer_opts, heads); /* of each attention; must divide the features */
    int64_t feedforward XT_IS(xt_transformer_opts, feedforward); /* numbers between linear1 and linear2 */
    /* in training mode: of attention weights, behind the activation and in front of each sum */
    double dropout XT_IS(xt_transformer_opts, dropout);
    xt_switch gelu XT_ZERO; /* default off: ReLU; on: exact GELU */
    xt_switch norm_first XT_ZERO; /* default off */
    xt_switch batch_first XT_ZERO; /* default off */
    xt_switch causal XT_ZERO; /* of the self-attention */
    double eps XT_IS(xt_transformer_opts, eps); /* of the layer norms */
    xt_tensor mask XT_ZERO, key_padding_mask XT_ZERO; /* of the self-attention: as in xt_mha_opts */
    xt_tensor memory_mask XT_ZERO, memory_key_padding_mask XT_ZERO; /* decoder: of the attention over memory */
} xt_transformer_opts;
#define xt_transformer_encoder_layer(m, name, ...)                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_transformer_encoder_layer(m, name, x, ...): x is missing"), \
     XT_ENCODER_LAYER_(m, name, __VA_ARGS__, ))
#define XT_ENCODER_LAYER_(m, name, x, ...) \
    xt_transformer_encoder_layer_at(XT_HERE, m, name, x, XT_OPTS(xt_transformer_opts, __VA_ARGS__))
XT_API xt_tensor xt_transformer_encoder_layer_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x,
                                                 xt_transformer_opts o);
#define xt_transformer_decoder_layer(m, name, x, ...)                                                     \
    (XT_GIVEN_(#__VA_ARGS__, "xt_transformer_decoder_layer(m, name, x, memory, ...): memory is missing"), \
     XT_DECODER_LAYER_(m, name, x, __VA_ARGS__, ))
#define XT_DECODER_LAYER_(m, name, x, memory, ...) \
    xt_transformer_decoder_layer_at(XT_HERE, m, name, x, memory, XT_OPTS(xt_transformer_opts, __VA_ARGS__))
XT_API xt_tensor xt_transformer_decoder_layer_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x,
                                                 xt_tensor memory, xt_transformer_opts o);
/* A mixture of experts in place of a feed-forward layer (Shazeer et al. 2017): a router sends each token to the top_k
 * best of several networks fc2(gelu(fc1(x))), x [B,...,C] -> [B,...,C]. Parameters name.router.weight [experts,C], and
 * name.experts.fc1.weight [experts,C,hidden], .fc1.bias [experts,hidden], .fc2.weight [experts,hidden,C], .fc2.bias
 * [experts,C], uniform in +-1/sqrt(fan_in). What experts give is weighted by the router's probabilities: with top_k 1
 * as they are (Switch Transformer, Fedus et al. 2021), with more divided by their sum (GShard, Lepikhin et al. 2020).
 *
 * Each sample (a row of dim 0; of a 2-D x all rows together) is a group, and has ceil(top_k * tokens / experts *
 * capacity_factor) places in each expert, at most one for each of its tokens. First choices take them before second
 * ones, both in the order of the tokens. Who finds none gets nothing from that expert, weight and all: in a residual
 * block such a token passes on as it was. So what is kept depends on the sample alone, not on the batch, the ranks or
 * the mesh. Memory besides the experts': tokens^2 * top_k * capacity_factor numbers a sample, as scores of one head. */
#define XT_DEFAULTS_xt_moe_opts(is) is(experts, 8) is(top_k, 1) is(hidden, -1) is(capacity_factor, 1.25)
XT_DEFAULTS_OF(xt_moe_opts)
typedef struct XT_OPTIONS_ xt_moe_opts {
    size_t struct_size XT_SIZE(xt_moe_opts);
    int experts XT_IS(xt_moe_opts, experts); /* how many there are */
    int top_k XT_IS(xt_moe_opts, top_k); /* experts for each token, at most as many as there are */
    int64_t hidden XT_IS(xt_moe_opts, hidden); /* -1: 4 C */
    double capacity_factor XT_IS(xt_moe_opts, capacity_factor); /* 0: a place for every token, none is dropped */
    xt_switch relu XT_ZERO; /* default off: GELU in the tanh form; on: ReLU */
} xt_moe_opts;
#define xt_moe(m, name, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_moe(m, name, x, ...): x is missing"), XT_MOE_(m, name, __VA_ARGS__, ))
#define XT_MOE_(m, name, x, ...) xt_moe_at(XT_HERE, m, name, x, XT_OPTS(xt_moe_opts, __VA_ARGS__))
XT_API xt_tensor xt_moe_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_moe_opts o);
/* The loss that keeps the experts of a network equally busy, a scalar: the sum over the xt_moe layers of its last
 * forward pass of experts * sum over them of (share of first choices * mean probability), in each group, the mean over
 * groups; 1 a layer where all have the same. Switch Transformer adds 0.01 of it to the loss. An error tensor where no
 * such layer was called in this step. */
#define xt_moe_balance(m) xt_moe_balance_at(XT_HERE, m)
XT_API xt_tensor xt_moe_balance_at(const xt_src *src, xt_module *m);
/* Blocks of one shape in a row, as a pipeline over the stages of a mesh (xt_mesh_pipeline_parallel) by GPipe's schedule
 * (Huang et al. 2019): x [B,...] -> [B,...], the value of fn called .layers times, each time with parameters of its
 * own. The batch goes in .microbatches parts; while stage 1 works on the first, stage 0 works on the second, and with S
 * stages (S-1) / (microbatches + S-1) of the time nobody needs what a stage computes. Then the backward pass goes the
 * other way round. Without a mesh it is a loop.
 *
 * Parameters of all blocks are stacked, [layers,...], named as those of a child `name`: "h.attn.c_attn.weight". Layer i
 * begins with the values that "h.i.attn.c_attn.weight" would have, and xt_init_* goes by the name of layer 0.
 * fn(m, x, user) is called for what it records, not for each layer, gets the module of `name`, does the same in
 * each call, and gives what it was given another value of the same type; batch norms (buffers) and parametrizations in
 * it are errors. Dropout draws masks of its own for every stage and micro-batch, so others for other numbers of them.
 *
 * Until the backward pass a stage keeps of each micro-batch what came into it, microbatches + S-1 in all, and computes
 * its blocks again from there, as GPipe does. */
/* In what order stages take forward and backward passes of micro-batches. */
typedef enum xt_pipeline_schedule {
    XT_GPIPE = 0, /* all forward, then all backward */
    XT_ONE_F_ONE_B = 1 /* one forward, one backward in turn; less memory */
} xt_pipeline_schedule;
#define XT_DEFAULTS_xt_pipeline_opts(is) is(layers, 1) is(microbatches, 1)
XT_DEFAULTS_OF(xt_pipeline_opts)
typedef struct XT_OPTIONS_ xt_pipeline_opts {
    size_t struct_size XT_SIZE(xt_pipeline_opts);
    int64_t layers XT_IS(xt_pipeline_opts, layers); /* which the stages divide */
    int64_t microbatches XT_IS(xt_pipeline_opts, microbatches); /* which divide the batch, as often as it is divided */
    xt_pipeline_schedule schedule XT_ZERO; /* default XT_GPIPE; XT_ONE_F_ONE_B: of xt_pipeline_loss */
    void *user XT_ZERO; /* passed to fn, and to the head */
} xt_pipeline_opts;
#define xt_pipeline(m, name, x, ...)                                             \
    (XT_GIVEN_(#__VA_ARGS__, "xt_pipeline(m, name, x, fn, ...): fn is missing"), \
     XT_PIPELINE_(m, name, x, __VA_ARGS__, ))
#define XT_PIPELINE_(m, name, x, fn, ...) \
    xt_pipeline_at(XT_HERE, m, name, x, fn, XT_OPTS(xt_pipeline_opts, __VA_ARGS__))
XT_API xt_tensor xt_pipeline_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_module_fn fn,
                                xt_pipeline_opts o);
/* What comes behind the blocks of a pipeline, with the loss: the mean over the samples that it is given, one float. */
typedef xt_tensor (*xt_pipeline_head_fn)(xt_module *m, xt_tensor x, xt_tensor y, void *user);
/* xt_pipeline_loss(m, "h", x, y, block, head, .layers = 12, .microbatches = 8, .schedule = XT_ONE_F_ONE_B): the loss
 * head(m, xt_pipeline(m, "h", x, block, ...), y, user), f32; y: targets [B,...] of any dtype.
 *
 * With XT_ONE_F_ONE_B (1F1B, Narayanan et al. 2019 and 2021) a micro-batch goes back as soon as the last stage has its
 * loss, while others still come: a stage keeps of min(2S-1, microbatches + S-1) micro-batches what came into it,
 * however many there are, and the head has one micro-batch at a time. Loss and gradients are made in one loop of as
 * many ticks as GPipe has; so the loss is one float that may be multiplied and added to others, but its gradient has
 * none. The parameters that head asks m for have gradients, other tensors that it reads do not. Under xt_no_grad_begin,
 * and with XT_GPIPE, all micro-batches go forward and head is called for the whole batch: the same for a head whose
 * mean counts each sample alike (targets that are left out make micro-batches of fewer ones weigh more). A float16 loss
 * scale comes behind the loop: take bfloat16. */
#define xt_pipeline_loss(m, name, x, y, fn, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_pipeline_loss(m, name, x, y, fn, head, ...): head is missing"), \
     XT_PIPELINE_LOSS_(m, name, x, y, fn, __VA_ARGS__, ))
#define XT_PIPELINE_LOSS_(m, name, x, y, fn, head, ...) \
    xt_pipeline_loss_at(XT_HERE, m, name, x, y, fn, head, XT_OPTS(xt_pipeline_opts, __VA_ARGS__))
XT_API xt_tensor xt_pipeline_loss_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_tensor y,
                                     xt_module_fn fn, xt_pipeline_head_fn head, xt_pipeline_opts o);
/* Positions [length,dim] to add (Vaswani et al. 2017): column 2i is sin(t / 10000^(2i/dim)), 2i+1 the cosine. */
#define xt_sinusoidal_positions(length, dim) xt_sinusoidal_positions_at(XT_HERE, XT_NUMBER_(length), XT_NUMBER_(dim))
XT_API xt_tensor xt_sinusoidal_positions_at(const xt_src *src, int64_t length, int64_t dim);
/* Such an embedding of numbers t, of any shape and not only whole ones (diffusion's time steps: diffusers'
 * get_timestep_embedding): [...] -> [...,dim], the sines of t scale / max_period^(i / (dim/2 - shift)) in front of the
 * cosines; an odd dim ends in a 0. */
#define XT_DEFAULTS_xt_sinusoidal_opts(is) is(max_period, 10000) is(scale, 1) is(downscale_freq_shift, 1)
XT_DEFAULTS_OF(xt_sinusoidal_opts)
typedef struct XT_OPTIONS_ xt_sinusoidal_opts {
    size_t struct_size XT_SIZE(xt_sinusoidal_opts);
    double max_period XT_IS(xt_sinusoidal_opts, max_period); /* wave lengths go from 2 pi to 2 pi times this */
    double scale XT_IS(xt_sinusoidal_opts, scale); /* factor of t */
    /* 1: the last wave has that longest length; 0: the one that would come next has */
    double downscale_freq_shift XT_IS(xt_sinusoidal_opts, downscale_freq_shift);
    xt_switch flip_sin_to_cos XT_ZERO; /* default off; on: cosines in front */
} xt_sinusoidal_opts;
#define xt_sinusoidal_embedding(t, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_sinusoidal_embedding(t, dim, ...): dim is missing"), XT_SINUSOIDAL_(t, __VA_ARGS__, ))
#define XT_SINUSOIDAL_(t, dim, ...) \
    xt_sinusoidal_embedding_at(XT_HERE, t, XT_NUMBER_(dim), XT_OPTS(xt_sinusoidal_opts, __VA_ARGS__))
XT_API xt_tensor xt_sinusoidal_embedding_at(const xt_src *src, xt_tensor t, int64_t dim, xt_sinusoidal_opts o);
/* Rotary positions (Su et al. 2021) on [...,T,D]: the pair (x[i], x[i+D/2]) turns by t / base^(2i/D) (Llama's layout);
 * base 0 = 10000. xt_rotary(x, 0, .offset = 5), or .positions for each row. */
#define XT_DEFAULTS_xt_rotary_opts(is)
typedef struct XT_OPTIONS_ xt_rotary_opts {
    size_t struct_size XT_SIZE(xt_rotary_opts);
    double offset XT_ZERO; /* of the first row's position; a number that changes from step to step becomes data */
    xt_tensor positions XT_ZERO; /* instead: integers or floats that broadcast to [...,T], as [T] and [B,1,T] do */
    xt_switch interleaved XT_ZERO; /* default off; on: the pairs are (x[2i], x[2i+1]) (GPT-J's layout) */
} xt_rotary_opts;
#define xt_rotary(x, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_rotary(x, base, ...): base is missing"), XT_ROTARY_(x, __VA_ARGS__, ))
#define XT_ROTARY_(x, base, ...) xt_rotary_opt(XT_HERE, x, XT_NUMBER_(base), XT_OPTS(xt_rotary_opts, __VA_ARGS__))
XT_API xt_tensor xt_rotary_opt(const xt_src *src, xt_tensor x, double base, xt_rotary_opts o);
XT_API xt_tensor xt_rotary_at(const xt_src *src, xt_tensor x, double base);

/* --- Many classes ---
 * torch.nn.AdaptiveLogSoftmaxWithLoss (Grave et al. 2017), a layer: classes 0 .. cutoffs[0]-1 have a score of their own
 * beside one for each cluster, whose classes share a product of fewer numbers. Parameters head.weight (head.bias),
 * tail.i.0.weight, tail.i.1.weight. All clusters are computed for every row: the numbers are PyTorch's, the saving of
 * time is not. */
#define XT_DEFAULTS_xt_adaptive_softmax_opts(is) is(div_value, 4)
XT_DEFAULTS_OF(xt_adaptive_softmax_opts)
typedef struct XT_OPTIONS_ xt_adaptive_softmax_opts {
    size_t struct_size XT_SIZE(xt_adaptive_softmax_opts);
    double div_value XT_IS(xt_adaptive_softmax_opts, div_value); /* cluster i works on D / div_value^(i+1) numbers */
    xt_switch head_bias XT_ZERO; /* default off */
} xt_adaptive_softmax_opts;
/* What xt_adaptive_log_softmax gives. */
typedef struct xt_adaptive_softmax_out {
    xt_tensor output; /* [N]: the log probability of each row's label; of one row without N: no dims */
    xt_tensor loss; /* minus its mean */
} xt_adaptive_softmax_out;
/* xt_adaptive_log_softmax(m, "softmax", x, labels, 20000, XT_LIST(2000, 10000)): x [N,D] or [D], labels int [N] */
#define xt_adaptive_log_softmax(m, name, x, labels, classes, ...)                                         \
    (XT_GIVEN_(#__VA_ARGS__,                                                                              \
               "xt_adaptive_log_softmax(m, name, x, labels, classes, cutoffs, ...): cutoffs is missing"), \
     XT_ADAPTIVE_SOFTMAX_(m, name, x, labels, classes, __VA_ARGS__, ))
#define XT_ADAPTIVE_SOFTMAX_(m, name, x, labels, classes, cutoffs, ...)                                \
    xt_adaptive_log_softmax_at(XT_HERE, m, name, x, labels, XT_NUMBER_(classes), XT_AXES_OF_(cutoffs), \
                               XT_OPTS(xt_adaptive_softmax_opts, __VA_ARGS__))
XT_API xt_adaptive_softmax_out xt_adaptive_log_softmax_at(const xt_src *src, xt_module *m, const char *name,
                                                          xt_tensor x, xt_tensor labels, int64_t classes,
                                                          xt_list cutoffs, xt_adaptive_softmax_opts o);
/* its log_prob: [N,classes], of all classes; the same layer's name (xt_share where both are called in one pass) */
#define xt_adaptive_log_prob(m, name, x, classes, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_adaptive_log_prob(m, name, x, classes, cutoffs, ...): cutoffs is missing"), \
     XT_ADAPTIVE_LOG_PROB_(m, name, x, classes, __VA_ARGS__, ))
#define XT_ADAPTIVE_LOG_PROB_(m, name, x, classes, cutoffs, ...)                            \
    xt_adaptive_log_prob_at(XT_HERE, m, name, x, XT_NUMBER_(classes), XT_AXES_OF_(cutoffs), \
                            XT_OPTS(xt_adaptive_softmax_opts, __VA_ARGS__))
XT_API xt_tensor xt_adaptive_log_prob_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x,
                                         int64_t classes, xt_list cutoffs, xt_adaptive_softmax_opts o);

/* --- Recurrence: a loop (xt_scan), or unrolled where the sequence is short. Parameters weight_ih_l0, weight_hh_l0,
 * bias_ih_l0, bias_hh_l0, weight_ih_l0_reverse, weight_ih_l1, ... as in PyTorch; all begin uniform in +-1/sqrt(hidden).
 * ------------------------------------------------------ */
#define XT_DEFAULTS_xt_rnn_opts(is) is(layers, 1) is(bias, XT_ON) is(loop, XT_DEFAULT)
XT_DEFAULTS_OF(xt_rnn_opts)
typedef struct XT_OPTIONS_ xt_rnn_opts {
    size_t struct_size XT_SIZE(xt_rnn_opts);
    int layers XT_IS(xt_rnn_opts, layers); /* stacked: each reads the outputs of the one before; 1 and above */
    xt_switch bidirectional XT_ZERO; /* default off */
    xt_switch batch_first XT_ZERO; /* default off: x is [T,B,I]; on: [B,T,I]; without B: [T,I] */
    xt_switch bias XT_IS(xt_rnn_opts, bias); /* default on */
    double dropout XT_ZERO; /* between layers, in training mode: of one layer nothing but a warning, as in PyTorch */
    xt_switch relu XT_ZERO; /* plain RNN: default off (tanh) */
    xt_tensor h0 XT_ZERO, c0 XT_ZERO; /* [layers*directions,B,hidden]; none = zeros */
    /* LSTM: 0 = off; [1,hidden): h and output have so many numbers instead of hidden (weight_hr_l0 projects) */
    int64_t proj_size XT_ZERO;
    /* default: sequences of 8 steps and more are a loop, whose program does not grow with them; off: always unrolled */
    xt_switch loop XT_IS(xt_rnn_opts, loop);
    /* integers [B] (one for [T,I]): how many steps of each sequence there are, as in a packed sequence. Rows behind its
     * end are zeros in the output and never read, the last states are those at its end, and the reverse direction
     * begins there; none = all T. Whole layers only */
    xt_tensor lengths XT_ZERO;
} xt_rnn_opts;
/* What recurrent layers and cells give. */
typedef struct xt_rnn_out {
    xt_tensor output; /* [T,B,hidden*directions], or batch first as x is */
    xt_tensor h, c; /* the last states, shaped as h0; c of an LSTM only */
} xt_rnn_out;
/* x [T,B,I] (.batch_first: [B,T,I]; or [T,I]) through `hidden` numbers of state a layer and direction: output
 * [T,B,hidden*directions] and the last states. xt_rnn(m, "rnn", x, 128).output */
#define xt_rnn(m, name, x, ...) XT_RNN_(XT_RNN_PLAIN, m, name, x, __VA_ARGS__, )
/* As xt_rnn, by LSTM cells, with the states h and c: xt_lstm(m, "lstm", x, 128, .layers = 2).output */
#define xt_lstm(m, name, x, ...) XT_RNN_(XT_RNN_LSTM, m, name, x, __VA_ARGS__, )
/* As xt_rnn, by gated recurrent units: xt_gru(m, "gru", x, 128, .bidirectional = XT_ON).output */
#define xt_gru(m, name, x, ...) XT_RNN_(XT_RNN_GRU, m, name, x, __VA_ARGS__, )
#define XT_RNN_(kind, m, name, x, hidden, ...)                                                                     \
    xt_rnn_at(                                                                                                     \
        XT_HERE, kind, m, name, x,                                                                                 \
        XT_NEEDED_(hidden,                                                                                         \
                   "xt_rnn, xt_lstm, xt_gru(m, name, x, hidden, ...): hidden, the size of the state, is missing"), \
        XT_OPTS(xt_rnn_opts, __VA_ARGS__))
/* Which cell a recurrent layer has. */
typedef enum xt_rnn_kind {
    XT_RNN_PLAIN = 0, /* h' = tanh(W x + b + U h + c) (Elman), or ReLU */
    XT_RNN_LSTM = 1, /* long short-term memory (Hochreiter and Schmidhuber 1997); states h and c */
    XT_RNN_GRU = 2 /* gated recurrent unit (Cho et al. 2014) */
} xt_rnn_kind;
XT_API xt_rnn_out xt_rnn_at(const xt_src *src, xt_rnn_kind kind, xt_module *m, const char *name, xt_tensor x,
                            int64_t hidden, xt_rnn_opts o);
/* One step: x [B,I] (or [I]) and the state in .h0, .c0 [B,hidden]; parameters weight_ih, weight_hh, bias_ih, bias_hh.
 * The new state is in .h (and .c); .output is .h. Several steps in one pass share weights: xt_share(m, name). */
#define xt_rnn_cell(m, name, x, ...) XT_RNN_CELL_(XT_RNN_PLAIN, m, name, x, __VA_ARGS__, )
#define xt_lstm_cell(m, name, x, ...) XT_RNN_CELL_(XT_RNN_LSTM, m, name, x, __VA_ARGS__, )
#define xt_gru_cell(m, name, x, ...) XT_RNN_CELL_(XT_RNN_GRU, m, name, x, __VA_ARGS__, )
#define XT_RNN_CELL_(kind, m, name, x, hidden, ...)                                                                   \
    xt_rnn_cell_at(XT_HERE, kind, m, name, x,                                                                         \
                   XT_NEEDED_(hidden, "xt_rnn_cell, xt_lstm_cell, xt_gru_cell(m, name, x, hidden, ...): hidden, the " \
                                      "size of the state, is missing"),                                               \
                   XT_OPTS(xt_rnn_opts, __VA_ARGS__))
XT_API xt_rnn_out xt_rnn_cell_at(const xt_src *src, xt_rnn_kind kind, xt_module *m, const char *name, xt_tensor x,
                                 int64_t hidden, xt_rnn_opts o);

/* --- Containers ---
 * torch.nn.Sequential: the functions in turn, the i-th with child module "name.i" (name "": "i"), so that xt_linear(m,
 * "", x, 8) in function 2 makes name.2.weight. A row without parameters still counts, as in PyTorch. A ModuleList is
 * xt_sub(m, "layers", i), a ModuleDict xt_sub(xt_sub(m, "heads", -1), key, -1). */
/* One function of a row of them, with what it gets as `user`. */
typedef struct xt_stage {
    xt_module_fn fn XT_ZERO; /* NULL ends the row */
    void *user XT_ZERO;
} xt_stage;
enum {
    XT_MAX_STAGES = 64 /* functions of one xt_sequential at most */
};
#ifdef __cplusplus
struct xt_stages_ {
    xt_stage s[XT_MAX_STAGES + 1];
};
#define XT_STAGES_(...) (xt_stages_{{__VA_ARGS__}}.s)
#else
#define XT_STAGES_(...) ((const xt_stage[XT_MAX_STAGES + 1]){__VA_ARGS__})
#endif
/* Stages one after the other, each a function and its user pointer, as a child of m:
 * xt_sequential(m, "net", x, {fc1, NULL}, {relu, NULL}, {fc2, NULL}) */
#define xt_sequential(m, name, x, ...) xt_sequential_at(XT_HERE, m, name, x, XT_STAGES_(__VA_ARGS__))
/* `stages` ends at the first row without a function. */
XT_API xt_tensor xt_sequential_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x,
                                  const xt_stage *stages);

#ifdef __cplusplus
}
#endif
#endif
