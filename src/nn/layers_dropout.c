/* Dropout: masks from the run's counter-based random numbers; nothing is recorded in eval mode. */
#include <math.h>

#include "nn/nn.h"
#include "ops/ops.h"

static bool probability_fits(const xt_src *src, const char *what, const ir_type *t, xt_tensor x, double p,
                             xt_tensor *out) {
    *out = (xt_tensor){0};
    if (!t || !ir_dtype_is_float(t->dtype))
        *out = nn_bad_input(src, what, "", x, "floats are needed");
    else if (!(p >= 0 && p <= 1))
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: the probability is %g; it must be in [0,1]", what, p);
    else
        return true;
    return false;
}

static nn_dropping what_drops(const xt_src *src, const char *what, const xt_module *m, double p) {
    bool drops = nn_drops(m, p);
    if (!xt_is_training(m)) return NN_DROPS_NOTHING;
    return ops_number_moves(src, what, p) ? NN_DROPS_DATA : drops ? NN_DROPS_CONSTANT : NN_DROPS_NOTHING;
}

static xt_tensor times(const xt_src *src, xt_tensor x, double c, nn_dropping how) {
    return how == NN_DROPS_DATA ? xt_mul_at(src, x, lazy_scalar(src, xt_dtype_of(x), c)) : xt_mul_scalar_at(src, x, c);
}
static xt_tensor plus(const xt_src *src, xt_tensor x, double c, nn_dropping how) {
    return how == NN_DROPS_DATA ? xt_add_at(src, x, lazy_scalar(src, xt_dtype_of(x), c)) : xt_add_scalar_at(src, x, c);
}

/* 1 where u, uniform in [0, 1), is p or more, else 0. */
static xt_tensor mask_of(const xt_src *src, xt_tensor u, double p, xt_dtype dtype, nn_dropping how) {
    xt_tensor least = how == NN_DROPS_DATA ? lazy_scalar(src, XT_F32, p) : xt_full_at(src, p, XT_F32, (int64_t[]){0});
    return xt_cast_at(src, xt_ge_at(src, u, least), dtype);
}

/* 1 with probability 1-p, else 0, in these dims. Where nothing is left to chance no draw is counted, as none is made
 * where 0 and 1 are constants. */
static xt_tensor keep_mask(const xt_src *src, const int64_t *dims, double p, xt_dtype dtype, nn_dropping how) {
    xt_tensor u = p == 0 || p == 1 ? ops_rand_idle(src, dims) : xt_rand_at(src, XT_F32, dims);
    return mask_of(src, u, p, dtype, how);
}

static xt_tensor masked(const xt_src *src, xt_tensor x, xt_tensor mask, double p, nn_dropping how) {
    return times(src, xt_mul_at(src, x, mask), p < 1 ? 1 / (1 - p) : 0, how);
}

static xt_tensor drop(const xt_src *src, xt_tensor x, const int64_t *mask_dims, double p, nn_dropping how) {
    xt_dtype t = xt_dtype_of(x);
    if (p == 1 && how != NN_DROPS_DATA) return xt_mul_scalar_at(src, x, 0);
    return masked(src, x, keep_mask(src, mask_dims, p, t, how), p, how);
}

bool nn_row_dropout_begin(const xt_src *src, const xt_module *m, double p, xt_tensor x, nn_row_dropout *out,
                          xt_tensor *failed) {
    *out = (nn_row_dropout){.p = p};
    if (!probability_fits(src, "xt_dropout", lazy_type(x), x, p, failed)) return false;
    out->how = what_drops(src, "xt_dropout", m, p);
    if (out->how != NN_DROPS_NOTHING && (p != 1 || out->how == NN_DROPS_DATA))
        out->key = p == 0 || p == 1 ? lazy_rng_key_idle(src) : lazy_rng_key(src);
    return true;
}

xt_tensor nn_drop_rows(const xt_src *src, const nn_row_dropout *d, xt_tensor x, int64_t rows, xt_tensor first) {
    const ir_type *t = lazy_type(x);
    if (!t || d->how == NN_DROPS_NOTHING) return x;
    if (xt_is_none(d->key)) return xt_mul_scalar_at(src, x, 0);
    xt_tensor u = ops_rand_rows(src, d->key, t, rows, first);
    return masked(src, x, mask_of(src, u, d->p, t->dtype, d->how), d->p, d->how);
}

