/* Adapters as peft stores them: a folder with adapter_model.safetensors, whose tensors are called
 * base_model.model.LAYER.lora_A.weight and .lora_B.weight, and adapter_config.json. */
#include "nn/nn.h"

#include <cjson/cJSON.h>
#include <math.h>

#include "base/saved.h"
#include "format/safetensors.h"
#include "lazy/mesh/mesh.h"

static const char weights_name[] = "adapter_model.safetensors", config_name[] = "adapter_config.json",
                  outer[] = "base_model.model.";

/* --- reading --- */
void lora_close(lora_file *l) {
    for (size_t i = 0; i < l->n; i++) base_free(l->parts[i].layer);
    base_free(l->parts);
    st_close(l->f);
    *l = (lora_file){0};
}

static bool is_true(const cJSON *json, const char *name) {
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, name));
}

/* One of the file's numbers: for all layers, and for those that a pattern names. */
typedef struct layer_number {
    const cJSON *common;
    map *by_pattern; /* place in the file + 1 */
    const cJSON **patterns;
} layer_number;

static void number_close(layer_number *n) {
    map_free(n->by_pattern, NULL);
    base_free(n->patterns);
}

/* peft reads a pattern as a regular expression; names with their dots mean what they say. */
enum { MOST_PARTS = 64 };
static bool is_name(const char *pattern) {
    static const char others[] = "^$*+?()[]{}|\\";
    int parts = 1;
    for (const char *p = pattern; *p; p++) parts += *p == '.';
    return *pattern && !pattern[strcspn(pattern, others)] && parts <= MOST_PARTS;
}

/* number_close, in any case. */
static xt_status number_open(const char *path, const cJSON *json, const char *patterns, const char *name,
                             layer_number *out) {
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(json, patterns), *e;
    uintptr_t n = 0;
    *out = (layer_number){.common = cJSON_GetObjectItemCaseSensitive(json, name), .by_pattern = map_new()};
    if (!out->by_pattern) return status_oom(64, path);
    if (!cJSON_IsObject(all)) return NULL;
    out->patterns = base_calloc((size_t)cJSON_GetArraySize(all) + 1, sizeof *out->patterns);
    if (!out->patterns) return status_oom(64, path);
    cJSON_ArrayForEach(e, all) {
        size_t k = strlen(e->string);
        if (!is_name(e->string))
            return status_new(XT_UNIMPLEMENTED, NULL,
                              "%s: \"%s\" has \"%.60s\"; names of layers or their ends, as layers.0.q_proj or q_proj, "
                              "are known",
                              path, patterns, e->string);
        out->patterns[n++] = e;
        if (!map_get(out->by_pattern, e->string, k) && !map_put(out->by_pattern, e->string, k, (void *)n, NULL))
            return status_oom(k, path);
    }
    return NULL;
}

/* As peft: of the patterns that the layer's name ends with the first in the file. */
static double number_for(const layer_number *n, const char *layer) {
    const char *end = layer + strlen(layer);
    uintptr_t first = 0;
    int parts = 0;
    for (const char *p = end; p >= layer && parts < MOST_PARTS && n->patterns; p--) {
        if (p > layer && p[-1] != '.') continue;
        uintptr_t at = (uintptr_t)map_get(n->by_pattern, p, (size_t)(end - p));
        if (at && (!first || at < first)) first = at;
        parts += p < end;
    }
    const cJSON *one = first ? n->patterns[first - 1] : n->common;
    return cJSON_IsNumber(one) ? one->valuedouble : NAN;
}

/* Ways to begin that leave the base model's weights as they are; others change them, and the adapter alone does not say
 * how. */
static bool known_beginning(const cJSON *e) {
    static const char *const known[] = {"gaussian", "eva", "orthogonal"};
    if (!e || cJSON_IsBool(e) || cJSON_IsNull(e)) return true;
    for (size_t i = 0; i < BASE_COUNT(known); i++)
        if (cJSON_IsString(e) && strcmp(e->valuestring, known[i]) == 0) return true;
    return false;
}

