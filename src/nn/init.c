/* How parameters begin. Every element depends on the run's seed, the parameter's name and the element's index only, so
 * the values are the same whatever is made first, on every rank and device, and however many threads draw them. The
 * formulas are those of torch.nn.init. */
#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include "nn/nn.h"
#include "base/cpus.h"

/* --- drawing --- */
enum { DRAW_THREADS = 8, DRAW_PIECE = 1 << 18, TRUNCATED_TRIES = 1000 };
typedef struct draw {
    float *v;
    int64_t from, to, width; /* of a row */
    uint64_t seed, stream;
    nn_recipe r;
} draw;

/* A normal number between the bounds: the first of a row of draws that falls there. */
static float truncated(const draw *d, uint64_t i) {
    double v = 0;
    for (uint64_t k = 0; k < TRUNCATED_TRIES; k++) {
        v = d->r.mean + d->r.a * rng_normal(d->seed, d->stream + k * 0x9E3779B97F4A7C15u, i);
        if (v >= d->r.low && v <= d->r.high) return (float)v;
    }
    return (float)fmin(fmax(v, d->r.low), d->r.high); /* bounds so far out that hardly anything falls between them */
}

static void *draw_piece(void *p) {
    const draw *d = p;
    float *v = d->v + d->from, mean = (float)d->r.mean, a = (float)d->r.a;
    /* of an embedding: the row of zeros, where a is not negative */
    int64_t n = d->to - d->from, row = (int64_t)d->r.a * d->width - d->from;
    switch (d->r.kind) {
    case NN_UNIFORM:
        rng_fill_uniform(d->seed, d->stream, (uint64_t)d->from, (size_t)n, v);
        for (int64_t i = 0; i < n; i++) v[i] = mean + a * (2 * v[i] - 1);
        break;
    case NN_ORTHOGONAL:
    case NN_ORTHOGONAL_EACH:
    case NN_NORMAL:
        rng_fill_normal(d->seed, d->stream, (uint64_t)d->from, (size_t)n, v);
        for (int64_t i = 0; i < n; i++) v[i] = mean + a * v[i];
        break;
    case NN_EMBEDDING:
        rng_fill_normal(d->seed, d->stream, (uint64_t)d->from, (size_t)n, v);
        for (int64_t i = row < 0 ? 0 : row; d->r.a >= 0 && i < row + d->width && i < n; i++) v[i] = 0;
        break;
    case NN_TRUNCATED:
        for (int64_t i = 0; i < n; i++) v[i] = truncated(d, (uint64_t)(d->from + i));
        break;
    case NN_EYE: /* these are made as a whole: draw_f32 */
    case NN_DIRAC:
    case NN_SPARSE: break;
    case NN_ZEROS:
    case NN_ONES:
    case NN_CONSTANT:
        for (int64_t i = 0; i < n; i++) v[i] = d->r.kind == NN_CONSTANT ? a : d->r.kind == NN_ONES ? 1.0f : 0.0f;
        break;
    }
    return NULL;
}

static void draw_all(const char *name, const nn_recipe *r, uint64_t seed, int64_t n, int64_t width, float *v) {
    counter_add(COUNTER_parameters_drawn, 1);
    uint64_t stream = hash_bytes(name, strlen(name), (hash128){0, 0}).lo;
    long cores = cpus_count();
    int64_t pieces = n / DRAW_PIECE + 1, most = cores < 1 ? 1 : cores > DRAW_THREADS ? DRAW_THREADS : cores;
    if (pieces > most) pieces = most;
    draw d[DRAW_THREADS];
    pthread_t threads[DRAW_THREADS];
    bool running[DRAW_THREADS] = {false};
    for (int64_t k = 0; k < pieces; k++) {
        d[k] = (draw){v, n * k / pieces, n * (k + 1) / pieces, width, seed, stream, *r};
        running[k] = k > 0 && cpus_start(&threads[k], "a thread that draws parameters", draw_piece, &d[k]) == 0;
    }
    for (int64_t k = 0; k < pieces; k++)
        if (!running[k]) draw_piece(&d[k]);
    for (int64_t k = 0; k < pieces; k++)
        if (running[k]) pthread_join(threads[k], NULL);
}

static int64_t row_length(const ir_type *t) {
    return t->rank ? t->dims[t->rank - 1] : 1;
}

