/* Lexer of MLIR text and the small helpers that every parse_*.c stands on. Tokens point into the source; nothing is
 * copied. Source: the MLIR language reference (lexical structure). */
#include "base/fault.h"
#include "ir/parse_int.h"

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
static bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_suffix(char c) {
    return is_letter(c) || is_digit(c) || c == '$' || c == '.' || c == '-';
}

/* --- Errors --- */

static bool fail_v(parser *p, token at, const char *fmt, va_list ap) {
    if (p->status) return false; /* the first error is the one that explains the rest */
    if (base_failed_here().count != p->allocations_failed) return parse_oom(p); /* nothing is wrong with the text */
    const char *line = at.text;
    while (line > p->begin && line[-1] != '\n') line--;
    p->status = status_context(status_newv(XT_INVALID_ARGUMENT, NULL, fmt, ap), "%s:%u:%zu", p->file, at.line,
                               (size_t)(at.text - line) + 1);
    return false;
}

bool parse_fail_at(parser *p, token at, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fail_v(p, at, fmt, ap);
    va_end(ap);
    return false;
}

bool parse_fail(parser *p, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fail_v(p, p->tok, fmt, ap);
    va_end(ap);
    return false;
}

bool parse_expected(parser *p, const char *what) {
    token t = p->tok;
    if (t.kind == TOK_END) return parse_fail(p, "expected %s, found the end of the text", what);
    size_t n = t.n < 40 ? t.n : 40;
    return parse_fail(p, "expected %s, found '%.*s'%s", what, (int)n, t.text, n < t.n ? "..." : "");
}

bool parse_oom(parser *p) {
    if (!p->status) p->status = status_oom(0, "parsing a StableHLO program");
    return false;
}

bool parse_enter(parser *p) {
    if (++p->depth <= PARSE_MAX_DEPTH) return true;
    return parse_fail(p, "nested deeper than %d levels", PARSE_MAX_DEPTH);
}

void parse_leave(parser *p) {
    p->depth--;
}

/* --- Tokens --- */

static const char *skip_blank(parser *p, const char *s) {
    for (; s < p->end; s++) {
        if (*s == '\n') {
            p->line++;
        } else if (*s == '/' && s + 1 < p->end && s[1] == '/') {
            while (s + 1 < p->end && s[1] != '\n') s++;
        } else if (*s != ' ' && *s != '\t' && *s != '\r') {
            break;
        }
    }
    return s;
}

static const char *lex_number(parser *p, const char *s, tok_kind *kind) {
    *kind = TOK_INT;
    if (*s == '0' && s + 2 < p->end && s[1] == 'x' && is_hex(s[2])) {
        for (s += 2; s < p->end && is_hex(*s);) s++;
        return s;
    }
    while (s < p->end && is_digit(*s)) s++;
    if (s == p->end || *s != '.') return s;
    *kind = TOK_FLOAT;
    for (s++; s < p->end && is_digit(*s);) s++;
    if (s < p->end && (*s == 'e' || *s == 'E')) {
        const char *e = s + 1;
        if (e < p->end && (*e == '+' || *e == '-')) e++;
        if (e < p->end && is_digit(*e)) {
            while (e < p->end && is_digit(*e)) e++;
            s = e;
        }
    }
    return s;
}

/* From the opening quote to just after the closing one; NULL when there is none on the line. */
static const char *string_end(const parser *p, const char *s) {
    for (s++; s < p->end && *s != '\n'; s++) {
        if (*s == '"') return s + 1;
        if (*s == '\\') s++;
    }
    return NULL;
}

static const char *lex_suffix(const parser *p, const char *s) {
    if (s < p->end && is_digit(*s)) {
        while (s < p->end && is_digit(*s)) s++;
    } else {
        while (s < p->end && is_suffix(*s) && !(*s == '-' && s + 1 < p->end && s[1] == '>')) s++;
    }
    return s;
}

