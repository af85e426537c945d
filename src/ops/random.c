/* Random numbers of other kinds than uniform and normal. All are made of the same Philox words by element index
 * (make.c): the same bits on every device, another draw at every call, the same draws again after the same xt_seed. */
#include <math.h>

#include "ops/expr.h"
#include "ops/optional.h"

/* Uniform in [0, 1) in the shape of t, 24 bits. */
static ir_value *fraction(const xt_src *src, ir_value *w) {
    ir_builder *b = lazy_begin(src);
    if (!w) return NULL;
    ir_value *f = ir_convert(b, ir_shift_right_logical(b, w, ir_splat(b, w->type, 8)), XT_F32);
    return ex_times(b, f, 0x1p-24);
}
static ir_value *uniform(const xt_src *src, const ir_type *t) {
    return fraction(src, ops_random_words(src, t));
}
/* In (0, 1]: what a logarithm can take. */
static ir_value *uniform_open(const xt_src *src, const ir_type *t) {
    ir_value *u = uniform(src, t);
    ir_builder *b = lazy_begin(src);
    return u ? ir_subtract(b, ex_num(b, u, 1), u) : NULL;
}

static bool float_type(const xt_src *src, const char *what, xt_dtype dtype, const int64_t *dims, const ir_type **t,
                       xt_tensor *out) {
    if (!ops_new_type(src, what, dtype, dims, t, out)) return false;
    if (ir_dtype_is_float(dtype)) return true;
    *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: dtype %s: floats are drawn", what, xt_dtype_name(dtype));
    return false;
}
static xt_tensor as_dtype(ir_builder *b, ir_value *v, xt_dtype dtype, const char *what) {
    return lazy_wrap(v ? ir_convert(b, v, dtype) : NULL, what);
}

xt_tensor xt_uniform_at(const xt_src *src, double lo, double hi, xt_dtype dtype, const int64_t *dims) {
    const ir_type *t;
    xt_tensor failed;
    if (!(lo <= hi) || !isfinite(hi - lo))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_uniform: from %g to %g: finite ends, the first not above the second", lo, hi);
    if (!float_type(src, "xt_uniform", dtype, dims, &t, &failed)) return failed;
    ir_value *u = uniform(src, t);
    xt_dtype work = u ? u->type->dtype : XT_F32;
    bool data = ops_number_moves(src, "xt_uniform", lo);
    data |= ops_number_moves(src, "xt_uniform", hi);
    ex_number span = ex_derived(src, work, data, hi - lo), from = ex_derived(src, work, data, lo);
    ir_builder *b = lazy_begin(src);
    return as_dtype(b, ir_add(b, ir_multiply(b, u, ex_of(b, u, span)), ex_of(b, u, from)), dtype, "xt_uniform");
}

xt_tensor xt_normal_at(const xt_src *src, double mean, double std, xt_dtype dtype, const int64_t *dims) {
    if (!(std >= 0)) return lazy_error(src, XT_INVALID_ARGUMENT, "xt_normal: std is %g: it must not be negative", std);
    return xt_add_scalar_at(src, xt_mul_scalar_at(src, xt_randn_at(src, dtype, dims), std), mean);
}

/* Normal numbers between lo and hi: the inverse of the distribution function at uniform places between those
 * of the ends. */
xt_tensor xt_trunc_normal_at(const xt_src *src, double mean, double std, double lo, double hi, xt_dtype dtype,
                             const int64_t *dims) {
    const ir_type *t;
    xt_tensor failed;
    if (!(std > 0) || !(lo < hi))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_trunc_normal: std %g, from %g to %g: std above 0, the first end below the second", std,
                          lo, hi);
    if (!float_type(src, "xt_trunc_normal", dtype, dims, &t, &failed)) return failed;
    ir_value *u = uniform(src, t);
    xt_dtype work = u ? u->type->dtype : XT_F32;
    const double given[4] = {mean, std, lo, hi};
    bool data = false; /* one of them: then what they are together */
    for (int i = 0; i < 4; i++) data |= ex_given(src, "xt_trunc_normal", work, given[i]).data != NULL;
    double from = erf((lo - mean) / (std * M_SQRT2)), to = erf((hi - mean) / (std * M_SQRT2));
    const double made[6] = {from, to - from, std * M_SQRT2, mean, lo, hi};
    ex_number n[6];
    for (int i = 0; i < 6; i++) n[i] = ex_derived(src, work, data, made[i]);
    ir_builder *b = lazy_begin(src);
    ir_value *place = ir_add(b, ir_multiply(b, u, ex_of(b, u, n[1])), ex_of(b, u, n[0]));
    ir_value *z = ir_unary(b, OP_chlo_erf_inv, place);
    ir_value *v = ir_add(b, ir_multiply(b, z, ex_of(b, z, n[2])), ex_of(b, z, n[3]));
    if (v) v = ir_clamp(b, ex_of(b, v, n[4]), v, ex_of(b, v, n[5]));
    return as_dtype(b, v, dtype, "xt_trunc_normal");
}