/* Takes from row v what lies along row u (of length 1); gives how much that was. */
static void remove_part(double *v, const double *u, int64_t n) {
    double dot = 0;
    for (int64_t i = 0; i < n; i++) dot += v[i] * u[i];
    for (int64_t i = 0; i < n; i++) v[i] -= dot * u[i];
}

/* Rows of normal numbers made orthonormal by Gram and Schmidt's process, done twice for the rounding (Saxe et al. 2014;
 * a QR factorisation with a positive diagonal gives the same). v: [rows,cols], or its columns when there are more rows
 * than columns. */
static bool make_orthogonal(float *v, int64_t rows, int64_t cols, double gain) {
    bool tall = rows > cols;
    int64_t k = tall ? cols : rows, n = tall ? rows : cols;
    double *q = base_malloc((size_t)k * (size_t)n * sizeof *q);
    if (!q) return false;
    for (int64_t i = 0; i < k; i++) {
        double *row = q + i * n, length = 0;
        for (int64_t j = 0; j < n; j++) row[j] = tall ? v[j * cols + i] : v[i * cols + j];
        for (int pass = 0; pass < 2; pass++)
            for (int64_t j = 0; j < i; j++) remove_part(row, q + j * n, n);
        for (int64_t j = 0; j < n; j++) length += row[j] * row[j];
        for (int64_t j = 0; j < n; j++) row[j] /= sqrt(length);
        for (int64_t j = 0; j < n; j++) v[tall ? j * cols + i : i * cols + j] = (float)(gain * row[j]);
    }
    base_free(q);
    return true;
}

/* Kernels [out,in,...] that give the input back: a 1 in the middle where the output's number in its group is the
 * input's. */
static void make_dirac(float *v, const ir_type *t, int64_t groups) {
    int64_t outs = t->dims[0] / groups, ins = t->dims[1], covered = 1, middle = 0;
    for (uint32_t i = 2; i < t->rank; i++) {
        middle = middle * t->dims[i] + t->dims[i] / 2;
        covered *= t->dims[i];
    }
    memset(v, 0, (size_t)t->count * sizeof *v);
    for (int64_t o = 0; o < outs * groups && t->count; o++)
        if (o % outs < ins) v[(o * ins + o % outs) * covered + middle] = 1;
}

/* In each column a share of the rows, drawn anew for it, becomes 0. */
static bool make_sparse(const char *name, uint64_t seed, float *v, int64_t rows, int64_t cols, double share) {
    int64_t zeros = (int64_t)ceil(share * (double)rows), *order = base_malloc(((size_t)rows + 1) * sizeof *order);
    uint64_t stream = hash_bytes(name, strlen(name), (hash128){1, 1}).lo;
    for (int64_t c = 0; order && c < cols; c++) {
        for (int64_t i = 0; i < rows; i++) order[i] = i;
        for (int64_t i = 0; i < zeros && i + 1 < rows; i++) { /* the first ones of a permutation (Fisher and Yates) */
            int64_t at = i + (int64_t)(rng_bits(seed, stream + (uint64_t)c, (uint64_t)i) % (uint64_t)(rows - i)),
                    k = order[i];
            order[i] = order[at];
            order[at] = k;
        }
        for (int64_t i = 0; i < zeros && i < rows; i++) v[order[i] * cols + c] = 0;
    }
    base_free(order);
    return order != NULL;
}

/* All of a tensor as f32. */
static xt_status draw_f32(const char *name, const nn_recipe *r, uint64_t seed, const ir_type *type, float *v) {
    nn_recipe plain = *r;
    bool each = r->kind == NN_ORTHOGONAL_EACH;
    if (r->kind == NN_ORTHOGONAL || each) plain.a = 1;
    if (r->kind == NN_EYE || r->kind == NN_DIRAC) {
        make_dirac(v, type, r->kind == NN_EYE ? 1 : (int64_t)r->a);
        return NULL;
    }
    if (r->kind == NN_SPARSE) {
        plain.kind = NN_NORMAL;
        draw_all(name, &plain, seed, type->count, row_length(type), v);
        return make_sparse(name, seed, v, type->dims[0], type->dims[1], r->low)
                   ? NULL
                   : status_oom((size_t)type->dims[0] * 8, name);
    }
    draw_all(name, &plain, seed, type->count, row_length(type), v);
    if ((r->kind != NN_ORTHOGONAL && !each) || !type->count) return NULL;
    int64_t rows = type->dims[each ? type->rank - 2 : 0], size = each ? rows * type->dims[type->rank - 1] : type->count;
    for (int64_t at = 0; at < type->count; at += size)
        if (!make_orthogonal(v + at, rows, size / rows, r->a)) return status_oom((size_t)size * sizeof(double), name);
    return NULL;
}

