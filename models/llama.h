/* Llama and its family (Llama 2 and 3, Mistral, Qwen 2 and 3) from the config.json of a folder of Hugging Face's, with
 * its names of tensors: model.embed_tokens, model.layers.0.self_attn.q_proj, ..., model.norm, lm_head.
 *
 *     llama_config c;
 *     XT_TRY(llama_read_config("folder/config.json", &c));
 *     xt_module *net = xt_module_new(llama, &c);
 *     XT_TRY(llama_load(net, "folder")); */
#ifndef XTRAIN_MODELS_LLAMA_H
#define XTRAIN_MODELS_LLAMA_H

#include "models/kv_cache.h"

typedef struct llama_config {
    int64_t vocab, width, hidden, layers, heads, kv_heads, head_dim, context;
    double eps, theta; /* of the norms; of the rotary positions */
    /* Slower positions for longer texts: 1 = as they are; with .original the rotations of more than .low turns within
     * so many positions less (Llama 3), and those of more than .high not at all. */
    double rope_factor, low, high, original;
    int64_t window; /* a token sees so many, itself included; 0 = all */
    int64_t window_from; /* the first layer with a window */
    bool tied; /* the output layer is the embedding */
    bool q_bias, o_bias, mlp_bias; /* q_bias: of q, k and v */
    bool qk_norm; /* Qwen 3: of each head's queries and keys */
    int64_t stop; /* the token that ends a text; -1 = none is said */
    xt_dtype dtype; /* of the weights in its files, as far as they say; XT_F32 otherwise */
    bool wide; /* sums are f32, whatever the weights are; passes with a cache always are */
    bool checkpoint; /* activations of blocks are computed again in the backward pass */
    const model_options *generating; /* whose cache, while there is one, a pass reads and writes; NULL = never */
} llama_config;

/* An entry that is missing where it must be there, or asks for what is not known (another activation, another scaling),
 * is an error with the file and the entry. */
xt_status llama_read_config(const char *path, llama_config *out);
/* tokens [B,T] -> logits [B,T,vocab]; user: a llama_config. Of several texts in one row, [B,2,T]: tokens, and the place
 * of each in its own text; a place of 0 begins another text, and no token sees one of another text. */
xt_tensor llama(xt_module *m, xt_tensor tokens, void *user);
/* What generate.h takes for such a network, which c is made the user of: a cache of `context` positions, at most those
 * that the model has. Both live as long as the generator. */
void llama_generates(llama_config *c, int64_t context, model_options *out);
/* From a folder, an index or a file; builds the module. Each tensor of the module must be there; other ones, a tied
 * lm_head and the like, are passed over. */
xt_status llama_load(xt_module *net, const char *path);

#endif
