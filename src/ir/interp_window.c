/* reduce_window and select_and_scatter.
 *
 * reduce_window: results are made INTERP_CHUNK at a time; for each place in the window one row of the operand
 * elements under it is gathered (padding and holes of the base dilation read as the initial value, as the
 * specification says) and the region combines rows. A window that spans a whole dim with one-sided padding is a
 * running fold (cumulative sum) and costs one combination per element. Sums and products of narrow floats run in f32,
 * running sums of f32 in f64.
 *
 * select_and_scatter: a window's element is chosen from left to right, staying with the one held as long as
 * select(held, next) is true; elements of the padding do not take part. */
/* Before the includes: an inline helper compiled under other rules would take its caller's loop along. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-trapping-math")
#endif

#include "ir/interp_float.h"
#include "ir/interp_reduce.h"

typedef struct window {
    size_t rank;
    const int64_t *in, *out; /* shapes */
    int64_t size[INTERP_MAX_RANK], stride[INTERP_MAX_RANK], low[INTERP_MAX_RANK], high[INTERP_MAX_RANK];
    int64_t base_dilation[INTERP_MAX_RANK], dilation[INTERP_MAX_RANK], in_stride[INTERP_MAX_RANK];
} window;

static void window_init(window *w, const ir_op *op, const ir_type *in, const ir_type *out) {
    size_t n;
    w->rank = in->rank;
    w->in = in->dims;
    w->out = out->dims;
    strides_of(in->rank, in->dims, w->in_stride);
    const int64_t *size = ir_get_ints(op, IR_A_window_dimensions, &n),
                  *stride = ir_get_ints(op, IR_A_window_strides, &n);
    const int64_t *pad = ir_get_ints(op, IR_A_padding, &n), *base = ir_get_ints(op, IR_A_base_dilations, &n);
    const int64_t *dil = ir_get_ints(op, IR_A_window_dilations, &n);
    for (size_t d = 0; d < w->rank; d++) {
        w->size[d] = size ? size[d] : 1;
        w->stride[d] = stride ? stride[d] : 1;
        w->low[d] = pad ? pad[2 * d] : 0;
        w->high[d] = pad ? pad[2 * d + 1] : 0;
        w->base_dilation[d] = base ? base[d] : 1;
        w->dilation[d] = dil ? dil[d] : 1;
    }
}

/* Operand index in dim d under window place k of result index o; false in padding and holes. */
static inline bool window_place(const window *w, size_t d, int64_t o, int64_t k, int64_t *out) {
    int64_t p = o * w->stride[d] + k * w->dilation[d] - w->low[d];
    if (p < 0) return false;
    if (w->base_dilation[d] != 1) {
        if (p % w->base_dilation[d]) return false;
        p /= w->base_dilation[d];
    }
    *out = p;
    return p < w->in[d];
}

/* `n` elements of the result's last dim from `o` on: what lies under place `k` of the last dim, from operand row
 * `x`, into dst. */
static void gather_last(const window *w, const char *x, const void *pad, int64_t o, int64_t n, int64_t k, char *dst,
                        size_t size) {
    size_t d = w->rank - 1;
    int64_t s = w->stride[d], first = o * s + k * w->dilation[d] - w->low[d], one = 1;
    if (w->base_dilation[d] != 1) {
        for (int64_t i = 0; i < n; i++) {
            int64_t p;
            bool inside = window_place(w, d, o + i, k, &p);
            memcpy(dst + (size_t)i * size, inside ? x + (size_t)p * size : pad, size);
        }
        return;
    }
    int64_t lo = first < 0 ? (-first + s - 1) / s : 0; /* first element at a place >= 0 */
    int64_t hi = first >= w->in[d] ? 0 : (w->in[d] - 1 - first) / s + 1; /* one past the last inside */
    if (hi > n) hi = n;
    if (lo >= hi) {
        fill_elems(dst, n, pad, size);
        return;
    }
    if (lo > 0) fill_elems(dst, lo, pad, size);
    int64_t count = hi - lo;
    copy_strided(1, &count, dst + (size_t)lo * size, &one, x + (size_t)(first + lo * s) * size, &s, size);
    if (hi < n) fill_elems(dst + (size_t)hi * size, n - hi, pad, size);
}

