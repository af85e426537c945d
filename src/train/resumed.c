/* The settings of the run that wrote the checkpoint which a fit goes on from, before that fit begins. */
#include "train/train_int.h"

/* What is wrong with the file is left to the fit to say. */
static void ask(xt_trainer *t) {
    char *text = NULL;
    const xt_trainer_opts settled = t->o;
    t->o = t->given; /* a fit that is yet to begin settles them */
    xt_status s = checkpoint_resume_meta(t, "config", false, &text);
    t->o = settled;
    if (text) config_keep_resumed(t, text);
    base_free(text);
    xt_status_free(s);
    t->resumed_asked = true;
}

const char *xt_trainer_resumed_text(xt_trainer *t, const char *name) {
    if (!t->resumed_asked) ask(t);
    return config_resumed(t, name);
}
