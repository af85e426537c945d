/* What the collectives mean: which processes of a replica x partition grid form a group, and what each member gets from
 * everyone's operands. Pure: how the operands travel is the business of interp_parallel.c (threads) and of the caller's
 * hook (ranks). */
#include "ir/interp_collective.h"

/* The StableHLO strategies; ids in groups count replicas, partitions, or all processes. */
typedef enum strategy { CROSS_REPLICA, CROSS_PARTITION, CROSS_BOTH, FLATTENED } strategy;

static strategy strategy_of(const ir_op *op) {
    bool channel = ir_get_int(op, IR_A_channel_id, 0) > 0;
    switch (op->code) {
    case OP_all_reduce:
    case OP_all_gather:
    case OP_reduce_scatter:
        if (!channel) return CROSS_REPLICA;
        return ir_get_bool(op, IR_A_use_global_device_ids, false) ? FLATTENED : CROSS_BOTH;
    default: return channel ? CROSS_PARTITION : CROSS_REPLICA;
    }
}

/* Processes named by one group of ids, in the order of the specification; `replica` and `partition` are the asking
 * process's own. */
static size_t expand(const process_grid *g, strategy how, const int64_t *ids, size_t n, int64_t replica,
                     int64_t partition, int64_t *out) {
    size_t k = 0;
    int64_t repeats = how == CROSS_BOTH ? g->partitions : 1;
    for (int64_t p = 0; p < repeats; p++)
        for (size_t i = 0; i < n; i++) {
            if (ids[i] < 0) continue; /* -1 fills short groups */
            switch (how) {
            case CROSS_REPLICA: out[k++] = ids[i] * g->partitions + partition; break;
            case CROSS_PARTITION: out[k++] = replica * g->partitions + ids[i]; break;
            case CROSS_BOTH: out[k++] = ids[i] * g->partitions + p; break;
            case FLATTENED: out[k++] = ids[i]; break;
            }
        }
    return k;
}

xt_status collective_members(const ir_op *op, const process_grid *g, int64_t self, int64_t *out, size_t *out_n) {
    strategy how = strategy_of(op);
    int64_t replica = self / g->partitions, partition = self % g->partitions, size = g->replicas * g->partitions;
    const ir_attr *a = op->code == OP_collective_permute ? NULL : ir_attr_find(op, IR_A_replica_groups);
    int64_t *all = base_malloc((size_t)size * sizeof *all);
    if (!all) return status_oom((size_t)size * sizeof *all, "a process group");
    *out_n = 0;
    if (!a || a->kind != IR_AK_INTS || a->n == 0) { /* one group of everybody */
        int64_t n = how == CROSS_PARTITION ? g->partitions : how == FLATTENED ? size : g->replicas;
        for (int64_t i = 0; i < n; i++) all[i] = i;
        *out_n = expand(g, how, all, (size_t)n, replica, partition, out);
        base_free(all);
        return NULL;
    }
    base_free(all);
    size_t width = a->rank2 ? a->rank2 : a->n;
    int64_t limit = how == CROSS_PARTITION ? g->partitions : how == FLATTENED ? size : g->replicas;
    for (size_t at = 0; at + width <= a->n; at += width) {
        for (size_t i = 0; i < width; i++)
            if (a->v.ints[at + i] >= limit || width > (size_t)limit)
                return status_new(XT_INVALID_ARGUMENT, NULL, "%s names process %lld of a group, but there are %lld",
                                  ir_op_infos[op->code].name, (long long)a->v.ints[at + i], (long long)limit);
        size_t n = expand(g, how, a->v.ints + at, width, replica, partition, out);
        for (size_t i = 0; i < n; i++)
            if (out[i] == self) {
                *out_n = n;
                return NULL;
            }
    }
    return NULL;
}

/* --- What a member gets --- */
/* out = the members' operand `j` combined by the op's computation, in the members' order. */
static xt_status combine(interp *c, const ir_op *op, size_t n, const array *const *in, uint32_t j, array *out) {
    const ir_block *body = op->regions[0].block;
    xt_dtype t = body->args[0]->type->dtype;
    const array *first = &in[0][j];
    region_eval *r;
    XT_TRY(region_eval_new(c, body, 0, NULL, &r));
    uint64_t rows[2][2 * INTERP_CHUNK];
    size_t from = xt_dtype_size(first->type->dtype), to = xt_dtype_size(t);
    xt_status s = NULL;
    for (int64_t at = 0; at < first->type->count && !s; at += INTERP_CHUNK) {
        int64_t m = first->type->count - at < INTERP_CHUNK ? first->type->count - at : INTERP_CHUNK;
        convert_elems(m, first->type->dtype, (const char *)first->data + (size_t)at * from, t, rows[0]);
        for (size_t k = 1; k < n && !s; k++) {
            convert_elems(m, first->type->dtype, (const char *)in[k][j].data + (size_t)at * from, t, rows[1]);
            s = region_eval_run(r, m, (const void *const[]){rows[0], rows[1]}, (void *const[]){rows[0]});
        }
        memcpy((char *)out->data + (size_t)at * to, rows[0], (size_t)m * to);
    }
    region_eval_free(r);
    return s;
}

