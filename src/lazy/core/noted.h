/* What other folders tell of a step while it is recorded, for the report of the program that it may need. */
#ifndef XT_SRC_LAZY_NOTED_H
#define XT_SRC_LAZY_NOTED_H

#include "lazy/lazy.h"

/* An optimizer of that kind ("xt_adam", static), made there, has stepped. */
void lazy_note_optimizer(const char *kind, src_id made);
/* The optimizer's step there updates others than `param`: from now on it counts that one's updates apart. */
void lazy_note_parted(const xt_src *src, const char *param);
/* The op that was recorded last; NULL: none was. */
const struct ir_op *lazy_recorded_last(void);
/* What was recorded behind that op follows from what the user's lines compute: gradients, an update. */
void lazy_note_derived(const struct ir_op *behind);
/* A batch has come from `loader`; partial: the last of its pass, with fewer samples than the others. */
void lazy_note_batch(const void *loader, bool partial);

#endif
