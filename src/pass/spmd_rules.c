/* The factors of each op: one function a family. A dim that a rule leaves out must be whole. */
#include "ir/interp.h"
#include "pass/spmd.h"

/* --- making a rule --- */
static int factor_kind(spmd_rule *r, int64_t size, bool reduced) {
    if (r->n_factors == r->cap_factors) {
        size_t cap = r->cap_factors ? 2 * r->cap_factors : 8;
        spmd_factor *grown = arena_alloc(r->mem, cap * sizeof *grown);
        if (!grown) {
            r->failed = true;
            return -1;
        }
        if (r->n_factors) memcpy(grown, r->factors, r->n_factors * sizeof *grown);
        r->factors = grown;
        r->cap_factors = cap;
    }
    r->factors[r->n_factors] = (spmd_factor){.size = size, .reduced = reduced};
    return (int)r->n_factors++;
}
static int factor(spmd_rule *r, int64_t size) {
    return factor_kind(r, size, false);
}

/* Dim d of a tensor is (goes on with) this factor. */
static void is_made_of(spmd_rule *r, size_t tensor, int64_t d, int f) {
    if (f < 0) return;
    spmd_dim *dim = &r->dims[tensor][d];
    if (dim->n == SPMD_DIM_FACTORS) {
        r->failed = true;
        return;
    }
    dim->factor[dim->n++] = (int16_t)f;
}

static bool has(const int64_t *v, size_t n, int64_t x) {
    for (size_t i = 0; i < n; i++)
        if (v[i] == x) return true;
    return false;
}

typedef struct ints {
    const int64_t *v;
    size_t n;
} ints;
static ints get(const ir_op *op, ir_attr_key k) {
    ints a;
    a.v = ir_get_ints(op, k, &a.n);
    return a;
}
static int64_t entry(ints a, size_t i, int64_t fallback) {
    return i < a.n ? a.v[i] : fallback;
}

ir_opcode spmd_region_op(const ir_op *op) {
    const ir_block *b = op->n_regions ? op->regions[0].block : NULL;
    const ir_op *o = b && b->n_args == 2 ? b->first : NULL;
    if (!o || o->n_in != 2 || o->n_out != 1 || !o->next || o->next != b->last || o->next->n_in != 1 ||
        o->next->in[0] != &o->out[0])
        return OP_COUNT;
    bool straight = o->in[0] == b->args[0] && o->in[1] == b->args[1],
         crossed = o->in[0] == b->args[1] && o->in[1] == b->args[0];
    return straight || crossed ? o->code : OP_COUNT;
}

bool spmd_is_number(const ir_value *v, double want) {
    while (v->def && (ir_is_sharding(v->def) || v->def->code == OP_broadcast_in_dim || v->def->code == OP_reshape ||
                      v->def->code == OP_convert))
        v = v->def->in[0];
    const ir_literal *l = v->def && v->def->code == OP_constant ? ir_get_literal(v->def) : NULL;
    if (!l || (!l->splat && l->type->count != 1)) return false;
    array a = {ir_scalar(l->type->dtype), (void *)(uintptr_t)l->data};
    return array_get(&a, 0) == want;
}

/* Element types and computations that all devices can combine. */
static bool combines(ir_opcode code, xt_dtype t) {
    bool type = t == XT_F32 || t == XT_F64 || t == XT_BF16 || t == XT_F16 || t == XT_I32 || t == XT_I64 ||
                t == XT_U32 || t == XT_U64;
    return type && (code == OP_add || code == OP_multiply || code == OP_maximum || code == OP_minimum);
}

/* --- families --- */
/* Every dim of the first result passes to all tensors of its rank where the sizes agree. */
static void same_dims(spmd_rule *r, const ir_op *op, bool (*passes)(const ir_op *, uint32_t)) {
    const ir_type *out = op->out[0].type;
    for (uint32_t d = 0; d < out->rank; d++) {
        if (passes && !passes(op, d)) continue;
        int f = factor(r, out->dims[d]);
        for (size_t t = 0; t < r->n_tensors; t++)
            if (r->types[t]->kind == IR_TENSOR && r->types[t]->rank == out->rank &&
                r->types[t]->dims[d] == out->dims[d])
                is_made_of(r, t, d, f);
    }
}
static void elementwise(spmd_rule *r, const ir_op *op) {
    same_dims(r, op, NULL);
}

/* An element that is read as several smaller ones, or the other way round, has a last dim of its own: it
 * must be whole. */
