/* Bilinear layers, embeddings and learnt activations. Initialisation is PyTorch's: weights and biases uniform in
 * +-1/sqrt(fan_in) (kaiming_uniform with a = sqrt 5 comes to that), embeddings N(0,1). */
#include <math.h>

#include "nn/nn.h"
#include "ops/ops.h"

xt_tensor nn_bad_input(const xt_src *src, const char *what, const char *name, xt_tensor x, const char *need) {
    const ir_type *t = lazy_type(x);
    if (!t) { /* carries the operand's own error along */
        lazy_begin(src);
        return lazy_wrap(lazy_value(x), what);
    }
    str s = STR_INIT;
    ir_type_print(t, &s);
    xt_tensor e = lazy_error(src, XT_INVALID_ARGUMENT, "%s%s%s: the input is %s; %s", what, *name ? " " : "", name,
                             str_cstr(&s), need);
    str_free(&s);
    return e;
}

xt_dtype nn_param_dtype(const ir_type *x) {
    return x->dtype == XT_F64 ? XT_F64 : XT_F32;
}

xt_tensor nn_number(const xt_src *src, double v, xt_dtype dtype) {
    return lazy_wrap(ir_splat(lazy_begin(src), ir_scalar(dtype), v), "a constant");
}

xt_tensor nn_given(const xt_src *src, const char *what, double v, xt_dtype dtype) {
    return lazy_wrap(ops_number(src, what, dtype, v, NULL), what);
}

xt_tensor xt_bilinear_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_tensor z, int64_t out,
                         xt_linear_opts o) {
    const ir_type *t = lazy_type(x), *u = lazy_type(z);
    if (!t || t->rank < 1 || !ir_dtype_is_float(t->dtype) || out < 1)
        return nn_bad_input(src, "xt_bilinear", name, x,
                            "float tensors [...,I] and [...,J] and at least one output feature are needed");
    bool fits = u && u->rank == t->rank && ir_dtype_is_float(u->dtype);
    for (uint32_t i = 0; fits && i + 1 < t->rank; i++) fits = u->dims[i] == t->dims[i];
    if (!fits)
        return nn_bad_input(src, "xt_bilinear", name, z,
                            "the second input must agree with the first in all dims but the last");
    if (!nn_layer_begin(src, m, name)) return nn_bad_input(src, "xt_bilinear", name, (xt_tensor){0}, "");
    int64_t in1 = t->dims[t->rank - 1], in2 = u->dims[u->rank - 1], dims[XT_MAX_RANK + 1] = {0};
    double bound = in1 > 0 ? 1.0 / sqrt((double)in1) : 0;
    xt_tensor w =
        nn_tensor(src, m, name, "weight", true, NN_UNIFORM, bound, nn_param_dtype(t), 3, (int64_t[]){out, in1, in2});
    /* x [...,I] times [I, O*J], then the product with z summed over J. */
    w = xt_reshape_at(src, xt_transpose_at(src, w, 0, 1), (int64_t[XT_MAX_RANK + 1]){in1, out * in2});
    for (uint32_t i = 0; i + 1 < t->rank; i++) dims[i] = t->dims[i];
    dims[t->rank - 1] = out;
    dims[t->rank] = in2;
    xt_tensor y = t->rank < XT_MAX_RANK
                      ? xt_reshape_at(src, xt_matmul_at(src, x, w), dims)
                      : lazy_error(src, XT_INVALID_ARGUMENT, "xt_bilinear %s: at most %d dims", name, XT_MAX_RANK - 1);
    y = xt_sum_axis_at(src, xt_mul_at(src, y, xt_unsqueeze_at(src, z, -2)), -1);
    if (o.bias != XT_OFF)
        y = xt_add_at(src, y, nn_tensor(src, m, name, "bias", true, NN_UNIFORM, bound, nn_param_dtype(t), 1, &out));
    nn_layer_end();
    return y;
}

xt_tensor xt_prelu_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, int64_t channels) {
    const ir_type *t = lazy_type(x);
    if (!t || !ir_dtype_is_float(t->dtype) || channels < 1 || (channels > 1 && (t->rank < 2 || t->dims[1] != channels)))
        return nn_bad_input(src, "xt_prelu", name, x,
                            "floats are needed, and one weight or as many as dim 1 has channels");
    if (!nn_layer_begin(src, m, name)) return nn_bad_input(src, "xt_prelu", name, (xt_tensor){0}, "");
    xt_tensor w = nn_tensor(src, m, name, "weight", true, NN_CONSTANT, 0.25, nn_param_dtype(t), 1, &channels),
              spread = w;
    if (channels > 1)
        for (uint32_t i = 2; i < t->rank; i++) spread = xt_unsqueeze_at(src, spread, -1);
    xt_tensor zero = nn_number(src, 0, t->dtype);
    xt_tensor y = xt_where_at(src, xt_gt_at(src, x, zero), x, xt_mul_at(src, x, xt_cast_at(src, spread, t->dtype)));
    nn_layer_end();
    return y;
}

/* Of a table of integers only the rows that are asked for become f32. */
static xt_tensor looked_up(const xt_src *src, xt_module *m, const char *name, xt_tensor indices, int64_t vocab,
                           int64_t dim, int64_t pad) {
    char *full = nn_full_name(m, name, "weight");
    const nn_entry *e = full ? nn_integers(src, m->root, full, vocab, dim) : NULL;
    base_free(full);
    if (e) return nn_dequantized_rows(src, m->root, e, vocab, dim, indices);
    return ops_take(
        src, "xt_embedding",
        nn_tensor(src, m, name, "weight", true, NN_EMBEDDING, (double)pad, XT_F32, 2, (int64_t[]){vocab, dim}),
        indices);
}

xt_tensor xt_embedding_at(const xt_src *src, xt_module *m, const char *name, xt_tensor indices, int64_t vocab,
                          int64_t dim, xt_embedding_opts o) {
    const ir_type *t = lazy_type(indices);
    if (!t || !ir_dtype_is_int(t->dtype) || vocab < 1 || dim < 1)
        return nn_bad_input(src, "xt_embedding", name, indices, "integer indices, vocab >= 1 and dim >= 1 are needed");
    bool padded = o.padding_idx != XT_UNSET;
    int64_t pad = !padded ? -1 : o.padding_idx < 0 ? o.padding_idx + vocab : o.padding_idx;
    if (padded && (pad < 0 || pad >= vocab))
        return lazy_error(
            src, XT_INVALID_ARGUMENT,
            "xt_embedding %s: padding_idx is %lld; the %lld rows are numbered from 0, or from -1 backwards", name,
            (long long)o.padding_idx, (long long)vocab);
    if (!nn_layer_begin(src, m, name)) return nn_bad_input(src, "xt_embedding", name, (xt_tensor){0}, "");
    xt_tensor y = looked_up(src, m, name, indices, vocab, dim, pad);
    if (padded) { /* no gradient through the padding row */
        xt_tensor there = xt_eq_at(src, indices, nn_number(src, (double)pad, t->dtype));
        y = xt_where_at(src, xt_unsqueeze_at(src, there, -1), xt_detach_at(src, y), y);
    }
    nn_layer_end();
    return y;
}

xt_tensor xt_sequential_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, const xt_stage *stages) {
    if (!m) return lazy_error(src, XT_INVALID_ARGUMENT, "xt_sequential %s: the module is NULL", name);
    for (int i = 0; i <= XT_MAX_STAGES && stages[i].fn; i++) x = stages[i].fn(xt_sub(m, name, i), x, stages[i].user);
    return x;
}
