/* The built-in models: each one file, written with the public API only, so each is also an example of how to
 * write one's own. */
#ifndef XTRAIN_MODELS_H
#define XTRAIN_MODELS_H

#include <xtrain/xtrain.h>

/* What a model can be asked for. Zero: the model's own value. A model's function gets a settled one as its `user`. */
typedef struct model_options {
    int64_t side, classes; /* images */
    int64_t seq, context, vocab; /* text: tokens of a sample, most positions, tokens there are */
    int64_t layers, width, heads;
    /* text: networks of each block's feed-forward layer, of which a token is sent to so many (xt_moe); 1 = no choice */
    int64_t experts, experts_per_token;
    int64_t microbatches; /* text: of a batch, where a mesh has stages (xt_pipeline) */
    const char
        *pipeline; /* and in which order they go back: gpipe, 1f1b; said without stages, blocks are stacked too */
    int64_t attention_tile; /* text: positions whose scores are computed at a time (xt_self_attention .tile); 0: all */
    /* text: positions that were trained, which generation stays within; 0 = context */
    int64_t window;
    double dropout; /* in training; text models */
    bool checkpoint; /* activations of blocks are computed again in the backward pass */
    /* resnets: a 3x3 convolution and no pooling in front, for small pictures */
    bool small_stem;
    /* an encoder reads the prompt, and a decoder begins with the token `start` */
    bool encodes;
    int64_t start;
    xt_dtype kept; /* what generation keeps keys and values as; XT_DTYPE_NONE: f32 */
    struct kv_cache *cache; /* text: set by generate.c while it records a step of generation */
} model_options;

typedef struct model {
    const char *name, *help;
    xt_module_fn net; /* user: const model_options *, settled */
    /* The sample a benchmark feeds it: side and seq as given on the command line, 0 = the model's own. */
    xt_spec (*x)(int64_t side, int64_t seq);
    xt_spec (*y)(int64_t side, int64_t seq);
    xt_tensor (*loss)(xt_tensor out, xt_tensor y);
    xt_optimizer *(*optimizer)(xt_module *net, double lr); /* lr -1 = the model's own */
    int64_t batch, epochs;
    double clip; /* norm of the gradients in `xtrain fit`; 0 = none */
    /* `xtrain fit` warms up and then lowers the rate along a cosine, unless told otherwise */
    bool cosine;
    model_options own; /* its own values; where one is 0 the model has no such option */
    const void *config; /* &own: what net gets as `user` when nothing was asked for */
    const void *checkpointed; /* the same with .checkpoint; NULL = the model cannot */
    /* the loss itself by 1F1B (xt_pipeline_loss), of the same network; NULL: there is no such schedule */
    xt_tensor (*staged)(xt_module *net, xt_tensor x, xt_tensor y, const model_options *o);
    bool classifies; /* out is [N,classes] and y [N]: accuracy makes sense */
    bool tokens; /* y counts tokens, one a position */
    bool tiled; /* its attention takes .attention_tile */
} model;

extern const model model_mnist, model_resnet18, model_resnet50, model_gpt2, model_gpt2_mini, model_gpt2_tiny;
/* Samples that several models have: a picture in three colours (side 0: 224), the number of a class. */
xt_spec model_picture(int64_t side, int64_t seq);
xt_spec model_label(int64_t side, int64_t seq);
/* The loss, and 0.01 of the one that keeps experts busy, as in Switch Transformer. o: what net was made with. */
xt_tensor model_loss(const model *m, const model_options *o, xt_module *net, xt_tensor out, xt_tensor y);
/* Whether the loss is model.staged's. */
bool model_is_staged(const model *m, const model_options *o);
/* The loss that is trained on, of a forward pass: under bf16's autocast, if that is asked for. */
xt_tensor model_train_loss(const model *m, const model_options *o, xt_module *net, xt_tensor x, xt_tensor y, bool bf16);
const model *model_find(const char *name); /* NULL when there is none */
const model *const *model_list(int *n); /* for tests: each of them */
/* Fills what o leaves open with the model's own values. False with a sentence in `why`: an option the model does not
 * have, or sizes that do not fit. */
bool model_settle(const model *m, model_options *o, char *why, size_t n);

/* The pending error as a status of the caller's, and none pending any more. */
xt_status model_take_error(void);
/* The end of a pass, and its error as above. It is looked at before the step ends: one that nobody has looked at ends
 * the program then, and a server goes on. */
xt_status model_end_step(void);
/* Of a file that was loaded with .strict off: the model must have all its tensors, and adapters of LoRA's, which only
 * what was given --lora has, must not be left out in silence. */
xt_status model_check_loaded(const char *path, const xt_load_report *r);
xt_status model_pending_error(void); /* what a call that gives no status has failed of; it is forgotten */

#endif
