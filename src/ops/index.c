/* Reading and writing at computed places. An index outside is an error where the host has seen it, and under
 * XT_DEBUG=bounds where the device computes it (lazy_index_fits). Else reading outside takes the nearest place inside
 * and writing outside is dropped: a device cannot stop for a mistake that is found while it runs. Indices are integers
 * of any type; negative ones are outside. */
#include <math.h>

#include "ops/expr.h"

static const int64_t every[XT_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};

static bool is_index(const xt_src *src, const char *what, const ir_type *t, xt_tensor *out) {
    if (ir_dtype_is_int(t->dtype)) return true;
    *out =
        lazy_error(src, XT_INVALID_ARGUMENT, "%s: the index is %s; integers are needed", what, xt_dtype_name(t->dtype));
    return false;
}

/* False after an error: an index is known to be outside the axis. */
static bool is_inside(const xt_src *src, const char *what, const ir_type *x, int64_t axis, ir_value *index,
                      xt_tensor *out) {
    if (lazy_index_fits(src, what, x->dims[axis], false, index)) return true;
    *out = lazy_failed_tensor(src);
    return false;
}

/* PyTorch's rule for gather and scatter: the same rank, and no dim of index larger than x's but the axis. */
static bool index_fits(const xt_src *src, const char *what, const ir_type *x, int64_t axis, const ir_type *index,
                       xt_tensor *out) {
    ops_text sx, si;
    bool fits = x->rank == index->rank;
    for (uint32_t i = 0; fits && i < x->rank; i++) fits = (int64_t)i == axis || index->dims[i] <= x->dims[i];
    if (fits) return true;
    *out = lazy_error(src, XT_INVALID_ARGUMENT,
                      "%s: index %s for x %s: as many dims as x has, none larger than there but axis %lld", what,
                      ops_shape(index, &si), ops_shape(x, &sx), (long long)axis);
    return false;
}

xt_tensor xt_gather_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x), *i = lazy_value(index);
    int64_t a;
    xt_tensor failed;
    if (!v || !i) return lazy_wrap(NULL, "xt_gather");
    if (!ops_axis(src, "xt_gather", v->type, axis, &a, &failed) || !is_index(src, "xt_gather", i->type, &failed) ||
        !index_fits(src, "xt_gather", v->type, a, i->type, &failed) ||
        !is_inside(src, "xt_gather", v->type, a, i, &failed))
        return failed;
    return lazy_wrap(ops_gather_axis(b, v, a, i), "xt_gather");
}

/* As gather, with the other dims broadcast. */
xt_tensor xt_take_along_axis_at(const xt_src *src, xt_tensor x, xt_tensor index, int axis) {
    const char *what = "xt_take_along_axis";
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x), *i = lazy_value(index);
    int64_t a;
    xt_tensor failed;
    ops_text sx, si;
    if (!v || !i) return lazy_wrap(NULL, what);
    if (!ops_axis(src, what, v->type, axis, &a, &failed) || !is_index(src, what, i->type, &failed)) return failed;
    int64_t dx[XT_MAX_RANK], di[XT_MAX_RANK];
    bool fits = v->type->rank == i->type->rank;
    for (uint32_t d = 0; fits && d < v->type->rank; d++) {
        dx[d] = v->type->dims[d];
        di[d] = i->type->dims[d];
        if ((int64_t)d == a) continue;
        fits = dx[d] == di[d] || dx[d] == 1 || di[d] == 1;
        dx[d] = di[d] = dx[d] == 1 ? di[d] : dx[d];
    }
    if (!fits)
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: index %s for x %s: all dims but axis %lld must be equal or 1",
                          what, ops_shape(i->type, &si), ops_shape(v->type, &sx), (long long)a);
    if (!is_inside(src, what, v->type, a, i, &failed)) return failed;
    return lazy_wrap(
        ops_gather_axis(b, ops_broadcast(b, v, v->type->rank, dx), a, ops_broadcast(b, i, i->type->rank, di)), what);
}

/* --- writing --- */
static ir_value *scatter_axis(ir_builder *b, ir_opcode combine, ir_value *x, int64_t axis, ir_value *index,
                              ir_value *updates) {
    if (!x || !index || !updates) return NULL;
    uint32_t rank = x->type->rank;
    ir_scatter_dims d = {.n_inserted = rank,
                         .inserted = every,
                         .n_scatter_to_operand = rank,
                         .scatter_to_operand = every,
                         .index_vector_dim = rank};
    return ir_scatter(b, combine, x, ops_places(b, index->type, x->type, axis, index), updates, &d, false, false);
}

