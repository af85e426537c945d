/* What other folders tell of a step while it is recorded, for the report of the program that it may need. */
#ifndef XT_SRC_LAZY_NOTED_H
#define XT_SRC_LAZY_NOTED_H

#include "lazy/lazy.h"

/* An optimizer of that kind ("xt_adam", static), made there, has stepped. */
void lazy_note_optimizer(const char *kind, src_id made);
/* A batch has come from `loader`; partial: the last of its pass, with fewer samples than the others. */
void lazy_note_batch(const void *loader, bool partial);

#endif
