/* Decoders: the texts of tokens become one text. Each changes the list in place; what is left is put together. */
#include <stdlib.h>
#include <string.h>

#include "models/tokenizers/parts.h"

static void set(tok_pieces *t, size_t i, tok_text text) {
    t->items[i].text = text;
}
static void only(tok_pieces *t, tok_text text) {
    t->n = t->n ? 1 : 0;
    if (t->n) set(t, 0, text);
}

static tok_text joined(const tok_pieces *t) {
    tok_buf b = {.arena = t->arena};
    for (size_t i = 0; i < t->n; i++) tok_add(&b, t->items[i].text.data, t->items[i].text.n);
    return tok_whole(&b);
}
static xt_status fuse(const tok_part *p, tok_pieces *t) {
    (void)p;
    only(t, joined(t));
    return NULL;
}

/* Characters that stand for bytes become these; a token with another character in it is left as it is. */
static tok_text bytes_of(tok_text text, tok_arena *a) {
    tok_buf b = {.arena = a};
    for (size_t i = 0, k; i < text.n; i += k) {
        int byte = tok_char_byte(tok_char(text.data + i, text.n - i, &k));
        if (byte < 0) return text;
        tok_add(&b, &(char){(char)byte}, 1);
    }
    return tok_whole(&b);
}
static xt_status byte_level(const tok_part *p, tok_pieces *t) {
    for (size_t i = 0; i < t->n; i++) set(t, i, bytes_of(t->items[i].text, t->arena));
    return fuse(p, t);
}

static tok_text replaced(tok_text text, const char *what, const char *with, size_t most, tok_arena *a) {
    tok_buf b = {.arena = a};
    size_t n = strlen(what), done = 0;
    for (size_t i = 0; n && i + n <= text.n && most;)
        if (memcmp(text.data + i, what, n) == 0) {
            tok_add(&b, text.data + done, i - done);
            tok_add(&b, with, strlen(with));
            done = i += n;
            most--;
        } else
            i++;
    if (!done) return text;
    tok_add(&b, text.data + done, text.n - done);
    return tok_whole(&b);
}

/* on: prefix; text: the replacement, with: a space */
static xt_status metaspace_read(tok_part *p, const cJSON *json) {
    const char *scheme = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "prepend_scheme"));
    p->on[0] = scheme ? strcmp(scheme, "never") != 0 : tok_read_flag(json, "add_prefix_space", true);
    return tok_read_text(&p->text, json, "replacement");
}
static xt_status metaspace(const tok_part *p, tok_pieces *t) {
    for (size_t i = 0; i < t->n; i++)
        set(t, i, replaced(t->items[i].text, p->text, i == 0 && p->on[0] ? "" : " ", SIZE_MAX, t->arena));
    return NULL;
}

