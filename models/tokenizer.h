/* Text to token numbers and back: bytes, or GPT-2's byte-pair encoding from Hugging Face's vocab.json and merges.txt.
 *
 *     tokenizer *t;
 *     XT_TRY(tokenizer_open("gpt2", &t));                  a folder with both files; NULL: bytes
 *     XT_TRY(tokenizer_encode(t, text, n, &ids, &n_ids));  free(ids)
 *     const char *bytes = tokenizer_bytes(t, ids[0], &n);
 *
 * A tokenizer may be used by several threads. */
#ifndef XTRAIN_MODELS_TOKENIZER_H
#define XTRAIN_MODELS_TOKENIZER_H

#include <xtrain/base.h>

typedef struct tokenizer tokenizer;

xt_status tokenizer_open(const char *dir, tokenizer **out);
void tokenizer_free(tokenizer *t);
int64_t tokenizer_vocab(const tokenizer *t); /* ids are 0 .. vocab - 1 */
bool tokenizer_is_bytes(const tokenizer *t);
/* Any bytes are encoded, invalid UTF-8 too, and decode to themselves. *out_ids: malloc'ed, never NULL on success. */
xt_status tokenizer_encode(const tokenizer *t, const char *text, size_t n, int32_t **out_ids, size_t *out_n);
/* the bytes of a token (not a C string); none for an id without one */
const char *tokenizer_token(const tokenizer *t, int64_t id, size_t *out_n);
/* copies vocab.json and merges.txt there; nothing for bytes */
xt_status tokenizer_save(const tokenizer *t, const char *dir);

/* pretokenize.c: the end of the piece that begins at text[at], by GPT-2's rule
 *   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 * Bytes that are no UTF-8 count as neither letter, number nor space. */
size_t pretokenize(const char *text, size_t n, size_t at);

/* bpe.c */
typedef struct bpe bpe;
xt_status bpe_open(const char *dir, bpe **out);
void bpe_free(bpe *b);
int64_t bpe_vocab(const bpe *b);
const char *bpe_token(const bpe *b, int64_t id, size_t *out_n);
/* One piece; ids has room for n. Gives how many there are, -1 when memory is short. */
int64_t bpe_encode_piece(const bpe *b, const char *piece, size_t n, int32_t *ids);

#endif
