/* Running statistics of batch norms as the mean over a pass: torch.optim.swa_utils.update_bn. */
#include "data/data.h"
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
    loader_pass outer = loader_mark(loader), pass = {loader, outer.epoch, 0};
    nn_mode_begin(src, net, NN_TRAINING);
    xt_no_grad_begin();
    nn_cumulate_batch_norms(true);
    for (xt_batch b; loader_pass_next(src, &pass, &b);) xt_forward_at(src, net, b.x);
    nn_cumulate_batch_norms(false);
    xt_no_grad_end_at(NULL);
    nn_mode_end(src, net);
    bool ok = lazy_drain();
    xt_loader_set_epoch(loader, outer.epoch, outer.next);
    return ok && !lazy_pending() ? NULL : status_clone(lazy_pending());
}
