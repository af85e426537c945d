/* Draws of random numbers. What ops.h says of all holds here. */
#ifndef XTRAIN_RANDOM_H
#define XTRAIN_RANDOM_H

#include <xtrain/lists.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Random ---
 * As xt_rand: Philox by element index, another draw at every call, the same draws after the same xt_seed, the same bits
 * on every device. No gradient flows to a draw. PyTorch's streams of bits are others. */
/* xt_uniform(-1, 1, XT_F32, 2, 3): in [lo,hi) */
#define xt_uniform(lo, hi, ...)                                                   \
    (XT_GIVEN_(#__VA_ARGS__, "xt_uniform(lo, hi, dtype, ...): dtype is missing"), \
     XT_DIMS2_(xt_uniform_at, lo, hi, __VA_ARGS__, 0))
/* numbers of a normal distribution with this mean and std */
#define xt_normal(mean, std, ...)                                                   \
    (XT_GIVEN_(#__VA_ARGS__, "xt_normal(mean, std, dtype, ...): dtype is missing"), \
     XT_DIMS2_(xt_normal_at, mean, std, __VA_ARGS__, 0))
/* whole numbers lo .. hi-1 */
#define xt_randint(lo, hi, ...)                                                   \
    (XT_GIVEN_(#__VA_ARGS__, "xt_randint(lo, hi, dtype, ...): dtype is missing"), \
     XT_DIMS2_(xt_randint_at, lo, hi, __VA_ARGS__, 0))
/* numbers with the density rate e^(-rate x) */
#define xt_exponential(rate, ...)                                                   \
    (XT_GIVEN_(#__VA_ARGS__, "xt_exponential(rate, dtype, ...): dtype is missing"), \
     XT_DIMS1_(xt_exponential_at, rate, __VA_ARGS__, 0))
/* N(mean,std^2) without what lies outside of [lo,hi] */
#define xt_trunc_normal(mean, std, lo, hi, ...)                                                   \
    (XT_GIVEN_(#__VA_ARGS__, "xt_trunc_normal(mean, std, lo, hi, dtype, ...): dtype is missing"), \
     XT_DIMS4_(xt_trunc_normal_at, mean, std, lo, hi, __VA_ARGS__, 0))
#define XT_DIMS1_(f, a, dtype, ...) f(XT_HERE, XT_NUMBER_(a), XT_DTYPE_(dtype), XT_DIMS_(__VA_ARGS__))
#define XT_DIMS2_(f, a, b, dtype, ...) f(XT_HERE, XT_NUMBER_(a), XT_NUMBER_(b), XT_DTYPE_(dtype), XT_DIMS_(__VA_ARGS__))
#define XT_DIMS4_(f, a, b, c, d, dtype, ...) \
    f(XT_HERE, XT_NUMBER_(a), XT_NUMBER_(b), XT_NUMBER_(c), XT_NUMBER_(d), XT_DTYPE_(dtype), XT_DIMS_(__VA_ARGS__))
#define xt_rand_like(x) xt_rand_like_at(XT_HERE, x) /* in [0,1), of x's dims and dtype */
#define xt_randn_like(x) xt_randn_like_at(XT_HERE, x) /* standard normal, of x's dims and dtype */
#define xt_randperm(n) xt_randperm_at(XT_HERE, XT_NUMBER_(n)) /* i64 [n] */
/* 1 with the probability that stands there, else 0 */
#define xt_bernoulli(p) xt_bernoulli_at(XT_HERE, p)
/* [classes] or [N,classes] -> i64 [n] or [N,n] */
/* xt_multinomial(weights, n, replacement = false) */
#define xt_multinomial(weights, ...)                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_multinomial(weights, n, ...): n is missing"), \
     XT_MULTINOMIAL_(weights, __VA_ARGS__, false, ))
#define XT_MULTINOMIAL_(weights, n, replacement, ...) \
    (XT_LAST_(1, __VA_ARGS__), xt_multinomial_at(XT_HERE, weights, XT_NUMBER_(n), replacement))
/* hard: one-hot, with the soft one's gradient */
/* xt_gumbel_softmax(x, tau = 1, hard = false, axis = -1) */
#define xt_gumbel_softmax(...) XT_FILL3_(XT_GUMBEL_SOFTMAX_, 1, false, -1, __VA_ARGS__)
#define XT_GUMBEL_SOFTMAX_(x, tau, hard, axis, ...) \
    (XT_LAST_(0, __VA_ARGS__), xt_gumbel_softmax_at(XT_HERE, x, XT_NUMBER_(tau), hard, XT_NUMBER_(axis)))
/* always drops; the layer xt_dropout knows the mode */
#define xt_dropout_fn(x, p) xt_dropout_fn_at(XT_HERE, x, XT_NUMBER_(p))
XT_API xt_tensor xt_uniform_at(const xt_src *src, double lo, double hi, xt_dtype dtype, const int64_t *dims);
XT_API xt_tensor xt_normal_at(const xt_src *src, double mean, double std, xt_dtype dtype, const int64_t *dims);
XT_API xt_tensor xt_randint_at(const xt_src *src, int64_t lo, int64_t hi, xt_dtype dtype, const int64_t *dims);
XT_API xt_tensor xt_exponential_at(const xt_src *src, double rate, xt_dtype dtype, const int64_t *dims);
XT_API xt_tensor xt_trunc_normal_at(const xt_src *src, double mean, double std, double lo, double hi, xt_dtype dtype,
                                    const int64_t *dims);
XT_API xt_tensor xt_rand_like_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_randn_like_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_randperm_at(const xt_src *src, int64_t n);
XT_API xt_tensor xt_bernoulli_at(const xt_src *src, xt_tensor p);
XT_API xt_tensor xt_multinomial_at(const xt_src *src, xt_tensor weights, int64_t n, bool replacement);
XT_API xt_tensor xt_gumbel_softmax_at(const xt_src *src, xt_tensor x, double tau, bool hard, int axis);
XT_API xt_tensor xt_dropout_fn_at(const xt_src *src, xt_tensor x, double p);

#ifdef __cplusplus
}
#endif
#endif
