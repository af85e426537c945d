/* Regular expressions of tokenizer.json, which are Oniguruma's, by PCRE2. */
#ifndef XTRAIN_MODELS_TOKENIZERS_REGEX_H
#define XTRAIN_MODELS_TOKENIZERS_REGEX_H

#include "models/tokenizers/text.h"

typedef struct tok_regex tok_regex;
xt_status tok_regex_new(const char *pattern, tok_regex **out);
void tok_regex_free(tok_regex *r);
/* The first match in `text` at or behind `from`: 1, 0 for none, -1 where the matcher gave up. Any number of threads. */
typedef struct tok_search tok_search;
tok_search *tok_search_new(const tok_regex *r); /* NULL without memory */
void tok_search_free(tok_search *s);
int tok_search_next(tok_search *s, tok_text text, size_t from, size_t *out_start, size_t *out_end);

#endif