/* Relatives of LoRA's, which add something else to the layer, or to some tokens only. */
static xt_status check_config(const char *path, const cJSON *json) {
    static const char *const others[] = {"use_dora",      "use_qalora",        "use_bdlora",
                                         "kasa_config",   "monteclora_config", "alora_invocation_tokens",
                                         "velora_config", "layer_replication", "arrow_config"};
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(json, "peft_type"),
                *begins = cJSON_GetObjectItemCaseSensitive(json, "init_lora_weights");
    if (!cJSON_IsObject(json)) return status_new(XT_DATA_LOSS, NULL, "%s is no JSON object", path);
    if (!cJSON_IsString(type) || strcmp(type->valuestring, "LORA") != 0)
        return status_new(XT_UNIMPLEMENTED, NULL, "%s: \"peft_type\" is \"%.40s\"; LORA is known", path,
                          cJSON_IsString(type) ? type->valuestring : "(none)");
    for (size_t i = 0; i < BASE_COUNT(others); i++) {
        const cJSON *e = cJSON_GetObjectItemCaseSensitive(json, others[i]);
        if (e && !cJSON_IsNull(e) && !cJSON_IsFalse(e))
            return status_new(XT_UNIMPLEMENTED, NULL,
                              "%s: \"%s\" is set: such an adapter is computed otherwise; plain LoRA is known", path,
                              others[i]);
    }
    if (!known_beginning(begins))
        return status_new(
            XT_UNIMPLEMENTED, NULL,
            "%s: \"init_lora_weights\" is \"%.40s\", which changes the base model's weights too; save the "
            "adapter with peft's path_initial_model_for_weight_conversion first",
            path, cJSON_IsString(begins) ? begins->valuestring : "?");
    return NULL;
}

/* The part that a tensor is of, made if need be; *out_a says which of the two it is. by_layer: index + 1. */
static lora_part *part_of(lora_file *l, map *by_layer, const char *name, bool *out_a) {
    static const char *const ends[] = {"." NN_LORA_A, "." NN_LORA_B};
    size_t n = strlen(name), skip = strncmp(name, outer, sizeof outer - 1) == 0 ? sizeof outer - 1 : 0;
    for (int i = 0; i < 2; i++) {
        size_t k = strlen(ends[i]);
        if (n <= k + skip || strcmp(name + n - k, ends[i]) != 0) continue;
        *out_a = i == 0;
        size_t length = n - k - skip, at = (size_t)(uintptr_t)map_get(by_layer, name + skip, length);
        if (at) return &l->parts[at - 1];
        lora_part made = {.layer = base_strndup(name + skip, length)};
        if (!made.layer || !VEC_PUSH(l->parts, l->n, l->cap, made)) {
            base_free(made.layer);
            return NULL;
        }
        return map_put(by_layer, made.layer, length, (void *)(uintptr_t)l->n, NULL) ? &l->parts[l->n - 1] : NULL;
    }
    return NULL;
}

