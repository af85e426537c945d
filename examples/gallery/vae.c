/* A variational autoencoder (Kingma and Welling 2013) on handwritten digits. Ends in vae.png: digits that it was shown,
 * what it made of them, and digits that it made up. */
#include "gallery.h"

enum { BATCH = 64, SIDE = 28, HIDDEN = 128, LATENT = 8, SHOWN = 8 };

static xt_tensor decode(xt_module *m, xt_tensor z) {
    xt_share(m, "dec*"); /* called for what was seen, and for what is made up */
    return xt_linear(m, "dec2", xt_relu(xt_linear(m, "dec1", z, HIDDEN)), SIDE * SIDE);
}

/* x [B,1,28,28] in 0..1 -> logits of the pixels [B,784], mean and log variance of the code [B,LATENT] */
static void vae(xt_module *m, const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    xt_tensor h = xt_relu(xt_linear(m, "enc", xt_flatten(in[0], 1), HIDDEN));
    xt_tensor mean = xt_linear(m, "mean", h, LATENT), log_var = xt_linear(m, "log_var", h, LATENT);
    xt_tensor std = xt_exp(xt_mul(log_var, 0.5));
    out[0] = decode(m, xt_add(mean, xt_mul(std, xt_randn_like(std))));
    out[1] = mean;
    out[2] = log_var;
}

/* The bound on -log p(x), a sample: bits that the pixels cost, and how far the code is from N(0, 1). */
static xt_tensor elbo(xt_module *m, xt_tensor x) {
    xt_tensor out[3];
    xt_forward_many(m, 1, &x, 3, out);
    xt_tensor pixels = xt_bce_with_logits(out[0], xt_flatten(x, 1), .reduction = XT_SUM);
    xt_tensor kl = xt_minus(xt_add(xt_exp(out[2]), xt_square(out[1])), xt_add(out[2], 1));
    return xt_div(xt_add(pixels, xt_mul(xt_sum(kl), 0.5)), BATCH);
}

static xt_tensor digits(xt_batch b) { /* as MNIST's, which are normalised: back to 0..1 */
    return xt_clamp(xt_add(xt_mul(b.x, 0.3081), 0.1307), 0, 1);
}

static void picture(xt_module *m, xt_batch b) {
    static float grey[3 * SHOWN][SIDE * SIDE];
    xt_tensor x = xt_slice(digits(b), 0, 0, SHOWN), out[3];
    xt_forward_many(m, 1, &x, 3, out);
    xt_tensor made_up = decode(m, xt_randn(XT_F32, SHOWN, LATENT));
    xt_tensor all = xt_concat(3, XT_TENSORS(xt_flatten(x, 1), xt_sigmoid(out[0]), xt_sigmoid(made_up)), 0);
    xt_read(all, grey, sizeof grey);
    gallery_try(xt_plot_images("vae.png", "seen, seen again, made up", 3 * SHOWN, SIDE, SIDE, grey[0], NULL));
}

int main(int argc, char **argv) {
    gallery_begin(argc, argv, 1000, NULL);
    xt_module *m = xt_module_new_many(vae, 1, 3, NULL);
    gallery_try(xt_module_build(m, (xt_spec){XT_F32, {BATCH, 1, SIDE, SIDE}}));
    gallery_save(m);
    xt_optimizer *adam = xt_adam(m, .lr = 1e-3);
    xt_loader *loader = xt_loader_new(xt_drawn_digits(2048, 1), .batch = BATCH, .shuffle = XT_ON);
    xt_batch b = {0};
    for (int step = 0; step < gallery.steps; step++) {
        if (!xt_next(loader, &b) && !xt_next(loader, &b)) break; /* the next epoch */
        xt_tensor loss = elbo(m, digits(b));
        xt_backward(loss);
        xt_optimizer_step(adam);
        gallery_loss("loss", step, loss);
    }
    xt_no_grad_begin();
    if (!xt_error() && gallery.steps > 0) picture(m, b);
    xt_no_grad_end();
    return xt_finish();
}
