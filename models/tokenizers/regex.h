/* Regular expressions of tokenizer.json, which are Oniguruma's, by PCRE2. */
#ifndef XTRAIN_MODELS_TOKENIZERS_REGEX_H
#define XTRAIN_MODELS_TOKENIZERS_REGEX_H

#include "models/tokenizers/text.h"

typedef struct tok_regex tok_regex;
tok_text tok_regex_translated(const char *pattern, tok_arena *a); /* as PCRE2 wants it */
/* regex_fold.c: c without case, one to three characters; and those that are `fold` without it. */
enum { TOK_FOLD = 3 };
size_t tok_fold(uint32_t c, uint32_t out[TOK_FOLD]);
size_t tok_folded_to(const uint32_t *fold, size_t n, uint32_t *out, size_t room);
xt_status tok_regex_new(const char *pattern, tok_regex **out);
void tok_regex_free(tok_regex *r);
/* The matches in one text, one after the other: 1, 0 for none any more, -1 where the matcher gave up. An empty one
 * right behind the last is none. Any number of threads. */
typedef struct tok_search tok_search;
tok_search *tok_search_new(const tok_regex *r); /* NULL without memory */
void tok_search_free(tok_search *s);
int tok_search_next(tok_search *s, tok_text text, size_t *out_start, size_t *out_end);

#endif
