/* cholesky, triangular_solve and fft, all calculated in complex double whatever the element type: they are the oracle,
 * not the fast way. */
#include "ir/interp_int.h"

#include <complex.h>
#include <math.h>

typedef double complex cplx;

static xt_status load_complex(const array *a, cplx **out) {
    XT_TRY(interp_temp((size_t)a->type->count + 1, sizeof **out, out));
    convert_elems(a->type->count, a->type->dtype, a->data, XT_C128, *out);
    return NULL;
}

/* --- Triangular matrices --- */
/* Lower factor l of a = l l^H, from one triangle of `a`; the other triangle of the result is zero. A matrix that is not
 * positive definite gives NaN. */
static void cholesky(int64_t n, bool lower, const cplx *a, cplx *l) {
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < n; i++) {
            if (i < j) {
                l[i * n + j] = 0;
                continue;
            }
            cplx sum = lower ? a[i * n + j] : conj(a[j * n + i]);
            for (int64_t k = 0; k < j; k++) sum -= l[i * n + k] * conj(l[j * n + k]);
            l[i * n + j] = i == j ? sqrt(creal(sum)) : sum / l[j * n + j];
        }
    }
}

xt_status interp_cholesky(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    const ir_type *t = in->type;
    int64_t n = t->dims[t->rank - 1];
    bool lower = ir_get_bool(op, IR_A_lower, false);
    cplx *a, *l = NULL;
    XT_TRY(load_complex(in, &a));
    xt_status s = interp_temp((size_t)t->count + 1, sizeof *l, &l);
    for (int64_t at = 0; at < t->count && !s; at += n * n) {
        cholesky(n, lower, a + at, l + at);
        for (int64_t i = 0; i < n && !lower; i++) /* the upper factor is the lower one's adjoint */
            for (int64_t j = i; j < n; j++) {
                cplx v = l[at + j * n + i];
                l[at + j * n + i] = i == j ? v : 0;
                l[at + i * n + j] = conj(v);
            }
    }
    if (!s) convert_elems(t->count, XT_C128, l, t->dtype, out->data);
    base_free(a);
    base_free(l);
    return s;
}

enum { NO_TRANSPOSE = 1, TRANSPOSE = 2, ADJOINT = 3 };

typedef struct triangle {
    const cplx *a;
    int64_t n;
    bool lower, unit;
    int64_t transpose;
} triangle;

/* Element of op(a). */
static cplx triangle_at(const triangle *t, int64_t i, int64_t j) {
    if (t->transpose == TRANSPOSE) return t->a[j * t->n + i];
    return t->transpose == ADJOINT ? conj(t->a[j * t->n + i]) : t->a[i * t->n + j];
}

/* op(a) x = b in place: column b[k * stride], k < n. `flip` solves with the plain transpose of op(a) instead. */
static void solve(const triangle *t, bool flip, cplx *b, int64_t stride) {
    bool turned = t->transpose == TRANSPOSE
    || t->transpose == ADJOINT, lower = (t->lower != turned) != flip;
    for (int64_t step = 0; step < t->n; step++) {
        int64_t i = lower ? step : t->n - 1 - step;
        cplx sum = b[i * stride];
        for (int64_t j = lower ? 0 : i + 1; j < (lower ? i : t->n); j++)
            sum -= (flip ? triangle_at(t, j, i) : triangle_at(t, i, j)) * b[j * stride];
        b[i * stride] = t->unit ? sum : sum / triangle_at(t, i, i);
    }
}

xt_status interp_triangular_solve(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    const ir_type *at = in[0].type, *bt = in[1].type;
    int64_t n = at->dims[at->rank - 1], rows = bt->dims[bt->rank - 2], cols = bt->dims[bt->rank - 1];
    bool left = ir_get_bool(op, IR_A_left_side, true);
    cplx *a, *b = NULL;
    XT_TRY(load_complex(&in[0], &a));
    xt_status s = load_complex(&in[1], &b);
    triangle t = {a, n, ir_get_bool(op, IR_A_lower, true), ir_get_bool(op, IR_A_unit_diagonal, false),
                  ir_get_int(op, IR_A_transpose_a, NO_TRANSPOSE)};
    for (int64_t k = 0; !s && k < bt->count; k += rows * cols, t.a += n * n) {
        /* x op(a) = b is op(a)^T x^T = b^T, a row of b at a time. */
        for (int64_t i = 0; i < (left ? cols : rows); i++)
            solve(&t, !left, left ? b + k + i : b + k + i * cols, left ? cols : 1);
    }
    if (!s) convert_elems(bt->count, XT_C128, b, bt->dtype, out->data);
    base_free(a);
    base_free(b);
    return s;
}

/* --- Fourier transforms --- */
static cplx unit_root(int64_t k, int64_t n) {
    double angle = 2 * M_PI * (double)k / (double)n;
    return cos(angle) + I * sin(angle);
}
/* e^(sign i pi k^2 / n), the angle reduced before it is rounded. */
static cplx chirp(int64_t k, int64_t n, int sign) {
    uint64_t square = (uint64_t)k * (uint64_t)k % (2 * (uint64_t)n);
    cplx w = unit_root((int64_t)square, 2 * n);
    return sign > 0 ? w : conj(w);
}

