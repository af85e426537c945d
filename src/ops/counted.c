/* Results whose size depends on values: places are counted by a running sum, and what has no room is written nowhere
 * (a scatter leaves out what lies outside). */
#include "ops/ops.h"

/* Running sum of an i64 vector. */
static ir_value *running(const xt_src *src, ir_value *x) {
    return lazy_value(xt_cumsum_at(src, lazy_wrap(x, "a running sum"), 0));
}

typedef struct places { /* of the elements of a flat mask that count */
    ir_value *at; /* i64 [n]: its place, or -1 */
    ir_value *count; /* i64, no dims */
    int64_t n;
} places;

/* mask [n], bool. */
static bool count_places(const xt_src *src, ir_value *mask, places *out) {
    ir_builder *b = lazy_begin(src);
    ir_value *one = mask ? ir_convert(b, mask, XT_I64) : NULL;
    if (!one) return false;
    int64_t n = out->n = mask->type->dims[0], axis = 0;
    ir_value *so_far = n ? running(src, one) : one;
    b = lazy_begin(src);
    if (!so_far) return false;
    ir_value *minus = ir_splat(b, so_far->type, -1);
    out->at = ir_select(b, mask, ir_add(b, so_far, minus), minus);
    out->count = ir_reduce(b, OP_add, one, 1, &axis);
    return out->at && out->count;
}

/* How many rows the result has: the caller's number, or (-1) the count itself, which is waited for. False after an
 * error. */
static bool rows_of(const xt_src *src, const char *what, const places *p, int64_t size, xt_tensor *out_count,
                    int64_t *out) {
    lazy_begin(src);
    xt_tensor count = lazy_wrap(p->count, what);
    if (out_count) *out_count = count;
    *out = size;
    if (size >= 1) return true;
    if (size != -1) {
        lazy_error(src, XT_INVALID_ARGUMENT,
                   "%s: size %lld: expected room for at least 1, or -1 to wait for the number there is", what,
                   (long long)size);
        return false;
    }
    double n = xt_item_at(src, count);
    if (!(n >= 0)) return false; /* its error is pending */
    *out = (int64_t)n;
    return true;
}

/* Zeros [rows, ...] with row i of x [n, ...] at place at[i]. */
static ir_value *put(ir_builder *b, ir_value *x, ir_value *at, int64_t rows, ir_opcode combine) {
    int64_t dims[XT_MAX_RANK], window[XT_MAX_RANK], first = 0, column[2];
    if (!x || !at) return NULL;
    memcpy(dims, x->type->dims, x->type->rank * sizeof *dims);
    dims[0] = rows;
    for (uint32_t i = 1; i < x->type->rank; i++) window[i - 1] = i;
    column[0] = at->type->dims[0], column[1] = 1;
    ir_value *zeros = ir_splat(b, ir_tensor(x->type->dtype, x->type->rank, dims), 0);
    if (!zeros || rows == 0 || column[0] == 0) return zeros;
    ir_scatter_dims d = {.n_window = x->type->rank - 1,
                         .n_inserted = 1,
                         .n_scatter_to_operand = 1,
                         .window = window,
                         .inserted = &first,
                         .scatter_to_operand = &first,
                         .index_vector_dim = 1};
    return ir_scatter(b, combine, zeros, ir_reshape(b, at, 2, column), x, &d, false, false);
}

/* x as [n]. */
static ir_value *flat(ir_builder *b, ir_value *x) {
    return x ? ir_reshape(b, x, 1, &x->type->count) : NULL;
}

static xt_tensor both_failed(const xt_src *src, xt_tensor *out_count) {
    xt_tensor e = lazy_failed_tensor(src);
    if (out_count) *out_count = e;
    return e;
}

xt_tensor xt_masked_select_at(const xt_src *src, xt_tensor x, xt_tensor mask, int64_t size, xt_tensor *out_count) {
    static const char *const what = "xt_masked_select";
    lazy_begin(src);
    const ir_value *v = lazy_value(x), *m = lazy_value(mask);
    xt_tensor both[2] = {x, mask};
    if (v && m && m->type->dtype != XT_BOOL)
        lazy_error(src, XT_INVALID_ARGUMENT, "%s: the mask is %s: expected bool (xt_ne, xt_gt, ... of it)", what,
                   xt_dtype_name(m->type->dtype));
    places p;
    int64_t rows;
    bool ok = v && m && m->type->dtype == XT_BOOL && xt_broadcast_tensors_at(src, 2, both, both);
    if (!ok || !count_places(src, flat(lazy_begin(src), lazy_value(both[1])), &p) ||
        !rows_of(src, what, &p, size, out_count, &rows))
        return both_failed(src, out_count);
    ir_builder *b = lazy_begin(src);
    return lazy_wrap(put(b, flat(b, lazy_value(both[0])), p.at, rows, OP_COUNT), what);
}

