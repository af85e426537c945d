/* Draws of distributions: moments and quantiles with a fixed seed, implicit gradients, choices, shapes, errors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

enum { N = 40000 };

static xt_tensor num(double v) {
    return xt_full(v, XT_F32, 1);
}
static int by_size(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* --- moments and quantiles --- */
/* Mean and variance of N draws against the distribution's own, within 5 standard errors (the variance's by the fourth
 * moment of the draws); each quantile's share by the distribution function, where there is one. */
static void check_draws(const char *what, xt_dist d, bool has_moments) {
    static float x[N];
    double mean = has_moments ? xt_item(xt_dist_mean(d)) : 0, variance = has_moments ? xt_item(xt_dist_variance(d)) : 0;
    if (!xt_read(xt_dist_sample(d, N), x, sizeof x)) fail_msg("%s: %s", what, xt_status_message(xt_error()));
    double sum = 0, second = 0, fourth = 0;
    for (int i = 0; i < N; i++) sum += x[i];
    for (int i = 0; i < N; i++) {
        double e = pow(x[i] - sum / N, 2);
        second += e / N;
        fourth += e * e / N;
    }
    if (!has_moments) return;
    double error = 5 * sqrt(variance / N), spread = 5 * sqrt((fourth - second * second) / N);
    if (!(fabs(sum / N - mean) <= error)) fail_msg("%s: mean %g of draws, %g +- %g", what, sum / N, mean, error);
    if (!(fabs(second - variance) <= spread))
        fail_msg("%s: variance %g of draws, %g +- %g", what, second, variance, spread);
}
/* The largest distance between the distribution function and that of the draws (Kolmogorov and Smirnov): above 2 / root
 * N once in 1500 seeds. */
