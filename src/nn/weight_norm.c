/* Weights made of other parameters in each pass, by pattern, with the names that torch.nn.utils.parametrizations gives
 * them: where a layer asks for such a parameter it gets
 *  - g v / |v|: weight normalisation (Salimans and Kingma 2016);
 *  - W / sigma: spectral normalisation (Miyato et al. 2018). u and v are moved on by the power method in training
 *    passes, without gradients, and sigma = u W v. A parameter of one dim is divided by its norm. */
#include <math.h>

#include "nn/nn.h"
#include "ops/ops.h"

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
        if (!e->is_param || e->waits || !nn_matches(w.pattern, e->name)) continue;
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
        bool makes =
            w->what == NN_WISH_WEIGHT_NORM || w->what == NN_WISH_SPECTRAL_NORM || w->what == NN_WISH_ORTHOGONAL;
        if (makes && nn_matches(w->pattern, name)) return w;
    }
    return NULL;
}

xt_tensor nn_made_of_others(const xt_src *src, const nn_root *r, const char *name, const nn_wish *w) {
    const char *leaf = strrchr(name, '.');
    const char *part = w->what == NN_WISH_WEIGHT_NORM ? "original1" : "original";
    int layer = leaf ? (int)(leaf - name + 1) : 0;
    char at[256];
    return lazy_error(src, XT_FAILED_PRECONDITION,
                      "%s is in %s, and %s at %s makes it of others, which the file does not have: leave that call "
                      "out%s, or %sload it "
                      "as one of them, xt_load_with(m, path, .rename = \"%s=%.*sparametrizations.%s.%s\")",
                      name, r->loaded_path ? r->loaded_path : "what was loaded", nn_wish_function(w),
                      src_text(w->src, at, sizeof at), r->resumed ? " of a fit that goes on" : "",
                      r->resumed ? "begin one without resume and " : "", name, layer, name, name + layer, part);
}

bool nn_parametrization(const xt_src *src, const char *what, const char *layer, const char *leaf, const char *part,
                        char *name, size_t size, const char **out_layer) {
    *out_layer = *leaf ? layer : "";
    if (snprintf(name, size, "parametrizations.%s.%s", *leaf ? leaf : layer, part) < (int)size) return true;
    lazy_error(src, XT_INVALID_ARGUMENT, "%s: the name %s is too long", what, *leaf ? leaf : layer);
    return false;
}

bool nn_weight_of(const char *name, char *out, size_t size) {
    static const char inside[] = "parametrizations.", mark[] = ".original";
    const char *at = strstr(name, inside), *leaf = at ? at + sizeof inside - 1 : NULL,
               *tail = leaf ? strstr(leaf, mark) : NULL;
    if (!tail || (strcmp(tail, mark) != 0 && strcmp(tail + sizeof mark - 1, "1") != 0)) return false;
    return snprintf(out, size, "%.*s%.*s", (int)(at - name), name, (int)(tail - leaf), leaf) < (int)size;
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

/* g begins as |v|, unless it is there or a file has a value for it. */
static xt_status begin_g(nn_root *r, const char *name, xt_tensor v, const ir_type *type) {
    const ir_type *t = lazy_type(v);
    if (!t || (t->dtype != XT_F32 && t->dtype != XT_F64) || !nn_is_new(r, name)) return NULL;
    size_t n = ir_type_bytes(t);
    void *data = base_malloc(n ? n : 1), *g = base_calloc(1, ir_type_bytes(type) + 1);
    xt_status s = data && g ? lazy_state_read(v, data, n) : status_oom(n, name);
    if (!s) {
        norms(data, t->dtype, t->dims[0], t->dims[0] ? t->count / t->dims[0] : 0, g);
        s = nn_preload(r, name, type, g);
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
    xt_status s = full && type ? begin_g(m->root, full, v, type) : status_oom(sizeof *type, names[0]);
    base_free(full);
    if (s) {
        lazy_fail(status_at(s, src));
        return lazy_failed_tensor(src);
    }
    xt_tensor g = nn_tensor(src, m, layer, names[0], true, NN_ONES, 0, dtype, rank, ones);
    xt_tensor size = xt_sqrt_at(src, xt_sum_axis_at(src, xt_square_at(src, xt_reshape_at(src, v, flat)), 1));
    return xt_mul_at(src, v, xt_div_at(src, g, xt_reshape_at(src, size, ones)));
}

/* --- spectral normalisation --- */
enum { FIRST_ITERATIONS = 15 };

bool xt_spectral_norm_at(const xt_src *src, xt_module *m, const char *pattern, xt_spectral_norm_opts o) {
    if (o.n_power_iterations < 1 || !(o.eps >= 0) || o.dim < 0) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                             "xt_spectral_norm: .n_power_iterations = %d, .eps = %g, .dim = %d: at least 1, 0 and 0",
                             o.n_power_iterations, o.eps, o.dim));
        return false;
    }
    return nn_wish_parametrized("xt_spectral_norm", m, pattern,
                                (nn_wish){.src = src_intern(src), .what = NN_WISH_SPECTRAL_NORM, .spectral = o});
}

