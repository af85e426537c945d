/* Names that PyTorch, Lightning and torch.distributions have, as somebody types them first with xt_ in front, whose
 * function here has another name or another form: the compiler says which, in place of "implicit declaration". Names
 * that could simply be given a second name are in names.h. Nothing here is part of any program that compiles.
 *
 *     x = xt_Linear(x, 10);   error: "xt_Linear: a layer is a call here, xt_linear(m, \"fc\", x, outputs)" */
#ifndef XTRAIN_SPELLED_H
#define XTRAIN_SPELLED_H

#include <xtrain/base.h>

/* One literal: gcc shows the first of several. */
#define XT_SPELLED_(text) XT_SPELLED_TEXT_(GCC error text) xt_has_another_name_here
#define XT_SPELLED_TEXT_(text) _Pragma(#text)

/* --- layers: calls with a name in a module's function --- */
#define xt_Linear XT_SPELLED_("xt_Linear: a layer is a call here: xt_linear(m, \"fc\", x, outputs)")
#define xt_Bilinear XT_SPELLED_("xt_Bilinear: a layer is a call here: xt_bilinear(m, \"name\", x, y, outputs)")
#define xt_Conv1d XT_SPELLED_("xt_Conv1d: a layer is a call here: xt_conv1d(m, \"name\", x, channels, kernel)")
#define xt_Conv2d XT_SPELLED_("xt_Conv2d: a layer is a call here: xt_conv2d(m, \"name\", x, channels, kernel)")
#define xt_Conv3d XT_SPELLED_("xt_Conv3d: a layer is a call here: xt_conv3d(m, \"name\", x, channels, kernel)")
#define xt_ConvTranspose1d \
    XT_SPELLED_("xt_ConvTranspose1d: a layer is a call here: xt_conv_transpose1d(m, \"name\", x, channels, kernel)")
#define xt_ConvTranspose2d \
    XT_SPELLED_("xt_ConvTranspose2d: a layer is a call here: xt_conv_transpose2d(m, \"name\", x, channels, kernel)")
#define xt_BatchNorm1d \
    XT_SPELLED_("xt_BatchNorm1d: a layer is a call here: xt_batch_norm(m, \"name\", x), of any number of dims")
#define xt_BatchNorm2d \
    XT_SPELLED_("xt_BatchNorm2d: a layer is a call here: xt_batch_norm(m, \"name\", x), of any number of dims")
#define xt_BatchNorm3d \
    XT_SPELLED_("xt_BatchNorm3d: a layer is a call here: xt_batch_norm(m, \"name\", x), of any number of dims")
#define xt_LayerNorm XT_SPELLED_("xt_LayerNorm: a layer is a call here: xt_layer_norm(m, \"name\", x)")
#define xt_GroupNorm XT_SPELLED_("xt_GroupNorm: a layer is a call here: xt_group_norm(m, \"name\", x, groups)")
#define xt_InstanceNorm2d XT_SPELLED_("xt_InstanceNorm2d: a layer is a call here: xt_instance_norm(m, \"name\", x)")
#define xt_RMSNorm XT_SPELLED_("xt_RMSNorm: a layer is a call here: xt_rms_norm(m, \"name\", x)")
#define xt_Embedding \
    XT_SPELLED_("xt_Embedding: a layer is a call here: xt_embedding(m, \"name\", indices, vocabulary, size)")
#define xt_EmbeddingBag XT_SPELLED_("xt_EmbeddingBag: a function here: xt_embedding_bag(indices, table, mode, weights)")
#define xt_Dropout XT_SPELLED_("xt_Dropout: a layer is a call here: xt_dropout(m, x, p)")
#define xt_Dropout2d XT_SPELLED_("xt_Dropout2d: a layer is a call here: xt_dropout2d(m, x, p)")
#define xt_LSTM XT_SPELLED_("xt_LSTM: a layer is a call here: xt_lstm(m, \"name\", x, hidden)")
#define xt_GRU XT_SPELLED_("xt_GRU: a layer is a call here: xt_gru(m, \"name\", x, hidden)")
#define xt_RNN XT_SPELLED_("xt_RNN: a layer is a call here: xt_rnn(m, \"name\", x, hidden)")
#define xt_LSTMCell XT_SPELLED_("xt_LSTMCell: a layer is a call here: xt_lstm_cell")
#define xt_GRUCell XT_SPELLED_("xt_GRUCell: a layer is a call here: xt_gru_cell")
#define xt_MultiheadAttention \
    XT_SPELLED_("xt_MultiheadAttention: a layer is a call here: xt_multihead_attention(m, \"name\", q, k, v)")
