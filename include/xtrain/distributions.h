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
 * range results mean nothing, most of them NaN or infinite. A number outside of the support has the log-probability
 * -infinity, where PyTorch raises an error; that vectors sum to 1 and matrices are positive is not looked at. Nothing
 * here waits for the device. */
#ifndef XTRAIN_DISTRIBUTIONS_H
#define XTRAIN_DISTRIBUTIONS_H

#include <xtrain/base.h>
#include <xtrain/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    XT_DIST_PARAMS = 3, /* tensors of one distribution at most */
    XT_DIST_LAYERS = 6 /* distributions of distributions at most, one upon the other */
};
typedef struct xt_dist_layer { /* the library's */
    int kind, n; /* which of them it is, and what its number is (dims of xt_independent_dist) */
    xt_tensor a, b; /* its tensors (loc and scale, exponent) */
} xt_dist_layer;
/* The fields are the library's; {0} is no distribution. */
typedef struct xt_dist {
    int kind, n_layers; /* which distribution it is, 0: none; and layers upon it */
    int64_t count; /* total_count, or the size of a matrix; 0 where there is none */
    xt_tensor p[XT_DIST_PARAMS]; /* its parameters, of one dtype */
    xt_dist_layer layer[XT_DIST_LAYERS]; /* the first n_layers of them, the outermost last */
} xt_dist;

/* --- Numbers --- */
/* density exp(-((x - loc) / scale)^2 / 2) / (scale sqrt(2 pi)); scale > 0 */
#define xt_normal_dist(loc, scale) xt_normal_dist_at(XT_HERE, loc, scale)
/* exp of a normal number; loc, scale: of its logarithm */
#define xt_log_normal_dist(loc, scale) xt_log_normal_dist_at(XT_HERE, loc, scale)
/* density exp(-|x - loc| / scale) / (2 scale) */
#define xt_laplace_dist(loc, scale) xt_laplace_dist_at(XT_HERE, loc, scale)
#define xt_cauchy_dist(loc, scale) xt_cauchy_dist_at(XT_HERE, loc, scale) /* no mean, no variance: NaN */
/* of maxima: distribution exp(-exp(-(x - loc) / scale)) */
#define xt_gumbel_dist(loc, scale) xt_gumbel_dist_at(XT_HERE, loc, scale)
/* df > 0 degrees of freedom */
#define xt_student_t_dist(df, loc, scale) xt_student_t_dist_at(XT_HERE, df, loc, scale)
#define xt_uniform_dist(low, high) xt_uniform_dist_at(XT_HERE, low, high) /* in [low,high) */
#define xt_half_normal_dist(scale) xt_half_normal_dist_at(XT_HERE, scale) /* |x| of a normal x about 0 */
#define xt_half_cauchy_dist(scale) xt_half_cauchy_dist_at(XT_HERE, scale) /* |x| of a Cauchy x about 0 */
#define xt_exponential_dist(rate) xt_exponential_dist_at(XT_HERE, rate) /* density rate exp(-rate x), x >= 0 */
/* density as x^(a - 1) exp(-rate x), x > 0; a > 0, rate > 0 */
#define xt_gamma_dist(concentration, rate) xt_gamma_dist_at(XT_HERE, concentration, rate)
#define xt_chi2_dist(df) xt_chi2_dist_at(XT_HERE, df) /* a gamma distribution */
/* of x^(concentration1 - 1) (1 - x)^(concentration0 - 1) */
#define xt_beta_dist(concentration1, concentration0) xt_beta_dist_at(XT_HERE, concentration1, concentration0)
#define xt_pareto_dist(scale, alpha) xt_pareto_dist_at(XT_HERE, scale, alpha) /* from scale on */
/* of what exceeds loc; concentration 0: exponential */
#define xt_generalized_pareto_dist(loc, scale, concentration) \
    xt_generalized_pareto_dist_at(XT_HERE, loc, scale, concentration)
/* density as x^(k - 1) exp(-(x / scale)^k), x >= 0 */
#define xt_weibull_dist(scale, concentration) xt_weibull_dist_at(XT_HERE, scale, concentration)
#define xt_kumaraswamy_dist(concentration1, concentration0) \
    xt_kumaraswamy_dist_at(XT_HERE, concentration1, concentration0) /* in [0,1] */
#define xt_inverse_gamma_dist(concentration, rate) \
    xt_inverse_gamma_dist_at(XT_HERE, concentration, rate) /* of 1 / a gamma number */
/* ratio of two chi2 numbers, each by its degrees of freedom */
#define xt_fisher_snedecor_dist(df1, df2) xt_fisher_snedecor_dist_at(XT_HERE, df1, df2)
#define xt_von_mises_dist(loc, concentration) \
    xt_von_mises_dist_at(XT_HERE, loc, concentration) /* of angles; its mean and variance are the circular ones */