static void bits(spmd_rule *r, const ir_op *op) {
    const ir_type *in = op->in[0]->type, *out = op->out[0].type;
    for (uint32_t d = 0; d < in->rank && d < out->rank; d++) {
        int f = factor(r, in->dims[d]);
        is_made_of(r, 0, d, f);
        is_made_of(r, 1, d, f);
    }
}

static void constant(spmd_rule *r, const ir_op *op) {
    const ir_literal *l = ir_get_literal(op);
    if (l && l->splat) elementwise(r, op);
}

static void broadcast_in_dim(spmd_rule *r, const ir_op *op) {
    ints to = get(op, IR_A_broadcast_dimensions);
    const ir_type *x = op->in[0]->type, *out = op->out[0].type;
    for (uint32_t d = 0; d < out->rank; d++) {
        int f = factor(r, out->dims[d]);
        is_made_of(r, 1, d, f);
        for (uint32_t i = 0; i < x->rank && i < to.n; i++)
            if (to.v[i] == d && x->dims[i] == out->dims[d]) is_made_of(r, 0, i, f);
    }
}

static void transpose(spmd_rule *r, const ir_op *op) {
    ints perm = get(op, IR_A_permutation);
    for (uint32_t d = 0; d < op->out[0].type->rank && d < perm.n; d++) {
        int f = factor(r, op->out[0].type->dims[d]);
        is_made_of(r, 1, d, f);
        is_made_of(r, 0, perm.v[d], f);
    }
}

/* Both shapes are read from the most significant dim on; what divides both heads is a factor. Where the heads
 * have nothing more in common, all is left out up to the next place where both shapes have counted the same
 * number of elements. */
static void reshape(spmd_rule *r, const ir_op *op) {
    const ir_type *x = op->in[0]->type, *y = op->out[0].type;
    if (x->count <= 0) return;
    uint32_t i = 0, j = 0;
    int64_t a = 1, b = 1, done_x = 1, done_y = 1; /* rest of the current dims; elements counted up to their ends */
    bool open = true;
    while (true) {
        while (a == 1 && i < x->rank) {
            a = x->dims[i++];
            done_x *= a;
        }
        while (b == 1 && j < y->rank) {
            b = y->dims[j++];
            done_y *= b;
        }
        if (a == 1 || b == 1) return;
        int64_t g = a, h = b;
        while (h) {
            int64_t t = g % h;
            g = h;
            h = t;
        }
        if (open && g > 1 && r->dims[0][i - 1].n < SPMD_DIM_FACTORS && r->dims[1][j - 1].n < SPMD_DIM_FACTORS) {
            int f = factor(r, g);
            is_made_of(r, 0, i - 1, f);
            is_made_of(r, 1, j - 1, f);
            a /= g;
            b /= g;
            if (a > 1 && b > 1) open = false;
            continue;
        }
        open = false;
        if (done_x == done_y) {
            a = b = 1;
            open = true;
        } else if (done_x < done_y)
            a = 1;
        else
            b = 1;
    }
}

static void dot_general(spmd_rule *r, const ir_op *op) {
    ints lb = get(op, IR_A_lhs_batching_dimensions), rb = get(op, IR_A_rhs_batching_dimensions);
    ints lc = get(op, IR_A_lhs_contracting_dimensions), rc = get(op, IR_A_rhs_contracting_dimensions);
    const ir_type *x = op->in[0]->type, *y = op->in[1]->type;
    int64_t out = 0;
    for (size_t i = 0; i < lb.n; i++, out++) {
        int f = factor(r, x->dims[lb.v[i]]);
        is_made_of(r, 0, lb.v[i], f);
        is_made_of(r, 1, rb.v[i], f);
        is_made_of(r, 2, out, f);
    }
    for (uint32_t d = 0; d < x->rank; d++) {
        if (has(lb.v, lb.n, d) || has(lc.v, lc.n, d)) continue;
        int f = factor(r, x->dims[d]);
        is_made_of(r, 0, d, f);
        is_made_of(r, 2, out++, f);
    }
    for (uint32_t d = 0; d < y->rank; d++) {
        if (has(rb.v, rb.n, d) || has(rc.v, rc.n, d)) continue;
        int f = factor(r, y->dims[d]);
        is_made_of(r, 1, d, f);
        is_made_of(r, 2, out++, f);
    }
    r->combine = OP_add;
    for (size_t i = 0; i < lc.n && combines(OP_add, op->out[0].type->dtype); i++) {
        int f = factor_kind(r, x->dims[lc.v[i]], true);
        is_made_of(r, 0, lc.v[i], f);
        is_made_of(r, 1, rc.v[i], f);
    }
}

