/* Probability distributions: torch.distributions with its formulas.
 *
 * A distribution is a small value that names tensors; it owns nothing, costs nothing to make, and is good until the
 * step ends in which it was made: make it where it is used. Parameters broadcast against each other to the batch shape
 * and become floats of one dtype. The last xt_dist_event_dims() dims of a sample are one event (a vector of a
 * Dirichlet, of a multivariate normal); log_prob, entropy and kl have a number for each event.
 *
 *     xt_dist q = xt_independent_dist(xt_normal_dist(mean, std), 1);         // [B,D]: B events of D numbers
 *     xt_tensor z = xt_dist_rsample(q);                                      // [B,D], differentiable in mean and std
 *     xt_dist p = xt_independent_dist(xt_normal_dist(xt_zeros_like(mean), xt_ones_like(std)), 1);
 *     xt_tensor loss = xt_mean(xt_dist_kl(q, p));                            // [B] -> []
 *
 * A mistake (shapes that do not broadcast, a function that a distribution does not have) gives error tensors with the
 * line, as everywhere. Values of parameters are not looked at, for that would wait for the device: outside of their
 * range results are NaN or infinite. A value outside of the support has the log-probability -infinity, where PyTorch
 * raises an error. Nothing here waits for the device. */
#ifndef XTRAIN_DISTRIBUTIONS_H
#define XTRAIN_DISTRIBUTIONS_H

#include <xtrain/base.h>
#include <xtrain/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { XT_DIST_PARAMS = 3, XT_DIST_LAYERS = 6 };
typedef struct xt_dist_layer { /* the library's */
    int kind, n;
    xt_tensor a, b;
} xt_dist_layer;
/* The fields are the library's; {0} is no distribution. */
typedef struct xt_dist {
    int kind, n_layers;
    int64_t count;
    xt_tensor p[XT_DIST_PARAMS];
    xt_dist_layer layer[XT_DIST_LAYERS];
} xt_dist;

/* --- Numbers --- */
#define xt_normal_dist(loc, scale) xt_normal_dist_at(XT_HERE, loc, scale)
#define xt_log_normal_dist(loc, scale) xt_log_normal_dist_at(XT_HERE, loc, scale)
#define xt_laplace_dist(loc, scale) xt_laplace_dist_at(XT_HERE, loc, scale)
#define xt_cauchy_dist(loc, scale) xt_cauchy_dist_at(XT_HERE, loc, scale)
#define xt_gumbel_dist(loc, scale) xt_gumbel_dist_at(XT_HERE, loc, scale)
#define xt_student_t_dist(df, loc, scale) xt_student_t_dist_at(XT_HERE, df, loc, scale)
#define xt_uniform_dist(low, high) xt_uniform_dist_at(XT_HERE, low, high) /* in [low,high) */
#define xt_half_normal_dist(scale) xt_half_normal_dist_at(XT_HERE, scale)
#define xt_half_cauchy_dist(scale) xt_half_cauchy_dist_at(XT_HERE, scale)
#define xt_exponential_dist(rate) xt_exponential_dist_at(XT_HERE, rate)
#define xt_gamma_dist(concentration, rate) xt_gamma_dist_at(XT_HERE, concentration, rate)
#define xt_chi2_dist(df) xt_chi2_dist_at(XT_HERE, df) /* a gamma distribution */
/* of x^(concentration1 - 1) (1 - x)^(concentration0 - 1) */
#define xt_beta_dist(concentration1, concentration0) xt_beta_dist_at(XT_HERE, concentration1, concentration0)
XT_API xt_dist xt_normal_dist_at(const xt_src *src, xt_tensor loc, xt_tensor scale);
XT_API xt_dist xt_log_normal_dist_at(const xt_src *src, xt_tensor loc, xt_tensor scale);
XT_API xt_dist xt_laplace_dist_at(const xt_src *src, xt_tensor loc, xt_tensor scale);
XT_API xt_dist xt_cauchy_dist_at(const xt_src *src, xt_tensor loc, xt_tensor scale);
XT_API xt_dist xt_gumbel_dist_at(const xt_src *src, xt_tensor loc, xt_tensor scale);
XT_API xt_dist xt_student_t_dist_at(const xt_src *src, xt_tensor df, xt_tensor loc, xt_tensor scale);
XT_API xt_dist xt_uniform_dist_at(const xt_src *src, xt_tensor low, xt_tensor high);
XT_API xt_dist xt_half_normal_dist_at(const xt_src *src, xt_tensor scale);
XT_API xt_dist xt_half_cauchy_dist_at(const xt_src *src, xt_tensor scale);
XT_API xt_dist xt_exponential_dist_at(const xt_src *src, xt_tensor rate);
XT_API xt_dist xt_gamma_dist_at(const xt_src *src, xt_tensor concentration, xt_tensor rate);
XT_API xt_dist xt_chi2_dist_at(const xt_src *src, xt_tensor df);
XT_API xt_dist xt_beta_dist_at(const xt_src *src, xt_tensor concentration1, xt_tensor concentration0);