/* Other dtypes convert through the one place that knows them all. */
static xt_status draw_into(const char *name, const nn_recipe *r, uint64_t seed, const ir_type *type, void *memory) {
    if (type->dtype == XT_F32) return draw_f32(name, r, seed, type, memory);
    size_t n = (size_t)(type->count ? type->count : 1) * sizeof(float);
    float *v = base_malloc(n);
    array dst = {0};
    xt_status s = v ? draw_f32(name, r, seed, type, v) : status_oom(n, name);
    if (!s && nn_converts_some(XT_F32, type->dtype))
        nn_convert_some(XT_F32, v, type->dtype, memory, type->count);
    else if (!s && !(s = array_new(type, &dst))) {
        for (int64_t i = 0; i < type->count; i++) array_set(&dst, i, v[i]);
        memcpy(memory, dst.data, ir_type_bytes(type));
        array_free(&dst);
    }
    base_free(v);
    return s;
}

xt_status nn_first_value(const char *name, const nn_recipe *r, const ir_type *type, void **out) {
    *out = NULL;
    /* zeros, which is what a rehearsal has for values: a model larger than this host can be planned */
    if (r->kind == NN_ZEROS || rehearsal_on()) return NULL;
    size_t n = ir_type_bytes(type);
    void *v = base_malloc(n ? n : 1);
    xt_status s = v ? draw_into(name, r, lazy_seed(), type, v) : status_oom(n, name);
    if (s)
        base_free(v);
    else
        *out = v;
    return s;
}

/* The numbers are those of the seed that was the run's when the tensor was made. */
typedef struct drawing {
    nn_recipe r;
    uint64_t seed;
    size_t under; /* of a stack: the part of the name that the number of a layer stands behind; 0: no stack */
    char name[];
} drawing;

bool nn_layer_name(const char *name, size_t under, int64_t layer, char *out, size_t n) {
    int k = snprintf(out, n, "%.*s.%lld%s", (int)under, name, (long long)layer, name + under);
    return k > 0 && (size_t)k < n;
}

/* Each layer of a stack as it would begin by itself. */
static xt_status fill_layers(const drawing *d, const ir_type *type, char *memory) {
    const ir_type *one = ir_tensor(type->dtype, type->rank - 1, type->dims + 1);
    char name[1024];
    if (!one) return status_oom(sizeof *one, d->name);
    for (int64_t i = 0; i < type->dims[0]; i++) {
        if (!nn_layer_name(d->name, d->under, i, name, sizeof name))
            return status_new(XT_INVALID_ARGUMENT, NULL, "%s: the name is too long", d->name);
        XT_TRY(draw_into(name, &d->r, d->seed, one, memory + (size_t)i * ir_type_bytes(one)));
    }
    return NULL;
}

static xt_status fill(void *user, const ir_type *type, void *memory) {
    const drawing *d = user;
    return d->under ? fill_layers(d, type, memory) : draw_into(d->name, &d->r, d->seed, type, memory);
}

xt_status nn_draw_source(const char *name, size_t under, const nn_recipe *r, lazy_source *out) {
    size_t n = strlen(name) + 1;
    drawing *d = base_malloc(sizeof *d + n);
    if (!d) return status_oom(sizeof *d + n, name);
    d->r = *r;
    d->seed = lazy_seed();
    d->under = under;
    memcpy(d->name, name, n);
    *out = (lazy_source){fill, base_free, d};
    return NULL;
}

/* --- what the user wants --- */
/* Inputs and outputs of one element: dim 1 and dim 0 of the weight times what the kernel covers. */
static xt_status fans(const char *name, const ir_type *t, double *in, double *out) {
    if (t->rank < 2)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "%s has %u dims; this initialisation counts inputs and outputs, for which a weight of at "
                          "least 2 dims is needed",
                          name, t->rank);
    double covered = 1;
    for (uint32_t i = 2; i < t->rank; i++) covered *= (double)t->dims[i];
    *in = (double)t->dims[1] * covered;
    *out = (double)t->dims[0] * covered;
    return NULL;
}

