/* BERT (Devlin et al. 2018, arXiv 1810.04805); see encoder.h. */
#include "models/encoder.h"

typedef struct block_of {
    const encoder_config *c;
    xt_tensor mask;
} block_of;

xt_tensor encoder_activation(xt_tensor x, const encoder_config *c) {
    return c->act == ENCODER_GELU ? xt_gelu_erf(x) : c->act == ENCODER_RELU ? xt_relu(x) : xt_gelu(x);
}

xt_tensor encoder_drop(xt_module *m, xt_tensor x, double p) {
    return p > 0 ? xt_dropout(m, x, p) : x;
}

/* [B,T,width] -> [B,heads,T,D] */
static xt_tensor heads(xt_tensor x, const encoder_config *c) {
    return xt_transpose(xt_reshape(x, xt_dim(x, 0), xt_dim(x, 1), c->heads, c->width / c->heads), 1, 2);
}

xt_tensor encoder_attention(xt_module *m, xt_tensor x, xt_tensor mask, const encoder_config *c) {
    xt_switch bias = c->qkv_bias ? XT_ON : XT_OFF;
    xt_tensor q = heads(xt_linear(m, "query", x, c->width, .bias = bias), c),
              k = heads(xt_linear(m, "key", x, c->width, .bias = bias), c),
              v = heads(xt_linear(m, "value", x, c->width, .bias = bias), c);
    double dropout = xt_is_training(m) ? c->attention_dropout : 0;
    xt_tensor y = xt_scaled_dot_product_attention(q, k, v, .mask = mask, .dropout = dropout);
    return xt_reshape(xt_transpose(y, 1, 2), xt_dim(x, 0), xt_dim(x, 1), c->width);
}

/* Of an attention or an MLP: the dense layer behind it, added to what went in, normed. */
static xt_tensor output(xt_module *m, xt_tensor y, xt_tensor x, const encoder_config *c) {
    y = encoder_drop(m, xt_linear(m, "dense", y, c->width), c->dropout);
    return xt_layer_norm(m, "LayerNorm", xt_add(y, x), .eps = c->eps);
}

static xt_tensor block(xt_module *m, xt_tensor x, void *user) {
    const block_of *b = user;
    xt_module *attention = xt_sub(m, "attention", -1);
    xt_tensor y = encoder_attention(xt_sub(attention, "self", -1), x, b->mask, b->c);
    x = output(xt_sub(attention, "output", -1), y, x, b->c);
    y = encoder_activation(xt_linear(m, "intermediate.dense", x, b->c->hidden), b->c);
    return output(xt_sub(m, "output", -1), y, x, b->c);
}

static xt_tensor embeddings(xt_module *m, xt_tensor tokens, xt_tensor segments, const encoder_config *c) {
    xt_tensor x = xt_embedding(m, "word_embeddings", tokens, c->vocab, c->width, .padding_idx = c->pad);
    xt_tensor at = xt_arange(xt_dim(tokens, 1), XT_I64);
    x = xt_add(x, xt_embedding(m, "token_type_embeddings", segments, c->types, c->width));
    x = xt_add(x, xt_embedding(m, "position_embeddings", at, c->context, c->width));
    return encoder_drop(m, xt_layer_norm(m, "LayerNorm", x, .eps = c->eps), c->dropout);
}

/* The output layer is the embedding, with a bias of its own. */
static xt_tensor predictions(xt_module *m, xt_tensor x, const encoder_config *c) {
    xt_module *head = xt_sub(xt_sub(m, "cls", -1), "predictions", -1), *transform = xt_sub(head, "transform", -1);
    x = encoder_activation(xt_linear(transform, "dense", x, c->width), c);
    x = xt_layer_norm(transform, "LayerNorm", x, .eps = c->eps);
    xt_tensor words = xt_module_find(m, "bert.embeddings.word_embeddings.weight");
    return xt_add(xt_matmul(x, xt_transpose(words, 0, 1)), xt_param(head, "bias", "zeros", 0, XT_F32, c->vocab));
}

/* A classifier begins as transformers' does, where a folder has none: that of a masked language model. */
static void begin_classifier(xt_module *m) {
    xt_init_normal(m, "classifier.weight", .std = 0.02);
    xt_init_zeros(m, "classifier.bias");
    xt_init_normal(m, "bert.pooler.dense.weight", .std = 0.02);
    xt_init_zeros(m, "bert.pooler.dense.bias");
}

xt_tensor bert(xt_module *m, xt_tensor x, void *user) {
    const encoder_config *c = user;
    if (c->classifies && xt_module_tensors(m) == 0) begin_classifier(m);
    xt_module *trunk = xt_sub(m, "bert", -1), *layers = xt_sub(trunk, "encoder", -1);
    xt_tensor tokens = x, segments = xt_zeros_like(x);
    block_of b = {.c = c};
    if (xt_rank_of(x) == 3) {
        tokens = xt_select(x, 1, 0);
        segments = xt_select(x, 1, 1);
        b.mask = xt_unsqueeze(xt_unsqueeze(xt_ge(segments, xt_zeros_like(segments)), 1), 1);
        segments = xt_maximum(segments, xt_zeros_like(segments));
    }
    xt_tensor h = embeddings(xt_sub(trunk, "embeddings", -1), tokens, segments, c);
    for (int64_t i = 0; i < c->layers; i++) {
        xt_module *layer = xt_sub(layers, "layer", (int)i);
        h = c->checkpoint ? xt_checkpoint_block(block, layer, h, &b) : block(layer, h, &b);
    }
    if (!c->classifies) return predictions(m, h, c);
    xt_tensor first = xt_tanh(xt_linear(trunk, "pooler.dense", xt_select(h, 1, 0), c->width));
    return xt_linear(m, "classifier", encoder_drop(m, first, c->classifier_dropout), c->classes);
}
