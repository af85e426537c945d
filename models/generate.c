/* Generation with a cache of keys and values; see generate.h. Sampling is on the host, where each token must
 * arrive anyway. */
#include "models/generate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "models/gpt2.h"

struct generator {
    xt_module *net;
    model_options *o;
    xt_step *step;
    xt_tensor *keys, *values; /* states, of each layer */
    float *logits;
    int32_t *text; /* what the cache holds, `context` at most */
    int64_t n, most; /* most: positions that are used before the text moves on */
};

static xt_status out_of_memory(void) {
    return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for generation");
}

/* The pending error as a status of the caller's, and none pending any more. */
static xt_status take_error(void) {
    xt_status e = xt_error(), s = e ? xt_status_new(xt_status_code(e), "%s", xt_status_message(e)) : NULL;
    xt_clear_error();
    return s;
}

/* in: tokens [1,n], position -> logits of the last one [vocab]. The model writes into the cache; the states take what
 * it made of them. */
static xt_tensor feed_step(const xt_tensor *in, int n, void *user) {
    generator *g = user;
    int64_t layers = g->o->layers;
    (void)n;
    xt_tensor *made = malloc(2 * (size_t)layers * sizeof *made);
    if (!made) return (xt_tensor){0};
    memcpy(made, g->keys, (size_t)layers * sizeof *made);
    memcpy(made + layers, g->values, (size_t)layers * sizeof *made);
    gpt2_cache cache = {.position = in[1], .keys = made, .values = made + layers};
    g->o->cache = &cache;
    xt_tensor y = xt_forward(g->net, in[0]);
    g->o->cache = NULL;
    for (int64_t i = 0; i < layers; i++) {
        xt_assign(g->keys[i], made[i]);
        xt_assign(g->values[i], made[layers + i]);
    }
    free(made);
    return xt_reshape(xt_slice(y, 1, xt_dim(y, 1) - 1, xt_dim(y, 1)), g->o->vocab);
}

xt_status generator_new(xt_module *net, model_options *o, generator **out) {
    generator *g = calloc(1, sizeof *g);
    *out = NULL;
    if (!g) return out_of_memory();
    g->net = net;
    g->o = o;
    g->most = o->window && o->window < o->context ? o->window : o->context;
    g->keys = calloc((size_t)o->layers, sizeof *g->keys);
    g->values = calloc((size_t)o->layers, sizeof *g->values);
    g->logits = malloc((size_t)o->vocab * sizeof *g->logits);
    g->text = malloc((size_t)o->context * sizeof *g->text);
    if (!g->keys || !g->values || !g->logits || !g->text) {
        generator_free(g);
        return out_of_memory();
    }
    for (int64_t i = 0; i < o->layers; i++) {
        g->keys[i] = xt_state("generate.keys", XT_F32, 1, o->heads, o->context, o->width / o->heads);
        g->values[i] = xt_state("generate.values", XT_F32, 1, o->heads, o->context, o->width / o->heads);
    }
    g->step = xt_compile(feed_step, .user = g, .name = "generate");
    xt_status s = take_error();
    if (s)
        generator_free(g);
    else
        *out = g;
    return s;
}

void generator_free(generator *g) {
    if (!g) return;
    for (int64_t i = 0; g->keys && g->values && i < g->o->layers; i++) {
        if (!xt_is_none(g->keys[i])) xt_drop(g->keys[i]);
        if (!xt_is_none(g->values[i])) xt_drop(g->values[i]);
    }
    xt_step_free(g->step);
    free(g->keys);
    free(g->values);
    free(g->logits);
    free(g->text);
    free(g);
}

xt_status generator_feed(generator *g, const int32_t *tokens, int64_t n, int64_t position, float *out_logits) {
    int64_t wide[GENERATE_CHUNK];
    bool was_training = xt_is_training(g->net);
    for (int64_t i = 0; i < n && i < GENERATE_CHUNK; i++) wide[i] = tokens[i];
    xt_eval(g->net);
    xt_no_grad_begin();
    xt_tensor y = xt_call(g->step, xt_from_array(wide, XT_I64, 1, n), xt_from_data(&position, XT_I64, 0, NULL));
    if (out_logits) xt_read(y, out_logits, (size_t)g->o->vocab * sizeof *out_logits);
    xt_no_grad_end();
    if (was_training) xt_train(g->net);
    return take_error();
}

