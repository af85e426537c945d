/* The functions of torch.special that tensor.h, ops.h and names.h do not have: Bessel functions, orthogonal
 * polynomials, the incomplete gamma function.
 *
 * x is a tensor of any shape; the result has that shape and is f32 of integers, else x's dtype (f16 and bf16 are
 * computed in f32). All have gradients, where PyTorch's often have none. Nothing waits; mistakes are error tensors with
 * this line. */
#ifndef XTRAIN_SPECIAL_H
#define XTRAIN_SPECIAL_H

#include <xtrain/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Of each element --- */
#define xt_i0(x) xt_i0_at(XT_HERE, x) /* modified Bessel function of the first kind, order 0 */
#define xt_i0e(x) xt_i0e_at(XT_HERE, x) /* times e^-|x| */
#define xt_i1(x) xt_i1_at(XT_HERE, x) /* modified Bessel function of the first kind, order 1 */
#define xt_i1e(x) xt_i1e_at(XT_HERE, x) /* i1(x) e^-|x| */
#define xt_bessel_j0(x) \
    xt_bessel_j0_at(XT_HERE, x) /* Bessel functions of the first and the second kind (NaN below 0) */
#define xt_bessel_j1(x) xt_bessel_j1_at(XT_HERE, x) /* Bessel function of the first kind, order 1 */
#define xt_bessel_y0(x) xt_bessel_y0_at(XT_HERE, x) /* Bessel function of the second kind, order 0; x > 0 */
#define xt_bessel_y1(x) xt_bessel_y1_at(XT_HERE, x) /* Bessel function of the second kind, order 1; x > 0 */
#define xt_modified_bessel_k0(x) \
    xt_modified_bessel_k0_at(XT_HERE, x) /* of the second kind (NaN below 0); scaled: times e^x */
/* modified Bessel function of the second kind, order 1; x > 0 */
#define xt_modified_bessel_k1(x) xt_modified_bessel_k1_at(XT_HERE, x)
#define xt_scaled_modified_bessel_k0(x) xt_scaled_modified_bessel_k0_at(XT_HERE, x) /* k0(x) e^x */
#define xt_scaled_modified_bessel_k1(x) xt_scaled_modified_bessel_k1_at(XT_HERE, x) /* k1(x) e^x */
#define xt_spherical_bessel_j0(x) xt_spherical_bessel_j0_at(XT_HERE, x) /* sin(x) / x */
#define xt_erfcx(x) xt_erfcx_at(XT_HERE, x) /* e^(x^2) erfc(x) */
#define xt_modified_bessel_i0(x) xt_i0_at(XT_HERE, x)
#define xt_modified_bessel_i1(x) xt_i1_at(XT_HERE, x)
XT_API xt_tensor xt_i0_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_i0e_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_i1_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_i1e_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_bessel_j0_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_bessel_j1_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_bessel_y0_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_bessel_y1_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_modified_bessel_k0_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_modified_bessel_k1_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_scaled_modified_bessel_k0_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_scaled_modified_bessel_k1_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_spherical_bessel_j0_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_erfcx_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_i0)(xt_tensor x);
XT_API xt_tensor(xt_i0e)(xt_tensor x);
XT_API xt_tensor(xt_i1)(xt_tensor x);
XT_API xt_tensor(xt_i1e)(xt_tensor x);
XT_API xt_tensor(xt_bessel_j0)(xt_tensor x);
XT_API xt_tensor(xt_bessel_j1)(xt_tensor x);
XT_API xt_tensor(xt_bessel_y0)(xt_tensor x);
XT_API xt_tensor(xt_bessel_y1)(xt_tensor x);
XT_API xt_tensor(xt_modified_bessel_k0)(xt_tensor x);
XT_API xt_tensor(xt_modified_bessel_k1)(xt_tensor x);
XT_API xt_tensor(xt_scaled_modified_bessel_k0)(xt_tensor x);
XT_API xt_tensor(xt_scaled_modified_bessel_k1)(xt_tensor x);
XT_API xt_tensor(xt_spherical_bessel_j0)(xt_tensor x);
XT_API xt_tensor(xt_erfcx)(xt_tensor x);

