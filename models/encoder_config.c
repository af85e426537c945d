/* config.json of BERT and ViT. */
#include <string.h>

#include "models/hf_config.h"
#include "models/encoder.h"

static const hf_range eps_go = {1e-30, 1, false};

/* Either as a number, or as many as the names in id2label. */
static int64_t classes_of(hf_config *r) {
    const cJSON *names = hf_found(r, "id2label");
    if (names && !cJSON_IsObject(names)) hf_refuse(r, "id2label", names, "an object of names by number");
    double otherwise = names ? cJSON_GetArraySize(names) : 2;
    return (int64_t)hf_number(r, "num_labels", hf_sizes, otherwise);
}

static encoder_act activation(hf_config *r) {
    static const struct {
        const char *name;
        encoder_act act;
    } known[] = {{"gelu", ENCODER_GELU},
                 {"gelu_new", ENCODER_GELU_NEW},
                 {"gelu_pytorch_tanh", ENCODER_GELU_NEW},
                 {"relu", ENCODER_RELU}};
    const char *name = hf_text(r, "hidden_act", "gelu");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0) return known[i].act;
    if (!r->failed)
        r->failed =
            xt_status_new(XT_UNIMPLEMENTED,
                          "\"hidden_act\" is \"%.40s\"; gelu, gelu_new, gelu_pytorch_tanh and relu are known", name);
    return ENCODER_GELU;
}

static void read_bert(hf_config *r, encoder_config *c) {
    const char *places = hf_text(r, "position_embedding_type", "absolute");
    c->vocab = (int64_t)hf_size(r, "vocab_size", 0);
    c->context = (int64_t)hf_number(r, "max_position_embeddings", (hf_range){1, 1 << 20, true}, 512);
    c->types = (int64_t)hf_size(r, "type_vocab_size", 2);
    c->pad = (int64_t)hf_number(r, "pad_token_id", (hf_range){0, HF_MOST, true}, 0);
    c->qkv_bias = true;
    if (!r->failed && strcmp(places, "absolute") != 0)
        r->failed =
            xt_status_new(XT_UNIMPLEMENTED, "\"position_embedding_type\" is \"%.40s\"; absolute is known", places);
    if (!r->failed && (hf_flag(r, "is_decoder", false) || hf_flag(r, "add_cross_attention", false)))
        r->failed =
            xt_status_new(XT_UNIMPLEMENTED, "\"is_decoder\" or \"add_cross_attention\" is true; false is known");
    if (!r->failed && !hf_flag(r, "tie_word_embeddings", true))
        r->failed = xt_status_new(XT_UNIMPLEMENTED, "\"tie_word_embeddings\" is false; true is known");
}

static void read_vit(hf_config *r, encoder_config *c) {
    c->side = (int64_t)hf_size(r, "image_size", 224);
    c->patch = (int64_t)hf_size(r, "patch_size", 16);
    c->channels = (int64_t)hf_size(r, "num_channels", 3);
    c->qkv_bias = hf_flag(r, "qkv_bias", true);
    if (!r->failed && c->side % c->patch)
        r->failed = xt_status_new(XT_DATA_LOSS, "\"patch_size\" %lld does not divide \"image_size\" %lld",
                                  (long long)c->patch, (long long)c->side);
}

/* What the folder's model is for: "architectures" names a class of transformers'. */
static bool classifies(hf_config *r) {
    const cJSON *list = hf_found(r, "architectures"), *first = cJSON_IsArray(list) ? cJSON_GetArrayItem(list, 0) : NULL;
    const char *name = cJSON_GetStringValue(first);
    return name && strstr(name, "Classification");
}

static void read_all(hf_config *r, encoder_config *c) {
    const char *type = hf_text(r, "model_type", "(none)");
    c->vit = strcmp(type, "vit") == 0;
    if (!c->vit && strcmp(type, "bert") != 0 && !r->failed)
        r->failed = xt_status_new(XT_UNIMPLEMENTED, "the model type \"%.40s\" is not known; bert and vit are", type);
    c->width = (int64_t)hf_size(r, "hidden_size", 0);
    c->hidden = (int64_t)hf_size(r, "intermediate_size", 0);
    c->layers = (int64_t)hf_layers(r);
    c->heads = (int64_t)hf_size(r, "num_attention_heads", 0);
    c->eps = hf_number(r, "layer_norm_eps", eps_go, 1e-12);
    c->dropout = hf_number(r, "hidden_dropout_prob", hf_shares, c->vit ? 0 : 0.1);
    c->attention_dropout = hf_number(r, "attention_probs_dropout_prob", hf_shares, c->vit ? 0 : 0.1);
    c->classifier_dropout = hf_number(r, "classifier_dropout", hf_shares, c->dropout);
    c->act = activation(r);
    c->dtype = hf_dtype(r);
    c->classes = classes_of(r);
    c->classifies = c->vit || classifies(r);
    if (!r->failed && c->width % c->heads)
        r->failed = xt_status_new(XT_DATA_LOSS, "\"num_attention_heads\" %lld does not divide \"hidden_size\" %lld",
                                  (long long)c->heads, (long long)c->width);
    if (!r->failed) c->vit ? read_vit(r, c) : read_bert(r, c);
}

xt_status encoder_read_config(const char *path, encoder_config *out) {
    hf_config r;
    *out = (encoder_config){0};
    XT_TRY(hf_open(path, &r));
    if (!r.failed) read_all(&r, out);
    return hf_close(&r, path);
}