/* --- sampling --- */
static double uniform(uint64_t *state) { /* SplitMix64 (Steele et al. 2014), to [0,1) */
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static int descending(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* The value of the k-th likeliest. */
static float threshold(const float *logits, int64_t n, int64_t k) {
    float *sorted = malloc((size_t)n * sizeof *sorted), at;
    if (!sorted) return -INFINITY;
    memcpy(sorted, logits, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, descending);
    at = sorted[k - 1];
    free(sorted);
    return at;
}

static int64_t sample(const float *logits, int64_t n, const generate_opts *o, uint64_t *state) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    if (!(o->temperature > 0) || o->top_k == 1) return best;
    float least = o->top_k > 0 && o->top_k < n ? threshold(logits, n, o->top_k) : -INFINITY;
    double sum = 0, at;
    for (int64_t i = 0; i < n; i++)
        if (logits[i] >= least) sum += exp((double)(logits[i] - logits[best]) / o->temperature);
    at = uniform(state) * sum;
    for (int64_t i = 0; i < n; i++)
        if (logits[i] >= least && (at -= exp((double)(logits[i] - logits[best]) / o->temperature)) < 0) return i;
    return best;
}

/* --- the loop --- */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Feeds n tokens from position 0 on; g->logits are those after the last. */
static xt_status read_all(generator *g, int64_t n) {
    for (g->n = 0; g->n < n;) {
        int64_t k = n - g->n >= GENERATE_CHUNK ? GENERATE_CHUNK : 1;
        XT_TRY(generator_feed(g, g->text + g->n, k, g->n, g->n + k == n ? g->logits : NULL));
        g->n += k;
    }
    return NULL;
}

static xt_status add(generator *g, int32_t token) {
    if (g->n == g->most) {
        int64_t keep = (g->most + 1) / 2;
        memmove(g->text, g->text + (g->n - keep), (size_t)keep * sizeof *g->text);
        XT_TRY(read_all(g, keep));
    }
    g->text[g->n] = token;
    XT_TRY(generator_feed(g, g->text + g->n, 1, g->n, g->logits));
    g->n++;
    return NULL;
}

xt_status generate(generator *g, const generate_opts *o, generate_stats *out_stats) {
    generate_stats unused, *st = out_stats ? out_stats : &unused;
    uint64_t state = o->seed;
    memset(st, 0, sizeof *st);
    if (o->n_prompt < 1 || o->temperature < 0 || o->top_k < 0)
        return xt_status_new(XT_INVALID_ARGUMENT,
                             "generate: %zu tokens of prompt, temperature %g, top-k %lld; at least 1 token and no "
                             "negative numbers are needed",
                             o->n_prompt, o->temperature, (long long)o->top_k);
    for (size_t i = 0; i < o->n_prompt; i++)
        if (o->prompt[i] < 0 || o->prompt[i] >= g->o->vocab)
            return xt_status_new(XT_INVALID_ARGUMENT, "generate: token %d of the prompt; the model's are 0 to %lld",
                                 o->prompt[i], (long long)g->o->vocab - 1);
    size_t most = (size_t)g->most, n = o->n_prompt < most ? o->n_prompt : most;
    memcpy(g->text, o->prompt + (o->n_prompt - n), n * sizeof *g->text);
    double began = now();
    XT_TRY(read_all(g, (int64_t)n));
    st->prompt_tokens = (int64_t)n;
    st->prompt_seconds = now() - began;
    for (int64_t k = 0; k < o->tokens; k++) {
        int64_t token = sample(g->logits, g->o->vocab, o, &state);
        if (token == o->stop && o->stop >= 0) break;
        st->tokens++;
        if (o->take && !o->take(token, o->user)) break;
        if (k + 1 == o->tokens) break;
        XT_TRY(add(g, (int32_t)token));
        if (k == 0) began = now(); /* the first one may have been compiled */
    }
    st->seconds = now() - began;
    st->tokens_per_s = st->tokens > 2 && st->seconds > 0 ? (double)(st->tokens - 2) / st->seconds : 0;
    return NULL;
}