static xt_status recipe_of(const nn_wish *w, const char *name, const ir_type *t, nn_recipe *out) {
    const xt_init_opts *o = &w->opts;
    double gain = o->gain, in = 1, outputs = 1, std = o->std;
    if (w->kind >= XT_INIT_XAVIER_UNIFORM && w->kind <= XT_INIT_KAIMING_NORMAL) XT_TRY(fans(name, t, &in, &outputs));
    double xavier = gain * sqrt(2 / (in + outputs)),
           kaiming = sqrt(2 / (1 + o->slope * o->slope)) / sqrt(o->fan_out == XT_ON ? outputs : in);
    switch (w->kind) {
    case XT_INIT_CONSTANT: *out = (nn_recipe){NN_CONSTANT, .a = o->value}; break;
    case XT_INIT_UNIFORM:
        *out = (nn_recipe){NN_UNIFORM, .mean = (o->low + o->high) / 2, .a = (o->high - o->low) / 2};
        break;
    case XT_INIT_NORMAL: *out = (nn_recipe){NN_NORMAL, .mean = o->mean, .a = std}; break;
    case XT_INIT_TRUNCATED_NORMAL:
        *out = (nn_recipe){NN_TRUNCATED, .mean = o->mean, .a = std, .low = o->low, .high = o->high};
        break;
    case XT_INIT_XAVIER_UNIFORM: *out = (nn_recipe){NN_UNIFORM, .a = sqrt(3.0) * xavier}; break;
    case XT_INIT_XAVIER_NORMAL: *out = (nn_recipe){NN_NORMAL, .a = xavier}; break;
    case XT_INIT_KAIMING_UNIFORM: *out = (nn_recipe){NN_UNIFORM, .a = sqrt(3.0) * kaiming}; break;
    case XT_INIT_KAIMING_NORMAL: *out = (nn_recipe){NN_NORMAL, .a = kaiming}; break;
    case XT_INIT_EYE:
    case XT_INIT_SPARSE:
        if (t->rank != 2)
            return status_new(XT_INVALID_ARGUMENT, NULL, "%s has %u dims; this initialisation is for matrices", name,
                              t->rank);
        *out = (nn_recipe){w->kind == XT_INIT_EYE ? NN_EYE : NN_SPARSE, .mean = o->mean, .a = std, .low = o->sparsity};
        break;
    case XT_INIT_DIRAC:
        if (t->rank < 3 || t->rank > 5 || o->groups < 1 || t->dims[0] % o->groups)
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "%s has %u dims and %lld outputs; a Dirac kernel has 3 to 5, and outputs that .groups = "
                              "%lld divides",
                              name, t->rank, t->rank ? (long long)t->dims[0] : 1, (long long)o->groups);
        *out = (nn_recipe){NN_DIRAC, .a = (double)o->groups};
        break;
    case XT_INIT_ORTHOGONAL:
        XT_TRY(fans(name, t, &in, &outputs));
        *out = (nn_recipe){NN_ORTHOGONAL, .a = gain};
        break;
    }
    return NULL;
}

/* The last wish that fits the name counts. */
xt_status nn_wished(const nn_root *r, const char *name, const ir_type *type, nn_recipe *recipe, bool *frozen) {
    *frozen = false;
    for (size_t i = 0; i < r->n_wishes; i++) {
        const nn_wish *w = &r->wishes[i];
        if (!nn_matches(w->pattern, name)) continue;
        if (w->what == NN_WISH_INIT)
            XT_TRY(status_at(recipe_of(w, name, type, recipe), src_get(w->src)));
        else if (w->what == NN_WISH_FREEZE || w->what == NN_WISH_THAW)
            *frozen = w->what == NN_WISH_FREEZE;
    }
    return NULL;
}

bool nn_is_frozen(const xt_module *m, const char *name) {
    bool frozen = false;
    for (size_t i = 0; i < m->root->n_wishes; i++) {
        const nn_wish *w = &m->root->wishes[i];
        if ((w->what == NN_WISH_FREEZE || w->what == NN_WISH_THAW) && nn_matches(w->pattern, name))
            frozen = w->what == NN_WISH_FREEZE;
    }
    return frozen;
}

