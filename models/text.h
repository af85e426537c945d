/* A text file, or a file of tokens, and datasets of its windows. */
#ifndef XTRAIN_MODELS_TEXT_H
#define XTRAIN_MODELS_TEXT_H

#include <xtrain/xtrain.h>

#include "models/token_file.h"
#include "models/tokenizer.h"

typedef struct text_corpus {
    int32_t *tokens; /* NULL: they are read from `file` */
    token_file *file;
    size_t n, bytes; /* tokens; bytes of the file */
    int64_t vocab; /* tokens are below */
    int refs;
} text_corpus;
/* Reads and encodes the whole file; of a file of tokens (*.bin) nothing yet. Counted: a dataset retains it. */
xt_status text_open(const char *path, const tokenizer *t, text_corpus **out);
/* Of tokens that are there; takes them over (free) where it gives no error. */
xt_status text_of_tokens(int32_t *tokens, size_t n, size_t bytes, int64_t vocab, text_corpus **out);
void text_release(text_corpus *c);
/* Samples of seq tokens (i64) and the same one token on, from tokens [first, end). Training: windows lie side by side
 * and all begin at another place of their stretch each time, drawn for the sample, so that an epoch sees the text about
 * once and never the same windows. Otherwise they stand still. NULL with a pending error when not one window fits. */
xt_dataset *text_windows(text_corpus *c, size_t first, size_t end, int64_t seq, bool training);

#endif
