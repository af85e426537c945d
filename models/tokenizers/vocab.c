/* Vocabularies: texts by number, numbers by text; see model.h. */
#include <stdlib.h>
#include <string.h>

#include "models/tokenizers/model.h"

uint64_t tok_mix(uint64_t h) { /* the finaliser of MurmurHash3 */
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 33;
}

static uint64_t with_byte(uint64_t hash, char byte) { /* FNV-1a */
    return (hash ^ (unsigned char)byte) * 0x100000001b3u;
}

/* The place of a text: its id's, or an empty one. */
static int32_t *place(const tok_vocab *v, uint64_t hash, const char *text, size_t n) {
    for (size_t i = tok_mix(hash) & (v->n_slots - 1);; i = (i + 1) & (v->n_slots - 1)) {
        int32_t id = v->slots[i];
        if (id < 0 || (v->tokens[id].n == n && memcmp(v->tokens[id].data, text, n) == 0)) return &v->slots[i];
    }
}

xt_status tok_vocab_begin(tok_vocab *v, int64_t n) {
    *v = (tok_vocab){.n = n, .n_slots = 16};
    if (n < 0 || n > TOK_MOST_IDS) return xt_status_new(XT_DATA_LOSS, "a vocabulary of %lld tokens", (long long)n);
    while (v->n_slots < 2 * (size_t)n) v->n_slots *= 2;
    v->tokens = calloc(n ? (size_t)n : 1, sizeof *v->tokens);
    v->slots = malloc(v->n_slots * sizeof *v->slots);
    if (!v->tokens || !v->slots)
        return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a vocabulary of %lld tokens", (long long)n);
    memset(v->slots, -1, v->n_slots * sizeof *v->slots);
    return NULL;
}

xt_status tok_vocab_put(tok_vocab *v, int64_t id, const char *text) {
    size_t n = strlen(text);
    if (id < 0 || id >= v->n)
        return xt_status_new(XT_DATA_LOSS, "the token \"%.60s\" has the number %lld; 0 to %lld are possible", text,
                             (long long)id, (long long)v->n - 1);
    if (v->tokens[id].data)
        return xt_status_new(XT_DATA_LOSS, "the tokens \"%.60s\" and \"%.60s\" have the same number, %lld",
                             v->tokens[id].data, text, (long long)id);
    char *copy = strdup(text);
    if (!copy) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a vocabulary");
    v->tokens[id] = (tok_text){copy, n};
    if (n > v->longest) v->longest = n;
    uint64_t hash = TOK_HASH_BEGIN;
    for (size_t i = 0; i < n; i++) hash = with_byte(hash, text[i]);
    *place(v, hash, text, n) = (int32_t)id;
    return NULL;
}

int32_t tok_vocab_find(const tok_vocab *v, const char *text, size_t n) {
    uint64_t hash = TOK_HASH_BEGIN;
    for (size_t i = 0; i < n; i++) hash = with_byte(hash, text[i]);
    return *place(v, hash, text, n);
}

int32_t tok_vocab_find_next(const tok_vocab *v, const char *text, size_t n, uint64_t *hash) {
    *hash = with_byte(*hash, text[n - 1]);
    return *place(v, *hash, text, n);
}

void tok_vocab_free(tok_vocab *v) {
    for (int64_t i = 0; v->tokens && i < v->n; i++) free((char *)v->tokens[i].data);
    free(v->tokens);
    free(v->slots);
    *v = (tok_vocab){0};
}

void tok_push_id(tok_ids *ids, int32_t id) {
    if (ids->n == ids->room) {
        size_t room = ids->room ? 2 * ids->room : 64;
        int32_t *more = tok_alloc(ids->arena, room * sizeof *more);
        if (!more) return;
        if (ids->n) memcpy(more, ids->items, ids->n * sizeof *more);
        ids->items = more;
        ids->room = room;
    }
    ids->items[ids->n++] = id;
}