static void check_quantiles(const char *what, xt_dist d) {
    static float x[N], p[N];
    assert_true(xt_read(xt_dist_sample(d, N), x, sizeof x));
    qsort(x, N, sizeof *x, by_size);
    assert_true(xt_read(xt_dist_cdf(d, xt_from_array(x, XT_F32, N, 1)), p, sizeof p));
    double most = 0;
    for (int i = 0; i < N; i++) most = fmax(most, fmax(fabs(p[i] - i / (double)N), fabs(p[i] - (i + 1) / (double)N)));
    if (!(most < 2 / sqrt(N))) fail_msg("%s: the distribution functions are %g apart", what, most);
}
static void numbers(void **state) {
    (void)state;
    xt_seed(7);
#define CONTINUOUS(call, moments) check_draws(#call, call, moments), check_quantiles(#call, call)
    CONTINUOUS(xt_normal_dist(num(1), num(2)), true);
    CONTINUOUS(xt_log_normal_dist(num(0.1), num(0.4)), true);
    CONTINUOUS(xt_laplace_dist(num(1), num(2)), true);
    CONTINUOUS(xt_cauchy_dist(num(1), num(2)), false);
    CONTINUOUS(xt_gumbel_dist(num(1), num(2)), true);
    CONTINUOUS(xt_uniform_dist(num(-1), num(2)), true);
    CONTINUOUS(xt_half_normal_dist(num(2)), true);
    CONTINUOUS(xt_half_cauchy_dist(num(2)), false);
    CONTINUOUS(xt_exponential_dist(num(2)), true);
    CONTINUOUS(xt_gamma_dist(num(0.3), num(2)), true);
    CONTINUOUS(xt_gamma_dist(num(1), num(1)), true);
    CONTINUOUS(xt_gamma_dist(num(7.5), num(0.5)), true);
    CONTINUOUS(xt_chi2_dist(num(3)), true);
    CONTINUOUS(xt_tanh_dist(xt_affine_dist(xt_normal_dist(num(0), num(1)), num(0.2), num(-0.5))), false);
    CONTINUOUS(xt_mixture_dist(xt_from_array((float[]){0, 1, -1}, XT_F32, 1, 3),
                               xt_normal_dist(xt_from_array((float[]){-2, 0, 3}, XT_F32, 1, 3), num(0.5))),
               true);
    CONTINUOUS(xt_pareto_dist(num(1), num(9)), true);
    CONTINUOUS(xt_generalized_pareto_dist(num(0.5), num(2), num(0.1)), true);
    CONTINUOUS(xt_generalized_pareto_dist(num(0), num(2), num(-0.3)), true);
    CONTINUOUS(xt_generalized_pareto_dist(num(0), num(2), num(0)), true);
    CONTINUOUS(xt_weibull_dist(num(2), num(1.5)), true);
    CONTINUOUS(xt_kumaraswamy_dist(num(0.7), num(2)), true);
    CONTINUOUS(xt_inverse_gamma_dist(num(9), num(3)), true);
    CONTINUOUS(xt_continuous_bernoulli_dist(num(0.2)), true);
    CONTINUOUS(xt_continuous_bernoulli_dist(num(0.5)), true);
    CONTINUOUS(xt_softplus_dist(xt_normal_dist(num(0.5), num(1))), false);
    CONTINUOUS(xt_power_dist(xt_exponential_dist(num(2)), num(-0.5)), false);
    check_draws("fisher_snedecor", xt_fisher_snedecor_dist(num(5), num(20)), true);
    check_draws("beta", xt_beta_dist(num(0.5), num(2)), true);
    check_draws("beta of small concentrations", xt_beta_dist(num(0.01), num(0.02)), true);
    check_draws("student_t", xt_student_t_dist(num(9), num(1), num(2)), true);
}
static void counts(void **state) {
    (void)state;
    xt_seed(11);
    check_draws("bernoulli", xt_bernoulli_dist(num(0.3)), true);
    check_draws("geometric", xt_geometric_dist(num(0.2)), true);
    check_draws("negative_binomial", xt_negative_binomial_dist(num(3.5), num(0.4)), true);
    check_draws("negative_binomial of few", xt_negative_binomial_dist(num(0.2), num(0.9)), true);
    const double rates[] = {0.05, 1.5, 9.9, 10.5, 60, 5000};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        check_draws("poisson", xt_poisson_dist(num(rates[i])), true);
    const struct {
        int64_t n;
        double p;
    } of[] = {{1, 0.5}, {7, 0.3}, {7, 0.9}, {100, 0.05}, {100, 0.4}, {1000, 0.7}, {100000, 0.2}, {50, 1}, {50, 0}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        check_draws("binomial", xt_binomial_dist(of[i].n, num(of[i].p)), true);
}
/* Each count's share of the draws is its probability: where mean and variance are right by chance, this is not. */
static void shares(void **state) {
    (void)state;
    static float x[N];
    float p[40], k[40];
    xt_seed(3);
    for (int i = 0; i < 40; i++) k[i] = (float)i;
    for (int which = 0; which < 4; which++) {
        xt_dist d = which == 0   ? xt_poisson_dist(num(3))
                    : which == 1 ? xt_poisson_dist(num(14))
                    : which == 2 ? xt_binomial_dist(39, num(0.1))
                                 : xt_binomial_dist(39, num(0.6));
        int seen[40] = {0};
        assert_true(xt_read(xt_dist_sample(d, N), x, sizeof x));
        assert_true(xt_read(xt_exp(xt_dist_log_prob(d, xt_from_array(k, XT_F32, 40))), p, sizeof p));
        for (int i = 0; i < N; i++) seen[(int)fmin(x[i], 39)] += x[i] == floor(x[i]);
        for (int i = 0; i < 40; i++) {
            double bound = 5 * sqrt(p[i] * (1 - p[i]) / N) + 1.0 / N;
            if (!(fabs(seen[i] / (double)N - p[i]) <= bound))
                fail_msg("case %d: %d comes %g of the time, its probability is %g +- %g", which, i, seen[i] / (double)N,
                         p[i], bound);
        }
    }
}

/* --- vectors and choices --- */
static void vectors(void **state) {
    (void)state;
    static float x[N / 10][3];
    static int64_t c[N];
    xt_seed(5);
    const float alpha[] = {0.4f, 1, 3};
    assert_true(xt_read(xt_dist_sample(xt_dirichlet_dist(xt_from_array(alpha, XT_F32, 3)), N / 10), x, sizeof x));
    double mean[3] = {0};
    for (int i = 0; i < N / 10; i++) {
        assert_true(fabs(x[i][0] + x[i][1] + x[i][2] - 1) < 1e-5);
        for (int k = 0; k < 3; k++) mean[k] += x[i][k] / (N / 10);
    }
    for (int k = 0; k < 3; k++) assert_true(fabs(mean[k] - alpha[k] / 4.4) < 0.02);

    const float covariance[] = {2, 0.6f, 0.6f, 1}, loc[] = {1, -1};
    xt_dist normal =
        xt_multivariate_normal_dist(xt_from_array(loc, XT_F32, 2), xt_from_array(covariance, XT_F32, 2, 2));
    assert_int_equal(xt_dist_event_dims(normal), 1);
    xt_tensor draws = xt_dist_sample(normal, N);
    float cov[4], m[2];
    assert_true(xt_read(xt_cov(xt_transpose(draws, 0, 1)), cov, sizeof cov));
    assert_true(xt_read(xt_mean_axis(draws, 0), m, sizeof m));
    for (int k = 0; k < 4; k++) assert_true(fabs(cov[k] - covariance[k]) < 0.07);
    for (int k = 0; k < 2; k++) assert_true(fabs(m[k] - loc[k]) < 0.04);

    const float p[] = {0.1f, 0.6f, 0, 0.3f};
    xt_dist choice = xt_categorical_dist(xt_from_array(p, XT_F32, 4));
    xt_tensor chosen = xt_dist_sample(choice, N);
    assert_int_equal(xt_dtype_of(chosen), XT_I64);
    assert_true(xt_read(chosen, c, sizeof c));
    int seen[4] = {0};
    for (int i = 0; i < N; i++) seen[c[i]]++;
    for (int k = 0; k < 4; k++) assert_true(fabs(seen[k] / (double)N - p[k]) < 0.013);
    xt_tensor vector = xt_dist_sample(xt_one_hot_categorical_dist(xt_from_array(p, XT_F32, 4)), 10);
    assert_int_equal(xt_rank_of(vector), 2);
    assert_true(xt_item(xt_sum(vector)) == 10);
}

/* The mean over draws of f, a number for each, within 5 standard errors of what it should be. */
static void check_mean(const char *what, xt_tensor f, double want) {
    xt_tensor flat = xt_cast(xt_flatten(f, 0), XT_F32);
    double n = (double)xt_numel(flat), mean = xt_item(xt_mean(flat)), error;
    error = 5 * sqrt(xt_item(xt_mean(xt_square(xt_add_scalar(flat, -mean)))) / n) + 1e-6;
    if (!(fabs(mean - want) <= error)) fail_msg("%s: %g on average, expected %g +- %g", what, mean, want, error);
}
static xt_tensor element(xt_tensor x, int i, int j) { /* of matrices */
    return xt_slice(xt_slice(x, -1, j, j + 1), -2, i, i + 1);
}
static void angles_and_shares(void **state) {
    (void)state;
    const double kappas[] = {1e-7, 0.01, 0.8, 5, 90};
    xt_seed(17);
    for (size_t i = 0; i < 5; i++) {
        xt_dist d = xt_von_mises_dist(num(3), num(kappas[i]));
        double length = 1 - xt_item(xt_dist_variance(d));
        xt_tensor x = xt_add_scalar(xt_dist_sample(d, N), -3);
        check_mean("cosines of von Mises", xt_cos(x), length);
        check_mean("sines of von Mises", xt_sin(x), 0);
        assert_true(xt_item(xt_max(xt_abs(xt_add_scalar(x, 3)))) <= M_PI + 1e-6);
    }
    xt_tensor x = xt_dist_sample(xt_relaxed_bernoulli_dist(num(0.6), num(0.3)), N);
    check_mean("relaxed Bernoulli", xt_gt(x, xt_full_like(x, 0.5)), 0.3);
    const float p[] = {0.1f, 0.6f, 0, 0.3f};
    xt_tensor probs = xt_from_array(p, XT_F32, 4);
    x = xt_dist_sample(xt_relaxed_one_hot_dist(num(0.5), probs), N);
    check_mean("shares of a relaxed choice", xt_sum_axis(x, -1), 1);
    for (int i = 0; i < 4; i += 1 + (i == 1))
        check_mean("relaxed choices", xt_eq(xt_argmax(x, -1), xt_full(i, XT_I64, 1)), p[i]);
    x = xt_dist_sample(xt_multinomial_dist(7, probs), N);
    check_mean("trials", xt_sum_axis(x, -1), 7);
    for (int i = 0; i < 4; i++) {
        xt_tensor one = xt_slice(x, -1, i, i + 1);
        check_mean("counts", one, 7 * p[i]);
        check_mean("squares of counts", xt_square(one), 7 * p[i] * (1 - p[i]) + 49 * p[i] * p[i]);
    }
    xt_tensor loc = xt_from_array(((float[]){0.5f, -1}), XT_F32, 2);
    x = xt_dist_sample(xt_logistic_normal_dist(loc, xt_full(0.7, XT_F32, 1)), N);
    assert_int_equal(xt_dim(x, -1), 3);
    check_mean("shares of a logistic normal", xt_sum_axis(x, -1), 1);
    xt_tensor z = xt_transform_inverse(XT_STICK_BREAKING_TRANSFORM, x);
    check_mean("a logistic normal's numbers", xt_slice(z, -1, 1, 2), -1);
    check_mean("their squares", xt_square(xt_slice(z, -1, 0, 1)), 0.49 + 0.25);
    xt_tensor q = xt_softmax(xt_log_e(xt_from_array(((float[]){0.2f, 0.8f}), XT_F32, 2)), -1), g;
    xt_tensor draw = xt_dist_rsample(xt_one_hot_straight_through_dist(q), 1);
    assert_true(xt_item(xt_sum(xt_square(draw))) == 1);
    xt_tensor weighted = xt_sum(xt_mul(draw, xt_from_array(((float[]){3, 5}), XT_F32, 2)));
    assert_true(xt_grad_of(weighted, 1, &q, &g)); /* of 3 q0 + 5 q1, over their sum of 1 */
    assert_true(fabs(xt_item(xt_slice(g, 0, 0, 1)) - (3 - 4.6)) < 1e-5);
}
static void matrices(void **state) {
    (void)state;
    const float w[] = {1, -0.5f, 0.3f}, diag[] = {0.2f, 0.5f, 1}, tril[] = {1, 0, 0.5f, 0.8f};
    xt_seed(19);
    xt_dist d = xt_low_rank_multivariate_normal_dist(xt_zeros(XT_F32, 3), xt_from_array(w, XT_F32, 3, 1),
                                                     xt_from_array(diag, XT_F32, 3));
    xt_tensor x = xt_dist_sample(d, N), outer = xt_mul(xt_unsqueeze(x, -1), xt_unsqueeze(x, -2));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            check_mean("covariances of low rank", element(outer, i, j), w[i] * w[j] + (i == j ? diag[i] : 0));
    x = xt_dist_sample(xt_wishart_tril_dist(num(3.5), xt_from_array(tril, XT_F32, 2, 2)), N);
    const double mean[] = {3.5, 1.75, 1.75, 3.5 * 0.89};
    for (int i = 0; i < 4; i++) check_mean("Wishart", element(x, i / 2, i % 2), mean[i]);
    check_mean("Wishart, squares", xt_square(element(x, 0, 1)), 3.5 * (0.25 + 0.89) + 1.75 * 1.75);
    /* an element of a correlation matrix [n,n] is 2 b - 1 of a beta number of eta + n / 2 - 1: variance 1 / (2 eta + n
     * - 1) */
    x = xt_dist_sample(xt_lkj_cholesky_dist(3, num(1.5)), N);
    xt_tensor r = xt_matmul(x, xt_transpose(x, -1, -2));
    for (int i = 0; i < 3; i++) check_mean("variances of correlations", element(r, i, i), 1);
    check_mean("correlations", element(r, 2, 1), 0);
    check_mean("squares of correlations", xt_square(element(r, 1, 0)), 1.0 / 5);
    check_mean("squares of correlations", xt_square(element(r, 2, 1)), 1.0 / 5);
    xt_mark_step();
}

/* --- gradients --- */
/* d E[f(x)] / d parameter, the mean of f'(x) dx / dp over draws, against the known one. */
static void check_slope(const char *what, xt_tensor p, xt_tensor mean_of_f, double want, double within) {
    xt_tensor g;
    assert_true(xt_grad_of(mean_of_f, 1, &p, &g));
    double got = xt_item(xt_sum(g));
    if (!(fabs(got - want) <= within)) fail_msg("%s: %g, expected %g +- %g", what, got, want, within);
}
static void gradients(void **state) {
    (void)state;
    xt_seed(13);
    const double shapes[] = {0.2, 1, 5, 60};
    for (size_t i = 0; i < 4; i++) { /* E[x] = a and E[log x] = digamma(a) */
        double a = shapes[i];
        xt_tensor c = num(a), x = xt_dist_rsample(xt_gamma_dist(c, num(1)), N);
        check_slope("gamma, mean", c, xt_mean(x), 1, 0.05);
        c = num(a), x = xt_dist_rsample(xt_gamma_dist(c, num(1)), N);
        double trigamma = xt_item(xt_polygamma(num(1), num(a)));
        check_slope("gamma, mean of log", c, xt_mean(xt_log_e(x)), trigamma, 0.03 * trigamma);
    }
    xt_tensor a = num(2), b = num(3), x = xt_dist_rsample(xt_beta_dist(a, b), N);
    check_slope("beta", a, xt_mean(x), 3.0 / 25, 0.004);
    x = xt_dist_rsample(xt_beta_dist(a, b), N);
    check_slope("beta", b, xt_mean(x), -2.0 / 25, 0.004);
    xt_tensor alpha = xt_from_array((float[]){1, 2, 3}, XT_F32, 3);
    x = xt_dist_rsample(xt_dirichlet_dist(alpha), N);
    check_slope("dirichlet", alpha, xt_mean(xt_square(xt_slice(x, -1, 0, 1))), /* E = a (a + 1) / (s (s + 1)) */
                3.0 / 42 - 3 * 2.0 * 13 / (42 * 42), 0.01);
    xt_tensor df = num(6);
    x = xt_dist_rsample(xt_student_t_dist(df, num(0), num(1)), N);
    check_slope("student_t", df, xt_mean(xt_square(x)), -2.0 / 16, 0.05);
    xt_tensor loc = num(1);
    x = xt_dist_rsample(xt_tanh_dist(xt_normal_dist(loc, num(0.1))), N);
    check_slope("a normal number's place through tanh", loc, xt_mean(x), 0.42, 0.02);
    /* a sample is a number: nothing flows */
    loc = xt_requires_grad(num(1), true);
    x = xt_dist_sample(xt_normal_dist(loc, num(1)), 3);
    xt_tensor g = {0};
    assert_false(xt_grad_of(xt_sum(x), 1, &loc, &g));
    assert_non_null(xt_error());
    xt_clear_error();
}

/* Rounds of rejection inside a scanned function draw anew in each step. */
static void step(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    (void)x;
    (void)user;
    y[0] = xt_dist_sample(xt_gamma_dist(num(2), num(1)));
    carry[0] = xt_add(carry[0], y[0]);
}
static void in_a_scan(void **state) {
    (void)state;
    xt_tensor sum = num(0), all;
    float v[6];
    assert_true(xt_scan(step, 1, &sum, 0, NULL, 1, &all, .length = 6));
    assert_true(xt_read(all, v, sizeof v));
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < i; k++) assert_true(v[i] > 0 && v[i] != v[k]);
}

