/* Sparse matrices by the places of their elements (sparse.h): a product is a gather of rows, times the elements, added
 * where they belong; both have derivatives, which are a gather and a scatter again. */
#include <xtrain/sparse.h>

#include "ops/ops.h"

static bool is_list(const ir_type *t, bool places) {
    return t && t->rank == 1 && (places ? ir_dtype_is_int(t->dtype) : ir_dtype_is_float(t->dtype));
}
static xt_sparse failed(xt_sparse a, xt_tensor error) {
    a.row = a.column = a.values = error;
    return a;
}

xt_sparse xt_sparse_coo_at(const xt_src *src, xt_tensor row, xt_tensor column, xt_tensor values, int64_t rows,
                           int64_t columns) {
    xt_sparse a = {rows, columns, row, column, values};
    const ir_type *r = lazy_type(row), *c = lazy_type(column), *v = lazy_type(values);
    ops_text sr, sc, sv;
    if (!r || !c || !v) return failed(a, lazy_failed_tensor(src));
    bool fits =
        is_list(r, true) && is_list(c, true) && is_list(v, false) && r->count == v->count && c->count == v->count;
    if (fits && rows > 0 && columns > 0) return a;
    return failed(a, lazy_error(src, XT_INVALID_ARGUMENT,
                                "xt_sparse_coo: row %s %s, column %s %s, values %s %s, %lld rows and %lld columns: "
                                "expected integers [n], integers [n], floats [n] and at least one row and column",
                                xt_dtype_name(r->dtype), ops_shape(r, &sr), xt_dtype_name(c->dtype), ops_shape(c, &sc),
                                xt_dtype_name(v->dtype), ops_shape(v, &sv), (long long)rows, (long long)columns));
}

/* The row of element i: how many rows but the first begin at i or before. */
xt_sparse xt_sparse_csr_at(const xt_src *src, xt_tensor crow, xt_tensor column, xt_tensor values, int64_t columns) {
    const ir_type *r = lazy_type(crow), *c = lazy_type(column), *v = lazy_type(values);
    ops_text sr, sc, sv;
    if (!r || !c || !v) return failed((xt_sparse){0}, lazy_failed_tensor(src));
    bool fits = is_list(r, true) && is_list(c, true) && is_list(v, false) && r->count >= 2 && c->count == v->count;
    if (!fits)
        return failed((xt_sparse){0},
                      lazy_error(src, XT_INVALID_ARGUMENT,
                                 "xt_sparse_csr: crow %s %s, column %s %s, values %s %s: expected integers [rows + 1], "
                                 "integers [n] and floats [n]",
                                 xt_dtype_name(r->dtype), ops_shape(r, &sr), xt_dtype_name(c->dtype), ops_shape(c, &sc),
                                 xt_dtype_name(v->dtype), ops_shape(v, &sv)));
    int64_t n = v->count, rows = r->count - 1;
    xt_dtype places = n < INT32_MAX && rows < INT32_MAX ? XT_I32 : XT_I64; /* narrow, for a running sum over them */
    xt_tensor marks = xt_full_at(src, 0, places, (int64_t[]){n + 1, 0}); /* empty rows at the end begin at n */
    xt_tensor starts = xt_slice_at(src, crow, 0, 1, rows);
    if (rows > 1)
        marks = xt_index_add_at(src, marks, 0, starts, xt_full_at(src, 1, places, (int64_t[]){rows - 1, 0}), 1);
    xt_tensor row = xt_slice_at(src, xt_cumsum_at(src, marks, 0), 0, 0, n);
    return xt_sparse_coo_at(src, row, column, values, rows, columns);
}

xt_sparse xt_sparse_transpose(xt_sparse a) {
    return (xt_sparse){a.columns, a.rows, a.column, a.row, a.values};
}

xt_tensor xt_sparse_mm_at(const xt_src *src, xt_sparse a, xt_tensor x) {
    const ir_type *t = lazy_type(x), *v = lazy_type(a.values);
    ops_text text;
    if (!t || !v) return lazy_failed_tensor(src);
    if ((t->rank != 1 && t->rank != 2) || t->dims[0] != a.columns || !ir_dtype_is_float(t->dtype))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_sparse_mm: x is %s %s beside a matrix of %lld rows and %lld columns: expected floats "
                          "[%lld,k] or [%lld]",
                          xt_dtype_name(t->dtype), ops_shape(t, &text), (long long)a.rows, (long long)a.columns,
                          (long long)a.columns, (long long)a.columns);
    int64_t dims[3] = {a.rows, t->rank == 2 ? t->dims[1] : 0, 0};
    xt_tensor weight = t->rank == 2 ? xt_unsqueeze_at(src, a.values, -1) : a.values;
    xt_tensor each = xt_mul_at(src, xt_index_select_at(src, x, 0, a.column), weight);
    const ir_type *e = lazy_type(each);
    xt_tensor none = xt_full_at(src, 0, e ? e->dtype : t->dtype, dims);
    return xt_index_add_at(src, none, 0, a.row, each, 1);
}

xt_tensor xt_sparse_to_dense_at(const xt_src *src, xt_sparse a) {
    const ir_type *v = lazy_type(a.values);
    if (!v) return lazy_failed_tensor(src);
    xt_tensor place = xt_add_at(src, xt_mul_scalar_at(src, xt_cast_at(src, a.row, XT_I64), (double)a.columns),
                                xt_cast_at(src, a.column, XT_I64));
    xt_tensor none = xt_full_at(src, 0, v->dtype, (int64_t[]){a.rows * a.columns, 0});
    return xt_reshape_at(src, xt_index_add_at(src, none, 0, place, a.values, 1), (int64_t[]){a.rows, a.columns, 0});
}