/* --- Polynomials of degree n, 0 for n below 0; a program grows with n, at most 256 --- */
/* Chebyshev polynomial of the first kind, of degree n */
#define xt_chebyshev_polynomial_t(x, n) xt_chebyshev_polynomial_t_at(XT_HERE, x, XT_NUMBER_(n))
/* Chebyshev polynomial of the second kind, of degree n */
#define xt_chebyshev_polynomial_u(x, n) xt_chebyshev_polynomial_u_at(XT_HERE, x, XT_NUMBER_(n))
/* Chebyshev polynomial of the third kind, of degree n */
#define xt_chebyshev_polynomial_v(x, n) xt_chebyshev_polynomial_v_at(XT_HERE, x, XT_NUMBER_(n))
/* Chebyshev polynomial of the fourth kind, of degree n */
#define xt_chebyshev_polynomial_w(x, n) xt_chebyshev_polynomial_w_at(XT_HERE, x, XT_NUMBER_(n))
/* Chebyshev polynomial of the first kind of 2 x - 1 */
#define xt_shifted_chebyshev_polynomial_t(x, n) xt_shifted_chebyshev_polynomial_t_at(XT_HERE, x, XT_NUMBER_(n))
/* Chebyshev polynomial of the second kind of 2 x - 1 */
#define xt_shifted_chebyshev_polynomial_u(x, n) xt_shifted_chebyshev_polynomial_u_at(XT_HERE, x, XT_NUMBER_(n))
/* Chebyshev polynomial of the third kind of 2 x - 1 */
#define xt_shifted_chebyshev_polynomial_v(x, n) xt_shifted_chebyshev_polynomial_v_at(XT_HERE, x, XT_NUMBER_(n))
/* Chebyshev polynomial of the fourth kind of 2 x - 1 */
#define xt_shifted_chebyshev_polynomial_w(x, n) xt_shifted_chebyshev_polynomial_w_at(XT_HERE, x, XT_NUMBER_(n))
/* Hermite polynomial of degree n, the physicists' */
#define xt_hermite_polynomial_h(x, n) xt_hermite_polynomial_h_at(XT_HERE, x, XT_NUMBER_(n))
/* Hermite polynomial of degree n, the probabilists' */
#define xt_hermite_polynomial_he(x, n) xt_hermite_polynomial_he_at(XT_HERE, x, XT_NUMBER_(n))
/* Laguerre polynomial of degree n */
#define xt_laguerre_polynomial_l(x, n) xt_laguerre_polynomial_l_at(XT_HERE, x, XT_NUMBER_(n))
/* Legendre polynomial of degree n */
#define xt_legendre_polynomial_p(x, n) xt_legendre_polynomial_p_at(XT_HERE, x, XT_NUMBER_(n))
XT_API xt_tensor xt_chebyshev_polynomial_t_at(const xt_src *src, xt_tensor x, int n);
XT_API xt_tensor xt_chebyshev_polynomial_u_at(const xt_src *src, xt_tensor x, int n);
XT_API xt_tensor xt_chebyshev_polynomial_v_at(const xt_src *src, xt_tensor x, int n);
XT_API xt_tensor xt_chebyshev_polynomial_w_at(const xt_src *src, xt_tensor x, int n);
XT_API xt_tensor xt_shifted_chebyshev_polynomial_t_at(const xt_src *src, xt_tensor x, int n);
XT_API xt_tensor xt_shifted_chebyshev_polynomial_u_at(const xt_src *src, xt_tensor x, int n);
XT_API xt_tensor xt_shifted_chebyshev_polynomial_v_at(const xt_src *src, xt_tensor x, int n);
XT_API xt_tensor xt_shifted_chebyshev_polynomial_w_at(const xt_src *src, xt_tensor x, int n);
XT_API xt_tensor xt_hermite_polynomial_h_at(const xt_src *src, xt_tensor x, int n);
XT_API xt_tensor xt_hermite_polynomial_he_at(const xt_src *src, xt_tensor x, int n);
XT_API xt_tensor xt_laguerre_polynomial_l_at(const xt_src *src, xt_tensor x, int n);
XT_API xt_tensor xt_legendre_polynomial_p_at(const xt_src *src, xt_tensor x, int n);

/* --- The regularised incomplete gamma function, lower and upper; a and x broadcast, with gradients to both --- */
#define xt_gammainc(a, x) xt_gammainc_at(XT_HERE, a, x) /* P(a, x): the lower incomplete gamma function by gamma(a) */
#define xt_gammaincc(a, x) xt_gammaincc_at(XT_HERE, a, x) /* 1 - P(a, x) */
#define xt_igamma(a, x) xt_gammainc_at(XT_HERE, a, x)
#define xt_igammac(a, x) xt_gammaincc_at(XT_HERE, a, x)
XT_API xt_tensor xt_gammainc_at(const xt_src *src, xt_tensor a, xt_tensor x);
XT_API xt_tensor xt_gammaincc_at(const xt_src *src, xt_tensor a, xt_tensor x);

#ifdef __cplusplus
}
#endif
#endif
