/* Folders with a GPT-2 in them. */
#include "models/gpt2_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xtrain/program.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>

typedef struct field {
    const char *name; /* Hugging Face's */
    size_t at;
} field;
static const field fields[] = {{"vocab_size", offsetof(model_options, vocab)},
                               {"n_positions", offsetof(model_options, context)},
                               {"n_embd", offsetof(model_options, width)},
                               {"n_layer", offsetof(model_options, layers)},
                               {"n_head", offsetof(model_options, heads)}};
enum { FIELDS = sizeof fields / sizeof fields[0] };
/* ours alone, of a model with experts */
static const field own[] = {{"n_expert", offsetof(model_options, experts)},
                            {"n_expert_per_token", offsetof(model_options, experts_per_token)}};
enum { OWN = sizeof own / sizeof own[0] };

xt_status gpt2_read_config(const char *dir, model_options *o) {
    char path[4096], *text;
    size_t n;
    snprintf(path, sizeof path, "%s/config.json", dir);
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) return NULL;
    XT_TRY(xt_read_file(path, &text, &n));
    cJSON *json = cJSON_ParseWithLength(text, n);
    xt_text_free(text);
    xt_status s = cJSON_IsObject(json) ? NULL : xt_status_new(XT_DATA_LOSS, "%s is no JSON object", path);
    for (size_t i = 0; i < FIELDS && !s; i++) {
        const cJSON *e = cJSON_GetObjectItemCaseSensitive(json, fields[i].name);
        int64_t *v = (int64_t *)((char *)o + fields[i].at);
        if (!cJSON_IsNumber(e))
            s = xt_status_new(XT_DATA_LOSS, "%s has no number \"%s\"; a GPT-2's configuration is expected", path,
                              fields[i].name);
        else if (!*v)
            *v = e->valuedouble > 0 && e->valuedouble < 1e9 ? (int64_t)e->valuedouble : -1;
    }
    for (size_t i = 0; i < OWN && !s; i++) {
        const cJSON *e = cJSON_GetObjectItemCaseSensitive(json, own[i].name);
        int64_t *v = (int64_t *)((char *)o + own[i].at);
        if (cJSON_IsNumber(e) && !*v) *v = e->valuedouble > 0 && e->valuedouble < 1e9 ? (int64_t)e->valuedouble : -1;
    }
    /* positions that were trained; not in every file */
    const cJSON *window = cJSON_GetObjectItemCaseSensitive(json, "n_ctx");
    if (!s && !o->window && cJSON_IsNumber(window) && window->valuedouble >= 1 && window->valuedouble < 1e9)
        o->window = (int64_t)window->valuedouble;
    cJSON_Delete(json);
    return s;
}

xt_status gpt2_write_config(const char *dir, const model_options *o) {
    char path[4096], *text = NULL;
    size_t n = 0;
    snprintf(path, sizeof path, "%s/config.json", dir);
    FILE *f = open_memstream(&text, &n);
    if (!f) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for %s", path);
    fprintf(f,
            "{\n"
            "  \"architectures\": [\"GPT2LMHeadModel\"],\n"
            "  \"model_type\": \"gpt2\",\n"
            "  \"activation_function\": \"gelu_new\",\n"
            "  \"layer_norm_epsilon\": 1e-05,\n"
            "  \"n_ctx\": %lld,\n",
            (long long)(o->seq ? o->seq : o->context));
    for (size_t i = 0; i < OWN && o->experts > 1; i++)
        fprintf(f, "  \"%s\": %lld,\n", own[i].name, (long long)*(const int64_t *)((const char *)o + own[i].at));
    for (size_t i = 0; i < FIELDS; i++)
        fprintf(f, "  \"%s\": %lld%s\n", fields[i].name, (long long)*(const int64_t *)((const char *)o + fields[i].at),
                i + 1 < FIELDS ? "," : "");
    fprintf(f, "}\n");
    xt_status s =
        fclose(f) == 0 ? xt_write_file(path, text, n) : xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for %s", path);
    free(text);
    return s;
}

/* Hugging Face's GPT-2 keeps the matrices of its Conv1D layers as [in,out]. The square ones (attn.c_proj) look the same
 * either way, so nobody else would notice. */
static const char conv1d[] = "h.*.c_*.weight";

xt_status gpt2_load(xt_module *net, const char *path) {
    static const char *const prefixes[] = {"", "transformer."};
    if (xt_module_tensors(net) == 0) XT_TRY(xt_module_build(net, (xt_spec){XT_I64, {1, 1}}));
    xt_status first = NULL;
    for (int hugging = 0; hugging < 2; hugging++)
        for (int p = 0; p < 2; p++) {
            xt_load_report r;
            xt_status s = xt_load_with(net, path, .strict = XT_OFF, .prefix = prefixes[p],
                                       .transposed = hugging ? conv1d : NULL, .report = &r);
            bool whole = !s && !r.missing;
            if (!s) s = model_check_loaded(path, &r);
            if (whole) {
                xt_status_free(first);
                return s;
            }
            if (first)
                xt_status_free(s);
            else
                first = s;
        }
    return first;
}

xt_status gpt2_save(xt_module *net, const char *dir) {
    char path[4200];
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    return xt_save_with(net, path, .transposed = conv1d);
}

bool gpt2_find_weights(const char *path, char *out, size_t n) {
    struct stat st;
    if (stat(path, &st) != 0) return false;
    if (!S_ISDIR(st.st_mode)) return (size_t)snprintf(out, n, "%s", path) < n;
    static const char *const usual[] = {"last.ckpt", "model.safetensors", "model.safetensors.index.json"};
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        if ((size_t)snprintf(out, n, "%s/%s", path, usual[i]) < n && stat(out, &st) == 0) return true;
    DIR *d = opendir(path);
    time_t newest = 0;
    bool found = false;
    for (struct dirent *e; d && (e = readdir(d));) {
        char each[4096];
        size_t k = strlen(e->d_name);
        if (k < 6 || strcmp(e->d_name + k - 5, ".ckpt") != 0 ||
            (size_t)snprintf(each, sizeof each, "%s/%s", path, e->d_name) >= sizeof each || stat(each, &st) != 0)
            continue;
        if (found && st.st_mtime < newest) continue;
        found = (size_t)snprintf(out, n, "%s", each) < n;
        newest = st.st_mtime;
    }
    if (d) closedir(d);
    return found;
}
