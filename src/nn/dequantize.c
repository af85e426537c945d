/* What layers get in the place of a weight that is integers (integers.c). */
#include "nn/nn.h"
#include "ops/ops.h"

char *nn_scale_name(const char *weight) {
    size_t n = strlen(weight) + sizeof "_scale";
    char *name = base_malloc(n);
    if (name) snprintf(name, n, "%s_scale", weight);
    return name;
}

int nn_integer_bits(const ir_type *q, const ir_type *factors, int64_t rows, int64_t columns) {
    if (!q || !factors || q->rank != 3 || factors->rank != 2 || !ir_dtype_is_float(factors->dtype)) return 0;
    int bits = q->dtype == XT_I8 ? 8 : q->dtype == XT_U8 ? 4 : 0;
    if (!bits || q->dims[0] != rows || factors->dims[0] != rows || factors->dims[1] != q->dims[1]) return 0;
    return q->dims[1] * q->dims[2] * (8 / bits) == columns ? bits : 0;
}

static ir_value *nibbles(ir_builder *b, ir_value *bytes) {
    const ir_type *t = bytes->type;
    ir_value *parts[2] = {ir_and(b, bytes, ir_splat(b, t, 15)), ir_shift_right_logical(b, bytes, ir_splat(b, t, 4))},
             *all = ir_concatenate(b, 2, parts, (int64_t)t->rank - 1);
    if (!all) return NULL;
    return ir_subtract(b, ir_convert(b, all, XT_F32), ir_splat(b, ir_with_dtype(all->type, XT_F32), 8));
}

/* Integers q [...,groups,bytes] times factors f [...,groups], as f32 of `dims`. */
static ir_value *product(ir_builder *b, ir_value *q, ir_value *f, int bits, size_t rank, const int64_t *dims) {
    static const int64_t same[XT_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    ir_value *w = q && f ? bits == 4 ? nibbles(b, q) : ir_convert(b, q, XT_F32) : NULL;
    ir_value *wide = w ? ir_broadcast_in_dim(b, f, w->type, f->type->rank, same) : NULL;
    return wide ? ir_reshape(b, ir_multiply(b, w, wide), rank, dims) : NULL;
}

/* The factors of a weight that is [rows,columns]; the pending error where it is another. */
static xt_tensor factors_of(const xt_src *src, const nn_root *r, const nn_entry *e, int64_t rows, int64_t columns) {
    char *name = nn_scale_name(e->name);
    uintptr_t at = name ? (uintptr_t)map_get(r->by_name, name, strlen(name)) : 0;
    base_free(name);
    if (at && rows == e->type->dims[0] && rows * columns == e->type->count * (e->bits == 4 ? 2 : 1))
        return r->entries[at - 1].t;
    return lazy_error(src, XT_INVALID_ARGUMENT, "%s is a weight of %lld rows as integers; this call needs another",
                      e->name, (long long)e->type->dims[0]);
}

xt_tensor nn_dequantized(const xt_src *src, const nn_root *r, const nn_entry *e, int rank, const int64_t *dims) {
    xt_tensor factors = factors_of(src, r, e, rank == 2 ? dims[0] : -1, rank == 2 ? dims[1] : 0);
    ir_builder *b = lazy_begin(src);
    ir_value *q = lazy_value(e->t), *f = lazy_value(factors);
    return lazy_wrap(product(b, q, f, e->bits, (size_t)rank, dims), e->name);
}

xt_tensor nn_dequantized_rows(const xt_src *src, const nn_root *r, const nn_entry *e, int64_t vocab, int64_t dim,
                              xt_tensor indices) {
    xt_tensor factors = factors_of(src, r, e, vocab, dim);
    xt_tensor rows = ops_take(src, "xt_embedding", e->t, indices),
              scales = ops_take(src, "xt_embedding", factors, indices);
    ir_builder *b = lazy_begin(src);
    ir_value *q = lazy_value(rows), *f = lazy_value(scales);
    int64_t dims[XT_MAX_RANK];
    if (!q || !f) return lazy_wrap(NULL, e->name);
    memcpy(dims, q->type->dims, q->type->rank * sizeof *dims);
    dims[q->type->rank - 2] = dim;
    return lazy_wrap(product(b, q, f, e->bits, q->type->rank - 1, dims), e->name);
}
