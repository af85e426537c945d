/* Reading a config.json: what is there is read or is an error, and the first error is kept.
 *
 *     hf_config r;
 *     XT_TRY(hf_open(path, &r));
 *     c.width = (int64_t)hf_size(&r, "hidden_size", 0);               0: it must be there
 *     c.eps = hf_number(&r, "layer_norm_eps", (hf_range){1e-30, 1, false}, 1e-12);
 *     return hf_close(&r, path);                                     the first error, with the path */
#ifndef XTRAIN_MODELS_HF_CONFIG_H
#define XTRAIN_MODELS_HF_CONFIG_H

#include <cjson/cJSON.h>

#include <xtrain/base.h>

typedef struct hf_config {
    const cJSON *json;
    xt_status failed; /* the first; the values behind it do not matter */
} hf_config;
typedef struct hf_range {
    double least, most;
    bool whole;
} hf_range;
enum { HF_MOST = 1 << 24 };
static const hf_range hf_sizes = {1, HF_MOST, true}, hf_shares = {0, 0.999999, false};

xt_status hf_open(const char *path, hf_config *out);
xt_status hf_close(hf_config *r, const char *path);
const cJSON *hf_found(const hf_config *r, const char *name); /* NULL: nothing, or null */
void hf_refuse(hf_config *r, const char *name, const cJSON *e, const char *expected);
double hf_number(hf_config *r, const char *name, hf_range in, double otherwise);
double hf_size(hf_config *r, const char *name, double otherwise);
double hf_layers(hf_config *r); /* "num_hidden_layers", of which each is recorded op by op: not more than 1000 */
bool hf_flag(hf_config *r, const char *name, bool otherwise);
const char *hf_text(hf_config *r, const char *name, const char *otherwise);
/* The dtype of the weights in the folder, as far as it is said; newer files call it "dtype". */
xt_dtype hf_dtype(hf_config *r);
/* 8 or 4: the folder's linear layers are integers, as xtrain convert --weights writes them ("quantization_config");
 * 0: floats. Other libraries' are an error. */
int hf_integer_bits(hf_config *r);
/* "eos_token_id", which ends a text: one number, or the first of a list. */
int64_t hf_stop_token(hf_config *r, int64_t otherwise);

#endif
