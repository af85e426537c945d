/* Oniguruma's regular expressions in the words of PCRE2. What has the same letters and another meaning:
 *  1. \s \w \d \h \b, POSIX brackets and \p{Alnum} and the like are Unicode's classes, and not quite those that PCRE2
 *     takes them for (U+180E is a space of PCRE2's, a combining mark no word), so they are spelled out.
 *  2. \p{Han} is a script; since 10.40 PCRE2 means scripts with their extensions.
 *  3. A class may hold classes and meet others ([a-z&&[^aeiou]]): what one list cannot say becomes alternatives and
 *     assertions about one character.
 *  4. (?m) is PCRE2's (?s); a{2,3}+ repeats; {,3} is an interval; \v is one character.
 *  5. (?i) holds for all alternatives behind it (a(?i)b|c is a(?i:b|c)), and one character may be several in it: a
 *     sharp s is also ss, and ss a sharp s; not where a look behind needs one length.
 * ^ and $ are those of lines there, which is an option of PCRE2's (regex.c). What is left: a class in (?i) is one
 * character here, and two there where it holds a sharp s or its like. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "models/tokenizers/regex.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pcre2.h>

/* In the order in which they may stand before a '-': what ends in a property makes no range with it. */
#define SPACES "\\x{9}-\\x{d}\\x{85}\\p{Z}"
#define WORDS "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
#define GRAPHS "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}"
/* Outside of classes raised digits and the fractions of Latin-1 are words too. */
#define FRACTIONS "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}"
#define IS_WORD "[" FRACTIONS WORDS "]"

/* As it stands between brackets, by a name in small letters. */
static const struct named {
    const char *name, *members;
} names[] = {{"alpha", "\\p{Alphabetic}"},
             {"alnum", "\\p{Alphabetic}\\p{Nd}"},
             {"upper", "\\p{Uppercase}"},
             {"lower", "\\p{Lowercase}"},
             {"digit", "\\p{Nd}"},
             {"space", SPACES},
             {"word", WORDS},
             {"blank", "\\x{9}\\p{Zs}"},
             {"cntrl", "\\p{Cc}"},
             {"graph", GRAPHS},
             {"print", GRAPHS "\\p{Zs}"},
             {"xdigit", "0-9a-fA-F"},
             {"ascii", "\\x{0}-\\x{7f}"},
             {"whitespace", SPACES},
             {"assigned", "\\P{Cn}"},
             {"letter", "\\p{L}"},
             {"mark", "\\p{M}"},
             {"number", "\\p{N}"},
             {"punct", "\\p{P}"},
             {"punctuation", "\\p{P}"},
             {"symbol", "\\p{S}"},
             {"separator", "\\p{Z}"},
             {"other", "\\p{C}"},
             {"decimalnumber", "\\p{Nd}"},
             {"uppercaseletter", "\\p{Lu}"},
             {"lowercaseletter", "\\p{Ll}"},
             {"control", "\\p{Cc}"},
             {"format", "\\p{Cf}"}};

typedef struct translator {
    const char *p;
    tok_arena *arena;
    tok_buf out;
    size_t atom, open[128]; /* where the last atom began in `out`, and the groups that are open */
    int depth, nested; /* of groups, of classes */
    struct scope {
        bool caseless, extended, behind; /* within (?i), (?x), a look behind */
        int options; /* groups that (?i) and its like have opened up to the end of this one */
    } now, outer[128];
} translator;

static void add(tok_buf *b, const char *text) {
    tok_add(b, text, strlen(text));
}

static void add_text(tok_buf *b, tok_text t) {
    tok_add(b, t.data, t.n);
}

/* --- names of classes --- */
/* Lower case, without spaces, '-' and '_', as they are compared. */
static void plain_name(const char *name, size_t n, char *out, size_t room) {
    size_t at = 0;
    for (size_t i = 0; i < n && at + 1 < room; i++)
        if (!strchr(" -_", name[i])) out[at++] = (char)tolower((unsigned char)name[i]);
    out[at] = 0;
}

static const char *members_of(const char *name) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i].name, name) == 0) return names[i].members;
    return NULL;
}

static bool compiles(const char *pattern) {
    int code;
    PCRE2_SIZE at;
    pcre2_code *made =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &code, &at, NULL);
    pcre2_code_free(made);
    return made != NULL;
}

/* What some members are or, turned around, are not. */
typedef struct members {
    tok_text text; /* for between brackets */
    bool negated;
} members;

