/* Layers: parameters by name and the ops over them. Initialisation is PyTorch's: weights and biases of linear and convolution uniform in
 * +-1/sqrt(fan_in) (kaiming_uniform with a = sqrt 5 comes to that), embeddings N(0,1), norms 1 and 0. */
#include <math.h>

#include "nn/nn.h"

static xt_tensor failed(const xt_src *src, const char *what, const char *name, xt_tensor x, const char *need) {
    const ir_type *t = lazy_type(x);
    if (!t) { /* carries the operand's own error along */
        lazy_begin(src);
        return lazy_wrap(lazy_value(x), what);
    }
    str s = STR_INIT;
    ir_type_print(t, &s);
    xt_tensor e = lazy_error(src, XT_INVALID_ARGUMENT, "%s %s: the input is %s; %s", what, name, str_cstr(&s), need);
    str_free(&s);
    return e;
}

static xt_dtype param_dtype(const ir_type *x) { return ir_dtype_is_float(x->dtype) && x->dtype == XT_F64 ? XT_F64 : XT_F32; }

xt_tensor xt_linear_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, int64_t out, xt_linear_opts o) {
    const ir_type *t = lazy_type(x);
    if (!t || t->rank < 1 || !ir_dtype_is_float(t->dtype) || out < 1) return failed(src, "xt_linear", name, x, "a float tensor [...,I] and at least one output feature are needed");
    if (!nn_layer_begin(src, m, name)) return failed(src, "xt_linear", name, (xt_tensor){0}, "");
    int64_t in = t->dims[t->rank - 1];
    double bound = in > 0 ? 1.0 / sqrt((double)in) : 0;
    xt_tensor w = nn_tensor(src, m, name, "weight", true, NN_UNIFORM, bound, param_dtype(t), 2, (int64_t[]){out, in});
    xt_tensor y = xt_matmul_at(src, x, xt_transpose_at(src, w, 0, 1));
    if (o.bias != XT_OFF) y = xt_add_at(src, y, nn_tensor(src, m, name, "bias", true, NN_UNIFORM, bound, param_dtype(t), 1, &out));
    nn_layer_end();
    return y;
}

xt_tensor xt_conv2d_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, int64_t out, int kernel, xt_conv_opts o) {
    const ir_type *t = lazy_type(x);
    int groups = o.groups ? o.groups : 1;
    if (!t || t->rank != 4 || !ir_dtype_is_float(t->dtype)) return failed(src, "xt_conv2d", name, x, "[N,C,H,W] floats are needed");
    if (kernel < 1 || out < 1 || groups < 1 || t->dims[1] % groups || out % groups)
        return failed(src, "xt_conv2d", name, x, "kernel and output channels must be positive, and groups must divide both channel counts");
    if (!nn_layer_begin(src, m, name)) return failed(src, "xt_conv2d", name, (xt_tensor){0}, "");
    int64_t w_dims[4] = {out, t->dims[1] / groups, kernel, kernel};
    double bound = 1.0 / sqrt((double)(w_dims[1] * kernel * kernel));
    xt_tensor w = nn_tensor(src, m, name, "weight", true, NN_UNIFORM, bound, param_dtype(t), 4, w_dims), b = {0};
    if (o.bias != XT_OFF) b = nn_tensor(src, m, name, "bias", true, NN_UNIFORM, bound, param_dtype(t), 1, &out);
    xt_tensor y = xt_conv2d_fn_at(src, x, w, b, o);
    nn_layer_end();
    return y;
}

/* running = running * (1 - momentum) + batch * momentum; PyTorch keeps the unbiased variance there. */
static void update_running(const xt_src *src, xt_tensor running, ir_value *batch, double momentum, double correction) {
    ir_builder *b = lazy_begin(src);
    ir_value *old = lazy_value(running);
    if (!old || !batch) return;
    ir_value *keep = ir_multiply(b, old, ir_splat(b, old->type, 1 - momentum));
    ir_value *add = ir_multiply(b, batch, ir_splat(b, batch->type, momentum * correction));
    xt_tensor value = lazy_wrap(ir_add(b, keep, add), "batch norm statistics");
    if (!lazy_is_error(value)) lazy_assign(running, value);
}

