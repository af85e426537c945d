/* needs: nothing. keeps: meaning bit for bit, unless c->inexact allows more. Replaces values by cheaper ones: the
 * patterns of rules.def, and the rules on shapes below, which need more than a pattern can say. Ops left without
 * readers go with opt_dce. */
#include "pass/rules.h"

#include <math.h>

static ir_op *def(const ir_value *v, ir_opcode code) {
    return v->def && v->def->code == code ? v->def : NULL;
}

static bool counts_up(const int64_t *v, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (v[i] != (int64_t)i) return false;
    return true;
}

static bool all_are(const int64_t *v, size_t n, int64_t x) {
    for (size_t i = 0; v && i < n; i++)
        if (v[i] != x) return false;
    return true;
}

/* --- Rules on shapes: a replacement, or NULL. --- */
static ir_value *reshape(ir_builder *b, ir_op *op) {
    ir_value *x = op->in[0];
    if (x->type == op->out[0].type) return x;
    ir_op *inner = def(x, OP_reshape);
    const ir_type *t = op->out[0].type;
    if (!inner || t->count < 0) return NULL;
    return ir_reshape(b, inner->in[0], t->rank, t->dims);
}

static ir_value *transpose(ir_builder *b, ir_op *op) {
    size_t n, inner_n;
    int64_t both[IR_MAX_RANK];
    const int64_t *perm = ir_get_ints(op, IR_A_permutation, &n);
    if (counts_up(perm, n)) return op->in[0];
    ir_op *inner = def(op->in[0], OP_transpose);
    if (!inner) return NULL;
    const int64_t *first = ir_get_ints(inner, IR_A_permutation, &inner_n);
    for (size_t i = 0; i < n; i++) both[i] = first[perm[i]];
    return counts_up(both, n) ? inner->in[0] : ir_transpose(b, inner->in[0], n, both);
}

static ir_value *broadcast_in_dim(ir_builder *b, ir_op *op) {
    size_t n, inner_n;
    int64_t both[IR_MAX_RANK];
    const int64_t *dims = ir_get_ints(op, IR_A_broadcast_dimensions, &n);
    if (op->in[0]->type == op->out[0].type && counts_up(dims, n)) return op->in[0];
    ir_op *inner = def(op->in[0], OP_broadcast_in_dim);
    if (!inner) return NULL;
    const int64_t *first = ir_get_ints(inner, IR_A_broadcast_dimensions, &inner_n);
    for (size_t i = 0; i < inner_n; i++) both[i] = dims[first[i]];
    return ir_broadcast_in_dim(b, inner->in[0], op->out[0].type, inner_n, both);
}

/* From a type to a wider one and back again loses nothing: every value of the first is one of the second. */
static bool widens(xt_dtype from, xt_dtype to) {
    size_t bytes = xt_dtype_size(from);
    bool ints = ir_dtype_is_int(from);
    if (from == XT_BOOL) return ir_dtype_is_int(to) || to == XT_F32 || to == XT_F64;
    if (to == XT_F64) return from == XT_F32 || from == XT_F16 || from == XT_BF16 || (ints && bytes <= 4);
    if (to == XT_F32) return from == XT_F16 || from == XT_BF16 || (ints && bytes <= 2);
    return ints && ir_dtype_is_int(to) && ir_dtype_is_signed(from) == ir_dtype_is_signed(to) &&
           bytes < xt_dtype_size(to);
}

static ir_value *convert(ir_builder *b, ir_op *op) {
    (void)b;
    ir_value *x = op->in[0];
    if (x->type == op->out[0].type) return x;
    ir_op *inner = def(x, OP_convert);
    bool back = inner && inner->in[0]->type == op->out[0].type;
    return back && widens(inner->in[0]->type->dtype, x->type->dtype) ? inner->in[0] : NULL;
}

/* The operand of a concatenation along d that has elements [first, last], and where it begins; NULL: several have. */
static ir_value *operand_with(const ir_op *whole, int64_t d, int64_t first, int64_t last, int64_t *out_at) {
    *out_at = 0;
    for (uint32_t k = 0; k < whole->n_in && whole->in[k]->type->count >= 0; k++) {
        const int64_t end = *out_at + whole->in[k]->type->dims[d];
        if (first >= *out_at && last < end) return whole->in[k];
        *out_at = end;
    }
    return NULL;
}

