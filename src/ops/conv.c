/* Convolutions over one to three spatial dims, forward and transposed, each one StableHLO convolution. f32 carries
 * precision HIGHEST; under autocast f32 operands are cast down, the device accumulates wider, and the result comes
 * back as f32. */
#include "ops/ops.h"

static const int64_t spatial[OPS_SPATIAL] = {2, 3, 4};
static const char *const layout[OPS_SPATIAL] = {"L", "H,W", "D,H,W"}, *const window[OPS_SPATIAL] = {"K", "KH,KW",
                                                                                                    "KD,KH,KW"};

typedef struct conv {
    char what[32];
    int n; /* spatial dims */
    bool transposed;
    int groups;
    int64_t stride[OPS_SPATIAL], low[OPS_SPATIAL], high[OPS_SPATIAL], dilation[OPS_SPATIAL], extra[OPS_SPATIAL];
    xt_pad_mode mode;
} conv;

/* Numbers that no shape can make right. */
static bool read_options(const xt_src *src, const xt_conv_opts *o, int n, bool transposed, conv *c, xt_tensor *out) {
    *c = (conv){.n = n, .transposed = transposed, .groups = o->groups, .mode = o->padding_mode};
    snprintf(c->what, sizeof c->what, "xt_conv%s%dd_fn", transposed ? "_transpose" : "", n);
    *out = (xt_tensor){0};
    for (int i = 0; i < n && !out->slot; i++) {
        c->stride[i] = ops_per_dim(o->stride, o->strides, i);
        c->dilation[i] = ops_per_dim(o->dilation, o->dilations, i);
        c->low[i] = c->high[i] = ops_per_dim(o->padding, o->paddings, i);
        c->extra[i] = ops_per_dim(o->output_padding, o->output_paddings, i);
        if (c->stride[i] < 1 || c->dilation[i] < 1 || c->groups < 1 || c->low[i] < 0)
            *out = lazy_error(src, XT_INVALID_ARGUMENT,
                              "%s: stride %lld, dilation %lld, groups %d and padding %lld: the first three must be at "
                              "least 1, padding at least 0",
                              c->what, (long long)c->stride[i], (long long)c->dilation[i], c->groups,
                              (long long)c->low[i]);
        else if (o->same == XT_ON && (transposed || c->stride[i] != 1))
            *out = lazy_error(src, XT_INVALID_ARGUMENT,
                              "%s: .same keeps the input's size: it goes with stride 1 only (it is %lld)%s", c->what,
                              (long long)c->stride[i], transposed ? ", and not with a transposed convolution" : "");
        else if (!transposed && c->extra[i])
            *out =
                lazy_error(src, XT_INVALID_ARGUMENT, "%s: .output_padding belongs to transposed convolutions", c->what);
        else if (transposed && c->mode != XT_PAD_ZEROS)
            *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: a transposed convolution pads with zeros only", c->what);
        else if (c->extra[i] < 0 || (c->extra[i] && c->extra[i] >= c->stride[i] && c->extra[i] >= c->dilation[i]))
            *out =
                lazy_error(src, XT_INVALID_ARGUMENT,
                           "%s: output_padding %lld must be from 0 to less than the stride %lld or the dilation %lld",
                           c->what, (long long)c->extra[i], (long long)c->stride[i], (long long)c->dilation[i]);
    }
    return !out->slot;
}

