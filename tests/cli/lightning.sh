#!/bin/bash
# doc/from-lightning.md says that what it does not list is there: so each argument of Lightning's Trainer, each hook and
# attribute of its modules and each callback (2.6) stands in it, in the table of names, or as an option, a hook or a
# function of the public headers; and each xt_ name in it is one of the headers'.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
cat "$root/doc/from-lightning.md" "$root/doc/from-pytorch.md" "$root"/include/xtrain/train*.h >"$tmp/all"
arguments="accelerator strategy devices num_nodes precision logger callbacks fast_dev_run max_epochs min_epochs
 max_steps min_steps max_time limit_train_batches limit_val_batches limit_test_batches limit_predict_batches
 overfit_batches
 val_check_interval check_val_every_n_epoch num_sanity_val_steps log_every_n_steps enable_checkpointing
 enable_progress_bar enable_model_summary accumulate_grad_batches gradient_clip_val gradient_clip_algorithm
 deterministic benchmark inference_mode use_distributed_sampler profiler detect_anomaly barebones plugins sync_batchnorm
 reload_dataloaders_every_n_epochs default_root_dir enable_autolog_hparams model_registry suggest_integrations"
hooks="prepare_data setup teardown on_fit_start on_fit_end on_train_start on_train_end on_train_epoch_start
 on_train_epoch_end on_train_batch_start on_train_batch_end on_validation_epoch_start on_validation_epoch_end
 on_validation_batch_start on_validation_batch_end on_validation_model_eval on_test_start on_test_end
 on_test_batch_start on_test_batch_end on_predict_start on_predict_end on_predict_batch_start on_predict_batch_end
 on_before_backward on_after_backward on_before_optimizer_step on_before_zero_grad on_before_batch_transfer
 on_after_batch_transfer transfer_batch_to_device on_exception optimizer_step optimizer_zero_grad lr_scheduler_step
 configure_gradient_clipping configure_callbacks configure_model configure_optimizers configure_sharded_model
 training_step validation_step test_step predict_step backward manual_backward clip_gradients toggle_optimizer
 optimizers lr_schedulers train_dataloader val_dataloader predict_dataloader LightningDataModule CombinedLoader
 log_dict add_dataloader_idx rank_zero_only all_gather save_hyperparameters load_from_checkpoint strict_loading
 weights_only current_epoch global_step global_rank local_rank is_global_zero num_training_batches
 estimated_stepping_batches example_input_array to_onnx to_torchscript to_tensorrt device_mesh fabric should_stop
 callback_metrics"
callbacks="BackboneFinetuning BaseFinetuning BasePredictionWriter BatchSizeFinder Callback DeviceStatsMonitor
 EarlyStopping EMAWeightAveraging GradientAccumulationScheduler LambdaCallback LearningRateFinder LearningRateMonitor
 ModelCheckpoint ModelPruning ModelSummary OnExceptionCheckpoint RichModelSummary RichProgressBar SpikeDetection
 StochasticWeightAveraging ThroughputMonitor Timer TQDMProgressBar WeightAveraging AsyncCheckpointIO
 every_n_train_steps train_time_interval save_on_train_epoch_end save_weights_only enable_version_counter save_last
 save_top_k auto_insert_metric_name CHECKPOINT_NAME_LAST"
for name in $arguments $hooks $callbacks; do
    check "Lightning's $name has its place" grep -qwF -- "$name" "$tmp/all"
done
for name in $(grep -oE '\bxt_[a-z0-9_]+' "$root/doc/from-lightning.md" | grep -v '_$' | sort -u); do
    check "$name of from-lightning.md exists" grep -qwF -- "$name" "$root"/include/xtrain/*.h
done
finish
