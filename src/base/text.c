/* Numbers and near misses in text that people wrote: environment, flags, config files. The C locale throughout: a
 * program that has called setlocale must read "0.1" as everyone else does. */
#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <strings.h>

#include "base/base.h"

static locale_t c_locale;
static void make_c_locale(void) {
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static double to_double(const char *text, char **end) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_c_locale);
    return c_locale ? strtod_l(text, end, c_locale) : strtod(text, end);
}

static const char *skip_space(const char *p) {
    while (isspace((unsigned char)*p)) p++;
    return p;
}

bool parse_i64(const char *text, int64_t *out) {
    char *end;
    const char *p = skip_space(text);
    const char *digits = p + (*p == '-' || *p == '+');
    int base = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') ? 16 : 10;
    errno = 0;
    long long v = strtoll(p, &end, base);
    if (end == p || errno == ERANGE || *skip_space(end)) return false;
    *out = v;
    return true;
}

/* -123.45: at most 15 digits make a whole number and a power of ten that both are exact, so one division rounds once,
 * as strtod would, in a tenth of the time (Clinger 1990). Files of numbers are made of these. */
static bool short_decimal(const char *p, double *out) {
    static const double tens[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    bool minus = *p == '-';
    int64_t v = 0;
    int digits = 0, after = 0;
    for (p += minus; *p >= '0' && *p <= '9'; p++, digits++)
        if (digits < 15) v = 10 * v + (*p - '0');
    if (*p == '.')
        for (p++; *p >= '0' && *p <= '9'; p++, digits++, after++)
            if (digits < 15) v = 10 * v + (*p - '0');
    if (*p || digits < 1 || digits > 15) return false;
    *out = (minus ? -(double)v : (double)v) / tens[after];
    return true;
}

bool parse_double(const char *text, double *out) {
    if (short_decimal(text, out)) return true;
    char *end;
    errno = 0;
    double v = to_double(text, &end);
    if (end == text || *skip_space(end)) return false;
    if (errno == ERANGE && isinf(v)) return false; /* 1e999; a denormal that underflows is fine */
    *out = v;
    return true;
}

/* The factor of "K", "KiB", "KB", "B", ""; 0 for anything else. */
static double unit_factor(const char *unit) {
    static const char letters[] = "KMGTP";
    if (!*unit || strcasecmp(unit, "B") == 0) return 1;
    const char *at = strchr(letters, toupper((unsigned char)*unit));
    if (!at || !*at) return 0;
    const char *rest = unit + 1;
    double base = strcasecmp(rest, "B") == 0 ? 1000 : 1024;
    if (*rest && strcasecmp(rest, "B") != 0 && strcasecmp(rest, "iB") != 0) return 0;
    double factor = 1;
    for (const char *l = letters; l <= at; l++) factor *= base;
    return factor;
}

bool parse_bytes(const char *text, int64_t *out) {
    char *end, unit[8] = "";
    double v = to_double(text, &end);
    if (end == text) return false;
    const char *p = skip_space(end);
    size_t n = strlen(p);
    while (n && isspace((unsigned char)p[n - 1])) n--;
    if (n >= sizeof unit) return false;
    memcpy(unit, p, n);
    double factor = unit_factor(unit), bytes = v * factor;
    if (factor == 0 || !(bytes >= 0) || bytes >= 0x1p63) return false; /* also refuses NaN */
    if (factor == 1 && parse_i64(text, out)) return *out >= 0; /* exact above 2^53 */
    *out = (int64_t)bytes;
    return true;
}

bool parse_flag(const char *text, bool *out) {
    static const char *const yes[] = {"1", "on", "true", "yes"}, *const no[] = {"0", "off", "false", "no"};
    for (size_t i = 0; i < BASE_COUNT(yes); i++) {
        if (strcasecmp(text, yes[i]) == 0) return *out = true, true;
        if (strcasecmp(text, no[i]) == 0) return *out = false, true;
    }
    return false;
}

enum { WORD_MAX = 63 }; /* longer words are compared by their beginning */

static unsigned min3(unsigned a, unsigned b, unsigned c) {
    unsigned m = a < b ? a : b;
    return m < c ? m : c;
}

/* Optimal string alignment: Levenshtein's table of prefixes, three rows of it, with one more move for
 * swapped neighbours. */
size_t text_distance(const char *a, const char *b) {
    unsigned rows[3][WORD_MAX + 1];
    size_t na = strnlen(a, WORD_MAX), nb = strnlen(b, WORD_MAX);
    for (size_t j = 0; j <= nb; j++) rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++) {
        unsigned *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            int ca = tolower((unsigned char)a[i - 1]), cb = tolower((unsigned char)b[j - 1]);
            now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + (ca != cb));
            if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) && cb == tolower((unsigned char)a[i - 2]) &&
                before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
    }
    return rows[na % 3][nb];
}

const char *text_nearest(const char *word, const char *const *names, size_t n) {
    size_t best = 1 + strlen(word) / 3; /* a third of the letters wrong is a typo, more is another word */
    const char *nearest = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t d = text_distance(word, names[i]);
        if (d > best || (nearest && d == best)) continue;
        best = d;
        nearest = names[i];
    }
    return nearest;
}