/* src as updates: of index's dims (what is larger is not read), or one element for all. */
static ir_value *updates_for(const xt_src *src, const char *what, ir_builder *b, ir_value *u, const ir_type *index,
                             xt_dtype t, xt_tensor *out) {
    ops_text su, si;
    if (u->type->rank == 0) return ops_broadcast(b, ir_convert(b, u, t), index->rank, index->dims);
    bool fits = u->type->rank == index->rank;
    for (uint32_t i = 0; fits && i < index->rank; i++) fits = index->dims[i] <= u->type->dims[i];
    if (!fits) {
        *out = lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: src %s for index %s: no dim of the index may be larger than that of src", what,
                          ops_shape(u->type, &su), ops_shape(index, &si));
        return NULL;
    }
    int64_t first[XT_MAX_RANK] = {0};
    u = ir_convert(b, u, t);
    return ops_same_dims(u->type, index) ? u : ir_slice(b, u, first, index->dims, NULL);
}

typedef struct write_call {
    const char *what;
    ir_builder *b;
    ir_value *x, *index, *updates;
    int64_t axis;
} write_call;

static bool read_write(const xt_src *src, write_call *w, xt_tensor x, int axis, xt_tensor index, xt_tensor updates,
                       xt_tensor *out) {
    w->b = lazy_begin(src);
    w->x = lazy_value(x);
    w->index = lazy_value(index);
    ir_value *u = lazy_value(updates);
    *out = (xt_tensor){0};
    if (!w->x || !w->index || !u) {
        *out = lazy_wrap(NULL, w->what);
        return false;
    }
    if (!ops_axis(src, w->what, w->x->type, axis, &w->axis, out) || !is_index(src, w->what, w->index->type, out) ||
        !index_fits(src, w->what, w->x->type, w->axis, w->index->type, out) ||
        !is_inside(src, w->what, w->x->type, w->axis, w->index, out))
        return false;
    w->updates = updates_for(src, w->what, w->b, u, w->index->type, w->x->type->dtype, out);
    if (!w->updates && !out->slot) *out = lazy_wrap(NULL, w->what);
    return w->updates != NULL;
}

xt_tensor xt_scatter_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index, xt_tensor updates) {
    write_call w = {.what = "xt_scatter"};
    xt_tensor failed;
    if (!read_write(src, &w, x, axis, index, updates, &failed)) return failed;
    return lazy_wrap(scatter_axis(w.b, OP_COUNT, w.x, w.axis, w.index, w.updates), w.what);
}
xt_tensor xt_scatter_add_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index, xt_tensor updates) {
    write_call w = {.what = "xt_scatter_add"};
    xt_tensor failed;
    if (!read_write(src, &w, x, axis, index, updates, &failed)) return failed;
    return lazy_wrap(scatter_axis(w.b, OP_add, w.x, w.axis, w.index, w.updates), w.what);
}

/* What x is replaced by where updates go, when x itself does not count. */
static ir_value *without_self(write_call *w, xt_reduction how) {
    ir_builder *b = w->b;
    const ir_type *t = w->x->type;
    bool floats = ir_dtype_is_float(t->dtype);
    int bits = 8 * (int)xt_dtype_size(t->dtype) - ir_dtype_is_signed(t->dtype);
    double low = floats ? -INFINITY : ir_dtype_is_signed(t->dtype) ? -ldexp(1, bits) : 0;
    ir_value *start = how == XT_REDUCE_PROD ? ir_splat(b, t, 1)
                                            : ir_splat(b, t,
                                                       how == XT_REDUCE_AMAX   ? low
                                                       : how == XT_REDUCE_AMIN ? INFINITY
                                                                               : 0);
    if (how == XT_REDUCE_AMIN && !floats)
        start = ir_dtype_is_signed(t->dtype) ? ir_not(b, ir_splat(b, t, low)) : ir_not(b, ir_splat(b, t, 0));
    ir_value *none = ir_splat(b, ir_with_dtype(t, XT_I32), 0),
             *one = ir_splat(b, ir_with_dtype(w->index->type, XT_I32), 1);
    ir_value *hit = ex_is(b, scatter_axis(b, OP_add, none, w->axis, w->index, one), IR_GT, 0);
    return ex_pick(b, hit, start, w->x);
}

/* The extreme itself, with the derivative that is shared by all that are equal to it: the mean of those has the same
 * value. A difference that is zero carries it, so that the value stays what it is to the last bit. */
static ir_value *shared_extreme(write_call *w, ir_value *start, ir_value *r) {
    ir_builder *b = w->b;
    if (!r || !start || !lazy_grad_enabled() || !ir_dtype_is_float(r->type->dtype)) return r;
    lazy_no_grad_value(r);
    ir_value *there = ops_gather_axis(b, r, w->axis, w->index);
    lazy_no_grad_value(there);
    ir_value *own = ir_compare(b, IR_EQ, start, r), *theirs = ir_compare(b, IR_EQ, w->updates, there);
    xt_dtype t = r->type->dtype;
    ir_value *n = own && theirs
                      ? scatter_axis(b, OP_add, ir_convert(b, own, t), w->axis, w->index, ir_convert(b, theirs, t))
                      : NULL;
    ir_value *sum =
        scatter_axis(b, OP_add, ex_keep(b, own, start, 0), w->axis, w->index, ex_keep(b, theirs, w->updates, 0));
    ir_value *mean = ir_divide(b, sum, ir_maximum(b, n, ex_num(b, n, 1)));
    ir_value *finite = ir_is_finite(b, mean), *safe = ex_keep(b, finite, mean, 0);
    return ir_add(b, r, ir_subtract(b, safe, ex_detach(b, safe)));
}