static void shapes(void **state) {
    (void)state;
    xt_dist d = xt_independent_dist(xt_normal_dist(xt_zeros(XT_F32, 5, 1), xt_ones(XT_BF16, 4)), 1);
    xt_tensor x = xt_dist_sample(d, 2, 3);
    assert_int_equal(xt_rank_of(x), 4);
    assert_int_equal(xt_dim(x, 3), 4);
    assert_int_equal(xt_rank_of(xt_dist_log_prob(d, x)), 3);
    assert_int_equal(xt_dist_event_dims(d), 1);
    x = xt_dist_sample(xt_gamma_dist(xt_full(2, XT_F64, 3), xt_full(1, XT_F64, 3)));
    assert_int_equal(xt_dtype_of(x), XT_F64);
    x = xt_dist_log_prob(xt_normal_dist(xt_zeros(XT_BF16, 3), xt_ones(XT_BF16, 3)), xt_zeros(XT_BF16, 3));
    assert_int_equal(xt_dtype_of(x), XT_BF16);
    assert_true(isinf(xt_item(xt_dist_log_prob(xt_gamma_dist(num(2), num(1)), num(-1)))));
    assert_true(isinf(xt_item(xt_dist_log_prob(xt_binomial_dist(3, num(0.5)), num(4)))));
    assert_true(isinf(xt_item(xt_dist_log_prob(xt_poisson_dist(num(3)), num(0.5)))));
    assert_true(isnan(xt_item(xt_dist_log_prob(xt_poisson_dist(num(3)), num(NAN)))));
}

