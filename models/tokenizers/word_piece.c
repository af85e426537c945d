/* WordPiece (Schuster and Nakajima 2012, as BERT has it): the longest token that a word begins with, then the longest
 * that continues it. And WordLevel: whole words. */
#include <stdlib.h>
#include <string.h>

#include "models/tokenizers/model.h"

static size_t characters(tok_text t) {
    size_t n = 0;
    for (size_t i = 0, k; i < t.n; i += k, n++) tok_char(t.data + i, t.n - i, &k);
    return n;
}

/* The longest token at `at`: its bytes of the word, 0 for none. */
static size_t longest(const tok_model *m, tok_text word, size_t at, int32_t *out_id) {
    uint64_t hash = TOK_HASH_BEGIN;
    size_t best = 0, n_prefix = at ? strlen(m->prefix) : 0, most = m->vocab.longest;
    char text[256];
    if (n_prefix > sizeof text / 2) return 0;
    if (most > sizeof text) most = sizeof text;
    for (size_t i = 0; i < most && i < n_prefix + word.n - at; i++) {
        text[i] = i < n_prefix ? m->prefix[i] : word.data[at + i - n_prefix];
        int32_t id = tok_vocab_find_next(&m->vocab, text, i + 1, &hash);
        if (id < 0 || i < n_prefix) continue;
        best = i + 1 - n_prefix;
        *out_id = id;
    }
    return best;
}

static xt_status encode(const tok_model *m, tok_text word, tok_ids *out) {
    size_t before = out->n, at = 0;
    bool known = (int64_t)characters(word) <= m->longest_word;
    while (known && at < word.n) {
        int32_t id = 0;
        size_t n = longest(m, word, at, &id);
        known = n > 0;
        if (known) tok_push_id(out, id);
        at += n;
    }
    if (known) return NULL;
    out->n = before;
    tok_push_id(out, m->unknown);
    return NULL;
}

static xt_status needs_unknown(const tok_model *m, const char *what) {
    return m->unknown >= 0 ? NULL : xt_status_new(XT_DATA_LOSS, "the %s has no \"unk_token\"", what);
}

xt_status tok_word_piece_read(tok_model *m, const cJSON *json) {
    const cJSON *most = cJSON_GetObjectItemCaseSensitive(json, "max_input_chars_per_word");
    m->longest_word = cJSON_IsNumber(most) ? most->valueint : 100;
    m->encode = encode;
    if (m->vocab.longest > 256)
        return xt_status_new(XT_UNIMPLEMENTED, "a WordPiece of %zu bytes; up to 256 are known", m->vocab.longest);
    return needs_unknown(m, "WordPiece");
}

static xt_status encode_whole(const tok_model *m, tok_text word, tok_ids *out) {
    int32_t id = tok_vocab_find(&m->vocab, word.data, word.n);
    tok_push_id(out, id >= 0 ? id : m->unknown);
    return NULL;
}

xt_status tok_word_level_read(tok_model *m, const cJSON *json) {
    (void)json;
    m->encode = encode_whole;
    return needs_unknown(m, "WordLevel");
}
