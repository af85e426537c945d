/* T5 (Raffel et al. 2019, arXiv 1910.10683; the gated MLP: Shazeer 2020, 2002.05202); see t5.h. */
#include "models/t5.h"

#include <math.h>
#include <string.h>

typedef struct stack_of { /* what the blocks of an encoder or a decoder share */
    const t5_config *c;
    kv_cache *cache; /* of a decoder that generates */
    xt_tensor bias; /* of positions and of what may be seen, added to the scores: [1 or B,H,T,T] */
    xt_tensor read; /* a decoder's: what the encoder made, [B,S,width] */
    xt_tensor seen; /* which of that there are tokens, [B,1,1,S] */
} stack_of;
typedef struct block_of {
    const stack_of *s;
    int64_t layer;
} block_of;

static xt_tensor drop(xt_module *m, xt_tensor x, const t5_config *c) {
    return c->dropout > 0 ? xt_dropout(m, x, c->dropout) : x;
}

static xt_tensor norm(xt_module *m, const char *name, xt_tensor x, const t5_config *c) {
    return xt_rms_norm(m, name, x, .eps = c->eps);
}

/* --- relative positions --- */
/* The bucket of tokens so far apart, computed in f32 as the library does: one for each distance, then wider ones. */
static int64_t bucket_of(int64_t distance, int64_t buckets, int64_t most) {
    int64_t exact = buckets / 2;
    if (distance < exact) return distance;
    float wide = logf((float)distance / (float)exact) / (float)log((double)most / (double)exact);
    int64_t k = exact + (int64_t)(wide * (float)(buckets - exact));
    return k < buckets ? k : buckets - 1;
}

/* For `apart` (i64): counted by the distances at which a bucket begins, which are numbers of the program. They are
 * those of the line `src`, of which an encoder has another one than a decoder. */
static xt_tensor bucketed(const xt_src *src, xt_tensor apart, int64_t buckets, int64_t most) {
    int64_t at = 1;
    xt_tensor k = xt_zeros_like(apart), one = xt_full(1, XT_I64), zero = xt_full(0, XT_I64);
    for (int64_t b = 1; b < buckets; b++) {
        while (at < most && bucket_of(at, buckets, most) < b) at++;
        k = xt_add(k, xt_where(xt_ge(apart, xt_full_at(src, (double)at, XT_I64, (int64_t[]){0})), one, zero));
    }
    return k;
}

/* Of queries at `row` [...,T,1] and keys at `column` [...,1,S]: [...,H,T,S]. An encoder looks both ways. */
static xt_tensor position_bias(xt_module *attention, xt_tensor row, xt_tensor column, bool both, const t5_config *c) {
    xt_tensor apart = xt_minus(column, row), zero = xt_full(0, XT_I64), k;
    if (both) {
        int64_t half = c->buckets / 2;
        xt_tensor later = xt_where(xt_gt(apart, zero), xt_full((double)half, XT_I64), zero);
        k = xt_add(later, bucketed(XT_HERE, xt_abs(apart), half, c->distance));
    } else
        k = bucketed(XT_HERE, xt_maximum(xt_neg(apart), zero), c->buckets, c->distance);
    xt_tensor bias = xt_embedding(attention, "relative_attention_bias", k, c->buckets, c->heads);
    return xt_transpose(xt_transpose(bias, -1, -2), -2, -3);
}

/* --- blocks --- */
/* [B,T,heads*D] -> [B,heads,T,D] */
static xt_tensor heads(xt_tensor x, const t5_config *c) {
    return xt_transpose(xt_reshape(x, xt_dim(x, 0), xt_dim(x, 1), c->heads, c->head_dim), 1, 2);
}

static xt_tensor project(xt_module *m, const char *name, xt_tensor x, const t5_config *c) {
    return heads(xt_linear(m, name, x, c->heads * c->head_dim, .bias = XT_OFF), c);
}

