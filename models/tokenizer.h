/* Text to token numbers and back: bytes, Hugging Face's tokenizer.json, GPT-2's byte-pair encoding from its vocab.json
 * and merges.txt, or BERT's word pieces from its vocab.txt.
 *
 *     tokenizer *t;
 *     XT_TRY(tokenizer_open("gpt2", &t));                  a folder with one or the other; NULL: bytes
 *     XT_TRY(tokenizer_encode(t, text, n, &ids, &n_ids));  free(ids)
 *     XT_TRY(tokenizer_decode(t, ids, n_ids, false, &text, &n));  free(text)
 *
 * A tokenizer may be used by several threads. */
#ifndef XTRAIN_MODELS_TOKENIZER_H
#define XTRAIN_MODELS_TOKENIZER_H

#include <xtrain/base.h>

typedef struct tokenizer tokenizer;

xt_status tokenizer_open(const char *dir, tokenizer **out);
bool tokenizer_is_in(const char *dir); /* whether a folder has the files of one, readable or not */
void tokenizer_free(tokenizer *t);
int64_t tokenizer_vocab(const tokenizer *t); /* ids are 0 .. vocab - 1 */
bool tokenizer_is_bytes(const tokenizer *t);
/* Any bytes are encoded; where tokens are made of bytes, invalid UTF-8 decodes to itself too. Nothing is put around the
 * text. *out_ids: malloc'ed, never NULL on success. */
xt_status tokenizer_encode(const tokenizer *t, const char *text, size_t n, int32_t **out_ids, size_t *out_n);
/* As a prompt or a whole text: with what tokenizer.json puts around it (<s>, [CLS] ... [SEP]). */
xt_status tokenizer_encode_whole(const tokenizer *t, const char *text, size_t n, int32_t **out_ids, size_t *out_n);
/* What that is: tokens in front of any text and behind it, malloc'ed, never NULL on success. To be freed also on
 * failure. */
xt_status tokenizer_around(const tokenizer *t, int32_t **front, size_t *n_front, int32_t **back, size_t *n_back);
/* A token as its file has it (bytes and GPT-2's: the bytes that it is; not a C string); none for an id without one. */
const char *tokenizer_token(const tokenizer *t, int64_t id, size_t *out_n);
/* The text of tokens; *out: free(), a 0 behind its *out_n bytes. skip: without special tokens (<s>, ...). */
xt_status tokenizer_decode(const tokenizer *t, const int32_t *ids, size_t n, bool skip, char **out, size_t *out_n);
/* What tokens add to a text as they come, whole characters only: ids are all so far, *seen what was given out of them
 * (begin with {0}; {n, n} behind n tokens of a prompt). flush: there come no more. *out: free(). */
typedef struct token_stream {
    size_t from, to; /* the last tokens that were given out: what follows is read together with them */
} token_stream;
xt_status tokenizer_decode_next(const tokenizer *t, const int32_t *ids, size_t n, bool flush, token_stream *seen,
                                char **out, size_t *out_n);
/* copies its files there; nothing for bytes */
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
