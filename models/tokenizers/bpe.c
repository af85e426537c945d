/* Byte-pair encoding (Sennrich et al. 2016, arXiv 1508.07909): a piece begins as its characters, and of all
 * neighbouring pairs the one that stands earliest among the merges, and of several places the leftmost, becomes one
 * token, until none is left. Pairs wait in a heap, so a piece of n characters costs n log n. */
#include <stdlib.h>
#include <string.h>

#include "models/tokenizers/model.h"

typedef struct symbol {
    int32_t id; /* -1: merged into the one before */
    int32_t before, next; /* -1: none */
} symbol;
typedef struct candidate {
    int32_t rank, at, id; /* id: of what the pair at `at` becomes */
    uint64_t pair;
} candidate;
typedef struct heap {
    tok_arena *arena;
    candidate *items;
    size_t n, room;
} heap;

static uint64_t pair_of(int32_t left, int32_t right) {
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

static tok_merge *place(const tok_model *m, uint64_t pair) {
    for (size_t i = tok_mix(pair) & (m->merge_slots - 1);; i = (i + 1) & (m->merge_slots - 1))
        if (m->merges[i].id < 0 || m->merges[i].pair == pair) return &m->merges[i];
}

/* --- reading --- */
static xt_status take_merge(tok_model *m, const char *left, size_t n_left, const char *right, int32_t rank) {
    size_t n_right = strlen(right), cut = strlen(m->prefix);
    int32_t l = tok_vocab_find(&m->vocab, left, n_left), r = tok_vocab_find(&m->vocab, right, n_right), both = -1;
    if (cut > n_right) cut = n_right;
    char *text = malloc(n_left + n_right + 1);
    if (!text) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for merges");
    memcpy(text, left, n_left);
    memcpy(text + n_left, right + cut, n_right - cut);
    both = tok_vocab_find(&m->vocab, text, n_left + n_right - cut);
    free(text);
    if (l < 0 || r < 0 || both < 0)
        return xt_status_new(XT_DATA_LOSS, "merge %d: %s \"%.*s\" and \"%.60s\" is no token of the vocabulary", rank,
                             l < 0   ? "the left one of"
                             : r < 0 ? "the right one of"
                                     : "what is made of",
                             (int)(n_left < 60 ? n_left : 60), left, right);
    tok_merge *to = place(m, pair_of(l, r));
    *to = (tok_merge){pair_of(l, r), rank, both};
    return NULL;
}

static xt_status encode(const tok_model *m, tok_text piece, tok_ids *out);

xt_status tok_bpe_read(tok_model *m, const cJSON *json) {
    const cJSON *merges = cJSON_GetObjectItemCaseSensitive(json, "merges"), *e;
    if (!cJSON_IsArray(merges)) return xt_status_new(XT_DATA_LOSS, "the model has no list \"merges\"");
    size_t n = (size_t)cJSON_GetArraySize(merges);
    m->merge_slots = 16;
    while (m->merge_slots < 2 * n) m->merge_slots *= 2;
    m->merges = malloc(m->merge_slots * sizeof *m->merges);
    if (!m->merges) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for %zu merges", n);
    for (size_t i = 0; i < m->merge_slots; i++) m->merges[i].id = -1;
    int32_t rank = 0;
    cJSON_ArrayForEach(e, merges) { /* "left right", or a pair */
        const char *left = cJSON_GetStringValue(cJSON_IsArray(e) ? cJSON_GetArrayItem(e, 0) : e);
        const char *space = left && !cJSON_IsArray(e) ? strchr(left, ' ') : NULL;
        const char *right = space ? space + 1 : cJSON_GetStringValue(cJSON_GetArrayItem(e, 1));
        if (!left || !right) return xt_status_new(XT_DATA_LOSS, "merge %d is no pair of tokens", rank);
        XT_TRY(take_merge(m, left, space ? (size_t)(space - left) : strlen(left), right, rank));
        rank++;
    }
    m->encode = encode;
    return NULL;
}

/* --- the heap --- */
static bool earlier(const candidate *a, const candidate *b) {
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void push(heap *h, candidate c) {
    if (h->n == h->room) {
        size_t room = h->room ? 2 * h->room : 32;
        candidate *more = tok_alloc(h->arena, room * sizeof *more);
        if (!more) return;
        if (h->n) memcpy(more, h->items, h->n * sizeof *more);
        h->items = more;
        h->room = room;
    }
    size_t i = h->n++;
    for (; i && earlier(&c, &h->items[(i - 1) / 2]); i = (i - 1) / 2) h->items[i] = h->items[(i - 1) / 2];
    h->items[i] = c;
}

static candidate pop(heap *h) {
    candidate top = h->items[0], last = h->items[--h->n];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && earlier(&h->items[child + 1], &h->items[child])) child++;
        if (!earlier(&h->items[child], &last)) break;
        h->items[i] = h->items[child];
    }
    h->items[i] = last;
    return top;
}

