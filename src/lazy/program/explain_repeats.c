/* Steps of the same lines that differ in how often these came: tensors that were kept from steps before, loops in the
 * step that run another number of times. */
#include <stdlib.h>

#include "lazy/program/explain.h"

/* --- kept tensors --- */
static size_t kept_at(const lazy_node *nodes, size_t n, src_id line) {
    size_t k = 0;
    for (size_t i = 0; i < n && explain_is_input(&nodes[i]); i++) k += nodes[i].kept == line;
    return k;
}

static bool keeps_at(const lazy_program *p, src_id line) {
    for (size_t i = 0; i < p->n_requesters; i++)
        if (p->requesters[i].what && strcmp(p->requesters[i].what, "xt_keep") == 0 && p->requesters[i].src == line)
            return true;
    return false;
}

static bool has_line(explain_list l, src_id line) {
    for (size_t i = 0; i < l.n; i++)
        if (l.at[i].src == line) return true;
    return false;
}

bool explain_has_lines(explain_list a, explain_list b) {
    for (size_t i = 0; i < b.n; i++)
        if (!has_line(a, b.at[i].src)) return false;
    return true;
}

const lazy_node *explain_only_in(explain_list a, explain_list b) {
    const lazy_node *derived = NULL; /* only where nothing else is */
    for (size_t i = 0; i < a.n; i++) {
        if (explain_is_log(&a.at[i]) || has_line(b, a.at[i].src)) continue;
        if (!a.at[i].derived) return &a.at[i];
        if (!derived) derived = &a.at[i];
    }
    return derived;
}

lazy_why explain_kept(str *out, const lazy_node *nodes, size_t n, const lazy_program *p, const char **advice) {
    char at[256];
    for (size_t i = 0; i < n && explain_is_input(&nodes[i]); i++) {
        src_id line = nodes[i].kept;
        if (!line) continue;
        size_t now = kept_at(nodes, n, line), was = kept_at(p->nodes, p->n_nodes, line);
        if (now <= was || !keeps_at(p, line)) continue;
        src_text(line, at, sizeof at);
        if (was) {
            str_printf(out, "%zu tensors that xt_keep keeps at %s come in (%zu in program %lld)", now, at, was,
                       (long long)p->number);
            *advice = "a list that grows is a program in each step: keep a sum and a count, or write into one tensor "
                      "of fixed size (xt_index_copy)";
            return LAZY_WHY_OPS;
        }
        str_printf(out, "what xt_keep keeps at %s comes from the step before; program %lld is of the first step", at,
                   (long long)p->number);
        const lazy_node *made = explain_only_in(explain_list_of(p->nodes, p->n_nodes),
                                                explain_list_of(nodes, n)); /* in front of the loop */
        if (made) {
            str_append(out, ", in which it comes from ");
            explain_describe(out, made, false);
        }
        *advice =
            "a first value that is data too (xt_state with xt_assign in place of xt_keep, or xt_from_array) needs "
            "no program of its own";
        return LAZY_WHY_OPS;
    }
    return LAZY_WHY_KNOWN;
}

/* --- loops in the step --- */
bool explain_is_small(ir_opcode code) {
    return code == OP_constant || code == OP_slice || code == OP_reshape || code == OP_broadcast_in_dim ||
           code == OP_convert;
}

static int by_place(const void *a, const void *b) {
    const explain_count *x = a, *y = b;
    if (x->src != y->src) return x->src < y->src ? -1 : 1;
    return x->code < y->code ? -1 : x->code > y->code;
}

static bool counts(const lazy_node *n, explain_which which) {
    if (explain_is_small(n->code) || explain_is_log(n) || n->is_number) return false;
    return which == EXPLAIN_ALL || (which == EXPLAIN_OWN ? n->of_step : !n->derived);
}

static uint64_t hash_of_dtype(const ir_type *t) {
    return t ? hash_mix((hash128){t->dtype, 1}, (hash128){2, 3}).lo : 0;
}

explain_counts explain_count_ops(explain_list l, explain_which which) {
    explain_count *c = base_malloc((l.n + 1) * sizeof *c);
    size_t n = 0, k = 0;
    if (!c) return (explain_counts){0};
    for (size_t i = 0; i < l.n; i++)
        if (counts(&l.at[i], which))
            c[n++] = (explain_count){l.at[i].src, l.at[i].code, 1, hash_of_dtype(l.at[i].type), &l.at[i]};
    qsort(c, n, sizeof *c, by_place);
    for (size_t i = 0; i < n; i++)
        if (k && by_place(&c[k - 1], &c[i]) == 0)
            c[k - 1].n++, c[k - 1].dtypes += c[i].dtypes;
        else
            c[k++] = c[i];
    return (explain_counts){c, k};
}

bool explain_same_counts(const explain_counts *a, const explain_counts *b, bool dtypes) {
    bool same = a->n == b->n;
    for (size_t i = 0; i < a->n && same; i++)
        same = by_place(&a->at[i], &b->at[i]) == 0 && a->at[i].n == b->at[i].n &&
               (!dtypes || a->at[i].dtypes == b->at[i].dtypes);
    return same;
}

