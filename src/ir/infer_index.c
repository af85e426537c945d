/* Rules of gather, scatter and the slices whose position is computed. */
#include "ir/infer.h"

/* Start positions: one integer scalar per dim of operand 0, all of one type, beginning at operand `first`. */
static xt_status check_starts(const ir_op *op, size_t first, int c_count, int c_same) {
    const ir_type *x = infer_in(op, 0);
    if (op->n_in - first != x->rank)
        return infer_fail(op, c_count, "%zu start indices given, expected %u", (size_t)op->n_in - first, x->rank);
    for (size_t i = first; i < op->n_in; i++) {
        const ir_type *t = infer_in(op, i);
        if (t->rank || !ir_dtype_is_int(t->dtype))
            return infer_fail(op, -(int)first - 1, "start index %zu must be an integer scalar", i - first);
        if (t != infer_in(op, first))
            return infer_fail(op, c_same, "start index %zu has another type than start index 0", i - first);
    }
    return NULL;
}

RULE(dynamic_slice) {
    const int64_t *sizes;
    size_t n;
    if (!op->n_in) return infer_fail(op, 0, "it needs an operand");
    const ir_type *x = infer_in(op, 0);
    XT_TRY(check_starts(op, 1, 2, 3));
    XT_TRY(infer_ints(op, IR_A_slice_sizes, &sizes, &n));
    if (n != x->rank)
        return infer_fail(op, 2, "slice_sizes = %s, expected %u entries", infer_dims(n, sizes).text, x->rank);
    for (size_t i = 0; i < n; i++)
        if (sizes[i] < 0 || (x->dims[i] != IR_DYNAMIC && sizes[i] > x->dims[i]))
            return infer_fail(op, 4, "slice_sizes[%zu] is %lld, expected 0 to %lld", i, (long long)sizes[i],
                              (long long)x->dims[i]);
    return infer_one_tensor(op, x->dtype, n, sizes, out, n_out);
}

RULE(dynamic_update_slice) {
    if (op->n_in < 2) return infer_fail(op, 0, "it needs an operand and an update");
    const ir_type *x = infer_in(op, 0), *update = infer_in(op, 1);
    if (update->dtype != x->dtype) return infer_fail(op, 2, "the update must have the operand's element type");
    if (update->rank != x->rank)
        return infer_fail(op, 3, "the update has %u dims, the operand %u", update->rank, x->rank);
    XT_TRY(check_starts(op, 2, 4, 5));
    for (uint32_t i = 0; i < x->rank; i++)
        if (x->dims[i] != IR_DYNAMIC && update->dims[i] > x->dims[i])
            return infer_fail(op, 6, "update dim %u is %lld, larger than the operand's %lld", i,
                              (long long)update->dims[i], (long long)x->dims[i]);
    return infer_one(out, n_out, x);
}

/* Two lists that together name each axis at most once. */
static xt_status disjoint(const ir_op *op, int c, ir_attr_key ka, const int64_t *a, size_t na, ir_attr_key kb,
                          const int64_t *b, size_t nb) {
    XT_TRY(infer_unique(op, c, ka, a, na));
    XT_TRY(infer_unique(op, c, kb, b, nb));
    for (size_t i = 0; i < na; i++)
        if (infer_has(b, nb, a[i]))
            return infer_fail(op, c, "dim %lld is in %s and in %s", (long long)a[i], ir_attr_key_name(ka),
                              ir_attr_key_name(kb));
    return NULL;
}

/* What gather and scatter have in common: operand batching dims beside index batching dims, the index vector, the map
 * of its entries to operand dims. The constraints have other numbers in each, so the caller gives them. */
typedef struct index_rules {
    ir_attr_key batching, index_batching, map, removed; /* removed: collapsed_slice_dims or inserted_window_dims */
    int vector_dim, map_size, removed_unique, removed_sorted, removed_range, batch_sorted, batch_range, ib_unique,
        ib_range, ib_vector, batch_size, batch_dims, map_unique, map_range;
} index_rules;
static const index_rules gather_rules = {IR_A_operand_batching_dims,
                                         IR_A_start_indices_batching_dims,
                                         IR_A_start_index_map,
                                         IR_A_collapsed_slice_dims,
                                         2,
                                         3,
                                         6,
                                         7,
                                         8,
                                         10,
                                         11,
                                         13,
                                         14,
                                         15,
                                         16,
                                         17,
                                         18,
                                         19};
