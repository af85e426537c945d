/* A denoising diffusion model (Ho, Jain and Abbeel 2020): a small U-Net learns to tell the noise in a digit, and takes
 * it out again step by step. Ends in diffusion.png: digits out of noise. */
#include "gallery.h"
#include <math.h>

enum { BATCH = 32, WIDTH = 16, TIMES = 100, SHOWN = 24 };

static xt_tensor block(xt_module *m, xt_tensor x, xt_tensor time, int channels) {
    xt_tensor shift = xt_unsqueeze(xt_unsqueeze(xt_linear(m, "time", time, channels), -1), -1);
    xt_tensor h = xt_silu(xt_group_norm(m, "norm1", xt_conv2d(m, "conv1", x, channels, 3, .padding = 1), 4));
    h = xt_conv2d(m, "conv2", xt_add(h, shift), channels, 3, .padding = 1);
    return xt_silu(xt_group_norm(m, "norm2", h, 4));
}

static xt_tensor up(xt_tensor x, xt_tensor beside) { /* twice as large, behind what the way down kept */
    return xt_concat(2, XT_TENSORS(xt_interpolate(x, .scale = 2), beside), 1);
}

/* noisy pictures [B,1,28,28], how noisy [B] -> the noise [B,1,28,28] */
static void unet(xt_module *m, const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    xt_tensor time = xt_sinusoidal_embedding(in[1], 2 * WIDTH);
    time = xt_silu(xt_linear(m, "time", time, 4 * WIDTH));
    xt_tensor a = block(xt_sub(m, "down1", -1), in[0], time, WIDTH); /* 28 x 28 */
    xt_tensor b = block(xt_sub(m, "down2", -1), xt_max_pool2d(a, 2), time, 2 * WIDTH); /* 14 x 14 */
    xt_tensor x = block(xt_sub(m, "middle", -1), xt_max_pool2d(b, 2), time, 4 * WIDTH); /* 7 x 7 */
    x = block(xt_sub(m, "up2", -1), up(x, b), time, 2 * WIDTH);
    x = block(xt_sub(m, "up1", -1), up(x, a), time, WIDTH);
    out[0] = xt_conv2d(m, "out", x, 1, 1);
}

static float beta[TIMES], kept[TIMES]; /* noise added at t; how much of the picture is left then, squared */

static void schedule(void) {
    double product = 1;
    for (int t = 0; t < TIMES; t++) {
        beta[t] = (float)(1e-3 + t * (0.1 - 1e-3) / (TIMES - 1));
        kept[t] = (float)(product *= 1 - beta[t]);
    }
}

static xt_tensor loss_of(xt_module *m, xt_tensor x) {
    xt_tensor t = xt_floor(xt_mul(xt_rand(XT_F32, BATCH), TIMES)), noise = xt_randn_like(x), seen;
    xt_tensor left = xt_reshape(xt_take(xt_from_array(kept, XT_F32, TIMES), xt_cast(t, XT_I64)), -1, 1, 1, 1);
    xt_tensor noisy = xt_add(xt_mul(xt_sqrt(left), x), xt_mul(xt_sqrt(xt_minus(1, left)), noise));
    xt_forward_many(m, 2, XT_TENSORS(noisy, t), 1, &seen);
    return xt_mse_loss(seen, noise);
}

/* in: pictures at time t, t, the rates of this step -> pictures at t - 1 */
static xt_tensor denoise(const xt_tensor *in, int n, void *m) {
    xt_tensor seen, x = in[0], a = in[2], b = in[3], noise = in[4];
    (void)n;
    xt_forward_many(m, 2, XT_TENSORS(x, xt_broadcast_to(in[1], SHOWN)), 1, &seen);
    return xt_add(xt_mul(a, xt_minus(x, xt_mul(b, seen))), xt_mul(noise, xt_randn_like(x)));
}

static void picture(xt_module *m) {
    static float grey[SHOWN][28 * 28];
    xt_step *step = xt_compile(denoise, .user = m);
    xt_tensor x = xt_randn(XT_F32, SHOWN, 1, 28, 28);
    for (int t = TIMES - 1; t >= 0; t--) {
        double b = beta[t] / sqrt(1.0 - kept[t]);
        x = xt_call(step, x, xt_scalar(t, XT_F32), xt_scalar(1 / sqrt(1.0 - beta[t]), XT_F32), xt_scalar(b, XT_F32),
                    xt_scalar(t > 0 ? sqrt(beta[t]) : 0, XT_F32));
    }
    xt_read(xt_clamp(xt_mul(xt_add(x, 1), 0.5), 0, 1), grey, sizeof grey);
    gallery_try(xt_plot_images("diffusion.png", "out of noise, in 100 steps", SHOWN, 28, 28, grey[0], NULL));
    xt_step_free(step);
}

int main(int argc, char **argv) {
    gallery_begin(argc, argv, 1000, NULL);
    schedule();
    xt_module *m = xt_module_new_many(unet, 2, 1, NULL);
    gallery_try(xt_module_build_many(m, 2, (xt_spec[]){{XT_F32, {BATCH, 1, 28, 28}}, {XT_F32, {BATCH}}}));
    gallery_save(m);
    xt_optimizer *adam = xt_adam(m, .lr = 2e-3);
    xt_loader *loader = xt_loader_new(xt_drawn_digits(2048, 1), .batch = BATCH, .shuffle = XT_ON);
    xt_batch b;
    for (int step = 0; step < gallery.steps; step++) {
        if (!xt_next(loader, &b) && !xt_next(loader, &b)) break; /* the next epoch */
        xt_tensor grey = xt_clamp(xt_add(xt_mul(b.x, 0.3081), 0.1307), 0, 1);
        xt_tensor loss = loss_of(m, xt_add(xt_mul(grey, 2), -1));
        xt_backward(loss);
        xt_optimizer_step(adam);
        gallery_loss("loss", step, loss);
    }
    xt_no_grad_begin();
    if (!xt_error()) picture(m);
    xt_no_grad_end();
    return xt_finish();
}
