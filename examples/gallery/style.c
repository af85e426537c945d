/* Fast style transfer (Johnson et al. 2016): a network learns to redraw pictures so that the features of another, whose
 * weights stay, are those of the picture for what is there, and those of stripes for how it looks. Ends in style.png:
 * digits, and what was made of them. */
#include "gallery.h"
#include <math.h>

enum { BATCH = 8, SIDE = 28, SHOWN = 8, LEVELS = 3 };

static xt_tensor conv(xt_module *m, const char *name, xt_tensor x, int out, int kernel, int stride) {
    int p = kernel / 2;
    x = xt_pad(x, XT_LIST(p, p, p, p), .mode = XT_PAD_REFLECT);
    return xt_conv2d(xt_sub(m, name, -1), "conv2d", x, out, kernel, .stride = stride);
}
static xt_tensor norm(xt_module *m, const char *name, xt_tensor x) {
    return xt_instance_norm(m, name, x, .affine = XT_ON);
}

static xt_tensor residual(xt_module *parent, const char *name, xt_tensor x) {
    xt_module *m = xt_sub(parent, name, -1);
    xt_tensor y = xt_relu(norm(m, "in1", conv(m, "conv1", x, 16, 3, 1)));
    return xt_add(x, norm(m, "in2", conv(m, "conv2", y, 16, 3, 1)));
}

static xt_tensor transformer(xt_module *m, xt_tensor x, void *user) { /* [B,1,28,28] of 0 to 1 -> the same */
    (void)user;
    x = xt_relu(norm(m, "in1", conv(m, "conv1", x, 8, 9, 1)));
    x = xt_relu(norm(m, "in2", conv(m, "conv2", x, 16, 3, 2)));
    x = residual(m, "res2", residual(m, "res1", x));
    x = xt_interpolate(x, .mode = XT_NEAREST, .scale = 2);
    x = xt_relu(norm(m, "in3", conv(m, "deconv1", x, 8, 3, 1)));
    return xt_sigmoid(conv(m, "deconv2", x, 1, 9, 1));
}

/* A small VGG; the outputs of its levels. */
static void vgg(xt_module *m, const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    out[0] = xt_relu(xt_conv2d(m, "slice1", in[0], 8, 3, .padding = 1));
    out[1] = xt_relu(xt_conv2d(m, "slice2", xt_max_pool2d(out[0], 2), 16, 3, .padding = 1));
    out[2] = xt_relu(xt_conv2d(m, "slice3", xt_max_pool2d(out[1], 2), 32, 3, .padding = 1));
}

static xt_tensor gram(xt_tensor y) { /* [B,C,H,W] -> [B,C,C] */
    int64_t b = xt_size(y, 0), channels = xt_size(y, 1), each = xt_size(y, 2) * xt_size(y, 3);
    xt_tensor f = xt_view(y, b, channels, each);
    return xt_div(xt_bmm(f, xt_transpose(f, 1, 2)), (double)(channels * each));
}

static xt_tensor loss_of(xt_module *m, xt_module *features, xt_tensor x, xt_tensor stripes) {
    xt_tensor of_x[LEVELS], of_y[LEVELS], of_style[LEVELS];
    xt_forward_many(features, 1, XT_TENSORS(stripes), LEVELS, of_style);
    xt_forward_many(features, 1, XT_TENSORS(x), LEVELS, of_x);
    xt_forward_many(features, 1, XT_TENSORS(xt_forward(m, x)), LEVELS, of_y);
    xt_tensor loss = xt_mse_loss(of_y[1], of_x[1]);
    for (int i = 0; i < LEVELS; i++) loss = xt_add(loss, xt_mul(xt_mse_loss(gram(of_y[i]), gram(of_style[i])), 1e3));
    return loss;
}

static xt_tensor grey_of(xt_tensor digits) {
    return xt_clamp(xt_add(xt_mul(digits, 0.3081), 0.1307), 0, 1);
}

static void picture(xt_module *m, xt_tensor x) {
    static float grey[2 * SHOWN][SIDE * SIDE];
    xt_no_grad_begin();
    xt_read(xt_cat(2, XT_TENSORS(x, xt_forward(m, x)), 0), grey, sizeof grey);
    xt_no_grad_end();
    gallery_try(xt_plot_images("style.png", "digits, and in stripes", 2 * SHOWN, SIDE, SIDE, grey[0], NULL));
}

int main(int argc, char **argv) {
    static float stripes[BATCH][1][SIDE][SIDE];
    gallery_begin(argc, argv, 500, NULL);
    for (int i = 0; i < BATCH * SIDE * SIDE; i++) {
        int y = i / SIDE % SIDE, x = i % SIDE;
        (&stripes[0][0][0][0])[i] = (x + y) / 3 % 2 ? 0.9f : 0.1f;
    }
    xt_module *m = xt_module_new(transformer, NULL), *features = xt_module_new_many(vgg, 1, LEVELS, NULL);
    gallery_try(xt_module_build(m, (xt_spec){XT_F32, {BATCH, 1, SIDE, SIDE}}));
    gallery_try(xt_module_build_many(features, 1, &(xt_spec){XT_F32, {BATCH, 1, SIDE, SIDE}}));
    gallery_save(m);
    gallery_save(features);
    xt_freeze(features, "*");
    xt_optimizer *adam = xt_adam(m, .lr = 1e-3);
    xt_loader *loader = xt_loader_new(xt_drawn_digits(1024, 1), .batch = BATCH, .shuffle = XT_ON);
    xt_batch b;
    for (int step = 0; step < gallery.steps; step++) {
        if (!xt_next(loader, &b) && !xt_next(loader, &b)) break; /* the next epoch */
        xt_tensor style = xt_from_array(stripes, XT_F32, BATCH, 1, SIDE, SIDE);
        xt_tensor loss = loss_of(m, features, grey_of(b.x), style);
        xt_backward(loss);
        xt_optimizer_step(adam);
        gallery_loss("loss", step, loss);
    }
    if (!xt_error() && xt_next(loader, &b)) picture(m, grey_of(b.x));
    return xt_finish();
}
