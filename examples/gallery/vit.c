/* A vision transformer (Dosovitskiy et al. 2020) on pictures in CIFAR's format: patches become tokens, and one token
 * more is asked for the class. Without --data DIR it draws shapes (discs, squares, crosses, rings, bars) in noise and
 * writes them as CIFAR-10's files. Ends in vit.png: pictures with what they were taken for. */
#include "gallery.h"
#include <math.h>
#include <sys/stat.h>

enum { BATCH = 32, SIDE = 32, PATCH = 4, WIDTH = 48, HEADS = 4, LAYERS = 3, CLASSES = 10, DRAWN = 1024, SHOWN = 12 };

/* pictures [B,3,32,32] -> logits [B,10] */
static xt_tensor vit(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    int64_t batch = xt_dim(x, 0), tokens = 1 + SIDE / PATCH * SIDE / PATCH;
    x = xt_conv2d(m, "patch", x, WIDTH, PATCH, .stride = PATCH);
    x = xt_transpose(xt_flatten(x, 2), 1, 2);
    xt_tensor class = xt_broadcast_to(xt_param(m, "class_token", "normal", 0.02, XT_F32, 1, 1, WIDTH), batch, 1, WIDTH);
    x = xt_add(xt_concat(2, XT_TENSORS(class, x), 1),
               xt_param(m, "position", "normal", 0.02, XT_F32, 1, tokens, WIDTH));
    for (int i = 0; i < LAYERS; i++)
        x = xt_transformer_encoder_layer(xt_sub(m, "layers", i), "", x, .heads = HEADS, .feedforward = 2 * WIDTH,
                                         .dropout = 0, .gelu = XT_ON, .norm_first = XT_ON, .batch_first = XT_ON);
    return xt_linear(m, "head", xt_select(xt_layer_norm(m, "norm", x), 1, 0), CLASSES);
}

/* How far a pixel (x, y from the centre, in units of the shape's size) is inside of the shape, or not. */
static bool inside(int shape, double x, double y) {
    double r = hypot(x, y);
    switch (shape) {
    case 0: return r < 1;
    case 1: return fmax(fabs(x), fabs(y)) < 0.9;
    case 2: return fmin(fabs(x), fabs(y)) < 0.3 && r < 1.2;
    case 3: return r < 1.1 && r > 0.6;
    default: return fabs(y) < 0.35 && fabs(x) < 1.3;
    }
}

/* A label and 3 x 32 x 32 bytes each; class k is shape k / 2, bright or dark. */
static void draw_files(const char *dir) {
    static unsigned char row[1 + 3 * SIDE * SIDE];
    const char *names[] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                           "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
    char path[512];
    srand48(1);
    mkdir(dir, 0777);
    for (int f = 0; f < 6; f++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[f]);
        FILE *out = fopen(path, "wb");
        for (int i = 0; out && i < (f == 0 || f == 5 ? DRAWN : 1); i++) {
            double size = 5 + 5 * drand48(), cx = 10 + 12 * drand48(), cy = 10 + 12 * drand48();
            row[0] = (unsigned char)(i % CLASSES);
            for (int k = 0; k < 3 * SIDE * SIDE; k++) {
                int p = k % (SIDE * SIDE), in = inside(row[0] / 2, (p % SIDE - cx) / size, (p / SIDE - cy) / size);
                row[1 + k] = (unsigned char)(100 + (row[0] % 2 ? -60 : 60) * in + 90 * (drand48() - 0.5));
            }
            fwrite(row, sizeof row, 1, out);
        }
        if (out) fclose(out);
    }
}

static void test(xt_module *m, xt_loader *loader) {
    static float rgb[SHOWN][3][SIDE][SIDE], grey[SHOWN][SIDE][SIDE];
    int64_t guess[BATCH];
    char text[SHOWN][16];
    const char *labels[SHOWN];
    xt_batch b;
    xt_tensor right = xt_state("right", XT_F32);
    for (int n = 0; xt_next(loader, &b); n++) {
        xt_tensor taken = xt_argmax(xt_forward(m, b.x), 1);
        xt_assign(right, xt_add(right, xt_mean(xt_cast(xt_eq(taken, b.y), XT_F32))));
        if (n > 0) continue;
        xt_read(taken, guess, sizeof guess);
        xt_read(xt_slice(b.x, 0, 0, SHOWN), rgb, sizeof rgb);
    }
    printf("right in the test: %.3g\n", xt_item(right) / (double)xt_loader_batches(loader));
    for (int i = 0; i < SHOWN; i++) {
        memcpy(grey[i], rgb[i][0], sizeof grey[i]);
        snprintf(text[i], sizeof text[i], "class %d", (int)guess[i]);
        labels[i] = text[i];
    }
    gallery_try(xt_plot_images("vit.png", "taken for", SHOWN, SIDE, SIDE, grey[0][0], labels));
}

int main(int argc, char **argv) {
    gallery_begin(argc, argv, 600, NULL);
    if (!gallery.data) draw_files(gallery.data = "drawn-cifar");
    xt_module *m = xt_module_new(vit, NULL);
    gallery_try(xt_module_build(m, (xt_spec){XT_F32, {BATCH, 3, SIDE, SIDE}}));
    gallery_save(m);
    xt_optimizer *adamw = xt_adamw(m, .lr = 1e-3, .weight_decay = 0.05);
    xt_loader *loader = xt_loader_new(xt_cifar10(gallery.data, "train"), .batch = BATCH, .shuffle = XT_ON);
    xt_batch b;
    for (int step = 0; step < gallery.steps; step++) {
        if (!xt_next(loader, &b) && !xt_next(loader, &b)) break; /* the next epoch */
        xt_tensor loss = xt_cross_entropy(xt_forward(m, b.x), b.y);
        xt_backward(loss);
        xt_optimizer_step(adamw);
        gallery_loss("loss", step, loss);
    }
    xt_no_grad_begin();
    xt_eval(m);
    if (!xt_error()) test(m, xt_loader_new(xt_cifar10(gallery.data, "test"), .batch = BATCH));
    xt_no_grad_end();
    return xt_finish();
}
