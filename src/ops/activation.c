/* Activation functions of elementwise.h: PyTorch's formulas and defaults, and its derivatives at the kinks (zero at
 * both ends of a hard tanh). */
#include <math.h>

#include "ops/expr.h"

/* log(1 + e^y) for any y; the exponential never overflows, and both sides of zero have the derivative of the whole. */
static ir_value *log1p_exp(ir_builder *b, ir_value *y) {
    ir_value *negative = ex_is(b, y, IR_LT, 0);
    ir_value *less = ex_pick(b, negative, y, ir_negate(b, y));
    ir_value *l = ir_log_plus_one(b, ir_exponential(b, less));
    return ex_pick(b, negative, l, ir_add(b, y, l));
}
/* k (e^(x/a) - 1) below zero, x above. */
static ir_value *exponential_below(ir_builder *b, ir_value *x, ex_number k, ex_number a) {
    ir_value *above = ex_is(b, x, IR_GT, 0);
    ir_value *low = ex_always(a, 1) ? x : ir_divide(b, x, ex_of(b, x, a));
    ir_value *e = ir_exponential_minus_one(b, ex_pick(b, above, ex_num(b, x, 0), low));
    return ex_pick(b, above, x, ir_multiply(b, e, ex_of(b, e, k)));
}
static ir_value *between(ir_builder *b, ir_value *x, ex_number lo, ex_number hi) {
    ir_value *low = ex_of(b, x, lo), *high = ex_of(b, x, hi);
    ir_value *r = ex_pick(b, ir_compare(b, IR_GE, x, high), high, x);
    return ex_pick(b, ir_compare(b, IR_LE, x, low), low, r);
}
static ir_value *hard_tanh(ir_builder *b, ir_value *x, double lo, double hi) {
    return between(b, x, ex_constant(lo), ex_constant(hi));
}

static ir_value *make_gelu_erf(ir_builder *b, ir_value *x) {
    ir_value *e = ir_unary(b, OP_chlo_erf, ex_times(b, x, M_SQRT1_2));
    return ir_multiply(b, ex_times(b, x, 0.5), ex_plus(b, e, 1));
}
static ir_value *make_hardsigmoid(ir_builder *b, ir_value *x) {
    return ex_over(b, hard_tanh(b, ex_plus(b, x, 3), 0, 6), 6);
}
static ir_value *make_hardswish(ir_builder *b, ir_value *x) {
    ir_value *above = ex_is(b, x, IR_GE, 3), *below = ex_is(b, x, IR_LE, -3);
    ir_value *inner = ex_keep(b, ir_not(b, ir_or(b, above, below)), x, 0); /* an infinite one has a slope, too */
    ir_value *r = ex_pick(b, above, x, ir_multiply(b, inner, ex_over(b, ex_plus(b, inner, 3), 6)));
    return ex_pick(b, below, ex_times(b, x, 0), r);
}
static ir_value *make_selu(ir_builder *b, ir_value *x) {
    static const double alpha = 1.6732632423543772848170429916717, scale = 1.0507009873554804934193349852946;
    return ex_times(b, exponential_below(b, x, ex_constant(alpha), ex_constant(1)), scale);
}
static ir_value *make_softsign(ir_builder *b, ir_value *x) {
    return ir_divide(b, x, ex_plus(b, ir_abs(b, x), 1));
}
static ir_value *make_mish(ir_builder *b, ir_value *x) {
    return ir_multiply(b, x, ir_tanh(b, log1p_exp(b, x)));
}
static ir_value *make_logsigmoid(ir_builder *b, ir_value *x) {
    return ir_negate(b, log1p_exp(b, ir_negate(b, x)));
}
static ir_value *make_tanhshrink(ir_builder *b, ir_value *x) {
    return ir_subtract(b, x, ir_tanh(b, x));
}
OPS_UNARY(xt_gelu_erf, xt_gelu_erf_at, REAL, make_gelu_erf)
OPS_UNARY(xt_hardsigmoid, xt_hardsigmoid_at, REAL, make_hardsigmoid)
OPS_UNARY(xt_hardswish, xt_hardswish_at, REAL, make_hardswish)
OPS_UNARY(xt_logsigmoid, xt_logsigmoid_at, REAL, make_logsigmoid)
OPS_UNARY(xt_mish, xt_mish_at, REAL, make_mish)
OPS_PLAIN_UNARY(xt_relu6, xt_relu6_at)
OPS_UNARY(xt_selu, xt_selu_at, REAL, make_selu)
OPS_UNARY(xt_softsign, xt_softsign_at, REAL, make_softsign)
OPS_UNARY(xt_tanhshrink, xt_tanhshrink_at, REAL, make_tanhshrink)

