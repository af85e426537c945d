/* Added tokens: texts that are found as they stand before anything else is done with a text. */
#ifndef XTRAIN_MODELS_TOKENIZERS_ADDED_H
#define XTRAIN_MODELS_TOKENIZERS_ADDED_H

#include "models/tokenizers/parts.h"

typedef struct tok_added {
    char *content, *normal; /* normal: what is looked for in the text, after the normalizer where that is asked for */
    size_t n_normal;
    int32_t id;
    bool single_word, lstrip, rstrip, normalized, special;
} tok_added;
typedef struct tok_added_list {
    tok_added *items;
    size_t n;
} tok_added_list;
xt_status tok_added_read(tok_added_list *l, const cJSON *json, const tok_part *normalizer);
void tok_added_free(tok_added_list *l);
const tok_added *tok_added_find(const tok_added_list *l, int64_t id); /* NULL: none */
/* Cuts a text at those that are looked for before (after: behind) normalization. */
void tok_added_cut(const tok_added_list *l, bool after, const tok_piece *from, tok_pieces *out);

#endif