bool lex_advance(parser *p) {
    p->last_end = p->tok.text + p->tok.n;
    const char *s = skip_blank(p, p->next);
    token t = {.kind = TOK_END, .line = p->line, .text = s};
    const char *e = s;
    if (s == p->end) {
        /* the end */
    } else if (is_letter(*s)) {
        t.kind = TOK_WORD;
        while (e < p->end && (is_letter(*e) || is_digit(*e) || *e == '$' || *e == '.')) e++;
    } else if (is_digit(*s)) {
        e = lex_number(p, s, &t.kind);
    } else if (*s == '"') {
        t.kind = TOK_STRING;
        e = string_end(p, s);
        if (!e) {
            p->tok = (token){.kind = TOK_PUNCT, .line = p->line, .text = s, .n = 1};
            return parse_fail(p, "string without a closing quote on its line");
        }
    } else if (*s == '@' && s + 1 < p->end && s[1] == '"') {
        t.kind = TOK_SYMBOL;
        e = string_end(p, s + 1);
        if (!e) {
            p->tok = (token){.kind = TOK_PUNCT, .line = p->line, .text = s, .n = 1};
            return parse_fail(p, "symbol name without a closing quote on its line");
        }
    } else if (strchr("%@#!^", *s)) {
        static const tok_kind kinds[] = {
            ['%'] = TOK_VALUE, ['@'] = TOK_SYMBOL, ['#'] = TOK_HASH, ['!'] = TOK_BANG, ['^'] = TOK_CARET};
        t.kind = kinds[(unsigned char)*s];
        e = lex_suffix(p, s + 1);
        if (e == s + 1) {
            t.kind = TOK_PUNCT, t.punct = *s;
        }
    } else if (*s == '-' && s + 1 < p->end && s[1] == '>') {
        t.kind = TOK_ARROW, e = s + 2;
    } else {
        t.kind = TOK_PUNCT, t.punct = *s, e = s + 1;
    }
    t.n = (size_t)(e - s);
    p->tok = t;
    p->next = e;
    return true;
}

lex_state lex_save(const parser *p) {
    return (lex_state){p->tok, p->next, p->line, p->last_end};
}

void lex_restore(parser *p, lex_state s) {
    p->tok = s.tok;
    p->next = s.next;
    p->line = s.line;
    p->last_end = s.last_end;
}

bool lex_skip_angle(parser *p, const char **out_text, size_t *out_n) {
    const char *s = p->tok.text;
    char open[PARSE_MAX_DEPTH];
    size_t n_open = 0;
    p->line = p->tok.line;
    for (; s < p->end; s++) {
        if (*s == '\n') p->line++;
        if (*s == '"') {
            const char *e = string_end(p, s);
            if (!e) break;
            s = e - 1;
        } else if (*s == '-' && s + 1 < p->end && s[1] == '>') {
            s++;
        } else if (*s == '>' && n_open == 0) {
            *out_text = p->tok.text;
            *out_n = (size_t)(s - p->tok.text);
            p->next = s;
            return lex_advance(p);
        } else if (strchr("<([{", *s)) {
            if (n_open == PARSE_MAX_DEPTH)
                return parse_fail(p, "brackets nested deeper than %d levels", PARSE_MAX_DEPTH);
            open[n_open++] = *s == '(' ? ')' : *s == '<' ? '>' : *s == '[' ? ']' : '}';
        } else if (strchr(">)]}", *s)) {
            if (n_open == 0 || open[n_open - 1] != *s) break;
            n_open--;
        }
    }
    return parse_fail(p, "expected the '>' that closes this '<', found %s",
                      s < p->end ? "brackets that do not match" : "the end of the text");
}

bool lex_dims(parser *p, int64_t **out_dims, size_t *out_rank) {
    const char *s = p->tok.text;
    size_t n = 0, cap = 0;
    int64_t *dims = NULL;
    for (;;) {
        int64_t d = 0;
        const char *first = s;
        if (s < p->end && *s == '?') {
            d = IR_DYNAMIC;
            s++;
        } else {
            for (; s < p->end && is_digit(*s); s++) {
                if (d > (INT64_MAX - 9) / 10) {
                    base_free(dims);
                    return parse_fail(p, "a dimension does not fit in 64 bits");
                }
                d = d * 10 + (*s - '0');
            }
        }
        if (s == first) break;
        if (s == p->end || *s != 'x') {
            base_free(dims);
            p->next = s;
            return lex_advance(p) && parse_expected(p, "'x' and an element type after the dimension");
        }
        s++;
        if (!VEC_PUSH(dims, n, cap, d)) {
            base_free(dims);
            return parse_oom(p);
        }
    }
    *out_rank = n;
    *out_dims = arena_copy(p->scratch, dims, n * sizeof *dims);
    base_free(dims);
    if (n && !*out_dims) return parse_oom(p);
    p->line = p->tok.line;
    p->next = s;
    return lex_advance(p);
}

/* --- Small readers --- */

bool parse_at(const parser *p, char punct) {
    return p->tok.kind == TOK_PUNCT && p->tok.punct == punct;
}

bool parse_at_word(const parser *p, const char *word) {
    return p->tok.kind == TOK_WORD && p->tok.n == strlen(word) && !memcmp(p->tok.text, word, p->tok.n);
}

bool parse_accept(parser *p, char punct) {
    return parse_at(p, punct) && lex_advance(p);
}
bool parse_accept_word(parser *p, const char *word) {
    return parse_at_word(p, word) && lex_advance(p);
}