#define xt_multi_head_attention_forward \
    XT_SPELLED_("xt_multi_head_attention_forward: a layer is a call here: xt_multihead_attention(m, \"name\", q, k)")
#define xt_Transformer \
    XT_SPELLED_("xt_Transformer: a layer is a call here: xt_transformer_encoder_layer, xt_transformer_decoder_layer")
#define xt_TransformerEncoder \
    XT_SPELLED_("xt_TransformerEncoder: a layer is a call here: a loop over xt_transformer_encoder_layer")
#define xt_TransformerEncoderLayer \
    XT_SPELLED_("xt_TransformerEncoderLayer: a layer is a call here: xt_transformer_encoder_layer(m, \"name\", x)")
#define xt_TransformerDecoderLayer \
    XT_SPELLED_("xt_TransformerDecoderLayer: a layer is a call here: xt_transformer_decoder_layer")
#define xt_PReLU XT_SPELLED_("xt_PReLU: a layer is a call here: xt_prelu(m, \"name\", x)")
#define xt_Sequential XT_SPELLED_("xt_Sequential: a layer is a call here: one call behind the other")
#define xt_ModuleList XT_SPELLED_("xt_ModuleList: a layer is a call here: a loop over xt_sub(m, \"blocks\", i)")
#define xt_ModuleDict XT_SPELLED_("xt_ModuleDict: a layer is a call here: xt_sub(m, \"name\", -1)")
#define xt_Identity XT_SPELLED_("xt_Identity: a layer is a call here: x itself")
#define xt_Module XT_SPELLED_("xt_Module: the type is xt_module, made of a function by xt_module_new(fn, user)")
#define xt_Parameter \
    XT_SPELLED_("xt_Parameter: a parameter is made by xt_param(m, \"name\", ...) in a module's function")

/* --- classes that are functions --- */
#define xt_ReLU XT_SPELLED_("xt_ReLU: a function here: xt_relu(x)")
#define xt_LeakyReLU XT_SPELLED_("xt_LeakyReLU: a function here: xt_leaky_relu(x, slope)")
#define xt_GELU XT_SPELLED_("xt_GELU: a function here: xt_gelu_erf(x), in its tanh form xt_gelu(x)")
#define xt_SiLU XT_SPELLED_("xt_SiLU: a function here: xt_silu(x)")
#define xt_ELU XT_SPELLED_("xt_ELU: a function here: xt_elu(x, alpha)")
#define xt_Sigmoid XT_SPELLED_("xt_Sigmoid: a function here: xt_sigmoid(x)")
#define xt_Tanh XT_SPELLED_("xt_Tanh: a function here: xt_tanh(x)")
#define xt_Softmax XT_SPELLED_("xt_Softmax: a function here: xt_softmax(x, axis)")
#define xt_LogSoftmax XT_SPELLED_("xt_LogSoftmax: a function here: xt_log_softmax(x, axis)")
#define xt_Softplus XT_SPELLED_("xt_Softplus: a function here: xt_softplus(x)")
#define xt_Hardswish XT_SPELLED_("xt_Hardswish: a function here: xt_hardswish(x)")
#define xt_MaxPool1d XT_SPELLED_("xt_MaxPool1d: a function here: xt_max_pool1d(x, kernel)")
#define xt_MaxPool2d XT_SPELLED_("xt_MaxPool2d: a function here: xt_max_pool2d(x, kernel)")
#define xt_AvgPool2d XT_SPELLED_("xt_AvgPool2d: a function here: xt_avg_pool2d(x, kernel)")
#define xt_AdaptiveAvgPool2d XT_SPELLED_("xt_AdaptiveAvgPool2d: a function here: xt_adaptive_avg_pool2d(x, size)")
#define xt_Flatten XT_SPELLED_("xt_Flatten: a function here: xt_flatten(x, first axis)")
#define xt_Upsample XT_SPELLED_("xt_Upsample: a function here: xt_interpolate(x, .scale = 2)")
#define xt_PixelShuffle XT_SPELLED_("xt_PixelShuffle: a function here: xt_pixel_shuffle(x, factor)")
#define xt_CrossEntropyLoss XT_SPELLED_("xt_CrossEntropyLoss: a function here: xt_cross_entropy(logits, labels)")
#define xt_MSELoss XT_SPELLED_("xt_MSELoss: a function here: xt_mse_loss(x, y)")
#define xt_L1Loss XT_SPELLED_("xt_L1Loss: a function here: xt_l1_loss(x, y)")
#define xt_SmoothL1Loss XT_SPELLED_("xt_SmoothL1Loss: a function here: xt_smooth_l1_loss(x, y)")
#define xt_HuberLoss XT_SPELLED_("xt_HuberLoss: a function here: xt_huber_loss(x, y)")
#define xt_BCELoss XT_SPELLED_("xt_BCELoss: a function here: xt_binary_cross_entropy(p, y)")
#define xt_BCEWithLogitsLoss XT_SPELLED_("xt_BCEWithLogitsLoss: a function here: xt_bce_with_logits(x, y)")
#define xt_NLLLoss XT_SPELLED_("xt_NLLLoss: a function here: xt_nll_loss(log_probs, labels)")
#define xt_KLDivLoss XT_SPELLED_("xt_KLDivLoss: a function here: xt_kl_div(x, y)")
#define xt_CTCLoss XT_SPELLED_("xt_CTCLoss: a function here: xt_ctc_loss")
#define xt_TripletMarginLoss \
    XT_SPELLED_("xt_TripletMarginLoss: a function here: xt_triplet_margin_loss(anchor, same, other)")