/* One row of n results beginning at linear result index `at`, for window place `place`. Rows of the last dim one
 * after the other. */
static void gather_window(const window *w, const array *in, const void *pad, int64_t at, int64_t n,
                          const int64_t *place, char *dst) {
    size_t size = xt_dtype_size(in->type->dtype), last = w->rank - 1;
    int64_t width = w->out[last];
    while (n > 0) {
        int64_t col = at % width, row = at / width, run = width - col < n ? width - col : n, base = 0;
        bool inside = true;
        for (size_t d = last; d-- > 0 && inside;) {
            int64_t p;
            inside = window_place(w, d, row % w->out[d], place[d], &p);
            row /= w->out[d];
            if (inside) base += p * w->in_stride[d];
        }
        if (inside)
            gather_last(w, (const char *)in->data + (size_t)base * size, pad, col, run, place[last], dst, size);
        else
            fill_elems(dst, run, pad, size);
        dst += (size_t)run * size;
        at += run;
        n -= run;
    }
}

static xt_status windows(const window *w, region_eval *r, size_t n, const array *in, const array *init, array *out) {
    size_t row_bytes = INTERP_CHUNK * 16;
    char *rows = NULL;
    /* accumulators, gathered rows: the region's arguments; results = accumulators */
    void **ptrs = base_calloc(3 * n, sizeof *ptrs);
    xt_status s = ptrs ? interp_temp(2 * n, row_bytes, &rows) : status_oom(3 * n * sizeof *ptrs, "a window reduction");
    for (size_t j = 0; j < 2 * n && !s; j++) ptrs[j] = rows + j * row_bytes;
    for (size_t j = 0; j < n && !s; j++) ptrs[2 * n + j] = ptrs[j];
    for (int64_t at = 0; !s && at < out->type->count; at += INTERP_CHUNK) {
        int64_t m = out->type->count - at < INTERP_CHUNK ? out->type->count - at : INTERP_CHUNK,
                place[INTERP_MAX_RANK] = {0};
        for (size_t j = 0; j < n; j++) fill_elems(ptrs[j], m, init[j].data, xt_dtype_size(in[j].type->dtype));
        do {
            for (size_t j = 0; j < n; j++) gather_window(w, &in[j], init[j].data, at, m, place, ptrs[n + j]);
            s = region_eval_run(r, m, (const void *const *)ptrs, ptrs + 2 * n);
        } while (!s && index_next(w->rank, w->size, place));
        for (size_t j = 0; j < n && !s; j++) {
            size_t size = xt_dtype_size(in[j].type->dtype);
            memcpy((char *)out[j].data + (size_t)at * size, ptrs[j], (size_t)m * size);
        }
    }
    base_free(rows);
    base_free(ptrs);
    return s;
}

/* The dim of a running fold, or -1: one window dim as long as the operand, steps of one, padding on one side only. */
static int running_dim(const window *w, bool *out_backwards) {
    int dim = -1;
    for (size_t d = 0; d < w->rank; d++) {
        if (w->stride[d] != 1 || w->base_dilation[d] != 1 || w->dilation[d] != 1) return -1;
        if (w->size[d] == 1 && !w->low[d] && !w->high[d]) continue;
        bool forwards = w->low[d] == w->size[d] - 1 && !w->high[d],
             backwards = w->high[d] == w->size[d] - 1 && !w->low[d];
        if (dim >= 0 || w->size[d] < w->in[d] || (!forwards && !backwards)) return -1;
        dim = (int)d;
        *out_backwards = backwards;
    }
    return dim;
}

/* Padding folds the initial value in again and again: harmless for an idempotent op or an identity. */
static bool init_is_harmless(ir_opcode code, const array *init) {
    if (code == OP_add || code == OP_or || code == OP_xor) return array_get(init, 0) == 0;
    if (code == OP_multiply) return array_get(init, 0) == 1;
    return true;
}