/* What each factor's slope is: the product of the others. `each` [of factors], `zeros` and `product` (of what is not
 * 0) there. */
static ir_value *others(ir_builder *b, ir_value *each, ir_value *zeros, ir_value *product) {
    ir_value *zero = ex_is(b, each, IR_EQ, 0), *safe = ex_pick(b, zero, ex_num(b, each, 1), each);
    ir_value *with = ex_keep(b, ex_is(b, zeros, IR_EQ, 0), ir_divide(b, product, safe), 0);
    ir_value *slope = ex_pick(b, zero, ex_keep(b, ex_is(b, zeros, IR_EQ, 1), product, 0), with);
    lazy_no_grad_value(slope);
    return slope;
}

/* The product itself, with the derivative of the sum of its factors times their slopes (as shared_extreme). */
static ir_value *product_with_slope(write_call *w, ir_value *start, ir_value *r) {
    ir_builder *b = w->b;
    if (!r || !start || !lazy_grad_enabled() || !ir_dtype_is_float(r->type->dtype)) return r;
    lazy_no_grad_value(r);
    ir_value *factors[2] = {start, w->updates}, *count[2], *part[2];
    for (int i = 0; i < 2; i++) {
        ir_value *zero = ex_is(b, factors[i], IR_EQ, 0);
        count[i] = zero ? ir_convert(b, zero, r->type->dtype) : NULL;
        part[i] = ex_detach(b, ex_pick(b, zero, ex_num(b, factors[i], 1), factors[i]));
    }
    ir_value *zeros = scatter_axis(b, OP_add, count[0], w->axis, w->index, count[1]);
    ir_value *product = scatter_axis(b, OP_multiply, part[0], w->axis, w->index, part[1]);
    lazy_no_grad_value(product);
    if (!zeros || !product) return NULL;
    ir_value *there[2] = {ops_gather_axis(b, zeros, w->axis, w->index), ops_gather_axis(b, product, w->axis, w->index)};
    ir_value *own = ir_multiply(b, start, others(b, start, zeros, product)),
             *theirs = ir_multiply(b, w->updates, others(b, w->updates, there[0], there[1]));
    ir_value *sum = scatter_axis(b, OP_add, own, w->axis, w->index, theirs);
    ir_value *safe = sum ? ex_keep(b, ir_is_finite(b, sum), sum, 0) : NULL;
    return ir_add(b, r, ir_subtract(b, safe, ex_detach(b, safe)));
}

/* x with the updates folded in where the index says. */
static ir_value *reduce_there(write_call *w, xt_reduction how, bool exclude_self) {
    static const ir_opcode code[] = {OP_add, OP_multiply, OP_add, OP_maximum, OP_minimum};
    xt_dtype t = w->x->type->dtype;
    ir_value *start = exclude_self ? without_self(w, how) : w->x;
    ir_value *r = scatter_axis(w->b, code[how], start, w->axis, w->index, w->updates);
    if (how == XT_REDUCE_PROD) r = product_with_slope(w, start, r);
    if (how == XT_REDUCE_AMAX || how == XT_REDUCE_AMIN) r = shared_extreme(w, start, r);
    if (how == XT_REDUCE_MEAN) {
        const ir_type *count = ir_with_dtype(w->x->type, t);
        ir_value *self = exclude_self ? ir_splat(w->b, count, 0) : ir_splat(w->b, count, 1);
        ir_value *n =
            scatter_axis(w->b, OP_add, self, w->axis, w->index, ir_splat(w->b, ir_with_dtype(w->index->type, t), 1));
        n = ir_maximum(w->b, n, ex_num(w->b, n, 1));
        if (ir_dtype_is_int(t) && ir_dtype_is_signed(t)) { /* rounds down, not towards zero */
            ir_value *rest = ir_remainder(w->b, r, n), *q = ir_divide(w->b, r, n);
            r = ex_pick(w->b, ex_is(w->b, rest, IR_LT, 0), ex_plus(w->b, q, -1), q);
        } else
            r = ir_divide(w->b, r, n);
    }
    return r;
}

static bool reduces(const xt_src *src, const char *what, const ir_type *x, xt_reduction how, xt_tensor *out) {
    if ((unsigned)how > XT_REDUCE_AMIN)
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: %d is no xt_reduction", what, (int)how);
    else if (x && (x->dtype == XT_BOOL || ir_dtype_is_complex(x->dtype)))
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: x is %s; integers or floats are needed", what,
                          xt_dtype_name(x->dtype));
    else
        return true;
    return false;
}

xt_tensor xt_scatter_reduce_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index, xt_tensor updates,
                               xt_reduction how, xt_scatter_opts o) {
    write_call w = {.what = "xt_scatter_reduce"};
    xt_tensor failed;
    if (!reduces(src, w.what, lazy_type(x), how, &failed) || !read_write(src, &w, x, axis, index, updates, &failed))
        return failed;
    return lazy_wrap(reduce_there(&w, how, o.exclude_self), w.what);
}