/* Weight dims: [O,C/groups,...], or transposed [C,O/groups,...]. */
static bool channels_fit(const xt_src *src, const conv *c, const ir_type *x, const ir_type *w, const ir_type *bias,
                         xt_tensor *out) {
    ops_text sx, sw, sb;
    const char *f = c->what;
    int64_t in = x->dims[1], outputs = c->transposed ? w->dims[1] * c->groups : w->dims[0];
    bool divides = in % c->groups == 0 && w->dims[0] % c->groups == 0;
    if (c->transposed && (in != w->dims[0] || !divides))
        *out = lazy_error(
            src, XT_INVALID_ARGUMENT,
            "%s: x %s, weight %s, groups %d: %lld channels of x need a weight with %lld in dim 0, it has %lld%s", f,
            ops_shape(x, &sx), ops_shape(w, &sw), c->groups, (long long)in, (long long)in, (long long)w->dims[0],
            divides ? "" : " (and groups must divide them)");
    else if (!c->transposed && (!divides || in / c->groups != w->dims[1]))
        *out = lazy_error(
            src, XT_INVALID_ARGUMENT,
            "%s: x %s, weight %s, groups %d: %lld channels of x need a weight with %lld in dim 1, it has %lld%s", f,
            ops_shape(x, &sx), ops_shape(w, &sw), c->groups, (long long)in, (long long)(in / c->groups),
            (long long)w->dims[1], divides ? "" : " (and groups must divide the channels of both)");
    else if (bias && (bias->rank != 1 || bias->dims[0] != outputs))
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: bias %s for a weight %s: it must be [%lld]", f,
                          ops_shape(bias, &sb), ops_shape(w, &sw), (long long)outputs);
    return !out->slot;
}

static bool shapes_fit(const xt_src *src, const conv *c, const ir_type *x, const ir_type *w, const ir_type *bias,
                       xt_tensor *out) {
    ops_text sx, sw;
    const char *f = c->what;
    size_t rank = (size_t)c->n + 2;
    *out = (xt_tensor){0};
    if (x->rank != rank || w->rank != rank)
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: x %s and weight %s: x must be [N,C,%s] and weight [%s,%s]", f,
                          ops_shape(x, &sx), ops_shape(w, &sw), layout[c->n - 1],
                          c->transposed ? "C,O/groups" : "O,C/groups", window[c->n - 1]);
    else if (channels_fit(src, c, x, w, bias, out))
        for (int i = 0; i < c->n && !out->slot; i++) {
            int64_t reach = (w->dims[i + 2] - 1) * c->dilation[i] + 1;
            if (c->transposed) {
                if ((x->dims[i + 2] - 1) * c->stride[i] - 2 * c->low[i] + reach + c->extra[i] < 1)
                    *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: x %s with padding %lld leaves nothing of dim %d",
                                      f, ops_shape(x, &sx), (long long)c->low[i], i + 2);
                continue;
            }
            int64_t size = x->dims[i + 2] + c->low[i] + c->high[i];
            if (reach > size || reach < 1)
                *out = lazy_error(src, XT_INVALID_ARGUMENT,
                                  "%s: x %s with padding %lld is %lld in dim %d, the kernel %s reaches over %lld", f,
                                  ops_shape(x, &sx), (long long)c->low[i], (long long)size, i + 2, ops_shape(w, &sw),
                                  (long long)reach);
        }
    return !out->slot;
}

/* [C,O/g,...] as a kernel of the forward op over the spread-out input: [O,C/g,...] with the groups' outputs side by
 * side, spatially reversed. */
static ir_value *turned(ir_builder *b, const conv *c, ir_value *w) {
    int64_t split[OPS_SPATIAL + 3] = {c->groups, w->type->dims[0] / c->groups},
                                perm[OPS_SPATIAL + 3] = {0, 2, 1, 3, 4, 5}, joined[OPS_SPATIAL + 2];
    size_t rank = w->type->rank;
    memcpy(split + 2, w->type->dims + 1, (rank - 1) * sizeof *split);
    memcpy(joined, w->type->dims, rank * sizeof *joined);
    joined[0] = w->type->dims[1] * c->groups;
    joined[1] = split[1];
    w = ir_reshape(b, w, rank + 1, split);
    if (w) w = ir_transpose(b, w, rank + 1, perm);
    if (w) w = ir_reshape(b, w, rank, joined);
    return w ? ir_reverse(b, w, (size_t)c->n, spatial) : NULL;
}

