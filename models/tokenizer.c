/* Tokenizers: bytes need no file; with vocab.json and merges.txt pieces of text are encoded by byte-pair merges; a
 * tokenizer.json says by itself how, and BERT's vocab.txt is read as the tokenizer.json that it stands for. */
#include "models/tokenizer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xtrain/program.h>

#include "models/tokenizers/json.h"

struct tokenizer {
    bpe *pairs; /* neither: bytes */
    tok_json *json;
    char *dir;
};

static const char *const file_names[] = {
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.json", "merges.txt", "vocab.txt"};
enum { FILE_NAMES = sizeof file_names / sizeof file_names[0] };

/* Whether the folder has such a name, be it one that leads nowhere: a file that is not to be had is not no file, and
 * who took bytes instead would compute with other tokens. */
static bool has(const char *dir, const char *name) {
    char path[4200];
    struct stat there;
    return (size_t)snprintf(path, sizeof path, "%s/%s", dir, name) < sizeof path &&
           (lstat(path, &there) == 0 || (errno != ENOENT && errno != ENOTDIR));
}

/* Links to nowhere are what caches leave whose files were removed, and copies of links alone. They are found before
 * anything is computed, not where the folder's files are copied at the end. */
static xt_status check_links(const char *dir) {
    char path[4200], to[4096];
    for (size_t i = 0; i < FILE_NAMES; i++) {
        if (!has(dir, file_names[i])) continue;
        snprintf(path, sizeof path, "%s/%s", dir, file_names[i]);
        ssize_t n = readlink(path, to, sizeof to);
        if (n >= 0 && access(path, F_OK) != 0)
            return xt_status_new(XT_NOT_FOUND,
                                 "%s is a symbolic link to %.*s, which cannot be followed (%s); download or copy the "
                                 "model's files anew (cp -rL), or name another folder by --tokenizer",
                                 path, (int)n, to, strerror(errno));
    }
    return NULL;
}

bool tokenizer_is_in(const char *dir) {
    return has(dir, "tokenizer.json") || has(dir, "vocab.json") || has(dir, "vocab.txt");
}

static xt_status open_json(const char *dir, tok_json **out) {
    char path[4200];
    snprintf(path, sizeof path, "%s/tokenizer.json", dir);
    return tok_json_open(path, out);
}

static const char all_bytes_source[] = "bytes";
static char byte_values[256];

xt_status tokenizer_open(const char *dir, tokenizer **out) {
    tokenizer *t = calloc(1, sizeof *t);
    xt_status s = NULL;
    *out = NULL;
    if (!t || !(t->dir = strdup(dir ? dir : all_bytes_source)))
        s = xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a tokenizer");
    if (!s && dir) s = check_links(dir);
    if (!s && dir)
        s = has(dir, "tokenizer.json")                         ? open_json(dir, &t->json)
            : has(dir, "vocab.txt") && !has(dir, "vocab.json") ? tok_vocab_txt_open(dir, &t->json)
                                                               : bpe_open(dir, &t->pairs);
    for (int i = 0; i < 256; i++) byte_values[i] = (char)i;
    if (s)
        tokenizer_free(t);
    else
        *out = t;
    return s;
}

void tokenizer_free(tokenizer *t) {
    if (!t) return;
    bpe_free(t->pairs);
    tok_json_free(t->json);
    free(t->dir);
    free(t);
}

int64_t tokenizer_vocab(const tokenizer *t) {
    return t->json ? tok_json_vocab(t->json) : t->pairs ? bpe_vocab(t->pairs) : 256;
}
bool tokenizer_is_bytes(const tokenizer *t) {
    return !t->pairs && !t->json;
}

const char *tokenizer_token(const tokenizer *t, int64_t id, size_t *out_n) {
    if (t->json) return tok_json_token(t->json, id, out_n);
    if (t->pairs) return bpe_token(t->pairs, id, out_n);
    *out_n = id >= 0 && id < 256;
    return *out_n ? byte_values + id : "";
}

xt_status tokenizer_encode(const tokenizer *t, const char *text, size_t n, int32_t **out_ids, size_t *out_n) {
    if (t->json) return tok_json_encode(t->json, text, n, false, out_ids, out_n);
    /* never more tokens than bytes */
    int32_t *ids = n < SIZE_MAX / sizeof *ids ? malloc((n ? n : 1) * sizeof *ids) : NULL;
    size_t count = 0;
    if (!ids) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for the tokens of a text of %zu bytes", n);
    for (size_t at = 0, end; at < n; at = end) {
        end = t->pairs ? pretokenize(text, n, at) : at + 1;
        int64_t k = 1;
        if (t->pairs)
            k = bpe_encode_piece(t->pairs, text + at, end - at, ids + count);
        else
            ids[count] = (unsigned char)text[at];
        if (k < 0) {
            free(ids);
            return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory to encode a piece of %zu bytes", end - at);
        }
        count += (size_t)k;
    }
    int32_t *fitted = realloc(ids, (count ? count : 1) * sizeof *ids);
    *out_ids = fitted ? fitted : ids;
    *out_n = count;
    return NULL;
}

xt_status tokenizer_encode_whole(const tokenizer *t, const char *text, size_t n, int32_t **out_ids, size_t *out_n) {
    return t->json ? tok_json_encode(t->json, text, n, true, out_ids, out_n)
                   : tokenizer_encode(t, text, n, out_ids, out_n);
}

static xt_status part_of(const int32_t *ids, size_t n, int32_t **out, size_t *out_n) {
    if (!(*out = malloc((n + 1) * sizeof *ids))) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for tokens");
    memcpy(*out, ids, n * sizeof *ids);
    *out_n = n;
    return NULL;
}

/* By a text whose tokens are known; where it is not found within the whole, nothing is around it. */
xt_status tokenizer_around(const tokenizer *t, int32_t **front, size_t *n_front, int32_t **back, size_t *n_back) {
    static const char some[] = "a";
    int32_t *plain = NULL, *whole = NULL;
    size_t n = 0, all = 0, at = 0;
    *front = *back = NULL;
    xt_status s = tokenizer_encode(t, some, 1, &plain, &n);
    if (!s) s = tokenizer_encode_whole(t, some, 1, &whole, &all);
    while (!s && at + n < all && memcmp(whole + at, plain, n * sizeof *plain) != 0) at++;
    bool found = !s && at + n <= all;
    if (!s) s = part_of(whole, found ? at : 0, front, n_front);
    if (!s) s = part_of(whole + (found ? at + n : 0), found ? all - at - n : 0, back, n_back);
    free(plain);
    free(whole);
    return s;
}

/* --- back to text --- */
xt_status tokenizer_decode(const tokenizer *t, const int32_t *ids, size_t n, bool skip, char **out, size_t *out_n) {
    if (t->json) return tok_json_decode(t->json, ids, n, skip, out, out_n);
    size_t room = 1, k;
    for (size_t i = 0; i < n; i++) {
        tokenizer_token(t, ids[i], &k);
        room += k;
    }
    char *text = *out = malloc(room);
    *out_n = room - 1;
    if (!text) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for the text of %zu tokens", n);
    for (size_t i = 0; i < n; i++, text += k) {
        const char *bytes = tokenizer_token(t, ids[i], &k);
        memcpy(text, bytes, k);
    }
    *text = 0;
    return NULL;
}

/* How many bytes at the end may be the beginning of a character, or stand for one that is not whole (U+FFFD). */
static bool ends_within(const char *text, size_t n) {
    if (n >= 3 && memcmp(text + n - 3, "\xef\xbf\xbd", 3) == 0) return true;
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        unsigned char c = (unsigned char)text[n - back];
        if (c < 0x80) return false;
        if (c >= 0xc0) return back < (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u);
    }
    return false;
}

