/* What the columns that a tile leaves out (attn.h) would have given, as ops of its function: each value of T x S is
 * bounded there by one number from below and one from above for each row, and the tile is right when sums and products
 * over S get zeros, and maxima nothing larger than they have.
 *
 * Invariant: where both bounds are numbers (not NaN), the value is a number between them. Bounds are f32 for every
 * float type; those of products are the largest values of their operands with one per cent to spare for rounding, and
 * an exponential is taken of a little more than its bound. */
#include <math.h>

#include "cpu/plan/attention/attn.h"
#include "cpu/vector/fold.h"

typedef struct span { /* NULL: nothing is known; of booleans, from false to true */
    ir_value *lo, *hi;
} span;
static span span_of(attn_group *g, attn_value *v);

static const ir_type *hidden_type(const attn_group *g, const ir_type *t, const attn_tags *tags) {
    const ir_type *one = attn_tile_type(t, tags, g->rows, 1);
    return ir_dtype_is_float(t->dtype) ? ir_with_dtype(one, XT_F32) : one;
}

static span anything(attn_group *g, const ir_type *t) {
    if (t->dtype != XT_BOOL) return (span){NULL, NULL};
    return (span){ir_splat(&g->b, t, 0), ir_splat(&g->b, t, 1)};
}

/* More than any absolute value of the given operand i of a product; f32 scalar. */
static ir_value *bound_of(const attn_group *g, const ir_op *op, uint32_t i) {
    const struct attn_given *x = attn_given_of(g, op, i);
    return x ? x->bound : NULL;
}

static span span_of_operand(attn_group *g, const ir_op *op, uint32_t i) {
    const ir_value *v = op->in[i];
    attn_value *info = attn_info(g->c, v);
    attn_tags t;
    attn_range r;
    if (info && info->kind == ATTN_FULL) return span_of(g, info);
    attn_operand_tags(g, op, i, &t);
    const ir_type *type = hidden_type(g, v->type, &t);
    bool number = ir_dtype_is_float(v->type->dtype) || v->type->dtype == XT_BOOL;
    if (!number || attn_has_flat(v->type, &t)) return anything(g, type);
    if (attn_range_of(v, &t, &g->hidden, &r)) return (span){ir_splat(&g->b, type, r.lo), ir_splat(&g->b, type, r.hi)};
    if (attn_tags_have(v->type, &t, ATTN_COL)) return anything(g, type);
    ir_value *x = attn_operand(g, op, i);
    if (x && v->type->dtype != XT_BOOL) x = ir_convert(&g->b, x, XT_F32);
    return (span){x, x};
}

static ir_value *extreme(attn_group *g, ir_opcode code, ir_value *a, ir_value *b) {
    return a == b ? a : ir_binary(&g->b, code, a, b);
}

/* Products, or quotients by one number, of all ends. */
static span ends(attn_group *g, ir_opcode code, span a, span b) {
    ir_builder *e = &g->b;
    ir_value *w = ir_binary(e, code, a.lo, b.lo), *x = a.hi == a.lo ? w : ir_binary(e, code, a.hi, b.lo);
    ir_value *lo = extreme(g, OP_minimum, w, x), *hi = extreme(g, OP_maximum, w, x);
    if (b.hi == b.lo) return (span){lo, hi};
    w = ir_binary(e, code, a.lo, b.hi);
    x = a.hi == a.lo ? w : ir_binary(e, code, a.hi, b.hi);
    return (span){ir_binary(e, OP_minimum, lo, extreme(g, OP_minimum, w, x)),
                  ir_binary(e, OP_maximum, hi, extreme(g, OP_maximum, w, x))};
}

static span span_of_select(attn_group *g, const ir_op *op) {
    ir_builder *b = &g->b;
    attn_tags t;
    attn_range p;
    attn_operand_tags(g, op, 0, &t);
    if (attn_range_of(op->in[0], &t, &g->hidden, &p) && p.lo == p.hi) return span_of_operand(g, op, p.lo > 0 ? 1 : 2);
    span x = span_of_operand(g, op, 1), y = span_of_operand(g, op, 2);
    if (!x.lo || !y.lo) return (span){NULL, NULL};
    if (op->out[0].type->dtype == XT_BOOL) return anything(g, x.lo->type);
    return (span){ir_binary(b, OP_minimum, x.lo, y.lo), ir_binary(b, OP_maximum, x.hi, y.hi)};
}

