/* Short functions of PyTorch's that are made of others: of each element, along axes, shapes (names_linalg.c: linear
 * algebra). */
#include <math.h>

#include <xtrain/names.h>

#include "ops/expr.h"

static xt_tensor times(const xt_src *src, xt_tensor x, double v) {
    return xt_mul_scalar_at(src, x, v);
}

/* --- of each element --- */
static bool is_complex(xt_tensor x) {
    const ir_type *t = lazy_type(x);
    return t && ir_dtype_is_complex(t->dtype);
}

xt_tensor xt_sgn_at(const xt_src *src, xt_tensor x) {
    if (!is_complex(x)) return xt_sign_at(src, x);
    xt_tensor size = xt_abs_at(src, x), zero = xt_full_like_at(src, size, 0);
    xt_tensor divisor = xt_where_at(src, xt_eq_at(src, size, zero), xt_full_like_at(src, size, 1), size);
    return xt_complex_at(src, xt_div_at(src, xt_real_at(src, x), divisor), xt_div_at(src, xt_imag_at(src, x), divisor));
}

xt_tensor xt_isreal_at(const xt_src *src, xt_tensor x) {
    if (is_complex(x))
        x = xt_imag_at(src, x);
    else
        return xt_cast_at(src, xt_full_like_at(src, x, 1), XT_BOOL);
    return xt_eq_at(src, x, xt_full_like_at(src, x, 0));
}

xt_tensor xt_float_power_at(const xt_src *src, xt_tensor x, xt_tensor y) {
    if (is_complex(x) || is_complex(y))
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_float_power: complex numbers are not raised here (xt_pow)");
    return xt_pow_at(src, xt_cast_at(src, x, XT_F64), xt_cast_at(src, y, XT_F64));
}

xt_tensor xt_ndtr_at(const xt_src *src, xt_tensor x) {
    return times(src, xt_erfc_at(src, times(src, x, -sqrt(0.5))), 0.5);
}

/* Far below 0, where the function itself has no digits left, by its continued fraction (Abramowitz and Stegun 26.2.14):
 * ndtr(x) = exp(-x^2/2) / sqrt(2 pi) / (a + 1/(a + 2/(a + 3/(a + ...)))), a = -x. */
xt_tensor xt_log_ndtr_at(const xt_src *src, xt_tensor x) {
    enum { TERMS = 40 };
    static const double FAR = -5, HALF_LOG_2PI = 0.91893853320467274178;
    xt_tensor far = xt_lt_at(src, x, xt_full_like_at(src, x, FAR));
    xt_tensor a = xt_neg_at(src, xt_where_at(src, far, x, xt_full_like_at(src, x, FAR))), tail = a;
    for (int k = TERMS; k > 0; k--) tail = xt_add_at(src, a, xt_div_at(src, xt_full_like_at(src, a, k), tail));
    xt_tensor below = xt_add_scalar_at(src, times(src, xt_square_at(src, a), -0.5), -HALF_LOG_2PI);
    below = xt_sub__at(src, below, xt_log_e_at(src, tail));
    xt_tensor near = xt_where_at(src, far, xt_full_like_at(src, x, 0), x);
    return xt_where_at(src, far, below, xt_log_e_at(src, xt_ndtr_at(src, near)));
}

xt_tensor xt_mvlgamma_at(const xt_src *src, xt_tensor x, int p) {
    enum { MOST = 64 };
    if (p < 1 || p > MOST)
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_mvlgamma: p is %d: expected 1 to %d", p, (int)MOST);
    xt_tensor sum = xt_lgamma_at(src, x);
    for (int j = 1; j < p; j++) sum = xt_add_at(src, sum, xt_lgamma_at(src, xt_add_scalar_at(src, x, -0.5 * j)));
    ir_builder *b = lazy_begin(src); /* how many terms there are is a program's own, and so is what goes with it */
    return lazy_wrap(ex_plus(b, lazy_value(sum), 0.25 * p * (p - 1) * log(3.14159265358979323846)), "xt_mvlgamma");
}