/* --- optimizers and their schedules --- */
#define xt_SGD XT_SPELLED_("xt_SGD: it is called xt_sgd(module, .lr = 0.1) here")
#define xt_Adam XT_SPELLED_("xt_Adam: it is called xt_adam(module, .lr = 1e-3) here")
#define xt_AdamW XT_SPELLED_("xt_AdamW: it is called xt_adamw(module, .lr = 1e-3) here")
#define xt_RMSprop XT_SPELLED_("xt_RMSprop: it is called xt_rmsprop(module) here")
#define xt_Adagrad XT_SPELLED_("xt_Adagrad: it is called xt_adagrad(module) here")
#define xt_Adadelta XT_SPELLED_("xt_Adadelta: it is called xt_adadelta(module) here")
#define xt_Adamax XT_SPELLED_("xt_Adamax: it is called xt_adamax(module) here")
#define xt_NAdam XT_SPELLED_("xt_NAdam: it is called xt_nadam(module) here")
#define xt_RAdam XT_SPELLED_("xt_RAdam: it is called xt_radam(module) here")
#define xt_LBFGS XT_SPELLED_("xt_LBFGS: it is called xt_lbfgs(module) here")
#define xt_StepLR XT_SPELLED_("xt_StepLR: it is called xt_step_schedule here")
#define xt_MultiStepLR XT_SPELLED_("xt_MultiStepLR: it is called xt_multistep_schedule here")
#define xt_ExponentialLR XT_SPELLED_("xt_ExponentialLR: it is called xt_exponential_schedule here")
#define xt_CosineAnnealingLR XT_SPELLED_("xt_CosineAnnealingLR: it is called xt_cosine_schedule here")
#define xt_OneCycleLR XT_SPELLED_("xt_OneCycleLR: it is called xt_one_cycle_schedule here")
#define xt_ReduceLROnPlateau XT_SPELLED_("xt_ReduceLROnPlateau: it is called xt_plateau_schedule here")
#define xt_LambdaLR XT_SPELLED_("xt_LambdaLR: it is called xt_lambda_schedule here")
#define xt_LinearLR XT_SPELLED_("xt_LinearLR: it is called xt_linear_schedule here")
#define xt_step_lr XT_SPELLED_("xt_step_lr: it is called xt_step_schedule here")
#define xt_multi_step_lr XT_SPELLED_("xt_multi_step_lr: it is called xt_multistep_schedule here")
#define xt_exponential_lr XT_SPELLED_("xt_exponential_lr: it is called xt_exponential_schedule here")
#define xt_cosine_annealing_lr XT_SPELLED_("xt_cosine_annealing_lr: it is called xt_cosine_schedule here")
#define xt_one_cycle_lr XT_SPELLED_("xt_one_cycle_lr: it is called xt_one_cycle_schedule here")
#define xt_reduce_lr_on_plateau XT_SPELLED_("xt_reduce_lr_on_plateau: it is called xt_plateau_schedule here")
#define xt_lambda_lr XT_SPELLED_("xt_lambda_lr: it is called xt_lambda_schedule here")
#define xt_GradScaler XT_SPELLED_("xt_GradScaler: it is called xt_loss_scaler_new() here")
#define xt_grad_scaler XT_SPELLED_("xt_grad_scaler: it is called xt_loss_scaler_new() here")

/* --- data, training, several ranks --- */
#define xt_DataLoader XT_SPELLED_("xt_DataLoader: it is called xt_loader_new(dataset, .batch = 32) here")
#define xt_data_loader XT_SPELLED_("xt_data_loader: it is called xt_loader_new(dataset, .batch = 32) here")
#define xt_dataloader XT_SPELLED_("xt_dataloader: it is called xt_loader_new(dataset, .batch = 32) here")
#define xt_Dataset \
    XT_SPELLED_("xt_Dataset: it is called xt_dataset, made by xt_dataset_new(&(xt_dataset_desc){...}) here")
