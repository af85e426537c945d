/* Log-probabilities of texts; see score.h. */
#include "models/score.h"

#include <stdlib.h>
#include <string.h>

#include <xtrain/program.h>

#include "models/models.h"

enum { NO_LOSS = -100, SHORTEST = 32, MOST_ROWS = 64 };

static xt_status no_memory(void) {
    return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory to score a text");
}

/* Positions of a pass for a text: few different ones, so that many texts are few programs. What stands behind a text is
 * seen by none of its tokens. */
static int64_t width_of(const score *s, int64_t seq) {
    int64_t wide = SHORTEST;
    while (wide < s->n - 1) wide *= 2;
    return wide < seq ? wide : seq;
}

static int by_length(const void *a, const void *b) {
    const score *x = *(score *const *)a, *y = *(score *const *)b;
    return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : (x > y) - (x < y);
}

/* tokens and labels [rows,t]: the label of a place is the token behind it, where that one is wanted. */
static void fill(score *const *all, int64_t n, int64_t t, int64_t *tokens, int64_t *labels) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k + 1 < all[i]->n; k++) {
            tokens[i * t + k] = all[i]->ids[k];
            if (k + 1 >= all[i]->from) labels[i * t + k] = all[i]->ids[k + 1];
        }
}

static xt_status pass(xt_module *net, score *const *all, int64_t n, int64_t rows, int64_t t) {
    size_t count = (size_t)(rows * t);
    int64_t *tokens = calloc(2 * count, sizeof *tokens), *labels = tokens + count;
    float *losses = malloc(count * sizeof *losses);
    if (!tokens || !losses) {
        free(tokens);
        free(losses);
        return no_memory();
    }
    for (size_t i = 0; i < count; i++) labels[i] = NO_LOSS;
    fill(all, n, t, tokens, labels);
    xt_tensor y = xt_forward(net, xt_from_array(tokens, XT_I64, rows, t));
    y = xt_cross_entropy(y, xt_from_array(labels, XT_I64, rows, t), .axis = -1, .reduction = XT_NONE);
    xt_read(y, losses, count * sizeof *losses);
    xt_status e = model_end_step();
    for (int64_t i = 0; i < n && !e; i++) {
        all[i]->logprob = 0;
        for (int64_t k = all[i]->from - 1; k + 1 < all[i]->n; k++) all[i]->logprob -= (double)losses[i * t + k];
    }
    free(tokens);
    free(losses);
    return e;
}

static xt_status passes(xt_module *net, score **all, size_t n, int64_t seq, int64_t batch) {
    for (size_t at = 0; at < n;) {
        int64_t t = width_of(all[at], seq), rows = batch ? batch : seq / t < MOST_ROWS ? seq / t : MOST_ROWS;
        size_t k = 0;
        while (k < (size_t)rows && at + k < n && width_of(all[at + k], seq) == t) k++;
        XT_TRY(pass(net, all + at, (int64_t)k, rows, t));
        at += k;
    }
    return NULL;
}

xt_status score_texts(xt_module *net, int64_t vocab, score *all, size_t n, int64_t seq, int64_t batch) {
    for (size_t i = 0; i < n; i++)
        for (int64_t k = 0; k < all[i].n; k++)
            if (all[i].ids[k] < 0 || all[i].ids[k] >= vocab)
                return xt_status_new(
                    XT_INVALID_ARGUMENT,
                    "the tokenizer gives a token %d; the model's are 0 to %lld: are they of one model?", all[i].ids[k],
                    (long long)vocab - 1);
    score **order = malloc((n + 1) * sizeof *order);
    if (!order) return no_memory();
    for (size_t i = 0; i < n; i++) order[i] = &all[i];
    qsort(order, n, sizeof *order, by_length);
    bool was_training = xt_is_training(net);
    xt_eval(net);
    xt_no_grad_begin();
    xt_status s = passes(net, order, n, seq, batch);
    xt_no_grad_end();
    if (was_training) xt_train(net);
    free(order);
    return s;
}

/* --- a file --- */
static int64_t count_words(const char *text, size_t n) {
    int64_t words = 0;
    bool inside = false;
    for (size_t i = 0; i < n; i++) {
        bool white = strchr(" \t\n\r\v\f", text[i]) && text[i];
        words += !white && !inside;
        inside = !white;
    }
    return words;
}

static xt_status score_windows(xt_module *net, const int32_t *ids, int64_t n, const score_opts *o, perplexity *out) {
    int64_t most = n / o->stride + 2, k = 0, done = 1; /* the first token has none before it */
    score *all = calloc((size_t)most, sizeof *all);
    if (!all) return no_memory();
    for (int64_t at = 0; done < n; at += o->stride) {
        int64_t end = at + o->seq < n ? at + o->seq : n, from = done > at ? done : at + 1;
        if (from < end) all[k++] = (score){.ids = ids + at, .n = end - at, .from = from - at};
        done = end;
    }
    xt_status s = score_texts(net, o->vocab, all, (size_t)k, o->seq, o->batch);
    for (int64_t i = 0; i < k; i++) {
        out->nll -= all[i].logprob;
        out->predicted += all[i].n - all[i].from;
    }
    free(all);
    return s;
}

xt_status score_file(xt_module *net, const tokenizer *words, const char *path, const score_opts *o, perplexity *out) {
    char *text;
    int32_t *ids = NULL;
    size_t n = 0;
    *out = (perplexity){0};
    XT_TRY(xt_read_file(path, &text, &out->bytes));
    xt_status s = o->plain ? tokenizer_encode(words, text, out->bytes, &ids, &n)
                           : tokenizer_encode_whole(words, text, out->bytes, &ids, &n);
    out->words = count_words(text, out->bytes);
    out->tokens = (int64_t)n;
    xt_text_free(text);
    if (!s && n < 2)
        s = xt_status_new(XT_INVALID_ARGUMENT, "%s has %zu token%s; at least two are needed: the first predicts none",
                          path, n, n == 1 ? "" : "s");
    if (!s) s = score_windows(net, ids, (int64_t)n, o, out);
    free(ids);
    return s;
}