xt_tensor xt_rrelu_at(const xt_src *src, xt_tensor x, double lower, double upper, bool training) {
    if (!(lower <= upper))
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_rrelu: slopes from %g to %g: the first not above the second",
                          lower, upper);
    if (!training) return xt_leaky_relu_at(src, x, (lower + upper) / 2);
    xt_tensor slope = xt_add_scalar_at(src, times(src, xt_rand_like_at(src, x), upper - lower), lower);
    return xt_where_at(src, xt_lt_at(src, x, xt_full_like_at(src, x, 0)), xt_mul_at(src, x, slope), x);
}

/* --- along axes --- */
void xt_aminmax_at(const xt_src *src, xt_tensor x, xt_list axes, xt_tensor *out_min, xt_tensor *out_max) {
    if (out_min) *out_min = xt_amin_axes_at(src, x, axes, XT_OPTS(xt_reduce_opts, ));
    if (out_max) *out_max = xt_amax_axes_at(src, x, axes, XT_OPTS(xt_reduce_opts, ));
}

void xt_var_mean_at(const xt_src *src, xt_tensor x, xt_list axes, double correction, xt_tensor *out_var,
                    xt_tensor *out_mean) {
    if (out_var) *out_var = xt_var_axes_at(src, x, axes, XT_OPTS(xt_var_opts, .correction = correction));
    if (out_mean) *out_mean = xt_mean_axes_at(src, x, axes, XT_OPTS(xt_reduce_opts, ));
}

void xt_std_mean_at(const xt_src *src, xt_tensor x, xt_list axes, double correction, xt_tensor *out_std,
                    xt_tensor *out_mean) {
    if (out_std) *out_std = xt_std_axes_at(src, x, axes, XT_OPTS(xt_var_opts, .correction = correction));
    if (out_mean) *out_mean = xt_mean_axes_at(src, x, axes, XT_OPTS(xt_reduce_opts, ));
}

xt_tensor xt_msort_at(const xt_src *src, xt_tensor x) {
    xt_tensor values, indices;
    xt_sort_at(src, x, 0, XT_OPTS(xt_sort_opts, ), &values, &indices);
    return values;
}

/* --- shapes --- */
xt_tensor xt_atleast_at(const xt_src *src, xt_tensor x, int rank) {
    const ir_type *t = lazy_type(x);
    if (!t) return x;
    /* PyTorch's places: in front, but the third dim behind */
    if (t->rank == 0 && rank >= 1) x = xt_unsqueeze_at(src, x, 0);
    if (t->rank <= 1 && rank >= 2) x = xt_unsqueeze_at(src, x, 0);
    if (t->rank <= 2 && rank >= 3) x = xt_unsqueeze_at(src, x, 2);
    return x;
}

/* Each tensor with that many dims at least, joined along an axis (vectors: along another one). */
static xt_tensor joined(const xt_src *src, const char *what, int n, const xt_tensor *tensors, int rank, int axis,
                        int axis_of_vectors, bool columns) {
    xt_tensor *parts = n > 0 && tensors ? base_calloc((size_t)n, sizeof *parts) : NULL;
    if (!parts) return lazy_error(src, XT_INVALID_ARGUMENT, "%s: %d tensors: expected at least one", what, n);
    for (int i = 0; i < n; i++) {
        const ir_type *t = lazy_type(tensors[i]);
        if (columns && t && t->rank <= 1)
            parts[i] = xt_reshape_at(src, tensors[i], (int64_t[]){t->count, 1, 0});
        else
            parts[i] = xt_atleast_at(src, tensors[i], rank);
    }
    bool vectors = xt_rank_of(parts[0]) <= 1;
    xt_tensor y = xt_concat_at(src, n, parts, vectors ? axis_of_vectors : axis);
    base_free(parts);
    return y;
}