static xt_tensor batch_norm_train(const xt_src *src, xt_tensor x, xt_tensor w, xt_tensor bias, xt_tensor mean, xt_tensor var, xt_tensor count, double eps, double momentum) {
    const ir_type *t = lazy_type(x);
    int64_t per_channel = t->dims[1] ? t->count / t->dims[1] : 0;
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x), *scale = lazy_value(w), *offset = lazy_value(bias), *out[3] = {0};
    xt_dtype compute = scale ? scale->type->dtype : XT_F32;
    if (v && scale && offset) ir_batch_norm_training(b, ir_convert(b, v, compute), scale, offset, (float)eps, 1, out);
    xt_tensor y = lazy_wrap(out[0] ? ir_convert(b, out[0], t->dtype) : NULL, "xt_batch_norm");
    if (lazy_is_error(y)) return y;
    xt_no_grad_begin();
    update_running(src, mean, out[1], momentum, 1);
    update_running(src, var, out[2], momentum, per_channel > 1 ? (double)per_channel / (double)(per_channel - 1) : 1);
    b = lazy_begin(src);
    ir_value *n = lazy_value(count);
    if (n) lazy_assign(count, lazy_wrap(ir_add(b, n, ir_splat(b, n->type, 1)), "batch norm statistics"));
    xt_no_grad_end();
    return y;
}

xt_tensor xt_batch_norm_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_norm_opts o) {
    const ir_type *t = lazy_type(x);
    if (!t || t->rank < 2 || !ir_dtype_is_float(t->dtype)) return failed(src, "xt_batch_norm", name, x, "floats [N,C,...] are needed");
    double eps = o.eps ? o.eps : 1e-5, momentum = o.momentum ? o.momentum : 0.1;
    if (eps < 0 || momentum < 0 || momentum > 1) return failed(src, "xt_batch_norm", name, x, "eps must be positive and momentum between 0 and 1");
    if (xt_is_training(m) && t->dims[1] && t->count / t->dims[1] < 2)
        return failed(src, "xt_batch_norm", name, x, "more than one value per channel is needed in training mode (call xt_eval, or use a larger batch)");
    if (!nn_layer_begin(src, m, name)) return failed(src, "xt_batch_norm", name, (xt_tensor){0}, "");
    xt_dtype d = param_dtype(t);
    int64_t c = t->dims[1];
    bool affine = o.affine != XT_OFF;
    xt_tensor w = affine ? nn_tensor(src, m, name, "weight", true, NN_ONES, 0, d, 1, &c) : xt_full_at(src, 1, d, (int64_t[]){c, 0});
    xt_tensor b = affine ? nn_tensor(src, m, name, "bias", true, NN_ZEROS, 0, d, 1, &c) : xt_full_at(src, 0, d, (int64_t[]){c, 0});
    xt_tensor mean = nn_tensor(src, m, name, "running_mean", false, NN_ZEROS, 0, d, 1, &c);
    xt_tensor var = nn_tensor(src, m, name, "running_var", false, NN_ONES, 0, d, 1, &c);
    xt_tensor count = nn_tensor(src, m, name, "num_batches_tracked", false, NN_ZEROS, 0, XT_I64, 0, NULL);
    xt_tensor y;
    if (xt_is_training(m)) y = batch_norm_train(src, x, w, b, mean, var, count, eps, momentum);
    else {
        ir_builder *bl = lazy_begin(src);
        ir_value *v = lazy_value(x), *vw = lazy_value(w), *vb = lazy_value(b), *vm = lazy_value(mean), *vv = lazy_value(var);
        y = lazy_wrap(v && vw && vb && vm && vv ? ir_convert(bl, ir_batch_norm_inference(bl, ir_convert(bl, v, d), vw, vb, vm, vv, (float)eps, 1), t->dtype) : NULL, "xt_batch_norm");
    }
    nn_layer_end();
    return y;
}

xt_tensor xt_layer_norm_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_norm_opts o) {
    const ir_type *t = lazy_type(x);
    if (!t || t->rank < 1 || !ir_dtype_is_float(t->dtype)) return failed(src, "xt_layer_norm", name, x, "floats [...,C] are needed");
    if (!nn_layer_begin(src, m, name)) return failed(src, "xt_layer_norm", name, (xt_tensor){0}, "");
    xt_dtype d = param_dtype(t);
    int64_t c = t->dims[t->rank - 1];
    xt_tensor h = xt_cast_at(src, x, d);
    xt_tensor centred = xt_sub__at(src, h, xt_unsqueeze_at(src, xt_mean_axis_at(src, h, -1), -1));
    xt_tensor var = xt_unsqueeze_at(src, xt_mean_axis_at(src, xt_square_at(src, centred), -1), -1);
    xt_tensor y = xt_mul_at(src, centred, xt_rsqrt_at(src, xt_add_scalar_at(src, var, o.eps ? o.eps : 1e-5)));
    if (o.affine != XT_OFF) {
        y = xt_mul_at(src, y, nn_tensor(src, m, name, "weight", true, NN_ONES, 0, d, 1, &c));
        y = xt_add_at(src, y, nn_tensor(src, m, name, "bias", true, NN_ZEROS, 0, d, 1, &c));
    }
    nn_layer_end();
    return xt_cast_at(src, y, t->dtype);
}

