/* PCRE2 with the words of Oniguruma: \s, \w and \d mean Unicode's classes there, and not quite what PCRE2 takes them
 * for (U+180E is a space of PCRE2's, a combining mark no word), so they are spelled out. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "models/tokenizers/regex.h"

#include <stdlib.h>
#include <string.h>

#include <pcre2.h>

struct tok_regex {
    pcre2_code *code;
};
struct tok_search {
    const tok_regex *regex;
    pcre2_match_data *data;
};

#define SPACES "\\p{Z}\\x{9}-\\x{d}\\x{85}"
#define WORDS "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"

/* What stands for the escape `letter` inside or outside of a class; NULL: itself. */
static const char *spelled(char letter, bool in_class) {
    switch (letter) {
    case 's': return in_class ? SPACES : "[" SPACES "]";
    case 'S': return in_class ? NULL : "[^" SPACES "]";
    case 'w': return in_class ? WORDS : "[" WORDS "]";
    case 'W': return in_class ? NULL : "[^" WORDS "]";
    case 'd': return "\\p{Nd}";
    case 'D': return "\\P{Nd}";
    case 'h': return in_class ? "0-9a-fA-F" : "[0-9a-fA-F]";
    default: return NULL;
    }
}

static tok_text translated(const char *pattern, tok_arena *a) {
    tok_buf out = {.arena = a};
    bool in_class = false;
    for (const char *p = pattern; *p; p++) {
        const char *other = *p == '\\' && p[1] ? spelled(p[1], in_class) : NULL;
        if (other)
            tok_add(&out, other, strlen(other));
        else
            tok_add(&out, p, *p == '\\' && p[1] ? 2 : 1);
        if (*p == '\\' && p[1]) {
            p++;
            continue;
        }
        if (*p == '[') in_class = true;
        if (*p == ']') in_class = false;
    }
    return tok_whole(&out);
}

xt_status tok_regex_new(const char *pattern, tok_regex **out) {
    tok_arena a = {0};
    tok_text text = translated(pattern, &a);
    tok_regex *r = calloc(1, sizeof *r);
    int code = 0;
    PCRE2_SIZE at = 0;
    *out = NULL;
    if (r && !a.failed)
        r->code = pcre2_compile((PCRE2_SPTR)text.data, text.n, PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &code,
                                &at, NULL);
    tok_arena_free(&a);
    if (!r || a.failed) {
        free(r);
        return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a regular expression");
    }
    if (!r->code) {
        PCRE2_UCHAR why[256] = "";
        pcre2_get_error_message(code, why, sizeof why);
        free(r);
        return xt_status_new(XT_DATA_LOSS, "the regular expression '%.200s' is none (%s)", pattern, (char *)why);
    }
    pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE); /* without it matching is slower, and the same */
    *out = r;
    return NULL;
}

void tok_regex_free(tok_regex *r) {
    if (r) pcre2_code_free(r->code);
    free(r);
}

tok_search *tok_search_new(const tok_regex *r) {
    tok_search *s = calloc(1, sizeof *s);
    if (s) *s = (tok_search){r, pcre2_match_data_create_from_pattern(r->code, NULL)};
    if (s && s->data) return s;
    free(s);
    return NULL;
}

void tok_search_free(tok_search *s) {
    if (s) pcre2_match_data_free(s->data);
    free(s);
}

int tok_search_next(tok_search *s, tok_text text, size_t from, size_t *out_start, size_t *out_end) {
    int n = pcre2_match(s->regex->code, (PCRE2_SPTR)text.data, text.n, from, 0, s->data, NULL);
    if (n == PCRE2_ERROR_JIT_STACKLIMIT)
        n = pcre2_match(s->regex->code, (PCRE2_SPTR)text.data, text.n, from, PCRE2_NO_JIT, s->data, NULL);
    if (n < 0) return n == PCRE2_ERROR_NOMATCH ? 0 : -1;
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(s->data);
    *out_start = at[0];
    *out_end = at[1];
    return 1;
}
