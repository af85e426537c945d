/* Pre-tokenizers: they cut a text into the pieces inside which a model looks for tokens. A cut is a list of stretches,
 * each a match or what lies between two; a behavior says what becomes of matches. */
#include <stdlib.h>
#include <string.h>

#include "models/tokenizers/parts.h"

typedef struct stretch {
    size_t start, end;
    bool match;
} stretch;
typedef struct stretches {
    tok_arena *arena;
    stretch *items;
    size_t n, room;
} stretches;

static void push(stretches *s, size_t start, size_t end, bool match) {
    if (s->n == s->room) {
        size_t room = s->room ? 2 * s->room : 64;
        stretch *more = tok_alloc(s->arena, room * sizeof *more);
        if (!more) return;
        if (s->n) memcpy(more, s->items, s->n * sizeof *more);
        s->items = more;
        s->room = room;
    }
    s->items[s->n++] = (stretch){start, end, match};
}

/* Which neighbours are one piece. */
static void join(stretches *s, tok_behavior how) {
    size_t k = 0;
    bool before = false;
    if (how == TOK_WITH_NEXT) { /* from behind: a match takes the stretch that follows it, unless that is a match */
        for (size_t i = s->n; i-- > 0;) {
            bool match = s->items[i].match;
            if (match && !before && k)
                s->items[s->n - k].start = s->items[i].start;
            else
                s->items[s->n - ++k] = s->items[i];
            before = match;
        }
        memmove(s->items, s->items + (s->n - k), k * sizeof *s->items);
    } else {
        for (size_t i = 0; i < s->n; i++) {
            stretch e = s->items[i];
            bool joins = k && (how == TOK_WITH_PREVIOUS ? e.match && !before : e.match == s->items[k - 1].match);
            if (joins)
                s->items[k - 1].end = e.end;
            else
                s->items[k++] = e;
            before = e.match;
        }
    }
    s->n = k;
}

static void give(const tok_piece *from, stretches *s, tok_behavior how, tok_pieces *out) {
    if (how == TOK_WITH_PREVIOUS || how == TOK_WITH_NEXT || how == TOK_CONTIGUOUS) join(s, how);
    for (size_t i = 0; i < s->n; i++) {
        stretch e = s->items[i];
        if (how == TOK_REMOVED && e.match) continue;
        tok_push(out, (tok_piece){{from->text.data + e.start, e.end - e.start}, from->at_start && e.start == 0, -1});
    }
}

static xt_status cut_by_regex(const tok_regex *r, const tok_piece *from, tok_behavior how, bool invert,
                              tok_pieces *out) {
    stretches s = {.arena = out->arena};
    tok_search *search = tok_search_new(r);
    size_t done = 0, start, end;
    int found = search ? 1 : -1;
    while (search && (found = tok_search_next(search, from->text, &start, &end)) > 0) {
        if (start > done) push(&s, done, start, invert);
        push(&s, start, end, !invert);
        done = end;
    }
    tok_search_free(search);
    if (!search) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory to cut a text");
    if (found < 0)
        return xt_status_new(XT_RESOURCE_EXHAUSTED,
                             "the tokenizer's regular expression takes too long on a text of %zu bytes", from->text.n);
    if (done < from->text.n) push(&s, done, from->text.n, invert);
    give(from, &s, how, out);
    return NULL;
}

typedef bool (*is_fn)(const tok_part *p, uint32_t c);
static void cut_by_char(const tok_part *p, is_fn is, const tok_piece *from, tok_behavior how, tok_pieces *out) {
    stretches s = {.arena = out->arena};
    size_t done = 0;
    for (size_t i = 0, k; i < from->text.n; i += k) {
        uint32_t c = tok_char(from->text.data + i, from->text.n - i, &k);
        if (!is(p, c)) continue;
        if (i > done) push(&s, done, i, false);
        push(&s, i, i + k, true);
        done = i + k;
    }
    if (done < from->text.n) push(&s, done, from->text.n, false);
    give(from, &s, how, out);
}

#define EACH(in, piece, out)                                                                    \
    for (const tok_piece *piece = (in)->items; piece && piece < (in)->items + (in)->n; piece++) \
        if (piece->id >= 0)                                                                     \
            tok_push(out, *piece);                                                              \
        else