#define xt_TensorDataset XT_SPELLED_("xt_TensorDataset: it is called xt_array_dataset here")
#define xt_tensor_dataset XT_SPELLED_("xt_tensor_dataset: it is called xt_array_dataset here")
#define xt_Subset XT_SPELLED_("xt_Subset: it is called xt_subset here")
#define xt_ConcatDataset XT_SPELLED_("xt_ConcatDataset: it is called xt_concat_datasets here")
#define xt_WeightedRandomSampler XT_SPELLED_("xt_WeightedRandomSampler: it is called xt_weighted_sampler here")
#define xt_DistributedSampler \
    XT_SPELLED_("xt_DistributedSampler: loaders divide their samples over the ranks by themselves")
#define xt_Trainer XT_SPELLED_("xt_Trainer: it is called xt_trainer_new(.max_epochs = 3) here")
#define xt_LightningModule XT_SPELLED_("xt_LightningModule: it is called xt_task, a struct of functions here")
#define xt_LightningDataModule \
    XT_SPELLED_("xt_LightningDataModule: it is called xt_data_module, a struct of functions here")
#define xt_EarlyStopping XT_SPELLED_("xt_EarlyStopping: it is called xt_early_stopping(.monitor = \"val/loss\") here")
#define xt_ModelCheckpoint \
    XT_SPELLED_("xt_ModelCheckpoint: it is called xt_model_checkpoint(.monitor = \"val/loss\") here")
#define xt_init_process_group \
    XT_SPELLED_("xt_init_process_group: ranks find each other by themselves: xt_launch, xtrain launch -n 4")
#define xt_checkpoint XT_SPELLED_("xt_checkpoint: it is called xt_checkpoint_block; files: xt_save, xt_trainer_save")
#define xt_AveragedModel XT_SPELLED_("xt_AveragedModel: xt_ema(net), then xt_ema_update(ema, net, decay) a step")
#define xt_update_parameters XT_SPELLED_("xt_update_parameters: it is called xt_ema_update(ema, net, decay) here")
#define xt_parameters XT_SPELLED_("xt_parameters: optimizers take the module; xt_module_tensor(m, i) gives each")
#define xt_state_dict \
    XT_SPELLED_("xt_state_dict: xt_save(m, path); xt_module_tensor_name and xt_module_tensor give each")
#define xt_save_state_dict XT_SPELLED_("xt_save_state_dict: it is called xt_save(m, path) here")
#define xt_load_state_dict XT_SPELLED_("xt_load_state_dict: it is called xt_load(m, path) here")

/* --- tensors as objects --- */
#define xt_Tensor XT_SPELLED_("xt_Tensor: it is called xt_tensor, a handle passed by value here")
#define xt_as_tensor XT_SPELLED_("xt_as_tensor: it is called xt_from_array, xt_from_data; one number: xt_scalar here")
#define xt_scalar_tensor XT_SPELLED_("xt_scalar_tensor: it is called xt_scalar here")
#define xt_numpy XT_SPELLED_("xt_numpy: xt_read(t, memory, bytes) copies a tensor to the host, xt_item(t) one number")
#define xt_clone XT_SPELLED_("xt_clone: a value never changes: t itself is as good as a copy")
#define xt_contiguous XT_SPELLED_("xt_contiguous: tensors have no strides, t itself is contiguous")
#define xt_copy_ \
    XT_SPELLED_("xt_copy_: a value never changes: assign the new tensor to the variable; states: xt_assign")
#define xt_fill_ XT_SPELLED_("xt_fill_: a value never changes: xt_full_like(t, v)")
#define xt_zero_ XT_SPELLED_("xt_zero_: a value never changes: xt_zeros_like(t)")
#define xt_masked_fill_ XT_SPELLED_("xt_masked_fill_: a value never changes: x = xt_masked_fill(x, mask, v)")
#define xt_scatter_ XT_SPELLED_("xt_scatter_: a value never changes: x = xt_scatter(x, ...)")
#define xt_scatter_add_ XT_SPELLED_("xt_scatter_add_: a value never changes: x = xt_scatter_add(x, ...)")
#define xt_unsqueeze_ XT_SPELLED_("xt_unsqueeze_: a value never changes: x = xt_unsqueeze(x, axis)")
#define xt_uniform_ \
    XT_SPELLED_("xt_uniform_: a value never changes: xt_uniform(...); parameters: xt_init_uniform(m, \"*.weight\")")