/* What lies within one operand of a concatenation is cut out of that: the whole need not be made for it. A slice with
 * all of its operand in it is that. */
static ir_value *slice(ir_builder *b, ir_op *op) {
    ir_value *x = op->in[0], *of;
    const ir_type *to = op->out[0].type;
    size_t n;
    const int64_t *start = ir_get_ints(op, IR_A_start_indices, &n), *stride = ir_get_ints(op, IR_A_strides, &n);
    int64_t from[IR_MAX_RANK], limit[IR_MAX_RANK], at;
    if (to->count < 0 || x->type->count < 0) return NULL;
    memcpy(from, start, to->rank * sizeof *from);
    for (const ir_op *whole; to->count > 0 && (whole = def(x, OP_concatenate)); x = of) {
        const int64_t d = ir_get_int(whole, IR_A_dimension, 0),
                      last = from[d] + (to->dims[d] - 1) * (stride ? stride[d] : 1);
        if (!(of = operand_with(whole, d, from[d], last, &at))) break;
        from[d] -= at;
    }
    if (x->type == to && all_are(from, to->rank, 0) && all_are(stride, to->rank, 1)) return x;
    if (x == op->in[0]) return NULL;
    for (uint32_t i = 0; i < to->rank; i++) limit[i] = from[i] + (to->dims[i] - 1) * (stride ? stride[i] : 1) + 1;
    return ir_slice(b, x, from, limit, stride);
}

static ir_value *pad(ir_builder *b, ir_op *op) {
    (void)b;
    size_t n;
    const int64_t *low = ir_get_ints(op, IR_A_edge_padding_low, &n),
                  *high = ir_get_ints(op, IR_A_edge_padding_high, &n);
    const int64_t *inner = ir_get_ints(op, IR_A_interior_padding, &n);
    return all_are(low, n, 0) && all_are(high, n, 0) && all_are(inner, n, 0) && op->in[0]->type == op->out[0].type
               ? op->in[0]
               : NULL;
}

/* A concatenation along the same dim that only this one reads: its operands are copied once. */
static const ir_op *inner_concatenation(const ir_op *op, uint32_t k) {
    const ir_op *inner = op->in[k]->uses == 1 ? def(op->in[k], OP_concatenate) : NULL;
    bool joins = inner && ir_get_int(inner, IR_A_dimension, 0) == ir_get_int(op, IR_A_dimension, 0);
    for (uint32_t i = 0; joins && i < inner->n_in; i++) joins = inner->in[i]->type->count >= 0;
    return joins ? inner : NULL;
}

static ir_value *concatenate(ir_builder *b, ir_op *op) {
    enum { MOST = 64 };
    if (op->n_in == 1 && op->in[0]->type == op->out[0].type) return op->in[0];
    ir_value *parts[MOST];
    size_t n = 0;
    for (uint32_t k = 0; k < op->n_in; k++) {
        const ir_op *inner = inner_concatenation(op, k);
        const uint32_t more = inner ? inner->n_in : 1;
        if (n + more > MOST) return NULL;
        for (uint32_t i = 0; i < more; i++) parts[n++] = inner ? inner->in[i] : op->in[k];
    }
    return n > op->n_in ? ir_concatenate(b, n, parts, ir_get_int(op, IR_A_dimension, 0)) : NULL;
}

static ir_value *reverse(ir_builder *b, ir_op *op) {
    (void)b;
    size_t n;
    const int64_t *dims = ir_get_ints(op, IR_A_dimensions, &n);
    for (size_t i = 0; i < n; i++)
        if (op->in[0]->type->dims[dims[i]] != 1) return NULL;
    return op->in[0];
}

/* A fold over dims of one element is that element, where the initial value changes nothing (masks of JAX's gathers are
 * all of their one index). Sums of floats are not: -0 becomes +0. */
