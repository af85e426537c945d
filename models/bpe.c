/* Byte-pair encoding as GPT-2 does it (Sennrich et al. 2016, arXiv 1508.07909, over bytes; Radford et al. 2019): a
 * piece begins as its bytes, and the neighbouring pair that stands earliest in merges.txt becomes one token, until no
 * pair stands there.
 *
 * The files write each byte as one printable character: bytes that print in Latin-1 are themselves, the others are
 * U+0100 on in order. Here tokens are bytes again, and a merge is (id, id) -> (rank, id). */
#include "models/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <xtrain/program.h>

typedef struct token {
    char *bytes; /* NULL: the id has none */
    size_t n;
} token;
typedef struct merge {
    uint64_t pair; /* left id << 32 | right id */
    int32_t rank, id; /* id < 0: an empty place of the table */
} merge;
struct bpe {
    token *tokens;
    int64_t vocab;
    int32_t *by_bytes; /* ids by the hash of their bytes; -1 empty */
    merge *merges;
    size_t slots, merge_slots; /* powers of two, at most half full */
    int32_t single[256];
};

void bpe_free(bpe *b) {
    if (!b) return;
    for (int64_t i = 0; b->tokens && i < b->vocab; i++) free(b->tokens[i].bytes);
    free(b->tokens);
    free(b->by_bytes);
    free(b->merges);
    free(b);
}

int64_t bpe_vocab(const bpe *b) {
    return b->vocab;
}

const char *bpe_token(const bpe *b, int64_t id, size_t *out_n) {
    bool known = id >= 0 && id < b->vocab && b->tokens[id].bytes;
    *out_n = known ? b->tokens[id].n : 0;
    return known ? b->tokens[id].bytes : "";
}

/* --- the tables --- */
static uint64_t mix(uint64_t h) { /* the finaliser of MurmurHash3 */
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 33;
}

static uint64_t hash_bytes(const char *p, size_t n) {
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)p[i]) * 0x100000001b3u;
    return mix(h);
}

static int32_t *place_of_bytes(const bpe *b, const char *p, size_t n) {
    for (size_t i = hash_bytes(p, n) & (b->slots - 1);; i = (i + 1) & (b->slots - 1)) {
        int32_t id = b->by_bytes[i];
        if (id < 0 || (b->tokens[id].n == n && memcmp(b->tokens[id].bytes, p, n) == 0)) return &b->by_bytes[i];
    }
}

static merge *place_of_pair(const bpe *b, uint64_t pair) {
    for (size_t i = mix(pair) & (b->merge_slots - 1);; i = (i + 1) & (b->merge_slots - 1))
        if (b->merges[i].id < 0 || b->merges[i].pair == pair) return &b->merges[i];
}

static size_t room_for(size_t n) {
    size_t slots = 16;
    while (slots < 2 * n) slots *= 2;
    return slots;
}

static uint64_t pair_of(int32_t left, int32_t right) {
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

/* --- reading the files --- */
static bool prints(int byte) {
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
}

/* The byte that a character of the files stands for: -1 for none. */
static int byte_of(uint32_t c) {
    if (c < 256) return prints((int)c) ? (int)c : -1;
    uint32_t next = 256;
    for (int byte = 0; byte < 256; byte++)
        if (!prints(byte) && next++ == c) return byte;
    return -1;
}

/* UTF-8 of the files -> bytes, in place. A token that is not written this way (a special one) stays as it is. */
static size_t unmap(char *s, size_t n) {
    char *out = malloc(n + 1);
    size_t k = 0;
    bool ok = out != NULL;
    for (size_t i = 0; ok && i < n; k++) {
        unsigned char c = (unsigned char)s[i];
        uint32_t code = c;
        if (c >= 0xc0 && c < 0xe0 && i + 1 < n) code = (c & 0x1fu) << 6 | ((unsigned char)s[++i] & 0x3fu);
        i++;
        int byte = byte_of(code);
        ok = byte >= 0;
        if (ok) out[k] = (char)byte;
    }
    if (ok) memcpy(s, out, n = k);
    free(out);
    return n;
}

static xt_status read_file(const char *dir, const char *name, char **out, size_t *out_n) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return xt_read_file(path, out, out_n);
}

static xt_status take_tokens(bpe *b, const cJSON *json, const char *dir) {
    const cJSON *e;
    if (!cJSON_IsObject(json) || !json->child)
        return xt_status_new(XT_DATA_LOSS, "%s/vocab.json is no JSON object of tokens and their numbers", dir);
    cJSON_ArrayForEach(e, json) {
        if (!cJSON_IsNumber(e) || e->valuedouble < 0 || e->valuedouble > 1 << 24 ||
            e->valuedouble != (double)(int64_t)e->valuedouble)
            return xt_status_new(XT_DATA_LOSS, "%s/vocab.json: token \"%s\" has no number from 0 to %d", dir, e->string,
                                 1 << 24);
        if ((int64_t)e->valuedouble >= b->vocab) b->vocab = (int64_t)e->valuedouble + 1;
    }
    b->slots = room_for((size_t)b->vocab);
    b->tokens = calloc((size_t)b->vocab, sizeof *b->tokens);
    b->by_bytes = malloc(b->slots * sizeof *b->by_bytes);
    if (!b->tokens || !b->by_bytes)
        return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for the %lld tokens of %s/vocab.json",
                             (long long)b->vocab, dir);
    memset(b->by_bytes, -1, b->slots * sizeof *b->by_bytes);
    cJSON_ArrayForEach(e, json) {
        token *t = &b->tokens[(int64_t)e->valuedouble];
        if (t->bytes)
            return xt_status_new(XT_DATA_LOSS, "%s/vocab.json: \"%s\" has the number %lld, and so has another token",
                                 dir, e->string, (long long)e->valuedouble);
        if (!(t->bytes = strdup(e->string))) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a token");
        t->n = unmap(t->bytes, strlen(t->bytes));
        *place_of_bytes(b, t->bytes, t->n) = (int32_t)e->valuedouble;
    }
    for (int byte = 0; byte < 256; byte++) {
        b->single[byte] = *place_of_bytes(b, &(char){(char)byte}, 1);
        if (b->single[byte] < 0)
            return xt_status_new(
                XT_DATA_LOSS,
                "%s/vocab.json has no token for the single byte 0x%02x; a vocabulary over bytes has all 256", dir,
                byte);
    }
    return NULL;
}

