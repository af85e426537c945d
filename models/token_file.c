/* Files of token numbers; see token_file.h. */
#include "models/token_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <xtrain/program.h>

struct token_file {
    int fd;
    char *path;
    size_t n, width, said; /* said: tokens, by what stands beside it; SIZE_MAX: nothing does */
    int64_t vocab;
};

bool token_file_is(const char *path) {
    size_t n = strlen(path);
    return n > 4 && strcmp(path + n - 4, ".bin") == 0;
}

static xt_status out_of_memory(const char *path) {
    return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for %s", path);
}

/* --- writing --- */
/* What stood beside the file before, which belongs to the tokens that are in it. */
typedef struct beside {
    char name[4200], *text; /* NULL: nothing */
    size_t n;
} beside;

static xt_status beside_read(const char *path, beside *b) {
    snprintf(b->name, sizeof b->name, "%s.json", path);
    return access(b->name, F_OK) == 0 ? xt_read_file(b->name, &b->text, &b->n) : NULL;
}

static void beside_put_back(const beside *b) {
    if (b->text)
        xt_status_free(xt_write_file(b->name, b->text, b->n));
    else
        unlink(b->name);
}

static xt_status write_beside(const char *path, size_t width, size_t n, int64_t vocab) {
    char name[4200], text[200];
    snprintf(name, sizeof name, "%s.json", path);
    int k = snprintf(text, sizeof text, "{\"dtype\": \"u%zu\", \"tokens\": %zu, \"vocab\": %lld}\n", 8 * width, n,
                     (long long)vocab);
    return xt_write_file(name, text, (size_t)k);
}

xt_status token_file_write(const char *path, const int32_t *tokens, size_t n, int64_t vocab) {
    size_t width = vocab > 65536 ? 4 : 2;
    unsigned char *data = malloc(n * width + 1);
    if (!data) return out_of_memory(path);
    for (size_t i = 0; i < n; i++)
        for (size_t b = 0; b < width; b++) data[i * width + b] = (unsigned char)((uint32_t)tokens[i] >> 8 * b);
    /* First what says how to read it: tokens of four bytes without it would be read as twice as many of two. */
    beside was = {0};
    xt_status s = beside_read(path, &was);
    if (!s) s = write_beside(path, width, n, vocab);
    if (!s && (s = xt_write_file(path, data, n * width)) != NULL) beside_put_back(&was);
    xt_text_free(was.text);
    free(data);
    return s;
}

/* --- reading --- */
static xt_status read_beside(token_file *f) {
    char name[4200], *text;
    size_t n;
    f->width = 2;
    f->said = SIZE_MAX;
    snprintf(name, sizeof name, "%s.json", f->path);
    if (access(name, F_OK) != 0) return NULL;
    XT_TRY(xt_read_file(name, &text, &n));
    cJSON *json = cJSON_ParseWithLength(text, n);
    xt_text_free(text);
    const char *dtype = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "dtype"));
    const cJSON *vocab = cJSON_GetObjectItemCaseSensitive(json, "vocab");
    const cJSON *tokens = cJSON_GetObjectItemCaseSensitive(json, "tokens");
    bool known = dtype && (strcmp(dtype, "u16") == 0 || strcmp(dtype, "u32") == 0);
    if (known && dtype[1] == '3') f->width = 4;
    if (cJSON_IsNumber(vocab) && vocab->valuedouble >= 1 && vocab->valuedouble < 1e9)
        f->vocab = (int64_t)vocab->valuedouble;
    if (cJSON_IsNumber(tokens) && tokens->valuedouble >= 0 && tokens->valuedouble < 1e15)
        f->said = (size_t)tokens->valuedouble;
    cJSON_Delete(json);
    return known ? NULL
                 : xt_status_new(XT_DATA_LOSS,
                                 "%s does not say \"dtype\": \"u16\" or \"u32\"; `xtrain tokenize` writes it", name);
}

static xt_status open_file(token_file *f) {
    struct stat st;
    XT_TRY(xt_open_file(f->path, &f->fd));
    if (fstat(f->fd, &st) != 0) return xt_status_new(XT_NOT_FOUND, "cannot open %s: %s", f->path, strerror(errno));
    XT_TRY(read_beside(f));
    if ((size_t)st.st_size % f->width)
        return xt_status_new(XT_DATA_LOSS, "%s has %lld bytes, which are no whole number of tokens of %zu bytes each",
                             f->path, (long long)st.st_size, f->width);
    f->n = (size_t)st.st_size / f->width;
    if (f->said != SIZE_MAX && f->said != f->n)
        return xt_status_new(XT_DATA_LOSS,
                             "%s holds %zu tokens of %zu bytes, %s.json says %zu: they are not of one another (was it "
                             "being written when something ended?); `xtrain tokenize` writes both",
                             f->path, f->n, f->width, f->path, f->said);
    return NULL;
}

xt_status token_file_open(const char *path, token_file **out) {
    token_file *f = calloc(1, sizeof *f);
    *out = NULL;
    if (f) f->fd = -1;
    if (!f || !(f->path = strdup(path))) {
        free(f);
        return out_of_memory(path);
    }
    xt_status s = open_file(f);
    if (s)
        token_file_close(f);
    else
        *out = f;
    return s;
}

void token_file_close(token_file *f) {
    if (!f) return;
    if (f->fd >= 0) close(f->fd);
    free(f->path);
    free(f);
}

size_t token_file_count(const token_file *f) {
    return f->n;
}
int64_t token_file_vocab(const token_file *f) {
    return f->vocab;
}

static xt_status read_at(const token_file *f, size_t at, unsigned char *to, size_t n) {
    for (size_t done = 0; done < n;) {
        ssize_t k = pread(f->fd, to + done, n - done, (off_t)(at + done));
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0)
            return xt_status_new(XT_DATA_LOSS, "cannot read %s at byte %zu: %s", f->path, at + done,
                                 k < 0 ? strerror(errno) : "the file has become shorter");
        done += (size_t)k;
    }
    return NULL;
}

xt_status token_file_read(const token_file *f, size_t at, size_t n, int64_t vocab, int64_t *out) {
    /* in the upper half of where the numbers go, so that widening from the front overwrites nothing unread */
    unsigned char *raw = (unsigned char *)out + n * (sizeof *out - f->width);
    XT_TRY(read_at(f, at * f->width, raw, n * f->width));
    for (size_t i = 0; i < n; i++) {
        uint32_t token = 0;
        for (size_t b = f->width; b-- > 0;) token = token << 8 | raw[i * f->width + b];
        if ((int64_t)token >= vocab)
            return xt_status_new(XT_DATA_LOSS, "%s: token %zu is %u; the model's are 0 to %lld", f->path, at + i, token,
                                 (long long)vocab - 1);
        out[i] = token;
    }
    return NULL;
}