static span span_of_product(attn_group *g, const ir_op *op, const ir_type *type) {
    ir_builder *b = &g->b;
    size_t n;
    const int64_t *contract = ir_get_ints(op, IR_A_lhs_contracting_dimensions, &n);
    double k = 1.01;
    for (size_t i = 0; i < n; i++) k *= (double)op->in[0]->type->dims[contract[i]];
    ir_value *x = bound_of(g, op, 0), *y = bound_of(g, op, 1);
    if (!x || !y) return (span){NULL, NULL};
    ir_value *most = ir_binary(b, OP_multiply, ir_binary(b, OP_multiply, x, y), ir_splat(b, ir_scalar(XT_F32), k));
    most = ir_broadcast_scalar(b, most, type);
    return (span){ir_unary(b, OP_negate, most), most};
}

static span span_of_move(attn_group *g, const ir_op *op, const ir_type *type) {
    ir_builder *b = &g->b;
    span x = span_of_operand(g, op, 0);
    size_t n = 0;
    if (!x.lo) return x;
    ir_value *in[2] = {x.lo, x.hi}, *out[2];
    for (int i = 0; i < 2; i++) {
        if (op->code == OP_broadcast_in_dim) {
            const int64_t *dims = ir_get_ints(op, IR_A_broadcast_dimensions, &n);
            out[i] = ir_broadcast_in_dim(b, in[i], type, n, dims);
        } else if (op->code == OP_transpose) {
            const int64_t *perm = ir_get_ints(op, IR_A_permutation, &n);
            out[i] = ir_transpose(b, in[i], n, perm);
        } else
            out[i] = ir_reshape(b, in[i], type->rank, type->dims);
        if (x.lo == x.hi) return (span){out[0], out[0]};
    }
    return (span){out[0], out[1]};
}

static span span_of_elementwise(attn_group *g, const ir_op *op, const ir_type *type) {
    ir_builder *e = &g->b;
    span a, b = {NULL, NULL};
    if (type->dtype != XT_F32 && type->dtype != XT_BOOL) return (span){NULL, NULL};
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i]->type->rank != type->rank || op->n_in > 2) return anything(g, type);
    a = span_of_operand(g, op, 0);
    if (op->n_in > 1) b = span_of_operand(g, op, 1);
    if (!a.lo || (op->n_in > 1 && !b.lo)) return anything(g, type);
    bool logic = a.lo->type->dtype == XT_BOOL;
    switch ((int)op->code) {
    case OP_convert:
        if (type->dtype == XT_BOOL) return logic ? a : anything(g, type);
        return (span){ir_convert(e, a.lo, XT_F32), ir_convert(e, a.hi, XT_F32)};
    case OP_and:
    case OP_or:
        return logic ? (span){ir_binary(e, op->code, a.lo, b.lo), ir_binary(e, op->code, a.hi, b.hi)}
                     : anything(g, type);
    case OP_not: return logic ? (span){ir_unary(e, OP_not, a.hi), ir_unary(e, OP_not, a.lo)} : anything(g, type);
    default: break;
    }
    if (logic || type->dtype == XT_BOOL) return anything(g, type);
    switch ((int)op->code) {
    case OP_add: return (span){ir_binary(e, OP_add, a.lo, b.lo), ir_binary(e, OP_add, a.hi, b.hi)};
    case OP_subtract: return (span){ir_binary(e, OP_subtract, a.lo, b.hi), ir_binary(e, OP_subtract, a.hi, b.lo)};
    case OP_multiply: return ends(g, OP_multiply, a, b);
    case OP_divide:
        return b.lo == b.hi ? ends(g, OP_divide, a, b) : anything(g, type); /* between two numbers may be zero */
    case OP_negate: return (span){ir_unary(e, OP_negate, a.hi), ir_unary(e, OP_negate, a.lo)};
    case OP_maximum:
    case OP_minimum: return (span){ir_binary(e, op->code, a.lo, b.lo), ir_binary(e, op->code, a.hi, b.hi)};
    case OP_exponential:
        return (span){ir_unary(e, OP_exponential, a.lo),
                      ir_unary(e, OP_exponential, ir_binary(e, OP_add, a.hi, ir_splat(e, a.hi->type, 2)))};
    default: return anything(g, type);
    }
}

