/* Functions of shapes.h that cut, join, repeat and turn tensors. All are views of the same elements in another order,
 * so gradients flow back to each. */
#include "ops/expr.h"

/* --- cutting --- */
/* Opens an op on one axis: x's value, or NULL with the error tensor in *out. */
static ir_value *on_axis(const xt_src *src, const char *what, xt_tensor x, int axis, int64_t *a, xt_tensor *out) {
    ir_value *v = lazy_value(x);
    if (!v) {
        *out = lazy_wrap(NULL, what);
        return NULL;
    }
    return ops_axis(src, what, v->type, axis, a, out) ? v : NULL;
}

xt_tensor xt_narrow_at(const xt_src *src, xt_tensor x, int axis, int64_t start, int64_t length) {
    ir_builder *b = lazy_begin(src);
    int64_t a;
    xt_tensor failed;
    ops_text shape;
    ir_value *v = on_axis(src, "xt_narrow", x, axis, &a, &failed);
    if (!v) return failed;
    int64_t size = v->type->dims[a], from = start < 0 ? start + size : start;
    if (from < 0 || length < 0 || from > size || length > size - from)
        return lazy_error(src, XT_OUT_OF_RANGE, "xt_narrow: %lld elements from %lld on, and axis %lld of %s holds %lld",
                          (long long)length, (long long)start, (long long)a, ops_shape(v->type, &shape),
                          (long long)size);
    return lazy_wrap(ops_part(b, v, a, from, from + length), "xt_narrow");
}

xt_tensor xt_select_at(const xt_src *src, xt_tensor x, int axis, int64_t index) {
    ir_builder *b = lazy_begin(src);
    int64_t a;
    xt_tensor failed;
    ops_text shape;
    ir_value *v = on_axis(src, "xt_select", x, axis, &a, &failed);
    if (!v) return failed;
    int64_t size = v->type->dims[a], at = index < 0 ? index + size : index;
    if (at < 0 || at >= size)
        return lazy_error(src, XT_OUT_OF_RANGE, "xt_select: index %lld on axis %lld of %s, which holds %lld elements",
                          (long long)index, (long long)a, ops_shape(v->type, &shape), (long long)size);
    return lazy_wrap(ops_squeeze(b, ops_part(b, v, a, at, at + 1), a), "xt_select");
}

xt_tensor xt_slice_step_at(const xt_src *src, xt_tensor x, int axis, int64_t start, int64_t stop, int64_t step) {
    ir_builder *b = lazy_begin(src);
    int64_t a, first[XT_MAX_RANK] = {0}, limit[XT_MAX_RANK], stride[XT_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    xt_tensor failed;
    ir_value *v = on_axis(src, "xt_slice_step", x, axis, &a, &failed);
    if (!v) return failed;
    if (step < 1)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_slice_step: step %lld: it must be at least 1; xt_flip turns an axis around",
                          (long long)step);
    memcpy(limit, v->type->dims, v->type->rank * sizeof *limit);
    int64_t size = limit[a];
    start = start < 0 ? start + size : start;
    stop = stop < 0 ? stop + size : stop;
    first[a] = start < 0 ? 0 : start > size ? size : start;
    limit[a] = stop < first[a] ? first[a] : stop > size ? size : stop;
    stride[a] = step;
    return lazy_wrap(ir_slice(b, v, first, limit, stride), "xt_slice_step");
}

/* x with y at start..stop of an axis: what is before, y, what is behind; written there where the place is data. With a
 * step, y is spread out and put over x. */
