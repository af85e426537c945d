/* Normalizers: from text to text. Bytes that are no UTF-8 pass through all of them unchanged. */
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "models/tokenizers/parts.h"

/* --- Unicode's forms --- */
static int class_of(int32_t c) {
    return utf8proc_get_property(c)->combining_class;
}

/* Marks in a row stand in the order of their classes, those of one class as they came. A text may be marks alone, so
 * this counts; utf8proc_map's own way takes the square of their number. room: for n more. */
static void sort_marks(int32_t *c, size_t n, int32_t *room) {
    size_t at[257] = {0};
    bool sorted = true;
    for (size_t i = 1; i < n && sorted; i++) sorted = class_of(c[i - 1]) <= class_of(c[i]);
    if (sorted) return;
    for (size_t i = 0; i < n; i++) at[class_of(c[i]) + 1]++;
    for (int k = 1; k < 257; k++) at[k] += at[k - 1];
    for (size_t i = 0; i < n; i++) room[at[class_of(c[i])]++] = c[i];
    memcpy(c, room, n * sizeof *c);
}

/* One stretch of UTF-8. */
static void form(tok_buf *out, const char *text, size_t n, int options) {
    enum { MOST = 32 }; /* characters that one is taken apart into: 18 */
    const utf8proc_option_t how = (utf8proc_option_t)(UTF8PROC_STABLE | options);
    size_t room = n + MOST, m = 0, first = 0;
    int32_t *c = n ? malloc(2 * room * sizeof *c) : NULL;
    for (size_t i = 0, k; c && i < n; i += k) {
        utf8proc_int32_t code = (utf8proc_int32_t)tok_char(text + i, n - i, &k);
        int unused = 0;
        if (room - m < MOST) {
            int32_t *more = realloc(c, 4 * room * sizeof *c);
            if (!more) free(c);
            room *= 2;
            if (!(c = more)) break;
        }
        utf8proc_ssize_t some = utf8proc_decompose_char(code, c + m, MOST, how, &unused);
        if (some > 0) m += (size_t)some;
    }
    if (n && !c) out->arena->failed = true;
    if (!c) return;
    for (size_t i = 0; i < m; i++)
        if (!class_of(c[i])) {
            sort_marks(c + first, i - first, c + room);
            first = i + 1;
        }
    sort_marks(c + first, m - first, c + room);
    utf8proc_ssize_t made = utf8proc_normalize_utf32(c, (utf8proc_ssize_t)m, how);
    for (utf8proc_ssize_t i = 0; i < made; i++) tok_add_char(out, (uint32_t)c[i]);
    free(c);
}