static void offer(const tok_model *m, const symbol *s, int32_t at, heap *h) {
    if (at < 0 || s[at].next < 0) return;
    uint64_t pair = pair_of(s[at].id, s[s[at].next].id);
    const tok_merge *found = place(m, pair);
    if (found->id >= 0) push(h, (candidate){found->rank, at, found->id, pair});
}

static void merge_all(const tok_model *m, symbol *s, size_t n, tok_ids *out) {
    heap h = {.arena = out->scratch};
    for (size_t i = 0; i < n; i++) offer(m, s, (int32_t)i, &h);
    while (h.n) {
        candidate c = pop(&h);
        int32_t next = s[c.at].next;
        if (s[c.at].id < 0 || next < 0 || pair_of(s[c.at].id, s[next].id) != c.pair) continue; /* it changed since */
        s[c.at].id = c.id;
        s[c.at].next = s[next].next;
        if (s[next].next >= 0) s[s[next].next].before = c.at;
        s[next].id = -1;
        offer(m, s, s[c.at].before, &h);
        offer(m, s, c.at, &h);
    }
    for (int32_t i = n ? 0 : -1; i >= 0; i = s[i].next) tok_push_id(out, s[i].id);
}

/* --- a piece --- */
/* The character at [i, i + k) with what marks its place in the word. */
static int32_t id_of(const tok_model *m, tok_text piece, size_t i, size_t k, tok_buf *b) {
    size_t prefix = i ? strlen(m->prefix) : 0, suffix = i + k == piece.n ? strlen(m->suffix) : 0;
    if (!prefix && !suffix) return tok_vocab_find(&m->vocab, piece.data + i, k);
    b->n = 0;
    tok_add(b, m->prefix, prefix);
    tok_add(b, piece.data + i, k);
    tok_add(b, m->suffix, suffix);
    return tok_vocab_find(&m->vocab, tok_whole(b).data, b->n);
}

/* Unknown characters in a row are one token where that is asked for; those that are there as bytes are these. */
static void characters(const tok_model *m, tok_text piece, tok_ids *ids) {
    tok_buf b = {.arena = ids->arena};
    bool waiting = false; /* an unknown one, which comes before the next known character */
    for (size_t i = 0, k; i < piece.n; i += k) {
        tok_char(piece.data + i, piece.n - i, &k);
        int32_t id = id_of(m, piece, i, k, &b);
        if (id >= 0) {
            if (waiting) tok_push_id(ids, m->unknown);
            waiting = false;
            tok_push_id(ids, id);
        } else if (!tok_push_bytes(m, (tok_text){piece.data + i, k}, ids) && m->unknown >= 0) {
            if (waiting && !m->fuse_unknown) tok_push_id(ids, m->unknown);
            waiting = true;
        }
    }
    if (waiting) tok_push_id(ids, m->unknown);
}

static xt_status encode(const tok_model *m, tok_text piece, tok_ids *out) {
    int32_t whole = m->ignore_merges ? tok_vocab_find(&m->vocab, piece.data, piece.n) : -1;
    if (whole >= 0) {
        tok_push_id(out, whole);
        return NULL;
    }
    tok_ids ids = {.arena = out->scratch};
    characters(m, piece, &ids);
    if (ids.n > INT32_MAX / 2)
        return xt_status_new(XT_INVALID_ARGUMENT, "a piece of %zu bytes is too long to be merged", piece.n);
    symbol *s = tok_alloc(out->scratch, (ids.n + 1) * sizeof *s);
    if (!s) return NULL; /* the arena has failed */
    for (size_t i = 0; i < ids.n; i++)
        s[i] = (symbol){ids.items[i], (int32_t)i - 1, i + 1 < ids.n ? (int32_t)i + 1 : -1};
    merge_all(m, s, ids.n, out);
    return NULL;
}
