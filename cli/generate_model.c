/* The model of `xtrain generate`: a built-in GPT-2 with a checkpoint, or a model's folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/generate.h"
#include "cli/words.h"
#include "models/folder.h"
#include "models/gpt2_files.h"

/* The folder of a checkpoint: where config.json and the tokenizer's files are. */
static void folder_of(const char *weights, char *out, size_t n) {
    snprintf(out, n, "%s", weights);
    char *slash = strrchr(out, '/');
    if (slash)
        *slash = 0;
    else
        snprintf(out, n, ".");
}

/* Keys and values are as exact as the weights ask for. */
static void choose_cache(generate_options *o, xt_dtype weights, int bits) {
    int none;
    o->of_model.kept = weights == XT_F32 && !bits ? XT_F32 : XT_F16;
    if (o->kv_cache) model_weights_named(o->kv_cache, &o->of_model.kept, &none);
}

/* What weights are in memory: floats of a dtype, or integers of so many bits, of which `made` are made of the file's.
 */
typedef struct weights_kept {
    xt_dtype dtype;
    int made;
} weights_kept;
static xt_status choose_weights(generate_options *o, const char *dir, xt_dtype usual, weights_kept *out) {
    int there;
    *out = (weights_kept){usual, 0};
    XT_TRY(model_folder_bits(dir, &there));
    if (o->weights) model_weights_named(o->weights, &out->dtype, &out->made);
    if (there && o->weights && out->made != there)
        return xt_status_new(XT_INVALID_ARGUMENT,
                             "%s has weights of int%d; --weights %s is made of the wide ones that they were made of",
                             dir, there, o->weights);
    choose_cache(o, out->dtype, there | out->made);
    if (there) out->made = 0;
    return NULL;
}

/* A folder of Llama's family: all sizes are its config.json's; --context is how much of a text is kept in sight. */
static xt_status open_llama(generate_options *o, const char *weights, const char *dir, generate_model *out) {
    static llama_config c; /* the network's, which lives as long as the process */
    char path[4200];
    int64_t usual = o->least_context > 2048 ? o->least_context : 2048,
            context = o->of_model.context ? o->of_model.context : usual;
    snprintf(path, sizeof path, "%s/config.json", dir);
    XT_TRY(llama_read_config(path, &c));
    llama_generates(&c, context, &o->of_model);
    c.wide = true;
    XT_TRY(cli_open_words(o->tokenizer, dir, c.vocab, &out->words));
    out->stop = o->ignore_stop ? -1 : c.stop;
    out->net = xt_module_new(llama, &c);
    weights_kept kept;
    XT_TRY(choose_weights(o, dir, c.dtype, &kept)); /* weights stay as narrow as they are */
    XT_TRY(xt_module_set_dtype(out->net, kept.dtype));
    XT_TRY(xt_load(out->net, weights)); /* in front of the first pass: nothing is drawn that a file has */
    XT_TRY(xt_module_build(out->net, (xt_spec){XT_I64, {1, 1}}));
    return model_folder_quantize(FOLDER_LLAMA, out->net, kept.made);
}

/* --context is how many tokens of the text that is read, and of what is said, are kept in sight. */
static xt_status open_t5(generate_options *o, const char *weights, const char *dir, generate_model *out) {
    static t5_config c; /* the network's, which lives as long as the process */
    char path[4200];
    snprintf(path, sizeof path, "%s/config.json", dir);
    XT_TRY(t5_read_config(path, &c));
    t5_generates(&c, o->of_model.context ? o->of_model.context : 2048, &o->of_model);
    XT_TRY(cli_open_words(o->tokenizer, dir, c.vocab, &out->words));
    out->stop = o->ignore_stop ? -1 : c.stop;
    XT_TRY(t5_find_tied(&c, weights));
    out->net = xt_module_new(t5, &c);
    weights_kept kept;
    XT_TRY(choose_weights(o, dir, c.dtype, &kept)); /* weights stay as narrow as they are */
    XT_TRY(xt_module_set_dtype(out->net, kept.dtype));
    XT_TRY(xt_load(out->net, weights));
    XT_TRY(t5_build(&c, out->net));
    return model_folder_quantize(FOLDER_T5, out->net, kept.made);
}

