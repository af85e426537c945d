/* A generator and a discriminator that train in turn: one module with two children, two optimizers, a training step
 * that optimizes by itself. */
#include <stdio.h>
#include <xtrain/xtrain.h>

static xt_optimizer *of_gen, *of_disc;

static xt_tensor generator(xt_module *net, xt_tensor z) {
    xt_module *m = xt_sub(net, "gen", -1);
    return xt_tanh(xt_linear(m, "fc2", xt_relu(xt_linear(m, "fc1", z, 32)), 64));
}
static xt_tensor discriminator(xt_module *net, xt_tensor x) {
    xt_module *m = xt_sub(net, "disc", -1);
    xt_share(m, "fc1"); /* called three times in a step */
    xt_share(m, "fc2");
    return xt_linear(m, "fc2", xt_leaky_relu(xt_linear(m, "fc1", x, 32), 0.2), 1);
}
static xt_tensor gan(xt_module *net, xt_tensor z, void *user) {
    (void)user;
    return generator(net, z);
}

static int configure(xt_module *net, xt_optimizer **out, int max, void *user) {
    (void)max, (void)user;
    out[0] = of_gen = xt_adam(net, .lr = 2e-3, .beta1 = 0.5);
    out[1] = of_disc = xt_adam(net, .lr = 2e-3, .beta1 = 0.5);
    xt_optimizer_group(of_gen, "disc.*", .frozen = XT_ON);
    xt_optimizer_group(of_disc, "gen.*", .frozen = XT_ON);
    return 2;
}
static xt_tensor training_step(xt_module *net, xt_batch b, void *user) {
    (void)user;
    xt_tensor fake = generator(net, xt_randn(XT_F32, b.size, 8)), score = discriminator(net, fake);
    xt_tensor gen_loss = xt_bce_with_logits(score, xt_ones_like(score));
    xt_backward(gen_loss);
    xt_optimizer_step(of_gen);
    xt_zero_grad(of_disc); /* what the generator's turn left there */
    xt_tensor real = discriminator(net, b.x), wrong = discriminator(net, xt_detach(fake));
    xt_tensor disc_loss =
        xt_add(xt_bce_with_logits(real, xt_ones_like(real)), xt_bce_with_logits(wrong, xt_zeros_like(wrong)));
    xt_backward(disc_loss);
    xt_optimizer_step(of_disc);
    xt_log("gen_loss", gen_loss);
    return disc_loss;
}

static void pictures(xt_module *net, int64_t step, const char *path, void *user) {
    char file[512];
    float grey[4 * 64];
    (void)step, (void)user;
    xt_read(generator(net, xt_randn(XT_F32, 4, 8)), grey, sizeof grey);
    snprintf(file, sizeof file, "%s.png", path);
    xt_status s = xt_plot_images(file, "generated", 4, 8, 8, grey, NULL);
    if (s) fprintf(stderr, "%s\n", xt_status_message(s));
    xt_status_free(s);
}

int main(int argc, char **argv) {
    static float x[256][64]; /* chessboards */
    for (int i = 0; i < 256; i++)
        for (int k = 0; k < 64; k++) x[i][k] = (k / 8 + k % 8 + i) % 2 ? 0.9f : -0.9f;
    xt_trainer *t = xt_trainer_new(.max_epochs = 4, .log_every_n_steps = 8, .run_name = "gan");
    xt_trainer_args(t, argc, argv);
    xt_trainer_add(t, xt_sample_writer(.sample = pictures, .every = "2epochs"));
    const xt_task task = {
        .net = gan, .training_step = training_step, .configure_several = configure, .manual_optimization = true};
    return xt_fit(t, &task,
                  xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {64}}, NULL, (xt_spec){0}, 256), .batch = 32,
                                .shuffle = XT_ON));
}