static void convolution(spmd_rule *r, const ir_op *op) {
    const ir_type *x = op->in[0]->type, *w = op->in[1]->type;
    int64_t lb = ir_get_int(op, IR_A_input_batch_dimension, 0), lf = ir_get_int(op, IR_A_input_feature_dimension, 1);
    int64_t ki = ir_get_int(op, IR_A_kernel_input_feature_dimension, 1),
            ko = ir_get_int(op, IR_A_kernel_output_feature_dimension, 0);
    int64_t ob = ir_get_int(op, IR_A_output_batch_dimension, 0), of = ir_get_int(op, IR_A_output_feature_dimension, 1);
    if (ir_get_int(op, IR_A_batch_group_count, 1) != 1) return;
    int f = factor(r, x->dims[lb]);
    is_made_of(r, 0, lb, f);
    is_made_of(r, 2, ob, f);
    if (ir_get_int(op, IR_A_feature_group_count, 1) != 1) return;
    f = factor(r, w->dims[ko]);
    is_made_of(r, 1, ko, f);
    is_made_of(r, 2, of, f);
    r->combine = OP_add;
    if (!combines(OP_add, op->out[0].type->dtype)) return;
    f = factor_kind(r, x->dims[lf], true);
    is_made_of(r, 0, lf, f);
    is_made_of(r, 1, ki, f);
}

static void reduce(spmd_rule *r, const ir_op *op) {
    ints dims = get(op, IR_A_dimensions);
    size_t n = op->n_in / 2;
    const ir_type *x = op->in[0]->type;
    ir_opcode code = n == 1 ? spmd_region_op(op) : OP_COUNT;
    bool partial = combines(code, x->dtype) && op->out[0].type->dtype == x->dtype;
    /* a first value would be counted by every device */
    if (code == OP_add) partial = partial && spmd_is_number(op->in[1], 0);
    if (code == OP_multiply) partial = partial && spmd_is_number(op->in[1], 1);
    r->combine = code;
    int64_t out = 0;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (has(dims.v, dims.n, d)) {
            if (partial) is_made_of(r, 0, d, factor_kind(r, x->dims[d], true));
            continue;
        }
        int f = factor(r, x->dims[d]);
        for (size_t i = 0; i < n; i++) {
            is_made_of(r, i, d, f);
            is_made_of(r, op->n_in + i, out, f);
        }
        out++;
    }
}

static bool not_joined(const ir_op *op, uint32_t d) {
    return ir_get_int(op, IR_A_dimension, 0) != d;
}
static void concatenate(spmd_rule *r, const ir_op *op) {
    same_dims(r, op, not_joined);
}
static void sort(spmd_rule *r, const ir_op *op) {
    same_dims(r, op, not_joined);
}

static bool not_turned(const ir_op *op, uint32_t d) {
    ints dims = get(op, IR_A_dimensions);
    return !has(dims.v, dims.n, d);
}
static void reverse(spmd_rule *r, const ir_op *op) {
    same_dims(r, op, not_turned);
}

/* Slices pass on the dims they take all of; same_dims compares the sizes. */
static bool all_of_it(const ir_op *op, uint32_t d) {
    return op->in[0]->type->dims[d] == op->out[0].type->dims[d];
}
static bool unit_stride(const ir_op *op, uint32_t d) {
    return all_of_it(op, d) && entry(get(op, IR_A_strides), d, 1) == 1;
}
static void slice(spmd_rule *r, const ir_op *op) {
    same_dims(r, op, unit_stride);
}
static void dynamic_slice(spmd_rule *r, const ir_op *op) {
    same_dims(r, op, all_of_it);
}
static bool whole_update(const ir_op *op, uint32_t d) {
    return op->in[1]->type->dims[d] == op->out[0].type->dims[d];
}
static void dynamic_update_slice(spmd_rule *r, const ir_op *op) {
    same_dims(r, op, whole_update);
}

static bool not_padded(const ir_op *op, uint32_t d) {
    return entry(get(op, IR_A_edge_padding_low), d, 0) == 0 && entry(get(op, IR_A_edge_padding_high), d, 0) == 0 &&
           entry(get(op, IR_A_interior_padding), d, 0) == 0;
}
static void pad(spmd_rule *r, const ir_op *op) {
    same_dims(r, op, not_padded);
}

