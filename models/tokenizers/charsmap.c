/* SentencePiece's compiled normalization (T5, XLM-R): a double-array trie (Darts, Yata's darts-clone) from texts to
 * places in a block of texts that end in 0. A cluster of characters of less than 6 bytes is looked up whole, then
 * character by character; of several prefixes that are there the shortest counts, as in the library whose files these
 * are. Nothing in the file is trusted: each step is within the arrays. */
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "models/tokenizers/parts.h"

struct tok_charsmap {
    unsigned char *bytes; /* what follows lies in it */
    size_t n_units;
    const unsigned char *units;
    const char *texts;
    size_t n_texts;
};

static int digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static size_t base64(const char *text, unsigned char *out) {
    uint32_t bits = 0;
    int have = 0;
    size_t n = 0;
    for (; *text && *text != '='; text++) {
        int d = digit(*text);
        if (d < 0) continue;
        bits = bits << 6 | (uint32_t)d;
        have += 6;
        if (have >= 8) out[n++] = (unsigned char)(bits >> (have -= 8));
    }
    return n;
}

static uint32_t word(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

xt_status tok_charsmap_new(const char *text, tok_charsmap **out) {
    tok_charsmap *m = calloc(1, sizeof *m);
    *out = NULL;
    if (!m || !(m->bytes = malloc(strlen(text) + 8))) {
        free(m);
        return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a tokenizer");
    }
    size_t n = base64(text, m->bytes), trie = n >= 4 ? word(m->bytes) : 0;
    if (n < 8 || trie % 4 || trie == 0 || trie > n - 4) {
        tok_charsmap_free(m);
        return xt_status_new(XT_DATA_LOSS, "precompiled_charsmap is cut off: %zu bytes, of which %zu are its trie", n,
                             trie);
    }
    m->units = m->bytes + 4;
    m->n_units = trie / 4;
    m->texts = (const char *)m->bytes + 4 + trie;
    m->n_texts = n - 4 - trie;
    *out = m;
    return NULL;
}

void tok_charsmap_free(tok_charsmap *m) {
    if (m) free(m->bytes);
    free(m);
}

/* What the shortest prefix of `key` in the trie stands for. */
static bool look_up(const tok_charsmap *m, const char *key, size_t n, tok_text *out) {
    size_t at = 0;
    uint32_t unit = word(m->units);
    at ^= (size_t)(unit >> 10) << ((unit & 512) >> 6);
    for (size_t i = 0; i < n && key[i]; i++) {
        unsigned char c = (unsigned char)key[i];
        at ^= c;
        if (at >= m->n_units) return false;
        unit = word(m->units + 4 * at);
        if ((unit & (1u << 31 | 0xff)) != c) return false;
        at ^= (size_t)(unit >> 10) << ((unit & 512) >> 6);
        if (at >= m->n_units) return false;
        if (unit >> 8 & 1) {
            size_t from = word(m->units + 4 * at) & 0x7fffffff;
            if (from >= m->n_texts) return false;
            *out = (tok_text){m->texts + from, strnlen(m->texts + from, m->n_texts - from)};
            return true;
        }
    }
    return false;
}

static void cluster(const tok_charsmap *m, const char *text, size_t n, tok_buf *out) {
    tok_text found;
    if (n < 6 && look_up(m, text, n, &found)) {
        tok_add(out, found.data, found.n);
        return;
    }
    for (size_t i = 0, k; i < n; i += k) {
        tok_char(text + i, n - i, &k);
        if (look_up(m, text + i, k, &found))
            tok_add(out, found.data, found.n);
        else
            tok_add(out, text + i, k);
    }
}

tok_text tok_charsmap_apply(const tok_charsmap *m, tok_text text, tok_arena *a) {
    tok_buf out = {.arena = a};
    utf8proc_int32_t state = 0;
    size_t begin = 0;
    uint32_t before = TOK_INVALID;
    for (size_t i = 0, k; i < text.n; i += k) {
        uint32_t c = tok_char(text.data + i, text.n - i, &k);
        bool cut = before == TOK_INVALID || c == TOK_INVALID ||
                   utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)c, &state);
        if (cut && i > begin) {
            cluster(m, text.data + begin, i - begin, &out);
            begin = i;
        }
        if (c == TOK_INVALID) state = 0;
        before = c;
    }
    cluster(m, text.data + begin, text.n - begin, &out);
    return tok_whole(&out);
}