static span span_of(attn_group *g, attn_value *v) {
    const ir_op *op = v->value->def;
    attn_range r;
    if (v->bounds_known) return (span){v->lo, v->hi};
    const ir_type *type = hidden_type(g, v->value->type, &v->tags);
    bool number = type->dtype == XT_F32 || type->dtype == XT_BOOL;
    span s = {NULL, NULL};
    if (attn_has_flat(v->value->type, &v->tags) || !number)
        s = anything(g, type);
    else if (!v->chained && attn_range_of(v->value, &v->tags, &g->hidden, &r))
        s = (span){ir_splat(&g->b, type, r.lo), ir_splat(&g->b, type, r.hi)};
    else if (!op || v->kind != ATTN_FULL)
        s = anything(g, type);
    else if (op->code == OP_dot_general)
        s = span_of_product(g, op, type);
    else if (op->code == OP_select)
        s = span_of_select(g, op);
    else if (op->code == OP_broadcast_in_dim || op->code == OP_reshape || op->code == OP_transpose)
        s = span_of_move(g, op, type);
    else if (ir_op_infos[op->code].flags & IR_ELEMENTWISE)
        s = span_of_elementwise(g, op, type);
    if (s.lo && (s.lo->type != type || s.hi->type != type)) s = anything(g, type); /* a select between scalars, say */
    v->bounds_known = true;
    v->lo = s.lo;
    v->hi = s.hi;
    return s;
}

static ir_value *all_of(attn_group *g, ir_value *is) {
    int64_t dims[ATTN_RANK];
    ir_value *x = ir_convert(&g->b, is, XT_F32);
    if (!x || !x->type->rank) return x;
    for (uint32_t d = 0; d < x->type->rank; d++) dims[d] = d;
    return ir_reduce(&g->b, OP_minimum, x, x->type->rank, dims);
}

static ir_value *is_zero(attn_group *g, span s) {
    ir_builder *b = &g->b;
    ir_value *zero = ir_splat(b, s.lo->type, 0);
    return ir_binary(b, OP_and, ir_compare(b, IR_EQ, s.lo, zero), ir_compare(b, IR_EQ, s.hi, zero));
}

void attn_demand(attn_group *g, const ir_op *op) {
    ir_builder *b = &g->b;
    const attn_value *made = attn_info(g->c, &op->out[0]);
    bool fold = op->code == OP_reduce && attn_kind_of(g->c, op->in[0]) == ATTN_FULL;
    if (!fold && !made->exits) return;
    uint32_t i = fold || attn_kind_of(g->c, op->in[0]) == ATTN_FULL ? 0 : 1;
    span s = span_of(g, attn_info(g->c, op->in[i]));
    ir_value *is = NULL, *over = fold ? NULL : bound_of(g, op, 1 - i);
    fold_op f;
    if (s.lo && s.lo->type->dtype == XT_F32 && fold && cpu_fold_of(&op->regions[0], &f)) {
        if (f == FOLD_SUM) is = is_zero(g, s);
        if ((f == FOLD_MAX || f == FOLD_MIN) && made->copy->type->count == s.lo->type->count) {
            ir_value *seen = ir_convert(b, ir_reshape(b, made->copy, s.lo->type->rank, s.lo->type->dims), XT_F32);
            is = f == FOLD_MAX ? ir_compare(b, IR_LE, s.hi, seen) : ir_compare(b, IR_GE, s.lo, seen);
        }
    } else if (s.lo && s.lo->type->dtype == XT_F32 && over) { /* zeros times Inf would be NaN */
        ir_value *most = ir_broadcast_scalar(b, over, s.lo->type);
        is = is_zero(g, (span){ir_binary(b, OP_multiply, s.lo, most), ir_binary(b, OP_multiply, s.hi, most)});
    }
    if (!is) {
        g->unknown = true;
        return;
    }
    is = all_of(g, is);
    g->ok = g->ok ? ir_binary(b, OP_minimum, g->ok, is) : is;
}