static xt_status running_fold(const fold_kernel *k, int dim, bool backwards, const array *in, const array *init,
                              array *out) {
    const ir_type *t = in->type;
    int64_t inner = 1, outer = 1, n = t->dims[dim];
    for (int d = 0; d < dim; d++) outer *= t->dims[d];
    for (uint32_t d = (uint32_t)dim + 1; d < t->rank; d++) inner *= t->dims[d];
    size_t size = xt_dtype_size(t->dtype), acc_size = xt_dtype_size(k->acc);
    char *acc, *row;
    XT_TRY(interp_temp((size_t)inner, acc_size + xt_dtype_size(k->compute), &acc));
    row = acc + (size_t)inner * acc_size;
    double first;
    convert_elems(1, init->type->dtype, init->data, k->acc, &first);
    for (int64_t o = 0; o < outer; o++) {
        fill_elems(acc, inner, &first, acc_size);
        for (int64_t i = 0; i < n; i++) {
            size_t at = (size_t)((o * n + (backwards ? n - 1 - i : i)) * inner) * size;
            const void *x = (const char *)in->data + at;
            if (k->compute != t->dtype) {
                convert_elems(inner, t->dtype, x, k->compute, row);
                x = row;
            }
            k->rows(inner, x, acc);
            convert_elems(inner, k->acc, acc, t->dtype, (char *)out->data + at);
        }
    }
    base_free(acc);
    return NULL;
}

enum { LONG_FOLD = 64 };

/* Narrow floats under a known sum or product over a large window: the whole op in f32, rounded once. */
static xt_status windows_in_f32(const window *w, interp *c, ir_opcode code, const array *in, const array *init,
                                array *out) {
    const ir_type *wide = ir_with_dtype(in->type, XT_F32), *wide_out = ir_with_dtype(out->type, XT_F32);
    if (!wide || !wide_out) return status_oom(sizeof *wide, "a window reduction in f32");
    array x = {wide, NULL}, y = {wide_out, NULL}, first = {ir_scalar(XT_F32), NULL};
    region_eval *r = NULL;
    xt_status s = array_new_raw(wide, &x);
    if (!s) s = array_new_raw(wide_out, &y);
    if (!s) s = array_new_raw(first.type, &first);
    if (!s) s = region_eval_new_binary(c, code, XT_F32, &r);
    if (!s) {
        convert_elems(wide->count, in->type->dtype, in->data, XT_F32, x.data);
        convert_elems(1, init->type->dtype, init->data, XT_F32, first.data);
        s = windows(w, r, 1, &x, &first, &y);
    }
    if (!s) convert_elems(wide_out->count, XT_F32, y.data, out->type->dtype, out->data);
    region_eval_free(r);
    array_free(&x);
    array_free(&y);
    array_free(&first);
    return s;
}

static xt_status reduce_window_on(interp *c, const ir_op *op, size_t n, const array *in, const array *init,
                                  array *out) {
    window w;
    window_init(&w, op, in->type, out->type);
    ir_opcode code;
    fold_kernel k;
    bool backwards = false,
         known = n == 1 && region_is_binary(&op->regions[0], &code) && fold_kernel_find(code, in->type->dtype, &k);
    if (w.rank == 0 || out->type->count == 0) { /* one window of one element, or none */
        region_eval *r;
        XT_TRY(region_eval_new(c, op->regions[0].block, 0, NULL, &r));
        const void **args = base_calloc(3 * n, sizeof *args);
        xt_status s = args ? NULL : status_oom(3 * n * sizeof *args, "a window reduction");
        for (size_t j = 0; j < n && !s; j++) {
            args[j] = init[j].data;
            args[n + j] = in[j].data;
            args[2 * n + j] = out[j].data;
        }
        if (!s && out->type->count) s = region_eval_run(r, 1, args, (void *const *)(args + 2 * n));
        base_free(args);
        region_eval_free(r);
        return s;
    }
    int dim = known && init_is_harmless(code, init) ? running_dim(&w, &backwards) : -1;
    if (dim >= 0 && (!ir_dtype_is_float(in->type->dtype) || in->type->dims[dim] > LONG_FOLD))
        return running_fold(&k, dim, backwards, in, init, out);
    int64_t places;
    bool large = dims_count(w.size, w.rank, &places) && places > LONG_FOLD;
    if (large && known && k.compute != in->type->dtype && (code == OP_add || code == OP_multiply))
        return windows_in_f32(&w, c, code, in, init, out);
    region_eval *r;
    XT_TRY(region_eval_new(c, op->regions[0].block, 0, NULL, &r));
    xt_status s = windows(&w, r, n, in, init, out);
    region_eval_free(r);
    return s;
}

