/* gather and scatter by moving whole slices: the position of each slice is read from the index array, its elements are one strided copy. */
#include "cpu/kernel_copy.h"
#include "cpu/kernel_reduce.h"

typedef struct slices {
    int n_batch; /* dims of the index array but the vector's */
    int64_t batch_dims[VIEW_MAX], index_strides[VIEW_MAX], array_strides[VIEW_MAX]; /* of the index array; of the gathered or update array */
    int64_t batch_operand[VIEW_MAX]; /* stride in the operand of a dim that pairs with an operand batching dim */
    int n_start;
    int64_t vector_stride, start_strides[VIEW_MAX], limit[VIEW_MAX]; /* per component: operand stride, last valid start */
    xt_dtype index_type;
    int64_t count; /* slices */
    size_t elem;
    bool has_window;
    cpu_move window; /* gather: operand to result; scatter: update to operand */
    bool replace;
    fold_op fold;
} slices;

static int64_t read_index(const void *base, int64_t i, xt_dtype t) {
    switch ((int)t) {
    case XT_I8: return ((const int8_t *)base)[i];
    case XT_I16: return ((const int16_t *)base)[i];
    case XT_I32: return ((const int32_t *)base)[i];
    case XT_U8: return ((const uint8_t *)base)[i];
    case XT_U16: return ((const uint16_t *)base)[i];
    case XT_U32: return ((const uint32_t *)base)[i];
    case XT_U64: return ((const uint64_t *)base)[i] > INT64_MAX ? INT64_MAX : (int64_t)((const uint64_t *)base)[i];
    default: return ((const int64_t *)base)[i];
    }
}

/* Where slice k lies in both arrays. `clamp` moves starts inside; else false means outside. */
static bool locate(const slices *s, const void *indices, int64_t k, bool clamp, int64_t *out_operand, int64_t *out_array) {
    int64_t at = 0;
    *out_operand = *out_array = 0;
    for (int i = s->n_batch - 1; i >= 0; i--) {
        int64_t x = k % s->batch_dims[i];
        k /= s->batch_dims[i];
        at += x * s->index_strides[i];
        *out_array += x * s->array_strides[i];
        *out_operand += x * s->batch_operand[i];
    }
    for (int i = 0; i < s->n_start; i++) {
        int64_t v = read_index(indices, at + i * s->vector_stride, s->index_type);
        if (!clamp && (v < 0 || v > s->limit[i])) return false;
        v = v < 0 ? 0 : v > s->limit[i] ? s->limit[i] : v;
        *out_operand += v * s->start_strides[i];
    }
    return true;
}

/* --- gather ------------------------------------------------------------------------------------------------------------------------- */
typedef struct index_run {
    const slices *s;
    const char *src;
    char *dst;
    const void *indices;
} index_run;
static const cpu_team alone = {.threads = 1};

static void gather_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const index_run *r = ctx;
    for (int64_t k = begin; k < end; k++) {
        int64_t from, to;
        locate(r->s, r->indices, k, true, &from, &to);
        const char *src = r->src + from * (int64_t)r->s->elem;
        char *dst = r->dst + to * (int64_t)r->s->elem;
        if (r->s->window.dst.n == 0)
            memcpy(dst, src, r->s->elem);
        else
            cpu_move_run(&alone, &r->s->window, dst, src);
    }
}

static xt_status gather_run(const cpu_call *c) {
    const slices *s = c->thunk->state;
    index_run r = {s, c->in[0], c->out[0], c->in[1]};
    if (s->has_window) team_for(&c->device->team, s->count, 4096 / (view_count(&s->window.dst) + 1) + 1, gather_chunk, &r);
    return NULL;
}
static const cpu_kernel gather_kernel = {"gather", gather_run, NULL, true};

static bool contains(const int64_t *list, size_t n, int64_t v) {
    for (size_t i = 0; i < n; i++)
        if (list[i] == v) return true;
    return false;
}

/* The part of gather's and scatter's dimension numbers that is alike. `moved` is the gathered result or the update; window dims of the operand
 * with the sizes in `sizes` meet its dims in `offset` in order. */