static bool no_window(const ir_op *op, uint32_t d) {
    ints p = get(op, IR_A_padding);
    return entry(get(op, IR_A_window_dimensions), d, 1) == 1 && entry(get(op, IR_A_window_strides), d, 1) == 1 &&
           entry(get(op, IR_A_base_dilations), d, 1) == 1 && entry(p, 2 * (size_t)d, 0) == 0 &&
           entry(p, 2 * (size_t)d + 1, 0) == 0;
}
static void window(spmd_rule *r, const ir_op *op) {
    same_dims(r, op, no_window);
}

static void batch_norm_inference(spmd_rule *r, const ir_op *op) {
    int64_t feature = ir_get_int(op, IR_A_feature_index, 0);
    elementwise(r, op);
    for (size_t t = 1; t < op->n_in && r->n_factors > (size_t)feature; t++) is_made_of(r, t, 0, (int)feature);
}

/* The dims of slices: dims of the operand that are neither given by an index nor batch dims, in order, are the window
 * dims of the slices. */
static void windows(spmd_rule *r, size_t operand, size_t slices, ints gone, ints batching, ints window_dims) {
    const ir_type *x = r->types[operand], *y = r->types[slices];
    size_t k = 0;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (has(gone.v, gone.n, d) || has(batching.v, batching.n, d)) continue;
        if (k >= window_dims.n) return;
        int64_t w = window_dims.v[k++];
        if (y->dims[w] != x->dims[d]) continue;
        int f = factor(r, x->dims[d]);
        is_made_of(r, operand, d, f);
        is_made_of(r, slices, w, f);
        if (slices == 2 && r->n_tensors == 4) is_made_of(r, 3, d, f); /* scatter's result is as its operand */
    }
}

/* A table whose rows are found by one index each may be divided by rows: a device that has not the row leaves it
 * to the others. */
static void indexed_rows(spmd_rule *r, size_t table, size_t result, ints index_map, int64_t slice, bool reduced) {
    if (index_map.n != 1 || slice != 1 || !ir_dtype_is_int(r->types[1]->dtype) || xt_dtype_size(r->types[1]->dtype) < 4)
        return;
    int64_t d = index_map.v[0];
    if (r->types[table]->dims[d] > INT32_MAX) return;
    int f = factor_kind(r, r->types[table]->dims[d], reduced);
    if (f >= 0) r->factors[f].indexed = true;
    is_made_of(r, table, d, f);
    if (!reduced) is_made_of(r, result, d, f);
}

static void gather(spmd_rule *r, const ir_op *op) {
    ints offset = get(op, IR_A_offset_dims), gone = get(op, IR_A_collapsed_slice_dims),
         xb = get(op, IR_A_operand_batching_dims), ib = get(op, IR_A_start_indices_batching_dims);
    const ir_type *indices = op->in[1]->type;
    int64_t vector = ir_get_int(op, IR_A_index_vector_dim, 0), at = 0;
    ints index_map = get(op, IR_A_start_index_map);
    r->combine = OP_add;
    windows(r, 0, 2, gone, xb, offset);
    if (combines(OP_add, op->out[0].type->dtype) && index_map.n == 1 && has(gone.v, gone.n, index_map.v[0]))
        indexed_rows(r, 0, 2, index_map, entry(get(op, IR_A_slice_sizes), (size_t)index_map.v[0], 0), true);
    for (uint32_t d = 0; d < op->out[0].type->rank; d++) {
        if (has(offset.v, offset.n, d)) continue;
        if (at == vector) at++;
        if (at >= (int64_t)indices->rank) return;
        int f = factor(r, op->out[0].type->dims[d]);
        is_made_of(r, 2, d, f);
        is_made_of(r, 1, at, f);
        for (size_t k = 0; k < ib.n; k++)
            if (ib.v[k] == at) is_made_of(r, 0, xb.v[k], f);
        at++;
    }
}