/* --- whole slices by a list of indices --- */
static bool list_fits(const xt_src *src, const char *what, const ir_type *index, xt_tensor *out) {
    ops_text si;
    if (!is_index(src, what, index, out)) return false;
    if (index->rank <= 1) return true;
    *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: index %s: one dim is needed; xt_flatten it", what,
                      ops_shape(index, &si));
    return false;
}

xt_tensor xt_index_select_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index) {
    const char *what = "xt_index_select";
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x), *i = lazy_value(index);
    int64_t a, sizes[XT_MAX_RANK], offset[XT_MAX_RANK], one = 1;
    xt_tensor failed;
    if (!v || !i) return lazy_wrap(NULL, what);
    if (!ops_axis(src, what, v->type, axis, &a, &failed) || !list_fits(src, what, i->type, &failed)) return failed;
    if (v->type->dims[a] == 0 && i->type->count > 0)
        return lazy_error(src, XT_OUT_OF_RANGE, "%s: axis %lld holds no elements", what, (long long)a);
    if (!is_inside(src, what, v->type, a, i, &failed)) return failed;
    if (i->type->rank == 0) i = ir_reshape(b, i, 1, &one);
    memcpy(sizes, v->type->dims, v->type->rank * sizeof *sizes);
    sizes[a] = 1;
    size_t n = 0;
    for (int64_t d = 0; d < (int64_t)v->type->rank; d++)
        if (d != a) offset[n++] = d;
    ir_gather_dims d = {.n_offset = n,
                        .offset = offset,
                        .n_collapsed = 1,
                        .collapsed = &a,
                        .n_index_map = 1,
                        .index_map = &a,
                        .index_vector_dim = 1};
    return lazy_wrap(ops_gather(b, v, i, &d, sizes), what);
}

/* x with slices of `updates` added or put in along an axis. */
static xt_tensor write_slices(const xt_src *src, const char *what, ir_opcode combine, xt_tensor x, int axis,
                              xt_tensor index, xt_tensor updates, double alpha) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x), *i = lazy_value(index), *u = lazy_value(updates);
    int64_t a, window[XT_MAX_RANK], dims[XT_MAX_RANK], one = 1;
    xt_tensor failed;
    ops_text su, want;
    if (!v || !i || !u) return lazy_wrap(NULL, what);
    if (!ops_axis(src, what, v->type, axis, &a, &failed) || !list_fits(src, what, i->type, &failed)) return failed;
    if (i->type->rank == 0) i = ir_reshape(b, i, 1, &one);
    memcpy(dims, v->type->dims, v->type->rank * sizeof *dims);
    dims[a] = i ? i->type->count : 0;
    if (u->type->rank == 0) u = ops_broadcast(b, u, v->type->rank, dims);
    if (i && !is_inside(src, what, v->type, a, i, &failed)) return failed;
    if (u && (u->type->rank != v->type->rank || memcmp(u->type->dims, dims, v->type->rank * sizeof *dims)))
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: src %s: %s is needed, as many slices as the index names", what,
                          ops_shape(u->type, &su), ops_dims(v->type->rank, dims, &want));
    u = u ? ir_convert(b, u, v->type->dtype) : NULL;
    if (u && combine == OP_add && !ops_number_fits(src, what, u->type->dtype, alpha, true, &failed)) return failed;
    ex_number by = u && combine == OP_add ? ex_given(src, what, u->type->dtype, alpha) : ex_constant(1);
    if (!ex_always(by, 1)) u = ir_multiply(b, u, ex_of(b, u, by));
    size_t n = 0;
    for (int64_t d = 0; d < (int64_t)v->type->rank; d++)
        if (d != a) window[n++] = d;
    ir_scatter_dims d = {.n_window = n,
                         .window = window,
                         .n_inserted = 1,
                         .inserted = &a,
                         .n_scatter_to_operand = 1,
                         .scatter_to_operand = &a,
                         .index_vector_dim = 1};
    return lazy_wrap(ir_scatter(b, combine, v, i, u, &d, false, false), what);
}
xt_tensor xt_index_add_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index, xt_tensor updates, double alpha) {
    return write_slices(src, "xt_index_add", OP_add, x, axis, index, updates, alpha);
}
xt_tensor xt_index_copy_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index, xt_tensor updates) {
    return write_slices(src, "xt_index_copy", OP_COUNT, x, axis, index, updates, 1);
}
xt_tensor xt_index_fill_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index, double value) {
    const ir_type *t = lazy_type(x);
    xt_tensor failed;
    if (t && !ops_number_fits(src, "xt_index_fill", t->dtype, value, true, &failed)) return failed;
    xt_tensor number = lazy_wrap(ops_number(src, "xt_index_fill", t ? t->dtype : XT_F32, value, NULL), "xt_index_fill");
    return write_slices(src, "xt_index_fill", OP_COUNT, x, axis, index, number, 1);
}

