/* Why a program is new: the known program that is most like it, and then, in this order, what the user can do
 * something about: it was dropped from the cache, a value is read too early, a switch was turned, somebody asks for a
 * value in one of the two only, an input has another shape, a number changed, and at last the first op that differs,
 * with both lines.
 *
 * A cause is true when the program would have been known without it: it names what the user's lines did otherwise than
 * in the program compared with, not what that did to the ops. So a step is compared with steps, never with the program
 * of a read, whose ops are a part of a step's; what was told when it happened (a switch, an assignment, a momentum that
 * began) is asked before the ops are. */
#include "lazy/program/program.h"

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
                      "an `if` in the step makes a program for each way through it; xt_where chooses on the device"},
    [LAZY_WHY_STATES] = {"other states", "assign the same states in the same order in every step"},
    [LAZY_WHY_ACCUMULATION] = {"accumulation", ""},
    [LAZY_WHY_OTHER_STEP] = {"another step", ""},
};

const char *lazy_why_name(lazy_why w) {
    return w < LAZY_WHY_COUNT ? whys[w].name : "?";
}

static bool is_input(const lazy_node *n) {
    return n->code == OP_COUNT;
}
static bool is_pack(const lazy_node *n) {
    return is_input(n) && !n->src && !n->path;
} /* numbers of the step, see scalar.c */

static size_t common_prefix(const lazy_node *a, size_t na, const lazy_node *b, size_t nb) {
    size_t n = na < nb ? na : nb, i = 0;
    while (i < n && a[i].hash == b[i].hash && a[i].code == b[i].code && a[i].type == b[i].type) i++;
    return i;
}

/* --- words --- */
static const char *name_of(const lazy_node *n) {
    return is_input(n) ? lazy_role_name(n->role) : ir_op_infos[n->code].name;
}

static void shape(str *out, const ir_type *t, bool with_dtype) {
    if (!t) return;
    if (with_dtype) str_append(out, xt_dtype_name(t->dtype));
    str_putc(out, '[');
    for (uint32_t i = 0; i < t->rank; i++) str_printf(out, i ? ",%lld" : "%lld", (long long)t->dims[i]);
    str_putc(out, ']');
}

static void place(str *out, const lazy_node *n) {
    char at[256];
    if (n->src) str_printf(out, " at %s", src_text(n->src, at, sizeof at));
}

static void describe(str *out, const lazy_node *n, bool with_text) {
    str_append(out, name_of(n));
    if (n->path) str_printf(out, " %s", intern_text(n->path));
    if (n->type) str_putc(out, ' ');
    shape(out, n->type, true);
    if (with_text && n->text) str_append(out, intern_text(n->text));
    place(out, n);
}

/* "add [8,4] at a.c:3 became [6,4] at a.c:3 (program 1)" for the same op or input, with its attributes where they
 * differ too; both in full otherwise. */
static void became(str *out, const lazy_node *now, const lazy_node *was, int64_t program) {
    bool same = now->code == was->code && now->role == was->role,
         dtype = now->type && was->type && now->type->dtype != was->type->dtype;
    bool texts = same && now->text != was->text, types = now->type != was->type;
    bool moved = same && !texts && !types; /* the same thing at another place of the program: nothing became anything */
    if (same && !moved && now->type && was->type) {
        str_append(out, name_of(now));
        if (now->path) str_printf(out, " %s", intern_text(now->path));
        if (types) str_putc(out, ' '), shape(out, was->type, dtype);
        if (texts) str_append(out, intern_text(was->text));
        if (was->src != now->src) place(out, was);
        str_append(out, " became");
        if (types) str_putc(out, ' '), shape(out, now->type, dtype);
        if (texts) str_append(out, intern_text(now->text));
        place(out, now);
    } else {
        describe(out, now, true);
        str_append(out, " instead of ");
        describe(out, was, true);
    }
    str_printf(out, " (program %lld)", (long long)program);
}

