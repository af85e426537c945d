/* Folders of models; see folder.h. */
#include "models/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <xtrain/program.h>

#include "models/data_files.h"
#include "models/gpt2_files.h"

enum { SHARD = 5 };
static const double shard_unit = 1e9;

/* --- how Llama's family is trained --- */
static xt_spec tokens(int64_t side, int64_t seq) {
    (void)side;
    return (xt_spec){XT_I64, {seq ? seq : 64}};
}
static xt_tensor loss(xt_tensor out, xt_tensor y) {
    return xt_cross_entropy(out, y, .axis = -1);
}
/* What is trained already moves little: rates of 2e-5 and no weight decay are usual. */
static xt_optimizer *optimizer(xt_module *net, double lr) {
    return xt_adamw(net, .lr = lr >= 0 ? lr : 2e-5, .weight_decay = 0);
}
const model model_llama = {.name = "llama",
                           .help = "text: a model's folder of Hugging Face's",
                           .net = llama,
                           .x = tokens,
                           .y = tokens,
                           .loss = loss,
                           .optimizer = optimizer,
                           .batch = 1,
                           .epochs = 1,
                           .clip = 1,
                           .cosine = true,
                           .own = {.seq = 512, .context = 2048, .vocab = 32000, .layers = 1, .width = 1, .heads = 1},
                           .config = &model_llama.own,
                           .checkpointed = &model_llama.own,
                           .tokens = true};

/* T5's: what is read, and what is said, of so many tokens each. */
static xt_spec read_and_said(int64_t side, int64_t seq) {
    (void)side;
    return (xt_spec){XT_I64, {2 * (seq ? seq : 64)}};
}
/* Raffel et al. go on with 1e-3 of Adafactor; of AdamW 1e-4 is usual. */
static xt_optimizer *t5_optimizer(xt_module *net, double lr) {
    return xt_adamw(net, .lr = lr >= 0 ? lr : 1e-4, .weight_decay = 0);
}
const model model_t5 = {.name = "t5",
                        .help = "text from text: a model's folder of Hugging Face's",
                        .net = t5,
                        .x = read_and_said,
                        .y = tokens,
                        .loss = loss,
                        .optimizer = t5_optimizer,
                        .batch = 8,
                        .epochs = 1,
                        .clip = 1,
                        .cosine = true,
                        .own = {.seq = 512, .context = 2048, .vocab = 32128, .layers = 1, .width = 1, .heads = 1},
                        .config = &model_t5.own,
                        .checkpointed = &model_t5.own,
                        .tokens = true};

const model *model_folder_kind(const char *name) {
    static const char *const family[] = {"llama", "mistral", "qwen2", "qwen3"};
    for (size_t i = 0; i < sizeof family / sizeof *family; i++)
        if (strcmp(name, family[i]) == 0) return &model_llama;
    if (strcmp(name, "bert") == 0) return &model_bert;
    if (strcmp(name, "t5") == 0 || strcmp(name, "mt5") == 0) return &model_t5;
    return strcmp(name, "gpt2") == 0 ? &model_gpt2 : strcmp(name, "vit") == 0 ? &model_vit : NULL;
}

/* --- reading --- */
xt_status model_read_json(const char *path, cJSON **out) {
    char *text;
    size_t n;
    *out = NULL;
    XT_TRY(xt_read_file(path, &text, &n));
    *out = cJSON_ParseWithLength(text, n);
    xt_text_free(text);
    if (cJSON_IsObject(*out)) return NULL;
    cJSON_Delete(*out);
    *out = NULL;
    return xt_status_new(XT_DATA_LOSS, "%s is no JSON object", path);
}

xt_status model_folder_kind_of(const char *dir, const model **out) {
    char path[4200];
    cJSON *json;
    if ((size_t)snprintf(path, sizeof path, "%s/config.json", dir) >= sizeof path)
        return xt_status_new(XT_INVALID_ARGUMENT, "the path %.100s... is too long", dir);
    XT_TRY(model_read_json(path, &json));
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "model_type"));
    *out = type ? model_folder_kind(type) : NULL;
    cJSON_Delete(json);
    return NULL;
}