xt_tensor xt_exponential_at(const xt_src *src, double rate, xt_dtype dtype, const int64_t *dims) {
    const ir_type *t;
    xt_tensor failed;
    if (!(rate > 0))
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_exponential: the rate is %g: it must be above 0", rate);
    if (!float_type(src, "xt_exponential", dtype, dims, &t, &failed)) return failed;
    ir_value *u = uniform_open(src, t);
    ex_number by = ex_given(src, "xt_exponential", u ? u->type->dtype : XT_F32, rate);
    ir_builder *b = lazy_begin(src);
    return as_dtype(b, ir_divide(b, ir_negate(b, ir_log(b, u)), ex_of(b, u, by)), dtype, "xt_exponential");
}

static bool holds(xt_dtype dtype, int64_t v) {
    if (!ir_dtype_is_int(dtype)) return true;
    int bits = (int)(8 * xt_dtype_size(dtype));
    if (!ir_dtype_is_signed(dtype)) return v >= 0 && (bits > 63 || v < (int64_t)1 << bits);
    return bits > 63 || (v >= -((int64_t)1 << (bits - 1)) && v < (int64_t)1 << (bits - 1));
}

/* lo .. hi-1: a word times the range, its upper half. */
xt_tensor xt_randint_at(const xt_src *src, int64_t lo, int64_t hi, xt_dtype dtype, const int64_t *dims) {
    const ir_type *t;
    xt_tensor failed;
    uint64_t span = (uint64_t)hi - (uint64_t)lo;
    if (lo >= hi || span > UINT32_MAX)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_randint: from %lld to below %lld: at least one number, and at most 2^32 - 1",
                          (long long)lo, (long long)hi);
    if (!ops_new_type(src, "xt_randint", dtype, dims, &t, &failed)) return failed;
    if (!holds(dtype, lo) || !holds(dtype, hi - 1))
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_randint: %s does not hold the numbers from %lld to below %lld",
                          xt_dtype_name(dtype), (long long)lo, (long long)hi);
    ir_value *w = ops_random_words(src, t);
    bool exact = fabs((double)lo) < 0x1p53; /* numbers that are data are doubles; others are added in two parts */
    int64_t rest = exact ? 0 : lo & INT32_MAX;
    bool moves = exact && ops_number_moves(src, "xt_randint (from)", (double)lo);
    moves |= exact && ops_number_moves(src, "xt_randint (below)", (double)hi);
    ex_number count = ex_derived(src, XT_I64, moves, (double)span),
              from = ex_derived(src, XT_I64, moves, (double)(lo - rest));
    ir_builder *b = lazy_begin(src);
    if (!w) return lazy_wrap(NULL, "xt_randint");
    ir_value *wide = ir_convert(b, w, XT_U64);
    wide = ir_multiply(b, wide, ex_of(b, wide, count));
    wide = wide ? ir_shift_right_logical(b, wide, ir_splat(b, wide->type, 32)) : NULL;
    ir_value *v = wide ? ir_convert(b, wide, XT_I64) : NULL;
    v = v ? ir_add(b, v, ex_of(b, v, from)) : NULL;
    if (v && rest) v = ir_add(b, v, ir_splat(b, v->type, (double)rest));
    return as_dtype(b, v, dtype, "xt_randint");
}

/* 0 .. n-1 in random order: sorted by random words. */
xt_tensor xt_randperm_at(const xt_src *src, int64_t n) {
    if (n < 1) return lazy_error(src, XT_INVALID_ARGUMENT, "xt_randperm: %lld numbers: at least 1", (long long)n);
    ir_value *w = ops_random_words(src, ir_tensor(XT_U32, 1, &n));
    ir_builder *b = lazy_begin(src);
    ir_value *pair[2] = {w, w ? ops_positions(b, w->type, 0) : NULL}, *sorted[2];
    if (!pair[0] || !pair[1] || !ir_sort(b, 2, pair, 0, false, true, sorted)) return lazy_wrap(NULL, "xt_randperm");
    return as_dtype(b, sorted[1], XT_I64, "xt_randperm");
}