void nn_wishes_free(nn_root *r) {
    for (size_t i = 0; i < r->n_wishes; i++) base_free(r->wishes[i].pattern);
    base_free(r->wishes);
}

/* Field by field: the bytes between fields are anybody's. */
static bool same_opts(const xt_init_opts *a, const xt_init_opts *b) {
    return a->value == b->value && a->mean == b->mean && a->std == b->std && a->low == b->low && a->high == b->high &&
           a->gain == b->gain && a->slope == b->slope && a->fan_out == b->fan_out && a->groups == b->groups &&
           a->sparsity == b->sparsity;
}
static bool same_parametrization(const nn_wish *a, const nn_wish *b) {
    return a->spectral.n_power_iterations == b->spectral.n_power_iterations && a->spectral.eps == b->spectral.eps &&
           a->spectral.dim == b->spectral.dim && a->orthogonal.orthogonal_map == b->orthogonal.orthogonal_map &&
           a->orthogonal.use_trivialization == b->orthogonal.use_trivialization;
}
static bool same_lora(const xt_lora_opts *a, const xt_lora_opts *b) {
    return a->r == b->r && a->alpha == b->alpha && a->dropout == b->dropout && a->rslora == b->rslora;
}

/* Keeps a wish for parameters to come; one that a module function repeats in every pass is kept once. */
/* Of these the last that fits a name counts: said again, it is the newest. */
static bool in_order(const nn_wish *w) {
    return w->what == NN_WISH_INIT || w->what == NN_WISH_FREEZE || w->what == NN_WISH_THAW;
}

static void move_to_end(nn_root *r, size_t i) {
    nn_wish one = r->wishes[i];
    bool checked = i < r->checked_wishes;
    memmove(&r->wishes[i], &r->wishes[i + 1], (r->n_wishes - i - 1) * sizeof one);
    r->wishes[r->n_wishes - 1] = one;
    if (checked && r->checked_wishes < r->n_wishes) r->checked_wishes--;
}

bool nn_keep_wish(nn_root *r, const nn_wish *w) {
    for (size_t i = 0; i < r->n_wishes; i++) {
        const nn_wish *o = &r->wishes[i];
        if (o->what == w->what && o->kind == w->kind && same_opts(&o->opts, &w->opts) &&
            same_lora(&o->lora, &w->lora) && same_parametrization(o, w) && strcmp(o->pattern, w->pattern) == 0) {
            if (in_order(w)) move_to_end(r, i);
            return true;
        }
    }
    nn_wish mine = *w;
    if ((mine.pattern = base_strdup(w->pattern)) && VEC_PUSH(r->wishes, r->n_wishes, r->cap_wishes, mine)) return true;
    base_free(mine.pattern);
    lazy_fail(status_oom(sizeof mine, "a rule for parameters"));
    return false;
}

bool nn_keep_wish_first(nn_root *r, const nn_wish *w) {
    size_t n = r->n_wishes;
    nn_wish mine = *w;
    if (!(mine.pattern = base_strdup(w->pattern)) || !VEC_PUSH(r->wishes, r->n_wishes, r->cap_wishes, mine)) {
        base_free(mine.pattern);
        lazy_fail(status_oom(sizeof mine, "a rule for parameters"));
        return false;
    }
    memmove(&r->wishes[1], &r->wishes[0], n * sizeof mine);
    r->wishes[0] = mine;
    r->checked_wishes++;
    return true;
}

/* A child's patterns are about its own tensors. */
static char *full_pattern(const xt_module *m, const char *pattern) {
    return nn_full_name(m, pattern, "");
}

static xt_status draw_again(const nn_wish *w, const nn_entry *e) {
    nn_recipe recipe;
    void *data;
    size_t n = ir_type_bytes(e->type);
    XT_TRY(recipe_of(w, e->name, e->type, &recipe));
    XT_TRY(nn_first_value(e->name, &recipe, e->type, &data));
    if (!data && !(data = base_calloc(1, n ? n : 1))) return status_oom(n, e->name);
    xt_status s = lazy_state_write(e->t, data, n);
    base_free(data);
    return s;
}