static xt_status check_type(const char *name, const char *path, const cJSON *json) {
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "model_type"));
    if (!type || !model_folder_kind(type))
        return xt_status_new(
            XT_UNIMPLEMENTED,
            "%s: the model type \"%.40s\" is not known; llama, mistral, qwen2, qwen3, gpt2, t5, mt5, bert and vit "
            "are",
            path, type ? type : "(none)");
    bool family = strcmp(name, "llama") == 0 || strcmp(name, "t5") == 0;
    if (strcmp(type, name) == 0 || (family && model_folder_kind(type) == model_folder_kind(name))) return NULL;
    return xt_status_new(XT_INVALID_ARGUMENT, "%s is of the model type %s, and %s was asked for", path, type, name);
}

/* What changes a GPT-2's numbers and is not computed here. */
static xt_status check_gpt2(const char *path, const cJSON *json, int64_t width) {
    static const struct { const char *name, *known; } texts[] = {{"activation_function", "gelu_new"}};
    static const char *const off[] = {"scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn",
                                      "add_cross_attention"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *said = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, texts[i].name));
        if (said && strcmp(said, texts[i].known) != 0)
            return xt_status_new(XT_UNIMPLEMENTED, "%s: \"%s\" is \"%.40s\"; %s is known", path, texts[i].name, said,
                                 texts[i].known);
    }
    for (size_t i = 0; i < sizeof off / sizeof *off; i++)
        if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, off[i])))
            return xt_status_new(XT_UNIMPLEMENTED, "%s: \"%s\" is true; false is known", path, off[i]);
    const cJSON *eps = cJSON_GetObjectItemCaseSensitive(json, "layer_norm_epsilon"),
                *inner = cJSON_GetObjectItemCaseSensitive(json, "n_inner"),
                *tied = cJSON_GetObjectItemCaseSensitive(json, "tie_word_embeddings");
    if (cJSON_IsNumber(eps) && eps->valuedouble != 1e-5)
        return xt_status_new(XT_UNIMPLEMENTED, "%s: \"layer_norm_epsilon\" is %g; 1e-5 is known", path,
                             eps->valuedouble);
    if (cJSON_IsNumber(inner) && inner->valuedouble != 4.0 * (double)width)
        return xt_status_new(XT_UNIMPLEMENTED, "%s: \"n_inner\" is %g; four times \"n_embd\", %lld, is known", path,
                             inner->valuedouble, 4 * (long long)width);
    if (cJSON_IsFalse(tied))
        return xt_status_new(XT_UNIMPLEMENTED,
                             "%s: \"tie_word_embeddings\" is false; a GPT-2's output layer is its "
                             "embedding here",
                             path);
    return NULL;
}

static xt_status read_gpt2(const char *path, const cJSON *json, model_options *o, model_folder *f) {
    const cJSON *stop = cJSON_GetObjectItemCaseSensitive(json, "eos_token_id");
    f->stop = cJSON_IsNumber(stop) && stop->valuedouble >= 0 && stop->valuedouble < 1 << 24 ? stop->valueint : -1;
    f->targets = "c_attn";
    f->all_linear = "c_attn,c_proj,c_fc";
    XT_TRY(gpt2_read_config(f->dir, o));
    o->window = 0;
    return check_gpt2(path, json, o->width);
}

static xt_status read_llama(const char *path, model_options *o, model_folder *f) {
    f->form = FOLDER_LLAMA;
    f->targets = "q_proj,v_proj";
    f->all_linear = "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj";
    XT_TRY(llama_read_config(path, &f->llama));
    f->stop = f->llama.stop;
    if (o->dropout > 0)
        return xt_status_new(XT_INVALID_ARGUMENT, "dropout = %g: Llama's family has none (--lora has one of its own)",
                             o->dropout);
    const model_options asked = *o;
    int64_t seq = asked.seq ? asked.seq : model_llama.own.seq;
    if (seq > f->llama.context && !asked.seq) seq = f->llama.context;
    if (seq > f->llama.context)
        return xt_status_new(XT_INVALID_ARGUMENT, "seq = %lld; %s sees %lld tokens at most", (long long)seq, path,
                             (long long)f->llama.context);
    llama_generates(&f->llama, seq > 2048 ? seq : 2048, o);
    o->seq = seq;
    o->checkpoint = f->llama.checkpoint = asked.checkpoint;
    return NULL;
}