xt_tensor xt_embedding_at(const xt_src *src, xt_module *m, const char *name, xt_tensor indices, int64_t vocab, int64_t dim) {
    const ir_type *t = lazy_type(indices);
    if (!t || !ir_dtype_is_int(t->dtype) || vocab < 1 || dim < 1) return failed(src, "xt_embedding", name, indices, "integer indices, vocab >= 1 and dim >= 1 are needed");
    if (!nn_layer_begin(src, m, name)) return failed(src, "xt_embedding", name, (xt_tensor){0}, "");
    xt_tensor y = xt_take_at(src, nn_tensor(src, m, name, "weight", true, NN_NORMAL, 1, XT_F32, 2, (int64_t[]){vocab, dim}), indices);
    nn_layer_end();
    return y;
}

xt_tensor xt_dropout_at(const xt_src *src, xt_module *m, xt_tensor x, double p) {
    const ir_type *t = lazy_type(x);
    if (!t || !ir_dtype_is_float(t->dtype) || !(p >= 0 && p < 1)) return failed(src, "xt_dropout", "", x, "floats and a probability in [0,1) are needed");
    if (!xt_is_training(m) || p == 0) return x;
    int64_t dims[XT_MAX_RANK + 1] = {0};
    for (uint32_t i = 0; i < t->rank; i++) dims[i] = t->dims[i];
    xt_tensor mask = xt_cast_at(src, xt_ge_at(src, xt_rand_at(src, XT_F32, dims), xt_full_at(src, p, XT_F32, (int64_t[]){0})), t->dtype);
    return xt_mul_scalar_at(src, xt_mul_at(src, x, mask), 1 / (1 - p));
}

/* softmax(q k^T / sqrt(d)) v with heads side by side in the last dim, as GPT-2 lays them out. */
xt_tensor xt_self_attention_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_attention_opts o) {
    const ir_type *t = lazy_type(x);
    int64_t heads = o.heads ? o.heads : 1;
    if (!t || t->rank != 3 || !ir_dtype_is_float(t->dtype) || heads < 1 || t->dims[2] % heads)
        return failed(src, "xt_self_attention", name, x, "floats [B,T,C] with C divisible by .heads are needed");
    int64_t B = t->dims[0], T = t->dims[1], C = t->dims[2], D = C / heads;
    xt_module *sub = xt_sub(m, name, -1);
    xt_tensor qkv = xt_linear_at(src, sub, "c_attn", x, 3 * C, (xt_linear_opts){0}), part[3];
    for (int i = 0; i < 3; i++) {
        xt_tensor h = xt_reshape_at(src, xt_slice_at(src, qkv, 2, i * C, (i + 1) * C), (int64_t[XT_MAX_RANK + 1]){B, T, heads, D});
        part[i] = xt_permute_at(src, h, 4, (int[]){0, 2, 1, 3}); /* [B,heads,T,D] */
    }
    xt_tensor scores = xt_mul_scalar_at(src, xt_matmul_at(src, part[0], xt_transpose_at(src, part[1], 2, 3)), 1 / sqrt((double)D));
    if (o.causal == XT_ON) {
        xt_tensor at = xt_arange_at(src, T, XT_I32);
        xt_tensor allowed = xt_ge_at(src, xt_unsqueeze_at(src, at, 1), xt_unsqueeze_at(src, at, 0)); /* row i sees columns <= i */
        scores = xt_where_at(src, allowed, scores, xt_full_at(src, -1e30, lazy_type(scores) ? lazy_type(scores)->dtype : XT_F32, (int64_t[]){0}));
    }
    xt_tensor p = xt_softmax_at(src, scores, -1);
    if (o.dropout > 0) p = xt_dropout_at(src, m, p, o.dropout);
    xt_tensor y = xt_permute_at(src, xt_matmul_at(src, p, part[2]), 4, (int[]){0, 2, 1, 3});
    return xt_linear_at(src, sub, "c_proj", xt_reshape_at(src, y, (int64_t[XT_MAX_RANK + 1]){B, T, C}), C, (xt_linear_opts){0});
}