#define xt_continuous_bernoulli_dist(probs) xt_continuous_bernoulli_dist_at(XT_HERE, probs) /* in [0,1] */
#define xt_continuous_bernoulli_logits_dist(logits) xt_continuous_bernoulli_logits_dist_at(XT_HERE, logits)
/* in (0,1), near 0 and 1 for small temperatures, with gradients */
#define xt_relaxed_bernoulli_dist(temperature, probs) xt_relaxed_bernoulli_dist_at(XT_HERE, temperature, probs)
#define xt_relaxed_bernoulli_logits_dist(temperature, logits) \
    xt_relaxed_bernoulli_logits_dist_at(XT_HERE, temperature, logits)
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
XT_API xt_dist xt_pareto_dist_at(const xt_src *src, xt_tensor scale, xt_tensor alpha);
XT_API xt_dist xt_generalized_pareto_dist_at(const xt_src *src, xt_tensor loc, xt_tensor scale,
                                             xt_tensor concentration);
XT_API xt_dist xt_weibull_dist_at(const xt_src *src, xt_tensor scale, xt_tensor concentration);
XT_API xt_dist xt_kumaraswamy_dist_at(const xt_src *src, xt_tensor concentration1, xt_tensor concentration0);
XT_API xt_dist xt_inverse_gamma_dist_at(const xt_src *src, xt_tensor concentration, xt_tensor rate);
XT_API xt_dist xt_fisher_snedecor_dist_at(const xt_src *src, xt_tensor df1, xt_tensor df2);
XT_API xt_dist xt_von_mises_dist_at(const xt_src *src, xt_tensor loc, xt_tensor concentration);
XT_API xt_dist xt_continuous_bernoulli_dist_at(const xt_src *src, xt_tensor probs);
XT_API xt_dist xt_continuous_bernoulli_logits_dist_at(const xt_src *src, xt_tensor logits);
XT_API xt_dist xt_relaxed_bernoulli_dist_at(const xt_src *src, xt_tensor temperature, xt_tensor probs);
XT_API xt_dist xt_relaxed_bernoulli_logits_dist_at(const xt_src *src, xt_tensor temperature, xt_tensor logits);

/* --- Counts and choices ---
 * Samples are whole numbers in the parameters' dtype (choices of the categorical: i64); values given to log_prob may be
 * of any dtype. Probabilities, or `_logits`: logarithms of them up to a constant (of the odds, for one probability). */
#define xt_bernoulli_dist(probs) xt_bernoulli_dist_at(XT_HERE, probs)
#define xt_bernoulli_logits_dist(logits) xt_bernoulli_logits_dist_at(XT_HERE, logits)
#define xt_geometric_dist(probs) xt_geometric_dist_at(XT_HERE, probs) /* failures before the first success */
#define xt_geometric_logits_dist(logits) xt_geometric_logits_dist_at(XT_HERE, logits)
/* successes of total_count trials, each with probability probs */
#define xt_binomial_dist(total_count, probs) xt_binomial_dist_at(XT_HERE, XT_NUMBER_(total_count), probs)
#define xt_binomial_logits_dist(total_count, logits) \
    xt_binomial_logits_dist_at(XT_HERE, XT_NUMBER_(total_count), logits)
#define xt_poisson_dist(rate) xt_poisson_dist_at(XT_HERE, rate) /* counts k >= 0 of probability rate^k e^-rate / k! */
/* [...,K] -> choices 0 .. K-1 [...] */
#define xt_categorical_dist(probs) xt_categorical_dist_at(XT_HERE, probs)
#define xt_categorical_logits_dist(logits) xt_categorical_logits_dist_at(XT_HERE, logits)
/* the same choice as a vector [...,K] with one 1 */
#define xt_one_hot_categorical_dist(probs) xt_one_hot_categorical_dist_at(XT_HERE, probs)
#define xt_one_hot_categorical_logits_dist(logits) xt_one_hot_categorical_logits_dist_at(XT_HERE, logits)
#define xt_negative_binomial_dist(total_count, probs) \
    xt_negative_binomial_dist_at(XT_HERE, total_count, probs) /* successes before total_count failures */
#define xt_negative_binomial_logits_dist(total_count, logits) \
    xt_negative_binomial_logits_dist_at(XT_HERE, total_count, logits)
#define xt_multinomial_dist(total_count, probs) \
    xt_multinomial_dist_at(XT_HERE, XT_NUMBER_(total_count), probs) /* how often each of K came: [...,K] */
#define xt_multinomial_logits_dist(total_count, logits) \
    xt_multinomial_logits_dist_at(XT_HERE, XT_NUMBER_(total_count), logits)
