/* Padding by a value or by the tensor's own elements, and windows as a new axis. */
#include "ops/expr.h"

/* amounts: (before, after) of the last axis, then of the one before it, and so on. */
xt_tensor xt_pad_at(const xt_src *src, xt_tensor x, xt_list amounts, xt_pad_opts o) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    ops_text shape;
    if (!v) return lazy_wrap(NULL, "xt_pad");
    const ir_type *t = v->type;
    if (amounts.n % 2 || amounts.n > 2 * (int)t->rank || amounts.n < 0)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_pad: %d amounts for %s: a pair for each axis from the last one on", amounts.n,
                          ops_shape(t, &shape));
    size_t n = (size_t)amounts.n / 2, first = t->rank - n;
    int64_t low[XT_MAX_RANK], high[XT_MAX_RANK];
    xt_tensor failed;
    for (size_t i = 0; i < n; i++) {
        low[i] = amounts.v[2 * (n - 1 - i)];
        high[i] = amounts.v[2 * (n - 1 - i) + 1];
        if (low[i] > INT32_MAX || low[i] < -INT32_MAX || high[i] > INT32_MAX || high[i] < -INT32_MAX)
            return lazy_error(src, XT_INVALID_ARGUMENT,
                              "xt_pad: %lld and %lld elements for axis %d of %s: far too many", (long long)low[i],
                              (long long)high[i], (int)(first + i), ops_shape(t, &shape));
    }
    if (!ops_pad_fits(src, "xt_pad", t, first, n, low, high, o.mode, &failed)) return failed;
    if (o.mode == XT_PAD_ZEROS && !ops_number_fits(src, "xt_pad", t->dtype, o.value, false, &failed)) return failed;
    ir_value *fill = o.mode == XT_PAD_ZEROS ? ops_number(src, "xt_pad", t->dtype, o.value, NULL) : NULL;
    ir_value *r = ops_pad(b, v, first, n, low, high, o.mode, fill);
    return lazy_wrap(r == v ? ops_copy(b, v) : r, "xt_pad");
}

/* Windows of `size` elements, `step` apart, along an axis; their elements become the last axis. */
static ir_value *windows(ir_builder *b, ir_value *v, int64_t a, int64_t size, int64_t step, int64_t dilation,
                         int64_t n) {
    int64_t pair[2] = {n, size};
    const ir_type *grid = ir_tensor(XT_I32, 2, pair);
    ir_value *at =
        ir_add(b, ex_times(b, ir_iota(b, grid, 0), (double)step), ex_times(b, ir_iota(b, grid, 1), (double)dilation));
    int64_t sizes[XT_MAX_RANK + 2], offset[XT_MAX_RANK + 2], rank = v->type->rank;
    size_t k = 0;
    memcpy(sizes, v->type->dims, (size_t)rank * sizeof *sizes);
    sizes[a] = 1;
    for (int64_t i = 0; i < rank; i++)
        if (i != a) offset[k++] = i;
    /* The windows stand where the axis was, their elements last. */
    ir_gather_dims d = {.n_offset = k,
                        .offset = offset,
                        .n_collapsed = 1,
                        .collapsed = &a,
                        .n_index_map = 1,
                        .index_map = &a,
                        .index_vector_dim = 2};
    return ops_gather(b, v, at, &d, sizes);
}

xt_tensor xt_unfold_axis_at(const xt_src *src, xt_tensor x, int axis, int64_t size, int64_t step) {
    const char *what = "xt_unfold_axis";
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    int64_t a;
    xt_tensor failed;
    ops_text shape;
    if (!v) return lazy_wrap(NULL, what);
    if (!ops_axis(src, what, v->type, axis, &a, &failed)) return failed;
    if (size < 1 || step < 1 || size > v->type->dims[a] || v->type->rank == XT_MAX_RANK)
        return lazy_error(
            src, XT_INVALID_ARGUMENT,
            "%s: windows of %lld elements, %lld apart, on axis %lld of %s: both at least 1, no longer than the axis",
            what, (long long)size, (long long)step, (long long)a, ops_shape(v->type, &shape));
    return lazy_wrap(windows(b, v, a, size, step, 1, (v->type->dims[a] - size) / step + 1), what);
}