xt_tensor xt_dropout_at(const xt_src *src, xt_module *m, xt_tensor x, double p) {
    const ir_type *t = lazy_type(x);
    xt_tensor failed;
    if (!probability_fits(src, "xt_dropout", t, x, p, &failed)) return failed;
    nn_dropping how = what_drops(src, "xt_dropout", m, p);
    if (how == NN_DROPS_NOTHING) return x;
    int64_t dims[XT_MAX_RANK + 1] = {0};
    for (uint32_t i = 0; i < t->rank; i++) dims[i] = t->dims[i];
    return drop(src, x, dims, p, how);
}

xt_tensor xt_channel_dropout_at(const xt_src *src, int n_spatial, xt_module *m, xt_tensor x, double p) {
    const ir_type *t = lazy_type(x);
    char what[32];
    xt_tensor failed;
    snprintf(what, sizeof what, "xt_dropout%dd", n_spatial);
    if (!probability_fits(src, what, t, x, p, &failed)) return failed;
    if (n_spatial < 1 || ((int)t->rank != n_spatial + 2 && (int)t->rank != n_spatial + 1))
        return nn_bad_input(src, what, "", x, "[N,C,...] with as many dims behind C as the name says is needed");
    static const char *const names[] = {"xt_dropout1d", "xt_dropout2d", "xt_dropout3d"}; /* of one place each */
    nn_dropping how = what_drops(src, n_spatial <= 3 ? names[n_spatial - 1] : "xt_dropoutnd", m, p);
    if (how == NN_DROPS_NOTHING) return x;
    int64_t dims[XT_MAX_RANK + 1] = {0};
    for (int i = 0; i < (int)t->rank; i++) dims[i] = i < (int)t->rank - n_spatial ? t->dims[i] : 1;
    return drop(src, x, dims, p, how);
}

/* Klambauer et al. 2017: dropped elements take SELU's negative limit, then an affine map restores mean 0
 * and variance 1. The first `own` dims have numbers of their own, the others one together. */
static xt_tensor alpha(const xt_src *src, xt_tensor x, uint32_t own, double p, nn_dropping how) {
    static const double limit = -1.7580993408473766;
    const ir_type *t = lazy_type(x);
    if (how == NN_DROPS_NOTHING) return x;
    if (p == 1 && how != NN_DROPS_DATA)
        return xt_add_scalar_at(src, xt_mul_scalar_at(src, x, 0), 0); /* never -0, as below */
    int64_t dims[XT_MAX_RANK + 1] = {0};
    for (uint32_t i = 0; i < t->rank; i++) dims[i] = i < own ? t->dims[i] : 1;
    double a = p < 1 ? 1 / sqrt((1 - p) * (1 + p * limit * limit)) : 0, b = -a * limit * p;
    xt_tensor mask = keep_mask(src, dims, p, t->dtype, how);
    xt_tensor kept = times(src, xt_mul_at(src, x, mask), a, how);
    /* where the mask is 0 */
    xt_tensor dropped = times(src, xt_add_scalar_at(src, xt_neg_at(src, mask), 1), a * limit, how);
    return plus(src, xt_add_at(src, kept, dropped), b, how);
}

xt_tensor xt_alpha_dropout_at(const xt_src *src, xt_module *m, xt_tensor x, double p) {
    const ir_type *t = lazy_type(x);
    xt_tensor failed;
    if (!probability_fits(src, "xt_alpha_dropout", t, x, p, &failed)) return failed;
    return alpha(src, x, t->rank, p, what_drops(src, "xt_alpha_dropout", m, p));
}

xt_tensor xt_feature_alpha_dropout_at(const xt_src *src, xt_module *m, xt_tensor x, double p) {
    const ir_type *t = lazy_type(x);
    xt_tensor failed;
    if (!probability_fits(src, "xt_feature_alpha_dropout", t, x, p, &failed)) return failed;
    if (t->rank < 2) return nn_bad_input(src, "xt_feature_alpha_dropout", "", x, "[N,C,...] is needed");
    return alpha(src, x, 2, p, what_drops(src, "xt_feature_alpha_dropout", m, p));
}
