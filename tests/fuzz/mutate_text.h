/* Changes of a StableHLO text that leave most of it as it was, so that many results still verify: another op of the
 * same form, another value, another number, another element type everywhere, a line less or twice. Everything follows
 * from the seed. */
#ifndef XT_TESTS_FUZZ_MUTATE_TEXT_H
#define XT_TESTS_FUZZ_MUTATE_TEXT_H

#include <ctype.h>

#include "fuzz.h"

typedef struct text_word {
    size_t at, n;
} text_word;
enum { TEXT_WORDS = 256 };

/* Words that begin with `first` ('0' for numbers that stand alone), at most TEXT_WORDS of them from a place drawn. */
static inline int text_words(const uint8_t *t, size_t n, char first, uint64_t *draw, text_word out[TEXT_WORDS]) {
    int found = 0;
    size_t begin = n > 4096 ? fuzz_draw(draw, (uint32_t)(n - 4096)) : 0;
    for (size_t i = begin; i < n && found < TEXT_WORDS;) {
        size_t k = i + 1;
        bool number = first == '0' && isdigit(t[i]) && !(i && (isalnum(t[i - 1]) || strchr("%#_@.", t[i - 1])));
        while (k < n && (isalnum(t[k]) || t[k] == '_') && !(number && !isdigit(t[k]))) k++;
        if (number || (first != '0' && t[i] == (uint8_t)first)) out[found++] = (text_word){i, k - i};
        i = k;
    }
    return found;
}

/* The name behind "stablehlo." becomes another one of its row. */
static inline size_t text_other_op(uint8_t *t, size_t n, size_t most, uint64_t *draw) {
    static const char *const rows[][14] = {
        {"abs", "negate", "tanh", "logistic", "floor", "sign", "cosine", "exponential", "sqrt", "rsqrt", "log", "ceil",
         "round_nearest_even", "not"},
        {"add", "subtract", "multiply", "maximum", "minimum", "divide", "remainder", "power", "atan2", "and", "or",
         "xor", "shift_left", "shift_right_logical"},
        {"reshape", "convert", "bitcast_convert", "broadcast", "real", "transpose", "reverse", "imag",
         "broadcast_in_dim", "reduce_precision", "optimization_barrier", "cbrt", "is_finite", "slice"},
    };
    static const char prefix[] = "stablehlo.";
    enum { PREFIX = sizeof prefix - 1 };
    uint32_t skip = fuzz_draw(draw, 40);
    size_t at = 0, last = 0;
    for (size_t i = 0; i + PREFIX < n; i++) {
        if (memcmp(t + i, prefix, PREFIX) != 0) continue;
        last = at = i + PREFIX;
        if (skip-- == 0) break;
    }
    if (!last) return n;
    size_t len = 0;
    while (at + len < n && (isalnum(t[at + len]) || t[at + len] == '_')) len++;
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < 14; i++)
            if (strlen(rows[r][i]) == len && memcmp(rows[r][i], t + at, len) == 0) {
                const char *other = rows[r][fuzz_draw(draw, 14)];
                return fuzz_splice(t, n, most, at, len, other, strlen(other));
            }
    return n;
}

static inline size_t text_other_value(uint8_t *t, size_t n, size_t most, uint64_t *draw) {
    text_word w[TEXT_WORDS];
    int found = text_words(t, n, '%', draw, w);
    if (found < 2) return n;
    text_word a = w[fuzz_draw(draw, (uint32_t)found)], b = w[fuzz_draw(draw, (uint32_t)found)];
    uint8_t name[64];
    if (b.n > sizeof name) return n;
    memcpy(name, t + b.at, b.n);
    return fuzz_splice(t, n, most, a.at, a.n, name, b.n);
}

