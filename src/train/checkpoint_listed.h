/* Names of checkpoints that stand in a checkpoint. The list of files that a model checkpoint keeps travels in the
 * files, and anybody may have written the file that a run is resumed from; so an entry of the list is a claim. What is
 * removed in the end is found again at that moment, below the saver's own folder, and only when it is a checkpoint of a
 * trainer. */
#ifndef XT_SRC_TRAIN_CHECKPOINT_LISTED_H
#define XT_SRC_TRAIN_CHECKPOINT_LISTED_H

#include "base/base.h"

typedef enum listed_kind {
    LISTED_OWN, /* a checkpoint in the saver's folder, of a name that the saver makes */
    LISTED_GONE, /* it would be, and is not there any more */
    LISTED_ELSEWHERE, /* of another folder: it may be read, and is never written or removed */
    LISTED_REFUSED /* dropped, with the reason */
} listed_kind;

/* `folder`: the saver's dirpath, NULL when it has none; `pattern`: its filename; `keys`: whether
 * names of values are put before them. */
listed_kind checkpoint_listed(const char *folder, const char *pattern, bool keys, const char *path,
                              const char **out_why);
/* Warns of `path`, an entry of the list in a checkpoint, which is not used; `n`: how many before it were not. */
void checkpoint_listed_tell(const char *path, const char *why, int n);

/* Removes the checkpoint `path`, whose first `root` characters are its saver's folder: a regular file below it that is
 * reached through no symbolic link and is a checkpoint of a trainer. NULL: it is gone; else why it stays. */
const char *checkpoint_remove(const char *path, size_t root);

#endif