/* one_hot_categorical whose xt_dist_rsample has the gradient of the probabilities (straight through) */
#define xt_one_hot_straight_through_dist(probs) xt_one_hot_straight_through_dist_at(XT_HERE, probs)
#define xt_one_hot_straight_through_logits_dist(logits) xt_one_hot_straight_through_logits_dist_at(XT_HERE, logits)
/* shares of 1, [...,K], nearly one-hot for small temperatures, with gradients */
#define xt_relaxed_one_hot_dist(temperature, probs) xt_relaxed_one_hot_dist_at(XT_HERE, temperature, probs)
#define xt_relaxed_one_hot_logits_dist(temperature, logits) \
    xt_relaxed_one_hot_logits_dist_at(XT_HERE, temperature, logits)
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
XT_API xt_dist xt_negative_binomial_dist_at(const xt_src *src, xt_tensor total_count, xt_tensor probs);
XT_API xt_dist xt_negative_binomial_logits_dist_at(const xt_src *src, xt_tensor total_count, xt_tensor logits);
XT_API xt_dist xt_multinomial_dist_at(const xt_src *src, int64_t total_count, xt_tensor probs);
XT_API xt_dist xt_multinomial_logits_dist_at(const xt_src *src, int64_t total_count, xt_tensor logits);
XT_API xt_dist xt_one_hot_straight_through_dist_at(const xt_src *src, xt_tensor probs);
XT_API xt_dist xt_one_hot_straight_through_logits_dist_at(const xt_src *src, xt_tensor logits);
XT_API xt_dist xt_relaxed_one_hot_dist_at(const xt_src *src, xt_tensor temperature, xt_tensor probs);
XT_API xt_dist xt_relaxed_one_hot_logits_dist_at(const xt_src *src, xt_tensor temperature, xt_tensor logits);

/* --- Vectors and matrices --- */
#define xt_dirichlet_dist(concentration) xt_dirichlet_dist_at(XT_HERE, concentration) /* [...,K] */
/* loc [...,D], covariance [...,D,D], positive definite; or its lower Cholesky factor */
#define xt_multivariate_normal_dist(loc, covariance) xt_multivariate_normal_dist_at(XT_HERE, loc, covariance)
#define xt_multivariate_normal_tril_dist(loc, scale_tril) xt_multivariate_normal_tril_dist_at(XT_HERE, loc, scale_tril)
/* covariance cov_factor cov_factor^T + diag(cov_diag): [...,D], [...,D,R], [...,D] */
#define xt_low_rank_multivariate_normal_dist(loc, cov_factor, cov_diag) \
    xt_low_rank_multivariate_normal_dist_at(XT_HERE, loc, cov_factor, cov_diag)
/* shares of 1, [...,K], of K - 1 normal numbers by stick breaking: loc and scale [...,K - 1] */
#define xt_logistic_normal_dist(loc, scale) xt_logistic_normal_dist_at(XT_HERE, loc, scale)
/* over positive definite matrices [...,D,D], df > D - 1; or the lower Cholesky factor of the covariance */
#define xt_wishart_dist(df, covariance) xt_wishart_dist_at(XT_HERE, df, covariance)
#define xt_wishart_tril_dist(df, scale_tril) xt_wishart_tril_dist_at(XT_HERE, df, scale_tril)
#define xt_lkj_cholesky_dist(dim, concentration)      \
    xt_lkj_cholesky_dist_at(XT_HERE, XT_NUMBER_(dim), \
                            concentration) /* over Cholesky factors of correlation matrices [...,dim,dim] */
XT_API xt_dist xt_dirichlet_dist_at(const xt_src *src, xt_tensor concentration);
XT_API xt_dist xt_multivariate_normal_dist_at(const xt_src *src, xt_tensor loc, xt_tensor covariance);
XT_API xt_dist xt_multivariate_normal_tril_dist_at(const xt_src *src, xt_tensor loc, xt_tensor scale_tril);
XT_API xt_dist xt_low_rank_multivariate_normal_dist_at(const xt_src *src, xt_tensor loc, xt_tensor cov_factor,
                                                       xt_tensor cov_diag);
XT_API xt_dist xt_logistic_normal_dist_at(const xt_src *src, xt_tensor loc, xt_tensor scale);
XT_API xt_dist xt_wishart_dist_at(const xt_src *src, xt_tensor df, xt_tensor covariance);
XT_API xt_dist xt_wishart_tril_dist_at(const xt_src *src, xt_tensor df, xt_tensor scale_tril);
XT_API xt_dist xt_lkj_cholesky_dist_at(const xt_src *src, int64_t dim, xt_tensor concentration);

/* --- Distributions of distributions ---
 * Up to XT_DIST_LAYERS of these may stand upon each other. */
/* the last n batch dims become event dims: log-probabilities are summed over them */
#define xt_independent_dist(d, n) xt_independent_dist_at(XT_HERE, d, XT_NUMBER_(n))
/* MixtureSameFamily(Categorical(logits), components): the last batch dim of the components, of K, is chosen from by
 * logits [...,K] */