/* --- first values: random directions, and 15 rounds of the power method, as PyTorch begins --- */
static double element(const void *w, xt_dtype dtype, size_t i) {
    return dtype == XT_F64 ? ((const double *)w)[i] : (double)((const float *)w)[i];
}

typedef struct matrix { /* W as [rows,columns]: dim `dim` in front */
    const void *w;
    const ir_type *type;
    int64_t rows, columns, inner; /* inner: elements behind the dim */
} matrix;

static double at(const matrix *m, int64_t row, int64_t column) {
    int64_t outer = column / m->inner, rest = column % m->inner;
    return element(m->w, m->type->dtype, (size_t)((outer * m->rows + row) * m->inner + rest));
}

static void normalized(double *x, int64_t n, double eps) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    double size = sqrt(sum) > eps ? sqrt(sum) : eps;
    for (int64_t i = 0; i < n; i++) x[i] /= size;
}

static void rounds(const matrix *m, double *u, double *v, double eps) {
    for (int k = 0; k < FIRST_ITERATIONS; k++) {
        for (int64_t i = 0; i < m->rows; i++) {
            u[i] = 0;
            for (int64_t j = 0; j < m->columns; j++) u[i] += at(m, i, j) * v[j];
        }
        normalized(u, m->rows, eps);
        for (int64_t j = 0; j < m->columns; j++) v[j] = 0;
        for (int64_t i = 0; i < m->rows; i++)
            for (int64_t j = 0; j < m->columns; j++) v[j] += at(m, i, j) * u[i];
        normalized(v, m->columns, eps);
    }
}

static xt_status preload(nn_root *r, const char *name, const ir_type *type, const double *x) {
    void *data = base_malloc(ir_type_bytes(type) + 1);
    if (!data) return status_oom(ir_type_bytes(type), name);
    for (int64_t i = 0; i < type->count; i++) {
        if (type->dtype == XT_F64)
            ((double *)data)[i] = x[i];
        else
            ((float *)data)[i] = (float)x[i];
    }
    xt_status s = nn_preload(r, name, type, data);
    base_free(data);
    return s;
}

/* u and v begin so, unless they are there or a file has them. */
static xt_status begin(nn_root *root, xt_tensor w, const int64_t sizes[2], int dim, char *const names[2], double eps) {
    const ir_type *t = lazy_type(w);
    if (!t || (t->dtype != XT_F32 && t->dtype != XT_F64) || !nn_is_new(root, names[0]) || !nn_is_new(root, names[1]))
        return NULL;
    matrix x = {.type = t, .rows = sizes[0], .columns = sizes[1], .inner = 1};
    for (uint32_t i = (uint32_t)dim + 1; i < t->rank; i++) x.inner *= t->dims[i];
    void *data = base_malloc(ir_type_bytes(t) + 1);
    double *both = base_calloc((size_t)(sizes[0] + sizes[1]) + 1, sizeof *both), *v = both + sizes[0];
    xt_status s = data && both ? lazy_state_read(w, data, ir_type_bytes(t)) : status_oom(ir_type_bytes(t), names[0]);
    x.w = data;
    for (int k = 0; k < 2 && !s; k++) {
        void *first = NULL;
        nn_recipe r = {NN_NORMAL, .a = 1};
        s = nn_first_value(names[k], &r, ir_tensor(XT_F64, 1, &sizes[k]), &first);
        if (first) memcpy(k ? v : both, first, (size_t)sizes[k] * sizeof *v);
        if (!s) normalized(k ? v : both, sizes[k], eps);
        base_free(first);
    }
    if (!s) rounds(&x, both, v, eps);
    for (int k = 0; k < 2 && !s; k++) s = preload(root, names[k], ir_tensor(t->dtype, 1, &sizes[k]), k ? v : both);
    base_free(data);
    base_free(both);
    return s;
}