/* The name of a property behind "\p" or "\P": up to its '}'. */
static members property(translator *t, bool negated) {
    const char *end = strchr(t->p, '}'), *name = t->p + 1;
    char plain[64], script[80];
    tok_buf b = {.arena = t->arena};
    if (*t->p != '{' || !end) { /* \pL is none of Oniguruma's */
        add(&b, negated ? "\\P" : "\\p");
        return (members){tok_whole(&b), false};
    }
    if (*name == '^') name++, negated = !negated;
    plain_name(name, (size_t)(end - name), plain, sizeof plain);
    t->p = end + 1;
    const char *known = members_of(plain);
    snprintf(script, sizeof script, "\\p{sc:%s}", plain);
    if (known)
        add(&b, known);
    else if (strlen(plain) > 2 && strcmp(plain, "any") != 0 && compiles(script))
        add(&b, script);
    else {
        add(&b, "\\p{");
        tok_add(&b, name, (size_t)(end - name));
        add(&b, "}");
    }
    return (members){tok_whole(&b), negated};
}

/* The escape behind a backslash that stands for a class; false: it is another one, and nothing was read. */
static bool class_escape(translator *t, members *out) {
    static const struct {
        char letter;
        const char *name;
    } rows[] = {{'s', "space"}, {'w', "word"}, {'d', "digit"}, {'h', "xdigit"}};
    char letter = *t->p;
    if (letter == 'p' || letter == 'P') {
        t->p++;
        *out = property(t, letter == 'P');
        return true;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].letter == tolower((unsigned char)letter)) {
            tok_buf b = {.arena = t->arena};
            add(&b, members_of(rows[i].name));
            *out = (members){tok_whole(&b), letter != rows[i].letter};
            t->p++;
            return true;
        }
    return false;
}

/* Any other escape, the same in a class and outside. */
static void other_escape(translator *t, tok_buf *to) {
    char letter = *t->p++, text[2] = {letter, 0};
    if (letter == 'v')
        add(to, "\\x{b}");
    else if (letter == 'u' && strspn(t->p, "0123456789abcdefABCDEF") >= 4) {
        add(to, "\\x{");
        tok_add(to, t->p, 4);
        add(to, "}");
        t->p += 4;
    } else {
        if (letter != 'Q' && letter != 'E') add(to, "\\"); /* letters there, quoting here */
        add(to, text);
    }
}

/* --- classes --- */
typedef struct set {
    tok_buf list, others; /* between brackets; alternatives of one character, a '|' in front of each */
    bool negated;
} set;

static tok_text finish(translator *t, const set *s) {
    tok_buf b = {.arena = t->arena};
    bool both = s->others.n > 0;
    if (both) add(&b, s->negated ? "(?:(?!" : "(?:");
    if (s->list.n) {
        add(&b, s->negated && !both ? "[^" : "[");
        tok_add(&b, s->list.data, s->list.n);
        add(&b, "]");
    } else if (!both)
        add(&b, s->negated ? "\\p{Any}" : "(?!)");
    if (both) tok_add(&b, s->others.data + !s->list.n, s->others.n - !s->list.n);
    if (both) add(&b, s->negated ? ")\\p{Any})" : ")");
    return tok_whole(&b);
}

static void add_other(set *s, tok_text one) {
    add(&s->others, "|");
    add_text(&s->others, one);
}

static void add_members(translator *t, set *s, members m) {
    if (m.negated) {
        set outside = {.list = {.arena = t->arena}, .others = {.arena = t->arena}, .negated = true};
        add_text(&outside.list, m.text);
        add_other(s, finish(t, &outside));
    } else
        add_text(&s->list, m.text);
}

/* [:alpha:], [:^alpha:]; false: it is none, and nothing was read. */
static bool posix(translator *t, set *s) {
    const char *name = t->p + 2, *end = strstr(name, ":]");
    char plain[32];
    if (t->p[1] != ':' || !end || end - name > 12) return false;
    bool negated = *name == '^';
    snprintf(plain, sizeof plain, "%.*s", (int)(end - name - negated), name + negated);
    const char *list = strcmp(plain, "punct") == 0 ? "\\p{P}\\p{S}" : members_of(plain);
    if (!list) return false;
    tok_buf b = {.arena = t->arena};
    add(&b, list);
    add_members(t, s, (members){tok_whole(&b), negated});
    t->p = end + 2;
    return true;
}

static set read_set(translator *t);

