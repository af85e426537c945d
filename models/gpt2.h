/* What generation needs of a network (GPT-2's, Llama's) beside the model itself: keys and values of the positions seen
 * so far. */
#ifndef XTRAIN_MODELS_GPT2_H
#define XTRAIN_MODELS_GPT2_H

#include "models/models.h"

/* While a model_options has one, a pass takes n more tokens of one text at `position`, .., position + n - 1: it writes
 * their keys and values into the cache, which holds `context` positions whatever was seen, so that every token is the
 * same program. */
typedef struct gpt2_cache {
    xt_tensor position; /* i64 scalar */
    xt_tensor *keys,
        *values; /* of each layer [1,heads of keys,context,width/heads], kept; a pass leaves the new ones here */
} gpt2_cache;

#endif