xt_status tokenizer_decode_next(const tokenizer *t, const int32_t *ids, size_t n, bool flush, token_stream *seen,
                                char **out, size_t *out_n) {
    enum { PATIENCE = 8 }; /* tokens; what is still no character then will not be one */
    char *before, *now;
    size_t n_before, n_now;
    *out = NULL;
    *out_n = 0;
    XT_TRY(tokenizer_decode(t, ids + seen->from, seen->to - seen->from, true, &before, &n_before));
    xt_status s = tokenizer_decode(t, ids + seen->from, n - seen->from, true, &now, &n_now);
    free(before);
    if (s) return s;
    bool waits = ends_within(now, n_now) && !flush && n - seen->to < PATIENCE;
    size_t given = waits || n_before > n_now ? n_now : n_before;
    memmove(now, now + given, n_now - given + 1);
    *out = now;
    *out_n = n_now - given;
    if (waits || n == seen->to) return NULL;
    /* What comes next is read together with these, unless they have no text by themselves (a space at the front is
     * nothing): then with those before them too. */
    char *alone;
    size_t n_alone;
    s = tokenizer_decode(t, ids + seen->to, n - seen->to, true, &alone, &n_alone);
    free(alone);
    if (n_alone) seen->from = seen->to;
    seen->to = n;
    return s;
}

/* --- its files --- */
static xt_status copy_file(const char *from_dir, const char *to_dir, const char *name) {
    char from[4200], to[4200], *text;
    size_t n;
    snprintf(from, sizeof from, "%s/%s", from_dir, name);
    snprintf(to, sizeof to, "%s/%s", to_dir, name);
    if (strcmp(from, to) == 0 || !has(from_dir, name)) return NULL;
    XT_TRY(xt_read_file(from, &text, &n));
    xt_status s = xt_write_file(to, text, n);
    xt_text_free(text);
    return s;
}

xt_status tokenizer_save(const tokenizer *t, const char *dir) {
    if (tokenizer_is_bytes(t)) return NULL;
    for (size_t i = 0; i < FILE_NAMES; i++) XT_TRY(copy_file(t->dir, dir, file_names[i]));
    return NULL;
}
