/* Transforms of values, with their inverses and the logarithms of their slopes, and the distribution that stick
 * breaking makes of normal numbers. Vectors are last dims, matrices the last two. */
#include "distributions/dist.h"

#define REDUCE(...)                                        \
    (xt_reduce_opts) {                                     \
        .struct_size = sizeof(xt_reduce_opts), __VA_ARGS__ \
    }

/* --- small words --- */
static xt_tensor plus(const xt_src *src, xt_tensor x, double v) {
    return xt_add_scalar_at(src, x, v);
}
static xt_tensor times(const xt_src *src, xt_tensor x, double v) {
    return xt_mul_scalar_at(src, x, v);
}
static xt_tensor squared(const xt_src *src, xt_tensor x) {
    return xt_mul_at(src, x, x);
}
static xt_tensor summed(const xt_src *src, xt_tensor x) {
    return xt_sum_axes_at(src, x, XT_LIST(-1), REDUCE());
}
static xt_tensor diagonal(const xt_src *src, xt_tensor x) {
    return xt_diagonal_at(src, x, 0, -2, -1);
}
static xt_tensor softplus(const xt_src *src, xt_tensor x) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = ops_float(b, lazy_value(x));
    return lazy_wrap(dist_softplus(b, v), "xt_transform");
}
static xt_dtype wide_of(xt_tensor x) {
    const ir_type *t = lazy_type(x);
    return t ? t->dtype : XT_F32;
}
static int64_t last_dim(xt_tensor x) {
    const ir_type *t = lazy_type(x);
    return t && t->rank ? t->dims[t->rank - 1] : 0;
}
/* x with one more at the last dim's end or start: a constant. */
static xt_tensor extended(const xt_src *src, xt_tensor x, double v, bool before) {
    xt_tensor one = xt_full_like_at(src, xt_slice_at(src, x, -1, 0, 1), v);
    xt_tensor parts[2] = {before ? one : x, before ? x : one};
    return xt_concat_at(src, 2, parts, -1);
}

/* --- element by element --- */
static xt_tensor tanh_slope(const xt_src *src, xt_tensor x) {
    return times(src, plus(src, xt_neg_at(src, xt_add_at(src, x, softplus(src, times(src, x, -2)))), M_LN2), 2);
}
static xt_tensor softplus_inverse(const xt_src *src, xt_tensor y) {
    return xt_add_at(src, y, xt_log_e_at(src, xt_neg_at(src, xt_expm1_at(src, xt_neg_at(src, y)))));
}
static xt_tensor logit(const xt_src *src, xt_tensor y) {
    double eps = wide_of(y) == XT_F64 ? 0x1p-52 : 0x1p-23, tiny = wide_of(y) == XT_F64 ? 0x1p-1022 : 0x1p-126;
    y = xt_clamp_at(src, y, tiny, 1 - eps);
    return xt_sub__at(src, xt_log_e_at(src, y), xt_log1p_at(src, xt_neg_at(src, y)));
}

/* --- stick breaking: x_i, as a share of what is left, of which equal shares are 0 --- */
static xt_tensor stick_places(const xt_src *src, xt_tensor x, int64_t n) { /* x_i - log(how many follow) */
    xt_tensor after = xt_arange_at(src, n, wide_of(x));
    return xt_sub__at(src, x, xt_log_e_at(src, plus(src, xt_neg_at(src, after), (double)n)));
}
static xt_tensor stick_forward(const xt_src *src, xt_tensor x) {
    double eps = wide_of(x) == XT_F64 ? 0x1p-52 : 0x1p-23, tiny = wide_of(x) == XT_F64 ? 0x1p-1022 : 0x1p-126;
    xt_tensor z = xt_clamp_at(src, xt_sigmoid_at(src, stick_places(src, x, last_dim(x))), tiny, 1 - eps);
    xt_tensor left = xt_cumprod_at(src, plus(src, xt_neg_at(src, z), 1), -1);
    return xt_mul_at(src, extended(src, z, 1, false), extended(src, left, 1, true));
}
static xt_tensor stick_inverse(const xt_src *src, xt_tensor y) {
    int64_t n = last_dim(y) - 1;
    double tiny = wide_of(y) == XT_F64 ? 0x1p-1022 : 0x1p-126;
    xt_tensor head = xt_slice_at(src, y, -1, 0, n);
    xt_tensor left = xt_clamp_at(src, plus(src, xt_neg_at(src, xt_cumsum_at(src, head, -1)), 1), tiny, INFINITY);
    xt_tensor x = xt_sub__at(src, xt_log_e_at(src, head), xt_log_e_at(src, left));
    xt_tensor after = plus(src, xt_neg_at(src, xt_arange_at(src, n, wide_of(y))), (double)n);
    return xt_add_at(src, x, xt_log_e_at(src, after));
}
static xt_tensor stick_slope(const xt_src *src, xt_tensor x, xt_tensor y) {
    xt_tensor place = stick_places(src, x, last_dim(x));
    xt_tensor head = xt_log_e_at(src, xt_slice_at(src, y, -1, 0, last_dim(x)));
    return summed(src, xt_sub__at(src, head, softplus(src, place)));
}

