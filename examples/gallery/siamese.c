/* A siamese network (Hadsell, Chopra and LeCun 2006): two pictures go through the same network, and pictures of one
 * digit come to lie together. Ends in siamese.png: digits with the distance to the first one below each. */
#include "gallery.h"

enum { PAIRS = 32, CODE = 8, SHOWN = 12 };

/* pictures [B,1,28,28] -> codes [B,CODE] */
static xt_tensor embed(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_max_pool2d(xt_relu(xt_conv2d(m, "conv1", x, 8, 5)), 2);
    x = xt_max_pool2d(xt_relu(xt_conv2d(m, "conv2", x, 16, 5)), 2);
    return xt_linear(m, "fc2", xt_relu(xt_linear(m, "fc1", xt_flatten(x, 1), 64)), CODE);
}

/* same [B]: 1 where both show the same digit. Those are pulled together, the others pushed 1 apart. */
static xt_tensor contrastive(xt_module *m, xt_tensor left, xt_tensor right, xt_tensor same) {
    xt_tensor d = xt_pairwise_distance(xt_forward(m, left), xt_forward(m, right));
    xt_tensor apart = xt_square(xt_relu(xt_minus(1, d)));
    return xt_mean(xt_add(xt_mul(same, xt_square(d)), xt_mul(xt_minus(1, same), apart)));
}

/* A batch of 2 PAIRS digits is PAIRS pairs; where the labels say so, the right one is of the same digit. */
static xt_tensor loss_of(xt_module *m, xt_batch b) {
    xt_tensor x[2], y[2];
    xt_chunk(b.x, 2, 0, x);
    xt_chunk(b.y, 2, 0, y);
    return contrastive(m, x[0], x[1], xt_cast(xt_eq(y[0], y[1]), XT_F32));
}

/* Digits 0 .. 4 only, so that every fifth pair is of the same. */
static xt_dataset *few_kinds(void) {
    xt_dataset *all = xt_drawn_digits(4096, 1);
    int64_t some[4096], n = 0, y;
    float x[28 * 28];
    for (int64_t i = 0; i < 4096; i++) {
        gallery_try(xt_dataset_get(all, i, x, &y));
        if (y < 5) some[n++] = i;
    }
    return xt_subset(all, some, n);
}

static void picture(xt_module *m, xt_batch b) {
    static float grey[SHOWN][28 * 28];
    float d[SHOWN];
    char text[SHOWN][16];
    const char *labels[SHOWN];
    xt_tensor x = xt_slice(b.x, 0, 0, SHOWN), code = xt_forward(m, x);
    xt_read(xt_pairwise_distance(code, xt_slice(code, 0, 0, 1)), d, sizeof d);
    xt_read(xt_clamp(xt_add(xt_mul(x, 0.3081), 0.1307), 0, 1), grey, sizeof grey);
    for (int i = 0; i < SHOWN; i++) {
        snprintf(text[i], sizeof text[i], "%.2f", d[i]);
        labels[i] = text[i];
    }
    gallery_try(xt_plot_images("siamese.png", "distance to the first", SHOWN, 28, 28, grey[0], labels));
}

int main(int argc, char **argv) {
    gallery_begin(argc, argv, 500, NULL);
    xt_module *m = xt_module_new(embed, NULL);
    gallery_try(xt_module_build(m, (xt_spec){XT_F32, {PAIRS, 1, 28, 28}}));
    gallery_save(m);
    xt_optimizer *adam = xt_adam(m, .lr = 1e-3);
    xt_loader *loader = xt_loader_new(few_kinds(), .batch = 2 * PAIRS, .shuffle = XT_ON);
    xt_batch b = {0};
    for (int step = 0; step < gallery.steps; step++) {
        if (!xt_next(loader, &b) && !xt_next(loader, &b)) break; /* the next epoch */
        xt_tensor loss = loss_of(m, b);
        xt_backward(loss);
        xt_optimizer_step(adam);
        gallery_loss("loss", step, loss);
    }
    xt_no_grad_begin();
    if (!xt_error() && gallery.steps > 0) picture(m, b);
    xt_no_grad_end();
    return xt_finish();
}