/* --- outputs: who asks for a value in one program and not in the other --- */
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
static bool asks_anew(const lazy_roots *r, lazy_program *const *known, size_t n_known) {
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
static bool other_requesters(const lazy_roots *r, const lazy_program *p) {
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
static lazy_why explain_outputs(str *out, const lazy_roots *r, const lazy_program *p) {
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
static lazy_why explain_superset(str *out, const lazy_roots *r, bool asked, int64_t program, const char **advice) {
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

/* --- nodes --- */
typedef struct ops { /* of a node list, without its inputs */
    const lazy_node *at;
    size_t n;
} ops;

static ops ops_of(const lazy_node *nodes, size_t n) {
    size_t i = 0;
    while (i < n && is_input(&nodes[i])) i++;
    return (ops){nodes + i, n - i};
}

/* Ops as the user sees them: where arguments moved, all hashes differ, and the first op that is another one
 * is the cause. */
static size_t first_other(ops a, ops b) {
    size_t n = a.n < b.n ? a.n : b.n, i = 0;
    while (i < n && a.at[i].code == b.at[i].code && a.at[i].type == b.at[i].type && a.at[i].src == b.at[i].src) i++;
    return i;
}

static bool only_fewer_samples(const lazy_node *now, const lazy_node *was) {
    if (now->role != LAZY_BATCH || now->type->rank != was->type->rank || now->type->rank == 0 ||
        now->type->dims[0] >= was->type->dims[0])
        return false;
    return memcmp(now->type->dims + 1, was->type->dims + 1, (now->type->rank - 1) * sizeof *now->type->dims) == 0;
}

static void dims_that_vary(str *out, const ir_type *now, const ir_type *was) {
    for (uint32_t i = 0; now->rank == was->rank && i < now->rank; i++)
        if (now->dims[i] != was->dims[i])
            str_printf(out, ", dim %u from %lld to %lld", i, (long long)was->dims[i], (long long)now->dims[i]);
}

/* The first input of another type; packs of numbers come and go with the ops that use them. */
static lazy_why explain_inputs(str *out, const lazy_node *a, size_t na, const lazy_program *p, const char **advice) {
    size_t i = 0, k = 0;
    for (;; i++, k++) {
        while (i < na && is_pack(&a[i])) i++;
        while (k < p->n_nodes && is_pack(&p->nodes[k])) k++;
        if (i >= na || k >= p->n_nodes || !is_input(&a[i]) || !is_input(&p->nodes[k])) return LAZY_WHY_KNOWN;
        /* other tensors come in: the op that wants them says why */
        if (a[i].role != p->nodes[k].role || a[i].path != p->nodes[k].path) return LAZY_WHY_KNOWN;
        if (a[i].type != p->nodes[k].type) break;
    }
    const lazy_node *now = &a[i], *was = &p->nodes[k];
    became(out, now, was, p->number);
    if (now->type->dtype != was->type->dtype) return LAZY_WHY_DTYPE;
    dims_that_vary(out, now->type, was->type);
    if (only_fewer_samples(now, was))
        *advice = "last batch of the epoch; use .drop_last = XT_ON or .pad_last = XT_ON of the loader";
    else if (now->role == LAZY_BATCH)
        *advice = "pad the data to a few fixed sizes (buckets): each is a program";
    return LAZY_WHY_SHAPE;
}

static bool is_constant(const lazy_node *n) {
    return n->code == OP_constant;
}

/* A number of the caller's that changed: a constant of the old program, data (a slice of the step's numbers) or another
 * constant in the new one. */
static bool explain_number(str *out, ops a, ops b, const lazy_program *p) {
    char at[256];
    double was, now;
    for (size_t i = 0; i < b.n; i++) { /* recorded just now: only a number of this step can have been noted */
        if (!is_constant(&b.at[i]) || !lazy_number_changed(b.at[i].src, &was, &now)) continue;
        bool still = false, there = false;
        for (size_t k = 0; k < a.n; k++) {
            if (a.at[k].src != b.at[i].src) continue;
            there = true;
            still |= is_constant(&a.at[k]) && a.at[k].text == b.at[i].text;
        }
        if (still || !there) continue;
        str_printf(out,
                   "the number at %s changed from %g to %g: it was a constant of program %lld and is data from now on",
                   src_text(b.at[i].src, at, sizeof at), was, now, (long long)p->number);
        return true;
    }
    return false;
}

/* An option that is a constant where it is not given, a first state's zeros. */
static void constant_or_tensor(str *out, const lazy_node *now, const lazy_node *was, int64_t program) {
    if (!now->path || now->path != was->path || now->src != was->src || is_constant(now) == is_constant(was)) return;
    str_printf(out, "; %s is a %s in program %lld and a %s now, each a program of its own: give a tensor in every step",
               intern_text(now->path), is_constant(was) ? "constant" : "tensor", (long long)program,
               is_constant(now) ? "constant" : "tensor");
}

/* Ops whose attributes say how large the result is. */
static bool sizes_itself(ir_opcode code) {
    return code == OP_slice || code == OP_dynamic_slice || code == OP_pad || code == OP_iota || code == OP_constant;
}

/* The same op at the same line that gives another type: by its attributes, or because what comes in is another. */
static lazy_why why_other_type(const lazy_node *now, const lazy_node *was) {
    if (now->type->dtype != was->type->dtype) return LAZY_WHY_DTYPE;
    return now->text != was->text && !sizes_itself(now->code) ? LAZY_WHY_OPS : LAZY_WHY_SHAPE;
}

/* Casts that only one of the two has from op i on, before what both go on with. */
static bool is_new_cast(ops a, ops b, size_t i) {
    size_t k = i;
    while (k < a.n && a.at[k].code == OP_convert) k++;
    return k > i && k < a.n && a.at[k].code == b.at[i].code && a.at[k].src == b.at[i].src;
}

/* The same op at the same line, made with other numbers. */
static const char *advice_of_numbers(const lazy_node *now) {
    if (now->code == OP_slice)
        return "a place that changes from step to step is data: xt_index_select(x, axis, places) is one program for "
               "all";
    return "the numbers that an op is made with (axes, sizes, places) are a part of the program: each is one more";
}

/* Numbers that are data once they change are told by explain_number. An integer that is left is a bound or a diagonal:
 * its function takes no tensor. NULL: as of any number. */
static const char *advice_of_constant(const lazy_node *n) {
    if (!n->type || !ir_dtype_is_int(n->type->dtype)) return NULL;
    return "this number is a part of the program: compute with one that is data, as "
           "xt_cast(xt_mul_scalar(xt_rand(XT_F32, count), n), XT_I64) in place of xt_randint(0, n, XT_I64, count), or "
           "a mask made on the host (xt_from_array) with xt_where in place of xt_triu and xt_tril";
}

static lazy_why explain_ops(str *out, const lazy_node *nodes, size_t n, const lazy_program *p, const char **advice) {
    ops a = ops_of(nodes, n), b = ops_of(p->nodes, p->n_nodes);
    size_t i = first_other(a, b), same = common_prefix(nodes, n, p->nodes, p->n_nodes);
    lazy_why why = LAZY_WHY_OPS;
    if (explain_number(out, a, b, p)) return LAZY_WHY_CONSTANT;
    if (i >= a.n && i >= b.n) { /* the same ops at the same lines: with other attributes, or on other operands */
        const lazy_node *now = same < n ? &nodes[same] : NULL, *was = same < p->n_nodes ? &p->nodes[same] : NULL;
        if (now && was && now->text != was->text) {
            became(out, now, was, p->number);
            if (is_constant(now)) {
                why = LAZY_WHY_CONSTANT;
                *advice = advice_of_constant(now);
            } else if (now->code == was->code && now->src == was->src)
                *advice = advice_of_numbers(now);
        } else {
            if (now) describe(out, now, true);
            str_printf(out, " has other operands than in program %lld", (long long)p->number);
        }
    } else if (i >= a.n) {
        str_printf(out, "program %lld goes on with ", (long long)p->number);
        describe(out, &b.at[i], true);
        str_append(out, "; this one ends before it");
    } else if (i >= b.n) {
        str_append(out, "new: ");
        describe(out, &a.at[i], true);
        str_printf(out, "; program %lld ended before it", (long long)p->number);
    } else {
        became(out, &a.at[i], &b.at[i], p->number);
        constant_or_tensor(out, &a.at[i], &b.at[i], p->number);
        if (a.at[i].code == b.at[i].code && a.at[i].src == b.at[i].src && a.at[i].type && b.at[i].type) {
            why = why_other_type(&a.at[i], &b.at[i]);
            if (why == LAZY_WHY_SHAPE) dims_that_vary(out, a.at[i].type, b.at[i].type);
            if (why == LAZY_WHY_OPS) *advice = advice_of_numbers(&a.at[i]);
        } else if (is_new_cast(a, b, i) || is_new_cast(b, a, i))
            why = LAZY_WHY_DTYPE;
    }
    return why;
}

/* --- switches --- */
static void turned(str *out, src_id at) {
    char text[256];
    if (at) str_printf(out, ", turned at %s", src_text(at, text, sizeof text));
}

static bool explain_flags(str *out, const lazy_flags *now, const lazy_flags *was, int64_t program) {
    if (now->autocast != was->autocast) {
        str_printf(out, "autocast is %s instead of %s", now->autocast ? xt_dtype_name(now->autocast) : "off",
                   was->autocast ? xt_dtype_name(was->autocast) : "off");
        turned(out, now->autocast ? now->switched_at.autocast : was->switched_at.autocast);
    } else if (now->mode != was->mode) {
        str_append(out, "a module is in another mode (xt_train, xt_eval)");
        turned(out, now->switched_at.mode);
    } else if (now->freezes != was->freezes && !now->no_grad && !was->no_grad) {
        char text[256];
        str_printf(out, "xt_freeze or xt_unfreeze at %s changed which parameters are trained",
                   src_text(now->switched_at.frozen, text, sizeof text));
    } else if (now->no_grad != was->no_grad && (now->backward || was->backward)) {
        /* After the mode: layers turn gradients off for themselves in one of the two. Of steps without a backward pass
         * the switch makes no program. */
        str_printf(out, "xt_no_grad is %s", now->no_grad ? "on" : "off");
    } else {
        return false;
    }
    str_printf(out, " (program %lld)", (long long)program);
    return true;
}

/* --- calls that make an update another --- */
/* An array of another size makes a program whatever else the step did. */
static bool has_other_shapes(const lazy_node *nodes, size_t n, const lazy_program *p) {
    str ignored = STR_INIT;
    const char *advice = NULL;
    bool is_shape = explain_inputs(&ignored, nodes, n, p, &advice) == LAZY_WHY_SHAPE;
    str_free(&ignored);
    return is_shape;
}

static bool explain_calls(str *out, const lazy_flags *now, const lazy_node *nodes, size_t n, const lazy_program *p) {
    const lazy_flags *was = &p->flags;
    char text[256];
    if (!now->updates || !was->updates || has_other_shapes(nodes, n, p)) return false;
    if (now->momenta != was->momenta)
        str_printf(out, "xt_optimizer_set_momentum at %s gave an optimizer a momentum, or one that is data from now on",
                   src_text(now->switched_at.momentum, text, sizeof text));
    else if (now->assigns != was->assigns && now->assigned_at)
        str_printf(out, "the step's xt_assigns are others, the last at %s",
                   src_text(now->assigned_at, text, sizeof text));
    else if (now->assigns != was->assigns)
        str_printf(out, "no xt_assign at %s in this step", src_text(was->assigned_at, text, sizeof text));
    else
        return false;
    str_printf(out, " (program %lld)", (long long)p->number);
    return true;
}

/* --- micro-batches --- */
static bool reads_gradients(const lazy_node *nodes, size_t n) {
    for (size_t i = 0; i < n && is_input(&nodes[i]); i++)
        if (nodes[i].role == LAZY_GRADIENT) return true;
    return false;
}

/* Gradients of several backward passes make one update: the micro-batches differ in what happens with them. */
static lazy_why explain_accumulation(str *out, const lazy_flags *now, const lazy_node *nodes, size_t n,
                                     const lazy_program *p) {
    if (now->backward && !now->updates && !p->flags.backward) { /* all that is known are evaluations */
        str_printf(out, "a micro-batch without an optimizer step; that of program %lld has no backward pass",
                   (long long)p->number);
        return LAZY_WHY_ACCUMULATION;
    }
    bool adds = reads_gradients(nodes, n), added = reads_gradients(p->nodes, p->n_nodes);
    if (!now->backward || !p->flags.backward || (now->updates == p->flags.updates && adds == added))
        return LAZY_WHY_KNOWN;
    bool several = now->updates > 1 || p->flags.updates > 1;
    if (several)
        str_printf(out, "this step has %d optimizer step%s and that of program %lld has %d", now->updates,
                   now->updates == 1 ? "" : "s", (long long)p->number, p->flags.updates);
    else
        str_printf(out, "a micro-batch %s, %s; that of program %lld %s, %s",
                   adds ? "that adds to the gradients of those before it" : "that begins with no gradients",
                   now->updates ? "with an optimizer step" : "without an optimizer step", (long long)p->number,
                   added ? "adds to gradients" : "begins with none", p->flags.updates ? "with one" : "without one");
    return several ? LAZY_WHY_OTHER_STEP : LAZY_WHY_ACCUMULATION;
}

/* --- another step altogether --- */
/* It ends at another boundary and shares no line with p: what p gives out besides says nothing. */
static bool explain_other_step(str *out, const lazy_node *nodes, size_t n, const lazy_program *p, src_id end) {
    ops a = ops_of(nodes, n), b = ops_of(p->nodes, p->n_nodes);
    if (!a.n || !b.n || p->src == end) return false;
    for (size_t i = 0; i < a.n; i++)
        for (size_t k = 0; k < b.n; k++)
            if (a.at[i].src == b.at[k].src) return false;
    str_printf(out, "no step before has a line of this one; it begins with ");
    describe(out, &a.at[0], false);
    return true;
}

/* --- the whole --- */
/* The same step on another shape differs early but has the same size. */
static double likeness(const lazy_node *nodes, size_t n, const lazy_program *p) {
    ops a = ops_of(nodes, n), b = ops_of(p->nodes, p->n_nodes);
    size_t same = common_prefix(nodes, n, p->nodes, p->n_nodes), seen = first_other(a, b),
           longest = n > p->n_nodes ? n : p->n_nodes;
    double gap = (double)(n > p->n_nodes ? n - p->n_nodes : p->n_nodes - n);
    return ((double)(same > seen ? same : seen) - gap) / (double)(longest ? longest : 1);
}

/* A step is compared with steps where there are any: a read's program has a part of what its step has, and that it ends
 * there is no cause. */
static const lazy_program *nearest(const lazy_node *nodes, size_t n, lazy_program *const *known, size_t n_known,
                                   bool forced) {
    const lazy_program *best = NULL;
    double best_score = 0;
    bool steps = false;
    for (size_t i = 0; i < n_known; i++) steps |= !known[i]->forced;
    for (size_t i = 0; i < n_known; i++) {
        if (!forced && steps && known[i]->forced) continue;
        double score = likeness(nodes, n, known[i]);
        if (best && score <= best_score) continue;
        best = known[i];
        best_score = score;
    }
    return best;
}

/* Programs that every run of this kind needs: nothing need be done about them. */
static const char *expected(const lazy_event *ev, const lazy_flags *now, lazy_program *const *known, size_t n_known) {
    bool evaluated = now->backward, here = false; /* who differentiates evaluates nothing, whatever the mode */
    for (size_t i = 0; i < n_known; i++) {
        evaluated |= (known[i]->flags.no_grad || known[i]->flags.mode) && !known[i]->flags.backward;
        here |= known[i]->src == ev->src;
    }
    if (n_known == 0) return "first program";
    if (ev->evaluation && !evaluated) return "first evaluation";
    return here ? NULL : "first step that ends here";
}

/* The programs of reads at the line `src` among those known. */
static size_t of_line(lazy_program *const *known, size_t n, src_id src, lazy_program **out) {
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (known[i]->src == src) out[k++] = known[i];
    return k;
}

/* A read that needs one program more each time: what is different about its value says more than that it is read. */
static bool explain_read(str *out, const lazy_node *nodes, size_t n, lazy_program *const *known, size_t n_known,
                         lazy_event *ev) {
    lazy_program **same = base_malloc((n_known + 1) * sizeof *same);
    const lazy_program *best =
        same && ev->src ? nearest(nodes, n, same, of_line(known, n_known, ev->src, same), true) : NULL;
    base_free(same);
    if (!best) return false;
    ev->why = explain_inputs(out, nodes, n, best, &ev->advice);
    if (!ev->why) ev->why = explain_ops(out, nodes, n, best, &ev->advice);
    return true;
}

void lazy_explain(const lazy_flags *now, const lazy_node *nodes, size_t n, const lazy_roots *r,
                  lazy_program *const *known, size_t n_known, lazy_event *ev) {
    static __thread char text[1024];
    char at[256];
    str out = STR_INIT;
    const lazy_program *best = nearest(nodes, n, known, n_known, ev->forced);
    ev->advice = NULL;
    if (ev->why == LAZY_WHY_EVICTED) {
        str_append(&out, "it was known, but the cache in memory dropped it");
    } else if (ev->forced) {
        str_printf(&out, "%s at %s reads a value before its step has ended: it needs a program for itself",
                   r->n && r->requesters[0].what ? r->requesters[0].what : "the program",
                   src_text(ev->src, at, sizeof at));
        str more = STR_INIT;
        if (explain_read(&more, nodes, n, known, n_known, ev))
            str_printf(&out, ", and another one now: %s", str_cstr(&more));
        else
            ev->why = LAZY_WHY_READ;
        str_free(&more);
    } else if (!best) {
        ev->why = LAZY_WHY_FIRST;
        str_append(&out, "first program");
    } else {
        bool same = n == best->n_nodes && common_prefix(nodes, n, best->nodes, best->n_nodes) == n;
        /* Of two steps that differentiate, a switch says more than what happens with the gradients; beside an
         * evaluation, its mode says nothing of a step that trains. */
        bool trains = now->backward && !best->flags.backward, called = false;
        if (trains) ev->why = explain_accumulation(&out, now, nodes, n, best);
        if (trains && ev->why == LAZY_WHY_ACCUMULATION)
            ;
        else if (explain_flags(&out, now, &best->flags, best->number))
            ev->why = LAZY_WHY_FLAG;
        else if ((called = explain_calls(&out, now, nodes, n, best)))
            ev->why = LAZY_WHY_FLAG;
        else if ((ev->why = explain_accumulation(&out, now, nodes, n, best)))
            ;
        else if (explain_other_step(&out, nodes, n, best, ev->src))
            ev->why = LAZY_WHY_OTHER_STEP;
        else if (!r->known_as || asks_anew(r, known, n_known))
            ev->why = explain_outputs(&out, r, best);
        bool settled = called || ev->why == LAZY_WHY_ACCUMULATION || ev->why == LAZY_WHY_OTHER_STEP;
        bool thawed = ev->why == LAZY_WHY_FLAG && now->mode == best->flags.mode &&
                      now->autocast == best->flags.autocast && now->freezes != best->flags.freezes;
        if (r->known_as && !ev->why)
            ev->why = explain_superset(&out, r, other_requesters(r, best), best->number, &ev->advice);
        else if (!same && !thawed && !settled) { /* of other gradients, the ops say nothing more */
            if (out.len) str_append(&out, "; first difference: ");
            lazy_why w = explain_inputs(&out, nodes, n, best, &ev->advice);
            if (!w) w = explain_ops(&out, nodes, n, best, &ev->advice);
            if (!ev->why)
                ev->why = w;
            else
                ev->advice = NULL;
        }
        if (same && !out.len) {
            ev->why = LAZY_WHY_STATES;
            str_printf(&out, "program %lld computes the same, but other states are assigned, or in another order",
                       (long long)best->number);
        }
    }
    ev->expected = ev->forced || ev->why == LAZY_WHY_EVICTED ? NULL : expected(ev, now, known, n_known);
    if (!ev->advice) ev->advice = ev->why == LAZY_WHY_FLAG && ev->expected ? "" : whys[ev->why].advice;
    snprintf(text, sizeof text, "%s", str_cstr(&out));
    str_free(&out);
    ev->reason = text;
}