static xt_status take_tensors(lora_file *l, map *by_layer, const char *path) {
    for (size_t i = 0; i < st_count(l->f); i++) {
        const st_entry *e = st_at(l->f, i);
        bool is_a = false;
        if (strcmp(e->name, ST_SUMS) == 0) continue;
        lora_part *p = part_of(l, by_layer, e->name, &is_a);
        if (!p)
            return status_new(XT_UNIMPLEMENTED, NULL,
                              "%s: tensor %.200s is neither a " NN_LORA_A " nor a " NN_LORA_B
                              "; adapters of linear layers are known, without biases, embeddings or whole modules",
                              path, e->name);
        if (e->rank != 2 || !ir_dtype_is_float(e->dtype) || e->dims[0] < 1 || e->dims[1] < 1)
            return status_new(XT_DATA_LOSS, NULL, "%s: tensor %.200s is no matrix of floats", path, e->name);
        const st_entry **place = is_a ? &p->a : &p->b;
        if (*place)
            return status_new(XT_DATA_LOSS, NULL, "%s: %.200s and %.200s are the same matrix; one of them is expected",
                              path, (*place)->name, e->name);
        *place = e;
    }
    for (size_t i = 0; i < l->n; i++) {
        const lora_part *p = &l->parts[i];
        if (!p->a || !p->b)
            return status_new(XT_DATA_LOSS, NULL, "%s: %.200s has a %s and no %s", path, p->layer,
                              p->a ? NN_LORA_A : NN_LORA_B, p->a ? NN_LORA_B : NN_LORA_A);
        if (p->a->dims[0] != p->b->dims[1])
            return status_new(XT_DATA_LOSS, NULL,
                              "%s: %.200s: " NN_LORA_A " is [%lld,%lld], " NN_LORA_B
                              " [%lld,%lld]; the first's rows must be as many as the second's columns",
                              path, p->layer, (long long)p->a->dims[0], (long long)p->a->dims[1],
                              (long long)p->b->dims[0], (long long)p->b->dims[1]);
    }
    return l->n ? NULL : status_new(XT_NOT_FOUND, NULL, "%s holds no tensor", path);
}

static xt_status take_number_of_layers(lora_file *l, const char *path, const layer_number *ranks,
                                       const layer_number *alphas) {
    for (size_t i = 0; i < l->n; i++) {
        lora_part *p = &l->parts[i];
        double r = number_for(ranks, p->layer);
        p->r = p->a->dims[0];
        p->alpha = number_for(alphas, p->layer);
        if (!isfinite(p->alpha) || !(r == (double)p->r))
            return status_new(XT_DATA_LOSS, NULL,
                              "%s: for %.200s \"r\" is %g and \"lora_alpha\" %g; its " NN_LORA_A
                              " has %lld rows, which \"r\" must be, and the other a number",
                              path, p->layer, r, p->alpha, (long long)p->r);
    }
    return NULL;
}

static xt_status take_numbers(lora_file *l, const char *path, const cJSON *json) {
    const cJSON *dropout = cJSON_GetObjectItemCaseSensitive(json, "lora_dropout");
    layer_number ranks = {0}, alphas = {0};
    l->rslora = is_true(json, "use_rslora");
    l->fan_in_fan_out = is_true(json, "fan_in_fan_out");
    l->dropout = cJSON_IsNumber(dropout) ? dropout->valuedouble : 0;
    if (!(l->dropout >= 0 && l->dropout < 1))
        return status_new(XT_DATA_LOSS, NULL, "%s: \"lora_dropout\" is %g; from 0 to less than 1", path, l->dropout);
    xt_status s = number_open(path, json, "rank_pattern", "r", &ranks);
    if (!s) s = number_open(path, json, "alpha_pattern", "lora_alpha", &alphas);
    if (!s) s = take_number_of_layers(l, path, &ranks, &alphas);
    number_close(&ranks);
    number_close(&alphas);
    return s;
}

xt_status lora_open(const char *dir, lora_file *out) {
    char *text = NULL, *config = path_join(dir, config_name), *weights = path_join(dir, weights_name);
    size_t n;
    cJSON *json = NULL;
    bool has_sums;
    map *by_layer = map_new();
    *out = (lora_file){0};
    xt_status s = config && weights && by_layer ? file_read_all(config, &text, &n) : status_oom(64, dir);
    if (!s) json = cJSON_ParseWithLength(text, n);
    if (!s) s = check_config(config, json);
    if (!s) s = st_open(weights, &out->f);
    if (!s) s = st_check_sums(out->f, &has_sums);
    if (!s) s = take_tensors(out, by_layer, weights);
    if (!s) s = take_numbers(out, config, json);
    if (s) lora_close(out);
    cJSON_Delete(json);
    map_free(by_layer, NULL);
    base_free(text);
    base_free(config);
    base_free(weights);
    return s;
}