/* As scatter_reduce, with the list's index at each element of a slice. */
xt_tensor xt_index_reduce_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index, xt_tensor updates,
                             xt_reduction how, xt_scatter_opts o) {
    write_call w = {.what = "xt_index_reduce", .b = lazy_begin(src), .x = lazy_value(x), .index = lazy_value(index)};
    w.updates = lazy_value(updates);
    int64_t one = 1;
    xt_tensor failed;
    ops_text sx, su, si;
    if (!w.x || !w.index || !w.updates) return lazy_wrap(NULL, w.what);
    const ir_type *t = w.x->type, *u = w.updates->type, *at = w.index->type;
    if (!reduces(src, w.what, t, how, &failed) || !ops_axis(src, w.what, t, axis, &w.axis, &failed) ||
        !list_fits(src, w.what, at, &failed) || !is_inside(src, w.what, t, w.axis, w.index, &failed))
        return failed;
    bool fits = u->rank == t->rank;
    for (uint32_t d = 0; fits && d < t->rank; d++) fits = u->dims[d] == ((int64_t)d == w.axis ? at->count : t->dims[d]);
    if (!fits)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: updates %s for x %s and index %s: x's dims are expected, but axis %lld as long as the "
                          "index",
                          w.what, ops_shape(u, &su), ops_shape(t, &sx), ops_shape(at, &si), (long long)w.axis);
    w.updates = ir_convert(w.b, w.updates, t->dtype);
    w.index = ir_broadcast_in_dim(w.b, at->rank ? w.index : ir_reshape(w.b, w.index, 1, &one),
                                  ir_with_dtype(u, at->dtype), 1, &w.axis);
    return lazy_wrap(w.updates && w.index ? reduce_there(&w, how, o.exclude_self) : NULL, w.what);
}

/* --- several axes at once: x[i, j, ...] --- */
/* The indices at their common shape, side by side in a last dim. */
static ir_value *index_tuple(const xt_src *src, const char *what, ir_builder *b, const ir_type *x, int n,
                             const xt_tensor *indices, xt_tensor *out) {
    ir_value *at[XT_MAX_RANK];
    const ir_type *common = NULL;
    ops_text sx, si;
    *out = (xt_tensor){0};
    if (n < 1 || n > (int)x->rank) {
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: %d indices for %s: from 1 to as many as there are dims", what,
                          n, ops_shape(x, &sx));
        return NULL;
    }
    int64_t dims[XT_MAX_RANK + 1];
    size_t rank = 0, bad;
    for (int i = 0; i < n; i++) {
        if (!(at[i] = lazy_value(indices[i]))) return NULL;
        if (!is_index(src, what, at[i]->type, out)) return NULL;
        if (common && !ops_common_dims(common, at[i]->type, &rank, dims, &bad)) {
            *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: indices %s and %s do not broadcast", what,
                              ops_shape(common, &sx), ops_shape(at[i]->type, &si));
            return NULL;
        }
        common = common ? ir_tensor(XT_I64, rank, dims) : ir_with_dtype(at[i]->type, XT_I64);
    }
    if (common->rank + x->rank - (uint32_t)n > XT_MAX_RANK) {
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: the result would have more than %d dims", what, XT_MAX_RANK);
        return NULL;
    }
    memcpy(dims, common->dims, common->rank * sizeof *dims);
    dims[common->rank] = 1;
    for (int i = 0; i < n; i++) {
        if (!lazy_index_fits(src, what, x->dims[i], true, at[i])) {
            *out = lazy_failed_tensor(src);
            return NULL;
        }
        ir_value *v = ops_broadcast(b, ir_convert(b, at[i], XT_I64), common->rank, common->dims);
        /* Indices of x[i] count from the end when negative. */
        v = v ? ex_pick(b, ex_is(b, v, IR_LT, 0), ex_plus(b, v, (double)x->dims[i]), v) : NULL;
        at[i] = v ? ir_reshape(b, v, common->rank + 1, dims) : NULL;
        if (!at[i]) return NULL;
    }
    return n == 1 ? at[0] : ir_concatenate(b, (size_t)n, at, (int64_t)common->rank);
}

xt_tensor xt_index_at(const xt_src *src, xt_tensor x, int n, const xt_tensor *indices) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, "xt_index");
    ir_value *at = index_tuple(src, "xt_index", b, v->type, n, indices, &failed);
    if (!at) return failed.slot ? failed : lazy_wrap(NULL, "xt_index");
    int64_t sizes[XT_MAX_RANK], offset[XT_MAX_RANK];
    size_t n_offset = v->type->rank - (size_t)n;
    for (uint32_t i = 0; i < v->type->rank; i++) sizes[i] = i < (uint32_t)n ? 1 : v->type->dims[i];
    for (size_t i = 0; i < n_offset; i++) offset[i] = (int64_t)(at->type->rank - 1 + i);
    ir_gather_dims d = {.n_offset = n_offset,
                        .offset = offset,
                        .n_collapsed = (size_t)n,
                        .collapsed = every,
                        .n_index_map = (size_t)n,
                        .index_map = every,
                        .index_vector_dim = (int64_t)at->type->rank - 1};
    return lazy_wrap(ops_gather(b, v, at, &d, sizes), "xt_index");
}