#define xt_zeros_ XT_SPELLED_("xt_zeros_: it is called xt_init_zeros(m, \"*.bias\") here")
#define xt_kaiming_normal_ XT_SPELLED_("xt_kaiming_normal_: it is called xt_init_kaiming_normal(m, \"*.weight\") here")
#define xt_kaiming_normal XT_SPELLED_("xt_kaiming_normal: it is called xt_init_kaiming_normal(m, \"*.weight\") here")
#define xt_kaiming_uniform_ \
    XT_SPELLED_("xt_kaiming_uniform_: it is called xt_init_kaiming_uniform(m, \"*.weight\") here")
#define xt_xavier_normal_ XT_SPELLED_("xt_xavier_normal_: it is called xt_init_xavier_normal(m, \"*.weight\") here")
#define xt_xavier_uniform_ XT_SPELLED_("xt_xavier_uniform_: it is called xt_init_xavier_uniform(m, \"*.weight\") here")
#define xt_xavier_uniform XT_SPELLED_("xt_xavier_uniform: it is called xt_init_xavier_uniform(m, \"*.weight\") here")
#define xt_orthogonal_ XT_SPELLED_("xt_orthogonal_: it is called xt_init_orthogonal(m, \"*.weight\") here")
#define xt_register_buffer \
    XT_SPELLED_("xt_register_buffer: in a module's function: xt_buffer(m, \"name\", \"zeros\", 0, dtype, dims)")
#define xt_fuse_conv_bn_eval XT_SPELLED_("xt_fuse_conv_bn_eval: it is called xt_fuse_conv_bn(m, \"conv\", \"bn\") here")
#define xt_fuse_linear_bn_eval \
    XT_SPELLED_("xt_fuse_linear_bn_eval: it is called xt_fuse_linear_bn(m, \"fc\", \"bn\") here")
#define xt_empty XT_SPELLED_("xt_empty: memory without values does not exist: xt_zeros(dtype, dims)")
#define xt_empty_like XT_SPELLED_("xt_empty_like: memory without values does not exist: xt_zeros_like(t)")
#define xt_new_zeros XT_SPELLED_("xt_new_zeros: it is called xt_zeros(xt_dtype_of(t), dims) here")
#define xt_new_ones XT_SPELLED_("xt_new_ones: it is called xt_ones(xt_dtype_of(t), dims) here")
#define xt_randint_like XT_SPELLED_("xt_randint_like: it is called xt_randint with the dims of t here")
#define xt_requires_grad_ XT_SPELLED_("xt_requires_grad_: it is called xt_requires_grad(t, true) here")
#define xt_shape XT_SPELLED_("xt_shape: it is called xt_dim(t, axis), xt_rank_of(t) here")
#define xt_type XT_SPELLED_("xt_type: it is called xt_dtype_of(t); to another one: xt_cast(t, XT_F32) here")
#define xt_to XT_SPELLED_("xt_to: one device per process, XT_DEVICE names it; to another dtype: xt_cast(t, XT_BF16)")
#define xt_is_cuda XT_SPELLED_("xt_is_cuda: one device per process, XT_DEVICE names it")
#define xt_empty_cache XT_SPELLED_("xt_empty_cache: nothing is kept back; memory goes to the next program by itself")
#define xt_manual_seed_all XT_SPELLED_("xt_manual_seed_all: xt_seed(seed) is that of all devices and ranks")
#define xt_cuda XT_SPELLED_("xt_cuda: one device per process, XT_DEVICE=cuda names it; nothing is moved by hand")
#define xt_cpu XT_SPELLED_("xt_cpu: one device per process; xt_read(t, memory, bytes) copies a tensor to the host")
#define xt_device XT_SPELLED_("xt_device: one device per process, XT_DEVICE names it")
#define xt_pin_memory XT_SPELLED_("xt_pin_memory: loaders put batches onto the device ahead of the step")
#define xt_is_available \
    XT_SPELLED_("xt_is_available: XT_DEVICE names the device; `xtrain doctor` lists those there are")
#define xt_is_tensor XT_SPELLED_("xt_is_tensor: a C program knows what it has; xt_is_none(t), xt_is_error(t)")
#define xt_float XT_SPELLED_("xt_float: it is called xt_cast(t, XT_F32) here")
#define xt_half XT_SPELLED_("xt_half: it is called xt_cast(t, XT_F16) here")
#define xt_long XT_SPELLED_("xt_long: it is called xt_cast(t, XT_I64) here")
#define xt_no_grad XT_SPELLED_("xt_no_grad: it is called xt_no_grad_begin() and xt_no_grad_end() here")
#define xt_autocast XT_SPELLED_("xt_autocast: it is called xt_autocast_begin(XT_BF16) and xt_autocast_end() here")
#define xt_unsafe_chunk XT_SPELLED_("xt_unsafe_chunk: it is called xt_chunk here")
#define xt_upsample XT_SPELLED_("xt_upsample: it is called xt_interpolate(x, .scale = 2) here")
#define xt_sinusoidal \
    XT_SPELLED_("xt_sinusoidal: it is called xt_sinusoidal_positions, of given t xt_sinusoidal_embedding")