xt_status lora_read(const lora_file *l, const st_entry *e, float **out) {
    size_t n = (size_t)(e->end - e->begin);
    nn_loaded v = {ir_tensor(e->dtype, (size_t)e->rank, e->dims), base_malloc(n ? n : 1)};
    const ir_type *want = ir_tensor(XT_F32, (size_t)e->rank, e->dims);
    xt_status s = v.data && v.type && want ? st_read(l->f, e, v.data, n) : status_oom(n, e->name);
    if (!s) s = nn_convert(&v, want);
    if (s) base_free(v.data);
    *out = s ? NULL : v.data;
    return s;
}

/* --- into a module --- */
static const nn_entry *weight_of(const xt_module *m, const char *layer, const char *leaf) {
    str name = STR_INIT;
    str_printf(&name, "%s.%s", layer, leaf);
    uintptr_t i = name.failed ? 0 : (uintptr_t)map_get(m->root->by_name, str_cstr(&name), name.len);
    str_free(&name);
    return i ? &m->root->entries[i - 1] : NULL;
}

/* The layer's name in the module; NULL: it is of another model. */
static const char *own_name(const lora_part *p, const char *prefix) {
    size_t n = strlen(prefix);
    return strncmp(p->layer, prefix, n) == 0 ? p->layer + n : NULL;
}

/* Of integers [rows,groups,bytes]: the matrix that they stand for. */
static const ir_type *whole_type(const nn_entry *w) {
    const int64_t *dims = w->type->dims;
    return ir_tensor(XT_F32, 2, (int64_t[]){dims[0], dims[1] * dims[2] * (8 / w->bits)});
}

static xt_status fits_module(const xt_module *m, const char *dir, const lora_part *p, const char *prefix) {
    const char *layer = own_name(p, prefix);
    const nn_entry *w = layer ? weight_of(m, layer, "weight") : NULL;
    if (!w)
        return status_new(XT_NOT_FOUND, NULL, "%s: the module has no %s%s.weight, which the adapter has matrices for",
                          dir, layer ? "" : prefix, layer ? layer : p->layer);
    const ir_type *t = w->bits ? whole_type(w) : w->type;
    if (!t || t->rank != 2 || t->dims[0] != p->b->dims[0] || t->dims[1] != p->a->dims[1])
        return status_new(
            XT_INVALID_ARGUMENT, NULL, "%s: the matrices for %s.weight give [%lld,%lld]; the module's is [%lld,%lld]",
            dir, layer, (long long)p->b->dims[0], (long long)p->a->dims[1],
            (long long)(t && t->rank > 0 ? t->dims[0] : 0), (long long)(t && t->rank > 1 ? t->dims[1] : 0));
    for (int i = 0; i < 2; i++) {
        const st_entry *e = i ? p->b : p->a;
        const nn_entry *there = weight_of(m, layer, i ? NN_LORA_B : NN_LORA_A);
        if (there && there->type != ir_tensor(XT_F32, 2, e->dims))
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "%s: %s is adapted already, with a rank of %lld; the adapter's is %lld", dir, layer,
                              (long long)there->type->dims[i], (long long)p->r);
    }
    return NULL;
}

/* A matrix that the next pass makes begins with this value, one that is there gets it now. */
static xt_status give(xt_module *m, const char *layer, const char *leaf, const st_entry *from, float *data) {
    const ir_type *type = ir_tensor(XT_F32, 2, from->dims);
    if (!type) return status_oom(64, layer);
    str name = STR_INIT;
    str_printf(&name, "%s.%s", layer, leaf);
    xt_status s = name.failed ? status_oom(64, layer) : nn_preload(m->root, str_cstr(&name), type, data);
    str_free(&name);
    return s;
}

