/* What commands print. Names and texts come from files, other processes and plugins, so the one way to a stream is
 * through here: characters that move a terminal's cursor or turn a line around, and bytes that are no UTF-8, are shown
 * as \xNN, and between the double quotes of JSON as its own escapes. <stdio.h>'s functions are out of reach for the
 * other files of this folder (cli.h). */
#define CLI_WRITES
#include "cli/cli.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- one character --- */
/* Directions (U+061C, U+200E, U+200F, U+202A..E, U+2066..9) and other line ends (U+2028, U+2029), which would show a
 * text in another order or on another line than it has. */
static bool is_hidden(uint32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* Its length in bytes; 0 where no character of UTF-8 begins. */
static size_t decode(const unsigned char *s, size_t n, uint32_t *out) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t k = s[0] < 0x80                   ? 1
               : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
               : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
               : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                             : 0;
    if (!k || k > n) return 0;
    uint32_t c = k == 1 ? s[0] : s[0] & (0xffu >> (k + 1));
    for (size_t i = 1; i < k; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (s[i] & 0x3fu);
    }
    if (c < least[k] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0;
    *out = c;
    return k;
}

/* --- a stream, in pieces: lines of several processes on one terminal do not mix --- */
typedef struct writer {
    FILE *to;
    size_t n, written;
    char text[2048];
} writer;

static void flush(writer *w) {
    if (w->n) fwrite(w->text, 1, w->n, w->to);
    w->written += w->n;
    w->n = 0;
}

static void put(writer *w, const char *text, size_t n) {
    while (n) {
        if (w->n == sizeof w->text) flush(w);
        size_t k = sizeof w->text - w->n < n ? sizeof w->text - w->n : n;
        memcpy(w->text + w->n, text, k);
        w->n += k;
        text += k;
        n -= k;
    }
}

typedef enum form { ONE_LINE, LINES, JSON } form;

/* Longest: 12 bytes, of a character beyond U+FFFF in JSON. */
static size_t escape(const unsigned char *s, size_t n, form as, char *out, size_t room, size_t *taken) {
    uint32_t c = 0;
    size_t k = decode(s, n, &c);
    *taken = k ? k : 1;
    bool odd = !k || is_hidden(c), plain = !odd || (as == LINES && (c == '\n' || c == '\t'));
    if (as == JSON && k && (c == '"' || c == '\\')) return (size_t)snprintf(out, room, "\\%c", (int)c);
    if (as == JSON && !k) return (size_t)snprintf(out, room, "\\ufffd");
    if (as == JSON && (odd || c == '<')) return (size_t)snprintf(out, room, "\\u%04x", (unsigned)c); /* in pages too */
    if (plain && k) {
        memcpy(out, s, k);
        return k;
    }
    size_t at = 0;
    for (size_t i = 0; i < *taken; i++) at += (size_t)snprintf(out + at, room - at, "\\x%02x", s[i]);
    return at;
}

static size_t put_shown(writer *w, const char *text, size_t n, form as) {
    size_t shown = 0, taken;
    for (size_t at = 0; at < n; at += taken) {
        char one[24];
        size_t k = escape((const unsigned char *)text + at, n - at, as, one, sizeof one, &taken);
        if (w) put(w, one, k);
        shown += k;
    }
    return shown;
}

/* --- printf --- */
typedef struct spec {
    char text[48]; /* "%-8.3lld", stars filled in */
    bool left;
    int width, precision; /* precision -1: none */
    char length, conversion; /* length: 'l', 'L' (ll), 'z', 'h', or 0 */
} spec;

static const char *read_number(const char *p, va_list *ap, int *out) {
    if (*p == '*') {
        *out = va_arg(*ap, int);
        return p + 1;
    }
    for (*out = 0; *p >= '0' && *p <= '9'; p++) *out = *out * 10 + (*p - '0');
    return p;
}

/* Reads what follows a '%'. */
static const char *read_spec(const char *p, va_list *ap, spec *s) {
    char flags[8];
    size_t n = 0;
    for (; *p && strchr("-+ #0", *p); p++)
        if (n + 2 < sizeof flags) flags[n++] = *p;
    *s = (spec){.precision = -1};
    p = read_number(p, ap, &s->width);
    if (s->width < 0) {
        s->width = -s->width;
        flags[n++] = '-';
    }
    flags[n] = '\0';
    if (*p == '.') p = read_number(p + 1, ap, &s->precision);
    for (; *p && strchr("hlzjt", *p); p++) s->length = *p == 'l' && s->length == 'l' ? 'L' : *p;
    s->conversion = *p;
    s->left = strchr(flags, '-') != NULL;
    char width[16] = "", precision[16] = "";
    if (s->width) snprintf(width, sizeof width, "%d", s->width);
    if (s->precision >= 0) snprintf(precision, sizeof precision, ".%d", s->precision);
    const char *length = s->length == 'L' ? "ll" : (char[]){s->length, '\0'};
    snprintf(s->text, sizeof s->text, "%%%s%s%s%s%c", flags, width, precision, length, s->conversion);
    return *p ? p + 1 : p;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void put_number(writer *w, const spec *s, va_list *ap) {
    char text[512];
    int n = 0;
    switch (s->conversion) {
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
    case 'c':
        n = s->length == 'L'   ? snprintf(text, sizeof text, s->text, va_arg(*ap, long long))
            : s->length == 'l' ? snprintf(text, sizeof text, s->text, va_arg(*ap, long))
            : s->length == 'z' ? snprintf(text, sizeof text, s->text, va_arg(*ap, size_t))
                               : snprintf(text, sizeof text, s->text, va_arg(*ap, int));
        break;
    case 'e':
    case 'f':
    case 'g': n = snprintf(text, sizeof text, s->text, va_arg(*ap, double)); break;
    case '%': n = snprintf(text, sizeof text, "%%"); break;
    default: abort(); /* no format of these commands has it */
    }
    put(w, text, n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}
#pragma GCC diagnostic pop

static void put_spaces(writer *w, size_t n) {
    while (n--) put(w, " ", 1);
}

/* A character that the precision would cut in two is left out. */
static size_t whole_characters(const char *text, size_t n) {
    size_t from = n;
    while (from && n - from < 3 && ((unsigned char)text[from - 1] & 0xc0) == 0x80) from--;
    if (!from || (unsigned char)text[from - 1] < 0xc2) return n;
    unsigned char lead = (unsigned char)text[from - 1];
    size_t need = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    return n - from + 1 < need ? from - 1 : n;
}

static void put_string(writer *w, const spec *s, const char *text, form as) {
    if (!text) text = "(null)";
    size_t n = s->precision >= 0 ? strnlen(text, (size_t)s->precision) : strlen(text);
    if (s->precision >= 0 && n == (size_t)s->precision) n = whole_characters(text, n);
    size_t shown = s->width ? put_shown(NULL, text, n, as) : 0;
    size_t pad = shown < (size_t)s->width ? (size_t)s->width - shown : 0;
    if (!s->left) put_spaces(w, pad);
    put_shown(w, text, n, as);
    if (s->left) put_spaces(w, pad);
}

static void format(writer *w, const char *fmt, va_list *ap) {
    for (const char *p = fmt; *p;) {
        size_t n = strcspn(p, "%");
        put(w, p, n);
        p += n;
        if (!*p) return;
        bool quoted = p > fmt && p[-1] == '"';
        spec s;
        p = read_spec(p + 1, ap, &s);
        if (s.conversion == 's')
            put_string(w, &s, va_arg(*ap, const char *), quoted ? JSON : ONE_LINE);
        else
            put_number(w, &s, ap);
    }
}

void cli_vfprintf(FILE *to, const char *fmt, va_list ap) {
    writer w = {.to = to};
    va_list args;
    va_copy(args, ap);
    format(&w, fmt, &args);
    va_end(args);
    flush(&w);
}

void cli_fprintf(FILE *to, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    cli_vfprintf(to, fmt, ap);
    va_end(ap);
}

void cli_printf(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    cli_vfprintf(stdout, fmt, ap);
    va_end(ap);
}

void cli_text(FILE *to, const char *text, size_t n) {
    writer w = {.to = to};
    put_shown(&w, text, n, LINES);
    flush(&w);
}

void cli_json(FILE *to, const char *text, size_t n) {
    writer w = {.to = to};
    put(&w, "\"", 1);
    put_shown(&w, text, n, JSON);
    put(&w, "\"", 1);
    flush(&w);
}

void cli_raw(FILE *to, const char *text, size_t n) {
    fwrite(text, 1, n, to);
}
