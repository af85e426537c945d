/* config.json of Llama's family. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "models/hf_config.h"
#include "models/llama.h"

static const hf_range counts_go = {0, HF_MOST, true}, factors_go = {1e-6, 1e12, false};

static void sizes(hf_config *r, llama_config *c) {
    static const struct {
        const char *name;
        size_t at;
        double otherwise; /* 0: it must be there */
    } rows[] = {{"vocab_size", offsetof(llama_config, vocab), 0},
                {"hidden_size", offsetof(llama_config, width), 0},
                {"intermediate_size", offsetof(llama_config, hidden), 0},
                {"num_attention_heads", offsetof(llama_config, heads), 0},
                {"max_position_embeddings", offsetof(llama_config, context), 2048}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double v = hf_size(r, rows[i].name, rows[i].otherwise);
        *(int64_t *)((char *)c + rows[i].at) = (int64_t)v;
    }
    c->layers = (int64_t)hf_layers(r);
    if (r->failed) return;
    c->kv_heads = (int64_t)hf_number(r, "num_key_value_heads", hf_sizes, (double)c->heads);
    c->head_dim = (int64_t)hf_number(r, "head_dim", hf_sizes, (double)(c->width / c->heads));
    if (!r->failed && (c->heads % c->kv_heads || c->head_dim % 2 || c->head_dim < 1))
        r->failed =
            xt_status_new(XT_DATA_LOSS,
                          "%lld heads, %lld of keys and values, of %lld numbers: the second must divide the first, and "
                          "the third be even",
                          (long long)c->heads, (long long)c->kv_heads, (long long)c->head_dim);
}

/* An object of the file's, or an empty one. */
static hf_config inner(hf_config *r, const char *name) {
    const cJSON *e = hf_found(r, name);
    if (e && !cJSON_IsObject(e)) hf_refuse(r, name, e, "an object");
    return (hf_config){cJSON_IsObject(e) ? e : NULL, NULL};
}

/* Newer files have all in "rope_parameters", older ones "rope_theta" beside "rope_scaling". */
static void positions(hf_config *r, llama_config *c) {
    static const hf_range thetas_go = {1.0000001, 1e12, false}, grows = {1, 1e6, false};
    hf_config rope = inner(r, "rope_parameters");
    if (!rope.json) rope = inner(r, "rope_scaling");
    const char *type = hf_text(&rope, "rope_type", hf_text(&rope, "type", "default"));
    c->theta = hf_number(&rope, "rope_theta", thetas_go, hf_number(r, "rope_theta", thetas_go, 10000));
    c->rope_factor = 1;
    bool llama3 = strcmp(type, "llama3") == 0, scales = llama3 || strcmp(type, "linear") == 0;
    if (!scales && strcmp(type, "default") != 0 && !rope.failed)
        rope.failed = xt_status_new(XT_UNIMPLEMENTED,
                                    "the positions \"%.40s\" are not known; default, linear and llama3 are", type);
    if (scales) c->rope_factor = hf_number(&rope, "factor", grows, 0);
    if (llama3) {
        c->low = hf_number(&rope, "low_freq_factor", factors_go, 1);
        c->high = hf_number(&rope, "high_freq_factor", factors_go, 4);
        c->original = hf_number(&rope, "original_max_position_embeddings", hf_sizes, 0);
    }
    if (!rope.failed && (!c->rope_factor || (llama3 && !(c->high > c->low && c->original > 0))))
        rope.failed = xt_status_new(XT_DATA_LOSS,
                                    "the positions \"%s\" have a factor of %g, from %g to %g turns of %g; all of these "
                                    "are needed, and the second above the first",
                                    type, c->rope_factor, c->low, c->high, c->original);
    if (r->failed)
        xt_status_free(rope.failed);
    else
        r->failed = rope.failed;
}