static xt_status give_part(const xt_src *src, xt_module *m, const lora_file *l, const lora_part *p,
                           const char *prefix) {
    const char *layer = own_name(p, prefix);
    str pattern = STR_INIT;
    str_printf(&pattern, "%s.weight", layer);
    bool ok = !pattern.failed && xt_lora_at(src, m, str_cstr(&pattern),
                                            XT_OPTS(xt_lora_opts, .r = p->r, .alpha = p->alpha, .dropout = l->dropout,
                                                    .rslora = l->rslora ? XT_ON : XT_OFF));
    str_free(&pattern);
    if (!ok) return lazy_pending() ? status_clone(lazy_pending()) : status_oom(64, layer);
    for (int i = 0; i < 2; i++) {
        const st_entry *e = i ? p->b : p->a;
        float *data;
        XT_TRY(lora_read(l, e, &data));
        xt_status s = give(m, layer, i ? NN_LORA_B : NN_LORA_A, e, data);
        base_free(data);
        XT_TRY(s);
    }
    return NULL;
}

xt_status xt_lora_load_at(const xt_src *src, xt_module *m, const char *dir, xt_lora_file_opts o) {
    const char *prefix = o.prefix ? o.prefix : "";
    lora_file l;
    if (!m || !dir) return status_new(XT_INVALID_ARGUMENT, src, "xt_lora_load: a module and a folder are needed");
    if (m->parent || !m->root->n)
        return status_new(XT_FAILED_PRECONDITION, src, "xt_lora_load %s: %s", dir,
                          m->parent ? "an adapter is a whole network's, not a child's"
                                    : "the module has no tensors yet; call xt_module_build or run a pass first");
    XT_TRY(lora_open(dir, &l));
    xt_status s = NULL;
    for (size_t i = 0; i < l.n && !s; i++) s = fits_module(m, dir, &l.parts[i], prefix);
    if (!s && (!lazy_boundary(LAZY_CHECKPOINT, src) || !lazy_drain())) s = status_clone(lazy_pending());
    for (size_t i = 0; i < l.n && !s; i++) s = give_part(src, m, &l, &l.parts[i], prefix);
    lora_close(&l);
    return s;
}

/* --- out of a module --- */
/* "layers.0.q_proj" of "layers.0.q_proj.lora_A.weight"; its length, 0 of another tensor. */
static size_t adapted(const nn_entry *e) {
    size_t n = strlen(e->name), k = sizeof NN_LORA_A;
    return n > k && strcmp(e->name + n - k, "." NN_LORA_A) == 0 ? n - k : 0;
}

static const char *last_of(const char *name, size_t n) {
    size_t at = n;
    while (at && name[at - 1] != '.') at--;
    return name + at;
}

/* peft adapts every linear layer whose name ends so: only where these are all is the short name enough. */
static bool all_called_so(const nn_root *r, const char *last, size_t n) {
    for (size_t i = 0; i < r->n; i++) {
        const nn_entry *e = &r->entries[i];
        size_t k = strlen(e->name), tail = sizeof ".weight" - 1;
        if (!e->is_param || e->type->rank != 2 || k <= tail || strcmp(e->name + k - tail, ".weight") != 0) continue;
        const char *its = last_of(e->name, k - tail);
        if ((size_t)(e->name + k - tail - its) == n && memcmp(its, last, n) == 0 && !nn_lora_adapts(r, e->name))
            return false;
    }
    return true;
}

static bool add_text(cJSON *list, const char *prefix, const char *text, size_t n) {
    str s = STR_INIT;
    const cJSON *e;
    bool there = false;
    str_printf(&s, "%s%.*s", prefix, (int)n, text);
    cJSON_ArrayForEach(e, list) there = there || strcmp(e->valuestring, str_cstr(&s)) == 0;
    bool ok = !s.failed && (there || cJSON_AddItemToArray(list, cJSON_CreateString(str_cstr(&s))));
    str_free(&s);
    return ok;
}

