/* Convolution layers: the weights and biases begin uniform in +-1/sqrt(fan_in), where fan_in is dim 1 of the weight
 * times the kernel's size (also for transposed convolutions, as in PyTorch). */
#include <math.h>

#include "nn/nn.h"

xt_tensor xt_conv_at(const xt_src *src, int n_spatial, bool transposed, xt_module *m, const char *name, xt_tensor x,
                     int64_t out, int kernel, xt_conv_opts o) {
    const ir_type *t = lazy_type(x);
    char what[32];
    snprintf(what, sizeof what, "xt_conv%s%dd", transposed ? "_transpose" : "", n_spatial);
    static const char *const need[] = {"[N,C,L] floats are needed", "[N,C,H,W] floats are needed",
                                       "[N,C,D,H,W] floats are needed"};
    int64_t groups = o.groups, w_dims[5], reach = 1;
    if (!t || n_spatial < 1 || n_spatial > 3 || !ir_dtype_is_float(t->dtype) ||
        ((int)t->rank != n_spatial + 2 && (int)t->rank != n_spatial + 1))
        return nn_bad_input(src, what, name, x, need[n_spatial < 1 || n_spatial > 3 ? 1 : n_spatial - 1]);
    int64_t in = t->dims[(int)t->rank - n_spatial - 1];
    for (int i = 0; i < n_spatial; i++) {
        w_dims[i + 2] = o.kernels[i] ? o.kernels[i] : kernel;
        if (w_dims[i + 2] < 1) return nn_bad_input(src, what, name, x, "the kernel must be at least 1 in every dim");
        reach *= w_dims[i + 2];
    }
    if (out < 1 || in < 1 || groups < 1 || in % groups || out % groups) {
        char text[160];
        snprintf(text, sizeof text,
                 "%lld input and %lld output channels must be positive and divisible by groups, which is %lld",
                 (long long)in, (long long)out, (long long)groups);
        return nn_bad_input(src, what, name, x, text);
    }
    if (!nn_layer_begin(src, m, name)) return nn_bad_input(src, what, name, (xt_tensor){0}, "");
    w_dims[0] = transposed ? in : out;
    w_dims[1] = (transposed ? out : in) / groups;
    double bound = 1.0 / sqrt((double)w_dims[1] * (double)reach);
    xt_tensor w = nn_tensor(src, m, name, "weight", true, NN_UNIFORM, bound, nn_param_dtype(t), n_spatial + 2, w_dims),
              b = {0};
    if (o.bias != XT_OFF || nn_has(m, name, "bias"))
        b = nn_tensor(src, m, name, "bias", true, NN_UNIFORM, bound, nn_param_dtype(t), 1, &out);
    char called[160];
    snprintf(called, sizeof called, "%s %.100s", what, name);
    lazy_calling outer = lazy_calling_begin(called, src);
    xt_tensor y =
        transposed ? xt_conv_transpose_fn_at(src, n_spatial, x, w, b, o) : xt_conv_fn_at(src, n_spatial, x, w, b, o);
    lazy_calling_end(outer);
    nn_layer_end();
    return y;
}
