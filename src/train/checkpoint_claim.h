/* Names of checkpoints, among processes that write into one folder at once: what was looked at and found free may be
 * somebody's a moment later. A name is claimed before it is chosen and until its file is there, and again from when the
 * file is given up until it is gone: an empty file beside it, locked, which a killed process leaves for the next sweep
 * of the folder. Threads: any. */
#ifndef XT_SRC_TRAIN_CHECKPOINT_CLAIM_H
#define XT_SRC_TRAIN_CHECKPOINT_CLAIM_H

#include "base/base.h"

/* Claims of one process add up. Where no lock can be had (a full disk, a file system without locks) the name is this
 * process's. */
typedef enum claim_made { CLAIM_NONE, CLAIM_FIRST, CLAIM_ADDED } claim_made; /* none: another process has it */
claim_made checkpoint_claim(const char *path);
void checkpoint_unclaim(const char *path); /* once for each claim; nothing where there is none */
/* A file of that folder: removed where it is the claim of a process that is gone. */
void checkpoint_claim_sweep(int folder, const char *name);

#endif
