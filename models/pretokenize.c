/* GPT-2's first cut of a text into pieces, inside which byte pairs are merged (Radford et al. 2019, section 2.2; the
 * rule is in tokenizer.h). */
#include "models/tokenizer.h"

#include <string.h>

#include "models/unicode_ranges.h"

typedef enum kind { OTHER, LETTER, NUMBER, SPACE } kind;

/* The character at text[at]: its code and how many bytes it takes. Bytes that are no UTF-8 are a character each, with a
 * code that is in no class. */
static uint32_t decode(const char *text, size_t n, size_t at, size_t *out_bytes) {
    const unsigned char *p = (const unsigned char *)text + at;
    size_t left = n - at, need = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc2 ? 2 : 0;
    uint32_t c = need == 1 ? p[0] : need == 2 ? p[0] & 0x1fu : need == 3 ? p[0] & 0x0fu : p[0] & 0x07u;
    *out_bytes = 1;
    if (!need || need > left || p[0] > 0xf4) return UINT32_MAX;
    for (size_t k = 1; k < need; k++) {
        if ((p[k] & 0xc0) != 0x80) return UINT32_MAX;
        c = c << 6 | (p[k] & 0x3fu);
    }
    if ((need == 3 && c < 0x800) || (need == 4 && c < 0x10000) || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
        return UINT32_MAX;
    *out_bytes = need;
    return c;
}

static bool inside(const unicode_range *r, size_t n, uint32_t c) {
    size_t low = 0;
    while (low < n) {
        size_t mid = (low + n) / 2;
        if (c < r[mid].first)
            n = mid;
        else if (c > r[mid].last)
            low = mid + 1;
        else
            return true;
    }
    return false;
}

static kind kind_at(const char *text, size_t n, size_t at, size_t *out_bytes) {
    uint32_t c = decode(text, n, at, out_bytes);
    if (c < 0x80) {
        if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') return LETTER;
        if (c >= '0' && c <= '9') return NUMBER;
        return c == ' ' || (c >= '\t' && c <= '\r') ? SPACE : OTHER; /* the rest of the property White_Space is below */
    }
    if (c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
        c == 0x202f || c == 0x205f || c == 0x3000)
        return SPACE;
    return inside(unicode_letters, unicode_letter_count, c)   ? LETTER
           : inside(unicode_numbers, unicode_number_count, c) ? NUMBER
                                                              : OTHER;
}

static size_t run_of(const char *text, size_t n, size_t at, kind k) {
    size_t bytes;
    while (at < n && kind_at(text, n, at, &bytes) == k) at += bytes;
    return at;
}

size_t pretokenize(const char *text, size_t n, size_t at) {
    static const char *const endings[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (size_t i = 0; text[at] == '\'' && i < sizeof endings / sizeof endings[0]; i++) {
        size_t k = strlen(endings[i]);
        if (n - at >= k && memcmp(text + at, endings[i], k) == 0) return at + k;
    }
    size_t bytes, first = at + (text[at] == ' ' && at + 1 < n);
    kind k = kind_at(text, n, first, &bytes);
    if (k != SPACE) return run_of(text, n, first, k);
    size_t end = run_of(text, n, at, SPACE), last = end;
    if (end == n) return end;
    do last--; /* a run of spaces leaves its last character to the word behind it, unless it is only one */
    while (last > at && ((unsigned char)text[last] & 0xc0) == 0x80);
    return last > at ? last : end;
}
