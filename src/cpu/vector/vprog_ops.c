/* Which ops of StableHLO are instructions of a vector program, and putting one there. */
#include <math.h>

#include "cpu/vector/vprog.h"
#include "ir/interp.h"
#include "pass/rewrite.h"

/* The instruction, where it is one. */
static const uint8_t vprog_ops[OP_COUNT] = {
    [OP_add] = VPROG_ADD,
    [OP_subtract] = VPROG_SUB,
    [OP_multiply] = VPROG_MUL,
    [OP_divide] = VPROG_DIV,
    [OP_remainder] = VPROG_REM,
    [OP_maximum] = VPROG_MAX,
    [OP_minimum] = VPROG_MIN,
    [OP_power] = VPROG_POW,
    [OP_atan2] = VPROG_ATAN2,
    [OP_and] = VPROG_AND,
    [OP_or] = VPROG_OR,
    [OP_xor] = VPROG_XOR,
    [OP_shift_left] = VPROG_SHL,
    [OP_shift_right_arithmetic] = VPROG_SHRA,
    [OP_shift_right_logical] = VPROG_SHRL,
    [OP_negate] = VPROG_NEG,
    [OP_abs] = VPROG_ABS,
    [OP_sign] = VPROG_SIGN,
    [OP_sqrt] = VPROG_SQRT,
    [OP_rsqrt] = VPROG_RSQRT,
    [OP_cbrt] = VPROG_CBRT,
    [OP_exponential] = VPROG_EXP,
    [OP_exponential_minus_one] = VPROG_EXPM1,
    [OP_log] = VPROG_LOG,
    [OP_log_plus_one] = VPROG_LOG1P,
    [OP_tanh] = VPROG_TANH,
    [OP_logistic] = VPROG_LOGISTIC,
    [OP_sine] = VPROG_SIN,
    [OP_cosine] = VPROG_COS,
    [OP_tan] = VPROG_TAN,
    [OP_floor] = VPROG_FLOOR,
    [OP_ceil] = VPROG_CEIL,
    [OP_round_nearest_afz] = VPROG_ROUND_AFZ,
    [OP_round_nearest_even] = VPROG_ROUND_EVEN,
    [OP_is_finite] = VPROG_IS_FINITE,
    [OP_not] = VPROG_NOT,
    [OP_popcnt] = VPROG_POPCNT,
    [OP_count_leading_zeros] = VPROG_CLZ,
};

/* Kept as f32 in registers, and rounded after each op. */
bool vprog_is_half(xt_dtype d) {
    return d == XT_BF16 || d == XT_F16;
}

static vprog_op op_of(const ir_op *op) {
    switch ((int)op->code) {
    case OP_compare: {
        int dir = (int)ir_get_int(op, IR_A_comparison_direction, IR_EQ);
        if (ir_get_int(op, IR_A_compare_type, IR_CMP_NOTYPE) == IR_CMP_TOTALORDER &&
            ir_dtype_is_float(op->in[0]->type->dtype))
            return VPROG_NONE;
        return (vprog_op)(VPROG_EQ + dir);
    }
    case OP_select: return VPROG_SELECT;
    case OP_clamp: return VPROG_MAX;
    case OP_convert: return VPROG_COPY;
    default: return (vprog_op)vprog_ops[op->code];
    }
}

bool vprog_takes(const ir_op *op) {
    vprog_op code = op_of(op);
    vprog_type t, r;
    if (code == VPROG_NONE || op->n_out != 1 || op->out[0].type->count < 0) return false;
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i]->type->kind != IR_TENSOR || !vprog_type_of(op->in[i]->type->dtype, &t)) return false;
    if (!vprog_type_of(op->out[0].type->dtype, &r)) return false;
    vprog_type_of(op->in[op->code == OP_select ? 1 : 0]->type->dtype, &t);
    if (op->code == OP_convert) return true;
    return simd_get()->ops[code][t] != NULL;
}

vprog_fn vprog_one_loop(const ir_op *op) {
    vprog_type t;
    switch ((int)op->code) {
    case OP_add:
    case OP_multiply:
    case OP_maximum:
    case OP_minimum:
    case OP_and:
    case OP_or:
    case OP_xor: break;
    default: return NULL;
    }
    if (!vprog_takes(op) || vprog_is_half(op->out[0].type->dtype) || !vprog_type_of(op->out[0].type->dtype, &t))
        return NULL;
    return simd_get()->ops[op_of(op)][t];
}

