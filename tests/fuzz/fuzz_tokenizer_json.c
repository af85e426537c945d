/* Fuzz target of tokenizer.json and of texts: the file, a zero byte, a text of any bytes. What opens gives ids below
 * its vocabulary, the same ones each time, whose texts come back without harm, all at once and as a stream. */
#include <xtrain/xtrain.h>

#include "models/tokenizers/json.h"
#include "fuzz.h"
#include "mutate_json.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed) {
    const uint8_t *zero = n ? memchr(data, 0, n) : NULL;
    size_t file = zero ? (size_t)(zero - data) : n, rest = n - file;
    uint8_t text[4096];
    if (seed % 4 == 0) return LLVMFuzzerMutate(data, n, most);
    if (rest > sizeof text || most < n) return n;
    if (rest) memcpy(text, data + file, rest);
    if (seed % 4 == 1 && rest > 1) { /* the text alone */
        size_t k =
            LLVMFuzzerMutate(text + 1, rest - 1, sizeof text - 1 < most - file - 1 ? sizeof text - 1 : most - file - 1);
        memcpy(data + file, text, k + 1);
        return file + 1 + k;
    }
    size_t k = mutate_json(data, file, most - rest, seed / 4);
    if (rest) memcpy(data + k, text, rest);
    return k + rest;
}

static void there_and_back(const tok_json *t, const char *text, size_t n, bool specials) {
    int32_t *ids = NULL, *again = NULL;
    size_t n_ids, n_again, n_text;
    char *back = NULL;
    xt_status s = tok_json_encode(t, text, n, specials, &ids, &n_ids);
    if (s) {
        xt_status_free(s);
        return;
    }
    xt_status_free(tok_json_encode(t, text, n, specials, &again, &n_again));
    if (!again || n_ids != n_again || memcmp(ids, again, n_ids * sizeof *ids) != 0) abort();
    free(again);
    for (size_t i = 0; i < n_ids && !specials; i++) /* the post-processor's are what the file says */
        if (ids[i] < 0 || ids[i] >= tok_json_vocab(t)) abort();
    s = tok_json_decode(t, ids, n_ids, specials, &back, &n_text);
    if (!s && back[n_text]) abort();
    xt_status_free(s);
    free(back);
    free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const uint8_t *zero = n ? memchr(data, 0, n) : NULL;
    size_t file = zero ? (size_t)(zero - data) : n, rest = zero ? n - file - 1 : 0;
    char path[64], *text = malloc(rest ? rest : 1); /* its own block, so that a read past the end is seen */
    int fd = fuzz_file(data, file, path);
    tok_json *t = NULL;
    if (fd < 0 || !text) abort();
    if (rest) memcpy(text, zero + 1, rest);
    xt_status s = tok_json_open(path, &t);
    if ((s != NULL) != (t == NULL)) abort();
    if (t) {
        int32_t some[] = {-1, 0, 1, 2, 1 << 30};
        size_t size;
        char *out = NULL;
        there_and_back(t, text, rest, false);
        there_and_back(t, text, rest, true);
        xt_status_free(tok_json_decode(t, some, 5, false, &out, &size));
        free(out);
        tok_json_token(t, tok_json_id(t, "a"), &size);
        tok_json_free(t);
    }
    xt_status_free(s);
    free(text);
    close(fd);
    return 0;
}
