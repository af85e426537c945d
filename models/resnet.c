/* ResNet-18 and ResNet-50 (He et al. 2015, "Deep Residual Learning for Image Recognition"), with torchvision's names:
 * conv1, bn1, layer1.0.conv1, ..., fc. */
#include "models/models.h"

static xt_tensor block(xt_module *m, xt_tensor x, int channels, int stride) {
    xt_tensor h = xt_conv2d(m, "conv1", x, channels, 3, .stride = stride, .padding = 1, .bias = XT_OFF);
    h = xt_relu(xt_batch_norm(m, "bn1", h));
    h = xt_batch_norm(m, "bn2", xt_conv2d(m, "conv2", h, channels, 3, .padding = 1, .bias = XT_OFF));
    if (stride != 1 || xt_dim(x, 1) != channels) {
        x = xt_conv2d(m, "downsample.0", x, channels, 1, .stride = stride, .bias = XT_OFF);
        x = xt_batch_norm(m, "downsample.1", x);
    }
    return xt_relu(xt_add(h, x));
}

/* The block of deeper nets; its stride is in the 3x3 convolution, as torchvision has it. */
static xt_tensor bottleneck(xt_module *m, xt_tensor x, int channels, int stride) {
    xt_tensor h = xt_relu(xt_batch_norm(m, "bn1", xt_conv2d(m, "conv1", x, channels, 1, .bias = XT_OFF)));
    h = xt_conv2d(m, "conv2", h, channels, 3, .stride = stride, .padding = 1, .bias = XT_OFF);
    h = xt_relu(xt_batch_norm(m, "bn2", h));
    h = xt_batch_norm(m, "bn3", xt_conv2d(m, "conv3", h, 4 * channels, 1, .bias = XT_OFF));
    if (stride != 1 || xt_dim(x, 1) != 4 * channels) {
        x = xt_conv2d(m, "downsample.0", x, 4 * channels, 1, .stride = stride, .bias = XT_OFF);
        x = xt_batch_norm(m, "downsample.1", x);
    }
    return xt_relu(xt_add(h, x));
}

/* x: [N,3,S,S] -> logits [N,classes]; counts: blocks of each stage */
static xt_tensor resnet(xt_module *m, xt_tensor x, const model_options *o, const int counts[4],
                        xt_tensor (*stage_block)(xt_module *, xt_tensor, int, int)) {
    static const char *const layers[] = {"layer1", "layer2", "layer3", "layer4"};
    static const char *const numbers[] = {"0", "1", "2", "3", "4", "5"};
    int stem = o->small_stem ? 3 : 7;
    x = xt_conv2d(m, "conv1", x, 64, stem, .stride = o->small_stem ? 1 : 2, .padding = stem / 2, .bias = XT_OFF);
    x = xt_relu(xt_batch_norm(m, "bn1", x));
    if (!o->small_stem) x = xt_max_pool2d(x, 3, .stride = 2, .padding = 1);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < counts[i]; k++)
            x = stage_block(xt_sub(xt_sub(m, layers[i], -1), numbers[k], -1), x, 64 << i, i > 0 && k == 0 ? 2 : 1);
    x = xt_mean_axis(xt_flatten(x, 2), 2);
    return xt_linear(m, "fc", x, o->classes);
}

static xt_tensor resnet18(xt_module *m, xt_tensor x, void *user) {
    return resnet(m, x, user, (const int[]){2, 2, 2, 2}, block);
}
static xt_tensor resnet50(xt_module *m, xt_tensor x, void *user) {
    return resnet(m, x, user, (const int[]){3, 4, 6, 3}, bottleneck);
}

static xt_tensor loss(xt_tensor out, xt_tensor y) {
    return xt_cross_entropy(out, y);
}
static xt_optimizer *optimizer(xt_module *net, double lr) {
    return xt_sgd(net, .lr = lr >= 0 ? lr : 0.1, .momentum = 0.9, .weight_decay = 1e-4);
}

#define RESNET(LAYERS, PARAMETERS)                                                                                 \
    const model model_resnet##LAYERS = {.name = "resnet" #LAYERS,                                                  \
                                        .help = "images, 3x224x224: " #LAYERS                                      \
                                                " layers with residual connections (" PARAMETERS " M parameters)", \
                                        .net = resnet##LAYERS,                                                     \
                                        .x = model_picture,                                                        \
                                        .y = model_label,                                                          \
                                        .loss = loss,                                                              \
                                        .optimizer = optimizer,                                                    \
                                        .batch = 16,                                                               \
                                        .epochs = 1,                                                               \
                                        .cosine = true,                                                            \
                                        .own = {.side = 224, .classes = 1000},                                     \
                                        .config = &model_resnet##LAYERS.own,                                       \
                                        .classifies = true};
RESNET(18, "11.7")
RESNET(50, "25.6")