/* The first adapted layer's numbers are the file's, those of layers that differ stand in patterns. */
static bool add_layers(cJSON *json, const nn_root *r, const char *prefix) {
    cJSON *targets = cJSON_AddArrayToObject(json, "target_modules"),
          *ranks = cJSON_AddObjectToObject(json, "rank_pattern"),
          *alphas = cJSON_AddObjectToObject(json, "alpha_pattern");
    const xt_lora_opts *first = NULL;
    bool ok = targets && ranks && alphas;
    for (size_t i = 0; i < r->n && ok; i++) {
        const nn_entry *e = &r->entries[i];
        size_t n = adapted(e);
        if (!n) continue;
        char layer[1024], weight[1024];
        snprintf(layer, sizeof layer, "%s%.*s", prefix, (int)n, e->name);
        snprintf(weight, sizeof weight, "%.*s.weight", (int)n, e->name);
        const nn_wish *w = nn_lora_of(r, weight);
        if (!w) continue;
        if (!first) {
            first = &w->lora;
            ok = cJSON_AddNumberToObject(json, "r", (double)w->lora.r) &&
                 cJSON_AddNumberToObject(json, "lora_alpha", w->lora.alpha) &&
                 cJSON_AddNumberToObject(json, "lora_dropout", w->lora.dropout) &&
                 cJSON_AddBoolToObject(json, "use_rslora", w->lora.rslora == XT_ON);
        }
        if (w->lora.r != first->r) ok = ok && cJSON_AddNumberToObject(ranks, layer, (double)w->lora.r);
        if (w->lora.alpha != first->alpha) ok = ok && cJSON_AddNumberToObject(alphas, layer, w->lora.alpha);
        const char *last = last_of(e->name, n);
        size_t k = (size_t)(e->name + n - last);
        ok = ok && (all_called_so(r, last, k) ? add_text(targets, "", last, k) : add_text(targets, prefix, e->name, n));
    }
    return ok && first;
}

static xt_status write_config(const xt_module *m, const char *path, const xt_lora_file_opts *o) {
    cJSON *json = cJSON_CreateObject();
    bool ok = json && cJSON_AddStringToObject(json, "peft_type", "LORA") &&
              cJSON_AddStringToObject(json, "task_type", o->task_type ? o->task_type : "CAUSAL_LM") &&
              cJSON_AddStringToObject(json, "base_model_name_or_path", o->base_model ? o->base_model : "") &&
              cJSON_AddBoolToObject(json, "inference_mode", true) && cJSON_AddStringToObject(json, "bias", "none") &&
              cJSON_AddBoolToObject(json, "fan_in_fan_out", o->fan_in_fan_out == XT_ON) &&
              cJSON_AddBoolToObject(json, "use_dora", false) &&
              cJSON_AddBoolToObject(json, "init_lora_weights", true) &&
              cJSON_AddNullToObject(json, "modules_to_save") && add_layers(json, m->root, o->prefix ? o->prefix : "");
    char *text = ok ? cJSON_Print(json) : NULL;
    xt_status s = text ? file_write_all(path, text, strlen(text)) : status_oom(256, path);
    cJSON_free(text);
    cJSON_Delete(json);
    return s;
}

typedef struct adapter_set {
    st_set *set; /* NULL: another rank's */
    const char *prefix;
} adapter_set;

static bool is_matrix(void *user, const nn_entry *e) {
    (void)user;
    return nn_matches("*." NN_LORA_A, e->name) || nn_matches("*." NN_LORA_B, e->name);
}

static xt_status write_matrix(void *user, const nn_entry *e, char *data) {
    const adapter_set *a = user;
    xt_status s = st_set_data(a->set, data, ir_type_bytes(e->type));
    base_free(data);
    return s;
}

static xt_status declare_matrices(const nn_root *r, const char *path, adapter_set *a) {
    XT_TRY(st_set_create(path, 0, &a->set));
    xt_status s = st_set_meta(a->set, "xtrain", xt_version());
    for (size_t i = 0; i < r->n && !s; i++) {
        const nn_entry *e = &r->entries[i];
        if (!is_matrix(NULL, e)) continue;
        str name = STR_INIT;
        str_printf(&name, "%s%s%s", outer, a->prefix, e->name);
        s = name.failed ? status_oom(64, path)
                        : st_set_declare(a->set, str_cstr(&name), e->type->dtype, 2, e->type->dims);
        str_free(&name);
    }
    return s;
}