static tok_text formed(tok_text text, tok_arena *a, int options) {
    tok_buf out = {.arena = a};
    size_t done = 0;
    bool plain = true;
    for (size_t i = 0; i < text.n && plain; i++) plain = (unsigned char)text.data[i] < 0x80;
    if (plain) return text;
    for (size_t i = 0, k; i < text.n; i += k)
        if (tok_char(text.data + i, text.n - i, &k) == TOK_INVALID) {
            form(&out, text.data + done, i - done, options);
            tok_add(&out, text.data + i, 1);
            done = i + 1;
        }
    form(&out, text.data + done, text.n - done, options);
    return tok_whole(&out);
}
static tok_text nfc(const tok_part *p, tok_text text, tok_arena *a) {
    (void)p;
    return formed(text, a, UTF8PROC_COMPOSE);
}
static tok_text nfd(const tok_part *p, tok_text text, tok_arena *a) {
    (void)p;
    return formed(text, a, UTF8PROC_DECOMPOSE);
}
static tok_text nfkc(const tok_part *p, tok_text text, tok_arena *a) {
    (void)p;
    return formed(text, a, UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
}
static tok_text nfkd(const tok_part *p, tok_text text, tok_arena *a) {
    (void)p;
    return formed(text, a, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
}

/* --- of each character --- */
typedef void (*each_fn)(tok_buf *out, uint32_t c);
static tok_text of_each(tok_text text, tok_arena *a, each_fn fn) {
    tok_buf out = {.arena = a};
    for (size_t i = 0, k; i < text.n; i += k) {
        uint32_t c = tok_char(text.data + i, text.n - i, &k);
        if (c == TOK_INVALID)
            tok_add(&out, text.data + i, 1);
        else
            fn(&out, c);
    }
    return tok_whole(&out);
}

static void lower(tok_buf *out, uint32_t c) {
    tok_add_char(out, c == 0x130 ? 'i' : (uint32_t)utf8proc_tolower((utf8proc_int32_t)c));
    if (c == 0x130) tok_add_char(out, 0x307); /* the one character whose small form is two */
}
static void without_marks(tok_buf *out, uint32_t c) {
    if (!tok_is_mark(c)) tok_add_char(out, c);
}
static void without_nonspacing(tok_buf *out, uint32_t c) {
    if (!tok_is_nonspacing_mark(c)) tok_add_char(out, c);
}
static void cleaned(tok_buf *out, uint32_t c) {
    if (c && c != 0xfffd && !tok_is_control(c)) tok_add_char(out, tok_is_space(c) ? ' ' : c);
}
static void apart(tok_buf *out, uint32_t c) {
    bool chinese = tok_is_chinese(c);
    if (chinese) tok_add(out, " ", 1);
    tok_add_char(out, c);
    if (chinese) tok_add(out, " ", 1);
}

static tok_text lowercase(const tok_part *p, tok_text text, tok_arena *a) {
    (void)p;
    return of_each(text, a, lower);
}
static tok_text strip_accents(const tok_part *p, tok_text text, tok_arena *a) {
    (void)p;
    return of_each(text, a, without_marks);
}

/* on: clean_text, handle_chinese_chars, strip_accents, lowercase */
static xt_status bert_read(tok_part *p, const cJSON *json) {
    p->on[0] = tok_read_flag(json, "clean_text", true);
    p->on[1] = tok_read_flag(json, "handle_chinese_chars", true);
    p->on[3] = tok_read_flag(json, "lowercase", true);
    p->on[2] = tok_read_flag(json, "strip_accents", p->on[3]);
    return NULL;
}
static tok_text bert(const tok_part *p, tok_text text, tok_arena *a) {
    if (p->on[0]) text = of_each(text, a, cleaned);
    if (p->on[1]) text = of_each(text, a, apart);
    if (p->on[2]) text = of_each(nfd(p, text, a), a, without_nonspacing);
    return p->on[3] ? of_each(text, a, lower) : text;
}

/* --- others --- */
static xt_status replace_read(tok_part *p, const cJSON *json) {
    XT_TRY(tok_read_pattern(p, cJSON_GetObjectItemCaseSensitive(json, "pattern")));
    return tok_read_text(&p->with, json, "content");
}
static tok_text replace(const tok_part *p, tok_text text, tok_arena *a) {
    return tok_replace(p->regex, text, p->with, a);
}

static xt_status prepend_read(tok_part *p, const cJSON *json) {
    return tok_read_text(&p->text, json, "prepend");
}
static tok_text prepend(const tok_part *p, tok_text text, tok_arena *a) {
    tok_buf out = {.arena = a};
    if (!text.n) return text;
    tok_add(&out, p->text, strlen(p->text));
    tok_add(&out, text.data, text.n);
    return tok_whole(&out);
}

/* on: strip_left, strip_right */
static xt_status strip_read(tok_part *p, const cJSON *json) {
    p->on[0] = tok_read_flag(json, "strip_left", true);
    p->on[1] = tok_read_flag(json, "strip_right", true);
    return NULL;
}
static tok_text strip(const tok_part *p, tok_text text, tok_arena *a) {
    size_t first = text.n, end = 0;
    (void)a;
    for (size_t i = 0, k; i < text.n; i += k)
        if (!tok_is_space(tok_char(text.data + i, text.n - i, &k))) {
            if (first == text.n) first = i;
            end = i + k;
        }
    if (!p->on[0]) first = 0;
    if (!p->on[1]) end = text.n;
    return first < end ? (tok_text){text.data + first, end - first} : (tok_text){"", 0};
}

static xt_status precompiled_read(tok_part *p, const cJSON *json) {
    const cJSON *map = cJSON_GetObjectItemCaseSensitive(json, "precompiled_charsmap");
    if (!cJSON_IsString(map)) return xt_status_new(XT_DATA_LOSS, "Precompiled has no text \"precompiled_charsmap\"");
    return tok_charsmap_new(map->valuestring, &p->map);
}
static tok_text precompiled(const tok_part *p, tok_text text, tok_arena *a) {
    return tok_charsmap_apply(p->map, text, a);
}
static tok_text byte_level(const tok_part *p, tok_text text, tok_arena *a) {
    (void)p;
    return tok_bytes_as_chars(text, a);
}

static xt_status sequence_read(tok_part *p, const cJSON *json);
static tok_text sequence(const tok_part *p, tok_text text, tok_arena *a) {
    for (size_t i = 0; i < p->n_parts; i++) text = tok_normalize(&p->parts[i], text, a);
    return text;
}

static const tok_kind kinds[] = {{"Sequence", sequence_read, {.normalize = sequence}},
                                 {"NFC", NULL, {.normalize = nfc}},
                                 {"NFD", NULL, {.normalize = nfd}},
                                 {"NFKC", NULL, {.normalize = nfkc}},
                                 {"NFKD", NULL, {.normalize = nfkd}},
                                 {"Lowercase", NULL, {.normalize = lowercase}},
                                 {"StripAccents", NULL, {.normalize = strip_accents}},
                                 {"BertNormalizer", bert_read, {.normalize = bert}},
                                 {"Replace", replace_read, {.normalize = replace}},
                                 {"Prepend", prepend_read, {.normalize = prepend}},
                                 {"Strip", strip_read, {.normalize = strip}},
                                 {"Precompiled", precompiled_read, {.normalize = precompiled}},
                                 {"ByteLevel", NULL, {.normalize = byte_level}}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static xt_status sequence_read(tok_part *p, const cJSON *json) {
    return tok_read_parts(p, cJSON_GetObjectItemCaseSensitive(json, "normalizers"), kinds, KINDS, "normalizer");
}
xt_status tok_normalizer_read(tok_part *p, const cJSON *json) {
    return tok_part_read(p, json, kinds, KINDS, "normalizer");
}
tok_text tok_normalize(const tok_part *p, tok_text text, tok_arena *a) {
    return p->kind ? p->kind->normalize(p, text, a) : text;
}
