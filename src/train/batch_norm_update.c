/* Running statistics of batch norms as the mean over a pass: torch.optim.swa_utils.update_bn. */
#include "nn/nn.h"
#include "train/train_int.h"

/* Each layer counts its batches from 0: the first replaces what was there. */
static xt_status reset_counts(const xt_src *src, const xt_module *net, int *out_layers) {
    static const char word[] = "num_batches_tracked";
    *out_layers = 0;
    for (int i = 0; i < xt_module_tensors(net); i++) {
        const char *name = xt_module_tensor_name(net, i);
        size_t n = strlen(name), k = sizeof word - 1;
        const ir_type *type = lazy_type(xt_module_tensor(net, i));
        if (n < k || strcmp(name + n - k, word) != 0 || !type || type->dtype != XT_I64 || type->rank) continue;
        int64_t none = 0;
        XT_TRY(status_at(lazy_state_write(xt_module_tensor(net, i), &none, sizeof none), src));
        ++*out_layers;
    }
    return NULL;
}

xt_status xt_update_batch_norms_at(const xt_src *src, xt_module *net, xt_loader *loader) {
    int layers = 0;
    if (lazy_pending()) return status_clone(lazy_pending());
    if (!net || !loader || xt_module_tensors(net) == 0)
        return status_new(XT_INVALID_ARGUMENT, src,
                          "xt_update_batch_norms: a module that has its parameters and a loader are needed");
    if (!lazy_boundary(LAZY_STEP_END, src) || !lazy_drain()) return status_clone(lazy_pending());
    XT_TRY(reset_counts(src, net, &layers));
    if (!layers) return NULL;
    bool was_training = xt_is_training(net);
    int64_t epoch = xt_loader_epoch(loader);
    xt_train_at(src, net);
    xt_no_grad_begin();
    nn_cumulate_batch_norms(true);
    xt_loader_set_epoch(loader, epoch, 0);
    for (xt_batch b; xt_next_at(src, loader, &b);) xt_forward_at(src, net, b.x);
    nn_cumulate_batch_norms(false);
    xt_no_grad_end_at(NULL);
    if (!was_training) xt_eval_at(src, net);
    bool ok = lazy_drain();
    xt_loader_set_epoch(loader, epoch, 0);
    return ok && !lazy_pending() ? NULL : status_clone(lazy_pending());
}
