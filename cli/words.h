/* The tokenizer of a command about a model: the one that was named, that of the model's folder, or bytes. */
#ifndef XTRAIN_CLI_WORDS_H
#define XTRAIN_CLI_WORDS_H

#include "models/tokenizer.h"

/* given: --tokenizer, NULL where there was none; dir: the model's folder, NULL where it has none; vocab: how many
 * tokens the model knows, 0 where that is open. */
xt_status cli_open_words(const char *given, const char *dir, int64_t vocab, tokenizer **out);

#endif