static xt_status read_t5(const char *path, model_options *o, model_folder *f) {
    const model_options asked = *o;
    int64_t seq = asked.seq ? asked.seq : model_t5.own.seq;
    f->form = FOLDER_T5;
    f->targets = "q,v";
    XT_TRY(t5_read_config(path, &f->t5));
    f->all_linear = f->t5.gated ? "q,k,v,o,wi_0,wi_1,wo" : "q,k,v,o,wi,wo";
    f->stop = f->t5.stop;
    if (o->dropout > 0) f->t5.dropout = o->dropout;
    t5_generates(&f->t5, seq > 2048 ? seq : 2048, o);
    o->seq = seq;
    o->dropout = asked.dropout;
    o->checkpoint = f->t5.checkpoint = asked.checkpoint;
    return NULL;
}

static xt_status read_encoder(const char *path, model_options *o, model_folder *f) {
    f->form = FOLDER_ENCODER;
    f->stop = -1;
    XT_TRY(encoder_folder_read(path, o, &f->encoder));
    f->model = encoder_folder_model(&f->encoder);
    return NULL;
}

xt_status model_folder_read(const char *name, const char *dir, model_options *o, model_folder *out) {
    char path[4200];
    cJSON *json;
    *out = (model_folder){.model = model_folder_kind(name)};
    if (o->layers || o->width || o->heads || o->context)
        return xt_status_new(XT_INVALID_ARGUMENT,
                             "layers, width, heads and context are what %s/config.json says; "
                             "leave them out",
                             dir);
    if ((size_t)snprintf(out->dir, sizeof out->dir, "%s", dir) >= sizeof out->dir ||
        (size_t)snprintf(path, sizeof path, "%s/config.json", dir) >= sizeof path)
        return xt_status_new(XT_INVALID_ARGUMENT, "the path %.100s... is too long", dir);
    XT_TRY(model_read_json(path, &json));
    xt_status s = check_type(name, path, json);
    if (!s) s = model_folder_bits(dir, &out->bits);
    if (!s)
        s = out->model == &model_llama  ? read_llama(path, o, out)
            : out->model == &model_gpt2 ? read_gpt2(path, json, o, out)
            : out->model == &model_t5   ? read_t5(path, o, out)
                                        : read_encoder(path, o, out);
    cJSON_Delete(json);
    if (!s && !gpt2_find_weights(dir, out->weights, sizeof out->weights))
        s = xt_status_new(XT_NOT_FOUND,
                          "%s has no weights: model.safetensors, model.safetensors.index.json or *.ckpt is expected "
                          "(files *.bin of PyTorch's are not read; save_pretrained of the library writes safetensors)",
                          dir);
    return s;
}

void *model_folder_user(model_folder *f, model_options *o) {
    return f->form == FOLDER_LLAMA     ? (void *)&f->llama
           : f->form == FOLDER_ENCODER ? (void *)&f->encoder.c
           : f->form == FOLDER_T5      ? (void *)&f->t5
                                       : (void *)o;
}

xt_status model_folder_load(model_folder *f, xt_module *net) {
    if (f->form == FOLDER_ENCODER) return encoder_folder_load(&f->encoder, net, f->weights);
    if (f->form == FOLDER_T5) XT_TRY(t5_find_tied(&f->t5, f->weights));
    if (f->form == FOLDER_T5) return t5_load(&f->t5, net, f->weights);
    return f->form == FOLDER_LLAMA ? llama_load(net, f->weights) : gpt2_load(net, f->weights);
}

