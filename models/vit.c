/* The vision transformer (Dosovitskiy et al. 2020, arXiv 2010.11929); see encoder.h. */
#include "models/encoder.h"

static xt_tensor block(xt_module *m, xt_tensor x, void *user) {
    const encoder_config *c = user;
    xt_module *attention = xt_sub(m, "attention", -1);
    xt_tensor y = xt_layer_norm(m, "layernorm_before", x, .eps = c->eps);
    y = encoder_attention(xt_sub(attention, "attention", -1), y, (xt_tensor){0}, c);
    x = xt_add(x, encoder_drop(m, xt_linear(attention, "output.dense", y, c->width), c->dropout));
    y = xt_layer_norm(m, "layernorm_after", x, .eps = c->eps);
    y = encoder_activation(xt_linear(m, "intermediate.dense", y, c->hidden), c);
    return xt_add(x, encoder_drop(m, xt_linear(m, "output.dense", y, c->width), c->dropout));
}

/* [B,channels,side,side] -> [B, 1 + patches, width]: a place of its own in front, which the classifier looks at */
static xt_tensor embeddings(xt_module *m, xt_tensor x, const encoder_config *c) {
    int64_t b = xt_dim(x, 0), n = (c->side / c->patch) * (c->side / c->patch);
    x = xt_conv2d(m, "patch_embeddings.projection", x, c->width, (int)c->patch, .stride = (int)c->patch);
    x = xt_transpose(xt_flatten(x, 2), 1, 2);
    xt_tensor first = xt_param(m, "cls_token", "normal", 0.02, XT_F32, 1, 1, c->width);
    xt_tensor at = xt_param(m, "position_embeddings", "normal", 0.02, XT_F32, 1, n + 1, c->width);
    xt_tensor parts[2] = {xt_broadcast_to(first, b, 1, c->width), x};
    return encoder_drop(m, xt_add(xt_concat(2, parts, 1), at), c->dropout);
}

xt_tensor vit(xt_module *m, xt_tensor x, void *user) {
    const encoder_config *c = user;
    if (xt_module_tensors(m) == 0) { /* as transformers' begin, where a folder has another number of classes */
        xt_init_normal(m, "classifier.weight", .std = 0.02);
        xt_init_zeros(m, "classifier.bias");
    }
    xt_module *trunk = xt_sub(m, "vit", -1), *layers = xt_sub(trunk, "encoder", -1);
    x = embeddings(xt_sub(trunk, "embeddings", -1), x, c);
    for (int64_t i = 0; i < c->layers; i++) {
        xt_module *layer = xt_sub(layers, "layer", (int)i);
        x = c->checkpoint ? xt_checkpoint_block(block, layer, x, user) : block(layer, x, user);
    }
    x = xt_layer_norm(trunk, "layernorm", x, .eps = c->eps);
    return xt_linear(m, "classifier", xt_select(x, 1, 0), c->classes);
}
