/* Inputs of another type than in a known program, each beside its own kind: the one that the same call made there. */
#include <stdlib.h>

#include "lazy/program/explain.h"

/* Numbers of the step, see scalar.c. */
static bool is_pack(const lazy_node *n) {
    return explain_is_input(n) && !n->src && !n->path;
}

/* The samples of a batch, and nothing else, are others. */
static bool only_samples(const ir_type *now, const ir_type *was) {
    return now->rank == was->rank && now->rank && now->dims[0] != was->dims[0] &&
           memcmp(now->dims + 1, was->dims + 1, (now->rank - 1) * sizeof *now->dims) == 0;
}

static const char *advice_of_shape(const lazy_node *now, const lazy_node *was, const lazy_flags *here,
                                   const lazy_flags *there) {
    if (now->kept)
        return "a kept tensor that grows is a program in each step: write into one of fixed size (xt_index_copy), or "
               "keep a sum and a count";
    if (now->role != LAZY_BATCH) return NULL;
    if (!only_samples(now->type, was->type)) return "pad the data to a few fixed sizes (buckets): each is a program";
    if (here && (here->batch.partial || there->batch.partial))
        return "last batch of the epoch; use .drop_last = XT_ON or .pad_last = XT_ON of the loader";
    if (here && here->batch.loader != there->batch.loader)
        return "a batch of another loader: loaders with the same .batch share a program";
    return "each batch size is a program";
}

/* Inputs that come and go with what is done, and are of a size that says nothing new: packs of numbers, what xt_log
 * leaves for the host (as large as it has names), gradients and optimizers' states (as large as parameters). */
static bool follows_ops(const lazy_node *n) {
    return is_pack(n) || n->role == LAZY_LOG || n->role == LAZY_GRADIENT || n->role == LAZY_OPTIMIZER;
}

/* An input, and whose it is. */
typedef struct input {
    lazy_role role;
    src_id src, kept; /* 0 of what has a name for good, and of batches of other lines (share_batches) */
    uint32_t path; /* src and path: 0 of what was kept, whatever was */
    const lazy_node *node;
} input;

typedef struct inputs {
    input *at; /* base_free; NULL: no memory */
    size_t n;
} inputs;

static int by_maker(const input *a, const input *b) {
    if (a->role != b->role) return a->role < b->role ? -1 : 1;
    if (a->src != b->src) return a->src < b->src ? -1 : 1;
    if (a->kept != b->kept) return a->kept < b->kept ? -1 : 1;
    return a->path < b->path ? -1 : a->path > b->path;
}

static int in_order(const void *a, const void *b) {
    const input *x = a, *y = b;
    int maker = by_maker(x, y);
    return maker ? maker : x->node < y->node ? -1 : x->node > y->node;
}

static bool is_named(const lazy_node *n) {
    return n->role == LAZY_PARAMETER || n->role == LAZY_BUFFER;
}

static bool has_batch_at(const lazy_node *nodes, size_t n, src_id line) {
    for (size_t i = 0; i < n && explain_is_input(&nodes[i]); i++)
        if (nodes[i].role == LAZY_BATCH && nodes[i].src == line) return true;
    return false;
}

/* Both have batches of one line: those of others are others. If not, the loop over another loader goes through the same
 * step. */
static bool share_batches(const lazy_node *a, size_t na, const lazy_node *b, size_t nb) {
    for (size_t i = 0; i < na && explain_is_input(&a[i]); i++)
        if (a[i].role == LAZY_BATCH && has_batch_at(b, nb, a[i].src)) return true;
    return false;
}

static inputs list_inputs(const lazy_node *nodes, size_t n, bool batches_by_line) {
    size_t k = 0;
    input *all = base_malloc((n + 1) * sizeof *all);
    for (size_t i = 0; all && i < n && explain_is_input(&nodes[i]); i++) {
        const lazy_node *v = &nodes[i];
        bool any_line = is_named(v) || (v->role == LAZY_BATCH && !batches_by_line);
        if (!follows_ops(v))
            all[k++] = (input){v->role, any_line || v->kept ? 0 : v->src, any_line ? 0 : v->kept,
                               v->kept && !any_line ? 0 : v->path, v};
    }
    if (all) qsort(all, k, sizeof *all, in_order);
    return (inputs){all, k};
}

static size_t of_same_maker(const inputs *l, size_t from) {
    size_t i = from;
    while (i < l->n && by_maker(&l->at[i], &l->at[from]) == 0) i++;
    return i - from;
}

