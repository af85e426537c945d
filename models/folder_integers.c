/* Models whose linear layers' weights are integers of 8 or 4 bits: made so when they are loaded, or read from a folder
 * that `xtrain convert --weights` wrote. Its config.json says so where Hugging Face's does, in "quantization_config".
 */
#include "models/folder.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <xtrain/program.h>

#include "models/hf_config.h"

bool model_weights_named(const char *name, xt_dtype *dtype, int *bits) {
    static const struct {
        const char *name;
        xt_dtype dtype; /* XT_DTYPE_NONE: as the files have it */
        int bits;
    } rows[] = {{"f32", XT_F32, 0},
                {"bf16", XT_BF16, 0},
                {"f16", XT_F16, 0},
                {"int8", XT_DTYPE_NONE, 8},
                {"int4", XT_DTYPE_NONE, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(name, rows[i].name) != 0) continue;
        if (rows[i].dtype != XT_DTYPE_NONE) *dtype = rows[i].dtype;
        *bits = rows[i].bits;
        return true;
    }
    return false;
}

xt_status model_folder_quantize(model_folder_form form, xt_module *net, int bits) {
    static const char *const linear[][4] = {
        [FOLDER_GPT2] = {"h.*.c_*.weight"},
        [FOLDER_LLAMA] = {"*_proj.weight", "lm_head.weight"},
        [FOLDER_T5] = {"*Attention.?.weight", "*.wi*.weight", "*.wo.weight", "lm_head.weight"},
        [FOLDER_ENCODER] = {NULL}};
    /* A table that is the output layer too is read whole for each token. Its bits stay 8: few numbers decide a word. */
    static const char *const tables[] = {
        [FOLDER_GPT2] = "wte.weight", [FOLDER_LLAMA] = "model.embed_tokens.weight", [FOLDER_T5] = "shared.weight"};
    bool tied = form != FOLDER_ENCODER && xt_module_next(net, "lm_head.weight", 0) < 0;
    int n = 0;
    for (int i = 0; bits && i < 4 && linear[form][i]; i++) {
        int k = xt_quantize(net, linear[form][i], .bits = bits);
        if (k < 0) return model_pending_error();
        n += k;
    }
    if (bits && tied && xt_quantize(net, tables[form], .bits = 8) < 0) return model_pending_error();
    return bits && !n ? xt_status_new(XT_INVALID_ARGUMENT,
                                      "--weights int%d: no linear layer has a multiple of 32 inputs", bits)
                      : NULL;
}

/* --- in folders --- */
static xt_status config_of(const char *dir, char *path, size_t n) {
    if ((size_t)snprintf(path, n, "%s/config.json", dir) < n) return NULL;
    return xt_status_new(XT_INVALID_ARGUMENT, "the path %.100s... is too long", dir);
}

xt_status model_folder_bits(const char *dir, int *out) {
    char path[4200];
    hf_config r;
    *out = 0;
    XT_TRY(config_of(dir, path, sizeof path));
    if (access(path, F_OK) != 0) return NULL;
    XT_TRY(hf_open(path, &r));
    *out = hf_integer_bits(&r);
    return hf_close(&r, path);
}

static xt_status say_bits(const char *dir, int bits) {
    char path[4200];
    cJSON *json;
    XT_TRY(config_of(dir, path, sizeof path));
    XT_TRY(model_read_json(path, &json));
    cJSON_DeleteItemFromObjectCaseSensitive(json, "quantization_config");
    cJSON *said = cJSON_AddObjectToObject(json, "quantization_config");
    bool ok =
        said && cJSON_AddStringToObject(said, "quant_method", "xtrain") && cJSON_AddNumberToObject(said, "bits", bits);
    char *text = ok ? cJSON_Print(json) : NULL;
    xt_status s =
        text ? xt_write_file(path, text, strlen(text)) : xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for %s", path);
    cJSON_free(text);
    cJSON_Delete(json);
    return s;
}

xt_status model_folder_convert(const char *from, const char *to, const char *file, int bits, int64_t max_shard_size) {
    static model_folder f; /* as long as the module */
    model_options o = {0};
    const model *kind;
    XT_TRY(model_folder_kind_of(from, &kind));
    XT_TRY(model_folder_read(kind ? kind->name : "llama", from, &o, &f));
    if (f.bits)
        return xt_status_new(XT_INVALID_ARGUMENT, "%s: the weights are integers of %d bits already", from, f.bits);
    if (f.form == FOLDER_ENCODER)
        return xt_status_new(XT_UNIMPLEMENTED,
                             "%s: an encoder's weights are not made integers; those of llama's "
                             "family, gpt2 and t5 are",
                             from);
    xt_module *net = xt_module_new(f.model->net, model_folder_user(&f, &o));
    xt_dtype dtype = f.form == FOLDER_LLAMA ? f.llama.dtype : f.form == FOLDER_T5 ? f.t5.dtype : XT_F32;
    xt_status s = xt_module_set_dtype(net, dtype); /* what does not become integers stays as it is */
    if (!s) s = model_folder_load(&f, net);
    if (!s) s = model_folder_quantize(f.form, net, bits);
    if (!s) s = xt_save_with(net, file, .max_shard_size = max_shard_size);
    xt_module_free(net);
    if (!s) s = model_folder_copy(from, to);
    return s ? s : say_bits(to, bits);
}
