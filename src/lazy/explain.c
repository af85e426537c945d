/* Why a program is new: the known program that agrees longest with it; who asks for a value in one of the two only; and the first node where they
 * differ, with both lines. */
#include "lazy/ctx.h"

static bool is_input(const lazy_node *n) { return n->code == OP_COUNT; }
static bool is_pack(const lazy_node *n) { return is_input(n) && !n->src && !n->path; } /* numbers of the step, see scalar.c */

static size_t common_prefix(const lazy_node *a, size_t na, const lazy_node *b, size_t nb) {
    size_t n = na < nb ? na : nb, i = 0;
    while (i < n && a[i].hash == b[i].hash && a[i].code == b[i].code && a[i].type == b[i].type) i++;
    return i;
}

/* Arguments come first in a node list: a different shape there is the cause, whatever follows from it. */
static const char *name_of(const lazy_node *n) { return is_input(n) ? "input" : ir_op_infos[n->code].name; }

static void describe(str *out, const lazy_node *n) {
    char at[256];
    str_append(out, name_of(n));
    if (n->path) str_printf(out, " %s", intern_text(n->path));
    if (n->type) {
        str_putc(out, ' ');
        ir_type_print(n->type, out);
    }
    if (n->src) str_printf(out, " at %s", src_text(n->src, at, sizeof at));
}

/* --- outputs: who asks for a value in one program and not in the other ---------------------------------------------------------------------- */
static size_t times(const lazy_asker *list, size_t n, const lazy_asker *a) {
    size_t k = 0;
    for (size_t i = 0; i < n; i++) k += list[i].what && list[i].src == a->src && strcmp(list[i].what, a->what) == 0;
    return k;
}

static const lazy_asker *extra(const lazy_asker *a, size_t n_a, const lazy_asker *b, size_t n_b) {
    for (size_t i = 0; i < n_a; i++)
        if (a[i].what && times(a, n_a, &a[i]) > times(b, n_b, &a[i])) return &a[i];
    return NULL;
}

/* A value printed under an `if` makes a program of its own: the line of the print is the cause, whatever ops are new. */
static void explain_outputs(str *out, const lazy_roots *r, const lazy_program *p) {
    char at[256];
    size_t n = r->n + r->n_also;
    lazy_asker *mine = base_malloc((n + 1) * sizeof *mine);
    if (!mine) return;
    memcpy(mine, r->askers, r->n * sizeof *mine);
    if (r->n_also) memcpy(mine + r->n, r->also, r->n_also * sizeof *mine);
    const lazy_asker *more = extra(mine, n, p->askers, p->n_askers), *less = extra(p->askers, p->n_askers, mine, n);
    if (more) str_printf(out, "%s at %s asks for a value that program %lld does not give", more->what, src_text(more->src, at, sizeof at), (long long)p->number);
    else if (less) str_printf(out, "program %lld also gives the value that %s asks for at %s", (long long)p->number, less->what, src_text(less->src, at, sizeof at));
    base_free(mine);
}

/* --- nodes ------------------------------------------------------------------------------------------------------------------------------------ */
typedef struct ops { /* of a node list, without its inputs */
    const lazy_node *at;
    size_t n;
} ops;

static ops ops_of(const lazy_node *nodes, size_t n) {
    size_t i = 0;
    while (i < n && is_input(&nodes[i])) i++;
    return (ops){nodes + i, n - i};
}

/* Ops as the user sees them: where arguments moved, all hashes differ, and the first op that is another one is the cause. */
static size_t first_other(ops a, ops b) {
    size_t n = a.n < b.n ? a.n : b.n, i = 0;
    while (i < n && a.at[i].code == b.at[i].code && a.at[i].type == b.at[i].type && a.at[i].src == b.at[i].src) i++;
    return i;
}

/* The first input of another type; packs of numbers come and go with the ops that use them. False: none. */
static bool explain_inputs(str *out, const lazy_node *a, size_t na, const lazy_program *p) {
    size_t i = 0, k = 0;
    for (;; i++, k++) {
        while (i < na && is_pack(&a[i])) i++;
        while (k < p->n_nodes && is_pack(&p->nodes[k])) k++;
        if (i >= na || k >= p->n_nodes || !is_input(&a[i]) || !is_input(&p->nodes[k])) return false;
        if (a[i].type != p->nodes[k].type) break;
    }
    describe(out, &a[i]);
    str_append(out, " instead of ");
    describe(out, &p->nodes[k]);
    str_printf(out, " (program %lld)", (long long)p->number);
    return true;
}

static void explain_ops(str *out, const lazy_node *nodes, size_t n, const lazy_program *p) {
    ops a = ops_of(nodes, n), b = ops_of(p->nodes, p->n_nodes);
    size_t i = first_other(a, b), same = common_prefix(nodes, n, p->nodes, p->n_nodes);
    if (i >= a.n && i >= b.n) { /* the same ops at the same lines: with other attributes, or on other operands */
        if (same < n) describe(out, &nodes[same]);
        str_printf(out, " has other numbers or operands than in program %lld", (long long)p->number);
    } else if (i >= a.n) {
        str_printf(out, "program %lld goes on with ", (long long)p->number);
        describe(out, &b.at[i]);
        str_append(out, "; this one ends before it");
    } else if (i >= b.n) {
        str_append(out, "new: ");
        describe(out, &a.at[i]);
        str_printf(out, "; program %lld ended before it", (long long)p->number);
    } else {
        describe(out, &a.at[i]);
        str_append(out, " instead of ");
        describe(out, &b.at[i]);
        str_printf(out, " (program %lld)", (long long)p->number);
    }
}

/* The same step on another shape differs early but has the same size. */
static double likeness(const lazy_node *nodes, size_t n, const lazy_program *p) {
    ops a = ops_of(nodes, n), b = ops_of(p->nodes, p->n_nodes);
    size_t same = common_prefix(nodes, n, p->nodes, p->n_nodes), seen = first_other(a, b), longest = n > p->n_nodes ? n : p->n_nodes;
    double gap = (double)(n > p->n_nodes ? n - p->n_nodes : p->n_nodes - n);
    return ((double)(same > seen ? same : seen) - gap) / (double)(longest ? longest : 1);
}

const char *lazy_explain(const lazy_node *nodes, size_t n, const lazy_roots *r, lazy_program *const *known, size_t n_known) {
    static __thread char text[768];
    if (n_known == 0) return "first program";
    const lazy_program *best = NULL;
    double best_score = 0;
    for (size_t i = 0; i < n_known; i++) {
        double score = likeness(nodes, n, known[i]);
        if (best && score <= best_score) continue;
        best = known[i];
        best_score = score;
    }
    str out = STR_INIT;
    explain_outputs(&out, r, best);
    bool same = n == best->n_nodes && common_prefix(nodes, n, best->nodes, best->n_nodes) == n;
    if (!same && out.len) str_append(&out, "; ");
    if (!same && !explain_inputs(&out, nodes, n, best)) explain_ops(&out, nodes, n, best);
    if (same && !out.len) str_printf(&out, "program %lld computes the same, but other states are assigned, or in another order", (long long)best->number);
    snprintf(text, sizeof text, "%s", str_cstr(&out));
    str_free(&out);
    return text;
}
