/* Functions of shapes.h about diagonals and triangles. A mask by comparing two iotas says what belongs; the compiler
 * fuses it into its reader. */
#include "ops/expr.h"

/* True where column - row `dir` k on axes a (rows) and c (columns). */
static ir_value *band_of(ir_builder *b, const ir_type *t, int64_t a, int64_t c, ir_cmp_dir dir, ex_number k) {
    const ir_type *index = ir_with_dtype(t, XT_I64);
    ir_value *off = ir_subtract(b, ir_iota(b, index, c), ir_iota(b, index, a));
    return ir_compare(b, dir, off, ex_of(b, off, k));
}
static ir_value *band(ir_builder *b, const ir_type *t, int64_t a, int64_t c, ir_cmp_dir dir, int64_t k) {
    return band_of(b, t, a, c, dir, ex_constant((double)k));
}

static xt_tensor triangle(const xt_src *src, const char *what, xt_tensor x, int64_t k, ir_cmp_dir dir) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    ops_text shape;
    if (!v) return lazy_wrap(NULL, what);
    int64_t rank = v->type->rank;
    if (rank < 2)
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: x %s: at least two dims are needed", what,
                          ops_shape(v->type, &shape));
    ex_number diagonal = {(double)k, ops_place(src, what, k, 0, k)};
    return lazy_wrap(ex_keep(b, band_of(b, v->type, rank - 2, rank - 1, dir, diagonal), v, 0), what);
}
xt_tensor xt_tril_at(const xt_src *src, xt_tensor x, int64_t k) {
    return triangle(src, "xt_tril", x, k, IR_LE);
}
xt_tensor xt_triu_at(const xt_src *src, xt_tensor x, int64_t k) {
    return triangle(src, "xt_triu", x, k, IR_GE);
}

xt_tensor xt_eye_at(const xt_src *src, int64_t rows, int64_t columns, xt_dtype dtype) {
    ir_builder *b = lazy_begin(src);
    if (columns == 0) columns = rows;
    const ir_type *t = rows > 0 && columns > 0 && xt_dtype_size(dtype) && dtype != XT_TOKEN
                           ? ir_tensor(dtype, 2, (int64_t[]){rows, columns})
                           : NULL;
    if (!t)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_eye: %lld rows, %lld columns of %s: at least one of each, of a dtype of numbers",
                          (long long)rows, (long long)columns, xt_dtype_name(dtype));
    ir_value *on = band(b, t, 0, 1, IR_EQ, 0);
    return lazy_wrap(on ? ir_convert(b, on, dtype) : NULL, "xt_eye");
}

/* The diagonal of axes a and c as a new last axis: both axes are gathered at once. */
ir_value *ops_diagonal(ir_builder *b, ir_value *x, int64_t a, int64_t c, int64_t offset) {
    if (!x) return NULL;
    const ir_type *t = x->type;
    if (offset < -t->dims[a]) offset = -t->dims[a]; /* nothing lies there, however far it is */
    if (offset > t->dims[c]) offset = t->dims[c];
    int64_t row = offset < 0 ? -offset : 0, column = offset > 0 ? offset : 0;
    int64_t length = t->dims[a] - row < t->dims[c] - column ? t->dims[a] - row : t->dims[c] - column;
    if (length < 0) length = 0;
    int64_t pair[2] = {length, 1}, sizes[XT_MAX_RANK + 2], kept[XT_MAX_RANK + 2],
            both[2] = {a < c ? a : c, a < c ? c : a}, place[2] = {a, c};
    ir_value *i = ir_iota(b, ir_tensor(XT_I64, 2, pair), 0);
    ir_value *at[2] = {ex_plus(b, i, (double)row), ex_plus(b, i, (double)column)};
    if (!at[0] || !at[1]) return NULL;
    size_t n = t->rank - 2;
    for (uint32_t d = 0; d < t->rank; d++) sizes[d] = d == a || d == c ? 1 : t->dims[d];
    for (size_t d = 0; d < n; d++) kept[d] = (int64_t)d;
    ir_gather_dims d = {.n_offset = n,
                        .offset = kept,
                        .n_collapsed = 2,
                        .collapsed = both,
                        .n_index_map = 2,
                        .index_map = place,
                        .index_vector_dim = 1};
    return ops_gather(b, x, ir_concatenate(b, 2, at, 1), &d, sizes);
}

static bool two_axes(const xt_src *src, const char *what, const ir_type *t, int a, int c, int64_t out_axes[2],
                     xt_tensor *out) {
    ops_text shape;
    if (!ops_axis(src, what, t, a, &out_axes[0], out) || !ops_axis(src, what, t, c, &out_axes[1], out)) return false;
    if (out_axes[0] != out_axes[1]) return true;
    *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: axes %d and %d of %s are the same; two are needed", what, a, c,
                      ops_shape(t, &shape));
    return false;
}

xt_tensor xt_diagonal_at(const xt_src *src, xt_tensor x, int64_t offset, int a, int c) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    int64_t axes[2];
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, "xt_diagonal");
    if (!two_axes(src, "xt_diagonal", v->type, a, c, axes, &failed)) return failed;
    return lazy_wrap(ops_diagonal(b, v, axes[0], axes[1], offset), "xt_diagonal");
}

