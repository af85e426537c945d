/* batch_norm_training, batch_norm_inference, batch_norm_grad.
 *
 * The operand is seen as [outer, channel, inner]. Sums per channel are formed in f64 (the variance from centred values,
 * in a second pass); the elements are then computed in their own type, f32 for the narrower floats. */
#include "ir/interp_int.h"

#include <math.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

typedef struct layout {
    int64_t outer, channels, inner;
} layout;

static layout layout_of(const ir_op *op, const ir_type *t) {
    uint32_t feature = (uint32_t)ir_get_int(op, IR_A_feature_index, 0);
    layout l = {1, t->dims[feature], 1};
    for (uint32_t d = 0; d < feature; d++) l.outer *= t->dims[d];
    for (uint32_t d = feature + 1; d < t->rank; d++) l.inner *= t->dims[d];
    return l;
}

enum { LANES = 8 };

/* sums[c] += expr over the elements e of each channel c. Rows of one channel are summed in lanes, so that no add waits
 * for the one before. */
#define SUMS(name, T, expr)                                                                \
    static void name(layout l, const T *x, const T *g, const double *mean, double *sums) { \
        (void)x, (void)g, (void)mean;                                                      \
        for (int64_t o = 0; o < l.outer; o++) {                                            \
            for (int64_t c = 0; c < l.channels && l.inner == 1; c++) {                     \
                int64_t e = o * l.channels + c;                                            \
                sums[c] += expr;                                                           \
            }                                                                              \
            for (int64_t c = 0; c < l.channels && l.inner > 1; c++) {                      \
                int64_t at = (o * l.channels + c) * l.inner, end = at + l.inner;           \
                double lane[LANES] = {0}, total = 0;                                       \
                for (; at + LANES <= end; at += LANES)                                     \
                    for (int k = 0; k < LANES; k++) {                                      \
                        int64_t e = at + k;                                                \
                        lane[k] += expr;                                                   \
                    }                                                                      \
                for (int64_t e = at; e < end; e++) total += expr;                          \
                for (int k = 0; k < LANES; k++) total += lane[k];                          \
                sums[c] += total;                                                          \
            }                                                                              \
        }                                                                                  \
    }
/* y[e] = expr over all elements, by four numbers per channel: p, q, r, s. */
#define MAP(name, T, expr)                                                                                     \
    static void name(layout l, const T *x, const T *g, const T *coef, T *y) {                                  \
        const T *ps = coef, *qs = coef + l.channels, *rs = coef + 2 * l.channels, *ss = coef + 3 * l.channels; \
        (void)g, (void)ss;                                                                                     \
        for (int64_t o = 0; o < l.outer; o++) {                                                                \
            if (l.inner == 1) {                                                                                \
                INTERP_IVDEP                                                                                   \
                for (int64_t c = 0; c < l.channels; c++) {                                                     \
                    int64_t e = o * l.channels + c;                                                            \
                    T p = ps[c], q = qs[c], r = rs[c], s = ss[c];                                              \
                    (void)s;                                                                                   \
                    y[e] = expr;                                                                               \
                }                                                                                              \
                continue;                                                                                      \
            }                                                                                                  \
            for (int64_t c = 0; c < l.channels; c++) {                                                         \
                T p = ps[c], q = qs[c], r = rs[c], s = ss[c];                                                  \
                (void)s;                                                                                       \
                int64_t at = (o * l.channels + c) * l.inner;                                                   \
                INTERP_IVDEP                                                                                   \
                for (int64_t e = at; e < at + l.inner; e++) y[e] = expr;                                       \
            }                                                                                                  \
        }                                                                                                      \
    }

