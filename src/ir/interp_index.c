/* gather, scatter, dynamic slices. All positions are worked out as element offsets once per index vector; the window
 * that moves is one strided copy, or a plain run of memory when it lies contiguous on both sides (rows of an
 * embedding). Updates of scatter combine run by run; elements of one update never meet, so a run may be combined as a
 * row, and updates are applied in their order. */
#include "ir/interp_int.h"

/* What gather and scatter share, in gather's words: `operand` is indexed, `result` (scatter: updates) has batch and
 * window dims. */
typedef struct indexing {
    const ir_type *operand, *result, *indices;
    int64_t *index; /* the index tensor as int64 */
    int64_t operand_stride[INTERP_MAX_RANK];
    size_t n_batch; /* batch dims of the result, in order */
    int64_t batch_dims[INTERP_MAX_RANK], batch_out[INTERP_MAX_RANK], batch_index[INTERP_MAX_RANK];
    int64_t batch_operand[INTERP_MAX_RANK]; /* operand dim that a batch dim also indexes, or -1 */
    size_t n_window; /* window dims, in order */
    int64_t window[INTERP_MAX_RANK], window_in[INTERP_MAX_RANK], window_out[INTERP_MAX_RANK];
    int64_t extent[INTERP_MAX_RANK]; /* per operand dim: window size, 1 for dims without */
    size_t n_map;
    const int64_t *map;
    int64_t vector_stride; /* between the components of an index vector */
    int64_t run; /* elements of the window when contiguous on both sides, else 0 */
} indexing;

static bool has(const int64_t *list, size_t n, int64_t v) {
    for (size_t i = 0; i < n; i++)
        if (list[i] == v) return true;
    return false;
}

typedef struct index_attrs {
    const int64_t *window, *dropped, *operand_batching, *index_batching, *map;
    size_t n_window, n_dropped, n_batching, n_map;
    int64_t vector_dim;
} index_attrs;

static index_attrs read_attrs(const ir_op *op, const ir_attr_key keys[5]) {
    index_attrs a;
    size_t n;
    a.window = ir_get_ints(op, keys[0], &a.n_window);
    a.dropped = ir_get_ints(op, keys[1], &a.n_dropped);
    a.operand_batching = ir_get_ints(op, keys[2], &a.n_batching);
    a.index_batching = ir_get_ints(op, keys[3], &n);
    a.map = ir_get_ints(op, keys[4], &a.n_map);
    a.vector_dim = ir_get_int(op, IR_A_index_vector_dim, 0);
    return a;
}

/* True when the window is one run of memory on both sides. */
static bool window_is_run(const indexing *x) {
    int64_t expect = 1;
    for (size_t k = x->n_window; k-- > 0;) {
        if (x->window[k] == 1) continue;
        if (x->window_in[k] != expect || x->window_out[k] != expect) return false;
        expect *= x->window[k];
    }
    return true;
}

static xt_status indexing_init(indexing *x, const index_attrs *a, const ir_type *operand, const array *indices,
                               const ir_type *result, const int64_t *slice_sizes) {
    int64_t result_stride[INTERP_MAX_RANK], index_stride[INTERP_MAX_RANK];
    *x = (indexing){.operand = operand, .result = result, .indices = indices->type, .map = a->map, .n_map = a->n_map};
    strides_of(operand->rank, operand->dims, x->operand_stride);
    strides_of(result->rank, result->dims, result_stride);
    strides_of(indices->type->rank, indices->type->dims, index_stride);
    x->vector_stride = a->vector_dim < (int64_t)indices->type->rank ? index_stride[a->vector_dim] : 0;
    int64_t index_dim = 0;
    for (uint32_t d = 0; d < result->rank; d++) {
        if (has(a->window, a->n_window, d)) continue;
        if (index_dim == a->vector_dim) index_dim++;
        size_t k = x->n_batch++;
        x->batch_dims[k] = result->dims[d];
        x->batch_out[k] = result_stride[d];
        x->batch_index[k] = index_stride[index_dim];
        x->batch_operand[k] = -1;
        for (size_t i = 0; i < a->n_batching; i++)
            if (a->index_batching[i] == index_dim) x->batch_operand[k] = a->operand_batching[i];
        index_dim++;
    }
    for (uint32_t d = 0; d < operand->rank; d++) {
        x->extent[d] = 1;
        if (has(a->dropped, a->n_dropped, d) || has(a->operand_batching, a->n_batching, d)) continue;
        size_t k = x->n_window++;
        x->window[k] = x->extent[d] = slice_sizes ? slice_sizes[d] : result->dims[a->window[k]];
        x->window_in[k] = x->operand_stride[d];
        x->window_out[k] = result_stride[a->window[k]];
    }
    int64_t count = 1;
    for (size_t k = 0; k < x->n_window; k++) count *= x->window[k];
    x->run = window_is_run(x) ? count : 0;
    XT_TRY(interp_temp((size_t)indices->type->count, sizeof *x->index, &x->index));
    convert_elems(indices->type->count, indices->type->dtype, indices->data, XT_I64, x->index);
    return NULL;
}

