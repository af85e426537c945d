/* Linear algebra: products of tensors (matmul: tensor.h), attention, and torch.linalg, with names.h (multi_dot,
 * pinverse, lstsq, matrix_rank). What ops.h says of all holds here.
 *
 * Batch dims come first, matrices are the last two. f32 products are exact to f32; under autocast they take bf16.
 * Factorisations are of f32, f64 or complex numbers (f16 and bf16 are computed in f32): custom calls that the CPU
 * device knows; XLA's TPU compiler knows that of LU. Gradients flow through real matrices. */
#ifndef XTRAIN_LINALG_H
#define XTRAIN_LINALG_H

#include <xtrain/lists.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Products, norms, factorisations, attention --- */
/* "bij,bjk->bik": letters, "..." and spaces; without an arrow the labels that stand once, sorted. A repeated label in
 * one operand is its diagonal. */
/* xt_einsum("ij,j->i", 2, XT_TENSORS(a, x)) */
#define xt_einsum(spec, n, ...)                                                         \
    (XT_GIVEN_(#__VA_ARGS__, "xt_einsum(spec, n, operands, ...): operands is missing"), \
     xt_einsum_at(XT_HERE, spec, XT_NUMBER_(n), __VA_ARGS__))
/* empty lists: the outer product */
#define xt_tensordot(x, y, x_axes, y_axes) xt_tensordot_at(XT_HERE, x, y, XT_AXES_OF_(x_axes), XT_AXES_OF_(y_axes))
XT_API xt_tensor xt_einsum_at(const xt_src *src, const char *spec, int n, const xt_tensor *operands);
XT_API xt_tensor xt_tensordot_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_list x_axes, xt_list y_axes);
#define xt_mm(x, y) xt_mm_at(XT_HERE, x, y) /* [n,k] [k,m] */
#define xt_bmm(x, y) xt_bmm_at(XT_HERE, x, y) /* [B,n,k] [B,k,m] */
#define xt_mv(x, y) xt_mv_at(XT_HERE, x, y) /* [n,k] [k] */
#define xt_dot(x, y) xt_dot_at(XT_HERE, x, y) /* [n] [n] */
#define xt_outer(x, y) xt_outer_at(XT_HERE, x, y) /* [n] [m] */
#define xt_kron(x, y) xt_kron_at(XT_HERE, x, y) /* Kronecker product: [a,b] and [c,d] give [a c,b d] */
XT_API xt_tensor xt_mm_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_bmm_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_mv_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_dot_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_outer_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_kron_at(const xt_src *src, xt_tensor x, xt_tensor y);
#define XT_DEFAULTS_xt_addmm_opts(is) is(alpha, 1) is(beta, 1)
XT_DEFAULTS_OF(xt_addmm_opts)
typedef struct XT_OPTIONS_ xt_addmm_opts {
    size_t struct_size XT_SIZE(xt_addmm_opts);
    double alpha XT_IS(xt_addmm_opts, alpha), beta XT_IS(xt_addmm_opts, beta); /* beta c + alpha x y */
    bool no_input XT_ZERO; /* beta 0: c only says the shape */
} xt_addmm_opts;
/* beta c + alpha x y */
#define xt_addmm(c, x, ...)                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_addmm(c, x, y, ...): y is missing"), \
     XT_OPT3_(xt_addmm_at, xt_addmm_opts, c, x, __VA_ARGS__, ))
/* beta c + alpha x y, batch by batch */
#define xt_baddbmm(c, x, ...)                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_baddbmm(c, x, y, ...): y is missing"), \
     XT_OPT3_(xt_baddbmm_at, xt_addmm_opts, c, x, __VA_ARGS__, ))