/* --- matrices --- */
static xt_tensor lower_with(const xt_src *src, xt_tensor x, xt_tensor on) {
    return xt_add_at(src, xt_tril_at(src, x, -1), xt_diag_embed_at(src, on, 0, -2, -1));
}
static xt_tensor lower_forward(const xt_src *src, xt_tensor x) {
    return lower_with(src, x, xt_exp_at(src, diagonal(src, x)));
}
static xt_tensor lower_inverse(const xt_src *src, xt_tensor y) {
    return lower_with(src, y, xt_log_e_at(src, diagonal(src, y)));
}
static xt_tensor definite_forward(const xt_src *src, xt_tensor x) {
    xt_tensor l = lower_forward(src, x);
    return xt_matmul_at(src, l, xt_transpose_at(src, l, -1, -2));
}
static xt_tensor definite_inverse(const xt_src *src, xt_tensor y) {
    /* both triangles are the parameter's, and get a gradient each */
    y = times(src, xt_add_at(src, y, xt_transpose_at(src, y, -1, -2)), 0.5);
    return lower_inverse(src, xt_cholesky_at(src, y, false));
}
/* [...,n (n-1) / 2] as the numbers below the diagonal, row by row; and back. */
static xt_tensor below_of(const xt_src *src, xt_tensor x, int64_t n, int64_t k) {
    xt_tensor at = xt_tril_indices_at(src, n, n, k);
    xt_tensor flat = xt_flatten_at(src, x, -2, -1);
    xt_tensor place = xt_add_at(src, times(src, xt_select_at(src, at, 0, 0), (double)n), xt_select_at(src, at, 0, 1));
    return xt_index_select_at(src, flat, -1, place);
}
static xt_tensor to_below(const xt_src *src, xt_tensor x, int64_t n) {
    int64_t dims[XT_MAX_RANK + 1] = {0};
    const ir_type *t = lazy_type(x);
    if (!t || t->rank + 1 > XT_MAX_RANK) return lazy_failed_tensor(src);
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    dims[t->rank - 1] = n * n;
    xt_tensor at = xt_tril_indices_at(src, n, n, -1);
    xt_tensor place = xt_add_at(src, times(src, xt_select_at(src, at, 0, 0), (double)n), xt_select_at(src, at, 0, 1));
    xt_tensor flat = xt_index_add_at(src, xt_full_at(src, 0, t->dtype, dims), -1, place, x, 1);
    dims[t->rank - 1] = dims[t->rank] = n;
    return xt_reshape_at(src, flat, dims);
}
static int64_t corr_side(int64_t n) { /* of so many numbers below the diagonal; 0: there is none */
    int64_t d = (int64_t)llround(sqrt(0.25 + 2 * (double)n) + 0.5);
    return d * (d - 1) / 2 == n ? d : 0;
}
static xt_tensor corr_forward(const xt_src *src, xt_tensor x) {
    double eps = wide_of(x) == XT_F64 ? 0x1p-52 : 0x1p-23;
    int64_t n = corr_side(last_dim(x));
    if (!n)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_transform: a vector of %lld numbers: expected D (D - 1) / 2 of them for a matrix [D,D]",
                          (long long)last_dim(x));
    xt_tensor r = to_below(src, xt_clamp_at(src, xt_tanh_at(src, x), -1 + eps, 1 - eps), n);
    xt_tensor left = xt_cumprod_at(src, xt_sqrt_at(src, plus(src, xt_neg_at(src, squared(src, r)), 1)), -1);
    r = xt_add_at(src, r, xt_eye_at(src, n, 0, wide_of(r)));
    return xt_mul_at(src, r, extended(src, xt_slice_at(src, left, -1, 0, n - 1), 1, true));
}
/* 1 - the squares up to here */
static xt_tensor corr_left(const xt_src *src, xt_tensor y) {
    return plus(src, xt_neg_at(src, xt_cumsum_at(src, squared(src, y), -1)), 1);
}
static xt_tensor corr_inverse(const xt_src *src, xt_tensor y) {
    int64_t n = last_dim(y);
    xt_tensor before = extended(src, xt_slice_at(src, corr_left(src, y), -1, 0, n - 1), 1, true);
    return xt_atanh_at(src, xt_div_at(src, below_of(src, y, n, -1), xt_sqrt_at(src, below_of(src, before, n, -1))));
}
static xt_tensor corr_slope(const xt_src *src, xt_tensor x, xt_tensor y) {
    int64_t n = last_dim(y);
    xt_tensor tanhs = summed(src, tanh_slope(src, x));
    if (n < 3) return tanhs;
    xt_tensor left = xt_log_e_at(src, below_of(src, corr_left(src, y), n, -2));
    return xt_add_at(src, tanhs, times(src, summed(src, left), 0.5));
}