xt_tensor xt_slice_scatter_at(const xt_src *src, xt_tensor x, xt_tensor y, int axis, int64_t start, int64_t stop,
                              int64_t step) {
    const char *what = "xt_slice_scatter";
    ir_builder *b = lazy_begin(src);
    int64_t a;
    xt_tensor failed;
    ops_text sx, sy;
    ir_value *v = on_axis(src, what, x, axis, &a, &failed), *u = v ? lazy_value(y) : NULL;
    if (!v) return failed;
    if (!u) return lazy_wrap(NULL, what);
    if (step < 1)
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: step %lld: it must be at least 1", what, (long long)step);
    int64_t size = v->type->dims[a], want[XT_MAX_RANK];
    start = start < 0 ? start + size : start;
    stop = stop < 0 ? stop + size : stop;
    start = start < 0 ? 0 : start > size ? size : start;
    stop = stop < start ? start : stop > size ? size : stop;
    memcpy(want, v->type->dims, v->type->rank * sizeof *want);
    want[a] = (stop - start + step - 1) / step;
    if (!ops_same_dims(u->type, ir_tensor(v->type->dtype, v->type->rank, want)))
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: y %s: %s is needed there", what, ops_shape(u->type, &sy),
                          ops_dims(v->type->rank, want, &sx));
    if (want[a] == 0) return lazy_wrap(ops_copy(b, v), what);
    u = ir_convert(b, u, v->type->dtype);
    if (step > 1) {
        int64_t low[XT_MAX_RANK] = {0}, high[XT_MAX_RANK] = {0}, between[XT_MAX_RANK] = {0};
        low[a] = start;
        between[a] = step - 1;
        high[a] = size - start - ((want[a] - 1) * step + 1);
        ir_value *wide = ir_pad(b, u, ir_splat(b, ir_scalar(v->type->dtype), 0), low, high, between);
        ir_value *at = ex_plus(b, ir_iota(b, ir_with_dtype(v->type, XT_I64), a), (double)-start);
        ir_value *on = at ? ex_is(b, ir_remainder(b, at, ex_num(b, at, (double)step)), IR_EQ, 0) : NULL;
        ir_value *inside = ir_and(b, ex_is(b, at, IR_GE, 0), ex_is(b, at, IR_LT, (double)(stop - start)));
        return lazy_wrap(ex_pick(b, ir_and(b, on, inside), wide, v), what);
    }
    ir_value *begin = ops_place(src, what, start, ops_sizes(size, want[a]), start), *places[XT_MAX_RANK];
    if (begin) {
        ir_value *zero = ir_splat(b, begin->type, 0);
        for (int64_t i = 0; i < (int64_t)v->type->rank; i++) places[i] = i == a ? begin : zero;
        return lazy_wrap(ir_dynamic_update_slice(b, v, u, v->type->rank, places), what);
    }
    ir_value *parts[3];
    size_t n = 0;
    if (start > 0) parts[n++] = ops_part(b, v, a, 0, start);
    parts[n++] = u;
    if (stop < size) parts[n++] = ops_part(b, v, a, stop, size);
    for (size_t i = 0; i < n; i++)
        if (!parts[i]) return lazy_wrap(NULL, what);
    return lazy_wrap(n == 1 ? ops_copy(b, u) : ir_concatenate(b, n, parts, a), what);
}
xt_tensor xt_select_scatter_at(const xt_src *src, xt_tensor x, xt_tensor y, int axis, int64_t index) {
    const char *what = "xt_select_scatter";
    lazy_begin(src);
    int64_t a;
    xt_tensor failed;
    ops_text shape;
    ir_value *v = on_axis(src, what, x, axis, &a, &failed);
    if (!v) return failed;
    int64_t size = v->type->dims[a], at = index < 0 ? index + size : index;
    const ir_type *ty = lazy_type(y);
    if (at < 0 || at >= size || (ty && ty->rank + 1 != v->type->rank))
        return lazy_error(src, XT_OUT_OF_RANGE,
                          "%s: index %lld on axis %lld of %s, and a y with one dim less are needed", what,
                          (long long)index, (long long)a, ops_shape(v->type, &shape));
    return xt_slice_scatter_at(src, x, xt_unsqueeze_at(src, y, (int)a), (int)a, at, at + 1, 1);
}

/* Parts of given sizes. Gives their number; 0 after an error, which is in every part. */
static int cut(const xt_src *src, const char *what, xt_tensor x, int64_t a, int n, const int64_t *sizes,
               xt_tensor *out) {
    int64_t at = 0;
    for (int i = 0; i < n; i++) {
        ir_builder *b = lazy_begin(src);
        out[i] = lazy_wrap(ops_part(b, lazy_value(x), a, at, at + sizes[i]), what);
        at += sizes[i];
    }
    return n;
}