/* The last axis along the diagonal of two new last axes. */
static ir_value *embed(const xt_src *src, const char *what, ir_builder *b, ir_value *v, int64_t offset) {
    int64_t n = v->type->dims[v->type->rank - 1], room = n, dims[XT_MAX_RANK + 1], axes[XT_MAX_RANK];
    if (offset < 0 ? __builtin_sub_overflow(n, offset, &room) : __builtin_add_overflow(n, offset, &room)) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "%s: a diagonal %lld places from the middle is too far out",
                             what, (long long)offset));
        return NULL;
    }
    size_t rank = v->type->rank;
    int64_t low[XT_MAX_RANK] = {0}, high[XT_MAX_RANK] = {0};
    /* Along columns when the diagonal is above, rows when below; a zero border takes the other's place. */
    low[rank - 1] = offset > 0 ? offset : 0;
    high[rank - 1] = offset < 0 ? -offset : 0;
    ir_value *row = ir_pad(b, v, ir_splat(b, ir_scalar(v->type->dtype), 0), low, high, (int64_t[XT_MAX_RANK]){0});
    memcpy(dims, v->type->dims, (rank - 1) * sizeof *dims);
    dims[rank - 1] = dims[rank] = room;
    for (size_t i = 0; i + 1 < rank; i++) axes[i] = (int64_t)i;
    axes[rank - 1] = (int64_t)rank; /* the columns */
    const ir_type *t = ir_tensor(v->type->dtype, rank + 1, dims);
    ir_value *wide = row ? ir_broadcast_in_dim(b, row, t, rank, axes) : NULL;
    return wide ? ex_keep(b, band(b, t, (int64_t)rank - 1, (int64_t)rank, IR_EQ, offset), wide, 0) : NULL;
}

xt_tensor xt_diag_embed_at(const xt_src *src, xt_tensor x, int64_t offset, int a, int c) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    int64_t axes[2], from[XT_MAX_RANK];
    xt_tensor failed;
    ops_text shape;
    if (!v) return lazy_wrap(NULL, "xt_diag_embed");
    if (v->type->rank < 1 || v->type->rank >= XT_MAX_RANK)
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_diag_embed: x %s: from 1 to %d dims are needed",
                          ops_shape(v->type, &shape), XT_MAX_RANK - 1);
    v = embed(src, "xt_diag_embed", b, v, offset);
    if (!v) return lazy_wrap(NULL, "xt_diag_embed");
    if (!two_axes(src, "xt_diag_embed", v->type, a, c, axes, &failed)) return failed;
    int64_t rank = v->type->rank, batch = 0;
    for (int64_t i = 0; i < rank; i++) from[i] = i == axes[0] ? rank - 2 : i == axes[1] ? rank - 1 : batch++;
    return lazy_wrap(ir_transpose(b, v, (size_t)rank, from), "xt_diag_embed");
}

xt_tensor xt_diag_at(const xt_src *src, xt_tensor x, int64_t offset) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    ops_text shape;
    if (!v) return lazy_wrap(NULL, "xt_diag");
    if (v->type->rank == 1) return lazy_wrap(embed(src, "xt_diag", b, v, offset), "xt_diag");
    if (v->type->rank == 2) return lazy_wrap(ops_diagonal(b, v, 0, 1, offset), "xt_diag");
    return lazy_error(src, XT_INVALID_ARGUMENT,
                      "xt_diag: x %s: one or two dims are needed; xt_diagonal and xt_diag_embed take more",
                      ops_shape(v->type, &shape));
}

xt_tensor xt_trace_at(const xt_src *src, xt_tensor x) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    ops_text shape;
    if (!v) return lazy_wrap(NULL, "xt_trace");
    if (v->type->rank != 2)
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_trace: x %s: two dims are needed", ops_shape(v->type, &shape));
    ir_value *d = ops_diagonal(b, v, 0, 1, 0);
    int64_t zero = 0;
    return lazy_wrap(d ? ops_reduce(b, OPS_SUM, d, 1, &zero) : NULL, "xt_trace");
}

/* Each matrix is widened to the whole with zeros on its left and right; the rows of all are put below each other. A
 * vector is one row. */
xt_tensor xt_block_diag_at(const xt_src *src, int n, const xt_tensor *tensors) {
    const char *what = "xt_block_diag";
    ir_builder *b = lazy_begin(src);
    if (n < 1) return lazy_error(src, XT_INVALID_ARGUMENT, "%s: %d tensors; at least one is needed", what, n);
    ir_value **v = base_calloc((size_t)n, sizeof *v);
    if (!v) return lazy_error(src, XT_RESOURCE_EXHAUSTED, "%s: no memory for %d operands", what, n);
    xt_tensor failed = {0};
    ir_value *result = NULL;
    xt_dtype t = XT_DTYPE_NONE;
    int64_t columns = 0, before = 0, none[2] = {0};
    ops_text shape;
    for (int i = 0; i < n; i++) {
        if (!(v[i] = lazy_value(tensors[i]))) goto done;
        const ir_type *own = v[i]->type, *one = ir_tensor(own->dtype, 1, (int64_t[]){1});
        if (own->rank > 2) {
            failed = lazy_error(src, XT_INVALID_ARGUMENT, "%s: tensor %d is %s: two dims at most", what, i,
                                ops_shape(own, &shape));
            goto done;
        }
        t = i ? ops_promote(ir_with_dtype(one, t), one) : own->dtype;
        int64_t dims[2] = {own->rank == 2 ? own->dims[0] : 1, own->rank ? own->dims[own->rank - 1] : 1};
        v[i] = ir_reshape(b, v[i], 2, dims);
        columns += dims[1];
    }
    for (int i = 0; i < n && v[i]; i++) {
        int64_t own = v[i]->type->dims[1], low[2] = {0, before}, high[2] = {0, columns - before - own};
        before += own;
        v[i] = ir_pad(b, ir_convert(b, v[i], t), ir_splat(b, ir_scalar(t), 0), low, high, none);
    }
    for (int i = 0; i < n; i++)
        if (!v[i]) goto done;
    result = n == 1 ? ops_copy(b, v[0]) : ir_concatenate(b, (size_t)n, v, 0);
done:
    base_free(v);
    return failed.slot ? failed : lazy_wrap(result, what);
}
