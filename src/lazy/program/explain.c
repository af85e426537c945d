/* Why a program is new: the known program from which it differs in the fewest things (explain_nearest.c), and then, in
 * this order, what the user can do something about: it was dropped from the cache, a value is read too early, a switch
 * was turned, an input has another shape, somebody asks for a value in one of the two only, a number changed, and at
 * last the first op that differs, with both lines. Where no known program differs in one thing alone, what comes first
 * is the cause, and a value that is asked for is told besides.
 *
 * A cause is true when the program would have been known without it: it names what the user's lines did otherwise than
 * in the program compared with, not what that did to the ops. So a step is compared with steps, never with the program
 * of a read, whose ops are a part of a step's; what was told when it happened (a switch, an assignment, a momentum that
 * began) is asked before the ops are. Of the ops those come first that the user's lines call, in the order of the
 * program: gradients and updates follow from them, and are the cause only where all of those are the same. */
#include "lazy/program/explain.h"

static const struct {
    const char *name, *advice;
} whys[LAZY_WHY_COUNT] = {
    [LAZY_WHY_KNOWN] = {"known", ""},
    [LAZY_WHY_FIRST] = {"first program", ""},
    [LAZY_WHY_EVICTED] = {"cache evicted", "raise XT_CACHE_ENTRIES"},
    [LAZY_WHY_READ] = {"value read", "xt_when_ready or xt_master_printf(\"... %t\", t) give the value when it arrives "
                                     "and need no program of their own"},
    [LAZY_WHY_SHAPE] = {"shape change", "keep shapes fixed, or pad to a few sizes: each is a program"},
    [LAZY_WHY_DTYPE] = {"dtype change",
                        "use the same dtype in every step (xt_cast at the place where the data comes in)"},
    [LAZY_WHY_CONSTANT] = {"new scalar constant",
                           "numbers that change are data: xt_scalar, or xt_scalar_ref in a compiled function"},
    [LAZY_WHY_PRINT] = {"print", "one more program is enough for it; asking in every step needs none"},
    [LAZY_WHY_NEW_VALUE] = {"new live tensor",
                            "one more program is enough for it; keeping or asking in every step needs none"},
    [LAZY_WHY_LOST_VALUE] = {"lost live tensor",
                             "one more program is enough for it; keeping or asking in every step needs none"},
    [LAZY_WHY_FLAG] = {"flag change",
                       "each setting is a program of its own: turn switches at the same places of every step"},
    [LAZY_WHY_OPS] = {"other ops",
                      "an `if` in the step, or a loop that runs another number of times, makes a program for each "
                      "way through it; xt_where chooses on the device"},
    [LAZY_WHY_STATES] =
        {"other states",
         "each set of states that a step assigns is a program: assign the same ones in every step, with "
         "xt_where for the value that a state has or gets"},
    [LAZY_WHY_ACCUMULATION] = {"accumulation", ""},
    [LAZY_WHY_OTHER_STEP] = {"another step", ""},
    [LAZY_WHY_DEBUG] = {"debugging", ""},
};

const char *lazy_why_name(lazy_why w) {
    return w < LAZY_WHY_COUNT ? whys[w].name : "?";
}

/* Programs that every run of this kind needs: nothing need be done about them. */
static const char *expected(const lazy_event *ev, const lazy_flags *now, lazy_program *const *known, size_t n_known) {
    bool evaluated = now->backward, here = false; /* who differentiates evaluates nothing, whatever the mode */
    for (size_t i = 0; i < n_known; i++) {
        evaluated |=
            !known[i]->forced && (known[i]->flags.no_grad || known[i]->flags.mode) && !known[i]->flags.backward;
        here |= known[i]->src == ev->src;
    }
    if (n_known == 0) return "first program";
    if (ev->evaluation && !evaluated) return "first evaluation";
    return here ? NULL : "first step that ends here";
}

/* The step of a read has gone on since the read at this line before: what was recorded in between is in its value. */
static bool explain_open_step(str *out, const lazy_flags *now, const lazy_node *nodes, size_t n, const lazy_program *p,
                              lazy_event *ev) {
    explain_list a = explain_list_of(nodes, n), b = explain_list_of(p->nodes, p->n_nodes);
    bool updated = now->updates != p->flags.updates;
    if (p->step != ev->step || (!updated && (a.n <= b.n || !explain_has_lines(a, b)))) return false;
    if (updated)
        str_printf(out, "%d optimizer step%s in front of it in this step (%d in program %lld)", now->updates,
                   now->updates == 1 ? " stands" : "s stand", p->flags.updates, (long long)p->number);
    else
        str_printf(out, "it is made by %zu ops of this step (%zu in program %lld)", a.n, b.n, (long long)p->number);
    str_append(out, ", as nothing has ended the step in between");
    ev->advice = "xt_mark_step() at the end of each iteration ends its step";
    return true;
}