/* --- with numbers --- */
enum { NUMBERS = 2 };
typedef ir_value *(*parametric_fn)(ir_builder *b, ir_value *x, const ex_number n[NUMBERS]);

static ir_value *elu(ir_builder *b, ir_value *x, const ex_number *n) {
    return exponential_below(b, x, n[0], ex_constant(1));
}
static ir_value *celu(ir_builder *b, ir_value *x, const ex_number *n) {
    return exponential_below(b, x, n[0], n[0]);
}
static ir_value *leaky_relu(ir_builder *b, ir_value *x, const ex_number *n) {
    return ex_pick(b, ex_is(b, x, IR_GT, 0), x, ir_multiply(b, x, ex_of(b, x, n[0])));
}
static ir_value *softplus(ir_builder *b, ir_value *x, const ex_number *n) {
    ir_value *beta = ex_of(b, x, n[0]), *y = ir_multiply(b, x, beta);
    ir_value *large = ir_compare(b, IR_GT, y, ex_of(b, y, n[1]));
    return ex_pick(b, large, x, ir_divide(b, log1p_exp(b, ex_pick(b, large, ex_num(b, y, 0), y)), beta));
}
static ir_value *threshold(ir_builder *b, ir_value *x, const ex_number *n) {
    return ex_pick(b, ir_compare(b, IR_LE, x, ex_of(b, x, n[0])), ex_of(b, x, n[1]), x);
}
static ir_value *hardtanh(ir_builder *b, ir_value *x, const ex_number *n) {
    return between(b, x, n[0], n[1]);
}
/* n: -lambda, lambda. */
static ir_value *hardshrink(ir_builder *b, ir_value *x, const ex_number *n) {
    ir_value *inside =
        ir_and(b, ir_compare(b, IR_GE, x, ex_of(b, x, n[0])), ir_compare(b, IR_LE, x, ex_of(b, x, n[1])));
    return ex_keep(b, ir_not(b, inside), x, 0);
}
static ir_value *softshrink(ir_builder *b, ir_value *x, const ex_number *n) {
    ir_value *less = ex_of(b, x, n[0]), *more = ex_of(b, x, n[1]);
    ir_value *inside = ir_and(b, ir_compare(b, IR_GE, x, less), ir_compare(b, IR_LE, x, more));
    ir_value *outside = ex_pick(b, ir_compare(b, IR_LT, x, less), ir_add(b, x, more), ir_add(b, x, less));
    return ex_keep(b, ir_not(b, inside), outside, 0); /* NaN is not inside */
}

static xt_tensor parametric(const xt_src *src, const char *what, parametric_fn make, xt_tensor x, double p, double q) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    if (v && ir_dtype_is_complex(v->type->dtype))
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: x is %s, real numbers are needed", what,
                          xt_dtype_name(v->type->dtype));
    bool chosen = make == threshold || make == hardtanh; /* nothing is computed: integers stay what they are */
    if (!chosen || !v || !ir_dtype_is_int(v->type->dtype)) v = ops_float(b, v);
    xt_dtype t = v ? v->type->dtype : XT_DTYPE_NONE;
    xt_tensor failed;
    v = ops_widen(b, v);
    if (!v) return lazy_wrap(NULL, what);
    for (int k = 0; k < NUMBERS && chosen && ir_dtype_is_int(t); k++)
        if (!ops_number_fits(src, what, t, k ? q : p, make == threshold, &failed)) return failed;
    bool mirrored = make == hardshrink || make == softshrink; /* p is -q */
    const ex_number n[NUMBERS] = {ex_made(src, what, v->type->dtype, mirrored ? q : p, p),
                                  ex_given(src, what, v->type->dtype, q)};
    b = lazy_begin(src);
    return lazy_wrap(ops_narrow(b, make(b, v, n), t), what);
}

