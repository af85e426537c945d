/* pass_lower_chlo: every chlo op of static shapes becomes StableHLO ops. needs: nothing; keeps: types, source lines,
 * module paths. One row per op: how its operands are prepared (narrow floats compute in f32) and the formula. */
#include "pass/lower_chlo_int.h"

value chlo_poly(chlo *c, value x, const double *coeffs, size_t n) {
    value acc = num(c, coeffs[0]);
    for (size_t i = 1; i < n; i++) acc = add_num(c, mul(c, acc, x), coeffs[i]);
    return acc;
}

/* --- Small ones --- */

static value square(chlo *c, value x) {
    return is_complex(c) ? chlo_complex_square(c, x) : mul(c, x, x);
}
static value tangent(chlo *c, value x) {
    return ir_tan(c->b, x);
}

static value conjugate(chlo *c, value x) {
    return is_complex(c) ? ir_complex(c->b, ir_real(c->b, x), neg(c, ir_imag(c->b, x))) : x;
}

static value is_inf(chlo *c, value x) {
    return cmp_num(c, IR_EQ, ir_abs(c->b, x), __builtin_inf());
}
static value is_pos_inf(chlo *c, value x) {
    return cmp_num(c, IR_EQ, x, __builtin_inf());
}
static value is_neg_inf(chlo *c, value x) {
    return cmp_num(c, IR_EQ, x, -__builtin_inf());
}

static value bitcast(chlo *c, value x, const ir_type *to) {
    ir_op *op = x ? ir_build(c->b, OP_bitcast_convert, 1, &x, 0, NULL, 0, NULL, 1, &to) : NULL;
    return op ? &op->out[0] : NULL;
}

/* One step of the bit pattern: away from zero when y lies further out on the same side, else towards it. */
static value next_after(chlo *c, value x, value y) {
    size_t size = xt_dtype_size(c->t->dtype);
    const ir_type *bits = ir_with_dtype(c->t, size == 2 ? XT_U16 : size == 4 ? XT_U32 : XT_U64), *real = c->t;
    value xb = bitcast(c, x, bits), yb = bitcast(c, y, bits), zero = num(c, 0);
    value nan = ir_or(c->b, ir_compare(c->b, IR_NE, x, x), ir_compare(c->b, IR_NE, y, y)), x_plus_y = add(c, x, y);
    value equal = ir_compare(c->b, IR_EQ, x, y), at_zero = ir_compare(c->b, IR_EQ, x, zero);
    c->t = bits;
    value one = num(c, 1), shift = num(c, (double)(8 * size - 1));
    value sign = ir_shift_left(c->b, one, shift), rest = ir_not(c->b, sign);
    value xs = ir_and(c->b, xb, sign), ys = ir_and(c->b, yb, sign);
    value inwards = ir_or(c->b, ir_compare(c->b, IR_NE, xs, ys),
                          ir_compare(c->b, IR_GT, ir_and(c->b, xb, rest), ir_and(c->b, yb, rest)));
    value stepped = pick(c, inwards, sub(c, xb, one), add(c, xb, one));
    stepped = pick(c, at_zero, ir_or(c->b, ys, one), stepped);
    value result = bitcast(c, stepped, real);
    c->t = real;
    return pick(c, nan, x_plus_y, pick(c, equal, y, result));
}

/* The upper half of the product: in 64 bits when that holds it, else from 32-bit halves of the magnitudes as
 * bit patterns. */
static value mulhi(chlo *c, value x, value y) {
    xt_dtype t = c->t->dtype;
    bool is_signed = ir_dtype_is_signed(t);
    size_t bits = 8 * xt_dtype_size(t);
    const ir_type *narrow = c->t;
    if (t == XT_I4 || t == XT_U4) bits = 4;
    if (t == XT_I2 || t == XT_U2) bits = 2;
    if (bits < 64) {
        xt_dtype wide = is_signed ? XT_I64 : XT_U64;
        c->t = ir_with_dtype(narrow, wide);
        value p = mul(c, ir_convert(c->b, x, wide), ir_convert(c->b, y, wide));
        p = is_signed ? ir_shift_right_arithmetic(c->b, p, num(c, (double)bits))
                      : ir_shift_right_logical(c->b, p, num(c, (double)bits));
        return ir_convert(c->b, p, t);
    }
    c->t = ir_with_dtype(narrow, XT_U64);
    value a = bitcast(c, x, c->t), b = bitcast(c, y, c->t), half = num(c, 32), low = num(c, 4294967295.0);
    value a1 = ir_shift_right_logical(c->b, a, half), a0 = ir_and(c->b, a, low),
          b1 = ir_shift_right_logical(c->b, b, half), b0 = ir_and(c->b, b, low);
    value m1 = add(c, mul(c, a1, b0), ir_shift_right_logical(c->b, mul(c, a0, b0), half));
    value m2 = add(c, mul(c, a0, b1), ir_and(c->b, m1, low));
    value hi =
        add(c, mul(c, a1, b1), add(c, ir_shift_right_logical(c->b, m1, half), ir_shift_right_logical(c->b, m2, half)));
    if (!is_signed) return hi;
    value zero = num(c, 0), top = num(c, 63);
    value x_negative = ir_compare(c->b, IR_NE, ir_shift_right_logical(c->b, a, top), zero);
    value y_negative = ir_compare(c->b, IR_NE, ir_shift_right_logical(c->b, b, top), zero);
    hi = sub(c, hi, add(c, pick(c, x_negative, b, zero), pick(c, y_negative, a, zero)));
    return bitcast(c, hi, narrow);
}