/* Equal parts of `size`, the last one smaller. */
static int cut_equal(const xt_src *src, const char *what, xt_tensor x, int axis, int64_t size, int parts, int max,
                     xt_tensor *out) {
    lazy_begin(src);
    int64_t a;
    xt_tensor failed;
    ops_text shape;
    ir_value *v = on_axis(src, what, x, axis, &a, &failed);
    int64_t whole = v ? v->type->dims[a] : 0;
    if (v && parts > 0) size = (whole + parts - 1) / parts;
    if (v && parts > 0 && size < 1) size = 1;
    if (whole > 0 && size > whole) size = whole;
    int64_t n = v && size > 0 ? (whole + size - 1) / size : 0;
    if (n < 1 && whole == 0) n = 1;
    if (v && (size < 1 || n > max)) {
        failed = size < 1 ? lazy_error(src, XT_INVALID_ARGUMENT, "%s: parts of %lld elements: at least 1 is needed",
                                       what, (long long)size)
                          : lazy_error(src, XT_INVALID_ARGUMENT,
                                       "%s: axis %lld of %s gives %lld parts, and there is room for %d", what,
                                       (long long)a, ops_shape(v->type, &shape), (long long)n, max);
        v = NULL;
    }
    if (!v) {
        for (int i = 0; i < max; i++) out[i] = failed;
        return 0;
    }
    for (int64_t i = 0; i < n; i++) {
        ir_builder *b = lazy_begin(src);
        int64_t stop = (i + 1) * size < whole ? (i + 1) * size : whole;
        out[i] = lazy_wrap(ops_part(b, lazy_value(x), a, i * size, stop), what);
    }
    return (int)n;
}
int xt_split_at(const xt_src *src, xt_tensor x, int64_t size, int axis, int max, xt_tensor *out) {
    return cut_equal(src, "xt_split", x, axis, size, 0, max, out);
}
int xt_chunk_at(const xt_src *src, xt_tensor x, int parts, int axis, xt_tensor *out) {
    if (parts < 1) {
        lazy_error(src, XT_INVALID_ARGUMENT, "xt_chunk: %d parts: at least 1 is needed", parts);
        return 0;
    }
    return cut_equal(src, "xt_chunk", x, axis, 0, parts, parts, out);
}
int xt_tensor_split_at(const xt_src *src, xt_tensor x, int parts, int axis, xt_tensor *out) {
    const ir_type *t = lazy_type(x);
    int64_t a = 0;
    xt_tensor failed;
    if (parts < 1) {
        lazy_error(src, XT_INVALID_ARGUMENT, "xt_tensor_split: %d parts: at least 1 is needed", parts);
        return 0;
    }
    int64_t *sizes = base_calloc((size_t)parts, sizeof *sizes);
    int n = 0;
    if (!sizes)
        failed = lazy_error(src, XT_RESOURCE_EXHAUSTED, "xt_tensor_split: no memory for %d parts", parts);
    else if (!t || ops_axis(src, "xt_tensor_split", t, axis, &a, &failed)) {
        for (int i = 0; i < parts && t; i++) sizes[i] = t->dims[a] / parts + (i < t->dims[a] % parts);
        n = xt_split_sizes_at(src, x, parts, sizes, (int)a, out);
        base_free(sizes);
        return n;
    }
    base_free(sizes);
    for (int i = 0; i < parts; i++) out[i] = failed;
    return 0;
}
int xt_split_sizes_at(const xt_src *src, xt_tensor x, int n, const int64_t *sizes, int axis, xt_tensor *out) {
    const char *what = "xt_split_sizes";
    lazy_begin(src);
    int64_t a, total = 0;
    xt_tensor failed;
    ops_text shape, parts;
    ir_value *v = on_axis(src, what, x, axis, &a, &failed);
    bool good = v && n >= 0;
    for (int i = 0; i < n && good; i++) good = sizes[i] >= 0 && !__builtin_add_overflow(total, sizes[i], &total);
    if (v && (!good || total != v->type->dims[a])) {
        failed = lazy_error(src, XT_INVALID_ARGUMENT, "%s: parts %s of axis %lld of %s: they must add up to %lld", what,
                            ops_dims(n > XT_MAX_RANK ? XT_MAX_RANK : (size_t)n, sizes, &parts), (long long)a,
                            ops_shape(v->type, &shape), (long long)v->type->dims[a]);
        v = NULL;
    }
    if (v) return cut(src, what, x, a, n, sizes, out);
    for (int i = 0; i < n; i++) out[i] = failed;
    return 0;
}
int xt_unbind_at(const xt_src *src, xt_tensor x, int axis, int max, xt_tensor *out) {
    const ir_type *t = lazy_type(x);
    int at = t && axis < 0 ? axis + (int)t->rank : axis;
    if (t && at >= 0 && at < (int)t->rank && t->dims[at] == 0) return 0; /* nothing to take apart, and no mistake */
    int n = cut_equal(src, "xt_unbind", x, axis, 1, 0, max, out);
    for (int i = 0; i < n && t; i++) {
        ir_builder *b = lazy_begin(src);
        out[i] = lazy_wrap(ops_squeeze(b, lazy_value(out[i]), at), "xt_unbind");
    }
    return n;
}