static bool has_op_at(explain_list l, src_id line, explain_list other) {
    for (size_t i = 0; i < l.n; i++) {
        size_t k = 0;
        if (l.at[i].src != line || explain_is_small(l.at[i].code)) continue;
        while (k < other.n && (other.at[k].src != line || other.at[k].code != l.at[i].code)) k++;
        if (k == other.n) return true;
    }
    return false;
}

/* A line that reads several values, each made by other ops of that line: each is a value read, and none a changed one.
 */
static bool is_another_read(const lazy_node *nodes, size_t n, const lazy_program *p, src_id line) {
    explain_list a = explain_list_of(nodes, n), b = explain_list_of(p->nodes, p->n_nodes);
    return has_op_at(a, line, b) && has_op_at(b, line, a);
}

/* The programs of reads of the same value at the line of the event. */
static size_t of_read(lazy_program *const *known, size_t n_known, const lazy_node *nodes, size_t n, src_id line,
                      lazy_program **out) {
    size_t k = 0;
    for (size_t i = 0; i < n_known; i++)
        if (known[i]->forced && !known[i]->debugs && known[i]->src == line &&
            !is_another_read(nodes, n, known[i], line))
            out[k++] = known[i];
    return k;
}

/* A read that needs one program more each time: what is different about its value says more than that it is read. */
static bool explain_read(str *out, const lazy_flags *now, const lazy_node *nodes, size_t n, lazy_program *const *known,
                         size_t n_known, lazy_event *ev) {
    lazy_program **same = base_malloc((n_known + 1) * sizeof *same);
    const lazy_program *best =
        same && ev->src ? explain_nearest_read(now, nodes, n, same, of_read(known, n_known, nodes, n, ev->src, same))
                        : NULL;
    base_free(same);
    if (!best) return false;
    lazy_why acts = explain_acts_of_value(out, now, nodes, n, best);
    if (acts) str_append(out, "; first difference: ");
    ev->why = explain_inputs(out, now, nodes, n, best, &ev->advice);
    if (!ev->why && !acts && explain_open_step(out, now, nodes, n, best, ev)) ev->why = LAZY_WHY_OTHER_STEP;
    if (!ev->why) ev->why = explain_ops(out, now, nodes, n, best, &ev->advice);
    if (acts) ev->why = acts, ev->advice = NULL;
    return true;
}

/* What the user's calls did otherwise than in the step of `best`. *out_settled: the ops say nothing more. */
static lazy_why explain_acts(str *out, const lazy_flags *now, const lazy_node *nodes, size_t n, const lazy_roots *r,
                             const lazy_program *best, lazy_event *ev, bool *out_settled) {
    lazy_why why = LAZY_WHY_KNOWN;
    *out_settled = true;
    /* Of two steps that differentiate, a switch says more than what happens with the gradients; beside an evaluation,
     * its mode says nothing of a step that trains. */
    if (now->backward && !best->flags.backward) why = explain_accumulation(out, now, nodes, n, best);
    if (why == LAZY_WHY_ACCUMULATION) return why;
    if (explain_parameters(out, now, nodes, n, best)) {
        ev->advice = "one more program is enough for it; layers that each step has from the first one on need none";
        return LAZY_WHY_OPS;
    }
    if (explain_flags(out, now, &best->flags, best->number)) { /* of other gradients, the ops say nothing more */
        *out_settled =
            now->mode == best->flags.mode && now->autocast == best->flags.autocast && now->frozen != best->flags.frozen;
        return LAZY_WHY_FLAG;
    }
    if ((why = explain_calls(out, now, nodes, n, best, &ev->advice))) return why;
    if ((why = explain_accumulation(out, now, nodes, n, best))) {
        *out_settled = why == LAZY_WHY_ACCUMULATION; /* the updates of several loops, and what they are made of */
        return why;
    }
    if (explain_other_step(out, nodes, n, best, ev->src)) return LAZY_WHY_OTHER_STEP;
    if (explain_states(out, r, best)) return LAZY_WHY_STATES;
    *out_settled = false;
    return LAZY_WHY_KNOWN;
}

/* What is told besides the cause: that the window of a micro-batch, or a short batch, needs a program takes no blame
 * off the line that asks for a value. */
static bool tells_besides(lazy_why why) {
    return why == LAZY_WHY_ACCUMULATION || why == LAZY_WHY_SHAPE || why == LAZY_WHY_DTYPE;
}