/* --- The table of formulas --- */

typedef struct formula {
    value (*one)(chlo *c, value x);
    value (*two)(chlo *c, value x, value y);
    bool widen; /* f16, bf16 and f8 compute in f32 */
} formula;

static const formula formulas[OP_COUNT] = {
    [OP_chlo_acos] = {chlo_acos, NULL, true},
    [OP_chlo_acosh] = {chlo_acosh, NULL, true},
    [OP_chlo_asin] = {chlo_asin, NULL, true},
    [OP_chlo_asinh] = {chlo_asinh, NULL, true},
    [OP_chlo_atan] = {chlo_atan, NULL, true},
    [OP_chlo_atanh] = {chlo_atanh, NULL, true},
    [OP_chlo_bessel_i1e] = {chlo_bessel_i1e, NULL, true},
    [OP_chlo_conj] = {conjugate, NULL, false},
    [OP_chlo_cosh] = {chlo_cosh, NULL, true},
    [OP_chlo_digamma] = {chlo_digamma, NULL, true},
    [OP_chlo_erf] = {chlo_erf, NULL, true},
    [OP_chlo_erf_inv] = {chlo_erf_inv, NULL, true},
    [OP_chlo_erfc] = {chlo_erfc, NULL, true},
    [OP_chlo_is_inf] = {is_inf, NULL, false},
    [OP_chlo_is_neg_inf] = {is_neg_inf, NULL, false},
    [OP_chlo_is_pos_inf] = {is_pos_inf, NULL, false},
    [OP_chlo_lgamma] = {chlo_lgamma, NULL, true},
    [OP_chlo_sinh] = {chlo_sinh, NULL, true},
    [OP_chlo_square] = {square, NULL, false},
    [OP_chlo_tan] = {tangent, NULL, false},
    [OP_chlo_mulhi] = {NULL, mulhi, false},
    [OP_chlo_next_after] = {NULL, next_after, false},
    [OP_chlo_polygamma] = {NULL, chlo_polygamma, true},
    [OP_chlo_zeta] = {NULL, chlo_zeta, true},
};

/* broadcast_X -> X */
static const ir_opcode broadcast_base[OP_COUNT] = {
    [OP_chlo_broadcast_add] = OP_add,
    [OP_chlo_broadcast_and] = OP_and,
    [OP_chlo_broadcast_atan2] = OP_atan2,
    [OP_chlo_broadcast_compare] = OP_compare,
    [OP_chlo_broadcast_complex] = OP_complex,
    [OP_chlo_broadcast_divide] = OP_divide,
    [OP_chlo_broadcast_maximum] = OP_maximum,
    [OP_chlo_broadcast_minimum] = OP_minimum,
    [OP_chlo_broadcast_multiply] = OP_multiply,
    [OP_chlo_broadcast_next_after] = OP_chlo_next_after,
    [OP_chlo_broadcast_or] = OP_or,
    [OP_chlo_broadcast_polygamma] = OP_chlo_polygamma,
    [OP_chlo_broadcast_power] = OP_power,
    [OP_chlo_broadcast_remainder] = OP_remainder,
    [OP_chlo_broadcast_select] = OP_select,
    [OP_chlo_broadcast_shift_left] = OP_shift_left,
    [OP_chlo_broadcast_shift_right_arithmetic] = OP_shift_right_arithmetic,
    [OP_chlo_broadcast_shift_right_logical] = OP_shift_right_logical,
    [OP_chlo_broadcast_subtract] = OP_subtract,
    [OP_chlo_broadcast_xor] = OP_xor,
    [OP_chlo_broadcast_zeta] = OP_chlo_zeta,
};

