/* Reading the parts of a tokenizer.json; see parts.h. */
#include "models/tokenizers/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tok_push(tok_pieces *p, tok_piece piece) {
    if (!piece.text.n && piece.id < 0) return;
    if (p->n == p->room) {
        size_t room = p->room ? 2 * p->room : 16;
        tok_piece *more = tok_alloc(p->arena, room * sizeof *more);
        if (!more) return;
        if (p->n) memcpy(more, p->items, p->n * sizeof *more);
        p->items = more;
        p->room = room;
    }
    p->items[p->n++] = piece;
}

void tok_part_free(tok_part *p) {
    for (size_t i = 0; i < p->n_parts; i++) tok_part_free(&p->parts[i]);
    free(p->parts);
    tok_regex_free(p->regex);
    free(p->text);
    free(p->with);
    tok_charsmap_free(p->map);
    *p = (tok_part){0};
}

xt_status tok_part_read(tok_part *p, const cJSON *json, const tok_kind *kinds, size_t n_kinds, const char *what) {
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "type"));
    *p = (tok_part){0};
    if (!json || cJSON_IsNull(json)) return NULL;
    for (size_t i = 0; type && i < n_kinds; i++)
        if (strcmp(kinds[i].name, type) == 0) {
            p->kind = &kinds[i];
            return p->kind->read ? p->kind->read(p, json) : NULL;
        }
    char known[512] = "";
    for (size_t i = 0, at = 0; i < n_kinds && at < sizeof known; i++)
        at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", kinds[i].name);
    return xt_status_new(XT_UNIMPLEMENTED, "the %s \"%.60s\" is not known; %s are", what, type ? type : "(no type)",
                         known);
}

xt_status tok_read_parts(tok_part *p, const cJSON *list, const tok_kind *kinds, size_t n_kinds, const char *what) {
    int n = cJSON_GetArraySize(list);
    if (!cJSON_IsArray(list)) return xt_status_new(XT_DATA_LOSS, "a sequence of a %s has no list", what);
    p->parts = calloc(n ? (size_t)n : 1, sizeof *p->parts);
    if (!p->parts) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a tokenizer");
    const cJSON *e;
    cJSON_ArrayForEach(e, list) XT_TRY(tok_part_read(&p->parts[p->n_parts++], e, kinds, n_kinds, what));
    return NULL;
}

xt_status tok_read_text(char **out, const cJSON *json, const char *name) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, name));
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "type"));
    if (!text) return xt_status_new(XT_DATA_LOSS, "%s has no text \"%s\"", type ? type : "a part", name);
    *out = strdup(text);
    return *out ? NULL : xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a tokenizer");
}

bool tok_read_flag(const cJSON *json, const char *name, bool otherwise) {
    const cJSON *e = cJSON_GetObjectItemCaseSensitive(json, name);
    return cJSON_IsBool(e) ? cJSON_IsTrue(e) : otherwise;
}

xt_status tok_read_char(uint32_t *out, const cJSON *json, const char *name) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, name));
    size_t n = text ? strlen(text) : 0, bytes = 0;
    *out = n ? tok_char(text, n, &bytes) : 0;
    return n && bytes == n ? NULL : xt_status_new(XT_DATA_LOSS, "\"%s\" is no single character", name);
}

/* A text as an expression that matches it alone. */
static char *quoted(const char *text) {
    char *out = malloc(2 * strlen(text) + 1), *at = out;
    for (; out && *text; text++) {
        if (strchr("\\^$.[]|()?*+{}-#", *text)) *at++ = '\\';
        *at++ = *text;
    }
    if (out) *at = 0;
    return out;
}

xt_status tok_read_pattern(tok_part *p, const cJSON *pattern) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(pattern, "String")),
               *regex = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(pattern, "Regex"));
    if (!text && !regex)
        return xt_status_new(XT_DATA_LOSS, "a pattern is neither {\"String\": ...} nor {\"Regex\": ...}");
    if (regex) return tok_regex_new(regex, &p->regex);
    char *plain = quoted(text);
    xt_status s =
        plain ? tok_regex_new(plain, &p->regex) : xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a tokenizer");
    free(plain);
    return s;
}

xt_status tok_read_behavior(tok_part *p, const cJSON *json) {
    static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "behavior"));
    for (size_t i = 0; name && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0) {
            p->behavior = (tok_behavior)i;
            return NULL;
        }
    return xt_status_new(XT_DATA_LOSS, "the behavior \"%.40s\" of a pre-tokenizer is not known", name ? name : "");
}

tok_text tok_replace(const tok_regex *r, tok_text text, const char *with, tok_arena *a) {
    tok_search *search = tok_search_new(r);
    tok_buf out = {.arena = a};
    size_t done = 0, start, end;
    if (!search) a->failed = true;
    int found = 0;
    while (search && (found = tok_search_next(search, text, &start, &end)) > 0) {
        tok_add(&out, text.data + done, start - done);
        tok_add(&out, with, strlen(with));
        done = end;
    }
    if (found < 0) a->failed = a->gave_up = true;
    tok_search_free(search);
    if (!done && !out.n) return text;
    tok_add(&out, text.data + done, text.n - done);
    return tok_whole(&out);
}

tok_text tok_bytes_as_chars(tok_text text, tok_arena *a) {
    tok_buf out = {.arena = a};
    for (size_t i = 0; i < text.n; i++) tok_add_char(&out, tok_byte_char((unsigned char)text.data[i]));
    return tok_whole(&out);
}