/* --- writing --- */
/* What describes a model beside its weights: texts, and vocabularies of one file. */
static bool goes_along(const char *name, bool config) {
    if (name[0] == '.' || data_ends_in(name, ".index.json") || strncmp(name, "adapter_", 8) == 0) return false;
    if (!config && (strcmp(name, "config.json") == 0 || strcmp(name, "generation_config.json") == 0)) return false;
    return data_ends_in(name, ".json") || data_ends_in(name, ".txt") || data_ends_in(name, ".jinja") ||
           strcmp(name, "tokenizer.model") == 0 || strcmp(name, "spiece.model") == 0;
}

static xt_status copy_files(const char *from, const char *to, bool config) {
    struct stat a, b;
    if (stat(from, &a) == 0 && stat(to, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino) return NULL;
    DIR *d = opendir(from);
    xt_status s = d ? NULL : xt_status_new(XT_NOT_FOUND, "cannot read the folder %s: %s", from, strerror(errno));
    for (struct dirent *e; !s && d && (e = readdir(d));) {
        char source[4400], target[4400], *text;
        size_t n;
        if (!goes_along(e->d_name, config)) continue;
        if ((size_t)snprintf(source, sizeof source, "%s/%s", from, e->d_name) >= sizeof source ||
            (size_t)snprintf(target, sizeof target, "%s/%s", to, e->d_name) >= sizeof target || data_is_folder(source))
            continue;
        if ((s = xt_read_file(source, &text, &n))) break;
        s = xt_write_file(target, text, n);
        xt_text_free(text);
    }
    if (d) closedir(d);
    return s;
}

xt_status model_folder_copy(const char *from, const char *to) {
    return copy_files(from, to, true);
}

/* config.json names the dtype that from_pretrained gives the model: "dtype", in older files "torch_dtype". */
xt_status model_folder_say_dtype(const char *dir, xt_dtype dtype) {
    static const char *const names[] = {"dtype", "torch_dtype"};
    const char *now = dtype == XT_BF16  ? "bfloat16"
                      : dtype == XT_F16 ? "float16"
                      : dtype == XT_F64 ? "float64"
                                        : "float32";
    char path[4200];
    cJSON *json;
    bool changed = false, said_any = false, ok = true;
    if ((size_t)snprintf(path, sizeof path, "%s/config.json", dir) >= sizeof path || access(path, F_OK) != 0)
        return NULL;
    XT_TRY(model_read_json(path, &json));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *said = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, names[i]));
        said_any = said_any || said;
        if (!said || strcmp(said, now) == 0) continue;
        ok = ok && cJSON_ReplaceItemInObjectCaseSensitive(json, names[i], cJSON_CreateString(now));
        changed = true;
    }
    if (!said_any && dtype != XT_F32) { /* f32 is what is taken of a file that says nothing */
        ok = cJSON_AddStringToObject(json, names[0], now) != NULL;
        changed = true;
    }
    char *text = ok && changed ? cJSON_Print(json) : NULL;
    xt_status s = text      ? xt_write_file(path, text, strlen(text))
                  : changed ? xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for %s", path)
                            : NULL;
    cJSON_free(text);
    cJSON_Delete(json);
    return s;
}

static xt_status describe(const model_folder *f, const xt_module *net, const char *dir) {
    char path[4200];
    XT_TRY(model_folder_copy(f->dir, dir));
    snprintf(path, sizeof path, "%s/config.json", dir);
    if (f->form == FOLDER_ENCODER) XT_TRY(encoder_folder_write(&f->encoder, path));
    return model_folder_say_dtype(dir, xt_dtype_of(xt_module_tensor(net, 0)));
}

/* The first of two, of which the other may be a consequence. */
static xt_status first_of(xt_status a, xt_status b) {
    if (a) xt_status_free(b);
    return a ? a : b;
}

/* All ranks save together, also where rank 0, who alone writes, has met an error before. */
xt_status model_folder_save(const model_folder *f, xt_module *net, const char *dir) {
    char path[4200];
    bool writes = xt_rank() == 0;
    xt_status s = writes ? xt_make_folder(dir, NULL) : NULL;
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    s = first_of(s, f->form != FOLDER_GPT2 ? xt_save_with(net, path, .max_shard_size = (int64_t)(SHARD * shard_unit))
                                           : gpt2_save(net, dir));
    return s || !writes ? s : describe(f, net, dir);
}

