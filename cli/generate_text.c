/* A model's text as it comes; see generate.h. */
#include <stdlib.h>
#include <string.h>

#include "cli/generate.h"

static xt_status no_memory(void) {
    return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for the text");
}

/* Room for `want` elements at *p. */
static bool grow(void *p, size_t *room, size_t want, size_t size) {
    if (want <= *room) return true;
    size_t now = want * 2;
    void *larger = realloc(*(void **)p, now * size);
    if (!larger) return false;
    memcpy(p, &larger, sizeof larger);
    *room = now;
    return true;
}

xt_status said_begin(said *s, const generate_model *m, const cli_list *stops, int32_t *ids, size_t n) {
    *s = (said){.words = m->words, .stops = stops, .ids = ids, .n = n, .n_prompt = n, .room = n};
    s->seen = (token_stream){n && !m->sizes->encodes ? n - 1 : n, n};
    return NULL;
}

void said_free(said *s) {
    free(s->ids);
    free(s->text);
    xt_status_free(s->failed);
    *s = (said){0};
}

/* The first place from `from` on where one of the words begins; -1: nowhere. */
static int64_t find_stop(const said *s, size_t from) {
    for (size_t at = from; at < s->n_text; at++)
        for (int k = 0; k < s->stops->n; k++) {
            size_t n = strlen(s->stops->items[k]);
            if (n && n <= s->n_text - at && memcmp(s->text + at, s->stops->items[k], n) == 0) return (int64_t)at;
        }
    return -1;
}

static bool add_text(said *s, bool last) {
    char *text;
    size_t n;
    if ((s->failed = tokenizer_decode_next(s->words, s->ids, s->n, last, &s->seen, &text, &n))) return false;
    bool ok = grow(&s->text, &s->text_room, s->n_text + n + 1, 1);
    if (ok) memcpy(s->text + s->n_text, text, n);
    free(text);
    if (!ok) {
        s->failed = no_memory();
        return false;
    }
    s->n_text += n;
    s->text[s->n_text] = 0;
    int64_t at = find_stop(s, s->given);
    if (at < 0) return true;
    s->n_text = (size_t)at;
    s->text[at] = 0;
    s->stopped = true;
    return false;
}

bool said_add(said *s, int64_t token) {
    if (s->failed || s->stopped) return false;
    if (!grow(&s->ids, &s->room, s->n + 1, sizeof *s->ids)) {
        s->failed = no_memory();
        return false;
    }
    s->ids[s->n++] = (int32_t)token;
    return add_text(s, false);
}

void said_end(said *s) {
    if (!s->failed && !s->stopped) add_text(s, true);
}

/* Bytes at the end that a word may begin with. */
static size_t held_back(const said *s) {
    size_t most = 0;
    for (int k = 0; k < s->stops->n; k++) {
        size_t n = strlen(s->stops->items[k]), left = s->n_text - s->given;
        for (size_t part = n ? n - 1 : 0; part > most; part--)
            if (part <= left && memcmp(s->text + s->n_text - part, s->stops->items[k], part) == 0) most = part;
    }
    return most;
}

const char *said_next(said *s, bool ended, size_t *n) {
    size_t end = s->n_text - (ended || s->stopped ? 0 : held_back(s));
    if (end <= s->given) return NULL;
    const char *from = s->text + s->given;
    *n = end - s->given;
    s->given = end;
    return from;
}
