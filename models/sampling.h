/* The next token out of logits, as transformers' generate chooses it: the repetition penalty, the temperature, then
 * top-k, top-p and min-p each leave tokens out, and one of those left is drawn by its probability. */
#ifndef XTRAIN_MODELS_SAMPLING_H
#define XTRAIN_MODELS_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sampling {
    double temperature; /* below 1: likelier ones more often; 0: always the likeliest */
    int64_t top_k; /* among the k likeliest (and who equals the last of them); 0 = all */
    double top_p; /* among the fewest whose probabilities come to p; 0 or 1 = all */
    double min_p; /* among those at least so probable as this part of the likeliest; 0 = all */
    double repetition_penalty; /* logits of tokens that were there: those above 0 by this, others times it; 0 = 1 */
} sampling;

/* Why the numbers are refused; NULL: they are fine. */
const char *sampling_wrong(const sampling *s);
/* Logits [n] become what is drawn from: those left out are -infinity (transformers' scores). Without a temperature only
 * the repetition penalty counts. seen: the tokens so far, prompt included; room: n floats. */
void sampling_scores(const sampling *s, float *logits, int64_t n, const int32_t *seen, int64_t n_seen, float *room);
/* Draws from logits [n], which are changed. *state is the random numbers';
 * *out_logprob (may be NULL): the logarithm of the token's probability before anything was changed. room: 2 n floats.
 * Where a logit is NaN the likeliest of the others is taken. */
int64_t sampling_next(const sampling *s, float *logits, int64_t n, const int32_t *seen, int64_t n_seen, uint64_t *state,
                      float *room, double *out_logprob);

#endif
