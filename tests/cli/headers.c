/* Every kind of macro in ops.h, compiled (not run) as C11 and C++20 with -Wpedantic by install.sh: lists, options, shapes, arrays of tensors. */
#include <xtrain/xtrain.h>

int use_ops(void);
int use_ops(void) {
    xt_tensor x = xt_rand(XT_F32, 2, 3), v, i, part[4];
    const int64_t sizes[2] = {1, 1};
    xt_sum_axes(x, XT_AXES(0, -1), .keepdim = true);
    xt_sum_axes(x, XT_ALL_AXES);
    xt_var_axes(x, XT_AXES(1), .population = true);
    xt_norm_axes(x, XT_AXES(1), .p = 3);
    xt_sort(x, 0, &v, &i, .descending = true);
    xt_sort(x, 0, &v, &i);
    xt_argsort(x, 0);
    xt_topk(x, 2, 0, &v, &i, .smallest = true);
    xt_searchsorted(x, v, .right = true);
    xt_pad(x, XT_LIST(1, 2), .mode = XT_PAD_REFLECT);
    xt_permute(x, 1, 0);
    xt_repeat(x, XT_LIST(2, 3));
    xt_unflatten(x, 0, 2, -1);
    xt_unfold(x, 2, 2, .stride = 2);
    xt_fold(x, 4, 4, 2, 2, .stride = 2);
    xt_concat(2, XT_TENSORS(x, v), 0);
    xt_stack(2, XT_TENSORS(x, x), 0);
    xt_meshgrid(2, XT_TENSORS(x, x), true, part);
    xt_split_sizes(x, 2, sizes, 0, part);
    xt_einsum("ij,ij", 2, XT_TENSORS(x, x));
    xt_softplus(x);
    xt_softplus(x, .beta = 2);
    xt_isclose(x, v);
    xt_scatter_reduce(x, 0, i, x, XT_REDUCE_MEAN, .exclude_self = true);
    xt_index_put(x, 2, XT_TENSORS(i, i), v, .accumulate = true);
    xt_addmm(x, x, x, .beta = 2);
    xt_triangular_solve(x, v, .upper = true);
    xt_scaled_dot_product_attention(x, x, x, .causal = XT_ON);
    xt_fft(x, -1);
    xt_fftn(x, XT_AXES(0, 1), .norm = XT_FFT_ORTHO);
    xt_uniform(-1, 1, XT_F32, 2, 3);
    xt_trunc_normal(0, 1, -2, 2, XT_F32, 2);
    xt_exponential(1, XT_F32, 3);
    xt_acos(x);
    xt_zeros_like(x);
    return xt_is_error((xt_hypot)(x, x)); /* a function too */
}
