/* Max pooling over windows that are not a grid: adaptive ones with their indices, and fractional ones, whose places are
 * drawn. Each dim's windows are lists of positions ([O,K]; a shorter window says its last position again, which changes
 * no maximum and no first place), along which the elements are gathered, dim after dim; not along a dim whose windows
 * are all of it in its order. */
#include "ops/ops.h"

typedef struct picked {
    char what[48];
    int n;
    int64_t batch[2]; /* N, C */
    int64_t in[OPS_SPATIAL], out[OPS_SPATIAL], kernel[OPS_SPATIAL];
    xt_tensor at[OPS_SPATIAL]; /* i64 [1,1,O,K], or [N,C,O,K] */
    int64_t own[2]; /* dims of `at` in front: 1 and 1, or N and C */
    bool in_order[OPS_SPATIAL]; /* the dim's windows lie one behind the other and are all of it */
} picked;

/* Dim i of x, [N,C,..,L,..], becomes O*K positions. */
static xt_tensor gather(const xt_src *src, const picked *p, xt_tensor x, int i) {
    const ir_type *t = lazy_type(x);
    int64_t dims[XT_MAX_RANK + 1] = {0}, small[XT_MAX_RANK + 1] = {0};
    if (!t || p->in_order[i]) return x;
    for (uint32_t d = 0; d < t->rank; d++) {
        dims[d] = t->dims[d];
        small[d] = d < 2 ? p->own[d] : 1;
    }
    dims[i + 2] = small[i + 2] = p->out[i] * p->kernel[i];
    xt_tensor at = xt_broadcast_to_at(src, xt_reshape_at(src, p->at[i], small), dims);
    return xt_take_along_axis_at(src, x, at, i + 2);
}

/* [N,C,O1*K1,O2*K2,..] -> [N,C,O1,O2,..,K1*K2*..] */
static xt_tensor side_by_side(const xt_src *src, const picked *p, xt_tensor x) {
    int64_t apart[XT_MAX_RANK + 1] = {p->batch[0], p->batch[1]}, flat[XT_MAX_RANK + 1] = {p->batch[0], p->batch[1]};
    int perm[XT_MAX_RANK] = {0, 1};
    int64_t places = 1;
    for (int i = 0; i < p->n; i++) {
        apart[2 + 2 * i] = flat[2 + i] = p->out[i];
        apart[3 + 2 * i] = p->kernel[i];
        perm[2 + i] = 2 + 2 * i;
        perm[2 + p->n + i] = 3 + 2 * i;
        places *= p->kernel[i];
    }
    flat[2 + p->n] = places;
    return xt_reshape_at(src, xt_permute_at(src, xt_reshape_at(src, x, apart), 2 + 2 * p->n, perm), flat);
}

/* Flat positions of all places of all windows: [N,C,O1,..,K1*..]. */
static xt_tensor positions(const xt_src *src, const picked *p) {
    xt_tensor sum = {0};
    int64_t stride = 1, dims[XT_MAX_RANK + 1] = {p->batch[0], p->batch[1]},
            flat[XT_MAX_RANK + 1] = {p->batch[0], p->batch[1]};
    int64_t places = 1;
    for (int i = p->n - 1; i >= 0; i--) {
        int64_t small[XT_MAX_RANK + 1] = {p->own[0], p->own[1]};
        for (int k = 0; k < p->n; k++) small[2 + k] = small[2 + p->n + k] = 1;
        small[2 + i] = dims[2 + i] = flat[2 + i] = p->out[i];
        small[2 + p->n + i] = dims[2 + p->n + i] = p->kernel[i];
        xt_tensor at = xt_mul_scalar_at(src, xt_reshape_at(src, p->at[i], small), (double)stride);
        sum = i == p->n - 1 ? at : xt_add_at(src, sum, at);
        stride *= p->in[i];
        places *= p->kernel[i];
    }
    flat[2 + p->n] = places;
    return xt_reshape_at(src, xt_broadcast_to_at(src, sum, dims), flat);
}

static xt_tensor pick(const xt_src *src, xt_tensor from, xt_tensor place, const picked *p) {
    int64_t dims[XT_MAX_RANK + 1] = {p->batch[0], p->batch[1]};
    for (int i = 0; i < p->n; i++) dims[2 + i] = p->out[i];
    xt_tensor one = xt_take_along_axis_at(src, from, xt_unsqueeze_at(src, place, -1), p->n + 2);
    return xt_reshape_at(src, one, dims);
}

