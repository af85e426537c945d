/* Dropout: masks from the run's counter-based random numbers; nothing is recorded in eval mode. */
#include <math.h>

#include "nn/nn.h"

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

/* 1 with probability 1-p, else 0, in these dims. */
static xt_tensor keep_mask(const xt_src *src, const int64_t *dims, double p, xt_dtype dtype) {
    return xt_cast_at(src, xt_ge_at(src, xt_rand_at(src, XT_F32, dims), xt_full_at(src, p, XT_F32, (int64_t[]){0})),
                      dtype);
}

static xt_tensor drop(const xt_src *src, xt_tensor x, const int64_t *mask_dims, double p) {
    xt_dtype t = xt_dtype_of(x);
    return p == 1 ? xt_mul_scalar_at(src, x, 0)
                  : xt_mul_scalar_at(src, xt_mul_at(src, x, keep_mask(src, mask_dims, p, t)), 1 / (1 - p));
}

xt_tensor xt_dropout_at(const xt_src *src, xt_module *m, xt_tensor x, double p) {
    const ir_type *t = lazy_type(x);
    xt_tensor failed;
    if (!probability_fits(src, "xt_dropout", t, x, p, &failed)) return failed;
    if (!nn_drops(m, p)) return x;
    int64_t dims[XT_MAX_RANK + 1] = {0};
    for (uint32_t i = 0; i < t->rank; i++) dims[i] = t->dims[i];
    return drop(src, x, dims, p);
}

xt_tensor xt_channel_dropout_at(const xt_src *src, int n_spatial, xt_module *m, xt_tensor x, double p) {
    const ir_type *t = lazy_type(x);
    char what[32];
    xt_tensor failed;
    snprintf(what, sizeof what, "xt_dropout%dd", n_spatial);
    if (!probability_fits(src, what, t, x, p, &failed)) return failed;
    if (n_spatial < 1 || ((int)t->rank != n_spatial + 2 && (int)t->rank != n_spatial + 1))
        return nn_bad_input(src, what, "", x, "[N,C,...] with as many dims behind C as the name says is needed");
    if (!nn_drops(m, p)) return x;
    int64_t dims[XT_MAX_RANK + 1] = {0};
    for (int i = 0; i < (int)t->rank; i++) dims[i] = i < (int)t->rank - n_spatial ? t->dims[i] : 1;
    return drop(src, x, dims, p);
}

/* Klambauer et al. 2017: dropped elements take SELU's negative limit, then an affine map restores mean 0
 * and variance 1. The first `own` dims have numbers of their own, the others one together. */
static xt_tensor alpha(const xt_src *src, xt_tensor x, uint32_t own, double p) {
    static const double limit = -1.7580993408473766;
    const ir_type *t = lazy_type(x);
    if (p == 1) return xt_mul_scalar_at(src, x, 0);
    int64_t dims[XT_MAX_RANK + 1] = {0};
    for (uint32_t i = 0; i < t->rank; i++) dims[i] = i < own ? t->dims[i] : 1;
    double a = 1 / sqrt((1 - p) * (1 + p * limit * limit)), b = -a * limit * p;
    xt_tensor mask = keep_mask(src, dims, p, t->dtype);
    xt_tensor kept = xt_mul_scalar_at(src, xt_mul_at(src, x, mask), a);
    /* where the mask is 0 */
    xt_tensor dropped = xt_mul_scalar_at(src, xt_add_scalar_at(src, xt_neg_at(src, mask), 1), a * limit);
    return xt_add_scalar_at(src, xt_add_at(src, kept, dropped), b);
}

xt_tensor xt_alpha_dropout_at(const xt_src *src, xt_module *m, xt_tensor x, double p) {
    const ir_type *t = lazy_type(x);
    xt_tensor failed;
    if (!probability_fits(src, "xt_alpha_dropout", t, x, p, &failed)) return failed;
    return nn_drops(m, p) ? alpha(src, x, t->rank, p) : x;
}

xt_tensor xt_feature_alpha_dropout_at(const xt_src *src, xt_module *m, xt_tensor x, double p) {
    const ir_type *t = lazy_type(x);
    xt_tensor failed;
    if (!probability_fits(src, "xt_feature_alpha_dropout", t, x, p, &failed)) return failed;
    if (t->rank < 2) return nn_bad_input(src, "xt_feature_alpha_dropout", "", x, "[N,C,...] is needed");
    return nn_drops(m, p) ? alpha(src, x, 2, p) : x;
}