/* The next op of the forward pass from i on; l.n: none. */
static size_t next_forward(explain_list l, size_t i, explain_which which) {
    for (; i < l.n && !l.at[i].derived; i++) {
        const lazy_node *n = &l.at[i];
        bool of_number = n->is_number || (explain_is_small(n->code) && n->code != OP_reshape);
        if ((n->of_step || which != EXPLAIN_OWN) && !of_number && !explain_is_log(n)) return i;
    }
    return l.n;
}

/* The next ops of both; false: they are others, or there is none. */
static bool both_next(explain_list a, explain_list b, explain_which which, size_t *i, size_t *k) {
    *i = next_forward(a, *i, which);
    *k = next_forward(b, *k, which);
    return *i < a.n && *k < b.n && a.at[*i].code == b.at[*k].code && a.at[*i].src == b.at[*k].src;
}

bool explain_same_forward(explain_list a, explain_list b, explain_which which) {
    size_t i = 0, k = 0;
    while (both_next(a, b, which, &i, &k)) i++, k++;
    return i == a.n && k == b.n;
}

const lazy_node *explain_other_layer(explain_list a, explain_list b, explain_which which, const lazy_node **was) {
    for (size_t i = 0, k = 0; both_next(a, b, which, &i, &k); i++, k++) {
        *was = &b.at[k];
        if (a.at[i].path != b.at[k].path) return &a.at[i];
    }
    return NULL;
}

static bool has_place(const explain_counts *c, src_id line) {
    for (size_t i = 0; i < c->n && c->at[i].src <= line; i++)
        if (c->at[i].src == line) return true;
    return false;
}

bool explain_share_places(const explain_counts *a, const explain_counts *b) {
    size_t i = 0, k = 0;
    while (i < a->n && k < b->n && a->at[i].src != b->at[k].src)
        if (a->at[i].src < b->at[k].src)
            i++;
        else
            k++;
    return (i < a->n && k < b->n) || !a->n || !b->n;
}

bool explain_has_places(const explain_counts *a, const explain_counts *b, const src_id *but, size_t n_but) {
    for (size_t i = 0; i < b->n; i++) {
        src_id line = b->at[i].src;
        bool counts = i == 0 || line != b->at[i - 1].src;
        for (size_t k = 0; k < n_but; k++) counts = counts && line != but[k];
        if (counts && !has_place(a, line)) return false;
    }
    return true;
}

/* Of the ops of one line, the first of which are a and b: whether all come in the same ratio, which is not 1. Sums
 * apart (gradients of what is used n times are n-1 of them), where there are others. */
static bool in_ratio(const explain_count *a, size_t na, const explain_count *b, size_t nb,
                     const explain_count **out_now, size_t *out_was) {
    src_id line = a->src;
    bool others = false;
    for (size_t i = 0; i < na && a[i].src == line; i++) others |= a[i].code != OP_add;
    *out_now = NULL;
    for (size_t i = 0, k = 0; i < na && a[i].src == line; i++) {
        if (others && a[i].code == OP_add) continue;
        while (k < nb && b[k].src == line && b[k].code < a[i].code) k++;
        if (k == nb || b[k].src != line || b[k].code != a[i].code) return false;
        if (!*out_now) {
            *out_now = &a[i];
            *out_was = b[k].n;
        } else if (a[i].n * *out_was != b[k].n * (*out_now)->n)
            return false;
    }
    return *out_now && (*out_now)->n != *out_was;
}

/* The last such line of the trace: what a loop's lines call is recorded before them. */
static const explain_count *find_repeat(const explain_count *a, size_t na, const explain_count *b, size_t nb,
                                        size_t *out_was) {
    const explain_count *last = NULL, *one;
    size_t was = 0;
    for (size_t i = 0, k = 0; i < na; i++) {
        if (i && a[i].src == a[i - 1].src) continue;
        while (k < nb && b[k].src < a[i].src) k++;
        if (k == nb || b[k].src != a[i].src || !in_ratio(a + i, na - i, b + k, nb - k, &one, &was)) continue;
        if (last && one->one < last->one) continue;
        last = one;
        *out_was = was;
    }
    return last;
}

lazy_why explain_repeats(str *out, explain_list a, explain_list b, int64_t program, const char **advice) {
    if (a.n == b.n || !explain_has_lines(a, b) || !explain_has_lines(b, a)) return LAZY_WHY_KNOWN;
    size_t was = 0;
    explain_counts now = explain_count_ops(a, EXPLAIN_CALLED), then = explain_count_ops(b, EXPLAIN_CALLED);
    const explain_count *one = now.at && then.at ? find_repeat(now.at, now.n, then.at, then.n, &was) : NULL;
    bool found = one != NULL;
    if (found) {
        explain_describe(out, one->one, false);
        str_printf(out, " comes %zu time%s (%zu in program %lld)", one->n, one->n == 1 ? "" : "s", was,
                   (long long)program);
        *advice = "what a loop or an `if` runs another number of times is a program for each number: let it run as "
                  "often in every step, with xt_where or a mask for what is not there";
    }
    base_free(now.at);
    base_free(then.at);
    return found ? LAZY_WHY_OPS : LAZY_WHY_KNOWN;
}