/* --- errors: what is wrong and what to do stand in the message --- */
static void wrong(xt_tensor t, const char *says) {
    assert_true(xt_is_error(t));
    const char *message = xt_error() ? xt_status_message(xt_error()) : "";
    if (!strstr(message, says)) fail_msg("\"%s\" does not say \"%s\"", message, says);
    xt_clear_error();
}
static void errors(void **state) {
    (void)state;
    xt_dist normal = xt_normal_dist(num(0), num(1)), none = {0}, deep = normal;
    wrong(xt_dist_sample(none), "no distribution");
    wrong(xt_dist_mean(xt_exp_dist(none)), "no distribution");
    wrong(xt_dist_sample(xt_normal_dist(xt_zeros(XT_F32, 3), xt_ones(XT_F32, 4))), "do not broadcast");
    wrong(xt_dist_log_prob(xt_dirichlet_dist(xt_ones(XT_F32, 3)), xt_ones(XT_F32, 4)), "last 1 dims");
    wrong(xt_dist_log_prob(normal, xt_complex(num(1), num(1))), "real numbers");
    wrong(xt_dist_mean(xt_dirichlet_dist(xt_full(1, XT_F32))), "at least");
    wrong(xt_dist_rsample(xt_poisson_dist(num(1))), "xt_dist_log_prob");
    wrong(xt_dist_entropy(xt_poisson_dist(num(1))), "Poisson has none");
    wrong(xt_dist_mean(xt_tanh_dist(normal)), "TanhTransform of Normal has none");
    wrong(xt_dist_kl(normal, xt_gamma_dist(num(1), num(1))), "one kind");
    wrong(xt_dist_kl(xt_tanh_dist(normal), normal), "of TanhTransform of Normal and Normal: ");
    wrong(xt_dist_kl(xt_affine_dist(normal, num(0), num(2)), xt_affine_dist(normal, num(0), num(2))), "the very same");
    xt_dist relaxed = xt_relaxed_bernoulli_dist(num(1), num(0.5));
    wrong(xt_dist_kl(relaxed, relaxed), "RelaxedBernoulli has none, as in PyTorch");
    wrong(xt_dist_kl(xt_exp_dist(relaxed), normal), "of ExpTransform of RelaxedBernoulli and Normal: ");
    wrong(xt_dist_mean(xt_binomial_dist(-1, num(0.5))), "total_count");
    wrong(xt_dist_mean(xt_independent_dist(normal, 2)), "there are 1");
    wrong(xt_dist_mean(xt_multivariate_normal_tril_dist(num(1), xt_ones(XT_F32, 2, 2))), "[...,D,D]");
    wrong(xt_dist_mean(xt_multinomial_dist(-1, xt_ones(XT_F32, 3))), "total_count");
    wrong(xt_dist_mean(xt_wishart_dist(num(3), xt_ones(XT_F32, 2, 3))), "[...,D,D]");
    wrong(xt_dist_sample(xt_lkj_cholesky_dist(1, num(1))), "at least 2");
    wrong(xt_dist_mean(
              xt_low_rank_multivariate_normal_dist(xt_ones(XT_F32, 3), xt_ones(XT_F32, 2, 1), xt_ones(XT_F32, 3))),
          "[...,D,R]");
    wrong(xt_transform(XT_CORR_CHOLESKY_TRANSFORM, xt_ones(XT_F32, 4)), "D (D - 1) / 2");
    wrong(xt_transform_log_slope(XT_SOFTMAX_TRANSFORM, xt_ones(XT_F32, 4), xt_ones(XT_F32, 4)), "one to one");
    wrong(xt_transform((xt_transform_kind)99, xt_ones(XT_F32, 4)), "no transform 99");
    for (int i = 0; i <= XT_DIST_LAYERS; i++) deep = xt_exp_dist(deep);
    wrong(xt_dist_sample(deep), "layers already");
    assert_int_equal(xt_dist_event_dims(none), 0);
}

