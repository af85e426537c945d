/* Reading a config.json; see hf_config.h. */
#include "models/hf_config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <xtrain/program.h>

xt_status hf_open(const char *path, hf_config *out) {
    char *file;
    size_t n;
    *out = (hf_config){0};
    XT_TRY(xt_read_file(path, &file, &n));
    out->json = cJSON_ParseWithLength(file, n);
    xt_text_free(file);
    if (!cJSON_IsObject(out->json)) out->failed = xt_status_new(XT_DATA_LOSS, "it is no JSON object");
    return NULL;
}

xt_status hf_close(hf_config *r, const char *path) {
    cJSON_Delete((cJSON *)(uintptr_t)r->json);
    r->json = NULL;
    if (!r->failed) return NULL;
    xt_status told = xt_status_new(xt_status_code(r->failed), "%s: %s", path, xt_status_message(r->failed));
    xt_status_free(r->failed);
    return told;
}

const cJSON *hf_found(const hf_config *r, const char *name) {
    const cJSON *e = cJSON_GetObjectItemCaseSensitive(r->json, name);
    return cJSON_IsNull(e) ? NULL : e;
}

void hf_refuse(hf_config *r, const char *name, const cJSON *e, const char *expected) {
    char *value = cJSON_PrintUnformatted(e);
    if (!r->failed)
        r->failed = xt_status_new(XT_DATA_LOSS, "\"%s\" is %.80s; %s is expected", name, value ? value : "?", expected);
    cJSON_free(value);
}

double hf_number(hf_config *r, const char *name, hf_range in, double otherwise) {
    const cJSON *e = hf_found(r, name);
    char expected[96];
    if (!e) return otherwise;
    double v = cJSON_IsNumber(e) ? e->valuedouble : NAN;
    if (v >= in.least && v <= in.most && (!in.whole || v == floor(v))) return v;
    snprintf(expected, sizeof expected, "a %snumber from %.9g to %.9g", in.whole ? "whole " : "", in.least, in.most);
    hf_refuse(r, name, e, expected);
    return in.least;
}

bool hf_flag(hf_config *r, const char *name, bool otherwise) {
    const cJSON *e = hf_found(r, name);
    if (!e || cJSON_IsBool(e)) return e ? cJSON_IsTrue(e) : otherwise;
    hf_refuse(r, name, e, "true or false");
    return otherwise;
}

const char *hf_text(hf_config *r, const char *name, const char *otherwise) {
    const cJSON *e = hf_found(r, name);
    if (!e || cJSON_IsString(e)) return e ? e->valuestring : otherwise;
    hf_refuse(r, name, e, "a text");
    return otherwise;
}

static double needed(hf_config *r, const char *name, hf_range in, double otherwise) {
    double v = hf_number(r, name, in, otherwise);
    if (!v && !r->failed)
        r->failed =
            xt_status_new(XT_DATA_LOSS, "\"%s\" is missing; a whole number from 1 to %.0f is expected", name, in.most);
    return v;
}

double hf_size(hf_config *r, const char *name, double otherwise) {
    return needed(r, name, hf_sizes, otherwise);
}

double hf_layers(hf_config *r) {
    return needed(r, "num_hidden_layers", (hf_range){1, 1000, true}, 0);
}

xt_dtype hf_dtype(hf_config *r) {
    const char *name = hf_text(r, "dtype", hf_text(r, "torch_dtype", "float32"));
    return strcmp(name, "bfloat16") == 0 ? XT_BF16 : strcmp(name, "float16") == 0 ? XT_F16 : XT_F32;
}

int hf_integer_bits(hf_config *r) {
    const cJSON *said = hf_found(r, "quantization_config"), *bits = cJSON_GetObjectItemCaseSensitive(said, "bits");
    const char *method = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(said, "quant_method"));
    bool ours = method && strcmp(method, "xtrain") == 0;
    if (ours && cJSON_IsNumber(bits) && (bits->valuedouble == 4 || bits->valuedouble == 8)) return bits->valueint;
    if (ours)
        hf_refuse(r, "quantization_config", said, "\"bits\" of 4 or 8");
    else if (said && !r->failed)
        r->failed = xt_status_new(XT_UNIMPLEMENTED,
                                  "\"quantization_config\": weights quantised by \"%.40s\" are not read; take the "
                                  "model's f32, bf16 or f16 weights (--weights int4 makes integers of them)",
                                  method ? method : "(none)");
    return 0;
}

int64_t hf_stop_token(hf_config *r, int64_t otherwise) {
    const cJSON *e = hf_found(r, "eos_token_id"), *one = cJSON_IsArray(e) ? e->child : e;
    for (const cJSON *k = one; k; k = cJSON_IsArray(e) ? k->next : NULL)
        if (!cJSON_IsNumber(k) || k->valuedouble != floor(k->valuedouble) || k->valuedouble < 0 ||
            k->valuedouble >= HF_MOST)
            hf_refuse(r, "eos_token_id", e, "a token's number, or a list of them,");
    return one && cJSON_IsNumber(one) && !r->failed ? (int64_t)one->valuedouble : otherwise;
}