/* --- Counts and choices ---
 * Samples are whole numbers in the parameters' dtype (choices of the categorical: i64); values given to log_prob may be
 * of any dtype. Probabilities, or `_logits`: logarithms of them up to a constant (of the odds, for one probability). */
#define xt_bernoulli_dist(probs) xt_bernoulli_dist_at(XT_HERE, probs)
#define xt_bernoulli_logits_dist(logits) xt_bernoulli_logits_dist_at(XT_HERE, logits)
#define xt_geometric_dist(probs) xt_geometric_dist_at(XT_HERE, probs) /* failures before the first success */
#define xt_geometric_logits_dist(logits) xt_geometric_logits_dist_at(XT_HERE, logits)
#define xt_binomial_dist(total_count, probs) xt_binomial_dist_at(XT_HERE, XT_NUMBER_(total_count), probs)
#define xt_binomial_logits_dist(total_count, logits) \
    xt_binomial_logits_dist_at(XT_HERE, XT_NUMBER_(total_count), logits)
#define xt_poisson_dist(rate) xt_poisson_dist_at(XT_HERE, rate)
/* [...,K] -> choices 0 .. K-1 [...] */
#define xt_categorical_dist(probs) xt_categorical_dist_at(XT_HERE, probs)
#define xt_categorical_logits_dist(logits) xt_categorical_logits_dist_at(XT_HERE, logits)
/* the same choice as a vector [...,K] with one 1 */
#define xt_one_hot_categorical_dist(probs) xt_one_hot_categorical_dist_at(XT_HERE, probs)
#define xt_one_hot_categorical_logits_dist(logits) xt_one_hot_categorical_logits_dist_at(XT_HERE, logits)
XT_API xt_dist xt_bernoulli_dist_at(const xt_src *src, xt_tensor probs);
XT_API xt_dist xt_bernoulli_logits_dist_at(const xt_src *src, xt_tensor logits);
XT_API xt_dist xt_geometric_dist_at(const xt_src *src, xt_tensor probs);
XT_API xt_dist xt_geometric_logits_dist_at(const xt_src *src, xt_tensor logits);
XT_API xt_dist xt_binomial_dist_at(const xt_src *src, int64_t total_count, xt_tensor probs);
XT_API xt_dist xt_binomial_logits_dist_at(const xt_src *src, int64_t total_count, xt_tensor logits);
XT_API xt_dist xt_poisson_dist_at(const xt_src *src, xt_tensor rate);
XT_API xt_dist xt_categorical_dist_at(const xt_src *src, xt_tensor probs);
XT_API xt_dist xt_categorical_logits_dist_at(const xt_src *src, xt_tensor logits);
XT_API xt_dist xt_one_hot_categorical_dist_at(const xt_src *src, xt_tensor probs);
XT_API xt_dist xt_one_hot_categorical_logits_dist_at(const xt_src *src, xt_tensor logits);

/* --- Vectors --- */
#define xt_dirichlet_dist(concentration) xt_dirichlet_dist_at(XT_HERE, concentration) /* [...,K] */
/* loc [...,D], covariance [...,D,D], positive definite; or its lower Cholesky factor */
#define xt_multivariate_normal_dist(loc, covariance) xt_multivariate_normal_dist_at(XT_HERE, loc, covariance)
#define xt_multivariate_normal_tril_dist(loc, scale_tril) xt_multivariate_normal_tril_dist_at(XT_HERE, loc, scale_tril)
XT_API xt_dist xt_dirichlet_dist_at(const xt_src *src, xt_tensor concentration);
XT_API xt_dist xt_multivariate_normal_dist_at(const xt_src *src, xt_tensor loc, xt_tensor covariance);
XT_API xt_dist xt_multivariate_normal_tril_dist_at(const xt_src *src, xt_tensor loc, xt_tensor scale_tril);

/* --- Distributions of distributions ---
 * Up to XT_DIST_LAYERS of these may stand upon each other. */
