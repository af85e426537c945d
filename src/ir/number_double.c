/* Doubles as text, in the C locale whatever the program has set. */
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>

#include "ir/text.h"

static locale_t c_locale;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void make_locale(void) {
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

double number_parse(const char *s, size_t n) {
    char buf[64];
    char *heap = n < sizeof buf ? NULL : base_strndup(s, n);
    if (n >= sizeof buf && !heap) return 0;
    if (!heap) memcpy(buf, s, n), buf[n] = 0;
    pthread_once(&once, make_locale);
    double v = c_locale ? strtod_l(heap ? heap : buf, NULL, c_locale) : strtod(heap ? heap : buf, NULL);
    base_free(heap);
    return v;
}

void number_format(char *buf, size_t n, int digits, double v) {
    pthread_once(&once, make_locale);
    locale_t old = c_locale ? uselocale(c_locale) : (locale_t)0;
    snprintf(buf, n, "%.*e", digits, v);
    if (c_locale) uselocale(old);
}

void number_print_double(double v, str *out) {
    char buf[40];
    static const int digits[] = {6, 8, 16};
    for (size_t i = 0; v - v == 0 && i < BASE_COUNT(digits); i++) {
        number_format(buf, sizeof buf, digits[i], v);
        double back = number_parse(buf, strlen(buf));
        if (memcmp(&back, &v, sizeof v) != 0) continue;
        str_append(out, buf);
        return;
    }
    uint64_t raw;
    memcpy(&raw, &v, sizeof raw);
    str_printf(out, "0x%016llX", (unsigned long long)raw);
}
