/* The callbacks that a trainer has of its own accord, unless its options or the program say otherwise. */
#include "train/train_int.h"

static bool has(const xt_trainer *t, const xt_callback_desc *kind) {
    for (size_t i = 0; i < t->n_callbacks; i++)
        if (callback_is(t->callbacks[i], kind)) return true;
    return false;
}

xt_status callbacks_built_in(xt_trainer *t) {
    if (t->built_ins_added) return NULL;
    t->built_ins_added = true;
    if (t->o.model_summary != XT_OFF && !has(t, &model_summary_desc)) xt_trainer_add(t, model_summary_new());
    if (t->o.reinitialize_every_n_steps) xt_trainer_add(t, reinitialize_new());
    if (t->o.progress_bar != XT_OFF && !has(t, &progress_bar_desc)) xt_trainer_add(t, progress_bar_new());
    return NULL;
}