xt_tensor xt_hstack_at(const xt_src *src, int n, const xt_tensor *tensors) {
    return joined(src, "xt_hstack", n, tensors, 1, 1, 0, false);
}
xt_tensor xt_vstack_at(const xt_src *src, int n, const xt_tensor *tensors) {
    return joined(src, "xt_vstack", n, tensors, 2, 0, 0, false);
}
xt_tensor xt_dstack_at(const xt_src *src, int n, const xt_tensor *tensors) {
    return joined(src, "xt_dstack", n, tensors, 3, 2, 2, false);
}
xt_tensor xt_column_stack_at(const xt_src *src, int n, const xt_tensor *tensors) {
    return joined(src, "xt_column_stack", n, tensors, 1, 1, 1, true);
}

xt_tensor xt_cartesian_prod_at(const xt_src *src, int n, const xt_tensor *tensors) {
    xt_tensor *parts = n > 0 && tensors ? base_calloc((size_t)n, sizeof *parts) : NULL;
    if (!parts) return lazy_error(src, XT_INVALID_ARGUMENT, "xt_cartesian_prod: %d vectors: expected at least one", n);
    xt_tensor y;
    bool ok = n == 1 || xt_meshgrid_at(src, n, tensors, false, parts);
    if (n == 1)
        y = xt_reshape_at(src, tensors[0], (int64_t[]){-1, 0});
    else {
        for (int i = 0; ok && i < n; i++) parts[i] = xt_flatten_at(src, parts[i], 0, -1);
        y = ok ? xt_stack_at(src, n, parts, 1) : lazy_failed_tensor(src);
    }
    base_free(parts);
    return y;
}

xt_tensor xt_adjoint_at(const xt_src *src, xt_tensor x) {
    xt_tensor t = xt_transpose_at(src, x, -2, -1);
    return is_complex(t) ? xt_conj_at(src, t) : t;
}

xt_tensor xt_diagflat_at(const xt_src *src, xt_tensor x, int64_t k) {
    return xt_diag_at(src, xt_reshape_at(src, x, (int64_t[]){-1, 0}), k);
}

xt_tensor xt_vander_at(const xt_src *src, xt_tensor x, int64_t n, bool increasing) {
    const ir_type *t = lazy_type(x);
    if (!t) return x;
    if (t->rank < 1 || n < 0)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_vander: %u dims and %lld powers: at least one dim, and 0 for as "
                          "many powers as there are numbers",
                          t->rank, (long long)n);
    if (n == 0) n = t->dims[t->rank - 1];
    xt_tensor *powers = base_calloc((size_t)n + 1, sizeof *powers), y = {0};
    if (!powers) return lazy_error(src, XT_RESOURCE_EXHAUSTED, "xt_vander: no memory for %lld powers", (long long)n);
    for (int64_t i = 0; i < n; i++) { /* by products, as PyTorch: exact for integers */
        xt_tensor p = i ? xt_mul_at(src, powers[increasing ? i - 1 : n - i], x) : xt_full_like_at(src, x, 1);
        powers[increasing ? i : n - 1 - i] = p;
    }
    y = xt_stack_at(src, (int)n, powers, -1);
    base_free(powers);
    return y;
}

/* --- Fourier transforms of Hermitian signals --- */
/* The direction is the other one, so what is divided by n is, too. */
static xt_fft_opts turned(xt_fft_opts o) {
    o.norm = o.norm == XT_FFT_BACKWARD ? XT_FFT_FORWARD : o.norm == XT_FFT_FORWARD ? XT_FFT_BACKWARD : o.norm;
    return o;
}

xt_tensor xt_hfft_at(const xt_src *src, xt_tensor x, int axis, xt_fft_opts o) {
    return xt_irfft_at(src, xt_conj_at(src, x), axis, turned(o));
}

xt_tensor xt_ihfft_at(const xt_src *src, xt_tensor x, int axis, xt_fft_opts o) {
    return xt_conj_at(src, xt_rfft_at(src, x, axis, turned(o)));
}

xt_tensor xt_hfftn_at(const xt_src *src, xt_tensor x, xt_list axes, xt_fft_opts o) {
    return xt_irfftn_at(src, xt_conj_at(src, x), axes, turned(o));
}

xt_tensor xt_ihfftn_at(const xt_src *src, xt_tensor x, xt_list axes, xt_fft_opts o) {
    return xt_conj_at(src, xt_rfftn_at(src, x, axes, turned(o)));
}