xt_tensor xt_index_put_at(const xt_src *src, xt_tensor x, int n, const xt_tensor *indices, xt_tensor values,
                          xt_index_put_opts o) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x), *u = lazy_value(values);
    xt_tensor failed;
    ops_text su, want;
    if (!v || !u) return lazy_wrap(NULL, "xt_index_put");
    ir_value *at = index_tuple(src, "xt_index_put", b, v->type, n, indices, &failed);
    if (!at) return failed.slot ? failed : lazy_wrap(NULL, "xt_index_put");
    int64_t dims[XT_MAX_RANK], window[XT_MAX_RANK], got[XT_MAX_RANK];
    size_t lead = at->type->rank - 1, n_window = v->type->rank - (size_t)n, rank = 0, bad;
    memcpy(dims, at->type->dims, lead * sizeof *dims);
    for (size_t i = 0; i < n_window; i++) {
        dims[lead + i] = v->type->dims[(size_t)n + i];
        window[i] = (int64_t)(lead + i);
    }
    const ir_type *needed = ir_tensor(v->type->dtype, lead + n_window, dims);
    if (!ops_common_dims(needed, u->type, &rank, got, &bad) || rank != needed->rank ||
        memcmp(got, dims, rank * sizeof *got))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_index_put: values %s do not broadcast to %s, what the indices name",
                          ops_shape(u->type, &su), ops_shape(needed, &want));
    u = ops_broadcast(b, ir_convert(b, u, v->type->dtype), rank, dims);
    ir_scatter_dims d = {.n_window = n_window,
                         .window = window,
                         .n_inserted = (size_t)n,
                         .inserted = every,
                         .n_scatter_to_operand = (size_t)n,
                         .scatter_to_operand = every,
                         .index_vector_dim = (int64_t)lead};
    return lazy_wrap(ir_scatter(b, o.accumulate ? OP_add : OP_COUNT, v, at, u, &d, false, false), "xt_index_put");
}

/* --- by a mask --- */
xt_tensor xt_masked_fill_at(const xt_src *src, xt_tensor x, xt_tensor mask, double value) {
    const ir_type *t = lazy_type(x);
    xt_tensor failed;
    if (t && !ops_number_fits(src, "xt_masked_fill", t->dtype, value, true, &failed)) return failed;
    ir_value *number = ops_number(src, "xt_masked_fill", t ? t->dtype : XT_F32, value, NULL);
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x), *m = lazy_value(mask);
    size_t rank, bad;
    int64_t dims[XT_MAX_RANK];
    ops_text sx, sm;
    if (!v || !m) return lazy_wrap(NULL, "xt_masked_fill");
    if (m->type->dtype != XT_BOOL)
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_masked_fill: the mask is %s; bool is needed",
                          xt_dtype_name(m->type->dtype));
    if (!ops_common_dims(v->type, m->type, &rank, dims, &bad))
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_masked_fill: the mask %s does not broadcast with x %s",
                          ops_shape(m->type, &sm), ops_shape(v->type, &sx));
    return lazy_wrap(ir_select(b, ops_broadcast(b, m, rank, dims), ops_broadcast(b, number, rank, dims),
                               ops_broadcast(b, v, rank, dims)),
                     "xt_masked_fill");
}

/* --- counting --- */
/* How often each of 0 .. bins-1 comes up, or the sum of its weights. */
xt_tensor xt_bincount_at(const xt_src *src, xt_tensor x, int64_t bins, xt_tensor weights) {
    ir_builder *b = lazy_begin(src);
    bool weighted = !xt_is_none(weights);
    ir_value *v = lazy_value(x), *w = weighted ? lazy_value(weights) : NULL;
    xt_tensor failed;
    ops_text sx, sw;
    int64_t zero = 0;
    if (!v || (weighted && !w)) return lazy_wrap(NULL, "xt_bincount");
    if (!is_index(src, "xt_bincount", v->type, &failed)) return failed;
    if (v->type->rank != 1 || bins < 1 || (w && !ops_same_dims(v->type, w->type)))
        return lazy_error(
            src, XT_INVALID_ARGUMENT,
            "xt_bincount: x %s, weights %s, %lld bins: x with one dim, weights alike, and at least one bin",
            ops_shape(v->type, &sx), w ? ops_shape(w->type, &sw) : "none", (long long)bins);
    w = w ? ops_float(b, w) : ir_splat(b, ir_with_dtype(v->type, XT_I64), 1);
    if (!w) return lazy_wrap(NULL, "xt_bincount");
    ir_scatter_dims d = {.n_inserted = 1,
                         .inserted = &zero,
                         .n_scatter_to_operand = 1,
                         .scatter_to_operand = &zero,
                         .index_vector_dim = 1};
    ir_value *none = ir_splat(b, ir_tensor(w->type->dtype, 1, &bins), 0);
    return lazy_wrap(ir_scatter(b, OP_add, none, v, w, &d, false, false), "xt_bincount");
}

