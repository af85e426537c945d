/* New tensors: ranges, and the likes of others. */
#include <math.h>

#include "ops/expr.h"

static bool numeric(xt_dtype t) {
    return xt_dtype_size(t) && t != XT_TOKEN && t != XT_BOOL;
}

/* start, start + step, ... below stop (above, for a negative step). */
xt_tensor xt_range_at(const xt_src *src, double start, double stop, double step, xt_dtype dtype) {
    ir_builder *b = lazy_begin(src);
    double count = ceil((stop - start) / step);
    if (!numeric(dtype) || !(step != 0) || !isfinite(count) || count > 0x1p40 || !isfinite(start))
        return lazy_error(
            src, XT_INVALID_ARGUMENT,
            "xt_range: from %g to %g by %g of %s: finite ends, a step other than 0, and a dtype of numbers", start,
            stop, step, xt_dtype_name(dtype));
    int64_t n = count > 0 ? (int64_t)count : 0;
    bool floats = ir_dtype_is_float(dtype);
    xt_dtype work = floats && xt_dtype_size(dtype) < 4 ? XT_F32 : dtype; /* counting in bf16 would stop at 256 */
    ex_number from = ex_given(src, "xt_range (start)", work, start), by = ex_given(src, "xt_range (step)", work, step);
    b = lazy_begin(src);
    ir_value *i = ir_iota(b, ir_tensor(work, 1, &n), 0);
    if (!ex_always(by, 1)) i = ir_multiply(b, i, ex_of(b, i, by));
    if (!ex_always(from, 0)) i = ir_add(b, i, ex_of(b, i, from));
    return lazy_wrap(i ? ir_convert(b, i, dtype) : NULL, "xt_range");
}

/* n numbers from start to stop, both included. The second half is counted from the end, so that both ends are exact. */
static ir_value *line(const xt_src *src, const char *what, double start, double stop, int64_t n, xt_dtype t) {
    ir_builder *b = lazy_begin(src);
    xt_dtype work = t == XT_F64 ? XT_F64 : XT_F32;
    ex_number from = ex_given(src, what, work, start), to = ex_given(src, what, work, stop);
    ir_value *i = ir_iota(b, ir_tensor(work, 1, &n), 0);
    if (n == 1) return ir_add(b, ex_times(b, i, 0), ex_of(b, i, from));
    ex_number step = ex_derived(src, work, from.data || to.data, (stop - start) / (double)(n - 1));
    ir_value *up = ir_add(b, ir_multiply(b, i, ex_of(b, i, step)), ex_of(b, i, from));
    ir_value *left = ir_subtract(b, ex_num(b, i, (double)(n - 1)), i),
             *down = ir_subtract(b, ex_of(b, i, to), ir_multiply(b, left, ex_of(b, left, step)));
    return ex_pick(b, ex_is(b, i, IR_LT, (double)(n / 2)), up, down);
}
static bool line_fits(const xt_src *src, const char *what, double start, double stop, int64_t n, xt_dtype dtype,
                      xt_tensor *out) {
    if (numeric(dtype) && n >= 0 && isfinite(start) && isfinite(stop)) return true;
    *out = lazy_error(src, XT_INVALID_ARGUMENT,
                      "%s: %lld numbers from %g to %g of %s: at least 0, finite ends, and a dtype of numbers", what,
                      (long long)n, start, stop, xt_dtype_name(dtype));
    return false;
}
xt_tensor xt_linspace_at(const xt_src *src, double start, double stop, int64_t n, xt_dtype dtype) {
    xt_tensor failed;
    ir_builder *b = lazy_begin(src);
    if (!line_fits(src, "xt_linspace", start, stop, n, dtype, &failed)) return failed;
    ir_value *v = line(src, "xt_linspace", start, stop, n, dtype);
    return lazy_wrap(v ? ir_convert(b, v, dtype) : NULL, "xt_linspace");
}
xt_tensor xt_logspace_at(const xt_src *src, double start, double stop, int64_t n, double base, xt_dtype dtype) {
    xt_tensor failed;
    ir_builder *b = lazy_begin(src);
    if (!line_fits(src, "xt_logspace", start, stop, n, dtype, &failed)) return failed;
    ir_value *v = line(src, "xt_logspace", start, stop, n, dtype);
    ir_value *p = v ? ir_power(b, ex_of(b, v, ex_given(src, "xt_logspace", v->type->dtype, base)), v) : NULL;
    return lazy_wrap(p ? ir_convert(b, p, dtype) : NULL, "xt_logspace");
}