bool parse_expect(parser *p, char punct, const char *where) {
    if (parse_at(p, punct)) return lex_advance(p);
    char what[120];
    snprintf(what, sizeof what, "'%c' %s", punct, where);
    return parse_expected(p, what);
}

bool parse_expect_word(parser *p, const char *word) {
    if (parse_at_word(p, word)) return lex_advance(p);
    char what[64];
    snprintf(what, sizeof what, "'%s'", word);
    return parse_expected(p, what);
}

bool parse_key(parser *p, const char *word) {
    return parse_expect_word(p, word) && parse_expect(p, '=', "after the name");
}

bool parse_arrow(parser *p) {
    if (p->tok.kind == TOK_ARROW) return lex_advance(p);
    return parse_expected(p, "'->'");
}

/* `most`: the largest magnitude of a number without a sign. */
static bool read_integer(parser *p, uint64_t most, int64_t *out) {
    bool negative = parse_accept(p, '-');
    if (p->status) return false;
    if (p->tok.kind != TOK_INT) return parse_expected(p, "an integer");
    const char *s = p->tok.text, *e = s + p->tok.n;
    uint64_t v = 0;
    unsigned base = 10;
    if (p->tok.n > 2 && s[1] == 'x') base = 16, s += 2;
    for (; s < e; s++) {
        unsigned digit = (unsigned)(is_digit(*s) ? *s - '0' : (*s | 32) - 'a' + 10);
        if (v > (UINT64_MAX - digit) / base) return parse_fail(p, "an integer does not fit in 64 bits");
        v = v * base + digit;
    }
    if (v > (negative ? (uint64_t)INT64_MAX + 1 : most)) return parse_fail(p, "an integer does not fit in 64 bits");
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return lex_advance(p);
}

bool parse_integer(parser *p, int64_t *out) {
    return read_integer(p, INT64_MAX, out);
}

bool parse_integer_bits(parser *p, int64_t *out) {
    return read_integer(p, UINT64_MAX, out);
}

bool parse_bool_word(parser *p, bool *out) {
    *out = parse_at_word(p, "true");
    if (*out || parse_at_word(p, "false")) return lex_advance(p);
    return parse_expected(p, "true or false");
}

static int hex_value(char c) {
    return is_digit(c) ? c - '0' : (c | 32) - 'a' + 10;
}

/* Unescapes the n bytes between quotes at s into the module's arena. */
static char *unescape(parser *p, const char *s, size_t n, size_t *out_n) {
    char *d = arena_alloc(p->m->mem, n + 1);
    if (!d) return NULL;
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] != '\\' || i + 1 >= n) {
            d[k++] = s[i];
        } else if (i + 2 < n && is_hex(s[i + 1]) && is_hex(s[i + 2])) {
            d[k++] = (char)(hex_value(s[i + 1]) * 16 + hex_value(s[i + 2]));
            i += 2;
        } else {
            char c = s[++i];
            d[k++] = c == 'n' ? '\n' : c == 't' ? '\t' : c;
        }
    }
    *out_n = k;
    return d;
}

bool parse_string(parser *p, const char **out, size_t *out_n) {
    if (p->tok.kind != TOK_STRING) return parse_expected(p, "a string");
    *out = unescape(p, p->tok.text + 1, p->tok.n - 2, out_n);
    return *out ? lex_advance(p) : parse_oom(p);
}

bool parse_symbol(parser *p, const char **out, size_t *out_n) {
    if (p->tok.kind != TOK_SYMBOL) return parse_expected(p, "a symbol such as @main");
    bool quoted = p->tok.n > 1 && p->tok.text[1] == '"';
    *out =
        quoted ? unescape(p, p->tok.text + 2, p->tok.n - 3, out_n) : unescape(p, p->tok.text + 1, p->tok.n - 1, out_n);
    return *out ? lex_advance(p) : parse_oom(p);
}

bool parse_integer_list(parser *p, const char *what, int64_t **out, size_t *out_n) {
    size_t n = 0, cap = 0;
    int64_t *v = NULL, x;
    bool ok = parse_expect(p, '[', what);
    while (ok && !parse_at(p, ']')) {
        ok = parse_integer(p, &x) && (VEC_PUSH(v, n, cap, x) || parse_oom(p));
        if (ok && !parse_at(p, ']')) ok = parse_expect(p, ',', "or ']' in a list of integers");
    }
    ok = ok && lex_advance(p);
    *out_n = n;
    *out = NULL;
    if (ok) {
        *out = arena_copy(p->m->mem, v, n * sizeof *v);
        ok = n == 0 || *out || parse_oom(p);
    }
    base_free(v);
    return ok;
}