/* --- joining --- */
xt_tensor xt_stack_at(const xt_src *src, int n, const xt_tensor *tensors, int axis) {
    const ir_type *first = n > 0 ? lazy_type(tensors[0]) : NULL;
    if (n < 1) return lazy_error(src, XT_INVALID_ARGUMENT, "xt_stack: %d tensors; at least one is needed", n);
    ops_text s0, si;
    for (int i = 1; i < n && first; i++) {
        const ir_type *t = lazy_type(tensors[i]);
        if (t && !ops_same_dims(first, t))
            return lazy_error(src, XT_INVALID_ARGUMENT,
                              "xt_stack: tensor 0 is %s and tensor %d is %s: all must have one shape",
                              ops_shape(first, &s0), i, ops_shape(t, &si));
    }
    if (first && (axis < -(int)first->rank - 1 || axis > (int)first->rank))
        return lazy_error(src, XT_OUT_OF_RANGE, "xt_stack: axis %d of tensors %s: the new axis can stand at %d to %d",
                          axis, ops_shape(first, &s0), -(int)first->rank - 1, (int)first->rank);
    xt_tensor *rows = base_calloc((size_t)n, sizeof *rows);
    if (!rows) return lazy_error(src, XT_RESOURCE_EXHAUSTED, "xt_stack: no memory for %d operands", n);
    for (int i = 0; i < n; i++) rows[i] = xt_unsqueeze_at(src, tensors[i], axis);
    xt_tensor r = xt_concat_at(src, n, rows, axis);
    base_free(rows);
    return r;
}