static value apply_formula(ir_builder *b, const ir_op *op, ir_opcode code, value x, value y) {
    const formula *f = &formulas[code];
    if (!x || (f->two && !y)) return NULL;
    xt_dtype t = x->type->dtype;
    bool widen = f->widen && ir_dtype_is_float(t) && t != XT_F32 && t != XT_F64;
    chlo c = {.b = b, .op = op, .t = widen ? ir_with_dtype(x->type, XT_F32) : x->type};
    if (widen) x = ir_convert(b, x, XT_F32), y = ir_convert(b, y, XT_F32);
    value r = f->one ? f->one(&c, x) : f->two(&c, x, y);
    return widen ? ir_convert(b, r, t) : r;
}

/* --- Ops that change shapes --- */

/* x in the result's shape: dims aligned at the end, or placed by broadcast_dimensions for the operand of lower rank. */
static value spread(ir_builder *b, const ir_op *op, value x, const ir_type *like) {
    const ir_type *to = ir_with_dtype(like, x->type->dtype);
    int64_t dims[IR_MAX_RANK];
    size_t n;
    const int64_t *axes = ir_get_ints(op, IR_A_broadcast_dimensions, &n);
    if (x->type == to) return x;
    for (uint32_t i = 0; i < x->type->rank; i++)
        dims[i] = axes && n == x->type->rank ? axes[i] : (int64_t)(like->rank - x->type->rank + i);
    return ir_broadcast_in_dim(b, x, to, x->type->rank, dims);
}

static value lower_broadcast(ir_builder *b, const ir_op *op) {
    ir_opcode code = broadcast_base[op->code];
    value in[3];
    for (uint32_t i = 0; i < op->n_in; i++) {
        in[i] = spread(b, op, op->in[i], op->out[0].type);
        if (!in[i]) return NULL;
    }
    if (formulas[code].two) return apply_formula(b, op, code, in[0], in[1]);
    ir_attr attrs[2];
    size_t n_attrs = 0;
    for (uint32_t i = 0; code == OP_compare && i < op->n_attrs && n_attrs < 2; i++)
        if (op->attrs[i].key == IR_A_comparison_direction || op->attrs[i].key == IR_A_compare_type)
            attrs[n_attrs++] = op->attrs[i];
    ir_op *made = ir_build(b, code, op->n_in, in, n_attrs, attrs, 0, NULL, 0, NULL);
    return made ? &made->out[0] : NULL;
}

static value lower_constant_like(ir_builder *b, const ir_op *op) {
    const ir_literal *l = ir_get_literal(op);
    value scalar = l ? ir_constant(b, l->type, l->data) : NULL;
    return scalar ? ir_broadcast_scalar(b, scalar, op->out[0].type) : NULL;
}

/* A stable descending sort that carries positions along; equal elements keep the smaller position first. */
static bool lower_top_k(ir_builder *b, const ir_op *op, value out[2]) {
    const ir_type *t = op->in[0]->type;
    int64_t last = (int64_t)t->rank - 1, start[IR_MAX_RANK] = {0}, limit[IR_MAX_RANK];
    value pair[2] = {op->in[0], ir_iota(b, ir_with_dtype(t, XT_I32), last)}, sorted[2];
    if (!pair[1] || !ir_sort(b, 2, pair, last, true, true, sorted)) return false;
    for (int64_t i = 0; i <= last; i++) limit[i] = op->out[0].type->dims[i];
    for (int i = 0; i < 2; i++) out[i] = ir_slice(b, sorted[i], start, limit, NULL);
    return out[0] && out[1];
}

static bool lower_op(ir_builder *b, const ir_op *op, value out[2]) {
    if (op->code == OP_chlo_top_k) return lower_top_k(b, op, out);
    if (op->code == OP_chlo_ragged_dot) return (out[0] = chlo_ragged_dot(b, op)) != NULL;
    if (op->code == OP_chlo_constant) {
        const ir_literal *l = ir_get_literal(op);
        ir_op *made = ir_build(b, OP_constant, 0, NULL, l ? 1 : 0, ir_attr_find(op, IR_A_value), 0, NULL, 0, NULL);
        out[0] = made ? &made->out[0] : NULL;
    } else if (op->code == OP_chlo_constant_like) {
        out[0] = lower_constant_like(b, op);
    } else if (op->n_in > 1 && (broadcast_base[op->code] || op->code == OP_chlo_broadcast_add)) {
        out[0] = lower_broadcast(b, op);
    } else if (formulas[op->code].one || formulas[op->code].two) {
        out[0] = apply_formula(b, op, op->code, op->in[0], op->n_in > 1 ? op->in[1] : NULL);
    }
    return out[0] != NULL;
}

