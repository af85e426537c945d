/* The public contractions and windows: matrix products by PyTorch's rules, convolution and pooling on [N,C,H,W]. f32 products carry precision
 * HIGHEST; under autocast f32 operands are cast down, the device accumulates wider, and the result comes back as f32. */
#include <math.h>

#include "lazy/ops.h"

/* --- matmul ---------------------------------------------------------------------------------------------------------------------------------- */
/* x[..., n, k] times y[..., k, m]; a 1-D operand is a row or a column that disappears from the result. */
static bool matmul_fits(const xt_src *src, const ir_type *x, const ir_type *y, xt_tensor *out) {
    ops_text sx, sy;
    if (x->rank == 0 || y->rank == 0) {
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "xt_matmul: x %s and y %s: both need at least one dim; xt_mul multiplies by a scalar",
                          ops_shape(x, &sx), ops_shape(y, &sy));
        return false;
    }
    int64_t inner_x = x->dims[x->rank - 1], inner_y = y->dims[y->rank == 1 ? 0 : y->rank - 2];
    if (inner_x != inner_y) {
        /* The transpose is worth a hint only where it would help. */
        bool hint = y->rank > 1 && y->dims[y->rank - 1] == inner_x;
        char text[64] = "";
        if (hint) snprintf(text, sizeof text, "; xt_transpose(y, %d, %d)?", (int)y->rank - 2, (int)y->rank - 1);
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "xt_matmul: x %s and y %s: inner sizes %lld and %lld differ%s", ops_shape(x, &sx),
                          ops_shape(y, &sy), (long long)inner_x, (long long)inner_y, text);
        return false;
    }
    return true;
}

/* Both have batch dims that differ: brings them to their common batch. False after an error. */
static bool meet_batches(const xt_src *src, ir_builder *b, ir_value **x, ir_value **y, xt_tensor *out) {
    const ir_type *tx = (*x)->type, *ty = (*y)->type;
    const ir_type *bx = ir_tensor(tx->dtype, tx->rank - 2, tx->dims), *by = ir_tensor(ty->dtype, ty->rank - 2, ty->dims);
    size_t rank, bad;
    int64_t dims[XT_MAX_RANK + 2];
    if (!ops_common_dims(bx, by, &rank, dims, &bad)) {
        ops_text sx, sy;
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "xt_matmul: x %s and y %s: batch dims %s and %s do not broadcast", ops_shape(tx, &sx),
                          ops_shape(ty, &sy), ops_shape(bx, &(ops_text){""}), ops_shape(by, &(ops_text){""}));
        return false;
    }
    memcpy(dims + rank, tx->dims + tx->rank - 2, 2 * sizeof *dims);
    *x = ops_broadcast(b, *x, rank + 2, dims);
    memcpy(dims + rank, ty->dims + ty->rank - 2, 2 * sizeof *dims);
    *y = ops_broadcast(b, *y, rank + 2, dims);
    return true;
}

xt_tensor xt_matmul_at(const xt_src *src, xt_tensor x, xt_tensor y) {
    ir_builder *b = lazy_begin(src);
    ir_value *vx = lazy_value(x), *vy = lazy_value(y);
    xt_tensor failed;
    if (!vx || !vy) return lazy_wrap(NULL, "xt_matmul");
    if (!matmul_fits(src, vx->type, vy->type, &failed)) return failed;
    xt_dtype t = ops_promote(ir_with_dtype(ir_tensor(XT_F32, 1, (int64_t[]){1}), vx->type->dtype),
                             ir_with_dtype(ir_tensor(XT_F32, 1, (int64_t[]){1}), vy->type->dtype));
    if (t == XT_BOOL) return lazy_error(src, XT_INVALID_ARGUMENT, "xt_matmul: x and y are bool, numbers are needed; xt_cast one of them first");
    vx = ir_convert(b, vx, t);
    vy = ir_convert(b, vy, t);
    if (!vx || !vy) return lazy_wrap(NULL, "xt_matmul");
    xt_dtype result = ops_autocast(b, &vx, &vy);
    if (!vx || !vy) return lazy_wrap(NULL, "xt_matmul");

    size_t n_batch = 0;
    /* A y without batch dims meets all rows of x at once; otherwise both carry the common batch. */
    if (vy->type->rank > 2 && vx->type->rank == 1) {
        /* [k] @ [..., k, m]: the batch and m stay, in this order, with y on the left. */
        int64_t k = (int64_t)vy->type->rank - 2, zero = 0;
        ir_value *r = ir_dot_general(b, vy, vx, 0, NULL, NULL, 1, &k, &zero, ops_precision(vx->type->dtype));
        return lazy_wrap(r ? ir_convert(b, r, result) : NULL, "xt_matmul");
    }
    if (vy->type->rank > 2) {
        if (!meet_batches(src, b, &vx, &vy, &failed)) return failed;
        if (!vx || !vy) return lazy_wrap(NULL, "xt_matmul");
        n_batch = vx->type->rank - 2;
    }
    int64_t batch[XT_MAX_RANK], inner_x = (int64_t)vx->type->rank - 1, inner_y = vy->type->rank == 1 ? 0 : (int64_t)vy->type->rank - 2;
    for (size_t i = 0; i < n_batch; i++) batch[i] = (int64_t)i;
    ir_value *r = ir_dot_general(b, vx, vy, n_batch, batch, batch, 1, &inner_x, &inner_y, ops_precision(vx->type->dtype));
    return lazy_wrap(r ? ir_convert(b, r, result) : NULL, "xt_matmul");
}