/* --- repeating --- */
xt_tensor xt_repeat_at(const xt_src *src, xt_tensor x, xt_list times) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    ops_text shape, list;
    if (!v) return lazy_wrap(NULL, "xt_repeat");
    bool good = times.n >= (int)v->type->rank && times.n <= XT_MAX_RANK;
    for (int i = 0; i < times.n && good; i++) good = times.v[i] >= 0;
    if (!good)
        return lazy_error(
            src, XT_INVALID_ARGUMENT,
            "xt_repeat: %s times %s: a number that is not negative for each dim, and for new ones in front",
            ops_shape(v->type, &shape),
            ops_dims((size_t)(times.n < XT_MAX_RANK ? times.n : XT_MAX_RANK), times.v, &list));
    size_t rank = (size_t)times.n, lead = rank - v->type->rank;
    int64_t pairs[2 * XT_MAX_RANK], axes[XT_MAX_RANK], result[XT_MAX_RANK];
    for (size_t i = 0; i < rank; i++) { /* every dim as (times, size) */
        pairs[2 * i] = times.v[i];
        pairs[2 * i + 1] = i < lead ? 1 : v->type->dims[i - lead];
        if (__builtin_mul_overflow(pairs[2 * i], pairs[2 * i + 1], &result[i]))
            return lazy_error(src, XT_INVALID_ARGUMENT, "xt_repeat: too large");
        if (i >= lead) axes[i - lead] = 2 * (int64_t)i + 1;
    }
    ir_value *wide = ir_broadcast_in_dim(b, v, ir_tensor(v->type->dtype, 2 * rank, pairs), v->type->rank, axes);
    return lazy_wrap(wide ? ir_reshape(b, wide, rank, result) : NULL, "xt_repeat");
}
/* As repeat, but a short list is for the last dims. */
xt_tensor xt_tile_at(const xt_src *src, xt_tensor x, xt_list times) {
    const ir_type *t = lazy_type(x);
    int missing = t ? (int)t->rank - times.n : 0;
    if (missing > 0 && times.n >= 0) {
        memmove(times.v + missing, times.v, (size_t)times.n * sizeof *times.v);
        for (int i = 0; i < missing; i++) times.v[i] = 1;
        times.n += missing;
    }
    return xt_repeat_at(src, x, times);
}
xt_tensor xt_repeat_interleave_at(const xt_src *src, xt_tensor x, int64_t times, int axis) {
    const char *what = "xt_repeat_interleave";
    ir_builder *b = lazy_begin(src);
    int64_t a, dims[XT_MAX_RANK + 1], axes[XT_MAX_RANK];
    xt_tensor failed;
    ir_value *v = on_axis(src, what, x, axis, &a, &failed);
    if (!v) return failed;
    if (times < 0)
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: %lld times: it must not be negative", what, (long long)times);
    for (int64_t i = 0, n = 0; i < (int64_t)v->type->rank; i++) {
        axes[i] = n;
        dims[n++] = v->type->dims[i];
        if (i == a) dims[n++] = times;
    }
    ir_value *wide = ir_broadcast_in_dim(b, v, ir_tensor(v->type->dtype, v->type->rank + 1, dims), v->type->rank, axes);
    memcpy(dims, v->type->dims, v->type->rank * sizeof *dims);
    if (__builtin_mul_overflow(dims[a], times, &dims[a]))
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: too large", what);
    return lazy_wrap(wide ? ir_reshape(b, wide, v->type->rank, dims) : NULL, what);
}

/* --- turning --- */
xt_tensor xt_flip_at(const xt_src *src, xt_tensor x, xt_list axes) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    size_t n;
    int64_t a[XT_MAX_RANK];
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, "xt_flip");
    if (!ops_axes(src, "xt_flip", v->type, axes, &n, a, &failed)) return failed;
    return lazy_wrap(n ? ir_reverse(b, v, n, a) : ops_copy(b, v), "xt_flip");
}

/* By a shift that is data: a window of x twice in a row. */
static ir_value *rolled(const xt_src *src, ir_value *v, int64_t a, int64_t given) {
    ir_builder *b = lazy_begin(src);
    int64_t size = v ? v->type->dims[a] : 0;
    if (size == 0) return v;
    int64_t shift = ((given % size) + size) % size;
    ir_value *begin = ops_place(src, "xt_roll", given, size, size - shift), *twice[2] = {v, v}, *at[XT_MAX_RANK];
    if (begin) {
        ir_value *zero = ir_splat(b, begin->type, 0);
        for (int64_t i = 0; i < (int64_t)v->type->rank; i++) at[i] = i == a ? begin : zero;
        return ir_dynamic_slice(b, ir_concatenate(b, 2, twice, a), v->type->rank, at, v->type->dims);
    }
    if (shift == 0) return v;
    ir_value *parts[2] = {ops_part(b, v, a, size - shift, size), ops_part(b, v, a, 0, size - shift)};
    return parts[0] && parts[1] ? ir_concatenate(b, 2, parts, a) : NULL;
}
xt_tensor xt_roll_at(const xt_src *src, xt_tensor x, xt_list shifts, xt_list axes) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    size_t n;
    int64_t a[XT_MAX_RANK], all;
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, "xt_roll");
    const ir_type *t = v->type;
    if (axes.n == 0 && shifts.n == 1) { /* over all elements in a row */
        all = t->count;
        ir_value *r = rolled(src, ir_reshape(b, v, 1, &all), 0, shifts.v[0]);
        r = r ? ir_reshape(b, r, t->rank, t->dims) : NULL;
        return lazy_wrap(r == v ? ops_copy(b, v) : r, "xt_roll");
    }
    if (shifts.n != axes.n)
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_roll: %d shifts for %d axes: one for each", shifts.n, axes.n);
    if (!ops_axes(src, "xt_roll", t, axes, &n, a, &failed)) return failed;
    ir_value *r = v;
    for (size_t i = 0; i < n; i++) r = rolled(src, r, a[i], shifts.v[i]);
    return lazy_wrap(r == v ? ops_copy(b, v) : r, "xt_roll");
}

