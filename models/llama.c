/* Llama's network; see llama.h. Touvron et al. 2023 (arXiv 2302.13971, 2307.09288), Jiang et al. 2023 (2310.06825),
 * Qwen (2412.15115, 2505.09388). */
#include "models/llama.h"

#include <math.h>
#include <string.h>

/* Where the tokens of a pass are. */
typedef struct places {
    xt_tensor at; /* [T], or [B,1,T] where texts differ */
    xt_tensor text; /* which text of its row, [B,T]; none: they are all one's */
} places;
typedef struct block_of {
    const llama_config *c;
    const places *places;
    int64_t layer;
} block_of;

/* cos and sin of the rotary positions of the places `at` [...,T]: [...,T,D/2]. Rotations of few turns within the
 * original context are slowed down by the factor, those of many are not, those between in part. */
static void rotations(const llama_config *c, xt_tensor at, xt_tensor *out_cos, xt_tensor *out_sin) {
    xt_tensor i = xt_cast(xt_arange(c->head_dim / 2, XT_I64), XT_F32);
    xt_tensor turn = xt_exp(xt_mul_scalar(i, -2 * log(c->theta) / (double)c->head_dim));
    if (c->original > 0) {
        xt_tensor turns = xt_mul_scalar(turn, c->original / (2 * acos(-1)));
        xt_tensor kept = xt_clamp(xt_mul_scalar(xt_add_scalar(turns, -c->low), 1 / (c->high - c->low)), 0, 1);
        turn = xt_mul(turn, xt_add_scalar(xt_mul_scalar(kept, 1 - 1 / c->rope_factor), 1 / c->rope_factor));
    } else if (c->rope_factor != 1)
        turn = xt_div_scalar(turn, c->rope_factor);
    xt_tensor angle = xt_mul(xt_unsqueeze(xt_cast(at, XT_F32), -1), turn);
    *out_cos = xt_cos(angle);
    *out_sin = xt_sin(angle);
}

/* x [B,H,T,D]: the pair (x[i], x[i + D/2]) turns. The angles are f32, the products of x's own dtype. */
static xt_tensor rotate(xt_tensor x, xt_tensor cosine, xt_tensor sine) {
    cosine = xt_cast(cosine, xt_dtype_of(x));
    sine = xt_cast(sine, xt_dtype_of(x));
    int64_t half = xt_dim(x, 3) / 2;
    xt_tensor low = xt_slice(x, 3, 0, half), high = xt_slice(x, 3, half, 2 * half);
    xt_tensor turned[2] = {xt_minus(xt_mul(low, cosine), xt_mul(high, sine)),
                           xt_add(xt_mul(high, cosine), xt_mul(low, sine))};
    return xt_concat(2, turned, 3);
}

/* Which of n keys the tokens at the places `at` [T] see, [T,n]: those up to themselves, `window` of them at most (0:
 * all). */
static xt_tensor seen(xt_tensor at, int64_t n, int64_t window) {
    xt_tensor row = xt_unsqueeze(at, 1), column = xt_unsqueeze(xt_arange(n, XT_I64), 0), before = xt_le(column, row);
    return window ? xt_logical_and(before, xt_gt(xt_add_scalar(column, (double)window), row)) : before;
}

/* Of several texts in a row, [B,1,T,T]. */
static xt_tensor seen_in_text(const places *p, int64_t n, int64_t window) {
    xt_tensor same = xt_eq(xt_unsqueeze(p->text, 1), xt_unsqueeze(p->text, 2));
    return xt_unsqueeze(xt_logical_and(same, seen(xt_arange(n, XT_I64), n, window)), 1);
}

/* [B,T,heads*D] -> [B,heads,T,D] */
static xt_tensor heads(xt_tensor x, int64_t n, int64_t d) {
    return xt_transpose(xt_reshape(x, xt_dim(x, 0), xt_dim(x, 1), n, d), 1, 2);
}

