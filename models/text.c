/* Text as samples for a language model. */
#include "models/text.h"

#include <stdlib.h>
#include <string.h>
#include <xtrain/program.h>

static xt_status open_tokens(const char *path, const tokenizer *t, text_corpus *c) {
    XT_TRY(token_file_open(path, &c->file));
    int64_t vocab = token_file_vocab(c->file);
    c->n = token_file_count(c->file);
    c->bytes = 0;
    c->vocab = tokenizer_is_bytes(t) ? vocab : tokenizer_vocab(t);
    if (vocab > c->vocab && c->vocab)
        return xt_status_new(XT_INVALID_ARGUMENT, "%s has tokens of a vocabulary of %lld, the tokenizer has %lld", path,
                             (long long)vocab, (long long)c->vocab);
    return NULL;
}

static xt_status open_text(const char *path, const tokenizer *t, text_corpus *c) {
    char *text;
    XT_TRY(xt_read_file(path, &text, &c->bytes));
    xt_status s = tokenizer_encode(t, text, c->bytes, &c->tokens, &c->n);
    xt_text_free(text);
    c->vocab = tokenizer_vocab(t);
    return s;
}

xt_status text_open(const char *path, const tokenizer *t, text_corpus **out) {
    text_corpus *c = calloc(1, sizeof *c);
    if (!c) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for %s", path);
    xt_status s = token_file_is(path) ? open_tokens(path, t, c) : open_text(path, t, c);
    c->refs = 1;
    if (s)
        text_release(c);
    else
        *out = c;
    return s;
}

xt_status text_of_tokens(int32_t *tokens, size_t n, size_t bytes, int64_t vocab, text_corpus **out) {
    text_corpus *c = calloc(1, sizeof *c);
    if (!c) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a text");
    *c = (text_corpus){.tokens = tokens, .n = n, .bytes = bytes, .vocab = vocab, .refs = 1};
    *out = c;
    return NULL;
}

void text_release(text_corpus *c) {
    if (!c || --c->refs) return;
    free(c->tokens);
    token_file_close(c->file);
    free(c);
}

typedef struct windows {
    text_corpus *corpus;
    size_t first, end;
    int64_t seq;
    bool training;
} windows;

static void windows_free(void *user) {
    windows *w = user;
    text_release(w->corpus);
    free(w);
}

static xt_status get(void *user, int64_t i, void *x, void *y) {
    const windows *w = user;
    size_t at = w->first + (size_t)(i * w->seq), most = w->end - (size_t)w->seq - 1;
    if (w->training) at += (size_t)(xt_sample_uniform() * (double)w->seq);
    int64_t *tokens = x, *next = y;
    if (at > most) at = most;
    if (w->corpus->file) {
        const text_corpus *c = w->corpus;
        XT_TRY(token_file_read(c->file, at, (size_t)w->seq, c->vocab, tokens));
        return next ? token_file_read(c->file, at + 1, (size_t)w->seq, c->vocab, next) : NULL;
    }
    const int32_t *from = w->corpus->tokens + at;
    for (int64_t k = 0; k < w->seq; k++) {
        tokens[k] = from[k];
        if (next) next[k] = from[k + 1];
    }
    return NULL;
}

xt_dataset *text_windows(text_corpus *c, size_t first, size_t end, int64_t seq, bool training) {
    windows *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    *w = (windows){c, first, end, seq, training};
    c->refs++;
    xt_spec spec = {XT_I64, {seq}};
    int64_t n = end > first ? (int64_t)(end - first - 1) / seq : 0;
    xt_dataset_desc d = {.struct_size = sizeof d,
                         .count = n,
                         .x = spec,
                         .y = spec,
                         .get = get,
                         .free_user = windows_free,
                         .user = w,
                         .name = training ? "text" : "held-out text"};
    xt_dataset *out = xt_dataset_new(&d);
    if (!out) windows_free(w);
    return out;
}
