/* GPT-2 (Radford et al. 2019) with Hugging Face's names: wte, wpe, h.0.ln_1, ..., ln_f; the output layer is
 * wte transposed. With experts its feed-forward layers are mixtures (Fedus et al. 2021, Switch Transformer). */
#include "models/kv_cache.h"

#include <math.h>

/* Attention of new tokens over everything in the cache: x [B,T,C] -> [B,T,C]. */
static xt_tensor cached_attention(xt_module *m, xt_tensor x, const model_options *o, int64_t layer) {
    int64_t b = xt_dim(x, 0), t = xt_dim(x, 1), d = o->width / o->heads;
    xt_tensor qkv = xt_linear(m, "c_attn", x, 3 * o->width), part[3];
    for (int i = 0; i < 3; i++)
        part[i] = xt_transpose(xt_reshape(xt_slice(qkv, 2, i * o->width, (i + 1) * o->width), b, t, o->heads, d), 1, 2);
    xt_tensor y =
        kv_cache_attention(o->cache, layer, part[0], part[1], part[2], (kv_attention){.scale = 1 / sqrt((double)d)});
    return xt_linear(m, "c_proj", xt_reshape(xt_transpose(y, 1, 2), b, t, o->width), o->width);
}

static xt_tensor mlp(xt_module *m, xt_tensor x, const model_options *o) {
    xt_tensor h = xt_layer_norm(m, "ln_2", x);
    if (o->experts > 1) /* a new token has no others beside it that could take its place */
        return xt_moe(m, "mlp", h, .experts = (int)o->experts, .top_k = (int)o->experts_per_token,
                      .capacity_factor = o->cache ? 0 : 1.25);
    return xt_linear(m, "mlp.c_proj", xt_gelu(xt_linear(m, "mlp.c_fc", h, 4 * o->width)), o->width);
}

static xt_tensor drop(xt_module *m, xt_tensor x, const model_options *o) {
    return o->dropout > 0 ? xt_dropout(m, x, o->dropout) : x;
}

static xt_tensor block(xt_module *m, xt_tensor x, void *user) {
    const model_options *o = user;
    xt_tensor a = xt_self_attention(m, "attn", xt_layer_norm(m, "ln_1", x), .heads = (int)o->heads, .causal = XT_ON,
                                    .dropout = o->dropout, .tile = o->attention_tile);
    x = xt_add(x, drop(m, a, o));
    return xt_add(x, drop(m, mlp(m, x, o), o));
}

/* As the paper and Hugging Face: N(0, 0.02), what adds to the residual stream smaller by sqrt of how many
 * add, biases 0. */
static void begin_values(xt_module *m, int64_t layers, int64_t experts) {
    xt_init_normal(m, "w?e.weight", .std = 0.02);
    xt_init_normal(m, "h.*.c_*.weight", .std = 0.02);
    xt_init_normal(m, "h.*.c_proj.weight", .std = 0.02 / sqrt(2.0 * (double)layers));
    xt_init_zeros(m, "h.*.c_*.bias");
    if (experts <= 1) return;
    xt_init_normal(m, "h.*.fc1.weight", .std = 0.02);
    xt_init_normal(m, "h.*.fc2.weight", .std = 0.02 / sqrt(2.0 * (double)layers));
    xt_init_normal(m, "h.*.router.weight", .std = 0.02);
    xt_init_zeros(m, "h.*.fc?.bias");
}

/* tokens [B,T] -> what the first block gets, [B,T,width] */
static xt_tensor embedded(xt_module *m, xt_tensor tokens, const model_options *o) {
    if (xt_module_tensors(m) == 0) begin_values(m, o->layers, o->experts);
    xt_tensor x = xt_embedding(m, "wte", tokens, o->vocab, o->width);
    xt_tensor at = o->cache ? o->cache->at : xt_arange(xt_dim(tokens, 1), XT_I64);
    x = drop(m, xt_add(x, xt_embedding(m, "wpe", at, o->context, o->width)), o);
    return o->cache ? xt_cast(x, XT_F32) : x; /* sums are f32, whatever the weights are */
}

static xt_tensor logits(xt_module *m, xt_tensor x, const model_options *o) {
    x = xt_layer_norm(m, "ln_f", x);
    return xt_matmul(x, xt_transpose(xt_param(m, "wte.weight", "normal", 0.02, XT_F32, o->vocab, o->width), 0, 1));
}