/* The operand position of a batch element; `clamp` moves the window inside, else out_inside tells. */
static int64_t position(const indexing *x, const int64_t *batch, bool clamp, int64_t *out_start, bool *out_inside) {
    int64_t at = 0, vector = 0;
    memset(out_start, 0, x->operand->rank * sizeof *out_start);
    for (size_t k = 0; k < x->n_batch; k++) {
        vector += batch[k] * x->batch_index[k];
        if (x->batch_operand[k] >= 0) out_start[x->batch_operand[k]] = batch[k];
    }
    for (size_t i = 0; i < x->n_map; i++) {
        int64_t d = x->map[i], v = x->index[vector + (int64_t)i * x->vector_stride],
                most = x->operand->dims[d] - x->extent[d];
        if (clamp) v = v < 0 ? 0 : v > most ? most : v;
        out_start[d] += v;
    }
    *out_inside = true;
    for (uint32_t d = 0; d < x->operand->rank; d++) {
        *out_inside = *out_inside && out_start[d] >= 0 && out_start[d] <= x->operand->dims[d] - x->extent[d];
        /* meaningless outside, but defined */
        at = (int64_t)((uint64_t)at + (uint64_t)out_start[d] * (uint64_t)x->operand_stride[d]);
    }
    return at;
}

static int64_t batch_at(const indexing *x, const int64_t *batch) {
    int64_t at = 0;
    for (size_t k = 0; k < x->n_batch; k++) at += batch[k] * x->batch_out[k];
    return at;
}

xt_status interp_gather(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    static const ir_attr_key keys[5] = {IR_A_offset_dims, IR_A_collapsed_slice_dims, IR_A_operand_batching_dims,
                                        IR_A_start_indices_batching_dims, IR_A_start_index_map};
    index_attrs a = read_attrs(op, keys);
    size_t n, size = xt_dtype_size(out->type->dtype);
    int64_t given[INTERP_MAX_RANK], batch[INTERP_MAX_RANK] = {0}, start[INTERP_MAX_RANK];
    const int64_t *sizes = ir_get_ints(op, IR_A_slice_sizes, &n);
    if (op->code == OP_dynamic_gather) {
        convert_elems(in[2].type->count, in[2].type->dtype, in[2].data, XT_I64, given);
        sizes = given;
    }
    if (out->type->count == 0) return NULL;
    indexing x;
    XT_TRY(indexing_init(&x, &a, in[0].type, &in[1], out->type, sizes));
    do {
        bool inside;
        const char *src = (const char *)in->data + (size_t)position(&x, batch, true, start, &inside) * size;
        char *dst = (char *)out->data + (size_t)batch_at(&x, batch) * size;
        if (x.run)
            memcpy(dst, src, (size_t)x.run * size);
        else
            copy_strided(x.n_window, x.window, dst, x.window_out, src, x.window_in, size);
    } while (index_next(x.n_batch, x.batch_dims, batch));
    base_free(x.index);
    return NULL;
}

/* result[..., index..., ...] = operand along one dim, with leading batch dims in common. An index outside is moved to
 * the nearest one. */