static ir_value *convolve(ir_builder *b, const conv *c, ir_value *x, ir_value *w) {
    int64_t low[OPS_SPATIAL], high[OPS_SPATIAL];
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
        .n_spatial = (size_t)c->n,
        .strides = c->transposed ? NULL : c->stride,
        .lhs_dilation = c->transposed ? c->stride : NULL,
        .rhs_dilation = c->dilation,
        .pad_low = low,
        .pad_high = high,
        .feature_groups = c->groups,
    };
    for (int i = 0; i < c->n; i++) {
        int64_t reach = (w->type->dims[i + 2] - 1) * c->dilation[i];
        low[i] = c->transposed ? reach - c->low[i] : c->low[i];
        high[i] = c->transposed ? reach - c->high[i] + c->extra[i] : c->high[i];
    }
    if (c->transposed)
        w = turned(b, c, w);
    else if (c->mode != XT_PAD_ZEROS) {
        x = ops_pad(b, x, 2, (size_t)c->n, low, high, c->mode, NULL);
        d.pad_low = d.pad_high = NULL;
    }
    return x && w ? ir_convolution(b, x, w, &d, ops_precision(x->type->dtype)) : NULL;
}

static xt_tensor run(const xt_src *src, int n, bool transposed, xt_tensor x, xt_tensor weight, xt_tensor bias,
                     const xt_conv_opts *o) {
    ir_builder *b = lazy_begin(src);
    ir_value *vx = lazy_value(x), *vw = lazy_value(weight), *vb = xt_is_none(bias) ? NULL : lazy_value(bias);
    conv c;
    xt_tensor failed;
    if (n < 1 || n > OPS_SPATIAL)
        return lazy_error(src, XT_INVALID_ARGUMENT, "convolution over %d spatial dims: 1 to %d are there", n,
                          OPS_SPATIAL);
    if (!read_options(src, o, n, transposed, &c, &failed)) return failed;
    if (!vx || !vw || (!vb && !xt_is_none(bias))) return lazy_wrap(NULL, c.what);
    bool added;
    vx = ops_batched(b, vx, n, &added);
    if (!vx) return lazy_wrap(NULL, c.what);
    for (int i = 0; o->same == XT_ON && i < n && (int)vw->type->rank == n + 2; i++) {
        int64_t total = (vw->type->dims[i + 2] - 1) * c.dilation[i];
        c.low[i] = total / 2;
        c.high[i] = total - c.low[i];
    }
    if (!shapes_fit(src, &c, vx->type, vw->type, vb ? vb->type : NULL, &failed)) return failed;
    if (!transposed && c.mode && !ops_pad_fits(src, c.what, vx->type, 2, (size_t)n, c.low, c.high, c.mode, &failed))
        return failed;
    xt_dtype t = ops_promote(vx->type, vw->type);
    vx = ir_convert(b, vx, t);
    vw = ir_convert(b, vw, t);
    if (!vx || !vw) return lazy_wrap(NULL, c.what);
    xt_dtype result = ops_autocast(b, &vx, &vw);
    ir_value *y = vx && vw ? convolve(b, &c, vx, vw) : NULL;
    if (y) y = ir_convert(b, y, result);
    if (y && vb) {
        int64_t channel = 1;
        y = ir_add(b, y, ir_broadcast_in_dim(b, ir_convert(b, vb, result), y->type, 1, &channel));
    }
    return lazy_wrap(ops_unbatched(b, y, added), c.what);
}

xt_tensor xt_conv_fn_at(const xt_src *src, int n_spatial, xt_tensor x, xt_tensor weight, xt_tensor bias,
                        xt_conv_opts o) {
    return run(src, n_spatial, false, x, weight, bias, &o);
}
xt_tensor xt_conv_transpose_fn_at(const xt_src *src, int n_spatial, xt_tensor x, xt_tensor weight, xt_tensor bias,
                                  xt_conv_opts o) {
    return run(src, n_spatial, true, x, weight, bias, &o);
}