#define xt_mixture_dist(logits, components) xt_mixture_dist_at(XT_HERE, logits, components)
/* of y = f(x), x of d: f is loc + scale x, e^x, 1 / (1 + e^-x), tanh x, log(1 + e^x),
 * x^exponent (of x above 0), element by element */
#define xt_affine_dist(d, loc, scale) xt_affine_dist_at(XT_HERE, d, loc, scale)
/* e^x of d's x */
#define xt_exp_dist(d) xt_exp_dist_at(XT_HERE, d)
/* 1 / (1 + e^-x) of d's x */
#define xt_sigmoid_dist(d) xt_sigmoid_dist_at(XT_HERE, d)
/* tanh x of d's x */
#define xt_tanh_dist(d) xt_tanh_dist_at(XT_HERE, d)
/* log(1 + e^x) of d's x */
#define xt_softplus_dist(d) xt_softplus_dist_at(XT_HERE, d)
#define xt_power_dist(d, exponent) xt_power_dist_at(XT_HERE, d, exponent) /* x^exponent of d's x > 0 */
XT_API xt_dist xt_independent_dist_at(const xt_src *src, xt_dist d, int n);
XT_API xt_dist xt_mixture_dist_at(const xt_src *src, xt_tensor logits, xt_dist components);
XT_API xt_dist xt_affine_dist_at(const xt_src *src, xt_dist d, xt_tensor loc, xt_tensor scale);
XT_API xt_dist xt_exp_dist_at(const xt_src *src, xt_dist d);
XT_API xt_dist xt_sigmoid_dist_at(const xt_src *src, xt_dist d);
XT_API xt_dist xt_tanh_dist_at(const xt_src *src, xt_dist d);
XT_API xt_dist xt_softplus_dist_at(const xt_src *src, xt_dist d);
XT_API xt_dist xt_power_dist_at(const xt_src *src, xt_dist d, xt_tensor exponent);

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
/* per element; of an event's vector the diagonal of its covariance */
#define xt_dist_variance(d) xt_dist_variance_at(XT_HERE, d)
/* the root of it */
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

/* --- Transforms of values ---
 * From unconstrained numbers to those that a parameter may be, and back: torch.distributions.transforms, and what
 * transform_to and biject_to give for a constraint (exp or softplus: positive; sigmoid: (0,1); softmax or stick
 * breaking: simplex; lower Cholesky, positive definite and corr Cholesky: matrices). Others are made of tensors:
 * xt_reshape, xt_concat and xt_stack of parts, xt_dist_cdf and xt_dist_icdf of a distribution. */
typedef enum xt_transform_kind {
    XT_EXP_TRANSFORM, /* e^x */
    XT_SIGMOID_TRANSFORM, /* 1 / (1 + e^-x) */
    XT_TANH_TRANSFORM, /* tanh x */
    XT_SOFTPLUS_TRANSFORM, /* log(1 + e^x) */
    XT_ABS_TRANSFORM, /* its inverse gives the positive one */
    XT_SOFTMAX_TRANSFORM, /* [...,K]; its inverse is the logarithm */
    XT_STICK_BREAKING_TRANSFORM, /* [...,K - 1] -> [...,K] */
    XT_LOWER_CHOLESKY_TRANSFORM, /* [...,D,D]: what lies above the diagonal is dropped */
    XT_POSITIVE_DEFINITE_TRANSFORM, /* [...,D,D] */
    XT_CORR_CHOLESKY_TRANSFORM /* [...,D (D - 1) / 2] -> [...,D,D] */
} xt_transform_kind;
#define xt_transform(kind, x) xt_transform_at(XT_HERE, XT_WORD_(xt_transform_kind, kind), x)
/* the x that xt_transform makes y of */
#define xt_transform_inverse(kind, y) xt_transform_inverse_at(XT_HERE, XT_WORD_(xt_transform_kind, kind), y)
/* log |dy/dx|, of y = xt_transform(kind, x): for each element, or each vector [...]; an error for those that are not
 * one to one, and for the two of matrices [...,D,D], as in PyTorch */
#define xt_transform_log_slope(kind, x, y) xt_transform_log_slope_at(XT_HERE, XT_WORD_(xt_transform_kind, kind), x, y)
XT_API xt_tensor xt_transform_at(const xt_src *src, xt_transform_kind kind, xt_tensor x);
XT_API xt_tensor xt_transform_inverse_at(const xt_src *src, xt_transform_kind kind, xt_tensor y);
XT_API xt_tensor xt_transform_log_slope_at(const xt_src *src, xt_transform_kind kind, xt_tensor x, xt_tensor y);

#ifdef __cplusplus
}
#endif
#endif
