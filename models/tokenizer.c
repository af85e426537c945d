/* Tokenizers: bytes need no file; with vocab.json and merges.txt pieces of text are encoded by byte-pair merges. */
#include "models/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xtrain/program.h>

struct tokenizer {
    bpe *pairs; /* NULL: bytes */
    char *dir;
};

static const char all_bytes_source[] = "bytes";
static char byte_values[256];

xt_status tokenizer_open(const char *dir, tokenizer **out) {
    tokenizer *t = calloc(1, sizeof *t);
    xt_status s = NULL;
    *out = NULL;
    if (!t || !(t->dir = strdup(dir ? dir : all_bytes_source)))
        s = xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a tokenizer");
    if (!s && dir) s = bpe_open(dir, &t->pairs);
    for (int i = 0; i < 256; i++) byte_values[i] = (char)i;
    if (s)
        tokenizer_free(t);
    else
        *out = t;
    return s;
}

void tokenizer_free(tokenizer *t) {
    if (!t) return;
    bpe_free(t->pairs);
    free(t->dir);
    free(t);
}

int64_t tokenizer_vocab(const tokenizer *t) {
    return t->pairs ? bpe_vocab(t->pairs) : 256;
}
bool tokenizer_is_bytes(const tokenizer *t) {
    return !t->pairs;
}

const char *tokenizer_token(const tokenizer *t, int64_t id, size_t *out_n) {
    if (t->pairs) return bpe_token(t->pairs, id, out_n);
    *out_n = id >= 0 && id < 256;
    return *out_n ? byte_values + id : "";
}

xt_status tokenizer_encode(const tokenizer *t, const char *text, size_t n, int32_t **out_ids, size_t *out_n) {
    /* never more tokens than bytes */
    int32_t *ids = n < SIZE_MAX / sizeof *ids ? malloc((n ? n : 1) * sizeof *ids) : NULL;
    size_t count = 0;
    if (!ids) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for the tokens of a text of %zu bytes", n);
    for (size_t at = 0, end; at < n; at = end) {
        end = t->pairs ? pretokenize(text, n, at) : at + 1;
        int64_t k = 1;
        if (t->pairs)
            k = bpe_encode_piece(t->pairs, text + at, end - at, ids + count);
        else
            ids[count] = (unsigned char)text[at];
        if (k < 0) {
            free(ids);
            return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory to encode a piece of %zu bytes", end - at);
        }
        count += (size_t)k;
    }
    int32_t *fitted = realloc(ids, (count ? count : 1) * sizeof *ids);
    *out_ids = fitted ? fitted : ids;
    *out_n = count;
    return NULL;
}

static xt_status copy_file(const char *from_dir, const char *to_dir, const char *name) {
    char from[4096], to[4096], *text;
    size_t n;
    snprintf(from, sizeof from, "%s/%s", from_dir, name);
    snprintf(to, sizeof to, "%s/%s", to_dir, name);
    if (strcmp(from, to) == 0) return NULL;
    XT_TRY(xt_read_file(from, &text, &n));
    xt_status s = xt_write_file(to, text, n);
    xt_text_free(text);
    return s;
}

xt_status tokenizer_save(const tokenizer *t, const char *dir) {
    if (!t->pairs) return NULL;
    XT_TRY(copy_file(t->dir, dir, "vocab.json"));
    return copy_file(t->dir, dir, "merges.txt");
}
