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

/* What this step asks for: base_free; NULL: no memory. */
static lazy_requester *asked(const lazy_roots *r, size_t *out_n) {
    size_t n = 0;
    lazy_requester *all = base_malloc((r->n + r->n_also + 1) * sizeof *all);
    for (size_t i = 0; all && i < r->n + r->n_also; i++) {
        const lazy_requester *a = i < r->n ? &r->requesters[i] : &r->also[i - r->n];
        if (a->what && !a->off) all[n++] = *a;
    }
    *out_n = n;
    return all;
}

/* It asks for something that no known program gives. */
static const lazy_requester *asked_anew(const lazy_requester *mine, size_t n, lazy_program *const *known,
                                        size_t n_known) {
    for (size_t i = 0; i < n; i++) {
        bool given = false;
        for (size_t k = 0; k < n_known && !given; k++)
            given = times(known[k]->requesters, known[k]->n_requesters, &mine[i]) > 0;
        if (!given) return &mine[i];
    }
    return NULL;
}

/* A superset's step may leave out what it likes. */
static const lazy_requester *missed(const lazy_requester *mine, size_t n, const lazy_program *p) {
    return p->serves ? NULL : extra(p->requesters, p->n_requesters, mine, n);
}

/* Does it ask for what p does not give, or the other way round? */
bool explain_other_requesters(const lazy_roots *r, const lazy_program *p) {
    size_t n = 0;
    lazy_requester *mine = asked(r, &n);
    bool other = mine && (extra(mine, n, p->requesters, p->n_requesters) || missed(mine, n, p));
    base_free(mine);
    return other;
}

static bool prints(const lazy_requester *a) {
    return strcmp(a->what, "xt_master_printf") == 0 || strcmp(a->what, "xt_print") == 0;
}

/* A value printed under an `if` makes a program of its own: the line of the print is the cause, whatever
 * ops are new. */
lazy_why explain_outputs(str *out, const lazy_roots *r, const lazy_program *p) {
    char at[256];
    lazy_why why = LAZY_WHY_KNOWN;
    size_t n = 0;
    lazy_requester *mine = asked(r, &n);
    if (!mine) return why;
    const lazy_requester *more = extra(mine, n, p->requesters, p->n_requesters), *less = missed(mine, n, p),
                         *who = more ? more : less;
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
    if (who) why = prints(who) ? LAZY_WHY_PRINT : more ? LAZY_WHY_NEW_VALUE : LAZY_WHY_LOST_VALUE;
    base_free(mine);
    return why;
}

static void combination(str *out, const lazy_requester *one) {
    char at[256];
    str_append(out, "this step asks for another combination than any before of what steps ask for under an `if`");
    if (one) str_printf(out, ", as %s at %s does", one->what, src_text(one->src, at, sizeof at));
}

lazy_why explain_combination(str *out, const lazy_roots *r) {
    size_t n = 0;
    lazy_requester *mine = asked(r, &n);
    combination(out, n ? &mine[0] : NULL);
    base_free(mine);
    return LAZY_WHY_NEW_VALUE;
}

/* The line of what only one of the two has recorded beside what its step is made of; 0: not known. */
static src_id recorded_besides(const lazy_flags *now, const lazy_node *nodes, size_t n, const lazy_program *p) {
    explain_list a = explain_list_of(nodes, n), b = explain_list_of(p->nodes, p->n_nodes);
    const lazy_node *more = explain_only_in(a, b), *less = explain_only_in(b, a);
    if (more || less) return more ? more->src : less->src;
    if (now->needless == p->flags.needless) return 0;
    return now->needless ? now->needless : p->flags.needless;
}

/* The step asks for something that no step before did, or for another combination of what steps ask for; or it meets
 * its inputs in another order than the one whose program serves it from now on. */
lazy_why explain_superset(str *out, const lazy_flags *now, const lazy_node *nodes, size_t n_nodes, const lazy_roots *r,
                          const lazy_program *best, lazy_program *const *known, size_t n_known, const char **advice) {
    char at[256];
    const lazy_program *before = NULL;
    bool asks = explain_other_requesters(r, best);
    for (size_t i = 0; i < n_known && !before; i++)
        if (known[i]->serves == r->known_as) before = known[i];
    if (!before && !asks && explain_same_own_ops(nodes, n_nodes, best)) before = best;
    if (before) {
        src_id besides = recorded_besides(now, nodes, n_nodes, before);
        str_printf(out, "the step of program %lld read some of its inputs in another order, as something besides",
                   (long long)before->number);
        if (besides) str_printf(out, ", at %s,", src_text(besides, at, sizeof at));
        str_append(out, " was recorded before it: from now on one program serves both");
        *advice = "one more program is enough for it; recording what only some steps have behind what all steps have "
                  "needs none";
        return LAZY_WHY_STATES;
    }
    if (!asks) return LAZY_WHY_KNOWN;
    size_t n = 0;
    lazy_requester *mine = asked(r, &n);
    const lazy_requester *who = mine ? asked_anew(mine, n, known, n_known) : NULL;
    lazy_why why = who && prints(who) ? LAZY_WHY_PRINT : LAZY_WHY_NEW_VALUE;
    if (who)
        str_printf(out, "%s at %s asks for a value that no program before gives", who->what,
                   src_text(who->src, at, sizeof at));
    else
        combination(out, n ? &mine[0] : NULL);
    str_append(out, ": from now on one program has all of it, and each step switches off the rest");
    base_free(mine);
    return why;
}
