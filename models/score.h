/* How probable texts are to a language model: the log-probability of some of a text's tokens, each given those before
 * it. What perplexity and questions with choices are computed from.
 *
 *     score all[2] = {{.ids = a, .n = 12, .from = 8}, {.ids = b, .n = 9, .from = 8}};
 *     XT_TRY(score_texts(net, vocab, all, 2, 1024, 0));        all[0].logprob: of a[8] to a[11]
 *
 * Perplexity is taken in windows as transformers' documentation does: each of `seq` tokens, `stride` further than the
 * one before, in which the tokens count that no window had yet. */
#ifndef XTRAIN_MODELS_SCORE_H
#define XTRAIN_MODELS_SCORE_H

#include <xtrain/xtrain.h>

#include "models/tokenizer.h"

typedef struct score {
    const int32_t *ids; /* the text: tokens below vocab */
    int64_t n, from; /* tokens [from,n) are wanted; 0 < from < n */
    double logprob; /* the sum of their logarithms; filled in */
} score;
/* Passes of `batch` texts of about one length (0: as many as come to `seq` tokens); no text is longer than seq + 1. The
 * module is in eval mode while this runs. */
xt_status score_texts(xt_module *net, int64_t vocab, score *all, size_t n, int64_t seq, int64_t batch);

typedef struct perplexity {
    int64_t tokens, predicted, words; /* words: between white space */
    size_t bytes;
    double nll; /* of all that are predicted */
} perplexity;
typedef struct score_opts {
    int64_t vocab, seq, stride, batch; /* of the model; of windows; as above */
    int64_t stop; /* the token that ends a text; -1 = none */
    bool plain; /* without what the tokenizer puts in front of a text */
    const char *delimiter; /* between a question and its choices */
    int64_t limit; /* questions; 0 = all */
} score_opts;
/* Of a whole file. */
xt_status score_file(xt_module *net, const tokenizer *words, const char *path, const score_opts *o, perplexity *out);

/* A question: which of some continuations is the most probable one. Its forms are those of choices.c. */
typedef struct question {
    char *context, **choices; /* malloc'ed */
    size_t n;
    int64_t gold; /* the right one */
    size_t line;
    double *logprobs; /* of each; filled in by score_questions */
    int64_t best, best_norm; /* the likeliest; the likeliest for each of its characters */
} question;
typedef struct questions {
    question *items;
    size_t n, cap;
    size_t choices; /* of all */
    double acc, acc_stderr, acc_norm, acc_norm_stderr; /* as lm-evaluation-harness has them */
} questions;
/* Lines {"query": "...", "choices": ["...", ...], "gold": 0}; errors name file and line. To be freed also on failure.
 */
xt_status questions_open(const char *path, int64_t limit, questions *out);
void questions_free(questions *q);
xt_status score_questions(xt_module *net, const tokenizer *words, const char *path, const score_opts *o, questions *q);

#endif