static xt_tensor output(xt_module *m, xt_tensor y, const t5_config *c) {
    y = xt_reshape(xt_transpose(y, 1, 2), xt_dim(y, 0), xt_dim(y, 2), c->heads * c->head_dim);
    return xt_linear(m, "o", y, c->width, .bias = XT_OFF);
}

static xt_tensor attend(xt_module *m, xt_tensor q, xt_tensor k, xt_tensor v, xt_tensor mask, const t5_config *c) {
    double dropout = xt_is_training(m) ? c->dropout : 0;
    return xt_scaled_dot_product_attention(q, k, v, .mask = mask, .scale = 1, .dropout = dropout);
}

static xt_tensor self_attention(xt_module *m, xt_tensor x, const block_of *b) {
    const t5_config *c = b->s->c;
    xt_tensor q = project(m, "q", x, c), k = project(m, "k", x, c), v = project(m, "v", x, c);
    xt_tensor y =
        b->s->cache ? kv_cache_attention(b->s->cache, b->layer, q, k, v, (kv_attention){.scale = 1, .bias = b->s->bias})
                    : attend(m, q, k, v, xt_cast(b->s->bias, xt_dtype_of(q)), c);
    return output(m, y, c);
}

/* Keys and values of what the encoder made are computed where it was read, once. */
static xt_tensor cross_attention(xt_module *m, xt_tensor x, const block_of *b) {
    const t5_config *c = b->s->c;
    xt_tensor q = project(m, "q", x, c), y;
    if (b->s->cache)
        y = kv_cache_source_attention(b->s->cache, b->layer, q, 1);
    else
        y = attend(m, q, project(m, "k", b->s->read, c), project(m, "v", b->s->read, c), b->s->seen, c);
    return output(m, y, c);
}

static xt_tensor activation(xt_tensor x, t5_act act) {
    return act == T5_RELU ? xt_relu(x) : act == T5_GELU ? xt_gelu_erf(x) : act == T5_SILU ? xt_silu(x) : xt_gelu(x);
}

static xt_tensor mlp(xt_module *m, xt_tensor x, const t5_config *c) {
    xt_tensor h = activation(xt_linear(m, c->gated ? "wi_0" : "wi", x, c->hidden, .bias = XT_OFF), c->act);
    if (c->gated) h = xt_mul(h, xt_linear(m, "wi_1", x, c->hidden, .bias = XT_OFF));
    return xt_linear(m, "wo", drop(m, h, c), c->width, .bias = XT_OFF);
}

/* The encoder's have a layer less. */
static xt_tensor block(xt_module *m, xt_tensor x, void *user) {
    const block_of *b = user;
    const t5_config *c = b->s->c;
    int i = 0;
    xt_module *layer = xt_sub(m, "layer", i++);
    x = xt_add(x, drop(m, self_attention(xt_sub(layer, "SelfAttention", -1), norm(layer, "layer_norm", x, c), b), c));
    if (b->s->cache || !xt_is_none(b->s->read)) {
        layer = xt_sub(m, "layer", i++);
        xt_tensor y = norm(layer, "layer_norm", x, c);
        x = xt_add(x, drop(m, cross_attention(xt_sub(layer, "EncDecAttention", -1), y, b), c));
    }
    layer = xt_sub(m, "layer", i);
    return xt_add(x, drop(m, mlp(xt_sub(layer, "DenseReluDense", -1), norm(layer, "layer_norm", x, c), c), c));
}

/* The first block's attention has the table of positions that all of them add. */
static xt_module *first_attention(xt_module *m) {
    return xt_sub(xt_sub(xt_sub(m, "block", 0), "layer", 0), "SelfAttention", -1);
}

static xt_tensor blocks(xt_module *m, xt_tensor x, const stack_of *s, int64_t layers) {
    x = drop(m, x, s->c);
    for (int64_t i = 0; i < layers; i++) {
        xt_module *each = xt_sub(m, "block", (int)i);
        block_of b = {s, i};
        x = s->c->checkpoint ? xt_checkpoint_block(block, each, x, &b) : block(each, x, &b);
    }
    return x;
}

