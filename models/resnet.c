/* ResNet-18 (He et al. 2015, "Deep Residual Learning for Image Recognition"), with torchvision's names: conv1, bn1,
 * layer1.0.conv1, ..., fc. */
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

/* x: [N,3,S,S] -> logits [N,classes] */
static xt_tensor resnet18(xt_module *m, xt_tensor x, void *user) {
    static const char *const layers[] = {"layer1", "layer2", "layer3", "layer4"};
    const model_options *o = user;
    int stem = o->small_stem ? 3 : 7;
    x = xt_conv2d(m, "conv1", x, 64, stem, .stride = o->small_stem ? 1 : 2, .padding = stem / 2, .bias = XT_OFF);
    x = xt_relu(xt_batch_norm(m, "bn1", x));
    if (!o->small_stem) x = xt_max_pool2d(x, 3, .stride = 2, .padding = 1);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++)
            x = block(xt_sub(xt_sub(m, layers[i], -1), k ? "1" : "0", -1), x, 64 << i, i > 0 && k == 0 ? 2 : 1);
    x = xt_mean_axis(xt_flatten(x, 2), 2);
    return xt_linear(m, "fc", x, o->classes);
}

static xt_tensor loss(xt_tensor out, xt_tensor y) {
    return xt_cross_entropy(out, y);
}
static xt_optimizer *optimizer(xt_module *net, double lr) {
    return xt_sgd(net, .lr = lr >= 0 ? lr : 0.1, .momentum = 0.9, .weight_decay = 1e-4);
}

const model model_resnet18 = {.name = "resnet18",
                              .help = "images, 3x224x224: 18 layers with residual connections (11.7 M parameters)",
                              .net = resnet18,
                              .x = model_picture,
                              .y = model_label,
                              .loss = loss,
                              .optimizer = optimizer,
                              .batch = 16,
                              .epochs = 1,
                              .cosine = true,
                              .own = {.side = 224, .classes = 1000},
                              .config = &model_resnet18.own,
                              .classifies = true};