/* In place, n a power of two; sign -1 forward, +1 inverse, unscaled. */
static void fft_radix2(cplx *x, int64_t n, int sign) {
    for (int64_t i = 1, j = 0; i < n; i++) {
        int64_t bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) {
            cplx swap = x[i];
            x[i] = x[j];
            x[j] = swap;
        }
    }
    for (int64_t len = 2; len <= n; len *= 2)
        for (int64_t k = 0; k < len / 2; k++) {
            cplx w = unit_root(k, len);
            if (sign < 0) w = conj(w);
            for (int64_t i = k; i < n; i += len) {
                cplx u = x[i], v = x[i + len / 2] * w;
                x[i] = u + v;
                x[i + len / 2] = u - v;
            }
        }
}

/* Any length as a convolution of a power of two (L. Bluestein, 1970). `work` holds 2 m elements, m >= 2n - 1. */
static void fft_any(cplx *x, int64_t n, int sign, cplx *work, int64_t m) {
    if ((n & (n - 1)) == 0) {
        fft_radix2(x, n, sign);
        return;
    }
    cplx *a = work, *b = work + m;
    memset(work, 0, 2 * (size_t)m * sizeof *work);
    for (int64_t k = 0; k < n; k++) {
        a[k] = x[k] * chirp(k, n, sign);
        b[k] = chirp(k, n, -sign);
        if (k) b[m - k] = b[k];
    }
    fft_radix2(a, m, -1);
    fft_radix2(b, m, -1);
    for (int64_t k = 0; k < m; k++) a[k] *= b[k];
    fft_radix2(a, m, 1);
    for (int64_t k = 0; k < n; k++) x[k] = a[k] / (double)m * chirp(k, n, sign);
}

/* Transforms dim d of x (row-major, complex) in place. */
static xt_status fft_dim(cplx *x, size_t rank, const int64_t *dims, size_t d, bool inverse) {
    int64_t n = dims[d], inner = 1, outer = 1, m = 1;
    for (size_t k = d + 1; k < rank; k++) inner *= dims[k];
    for (size_t k = 0; k < d; k++) outer *= dims[k];
    while (m < 2 * n - 1) m *= 2;
    cplx *line;
    XT_TRY(interp_temp((size_t)(n + 2 * m), sizeof *line, &line));
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            cplx *at = x + o * n * inner + i;
            for (int64_t k = 0; k < n; k++) line[k] = at[k * inner];
            fft_any(line, n, inverse ? 1 : -1, line + n, m);
            for (int64_t k = 0; k < n; k++) at[k * inner] = inverse ? line[k] / (double)n : line[k];
        }
    base_free(line);
    return NULL;
}

/* Rows of the last dim: `from` wide to `to` wide, either the first half of a spectrum or that half completed
 * by symmetry. */
static void fft_refit(const cplx *src, int64_t from, cplx *dst, int64_t to, int64_t rows) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < to; k++)
            dst[r * to + k] = k < from ? src[r * from + k] : conj(src[r * from + (to - k)]);
}

enum { FFT, IFFT, RFFT, IRFFT };

xt_status interp_fft(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    size_t n;
    ir_get_ints(op, IR_A_fft_length, &n);
    int64_t kind = ir_get_int(op, IR_A_fft_type, FFT), dims[INTERP_MAX_RANK];
    size_t rank = in->type->rank, last = rank - 1;
    if (out->type->count == 0) return NULL;
    cplx *x, *y = NULL;
    XT_TRY(load_complex(in, &x));
    memcpy(dims, in->type->dims, rank * sizeof *dims);
    xt_status s = interp_temp((size_t)out->type->count + 1, sizeof *y, &y);
    int64_t rows = in->type->count / dims[last], wide = out->type->dims[last];
    if (kind == FFT || kind == RFFT) {
        for (size_t k = 0; k < n && !s; k++) {
            s = fft_dim(x, rank, dims, last - k, false);
            if (k || kind != RFFT || s) continue;
            fft_refit(x, dims[last], y, wide, rows); /* keeps the first half */
            memcpy(x, y, (size_t)(rows * wide) * sizeof *x);
            dims[last] = wide;
        }
        if (!s) memcpy(y, x, (size_t)out->type->count * sizeof *y);
    } else {
        for (size_t k = n; k-- > 1 && !s;) s = fft_dim(x, rank, dims, last - k, true);
        if (!s) fft_refit(x, dims[last], y, wide, rows);
        dims[last] = wide;
        if (!s && kind == IRFFT) /* the spectrum of a real signal has a real first and middle */
            for (int64_t r = 0; r < rows; r++) {
                y[r * wide] = creal(y[r * wide]);
                if (wide % 2 == 0) y[r * wide + wide / 2] = creal(y[r * wide + wide / 2]);
            }
        if (!s) s = fft_dim(y, rank, dims, last, true);
    }
    if (!s) convert_elems(out->type->count, XT_C128, y, out->type->dtype, out->data);
    base_free(x);
    base_free(y);
    return s;
}