static inline size_t text_other_number(uint8_t *t, size_t n, size_t most, uint64_t *draw) {
    static const char *const edges[] = {"0",
                                        "1",
                                        "2",
                                        "3",
                                        "4",
                                        "5",
                                        "6",
                                        "7",
                                        "8",
                                        "15",
                                        "16",
                                        "17",
                                        "24",
                                        "31",
                                        "32",
                                        "33",
                                        "63",
                                        "64",
                                        "65",
                                        "127",
                                        "128",
                                        "255",
                                        "256",
                                        "-1",
                                        "1000000",
                                        "2147483647",
                                        "-2147483648",
                                        "4294967296",
                                        "9223372036854775807"};
    text_word w[TEXT_WORDS];
    int found = text_words(t, n, '0', draw, w);
    if (!found) return n;
    text_word a = w[fuzz_draw(draw, (uint32_t)found)];
    char other[32];
    uint32_t small = fuzz_draw(draw, 3);
    if (small && a.n < 10) { /* one more or less than it is */
        char now[16] = "";
        memcpy(now, t + a.at, a.n);
        snprintf(other, sizeof other, "%ld", atol(now) + (small == 1 ? 1 : -1));
    } else {
        snprintf(other, sizeof other, "%s", edges[fuzz_draw(draw, sizeof edges / sizeof *edges)]);
    }
    return fuzz_splice(t, n, most, a.at, a.n, other, strlen(other));
}

/* One element type, everywhere or (one time in four) at one place. */
static inline size_t text_other_type(uint8_t *t, size_t n, size_t most, uint64_t *draw) {
    static const char *const types[] = {"f32",  "f64", "f16", "bf16",     "i1",     "i8",
                                        "i16",  "i32", "i64", "ui8",      "ui16",   "ui32",
                                        "ui64", "i4",  "ui4", "f8E4M3FN", "f8E5M2", "complex<f32>"};
    enum { TYPES = sizeof types / sizeof *types };
    const char *from = types[fuzz_draw(draw, TYPES)], *to = types[fuzz_draw(draw, TYPES)];
    if (fuzz_draw(draw, 2)) from = "f32";
    size_t len = strlen(from);
    bool all = fuzz_draw(draw, 4) != 0;
    uint32_t skip = all ? 0 : fuzz_draw(draw, 10);
    for (size_t i = 1; i + len < n; i++) {
        if ((t[i - 1] != 'x' && t[i - 1] != '<') || memcmp(t + i, from, len) != 0 || t[i + len] != '>') continue;
        if (skip-- > 0 && !all) continue;
        n = fuzz_splice(t, n, most, i, len, to, strlen(to));
        if (!all) break;
        skip = 0;
    }
    return n;
}

static inline size_t text_line(uint8_t *t, size_t n, size_t most, uint64_t *draw) {
    size_t at = n ? fuzz_draw(draw, (uint32_t)n) : 0, end = at;
    while (at > 0 && t[at - 1] != '\n') at--;
    while (end < n && t[end] != '\n') end++;
    if (end < n) end++;
    if (fuzz_draw(draw, 2)) return fuzz_splice(t, n, most, at, end - at, NULL, 0);
    uint8_t line[512];
    if (end - at > sizeof line) return n;
    memcpy(line, t + at, end - at);
    size_t to = n ? fuzz_draw(draw, (uint32_t)n) : 0;
    while (to > 0 && t[to - 1] != '\n') to--;
    return fuzz_splice(t, n, most, to, 0, line, end - at);
}

static inline size_t mutate_text(uint8_t *t, size_t n, size_t most, uint64_t seed) {
    uint64_t draw = seed * 0x9e3779b97f4a7c15u + 1;
    for (uint32_t k = 1 + fuzz_draw(&draw, 3); k > 0; k--) {
        switch (fuzz_draw(&draw, 8)) {
        case 0:
        case 1: n = text_other_op(t, n, most, &draw); break;
        case 2:
        case 3: n = text_other_value(t, n, most, &draw); break;
        case 4:
        case 5: n = text_other_number(t, n, most, &draw); break;
        case 6: n = text_other_type(t, n, most, &draw); break;
        default: n = text_line(t, n, most, &draw); break;
        }
    }
    return n;
}

/* For targets whose input is a text: one time in four libFuzzer's own changes. */
#define FUZZ_TEXT_MUTATOR                                                                               \
    size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed) {               \
        return seed % 4 == 0 ? LLVMFuzzerMutate(data, n, most) : mutate_text(data, n, most, seed / 4u); \
    }

#endif
