/* Text as samples for a language model. */
#include "models/text.h"

#include <stdlib.h>
#include <string.h>
#include <xtrain/program.h>

xt_status text_open(const char *path, const tokenizer *t, text_corpus **out) {
    char *text = NULL;
    text_corpus *c = calloc(1, sizeof *c);
    xt_status s =
        c ? xt_read_file(path, &text, &c->bytes) : xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for %s", path);
    if (!s) s = tokenizer_encode(t, text, c->bytes, &c->tokens, &c->n);
    xt_text_free(text);
    if (c) c->refs = 1;
    if (s)
        text_release(c);
    else
        *out = c;
    return s;
}

void text_release(text_corpus *c) {
    if (!c || --c->refs) return;
    free(c->tokens);
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
    const int32_t *from = w->corpus->tokens + (at < most ? at : most);
    int64_t *tokens = x, *next = y;
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