/* What a call leaves out is the kind's. */
static void settle_bounds(xt_init_kind kind, xt_init_opts *o) {
    bool truncated = kind == XT_INIT_TRUNCATED_NORMAL;
    if (o->low == XT_AUTO) o->low = truncated ? -2 : 0;
    if (o->high == XT_AUTO) o->high = truncated ? 2 : 1;
    if (o->std == XT_AUTO) o->std = kind == XT_INIT_SPARSE ? 0.01 : 1;
}

static bool init_fits(const xt_src *src, const xt_init_opts *o) {
    bool fits = o->std >= 0 && o->high >= o->low && isfinite(o->mean) && isfinite(o->value) && isfinite(o->gain) &&
                isfinite(o->slope) && o->sparsity >= 0 && o->sparsity <= 1;
    if (!fits)
        lazy_fail(status_new(
            XT_INVALID_ARGUMENT, src,
            "xt_init: std is %g, low %g, high %g, sparsity %g; std is positive, low at most high, sparsity in "
            "[0,1], all numbers finite",
            o->std, o->low, o->high, o->sparsity));
    return fits;
}

/* --- patterns that fit nothing --- */
enum { NAMES_TOLD = 6 };

/* A switch without a default: a wish that is added without its name does not compile under -Wswitch. */
const char *nn_wish_function(const nn_wish *w) {
    switch (w->what) {
    case NN_WISH_INIT: return "xt_init";
    case NN_WISH_FREEZE: return "xt_freeze";
    case NN_WISH_THAW: return "xt_unfreeze";
    case NN_WISH_WEIGHT_NORM: return "xt_weight_norm";
    case NN_WISH_SPECTRAL_NORM: return "xt_spectral_norm";
    case NN_WISH_ORTHOGONAL: return "xt_orthogonal";
    case NN_WISH_LORA: return "xt_lora";
    }
    return "xt_init";
}

/* Weights that are integers are none of the parameters that a call is about; whether there is any that fits. */
static bool say_integers(const nn_root *r, const nn_wish *w, int others) {
    char at[256], fits[64] = "fits no parameter";
    size_t i = 0;
    while (i < r->n && (!r->entries[i].bits || !nn_matches(w->pattern, r->entries[i].name))) i++;
    if (i == r->n || w->what == NN_WISH_LORA) return false;
    if (w->what == NN_WISH_FREEZE) return true; /* which they are */
    if (others) snprintf(fits, sizeof fits, "fits %d parameter%s", others, others > 1 ? "s" : "");
    log_msg(XT_SEV_WARNING, "%s at %s: \"%s\" %s; %s is integers since xt_quantize%s", nn_wish_function(w),
            src_text(w->src, at, sizeof at), w->pattern, fits, r->entries[i].name,
            w->what == NN_WISH_THAW ? ", which never learn (xt_lora adapts them)" : ": call this before");
    return true;
}

static void say_no_match(const nn_root *r, const nn_wish *w) {
    str names = STR_INIT;
    char at[256];
    if (say_integers(r, w, 0)) return;
    for (size_t i = 0, told = 0; i < r->n && told <= NAMES_TOLD; i++)
        if (r->entries[i].is_param) {
            str_printf(&names, "%s%s", told ? ", " : "", told == NAMES_TOLD ? "..." : r->entries[i].name);
            told++;
        }
    log_msg(XT_SEV_WARNING,
            "%s at %s: no %s name fits \"%s\"; there are %s. It counts for parameters that are made later",
            nn_wish_function(w), src_text(w->src, at, sizeof at),
            w->what == NN_WISH_LORA ? "linear layer's weight has a name that fits; no parameter's" : "parameter's",
            w->pattern, str_cstr(&names));
    str_free(&names);
}

/* A weight that is made of others has the name of none of them. */
static bool fits_made(const nn_wish *w, const char *name) {
    char weight[512];
    bool makes = w->what == NN_WISH_WEIGHT_NORM || w->what == NN_WISH_SPECTRAL_NORM || w->what == NN_WISH_ORTHOGONAL;
    return makes && nn_weight_of(name, weight, sizeof weight) && nn_matches(w->pattern, weight);
}

/* A value that a file has waits for a parameter of that name. */
static bool fits_waiting(const nn_root *r, const nn_wish *w) {
    size_t at = 0, n;
    const void *key;
    void *unused;
    char name[1024];
    while (r->loaded && map_next(r->loaded, &at, &key, &n, &unused)) {
        snprintf(name, sizeof name, "%.*s", (int)n, (const char *)key);
        if (nn_matches(w->pattern, name) || fits_made(w, name)) return true;
    }
    return false;
}