/* --- like another --- */
xt_tensor xt_full_like_at(const xt_src *src, xt_tensor x, double value) {
    const ir_type *t = lazy_type(x);
    bool constant = true;
    xt_tensor failed;
    if (t && !ops_number_fits(src, "xt_full_like", t->dtype, value, true, &failed)) return failed;
    ir_value *number = t ? ops_number(src, "xt_full_like", t->dtype, value, &constant) : NULL;
    ir_builder *b = lazy_begin(src);
    if (!t) {
        lazy_value(x);
        return lazy_wrap(NULL, "xt_full_like");
    }
    return lazy_wrap(constant ? ops_splat(b, t, value) : ops_broadcast(b, number, t->rank, t->dims), "xt_full_like");
}

/* The dims of x for a maker that takes a list; false after an error. */
static bool dims_of(const xt_src *src, const char *what, xt_tensor x, int64_t dims[XT_MAX_RANK + 1], xt_dtype *dtype,
                    xt_tensor *out) {
    const ir_type *t = lazy_type(x);
    ops_text shape;
    if (!t) {
        lazy_begin(src);
        lazy_value(x);
        *out = lazy_wrap(NULL, what);
        return false;
    }
    if (!ir_dtype_is_float(t->dtype) || t->count == 0) {
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: x is %s %s: random numbers are floats, and at least one", what,
                          xt_dtype_name(t->dtype), ops_shape(t, &shape));
        return false;
    }
    memset(dims, 0, (XT_MAX_RANK + 1) * sizeof *dims);
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    *dtype = t->dtype;
    return true;
}
xt_tensor xt_rand_like_at(const xt_src *src, xt_tensor x) {
    int64_t dims[XT_MAX_RANK + 1];
    xt_dtype t;
    xt_tensor failed;
    return dims_of(src, "xt_rand_like", x, dims, &t, &failed) ? xt_rand_at(src, t, dims) : failed;
}
xt_tensor xt_randn_like_at(const xt_src *src, xt_tensor x) {
    int64_t dims[XT_MAX_RANK + 1];
    xt_dtype t;
    xt_tensor failed;
    return dims_of(src, "xt_randn_like", x, dims, &t, &failed) ? xt_randn_at(src, t, dims) : failed;
}

/* --- places of triangles --- */
/* Columns first .. last-1 of a row. */
static void row_of_triangle(int64_t row, int64_t columns, int64_t k, bool upper, int64_t *first, int64_t *last) {
    int64_t edge = upper ? row + k : row + k + 1;
    edge = edge < 0 ? 0 : edge > columns ? columns : edge;
    *first = upper ? edge : 0;
    *last = upper ? columns : edge;
}
static xt_tensor triangle(const xt_src *src, const char *what, int64_t rows, int64_t columns, int64_t k, bool upper) {
    int64_t n = 0, first, last;
    if (rows < 0 || columns < 0 || rows > INT32_MAX || columns > INT32_MAX || k < -INT32_MAX || k > INT32_MAX)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: %lld rows, %lld columns, diagonal %lld: at least 0 rows and columns, and all below 2^31",
                          what, (long long)rows, (long long)columns, (long long)k);
    for (int64_t i = 0; i < rows; i++) {
        row_of_triangle(i, columns, k, upper, &first, &last);
        n += last - first;
    }
    int64_t *at = n < INT32_MAX ? base_calloc(2 * (size_t)n + 1, sizeof *at) : NULL, count = 0;
    if (!at) return lazy_error(src, XT_RESOURCE_EXHAUSTED, "%s: no memory for %lld places", what, (long long)n);
    for (int64_t i = 0; i < rows; i++) {
        row_of_triangle(i, columns, k, upper, &first, &last);
        for (int64_t j = first; j < last; j++, count++) {
            at[count] = i;
            at[n + count] = j;
        }
    }
    xt_tensor t = xt_from_data_at(src, at, XT_I64, 2, (const int64_t[]){2, n});
    base_free(at);
    return t;
}
xt_tensor xt_tril_indices_at(const xt_src *src, int64_t rows, int64_t columns, int64_t k) {
    return triangle(src, "xt_tril_indices", rows, columns, k, false);
}
xt_tensor xt_triu_indices_at(const xt_src *src, int64_t rows, int64_t columns, int64_t k) {
    return triangle(src, "xt_triu_indices", rows, columns, k, true);
}
