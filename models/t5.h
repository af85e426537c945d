/* T5 and its kind (T5 v1.1, mT5, FLAN): a text is read by an encoder, and a decoder says another one. From the
 * config.json of a folder of Hugging Face's, with its names of tensors: shared,
 * encoder.block.0.layer.0.SelfAttention.q,
 * ..., decoder.final_layer_norm, lm_head.
 *
 *     t5_config c;
 *     XT_TRY(t5_read_config("folder/config.json", &c));
 *     xt_module *net = xt_module_new(t5, &c); */
#ifndef XTRAIN_MODELS_T5_H
#define XTRAIN_MODELS_T5_H

#include "models/kv_cache.h"

typedef enum t5_act { T5_RELU, T5_GELU, T5_GELU_NEW, T5_SILU } t5_act;
typedef struct t5_config {
    int64_t vocab, width, hidden, layers, decoder_layers, heads, head_dim;
    int64_t buckets, distance; /* of relative positions; those further apart than that share one */
    double eps, dropout; /* of the norms; in training */
    t5_act act;
    bool gated;
    bool tied, scaled; /* the output layer is the embedding; what it gets is made smaller */
    int64_t start, stop; /* the token a decoder begins with, and the one that ends a text (-1 = none is said) */
    int64_t source; /* tokens of a sample that are the encoder's; 0 = half of them */
    xt_dtype dtype; /* of the weights in its files, as far as they say */
    bool wide; /* sums are f32, whatever the weights are; passes with a cache always are */
    bool checkpoint; /* activations of blocks are computed again in the backward pass */
    const model_options *generating; /* whose cache, while there is one, a pass reads and writes; NULL = never */
} t5_config;

/* An entry that is missing where it must be there, or asks for what is not known, is an error with file and entry. */
xt_status t5_read_config(const char *path, t5_config *out);
/* Whether the embedding is tied is for the weights to say, a folder, an index or a file: newer config.json name each
 * model tied, and the library unties an output layer that is there and differs. */
xt_status t5_find_tied(t5_config *c, const char *path);
/* x [B,S+T] -> logits [B,T,vocab]: .source = S tokens that are read (-1: it is none, and nobody sees it), and T that
 * the decoder gets, the first of them .start. user: a t5_config. With a cache that reads, x [1,S] is one text for the
 * encoder, and what comes back is not looked at; with another, x [B,T] is the decoder's. */
xt_tensor t5(xt_module *m, xt_tensor x, void *user);
/* What generate.h takes for such a network, which c is made the user of. Both live as long as the generator. */
void t5_generates(t5_config *c, int64_t context, model_options *out);
/* As xt_module_build, with as few tokens as can be. */
xt_status t5_build(const t5_config *c, xt_module *net);
/* From a folder, an index or a file; builds the module. */
xt_status t5_load(const t5_config *c, xt_module *net, const char *path);

#endif
