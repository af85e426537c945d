/* The built-in models: each one file, written with the public API only, so each is also an example of how to write one's own. */
#ifndef XTRAIN_MODELS_H
#define XTRAIN_MODELS_H

#include <xtrain/xtrain.h>

typedef struct model {
    const char *name, *help;
    xt_module_fn net;
    /* The sample a benchmark feeds it: side and seq as given on the command line, 0 = the model's own. */
    xt_spec (*x)(int64_t side, int64_t seq);
    xt_spec (*y)(int64_t side, int64_t seq);
    xt_tensor (*loss)(xt_tensor out, xt_tensor y);
    xt_optimizer *(*optimizer)(xt_module *net, double lr); /* lr 0 = the model's own */
    int64_t batch, epochs;
    const void *config;   /* what net gets as `user` */
    const void *checkpointed; /* instead of config: activations are computed again in the backward pass; NULL = the model cannot */
    bool classifies;      /* out is [N,classes] and y [N]: accuracy makes sense */
    bool tokens;          /* y counts tokens, one a position */
} model;

extern const model model_mnist, model_resnet18, model_gpt2, model_gpt2_tiny;
const model *model_find(const char *name); /* NULL when there is none */
const model *const *model_list(int *n);

#endif
