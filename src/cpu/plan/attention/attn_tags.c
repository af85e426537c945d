/* How tags go through ops: see attn.h. */
#include "cpu/plan/attention/attn.h"

bool attn_tags_equal(const ir_type *t, const attn_tags *a, const attn_tags *b) {
    for (uint32_t d = 0; d < t->rank; d++)
        if (a->at[d] != b->at[d]) return false;
    return true;
}

bool attn_tags_have(const ir_type *t, const attn_tags *g, int64_t tag) {
    for (uint32_t d = 0; d < t->rank; d++)
        if (g->at[d] == tag) return true;
    return false;
}

bool attn_tags_full(const ir_type *t, const attn_tags *g) {
    return attn_has_flat(t, g) || (attn_tags_have(t, g, ATTN_ROW) && attn_tags_have(t, g, ATTN_COL));
}

bool attn_has_flat(const ir_type *t, const attn_tags *g) {
    for (uint32_t d = 0; d < t->rank; d++)
        if (attn_flat(g->at[d])) return true;
    return false;
}

const ir_type *attn_tile_type(const ir_type *t, const attn_tags *g, int64_t rows, int64_t cols) {
    int64_t dims[IR_MAX_RANK];
    for (uint32_t d = 0; d < t->rank; d++) {
        int64_t tag = d < ATTN_RANK ? g->at[d] : ATTN_ALL;
        dims[d] = tag == ATTN_COL && cols              ? cols
                  : tag == ATTN_ALL || tag == ATTN_COL ? t->dims[d]
                  : tag == ATTN_ROW                    ? rows
                  : attn_flat(tag)                     ? rows * attn_flat(tag)
                                                       : 1;
    }
    return ir_tensor(t->dtype, t->rank, dims);
}

/* The k of dims that hold all batch elements, rows and k numbers of each, in that order; 0: they do not. */
static int64_t numbers_of_rows(const ir_type *t, const attn_tags *g, uint32_t from, uint32_t to) {
    int64_t k = attn_flat(g->at[from]), batch = 1;
    if (k) return to - from == 1 ? k : to - from == 2 && g->at[from + 1] == ATTN_ALL ? k * t->dims[from + 1] : 0;
    if (to - from < 2 || g->at[to - 1] != ATTN_COL || g->at[to - 2] != ATTN_ROW) return 0;
    for (uint32_t d = to - 2; d-- > from; batch *= t->dims[d])
        if (g->at[d] != batch) return 0;
    return batch == g->batch ? t->dims[to - 1] : 0;
}

/* The tags of the dims from[i0..i1), which hold the same elements as to[j0..j1). */
static bool regroup(const ir_type *from, const attn_tags *in, uint32_t i0, uint32_t i1, const ir_type *to,
                    attn_tags *out, uint32_t j0, uint32_t j1) {
    if (i1 - i0 == 1 && j1 - j0 == 1) {
        out->at[j0] = in->at[i0];
        return true;
    }
    int64_t k = numbers_of_rows(from, in, i0, i1), last = to->dims[j1 - 1];
    if (k && (j1 - j0 == 1 || (j1 - j0 == 2 && k % last == 0))) {
        out->at[j0] = ATTN_FLAT - (j1 - j0 == 1 ? k : k / last);
        if (j1 - j0 == 2) out->at[j0 + 1] = ATTN_ALL;
        return true;
    }
    bool all = true, batch = true;
    for (uint32_t i = i0; i < i1; i++) {
        all = all && in->at[i] == ATTN_ALL;
        batch = batch && in->at[i] > 0 && (i + 1 == i1 || in->at[i] == in->at[i + 1] * from->dims[i + 1]);
    }
    int64_t by = batch ? in->at[i1 - 1] : 0;
    for (uint32_t j = j1; j-- > j0; by *= to->dims[j]) out->at[j] = batch ? by : ATTN_ALL;
    return all || batch;
}

static bool reshape_tags(const ir_type *from, const attn_tags *in, const ir_type *to, attn_tags *out) {
    uint32_t i = 0, j = 0;
    for (;;) {
        while (i < from->rank && from->dims[i] == 1) i++;
        while (j < to->rank && to->dims[j] == 1) j++;
        if (i == from->rank || j == to->rank) return i == from->rank && j == to->rank;
        uint32_t i0 = i, j0 = j;
        int64_t a = from->dims[i++], b = to->dims[j++];
        while (a != b) {
            if (a < b && i < from->rank)
                a *= from->dims[i++];
            else if (b < a && j < to->rank)
                b *= to->dims[j++];
            else
                return false;
        }
        for (uint32_t k = i0; k < i; k++) /* units amid a group have no tag and would break its chain */
            if (i - i0 > 1 && from->dims[k] == 1) return false;
        for (uint32_t k = j0; k < j; k++)
            if (j - j0 > 1 && to->dims[k] == 1) return false;
        if (!regroup(from, in, i0, i, to, out, j0, j)) return false;
    }
}

