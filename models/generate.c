/* Generation with a cache of keys and values; see generate.h. */
#include "models/generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "models/kv_cache.h"

typedef struct text { /* a place for one */
    bool busy;
    int64_t read; /* tokens of its prompt */
    generate_opts o;
    int32_t *ids; /* what the cache holds, `most` at most, and the token that comes next */
    int64_t n, made;
    uint64_t random;
    float *logits; /* after the last of them */
} text;
struct generator {
    xt_module *net;
    model_options *o;
    xt_step *step, *read_step; /* the second: of a network with an encoder */
    kv_cache cache;
    int64_t most; /* positions that are used before a text moves on */
    text *texts;
    float *all, *room; /* logits of all texts; for sampling */
};

static xt_status out_of_memory(void) {
    return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for generation");
}

/* A pass of the model's: it writes into the cache, and the states take what it made of them. */
static xt_tensor run_model(generator *g, const xt_tensor *in, int n, bool reads) {
    int64_t layers = g->o->layers;
    xt_tensor *keys = reads ? g->cache.source_keys : g->cache.keys,
              *values = reads ? g->cache.source_values : g->cache.values;
    kv_cache cache = g->cache;
    xt_tensor *made = malloc(2 * (size_t)layers * sizeof *made);
    if (!made) return (xt_tensor){0};
    memcpy(made, keys, (size_t)layers * sizeof *made);
    memcpy(made + layers, values, (size_t)layers * sizeof *made);
    *(reads ? &cache.source_keys : &cache.keys) = made;
    *(reads ? &cache.source_values : &cache.values) = made + layers;
    cache.reads = reads;
    kv_cache_begin(&cache, in[0], n > 3 ? in[3] : (xt_tensor){0}, in[1], in[2]);
    g->o->cache = &cache;
    xt_tensor y = xt_forward(g->net, in[0]);
    g->o->cache = NULL;
    for (int64_t i = 0; i < layers; i++) {
        xt_assign(keys[i], made[i]);
        xt_assign(values[i], made[layers + i]);
    }
    free(made);
    return y;
}

/* in: tokens [B,T], positions [B], the last of each [B], and the text where B is 1 of several -> logits [B,vocab] */
static xt_tensor feed_step(const xt_tensor *in, int n, void *user) {
    generator *g = user;
    xt_tensor y = run_model(g, in, n, false);
    return xt_is_none(y) ? y : xt_reshape(y, xt_dim(y, 0), g->o->vocab);
}

/* in: a text [1,T], its position [1] (0), its last token [1], and which of several it is -> how long the texts are */
static xt_tensor read_step(const xt_tensor *in, int n, void *user) {
    generator *g = user;
    xt_tensor which = n > 3 ? xt_reshape(in[3], 1) : xt_zeros(XT_I64, 1);
    xt_tensor y = run_model(g, in, n, true);
    if (xt_is_none(y)) return y;
    xt_tensor lengths = xt_index_copy(g->cache.source_length, 0, which, xt_add_scalar(in[2], 1));
    xt_assign(g->cache.source_length, lengths);
    return lengths;
}

/* --- places --- */
static bool make_room(generator *g) {
    size_t texts = (size_t)g->cache.texts, vocab = (size_t)g->o->vocab, layers = (size_t)g->o->layers;
    g->cache.keys = calloc(layers, sizeof *g->cache.keys);
    g->cache.values = calloc(layers, sizeof *g->cache.values);
    g->cache.source_keys = calloc(layers, sizeof *g->cache.source_keys);
    g->cache.source_values = calloc(layers, sizeof *g->cache.source_values);
    g->texts = calloc(texts, sizeof *g->texts);
    g->all = malloc(texts * vocab * sizeof *g->all);
    g->room = malloc(2 * vocab * sizeof *g->room);
    if (!g->cache.keys || !g->cache.values || !g->cache.source_keys || !g->cache.source_values || !g->texts ||
        !g->all || !g->room)
        return false;
    for (size_t i = 0; i < texts; i++) {
        g->texts[i].logits = g->all + i * vocab;
        if (!(g->texts[i].ids = malloc(((size_t)g->most + 1) * sizeof *g->texts[i].ids))) return false;
    }
    return true;
}

/* Positions of the cache, in steps, so that texts of about one length are one program. */
static int64_t room_for(const model_options *o, int64_t positions) {
    int64_t rounded = (positions + GENERATE_LONG - 1) / GENERATE_LONG * GENERATE_LONG;
    return positions < 1 || rounded > o->context ? o->context : rounded;
}

