/* .reinitialize_every_n_steps: a checkpoint, then everything on the device is given back and the run goes on in the
 * same process. */
#include <xtrain/memory.h>

#include "train/train_int.h"

static void step_end(xt_trainer *t, void *user) {
    (void)user;
    if (t->global_step % t->o.reinitialize_every_n_steps != 0) return;
    str path = STR_INIT;
    if (t->run_dir) str_printf(&path, "%s/checkpoints/last.ckpt", t->run_dir);
    xt_status s = t->o.checkpointing == XT_OFF ? NULL : checkpoint_of_ranks(t, path.len ? str_cstr(&path) : NULL);
    if (s)
        lazy_fail(status_context(s, "before reinitialize_every_n_steps"));
    else if (xt_reinitialize())
        log_msg(XT_SEV_INFO, "step %lld: everything on the device was given back%s%s", (long long)t->global_step,
                path.len ? "; saved before: " : "", path.len ? str_cstr(&path) : "");
    str_free(&path);
}

static const xt_callback_desc desc = {
    .struct_size = sizeof(xt_callback_desc), .name = "reinitialize", .step_end = step_end};

xt_callback *reinitialize_new(void) {
    return callback_make(&desc, NULL);
}
