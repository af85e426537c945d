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

/* What a layer does in this step. A probability that has changed between two steps is data, and 0 and 1 are numbers as
 * others then: one program serves all. */
typedef enum dropping { NOTHING, CONSTANT, DATA } dropping;

static dropping what_drops(const xt_src *src, const char *what, const xt_module *m, double p) {
    bool drops = nn_drops(m, p);
    if (!xt_is_training(m)) return NOTHING;
    return ops_number_moves(src, what, p) ? DATA : drops ? CONSTANT : NOTHING;
}

static xt_tensor times(const xt_src *src, xt_tensor x, double c, dropping how) {
    return how == DATA ? xt_mul_at(src, x, lazy_scalar(src, xt_dtype_of(x), c)) : xt_mul_scalar_at(src, x, c);
}
static xt_tensor plus(const xt_src *src, xt_tensor x, double c, dropping how) {
    return how == DATA ? xt_add_at(src, x, lazy_scalar(src, xt_dtype_of(x), c)) : xt_add_scalar_at(src, x, c);
}

/* 1 with probability 1-p, else 0, in these dims. Where nothing is left to chance no draw is counted, as none is made
 * where 0 and 1 are constants. */
static xt_tensor keep_mask(const xt_src *src, const int64_t *dims, double p, xt_dtype dtype, dropping how) {
    xt_tensor least = how == DATA ? lazy_scalar(src, XT_F32, p) : xt_full_at(src, p, XT_F32, (int64_t[]){0});
    xt_tensor u = p == 0 || p == 1 ? ops_rand_idle(src, dims) : xt_rand_at(src, XT_F32, dims);
    return xt_cast_at(src, xt_ge_at(src, u, least), dtype);
}

static xt_tensor drop(const xt_src *src, xt_tensor x, const int64_t *mask_dims, double p, dropping how) {
    xt_dtype t = xt_dtype_of(x);
    if (p == 1 && how != DATA) return xt_mul_scalar_at(src, x, 0);
    return times(src, xt_mul_at(src, x, keep_mask(src, mask_dims, p, t, how)), p < 1 ? 1 / (1 - p) : 0, how);
}

xt_tensor xt_dropout_at(const xt_src *src, xt_module *m, xt_tensor x, double p) {
    const ir_type *t = lazy_type(x);
    xt_tensor failed;
    if (!probability_fits(src, "xt_dropout", t, x, p, &failed)) return failed;
    dropping how = what_drops(src, "xt_dropout", m, p);
    if (how == NOTHING) return x;
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
    dropping how = what_drops(src, n_spatial <= 3 ? names[n_spatial - 1] : "xt_dropoutnd", m, p);
    if (how == NOTHING) return x;
    int64_t dims[XT_MAX_RANK + 1] = {0};
    for (int i = 0; i < (int)t->rank; i++) dims[i] = i < (int)t->rank - n_spatial ? t->dims[i] : 1;
    return drop(src, x, dims, p, how);
}

/* Klambauer et al. 2017: dropped elements take SELU's negative limit, then an affine map restores mean 0
 * and variance 1. The first `own` dims have numbers of their own, the others one together. */
static xt_tensor alpha(const xt_src *src, xt_tensor x, uint32_t own, double p, dropping how) {
    static const double limit = -1.7580993408473766;
    const ir_type *t = lazy_type(x);
    if (how == NOTHING) return x;
    if (p == 1 && how != DATA) return xt_add_scalar_at(src, xt_mul_scalar_at(src, x, 0), 0); /* never -0, as below */
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
