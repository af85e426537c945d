/* config.json of Llama's family. */
#include <math.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <xtrain/program.h>

#include "models/llama.h"

/* A number, or `otherwise` where the file has none or null. */
static double number(const cJSON *json, const char *name, double otherwise) {
    const cJSON *e = cJSON_GetObjectItemCaseSensitive(json, name);
    return cJSON_IsNumber(e) ? e->valuedouble : otherwise;
}
static bool flag(const cJSON *json, const char *name, bool otherwise) {
    const cJSON *e = cJSON_GetObjectItemCaseSensitive(json, name);
    return cJSON_IsBool(e) ? cJSON_IsTrue(e) : otherwise;
}
static const char *text(const cJSON *json, const char *name, const char *otherwise) {
    const char *t = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, name));
    return t ? t : otherwise;
}

static xt_status sizes(const cJSON *json, llama_config *c) {
    const struct {
        const char *name;
        int64_t *to;
        double otherwise; /* 0: it must be there */
    } rows[] = {
        {"vocab_size", &c->vocab, 0},
        {"hidden_size", &c->width, 0},
        {"intermediate_size", &c->hidden, 0},
        {"num_hidden_layers", &c->layers, 0},
        {"num_attention_heads", &c->heads, 0},
        {"num_key_value_heads", &c->kv_heads, number(json, "num_attention_heads", 0)},
        {"head_dim", &c->head_dim, floor(number(json, "hidden_size", 0) / number(json, "num_attention_heads", 1))},
        {"max_position_embeddings", &c->context, 2048}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double v = number(json, rows[i].name, rows[i].otherwise);
        if (!(v >= 1 && v <= 1 << 24 && v == floor(v)))
            return xt_status_new(XT_DATA_LOSS, "\"%s\" is no whole number from 1 to %d", rows[i].name, 1 << 24);
        *rows[i].to = (int64_t)v;
    }
    if (c->heads % c->kv_heads || c->head_dim % 2)
        return xt_status_new(
            XT_DATA_LOSS,
            "%lld heads, %lld of keys and values, of %lld numbers: the second must divide the first, and "
            "the third be even",
            (long long)c->heads, (long long)c->kv_heads, (long long)c->head_dim);
    return NULL;
}

/* Newer files have all in "rope_parameters", older ones "rope_theta" beside "rope_scaling". */
static xt_status positions(const cJSON *json, llama_config *c) {
    const cJSON *rope = cJSON_GetObjectItemCaseSensitive(json, "rope_parameters");
    if (!cJSON_IsObject(rope)) rope = cJSON_GetObjectItemCaseSensitive(json, "rope_scaling");
    const char *type = text(rope, "rope_type", text(rope, "type", "default"));
    c->theta = number(rope, "rope_theta", number(json, "rope_theta", 10000));
    c->rope_factor = 1;
    if (!(c->theta > 1)) return xt_status_new(XT_DATA_LOSS, "\"rope_theta\" is %g", c->theta);
    if (strcmp(type, "default") == 0) return NULL;
    c->rope_factor = number(rope, "factor", 0);
    if (strcmp(type, "llama3") == 0) {
        c->low = number(rope, "low_freq_factor", 1);
        c->high = number(rope, "high_freq_factor", 4);
        c->original = number(rope, "original_max_position_embeddings", 0);
    } else if (strcmp(type, "linear") != 0)
        return xt_status_new(XT_UNIMPLEMENTED, "the positions \"%.40s\" are not known; default, linear and llama3 are",
                             type);
    bool llama3 = strcmp(type, "llama3") == 0;
    if (!(c->rope_factor >= 1) || (llama3 && !(c->high > c->low && c->low > 0 && c->original > 0)))
        return xt_status_new(XT_DATA_LOSS, "the positions \"%s\" have a factor of %g, from %g to %g turns of %g", type,
                             c->rope_factor, c->low, c->high, c->original);
    return NULL;
}

/* Where files say it by layer ("layer_types"), windowed layers must be the last ones. */
static xt_status windows(const cJSON *json, llama_config *c, bool always) {
    const cJSON *types = cJSON_GetObjectItemCaseSensitive(json, "layer_types");
    c->window = (int64_t)number(json, "sliding_window", 0);
    if (!always && !flag(json, "use_sliding_window", false)) c->window = 0;
    if (c->window < 0) return xt_status_new(XT_DATA_LOSS, "\"sliding_window\" is %lld", (long long)c->window);
    c->window_from = always ? 0 : (int64_t)number(json, "max_window_layers", 0);
    if (!c->window || cJSON_GetArraySize(types) != c->layers) return NULL;
    int64_t first = c->layers, i = 0;
    const cJSON *e;
    cJSON_ArrayForEach(e, types) {
        bool slides = cJSON_IsString(e) && strcmp(e->valuestring, "sliding_attention") == 0;
        if (slides && first == c->layers) first = i;
        if (!slides && first < c->layers)
            return xt_status_new(XT_UNIMPLEMENTED, "\"layer_types\": layer %lld has no window behind one that has",
                                 (long long)i);
        i++;
    }
    c->window_from = first;
    return NULL;
}

/* One number, or the first of a list. */
static int64_t stop_token(const cJSON *json) {
    const cJSON *e = cJSON_GetObjectItemCaseSensitive(json, "eos_token_id");
    if (cJSON_IsArray(e)) e = e->child;
    return cJSON_IsNumber(e) && e->valuedouble >= 0 && e->valuedouble < 1 << 24 ? (int64_t)e->valuedouble : -1;
}

static xt_status family(const cJSON *json, llama_config *c) {
    const char *type = text(json, "model_type", "(none)"), *act = text(json, "hidden_act", "silu");
    bool llama2 = strcmp(type, "llama") == 0, mistral = strcmp(type, "mistral") == 0,
         qwen2 = strcmp(type, "qwen2") == 0, qwen3 = strcmp(type, "qwen3") == 0;
    if (!llama2 && !mistral && !qwen2 && !qwen3)
        return xt_status_new(XT_UNIMPLEMENTED,
                             "the model type \"%.40s\" is not known; llama, mistral, qwen2 and qwen3 are", type);
    if (strcmp(act, "silu") != 0)
        return xt_status_new(XT_UNIMPLEMENTED, "\"hidden_act\" is \"%.40s\"; silu is known", act);
    c->eps = number(json, "rms_norm_eps", 1e-6);
    c->stop = stop_token(json);
    c->tied = flag(json, "tie_word_embeddings", false);
    c->q_bias = qwen2 || (!mistral && flag(json, "attention_bias", false));
    c->o_bias = c->q_bias && !qwen2;
    c->mlp_bias = llama2 && flag(json, "mlp_bias", false);
    c->qk_norm = qwen3;
    return llama2 ? NULL : windows(json, c, mistral);
}

xt_status llama_read_config(const char *path, llama_config *out) {
    char *file;
    size_t n;
    *out = (llama_config){0};
    XT_TRY(xt_read_file(path, &file, &n));
    cJSON *json = cJSON_ParseWithLength(file, n);
    xt_text_free(file);
    xt_status s = cJSON_IsObject(json) ? sizes(json, out) : xt_status_new(XT_DATA_LOSS, "it is no JSON object"), told;
    if (!s) s = family(json, out);
    if (!s) s = positions(json, out);
    cJSON_Delete(json);
    if (!s) return NULL;
    told = xt_status_new(xt_status_code(s), "%s: %s", path, xt_status_message(s));
    xt_status_free(s);
    return told;
}
