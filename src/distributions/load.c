/* The table of kinds, and how parameters and a value come to one batch shape and one dtype. */
#include "distributions/dist.h"

const dist_kind *const dist_kinds[DIST_COUNT] = {
    NULL,
#define DIST(id) &dist_##id,
#include "distributions/kinds.def"
#undef DIST
};

ir_value *dist_value(dist_load *l, xt_tensor t) {
    ir_builder *b = lazy_begin(l->src);
    ir_value *v = lazy_value(t);
    l->failed |= !v;
    return v && l->dtype ? ir_convert(b, v, l->dtype) : v;
}

/* All but the last n dims of t, as a type. */
static const ir_type *batch_of(const ir_type *t, int n) {
    return ir_tensor(t->dtype, t->rank - (size_t)n, t->dims);
}

static bool too_few_dims(dist_load *l, const ir_type *t, int needed) {
    ops_text shape;
    if ((int)t->rank >= needed) return false;
    lazy_error(l->src, XT_INVALID_ARGUMENT, "%s: %s: one event has %d dims, the last ones; at least these are needed",
               l->what, ops_shape(t, &shape), needed);
    l->failed = true;
    return true;
}

/* *batch: what it is broadcast with all but the last n dims of t. */
static bool meet(dist_load *l, const ir_type **batch, const ir_type *t, int n) {
    size_t rank, bad;
    int64_t dims[XT_MAX_RANK];
    ops_text sx, sy;
    if (too_few_dims(l, t, n)) return false;
    const ir_type *other = batch_of(t, n);
    if (ops_common_dims(*batch, other, &rank, dims, &bad)) {
        *batch = ir_tensor(XT_F32, rank, dims);
        return true;
    }
    lazy_error(l->src, XT_INVALID_ARGUMENT,
               "%s: batch dims %s and %s do not broadcast: equal sizes or a 1 are needed, counted from the end",
               l->what, ops_shape(*batch, &sx), ops_shape(other, &sy));
    l->failed = true;
    return false;
}

/* x with `batch` in the place of all but its last n dims. */
static ir_value *spread(ir_builder *b, ir_value *x, const ir_type *batch, int n) {
    int64_t dims[XT_MAX_RANK];
    if (!x || batch->rank + (size_t)n > XT_MAX_RANK) return NULL;
    memcpy(dims, batch->dims, batch->rank * sizeof *dims);
    memcpy(dims + batch->rank, x->type->dims + x->type->rank - n, (size_t)n * sizeof *dims);
    return ops_broadcast(b, x, batch->rank + (size_t)n, dims);
}

static bool events_agree(dist_load *l, const ir_type *x, const ir_type *p, int n) {
    ops_text sx, sp;
    if (n == 0 || memcmp(x->dims + x->rank - n, p->dims + p->rank - n, (size_t)n * sizeof *x->dims) == 0) return true;
    lazy_error(l->src, XT_INVALID_ARGUMENT,
               "%s: the value is %s, but events of this distribution have the last %d dims of %s", l->what,
               ops_shape(x, &sx), n, ops_shape(p, &sp));
    l->failed = true;
    return false;
}

bool dist_load_kind(dist_load *l, const xt_dist *d, ir_value **x, int n_prefix, const int64_t *prefix, dist_args *out) {
    const dist_kind *k = dist_kinds[d->kind];
    const ir_type *batch = ir_tensor(XT_F32, 0, NULL);
    *out = (dist_args){.src = l->src, .what = l->what, .count = d->count};
    for (int i = 0; i < k->n_params; i++) {
        out->p[i] = dist_value(l, d->p[i]);
        if (!out->p[i] || !meet(l, &batch, out->p[i]->type, k->dims[i])) return false;
    }
    if (x && (!*x || !meet(l, &batch, (*x)->type, k->event))) return false;
    if (x && !events_agree(l, (*x)->type, out->p[0]->type, k->event)) return false;
    int64_t dims[XT_MAX_RANK];
    if ((size_t)n_prefix + batch->rank > XT_MAX_RANK) {
        lazy_error(l->src, XT_INVALID_ARGUMENT, "%s: %d sample dims and %d batch dims: at most %d dims", l->what,
                   n_prefix, (int)batch->rank, XT_MAX_RANK);
        return !(l->failed = true);
    }
    if (n_prefix) memcpy(dims, prefix, (size_t)n_prefix * sizeof *dims);
    memcpy(dims + n_prefix, batch->dims, batch->rank * sizeof *dims);
    batch = ir_tensor(XT_F32, batch->rank + (size_t)n_prefix, dims);
    out->b = lazy_begin(l->src);
    for (int i = 0; i < k->n_params; i++)
        if (!(out->p[i] = spread(out->b, out->p[i], batch, k->dims[i]))) return false;
    if (x && !(*x = spread(out->b, *x, batch, k->event))) return false;
    out->t = out->p[0]->type;
    return true;
}

bool dist_load_pair(dist_load *l, const dist_kind *k, dist_args *p, dist_args *q) {
    const ir_type *batch = ir_tensor(XT_F32, 0, NULL);
    for (int i = 0; i < k->n_params; i++)
        if (!meet(l, &batch, p->p[i]->type, k->dims[i]) || !meet(l, &batch, q->p[i]->type, k->dims[i]) ||
            !events_agree(l, p->p[i]->type, q->p[i]->type, k->dims[i]))
            return false;
    p->b = q->b = lazy_begin(l->src);
    for (int i = 0; i < k->n_params; i++) {
        p->p[i] = spread(p->b, p->p[i], batch, k->dims[i]);
        q->p[i] = spread(p->b, q->p[i], batch, k->dims[i]);
        if (!p->p[i] || !q->p[i]) return false;
    }
    p->t = q->t = p->p[0]->type;
    return true;
}
