/* Distributions over all numbers with a place and a width: p[0] and p[1] (Student's t: p[1] and p[2] behind the degrees
 * of freedom; uniform: its ends). The log-normal is here as what e^x of a normal is. */
#include "distributions/dist.h"

#define LOC a->p[0]
#define SCALE a->p[1]
static const double LOG_SQRT_2PI = 0.91893853320467274178, EULER = 0.57721566490153286061;

static ir_value *moved(dist_args *a, ir_value *z) { /* loc + scale z */
    return ir_add(a->b, LOC, ir_multiply(a->b, SCALE, z));
}
static ir_value *loc(dist_args *a) {
    return ops_copy(a->b, LOC);
}
static ir_value *log_scale_plus(dist_args *a, double v) {
    return ex_plus(a->b, ir_log(a->b, SCALE), v);
}
static ir_value *scale_squared_times(dist_args *a, double v) {
    return ex_times(a->b, ir_multiply(a->b, SCALE, SCALE), v);
}

/* --- normal --- */
static ir_value *normal_draw(dist_args *a, bool grad) {
    (void)grad;
    return moved(a, dist_normals(a));
}
static ir_value *normal_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *z = dist_standard(b, x, LOC, SCALE);
    return ir_subtract(b, ex_times(b, ir_multiply(b, z, z), -0.5), log_scale_plus(a, LOG_SQRT_2PI));
}
static ir_value *normal_cdf(dist_args *a, ir_value *x) { /* by erfc, which keeps its digits below the mean */
    ir_value *z = dist_standard(a->b, x, LOC, SCALE);
    return ex_times(a->b, ir_chlo_erfc(a->b, ex_times(a->b, z, -M_SQRT1_2)), 0.5);
}
static ir_value *normal_icdf(dist_args *a, ir_value *q) {
    ir_value *e = ir_chlo_erf_inv(a->b, ex_plus(a->b, ex_times(a->b, q, 2), -1));
    return moved(a, ex_times(a->b, e, M_SQRT2));
}
static ir_value *normal_variance(dist_args *a) {
    return scale_squared_times(a, 1);
}
static ir_value *normal_entropy(dist_args *a) {
    return log_scale_plus(a, 0.5 + LOG_SQRT_2PI);
}
static ir_value *normal_kl(dist_args *p, dist_args *q) {
    ir_builder *b = p->b;
    ir_value *ratio = ir_divide(b, p->p[1], q->p[1]), *t = dist_standard(b, p->p[0], q->p[0], q->p[1]);
    ir_value *square = ir_multiply(b, ratio, ratio);
    ir_value *sum = ir_subtract(b, ir_add(b, square, ir_multiply(b, t, t)), ir_log(b, square));
    return ex_times(b, ex_plus(b, sum, -1), 0.5);
}
const dist_kind dist_normal = {.name = "Normal",
                               .n_params = 2,
                               .reparameterized = true,
                               .draw = normal_draw,
                               .log_prob = normal_log_prob,
                               .cdf = normal_cdf,
                               .icdf = normal_icdf,
                               .mean = loc,
                               .variance = normal_variance,
                               .entropy = normal_entropy,
                               .kl = normal_kl};

/* --- log-normal --- */
static ir_value *log_normal_draw(dist_args *a, bool grad) {
    return ir_exponential(a->b, normal_draw(a, grad));
}
static ir_value *log_normal_log_prob(dist_args *a, ir_value *x) {
    ir_value *l = ir_log(a->b, x);
    return ir_subtract(a->b, normal_log_prob(a, l), l);
}
/* The logarithm of 0 is moved where the distribution function is 0 to the last bit. */
static ir_value *log_normal_cdf(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *above = ex_is(b, x, IR_GT, 0);
    return ex_keep(b, above, normal_cdf(a, ir_log(b, ex_keep(b, above, x, 1))), 0);
}
static ir_value *log_normal_icdf(dist_args *a, ir_value *q) {
    return ir_exponential(a->b, normal_icdf(a, q));
}
static ir_value *log_normal_mean(dist_args *a) {
    return ir_exponential(a->b, ir_add(a->b, LOC, scale_squared_times(a, 0.5)));
}
static ir_value *log_normal_variance(dist_args *a) {
    ir_builder *b = a->b;
    ir_value *square = scale_squared_times(a, 1);
    ir_value *e = ir_exponential(b, ir_add(b, ex_times(b, LOC, 2), square));
    return ir_multiply(b, ir_exponential_minus_one(b, square), e);
}
static ir_value *log_normal_entropy(dist_args *a) {
    return ir_add(a->b, normal_entropy(a), LOC);
}
const dist_kind dist_log_normal = {.name = "LogNormal",
                                   .n_params = 2,
                                   .support = DIST_POSITIVE,
                                   .reparameterized = true,
                                   .draw = log_normal_draw,
                                   .log_prob = log_normal_log_prob,
                                   .cdf = log_normal_cdf,
                                   .icdf = log_normal_icdf,
                                   .mean = log_normal_mean,
                                   .variance = log_normal_variance,
                                   .entropy = log_normal_entropy,
                                   .kl = normal_kl};