static xt_tensor embed(xt_module *m, xt_tensor tokens, const t5_config *c) {
    xt_tensor x = xt_embedding(m, "shared", tokens, c->vocab, c->width);
    return c->wide ? xt_cast(x, XT_F32) : x;
}

static xt_tensor column_of(int64_t n) {
    return xt_unsqueeze(xt_arange(n, XT_I64), 0);
}

/* tokens [B,S], of which those are there that `seen` [B,1,1,S] says: [B,S,width] */
static xt_tensor encode(xt_module *m, xt_tensor tokens, xt_tensor seen, const t5_config *c) {
    xt_module *encoder = xt_sub(m, "encoder", -1);
    xt_tensor column = column_of(xt_dim(tokens, 1)), row = xt_transpose(column, 0, 1);
    xt_tensor bias = xt_unsqueeze(position_bias(first_attention(encoder), row, column, true, c), 0);
    stack_of s = {.c = c, .bias = xt_where(seen, bias, xt_full(-1e30, xt_dtype_of(bias)))};
    xt_tensor x = embed(m, xt_maximum(tokens, xt_zeros_like(tokens)), c);
    return drop(m, norm(encoder, "final_layer_norm", blocks(encoder, x, &s, c->layers), c), c);
}

static xt_tensor logits(xt_module *m, xt_tensor x, const t5_config *c) {
    if (c->scaled) x = xt_mul_scalar(x, 1 / sqrt((double)c->width));
    if (!c->tied) return xt_linear(m, "lm_head", x, c->vocab, .bias = XT_OFF);
    return xt_matmul(x, xt_transpose(xt_param(m, "shared.weight", "normal", 1, XT_F32, c->vocab, c->width), 0, 1));
}

static xt_tensor decode(xt_module *m, xt_tensor tokens, stack_of *s) {
    const t5_config *c = s->c;
    xt_module *decoder = xt_sub(m, "decoder", -1), *attention = first_attention(decoder);
    kv_cache *cache = s->cache;
    if (cache) {
        xt_tensor column = xt_reshape(xt_arange(cache->room, XT_I64), 1, 1, cache->room);
        s->bias = position_bias(attention, xt_unsqueeze(cache->at, 2), column, false, c);
    } else {
        xt_tensor column = column_of(xt_dim(tokens, 1)), row = xt_transpose(column, 0, 1);
        xt_tensor bias = position_bias(attention, row, column, false, c);
        s->bias = xt_unsqueeze(xt_where(xt_le(column, row), bias, xt_full(-1e30, xt_dtype_of(bias))), 0);
    }
    xt_tensor x = blocks(decoder, embed(m, tokens, c), s, c->decoder_layers);
    if (cache) x = kv_cache_last(cache, x);
    return logits(m, drop(m, norm(decoder, "final_layer_norm", x, c), c), c);
}

/* A text for the cache: the keys and values that each layer of the decoder makes of it. */
static xt_tensor read_text(xt_module *m, xt_tensor tokens, const t5_config *c, kv_cache *cache) {
    xt_tensor seen = xt_le(column_of(xt_dim(tokens, 1)), cache->last);
    xt_tensor x = encode(m, tokens, xt_reshape(seen, 1, 1, 1, xt_dim(tokens, 1)), c);
    xt_module *decoder = xt_sub(m, "decoder", -1);
    for (int64_t i = 0; i < c->decoder_layers; i++) {
        xt_module *layer = xt_sub(xt_sub(decoder, "block", (int)i), "layer", 1);
        xt_module *cross = xt_sub(layer, "EncDecAttention", -1);
        kv_cache_read(cache, i, project(cross, "k", x, c), project(cross, "v", x, c));
    }
    return x;
}

