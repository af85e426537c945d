/* Options of calls that a compiler cannot look at itself (base.h): each has its name, or the call is an error. C++ has
 * the same rule in xt_named_. */
#include "api/entry.h"
#include "lazy/lazy.h"

static const char *behind_quoted(const char *at, char quote) {
    while (*at && *at != quote) at += *at == '\\' && at[1] ? 2 : 1;
    return at;
}

/* The first option in `text` without a name; NULL where all have theirs. Commas in brackets divide no options. */
static const char *first_unnamed(const char *text) {
    int depth = 0;
    for (bool first = true; *text; text++) {
        if (first && *text == ' ') continue;
        if (first && *text != ',' && (*text != '.' || (text[1] >= '0' && text[1] <= '9'))) return text;
        first = depth == 0 && *text == ',';
        depth += (strchr("({[", *text) != NULL) - (strchr(")}]", *text) != NULL);
        if (*text == '"' || *text == '\'') text = behind_quoted(text + 1, *text);
        if (!*text) break;
    }
    return NULL;
}

size_t xt_named_size_at(const xt_src *src, size_t size, const char *text) {
    const char *bad = first_unnamed(text);
    if (bad)
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                             "`%.*s` stands among the options without a name: options are named, as in .lr = 0.1, for "
                             "a value alone does not say what it is for",
                             (int)strcspn(bad, ",\n"), bad));
    return size;
}
