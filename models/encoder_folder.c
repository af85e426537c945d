/* Folders of encoders; see encoder_folder.h. */
#include "models/encoder_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xtrain/program.h>

#include "models/hf_config.h"

/* --- how they are trained --- */
static xt_spec tokens(int64_t side, int64_t seq) {
    (void)side;
    return (xt_spec){XT_I64, {2, seq ? seq : 128}};
}
static xt_spec each_token(int64_t side, int64_t seq) {
    (void)side;
    return (xt_spec){XT_I64, {seq ? seq : 128}};
}
static xt_tensor token_loss(xt_tensor out, xt_tensor y) {
    return xt_cross_entropy(out, y, .axis = -1);
}
static xt_tensor class_loss(xt_tensor out, xt_tensor y) {
    return xt_cross_entropy(out, y);
}
/* What is trained already moves little; Devlin et al. took 2e-5 to 5e-5. */
static xt_optimizer *optimizer(xt_module *net, double lr) {
    return xt_adamw(net, .lr = lr >= 0 ? lr : 5e-5, .weight_decay = 0);
}

#define OF_TEXT .seq = 128, .context = 512, .vocab = 30522, .layers = 1, .width = 1, .heads = 1
/* What all of them share; `model_` is the variable, the rest what is its own. */
#define ENCODER(model_, ...)                           \
    const model model_ = {.optimizer = optimizer,      \
                          .batch = 8,                  \
                          .epochs = 3,                 \
                          .clip = 1,                   \
                          .cosine = true,              \
                          .config = &model_.own,       \
                          .checkpointed = &model_.own, \
                          __VA_ARGS__}
ENCODER(model_bert, .name = "bert", .help = "text: a folder of a masked language model", .net = bert, .x = tokens,
        .y = each_token, .loss = token_loss, .own = {OF_TEXT}, .tokens = true);
ENCODER(model_bert_classifier, .name = "bert", .help = "text: a folder of a classifier", .net = bert, .x = tokens,
        .y = model_label, .loss = class_loss, .own = {OF_TEXT}, .classifies = true);
ENCODER(model_vit, .name = "vit", .help = "images: a folder of a classifier", .net = vit, .x = model_picture,
        .y = model_label, .loss = class_loss, .own = {.side = 224, .classes = 1000}, .classifies = true);

const model *encoder_folder_model(const encoder_folder *f) {
    return f->c.vit ? &model_vit : f->c.classifies ? &model_bert_classifier : &model_bert;
}

/* --- reading --- */
/* Names by their numbers; where there are none they are transformers' LABEL_0, LABEL_1, ... */
static bool read_labels(const hf_config *r, encoder_folder *f) {
    const cJSON *names = hf_found(r, "id2label");
    for (int64_t k = 0; k < f->c.classes; k++) {
        char number[32], otherwise[32];
        snprintf(number, sizeof number, "%lld", (long long)k);
        snprintf(otherwise, sizeof otherwise, "LABEL_%lld", (long long)k);
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(names, number));
        if (!name) name = otherwise;
        if (!label_names_add(&f->labels, name, strlen(name))) return false;
    }
    return true;
}

static xt_status settle(const char *path, model_options *o, encoder_folder *f) {
    const encoder_config *c = &f->c;
    if (o->dropout > 0)
        return xt_status_new(XT_INVALID_ARGUMENT, "dropout = %g: an encoder's are what %s says", o->dropout, path);
    f->c.checkpoint = o->checkpoint;
    if (c->vit) {
        if ((o->side && o->side != c->side) || o->seq)
            return xt_status_new(XT_INVALID_ARGUMENT,
                                 "%s: the model sees images of %lld pixels a side; leave --side and "
                                 "--seq out",
                                 path, (long long)c->side);
        o->side = c->side;
        return NULL;
    }
    if (!o->seq) o->seq = c->context < model_bert.own.seq ? c->context : model_bert.own.seq;
    if (o->seq > c->context)
        return xt_status_new(XT_INVALID_ARGUMENT, "seq = %lld; %s sees %lld tokens at most", (long long)o->seq, path,
                             (long long)c->context);
    o->vocab = c->vocab;
    o->context = c->context;
    return NULL;
}

