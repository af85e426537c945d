/* config.json of T5's kind. */
#include <string.h>

#include "models/hf_config.h"
#include "models/t5.h"

static const hf_range buckets_go = {4, 4096, true}, distances_go = {4, 1 << 20, true}, tokens_go = {0, HF_MOST, true};

/* "relu", or "gated-gelu": what a layer in the middle of the MLP does, and whether another one is multiplied with it.
 * The gelu of gated ones is the approximate one. */
static void activation(hf_config *r, t5_config *c) {
    static const struct {
        const char *name;
        t5_act act;
    } known[] = {{"relu", T5_RELU}, {"gelu", T5_GELU}, {"gelu_new", T5_GELU_NEW}, {"silu", T5_SILU}};
    const char *name = hf_text(r, "feed_forward_proj", "relu"), *act = name;
    c->gated = strncmp(name, "gated-", 6) == 0;
    if (c->gated) act += 6;
    if (c->gated && strcmp(act, "gelu") == 0) act = "gelu_new";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(act, known[i].name) != 0) continue;
        c->act = known[i].act;
        return;
    }
    if (!r->failed)
        r->failed = xt_status_new(XT_UNIMPLEMENTED,
                                  "\"feed_forward_proj\" is \"%.40s\"; relu, gelu, gelu_new and silu are known, and "
                                  "the same behind \"gated-\"",
                                  name);
}

static void sizes(hf_config *r, t5_config *c) {
    static const struct {
        const char *name;
        size_t at;
    } rows[] = {{"vocab_size", offsetof(t5_config, vocab)},
                {"d_model", offsetof(t5_config, width)},
                {"d_ff", offsetof(t5_config, hidden)},
                {"d_kv", offsetof(t5_config, head_dim)},
                {"num_heads", offsetof(t5_config, heads)}};
    static const hf_range layers_go = {1, 1000, true};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        *(int64_t *)((char *)c + rows[i].at) = (int64_t)hf_size(r, rows[i].name, 0);
    c->layers = (int64_t)hf_number(r, "num_layers", layers_go, 6);
    c->decoder_layers = (int64_t)hf_number(r, "num_decoder_layers", layers_go, (double)c->layers);
    c->buckets = (int64_t)hf_number(r, "relative_attention_num_buckets", buckets_go, 32);
    c->distance = (int64_t)hf_number(r, "relative_attention_max_distance", distances_go, 128);
    if (!r->failed && (c->buckets % 4 || c->distance <= c->buckets / 2))
        r->failed = xt_status_new(XT_DATA_LOSS,
                                  "\"relative_attention_num_buckets\" is %lld, \"relative_attention_max_distance\" "
                                  "%lld; a multiple of 4, and more than half of it are expected",
                                  (long long)c->buckets, (long long)c->distance);
}

static void rest(hf_config *r, t5_config *c) {
    const char *type = hf_text(r, "model_type", "(none)");
    c->eps = hf_number(r, "layer_norm_epsilon", (hf_range){1e-30, 1, false}, 1e-6);
    c->dropout = hf_number(r, "dropout_rate", hf_shares, 0.1);
    c->tied = hf_flag(r, "tie_word_embeddings", true);
    /* T5 scales, T5 v1.1 and mT5 do not: newer files say so, in older ones that is whether the embedding is tied. */
    c->scaled = hf_flag(r, "scale_decoder_outputs", c->tied && strcmp(type, "mt5") != 0);
    double pad = hf_number(r, "pad_token_id", tokens_go, 0);
    c->start = (int64_t)hf_number(r, "decoder_start_token_id", tokens_go, pad);
    c->stop = hf_stop_token(r, 1);
    c->dtype = hf_dtype(r);
    hf_integer_bits(r);
    if (r->failed) return;
    if (strcmp(type, "t5") != 0 && strcmp(type, "mt5") != 0)
        r->failed = xt_status_new(XT_UNIMPLEMENTED, "the model type \"%.40s\" is not known; t5 and mt5 are", type);
    else if (!hf_flag(r, "is_encoder_decoder", true))
        r->failed = xt_status_new(XT_UNIMPLEMENTED, "\"is_encoder_decoder\" is false; true is known");
    else if (c->start >= c->vocab)
        r->failed = xt_status_new(XT_DATA_LOSS, "\"decoder_start_token_id\" is %lld; \"vocab_size\" is %lld",
                                  (long long)c->start, (long long)c->vocab);
}

xt_status t5_read_config(const char *path, t5_config *out) {
    hf_config r;
    *out = (t5_config){0};
    XT_TRY(hf_open(path, &r));
    if (!r.failed) sizes(&r, out);
    if (!r.failed) activation(&r, out);
    if (!r.failed) rest(&r, out);
    return hf_close(&r, path);
}