/* the last n batch dims become event dims: log-probabilities are summed over them */
#define xt_independent_dist(d, n) xt_independent_dist_at(XT_HERE, d, XT_NUMBER_(n))
/* MixtureSameFamily(Categorical(logits), components): the last batch dim of the components, of K, is chosen from by
 * logits [...,K] */
#define xt_mixture_dist(logits, components) xt_mixture_dist_at(XT_HERE, logits, components)
/* of y = f(x), x of d: f is loc + scale x, e^x, 1 / (1 + e^-x), tanh x, element by element */
#define xt_affine_dist(d, loc, scale) xt_affine_dist_at(XT_HERE, d, loc, scale)
#define xt_exp_dist(d) xt_exp_dist_at(XT_HERE, d)
#define xt_sigmoid_dist(d) xt_sigmoid_dist_at(XT_HERE, d)
#define xt_tanh_dist(d) xt_tanh_dist_at(XT_HERE, d)
XT_API xt_dist xt_independent_dist_at(const xt_src *src, xt_dist d, int n);
XT_API xt_dist xt_mixture_dist_at(const xt_src *src, xt_tensor logits, xt_dist components);
XT_API xt_dist xt_affine_dist_at(const xt_src *src, xt_dist d, xt_tensor loc, xt_tensor scale);
XT_API xt_dist xt_exp_dist_at(const xt_src *src, xt_dist d);
XT_API xt_dist xt_sigmoid_dist_at(const xt_src *src, xt_dist d);
XT_API xt_dist xt_tanh_dist_at(const xt_src *src, xt_dist d);

/* --- What they do --- */
/* xt_dist_sample(d) or xt_dist_sample(d, 5, 3): [5,3] + batch dims + event dims; random numbers as xt_rand's. No
 * gradient flows to a sample. */
#define xt_dist_sample(...) XT_DIST_SAMPLE_(xt_dist_sample_at, __VA_ARGS__, 0)
/* the same draws, with gradients to the parameters (for gamma, chi-squared, beta, Dirichlet and Student's t implicit
 * ones); an error for counts and choices and for mixtures */
#define xt_dist_rsample(...) XT_DIST_SAMPLE_(xt_dist_rsample_at, __VA_ARGS__, 0)
#define XT_DIST_SAMPLE_(f, d, ...) f(XT_HERE, d, XT_DIMS_(__VA_ARGS__))
XT_API xt_tensor xt_dist_sample_at(const xt_src *src, xt_dist d, const int64_t *dims);
XT_API xt_tensor xt_dist_rsample_at(const xt_src *src, xt_dist d, const int64_t *dims);
/* value broadcasts against batch dims + event dims; the logarithm of its density or probability */
#define xt_dist_log_prob(d, value) xt_dist_log_prob_at(XT_HERE, d, value)
#define xt_dist_cdf(d, value) xt_dist_cdf_at(XT_HERE, d, value) /* the probability of at most this value */
#define xt_dist_icdf(d, q) xt_dist_icdf_at(XT_HERE, d, q) /* the value with the distribution function q */
#define xt_dist_mean(d) xt_dist_mean_at(XT_HERE, d) /* batch dims + event dims, as the next two */
#define xt_dist_variance(d) xt_dist_variance_at(XT_HERE, d)
#define xt_dist_stddev(d) xt_dist_stddev_at(XT_HERE, d)
#define xt_dist_entropy(d) xt_dist_entropy_at(XT_HERE, d) /* in nats */
#define xt_dist_kl(p, q) xt_dist_kl_at(XT_HERE, p, q) /* kl_divergence(p, q), both of one kind */
XT_API xt_tensor xt_dist_log_prob_at(const xt_src *src, xt_dist d, xt_tensor value);
XT_API xt_tensor xt_dist_cdf_at(const xt_src *src, xt_dist d, xt_tensor value);
XT_API xt_tensor xt_dist_icdf_at(const xt_src *src, xt_dist d, xt_tensor q);
XT_API xt_tensor xt_dist_mean_at(const xt_src *src, xt_dist d);
XT_API xt_tensor xt_dist_variance_at(const xt_src *src, xt_dist d);
XT_API xt_tensor xt_dist_stddev_at(const xt_src *src, xt_dist d);
XT_API xt_tensor xt_dist_entropy_at(const xt_src *src, xt_dist d);
XT_API xt_tensor xt_dist_kl_at(const xt_src *src, xt_dist p, xt_dist q);
XT_API int xt_dist_event_dims(xt_dist d); /* how many last dims of a sample are one event */

#ifdef __cplusplus
}
#endif
#endif
