/* What a step's ops are in place of those of a known program: shapes, dtypes, numbers, ops. */
#include "lazy/program/explain.h"

/* A number of the caller's that changed since p was made: a part of p, data (a slice of the step's numbers) in the new
 * program. A number that changes nothing (x to the power of 1) may have had no op at all. */
static bool explain_number(str *out, explain_list a, const lazy_program *p) {
    char at[256];
    double was, now;
    int64_t step;
    for (size_t i = 0; i < a.n; i++) {
        if (!lazy_number_changed(a.at[i].src, &step, &was, &now) || (step <= p->step && step != lazy_step())) continue;
        str_printf(out,
                   "the number at %s changed from %g to %g: it was a constant of program %lld and is data from now on",
                   src_text(a.at[i].src, at, sizeof at), was, now, (long long)p->number);
        return true;
    }
    return false;
}

int64_t explain_number_changed(explain_list l) {
    int64_t newest = -1, step;
    for (size_t i = 0; i < l.n; i++)
        if (lazy_number_changed(l.at[i].src, &step, NULL, NULL) && step > newest) newest = step;
    return newest;
}

/* All ops at this path are constants, or none is. */
static bool all_alike(explain_list l, uint32_t path, bool constant) {
    for (size_t i = 0; i < l.n; i++)
        if (l.at[i].path == path && explain_is_constant(&l.at[i]) != constant) return false;
    return true;
}

/* An option that is a constant where it is not given, a first state's zeros: it has a path of its own, under which
 * nothing else is. */
static bool is_option(const lazy_node *now, const lazy_node *was, explain_list a, explain_list b) {
    if (!now->path || now->path != was->path || now->src != was->src || now->role != was->role) return false;
    bool constant = explain_is_constant(now);
    return constant != explain_is_constant(was) && all_alike(a, now->path, constant) &&
           all_alike(b, now->path, !constant);
}

static void constant_or_tensor(str *out, const lazy_node *now, int64_t program) {
    bool constant = explain_is_constant(now);
    str_printf(out, "; %s is a %s in program %lld and a %s now, each a program of its own: give a tensor in every step",
               intern_text(now->path), constant ? "tensor" : "constant", (long long)program,
               constant ? "constant" : "tensor");
}

bool explain_is_log(const lazy_node *n) {
    return n->path && strcmp(intern_text(n->path), "log") == 0;
}