/* --- Laplace --- */
static ir_value *laplace_icdf(dist_args *a, ir_value *q) {
    ir_builder *b = a->b;
    ir_value *m = ex_plus(b, q, -0.5);
    ir_value *l = ir_log_plus_one(b, ex_times(b, ir_abs(b, m), -2));
    return ir_subtract(b, LOC, ir_multiply(b, SCALE, ir_multiply(b, ir_sign(b, m), l)));
}
static ir_value *laplace_draw(dist_args *a, bool grad) {
    (void)grad;
    return laplace_icdf(a, dist_uniforms(a));
}
static ir_value *laplace_log_prob(dist_args *a, ir_value *x) {
    ir_value *z = ir_abs(a->b, dist_standard(a->b, x, LOC, SCALE));
    return ir_negate(a->b, ir_add(a->b, z, log_scale_plus(a, M_LN2)));
}
static ir_value *laplace_cdf(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *z = dist_standard(b, x, LOC, SCALE);
    ir_value *tail = ex_times(b, ir_exponential(b, ir_negate(b, ir_abs(b, z))), 0.5);
    return ex_pick(b, ex_is(b, z, IR_LT, 0), tail, ex_plus(b, ir_negate(b, tail), 1));
}
static ir_value *laplace_variance(dist_args *a) {
    return scale_squared_times(a, 2);
}
static ir_value *laplace_entropy(dist_args *a) {
    return log_scale_plus(a, 1 + M_LN2);
}
static ir_value *laplace_kl(dist_args *p, dist_args *q) {
    ir_builder *b = p->b;
    ir_value *ratio = ir_divide(b, p->p[1], q->p[1]), *apart = ir_abs(b, ir_subtract(b, p->p[0], q->p[0]));
    ir_value *e = ir_exponential(b, ir_negate(b, ir_divide(b, apart, p->p[1])));
    ir_value *sum = ir_add(b, ir_divide(b, apart, q->p[1]), ir_multiply(b, ratio, e));
    return ex_plus(b, ir_subtract(b, sum, ir_log(b, ratio)), -1);
}
const dist_kind dist_laplace = {.name = "Laplace",
                                .n_params = 2,
                                .reparameterized = true,
                                .draw = laplace_draw,
                                .log_prob = laplace_log_prob,
                                .cdf = laplace_cdf,
                                .icdf = laplace_icdf,
                                .mean = loc,
                                .variance = laplace_variance,
                                .entropy = laplace_entropy,
                                .kl = laplace_kl};

/* --- Cauchy --- */
static ir_value *cauchy_icdf(dist_args *a, ir_value *q) {
    return moved(a, ir_tan(a->b, ex_times(a->b, ex_plus(a->b, q, -0.5), M_PI)));
}
static ir_value *cauchy_draw(dist_args *a, bool grad) {
    (void)grad;
    return cauchy_icdf(a, dist_uniforms(a));
}
static ir_value *cauchy_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *z = dist_standard(b, x, LOC, SCALE);
    return ir_negate(b, ir_add(b, log_scale_plus(a, log(M_PI)), ir_log_plus_one(b, ir_multiply(b, z, z))));
}
static ir_value *cauchy_cdf(dist_args *a, ir_value *x) {
    ir_value *angle = ir_chlo_atan(a->b, dist_standard(a->b, x, LOC, SCALE));
    return ex_plus(a->b, ex_over(a->b, angle, M_PI), 0.5);
}
static ir_value *no_mean(dist_args *a) {
    return ex_num(a->b, LOC, NAN);
}
static ir_value *infinite(dist_args *a) {
    return ex_num(a->b, LOC, INFINITY);
}
static ir_value *cauchy_entropy(dist_args *a) {
    return log_scale_plus(a, log(4 * M_PI));
}
/* log of 1 + ((difference of scales)^2 + (of places)^2) / (4 product of scales). */
static ir_value *cauchy_kl(dist_args *p, dist_args *q) {
    ir_builder *b = p->b;
    ir_value *wider = ir_subtract(b, p->p[1], q->p[1]), *apart = ir_subtract(b, p->p[0], q->p[0]);
    ir_value *squares = ir_add(b, ir_multiply(b, wider, wider), ir_multiply(b, apart, apart));
    return ir_log_plus_one(b, ir_divide(b, squares, ex_times(b, ir_multiply(b, p->p[1], q->p[1]), 4)));
}
const dist_kind dist_cauchy = {.name = "Cauchy",
                               .n_params = 2,
                               .reparameterized = true,
                               .draw = cauchy_draw,
                               .log_prob = cauchy_log_prob,
                               .cdf = cauchy_cdf,
                               .icdf = cauchy_icdf,
                               .mean = no_mean,
                               .variance = infinite,
                               .entropy = cauchy_entropy,
                               .kl = cauchy_kl};