/* --- parameters that are no numbers, choices that the other does not have, values that cannot be --- */
/* Of two batches, the second's parameters NaN: its draws are, and the first's are not. Choices are numbers of classes,
 * and -1. */
static void check_unknown(const char *what, xt_dist d) {
    float x[64];
    xt_tensor t = xt_cast(xt_dist_sample(d, 3), XT_F32);
    int64_t n = xt_numel(t), half = n / 3 / 2;
    if (n > 64 || n % 6 || !xt_read(t, x, (size_t)n * sizeof *x)) fail_msg("%s: %d numbers", what, (int)n);
    for (int64_t i = 0; i < n; i++) {
        bool second = i / half % 2;
        if (second && !isnan(x[i]) && x[i] != -1) fail_msg("%s: %g of a parameter that is NaN", what, x[i]);
        if (!second && isnan(x[i])) fail_msg("%s: NaN of parameters that are numbers", what);
    }
}
static void unknown_parameters(void **state) {
    (void)state;
    xt_tensor half = xt_from_array(((float[]){0.5f, NAN}), XT_F32, 2), one = num(1), few = xt_full(0.5, XT_F32, 1);
    xt_tensor rows = xt_from_array(((float[]){0.5f, 0.25f, 0.25f, 0.5f, NAN, 0.25f}), XT_F32, 2, 3);
    xt_tensor cov = xt_from_array(((float[]){1, 0, 0, 1, 1, 0, 0, NAN}), XT_F32, 2, 2, 2);
    xt_tensor many = xt_from_array(((float[]){50, NAN}), XT_F32, 2);
#define UNKNOWN(call) check_unknown(#call, call)
    UNKNOWN(xt_normal_dist(half, one)), UNKNOWN(xt_normal_dist(one, half)), UNKNOWN(xt_uniform_dist(half, one));
    UNKNOWN(xt_log_normal_dist(half, one)), UNKNOWN(xt_laplace_dist(half, one)), UNKNOWN(xt_cauchy_dist(one, half));
    UNKNOWN(xt_gumbel_dist(half, one)), UNKNOWN(xt_student_t_dist(half, one, one));
    UNKNOWN(xt_half_normal_dist(half)), UNKNOWN(xt_half_cauchy_dist(half)), UNKNOWN(xt_exponential_dist(half));
    UNKNOWN(xt_gamma_dist(half, one)), UNKNOWN(xt_gamma_dist(one, half)), UNKNOWN(xt_chi2_dist(half));
    UNKNOWN(xt_beta_dist(half, one)), UNKNOWN(xt_beta_dist(one, half)), UNKNOWN(xt_bernoulli_dist(half));
    UNKNOWN(xt_bernoulli_logits_dist(half)), UNKNOWN(xt_geometric_dist(half)), UNKNOWN(xt_binomial_dist(5, half));
    UNKNOWN(xt_binomial_dist(500, half)), UNKNOWN(xt_poisson_dist(half)), UNKNOWN(xt_poisson_dist(many));
    UNKNOWN(xt_categorical_dist(rows)), UNKNOWN(xt_categorical_logits_dist(rows));
    UNKNOWN(xt_one_hot_categorical_dist(rows)), UNKNOWN(xt_dirichlet_dist(rows));
    UNKNOWN(xt_multivariate_normal_dist(xt_zeros(XT_F32, 2), cov));
    UNKNOWN(xt_mixture_dist(rows, xt_normal_dist(xt_zeros(XT_F32, 2, 3), few)));
    UNKNOWN(xt_sigmoid_dist(xt_normal_dist(half, one)));
    UNKNOWN(xt_pareto_dist(one, half)), UNKNOWN(xt_generalized_pareto_dist(half, one, one));
    UNKNOWN(xt_weibull_dist(half, one)), UNKNOWN(xt_kumaraswamy_dist(one, half));
    UNKNOWN(xt_inverse_gamma_dist(half, one)), UNKNOWN(xt_fisher_snedecor_dist(half, one));
    UNKNOWN(xt_continuous_bernoulli_dist(half)), UNKNOWN(xt_relaxed_bernoulli_dist(one, half));
    UNKNOWN(xt_negative_binomial_dist(half, few)), UNKNOWN(xt_negative_binomial_dist(one, half));
    UNKNOWN(xt_multinomial_dist(5, rows)), UNKNOWN(xt_one_hot_straight_through_dist(rows));
    UNKNOWN(xt_relaxed_one_hot_dist(one, rows)), UNKNOWN(xt_von_mises_dist(one, half));
    UNKNOWN(xt_lkj_cholesky_dist(2, half));
    xt_mark_step();
}
static void expect(const char *what, xt_tensor t, int n, const double *want) {
    float x[16];
    assert_true(xt_read(t, x, (size_t)n * sizeof *x));
    for (int i = 0; i < n; i++)
        if (isnan(want[i]) ? !isnan(x[i]) : x[i] != want[i] && !(fabs(x[i] - want[i]) < 1e-6))
            fail_msg("%s, number %d: %g, expected %g", what, i, x[i], want[i]);
}
#define EXPECT(n, t, ...) expect(#t, t, n, (const double[]){__VA_ARGS__})
static void impossible_choices(void **state) {
    (void)state;
    xt_tensor p = xt_from_array(((float[]){0.5f, 0.5f, 0, 1, 0, 0}), XT_F32, 2, 3),
              q = xt_from_array(((float[]){0.5f, 0, 0.5f}), XT_F32, 3),
              s = xt_from_array(((float[]){0, 1, 0.5f}), XT_F32, 3),
              t = xt_from_array(((float[]){0, 0.5f, 1}), XT_F32, 3);
    EXPECT(2, xt_dist_kl(xt_categorical_dist(p), xt_categorical_dist(q)), INFINITY, log(2));
    EXPECT(2, xt_dist_kl(xt_one_hot_categorical_dist(p), xt_one_hot_categorical_dist(q)), INFINITY, log(2));
    EXPECT(3, xt_dist_kl(xt_bernoulli_dist(s), xt_bernoulli_dist(t)), 0, log(2), INFINITY);
    EXPECT(3, xt_dist_kl(xt_bernoulli_dist(t), xt_bernoulli_dist(s)), 0, INFINITY, log(2));
    xt_mark_step();
}
static void values_outside(void **state) {
    (void)state;
    xt_dist normal = xt_normal_dist(num(0), num(1)), gumbel = xt_gumbel_dist(num(0), num(1));
    xt_tensor y = xt_from_array(((float[]){-2, 2, NAN}), XT_F32, 3), low = xt_from_array(((float[]){-1, 0}), XT_F32, 2);
    EXPECT(3, xt_dist_log_prob(xt_sigmoid_dist(normal), y), -INFINITY, -INFINITY, NAN);
    EXPECT(3, xt_dist_log_prob(xt_tanh_dist(gumbel), y), -INFINITY, -INFINITY, NAN);
    EXPECT(2, xt_dist_log_prob(xt_exp_dist(gumbel), low), -INFINITY, -INFINITY);
    EXPECT(2, xt_dist_log_prob(xt_independent_dist(xt_exp_dist(normal), 1), xt_reshape(low, 2, 1)), -INFINITY,
           -INFINITY);
    EXPECT(1, xt_dist_log_prob(xt_sigmoid_dist(normal), xt_full(0.5, XT_F32, 1)), log(4) - 0.91893853320467274);
    EXPECT(3, xt_dist_cdf(xt_sigmoid_dist(normal), y), 0, 1, NAN);
    EXPECT(3, xt_dist_cdf(xt_tanh_dist(gumbel), y), 0, 1, NAN);
    EXPECT(2, xt_dist_cdf(xt_exp_dist(normal), low), 0, 0);
    EXPECT(3, xt_dist_cdf(xt_affine_dist(xt_exp_dist(normal), num(1), num(-1)), xt_full(3, XT_F32, 3)), 1, 1, 1);
    xt_mark_step();
}
/* No distribution function is above 1 or below 0, or falls, however it is rounded. */
static void functions_end_at_1(void **state) {
    (void)state;
    enum { POINTS = 4001 };
    static float p[POINTS];
    static const double shapes[] = {0.05, 0.5, 1, 2.5, 7, 30, 400};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        xt_tensor x = xt_mul_scalar(xt_arange(POINTS, XT_F32), (shapes[i] + 40) / 1000);
        xt_tensor t = xt_dist_cdf(xt_gamma_dist(num(shapes[i]), num(1)), x);
        assert_true(xt_read(t, p, sizeof p));
        for (int k = 0; k < POINTS; k++)
            if (!(p[k] >= 0 && p[k] <= 1)) fail_msg("shape %g, point %d: %.9g", shapes[i], k, p[k]);
        xt_mark_step();
    }
}

