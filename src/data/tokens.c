/* Files of token numbers: an array of one width and nothing else. They are read where a window lies, not mapped, so
 * that a file that becomes shorter under a run is an error with its name and not a signal; the system's page cache is
 * the same. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/look.h"
#include "base/private_file.h"
#include "data/data.h"

typedef struct tokens {
    char *path;
    int fd;
    int64_t count, seq, stride, vocab; /* vocab: -1: any */
    xt_dtype dtype;
    bool jitter;
} tokens;

static void tokens_free(void *user) {
    tokens *t = user;
    if (t->fd >= 0) close(t->fd);
    base_free(t->path);
    base_free(t);
}

static xt_status read_at(const tokens *t, size_t at, char *to, size_t n) {
    size_t got;
    XT_TRY(file_read_at(t->fd, t->path, to, n, (int64_t)at, &got));
    return got == n ? NULL
                    : status_new(XT_DATA_LOSS, NULL, "cannot read %s at byte %zu: the file has become shorter", t->path,
                                 at + got);
}

static int64_t token_at(const char *p, xt_dtype dtype) {
    union {
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        int32_t i32;
        int64_t i64;
    } v;
    memcpy(&v, p, xt_dtype_size(dtype));
    switch (dtype) {
    case XT_U8: return v.u8;
    case XT_U16: return v.u16;
    case XT_U32: return v.u32;
    case XT_I32: return v.i32;
    default: return v.i64;
    }
}

/* seq + 1 tokens: x is all but the last of them, y all but the first. */
static xt_status window(const tokens *t, int64_t at, char *raw, int64_t *x, int64_t *y) {
    size_t width = xt_dtype_size(t->dtype);
    XT_TRY(read_at(t, (size_t)at * width, raw, ((size_t)t->seq + 1) * width));
    for (int64_t k = 0; k <= t->seq; k++) {
        int64_t token = token_at(raw + (size_t)k * width, t->dtype);
        if (t->vocab >= 0 && (token < 0 || token >= t->vocab))
            return status_new(XT_DATA_LOSS, NULL, "%s: token %lld is %lld; the vocabulary's are 0 to %lld", t->path,
                              (long long)(at + k), (long long)token, (long long)t->vocab - 1);
        if (k < t->seq) x[k] = token;
        if (k > 0 && y) y[k - 1] = token;
    }
    return NULL;
}

static xt_status tokens_get(void *user, int64_t i, void *x, void *y) {
    const tokens *t = user;
    int64_t at = i * t->stride, last = t->count - t->seq - 1;
    if (t->jitter) at += (int64_t)(xt_sample_uniform() * (double)t->stride);
    char *raw = base_malloc(((size_t)t->seq + 1) * xt_dtype_size(t->dtype));
    if (!raw) return status_oom((size_t)t->seq, "a window of tokens");
    xt_status s = window(t, at < last ? at : last, raw, x, y);
    base_free(raw);
    return s;
}

/* --- opening --- */
static bool is_dtype(xt_dtype d) {
    return d == XT_U8 || d == XT_U16 || d == XT_U32 || d == XT_I32 || d == XT_I64;
}

/* PATH.json, where there is one: {"dtype": "u16", "tokens": 1000, "vocab": 50257}. */
static xt_status read_beside(tokens *t) {
    str name = STR_INIT;
    char *text = NULL;
    size_t n;
    str_printf(&name, "%s.json", t->path);
    struct stat st;
    bool there = false;
    xt_status s = name.failed ? status_oom(strlen(t->path), "a path") : file_look(str_cstr(&name), &st, &there);
    if (!s && there) s = file_read_all(str_cstr(&name), &text, &n);
    if (!s && text) {
        cJSON *json = cJSON_ParseWithLength(text, n);
        const char *dtype = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "dtype"));
        const cJSON *vocab = cJSON_GetObjectItemCaseSensitive(json, "vocab");
        xt_dtype said = dtype && strcmp(dtype, "u16") == 0   ? XT_U16
                        : dtype && strcmp(dtype, "u32") == 0 ? XT_U32
                                                             : XT_DTYPE_NONE;
        if (!t->dtype) t->dtype = said;
        if (!t->dtype)
            s = status_new(XT_DATA_LOSS, NULL,
                           "%s does not say \"dtype\": \"u16\" or \"u32\"; `xtrain tokenize` writes it, or give .dtype",
                           str_cstr(&name));
        if (t->vocab == -1 && cJSON_IsNumber(vocab) && vocab->valuedouble >= 1 && vocab->valuedouble < 1e15)
            t->vocab = (int64_t)vocab->valuedouble;
        cJSON_Delete(json);
    }
    base_free(text);
    str_free(&name);
    return s;
}

static xt_status open_tokens(tokens *t, const char *path, int64_t seq, const xt_token_opts *o) {
    struct stat st;
    if (seq < 1 || (o->stride < 1 && o->stride != -1) || (o->vocab < 1 && o->vocab != -1))
        return status_new(
            XT_INVALID_ARGUMENT, NULL,
            "seq %lld, .stride %lld, .vocab %lld; expected at least 1 of each (-1, where the last two are "
            "left out)",
            (long long)seq, (long long)o->stride, (long long)o->vocab);
    if (o->dtype && !is_dtype(o->dtype))
        return status_new(XT_INVALID_ARGUMENT, NULL, ".dtype is %s; tokens are XT_U8, XT_U16, XT_U32, XT_I32 or XT_I64",
                          xt_dtype_name(o->dtype));
    t->seq = seq;
    t->stride = o->stride == -1 ? seq : o->stride;
    t->vocab = o->vocab;
    t->dtype = o->dtype;
    t->jitter = o->jitter == XT_ON;
    if (!(t->path = base_strdup(path))) return status_oom(strlen(path), "a path");
    XT_TRY(file_open_input(path, false, &t->fd, &st));
    XT_TRY(read_beside(t));
    if (!t->dtype) t->dtype = XT_U16;
    int64_t width = (int64_t)xt_dtype_size(t->dtype);
    t->count = (int64_t)st.st_size / width;
    if ((int64_t)st.st_size % width)
        return status_new(XT_DATA_LOSS, NULL,
                          "%s has %lld bytes, which are no whole number of tokens of %lld bytes (%s)", path,
                          (long long)st.st_size, (long long)width, xt_dtype_name(t->dtype));
    if (t->count < seq + 1)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "%s has %lld tokens; a window of %lld and the one after it do not fit", path,
                          (long long)t->count, (long long)seq);
    return NULL;
}

xt_dataset *xt_token_dataset_opt(const xt_src *src, const char *path, int64_t seq, xt_token_opts o) {
    SRC_CALLED_FROM(src);
    tokens *t = base_calloc(1, sizeof *t);
    if (!t) return data_fail(status_oom(sizeof *t, "a dataset"), NULL);
    t->fd = -1;
    xt_status s = open_tokens(t, path, seq, &o);
    if (s) {
        tokens_free(t);
        return data_fail(status_context(s, "xt_token_dataset"), NULL);
    }
    xt_spec spec = {XT_I64, {seq}};
    xt_dataset *out = data_make((xt_dataset_desc){.count = (t->count - seq - 1) / t->stride + 1,
                                                  .x = spec,
                                                  .y = spec,
                                                  .get = tokens_get,
                                                  .free_user = tokens_free,
                                                  .user = t,
                                                  .name = path});
    if (out) out->tokens = seq;
    return out;
}