/* k quarter turns from axis a towards axis c. */
xt_tensor xt_rot90_at(const xt_src *src, xt_tensor x, int k, int a, int c) {
    xt_list first = {1, {a}}, second = {1, {c}}, both = {2, {a, c}};
    switch (((k % 4) + 4) % 4) {
    case 1: return xt_transpose_at(src, xt_flip_at(src, x, second), a, c);
    case 2: return xt_flip_at(src, x, both);
    case 3: return xt_transpose_at(src, xt_flip_at(src, x, first), a, c);
    default: return xt_slice_at(src, x, a, 0, INT64_MAX);
    }
}

xt_tensor xt_movedim_at(const xt_src *src, xt_tensor x, xt_list from, xt_list to) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    size_t n, m;
    int64_t f[XT_MAX_RANK], t[XT_MAX_RANK], perm[XT_MAX_RANK];
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, "xt_movedim");
    if (from.n != to.n || from.n < 1)
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_movedim: %d axes to %d places: as many, and at least one",
                          from.n, to.n);
    if (!ops_axes(src, "xt_movedim", v->type, from, &n, f, &failed) ||
        !ops_axes(src, "xt_movedim", v->type, to, &m, t, &failed))
        return failed;
    unsigned moved = 0;
    for (size_t i = 0; i < XT_MAX_RANK; i++) perm[i] = -1;
    for (size_t i = 0; i < n; i++) {
        perm[t[i]] = f[i];
        moved |= 1u << f[i];
    }
    for (int64_t i = 0, next = 0; i < (int64_t)v->type->rank; i++) {
        if (perm[i] >= 0) continue;
        while (moved & 1u << next) next++;
        perm[i] = next++;
    }
    return lazy_wrap(ir_transpose(b, v, v->type->rank, perm), "xt_movedim");
}

/* --- shapes of others --- */
static xt_tensor like(const xt_src *src, const char *what, xt_tensor x, xt_tensor other, bool broadcast) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x), *o = lazy_value(other);
    if (!v || !o) return lazy_wrap(NULL, what);
    ops_text sx, so;
    size_t rank = 0, bad;
    int64_t dims[XT_MAX_RANK];
    bool fits = broadcast ? ops_common_dims(v->type, o->type, &rank, dims, &bad) && rank == o->type->rank &&
                                (rank == 0 || !memcmp(dims, o->type->dims, rank * sizeof *dims))
                          : v->type->count == o->type->count;
    if (!fits)
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: x %s does not %s %s", what, ops_shape(v->type, &sx),
                          broadcast ? "broadcast to" : "fill", ops_shape(o->type, &so));
    ir_value *r = broadcast ? ops_broadcast(b, v, rank, dims) : ir_reshape(b, v, o->type->rank, o->type->dims);
    return lazy_wrap(r == v ? ops_copy(b, v) : r, what);
}
xt_tensor xt_view_as_at(const xt_src *src, xt_tensor x, xt_tensor other) {
    return like(src, "xt_view_as", x, other, false);
}
xt_tensor xt_expand_as_at(const xt_src *src, xt_tensor x, xt_tensor other) {
    return like(src, "xt_expand_as", x, other, true);
}