static xt_tensor unbatch(const xt_src *src, xt_tensor x, const picked *p) {
    return xt_reshape_at(
        src, x, (int64_t[XT_MAX_RANK + 1]){p->batch[1], p->out[0], p->n > 1 ? p->out[1] : 0, p->n > 2 ? p->out[2] : 0});
}

/* x [N,C,...]; added: its N was. */
static xt_tensor pool(const xt_src *src, const picked *p, xt_tensor x, bool added, xt_tensor *out_indices) {
    for (int i = 0; i < p->n; i++) x = gather(src, p, x, i);
    x = side_by_side(src, p, x);
    xt_tensor place = xt_argmax_at(src, x, p->n + 2), y = pick(src, x, place, p);
    if (out_indices) {
        xt_tensor at = positions(src, p);
        *out_indices = pick(src, at, place, p);
        if (added) *out_indices = unbatch(src, *out_indices, p);
    }
    return added ? unbatch(src, y, p) : y;
}

/* Looks at x and takes its sizes; false after an error, which is *x then. */
static bool begin(const xt_src *src, const char *front, const char *behind, int n, xt_tensor *x, bool *added,
                  picked *p) {
    const ir_type *t = lazy_type(*x);
    ops_text sx;
    *p = (picked){.n = n, .own = {1, 1}};
    snprintf(p->what, sizeof p->what, "%s%dd%s", front, n, behind);
    if (!t) return false;
    *added = (int)t->rank == n + 1;
    if (n < 1 || n > OPS_SPATIAL || !ir_dtype_is_float(t->dtype) || ((int)t->rank != n + 2 && !*added)) {
        *x = lazy_error(src, XT_INVALID_ARGUMENT, "%s: x is %s %s; floats [N,C,...] with %d dims behind C are needed",
                        p->what, xt_dtype_name(t->dtype), ops_shape(t, &sx), n);
        return false;
    }
    const int64_t *dims = t->dims + !*added;
    p->batch[0] = *added ? 1 : t->dims[0];
    p->batch[1] = dims[0];
    for (int i = 0; i < n; i++) p->in[i] = dims[i + 1];
    if (*added) *x = xt_unsqueeze_at(src, *x, 0);
    return true;
}

static xt_tensor bad_size(const xt_src *src, const picked *p, int i) {
    return lazy_error(
        src, XT_INVALID_ARGUMENT,
        "%s: %lld outputs of windows of %lld along a dim of %lld; each window must lie in it, and at least "
        "one output is needed",
        p->what, (long long)p->out[i], (long long)p->kernel[i], (long long)p->in[i]);
}

/* Output i of O covers floor(i*L/O) up to ceil((i+1)*L/O). */
static xt_tensor adaptive_windows(const xt_src *src, int64_t in, int64_t out, int64_t *out_kernel) {
    int64_t most = 0;
    for (int64_t i = 0; i < out; i++) {
        int64_t size = ((i + 1) * in + out - 1) / out - i * in / out;
        if (size > most) most = size;
    }
    int64_t *at = base_malloc((size_t)(out * most) * sizeof *at);
    if (!at) {
        lazy_fail(status_oom((size_t)(out * most) * 8, "the windows of a pool"));
        return (xt_tensor){0};
    }
    for (int64_t i = 0; i < out; i++) {
        int64_t from = i * in / out, to = ((i + 1) * in + out - 1) / out;
        for (int64_t k = 0; k < most; k++) at[i * most + k] = from + k < to ? from + k : to - 1;
    }
    xt_tensor t = xt_from_data_at(src, at, XT_I64, 2, (int64_t[]){out, most});
    base_free(at);
    *out_kernel = most;
    return t;
}

xt_tensor xt_adaptive_max_pool_with_indices_at(const xt_src *src, int n_spatial, xt_tensor x, xt_tensor *out_indices,
                                               const int64_t *sizes) {
    picked p;
    bool added;
    lazy_begin(src);
    if (out_indices) *out_indices = (xt_tensor){0};
    if (!begin(src, "xt_adaptive_max_pool", "_with_indices", n_spatial, &x, &added, &p)) return x;
    for (int i = 0; i < n_spatial; i++) {
        p.out[i] = ops_given(i < ops_rank(sizes) ? sizes[i] : sizes[0]);
        if (p.out[i] == -1) p.out[i] = p.in[i];
        p.kernel[i] = 1;
        if (p.out[i] < 1 || p.in[i] < 1) return bad_size(src, &p, i);
        p.at[i] = adaptive_windows(src, p.in[i], p.out[i], &p.kernel[i]);
        p.in_order[i] = p.in[i] % p.out[i] == 0;
    }
    return pool(src, &p, x, added, out_indices);
}