#define xt_poisson XT_SPELLED_("xt_poisson: it is called xt_dist_sample(xt_poisson_dist(rate)) here")
#define xt_rand_perm XT_SPELLED_("xt_rand_perm: it is called xt_randperm(n) here")
#define xt_set_default_dtype XT_SPELLED_("xt_set_default_dtype: dtypes are given, xt_zeros(XT_F64, 2, 3)")
#define xt_set_num_threads XT_SPELLED_("xt_set_num_threads: XT_THREADS=4 in the environment")
#define xt_set_printoptions XT_SPELLED_("xt_set_printoptions: xt_print(x) prints a tensor")
#define xt_T XT_SPELLED_("xt_T: it is called xt_t(x), of more than two dims xt_permute(x, 2, 1, 0) here")
#define xt_scatter_reduce_ XT_SPELLED_("xt_scatter_reduce_: a value never changes: x = xt_scatter_reduce(x, ...)")
#define xt_index_add_ XT_SPELLED_("xt_index_add_: a value never changes: x = xt_index_add(x, ...)")
#define xt_where_ XT_SPELLED_("xt_where_: a value never changes: x = xt_where(pred, x, y)")
#define xt_relu_ XT_SPELLED_("xt_relu_: a value never changes: x = xt_relu(x)")
#define xt_dropout_ XT_SPELLED_("xt_dropout_: a value never changes: x = xt_dropout(m, x, p)")
#define xt_clone_ XT_SPELLED_("xt_clone_: a value never changes: t itself is as good as a copy")
#define xt_detach_ XT_SPELLED_("xt_detach_: a value never changes: x = xt_detach(x)")
#define xt_put_ XT_SPELLED_("xt_put_: a value never changes: x = xt_put(x, index, values)")
#define xt_index_reduce_ \
    XT_SPELLED_("xt_index_reduce_: a value never changes: x = xt_index_reduce(x, axis, index, updates, how)")
#define xt_zero_grad_ XT_SPELLED_("xt_zero_grad_: it is called xt_zero_grad(optimizer), xt_module_zero_grad(m) here")
#define xt_get_num_threads XT_SPELLED_("xt_get_num_threads: XT_THREADS in the environment says how many")
#define xt_triplet_margin_with_distance_loss \
    XT_SPELLED_("xt_triplet_margin_with_distance_loss: it is xt_margin_ranking_loss of the distances")
#define xt_LazyLinear XT_SPELLED_("xt_LazyLinear: every layer is lazy: xt_linear(m, \"fc\", x, outputs)")
#define xt_SyncBatchNorm \
    XT_SPELLED_("xt_SyncBatchNorm: a layer is a call here: xt_batch_norm(m, \"name\", x, .sync = XT_ON)")
#define xt_Hardtanh XT_SPELLED_("xt_Hardtanh: it is called xt_hardtanh(x) here")
#define xt_Softmin XT_SPELLED_("xt_Softmin: it is called xt_softmin(x, axis) here")
#define xt_Unfold XT_SPELLED_("xt_Unfold: it is called xt_unfold(x, kernel) here")
#define xt_Fold XT_SPELLED_("xt_Fold: it is called xt_fold here")
#define xt_PairwiseDistance XT_SPELLED_("xt_PairwiseDistance: it is called xt_pairwise_distance(x, y) here")
#define xt_CosineSimilarity XT_SPELLED_("xt_CosineSimilarity: it is called xt_cosine_similarity here")
#define xt_register_hook \
    XT_SPELLED_(         \
        "xt_register_hook: there are no hooks: xt_grad(t) after xt_backward; a rule of one's own: xt_custom_grad")
#define xt_autograd_grad XT_SPELLED_("xt_autograd_grad: it is called xt_grad_of(loss, n, tensors, out_grads) here")
#define xt_set_grad_enabled \
    XT_SPELLED_("xt_set_grad_enabled: it is called xt_no_grad_begin() and xt_no_grad_end() here")
#define xt_synchronize XT_SPELLED_("xt_synchronize: it is called xt_wait() here")
#define xt_named_parameters \
    XT_SPELLED_(            \
        "xt_named_parameters: xt_module_tensors(m) of them, xt_module_tensor_name(m, i), xt_module_tensor(m, i)")