static bool read_slices(const ir_type *operand, const ir_type *indices, const ir_type *moved, int64_t vector_dim, const int64_t *to_dim, size_t n_map,
                        const int64_t *offset, size_t n_offset, const int64_t *gone, size_t n_gone, const int64_t *op_batch, size_t n_op_batch,
                        const int64_t *idx_batch, const int64_t *sizes, bool to_operand, slices *s) {
    view ov, iv, av, w = {0}, a = {0};
    if (!view_dense(operand, &ov) || !view_dense(indices, &iv) || !view_dense(moved, &av)) return false;
    if (!ir_dtype_is_int(indices->dtype) || xt_dtype_size(indices->dtype) == 0 || indices->dtype == XT_I4 || indices->dtype == XT_U4) return false;
    s->elem = xt_dtype_size(operand->dtype);
    s->index_type = indices->dtype;
    s->count = 1;
    int next = 0; /* array dims that are not window dims, in order */
    for (int i = 0; i < iv.n; i++) {
        if (i == vector_dim) continue;
        while (contains(offset, n_offset, next)) next++;
        s->batch_dims[s->n_batch] = iv.dims[i];
        s->index_strides[s->n_batch] = iv.strides[i];
        s->array_strides[s->n_batch] = av.strides[next++];
        s->batch_operand[s->n_batch] = 0;
        for (size_t k = 0; k < n_op_batch; k++)
            if (idx_batch[k] == i) s->batch_operand[s->n_batch] = ov.strides[op_batch[k]];
        s->count *= iv.dims[i];
        s->n_batch++;
    }
    s->vector_stride = vector_dim < iv.n ? iv.strides[vector_dim] : 0;
    s->n_start = (int)n_map;
    size_t used = 0;
    for (int d = 0; d < ov.n; d++) {
        if (contains(gone, n_gone, d) || contains(op_batch, n_op_batch, d)) continue;
        w.dims[w.n] = a.dims[w.n] = sizes[d];
        w.strides[w.n] = ov.strides[d];
        a.strides[w.n] = av.strides[offset[used++]];
        w.n++;
    }
    a.n = w.n;
    for (size_t i = 0; i < n_map; i++) {
        s->start_strides[i] = ov.strides[to_dim[i]];
        s->limit[i] = operand->dims[to_dim[i]] - sizes[to_dim[i]];
    }
    s->has_window = to_operand ? cpu_move_make(&w, &a, operand->dtype, &s->window) : cpu_move_make(&a, &w, operand->dtype, &s->window);
    return true;
}

CPU_LOWER(gather) {
    size_t n_off, n_col, n_ob, n_sb, n_map, n_sizes;
    const int64_t *offset = ir_get_ints(op, IR_A_offset_dims, &n_off), *collapsed = ir_get_ints(op, IR_A_collapsed_slice_dims, &n_col);
    const int64_t *ob = ir_get_ints(op, IR_A_operand_batching_dims, &n_ob), *sb = ir_get_ints(op, IR_A_start_indices_batching_dims, &n_sb);
    const int64_t *start_map = ir_get_ints(op, IR_A_start_index_map, &n_map), *sizes = ir_get_ints(op, IR_A_slice_sizes, &n_sizes);
    slices *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    if (op->out[0].type->count == 0 || !read_slices(op->in[0]->type, op->in[1]->type, op->out[0].type, ir_get_int(op, IR_A_index_vector_dim, 0),
                                                    start_map, n_map, offset, n_off, collapsed, n_col, ob, n_ob, sb, sizes, false, s)) {
        base_free(s);
        return NULL;
    }
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &gather_kernel, .op = op, .n_in = 2, .n_out = 1, .state = s, .bytes = 2.0 * (double)ir_type_bytes(op->out[0].type)};
    return cpu_build_thunk(b, &d);
}

