/* Text from a trained GPT-2, token by token.
 *
 * Keys and values of the tokens seen so far stay on the device in states of a fixed shape, so that all tokens are one
 * compiled program, and a prompt is a few runs of a second one that takes GENERATE_CHUNK tokens at a time. When the
 * model's context (or the window it was trained on) is full, its second half is read again from position 0 and
 * generation goes on.
 *
 *     generator *g;
 *     XT_TRY(generator_new(net, &options, &g));        options: the very ones that net has as its user
 *     generate_opts o = {.prompt = ids, .n_prompt = n, .tokens = 100, .temperature = 0.8, .take = print, .user = t};
 *     XT_TRY(generate(g, &o, &stats));
 *     generator_free(g); */
#ifndef XTRAIN_MODELS_GENERATE_H
#define XTRAIN_MODELS_GENERATE_H

#include "models/models.h"

enum { GENERATE_CHUNK = 16 };

typedef struct generator generator;
typedef struct generate_opts {
    const int32_t *prompt;
    size_t n_prompt; /* at least 1; of a longer one than the context the end counts */
    int64_t tokens; /* how many to make */
    double temperature; /* 0 = always the likeliest */
    int64_t top_k; /* only among the k likeliest; 0 = among all */
    uint64_t seed; /* the same seed, the same text */
    int64_t stop; /* a token that ends the text (it is not given out); negative = none */
    bool (*take)(int64_t token, void *user); /* each token as it comes; false ends it */
    void *user;
} generate_opts;
typedef struct generate_stats {
    int64_t tokens, prompt_tokens;
    double prompt_seconds, seconds; /* seconds: of the tokens after the first run, which compiles */
    double tokens_per_s;
} generate_stats;

xt_status generator_new(xt_module *net, model_options *o, generator **out);
void generator_free(generator *g);
/* The module is in eval mode while this runs, and in the mode it was in afterwards. No gradients, no random draws of
 * the library's. */
xt_status generate(generator *g, const generate_opts *o, generate_stats *out_stats);
/* Logits [vocab] of the token after these n at `position` (for tests; generate uses it). All before `position` must
 * have been fed. */
xt_status generator_feed(generator *g, const int32_t *tokens, int64_t n, int64_t position, float *out_logits);

#endif
