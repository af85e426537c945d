/* Oniguruma's expressions, translated (regex_translate.c), by PCRE2. */
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
    size_t from, last; /* where it goes on, and where the last match ended */
};

xt_status tok_regex_new(const char *pattern, tok_regex **out) {
    tok_arena a = {0};
    tok_text text = tok_regex_translated(pattern, &a);
    tok_regex *r = calloc(1, sizeof *r);
    pcre2_compile_context *lines = pcre2_compile_context_create(NULL);
    int code = 0;
    PCRE2_SIZE at = 0;
    *out = NULL;
    if (lines) pcre2_set_newline(lines, PCRE2_NEWLINE_LF);
    if (r && lines && !a.failed)
        r->code = pcre2_compile((PCRE2_SPTR)text.data, text.n,
                                PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_MULTILINE, &code, &at, lines);
    pcre2_compile_context_free(lines);
    bool failed = !r || !lines || a.failed;
    tok_arena_free(&a);
    if (failed) {
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
    if (s) *s = (tok_search){r, pcre2_match_data_create_from_pattern(r->code, NULL), 0, SIZE_MAX};
    if (s && s->data) return s;
    free(s);
    return NULL;
}

void tok_search_free(tok_search *s) {
    if (s) pcre2_match_data_free(s->data);
    free(s);
}

static int match(const tok_search *s, tok_text text) {
    int n = pcre2_match(s->regex->code, (PCRE2_SPTR)text.data, text.n, s->from, 0, s->data, NULL);
    if (n == PCRE2_ERROR_JIT_STACKLIMIT)
        n = pcre2_match(s->regex->code, (PCRE2_SPTR)text.data, text.n, s->from, PCRE2_NO_JIT, s->data, NULL);
    return n == PCRE2_ERROR_NOMATCH ? 0 : n < 0 ? -1 : 1;
}

int tok_search_next(tok_search *s, tok_text text, size_t *out_start, size_t *out_end) {
    while (s->from <= text.n) {
        int found = match(s, text);
        if (found <= 0) return found;
        const PCRE2_SIZE *at = pcre2_get_ovector_pointer(s->data);
        size_t k = 1;
        if (at[0] < at[1] || at[1] != s->last) {
            *out_start = at[0];
            *out_end = s->from = s->last = at[1];
            return 1;
        }
        if (s->from < text.n) tok_char(text.data + s->from, text.n - s->from, &k);
        s->from += k;
    }
    return 0;
}