/* text: the prefix of what continues a word; on: cleanup */
static xt_status word_piece_read(tok_part *p, const cJSON *json) {
    p->on[0] = tok_read_flag(json, "cleanup", true);
    return tok_read_text(&p->text, json, "prefix");
}
static tok_text cleaned(tok_text text, tok_arena *a) {
    static const char *const pairs[][2] = {{" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
                                           {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
                                           {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        text = replaced(text, pairs[i][0], pairs[i][1], SIZE_MAX, a);
    return text;
}
static xt_status word_piece(const tok_part *p, tok_pieces *t) {
    size_t n = strlen(p->text);
    for (size_t i = 0; i < t->n; i++) {
        tok_text text = t->items[i].text;
        tok_buf b = {.arena = t->arena};
        bool continues = text.n >= n && memcmp(text.data, p->text, n) == 0;
        if (i && !continues) tok_add(&b, " ", 1);
        tok_add(&b, text.data + (i && continues ? n : 0), text.n - (i && continues ? n : 0));
        set(t, i, p->on[0] ? cleaned(tok_whole(&b), t->arena) : tok_whole(&b));
    }
    return NULL;
}

static xt_status bpe_read(tok_part *p, const cJSON *json) {
    return tok_read_text(&p->text, json, "suffix");
}
static xt_status bpe(const tok_part *p, tok_pieces *t) {
    for (size_t i = 0; i < t->n; i++)
        set(t, i, replaced(t->items[i].text, p->text, i + 1 == t->n ? "" : " ", SIZE_MAX, t->arena));
    return NULL;
}

static int hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}
/* <0x41>; -1: no such token. */
static int fallback_byte(tok_text t) {
    if (t.n != 6 || memcmp(t.data, "<0x", 3) != 0 || t.data[5] != '>') return -1;
    int high = hex(t.data[3]), low = hex(t.data[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}
/* Bytes in a row are characters when all of them are UTF-8; otherwise each is a character that is none. */
static xt_status byte_fallback(const tok_part *p, tok_pieces *t) {
    tok_pieces out = {.arena = t->arena};
    (void)p;
    for (size_t i = 0; i < t->n;) {
        tok_buf b = {.arena = t->arena};
        size_t first = i;
        for (int byte; i < t->n && (byte = fallback_byte(t->items[i].text)) >= 0; i++)
            tok_add(&b, &(char){(char)byte}, 1);
        if (i == first) {
            tok_push(&out, (tok_piece){t->items[i++].text, false, 0});
            continue;
        }
        bool valid = tok_valid(b.data ? b.data : "", b.n);
        if (valid) tok_push(&out, (tok_piece){tok_whole(&b), false, 0});
        for (size_t k = first; !valid && k < i; k++) tok_push(&out, (tok_piece){{"\xef\xbf\xbd", 3}, false, 0});
    }
    *t = out;
    return NULL;
}

static xt_status strip_read(tok_part *p, const cJSON *json) {
    const cJSON *start = cJSON_GetObjectItemCaseSensitive(json, "start"),
                *stop = cJSON_GetObjectItemCaseSensitive(json, "stop");
    if (cJSON_IsNumber(start)) p->from_start = start->valueint;
    if (cJSON_IsNumber(stop)) p->from_end = stop->valueint;
    return tok_read_text(&p->text, json, "content");
}
static xt_status strip(const tok_part *p, tok_pieces *t) {
    size_t n = strlen(p->text);
    for (size_t i = 0; n && i < t->n; i++) {
        tok_text *x = &t->items[i].text;
        for (int64_t k = 0; k < p->from_start && x->n >= n && memcmp(x->data, p->text, n) == 0; k++)
            *x = (tok_text){x->data + n, x->n - n};
        for (int64_t k = 0; k < p->from_end && x->n >= n && memcmp(x->data + x->n - n, p->text, n) == 0; k++) x->n -= n;
    }
    return NULL;
}

static xt_status replace_read(tok_part *p, const cJSON *json) {
    XT_TRY(tok_read_pattern(p, cJSON_GetObjectItemCaseSensitive(json, "pattern")));
    return tok_read_text(&p->with, json, "content");
}
static xt_status replace(const tok_part *p, tok_pieces *t) {
    for (size_t i = 0; i < t->n; i++) set(t, i, tok_replace(p->regex, t->items[i].text, p->with, t->arena));
    return NULL;
}

static xt_status sequence_read(tok_part *p, const cJSON *json);
static xt_status sequence(const tok_part *p, tok_pieces *t) {
    for (size_t i = 0; i < p->n_parts; i++) XT_TRY(tok_decode(&p->parts[i], t));
    return NULL;
}

static const tok_kind kinds[] = {{"Sequence", sequence_read, {.decode = sequence}},
                                 {"ByteLevel", NULL, {.decode = byte_level}},
                                 {"Metaspace", metaspace_read, {.decode = metaspace}},
                                 {"WordPiece", word_piece_read, {.decode = word_piece}},
                                 {"BPEDecoder", bpe_read, {.decode = bpe}},
                                 {"ByteFallback", NULL, {.decode = byte_fallback}},
                                 {"Fuse", NULL, {.decode = fuse}},
                                 {"Strip", strip_read, {.decode = strip}},
                                 {"Replace", replace_read, {.decode = replace}}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static xt_status sequence_read(tok_part *p, const cJSON *json) {
    return tok_read_parts(p, cJSON_GetObjectItemCaseSensitive(json, "decoders"), kinds, KINDS, "decoder");
}
xt_status tok_decoder_read(tok_part *p, const cJSON *json) {
    return tok_part_read(p, json, kinds, KINDS, "decoder");
}
xt_status tok_decode(const tok_part *p, tok_pieces *tokens) {
    return p->kind ? p->kind->decode(p, tokens) : NULL;
}
