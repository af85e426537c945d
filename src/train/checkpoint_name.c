/* See checkpoint_name.h. */
#include "train/checkpoint_name.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

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

/* A {KEY} or {KEY:FORMAT} of a pattern. */
typedef struct field {
    const char *key, *end; /* `end`: behind its } */
    size_t n; /* of the key */
    char format[64];
    bool whole, integer; /* epoch and step; printed as one */
} field;

/* `p` is at its {. */
static xt_status field_at(const char *pattern, const char *p, field *f) {
    const char *end = strchr(p, '}'), *colon = memchr(p, ':', end ? (size_t)(end - p) : 0);
    if (!end || end == p + 1)
        return status_new(XT_INVALID_ARGUMENT, NULL, "filename = %s: a { without its name and }", pattern);
    *f = (field){.key = p + 1, .end = end + 1, .n = (size_t)((colon ? colon : end) - p) - 1};
    f->whole = (f->n == 5 && strncmp(f->key, "epoch", 5) == 0) || (f->n == 4 && strncmp(f->key, "step", 4) == 0);
    f->integer = f->whole;
    snprintf(f->format, sizeof f->format, "%s", f->whole ? "%lld" : "%.4g");
    if (colon && !conversion(colon + 1, (size_t)(end - colon) - 1, f->format, sizeof f->format, &f->integer))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "filename = %s: the format %.*s is not understood; e.g. {epoch:03d}, {val/acc:.3f}", pattern,
                          (int)(end - colon - 1), colon + 1);
    return NULL;
}

xt_status checkpoint_name(const char *pattern, int64_t epoch, int64_t step, double (*value)(void *, const char *),
                          void *user, bool keys, str *out) {
    for (const char *p = pattern; *p;) {
        field f;
        char name[256];
        if (*p != '{') {
            str_putc(out, *p++);
            continue;
        }
        XT_TRY(field_at(pattern, p, &f));
        snprintf(name, sizeof name, "%.*s", (int)f.n, f.key);
        if (keys) append_key(out, f.key, f.n);
        append_value(out, f.format, f.integer, !f.whole ? value(user, name) : f.n == 5 ? (double)epoch : (double)step);
        p = f.end;
    }
    return out->failed ? status_oom(out->len, pattern) : NULL;
}

/* A number that is printed, read and printed again is the same text, and nothing else is. */
static bool prints(const field *f, const char *text, size_t n) {
    char copy[512], *end;
    if (n >= sizeof copy) return false;
    memcpy(copy, text, n);
    copy[n] = 0;
    double v = strtod(copy, &end);
    if (end == copy || (f->whole && !(isfinite(v) && v >= 0))) return false;
    str again = STR_INIT;
    append_value(&again, f->format, f->integer, v);
    bool same = !again.failed && strcmp(str_cstr(&again), copy) == 0;
    str_free(&again);
    return same;
}

/* From where in `text` the pattern's rest may go on, before the field and after it. A number's end is not told by its
 * characters ("1" and "12" both begin "12"), so all ends are kept. */
static void pass_literal(bool *at, const char *text, size_t n, char c) {
    for (size_t i = n + 1; i-- > 0;) at[i] = i > 0 && at[i - 1] && text[i - 1] == c;
}
static void pass_field(bool *at, bool *after, const char *text, size_t n, const field *f) {
    memset(after, 0, n + 1);
    for (size_t i = 0; i < n; i++)
        for (size_t k = at[i] ? strspn(text + i, "0123456789+-.einfa ") : 0; k > 0; k--)
            if (!after[i + k]) after[i + k] = prints(f, text + i, k);
    memcpy(at, after, n + 1);
}

bool checkpoint_name_matches(const char *pattern, bool keys, const char *text) {
    size_t n = strlen(text);
    bool *at = base_calloc(2, n + 1), *after = at ? at + n + 1 : NULL, is = at != NULL;
    if (at) at[0] = true;
    for (const char *p = pattern; is && *p;) {
        field f;
        if (*p != '{') {
            pass_literal(at, text, n, *p++);
            continue;
        }
        xt_status s = field_at(pattern, p, &f);
        is = !s;
        xt_status_free(s);
        if (!is) break;
        str key = STR_INIT;
        if (keys) append_key(&key, f.key, f.n);
        for (size_t i = 0; i < key.len; i++) pass_literal(at, text, n, str_cstr(&key)[i]);
        is = !key.failed;
        str_free(&key);
        pass_field(at, after, text, n, &f);
        p = f.end;
    }
    is = is && at[n];
    base_free(at);
    return is;
}
