/* A deep convolutional GAN (Radford, Metz and Chintala 2015) on handwritten digits: a generator and a discriminator
 * that train in turn. Ends in dcgan.png: digits out of noise. */
#include "gallery.h"

enum { BATCH = 32, NOISE = 32, WIDTH = 16, SHOWN = 24 };

/* z [B,NOISE,1,1] -> pictures [B,1,28,28] in -1..1 */
static xt_tensor generator(xt_module *m, xt_tensor z, void *user) {
    (void)user;
    xt_tensor x = xt_conv_transpose2d(m, "conv1", z, 4 * WIDTH, 7, .bias = XT_OFF);
    x = xt_relu(xt_batch_norm(m, "bn1", x));
    x = xt_conv_transpose2d(m, "conv2", x, 2 * WIDTH, 4, .stride = 2, .padding = 1, .bias = XT_OFF);
    x = xt_relu(xt_batch_norm(m, "bn2", x));
    return xt_tanh(xt_conv_transpose2d(m, "conv3", x, 1, 4, .stride = 2, .padding = 1));
}

/* pictures -> logits [B] of being real */
static xt_tensor discriminator(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_leaky_relu(xt_conv2d(m, "conv1", x, 2 * WIDTH, 4, .stride = 2, .padding = 1), 0.2);
    x = xt_conv2d(m, "conv2", x, 4 * WIDTH, 4, .stride = 2, .padding = 1, .bias = XT_OFF);
    x = xt_leaky_relu(xt_batch_norm(m, "bn2", x), 0.2);
    return xt_flatten(xt_conv2d(m, "conv3", x, 1, 7), 0);
}

static void init(xt_module *m) {
    xt_init_normal(m, "conv*.weight", .std = 0.02);
    xt_init_normal(m, "bn*.weight", .mean = 1, .std = 0.02);
}

static xt_tensor judged(xt_module *d, xt_tensor x, bool real) {
    xt_tensor logits = xt_forward(d, x);
    return xt_bce_with_logits(logits, real ? xt_ones_like(logits) : xt_zeros_like(logits));
}

static void picture(xt_module *g) {
    static float grey[SHOWN][28 * 28];
    xt_tensor x = xt_forward(g, xt_randn(XT_F32, SHOWN, NOISE, 1, 1));
    xt_read(xt_mul(xt_add(x, 1), 0.5), grey, sizeof grey);
    gallery_try(xt_plot_images("dcgan.png", "out of noise", SHOWN, 28, 28, grey[0], NULL));
}

int main(int argc, char **argv) {
    gallery_begin(argc, argv, 600, NULL);
    xt_module *g = xt_module_new(generator, NULL), *d = xt_module_new(discriminator, NULL);
    init(g), init(d);
    gallery_try(xt_module_build(g, (xt_spec){XT_F32, {BATCH, NOISE, 1, 1}}));
    gallery_try(xt_module_build(d, (xt_spec){XT_F32, {BATCH, 1, 28, 28}}));
    gallery_save(g), gallery_save(d);
    xt_optimizer *of_g = xt_adam(g, .lr = 4e-4, .beta1 = 0.5), *of_d = xt_adam(d, .lr = 2e-4, .beta1 = 0.5);
    xt_loader *loader = xt_loader_new(xt_drawn_digits(2048, 1), .batch = BATCH, .shuffle = XT_ON);
    xt_batch b;
    for (int step = 0; step < gallery.steps; step++) {
        if (!xt_next(loader, &b) && !xt_next(loader, &b)) break; /* the next epoch */
        xt_tensor grey = xt_clamp(xt_add(xt_mul(b.x, 0.3081), 0.1307), 0, 1);
        xt_tensor real = xt_add(xt_mul(grey, 2), -1);
        xt_tensor fake = xt_forward(g, xt_randn(XT_F32, BATCH, NOISE, 1, 1));
        xt_tensor loss_d = xt_add(judged(d, real, true), judged(d, xt_detach(fake), false));
        xt_backward(loss_d);
        xt_optimizer_step(of_d);
        xt_tensor loss_g = judged(d, fake, true); /* by the discriminator as it is now */
        xt_backward(loss_g);
        xt_optimizer_step(of_g);
        xt_zero_grad(of_d); /* what the generator's turn left there */
        gallery_loss("loss_d", step, loss_d);
        gallery_loss("loss_g", step, loss_g);
    }
    xt_no_grad_begin();
    if (!xt_error()) picture(g);
    xt_no_grad_end();
    return xt_finish();
}
