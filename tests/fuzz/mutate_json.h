/* Changes of a JSON text that leave it JSON: another number, another string, a member less or twice, a value nested. */
#ifndef XT_TESTS_FUZZ_MUTATE_JSON_H
#define XT_TESTS_FUZZ_MUTATE_JSON_H

#include <ctype.h>

#include "fuzz.h"

/* The end of the value that begins at t[at]. */
static inline size_t json_end(const uint8_t *t, size_t n, size_t at) {
    int depth = 0;
    bool text = false;
    for (size_t i = at; i < n; i++) {
        if (text) {
            if (t[i] == '\\') i++;
            if (t[i < n ? i : n - 1] == '"') text = false;
            if (!text && depth == 0) return i + 1;
        } else if (t[i] == '"')
            text = true;
        else if (t[i] == '{' || t[i] == '[')
            depth++;
        else if (t[i] == '}' || t[i] == ']') {
            if (--depth <= 0) return depth < 0 ? i : i + 1;
        } else if (depth == 0 && t[i] == ',')
            return i;
    }
    return n;
}

/* Places where a value begins: behind ':', '[' or ','. */
static inline size_t json_place(const uint8_t *t, size_t n, uint64_t *draw) {
    size_t from = n ? fuzz_draw(draw, (uint32_t)n) : 0;
    for (size_t k = 0; k < n; k++) {
        size_t i = (from + k) % n;
        if ((t[i] == ':' || t[i] == '[' || t[i] == ',') && i + 1 < n) return i + 1 + (t[i + 1] == ' ');
    }
    return n;
}

static inline size_t mutate_json(uint8_t *t, size_t n, size_t most, uint64_t seed) {
    static const char *const values[] = {"0",
                                         "1",
                                         "-1",
                                         "2",
                                         "0.5",
                                         "1e300",
                                         "-1e300",
                                         "9223372036854775807",
                                         "9007199254740993",
                                         "4294967296",
                                         "255",
                                         "null",
                                         "true",
                                         "false",
                                         "\"\"",
                                         "\"last\"",
                                         "\"nan\"",
                                         "\"F32\"",
                                         "\"I64\"",
                                         "\"BF16\"",
                                         "\"BOOL\"",
                                         "[]",
                                         "{}",
                                         "[0,0]",
                                         "[1,1]",
                                         "[2,2,2]",
                                         "\"../x.ckpt\"",
                                         "\"\\u0000\"",
                                         "\"\\u001b[2J\"",
                                         "\"%s%n\"",
                                         "\"1 1 1 1\"",
                                         "\"{\\\"a\\\":1}\""};
    uint64_t draw = seed * 0x9e3779b97f4a7c15u + 1;
    for (uint32_t k = 1 + fuzz_draw(&draw, 3); k > 0 && n > 2; k--) {
        size_t at = json_place(t, n, &draw);
        if (at >= n) break;
        size_t end = json_end(t, n, at);
        const char *value = values[fuzz_draw(&draw, sizeof values / sizeof *values)];
        uint8_t copy[512];
        size_t len = end - at;
        switch (fuzz_draw(&draw, 6)) {
        case 0:
        case 1: n = fuzz_splice(t, n, most, at, len, value, strlen(value)); break;
        case 2: { /* digits of a number become others */
            size_t i = at;
            while (i < n && !isdigit(t[i])) i++;
            if (i < n) t[i] = (uint8_t)('0' + fuzz_draw(&draw, 10));
            break;
        }
        case 3: /* twice */
            if (len + 1 > sizeof copy) break;
            memcpy(copy, t + at, len);
            copy[len] = ',';
            n = fuzz_splice(t, n, most, at, 0, copy, len + 1);
            break;
        case 4: n = fuzz_splice(t, n, most, at, end < n && t[end] == ',' ? len + 1 : len, NULL, 0); break;
        default: { /* a value from elsewhere */
            size_t other = json_place(t, n, &draw);
            size_t size = other < n ? json_end(t, n, other) - other : 0;
            if (!size || size > sizeof copy) break;
            memcpy(copy, t + other, size);
            n = fuzz_splice(t, n, most, at, len, copy, size);
        }
        }
    }
    return n;
}

#endif
