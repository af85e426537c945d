/* Who asks for a value in one program and not in the other. */
#include "lazy/program/explain.h"

static size_t times(const lazy_requester *list, size_t n, const lazy_requester *a) {
    size_t k = 0;
    for (size_t i = 0; i < n; i++) k += list[i].what && list[i].src == a->src && strcmp(list[i].what, a->what) == 0;
    return k;
}

static const lazy_requester *extra(const lazy_requester *a, size_t n_a, const lazy_requester *b, size_t n_b) {
    for (size_t i = 0; i < n_a; i++)
        if (a[i].what && times(a, n_a, &a[i]) > times(b, n_b, &a[i])) return &a[i];
    return NULL;
}

/* It asks for something that no known program gives. */
bool explain_asks_anew(const lazy_roots *r, lazy_program *const *known, size_t n_known) {
    for (size_t i = 0; i < r->n + r->n_also; i++) {
        const lazy_requester *a = i < r->n ? &r->requesters[i] : &r->also[i - r->n];
        bool given = !a->what;
        for (size_t k = 0; k < n_known && !given; k++)
            given = times(known[k]->requesters, known[k]->n_requesters, a) > 0;
        if (!given) return true;
    }
    return false;
}

/* Does it ask for what p does not give, or the other way round? */
bool explain_other_requesters(const lazy_roots *r, const lazy_program *p) {
    size_t n = 0;
    for (size_t i = 0; i < r->n + r->n_also; i++) {
        const lazy_requester *a = i < r->n ? &r->requesters[i] : &r->also[i - r->n];
        if (!a->what) continue;
        n++;
        if (!times(p->requesters, p->n_requesters, a)) return true;
    }
    for (size_t i = 0; i < p->n_requesters; i++) n -= p->requesters[i].what != NULL;
    return n != 0;
}

/* A value printed under an `if` makes a program of its own: the line of the print is the cause, whatever
 * ops are new. */
lazy_why explain_outputs(str *out, const lazy_roots *r, const lazy_program *p) {
    char at[256];
    lazy_why why = LAZY_WHY_KNOWN;
    size_t n = r->n + r->n_also;
    lazy_requester *mine = base_malloc((n + 1) * sizeof *mine);
    if (!mine) return why;
    memcpy(mine, r->requesters, r->n * sizeof *mine);
    if (r->n_also) memcpy(mine + r->n, r->also, r->n_also * sizeof *mine);
    const lazy_requester *more = extra(mine, n, p->requesters, p->n_requesters),
                         *less = extra(p->requesters, p->n_requesters, mine, n), *who = more ? more : less;
    if (more) {
        str_printf(out, "%s at %s asks for a value", more->what, src_text(more->src, at, sizeof at));
        if (more->made && more->made != more->src)
            str_printf(out, ", made at %s,", src_text(more->made, at, sizeof at));
        str_printf(out, " that program %lld does not give", (long long)p->number);
        if (less)
            str_printf(out, ", and not for that of %s at %s, which it gives", less->what,
                       src_text(less->src, at, sizeof at));
    } else if (less) {
        str_printf(out, "program %lld also gives the value that %s asks for at %s", (long long)p->number, less->what,
                   src_text(less->src, at, sizeof at));
        if (less->made && less->made != less->src) str_printf(out, ", made at %s", src_text(less->made, at, sizeof at));
    }
    if (who)
        why = strcmp(who->what, "xt_master_printf") == 0 || strcmp(who->what, "xt_print") == 0 ? LAZY_WHY_PRINT
              : more                                                                           ? LAZY_WHY_NEW_VALUE
                                                                                               : LAZY_WHY_LOST_VALUE;
    base_free(mine);
    return why;
}

/* The optional outputs of the step are all known, but not in this combination: `asked`; or the step meets its inputs in
 * another order than the one whose program serves it from now on. */
lazy_why explain_superset(str *out, const lazy_roots *r, bool asked, int64_t program, const char **advice) {
    char at[256];
    const lazy_requester *who = r->n_also ? &r->also[0] : &r->requesters[r->n - 1];
    if (!asked) {
        str_printf(out,
                   "the step of program %lld read some of its inputs in another order, as something besides was "
                   "recorded before it: from now on one program serves both",
                   (long long)program);
        *advice = "one more program is enough for it; recording what only some steps have behind what all steps have "
                  "needs none";
        return LAZY_WHY_STATES;
    }
    str_printf(out,
               "this step asks for another combination than any before of what steps ask for under an `if`, as %s at "
               "%s does: from now on one program has all of it, and each step switches off the rest",
               who->what ? who->what : "a value", src_text(who->src, at, sizeof at));
    return LAZY_WHY_NEW_VALUE;
}
