/* Texts for encoders: with a label each, or with tokens left out that are to be found. Lines of JSON,
 *     {"text": "...", "label": 1}           {"text": "...", "text_pair": "...", "label": "entailment"}
 * and for masks also without labels, or a file or a folder of *.txt. */
#ifndef XTRAIN_MODELS_LABELLED_H
#define XTRAIN_MODELS_LABELLED_H

#include <xtrain/xtrain.h>

#include "models/tokenizer.h"

typedef struct label_names {
    char **names; /* in the order of their numbers; malloc'ed */
    size_t n;
} label_names;
void label_names_free(label_names *l);
/* name: copied. False without memory. */
bool label_names_add(label_names *l, const char *name, size_t n);

typedef struct labelled labelled; /* counted: a dataset retains it */
typedef struct labelled_opts {
    const tokenizer *words;
    int64_t vocab, seq; /* of the model; tokens of a sample */
    bool labels; /* of each text; else there are masks */
    label_names *names; /* labels that are known; where it is empty, those of the data are put in */
} labelled_opts;
/* Whether the first line of a *.jsonl has a label. */
bool labelled_are(const char *path);
/* Errors name file and line. */
xt_status labelled_open(const char *path, const labelled_opts *o, labelled **out);
void labelled_release(labelled *l);
size_t labelled_count(const labelled *l); /* samples */
size_t labelled_cut(const labelled *l); /* texts that lost their end */
/* Samples [first,end): x [2,seq], tokens and segments (-1: none, models/encoder.h); y [], the label. With masks y is
 * [seq], the token that was there, -100 elsewhere: 15 in 100 tokens are to be found, of which 80 in 100 are masked, 10
 * are another token, 10 stay (Devlin et al. 2018). Training: which ones is drawn for each sample anew. */
xt_dataset *labelled_dataset(labelled *l, size_t first, size_t end, bool training);

#endif