static void make_states(generator *g, const model_options *o) {
    int64_t rows = g->cache.texts * o->heads * g->cache.room;
    for (int64_t i = 0; i < o->layers; i++) {
        g->cache.keys[i] = xt_state("generate.keys", g->cache.dtype, rows, g->cache.width);
        g->cache.values[i] = xt_state("generate.values", g->cache.dtype, rows, g->cache.width);
        if (!o->encodes) continue;
        g->cache.source_keys[i] = xt_state("generate.source_keys", g->cache.dtype, rows, g->cache.width);
        g->cache.source_values[i] = xt_state("generate.source_values", g->cache.dtype, rows, g->cache.width);
    }
    if (o->encodes) g->cache.source_length = xt_state("generate.source_length", XT_I64, g->cache.texts);
}

xt_status generator_new_for(xt_module *net, model_options *o, int64_t texts, int64_t positions, generator **out) {
    generator *g = calloc(1, sizeof *g);
    *out = NULL;
    if (!g) return out_of_memory();
    g->net = net;
    g->o = o;
    g->cache = (kv_cache){.texts = texts, .heads = o->heads, .width = o->width / o->heads};
    g->cache.dtype = o->kept == XT_DTYPE_NONE ? XT_F32 : o->kept;
    g->cache.room = room_for(o, positions);
    g->most = o->window && o->window < g->cache.room ? o->window : g->cache.room;
    int64_t *rows = malloc((size_t)(texts * o->heads) * sizeof *rows);
    if (!rows || !make_room(g)) {
        free(rows);
        generator_free(g);
        return out_of_memory();
    }
    make_states(g, o);
    for (int64_t i = 0; i < texts * o->heads; i++) rows[i] = i * g->cache.room;
    g->cache.rows = xt_keep(xt_from_array(rows, XT_I64, texts, o->heads));
    free(rows);
    g->step = xt_compile(feed_step, .user = g, .name = "generate");
    if (o->encodes) g->read_step = xt_compile(read_step, .user = g, .name = "generate.read");
    xt_status s = model_take_error();
    if (s)
        generator_free(g);
    else
        *out = g;
    return s;
}

xt_status generator_new(xt_module *net, model_options *o, generator **out) {
    return generator_new_for(net, o, 1, 0, out);
}

static void drop_states(xt_tensor *states, int64_t n) {
    for (int64_t i = 0; states && i < n; i++)
        if (!xt_is_none(states[i])) xt_drop(states[i]);
    free(states);
}

void generator_free(generator *g) {
    if (!g) return;
    drop_states(g->cache.keys, g->o->layers);
    drop_states(g->cache.values, g->o->layers);
    drop_states(g->cache.source_keys, g->o->layers);
    drop_states(g->cache.source_values, g->o->layers);
    if (!xt_is_none(g->cache.source_length)) xt_drop(g->cache.source_length);
    if (!xt_is_none(g->cache.rows)) xt_drop(g->cache.rows);
    if (g->read_step) xt_step_free(g->read_step);
    xt_step_free(g->step);
    for (int64_t i = 0; g->texts && i < g->cache.texts; i++) free(g->texts[i].ids);
    free(g->texts);
    free(g->all);
    free(g->room);
    free(g);
}

int64_t generator_busy(const generator *g) {
    int64_t n = 0;
    for (int64_t i = 0; i < g->cache.texts; i++) n += g->texts[i].busy;
    return n;
}

int64_t generator_context(const generator *g) {
    return g->most;
}

void generator_end(generator *g, int64_t place) {
    g->texts[place].busy = false;
}

/* --- passes --- */
/* tokens [b,t] at `positions`, of which those number `last` are wanted; place -1: of all texts. */
static xt_status pass(generator *g, xt_step *step, int64_t b, int64_t t, const int64_t *tokens,
                      const int64_t *positions, const int64_t *last, int64_t place, float *out_logits) {
    xt_eval_begin(g->net);
    xt_no_grad_begin();
    xt_tensor in[3] = {xt_from_array(tokens, XT_I64, b, t), xt_from_array(positions, XT_I64, b),
                       xt_from_array(last, XT_I64, b)};
    xt_tensor y = place < 0 ? xt_call(step, in[0], in[1], in[2])
                            : xt_call(step, in[0], in[1], in[2], xt_from_data(&place, XT_I64, 0, NULL));
    if (out_logits) xt_read(y, out_logits, (size_t)(b * g->o->vocab) * sizeof *out_logits);
    xt_status s = model_end_step(); /* results of calls and what went in live until a boundary */
    xt_no_grad_end();
    xt_eval_end(g->net);
    return s;
}

