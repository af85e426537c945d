/* Names of PyTorch's, as somebody types them first with xt_ in front, whose function here has another name or
 * another form: the compiler says which, in place of "implicit declaration". Names that could simply be given a second
 * name are in names.h. Nothing here is part of any program that compiles. Made by tools/torch_names.py of the names
 * that doc/pytorch-names.md lists, and of tools/torch_spelled.txt.
 *
 *     x = xt_Linear(x, 10);   error: "xt_Linear: a layer is a call here: xt_linear(m, \"fc\", x, outputs)" */
#ifndef XTRAIN_SPELLED_H
#define XTRAIN_SPELLED_H

#include <xtrain/base.h>

/* One literal, on as many lines as it needs: gcc shows the first of several. */
#define XT_SPELLED_(text) XT_SPELLED_TEXT_(GCC error text) xt_has_another_name_here
#define XT_SPELLED_TEXT_(text) _Pragma(#text)

/* clang-format off */
#define xt_ASGD XT_SPELLED_("xt_ASGD: it is called xt_asgd(module, .lr = 0.01) here")
#define xt_AbsTransform XT_SPELLED_("xt_AbsTransform: here it is xt_transform(XT_ABS_TRANSFORM, x)")
#define xt_Adadelta XT_SPELLED_("xt_Adadelta: it is called xt_adadelta(module) here")
#define xt_Adafactor XT_SPELLED_("xt_Adafactor: it is called xt_adafactor(module, .lr = 0.01) here")
#define xt_Adagrad XT_SPELLED_("xt_Adagrad: it is called xt_adagrad(module) here")
#define xt_Adam XT_SPELLED_("xt_Adam: it is called xt_adam(module, .lr = 1e-3) here")
#define xt_AdamW XT_SPELLED_("xt_AdamW: it is called xt_adamw(module, .lr = 1e-3) here")
#define xt_Adamax XT_SPELLED_("xt_Adamax: it is called xt_adamax(module) here")
#define xt_AdaptiveAvgPool1d XT_SPELLED_("xt_AdaptiveAvgPool1d: it is called xt_adaptive_avg_pool1d(x, sizes, ...) \
here")
#define xt_AdaptiveAvgPool2d XT_SPELLED_("xt_AdaptiveAvgPool2d: a function here: xt_adaptive_avg_pool2d(x, size)")
#define xt_AdaptiveAvgPool3d XT_SPELLED_("xt_AdaptiveAvgPool3d: it is called xt_adaptive_avg_pool3d(x, sizes, ...) \
here")
#define xt_AdaptiveLogSoftmaxWithLoss XT_SPELLED_("xt_AdaptiveLogSoftmaxWithLoss: here it is xt_adaptive_log_softmax, \
xt_adaptive_log_prob")
#define xt_AdaptiveMaxPool1d XT_SPELLED_("xt_AdaptiveMaxPool1d: a function here: xt_adaptive_max_pool1d(x, size)")
#define xt_AdaptiveMaxPool2d XT_SPELLED_("xt_AdaptiveMaxPool2d: a function here: xt_adaptive_max_pool2d(x, height, \
width)")
#define xt_AdaptiveMaxPool3d XT_SPELLED_("xt_AdaptiveMaxPool3d: it is called xt_adaptive_max_pool3d(x, sizes, ...) \
here")
#define xt_AffineTransform XT_SPELLED_("xt_AffineTransform: it is called xt_affine_dist(d, loc, scale) here")
#define xt_AlphaDropout XT_SPELLED_("xt_AlphaDropout: it is called xt_alpha_dropout(m, x, ...) here")
#define xt_AveragedModel XT_SPELLED_("xt_AveragedModel: xt_ema(net), then xt_ema_update(ema, net, decay) a step")
#define xt_AvgPool1d XT_SPELLED_("xt_AvgPool1d: a function here: xt_avg_pool1d(x, kernel)")
#define xt_AvgPool2d XT_SPELLED_("xt_AvgPool2d: a function here: xt_avg_pool2d(x, kernel)")
#define xt_AvgPool3d XT_SPELLED_("xt_AvgPool3d: a function here: xt_avg_pool3d(x, kernel)")
#define xt_BCELoss XT_SPELLED_("xt_BCELoss: a function here: xt_binary_cross_entropy(p, y)")
#define xt_BCELossWithLogits XT_SPELLED_("xt_BCELossWithLogits: a function here: xt_bce_with_logits(x, y)")
#define xt_BCEWithLogitsLoss XT_SPELLED_("xt_BCEWithLogitsLoss: a function here: xt_bce_with_logits(x, y)")
#define xt_BFloat16Storage XT_SPELLED_("xt_BFloat16Storage: there are no strides and no storages to look at")
#define xt_BFloat16Tensor XT_SPELLED_("xt_BFloat16Tensor: here it is xt_from_array(values, dtype, dims)")
#define xt_BasePruningMethod XT_SPELLED_("xt_BasePruningMethod: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_BatchNorm XT_SPELLED_("xt_BatchNorm: a layer is a call here: xt_batch_norm(m, \"name\", x)")
#define xt_BatchNorm1d XT_SPELLED_("xt_BatchNorm1d: a layer is a call here: xt_batch_norm(m, \"name\", x), of any \
number of dims")
#define xt_BatchNorm2d XT_SPELLED_("xt_BatchNorm2d: a layer is a call here: xt_batch_norm(m, \"name\", x), of any \
number of dims")
#define xt_BatchNorm3d XT_SPELLED_("xt_BatchNorm3d: a layer is a call here: xt_batch_norm(m, \"name\", x), of any \
number of dims")
#define xt_BatchSampler XT_SPELLED_("xt_BatchSampler: here it is .batch of xt_loader_new, by length xt_bucket_sampler")
#define xt_Bernoulli XT_SPELLED_("xt_Bernoulli: it is called xt_bernoulli_dist here")
#define xt_Beta XT_SPELLED_("xt_Beta: it is called xt_beta_dist(concentration1, concentration0) here")
#define xt_Bilinear XT_SPELLED_("xt_Bilinear: a layer is a call here: xt_bilinear(m, \"name\", x, y, outputs)")
#define xt_Binomial XT_SPELLED_("xt_Binomial: it is called xt_binomial_dist(total_count, probs) here")
#define xt_BoolStorage XT_SPELLED_("xt_BoolStorage: there are no strides and no storages to look at")
#define xt_BoolTensor XT_SPELLED_("xt_BoolTensor: here it is xt_from_array(values, dtype, dims)")
#define xt_Buffer XT_SPELLED_("xt_Buffer: here it is xt_param, xt_buffer")
#define xt_ByteStorage XT_SPELLED_("xt_ByteStorage: there are no strides and no storages to look at")
#define xt_ByteTensor XT_SPELLED_("xt_ByteTensor: here it is xt_from_array(values, dtype, dims)")
#define xt_CELU XT_SPELLED_("xt_CELU: a function here: xt_celu(x, alpha)")
#define xt_CTCLoss XT_SPELLED_("xt_CTCLoss: a function here: xt_ctc_loss")
#define xt_CatTransform XT_SPELLED_("xt_CatTransform: done otherwise: xt_concat, xt_stack of transformed parts")
#define xt_Categorical XT_SPELLED_("xt_Categorical: it is called xt_categorical_dist here")
#define xt_Cauchy XT_SPELLED_("xt_Cauchy: it is called xt_cauchy_dist(loc, scale) here")
#define xt_ChainDataset XT_SPELLED_("xt_ChainDataset: here it is xt_combined_loader(n, loaders, .mode = \
XT_SEQUENTIAL)")
#define xt_ChainedScheduler XT_SPELLED_("xt_ChainedScheduler: it is called xt_chained_schedule here")
#define xt_ChannelShuffle XT_SPELLED_("xt_ChannelShuffle: it is called xt_channel_shuffle(x, groups) here")
#define xt_CharStorage XT_SPELLED_("xt_CharStorage: there are no strides and no storages to look at")
#define xt_CharTensor XT_SPELLED_("xt_CharTensor: here it is xt_from_array(values, dtype, dims)")
#define xt_CheckpointError XT_SPELLED_("xt_CheckpointError: internal to PyTorch: xt_checkpoint_block")
#define xt_CheckpointFunction XT_SPELLED_("xt_CheckpointFunction: internal to PyTorch: xt_checkpoint_block")
#define xt_CheckpointPolicy XT_SPELLED_("xt_CheckpointPolicy: internal to PyTorch: xt_checkpoint_block")
#define xt_Chi2 XT_SPELLED_("xt_Chi2: it is called xt_chi2_dist(df) here")
#define xt_CircularPad1d XT_SPELLED_("xt_CircularPad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_CircularPad2d XT_SPELLED_("xt_CircularPad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_CircularPad3d XT_SPELLED_("xt_CircularPad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_ComplexDoubleStorage XT_SPELLED_("xt_ComplexDoubleStorage: there are no strides and no storages to look at")
#define xt_ComplexFloatStorage XT_SPELLED_("xt_ComplexFloatStorage: there are no strides and no storages to look at")
#define xt_ComposeTransform XT_SPELLED_("xt_ComposeTransform: one distribution upon another")
#define xt_ConcatDataset XT_SPELLED_("xt_ConcatDataset: it is called xt_concat_datasets here")
#define xt_ConstantLR XT_SPELLED_("xt_ConstantLR: it is called xt_constant_schedule here")
#define xt_ConstantPad1d XT_SPELLED_("xt_ConstantPad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_ConstantPad2d XT_SPELLED_("xt_ConstantPad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_ConstantPad3d XT_SPELLED_("xt_ConstantPad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_Container XT_SPELLED_("xt_Container: here it is xt_module_new, xt_sub(m, \"h\", i)")
#define xt_ContinuousBernoulli XT_SPELLED_("xt_ContinuousBernoulli: it is called xt_continuous_bernoulli_dist(probs) \
here")
#define xt_Conv1d XT_SPELLED_("xt_Conv1d: a layer is a call here: xt_conv1d(m, \"name\", x, channels, kernel)")
#define xt_Conv2D XT_SPELLED_("xt_Conv2D: a layer is a call here: xt_conv2d(m, \"name\", x, channels, kernel)")
#define xt_Conv2d XT_SPELLED_("xt_Conv2d: a layer is a call here: xt_conv2d(m, \"name\", x, channels, kernel)")
#define xt_Conv3d XT_SPELLED_("xt_Conv3d: a layer is a call here: xt_conv3d(m, \"name\", x, channels, kernel)")
#define xt_ConvTranspose1d XT_SPELLED_("xt_ConvTranspose1d: a layer is a call here: xt_conv_transpose1d(m, \"name\", \
x, channels, kernel)")
#define xt_ConvTranspose2d XT_SPELLED_("xt_ConvTranspose2d: a layer is a call here: xt_conv_transpose2d(m, \"name\", \
x, channels, kernel)")
#define xt_ConvTranspose3d XT_SPELLED_("xt_ConvTranspose3d: it is called xt_conv_transpose3d here")
#define xt_CorrCholeskyTransform XT_SPELLED_("xt_CorrCholeskyTransform: here it is \
xt_transform(XT_CORR_CHOLESKY_TRANSFORM, x)")
#define xt_CosineAnnealingLR XT_SPELLED_("xt_CosineAnnealingLR: it is called xt_cosine_schedule here")
#define xt_CosineAnnealingWarmRestarts XT_SPELLED_("xt_CosineAnnealingWarmRestarts: it is called \
xt_warm_restarts_schedule(optimizer, .t_0) here")
#define xt_CosineEmbeddingLoss XT_SPELLED_("xt_CosineEmbeddingLoss: it is called xt_cosine_embedding_loss(x1, x2, y, \
...) here")
#define xt_CosineSimilarity XT_SPELLED_("xt_CosineSimilarity: it is called xt_cosine_similarity here")
#define xt_CrossEntropyLoss XT_SPELLED_("xt_CrossEntropyLoss: a function here: xt_cross_entropy(logits, labels)")
#define xt_CrossMapLRN2d XT_SPELLED_("xt_CrossMapLRN2d: it is called xt_local_response_norm here")
#define xt_CumulativeDistributionTransform XT_SPELLED_("xt_CumulativeDistributionTransform: done otherwise: \
xt_dist_cdf, xt_dist_icdf; its slope is xt_dist_log_prob")
#define xt_CustomFromMask XT_SPELLED_("xt_CustomFromMask: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_CyclicLR XT_SPELLED_("xt_CyclicLR: it is called xt_cyclic_schedule(optimizer, .base_lr, .max_lr) here")
#define xt_DFIterDataPipe XT_SPELLED_("xt_DFIterDataPipe: internal to PyTorch: xt_map_dataset, xt_stream_dataset")
#define xt_DType XT_SPELLED_("xt_DType: internal to PyTorch")
#define xt_DataChunk XT_SPELLED_("xt_DataChunk: internal to PyTorch: xt_map_dataset, xt_stream_dataset")
#define xt_DataLoader XT_SPELLED_("xt_DataLoader: it is called xt_loader_new(dataset, .batch = 32) here")
#define xt_DataParallel XT_SPELLED_("xt_DataParallel: xtrain launch: ranks average gradients")
#define xt_Dataset XT_SPELLED_("xt_Dataset: it is called xt_dataset, made by xt_dataset_new(&(xt_dataset_desc){...}) \
here")
#define xt_DefaultDeviceType XT_SPELLED_("xt_DefaultDeviceType: internal to PyTorch: xt_checkpoint_block")
#define xt_Dirichlet XT_SPELLED_("xt_Dirichlet: it is called xt_dirichlet_dist(concentration) here")
#define xt_DistributedSampler XT_SPELLED_("xt_DistributedSampler: loaders divide their samples over the ranks by \
themselves")
#define xt_Distribution XT_SPELLED_("xt_Distribution: classes of Python's")
#define xt_DoubleStorage XT_SPELLED_("xt_DoubleStorage: there are no strides and no storages to look at")
#define xt_DoubleTensor XT_SPELLED_("xt_DoubleTensor: here it is xt_from_array(values, dtype, dims)")
#define xt_Dropout XT_SPELLED_("xt_Dropout: a layer is a call here: xt_dropout(m, x, p)")
#define xt_Dropout1d XT_SPELLED_("xt_Dropout1d: it is called xt_dropout1d(m, x, ...) here")
#define xt_Dropout2d XT_SPELLED_("xt_Dropout2d: a layer is a call here: xt_dropout2d(m, x, p)")
#define xt_Dropout3d XT_SPELLED_("xt_Dropout3d: it is called xt_dropout3d(m, x, ...) here")
#define xt_ELU XT_SPELLED_("xt_ELU: a function here: xt_elu(x, alpha)")
#define xt_EarlyStopping XT_SPELLED_("xt_EarlyStopping: it is called xt_early_stopping(.monitor = \"val/loss\") here")
#define xt_Embedding XT_SPELLED_("xt_Embedding: a layer is a call here: xt_embedding(m, \"name\", indices, vocabulary, \
size)")
#define xt_EmbeddingBag XT_SPELLED_("xt_EmbeddingBag: a function here: xt_embedding_bag(indices, table, mode, \
weights)")
#define xt_Event XT_SPELLED_("xt_Event: the device orders its programs by itself: xt_wait waits for them")
#define xt_ExpTransform XT_SPELLED_("xt_ExpTransform: here it is xt_exp_dist, xt_transform(XT_EXP_TRANSFORM, x)")
#define xt_Exponential XT_SPELLED_("xt_Exponential: it is called xt_exponential_dist(rate) here")
#define xt_ExponentialFamily XT_SPELLED_("xt_ExponentialFamily: classes of Python's")
#define xt_ExponentialLR XT_SPELLED_("xt_ExponentialLR: it is called xt_exponential_schedule here")
#define xt_F_DType XT_SPELLED_("xt_F_DType: internal to PyTorch")
#define xt_F_Tensor XT_SPELLED_("xt_F_Tensor: it is called xt_tensor, a handle passed by value here")
#define xt_F_adaptive_avg_pool1d XT_SPELLED_("xt_F_adaptive_avg_pool1d: it is called xt_adaptive_avg_pool1d(x, sizes, \
...) here")
#define xt_F_adaptive_avg_pool2d XT_SPELLED_("xt_F_adaptive_avg_pool2d: it is called xt_adaptive_avg_pool2d(x, sizes, \
...) here")
#define xt_F_adaptive_avg_pool3d XT_SPELLED_("xt_F_adaptive_avg_pool3d: it is called xt_adaptive_avg_pool3d(x, sizes, \
...) here")
#define xt_F_adaptive_max_pool1d XT_SPELLED_("xt_F_adaptive_max_pool1d: it is called xt_adaptive_max_pool1d(x, sizes, \
...) here")
#define xt_F_adaptive_max_pool1d_with_indices XT_SPELLED_("xt_F_adaptive_max_pool1d_with_indices: it is called \
xt_adaptive_max_pool1d_with_indices(x, out_indices, sizes, ...) here")
#define xt_F_adaptive_max_pool2d XT_SPELLED_("xt_F_adaptive_max_pool2d: it is called xt_adaptive_max_pool2d(x, sizes, \
...) here")
#define xt_F_adaptive_max_pool2d_with_indices XT_SPELLED_("xt_F_adaptive_max_pool2d_with_indices: it is called \
xt_adaptive_max_pool2d_with_indices(x, out_indices, sizes, ...) here")
#define xt_F_adaptive_max_pool3d XT_SPELLED_("xt_F_adaptive_max_pool3d: it is called xt_adaptive_max_pool3d(x, sizes, \
...) here")
#define xt_F_adaptive_max_pool3d_with_indices XT_SPELLED_("xt_F_adaptive_max_pool3d_with_indices: it is called \
xt_adaptive_max_pool3d_with_indices(x, out_indices, sizes, ...) here")
#define xt_F_affine_grid XT_SPELLED_("xt_F_affine_grid: it is called xt_affine_grid(theta, height, width, ...) here")
#define xt_F_alpha_dropout XT_SPELLED_("xt_F_alpha_dropout: it is called xt_alpha_dropout(m, x, ...) here")
#define xt_F_assert_int_or_pair XT_SPELLED_("xt_F_assert_int_or_pair: internal to PyTorch")
#define xt_F_avg_pool1d XT_SPELLED_("xt_F_avg_pool1d: it is called xt_avg_pool1d(x, kernel, ...) here")
#define xt_F_avg_pool2d XT_SPELLED_("xt_F_avg_pool2d: it is called xt_avg_pool2d(x, kernel, ...) here")
#define xt_F_avg_pool3d XT_SPELLED_("xt_F_avg_pool3d: it is called xt_avg_pool3d(x, kernel, ...) here")
#define xt_F_batch_norm XT_SPELLED_("xt_F_batch_norm: here it is xt_batch_norm; with weights given, .affine = XT_OFF \
and xt_mul, xt_add of them")
#define xt_F_bilinear XT_SPELLED_("xt_F_bilinear: here it is xt_bilinear; with weights given xt_einsum")
#define xt_F_binary_cross_entropy XT_SPELLED_("xt_F_binary_cross_entropy: it is called xt_binary_cross_entropy(x, y, \
...) here")
#define xt_F_binary_cross_entropy_with_logits XT_SPELLED_("xt_F_binary_cross_entropy_with_logits: it is called \
xt_bce_with_logits(x, y, ...) here")
#define xt_F_celu XT_SPELLED_("xt_F_celu: it is called xt_celu here")
#define xt_F_celu_ XT_SPELLED_("xt_F_celu_: a value never changes: xt_celu")
#define xt_F_channel_shuffle XT_SPELLED_("xt_F_channel_shuffle: it is called xt_channel_shuffle(x, groups) here")
#define xt_F_conv1d XT_SPELLED_("xt_F_conv1d: it is called xt_conv1d here")
#define xt_F_conv2d XT_SPELLED_("xt_F_conv2d: it is called xt_conv2d here")
#define xt_F_conv3d XT_SPELLED_("xt_F_conv3d: it is called xt_conv3d here")
#define xt_F_conv_tbc XT_SPELLED_("xt_F_conv_tbc: internal to PyTorch")
#define xt_F_conv_transpose1d XT_SPELLED_("xt_F_conv_transpose1d: it is called xt_conv_transpose1d here")
#define xt_F_conv_transpose2d XT_SPELLED_("xt_F_conv_transpose2d: it is called xt_conv_transpose2d here")
#define xt_F_conv_transpose3d XT_SPELLED_("xt_F_conv_transpose3d: it is called xt_conv_transpose3d here")
#define xt_F_cosine_embedding_loss XT_SPELLED_("xt_F_cosine_embedding_loss: it is called xt_cosine_embedding_loss(x1, \
x2, y, ...) here")
#define xt_F_cosine_similarity XT_SPELLED_("xt_F_cosine_similarity: it is called xt_cosine_similarity(x, y, ...) here")
#define xt_F_cross_entropy XT_SPELLED_("xt_F_cross_entropy: it is called xt_cross_entropy(logits, labels, ...) here")
#define xt_F_ctc_loss XT_SPELLED_("xt_F_ctc_loss: it is called xt_ctc_loss here")
#define xt_F_d_type XT_SPELLED_("xt_F_d_type: internal to PyTorch")
#define xt_F_dropout XT_SPELLED_("xt_F_dropout: it is called xt_dropout(m, x, ...) here")
#define xt_F_dropout1d XT_SPELLED_("xt_F_dropout1d: it is called xt_dropout1d(m, x, ...) here")
#define xt_F_dropout2d XT_SPELLED_("xt_F_dropout2d: it is called xt_dropout2d(m, x, ...) here")
#define xt_F_dropout3d XT_SPELLED_("xt_F_dropout3d: it is called xt_dropout3d(m, x, ...) here")
#define xt_F_dtype XT_SPELLED_("xt_F_dtype: internal to PyTorch")
#define xt_F_elu XT_SPELLED_("xt_F_elu: it is called xt_elu here")
#define xt_F_elu_ XT_SPELLED_("xt_F_elu_: a value never changes: xt_elu")
#define xt_F_embedding XT_SPELLED_("xt_F_embedding: it is called xt_embedding here")
#define xt_F_embedding_bag XT_SPELLED_("xt_F_embedding_bag: it is called xt_embedding_bag(indices, table, mode, \
weights, ...) here")
#define xt_F_feature_alpha_dropout XT_SPELLED_("xt_F_feature_alpha_dropout: it is called xt_feature_alpha_dropout(m, \
x, ...) here")
#define xt_F_fold XT_SPELLED_("xt_F_fold: it is called xt_fold(x, height, width, kernel_h, kernel_w, ...) here")
#define xt_F_fractional_max_pool2d XT_SPELLED_("xt_F_fractional_max_pool2d: it is called xt_fractional_max_pool2d(x, \
kernel, out_indices, ...) here")
#define xt_F_fractional_max_pool2d_with_indices XT_SPELLED_("xt_F_fractional_max_pool2d_with_indices: here it is \
xt_fractional_max_pool2d(x, kernel, &indices, .sizes), xt_fractional_max_pool3d")
#define xt_F_fractional_max_pool3d XT_SPELLED_("xt_F_fractional_max_pool3d: it is called xt_fractional_max_pool3d(x, \
kernel, out_indices, ...) here")
#define xt_F_fractional_max_pool3d_with_indices XT_SPELLED_("xt_F_fractional_max_pool3d_with_indices: here it is \
xt_fractional_max_pool2d(x, kernel, &indices, .sizes), xt_fractional_max_pool3d")
#define xt_F_gaussian_nll_loss XT_SPELLED_("xt_F_gaussian_nll_loss: it is called xt_gaussian_nll_loss(x, y, variance, \
...) here")
#define xt_F_gelu XT_SPELLED_("xt_F_gelu: here it is xt_gelu_erf, tanh form xt_gelu")
#define xt_F_glu XT_SPELLED_("xt_F_glu: it is called xt_glu here")
#define xt_F_grid_sample XT_SPELLED_("xt_F_grid_sample: it is called xt_grid_sample(x, grid, ...) here")
#define xt_F_group_norm XT_SPELLED_("xt_F_group_norm: here it is xt_group_norm; with weights given, .affine = XT_OFF \
and xt_mul, xt_add of them")
#define xt_F_gumbel_softmax XT_SPELLED_("xt_F_gumbel_softmax: it is called xt_gumbel_softmax here")
#define xt_F_hardshrink XT_SPELLED_("xt_F_hardshrink: it is called xt_hardshrink here")
#define xt_F_hardsigmoid XT_SPELLED_("xt_F_hardsigmoid: it is called xt_hardsigmoid(x) here")
#define xt_F_hardswish XT_SPELLED_("xt_F_hardswish: it is called xt_hardswish(x) here")
#define xt_F_hardtanh XT_SPELLED_("xt_F_hardtanh: it is called xt_hardtanh here")
#define xt_F_hardtanh_ XT_SPELLED_("xt_F_hardtanh_: a value never changes: xt_hardtanh")
#define xt_F_has_torch_function XT_SPELLED_("xt_F_has_torch_function: internal to PyTorch")
#define xt_F_has_torch_function_unary XT_SPELLED_("xt_F_has_torch_function_unary: internal to PyTorch")
#define xt_F_has_torch_function_variadic XT_SPELLED_("xt_F_has_torch_function_variadic: internal to PyTorch")
#define xt_F_hinge_embedding_loss XT_SPELLED_("xt_F_hinge_embedding_loss: it is called xt_hinge_embedding_loss(x, y, \
...) here")
#define xt_F_huber_loss XT_SPELLED_("xt_F_huber_loss: it is called xt_huber_loss(x, y, ...) here")
#define xt_F_instance_norm XT_SPELLED_("xt_F_instance_norm: here it is xt_instance_norm; with weights given, .affine = \
XT_OFF and xt_mul, xt_add of them")
#define xt_F_interpolate XT_SPELLED_("xt_F_interpolate: it is called xt_interpolate here")
#define xt_F_kl_div XT_SPELLED_("xt_F_kl_div: it is called xt_kl_div(log_probs, y, ...) here")
#define xt_F_l1_loss XT_SPELLED_("xt_F_l1_loss: it is called xt_l1_loss(x, y, ...) here")
#define xt_F_layer_norm XT_SPELLED_("xt_F_layer_norm: here it is xt_layer_norm; with weights given, .affine = XT_OFF \
and xt_mul, xt_add of them")
#define xt_F_leaky_relu XT_SPELLED_("xt_F_leaky_relu: it is called xt_leaky_relu here")
#define xt_F_leaky_relu_ XT_SPELLED_("xt_F_leaky_relu_: a value never changes: xt_leaky_relu")
#define xt_F_linear XT_SPELLED_("xt_F_linear: here it is xt_linear; with weights given xt_add(xt_matmul(x, \
xt_t(weight)), bias)")
#define xt_F_local_response_norm XT_SPELLED_("xt_F_local_response_norm: it is called xt_local_response_norm here")
#define xt_F_log_softmax XT_SPELLED_("xt_F_log_softmax: it is called xt_log_softmax(x, axis) here")
#define xt_F_logsigmoid XT_SPELLED_("xt_F_logsigmoid: it is called xt_logsigmoid(x) here")
#define xt_F_lp_pool1d XT_SPELLED_("xt_F_lp_pool1d: it is called xt_lp_pool1d(x, p, kernel, ...) here")
#define xt_F_lp_pool2d XT_SPELLED_("xt_F_lp_pool2d: it is called xt_lp_pool2d(x, p, kernel, ...) here")
#define xt_F_lp_pool3d XT_SPELLED_("xt_F_lp_pool3d: it is called xt_lp_pool3d(x, p, kernel, ...) here")
#define xt_F_margin_ranking_loss XT_SPELLED_("xt_F_margin_ranking_loss: it is called xt_margin_ranking_loss(x1, x2, y, \
...) here")
#define xt_F_max_pool1d XT_SPELLED_("xt_F_max_pool1d: it is called xt_max_pool1d(x, kernel, ...) here")
#define xt_F_max_pool1d_with_indices XT_SPELLED_("xt_F_max_pool1d_with_indices: it is called \
xt_max_pool1d_with_indices(x, kernel, out_indices, ...) here")
#define xt_F_max_pool2d XT_SPELLED_("xt_F_max_pool2d: it is called xt_max_pool2d(x, kernel, ...) here")
#define xt_F_max_pool2d_with_indices XT_SPELLED_("xt_F_max_pool2d_with_indices: it is called \
xt_max_pool2d_with_indices(x, kernel, out_indices, ...) here")
#define xt_F_max_pool3d XT_SPELLED_("xt_F_max_pool3d: it is called xt_max_pool3d(x, kernel, ...) here")
#define xt_F_max_pool3d_with_indices XT_SPELLED_("xt_F_max_pool3d_with_indices: it is called \
xt_max_pool3d_with_indices(x, kernel, out_indices, ...) here")
#define xt_F_max_unpool1d XT_SPELLED_("xt_F_max_unpool1d: it is called xt_max_unpool1d(x, indices, kernel, ...) here")
#define xt_F_max_unpool2d XT_SPELLED_("xt_F_max_unpool2d: it is called xt_max_unpool2d(x, indices, kernel, ...) here")
#define xt_F_max_unpool3d XT_SPELLED_("xt_F_max_unpool3d: it is called xt_max_unpool3d(x, indices, kernel, ...) here")
#define xt_F_mish XT_SPELLED_("xt_F_mish: it is called xt_mish(x) here")
#define xt_F_mse_loss XT_SPELLED_("xt_F_mse_loss: it is called xt_mse_loss(x, y, ...) here")
#define xt_F_multi_head_attention_forward XT_SPELLED_("xt_F_multi_head_attention_forward: a layer is a call here: \
xt_multihead_attention(m, \"name\", q, k)")
#define xt_F_multi_margin_loss XT_SPELLED_("xt_F_multi_margin_loss: it is called xt_multi_margin_loss(x, labels, ...) \
here")
#define xt_F_multilabel_margin_loss XT_SPELLED_("xt_F_multilabel_margin_loss: it is called \
xt_multilabel_margin_loss(x, labels, ...) here")
#define xt_F_multilabel_soft_margin_loss XT_SPELLED_("xt_F_multilabel_soft_margin_loss: it is called \
xt_multilabel_soft_margin_loss(x, y, ...) here")
#define xt_F_native_channel_shuffle XT_SPELLED_("xt_F_native_channel_shuffle: internal to PyTorch")
#define xt_F_nll_loss XT_SPELLED_("xt_F_nll_loss: it is called xt_nll_loss(log_probs, labels, ...) here")
#define xt_F_normalize XT_SPELLED_("xt_F_normalize: it is called xt_normalize(x, axis, ...) here")
#define xt_F_one_hot XT_SPELLED_("xt_F_one_hot: it is called xt_one_hot(labels, classes, ...) here")
#define xt_F_pad XT_SPELLED_("xt_F_pad: it is called xt_pad(x, amounts, ...) here")
#define xt_F_pairwise_distance XT_SPELLED_("xt_F_pairwise_distance: it is called xt_pairwise_distance(x, y, ...) here")
#define xt_F_pdist XT_SPELLED_("xt_F_pdist: it is called xt_pdist here")
#define xt_F_pixel_shuffle XT_SPELLED_("xt_F_pixel_shuffle: it is called xt_pixel_shuffle(x, r) here")
#define xt_F_pixel_unshuffle XT_SPELLED_("xt_F_pixel_unshuffle: it is called xt_pixel_unshuffle(x, r) here")
#define xt_F_poisson_nll_loss XT_SPELLED_("xt_F_poisson_nll_loss: it is called xt_poisson_nll_loss(x, y, ...) here")
#define xt_F_prelu XT_SPELLED_("xt_F_prelu: it is called xt_prelu(m, name, x, ...) here")
#define xt_F_relu XT_SPELLED_("xt_F_relu: it is called xt_relu(x) here")
#define xt_F_relu6 XT_SPELLED_("xt_F_relu6: it is called xt_relu6(x) here")
#define xt_F_relu_ XT_SPELLED_("xt_F_relu_: a value never changes: x = xt_relu(x)")
#define xt_F_rms_norm XT_SPELLED_("xt_F_rms_norm: here it is xt_rms_norm; with weights given, .affine = XT_OFF and \
xt_mul, xt_add of them")
#define xt_F_rrelu XT_SPELLED_("xt_F_rrelu: it is called xt_rrelu here")
#define xt_F_rrelu_ XT_SPELLED_("xt_F_rrelu_: a value never changes: xt_rrelu")
#define xt_F_scaled_dot_product_attention XT_SPELLED_("xt_F_scaled_dot_product_attention: it is called \
xt_scaled_dot_product_attention(q, k, v, ...) here")
#define xt_F_selu XT_SPELLED_("xt_F_selu: it is called xt_selu(x) here")
#define xt_F_selu_ XT_SPELLED_("xt_F_selu_: a value never changes: xt_selu")
#define xt_F_sigmoid XT_SPELLED_("xt_F_sigmoid: it is called xt_sigmoid(x) here")
#define xt_F_silu XT_SPELLED_("xt_F_silu: it is called xt_silu(x) here")
#define xt_F_smooth_l1_loss XT_SPELLED_("xt_F_smooth_l1_loss: it is called xt_smooth_l1_loss(x, y, ...) here")
#define xt_F_soft_margin_loss XT_SPELLED_("xt_F_soft_margin_loss: it is called xt_soft_margin_loss(x, y, ...) here")
#define xt_F_softmax XT_SPELLED_("xt_F_softmax: it is called xt_softmax(x, axis) here")
#define xt_F_softmin XT_SPELLED_("xt_F_softmin: it is called xt_softmin(x, axis) here")
#define xt_F_softplus XT_SPELLED_("xt_F_softplus: it is called xt_softplus here")
#define xt_F_softshrink XT_SPELLED_("xt_F_softshrink: it is called xt_softshrink here")
#define xt_F_softsign XT_SPELLED_("xt_F_softsign: it is called xt_softsign(x) here")
#define xt_F_tanh XT_SPELLED_("xt_F_tanh: it is called xt_tanh(x) here")
#define xt_F_tanhshrink XT_SPELLED_("xt_F_tanhshrink: it is called xt_tanhshrink(x) here")
#define xt_F_tensor XT_SPELLED_("xt_F_tensor: it is called xt_tensor, a handle passed by value here")
#define xt_F_threshold XT_SPELLED_("xt_F_threshold: it is called xt_threshold(x, limit, value) here")
#define xt_F_threshold_ XT_SPELLED_("xt_F_threshold_: a value never changes: xt_threshold")
#define xt_F_triplet_margin_loss XT_SPELLED_("xt_F_triplet_margin_loss: it is called xt_triplet_margin_loss(anchor, \
positive, negative, ...) here")
#define xt_F_triplet_margin_with_distance_loss XT_SPELLED_("xt_F_triplet_margin_with_distance_loss: it is \
xt_margin_ranking_loss of the distances")
#define xt_F_unfold XT_SPELLED_("xt_F_unfold: it is called xt_unfold(x, kernel_h, kernel_w, ...) here")
#define xt_F_upsample XT_SPELLED_("xt_F_upsample: it is called xt_interpolate(x, .scale = 2) here")
#define xt_F_upsample_bilinear XT_SPELLED_("xt_F_upsample_bilinear: it is called xt_interpolate here")
#define xt_F_upsample_nearest XT_SPELLED_("xt_F_upsample_nearest: it is called xt_interpolate here")
#define xt_FeatureAlphaDropout XT_SPELLED_("xt_FeatureAlphaDropout: it is called xt_feature_alpha_dropout(m, x, ...) \
here")
#define xt_FisherSnedecor XT_SPELLED_("xt_FisherSnedecor: it is called xt_fisher_snedecor_dist(df1, df2) here")
#define xt_Flatten XT_SPELLED_("xt_Flatten: a function here: xt_flatten(x, first axis)")
#define xt_FloatStorage XT_SPELLED_("xt_FloatStorage: there are no strides and no storages to look at")
#define xt_FloatTensor XT_SPELLED_("xt_FloatTensor: here it is xt_from_array(values, dtype, dims)")
#define xt_Fold XT_SPELLED_("xt_Fold: it is called xt_fold here")
#define xt_FractionalMaxPool2d XT_SPELLED_("xt_FractionalMaxPool2d: it is called xt_fractional_max_pool2d(x, kernel, \
out_indices, ...) here")
#define xt_FractionalMaxPool3d XT_SPELLED_("xt_FractionalMaxPool3d: it is called xt_fractional_max_pool3d(x, kernel, \
out_indices, ...) here")
#define xt_Function XT_SPELLED_("xt_Function: it is called xt_custom_grad(forward, backward, n_in, in, n_out, out, \
...) here")
#define xt_GELU XT_SPELLED_("xt_GELU: a function here: xt_gelu_erf(x), in its tanh form xt_gelu(x)")
#define xt_GLU XT_SPELLED_("xt_GLU: a function here: xt_glu(x, axis)")
#define xt_GRU XT_SPELLED_("xt_GRU: a layer is a call here: xt_gru(m, \"name\", x, hidden)")
#define xt_GRUCell XT_SPELLED_("xt_GRUCell: a layer is a call here: xt_gru_cell")
#define xt_Gamma XT_SPELLED_("xt_Gamma: it is called xt_gamma_dist(concentration, rate) here")
#define xt_GaussianNLLLoss XT_SPELLED_("xt_GaussianNLLLoss: it is called xt_gaussian_nll_loss(x, y, variance, ...) \
here")
#define xt_GeneralizedPareto XT_SPELLED_("xt_GeneralizedPareto: it is called xt_generalized_pareto_dist(loc, scale, \
concentration) here")
#define xt_Generator XT_SPELLED_("xt_Generator: one stream of random numbers: xt_seed, xt_rng_state_save")
#define xt_Geometric XT_SPELLED_("xt_Geometric: it is called xt_geometric_dist(probs) here")
#define xt_GradScaler XT_SPELLED_("xt_GradScaler: it is called xt_loss_scaler_new() here")
#define xt_GroupNorm XT_SPELLED_("xt_GroupNorm: a layer is a call here: xt_group_norm(m, \"name\", x, groups)")
#define xt_Gumbel XT_SPELLED_("xt_Gumbel: it is called xt_gumbel_dist(loc, scale) here")
#define xt_H XT_SPELLED_("xt_H: here it is xt_adjoint(x)")
#define xt_HalfCauchy XT_SPELLED_("xt_HalfCauchy: it is called xt_half_cauchy_dist(scale) here")
#define xt_HalfNormal XT_SPELLED_("xt_HalfNormal: it is called xt_half_normal_dist(scale) here")
#define xt_HalfStorage XT_SPELLED_("xt_HalfStorage: there are no strides and no storages to look at")
#define xt_HalfTensor XT_SPELLED_("xt_HalfTensor: here it is xt_from_array(values, dtype, dims)")
#define xt_Hardshrink XT_SPELLED_("xt_Hardshrink: it is called xt_hardshrink here")
#define xt_Hardsigmoid XT_SPELLED_("xt_Hardsigmoid: it is called xt_hardsigmoid(x) here")
#define xt_Hardswish XT_SPELLED_("xt_Hardswish: a function here: xt_hardswish(x)")
#define xt_Hardtanh XT_SPELLED_("xt_Hardtanh: it is called xt_hardtanh(x) here")
#define xt_HingeEmbeddingLoss XT_SPELLED_("xt_HingeEmbeddingLoss: it is called xt_hinge_embedding_loss(x, y, ...) \
here")
#define xt_HuberLoss XT_SPELLED_("xt_HuberLoss: a function here: xt_huber_loss(x, y)")
#define xt_Identity XT_SPELLED_("xt_Identity: a layer is a call here: x itself")
#define xt_Independent XT_SPELLED_("xt_Independent: it is called xt_independent_dist(d, n) here")
#define xt_IndependentTransform XT_SPELLED_("xt_IndependentTransform: one distribution upon another")
#define xt_InstanceNorm1d XT_SPELLED_("xt_InstanceNorm1d: a layer is a call here: xt_instance_norm(m, \"name\", x)")
#define xt_InstanceNorm2d XT_SPELLED_("xt_InstanceNorm2d: a layer is a call here: xt_instance_norm(m, \"name\", x)")
#define xt_InstanceNorm3d XT_SPELLED_("xt_InstanceNorm3d: a layer is a call here: xt_instance_norm(m, \"name\", x)")
#define xt_IntStorage XT_SPELLED_("xt_IntStorage: there are no strides and no storages to look at")
#define xt_IntTensor XT_SPELLED_("xt_IntTensor: here it is xt_from_array(values, dtype, dims)")
#define xt_InverseGamma XT_SPELLED_("xt_InverseGamma: it is called xt_inverse_gamma_dist(concentration, rate) here")
#define xt_IterDataPipe XT_SPELLED_("xt_IterDataPipe: internal to PyTorch: xt_map_dataset, xt_stream_dataset")
#define xt_IterableDataset XT_SPELLED_("xt_IterableDataset: here it is xt_dataset_new(&desc), without a count \
xt_stream_dataset")
#define xt_KLDivLoss XT_SPELLED_("xt_KLDivLoss: a function here: xt_kl_div(x, y)")
#define xt_Kumaraswamy XT_SPELLED_("xt_Kumaraswamy: it is called xt_kumaraswamy_dist(concentration1, concentration0) \
here")
#define xt_L1Loss XT_SPELLED_("xt_L1Loss: a function here: xt_l1_loss(x, y)")
#define xt_L1Unstructured XT_SPELLED_("xt_L1Unstructured: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_LBFGS XT_SPELLED_("xt_LBFGS: it is called xt_lbfgs(module) here")
#define xt_LKJCholesky XT_SPELLED_("xt_LKJCholesky: it is called xt_lkj_cholesky_dist(dim, concentration) here")
#define xt_LPPool1d XT_SPELLED_("xt_LPPool1d: it is called xt_lp_pool1d(x, p, kernel, ...) here")
#define xt_LPPool2d XT_SPELLED_("xt_LPPool2d: it is called xt_lp_pool2d(x, p, kernel, ...) here")
#define xt_LPPool3d XT_SPELLED_("xt_LPPool3d: it is called xt_lp_pool3d(x, p, kernel, ...) here")
#define xt_LRScheduler XT_SPELLED_("xt_LRScheduler: done otherwise: xt_schedule_step")
#define xt_LSTM XT_SPELLED_("xt_LSTM: a layer is a call here: xt_lstm(m, \"name\", x, hidden)")
#define xt_LSTMCell XT_SPELLED_("xt_LSTMCell: a layer is a call here: xt_lstm_cell")
#define xt_LambdaLR XT_SPELLED_("xt_LambdaLR: it is called xt_lambda_schedule here")
#define xt_Laplace XT_SPELLED_("xt_Laplace: it is called xt_laplace_dist(loc, scale) here")
#define xt_LayerNorm XT_SPELLED_("xt_LayerNorm: a layer is a call here: xt_layer_norm(m, \"name\", x)")
#define xt_LazyBatchNorm1d XT_SPELLED_("xt_LazyBatchNorm1d: here it is xt_batch_norm: parameters are made by the first \
call")
#define xt_LazyBatchNorm2d XT_SPELLED_("xt_LazyBatchNorm2d: here it is xt_batch_norm: parameters are made by the first \
call")
#define xt_LazyBatchNorm3d XT_SPELLED_("xt_LazyBatchNorm3d: here it is xt_batch_norm: parameters are made by the first \
call")
#define xt_LazyConv1d XT_SPELLED_("xt_LazyConv1d: here it is xt_conv1d, xt_conv2d, xt_conv3d: every layer is lazy")
#define xt_LazyConv2d XT_SPELLED_("xt_LazyConv2d: here it is xt_conv1d, xt_conv2d, xt_conv3d: every layer is lazy")
#define xt_LazyConv3d XT_SPELLED_("xt_LazyConv3d: here it is xt_conv1d, xt_conv2d, xt_conv3d: every layer is lazy")
#define xt_LazyConvTranspose1d XT_SPELLED_("xt_LazyConvTranspose1d: here it is xt_conv_transpose1d, \
xt_conv_transpose2d, xt_conv_transpose3d")
#define xt_LazyConvTranspose2d XT_SPELLED_("xt_LazyConvTranspose2d: here it is xt_conv_transpose1d, \
xt_conv_transpose2d, xt_conv_transpose3d")
#define xt_LazyConvTranspose3d XT_SPELLED_("xt_LazyConvTranspose3d: here it is xt_conv_transpose1d, \
xt_conv_transpose2d, xt_conv_transpose3d")
#define xt_LazyInstanceNorm1d XT_SPELLED_("xt_LazyInstanceNorm1d: it is called xt_instance_norm(m, name, x, ...) here")
#define xt_LazyInstanceNorm2d XT_SPELLED_("xt_LazyInstanceNorm2d: it is called xt_instance_norm(m, name, x, ...) here")
#define xt_LazyInstanceNorm3d XT_SPELLED_("xt_LazyInstanceNorm3d: it is called xt_instance_norm(m, name, x, ...) here")
#define xt_LazyLinear XT_SPELLED_("xt_LazyLinear: every layer is lazy: xt_linear(m, \"fc\", x, outputs)")
#define xt_LeakyReLU XT_SPELLED_("xt_LeakyReLU: a function here: xt_leaky_relu(x, slope)")
#define xt_LightningDataModule XT_SPELLED_("xt_LightningDataModule: it is called xt_data_module, a struct of functions \
here")
#define xt_LightningModule XT_SPELLED_("xt_LightningModule: it is called xt_task, a struct of functions here")
#define xt_LinAlgError XT_SPELLED_("xt_LinAlgError: error tensors, NaN")
#define xt_Linear XT_SPELLED_("xt_Linear: a layer is a call here: xt_linear(m, \"fc\", x, outputs)")
#define xt_LinearLR XT_SPELLED_("xt_LinearLR: it is called xt_linear_schedule here")
#define xt_LnStructured XT_SPELLED_("xt_LnStructured: not there: weights are not pruned here: a mask is xt_mul(weight, \
mask) in the module's function")
#define xt_LocalResponseNorm XT_SPELLED_("xt_LocalResponseNorm: it is called xt_local_response_norm here")
#define xt_LogNormal XT_SPELLED_("xt_LogNormal: it is called xt_log_normal_dist(loc, scale) here")
#define xt_LogSigmoid XT_SPELLED_("xt_LogSigmoid: a function here: xt_logsigmoid(x)")
#define xt_LogSoftmax XT_SPELLED_("xt_LogSoftmax: a function here: xt_log_softmax(x, axis)")
#define xt_LogisticNormal XT_SPELLED_("xt_LogisticNormal: it is called xt_logistic_normal_dist(loc, scale) here")
#define xt_LongStorage XT_SPELLED_("xt_LongStorage: there are no strides and no storages to look at")
#define xt_LongTensor XT_SPELLED_("xt_LongTensor: here it is xt_from_array(values, dtype, dims)")
#define xt_LowRankMultivariateNormal XT_SPELLED_("xt_LowRankMultivariateNormal: it is called \
xt_low_rank_multivariate_normal_dist(loc, cov_factor, cov_diag) here")
#define xt_LowerCholeskyTransform XT_SPELLED_("xt_LowerCholeskyTransform: here it is \
xt_transform(XT_LOWER_CHOLESKY_TRANSFORM, x)")
#define xt_MSELoss XT_SPELLED_("xt_MSELoss: a function here: xt_mse_loss(x, y)")
#define xt_MapDataPipe XT_SPELLED_("xt_MapDataPipe: internal to PyTorch: xt_map_dataset, xt_stream_dataset")
#define xt_MarginRankingLoss XT_SPELLED_("xt_MarginRankingLoss: it is called xt_margin_ranking_loss(x1, x2, y, ...) \
here")
#define xt_MaxPool1d XT_SPELLED_("xt_MaxPool1d: a function here: xt_max_pool1d(x, kernel)")
#define xt_MaxPool2d XT_SPELLED_("xt_MaxPool2d: a function here: xt_max_pool2d(x, kernel)")
#define xt_MaxPool3d XT_SPELLED_("xt_MaxPool3d: a function here: xt_max_pool3d(x, kernel)")
#define xt_MaxUnpool1d XT_SPELLED_("xt_MaxUnpool1d: it is called xt_max_unpool1d(x, indices, kernel, ...) here")
#define xt_MaxUnpool2d XT_SPELLED_("xt_MaxUnpool2d: it is called xt_max_unpool2d(x, indices, kernel, ...) here")
#define xt_MaxUnpool3d XT_SPELLED_("xt_MaxUnpool3d: it is called xt_max_unpool3d(x, indices, kernel, ...) here")
#define xt_Mish XT_SPELLED_("xt_Mish: a function here: xt_mish(x)")
#define xt_MixtureSameFamily XT_SPELLED_("xt_MixtureSameFamily: it is called xt_mixture_dist(logits, components) here")
#define xt_ModelCheckpoint XT_SPELLED_("xt_ModelCheckpoint: it is called xt_model_checkpoint(.monitor = \"val/loss\") \
here")
#define xt_Module XT_SPELLED_("xt_Module: the type is xt_module, made of a function by xt_module_new(fn, user)")
#define xt_ModuleDict XT_SPELLED_("xt_ModuleDict: a layer is a call here: xt_sub(m, \"name\", -1)")
#define xt_ModuleList XT_SPELLED_("xt_ModuleList: a layer is a call here: a loop over xt_sub(m, \"blocks\", i)")
#define xt_MultiLabelMarginLoss XT_SPELLED_("xt_MultiLabelMarginLoss: here it is xt_multilabel_margin_loss, \
xt_multilabel_soft_margin_loss")
#define xt_MultiLabelSoftMarginLoss XT_SPELLED_("xt_MultiLabelSoftMarginLoss: here it is xt_multilabel_margin_loss, \
xt_multilabel_soft_margin_loss")
#define xt_MultiMarginLoss XT_SPELLED_("xt_MultiMarginLoss: it is called xt_multi_margin_loss(x, labels, ...) here")
#define xt_MultiStepLR XT_SPELLED_("xt_MultiStepLR: it is called xt_multistep_schedule here")
#define xt_MultiheadAttention XT_SPELLED_("xt_MultiheadAttention: a layer is a call here: xt_multihead_attention(m, \
\"name\", q, k, v)")
#define xt_Multinomial XT_SPELLED_("xt_Multinomial: it is called xt_multinomial_dist(total_count, probs) here")
#define xt_MultiplicativeLR XT_SPELLED_("xt_MultiplicativeLR: it is called xt_lambda_schedule(opt, fn, ...) here")
#define xt_MultivariateNormal XT_SPELLED_("xt_MultivariateNormal: it is called xt_multivariate_normal_dist(loc, \
covariance) here")
#define xt_Muon XT_SPELLED_("xt_Muon: it is called xt_muon(module, .lr = 1e-3) here")
#define xt_NAdam XT_SPELLED_("xt_NAdam: it is called xt_nadam(module) here")
#define xt_NLLLoss XT_SPELLED_("xt_NLLLoss: a function here: xt_nll_loss(log_probs, labels)")
#define xt_NLLLoss2d XT_SPELLED_("xt_NLLLoss2d: it is called xt_nll_loss(log_probs, labels, ...) here")
#define xt_NegativeBinomial XT_SPELLED_("xt_NegativeBinomial: it is called xt_negative_binomial_dist(total_count, \
probs) here")
#define xt_NestedIOFunction XT_SPELLED_("xt_NestedIOFunction: internal to PyTorch")
#define xt_Normal XT_SPELLED_("xt_Normal: it is called xt_normal_dist(mean, std) here")
#define xt_OneCycleLR XT_SPELLED_("xt_OneCycleLR: it is called xt_one_cycle_schedule here")
#define xt_OneHotCategorical XT_SPELLED_("xt_OneHotCategorical: it is called xt_one_hot_categorical_dist(probs) here")
#define xt_OneHotCategoricalStraightThrough XT_SPELLED_("xt_OneHotCategoricalStraightThrough: it is called \
xt_one_hot_straight_through_dist(probs) here")
#define xt_Optimizer XT_SPELLED_("xt_Optimizer: done otherwise: xt_optimizer_step, xt_optimizer_group, \
xt_optimizer_save")
#define xt_PReLU XT_SPELLED_("xt_PReLU: a layer is a call here: xt_prelu(m, \"name\", x)")
#define xt_PackedSequence XT_SPELLED_("xt_PackedSequence: here it is .lengths of xt_rnn, xt_lstm, xt_gru: a padded \
batch gives what a packed one gives")
#define xt_PairwiseDistance XT_SPELLED_("xt_PairwiseDistance: it is called xt_pairwise_distance(x, y) here")
#define xt_Parameter XT_SPELLED_("xt_Parameter: a parameter is made by xt_param(m, \"name\", ...) in a module's \
function")
#define xt_ParameterDict XT_SPELLED_("xt_ParameterDict: here it is xt_param, xt_buffer")
#define xt_ParameterList XT_SPELLED_("xt_ParameterList: here it is xt_param, xt_buffer")
#define xt_ParametrizationList XT_SPELLED_("xt_ParametrizationList: internal to PyTorch: xt_remove_parametrizations \
takes them off")
#define xt_Pareto XT_SPELLED_("xt_Pareto: it is called xt_pareto_dist(scale, alpha) here")
#define xt_PixelShuffle XT_SPELLED_("xt_PixelShuffle: a function here: xt_pixel_shuffle(x, factor)")
#define xt_PixelUnshuffle XT_SPELLED_("xt_PixelUnshuffle: a function here: xt_pixel_unshuffle(x, r)")
#define xt_Poisson XT_SPELLED_("xt_Poisson: it is called xt_poisson_dist(rate) here")
#define xt_PoissonNLLLoss XT_SPELLED_("xt_PoissonNLLLoss: it is called xt_poisson_nll_loss(x, y, ...) here")
#define xt_PolynomialLR XT_SPELLED_("xt_PolynomialLR: it is called xt_polynomial_schedule(optimizer) here")
#define xt_PositiveDefiniteTransform XT_SPELLED_("xt_PositiveDefiniteTransform: here it is \
xt_transform(XT_POSITIVE_DEFINITE_TRANSFORM, x)")
#define xt_PowerTransform XT_SPELLED_("xt_PowerTransform: it is called xt_power_dist(d, exponent) here")
#define xt_PruningContainer XT_SPELLED_("xt_PruningContainer: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_QInt32Storage XT_SPELLED_("xt_QInt32Storage: there are no strides and no storages to look at")
#define xt_QInt8Storage XT_SPELLED_("xt_QInt8Storage: there are no strides and no storages to look at")
#define xt_QUInt2x4Storage XT_SPELLED_("xt_QUInt2x4Storage: there are no strides and no storages to look at")
#define xt_QUInt4x2Storage XT_SPELLED_("xt_QUInt4x2Storage: there are no strides and no storages to look at")
#define xt_QUInt8Storage XT_SPELLED_("xt_QUInt8Storage: there are no strides and no storages to look at")
#define xt_RAdam XT_SPELLED_("xt_RAdam: it is called xt_radam(module) here")
#define xt_RMSNorm XT_SPELLED_("xt_RMSNorm: a layer is a call here: xt_rms_norm(m, \"name\", x)")
#define xt_RMSprop XT_SPELLED_("xt_RMSprop: it is called xt_rmsprop(module) here")
#define xt_RNN XT_SPELLED_("xt_RNN: a layer is a call here: xt_rnn(m, \"name\", x, hidden)")
#define xt_RNNBase XT_SPELLED_("xt_RNNBase: internal to PyTorch")
#define xt_RNNCell XT_SPELLED_("xt_RNNCell: it is called xt_rnn_cell here")
#define xt_RNNCellBase XT_SPELLED_("xt_RNNCellBase: internal to PyTorch")
#define xt_RReLU XT_SPELLED_("xt_RReLU: it is called xt_rrelu here")
#define xt_RandomSampler XT_SPELLED_("xt_RandomSampler: here it is .shuffle of xt_loader_new")
#define xt_RandomStructured XT_SPELLED_("xt_RandomStructured: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_RandomUnstructured XT_SPELLED_("xt_RandomUnstructured: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_ReLU XT_SPELLED_("xt_ReLU: a function here: xt_relu(x)")
#define xt_ReLU6 XT_SPELLED_("xt_ReLU6: a function here: xt_relu6(x)")
#define xt_ReduceLROnPlateau XT_SPELLED_("xt_ReduceLROnPlateau: it is called xt_plateau_schedule here")
#define xt_ReflectionPad1d XT_SPELLED_("xt_ReflectionPad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_ReflectionPad2d XT_SPELLED_("xt_ReflectionPad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_ReflectionPad3d XT_SPELLED_("xt_ReflectionPad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_RelaxedBernoulli XT_SPELLED_("xt_RelaxedBernoulli: it is called xt_relaxed_bernoulli_dist(temperature, \
probs) here")
#define xt_RelaxedOneHotCategorical XT_SPELLED_("xt_RelaxedOneHotCategorical: it is called \
xt_relaxed_one_hot_dist(temperature, probs) here")
#define xt_ReplicationPad1d XT_SPELLED_("xt_ReplicationPad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_ReplicationPad2d XT_SPELLED_("xt_ReplicationPad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_ReplicationPad3d XT_SPELLED_("xt_ReplicationPad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_ReshapeTransform XT_SPELLED_("xt_ReshapeTransform: done otherwise: xt_reshape: its slope is 1")
#define xt_Rprop XT_SPELLED_("xt_Rprop: it is called xt_rprop(module, .lr = 0.01) here")
#define xt_SELU XT_SPELLED_("xt_SELU: a function here: xt_selu(x)")
#define xt_SGD XT_SPELLED_("xt_SGD: it is called xt_sgd(module, .lr = 0.1) here")
#define xt_SWALR XT_SPELLED_("xt_SWALR: here it is xt_weight_averaging(.swa = XT_ON, .swa_lr) of the Trainer")
#define xt_Sampler XT_SPELLED_("xt_Sampler: here it is .sampler of xt_loader_new, a function of one's own")
#define xt_SelectiveCheckpointContext XT_SPELLED_("xt_SelectiveCheckpointContext: internal to PyTorch: \
xt_checkpoint_block")
#define xt_Sequential XT_SPELLED_("xt_Sequential: a layer is a call here: one call behind the other")
#define xt_SequentialLR XT_SPELLED_("xt_SequentialLR: it is called xt_sequential_schedule here")
#define xt_SequentialSampler XT_SPELLED_("xt_SequentialSampler: here it is .shuffle of xt_loader_new")
#define xt_ShortStorage XT_SPELLED_("xt_ShortStorage: there are no strides and no storages to look at")
#define xt_ShortTensor XT_SPELLED_("xt_ShortTensor: here it is xt_from_array(values, dtype, dims)")
#define xt_SiLU XT_SPELLED_("xt_SiLU: a function here: xt_silu(x)")
#define xt_Sigmoid XT_SPELLED_("xt_Sigmoid: a function here: xt_sigmoid(x)")
#define xt_SigmoidTransform XT_SPELLED_("xt_SigmoidTransform: here it is xt_sigmoid_dist, \
xt_transform(XT_SIGMOID_TRANSFORM, x)")
#define xt_Size XT_SPELLED_("xt_Size: it is called xt_dim(t, axis), xt_rank_of(t) here")
#define xt_SmoothL1Loss XT_SPELLED_("xt_SmoothL1Loss: a function here: xt_smooth_l1_loss(x, y)")
#define xt_SoftMarginLoss XT_SPELLED_("xt_SoftMarginLoss: it is called xt_soft_margin_loss(x, y, ...) here")
#define xt_Softmax XT_SPELLED_("xt_Softmax: a function here: xt_softmax(x, axis)")
#define xt_Softmax2d XT_SPELLED_("xt_Softmax2d: here it is xt_softmax(x, 1)")
#define xt_SoftmaxTransform XT_SPELLED_("xt_SoftmaxTransform: here it is xt_transform(XT_SOFTMAX_TRANSFORM, x)")
#define xt_Softmin XT_SPELLED_("xt_Softmin: it is called xt_softmin(x, axis) here")
#define xt_Softplus XT_SPELLED_("xt_Softplus: a function here: xt_softplus(x)")
#define xt_SoftplusTransform XT_SPELLED_("xt_SoftplusTransform: here it is xt_softplus_dist, \
xt_transform(XT_SOFTPLUS_TRANSFORM, x)")
#define xt_Softshrink XT_SPELLED_("xt_Softshrink: it is called xt_softshrink here")
#define xt_Softsign XT_SPELLED_("xt_Softsign: it is called xt_softsign(x) here")
#define xt_SparseAdam XT_SPELLED_("xt_SparseAdam: it is called xt_sparse_adam here")
#define xt_StackDataset XT_SPELLED_("xt_StackDataset: it is called xt_map_dataset here")
#define xt_StackTransform XT_SPELLED_("xt_StackTransform: done otherwise: xt_concat, xt_stack of transformed parts")
#define xt_StepLR XT_SPELLED_("xt_StepLR: it is called xt_step_schedule here")
#define xt_StickBreakingTransform XT_SPELLED_("xt_StickBreakingTransform: here it is \
xt_transform(XT_STICK_BREAKING_TRANSFORM, x)")
#define xt_Stream XT_SPELLED_("xt_Stream: the device orders its programs by itself: xt_wait waits for them")
#define xt_StudentT XT_SPELLED_("xt_StudentT: it is called xt_student_t_dist(df, loc, scale) here")
#define xt_Subset XT_SPELLED_("xt_Subset: it is called xt_subset here")
#define xt_SubsetRandomSampler XT_SPELLED_("xt_SubsetRandomSampler: here it is .sampler of xt_loader_new, a function \
of one's own")
#define xt_SyncBatchNorm XT_SPELLED_("xt_SyncBatchNorm: a layer is a call here: xt_batch_norm(m, \"name\", x, .sync = \
XT_ON)")
#define xt_T XT_SPELLED_("xt_T: it is called xt_t(x), of more than two dims xt_permute(x, 2, 1, 0) here")
#define xt_Tanh XT_SPELLED_("xt_Tanh: a function here: xt_tanh(x)")
#define xt_TanhTransform XT_SPELLED_("xt_TanhTransform: here it is xt_tanh_dist, xt_transform(XT_TANH_TRANSFORM, x)")
#define xt_Tanhshrink XT_SPELLED_("xt_Tanhshrink: it is called xt_tanhshrink(x) here")
#define xt_Tensor XT_SPELLED_("xt_Tensor: it is called xt_tensor, a handle passed by value here")
#define xt_TensorDataset XT_SPELLED_("xt_TensorDataset: it is called xt_array_dataset here")
#define xt_Threshold XT_SPELLED_("xt_Threshold: it is called xt_threshold(x, limit, value) here")
#define xt_Trainer XT_SPELLED_("xt_Trainer: it is called xt_trainer_new(.max_epochs = 3) here")
#define xt_Transform XT_SPELLED_("xt_Transform: one distribution upon another")
#define xt_TransformedDistribution XT_SPELLED_("xt_TransformedDistribution: here it is xt_affine_dist, xt_exp_dist, \
... upon a distribution")
#define xt_Transformer XT_SPELLED_("xt_Transformer: a layer is a call here: xt_transformer_encoder_layer, \
xt_transformer_decoder_layer")
#define xt_TransformerDecoder XT_SPELLED_("xt_TransformerDecoder: here it is xt_transformer_encoder_layer, \
xt_transformer_decoder_layer in a loop, and xt_layer_norm behind it where norm is given")
#define xt_TransformerDecoderLayer XT_SPELLED_("xt_TransformerDecoderLayer: a layer is a call here: \
xt_transformer_decoder_layer")
#define xt_TransformerEncoder XT_SPELLED_("xt_TransformerEncoder: a layer is a call here: a loop over \
xt_transformer_encoder_layer")
#define xt_TransformerEncoderLayer XT_SPELLED_("xt_TransformerEncoderLayer: a layer is a call here: \
xt_transformer_encoder_layer(m, \"name\", x)")
#define xt_TripletMarginLoss XT_SPELLED_("xt_TripletMarginLoss: a function here: xt_triplet_margin_loss(anchor, same, \
other)")
#define xt_TripletMarginWithDistanceLoss XT_SPELLED_("xt_TripletMarginWithDistanceLoss: here it is \
xt_margin_ranking_loss of the distances")
#define xt_TypedStorage XT_SPELLED_("xt_TypedStorage: there are no strides and no storages to look at")
#define xt_Unflatten XT_SPELLED_("xt_Unflatten: it is called xt_unflatten(x, axis, dims, ...) here")
#define xt_Unfold XT_SPELLED_("xt_Unfold: it is called xt_unfold(x, kernel) here")
#define xt_Uniform XT_SPELLED_("xt_Uniform: it is called xt_uniform_dist(low, high) here")
#define xt_UninitializedBuffer XT_SPELLED_("xt_UninitializedBuffer: here it is xt_param, xt_buffer")
#define xt_UninitializedParameter XT_SPELLED_("xt_UninitializedParameter: here it is xt_param, xt_buffer")
#define xt_UntypedStorage XT_SPELLED_("xt_UntypedStorage: there are no strides and no storages to look at")
#define xt_Upsample XT_SPELLED_("xt_Upsample: a function here: xt_interpolate(x, .scale = 2)")
#define xt_UpsamplingBilinear2d XT_SPELLED_("xt_UpsamplingBilinear2d: it is called xt_interpolate here")
#define xt_UpsamplingNearest2d XT_SPELLED_("xt_UpsamplingNearest2d: it is called xt_interpolate here")
#define xt_Variable XT_SPELLED_("xt_Variable: internal to PyTorch")
#define xt_VonMises XT_SPELLED_("xt_VonMises: it is called xt_von_mises_dist(loc, concentration) here")
#define xt_Weibull XT_SPELLED_("xt_Weibull: it is called xt_weibull_dist(scale, concentration) here")
#define xt_WeightedRandomSampler XT_SPELLED_("xt_WeightedRandomSampler: it is called xt_weighted_sampler here")
#define xt_Wishart XT_SPELLED_("xt_Wishart: it is called xt_wishart_dist(df, covariance) here")
#define xt_ZeroPad1d XT_SPELLED_("xt_ZeroPad1d: a function here: xt_pad(x, XT_LIST(left, right))")
#define xt_ZeroPad2d XT_SPELLED_("xt_ZeroPad2d: a function here: xt_pad(x, XT_LIST(left, right, top, bottom))")
#define xt_ZeroPad3d XT_SPELLED_("xt_ZeroPad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_abs_ XT_SPELLED_("xt_abs_: a value never changes: xt_abs")
#define xt_abs_transform XT_SPELLED_("xt_abs_transform: here it is xt_transform(XT_ABS_TRANSFORM, x)")
#define xt_absolute_ XT_SPELLED_("xt_absolute_: a value never changes: xt_absolute")
#define xt_abstransform XT_SPELLED_("xt_abstransform: here it is xt_transform(XT_ABS_TRANSFORM, x)")
#define xt_acos_ XT_SPELLED_("xt_acos_: a value never changes: xt_acos")
#define xt_acosh_ XT_SPELLED_("xt_acosh_: a value never changes: xt_acosh")
#define xt_adam_w XT_SPELLED_("xt_adam_w: it is called xt_adamw(module, .lr = 1e-3) here")
#define xt_adaptive_log_softmax_with_loss XT_SPELLED_("xt_adaptive_log_softmax_with_loss: here it is \
xt_adaptive_log_softmax, xt_adaptive_log_prob")
#define xt_adaptiveavgpool1d XT_SPELLED_("xt_adaptiveavgpool1d: it is called xt_adaptive_avg_pool1d(x, sizes, ...) \
here")
#define xt_adaptiveavgpool2d XT_SPELLED_("xt_adaptiveavgpool2d: a function here: xt_adaptive_avg_pool2d(x, size)")
#define xt_adaptiveavgpool3d XT_SPELLED_("xt_adaptiveavgpool3d: it is called xt_adaptive_avg_pool3d(x, sizes, ...) \
here")
#define xt_adaptivelogsoftmaxwithloss XT_SPELLED_("xt_adaptivelogsoftmaxwithloss: here it is xt_adaptive_log_softmax, \
xt_adaptive_log_prob")
#define xt_adaptivemaxpool1d XT_SPELLED_("xt_adaptivemaxpool1d: a function here: xt_adaptive_max_pool1d(x, size)")
#define xt_adaptivemaxpool2d XT_SPELLED_("xt_adaptivemaxpool2d: a function here: xt_adaptive_max_pool2d(x, height, \
width)")
#define xt_adaptivemaxpool3d XT_SPELLED_("xt_adaptivemaxpool3d: it is called xt_adaptive_max_pool3d(x, sizes, ...) \
here")
#define xt_add_ XT_SPELLED_("xt_add_: a value never changes: xt_add")
#define xt_addbmm XT_SPELLED_("xt_addbmm: here it is xt_sum_axis of xt_bmm")
#define xt_addbmm_ XT_SPELLED_("xt_addbmm_: here it is xt_sum_axis of xt_bmm")
#define xt_addcdiv_ XT_SPELLED_("xt_addcdiv_: a value never changes: xt_addcdiv")
#define xt_addcmul_ XT_SPELLED_("xt_addcmul_: a value never changes: xt_addcmul")
#define xt_addmm_ XT_SPELLED_("xt_addmm_: a value never changes: xt_addmm")
#define xt_addmv_ XT_SPELLED_("xt_addmv_: a value never changes: xt_addmv")
#define xt_addr_ XT_SPELLED_("xt_addr_: a value never changes: xt_addr")
#define xt_affine_grid_generator XT_SPELLED_("xt_affine_grid_generator: internal to PyTorch")
#define xt_affine_transform XT_SPELLED_("xt_affine_transform: it is called xt_affine_dist(d, loc, scale) here")
#define xt_affinetransform XT_SPELLED_("xt_affinetransform: it is called xt_affine_dist(d, loc, scale) here")
#define xt_airy_ai XT_SPELLED_("xt_airy_ai: not there: no formula of it is recorded")
#define xt_alias_copy XT_SPELLED_("xt_alias_copy: every result is a value of its own, without strides")
#define xt_align_as XT_SPELLED_("xt_align_as: not there: dims have numbers and no names: xt_permute, xt_movedim")
#define xt_align_tensors XT_SPELLED_("xt_align_tensors: not there: dims have numbers and no names: \
xt_broadcast_tensors")
#define xt_align_to XT_SPELLED_("xt_align_to: not there: dims have numbers and no names: xt_permute, xt_movedim")
#define xt_alpha_dropout_ XT_SPELLED_("xt_alpha_dropout_: a value never changes: xt_dropout, xt_alpha_dropout")
#define xt_alphadropout XT_SPELLED_("xt_alphadropout: it is called xt_alpha_dropout(m, x, ...) here")
#define xt_amp_GradScaler XT_SPELLED_("xt_amp_GradScaler: here it is xt_loss_scaler_new, xt_scaler_step")
#define xt_amp_autocast XT_SPELLED_("xt_amp_autocast: here it is xt_autocast_begin(XT_BF16), xt_autocast_end()")
#define xt_amp_custom_bwd XT_SPELLED_("xt_amp_custom_bwd: a block between xt_autocast_begin and xt_autocast_end: \
nothing to ask, and no cache of casts")
#define xt_amp_custom_fwd XT_SPELLED_("xt_amp_custom_fwd: a block between xt_autocast_begin and xt_autocast_end: \
nothing to ask, and no cache of casts")
#define xt_amp_grad_scaler XT_SPELLED_("xt_amp_grad_scaler: here it is xt_loss_scaler_new, xt_scaler_step")
#define xt_amp_gradscaler XT_SPELLED_("xt_amp_gradscaler: here it is xt_loss_scaler_new, xt_scaler_step")
#define xt_amp_is_autocast_available XT_SPELLED_("xt_amp_is_autocast_available: a block between xt_autocast_begin and \
xt_autocast_end: nothing to ask, and no cache of casts")
#define xt_apply_ XT_SPELLED_("xt_apply_: not there: a function of Python's for each element would wait for the \
device: ops of whole tensors, xt_where")
#define xt_arccos_ XT_SPELLED_("xt_arccos_: a value never changes: xt_arccos")
#define xt_arccosh_ XT_SPELLED_("xt_arccosh_: a value never changes: xt_arccosh")
#define xt_arcsin_ XT_SPELLED_("xt_arcsin_: a value never changes: xt_arcsin")
#define xt_arcsinh_ XT_SPELLED_("xt_arcsinh_: a value never changes: xt_arcsinh")
#define xt_arctan2_ XT_SPELLED_("xt_arctan2_: a value never changes: xt_arctan2")
#define xt_arctan_ XT_SPELLED_("xt_arctan_: a value never changes: xt_arctan")
#define xt_arctanh_ XT_SPELLED_("xt_arctanh_: a value never changes: xt_arctanh")
#define xt_are_deterministic_algorithms_enabled XT_SPELLED_("xt_are_deterministic_algorithms_enabled: the same bits in \
every run, whatever the number of threads")
#define xt_argument_validation XT_SPELLED_("xt_argument_validation: internal to PyTorch: xt_map_dataset, \
xt_stream_dataset")
#define xt_as_strided XT_SPELLED_("xt_as_strided: there are no strides: xt_unfold_axis, xt_diagonal, xt_gather")
#define xt_as_strided_ XT_SPELLED_("xt_as_strided_: there are no strides: xt_unfold_axis, xt_diagonal, xt_gather")
#define xt_as_strided_copy XT_SPELLED_("xt_as_strided_copy: every result is a value of its own, without strides")
#define xt_as_strided_scatter XT_SPELLED_("xt_as_strided_scatter: there are no strides: xt_unfold_axis, xt_diagonal, \
xt_gather")
#define xt_as_subclass XT_SPELLED_("xt_as_subclass: classes of Python's")
#define xt_as_tensor XT_SPELLED_("xt_as_tensor: it is called xt_from_array, xt_from_data; one number: xt_scalar here")
#define xt_asarray XT_SPELLED_("xt_asarray: here it is xt_from_array, xt_from_data; numbers: xt_scalar")
#define xt_asin_ XT_SPELLED_("xt_asin_: a value never changes: xt_asin")
#define xt_asinh_ XT_SPELLED_("xt_asinh_: a value never changes: xt_asinh")
#define xt_assert_int_or_pair XT_SPELLED_("xt_assert_int_or_pair: internal to PyTorch")
#define xt_atan2_ XT_SPELLED_("xt_atan2_: a value never changes: xt_atan2")
#define xt_atan_ XT_SPELLED_("xt_atan_: a value never changes: xt_atan")
#define xt_atanh_ XT_SPELLED_("xt_atanh_: a value never changes: xt_atanh")
#define xt_autocast XT_SPELLED_("xt_autocast: it is called xt_autocast_begin(XT_BF16) and xt_autocast_end() here")
#define xt_autocast_decrement_nesting XT_SPELLED_("xt_autocast_decrement_nesting: a block between xt_autocast_begin \
and xt_autocast_end: nothing to ask, and no cache of casts")
#define xt_autocast_increment_nesting XT_SPELLED_("xt_autocast_increment_nesting: a block between xt_autocast_begin \
and xt_autocast_end: nothing to ask, and no cache of casts")
#define xt_autograd_Function XT_SPELLED_("xt_autograd_Function: it is called xt_custom_grad(forward, backward, n_in, \
in, n_out, out, ...) here")
#define xt_autograd_NestedIOFunction XT_SPELLED_("xt_autograd_NestedIOFunction: internal to PyTorch")
#define xt_autograd_Variable XT_SPELLED_("xt_autograd_Variable: internal to PyTorch")
#define xt_autograd_backward XT_SPELLED_("xt_autograd_backward: it is called xt_backward(loss) here")
#define xt_autograd_detect_anomaly XT_SPELLED_("xt_autograd_detect_anomaly: XT_DEBUG=nan in the environment, \
.detect_anomaly of xt_trainer_new")
#define xt_autograd_enable_grad XT_SPELLED_("xt_autograd_enable_grad: done otherwise: xt_no_grad_begin, \
xt_no_grad_end")
#define xt_autograd_function XT_SPELLED_("xt_autograd_function: it is called xt_custom_grad(forward, backward, n_in, \
in, n_out, out, ...) here")
#define xt_autograd_grad XT_SPELLED_("xt_autograd_grad: it is called xt_grad_of(loss, n, tensors, out_grads) here")
#define xt_autograd_gradcheck XT_SPELLED_("xt_autograd_gradcheck: not there: a test's business: xt_jvp against \
differences")
#define xt_autograd_gradgradcheck XT_SPELLED_("xt_autograd_gradgradcheck: not there: a test's business: xt_jvp against \
differences")
#define xt_autograd_inference_mode XT_SPELLED_("xt_autograd_inference_mode: done otherwise: xt_no_grad_begin, \
xt_no_grad_end")
#define xt_autograd_nested_io_function XT_SPELLED_("xt_autograd_nested_io_function: internal to PyTorch")
#define xt_autograd_nestediofunction XT_SPELLED_("xt_autograd_nestediofunction: internal to PyTorch")
#define xt_autograd_no_grad XT_SPELLED_("xt_autograd_no_grad: done otherwise: xt_no_grad_begin, xt_no_grad_end")
#define xt_autograd_set_detect_anomaly XT_SPELLED_("xt_autograd_set_detect_anomaly: done otherwise: XT_DEBUG=nan, \
.detect_anomaly of the Trainer")
#define xt_autograd_set_grad_enabled XT_SPELLED_("xt_autograd_set_grad_enabled: done otherwise: xt_no_grad_begin, \
xt_no_grad_end")
#define xt_autograd_set_multithreading_enabled XT_SPELLED_("xt_autograd_set_multithreading_enabled: internal to \
PyTorch")
#define xt_autograd_variable XT_SPELLED_("xt_autograd_variable: internal to PyTorch")
#define xt_averaged_model XT_SPELLED_("xt_averaged_model: xt_ema(net), then xt_ema_update(ema, net, decay) a step")
#define xt_averagedmodel XT_SPELLED_("xt_averagedmodel: xt_ema(net), then xt_ema_update(ema, net, decay) a step")
#define xt_avgpool1d XT_SPELLED_("xt_avgpool1d: a function here: xt_avg_pool1d(x, kernel)")
#define xt_avgpool2d XT_SPELLED_("xt_avgpool2d: a function here: xt_avg_pool2d(x, kernel)")
#define xt_avgpool3d XT_SPELLED_("xt_avgpool3d: a function here: xt_avg_pool3d(x, kernel)")
#define xt_b_float16_storage XT_SPELLED_("xt_b_float16_storage: there are no strides and no storages to look at")
#define xt_b_float16_tensor XT_SPELLED_("xt_b_float16_tensor: here it is xt_from_array(values, dtype, dims)")
#define xt_baddbmm_ XT_SPELLED_("xt_baddbmm_: a value never changes: xt_baddbmm")
#define xt_base_pruning_method XT_SPELLED_("xt_base_pruning_method: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_basepruningmethod XT_SPELLED_("xt_basepruningmethod: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_batch_norm1d XT_SPELLED_("xt_batch_norm1d: a layer is a call here: xt_batch_norm(m, \"name\", x), of any \
number of dims")
#define xt_batch_norm2d XT_SPELLED_("xt_batch_norm2d: a layer is a call here: xt_batch_norm(m, \"name\", x), of any \
number of dims")
#define xt_batch_norm3d XT_SPELLED_("xt_batch_norm3d: a layer is a call here: xt_batch_norm(m, \"name\", x), of any \
number of dims")
#define xt_batch_norm_backward_elemt XT_SPELLED_("xt_batch_norm_backward_elemt: internal to PyTorch")
#define xt_batch_norm_backward_reduce XT_SPELLED_("xt_batch_norm_backward_reduce: internal to PyTorch")
#define xt_batch_norm_elemt XT_SPELLED_("xt_batch_norm_elemt: internal to PyTorch")
#define xt_batch_norm_gather_stats XT_SPELLED_("xt_batch_norm_gather_stats: internal to PyTorch")
#define xt_batch_norm_gather_stats_with_counts XT_SPELLED_("xt_batch_norm_gather_stats_with_counts: internal to \
PyTorch")
#define xt_batch_norm_stats XT_SPELLED_("xt_batch_norm_stats: internal to PyTorch")
#define xt_batch_norm_update_stats XT_SPELLED_("xt_batch_norm_update_stats: internal to PyTorch")
#define xt_batch_sampler XT_SPELLED_("xt_batch_sampler: here it is .batch of xt_loader_new, by length \
xt_bucket_sampler")
#define xt_batchnorm1d XT_SPELLED_("xt_batchnorm1d: a layer is a call here: xt_batch_norm(m, \"name\", x), of any \
number of dims")
#define xt_batchnorm2d XT_SPELLED_("xt_batchnorm2d: a layer is a call here: xt_batch_norm(m, \"name\", x), of any \
number of dims")
#define xt_batchnorm3d XT_SPELLED_("xt_batchnorm3d: a layer is a call here: xt_batch_norm(m, \"name\", x), of any \
number of dims")
#define xt_batchsampler XT_SPELLED_("xt_batchsampler: here it is .batch of xt_loader_new, by length xt_bucket_sampler")
#define xt_bce_loss XT_SPELLED_("xt_bce_loss: it is called xt_binary_cross_entropy(p, target), xt_bce_with_logits(x, \
target) here")
#define xt_bce_with_logits_loss XT_SPELLED_("xt_bce_with_logits_loss: a function here: xt_bce_with_logits(x, y)")
#define xt_bceloss XT_SPELLED_("xt_bceloss: a function here: xt_binary_cross_entropy(p, y)")
#define xt_bcewithlogitsloss XT_SPELLED_("xt_bcewithlogitsloss: a function here: xt_bce_with_logits(x, y)")
#define xt_bernoulli_ XT_SPELLED_("xt_bernoulli_: it is called xt_bernoulli(p) here")
#define xt_beta XT_SPELLED_("xt_beta: it is called xt_beta_dist(concentration1, concentration0) here")
#define xt_bfloat16 XT_SPELLED_("xt_bfloat16: a dtype is given: xt_cast(x, XT_BF16)")
#define xt_bfloat16storage XT_SPELLED_("xt_bfloat16storage: there are no strides and no storages to look at")
#define xt_bfloat16tensor XT_SPELLED_("xt_bfloat16tensor: here it is xt_from_array(values, dtype, dims)")
#define xt_biject_to XT_SPELLED_("xt_biject_to: done otherwise: xt_transform of the kind that the constraint asks for")
#define xt_binomial XT_SPELLED_("xt_binomial: here it is xt_dist_sample of xt_binomial_dist, xt_poisson_dist")
#define xt_bit XT_SPELLED_("xt_bit: not there: no dtype of that width: XT_I4, XT_U4 and the XT_F8 ones are the narrow \
ones")
#define xt_bits16 XT_SPELLED_("xt_bits16: not there: no dtype of that width: XT_I4, XT_U4 and the XT_F8 ones are the \
narrow ones")
#define xt_bits1x8 XT_SPELLED_("xt_bits1x8: not there: no dtype of that width: XT_I4, XT_U4 and the XT_F8 ones are the \
narrow ones")
#define xt_bits2x4 XT_SPELLED_("xt_bits2x4: not there: no dtype of that width: XT_I4, XT_U4 and the XT_F8 ones are the \
narrow ones")
#define xt_bits4x2 XT_SPELLED_("xt_bits4x2: not there: no dtype of that width: XT_I4, XT_U4 and the XT_F8 ones are the \
narrow ones")
#define xt_bits8 XT_SPELLED_("xt_bits8: not there: no dtype of that width: XT_I4, XT_U4 and the XT_F8 ones are the \
narrow ones")
#define xt_bitwise_and_ XT_SPELLED_("xt_bitwise_and_: a value never changes: xt_bitwise_and")
#define xt_bitwise_left_shift_ XT_SPELLED_("xt_bitwise_left_shift_: a value never changes: xt_bitwise_left_shift")
#define xt_bitwise_not_ XT_SPELLED_("xt_bitwise_not_: a value never changes: xt_bitwise_not")
#define xt_bitwise_or_ XT_SPELLED_("xt_bitwise_or_: a value never changes: xt_bitwise_or")
#define xt_bitwise_right_shift_ XT_SPELLED_("xt_bitwise_right_shift_: a value never changes: xt_bitwise_right_shift")
#define xt_bitwise_xor_ XT_SPELLED_("xt_bitwise_xor_: a value never changes: xt_bitwise_xor")
#define xt_bool XT_SPELLED_("xt_bool: a dtype is given: xt_cast(x, XT_BOOL)")
#define xt_bool_storage XT_SPELLED_("xt_bool_storage: there are no strides and no storages to look at")
#define xt_bool_tensor XT_SPELLED_("xt_bool_tensor: here it is xt_from_array(values, dtype, dims)")
#define xt_boolstorage XT_SPELLED_("xt_boolstorage: there are no strides and no storages to look at")
#define xt_booltensor XT_SPELLED_("xt_booltensor: here it is xt_from_array(values, dtype, dims)")
#define xt_broadcast_shapes XT_SPELLED_("xt_broadcast_shapes: done otherwise: xt_broadcast_tensors of the tensors")
#define xt_byte XT_SPELLED_("xt_byte: here it is xt_cast(x, dtype)")
#define xt_byte_storage XT_SPELLED_("xt_byte_storage: there are no strides and no storages to look at")
#define xt_byte_tensor XT_SPELLED_("xt_byte_tensor: here it is xt_from_array(values, dtype, dims)")
#define xt_bytestorage XT_SPELLED_("xt_bytestorage: there are no strides and no storages to look at")
#define xt_bytetensor XT_SPELLED_("xt_bytetensor: here it is xt_from_array(values, dtype, dims)")
#define xt_cached XT_SPELLED_("xt_cached: internal to PyTorch: xt_remove_parametrizations takes them off")
#define xt_calculate_gain XT_SPELLED_("xt_calculate_gain: .gain of xt_init_xavier_uniform, xt_init_kaiming_normal and \
their like")
#define xt_can_cast XT_SPELLED_("xt_can_cast: xt_cast converts anything; no value changes in place")
#define xt_cat_transform XT_SPELLED_("xt_cat_transform: done otherwise: xt_concat, xt_stack of transformed parts")
#define xt_categorical XT_SPELLED_("xt_categorical: it is called xt_categorical_dist here")
#define xt_cattransform XT_SPELLED_("xt_cattransform: done otherwise: xt_concat, xt_stack of transformed parts")
#define xt_cauchy XT_SPELLED_("xt_cauchy: it is called xt_cauchy_dist(loc, scale) here")
#define xt_cauchy_ XT_SPELLED_("xt_cauchy_: here it is xt_dist_sample of xt_cauchy_dist, xt_log_normal_dist")
#define xt_ccol_indices XT_SPELLED_("xt_ccol_indices: not there: a sparse matrix is no tensor here: xt_sparse_coo and \
xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_ccol_indices_copy XT_SPELLED_("xt_ccol_indices_copy: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_cdouble XT_SPELLED_("xt_cdouble: here it is xt_cast(x, dtype)")
#define xt_ceil_ XT_SPELLED_("xt_ceil_: a value never changes: xt_ceil")
#define xt_celu_ XT_SPELLED_("xt_celu_: a value never changes: xt_celu")
#define xt_cfloat XT_SPELLED_("xt_cfloat: here it is xt_cast(x, dtype)")
#define xt_chain_dataset XT_SPELLED_("xt_chain_dataset: here it is xt_combined_loader(n, loaders, .mode = \
XT_SEQUENTIAL)")
#define xt_chaindataset XT_SPELLED_("xt_chaindataset: here it is xt_combined_loader(n, loaders, .mode = \
XT_SEQUENTIAL)")
#define xt_chained_scheduler XT_SPELLED_("xt_chained_scheduler: it is called xt_chained_schedule here")
#define xt_chainedscheduler XT_SPELLED_("xt_chainedscheduler: it is called xt_chained_schedule here")
#define xt_chalf XT_SPELLED_("xt_chalf: not there: there is no complex number of halves")
#define xt_channels_last XT_SPELLED_("xt_channels_last: a tensor's elements stand row by row, a dim behind the other; \
the compiler chooses other orders by itself")
#define xt_channels_last_3d XT_SPELLED_("xt_channels_last_3d: a tensor's elements stand row by row, a dim behind the \
other; the compiler chooses other orders by itself")
#define xt_channelshuffle XT_SPELLED_("xt_channelshuffle: it is called xt_channel_shuffle(x, groups) here")
#define xt_char XT_SPELLED_("xt_char: here it is xt_cast(x, dtype)")
#define xt_char_storage XT_SPELLED_("xt_char_storage: there are no strides and no storages to look at")
#define xt_char_tensor XT_SPELLED_("xt_char_tensor: here it is xt_from_array(values, dtype, dims)")
#define xt_charstorage XT_SPELLED_("xt_charstorage: there are no strides and no storages to look at")
#define xt_chartensor XT_SPELLED_("xt_chartensor: here it is xt_from_array(values, dtype, dims)")
#define xt_check_backward_validity XT_SPELLED_("xt_check_backward_validity: internal to PyTorch: xt_checkpoint_block")
#define xt_checkpoint XT_SPELLED_("xt_checkpoint: it is called xt_checkpoint_block; files: xt_save, xt_trainer_save")
#define xt_checkpoint_CheckpointError XT_SPELLED_("xt_checkpoint_CheckpointError: internal to PyTorch: \
xt_checkpoint_block")
#define xt_checkpoint_CheckpointFunction XT_SPELLED_("xt_checkpoint_CheckpointFunction: internal to PyTorch: \
xt_checkpoint_block")
#define xt_checkpoint_CheckpointPolicy XT_SPELLED_("xt_checkpoint_CheckpointPolicy: internal to PyTorch: \
xt_checkpoint_block")
#define xt_checkpoint_DefaultDeviceType XT_SPELLED_("xt_checkpoint_DefaultDeviceType: internal to PyTorch: \
xt_checkpoint_block")
#define xt_checkpoint_SelectiveCheckpointContext XT_SPELLED_("xt_checkpoint_SelectiveCheckpointContext: internal to \
PyTorch: xt_checkpoint_block")
#define xt_checkpoint_check_backward_validity XT_SPELLED_("xt_checkpoint_check_backward_validity: internal to PyTorch: \
xt_checkpoint_block")
#define xt_checkpoint_checkpoint XT_SPELLED_("xt_checkpoint_checkpoint: it is called xt_checkpoint_block; files: \
xt_save, xt_trainer_save")
#define xt_checkpoint_checkpoint_error XT_SPELLED_("xt_checkpoint_checkpoint_error: internal to PyTorch: \
xt_checkpoint_block")
#define xt_checkpoint_checkpoint_function XT_SPELLED_("xt_checkpoint_checkpoint_function: internal to PyTorch: \
xt_checkpoint_block")
#define xt_checkpoint_checkpoint_policy XT_SPELLED_("xt_checkpoint_checkpoint_policy: internal to PyTorch: \
xt_checkpoint_block")
#define xt_checkpoint_checkpoint_sequential XT_SPELLED_("xt_checkpoint_checkpoint_sequential: here it is \
xt_checkpoint_block(fn, m, x, user)")
#define xt_checkpoint_checkpointerror XT_SPELLED_("xt_checkpoint_checkpointerror: internal to PyTorch: \
xt_checkpoint_block")
#define xt_checkpoint_checkpointfunction XT_SPELLED_("xt_checkpoint_checkpointfunction: internal to PyTorch: \
xt_checkpoint_block")
#define xt_checkpoint_checkpointpolicy XT_SPELLED_("xt_checkpoint_checkpointpolicy: internal to PyTorch: \
xt_checkpoint_block")
#define xt_checkpoint_create_selective_checkpoint_contexts \
XT_SPELLED_("xt_checkpoint_create_selective_checkpoint_contexts: internal to PyTorch: xt_checkpoint_block")
#define xt_checkpoint_default_device_type XT_SPELLED_("xt_checkpoint_default_device_type: internal to PyTorch: \
xt_checkpoint_block")
#define xt_checkpoint_defaultdevicetype XT_SPELLED_("xt_checkpoint_defaultdevicetype: internal to PyTorch: \
xt_checkpoint_block")
#define xt_checkpoint_detach_variable XT_SPELLED_("xt_checkpoint_detach_variable: internal to PyTorch: \
xt_checkpoint_block")
#define xt_checkpoint_error XT_SPELLED_("xt_checkpoint_error: internal to PyTorch: xt_checkpoint_block")
#define xt_checkpoint_function XT_SPELLED_("xt_checkpoint_function: internal to PyTorch: xt_checkpoint_block")
#define xt_checkpoint_get_device_states XT_SPELLED_("xt_checkpoint_get_device_states: internal to PyTorch: \
xt_checkpoint_block")
#define xt_checkpoint_noop_context_fn XT_SPELLED_("xt_checkpoint_noop_context_fn: internal to PyTorch: \
xt_checkpoint_block")
#define xt_checkpoint_policy XT_SPELLED_("xt_checkpoint_policy: internal to PyTorch: xt_checkpoint_block")
#define xt_checkpoint_selective_checkpoint_context XT_SPELLED_("xt_checkpoint_selective_checkpoint_context: internal \
to PyTorch: xt_checkpoint_block")
#define xt_checkpoint_selectivecheckpointcontext XT_SPELLED_("xt_checkpoint_selectivecheckpointcontext: internal to \
PyTorch: xt_checkpoint_block")
#define xt_checkpoint_sequential XT_SPELLED_("xt_checkpoint_sequential: here it is xt_checkpoint_block(fn, m, x, \
user)")
#define xt_checkpoint_set_checkpoint_debug_enabled XT_SPELLED_("xt_checkpoint_set_checkpoint_debug_enabled: internal \
to PyTorch: xt_checkpoint_block")
#define xt_checkpoint_set_checkpoint_early_stop XT_SPELLED_("xt_checkpoint_set_checkpoint_early_stop: internal to \
PyTorch: xt_checkpoint_block")
#define xt_checkpoint_set_device_states XT_SPELLED_("xt_checkpoint_set_device_states: internal to PyTorch: \
xt_checkpoint_block")
#define xt_checkpointerror XT_SPELLED_("xt_checkpointerror: internal to PyTorch: xt_checkpoint_block")
#define xt_checkpointfunction XT_SPELLED_("xt_checkpointfunction: internal to PyTorch: xt_checkpoint_block")
#define xt_checkpointpolicy XT_SPELLED_("xt_checkpointpolicy: internal to PyTorch: xt_checkpoint_block")
#define xt_chi2 XT_SPELLED_("xt_chi2: it is called xt_chi2_dist(df) here")
#define xt_cholesky_ex XT_SPELLED_("xt_cholesky_ex: here it is xt_cholesky: NaN where a matrix is not positive \
definite")
#define xt_choose_qparams_optimized XT_SPELLED_("xt_choose_qparams_optimized: not there: there are no quantized \
tensors: xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_circular_pad1d XT_SPELLED_("xt_circular_pad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_circular_pad2d XT_SPELLED_("xt_circular_pad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_circular_pad3d XT_SPELLED_("xt_circular_pad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_circularpad1d XT_SPELLED_("xt_circularpad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_circularpad2d XT_SPELLED_("xt_circularpad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_circularpad3d XT_SPELLED_("xt_circularpad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_clamp_ XT_SPELLED_("xt_clamp_: a value never changes: xt_clamp")
#define xt_clamp_max_ XT_SPELLED_("xt_clamp_max_: a value never changes: xt_clamp_max")
#define xt_clamp_min_ XT_SPELLED_("xt_clamp_min_: a value never changes: xt_clamp_min")
#define xt_classproperty XT_SPELLED_("xt_classproperty: internal to PyTorch")
#define xt_clear_autocast_cache XT_SPELLED_("xt_clear_autocast_cache: a block between xt_autocast_begin and \
xt_autocast_end: nothing to ask, and no cache of casts")
#define xt_clip_ XT_SPELLED_("xt_clip_: a value never changes: xt_clip")
#define xt_clip_grads_with_norm_ XT_SPELLED_("xt_clip_grads_with_norm_: here it is xt_clip_grad_norm, xt_grad_norm, \
.clip_norm")
#define xt_clone XT_SPELLED_("xt_clone: a value never changes: t itself is as good as a copy")
#define xt_clone_ XT_SPELLED_("xt_clone_: a value never changes: t itself is as good as a copy")
#define xt_coalesce XT_SPELLED_("xt_coalesce: not there: a sparse matrix is no tensor here: xt_sparse_coo and \
xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_col_indices XT_SPELLED_("xt_col_indices: not there: a sparse matrix is no tensor here: xt_sparse_coo and \
xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_col_indices_copy XT_SPELLED_("xt_col_indices_copy: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_compiled_with_cxx11_abi XT_SPELLED_("xt_compiled_with_cxx11_abi: internal to PyTorch")
#define xt_complex128 XT_SPELLED_("xt_complex128: here it is XT_C128")
#define xt_complex32 XT_SPELLED_("xt_complex32: not there: there is no complex number of halves")
#define xt_complex64 XT_SPELLED_("xt_complex64: here it is XT_C64")
#define xt_complex_double_storage XT_SPELLED_("xt_complex_double_storage: there are no strides and no storages to look \
at")
#define xt_complex_float_storage XT_SPELLED_("xt_complex_float_storage: there are no strides and no storages to look \
at")
#define xt_complexdoublestorage XT_SPELLED_("xt_complexdoublestorage: there are no strides and no storages to look at")
#define xt_complexfloatstorage XT_SPELLED_("xt_complexfloatstorage: there are no strides and no storages to look at")
#define xt_compose_transform XT_SPELLED_("xt_compose_transform: one distribution upon another")
#define xt_composetransform XT_SPELLED_("xt_composetransform: one distribution upon another")
#define xt_concat_dataset XT_SPELLED_("xt_concat_dataset: it is called xt_concat_datasets here")
#define xt_concatdataset XT_SPELLED_("xt_concatdataset: it is called xt_concat_datasets here")
#define xt_conj_physical XT_SPELLED_("xt_conj_physical: every result is a value of its own, without strides")
#define xt_conj_physical_ XT_SPELLED_("xt_conj_physical_: every result is a value of its own, without strides")
#define xt_constant XT_SPELLED_("xt_constant: here it is xt_init_constant(m, pattern)")
#define xt_constant_ XT_SPELLED_("xt_constant_: it is called xt_init_constant(m, pattern, value) here")
#define xt_constant_lr XT_SPELLED_("xt_constant_lr: it is called xt_constant_schedule here")
#define xt_constant_pad1d XT_SPELLED_("xt_constant_pad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_constant_pad2d XT_SPELLED_("xt_constant_pad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_constant_pad3d XT_SPELLED_("xt_constant_pad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_constant_pad_nd XT_SPELLED_("xt_constant_pad_nd: internal to PyTorch")
#define xt_constantlr XT_SPELLED_("xt_constantlr: it is called xt_constant_schedule here")
#define xt_constantpad1d XT_SPELLED_("xt_constantpad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_constantpad2d XT_SPELLED_("xt_constantpad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_constantpad3d XT_SPELLED_("xt_constantpad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_container XT_SPELLED_("xt_container: here it is xt_module_new, xt_sub(m, \"h\", i)")
#define xt_contiguous XT_SPELLED_("xt_contiguous: tensors have no strides, t itself is contiguous")
#define xt_contiguous_format XT_SPELLED_("xt_contiguous_format: a tensor's elements stand row by row, a dim behind the \
other; the compiler chooses other orders by itself")
#define xt_continuous_bernoulli XT_SPELLED_("xt_continuous_bernoulli: it is called xt_continuous_bernoulli_dist(probs) \
here")
#define xt_continuousbernoulli XT_SPELLED_("xt_continuousbernoulli: it is called xt_continuous_bernoulli_dist(probs) \
here")
#define xt_conv_tbc XT_SPELLED_("xt_conv_tbc: internal to PyTorch")
#define xt_convert_conv2d_weight_memory_format XT_SPELLED_("xt_convert_conv2d_weight_memory_format: there are no \
strides, and first values cost nothing twice")
#define xt_convert_conv3d_weight_memory_format XT_SPELLED_("xt_convert_conv3d_weight_memory_format: there are no \
strides, and first values cost nothing twice")
#define xt_convolution XT_SPELLED_("xt_convolution: internal to PyTorch")
#define xt_convtranspose1d XT_SPELLED_("xt_convtranspose1d: a layer is a call here: xt_conv_transpose1d(m, \"name\", \
x, channels, kernel)")
#define xt_convtranspose2d XT_SPELLED_("xt_convtranspose2d: a layer is a call here: xt_conv_transpose2d(m, \"name\", \
x, channels, kernel)")
#define xt_convtranspose3d XT_SPELLED_("xt_convtranspose3d: it is called xt_conv_transpose3d here")
#define xt_copy_ XT_SPELLED_("xt_copy_: a value never changes: assign the new tensor to the variable; states: \
xt_assign")
#define xt_copysign_ XT_SPELLED_("xt_copysign_: a value never changes: xt_copysign")
#define xt_corr_cholesky_transform XT_SPELLED_("xt_corr_cholesky_transform: here it is \
xt_transform(XT_CORR_CHOLESKY_TRANSFORM, x)")
#define xt_corrcholeskytransform XT_SPELLED_("xt_corrcholeskytransform: here it is \
xt_transform(XT_CORR_CHOLESKY_TRANSFORM, x)")
#define xt_cos_ XT_SPELLED_("xt_cos_: a value never changes: xt_cos")
#define xt_cosh_ XT_SPELLED_("xt_cosh_: a value never changes: xt_cosh")
#define xt_cosine_annealing_lr XT_SPELLED_("xt_cosine_annealing_lr: it is called xt_cosine_schedule here")
#define xt_cosine_annealing_warm_restarts XT_SPELLED_("xt_cosine_annealing_warm_restarts: it is called \
xt_warm_restarts_schedule(optimizer, .t_0) here")
#define xt_cosineannealinglr XT_SPELLED_("xt_cosineannealinglr: it is called xt_cosine_schedule here")
#define xt_cosineannealingwarmrestarts XT_SPELLED_("xt_cosineannealingwarmrestarts: it is called \
xt_warm_restarts_schedule(optimizer, .t_0) here")
#define xt_cosineembeddingloss XT_SPELLED_("xt_cosineembeddingloss: it is called xt_cosine_embedding_loss(x1, x2, y, \
...) here")
#define xt_cosinesimilarity XT_SPELLED_("xt_cosinesimilarity: it is called xt_cosine_similarity here")
#define xt_count_parameters XT_SPELLED_("xt_count_parameters: it is called xt_module_param_count(m) here")
#define xt_cpu XT_SPELLED_("xt_cpu: one device per process; xt_read(t, memory, bytes) copies a tensor to the host")
#define xt_create_selective_checkpoint_contexts XT_SPELLED_("xt_create_selective_checkpoint_contexts: internal to \
PyTorch: xt_checkpoint_block")
#define xt_cross_entropy_loss XT_SPELLED_("xt_cross_entropy_loss: a function here: xt_cross_entropy(logits, labels)")
#define xt_cross_map_lrn2d XT_SPELLED_("xt_cross_map_lrn2d: it is called xt_local_response_norm here")
#define xt_crossentropyloss XT_SPELLED_("xt_crossentropyloss: a function here: xt_cross_entropy(logits, labels)")
#define xt_crossmaplrn2d XT_SPELLED_("xt_crossmaplrn2d: it is called xt_local_response_norm here")
#define xt_crow_indices XT_SPELLED_("xt_crow_indices: not there: a sparse matrix is no tensor here: xt_sparse_coo and \
xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_crow_indices_copy XT_SPELLED_("xt_crow_indices_copy: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_ctcloss XT_SPELLED_("xt_ctcloss: a function here: xt_ctc_loss")
#define xt_cuda XT_SPELLED_("xt_cuda: one device per process, XT_DEVICE=cuda names it; nothing is moved by hand")
#define xt_cudnn_affine_grid_generator XT_SPELLED_("xt_cudnn_affine_grid_generator: internal to PyTorch")
#define xt_cudnn_batch_norm XT_SPELLED_("xt_cudnn_batch_norm: internal to PyTorch")
#define xt_cudnn_convolution XT_SPELLED_("xt_cudnn_convolution: internal to PyTorch")
#define xt_cudnn_convolution_add_relu XT_SPELLED_("xt_cudnn_convolution_add_relu: internal to PyTorch")
#define xt_cudnn_convolution_relu XT_SPELLED_("xt_cudnn_convolution_relu: internal to PyTorch")
#define xt_cudnn_convolution_transpose XT_SPELLED_("xt_cudnn_convolution_transpose: internal to PyTorch")
#define xt_cudnn_grid_sampler XT_SPELLED_("xt_cudnn_grid_sampler: internal to PyTorch")
#define xt_cudnn_is_acceptable XT_SPELLED_("xt_cudnn_is_acceptable: internal to PyTorch")
#define xt_cumprod_ XT_SPELLED_("xt_cumprod_: a value never changes: xt_cumprod")
#define xt_cumsum_ XT_SPELLED_("xt_cumsum_: a value never changes: xt_cumsum")
#define xt_cumulative_distribution_transform XT_SPELLED_("xt_cumulative_distribution_transform: done otherwise: \
xt_dist_cdf, xt_dist_icdf; its slope is xt_dist_log_prob")
#define xt_cumulativedistributiontransform XT_SPELLED_("xt_cumulativedistributiontransform: done otherwise: \
xt_dist_cdf, xt_dist_icdf; its slope is xt_dist_log_prob")
#define xt_custom_bwd XT_SPELLED_("xt_custom_bwd: a block between xt_autocast_begin and xt_autocast_end: nothing to \
ask, and no cache of casts")
#define xt_custom_from_mask XT_SPELLED_("xt_custom_from_mask: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_custom_fwd XT_SPELLED_("xt_custom_fwd: a block between xt_autocast_begin and xt_autocast_end: nothing to \
ask, and no cache of casts")
#define xt_customfrommask XT_SPELLED_("xt_customfrommask: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_cyclic_lr XT_SPELLED_("xt_cyclic_lr: it is called xt_cyclic_schedule(optimizer, .base_lr, .max_lr) here")
#define xt_cycliclr XT_SPELLED_("xt_cycliclr: it is called xt_cyclic_schedule(optimizer, .base_lr, .max_lr) here")
#define xt_d_type XT_SPELLED_("xt_d_type: internal to PyTorch")
#define xt_data XT_SPELLED_("xt_data: done otherwise: xt_detach(x); a new value of a parameter: xt_assign")
#define xt_data_BatchSampler XT_SPELLED_("xt_data_BatchSampler: here it is .batch of xt_loader_new, by length \
xt_bucket_sampler")
#define xt_data_ChainDataset XT_SPELLED_("xt_data_ChainDataset: here it is xt_combined_loader(n, loaders, .mode = \
XT_SEQUENTIAL)")
#define xt_data_ConcatDataset XT_SPELLED_("xt_data_ConcatDataset: it is called xt_concat_datasets here")
#define xt_data_DFIterDataPipe XT_SPELLED_("xt_data_DFIterDataPipe: internal to PyTorch: xt_map_dataset, \
xt_stream_dataset")
#define xt_data_DataChunk XT_SPELLED_("xt_data_DataChunk: internal to PyTorch: xt_map_dataset, xt_stream_dataset")
#define xt_data_DataLoader XT_SPELLED_("xt_data_DataLoader: it is called xt_loader_new(dataset, .batch = 32) here")
#define xt_data_Dataset XT_SPELLED_("xt_data_Dataset: it is called xt_dataset, made by \
xt_dataset_new(&(xt_dataset_desc){...}) here")
#define xt_data_DistributedSampler XT_SPELLED_("xt_data_DistributedSampler: loaders divide their samples over the \
ranks by themselves")
#define xt_data_IterDataPipe XT_SPELLED_("xt_data_IterDataPipe: internal to PyTorch: xt_map_dataset, \
xt_stream_dataset")
#define xt_data_IterableDataset XT_SPELLED_("xt_data_IterableDataset: here it is xt_dataset_new(&desc), without a \
count xt_stream_dataset")
#define xt_data_MapDataPipe XT_SPELLED_("xt_data_MapDataPipe: internal to PyTorch: xt_map_dataset, xt_stream_dataset")
#define xt_data_RandomSampler XT_SPELLED_("xt_data_RandomSampler: here it is .shuffle of xt_loader_new")
#define xt_data_Sampler XT_SPELLED_("xt_data_Sampler: here it is .sampler of xt_loader_new, a function of one's own")
#define xt_data_SequentialSampler XT_SPELLED_("xt_data_SequentialSampler: here it is .shuffle of xt_loader_new")
#define xt_data_StackDataset XT_SPELLED_("xt_data_StackDataset: it is called xt_map_dataset here")
#define xt_data_Subset XT_SPELLED_("xt_data_Subset: it is called xt_subset here")
#define xt_data_SubsetRandomSampler XT_SPELLED_("xt_data_SubsetRandomSampler: here it is .sampler of xt_loader_new, a \
function of one's own")
#define xt_data_TensorDataset XT_SPELLED_("xt_data_TensorDataset: it is called xt_array_dataset here")
#define xt_data_WeightedRandomSampler XT_SPELLED_("xt_data_WeightedRandomSampler: it is called xt_weighted_sampler \
here")
#define xt_data_argument_validation XT_SPELLED_("xt_data_argument_validation: internal to PyTorch: xt_map_dataset, \
xt_stream_dataset")
#define xt_data_batch_sampler XT_SPELLED_("xt_data_batch_sampler: here it is .batch of xt_loader_new, by length \
xt_bucket_sampler")
#define xt_data_batchsampler XT_SPELLED_("xt_data_batchsampler: here it is .batch of xt_loader_new, by length \
xt_bucket_sampler")
#define xt_data_chain_dataset XT_SPELLED_("xt_data_chain_dataset: here it is xt_combined_loader(n, loaders, .mode = \
XT_SEQUENTIAL)")
#define xt_data_chaindataset XT_SPELLED_("xt_data_chaindataset: here it is xt_combined_loader(n, loaders, .mode = \
XT_SEQUENTIAL)")
#define xt_data_chunk XT_SPELLED_("xt_data_chunk: internal to PyTorch: xt_map_dataset, xt_stream_dataset")
#define xt_data_concat_dataset XT_SPELLED_("xt_data_concat_dataset: it is called xt_concat_datasets here")
#define xt_data_concatdataset XT_SPELLED_("xt_data_concatdataset: it is called xt_concat_datasets here")
#define xt_data_data_chunk XT_SPELLED_("xt_data_data_chunk: internal to PyTorch: xt_map_dataset, xt_stream_dataset")
#define xt_data_data_loader XT_SPELLED_("xt_data_data_loader: it is called xt_loader_new(dataset, .batch = 32) here")
#define xt_data_datachunk XT_SPELLED_("xt_data_datachunk: internal to PyTorch: xt_map_dataset, xt_stream_dataset")
#define xt_data_dataloader XT_SPELLED_("xt_data_dataloader: it is called xt_loader_new(dataset, .batch = 32) here")
#define xt_data_dataset XT_SPELLED_("xt_data_dataset: it is called xt_dataset, made by \
xt_dataset_new(&(xt_dataset_desc){...}) here")
#define xt_data_default_collate XT_SPELLED_("xt_data_default_collate: loaders stack samples of one shape by \
themselves: xt_loader_new")
#define xt_data_default_convert XT_SPELLED_("xt_data_default_convert: loaders stack samples of one shape by \
themselves: xt_loader_new")
#define xt_data_df_iter_data_pipe XT_SPELLED_("xt_data_df_iter_data_pipe: internal to PyTorch: xt_map_dataset, \
xt_stream_dataset")
#define xt_data_dfiterdatapipe XT_SPELLED_("xt_data_dfiterdatapipe: internal to PyTorch: xt_map_dataset, \
xt_stream_dataset")
#define xt_data_distributed_sampler XT_SPELLED_("xt_data_distributed_sampler: loaders divide their samples over the \
ranks by themselves")
#define xt_data_distributedsampler XT_SPELLED_("xt_data_distributedsampler: loaders divide their samples over the \
ranks by themselves")
#define xt_data_functional_datapipe XT_SPELLED_("xt_data_functional_datapipe: internal to PyTorch: xt_map_dataset, \
xt_stream_dataset")
#define xt_data_get_worker_info XT_SPELLED_("xt_data_get_worker_info: workers are threads that share the dataset: \
xt_loader_new")
#define xt_data_guaranteed_datapipes_determinism XT_SPELLED_("xt_data_guaranteed_datapipes_determinism: internal to \
PyTorch: xt_map_dataset, xt_stream_dataset")
#define xt_data_iter_data_pipe XT_SPELLED_("xt_data_iter_data_pipe: internal to PyTorch: xt_map_dataset, \
xt_stream_dataset")
#define xt_data_iterable_dataset XT_SPELLED_("xt_data_iterable_dataset: here it is xt_dataset_new(&desc), without a \
count xt_stream_dataset")
#define xt_data_iterabledataset XT_SPELLED_("xt_data_iterabledataset: here it is xt_dataset_new(&desc), without a \
count xt_stream_dataset")
#define xt_data_iterdatapipe XT_SPELLED_("xt_data_iterdatapipe: internal to PyTorch: xt_map_dataset, \
xt_stream_dataset")
#define xt_data_loader XT_SPELLED_("xt_data_loader: it is called xt_loader_new(dataset, .batch = 32) here")
#define xt_data_map_data_pipe XT_SPELLED_("xt_data_map_data_pipe: internal to PyTorch: xt_map_dataset, \
xt_stream_dataset")
#define xt_data_mapdatapipe XT_SPELLED_("xt_data_mapdatapipe: internal to PyTorch: xt_map_dataset, xt_stream_dataset")
#define xt_data_non_deterministic XT_SPELLED_("xt_data_non_deterministic: internal to PyTorch: xt_map_dataset, \
xt_stream_dataset")
#define xt_data_parallel XT_SPELLED_("xt_data_parallel: xtrain launch: ranks average gradients")
#define xt_data_ptr XT_SPELLED_("xt_data_ptr: there are no strides and no storages to look at")
#define xt_data_random_sampler XT_SPELLED_("xt_data_random_sampler: here it is .shuffle of xt_loader_new")
#define xt_data_random_split XT_SPELLED_("xt_data_random_split: it is called xt_random_split here")
#define xt_data_randomsampler XT_SPELLED_("xt_data_randomsampler: here it is .shuffle of xt_loader_new")
#define xt_data_runtime_validation XT_SPELLED_("xt_data_runtime_validation: internal to PyTorch: xt_map_dataset, \
xt_stream_dataset")
#define xt_data_runtime_validation_disabled XT_SPELLED_("xt_data_runtime_validation_disabled: internal to PyTorch: \
xt_map_dataset, xt_stream_dataset")
#define xt_data_sampler XT_SPELLED_("xt_data_sampler: here it is .sampler of xt_loader_new, a function of one's own")
#define xt_data_sequential_sampler XT_SPELLED_("xt_data_sequential_sampler: here it is .shuffle of xt_loader_new")
#define xt_data_sequentialsampler XT_SPELLED_("xt_data_sequentialsampler: here it is .shuffle of xt_loader_new")
#define xt_data_stack_dataset XT_SPELLED_("xt_data_stack_dataset: it is called xt_map_dataset here")
#define xt_data_stackdataset XT_SPELLED_("xt_data_stackdataset: it is called xt_map_dataset here")
#define xt_data_subset XT_SPELLED_("xt_data_subset: it is called xt_subset here")
#define xt_data_subset_random_sampler XT_SPELLED_("xt_data_subset_random_sampler: here it is .sampler of \
xt_loader_new, a function of one's own")
#define xt_data_subsetrandomsampler XT_SPELLED_("xt_data_subsetrandomsampler: here it is .sampler of xt_loader_new, a \
function of one's own")
#define xt_data_tensor_dataset XT_SPELLED_("xt_data_tensor_dataset: it is called xt_array_dataset here")
#define xt_data_tensordataset XT_SPELLED_("xt_data_tensordataset: it is called xt_array_dataset here")
#define xt_data_weighted_random_sampler XT_SPELLED_("xt_data_weighted_random_sampler: it is called xt_weighted_sampler \
here")
#define xt_data_weightedrandomsampler XT_SPELLED_("xt_data_weightedrandomsampler: it is called xt_weighted_sampler \
here")
#define xt_datachunk XT_SPELLED_("xt_datachunk: internal to PyTorch: xt_map_dataset, xt_stream_dataset")
#define xt_dataloader XT_SPELLED_("xt_dataloader: it is called xt_loader_new(dataset, .batch = 32) here")
#define xt_dataparallel XT_SPELLED_("xt_dataparallel: xtrain launch: ranks average gradients")
#define xt_debug_unwrap XT_SPELLED_("xt_debug_unwrap: internal to PyTorch")
#define xt_default_collate XT_SPELLED_("xt_default_collate: loaders stack samples of one shape by themselves: \
xt_loader_new")
#define xt_default_convert XT_SPELLED_("xt_default_convert: loaders stack samples of one shape by themselves: \
xt_loader_new")
#define xt_default_device_type XT_SPELLED_("xt_default_device_type: internal to PyTorch: xt_checkpoint_block")
#define xt_default_generator XT_SPELLED_("xt_default_generator: one stream of random numbers: xt_seed, \
xt_rng_state_save")
#define xt_defaultdevicetype XT_SPELLED_("xt_defaultdevicetype: internal to PyTorch: xt_checkpoint_block")
#define xt_deg2rad_ XT_SPELLED_("xt_deg2rad_: a value never changes: xt_deg2rad")
#define xt_dense_dim XT_SPELLED_("xt_dense_dim: not there: a sparse matrix is no tensor here: xt_sparse_coo and \
xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_dequantize XT_SPELLED_("xt_dequantize: not there: there are no quantized tensors: xt_quantize makes a \
module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_detach_ XT_SPELLED_("xt_detach_: a value never changes: x = xt_detach(x)")
#define xt_detach_copy XT_SPELLED_("xt_detach_copy: every result is a value of its own, without strides")
#define xt_detach_variable XT_SPELLED_("xt_detach_variable: internal to PyTorch: xt_checkpoint_block")
#define xt_detect_anomaly XT_SPELLED_("xt_detect_anomaly: XT_DEBUG=nan in the environment, .detect_anomaly of \
xt_trainer_new")
#define xt_device XT_SPELLED_("xt_device: one device per process, XT_DEVICE names it")
#define xt_df_iter_data_pipe XT_SPELLED_("xt_df_iter_data_pipe: internal to PyTorch: xt_map_dataset, \
xt_stream_dataset")
#define xt_dfiterdatapipe XT_SPELLED_("xt_dfiterdatapipe: internal to PyTorch: xt_map_dataset, xt_stream_dataset")
#define xt_diagonal_copy XT_SPELLED_("xt_diagonal_copy: every result is a value of its own, without strides")
#define xt_diagonal_scatter XT_SPELLED_("xt_diagonal_scatter: here it is xt_where with xt_eye")
#define xt_digamma_ XT_SPELLED_("xt_digamma_: a value never changes: xt_digamma")
#define xt_dim_order XT_SPELLED_("xt_dim_order: every result is a value of its own, without strides")
#define xt_dirac XT_SPELLED_("xt_dirac: here it is xt_init_dirac(m, pattern)")
#define xt_dirac_ XT_SPELLED_("xt_dirac_: here it is xt_init_dirac(m, pattern)")
#define xt_dirichlet XT_SPELLED_("xt_dirichlet: it is called xt_dirichlet_dist(concentration) here")
#define xt_distributed_sampler XT_SPELLED_("xt_distributed_sampler: loaders divide their samples over the ranks by \
themselves")
#define xt_distributedsampler XT_SPELLED_("xt_distributedsampler: loaders divide their samples over the ranks by \
themselves")
#define xt_distribution XT_SPELLED_("xt_distribution: classes of Python's")
#define xt_distributions_AbsTransform XT_SPELLED_("xt_distributions_AbsTransform: here it is \
xt_transform(XT_ABS_TRANSFORM, x)")
#define xt_distributions_AffineTransform XT_SPELLED_("xt_distributions_AffineTransform: it is called xt_affine_dist(d, \
loc, scale) here")
#define xt_distributions_Bernoulli XT_SPELLED_("xt_distributions_Bernoulli: it is called xt_bernoulli_dist here")
#define xt_distributions_Beta XT_SPELLED_("xt_distributions_Beta: it is called xt_beta_dist(concentration1, \
concentration0) here")
#define xt_distributions_Binomial XT_SPELLED_("xt_distributions_Binomial: it is called xt_binomial_dist(total_count, \
probs) here")
#define xt_distributions_CatTransform XT_SPELLED_("xt_distributions_CatTransform: done otherwise: xt_concat, xt_stack \
of transformed parts")
#define xt_distributions_Categorical XT_SPELLED_("xt_distributions_Categorical: it is called xt_categorical_dist here")
#define xt_distributions_Cauchy XT_SPELLED_("xt_distributions_Cauchy: it is called xt_cauchy_dist(loc, scale) here")
#define xt_distributions_Chi2 XT_SPELLED_("xt_distributions_Chi2: it is called xt_chi2_dist(df) here")
#define xt_distributions_ComposeTransform XT_SPELLED_("xt_distributions_ComposeTransform: one distribution upon \
another")
#define xt_distributions_ContinuousBernoulli XT_SPELLED_("xt_distributions_ContinuousBernoulli: it is called \
xt_continuous_bernoulli_dist(probs) here")
#define xt_distributions_CorrCholeskyTransform XT_SPELLED_("xt_distributions_CorrCholeskyTransform: here it is \
xt_transform(XT_CORR_CHOLESKY_TRANSFORM, x)")
#define xt_distributions_CumulativeDistributionTransform \
XT_SPELLED_("xt_distributions_CumulativeDistributionTransform: done otherwise: xt_dist_cdf, xt_dist_icdf; its slope is \
xt_dist_log_prob")
#define xt_distributions_Dirichlet XT_SPELLED_("xt_distributions_Dirichlet: it is called \
xt_dirichlet_dist(concentration) here")
#define xt_distributions_Distribution XT_SPELLED_("xt_distributions_Distribution: classes of Python's")
#define xt_distributions_ExpTransform XT_SPELLED_("xt_distributions_ExpTransform: here it is xt_exp_dist, \
xt_transform(XT_EXP_TRANSFORM, x)")
#define xt_distributions_Exponential XT_SPELLED_("xt_distributions_Exponential: it is called xt_exponential_dist(rate) \
here")
#define xt_distributions_ExponentialFamily XT_SPELLED_("xt_distributions_ExponentialFamily: classes of Python's")
#define xt_distributions_FisherSnedecor XT_SPELLED_("xt_distributions_FisherSnedecor: it is called \
xt_fisher_snedecor_dist(df1, df2) here")
#define xt_distributions_Gamma XT_SPELLED_("xt_distributions_Gamma: it is called xt_gamma_dist(concentration, rate) \
here")
#define xt_distributions_GeneralizedPareto XT_SPELLED_("xt_distributions_GeneralizedPareto: it is called \
xt_generalized_pareto_dist(loc, scale, concentration) here")
#define xt_distributions_Geometric XT_SPELLED_("xt_distributions_Geometric: it is called xt_geometric_dist(probs) \
here")
#define xt_distributions_Gumbel XT_SPELLED_("xt_distributions_Gumbel: it is called xt_gumbel_dist(loc, scale) here")
#define xt_distributions_HalfCauchy XT_SPELLED_("xt_distributions_HalfCauchy: it is called xt_half_cauchy_dist(scale) \
here")
#define xt_distributions_HalfNormal XT_SPELLED_("xt_distributions_HalfNormal: it is called xt_half_normal_dist(scale) \
here")
#define xt_distributions_Independent XT_SPELLED_("xt_distributions_Independent: it is called xt_independent_dist(d, n) \
here")
#define xt_distributions_IndependentTransform XT_SPELLED_("xt_distributions_IndependentTransform: one distribution \
upon another")
#define xt_distributions_InverseGamma XT_SPELLED_("xt_distributions_InverseGamma: it is called \
xt_inverse_gamma_dist(concentration, rate) here")
#define xt_distributions_Kumaraswamy XT_SPELLED_("xt_distributions_Kumaraswamy: it is called \
xt_kumaraswamy_dist(concentration1, concentration0) here")
#define xt_distributions_LKJCholesky XT_SPELLED_("xt_distributions_LKJCholesky: it is called xt_lkj_cholesky_dist(dim, \
concentration) here")
#define xt_distributions_Laplace XT_SPELLED_("xt_distributions_Laplace: it is called xt_laplace_dist(loc, scale) here")
#define xt_distributions_LogNormal XT_SPELLED_("xt_distributions_LogNormal: it is called xt_log_normal_dist(loc, \
scale) here")
#define xt_distributions_LogisticNormal XT_SPELLED_("xt_distributions_LogisticNormal: it is called \
xt_logistic_normal_dist(loc, scale) here")
#define xt_distributions_LowRankMultivariateNormal XT_SPELLED_("xt_distributions_LowRankMultivariateNormal: it is \
called xt_low_rank_multivariate_normal_dist(loc, cov_factor, cov_diag) here")
#define xt_distributions_LowerCholeskyTransform XT_SPELLED_("xt_distributions_LowerCholeskyTransform: here it is \
xt_transform(XT_LOWER_CHOLESKY_TRANSFORM, x)")
#define xt_distributions_MixtureSameFamily XT_SPELLED_("xt_distributions_MixtureSameFamily: it is called \
xt_mixture_dist(logits, components) here")
#define xt_distributions_Multinomial XT_SPELLED_("xt_distributions_Multinomial: it is called \
xt_multinomial_dist(total_count, probs) here")
#define xt_distributions_MultivariateNormal XT_SPELLED_("xt_distributions_MultivariateNormal: it is called \
xt_multivariate_normal_dist(loc, covariance) here")
#define xt_distributions_NegativeBinomial XT_SPELLED_("xt_distributions_NegativeBinomial: it is called \
xt_negative_binomial_dist(total_count, probs) here")
#define xt_distributions_Normal XT_SPELLED_("xt_distributions_Normal: it is called xt_normal_dist(mean, std) here")
#define xt_distributions_OneHotCategorical XT_SPELLED_("xt_distributions_OneHotCategorical: it is called \
xt_one_hot_categorical_dist(probs) here")
#define xt_distributions_OneHotCategoricalStraightThrough \
XT_SPELLED_("xt_distributions_OneHotCategoricalStraightThrough: it is called xt_one_hot_straight_through_dist(probs) \
here")
#define xt_distributions_Pareto XT_SPELLED_("xt_distributions_Pareto: it is called xt_pareto_dist(scale, alpha) here")
#define xt_distributions_Poisson XT_SPELLED_("xt_distributions_Poisson: it is called xt_poisson_dist(rate) here")
#define xt_distributions_PositiveDefiniteTransform XT_SPELLED_("xt_distributions_PositiveDefiniteTransform: here it is \
xt_transform(XT_POSITIVE_DEFINITE_TRANSFORM, x)")
#define xt_distributions_PowerTransform XT_SPELLED_("xt_distributions_PowerTransform: it is called xt_power_dist(d, \
exponent) here")
#define xt_distributions_RelaxedBernoulli XT_SPELLED_("xt_distributions_RelaxedBernoulli: it is called \
xt_relaxed_bernoulli_dist(temperature, probs) here")
#define xt_distributions_RelaxedOneHotCategorical XT_SPELLED_("xt_distributions_RelaxedOneHotCategorical: it is called \
xt_relaxed_one_hot_dist(temperature, probs) here")
#define xt_distributions_ReshapeTransform XT_SPELLED_("xt_distributions_ReshapeTransform: done otherwise: xt_reshape: \
its slope is 1")
#define xt_distributions_SigmoidTransform XT_SPELLED_("xt_distributions_SigmoidTransform: here it is xt_sigmoid_dist, \
xt_transform(XT_SIGMOID_TRANSFORM, x)")
#define xt_distributions_SoftmaxTransform XT_SPELLED_("xt_distributions_SoftmaxTransform: here it is \
xt_transform(XT_SOFTMAX_TRANSFORM, x)")
#define xt_distributions_SoftplusTransform XT_SPELLED_("xt_distributions_SoftplusTransform: here it is \
xt_softplus_dist, xt_transform(XT_SOFTPLUS_TRANSFORM, x)")
#define xt_distributions_StackTransform XT_SPELLED_("xt_distributions_StackTransform: done otherwise: xt_concat, \
xt_stack of transformed parts")
#define xt_distributions_StickBreakingTransform XT_SPELLED_("xt_distributions_StickBreakingTransform: here it is \
xt_transform(XT_STICK_BREAKING_TRANSFORM, x)")
#define xt_distributions_StudentT XT_SPELLED_("xt_distributions_StudentT: it is called xt_student_t_dist(df, loc, \
scale) here")
#define xt_distributions_TanhTransform XT_SPELLED_("xt_distributions_TanhTransform: here it is xt_tanh_dist, \
xt_transform(XT_TANH_TRANSFORM, x)")
#define xt_distributions_Transform XT_SPELLED_("xt_distributions_Transform: one distribution upon another")
#define xt_distributions_TransformedDistribution XT_SPELLED_("xt_distributions_TransformedDistribution: here it is \
xt_affine_dist, xt_exp_dist, ... upon a distribution")
#define xt_distributions_Uniform XT_SPELLED_("xt_distributions_Uniform: it is called xt_uniform_dist(low, high) here")
#define xt_distributions_VonMises XT_SPELLED_("xt_distributions_VonMises: it is called xt_von_mises_dist(loc, \
concentration) here")
#define xt_distributions_Weibull XT_SPELLED_("xt_distributions_Weibull: it is called xt_weibull_dist(scale, \
concentration) here")
#define xt_distributions_Wishart XT_SPELLED_("xt_distributions_Wishart: it is called xt_wishart_dist(df, covariance) \
here")
#define xt_distributions_abs_transform XT_SPELLED_("xt_distributions_abs_transform: here it is \
xt_transform(XT_ABS_TRANSFORM, x)")
#define xt_distributions_abstransform XT_SPELLED_("xt_distributions_abstransform: here it is \
xt_transform(XT_ABS_TRANSFORM, x)")
#define xt_distributions_affine_transform XT_SPELLED_("xt_distributions_affine_transform: it is called \
xt_affine_dist(d, loc, scale) here")
#define xt_distributions_affinetransform XT_SPELLED_("xt_distributions_affinetransform: it is called xt_affine_dist(d, \
loc, scale) here")
#define xt_distributions_bernoulli XT_SPELLED_("xt_distributions_bernoulli: it is called xt_bernoulli_dist here")
#define xt_distributions_beta XT_SPELLED_("xt_distributions_beta: it is called xt_beta_dist(concentration1, \
concentration0) here")
#define xt_distributions_biject_to XT_SPELLED_("xt_distributions_biject_to: done otherwise: xt_transform of the kind \
that the constraint asks for")
#define xt_distributions_binomial XT_SPELLED_("xt_distributions_binomial: it is called xt_binomial_dist(total_count, \
probs) here")
#define xt_distributions_cat_transform XT_SPELLED_("xt_distributions_cat_transform: done otherwise: xt_concat, \
xt_stack of transformed parts")
#define xt_distributions_categorical XT_SPELLED_("xt_distributions_categorical: it is called xt_categorical_dist here")
#define xt_distributions_cattransform XT_SPELLED_("xt_distributions_cattransform: done otherwise: xt_concat, xt_stack \
of transformed parts")
#define xt_distributions_cauchy XT_SPELLED_("xt_distributions_cauchy: it is called xt_cauchy_dist(loc, scale) here")
#define xt_distributions_chi2 XT_SPELLED_("xt_distributions_chi2: it is called xt_chi2_dist(df) here")
#define xt_distributions_compose_transform XT_SPELLED_("xt_distributions_compose_transform: one distribution upon \
another")
#define xt_distributions_composetransform XT_SPELLED_("xt_distributions_composetransform: one distribution upon \
another")
#define xt_distributions_continuous_bernoulli XT_SPELLED_("xt_distributions_continuous_bernoulli: it is called \
xt_continuous_bernoulli_dist(probs) here")
#define xt_distributions_continuousbernoulli XT_SPELLED_("xt_distributions_continuousbernoulli: it is called \
xt_continuous_bernoulli_dist(probs) here")
#define xt_distributions_corr_cholesky_transform XT_SPELLED_("xt_distributions_corr_cholesky_transform: here it is \
xt_transform(XT_CORR_CHOLESKY_TRANSFORM, x)")
#define xt_distributions_corrcholeskytransform XT_SPELLED_("xt_distributions_corrcholeskytransform: here it is \
xt_transform(XT_CORR_CHOLESKY_TRANSFORM, x)")
#define xt_distributions_cumulative_distribution_transform \
XT_SPELLED_("xt_distributions_cumulative_distribution_transform: done otherwise: xt_dist_cdf, xt_dist_icdf; its slope \
is xt_dist_log_prob")
#define xt_distributions_cumulativedistributiontransform \
XT_SPELLED_("xt_distributions_cumulativedistributiontransform: done otherwise: xt_dist_cdf, xt_dist_icdf; its slope is \
xt_dist_log_prob")
#define xt_distributions_dirichlet XT_SPELLED_("xt_distributions_dirichlet: it is called \
xt_dirichlet_dist(concentration) here")
#define xt_distributions_distribution XT_SPELLED_("xt_distributions_distribution: classes of Python's")
#define xt_distributions_exp_transform XT_SPELLED_("xt_distributions_exp_transform: here it is xt_exp_dist, \
xt_transform(XT_EXP_TRANSFORM, x)")
#define xt_distributions_exponential XT_SPELLED_("xt_distributions_exponential: it is called xt_exponential_dist(rate) \
here")
#define xt_distributions_exponential_family XT_SPELLED_("xt_distributions_exponential_family: classes of Python's")
#define xt_distributions_exponentialfamily XT_SPELLED_("xt_distributions_exponentialfamily: classes of Python's")
#define xt_distributions_exptransform XT_SPELLED_("xt_distributions_exptransform: here it is xt_exp_dist, \
xt_transform(XT_EXP_TRANSFORM, x)")
#define xt_distributions_fisher_snedecor XT_SPELLED_("xt_distributions_fisher_snedecor: it is called \
xt_fisher_snedecor_dist(df1, df2) here")
#define xt_distributions_fishersnedecor XT_SPELLED_("xt_distributions_fishersnedecor: it is called \
xt_fisher_snedecor_dist(df1, df2) here")
#define xt_distributions_gamma XT_SPELLED_("xt_distributions_gamma: it is called xt_gamma_dist(concentration, rate) \
here")
#define xt_distributions_generalized_pareto XT_SPELLED_("xt_distributions_generalized_pareto: it is called \
xt_generalized_pareto_dist(loc, scale, concentration) here")
#define xt_distributions_generalizedpareto XT_SPELLED_("xt_distributions_generalizedpareto: it is called \
xt_generalized_pareto_dist(loc, scale, concentration) here")
#define xt_distributions_geometric XT_SPELLED_("xt_distributions_geometric: it is called xt_geometric_dist(probs) \
here")
#define xt_distributions_gumbel XT_SPELLED_("xt_distributions_gumbel: it is called xt_gumbel_dist(loc, scale) here")
#define xt_distributions_half_cauchy XT_SPELLED_("xt_distributions_half_cauchy: it is called \
xt_half_cauchy_dist(scale) here")
#define xt_distributions_half_normal XT_SPELLED_("xt_distributions_half_normal: it is called \
xt_half_normal_dist(scale) here")
#define xt_distributions_halfcauchy XT_SPELLED_("xt_distributions_halfcauchy: it is called xt_half_cauchy_dist(scale) \
here")
#define xt_distributions_halfnormal XT_SPELLED_("xt_distributions_halfnormal: it is called xt_half_normal_dist(scale) \
here")
#define xt_distributions_identity_transform XT_SPELLED_("xt_distributions_identity_transform: one distribution upon \
another")
#define xt_distributions_independent XT_SPELLED_("xt_distributions_independent: it is called xt_independent_dist(d, n) \
here")
#define xt_distributions_independent_transform XT_SPELLED_("xt_distributions_independent_transform: one distribution \
upon another")
#define xt_distributions_independenttransform XT_SPELLED_("xt_distributions_independenttransform: one distribution \
upon another")
#define xt_distributions_inverse_gamma XT_SPELLED_("xt_distributions_inverse_gamma: it is called \
xt_inverse_gamma_dist(concentration, rate) here")
#define xt_distributions_inversegamma XT_SPELLED_("xt_distributions_inversegamma: it is called \
xt_inverse_gamma_dist(concentration, rate) here")
#define xt_distributions_kl_divergence XT_SPELLED_("xt_distributions_kl_divergence: it is called xt_dist_kl(p, q) \
here")
#define xt_distributions_kumaraswamy XT_SPELLED_("xt_distributions_kumaraswamy: it is called \
xt_kumaraswamy_dist(concentration1, concentration0) here")
#define xt_distributions_laplace XT_SPELLED_("xt_distributions_laplace: it is called xt_laplace_dist(loc, scale) here")
#define xt_distributions_lkj_cholesky XT_SPELLED_("xt_distributions_lkj_cholesky: it is called \
xt_lkj_cholesky_dist(dim, concentration) here")
#define xt_distributions_lkjcholesky XT_SPELLED_("xt_distributions_lkjcholesky: it is called xt_lkj_cholesky_dist(dim, \
concentration) here")
#define xt_distributions_log_normal XT_SPELLED_("xt_distributions_log_normal: it is called xt_log_normal_dist(loc, \
scale) here")
#define xt_distributions_logistic_normal XT_SPELLED_("xt_distributions_logistic_normal: it is called \
xt_logistic_normal_dist(loc, scale) here")
#define xt_distributions_logisticnormal XT_SPELLED_("xt_distributions_logisticnormal: it is called \
xt_logistic_normal_dist(loc, scale) here")
#define xt_distributions_lognormal XT_SPELLED_("xt_distributions_lognormal: it is called xt_log_normal_dist(loc, \
scale) here")
#define xt_distributions_low_rank_multivariate_normal XT_SPELLED_("xt_distributions_low_rank_multivariate_normal: it \
is called xt_low_rank_multivariate_normal_dist(loc, cov_factor, cov_diag) here")
#define xt_distributions_lower_cholesky_transform XT_SPELLED_("xt_distributions_lower_cholesky_transform: here it is \
xt_transform(XT_LOWER_CHOLESKY_TRANSFORM, x)")
#define xt_distributions_lowercholeskytransform XT_SPELLED_("xt_distributions_lowercholeskytransform: here it is \
xt_transform(XT_LOWER_CHOLESKY_TRANSFORM, x)")
#define xt_distributions_lowrankmultivariatenormal XT_SPELLED_("xt_distributions_lowrankmultivariatenormal: it is \
called xt_low_rank_multivariate_normal_dist(loc, cov_factor, cov_diag) here")
#define xt_distributions_mixture_same_family XT_SPELLED_("xt_distributions_mixture_same_family: it is called \
xt_mixture_dist(logits, components) here")
#define xt_distributions_mixturesamefamily XT_SPELLED_("xt_distributions_mixturesamefamily: it is called \
xt_mixture_dist(logits, components) here")
#define xt_distributions_multinomial XT_SPELLED_("xt_distributions_multinomial: it is called \
xt_multinomial_dist(total_count, probs) here")
#define xt_distributions_multivariate_normal XT_SPELLED_("xt_distributions_multivariate_normal: it is called \
xt_multivariate_normal_dist(loc, covariance) here")
#define xt_distributions_multivariatenormal XT_SPELLED_("xt_distributions_multivariatenormal: it is called \
xt_multivariate_normal_dist(loc, covariance) here")
#define xt_distributions_negative_binomial XT_SPELLED_("xt_distributions_negative_binomial: it is called \
xt_negative_binomial_dist(total_count, probs) here")
#define xt_distributions_negativebinomial XT_SPELLED_("xt_distributions_negativebinomial: it is called \
xt_negative_binomial_dist(total_count, probs) here")
#define xt_distributions_normal XT_SPELLED_("xt_distributions_normal: it is called xt_normal_dist(mean, std) here")
#define xt_distributions_one_hot_categorical XT_SPELLED_("xt_distributions_one_hot_categorical: it is called \
xt_one_hot_categorical_dist(probs) here")
#define xt_distributions_one_hot_categorical_straight_through \
XT_SPELLED_("xt_distributions_one_hot_categorical_straight_through: it is called \
xt_one_hot_straight_through_dist(probs) here")
#define xt_distributions_onehotcategorical XT_SPELLED_("xt_distributions_onehotcategorical: it is called \
xt_one_hot_categorical_dist(probs) here")
#define xt_distributions_onehotcategoricalstraightthrough \
XT_SPELLED_("xt_distributions_onehotcategoricalstraightthrough: it is called xt_one_hot_straight_through_dist(probs) \
here")
#define xt_distributions_pareto XT_SPELLED_("xt_distributions_pareto: it is called xt_pareto_dist(scale, alpha) here")
#define xt_distributions_poisson XT_SPELLED_("xt_distributions_poisson: it is called xt_poisson_dist(rate) here")
#define xt_distributions_positive_definite_transform XT_SPELLED_("xt_distributions_positive_definite_transform: here \
it is xt_transform(XT_POSITIVE_DEFINITE_TRANSFORM, x)")
#define xt_distributions_positivedefinitetransform XT_SPELLED_("xt_distributions_positivedefinitetransform: here it is \
xt_transform(XT_POSITIVE_DEFINITE_TRANSFORM, x)")
#define xt_distributions_power_transform XT_SPELLED_("xt_distributions_power_transform: it is called xt_power_dist(d, \
exponent) here")
#define xt_distributions_powertransform XT_SPELLED_("xt_distributions_powertransform: it is called xt_power_dist(d, \
exponent) here")
#define xt_distributions_register_kl XT_SPELLED_("xt_distributions_register_kl: classes of Python's")
#define xt_distributions_relaxed_bernoulli XT_SPELLED_("xt_distributions_relaxed_bernoulli: it is called \
xt_relaxed_bernoulli_dist(temperature, probs) here")
#define xt_distributions_relaxed_one_hot_categorical XT_SPELLED_("xt_distributions_relaxed_one_hot_categorical: it is \
called xt_relaxed_one_hot_dist(temperature, probs) here")
#define xt_distributions_relaxedbernoulli XT_SPELLED_("xt_distributions_relaxedbernoulli: it is called \
xt_relaxed_bernoulli_dist(temperature, probs) here")
#define xt_distributions_relaxedonehotcategorical XT_SPELLED_("xt_distributions_relaxedonehotcategorical: it is called \
xt_relaxed_one_hot_dist(temperature, probs) here")
#define xt_distributions_reshape_transform XT_SPELLED_("xt_distributions_reshape_transform: done otherwise: \
xt_reshape: its slope is 1")
#define xt_distributions_reshapetransform XT_SPELLED_("xt_distributions_reshapetransform: done otherwise: xt_reshape: \
its slope is 1")
#define xt_distributions_sigmoid_transform XT_SPELLED_("xt_distributions_sigmoid_transform: here it is \
xt_sigmoid_dist, xt_transform(XT_SIGMOID_TRANSFORM, x)")
#define xt_distributions_sigmoidtransform XT_SPELLED_("xt_distributions_sigmoidtransform: here it is xt_sigmoid_dist, \
xt_transform(XT_SIGMOID_TRANSFORM, x)")
#define xt_distributions_softmax_transform XT_SPELLED_("xt_distributions_softmax_transform: here it is \
xt_transform(XT_SOFTMAX_TRANSFORM, x)")
#define xt_distributions_softmaxtransform XT_SPELLED_("xt_distributions_softmaxtransform: here it is \
xt_transform(XT_SOFTMAX_TRANSFORM, x)")
#define xt_distributions_softplus_transform XT_SPELLED_("xt_distributions_softplus_transform: here it is \
xt_softplus_dist, xt_transform(XT_SOFTPLUS_TRANSFORM, x)")
#define xt_distributions_softplustransform XT_SPELLED_("xt_distributions_softplustransform: here it is \
xt_softplus_dist, xt_transform(XT_SOFTPLUS_TRANSFORM, x)")
#define xt_distributions_stack_transform XT_SPELLED_("xt_distributions_stack_transform: done otherwise: xt_concat, \
xt_stack of transformed parts")
#define xt_distributions_stacktransform XT_SPELLED_("xt_distributions_stacktransform: done otherwise: xt_concat, \
xt_stack of transformed parts")
#define xt_distributions_stick_breaking_transform XT_SPELLED_("xt_distributions_stick_breaking_transform: here it is \
xt_transform(XT_STICK_BREAKING_TRANSFORM, x)")
#define xt_distributions_stickbreakingtransform XT_SPELLED_("xt_distributions_stickbreakingtransform: here it is \
xt_transform(XT_STICK_BREAKING_TRANSFORM, x)")
#define xt_distributions_student_t XT_SPELLED_("xt_distributions_student_t: it is called xt_student_t_dist(df, loc, \
scale) here")
#define xt_distributions_studentt XT_SPELLED_("xt_distributions_studentt: it is called xt_student_t_dist(df, loc, \
scale) here")
#define xt_distributions_tanh_transform XT_SPELLED_("xt_distributions_tanh_transform: here it is xt_tanh_dist, \
xt_transform(XT_TANH_TRANSFORM, x)")
#define xt_distributions_tanhtransform XT_SPELLED_("xt_distributions_tanhtransform: here it is xt_tanh_dist, \
xt_transform(XT_TANH_TRANSFORM, x)")
#define xt_distributions_transform XT_SPELLED_("xt_distributions_transform: one distribution upon another")
#define xt_distributions_transform_to XT_SPELLED_("xt_distributions_transform_to: done otherwise: xt_transform of the \
kind that the constraint asks for")
#define xt_distributions_transformed_distribution XT_SPELLED_("xt_distributions_transformed_distribution: here it is \
xt_affine_dist, xt_exp_dist, ... upon a distribution")
#define xt_distributions_transformeddistribution XT_SPELLED_("xt_distributions_transformeddistribution: here it is \
xt_affine_dist, xt_exp_dist, ... upon a distribution")
#define xt_distributions_uniform XT_SPELLED_("xt_distributions_uniform: it is called xt_uniform_dist(low, high) here")
#define xt_distributions_von_mises XT_SPELLED_("xt_distributions_von_mises: it is called xt_von_mises_dist(loc, \
concentration) here")
#define xt_distributions_vonmises XT_SPELLED_("xt_distributions_vonmises: it is called xt_von_mises_dist(loc, \
concentration) here")
#define xt_distributions_weibull XT_SPELLED_("xt_distributions_weibull: it is called xt_weibull_dist(scale, \
concentration) here")
#define xt_distributions_wishart XT_SPELLED_("xt_distributions_wishart: it is called xt_wishart_dist(df, covariance) \
here")
#define xt_div_ XT_SPELLED_("xt_div_: a value never changes: xt_div")
#define xt_divide_ XT_SPELLED_("xt_divide_: a value never changes: xt_divide")
#define xt_double XT_SPELLED_("xt_double: a dtype is given: xt_cast(x, XT_F64)")
#define xt_double_storage XT_SPELLED_("xt_double_storage: there are no strides and no storages to look at")
#define xt_double_tensor XT_SPELLED_("xt_double_tensor: here it is xt_from_array(values, dtype, dims)")
#define xt_doublestorage XT_SPELLED_("xt_doublestorage: there are no strides and no storages to look at")
#define xt_doubletensor XT_SPELLED_("xt_doubletensor: here it is xt_from_array(values, dtype, dims)")
#define xt_dropout_ XT_SPELLED_("xt_dropout_: a value never changes: x = xt_dropout(m, x, p)")
#define xt_dsmm XT_SPELLED_("xt_dsmm: it is called xt_sparse_mm(a, x) here")
#define xt_dsplit XT_SPELLED_("xt_dsplit: it is called xt_tensor_split(x, parts, 2, out) here")
#define xt_e XT_SPELLED_("xt_e: M_PI, M_E, INFINITY, NAN of <math.h>")
#define xt_eigvals XT_SPELLED_("xt_eigvals: it is called xt_linalg_eigvals(a) here")
#define xt_eigvalsh XT_SPELLED_("xt_eigvalsh: it is called xt_linalg_eigvalsh here")
#define xt_element_size XT_SPELLED_("xt_element_size: there are no strides and no storages to look at")
#define xt_elu_ XT_SPELLED_("xt_elu_: a value never changes: xt_elu")
#define xt_embedding_renorm_ XT_SPELLED_("xt_embedding_renorm_: internal to PyTorch")
#define xt_embeddingbag XT_SPELLED_("xt_embeddingbag: a function here: xt_embedding_bag(indices, table, mode, \
weights)")
#define xt_empty XT_SPELLED_("xt_empty: memory without values does not exist: xt_zeros(dtype, dims)")
#define xt_empty_cache XT_SPELLED_("xt_empty_cache: nothing is kept back; memory goes to the next program by itself")
#define xt_empty_like XT_SPELLED_("xt_empty_like: memory without values does not exist: xt_zeros_like(t)")
#define xt_empty_permuted XT_SPELLED_("xt_empty_permuted: memory without values does not exist: xt_zeros")
#define xt_empty_quantized XT_SPELLED_("xt_empty_quantized: not there: there are no quantized tensors: xt_quantize \
makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_empty_strided XT_SPELLED_("xt_empty_strided: memory without values does not exist: xt_zeros")
#define xt_enable_grad XT_SPELLED_("xt_enable_grad: gradients are there but between xt_no_grad_begin() and \
xt_no_grad_end()")
#define xt_entropy XT_SPELLED_("xt_entropy: it is called xt_dist_entropy(d) here")
#define xt_eq_ XT_SPELLED_("xt_eq_: a value never changes: xt_eq")
#define xt_erf_ XT_SPELLED_("xt_erf_: a value never changes: xt_erf")
#define xt_erfc_ XT_SPELLED_("xt_erfc_: a value never changes: xt_erfc")
#define xt_erfinv_ XT_SPELLED_("xt_erfinv_: a value never changes: xt_erfinv")
#define xt_event XT_SPELLED_("xt_event: the device orders its programs by itself: xt_wait waits for them")
#define xt_exp2_ XT_SPELLED_("xt_exp2_: a value never changes: xt_exp2")
#define xt_exp_ XT_SPELLED_("xt_exp_: a value never changes: xt_exp")
#define xt_exp_transform XT_SPELLED_("xt_exp_transform: here it is xt_exp_dist, xt_transform(XT_EXP_TRANSFORM, x)")
#define xt_expand_copy XT_SPELLED_("xt_expand_copy: every result is a value of its own, without strides")
#define xt_expm1_ XT_SPELLED_("xt_expm1_: a value never changes: xt_expm1")
#define xt_exponential_ XT_SPELLED_("xt_exponential_: it is called xt_exponential(rate, dtype, ...) here")
#define xt_exponential_family XT_SPELLED_("xt_exponential_family: classes of Python's")
#define xt_exponential_lr XT_SPELLED_("xt_exponential_lr: it is called xt_exponential_schedule here")
#define xt_exponentialfamily XT_SPELLED_("xt_exponentialfamily: classes of Python's")
#define xt_exponentiallr XT_SPELLED_("xt_exponentiallr: it is called xt_exponential_schedule here")
#define xt_exptransform XT_SPELLED_("xt_exptransform: here it is xt_exp_dist, xt_transform(XT_EXP_TRANSFORM, x)")
#define xt_eye_ XT_SPELLED_("xt_eye_: here it is xt_init_eye(m, pattern)")
#define xt_factory_kwargs XT_SPELLED_("xt_factory_kwargs: internal to PyTorch")
#define xt_fbgemm_linear_fp16_weight XT_SPELLED_("xt_fbgemm_linear_fp16_weight: not there: there are no quantized \
tensors: xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_fbgemm_linear_fp16_weight_fp32_activation XT_SPELLED_("xt_fbgemm_linear_fp16_weight_fp32_activation: not \
there: there are no quantized tensors: xt_quantize makes a module's weights integers, \
xt_fake_quantize_per_tensor_affine trains for it")
#define xt_fbgemm_linear_int8_weight XT_SPELLED_("xt_fbgemm_linear_int8_weight: not there: there are no quantized \
tensors: xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_fbgemm_linear_int8_weight_fp32_activation XT_SPELLED_("xt_fbgemm_linear_int8_weight_fp32_activation: not \
there: there are no quantized tensors: xt_quantize makes a module's weights integers, \
xt_fake_quantize_per_tensor_affine trains for it")
#define xt_fbgemm_linear_quantize_weight XT_SPELLED_("xt_fbgemm_linear_quantize_weight: not there: there are no \
quantized tensors: xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_fbgemm_pack_gemm_matrix_fp16 XT_SPELLED_("xt_fbgemm_pack_gemm_matrix_fp16: not there: there are no \
quantized tensors: xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_fbgemm_pack_quantized_matrix XT_SPELLED_("xt_fbgemm_pack_quantized_matrix: not there: there are no \
quantized tensors: xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_feature_alpha_dropout_ XT_SPELLED_("xt_feature_alpha_dropout_: a value never changes: xt_dropout, \
xt_alpha_dropout")
#define xt_feature_dropout XT_SPELLED_("xt_feature_dropout: it is called xt_dropout2d(m, x, ...) here")
#define xt_feature_dropout_ XT_SPELLED_("xt_feature_dropout_: a value never changes: xt_dropout, xt_alpha_dropout")
#define xt_featurealphadropout XT_SPELLED_("xt_featurealphadropout: it is called xt_feature_alpha_dropout(m, x, ...) \
here")
#define xt_fft_Tensor XT_SPELLED_("xt_fft_Tensor: it is called xt_tensor here")
#define xt_fft_fft XT_SPELLED_("xt_fft_fft: it is called xt_fft(x, axis, ...) here")
#define xt_fft_fft2 XT_SPELLED_("xt_fft_fft2: it is called xt_fft2 here")
#define xt_fft_fftfreq XT_SPELLED_("xt_fft_fftfreq: it is called xt_fftfreq here")
#define xt_fft_fftn XT_SPELLED_("xt_fft_fftn: it is called xt_fftn(x, axes, ...) here")
#define xt_fft_fftshift XT_SPELLED_("xt_fft_fftshift: it is called xt_fftshift(x, axes) here")
#define xt_fft_hfft XT_SPELLED_("xt_fft_hfft: it is called xt_hfft(x, axis, ...) here")
#define xt_fft_hfft2 XT_SPELLED_("xt_fft_hfft2: it is called xt_hfft2 here")
#define xt_fft_hfftn XT_SPELLED_("xt_fft_hfftn: it is called xt_hfftn(x, axes, ...) here")
#define xt_fft_ifft XT_SPELLED_("xt_fft_ifft: it is called xt_ifft(x, axis, ...) here")
#define xt_fft_ifft2 XT_SPELLED_("xt_fft_ifft2: it is called xt_ifft2 here")
#define xt_fft_ifftn XT_SPELLED_("xt_fft_ifftn: it is called xt_ifftn(x, axes, ...) here")
#define xt_fft_ifftshift XT_SPELLED_("xt_fft_ifftshift: it is called xt_ifftshift(x, axes) here")
#define xt_fft_ihfft XT_SPELLED_("xt_fft_ihfft: it is called xt_ihfft(x, axis, ...) here")
#define xt_fft_ihfft2 XT_SPELLED_("xt_fft_ihfft2: it is called xt_ihfft2 here")
#define xt_fft_ihfftn XT_SPELLED_("xt_fft_ihfftn: it is called xt_ihfftn(x, axes, ...) here")
#define xt_fft_irfft XT_SPELLED_("xt_fft_irfft: it is called xt_irfft(x, axis, ...) here")
#define xt_fft_irfft2 XT_SPELLED_("xt_fft_irfft2: it is called xt_irfft2 here")
#define xt_fft_irfftn XT_SPELLED_("xt_fft_irfftn: it is called xt_irfftn(x, axes, ...) here")
#define xt_fft_rfft XT_SPELLED_("xt_fft_rfft: it is called xt_rfft(x, axis, ...) here")
#define xt_fft_rfft2 XT_SPELLED_("xt_fft_rfft2: it is called xt_rfft2 here")
#define xt_fft_rfftfreq XT_SPELLED_("xt_fft_rfftfreq: it is called xt_rfftfreq here")
#define xt_fft_rfftn XT_SPELLED_("xt_fft_rfftn: it is called xt_rfftn(x, axes, ...) here")
#define xt_fft_tensor XT_SPELLED_("xt_fft_tensor: it is called xt_tensor here")
#define xt_fill XT_SPELLED_("xt_fill: here it is xt_full_like, xt_zeros_like")
#define xt_fill_ XT_SPELLED_("xt_fill_: a value never changes: xt_full_like(t, v)")
#define xt_fill_diagonal_ XT_SPELLED_("xt_fill_diagonal_: here it is xt_where with xt_eye")
#define xt_finfo XT_SPELLED_("xt_finfo: C's own limits: FLT_EPSILON, FLT_MAX, DBL_EPSILON of <float.h>, INT64_MAX of \
<stdint.h>; f16: 2^-10 and 65504, bf16: 2^-7")
#define xt_fisher_snedecor XT_SPELLED_("xt_fisher_snedecor: it is called xt_fisher_snedecor_dist(df1, df2) here")
#define xt_fishersnedecor XT_SPELLED_("xt_fishersnedecor: it is called xt_fisher_snedecor_dist(df1, df2) here")
#define xt_fix_ XT_SPELLED_("xt_fix_: a value never changes: xt_fix")
#define xt_float XT_SPELLED_("xt_float: it is called xt_cast(t, XT_F32) here")
#define xt_float16 XT_SPELLED_("xt_float16: here it is XT_F16")
#define xt_float32 XT_SPELLED_("xt_float32: here it is XT_F32")
#define xt_float4_e2m1fn_x2 XT_SPELLED_("xt_float4_e2m1fn_x2: not there: no dtype of that width: XT_I4, XT_U4 and the \
XT_F8 ones are the narrow ones")
#define xt_float64 XT_SPELLED_("xt_float64: here it is XT_F64")
#define xt_float8_e4m3fn XT_SPELLED_("xt_float8_e4m3fn: here it is XT_F8E4M3FN")
#define xt_float8_e4m3fnuz XT_SPELLED_("xt_float8_e4m3fnuz: here it is XT_F8E4M3FNUZ")
#define xt_float8_e5m2 XT_SPELLED_("xt_float8_e5m2: here it is XT_F8E5M2")
#define xt_float8_e5m2fnuz XT_SPELLED_("xt_float8_e5m2fnuz: here it is XT_F8E5M2FNUZ")
#define xt_float8_e8m0fnu XT_SPELLED_("xt_float8_e8m0fnu: not there: no dtype of that width: XT_I4, XT_U4 and the \
XT_F8 ones are the narrow ones")
#define xt_float_power_ XT_SPELLED_("xt_float_power_: a value never changes: xt_float_power")
#define xt_float_storage XT_SPELLED_("xt_float_storage: there are no strides and no storages to look at")
#define xt_float_tensor XT_SPELLED_("xt_float_tensor: here it is xt_from_array(values, dtype, dims)")
#define xt_floatstorage XT_SPELLED_("xt_floatstorage: there are no strides and no storages to look at")
#define xt_floattensor XT_SPELLED_("xt_floattensor: here it is xt_from_array(values, dtype, dims)")
#define xt_floor_ XT_SPELLED_("xt_floor_: a value never changes: xt_floor")
#define xt_floor_divide_ XT_SPELLED_("xt_floor_divide_: a value never changes: xt_floor_divide")
#define xt_fmod_ XT_SPELLED_("xt_fmod_: a value never changes: xt_fmod")
#define xt_fork XT_SPELLED_("xt_fork: internal to PyTorch")
#define xt_frac_ XT_SPELLED_("xt_frac_: a value never changes: xt_frac")
#define xt_fractional_max_pool2d_with_indices XT_SPELLED_("xt_fractional_max_pool2d_with_indices: here it is \
xt_fractional_max_pool2d(x, kernel, &indices, .sizes), xt_fractional_max_pool3d")
#define xt_fractional_max_pool3d_with_indices XT_SPELLED_("xt_fractional_max_pool3d_with_indices: here it is \
xt_fractional_max_pool2d(x, kernel, &indices, .sizes), xt_fractional_max_pool3d")
#define xt_fractionalmaxpool2d XT_SPELLED_("xt_fractionalmaxpool2d: it is called xt_fractional_max_pool2d(x, kernel, \
out_indices, ...) here")
#define xt_fractionalmaxpool3d XT_SPELLED_("xt_fractionalmaxpool3d: it is called xt_fractional_max_pool3d(x, kernel, \
out_indices, ...) here")
#define xt_frobenius_norm XT_SPELLED_("xt_frobenius_norm: internal to PyTorch")
#define xt_from_dlpack XT_SPELLED_("xt_from_dlpack: not there: memory of other libraries is copied: xt_from_data, \
xt_read")
#define xt_from_file XT_SPELLED_("xt_from_file: here it is xt_from_array, xt_from_data; numbers: xt_scalar")
#define xt_from_numpy XT_SPELLED_("xt_from_numpy: memory of the program is copied: xt_from_array(values, XT_F32, 2, \
3)")
#define xt_frombuffer XT_SPELLED_("xt_frombuffer: here it is xt_from_array, xt_from_data; numbers: xt_scalar")
#define xt_func_debug_unwrap XT_SPELLED_("xt_func_debug_unwrap: internal to PyTorch")
#define xt_func_functional_call XT_SPELLED_("xt_func_functional_call: a module keeps its parameters: xt_module_find(m, \
\"fc.weight\"), xt_grad_fn of a function of tensors")
#define xt_func_functionalize XT_SPELLED_("xt_func_functionalize: internal to PyTorch")
#define xt_func_grad XT_SPELLED_("xt_func_grad: it is called xt_grad_fn here")
#define xt_func_grad_and_value XT_SPELLED_("xt_func_grad_and_value: it is called xt_grad_fn here: its out is the \
value")
#define xt_func_hessian XT_SPELLED_("xt_func_hessian: it is called xt_hessian(fn, user, x, out) here")
#define xt_func_jacfwd XT_SPELLED_("xt_func_jacfwd: it is called xt_jacobian here")
#define xt_func_jacrev XT_SPELLED_("xt_func_jacrev: it is called xt_jacobian here")
#define xt_func_jvp XT_SPELLED_("xt_func_jvp: it is called xt_jvp here")
#define xt_func_linearize XT_SPELLED_("xt_func_linearize: it is called xt_jvp here")
#define xt_func_replace_all_batch_norm_modules_ XT_SPELLED_("xt_func_replace_all_batch_norm_modules_: internal to \
PyTorch")
#define xt_func_stack_module_state XT_SPELLED_("xt_func_stack_module_state: done otherwise: xt_module_find and \
functions of tensors")
#define xt_func_vjp XT_SPELLED_("xt_func_vjp: it is called xt_vjp here")
#define xt_func_vmap XT_SPELLED_("xt_func_vmap: it is called xt_vmap(fn, n_in, in, n_out, out, ...) here")
#define xt_function XT_SPELLED_("xt_function: it is called xt_custom_grad(forward, backward, n_in, in, n_out, out, \
...) here")
#define xt_functional_DType XT_SPELLED_("xt_functional_DType: internal to PyTorch")
#define xt_functional_Tensor XT_SPELLED_("xt_functional_Tensor: it is called xt_tensor, a handle passed by value here")
#define xt_functional_adaptive_avg_pool1d XT_SPELLED_("xt_functional_adaptive_avg_pool1d: it is called \
xt_adaptive_avg_pool1d(x, sizes, ...) here")
#define xt_functional_adaptive_avg_pool2d XT_SPELLED_("xt_functional_adaptive_avg_pool2d: it is called \
xt_adaptive_avg_pool2d(x, sizes, ...) here")
#define xt_functional_adaptive_avg_pool3d XT_SPELLED_("xt_functional_adaptive_avg_pool3d: it is called \
xt_adaptive_avg_pool3d(x, sizes, ...) here")
#define xt_functional_adaptive_max_pool1d XT_SPELLED_("xt_functional_adaptive_max_pool1d: it is called \
xt_adaptive_max_pool1d(x, sizes, ...) here")
#define xt_functional_adaptive_max_pool1d_with_indices XT_SPELLED_("xt_functional_adaptive_max_pool1d_with_indices: it \
is called xt_adaptive_max_pool1d_with_indices(x, out_indices, sizes, ...) here")
#define xt_functional_adaptive_max_pool2d XT_SPELLED_("xt_functional_adaptive_max_pool2d: it is called \
xt_adaptive_max_pool2d(x, sizes, ...) here")
#define xt_functional_adaptive_max_pool2d_with_indices XT_SPELLED_("xt_functional_adaptive_max_pool2d_with_indices: it \
is called xt_adaptive_max_pool2d_with_indices(x, out_indices, sizes, ...) here")
#define xt_functional_adaptive_max_pool3d XT_SPELLED_("xt_functional_adaptive_max_pool3d: it is called \
xt_adaptive_max_pool3d(x, sizes, ...) here")
#define xt_functional_adaptive_max_pool3d_with_indices XT_SPELLED_("xt_functional_adaptive_max_pool3d_with_indices: it \
is called xt_adaptive_max_pool3d_with_indices(x, out_indices, sizes, ...) here")
#define xt_functional_affine_grid XT_SPELLED_("xt_functional_affine_grid: it is called xt_affine_grid(theta, height, \
width, ...) here")
#define xt_functional_alpha_dropout XT_SPELLED_("xt_functional_alpha_dropout: it is called xt_alpha_dropout(m, x, ...) \
here")
#define xt_functional_assert_int_or_pair XT_SPELLED_("xt_functional_assert_int_or_pair: internal to PyTorch")
#define xt_functional_avg_pool1d XT_SPELLED_("xt_functional_avg_pool1d: it is called xt_avg_pool1d(x, kernel, ...) \
here")
#define xt_functional_avg_pool2d XT_SPELLED_("xt_functional_avg_pool2d: it is called xt_avg_pool2d(x, kernel, ...) \
here")
#define xt_functional_avg_pool3d XT_SPELLED_("xt_functional_avg_pool3d: it is called xt_avg_pool3d(x, kernel, ...) \
here")
#define xt_functional_batch_norm XT_SPELLED_("xt_functional_batch_norm: here it is xt_batch_norm; with weights given, \
.affine = XT_OFF and xt_mul, xt_add of them")
#define xt_functional_bilinear XT_SPELLED_("xt_functional_bilinear: here it is xt_bilinear; with weights given \
xt_einsum")
#define xt_functional_binary_cross_entropy XT_SPELLED_("xt_functional_binary_cross_entropy: it is called \
xt_binary_cross_entropy(x, y, ...) here")
#define xt_functional_binary_cross_entropy_with_logits XT_SPELLED_("xt_functional_binary_cross_entropy_with_logits: it \
is called xt_bce_with_logits(x, y, ...) here")
#define xt_functional_call XT_SPELLED_("xt_functional_call: a module keeps its parameters: xt_module_find(m, \
\"fc.weight\"), xt_grad_fn of a function of tensors")
#define xt_functional_celu XT_SPELLED_("xt_functional_celu: it is called xt_celu here")
#define xt_functional_celu_ XT_SPELLED_("xt_functional_celu_: a value never changes: xt_celu")
#define xt_functional_channel_shuffle XT_SPELLED_("xt_functional_channel_shuffle: it is called xt_channel_shuffle(x, \
groups) here")
#define xt_functional_conv1d XT_SPELLED_("xt_functional_conv1d: it is called xt_conv1d here")
#define xt_functional_conv2d XT_SPELLED_("xt_functional_conv2d: it is called xt_conv2d here")
#define xt_functional_conv3d XT_SPELLED_("xt_functional_conv3d: it is called xt_conv3d here")
#define xt_functional_conv_tbc XT_SPELLED_("xt_functional_conv_tbc: internal to PyTorch")
#define xt_functional_conv_transpose1d XT_SPELLED_("xt_functional_conv_transpose1d: it is called xt_conv_transpose1d \
here")
#define xt_functional_conv_transpose2d XT_SPELLED_("xt_functional_conv_transpose2d: it is called xt_conv_transpose2d \
here")
#define xt_functional_conv_transpose3d XT_SPELLED_("xt_functional_conv_transpose3d: it is called xt_conv_transpose3d \
here")
#define xt_functional_cosine_embedding_loss XT_SPELLED_("xt_functional_cosine_embedding_loss: it is called \
xt_cosine_embedding_loss(x1, x2, y, ...) here")
#define xt_functional_cosine_similarity XT_SPELLED_("xt_functional_cosine_similarity: it is called \
xt_cosine_similarity(x, y, ...) here")
#define xt_functional_cross_entropy XT_SPELLED_("xt_functional_cross_entropy: it is called xt_cross_entropy(logits, \
labels, ...) here")
#define xt_functional_ctc_loss XT_SPELLED_("xt_functional_ctc_loss: it is called xt_ctc_loss here")
#define xt_functional_d_type XT_SPELLED_("xt_functional_d_type: internal to PyTorch")
#define xt_functional_datapipe XT_SPELLED_("xt_functional_datapipe: internal to PyTorch: xt_map_dataset, \
xt_stream_dataset")
#define xt_functional_dropout XT_SPELLED_("xt_functional_dropout: it is called xt_dropout(m, x, ...) here")
#define xt_functional_dropout1d XT_SPELLED_("xt_functional_dropout1d: it is called xt_dropout1d(m, x, ...) here")
#define xt_functional_dropout2d XT_SPELLED_("xt_functional_dropout2d: it is called xt_dropout2d(m, x, ...) here")
#define xt_functional_dropout3d XT_SPELLED_("xt_functional_dropout3d: it is called xt_dropout3d(m, x, ...) here")
#define xt_functional_dtype XT_SPELLED_("xt_functional_dtype: internal to PyTorch")
#define xt_functional_elu XT_SPELLED_("xt_functional_elu: it is called xt_elu here")
#define xt_functional_elu_ XT_SPELLED_("xt_functional_elu_: a value never changes: xt_elu")
#define xt_functional_embedding XT_SPELLED_("xt_functional_embedding: it is called xt_embedding here")
#define xt_functional_embedding_bag XT_SPELLED_("xt_functional_embedding_bag: it is called xt_embedding_bag(indices, \
table, mode, weights, ...) here")
#define xt_functional_feature_alpha_dropout XT_SPELLED_("xt_functional_feature_alpha_dropout: it is called \
xt_feature_alpha_dropout(m, x, ...) here")
#define xt_functional_fold XT_SPELLED_("xt_functional_fold: it is called xt_fold(x, height, width, kernel_h, kernel_w, \
...) here")
#define xt_functional_fractional_max_pool2d XT_SPELLED_("xt_functional_fractional_max_pool2d: it is called \
xt_fractional_max_pool2d(x, kernel, out_indices, ...) here")
#define xt_functional_fractional_max_pool2d_with_indices \
XT_SPELLED_("xt_functional_fractional_max_pool2d_with_indices: here it is xt_fractional_max_pool2d(x, kernel, \
&indices, .sizes), xt_fractional_max_pool3d")
#define xt_functional_fractional_max_pool3d XT_SPELLED_("xt_functional_fractional_max_pool3d: it is called \
xt_fractional_max_pool3d(x, kernel, out_indices, ...) here")
#define xt_functional_fractional_max_pool3d_with_indices \
XT_SPELLED_("xt_functional_fractional_max_pool3d_with_indices: here it is xt_fractional_max_pool2d(x, kernel, \
&indices, .sizes), xt_fractional_max_pool3d")
#define xt_functional_gaussian_nll_loss XT_SPELLED_("xt_functional_gaussian_nll_loss: it is called \
xt_gaussian_nll_loss(x, y, variance, ...) here")
#define xt_functional_gelu XT_SPELLED_("xt_functional_gelu: here it is xt_gelu_erf, tanh form xt_gelu")
#define xt_functional_glu XT_SPELLED_("xt_functional_glu: it is called xt_glu here")
#define xt_functional_grid_sample XT_SPELLED_("xt_functional_grid_sample: it is called xt_grid_sample(x, grid, ...) \
here")
#define xt_functional_group_norm XT_SPELLED_("xt_functional_group_norm: here it is xt_group_norm; with weights given, \
.affine = XT_OFF and xt_mul, xt_add of them")
#define xt_functional_gumbel_softmax XT_SPELLED_("xt_functional_gumbel_softmax: it is called xt_gumbel_softmax here")
#define xt_functional_hardshrink XT_SPELLED_("xt_functional_hardshrink: it is called xt_hardshrink here")
#define xt_functional_hardsigmoid XT_SPELLED_("xt_functional_hardsigmoid: it is called xt_hardsigmoid(x) here")
#define xt_functional_hardswish XT_SPELLED_("xt_functional_hardswish: it is called xt_hardswish(x) here")
#define xt_functional_hardtanh XT_SPELLED_("xt_functional_hardtanh: it is called xt_hardtanh here")
#define xt_functional_hardtanh_ XT_SPELLED_("xt_functional_hardtanh_: a value never changes: xt_hardtanh")
#define xt_functional_has_torch_function XT_SPELLED_("xt_functional_has_torch_function: internal to PyTorch")
#define xt_functional_has_torch_function_unary XT_SPELLED_("xt_functional_has_torch_function_unary: internal to \
PyTorch")
#define xt_functional_has_torch_function_variadic XT_SPELLED_("xt_functional_has_torch_function_variadic: internal to \
PyTorch")
#define xt_functional_hessian XT_SPELLED_("xt_functional_hessian: it is called xt_hessian(fn, user, x, out) here")
#define xt_functional_hinge_embedding_loss XT_SPELLED_("xt_functional_hinge_embedding_loss: it is called \
xt_hinge_embedding_loss(x, y, ...) here")
#define xt_functional_huber_loss XT_SPELLED_("xt_functional_huber_loss: it is called xt_huber_loss(x, y, ...) here")
#define xt_functional_hvp XT_SPELLED_("xt_functional_hvp: it is called xt_hvp here")
#define xt_functional_instance_norm XT_SPELLED_("xt_functional_instance_norm: here it is xt_instance_norm; with \
weights given, .affine = XT_OFF and xt_mul, xt_add of them")
#define xt_functional_interpolate XT_SPELLED_("xt_functional_interpolate: it is called xt_interpolate here")
#define xt_functional_jacobian XT_SPELLED_("xt_functional_jacobian: it is called xt_jacobian here")
#define xt_functional_jvp XT_SPELLED_("xt_functional_jvp: it is called xt_jvp here")
#define xt_functional_kl_div XT_SPELLED_("xt_functional_kl_div: it is called xt_kl_div(log_probs, y, ...) here")
#define xt_functional_l1_loss XT_SPELLED_("xt_functional_l1_loss: it is called xt_l1_loss(x, y, ...) here")
#define xt_functional_layer_norm XT_SPELLED_("xt_functional_layer_norm: here it is xt_layer_norm; with weights given, \
.affine = XT_OFF and xt_mul, xt_add of them")
#define xt_functional_leaky_relu XT_SPELLED_("xt_functional_leaky_relu: it is called xt_leaky_relu here")
#define xt_functional_leaky_relu_ XT_SPELLED_("xt_functional_leaky_relu_: a value never changes: xt_leaky_relu")
#define xt_functional_linear XT_SPELLED_("xt_functional_linear: here it is xt_linear; with weights given \
xt_add(xt_matmul(x, xt_t(weight)), bias)")
#define xt_functional_local_response_norm XT_SPELLED_("xt_functional_local_response_norm: it is called \
xt_local_response_norm here")
#define xt_functional_log_softmax XT_SPELLED_("xt_functional_log_softmax: it is called xt_log_softmax(x, axis) here")
#define xt_functional_logsigmoid XT_SPELLED_("xt_functional_logsigmoid: it is called xt_logsigmoid(x) here")
#define xt_functional_lp_pool1d XT_SPELLED_("xt_functional_lp_pool1d: it is called xt_lp_pool1d(x, p, kernel, ...) \
here")
#define xt_functional_lp_pool2d XT_SPELLED_("xt_functional_lp_pool2d: it is called xt_lp_pool2d(x, p, kernel, ...) \
here")
#define xt_functional_lp_pool3d XT_SPELLED_("xt_functional_lp_pool3d: it is called xt_lp_pool3d(x, p, kernel, ...) \
here")
#define xt_functional_margin_ranking_loss XT_SPELLED_("xt_functional_margin_ranking_loss: it is called \
xt_margin_ranking_loss(x1, x2, y, ...) here")
#define xt_functional_max_pool1d XT_SPELLED_("xt_functional_max_pool1d: it is called xt_max_pool1d(x, kernel, ...) \
here")
#define xt_functional_max_pool1d_with_indices XT_SPELLED_("xt_functional_max_pool1d_with_indices: it is called \
xt_max_pool1d_with_indices(x, kernel, out_indices, ...) here")
#define xt_functional_max_pool2d XT_SPELLED_("xt_functional_max_pool2d: it is called xt_max_pool2d(x, kernel, ...) \
here")
#define xt_functional_max_pool2d_with_indices XT_SPELLED_("xt_functional_max_pool2d_with_indices: it is called \
xt_max_pool2d_with_indices(x, kernel, out_indices, ...) here")
#define xt_functional_max_pool3d XT_SPELLED_("xt_functional_max_pool3d: it is called xt_max_pool3d(x, kernel, ...) \
here")
#define xt_functional_max_pool3d_with_indices XT_SPELLED_("xt_functional_max_pool3d_with_indices: it is called \
xt_max_pool3d_with_indices(x, kernel, out_indices, ...) here")
#define xt_functional_max_unpool1d XT_SPELLED_("xt_functional_max_unpool1d: it is called xt_max_unpool1d(x, indices, \
kernel, ...) here")
#define xt_functional_max_unpool2d XT_SPELLED_("xt_functional_max_unpool2d: it is called xt_max_unpool2d(x, indices, \
kernel, ...) here")
#define xt_functional_max_unpool3d XT_SPELLED_("xt_functional_max_unpool3d: it is called xt_max_unpool3d(x, indices, \
kernel, ...) here")
#define xt_functional_mish XT_SPELLED_("xt_functional_mish: it is called xt_mish(x) here")
#define xt_functional_mse_loss XT_SPELLED_("xt_functional_mse_loss: it is called xt_mse_loss(x, y, ...) here")
#define xt_functional_multi_head_attention_forward XT_SPELLED_("xt_functional_multi_head_attention_forward: a layer is \
a call here: xt_multihead_attention(m, \"name\", q, k)")
#define xt_functional_multi_margin_loss XT_SPELLED_("xt_functional_multi_margin_loss: it is called \
xt_multi_margin_loss(x, labels, ...) here")
#define xt_functional_multilabel_margin_loss XT_SPELLED_("xt_functional_multilabel_margin_loss: it is called \
xt_multilabel_margin_loss(x, labels, ...) here")
#define xt_functional_multilabel_soft_margin_loss XT_SPELLED_("xt_functional_multilabel_soft_margin_loss: it is called \
xt_multilabel_soft_margin_loss(x, y, ...) here")
#define xt_functional_native_channel_shuffle XT_SPELLED_("xt_functional_native_channel_shuffle: internal to PyTorch")
#define xt_functional_nll_loss XT_SPELLED_("xt_functional_nll_loss: it is called xt_nll_loss(log_probs, labels, ...) \
here")
#define xt_functional_normalize XT_SPELLED_("xt_functional_normalize: it is called xt_normalize(x, axis, ...) here")
#define xt_functional_one_hot XT_SPELLED_("xt_functional_one_hot: it is called xt_one_hot(labels, classes, ...) here")
#define xt_functional_pad XT_SPELLED_("xt_functional_pad: it is called xt_pad(x, amounts, ...) here")
#define xt_functional_pairwise_distance XT_SPELLED_("xt_functional_pairwise_distance: it is called \
xt_pairwise_distance(x, y, ...) here")
#define xt_functional_pdist XT_SPELLED_("xt_functional_pdist: it is called xt_pdist here")
#define xt_functional_pixel_shuffle XT_SPELLED_("xt_functional_pixel_shuffle: it is called xt_pixel_shuffle(x, r) \
here")
#define xt_functional_pixel_unshuffle XT_SPELLED_("xt_functional_pixel_unshuffle: it is called xt_pixel_unshuffle(x, \
r) here")
#define xt_functional_poisson_nll_loss XT_SPELLED_("xt_functional_poisson_nll_loss: it is called \
xt_poisson_nll_loss(x, y, ...) here")
#define xt_functional_prelu XT_SPELLED_("xt_functional_prelu: it is called xt_prelu(m, name, x, ...) here")
#define xt_functional_relu XT_SPELLED_("xt_functional_relu: it is called xt_relu(x) here")
#define xt_functional_relu6 XT_SPELLED_("xt_functional_relu6: it is called xt_relu6(x) here")
#define xt_functional_relu_ XT_SPELLED_("xt_functional_relu_: a value never changes: x = xt_relu(x)")
#define xt_functional_rms_norm XT_SPELLED_("xt_functional_rms_norm: here it is xt_rms_norm; with weights given, \
.affine = XT_OFF and xt_mul, xt_add of them")
#define xt_functional_rrelu XT_SPELLED_("xt_functional_rrelu: it is called xt_rrelu here")
#define xt_functional_rrelu_ XT_SPELLED_("xt_functional_rrelu_: a value never changes: xt_rrelu")
#define xt_functional_scaled_dot_product_attention XT_SPELLED_("xt_functional_scaled_dot_product_attention: it is \
called xt_scaled_dot_product_attention(q, k, v, ...) here")
#define xt_functional_selu XT_SPELLED_("xt_functional_selu: it is called xt_selu(x) here")
#define xt_functional_selu_ XT_SPELLED_("xt_functional_selu_: a value never changes: xt_selu")
#define xt_functional_sigmoid XT_SPELLED_("xt_functional_sigmoid: it is called xt_sigmoid(x) here")
#define xt_functional_silu XT_SPELLED_("xt_functional_silu: it is called xt_silu(x) here")
#define xt_functional_smooth_l1_loss XT_SPELLED_("xt_functional_smooth_l1_loss: it is called xt_smooth_l1_loss(x, y, \
...) here")
#define xt_functional_soft_margin_loss XT_SPELLED_("xt_functional_soft_margin_loss: it is called \
xt_soft_margin_loss(x, y, ...) here")
#define xt_functional_softmax XT_SPELLED_("xt_functional_softmax: it is called xt_softmax(x, axis) here")
#define xt_functional_softmin XT_SPELLED_("xt_functional_softmin: it is called xt_softmin(x, axis) here")
#define xt_functional_softplus XT_SPELLED_("xt_functional_softplus: it is called xt_softplus here")
#define xt_functional_softshrink XT_SPELLED_("xt_functional_softshrink: it is called xt_softshrink here")
#define xt_functional_softsign XT_SPELLED_("xt_functional_softsign: it is called xt_softsign(x) here")
#define xt_functional_tanh XT_SPELLED_("xt_functional_tanh: it is called xt_tanh(x) here")
#define xt_functional_tanhshrink XT_SPELLED_("xt_functional_tanhshrink: it is called xt_tanhshrink(x) here")
#define xt_functional_tensor XT_SPELLED_("xt_functional_tensor: it is called xt_tensor, a handle passed by value here")
#define xt_functional_threshold XT_SPELLED_("xt_functional_threshold: it is called xt_threshold(x, limit, value) here")
#define xt_functional_threshold_ XT_SPELLED_("xt_functional_threshold_: a value never changes: xt_threshold")
#define xt_functional_triplet_margin_loss XT_SPELLED_("xt_functional_triplet_margin_loss: it is called \
xt_triplet_margin_loss(anchor, positive, negative, ...) here")
#define xt_functional_triplet_margin_with_distance_loss XT_SPELLED_("xt_functional_triplet_margin_with_distance_loss: \
it is xt_margin_ranking_loss of the distances")
#define xt_functional_unfold XT_SPELLED_("xt_functional_unfold: it is called xt_unfold(x, kernel_h, kernel_w, ...) \
here")
#define xt_functional_upsample XT_SPELLED_("xt_functional_upsample: it is called xt_interpolate(x, .scale = 2) here")
#define xt_functional_upsample_bilinear XT_SPELLED_("xt_functional_upsample_bilinear: it is called xt_interpolate \
here")
#define xt_functional_upsample_nearest XT_SPELLED_("xt_functional_upsample_nearest: it is called xt_interpolate here")
#define xt_functional_vhp XT_SPELLED_("xt_functional_vhp: here it is xt_vjp of the gradient, xt_hvp where the matrix \
is symmetric")
#define xt_functional_vjp XT_SPELLED_("xt_functional_vjp: it is called xt_vjp here")
#define xt_functionalize XT_SPELLED_("xt_functionalize: internal to PyTorch")
#define xt_fuse_conv_bn_eval XT_SPELLED_("xt_fuse_conv_bn_eval: it is called xt_fuse_conv_bn(m, \"conv\", \"bn\") \
here")
#define xt_fuse_conv_bn_weights XT_SPELLED_("xt_fuse_conv_bn_weights: here it is xt_fuse_conv_bn(m, \"conv\", \"bn\")")
#define xt_fuse_linear_bn_eval XT_SPELLED_("xt_fuse_linear_bn_eval: it is called xt_fuse_linear_bn(m, \"fc\", \"bn\") \
here")
#define xt_fuse_linear_bn_weights XT_SPELLED_("xt_fuse_linear_bn_weights: here it is xt_fuse_linear_bn(m, \"fc\", \
\"bn\")")
#define xt_fused_moving_avg_obs_fake_quant XT_SPELLED_("xt_fused_moving_avg_obs_fake_quant: not there: there are no \
quantized tensors: xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_gamma XT_SPELLED_("xt_gamma: it is called xt_gamma_dist(concentration, rate) here")
#define xt_gaussiannllloss XT_SPELLED_("xt_gaussiannllloss: it is called xt_gaussian_nll_loss(x, y, variance, ...) \
here")
#define xt_gcd_ XT_SPELLED_("xt_gcd_: a value never changes: xt_gcd")
#define xt_ge_ XT_SPELLED_("xt_ge_: a value never changes: xt_ge")
#define xt_gelu_tanh XT_SPELLED_("xt_gelu_tanh: the tanh form is xt_gelu(x), the exact one xt_gelu_erf(x)")
#define xt_generalized_pareto XT_SPELLED_("xt_generalized_pareto: it is called xt_generalized_pareto_dist(loc, scale, \
concentration) here")
#define xt_generalizedpareto XT_SPELLED_("xt_generalizedpareto: it is called xt_generalized_pareto_dist(loc, scale, \
concentration) here")
#define xt_generator XT_SPELLED_("xt_generator: one stream of random numbers: xt_seed, xt_rng_state_save")
#define xt_geometric XT_SPELLED_("xt_geometric: it is called xt_geometric_dist(probs) here")
#define xt_geometric_ XT_SPELLED_("xt_geometric_: here it is 1 more than xt_dist_sample of xt_geometric_dist, which \
counts the failures")
#define xt_geqrf XT_SPELLED_("xt_geqrf: not there: LAPACK's own form: xt_linalg_qr, xt_linalg_eigh")
#define xt_get_autocast_cpu_dtype XT_SPELLED_("xt_get_autocast_cpu_dtype: a block between xt_autocast_begin and \
xt_autocast_end: nothing to ask, and no cache of casts")
#define xt_get_autocast_dtype XT_SPELLED_("xt_get_autocast_dtype: a block between xt_autocast_begin and \
xt_autocast_end: nothing to ask, and no cache of casts")
#define xt_get_autocast_gpu_dtype XT_SPELLED_("xt_get_autocast_gpu_dtype: a block between xt_autocast_begin and \
xt_autocast_end: nothing to ask, and no cache of casts")
#define xt_get_autocast_ipu_dtype XT_SPELLED_("xt_get_autocast_ipu_dtype: a block between xt_autocast_begin and \
xt_autocast_end: nothing to ask, and no cache of casts")
#define xt_get_autocast_xla_dtype XT_SPELLED_("xt_get_autocast_xla_dtype: a block between xt_autocast_begin and \
xt_autocast_end: nothing to ask, and no cache of casts")
#define xt_get_default_device XT_SPELLED_("xt_get_default_device: one device per process: XT_DEVICE")
#define xt_get_default_dtype XT_SPELLED_("xt_get_default_dtype: dtypes are given")
#define xt_get_deterministic_debug_mode XT_SPELLED_("xt_get_deterministic_debug_mode: the same bits in every run, \
whatever the number of threads")
#define xt_get_device XT_SPELLED_("xt_get_device: one device per process, batches arrive on it; dtypes: xt_cast")
#define xt_get_device_module XT_SPELLED_("xt_get_device_module: one device per process: XT_DEVICE")
#define xt_get_device_states XT_SPELLED_("xt_get_device_states: internal to PyTorch: xt_checkpoint_block")
#define xt_get_ema_avg_fn XT_SPELLED_("xt_get_ema_avg_fn: the decay is an argument: xt_ema_update(ema, net, decay)")
#define xt_get_ema_multi_avg_fn XT_SPELLED_("xt_get_ema_multi_avg_fn: the decay is an argument: xt_ema_update(ema, \
net, decay)")
#define xt_get_file_path XT_SPELLED_("xt_get_file_path: internal to PyTorch")
#define xt_get_float32_matmul_precision XT_SPELLED_("xt_get_float32_matmul_precision: the same bits in every run, \
whatever the number of threads")
#define xt_get_num_interop_threads XT_SPELLED_("xt_get_num_interop_threads: done otherwise: XT_THREADS")
#define xt_get_num_threads XT_SPELLED_("xt_get_num_threads: XT_THREADS in the environment says how many")
#define xt_get_rng_state XT_SPELLED_("xt_get_rng_state: here it is xt_rng_state_save, xt_rng_state_load")
#define xt_get_swa_avg_fn XT_SPELLED_("xt_get_swa_avg_fn: the decay is an argument: xt_ema_update(ema, net, decay)")
#define xt_get_swa_multi_avg_fn XT_SPELLED_("xt_get_swa_multi_avg_fn: the decay is an argument: xt_ema_update(ema, \
net, decay)")
#define xt_get_total_norm XT_SPELLED_("xt_get_total_norm: here it is xt_clip_grad_norm, xt_grad_norm, .clip_norm")
#define xt_get_worker_info XT_SPELLED_("xt_get_worker_info: workers are threads that share the dataset: xt_loader_new")
#define xt_global_unstructured XT_SPELLED_("xt_global_unstructured: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_grad_and_value XT_SPELLED_("xt_grad_and_value: it is called xt_grad_fn here: its out is the value")
#define xt_grad_scaler XT_SPELLED_("xt_grad_scaler: it is called xt_loss_scaler_new() here")
#define xt_gradcheck XT_SPELLED_("xt_gradcheck: not there: a test's business: xt_jvp against differences")
#define xt_gradgradcheck XT_SPELLED_("xt_gradgradcheck: not there: a test's business: xt_jvp against differences")
#define xt_gradscaler XT_SPELLED_("xt_gradscaler: it is called xt_loss_scaler_new() here")
#define xt_greater_ XT_SPELLED_("xt_greater_: a value never changes: xt_greater")
#define xt_greater_equal_ XT_SPELLED_("xt_greater_equal_: a value never changes: xt_greater_equal")
#define xt_grid_sampler XT_SPELLED_("xt_grid_sampler: internal to PyTorch")
#define xt_grid_sampler_2d XT_SPELLED_("xt_grid_sampler_2d: internal to PyTorch")
#define xt_grid_sampler_3d XT_SPELLED_("xt_grid_sampler_3d: internal to PyTorch")
#define xt_groupnorm XT_SPELLED_("xt_groupnorm: a layer is a call here: xt_group_norm(m, \"name\", x, groups)")
#define xt_grucell XT_SPELLED_("xt_grucell: a layer is a call here: xt_gru_cell")
#define xt_gt_ XT_SPELLED_("xt_gt_: a value never changes: xt_gt")
#define xt_guaranteed_datapipes_determinism XT_SPELLED_("xt_guaranteed_datapipes_determinism: internal to PyTorch: \
xt_map_dataset, xt_stream_dataset")
#define xt_gumbel XT_SPELLED_("xt_gumbel: it is called xt_gumbel_dist(loc, scale) here")
#define xt_h XT_SPELLED_("xt_h: here it is xt_adjoint(x)")
#define xt_half XT_SPELLED_("xt_half: it is called xt_cast(t, XT_F16) here")
#define xt_half_cauchy XT_SPELLED_("xt_half_cauchy: it is called xt_half_cauchy_dist(scale) here")
#define xt_half_normal XT_SPELLED_("xt_half_normal: it is called xt_half_normal_dist(scale) here")
#define xt_half_storage XT_SPELLED_("xt_half_storage: there are no strides and no storages to look at")
#define xt_half_tensor XT_SPELLED_("xt_half_tensor: here it is xt_from_array(values, dtype, dims)")
#define xt_halfcauchy XT_SPELLED_("xt_halfcauchy: it is called xt_half_cauchy_dist(scale) here")
#define xt_halfnormal XT_SPELLED_("xt_halfnormal: it is called xt_half_normal_dist(scale) here")
#define xt_halfstorage XT_SPELLED_("xt_halfstorage: there are no strides and no storages to look at")
#define xt_halftensor XT_SPELLED_("xt_halftensor: here it is xt_from_array(values, dtype, dims)")
#define xt_hardtanh_ XT_SPELLED_("xt_hardtanh_: a value never changes: xt_hardtanh")
#define xt_has_names XT_SPELLED_("xt_has_names: not there: dims have numbers and no names: xt_permute, xt_movedim")
#define xt_has_torch_function XT_SPELLED_("xt_has_torch_function: internal to PyTorch")
#define xt_has_torch_function_unary XT_SPELLED_("xt_has_torch_function_unary: internal to PyTorch")
#define xt_has_torch_function_variadic XT_SPELLED_("xt_has_torch_function_variadic: internal to PyTorch")
#define xt_hash_tensor XT_SPELLED_("xt_hash_tensor: internal to PyTorch")
#define xt_heaviside_ XT_SPELLED_("xt_heaviside_: a value never changes: xt_heaviside")
#define xt_hingeembeddingloss XT_SPELLED_("xt_hingeembeddingloss: it is called xt_hinge_embedding_loss(x, y, ...) \
here")
#define xt_hsmm XT_SPELLED_("xt_hsmm: it is called xt_sparse_mm(a, x) here")
#define xt_hsplit XT_SPELLED_("xt_hsplit: it is called xt_tensor_split(x, parts, 1, out) here")
#define xt_hspmm XT_SPELLED_("xt_hspmm: not there: a sparse matrix is no tensor here: xt_sparse_coo and xt_sparse_csr \
hold its parts, for xt_sparse_mm")
#define xt_huberloss XT_SPELLED_("xt_huberloss: a function here: xt_huber_loss(x, y)")
#define xt_hypot_ XT_SPELLED_("xt_hypot_: a value never changes: xt_hypot")
#define xt_i0_ XT_SPELLED_("xt_i0_: a value never changes: xt_i0")
#define xt_identity XT_SPELLED_("xt_identity: not there: weights are not pruned here: a mask is xt_mul(weight, mask) \
in the module's function")
#define xt_identity_transform XT_SPELLED_("xt_identity_transform: one distribution upon another")
#define xt_igamma_ XT_SPELLED_("xt_igamma_: a value never changes: xt_igamma")
#define xt_igammac_ XT_SPELLED_("xt_igammac_: a value never changes: xt_igammac")
#define xt_iinfo XT_SPELLED_("xt_iinfo: C's own limits: FLT_EPSILON, FLT_MAX, DBL_EPSILON of <float.h>, INT64_MAX of \
<stdint.h>; f16: 2^-10 and 65504, bf16: 2^-7")
#define xt_import_ir_module XT_SPELLED_("xt_import_ir_module: internal to PyTorch")
#define xt_import_ir_module_from_buffer XT_SPELLED_("xt_import_ir_module_from_buffer: internal to PyTorch")
#define xt_independent XT_SPELLED_("xt_independent: it is called xt_independent_dist(d, n) here")
#define xt_independent_transform XT_SPELLED_("xt_independent_transform: one distribution upon another")
#define xt_independenttransform XT_SPELLED_("xt_independenttransform: one distribution upon another")
#define xt_index_add_ XT_SPELLED_("xt_index_add_: a value never changes: x = xt_index_add(x, ...)")
#define xt_index_copy_ XT_SPELLED_("xt_index_copy_: a value never changes: xt_index_copy")
#define xt_index_fill_ XT_SPELLED_("xt_index_fill_: a value never changes: xt_index_fill")
#define xt_index_put_ XT_SPELLED_("xt_index_put_: a value never changes: xt_index_put")
#define xt_index_reduce_ XT_SPELLED_("xt_index_reduce_: a value never changes: x = xt_index_reduce(x, axis, index, \
updates, how)")
#define xt_indices XT_SPELLED_("xt_indices: not there: a sparse matrix is no tensor here: xt_sparse_coo and \
xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_indices_copy XT_SPELLED_("xt_indices_copy: not there: a sparse matrix is no tensor here: xt_sparse_coo and \
xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_inf XT_SPELLED_("xt_inf: M_PI, M_E, INFINITY, NAN of <math.h>")
#define xt_inference_mode XT_SPELLED_("xt_inference_mode: it is called xt_no_grad_begin() and xt_no_grad_end() here")
#define xt_init_calculate_gain XT_SPELLED_("xt_init_calculate_gain: .gain of xt_init_xavier_uniform, \
xt_init_kaiming_normal and their like")
#define xt_init_constant_ XT_SPELLED_("xt_init_constant_: it is called xt_init_constant(m, pattern, value) here")
#define xt_init_dirac_ XT_SPELLED_("xt_init_dirac_: here it is xt_init_dirac(m, pattern)")
#define xt_init_eye_ XT_SPELLED_("xt_init_eye_: here it is xt_init_eye(m, pattern)")
#define xt_init_kaiming_normal_ XT_SPELLED_("xt_init_kaiming_normal_: it is called xt_init_kaiming_normal(m, \
\"*.weight\") here")
#define xt_init_kaiming_uniform_ XT_SPELLED_("xt_init_kaiming_uniform_: it is called xt_init_kaiming_uniform(m, \
\"*.weight\") here")
#define xt_init_normal_ XT_SPELLED_("xt_init_normal_: here it is xt_init_normal(m, pattern)")
#define xt_init_num_threads XT_SPELLED_("xt_init_num_threads: internal to PyTorch")
#define xt_init_ones_ XT_SPELLED_("xt_init_ones_: it is called xt_init_ones(m, pattern) here")
#define xt_init_orthogonal_ XT_SPELLED_("xt_init_orthogonal_: it is called xt_init_orthogonal(m, \"*.weight\") here")
#define xt_init_process_group XT_SPELLED_("xt_init_process_group: ranks find each other by themselves: xt_launch, \
xtrain launch -n 4")
#define xt_init_sparse_ XT_SPELLED_("xt_init_sparse_: here it is xt_init_sparse(m, pattern)")
#define xt_init_trunc_normal_ XT_SPELLED_("xt_init_trunc_normal_: it is called xt_init_truncated_normal(m, pattern) \
here")
#define xt_init_uniform_ XT_SPELLED_("xt_init_uniform_: here it is xt_init_uniform(m, pattern)")
#define xt_init_xavier_normal_ XT_SPELLED_("xt_init_xavier_normal_: it is called xt_init_xavier_normal(m, \
\"*.weight\") here")
#define xt_init_xavier_uniform_ XT_SPELLED_("xt_init_xavier_uniform_: it is called xt_init_xavier_uniform(m, \
\"*.weight\") here")
#define xt_init_zeros_ XT_SPELLED_("xt_init_zeros_: it is called xt_init_zeros(m, \"*.bias\") here")
#define xt_initial_seed XT_SPELLED_("xt_initial_seed: done otherwise: xt_seed; the seed now is in xt_rng_state_save")
#define xt_instance_norm1d XT_SPELLED_("xt_instance_norm1d: a layer is a call here: xt_instance_norm(m, \"name\", x)")
#define xt_instance_norm2d XT_SPELLED_("xt_instance_norm2d: a layer is a call here: xt_instance_norm(m, \"name\", x)")
#define xt_instance_norm3d XT_SPELLED_("xt_instance_norm3d: a layer is a call here: xt_instance_norm(m, \"name\", x)")
#define xt_instancenorm1d XT_SPELLED_("xt_instancenorm1d: a layer is a call here: xt_instance_norm(m, \"name\", x)")
#define xt_instancenorm2d XT_SPELLED_("xt_instancenorm2d: a layer is a call here: xt_instance_norm(m, \"name\", x)")
#define xt_instancenorm3d XT_SPELLED_("xt_instancenorm3d: a layer is a call here: xt_instance_norm(m, \"name\", x)")
#define xt_int XT_SPELLED_("xt_int: a dtype is given: xt_cast(x, XT_I32)")
#define xt_int1 XT_SPELLED_("xt_int1: not there: no dtype of that width: XT_I4, XT_U4 and the XT_F8 ones are the \
narrow ones")
#define xt_int16 XT_SPELLED_("xt_int16: here it is XT_I16")
#define xt_int2 XT_SPELLED_("xt_int2: not there: no dtype of that width: XT_I4, XT_U4 and the XT_F8 ones are the \
narrow ones")
#define xt_int3 XT_SPELLED_("xt_int3: not there: no dtype of that width: XT_I4, XT_U4 and the XT_F8 ones are the \
narrow ones")
#define xt_int32 XT_SPELLED_("xt_int32: here it is XT_I32")
#define xt_int4 XT_SPELLED_("xt_int4: here it is XT_I4")
#define xt_int5 XT_SPELLED_("xt_int5: not there: no dtype of that width: XT_I4, XT_U4 and the XT_F8 ones are the \
narrow ones")
#define xt_int6 XT_SPELLED_("xt_int6: not there: no dtype of that width: XT_I4, XT_U4 and the XT_F8 ones are the \
narrow ones")
#define xt_int64 XT_SPELLED_("xt_int64: here it is XT_I64")
#define xt_int7 XT_SPELLED_("xt_int7: not there: no dtype of that width: XT_I4, XT_U4 and the XT_F8 ones are the \
narrow ones")
#define xt_int8 XT_SPELLED_("xt_int8: here it is XT_I8")
#define xt_int_repr XT_SPELLED_("xt_int_repr: not there: there are no quantized tensors: xt_quantize makes a module's \
weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_int_storage XT_SPELLED_("xt_int_storage: there are no strides and no storages to look at")
#define xt_int_tensor XT_SPELLED_("xt_int_tensor: here it is xt_from_array(values, dtype, dims)")
#define xt_intstorage XT_SPELLED_("xt_intstorage: there are no strides and no storages to look at")
#define xt_inttensor XT_SPELLED_("xt_inttensor: here it is xt_from_array(values, dtype, dims)")
#define xt_inv_ex XT_SPELLED_("xt_inv_ex: it is called xt_inverse(a) here")
#define xt_inverse_gamma XT_SPELLED_("xt_inverse_gamma: it is called xt_inverse_gamma_dist(concentration, rate) here")
#define xt_inversegamma XT_SPELLED_("xt_inversegamma: it is called xt_inverse_gamma_dist(concentration, rate) here")
#define xt_invert_permutation XT_SPELLED_("xt_invert_permutation: here it is .lengths of xt_rnn, xt_lstm, xt_gru: a \
padded batch gives what a packed one gives")
#define xt_ipu XT_SPELLED_("xt_ipu: one device per process, batches arrive on it; dtypes: xt_cast")
#define xt_is_anomaly_check_nan_enabled XT_SPELLED_("xt_is_anomaly_check_nan_enabled: done otherwise: XT_DEBUG=nan, \
.detect_anomaly of the Trainer")
#define xt_is_anomaly_enabled XT_SPELLED_("xt_is_anomaly_enabled: done otherwise: XT_DEBUG=nan, .detect_anomaly of the \
Trainer")
#define xt_is_autocast_available XT_SPELLED_("xt_is_autocast_available: a block between xt_autocast_begin and \
xt_autocast_end: nothing to ask, and no cache of casts")
#define xt_is_autocast_cache_enabled XT_SPELLED_("xt_is_autocast_cache_enabled: a block between xt_autocast_begin and \
xt_autocast_end: nothing to ask, and no cache of casts")
#define xt_is_autocast_cpu_enabled XT_SPELLED_("xt_is_autocast_cpu_enabled: a block between xt_autocast_begin and \
xt_autocast_end: nothing to ask, and no cache of casts")
#define xt_is_autocast_enabled XT_SPELLED_("xt_is_autocast_enabled: a block between xt_autocast_begin and \
xt_autocast_end: nothing to ask, and no cache of casts")
#define xt_is_autocast_ipu_enabled XT_SPELLED_("xt_is_autocast_ipu_enabled: a block between xt_autocast_begin and \
xt_autocast_end: nothing to ask, and no cache of casts")
#define xt_is_autocast_xla_enabled XT_SPELLED_("xt_is_autocast_xla_enabled: a block between xt_autocast_begin and \
xt_autocast_end: nothing to ask, and no cache of casts")
#define xt_is_available XT_SPELLED_("xt_is_available: XT_DEVICE names the device; `xtrain doctor` lists those there \
are")
#define xt_is_coalesced XT_SPELLED_("xt_is_coalesced: not there: a sparse matrix is no tensor here: xt_sparse_coo and \
xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_is_complex XT_SPELLED_("xt_is_complex: done otherwise: xt_dtype_of")
#define xt_is_conj XT_SPELLED_("xt_is_conj: a C program knows what it has: xt_rank_of, xt_dim")
#define xt_is_contiguous XT_SPELLED_("xt_is_contiguous: every result is a value of its own, without strides")
#define xt_is_cpu XT_SPELLED_("xt_is_cpu: one device per process: XT_DEVICE")
#define xt_is_cuda XT_SPELLED_("xt_is_cuda: one device per process, XT_DEVICE names it")
#define xt_is_deterministic_algorithms_warn_only_enabled \
XT_SPELLED_("xt_is_deterministic_algorithms_warn_only_enabled: the same bits in every run, whatever the number of \
threads")
#define xt_is_distributed XT_SPELLED_("xt_is_distributed: a C program knows what it has: xt_rank_of, xt_dim")
#define xt_is_floating_point XT_SPELLED_("xt_is_floating_point: done otherwise: xt_dtype_of")
#define xt_is_grad_enabled XT_SPELLED_("xt_is_grad_enabled: done otherwise: xt_no_grad_begin, xt_no_grad_end")
#define xt_is_inference XT_SPELLED_("xt_is_inference: a C program knows what it has: xt_rank_of, xt_dim")
#define xt_is_inference_mode_enabled XT_SPELLED_("xt_is_inference_mode_enabled: done otherwise: xt_no_grad_begin, \
xt_no_grad_end")
#define xt_is_ipu XT_SPELLED_("xt_is_ipu: one device per process: XT_DEVICE")
#define xt_is_leaf XT_SPELLED_("xt_is_leaf: a C program knows what it has: xt_rank_of, xt_dim")
#define xt_is_maia XT_SPELLED_("xt_is_maia: one device per process: XT_DEVICE")
#define xt_is_meta XT_SPELLED_("xt_is_meta: one device per process: XT_DEVICE")
#define xt_is_mkldnn XT_SPELLED_("xt_is_mkldnn: internal to PyTorch, or of tensors that are not there")
#define xt_is_mps XT_SPELLED_("xt_is_mps: one device per process: XT_DEVICE")
#define xt_is_mtia XT_SPELLED_("xt_is_mtia: one device per process: XT_DEVICE")
#define xt_is_neg XT_SPELLED_("xt_is_neg: a C program knows what it has: xt_rank_of, xt_dim")
#define xt_is_nested XT_SPELLED_("xt_is_nested: internal to PyTorch, or of tensors that are not there")
#define xt_is_nonzero XT_SPELLED_("xt_is_nonzero: done otherwise: xt_item(t) != 0")
#define xt_is_parametrized XT_SPELLED_("xt_is_parametrized: internal to PyTorch: xt_remove_parametrizations takes them \
off")
#define xt_is_pinned XT_SPELLED_("xt_is_pinned: one device per process, batches arrive on it; dtypes: xt_cast")
#define xt_is_pruned XT_SPELLED_("xt_is_pruned: not there: weights are not pruned here: a mask is xt_mul(weight, mask) \
in the module's function")
#define xt_is_quantized XT_SPELLED_("xt_is_quantized: not there: there are no quantized tensors: xt_quantize makes a \
module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_is_same_size XT_SPELLED_("xt_is_same_size: a C program knows what it has: xt_rank_of, xt_dim")
#define xt_is_set_to XT_SPELLED_("xt_is_set_to: there are no strides and no storages to look at")
#define xt_is_shared XT_SPELLED_("xt_is_shared: there are no strides and no storages to look at")
#define xt_is_signed XT_SPELLED_("xt_is_signed: done otherwise: xt_dtype_of")
#define xt_is_sparse XT_SPELLED_("xt_is_sparse: not there: a sparse matrix is no tensor here: xt_sparse_coo and \
xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_is_sparse_csr XT_SPELLED_("xt_is_sparse_csr: not there: a sparse matrix is no tensor here: xt_sparse_coo \
and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_is_storage XT_SPELLED_("xt_is_storage: a C program knows what it has: xt_rank_of, xt_dim")
#define xt_is_tensor XT_SPELLED_("xt_is_tensor: a C program knows what it has; xt_is_none(t), xt_is_error(t)")
#define xt_is_vulkan XT_SPELLED_("xt_is_vulkan: one device per process: XT_DEVICE")
#define xt_is_vulkan_available XT_SPELLED_("xt_is_vulkan_available: one device per process: XT_DEVICE")
#define xt_is_warn_always_enabled XT_SPELLED_("xt_is_warn_always_enabled: not there: a warning of the library is said \
once a run")
#define xt_is_xla XT_SPELLED_("xt_is_xla: one device per process: XT_DEVICE")
#define xt_is_xpu XT_SPELLED_("xt_is_xpu: one device per process: XT_DEVICE")
#define xt_itemsize XT_SPELLED_("xt_itemsize: here it is xt_dtype_size(xt_dtype_of(x))")
#define xt_iter_data_pipe XT_SPELLED_("xt_iter_data_pipe: internal to PyTorch: xt_map_dataset, xt_stream_dataset")
#define xt_iterable_dataset XT_SPELLED_("xt_iterable_dataset: here it is xt_dataset_new(&desc), without a count \
xt_stream_dataset")
#define xt_iterabledataset XT_SPELLED_("xt_iterabledataset: here it is xt_dataset_new(&desc), without a count \
xt_stream_dataset")
#define xt_iterdatapipe XT_SPELLED_("xt_iterdatapipe: internal to PyTorch: xt_map_dataset, xt_stream_dataset")
#define xt_jacfwd XT_SPELLED_("xt_jacfwd: it is called xt_jacobian here")
#define xt_jacrev XT_SPELLED_("xt_jacrev: it is called xt_jacobian here")
#define xt_jagged XT_SPELLED_("xt_jagged: a tensor's elements stand row by row, a dim behind the other; the compiler \
chooses other orders by itself")
#define xt_kaiming_normal XT_SPELLED_("xt_kaiming_normal: it is called xt_init_kaiming_normal(m, \"*.weight\") here")
#define xt_kaiming_normal_ XT_SPELLED_("xt_kaiming_normal_: it is called xt_init_kaiming_normal(m, \"*.weight\") here")
#define xt_kaiming_uniform XT_SPELLED_("xt_kaiming_uniform: here it is xt_init_kaiming_uniform(m, pattern)")
#define xt_kaiming_uniform_ XT_SPELLED_("xt_kaiming_uniform_: it is called xt_init_kaiming_uniform(m, \"*.weight\") \
here")
#define xt_kl_div_loss XT_SPELLED_("xt_kl_div_loss: a function here: xt_kl_div(x, y)")
#define xt_kldivloss XT_SPELLED_("xt_kldivloss: a function here: xt_kl_div(x, y)")
#define xt_kumaraswamy XT_SPELLED_("xt_kumaraswamy: it is called xt_kumaraswamy_dist(concentration1, concentration0) \
here")
#define xt_l1_unstructured XT_SPELLED_("xt_l1_unstructured: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_l1loss XT_SPELLED_("xt_l1loss: a function here: xt_l1_loss(x, y)")
#define xt_l1unstructured XT_SPELLED_("xt_l1unstructured: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_lambda_lr XT_SPELLED_("xt_lambda_lr: it is called xt_lambda_schedule here")
#define xt_lambdalr XT_SPELLED_("xt_lambdalr: it is called xt_lambda_schedule here")
#define xt_laplace XT_SPELLED_("xt_laplace: it is called xt_laplace_dist(loc, scale) here")
#define xt_layernorm XT_SPELLED_("xt_layernorm: a layer is a call here: xt_layer_norm(m, \"name\", x)")
#define xt_layout XT_SPELLED_("xt_layout: internal to PyTorch, or of tensors that are not there")
#define xt_lazy_batch_norm1d XT_SPELLED_("xt_lazy_batch_norm1d: here it is xt_batch_norm: parameters are made by the \
first call")
#define xt_lazy_batch_norm2d XT_SPELLED_("xt_lazy_batch_norm2d: here it is xt_batch_norm: parameters are made by the \
first call")
#define xt_lazy_batch_norm3d XT_SPELLED_("xt_lazy_batch_norm3d: here it is xt_batch_norm: parameters are made by the \
first call")
#define xt_lazy_conv1d XT_SPELLED_("xt_lazy_conv1d: here it is xt_conv1d, xt_conv2d, xt_conv3d: every layer is lazy")
#define xt_lazy_conv2d XT_SPELLED_("xt_lazy_conv2d: here it is xt_conv1d, xt_conv2d, xt_conv3d: every layer is lazy")
#define xt_lazy_conv3d XT_SPELLED_("xt_lazy_conv3d: here it is xt_conv1d, xt_conv2d, xt_conv3d: every layer is lazy")
#define xt_lazy_conv_transpose1d XT_SPELLED_("xt_lazy_conv_transpose1d: here it is xt_conv_transpose1d, \
xt_conv_transpose2d, xt_conv_transpose3d")
#define xt_lazy_conv_transpose2d XT_SPELLED_("xt_lazy_conv_transpose2d: here it is xt_conv_transpose1d, \
xt_conv_transpose2d, xt_conv_transpose3d")
#define xt_lazy_conv_transpose3d XT_SPELLED_("xt_lazy_conv_transpose3d: here it is xt_conv_transpose1d, \
xt_conv_transpose2d, xt_conv_transpose3d")
#define xt_lazy_instance_norm1d XT_SPELLED_("xt_lazy_instance_norm1d: it is called xt_instance_norm(m, name, x, ...) \
here")
#define xt_lazy_instance_norm2d XT_SPELLED_("xt_lazy_instance_norm2d: it is called xt_instance_norm(m, name, x, ...) \
here")
#define xt_lazy_instance_norm3d XT_SPELLED_("xt_lazy_instance_norm3d: it is called xt_instance_norm(m, name, x, ...) \
here")
#define xt_lazy_linear XT_SPELLED_("xt_lazy_linear: every layer is lazy: xt_linear(m, \"fc\", x, outputs)")
#define xt_lazybatchnorm1d XT_SPELLED_("xt_lazybatchnorm1d: here it is xt_batch_norm: parameters are made by the first \
call")
#define xt_lazybatchnorm2d XT_SPELLED_("xt_lazybatchnorm2d: here it is xt_batch_norm: parameters are made by the first \
call")
#define xt_lazybatchnorm3d XT_SPELLED_("xt_lazybatchnorm3d: here it is xt_batch_norm: parameters are made by the first \
call")
#define xt_lazyconv1d XT_SPELLED_("xt_lazyconv1d: here it is xt_conv1d, xt_conv2d, xt_conv3d: every layer is lazy")
#define xt_lazyconv2d XT_SPELLED_("xt_lazyconv2d: here it is xt_conv1d, xt_conv2d, xt_conv3d: every layer is lazy")
#define xt_lazyconv3d XT_SPELLED_("xt_lazyconv3d: here it is xt_conv1d, xt_conv2d, xt_conv3d: every layer is lazy")
#define xt_lazyconvtranspose1d XT_SPELLED_("xt_lazyconvtranspose1d: here it is xt_conv_transpose1d, \
xt_conv_transpose2d, xt_conv_transpose3d")
#define xt_lazyconvtranspose2d XT_SPELLED_("xt_lazyconvtranspose2d: here it is xt_conv_transpose1d, \
xt_conv_transpose2d, xt_conv_transpose3d")
#define xt_lazyconvtranspose3d XT_SPELLED_("xt_lazyconvtranspose3d: here it is xt_conv_transpose1d, \
xt_conv_transpose2d, xt_conv_transpose3d")
#define xt_lazyinstancenorm1d XT_SPELLED_("xt_lazyinstancenorm1d: it is called xt_instance_norm(m, name, x, ...) here")
#define xt_lazyinstancenorm2d XT_SPELLED_("xt_lazyinstancenorm2d: it is called xt_instance_norm(m, name, x, ...) here")
#define xt_lazyinstancenorm3d XT_SPELLED_("xt_lazyinstancenorm3d: it is called xt_instance_norm(m, name, x, ...) here")
#define xt_lazylinear XT_SPELLED_("xt_lazylinear: every layer is lazy: xt_linear(m, \"fc\", x, outputs)")
#define xt_lcm_ XT_SPELLED_("xt_lcm_: a value never changes: xt_lcm")
#define xt_ldexp_ XT_SPELLED_("xt_ldexp_: a value never changes: xt_ldexp")
#define xt_ldl_factor XT_SPELLED_("xt_ldl_factor: not there: the pivoted factors of an indefinite symmetric matrix; \
xt_solve, xt_linalg_eigh")
#define xt_ldl_factor_ex XT_SPELLED_("xt_ldl_factor_ex: not there: the pivoted factors of an indefinite symmetric \
matrix; xt_solve, xt_linalg_eigh")
#define xt_ldl_solve XT_SPELLED_("xt_ldl_solve: not there: the pivoted factors of an indefinite symmetric matrix; \
xt_solve, xt_linalg_eigh")
#define xt_le_ XT_SPELLED_("xt_le_: a value never changes: xt_le")
#define xt_leaky_re_lu XT_SPELLED_("xt_leaky_re_lu: a function here: xt_leaky_relu(x, slope)")
#define xt_leaky_relu_ XT_SPELLED_("xt_leaky_relu_: a value never changes: xt_leaky_relu")
#define xt_leakyrelu XT_SPELLED_("xt_leakyrelu: a function here: xt_leaky_relu(x, slope)")
#define xt_legacy_contiguous_format XT_SPELLED_("xt_legacy_contiguous_format: a tensor's elements stand row by row, a \
dim behind the other; the compiler chooses other orders by itself")
#define xt_lerp_ XT_SPELLED_("xt_lerp_: a value never changes: xt_lerp")
#define xt_less_ XT_SPELLED_("xt_less_: a value never changes: xt_less")
#define xt_less_equal_ XT_SPELLED_("xt_less_equal_: a value never changes: xt_less_equal")
#define xt_lgamma_ XT_SPELLED_("xt_lgamma_: a value never changes: xt_lgamma")
#define xt_lin_alg_error XT_SPELLED_("xt_lin_alg_error: error tensors, NaN")
#define xt_linalg_LinAlgError XT_SPELLED_("xt_linalg_LinAlgError: error tensors, NaN")
#define xt_linalg_cholesky_ex XT_SPELLED_("xt_linalg_cholesky_ex: here it is xt_cholesky: NaN where a matrix is not \
positive definite")
#define xt_linalg_cond XT_SPELLED_("xt_linalg_cond: here it is the first by the last of xt_linalg_svdvals(a) (xt_cond \
chooses between functions)")
#define xt_linalg_cross XT_SPELLED_("xt_linalg_cross: it is called xt_cross here")
#define xt_linalg_diagonal XT_SPELLED_("xt_linalg_diagonal: here it is xt_diagonal(x, 0, -2, -1): of the last two \
axes")
#define xt_linalg_householder_product XT_SPELLED_("xt_linalg_householder_product: it is called \
xt_householder_product(v, tau) here")
#define xt_linalg_inv_ex XT_SPELLED_("xt_linalg_inv_ex: it is called xt_inverse(a) here")
#define xt_linalg_ldl_factor XT_SPELLED_("xt_linalg_ldl_factor: not there: the pivoted factors of an indefinite \
symmetric matrix; xt_solve, xt_linalg_eigh")
#define xt_linalg_ldl_factor_ex XT_SPELLED_("xt_linalg_ldl_factor_ex: not there: the pivoted factors of an indefinite \
symmetric matrix; xt_solve, xt_linalg_eigh")
#define xt_linalg_ldl_solve XT_SPELLED_("xt_linalg_ldl_solve: not there: the pivoted factors of an indefinite \
symmetric matrix; xt_solve, xt_linalg_eigh")
#define xt_linalg_lin_alg_error XT_SPELLED_("xt_linalg_lin_alg_error: error tensors, NaN")
#define xt_linalg_linalgerror XT_SPELLED_("xt_linalg_linalgerror: error tensors, NaN")
#define xt_linalg_lstsq XT_SPELLED_("xt_linalg_lstsq: it is called xt_lstsq(a, y) here")
#define xt_linalg_lu_factor_ex XT_SPELLED_("xt_linalg_lu_factor_ex: it is called xt_linalg_lu_factor(a, out_lu, \
out_rows) here")
#define xt_linalg_matmul XT_SPELLED_("xt_linalg_matmul: it is called xt_matmul(x, y) here")
#define xt_linalg_matrix_exp XT_SPELLED_("xt_linalg_matrix_exp: it is called xt_matrix_exp(a) here")
#define xt_linalg_matrix_norm XT_SPELLED_("xt_linalg_matrix_norm: it is called xt_matrix_norm here")
#define xt_linalg_matrix_power XT_SPELLED_("xt_linalg_matrix_power: it is called xt_matrix_power(a, n) here")
#define xt_linalg_matrix_rank XT_SPELLED_("xt_linalg_matrix_rank: it is called xt_matrix_rank here")
#define xt_linalg_multi_dot XT_SPELLED_("xt_linalg_multi_dot: it is called xt_multi_dot(n, tensors, ...) here")
#define xt_linalg_slogdet XT_SPELLED_("xt_linalg_slogdet: it is called xt_slogdet(a, out_sign, out_logabsdet) here")
#define xt_linalg_solve_ex XT_SPELLED_("xt_linalg_solve_ex: it is called xt_solve(a, y) here")
#define xt_linalg_solve_triangular XT_SPELLED_("xt_linalg_solve_triangular: it is called xt_triangular_solve(a, y, \
.upper = true) here")
#define xt_linalg_tensorinv XT_SPELLED_("xt_linalg_tensorinv: it is called xt_tensorinv here")
#define xt_linalg_tensorsolve XT_SPELLED_("xt_linalg_tensorsolve: it is called xt_tensorsolve(a, y) here")
#define xt_linalg_vander XT_SPELLED_("xt_linalg_vander: it is called xt_vander(x, n, increasing) here")
#define xt_linalg_vecdot XT_SPELLED_("xt_linalg_vecdot: it is called xt_vecdot(x, y, ...) here")
#define xt_linalg_vector_norm XT_SPELLED_("xt_linalg_vector_norm: it is called xt_vector_norm here")
#define xt_linalgerror XT_SPELLED_("xt_linalgerror: error tensors, NaN")
#define xt_linear_lr XT_SPELLED_("xt_linear_lr: it is called xt_linear_schedule here")
#define xt_linearize XT_SPELLED_("xt_linearize: it is called xt_jvp here")
#define xt_linearlr XT_SPELLED_("xt_linearlr: it is called xt_linear_schedule here")
#define xt_lkj_cholesky XT_SPELLED_("xt_lkj_cholesky: it is called xt_lkj_cholesky_dist(dim, concentration) here")
#define xt_lkjcholesky XT_SPELLED_("xt_lkjcholesky: it is called xt_lkj_cholesky_dist(dim, concentration) here")
#define xt_ln_structured XT_SPELLED_("xt_ln_structured: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_lnstructured XT_SPELLED_("xt_lnstructured: not there: weights are not pruned here: a mask is xt_mul(weight, \
mask) in the module's function")
#define xt_load_from_checkpoint XT_SPELLED_("xt_load_from_checkpoint: it is called xt_load(m, path) here")
#define xt_load_state_dict XT_SPELLED_("xt_load_state_dict: it is called xt_load(m, path) here")
#define xt_lobpcg XT_SPELLED_("xt_lobpcg: not there: LAPACK's own form: xt_linalg_qr, xt_linalg_eigh")
#define xt_localresponsenorm XT_SPELLED_("xt_localresponsenorm: it is called xt_local_response_norm here")
#define xt_log10_ XT_SPELLED_("xt_log10_: a value never changes: xt_log10")
#define xt_log1p_ XT_SPELLED_("xt_log1p_: a value never changes: xt_log1p")
#define xt_log2_ XT_SPELLED_("xt_log2_: a value never changes: xt_log2")
#define xt_log_ XT_SPELLED_("xt_log_: a value never changes: xt_log_e")
#define xt_log_normal XT_SPELLED_("xt_log_normal: it is called xt_log_normal_dist(loc, scale) here")
#define xt_log_normal_ XT_SPELLED_("xt_log_normal_: here it is xt_dist_sample of xt_cauchy_dist, xt_log_normal_dist")
#define xt_log_prob XT_SPELLED_("xt_log_prob: it is called xt_dist_log_prob(d, value) here")
#define xt_log_sigmoid XT_SPELLED_("xt_log_sigmoid: a function here: xt_logsigmoid(x)")
#define xt_logical_and_ XT_SPELLED_("xt_logical_and_: a value never changes: xt_logical_and")
#define xt_logical_not_ XT_SPELLED_("xt_logical_not_: a value never changes: xt_logical_not")
#define xt_logical_or_ XT_SPELLED_("xt_logical_or_: a value never changes: xt_logical_or")
#define xt_logical_xor_ XT_SPELLED_("xt_logical_xor_: a value never changes: xt_logical_xor")
#define xt_logistic_normal XT_SPELLED_("xt_logistic_normal: it is called xt_logistic_normal_dist(loc, scale) here")
#define xt_logisticnormal XT_SPELLED_("xt_logisticnormal: it is called xt_logistic_normal_dist(loc, scale) here")
#define xt_logit_ XT_SPELLED_("xt_logit_: a value never changes: xt_logit")
#define xt_lognormal XT_SPELLED_("xt_lognormal: it is called xt_log_normal_dist(loc, scale) here")
#define xt_logsoftmax XT_SPELLED_("xt_logsoftmax: a function here: xt_log_softmax(x, axis)")
#define xt_long XT_SPELLED_("xt_long: it is called xt_cast(t, XT_I64) here")
#define xt_long_storage XT_SPELLED_("xt_long_storage: there are no strides and no storages to look at")
#define xt_long_tensor XT_SPELLED_("xt_long_tensor: here it is xt_from_array(values, dtype, dims)")
#define xt_longstorage XT_SPELLED_("xt_longstorage: there are no strides and no storages to look at")
#define xt_longtensor XT_SPELLED_("xt_longtensor: here it is xt_from_array(values, dtype, dims)")
#define xt_low_rank_multivariate_normal XT_SPELLED_("xt_low_rank_multivariate_normal: it is called \
xt_low_rank_multivariate_normal_dist(loc, cov_factor, cov_diag) here")
#define xt_lower_cholesky_transform XT_SPELLED_("xt_lower_cholesky_transform: here it is \
xt_transform(XT_LOWER_CHOLESKY_TRANSFORM, x)")
#define xt_lowercholeskytransform XT_SPELLED_("xt_lowercholeskytransform: here it is \
xt_transform(XT_LOWER_CHOLESKY_TRANSFORM, x)")
#define xt_lowrankmultivariatenormal XT_SPELLED_("xt_lowrankmultivariatenormal: it is called \
xt_low_rank_multivariate_normal_dist(loc, cov_factor, cov_diag) here")
#define xt_lppool1d XT_SPELLED_("xt_lppool1d: it is called xt_lp_pool1d(x, p, kernel, ...) here")
#define xt_lppool2d XT_SPELLED_("xt_lppool2d: it is called xt_lp_pool2d(x, p, kernel, ...) here")
#define xt_lppool3d XT_SPELLED_("xt_lppool3d: it is called xt_lp_pool3d(x, p, kernel, ...) here")
#define xt_lr_scheduler XT_SPELLED_("xt_lr_scheduler: done otherwise: xt_schedule_step")
#define xt_lr_scheduler_ChainedScheduler XT_SPELLED_("xt_lr_scheduler_ChainedScheduler: it is called \
xt_chained_schedule here")
#define xt_lr_scheduler_ConstantLR XT_SPELLED_("xt_lr_scheduler_ConstantLR: it is called xt_constant_schedule here")
#define xt_lr_scheduler_CosineAnnealingLR XT_SPELLED_("xt_lr_scheduler_CosineAnnealingLR: it is called \
xt_cosine_schedule here")
#define xt_lr_scheduler_CosineAnnealingWarmRestarts XT_SPELLED_("xt_lr_scheduler_CosineAnnealingWarmRestarts: it is \
called xt_warm_restarts_schedule(optimizer, .t_0) here")
#define xt_lr_scheduler_CyclicLR XT_SPELLED_("xt_lr_scheduler_CyclicLR: it is called xt_cyclic_schedule(optimizer, \
.base_lr, .max_lr) here")
#define xt_lr_scheduler_ExponentialLR XT_SPELLED_("xt_lr_scheduler_ExponentialLR: it is called xt_exponential_schedule \
here")
#define xt_lr_scheduler_LRScheduler XT_SPELLED_("xt_lr_scheduler_LRScheduler: done otherwise: xt_schedule_step")
#define xt_lr_scheduler_LambdaLR XT_SPELLED_("xt_lr_scheduler_LambdaLR: it is called xt_lambda_schedule here")
#define xt_lr_scheduler_LinearLR XT_SPELLED_("xt_lr_scheduler_LinearLR: it is called xt_linear_schedule here")
#define xt_lr_scheduler_MultiStepLR XT_SPELLED_("xt_lr_scheduler_MultiStepLR: it is called xt_multistep_schedule here")
#define xt_lr_scheduler_MultiplicativeLR XT_SPELLED_("xt_lr_scheduler_MultiplicativeLR: it is called \
xt_lambda_schedule(opt, fn, ...) here")
#define xt_lr_scheduler_OneCycleLR XT_SPELLED_("xt_lr_scheduler_OneCycleLR: it is called xt_one_cycle_schedule here")
#define xt_lr_scheduler_PolynomialLR XT_SPELLED_("xt_lr_scheduler_PolynomialLR: it is called \
xt_polynomial_schedule(optimizer) here")
#define xt_lr_scheduler_ReduceLROnPlateau XT_SPELLED_("xt_lr_scheduler_ReduceLROnPlateau: it is called \
xt_plateau_schedule here")
#define xt_lr_scheduler_SequentialLR XT_SPELLED_("xt_lr_scheduler_SequentialLR: it is called xt_sequential_schedule \
here")
#define xt_lr_scheduler_StepLR XT_SPELLED_("xt_lr_scheduler_StepLR: it is called xt_step_schedule here")
#define xt_lr_scheduler_chained_scheduler XT_SPELLED_("xt_lr_scheduler_chained_scheduler: it is called \
xt_chained_schedule here")
#define xt_lr_scheduler_chainedscheduler XT_SPELLED_("xt_lr_scheduler_chainedscheduler: it is called \
xt_chained_schedule here")
#define xt_lr_scheduler_constant_lr XT_SPELLED_("xt_lr_scheduler_constant_lr: it is called xt_constant_schedule here")
#define xt_lr_scheduler_constantlr XT_SPELLED_("xt_lr_scheduler_constantlr: it is called xt_constant_schedule here")
#define xt_lr_scheduler_cosine_annealing_lr XT_SPELLED_("xt_lr_scheduler_cosine_annealing_lr: it is called \
xt_cosine_schedule here")
#define xt_lr_scheduler_cosine_annealing_warm_restarts XT_SPELLED_("xt_lr_scheduler_cosine_annealing_warm_restarts: it \
is called xt_warm_restarts_schedule(optimizer, .t_0) here")
#define xt_lr_scheduler_cosineannealinglr XT_SPELLED_("xt_lr_scheduler_cosineannealinglr: it is called \
xt_cosine_schedule here")
#define xt_lr_scheduler_cosineannealingwarmrestarts XT_SPELLED_("xt_lr_scheduler_cosineannealingwarmrestarts: it is \
called xt_warm_restarts_schedule(optimizer, .t_0) here")
#define xt_lr_scheduler_cyclic_lr XT_SPELLED_("xt_lr_scheduler_cyclic_lr: it is called xt_cyclic_schedule(optimizer, \
.base_lr, .max_lr) here")
#define xt_lr_scheduler_cycliclr XT_SPELLED_("xt_lr_scheduler_cycliclr: it is called xt_cyclic_schedule(optimizer, \
.base_lr, .max_lr) here")
#define xt_lr_scheduler_exponential_lr XT_SPELLED_("xt_lr_scheduler_exponential_lr: it is called \
xt_exponential_schedule here")
#define xt_lr_scheduler_exponentiallr XT_SPELLED_("xt_lr_scheduler_exponentiallr: it is called xt_exponential_schedule \
here")
#define xt_lr_scheduler_lambda_lr XT_SPELLED_("xt_lr_scheduler_lambda_lr: it is called xt_lambda_schedule here")
#define xt_lr_scheduler_lambdalr XT_SPELLED_("xt_lr_scheduler_lambdalr: it is called xt_lambda_schedule here")
#define xt_lr_scheduler_linear_lr XT_SPELLED_("xt_lr_scheduler_linear_lr: it is called xt_linear_schedule here")
#define xt_lr_scheduler_linearlr XT_SPELLED_("xt_lr_scheduler_linearlr: it is called xt_linear_schedule here")
#define xt_lr_scheduler_lr_scheduler XT_SPELLED_("xt_lr_scheduler_lr_scheduler: done otherwise: xt_schedule_step")
#define xt_lr_scheduler_lrscheduler XT_SPELLED_("xt_lr_scheduler_lrscheduler: done otherwise: xt_schedule_step")
#define xt_lr_scheduler_multi_step_lr XT_SPELLED_("xt_lr_scheduler_multi_step_lr: it is called xt_multistep_schedule \
here")
#define xt_lr_scheduler_multiplicative_lr XT_SPELLED_("xt_lr_scheduler_multiplicative_lr: it is called \
xt_lambda_schedule(opt, fn, ...) here")
#define xt_lr_scheduler_multiplicativelr XT_SPELLED_("xt_lr_scheduler_multiplicativelr: it is called \
xt_lambda_schedule(opt, fn, ...) here")
#define xt_lr_scheduler_multisteplr XT_SPELLED_("xt_lr_scheduler_multisteplr: it is called xt_multistep_schedule here")
#define xt_lr_scheduler_one_cycle_lr XT_SPELLED_("xt_lr_scheduler_one_cycle_lr: it is called xt_one_cycle_schedule \
here")
#define xt_lr_scheduler_onecyclelr XT_SPELLED_("xt_lr_scheduler_onecyclelr: it is called xt_one_cycle_schedule here")
#define xt_lr_scheduler_polynomial_lr XT_SPELLED_("xt_lr_scheduler_polynomial_lr: it is called \
xt_polynomial_schedule(optimizer) here")
#define xt_lr_scheduler_polynomiallr XT_SPELLED_("xt_lr_scheduler_polynomiallr: it is called \
xt_polynomial_schedule(optimizer) here")
#define xt_lr_scheduler_reduce_lr_on_plateau XT_SPELLED_("xt_lr_scheduler_reduce_lr_on_plateau: it is called \
xt_plateau_schedule here")
#define xt_lr_scheduler_reducelronplateau XT_SPELLED_("xt_lr_scheduler_reducelronplateau: it is called \
xt_plateau_schedule here")
#define xt_lr_scheduler_sequential_lr XT_SPELLED_("xt_lr_scheduler_sequential_lr: it is called xt_sequential_schedule \
here")
#define xt_lr_scheduler_sequentiallr XT_SPELLED_("xt_lr_scheduler_sequentiallr: it is called xt_sequential_schedule \
here")
#define xt_lr_scheduler_step XT_SPELLED_("xt_lr_scheduler_step: it is called xt_schedule_step here")
#define xt_lr_scheduler_step_lr XT_SPELLED_("xt_lr_scheduler_step_lr: it is called xt_step_schedule here")
#define xt_lr_scheduler_steplr XT_SPELLED_("xt_lr_scheduler_steplr: it is called xt_step_schedule here")
#define xt_lrscheduler XT_SPELLED_("xt_lrscheduler: done otherwise: xt_schedule_step")
#define xt_lstmcell XT_SPELLED_("xt_lstmcell: a layer is a call here: xt_lstm_cell")
#define xt_lt_ XT_SPELLED_("xt_lt_: a value never changes: xt_lt")
#define xt_lu XT_SPELLED_("xt_lu: it is called xt_linalg_lu_factor(a, out_lu, out_rows) here")
#define xt_lu_factor XT_SPELLED_("xt_lu_factor: it is called xt_linalg_lu_factor(a, out_lu, out_rows) here")
#define xt_lu_factor_ex XT_SPELLED_("xt_lu_factor_ex: it is called xt_linalg_lu_factor(a, out_lu, out_rows) here")
#define xt_lu_solve XT_SPELLED_("xt_lu_solve: it is called xt_linalg_lu_solve(lu, rows, y) here")
#define xt_lu_unpack XT_SPELLED_("xt_lu_unpack: it is called xt_linalg_lu_unpack(lu, rows, out_p, out_l, out_u) here")
#define xt_m_h XT_SPELLED_("xt_m_h: it is called xt_mH(x) here")
#define xt_m_t XT_SPELLED_("xt_m_t: it is called xt_mT(x) here")
#define xt_manual_seed_all XT_SPELLED_("xt_manual_seed_all: xt_seed(seed) is that of all devices and ranks")
#define xt_map2_ XT_SPELLED_("xt_map2_: not there: a function of Python's for each element would wait for the device: \
ops of whole tensors, xt_where")
#define xt_map_ XT_SPELLED_("xt_map_: not there: a function of Python's for each element would wait for the device: \
ops of whole tensors, xt_where")
#define xt_map_data_pipe XT_SPELLED_("xt_map_data_pipe: internal to PyTorch: xt_map_dataset, xt_stream_dataset")
#define xt_mapdatapipe XT_SPELLED_("xt_mapdatapipe: internal to PyTorch: xt_map_dataset, xt_stream_dataset")
#define xt_marginrankingloss XT_SPELLED_("xt_marginrankingloss: it is called xt_margin_ranking_loss(x1, x2, y, ...) \
here")
#define xt_masked_fill_ XT_SPELLED_("xt_masked_fill_: a value never changes: x = xt_masked_fill(x, mask, v)")
#define xt_masked_scatter_ XT_SPELLED_("xt_masked_scatter_: a value never changes: xt_masked_scatter")
#define xt_masked_softmax XT_SPELLED_("xt_masked_softmax: it is xt_softmax(xt_masked_fill(x, mask, -INFINITY), -1)")
#define xt_maxpool1d XT_SPELLED_("xt_maxpool1d: a function here: xt_max_pool1d(x, kernel)")
#define xt_maxpool2d XT_SPELLED_("xt_maxpool2d: a function here: xt_max_pool2d(x, kernel)")
#define xt_maxpool3d XT_SPELLED_("xt_maxpool3d: a function here: xt_max_pool3d(x, kernel)")
#define xt_maxunpool1d XT_SPELLED_("xt_maxunpool1d: it is called xt_max_unpool1d(x, indices, kernel, ...) here")
#define xt_maxunpool2d XT_SPELLED_("xt_maxunpool2d: it is called xt_max_unpool2d(x, indices, kernel, ...) here")
#define xt_maxunpool3d XT_SPELLED_("xt_maxunpool3d: it is called xt_max_unpool3d(x, indices, kernel, ...) here")
#define xt_memory_format XT_SPELLED_("xt_memory_format: a tensor's elements stand row by row, a dim behind the other; \
the compiler chooses other orders by itself")
#define xt_merge_type_from_type_comment XT_SPELLED_("xt_merge_type_from_type_comment: internal to PyTorch")
#define xt_mh XT_SPELLED_("xt_mh: it is called xt_mH(x) here")
#define xt_miopen_batch_norm XT_SPELLED_("xt_miopen_batch_norm: internal to PyTorch")
#define xt_miopen_convolution XT_SPELLED_("xt_miopen_convolution: internal to PyTorch")
#define xt_miopen_convolution_add_relu XT_SPELLED_("xt_miopen_convolution_add_relu: internal to PyTorch")
#define xt_miopen_convolution_relu XT_SPELLED_("xt_miopen_convolution_relu: internal to PyTorch")
#define xt_miopen_convolution_transpose XT_SPELLED_("xt_miopen_convolution_transpose: internal to PyTorch")
#define xt_miopen_depthwise_convolution XT_SPELLED_("xt_miopen_depthwise_convolution: internal to PyTorch")
#define xt_miopen_rnn XT_SPELLED_("xt_miopen_rnn: internal to PyTorch")
#define xt_mixture_same_family XT_SPELLED_("xt_mixture_same_family: it is called xt_mixture_dist(logits, components) \
here")
#define xt_mixturesamefamily XT_SPELLED_("xt_mixturesamefamily: it is called xt_mixture_dist(logits, components) here")
#define xt_mkldnn_adaptive_avg_pool2d XT_SPELLED_("xt_mkldnn_adaptive_avg_pool2d: internal to PyTorch")
#define xt_mkldnn_convolution XT_SPELLED_("xt_mkldnn_convolution: internal to PyTorch")
#define xt_mkldnn_linear_backward_weights XT_SPELLED_("xt_mkldnn_linear_backward_weights: internal to PyTorch")
#define xt_mkldnn_max_pool2d XT_SPELLED_("xt_mkldnn_max_pool2d: internal to PyTorch")
#define xt_mkldnn_max_pool3d XT_SPELLED_("xt_mkldnn_max_pool3d: internal to PyTorch")
#define xt_mkldnn_rnn_layer XT_SPELLED_("xt_mkldnn_rnn_layer: internal to PyTorch")
#define xt_module_dict XT_SPELLED_("xt_module_dict: a layer is a call here: xt_sub(m, \"name\", -1)")
#define xt_module_eval XT_SPELLED_("xt_module_eval: it is called xt_eval(m) here")
#define xt_module_list XT_SPELLED_("xt_module_list: a layer is a call here: a loop over xt_sub(m, \"blocks\", i)")
#define xt_module_load XT_SPELLED_("xt_module_load: classes of Python's")
#define xt_module_print XT_SPELLED_("xt_module_print: it is called xt_module_summary(m, buffer, bytes) here")
#define xt_module_train XT_SPELLED_("xt_module_train: it is called xt_train(m) here")
#define xt_moduledict XT_SPELLED_("xt_moduledict: a layer is a call here: xt_sub(m, \"name\", -1)")
#define xt_modulelist XT_SPELLED_("xt_modulelist: a layer is a call here: a loop over xt_sub(m, \"blocks\", i)")
#define xt_mseloss XT_SPELLED_("xt_mseloss: a function here: xt_mse_loss(x, y)")
#define xt_mt XT_SPELLED_("xt_mt: it is called xt_mT(x) here")
#define xt_mtia XT_SPELLED_("xt_mtia: one device per process, batches arrive on it; dtypes: xt_cast")
#define xt_mul_ XT_SPELLED_("xt_mul_: a value never changes: xt_mul")
#define xt_multi_head_attention_forward XT_SPELLED_("xt_multi_head_attention_forward: a layer is a call here: \
xt_multihead_attention(m, \"name\", q, k)")
#define xt_multi_label_margin_loss XT_SPELLED_("xt_multi_label_margin_loss: here it is xt_multilabel_margin_loss, \
xt_multilabel_soft_margin_loss")
#define xt_multi_label_soft_margin_loss XT_SPELLED_("xt_multi_label_soft_margin_loss: here it is \
xt_multilabel_margin_loss, xt_multilabel_soft_margin_loss")
#define xt_multi_step_lr XT_SPELLED_("xt_multi_step_lr: it is called xt_multistep_schedule here")
#define xt_multigammaln XT_SPELLED_("xt_multigammaln: it is called xt_mvlgamma(x, p) here")
#define xt_multiheadattention XT_SPELLED_("xt_multiheadattention: a layer is a call here: xt_multihead_attention(m, \
\"name\", q, k, v)")
#define xt_multilabelmarginloss XT_SPELLED_("xt_multilabelmarginloss: here it is xt_multilabel_margin_loss, \
xt_multilabel_soft_margin_loss")
#define xt_multilabelsoftmarginloss XT_SPELLED_("xt_multilabelsoftmarginloss: here it is xt_multilabel_margin_loss, \
xt_multilabel_soft_margin_loss")
#define xt_multimarginloss XT_SPELLED_("xt_multimarginloss: it is called xt_multi_margin_loss(x, labels, ...) here")
#define xt_multiplicative_lr XT_SPELLED_("xt_multiplicative_lr: it is called xt_lambda_schedule(opt, fn, ...) here")
#define xt_multiplicativelr XT_SPELLED_("xt_multiplicativelr: it is called xt_lambda_schedule(opt, fn, ...) here")
#define xt_multiply_ XT_SPELLED_("xt_multiply_: a value never changes: xt_multiply")
#define xt_multisteplr XT_SPELLED_("xt_multisteplr: it is called xt_multistep_schedule here")
#define xt_multivariate_normal XT_SPELLED_("xt_multivariate_normal: it is called xt_multivariate_normal_dist(loc, \
covariance) here")
#define xt_multivariatenormal XT_SPELLED_("xt_multivariatenormal: it is called xt_multivariate_normal_dist(loc, \
covariance) here")
#define xt_mvlgamma_ XT_SPELLED_("xt_mvlgamma_: a value never changes: xt_mvlgamma")
#define xt_n_adam XT_SPELLED_("xt_n_adam: it is called xt_nadam(module) here")
#define xt_name XT_SPELLED_("xt_name: internal to PyTorch, or of tensors that are not there")
#define xt_named_parameters XT_SPELLED_("xt_named_parameters: xt_module_tensors(m) of them, xt_module_tensor_name(m, \
i), xt_module_tensor(m, i)")
#define xt_names XT_SPELLED_("xt_names: internal to PyTorch, or of tensors that are not there")
#define xt_nan XT_SPELLED_("xt_nan: M_PI, M_E, INFINITY, NAN of <math.h>")
#define xt_nan_to_num_ XT_SPELLED_("xt_nan_to_num_: a value never changes: xt_nan_to_num")
#define xt_narrow_copy XT_SPELLED_("xt_narrow_copy: it is called xt_narrow(x, axis, start, length) here")
#define xt_native_batch_norm XT_SPELLED_("xt_native_batch_norm: internal to PyTorch")
#define xt_native_channel_shuffle XT_SPELLED_("xt_native_channel_shuffle: internal to PyTorch")
#define xt_native_dropout XT_SPELLED_("xt_native_dropout: internal to PyTorch")
#define xt_native_group_norm XT_SPELLED_("xt_native_group_norm: internal to PyTorch")
#define xt_native_layer_norm XT_SPELLED_("xt_native_layer_norm: internal to PyTorch")
#define xt_native_norm XT_SPELLED_("xt_native_norm: internal to PyTorch")
#define xt_nbytes XT_SPELLED_("xt_nbytes: here it is xt_numel(x) times xt_dtype_size(xt_dtype_of(x))")
#define xt_ndim XT_SPELLED_("xt_ndim: it is called xt_rank_of(t) here")
#define xt_ndimension XT_SPELLED_("xt_ndimension: it is called xt_rank_of here")
#define xt_ne_ XT_SPELLED_("xt_ne_: a value never changes: xt_ne")
#define xt_neg_ XT_SPELLED_("xt_neg_: a value never changes: xt_neg")
#define xt_negative_ XT_SPELLED_("xt_negative_: a value never changes: xt_negative")
#define xt_negative_binomial XT_SPELLED_("xt_negative_binomial: it is called xt_negative_binomial_dist(total_count, \
probs) here")
#define xt_negativebinomial XT_SPELLED_("xt_negativebinomial: it is called xt_negative_binomial_dist(total_count, \
probs) here")
#define xt_nelement XT_SPELLED_("xt_nelement: it is called xt_numel(t) here")
#define xt_nested_io_function XT_SPELLED_("xt_nested_io_function: internal to PyTorch")
#define xt_nestediofunction XT_SPELLED_("xt_nestediofunction: internal to PyTorch")
#define xt_new XT_SPELLED_("xt_new: here it is xt_from_array, xt_from_data")
#define xt_new_empty XT_SPELLED_("xt_new_empty: here it is xt_zeros, xt_ones, xt_full with xt_dtype_of(x)")
#define xt_new_empty_strided XT_SPELLED_("xt_new_empty_strided: memory without values does not exist: xt_zeros")
#define xt_new_full XT_SPELLED_("xt_new_full: here it is xt_zeros, xt_ones, xt_full with xt_dtype_of(x)")
#define xt_new_ones XT_SPELLED_("xt_new_ones: it is called xt_ones(xt_dtype_of(t), dims) here")
#define xt_new_tensor XT_SPELLED_("xt_new_tensor: here it is xt_from_array, xt_from_data")
#define xt_new_zeros XT_SPELLED_("xt_new_zeros: it is called xt_zeros(xt_dtype_of(t), dims) here")
#define xt_newaxis XT_SPELLED_("xt_newaxis: done otherwise: xt_unsqueeze(x, axis)")
#define xt_nextafter_ XT_SPELLED_("xt_nextafter_: a value never changes: xt_nextafter")
#define xt_nll_loss2d XT_SPELLED_("xt_nll_loss2d: it is called xt_nll_loss(log_probs, labels, ...) here")
#define xt_nllloss XT_SPELLED_("xt_nllloss: a function here: xt_nll_loss(log_probs, labels)")
#define xt_nllloss2d XT_SPELLED_("xt_nllloss2d: it is called xt_nll_loss(log_probs, labels, ...) here")
#define xt_nn_AdaptiveAvgPool1d XT_SPELLED_("xt_nn_AdaptiveAvgPool1d: it is called xt_adaptive_avg_pool1d(x, sizes, \
...) here")
#define xt_nn_AdaptiveAvgPool2d XT_SPELLED_("xt_nn_AdaptiveAvgPool2d: a function here: xt_adaptive_avg_pool2d(x, \
size)")
#define xt_nn_AdaptiveAvgPool3d XT_SPELLED_("xt_nn_AdaptiveAvgPool3d: it is called xt_adaptive_avg_pool3d(x, sizes, \
...) here")
#define xt_nn_AdaptiveLogSoftmaxWithLoss XT_SPELLED_("xt_nn_AdaptiveLogSoftmaxWithLoss: here it is \
xt_adaptive_log_softmax, xt_adaptive_log_prob")
#define xt_nn_AdaptiveMaxPool1d XT_SPELLED_("xt_nn_AdaptiveMaxPool1d: a function here: xt_adaptive_max_pool1d(x, \
size)")
#define xt_nn_AdaptiveMaxPool2d XT_SPELLED_("xt_nn_AdaptiveMaxPool2d: a function here: xt_adaptive_max_pool2d(x, \
height, width)")
#define xt_nn_AdaptiveMaxPool3d XT_SPELLED_("xt_nn_AdaptiveMaxPool3d: it is called xt_adaptive_max_pool3d(x, sizes, \
...) here")
#define xt_nn_AlphaDropout XT_SPELLED_("xt_nn_AlphaDropout: it is called xt_alpha_dropout(m, x, ...) here")
#define xt_nn_AvgPool1d XT_SPELLED_("xt_nn_AvgPool1d: a function here: xt_avg_pool1d(x, kernel)")
#define xt_nn_AvgPool2d XT_SPELLED_("xt_nn_AvgPool2d: a function here: xt_avg_pool2d(x, kernel)")
#define xt_nn_AvgPool3d XT_SPELLED_("xt_nn_AvgPool3d: a function here: xt_avg_pool3d(x, kernel)")
#define xt_nn_BCELoss XT_SPELLED_("xt_nn_BCELoss: a function here: xt_binary_cross_entropy(p, y)")
#define xt_nn_BCEWithLogitsLoss XT_SPELLED_("xt_nn_BCEWithLogitsLoss: a function here: xt_bce_with_logits(x, y)")
#define xt_nn_BatchNorm1d XT_SPELLED_("xt_nn_BatchNorm1d: a layer is a call here: xt_batch_norm(m, \"name\", x), of \
any number of dims")
#define xt_nn_BatchNorm2d XT_SPELLED_("xt_nn_BatchNorm2d: a layer is a call here: xt_batch_norm(m, \"name\", x), of \
any number of dims")
#define xt_nn_BatchNorm3d XT_SPELLED_("xt_nn_BatchNorm3d: a layer is a call here: xt_batch_norm(m, \"name\", x), of \
any number of dims")
#define xt_nn_Bilinear XT_SPELLED_("xt_nn_Bilinear: a layer is a call here: xt_bilinear(m, \"name\", x, y, outputs)")
#define xt_nn_Buffer XT_SPELLED_("xt_nn_Buffer: here it is xt_param, xt_buffer")
#define xt_nn_CELU XT_SPELLED_("xt_nn_CELU: a function here: xt_celu(x, alpha)")
#define xt_nn_CTCLoss XT_SPELLED_("xt_nn_CTCLoss: a function here: xt_ctc_loss")
#define xt_nn_ChannelShuffle XT_SPELLED_("xt_nn_ChannelShuffle: it is called xt_channel_shuffle(x, groups) here")
#define xt_nn_CircularPad1d XT_SPELLED_("xt_nn_CircularPad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_CircularPad2d XT_SPELLED_("xt_nn_CircularPad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_CircularPad3d XT_SPELLED_("xt_nn_CircularPad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_ConstantPad1d XT_SPELLED_("xt_nn_ConstantPad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_ConstantPad2d XT_SPELLED_("xt_nn_ConstantPad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_ConstantPad3d XT_SPELLED_("xt_nn_ConstantPad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_Container XT_SPELLED_("xt_nn_Container: here it is xt_module_new, xt_sub(m, \"h\", i)")
#define xt_nn_Conv1d XT_SPELLED_("xt_nn_Conv1d: a layer is a call here: xt_conv1d(m, \"name\", x, channels, kernel)")
#define xt_nn_Conv2d XT_SPELLED_("xt_nn_Conv2d: a layer is a call here: xt_conv2d(m, \"name\", x, channels, kernel)")
#define xt_nn_Conv3d XT_SPELLED_("xt_nn_Conv3d: a layer is a call here: xt_conv3d(m, \"name\", x, channels, kernel)")
#define xt_nn_ConvTranspose1d XT_SPELLED_("xt_nn_ConvTranspose1d: a layer is a call here: xt_conv_transpose1d(m, \
\"name\", x, channels, kernel)")
#define xt_nn_ConvTranspose2d XT_SPELLED_("xt_nn_ConvTranspose2d: a layer is a call here: xt_conv_transpose2d(m, \
\"name\", x, channels, kernel)")
#define xt_nn_ConvTranspose3d XT_SPELLED_("xt_nn_ConvTranspose3d: it is called xt_conv_transpose3d here")
#define xt_nn_CosineEmbeddingLoss XT_SPELLED_("xt_nn_CosineEmbeddingLoss: it is called xt_cosine_embedding_loss(x1, \
x2, y, ...) here")
#define xt_nn_CosineSimilarity XT_SPELLED_("xt_nn_CosineSimilarity: it is called xt_cosine_similarity here")
#define xt_nn_CrossEntropyLoss XT_SPELLED_("xt_nn_CrossEntropyLoss: a function here: xt_cross_entropy(logits, labels)")
#define xt_nn_CrossMapLRN2d XT_SPELLED_("xt_nn_CrossMapLRN2d: it is called xt_local_response_norm here")
#define xt_nn_DType XT_SPELLED_("xt_nn_DType: internal to PyTorch")
#define xt_nn_DataParallel XT_SPELLED_("xt_nn_DataParallel: xtrain launch: ranks average gradients")
#define xt_nn_Dropout XT_SPELLED_("xt_nn_Dropout: a layer is a call here: xt_dropout(m, x, p)")
#define xt_nn_Dropout1d XT_SPELLED_("xt_nn_Dropout1d: it is called xt_dropout1d(m, x, ...) here")
#define xt_nn_Dropout2d XT_SPELLED_("xt_nn_Dropout2d: a layer is a call here: xt_dropout2d(m, x, p)")
#define xt_nn_Dropout3d XT_SPELLED_("xt_nn_Dropout3d: it is called xt_dropout3d(m, x, ...) here")
#define xt_nn_ELU XT_SPELLED_("xt_nn_ELU: a function here: xt_elu(x, alpha)")
#define xt_nn_Embedding XT_SPELLED_("xt_nn_Embedding: a layer is a call here: xt_embedding(m, \"name\", indices, \
vocabulary, size)")
#define xt_nn_EmbeddingBag XT_SPELLED_("xt_nn_EmbeddingBag: a function here: xt_embedding_bag(indices, table, mode, \
weights)")
#define xt_nn_FeatureAlphaDropout XT_SPELLED_("xt_nn_FeatureAlphaDropout: it is called xt_feature_alpha_dropout(m, x, \
...) here")
#define xt_nn_Flatten XT_SPELLED_("xt_nn_Flatten: a function here: xt_flatten(x, first axis)")
#define xt_nn_Fold XT_SPELLED_("xt_nn_Fold: it is called xt_fold here")
#define xt_nn_FractionalMaxPool2d XT_SPELLED_("xt_nn_FractionalMaxPool2d: it is called xt_fractional_max_pool2d(x, \
kernel, out_indices, ...) here")
#define xt_nn_FractionalMaxPool3d XT_SPELLED_("xt_nn_FractionalMaxPool3d: it is called xt_fractional_max_pool3d(x, \
kernel, out_indices, ...) here")
#define xt_nn_GELU XT_SPELLED_("xt_nn_GELU: a function here: xt_gelu_erf(x), in its tanh form xt_gelu(x)")
#define xt_nn_GLU XT_SPELLED_("xt_nn_GLU: a function here: xt_glu(x, axis)")
#define xt_nn_GRU XT_SPELLED_("xt_nn_GRU: a layer is a call here: xt_gru(m, \"name\", x, hidden)")
#define xt_nn_GRUCell XT_SPELLED_("xt_nn_GRUCell: a layer is a call here: xt_gru_cell")
#define xt_nn_GaussianNLLLoss XT_SPELLED_("xt_nn_GaussianNLLLoss: it is called xt_gaussian_nll_loss(x, y, variance, \
...) here")
#define xt_nn_GroupNorm XT_SPELLED_("xt_nn_GroupNorm: a layer is a call here: xt_group_norm(m, \"name\", x, groups)")
#define xt_nn_Hardshrink XT_SPELLED_("xt_nn_Hardshrink: it is called xt_hardshrink here")
#define xt_nn_Hardsigmoid XT_SPELLED_("xt_nn_Hardsigmoid: it is called xt_hardsigmoid(x) here")
#define xt_nn_Hardswish XT_SPELLED_("xt_nn_Hardswish: a function here: xt_hardswish(x)")
#define xt_nn_Hardtanh XT_SPELLED_("xt_nn_Hardtanh: it is called xt_hardtanh(x) here")
#define xt_nn_HingeEmbeddingLoss XT_SPELLED_("xt_nn_HingeEmbeddingLoss: it is called xt_hinge_embedding_loss(x, y, \
...) here")
#define xt_nn_HuberLoss XT_SPELLED_("xt_nn_HuberLoss: a function here: xt_huber_loss(x, y)")
#define xt_nn_Identity XT_SPELLED_("xt_nn_Identity: a layer is a call here: x itself")
#define xt_nn_InstanceNorm1d XT_SPELLED_("xt_nn_InstanceNorm1d: a layer is a call here: xt_instance_norm(m, \"name\", \
x)")
#define xt_nn_InstanceNorm2d XT_SPELLED_("xt_nn_InstanceNorm2d: a layer is a call here: xt_instance_norm(m, \"name\", \
x)")
#define xt_nn_InstanceNorm3d XT_SPELLED_("xt_nn_InstanceNorm3d: a layer is a call here: xt_instance_norm(m, \"name\", \
x)")
#define xt_nn_KLDivLoss XT_SPELLED_("xt_nn_KLDivLoss: a function here: xt_kl_div(x, y)")
#define xt_nn_L1Loss XT_SPELLED_("xt_nn_L1Loss: a function here: xt_l1_loss(x, y)")
#define xt_nn_LPPool1d XT_SPELLED_("xt_nn_LPPool1d: it is called xt_lp_pool1d(x, p, kernel, ...) here")
#define xt_nn_LPPool2d XT_SPELLED_("xt_nn_LPPool2d: it is called xt_lp_pool2d(x, p, kernel, ...) here")
#define xt_nn_LPPool3d XT_SPELLED_("xt_nn_LPPool3d: it is called xt_lp_pool3d(x, p, kernel, ...) here")
#define xt_nn_LSTM XT_SPELLED_("xt_nn_LSTM: a layer is a call here: xt_lstm(m, \"name\", x, hidden)")
#define xt_nn_LSTMCell XT_SPELLED_("xt_nn_LSTMCell: a layer is a call here: xt_lstm_cell")
#define xt_nn_LayerNorm XT_SPELLED_("xt_nn_LayerNorm: a layer is a call here: xt_layer_norm(m, \"name\", x)")
#define xt_nn_LazyBatchNorm1d XT_SPELLED_("xt_nn_LazyBatchNorm1d: here it is xt_batch_norm: parameters are made by the \
first call")
#define xt_nn_LazyBatchNorm2d XT_SPELLED_("xt_nn_LazyBatchNorm2d: here it is xt_batch_norm: parameters are made by the \
first call")
#define xt_nn_LazyBatchNorm3d XT_SPELLED_("xt_nn_LazyBatchNorm3d: here it is xt_batch_norm: parameters are made by the \
first call")
#define xt_nn_LazyConv1d XT_SPELLED_("xt_nn_LazyConv1d: here it is xt_conv1d, xt_conv2d, xt_conv3d: every layer is \
lazy")
#define xt_nn_LazyConv2d XT_SPELLED_("xt_nn_LazyConv2d: here it is xt_conv1d, xt_conv2d, xt_conv3d: every layer is \
lazy")
#define xt_nn_LazyConv3d XT_SPELLED_("xt_nn_LazyConv3d: here it is xt_conv1d, xt_conv2d, xt_conv3d: every layer is \
lazy")
#define xt_nn_LazyConvTranspose1d XT_SPELLED_("xt_nn_LazyConvTranspose1d: here it is xt_conv_transpose1d, \
xt_conv_transpose2d, xt_conv_transpose3d")
#define xt_nn_LazyConvTranspose2d XT_SPELLED_("xt_nn_LazyConvTranspose2d: here it is xt_conv_transpose1d, \
xt_conv_transpose2d, xt_conv_transpose3d")
#define xt_nn_LazyConvTranspose3d XT_SPELLED_("xt_nn_LazyConvTranspose3d: here it is xt_conv_transpose1d, \
xt_conv_transpose2d, xt_conv_transpose3d")
#define xt_nn_LazyInstanceNorm1d XT_SPELLED_("xt_nn_LazyInstanceNorm1d: it is called xt_instance_norm(m, name, x, ...) \
here")
#define xt_nn_LazyInstanceNorm2d XT_SPELLED_("xt_nn_LazyInstanceNorm2d: it is called xt_instance_norm(m, name, x, ...) \
here")
#define xt_nn_LazyInstanceNorm3d XT_SPELLED_("xt_nn_LazyInstanceNorm3d: it is called xt_instance_norm(m, name, x, ...) \
here")
#define xt_nn_LazyLinear XT_SPELLED_("xt_nn_LazyLinear: every layer is lazy: xt_linear(m, \"fc\", x, outputs)")
#define xt_nn_LeakyReLU XT_SPELLED_("xt_nn_LeakyReLU: a function here: xt_leaky_relu(x, slope)")
#define xt_nn_Linear XT_SPELLED_("xt_nn_Linear: a layer is a call here: xt_linear(m, \"fc\", x, outputs)")
#define xt_nn_LocalResponseNorm XT_SPELLED_("xt_nn_LocalResponseNorm: it is called xt_local_response_norm here")
#define xt_nn_LogSigmoid XT_SPELLED_("xt_nn_LogSigmoid: a function here: xt_logsigmoid(x)")
#define xt_nn_LogSoftmax XT_SPELLED_("xt_nn_LogSoftmax: a function here: xt_log_softmax(x, axis)")
#define xt_nn_MSELoss XT_SPELLED_("xt_nn_MSELoss: a function here: xt_mse_loss(x, y)")
#define xt_nn_MarginRankingLoss XT_SPELLED_("xt_nn_MarginRankingLoss: it is called xt_margin_ranking_loss(x1, x2, y, \
...) here")
#define xt_nn_MaxPool1d XT_SPELLED_("xt_nn_MaxPool1d: a function here: xt_max_pool1d(x, kernel)")
#define xt_nn_MaxPool2d XT_SPELLED_("xt_nn_MaxPool2d: a function here: xt_max_pool2d(x, kernel)")
#define xt_nn_MaxPool3d XT_SPELLED_("xt_nn_MaxPool3d: a function here: xt_max_pool3d(x, kernel)")
#define xt_nn_MaxUnpool1d XT_SPELLED_("xt_nn_MaxUnpool1d: it is called xt_max_unpool1d(x, indices, kernel, ...) here")
#define xt_nn_MaxUnpool2d XT_SPELLED_("xt_nn_MaxUnpool2d: it is called xt_max_unpool2d(x, indices, kernel, ...) here")
#define xt_nn_MaxUnpool3d XT_SPELLED_("xt_nn_MaxUnpool3d: it is called xt_max_unpool3d(x, indices, kernel, ...) here")
#define xt_nn_Mish XT_SPELLED_("xt_nn_Mish: a function here: xt_mish(x)")
#define xt_nn_Module XT_SPELLED_("xt_nn_Module: the type is xt_module, made of a function by xt_module_new(fn, user)")
#define xt_nn_ModuleDict XT_SPELLED_("xt_nn_ModuleDict: a layer is a call here: xt_sub(m, \"name\", -1)")
#define xt_nn_ModuleList XT_SPELLED_("xt_nn_ModuleList: a layer is a call here: a loop over xt_sub(m, \"blocks\", i)")
#define xt_nn_MultiLabelMarginLoss XT_SPELLED_("xt_nn_MultiLabelMarginLoss: here it is xt_multilabel_margin_loss, \
xt_multilabel_soft_margin_loss")
#define xt_nn_MultiLabelSoftMarginLoss XT_SPELLED_("xt_nn_MultiLabelSoftMarginLoss: here it is \
xt_multilabel_margin_loss, xt_multilabel_soft_margin_loss")
#define xt_nn_MultiMarginLoss XT_SPELLED_("xt_nn_MultiMarginLoss: it is called xt_multi_margin_loss(x, labels, ...) \
here")
#define xt_nn_MultiheadAttention XT_SPELLED_("xt_nn_MultiheadAttention: a layer is a call here: \
xt_multihead_attention(m, \"name\", q, k, v)")
#define xt_nn_NLLLoss XT_SPELLED_("xt_nn_NLLLoss: a function here: xt_nll_loss(log_probs, labels)")
#define xt_nn_NLLLoss2d XT_SPELLED_("xt_nn_NLLLoss2d: it is called xt_nll_loss(log_probs, labels, ...) here")
#define xt_nn_PReLU XT_SPELLED_("xt_nn_PReLU: a layer is a call here: xt_prelu(m, \"name\", x)")
#define xt_nn_PairwiseDistance XT_SPELLED_("xt_nn_PairwiseDistance: it is called xt_pairwise_distance(x, y) here")
#define xt_nn_Parameter XT_SPELLED_("xt_nn_Parameter: a parameter is made by xt_param(m, \"name\", ...) in a module's \
function")
#define xt_nn_ParameterDict XT_SPELLED_("xt_nn_ParameterDict: here it is xt_param, xt_buffer")
#define xt_nn_ParameterList XT_SPELLED_("xt_nn_ParameterList: here it is xt_param, xt_buffer")
#define xt_nn_PixelShuffle XT_SPELLED_("xt_nn_PixelShuffle: a function here: xt_pixel_shuffle(x, factor)")
#define xt_nn_PixelUnshuffle XT_SPELLED_("xt_nn_PixelUnshuffle: a function here: xt_pixel_unshuffle(x, r)")
#define xt_nn_PoissonNLLLoss XT_SPELLED_("xt_nn_PoissonNLLLoss: it is called xt_poisson_nll_loss(x, y, ...) here")
#define xt_nn_RMSNorm XT_SPELLED_("xt_nn_RMSNorm: a layer is a call here: xt_rms_norm(m, \"name\", x)")
#define xt_nn_RNN XT_SPELLED_("xt_nn_RNN: a layer is a call here: xt_rnn(m, \"name\", x, hidden)")
#define xt_nn_RNNBase XT_SPELLED_("xt_nn_RNNBase: internal to PyTorch")
#define xt_nn_RNNCell XT_SPELLED_("xt_nn_RNNCell: it is called xt_rnn_cell here")
#define xt_nn_RNNCellBase XT_SPELLED_("xt_nn_RNNCellBase: internal to PyTorch")
#define xt_nn_RReLU XT_SPELLED_("xt_nn_RReLU: it is called xt_rrelu here")
#define xt_nn_ReLU XT_SPELLED_("xt_nn_ReLU: a function here: xt_relu(x)")
#define xt_nn_ReLU6 XT_SPELLED_("xt_nn_ReLU6: a function here: xt_relu6(x)")
#define xt_nn_ReflectionPad1d XT_SPELLED_("xt_nn_ReflectionPad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_ReflectionPad2d XT_SPELLED_("xt_nn_ReflectionPad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_ReflectionPad3d XT_SPELLED_("xt_nn_ReflectionPad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_ReplicationPad1d XT_SPELLED_("xt_nn_ReplicationPad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_ReplicationPad2d XT_SPELLED_("xt_nn_ReplicationPad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_ReplicationPad3d XT_SPELLED_("xt_nn_ReplicationPad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_SELU XT_SPELLED_("xt_nn_SELU: a function here: xt_selu(x)")
#define xt_nn_Sequential XT_SPELLED_("xt_nn_Sequential: a layer is a call here: one call behind the other")
#define xt_nn_SiLU XT_SPELLED_("xt_nn_SiLU: a function here: xt_silu(x)")
#define xt_nn_Sigmoid XT_SPELLED_("xt_nn_Sigmoid: a function here: xt_sigmoid(x)")
#define xt_nn_SmoothL1Loss XT_SPELLED_("xt_nn_SmoothL1Loss: a function here: xt_smooth_l1_loss(x, y)")
#define xt_nn_SoftMarginLoss XT_SPELLED_("xt_nn_SoftMarginLoss: it is called xt_soft_margin_loss(x, y, ...) here")
#define xt_nn_Softmax XT_SPELLED_("xt_nn_Softmax: a function here: xt_softmax(x, axis)")
#define xt_nn_Softmax2d XT_SPELLED_("xt_nn_Softmax2d: here it is xt_softmax(x, 1)")
#define xt_nn_Softmin XT_SPELLED_("xt_nn_Softmin: it is called xt_softmin(x, axis) here")
#define xt_nn_Softplus XT_SPELLED_("xt_nn_Softplus: a function here: xt_softplus(x)")
#define xt_nn_Softshrink XT_SPELLED_("xt_nn_Softshrink: it is called xt_softshrink here")
#define xt_nn_Softsign XT_SPELLED_("xt_nn_Softsign: it is called xt_softsign(x) here")
#define xt_nn_SyncBatchNorm XT_SPELLED_("xt_nn_SyncBatchNorm: a layer is a call here: xt_batch_norm(m, \"name\", x, \
.sync = XT_ON)")
#define xt_nn_Tanh XT_SPELLED_("xt_nn_Tanh: a function here: xt_tanh(x)")
#define xt_nn_Tanhshrink XT_SPELLED_("xt_nn_Tanhshrink: it is called xt_tanhshrink(x) here")
#define xt_nn_Tensor XT_SPELLED_("xt_nn_Tensor: it is called xt_tensor, a handle passed by value here")
#define xt_nn_Threshold XT_SPELLED_("xt_nn_Threshold: it is called xt_threshold(x, limit, value) here")
#define xt_nn_Transformer XT_SPELLED_("xt_nn_Transformer: a layer is a call here: xt_transformer_encoder_layer, \
xt_transformer_decoder_layer")
#define xt_nn_TransformerDecoder XT_SPELLED_("xt_nn_TransformerDecoder: here it is xt_transformer_encoder_layer, \
xt_transformer_decoder_layer in a loop, and xt_layer_norm behind it where norm is given")
#define xt_nn_TransformerDecoderLayer XT_SPELLED_("xt_nn_TransformerDecoderLayer: a layer is a call here: \
xt_transformer_decoder_layer")
#define xt_nn_TransformerEncoder XT_SPELLED_("xt_nn_TransformerEncoder: a layer is a call here: a loop over \
xt_transformer_encoder_layer")
#define xt_nn_TransformerEncoderLayer XT_SPELLED_("xt_nn_TransformerEncoderLayer: a layer is a call here: \
xt_transformer_encoder_layer(m, \"name\", x)")
#define xt_nn_TripletMarginLoss XT_SPELLED_("xt_nn_TripletMarginLoss: a function here: xt_triplet_margin_loss(anchor, \
same, other)")
#define xt_nn_TripletMarginWithDistanceLoss XT_SPELLED_("xt_nn_TripletMarginWithDistanceLoss: here it is \
xt_margin_ranking_loss of the distances")
#define xt_nn_Unflatten XT_SPELLED_("xt_nn_Unflatten: it is called xt_unflatten(x, axis, dims, ...) here")
#define xt_nn_Unfold XT_SPELLED_("xt_nn_Unfold: it is called xt_unfold(x, kernel) here")
#define xt_nn_UninitializedBuffer XT_SPELLED_("xt_nn_UninitializedBuffer: here it is xt_param, xt_buffer")
#define xt_nn_UninitializedParameter XT_SPELLED_("xt_nn_UninitializedParameter: here it is xt_param, xt_buffer")
#define xt_nn_Upsample XT_SPELLED_("xt_nn_Upsample: a function here: xt_interpolate(x, .scale = 2)")
#define xt_nn_UpsamplingBilinear2d XT_SPELLED_("xt_nn_UpsamplingBilinear2d: it is called xt_interpolate here")
#define xt_nn_UpsamplingNearest2d XT_SPELLED_("xt_nn_UpsamplingNearest2d: it is called xt_interpolate here")
#define xt_nn_ZeroPad1d XT_SPELLED_("xt_nn_ZeroPad1d: a function here: xt_pad(x, XT_LIST(left, right))")
#define xt_nn_ZeroPad2d XT_SPELLED_("xt_nn_ZeroPad2d: a function here: xt_pad(x, XT_LIST(left, right, top, bottom))")
#define xt_nn_ZeroPad3d XT_SPELLED_("xt_nn_ZeroPad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_adaptive_avg_pool1d XT_SPELLED_("xt_nn_adaptive_avg_pool1d: it is called xt_adaptive_avg_pool1d(x, \
sizes, ...) here")
#define xt_nn_adaptive_avg_pool2d XT_SPELLED_("xt_nn_adaptive_avg_pool2d: a function here: xt_adaptive_avg_pool2d(x, \
size)")
#define xt_nn_adaptive_avg_pool3d XT_SPELLED_("xt_nn_adaptive_avg_pool3d: it is called xt_adaptive_avg_pool3d(x, \
sizes, ...) here")
#define xt_nn_adaptive_log_softmax_with_loss XT_SPELLED_("xt_nn_adaptive_log_softmax_with_loss: here it is \
xt_adaptive_log_softmax, xt_adaptive_log_prob")
#define xt_nn_adaptive_max_pool1d XT_SPELLED_("xt_nn_adaptive_max_pool1d: a function here: xt_adaptive_max_pool1d(x, \
size)")
#define xt_nn_adaptive_max_pool1d_with_indices XT_SPELLED_("xt_nn_adaptive_max_pool1d_with_indices: it is called \
xt_adaptive_max_pool1d_with_indices(x, out_indices, sizes, ...) here")
#define xt_nn_adaptive_max_pool2d XT_SPELLED_("xt_nn_adaptive_max_pool2d: a function here: xt_adaptive_max_pool2d(x, \
height, width)")
#define xt_nn_adaptive_max_pool2d_with_indices XT_SPELLED_("xt_nn_adaptive_max_pool2d_with_indices: it is called \
xt_adaptive_max_pool2d_with_indices(x, out_indices, sizes, ...) here")
#define xt_nn_adaptive_max_pool3d XT_SPELLED_("xt_nn_adaptive_max_pool3d: it is called xt_adaptive_max_pool3d(x, \
sizes, ...) here")
#define xt_nn_adaptive_max_pool3d_with_indices XT_SPELLED_("xt_nn_adaptive_max_pool3d_with_indices: it is called \
xt_adaptive_max_pool3d_with_indices(x, out_indices, sizes, ...) here")
#define xt_nn_adaptiveavgpool1d XT_SPELLED_("xt_nn_adaptiveavgpool1d: it is called xt_adaptive_avg_pool1d(x, sizes, \
...) here")
#define xt_nn_adaptiveavgpool2d XT_SPELLED_("xt_nn_adaptiveavgpool2d: a function here: xt_adaptive_avg_pool2d(x, \
size)")
#define xt_nn_adaptiveavgpool3d XT_SPELLED_("xt_nn_adaptiveavgpool3d: it is called xt_adaptive_avg_pool3d(x, sizes, \
...) here")
#define xt_nn_adaptivelogsoftmaxwithloss XT_SPELLED_("xt_nn_adaptivelogsoftmaxwithloss: here it is \
xt_adaptive_log_softmax, xt_adaptive_log_prob")
#define xt_nn_adaptivemaxpool1d XT_SPELLED_("xt_nn_adaptivemaxpool1d: a function here: xt_adaptive_max_pool1d(x, \
size)")
#define xt_nn_adaptivemaxpool2d XT_SPELLED_("xt_nn_adaptivemaxpool2d: a function here: xt_adaptive_max_pool2d(x, \
height, width)")
#define xt_nn_adaptivemaxpool3d XT_SPELLED_("xt_nn_adaptivemaxpool3d: it is called xt_adaptive_max_pool3d(x, sizes, \
...) here")
#define xt_nn_affine_grid XT_SPELLED_("xt_nn_affine_grid: it is called xt_affine_grid(theta, height, width, ...) here")
#define xt_nn_alpha_dropout XT_SPELLED_("xt_nn_alpha_dropout: it is called xt_alpha_dropout(m, x, ...) here")
#define xt_nn_alphadropout XT_SPELLED_("xt_nn_alphadropout: it is called xt_alpha_dropout(m, x, ...) here")
#define xt_nn_assert_int_or_pair XT_SPELLED_("xt_nn_assert_int_or_pair: internal to PyTorch")
#define xt_nn_avg_pool1d XT_SPELLED_("xt_nn_avg_pool1d: a function here: xt_avg_pool1d(x, kernel)")
#define xt_nn_avg_pool2d XT_SPELLED_("xt_nn_avg_pool2d: a function here: xt_avg_pool2d(x, kernel)")
#define xt_nn_avg_pool3d XT_SPELLED_("xt_nn_avg_pool3d: a function here: xt_avg_pool3d(x, kernel)")
#define xt_nn_avgpool1d XT_SPELLED_("xt_nn_avgpool1d: a function here: xt_avg_pool1d(x, kernel)")
#define xt_nn_avgpool2d XT_SPELLED_("xt_nn_avgpool2d: a function here: xt_avg_pool2d(x, kernel)")
#define xt_nn_avgpool3d XT_SPELLED_("xt_nn_avgpool3d: a function here: xt_avg_pool3d(x, kernel)")
#define xt_nn_batch_norm XT_SPELLED_("xt_nn_batch_norm: here it is xt_batch_norm; with weights given, .affine = XT_OFF \
and xt_mul, xt_add of them")
#define xt_nn_batch_norm1d XT_SPELLED_("xt_nn_batch_norm1d: a layer is a call here: xt_batch_norm(m, \"name\", x), of \
any number of dims")
#define xt_nn_batch_norm2d XT_SPELLED_("xt_nn_batch_norm2d: a layer is a call here: xt_batch_norm(m, \"name\", x), of \
any number of dims")
#define xt_nn_batch_norm3d XT_SPELLED_("xt_nn_batch_norm3d: a layer is a call here: xt_batch_norm(m, \"name\", x), of \
any number of dims")
#define xt_nn_batchnorm1d XT_SPELLED_("xt_nn_batchnorm1d: a layer is a call here: xt_batch_norm(m, \"name\", x), of \
any number of dims")
#define xt_nn_batchnorm2d XT_SPELLED_("xt_nn_batchnorm2d: a layer is a call here: xt_batch_norm(m, \"name\", x), of \
any number of dims")
#define xt_nn_batchnorm3d XT_SPELLED_("xt_nn_batchnorm3d: a layer is a call here: xt_batch_norm(m, \"name\", x), of \
any number of dims")
#define xt_nn_bce_loss XT_SPELLED_("xt_nn_bce_loss: a function here: xt_binary_cross_entropy(p, y)")
#define xt_nn_bce_with_logits_loss XT_SPELLED_("xt_nn_bce_with_logits_loss: a function here: xt_bce_with_logits(x, y)")
#define xt_nn_bceloss XT_SPELLED_("xt_nn_bceloss: a function here: xt_binary_cross_entropy(p, y)")
#define xt_nn_bcewithlogitsloss XT_SPELLED_("xt_nn_bcewithlogitsloss: a function here: xt_bce_with_logits(x, y)")
#define xt_nn_bilinear XT_SPELLED_("xt_nn_bilinear: a layer is a call here: xt_bilinear(m, \"name\", x, y, outputs)")
#define xt_nn_binary_cross_entropy XT_SPELLED_("xt_nn_binary_cross_entropy: it is called xt_binary_cross_entropy(x, y, \
...) here")
#define xt_nn_binary_cross_entropy_with_logits XT_SPELLED_("xt_nn_binary_cross_entropy_with_logits: it is called \
xt_bce_with_logits(x, y, ...) here")
#define xt_nn_buffer XT_SPELLED_("xt_nn_buffer: here it is xt_param, xt_buffer")
#define xt_nn_celu XT_SPELLED_("xt_nn_celu: a function here: xt_celu(x, alpha)")
#define xt_nn_celu_ XT_SPELLED_("xt_nn_celu_: a value never changes: xt_celu")
#define xt_nn_channel_shuffle XT_SPELLED_("xt_nn_channel_shuffle: it is called xt_channel_shuffle(x, groups) here")
#define xt_nn_channelshuffle XT_SPELLED_("xt_nn_channelshuffle: it is called xt_channel_shuffle(x, groups) here")
#define xt_nn_circular_pad1d XT_SPELLED_("xt_nn_circular_pad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_circular_pad2d XT_SPELLED_("xt_nn_circular_pad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_circular_pad3d XT_SPELLED_("xt_nn_circular_pad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_circularpad1d XT_SPELLED_("xt_nn_circularpad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_circularpad2d XT_SPELLED_("xt_nn_circularpad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_circularpad3d XT_SPELLED_("xt_nn_circularpad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_constant_pad1d XT_SPELLED_("xt_nn_constant_pad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_constant_pad2d XT_SPELLED_("xt_nn_constant_pad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_constant_pad3d XT_SPELLED_("xt_nn_constant_pad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_constantpad1d XT_SPELLED_("xt_nn_constantpad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_constantpad2d XT_SPELLED_("xt_nn_constantpad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_constantpad3d XT_SPELLED_("xt_nn_constantpad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_container XT_SPELLED_("xt_nn_container: here it is xt_module_new, xt_sub(m, \"h\", i)")
#define xt_nn_conv1d XT_SPELLED_("xt_nn_conv1d: a layer is a call here: xt_conv1d(m, \"name\", x, channels, kernel)")
#define xt_nn_conv2d XT_SPELLED_("xt_nn_conv2d: a layer is a call here: xt_conv2d(m, \"name\", x, channels, kernel)")
#define xt_nn_conv3d XT_SPELLED_("xt_nn_conv3d: a layer is a call here: xt_conv3d(m, \"name\", x, channels, kernel)")
#define xt_nn_conv_tbc XT_SPELLED_("xt_nn_conv_tbc: internal to PyTorch")
#define xt_nn_conv_transpose1d XT_SPELLED_("xt_nn_conv_transpose1d: a layer is a call here: xt_conv_transpose1d(m, \
\"name\", x, channels, kernel)")
#define xt_nn_conv_transpose2d XT_SPELLED_("xt_nn_conv_transpose2d: a layer is a call here: xt_conv_transpose2d(m, \
\"name\", x, channels, kernel)")
#define xt_nn_conv_transpose3d XT_SPELLED_("xt_nn_conv_transpose3d: it is called xt_conv_transpose3d here")
#define xt_nn_convtranspose1d XT_SPELLED_("xt_nn_convtranspose1d: a layer is a call here: xt_conv_transpose1d(m, \
\"name\", x, channels, kernel)")
#define xt_nn_convtranspose2d XT_SPELLED_("xt_nn_convtranspose2d: a layer is a call here: xt_conv_transpose2d(m, \
\"name\", x, channels, kernel)")
#define xt_nn_convtranspose3d XT_SPELLED_("xt_nn_convtranspose3d: it is called xt_conv_transpose3d here")
#define xt_nn_cosine_embedding_loss XT_SPELLED_("xt_nn_cosine_embedding_loss: it is called \
xt_cosine_embedding_loss(x1, x2, y, ...) here")
#define xt_nn_cosine_similarity XT_SPELLED_("xt_nn_cosine_similarity: it is called xt_cosine_similarity here")
#define xt_nn_cosineembeddingloss XT_SPELLED_("xt_nn_cosineembeddingloss: it is called xt_cosine_embedding_loss(x1, \
x2, y, ...) here")
#define xt_nn_cosinesimilarity XT_SPELLED_("xt_nn_cosinesimilarity: it is called xt_cosine_similarity here")
#define xt_nn_cross_entropy XT_SPELLED_("xt_nn_cross_entropy: it is called xt_cross_entropy(logits, labels, ...) here")
#define xt_nn_cross_entropy_loss XT_SPELLED_("xt_nn_cross_entropy_loss: a function here: xt_cross_entropy(logits, \
labels)")
#define xt_nn_cross_map_lrn2d XT_SPELLED_("xt_nn_cross_map_lrn2d: it is called xt_local_response_norm here")
#define xt_nn_crossentropyloss XT_SPELLED_("xt_nn_crossentropyloss: a function here: xt_cross_entropy(logits, labels)")
#define xt_nn_crossmaplrn2d XT_SPELLED_("xt_nn_crossmaplrn2d: it is called xt_local_response_norm here")
#define xt_nn_ctc_loss XT_SPELLED_("xt_nn_ctc_loss: a function here: xt_ctc_loss")
#define xt_nn_ctcloss XT_SPELLED_("xt_nn_ctcloss: a function here: xt_ctc_loss")
#define xt_nn_d_type XT_SPELLED_("xt_nn_d_type: internal to PyTorch")
#define xt_nn_data_parallel XT_SPELLED_("xt_nn_data_parallel: xtrain launch: ranks average gradients")
#define xt_nn_dataparallel XT_SPELLED_("xt_nn_dataparallel: xtrain launch: ranks average gradients")
#define xt_nn_dropout XT_SPELLED_("xt_nn_dropout: a layer is a call here: xt_dropout(m, x, p)")
#define xt_nn_dropout1d XT_SPELLED_("xt_nn_dropout1d: it is called xt_dropout1d(m, x, ...) here")
#define xt_nn_dropout2d XT_SPELLED_("xt_nn_dropout2d: a layer is a call here: xt_dropout2d(m, x, p)")
#define xt_nn_dropout3d XT_SPELLED_("xt_nn_dropout3d: it is called xt_dropout3d(m, x, ...) here")
#define xt_nn_dtype XT_SPELLED_("xt_nn_dtype: internal to PyTorch")
#define xt_nn_elu XT_SPELLED_("xt_nn_elu: a function here: xt_elu(x, alpha)")
#define xt_nn_elu_ XT_SPELLED_("xt_nn_elu_: a value never changes: xt_elu")
#define xt_nn_embedding XT_SPELLED_("xt_nn_embedding: a layer is a call here: xt_embedding(m, \"name\", indices, \
vocabulary, size)")
#define xt_nn_embedding_bag XT_SPELLED_("xt_nn_embedding_bag: a function here: xt_embedding_bag(indices, table, mode, \
weights)")
#define xt_nn_embeddingbag XT_SPELLED_("xt_nn_embeddingbag: a function here: xt_embedding_bag(indices, table, mode, \
weights)")
#define xt_nn_factory_kwargs XT_SPELLED_("xt_nn_factory_kwargs: internal to PyTorch")
#define xt_nn_feature_alpha_dropout XT_SPELLED_("xt_nn_feature_alpha_dropout: it is called xt_feature_alpha_dropout(m, \
x, ...) here")
#define xt_nn_featurealphadropout XT_SPELLED_("xt_nn_featurealphadropout: it is called xt_feature_alpha_dropout(m, x, \
...) here")
#define xt_nn_flatten XT_SPELLED_("xt_nn_flatten: a function here: xt_flatten(x, first axis)")
#define xt_nn_fold XT_SPELLED_("xt_nn_fold: it is called xt_fold here")
#define xt_nn_fractional_max_pool2d XT_SPELLED_("xt_nn_fractional_max_pool2d: it is called xt_fractional_max_pool2d(x, \
kernel, out_indices, ...) here")
#define xt_nn_fractional_max_pool2d_with_indices XT_SPELLED_("xt_nn_fractional_max_pool2d_with_indices: here it is \
xt_fractional_max_pool2d(x, kernel, &indices, .sizes), xt_fractional_max_pool3d")
#define xt_nn_fractional_max_pool3d XT_SPELLED_("xt_nn_fractional_max_pool3d: it is called xt_fractional_max_pool3d(x, \
kernel, out_indices, ...) here")
#define xt_nn_fractional_max_pool3d_with_indices XT_SPELLED_("xt_nn_fractional_max_pool3d_with_indices: here it is \
xt_fractional_max_pool2d(x, kernel, &indices, .sizes), xt_fractional_max_pool3d")
#define xt_nn_fractionalmaxpool2d XT_SPELLED_("xt_nn_fractionalmaxpool2d: it is called xt_fractional_max_pool2d(x, \
kernel, out_indices, ...) here")
#define xt_nn_fractionalmaxpool3d XT_SPELLED_("xt_nn_fractionalmaxpool3d: it is called xt_fractional_max_pool3d(x, \
kernel, out_indices, ...) here")
#define xt_nn_functional_DType XT_SPELLED_("xt_nn_functional_DType: internal to PyTorch")
#define xt_nn_functional_Tensor XT_SPELLED_("xt_nn_functional_Tensor: it is called xt_tensor, a handle passed by value \
here")
#define xt_nn_functional_adaptive_avg_pool1d XT_SPELLED_("xt_nn_functional_adaptive_avg_pool1d: it is called \
xt_adaptive_avg_pool1d(x, sizes, ...) here")
#define xt_nn_functional_adaptive_avg_pool2d XT_SPELLED_("xt_nn_functional_adaptive_avg_pool2d: it is called \
xt_adaptive_avg_pool2d(x, sizes, ...) here")
#define xt_nn_functional_adaptive_avg_pool3d XT_SPELLED_("xt_nn_functional_adaptive_avg_pool3d: it is called \
xt_adaptive_avg_pool3d(x, sizes, ...) here")
#define xt_nn_functional_adaptive_max_pool1d XT_SPELLED_("xt_nn_functional_adaptive_max_pool1d: it is called \
xt_adaptive_max_pool1d(x, sizes, ...) here")
#define xt_nn_functional_adaptive_max_pool1d_with_indices \
XT_SPELLED_("xt_nn_functional_adaptive_max_pool1d_with_indices: it is called xt_adaptive_max_pool1d_with_indices(x, \
out_indices, sizes, ...) here")
#define xt_nn_functional_adaptive_max_pool2d XT_SPELLED_("xt_nn_functional_adaptive_max_pool2d: it is called \
xt_adaptive_max_pool2d(x, sizes, ...) here")
#define xt_nn_functional_adaptive_max_pool2d_with_indices \
XT_SPELLED_("xt_nn_functional_adaptive_max_pool2d_with_indices: it is called xt_adaptive_max_pool2d_with_indices(x, \
out_indices, sizes, ...) here")
#define xt_nn_functional_adaptive_max_pool3d XT_SPELLED_("xt_nn_functional_adaptive_max_pool3d: it is called \
xt_adaptive_max_pool3d(x, sizes, ...) here")
#define xt_nn_functional_adaptive_max_pool3d_with_indices \
XT_SPELLED_("xt_nn_functional_adaptive_max_pool3d_with_indices: it is called xt_adaptive_max_pool3d_with_indices(x, \
out_indices, sizes, ...) here")
#define xt_nn_functional_affine_grid XT_SPELLED_("xt_nn_functional_affine_grid: it is called xt_affine_grid(theta, \
height, width, ...) here")
#define xt_nn_functional_alpha_dropout XT_SPELLED_("xt_nn_functional_alpha_dropout: it is called xt_alpha_dropout(m, \
x, ...) here")
#define xt_nn_functional_assert_int_or_pair XT_SPELLED_("xt_nn_functional_assert_int_or_pair: internal to PyTorch")
#define xt_nn_functional_avg_pool1d XT_SPELLED_("xt_nn_functional_avg_pool1d: it is called xt_avg_pool1d(x, kernel, \
...) here")
#define xt_nn_functional_avg_pool2d XT_SPELLED_("xt_nn_functional_avg_pool2d: it is called xt_avg_pool2d(x, kernel, \
...) here")
#define xt_nn_functional_avg_pool3d XT_SPELLED_("xt_nn_functional_avg_pool3d: it is called xt_avg_pool3d(x, kernel, \
...) here")
#define xt_nn_functional_batch_norm XT_SPELLED_("xt_nn_functional_batch_norm: here it is xt_batch_norm; with weights \
given, .affine = XT_OFF and xt_mul, xt_add of them")
#define xt_nn_functional_bilinear XT_SPELLED_("xt_nn_functional_bilinear: here it is xt_bilinear; with weights given \
xt_einsum")
#define xt_nn_functional_binary_cross_entropy XT_SPELLED_("xt_nn_functional_binary_cross_entropy: it is called \
xt_binary_cross_entropy(x, y, ...) here")
#define xt_nn_functional_binary_cross_entropy_with_logits \
XT_SPELLED_("xt_nn_functional_binary_cross_entropy_with_logits: it is called xt_bce_with_logits(x, y, ...) here")
#define xt_nn_functional_celu XT_SPELLED_("xt_nn_functional_celu: it is called xt_celu here")
#define xt_nn_functional_celu_ XT_SPELLED_("xt_nn_functional_celu_: a value never changes: xt_celu")
#define xt_nn_functional_channel_shuffle XT_SPELLED_("xt_nn_functional_channel_shuffle: it is called \
xt_channel_shuffle(x, groups) here")
#define xt_nn_functional_conv1d XT_SPELLED_("xt_nn_functional_conv1d: it is called xt_conv1d here")
#define xt_nn_functional_conv2d XT_SPELLED_("xt_nn_functional_conv2d: it is called xt_conv2d here")
#define xt_nn_functional_conv3d XT_SPELLED_("xt_nn_functional_conv3d: it is called xt_conv3d here")
#define xt_nn_functional_conv_tbc XT_SPELLED_("xt_nn_functional_conv_tbc: internal to PyTorch")
#define xt_nn_functional_conv_transpose1d XT_SPELLED_("xt_nn_functional_conv_transpose1d: it is called \
xt_conv_transpose1d here")
#define xt_nn_functional_conv_transpose2d XT_SPELLED_("xt_nn_functional_conv_transpose2d: it is called \
xt_conv_transpose2d here")
#define xt_nn_functional_conv_transpose3d XT_SPELLED_("xt_nn_functional_conv_transpose3d: it is called \
xt_conv_transpose3d here")
#define xt_nn_functional_cosine_embedding_loss XT_SPELLED_("xt_nn_functional_cosine_embedding_loss: it is called \
xt_cosine_embedding_loss(x1, x2, y, ...) here")
#define xt_nn_functional_cosine_similarity XT_SPELLED_("xt_nn_functional_cosine_similarity: it is called \
xt_cosine_similarity(x, y, ...) here")
#define xt_nn_functional_cross_entropy XT_SPELLED_("xt_nn_functional_cross_entropy: it is called \
xt_cross_entropy(logits, labels, ...) here")
#define xt_nn_functional_ctc_loss XT_SPELLED_("xt_nn_functional_ctc_loss: it is called xt_ctc_loss here")
#define xt_nn_functional_d_type XT_SPELLED_("xt_nn_functional_d_type: internal to PyTorch")
#define xt_nn_functional_dropout XT_SPELLED_("xt_nn_functional_dropout: it is called xt_dropout(m, x, ...) here")
#define xt_nn_functional_dropout1d XT_SPELLED_("xt_nn_functional_dropout1d: it is called xt_dropout1d(m, x, ...) here")
#define xt_nn_functional_dropout2d XT_SPELLED_("xt_nn_functional_dropout2d: it is called xt_dropout2d(m, x, ...) here")
#define xt_nn_functional_dropout3d XT_SPELLED_("xt_nn_functional_dropout3d: it is called xt_dropout3d(m, x, ...) here")
#define xt_nn_functional_dtype XT_SPELLED_("xt_nn_functional_dtype: internal to PyTorch")
#define xt_nn_functional_elu XT_SPELLED_("xt_nn_functional_elu: it is called xt_elu here")
#define xt_nn_functional_elu_ XT_SPELLED_("xt_nn_functional_elu_: a value never changes: xt_elu")
#define xt_nn_functional_embedding XT_SPELLED_("xt_nn_functional_embedding: it is called xt_embedding here")
#define xt_nn_functional_embedding_bag XT_SPELLED_("xt_nn_functional_embedding_bag: it is called \
xt_embedding_bag(indices, table, mode, weights, ...) here")
#define xt_nn_functional_feature_alpha_dropout XT_SPELLED_("xt_nn_functional_feature_alpha_dropout: it is called \
xt_feature_alpha_dropout(m, x, ...) here")
#define xt_nn_functional_fold XT_SPELLED_("xt_nn_functional_fold: it is called xt_fold(x, height, width, kernel_h, \
kernel_w, ...) here")
#define xt_nn_functional_fractional_max_pool2d XT_SPELLED_("xt_nn_functional_fractional_max_pool2d: it is called \
xt_fractional_max_pool2d(x, kernel, out_indices, ...) here")
#define xt_nn_functional_fractional_max_pool2d_with_indices \
XT_SPELLED_("xt_nn_functional_fractional_max_pool2d_with_indices: here it is xt_fractional_max_pool2d(x, kernel, \
&indices, .sizes), xt_fractional_max_pool3d")
#define xt_nn_functional_fractional_max_pool3d XT_SPELLED_("xt_nn_functional_fractional_max_pool3d: it is called \
xt_fractional_max_pool3d(x, kernel, out_indices, ...) here")
#define xt_nn_functional_fractional_max_pool3d_with_indices \
XT_SPELLED_("xt_nn_functional_fractional_max_pool3d_with_indices: here it is xt_fractional_max_pool2d(x, kernel, \
&indices, .sizes), xt_fractional_max_pool3d")
#define xt_nn_functional_gaussian_nll_loss XT_SPELLED_("xt_nn_functional_gaussian_nll_loss: it is called \
xt_gaussian_nll_loss(x, y, variance, ...) here")
#define xt_nn_functional_gelu XT_SPELLED_("xt_nn_functional_gelu: here it is xt_gelu_erf, tanh form xt_gelu")
#define xt_nn_functional_glu XT_SPELLED_("xt_nn_functional_glu: it is called xt_glu here")
#define xt_nn_functional_grid_sample XT_SPELLED_("xt_nn_functional_grid_sample: it is called xt_grid_sample(x, grid, \
...) here")
#define xt_nn_functional_group_norm XT_SPELLED_("xt_nn_functional_group_norm: here it is xt_group_norm; with weights \
given, .affine = XT_OFF and xt_mul, xt_add of them")
#define xt_nn_functional_gumbel_softmax XT_SPELLED_("xt_nn_functional_gumbel_softmax: it is called xt_gumbel_softmax \
here")
#define xt_nn_functional_hardshrink XT_SPELLED_("xt_nn_functional_hardshrink: it is called xt_hardshrink here")
#define xt_nn_functional_hardsigmoid XT_SPELLED_("xt_nn_functional_hardsigmoid: it is called xt_hardsigmoid(x) here")
#define xt_nn_functional_hardswish XT_SPELLED_("xt_nn_functional_hardswish: it is called xt_hardswish(x) here")
#define xt_nn_functional_hardtanh XT_SPELLED_("xt_nn_functional_hardtanh: it is called xt_hardtanh here")
#define xt_nn_functional_hardtanh_ XT_SPELLED_("xt_nn_functional_hardtanh_: a value never changes: xt_hardtanh")
#define xt_nn_functional_has_torch_function XT_SPELLED_("xt_nn_functional_has_torch_function: internal to PyTorch")
#define xt_nn_functional_has_torch_function_unary XT_SPELLED_("xt_nn_functional_has_torch_function_unary: internal to \
PyTorch")
#define xt_nn_functional_has_torch_function_variadic XT_SPELLED_("xt_nn_functional_has_torch_function_variadic: \
internal to PyTorch")
#define xt_nn_functional_hinge_embedding_loss XT_SPELLED_("xt_nn_functional_hinge_embedding_loss: it is called \
xt_hinge_embedding_loss(x, y, ...) here")
#define xt_nn_functional_huber_loss XT_SPELLED_("xt_nn_functional_huber_loss: it is called xt_huber_loss(x, y, ...) \
here")
#define xt_nn_functional_instance_norm XT_SPELLED_("xt_nn_functional_instance_norm: here it is xt_instance_norm; with \
weights given, .affine = XT_OFF and xt_mul, xt_add of them")
#define xt_nn_functional_interpolate XT_SPELLED_("xt_nn_functional_interpolate: it is called xt_interpolate here")
#define xt_nn_functional_kl_div XT_SPELLED_("xt_nn_functional_kl_div: it is called xt_kl_div(log_probs, y, ...) here")
#define xt_nn_functional_l1_loss XT_SPELLED_("xt_nn_functional_l1_loss: it is called xt_l1_loss(x, y, ...) here")
#define xt_nn_functional_layer_norm XT_SPELLED_("xt_nn_functional_layer_norm: here it is xt_layer_norm; with weights \
given, .affine = XT_OFF and xt_mul, xt_add of them")
#define xt_nn_functional_leaky_relu XT_SPELLED_("xt_nn_functional_leaky_relu: it is called xt_leaky_relu here")
#define xt_nn_functional_leaky_relu_ XT_SPELLED_("xt_nn_functional_leaky_relu_: a value never changes: xt_leaky_relu")
#define xt_nn_functional_linear XT_SPELLED_("xt_nn_functional_linear: here it is xt_linear; with weights given \
xt_add(xt_matmul(x, xt_t(weight)), bias)")
#define xt_nn_functional_local_response_norm XT_SPELLED_("xt_nn_functional_local_response_norm: it is called \
xt_local_response_norm here")
#define xt_nn_functional_log_softmax XT_SPELLED_("xt_nn_functional_log_softmax: it is called xt_log_softmax(x, axis) \
here")
#define xt_nn_functional_logsigmoid XT_SPELLED_("xt_nn_functional_logsigmoid: it is called xt_logsigmoid(x) here")
#define xt_nn_functional_lp_pool1d XT_SPELLED_("xt_nn_functional_lp_pool1d: it is called xt_lp_pool1d(x, p, kernel, \
...) here")
#define xt_nn_functional_lp_pool2d XT_SPELLED_("xt_nn_functional_lp_pool2d: it is called xt_lp_pool2d(x, p, kernel, \
...) here")
#define xt_nn_functional_lp_pool3d XT_SPELLED_("xt_nn_functional_lp_pool3d: it is called xt_lp_pool3d(x, p, kernel, \
...) here")
#define xt_nn_functional_margin_ranking_loss XT_SPELLED_("xt_nn_functional_margin_ranking_loss: it is called \
xt_margin_ranking_loss(x1, x2, y, ...) here")
#define xt_nn_functional_max_pool1d XT_SPELLED_("xt_nn_functional_max_pool1d: it is called xt_max_pool1d(x, kernel, \
...) here")
#define xt_nn_functional_max_pool1d_with_indices XT_SPELLED_("xt_nn_functional_max_pool1d_with_indices: it is called \
xt_max_pool1d_with_indices(x, kernel, out_indices, ...) here")
#define xt_nn_functional_max_pool2d XT_SPELLED_("xt_nn_functional_max_pool2d: it is called xt_max_pool2d(x, kernel, \
...) here")
#define xt_nn_functional_max_pool2d_with_indices XT_SPELLED_("xt_nn_functional_max_pool2d_with_indices: it is called \
xt_max_pool2d_with_indices(x, kernel, out_indices, ...) here")
#define xt_nn_functional_max_pool3d XT_SPELLED_("xt_nn_functional_max_pool3d: it is called xt_max_pool3d(x, kernel, \
...) here")
#define xt_nn_functional_max_pool3d_with_indices XT_SPELLED_("xt_nn_functional_max_pool3d_with_indices: it is called \
xt_max_pool3d_with_indices(x, kernel, out_indices, ...) here")
#define xt_nn_functional_max_unpool1d XT_SPELLED_("xt_nn_functional_max_unpool1d: it is called xt_max_unpool1d(x, \
indices, kernel, ...) here")
#define xt_nn_functional_max_unpool2d XT_SPELLED_("xt_nn_functional_max_unpool2d: it is called xt_max_unpool2d(x, \
indices, kernel, ...) here")
#define xt_nn_functional_max_unpool3d XT_SPELLED_("xt_nn_functional_max_unpool3d: it is called xt_max_unpool3d(x, \
indices, kernel, ...) here")
#define xt_nn_functional_mish XT_SPELLED_("xt_nn_functional_mish: it is called xt_mish(x) here")
#define xt_nn_functional_mse_loss XT_SPELLED_("xt_nn_functional_mse_loss: it is called xt_mse_loss(x, y, ...) here")
#define xt_nn_functional_multi_head_attention_forward XT_SPELLED_("xt_nn_functional_multi_head_attention_forward: a \
layer is a call here: xt_multihead_attention(m, \"name\", q, k)")
#define xt_nn_functional_multi_margin_loss XT_SPELLED_("xt_nn_functional_multi_margin_loss: it is called \
xt_multi_margin_loss(x, labels, ...) here")
#define xt_nn_functional_multilabel_margin_loss XT_SPELLED_("xt_nn_functional_multilabel_margin_loss: it is called \
xt_multilabel_margin_loss(x, labels, ...) here")
#define xt_nn_functional_multilabel_soft_margin_loss XT_SPELLED_("xt_nn_functional_multilabel_soft_margin_loss: it is \
called xt_multilabel_soft_margin_loss(x, y, ...) here")
#define xt_nn_functional_native_channel_shuffle XT_SPELLED_("xt_nn_functional_native_channel_shuffle: internal to \
PyTorch")
#define xt_nn_functional_nll_loss XT_SPELLED_("xt_nn_functional_nll_loss: it is called xt_nll_loss(log_probs, labels, \
...) here")
#define xt_nn_functional_normalize XT_SPELLED_("xt_nn_functional_normalize: it is called xt_normalize(x, axis, ...) \
here")
#define xt_nn_functional_one_hot XT_SPELLED_("xt_nn_functional_one_hot: it is called xt_one_hot(labels, classes, ...) \
here")
#define xt_nn_functional_pad XT_SPELLED_("xt_nn_functional_pad: it is called xt_pad(x, amounts, ...) here")
#define xt_nn_functional_pairwise_distance XT_SPELLED_("xt_nn_functional_pairwise_distance: it is called \
xt_pairwise_distance(x, y, ...) here")
#define xt_nn_functional_pdist XT_SPELLED_("xt_nn_functional_pdist: it is called xt_pdist here")
#define xt_nn_functional_pixel_shuffle XT_SPELLED_("xt_nn_functional_pixel_shuffle: it is called xt_pixel_shuffle(x, \
r) here")
#define xt_nn_functional_pixel_unshuffle XT_SPELLED_("xt_nn_functional_pixel_unshuffle: it is called \
xt_pixel_unshuffle(x, r) here")
#define xt_nn_functional_poisson_nll_loss XT_SPELLED_("xt_nn_functional_poisson_nll_loss: it is called \
xt_poisson_nll_loss(x, y, ...) here")
#define xt_nn_functional_prelu XT_SPELLED_("xt_nn_functional_prelu: it is called xt_prelu(m, name, x, ...) here")
#define xt_nn_functional_relu XT_SPELLED_("xt_nn_functional_relu: it is called xt_relu(x) here")
#define xt_nn_functional_relu6 XT_SPELLED_("xt_nn_functional_relu6: it is called xt_relu6(x) here")
#define xt_nn_functional_relu_ XT_SPELLED_("xt_nn_functional_relu_: a value never changes: x = xt_relu(x)")
#define xt_nn_functional_rms_norm XT_SPELLED_("xt_nn_functional_rms_norm: here it is xt_rms_norm; with weights given, \
.affine = XT_OFF and xt_mul, xt_add of them")
#define xt_nn_functional_rrelu XT_SPELLED_("xt_nn_functional_rrelu: it is called xt_rrelu here")
#define xt_nn_functional_rrelu_ XT_SPELLED_("xt_nn_functional_rrelu_: a value never changes: xt_rrelu")
#define xt_nn_functional_scaled_dot_product_attention XT_SPELLED_("xt_nn_functional_scaled_dot_product_attention: it \
is called xt_scaled_dot_product_attention(q, k, v, ...) here")
#define xt_nn_functional_selu XT_SPELLED_("xt_nn_functional_selu: it is called xt_selu(x) here")
#define xt_nn_functional_selu_ XT_SPELLED_("xt_nn_functional_selu_: a value never changes: xt_selu")
#define xt_nn_functional_sigmoid XT_SPELLED_("xt_nn_functional_sigmoid: it is called xt_sigmoid(x) here")
#define xt_nn_functional_silu XT_SPELLED_("xt_nn_functional_silu: it is called xt_silu(x) here")
#define xt_nn_functional_smooth_l1_loss XT_SPELLED_("xt_nn_functional_smooth_l1_loss: it is called \
xt_smooth_l1_loss(x, y, ...) here")
#define xt_nn_functional_soft_margin_loss XT_SPELLED_("xt_nn_functional_soft_margin_loss: it is called \
xt_soft_margin_loss(x, y, ...) here")
#define xt_nn_functional_softmax XT_SPELLED_("xt_nn_functional_softmax: it is called xt_softmax(x, axis) here")
#define xt_nn_functional_softmin XT_SPELLED_("xt_nn_functional_softmin: it is called xt_softmin(x, axis) here")
#define xt_nn_functional_softplus XT_SPELLED_("xt_nn_functional_softplus: it is called xt_softplus here")
#define xt_nn_functional_softshrink XT_SPELLED_("xt_nn_functional_softshrink: it is called xt_softshrink here")
#define xt_nn_functional_softsign XT_SPELLED_("xt_nn_functional_softsign: it is called xt_softsign(x) here")
#define xt_nn_functional_tanh XT_SPELLED_("xt_nn_functional_tanh: it is called xt_tanh(x) here")
#define xt_nn_functional_tanhshrink XT_SPELLED_("xt_nn_functional_tanhshrink: it is called xt_tanhshrink(x) here")
#define xt_nn_functional_tensor XT_SPELLED_("xt_nn_functional_tensor: it is called xt_tensor, a handle passed by value \
here")
#define xt_nn_functional_threshold XT_SPELLED_("xt_nn_functional_threshold: it is called xt_threshold(x, limit, value) \
here")
#define xt_nn_functional_threshold_ XT_SPELLED_("xt_nn_functional_threshold_: a value never changes: xt_threshold")
#define xt_nn_functional_triplet_margin_loss XT_SPELLED_("xt_nn_functional_triplet_margin_loss: it is called \
xt_triplet_margin_loss(anchor, positive, negative, ...) here")
#define xt_nn_functional_triplet_margin_with_distance_loss \
XT_SPELLED_("xt_nn_functional_triplet_margin_with_distance_loss: it is xt_margin_ranking_loss of the distances")
#define xt_nn_functional_unfold XT_SPELLED_("xt_nn_functional_unfold: it is called xt_unfold(x, kernel_h, kernel_w, \
...) here")
#define xt_nn_functional_upsample XT_SPELLED_("xt_nn_functional_upsample: it is called xt_interpolate(x, .scale = 2) \
here")
#define xt_nn_functional_upsample_bilinear XT_SPELLED_("xt_nn_functional_upsample_bilinear: it is called \
xt_interpolate here")
#define xt_nn_functional_upsample_nearest XT_SPELLED_("xt_nn_functional_upsample_nearest: it is called xt_interpolate \
here")
#define xt_nn_gaussian_nll_loss XT_SPELLED_("xt_nn_gaussian_nll_loss: it is called xt_gaussian_nll_loss(x, y, \
variance, ...) here")
#define xt_nn_gaussiannllloss XT_SPELLED_("xt_nn_gaussiannllloss: it is called xt_gaussian_nll_loss(x, y, variance, \
...) here")
#define xt_nn_gelu XT_SPELLED_("xt_nn_gelu: a function here: xt_gelu_erf(x), in its tanh form xt_gelu(x)")
#define xt_nn_glu XT_SPELLED_("xt_nn_glu: a function here: xt_glu(x, axis)")
#define xt_nn_grid_sample XT_SPELLED_("xt_nn_grid_sample: it is called xt_grid_sample(x, grid, ...) here")
#define xt_nn_group_norm XT_SPELLED_("xt_nn_group_norm: a layer is a call here: xt_group_norm(m, \"name\", x, groups)")
#define xt_nn_groupnorm XT_SPELLED_("xt_nn_groupnorm: a layer is a call here: xt_group_norm(m, \"name\", x, groups)")
#define xt_nn_gru XT_SPELLED_("xt_nn_gru: a layer is a call here: xt_gru(m, \"name\", x, hidden)")
#define xt_nn_gru_cell XT_SPELLED_("xt_nn_gru_cell: a layer is a call here: xt_gru_cell")
#define xt_nn_grucell XT_SPELLED_("xt_nn_grucell: a layer is a call here: xt_gru_cell")
#define xt_nn_gumbel_softmax XT_SPELLED_("xt_nn_gumbel_softmax: it is called xt_gumbel_softmax here")
#define xt_nn_hardshrink XT_SPELLED_("xt_nn_hardshrink: it is called xt_hardshrink here")
#define xt_nn_hardsigmoid XT_SPELLED_("xt_nn_hardsigmoid: it is called xt_hardsigmoid(x) here")
#define xt_nn_hardswish XT_SPELLED_("xt_nn_hardswish: a function here: xt_hardswish(x)")
#define xt_nn_hardtanh XT_SPELLED_("xt_nn_hardtanh: it is called xt_hardtanh(x) here")
#define xt_nn_hardtanh_ XT_SPELLED_("xt_nn_hardtanh_: a value never changes: xt_hardtanh")
#define xt_nn_has_torch_function XT_SPELLED_("xt_nn_has_torch_function: internal to PyTorch")
#define xt_nn_has_torch_function_unary XT_SPELLED_("xt_nn_has_torch_function_unary: internal to PyTorch")
#define xt_nn_has_torch_function_variadic XT_SPELLED_("xt_nn_has_torch_function_variadic: internal to PyTorch")
#define xt_nn_hinge_embedding_loss XT_SPELLED_("xt_nn_hinge_embedding_loss: it is called xt_hinge_embedding_loss(x, y, \
...) here")
#define xt_nn_hingeembeddingloss XT_SPELLED_("xt_nn_hingeembeddingloss: it is called xt_hinge_embedding_loss(x, y, \
...) here")
#define xt_nn_huber_loss XT_SPELLED_("xt_nn_huber_loss: a function here: xt_huber_loss(x, y)")
#define xt_nn_huberloss XT_SPELLED_("xt_nn_huberloss: a function here: xt_huber_loss(x, y)")
#define xt_nn_identity XT_SPELLED_("xt_nn_identity: a layer is a call here: x itself")
#define xt_nn_instance_norm XT_SPELLED_("xt_nn_instance_norm: here it is xt_instance_norm; with weights given, .affine \
= XT_OFF and xt_mul, xt_add of them")
#define xt_nn_instance_norm1d XT_SPELLED_("xt_nn_instance_norm1d: a layer is a call here: xt_instance_norm(m, \
\"name\", x)")
#define xt_nn_instance_norm2d XT_SPELLED_("xt_nn_instance_norm2d: a layer is a call here: xt_instance_norm(m, \
\"name\", x)")
#define xt_nn_instance_norm3d XT_SPELLED_("xt_nn_instance_norm3d: a layer is a call here: xt_instance_norm(m, \
\"name\", x)")
#define xt_nn_instancenorm1d XT_SPELLED_("xt_nn_instancenorm1d: a layer is a call here: xt_instance_norm(m, \"name\", \
x)")
#define xt_nn_instancenorm2d XT_SPELLED_("xt_nn_instancenorm2d: a layer is a call here: xt_instance_norm(m, \"name\", \
x)")
#define xt_nn_instancenorm3d XT_SPELLED_("xt_nn_instancenorm3d: a layer is a call here: xt_instance_norm(m, \"name\", \
x)")
#define xt_nn_interpolate XT_SPELLED_("xt_nn_interpolate: it is called xt_interpolate here")
#define xt_nn_kl_div XT_SPELLED_("xt_nn_kl_div: it is called xt_kl_div(log_probs, y, ...) here")
#define xt_nn_kl_div_loss XT_SPELLED_("xt_nn_kl_div_loss: a function here: xt_kl_div(x, y)")
#define xt_nn_kldivloss XT_SPELLED_("xt_nn_kldivloss: a function here: xt_kl_div(x, y)")
#define xt_nn_l1_loss XT_SPELLED_("xt_nn_l1_loss: a function here: xt_l1_loss(x, y)")
#define xt_nn_l1loss XT_SPELLED_("xt_nn_l1loss: a function here: xt_l1_loss(x, y)")
#define xt_nn_layer_norm XT_SPELLED_("xt_nn_layer_norm: a layer is a call here: xt_layer_norm(m, \"name\", x)")
#define xt_nn_layernorm XT_SPELLED_("xt_nn_layernorm: a layer is a call here: xt_layer_norm(m, \"name\", x)")
#define xt_nn_lazy_batch_norm1d XT_SPELLED_("xt_nn_lazy_batch_norm1d: here it is xt_batch_norm: parameters are made by \
the first call")
#define xt_nn_lazy_batch_norm2d XT_SPELLED_("xt_nn_lazy_batch_norm2d: here it is xt_batch_norm: parameters are made by \
the first call")
#define xt_nn_lazy_batch_norm3d XT_SPELLED_("xt_nn_lazy_batch_norm3d: here it is xt_batch_norm: parameters are made by \
the first call")
#define xt_nn_lazy_conv1d XT_SPELLED_("xt_nn_lazy_conv1d: here it is xt_conv1d, xt_conv2d, xt_conv3d: every layer is \
lazy")
#define xt_nn_lazy_conv2d XT_SPELLED_("xt_nn_lazy_conv2d: here it is xt_conv1d, xt_conv2d, xt_conv3d: every layer is \
lazy")
#define xt_nn_lazy_conv3d XT_SPELLED_("xt_nn_lazy_conv3d: here it is xt_conv1d, xt_conv2d, xt_conv3d: every layer is \
lazy")
#define xt_nn_lazy_conv_transpose1d XT_SPELLED_("xt_nn_lazy_conv_transpose1d: here it is xt_conv_transpose1d, \
xt_conv_transpose2d, xt_conv_transpose3d")
#define xt_nn_lazy_conv_transpose2d XT_SPELLED_("xt_nn_lazy_conv_transpose2d: here it is xt_conv_transpose1d, \
xt_conv_transpose2d, xt_conv_transpose3d")
#define xt_nn_lazy_conv_transpose3d XT_SPELLED_("xt_nn_lazy_conv_transpose3d: here it is xt_conv_transpose1d, \
xt_conv_transpose2d, xt_conv_transpose3d")
#define xt_nn_lazy_instance_norm1d XT_SPELLED_("xt_nn_lazy_instance_norm1d: it is called xt_instance_norm(m, name, x, \
...) here")
#define xt_nn_lazy_instance_norm2d XT_SPELLED_("xt_nn_lazy_instance_norm2d: it is called xt_instance_norm(m, name, x, \
...) here")
#define xt_nn_lazy_instance_norm3d XT_SPELLED_("xt_nn_lazy_instance_norm3d: it is called xt_instance_norm(m, name, x, \
...) here")
#define xt_nn_lazy_linear XT_SPELLED_("xt_nn_lazy_linear: every layer is lazy: xt_linear(m, \"fc\", x, outputs)")
#define xt_nn_lazybatchnorm1d XT_SPELLED_("xt_nn_lazybatchnorm1d: here it is xt_batch_norm: parameters are made by the \
first call")
#define xt_nn_lazybatchnorm2d XT_SPELLED_("xt_nn_lazybatchnorm2d: here it is xt_batch_norm: parameters are made by the \
first call")
#define xt_nn_lazybatchnorm3d XT_SPELLED_("xt_nn_lazybatchnorm3d: here it is xt_batch_norm: parameters are made by the \
first call")
#define xt_nn_lazyconv1d XT_SPELLED_("xt_nn_lazyconv1d: here it is xt_conv1d, xt_conv2d, xt_conv3d: every layer is \
lazy")
#define xt_nn_lazyconv2d XT_SPELLED_("xt_nn_lazyconv2d: here it is xt_conv1d, xt_conv2d, xt_conv3d: every layer is \
lazy")
#define xt_nn_lazyconv3d XT_SPELLED_("xt_nn_lazyconv3d: here it is xt_conv1d, xt_conv2d, xt_conv3d: every layer is \
lazy")
#define xt_nn_lazyconvtranspose1d XT_SPELLED_("xt_nn_lazyconvtranspose1d: here it is xt_conv_transpose1d, \
xt_conv_transpose2d, xt_conv_transpose3d")
#define xt_nn_lazyconvtranspose2d XT_SPELLED_("xt_nn_lazyconvtranspose2d: here it is xt_conv_transpose1d, \
xt_conv_transpose2d, xt_conv_transpose3d")
#define xt_nn_lazyconvtranspose3d XT_SPELLED_("xt_nn_lazyconvtranspose3d: here it is xt_conv_transpose1d, \
xt_conv_transpose2d, xt_conv_transpose3d")
#define xt_nn_lazyinstancenorm1d XT_SPELLED_("xt_nn_lazyinstancenorm1d: it is called xt_instance_norm(m, name, x, ...) \
here")
#define xt_nn_lazyinstancenorm2d XT_SPELLED_("xt_nn_lazyinstancenorm2d: it is called xt_instance_norm(m, name, x, ...) \
here")
#define xt_nn_lazyinstancenorm3d XT_SPELLED_("xt_nn_lazyinstancenorm3d: it is called xt_instance_norm(m, name, x, ...) \
here")
#define xt_nn_lazylinear XT_SPELLED_("xt_nn_lazylinear: every layer is lazy: xt_linear(m, \"fc\", x, outputs)")
#define xt_nn_leaky_re_lu XT_SPELLED_("xt_nn_leaky_re_lu: a function here: xt_leaky_relu(x, slope)")
#define xt_nn_leaky_relu XT_SPELLED_("xt_nn_leaky_relu: it is called xt_leaky_relu here")
#define xt_nn_leaky_relu_ XT_SPELLED_("xt_nn_leaky_relu_: a value never changes: xt_leaky_relu")
#define xt_nn_leakyrelu XT_SPELLED_("xt_nn_leakyrelu: a function here: xt_leaky_relu(x, slope)")
#define xt_nn_linear XT_SPELLED_("xt_nn_linear: a layer is a call here: xt_linear(m, \"fc\", x, outputs)")
#define xt_nn_local_response_norm XT_SPELLED_("xt_nn_local_response_norm: it is called xt_local_response_norm here")
#define xt_nn_localresponsenorm XT_SPELLED_("xt_nn_localresponsenorm: it is called xt_local_response_norm here")
#define xt_nn_log_sigmoid XT_SPELLED_("xt_nn_log_sigmoid: a function here: xt_logsigmoid(x)")
#define xt_nn_log_softmax XT_SPELLED_("xt_nn_log_softmax: a function here: xt_log_softmax(x, axis)")
#define xt_nn_logsigmoid XT_SPELLED_("xt_nn_logsigmoid: a function here: xt_logsigmoid(x)")
#define xt_nn_logsoftmax XT_SPELLED_("xt_nn_logsoftmax: a function here: xt_log_softmax(x, axis)")
#define xt_nn_lp_pool1d XT_SPELLED_("xt_nn_lp_pool1d: it is called xt_lp_pool1d(x, p, kernel, ...) here")
#define xt_nn_lp_pool2d XT_SPELLED_("xt_nn_lp_pool2d: it is called xt_lp_pool2d(x, p, kernel, ...) here")
#define xt_nn_lp_pool3d XT_SPELLED_("xt_nn_lp_pool3d: it is called xt_lp_pool3d(x, p, kernel, ...) here")
#define xt_nn_lppool1d XT_SPELLED_("xt_nn_lppool1d: it is called xt_lp_pool1d(x, p, kernel, ...) here")
#define xt_nn_lppool2d XT_SPELLED_("xt_nn_lppool2d: it is called xt_lp_pool2d(x, p, kernel, ...) here")
#define xt_nn_lppool3d XT_SPELLED_("xt_nn_lppool3d: it is called xt_lp_pool3d(x, p, kernel, ...) here")
#define xt_nn_lstm XT_SPELLED_("xt_nn_lstm: a layer is a call here: xt_lstm(m, \"name\", x, hidden)")
#define xt_nn_lstm_cell XT_SPELLED_("xt_nn_lstm_cell: a layer is a call here: xt_lstm_cell")
#define xt_nn_lstmcell XT_SPELLED_("xt_nn_lstmcell: a layer is a call here: xt_lstm_cell")
#define xt_nn_margin_ranking_loss XT_SPELLED_("xt_nn_margin_ranking_loss: it is called xt_margin_ranking_loss(x1, x2, \
y, ...) here")
#define xt_nn_marginrankingloss XT_SPELLED_("xt_nn_marginrankingloss: it is called xt_margin_ranking_loss(x1, x2, y, \
...) here")
#define xt_nn_max_pool1d XT_SPELLED_("xt_nn_max_pool1d: a function here: xt_max_pool1d(x, kernel)")
#define xt_nn_max_pool1d_with_indices XT_SPELLED_("xt_nn_max_pool1d_with_indices: it is called \
xt_max_pool1d_with_indices(x, kernel, out_indices, ...) here")
#define xt_nn_max_pool2d XT_SPELLED_("xt_nn_max_pool2d: a function here: xt_max_pool2d(x, kernel)")
#define xt_nn_max_pool2d_with_indices XT_SPELLED_("xt_nn_max_pool2d_with_indices: it is called \
xt_max_pool2d_with_indices(x, kernel, out_indices, ...) here")
#define xt_nn_max_pool3d XT_SPELLED_("xt_nn_max_pool3d: a function here: xt_max_pool3d(x, kernel)")
#define xt_nn_max_pool3d_with_indices XT_SPELLED_("xt_nn_max_pool3d_with_indices: it is called \
xt_max_pool3d_with_indices(x, kernel, out_indices, ...) here")
#define xt_nn_max_unpool1d XT_SPELLED_("xt_nn_max_unpool1d: it is called xt_max_unpool1d(x, indices, kernel, ...) \
here")
#define xt_nn_max_unpool2d XT_SPELLED_("xt_nn_max_unpool2d: it is called xt_max_unpool2d(x, indices, kernel, ...) \
here")
#define xt_nn_max_unpool3d XT_SPELLED_("xt_nn_max_unpool3d: it is called xt_max_unpool3d(x, indices, kernel, ...) \
here")
#define xt_nn_maxpool1d XT_SPELLED_("xt_nn_maxpool1d: a function here: xt_max_pool1d(x, kernel)")
#define xt_nn_maxpool2d XT_SPELLED_("xt_nn_maxpool2d: a function here: xt_max_pool2d(x, kernel)")
#define xt_nn_maxpool3d XT_SPELLED_("xt_nn_maxpool3d: a function here: xt_max_pool3d(x, kernel)")
#define xt_nn_maxunpool1d XT_SPELLED_("xt_nn_maxunpool1d: it is called xt_max_unpool1d(x, indices, kernel, ...) here")
#define xt_nn_maxunpool2d XT_SPELLED_("xt_nn_maxunpool2d: it is called xt_max_unpool2d(x, indices, kernel, ...) here")
#define xt_nn_maxunpool3d XT_SPELLED_("xt_nn_maxunpool3d: it is called xt_max_unpool3d(x, indices, kernel, ...) here")
#define xt_nn_mish XT_SPELLED_("xt_nn_mish: a function here: xt_mish(x)")
#define xt_nn_module XT_SPELLED_("xt_nn_module: the type is xt_module, made of a function by xt_module_new(fn, user)")
#define xt_nn_module_dict XT_SPELLED_("xt_nn_module_dict: a layer is a call here: xt_sub(m, \"name\", -1)")
#define xt_nn_module_list XT_SPELLED_("xt_nn_module_list: a layer is a call here: a loop over xt_sub(m, \"blocks\", \
i)")
#define xt_nn_moduledict XT_SPELLED_("xt_nn_moduledict: a layer is a call here: xt_sub(m, \"name\", -1)")
#define xt_nn_modulelist XT_SPELLED_("xt_nn_modulelist: a layer is a call here: a loop over xt_sub(m, \"blocks\", i)")
#define xt_nn_mse_loss XT_SPELLED_("xt_nn_mse_loss: a function here: xt_mse_loss(x, y)")
#define xt_nn_mseloss XT_SPELLED_("xt_nn_mseloss: a function here: xt_mse_loss(x, y)")
#define xt_nn_multi_head_attention_forward XT_SPELLED_("xt_nn_multi_head_attention_forward: a layer is a call here: \
xt_multihead_attention(m, \"name\", q, k)")
#define xt_nn_multi_label_margin_loss XT_SPELLED_("xt_nn_multi_label_margin_loss: here it is \
xt_multilabel_margin_loss, xt_multilabel_soft_margin_loss")
#define xt_nn_multi_label_soft_margin_loss XT_SPELLED_("xt_nn_multi_label_soft_margin_loss: here it is \
xt_multilabel_margin_loss, xt_multilabel_soft_margin_loss")
#define xt_nn_multi_margin_loss XT_SPELLED_("xt_nn_multi_margin_loss: it is called xt_multi_margin_loss(x, labels, \
...) here")
#define xt_nn_multihead_attention XT_SPELLED_("xt_nn_multihead_attention: a layer is a call here: \
xt_multihead_attention(m, \"name\", q, k, v)")
#define xt_nn_multiheadattention XT_SPELLED_("xt_nn_multiheadattention: a layer is a call here: \
xt_multihead_attention(m, \"name\", q, k, v)")
#define xt_nn_multilabel_margin_loss XT_SPELLED_("xt_nn_multilabel_margin_loss: it is called \
xt_multilabel_margin_loss(x, labels, ...) here")
#define xt_nn_multilabel_soft_margin_loss XT_SPELLED_("xt_nn_multilabel_soft_margin_loss: it is called \
xt_multilabel_soft_margin_loss(x, y, ...) here")
#define xt_nn_multilabelmarginloss XT_SPELLED_("xt_nn_multilabelmarginloss: here it is xt_multilabel_margin_loss, \
xt_multilabel_soft_margin_loss")
#define xt_nn_multilabelsoftmarginloss XT_SPELLED_("xt_nn_multilabelsoftmarginloss: here it is \
xt_multilabel_margin_loss, xt_multilabel_soft_margin_loss")
#define xt_nn_multimarginloss XT_SPELLED_("xt_nn_multimarginloss: it is called xt_multi_margin_loss(x, labels, ...) \
here")
#define xt_nn_native_channel_shuffle XT_SPELLED_("xt_nn_native_channel_shuffle: internal to PyTorch")
#define xt_nn_nll_loss XT_SPELLED_("xt_nn_nll_loss: a function here: xt_nll_loss(log_probs, labels)")
#define xt_nn_nll_loss2d XT_SPELLED_("xt_nn_nll_loss2d: it is called xt_nll_loss(log_probs, labels, ...) here")
#define xt_nn_nllloss XT_SPELLED_("xt_nn_nllloss: a function here: xt_nll_loss(log_probs, labels)")
#define xt_nn_nllloss2d XT_SPELLED_("xt_nn_nllloss2d: it is called xt_nll_loss(log_probs, labels, ...) here")
#define xt_nn_normalize XT_SPELLED_("xt_nn_normalize: it is called xt_normalize(x, axis, ...) here")
#define xt_nn_one_hot XT_SPELLED_("xt_nn_one_hot: it is called xt_one_hot(labels, classes, ...) here")
#define xt_nn_p_re_lu XT_SPELLED_("xt_nn_p_re_lu: a layer is a call here: xt_prelu(m, \"name\", x)")
#define xt_nn_pad XT_SPELLED_("xt_nn_pad: it is called xt_pad(x, amounts, ...) here")
#define xt_nn_pairwise_distance XT_SPELLED_("xt_nn_pairwise_distance: it is called xt_pairwise_distance(x, y) here")
#define xt_nn_pairwisedistance XT_SPELLED_("xt_nn_pairwisedistance: it is called xt_pairwise_distance(x, y) here")
#define xt_nn_parameter XT_SPELLED_("xt_nn_parameter: a parameter is made by xt_param(m, \"name\", ...) in a module's \
function")
#define xt_nn_parameter_dict XT_SPELLED_("xt_nn_parameter_dict: here it is xt_param, xt_buffer")
#define xt_nn_parameter_list XT_SPELLED_("xt_nn_parameter_list: here it is xt_param, xt_buffer")
#define xt_nn_parameterdict XT_SPELLED_("xt_nn_parameterdict: here it is xt_param, xt_buffer")
#define xt_nn_parameterlist XT_SPELLED_("xt_nn_parameterlist: here it is xt_param, xt_buffer")
#define xt_nn_pdist XT_SPELLED_("xt_nn_pdist: it is called xt_pdist here")
#define xt_nn_pixel_shuffle XT_SPELLED_("xt_nn_pixel_shuffle: a function here: xt_pixel_shuffle(x, factor)")
#define xt_nn_pixel_unshuffle XT_SPELLED_("xt_nn_pixel_unshuffle: a function here: xt_pixel_unshuffle(x, r)")
#define xt_nn_pixelshuffle XT_SPELLED_("xt_nn_pixelshuffle: a function here: xt_pixel_shuffle(x, factor)")
#define xt_nn_pixelunshuffle XT_SPELLED_("xt_nn_pixelunshuffle: a function here: xt_pixel_unshuffle(x, r)")
#define xt_nn_poisson_nll_loss XT_SPELLED_("xt_nn_poisson_nll_loss: it is called xt_poisson_nll_loss(x, y, ...) here")
#define xt_nn_poissonnllloss XT_SPELLED_("xt_nn_poissonnllloss: it is called xt_poisson_nll_loss(x, y, ...) here")
#define xt_nn_prelu XT_SPELLED_("xt_nn_prelu: a layer is a call here: xt_prelu(m, \"name\", x)")
#define xt_nn_r_re_lu XT_SPELLED_("xt_nn_r_re_lu: it is called xt_rrelu here")
#define xt_nn_re_lu XT_SPELLED_("xt_nn_re_lu: a function here: xt_relu(x)")
#define xt_nn_re_lu6 XT_SPELLED_("xt_nn_re_lu6: a function here: xt_relu6(x)")
#define xt_nn_reflection_pad1d XT_SPELLED_("xt_nn_reflection_pad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_reflection_pad2d XT_SPELLED_("xt_nn_reflection_pad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_reflection_pad3d XT_SPELLED_("xt_nn_reflection_pad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_reflectionpad1d XT_SPELLED_("xt_nn_reflectionpad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_reflectionpad2d XT_SPELLED_("xt_nn_reflectionpad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_reflectionpad3d XT_SPELLED_("xt_nn_reflectionpad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_relu XT_SPELLED_("xt_nn_relu: a function here: xt_relu(x)")
#define xt_nn_relu6 XT_SPELLED_("xt_nn_relu6: a function here: xt_relu6(x)")
#define xt_nn_relu_ XT_SPELLED_("xt_nn_relu_: a value never changes: x = xt_relu(x)")
#define xt_nn_replication_pad1d XT_SPELLED_("xt_nn_replication_pad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_replication_pad2d XT_SPELLED_("xt_nn_replication_pad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_replication_pad3d XT_SPELLED_("xt_nn_replication_pad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_replicationpad1d XT_SPELLED_("xt_nn_replicationpad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_replicationpad2d XT_SPELLED_("xt_nn_replicationpad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_replicationpad3d XT_SPELLED_("xt_nn_replicationpad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_rms_norm XT_SPELLED_("xt_nn_rms_norm: a layer is a call here: xt_rms_norm(m, \"name\", x)")
#define xt_nn_rmsnorm XT_SPELLED_("xt_nn_rmsnorm: a layer is a call here: xt_rms_norm(m, \"name\", x)")
#define xt_nn_rnn XT_SPELLED_("xt_nn_rnn: a layer is a call here: xt_rnn(m, \"name\", x, hidden)")
#define xt_nn_rnn_base XT_SPELLED_("xt_nn_rnn_base: internal to PyTorch")
#define xt_nn_rnn_cell XT_SPELLED_("xt_nn_rnn_cell: it is called xt_rnn_cell here")
#define xt_nn_rnn_cell_base XT_SPELLED_("xt_nn_rnn_cell_base: internal to PyTorch")
#define xt_nn_rnnbase XT_SPELLED_("xt_nn_rnnbase: internal to PyTorch")
#define xt_nn_rnncell XT_SPELLED_("xt_nn_rnncell: it is called xt_rnn_cell here")
#define xt_nn_rnncellbase XT_SPELLED_("xt_nn_rnncellbase: internal to PyTorch")
#define xt_nn_rrelu XT_SPELLED_("xt_nn_rrelu: it is called xt_rrelu here")
#define xt_nn_rrelu_ XT_SPELLED_("xt_nn_rrelu_: a value never changes: xt_rrelu")
#define xt_nn_scaled_dot_product_attention XT_SPELLED_("xt_nn_scaled_dot_product_attention: it is called \
xt_scaled_dot_product_attention(q, k, v, ...) here")
#define xt_nn_selu XT_SPELLED_("xt_nn_selu: a function here: xt_selu(x)")
#define xt_nn_selu_ XT_SPELLED_("xt_nn_selu_: a value never changes: xt_selu")
#define xt_nn_sequential XT_SPELLED_("xt_nn_sequential: a layer is a call here: one call behind the other")
#define xt_nn_si_lu XT_SPELLED_("xt_nn_si_lu: a function here: xt_silu(x)")
#define xt_nn_sigmoid XT_SPELLED_("xt_nn_sigmoid: a function here: xt_sigmoid(x)")
#define xt_nn_silu XT_SPELLED_("xt_nn_silu: a function here: xt_silu(x)")
#define xt_nn_smooth_l1_loss XT_SPELLED_("xt_nn_smooth_l1_loss: a function here: xt_smooth_l1_loss(x, y)")
#define xt_nn_smoothl1loss XT_SPELLED_("xt_nn_smoothl1loss: a function here: xt_smooth_l1_loss(x, y)")
#define xt_nn_soft_margin_loss XT_SPELLED_("xt_nn_soft_margin_loss: it is called xt_soft_margin_loss(x, y, ...) here")
#define xt_nn_softmarginloss XT_SPELLED_("xt_nn_softmarginloss: it is called xt_soft_margin_loss(x, y, ...) here")
#define xt_nn_softmax XT_SPELLED_("xt_nn_softmax: a function here: xt_softmax(x, axis)")
#define xt_nn_softmax2d XT_SPELLED_("xt_nn_softmax2d: here it is xt_softmax(x, 1)")
#define xt_nn_softmin XT_SPELLED_("xt_nn_softmin: it is called xt_softmin(x, axis) here")
#define xt_nn_softplus XT_SPELLED_("xt_nn_softplus: a function here: xt_softplus(x)")
#define xt_nn_softshrink XT_SPELLED_("xt_nn_softshrink: it is called xt_softshrink here")
#define xt_nn_softsign XT_SPELLED_("xt_nn_softsign: it is called xt_softsign(x) here")
#define xt_nn_sync_batch_norm XT_SPELLED_("xt_nn_sync_batch_norm: a layer is a call here: xt_batch_norm(m, \"name\", \
x, .sync = XT_ON)")
#define xt_nn_syncbatchnorm XT_SPELLED_("xt_nn_syncbatchnorm: a layer is a call here: xt_batch_norm(m, \"name\", x, \
.sync = XT_ON)")
#define xt_nn_tanh XT_SPELLED_("xt_nn_tanh: a function here: xt_tanh(x)")
#define xt_nn_tanhshrink XT_SPELLED_("xt_nn_tanhshrink: it is called xt_tanhshrink(x) here")
#define xt_nn_tensor XT_SPELLED_("xt_nn_tensor: it is called xt_tensor, a handle passed by value here")
#define xt_nn_threshold XT_SPELLED_("xt_nn_threshold: it is called xt_threshold(x, limit, value) here")
#define xt_nn_threshold_ XT_SPELLED_("xt_nn_threshold_: a value never changes: xt_threshold")
#define xt_nn_transformer XT_SPELLED_("xt_nn_transformer: a layer is a call here: xt_transformer_encoder_layer, \
xt_transformer_decoder_layer")
#define xt_nn_transformer_decoder XT_SPELLED_("xt_nn_transformer_decoder: here it is xt_transformer_encoder_layer, \
xt_transformer_decoder_layer in a loop, and xt_layer_norm behind it where norm is given")
#define xt_nn_transformer_decoder_layer XT_SPELLED_("xt_nn_transformer_decoder_layer: a layer is a call here: \
xt_transformer_decoder_layer")
#define xt_nn_transformer_encoder XT_SPELLED_("xt_nn_transformer_encoder: a layer is a call here: a loop over \
xt_transformer_encoder_layer")
#define xt_nn_transformer_encoder_layer XT_SPELLED_("xt_nn_transformer_encoder_layer: a layer is a call here: \
xt_transformer_encoder_layer(m, \"name\", x)")
#define xt_nn_transformerdecoder XT_SPELLED_("xt_nn_transformerdecoder: here it is xt_transformer_encoder_layer, \
xt_transformer_decoder_layer in a loop, and xt_layer_norm behind it where norm is given")
#define xt_nn_transformerdecoderlayer XT_SPELLED_("xt_nn_transformerdecoderlayer: a layer is a call here: \
xt_transformer_decoder_layer")
#define xt_nn_transformerencoder XT_SPELLED_("xt_nn_transformerencoder: a layer is a call here: a loop over \
xt_transformer_encoder_layer")
#define xt_nn_transformerencoderlayer XT_SPELLED_("xt_nn_transformerencoderlayer: a layer is a call here: \
xt_transformer_encoder_layer(m, \"name\", x)")
#define xt_nn_triplet_margin_loss XT_SPELLED_("xt_nn_triplet_margin_loss: a function here: \
xt_triplet_margin_loss(anchor, same, other)")
#define xt_nn_triplet_margin_with_distance_loss XT_SPELLED_("xt_nn_triplet_margin_with_distance_loss: here it is \
xt_margin_ranking_loss of the distances")
#define xt_nn_tripletmarginloss XT_SPELLED_("xt_nn_tripletmarginloss: a function here: xt_triplet_margin_loss(anchor, \
same, other)")
#define xt_nn_tripletmarginwithdistanceloss XT_SPELLED_("xt_nn_tripletmarginwithdistanceloss: here it is \
xt_margin_ranking_loss of the distances")
#define xt_nn_unflatten XT_SPELLED_("xt_nn_unflatten: it is called xt_unflatten(x, axis, dims, ...) here")
#define xt_nn_unfold XT_SPELLED_("xt_nn_unfold: it is called xt_unfold(x, kernel) here")
#define xt_nn_uninitialized_buffer XT_SPELLED_("xt_nn_uninitialized_buffer: here it is xt_param, xt_buffer")
#define xt_nn_uninitialized_parameter XT_SPELLED_("xt_nn_uninitialized_parameter: here it is xt_param, xt_buffer")
#define xt_nn_uninitializedbuffer XT_SPELLED_("xt_nn_uninitializedbuffer: here it is xt_param, xt_buffer")
#define xt_nn_uninitializedparameter XT_SPELLED_("xt_nn_uninitializedparameter: here it is xt_param, xt_buffer")
#define xt_nn_upsample XT_SPELLED_("xt_nn_upsample: a function here: xt_interpolate(x, .scale = 2)")
#define xt_nn_upsample_bilinear XT_SPELLED_("xt_nn_upsample_bilinear: it is called xt_interpolate here")
#define xt_nn_upsample_nearest XT_SPELLED_("xt_nn_upsample_nearest: it is called xt_interpolate here")
#define xt_nn_upsampling_bilinear2d XT_SPELLED_("xt_nn_upsampling_bilinear2d: it is called xt_interpolate here")
#define xt_nn_upsampling_nearest2d XT_SPELLED_("xt_nn_upsampling_nearest2d: it is called xt_interpolate here")
#define xt_nn_upsamplingbilinear2d XT_SPELLED_("xt_nn_upsamplingbilinear2d: it is called xt_interpolate here")
#define xt_nn_upsamplingnearest2d XT_SPELLED_("xt_nn_upsamplingnearest2d: it is called xt_interpolate here")
#define xt_nn_zero_pad1d XT_SPELLED_("xt_nn_zero_pad1d: a function here: xt_pad(x, XT_LIST(left, right))")
#define xt_nn_zero_pad2d XT_SPELLED_("xt_nn_zero_pad2d: a function here: xt_pad(x, XT_LIST(left, right, top, bottom))")
#define xt_nn_zero_pad3d XT_SPELLED_("xt_nn_zero_pad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_nn_zeropad1d XT_SPELLED_("xt_nn_zeropad1d: a function here: xt_pad(x, XT_LIST(left, right))")
#define xt_nn_zeropad2d XT_SPELLED_("xt_nn_zeropad2d: a function here: xt_pad(x, XT_LIST(left, right, top, bottom))")
#define xt_nn_zeropad3d XT_SPELLED_("xt_nn_zeropad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_no_grad XT_SPELLED_("xt_no_grad: it is called xt_no_grad_begin() and xt_no_grad_end() here")
#define xt_non_deterministic XT_SPELLED_("xt_non_deterministic: internal to PyTorch: xt_map_dataset, \
xt_stream_dataset")
#define xt_nonzero_static XT_SPELLED_("xt_nonzero_static: here it is xt_nonzero(x, size, &count)")
#define xt_noop_context_fn XT_SPELLED_("xt_noop_context_fn: internal to PyTorch: xt_checkpoint_block")
#define xt_norm_except_dim XT_SPELLED_("xt_norm_except_dim: internal to PyTorch")
#define xt_normal_ XT_SPELLED_("xt_normal_: it is called xt_init_normal(m, pattern) here; values are drawn by \
xt_randn")
#define xt_not_equal_ XT_SPELLED_("xt_not_equal_: a value never changes: xt_not_equal")
#define xt_nuclear_norm XT_SPELLED_("xt_nuclear_norm: internal to PyTorch")
#define xt_num_parameters XT_SPELLED_("xt_num_parameters: it is called xt_module_param_count(m) here")
#define xt_numpy XT_SPELLED_("xt_numpy: xt_read(t, memory, bytes) copies a tensor to the host, xt_item(t) one number")
#define xt_one_cycle_lr XT_SPELLED_("xt_one_cycle_lr: it is called xt_one_cycle_schedule here")
#define xt_one_hot_categorical XT_SPELLED_("xt_one_hot_categorical: it is called xt_one_hot_categorical_dist(probs) \
here")
#define xt_one_hot_categorical_straight_through XT_SPELLED_("xt_one_hot_categorical_straight_through: it is called \
xt_one_hot_straight_through_dist(probs) here")
#define xt_onecyclelr XT_SPELLED_("xt_onecyclelr: it is called xt_one_cycle_schedule here")
#define xt_onehotcategorical XT_SPELLED_("xt_onehotcategorical: it is called xt_one_hot_categorical_dist(probs) here")
#define xt_onehotcategoricalstraightthrough XT_SPELLED_("xt_onehotcategoricalstraightthrough: it is called \
xt_one_hot_straight_through_dist(probs) here")
#define xt_ones_ XT_SPELLED_("xt_ones_: it is called xt_init_ones(m, pattern) here")
#define xt_optim_ASGD XT_SPELLED_("xt_optim_ASGD: it is called xt_asgd(module, .lr = 0.01) here")
#define xt_optim_Adadelta XT_SPELLED_("xt_optim_Adadelta: it is called xt_adadelta(module) here")
#define xt_optim_Adafactor XT_SPELLED_("xt_optim_Adafactor: it is called xt_adafactor(module, .lr = 0.01) here")
#define xt_optim_Adagrad XT_SPELLED_("xt_optim_Adagrad: it is called xt_adagrad(module) here")
#define xt_optim_Adam XT_SPELLED_("xt_optim_Adam: it is called xt_adam(module, .lr = 1e-3) here")
#define xt_optim_AdamW XT_SPELLED_("xt_optim_AdamW: it is called xt_adamw(module, .lr = 1e-3) here")
#define xt_optim_Adamax XT_SPELLED_("xt_optim_Adamax: it is called xt_adamax(module) here")
#define xt_optim_LBFGS XT_SPELLED_("xt_optim_LBFGS: it is called xt_lbfgs(module) here")
#define xt_optim_Muon XT_SPELLED_("xt_optim_Muon: it is called xt_muon(module, .lr = 1e-3) here")
#define xt_optim_NAdam XT_SPELLED_("xt_optim_NAdam: it is called xt_nadam(module) here")
#define xt_optim_Optimizer XT_SPELLED_("xt_optim_Optimizer: done otherwise: xt_optimizer_step, xt_optimizer_group, \
xt_optimizer_save")
#define xt_optim_RAdam XT_SPELLED_("xt_optim_RAdam: it is called xt_radam(module) here")
#define xt_optim_RMSprop XT_SPELLED_("xt_optim_RMSprop: it is called xt_rmsprop(module) here")
#define xt_optim_Rprop XT_SPELLED_("xt_optim_Rprop: it is called xt_rprop(module, .lr = 0.01) here")
#define xt_optim_SGD XT_SPELLED_("xt_optim_SGD: it is called xt_sgd(module, .lr = 0.1) here")
#define xt_optim_SparseAdam XT_SPELLED_("xt_optim_SparseAdam: it is called xt_sparse_adam here")
#define xt_optim_adadelta XT_SPELLED_("xt_optim_adadelta: it is called xt_adadelta(module) here")
#define xt_optim_adafactor XT_SPELLED_("xt_optim_adafactor: it is called xt_adafactor(module, .lr = 0.01) here")
#define xt_optim_adagrad XT_SPELLED_("xt_optim_adagrad: it is called xt_adagrad(module) here")
#define xt_optim_adam XT_SPELLED_("xt_optim_adam: it is called xt_adam(module, .lr = 1e-3) here")
#define xt_optim_adam_w XT_SPELLED_("xt_optim_adam_w: it is called xt_adamw(module, .lr = 1e-3) here")
#define xt_optim_adamax XT_SPELLED_("xt_optim_adamax: it is called xt_adamax(module) here")
#define xt_optim_adamw XT_SPELLED_("xt_optim_adamw: it is called xt_adamw(module, .lr = 1e-3) here")
#define xt_optim_asgd XT_SPELLED_("xt_optim_asgd: it is called xt_asgd(module, .lr = 0.01) here")
#define xt_optim_lbfgs XT_SPELLED_("xt_optim_lbfgs: it is called xt_lbfgs(module) here")
#define xt_optim_muon XT_SPELLED_("xt_optim_muon: it is called xt_muon(module, .lr = 1e-3) here")
#define xt_optim_n_adam XT_SPELLED_("xt_optim_n_adam: it is called xt_nadam(module) here")
#define xt_optim_nadam XT_SPELLED_("xt_optim_nadam: it is called xt_nadam(module) here")
#define xt_optim_optimizer XT_SPELLED_("xt_optim_optimizer: done otherwise: xt_optimizer_step, xt_optimizer_group, \
xt_optimizer_save")
#define xt_optim_r_adam XT_SPELLED_("xt_optim_r_adam: it is called xt_radam(module) here")
#define xt_optim_radam XT_SPELLED_("xt_optim_radam: it is called xt_radam(module) here")
#define xt_optim_rm_sprop XT_SPELLED_("xt_optim_rm_sprop: it is called xt_rmsprop(module) here")
#define xt_optim_rmsprop XT_SPELLED_("xt_optim_rmsprop: it is called xt_rmsprop(module) here")
#define xt_optim_rprop XT_SPELLED_("xt_optim_rprop: it is called xt_rprop(module, .lr = 0.01) here")
#define xt_optim_sgd XT_SPELLED_("xt_optim_sgd: it is called xt_sgd(module, .lr = 0.1) here")
#define xt_optim_sparse_adam XT_SPELLED_("xt_optim_sparse_adam: it is called xt_sparse_adam here")
#define xt_optim_sparseadam XT_SPELLED_("xt_optim_sparseadam: it is called xt_sparse_adam here")
#define xt_optimizer_zero_grad XT_SPELLED_("xt_optimizer_zero_grad: it is called xt_zero_grad(optimizer) here")
#define xt_ormqr XT_SPELLED_("xt_ormqr: not there: LAPACK's own form: xt_linalg_qr, xt_linalg_eigh")
#define xt_orthogonal_ XT_SPELLED_("xt_orthogonal_: it is called xt_init_orthogonal(m, \"*.weight\") here")
#define xt_output_nr XT_SPELLED_("xt_output_nr: internal to PyTorch, or of tensors that are not there")
#define xt_p_re_lu XT_SPELLED_("xt_p_re_lu: a layer is a call here: xt_prelu(m, \"name\", x)")
#define xt_pack_padded_sequence XT_SPELLED_("xt_pack_padded_sequence: the layer takes lengths: xt_lstm(m, \"name\", x, \
hidden, .lengths = lengths)")
#define xt_pack_sequence XT_SPELLED_("xt_pack_sequence: here it is .lengths of xt_rnn, xt_lstm, xt_gru: a padded batch \
gives what a packed one gives")
#define xt_packed_sequence XT_SPELLED_("xt_packed_sequence: here it is .lengths of xt_rnn, xt_lstm, xt_gru: a padded \
batch gives what a packed one gives")
#define xt_packedsequence XT_SPELLED_("xt_packedsequence: here it is .lengths of xt_rnn, xt_lstm, xt_gru: a padded \
batch gives what a packed one gives")
#define xt_pad_packed_sequence XT_SPELLED_("xt_pad_packed_sequence: nothing is packed: xt_lstm(m, \"name\", x, hidden, \
.lengths = lengths)")
#define xt_pairwisedistance XT_SPELLED_("xt_pairwisedistance: it is called xt_pairwise_distance(x, y) here")
#define xt_parameter XT_SPELLED_("xt_parameter: a parameter is made by xt_param(m, \"name\", ...) in a module's \
function")
#define xt_parameter_dict XT_SPELLED_("xt_parameter_dict: here it is xt_param, xt_buffer")
#define xt_parameter_list XT_SPELLED_("xt_parameter_list: here it is xt_param, xt_buffer")
#define xt_parameterdict XT_SPELLED_("xt_parameterdict: here it is xt_param, xt_buffer")
#define xt_parameterlist XT_SPELLED_("xt_parameterlist: here it is xt_param, xt_buffer")
#define xt_parameters XT_SPELLED_("xt_parameters: optimizers take the module; xt_module_tensor(m, i) gives each")
#define xt_parametrization_list XT_SPELLED_("xt_parametrization_list: internal to PyTorch: xt_remove_parametrizations \
takes them off")
#define xt_parametrizationlist XT_SPELLED_("xt_parametrizationlist: internal to PyTorch: xt_remove_parametrizations \
takes them off")
#define xt_parametrizations_orthogonal XT_SPELLED_("xt_parametrizations_orthogonal: it is called xt_orthogonal(m, \
pattern, ...) here")
#define xt_parametrizations_spectral_norm XT_SPELLED_("xt_parametrizations_spectral_norm: it is called \
xt_spectral_norm(m, pattern, ...) here")
#define xt_parametrizations_weight_norm XT_SPELLED_("xt_parametrizations_weight_norm: it is called xt_weight_norm(m, \
pattern) here")
#define xt_parametrize_ParametrizationList XT_SPELLED_("xt_parametrize_ParametrizationList: internal to PyTorch: \
xt_remove_parametrizations takes them off")
#define xt_parametrize_cached XT_SPELLED_("xt_parametrize_cached: internal to PyTorch: xt_remove_parametrizations \
takes them off")
#define xt_parametrize_is_parametrized XT_SPELLED_("xt_parametrize_is_parametrized: internal to PyTorch: \
xt_remove_parametrizations takes them off")
#define xt_parametrize_parametrization_list XT_SPELLED_("xt_parametrize_parametrization_list: internal to PyTorch: \
xt_remove_parametrizations takes them off")
#define xt_parametrize_parametrizationlist XT_SPELLED_("xt_parametrize_parametrizationlist: internal to PyTorch: \
xt_remove_parametrizations takes them off")
#define xt_parametrize_register_parametrization XT_SPELLED_("xt_parametrize_register_parametrization: a module's \
function computes what it takes for a weight; xt_weight_norm, xt_spectral_norm, xt_orthogonal are there")
#define xt_parametrize_remove_parametrizations XT_SPELLED_("xt_parametrize_remove_parametrizations: it is called \
xt_remove_parametrizations(m, pattern) here")
#define xt_parametrize_transfer_parametrizations_and_params \
XT_SPELLED_("xt_parametrize_transfer_parametrizations_and_params: internal to PyTorch: xt_remove_parametrizations \
takes them off")
#define xt_parametrize_type_before_parametrizations XT_SPELLED_("xt_parametrize_type_before_parametrizations: internal \
to PyTorch: xt_remove_parametrizations takes them off")
#define xt_pareto XT_SPELLED_("xt_pareto: it is called xt_pareto_dist(scale, alpha) here")
#define xt_parse_ir XT_SPELLED_("xt_parse_ir: internal to PyTorch")
#define xt_parse_schema XT_SPELLED_("xt_parse_schema: internal to PyTorch")
#define xt_parse_type_comment XT_SPELLED_("xt_parse_type_comment: internal to PyTorch")
#define xt_pca_lowrank XT_SPELLED_("xt_pca_lowrank: not there: approximations by random projections: xt_linalg_svd is \
exact")
#define xt_permute_copy XT_SPELLED_("xt_permute_copy: every result is a value of its own, without strides")
#define xt_pi XT_SPELLED_("xt_pi: M_PI, M_E, INFINITY, NAN of <math.h>")
#define xt_pin_memory XT_SPELLED_("xt_pin_memory: loaders put batches onto the device ahead of the step")
#define xt_pixelshuffle XT_SPELLED_("xt_pixelshuffle: a function here: xt_pixel_shuffle(x, factor)")
#define xt_pixelunshuffle XT_SPELLED_("xt_pixelunshuffle: a function here: xt_pixel_unshuffle(x, r)")
#define xt_poisson XT_SPELLED_("xt_poisson: it is called xt_dist_sample(xt_poisson_dist(rate)) here")
#define xt_poissonnllloss XT_SPELLED_("xt_poissonnllloss: it is called xt_poisson_nll_loss(x, y, ...) here")
#define xt_polygamma_ XT_SPELLED_("xt_polygamma_: a value never changes: xt_polygamma")
#define xt_polynomial_lr XT_SPELLED_("xt_polynomial_lr: it is called xt_polynomial_schedule(optimizer) here")
#define xt_polynomiallr XT_SPELLED_("xt_polynomiallr: it is called xt_polynomial_schedule(optimizer) here")
#define xt_positive XT_SPELLED_("xt_positive: every result is a value of its own, without strides")
#define xt_positive_definite_transform XT_SPELLED_("xt_positive_definite_transform: here it is \
xt_transform(XT_POSITIVE_DEFINITE_TRANSFORM, x)")
#define xt_positivedefinitetransform XT_SPELLED_("xt_positivedefinitetransform: here it is \
xt_transform(XT_POSITIVE_DEFINITE_TRANSFORM, x)")
#define xt_pow_ XT_SPELLED_("xt_pow_: a value never changes: xt_pow")
#define xt_power_transform XT_SPELLED_("xt_power_transform: it is called xt_power_dist(d, exponent) here")
#define xt_powertransform XT_SPELLED_("xt_powertransform: it is called xt_power_dist(d, exponent) here")
#define xt_prepare_multiprocessing_environment XT_SPELLED_("xt_prepare_multiprocessing_environment: internal to \
PyTorch")
#define xt_preserve_format XT_SPELLED_("xt_preserve_format: a tensor's elements stand row by row, a dim behind the \
other; the compiler chooses other orders by itself")
#define xt_print_model XT_SPELLED_("xt_print_model: it is called xt_module_summary(m, buffer, bytes) here")
#define xt_print_tensor XT_SPELLED_("xt_print_tensor: it is called xt_print(x) here")
#define xt_profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 \
XT_SPELLED_("xt_profiler_allow_cudagraph_cupti_lazy_reinit_cuda12: internal to PyTorch")
#define xt_promote_types XT_SPELLED_("xt_promote_types: done otherwise: xt_dtype_of(xt_add(x, y)): the dtype that an \
op of both gives")
#define xt_prune_BasePruningMethod XT_SPELLED_("xt_prune_BasePruningMethod: not there: weights are not pruned here: a \
mask is xt_mul(weight, mask) in the module's function")
#define xt_prune_CustomFromMask XT_SPELLED_("xt_prune_CustomFromMask: not there: weights are not pruned here: a mask \
is xt_mul(weight, mask) in the module's function")
#define xt_prune_Identity XT_SPELLED_("xt_prune_Identity: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_prune_L1Unstructured XT_SPELLED_("xt_prune_L1Unstructured: not there: weights are not pruned here: a mask \
is xt_mul(weight, mask) in the module's function")
#define xt_prune_LnStructured XT_SPELLED_("xt_prune_LnStructured: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_prune_PruningContainer XT_SPELLED_("xt_prune_PruningContainer: not there: weights are not pruned here: a \
mask is xt_mul(weight, mask) in the module's function")
#define xt_prune_RandomStructured XT_SPELLED_("xt_prune_RandomStructured: not there: weights are not pruned here: a \
mask is xt_mul(weight, mask) in the module's function")
#define xt_prune_RandomUnstructured XT_SPELLED_("xt_prune_RandomUnstructured: not there: weights are not pruned here: \
a mask is xt_mul(weight, mask) in the module's function")
#define xt_prune_base_pruning_method XT_SPELLED_("xt_prune_base_pruning_method: not there: weights are not pruned \
here: a mask is xt_mul(weight, mask) in the module's function")
#define xt_prune_basepruningmethod XT_SPELLED_("xt_prune_basepruningmethod: not there: weights are not pruned here: a \
mask is xt_mul(weight, mask) in the module's function")
#define xt_prune_custom_from_mask XT_SPELLED_("xt_prune_custom_from_mask: not there: weights are not pruned here: a \
mask is xt_mul(weight, mask) in the module's function")
#define xt_prune_customfrommask XT_SPELLED_("xt_prune_customfrommask: not there: weights are not pruned here: a mask \
is xt_mul(weight, mask) in the module's function")
#define xt_prune_global_unstructured XT_SPELLED_("xt_prune_global_unstructured: not there: weights are not pruned \
here: a mask is xt_mul(weight, mask) in the module's function")
#define xt_prune_identity XT_SPELLED_("xt_prune_identity: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_prune_is_pruned XT_SPELLED_("xt_prune_is_pruned: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_prune_l1_unstructured XT_SPELLED_("xt_prune_l1_unstructured: not there: weights are not pruned here: a mask \
is xt_mul(weight, mask) in the module's function")
#define xt_prune_l1unstructured XT_SPELLED_("xt_prune_l1unstructured: not there: weights are not pruned here: a mask \
is xt_mul(weight, mask) in the module's function")
#define xt_prune_ln_structured XT_SPELLED_("xt_prune_ln_structured: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_prune_lnstructured XT_SPELLED_("xt_prune_lnstructured: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_prune_pruning_container XT_SPELLED_("xt_prune_pruning_container: not there: weights are not pruned here: a \
mask is xt_mul(weight, mask) in the module's function")
#define xt_prune_pruningcontainer XT_SPELLED_("xt_prune_pruningcontainer: not there: weights are not pruned here: a \
mask is xt_mul(weight, mask) in the module's function")
#define xt_prune_random_structured XT_SPELLED_("xt_prune_random_structured: not there: weights are not pruned here: a \
mask is xt_mul(weight, mask) in the module's function")
#define xt_prune_random_unstructured XT_SPELLED_("xt_prune_random_unstructured: not there: weights are not pruned \
here: a mask is xt_mul(weight, mask) in the module's function")
#define xt_prune_randomstructured XT_SPELLED_("xt_prune_randomstructured: not there: weights are not pruned here: a \
mask is xt_mul(weight, mask) in the module's function")
#define xt_prune_randomunstructured XT_SPELLED_("xt_prune_randomunstructured: not there: weights are not pruned here: \
a mask is xt_mul(weight, mask) in the module's function")
#define xt_prune_remove XT_SPELLED_("xt_prune_remove: not there: weights are not pruned here: a mask is xt_mul(weight, \
mask) in the module's function")
#define xt_pruning_container XT_SPELLED_("xt_pruning_container: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_pruningcontainer XT_SPELLED_("xt_pruningcontainer: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_put_ XT_SPELLED_("xt_put_: a value never changes: x = xt_put(x, index, values)")
#define xt_q_int32_storage XT_SPELLED_("xt_q_int32_storage: there are no strides and no storages to look at")
#define xt_q_int8_storage XT_SPELLED_("xt_q_int8_storage: there are no strides and no storages to look at")
#define xt_q_per_channel_axis XT_SPELLED_("xt_q_per_channel_axis: not there: there are no quantized tensors: \
xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_q_per_channel_scales XT_SPELLED_("xt_q_per_channel_scales: not there: there are no quantized tensors: \
xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_q_per_channel_zero_points XT_SPELLED_("xt_q_per_channel_zero_points: not there: there are no quantized \
tensors: xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_q_scale XT_SPELLED_("xt_q_scale: not there: there are no quantized tensors: xt_quantize makes a module's \
weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_q_zero_point XT_SPELLED_("xt_q_zero_point: not there: there are no quantized tensors: xt_quantize makes a \
module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_qint32 XT_SPELLED_("xt_qint32: not there: there are no quantized tensors: xt_quantize makes a module's \
weights integers")
#define xt_qint32storage XT_SPELLED_("xt_qint32storage: there are no strides and no storages to look at")
#define xt_qint8 XT_SPELLED_("xt_qint8: not there: there are no quantized tensors: xt_quantize makes a module's \
weights integers")
#define xt_qint8storage XT_SPELLED_("xt_qint8storage: there are no strides and no storages to look at")
#define xt_qscheme XT_SPELLED_("xt_qscheme: not there: there are no quantized tensors: xt_quantize makes a module's \
weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_qu_int2x4_storage XT_SPELLED_("xt_qu_int2x4_storage: there are no strides and no storages to look at")
#define xt_qu_int4x2_storage XT_SPELLED_("xt_qu_int4x2_storage: there are no strides and no storages to look at")
#define xt_qu_int8_storage XT_SPELLED_("xt_qu_int8_storage: there are no strides and no storages to look at")
#define xt_quantize_per_channel XT_SPELLED_("xt_quantize_per_channel: not there: there are no quantized tensors: \
xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_quantize_per_tensor XT_SPELLED_("xt_quantize_per_tensor: not there: there are no quantized tensors: \
xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_quantize_per_tensor_dynamic XT_SPELLED_("xt_quantize_per_tensor_dynamic: not there: there are no quantized \
tensors: xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_quantized_batch_norm XT_SPELLED_("xt_quantized_batch_norm: not there: there are no quantized tensors: \
xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_quantized_gru XT_SPELLED_("xt_quantized_gru: not there: there are no quantized tensors: xt_quantize makes a \
module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_quantized_gru_cell XT_SPELLED_("xt_quantized_gru_cell: not there: there are no quantized tensors: \
xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_quantized_lstm XT_SPELLED_("xt_quantized_lstm: not there: there are no quantized tensors: xt_quantize makes \
a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_quantized_lstm_cell XT_SPELLED_("xt_quantized_lstm_cell: not there: there are no quantized tensors: \
xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_quantized_max_pool1d XT_SPELLED_("xt_quantized_max_pool1d: not there: there are no quantized tensors: \
xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_quantized_max_pool2d XT_SPELLED_("xt_quantized_max_pool2d: not there: there are no quantized tensors: \
xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_quantized_max_pool3d XT_SPELLED_("xt_quantized_max_pool3d: not there: there are no quantized tensors: \
xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_quantized_rnn_relu_cell XT_SPELLED_("xt_quantized_rnn_relu_cell: not there: there are no quantized tensors: \
xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_quantized_rnn_tanh_cell XT_SPELLED_("xt_quantized_rnn_tanh_cell: not there: there are no quantized tensors: \
xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_quint2x4 XT_SPELLED_("xt_quint2x4: not there: there are no quantized tensors: xt_quantize makes a module's \
weights integers")
#define xt_quint2x4storage XT_SPELLED_("xt_quint2x4storage: there are no strides and no storages to look at")
#define xt_quint4x2 XT_SPELLED_("xt_quint4x2: not there: there are no quantized tensors: xt_quantize makes a module's \
weights integers")
#define xt_quint4x2storage XT_SPELLED_("xt_quint4x2storage: there are no strides and no storages to look at")
#define xt_quint8 XT_SPELLED_("xt_quint8: not there: there are no quantized tensors: xt_quantize makes a module's \
weights integers")
#define xt_quint8storage XT_SPELLED_("xt_quint8storage: there are no strides and no storages to look at")
#define xt_r_adam XT_SPELLED_("xt_r_adam: it is called xt_radam(module) here")
#define xt_r_re_lu XT_SPELLED_("xt_r_re_lu: it is called xt_rrelu here")
#define xt_rad2deg_ XT_SPELLED_("xt_rad2deg_: a value never changes: xt_rad2deg")
#define xt_rand_perm XT_SPELLED_("xt_rand_perm: it is called xt_randperm(n) here")
#define xt_randint_like XT_SPELLED_("xt_randint_like: it is called xt_randint with the dims of t here")
#define xt_random_ XT_SPELLED_("xt_random_: it is called xt_randint(lo, hi, dtype, ...) here")
#define xt_random_sampler XT_SPELLED_("xt_random_sampler: here it is .shuffle of xt_loader_new")
#define xt_random_structured XT_SPELLED_("xt_random_structured: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_random_unstructured XT_SPELLED_("xt_random_unstructured: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_randomsampler XT_SPELLED_("xt_randomsampler: here it is .shuffle of xt_loader_new")
#define xt_randomstructured XT_SPELLED_("xt_randomstructured: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_randomunstructured XT_SPELLED_("xt_randomunstructured: not there: weights are not pruned here: a mask is \
xt_mul(weight, mask) in the module's function")
#define xt_re_lu XT_SPELLED_("xt_re_lu: a function here: xt_relu(x)")
#define xt_re_lu6 XT_SPELLED_("xt_re_lu6: a function here: xt_relu6(x)")
#define xt_read_vitals XT_SPELLED_("xt_read_vitals: internal to PyTorch")
#define xt_reciprocal_ XT_SPELLED_("xt_reciprocal_: a value never changes: xt_reciprocal")
#define xt_record_stream XT_SPELLED_("xt_record_stream: one device per process, batches arrive on it; dtypes: xt_cast")
#define xt_reduce_lr_on_plateau XT_SPELLED_("xt_reduce_lr_on_plateau: it is called xt_plateau_schedule here")
#define xt_reducelronplateau XT_SPELLED_("xt_reducelronplateau: it is called xt_plateau_schedule here")
#define xt_refine_names XT_SPELLED_("xt_refine_names: not there: dims have numbers and no names: xt_permute, \
xt_movedim")
#define xt_reflection_pad1d XT_SPELLED_("xt_reflection_pad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_reflection_pad2d XT_SPELLED_("xt_reflection_pad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_reflection_pad3d XT_SPELLED_("xt_reflection_pad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_reflectionpad1d XT_SPELLED_("xt_reflectionpad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_reflectionpad2d XT_SPELLED_("xt_reflectionpad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_reflectionpad3d XT_SPELLED_("xt_reflectionpad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_register_buffer XT_SPELLED_("xt_register_buffer: in a module's function: xt_buffer(m, \"name\", \"zeros\", \
0, dtype, dims)")
#define xt_register_hook XT_SPELLED_("xt_register_hook: there are no hooks: xt_grad(t) after xt_backward; a rule of \
one's own: xt_custom_grad")
#define xt_register_kl XT_SPELLED_("xt_register_kl: classes of Python's")
#define xt_register_parametrization XT_SPELLED_("xt_register_parametrization: a module's function computes what it \
takes for a weight; xt_weight_norm, xt_spectral_norm, xt_orthogonal are there")
#define xt_register_post_accumulate_grad_hook XT_SPELLED_("xt_register_post_accumulate_grad_hook: not there: functions \
called by the backward pass; a rule of one's own is xt_custom_grad")
#define xt_reinforce XT_SPELLED_("xt_reinforce: not there: functions called by the backward pass; a rule of one's own \
is xt_custom_grad")
#define xt_relaxed_bernoulli XT_SPELLED_("xt_relaxed_bernoulli: it is called xt_relaxed_bernoulli_dist(temperature, \
probs) here")
#define xt_relaxed_one_hot_categorical XT_SPELLED_("xt_relaxed_one_hot_categorical: it is called \
xt_relaxed_one_hot_dist(temperature, probs) here")
#define xt_relaxedbernoulli XT_SPELLED_("xt_relaxedbernoulli: it is called xt_relaxed_bernoulli_dist(temperature, \
probs) here")
#define xt_relaxedonehotcategorical XT_SPELLED_("xt_relaxedonehotcategorical: it is called \
xt_relaxed_one_hot_dist(temperature, probs) here")
#define xt_relu_ XT_SPELLED_("xt_relu_: a value never changes: x = xt_relu(x)")
#define xt_remainder_ XT_SPELLED_("xt_remainder_: a value never changes: xt_remainder")
#define xt_remove XT_SPELLED_("xt_remove: not there: weights are not pruned here: a mask is xt_mul(weight, mask) in \
the module's function")
#define xt_rename XT_SPELLED_("xt_rename: not there: dims have numbers and no names: xt_permute, xt_movedim")
#define xt_rename_ XT_SPELLED_("xt_rename_: not there: dims have numbers and no names: xt_permute, xt_movedim")
#define xt_renorm_ XT_SPELLED_("xt_renorm_: a value never changes: xt_renorm")
#define xt_replace_all_batch_norm_modules_ XT_SPELLED_("xt_replace_all_batch_norm_modules_: internal to PyTorch")
#define xt_replication_pad1d XT_SPELLED_("xt_replication_pad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_replication_pad2d XT_SPELLED_("xt_replication_pad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_replication_pad3d XT_SPELLED_("xt_replication_pad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_replicationpad1d XT_SPELLED_("xt_replicationpad1d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_replicationpad2d XT_SPELLED_("xt_replicationpad2d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_replicationpad3d XT_SPELLED_("xt_replicationpad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_requires_grad_ XT_SPELLED_("xt_requires_grad_: it is called xt_requires_grad(t, true) here")
#define xt_reshape_transform XT_SPELLED_("xt_reshape_transform: done otherwise: xt_reshape: its slope is 1")
#define xt_reshapetransform XT_SPELLED_("xt_reshapetransform: done otherwise: xt_reshape: its slope is 1")
#define xt_resize_ XT_SPELLED_("xt_resize_: done otherwise: xt_reshape, xt_pad, xt_slice: a value's size never \
changes")
#define xt_resize_as XT_SPELLED_("xt_resize_as: done otherwise: xt_reshape, xt_pad, xt_slice: a value's size never \
changes")
#define xt_resize_as_ XT_SPELLED_("xt_resize_as_: done otherwise: xt_reshape, xt_pad, xt_slice: a value's size never \
changes")
#define xt_resize_as_sparse_ XT_SPELLED_("xt_resize_as_sparse_: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_resolve_conj XT_SPELLED_("xt_resolve_conj: every result is a value of its own, without strides")
#define xt_resolve_neg XT_SPELLED_("xt_resolve_neg: every result is a value of its own, without strides")
#define xt_result_type XT_SPELLED_("xt_result_type: done otherwise: xt_dtype_of(xt_add(x, y)): the dtype that an op of \
both gives")
#define xt_retains_grad XT_SPELLED_("xt_retains_grad: here it is xt_retain_grad asks for it")
#define xt_rm_sprop XT_SPELLED_("xt_rm_sprop: it is called xt_rmsprop(module) here")
#define xt_rmsnorm XT_SPELLED_("xt_rmsnorm: a layer is a call here: xt_rms_norm(m, \"name\", x)")
#define xt_rnn_PackedSequence XT_SPELLED_("xt_rnn_PackedSequence: here it is .lengths of xt_rnn, xt_lstm, xt_gru: a \
padded batch gives what a packed one gives")
#define xt_rnn_base XT_SPELLED_("xt_rnn_base: internal to PyTorch")
#define xt_rnn_cell_base XT_SPELLED_("xt_rnn_cell_base: internal to PyTorch")
#define xt_rnn_invert_permutation XT_SPELLED_("xt_rnn_invert_permutation: here it is .lengths of xt_rnn, xt_lstm, \
xt_gru: a padded batch gives what a packed one gives")
#define xt_rnn_pack_padded_sequence XT_SPELLED_("xt_rnn_pack_padded_sequence: the layer takes lengths: xt_lstm(m, \
\"name\", x, hidden, .lengths = lengths)")
#define xt_rnn_pack_sequence XT_SPELLED_("xt_rnn_pack_sequence: here it is .lengths of xt_rnn, xt_lstm, xt_gru: a \
padded batch gives what a packed one gives")
#define xt_rnn_packed_sequence XT_SPELLED_("xt_rnn_packed_sequence: here it is .lengths of xt_rnn, xt_lstm, xt_gru: a \
padded batch gives what a packed one gives")
#define xt_rnn_packedsequence XT_SPELLED_("xt_rnn_packedsequence: here it is .lengths of xt_rnn, xt_lstm, xt_gru: a \
padded batch gives what a packed one gives")
#define xt_rnn_pad_packed_sequence XT_SPELLED_("xt_rnn_pad_packed_sequence: nothing is packed: xt_lstm(m, \"name\", x, \
hidden, .lengths = lengths)")
#define xt_rnn_pad_sequence XT_SPELLED_("xt_rnn_pad_sequence: it is called xt_pad_sequence(n, tensors, ...) here")
#define xt_rnn_relu XT_SPELLED_("xt_rnn_relu: here it is xt_rnn(.relu)")
#define xt_rnn_relu_cell XT_SPELLED_("xt_rnn_relu_cell: here it is xt_rnn_cell(.relu)")
#define xt_rnn_tanh XT_SPELLED_("xt_rnn_tanh: here it is xt_rnn(.relu)")
#define xt_rnn_tanh_cell XT_SPELLED_("xt_rnn_tanh_cell: here it is xt_rnn_cell(.relu)")
#define xt_rnn_unpack_sequence XT_SPELLED_("xt_rnn_unpack_sequence: here it is .lengths of xt_rnn, xt_lstm, xt_gru: a \
padded batch gives what a packed one gives")
#define xt_rnn_unpad_sequence XT_SPELLED_("xt_rnn_unpad_sequence: here it is xt_slice of each")
#define xt_rnnbase XT_SPELLED_("xt_rnnbase: internal to PyTorch")
#define xt_rnncell XT_SPELLED_("xt_rnncell: it is called xt_rnn_cell here")
#define xt_rnncellbase XT_SPELLED_("xt_rnncellbase: internal to PyTorch")
#define xt_round_ XT_SPELLED_("xt_round_: a value never changes: xt_round")
#define xt_row_indices XT_SPELLED_("xt_row_indices: not there: a sparse matrix is no tensor here: xt_sparse_coo and \
xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_row_indices_copy XT_SPELLED_("xt_row_indices_copy: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_rrelu_ XT_SPELLED_("xt_rrelu_: a value never changes: xt_rrelu")
#define xt_rsample XT_SPELLED_("xt_rsample: it is called xt_dist_rsample(d, dims) here")
#define xt_rsqrt_ XT_SPELLED_("xt_rsqrt_: a value never changes: xt_rsqrt")
#define xt_runtime_validation XT_SPELLED_("xt_runtime_validation: internal to PyTorch: xt_map_dataset, \
xt_stream_dataset")
#define xt_runtime_validation_disabled XT_SPELLED_("xt_runtime_validation_disabled: internal to PyTorch: \
xt_map_dataset, xt_stream_dataset")
#define xt_saddmm XT_SPELLED_("xt_saddmm: not there: a sparse matrix is no tensor here: xt_sparse_coo and \
xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_sample XT_SPELLED_("xt_sample: it is called xt_dist_sample(d, dims) here")
#define xt_save_checkpoint XT_SPELLED_("xt_save_checkpoint: it is called xt_trainer_save; the weights alone: \
xt_save(m, path)")
#define xt_save_state_dict XT_SPELLED_("xt_save_state_dict: it is called xt_save(m, path) here")
#define xt_scalar_tensor XT_SPELLED_("xt_scalar_tensor: it is called xt_scalar here")
#define xt_scatter_ XT_SPELLED_("xt_scatter_: a value never changes: x = xt_scatter(x, ...)")
#define xt_scatter_add_ XT_SPELLED_("xt_scatter_add_: a value never changes: x = xt_scatter_add(x, ...)")
#define xt_scatter_reduce_ XT_SPELLED_("xt_scatter_reduce_: a value never changes: x = xt_scatter_reduce(x, ...)")
#define xt_segment_reduce XT_SPELLED_("xt_segment_reduce: here it is xt_scatter_reduce with a segment's number for \
each row")
#define xt_select_copy XT_SPELLED_("xt_select_copy: every result is a value of its own, without strides")
#define xt_selective_checkpoint_context XT_SPELLED_("xt_selective_checkpoint_context: internal to PyTorch: \
xt_checkpoint_block")
#define xt_selectivecheckpointcontext XT_SPELLED_("xt_selectivecheckpointcontext: internal to PyTorch: \
xt_checkpoint_block")
#define xt_self_log XT_SPELLED_("xt_self_log: it is called xt_log(\"loss\", x) here")
#define xt_selu_ XT_SPELLED_("xt_selu_: a value never changes: xt_selu")
#define xt_sequential_lr XT_SPELLED_("xt_sequential_lr: it is called xt_sequential_schedule here")
#define xt_sequential_sampler XT_SPELLED_("xt_sequential_sampler: here it is .shuffle of xt_loader_new")
#define xt_sequentiallr XT_SPELLED_("xt_sequentiallr: it is called xt_sequential_schedule here")
#define xt_sequentialsampler XT_SPELLED_("xt_sequentialsampler: here it is .shuffle of xt_loader_new")
#define xt_set_ XT_SPELLED_("xt_set_: there are no strides and no storages to look at")
#define xt_set_anomaly_enabled XT_SPELLED_("xt_set_anomaly_enabled: done otherwise: XT_DEBUG=nan, .detect_anomaly of \
the Trainer")
#define xt_set_autocast_cache_enabled XT_SPELLED_("xt_set_autocast_cache_enabled: here it is xt_autocast_begin, \
xt_autocast_end")
#define xt_set_autocast_cpu_dtype XT_SPELLED_("xt_set_autocast_cpu_dtype: here it is xt_autocast_begin, \
xt_autocast_end")
#define xt_set_autocast_cpu_enabled XT_SPELLED_("xt_set_autocast_cpu_enabled: here it is xt_autocast_begin, \
xt_autocast_end")
#define xt_set_autocast_dtype XT_SPELLED_("xt_set_autocast_dtype: here it is xt_autocast_begin, xt_autocast_end")
#define xt_set_autocast_enabled XT_SPELLED_("xt_set_autocast_enabled: here it is xt_autocast_begin, xt_autocast_end")
#define xt_set_autocast_gpu_dtype XT_SPELLED_("xt_set_autocast_gpu_dtype: here it is xt_autocast_begin, \
xt_autocast_end")
#define xt_set_autocast_ipu_dtype XT_SPELLED_("xt_set_autocast_ipu_dtype: here it is xt_autocast_begin, \
xt_autocast_end")
#define xt_set_autocast_ipu_enabled XT_SPELLED_("xt_set_autocast_ipu_enabled: here it is xt_autocast_begin, \
xt_autocast_end")
#define xt_set_autocast_xla_dtype XT_SPELLED_("xt_set_autocast_xla_dtype: here it is xt_autocast_begin, \
xt_autocast_end")
#define xt_set_autocast_xla_enabled XT_SPELLED_("xt_set_autocast_xla_enabled: here it is xt_autocast_begin, \
xt_autocast_end")
#define xt_set_checkpoint_debug_enabled XT_SPELLED_("xt_set_checkpoint_debug_enabled: internal to PyTorch: \
xt_checkpoint_block")
#define xt_set_checkpoint_early_stop XT_SPELLED_("xt_set_checkpoint_early_stop: internal to PyTorch: \
xt_checkpoint_block")
#define xt_set_default_device XT_SPELLED_("xt_set_default_device: one device per process: XT_DEVICE")
#define xt_set_default_dtype XT_SPELLED_("xt_set_default_dtype: dtypes are given, xt_zeros(XT_F64, 2, 3)")
#define xt_set_default_tensor_type XT_SPELLED_("xt_set_default_tensor_type: dtypes are given")
#define xt_set_detect_anomaly XT_SPELLED_("xt_set_detect_anomaly: done otherwise: XT_DEBUG=nan, .detect_anomaly of the \
Trainer")
#define xt_set_deterministic_debug_mode XT_SPELLED_("xt_set_deterministic_debug_mode: the same bits in every run, \
whatever the number of threads")
#define xt_set_device_states XT_SPELLED_("xt_set_device_states: internal to PyTorch: xt_checkpoint_block")
#define xt_set_float32_matmul_precision XT_SPELLED_("xt_set_float32_matmul_precision: the same bits in every run, \
whatever the number of threads")
#define xt_set_flush_denormal XT_SPELLED_("xt_set_flush_denormal: the same bits in every run, whatever the number of \
threads")
#define xt_set_grad_enabled XT_SPELLED_("xt_set_grad_enabled: it is called xt_no_grad_begin() and xt_no_grad_end() \
here")
#define xt_set_multithreading_enabled XT_SPELLED_("xt_set_multithreading_enabled: internal to PyTorch")
#define xt_set_num_interop_threads XT_SPELLED_("xt_set_num_interop_threads: done otherwise: XT_THREADS")
#define xt_set_num_threads XT_SPELLED_("xt_set_num_threads: XT_THREADS=4 in the environment")
#define xt_set_printoptions XT_SPELLED_("xt_set_printoptions: xt_print(x) has one form; xt_read gives the numbers for \
any other")
#define xt_set_rng_state XT_SPELLED_("xt_set_rng_state: here it is xt_rng_state_save, xt_rng_state_load")
#define xt_set_vital XT_SPELLED_("xt_set_vital: internal to PyTorch")
#define xt_set_warn_always XT_SPELLED_("xt_set_warn_always: not there: a warning of the library is said once a run")
#define xt_sgn_ XT_SPELLED_("xt_sgn_: a value never changes: xt_sgn")
#define xt_shape XT_SPELLED_("xt_shape: it is called xt_dim(t, axis), xt_rank_of(t) here")
#define xt_share_memory_ XT_SPELLED_("xt_share_memory_: there are no strides and no storages to look at")
#define xt_short XT_SPELLED_("xt_short: here it is xt_cast(x, dtype)")
#define xt_short_storage XT_SPELLED_("xt_short_storage: there are no strides and no storages to look at")
#define xt_short_tensor XT_SPELLED_("xt_short_tensor: here it is xt_from_array(values, dtype, dims)")
#define xt_shortstorage XT_SPELLED_("xt_shortstorage: there are no strides and no storages to look at")
#define xt_shorttensor XT_SPELLED_("xt_shorttensor: here it is xt_from_array(values, dtype, dims)")
#define xt_si_lu XT_SPELLED_("xt_si_lu: a function here: xt_silu(x)")
#define xt_sigmoid_ XT_SPELLED_("xt_sigmoid_: a value never changes: xt_sigmoid")
#define xt_sigmoid_transform XT_SPELLED_("xt_sigmoid_transform: here it is xt_sigmoid_dist, \
xt_transform(XT_SIGMOID_TRANSFORM, x)")
#define xt_sigmoidtransform XT_SPELLED_("xt_sigmoidtransform: here it is xt_sigmoid_dist, \
xt_transform(XT_SIGMOID_TRANSFORM, x)")
#define xt_sign_ XT_SPELLED_("xt_sign_: a value never changes: xt_sign")
#define xt_sin_ XT_SPELLED_("xt_sin_: a value never changes: xt_sin")
#define xt_sinc_ XT_SPELLED_("xt_sinc_: a value never changes: xt_sinc")
#define xt_sinh_ XT_SPELLED_("xt_sinh_: a value never changes: xt_sinh")
#define xt_sinusoidal XT_SPELLED_("xt_sinusoidal: it is called xt_sinusoidal_positions, of given t \
xt_sinusoidal_embedding")
#define xt_skip_init XT_SPELLED_("xt_skip_init: there are no strides, and first values cost nothing twice")
#define xt_slice_copy XT_SPELLED_("xt_slice_copy: every result is a value of its own, without strides")
#define xt_slice_inverse XT_SPELLED_("xt_slice_inverse: every result is a value of its own, without strides")
#define xt_smm XT_SPELLED_("xt_smm: it is called xt_sparse_mm(a, x) here")
#define xt_smoothl1loss XT_SPELLED_("xt_smoothl1loss: a function here: xt_smooth_l1_loss(x, y)")
#define xt_softmarginloss XT_SPELLED_("xt_softmarginloss: it is called xt_soft_margin_loss(x, y, ...) here")
#define xt_softmax2d XT_SPELLED_("xt_softmax2d: here it is xt_softmax(x, 1)")
#define xt_softmax_transform XT_SPELLED_("xt_softmax_transform: here it is xt_transform(XT_SOFTMAX_TRANSFORM, x)")
#define xt_softmaxtransform XT_SPELLED_("xt_softmaxtransform: here it is xt_transform(XT_SOFTMAX_TRANSFORM, x)")
#define xt_softplus_transform XT_SPELLED_("xt_softplus_transform: here it is xt_softplus_dist, \
xt_transform(XT_SOFTPLUS_TRANSFORM, x)")
#define xt_softplustransform XT_SPELLED_("xt_softplustransform: here it is xt_softplus_dist, \
xt_transform(XT_SOFTPLUS_TRANSFORM, x)")
#define xt_solve_ex XT_SPELLED_("xt_solve_ex: it is called xt_solve(a, y) here")
#define xt_solve_triangular XT_SPELLED_("xt_solve_triangular: it is called xt_triangular_solve(a, y, .upper = true) \
here")
#define xt_sparse_ XT_SPELLED_("xt_sparse_: here it is xt_init_sparse(m, pattern)")
#define xt_sparse_bsc XT_SPELLED_("xt_sparse_bsc: a tensor's elements stand row by row, a dim behind the other; the \
compiler chooses other orders by itself")
#define xt_sparse_bsc_tensor XT_SPELLED_("xt_sparse_bsc_tensor: a tensor's elements stand row by row, a dim behind the \
other; the compiler chooses other orders by itself")
#define xt_sparse_bsr XT_SPELLED_("xt_sparse_bsr: a tensor's elements stand row by row, a dim behind the other; the \
compiler chooses other orders by itself")
#define xt_sparse_bsr_tensor XT_SPELLED_("xt_sparse_bsr_tensor: a tensor's elements stand row by row, a dim behind the \
other; the compiler chooses other orders by itself")
#define xt_sparse_compressed_tensor XT_SPELLED_("xt_sparse_compressed_tensor: not there: a sparse matrix is no tensor \
here: xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_sparse_coo_tensor XT_SPELLED_("xt_sparse_coo_tensor: it is called xt_sparse_coo(row, column, values, rows, \
columns) here")
#define xt_sparse_csc XT_SPELLED_("xt_sparse_csc: a tensor's elements stand row by row, a dim behind the other; the \
compiler chooses other orders by itself")
#define xt_sparse_csc_tensor XT_SPELLED_("xt_sparse_csc_tensor: a tensor's elements stand row by row, a dim behind the \
other; the compiler chooses other orders by itself")
#define xt_sparse_csr_tensor XT_SPELLED_("xt_sparse_csr_tensor: a tensor's elements stand row by row, a dim behind the \
other; the compiler chooses other orders by itself")
#define xt_sparse_dim XT_SPELLED_("xt_sparse_dim: not there: a sparse matrix is no tensor here: xt_sparse_coo and \
xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_sparse_mask XT_SPELLED_("xt_sparse_mask: not there: a sparse matrix is no tensor here: xt_sparse_coo and \
xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_sparse_resize_ XT_SPELLED_("xt_sparse_resize_: not there: a sparse matrix is no tensor here: xt_sparse_coo \
and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_sparse_resize_and_clear_ XT_SPELLED_("xt_sparse_resize_and_clear_: not there: a sparse matrix is no tensor \
here: xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_sparseadam XT_SPELLED_("xt_sparseadam: it is called xt_sparse_adam here")
#define xt_special_airy_ai XT_SPELLED_("xt_special_airy_ai: not there: no formula of it is recorded")
#define xt_special_bessel_j0 XT_SPELLED_("xt_special_bessel_j0: it is called xt_bessel_j0(x) here")
#define xt_special_bessel_j1 XT_SPELLED_("xt_special_bessel_j1: it is called xt_bessel_j1(x) here")
#define xt_special_bessel_y0 XT_SPELLED_("xt_special_bessel_y0: it is called xt_bessel_y0(x) here")
#define xt_special_bessel_y1 XT_SPELLED_("xt_special_bessel_y1: it is called xt_bessel_y1(x) here")
#define xt_special_chebyshev_polynomial_t XT_SPELLED_("xt_special_chebyshev_polynomial_t: it is called \
xt_chebyshev_polynomial_t(x, n) here")
#define xt_special_chebyshev_polynomial_u XT_SPELLED_("xt_special_chebyshev_polynomial_u: it is called \
xt_chebyshev_polynomial_u(x, n) here")
#define xt_special_chebyshev_polynomial_v XT_SPELLED_("xt_special_chebyshev_polynomial_v: it is called \
xt_chebyshev_polynomial_v(x, n) here")
#define xt_special_chebyshev_polynomial_w XT_SPELLED_("xt_special_chebyshev_polynomial_w: it is called \
xt_chebyshev_polynomial_w(x, n) here")
#define xt_special_digamma XT_SPELLED_("xt_special_digamma: it is called xt_digamma(x) here")
#define xt_special_entr XT_SPELLED_("xt_special_entr: it is called xt_entr(x) here")
#define xt_special_erf XT_SPELLED_("xt_special_erf: it is called xt_erf(x) here")
#define xt_special_erfc XT_SPELLED_("xt_special_erfc: it is called xt_erfc(x) here")
#define xt_special_erfcx XT_SPELLED_("xt_special_erfcx: it is called xt_erfcx(x) here")
#define xt_special_erfinv XT_SPELLED_("xt_special_erfinv: it is called xt_erfinv(x) here")
#define xt_special_exp2 XT_SPELLED_("xt_special_exp2: it is called xt_exp2(x) here")
#define xt_special_expit XT_SPELLED_("xt_special_expit: it is called xt_expit(x) here")
#define xt_special_expm1 XT_SPELLED_("xt_special_expm1: it is called xt_expm1(x) here")
#define xt_special_gammainc XT_SPELLED_("xt_special_gammainc: it is called xt_gammainc(a, x) here")
#define xt_special_gammaincc XT_SPELLED_("xt_special_gammaincc: it is called xt_gammaincc(a, x) here")
#define xt_special_gammaln XT_SPELLED_("xt_special_gammaln: it is called xt_gammaln(x) here")
#define xt_special_hermite_polynomial_h XT_SPELLED_("xt_special_hermite_polynomial_h: it is called \
xt_hermite_polynomial_h(x, n) here")
#define xt_special_hermite_polynomial_he XT_SPELLED_("xt_special_hermite_polynomial_he: it is called \
xt_hermite_polynomial_he(x, n) here")
#define xt_special_i0 XT_SPELLED_("xt_special_i0: it is called xt_i0(x) here")
#define xt_special_i0e XT_SPELLED_("xt_special_i0e: it is called xt_i0e(x) here")
#define xt_special_i1 XT_SPELLED_("xt_special_i1: it is called xt_i1(x) here")
#define xt_special_i1e XT_SPELLED_("xt_special_i1e: it is called xt_i1e(x) here")
#define xt_special_laguerre_polynomial_l XT_SPELLED_("xt_special_laguerre_polynomial_l: it is called \
xt_laguerre_polynomial_l(x, n) here")
#define xt_special_legendre_polynomial_p XT_SPELLED_("xt_special_legendre_polynomial_p: it is called \
xt_legendre_polynomial_p(x, n) here")
#define xt_special_log1p XT_SPELLED_("xt_special_log1p: it is called xt_log1p(x) here")
#define xt_special_log_ndtr XT_SPELLED_("xt_special_log_ndtr: it is called xt_log_ndtr(x) here")
#define xt_special_log_softmax XT_SPELLED_("xt_special_log_softmax: it is called xt_log_softmax(x, axis) here")
#define xt_special_logit XT_SPELLED_("xt_special_logit: it is called xt_logit(x) here")
#define xt_special_logsumexp XT_SPELLED_("xt_special_logsumexp: it is called xt_logsumexp here")
#define xt_special_modified_bessel_i0 XT_SPELLED_("xt_special_modified_bessel_i0: it is called \
xt_modified_bessel_i0(x) here")
#define xt_special_modified_bessel_i1 XT_SPELLED_("xt_special_modified_bessel_i1: it is called \
xt_modified_bessel_i1(x) here")
#define xt_special_modified_bessel_k0 XT_SPELLED_("xt_special_modified_bessel_k0: it is called \
xt_modified_bessel_k0(x) here")
#define xt_special_modified_bessel_k1 XT_SPELLED_("xt_special_modified_bessel_k1: it is called \
xt_modified_bessel_k1(x) here")
#define xt_special_multigammaln XT_SPELLED_("xt_special_multigammaln: it is called xt_mvlgamma(x, p) here")
#define xt_special_ndtr XT_SPELLED_("xt_special_ndtr: it is called xt_ndtr(x) here")
#define xt_special_ndtri XT_SPELLED_("xt_special_ndtri: it is called xt_ndtri(x) here")
#define xt_special_polygamma XT_SPELLED_("xt_special_polygamma: it is called xt_polygamma(n, x) here")
#define xt_special_psi XT_SPELLED_("xt_special_psi: it is called xt_psi(x) here")
#define xt_special_round XT_SPELLED_("xt_special_round: it is called xt_round(x) here")
#define xt_special_scaled_modified_bessel_k0 XT_SPELLED_("xt_special_scaled_modified_bessel_k0: it is called \
xt_scaled_modified_bessel_k0(x) here")
#define xt_special_scaled_modified_bessel_k1 XT_SPELLED_("xt_special_scaled_modified_bessel_k1: it is called \
xt_scaled_modified_bessel_k1(x) here")
#define xt_special_shifted_chebyshev_polynomial_t XT_SPELLED_("xt_special_shifted_chebyshev_polynomial_t: it is called \
xt_shifted_chebyshev_polynomial_t(x, n) here")
#define xt_special_shifted_chebyshev_polynomial_u XT_SPELLED_("xt_special_shifted_chebyshev_polynomial_u: it is called \
xt_shifted_chebyshev_polynomial_u(x, n) here")
#define xt_special_shifted_chebyshev_polynomial_v XT_SPELLED_("xt_special_shifted_chebyshev_polynomial_v: it is called \
xt_shifted_chebyshev_polynomial_v(x, n) here")
#define xt_special_shifted_chebyshev_polynomial_w XT_SPELLED_("xt_special_shifted_chebyshev_polynomial_w: it is called \
xt_shifted_chebyshev_polynomial_w(x, n) here")
#define xt_special_sinc XT_SPELLED_("xt_special_sinc: it is called xt_sinc(x) here")
#define xt_special_softmax XT_SPELLED_("xt_special_softmax: it is called xt_softmax(x, axis) here")
#define xt_special_spherical_bessel_j0 XT_SPELLED_("xt_special_spherical_bessel_j0: it is called \
xt_spherical_bessel_j0(x) here")
#define xt_special_xlog1py XT_SPELLED_("xt_special_xlog1py: it is called xt_xlog1py(x, y) here")
#define xt_special_xlogy XT_SPELLED_("xt_special_xlogy: it is called xt_xlogy(x, y) here")
#define xt_special_zeta XT_SPELLED_("xt_special_zeta: it is called xt_zeta(x, q) here")
#define xt_split_copy XT_SPELLED_("xt_split_copy: every result is a value of its own, without strides")
#define xt_split_with_sizes XT_SPELLED_("xt_split_with_sizes: it is called xt_split_sizes here")
#define xt_split_with_sizes_copy XT_SPELLED_("xt_split_with_sizes_copy: every result is a value of its own, without \
strides")
#define xt_spmm XT_SPELLED_("xt_spmm: it is called xt_sparse_mm(a, x) here")
#define xt_sqrt_ XT_SPELLED_("xt_sqrt_: a value never changes: xt_sqrt")
#define xt_square_ XT_SPELLED_("xt_square_: a value never changes: xt_square")
#define xt_squeeze_ XT_SPELLED_("xt_squeeze_: a value never changes: xt_squeeze")
#define xt_squeeze_copy XT_SPELLED_("xt_squeeze_copy: every result is a value of its own, without strides")
#define xt_sspaddmm XT_SPELLED_("xt_sspaddmm: not there: a sparse matrix is no tensor here: xt_sparse_coo and \
xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_stack_dataset XT_SPELLED_("xt_stack_dataset: it is called xt_map_dataset here")
#define xt_stack_module_state XT_SPELLED_("xt_stack_module_state: done otherwise: xt_module_find and functions of \
tensors")
#define xt_stack_transform XT_SPELLED_("xt_stack_transform: done otherwise: xt_concat, xt_stack of transformed parts")
#define xt_stackdataset XT_SPELLED_("xt_stackdataset: it is called xt_map_dataset here")
#define xt_stacktransform XT_SPELLED_("xt_stacktransform: done otherwise: xt_concat, xt_stack of transformed parts")
#define xt_state_dict XT_SPELLED_("xt_state_dict: xt_save(m, path); xt_module_tensor_name and xt_module_tensor give \
each")
#define xt_step_lr XT_SPELLED_("xt_step_lr: it is called xt_step_schedule here")
#define xt_steplr XT_SPELLED_("xt_steplr: it is called xt_step_schedule here")
#define xt_stick_breaking_transform XT_SPELLED_("xt_stick_breaking_transform: here it is \
xt_transform(XT_STICK_BREAKING_TRANSFORM, x)")
#define xt_stickbreakingtransform XT_SPELLED_("xt_stickbreakingtransform: here it is \
xt_transform(XT_STICK_BREAKING_TRANSFORM, x)")
#define xt_storage XT_SPELLED_("xt_storage: there are no strides and no storages to look at")
#define xt_storage_offset XT_SPELLED_("xt_storage_offset: there are no strides and no storages to look at")
#define xt_storage_type XT_SPELLED_("xt_storage_type: there are no strides and no storages to look at")
#define xt_stream XT_SPELLED_("xt_stream: the device orders its programs by itself: xt_wait waits for them")
#define xt_stride XT_SPELLED_("xt_stride: there are no strides and no storages to look at")
#define xt_strided XT_SPELLED_("xt_strided: a tensor's elements stand row by row, a dim behind the other; the compiler \
chooses other orders by itself")
#define xt_student_t XT_SPELLED_("xt_student_t: it is called xt_student_t_dist(df, loc, scale) here")
#define xt_studentt XT_SPELLED_("xt_studentt: it is called xt_student_t_dist(df, loc, scale) here")
#define xt_subset_random_sampler XT_SPELLED_("xt_subset_random_sampler: here it is .sampler of xt_loader_new, a \
function of one's own")
#define xt_subsetrandomsampler XT_SPELLED_("xt_subsetrandomsampler: here it is .sampler of xt_loader_new, a function \
of one's own")
#define xt_subtract_ XT_SPELLED_("xt_subtract_: a value never changes: xt_minus (xt_sub names a child module)")
#define xt_sum_to_size XT_SPELLED_("xt_sum_to_size: it is called xt_sum(x, XT_AXES(0), .keepdim = true) here")
#define xt_summary XT_SPELLED_("xt_summary: it is called xt_module_summary(m, buffer, bytes) here")
#define xt_svd_lowrank XT_SPELLED_("xt_svd_lowrank: not there: approximations by random projections: xt_linalg_svd is \
exact")
#define xt_swa_utils_AveragedModel XT_SPELLED_("xt_swa_utils_AveragedModel: xt_ema(net), then xt_ema_update(ema, net, \
decay) a step")
#define xt_swa_utils_SWALR XT_SPELLED_("xt_swa_utils_SWALR: here it is xt_weight_averaging(.swa = XT_ON, .swa_lr) of \
the Trainer")
#define xt_swa_utils_averaged_model XT_SPELLED_("xt_swa_utils_averaged_model: xt_ema(net), then xt_ema_update(ema, \
net, decay) a step")
#define xt_swa_utils_averagedmodel XT_SPELLED_("xt_swa_utils_averagedmodel: xt_ema(net), then xt_ema_update(ema, net, \
decay) a step")
#define xt_swa_utils_get_ema_avg_fn XT_SPELLED_("xt_swa_utils_get_ema_avg_fn: the decay is an argument: \
xt_ema_update(ema, net, decay)")
#define xt_swa_utils_get_ema_multi_avg_fn XT_SPELLED_("xt_swa_utils_get_ema_multi_avg_fn: the decay is an argument: \
xt_ema_update(ema, net, decay)")
#define xt_swa_utils_get_swa_avg_fn XT_SPELLED_("xt_swa_utils_get_swa_avg_fn: the decay is an argument: \
xt_ema_update(ema, net, decay)")
#define xt_swa_utils_get_swa_multi_avg_fn XT_SPELLED_("xt_swa_utils_get_swa_multi_avg_fn: the decay is an argument: \
xt_ema_update(ema, net, decay)")
#define xt_swa_utils_swalr XT_SPELLED_("xt_swa_utils_swalr: here it is xt_weight_averaging(.swa = XT_ON, .swa_lr) of \
the Trainer")
#define xt_swa_utils_update_bn XT_SPELLED_("xt_swa_utils_update_bn: it is called xt_update_batch_norms(net, loader) \
here")
#define xt_swalr XT_SPELLED_("xt_swalr: here it is xt_weight_averaging(.swa = XT_ON, .swa_lr) of the Trainer")
#define xt_swapaxes_ XT_SPELLED_("xt_swapaxes_: a value never changes: xt_swapaxes")
#define xt_swapdims_ XT_SPELLED_("xt_swapdims_: a value never changes: xt_swapdims")
#define xt_sym_constrain_range XT_SPELLED_("xt_sym_constrain_range: internal to PyTorch")
#define xt_sym_constrain_range_for_size XT_SPELLED_("xt_sym_constrain_range_for_size: internal to PyTorch")
#define xt_sym_float XT_SPELLED_("xt_sym_float: internal to PyTorch")
#define xt_sym_fresh_size XT_SPELLED_("xt_sym_fresh_size: internal to PyTorch")
#define xt_sym_int XT_SPELLED_("xt_sym_int: internal to PyTorch")
#define xt_sym_ite XT_SPELLED_("xt_sym_ite: internal to PyTorch")
#define xt_sym_max XT_SPELLED_("xt_sym_max: internal to PyTorch")
#define xt_sym_min XT_SPELLED_("xt_sym_min: internal to PyTorch")
#define xt_sym_not XT_SPELLED_("xt_sym_not: internal to PyTorch")
#define xt_sym_sqrt XT_SPELLED_("xt_sym_sqrt: internal to PyTorch")
#define xt_sym_sum XT_SPELLED_("xt_sym_sum: internal to PyTorch")
#define xt_symeig XT_SPELLED_("xt_symeig: it is called xt_linalg_eigh(x, out_values, out_vectors, ...) here")
#define xt_syncbatchnorm XT_SPELLED_("xt_syncbatchnorm: a layer is a call here: xt_batch_norm(m, \"name\", x, .sync = \
XT_ON)")
#define xt_synchronize XT_SPELLED_("xt_synchronize: it is called xt_wait() here")
#define xt_t_ XT_SPELLED_("xt_t_: a value never changes: xt_t")
#define xt_t_copy XT_SPELLED_("xt_t_copy: every result is a value of its own, without strides")
#define xt_tan_ XT_SPELLED_("xt_tan_: a value never changes: xt_tan")
#define xt_tanh_ XT_SPELLED_("xt_tanh_: a value never changes: xt_tanh")
#define xt_tanh_transform XT_SPELLED_("xt_tanh_transform: here it is xt_tanh_dist, xt_transform(XT_TANH_TRANSFORM, x)")
#define xt_tanhtransform XT_SPELLED_("xt_tanhtransform: here it is xt_tanh_dist, xt_transform(XT_TANH_TRANSFORM, x)")
#define xt_tensor_H XT_SPELLED_("xt_tensor_H: here it is xt_adjoint(x)")
#define xt_tensor_T XT_SPELLED_("xt_tensor_T: it is called xt_t(x), of more than two dims xt_permute(x, 2, 1, 0) here")
#define xt_tensor_abs XT_SPELLED_("xt_tensor_abs: it is called xt_abs(x) here")
#define xt_tensor_abs_ XT_SPELLED_("xt_tensor_abs_: a value never changes: xt_abs")
#define xt_tensor_absolute XT_SPELLED_("xt_tensor_absolute: it is called xt_absolute(x) here")
#define xt_tensor_absolute_ XT_SPELLED_("xt_tensor_absolute_: a value never changes: xt_absolute")
#define xt_tensor_acos XT_SPELLED_("xt_tensor_acos: it is called xt_acos(x) here")
#define xt_tensor_acos_ XT_SPELLED_("xt_tensor_acos_: a value never changes: xt_acos")
#define xt_tensor_acosh XT_SPELLED_("xt_tensor_acosh: it is called xt_acosh(x) here")
#define xt_tensor_acosh_ XT_SPELLED_("xt_tensor_acosh_: a value never changes: xt_acosh")
#define xt_tensor_add XT_SPELLED_("xt_tensor_add: it is called xt_add(x, y) here")
#define xt_tensor_add_ XT_SPELLED_("xt_tensor_add_: a value never changes: xt_add")
#define xt_tensor_addbmm XT_SPELLED_("xt_tensor_addbmm: here it is xt_sum_axis of xt_bmm")
#define xt_tensor_addbmm_ XT_SPELLED_("xt_tensor_addbmm_: here it is xt_sum_axis of xt_bmm")
#define xt_tensor_addcdiv XT_SPELLED_("xt_tensor_addcdiv: it is called xt_addcdiv(x, y, z, ...) here")
#define xt_tensor_addcdiv_ XT_SPELLED_("xt_tensor_addcdiv_: a value never changes: xt_addcdiv")
#define xt_tensor_addcmul XT_SPELLED_("xt_tensor_addcmul: it is called xt_addcmul(x, y, z, ...) here")
#define xt_tensor_addcmul_ XT_SPELLED_("xt_tensor_addcmul_: a value never changes: xt_addcmul")
#define xt_tensor_addmm XT_SPELLED_("xt_tensor_addmm: it is called xt_addmm(c, x, y, ...) here")
#define xt_tensor_addmm_ XT_SPELLED_("xt_tensor_addmm_: a value never changes: xt_addmm")
#define xt_tensor_addmv XT_SPELLED_("xt_tensor_addmv: it is called xt_addmv(c, a, x, ...) here")
#define xt_tensor_addmv_ XT_SPELLED_("xt_tensor_addmv_: a value never changes: xt_addmv")
#define xt_tensor_addr XT_SPELLED_("xt_tensor_addr: it is called xt_addr(c, x, y, ...) here")
#define xt_tensor_addr_ XT_SPELLED_("xt_tensor_addr_: a value never changes: xt_addr")
#define xt_tensor_adjoint XT_SPELLED_("xt_tensor_adjoint: it is called xt_adjoint(x) here")
#define xt_tensor_align_as XT_SPELLED_("xt_tensor_align_as: not there: dims have numbers and no names: xt_permute, \
xt_movedim")
#define xt_tensor_align_to XT_SPELLED_("xt_tensor_align_to: not there: dims have numbers and no names: xt_permute, \
xt_movedim")
#define xt_tensor_all XT_SPELLED_("xt_tensor_all: here it is xt_all, xt_all_axes")
#define xt_tensor_allclose XT_SPELLED_("xt_tensor_allclose: it is called xt_allclose(x, y, ...) here")
#define xt_tensor_amax XT_SPELLED_("xt_tensor_amax: it is called xt_amax here")
#define xt_tensor_amin XT_SPELLED_("xt_tensor_amin: it is called xt_amin here")
#define xt_tensor_aminmax XT_SPELLED_("xt_tensor_aminmax: it is called xt_aminmax(x, axes, out_min, out_max) here")
#define xt_tensor_angle XT_SPELLED_("xt_tensor_angle: it is called xt_angle(x) here")
#define xt_tensor_any XT_SPELLED_("xt_tensor_any: here it is xt_any, xt_any_axes")
#define xt_tensor_apply_ XT_SPELLED_("xt_tensor_apply_: not there: a function of Python's for each element would wait \
for the device: ops of whole tensors, xt_where")
#define xt_tensor_arccos XT_SPELLED_("xt_tensor_arccos: it is called xt_arccos(x) here")
#define xt_tensor_arccos_ XT_SPELLED_("xt_tensor_arccos_: a value never changes: xt_arccos")
#define xt_tensor_arccosh XT_SPELLED_("xt_tensor_arccosh: it is called xt_arccosh(x) here")
#define xt_tensor_arccosh_ XT_SPELLED_("xt_tensor_arccosh_: a value never changes: xt_arccosh")
#define xt_tensor_arcsin XT_SPELLED_("xt_tensor_arcsin: it is called xt_arcsin(x) here")
#define xt_tensor_arcsin_ XT_SPELLED_("xt_tensor_arcsin_: a value never changes: xt_arcsin")
#define xt_tensor_arcsinh XT_SPELLED_("xt_tensor_arcsinh: it is called xt_arcsinh(x) here")
#define xt_tensor_arcsinh_ XT_SPELLED_("xt_tensor_arcsinh_: a value never changes: xt_arcsinh")
#define xt_tensor_arctan XT_SPELLED_("xt_tensor_arctan: it is called xt_arctan(x) here")
#define xt_tensor_arctan2 XT_SPELLED_("xt_tensor_arctan2: it is called xt_arctan2(x, y) here")
#define xt_tensor_arctan2_ XT_SPELLED_("xt_tensor_arctan2_: a value never changes: xt_arctan2")
#define xt_tensor_arctan_ XT_SPELLED_("xt_tensor_arctan_: a value never changes: xt_arctan")
#define xt_tensor_arctanh XT_SPELLED_("xt_tensor_arctanh: it is called xt_arctanh(x) here")
#define xt_tensor_arctanh_ XT_SPELLED_("xt_tensor_arctanh_: a value never changes: xt_arctanh")
#define xt_tensor_argmax XT_SPELLED_("xt_tensor_argmax: it is called xt_argmax here")
#define xt_tensor_argmin XT_SPELLED_("xt_tensor_argmin: it is called xt_argmin here")
#define xt_tensor_argsort XT_SPELLED_("xt_tensor_argsort: it is called xt_argsort(x, axis, ...) here")
#define xt_tensor_argwhere XT_SPELLED_("xt_tensor_argwhere: here it is xt_nonzero(x, size, &count)")
#define xt_tensor_as_strided XT_SPELLED_("xt_tensor_as_strided: there are no strides: xt_unfold_axis, xt_diagonal, \
xt_gather")
#define xt_tensor_as_strided_ XT_SPELLED_("xt_tensor_as_strided_: there are no strides: xt_unfold_axis, xt_diagonal, \
xt_gather")
#define xt_tensor_as_strided_scatter XT_SPELLED_("xt_tensor_as_strided_scatter: there are no strides: xt_unfold_axis, \
xt_diagonal, xt_gather")
#define xt_tensor_as_subclass XT_SPELLED_("xt_tensor_as_subclass: classes of Python's")
#define xt_tensor_asin XT_SPELLED_("xt_tensor_asin: it is called xt_asin(x) here")
#define xt_tensor_asin_ XT_SPELLED_("xt_tensor_asin_: a value never changes: xt_asin")
#define xt_tensor_asinh XT_SPELLED_("xt_tensor_asinh: it is called xt_asinh(x) here")
#define xt_tensor_asinh_ XT_SPELLED_("xt_tensor_asinh_: a value never changes: xt_asinh")
#define xt_tensor_atan XT_SPELLED_("xt_tensor_atan: it is called xt_atan(x) here")
#define xt_tensor_atan2 XT_SPELLED_("xt_tensor_atan2: it is called xt_atan2(x, y) here")
#define xt_tensor_atan2_ XT_SPELLED_("xt_tensor_atan2_: a value never changes: xt_atan2")
#define xt_tensor_atan_ XT_SPELLED_("xt_tensor_atan_: a value never changes: xt_atan")
#define xt_tensor_atanh XT_SPELLED_("xt_tensor_atanh: it is called xt_atanh(x) here")
#define xt_tensor_atanh_ XT_SPELLED_("xt_tensor_atanh_: a value never changes: xt_atanh")
#define xt_tensor_backward XT_SPELLED_("xt_tensor_backward: it is called xt_backward(loss) here")
#define xt_tensor_baddbmm XT_SPELLED_("xt_tensor_baddbmm: it is called xt_baddbmm(c, x, y, ...) here")
#define xt_tensor_baddbmm_ XT_SPELLED_("xt_tensor_baddbmm_: a value never changes: xt_baddbmm")
#define xt_tensor_bernoulli XT_SPELLED_("xt_tensor_bernoulli: it is called xt_bernoulli(p) here")
#define xt_tensor_bernoulli_ XT_SPELLED_("xt_tensor_bernoulli_: it is called xt_bernoulli(p) here")
#define xt_tensor_bfloat16 XT_SPELLED_("xt_tensor_bfloat16: a dtype is given: xt_cast(x, XT_BF16)")
#define xt_tensor_bincount XT_SPELLED_("xt_tensor_bincount: it is called xt_bincount(x, bins, weights) here")
#define xt_tensor_bitwise_and XT_SPELLED_("xt_tensor_bitwise_and: it is called xt_bitwise_and(x, y) here")
#define xt_tensor_bitwise_and_ XT_SPELLED_("xt_tensor_bitwise_and_: a value never changes: xt_bitwise_and")
#define xt_tensor_bitwise_left_shift XT_SPELLED_("xt_tensor_bitwise_left_shift: it is called xt_bitwise_left_shift(x, \
y) here")
#define xt_tensor_bitwise_left_shift_ XT_SPELLED_("xt_tensor_bitwise_left_shift_: a value never changes: \
xt_bitwise_left_shift")
#define xt_tensor_bitwise_not XT_SPELLED_("xt_tensor_bitwise_not: it is called xt_bitwise_not(x) here")
#define xt_tensor_bitwise_not_ XT_SPELLED_("xt_tensor_bitwise_not_: a value never changes: xt_bitwise_not")
#define xt_tensor_bitwise_or XT_SPELLED_("xt_tensor_bitwise_or: it is called xt_bitwise_or(x, y) here")
#define xt_tensor_bitwise_or_ XT_SPELLED_("xt_tensor_bitwise_or_: a value never changes: xt_bitwise_or")
#define xt_tensor_bitwise_right_shift XT_SPELLED_("xt_tensor_bitwise_right_shift: it is called \
xt_bitwise_right_shift(x, y) here")
#define xt_tensor_bitwise_right_shift_ XT_SPELLED_("xt_tensor_bitwise_right_shift_: a value never changes: \
xt_bitwise_right_shift")
#define xt_tensor_bitwise_xor XT_SPELLED_("xt_tensor_bitwise_xor: it is called xt_bitwise_xor(x, y) here")
#define xt_tensor_bitwise_xor_ XT_SPELLED_("xt_tensor_bitwise_xor_: a value never changes: xt_bitwise_xor")
#define xt_tensor_bmm XT_SPELLED_("xt_tensor_bmm: it is called xt_bmm(x, y) here")
#define xt_tensor_bool XT_SPELLED_("xt_tensor_bool: a dtype is given: xt_cast(x, XT_BOOL)")
#define xt_tensor_broadcast_to XT_SPELLED_("xt_tensor_broadcast_to: it is called xt_broadcast_to(x, dims, ...) here")
#define xt_tensor_byte XT_SPELLED_("xt_tensor_byte: here it is xt_cast(x, dtype)")
#define xt_tensor_cauchy_ XT_SPELLED_("xt_tensor_cauchy_: here it is xt_dist_sample of xt_cauchy_dist, \
xt_log_normal_dist")
#define xt_tensor_ccol_indices XT_SPELLED_("xt_tensor_ccol_indices: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_cdouble XT_SPELLED_("xt_tensor_cdouble: here it is xt_cast(x, dtype)")
#define xt_tensor_ceil XT_SPELLED_("xt_tensor_ceil: it is called xt_ceil(x) here")
#define xt_tensor_ceil_ XT_SPELLED_("xt_tensor_ceil_: a value never changes: xt_ceil")
#define xt_tensor_cfloat XT_SPELLED_("xt_tensor_cfloat: here it is xt_cast(x, dtype)")
#define xt_tensor_chalf XT_SPELLED_("xt_tensor_chalf: not there: there is no complex number of halves")
#define xt_tensor_char XT_SPELLED_("xt_tensor_char: here it is xt_cast(x, dtype)")
#define xt_tensor_cholesky XT_SPELLED_("xt_tensor_cholesky: it is called xt_cholesky here")
#define xt_tensor_cholesky_inverse XT_SPELLED_("xt_tensor_cholesky_inverse: it is called xt_cholesky_inverse here")
#define xt_tensor_cholesky_solve XT_SPELLED_("xt_tensor_cholesky_solve: it is called xt_cholesky_solve(y, l, ...) \
here")
#define xt_tensor_chunk XT_SPELLED_("xt_tensor_chunk: it is called xt_chunk(x, parts, axis, out) here")
#define xt_tensor_clamp XT_SPELLED_("xt_tensor_clamp: it is called xt_clamp(x, lo, hi) here")
#define xt_tensor_clamp_ XT_SPELLED_("xt_tensor_clamp_: a value never changes: xt_clamp")
#define xt_tensor_clamp_max XT_SPELLED_("xt_tensor_clamp_max: it is called xt_clamp_max(x, hi) here")
#define xt_tensor_clamp_max_ XT_SPELLED_("xt_tensor_clamp_max_: a value never changes: xt_clamp_max")
#define xt_tensor_clamp_min XT_SPELLED_("xt_tensor_clamp_min: it is called xt_clamp_min(x, lo) here")
#define xt_tensor_clamp_min_ XT_SPELLED_("xt_tensor_clamp_min_: a value never changes: xt_clamp_min")
#define xt_tensor_clip XT_SPELLED_("xt_tensor_clip: it is called xt_clip(x, lo, hi) here")
#define xt_tensor_clip_ XT_SPELLED_("xt_tensor_clip_: a value never changes: xt_clip")
#define xt_tensor_clone XT_SPELLED_("xt_tensor_clone: a value never changes: t itself is as good as a copy")
#define xt_tensor_coalesce XT_SPELLED_("xt_tensor_coalesce: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_col_indices XT_SPELLED_("xt_tensor_col_indices: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_conj XT_SPELLED_("xt_tensor_conj: it is called xt_conj(x) here")
#define xt_tensor_conj_physical XT_SPELLED_("xt_tensor_conj_physical: every result is a value of its own, without \
strides")
#define xt_tensor_conj_physical_ XT_SPELLED_("xt_tensor_conj_physical_: every result is a value of its own, without \
strides")
#define xt_tensor_contiguous XT_SPELLED_("xt_tensor_contiguous: tensors have no strides, t itself is contiguous")
#define xt_tensor_copy_ XT_SPELLED_("xt_tensor_copy_: a value never changes: assign the new tensor to the variable; \
states: xt_assign")
#define xt_tensor_copysign XT_SPELLED_("xt_tensor_copysign: it is called xt_copysign(x, y) here")
#define xt_tensor_copysign_ XT_SPELLED_("xt_tensor_copysign_: a value never changes: xt_copysign")
#define xt_tensor_corrcoef XT_SPELLED_("xt_tensor_corrcoef: it is called xt_corrcoef(x) here")
#define xt_tensor_cos XT_SPELLED_("xt_tensor_cos: it is called xt_cos(x) here")
#define xt_tensor_cos_ XT_SPELLED_("xt_tensor_cos_: a value never changes: xt_cos")
#define xt_tensor_cosh XT_SPELLED_("xt_tensor_cosh: it is called xt_cosh(x) here")
#define xt_tensor_cosh_ XT_SPELLED_("xt_tensor_cosh_: a value never changes: xt_cosh")
#define xt_tensor_count_nonzero XT_SPELLED_("xt_tensor_count_nonzero: it is called xt_count_nonzero here")
#define xt_tensor_cov XT_SPELLED_("xt_tensor_cov: it is called xt_cov here")
#define xt_tensor_cpu XT_SPELLED_("xt_tensor_cpu: one device per process; xt_read(t, memory, bytes) copies a tensor to \
the host")
#define xt_tensor_cross XT_SPELLED_("xt_tensor_cross: it is called xt_cross here")
#define xt_tensor_crow_indices XT_SPELLED_("xt_tensor_crow_indices: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_cuda XT_SPELLED_("xt_tensor_cuda: one device per process, XT_DEVICE=cuda names it; nothing is moved \
by hand")
#define xt_tensor_cummax XT_SPELLED_("xt_tensor_cummax: it is called xt_cummax(x, axis, out_values, out_indices) here")
#define xt_tensor_cummin XT_SPELLED_("xt_tensor_cummin: it is called xt_cummin(x, axis, out_values, out_indices) here")
#define xt_tensor_cumprod XT_SPELLED_("xt_tensor_cumprod: it is called xt_cumprod(x, axis) here")
#define xt_tensor_cumprod_ XT_SPELLED_("xt_tensor_cumprod_: a value never changes: xt_cumprod")
#define xt_tensor_cumsum XT_SPELLED_("xt_tensor_cumsum: it is called xt_cumsum(x, axis) here")
#define xt_tensor_cumsum_ XT_SPELLED_("xt_tensor_cumsum_: a value never changes: xt_cumsum")
#define xt_tensor_data XT_SPELLED_("xt_tensor_data: done otherwise: xt_detach(x); a new value of a parameter: \
xt_assign")
#define xt_tensor_data_ptr XT_SPELLED_("xt_tensor_data_ptr: there are no strides and no storages to look at")
#define xt_tensor_dataset XT_SPELLED_("xt_tensor_dataset: it is called xt_array_dataset here")
#define xt_tensor_deg2rad XT_SPELLED_("xt_tensor_deg2rad: it is called xt_deg2rad(x) here")
#define xt_tensor_deg2rad_ XT_SPELLED_("xt_tensor_deg2rad_: a value never changes: xt_deg2rad")
#define xt_tensor_dense_dim XT_SPELLED_("xt_tensor_dense_dim: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_dequantize XT_SPELLED_("xt_tensor_dequantize: not there: there are no quantized tensors: xt_quantize \
makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_tensor_det XT_SPELLED_("xt_tensor_det: it is called xt_det(a) here")
#define xt_tensor_detach XT_SPELLED_("xt_tensor_detach: it is called xt_detach(x) here")
#define xt_tensor_detach_ XT_SPELLED_("xt_tensor_detach_: a value never changes: x = xt_detach(x)")
#define xt_tensor_device XT_SPELLED_("xt_tensor_device: one device per process, XT_DEVICE names it")
#define xt_tensor_diag XT_SPELLED_("xt_tensor_diag: it is called xt_diag here")
#define xt_tensor_diag_embed XT_SPELLED_("xt_tensor_diag_embed: it is called xt_diag_embed here")
#define xt_tensor_diagflat XT_SPELLED_("xt_tensor_diagflat: it is called xt_diagflat here")
#define xt_tensor_diagonal XT_SPELLED_("xt_tensor_diagonal: it is called xt_diagonal here")
#define xt_tensor_diagonal_scatter XT_SPELLED_("xt_tensor_diagonal_scatter: here it is xt_where with xt_eye")
#define xt_tensor_diff XT_SPELLED_("xt_tensor_diff: it is called xt_diff here")
#define xt_tensor_digamma XT_SPELLED_("xt_tensor_digamma: it is called xt_digamma(x) here")
#define xt_tensor_digamma_ XT_SPELLED_("xt_tensor_digamma_: a value never changes: xt_digamma")
#define xt_tensor_dim XT_SPELLED_("xt_tensor_dim: it is called xt_rank_of here")
#define xt_tensor_dim_order XT_SPELLED_("xt_tensor_dim_order: every result is a value of its own, without strides")
#define xt_tensor_dist XT_SPELLED_("xt_tensor_dist: here it is xt_norm of xt_minus(x, y)")
#define xt_tensor_div XT_SPELLED_("xt_tensor_div: it is called xt_div(x, y) here")
#define xt_tensor_div_ XT_SPELLED_("xt_tensor_div_: a value never changes: xt_div")
#define xt_tensor_divide XT_SPELLED_("xt_tensor_divide: it is called xt_divide(x, y) here")
#define xt_tensor_divide_ XT_SPELLED_("xt_tensor_divide_: a value never changes: xt_divide")
#define xt_tensor_dot XT_SPELLED_("xt_tensor_dot: it is called xt_dot(x, y) here")
#define xt_tensor_double XT_SPELLED_("xt_tensor_double: a dtype is given: xt_cast(x, XT_F64)")
#define xt_tensor_dsplit XT_SPELLED_("xt_tensor_dsplit: it is called xt_tensor_split(x, parts, 2, out) here")
#define xt_tensor_dtype XT_SPELLED_("xt_tensor_dtype: done otherwise: xt_dtype_of")
#define xt_tensor_eig XT_SPELLED_("xt_tensor_eig: it is called xt_linalg_eig(a, out_values, out_vectors) here")
#define xt_tensor_element_size XT_SPELLED_("xt_tensor_element_size: there are no strides and no storages to look at")
#define xt_tensor_eq XT_SPELLED_("xt_tensor_eq: it is called xt_eq(x, y) here")
#define xt_tensor_eq_ XT_SPELLED_("xt_tensor_eq_: a value never changes: xt_eq")
#define xt_tensor_equal XT_SPELLED_("xt_tensor_equal: it is called xt_equal(x, y) here")
#define xt_tensor_erf XT_SPELLED_("xt_tensor_erf: it is called xt_erf(x) here")
#define xt_tensor_erf_ XT_SPELLED_("xt_tensor_erf_: a value never changes: xt_erf")
#define xt_tensor_erfc XT_SPELLED_("xt_tensor_erfc: it is called xt_erfc(x) here")
#define xt_tensor_erfc_ XT_SPELLED_("xt_tensor_erfc_: a value never changes: xt_erfc")
#define xt_tensor_erfinv XT_SPELLED_("xt_tensor_erfinv: it is called xt_erfinv(x) here")
#define xt_tensor_erfinv_ XT_SPELLED_("xt_tensor_erfinv_: a value never changes: xt_erfinv")
#define xt_tensor_exp XT_SPELLED_("xt_tensor_exp: it is called xt_exp(x) here")
#define xt_tensor_exp2 XT_SPELLED_("xt_tensor_exp2: it is called xt_exp2(x) here")
#define xt_tensor_exp2_ XT_SPELLED_("xt_tensor_exp2_: a value never changes: xt_exp2")
#define xt_tensor_exp_ XT_SPELLED_("xt_tensor_exp_: a value never changes: xt_exp")
#define xt_tensor_expand XT_SPELLED_("xt_tensor_expand: it is called xt_broadcast_to(x, dims, ...) here")
#define xt_tensor_expand_as XT_SPELLED_("xt_tensor_expand_as: it is called xt_expand_as(x, other) here")
#define xt_tensor_expm1 XT_SPELLED_("xt_tensor_expm1: it is called xt_expm1(x) here")
#define xt_tensor_expm1_ XT_SPELLED_("xt_tensor_expm1_: a value never changes: xt_expm1")
#define xt_tensor_exponential_ XT_SPELLED_("xt_tensor_exponential_: it is called xt_exponential(rate, dtype, ...) \
here")
#define xt_tensor_fill_ XT_SPELLED_("xt_tensor_fill_: a value never changes: xt_full_like(t, v)")
#define xt_tensor_fill_diagonal_ XT_SPELLED_("xt_tensor_fill_diagonal_: here it is xt_where with xt_eye")
#define xt_tensor_fix XT_SPELLED_("xt_tensor_fix: it is called xt_fix(x) here")
#define xt_tensor_fix_ XT_SPELLED_("xt_tensor_fix_: a value never changes: xt_fix")
#define xt_tensor_flatten XT_SPELLED_("xt_tensor_flatten: it is called xt_flatten here")
#define xt_tensor_flip XT_SPELLED_("xt_tensor_flip: it is called xt_flip(x, axes) here")
#define xt_tensor_fliplr XT_SPELLED_("xt_tensor_fliplr: it is called xt_fliplr(x) here")
#define xt_tensor_flipud XT_SPELLED_("xt_tensor_flipud: it is called xt_flipud(x) here")
#define xt_tensor_float XT_SPELLED_("xt_tensor_float: it is called xt_cast(t, XT_F32) here")
#define xt_tensor_float_power XT_SPELLED_("xt_tensor_float_power: it is called xt_float_power(x, y) here")
#define xt_tensor_float_power_ XT_SPELLED_("xt_tensor_float_power_: a value never changes: xt_float_power")
#define xt_tensor_floor XT_SPELLED_("xt_tensor_floor: it is called xt_floor(x) here")
#define xt_tensor_floor_ XT_SPELLED_("xt_tensor_floor_: a value never changes: xt_floor")
#define xt_tensor_floor_divide XT_SPELLED_("xt_tensor_floor_divide: it is called xt_floor_divide(x, y) here")
#define xt_tensor_floor_divide_ XT_SPELLED_("xt_tensor_floor_divide_: a value never changes: xt_floor_divide")
#define xt_tensor_fmax XT_SPELLED_("xt_tensor_fmax: it is called xt_fmax(x, y) here")
#define xt_tensor_fmin XT_SPELLED_("xt_tensor_fmin: it is called xt_fmin(x, y) here")
#define xt_tensor_fmod XT_SPELLED_("xt_tensor_fmod: it is called xt_fmod(x, y) here")
#define xt_tensor_fmod_ XT_SPELLED_("xt_tensor_fmod_: a value never changes: xt_fmod")
#define xt_tensor_frac XT_SPELLED_("xt_tensor_frac: it is called xt_frac(x) here")
#define xt_tensor_frac_ XT_SPELLED_("xt_tensor_frac_: a value never changes: xt_frac")
#define xt_tensor_frexp XT_SPELLED_("xt_tensor_frexp: it is called xt_frexp(x, out_mantissa, out_exponent) here")
#define xt_tensor_gather XT_SPELLED_("xt_tensor_gather: it is called xt_gather(x, axis, index) here")
#define xt_tensor_gcd XT_SPELLED_("xt_tensor_gcd: it is called xt_gcd(x, y) here")
#define xt_tensor_gcd_ XT_SPELLED_("xt_tensor_gcd_: a value never changes: xt_gcd")
#define xt_tensor_ge XT_SPELLED_("xt_tensor_ge: it is called xt_ge(x, y) here")
#define xt_tensor_ge_ XT_SPELLED_("xt_tensor_ge_: a value never changes: xt_ge")
#define xt_tensor_geometric_ XT_SPELLED_("xt_tensor_geometric_: here it is 1 more than xt_dist_sample of \
xt_geometric_dist, which counts the failures")
#define xt_tensor_geqrf XT_SPELLED_("xt_tensor_geqrf: not there: LAPACK's own form: xt_linalg_qr, xt_linalg_eigh")
#define xt_tensor_ger XT_SPELLED_("xt_tensor_ger: it is called xt_ger(x, y) here")
#define xt_tensor_get_device XT_SPELLED_("xt_tensor_get_device: one device per process, batches arrive on it; dtypes: \
xt_cast")
#define xt_tensor_grad XT_SPELLED_("xt_tensor_grad: it is called xt_grad(t) here")
#define xt_tensor_grad_fn XT_SPELLED_("xt_tensor_grad_fn: it is called xt_grad_fn here")
#define xt_tensor_greater XT_SPELLED_("xt_tensor_greater: it is called xt_greater(x, y) here")
#define xt_tensor_greater_ XT_SPELLED_("xt_tensor_greater_: a value never changes: xt_greater")
#define xt_tensor_greater_equal XT_SPELLED_("xt_tensor_greater_equal: it is called xt_greater_equal(x, y) here")
#define xt_tensor_greater_equal_ XT_SPELLED_("xt_tensor_greater_equal_: a value never changes: xt_greater_equal")
#define xt_tensor_gt XT_SPELLED_("xt_tensor_gt: it is called xt_gt(x, y) here")
#define xt_tensor_gt_ XT_SPELLED_("xt_tensor_gt_: a value never changes: xt_gt")
#define xt_tensor_h XT_SPELLED_("xt_tensor_h: here it is xt_adjoint(x)")
#define xt_tensor_half XT_SPELLED_("xt_tensor_half: it is called xt_cast(t, XT_F16) here")
#define xt_tensor_hardshrink XT_SPELLED_("xt_tensor_hardshrink: it is called xt_hardshrink here")
#define xt_tensor_has_names XT_SPELLED_("xt_tensor_has_names: not there: dims have numbers and no names: xt_permute, \
xt_movedim")
#define xt_tensor_hash_tensor XT_SPELLED_("xt_tensor_hash_tensor: internal to PyTorch")
#define xt_tensor_heaviside XT_SPELLED_("xt_tensor_heaviside: it is called xt_heaviside(x, y) here")
#define xt_tensor_heaviside_ XT_SPELLED_("xt_tensor_heaviside_: a value never changes: xt_heaviside")
#define xt_tensor_histc XT_SPELLED_("xt_tensor_histc: it is called xt_histc(x, bins, lo, hi) here")
#define xt_tensor_histogram XT_SPELLED_("xt_tensor_histogram: it is called xt_histogram(x, bins, out_hist, out_edges, \
...) here")
#define xt_tensor_hsplit XT_SPELLED_("xt_tensor_hsplit: it is called xt_tensor_split(x, parts, 1, out) here")
#define xt_tensor_hypot XT_SPELLED_("xt_tensor_hypot: it is called xt_hypot(x, y) here")
#define xt_tensor_hypot_ XT_SPELLED_("xt_tensor_hypot_: a value never changes: xt_hypot")
#define xt_tensor_i0 XT_SPELLED_("xt_tensor_i0: it is called xt_i0(x) here")
#define xt_tensor_i0_ XT_SPELLED_("xt_tensor_i0_: a value never changes: xt_i0")
#define xt_tensor_igamma XT_SPELLED_("xt_tensor_igamma: it is called xt_igamma(a, x) here")
#define xt_tensor_igamma_ XT_SPELLED_("xt_tensor_igamma_: a value never changes: xt_igamma")
#define xt_tensor_igammac XT_SPELLED_("xt_tensor_igammac: it is called xt_igammac(a, x) here")
#define xt_tensor_igammac_ XT_SPELLED_("xt_tensor_igammac_: a value never changes: xt_igammac")
#define xt_tensor_imag XT_SPELLED_("xt_tensor_imag: it is called xt_imag(x) here")
#define xt_tensor_index_add XT_SPELLED_("xt_tensor_index_add: it is called xt_index_add(x, axis, index, updates, ...) \
here")
#define xt_tensor_index_add_ XT_SPELLED_("xt_tensor_index_add_: a value never changes: x = xt_index_add(x, ...)")
#define xt_tensor_index_copy XT_SPELLED_("xt_tensor_index_copy: it is called xt_index_copy(x, axis, index, updates) \
here")
#define xt_tensor_index_copy_ XT_SPELLED_("xt_tensor_index_copy_: a value never changes: xt_index_copy")
#define xt_tensor_index_fill XT_SPELLED_("xt_tensor_index_fill: it is called xt_index_fill(x, axis, index, value) \
here")
#define xt_tensor_index_fill_ XT_SPELLED_("xt_tensor_index_fill_: a value never changes: xt_index_fill")
#define xt_tensor_index_put XT_SPELLED_("xt_tensor_index_put: it is called xt_index_put(x, n, indices, values, ...) \
here")
#define xt_tensor_index_put_ XT_SPELLED_("xt_tensor_index_put_: a value never changes: xt_index_put")
#define xt_tensor_index_reduce XT_SPELLED_("xt_tensor_index_reduce: it is called xt_index_reduce here")
#define xt_tensor_index_reduce_ XT_SPELLED_("xt_tensor_index_reduce_: a value never changes: x = xt_index_reduce(x, \
axis, index, updates, how)")
#define xt_tensor_index_select XT_SPELLED_("xt_tensor_index_select: it is called xt_index_select(x, axis, index) here")
#define xt_tensor_indices XT_SPELLED_("xt_tensor_indices: not there: a sparse matrix is no tensor here: xt_sparse_coo \
and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_inner XT_SPELLED_("xt_tensor_inner: it is called xt_inner(x, y) here")
#define xt_tensor_int XT_SPELLED_("xt_tensor_int: a dtype is given: xt_cast(x, XT_I32)")
#define xt_tensor_int_repr XT_SPELLED_("xt_tensor_int_repr: not there: there are no quantized tensors: xt_quantize \
makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_tensor_inverse XT_SPELLED_("xt_tensor_inverse: it is called xt_inverse(a) here")
#define xt_tensor_ipu XT_SPELLED_("xt_tensor_ipu: one device per process, batches arrive on it; dtypes: xt_cast")
#define xt_tensor_is_coalesced XT_SPELLED_("xt_tensor_is_coalesced: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_is_complex XT_SPELLED_("xt_tensor_is_complex: done otherwise: xt_dtype_of")
#define xt_tensor_is_conj XT_SPELLED_("xt_tensor_is_conj: a C program knows what it has: xt_rank_of, xt_dim")
#define xt_tensor_is_contiguous XT_SPELLED_("xt_tensor_is_contiguous: every result is a value of its own, without \
strides")
#define xt_tensor_is_cpu XT_SPELLED_("xt_tensor_is_cpu: one device per process: XT_DEVICE")
#define xt_tensor_is_cuda XT_SPELLED_("xt_tensor_is_cuda: one device per process, XT_DEVICE names it")
#define xt_tensor_is_distributed XT_SPELLED_("xt_tensor_is_distributed: a C program knows what it has: xt_rank_of, \
xt_dim")
#define xt_tensor_is_floating_point XT_SPELLED_("xt_tensor_is_floating_point: done otherwise: xt_dtype_of")
#define xt_tensor_is_inference XT_SPELLED_("xt_tensor_is_inference: a C program knows what it has: xt_rank_of, xt_dim")
#define xt_tensor_is_ipu XT_SPELLED_("xt_tensor_is_ipu: one device per process: XT_DEVICE")
#define xt_tensor_is_leaf XT_SPELLED_("xt_tensor_is_leaf: a C program knows what it has: xt_rank_of, xt_dim")
#define xt_tensor_is_maia XT_SPELLED_("xt_tensor_is_maia: one device per process: XT_DEVICE")
#define xt_tensor_is_meta XT_SPELLED_("xt_tensor_is_meta: one device per process: XT_DEVICE")
#define xt_tensor_is_mkldnn XT_SPELLED_("xt_tensor_is_mkldnn: internal to PyTorch, or of tensors that are not there")
#define xt_tensor_is_mps XT_SPELLED_("xt_tensor_is_mps: one device per process: XT_DEVICE")
#define xt_tensor_is_mtia XT_SPELLED_("xt_tensor_is_mtia: one device per process: XT_DEVICE")
#define xt_tensor_is_neg XT_SPELLED_("xt_tensor_is_neg: a C program knows what it has: xt_rank_of, xt_dim")
#define xt_tensor_is_nested XT_SPELLED_("xt_tensor_is_nested: internal to PyTorch, or of tensors that are not there")
#define xt_tensor_is_nonzero XT_SPELLED_("xt_tensor_is_nonzero: done otherwise: xt_item(t) != 0")
#define xt_tensor_is_pinned XT_SPELLED_("xt_tensor_is_pinned: one device per process, batches arrive on it; dtypes: \
xt_cast")
#define xt_tensor_is_quantized XT_SPELLED_("xt_tensor_is_quantized: not there: there are no quantized tensors: \
xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_tensor_is_same_size XT_SPELLED_("xt_tensor_is_same_size: a C program knows what it has: xt_rank_of, xt_dim")
#define xt_tensor_is_set_to XT_SPELLED_("xt_tensor_is_set_to: there are no strides and no storages to look at")
#define xt_tensor_is_shared XT_SPELLED_("xt_tensor_is_shared: there are no strides and no storages to look at")
#define xt_tensor_is_signed XT_SPELLED_("xt_tensor_is_signed: done otherwise: xt_dtype_of")
#define xt_tensor_is_sparse XT_SPELLED_("xt_tensor_is_sparse: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_is_sparse_csr XT_SPELLED_("xt_tensor_is_sparse_csr: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_is_vulkan XT_SPELLED_("xt_tensor_is_vulkan: one device per process: XT_DEVICE")
#define xt_tensor_is_xla XT_SPELLED_("xt_tensor_is_xla: one device per process: XT_DEVICE")
#define xt_tensor_is_xpu XT_SPELLED_("xt_tensor_is_xpu: one device per process: XT_DEVICE")
#define xt_tensor_isclose XT_SPELLED_("xt_tensor_isclose: it is called xt_isclose(x, y, ...) here")
#define xt_tensor_isfinite XT_SPELLED_("xt_tensor_isfinite: it is called xt_isfinite(x) here")
#define xt_tensor_isinf XT_SPELLED_("xt_tensor_isinf: it is called xt_isinf(x) here")
#define xt_tensor_isnan XT_SPELLED_("xt_tensor_isnan: it is called xt_isnan(x) here")
#define xt_tensor_isneginf XT_SPELLED_("xt_tensor_isneginf: it is called xt_isneginf(x) here")
#define xt_tensor_isposinf XT_SPELLED_("xt_tensor_isposinf: it is called xt_isposinf(x) here")
#define xt_tensor_isreal XT_SPELLED_("xt_tensor_isreal: it is called xt_isreal(x) here")
#define xt_tensor_istft XT_SPELLED_("xt_tensor_istft: it is called xt_istft(x, n_fft, ...) here")
#define xt_tensor_item XT_SPELLED_("xt_tensor_item: it is called xt_item(t) here")
#define xt_tensor_itemsize XT_SPELLED_("xt_tensor_itemsize: here it is xt_dtype_size(xt_dtype_of(x))")
#define xt_tensor_kron XT_SPELLED_("xt_tensor_kron: it is called xt_kron(x, y) here")
#define xt_tensor_kthvalue XT_SPELLED_("xt_tensor_kthvalue: it is called xt_kthvalue(x, k, axis, out_values, \
out_indices) here")
#define xt_tensor_layout XT_SPELLED_("xt_tensor_layout: internal to PyTorch, or of tensors that are not there")
#define xt_tensor_lcm XT_SPELLED_("xt_tensor_lcm: it is called xt_lcm(x, y) here")
#define xt_tensor_lcm_ XT_SPELLED_("xt_tensor_lcm_: a value never changes: xt_lcm")
#define xt_tensor_ldexp XT_SPELLED_("xt_tensor_ldexp: it is called xt_ldexp(x, y) here")
#define xt_tensor_ldexp_ XT_SPELLED_("xt_tensor_ldexp_: a value never changes: xt_ldexp")
#define xt_tensor_le XT_SPELLED_("xt_tensor_le: it is called xt_le(x, y) here")
#define xt_tensor_le_ XT_SPELLED_("xt_tensor_le_: a value never changes: xt_le")
#define xt_tensor_lerp XT_SPELLED_("xt_tensor_lerp: it is called xt_lerp(x, y, weight) here")
#define xt_tensor_lerp_ XT_SPELLED_("xt_tensor_lerp_: a value never changes: xt_lerp")
#define xt_tensor_less XT_SPELLED_("xt_tensor_less: it is called xt_less(x, y) here")
#define xt_tensor_less_ XT_SPELLED_("xt_tensor_less_: a value never changes: xt_less")
#define xt_tensor_less_equal XT_SPELLED_("xt_tensor_less_equal: it is called xt_less_equal(x, y) here")
#define xt_tensor_less_equal_ XT_SPELLED_("xt_tensor_less_equal_: a value never changes: xt_less_equal")
#define xt_tensor_lgamma XT_SPELLED_("xt_tensor_lgamma: it is called xt_lgamma(x) here")
#define xt_tensor_lgamma_ XT_SPELLED_("xt_tensor_lgamma_: a value never changes: xt_lgamma")
#define xt_tensor_log XT_SPELLED_("xt_tensor_log: here it is xt_log_e (xt_log logs a metric)")
#define xt_tensor_log10 XT_SPELLED_("xt_tensor_log10: it is called xt_log10(x) here")
#define xt_tensor_log10_ XT_SPELLED_("xt_tensor_log10_: a value never changes: xt_log10")
#define xt_tensor_log1p XT_SPELLED_("xt_tensor_log1p: it is called xt_log1p(x) here")
#define xt_tensor_log1p_ XT_SPELLED_("xt_tensor_log1p_: a value never changes: xt_log1p")
#define xt_tensor_log2 XT_SPELLED_("xt_tensor_log2: it is called xt_log2(x) here")
#define xt_tensor_log2_ XT_SPELLED_("xt_tensor_log2_: a value never changes: xt_log2")
#define xt_tensor_log_ XT_SPELLED_("xt_tensor_log_: a value never changes: xt_log_e")
#define xt_tensor_log_normal_ XT_SPELLED_("xt_tensor_log_normal_: here it is xt_dist_sample of xt_cauchy_dist, \
xt_log_normal_dist")
#define xt_tensor_log_softmax XT_SPELLED_("xt_tensor_log_softmax: it is called xt_log_softmax(x, axis) here")
#define xt_tensor_logaddexp XT_SPELLED_("xt_tensor_logaddexp: it is called xt_logaddexp(x, y) here")
#define xt_tensor_logaddexp2 XT_SPELLED_("xt_tensor_logaddexp2: it is called xt_logaddexp2(x, y) here")
#define xt_tensor_logcumsumexp XT_SPELLED_("xt_tensor_logcumsumexp: it is called xt_logcumsumexp(x, axis) here")
#define xt_tensor_logdet XT_SPELLED_("xt_tensor_logdet: it is called xt_logdet(a) here")
#define xt_tensor_logical_and XT_SPELLED_("xt_tensor_logical_and: it is called xt_logical_and(x, y) here")
#define xt_tensor_logical_and_ XT_SPELLED_("xt_tensor_logical_and_: a value never changes: xt_logical_and")
#define xt_tensor_logical_not XT_SPELLED_("xt_tensor_logical_not: it is called xt_logical_not(x) here")
#define xt_tensor_logical_not_ XT_SPELLED_("xt_tensor_logical_not_: a value never changes: xt_logical_not")
#define xt_tensor_logical_or XT_SPELLED_("xt_tensor_logical_or: it is called xt_logical_or(x, y) here")
#define xt_tensor_logical_or_ XT_SPELLED_("xt_tensor_logical_or_: a value never changes: xt_logical_or")
#define xt_tensor_logical_xor XT_SPELLED_("xt_tensor_logical_xor: it is called xt_logical_xor(x, y) here")
#define xt_tensor_logical_xor_ XT_SPELLED_("xt_tensor_logical_xor_: a value never changes: xt_logical_xor")
#define xt_tensor_logit XT_SPELLED_("xt_tensor_logit: it is called xt_logit(x) here")
#define xt_tensor_logit_ XT_SPELLED_("xt_tensor_logit_: a value never changes: xt_logit")
#define xt_tensor_logsumexp XT_SPELLED_("xt_tensor_logsumexp: it is called xt_logsumexp here")
#define xt_tensor_long XT_SPELLED_("xt_tensor_long: it is called xt_cast(t, XT_I64) here")
#define xt_tensor_lstsq XT_SPELLED_("xt_tensor_lstsq: it is called xt_lstsq(a, y) here")
#define xt_tensor_lt XT_SPELLED_("xt_tensor_lt: it is called xt_lt(x, y) here")
#define xt_tensor_lt_ XT_SPELLED_("xt_tensor_lt_: a value never changes: xt_lt")
#define xt_tensor_lu XT_SPELLED_("xt_tensor_lu: it is called xt_linalg_lu_factor(a, out_lu, out_rows) here")
#define xt_tensor_lu_solve XT_SPELLED_("xt_tensor_lu_solve: it is called xt_linalg_lu_solve(lu, rows, y) here")
#define xt_tensor_mH XT_SPELLED_("xt_tensor_mH: it is called xt_mH(x) here")
#define xt_tensor_mT XT_SPELLED_("xt_tensor_mT: it is called xt_mT(x) here")
#define xt_tensor_m_h XT_SPELLED_("xt_tensor_m_h: it is called xt_mH(x) here")
#define xt_tensor_m_t XT_SPELLED_("xt_tensor_m_t: it is called xt_mT(x) here")
#define xt_tensor_map2_ XT_SPELLED_("xt_tensor_map2_: not there: a function of Python's for each element would wait \
for the device: ops of whole tensors, xt_where")
#define xt_tensor_map_ XT_SPELLED_("xt_tensor_map_: not there: a function of Python's for each element would wait for \
the device: ops of whole tensors, xt_where")
#define xt_tensor_masked_fill XT_SPELLED_("xt_tensor_masked_fill: it is called xt_masked_fill(x, mask, value) here")
#define xt_tensor_masked_fill_ XT_SPELLED_("xt_tensor_masked_fill_: a value never changes: x = xt_masked_fill(x, mask, \
v)")
#define xt_tensor_masked_scatter XT_SPELLED_("xt_tensor_masked_scatter: it is called xt_masked_scatter(x, mask, \
source) here")
#define xt_tensor_masked_scatter_ XT_SPELLED_("xt_tensor_masked_scatter_: a value never changes: xt_masked_scatter")
#define xt_tensor_masked_select XT_SPELLED_("xt_tensor_masked_select: here it is xt_masked_select(x, mask, size, \
&count)")
#define xt_tensor_matmul XT_SPELLED_("xt_tensor_matmul: it is called xt_matmul(x, y) here")
#define xt_tensor_matrix_exp XT_SPELLED_("xt_tensor_matrix_exp: it is called xt_matrix_exp(a) here")
#define xt_tensor_matrix_power XT_SPELLED_("xt_tensor_matrix_power: it is called xt_matrix_power(a, n) here")
#define xt_tensor_max XT_SPELLED_("xt_tensor_max: it is called xt_max here")
#define xt_tensor_maximum XT_SPELLED_("xt_tensor_maximum: it is called xt_maximum(x, y) here")
#define xt_tensor_mean XT_SPELLED_("xt_tensor_mean: it is called xt_mean here")
#define xt_tensor_median XT_SPELLED_("xt_tensor_median: it is called xt_median(x) here")
#define xt_tensor_mh XT_SPELLED_("xt_tensor_mh: it is called xt_mH(x) here")
#define xt_tensor_min XT_SPELLED_("xt_tensor_min: it is called xt_min here")
#define xt_tensor_minimum XT_SPELLED_("xt_tensor_minimum: it is called xt_minimum(x, y) here")
#define xt_tensor_mm XT_SPELLED_("xt_tensor_mm: it is called xt_mm(x, y) here")
#define xt_tensor_mode XT_SPELLED_("xt_tensor_mode: it is called xt_mode(x, axis, out_values, out_indices) here")
#define xt_tensor_module_load XT_SPELLED_("xt_tensor_module_load: classes of Python's")
#define xt_tensor_moveaxis XT_SPELLED_("xt_tensor_moveaxis: it is called xt_moveaxis(x, from, to) here")
#define xt_tensor_movedim XT_SPELLED_("xt_tensor_movedim: it is called xt_movedim(x, from, to) here")
#define xt_tensor_msort XT_SPELLED_("xt_tensor_msort: it is called xt_msort(x) here")
#define xt_tensor_mt XT_SPELLED_("xt_tensor_mt: it is called xt_mT(x) here")
#define xt_tensor_mtia XT_SPELLED_("xt_tensor_mtia: one device per process, batches arrive on it; dtypes: xt_cast")
#define xt_tensor_mul XT_SPELLED_("xt_tensor_mul: it is called xt_mul(x, y) here")
#define xt_tensor_mul_ XT_SPELLED_("xt_tensor_mul_: a value never changes: xt_mul")
#define xt_tensor_multinomial XT_SPELLED_("xt_tensor_multinomial: it is called xt_multinomial(weights, n, ...) here")
#define xt_tensor_multiply XT_SPELLED_("xt_tensor_multiply: it is called xt_multiply(x, y) here")
#define xt_tensor_multiply_ XT_SPELLED_("xt_tensor_multiply_: a value never changes: xt_multiply")
#define xt_tensor_mv XT_SPELLED_("xt_tensor_mv: it is called xt_mv(x, y) here")
#define xt_tensor_mvlgamma XT_SPELLED_("xt_tensor_mvlgamma: it is called xt_mvlgamma(x, p) here")
#define xt_tensor_mvlgamma_ XT_SPELLED_("xt_tensor_mvlgamma_: a value never changes: xt_mvlgamma")
#define xt_tensor_name XT_SPELLED_("xt_tensor_name: internal to PyTorch, or of tensors that are not there")
#define xt_tensor_names XT_SPELLED_("xt_tensor_names: internal to PyTorch, or of tensors that are not there")
#define xt_tensor_nan_to_num XT_SPELLED_("xt_tensor_nan_to_num: it is called xt_nan_to_num(x) here")
#define xt_tensor_nan_to_num_ XT_SPELLED_("xt_tensor_nan_to_num_: a value never changes: xt_nan_to_num")
#define xt_tensor_nanmean XT_SPELLED_("xt_tensor_nanmean: it is called xt_nanmean here")
#define xt_tensor_nanmedian XT_SPELLED_("xt_tensor_nanmedian: it is called xt_nanmedian(x) here")
#define xt_tensor_nanquantile XT_SPELLED_("xt_tensor_nanquantile: it is called xt_nanquantile(x, q, axis, ...) here")
#define xt_tensor_nansum XT_SPELLED_("xt_tensor_nansum: it is called xt_nansum here")
#define xt_tensor_narrow XT_SPELLED_("xt_tensor_narrow: it is called xt_narrow(x, axis, start, length) here")
#define xt_tensor_narrow_copy XT_SPELLED_("xt_tensor_narrow_copy: it is called xt_narrow(x, axis, start, length) here")
#define xt_tensor_nbytes XT_SPELLED_("xt_tensor_nbytes: here it is xt_numel(x) times xt_dtype_size(xt_dtype_of(x))")
#define xt_tensor_ndim XT_SPELLED_("xt_tensor_ndim: it is called xt_rank_of(t) here")
#define xt_tensor_ndimension XT_SPELLED_("xt_tensor_ndimension: it is called xt_rank_of here")
#define xt_tensor_ne XT_SPELLED_("xt_tensor_ne: it is called xt_ne(x, y) here")
#define xt_tensor_ne_ XT_SPELLED_("xt_tensor_ne_: a value never changes: xt_ne")
#define xt_tensor_neg XT_SPELLED_("xt_tensor_neg: it is called xt_neg(x) here")
#define xt_tensor_neg_ XT_SPELLED_("xt_tensor_neg_: a value never changes: xt_neg")
#define xt_tensor_negative XT_SPELLED_("xt_tensor_negative: it is called xt_negative(x) here")
#define xt_tensor_negative_ XT_SPELLED_("xt_tensor_negative_: a value never changes: xt_negative")
#define xt_tensor_nelement XT_SPELLED_("xt_tensor_nelement: it is called xt_numel(t) here")
#define xt_tensor_new XT_SPELLED_("xt_tensor_new: here it is xt_from_array, xt_from_data")
#define xt_tensor_new_empty XT_SPELLED_("xt_tensor_new_empty: here it is xt_zeros, xt_ones, xt_full with \
xt_dtype_of(x)")
#define xt_tensor_new_empty_strided XT_SPELLED_("xt_tensor_new_empty_strided: memory without values does not exist: \
xt_zeros")
#define xt_tensor_new_full XT_SPELLED_("xt_tensor_new_full: here it is xt_zeros, xt_ones, xt_full with xt_dtype_of(x)")
#define xt_tensor_new_ones XT_SPELLED_("xt_tensor_new_ones: it is called xt_ones(xt_dtype_of(t), dims) here")
#define xt_tensor_new_tensor XT_SPELLED_("xt_tensor_new_tensor: here it is xt_from_array, xt_from_data")
#define xt_tensor_new_zeros XT_SPELLED_("xt_tensor_new_zeros: it is called xt_zeros(xt_dtype_of(t), dims) here")
#define xt_tensor_nextafter XT_SPELLED_("xt_tensor_nextafter: it is called xt_nextafter(x, y) here")
#define xt_tensor_nextafter_ XT_SPELLED_("xt_tensor_nextafter_: a value never changes: xt_nextafter")
#define xt_tensor_nonzero XT_SPELLED_("xt_tensor_nonzero: here it is xt_nonzero(x, size, &count)")
#define xt_tensor_nonzero_static XT_SPELLED_("xt_tensor_nonzero_static: here it is xt_nonzero(x, size, &count)")
#define xt_tensor_norm XT_SPELLED_("xt_tensor_norm: it is called xt_norm here")
#define xt_tensor_normal_ XT_SPELLED_("xt_tensor_normal_: it is called xt_init_normal(m, pattern) here; values are \
drawn by xt_randn")
#define xt_tensor_not_equal XT_SPELLED_("xt_tensor_not_equal: it is called xt_not_equal(x, y) here")
#define xt_tensor_not_equal_ XT_SPELLED_("xt_tensor_not_equal_: a value never changes: xt_not_equal")
#define xt_tensor_numel XT_SPELLED_("xt_tensor_numel: it is called xt_numel here")
#define xt_tensor_numpy XT_SPELLED_("xt_tensor_numpy: xt_read(t, memory, bytes) copies a tensor to the host, \
xt_item(t) one number")
#define xt_tensor_orgqr XT_SPELLED_("xt_tensor_orgqr: it is called xt_orgqr(v, tau) here")
#define xt_tensor_ormqr XT_SPELLED_("xt_tensor_ormqr: not there: LAPACK's own form: xt_linalg_qr, xt_linalg_eigh")
#define xt_tensor_outer XT_SPELLED_("xt_tensor_outer: it is called xt_outer(x, y) here")
#define xt_tensor_output_nr XT_SPELLED_("xt_tensor_output_nr: internal to PyTorch, or of tensors that are not there")
#define xt_tensor_permute XT_SPELLED_("xt_tensor_permute: it is called xt_permute here")
#define xt_tensor_pin_memory XT_SPELLED_("xt_tensor_pin_memory: loaders put batches onto the device ahead of the step")
#define xt_tensor_pinverse XT_SPELLED_("xt_tensor_pinverse: it is called xt_pinverse here")
#define xt_tensor_polygamma XT_SPELLED_("xt_tensor_polygamma: it is called xt_polygamma(n, x) here")
#define xt_tensor_polygamma_ XT_SPELLED_("xt_tensor_polygamma_: a value never changes: xt_polygamma")
#define xt_tensor_positive XT_SPELLED_("xt_tensor_positive: every result is a value of its own, without strides")
#define xt_tensor_pow XT_SPELLED_("xt_tensor_pow: it is called xt_pow(x, y) here")
#define xt_tensor_pow_ XT_SPELLED_("xt_tensor_pow_: a value never changes: xt_pow")
#define xt_tensor_prelu XT_SPELLED_("xt_tensor_prelu: it is called xt_prelu(m, name, x, ...) here")
#define xt_tensor_print XT_SPELLED_("xt_tensor_print: it is called xt_print(x) here")
#define xt_tensor_prod XT_SPELLED_("xt_tensor_prod: it is called xt_prod here")
#define xt_tensor_put XT_SPELLED_("xt_tensor_put: it is called xt_put(x, index, values, ...) here")
#define xt_tensor_put_ XT_SPELLED_("xt_tensor_put_: a value never changes: x = xt_put(x, index, values)")
#define xt_tensor_q_per_channel_axis XT_SPELLED_("xt_tensor_q_per_channel_axis: not there: there are no quantized \
tensors: xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_tensor_q_per_channel_scales XT_SPELLED_("xt_tensor_q_per_channel_scales: not there: there are no quantized \
tensors: xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_tensor_q_per_channel_zero_points XT_SPELLED_("xt_tensor_q_per_channel_zero_points: not there: there are no \
quantized tensors: xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_tensor_q_scale XT_SPELLED_("xt_tensor_q_scale: not there: there are no quantized tensors: xt_quantize makes \
a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_tensor_q_zero_point XT_SPELLED_("xt_tensor_q_zero_point: not there: there are no quantized tensors: \
xt_quantize makes a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_tensor_qr XT_SPELLED_("xt_tensor_qr: it is called xt_linalg_qr(x, out_q, out_r, ...) here")
#define xt_tensor_qscheme XT_SPELLED_("xt_tensor_qscheme: not there: there are no quantized tensors: xt_quantize makes \
a module's weights integers, xt_fake_quantize_per_tensor_affine trains for it")
#define xt_tensor_quantile XT_SPELLED_("xt_tensor_quantile: it is called xt_quantile(x, q, axis, ...) here")
#define xt_tensor_rad2deg XT_SPELLED_("xt_tensor_rad2deg: it is called xt_rad2deg(x) here")
#define xt_tensor_rad2deg_ XT_SPELLED_("xt_tensor_rad2deg_: a value never changes: xt_rad2deg")
#define xt_tensor_random_ XT_SPELLED_("xt_tensor_random_: it is called xt_randint(lo, hi, dtype, ...) here")
#define xt_tensor_ravel XT_SPELLED_("xt_tensor_ravel: it is called xt_ravel(x) here")
#define xt_tensor_real XT_SPELLED_("xt_tensor_real: it is called xt_real(x) here")
#define xt_tensor_reciprocal XT_SPELLED_("xt_tensor_reciprocal: it is called xt_reciprocal(x) here")
#define xt_tensor_reciprocal_ XT_SPELLED_("xt_tensor_reciprocal_: a value never changes: xt_reciprocal")
#define xt_tensor_record_stream XT_SPELLED_("xt_tensor_record_stream: one device per process, batches arrive on it; \
dtypes: xt_cast")
#define xt_tensor_refine_names XT_SPELLED_("xt_tensor_refine_names: not there: dims have numbers and no names: \
xt_permute, xt_movedim")
#define xt_tensor_register_hook XT_SPELLED_("xt_tensor_register_hook: there are no hooks: xt_grad(t) after \
xt_backward; a rule of one's own: xt_custom_grad")
#define xt_tensor_register_post_accumulate_grad_hook XT_SPELLED_("xt_tensor_register_post_accumulate_grad_hook: not \
there: functions called by the backward pass; a rule of one's own is xt_custom_grad")
#define xt_tensor_reinforce XT_SPELLED_("xt_tensor_reinforce: not there: functions called by the backward pass; a rule \
of one's own is xt_custom_grad")
#define xt_tensor_relu XT_SPELLED_("xt_tensor_relu: it is called xt_relu(x) here")
#define xt_tensor_relu_ XT_SPELLED_("xt_tensor_relu_: a value never changes: xt_relu")
#define xt_tensor_remainder XT_SPELLED_("xt_tensor_remainder: it is called xt_remainder(x, y) here")
#define xt_tensor_remainder_ XT_SPELLED_("xt_tensor_remainder_: a value never changes: xt_remainder")
#define xt_tensor_rename XT_SPELLED_("xt_tensor_rename: not there: dims have numbers and no names: xt_permute, \
xt_movedim")
#define xt_tensor_rename_ XT_SPELLED_("xt_tensor_rename_: not there: dims have numbers and no names: xt_permute, \
xt_movedim")
#define xt_tensor_renorm XT_SPELLED_("xt_tensor_renorm: it is called xt_renorm(x, p, axis, most) here")
#define xt_tensor_renorm_ XT_SPELLED_("xt_tensor_renorm_: a value never changes: xt_renorm")
#define xt_tensor_repeat XT_SPELLED_("xt_tensor_repeat: it is called xt_repeat(x, times, ...) here")
#define xt_tensor_repeat_interleave XT_SPELLED_("xt_tensor_repeat_interleave: it is called xt_repeat_interleave(x, \
times, axis) here")
#define xt_tensor_requires_grad XT_SPELLED_("xt_tensor_requires_grad: it is called xt_requires_grad(t, on) here")
#define xt_tensor_requires_grad_ XT_SPELLED_("xt_tensor_requires_grad_: it is called xt_requires_grad(t, true) here")
#define xt_tensor_reshape XT_SPELLED_("xt_tensor_reshape: it is called xt_reshape(x, dims, ...) here")
#define xt_tensor_reshape_as XT_SPELLED_("xt_tensor_reshape_as: it is called xt_reshape_as(x, y) here")
#define xt_tensor_resize XT_SPELLED_("xt_tensor_resize: done otherwise: xt_reshape, xt_pad, xt_slice: a value's size \
never changes")
#define xt_tensor_resize_ XT_SPELLED_("xt_tensor_resize_: done otherwise: xt_reshape, xt_pad, xt_slice: a value's size \
never changes")
#define xt_tensor_resize_as XT_SPELLED_("xt_tensor_resize_as: done otherwise: xt_reshape, xt_pad, xt_slice: a value's \
size never changes")
#define xt_tensor_resize_as_ XT_SPELLED_("xt_tensor_resize_as_: done otherwise: xt_reshape, xt_pad, xt_slice: a \
value's size never changes")
#define xt_tensor_resize_as_sparse_ XT_SPELLED_("xt_tensor_resize_as_sparse_: not there: a sparse matrix is no tensor \
here: xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_resolve_conj XT_SPELLED_("xt_tensor_resolve_conj: every result is a value of its own, without \
strides")
#define xt_tensor_resolve_neg XT_SPELLED_("xt_tensor_resolve_neg: every result is a value of its own, without strides")
#define xt_tensor_retain_grad XT_SPELLED_("xt_tensor_retain_grad: it is called xt_retain_grad(t) here")
#define xt_tensor_retains_grad XT_SPELLED_("xt_tensor_retains_grad: here it is xt_retain_grad asks for it")
#define xt_tensor_roll XT_SPELLED_("xt_tensor_roll: it is called xt_roll(x, shifts, axes) here")
#define xt_tensor_rot90 XT_SPELLED_("xt_tensor_rot90: it is called xt_rot90 here")
#define xt_tensor_round XT_SPELLED_("xt_tensor_round: it is called xt_round(x) here")
#define xt_tensor_round_ XT_SPELLED_("xt_tensor_round_: a value never changes: xt_round")
#define xt_tensor_row_indices XT_SPELLED_("xt_tensor_row_indices: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_rsqrt XT_SPELLED_("xt_tensor_rsqrt: it is called xt_rsqrt(x) here")
#define xt_tensor_rsqrt_ XT_SPELLED_("xt_tensor_rsqrt_: a value never changes: xt_rsqrt")
#define xt_tensor_scatter XT_SPELLED_("xt_tensor_scatter: it is called xt_scatter(x, axis, index, updates) here")
#define xt_tensor_scatter_ XT_SPELLED_("xt_tensor_scatter_: a value never changes: x = xt_scatter(x, ...)")
#define xt_tensor_scatter_add XT_SPELLED_("xt_tensor_scatter_add: it is called xt_scatter_add(x, axis, index, updates) \
here")
#define xt_tensor_scatter_add_ XT_SPELLED_("xt_tensor_scatter_add_: a value never changes: x = xt_scatter_add(x, ...)")
#define xt_tensor_scatter_reduce XT_SPELLED_("xt_tensor_scatter_reduce: it is called xt_scatter_reduce here")
#define xt_tensor_scatter_reduce_ XT_SPELLED_("xt_tensor_scatter_reduce_: a value never changes: x = \
xt_scatter_reduce(x, ...)")
#define xt_tensor_select XT_SPELLED_("xt_tensor_select: it is called xt_select(x, axis, index) here")
#define xt_tensor_select_scatter XT_SPELLED_("xt_tensor_select_scatter: it is called xt_select_scatter(x, y, axis, \
index) here")
#define xt_tensor_set_ XT_SPELLED_("xt_tensor_set_: there are no strides and no storages to look at")
#define xt_tensor_sgn XT_SPELLED_("xt_tensor_sgn: it is called xt_sgn(x) here")
#define xt_tensor_sgn_ XT_SPELLED_("xt_tensor_sgn_: a value never changes: xt_sgn")
#define xt_tensor_shape XT_SPELLED_("xt_tensor_shape: it is called xt_dim(t, axis), xt_rank_of(t) here")
#define xt_tensor_share_memory_ XT_SPELLED_("xt_tensor_share_memory_: there are no strides and no storages to look at")
#define xt_tensor_short XT_SPELLED_("xt_tensor_short: here it is xt_cast(x, dtype)")
#define xt_tensor_sigmoid XT_SPELLED_("xt_tensor_sigmoid: it is called xt_sigmoid(x) here")
#define xt_tensor_sigmoid_ XT_SPELLED_("xt_tensor_sigmoid_: a value never changes: xt_sigmoid")
#define xt_tensor_sign XT_SPELLED_("xt_tensor_sign: it is called xt_sign(x) here")
#define xt_tensor_sign_ XT_SPELLED_("xt_tensor_sign_: a value never changes: xt_sign")
#define xt_tensor_signbit XT_SPELLED_("xt_tensor_signbit: it is called xt_signbit(x) here")
#define xt_tensor_sin XT_SPELLED_("xt_tensor_sin: it is called xt_sin(x) here")
#define xt_tensor_sin_ XT_SPELLED_("xt_tensor_sin_: a value never changes: xt_sin")
#define xt_tensor_sinc XT_SPELLED_("xt_tensor_sinc: it is called xt_sinc(x) here")
#define xt_tensor_sinc_ XT_SPELLED_("xt_tensor_sinc_: a value never changes: xt_sinc")
#define xt_tensor_sinh XT_SPELLED_("xt_tensor_sinh: it is called xt_sinh(x) here")
#define xt_tensor_sinh_ XT_SPELLED_("xt_tensor_sinh_: a value never changes: xt_sinh")
#define xt_tensor_size XT_SPELLED_("xt_tensor_size: here it is xt_dim(t, i)")
#define xt_tensor_slice_inverse XT_SPELLED_("xt_tensor_slice_inverse: every result is a value of its own, without \
strides")
#define xt_tensor_slice_scatter XT_SPELLED_("xt_tensor_slice_scatter: it is called xt_slice_scatter(x, y, axis, start, \
stop, step) here")
#define xt_tensor_slogdet XT_SPELLED_("xt_tensor_slogdet: it is called xt_slogdet(a, out_sign, out_logabsdet) here")
#define xt_tensor_smm XT_SPELLED_("xt_tensor_smm: it is called xt_sparse_mm(a, x) here")
#define xt_tensor_softmax XT_SPELLED_("xt_tensor_softmax: it is called xt_softmax(x, axis) here")
#define xt_tensor_solve XT_SPELLED_("xt_tensor_solve: it is called xt_solve(a, y) here")
#define xt_tensor_sort XT_SPELLED_("xt_tensor_sort: it is called xt_sort(x, axis, out_values, out_indices, ...) here")
#define xt_tensor_sparse_dim XT_SPELLED_("xt_tensor_sparse_dim: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_sparse_mask XT_SPELLED_("xt_tensor_sparse_mask: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_sparse_resize_ XT_SPELLED_("xt_tensor_sparse_resize_: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_sparse_resize_and_clear_ XT_SPELLED_("xt_tensor_sparse_resize_and_clear_: not there: a sparse matrix \
is no tensor here: xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_split_with_sizes XT_SPELLED_("xt_tensor_split_with_sizes: it is called xt_split_sizes here")
#define xt_tensor_sqrt XT_SPELLED_("xt_tensor_sqrt: it is called xt_sqrt(x) here")
#define xt_tensor_sqrt_ XT_SPELLED_("xt_tensor_sqrt_: a value never changes: xt_sqrt")
#define xt_tensor_square XT_SPELLED_("xt_tensor_square: it is called xt_square(x) here")
#define xt_tensor_square_ XT_SPELLED_("xt_tensor_square_: a value never changes: xt_square")
#define xt_tensor_squeeze XT_SPELLED_("xt_tensor_squeeze: it is called xt_squeeze here")
#define xt_tensor_squeeze_ XT_SPELLED_("xt_tensor_squeeze_: a value never changes: xt_squeeze")
#define xt_tensor_sspaddmm XT_SPELLED_("xt_tensor_sspaddmm: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_std XT_SPELLED_("xt_tensor_std: it is called xt_std here")
#define xt_tensor_stft XT_SPELLED_("xt_tensor_stft: it is called xt_stft(x, n_fft, ...) here")
#define xt_tensor_storage XT_SPELLED_("xt_tensor_storage: there are no strides and no storages to look at")
#define xt_tensor_storage_offset XT_SPELLED_("xt_tensor_storage_offset: there are no strides and no storages to look \
at")
#define xt_tensor_storage_type XT_SPELLED_("xt_tensor_storage_type: there are no strides and no storages to look at")
#define xt_tensor_stride XT_SPELLED_("xt_tensor_stride: there are no strides and no storages to look at")
#define xt_tensor_sub XT_SPELLED_("xt_tensor_sub: here it is xt_minus (xt_sub names a child module)")
#define xt_tensor_sub_ XT_SPELLED_("xt_tensor_sub_: a value never changes: xt_minus")
#define xt_tensor_subtract XT_SPELLED_("xt_tensor_subtract: here it is xt_minus (xt_sub names a child module)")
#define xt_tensor_subtract_ XT_SPELLED_("xt_tensor_subtract_: a value never changes: xt_minus (xt_sub names a child \
module)")
#define xt_tensor_sum XT_SPELLED_("xt_tensor_sum: it is called xt_sum here")
#define xt_tensor_sum_to_size XT_SPELLED_("xt_tensor_sum_to_size: it is called xt_sum(x, XT_AXES(0), .keepdim = true) \
here")
#define xt_tensor_svd XT_SPELLED_("xt_tensor_svd: it is called xt_linalg_svd(x, out_u, out_s, out_vh, ...) here")
#define xt_tensor_swapaxes XT_SPELLED_("xt_tensor_swapaxes: it is called xt_swapaxes(x, a, b) here")
#define xt_tensor_swapaxes_ XT_SPELLED_("xt_tensor_swapaxes_: a value never changes: xt_swapaxes")
#define xt_tensor_swapdims XT_SPELLED_("xt_tensor_swapdims: it is called xt_swapdims(x, a, b) here")
#define xt_tensor_swapdims_ XT_SPELLED_("xt_tensor_swapdims_: a value never changes: xt_swapdims")
#define xt_tensor_symeig XT_SPELLED_("xt_tensor_symeig: it is called xt_linalg_eigh(x, out_values, out_vectors, ...) \
here")
#define xt_tensor_t XT_SPELLED_("xt_tensor_t: it is called xt_t(x), of more than two dims xt_permute(x, 2, 1, 0) here")
#define xt_tensor_t_ XT_SPELLED_("xt_tensor_t_: a value never changes: xt_t")
#define xt_tensor_take XT_SPELLED_("xt_tensor_take: here it is xt_take(xt_flatten(x, 0), index): xt_take takes rows")
#define xt_tensor_take_along_dim XT_SPELLED_("xt_tensor_take_along_dim: it is called xt_take_along_dim(x, index, axis) \
here")
#define xt_tensor_tan XT_SPELLED_("xt_tensor_tan: it is called xt_tan(x) here")
#define xt_tensor_tan_ XT_SPELLED_("xt_tensor_tan_: a value never changes: xt_tan")
#define xt_tensor_tanh XT_SPELLED_("xt_tensor_tanh: it is called xt_tanh(x) here")
#define xt_tensor_tanh_ XT_SPELLED_("xt_tensor_tanh_: a value never changes: xt_tanh")
#define xt_tensor_tensor_split XT_SPELLED_("xt_tensor_tensor_split: it is called xt_tensor_split(x, parts, axis, out) \
here")
#define xt_tensor_tile XT_SPELLED_("xt_tensor_tile: it is called xt_tile(x, times, ...) here")
#define xt_tensor_to XT_SPELLED_("xt_tensor_to: one device per process, XT_DEVICE names it; to another dtype: \
xt_cast(t, XT_BF16)")
#define xt_tensor_to_dense XT_SPELLED_("xt_tensor_to_dense: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_to_mkldnn XT_SPELLED_("xt_tensor_to_mkldnn: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_to_padded_tensor XT_SPELLED_("xt_tensor_to_padded_tensor: not there: a sparse matrix is no tensor \
here: xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_to_sparse XT_SPELLED_("xt_tensor_to_sparse: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_to_sparse_bsc XT_SPELLED_("xt_tensor_to_sparse_bsc: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_to_sparse_bsr XT_SPELLED_("xt_tensor_to_sparse_bsr: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_to_sparse_coo XT_SPELLED_("xt_tensor_to_sparse_coo: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_to_sparse_csc XT_SPELLED_("xt_tensor_to_sparse_csc: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_to_sparse_csr XT_SPELLED_("xt_tensor_to_sparse_csr: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_tolist XT_SPELLED_("xt_tensor_tolist: xt_read(t, memory, bytes) copies a tensor to the host, \
xt_item(t) one number")
#define xt_tensor_topk XT_SPELLED_("xt_tensor_topk: it is called xt_topk(x, k, axis, out_values, out_indices, ...) \
here")
#define xt_tensor_trace XT_SPELLED_("xt_tensor_trace: it is called xt_trace(x) here")
#define xt_tensor_transpose XT_SPELLED_("xt_tensor_transpose: it is called xt_transpose(x, a, b) here")
#define xt_tensor_transpose_ XT_SPELLED_("xt_tensor_transpose_: a value never changes: xt_transpose")
#define xt_tensor_triangular_solve XT_SPELLED_("xt_tensor_triangular_solve: here it is xt_triangular_solve(a, y): the \
matrix first, a lower one by default")
#define xt_tensor_tril XT_SPELLED_("xt_tensor_tril: it is called xt_tril here")
#define xt_tensor_tril_ XT_SPELLED_("xt_tensor_tril_: a value never changes: xt_tril")
#define xt_tensor_triu XT_SPELLED_("xt_tensor_triu: it is called xt_triu here")
#define xt_tensor_triu_ XT_SPELLED_("xt_tensor_triu_: a value never changes: xt_triu")
#define xt_tensor_true_divide XT_SPELLED_("xt_tensor_true_divide: it is called xt_true_divide(x, y) here")
#define xt_tensor_true_divide_ XT_SPELLED_("xt_tensor_true_divide_: a value never changes: xt_true_divide")
#define xt_tensor_trunc XT_SPELLED_("xt_tensor_trunc: it is called xt_trunc(x) here")
#define xt_tensor_trunc_ XT_SPELLED_("xt_tensor_trunc_: a value never changes: xt_trunc")
#define xt_tensor_type XT_SPELLED_("xt_tensor_type: it is called xt_dtype_of(t); to another one: xt_cast(t, XT_F32) \
here")
#define xt_tensor_type_as XT_SPELLED_("xt_tensor_type_as: a dtype is given: xt_cast(x, xt_dtype_of(y))")
#define xt_tensor_unbind XT_SPELLED_("xt_tensor_unbind: it is called xt_unbind(x, axis, max, out) here")
#define xt_tensor_unflatten XT_SPELLED_("xt_tensor_unflatten: it is called xt_unflatten(x, axis, dims, ...) here")
#define xt_tensor_unfold XT_SPELLED_("xt_tensor_unfold: here it is xt_unfold_axis(x, axis, size, step) (xt_unfold is \
that of images)")
#define xt_tensor_uniform_ XT_SPELLED_("xt_tensor_uniform_: a value never changes: xt_uniform(...); parameters: \
xt_init_uniform(m, \"*.weight\")")
#define xt_tensor_unique XT_SPELLED_("xt_tensor_unique: here it is xt_unique(x, size, .inverse, .counts, \
.consecutive)")
#define xt_tensor_unique_consecutive XT_SPELLED_("xt_tensor_unique_consecutive: it is called xt_unique(x, size, \
.consecutive = true) here")
#define xt_tensor_unsafe_chunk XT_SPELLED_("xt_tensor_unsafe_chunk: it is called xt_chunk here")
#define xt_tensor_unsafe_split XT_SPELLED_("xt_tensor_unsafe_split: internal to PyTorch")
#define xt_tensor_unsafe_split_with_sizes XT_SPELLED_("xt_tensor_unsafe_split_with_sizes: internal to PyTorch")
#define xt_tensor_unsqueeze XT_SPELLED_("xt_tensor_unsqueeze: it is called xt_unsqueeze(x, axis) here")
#define xt_tensor_unsqueeze_ XT_SPELLED_("xt_tensor_unsqueeze_: a value never changes: x = xt_unsqueeze(x, axis)")
#define xt_tensor_untyped_storage XT_SPELLED_("xt_tensor_untyped_storage: there are no strides and no storages to look \
at")
#define xt_tensor_values XT_SPELLED_("xt_tensor_values: not there: a sparse matrix is no tensor here: xt_sparse_coo \
and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tensor_var XT_SPELLED_("xt_tensor_var: it is called xt_var here")
#define xt_tensor_vdot XT_SPELLED_("xt_tensor_vdot: it is called xt_vdot(x, y) here")
#define xt_tensor_view XT_SPELLED_("xt_tensor_view: it is called xt_reshape(x, dims, ...) here")
#define xt_tensor_view_as XT_SPELLED_("xt_tensor_view_as: it is called xt_view_as(x, other) here")
#define xt_tensor_volatile XT_SPELLED_("xt_tensor_volatile: internal to PyTorch, or of tensors that are not there")
#define xt_tensor_vsplit XT_SPELLED_("xt_tensor_vsplit: it is called xt_tensor_split(x, parts, 0, out) here")
#define xt_tensor_where XT_SPELLED_("xt_tensor_where: it is called xt_where(cond, x, y) here")
#define xt_tensor_xlogy XT_SPELLED_("xt_tensor_xlogy: it is called xt_xlogy(x, y) here")
#define xt_tensor_xlogy_ XT_SPELLED_("xt_tensor_xlogy_: a value never changes: xt_xlogy")
#define xt_tensor_xpu XT_SPELLED_("xt_tensor_xpu: one device per process, batches arrive on it; dtypes: xt_cast")
#define xt_tensor_zero_ XT_SPELLED_("xt_tensor_zero_: a value never changes: xt_zeros_like(t)")
#define xt_tensordataset XT_SPELLED_("xt_tensordataset: it is called xt_array_dataset here")
#define xt_threshold_ XT_SPELLED_("xt_threshold_: a value never changes: xt_threshold")
#define xt_to XT_SPELLED_("xt_to: one device per process, XT_DEVICE names it; to another dtype: xt_cast(t, XT_BF16)")
#define xt_to_dense XT_SPELLED_("xt_to_dense: not there: a sparse matrix is no tensor here: xt_sparse_coo and \
xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_to_dlpack XT_SPELLED_("xt_to_dlpack: not there: memory of other libraries is copied: xt_from_data, xt_read")
#define xt_to_mkldnn XT_SPELLED_("xt_to_mkldnn: not there: a sparse matrix is no tensor here: xt_sparse_coo and \
xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_to_padded_tensor XT_SPELLED_("xt_to_padded_tensor: not there: a sparse matrix is no tensor here: \
xt_sparse_coo and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_to_sparse XT_SPELLED_("xt_to_sparse: not there: a sparse matrix is no tensor here: xt_sparse_coo and \
xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_to_sparse_bsc XT_SPELLED_("xt_to_sparse_bsc: not there: a sparse matrix is no tensor here: xt_sparse_coo \
and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_to_sparse_bsr XT_SPELLED_("xt_to_sparse_bsr: not there: a sparse matrix is no tensor here: xt_sparse_coo \
and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_to_sparse_coo XT_SPELLED_("xt_to_sparse_coo: not there: a sparse matrix is no tensor here: xt_sparse_coo \
and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_to_sparse_csc XT_SPELLED_("xt_to_sparse_csc: not there: a sparse matrix is no tensor here: xt_sparse_coo \
and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_to_sparse_csr XT_SPELLED_("xt_to_sparse_csr: not there: a sparse matrix is no tensor here: xt_sparse_coo \
and xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_tolist XT_SPELLED_("xt_tolist: xt_read(t, memory, bytes) copies a tensor to the host, xt_item(t) one \
number")
#define xt_transfer_parametrizations_and_params XT_SPELLED_("xt_transfer_parametrizations_and_params: internal to \
PyTorch: xt_remove_parametrizations takes them off")
#define xt_transform_to XT_SPELLED_("xt_transform_to: done otherwise: xt_transform of the kind that the constraint \
asks for")
#define xt_transformed_distribution XT_SPELLED_("xt_transformed_distribution: here it is xt_affine_dist, xt_exp_dist, \
... upon a distribution")
#define xt_transformeddistribution XT_SPELLED_("xt_transformeddistribution: here it is xt_affine_dist, xt_exp_dist, \
... upon a distribution")
#define xt_transformer XT_SPELLED_("xt_transformer: a layer is a call here: xt_transformer_encoder_layer, \
xt_transformer_decoder_layer")
#define xt_transformer_decoder XT_SPELLED_("xt_transformer_decoder: here it is xt_transformer_encoder_layer, \
xt_transformer_decoder_layer in a loop, and xt_layer_norm behind it where norm is given")
#define xt_transformer_encoder XT_SPELLED_("xt_transformer_encoder: a layer is a call here: a loop over \
xt_transformer_encoder_layer")
#define xt_transformerdecoder XT_SPELLED_("xt_transformerdecoder: here it is xt_transformer_encoder_layer, \
xt_transformer_decoder_layer in a loop, and xt_layer_norm behind it where norm is given")
#define xt_transformerdecoderlayer XT_SPELLED_("xt_transformerdecoderlayer: a layer is a call here: \
xt_transformer_decoder_layer")
#define xt_transformerencoder XT_SPELLED_("xt_transformerencoder: a layer is a call here: a loop over \
xt_transformer_encoder_layer")
#define xt_transformerencoderlayer XT_SPELLED_("xt_transformerencoderlayer: a layer is a call here: \
xt_transformer_encoder_layer(m, \"name\", x)")
#define xt_transpose_ XT_SPELLED_("xt_transpose_: a value never changes: xt_transpose")
#define xt_transpose_copy XT_SPELLED_("xt_transpose_copy: every result is a value of its own, without strides")
#define xt_tril_ XT_SPELLED_("xt_tril_: a value never changes: xt_tril")
#define xt_triplet_margin_with_distance_loss XT_SPELLED_("xt_triplet_margin_with_distance_loss: it is \
xt_margin_ranking_loss of the distances")
#define xt_tripletmarginloss XT_SPELLED_("xt_tripletmarginloss: a function here: xt_triplet_margin_loss(anchor, same, \
other)")
#define xt_tripletmarginwithdistanceloss XT_SPELLED_("xt_tripletmarginwithdistanceloss: here it is \
xt_margin_ranking_loss of the distances")
#define xt_triu_ XT_SPELLED_("xt_triu_: a value never changes: xt_triu")
#define xt_true_divide_ XT_SPELLED_("xt_true_divide_: a value never changes: xt_true_divide")
#define xt_trunc_ XT_SPELLED_("xt_trunc_: a value never changes: xt_trunc")
#define xt_trunc_normal_ XT_SPELLED_("xt_trunc_normal_: it is called xt_init_truncated_normal(m, pattern) here")
#define xt_type XT_SPELLED_("xt_type: it is called xt_dtype_of(t); to another one: xt_cast(t, XT_F32) here")
#define xt_type_as XT_SPELLED_("xt_type_as: a dtype is given: xt_cast(x, xt_dtype_of(y))")
#define xt_type_before_parametrizations XT_SPELLED_("xt_type_before_parametrizations: internal to PyTorch: \
xt_remove_parametrizations takes them off")
#define xt_typed_storage XT_SPELLED_("xt_typed_storage: there are no strides and no storages to look at")
#define xt_typedstorage XT_SPELLED_("xt_typedstorage: there are no strides and no storages to look at")
#define xt_typename XT_SPELLED_("xt_typename: done otherwise: xt_dtype_of")
#define xt_uint1 XT_SPELLED_("xt_uint1: not there: no dtype of that width: XT_I4, XT_U4 and the XT_F8 ones are the \
narrow ones")
#define xt_uint16 XT_SPELLED_("xt_uint16: here it is XT_U16")
#define xt_uint2 XT_SPELLED_("xt_uint2: not there: no dtype of that width: XT_I4, XT_U4 and the XT_F8 ones are the \
narrow ones")
#define xt_uint3 XT_SPELLED_("xt_uint3: not there: no dtype of that width: XT_I4, XT_U4 and the XT_F8 ones are the \
narrow ones")
#define xt_uint32 XT_SPELLED_("xt_uint32: here it is XT_U32")
#define xt_uint4 XT_SPELLED_("xt_uint4: here it is XT_U4")
#define xt_uint5 XT_SPELLED_("xt_uint5: not there: no dtype of that width: XT_I4, XT_U4 and the XT_F8 ones are the \
narrow ones")
#define xt_uint6 XT_SPELLED_("xt_uint6: not there: no dtype of that width: XT_I4, XT_U4 and the XT_F8 ones are the \
narrow ones")
#define xt_uint64 XT_SPELLED_("xt_uint64: here it is XT_U64")
#define xt_uint7 XT_SPELLED_("xt_uint7: not there: no dtype of that width: XT_I4, XT_U4 and the XT_F8 ones are the \
narrow ones")
#define xt_uint8 XT_SPELLED_("xt_uint8: here it is XT_U8")
#define xt_unbind_copy XT_SPELLED_("xt_unbind_copy: every result is a value of its own, without strides")
#define xt_unfold_copy XT_SPELLED_("xt_unfold_copy: every result is a value of its own, without strides")
#define xt_uniform_ XT_SPELLED_("xt_uniform_: a value never changes: xt_uniform(...); parameters: xt_init_uniform(m, \
\"*.weight\")")
#define xt_unify_type_list XT_SPELLED_("xt_unify_type_list: internal to PyTorch")
#define xt_uninitialized_buffer XT_SPELLED_("xt_uninitialized_buffer: here it is xt_param, xt_buffer")
#define xt_uninitialized_parameter XT_SPELLED_("xt_uninitialized_parameter: here it is xt_param, xt_buffer")
#define xt_uninitializedbuffer XT_SPELLED_("xt_uninitializedbuffer: here it is xt_param, xt_buffer")
#define xt_uninitializedparameter XT_SPELLED_("xt_uninitializedparameter: here it is xt_param, xt_buffer")
#define xt_unique_consecutive XT_SPELLED_("xt_unique_consecutive: it is called xt_unique(x, size, .consecutive = true) \
here")
#define xt_unpack_sequence XT_SPELLED_("xt_unpack_sequence: here it is .lengths of xt_rnn, xt_lstm, xt_gru: a padded \
batch gives what a packed one gives")
#define xt_unpad_sequence XT_SPELLED_("xt_unpad_sequence: here it is xt_slice of each")
#define xt_unsafe_chunk XT_SPELLED_("xt_unsafe_chunk: it is called xt_chunk here")
#define xt_unsafe_split XT_SPELLED_("xt_unsafe_split: internal to PyTorch")
#define xt_unsafe_split_with_sizes XT_SPELLED_("xt_unsafe_split_with_sizes: internal to PyTorch")
#define xt_unsqueeze_ XT_SPELLED_("xt_unsqueeze_: a value never changes: x = xt_unsqueeze(x, axis)")
#define xt_unsqueeze_copy XT_SPELLED_("xt_unsqueeze_copy: every result is a value of its own, without strides")
#define xt_untyped_storage XT_SPELLED_("xt_untyped_storage: there are no strides and no storages to look at")
#define xt_untypedstorage XT_SPELLED_("xt_untypedstorage: there are no strides and no storages to look at")
#define xt_update_bn XT_SPELLED_("xt_update_bn: it is called xt_update_batch_norms(net, loader) here")
#define xt_update_parameters XT_SPELLED_("xt_update_parameters: it is called xt_ema_update(ema, net, decay) here")
#define xt_upsample XT_SPELLED_("xt_upsample: it is called xt_interpolate(x, .scale = 2) here")
#define xt_upsample_bilinear XT_SPELLED_("xt_upsample_bilinear: it is called xt_interpolate here")
#define xt_upsample_nearest XT_SPELLED_("xt_upsample_nearest: it is called xt_interpolate here")
#define xt_upsampling_bilinear2d XT_SPELLED_("xt_upsampling_bilinear2d: it is called xt_interpolate here")
#define xt_upsampling_nearest2d XT_SPELLED_("xt_upsampling_nearest2d: it is called xt_interpolate here")
#define xt_upsamplingbilinear2d XT_SPELLED_("xt_upsamplingbilinear2d: it is called xt_interpolate here")
#define xt_upsamplingnearest2d XT_SPELLED_("xt_upsamplingnearest2d: it is called xt_interpolate here")
#define xt_use_deterministic_algorithms XT_SPELLED_("xt_use_deterministic_algorithms: the same bits in every run, \
whatever the number of threads")
#define xt_utils_clip_grad_norm XT_SPELLED_("xt_utils_clip_grad_norm: here it is xt_clip_grad_norm, xt_grad_norm, \
.clip_norm")
#define xt_utils_clip_grad_norm_ XT_SPELLED_("xt_utils_clip_grad_norm_: here it is xt_clip_grad_norm, xt_grad_norm, \
.clip_norm")
#define xt_utils_clip_grad_value_ XT_SPELLED_("xt_utils_clip_grad_value_: here it is xt_clip_grad_value, .clip_value")
#define xt_utils_clip_grads_with_norm_ XT_SPELLED_("xt_utils_clip_grads_with_norm_: here it is xt_clip_grad_norm, \
xt_grad_norm, .clip_norm")
#define xt_utils_convert_conv2d_weight_memory_format XT_SPELLED_("xt_utils_convert_conv2d_weight_memory_format: there \
are no strides, and first values cost nothing twice")
#define xt_utils_convert_conv3d_weight_memory_format XT_SPELLED_("xt_utils_convert_conv3d_weight_memory_format: there \
are no strides, and first values cost nothing twice")
#define xt_utils_fuse_conv_bn_eval XT_SPELLED_("xt_utils_fuse_conv_bn_eval: it is called xt_fuse_conv_bn(m, \"conv\", \
\"bn\") here")
#define xt_utils_fuse_conv_bn_weights XT_SPELLED_("xt_utils_fuse_conv_bn_weights: here it is xt_fuse_conv_bn(m, \
\"conv\", \"bn\")")
#define xt_utils_fuse_linear_bn_eval XT_SPELLED_("xt_utils_fuse_linear_bn_eval: it is called xt_fuse_linear_bn(m, \
\"fc\", \"bn\") here")
#define xt_utils_fuse_linear_bn_weights XT_SPELLED_("xt_utils_fuse_linear_bn_weights: here it is xt_fuse_linear_bn(m, \
\"fc\", \"bn\")")
#define xt_utils_get_total_norm XT_SPELLED_("xt_utils_get_total_norm: here it is xt_clip_grad_norm, xt_grad_norm, \
.clip_norm")
#define xt_utils_parameters_to_vector XT_SPELLED_("xt_utils_parameters_to_vector: it is called \
xt_parameters_to_vector(m) here")
#define xt_utils_remove_spectral_norm XT_SPELLED_("xt_utils_remove_spectral_norm: it is called \
xt_remove_spectral_norm(m, pattern) here")
#define xt_utils_remove_weight_norm XT_SPELLED_("xt_utils_remove_weight_norm: it is called xt_remove_weight_norm(m, \
pattern) here")
#define xt_utils_skip_init XT_SPELLED_("xt_utils_skip_init: there are no strides, and first values cost nothing twice")
#define xt_utils_spectral_norm XT_SPELLED_("xt_utils_spectral_norm: it is called xt_spectral_norm(m, pattern, ...) \
here")
#define xt_utils_vector_to_parameters XT_SPELLED_("xt_utils_vector_to_parameters: it is called \
xt_vector_to_parameters(v, m) here")
#define xt_utils_weight_norm XT_SPELLED_("xt_utils_weight_norm: it is called xt_weight_norm(m, pattern) here")
#define xt_values XT_SPELLED_("xt_values: not there: a sparse matrix is no tensor here: xt_sparse_coo and \
xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_values_copy XT_SPELLED_("xt_values_copy: not there: a sparse matrix is no tensor here: xt_sparse_coo and \
xt_sparse_csr hold its parts, for xt_sparse_mm")
#define xt_variable XT_SPELLED_("xt_variable: internal to PyTorch")
#define xt_vhp XT_SPELLED_("xt_vhp: here it is xt_vjp of the gradient, xt_hvp where the matrix is symmetric")
#define xt_view_as_complex_copy XT_SPELLED_("xt_view_as_complex_copy: every result is a value of its own, without \
strides")
#define xt_view_as_real_copy XT_SPELLED_("xt_view_as_real_copy: every result is a value of its own, without strides")
#define xt_view_copy XT_SPELLED_("xt_view_copy: every result is a value of its own, without strides")
#define xt_vitals_enabled XT_SPELLED_("xt_vitals_enabled: internal to PyTorch")
#define xt_volatile XT_SPELLED_("xt_volatile: internal to PyTorch, or of tensors that are not there")
#define xt_von_mises XT_SPELLED_("xt_von_mises: it is called xt_von_mises_dist(loc, concentration) here")
#define xt_vonmises XT_SPELLED_("xt_vonmises: it is called xt_von_mises_dist(loc, concentration) here")
#define xt_vsplit XT_SPELLED_("xt_vsplit: it is called xt_tensor_split(x, parts, 0, out) here")
#define xt_weibull XT_SPELLED_("xt_weibull: it is called xt_weibull_dist(scale, concentration) here")
#define xt_weighted_random_sampler XT_SPELLED_("xt_weighted_random_sampler: it is called xt_weighted_sampler here")
#define xt_weightedrandomsampler XT_SPELLED_("xt_weightedrandomsampler: it is called xt_weighted_sampler here")
#define xt_where_ XT_SPELLED_("xt_where_: a value never changes: x = xt_where(pred, x, y)")
#define xt_while_loop XT_SPELLED_("xt_while_loop: it is called xt_while(cond, fn, n, state, ...) here")
#define xt_wishart XT_SPELLED_("xt_wishart: it is called xt_wishart_dist(df, covariance) here")
#define xt_xavier_normal XT_SPELLED_("xt_xavier_normal: here it is xt_init_xavier_normal(m, pattern)")
#define xt_xavier_normal_ XT_SPELLED_("xt_xavier_normal_: it is called xt_init_xavier_normal(m, \"*.weight\") here")
#define xt_xavier_uniform XT_SPELLED_("xt_xavier_uniform: it is called xt_init_xavier_uniform(m, \"*.weight\") here")
#define xt_xavier_uniform_ XT_SPELLED_("xt_xavier_uniform_: it is called xt_init_xavier_uniform(m, \"*.weight\") here")
#define xt_xlogy_ XT_SPELLED_("xt_xlogy_: a value never changes: xt_xlogy")
#define xt_xpu XT_SPELLED_("xt_xpu: one device per process, batches arrive on it; dtypes: xt_cast")
#define xt_zero_ XT_SPELLED_("xt_zero_: a value never changes: xt_zeros_like(t)")
#define xt_zero_grad_ XT_SPELLED_("xt_zero_grad_: it is called xt_zero_grad(optimizer), xt_module_zero_grad(m) here")
#define xt_zero_pad1d XT_SPELLED_("xt_zero_pad1d: a function here: xt_pad(x, XT_LIST(left, right))")
#define xt_zero_pad2d XT_SPELLED_("xt_zero_pad2d: a function here: xt_pad(x, XT_LIST(left, right, top, bottom))")
#define xt_zero_pad3d XT_SPELLED_("xt_zero_pad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_zeropad1d XT_SPELLED_("xt_zeropad1d: a function here: xt_pad(x, XT_LIST(left, right))")
#define xt_zeropad2d XT_SPELLED_("xt_zeropad2d: a function here: xt_pad(x, XT_LIST(left, right, top, bottom))")
#define xt_zeropad3d XT_SPELLED_("xt_zeropad3d: here it is xt_pad(x, amounts, .mode, .value)")
#define xt_zeros_ XT_SPELLED_("xt_zeros_: it is called xt_init_zeros(m, \"*.bias\") here")
/* clang-format on */

#endif
