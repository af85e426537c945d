/* nanoGPT: a GPT-2 of three layers that learns to write a text, byte by byte. Ends in a text of its own. */
#include "gallery.h"

enum { BATCH = 16, WINDOW = 64, VOCAB = 128, WIDTH = 64, HEADS = 4, LAYERS = 3, WRITTEN = 400 };

static xt_tensor block(xt_module *m, xt_tensor x) {
    x = xt_add(x, xt_self_attention(m, "attn", xt_layer_norm(m, "ln_1", x), .heads = HEADS, .causal = XT_ON));
    xt_tensor h = xt_gelu(xt_linear(m, "mlp.c_fc", xt_layer_norm(m, "ln_2", x), 4 * WIDTH));
    return xt_add(x, xt_linear(m, "mlp.c_proj", h, WIDTH));
}

/* tokens [B,T] -> logits [B,T,VOCAB]; the last matrix is that of the embedding */
static xt_tensor gpt(xt_module *m, xt_tensor tokens, void *user) {
    (void)user;
    xt_tensor at = xt_arange(xt_dim(tokens, 1), XT_I64);
    xt_tensor x = xt_add(xt_embedding(m, "wte", tokens, VOCAB, WIDTH), xt_embedding(m, "wpe", at, WINDOW, WIDTH));
    for (int i = 0; i < LAYERS; i++) x = block(xt_sub(m, "h", i), x);
    return xt_matmul(xt_layer_norm(m, "ln_f", x), xt_t(xt_module_find(m, "wte.weight")));
}

static void init(xt_module *m) {
    xt_init_zeros(m, "*.bias");
    xt_init_normal(m, "*.c_*.weight", .std = 0.02);
    xt_init_normal(m, "w?e.weight", .std = 0.02);
}

/* in: a window of tokens [1,WINDOW], the newest one's place [1] -> the next one [1], drawn */
static xt_tensor next_token(const xt_tensor *in, int n, void *m) {
    (void)n;
    xt_tensor logits = xt_index_select(xt_forward(m, in[0]), 1, in[1]);
    return xt_dist_sample(xt_categorical_logits_dist(xt_div(xt_flatten(logits, 0), 0.8)));
}

/* The window is padded behind, where a causal model does not look, so that each token comes out of one program. */
static void write_text(xt_module *m) {
    int64_t window[WINDOW] = {'T', 'h', 'e', ' '}, n = 4, token;
    char text[WRITTEN + 1] = {0};
    xt_step *step = xt_compile(next_token, .user = m);
    xt_no_grad_begin();
    for (int i = 0; i < WRITTEN; i++) {
        int64_t newest = n - 1;
        xt_tensor y = xt_call(step, xt_from_array(window, XT_I64, 1, WINDOW), xt_from_array(&newest, XT_I64, 1));
        if (!xt_read(y, &token, sizeof token)) break;
        text[i] = (char)token;
        if (n == WINDOW) memmove(window, window + 1, (size_t)--n * sizeof *window);
        window[n++] = token;
    }
    printf("The %s\n", text);
    xt_no_grad_end();
    xt_step_free(step);
}

int main(int argc, char **argv) {
    gallery_begin(argc, argv, 1000, "LICENSE");
    xt_module *m = xt_module_new(gpt, NULL);
    init(m);
    gallery_try(xt_module_build(m, (xt_spec){XT_I64, {BATCH, WINDOW}}));
    gallery_save(m);
    xt_optimizer *adamw = xt_adamw(m, .lr = 3e-3, .weight_decay = 0.1, .clip_norm = 1);
    xt_loader *text = xt_loader_new(xt_text_dataset(gallery.data, WINDOW, 16), .batch = BATCH, .shuffle = XT_ON);
    xt_batch b;
    for (int step = 0; step < gallery.steps; step++) {
        if (!xt_next(text, &b) && !xt_next(text, &b)) break; /* the next epoch */
        xt_tensor loss = xt_cross_entropy(xt_forward(m, b.x), b.y);
        xt_backward(loss);
        xt_optimizer_step(adamw);
        gallery_loss("loss", step, loss);
    }
    if (!xt_error()) write_text(m);
    return xt_finish();
}
