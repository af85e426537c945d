/* nanogpt.c in C++17. */
#include <xtrain.hpp>

extern "C" {
#include "gallery.h"
}

constexpr int BATCH = 16, WINDOW = 64, VOCAB = 128, WIDTH = 64, HEADS = 4, LAYERS = 3, WRITTEN = 400;

static xt::tensor block(xt::scope m, xt::tensor x) {
    xt_attention_opts o{};
    o.heads = HEADS;
    o.causal = XT_ON;
    x = x + m.self_attention("attn", m.layer_norm("ln_1", x), o);
    xt::tensor h = m.linear("mlp.c_fc", m.layer_norm("ln_2", x), 4 * WIDTH).gelu("tanh");
    return x + m.linear("mlp.c_proj", h, WIDTH);
}

// tokens [B,T] -> logits [B,T,VOCAB]; the last matrix is that of the embedding
static xt::tensor gpt(xt::scope m, xt::tensor tokens) {
    xt::tensor at = xt::arange(tokens.dim(1));
    xt::tensor x = m.embedding("wte", tokens, VOCAB, WIDTH) + m.embedding("wpe", at, WINDOW, WIDTH);
    for (int i = 0; i < LAYERS; i++) x = block(m.sub("h", i), x);
    return m.layer_norm("ln_f", x).matmul(m.find("wte.weight").t());
}

static void write_text(const xt::module &m) {
    std::string text = "The ";
    std::vector<int64_t> window(WINDOW);
    size_t n = 0;
    for (char c : text) window[n++] = c;
    // in: a window of tokens [1,WINDOW], the newest one's place [1] -> the next one [1], drawn
    xt::step next([&](const xt::tensor *in, int) -> xt::tensor {
        xt::tensor logits = m(in[0]).index_select(1, in[1]).flatten() / 0.8;
        return xt_dist_sample(xt_categorical_logits_dist(logits));
    });
    xt::no_grad off;
    for (int i = 0; i < WRITTEN; i++) {
        int64_t newest = static_cast<int64_t>(n) - 1;
        auto token = next({xt::from(window.data(), {1, WINDOW}), xt::from(&newest, {1})}).read<int64_t>();
        text += static_cast<char>(token[0]);
        if (n == WINDOW) window.erase(window.begin()), window.push_back(0), n--;
        window[n++] = token[0];
    }
    printf("%s\n", text.c_str());
}

int main(int argc, char **argv) {
    gallery_begin(argc, argv, 1000, "LICENSE");
    xt::module m(gpt);
    xt_init_zeros(m, "*.bias");
    xt_init_opts small{};
    small.std = 0.02;
    xt_init_at(XT_HERE, XT_INIT_NORMAL, m, "*.c_*.weight", small);
    xt_init_at(XT_HERE, XT_INIT_NORMAL, m, "w?e.weight", small);
    m.build({xt::spec(XT_I64, {BATCH, WINDOW})});
    gallery_save(m);
    xt_adamw_opts a{};
    a.lr = 3e-3;
    a.weight_decay = 0.1;
    a.clip_norm = 1;
    xt::optimizer adamw = xt::adamw(m, a);
    xt_loader_opts o{};
    o.batch = BATCH;
    o.shuffle = XT_ON;
    xt::loader text(xt_text_dataset(gallery.data, WINDOW, 16), o);
    for (int step = 0; step < gallery.steps;)
        for (xt_batch &b : text) { // an epoch
            xt::tensor loss = xt::cross_entropy(m(b.x), b.y);
            loss.backward();
            adamw.step();
            gallery_loss("loss", step, loss);
            if (++step == gallery.steps) break;
        }
    if (!xt_error()) write_text(m);
    return xt::finish();
}