/* Updates that are added to zeros may be added on each device apart and summed afterwards. */
static void scatter(spmd_rule *r, const ir_op *op) {
    if (op->n_in != 3) return;
    ints window_dims = get(op, IR_A_update_window_dims), gone = get(op, IR_A_inserted_window_dims),
         xb = get(op, IR_A_input_batching_dims), ib = get(op, IR_A_scatter_indices_batching_dims);
    const ir_type *indices = op->in[1]->type, *updates = op->in[2]->type;
    int64_t vector = ir_get_int(op, IR_A_index_vector_dim, 0), at = 0;
    bool sums =
        spmd_region_op(op) == OP_add && spmd_is_number(op->in[0], 0) && combines(OP_add, op->out[0].type->dtype);
    r->combine = OP_add;
    ints index_map = get(op, IR_A_scatter_dims_to_operand_dims);
    windows(r, 0, 2, gone, xb, window_dims);
    if (index_map.n == 1 && has(gone.v, gone.n, index_map.v[0])) indexed_rows(r, 0, 3, index_map, 1, false);
    for (uint32_t d = 0; d < updates->rank; d++) {
        if (has(window_dims.v, window_dims.n, d)) continue;
        if (at == vector) at++;
        if (at >= (int64_t)indices->rank) return;
        bool batch = has(ib.v, ib.n, at);
        int f = batch || sums ? factor_kind(r, updates->dims[d], !batch) : -1;
        is_made_of(r, 2, d, f);
        is_made_of(r, 1, at, f);
        for (size_t k = 0; batch && k < ib.n; k++)
            if (ib.v[k] == at) {
                is_made_of(r, 0, xb.v[k], f);
                is_made_of(r, 3, xb.v[k], f);
            }
        at++;
    }
}

/* --- many problems of one kind side by side --- */
/* The first n dims count problems in all operands and results; the others make up one problem. */
static void problems(spmd_rule *r, int64_t n) {
    const ir_type *first = r->types[0];
    for (size_t t = 0; t < r->n_tensors; t++)
        for (int64_t d = 0; d < n; d++)
            if (d >= (int64_t)r->types[t]->rank || r->types[t]->dims[d] != first->dims[d]) n = d;
    for (int64_t d = 0; d < n; d++) {
        int f = factor(r, first->dims[d]);
        for (size_t t = 0; t < r->n_tensors; t++) is_made_of(r, t, d, f);
        if (f >= 0) r->factors[f].even = true; /* what fills up is no problem that can be solved */
    }
    r->known = n > 0; /* one problem alone is done whole everywhere, and that is told */
}

static void matrices(spmd_rule *r, const ir_op *op) {
    problems(r, (int64_t)op->in[0]->type->rank - 2);
}

static void fft(spmd_rule *r, const ir_op *op) {
    problems(r, (int64_t)op->in[0]->type->rank - (int64_t)get(op, IR_A_fft_length).n);
}

/* What JAX says of calls that factorise each matrix of a batch: mhlo.frontend_attributes = {num_batch_dims = "1"}. -1:
 * nothing, or no call to run in parts. */
static int64_t batch_dims(const ir_op *op) {
    if (ir_get_bool(op, IR_A_has_side_effect, false)) return -1;
    for (uint32_t i = 0; i < op->n_attrs; i++) {
        const ir_attr *a = &op->attrs[i];
        if (a->kind != IR_AK_DICT || !a->name || strcmp(a->name, "mhlo.frontend_attributes") != 0) continue;
        for (size_t k = 0; k < a->n; k++) {
            const ir_attr *e = &a->v.list[k];
            bool digit = e->kind == IR_AK_STRING && e->n == 1 && e->v.s[0] >= '0' && e->v.s[0] <= '9';
            if (digit && e->name && strcmp(e->name, "num_batch_dims") == 0) return e->v.s[0] - '0';
        }
    }
    return -1;
}

/* Sharding annotations are treated apart. */
static void custom_call(spmd_rule *r, const ir_op *op) {
    if (ir_is_sharding(op))
        elementwise(r, op);
    else
        problems(r, batch_dims(op));
}

typedef void (*rule_fn)(spmd_rule *r, const ir_op *op);
static const rule_fn rules[OP_COUNT] = {
    [OP_constant] = constant,
    [OP_iota] = elementwise, /* of the part: counted from the part's first element */
    [OP_broadcast_in_dim] = broadcast_in_dim,
    [OP_transpose] = transpose,
    [OP_reshape] = reshape,
    [OP_bitcast_convert] = bits,
    [OP_concatenate] = concatenate,
    [OP_slice] = slice,
    [OP_pad] = pad,
    [OP_reverse] = reverse,
    [OP_dot_general] = dot_general,
    [OP_convolution] = convolution,
    [OP_reduce] = reduce,
    [OP_reduce_window] = window,
    [OP_select_and_scatter] = window,
    [OP_sort] = sort,
    [OP_dynamic_slice] = dynamic_slice,
    [OP_dynamic_update_slice] = dynamic_update_slice,
    [OP_gather] = gather,
    [OP_scatter] = scatter,
    [OP_batch_norm_inference] = batch_norm_inference,
    [OP_sdy_sharding_constraint] = elementwise,
    [OP_cholesky] = matrices,
    [OP_triangular_solve] = matrices,
    [OP_fft] = fft,
    [OP_custom_call] = custom_call,
};

