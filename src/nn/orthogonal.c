/* Matrices with orthonormal columns (or rows) made of a parameter without bounds in each pass, by pattern, as
 * torch.nn.utils.parametrizations.orthogonal computes them: of the lower triangle of X, as tall as wide or taller,
 *  - exp(A) or (I - A/2)^-1 (I + A/2), A = X - X^T, whose first columns are taken;
 *  - a product of Householder's reflections, with the signs of X's diagonal;
 * behind the base, a fixed orthogonal matrix. X begins as -I, where all maps give I (or -I), so the weight as the base
 * or its columns. Dims in front of the last two count matrices, each of which is orthogonal. */
#include <math.h>

#include <xtrain/linalg.h>

#include "nn/nn.h"
#include "ops/ops.h"

static const char what[] = "xt_orthogonal";

bool xt_orthogonal_at(const xt_src *src, xt_module *m, const char *pattern, xt_orthogonal_opts o) {
    if ((unsigned)o.orthogonal_map > XT_HOUSEHOLDER) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "%s: .orthogonal_map = %d: an xt_orthogonal_map is expected",
                             what, (int)o.orthogonal_map));
        return false;
    }
    return nn_wish_parametrized(what, m, pattern,
                                (nn_wish){.src = src_intern(src), .what = NN_WISH_ORTHOGONAL, .orthogonal = o});
}

/* The first X, unless it is there or a file has one: -I; without a base the layer's own first numbers below such a
 * diagonal. */
static xt_status begin_x(nn_root *root, const char *name, const ir_type *t, nn_recipe r, bool base) {
    if (!nn_is_new(root, name)) return NULL;
    void *drawn = NULL;
    if (!base) XT_TRY(nn_first_value(name, &r, t, &drawn));
    char *x = drawn ? drawn : base_calloc(1, ir_type_bytes(t) + 1);
    if (!x) return status_oom(ir_type_bytes(t), name);
    int64_t rows = t->dims[t->rank - 2], columns = t->dims[t->rank - 1];
    for (int64_t at = 0; at < t->count; at += rows * columns)
        for (int64_t i = 0; i < rows && i < columns; i++) {
            if (t->dtype == XT_F64)
                ((double *)x)[at + i * columns + i] = -1;
            else
                ((float *)x)[at + i * columns + i] = -1;
        }
    xt_status s = nn_preload(root, name, t, x);
    base_free(x);
    return s;
}

/* x [...,n,k], n >= k -> [...,n,k] */
static xt_tensor by_skew(const xt_src *src, xt_tensor x, int64_t n, int64_t k, bool cayley, xt_dtype dtype) {
    x = xt_tril_at(src, x, 0);
    xt_list behind = {2, {0, n - k}};
    if (n != k) x = xt_pad_at(src, x, behind, XT_OPTS(xt_pad_opts, ));
    xt_tensor a = xt_sub__at(src, x, xt_transpose_at(src, x, -2, -1)), q;
    if (cayley) {
        xt_tensor one = xt_eye_at(src, n, n, dtype), half = xt_mul_scalar_at(src, a, 0.5);
        q = xt_solve_at(src, xt_sub__at(src, one, half), xt_add_at(src, one, half));
    } else
        q = xt_matrix_exp_at(src, a);
    return n == k ? q : xt_slice_at(src, q, -1, 0, k);
}

static xt_tensor by_reflections(const xt_src *src, xt_tensor x, xt_dtype dtype) {
    xt_tensor a = xt_tril_at(src, x, -1);
    xt_tensor size = xt_sum_axis_at(src, xt_square_at(src, a), -2);
    xt_tensor tau = xt_div_at(src, xt_full_like_at(src, size, 2), xt_add_scalar_at(src, size, 1));
    /* the diagonal is 1 and -1, and stays so: no gradient flows through whole numbers */
    xt_tensor signs = xt_cast_at(src, xt_cast_at(src, xt_diagonal_at(src, x, 0, -2, -1), XT_I32), dtype);
    return xt_mul_at(src, xt_householder_product_at(src, a, tau), xt_unsqueeze_at(src, signs, -2));
}

xt_tensor nn_orthogonal(const xt_src *src, xt_module *m, const char *layer, const char *leaf, nn_recipe first,
                        xt_dtype dtype, int rank, const int64_t *dims, const xt_orthogonal_opts *o) {
    char names[2][96];
    const char *owner = layer;
    static const char *const parts[2] = {"original", "0.base"};
    if (rank < 2)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: %s has %d dims; matrices are expected, in its last two dims: another pattern", what,
                          *leaf ? leaf : layer, rank);
    for (int i = 0; i < 2; i++)
        if (!nn_parametrization(src, what, layer, leaf, parts[i], names[i], sizeof names[i], &owner))
            return lazy_failed_tensor(src);
    bool wide = dims[rank - 2] < dims[rank - 1], based = o->use_trivialization != XT_OFF;
    int64_t n = dims[rank - 2 + wide], k = dims[rank - 1 - wide];
    xt_orthogonal_map how = o->orthogonal_map != XT_MAP_DEFAULT ? o->orthogonal_map
                            : n == k                            ? XT_MATRIX_EXP
                                                                : XT_HOUSEHOLDER;
    char *full = nn_full_name(m, owner, names[0]);
    const ir_type *type = ir_tensor(dtype, (size_t)rank, dims);
    xt_status s = full && type ? begin_x(m->root, full, type, first, based) : status_oom(sizeof *type, names[0]);
    base_free(full);
    if (s) {
        lazy_fail(status_at(s, src));
        return lazy_failed_tensor(src);
    }
    xt_tensor x = nn_tensor(src, m, owner, names[0], true, NN_ZEROS, 0, dtype, rank, dims);
    if (wide) x = xt_transpose_at(src, x, -2, -1);
    xt_tensor q =
        how == XT_HOUSEHOLDER ? by_reflections(src, x, dtype) : by_skew(src, x, n, k, how == XT_CAYLEY, dtype);
    if (based) {
        int64_t square[XT_MAX_RANK];
        memcpy(square, dims, (size_t)rank * sizeof *square);
        square[rank - 2] = square[rank - 1] = n;
        xt_tensor base = nn_tensor(src, m, owner, names[1], false, NN_ORTHOGONAL_EACH, 1, dtype, rank, square);
        q = xt_matmul_at(src, base, q);
    }
    return wide ? xt_transpose_at(src, q, -2, -1) : q;
}