static const index_rules scatter_rules = {IR_A_input_batching_dims,
                                          IR_A_scatter_indices_batching_dims,
                                          IR_A_scatter_dims_to_operand_dims,
                                          IR_A_inserted_window_dims,
                                          22,
                                          19,
                                          9,
                                          10,
                                          11,
                                          12,
                                          13,
                                          14,
                                          15,
                                          16,
                                          17,
                                          18,
                                          20,
                                          21};
/* dynamic_gather has no batching dims and numbers of its own. */
static const index_rules dynamic_gather_rules = {IR_A_operand_batching_dims,
                                                 IR_A_start_indices_batching_dims,
                                                 IR_A_start_index_map,
                                                 IR_A_collapsed_slice_dims,
                                                 2,
                                                 3,
                                                 6,
                                                 6,
                                                 7,
                                                 6,
                                                 7,
                                                 6,
                                                 7,
                                                 2,
                                                 1,
                                                 1,
                                                 9,
                                                 10};

static xt_status check_index(const ir_op *op, const index_rules *r, const ir_type *x, const ir_type *indices,
                             int64_t *vector_dim) {
    size_t nb, nib, nm, nr;
    const int64_t *batch = ir_get_ints(op, r->batching, &nb), *ib = ir_get_ints(op, r->index_batching, &nib);
    const int64_t *index_map = ir_get_ints(op, r->map, &nm), *removed = ir_get_ints(op, r->removed, &nr);
    if (!ir_dtype_is_int(indices->dtype))
        return infer_fail(op, -2, "the indices must be integers, they are %s", ir_dtype_mlir(indices->dtype));
    XT_TRY(infer_int(op, IR_A_index_vector_dim, vector_dim));
    XT_TRY(infer_axis(op, r->vector_dim, IR_A_index_vector_dim, *vector_dim, (int64_t)indices->rank + 1));
    int64_t parts = *vector_dim < indices->rank ? indices->dims[*vector_dim] : 1;
    if (!infer_dim_eq(parts, (int64_t)nm))
        return infer_fail(op, r->map_size, "%s = %s has %zu entries, an index vector has %lld",
                          ir_attr_key_name(r->map), infer_dims(nm, index_map).text, nm, (long long)parts);
    XT_TRY(disjoint(op, r->removed_unique, r->removed, removed, nr, r->batching, batch, nb));
    XT_TRY(infer_sorted(op, r->removed_sorted, r->removed, removed, nr));
    XT_TRY(infer_axes(op, r->removed_range, r->removed, removed, nr, x->rank));
    XT_TRY(infer_sorted(op, r->batch_sorted, r->batching, batch, nb));
    XT_TRY(infer_axes(op, r->batch_range, r->batching, batch, nb, x->rank));
    XT_TRY(infer_unique(op, r->ib_unique, r->index_batching, ib, nib));
    XT_TRY(infer_axes(op, r->ib_range, r->index_batching, ib, nib, indices->rank));
    if (infer_has(ib, nib, *vector_dim))
        return infer_fail(op, r->ib_vector, "index_vector_dim %lld is a batching dim too", (long long)*vector_dim);
    if (nb != nib) return infer_fail(op, r->batch_size, "%zu operand batching dims, %zu index batching dims", nb, nib);
    for (size_t i = 0; i < nb; i++)
        if (!infer_dim_eq(x->dims[batch[i]], indices->dims[ib[i]]))
            return infer_fail(op, r->batch_dims, "operand batching dim %lld is %lld, indices dim %lld is %lld",
                              (long long)batch[i], (long long)x->dims[batch[i]], (long long)ib[i],
                              (long long)indices->dims[ib[i]]);
    XT_TRY(disjoint(op, r->map_unique, r->map, index_map, nm, r->batching, batch, nb));
    return infer_axes(op, r->map_range, r->map, index_map, nm, x->rank);
}

/* gather's result: slice sizes at offset_dims, the other dims those of the indices without the index vector. `sizes`
 * NULL: not known. */
static xt_status gather_result(const ir_op *op, int c_offset, const int64_t *sizes, int64_t vector_dim,
                               const ir_type **out, size_t *n_out) {
    const ir_type *x = infer_in(op, 0), *indices = infer_in(op, 1);
    size_t no, nc, nb, kept = 0, at = 0;
    const int64_t *offset = ir_get_ints(op, IR_A_offset_dims, &no),
                  *collapsed = ir_get_ints(op, IR_A_collapsed_slice_dims, &nc);
    const int64_t *batch = ir_get_ints(op, IR_A_operand_batching_dims, &nb);
    int64_t offset_sizes[IR_MAX_RANK], dims[2 * IR_MAX_RANK];
    for (uint32_t i = 0; i < x->rank; i++)
        if (!infer_has(collapsed, nc, i) && !infer_has(batch, nb, i))
            offset_sizes[kept++] = sizes ? sizes[i] : IR_DYNAMIC;
    size_t rank = kept + indices->rank - (vector_dim < indices->rank);
    XT_TRY(infer_axes(op, c_offset, IR_A_offset_dims, offset, no, (int64_t)rank));
    size_t o = 0;
    for (size_t i = 0; i < rank; i++) {
        if (infer_has(offset, no, (int64_t)i)) {
            dims[i] = offset_sizes[o++];
            continue;
        }
        if ((int64_t)at == vector_dim) at++;
        dims[i] = indices->dims[at++];
    }
    return infer_one_tensor(op, x->dtype, rank, dims, out, n_out);
}

