/* Gathers and scatters whose index vectors count a dim of the index array itself, as take_along_axis, scatter_add and
 * cross entropy record them (indices joined with an iota), become gathers and scatters with a batching dim: no index
 * array is put together, and those who divide the work know that slices along that dim never meet. */
#include "pass/rewrite.h"

enum { MOST = 16 };

/* The dim of v along which each element is its own coordinate, or -1. Dims of size 1 are never it. */
static int64_t counting_dim(const ir_value *v, int depth) {
    const ir_op *op = v->def;
    size_t n;
    if (!op || depth > 16 || v->type->kind != IR_TENSOR || v->type->count < 0) return -1;
    int64_t at = op->n_in ? -1 : ir_get_int(op, IR_A_iota_dimension, -1);
    const ir_type *to = v->type, *from = op->n_in ? op->in[0]->type : NULL;
    switch ((int)op->code) {
    case OP_iota:
        return at >= 0 && to->dims[at] > 1 && xt_dtype_size(to->dtype) >= 4 && ir_dtype_is_int(to->dtype) ? at : -1;
    case OP_convert:
        if (!ir_dtype_is_int(from->dtype) || !ir_dtype_is_int(to->dtype) || xt_dtype_size(to->dtype) < 4) return -1;
        return counting_dim(op->in[0], depth + 1);
    case OP_broadcast_in_dim: {
        at = counting_dim(op->in[0], depth + 1);
        const int64_t *where = ir_get_ints(op, IR_A_broadcast_dimensions, &n);
        return at < 0 ? -1 : where[at];
    }
    case OP_reshape: { /* only dims of size 1 come or go */
        uint32_t i = 0, j = 0;
        at = counting_dim(op->in[0], depth + 1);
        if (at < 0) return -1;
        for (;;) {
            while (i < from->rank && from->dims[i] == 1) i++;
            while (j < to->rank && to->dims[j] == 1) j++;
            if (i == from->rank || j == to->rank || from->dims[i] != to->dims[j]) return -1;
            if (i == at) break;
            i++, j++;
        }
        /* what follows must match too: a split or merged dim behind would still count the same, but say so by
         * its own rule */
        uint32_t rest = 0;
        for (uint32_t k = i + 1, l = j + 1; !rest;) {
            while (k < from->rank && from->dims[k] == 1) k++;
            while (l < to->rank && to->dims[l] == 1) l++;
            if (k == from->rank && l == to->rank) break;
            if (k == from->rank || l == to->rank || from->dims[k++] != to->dims[l++]) rest = 1;
        }
        return rest ? -1 : (int64_t)j;
    }
    default: return -1;
    }
}

static bool has(const int64_t *v, size_t n, int64_t x) {
    for (size_t i = 0; i < n; i++)
        if (v[i] == x) return true;
    return false;
}

typedef struct dims_list {
    int64_t v[MOST];
    size_t n;
} dims_list;
static bool list_of(const ir_op *op, ir_attr_key k, dims_list *out) {
    const int64_t *v = ir_get_ints(op, k, &out->n);
    if (out->n >= MOST) return false;
    for (size_t i = 0; i < out->n; i++) out->v[i] = v[i];
    return true;
}

static xt_status set_list(ir_builder *b, ir_op *op, ir_attr_key k, const dims_list *l) {
    ir_attr a = ir_attr_ints(b, k, l->n, l->v);
    if (b->status) return b->status;
    for (uint32_t i = 0; i < op->n_attrs; i++)
        if (op->attrs[i].key == k) {
            op->attrs[i] = a;
            return NULL;
        }
    ir_attr *more = arena_alloc(b->m->mem, (op->n_attrs + 1) * sizeof *more);
    if (!more) return status_oom(sizeof *more, "a pass");
    memcpy(more, op->attrs, op->n_attrs * sizeof *more);
    more[op->n_attrs++] = a;
    op->attrs = more;
    return NULL;
}

typedef struct keys { /* the same numbers go by other names in scatter */
    ir_attr_key map, removed, batching, index_batching;
} keys;

/* Component c of the index vectors counts dim `at` of the indices: takes it out, in the lists. False when a rule of
 * batching dims forbids it. */