/* More parts than elements help nobody. */
bool spmd_may_divide(const spmd_factor *f, int64_t parts) {
    return f->size % parts == 0 || (!f->even && f->size > parts);
}

/* A factor that is not all of a dim somewhere is divided evenly or not at all. */
static void mark_even(spmd_rule *r) {
    for (size_t t = 0; t < r->n_tensors; t++)
        for (uint32_t d = 0; r->types[t]->kind == IR_TENSOR && d < r->types[t]->rank; d++) {
            const spmd_dim *dim = &r->dims[t][d];
            for (int k = 0; k < dim->n; k++) {
                spmd_factor *f = &r->factors[dim->factor[k]];
                f->even = f->even || dim->n > 1 || f->size != r->types[t]->dims[d];
            }
        }
}

/* No factors yet; `values` stays with the rule. */
static xt_status empty_rule(arena *mem, size_t n, const ir_value **values, spmd_rule **out) {
    spmd_rule *r = *out = arena_alloc(mem, sizeof *r);
    if (!r || !values) return status_oom(sizeof *r, "the rule of an op");
    *r = (spmd_rule){.mem = mem, .n_tensors = n, .values = values, .combine = OP_COUNT};
    r->types = arena_alloc(mem, (n + 1) * sizeof *r->types);
    r->dims = arena_alloc(mem, (n + 1) * sizeof *r->dims);
    bool ok = r->types && r->dims;
    for (size_t t = 0; t < n && ok; t++) {
        r->types[t] = values[t]->type;
        size_t dims = r->types[t]->kind == IR_TENSOR ? r->types[t]->rank + 1 : 1;
        r->dims[t] = arena_alloc(mem, dims * sizeof **r->dims);
        ok = r->dims[t] != NULL;
        if (ok) memset(r->dims[t], 0, dims * sizeof **r->dims);
    }
    return ok ? NULL : status_oom(sizeof *r, "the rule of an op");
}

xt_status spmd_rule_tie(arena *mem, size_t n, const ir_value *const *values, spmd_rule **out) {
    const ir_value **kept = arena_alloc(mem, (n + 1) * sizeof *kept);
    if (kept) memcpy(kept, values, n * sizeof *kept);
    XT_TRY(empty_rule(mem, n, kept, out));
    spmd_rule *r = *out;
    r->known = n > 0 && r->types[0]->kind == IR_TENSOR;
    for (uint32_t d = 0; r->known && d < r->types[0]->rank; d++) {
        int f = factor(r, r->types[0]->dims[d]);
        for (size_t t = 0; t < n; t++) is_made_of(r, t, d, f);
    }
    if (!r->failed) mark_even(r);
    return r->failed ? status_oom(sizeof *r, "the rule of a loop") : NULL;
}

xt_status spmd_rule_make(arena *mem, const ir_op *op, spmd_rule **out) {
    size_t n = op->n_in + op->n_out;
    const ir_value **values = arena_alloc(mem, (n + 1) * sizeof *values);
    for (size_t t = 0; values && t < n; t++) values[t] = t < op->n_in ? op->in[t] : &op->out[t - op->n_in];
    bool tensors = true;
    XT_TRY(empty_rule(mem, n, values, out));
    spmd_rule *r = *out;
    for (size_t t = 0; t < n; t++) tensors = tensors && r->types[t]->kind == IR_TENSOR;
    rule_fn fn = rules[op->code] ? rules[op->code] : ir_op_infos[op->code].flags & IR_ELEMENTWISE ? elementwise : NULL;
    if (op->code == OP_custom_call && !ir_is_sharding(op) && (batch_dims(op) < 0 || !op->n_in)) fn = NULL;
    if (!fn || !n || !op->n_out || !tensors) return NULL;
    r->known = true;
    fn(r, op);
    if (!r->failed) mark_even(r);
    return r->failed ? status_oom(sizeof *r, "the rule of an op") : NULL;
}