/* By layer, where files say it so; the first that slides, `layers` where none does, -1 where the file does not say. */
static int64_t first_window(hf_config *r, const llama_config *c) {
    const cJSON *types = hf_found(r, "layer_types"), *e;
    int64_t first = c->layers, i = 0;
    if (!types) return -1;
    if (!cJSON_IsArray(types) || cJSON_GetArraySize(types) != c->layers) {
        hf_refuse(r, "layer_types", types, "a list with one text a layer");
        return -1;
    }
    cJSON_ArrayForEach(e, types) {
        const char *kind = cJSON_IsString(e) ? e->valuestring : "";
        bool slides = strcmp(kind, "sliding_attention") == 0;
        if (!slides && strcmp(kind, "full_attention") != 0)
            hf_refuse(r, "layer_types", e, "full_attention or sliding_attention for each layer");
        if (slides && first == c->layers) first = i;
        if (!slides && first < c->layers && !r->failed)
            r->failed = xt_status_new(XT_UNIMPLEMENTED, "\"layer_types\": layer %lld has no window behind one that has",
                                      (long long)i);
        i++;
    }
    return first;
}

/* Windowed layers must be the last ones. */
static void windows(hf_config *r, llama_config *c, bool always) {
    int64_t first = first_window(r, c);
    c->window = (int64_t)hf_number(r, "sliding_window", counts_go, 0);
    if (!hf_flag(r, "use_sliding_window", false) && !always) c->window = 0;
    c->window_from = (int64_t)hf_number(r, "max_window_layers", counts_go, 0);
    if (always) c->window_from = 0;
    if (c->window && first >= 0) c->window_from = first;
}

/* What changes the numbers and is not computed here. */
static void unknown(hf_config *r) {
    double part = hf_number(r, "partial_rotary_factor", (hf_range){0, 1, false}, 1);
    if (r->failed) return;
    hf_integer_bits(r);
    if (part != 1 && !r->failed)
        r->failed = xt_status_new(XT_UNIMPLEMENTED, "\"partial_rotary_factor\" is %g; 1 is known", part);
}

static void family(hf_config *r, llama_config *c) {
    const char *type = hf_text(r, "model_type", "(none)"), *act = hf_text(r, "hidden_act", "silu");
    bool llama2 = strcmp(type, "llama") == 0, mistral = strcmp(type, "mistral") == 0,
         qwen2 = strcmp(type, "qwen2") == 0, qwen3 = strcmp(type, "qwen3") == 0;
    c->eps = hf_number(r, "rms_norm_eps", (hf_range){1e-30, 1, false}, 1e-6);
    c->stop = hf_stop_token(r, -1);
    c->dtype = hf_dtype(r);
    c->tied = hf_flag(r, "tie_word_embeddings", false);
    bool bias = hf_flag(r, "attention_bias", false);
    c->q_bias = qwen2 || (!mistral && bias);
    c->o_bias = c->q_bias && !qwen2;
    c->mlp_bias = hf_flag(r, "mlp_bias", false) && llama2;
    c->qk_norm = qwen3;
    if (!llama2) windows(r, c, mistral);
    unknown(r);
    if (r->failed) return;
    if (!llama2 && !mistral && !qwen2 && !qwen3)
        r->failed = xt_status_new(XT_UNIMPLEMENTED,
                                  "the model type \"%.40s\" is not known; llama, mistral, qwen2 and qwen3 are", type);
    else if (strcmp(act, "silu") != 0)
        r->failed = xt_status_new(XT_UNIMPLEMENTED, "\"hidden_act\" is \"%.40s\"; silu is known", act);
}

xt_status llama_read_config(const char *path, llama_config *out) {
    hf_config r;
    *out = (llama_config){0};
    XT_TRY(hf_open(path, &r));
    if (!r.failed) sizes(&r, out);
    if (!r.failed) family(&r, out);
    if (!r.failed) positions(&r, out);
    return hf_close(&r, path);
}
