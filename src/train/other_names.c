/* Options that Lightning's Trainer has under another name, or that need none here: who types one is told so. The long
 * form, with the reasons, is doc/from-lightning.md. */
#include "train/train_int.h"

static const struct {
    const char *there, *here;
} names[] = {
    {"accelerator", "the device is chosen by XT_DEVICE (cpu, TPU, CUDA, or the path of a PJRT plugin)"},
    {"benchmark", "the compiler chooses its kernels by itself"},
    {"check_val_every_n_epoch", "it is val_every_n_epochs here"},
    {"default_root_dir", "it is runs_dir here (or XT_RUNS_DIR)"},
    {"deterministic", "results are always reproducible here"},
    {"devices", "xtrain launch -n N, or CPU_NUM_DEVICES=N, starts one process for each device"},
    {"enable_checkpointing", "it is checkpointing here"},
    {"enable_model_summary", "it is model_summary here"},
    {"enable_progress_bar", "it is progress_bar here"},
    {"enable_autolog_hparams", "settings always go to config.json"},
    {"inference_mode", "validation, test and prediction always run without gradients"},
    {"num_nodes", "mpirun --host A,B starts ranks on several hosts"},
    {"profiler", "XT_PROFILE profiles any program"},
    {"reload_dataloaders_every_n_epochs", "a dataset is asked for its samples anew in each epoch"},
    {"use_distributed_sampler", "loaders divide their samples over the ranks by themselves"},
    {"val_check_interval", "it is val_every here, with its unit: 100batches, 0.25epochs, 10min"},
};

xt_status train_explain_name(xt_status s, const char *name) {
    if (!s || status_code(s) != XT_NOT_FOUND) return s;
    for (size_t i = 0; i < BASE_COUNT(names); i++) {
        if (!options_same_name(names[i].there, name)) continue;
        xt_status_free(s);
        return status_new(XT_NOT_FOUND, NULL, "there is no option %s: %s", name, names[i].here);
    }
    return s;
}
