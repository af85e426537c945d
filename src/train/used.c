/* What a call of the Trainer's uses and a program could free meanwhile: its module, optimizers, loaders. Each is looked
 * at before, and not to be freed until the call returns (lazy_use). */
#include "train/train_int.h"

xt_status train_use(handle_kind kind, const void *p, const char *from) {
    if (handle_look(kind, p) != HANDLE_LIVES)
        return status_new(XT_FAILED_PRECONDITION, NULL,
                          "%s: the %s that it gave is none that lives in this thread (was it freed?)", from,
                          handle_word(kind));
    lazy_use(p);
    return NULL;
}

xt_status train_use_optimizers(const xt_trainer *t) {
    const char *from = t->task && t->task->configure_several ? "configure_several" : "configure_optimizers";
    for (int i = 0; i < t->n_opts; i++) XT_TRY(train_use(HANDLE_optimizer, t->opts[i], from));
    return NULL;
}