/* Equal bins from lo to hi; the last one takes hi too. */
xt_tensor xt_histc_at(const xt_src *src, xt_tensor x, int64_t bins, double lo, double hi) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    int64_t all, zero = 0;
    if (!v) return lazy_wrap(NULL, "xt_histc");
    if (!ir_dtype_is_float(v->type->dtype) || bins < 1 || !(lo < hi) || !isfinite(hi - lo))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_histc: x is %s, %lld bins from %g to %g: floats, at least one bin, finite ends in order",
                          xt_dtype_name(v->type->dtype), (long long)bins, lo, hi);
    all = v->type->count;
    ir_value *flat = ir_reshape(b, v, 1, &all);
    xt_dtype t = v->type->dtype;
    ex_number low = ex_given(src, "xt_histc", t, lo), high = ex_given(src, "xt_histc", t, hi);
    ex_number span = ex_derived(src, t, low.data || high.data, hi - lo);
    ir_value *from = ex_of(b, flat, low), *to = ex_of(b, flat, high);
    ir_value *share = ir_divide(b, ir_subtract(b, flat, from), ex_of(b, flat, span));
    ir_value *place = ir_floor(b, ex_times(b, share, (double)bins));
    ir_value *last = ir_compare(b, IR_EQ, flat, to),
             *inside = ir_and(b, ir_compare(b, IR_GE, flat, from), ir_compare(b, IR_LE, flat, to));
    ir_value *at =
        ir_convert(b, ex_keep(b, inside, ex_keep(b, ir_not(b, last), place, (double)bins - 1), (double)bins), XT_I32);
    if (!at) return lazy_wrap(NULL, "xt_histc");
    ir_scatter_dims d = {.n_inserted = 1,
                         .inserted = &zero,
                         .n_scatter_to_operand = 1,
                         .scatter_to_operand = &zero,
                         .index_vector_dim = 1};
    ir_value *none = ir_splat(b, ir_tensor(v->type->dtype, 1, &bins), 0);
    return lazy_wrap(ir_scatter(b, OP_add, none, at, ex_num(b, flat, 1), &d, false, false), "xt_histc");
}

/* The k-th true element of the mask takes source's k-th element: its number is how many came before. */
xt_tensor xt_masked_scatter_at(const xt_src *src, xt_tensor x, xt_tensor mask, xt_tensor source) {
    const char *what = "xt_masked_scatter";
    const ir_type *tx = lazy_type(x), *tm = lazy_type(mask), *ts = lazy_type(source);
    size_t rank = 0, bad;
    int64_t dims[XT_MAX_RANK + 1] = {0};
    ops_text sx, sm;
    if (tx && tm && ts) {
        if (tm->dtype != XT_BOOL || ts->dtype != tx->dtype)
            return lazy_error(src, XT_INVALID_ARGUMENT,
                              "%s: the mask is %s, x %s and source %s: a bool mask, and the same dtype for both", what,
                              xt_dtype_name(tm->dtype), xt_dtype_name(tx->dtype), xt_dtype_name(ts->dtype));
        if (!ops_common_dims(tx, tm, &rank, dims, &bad) || rank != tx->rank ||
            (rank && memcmp(dims, tx->dims, rank * sizeof *dims)) || ts->count == 0)
            return lazy_error(src, XT_INVALID_ARGUMENT,
                              "%s: the mask %s must broadcast to x %s, and source must have elements", what,
                              ops_shape(tm, &sm), ops_shape(tx, &sx));
    }
    ir_builder *b = lazy_begin(src);
    ir_value *vx = lazy_value(x), *vm = lazy_value(mask), *vs = lazy_value(source);
    if (!vx || !vm || !vs) return lazy_wrap(NULL, what);
    xt_tensor full = lazy_wrap(ops_copy(b, ops_broadcast(b, vm, rank, dims)), what);
    xt_tensor number = xt_add_scalar_at(src, xt_cumsum_at(src, xt_flatten_at(src, full, 0, -1), 0), -1);
    xt_tensor taken = xt_take_at(src, xt_flatten_at(src, source, 0, -1), number);
    return xt_where_at(src, full, xt_view_as_at(src, taken, x), x);
}

/* Of indices [n]: the number of each one's bag, and B for what lies behind the last bag's end. */
static xt_tensor bag_of_each(const xt_src *src, xt_tensor offsets, int64_t n) {
    return xt_add_scalar_at(src,
                            xt_searchsorted_at(src, xt_cast_at(src, offsets, XT_I64), xt_arange_at(src, n, XT_I64),
                                               XT_OPTS(xt_search_opts, .right = true)),
                            -1);
}

/* How rows [...,n,D] are reduced: over the last axis but one, or by bag into [B,D]. */
typedef struct bags {
    const xt_src *src;
    xt_tensor bag; /* [n]; none: the last axis but one is a bag */
    int64_t n; /* how many, where `bag` says which */
} bags;