/* --- convolution --------------------------------------------------------------------------------------------------------------------------------- */
static const int64_t spatial[2] = {2, 3};

static bool conv_fits(const xt_src *src, const ir_type *x, const ir_type *w, const ir_type *bias, const xt_conv_opts *o, xt_tensor *out) {
    ops_text sx, sw, sb;
    const char *f = "xt_conv2d_fn";
    *out = (xt_tensor){0};
    if (o->stride < 1 || o->dilation < 1 || o->groups < 1 || o->padding < 0)
        *out = lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: stride %d, dilation %d, groups %d and padding %d: the first three must be at least 1, padding at least 0", f,
                          o->stride, o->dilation, o->groups, o->padding);
    else if (x->rank != 4 || w->rank != 4)
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: x %s and weight %s: x must be [N,C,H,W] and weight [O,C/groups,KH,KW]", f, ops_shape(x, &sx),
                          ops_shape(w, &sw));
    else if (x->dims[1] % o->groups || w->dims[0] % o->groups || x->dims[1] / o->groups != w->dims[1])
        *out = lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: x %s, weight %s, groups %d: %lld channels of x need a weight with %lld in dim 1, it has %lld%s", f, ops_shape(x, &sx),
                          ops_shape(w, &sw), o->groups, (long long)x->dims[1], (long long)(x->dims[1] / o->groups), (long long)w->dims[1],
                          x->dims[1] % o->groups || w->dims[0] % o->groups ? " (and groups must divide the channels of both)" : "");
    else if (bias && (bias->rank != 1 || bias->dims[0] != w->dims[0]))
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: bias %s for a weight %s: it must be [%lld]", f, ops_shape(bias, &sb), ops_shape(w, &sw),
                          (long long)w->dims[0]);
    else
        for (int i = 2; i < 4 && !out->slot; i++) {
            int64_t reach = (w->dims[i] - 1) * o->dilation + 1, size = x->dims[i] + 2 * (int64_t)o->padding;
            if (reach > size)
                *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: x %s with padding %d is %lld in dim %d, the kernel %s reaches over %lld", f,
                                  ops_shape(x, &sx), o->padding, (long long)size, i, ops_shape(w, &sw), (long long)reach);
        }
    return !out->slot;
}

xt_tensor xt_conv2d_fn_at(const xt_src *src, xt_tensor x, xt_tensor weight, xt_tensor bias, xt_conv_opts o) {
    ir_builder *b = lazy_begin(src);
    ir_value *vx = lazy_value(x), *vw = lazy_value(weight), *vb = xt_is_none(bias) ? NULL : lazy_value(bias);
    xt_tensor failed;
    if (!vx || !vw || (!vb && !xt_is_none(bias))) return lazy_wrap(NULL, "xt_conv2d_fn");
    if (!o.stride) o.stride = 1;
    if (!o.dilation) o.dilation = 1;
    if (!o.groups) o.groups = 1;
    if (!conv_fits(src, vx->type, vw->type, vb ? vb->type : NULL, &o, &failed)) return failed;
    xt_dtype t = ops_promote(vx->type, vw->type);
    vx = ir_convert(b, vx, t);
    vw = ir_convert(b, vw, t);
    if (!vx || !vw) return lazy_wrap(NULL, "xt_conv2d_fn");
    xt_dtype result = ops_autocast(b, &vx, &vw);
    int64_t strides[2] = {o.stride, o.stride}, pad[2] = {o.padding, o.padding}, dilation[2] = {o.dilation, o.dilation};
    ir_conv_dims d = {
        .lhs_batch = 0,
        .lhs_feature = 1,
        .lhs_spatial = spatial,
        .rhs_out = 0,
        .rhs_in = 1,
        .rhs_spatial = spatial,
        .out_batch = 0,
        .out_feature = 1,
        .out_spatial = spatial,
        .n_spatial = 2,
        .strides = strides,
        .pad_low = pad,
        .pad_high = pad,
        .rhs_dilation = dilation,
        .feature_groups = o.groups,
    };
    ir_value *y = ir_convolution(b, vx, vw, &d, ops_precision(vx ? vx->type->dtype : t));
    if (y) y = ir_convert(b, y, result);
    if (y && vb) {
        int64_t channel = 1;
        y = ir_add(b, y, ir_broadcast_in_dim(b, ir_convert(b, vb, result), y->type, 1, &channel));
    }
    return lazy_wrap(y, "xt_conv2d_fn");
}

