/* Attention: GPT-2's and PyTorch's layers over one scaled dot product, transformer layers, and positions. */
#include <math.h>

#include "nn/nn.h"

/* softmax(q k^T / sqrt(d)) v with heads side by side in the last dim, as GPT-2 lays them out. */
xt_tensor xt_self_attention_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_attention_opts o) {
    const ir_type *t = lazy_type(x);
    int64_t heads = o.heads ? o.heads : 1;
    if (!t || t->rank != 3 || !ir_dtype_is_float(t->dtype) || heads < 1 || t->dims[2] % heads)
        return nn_bad_input(src, "xt_self_attention", name, x, "floats [B,T,C] with C divisible by .heads are needed");
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