/* n tokens of one text in a pass over `wide` of them: what is behind them is nobody's token, and is written again. */
static xt_status feed(generator *g, int64_t place, const int32_t *tokens, int64_t n, int64_t wide, int64_t position,
                      float *out_logits) {
    int64_t padded[GENERATE_WIDE] = {0}, last = n - 1;
    for (int64_t i = 0; i < n; i++) padded[i] = tokens[i];
    return pass(g, g->step, 1, wide, padded, &position, &last, g->cache.texts > 1 ? place : -1, out_logits);
}

xt_status generator_feed(generator *g, const int32_t *tokens, int64_t n, int64_t position, float *out_logits) {
    return feed(g, 0, tokens, n, n, position, out_logits);
}

/* How many positions the next pass over a prompt takes, of which `left` tokens are there; a pass that is not full must
 * not write behind the cache. */
static int64_t pass_width(const generator *g, int64_t at, int64_t left) {
    int64_t room = g->cache.room - at;
    if (left > GENERATE_WIDE - GENERATE_LONG && room >= GENERATE_WIDE) return GENERATE_WIDE;
    if (left > 4 * GENERATE_CHUNK && room >= GENERATE_LONG) return GENERATE_LONG;
    return left > 1 && room >= GENERATE_CHUNK ? GENERATE_CHUNK : 1;
}

/* Feeds n tokens of the text's from position 0 on; its logits are those after the last. */
static xt_status read_all(generator *g, int64_t place, int64_t n) {
    text *t = &g->texts[place];
    for (t->n = 0; t->n < n;) {
        int64_t left = n - t->n, wide = pass_width(g, t->n, left), k = left < wide ? left : wide;
        XT_TRY(feed(g, place, t->ids + t->n, k, wide, t->n, k == left ? t->logits : NULL));
        t->n += k;
    }
    return NULL;
}

/* The text that an encoder reads, in one pass of a few widths, and the token that the decoder begins with. */
static xt_status read_source(generator *g, int64_t place, const int32_t *tokens, int64_t n) {
    text *t = &g->texts[place];
    int64_t wide = GENERATE_CHUNK, position = 0, last = n - 1;
    while (wide < n) wide *= 2;
    if (wide > g->cache.room) wide = g->cache.room;
    int64_t *padded = calloc((size_t)wide, sizeof *padded);
    if (!padded) return out_of_memory();
    for (int64_t i = 0; i < n; i++) padded[i] = tokens[i];
    xt_status s = pass(g, g->read_step, 1, wide, padded, &position, &last, g->cache.texts > 1 ? place : -1, NULL);
    free(padded);
    t->ids[0] = (int32_t)g->o->start;
    return s ? s : read_all(g, place, 1);
}

/* --- texts --- */
static sampling sampling_of(const generate_opts *o) {
    return (sampling){o->temperature, o->top_k, o->top_p, o->min_p, o->repetition_penalty};
}

static xt_status check(const generator *g, const generate_opts *o) {
    sampling s = sampling_of(o);
    const char *wrong = o->n_prompt < 1 ? "at least 1 token of prompt is needed" : sampling_wrong(&s);
    if (wrong)
        return xt_status_new(
            XT_INVALID_ARGUMENT,
            "generate: %zu tokens of prompt, temperature %g, top-k %lld, top-p %g, min-p %g, repetition "
            "penalty %g: %s",
            o->n_prompt, o->temperature, (long long)o->top_k, o->top_p, o->min_p, o->repetition_penalty, wrong);
    for (size_t i = 0; i < o->n_prompt; i++)
        if (o->prompt[i] < 0 || o->prompt[i] >= g->o->vocab)
            return xt_status_new(XT_INVALID_ARGUMENT,
                                 "generate: token %d of the prompt; the model's are 0 to %lld: are model and "
                                 "tokenizer of one folder?",
                                 o->prompt[i], (long long)g->o->vocab - 1);
    return NULL;
}

