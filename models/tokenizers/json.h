/* A tokenizer from a tokenizer.json, as Hugging Face's tokenizers library writes it: ids equal to that library's for
 * what it knows; what it knows and this does not is an error when the file is opened. Truncation and padding, which the
 * file may ask for, are left to whoever makes batches. May be used by several threads. */
#ifndef XTRAIN_MODELS_TOKENIZERS_JSON_H
#define XTRAIN_MODELS_TOKENIZERS_JSON_H

#include <xtrain/base.h>

typedef struct tok_json tok_json;
xt_status tok_json_open(const char *path, tok_json **out);
struct cJSON;
xt_status tok_json_of(const struct cJSON *json, const char *path,
                      tok_json **out); /* path: whence it is, for messages */
/* vocab_txt.c: of BERT's vocab.txt in that folder, and of the tokenizer_config.json beside it, if there is one */
xt_status tok_vocab_txt_open(const char *dir, tok_json **out);
void tok_json_free(tok_json *t);
int64_t tok_json_vocab(const tok_json *t); /* ids are below */
/* specials: with what the file's post-processor puts around a text (<s>, [CLS] ... [SEP]). *out_ids: free(). */
xt_status tok_json_encode(const tok_json *t, const char *text, size_t n, bool specials, int32_t **out_ids,
                          size_t *out_n);
/* *out: free(), a 0 behind its *out_n bytes. skip: without special tokens. Ids without a token are left out. */
xt_status tok_json_decode(const tok_json *t, const int32_t *ids, size_t n, bool skip, char **out, size_t *out_n);
/* As the file writes it; "" for an id without one. */
const char *tok_json_token(const tok_json *t, int64_t id, size_t *out_n);
int64_t tok_json_id(const tok_json *t, const char *token); /* -1: none */

#endif