#define xt_tolist XT_SPELLED_("xt_tolist: xt_read(t, memory, bytes) copies a tensor to the host, xt_item(t) one number")
#define xt_nelement XT_SPELLED_("xt_nelement: it is called xt_numel(t) here")
#define xt_tensor_print XT_SPELLED_("xt_tensor_print: it is called xt_print(x) here")
#define xt_bce_loss \
    XT_SPELLED_("xt_bce_loss: it is called xt_binary_cross_entropy(p, target), xt_bce_with_logits(x, target) here")
#define xt_num_parameters XT_SPELLED_("xt_num_parameters: it is called xt_module_param_count(m) here")
#define xt_count_parameters XT_SPELLED_("xt_count_parameters: it is called xt_module_param_count(m) here")
#define xt_summary XT_SPELLED_("xt_summary: it is called xt_module_summary(m, buffer, bytes) here")
#define xt_module_print XT_SPELLED_("xt_module_print: it is called xt_module_summary(m, buffer, bytes) here")
#define xt_module_train XT_SPELLED_("xt_module_train: it is called xt_train(m) here")
#define xt_module_eval XT_SPELLED_("xt_module_eval: it is called xt_eval(m) here")
#define xt_optimizer_zero_grad XT_SPELLED_("xt_optimizer_zero_grad: it is called xt_zero_grad(optimizer) here")
#define xt_ndim XT_SPELLED_("xt_ndim: it is called xt_rank_of(t) here")
#define xt_split_with_sizes XT_SPELLED_("xt_split_with_sizes: it is called xt_split_sizes here")

/* --- distributions --- */
#define xt_Normal XT_SPELLED_("xt_Normal: it is called xt_normal_dist(mean, std) here")
#define xt_Categorical XT_SPELLED_("xt_Categorical: it is called xt_categorical_dist here")
#define xt_Bernoulli XT_SPELLED_("xt_Bernoulli: it is called xt_bernoulli_dist here")
#define xt_Uniform XT_SPELLED_("xt_Uniform: it is called xt_uniform_dist(low, high) here")
#define xt_sample XT_SPELLED_("xt_sample: it is called xt_dist_sample(d, dims) here")
#define xt_rsample XT_SPELLED_("xt_rsample: it is called xt_dist_rsample(d, dims) here")
#define xt_log_prob XT_SPELLED_("xt_log_prob: it is called xt_dist_log_prob(d, value) here")
#define xt_entropy XT_SPELLED_("xt_entropy: it is called xt_dist_entropy(d) here")

/* --- more of them: pools, activations, optimizers, schedules, distributions, tensors --- */
#define xt_MaxPool3d XT_SPELLED_("xt_MaxPool3d: a function here: xt_max_pool3d(x, kernel)")
#define xt_AvgPool1d XT_SPELLED_("xt_AvgPool1d: a function here: xt_avg_pool1d(x, kernel)")
#define xt_AvgPool3d XT_SPELLED_("xt_AvgPool3d: a function here: xt_avg_pool3d(x, kernel)")
#define xt_AdaptiveMaxPool1d XT_SPELLED_("xt_AdaptiveMaxPool1d: a function here: xt_adaptive_max_pool1d(x, size)")
#define xt_AdaptiveMaxPool2d \
    XT_SPELLED_("xt_AdaptiveMaxPool2d: a function here: xt_adaptive_max_pool2d(x, height, width)")
#define xt_ReLU6 XT_SPELLED_("xt_ReLU6: a function here: xt_relu6(x)")
#define xt_SELU XT_SPELLED_("xt_SELU: a function here: xt_selu(x)")
#define xt_CELU XT_SPELLED_("xt_CELU: a function here: xt_celu(x, alpha)")
#define xt_Mish XT_SPELLED_("xt_Mish: a function here: xt_mish(x)")
#define xt_GLU XT_SPELLED_("xt_GLU: a function here: xt_glu(x, axis)")
#define xt_LogSigmoid XT_SPELLED_("xt_LogSigmoid: a function here: xt_logsigmoid(x)")
#define xt_InstanceNorm1d XT_SPELLED_("xt_InstanceNorm1d: a layer is a call here: xt_instance_norm(m, \"name\", x)")
#define xt_InstanceNorm3d XT_SPELLED_("xt_InstanceNorm3d: a layer is a call here: xt_instance_norm(m, \"name\", x)")
#define xt_PixelUnshuffle XT_SPELLED_("xt_PixelUnshuffle: a function here: xt_pixel_unshuffle(x, r)")
#define xt_Muon XT_SPELLED_("xt_Muon: it is called xt_muon(module, .lr = 1e-3) here")
#define xt_Rprop XT_SPELLED_("xt_Rprop: it is called xt_rprop(module, .lr = 0.01) here")
#define xt_ASGD XT_SPELLED_("xt_ASGD: it is called xt_asgd(module, .lr = 0.01) here")
#define xt_Adafactor XT_SPELLED_("xt_Adafactor: it is called xt_adafactor(module, .lr = 0.01) here")
#define xt_CyclicLR XT_SPELLED_("xt_CyclicLR: it is called xt_cyclic_schedule(optimizer, .base_lr, .max_lr) here")
#define xt_CosineAnnealingWarmRestarts \
    XT_SPELLED_("xt_CosineAnnealingWarmRestarts: it is called xt_warm_restarts_schedule(optimizer, .t_0) here")