/* [N,C,H,W] to [N, C KH KW, places]: the columns whose product with a kernel is the convolution. */
xt_tensor xt_unfold_at(const xt_src *src, xt_tensor x, int kernel_h, int kernel_w, xt_unfold_opts o) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    ops_text shape;
    if (!v) return lazy_wrap(NULL, "xt_unfold");
    int stride = o.stride, dilation = o.dilation;
    const ir_type *t = v->type;
    bool fits = t->rank == 4 && kernel_h > 0 && kernel_w > 0 && stride > 0 && dilation > 0 && o.padding >= 0;
    int64_t places[2] = {0, 0}, kernel[2] = {kernel_h, kernel_w};
    for (int i = 0; i < 2 && fits; i++) {
        int64_t room = t->dims[2 + i] + 2 * (int64_t)o.padding - (int64_t)dilation * (kernel[i] - 1) - 1;
        places[i] = room / stride + 1;
        fits = room >= 0;
    }
    if (!fits)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_unfold: x %s, kernel %dx%d, .stride %d, .padding %d, .dilation %d: x must be [N,C,H,W] "
                          "and hold the kernel",
                          ops_shape(t, &shape), kernel_h, kernel_w, stride, o.padding, dilation);
    int64_t around[4] = {0, 0, o.padding, o.padding}, none[4] = {0}, perm[6] = {0, 1, 4, 5, 2, 3};
    if (o.padding) v = ir_pad(b, v, ir_splat(b, ir_scalar(t->dtype), 0), around, around, none);
    ir_value *rows = v ? windows(b, v, 2, kernel_h, stride, dilation, places[0]) : NULL; /* [N,C,PH,W,KH] */
    ir_value *both = rows ? windows(b, rows, 3, kernel_w, stride, dilation, places[1]) : NULL; /* [N,C,PH,PW,KH,KW] */
    ir_value *columns = both ? ir_transpose(b, both, 6, perm) : NULL;
    int64_t dims[3] = {t->dims[0], t->dims[1] * kernel_h * kernel_w, places[0] * places[1]};
    return lazy_wrap(columns ? ir_reshape(b, columns, 3, dims) : NULL, "xt_unfold");
}

/* Each place of the kernel is a plane of [N,C,PH,PW] that is spread out by the stride and added where it belongs. */
xt_tensor xt_fold_at(const xt_src *src, xt_tensor x, int64_t height, int64_t width, int kernel_h, int kernel_w,
                     xt_unfold_opts o) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    ops_text shape;
    if (!v) return lazy_wrap(NULL, "xt_fold");
    int64_t stride = o.stride, dilation = o.dilation, kernel[2] = {kernel_h, kernel_w};
    int64_t size[2] = {height, width}, places[2] = {0, 0};
    const ir_type *t = v->type;
    bool fits = t->rank == 3 && kernel_h > 0 && kernel_w > 0 && stride > 0 && dilation > 0 && o.padding >= 0;
    for (int i = 0; i < 2 && fits; i++) {
        int64_t room = size[i] + 2 * (int64_t)o.padding - dilation * (kernel[i] - 1) - 1;
        fits = size[i] > 0 && room >= 0;
        places[i] = room / stride + 1;
    }
    if (!fits || t->dims[1] % (kernel[0] * kernel[1]) || t->dims[2] != places[0] * places[1])
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_fold: x %s to %lldx%lld, kernel %dx%d, .stride %lld, .padding %d, .dilation %lld: x must "
                          "be [N, C KH KW, places], and there "
                          "are %lld places",
                          ops_shape(t, &shape), (long long)height, (long long)width, kernel_h, kernel_w,
                          (long long)stride, o.padding, (long long)dilation, (long long)(places[0] * places[1]));
    int64_t channels = t->dims[1] / (kernel[0] * kernel[1]),
            dims[5] = {t->dims[0], channels, kernel[0] * kernel[1], places[0], places[1]};
    int64_t plane[4] = {t->dims[0], channels, places[0], places[1]}, between[4] = {0, 0, stride - 1, stride - 1};
    ir_value *planes = ir_reshape(b, v, 5, dims), *sum = NULL, *zero = ir_splat(b, ir_scalar(t->dtype), 0);
    for (int64_t k = 0; k < dims[2]; k++) {
        int64_t low[4] = {0}, high[4] = {0}, at[2] = {k / kernel[1] * dilation, k % kernel[1] * dilation};
        for (int i = 0; i < 2; i++) { /* positions count from the padded edge; what lies in the padding is cut off */
            low[2 + i] = at[i] - o.padding;
            high[2 + i] = size[i] + o.padding - at[i] - ((places[i] - 1) * stride + 1);
        }
        ir_value *part = planes ? ops_part(b, planes, 2, k, k + 1) : NULL;
        part = part ? ir_pad(b, ir_reshape(b, part, 4, plane), zero, low, high, between) : NULL;
        sum = sum ? ir_add(b, sum, part) : part;
    }
    return lazy_wrap(sum, "xt_fold");
}
