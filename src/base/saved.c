/* See saved.h. */
#include "base/saved.h"

static xt_status refused(const char *what, const char *found, int64_t least, int64_t most) {
    return status_new(XT_DATA_LOSS, NULL,
                      "its %s is %.80s; a whole number from %lld to %lld is expected: the file is damaged, or no "
                      "checkpoint of a trainer",
                      what, found, (long long)least, (long long)most);
}

xt_status saved_text(const char *what, const char *text, int64_t least, int64_t most, int64_t *out) {
    int64_t v;
    if (!text || !parse_i64(text, &v) || v < least || v > most)
        return refused(what, text ? text : "missing", least, most);
    *out = v;
    return NULL;
}

xt_status saved_number(const char *what, double v, int64_t least, int64_t most, int64_t *out) {
    char text[40];
    snprintf(text, sizeof text, "%.17g", v);
    if (!(v >= (double)least && v <= (double)most) || v != (double)(int64_t)v) return refused(what, text, least, most);
    *out = (int64_t)v;
    return NULL;
}