xt_status generator_begin(generator *g, const generate_opts *o, int64_t *out_place) {
    int64_t place = 0;
    XT_TRY(check(g, o));
    while (place < g->cache.texts && g->texts[place].busy) place++;
    if (place == g->cache.texts)
        return xt_status_new(XT_RESOURCE_EXHAUSTED, "generate: all places (%lld) are taken", (long long)place);
    text *t = &g->texts[place];
    size_t most = (size_t)g->most, n = o->n_prompt < most ? o->n_prompt : most;
    t->o = *o;
    t->made = 0;
    t->random = o->seed;
    t->read = (int64_t)n;
    const int32_t *prompt = o->prompt + (o->n_prompt - n);
    if (!g->o->encodes) memcpy(t->ids, prompt, n * sizeof *t->ids);
    XT_TRY(g->o->encodes ? read_source(g, place, prompt, t->read) : read_all(g, place, t->read));
    t->busy = true;
    *out_place = place;
    return NULL;
}

static void finish(text *t, generate_end why) {
    t->busy = false;
    if (t->o.done) t->o.done(why, t->o.user);
}

/* The next token of a text, given out; it is still to be fed where the text goes on. */
static void choose(generator *g, text *t) {
    double logprob;
    sampling s = sampling_of(&t->o);
    int64_t token =
        sampling_next(&s, t->logits, g->o->vocab, t->ids, t->n, &t->random, g->room, t->o.logprob ? &logprob : NULL);
    if (token == t->o.stop && t->o.stop >= 0) {
        finish(t, GENERATE_STOP);
        return;
    }
    t->made++;
    t->ids[t->n] = (int32_t)token;
    if (t->o.logprob) *t->o.logprob = logprob;
    if (t->o.take && !t->o.take(token, t->o.user))
        finish(t, GENERATE_TAKEN);
    else if (t->made >= t->o.tokens)
        finish(t, GENERATE_LENGTH);
}

/* Where a text has no position left, its second half is read again. */
static xt_status move_on(generator *g, int64_t place) {
    text *t = &g->texts[place];
    int64_t keep = (g->most + 1) / 2;
    if (t->n < g->most) return NULL;
    int32_t next = t->ids[t->n];
    memmove(t->ids, t->ids + (t->n - keep), (size_t)keep * sizeof *t->ids);
    XT_TRY(read_all(g, place, keep));
    t->ids[t->n] = next;
    return NULL;
}

static xt_status feed_chosen(generator *g) {
    int64_t n = g->cache.texts, *tokens = calloc(3 * (size_t)n, sizeof *tokens);
    int64_t *positions = tokens + n, *last = tokens + 2 * n;
    xt_status s = tokens ? NULL : out_of_memory();
    for (int64_t i = 0; i < n && !s; i++)
        if (g->texts[i].busy) s = move_on(g, i);
    for (int64_t i = 0; i < n && !s; i++) {
        const text *t = &g->texts[i];
        if (t->busy) tokens[i] = t->ids[t->n], positions[i] = t->n;
    }
    if (!s) s = pass(g, g->step, n, 1, tokens, positions, last, -1, g->all);
    for (int64_t i = 0; i < n && !s; i++) g->texts[i].n += g->texts[i].busy;
    free(tokens);
    return s;
}

xt_status generator_advance(generator *g) {
    for (int64_t i = 0; i < g->cache.texts; i++)
        if (g->texts[i].busy) choose(g, &g->texts[i]);
    if (!generator_busy(g)) return NULL;
    xt_status s = feed_chosen(g);
    for (int64_t i = 0; s && i < g->cache.texts; i++)
        if (g->texts[i].busy) finish(&g->texts[i], GENERATE_FAILED);
    return s;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

xt_status generate(generator *g, const generate_opts *o, generate_stats *out_stats) {
    generate_stats unused, *st = out_stats ? out_stats : &unused;
    int64_t place, steps = 0;
    memset(st, 0, sizeof *st);
    double began = now();
    XT_TRY(generator_begin(g, o, &place));
    text *t = &g->texts[place];
    st->prompt_tokens = t->read;
    st->prompt_seconds = now() - began;
    if (o->tokens < 1) finish(t, GENERATE_LENGTH);
    while (t->busy) {
        XT_TRY(generator_advance(g));
        if (steps++ == 0) began = now(); /* the first one may have been compiled */
    }
    st->tokens = t->made;
    st->seconds = now() - began;
    st->tokens_per_s = st->tokens > 2 && st->seconds > 0 ? (double)(st->tokens - 2) / st->seconds : 0;
    return NULL;
}
