/* File names of checkpoints, made from a pattern: "{epoch}-{step}" -> "epoch=0-step=468", "{val/acc:.3f}" ->
 * "val_acc=0.981". */
#ifndef XT_SRC_TRAIN_CHECKPOINT_NAME_H
#define XT_SRC_TRAIN_CHECKPOINT_NAME_H

#include "base/base.h"

/* value(user, key) gives a metric's value, NaN if unknown (printed as nan). "{key:FORMAT}": FORMAT is printf's flags,
 * width, precision and one of d f e g. '/' in keys becomes '_'; without `keys` the values stand alone. Errors name what
 * is wrong with the pattern. */
xt_status checkpoint_name(const char *pattern, int64_t epoch, int64_t step,
                          double (*value)(void *user, const char *key), void *user, bool keys, str *out);

/* Whether checkpoint_name gives `text` for this pattern and some epoch, step and values: every number as its format
 * prints it, everything else to the letter. */
bool checkpoint_name_matches(const char *pattern, bool keys, const char *text);

#endif