/* x: tokens [B,T] -> logits [B,T,vocab] */
static xt_tensor gpt2(xt_module *m, xt_tensor tokens, void *user) {
    const model_options *o = user;
    xt_tensor x = embedded(m, tokens, o);
    bool stages = !o->cache && (o->pipeline || xt_mesh_size(NULL, "stage") > 1);
    if (stages) x = xt_pipeline(m, "h", x, block, .layers = o->layers, .microbatches = o->microbatches, .user = user);
    for (int64_t i = 0; i < o->layers && !stages; i++) {
        xt_module *h = xt_sub(m, "h", (int)i);
        if (o->cache) {
            x = xt_add(x, cached_attention(xt_sub(h, "attn", -1), xt_layer_norm(h, "ln_1", x), o, i));
            x = xt_add(x, mlp(h, x, o));
        } else
            x = o->checkpoint ? xt_checkpoint_block(block, h, x, user) : block(h, x, user);
    }
    if (o->cache) x = kv_cache_last(o->cache, x);
    return logits(m, x, o);
}

static xt_spec tokens(int64_t side, int64_t seq) {
    (void)side;
    return (xt_spec){XT_I64, {seq ? seq : 64}};
}

/* The axis is said: where the context is as long as the vocabulary, shapes cannot tell which dim has the classes. */
static xt_tensor loss(xt_tensor out, xt_tensor y) {
    return xt_cross_entropy(out, y, .axis = -1);
}
static xt_tensor head(xt_module *m, xt_tensor x, xt_tensor y, void *user) {
    return loss(logits(m, x, user), y);
}
static xt_tensor staged(xt_module *m, xt_tensor x, xt_tensor y, const model_options *o) {
    return xt_pipeline_loss(m, "h", embedded(m, x, o), y, block, head, .layers = o->layers,
                            .microbatches = o->microbatches, .schedule = XT_ONE_F_ONE_B, .user = (void *)o);
}
static xt_optimizer *optimizer(xt_module *net, double lr) {
    return xt_adamw(net, .lr = lr >= 0 ? lr : 3e-4, .weight_decay = 0.1);
}
/* Small models of bytes: a higher rate, and a shorter memory of squared gradients for their small batches. */
static xt_optimizer *small_optimizer(xt_module *net, double lr) {
    return xt_adamw(net, .lr = lr >= 0 ? lr : 1e-3, .weight_decay = 0.1, .beta2 = 0.99);
}

#define GPT2(id, name_, help_, batch_, epochs_, optimizer_, ...)                      \
    static const model_options id##_checkpointed = {__VA_ARGS__, .checkpoint = true}; \
    const model model_##id = {.name = name_,                                          \
                              .help = help_,                                          \
                              .net = gpt2,                                            \
                              .x = tokens,                                            \
                              .y = tokens,                                            \
                              .loss = loss,                                           \
                              .optimizer = optimizer_,                                \
                              .batch = batch_,                                        \
                              .epochs = epochs_,                                      \
                              .clip = 1,                                              \
                              .cosine = true,                                         \
                              .own = {__VA_ARGS__},                                   \
                              .config = &model_##id.own,                              \
                              .checkpointed = &id##_checkpointed,                     \
                              .staged = staged,                                       \
                              .tokens = true,                                         \
                              .tiled = true}
GPT2(gpt2, "gpt2", "text: GPT-2 small (124 M parameters)", 4, 1, optimizer, .seq = 64, .context = 1024, .vocab = 50257,
     .layers = 12, .width = 768, .heads = 12, .experts = 1, .experts_per_token = 1, .microbatches = 4);
GPT2(gpt2_mini, "gpt2-mini", "text as bytes: GPT-2's shape, 6 layers of 384 (10.8 M parameters)", 8, 4, small_optimizer,
     .seq = 128, .context = 128, .vocab = 256, .layers = 6, .width = 384, .heads = 6, .experts = 1,
     .experts_per_token = 1, .microbatches = 4);
GPT2(gpt2_tiny, "gpt2-tiny", "text as bytes: GPT-2's shape, 4 layers of 128 (0.9 M parameters)", 16, 1, small_optimizer,
     .seq = 64, .context = 128, .vocab = 256, .layers = 4, .width = 128, .heads = 4, .experts = 1,
     .experts_per_token = 1, .microbatches = 4);