static xt_status check_offset_dims(const ir_op *op, size_t extra) {
    size_t no, nc;
    const int64_t *offset = ir_get_ints(op, IR_A_offset_dims, &no);
    ir_get_ints(op, IR_A_collapsed_slice_dims, &nc);
    if (infer_in(op, 0)->rank != no + nc + extra)
        return infer_fail(op, 1, "the operand has %u dims, but %zu are offset, %zu collapsed and %zu batching",
                          infer_in(op, 0)->rank, no, nc, extra);
    XT_TRY(infer_unique(op, 4, IR_A_offset_dims, offset, no));
    return infer_sorted(op, 4, IR_A_offset_dims, offset, no);
}

/* c_range, c_collapsed, c_batch: the numbers of the three constraints on a slice's sizes. */
static xt_status check_slice_sizes(const ir_op *op, const int64_t *sizes, size_t n, int c_count, int c_range,
                                   int c_collapsed, int c_batch) {
    const ir_type *x = infer_in(op, 0);
    size_t nb, nc;
    const int64_t *batch = ir_get_ints(op, IR_A_operand_batching_dims, &nb),
                  *collapsed = ir_get_ints(op, IR_A_collapsed_slice_dims, &nc);
    if (n != x->rank)
        return infer_fail(op, c_count, "slice_sizes = %s, expected %u entries", infer_dims(n, sizes).text, x->rank);
    for (size_t i = 0; i < n; i++) {
        if (sizes[i] < 0 || (x->dims[i] != IR_DYNAMIC && sizes[i] > x->dims[i]))
            return infer_fail(op, c_range, "slice_sizes[%zu] is %lld, expected 0 to %lld", i, (long long)sizes[i],
                              (long long)x->dims[i]);
        if (sizes[i] > 1 && infer_has(collapsed, nc, (int64_t)i))
            return infer_fail(op, c_collapsed, "dim %zu is collapsed but its slice size is %lld", i,
                              (long long)sizes[i]);
        if (sizes[i] > 1 && infer_has(batch, nb, (int64_t)i))
            return infer_fail(op, c_batch, "dim %zu is batching but its slice size is %lld", i, (long long)sizes[i]);
    }
    return NULL;
}

RULE(gather) {
    size_t nb, n;
    int64_t vector_dim;
    const int64_t *sizes;
    ir_get_ints(op, IR_A_operand_batching_dims, &nb);
    XT_TRY(check_offset_dims(op, nb));
    XT_TRY(check_index(op, &gather_rules, infer_in(op, 0), infer_in(op, 1), &vector_dim));
    XT_TRY(infer_ints(op, IR_A_slice_sizes, &sizes, &n));
    XT_TRY(check_slice_sizes(op, sizes, n, 20, 21, 9, 12));
    return gather_result(op, 5, sizes, vector_dim, out, n_out);
}

RULE(dynamic_gather) {
    const ir_type *x = infer_in(op, 0), *sizes = infer_in(op, 2);
    int64_t vector_dim, known[IR_MAX_RANK];
    size_t nb, n;
    ir_get_ints(op, IR_A_operand_batching_dims, &nb);
    XT_TRY(check_offset_dims(op, nb));
    XT_TRY(check_index(op, &dynamic_gather_rules, x, infer_in(op, 1), &vector_dim));
    if (sizes->rank != 1 || !ir_dtype_is_int(sizes->dtype) || !infer_dim_eq(sizes->dims[0], x->rank))
        return infer_fail(op, 11, "the slice sizes must be a list of %u integers", x->rank);
    bool is_known = infer_known(op, 2, known, IR_MAX_RANK, &n);
    if (is_known) XT_TRY(check_slice_sizes(op, known, n, 11, 12, 8, 8));
    return gather_result(op, 5, is_known ? known : NULL, vector_dim, out, n_out);
}

/* Updates have the dims of the indices (without the index vector) and, at update_window_dims, windows no larger than
 * the input's dims. */