xt_status interp_torch_index_select(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    const ir_type *t = in[0].type, *it = in[1].type;
    int64_t dim = ir_get_int(op, IR_A_dim, 0), n_batch = ir_get_int(op, IR_A_batch_dims, 0), batch = 1, middle = 1,
            inner = 1, picks = 1, *index;
    for (int64_t d = 0; d < n_batch; d++) batch *= t->dims[d];
    for (int64_t d = n_batch; d < dim; d++) middle *= t->dims[d];
    for (int64_t d = dim + 1; d < (int64_t)t->rank; d++) inner *= t->dims[d];
    for (int64_t d = n_batch; d < (int64_t)it->rank; d++) picks *= it->dims[d];
    if (out->type->count == 0) return NULL;
    XT_TRY(interp_temp((size_t)it->count, sizeof *index, &index));
    convert_elems(it->count, it->dtype, in[1].data, XT_I64, index);
    size_t row = (size_t)inner * xt_dtype_size(t->dtype);
    char *dst = out->data;
    for (int64_t b = 0; b < batch; b++)
        for (int64_t m = 0; m < middle; m++)
            for (int64_t i = 0; i < picks; i++, dst += row) {
                int64_t v = index[b * picks + i];
                v = v < 0 ? 0 : v >= t->dims[dim] ? t->dims[dim] - 1 : v;
                memcpy(dst, (const char *)in->data + (size_t)((b * middle + m) * t->dims[dim] + v) * row, row);
            }
    base_free(index);
    return NULL;
}

/* --- scatter --- */
typedef struct scatter {
    indexing x;
    size_t n; /* operands */
    array *out;
    const array *updates;
    region_eval *combine;
    bool replace; /* the region returns the update */
    const void **args; /* results, then updates */
} scatter;

/* Combines `count` neighbouring elements: out[at..] with updates[from..]. */
static xt_status combine_run(scatter *s, int64_t at, int64_t from, int64_t count) {
    for (int64_t done = 0; done < count; done += INTERP_CHUNK) {
        int64_t m = count - done < INTERP_CHUNK ? count - done : INTERP_CHUNK;
        for (size_t j = 0; j < s->n; j++) {
            size_t size = xt_dtype_size(s->out[j].type->dtype);
            s->args[j] = (char *)s->out[j].data + (size_t)(at + done) * size;
            s->args[s->n + j] = (const char *)s->updates[j].data + (size_t)(from + done) * size;
        }
        if (s->replace)
            memcpy((void *)(uintptr_t)s->args[0], s->args[1], (size_t)m * xt_dtype_size(s->out[0].type->dtype));
        else
            XT_TRY(region_eval_run(s->combine, m, s->args, (void *const *)s->args));
    }
    return NULL;
}

/* A window that is no plain run, or sticks out: rows of the innermost dim when both sides step by one, else
 * single elements. */
static xt_status combine_window(scatter *s, const index_attrs *a, int64_t at, int64_t from, const int64_t *start,
                                bool inside) {
    const indexing *x = &s->x;
    size_t last = x->n_window ? x->n_window - 1 : 0;
    bool rows = x->n_window && inside && x->window_in[last] == 1 && x->window_out[last] == 1;
    size_t outer = rows ? last : x->n_window;
    int64_t index[INTERP_MAX_RANK] = {0}, operand_dim[INTERP_MAX_RANK];
    size_t k = 0;
    for (uint32_t d = 0; d < x->operand->rank; d++)
        if (!has(a->dropped, a->n_dropped, d) && !has(a->operand_batching, a->n_batching, d)) operand_dim[k++] = d;
    do {
        int64_t to = at, src = from;
        bool valid = true;
        if (!inside) /* dims without a window must be inside themselves */
            for (uint32_t d = 0; d < x->operand->rank; d++)
                valid = valid && (has(operand_dim, k, d) || (start[d] >= 0 && start[d] < x->operand->dims[d]));
        for (size_t i = 0; i < outer; i++) {
            int64_t p = start[operand_dim[i]];
            valid = valid && (inside || (p >= -index[i] && p < x->operand->dims[operand_dim[i]] - index[i]));
            to = (int64_t)((uint64_t)to + (uint64_t)(index[i] * x->window_in[i]));
            src += index[i] * x->window_out[i];
        }
        if (valid) XT_TRY(combine_run(s, to, src, rows ? x->window[last] : 1));
    } while (index_next(outer, x->window, index));
    return NULL;
}

static bool region_replaces(const ir_region *r) {
    const ir_op *ret = r->block->first;
    return r->block->n_args == 2 && ret->n_in == 1 && !ret->next && ret->in[0] == r->block->args[1];
}

/* The operand's elements in the result's type, in place when the executor gave the result its memory. */
static void copy_operand(const array *in, array *out) {
    if (out->data == in->data) return;
    convert_elems(in->type->count, in->type->dtype, in->data, out->type->dtype, out->data);
}

