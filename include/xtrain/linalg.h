/* The rest of torch.linalg, beside ops.h (cholesky, solve, inverse, det, svd, eigh, qr, norms) and names.h (multi_dot,
 * pinverse, lstsq, matrix_rank): LU, eigenvalues of general matrices, reflectors, the exponential of a matrix.
 *
 * Matrices are the last two dims, of f32, f64 or complex numbers; f16 and bf16 are computed in f32. Factorisations are
 * custom calls that the CPU device knows; XLA's TPU compiler knows that of LU. Gradients flow through real matrices.
 * Mistakes are error tensors with this line; nothing waits. */
#ifndef XTRAIN_LINALG_H
#define XTRAIN_LINALG_H

#include <xtrain/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- LU with partial pivoting: a [...,m,n] = P L U, k the smaller side --- */
/* p [...,m,m], l [...,m,k], u [...,k,n] */
#define xt_linalg_lu(a, out_p, out_l, out_u) xt_linalg_lu_at(XT_HERE, a, out_p, out_l, out_u)
/* lu [...,m,n]: U and, below the diagonal, L without its ones; rows i32 [...,m]: row i of L U is row rows[i] of a (not
 * LAPACK's list of exchanges, which PyTorch's pivots are) */
#define xt_linalg_lu_factor(a, out_lu, out_rows) xt_linalg_lu_factor_at(XT_HERE, a, out_lu, out_rows)
#define xt_linalg_lu_unpack(lu, rows, out_p, out_l, out_u) \
    xt_linalg_lu_unpack_at(XT_HERE, lu, rows, out_p, out_l, out_u)
#define xt_linalg_lu_solve(lu, rows, y) xt_linalg_lu_solve_at(XT_HERE, lu, rows, y) /* a x = y [...,n,k] */
XT_API void xt_linalg_lu_at(const xt_src *src, xt_tensor a, xt_tensor *out_p, xt_tensor *out_l, xt_tensor *out_u);
XT_API void xt_linalg_lu_factor_at(const xt_src *src, xt_tensor a, xt_tensor *out_lu, xt_tensor *out_rows);
XT_API void xt_linalg_lu_unpack_at(const xt_src *src, xt_tensor lu, xt_tensor rows, xt_tensor *out_p, xt_tensor *out_l,
                                   xt_tensor *out_u);
XT_API xt_tensor xt_linalg_lu_solve_at(const xt_src *src, xt_tensor lu, xt_tensor rows, xt_tensor y);

/* --- Eigenvalues of any square matrix: complex values [...,n], in no order, and vectors of length 1 as columns --- */
#define xt_linalg_eig(a, out_values, out_vectors) xt_linalg_eig_at(XT_HERE, a, out_values, out_vectors)
#define xt_linalg_eigvals(a) xt_linalg_eigvals_at(XT_HERE, a)
XT_API void xt_linalg_eig_at(const xt_src *src, xt_tensor a, xt_tensor *out_values, xt_tensor *out_vectors);
XT_API xt_tensor xt_linalg_eigvals_at(const xt_src *src, xt_tensor a);

/* --- Others --- */
/* the first n columns of H1 H2 ... Hk, Hi = I - tau[i] v v^H, v the i-th column of [...,m,n] below the diagonal with a
 * 1 on it; tau [...,k] */
#define xt_householder_product(v, tau) xt_householder_product_at(XT_HERE, v, tau)
#define xt_orgqr(v, tau) xt_householder_product_at(XT_HERE, v, tau)
#define xt_matrix_exp(a) xt_matrix_exp_at(XT_HERE, a) /* scaled and squared as often as its norm asks for */
/* xt_tensorinv(a, ind = 2): the first ind dims against the others */
#define xt_tensorinv(...) XT_TENSORINV_(__VA_ARGS__, 2, )
#define XT_TENSORINV_(a, ind, ...) (XT_LAST_(1, __VA_ARGS__), xt_tensorinv_at(XT_HERE, a, XT_NUMBER_(ind)))
#define xt_tensorsolve(a, y) xt_tensorsolve_at(XT_HERE, a, y) /* x with xt_tensordot(a, x, all dims of x) = y */
XT_API xt_tensor xt_householder_product_at(const xt_src *src, xt_tensor v, xt_tensor tau);
XT_API xt_tensor xt_matrix_exp_at(const xt_src *src, xt_tensor a);
XT_API xt_tensor xt_tensorinv_at(const xt_src *src, xt_tensor a, int ind);
XT_API xt_tensor xt_tensorsolve_at(const xt_src *src, xt_tensor a, xt_tensor y);

#ifdef __cplusplus
}
#endif
#endif
