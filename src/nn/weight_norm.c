/* Weight normalisation (Salimans and Kingma 2016) of parameters by pattern: where a layer asks for such a parameter it
 * gets g v / |v|, computed in the step from two parameters that bear the names
 * torch.nn.utils.parametrizations.weight_norm gives them. */
#include <math.h>

#include "nn/nn.h"

bool nn_wish_parametrized(const char *what, xt_module *m, const char *pattern, nn_wish w) {
    const xt_src *src = src_get(w.src);
    if (!m || !pattern) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "%s: a module and a pattern are needed", what));
        return false;
    }
    w.pattern = nn_full_name(m, pattern, "");
    bool ok = w.pattern && nn_keep_wish(m->root, &w);
    for (size_t i = 0; ok && !m->root->depth && i < m->root->n; i++) {
        const nn_entry *e = &m->root->entries[i];
        if (!e->is_param || !nn_matches(w.pattern, e->name)) continue;
        lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                             "%s: %s is there already; call it before the first pass and xt_module_build", what,
                             e->name));
        ok = false;
    }
    base_free(w.pattern);
    return ok;
}

bool xt_weight_norm_at(const xt_src *src, xt_module *m, const char *pattern) {
    return nn_wish_parametrized("xt_weight_norm", m, pattern,
                                (nn_wish){.src = src_intern(src), .what = NN_WISH_WEIGHT_NORM});
}

/* What is made of them is no such parameter itself, whatever the pattern. */
const nn_wish *nn_parametrized(const nn_root *r, const char *name) {
    if (r->n_wishes && strstr(name, "parametrizations.")) return NULL;
    for (size_t i = r->n_wishes; i-- > 0;) {
        const nn_wish *w = &r->wishes[i];
        if ((w->what == NN_WISH_WEIGHT_NORM || w->what == NN_WISH_SPECTRAL_NORM) && nn_matches(w->pattern, name))
            return w;
    }
    return NULL;
}

bool nn_parametrization(const xt_src *src, const char *what, const char *layer, const char *leaf, const char *part,
                        char *name, size_t size, const char **out_layer) {
    *out_layer = *leaf ? layer : "";
    if (snprintf(name, size, "parametrizations.%s.%s", *leaf ? leaf : layer, part) < (int)size) return true;
    lazy_error(src, XT_INVALID_ARGUMENT, "%s: the name %s is too long", what, *leaf ? leaf : layer);
    return false;
}

/* |v| for each index of dim 0. */
static void norms(const void *v, xt_dtype dtype, int64_t rows, int64_t width, void *out) {
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0;
        for (int64_t k = i * width; k < (i + 1) * width; k++) {
            double x = dtype == XT_F64 ? ((const double *)v)[k] : (double)((const float *)v)[k];
            sum += x * x;
        }
        if (dtype == XT_F64)
            ((double *)out)[i] = sqrt(sum);
        else
            ((float *)out)[i] = (float)sqrt(sum);
    }
}

/* g begins as |v|, unless a file has a value for it. */
static xt_status begin_g(xt_module *m, const char *name, xt_tensor v, const ir_type *type) {
    const ir_type *t = lazy_type(v);
    if (!t || (t->dtype != XT_F32 && t->dtype != XT_F64) ||
        (m->root->loaded && map_get(m->root->loaded, name, strlen(name))))
        return NULL;
    size_t n = ir_type_bytes(t);
    void *data = base_malloc(n ? n : 1), *g = base_calloc(1, ir_type_bytes(type) + 1);
    xt_status s = data && g ? lazy_state_read(v, data, n) : status_oom(n, name);
    if (!s) {
        norms(data, t->dtype, t->dims[0], t->dims[0] ? t->count / t->dims[0] : 0, g);
        s = nn_preload(m, name, type, g);
    }
    base_free(data);
    base_free(g);
    return s;
}

xt_tensor nn_weight_normed(const xt_src *src, xt_module *m, const char *layer, const char *leaf, nn_init init, double a,
                           xt_dtype dtype, int rank, const int64_t *dims) {
    char names[2][96];
    int64_t ones[XT_MAX_RANK + 1] = {dims[0]}, flat[XT_MAX_RANK + 1] = {dims[0], -1};
    for (int i = 1; i < rank; i++) ones[i] = 1;
    const char *const parts[2] = {"original0", "original1"}, *owner = layer;
    for (int i = 0; i < 2; i++)
        if (!nn_parametrization(src, "xt_weight_norm", layer, leaf, parts[i], names[i], sizeof names[i], &owner))
            return lazy_failed_tensor(src);
    layer = owner;
    xt_tensor v = nn_tensor(src, m, layer, names[1], true, init, a, dtype, rank, dims);
    char *full = nn_full_name(m, layer, names[0]);
    const ir_type *type = ir_tensor(dtype, (size_t)rank, ones);
    xt_status s = !full || !type                        ? status_oom(sizeof *type, names[0])
                  : xt_is_none(xt_module_find(m, full)) ? begin_g(m, full, v, type)
                                                        : NULL;
    base_free(full);
    if (s) {
        lazy_fail(status_at(s, src));
        return lazy_failed_tensor(src);
    }
    xt_tensor g = nn_tensor(src, m, layer, names[0], true, NN_ONES, 0, dtype, rank, ones);
    xt_tensor size = xt_sqrt_at(src, xt_sum_axis_at(src, xt_square_at(src, xt_reshape_at(src, v, flat)), 1));
    return xt_mul_at(src, v, xt_div_at(src, g, xt_reshape_at(src, size, ones)));
}
