/* What a step's inputs and ops are in place of those of a known program: shapes, dtypes, numbers, ops. */
#include "lazy/program/explain.h"

static bool is_pack(const lazy_node *n) {
    return explain_is_input(n) && !n->src && !n->path;
} /* numbers of the step, see scalar.c */

static bool only_fewer_samples(const lazy_node *now, const lazy_node *was) {
    if (now->role != LAZY_BATCH || now->type->rank != was->type->rank || now->type->rank == 0 ||
        now->type->dims[0] >= was->type->dims[0])
        return false;
    return memcmp(now->type->dims + 1, was->type->dims + 1, (now->type->rank - 1) * sizeof *now->type->dims) == 0;
}

/* The first input of another type; packs of numbers come and go with the ops that use them. */
lazy_why explain_inputs(str *out, const lazy_node *a, size_t na, const lazy_program *p, const char **advice) {
    size_t i = 0, k = 0;
    for (;; i++, k++) {
        while (i < na && is_pack(&a[i])) i++;
        while (k < p->n_nodes && is_pack(&p->nodes[k])) k++;
        if (i >= na || k >= p->n_nodes || !explain_is_input(&a[i]) || !explain_is_input(&p->nodes[k]))
            return LAZY_WHY_KNOWN;
        /* other tensors come in: the op that wants them says why */
        if (a[i].role != p->nodes[k].role || a[i].path != p->nodes[k].path) return LAZY_WHY_KNOWN;
        if (a[i].type != p->nodes[k].type) break;
    }
    const lazy_node *now = &a[i], *was = &p->nodes[k];
    explain_became(out, now, was, p->number);
    if (now->type->dtype != was->type->dtype) return LAZY_WHY_DTYPE;
    explain_dims(out, now->type, was->type);
    if (only_fewer_samples(now, was))
        *advice = "last batch of the epoch; use .drop_last = XT_ON or .pad_last = XT_ON of the loader";
    else if (now->role == LAZY_BATCH)
        *advice = "pad the data to a few fixed sizes (buckets): each is a program";
    return LAZY_WHY_SHAPE;
}

/* A number of the caller's that changed: a constant of the old program, data (a slice of the step's numbers) or another
 * constant in the new one. */
static bool explain_number(str *out, explain_list a, explain_list b, const lazy_program *p) {
    char at[256];
    double was, now;
    for (size_t i = 0; i < b.n; i++) { /* recorded just now: only a number of this step can have been noted */
        if (!explain_is_constant(&b.at[i]) || !lazy_number_changed(b.at[i].src, &was, &now)) continue;
        bool still = false, there = false;
        for (size_t k = 0; k < a.n; k++) {
            if (a.at[k].src != b.at[i].src) continue;
            there = true;
            still |= explain_is_constant(&a.at[k]) && a.at[k].text == b.at[i].text;
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
    if (!now->path || now->path != was->path || now->src != was->src ||
        explain_is_constant(now) == explain_is_constant(was))
        return;
    str_printf(out, "; %s is a %s in program %lld and a %s now, each a program of its own: give a tensor in every step",
               intern_text(now->path), explain_is_constant(was) ? "constant" : "tensor", (long long)program,
               explain_is_constant(now) ? "constant" : "tensor");
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

lazy_why explain_ops(str *out, const lazy_node *nodes, size_t n, const lazy_program *p, const char **advice) {
    explain_list a = explain_list_of(nodes, n), b = explain_list_of(p->nodes, p->n_nodes);
    size_t i = explain_first_other(a, b), same = explain_common_prefix(nodes, n, p->nodes, p->n_nodes);
    lazy_why why = LAZY_WHY_OPS;
    if (explain_number(out, a, b, p)) return LAZY_WHY_CONSTANT;
    if (i >= a.n && i >= b.n) { /* the same ops at the same lines: with other attributes, or on other operands */
        const lazy_node *now = same < n ? &nodes[same] : NULL, *was = same < p->n_nodes ? &p->nodes[same] : NULL;
        if (now && was && now->text != was->text) {
            explain_became(out, now, was, p->number);
            if (explain_is_constant(now)) {
                why = LAZY_WHY_CONSTANT;
                *advice = advice_of_constant(now);
            } else if (now->code == was->code && now->src == was->src)
                *advice = advice_of_numbers(now);
        } else {
            if (now) explain_describe(out, now, true);
            str_printf(out, " has other operands than in program %lld", (long long)p->number);
        }
    } else if (i >= a.n) {
        str_printf(out, "program %lld goes on with ", (long long)p->number);
        explain_describe(out, &b.at[i], true);
        str_append(out, "; this one ends before it");
    } else if (i >= b.n) {
        str_append(out, "new: ");
        explain_describe(out, &a.at[i], true);
        str_printf(out, "; program %lld ended before it", (long long)p->number);
    } else {
        explain_became(out, &a.at[i], &b.at[i], p->number);
        constant_or_tensor(out, &a.at[i], &b.at[i], p->number);
        if (a.at[i].code == b.at[i].code && a.at[i].src == b.at[i].src && a.at[i].type && b.at[i].type) {
            why = why_other_type(&a.at[i], &b.at[i]);
            if (why == LAZY_WHY_SHAPE) explain_dims(out, a.at[i].type, b.at[i].type);
            if (why == LAZY_WHY_OPS) *advice = advice_of_numbers(&a.at[i]);
        } else if (is_new_cast(a, b, i) || is_new_cast(b, a, i))
            why = LAZY_WHY_DTYPE;
    }
    return why;
}