xt_tensor xt_elu_at(const xt_src *src, xt_tensor x, double alpha) {
    return parametric(src, "xt_elu", elu, x, alpha, 0);
}
xt_tensor xt_celu_at(const xt_src *src, xt_tensor x, double alpha) {
    if (alpha == 0)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_celu: alpha is 0: a number other than zero is needed, 1 is usual");
    return parametric(src, "xt_celu", celu, x, alpha, 0);
}
xt_tensor xt_leaky_relu_at(const xt_src *src, xt_tensor x, double slope) {
    return parametric(src, "xt_leaky_relu", leaky_relu, x, slope, 0);
}
xt_tensor xt_softplus_at(const xt_src *src, xt_tensor x, xt_softplus_opts o) {
    if (o.beta == 0)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_softplus: .beta is 0: a number other than zero is needed (default 1)");
    return parametric(src, "xt_softplus", softplus, x, o.beta, o.threshold);
}
xt_tensor xt_threshold_at(const xt_src *src, xt_tensor x, double limit, double value) {
    return parametric(src, "xt_threshold", threshold, x, limit, value);
}
xt_tensor xt_hardtanh_at(const xt_src *src, xt_tensor x, double lo, double hi) {
    if (!(lo <= hi))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_hardtanh: bounds %g and %g: the first must not be above the second", lo, hi);
    return parametric(src, "xt_hardtanh", hardtanh, x, lo, hi);
}
xt_tensor xt_relu6_at(const xt_src *src, xt_tensor x) {
    return parametric(src, "xt_relu6", hardtanh, x, 0, 6);
}
xt_tensor xt_hardshrink_at(const xt_src *src, xt_tensor x, double lambda) {
    return parametric(src, "xt_hardshrink", hardshrink, x, -lambda, lambda);
}
xt_tensor xt_softshrink_at(const xt_src *src, xt_tensor x, double lambda) {
    if (!(lambda >= 0))
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_softshrink: lambda is %g: it must not be negative", lambda);
    return parametric(src, "xt_softshrink", softshrink, x, -lambda, lambda);
}

/* --- of more than one part --- */
/* The first half of the axis times the sigmoid of the second. */
xt_tensor xt_glu_at(const xt_src *src, xt_tensor x, int axis) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = ops_float(b, lazy_value(x));
    int64_t a;
    xt_tensor failed;
    ops_text shape;
    if (!v) return lazy_wrap(NULL, "xt_glu");
    if (!ops_axis(src, "xt_glu", v->type, axis, &a, &failed)) return failed;
    if (v->type->dims[a] % 2)
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_glu: axis %lld of %s has an odd size: two halves are needed",
                          (long long)a, ops_shape(v->type, &shape));
    int64_t half = v->type->dims[a] / 2;
    ir_value *first = ops_widen(b, ops_part(b, v, a, 0, half)), *gate = ops_widen(b, ops_part(b, v, a, half, 2 * half));
    return lazy_wrap(ops_narrow(b, ir_multiply(b, first, ir_logistic(b, gate)), v->type->dtype), "xt_glu");
}

/* weight: one element, or one per channel (dim 1 of x). */
xt_tensor xt_prelu_fn_at(const xt_src *src, xt_tensor x, xt_tensor weight) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = ops_float(b, lazy_value(x)), *w = lazy_value(weight);
    ops_text sx, sw;
    if (!v || !w) return lazy_wrap(NULL, "xt_prelu_fn");
    int64_t channels = v->type->rank > 1 ? v->type->dims[1] : 1, axis = 1;
    if (w->type->count != 1 && (w->type->rank != 1 || w->type->dims[0] != channels))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_prelu_fn: weight %s for x %s: one element, or one for each of the %lld channels in dim 1",
                          ops_shape(w->type, &sw), ops_shape(v->type, &sx), (long long)channels);
    w = ir_convert(b, w, v->type->dtype);
    if (w && w->type->count == 1)
        w = ir_broadcast_scalar(b, w->type->rank ? ir_reshape(b, w, 0, NULL) : w, v->type);
    else
        w = ir_broadcast_in_dim(b, w, v->type, 1, &axis);
    return lazy_wrap(ex_pick(b, ex_is(b, v, IR_GT, 0), v, ir_multiply(b, v, w)), "xt_prelu_fn");
}

xt_tensor xt_softmin_at(const xt_src *src, xt_tensor x, int axis) {
    return xt_softmax_at(src, xt_neg_at(src, x), axis);
}