/* --- the table --- */
typedef struct row {
    const char *name;
    int dims; /* of x, that belong together */
    xt_tensor (*forward)(const xt_src *src, xt_tensor x);
    xt_tensor (*inverse)(const xt_src *src, xt_tensor y);
    xt_tensor (*slope)(const xt_src *src, xt_tensor x, xt_tensor y); /* NULL: there is none, as in PyTorch */
} row;
static xt_tensor exp_slope(const xt_src *src, xt_tensor x, xt_tensor y) {
    (void)y;
    return xt_mul_scalar_at(src, x, 1);
}
static xt_tensor sigmoid_slope(const xt_src *src, xt_tensor x, xt_tensor y) {
    (void)y;
    return xt_neg_at(src, xt_add_at(src, softplus(src, x), softplus(src, xt_neg_at(src, x))));
}
static xt_tensor tanh_log_slope(const xt_src *src, xt_tensor x, xt_tensor y) {
    (void)y;
    return tanh_slope(src, x);
}
static xt_tensor softplus_slope(const xt_src *src, xt_tensor x, xt_tensor y) {
    (void)y;
    return xt_neg_at(src, softplus(src, xt_neg_at(src, x)));
}
static xt_tensor same(const xt_src *src, xt_tensor y) {
    return xt_mul_scalar_at(src, y, 1);
}
static xt_tensor softmax(const xt_src *src, xt_tensor x) {
    return xt_softmax_at(src, x, -1);
}
static const row rows[] = {
    [XT_EXP_TRANSFORM] = {"XT_EXP_TRANSFORM", 0, xt_exp_at, xt_log_e_at, exp_slope},
    [XT_SIGMOID_TRANSFORM] = {"XT_SIGMOID_TRANSFORM", 0, xt_sigmoid_at, logit, sigmoid_slope},
    [XT_TANH_TRANSFORM] = {"XT_TANH_TRANSFORM", 0, xt_tanh_at, xt_atanh_at, tanh_log_slope},
    [XT_SOFTPLUS_TRANSFORM] = {"XT_SOFTPLUS_TRANSFORM", 0, softplus, softplus_inverse, softplus_slope},
    [XT_ABS_TRANSFORM] = {"XT_ABS_TRANSFORM", 0, xt_abs_at, same, NULL},
    [XT_SOFTMAX_TRANSFORM] = {"XT_SOFTMAX_TRANSFORM", 1, softmax, xt_log_e_at, NULL},
    [XT_STICK_BREAKING_TRANSFORM] = {"XT_STICK_BREAKING_TRANSFORM", 1, stick_forward, stick_inverse, stick_slope},
    [XT_LOWER_CHOLESKY_TRANSFORM] = {"XT_LOWER_CHOLESKY_TRANSFORM", 2, lower_forward, lower_inverse, NULL},
    [XT_POSITIVE_DEFINITE_TRANSFORM] = {"XT_POSITIVE_DEFINITE_TRANSFORM", 2, definite_forward, definite_inverse, NULL},
    [XT_CORR_CHOLESKY_TRANSFORM] = {"XT_CORR_CHOLESKY_TRANSFORM", 1, corr_forward, corr_inverse, corr_slope},
};
/* What is to be transformed, in f32 at least; false after an error, which is *x. */
static bool ready(const xt_src *src, const char *what, xt_transform_kind kind, int dims, xt_tensor *x) {
    const ir_type *t = lazy_type(*x);
    ops_text shape;
    if (!t) return false;
    bool fits = (int)t->rank >= dims && (dims < 2 || t->dims[t->rank - 1] == t->dims[t->rank - 2]);
    if (!fits || ir_dtype_is_complex(t->dtype)) {
        *x = lazy_error(src, XT_INVALID_ARGUMENT, "%s: %s %s for %s: expected real numbers [...%s]", what,
                        xt_dtype_name(t->dtype), ops_shape(t, &shape), rows[kind].name,
                        dims == 2   ? ",D,D"
                        : dims == 1 ? ",K"
                                    : "");
        return false;
    }
    if (!ir_dtype_is_float(t->dtype) || xt_dtype_size(t->dtype) < 4) *x = xt_cast_at(src, *x, XT_F32);
    return true;
}
static bool known(const xt_src *src, const char *what, xt_transform_kind kind, xt_tensor *out) {
    if ((int)kind >= 0 && (size_t)kind < BASE_COUNT(rows)) return true;
    *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: there is no transform %d: expected XT_EXP_TRANSFORM or another",
                      what, (int)kind);
    return false;
}
xt_tensor xt_transform_at(const xt_src *src, xt_transform_kind kind, xt_tensor x) {
    if (!known(src, "xt_transform", kind, &x) || !ready(src, "xt_transform", kind, rows[kind].dims, &x)) return x;
    return rows[kind].forward(src, x);
}
static int dims_of_result(xt_transform_kind kind) {
    return kind == XT_CORR_CHOLESKY_TRANSFORM ? 2 : rows[kind].dims;
}
xt_tensor xt_transform_inverse_at(const xt_src *src, xt_transform_kind kind, xt_tensor y) {
    const char *what = "xt_transform_inverse";
    if (!known(src, what, kind, &y) || !ready(src, what, kind, dims_of_result(kind), &y)) return y;
    return rows[kind].inverse(src, y);
}
xt_tensor xt_transform_log_slope_at(const xt_src *src, xt_transform_kind kind, xt_tensor x, xt_tensor y) {
    const char *what = "xt_transform_log_slope";
    if (!known(src, what, kind, &x) || !ready(src, what, kind, rows[kind].dims, &x)) return x;
    if (!rows[kind].slope)
        return lazy_error(src, XT_UNIMPLEMENTED, "%s: %s is not one to one, and has no slope, as in PyTorch", what,
                          rows[kind].name);
    if (!ready(src, what, kind, dims_of_result(kind), &y)) return y;
    return rows[kind].slope(src, x, y);
}