/* dir: NULL where another rank writes. Two files, so ranks look at the folder only before it. */
static xt_status write_adapter(const xt_module *m, const char *dir, const xt_lora_file_opts *o) {
    adapter_set a = {.prefix = o->prefix ? o->prefix : ""};
    char *config = dir ? path_join(dir, config_name) : NULL, *weights = dir ? path_join(dir, weights_name) : NULL;
    xt_status s = !dir ? NULL : config && weights ? file_make_dirs(dir, 0777) : status_oom(64, dir);
    if (!s && dir) s = declare_matrices(m->root, weights, &a);
    s = nn_write_each(m->root, &(nn_write){is_matrix, write_matrix, &a}, s);
    if (a.set && s) st_set_abandon(a.set);
    if (a.set && !s) s = st_set_commit(a.set);
    if (!s && dir) s = write_config(m, config, o);
    base_free(config);
    base_free(weights);
    return s;
}

xt_status xt_lora_save_at(const xt_src *src, xt_module *m, const char *dir, xt_lora_file_opts o) {
    if (!m || !dir) return status_new(XT_INVALID_ARGUMENT, src, "xt_lora_save: a module and a folder are needed");
    bool any = false;
    for (size_t i = 0; i < m->root->n; i++) any = any || adapted(&m->root->entries[i]);
    if (m->parent || !any)
        return status_new(XT_FAILED_PRECONDITION, src, "xt_lora_save %s: %s", dir,
                          m->parent ? "an adapter is a whole network's, not a child's"
                                    : "no layer has an adapter; call xt_lora, and run a pass or xt_module_build");
    if (!lazy_boundary(LAZY_CHECKPOINT, src) || !lazy_drain()) return status_clone(lazy_pending());
    lazy_save shared = lazy_save_begin(dir);
    xt_status s;
    if (lazy_save_is_rank_0s(&shared, true, &s)) return s;
    return lazy_save_end(&shared, write_adapter(m, nn_writes_here() ? dir : NULL, &o));
}

/* --- into a file's weights --- */
xt_status lora_merge(const lora_file *l, const lora_part *p, const ir_type *type, void *w) {
    int64_t out = p->b->dims[0], in = p->a->dims[1];
    bool turned = l->fan_in_fan_out;
    if (type->rank != 2 || !ir_dtype_is_float(type->dtype) || type->dims[0] != (turned ? in : out) ||
        type->dims[1] != (turned ? out : in))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "the matrices for %s.weight give [%lld,%lld]%s, which the weight in the file is not",
                          p->layer, (long long)out, (long long)in,
                          turned ? " the other way round (fan_in_fan_out)" : "");
    float *a, *b = NULL;
    double scale = nn_lora_scale(p->alpha, p->r, l->rslora);
    array weight = {type, w};
    XT_TRY(lora_read(l, p->a, &a));
    xt_status s = lora_read(l, p->b, &b);
    float *row = s ? NULL : base_malloc((size_t)(in + 1) * sizeof *row);
    if (!s && !row) s = status_oom((size_t)in * sizeof *row, p->layer);
    for (int64_t i = 0; i < out && !s; i++) {
        memset(row, 0, (size_t)in * sizeof *row);
        for (int64_t k = 0; k < p->r; k++)
            for (int64_t j = 0; j < in; j++) row[j] += b[i * p->r + k] * a[k * in + j];
        for (int64_t j = 0; j < in; j++) {
            int64_t at = turned ? j * out + i : i * in + j;
            array_set(&weight, at, array_get(&weight, at) + scale * (double)row[j]);
        }
    }
    base_free(row);
    base_free(a);
    base_free(b);
    return s;
}