/* --- Gumbel --- */
static ir_value *gumbel_icdf(dist_args *a, ir_value *q) {
    ir_builder *b = a->b;
    return moved(a, ir_negate(b, ir_log(b, ir_negate(b, ir_log(b, q)))));
}
static ir_value *gumbel_draw(dist_args *a, bool grad) {
    (void)grad;
    return gumbel_icdf(a, dist_uniforms(a));
}
static ir_value *gumbel_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *y = ir_negate(b, dist_standard(b, x, LOC, SCALE));
    return ir_subtract(b, ir_subtract(b, y, ir_exponential(b, y)), ir_log(b, SCALE));
}
static ir_value *gumbel_cdf(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *y = ir_negate(b, dist_standard(b, x, LOC, SCALE));
    return ir_exponential(b, ir_negate(b, ir_exponential(b, y)));
}
static ir_value *gumbel_mean(dist_args *a) {
    return ir_add(a->b, LOC, ex_times(a->b, SCALE, EULER));
}
static ir_value *gumbel_variance(dist_args *a) {
    return scale_squared_times(a, M_PI * M_PI / 6);
}
static ir_value *gumbel_entropy(dist_args *a) {
    return log_scale_plus(a, 1 + EULER);
}
static ir_value *gumbel_kl(dist_args *p, dist_args *q) {
    ir_builder *b = p->b;
    ir_value *ratio = ir_divide(b, p->p[1], q->p[1]), *apart = dist_standard(b, q->p[0], p->p[0], q->p[1]);
    ir_value *tail = ir_add(b, apart, ir_chlo_lgamma(b, ex_plus(b, ratio, 1)));
    ir_value *sum = ir_add(b, ir_exponential_minus_one(b, tail), ex_times(b, ex_plus(b, ratio, -1), EULER));
    return ir_subtract(b, ir_subtract(b, sum, apart), ir_log(b, ratio));
}
const dist_kind dist_gumbel = {.name = "Gumbel",
                               .n_params = 2,
                               .reparameterized = true,
                               .draw = gumbel_draw,
                               .log_prob = gumbel_log_prob,
                               .cdf = gumbel_cdf,
                               .icdf = gumbel_icdf,
                               .mean = gumbel_mean,
                               .variance = gumbel_variance,
                               .entropy = gumbel_entropy,
                               .kl = gumbel_kl};
#undef LOC
#undef SCALE

