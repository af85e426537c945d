/* Text from a trained network (GPT-2's, Llama's, T5's), token by token, of one prompt or of several at a time.
 *
 * Keys and values of the tokens seen so far stay on the device in states of a fixed shape (kv_cache.h), so that all
 * tokens are one compiled program, and a prompt is a few runs of three others that take GENERATE_CHUNK, GENERATE_LONG
 * or GENERATE_WIDE tokens at a time. When the model's context (or the window it was trained on) is full, a text's
 * second half is read again from position 0 and generation goes on. Of a network with an encoder, the prompt is what
 * that reads, in one pass, and the text begins with a token of its own.
 *
 *     generator *g;
 *     XT_TRY(generator_new(net, &options, &g));        options: the very ones that net has as its user
 *     generate_opts o = {.prompt = ids, .n_prompt = n, .tokens = 100, .temperature = 0.8, .take = print, .user = t};
 *     XT_TRY(generate(g, &o, &stats));
 *     generator_free(g);
 *
 * Several texts go on together, each where it is, and a new one may begin while others are under way:
 *
 *     XT_TRY(generator_new_for(net, &options, 8, 0, &g));
 *     for (...) XT_TRY(generator_begin(g, &opts[i], &place));
 *     while (generator_busy(g)) XT_TRY(generator_advance(g)); */
#ifndef XTRAIN_MODELS_GENERATE_H
#define XTRAIN_MODELS_GENERATE_H

#include "models/models.h"
#include "models/sampling.h"

enum { GENERATE_CHUNK = 16, GENERATE_LONG = 128, GENERATE_WIDE = 512 };

typedef struct generator generator;
typedef enum generate_end { GENERATE_LENGTH, GENERATE_STOP, GENERATE_TAKEN, GENERATE_FAILED } generate_end;
typedef struct generate_opts {
    const int32_t *prompt;
    size_t n_prompt; /* at least 1; of a longer one than the context the end counts */
    int64_t tokens; /* how many to make */
    double temperature; /* 0 = always the likeliest */
    int64_t top_k; /* only among the k likeliest; 0 = among all */
    double top_p, min_p, repetition_penalty; /* sampling.h */
    uint64_t seed; /* the same seed, the same text */
    int64_t stop; /* a token that ends the text (it is not given out); negative = none */
    bool (*take)(int64_t token, void *user); /* each token as it comes; false ends it */
    void *user;
    double *logprob; /* not NULL: of the token that take is called with (sampling.h) */
    void (*done)(generate_end why, void *user); /* of generator_advance: the text has ended; NULL = nobody asks */
} generate_opts;
typedef struct generate_stats {
    int64_t tokens, prompt_tokens;
    double prompt_seconds, seconds; /* seconds: of the tokens after the first run, which compiles */
    double tokens_per_s;
} generate_stats;

xt_status generator_new(xt_module *net, model_options *o, generator **out);
/* For so many texts at a time, none longer than `positions` with its prompt (0: as long as can be). Attention reads all
 * positions that there are, so it pays to say so; a longer text moves on earlier. */
xt_status generator_new_for(xt_module *net, model_options *o, int64_t texts, int64_t positions, generator **out);
void generator_free(generator *g);
/* The module is in eval mode while this runs, and in the mode it was in afterwards. No gradients, no random draws of
 * the library's. */
xt_status generate(generator *g, const generate_opts *o, generate_stats *out_stats);
/* Reads a prompt into a free place, which is given out; an error where there is none. o's memory but the prompt's must
 * stay until the text has ended. Texts that begin together or at any time have the tokens they have alone. */
xt_status generator_begin(generator *g, const generate_opts *o, int64_t *out_place);
/* One more token of each text under way. After an error all of them have ended. */
xt_status generator_advance(generator *g);
void generator_end(generator *g, int64_t place); /* nobody wants the rest of that text; done is not called */
int64_t generator_busy(const generator *g); /* texts under way */
int64_t generator_context(const generator *g); /* tokens of a text that are kept in sight */
/* Logits [vocab] of the token after these n at `position` of the first place (for tests). All before `position` must
 * have been fed. */
xt_status generator_feed(generator *g, const int32_t *tokens, int64_t n, int64_t position, float *out_logits);

#endif
