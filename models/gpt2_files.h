/* A GPT-2 in a folder, as Hugging Face's transformers lay it out: config.json, model.safetensors, and vocab.json +
 * merges.txt unless its tokens are bytes. `xtrain fit --ckpt` writes config.json and the tokenizer's files beside its
 * checkpoints, so both kinds of folder are read here. */
#ifndef XTRAIN_MODELS_GPT2_FILES_H
#define XTRAIN_MODELS_GPT2_FILES_H

#include "models/models.h"

/* Sizes from DIR/config.json into what o leaves open; a file that is not there changes nothing. */
xt_status gpt2_read_config(const char *dir, model_options *o);
xt_status gpt2_write_config(const char *dir, const model_options *o);
/* Weights from a safetensors file: our own (linear layers [out,in]) or Hugging Face's ([in,out]; with or
 * without "transformer." before the names; the masks and the tied lm_head in it are passed over). Builds the
 * module if need be. */
xt_status gpt2_load(xt_module *net, const char *path);
/* DIR/model.safetensors as Hugging Face's library reads it. */
xt_status gpt2_save(xt_module *net, const char *dir);
/* PATH itself, or of a folder its last.ckpt, model.safetensors or its index, or newest *.ckpt. False when there is
 * none. */
bool gpt2_find_weights(const char *path, char *out, size_t n);

#endif