static xt_status open_gpt2(const model *m, generate_options *o, const char *weights, const char *dir,
                           generate_model *out) {
    char why[256];
    XT_TRY(gpt2_read_config(dir, &o->of_model));
    XT_TRY(cli_open_words(o->tokenizer, dir, o->of_model.vocab, &out->words));
    if (!o->of_model.vocab) o->of_model.vocab = tokenizer_vocab(out->words);
    if (!o->of_model.seq) o->of_model.seq = 1;
    if (!model_settle(m, &o->of_model, why, sizeof why)) return xt_status_new(XT_INVALID_ARGUMENT, "%s", why);
    if (tokenizer_vocab(out->words) > o->of_model.vocab)
        return xt_status_new(XT_INVALID_ARGUMENT, "the tokenizer has %lld tokens, the model %lld",
                             (long long)tokenizer_vocab(out->words), (long long)o->of_model.vocab);
    weights_kept kept;
    XT_TRY(choose_weights(o, dir, XT_F32, &kept));
    out->net = xt_module_new(m->net, &o->of_model);
    XT_TRY(xt_module_set_dtype(out->net, kept.dtype));
    XT_TRY(gpt2_load(out->net, weights));
    return model_folder_quantize(FOLDER_GPT2, out->net, kept.made);
}

/* Whether MODEL is a folder with a config.json. */
static bool is_model_folder(const char *path) {
    char config[4200];
    return (size_t)snprintf(config, sizeof config, "%s/config.json", path) < sizeof config && access(config, F_OK) == 0;
}

/* What MODEL is not, of a word that is neither a model nor such a folder. */
static void refuse_model(const char *command, const char *name) {
    const char *kinds = "gpt2, gpt2-mini, gpt2-tiny or a model's folder (with a config.json) is needed";
    if (!name || model_find(name))
        cli_fprintf(stderr, "xtrain %s: %s%s%s; xtrain %s --help\n", command, name ? name : "",
                    name ? " makes no text; " : "which model? ", kinds, command);
    else
        cli_fprintf(stderr, "xtrain %s: %s %s; %s; xtrain %s --help\n", command, name,
                    access(name, F_OK) == 0 ? "has no config.json" : "is no text model and no folder", kinds, command);
}

/* A GPT-2 of Hugging Face's in a folder: its config.json is checked, and says which token ends a text. */
static xt_status open_folder_gpt2(generate_options *o, const char *weights, const char *dir, generate_model *out) {
    model_folder f;
    XT_TRY(model_folder_read("gpt2", dir, &o->of_model, &f));
    XT_TRY(open_gpt2(f.model, o, weights, dir, out));
    out->stop = o->ignore_stop ? -1 : f.stop;
    return NULL;
}

static xt_status open_folder(generate_options *o, const char *weights, const char *dir, generate_model *out) {
    const model *kind;
    XT_TRY(model_folder_kind_of(dir, &kind));
    return kind == &model_t5     ? open_t5(o, weights, dir, out)
           : kind == &model_gpt2 ? open_folder_gpt2(o, weights, dir, out)
                                 : open_llama(o, weights, dir, out);
}

xt_status generate_open(generate_options *o, generate_model *out, int *out_code) {
    *out = (generate_model){.sizes = &o->of_model, .stop = -1};
    const model *m = o->model ? model_find(o->model) : NULL;
    bool folder = o->model && !m && is_model_folder(o->model), known = folder || (m && m->tokens);
    xt_dtype dtype = XT_F32;
    int bits = 0, cache_bits = 0;
    *out_code = 0;
    if (folder && !o->ckpt) o->ckpt = o->model;
    const char *missing = !o->ckpt ? "--ckpt is needed: which weights?"
                          : o->weights && !model_weights_named(o->weights, &dtype, &bits)
                              ? "--weights is f32, bf16, f16, int8 or int4"
                          : o->kv_cache && (!model_weights_named(o->kv_cache, &dtype, &cache_bits) || cache_bits)
                              ? "--kv-cache is f32, f16 or bf16"
                              : NULL;
    if (!known)
        refuse_model(o->command, o->model);
    else if (missing)
        cli_fprintf(stderr, "xtrain %s: %s; xtrain %s --help\n", o->command, missing, o->command);
    if (!known || missing) {
        *out_code = 2;
        return NULL;
    }
    char weights[4096], dir[4096];
    if (!gpt2_find_weights(o->ckpt, weights, sizeof weights))
        return xt_status_new(XT_NOT_FOUND,
                             "%s is no checkpoint and no folder with one (last.ckpt, model.safetensors or *.ckpt)",
                             o->ckpt);
    folder_of(weights, dir, sizeof dir);
    if (o->device) setenv("XT_DEVICE", o->device, 1);
    setenv("XT_SUMMARY", "off", 0);
    return m ? open_gpt2(m, o, weights, dir, out) : open_folder(o, weights, dir, out);
}

void generate_close(generate_model *m) {
    xt_module_free(m->net);
    tokenizer_free(m->words);
}