/* 1 with the probability that stands there, else 0; of p's dtype. */
xt_tensor xt_bernoulli_at(const xt_src *src, xt_tensor p) {
    const ir_type *t = lazy_type(p);
    ops_text shape;
    if (t && (!ir_dtype_is_float(t->dtype) || t->count == 0))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_bernoulli: p is %s %s: probabilities are floats, and at least one",
                          xt_dtype_name(t->dtype), ops_shape(t, &shape));
    ir_value *u = t ? uniform(src, ir_with_dtype(t, XT_F32)) : NULL;
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(p);
    if (!v || !u) return lazy_wrap(NULL, "xt_bernoulli");
    ir_value *hit = ir_compare(b, IR_LT, u, ir_convert(b, v, XT_F32));
    return as_dtype(b, hit, t->dtype, "xt_bernoulli");
}

/* A probability that changes from step to step is data, and 0 a number as others then: but as the constant it draws
 * nothing. */
xt_tensor ops_dropped(const xt_src *src, const char *what, xt_tensor x, double p) {
    const ir_type *t = lazy_type(x);
    bool data = t && ops_number_moves(src, what, p);
    if (!t || !t->count || (p == 0 && !data)) return x;
    const ir_type *f32 = ir_with_dtype(t, XT_F32);
    ir_value *u = fraction(src, p == 0 ? ops_random_words_idle(src, f32) : ops_random_words(src, f32));
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    if (!v || !u) return lazy_wrap(NULL, what);
    ex_number share = ex_derived(src, XT_F32, data, p),
              factor = ex_derived(src, v->type->dtype, data, p < 1 ? 1 / (1 - p) : 1);
    b = lazy_begin(src);
    ir_value *kept = ir_compare(b, IR_GE, u, ex_of(b, u, share));
    return lazy_wrap(ex_keep(b, kept, ir_multiply(b, v, ex_of(b, v, factor)), 0), what);
}

/* x with elements dropped by chance and the others scaled up, so that the expectation stays. */
xt_tensor xt_dropout_fn_at(const xt_src *src, xt_tensor x, double p) {
    const ir_type *t = lazy_type(x);
    if (!(p >= 0 && p <= 1))
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_dropout_fn: p is %g: a probability from 0 to 1 is needed", p);
    if (t && !ir_dtype_is_float(t->dtype))
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_dropout_fn: x is %s; floats are needed",
                          xt_dtype_name(t->dtype));
    xt_tensor y = ops_dropped(src, "xt_dropout_fn", x, p);
    if (y.slot != x.slot) return y;
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    return lazy_wrap(v ? ops_copy(b, v) : NULL, "xt_dropout_fn");
}

/* --- draws from weights --- */
/* -log(-log(u)) for u in (0, 1); the two ends of the draw are moved inside. */
static ir_value *gumbel(const xt_src *src, const ir_type *t) {
    ir_value *u = uniform_open(src, ir_with_dtype(t, XT_F32));
    ir_builder *b = lazy_begin(src);
    ir_value *inside = u ? ex_keep(b, ex_is(b, u, IR_NE, 1), u, 0x1.fffffep-1) : NULL;
    return ir_negate(b, ir_log(b, ir_negate(b, ir_log(b, inside))));
}

/* Without replacement: the n largest of log(w) + Gumbel noise (Efraimidis and Spirakis 2006). */
static ir_value *draw_distinct(const xt_src *src, ir_value *weights, int64_t n) {
    ir_value *noise = gumbel(src, weights->type);
    ir_builder *b = lazy_begin(src);
    int64_t last = (int64_t)weights->type->rank - 1;
    ir_value *key = ir_add(b, ir_log(b, weights), noise),
             *pair[2] = {key, key ? ops_positions(b, key->type, last) : NULL}, *sorted[2];
    if (!pair[0] || !pair[1] || !ir_sort(b, 2, pair, last, true, true, sorted)) return NULL;
    return ops_part(b, sorted[1], last, 0, n);
}

