/* What the user's calls did otherwise than in the step of a known program: switches, optimizers, micro-batches. */
#include "lazy/program/explain.h"

/* --- switches --- */
static void turned(str *out, src_id at) {
    char text[256];
    if (at) str_printf(out, ", turned at %s", src_text(at, text, sizeof text));
}

/* "xt_freeze of "fc.*" at a.c:3" */
static void froze(str *out, const lazy_flags *now, const lazy_flags *was) {
    char text[256];
    long long calls = (long long)(now->freezes - was->freezes);
    str_append(out, now->switched_at.froze);
    if (now->switched_at.froze_of) str_printf(out, " of \"%s\"", intern_text(now->switched_at.froze_of));
    str_printf(out, " at %s", src_text(now->switched_at.frozen, text, sizeof text));
    if (calls > 1) str_printf(out, ", the last of %lld such calls since then,", calls);
}

bool explain_flags(str *out, const lazy_flags *now, const lazy_flags *was, int64_t program) {
    if (now->autocast != was->autocast) {
        str_printf(out, "autocast is %s instead of %s", now->autocast ? xt_dtype_name(now->autocast) : "off",
                   was->autocast ? xt_dtype_name(was->autocast) : "off");
        turned(out, now->autocast ? now->switched_at.autocast : was->switched_at.autocast);
    } else if (now->mode != was->mode) {
        str_append(out, "a module is in another mode (xt_train, xt_eval)");
        turned(out, now->switched_at.mode);
    } else if (now->frozen != was->frozen && !now->no_grad && !was->no_grad) {
        froze(out, now, was);
        str_append(out, " changed which parameters are trained");
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

/* --- layers that come --- */
static bool has_parameter(const lazy_node *nodes, size_t n, uint32_t path) {
    for (size_t i = 0; i < n && explain_is_input(&nodes[i]); i++)
        if (nodes[i].role == LAZY_PARAMETER && nodes[i].path == path) return true;
    return false;
}

/* The first parameter that was made since the step of p, which has others of the step's. */
static const lazy_node *new_parameter(const lazy_node *nodes, size_t n, const lazy_program *p) {
    const lazy_node *found = NULL;
    bool shared = false;
    for (size_t i = 0; i < n && explain_is_input(&nodes[i]); i++) {
        if (nodes[i].role != LAZY_PARAMETER || !nodes[i].path) continue;
        bool both = has_parameter(p->nodes, p->n_nodes, nodes[i].path);
        shared |= both;
        if (!both && !found && nodes[i].since > p->step) found = &nodes[i];
    }
    return shared ? found : NULL;
}

bool explain_parameters(str *out, const lazy_flags *now, const lazy_node *nodes, size_t n, const lazy_program *p) {
    bool trained = now->backward && p->flags.backward && now->optimizers == p->flags.optimizers;
    if (!trained || now->mode != p->flags.mode || now->autocast != p->flags.autocast) return false;
    const lazy_node *fresh = new_parameter(nodes, n, p);
    if (!fresh) return false;
    str_append(out, "new: ");
    explain_describe(out, fresh, false);
    str_printf(out, ", which the step of program %lld has not", (long long)p->number);
    if (now->frozen != p->flags.frozen) {
        str_append(out, "; ");
        froze(out, now, &p->flags);
        str_append(out, " changed which are trained");
    }
    return true;
}

/* --- calls that make an update another --- */
/* An array of another size makes a program whatever else the step did. */
static bool has_other_shapes(const lazy_node *nodes, size_t n, const lazy_program *p) {
    str ignored = STR_INIT;
    const char *advice = NULL;
    bool is_shape = explain_inputs(&ignored, NULL, nodes, n, p, &advice) == LAZY_WHY_SHAPE;
    str_free(&ignored);
    return is_shape;
}

static bool other_optimizers(str *out, const lazy_flags *now, const lazy_flags *was) {
    char here[256], there[256];
    if (now->optimizers == was->optimizers || !now->optimizer || !was->optimizer) return false;
    bool lines = now->updated_at != was->updated_at;
    str_printf(out, "xt_%s made at %s steps", now->optimizer, src_text(now->optimizer_at, here, sizeof here));
    if (lines) str_printf(out, " at %s", src_text(now->updated_at, here, sizeof here));
    str_printf(out, ", in place of xt_%s made at %s", was->optimizer, src_text(was->optimizer_at, there, sizeof there));
    if (lines) str_printf(out, ", which steps at %s", src_text(was->updated_at, there, sizeof there));
    return true;
}

lazy_why explain_calls(str *out, const lazy_flags *now, const lazy_node *nodes, size_t n, const lazy_program *p,
                       const char **advice) {
    const lazy_flags *was = &p->flags;
    char text[256];
    lazy_why why = LAZY_WHY_FLAG;
    if (!now->updates || !was->updates || has_other_shapes(nodes, n, p)) return LAZY_WHY_KNOWN;
    if (now->updates == was->updates && other_optimizers(out, now, was)) {
        why = LAZY_WHY_OTHER_STEP;
        *advice = "the steps of each optimizer are a program";
    } else if (now->momenta != was->momenta) {
        str_printf(out, "xt_optimizer_set_momentum at %s gave an optimizer a momentum, or one that is data from now on",
                   src_text(now->switched_at.momentum, text, sizeof text));
    } else if (now->freezes != was->freezes && now->frozen == was->frozen && now->parted != was->parted &&
               explain_same_forward(explain_list_of(nodes, n), explain_list_of(p->nodes, p->n_nodes), EXPLAIN_OWN)) {
        froze(out, now, was);
        str_append(out, " gives back what is trained, and the optimizer counts the steps of what was frozen apart");
        *advice = "one more program is enough for it; the next such calls need none";
    } else
        return LAZY_WHY_KNOWN;
    str_printf(out, " (program %lld)", (long long)p->number);
    return why;
}

lazy_why explain_parted(str *out, const lazy_flags *now, explain_list a, const lazy_program *p, const char **advice) {
    char at[256];
    explain_list b = explain_list_of(p->nodes, p->n_nodes);
    const lazy_node *was;
    if (!now->parted || !now->updates || now->updates != p->flags.updates || !explain_same_forward(a, b, EXPLAIN_OWN))
        return LAZY_WHY_KNOWN;
    const lazy_node *other = explain_other_layer(a, b, EXPLAIN_OWN, &was);
    const char *param = intern_text(now->switched_at.parted_of);
    src_text(now->switched_at.parted, at, sizeof at);
    if (other) {
        explain_became(out, other, was, p->number);
        str_printf(
            out,
            "; it would be the same program if the optimizer, at %s, did not count the steps of parameters apart "
            "that had no gradient in some step (%s the last of them)",
            at, param);
        return LAZY_WHY_OPS;
    }
    if (now->parted == p->flags.parted) return LAZY_WHY_KNOWN;
    str_printf(out,
               "%s had no gradient in a step before, in which the optimizer updated others at %s: it counts the steps "
               "of such parameters apart from then on (program %lld)",
               param, at, (long long)p->number);
    *advice = "one more program is enough for it where the same ones have none";
    return LAZY_WHY_OPS;
}

static bool assigned_there(const lazy_assigned *list, size_t n, const lazy_assigned *a) {
    for (size_t i = 0; i < n; i++)
        if (list[i].slot == a->slot && list[i].at == a->at) return true;
    return false;
}

/* One of list that `other` has not, or has less often: where that one has none, if there is such a line. */
static const lazy_assigned *assigned_more(const lazy_assigned *list, size_t n, const lazy_assigned *other,
                                          size_t n_other) {
    const lazy_assigned *found = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t times = 0;
        for (size_t k = 0; k < n; k++) times += list[k].slot == list[i].slot;
        for (size_t k = 0; k < n_other; k++) times -= other[k].slot == list[i].slot && times > 0;
        if (times && !assigned_there(other, n_other, &list[i])) return &list[i];
        if (times && !found) found = &list[i];
    }
    return found;
}

bool explain_other_states(const lazy_roots *r, const lazy_program *p) {
    return assigned_more(r->assigned, r->n_assigned, p->assigned, p->n_assigned) ||
           assigned_more(p->assigned, p->n_assigned, r->assigned, r->n_assigned);
}

bool explain_states(str *out, const lazy_roots *r, const lazy_program *p) {
    char here[256], there[256];
    const lazy_assigned *more = assigned_more(r->assigned, r->n_assigned, p->assigned, p->n_assigned),
                        *less = assigned_more(p->assigned, p->n_assigned, r->assigned, r->n_assigned);
    const char *its = more ? intern_text(more->name) : NULL, *other = less ? intern_text(less->name) : NULL;
    if (more) {
        str_printf(out, "this step gives state %s a new value at %s, ", its, src_text(more->at, here, sizeof here));
        if (less)
            str_printf(out, "and not %s, as that of program %lld does at %s", other, (long long)p->number,
                       src_text(less->at, there, sizeof there));
        else
            str_printf(out, "which that of program %lld does not", (long long)p->number);
    } else if (less)
        str_printf(out, "the step of program %lld gives state %s a new value at %s, and this one does not",
                   (long long)p->number, other, src_text(less->at, there, sizeof there));
    return more || less;
}

/* --- micro-batches --- */
static bool reads_gradients(const lazy_node *nodes, size_t n) {
    for (size_t i = 0; i < n && explain_is_input(&nodes[i]); i++)
        if (nodes[i].role == LAZY_GRADIENT) return true;
    return false;
}

bool explain_accumulates(const lazy_flags *now, const lazy_node *nodes, size_t n, const lazy_program *p) {
    return now->backward && p->flags.backward &&
           (now->updates != p->flags.updates || reads_gradients(nodes, n) != reads_gradients(p->nodes, p->n_nodes));
}

/* Gradients of several backward passes make one update: the micro-batches differ in what happens with them. */
lazy_why explain_accumulation(str *out, const lazy_flags *now, const lazy_node *nodes, size_t n,
                              const lazy_program *p) {
    if (now->backward && !now->updates && !p->flags.backward) { /* all that is known are evaluations */
        str_printf(out, "a micro-batch without an optimizer step; that of program %lld has no backward pass",
                   (long long)p->number);
        return LAZY_WHY_ACCUMULATION;
    }
    bool adds = reads_gradients(nodes, n), added = reads_gradients(p->nodes, p->n_nodes);
    if (!explain_accumulates(now, nodes, n, p)) return LAZY_WHY_KNOWN;
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

/* --- values that are read --- */
static bool is_of_modules(const lazy_node *nodes, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (nodes[i].path && !explain_is_input(&nodes[i])) return true;
    return false;
}

static bool has_dtype(const lazy_node *nodes, size_t n, xt_dtype dtype) {
    for (size_t i = 0; i < n; i++)
        if (dtype && nodes[i].type && nodes[i].type->dtype == dtype) return true;
    return false;
}

static bool has_gradients(const lazy_flags *f, const lazy_node *nodes, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (explain_is_input(&nodes[i]) ? nodes[i].role == LAZY_GRADIENT
                                        : f->backward && nodes[i].src == f->backward_at)
            return true;
    return false;
}

/* The switches of both, without those that nothing of the value was made under: modes where it has nothing of modules,
 * autocast where no part is of its dtype, what is frozen where it has no gradients. *out_windows: it has gradients, and
 * their places in windows of micro-batches differ. */
static void of_value(const lazy_flags *now, const lazy_node *nodes, size_t n, const lazy_program *p, lazy_flags *here,
                     lazy_flags *there, bool *out_windows) {
    const lazy_node *was = p->nodes;
    bool gradients = has_gradients(now, nodes, n) && has_gradients(&p->flags, was, p->n_nodes);
    *here = *now;
    *there = p->flags;
    here->no_grad = there->no_grad = false;
    if (!is_of_modules(nodes, n) || !is_of_modules(was, p->n_nodes)) here->mode = there->mode;
    if (has_dtype(nodes, n, here->autocast) == has_dtype(was, p->n_nodes, here->autocast) &&
        has_dtype(nodes, n, there->autocast) == has_dtype(was, p->n_nodes, there->autocast))
        here->autocast = there->autocast;
    if (!gradients) here->frozen = there->frozen;
    *out_windows = gradients && reads_gradients(nodes, n) != reads_gradients(was, p->n_nodes);
}

int explain_count_acts_of_value(const lazy_flags *now, const lazy_node *nodes, size_t n, const lazy_program *p) {
    lazy_flags here, there;
    bool windows;
    of_value(now, nodes, n, p, &here, &there, &windows);
    return (here.autocast != there.autocast) + (here.mode != there.mode) + (here.frozen != there.frozen) + windows;
}

lazy_why explain_acts_of_value(str *out, const lazy_flags *now, const lazy_node *nodes, size_t n,
                               const lazy_program *p) {
    lazy_flags here, there;
    bool windows, adds = reads_gradients(nodes, n);
    of_value(now, nodes, n, p, &here, &there, &windows);
    if (explain_flags(out, &here, &there, p->number)) return LAZY_WHY_FLAG;
    if (!windows) return LAZY_WHY_KNOWN;
    str_printf(out, "its gradients are of a micro-batch that %s; that of program %lld %s",
               adds ? "adds to the gradients of those before it" : "begins with no gradients", (long long)p->number,
               adds ? "begins with none" : "adds to gradients");
    return LAZY_WHY_ACCUMULATION;
}

/* --- another step altogether --- */
/* It ends at another boundary and shares no line with p: what p gives out besides says nothing. */
bool explain_other_step(str *out, const lazy_node *nodes, size_t n, const lazy_program *p, src_id end) {
    explain_list a = explain_list_of(nodes, n), b = explain_list_of(p->nodes, p->n_nodes);
    if (!a.n || !b.n || p->src == end) return false;
    for (size_t i = 0; i < a.n; i++)
        for (size_t k = 0; k < b.n; k++)
            if (a.at[i].src == b.at[k].src) return false;
    str_printf(out, "no step before has a line of this one; it begins with ");
    explain_describe(out, &a.at[0], false);
    return true;
}