static bool take_out(const ir_op *op, size_t c, int64_t at, dims_list *index_map, dims_list *removed,
                     dims_list *batching, dims_list *index_batching) {
    const ir_type *x = op->in[0]->type, *indices = op->in[1]->type;
    int64_t dim = index_map->v[c];
    if (!has(removed->v, removed->n, dim) || has(index_batching->v, index_batching->n, at) ||
        x->dims[dim] != indices->dims[at])
        return false;
    if (batching->n + 1 >= MOST) return false;
    memmove(index_map->v + c, index_map->v + c + 1, (--index_map->n - c) * sizeof *index_map->v);
    size_t r = 0;
    while (removed->v[r] != dim) r++;
    memmove(removed->v + r, removed->v + r + 1, (--removed->n - r) * sizeof *removed->v);
    size_t where = 0; /* operand batching dims are sorted */
    while (where < batching->n && batching->v[where] < dim) where++;
    memmove(batching->v + where + 1, batching->v + where, (batching->n - where) * sizeof *batching->v);
    memmove(index_batching->v + where + 1, index_batching->v + where,
            (index_batching->n - where) * sizeof *index_batching->v);
    batching->v[where] = dim, index_batching->v[where] = at;
    batching->n++, index_batching->n++;
    return true;
}

static xt_status visit(rewriter *r, pass_ctx *c, ir_op *op, void *module) {
    (void)r;
    static const keys of_gather = {IR_A_start_index_map, IR_A_collapsed_slice_dims, IR_A_operand_batching_dims,
                                   IR_A_start_indices_batching_dims};
    static const keys of_scatter = {IR_A_scatter_dims_to_operand_dims, IR_A_inserted_window_dims,
                                    IR_A_input_batching_dims, IR_A_scatter_indices_batching_dims};
    if (op->code != OP_gather && (op->code != OP_scatter || op->n_in != 3)) return NULL;
    const keys *k = op->code == OP_gather ? &of_gather : &of_scatter;
    const ir_op *join = op->in[1]->def;
    int64_t vector = ir_get_int(op, IR_A_index_vector_dim, 0);
    dims_list index_map, removed, batching, index_batching;
    if (!join || join->code != OP_concatenate || ir_get_int(join, IR_A_dimension, 0) != vector || join->n_in > MOST ||
        op->in[0]->type->count <= 0)
        return NULL;
    if (!list_of(op, k->map, &index_map) || !list_of(op, k->removed, &removed) || !list_of(op, k->batching, &batching))
        return NULL;
    if (!list_of(op, k->index_batching, &index_batching) || index_map.n != join->n_in) return NULL;
    ir_value *left[MOST];
    size_t n = join->n_in, taken = 0;
    for (size_t i = 0; i < n; i++) {
        if (join->in[i]->type->dims[vector] != 1) return NULL;
        left[i] = join->in[i];
    }
    for (size_t i = n; i-- > 0;) {
        int64_t at = n > 1 ? counting_dim(left[i], 0) : -1;
        if (at < 0 || at == vector || !take_out(op, i, at, &index_map, &removed, &batching, &index_batching)) continue;
        memmove(left + i, left + i + 1, (--n - i) * sizeof(ir_value *));
        taken++;
    }
    if (!taken) return NULL;
    ir_builder b = ir_before(module, op);
    b.src = op->src;
    b.path = op->path;
    ir_value *indices = left[0];
    if (n > 1) {
        ir_attr dim = ir_attr_int(IR_A_dimension, vector);
        ir_op *made = ir_build(&b, OP_concatenate, n, left, 1, &dim, 0, NULL, 0, NULL);
        indices = made ? &made->out[0] : NULL;
    }
    if (!indices) return b.status;
    ir_set_operand(op, 1, indices);
    XT_TRY(set_list(&b, op, k->map, &index_map));
    XT_TRY(set_list(&b, op, k->removed, &removed));
    XT_TRY(set_list(&b, op, k->batching, &batching));
    XT_TRY(set_list(&b, op, k->index_batching, &index_batching));
    c->changed = true;
    return NULL;
}

xt_status pass_opt_index(pass_ctx *c, ir_module *m) {
    rewriter r = REWRITER_INIT;
    xt_status s = rewrite_module(&r, c, m, visit, m);
    rewriter_deinit(&r);
    return s;
}