static ir_value *reduce(ir_builder *b, ir_op *op) {
    const ir_type *t = op->in[0]->type, *out = op->out[0].type;
    const ir_block *region = op->regions[0].block;
    const ir_op *o = region ? region->first : NULL;
    double init;
    if (op->n_in != 2 || t->count < 0 || t->count != out->count || t->dtype != out->dtype || !o || o->n_in != 2 ||
        region->n_args != 2 || !o->next || o->next->n_in != 1 || o->next->in[0] != &o->out[0] || o->in[0]->def ||
        o->in[1]->def || o->in[0] == o->in[1] || !ir_is_constant(op->in[1], &init))
        return NULL;
    bool floats = ir_dtype_is_float(t->dtype), whole = ir_dtype_is_int(t->dtype), neutral = false;
    switch ((int)o->code) {
    case OP_and: neutral = t->dtype == XT_BOOL && init == 1; break;
    case OP_or: neutral = init == 0; break;
    case OP_add: neutral = whole && init == 0; break;
    case OP_multiply: neutral = (whole || floats) && init == 1; break;
    case OP_maximum: neutral = floats && init == -INFINITY; break;
    case OP_minimum: neutral = floats && init == INFINITY; break;
    default: break;
    }
    return neutral ? ir_reshape(b, op->in[0], out->rank, out->dims) : NULL;
}

static ir_value *get_dimension_size(ir_builder *b, ir_op *op) {
    int64_t size = op->in[0]->type->dims[ir_get_int(op, IR_A_dimension, 0)];
    int32_t value = (int32_t)size;
    return size == IR_DYNAMIC || size != value ? NULL : ir_constant(b, op->out[0].type, &value);
}

static ir_value *get_tuple_element(ir_builder *b, ir_op *op) {
    (void)b;
    ir_op *tuple = def(op->in[0], OP_tuple);
    return tuple ? tuple->in[ir_get_int(op, IR_A_index, 0)] : NULL;
}

/* Ops with a shape operand whose result is known anyway are the plain ones. */
static ir_value *dynamic_reshape(ir_builder *b, ir_op *op) {
    const ir_type *t = op->out[0].type;
    return t->count < 0 || op->in[0]->type->count < 0 ? NULL : ir_reshape(b, op->in[0], t->rank, t->dims);
}

static ir_value *dynamic_iota(ir_builder *b, ir_op *op) {
    return op->out[0].type->count < 0 ? NULL : ir_iota(b, op->out[0].type, ir_get_int(op, IR_A_iota_dimension, 0));
}

static ir_value *dynamic_broadcast_in_dim(ir_builder *b, ir_op *op) {
    size_t n;
    const int64_t *dims = ir_get_ints(op, IR_A_broadcast_dimensions, &n);
    return op->out[0].type->count < 0 || op->in[0]->type->count < 0
               ? NULL
               : ir_broadcast_in_dim(b, op->in[0], op->out[0].type, n, dims);
}

static ir_value *(*const shape_rules[OP_COUNT])(ir_builder *, ir_op *) = {
    [OP_reshape] = reshape,
    [OP_transpose] = transpose,
    [OP_broadcast_in_dim] = broadcast_in_dim,
    [OP_convert] = convert,
    [OP_slice] = slice,
    [OP_pad] = pad,
    [OP_concatenate] = concatenate,
    [OP_reverse] = reverse,
    [OP_reduce] = reduce,
    [OP_get_dimension_size] = get_dimension_size,
    [OP_get_tuple_element] = get_tuple_element,
    [OP_dynamic_reshape] = dynamic_reshape,
    [OP_dynamic_iota] = dynamic_iota,
    [OP_dynamic_broadcast_in_dim] = dynamic_broadcast_in_dim,
};

static xt_status visit(rewriter *r, pass_ctx *c, ir_op *op, void *module) {
    if (op->n_out != 1 || !op->out[0].uses) return NULL;
    ir_builder b = ir_before(module, op);
    b.src = op->src;
    b.path = op->path;
    ir_value *with = NULL;
    if (shape_rules[op->code]) with = shape_rules[op->code](&b, op);
    if (!with && !b.status && (ir_op_infos[op->code].flags & IR_ELEMENTWISE)) with = rule_apply(&b, op, c);
    if (b.status) return b.status;
    if (!with || with->type != op->out[0].type) return NULL;
    c->changed = true;
    return rewrite_value(r, &op->out[0], with) ? NULL : status_oom(sizeof *with, "simplification");
}

xt_status pass_opt_simplify(pass_ctx *c, ir_module *m) {
    rewriter r = REWRITER_INIT;
    xt_status s = rewrite_module(&r, c, m, visit, m);
    rewriter_deinit(&r);
    return s;
}
