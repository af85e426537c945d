/* Texts that are read, each with the one that is to be said, for a model with an encoder. Lines of JSON,
 *     {"input": "translate English to German: a house", "target": "ein Haus"}
 * or the same as "prompt" and "completion". */
#ifndef XTRAIN_MODELS_PAIRS_H
#define XTRAIN_MODELS_PAIRS_H

#include <xtrain/xtrain.h>

#include "models/tokenizer.h"

typedef struct pairs pairs; /* counted: a dataset retains it */
typedef struct pairs_opts {
    const tokenizer *words;
    int64_t vocab, seq; /* of the model; tokens of a text at most: longer ones lose their end */
    int64_t start, stop; /* the token a decoder begins with; the one that ends a text, -1 = none */
} pairs_opts;
/* A *.jsonl file or a folder. Errors name file and line. */
xt_status pairs_open(const char *path, const pairs_opts *o, pairs **out);
void pairs_release(pairs *p);
size_t pairs_count(const pairs *p);
size_t pairs_cut(const pairs *p); /* texts that lost their end */
int64_t pairs_source(const pairs *p); /* tokens that a sample has for the encoder: as many as the longest text */
int64_t pairs_target(const pairs *p); /* and for the decoder */
/* Samples [first,end): x [source + target], y [target]: models/t5.h. */
xt_dataset *pairs_dataset(pairs *p, size_t first, size_t end);

#endif
