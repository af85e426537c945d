/* Choosing tokens; see sampling.h. Sampling is on the host, where each token must arrive anyway. */
#include "models/sampling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *sampling_wrong(const sampling *s) {
    if (!(s->temperature >= 0) || isinf(s->temperature)) return "the temperature is a number of at least 0";
    if (s->top_k < 0) return "top-k is a whole number of at least 0";
    if (!(s->top_p >= 0 && s->top_p <= 1)) return "top-p is from 0 to 1";
    if (!(s->min_p >= 0 && s->min_p <= 1)) return "min-p is from 0 to 1";
    if (!(s->repetition_penalty >= 0) || isinf(s->repetition_penalty)) return "the repetition penalty is above 0";
    return NULL;
}

static double uniform(uint64_t *state) { /* SplitMix64 (Steele et al. 2014), to [0,1) */
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static int64_t likeliest(const float *logits, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (logits[i] > logits[best] || isnan(logits[best])) best = i;
    return best;
}

static double log_sum(const float *logits, int64_t n, float most) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        if (!isnan(logits[i])) sum += exp((double)(logits[i] - most));
    return (double)most + log(sum);
}

/* Each token that was seen once, however often it was. before: the logits as they were. */
static void penalise(float *logits, const float *before, int64_t n, const int32_t *seen, int64_t n_seen, double by) {
    for (int64_t i = 0; i < n_seen; i++) {
        if (seen[i] < 0 || seen[i] >= n) continue;
        double v = (double)before[seen[i]];
        logits[seen[i]] = (float)(v > 0 ? v / by : v * by);
    }
}

static int descending(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* The k-th largest of n numbers, which change places (Hoare's selection); 1 <= k <= n. */
static float kth(float *v, int64_t n, int64_t k) {
    int64_t low = 0, high = n - 1, at = k - 1;
    while (low < high) {
        float pivot = v[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (v[i] > pivot) i++;
            while (v[j] < pivot) j--;
            if (i > j) break;
            float t = v[i];
            v[i++] = v[j];
            v[j--] = t;
        }
        if (at <= j)
            high = j;
        else if (at >= i)
            low = i;
        else
            break;
    }
    return v[at];
}

/* The least logit of the fewest tokens whose probabilities come to p: candidates that are far from likely are sorted
 * only where those that are likely do not suffice. */
static float nucleus(const float *logits, int64_t n, double p, float most, float *room) {
    double total = exp(log_sum(logits, n, most) - (double)most);
    for (double reach = 8;; reach *= 2) {
        int64_t k = 0;
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            if ((double)logits[i] >= (double)most - reach) room[k++] = logits[i];
        qsort(room, (size_t)k, sizeof *room, descending);
        for (int64_t i = 0; i < k; i++)
            if ((sum += exp((double)(room[i] - most))) >= p * total) return room[i];
        if (reach > 1e3) return -INFINITY; /* all of them: rounding keeps the sum below 1 */
    }
}

/* Logits below `least` go. */
static void leave(float *logits, int64_t n, float least) {
    for (int64_t i = 0; i < n; i++)
        if (!(logits[i] >= least)) logits[i] = -INFINITY;
}

void sampling_scores(const sampling *s, float *logits, int64_t n, const int32_t *seen, int64_t n_seen, float *room) {
    if (s->repetition_penalty > 0 && s->repetition_penalty != 1) {
        memcpy(room, logits, (size_t)n * sizeof *room);
        penalise(logits, room, n, seen, n_seen, s->repetition_penalty);
    }
    if (!(s->temperature > 0)) return;
    for (int64_t i = 0; i < n; i++) logits[i] = (float)((double)logits[i] / s->temperature);
    float most = logits[likeliest(logits, n)];
    leave(logits, n, -INFINITY); /* what is no number */
    if (s->top_k > 0 && s->top_k < n) {
        memcpy(room, logits, (size_t)n * sizeof *room);
        leave(logits, n, kth(room, n, s->top_k));
    }
    if (s->top_p > 0 && s->top_p < 1) leave(logits, n, nucleus(logits, n, s->top_p, most, room));
    if (s->min_p > 0) leave(logits, n, (float)((double)most + log(s->min_p)));
}

static int64_t draw(const float *logits, int64_t n, int64_t best, uint64_t *state) {
    double at = uniform(state) * exp(log_sum(logits, n, logits[best]) - (double)logits[best]);
    for (int64_t i = 0; i < n; i++)
        if ((at -= exp((double)(logits[i] - logits[best]))) < 0) return i;
    return best;
}

int64_t sampling_next(const sampling *s, float *logits, int64_t n, const int32_t *seen, int64_t n_seen, uint64_t *state,
                      float *room, double *out_logprob) {
    float *before = room + n;
    if (out_logprob) memcpy(before, logits, (size_t)n * sizeof *before);
    sampling_scores(s, logits, n, seen, n_seen, room);
    int64_t token = likeliest(logits, n);
    if (s->temperature > 0 && s->top_k != 1) token = draw(logits, n, token, state);
    if (out_logprob) *out_logprob = (double)before[token] - log_sum(before, n, before[likeliest(before, n)]);
    return token;
}