static void read_member(translator *t, set *s) {
    members m;
    if (*t->p == '[') {
        if (posix(t, s)) return;
        set inner = read_set(t);
        if (!inner.negated && !inner.others.n && inner.list.n)
            tok_add(&s->list, inner.list.data, inner.list.n);
        else
            add_other(s, finish(t, &inner));
    } else if (*t->p == '\\' && t->p[1]) {
        t->p++;
        if (class_escape(t, &m))
            add_members(t, s, m);
        else
            other_escape(t, &s->list);
    } else if (*t->p == '-' && (t->p[1] == '[' || t->p[1] == '\\')) {
        add(&s->list, t->p[1] == '\\' && !strchr("swdhpSWDHP", t->p[2]) ? "-" : "\\-");
        t->p++;
    } else
        tok_add(&s->list, t->p++, 1);
}

/* What stands behind "&&" meets what stood before it. */
static void meet(translator *t, set *s, bool negated) {
    set right = {.list = {.arena = t->arena}, .others = {.arena = t->arena}};
    tok_buf both = {.arena = t->arena};
    t->p += 2;
    while (*t->p && *t->p != ']' && !(t->p[0] == '&' && t->p[1] == '&')) read_member(t, &right);
    s->negated = false;
    add(&both, "(?=");
    add_text(&both, finish(t, s));
    add(&both, ")");
    add_text(&both, finish(t, &right));
    *s = (set){.list = {.arena = t->arena}, .others = {.arena = t->arena}, .negated = negated};
    add_other(s, tok_whole(&both));
}

static set read_set(translator *t) {
    enum { DEEPEST = 32 };
    set s = {.list = {.arena = t->arena}, .others = {.arena = t->arena}};
    t->p++;
    if (++t->nested > DEEPEST) t->p += strlen(t->p);
    if (*t->p == '^') s.negated = true, t->p++;
    bool negated = s.negated;
    if (*t->p == ']') add(&s.list, "\\]"), t->p++;
    while (*t->p && *t->p != ']') {
        if (t->p[0] == '&' && t->p[1] == '&')
            meet(t, &s, negated);
        else
            read_member(t, &s);
    }
    if (*t->p) t->p++;
    t->nested--;
    return s;
}

/* --- around classes --- */
static void escape(translator *t) {
    members m;
    t->p++;
    t->atom = t->out.n;
    if (*t->p == 'b' || *t->p == 'B') {
        bool edge = *t->p++ == 'b';
        add(&t->out, edge ? "(?:(?<=" IS_WORD ")(?!" IS_WORD ")|(?<!" IS_WORD ")(?=" IS_WORD "))"
                          : "(?:(?<=" IS_WORD ")(?=" IS_WORD ")|(?<!" IS_WORD ")(?!" IS_WORD "))");
    } else if (*t->p == 'O') {
        t->p++;
        add(&t->out, "\\p{Any}");
    } else if (class_escape(t, &m)) {
        set s = {.list = {.arena = t->arena}, .others = {.arena = t->arena}, .negated = m.negated};
        if (m.text.n == strlen(WORDS) && memcmp(m.text.data, WORDS, m.text.n) == 0) add(&s.list, FRACTIONS);
        add_text(&s.list, m.text);
        add_text(&t->out, finish(t, &s));
    } else
        other_escape(t, &t->out);
}

enum { DEEPEST_GROUP = 128 };

static void open_group(translator *t) {
    if (t->depth < DEEPEST_GROUP) {
        t->open[t->depth] = t->out.n;
        t->outer[t->depth] = t->now;
    }
    t->depth++;
    t->now.options = 0;
}

static void close_options(translator *t) {
    if (t->now.options && t->now.extended) add(&t->out, "\n"); /* behind a comment */
    for (; t->now.options > 0; t->now.options--) add(&t->out, ")");
}

static void close_group(translator *t) {
    close_options(t);
    if (t->depth > 0 && --t->depth < DEEPEST_GROUP) {
        t->atom = t->open[t->depth];
        t->now = t->outer[t->depth];
    }
    tok_add(&t->out, t->p++, 1);
}

/* "(" and what belongs to it: (?mi-x) and (?mi-x: have other letters there. */
static void group(translator *t) {
    size_t n = t->p[1] == '?' ? 1 + strspn(t->p + 2, "imx-") : 0;
    bool options = n > 1 && strchr(":)", t->p[n + 1]) && t->p[n + 1], rest = options && t->p[n + 1] == ')', on = true;
    if (!rest) open_group(t);
    tok_add(&t->out, t->p++, 1);
    if (strncmp(t->p, "?<=", 3) == 0 || strncmp(t->p, "?<!", 3) == 0) t->now.behind = true;
    if (!options) return;
    for (size_t i = 0; i < n; i++) {
        on = on && t->p[i] != '-';
        if (t->p[i] == 'i') t->now.caseless = on;
        if (t->p[i] == 'x') t->now.extended = on;
        tok_add(&t->out, t->p[i] == 'm' ? "s" : &t->p[i], 1);
    }
    t->p += n;
    if (!rest) return;
    add(&t->out, ":");
    t->p++;
    t->now.options++;
}

