/* Normalisation over each tensor's own numbers: layer, RMS, group, instance and local response norm. Weights begin as
 * 1, biases as 0. Narrow inputs are normalised in f32. */
#include <float.h>
#include <math.h>

#include "ops/ops.h"
#include "nn/nn.h"

/* (x - mean) / sqrt(variance + eps) over the last dim. */
static xt_tensor normalise(const xt_src *src, const char *what, xt_tensor x, double eps) {
    xt_tensor centred = xt_sub__at(src, x, xt_unsqueeze_at(src, xt_mean_axis_at(src, x, -1), -1));
    xt_tensor var = xt_unsqueeze_at(src, xt_mean_axis_at(src, xt_square_at(src, centred), -1), -1);
    return xt_mul_at(src, centred, xt_rsqrt_at(src, xt_add_at(src, var, nn_given(src, what, eps, xt_dtype_of(var)))));
}

/* Reshapes to the dims of t. */
static xt_tensor shaped_as(const xt_src *src, xt_tensor x, const ir_type *t) {
    int64_t dims[XT_MAX_RANK + 1] = {0};
    for (uint32_t i = 0; i < t->rank; i++) dims[i] = t->dims[i];
    return xt_reshape_at(src, x, dims);
}

static bool eps_fits(const xt_src *src, const char *what, const char *name, const xt_norm_opts *o, xt_tensor *out) {
    *out = (xt_tensor){0};
    if (!(o->eps >= 0 || o->eps == XT_AUTO))
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s %s: .eps is %g; it must not be negative", what, name, o->eps);
    else if (!(o->momentum >= 0 && o->momentum <= 1))
        *out =
            lazy_error(src, XT_INVALID_ARGUMENT, "%s %s: momentum is %g; it must be in [0,1]", what, name, o->momentum);
    return !out->slot;
}

/* The last k dims as one, and their number of elements. */
static bool last_dims(const ir_type *t, int k, int64_t *dims, int64_t *elements) {
    if (!t || k < 1 || (int)t->rank < k || !ir_dtype_is_float(t->dtype)) return false;
    *elements = 1;
    for (int i = 0; i < k; i++) {
        dims[i] = t->dims[(int)t->rank - k + i];
        *elements *= dims[i];
    }
    return *elements > 0;
}

static xt_tensor flat_tail(const xt_src *src, xt_tensor x, const ir_type *t, int k, xt_dtype d) {
    xt_tensor h = xt_cast_at(src, x, d);
    return k > 1 ? xt_flatten_at(src, h, (int)t->rank - k, -1) : h;
}

xt_tensor xt_layer_norm_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_norm_opts o) {
    const ir_type *t = lazy_type(x);
    int k = o.dims;
    int64_t dims[XT_MAX_RANK], elements;
    xt_tensor failed;
    if (!last_dims(t, k, dims, &elements))
        return nn_bad_input(src, "xt_layer_norm", name, x, "floats [...,C] with at least .dims dims are needed");
    if (!eps_fits(src, "xt_layer_norm", name, &o, &failed)) return failed;
    if (!nn_layer_begin(src, m, name)) return nn_bad_input(src, "xt_layer_norm", name, (xt_tensor){0}, "");
    xt_dtype d = nn_param_dtype(t);
    xt_tensor y = normalise(src, "xt_layer_norm", flat_tail(src, x, t, k, d), o.eps == XT_AUTO ? 1e-5 : o.eps);
    if (k > 1) y = shaped_as(src, y, t);
    if (o.affine != XT_OFF) {
        y = xt_mul_at(src, y, nn_tensor(src, m, name, "weight", true, NN_ONES, 0, d, k, dims));
        if (o.bias != XT_OFF) y = xt_add_at(src, y, nn_tensor(src, m, name, "bias", true, NN_ZEROS, 0, d, k, dims));
    }
    nn_layer_end();
    return xt_cast_at(src, y, t->dtype);
}

