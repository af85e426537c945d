/* Rules of ops between devices. What replica and partition ids exist is known only at run time, so ids are checked for
 * sign and repetition. */
#include "ir/infer.h"

#include <stdlib.h>

static int compare_ids(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Every id at most once; -1 pads short groups. `step` picks a column: ids v[0], v[step], ... */
static xt_status check_ids(const ir_op *op, int c_unique, int c_range, const char *what, const int64_t *v, size_t n,
                           size_t step, bool padded) {
    int64_t *ids = base_malloc((n / step + 1) * sizeof *ids);
    size_t count = 0;
    xt_status s = ids ? NULL : status_oom(n * sizeof *ids, "device ids");
    for (size_t i = 0; !s && i < n; i += step) {
        if (padded && v[i] == -1) continue;
        if (v[i] < 0) s = infer_fail(op, c_range, "%s has the id %lld", what, (long long)v[i]);
        ids[count++] = v[i];
    }
    if (!s) qsort(ids, count, sizeof *ids, compare_ids);
    for (size_t i = 1; !s && i < count; i++)
        if (ids[i] == ids[i - 1]) s = infer_fail(op, c_unique, "%s names the id %lld twice", what, (long long)ids[i]);
    if (!s && step == 1 && op->code != OP_collective_broadcast && count && ids[count - 1] != (int64_t)count - 1)
        s = infer_fail(op, c_range, "%s has %zu ids up to %lld, so one is missing", what, count,
                       (long long)ids[count - 1]);
    base_free(ids);
    return s;
}

/* Ops whose groups may differ in size, filled up with -1. */
static bool ragged_groups(ir_opcode code) {
    return code != OP_all_gather && code != OP_all_to_all && code != OP_reduce_scatter;
}

/* replica_groups is there and sound; *out_size is the length of one group, 0 when "all" is meant by an empty list. */
static xt_status check_groups(const ir_op *op, int c_unique, int c_range, int c_ids, int64_t *out_size) {
    const ir_attr *a = ir_attr_find(op, IR_A_replica_groups);
    if (!a) return infer_fail(op, 0, "attribute 'replica_groups' is missing");
    if (a->n && !a->rank2) return infer_fail(op, c_unique, "replica_groups must be a matrix, one row a group");
    *out_size = a->n ? (int64_t)a->rank2 : 0;
    XT_TRY(check_ids(op, c_unique, c_range, "replica_groups", a->v.ints, a->n, 1, ragged_groups(op->code)));
    if (c_ids && ir_get_bool(op, IR_A_use_global_device_ids, false) && ir_get_int(op, IR_A_channel_id, 0) <= 0)
        return infer_fail(op, c_ids, "use_global_device_ids needs a channel_id above 0");
    return NULL;
}

xt_status infer_pairs(const ir_op *op) {
    const ir_attr *a = ir_attr_find(op, IR_A_source_target_pairs);
    if (!a) return infer_fail(op, 0, "attribute 'source_target_pairs' is missing");
    if (a->n && a->rank2 != 2) return infer_fail(op, 1, "source_target_pairs must be pairs");
    XT_TRY(check_ids(op, 2, 4, "the sources", a->v.ints, a->n, 2, false));
    return a->n ? check_ids(op, 3, 4, "the targets", a->v.ints + 1, a->n - 1, 2, false) : NULL;
}

static xt_status some_tensors(const ir_op *op) {
    if (!op->n_in) return infer_fail(op, 0, "it needs at least one operand");
    return infer_tensors(op, 0, op->n_in);
}

static xt_status as_operands(const ir_op *op, size_t n, const ir_type **out, size_t *n_out) {
    for (size_t i = 0; i < n; i++) out[i] = infer_in(op, i);
    *n_out = n;
    return NULL;
}

/* A group may span partitions too (cross_replica_and_partition), so its true size is the stated ratio, a multiple of
 * the listed size. */
static xt_status group_size(const ir_op *op, int c, size_t i, int64_t axis, int64_t listed, bool gathers,
                            int64_t *out) {
    const ir_type *x = infer_in(op, i), *t = infer_stated(op, i);
    *out = listed ? listed : 1;
    if (!t || t->kind != IR_TENSOR || t->rank != x->rank) return NULL;
    int64_t big = gathers ? t->dims[axis] : x->dims[axis], small = gathers ? x->dims[axis] : t->dims[axis];
    if (!gathers && big == 0) return infer_fail(op, c, "dim %lld is 0 and cannot be scattered", (long long)axis);
    if (big == IR_DYNAMIC || small == IR_DYNAMIC || small <= 0) return NULL;
    if (big == 0) return infer_fail(op, c, "dim %lld goes from %lld to 0", (long long)axis, (long long)small);
    if (big % small || (big / small) % *out)
        return infer_fail(op, c, "dim %lld goes from %lld to %lld, which does not fit groups of %lld", (long long)axis,
                          (long long)x->dims[axis], (long long)t->dims[axis], (long long)*out);
    *out = big / small;
    return NULL;
}

RULE(all_gather) {
    int64_t axis, listed, size, dims[IR_MAX_RANK];
    XT_TRY(some_tensors(op));
    XT_TRY(infer_int(op, IR_A_all_gather_dim, &axis));
    XT_TRY(check_groups(op, 2, 4, 5, &listed));
    for (uint32_t i = 0; i < op->n_in; i++) {
        const ir_type *x = infer_in(op, i);
        XT_TRY(infer_axis(op, 1, IR_A_all_gather_dim, axis, x->rank));
        XT_TRY(group_size(op, 6, i, axis, listed, true, &size));
        memcpy(dims, x->dims, x->rank * sizeof *dims);
        if (dims[axis] != IR_DYNAMIC && __builtin_mul_overflow(dims[axis], size, &dims[axis]))
            return infer_fail(op, 6, "dim %lld would overflow", (long long)axis);
        XT_TRY(infer_tensor(op, x->dtype, x->rank, dims, &out[i]));
    }
    *n_out = op->n_in;
    return NULL;
}

/* One computation over scalars of one type serves all operands. */
static xt_status reduced(const ir_op *op, int c, size_t n, const ir_type **out, size_t *n_out) {
    xt_dtype t;
    XT_TRY(infer_reducer(op, c, 0, 1, 0, &t));
    for (size_t i = 0; i < n; i++) {
        const ir_type *x = infer_in(op, i);
        if (!infer_promotable(x, op->regions[0].block->args[0]->type))
            return infer_fail(op, c, "operand %zu of %s does not promote to the computation's %s", i,
                              ir_dtype_mlir(x->dtype), ir_dtype_mlir(t));
        XT_TRY(infer_tensor(op, t, x->rank, x->dims, &out[i]));
    }
    *n_out = n;
    return NULL;
}

RULE(all_reduce) {
    int64_t listed;
    XT_TRY(some_tensors(op));
    XT_TRY(check_groups(op, 1, 3, 4, &listed));
    return reduced(op, 5, op->n_in, out, n_out);
}

/* A dynamic root is one more operand, a list of one id per result. */
static xt_status without_root(const ir_op *op, int c, size_t *out_n) {
    bool dynamic = ir_get_bool(op, IR_A_has_dynamic_root, false);
    XT_TRY(some_tensors(op));
    *out_n = op->n_in - dynamic;
    if (!dynamic) return NULL;
    const ir_type *root = infer_in(op, op->n_in - 1);
    if (op->n_in < 2) return infer_fail(op, c, "a dynamic root needs two operands, the data and the root");
    if (root->rank != 1 || !ir_dtype_is_int(root->dtype) || !infer_dim_eq(root->dims[0], (int64_t)*out_n))
        return infer_fail(op, c, "the last operand must be a list of %zu roots' ids, one for each tensor", *out_n);
    return NULL;
}

RULE(collective_reduce) {
    int64_t listed;
    size_t n;
    XT_TRY(without_root(op, 3, &n));
    XT_TRY(check_groups(op, 1, 2, 4, &listed));
    return reduced(op, 4, n, out, n_out);
}

RULE(collective_broadcast) {
    int64_t listed;
    size_t n;
    XT_TRY(without_root(op, 4, &n));
    XT_TRY(check_groups(op, 1, 2, 0, &listed));
    return as_operands(op, n, out, n_out);
}

RULE(collective_permute) {
    XT_TRY(some_tensors(op));
    XT_TRY(infer_pairs(op));
    return as_operands(op, op->n_in, out, n_out);
}

RULE(reduce_scatter) {
    int64_t axis, listed, size, dims[IR_MAX_RANK];
    const ir_type *reduced_type;
    XT_TRY(some_tensors(op));
    const ir_type *x = infer_in(op, 0);
    XT_TRY(infer_int(op, IR_A_scatter_dimension, &axis));
    XT_TRY(infer_axis(op, 2, IR_A_scatter_dimension, axis, x->rank));
    XT_TRY(check_groups(op, 3, 5, 6, &listed));
    if (listed && x->dims[axis] != IR_DYNAMIC && x->dims[axis] % listed)
        return infer_fail(op, 1, "dim %lld is %lld, which groups of %lld do not divide", (long long)axis,
                          (long long)x->dims[axis], (long long)listed);
    XT_TRY(reduced(op, 7, 1, &reduced_type, n_out));
    XT_TRY(group_size(op, 8, 0, axis, listed, false, &size));
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    if (dims[axis] != IR_DYNAMIC) dims[axis] /= size;
    return infer_one_tensor(op, reduced_type->dtype, x->rank, dims, out, n_out);
}

RULE(all_to_all) {
    int64_t split, concat, count, listed, dims[IR_MAX_RANK];
    XT_TRY(some_tensors(op));
    XT_TRY(infer_int(op, IR_A_split_dimension, &split));
    XT_TRY(infer_int(op, IR_A_concat_dimension, &concat));
    XT_TRY(infer_int(op, IR_A_split_count, &count));
    if (count < 1) return infer_fail(op, 4, "split_count is %lld, expected at least 1", (long long)count);
    XT_TRY(check_groups(op, 5, 7, 0, &listed));
    if (listed != count)
        return infer_fail(op, 8, "groups have %lld members, split_count is %lld", (long long)listed, (long long)count);
    for (uint32_t i = 0; i < op->n_in; i++) {
        const ir_type *x = infer_in(op, i);
        XT_TRY(infer_axis(op, 1, IR_A_split_dimension, split, x->rank));
        XT_TRY(infer_axis(op, 3, IR_A_concat_dimension, concat, x->rank));
        memcpy(dims, x->dims, x->rank * sizeof *dims);
        if (dims[split] != IR_DYNAMIC && dims[split] % count)
            return infer_fail(op, 2, "dim %lld of operand %u is %lld, which split_count %lld does not divide",
                              (long long)split, i, (long long)dims[split], (long long)count);
        if (split != concat) {
            if (dims[split] != IR_DYNAMIC) dims[split] /= count;
            if (dims[concat] != IR_DYNAMIC && __builtin_mul_overflow(dims[concat], count, &dims[concat]))
                return infer_fail(op, 9, "dim %lld would overflow", (long long)concat);
        }
        XT_TRY(infer_tensor(op, x->dtype, x->rank, dims, &out[i]));
    }
    *n_out = op->n_in;
    return NULL;
}

RULE(device_id) {
    return infer_one_tensor(op, XT_U32, 0, NULL, out, n_out);
}

static bool may_be_async(ir_opcode code) {
    return ir_op_infos[code].cls == IR_CLASS_COLLECTIVE || code == OP_slice || code == OP_dynamic_slice ||
           code == OP_dynamic_update_slice;
}

/* The body is one collective or slice and its return; what it returns is promised. */
RULE(async_start) {
    const ir_op *ret;
    XT_TRY(infer_region(op, 1, 0, op->n_in, &ret));
    const ir_op *body = op->regions[0].block->first;
    if (body == ret || body->next != ret) return infer_fail(op, 1, "the body must be one operation and a return");
    if (!may_be_async(body->code))
        return infer_fail(op, 2, "the body's %s is no collective and no slice", ir_op_infos[body->code].name);
    if (body->n_in != op->n_in) return infer_fail(op, 3, "the body's operation must take the arguments of async_start");
    const ir_type *small[16] = {0}, **types = ret->n_in <= 16 ? small : base_calloc(ret->n_in, sizeof *types);
    if (!types) return status_oom(ret->n_in * sizeof *types, "future types");
    for (uint32_t i = 0; i < ret->n_in; i++) types[i] = ret->in[i]->type;
    bool fits = ir_tuple_fits(ret->n_in, types);
    const ir_type *t = fits ? ir_future(ret->n_in, types) : NULL;
    if (types != small) base_free(types);
    if (!fits) return infer_fail(op, -1, "its result would be more than %d types", IR_MAX_PARTS);
    return t ? infer_one(out, n_out, t) : status_oom(sizeof *t, "a future type");
}

RULE(async_done) {
    const ir_type *t = infer_in(op, 0);
    if (t->kind != IR_FUTURE) return infer_fail(op, -1, "the operand must be what async_start returned");
    if (t->rank > 16 + op->n_in + op->n_out) return infer_fail(op, 1, "the results must be stated");
    for (uint32_t i = 0; i < t->rank; i++) out[i] = t->elems[i];
    *n_out = t->rank;
    return NULL;
}