/* All of `few` are among `many`, in their order, of the same types. */
static bool come_in(const input *few, size_t n_few, const input *many, size_t n_many) {
    size_t i = 0;
    for (size_t k = 0; k < n_many && i < n_few; k++) i += few[i].node->type == many[k].node->type;
    return i == n_few;
}

/* The first inputs of one maker that are the same one in another type. One made by the same call is the same (a line
 * may make several, of which a step uses some); where a step has more of them, they are told apart by their types, and
 * what it has more is no other type: the op that wants it says why. */
static bool other_of_maker(const input *a, size_t na, const input *b, size_t nb, const lazy_node **out_now,
                           const lazy_node **out_was) {
    if (na < nb ? come_in(a, na, b, nb) : come_in(b, nb, a, na)) return false;
    for (size_t i = 0, k = 0; i < na && k < nb;) {
        const lazy_node *now = a[i].node, *was = b[k].node;
        if (na == nb && now->which != was->which && !is_named(now)) {
            now->which < was->which ? i++ : k++;
            continue;
        }
        i++, k++;
        if (now->type == was->type) continue;
        *out_now = now;
        *out_was = was;
        return true;
    }
    return false;
}

/* The only input of each that the other has not stands in the other's place where the ops are the same: an array that
 * is made at one line or another. What has a name of its own is no such thing: another layer is another way. */
static bool in_its_place(const lazy_node *a, size_t na, const lazy_program *p, const input *here, const input *there) {
    if (here->role != there->role || here->node->type == there->node->type || is_named(here->node)) return false;
    explain_counts now = explain_count_ops(explain_list_of(a, na), EXPLAIN_ALL),
                   was = explain_count_ops(explain_list_of(p->nodes, p->n_nodes), EXPLAIN_ALL);
    bool same = explain_same_counts(&now, &was, false);
    base_free(now.at);
    base_free(was.at);
    return same;
}

/* The first of the step's inputs that is the same thing as one of p's, in another type: things are the same by who made
 * them, so that what only one of the two has says nothing of the others. */
static bool other_type(const lazy_node *a, size_t na, const lazy_program *p, const lazy_node **out_now,
                       const lazy_node **out_was) {
    bool by_line = share_batches(a, na, p->nodes, p->n_nodes);
    inputs here = list_inputs(a, na, by_line), there = list_inputs(p->nodes, p->n_nodes, by_line);
    const lazy_node *now, *was;
    const input *more = NULL, *less = NULL;
    size_t n_more = 0, n_less = 0;
    *out_now = NULL;
    for (size_t i = 0, k = 0; here.at && there.at && (i < here.n || k < there.n);) {
        int order = i == here.n ? 1 : k == there.n ? -1 : by_maker(&here.at[i], &there.at[k]);
        size_t n = order <= 0 ? of_same_maker(&here, i) : 0, m = order >= 0 ? of_same_maker(&there, k) : 0;
        if (order < 0) more = &here.at[i], n_more += n;
        if (order > 0) less = &there.at[k], n_less += m;
        if (order == 0 && other_of_maker(here.at + i, n, there.at + k, m, &now, &was) && (!*out_now || now < *out_now))
            *out_now = now, *out_was = was;
        i += n;
        k += m;
    }
    if (!*out_now && n_more == 1 && n_less == 1 && in_its_place(a, na, p, more, less))
        *out_now = more->node, *out_was = less->node;
    base_free(here.at);
    base_free(there.at);
    return *out_now != NULL;
}

/* The first input of another type. */
lazy_why explain_inputs(str *out, const lazy_flags *flags, const lazy_node *a, size_t na, const lazy_program *p,
                        const char **advice) {
    const lazy_node *now, *was;
    if (!other_type(a, na, p, &now, &was)) return LAZY_WHY_KNOWN;
    if (is_named(now) && now->which != was->which) {
        explain_describe(out, now, false);
        str_printf(out, " is of another module than that of program %lld, ", (long long)p->number);
        explain_describe(out, was, false);
        *advice = "modules of other sizes have programs of their own";
        return LAZY_WHY_OTHER_STEP;
    }
    explain_became(out, now, was, p->number);
    if (now->type->dtype != was->type->dtype) return LAZY_WHY_DTYPE;
    explain_dims(out, now->type, was->type);
    *advice = advice_of_shape(now, was, flags, &p->flags);
    return LAZY_WHY_SHAPE;
}

bool explain_other_inputs(const lazy_node *a, size_t na, const lazy_program *p) {
    const lazy_node *now, *was;
    return other_type(a, na, p, &now, &was);
}
