/* A model's folder of Hugging Face's, to be trained and written back: which network its config.json describes, its
 * weights into a module, and a folder of the same kind out of one, which from_pretrained reads.
 *
 *     static model_folder f;                                        lives as long as the module
 *     XT_TRY(model_folder_read("llama", "folder", &options, &f));
 *     xt_module *net = xt_module_new(f.model->net, model_folder_user(&f, &options));
 *     XT_TRY(model_folder_load(&f, net));
 *     ...
 *     XT_TRY(model_folder_save(&f, net, "tuned")); */
#ifndef XTRAIN_MODELS_FOLDER_H
#define XTRAIN_MODELS_FOLDER_H

#include "models/encoder_folder.h"
#include "models/llama.h"
#include "models/t5.h"

typedef enum model_folder_form { FOLDER_GPT2, FOLDER_LLAMA, FOLDER_ENCODER, FOLDER_T5 } model_folder_form;
typedef struct model_folder {
    char dir[4096], weights[4096];
    const model *model; /* how it is trained */
    model_folder_form form;
    llama_config llama;
    encoder_folder encoder;
    t5_config t5;
    int bits; /* of the integers that the files have; 0: they are floats */
    int64_t stop; /* the token that ends a text; -1 = none is said */
    const char *targets; /* layers that LoRA adapts unless others are named, with commas between them */
    const char *all_linear; /* and those within blocks */
} model_folder;

extern const model model_llama, model_t5; /* need a folder: their sizes are a config.json's */
/* The model that a folder's kind is trained as: llama, mistral, qwen2, qwen3, gpt2, t5, mt5, bert or vit; NULL for
 * another name. */
const model *model_folder_kind(const char *name);
/* name: one of those, "llama" for its whole family. Settles the sizes in o, which must leave them open; .seq, where it
 * is open, is at most what the model can see. The weights must be there, but are not read yet. */
xt_status model_folder_read(const char *name, const char *dir, model_options *o, model_folder *out);
void *model_folder_user(model_folder *f, model_options *o);
/* The kind that the config.json of a folder says: its "model_type"; NULL where it is none that is known. */
xt_status model_folder_kind_of(const char *dir, const model **out);
struct cJSON;
xt_status model_read_json(const char *path, struct cJSON **out); /* an object; cJSON_Delete */
/* Builds the module; of a dtype that it was given before. */
xt_status model_folder_load(model_folder *f, xt_module *net);
/* The folder is made. Weights lie in shards of at most 5 GB, the other files are those of f; config.json says the dtype
 * that was trained. Of a network that lies divided over the ranks every rank calls it, and rank 0 writes. */
xt_status model_folder_save(const model_folder *f, xt_module *net, const char *dir);
/* Writes into the folder's config.json, where there is one, which dtype its weights have. */
xt_status model_folder_say_dtype(const char *dir, xt_dtype dtype);
/* What describes a model beside its weights (config.json, the tokenizer's files), from folder to folder. */
xt_status model_folder_copy(const char *from, const char *to);
/* Adapters: only the tokenizer's files go along. Ranks as above. */
xt_status model_folder_save_adapter(const model_folder *f, xt_module *net, const char *dir);
xt_status model_folder_load_adapter(const model_folder *f, xt_module *net, const char *dir);
/* xt_lora for `targets` (NULL: the kind's own): names with commas between them, each that of layers in PyTorch's sense
 * ("q_proj" is *.q_proj), or a pattern with '*', or all-linear. One that fits no linear layer is an error. */
xt_status model_folder_lora(const model_folder *f, xt_module *net, const char *targets, xt_lora_opts o);

/* What --weights says of the numbers in memory: a dtype (left as it is for integers), and bits of integers or 0. False:
 * nothing that is known. */
bool model_weights_named(const char *name, xt_dtype *dtype, int *bits);
/* The weights of linear layers as integers of so many bits (0: nothing is done), after they were loaded. */
xt_status model_folder_quantize(model_folder_form form, xt_module *net, int bits);
/* Of the integers that a folder's weights are, as its config.json says; 0: floats. Another library's are an error. */
xt_status model_folder_bits(const char *dir, int *out);
/* A folder of floats, written anew as integers: the weights into `file`, which is in the folder `to`, in shards of at
 * most max_shard_size bytes (0: one file), the other files beside it. */
xt_status model_folder_convert(const char *from, const char *to, const char *file, int bits, int64_t max_shard_size);

#endif
