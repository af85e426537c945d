/* Why a program is new: the known program that agrees longest with it, and the first node where the two differ, with both lines. */
#include "lazy/ctx.h"

static size_t common_prefix(const lazy_node *a, size_t na, const lazy_node *b, size_t nb) {
    size_t n = na < nb ? na : nb, i = 0;
    while (i < n && a[i].hash == b[i].hash && a[i].code == b[i].code && a[i].type == b[i].type) i++;
    return i;
}

/* Arguments come first in a node list: a different shape there is the cause, whatever follows from it. */
static const char *name_of(const lazy_node *n) { return n->code == OP_COUNT ? "input" : ir_op_infos[n->code].name; }

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

const char *lazy_explain(const lazy_node *nodes, size_t n, lazy_program *const *known, size_t n_known) {
    static __thread char text[768];
    if (n_known == 0) return "first program";
    const lazy_program *best = NULL;
    double best_score = -1;
    size_t at = 0;
    for (size_t i = 0; i < n_known; i++) {
        const lazy_program *p = known[i];
        size_t same = common_prefix(nodes, n, p->nodes, p->n_nodes), longest = n > p->n_nodes ? n : p->n_nodes;
        double size_gap = (double)(n > p->n_nodes ? n - p->n_nodes : p->n_nodes - n);
        double score = ((double)same - size_gap) / (double)(longest ? longest : 1); /* the same step on another shape differs early but has the same size */
        if (!best || score > best_score) {
            best = p;
            best_score = score;
            at = same;
        }
    }
    str out = STR_INIT;
    if (at >= n && at >= best->n_nodes)
        str_printf(&out, "program %lld computes the same, but other tensors are kept or read", (long long)best->number);
    else if (at >= n) {
        str_printf(&out, "program %lld goes on with ", (long long)best->number);
        describe(&out, &best->nodes[at]);
        str_append(&out, "; this one ends before it");
    } else if (at >= best->n_nodes) {
        str_append(&out, "new: ");
        describe(&out, &nodes[at]);
        str_printf(&out, "; program %lld ended before it", (long long)best->number);
    } else {
        describe(&out, &nodes[at]);
        str_printf(&out, " instead of ");
        describe(&out, &best->nodes[at]);
        str_printf(&out, " (program %lld)", (long long)best->number);
    }
    snprintf(text, sizeof text, "%s", str_cstr(&out));
    str_free(&out);
    return text;
}