/* --- logistic normal: loc, scale [...,K], of which the last are 0 and 1 and belong to no number --- */
#define LOC a->p[0]
#define SCALE a->p[1]
static xt_tensor of(dist_args *a, ir_value *v) {
    return lazy_wrap(v, a->what);
}
static ir_value *taken(dist_args *a, xt_tensor t) {
    a->b = lazy_begin(a->src);
    return lazy_value(t);
}
static ir_value *head(ir_builder *b, ir_value *x) {
    int64_t last = x ? (int64_t)x->type->rank - 1 : 0;
    return x ? ops_part(b, x, last, 0, x->type->dims[last] - 1) : NULL;
}
static ir_value *logistic_draw(dist_args *a, bool grad) {
    (void)grad;
    ir_value *z = dist_normals(a);
    ir_value *x = ir_add(a->b, LOC, ir_multiply(a->b, SCALE, z));
    return taken(a, stick_forward(a->src, of(a, head(a->b, x))));
}
static ir_value *logistic_log_prob(dist_args *a, ir_value *y) {
    xt_tensor t = of(a, y), x = stick_inverse(a->src, t), slope = stick_slope(a->src, x, t);
    ir_value *v = taken(a, x), *s = taken(a, slope);
    ir_builder *b = a->b;
    ir_value *z = dist_standard(b, v, head(b, LOC), head(b, SCALE));
    ir_value *l = ir_add(b, ex_times(b, ir_multiply(b, z, z), -0.5), ir_negate(b, ir_log(b, head(b, SCALE))));
    return ir_subtract(b, dist_sum_last(b, ex_plus(b, l, -0.5 * log(2 * M_PI)), 1), s);
}
static ir_value *logistic_kl(dist_args *p, dist_args *q) {
    return dist_sum_last(p->b, dist_normal.kl(p, q), 1); /* of the last ones, 0 */
}
const dist_kind dist_logistic_normal = {.name = "LogisticNormal",
                                        .n_params = 2,
                                        .dims = {1, 1},
                                        .event = 1,
                                        .support = DIST_OWN,
                                        .reparameterized = true,
                                        .draw = logistic_draw,
                                        .log_prob = logistic_log_prob,
                                        .kl = logistic_kl};