/* Zhang and Sennrich 2019. */
xt_tensor xt_rms_norm_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_norm_opts o) {
    const ir_type *t = lazy_type(x);
    int k = o.dims;
    int64_t dims[XT_MAX_RANK], elements;
    xt_tensor failed;
    if (!last_dims(t, k, dims, &elements))
        return nn_bad_input(src, "xt_rms_norm", name, x, "floats [...,C] with at least .dims dims are needed");
    if (!eps_fits(src, "xt_rms_norm", name, &o, &failed)) return failed;
    if (!nn_layer_begin(src, m, name)) return nn_bad_input(src, "xt_rms_norm", name, (xt_tensor){0}, "");
    xt_dtype d = nn_param_dtype(t);
    double eps = o.eps != XT_AUTO      ? o.eps
                 : t->dtype == XT_F64  ? DBL_EPSILON
                 : t->dtype == XT_F32  ? FLT_EPSILON
                 : t->dtype == XT_BF16 ? 0x1p-7
                                       : 0x1p-10;
    xt_tensor h = flat_tail(src, x, t, k, d);
    xt_tensor mean = xt_unsqueeze_at(src, xt_mean_axis_at(src, xt_square_at(src, h), -1), -1);
    xt_tensor y = xt_mul_at(src, h, xt_rsqrt_at(src, xt_add_at(src, mean, nn_given(src, "xt_rms_norm", eps, d))));
    if (k > 1) y = shaped_as(src, y, t);
    if (o.affine != XT_OFF) y = xt_mul_at(src, y, nn_tensor(src, m, name, "weight", true, NN_ONES, 0, d, k, dims));
    nn_layer_end();
    return xt_cast_at(src, y, t->dtype);
}

/* weight and bias [C] over [N,C,...]. */
static xt_tensor per_channel(const xt_src *src, xt_tensor v, uint32_t rank) {
    for (uint32_t i = 2; i < rank; i++) v = xt_unsqueeze_at(src, v, -1);
    return v;
}

static xt_tensor channel_affine(const xt_src *src, xt_module *m, const char *name, xt_tensor y, const ir_type *t,
                                xt_dtype d) {
    int64_t c = t->dims[1];
    y = xt_mul_at(src, y, per_channel(src, nn_tensor(src, m, name, "weight", true, NN_ONES, 0, d, 1, &c), t->rank));
    return xt_add_at(src, y, per_channel(src, nn_tensor(src, m, name, "bias", true, NN_ZEROS, 0, d, 1, &c), t->rank));
}

/* Wu and He 2018. */
xt_tensor xt_group_norm_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, int groups, xt_norm_opts o) {
    const ir_type *t = lazy_type(x);
    xt_tensor failed;
    if (!t || t->rank < 2 || !ir_dtype_is_float(t->dtype) || groups < 1 || t->dims[1] % groups || t->count == 0) {
        char text[96];
        snprintf(text, sizeof text, "floats [N,C,...] are needed with C divisible by the %d groups", groups);
        return nn_bad_input(src, "xt_group_norm", name, x, text);
    }
    if (!eps_fits(src, "xt_group_norm", name, &o, &failed)) return failed;
    if (!nn_layer_begin(src, m, name)) return nn_bad_input(src, "xt_group_norm", name, (xt_tensor){0}, "");
    xt_dtype d = nn_param_dtype(t);
    xt_tensor h = xt_reshape_at(src, xt_cast_at(src, x, d), (int64_t[XT_MAX_RANK + 1]){t->dims[0], groups, -1});
    xt_tensor y = shaped_as(src, normalise(src, "xt_group_norm", h, o.eps == XT_AUTO ? 1e-5 : o.eps), t);
    if (o.affine != XT_OFF) y = channel_affine(src, m, name, y, t, d);
    nn_layer_end();
    return xt_cast_at(src, y, t->dtype);
}

/* --- instance norm --- */
/* The running statistics are averages over the images of what each image has. h: [N,C,L]. */
static void track_instances(const xt_src *src, xt_tensor h, xt_tensor mean, xt_tensor var, double momentum,
                            int64_t length) {
    xt_no_grad_begin();
    xt_tensor centre = xt_mean_axis_at(src, h, -1); /* [N,C] */
    xt_tensor spread = xt_sum_axis_at(src, xt_square_at(src, xt_sub__at(src, h, xt_unsqueeze_at(src, centre, -1))), -1);
    nn_move_average(src, mean, xt_mean_axis_at(src, centre, 0),
                    nn_given(src, "xt_instance_norm.momentum", momentum, XT_F32));
    spread = xt_mul_at(src, xt_mean_axis_at(src, spread, 0),
                       nn_number(src, 1 / (double)(length > 1 ? length - 1 : 1), xt_dtype_of(spread)));
    nn_move_average(src, var, spread, nn_given(src, "xt_instance_norm.momentum", momentum, XT_F32));
    xt_no_grad_end_at(NULL);
}