/* Against numbers of mpmath with 40 digits: where both arguments are near each other, and where one part is nearly all.
 */
static void incomplete_gamma(void **state) {
    (void)state;
    static const double rows[][4] = {
        {0.5, 0.5, 0.6826894921370859, 0.3173105078629141},
        {0.2, 0.2, 0.764434597502919, 0.235565402497081},
        {0.3, 0.3, 0.72695734371036619, 0.27304265628963381},
        {1, 1, 0.63212055882855768, 0.36787944117144232},
        {1.3, 1.56, 0.6935586131058859, 0.3064413868941141},
        {3, 3, 0.57680991887315648, 0.42319008112684352},
        {300, 300, 0.5076777888862635, 0.4923222111137365},
        {1e-12, 1e-3, 0.99999999999366846, 6.3315393641169265e-12},
        {1e-6, 1.2, 0.99999984159137924, 1.5840862075673757e-7},
        {1e-3, 1e-5, 0.98912304469578267, 0.010876955304217331},
        {0.019, 1.4, 0.99773811713843192, 0.0022618828615680759},
        {0.021, 1.4, 0.99749377150650225, 0.0025062284934977463},
        {1e-300, 0.5, 1.0, 5.5977359477616083e-301},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int upper = 0; upper < 2; upper++) {
            xt_tensor a = xt_from_array(&rows[i][0], XT_F64), x = xt_from_array(&rows[i][1], XT_F64);
            double want = rows[i][2 + upper], got = xt_item(upper ? xt_igammac(a, x) : xt_igamma(a, x));
            if (!(fabs(got - want) <= 1e-11 * want))
                fail_msg("%s(%g, %g) is %.17g, wanted %.17g", upper ? "igammac" : "igamma", rows[i][0], rows[i][1], got,
                         want);
        }
    xt_mark_step();
}
/* Two under the same changes of variables are as far apart as without them. */
static void divergence_of_transformed(void **state) {
    (void)state;
    xt_dist p = xt_normal_dist(num(0.5), num(2)), q = xt_normal_dist(num(-1), num(0.5));
    double want = xt_item(xt_dist_kl(p, q));
    xt_tensor loc = xt_zeros(XT_F32, 3), scale = xt_ones(XT_F32, 3), power = num(2);
    assert_float_equal(xt_item(xt_dist_kl(xt_tanh_dist(p), xt_tanh_dist(q))), want, 0);
    assert_float_equal(xt_item(xt_dist_kl(xt_exp_dist(p), xt_exp_dist(q))), want, 0);
    assert_float_equal(xt_item(xt_dist_kl(xt_sigmoid_dist(p), xt_sigmoid_dist(q))), want, 0);
    assert_float_equal(
        xt_item(xt_dist_kl(xt_power_dist(xt_softplus_dist(p), power), xt_power_dist(xt_softplus_dist(q), power))), want,
        0);
    xt_tensor of_each = xt_dist_kl(xt_affine_dist(p, loc, scale), xt_affine_dist(q, loc, scale));
    assert_int_equal(xt_numel(of_each), 3);
    assert_float_equal(xt_item(xt_sum(of_each)), 3 * want, 1e-5);
    xt_dist rows = xt_independent_dist(xt_affine_dist(p, loc, scale), 1);
    assert_float_equal(xt_item(xt_dist_kl(rows, rows)), 0, 0);
    xt_mark_step();
}