bool xt_broadcast_tensors_at(const xt_src *src, int n, const xt_tensor *tensors, xt_tensor *out) {
    lazy_begin(src);
    size_t rank = 0, bad;
    int64_t dims[XT_MAX_RANK];
    xt_tensor failed = {0};
    ops_text sc, st;
    const ir_type *common = ir_scalar(XT_F32);
    for (int i = 0; i < n && !failed.slot; i++) {
        ir_value *v = lazy_value(tensors[i]);
        if (!v)
            failed = lazy_wrap(NULL, "xt_broadcast_tensors");
        else if (!ops_common_dims(common, v->type, &rank, dims, &bad))
            failed = lazy_error(src, XT_INVALID_ARGUMENT,
                                "xt_broadcast_tensors: tensor %d is %s, which does not broadcast with %s", i,
                                ops_shape(v->type, &st), ops_shape(common, &sc));
        else
            common = ir_tensor(XT_F32, rank, dims);
    }
    for (int i = 0; i < n; i++) {
        ir_builder *b = lazy_begin(src);
        ir_value *v = failed.slot ? NULL : lazy_value(tensors[i]),
                 *r = v ? ops_broadcast(b, v, common->rank, common->dims) : NULL;
        out[i] = failed.slot ? failed : lazy_wrap(r == v ? ops_copy(b, v) : r, "xt_broadcast_tensors");
    }
    return !failed.slot;
}

/* Coordinates of a grid: out[i] varies along axis i as tensors[i] does ("ij"); xy: the first two axes are swapped,
 * as in NumPy. */
bool xt_meshgrid_at(const xt_src *src, int n, const xt_tensor *tensors, bool xy, xt_tensor *out) {
    lazy_begin(src);
    int64_t dims[XT_MAX_RANK];
    xt_tensor failed = {0};
    if (n < 1 || n > XT_MAX_RANK)
        failed = lazy_error(src, XT_INVALID_ARGUMENT, "xt_meshgrid: %d tensors: from 1 to %d", n, XT_MAX_RANK);
    for (int i = 0; i < n && !failed.slot; i++) {
        ir_value *v = lazy_value(tensors[i]);
        ops_text st;
        if (!v)
            failed = lazy_wrap(NULL, "xt_meshgrid");
        else if (v->type->rank > 1)
            failed = lazy_error(src, XT_INVALID_ARGUMENT, "xt_meshgrid: tensor %d is %s: one dim at most", i,
                                ops_shape(v->type, &st));
        else
            dims[xy && i < 2 && n > 1 ? 1 - i : i] = v->type->count;
    }
    for (int i = 0; i < n; i++) {
        int64_t axis = xy && i < 2 && n > 1 ? 1 - i : i;
        ir_builder *b = lazy_begin(src);
        ir_value *v = failed.slot ? NULL : lazy_value(tensors[i]);
        const ir_type *to = v ? ir_tensor(v->type->dtype, (size_t)n, dims) : NULL;
        out[i] = failed.slot ? failed
                             : lazy_wrap(v ? ir_broadcast_in_dim(b, v, to, v->type->rank, &axis) : NULL, "xt_meshgrid");
    }
    return !failed.slot;
}

xt_tensor xt_unflatten_at(const xt_src *src, xt_tensor x, int axis, const int64_t *dims) {
    lazy_begin(src);
    int64_t a, to[XT_MAX_RANK + 1] = {0};
    xt_tensor failed;
    ops_text shape, list;
    ir_value *v = on_axis(src, "xt_unflatten", x, axis, &a, &failed);
    if (!v) return failed;
    int n = ops_rank(dims), rank = (int)v->type->rank - 1 + n;
    int64_t known = 1;
    int hole = -1;
    bool fits = n > 0 && rank <= XT_MAX_RANK;
    for (int i = 0; i < n && fits; i++) {
        if (dims[i] == -1 && hole < 0)
            hole = i;
        else
            fits = dims[i] > 0 && !__builtin_mul_overflow(known, dims[i], &known);
    }
    if (!fits || (hole < 0 ? known != v->type->dims[a] : v->type->dims[a] % known != 0))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_unflatten: axis %lld of %s into %s: the product must be %lld, and one dim may be -1",
                          (long long)a, ops_shape(v->type, &shape), ops_dims((size_t)n, dims, &list),
                          (long long)v->type->dims[a]);
    memcpy(to, v->type->dims, (size_t)a * sizeof *to);
    for (int i = 0; i < n; i++) to[a + i] = i == hole ? v->type->dims[a] / known : dims[i];
    memcpy(to + a + n, v->type->dims + a + 1, (v->type->rank - (size_t)a - 1) * sizeof *to);
    ir_builder *b = lazy_begin(src);
    ir_value *r = ir_reshape(b, v, (size_t)rank, to);
    return lazy_wrap(r == v ? ops_copy(b, v) : r, "xt_unflatten");
}