/* --- scatter ------------------------------------------------------------------------------------------------------------------------ */
/* dst = fold(dst, src) over the window, f32. */
static void fold_window(const slices *s, float *dst, const float *src) {
    const view *d = &s->window.dst, *v = &s->window.src;
    const simd_ops *simd = simd_get();
    if (d->n == 0) {
        *dst = cpu_fold_two(s->fold, *dst, *src);
        return;
    }
    int last = d->n - 1;
    int64_t at[VIEW_MAX] = {0};
    for (;;) {
        int64_t x = 0, y = 0;
        for (int i = 0; i < last; i++) x += at[i] * d->strides[i], y += at[i] * v->strides[i];
        if (d->strides[last] == 1 && v->strides[last] == 1)
            simd->fold_rows[s->fold](dst + x, src + y, d->dims[last]);
        else
            for (int64_t j = 0; j < d->dims[last]; j++) {
                float *p = dst + x + j * d->strides[last];
                *p = cpu_fold_two(s->fold, *p, src[y + j * v->strides[last]]);
            }
        int i = last - 1;
        for (; i >= 0; i--) {
            if (++at[i] < d->dims[i]) break;
            at[i] = 0;
        }
        if (i < 0) return;
    }
}

/* Slices one after the other: several may meet at one place, and their order decides the sum's last bits. */
static xt_status scatter_run(const cpu_call *c) {
    const slices *s = c->thunk->state;
    size_t bytes = ir_type_bytes(c->thunk->op->out[0].type);
    if (c->out[0] != c->in[0]) memcpy(c->out[0], c->in[0], bytes);
    for (int64_t k = 0; k < s->count && s->has_window; k++) {
        int64_t to, from;
        if (!locate(s, c->in[1], k, false, &to, &from)) continue;
        char *dst = (char *)c->out[0] + to * (int64_t)s->elem;
        const char *src = (const char *)c->in[2] + from * (int64_t)s->elem;
        if (!s->replace)
            fold_window(s, (float *)(void *)dst, (const float *)(const void *)src);
        else if (s->window.dst.n == 0)
            memcpy(dst, src, s->elem);
        else
            cpu_move_run(&alone, &s->window, dst, src);
    }
    return NULL;
}
static const cpu_kernel scatter_kernel = {"scatter", scatter_run, NULL, true};

static bool replaces(const ir_region *r) { /* returns its second argument */
    const ir_block *b = r->block;
    return b && b->n_args == 2 && b->first && b->first == b->last && b->first->n_in == 1 && b->first->in[0] == b->args[1];
}

CPU_LOWER(scatter) {
    size_t n_win, n_ins, n_ib, n_sb, n_map;
    const int64_t *win = ir_get_ints(op, IR_A_update_window_dims, &n_win), *inserted = ir_get_ints(op, IR_A_inserted_window_dims, &n_ins);
    const int64_t *ib = ir_get_ints(op, IR_A_input_batching_dims, &n_ib), *sb = ir_get_ints(op, IR_A_scatter_indices_batching_dims, &n_sb);
    const int64_t *start_map = ir_get_ints(op, IR_A_scatter_dims_to_operand_dims, &n_map);
    if (op->n_in != 3 || op->in[0]->type->rank > VIEW_MAX) return NULL;
    const ir_type *operand = op->in[0]->type, *update = op->in[2]->type;
    slices *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    int64_t sizes[VIEW_MAX];
    size_t used = 0;
    for (uint32_t d = 0; d < operand->rank; d++) sizes[d] = contains(inserted, n_ins, d) || contains(ib, n_ib, d) ? 1 : update->dims[win[used++]];
    s->replace = replaces(&op->regions[0]);
    bool ok = s->replace || (operand->dtype == XT_F32 && cpu_fold_of(&op->regions[0], &s->fold));
    ok = ok && update->count > 0 &&
         read_slices(operand, op->in[1]->type, update, ir_get_int(op, IR_A_index_vector_dim, 0), start_map, n_map, win, n_win, inserted, n_ins, ib,
                     n_ib, sb, sizes, true, s);
    if (!ok) {
        base_free(s);
        return NULL;
    }
    *out_done = true;
    uint64_t over = 1;
    cpu_thunk_desc d = {.kernel = &scatter_kernel, .op = op, .n_in = 3, .n_out = 1, .over = &over, .state = s, .flops = cpu_op_flops(op)};
    return cpu_build_thunk(b, &d);
}