/* Of a network that is there already; of one that is not, its first pass shows it. */
static void say_if_built(nn_root *r, const nn_wish *w) {
    if (!r->n || r->depth) return;
    if (!fits_waiting(r, w)) say_no_match(r, w);
    r->checked_wishes = r->n_wishes;
}

bool nn_lora_adapts(const nn_root *r, const char *weight) {
    static const char leaf[] = "weight";
    size_t n = strlen(weight), k = sizeof leaf - 1;
    str a = STR_INIT;
    if (n < k || strcmp(weight + n - k, leaf) != 0) return false;
    str_printf(&a, "%.*s" NN_LORA_A, (int)(n - k), weight);
    bool there = !a.failed && map_get(r->by_name, str_cstr(&a), a.len) != NULL;
    str_free(&a);
    return there;
}

/* Adapters lie beside integers too. */
static bool fits_entry(const nn_root *r, const nn_wish *w, const nn_entry *e) {
    if (w->what == NN_WISH_LORA)
        return (e->is_param || e->bits) && nn_matches(w->pattern, e->name) && nn_lora_adapts(r, e->name);
    return e->is_param && (nn_matches(w->pattern, e->name) || fits_made(w, e->name));
}

void nn_wishes_check(nn_root *r) {
    if (r->checked_wishes == r->n_wishes || r->depth || !r->n || lazy_pending()) return;
    for (; r->checked_wishes < r->n_wishes; r->checked_wishes++) {
        const nn_wish *w = &r->wishes[r->checked_wishes];
        bool fits = fits_waiting(r, w);
        for (size_t i = 0; i < r->n && !fits; i++) fits = fits_entry(r, w, &r->entries[i]);
        if (!fits && !w->again) say_no_match(r, w);
    }
}

int xt_init_at(const xt_src *src, xt_init_kind kind, xt_module *m, const char *pattern, xt_init_opts o) {
    if (!m || !pattern || (unsigned)kind > XT_INIT_SPARSE) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "xt_init: a module, a pattern and a known kind are needed"));
        return -1;
    }
    settle_bounds(kind, &o);
    if (!init_fits(src, &o)) return -1;
    nn_root *r = m->root;
    nn_wish w = {
        .pattern = full_pattern(m, pattern), .src = src_intern(src), .what = NN_WISH_INIT, .kind = kind, .opts = o};
    int n = 0;
    bool ok = w.pattern && nn_keep_wish(r, &w);
    for (size_t i = 0; ok && !r->depth && i < r->n; i++) {
        const nn_entry *e = &r->entries[i];
        if (!e->is_param || !nn_matches(w.pattern, e->name)) continue;
        xt_status s = e->waits ? NULL : draw_again(&w, e); /* what a file has is never drawn */
        if (s) lazy_fail(status_at(s, src));
        ok = !s;
        n += ok;
    }
    if (ok && !n)
        say_if_built(r, &w);
    else if (ok && !r->depth)
        say_integers(r, &w, n);
    base_free(w.pattern);
    return ok ? n : -1;
}

int xt_freeze_at(const xt_src *src, xt_module *m, const char *pattern, bool frozen) {
    if (!m || !pattern) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "xt_freeze: a module and a pattern are needed"));
        return -1;
    }
    nn_root *r = m->root;
    nn_wish w = {
        .pattern = full_pattern(m, pattern), .src = src_intern(src), .what = frozen ? NN_WISH_FREEZE : NN_WISH_THAW};
    int n = 0;
    bool ok = w.pattern && nn_keep_wish(r, &w), news = false;
    for (size_t i = 0; ok && i < r->n; i++) {
        const nn_entry *e = &r->entries[i];
        if (!e->is_param || !nn_matches(w.pattern, e->name)) continue;
        news |= lazy_train(src, e->t, !frozen);
        n++;
    }
    if (news) lazy_note_freeze(src, nn_wish_function(&w), w.pattern);
    if (ok && !n)
        say_if_built(r, &w);
    else if (ok && !r->depth)
        say_integers(r, &w, n);
    base_free(w.pattern);
    return ok ? n : -1;
}