/* With replacement: how many running totals are at or below a uniform place in the whole. */
static ir_value *draw_any(const xt_src *src, ir_value *weights, int64_t n) {
    const ir_type *t = weights->type;
    int64_t last = (int64_t)t->rank - 1, dims[XT_MAX_RANK + 1];
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    dims[last] = n;
    ir_value *u = uniform(src, ir_tensor(XT_F32, t->rank, dims));
    xt_tensor totals = xt_cumsum_at(src, lazy_wrap(weights, "xt_multinomial"), (int)last);
    ir_builder *b = lazy_begin(src);
    ir_value *c = lazy_value(totals);
    if (!u || !c) return NULL;
    ir_value *whole = ops_part(b, c, last, t->dims[last] - 1, t->dims[last]);
    ir_value *place = ir_multiply(b, u, ops_broadcast(b, whole, t->rank, dims));
    dims[t->rank] = t->dims[last];
    const ir_type *all = ir_tensor(XT_F32, t->rank + 1, dims);
    int64_t axes[XT_MAX_RANK], next = last + 1;
    for (int64_t i = 0; i <= last; i++) axes[i] = i;
    ir_value *wide_place = ir_broadcast_in_dim(b, place, all, t->rank, axes);
    axes[last] = next;
    ir_value *wide_total = ir_broadcast_in_dim(b, c, all, t->rank, axes);
    ir_value *passed = ir_compare(b, IR_LE, wide_total, wide_place);
    ir_value *index = passed ? ir_reduce(b, OP_add, ir_convert(b, passed, XT_I32), 1, &next) : NULL;
    return index ? ir_minimum(b, index, ex_num(b, index, (double)t->dims[last] - 1)) : NULL;
}

xt_tensor xt_multinomial_at(const xt_src *src, xt_tensor weights, int64_t n, bool replacement) {
    lazy_begin(src);
    ir_value *w = lazy_value(weights);
    ops_text shape;
    if (!w) return lazy_wrap(NULL, "xt_multinomial");
    const ir_type *t = w->type;
    if (t->rank < 1 || t->rank > 2 || t->count == 0 || !ir_dtype_is_float(t->dtype) || n < 1 ||
        (!replacement && n > t->dims[t->rank - 1]))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_multinomial: %lld draws %s replacement from weights %s %s: floats [classes] or "
                          "[N,classes], at least one draw, and no more "
                          "than classes without replacement",
                          (long long)n, replacement ? "with" : "without", xt_dtype_name(t->dtype),
                          ops_shape(t, &shape));
    ir_builder *b = lazy_begin(src);
    w = ir_convert(b, w, XT_F32);
    ir_value *r = !w ? NULL : replacement ? draw_any(src, w, n) : draw_distinct(src, w, n);
    b = lazy_begin(src);
    return as_dtype(b, r, XT_I64, "xt_multinomial");
}

/* Jang, Gu and Poole 2017. hard: the result is the one-hot of the largest, its gradient that of the soft one. */
xt_tensor xt_gumbel_softmax_at(const xt_src *src, xt_tensor x, double tau, bool hard, int axis) {
    const char *what = "xt_gumbel_softmax";
    const ir_type *t = lazy_type(x);
    int64_t a = 0;
    xt_tensor failed;
    ops_text shape;
    if (!(tau > 0)) return lazy_error(src, XT_INVALID_ARGUMENT, "%s: tau is %g: it must be above 0", what, tau);
    if (t && !ops_axis(src, what, t, axis, &a, &failed)) return failed;
    if (t && (!ir_dtype_is_float(t->dtype) || t->count == 0))
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: x is %s %s: floats are needed", what, xt_dtype_name(t->dtype),
                          ops_shape(t, &shape));
    ir_value *noise = t ? gumbel(src, t) : NULL;
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    if (!v || !noise) return lazy_wrap(NULL, what);
    ir_value *noisy = ir_add(b, v, ir_convert(b, noise, t->dtype));
    noisy = ir_divide(b, noisy, ex_of(b, noisy, ex_given(src, what, t->dtype, tau)));
    xt_tensor y = xt_softmax_at(src, lazy_wrap(noisy, what), (int)a);
    if (!hard) return y;
    b = lazy_begin(src);
    v = lazy_value(y);
    ir_value *best = v ? ops_arg_extreme(b, v, a, false) : NULL, *wide = ops_spread(b, best, t, a);
    ir_value *one = wide ? ir_convert(b, ir_compare(b, IR_EQ, ops_positions(b, t, a), wide), t->dtype) : NULL;
    return lazy_wrap(ir_add(b, ir_subtract(b, one, ex_detach(b, v)), v), what);
}