/* A box of `dims` from `src` at `src_at` along dim d, into `dst` at `dst_at`. */
static void copy_box(const array *src, int64_t src_at, array *dst, int64_t dst_at, const int64_t *dims, size_t d) {
    int64_t from[INTERP_MAX_RANK], to[INTERP_MAX_RANK];
    size_t size = xt_dtype_size(src->type->dtype);
    strides_of(src->type->rank, src->type->dims, from);
    strides_of(dst->type->rank, dst->type->dims, to);
    copy_strided(src->type->rank, dims, (char *)dst->data + (size_t)(dst_at * to[d]) * size, to,
                 (const char *)src->data + (size_t)(src_at * from[d]) * size, from, size);
}

static void gather_all(const ir_op *op, size_t n, const array *const *in, uint32_t j, array *out) {
    size_t d = (size_t)ir_get_int(op, IR_A_all_gather_dim, 0);
    for (size_t k = 0; k < n; k++)
        copy_box(&in[k][j], 0, out, (int64_t)k * in[k][j].type->dims[d], in[k][j].type->dims, d);
}

static void exchange_all(const ir_op *op, size_t n, const array *const *in, uint32_t j, size_t me, array *out) {
    size_t split = (size_t)ir_get_int(op, IR_A_split_dimension, 0),
           concat = (size_t)ir_get_int(op, IR_A_concat_dimension, 0);
    int64_t dims[INTERP_MAX_RANK], to[INTERP_MAX_RANK], from[INTERP_MAX_RANK];
    const ir_type *t = in[0][j].type;
    size_t size = xt_dtype_size(t->dtype);
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    dims[split] /= (int64_t)n;
    strides_of(t->rank, t->dims, from);
    strides_of(out->type->rank, out->type->dims, to);
    for (size_t k = 0; k < n; k++)
        copy_strided(t->rank, dims, (char *)out->data + (size_t)((int64_t)k * dims[concat] * to[concat]) * size, to,
                     (const char *)in[k][j].data + (size_t)((int64_t)me * dims[split] * from[split]) * size, from,
                     size);
}

static xt_status reduce_scatter(interp *c, const ir_op *op, size_t n, const array *const *in, uint32_t j, size_t me,
                                array *out) {
    size_t d = (size_t)ir_get_int(op, IR_A_scatter_dimension, 0);
    const ir_type *t = ir_with_dtype(in[0][j].type, out->type->dtype);
    if (!t) return status_oom(sizeof *t, "a type");
    array sum;
    XT_TRY(array_new_raw(t, &sum));
    xt_status s = combine(c, op, n, in, j, &sum);
    if (!s) copy_box(&sum, (int64_t)me * out->type->dims[d], out, 0, out->type->dims, d);
    array_free(&sum);
    return s;
}

static void zero(array *out) {
    memset(out->data, 0, ir_type_bytes(out->type));
}

/* The operand of the pair that has this process as its target; zeros when there is none. Members are a whole line
 * of the grid. */
static void permute(const ir_op *op, size_t n, const array *const *in, uint32_t j, size_t me, array *out) {
    size_t n_pairs;
    const int64_t *pairs = ir_get_ints(op, IR_A_source_target_pairs, &n_pairs);
    zero(out);
    for (size_t k = 0; k + 1 < n_pairs; k += 2)
        if (pairs[k + 1] == (int64_t)me && pairs[k] >= 0 && (size_t)pairs[k] < n)
            memcpy(out->data, in[pairs[k]][j].data, ir_type_bytes(out->type));
}

/* The member whose operand j counts: the group's first, or what the last operand says. */
static xt_status root_of(const ir_op *op, size_t n, const array *const *in, uint32_t j, size_t *out) {
    *out = 0;
    if (!ir_get_bool(op, IR_A_has_dynamic_root, false)) return NULL;
    int64_t root = (int64_t)array_get(&in[0][op->n_in - 1], j);
    if (root < 0 || root >= (int64_t)n)
        return status_new(XT_OUT_OF_RANGE, NULL, "%s: root %lld of a group of %zu", ir_op_infos[op->code].name,
                          (long long)root, n);
    *out = (size_t)root;
    return NULL;
}

xt_status collective_compute(interp *c, const ir_op *op, size_t n, const array *const *in, size_t me, array *out) {
    for (uint32_t j = 0; j < op->n_out; j++) {
        if (n == 0) { /* in no group */
            zero(&out[j]);
            continue;
        }
        size_t root = 0;
        if (op->code == OP_collective_broadcast || op->code == OP_collective_reduce)
            XT_TRY(root_of(op, n, in, j, &root));
        switch (op->code) {
        case OP_all_reduce: XT_TRY(combine(c, op, n, in, j, &out[j])); break;
        case OP_collective_reduce:
            if (me == root)
                XT_TRY(combine(c, op, n, in, j, &out[j]));
            else
                zero(&out[j]);
            break;
        case OP_reduce_scatter: XT_TRY(reduce_scatter(c, op, n, in, j, me, &out[j])); break;
        case OP_all_gather: gather_all(op, n, in, j, &out[j]); break;
        case OP_all_to_all: exchange_all(op, n, in, j, me, &out[j]); break;
        case OP_collective_broadcast: memcpy(out[j].data, in[root][j].data, ir_type_bytes(out[j].type)); break;
        case OP_collective_permute: permute(op, n, in, j, me, &out[j]); break;
        default: return interp_unsupported(op, "this op among processes");
        }
    }
    return NULL;
}