static void explain_step(str *out, const lazy_flags *now, const lazy_node *nodes, size_t n, const lazy_roots *r,
                         const lazy_program *best, lazy_program *const *known, size_t n_known, lazy_event *ev) {
    char at[256];
    bool same = n == best->n_nodes && explain_common_prefix(nodes, n, best->nodes, best->n_nodes) == n, settled;
    ev->why = explain_acts(out, now, nodes, n, r, best, ev, &settled);
    lazy_why acts = ev->why, other = LAZY_WHY_KNOWN;
    if (!same && (!settled || acts == LAZY_WHY_ACCUMULATION)) {
        str inputs = STR_INIT;
        const char *advice = NULL;
        other = explain_inputs(&inputs, now, nodes, n, best, &advice);
        const char *joint = !acts ? "" : settled ? "; besides, " : "; first difference: ";
        if (other) str_printf(out, "%s%s", joint, str_cstr(&inputs));
        str_free(&inputs);
        if (!acts) ev->why = other, ev->advice = advice;
        if (acts && other) ev->advice = NULL;
    }
    if ((!ev->why && !r->known_as) || (tells_besides(ev->why) && now->backward == best->flags.backward)) {
        str besides = STR_INIT;
        lazy_why w = explain_outputs(&besides, r, best);
        if (w) str_printf(out, "%s%s", ev->why ? "; besides, " : "", str_cstr(&besides));
        str_free(&besides);
        if (!ev->why) ev->why = w;
    }
    if (!ev->why && !r->known_as && best->serves && explain_same_own_ops(nodes, n, best))
        ev->why = explain_combination(out, r);
    if (r->known_as && !ev->why) ev->why = explain_superset(out, now, nodes, n, r, best, known, n_known, &ev->advice);
    bool asked = r->known_as && !acts && !other && ev->why; /* its ops are those of other steps too */
    if (!same && !settled && !other && !asked) {
        if (out->len) str_append(out, "; first difference: ");
        lazy_why w = explain_ops(out, now, nodes, n, best, &ev->advice);
        if (!ev->why)
            ev->why = w;
        else
            ev->advice = NULL;
    }
    if (same && !out->len) ev->why = explain_parted(out, now, explain_list_of(nodes, n), best, &ev->advice);
    if (r->known_as && !asked) str_append(out, "; it has all that steps ask for under an `if`");
    if (same && !out->len) {
        ev->why = LAZY_WHY_STATES;
        str_printf(out, "program %lld computes the same values, but other states get them", (long long)best->number);
        if (r->n_assigned)
            str_printf(out, ", the last at %s", src_text(r->assigned[r->n_assigned - 1].at, at, sizeof at));
    }
}

void lazy_explain(const lazy_flags *now, const lazy_node *nodes, size_t n, const lazy_roots *r,
                  lazy_program *const *known, size_t n_known, lazy_event *ev) {
    static __thread char text[1024];
    char at[256];
    str out = STR_INIT;
    const lazy_program *best = ev->forced ? NULL : explain_nearest_step(now, nodes, n, r, known, n_known);
    ev->advice = NULL;
    if (ev->why == LAZY_WHY_EVICTED) {
        str_append(&out, "it was known, but the cache in memory dropped it");
    } else if (ev->debugs) {
        ev->why = LAZY_WHY_DEBUG;
        str_printf(&out, "%s runs a program of its own for what it looks at",
                   r->n ? r->requesters[0].what : "XT_DEBUG");
    } else if (ev->forced) {
        str_printf(&out, "%s at %s reads a value before its step has ended: it needs a program for itself",
                   r->n && r->requesters[0].what ? r->requesters[0].what : "the program",
                   src_text(ev->src, at, sizeof at));
        str more = STR_INIT;
        if (explain_read(&more, now, nodes, n, known, n_known, ev))
            str_printf(&out, ", and another one now: %s", str_cstr(&more));
        else
            ev->why = LAZY_WHY_READ;
        str_free(&more);
    } else if (!best) {
        ev->why = LAZY_WHY_FIRST;
        str_append(&out, n_known ? "the programs before are of reads" : "first program");
    } else
        explain_step(&out, now, nodes, n, r, best, known, n_known, ev);
    ev->expected = ev->forced || ev->why == LAZY_WHY_EVICTED ? NULL : expected(ev, now, known, n_known);
    if (!ev->advice) ev->advice = ev->why == LAZY_WHY_FLAG && ev->expected ? "" : whys[ev->why].advice;
    snprintf(text, sizeof text, "%s", str_cstr(&out));
    str_free(&out);
    ev->reason = text;
}
