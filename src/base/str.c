/* Growing byte strings. Formatting always happens in the C locale, whatever the program has set: numbers written here
 * end in program text, JSON and CSV, where a decimal comma would be wrong. */
#include <locale.h>
#include <pthread.h>

#include "base/base.h"

static locale_t c_locale;
static void make_c_locale(void) {
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Room for n more bytes and the NUL. */
static bool reserve(str *s, size_t n) {
    size_t need;
    if (!size_add(s->len, n, &need) || !size_add(need, 1, &need)) return false;
    if (need <= s->cap) return true;
    size_t cap = s->cap < 32 ? 32 : s->cap;
    while (cap < need)
        if (!size_mul(cap, 2, &cap)) return false;
    char *data = base_realloc(s->data, cap);
    if (!data) return false;
    s->data = data;
    s->cap = cap;
    return true;
}

void str_appendn(str *s, const char *text, size_t n) {
    if (!reserve(s, n)) {
        s->failed = true;
        return;
    }
    if (n) memcpy(s->data + s->len, text, n);
    s->len += n;
    s->data[s->len] = '\0';
}

void str_append(str *s, const char *text) {
    str_appendn(s, text, strlen(text));
}

void str_putc(str *s, char c) {
    str_appendn(s, &c, 1);
}

void str_printf(str *s, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(s, fmt, ap);
    va_end(ap);
}

void str_vprintf(str *s, const char *fmt, va_list ap) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_c_locale);
    locale_t before = c_locale ? uselocale(c_locale) : (locale_t)0;
    char small[256];
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(small, sizeof small, fmt, ap);
    if (n < 0) {
        s->failed = true;
    } else if ((size_t)n < sizeof small) {
        str_appendn(s, small, (size_t)n);
    } else if (reserve(s, (size_t)n)) {
        vsnprintf(s->data + s->len, (size_t)n + 1, fmt, again);
        s->len += (size_t)n;
    } else {
        s->failed = true;
    }
    va_end(again);
    if (before) uselocale(before);
}

void str_clear(str *s) {
    s->len = 0;
    s->failed = false;
    if (s->data) s->data[0] = '\0';
}

void str_free(str *s) {
    base_free(s->data);
    *s = (str)STR_INIT;
}

const char *str_cstr(const str *s) {
    return s->data ? s->data : "";
}