/* A line "left right"; the first may say #version. */
static xt_status take_merge(bpe *b, char *line, int32_t rank, int64_t line_number, const char *dir) {
    char *space = strchr(line, ' ');
    if (!space || strchr(space + 1, ' '))
        return xt_status_new(XT_DATA_LOSS, "%s/merges.txt:%lld: two tokens and a space between them are expected", dir,
                             (long long)line_number);
    *space = 0;
    char *right = space + 1;
    size_t n_left = unmap(line, strlen(line)), n_right = unmap(right, strlen(right));
    int32_t l = *place_of_bytes(b, line, n_left), r = *place_of_bytes(b, right, n_right);
    memmove(line + n_left, right, n_right);
    int32_t both = *place_of_bytes(b, line, n_left + n_right);
    if (l < 0 || r < 0 || both < 0)
        return xt_status_new(XT_DATA_LOSS, "%s/merges.txt:%lld: %s is no token of vocab.json", dir,
                             (long long)line_number,
                             l < 0   ? "the left part"
                             : r < 0 ? "the right part"
                                     : "what they make");
    merge *m = place_of_pair(b, pair_of(l, r));
    if (m->id < 0) *m = (merge){pair_of(l, r), rank, both};
    return NULL;
}

static xt_status take_merges(bpe *b, char *text, const char *dir) {
    size_t lines = 1;
    for (const char *p = text; *p; p++) lines += *p == '\n';
    b->merge_slots = room_for(lines);
    b->merges = malloc(b->merge_slots * sizeof *b->merges);
    if (!b->merges) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for %zu merges", lines);
    for (size_t i = 0; i < b->merge_slots; i++) b->merges[i].id = -1;
    int64_t number = 0;
    int32_t rank = 0;
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        number++;
        size_t n = strlen(line);
        if (n && line[n - 1] == '\r') line[n - 1] = 0;
        if (!*line || (number == 1 && strncmp(line, "#version", 8) == 0)) continue;
        XT_TRY(take_merge(b, line, rank++, number, dir));
    }
    return NULL;
}

xt_status bpe_open(const char *dir, bpe **out) {
    bpe *b = calloc(1, sizeof *b);
    char *vocab = NULL, *merges = NULL;
    size_t n;
    *out = NULL;
    xt_status s = b ? read_file(dir, "vocab.json", &vocab, &n)
                    : xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a tokenizer");
    if (!s) s = read_file(dir, "merges.txt", &merges, &n);
    cJSON *json = s ? NULL : cJSON_ParseWithLength(vocab, strlen(vocab));
    if (!s) s = take_tokens(b, json, dir);
    if (!s) s = take_merges(b, merges, dir);
    cJSON_Delete(json);
    xt_text_free(vocab);
    xt_text_free(merges);
    if (s)
        bpe_free(b);
    else
        *out = b;
    return s;
}

/* --- encoding --- */
/* Every place of the pair that stands earliest is merged, from left to right, before the next pair is looked for, as
 * GPT-2's own encoder does. So a long piece costs one pass for each different merge in it. found[i] is the merge of
 * ids[i] and ids[i + 1]; only those beside a merge are looked up again. */
int64_t bpe_encode_piece(const bpe *b, const char *piece, size_t n, int32_t *ids) {
    const merge **found = calloc(n ? n : 1, sizeof *found);
    if (!found) return -1;
    for (size_t i = 0; i < n; i++) ids[i] = b->single[(unsigned char)piece[i]];
    while (n > 1) {
        const merge *best = NULL;
        for (size_t i = 0; i + 1 < n; i++) {
            if (!found[i]) found[i] = place_of_pair(b, pair_of(ids[i], ids[i + 1]));
            if (found[i]->id >= 0 && (!best || found[i]->rank < best->rank)) best = found[i];
        }
        if (!best) break;
        size_t k = 0;
        for (size_t i = 0; i < n; k++) {
            if (i + 1 < n && found[i] == best) {
                ids[k] = best->id;
                found[k] = NULL;
                if (k) found[k - 1] = NULL;
                i += 2;
            } else {
                ids[k] = ids[i];
                found[k] = found[i++];
            }
        }
        n = k;
    }
    free(found);
    return (int64_t)n;
}