static bool is_space(const tok_part *p, uint32_t c) {
    (void)p;
    return c != TOK_INVALID && tok_is_space(c);
}
static bool is_punctuation(const tok_part *p, uint32_t c) {
    (void)p;
    return c != TOK_INVALID && tok_is_punctuation(c);
}
static bool is_number(const tok_part *p, uint32_t c) {
    (void)p;
    return c != TOK_INVALID && tok_is_number(c);
}
static bool is_that(const tok_part *p, uint32_t c) {
    return c == p->c;
}

/* on: invert */
static xt_status split_read(tok_part *p, const cJSON *json) {
    XT_TRY(tok_read_behavior(p, json));
    p->on[0] = tok_read_flag(json, "invert", false);
    return tok_read_pattern(p, cJSON_GetObjectItemCaseSensitive(json, "pattern"));
}
static xt_status split(const tok_part *p, const tok_pieces *in, tok_pieces *out) {
    EACH(in, piece, out) XT_TRY(cut_by_regex(p->regex, piece, p->behavior, p->on[0], out));
    return NULL;
}

/* on: add_prefix_space, use_regex */
static xt_status byte_level_read(tok_part *p, const cJSON *json) {
    p->on[0] = tok_read_flag(json, "add_prefix_space", true);
    p->on[1] = tok_read_flag(json, "use_regex", true);
    return tok_regex_new("'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
                         &p->regex);
}
static tok_piece prefixed(const tok_piece *from, const char *with, tok_arena *a) {
    tok_buf b = {.arena = a};
    tok_add(&b, with, strlen(with));
    tok_add(&b, from->text.data, from->text.n);
    return (tok_piece){tok_whole(&b), from->at_start, -1};
}
static xt_status byte_level(const tok_part *p, const tok_pieces *in, tok_pieces *out) {
    tok_pieces cut = {.arena = out->arena};
    EACH(in, piece, &cut) {
        tok_piece e = p->on[0] && piece->text.data[0] != ' ' ? prefixed(piece, " ", out->arena) : *piece;
        if (p->on[1])
            XT_TRY(cut_by_regex(p->regex, &e, TOK_ISOLATED, false, &cut));
        else
            tok_push(&cut, e);
    }
    EACH(&cut, piece, out)
    tok_push(out, (tok_piece){tok_bytes_as_chars(piece->text, out->arena), piece->at_start, -1});
    return NULL;
}

/* on: prepend, split */
static xt_status metaspace_read(tok_part *p, const cJSON *json) {
    const char *scheme = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "prepend_scheme"));
    XT_TRY(tok_read_char(&p->c, json, "replacement"));
    XT_TRY(tok_read_text(&p->with, json, "replacement"));
    p->on[0] = scheme ? strcmp(scheme, "never") != 0 : tok_read_flag(json, "add_prefix_space", true);
    p->on[1] = tok_read_flag(json, "split", true);
    p->first_only = scheme && strcmp(scheme, "first") == 0;
    return NULL;
}
static xt_status metaspace(const tok_part *p, const tok_pieces *in, tok_pieces *out) {
    size_t n = strlen(p->with);
    EACH(in, piece, out) {
        tok_buf b = {.arena = out->arena};
        for (size_t i = 0; i < piece->text.n; i++)
            if (piece->text.data[i] == ' ')
                tok_add(&b, p->with, n);
            else
                tok_add(&b, piece->text.data + i, 1);
        tok_piece e = {tok_whole(&b), piece->at_start, -1};
        bool begins = e.text.n >= n && memcmp(e.text.data, p->with, n) == 0;
        if (p->on[0] && !begins && (!p->first_only || e.at_start)) e = prefixed(&e, p->with, out->arena);
        if (p->on[1])
            cut_by_char(p, is_that, &e, TOK_WITH_NEXT, out);
        else
            tok_push(out, e);
    }
    return NULL;
}