xt_status encoder_folder_read(const char *path, model_options *o, encoder_folder *out) {
    hf_config r;
    *out = (encoder_folder){0};
    XT_TRY(encoder_read_config(path, &out->c));
    if (out->c.classifies) {
        out->classes_there = out->c.classes;
        XT_TRY(hf_open(path, &r));
        bool ok = r.failed || read_labels(&r, out);
        XT_TRY(hf_close(&r, path));
        if (!ok) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for the classes of %s", path);
    }
    return settle(path, o, out);
}

void encoder_folder_free(encoder_folder *f) {
    label_names_free(&f->labels);
}

/* --- weights --- */
/* Older files call the norms' numbers gamma and beta; those of a network without a head leave its name out. A
 * classifier that does not fit is passed over. */
static void rules_of(const encoder_folder *f, bool fits, char *out, size_t n) {
    const char *trunk = f->c.vit ? "vit" : "bert";
    snprintf(out, n,
             "*.gamma=*.weight,*.beta=*.bias,embeddings.*=%s.embeddings.*,encoder.*=%s.encoder.*,pooler.*=%s.pooler.*,"
             "layernorm.*=%s.layernorm.*%s",
             trunk, trunk, trunk, trunk, fits ? "" : ",classifier.*=another.*");
}

/* The first of the report's names that is missing and may not be; NULL: none. */
static const char *really_missing(const xt_load_report *r, bool head_is_new) {
    for (const char *at = r->names; at && *at; at = strchr(at, '\n'), at += at != NULL) {
        bool head = strncmp(at, "- classifier.", 13) == 0 || strncmp(at, "- bert.pooler.", 14) == 0;
        if (*at == '-' && !(head && head_is_new)) return at + 2;
    }
    return NULL;
}

xt_status encoder_folder_load(const encoder_folder *f, xt_module *net, const char *path) {
    const encoder_config *c = &f->c;
    bool fits = !c->classifies || f->classes_there == c->classes;
    xt_spec text = {XT_I64, {1, 2, 1}}, picture = {XT_F32, {1, c->channels, c->side, c->side}};
    char rules[512];
    xt_load_report r;
    if (xt_module_tensors(net) == 0) XT_TRY(xt_module_build(net, c->vit ? picture : text));
    rules_of(f, fits, rules, sizeof rules);
    XT_TRY(xt_load_with(net, path, .strict = XT_OFF, .rename = rules, .report = &r));
    const char *missing = really_missing(&r, !fits);
    if (!missing) return NULL;
    return xt_status_new(XT_NOT_FOUND, "%s: %d of the model's tensors are missing, %.*s the first", path, r.missing,
                         (int)strcspn(missing, "\n"), missing);
}

/* --- config.json --- */
static bool put(cJSON *json, const char *name, cJSON *value) {
    cJSON_DeleteItemFromObjectCaseSensitive(json, name);
    return value && cJSON_AddItemToObject(json, name, value);
}

static bool put_labels(cJSON *json, const label_names *l) {
    cJSON *names = cJSON_CreateObject(), *numbers = cJSON_CreateObject();
    bool ok = put(json, "id2label", names) && put(json, "label2id", numbers);
    for (size_t i = 0; i < l->n && ok; i++) {
        char number[32];
        snprintf(number, sizeof number, "%zu", i);
        ok = cJSON_AddStringToObject(names, number, l->names[i]) &&
             cJSON_AddNumberToObject(numbers, l->names[i], (double)i);
    }
    cJSON_DeleteItemFromObjectCaseSensitive(json, "num_labels");
    return ok;
}

xt_status encoder_folder_write(const encoder_folder *f, const char *path) {
    const char *class = f->c.vit          ? "ViTForImageClassification"
                        : f->c.classifies ? "BertForSequenceClassification"
                                          : "BertForMaskedLM";
    char *text;
    size_t n;
    XT_TRY(xt_read_file(path, &text, &n));
    cJSON *json = cJSON_ParseWithLength(text, n);
    xt_text_free(text);
    bool ok = json && put(json, "architectures", cJSON_CreateStringArray(&class, 1)) &&
              (!f->c.classifies || put_labels(json, &f->labels));
    text = ok ? cJSON_Print(json) : NULL;
    xt_status s =
        text ? xt_write_file(path, text, strlen(text)) : xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for %s", path);
    cJSON_free(text);
    cJSON_Delete(json);
    return s;
}