/* A value of fewer dims than a layer's numbers is as good as the same value for each of them. */
static xt_dist with_numbers(int which) {
    xt_dist base = xt_exponential_dist(which % 2 ? num(2) : xt_full(2, XT_F32, 2, 3));
    xt_tensor some = xt_from_array((float[]){0.5f, 1.5f, 2, -1, 3, 0.7f}, XT_F32, 2, 3), one = xt_slice(some, 0, 0, 1);
    switch (which / 2) {
    case 0: return xt_power_dist(base, some);
    case 1: return xt_power_dist(base, xt_reshape(xt_slice(xt_flatten(some, 0), 0, 0, 2), 2, 1));
    case 2: return xt_affine_dist(base, one, some);
    case 3: return xt_exp_dist(xt_affine_dist(base, num(0.1), some));
    case 4: return xt_power_dist(xt_affine_dist(base, num(0.1), one), some);
    case 5: return xt_tanh_dist(xt_affine_dist(base, some, one));
    case 6: return xt_sigmoid_dist(xt_affine_dist(base, some, one));
    default: return xt_affine_dist(xt_power_dist(base, some), num(0.1), num(2));
    }
}
static void values_of_fewer_dims(void **state) {
    (void)state;
    for (int which = 0; which < 16; which++)
        for (int rank = 0; rank < 3; rank++)
            for (int of = 0; of < 3; of++) {
                xt_tensor all = xt_from_array((float[]){0.3f, 0.6f, 0.8f}, XT_F32, 3), few, y[2];
                few = rank == 0 ? num(0.4) : rank == 1 ? xt_slice(all, 0, 1, 2) : all;
                float got[2][6];
                for (int k = 0; k < 2; k++) {
                    xt_dist d = with_numbers(which);
                    xt_tensor x = k ? xt_broadcast_to(few, 2, 3) : few;
                    y[k] = of == 0 ? xt_dist_log_prob(d, x) : of == 1 ? xt_dist_cdf(d, x) : xt_dist_icdf(d, x);
                    if (xt_error()) fail_msg("%d of distribution %d: %s", of, which, xt_status_message(xt_error()));
                    if (k == 0 && xt_numel(y[0]) < 6) y[0] = xt_broadcast_to(y[0], 2, 3);
                    assert_true(xt_read(y[k], got[k], sizeof got[k]));
                }
                for (int i = 0; i < 6; i++)
                    if (got[0][i] != got[1][i] && !(isnan(got[0][i]) && isnan(got[1][i])))
                        fail_msg("%d of distribution %d [%d]: %g, not %g", of, which, i, got[0][i], got[1][i]);
                xt_mark_step();
            }
    /* a mixture gives its parts such values */
    xt_tensor logits = xt_zeros(XT_F32, 2, 3), rate = xt_ones(XT_F32, 2, 3);
    xt_dist parts = xt_power_dist(xt_gamma_dist(rate, rate), xt_from_array((float[]){2, 3}, XT_F32, 2, 1));
    xt_tensor l = xt_dist_log_prob(xt_mixture_dist(logits, parts), xt_from_array((float[]){0.5f, 2}, XT_F32, 2));
    float got[2];
    assert_true(xt_read(l, got, sizeof got));
    for (int i = 0; i < 2; i++) { /* y = x^a of an exponential x: x / (a y) e^-x */
        double y = i ? 2 : 0.5, a = 2 + i, x = pow(y, 1 / a);
        assert_true(fabs(got[i] - (log(x / (a * y)) - x)) < 1e-5);
    }
    xt_mark_step();
}

static int finish(void **state) {
    (void)state;
    return xt_finish();
}
int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers),
                                       cmocka_unit_test(counts),
                                       cmocka_unit_test(values_of_fewer_dims),
                                       cmocka_unit_test(shares),
                                       cmocka_unit_test(vectors),
                                       cmocka_unit_test(angles_and_shares),
                                       cmocka_unit_test(matrices),
                                       cmocka_unit_test(gradients),
                                       cmocka_unit_test(in_a_scan),
                                       cmocka_unit_test(shapes),
                                       cmocka_unit_test(errors),
                                       cmocka_unit_test(unknown_parameters),
                                       cmocka_unit_test(impossible_choices),
                                       cmocka_unit_test(values_outside),
                                       cmocka_unit_test(functions_end_at_1),
                                       cmocka_unit_test(incomplete_gamma),
                                       cmocka_unit_test(divergence_of_transformed)};
    return cmocka_run_group_tests(tests, NULL, finish);
}