static int emit_convert(vprog_builder *into, const ir_op *op, int x) {
    xt_dtype from = op->in[0]->type->dtype, to = op->out[0].type->dtype;
    vprog_type t, r;
    vprog_type_of(from, &t);
    vprog_type_of(to, &r);
    if (t != r)
        x = vprog_emit(into, (vprog_op)(VPROG_CONVERT + r), t, x, -1, -1);
    else if (from == to || !vprog_is_half(to))
        x = vprog_emit(into, VPROG_COPY, t, x, -1, -1);
    return x;
}

/* The constant that op raises to where that needs no logarithm: 2, 3, 0.5 or -0.5, else 0. Products and roots, as XLA
 * has it (at most one unit in the last place from the rounded power). */
static double small_power(const ir_op *op) {
    pass_literal c;
    xt_dtype d = op->in[1]->type->dtype;
    if (!pass_constant(op->in[1], &c) || !(d == XT_F32 || d == XT_F64 || vprog_is_half(d))) return 0;
    double n = array_get(&(array){.type = ir_scalar(d), .data = (void *)(uintptr_t)c.lit->data}, 0);
    return c.splat && (n == 2 || n == 3 || fabs(n) == 0.5) ? n : 0;
}
/* A power is no root of a zero's sign and of minus infinity. */
static int emit_root(vprog_builder *into, vprog_type t, int x, bool inverse) {
    const double d[2] = {-INFINITY, inverse ? 0 : INFINITY};
    const float f[2] = {-INFINITY, inverse ? 0 : INFINITY};
    const void *least = t == VPROG_F64 ? (const void *)&d[0] : &f[0],
               *there = t == VPROG_F64 ? (const void *)&d[1] : &f[1];
    int root = vprog_emit(into, inverse ? VPROG_RSQRT : VPROG_SQRT, t, x, -1, -1);
    root = vprog_emit(into, VPROG_ABS, t, root, -1, -1);
    int is_least = vprog_emit(into, VPROG_EQ, t, x, vprog_constant(into, t, least), -1);
    return vprog_emit(into, VPROG_SELECT, t, is_least, vprog_constant(into, t, there), root);
}
static int emit_power(vprog_builder *into, vprog_type t, int x, double n) {
    if (fabs(n) == 0.5) return emit_root(into, t, x, n < 0);
    int square = vprog_emit(into, VPROG_MUL, t, x, x, -1);
    return n == 2 ? square : vprog_emit(into, VPROG_MUL, t, square, x, -1);
}

/* What a quotient leaves over: by a division that the program may have already, for x / 0 is -1, and x / -1 is -x. */
static int emit_remainder(vprog_builder *into, vprog_type t, int x, int y) {
    int q = vprog_emit_quotient(into, t, x, y);
    return vprog_emit(into, VPROG_SUB, t, x, vprog_emit(into, VPROG_MUL, t, q, y, -1), -1);
}

int vprog_emit_op(vprog_builder *into, const ir_op *op, int x, int y, int z) {
    xt_dtype d = op->out[0].type->dtype;
    vprog_type t;
    vprog_type_of(op->in[0]->type->dtype, &t);
    double n = op->code == OP_power ? small_power(op) : 0;
    int r;
    switch ((int)op->code) {
    case OP_select: vprog_type_of(d, &t); return vprog_emit(into, VPROG_SELECT, t, x, y, z);
    case OP_clamp: /* least, operand, largest */
        r = vprog_emit(into, VPROG_MAX, t, y, x, -1);
        return vprog_emit(into, VPROG_MIN, t, r, z, -1);
    case OP_convert:
        r = emit_convert(into, op, x);
        if (vprog_is_half(d) && op->in[0]->type->dtype != d)
            r = vprog_emit(into, d == XT_BF16 ? VPROG_ROUND_BF16 : VPROG_ROUND_F16, VPROG_F32, r, -1, -1);
        return r;
    default:
        if (n != 0)
            r = emit_power(into, t, x, n);
        else if (op->code == OP_remainder && t != VPROG_F32 && t != VPROG_F64)
            r = emit_remainder(into, t, x, y);
        else if (op->code == OP_divide && t != VPROG_F32 && t != VPROG_F64)
            r = vprog_emit_quotient(into, t, x, y);
        else
            r = vprog_emit(into, op_of(op), t, x, y, z);
        if (vprog_is_half(d))
            r = vprog_emit(into, d == XT_BF16 ? VPROG_ROUND_BF16 : VPROG_ROUND_F16, VPROG_F32, r, -1, -1);
        return r;
    }
}
