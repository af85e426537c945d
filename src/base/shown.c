/* Which characters a terminal shows as themselves. */
#include "base/shown.h"

/* Directions (U+061C, U+200E, U+200F, U+202A..E, U+2066..9) show a text in another order, U+2028 and U+2029 on another
 * line than it has. */
static bool is_hidden(uint32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* The bytes of the character at `s` of UTF-8 (RFC 3629); 0 where none begins. */
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

/* How many bytes at `s` are shown as they are: whole characters up to the first that is not. */
static size_t plain(const unsigned char *s, size_t n, const char *kept) {
    size_t at = 0;
    uint32_t c;
    for (size_t k; at < n && (k = decode(s + at, n - at, &c)); at += k)
        if (is_hidden(c) && !(c && c < 0x80 && strchr(kept, (int)c))) break;
    return at;
}

bool text_is_plain(const char *text, size_t n, const char *kept) {
    return plain((const unsigned char *)text, n, kept) == n;
}

bool text_is_utf8(const char *text, size_t n) {
    uint32_t c;
    size_t at = 0, k = 0;
    while (at < n && (k = decode((const unsigned char *)text + at, n - at, &c))) at += k;
    return at == n;
}

void str_append_shown(str *to, const char *text, size_t n, const char *kept) {
    const unsigned char *c = (const unsigned char *)text, *end = c + n;
    uint32_t code;
    str_appendn(to, "", 0); /* an empty text is one too */
    while (c < end) {
        size_t k = plain(c, (size_t)(end - c), kept);
        str_appendn(to, (const char *)c, k);
        c += k;
        if (c == end) return;
        size_t odd = decode(c, (size_t)(end - c), &code);
        for (size_t i = 0; i < (odd ? odd : 1); i++) str_printf(to, "\\x%02x", c[i]);
        c += odd ? odd : 1;
    }
}

void str_append_name(str *to, const char *name) {
    enum { SHOWN = 200 };
    size_t n = strlen(name), k = n < SHOWN ? n : SHOWN;
    while (n > SHOWN && k > SHOWN - 4 && ((unsigned char)name[k] & 0xc0) == 0x80) k--; /* no half character */
    str_append_shown(to, name, k, "");
    if (n > SHOWN) str_printf(to, "... (%zu characters)", n);
}

void str_append_json(str *to, const char *text) {
    const unsigned char *s = (const unsigned char *)text;
    size_t n = strlen(text);
    uint32_t c = 0;
    str_putc(to, '"');
    for (size_t at = 0, k; at < n; at += k ? k : 1) {
        k = decode(s + at, n - at, &c);
        if (!k)
            str_append(to, "\\ufffd");
        else if (c == '"' || c == '\\')
            str_printf(to, "\\%c", (int)c);
        else if (is_hidden(c) || c == '<')
            str_printf(to, "\\u%04x", (unsigned)c);
        else
            str_appendn(to, text + at, k);
    }
    str_putc(to, '"');
}

void str_append_json_text(str *to, const char *json) {
    const unsigned char *s = (const unsigned char *)json;
    size_t n = strlen(json);
    uint32_t c = 0;
    for (size_t at = 0, k; at < n; at += k) {
        size_t read = decode(s + at, n - at, &c);
        k = read ? read : 1;
        if (read && is_hidden(c) && c >= 0x7f)
            str_printf(to, "\\u%04x", (unsigned)c);
        else
            str_appendn(to, json + at, k);
    }
}

void text_hide(char *text, const char *kept) {
    unsigned char *s = (unsigned char *)text;
    uint32_t c;
    for (size_t n = strlen(text); n;) {
        size_t k = plain(s, n, kept);
        s += k;
        n -= k;
        if (!n) return;
        size_t odd = decode(s, n, &c);
        for (size_t i = odd ? odd : 1; i; i--, n--) *s++ = '?';
    }
}