/* --- in a pass --- */
static xt_tensor unit(const xt_src *src, xt_tensor x, double eps) {
    return xt_normalize_at(src, x, 0, XT_OPTS(xt_normalize_opts, .eps = eps));
}

/* The vectors moved on, which the state keeps for the next pass. */
static void move_on(const xt_src *src, xt_tensor matrix_of, xt_tensor *u, xt_tensor *v,
                    const xt_spectral_norm_opts *o) {
    xt_tensor next[2] = {*u, *v};
    xt_no_grad_begin();
    xt_tensor turned = xt_transpose_at(src, matrix_of, 0, 1);
    for (int i = 0; i < o->n_power_iterations; i++) {
        next[0] = unit(src, xt_matmul_at(src, matrix_of, next[1]), o->eps);
        next[1] = unit(src, xt_matmul_at(src, turned, next[0]), o->eps);
    }
    lazy_begin(src);
    lazy_assign(*u, next[0]);
    lazy_assign(*v, next[1]);
    xt_no_grad_end_at(src);
    *u = next[0];
    *v = next[1];
}

/* The dim of the rows in front, the others as one. */
static xt_tensor as_matrix(const xt_src *src, xt_tensor w, int dim, int64_t rows) {
    int64_t dims[XT_MAX_RANK + 1] = {rows, -1};
    return xt_reshape_at(src, xt_movedim_at(src, w, (xt_list){1, {dim}}, (xt_list){1, {0}}), dims);
}

xt_tensor nn_spectral_normed(const xt_src *src, xt_module *m, const char *layer, const char *leaf, nn_init init,
                             double a, xt_dtype dtype, int rank, const int64_t *dims, const xt_spectral_norm_opts *o) {
    static const char *const what = "xt_spectral_norm", *const parts[3] = {"original", "0._u", "0._v"};
    char names[3][96];
    const char *owner = layer;
    for (int i = 0; i < 3; i++)
        if (!nn_parametrization(src, what, layer, leaf, parts[i], names[i], sizeof names[i], &owner))
            return lazy_failed_tensor(src);
    if (o->dim >= rank)
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: %s has %d dims: .dim = %d is none of them", what,
                          *leaf ? leaf : layer, rank, o->dim);
    xt_tensor w = nn_tensor(src, m, owner, names[0], true, init, a, dtype, rank, dims);
    if (rank == 1) return unit(src, w, o->eps);
    int64_t sizes[2] = {dims[o->dim], 1};
    for (int i = 0; i < rank; i++)
        if (i != o->dim) sizes[1] *= dims[i];
    char *full[2] = {nn_full_name(m, owner, names[1]), nn_full_name(m, owner, names[2])};
    xt_status s = full[0] && full[1] ? begin(m->root, w, sizes, o->dim, full, o->eps) : status_oom(sizeof names, what);
    base_free(full[0]);
    base_free(full[1]);
    if (s) {
        lazy_fail(status_at(s, src));
        return lazy_failed_tensor(src);
    }
    xt_tensor u = nn_tensor(src, m, owner, names[1], false, NN_ZEROS, 0, dtype, 1, &sizes[0]);
    xt_tensor v = nn_tensor(src, m, owner, names[2], false, NN_ZEROS, 0, dtype, 1, &sizes[1]);
    xt_tensor matrix_of = as_matrix(src, w, o->dim, sizes[0]);
    if (nn_is_training(m, owner) && nn_tracks(m)) move_on(src, matrix_of, &u, &v, o);
    xt_tensor sigma =
        xt_sum_at(src, xt_mul_at(src, xt_detach_at(src, u), xt_matmul_at(src, matrix_of, xt_detach_at(src, v))));
    return xt_div_at(src, w, sigma);
}