/* i64 [n,rank]: the place of each element of t, row by row. */
static ir_value *coordinates(ir_builder *b, const ir_type *t) {
    ir_value *columns[XT_MAX_RANK];
    int64_t column[2] = {t->count, 1};
    for (uint32_t i = 0; i < t->rank; i++) {
        ir_value *at = ir_iota(b, ir_with_dtype(t, XT_I64), i);
        if (!(columns[i] = at ? ir_reshape(b, at, 2, column) : NULL)) return NULL;
    }
    return ir_concatenate(b, t->rank, columns, 1);
}

xt_tensor xt_nonzero_at(const xt_src *src, xt_tensor x, int64_t size, xt_tensor *out_count) {
    static const char *const what = "xt_nonzero";
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    places p;
    int64_t rows;
    if (v && v->type->rank == 0) {
        lazy_error(src, XT_INVALID_ARGUMENT, "%s: x has no dims: expected at least one (xt_reshape)", what);
        v = NULL;
    }
    if (!v || !count_places(src, flat(b, ops_bool(b, v)), &p) || !rows_of(src, what, &p, size, out_count, &rows))
        return both_failed(src, out_count);
    b = lazy_begin(src);
    return lazy_wrap(put(b, coordinates(b, v->type), p.at, rows, OP_COUNT), what);
}

/* --- unique --- */
typedef struct groups { /* of equal elements that stand beside one another in `sorted` */
    ir_value *sorted, *from; /* [n]: the elements, and where each stood in x (NULL: in the same order) */
    ir_value *group; /* i64 [n]: which group each is of */
    places firsts;
} groups;

/* True where an element differs from the one before it, and for the first. */
static ir_value *begins(ir_builder *b, ir_value *x) {
    int64_t n = x->type->dims[0], one = 1, zero = 0, less = n - 1;
    ir_value *yes = ir_splat(b, ir_tensor(XT_BOOL, 1, &one), 1);
    if (n < 2) return n ? yes : ir_splat(b, ir_tensor(XT_BOOL, 1, &zero), 0);
    ir_value *differ = ir_compare(b, IR_NE, ir_slice(b, x, &one, &n, NULL), ir_slice(b, x, &zero, &less, NULL));
    ir_value *both[2] = {yes, differ};
    return differ ? ir_concatenate(b, 2, both, 0) : NULL;
}

static bool make_groups(const xt_src *src, ir_value *x, bool consecutive, groups *g) {
    *g = (groups){.sorted = x};
    if (!consecutive) {
        xt_tensor values, indices;
        xt_sort_at(src, lazy_wrap(x, "xt_unique"), 0, XT_OPTS(xt_sort_opts, ), &values, &indices);
        g->sorted = lazy_value(values);
        g->from = lazy_value(indices);
        if (!g->sorted || !g->from) return false;
    }
    ir_builder *b = lazy_begin(src);
    ir_value *first = begins(b, g->sorted);
    if (!first || !count_places(src, first, &g->firsts)) return false;
    ir_value *so_far = g->firsts.n ? running(src, ir_convert(lazy_begin(src), first, XT_I64)) : g->firsts.at;
    b = lazy_begin(src);
    g->group = so_far ? ir_add(b, so_far, ir_splat(b, so_far->type, -1)) : NULL;
    return g->group != NULL;
}

/* What an option asked for. */
static void fill(xt_tensor *out, ir_value *v, const char *what) {
    if (out) *out = lazy_wrap(v, what);
}

xt_tensor xt_unique_at(const xt_src *src, xt_tensor x, int64_t size, xt_unique_opts o) {
    static const char *const what = "xt_unique";
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    groups g;
    int64_t rows;
    if (v && ir_dtype_is_complex(v->type->dtype)) {
        lazy_error(src, XT_INVALID_ARGUMENT, "%s: x is %s: complex numbers have no order", what,
                   xt_dtype_name(v->type->dtype));
        v = NULL;
    }
    if (!v || !make_groups(src, flat(b, v), o.consecutive, &g) ||
        !rows_of(src, what, &g.firsts, size, o.count, &rows)) {
        if (o.inverse) *o.inverse = lazy_failed_tensor(src);
        if (o.counts) *o.counts = lazy_failed_tensor(src);
        return both_failed(src, o.count);
    }
    b = lazy_begin(src);
    if (o.inverse) {
        ir_value *where = g.from ? put(b, g.group, g.from, v->type->count, OP_COUNT) : g.group;
        fill(o.inverse, where ? ir_reshape(b, where, v->type->rank, v->type->dims) : NULL, what);
    }
    b = lazy_begin(src);
    if (o.counts) fill(o.counts, put(b, ir_splat(b, g.group->type, 1), g.group, rows, OP_add), what);
    b = lazy_begin(src);
    return lazy_wrap(put(b, g.sorted, g.firsts.at, rows, OP_COUNT), what);
}