static xt_tensor of_bags(const bags *b, xt_tensor rows, xt_reduction how) {
    const xt_src *src = b->src;
    xt_list last = {1, {-2}};
    if (xt_is_none(b->bag))
        return how == XT_REDUCE_SUM ? xt_sum_axes_at(src, rows, last, XT_OPTS(xt_reduce_opts, ))
                                    : xt_amax_axes_at(src, rows, last, XT_OPTS(xt_reduce_opts, ));
    int64_t dims[2] = {b->n + 1, xt_dim(rows, 1)};
    xt_tensor none = lazy_wrap(ir_splat(lazy_begin(src), ir_tensor(xt_dtype_of(rows), 2, dims), 0), "xt_embedding_bag");
    xt_tensor all = xt_index_reduce_at(src, none, 0, b->bag, rows, how, XT_OPTS(xt_scatter_opts, .exclude_self = true));
    return xt_narrow_at(src, all, 0, 0, b->n);
}

xt_tensor xt_embedding_bag_at(const xt_src *src, xt_tensor indices, xt_tensor table, xt_bag_mode mode,
                              xt_tensor weights, xt_embedding_bag_opts o) {
    const char *what = "xt_embedding_bag";
    bool split = !xt_is_none(o.offsets), padded = o.padding_idx != XT_UNSET;
    const ir_type *ti = lazy_type(indices), *tt = lazy_type(table),
                  *tw = xt_is_none(weights) ? NULL : lazy_type(weights), *to = split ? lazy_type(o.offsets) : NULL;
    ops_text si, st;
    if (ti && tt && (ti->rank < 1 || tt->rank != 2 || !ir_dtype_is_int(ti->dtype)))
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: indices %s %s and table %s: integers [...,n] and [V,D]", what,
                          xt_dtype_name(ti->dtype), ops_shape(ti, &si), ops_shape(tt, &st));
    if ((unsigned)mode > XT_BAG_MAX || (tw && mode != XT_BAG_SUM) || (tw && ti && !ops_same_dims(tw, ti)))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: mode %d, weights %s: weights are for XT_BAG_SUM and have the dims of indices", what,
                          (int)mode, tw ? ops_shape(tw, &si) : "none");
    if (ti && to && (ti->rank != 1 || to->rank != 1 || !ir_dtype_is_int(to->dtype) || to->count < 1))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: .offsets %s %s for indices %s: integers [B], or [B+1] with .include_last_offset, for "
                          "indices [n]",
                          what, xt_dtype_name(to->dtype), ops_shape(to, &st), ops_shape(ti, &si));
    int64_t rows_of = tt ? tt->dims[0] : 0, pad = o.padding_idx < 0 && padded ? o.padding_idx + rows_of : o.padding_idx;
    if (tt && padded && (pad < 0 || pad >= rows_of))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: .padding_idx = %lld; the %lld rows are numbered from 0, or from -1 backwards", what,
                          (long long)o.padding_idx, (long long)rows_of);
    if (!ti || !tt || (split && !to)) { /* one of them is an error, which travels on */
        lazy_begin(src);
        return lazy_wrap(lazy_value(indices) && lazy_value(table) ? lazy_value(o.offsets) : NULL, what);
    }
    bags b = {.src = src};
    if (split) {
        b.n = to->count - (o.include_last_offset ? 1 : 0);
        b.bag = bag_of_each(src, o.offsets, ti->count);
    }
    xt_tensor rows = xt_take_at(src, table, indices);
    if (!xt_is_none(weights)) rows = xt_mul_at(src, rows, xt_unsqueeze_at(src, weights, -1));
    if (!padded && !split) {
        xt_list last = {1, {-2}};
        if (mode == XT_BAG_MEAN) return xt_mean_axes_at(src, rows, last, XT_OPTS(xt_reduce_opts, ));
        return of_bags(&b, rows, mode == XT_BAG_SUM ? XT_REDUCE_SUM : XT_REDUCE_AMAX);
    }
    /* 1 for what counts, 0 for padding. */
    xt_tensor counts =
        xt_unsqueeze_at(src, xt_ne_at(src, indices, xt_full_like_at(src, indices, (double)(padded ? pad : -1))), -1);
    xt_tensor there = xt_cast_at(src, counts, tt->dtype), total = of_bags(&b, there, XT_REDUCE_SUM);
    if (padded) rows = xt_where_at(src, counts, rows, xt_full_like_at(src, rows, mode == XT_BAG_MAX ? -INFINITY : 0));
    xt_tensor r = of_bags(&b, rows, mode == XT_BAG_MAX ? XT_REDUCE_AMAX : XT_REDUCE_SUM);
    if (mode == XT_BAG_SUM) return r;
    if (mode == XT_BAG_MEAN) return xt_div_at(src, r, xt_clamp_at(src, total, 1, INFINITY));
    return xt_where_at(src, xt_gt_at(src, total, xt_full_like_at(src, total, 0)), r, xt_full_like_at(src, r, 0));
}