xt_status interp_reduce_window(interp *c, const ir_op *op, const array *in, array *out) {
    size_t n = op->n_in / 2;
    array *ops = base_calloc(op->n_in, sizeof *ops), *tmp = NULL;
    if (!ops) return status_oom(op->n_in * sizeof *ops, "a window reduction");
    xt_status s = promote_operands(op, op->n_in, in, ops, &tmp);
    if (!s) s = reduce_window_on(c, op, n, ops, ops + n, out);
    promote_free(tmp);
    base_free(ops);
    return s;
}

/* --- select_and_scatter --- */
typedef struct selection {
    window w;
    int64_t places; /* of a window */
    int64_t *offset; /* of each place from the window's corner, in elements; valid inside the operand */
    int64_t *place; /* [places, rank] */
} selection;

static xt_status selection_init(selection *s, const ir_op *op, const ir_type *in, const ir_type *source) {
    window_init(&s->w, op, in, source);
    size_t rank = s->w.rank;
    if (!dims_count(s->w.size, rank, &s->places)) return status_oom(SIZE_MAX, "a window");
    XT_TRY(interp_temp((size_t)s->places, (rank + 1) * sizeof *s->offset, &s->offset));
    s->place = s->offset + s->places;
    int64_t index[INTERP_MAX_RANK] = {0};
    for (int64_t k = 0; k < s->places; k++) {
        int64_t at = 0;
        for (size_t d = 0; d < rank; d++) {
            at += index[d] * s->w.in_stride[d];
            s->place[(size_t)k * rank + d] = index[d];
        }
        s->offset[k] = at;
        index_next(rank, s->w.size, index);
    }
    return NULL;
}

/* Linear operand index of a window's corner; `out_inside` when all of the window lies in the operand. */
static int64_t window_corner(const window *w, const int64_t *at, bool *out_inside) {
    int64_t corner = 0;
    *out_inside = true;
    for (size_t d = 0; d < w->rank; d++) {
        int64_t p = at[d] * w->stride[d] - w->low[d];
        corner += p * w->in_stride[d];
        *out_inside = *out_inside && p >= 0 && p + w->size[d] <= w->in[d];
    }
    return corner;
}

static bool place_inside(const selection *s, const int64_t *at, int64_t k) {
    for (size_t d = 0; d < s->w.rank; d++) {
        int64_t p = at[d] * s->w.stride[d] + s->place[(size_t)k * s->w.rank + d] - s->w.low[d];
        if (p < 0 || p >= s->w.in[d]) return false;
    }
    return true;
}

/* The gradient of max pooling: select by one comparison, scatter by add. */
#define MAX_SCATTER(T)                                                                                    \
    static void scatter_##T(const selection *s, ir_cmp_dir dir, const T *x, const T *source, T *r) {      \
        int64_t at[INTERP_MAX_RANK] = {0};                                                                \
        do {                                                                                              \
            bool whole;                                                                                   \
            int64_t corner = window_corner(&s->w, at, &whole), held = -1;                                 \
            for (int64_t k = 0; k < s->places; k++) {                                                     \
                if (!whole && !place_inside(s, at, k)) continue;                                          \
                int64_t i = corner + s->offset[k];                                                        \
                if (held < 0) {                                                                           \
                    held = i;                                                                             \
                    continue;                                                                             \
                }                                                                                         \
                T a = x[held], b = x[i];                                                                  \
                bool keep = dir == IR_GE ? a >= b : dir == IR_GT ? a > b : dir == IR_LE ? a <= b : a < b; \
                held = keep ? held : i;                                                                   \
            }                                                                                             \
            if (held >= 0) r[held] += *source;                                                            \
            source++;                                                                                     \
        } while (index_next(s->w.rank, s->w.out, at));                                                    \
    }
MAX_SCATTER(f32)
MAX_SCATTER(f64)