static lazy_why explain_log(str *out, const lazy_node *now, const lazy_node *was, const lazy_program *p,
                            const char **advice) {
    char at[256];
    if (!now || !was || !explain_is_log(now) || !explain_is_log(was)) return LAZY_WHY_KNOWN;
    const lazy_node *n = now->src == p->src ? was : now; /* what a boundary fills in has its line */
    str_printf(out, "what xt_log writes at %s has other names than in program %lld", src_text(n->src, at, sizeof at),
               (long long)p->number);
    *advice = "each set of names is a program: log under names that stay, and a number that changes as a value "
              "(xt_log_value)";
    return LAZY_WHY_OPS;
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
static bool is_new_cast(explain_list a, explain_list b, size_t i) {
    size_t k = i;
    while (k < a.n && a.at[k].code == OP_convert) k++;
    return k > i && k < a.n && a.at[k].code == b.at[i].code && a.at[k].src == b.at[i].src;
}

/* The same op at the same line, made with other numbers; those that may be data were told before (explain_number). */
static const char *other_numbers(const lazy_node *now, const lazy_node *was) {
    if (now->code == OP_slice && now->type == was->type)
        return "a place that changes from step to step is data: xt_index_select(x, axis, places) is one program for "
               "all";
    return "the numbers that an op is made with (axes, sizes, counts) are a part of the program: each is one more";
}
/* Other ops at one line. */
static const char other_way[] =
    "an `if` at that line makes a program for each way, and so does each number or option that its call is made with "
    "(an axis, a size, a count, a mode); xt_where chooses on the device";

/* What the line of op i gives in the end. */
static const lazy_node *given_by_line(explain_list l, size_t i) {
    while (i + 1 < l.n && l.at[i + 1].src == l.at[i].src) i++;
    return &l.at[i];
}

/* The same ops take the step's numbers from other places: one that none of them needs stands in front of theirs, or
 * does no longer. A number that became data since p was made is one, and its line told none of the ops'. */
static lazy_why explain_places(str *out, const lazy_node *now, const lazy_node *was, const lazy_program *p,
                               const char **advice) {
    char at[256];
    src_id src;
    double before, since;
    if (!now || !was || !now->is_number || !was->is_number) return LAZY_WHY_KNOWN;
    if (lazy_number_changed_since(p->step, &src, &before, &since)) {
        str_printf(out,
                   "the number at %s changed from %g to %g and is data from now on: what this step computes does not "
                   "need it, but it stands in front of the numbers that it does (program %lld)",
                   src_text(src, at, sizeof at), before, since, (long long)p->number);
        *advice = "one more program is enough for it; xt_scalar is data from the first step on";
        return LAZY_WHY_CONSTANT;
    }
    str_printf(out, "the number at %s stands behind more or fewer numbers of the step than in program %lld",
               src_text(now->src, at, sizeof at), (long long)p->number);
    *advice = "numbers that enter a step under an `if` (xt_scalar, a draw, a clip) move the others: let each enter in "
              "every step";
    return LAZY_WHY_OPS;
}

/* The same ops at the same lines: with other attributes, or on other operands. */
static lazy_why explain_attributes(str *out, const lazy_node *now, const lazy_node *was, const lazy_program *p,
                                   const char **advice) {
    lazy_why places = explain_places(out, now, was, p, advice);
    if (places) return places;
    if (now && was && now->text != was->text) {
        explain_became(out, now, was, p->number);
        if (now->code == was->code && now->src == was->src) *advice = other_numbers(now, was);
        return explain_is_constant(now) ? LAZY_WHY_CONSTANT : LAZY_WHY_OPS;
    }
    if (now) explain_describe(out, now, true);
    str_printf(out, " has other operands than in program %lld", (long long)p->number);
    return LAZY_WHY_OPS;
}

/* Takes values apart or puts them together. */
static bool arranges(ir_opcode code) {
    return explain_is_small(code) || sizes_itself(code) || code == OP_concatenate || code == OP_transpose;
}

static size_t other_dims(const ir_type *a, const ir_type *b) {
    size_t n = 0;
    for (uint32_t i = 0; a->rank == b->rank && i < a->rank; i++) n += a->dims[i] != b->dims[i];
    return n;
}

/* One dim of what op i gives is another, and so is what an op of its line computes with it: the line was given another
 * length. Where the line only takes apart and puts together, its parts are of other sizes and mean nothing. */
static bool is_other_length(explain_list a, explain_list b, size_t i) {
    if (other_dims(a.at[i].type, b.at[i].type) != 1) return false;
    for (size_t k = i; k < a.n && k < b.n && a.at[k].src == a.at[i].src && b.at[k].src == a.at[i].src; k++)
        if (a.at[k].code == b.at[k].code && a.at[k].type != b.at[k].type && !arranges(a.at[k].code)) return true;
    return false;
}

/* Looks at the same ops of the same lines, whatever only one of the two has in between. */
bool explain_other_lengths(const lazy_node *nodes, size_t n, const lazy_program *p) {
    explain_list a = explain_list_of(nodes, n), b = explain_list_of(p->nodes, p->n_nodes);
    for (size_t i = 0, k = 0; i < a.n && k < b.n; i++) {
        size_t same = k;
        while (same < b.n && (b.at[same].src != a.at[i].src || b.at[same].code != a.at[i].code)) same++;
        if (same == b.n) continue;
        k = same + 1;
        const ir_type *now = a.at[i].type, *was = b.at[same].type;
        if (a.at[i].code != OP_slice || a.at[i].is_number || now == was || other_dims(now, was) != 1) continue;
        explain_list here = {a.at + i, a.n - i}, there = {b.at + same, b.n - same};
        if (given_by_line(a, i)->type != given_by_line(b, same)->type || is_other_length(here, there, 0)) return true;
    }
    return false;
}

/* Where the first other op is of a line that both have: the first op of one that only this step has, as that is what it
 * did otherwise. What it made needless (a loss whose gradients were dropped) comes earlier. */
static const lazy_node *new_line(explain_list a, explain_list b, size_t i) {
    explain_list one = {&a.at[i], 1};
    bool same = a.at[i].code == b.at[i].code && a.at[i].src == b.at[i].src;
    return same || !explain_has_lines(b, one) ? NULL : explain_only_in(a, b);
}

/* A number beside integers is one of them where it is whole, and makes floats of them else: the first op of its line
 * that gives another dtype for it. */
static bool other_kind_of_number(explain_list a, explain_list b, size_t i, const lazy_node **now,
                                 const lazy_node **was) {
    src_id line = a.at[i].src;
    if (b.at[i].src != line || !a.at[i].is_number || !b.at[i].is_number) return false;
    for (size_t k = i, same = i; k < a.n && a.at[k].src == line; k++) {
        if (a.at[k].is_number || explain_is_small(a.at[k].code)) continue;
        while (same < b.n && b.at[same].src == line && (b.at[same].code != a.at[k].code || b.at[same].is_number))
            same++;
        if (same == b.n || b.at[same].src != line) return false;
        *now = &a.at[k];
        *was = &b.at[same++];
        if ((*now)->type->dtype != (*was)->type->dtype) return true;
    }
    return false;
}

/* The first op of its line that does more than to fit shapes, if there is one. */
static const lazy_node *main_op(explain_list l, const lazy_node *op) {
    for (size_t k = (size_t)(op - l.at); k < l.n; k++)
        if (l.at[k].src == op->src && !explain_is_small(l.at[k].code)) return &l.at[k];
    return op;
}

/* Other ops from op i on. */
static lazy_why explain_others(str *out, explain_list a, explain_list b, size_t i, const lazy_program *p,
                               const char **advice) {
    if (i >= a.n) {
        str_printf(out, "program %lld goes on with ", (long long)p->number);
        explain_describe(out, &b.at[i], true);
        str_append(out, "; this one ends before it");
        return LAZY_WHY_OPS;
    }
    if (i >= b.n) {
        str_append(out, "new: ");
        explain_describe(out, &a.at[i], true);
        str_printf(out, "; program %lld ended before it", (long long)p->number);
        return LAZY_WHY_OPS;
    }
    const lazy_node *now = &a.at[i], *was = &b.at[i], *more = new_line(a, b, i),
                    *less = more ? NULL : new_line(b, a, i);
    if (more) {
        str_append(out, "new: ");
        explain_describe(out, main_op(a, more), false);
        str_printf(out, "; that line made nothing of program %lld", (long long)p->number);
        return LAZY_WHY_OPS;
    }
    if (less && less != was && !less->derived) {
        str_printf(out, "program %lld has ", (long long)p->number);
        explain_describe(out, main_op(b, less), false);
        str_append(out, "; that line makes nothing of this one");
        return LAZY_WHY_OPS;
    }
    if (other_kind_of_number(a, b, i, &now, &was)) {
        explain_became(out, now, was, p->number);
        *advice =
            "beside integers a whole number gives integers, and any other floats: xt_cast the tensor, or give the "
            "number as xt_scalar(v, dtype), and all steps have one dtype";
        return LAZY_WHY_DTYPE;
    }
    explain_became(out, now, was, p->number);
    if (is_option(now, was, a, b)) constant_or_tensor(out, now, p->number);
    bool same_call = now->code == was->code && now->src == was->src && now->path == was->path;
    if (same_call && now->type && was->type) {
        lazy_why why = why_other_type(now, was);
        /* A part in between is larger, and what the line gives is not; the gradient of a part is as large as the whole,
         * and may be all that is left of it. */
        if (why == LAZY_WHY_SHAPE && given_by_line(a, i)->type == given_by_line(b, i)->type &&
            !is_other_length(a, b, i) &&
            !(now->derived && now->text == was->text && other_dims(now->type, was->type) == 1))
            why = LAZY_WHY_OPS;
        if (why == LAZY_WHY_SHAPE) explain_dims(out, now->type, was->type);
        if (why == LAZY_WHY_OPS) *advice = other_numbers(now, was);
        return why;
    }
    if (is_new_cast(a, b, i) || is_new_cast(b, a, i)) return LAZY_WHY_DTYPE;
    if (now->src == was->src) *advice = other_way;
    return LAZY_WHY_OPS;
}

lazy_why explain_ops(str *out, const lazy_flags *flags, const lazy_node *nodes, size_t n, const lazy_program *p,
                     const char **advice) {
    explain_list a = explain_list_of(nodes, n), b = explain_list_of(p->nodes, p->n_nodes);
    size_t i = explain_first_other(a, b), same = explain_common_prefix(nodes, n, p->nodes, p->n_nodes);
    const lazy_node *now = i < a.n ? &a.at[i] : NULL, *was = i < b.n ? &b.at[i] : NULL;
    lazy_why why = LAZY_WHY_KNOWN;
    bool option = now && was && is_option(now, was, a, b);
    if (explain_number(out, a, p)) {
        why = LAZY_WHY_CONSTANT;
        *advice = "one more program is enough for it, of each kind of step (micro-batches, evaluations); xt_scalar is "
                  "data from the first step on";
    }
    if (!why && !option) why = explain_kept(out, nodes, n, p, advice);
    if (!why && !option) why = explain_repeats(out, a, b, p->number, advice);
    if (!why) why = explain_log(out, now, was, p, advice);
    if (!why && (!now || now->derived) && (!was || was->derived)) why = explain_parted(out, flags, a, p, advice);
    if (why) return why;
    if (i >= a.n && i >= b.n)
        return explain_attributes(out, same < n ? &nodes[same] : NULL, same < p->n_nodes ? &p->nodes[same] : NULL, p,
                                  advice);
    return explain_others(out, a, b, i, p, advice);
}
