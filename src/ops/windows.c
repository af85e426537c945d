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

/* The kernel's places in an image, a number for each of height and width. */
typedef struct places {
    int64_t kernel[2], stride[2], padding[2], dilation[2], count[2];
} places;

/* Of an image of these sizes; false: the kernel does not fit. */
static bool find_places(places *p, const int64_t size[2], int kernel_h, int kernel_w, const xt_unfold_opts *o) {
    bool fits = true;
    *p = (places){.kernel = {kernel_h, kernel_w}};
    for (int i = 0; i < 2; i++) {
        p->stride[i] = ops_per_dim(o->stride, o->strides, i);
        p->padding[i] = ops_per_dim(o->padding, o->paddings, i);
        p->dilation[i] = ops_per_dim(o->dilation, o->dilations, i);
        if (size[i] < 1 || p->kernel[i] < 1 || p->stride[i] < 1 || p->padding[i] < 0 || p->dilation[i] < 1) {
            fits = false;
            continue;
        }
        int64_t room = size[i] + 2 * p->padding[i] - p->dilation[i] * (p->kernel[i] - 1) - 1;
        fits &= room >= 0;
        p->count[i] = room / p->stride[i] + 1;
    }
    return fits;
}

typedef struct places_text {
    char text[192];
} places_text;

/* What a message says of them: one number where both dims have the same. */
static const char *places_named(const places *p, places_text *out) {
    const char *const names[] = {"stride", "padding", "dilation"};
    const int64_t *const values[] = {p->stride, p->padding, p->dilation};
    size_t n = (size_t)snprintf(out->text, sizeof out->text, "kernel %lldx%lld", (long long)p->kernel[0],
                                (long long)p->kernel[1]);
    for (int i = 0; i < 3; i++) {
        const int64_t *v = values[i];
        n += (size_t)(v[0] == v[1]
                          ? snprintf(out->text + n, sizeof out->text - n, ", .%s %lld", names[i], (long long)v[0])
                          : snprintf(out->text + n, sizeof out->text - n, ", .%ss {%lld, %lld}", names[i],
                                     (long long)v[0], (long long)v[1]));
    }
    return out->text;
}

/* [N,C,H,W] to [N, C KH KW, places]: the columns whose product with a kernel is the convolution. */
xt_tensor xt_unfold_at(const xt_src *src, xt_tensor x, int kernel_h, int kernel_w, xt_unfold_opts o) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    ops_text shape;
    places_text text;
    places p;
    if (!v) return lazy_wrap(NULL, "xt_unfold");
    const ir_type *t = v->type;
    const int64_t none_known[2] = {0, 0};
    if (!find_places(&p, t->rank == 4 ? t->dims + 2 : none_known, kernel_h, kernel_w, &o))
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_unfold: x %s, %s: x must be [N,C,H,W] and hold the kernel",
                          ops_shape(t, &shape), places_named(&p, &text));
    int64_t around[4] = {0, 0, p.padding[0], p.padding[1]}, none[4] = {0}, perm[6] = {0, 1, 4, 5, 2, 3};
    if (p.padding[0] || p.padding[1]) v = ir_pad(b, v, ir_splat(b, ir_scalar(t->dtype), 0), around, around, none);
    /* [N,C,PH,W,KH], [N,C,PH,PW,KH,KW] */
    ir_value *rows = v ? windows(b, v, 2, kernel_h, p.stride[0], p.dilation[0], p.count[0]) : NULL;
    ir_value *both = rows ? windows(b, rows, 3, kernel_w, p.stride[1], p.dilation[1], p.count[1]) : NULL;
    ir_value *columns = both ? ir_transpose(b, both, 6, perm) : NULL;
    int64_t dims[3] = {t->dims[0], t->dims[1] * kernel_h * kernel_w, p.count[0] * p.count[1]};
    return lazy_wrap(columns ? ir_reshape(b, columns, 3, dims) : NULL, "xt_unfold");
}

/* Each place of the kernel is a plane of [N,C,PH,PW] that is spread out by the stride and added where it belongs. */
xt_tensor xt_fold_at(const xt_src *src, xt_tensor x, int64_t height, int64_t width, int kernel_h, int kernel_w,
                     xt_unfold_opts o) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    ops_text shape;
    places_text text;
    places p;
    if (!v) return lazy_wrap(NULL, "xt_fold");
    const int64_t size[2] = {height, width};
    const ir_type *t = v->type;
    if (!find_places(&p, size, kernel_h, kernel_w, &o) || t->rank != 3 || t->dims[1] % (p.kernel[0] * p.kernel[1]) ||
        t->dims[2] != p.count[0] * p.count[1])
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_fold: x %s to %lldx%lld, %s: x must be [N, C KH KW, places], and there are %lld places",
                          ops_shape(t, &shape), (long long)height, (long long)width, places_named(&p, &text),
                          (long long)(p.count[0] * p.count[1]));
    int64_t channels = t->dims[1] / (p.kernel[0] * p.kernel[1]),
            dims[5] = {t->dims[0], channels, p.kernel[0] * p.kernel[1], p.count[0], p.count[1]};
    int64_t plane[4] = {t->dims[0], channels, p.count[0], p.count[1]},
            between[4] = {0, 0, p.stride[0] - 1, p.stride[1] - 1};
    ir_value *planes = ir_reshape(b, v, 5, dims), *sum = NULL, *zero = ir_splat(b, ir_scalar(t->dtype), 0);
    for (int64_t k = 0; k < dims[2]; k++) {
        int64_t low[4] = {0}, high[4] = {0}, at[2] = {k / p.kernel[1] * p.dilation[0], k % p.kernel[1] * p.dilation[1]};
        for (int i = 0; i < 2; i++) { /* positions count from the padded edge; what lies in the padding is cut off */
            low[2 + i] = at[i] - p.padding[i];
            high[2 + i] = size[i] + p.padding[i] - at[i] - ((p.count[i] - 1) * p.stride[i] + 1);
        }
        ir_value *part = planes ? ops_part(b, planes, 2, k, k + 1) : NULL;
        part = part ? ir_pad(b, ir_reshape(b, part, 4, plane), zero, low, high, between) : NULL;
        sum = sum ? ir_add(b, sum, part) : part;
    }
    return lazy_wrap(sum, "xt_fold");
}
