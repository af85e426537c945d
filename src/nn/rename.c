/* Names of tensors by rules: "model.*=*,lm_head.*=head.*". Of a rule's left side each '*' matches any text, and the
 * stars of its right side stand for what those matched, in order. */
#include "nn/nn.h"

enum { STARS = 8 };
typedef struct part {
    const char *text;
    size_t n;
} part;

/* As nn_matches, on a pattern of n characters, and what each star matched: all but the last take as little as they
 * can. */
static bool match(const part *pattern, const char *name, part *stars) {
    size_t p = 0, star = 0, n_stars = 0;
    const char *s = name;
    while (*s) {
        if (p < pattern->n && pattern->text[p] == '*') {
            if (n_stars == STARS) return false;
            star = ++p;
            stars[n_stars++] = (part){s, 0};
        } else if (p < pattern->n && (pattern->text[p] == '?' || pattern->text[p] == *s)) {
            p++;
            s++;
        } else if (n_stars) {
            p = star;
            s = stars[n_stars - 1].text + ++stars[n_stars - 1].n;
        } else
            return false;
    }
    for (; p < pattern->n && pattern->text[p] == '*' && n_stars < STARS; p++) stars[n_stars++] = (part){s, 0};
    return p == pattern->n;
}

static size_t stars_of(const part *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) n += p->text[i] == '*';
    return n;
}

/* The rule at *rules, which moves behind it; false at the end. */
static bool next_rule(const char **rules, part *left, part *right) {
    const char *at = *rules;
    if (!at || !*at) return false;
    size_t n = strcspn(at, ",");
    const char *equals = memchr(at, '=', n);
    *left = (part){at, equals ? (size_t)(equals - at) : n};
    *right = equals ? (part){equals + 1, (size_t)(at + n - equals - 1)} : (part){NULL, 0};
    *rules = at + n + (at[n] == ',');
    return true;
}

xt_status nn_rename_check(const char *rules, const char *what) {
    part left, right;
    while (next_rule(&rules, &left, &right)) {
        bool sides = right.text && left.n && right.n && !memchr(right.text, '=', right.n);
        if (!sides || stars_of(&right) > stars_of(&left) || stars_of(&left) > STARS)
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "%s: '%.*s' is no rule; OLD=NEW is expected, with at most %d '*' in OLD and no more in "
                              "NEW, several with a comma between them",
                              what, (int)(left.n + (right.text ? right.n + 1 : 0)), left.text, STARS);
    }
    return NULL;
}

void nn_rename(const char *rules, const char *name, str *out) {
    part left, right, stars[STARS] = {{0}};
    while (next_rule(&rules, &left, &right)) {
        size_t star = 0;
        if (!match(&left, name, stars)) continue;
        for (size_t i = 0; i < right.n; i++) {
            if (right.text[i] == '*') {
                str_appendn(out, stars[star].text, stars[star].n);
                star++;
            } else
                str_putc(out, right.text[i]);
        }
        return;
    }
    str_append(out, name);
}