#define xt_SequentialLR XT_SPELLED_("xt_SequentialLR: it is called xt_sequential_schedule here")
#define xt_PolynomialLR XT_SPELLED_("xt_PolynomialLR: it is called xt_polynomial_schedule(optimizer) here")
#define xt_Beta XT_SPELLED_("xt_Beta: it is called xt_beta_dist(concentration1, concentration0) here")
#define xt_Gamma XT_SPELLED_("xt_Gamma: it is called xt_gamma_dist(concentration, rate) here")
#define xt_Dirichlet XT_SPELLED_("xt_Dirichlet: it is called xt_dirichlet_dist(concentration) here")
#define xt_Poisson XT_SPELLED_("xt_Poisson: it is called xt_poisson_dist(rate) here")
#define xt_MultivariateNormal \
    XT_SPELLED_("xt_MultivariateNormal: it is called xt_multivariate_normal_dist(loc, covariance) here")
#define xt_solve_triangular \
    XT_SPELLED_("xt_solve_triangular: it is called xt_triangular_solve(a, y, .upper = true) here")
#define xt_jacrev XT_SPELLED_("xt_jacrev: it is called xt_jacobian here")
#define xt_jacfwd XT_SPELLED_("xt_jacfwd: it is called xt_jacobian here")
#define xt_grad_and_value XT_SPELLED_("xt_grad_and_value: it is called xt_grad_fn here: its out is the value")
#define xt_normal_ XT_SPELLED_("xt_normal_: it is called xt_init_normal(m, pattern) here; values are drawn by xt_randn")
#define xt_constant_ XT_SPELLED_("xt_constant_: it is called xt_init_constant(m, pattern, value) here")
#define xt_ones_ XT_SPELLED_("xt_ones_: it is called xt_init_ones(m, pattern) here")
#define xt_trunc_normal_ XT_SPELLED_("xt_trunc_normal_: it is called xt_init_truncated_normal(m, pattern) here")
#define xt_double XT_SPELLED_("xt_double: a dtype is given: xt_cast(x, XT_F64)")
#define xt_int XT_SPELLED_("xt_int: a dtype is given: xt_cast(x, XT_I32)")
#define xt_bool XT_SPELLED_("xt_bool: a dtype is given: xt_cast(x, XT_BOOL)")
#define xt_sum_to_size XT_SPELLED_("xt_sum_to_size: it is called xt_sum(x, XT_AXES(0), .keepdim = true) here")
#define xt_from_numpy XT_SPELLED_("xt_from_numpy: memory of the program is copied: xt_from_array(values, XT_F32, 2, 3)")
#define xt_hsplit XT_SPELLED_("xt_hsplit: it is called xt_tensor_split(x, parts, 1, out) here")
#define xt_vsplit XT_SPELLED_("xt_vsplit: it is called xt_tensor_split(x, parts, 0, out) here")
#define xt_dsplit XT_SPELLED_("xt_dsplit: it is called xt_tensor_split(x, parts, 2, out) here")
#define xt_unique_consecutive \
    XT_SPELLED_("xt_unique_consecutive: it is called xt_unique(x, size, .consecutive = true) here")
#define xt_sparse_coo_tensor \
    XT_SPELLED_("xt_sparse_coo_tensor: it is called xt_sparse_coo(row, column, values, rows, columns) here")
#define xt_pack_padded_sequence                                                                                 \
    XT_SPELLED_("xt_pack_padded_sequence: the layer takes lengths: xt_lstm(m, \"name\", x, hidden, .lengths = " \
                "lengths)")
#define xt_pad_packed_sequence \
    XT_SPELLED_("xt_pad_packed_sequence: nothing is packed: xt_lstm(m, \"name\", x, hidden, .lengths = lengths)")

#endif