XT_API xt_tensor xt_addmm_at(const xt_src *src, xt_tensor c, xt_tensor x, xt_tensor y, xt_addmm_opts o);
XT_API xt_tensor xt_baddbmm_at(const xt_src *src, xt_tensor c, xt_tensor x, xt_tensor y, xt_addmm_opts o);
/* xt_cross(x, y, axis = -1): an axis of size 3 */
#define xt_cross(x, ...) XT_CROSS_(x, __VA_ARGS__, -1, )
#define XT_CROSS_(x, y, axis, ...) (XT_LAST_(1, __VA_ARGS__), xt_cross_at(XT_HERE, x, y, XT_NUMBER_(axis)))
/* [...,n,d] [...,m,d] -> [...,n,m]; p > 0 */
/* xt_cdist(x, y, p = 2) */
#define xt_cdist(x, ...) (XT_GIVEN_(#__VA_ARGS__, "xt_cdist(x, y, ...): y is missing"), XT_CDIST_(x, __VA_ARGS__, 2, ))
#define XT_CDIST_(x, y, p, ...) (XT_LAST_(1, __VA_ARGS__), xt_cdist_at(XT_HERE, x, y, XT_NUMBER_(p)))
#define xt_matrix_power(a, n) xt_matrix_power_at(XT_HERE, a, XT_NUMBER_(n)) /* n < 0: of the inverse */
/* NaN where x is not positive definite */
/* xt_cholesky(x, upper = false) */
#define xt_cholesky(...) XT_CHOLESKY_(__VA_ARGS__, false, )
#define XT_CHOLESKY_(x, upper, ...) (XT_LAST_(1, __VA_ARGS__), xt_cholesky_at(XT_HERE, x, upper))
/* xt_cholesky_solve(y, l, upper = false): y [...,n,k]; l from xt_cholesky */
#define xt_cholesky_solve(y, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_cholesky_solve(y, l, ...): l is missing"), XT_CHOLESKY_SOLVE_(y, __VA_ARGS__, false, ))
#define XT_CHOLESKY_SOLVE_(y, l, upper, ...) (XT_LAST_(1, __VA_ARGS__), xt_cholesky_solve_at(XT_HERE, y, l, upper))
XT_API xt_tensor xt_cross_at(const xt_src *src, xt_tensor x, xt_tensor y, int axis);
XT_API xt_tensor xt_cdist_at(const xt_src *src, xt_tensor x, xt_tensor y, double p);
XT_API xt_tensor xt_matrix_power_at(const xt_src *src, xt_tensor a, int n);
XT_API xt_tensor xt_cholesky_at(const xt_src *src, xt_tensor x, bool upper);
XT_API xt_tensor xt_cholesky_solve_at(const xt_src *src, xt_tensor y, xt_tensor l, bool upper);
#define XT_DEFAULTS_xt_triangular_opts(is)
typedef struct XT_OPTIONS_ xt_triangular_opts {
    size_t struct_size XT_SIZE(xt_triangular_opts);
    bool upper XT_ZERO; /* a is its upper triangle; else the lower one: the other is not read */
    bool transpose XT_ZERO; /* a's transpose in place of a */
    bool unit_diagonal XT_ZERO; /* its diagonal counts as ones and is not read */
    bool right XT_ZERO; /* x a = y instead of a x = y */
} xt_triangular_opts;
/* the x of a x = y for a triangular a */
#define xt_triangular_solve(a, ...)                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_triangular_solve(a, y, ...): y is missing"), \
     XT_OPT2_(xt_triangular_solve_at, xt_triangular_opts, a, __VA_ARGS__, ))
XT_API xt_tensor xt_triangular_solve_at(const xt_src *src, xt_tensor a, xt_tensor y, xt_triangular_opts o);
/* Of general matrices: with at most 64 rows by an elimination that is recorded step by step, beyond by LU, a custom
 * call (linalg.h); infinities or NaN where a matrix is singular. */
#define xt_solve(a, y) xt_solve_at(XT_HERE, a, y) /* y [...,n,k] or [n] */
#define xt_inverse(a) xt_inverse_at(XT_HERE, a) /* of [...,n,n]; a singular one gives Inf or NaN */
#define xt_det(a) xt_det_at(XT_HERE, a) /* of [...,n,n]: [...] */
#define xt_logdet(a) xt_logdet_at(XT_HERE, a) /* ln det(a): NaN where it is negative */
/* sign and ln |det(a)|, [...] each */
#define xt_slogdet(a, out_sign, out_logabsdet) xt_slogdet_at(XT_HERE, a, out_sign, out_logabsdet)
XT_API xt_tensor xt_solve_at(const xt_src *src, xt_tensor a, xt_tensor y);
XT_API xt_tensor xt_inverse_at(const xt_src *src, xt_tensor a);
XT_API xt_tensor xt_det_at(const xt_src *src, xt_tensor a);
XT_API xt_tensor xt_logdet_at(const xt_src *src, xt_tensor a);
XT_API void xt_slogdet_at(const xt_src *src, xt_tensor a, xt_tensor *out_sign, xt_tensor *out_logabsdet);
/* Factorisations with torch.linalg's meanings, of matrices [...,m,n] of floats or complex numbers (16-bit floats in
 * f32); derivatives of real ones, of vectors only where the values differ. Signs of vectors are free. On xtrain's CPU
 * compiler by LAPACK; a device without them gets an error with this line. A LAPACK routine that does not converge gives
 * what it has. */