typedef struct dot_dims {
    const int64_t *batch[2], *contract[2];
    size_t n_batch, n_contract;
} dot_dims;
static dot_dims dims_of(const ir_op *op) {
    dot_dims d;
    d.batch[0] = ir_get_ints(op, IR_A_lhs_batching_dimensions, &d.n_batch);
    d.batch[1] = ir_get_ints(op, IR_A_rhs_batching_dimensions, &d.n_batch);
    d.contract[0] = ir_get_ints(op, IR_A_lhs_contracting_dimensions, &d.n_contract);
    d.contract[1] = ir_get_ints(op, IR_A_rhs_contracting_dimensions, &d.n_contract);
    return d;
}
static bool is_free(const dot_dims *d, int side, int64_t dim) {
    for (size_t i = 0; i < d->n_batch; i++)
        if (d->batch[side][i] == dim) return false;
    for (size_t i = 0; i < d->n_contract; i++)
        if (d->contract[side][i] == dim) return false;
    return true;
}
/* The result's dims: batch, free of the left, free of the right. Calls for each dim of operand `side` that is one of
 * the result's. */
static void each_result_dim(const ir_op *op, uint32_t side,
                            void (*fn)(void *ctx, uint32_t of_operand, uint32_t of_result), void *ctx) {
    dot_dims d = dims_of(op);
    uint32_t at = 0;
    for (size_t i = 0; i < d.n_batch; i++) fn(ctx, (uint32_t)d.batch[side][i], at++);
    for (int s = 0; s < 2; s++)
        for (uint32_t k = 0; k < op->in[s]->type->rank; k++) {
            if (!is_free(&d, s, k)) continue;
            if ((uint32_t)s == side) fn(ctx, k, at);
            at++;
        }
}
typedef struct two {
    const attn_tags *from;
    attn_tags *to;
} two;
static void result_to_operand(void *ctx, uint32_t of_operand, uint32_t of_result) {
    const two *t = ctx;
    t->to->at[of_operand] = t->from->at[of_result];
}
static void operand_to_result(void *ctx, uint32_t of_operand, uint32_t of_result) {
    const two *t = ctx;
    t->to->at[of_result] = t->from->at[of_operand];
}

void attn_tags_beside(const ir_op *dot, uint32_t i, const attn_tags *in, attn_tags *other) {
    dot_dims d = dims_of(dot);
    *other = (attn_tags){.batch = in->batch};
    for (size_t k = 0; k < d.n_batch; k++) other->at[d.batch[1 - i][k]] = in->at[d.batch[i][k]];
    for (size_t k = 0; k < d.n_contract; k++) other->at[d.contract[1 - i][k]] = in->at[d.contract[i][k]];
}

bool attn_tags_back(const ir_op *op, uint32_t i, const attn_tags *out, attn_tags *in) {
    const ir_type *from = op->in[i]->type, *to = op->out[0].type;
    size_t n;
    *in = (attn_tags){.batch = out->batch};
    if (from->kind != IR_TENSOR || from->rank > ATTN_RANK) return false;
    if (ir_op_infos[op->code].flags & IR_ELEMENTWISE) {
        if (from->rank == to->rank) *in = *out;
        return from->rank == to->rank || from->rank == 0;
    }
    switch ((int)op->code) {
    case OP_broadcast_in_dim: {
        const int64_t *dims = ir_get_ints(op, IR_A_broadcast_dimensions, &n);
        for (uint32_t d = 0; d < from->rank; d++) in->at[d] = from->dims[d] == 1 ? ATTN_ALL : out->at[dims[d]];
        return true;
    }
    case OP_transpose: {
        const int64_t *perm = ir_get_ints(op, IR_A_permutation, &n);
        for (uint32_t d = 0; d < to->rank; d++) in->at[perm[d]] = out->at[d];
        return true;
    }
    case OP_reshape: return reshape_tags(to, out, from, in);
    case OP_concatenate: *in = *out; return out->at[ir_get_int(op, IR_A_dimension, 0)] == ATTN_ALL;
    case OP_dot_general: each_result_dim(op, i, result_to_operand, &(two){out, in}); return true;
    default: return false;
    }
}

static bool reduces(const ir_op *op, int64_t dim) {
    size_t n;
    const int64_t *dims = ir_get_ints(op, IR_A_dimensions, &n);
    for (size_t i = 0; i < n; i++)
        if (dims[i] == dim) return true;
    return false;
}

bool attn_tags_on(const ir_op *op, uint32_t i, const attn_tags *in, attn_tags *out) {
    const ir_type *from = op->in[i]->type, *to = op->out[0].type;
    size_t n;
    *out = (attn_tags){.batch = in->batch};
    if (to->kind != IR_TENSOR || to->rank > ATTN_RANK) return false;
    if (ir_op_infos[op->code].flags & IR_ELEMENTWISE) {
        *out = *in;
        return from->rank == to->rank;
    }
    switch ((int)op->code) {
    case OP_broadcast_in_dim: { /* a new dim can only be told when it is a unit */
        const int64_t *dims = ir_get_ints(op, IR_A_broadcast_dimensions, &n);
        if (from->count != to->count) return false;
        for (uint32_t d = 0; d < from->rank; d++) out->at[dims[d]] = in->at[d];
        return true;
    }
    case OP_transpose: {
        const int64_t *perm = ir_get_ints(op, IR_A_permutation, &n);
        for (uint32_t d = 0; d < to->rank; d++) out->at[d] = in->at[perm[d]];
        return true;
    }
    case OP_reshape: return reshape_tags(from, in, to, out);
    case OP_concatenate: *out = *in; return in->at[ir_get_int(op, IR_A_dimension, 0)] == ATTN_ALL;
    case OP_dot_general: each_result_dim(op, i, operand_to_result, &(two){in, out}); return true;
    case OP_reduce: {
        uint32_t at = 0;
        for (uint32_t d = 0; d < from->rank; d++)
            if (!reduces(op, d)) out->at[at++] = in->at[d];
        return true;
    }
    default: return false;
    }
}