/* Where windows begin along dim i, of the samples s [N,C]: floor((k + s) a) - floor(s a), the last one at the end; and
 * all places of them, [N,C,O,K]. */
static xt_tensor fractional_windows(const xt_src *src, const picked *p, int i, xt_tensor s) {
    int64_t out = p->out[i], last = p->in[i] - p->kernel[i], column[XT_MAX_RANK + 1] = {p->batch[0], p->batch[1], 1};
    int64_t all[XT_MAX_RANK + 1] = {p->batch[0], p->batch[1], out, p->kernel[i]}, own[XT_MAX_RANK + 1] = {1, 1, out};
    xt_dtype t = xt_dtype_of(s);
    double a = out > 1 ? (double)last / (double)(out - 1) : 0;
    if (t == XT_F32) a = (double)((float)last / (float)(out > 1 ? out - 1 : 1));
    xt_tensor k = xt_reshape_at(src, xt_arange_at(src, out, t), own), at = xt_reshape_at(src, s, column);
    xt_tensor moved = xt_floor_at(src, xt_mul_scalar_at(src, xt_add_at(src, k, at), a));
    xt_tensor from = xt_sub__at(src, moved, xt_floor_at(src, xt_mul_scalar_at(src, at, a)));
    xt_tensor is_last = xt_ge_at(src, k, xt_full_at(src, (double)(out - 1), t, (int64_t[]){0}));
    from = xt_where_at(src, is_last, xt_full_at(src, (double)last, t, (int64_t[]){0}), from);
    from = xt_unsqueeze_at(src, xt_cast_at(src, from, XT_I64), -1);
    xt_tensor places = xt_arange_at(src, p->kernel[i], XT_I64);
    return xt_broadcast_to_at(src, xt_add_at(src, from, places), all);
}

xt_tensor xt_fractional_max_pool_at(const xt_src *src, int n_spatial, xt_tensor x, int kernel, xt_tensor *out_indices,
                                    xt_fractional_opts o) {
    picked p;
    bool added;
    lazy_begin(src);
    if (out_indices) *out_indices = (xt_tensor){0};
    if (!begin(src, "xt_fractional_max_pool", "", n_spatial, &x, &added, &p)) return x;
    if ((o.sizes[0] != 0) == (o.ratio != 0) || o.ratio < 0 || o.ratio >= 1)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: .sizes begin with %lld and .ratio is %g; one of the two is needed, a ratio in (0,1)",
                          p.what, (long long)o.sizes[0], o.ratio);
    for (int i = 0; i < n_spatial; i++) {
        p.kernel[i] = ops_per_dim(kernel, o.kernels, i);
        p.out[i] = o.ratio > 0 ? (int64_t)((double)p.in[i] * o.ratio) : o.sizes[i] ? o.sizes[i] : o.sizes[0];
        if (p.kernel[i] < 1 || p.out[i] < 1 || p.out[i] + p.kernel[i] - 1 > p.in[i]) return bad_size(src, &p, i);
    }
    int64_t dims[XT_MAX_RANK + 1] = {p.batch[0], p.batch[1], n_spatial};
    xt_tensor s = xt_is_none(o.samples) ? xt_rand_at(src, XT_F32, dims) : o.samples;
    const ir_type *ts = lazy_type(s);
    ops_text found;
    if (!ts) return s;
    if (ts->rank != 3 || memcmp(ts->dims, dims, 3 * sizeof *dims) != 0 || (ts->dtype != XT_F32 && ts->dtype != XT_F64))
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: .samples are %s %s; f32 or f64 [%lld,%lld,%d] is needed",
                          p.what, xt_dtype_name(ts->dtype), ops_shape(ts, &found), (long long)dims[0],
                          (long long)dims[1], n_spatial);
    memcpy(p.own, p.batch, sizeof p.own);
    for (int i = 0; i < n_spatial; i++) {
        int column = n_spatial == 2 ? 1 - i : i; /* PyTorch's: of two dims the last comes first */
        p.at[i] = fractional_windows(src, &p, i, xt_slice_at(src, s, 2, column, column + 1));
    }
    return pool(src, &p, x, added, out_indices);
}