#define XT_DEFAULTS_xt_svd_opts(is) is(full_matrices, XT_ON)
XT_DEFAULTS_OF(xt_svd_opts)
typedef struct XT_OPTIONS_ xt_svd_opts {
    size_t struct_size XT_SIZE(xt_svd_opts);
    /* u [...,m,m] and vh [...,n,n]; off: [...,m,k] and [...,k,n], k = min(m,n); default on, as PyTorch's */
    xt_switch full_matrices XT_IS(xt_svd_opts, full_matrices);
} xt_svd_opts;
#define XT_DEFAULTS_xt_eigh_opts(is)
typedef struct XT_OPTIONS_ xt_eigh_opts {
    size_t struct_size XT_SIZE(xt_eigh_opts);
    bool upper XT_ZERO; /* read the upper triangle; default: the lower one */
} xt_eigh_opts;
#define XT_DEFAULTS_xt_qr_opts(is)
typedef struct XT_OPTIONS_ xt_qr_opts {
    size_t struct_size XT_SIZE(xt_qr_opts);
    /* q [...,m,m], r [...,m,n]; default: [...,m,k] and [...,k,n]. With m > n a complete q has no derivative */
    bool complete XT_ZERO;
} xt_qr_opts;
/* s [...,k] falling, real: x = u diag(s) vh */
#define xt_linalg_svd(x, out_u, out_s, ...)                                                     \
    (XT_GIVEN_(#__VA_ARGS__, "xt_linalg_svd(x, out_u, out_s, out_vh, ...): out_vh is missing"), \
     XT_SVD_(x, out_u, out_s, __VA_ARGS__, ))
#define XT_SVD_(x, out_u, out_s, out_vh, ...) \
    xt_linalg_svd_at(XT_HERE, x, XT_OPTS(xt_svd_opts, __VA_ARGS__), out_u, out_s, out_vh)
/* of a symmetric (Hermitian) x [...,n,n]: values [...,n] rising, vectors in columns */
#define xt_linalg_eigh(x, out_values, ...)                                                               \
    (XT_GIVEN_(#__VA_ARGS__, "xt_linalg_eigh(x, out_values, out_vectors, ...): out_vectors is missing"), \
     XT_EIGH_(x, out_values, __VA_ARGS__, ))
#define XT_EIGH_(x, out_values, out_vectors, ...) \
    xt_linalg_eigh_at(XT_HERE, x, XT_OPTS(xt_eigh_opts, __VA_ARGS__), out_values, out_vectors)
#define xt_linalg_qr(x, out_q, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_linalg_qr(x, out_q, out_r, ...): out_r is missing"), XT_QR_(x, out_q, __VA_ARGS__, ))
#define XT_QR_(x, out_q, out_r, ...) xt_linalg_qr_at(XT_HERE, x, XT_OPTS(xt_qr_opts, __VA_ARGS__), out_q, out_r)
#define xt_linalg_svdvals(x) xt_linalg_svdvals_at(XT_HERE, x)
#define xt_linalg_eigvalsh(...) XT_OPT1_(xt_linalg_eigvalsh_at, xt_eigh_opts, __VA_ARGS__, )
XT_API void xt_linalg_svd_at(const xt_src *src, xt_tensor x, xt_svd_opts o, xt_tensor *out_u, xt_tensor *out_s,
                             xt_tensor *out_vh);
XT_API void xt_linalg_eigh_at(const xt_src *src, xt_tensor x, xt_eigh_opts o, xt_tensor *out_values,
                              xt_tensor *out_vectors);
XT_API void xt_linalg_qr_at(const xt_src *src, xt_tensor x, xt_qr_opts o, xt_tensor *out_q, xt_tensor *out_r);
XT_API xt_tensor xt_linalg_svdvals_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_linalg_eigvalsh_at(const xt_src *src, xt_tensor x, xt_eigh_opts o);
#define XT_DEFAULTS_xt_sdpa_opts(is) is(scale, XT_AUTO)
XT_DEFAULTS_OF(xt_sdpa_opts)
typedef struct XT_OPTIONS_ xt_sdpa_opts {
    size_t struct_size XT_SIZE(xt_sdpa_opts);
    xt_tensor mask
        XT_ZERO; /* broadcasts to [...,L,S]: bool (true: may be seen) or floats to be added; none: everything */
    xt_switch causal XT_ZERO; /* query i sees keys 0 .. i; default off; not beside a mask */
    double scale XT_IS(xt_sdpa_opts, scale); /* XT_AUTO: 1 / sqrt(E) */
    double dropout XT_ZERO; /* of the weights, always applied: give it in training only */
    bool enable_gqa XT_ZERO; /* q has several heads (dim -3) for each of k and v */
} xt_sdpa_opts;
/* softmax(q k^T scale + mask) v: q [...,L,E], k [...,S,E], v [...,S,F] -> [...,L,F]. A row that may see nothing
 * gives zeros. */
#define xt_scaled_dot_product_attention(q, k, ...)                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_scaled_dot_product_attention(q, k, v, ...): v is missing"), \
     XT_OPT3_(xt_scaled_dot_product_attention_at, xt_sdpa_opts, q, k, __VA_ARGS__, ))
XT_API xt_tensor xt_scaled_dot_product_attention_at(const xt_src *src, xt_tensor q, xt_tensor k, xt_tensor v,
                                                    xt_sdpa_opts o);

/* --- LU with partial pivoting: a [...,m,n] = P L U, k the smaller side --- */
/* p [...,m,m], l [...,m,k], u [...,k,n] */
#define xt_linalg_lu(a, out_p, out_l, out_u) xt_linalg_lu_at(XT_HERE, a, out_p, out_l, out_u)
/* lu [...,m,n]: U and, below the diagonal, L without its ones; rows i32 [...,m]: row i of L U is row rows[i] of a (not
 * LAPACK's list of exchanges, which PyTorch's pivots are) */
#define xt_linalg_lu_factor(a, out_lu, out_rows) xt_linalg_lu_factor_at(XT_HERE, a, out_lu, out_rows)
/* the factors P, L, U of what xt_lu gives */
#define xt_linalg_lu_unpack(lu, rows, out_p, out_l, out_u) \
    xt_linalg_lu_unpack_at(XT_HERE, lu, rows, out_p, out_l, out_u)
#define xt_linalg_lu_solve(lu, rows, y) xt_linalg_lu_solve_at(XT_HERE, lu, rows, y) /* a x = y [...,n,k] */
XT_API void xt_linalg_lu_at(const xt_src *src, xt_tensor a, xt_tensor *out_p, xt_tensor *out_l, xt_tensor *out_u);
XT_API void xt_linalg_lu_factor_at(const xt_src *src, xt_tensor a, xt_tensor *out_lu, xt_tensor *out_rows);
XT_API void xt_linalg_lu_unpack_at(const xt_src *src, xt_tensor lu, xt_tensor rows, xt_tensor *out_p, xt_tensor *out_l,
                                   xt_tensor *out_u);
XT_API xt_tensor xt_linalg_lu_solve_at(const xt_src *src, xt_tensor lu, xt_tensor rows, xt_tensor y);

/* --- Eigenvalues of any square matrix: complex values [...,n], in no order, and vectors of length 1 as columns --- */
/* eigenvalues and eigenvectors of [...,n,n], complex */
#define xt_linalg_eig(a, out_values, out_vectors) xt_linalg_eig_at(XT_HERE, a, out_values, out_vectors)
#define xt_linalg_eigvals(a) xt_linalg_eigvals_at(XT_HERE, a) /* the eigenvalues of [...,n,n], complex */
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