/* [N,C,...] as [N,groups,C/groups,...] with the two exchanged. */
xt_tensor xt_channel_shuffle_at(const xt_src *src, xt_tensor x, int64_t groups) {
    const char *what = "xt_channel_shuffle";
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    ops_text shape;
    if (!v) return lazy_wrap(NULL, what);
    const ir_type *t = v->type;
    if (t->rank < 2 || t->rank >= XT_MAX_RANK || groups < 1 || t->dims[1] % groups != 0)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: %s in %lld groups: [N,C,...] of at most %d dims and a divisor of C are needed", what,
                          ops_shape(t, &shape), (long long)groups, XT_MAX_RANK - 1);
    int64_t dims[XT_MAX_RANK], perm[XT_MAX_RANK];
    for (size_t i = 0; i <= t->rank; i++) {
        dims[i] = i == 0 ? t->dims[0] : i == 1 ? groups : i == 2 ? t->dims[1] / groups : t->dims[i - 1];
        perm[i] = i == 1 ? 2 : i == 2 ? 1 : (int64_t)i;
    }
    ir_value *apart = ir_reshape(b, v, t->rank + 1, dims);
    ir_value *turned = ir_transpose(b, apart, t->rank + 1, perm);
    return lazy_wrap(turned ? ops_copy(b, ir_reshape(b, turned, t->rank, t->dims)) : NULL, what);
}

/* Slice i of the result is the first whose counts so far are above i. */
xt_tensor xt_repeat_interleave_counts_at(const xt_src *src, xt_tensor x, xt_tensor counts, int axis,
                                         int64_t output_size) {
    const char *what = "xt_repeat_interleave_counts";
    const ir_type *t = lazy_type(x), *c = lazy_type(counts);
    int64_t a = 0;
    xt_tensor failed;
    ops_text sx, sc;
    if (t && !ops_axis(src, what, t, axis, &a, &failed)) return failed;
    if (t && c && (c->rank != 1 || !ir_dtype_is_int(c->dtype) || c->dims[0] != t->dims[a] || c->dims[0] < 1))
        return lazy_error(
            src, XT_INVALID_ARGUMENT,
            "%s: x %s along axis %lld with counts %s %s: a whole number for each of %lld slices is needed", what,
            ops_shape(t, &sx), (long long)a, xt_dtype_name(c->dtype), ops_shape(c, &sc), (long long)t->dims[a]);
    if (output_size < 1)
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: output_size is %lld: at least 1 is needed", what,
                          (long long)output_size);
    xt_tensor ends = xt_cumsum_at(src, xt_cast_at(src, counts, XT_I64), 0);
    xt_tensor place = xt_arange_at(src, output_size, XT_I64);
    xt_tensor index = xt_searchsorted_at(src, ends, place, XT_OPTS(xt_search_opts, .right = true));
    xt_tensor r = xt_index_select_at(src, x, (int)a, index);
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(r), *i = lazy_value(index);
    if (!v || !i) return lazy_wrap(NULL, what);
    ir_value *there =
        ir_broadcast_in_dim(b, ex_is(b, i, IR_LT, (double)c->dims[0]), ir_with_dtype(v->type, XT_BOOL), 1, &a);
    return lazy_wrap(ex_keep(b, there, v, 0), what);
}
