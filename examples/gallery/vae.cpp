/* The variational autoencoder of vae.c, in C++17. */
#include <xtrain.hpp>

extern "C" {
#include "gallery.h"
}

constexpr int BATCH = 64, SIDE = 28, HIDDEN = 128, LATENT = 8, SHOWN = 8;

static xt::tensor decode(xt::scope m, xt::tensor z) {
    m.share("dec*"); // called for what was seen, and for what is made up
    return m.linear("dec2", m.linear("dec1", z, HIDDEN).relu(), SIDE * SIDE);
}

// x [B,1,28,28] in 0..1 -> logits of the pixels [B,784], mean and log variance of the code [B,LATENT]
static void vae(xt::scope m, const xt::tensor *in, xt::tensor *out) {
    xt::tensor h = m.linear("enc", in[0].flatten(1), HIDDEN).relu();
    xt::tensor mean = m.linear("mean", h, LATENT), log_var = m.linear("log_var", h, LATENT);
    xt::tensor std = (0.5 * log_var).exp();
    out[0] = decode(m, mean + std * xt::randn_like(std));
    out[1] = mean;
    out[2] = log_var;
}

static xt::tensor elbo(const xt::module &m, xt::tensor x) {
    auto out = m(std::vector<xt::tensor>{x});
    xt_bce_opts sum{};
    sum.reduction = XT_SUM;
    xt::tensor pixels = xt::bce_with_logits(out[0], x.flatten(1), sum);
    xt::tensor kl = out[2].exp() + out[1].square() - (out[2] + 1);
    return (pixels + 0.5 * kl.sum()) / BATCH;
}

static xt::tensor digits(const xt_batch &b) { // as MNIST's, which are normalised: back to 0..1
    return (xt::tensor(b.x) * 0.3081 + 0.1307).clamp(0, 1);
}

static void picture(const xt::module &m, const xt_batch &b) {
    xt::tensor x = digits(b).slice(0, 0, SHOWN);
    auto out = m(std::vector<xt::tensor>{x});
    xt::tensor made_up = decode(m, xt::randn(XT_F32, {SHOWN, LATENT}));
    auto grey = xt::cat({x.flatten(1), out[0].sigmoid(), made_up.sigmoid()}, 0).read<float>();
    xt::check(xt_plot_images("vae.png", "seen, seen again, made up", 3 * SHOWN, SIDE, SIDE, grey.data(), nullptr));
}

int main(int argc, char **argv) {
    gallery_begin(argc, argv, 1000, nullptr);
    xt::module m(1, 3, vae);
    m.build({xt::spec(XT_F32, {BATCH, 1, SIDE, SIDE})});
    gallery_save(m);
    xt::optimizer adam = xt::adam(m);
    xt_loader_opts o{};
    o.batch = BATCH;
    o.shuffle = XT_ON;
    xt::loader loader(xt_drawn_digits(2048, 1), o);
    xt_batch last{};
    for (int step = 0; step < gallery.steps;)
        for (xt_batch &b : loader) { // an epoch
            xt::tensor loss = elbo(m, digits(b));
            loss.backward();
            adam.step();
            gallery_loss("loss", step, loss);
            last = b;
            if (++step == gallery.steps) break;
        }
    if (!xt_error() && gallery.steps > 0) {
        xt::no_grad off;
        picture(m, last);
    }
    return xt::finish();
}
