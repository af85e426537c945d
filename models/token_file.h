/* Files of token numbers: u16 or u32, little-endian, one behind the other and nothing else, as nanoGPT's train.bin.
 * Beside FILE.bin lies FILE.bin.json with the width, the number of tokens and of the vocabulary; without it numbers
 * have 16 bits. Tokens are read where they lie, when they are asked for. */
#ifndef XTRAIN_MODELS_TOKEN_FILE_H
#define XTRAIN_MODELS_TOKEN_FILE_H

#include <xtrain/base.h>

typedef struct token_file token_file;
bool token_file_is(const char *path); /* by its name: *.bin */
/* Tokens must be below vocab. Both files appear whole or not at all. */
xt_status token_file_write(const char *path, const int32_t *tokens, size_t n, int64_t vocab);
xt_status token_file_open(const char *path, token_file **out);
void token_file_close(token_file *f);
size_t token_file_count(const token_file *f);
int64_t token_file_vocab(const token_file *f); /* 0: the file does not say */
/* n tokens from the at-th on; by any number of threads. One that is not below `vocab` is an error. */
xt_status token_file_read(const token_file *f, size_t at, size_t n, int64_t vocab, int64_t *out);

#endif