/* As the library of its authors begins. */
static void begin_values(xt_module *m, const t5_config *c) {
    double width = (double)c->width, inner = (double)(c->heads * c->head_dim);
    xt_init_normal(m, "shared.weight", .std = 1);
    if (!c->tied) xt_init_normal(m, "lm_head.weight", .std = 1);
    xt_init_normal(m, "*.wi*.weight", .std = 1 / sqrt(width));
    xt_init_normal(m, "*.wo.weight", .std = 1 / sqrt((double)c->hidden));
    xt_init_normal(m, "*Attention.q.weight", .std = 1 / sqrt(width * (double)c->head_dim));
    xt_init_normal(m, "*Attention.k.weight", .std = 1 / sqrt(width));
    xt_init_normal(m, "*Attention.v.weight", .std = 1 / sqrt(width));
    xt_init_normal(m, "*Attention.o.weight", .std = 1 / sqrt(inner));
    xt_init_normal(m, "*.relative_attention_bias.weight", .std = 1 / sqrt(width));
}

xt_tensor t5(xt_module *m, xt_tensor x, void *user) {
    const t5_config *c = user;
    kv_cache *cache = c->generating ? c->generating->cache : NULL;
    t5_config wide = *c;
    stack_of s = {.c = c, .cache = cache};
    if (xt_module_tensors(m) == 0) begin_values(m, c);
    xt_share(m, "shared");
    if (cache) {
        wide.wide = true;
        wide.checkpoint = false; /* nothing is kept for a backward pass */
        s.c = &wide;
        return cache->reads ? read_text(m, x, &wide, cache) : decode(m, x, &s);
    }
    int64_t n = xt_dim(x, 1), source = c->source ? c->source : n / 2;
    xt_tensor text = xt_slice(x, 1, 0, source), there = xt_ge(text, xt_zeros_like(text));
    s.seen = xt_reshape(there, xt_dim(x, 0), 1, 1, source);
    s.read = encode(m, text, s.seen, c);
    return decode(m, xt_slice(x, 1, source, n), &s);
}

void t5_generates(t5_config *c, int64_t context, model_options *out) {
    *out = (model_options){.context = context,
                           .vocab = c->vocab,
                           .layers = c->decoder_layers,
                           .width = c->heads * c->head_dim,
                           .heads = c->heads,
                           .encodes = true,
                           .start = c->start};
    c->generating = out;
}

/* Both matrices that may be one. */
static xt_tensor both(xt_module *m, xt_tensor tokens, void *user) {
    return xt_linear(m, "lm_head", embed(m, tokens, user), ((const t5_config *)user)->vocab, .bias = XT_OFF);
}

xt_status t5_find_tied(t5_config *c, const char *path) {
    xt_module *net = xt_module_new(both, c);
    xt_load_report r = {0};
    xt_status s = xt_module_build(net, (xt_spec){XT_I64, {1, 1}});
    if (!s) s = xt_load_with(net, path, .strict = XT_OFF, .report = &r);
    bool there = !s && r.missing == 0; /* integers are those of an output layer of its own */
    bool alike = there && xt_dtype_of(xt_module_find(net, "lm_head.weight")) ==
                              xt_dtype_of(xt_module_find(net, "shared.weight"));
    double apart = alike ? xt_item(xt_max(xt_abs(
                               xt_minus(xt_module_find(net, "lm_head.weight"), xt_module_find(net, "shared.weight")))))
                         : 0;
    xt_module_free(net);
    xt_status failed = model_end_step();
    if (s)
        xt_status_free(failed);
    else
        s = failed;
    c->tied = !there || (alike && apart == 0);
    return s;
}

xt_status t5_build(const t5_config *c, xt_module *net) {
    return xt_module_build(net, (xt_spec){XT_I64, {1, (c->source ? c->source : 1) + 1}});
}

xt_status t5_load(const t5_config *c, xt_module *net, const char *path) {
    xt_load_report r;
    if (xt_module_tensors(net) == 0) XT_TRY(t5_build(c, net));
    XT_TRY(xt_load_with(net, path, .strict = XT_OFF, .report = &r));
    return model_check_loaded(path, &r);
}