/* --- pooling ------------------------------------------------------------------------------------------------------------------------------------------ */
typedef struct pool {
    int64_t window[4], strides[4], pad[4];
} pool;

static bool pool_fits(const xt_src *src, const char *what, const ir_type *x, int kernel, xt_pool_opts o, pool *p, xt_tensor *out) {
    ops_text sx;
    int stride = o.stride ? o.stride : kernel;
    *p = (pool){.window = {1, 1, kernel, kernel}, .strides = {1, 1, stride, stride}, .pad = {0, 0, o.padding, o.padding}};
    *out = (xt_tensor){0};
    if (x->rank != 4 || x->dtype == XT_BOOL || ir_dtype_is_complex(x->dtype))
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: x is %s %s; numbers of shape [N,C,H,W] are needed", what, xt_dtype_name(x->dtype),
                          ops_shape(x, &sx));
    else if (kernel < 1 || stride < 1)
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: kernel %d and stride %d must be at least 1", what, kernel, stride);
    else if (o.padding < 0 || o.padding > kernel / 2)
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: padding %d: it must be from 0 to half the kernel (%d), so that no window lies outside x",
                          what, o.padding, kernel / 2);
    else if (x->dims[2] + 2 * (int64_t)o.padding < kernel || x->dims[3] + 2 * (int64_t)o.padding < kernel)
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: x %s with padding %d is smaller than the kernel %dx%d", what, ops_shape(x, &sx), o.padding,
                          kernel, kernel);
    return !out->slot;
}

xt_tensor xt_max_pool2d_at(const xt_src *src, xt_tensor x, int kernel, xt_pool_opts o) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    pool p;
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, "xt_max_pool2d");
    if (!pool_fits(src, "xt_max_pool2d", v->type, kernel, o, &p, &failed)) return failed;
    return lazy_wrap(ir_reduce_window(b, OP_maximum, v, p.window, p.strides, p.pad, p.pad, NULL, NULL), "xt_max_pool2d");
}

xt_tensor xt_avg_pool2d_at(const xt_src *src, xt_tensor x, int kernel, xt_pool_opts o) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    pool p;
    xt_tensor failed;
    if (!v) return lazy_wrap(NULL, "xt_avg_pool2d");
    if (!pool_fits(src, "xt_avg_pool2d", v->type, kernel, o, &p, &failed)) return failed;
    v = ops_float(b, v);
    ir_value *sum = ir_reduce_window(b, OP_add, v, p.window, p.strides, p.pad, p.pad, NULL, NULL);
    if (!sum) return lazy_wrap(NULL, "xt_avg_pool2d");
    ir_value *count;
    if (o.count_include_pad == XT_OFF && o.padding) {
        /* How many elements of x each window holds: the same sum over one image of ones. */
        int64_t image[4] = {1, 1, v->type->dims[2], v->type->dims[3]}, axes[2] = {2, 3};
        ir_value *ones = ir_splat(b, ir_tensor(v->type->dtype, 4, image), 1);
        ir_value *held = ir_reduce_window(b, OP_add, ones, p.window, p.strides, p.pad, p.pad, NULL, NULL);
        held = held ? ir_reshape(b, held, 2, held->type->dims + 2) : NULL;
        count = ir_broadcast_in_dim(b, held, sum->type, 2, axes);
    } else
        count = ir_splat(b, sum->type, (double)kernel * kernel);
    return lazy_wrap(ir_divide(b, sum, count), "xt_avg_pool2d");
}