xt_status interp_scatter(interp *c, const ir_op *op, const array *in, array *out) {
    static const ir_attr_key keys[5] = {IR_A_update_window_dims, IR_A_inserted_window_dims, IR_A_input_batching_dims,
                                        IR_A_scatter_indices_batching_dims, IR_A_scatter_dims_to_operand_dims};
    index_attrs a = read_attrs(op, keys);
    size_t n = op->n_out;
    scatter s = {.n = n, .out = out, .replace = region_replaces(&op->regions[0])};
    array *updates = base_calloc(n, sizeof *updates);
    s.args = base_calloc(2 * n, sizeof *s.args);
    xt_status st = updates && s.args ? NULL : status_oom(n * sizeof *updates, "a scatter");
    for (size_t j = 0; j < n && !st; j++) {
        copy_operand(&in[j], &out[j]);
        updates[j] = in[n + 1 + j];
        if (updates[j].type->dtype == out[j].type->dtype) continue;
        const ir_type *t = ir_with_dtype(updates[j].type, out[j].type->dtype); /* the region's types may be wider */
        const array narrow = updates[j];
        updates[j] = (array){t, NULL};
        st = t ? array_new_raw(t, &updates[j]) : status_oom(sizeof *t, "a type");
        if (!st) convert_elems(t->count, narrow.type->dtype, narrow.data, t->dtype, updates[j].data);
    }
    s.updates = updates;
    if (!st) st = indexing_init(&s.x, &a, out->type, &in[n], in[n + 1].type, NULL);
    if (!st && !s.replace) st = region_eval_new(c, op->regions[0].block, 0, NULL, &s.combine);
    if (!st && in[n + 1].type->count > 0) {
        int64_t batch[INTERP_MAX_RANK] = {0}, start[INTERP_MAX_RANK];
        do {
            bool inside;
            int64_t at = position(&s.x, batch, false, start, &inside), from = batch_at(&s.x, batch);
            st = s.x.run && inside ? combine_run(&s, at, from, s.x.run)
                                   : combine_window(&s, &a, at, from, start, inside);
        } while (!st && index_next(s.x.n_batch, s.x.batch_dims, batch));
    }
    for (size_t j = 0; updates && j < n; j++)
        if (updates[j].data != in[n + 1 + j].data) array_free(&updates[j]);
    region_eval_free(s.combine);
    base_free(s.x.index);
    base_free(updates);
    base_free(s.args);
    return st;
}

/* --- Dynamic slices --- */
/* Offset of a box of the given dims at the scalar positions start[0..rank), moved inside. */
static int64_t box_offset(const ir_type *t, const int64_t *dims, const array *start, const int64_t *stride) {
    int64_t at = 0;
    for (uint32_t d = 0; d < t->rank; d++) {
        int64_t v, most = t->dims[d] - dims[d];
        if (start[d].type->dtype == XT_U64 && *(const uint64_t *)start[d].data > INT64_MAX)
            v = most;
        else
            convert_elems(1, start[d].type->dtype, start[d].data, XT_I64, &v);
        at += (v < 0 ? 0 : v > most ? most : v) * stride[d];
    }
    return at;
}

xt_status interp_dynamic_slice(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    (void)op;
    const ir_type *t = in->type;
    size_t size = xt_dtype_size(t->dtype);
    int64_t src[INTERP_MAX_RANK], dst[INTERP_MAX_RANK];
    if (out->type->count == 0) return NULL;
    strides_of(t->rank, t->dims, src);
    strides_of(t->rank, out->type->dims, dst);
    copy_strided(t->rank, out->type->dims, out->data, dst,
                 (const char *)in->data + (size_t)box_offset(t, out->type->dims, in + 1, src) * size, src, size);
    return NULL;
}

xt_status interp_dynamic_update_slice(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    (void)op;
    const ir_type *t = in->type, *u = in[1].type;
    size_t size = xt_dtype_size(t->dtype);
    int64_t src[INTERP_MAX_RANK], dst[INTERP_MAX_RANK];
    copy_operand(in, out);
    if (u->count == 0) return NULL;
    strides_of(t->rank, t->dims, dst);
    strides_of(t->rank, u->dims, src);
    copy_strided(t->rank, u->dims, (char *)out->data + (size_t)box_offset(t, u->dims, in + 2, dst) * size, dst,
                 in[1].data, src, size);
    return NULL;
}