/* --- characters that are several without case --- */
enum { MOST_FOLDED = 8 };

static void add_codes(translator *t, const uint32_t *codes, size_t n, const char *before) {
    for (size_t i = 0; i < n; i++) {
        add(&t->out, before);
        tok_add_char(&t->out, codes[i]);
    }
}

/* The first n characters of fold, or those that are these without case. */
static void add_folded(translator *t, const uint32_t *fold, size_t n) {
    uint32_t others[MOST_FOLDED];
    size_t k = tok_folded_to(fold, n, others, MOST_FOLDED);
    add(&t->out, "(?:");
    add_codes(t, fold, n, "");
    add_codes(t, others, k, "|");
    add(&t->out, ")");
}

/* A character, or several in a row, that may be one or several without case; false: none is here. */
static bool folded(translator *t) {
    uint32_t fold[TOK_FOLD], next[TOK_FOLD];
    size_t at = 0, ends[TOK_FOLD], n = 0;
    if (!t->now.caseless || t->now.behind) return false;
    while (n < TOK_FOLD && t->p[at] && !strchr("\\[](){}*+?.^$|# ", t->p[at])) {
        size_t bytes, k;
        uint32_t c = tok_char(t->p + at, strlen(t->p + at), &bytes);
        if (c == TOK_INVALID) break;
        k = tok_fold(c, next);
        at += bytes;
        if (k > 1 && n) break;
        memcpy(fold + n, next, k * sizeof *next);
        if (k > 1) {
            t->atom = t->out.n;
            add_folded(t, fold, k);
            t->p += at;
            return true;
        }
        ends[n++] = at;
    }
    for (; n > 1; n--) { /* what is repeated is the last character alone */
        const char *behind = t->p + ends[n - 1];
        if ((*behind && strchr("*+?{", *behind)) || !tok_folded_to(fold, n, next, 1)) continue;
        t->atom = t->out.n;
        add_folded(t, fold, n);
        t->p = behind;
        return true;
    }
    return false;
}

/* {2}, {2,}, {,3}, {2,3}; with a '+' behind it all of that is repeated: from one on that is as many as there are, and
 * said so it needs no trying. */
static void interval(translator *t) {
    size_t digits = strspn(t->p + 1, "0123456789"), n = 1 + digits;
    bool comma = t->p[n] == ',';
    size_t more = comma ? strspn(t->p + n + 1, "0123456789") : 0;
    n += comma + more;
    if (t->p[n] != '}' || (!digits && !more)) {
        t->atom = t->out.n;
        add(&t->out, "\\{");
        t->p++;
        return;
    }
    bool again = t->p[n + 1] == '+', any = again && strtol(t->p + 1, NULL, 10) == 1 && digits;
    if (any) {
        t->p += n + 1;
        return;
    }
    if (again) {
        add(&t->out, "(?:");
        if (t->arena->failed) return;
        memmove(t->out.data + t->atom + 3, t->out.data + t->atom, t->out.n - 3 - t->atom);
        memcpy(t->out.data + t->atom, "(?:", 3);
    }
    tok_add(&t->out, t->p, 1);
    if (!digits) add(&t->out, "0");
    tok_add(&t->out, t->p + 1, n);
    if (again) add(&t->out, ")");
    t->p += n + 1;
}

tok_text tok_regex_translated(const char *pattern, tok_arena *a) {
    translator t = {.p = pattern, .arena = a, .out = {.arena = a}};
    while (*t.p && !a->failed) {
        if (*t.p == '\\' && t.p[1])
            escape(&t);
        else if (*t.p == '[') {
            set s = read_set(&t);
            t.atom = t.out.n;
            add_text(&t.out, finish(&t, &s));
        } else if (*t.p == '(')
            group(&t);
        else if (*t.p == ')')
            close_group(&t);
        else if (*t.p == '{')
            interval(&t);
        else if (!folded(&t)) {
            if (!strchr("*+?", *t.p) && ((unsigned char)*t.p & 0xc0) != 0x80) t.atom = t.out.n;
            tok_add(&t.out, t.p++, 1);
        }
    }
    close_options(&t);
    return tok_whole(&t.out);
}
