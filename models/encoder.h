/* Encoders of Hugging Face's folders: BERT (masked language models, classifiers of texts) and ViT (classifiers of
 * images), with their names of tensors, from their config.json.
 *
 *     encoder_config c;
 *     XT_TRY(encoder_read_config("folder/config.json", &c));
 *     xt_module *net = xt_module_new(c.vit ? vit : bert, &c); */
#ifndef XTRAIN_MODELS_ENCODER_H
#define XTRAIN_MODELS_ENCODER_H

#include <xtrain/xtrain.h>

typedef enum encoder_act { ENCODER_GELU, ENCODER_GELU_NEW, ENCODER_RELU } encoder_act;
typedef struct encoder_config {
    bool vit; /* else BERT */
    bool classifies; /* else BERT predicts masked tokens */
    int64_t width, hidden, layers, heads, classes;
    int64_t vocab, context, types, pad; /* BERT: tokens, most positions, kinds of segments, the padding token */
    int64_t side, patch, channels; /* ViT: pixels */
    double eps, dropout, attention_dropout, classifier_dropout; /* dropouts in training */
    encoder_act act;
    bool qkv_bias;
    xt_dtype dtype; /* of the weights in its files, as far as they say */
    bool checkpoint; /* activations of blocks are computed again in the backward pass */
} encoder_config;

/* An entry that is missing where it must be there, or asks for what is not known, is an error with the file and the
 * entry. */
xt_status encoder_read_config(const char *path, encoder_config *out);
/* Tokens [B,T], or [B,2,T] of tokens and the segment that each is of (0, 1; -1: it is no token, and nobody sees it) ->
 * logits [B,T,vocab], or [B,classes] of a classifier. user: an encoder_config. */
xt_tensor bert(xt_module *m, xt_tensor x, void *user);
/* [B,channels,side,side] -> [B,classes] */
xt_tensor vit(xt_module *m, xt_tensor x, void *user);

/* What both are made of. Attention of x [B,T,width]: query, key and value are layers of m; mask: xt_sdpa_opts'. */
xt_tensor encoder_attention(xt_module *m, xt_tensor x, xt_tensor mask, const encoder_config *c);
xt_tensor encoder_activation(xt_tensor x, const encoder_config *c);
xt_tensor encoder_drop(xt_module *m, xt_tensor x, double p);

#endif
