/* GPT-2 (Radford et al. 2019) with Hugging Face's names: wte, wpe, h.0.ln_1, ..., ln_f; the output layer is wte transposed. */
#include "models/models.h"

#include <math.h>

typedef struct gpt2_config {
    int64_t vocab, context, width;
    int layers, heads;
    bool checkpoint; /* each block is computed again in the backward pass */
} gpt2_config;

static xt_tensor block(xt_module *m, xt_tensor x, void *user) {
    const gpt2_config *c = user;
    x = xt_add(x, xt_self_attention(m, "attn", xt_layer_norm(m, "ln_1", x), .heads = c->heads, .causal = XT_ON));
    xt_tensor h = xt_gelu(xt_linear(m, "mlp.c_fc", xt_layer_norm(m, "ln_2", x), 4 * xt_dim(x, -1)));
    return xt_add(x, xt_linear(m, "mlp.c_proj", h, xt_dim(x, -1)));
}

/* As the paper and Hugging Face: N(0, 0.02), what adds to the residual stream smaller by sqrt of how many add, biases 0. */
static void begin_values(xt_module *m, int layers) {
    xt_init_normal(m, "w?e.weight", .std = 0.02);
    xt_init_normal(m, "h.*.c_*.weight", .std = 0.02);
    xt_init_normal(m, "h.*.c_proj.weight", .std = 0.02 / sqrt(2.0 * layers));
    xt_init_zeros(m, "h.*.c_*.bias");
}

/* x: tokens [B,T] -> logits [B,T,vocab] */
static xt_tensor gpt2(xt_module *m, xt_tensor tokens, void *user) {
    const gpt2_config *c = user;
    if (xt_module_tensors(m) == 0) begin_values(m, c->layers);
    xt_tensor x = xt_embedding(m, "wte", tokens, c->vocab, c->width);
    x = xt_add(x, xt_embedding(m, "wpe", xt_arange(xt_dim(tokens, 1), XT_I64), c->context, c->width));
    for (int i = 0; i < c->layers; i++) {
        xt_module *h = xt_sub(m, "h", i);
        x = c->checkpoint ? xt_checkpoint_block(block, h, x, user) : block(h, x, user);
    }
    x = xt_layer_norm(m, "ln_f", x);
    return xt_matmul(x, xt_transpose(xt_module_find(m, "wte.weight"), 0, 1));
}

/* [0] keeps activations, [1] computes them again. */
#define GPT2_CONFIGS(name, ...) static const gpt2_config name[2] = {{__VA_ARGS__}, {__VA_ARGS__, .checkpoint = true}}
GPT2_CONFIGS(small, .vocab = 50257, .context = 1024, .width = 768, .layers = 12, .heads = 12);
GPT2_CONFIGS(tiny, .vocab = 256, .context = 128, .width = 128, .layers = 4, .heads = 4);

static xt_spec tokens(int64_t side, int64_t seq) {
    (void)side;
    return (xt_spec){XT_I64, {seq ? seq : 64}};
}

static xt_tensor loss(xt_tensor out, xt_tensor y) { return xt_cross_entropy(out, y); }
static xt_optimizer *optimizer(xt_module *net, double lr) { return xt_adamw(net, .lr = lr > 0 ? lr : 3e-4, .weight_decay = 0.1); }

const model model_gpt2 = {.name = "gpt2", .help = "text: GPT-2 small (124 M parameters)", .net = gpt2, .x = tokens, .y = tokens, .loss = loss, .optimizer = optimizer, .batch = 4, .epochs = 1,
                          .config = &small[0], .checkpointed = &small[1], .tokens = true};
const model model_gpt2_tiny = {.name = "gpt2-tiny", .help = "text as bytes: GPT-2's shape, 4 layers of 128 (0.9 M parameters)", .net = gpt2, .x = tokens, .y = tokens, .loss = loss, .optimizer = optimizer,
                               .batch = 16, .epochs = 1, .config = &tiny[0], .checkpointed = &tiny[1], .tokens = true};