static xt_status whitespace_read(tok_part *p, const cJSON *json) {
    (void)json; /* this one is not Oniguruma's: its words have the joiners in them */
    return tok_regex_new("[\\w\\x{200c}\\x{200d}]+|[^\\w\\s\\x{200c}\\x{200d}]+", &p->regex);
}
static xt_status whitespace(const tok_part *p, const tok_pieces *in, tok_pieces *out) {
    EACH(in, piece, out) XT_TRY(cut_by_regex(p->regex, piece, TOK_REMOVED, true, out));
    return NULL;
}
static xt_status whitespace_split(const tok_part *p, const tok_pieces *in, tok_pieces *out) {
    EACH(in, piece, out) cut_by_char(p, is_space, piece, TOK_REMOVED, out);
    return NULL;
}
static xt_status bert(const tok_part *p, const tok_pieces *in, tok_pieces *out) {
    tok_pieces words = {.arena = out->arena};
    XT_TRY(whitespace_split(p, in, &words));
    EACH(&words, piece, out) cut_by_char(p, is_punctuation, piece, TOK_ISOLATED, out);
    return NULL;
}

static xt_status punctuation_read(tok_part *p, const cJSON *json) {
    p->behavior = TOK_ISOLATED;
    return cJSON_GetObjectItemCaseSensitive(json, "behavior") ? tok_read_behavior(p, json) : NULL;
}
static xt_status punctuation(const tok_part *p, const tok_pieces *in, tok_pieces *out) {
    EACH(in, piece, out) cut_by_char(p, is_punctuation, piece, p->behavior, out);
    return NULL;
}

static xt_status digits_read(tok_part *p, const cJSON *json) {
    p->behavior = tok_read_flag(json, "individual_digits", false) ? TOK_ISOLATED : TOK_CONTIGUOUS;
    return NULL;
}
static xt_status digits(const tok_part *p, const tok_pieces *in, tok_pieces *out) {
    EACH(in, piece, out) cut_by_char(p, is_number, piece, p->behavior, out);
    return NULL;
}

static xt_status delimiter_read(tok_part *p, const cJSON *json) {
    return tok_read_char(&p->c, json, "delimiter");
}
static xt_status delimiter(const tok_part *p, const tok_pieces *in, tok_pieces *out) {
    EACH(in, piece, out) cut_by_char(p, is_that, piece, TOK_REMOVED, out);
    return NULL;
}

static xt_status sequence_read(tok_part *p, const cJSON *json);
static xt_status sequence(const tok_part *p, const tok_pieces *in, tok_pieces *out) {
    tok_pieces now = *in;
    for (size_t i = 0; i < p->n_parts; i++) {
        tok_pieces next = {.arena = out->arena};
        XT_TRY(tok_split(&p->parts[i], &now, &next));
        now = next;
    }
    for (size_t i = 0; i < now.n; i++) tok_push(out, now.items[i]);
    return NULL;
}

static const tok_kind kinds[] = {{"Sequence", sequence_read, {.split = sequence}},
                                 {"Split", split_read, {.split = split}},
                                 {"ByteLevel", byte_level_read, {.split = byte_level}},
                                 {"Metaspace", metaspace_read, {.split = metaspace}},
                                 {"Whitespace", whitespace_read, {.split = whitespace}},
                                 {"WhitespaceSplit", NULL, {.split = whitespace_split}},
                                 {"BertPreTokenizer", NULL, {.split = bert}},
                                 {"Punctuation", punctuation_read, {.split = punctuation}},
                                 {"Digits", digits_read, {.split = digits}},
                                 {"CharDelimiterSplit", delimiter_read, {.split = delimiter}}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static xt_status sequence_read(tok_part *p, const cJSON *json) {
    return tok_read_parts(p, cJSON_GetObjectItemCaseSensitive(json, "pretokenizers"), kinds, KINDS, "pre-tokenizer");
}
xt_status tok_splitter_read(tok_part *p, const cJSON *json) {
    return tok_part_read(p, json, kinds, KINDS, "pre-tokenizer");
}
xt_status tok_split(const tok_part *p, const tok_pieces *in, tok_pieces *out) {
    if (p->kind) return p->kind->split(p, in, out);
    for (size_t i = 0; i < in->n; i++) tok_push(out, in->items[i]);
    return NULL;
}
