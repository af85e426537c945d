/* All tokens that end at each byte of a text (Aho and Corasick 1975): every prefix of a token knows the longest shorter
 * end of it that is a prefix too, so the text is walked once, whatever the length of its words and of the tokens. */
#include <stdlib.h>
#include <string.h>

#include "models/tokenizers/model.h"

static int32_t *place(const tok_prefixes *p, int32_t before, char last) {
    size_t mask = p->n_slots - 1, i = tok_mix((uint64_t)before << 8 | (unsigned char)last) & mask;
    while (p->slots[i] && (p->at[p->slots[i]].before != before || p->at[p->slots[i]].last != last)) i = (i + 1) & mask;
    return &p->slots[i];
}

int32_t tok_prefix_next(const tok_prefixes *p, int32_t at, char byte) {
    int32_t next;
    while (!(next = *place(p, at, byte)) && at) at = p->at[at].rest;
    return next;
}

/* Room for one more, in slots that are at most half full. */
static bool grow(tok_prefixes *p) {
    if (p->n < p->room) return true;
    size_t room = p->room ? 2 * p->room : 1024;
    tok_prefix *at = room <= INT32_MAX ? realloc(p->at, room * sizeof *at) : NULL;
    int32_t *slots = at ? calloc(2 * room, sizeof *slots) : NULL;
    if (at) p->at = at;
    if (!slots) return false;
    free(p->slots);
    p->slots = slots;
    p->n_slots = 2 * room;
    p->room = room;
    for (size_t i = 1; i < p->n; i++) *place(p, p->at[i].before, p->at[i].last) = (int32_t)i;
    return true;
}

/* The prefix, made if need be; all shorter ones are there. 0 without memory. */
static int32_t longer(tok_prefixes *p, int32_t before, char last) {
    int32_t there = *place(p, before, last);
    if (there || !grow(p)) return there;
    int32_t rest = before ? tok_prefix_next(p, p->at[before].rest, last) : 0;
    int32_t shorter = p->at[rest].id >= 0 ? rest : p->at[rest].shorter;
    p->at[p->n] = (tok_prefix){before, -1, rest, shorter, last};
    *place(p, before, last) = (int32_t)p->n;
    return (int32_t)p->n++;
}

/* By length, so that an end of a prefix is there before it: the tokens that are longer than `length` bytes stay in
 * `open`, with their prefixes of that length. */
typedef struct started {
    int32_t id, prefix;
} started;

static bool add_all(tok_prefixes *p, const tok_vocab *v, started *open) {
    size_t n = 0;
    for (int64_t id = 0; id < v->n; id++)
        if (v->tokens[id].n) open[n++] = (started){(int32_t)id, 0};
    for (size_t length = 0; n; length++) {
        size_t left = 0;
        for (size_t i = 0; i < n; i++) {
            tok_text t = v->tokens[open[i].id];
            int32_t prefix = longer(p, open[i].prefix, t.data[length]);
            if (!prefix) return false;
            if (t.n == length + 1)
                p->at[prefix].id = open[i].id;
            else
                open[left++] = (started){open[i].id, prefix};
        }
        n = left;
    }
    return true;
}

xt_status tok_prefixes_make(tok_prefixes *p, const tok_vocab *v) {
    started *open = malloc(((size_t)v->n + 1) * sizeof *open);
    *p = (tok_prefixes){0};
    bool ok = open && grow(p);
    if (ok) {
        p->at[p->n++] = (tok_prefix){.id = -1};
        ok = add_all(p, v, open);
    }
    free(open);
    return ok ? NULL
              : xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for the prefixes of %lld tokens", (long long)v->n);
}

void tok_prefixes_free(tok_prefixes *p) {
    free(p->at);
    free(p->slots);
    *p = (tok_prefixes){0};
}
