/* A small Llama (RMS norms, rotary positions, grouped keys, SwiGLU) that learns a text, and then, through LoRA adapters
 * alone (Hu et al. 2021), the same text in capitals: its own weights stay as they are. Ends in a text by each. */
#include "gallery.h"
#include <ctype.h>

#define SCALE 2.0
enum { BATCH = 16, WINDOW = 64, VOCAB = 128, WIDTH = 64, HEADS = 4, GROUPS = 2, HEAD = WIDTH / HEADS, LAYERS = 2 };
enum { RANK = 4, WRITTEN = 200 };

/* A matrix with its adapter, W x + SCALE B A x; B begins as zeros. */
static xt_tensor adapted(xt_module *m, const char *name, xt_tensor x, int64_t out) {
    xt_module *own = xt_sub(xt_sub(m, "lora", -1), name, -1);
    xt_tensor change = xt_linear(own, "B", xt_linear(own, "A", x, RANK, .bias = XT_OFF), out, .bias = XT_OFF);
    return xt_add(xt_linear(m, name, x, out, .bias = XT_OFF), xt_mul(change, SCALE));
}

static xt_tensor heads(xt_tensor x, int n) { /* [B,T,n HEAD] -> [B,n,T,HEAD] */
    return xt_transpose(xt_unflatten(x, -1, n, HEAD), 1, 2);
}

static xt_tensor attention(xt_module *m, xt_tensor x) {
    xt_tensor q = xt_rotary(heads(adapted(m, "q_proj", x, WIDTH), HEADS), 10000);
    xt_tensor k = xt_rotary(heads(xt_linear(m, "k_proj", x, GROUPS * HEAD, .bias = XT_OFF), GROUPS), 10000);
    xt_tensor v = heads(adapted(m, "v_proj", x, GROUPS * HEAD), GROUPS);
    k = xt_repeat_interleave(k, HEADS / GROUPS, 1);
    v = xt_repeat_interleave(v, HEADS / GROUPS, 1);
    xt_tensor y = xt_scaled_dot_product_attention(q, k, v, .causal = XT_ON);
    return xt_linear(m, "o_proj", xt_flatten(xt_transpose(y, 1, 2), 2), WIDTH, .bias = XT_OFF);
}

static xt_tensor mlp(xt_module *m, xt_tensor x) {
    xt_tensor gate = xt_silu(xt_linear(m, "gate_proj", x, 2 * WIDTH, .bias = XT_OFF));
    xt_tensor up = xt_linear(m, "up_proj", x, 2 * WIDTH, .bias = XT_OFF);
    return xt_linear(m, "down_proj", xt_mul(gate, up), WIDTH, .bias = XT_OFF);
}

/* tokens [B,T] -> logits [B,T,VOCAB] */
static xt_tensor llama(xt_module *m, xt_tensor tokens, void *user) {
    (void)user;
    xt_tensor x = xt_embedding(m, "embed_tokens", tokens, VOCAB, WIDTH);
    for (int i = 0; i < LAYERS; i++) {
        xt_module *layer = xt_sub(m, "layers", i);
        x = xt_add(x, attention(xt_sub(layer, "self_attn", -1), xt_rms_norm(layer, "input_layernorm", x, .eps = 1e-6)));
        x = xt_add(x, mlp(xt_sub(layer, "mlp", -1), xt_rms_norm(layer, "post_attention_layernorm", x, .eps = 1e-6)));
    }
    return xt_linear(m, "lm_head", xt_rms_norm(m, "norm", x, .eps = 1e-6), VOCAB, .bias = XT_OFF);
}

static xt_status shout(void *user, int64_t i, const void *x_in, const void *y_in, void *x, void *y) {
    (void)user, (void)i;
    for (int t = 0; t < WINDOW; t++) {
        ((int64_t *)x)[t] = toupper((int)((const int64_t *)x_in)[t]);
        ((int64_t *)y)[t] = toupper((int)((const int64_t *)y_in)[t]);
    }
    return NULL;
}

static void train(xt_module *m, const char *what, xt_dataset *text, double lr) {
    xt_optimizer *adamw = xt_adamw(m, .lr = lr, .clip_norm = 1);
    xt_loader *loader = xt_loader_new(text, .batch = BATCH, .shuffle = XT_ON);
    xt_batch b;
    for (int step = 0; step < gallery.steps; step++) {
        if (!xt_next(loader, &b) && !xt_next(loader, &b)) break; /* the next epoch */
        xt_tensor loss = xt_cross_entropy(xt_forward(m, b.x), b.y);
        xt_backward(loss);
        xt_optimizer_step(adamw);
        gallery_loss(what, step, loss);
    }
    xt_wait();
    xt_optimizer_free(adamw);
    xt_loader_free(loader);
}

static xt_tensor next_token(const xt_tensor *in, int n, void *m) {
    (void)n;
    return xt_argmax(xt_flatten(xt_index_select(xt_forward(m, in[0]), 1, in[1]), 0), -1);
}

static void write_text(xt_module *m) {
    int64_t window[WINDOW] = {'T', 'h', 'e', ' '}, n = 4;
    char text[WRITTEN + 1] = {0};
    xt_step *step = xt_compile(next_token, .user = m);
    xt_no_grad_begin();
    for (int i = 0; i < WRITTEN; i++) {
        int64_t newest = n - 1, token;
        xt_tensor y = xt_call(step, xt_from_array(window, XT_I64, 1, WINDOW), xt_from_array(&newest, XT_I64, 1));
        if (!xt_read(y, &token, sizeof token)) break;
        text[i] = (char)token;
        if (n == WINDOW) memmove(window, window + 1, (size_t)--n * sizeof *window);
        window[n++] = token;
    }
    xt_no_grad_end();
    xt_step_free(step);
    printf("The %s\n", text);
}

int main(int argc, char **argv) {
    gallery_begin(argc, argv, 800, "LICENSE");
    xt_module *m = xt_module_new(llama, NULL);
    const xt_spec window = {XT_I64, {WINDOW}};
    xt_init_zeros(m, "*.lora.*.B.weight");
    xt_freeze(m, "*.lora.*");
    gallery_try(xt_module_build(m, (xt_spec){XT_I64, {BATCH, WINDOW}}));
    gallery_save(m);
    xt_dataset *text = xt_text_dataset(gallery.data, WINDOW, 16);
    train(m, "base", text, 3e-3);
    if (!xt_error()) write_text(m);
    xt_freeze(m, "*");
    xt_unfreeze(m, "*.lora.*");
    train(m, "lora", xt_map_dataset(xt_text_dataset(gallery.data, WINDOW, 16), window, window, shout, NULL), 1e-2);
    if (!xt_error()) write_text(m);
    return xt_finish();
}