/* --- The walk --- */

static bool is_chlo(const ir_op *op) {
    return !strcmp(ir_op_infos[op->code].dialect, "chlo");
}

static xt_status replace(ir_module *m, ir_op *op) {
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i]->type->kind != IR_TENSOR || op->in[i]->type->count < 0) return NULL;
    ir_builder b = ir_before(m, op);
    b.src = op->src;
    b.path = op->path;
    value small[2] = {NULL, NULL}, *out = op->n_out <= 2 ? small : arena_alloc(m->mem, op->n_out * sizeof *out);
    if (!out) return status_oom(op->n_out * sizeof *out, "an op of chlo");
    bool done = op->code == OP_chlo_scan ? chlo_scan(&b, op, out) : lower_op(&b, op, out);
    if (!done && !b.status)
        b.status = status_new(XT_INTERNAL, src_get(op->src), "chlo.%s has no decomposition for its operands",
                              ir_op_infos[op->code].name);
    if (b.status) return status_context(b.status, "taking chlo.%s apart", ir_op_infos[op->code].name);
    for (uint32_t i = 0; i < op->n_out; i++) ir_replace_uses(m, &op->out[i], out[i]);
    ir_erase(op);
    return NULL;
}

/* A custom call that means an op of chlo becomes that op, which the walk then comes to: *out_next. */
static xt_status replace_named(ir_module *m, ir_op *op, ir_op **out_next) {
    ir_op *before = op->prev;
    ir_builder b = ir_before(m, op);
    b.src = op->src;
    b.path = op->path;
    value out[2] = {NULL, NULL};
    if (!chlo_named_call(&b, op, out)) return b.status;
    if (b.status)
        return status_context(b.status, "taking custom_call @%s apart", ir_get_string(op, IR_A_call_target_name));
    for (uint32_t i = 0; i < op->n_out; i++) ir_replace_uses(m, &op->out[i], out[i]);
    ir_erase(op);
    *out_next = before ? before->next : op->block->first;
    return NULL;
}

/* A product of two element types, one of them the result's, and a convolution of integers with a float result: operands
 * are converted to the result's. */
static xt_status unmix(ir_module *m, ir_op *op) {
    xt_dtype t = op->out[0].type->dtype;
    xt_dtype x = op->in[0]->type->dtype, y = op->in[1]->type->dtype;
    bool counts = op->code == OP_convolution && ir_dtype_is_int(x) && ir_dtype_is_float(t);
    if (!counts && (x == y || (x != t && y != t) ||
                    (ir_dtype_is_float(x) && ir_dtype_is_float(y) && xt_dtype_size(x) + xt_dtype_size(y) == 2)))
        return NULL; /* two 8-bit floats multiply as they are */
    ir_builder b = ir_before(m, op);
    b.src = op->src;
    b.path = op->path;
    for (size_t i = 0; i < 2; i++) {
        value v = ir_convert(&b, op->in[i], t);
        if (!v) return b.status;
        ir_set_operand(op, i, v);
    }
    return NULL;
}

static xt_status lower_block(ir_module *m, ir_block *block) {
    for (ir_op *op = block ? block->first : NULL, *next; op; op = next) {
        next = op->next;
        if ((op->code == OP_dot_general || op->code == OP_convolution) && !op->in[1]->type->quant) XT_TRY(unmix(m, op));
        if (op->code == OP_custom_call) XT_TRY(replace_named(m, op, &next));
        for (uint32_t r = 0; r < op->n_regions; r++) XT_TRY(lower_block(m, op->regions[r].block));
        if (is_chlo(op)) XT_TRY(replace(m, op));
    }
    return NULL;
}

xt_status pass_expand_chlo(ir_module *m) {
    for (ir_func *f = m->funcs; f; f = f->next) XT_TRY(lower_block(m, f->body));
    return NULL;
}

/* chlo ops, custom calls, some of which mean one, and products of two element types. */
static bool block_has_chlo(const ir_block *b) {
    for (const ir_op *op = b ? b->first : NULL; op; op = op->next) {
        if (op->code == OP_dot_general && op->in[0]->type->dtype != op->in[1]->type->dtype) return true;
        if (op->code == OP_custom_call || strcmp(ir_op_infos[op->code].dialect, "chlo") == 0) return true;
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (block_has_chlo(op->regions[r].block)) return true;
    }
    return false;
}

xt_status pass_lower_chlo(pass_ctx *c, ir_module *m) {
    for (const ir_func *f = m->funcs; f && !c->changed; f = f->next) c->changed = block_has_chlo(f->body);
    return c->changed ? pass_expand_chlo(m) : NULL;
}