/* --- Student's t: df, loc, scale --- */
#define DF a->p[0]
static ir_value *half_more(dist_args *a) { /* (df + 1) / 2 */
    return ex_times(a->b, ex_plus(a->b, DF, 1), 0.5);
}
static ir_value *log_beta_of_df(dist_args *a) { /* of df / 2 and 1 / 2 */
    ir_builder *b = a->b;
    ir_value *l = ir_subtract(b, ir_chlo_lgamma(b, ex_times(b, DF, 0.5)), ir_chlo_lgamma(b, half_more(a)));
    return ex_plus(b, l, 0.5 * log(M_PI));
}
/* A normal number over the root of a chi-squared one by its degrees of freedom. */
static ir_value *student_t_draw(dist_args *a, bool grad) {
    ir_builder *b = a->b;
    ir_value *x = dist_normals(a), *half = ex_times(b, DF, 0.5);
    ir_value *l = dist_log_gamma_draw(a, half, grad);
    ir_value *spread = ir_exponential(b, ex_times(b, ir_subtract(b, ir_log(b, half), l), 0.5));
    return ir_add(b, a->p[1], ir_multiply(b, a->p[2], ir_multiply(b, x, spread)));
}
static ir_value *student_t_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *y = dist_standard(b, x, a->p[1], a->p[2]);
    ir_value *tail = ir_multiply(b, half_more(a), ir_log_plus_one(b, ir_divide(b, ir_multiply(b, y, y), DF)));
    ir_value *z = ir_add(b, ir_log(b, a->p[2]), ir_add(b, ex_times(b, ir_log(b, DF), 0.5), log_beta_of_df(a)));
    return ir_negate(b, ir_add(b, tail, z));
}
static ir_value *student_t_mean(dist_args *a) {
    return ex_keep(a->b, ex_is(a->b, DF, IR_GT, 1), a->p[1], NAN);
}
static ir_value *student_t_variance(dist_args *a) {
    ir_builder *b = a->b;
    ir_value *wide = ex_is(b, DF, IR_GT, 2), *df = ex_keep(b, wide, DF, 3);
    ir_value *v = ir_divide(b, ir_multiply(b, ir_multiply(b, a->p[2], a->p[2]), df), ex_plus(b, df, -2));
    ir_value *else_ = ex_keep(b, ex_is(b, DF, IR_GT, 1), ex_num(b, DF, INFINITY), NAN);
    return ex_pick(b, wide, v, else_);
}
static ir_value *student_t_entropy(dist_args *a) {
    ir_builder *b = a->b;
    ir_value *h = half_more(a), *half = ex_times(b, DF, 0.5);
    ir_value *d = ir_multiply(b, h, ir_subtract(b, ir_chlo_digamma(b, h), ir_chlo_digamma(b, half)));
    ir_value *l = ir_add(b, ex_times(b, ir_log(b, DF), 0.5), log_beta_of_df(a));
    return ir_add(b, ir_add(b, ir_log(b, a->p[2]), d), l);
}
const dist_kind dist_student_t = {.name = "StudentT",
                                  .n_params = 3,
                                  .reparameterized = true,
                                  .draw = student_t_draw,
                                  .log_prob = student_t_log_prob,
                                  .mean = student_t_mean,
                                  .variance = student_t_variance,
                                  .entropy = student_t_entropy};
#undef DF

/* --- uniform: low, high --- */
#define LOW a->p[0]
#define HIGH a->p[1]
static ir_value *width(dist_args *a) {
    return ir_subtract(a->b, HIGH, LOW);
}
static ir_value *uniform_icdf(dist_args *a, ir_value *q) {
    return ir_add(a->b, LOW, ir_multiply(a->b, q, width(a)));
}
static ir_value *uniform_draw(dist_args *a, bool grad) {
    (void)grad;
    return uniform_icdf(a, dist_uniforms(a));
}
static ir_value *uniform_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *in = ir_and(b, ir_compare(b, IR_GE, x, LOW), ir_compare(b, IR_LT, x, HIGH));
    return ir_subtract(b, ex_keep(b, in, ex_num(b, x, 0), -INFINITY), ir_log(b, width(a)));
}
static ir_value *uniform_cdf(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    ir_value *q = ir_divide(b, ir_subtract(b, x, LOW), width(a));
    return q ? ir_clamp(b, ir_splat(b, ir_scalar(q->type->dtype), 0), q, ir_splat(b, ir_scalar(q->type->dtype), 1))
             : NULL;
}
static ir_value *uniform_mean(dist_args *a) {
    return ex_times(a->b, ir_add(a->b, LOW, HIGH), 0.5);
}
static ir_value *uniform_variance(dist_args *a) {
    ir_value *w = width(a);
    return ex_over(a->b, ir_multiply(a->b, w, w), 12);
}
static ir_value *uniform_entropy(dist_args *a) {
    return ir_log(a->b, width(a));
}
static ir_value *uniform_kl(dist_args *p, dist_args *q) {
    ir_builder *b = p->b;
    ir_value *out = ir_or(b, ir_compare(b, IR_GT, q->p[0], p->p[0]), ir_compare(b, IR_LT, q->p[1], p->p[1]));
    ir_value *l = ir_log(b, ir_divide(b, width(q), width(p)));
    return ex_keep(b, ir_not(b, out), l, INFINITY);
}
const dist_kind dist_uniform = {.name = "Uniform",
                                .n_params = 2,
                                .support = DIST_OWN,
                                .reparameterized = true,
                                .draw = uniform_draw,
                                .log_prob = uniform_log_prob,
                                .cdf = uniform_cdf,
                                .icdf = uniform_icdf,
                                .mean = uniform_mean,
                                .variance = uniform_variance,
                                .entropy = uniform_entropy,
                                .kl = uniform_kl};