xt_tensor xt_instance_norm_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_norm_opts o) {
    const ir_type *t = lazy_type(x);
    xt_tensor failed;
    if (!t || t->rank < 3 || !ir_dtype_is_float(t->dtype) || t->count == 0)
        return nn_bad_input(src, "xt_instance_norm", name, x,
                            "floats [N,C,...] with at least one dim behind C are needed");
    if (!eps_fits(src, "xt_instance_norm", name, &o, &failed)) return failed;
    int64_t c = t->dims[1], length = t->count / t->dims[0] / c;
    bool track = o.track == XT_ON;
    double eps = o.eps == XT_AUTO ? 1e-5 : o.eps;
    if (length < 2 && (nn_is_training(m, name) || !track))
        return nn_bad_input(src, "xt_instance_norm", name, x, "more than one value per channel and image is needed");
    if (!nn_layer_begin(src, m, name)) return nn_bad_input(src, "xt_instance_norm", name, (xt_tensor){0}, "");
    xt_dtype d = nn_param_dtype(t);
    xt_tensor h = xt_reshape_at(src, xt_cast_at(src, x, d), (int64_t[XT_MAX_RANK + 1]){t->dims[0], c, length}), y,
              mean = {0}, var = {0};
    if (track) {
        mean = nn_tensor(src, m, name, "running_mean", false, NN_ZEROS, 0, d, 1, &c);
        var = nn_tensor(src, m, name, "running_var", false, NN_ONES, 0, d, 1, &c);
        /* PyTorch keeps it and never counts */
        nn_tensor(src, m, name, "num_batches_tracked", false, NN_ZEROS, 0, XT_I64, 0, NULL);
    }
    if (!track || nn_is_training(m, name)) {
        y = normalise(src, "xt_instance_norm", h, eps);
        if (track && nn_tracks(m)) track_instances(src, h, mean, var, o.momentum, length);
    } else {
        y = xt_sub__at(src, h, xt_unsqueeze_at(src, mean, -1));
        y = xt_mul_at(
            src, y,
            xt_unsqueeze_at(
                src, xt_rsqrt_at(src, xt_add_at(src, var, nn_given(src, "xt_instance_norm", eps, xt_dtype_of(var)))),
                -1));
    }
    y = shaped_as(src, y, t);
    if (o.affine == XT_ON) y = channel_affine(src, m, name, y, t, d);
    nn_layer_end();
    return xt_cast_at(src, y, t->dtype);
}

/* Krizhevsky et al. 2012, as PyTorch has it: the mean over `size` channels, size/2 of them before the channel,
 * zeros outside. */
xt_tensor xt_local_response_norm_at(const xt_src *src, xt_tensor x, int size, xt_lrn_opts o) {
    const ir_type *t = lazy_type(x);
    if (!t || t->rank < 3 || !ir_dtype_is_float(t->dtype) || size < 1 || t->count == 0)
        return nn_bad_input(src, "xt_local_response_norm", "", x,
                            "floats [N,C,...] and a size of at least 1 are needed");
    xt_tensor squares =
        xt_reshape_at(src, xt_square_at(src, x), (int64_t[XT_MAX_RANK + 1]){t->dims[0], 1, t->dims[1], -1});
    ir_builder *b = lazy_begin(src);
    int64_t front = size / 2, behind = (size - 1) / 2;
    if (size > 1)
        squares = lazy_wrap(ops_pad(b, lazy_value(squares), 2, 1, &front, &behind, XT_PAD_ZEROS, NULL),
                            "xt_local_response_norm");
    xt_tensor mean =
        xt_pool_at(src, true, 2, squares, 0, XT_OPTS(xt_pool_opts, .kernels = {size, 1}, .strides = {1, 1}));
    mean = shaped_as(src, mean, t);
    return xt_div_at(src, x,
                     xt_pow_scalar_at(src, xt_add_scalar_at(src, xt_mul_scalar_at(src, mean, o.alpha), o.k), o.beta));
}