static xt_status check_updates(const ir_op *op, const ir_type *x, const ir_type *indices, const ir_type *updates,
                               int64_t vector_dim) {
    size_t nw, ni, nb, w = 0, at = 0, d = 0;
    const int64_t *window = ir_get_ints(op, IR_A_update_window_dims, &nw),
                  *inserted = ir_get_ints(op, IR_A_inserted_window_dims, &ni);
    const int64_t *batch = ir_get_ints(op, IR_A_input_batching_dims, &nb);
    if (x->rank != nw + ni + nb)
        return infer_fail(op, 2, "the input has %u dims, but %zu are window, %zu inserted and %zu batching", x->rank,
                          nw, ni, nb);
    XT_TRY(infer_unique(op, 7, IR_A_update_window_dims, window, nw));
    XT_TRY(infer_sorted(op, 7, IR_A_update_window_dims, window, nw));
    XT_TRY(infer_axes(op, 8, IR_A_update_window_dims, window, nw, updates->rank));
    size_t rank = nw + indices->rank - (vector_dim < indices->rank);
    if (updates->rank != rank) return infer_fail(op, 4, "the updates have %u dims, expected %zu", updates->rank, rank);
    for (size_t i = 0; i < rank; i++) {
        int64_t have = updates->dims[i], want;
        if (w < nw && window[w] == (int64_t)i) {
            while (infer_has(inserted, ni, (int64_t)d) || infer_has(batch, nb, (int64_t)d)) d++;
            want = x->dims[d++];
            w++;
            if (want != IR_DYNAMIC && have > want)
                return infer_fail(op, 4, "update dim %zu is a window of %lld over an input dim of %lld", i,
                                  (long long)have, (long long)want);
            continue;
        }
        if ((int64_t)at == vector_dim) at++;
        want = indices->dims[at++];
        if (!infer_dim_eq(have, want))
            return infer_fail(op, 4, "update dim %zu is %lld, the indices' dim is %lld", i, (long long)have,
                              (long long)want);
    }
    return NULL;
}

RULE(scatter) {
    size_t n = op->n_in / 2;
    if (op->n_in < 3 || op->n_in % 2 == 0)
        return infer_fail(op, 5, "%u operands given, expected N inputs, the indices, N updates", op->n_in);
    const ir_type *x = infer_in(op, 0), *indices = infer_in(op, n), *updates = infer_in(op, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (!infer_same_shape(infer_in(op, i), x))
            return infer_fail(op, 1, "input %zu has another shape than input 0", i);
        if (!infer_same_shape(infer_in(op, n + 1 + i), updates))
            return infer_fail(op, 3, "updates %zu have another shape than updates 0", i);
        if (infer_in(op, i)->dtype != infer_in(op, n + 1 + i)->dtype)
            return infer_fail(op, 6, "updates %zu have another element type than their input", i);
    }
    int64_t vector_dim;
    XT_TRY(check_index(op, &scatter_rules, x, indices, &vector_dim));
    XT_TRY(check_updates(op, x, indices, updates, vector_dim));
    xt_dtype small[16], *types = n <= 16 ? small : base_calloc(n, sizeof *types);
    if (!types) return status_oom(n * sizeof *types, "result types");
    xt_status s = infer_reducer(op, 23, 0, n, 0, types);
    for (size_t i = 0; !s && i < n; i++) s = infer_tensor(op, types[i], x->rank, infer_in(op, i)->dims, &out[i]);
    *n_out = n;
    if (types != small) base_free(types);
    return s;
}

RULE(torch_index_select) {
    const ir_type *x = infer_in(op, 0), *index = infer_in(op, 1);
    int64_t dim, batch, dims[2 * IR_MAX_RANK];
    size_t n = 0;
    XT_TRY(infer_int(op, IR_A_dim, &dim));
    XT_TRY(infer_int(op, IR_A_batch_dims, &batch));
    XT_TRY(infer_axis(op, 0, IR_A_dim, dim, x->rank));
    if (!ir_dtype_is_int(index->dtype)) return infer_fail(op, -2, "the index must be integers");
    if (batch < 0 || batch > dim || batch > index->rank)
        return infer_fail(op, 0, "batch_dims is %lld, expected 0 to dim", (long long)batch);
    for (int64_t i = 0; i < dim; i++) dims[n++] = x->dims[i];
    for (int64_t i = batch; i < index->rank; i++) dims[n++] = index->dims[i];
    for (int64_t i = dim + 1; i < x->rank; i++) dims[n++] = x->dims[i];
    return infer_one_tensor(op, x->dtype, n, dims, out, n_out);
}