#define NORM(T)                                                                  \
    SUMS(sum_##T, T, (double)x[e])                                               \
    SUMS(sum_square_##T, T, ((double)x[e] - mean[c]) * ((double)x[e] - mean[c])) \
    SUMS(sum_product_##T, T, ((double)x[e] - mean[c]) * (double)g[e])            \
    MAP(affine_##T, T, (x[e] - p) * q + r)                                       \
    MAP(grad_##T, T, p *g[e] - q - (x[e] - s) * r)
NORM(float)
NORM(double)

/* Operands in the type that is computed in, per-channel numbers in f64. */
typedef struct norm {
    layout l;
    xt_dtype t, compute;
    double epsilon, per_channel; /* elements of one channel */
    void *x, *g, *y, *coef; /* in the compute type; x, g, y are the arrays themselves when that is their type */
    double *mean, *var, *scale, *offset, *sum_g, *sum_gx;
    void *scratch[4];
} norm;

static xt_status in_compute_type(norm *n, const array *a, int slot, bool load, void **out) {
    *out = a->data;
    if (n->t == n->compute) return NULL;
    XT_TRY(interp_temp((size_t)a->type->count, sizeof(float), &n->scratch[slot]));
    *out = n->scratch[slot];
    if (load) convert_elems(a->type->count, n->t, a->data, n->compute, *out);
    return NULL;
}

static void norm_deinit(norm *n) {
    for (int k = 0; k < 4; k++) base_free(n->scratch[k]);
    base_free(n->coef);
    base_free(n->mean);
}

/* `g` may be NULL. Channel vectors are zero until loaded. */
static xt_status norm_init(norm *n, const ir_op *op, const array *x, const array *g, array *y) {
    *n = (norm){.l = layout_of(op, x->type), .t = x->type->dtype, .compute = dtype_compute(x->type->dtype)};
    const ir_attr *eps = ir_attr_find(op, IR_A_epsilon);
    n->epsilon = eps ? eps->v.f : 0;
    n->per_channel = (double)(n->l.outer * n->l.inner);
    size_t c = (size_t)n->l.channels;
    if (n->compute != XT_F32 && n->compute != XT_F64) return interp_unsupported(op, "this element type");
    XT_TRY(interp_temp(c + 1, 6 * sizeof(double), &n->mean));
    memset(n->mean, 0, (c + 1) * 6 * sizeof(double));
    n->var = n->mean + c;
    n->scale = n->var + c;
    n->offset = n->scale + c;
    n->sum_g = n->offset + c;
    n->sum_gx = n->sum_g + c;
    XT_TRY(interp_temp(c + 1, 4 * sizeof(double), &n->coef));
    XT_TRY(in_compute_type(n, x, 0, true, &n->x));
    if (g) XT_TRY(in_compute_type(n, g, 1, true, &n->g));
    return in_compute_type(n, y, 2, false, &n->y);
}

static void load_channels(const array *a, double *out) {
    convert_elems(a->type->count, a->type->dtype, a->data, XT_F64, out);
}
static void store_channels(const double *v, array *out) {
    convert_elems(out->type->count, XT_F64, v, out->type->dtype, out->data);
}
static void set_coef(norm *n, int k, int64_t c, double v) {
    int64_t at = k * n->l.channels + c;
    if (n->compute == XT_F64)
        ((double *)n->coef)[at] = v;
    else
        ((float *)n->coef)[at] = (float)v;
}
static void store_elements(const norm *n, array *out) {
    if (n->y != out->data) convert_elems(out->type->count, n->compute, n->y, n->t, out->data);
}

/* y = (x - mean) * (scale / sqrt(var + epsilon)) + offset */
static void normalise(norm *n) {
    for (int64_t c = 0; c < n->l.channels; c++) {
        set_coef(n, 0, c, n->mean[c]);
        set_coef(n, 1, c, n->scale[c] / sqrt(n->var[c] + n->epsilon));
        set_coef(n, 2, c, n->offset[c]);
        set_coef(n, 3, c, 0);
    }
    if (n->compute == XT_F64)
        affine_double(n->l, n->x, NULL, n->coef, n->y);
    else
        affine_float(n->l, n->x, NULL, n->coef, n->y);
}

xt_status interp_batch_norm_training(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    norm n;
    xt_status s = norm_init(&n, op, &in[0], NULL, &out[0]);
    if (!s) {
        load_channels(&in[1], n.scale);
        load_channels(&in[2], n.offset);
        if (n.compute == XT_F64)
            sum_double(n.l, n.x, NULL, NULL, n.mean);
        else
            sum_float(n.l, n.x, NULL, NULL, n.mean);
        for (int64_t k = 0; k < n.l.channels; k++) n.mean[k] /= n.per_channel;
        if (n.compute == XT_F64)
            sum_square_double(n.l, n.x, NULL, n.mean, n.var);
        else
            sum_square_float(n.l, n.x, NULL, n.mean, n.var);
        for (int64_t k = 0; k < n.l.channels; k++) n.var[k] /= n.per_channel;
        normalise(&n);
        store_elements(&n, &out[0]);
        store_channels(n.mean, &out[1]);
        store_channels(n.var, &out[2]);
    }
    norm_deinit(&n);
    return s;
}

xt_status interp_batch_norm_inference(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    norm n;
    xt_status s = norm_init(&n, op, &in[0], NULL, &out[0]);
    if (!s) {
        load_channels(&in[1], n.scale);
        load_channels(&in[2], n.offset);
        load_channels(&in[3], n.mean);
        load_channels(&in[4], n.var);
        normalise(&n);
        store_elements(&n, &out[0]);
    }
    norm_deinit(&n);
    return s;
}

/* With d = 1/sqrt(var + epsilon), N elements per channel and sums over a channel: d_x = scale*d * (g - sum(g)/N - (x -
 * mean) * d^2 * sum(g*(x - mean))/N), d_scale = d * sum(g*(x - mean)), d_offset = sum(g). */
xt_status interp_batch_norm_grad(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    norm n;
    xt_status s = norm_init(&n, op, &in[0], &in[4], &out[0]);
    if (!s) {
        load_channels(&in[1], n.scale);
        load_channels(&in[2], n.mean);
        load_channels(&in[3], n.var);
        if (n.compute == XT_F64) {
            sum_double(n.l, n.g, NULL, NULL, n.sum_g);
            sum_product_double(n.l, n.x, n.g, n.mean, n.sum_gx);
        } else {
            sum_float(n.l, n.g, NULL, NULL, n.sum_g);
            sum_product_float(n.l, n.x, n.g, n.mean, n.sum_gx);
        }
        for (int64_t k = 0; k < n.l.channels; k++) {
            double d = 1 / sqrt(n.var[k] + n.epsilon), p = n.scale[k] * d;
            set_coef(&n, 0, k, p);
            set_coef(&n, 1, k, p * n.sum_g[k] / n.per_channel);
            set_coef(&n, 2, k, p * d * d * n.sum_gx[k] / n.per_channel);
            set_coef(&n, 3, k, n.mean[k]);
            n.sum_gx[k] *= d;
        }
        if (n.compute == XT_F64)
            grad_double(n.l, n.x, n.g, n.coef, n.y);
        else
            grad_float(n.l, n.x, n.g, n.coef, n.y);
        store_elements(&n, &out[0]);
        store_channels(n.sum_gx, &out[1]);
        store_channels(n.sum_g, &out[2]);
    }
    norm_deinit(&n);
    return s;
}