static xt_tensor attention(xt_module *m, xt_tensor x, const llama_config *c, const places *p, int64_t layer) {
    xt_switch bias = c->q_bias ? XT_ON : XT_OFF;
    kv_cache *cache = c->generating ? c->generating->cache : NULL;
    int64_t b = xt_dim(x, 0), t = xt_dim(x, 1), d = c->head_dim, window = layer >= c->window_from ? c->window : 0;
    xt_tensor q = heads(xt_linear(m, "q_proj", x, c->heads * d, .bias = bias), c->heads, d);
    xt_tensor k = heads(xt_linear(m, "k_proj", x, c->kv_heads * d, .bias = bias), c->kv_heads, d);
    xt_tensor v = heads(xt_linear(m, "v_proj", x, c->kv_heads * d, .bias = bias), c->kv_heads, d), cosine, sine;
    bool gqa = c->kv_heads != c->heads, several = !xt_is_none(p->text);
    xt_tensor y;
    if (c->qk_norm) {
        q = xt_rms_norm(m, "q_norm", q, .eps = c->eps);
        k = xt_rms_norm(m, "k_norm", k, .eps = c->eps);
    }
    rotations(c, p->at, &cosine, &sine);
    q = rotate(q, cosine, sine);
    k = rotate(k, cosine, sine);
    if (cache)
        y = kv_cache_attention(cache, layer, q, k, v, (kv_attention){.scale = 1 / sqrt((double)d), .window = window});
    else if (several || (window && t > window))
        y = xt_scaled_dot_product_attention(
            q, k, v, .mask = several ? seen_in_text(p, t, window) : seen(p->at, t, window), .enable_gqa = gqa);
    else
        y = xt_scaled_dot_product_attention(q, k, v, .causal = XT_ON, .enable_gqa = gqa);
    return xt_linear(m, "o_proj", xt_reshape(xt_transpose(y, 1, 2), b, t, c->heads * d), c->width,
                     .bias = c->o_bias ? XT_ON : XT_OFF);
}

static xt_tensor mlp(xt_module *m, xt_tensor x, const llama_config *c) {
    xt_switch bias = c->mlp_bias ? XT_ON : XT_OFF;
    xt_tensor gate = xt_silu(xt_linear(m, "gate_proj", x, c->hidden, .bias = bias));
    xt_tensor up = xt_linear(m, "up_proj", x, c->hidden, .bias = bias);
    return xt_linear(m, "down_proj", xt_mul(gate, up), c->width, .bias = bias);
}

static xt_tensor block(xt_module *m, xt_tensor x, void *user) {
    const block_of *b = user;
    xt_tensor y = xt_rms_norm(m, "input_layernorm", x, .eps = b->c->eps);
    x = xt_add(x, attention(xt_sub(m, "self_attn", -1), y, b->c, b->places, b->layer));
    y = xt_rms_norm(m, "post_attention_layernorm", x, .eps = b->c->eps);
    return xt_add(x, mlp(xt_sub(m, "mlp", -1), y, b->c));
}

/* What stands in x, and the tokens alone. */
static xt_tensor find_places(xt_tensor x, const kv_cache *cache, places *out) {
    *out = (places){.text = {0}};
    if (cache) {
        out->at = xt_unsqueeze(cache->at, 1);
        return x;
    }
    if (xt_rank_of(x) == 3) {
        xt_tensor at = xt_select(x, 1, 1);
        out->at = xt_unsqueeze(at, 1);
        out->text = xt_cumsum(xt_cast(xt_eq(at, xt_zeros_like(at)), XT_I32), 1);
        return xt_select(x, 1, 0);
    }
    out->at = xt_arange(xt_dim(x, 1), XT_I64);
    return x;
}

xt_tensor llama(xt_module *m, xt_tensor tokens, void *user) {
    const llama_config *c = user;
    const kv_cache *cache = c->generating ? c->generating->cache : NULL;
    places where;
    xt_module *trunk = xt_sub(m, "model", -1);
    tokens = find_places(tokens, cache, &where);
    xt_tensor x = xt_embedding(trunk, "embed_tokens", tokens, c->vocab, c->width);
    if (cache || c->wide) x = xt_cast(x, XT_F32);
    for (int64_t i = 0; i < c->layers; i++) {
        xt_module *layer = xt_sub(trunk, "layers", (int)i);
        block_of b = {c, &where, i};
        x = c->checkpoint ? xt_checkpoint_block(block, layer, x, &b) : block(layer, x, &b);
    }
    if (cache) x = kv_cache_last(cache, x);
    x = xt_rms_norm(trunk, "norm", x, .eps = c->eps);
    if (!c->tied) return xt_linear(m, "lm_head", x, c->vocab, .bias = XT_OFF);
    return xt_matmul(
        x, xt_transpose(xt_param(trunk, "embed_tokens.weight", "normal", 0.02, XT_F32, c->vocab, c->width), 0, 1));
}

void llama_generates(llama_config *c, int64_t context, model_options *out) {
    *out = (model_options){.context = context < c->context ? context : c->context,
                           .vocab = c->vocab,
                           .layers = c->layers,
                           .width = c->kv_heads * c->head_dim,
                           .heads = c->kv_heads};
    c->generating = out;
}

xt_status llama_load(xt_module *net, const char *path) {
    xt_load_report r;
    if (xt_module_tensors(net) == 0) XT_TRY(xt_module_build(net, (xt_spec){XT_I64, {1, 1}}));
    XT_TRY(xt_load_with(net, path, .strict = XT_OFF, .report = &r));
    return model_check_loaded(path, &r);
}
