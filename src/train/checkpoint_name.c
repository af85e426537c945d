/* See checkpoint_name.h. */
#include "train/checkpoint_name.h"

#include <ctype.h>
#include <math.h>

/* "03d" -> "%03lld", ".3f" -> "%.3f"; false when it is no such format. */
static bool conversion(const char *spec, size_t n, char *out, size_t room, bool *out_integer) {
    if (n == 0 || n + 4 > room || !strchr("dfeg", spec[n - 1])) return false;
    for (size_t i = 0; i + 1 < n; i++)
        if (!isdigit((unsigned char)spec[i]) && spec[i] != '.' && spec[i] != '+' && spec[i] != '-') return false;
    *out_integer = spec[n - 1] == 'd';
    snprintf(out, room, "%%%.*s%s%c", (int)(n - 1), spec, *out_integer ? "ll" : "", spec[n - 1]);
    return true;
}

static void append_key(str *out, const char *key, size_t n) {
    for (size_t i = 0; i < n; i++) str_putc(out, key[i] == '/' ? '_' : key[i]);
    str_putc(out, '=');
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the format was checked by conversion() */
static void append_value(str *out, const char *format, bool integer, double v) {
    char text[512];
    if (integer)
        snprintf(text, sizeof text, format, isfinite(v) && fabs(v) < 9e18 ? (long long)v : 0LL);
    else
        snprintf(text, sizeof text, format, isnan(v) ? (double)NAN : v); /* not -nan */
    str_append(out, text);
}
#pragma GCC diagnostic pop

xt_status checkpoint_name(const char *pattern, int64_t epoch, int64_t step, double (*value)(void *, const char *), void *user, bool keys, str *out) {
    for (const char *p = pattern; *p;) {
        if (*p != '{') {
            str_putc(out, *p++);
            continue;
        }
        const char *end = strchr(p, '}'), *colon = memchr(p, ':', end ? (size_t)(end - p) : 0);
        if (!end || end == p + 1) return status_new(XT_INVALID_ARGUMENT, NULL, "filename = %s: a { without its name and }", pattern);
        const char *key = p + 1;
        size_t n = (size_t)((colon ? colon : end) - key);
        bool whole = (n == 5 && strncmp(key, "epoch", 5) == 0) || (n == 4 && strncmp(key, "step", 4) == 0), integer = whole;
        char format[64] = "%lld", name[256];
        if (!whole) snprintf(format, sizeof format, "%%.4g");
        if (colon && !conversion(colon + 1, (size_t)(end - colon) - 1, format, sizeof format, &integer))
            return status_new(XT_INVALID_ARGUMENT, NULL, "filename = %s: the format %.*s is not understood; e.g. {epoch:03d}, {val/acc:.3f}", pattern,
                              (int)(end - colon - 1), colon + 1);
        snprintf(name, sizeof name, "%.*s", (int)n, key);
        if (keys) append_key(out, key, n);
        append_value(out, format, integer, !whole ? value(user, name) : n == 5 ? (double)epoch : (double)step);
        p = end + 1;
    }
    return out->failed ? status_oom(out->len, pattern) : NULL;
}