/* --- adapters --- */
static const char *prefix_of(const model_folder *f) {
    return f->form == FOLDER_GPT2 ? "transformer." : "";
}

xt_status model_folder_save_adapter(const model_folder *f, xt_module *net, const char *dir) {
    bool writes = xt_rank() == 0;
    xt_status s = writes ? xt_make_folder(dir, NULL) : NULL;
    s = first_of(s, xt_lora_save(net, dir, .prefix = prefix_of(f), .base_model = f->dir,
                                 .task_type = f->form == FOLDER_T5 ? "SEQ_2_SEQ_LM" : NULL,
                                 .fan_in_fan_out = f->form == FOLDER_GPT2 ? XT_ON : XT_OFF));
    return s || !writes ? s : copy_files(f->dir, dir, false);
}

static xt_status build_again(const model_folder *f, xt_module *net) {
    return f->form == FOLDER_T5 ? t5_build(&f->t5, net) : xt_module_build(net, (xt_spec){XT_I64, {1, 1}});
}

xt_status model_folder_load_adapter(const model_folder *f, xt_module *net, const char *dir) {
    XT_TRY(xt_lora_load(net, dir, .prefix = prefix_of(f)));
    return build_again(f, net);
}

/* "q_proj" -> "*.q_proj.weight"; false when it is too long */
static bool pattern_of(const char *name, size_t n, char *out, size_t size) {
    bool plain = !memchr(name, '*', n) && !memchr(name, '?', n),
         whole = n > 7 && memcmp(name + n - 7, ".weight", 7) == 0;
    return (size_t)snprintf(out, size, "%s%.*s%s", plain ? "*." : "", (int)n, name, whole ? "" : ".weight") < size;
}

static xt_status no_target(const model_folder *f, const char *target, size_t n) {
    return xt_status_new(XT_NOT_FOUND,
                         "no linear layer's name fits the target '%.*s'; the model's are %s; all-linear takes all of "
                         "them",
                         (int)n, target, f->all_linear);
}

/* Before a layer gets an adapter: of a name that fits nothing the library would warn, who counts with layers to come.
 */
static xt_status check_targets(const model_folder *f, xt_module *net, const char *targets) {
    for (const char *at = targets; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
        size_t n = strcspn(at, ",");
        char pattern[512];
        if (!n || !pattern_of(at, n, pattern, sizeof pattern) || xt_module_next(net, pattern, 0) < 0)
            return no_target(f, at, n);
    }
    return NULL;
}

static xt_status each_target(const model_folder *f, xt_module *net, const char *targets, const xt_lora_opts *o) {
    for (const char *at = targets; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
        size_t n = strcspn(at, ",");
        char pattern[512];
        bool fits = n && pattern_of(at, n, pattern, sizeof pattern);
        if (o && fits && !xt_lora_at(XT_HERE, net, pattern, *o)) return model_pending_error();
        if (o && fits) continue;
        bool found = false;
        for (int i = -1; fits && !found && (i = xt_module_next(net, pattern, i + 1)) >= 0;) {
            const char *name = xt_module_tensor_name(net, i);
            char matrix[1100];
            snprintf(matrix, sizeof matrix, "%.*slora_A.weight", (int)(strlen(name) - 6), name);
            found = xt_module_next(net, matrix, 0) >= 0;
        }
        if (!found) return no_target(f, at, n);
    }
    return NULL;
}

xt_status model_folder_lora(const model_folder *f, xt_module *net, const char *targets, xt_lora_opts o) {
    if (!targets || !*targets) targets = f->targets;
    if (strcmp(targets, "all-linear") == 0) targets = f->all_linear;
    XT_TRY(check_targets(f, net, targets));
    XT_TRY(each_target(f, net, targets, &o));
    XT_TRY(build_again(f, net));
    return each_target(f, net, targets, NULL);
}