/* Any regions: windows in chunks, `held` elements as a row; scattered one by one in the order of the source. */
static xt_status scatter_general(const selection *s, region_eval *select, region_eval *combine, const array *in,
                                 const array *source, array *out) {
    size_t size = xt_dtype_size(in->type->dtype), out_size = xt_dtype_size(out->type->dtype);
    uint64_t held[2 * INTERP_CHUNK], next[2 * INTERP_CHUNK];
    int64_t held_at[INTERP_CHUNK], next_at[INTERP_CHUNK], at[INTERP_MAX_RANK] = {0};
    uint8_t keep[INTERP_CHUNK];
    char *h = (char *)held, *x = (char *)next;
    for (int64_t first = 0; first < source->type->count; first += INTERP_CHUNK) {
        int64_t n = source->type->count - first < INTERP_CHUNK ? source->type->count - first : INTERP_CHUNK,
                begin[INTERP_MAX_RANK];
        memcpy(begin, at, sizeof at);
        for (int64_t i = 0; i < n; i++) held_at[i] = -1;
        for (int64_t k = 0; k < s->places; k++) {
            memcpy(at, begin, sizeof at);
            for (int64_t i = 0; i < n; i++) {
                bool whole;
                int64_t corner = window_corner(&s->w, at, &whole);
                next_at[i] = whole || place_inside(s, at, k) ? corner + s->offset[k] : -1;
                if (next_at[i] >= 0)
                    memcpy(x + (size_t)i * size, (char *)in->data + (size_t)next_at[i] * size, size);
                else
                    memset(x + (size_t)i * size, 0, size);
                if (held_at[i] < 0) memcpy(h + (size_t)i * size, x + (size_t)i * size, size);
                index_next(s->w.rank, s->w.out, at);
            }
            XT_TRY(region_eval_run(select, n, (const void *const[]){h, x}, (void *const[]){keep}));
            for (int64_t i = 0; i < n; i++) {
                if (next_at[i] < 0 || (held_at[i] >= 0 && keep[i])) continue;
                held_at[i] = next_at[i];
                memcpy(h + (size_t)i * size, x + (size_t)i * size, size);
            }
        }
        for (int64_t i = 0; i < n; i++) {
            if (held_at[i] < 0) continue;
            char *r = (char *)out->data + (size_t)held_at[i] * out_size;
            const void *args[2] = {r, (char *)source->data + (size_t)(first + i) * out_size};
            void *result = r;
            XT_TRY(region_eval_run(combine, 1, args, &result));
        }
    }
    return NULL;
}

static xt_status select_and_scatter_on(interp *c, const ir_op *op, const array *in, const array *source, array *out) {
    if (source->type->count == 0 || in->type->count == 0) return NULL;
    selection s = {0};
    XT_TRY(selection_init(&s, op, in->type, source->type));
    ir_opcode code;
    ir_cmp_dir dir = IR_EQ;
    bool known = in->type == out->type && region_is_compare(&op->regions[0], &dir) && dir >= IR_GE &&
                 region_is_binary(&op->regions[1], &code) && code == OP_add;
    xt_status st = NULL;
    if (known && in->type->dtype == XT_F32)
        scatter_f32(&s, dir, in->data, source->data, out->data);
    else if (known && in->type->dtype == XT_F64)
        scatter_f64(&s, dir, in->data, source->data, out->data);
    else {
        region_eval *select = NULL, *combine = NULL;
        st = region_eval_new(c, op->regions[0].block, 0, NULL, &select);
        if (!st) st = region_eval_new(c, op->regions[1].block, 0, NULL, &combine);
        if (!st) st = scatter_general(&s, select, combine, in, source, out);
        region_eval_free(select);
        region_eval_free(combine);
    }
    base_free(s.offset);
    return st;
}

/* The source and the initial value take the scatter region's element type (the result's); the operand
 * keeps select's. */
xt_status interp_select_and_scatter(interp *c, const ir_op *op, const array *in, array *out) {
    xt_dtype t = out->type->dtype;
    double first[2];
    convert_elems(1, in[2].type->dtype, in[2].data, t, first);
    fill_elems(out->data, out->type->count, first, xt_dtype_size(t));
    if (in[1].type->dtype == t) return select_and_scatter_on(c, op, &in[0], &in[1], out);
    const ir_type *wide = ir_with_dtype(in[1].type, t);
    if (!wide) return status_oom(sizeof *wide, "a type");
    array source;
    XT_TRY(array_new_raw(wide, &source));
    convert_elems(wide->count, in[1].type->dtype, in[1].data, t, source.data);
    xt_status s = select_and_scatter_on(c, op, &in[0], &source, out);
    array_free(&source);
    return s;
}
