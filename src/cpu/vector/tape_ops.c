/* Which ops of StableHLO are instructions of a tape, and putting one on a tape. */
#include "cpu/vector/tape.h"
#include "ir/interp.h"
#include "pass/rewrite.h"

/* The instruction, where it is one. */
static const uint8_t tape_ops[OP_COUNT] = {
    [OP_add] = TAPE_ADD,
    [OP_subtract] = TAPE_SUB,
    [OP_multiply] = TAPE_MUL,
    [OP_divide] = TAPE_DIV,
    [OP_remainder] = TAPE_REM,
    [OP_maximum] = TAPE_MAX,
    [OP_minimum] = TAPE_MIN,
    [OP_power] = TAPE_POW,
    [OP_atan2] = TAPE_ATAN2,
    [OP_and] = TAPE_AND,
    [OP_or] = TAPE_OR,
    [OP_xor] = TAPE_XOR,
    [OP_shift_left] = TAPE_SHL,
    [OP_shift_right_arithmetic] = TAPE_SHRA,
    [OP_shift_right_logical] = TAPE_SHRL,
    [OP_negate] = TAPE_NEG,
    [OP_abs] = TAPE_ABS,
    [OP_sign] = TAPE_SIGN,
    [OP_sqrt] = TAPE_SQRT,
    [OP_rsqrt] = TAPE_RSQRT,
    [OP_cbrt] = TAPE_CBRT,
    [OP_exponential] = TAPE_EXP,
    [OP_exponential_minus_one] = TAPE_EXPM1,
    [OP_log] = TAPE_LOG,
    [OP_log_plus_one] = TAPE_LOG1P,
    [OP_tanh] = TAPE_TANH,
    [OP_logistic] = TAPE_LOGISTIC,
    [OP_sine] = TAPE_SIN,
    [OP_cosine] = TAPE_COS,
    [OP_tan] = TAPE_TAN,
    [OP_floor] = TAPE_FLOOR,
    [OP_ceil] = TAPE_CEIL,
    [OP_round_nearest_afz] = TAPE_ROUND_AFZ,
    [OP_round_nearest_even] = TAPE_ROUND_EVEN,
    [OP_is_finite] = TAPE_IS_FINITE,
    [OP_not] = TAPE_NOT,
    [OP_popcnt] = TAPE_POPCNT,
    [OP_count_leading_zeros] = TAPE_CLZ,
};

/* Kept as f32 in registers, and rounded after each op. */
bool tape_is_half(xt_dtype d) {
    return d == XT_BF16 || d == XT_F16;
}

static tape_op op_of(const ir_op *op) {
    switch ((int)op->code) {
    case OP_compare: {
        int dir = (int)ir_get_int(op, IR_A_comparison_direction, IR_EQ);
        if (ir_get_int(op, IR_A_compare_type, IR_CMP_NOTYPE) == IR_CMP_TOTALORDER &&
            ir_dtype_is_float(op->in[0]->type->dtype))
            return TAPE_NONE;
        return (tape_op)(TAPE_EQ + dir);
    }
    case OP_select: return TAPE_SELECT;
    case OP_clamp: return TAPE_MAX;
    case OP_convert: return TAPE_COPY;
    default: return (tape_op)tape_ops[op->code];
    }
}

bool tape_takes(const ir_op *op) {
    tape_op code = op_of(op);
    tape_type t, r;
    if (code == TAPE_NONE || op->n_out != 1 || op->out[0].type->count < 0) return false;
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i]->type->kind != IR_TENSOR || !tape_type_of(op->in[i]->type->dtype, &t)) return false;
    if (!tape_type_of(op->out[0].type->dtype, &r)) return false;
    tape_type_of(op->in[op->code == OP_select ? 1 : 0]->type->dtype, &t);
    if (op->code == OP_convert) return true;
    return simd_get()->tape[code][t] != NULL;
}

static int emit_convert(tape_builder *into, const ir_op *op, int x) {
    xt_dtype from = op->in[0]->type->dtype, to = op->out[0].type->dtype;
    tape_type t, r;
    tape_type_of(from, &t);
    tape_type_of(to, &r);
    if (t != r)
        x = tape_emit(into, (tape_op)(TAPE_CONVERT + r), t, x, -1, -1);
    else if (from == to || !tape_is_half(to))
        x = tape_emit(into, TAPE_COPY, t, x, -1, -1);
    return x;
}

/* 2 or 3 where op raises to that power: products, as XLA has it (at most one unit in the last place from the rounded
 * power), for pow has no vector form. */
static int small_power(const ir_op *op) {
    pass_literal c;
    xt_dtype d = op->in[1]->type->dtype;
    if (!pass_constant(op->in[1], &c) || !(d == XT_F32 || d == XT_F64 || tape_is_half(d))) return 0;
    double n = array_get(&(array){.type = ir_scalar(d), .data = (void *)(uintptr_t)c.lit->data}, 0);
    return c.splat && (n == 2 || n == 3) ? (int)n : 0;
}

int tape_emit_op(tape_builder *into, const ir_op *op, int x, int y, int z) {
    xt_dtype d = op->out[0].type->dtype;
    tape_type t;
    tape_type_of(op->in[0]->type->dtype, &t);
    int r;
    switch ((int)op->code) {
    case OP_select: tape_type_of(d, &t); return tape_emit(into, TAPE_SELECT, t, x, y, z);
    case OP_clamp: /* least, operand, largest */
        r = tape_emit(into, TAPE_MAX, t, y, x, -1);
        return tape_emit(into, TAPE_MIN, t, r, z, -1);
    case OP_convert:
        r = emit_convert(into, op, x);
        if (tape_is_half(d) && op->in[0]->type->dtype != d)
            r = tape_emit(into, d == XT_BF16 ? TAPE_ROUND_BF16 : TAPE_ROUND_F16, TAPE_F32, r, -1, -1);
        return r;
    default:
        r = op->code == OP_power ? small_power(op) : 0;
        if (r == 2)
            r = tape_emit(into, TAPE_MUL, t, x, x, -1);
        else if (r == 3)
            r = tape_emit(into, TAPE_MUL, t, tape_emit(into, TAPE_MUL, t, x, x, -1), x, -1);
        else
            r = tape_emit(into, op_of(op), t, x, y, z);
        if (tape_is_half(d)) r = tape_emit(into, d == XT_BF16 ? TAPE_ROUND_BF16 : TAPE_ROUND_F16, TAPE_F32, r, -1, -1);
        return r;
    }
}
