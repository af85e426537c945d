/* An instruction of a vector program as instructions of x86-64 (each: Intel's Software Developer's Manual, volume 2,
 * chapters 3 to 5). */
#include "cpu/vector/jit_int.h"

#if defined(__x86_64__)

enum { MASK = JIT_MASK, T0 = JIT_T0, T1, T2, T3 };

#define OPCODE(name, map, prefix, byte) static const jit_opcode name = {map, prefix, byte};
OPCODE(vdivps, 1, 0, 0x5e)
OPCODE(vrangeps, 3, 1, 0x50)
OPCODE(vaddps, 1, 0, 0x58)
OPCODE(vsqrtps, 1, 0, 0x51)
OPCODE(vmovups_load, 1, 0, 0x10)
OPCODE(vmovups_store, 1, 0, 0x11)
OPCODE(vrndscaleps, 3, 1, 0x08)
OPCODE(vcmpps, 1, 0, 0xc2)
OPCODE(vpcmpd, 3, 1, 0x1f)
OPCODE(vpcmpud, 3, 1, 0x1e)
OPCODE(vpmovm2d, 2, 2, 0x38)
OPCODE(vpmovd2m, 2, 2, 0x39)
OPCODE(vblendmps, 2, 1, 0x65)
OPCODE(vpaddd, 1, 1, 0xfe)
OPCODE(vpsubd, 1, 1, 0xfa)
OPCODE(vpandd, 1, 1, 0xdb)
OPCODE(vpord, 1, 1, 0xeb)
OPCODE(vpxord, 1, 1, 0xef)
OPCODE(vpshiftd, 1, 1, 0x72)
OPCODE(vcvtdq2ps, 1, 0, 0x5b)
OPCODE(vcvtudq2ps, 1, 3, 0x7a)
OPCODE(vpmovzxwd, 2, 1, 0x33)
OPCODE(vpmovzxbd, 2, 1, 0x31)
OPCODE(vpmovdw, 2, 2, 0x33)
OPCODE(vpmovdb, 2, 2, 0x31)
OPCODE(vpbroadcastb, 2, 1, 0x78)
OPCODE(vpbroadcastw, 2, 1, 0x79)
OPCODE(vptestmd, 2, 1, 0x27)
OPCODE(vpmovsxbd, 2, 1, 0x21)
OPCODE(vcvtph2ps, 2, 1, 0x13)
OPCODE(vcvtps2ph, 3, 1, 0x1d)
OPCODE(vcvttps2dq, 1, 2, 0x5b)
OPCODE(vpminsd, 2, 1, 0x39)
OPCODE(vpmaxsd, 2, 1, 0x3d)
OPCODE(vpabsd, 2, 1, 0x1e)
OPCODE(vpopcntd, 2, 1, 0x55)
OPCODE(vmaxps, 1, 0, 0x5f)
OPCODE(vminps, 1, 0, 0x5d)
/* of AVX2 */
OPCODE(vblendvps, 3, 1, 0x4a)
OPCODE(vmulps, 1, 0, 0x59)
OPCODE(vpcmpeqd, 1, 1, 0x76)
OPCODE(vpcmpgtd, 1, 1, 0x66)
OPCODE(vpackusdw, 2, 1, 0x2b)
OPCODE(vpackuswb, 1, 1, 0x67)
OPCODE(vpermq, 3, 1, 0x00)
OPCODE(vmovq_store, 1, 1, 0xd6)
OPCODE(vpmuldq, 2, 1, 0x28)
OPCODE(vpmuludq, 1, 1, 0xf4)
OPCODE(vpshiftq, 1, 1, 0x73)
OPCODE(vpblendd, 3, 1, 0x02)
#undef OPCODE
const jit_opcode jit_broadcast = {2, 1, 0x18};
enum { SHIFT_LEFT = 6, SHIFT_RIGHT = 2, SHIFT_SIGNED = 4 }; /* vpshiftd's register field says which shift it is */

static void op3(jit_emitter *e, jit_opcode op, int d, int a, jit_operand b) {
    jit_encode(e, op, d, a, b, 0, false, -1);
}
static void op3r(jit_emitter *e, jit_opcode op, int d, int a, int b) {
    op3(e, op, d, a, jit_reg(b));
}
static void shift(jit_emitter *e, int kind, int d, int a, int by) {
    jit_encode(e, vpshiftd, kind, d, jit_reg(a), 0, false, by);
}
/* By the last comparison's answer. */
static void blend(jit_emitter *e, int d, int if_clear, int if_set) {
    if (e->wide)
        jit_encode(e, vblendmps, d, if_clear, jit_reg(if_set), 2, false, -1);
    else
        jit_encode(e, vblendvps, d, if_clear, jit_reg(if_set), 0, false, jit_vex_number(MASK) << 4);
}
/* Of floats: the answer is in k2, or in MASK. */
static void compare_floats(jit_emitter *e, int a, int b, int how) {
    jit_encode(e, vcmpps, e->wide ? 2 : MASK, a, jit_reg(b), 0, false, how);
}
enum { EQUAL = 0, UNORDERED = 3, OTHER = 0x0c /* and both numbers */, AT_LEAST = 0x1d };
/* r = ones where the last comparison was true */
static void spread(jit_emitter *e, int r) {
    if (e->wide)
        op3r(e, vpmovm2d, r, 0, 2);
    else
        op3r(e, vpord, r, MASK, MASK);
}
/* r = ones where it is not 0 */
static void spread_bool(jit_emitter *e, int r) {
    if (e->wide) {
        op3r(e, vptestmd, 2, r, r);
        spread(e, r);
        return;
    }
    op3r(e, vpxord, MASK, MASK, MASK);
    op3r(e, vpcmpeqd, r, r, MASK);
    op3(e, vpxord, r, r, jit_const(e, UINT32_MAX));
}

/* --- operands --- */
static int size_log(vprog_type t) {
    return t == VPROG_B1 || t == VPROG_I8 || t == VPROG_U8 ? 0 : t == VPROG_U16 ? 1 : 2;
}

static jit_operand source_operand(jit_emitter *e, const jit_source *s) {
    if (s->kind != JIT_CONST)
        return (jit_operand){.kind = AT_POINTER,
                             .ptr = s->ptr,
                             .scale = s->kind == JIT_SCALAR ? -1 : size_log(s->type),
                             .broadcast = s->kind == JIT_SCALAR};
    uint32_t v = 0;
    if (s->type == VPROG_B1)
        v = s->splat[0] ? UINT32_MAX : 0;
    else if (s->type == VPROG_I8 || s->type == VPROG_U8)
        v = s->type == VPROG_U8 ? s->splat[0] : (uint32_t)(int8_t)s->splat[0];
    else if (s->type == VPROG_U16)
        v = (uint32_t)s->splat[0] << 16 | (uint32_t)s->splat[1] << 24;
    else
        memcpy(&v, s->splat, 4);
    return jit_const(e, v);
}

static void load(jit_emitter *e, const jit_source *s, int r) {
    jit_operand at = source_operand(e, s);
    bool vector = s->kind == JIT_VECTOR && (e->wide || !e->masked);
    int mask = e->masked && vector ? 1 : 0;
    at.broadcast = false; /* the broadcasting moves do it of their own */
    if (s->kind == JIT_CONST || (size_log(s->type) == 2 && !vector)) {
        op3(e, jit_broadcast, r, 0, at);
    } else if (s->type == VPROG_U16) {
        jit_encode(e, vector ? vpmovzxwd : vpbroadcastw, r, 0, at, mask, true, -1);
        shift(e, SHIFT_LEFT, r, r, 16);
    } else if ((s->type == VPROG_I8 || s->type == VPROG_U8) && vector) {
        jit_encode(e, s->type == VPROG_I8 ? vpmovsxbd : vpmovzxbd, r, 0, at, mask, true, -1);
    } else if (s->type == VPROG_I8 || s->type == VPROG_U8) {
        jit_encode(e, vpbroadcastb, r, 0, at, 0, true, -1);
        shift(e, SHIFT_LEFT, r, r, 24);
        shift(e, s->type == VPROG_I8 ? SHIFT_SIGNED : SHIFT_RIGHT, r, r, 24);
    } else if (s->type == VPROG_B1) {
        jit_encode(e, vector ? vpmovzxbd : vpbroadcastb, r, 0, at, mask, true, -1);
        spread_bool(e, r);
    } else {
        jit_encode(e, vmovups_load, r, 0, at, mask, true, -1);
    }
}

void jit_splat(jit_emitter *e, int r, uint32_t bits) {
    if (bits == 0) { /* without a load */
        op3r(e, vpxord, r, r, r);
        return;
    }
    jit_operand c = jit_const(e, bits);
    c.broadcast = false;
    op3(e, jit_broadcast, r, 0, c);
}

int jit_take_reg(jit_emitter *e) {
    for (int r = 0; r < e->most_reg - (int)e->n_resident; r++)
        if (!(e->used >> r & 1)) {
            e->used |= 1u << r;
            if (r >= e->peak) e->peak = r + 1;
            return r;
        }
    e->failed = true; /* the caller tries fewer instructions */
    return 0;
}

/* The register of operand v; a source read once comes into `temporary`, one read more often stays. */
static int in_register(jit_emitter *e, int v, int temporary) {
    if (v >= 0) return e->reg[v];
    int s = ~v;
    if (e->source_reg[s] >= 0) return e->source_reg[s];
    if (e->sources[s].kind == JIT_CONST) {
        jit_operand c = source_operand(e, &e->sources[s]);
        if (c.kind == IN_REG) return c.reg;
    }
    if (e->source_uses[s] > 1 && e->sources[s].kind == JIT_VECTOR) e->source_reg[s] = temporary = jit_take_reg(e);
    load(e, &e->sources[s], temporary);
    return temporary;
}

/* Operand v as memory where the instruction can read it from there: 32-bit elements that nobody else needs in a
 * register. Under the mask the whole instruction is masked, so lanes beyond the end are not touched. */
static jit_operand in_place(jit_emitter *e, int v, int temporary, int *out_mask) {
    *out_mask = 0;
    if (v < 0) {
        const jit_source *s = &e->sources[~v];
        bool once = e->source_uses[~v] == 1 && e->source_reg[~v] < 0;
        bool here = e->wide || s->kind == JIT_CONST || (s->kind == JIT_VECTOR && !e->masked);
        if (size_log(s->type) == 2 && here && (s->kind != JIT_VECTOR || once)) {
            *out_mask = e->masked && s->kind == JIT_VECTOR ? 1 : 0;
            return source_operand(e, s);
        }
    }
    return jit_reg(in_register(e, v, temporary));
}

/* --- instructions --- */
typedef struct binary_row {
    jit_opcode f32, i32, u32;
    bool commutes;
} binary_row;
static const binary_row binaries[VPROG_OP_COUNT] = {
    [VPROG_ADD] = {{1, 0, 0x58}, {1, 1, 0xfe}, {1, 1, 0xfe}, true},
    [VPROG_SUB] = {{1, 0, 0x5c}, {1, 1, 0xfa}, {1, 1, 0xfa}, false},
    [VPROG_MUL] = {{1, 0, 0x59}, {2, 1, 0x40}, {2, 1, 0x40}, true},
    [VPROG_DIV] = {{1, 0, 0x5e}, {0}, {0}, false},
    [VPROG_AND] = {{0}, {1, 1, 0xdb}, {1, 1, 0xdb}, true},
    [VPROG_OR] = {{0}, {1, 1, 0xeb}, {1, 1, 0xeb}, true},
    [VPROG_XOR] = {{0}, {1, 1, 0xef}, {1, 1, 0xef}, true},
    [VPROG_SHL] = {{0}, {2, 1, 0x47}, {2, 1, 0x47}, false},
    [VPROG_SHRL] = {{0}, {2, 1, 0x45}, {2, 1, 0x45}, false},
    [VPROG_SHRA] = {{0}, {2, 1, 0x46}, {0}, false},
    [VPROG_MAX] = {{0}, {2, 1, 0x3d}, {2, 1, 0x3f}, true}, /* of f32: with its own rule for NaN below */
    [VPROG_MIN] = {{0}, {2, 1, 0x39}, {2, 1, 0x3b}, true},
};
static jit_opcode binary_opcode(vprog_op op, vprog_type t) {
    const binary_row *r = &binaries[op];
    bool logic = op == VPROG_AND || op == VPROG_OR || op == VPROG_XOR;
    return t == VPROG_F32                               ? r->f32
           : t == VPROG_U32                             ? r->u32
           : t == VPROG_I32 || (t == VPROG_B1 && logic) ? r->i32
                                                        : (jit_opcode){0, 0, 0};
}

static void emit_binary(jit_emitter *e, const jit_ins *i, int d) {
    jit_opcode op = binary_opcode(i->op, i->type);
    int x = i->x, y = i->y, mask;
    if (binaries[i->op].commutes && x < 0 && y >= 0) x = i->y, y = i->x;
    int a = in_register(e, x, T0);
    jit_operand b = in_place(e, y, T1, &mask);
    jit_encode(e, op, d, a, b, mask, true, -1);
}

/* With AVX2: products of the even lanes, and of the odd ones, whose upper halves stand in their places already. */
static void emit_mul_high(jit_emitter *e, const jit_ins *i, int d) {
    jit_opcode op = i->type == VPROG_I32 ? vpmuldq : vpmuludq;
    int a = in_register(e, i->x, T0), b = in_register(e, i->y, T1), odd = b;
    bool alike = i->y < 0 && e->sources[~i->y].kind != JIT_VECTOR;
    op3r(e, op, T3, a, b);
    jit_encode(e, vpshiftq, SHIFT_RIGHT, T2, jit_reg(a), 0, false, 32);
    if (!alike) jit_encode(e, vpshiftq, SHIFT_RIGHT, odd = MASK, jit_reg(b), 0, false, 32);
    op3r(e, op, T2, T2, odd);
    jit_encode(e, vpshiftq, SHIFT_RIGHT, T3, jit_reg(T3), 0, false, 32);
    jit_encode(e, vpblendd, d, T3, jit_reg(T2), 0, false, 0xaa);
}

/* A number that is the same in all lanes, and neither denormal, which may count as zero, nor a -0 that can win. */
static bool is_plain_constant(const jit_emitter *e, int v, bool largest, uint32_t *out) {
    if (v >= 0 || e->sources[~v].kind != JIT_CONST) return false;
    memcpy(out, e->sources[~v].splat, 4);
    uint32_t size = *out & 0x7fffffffu;
    return size == 0 ? largest || *out == 0 : size >= 0x00800000u && size <= 0x7f800000u;
}
/* Of a constant and a number: the processor's own gives the second where that is NaN, and of two zeros. */
static void emit_extreme_with(jit_emitter *e, bool largest, int d, int constant, uint32_t bits, int number) {
    int x = in_register(e, number, T1), c = in_register(e, constant, T0);
    op3r(e, largest ? vmaxps : vminps, d, c, x);
    if (largest && bits == 0) op3(e, vaddps, d, d, jit_const(e, 0)); /* -0 beside +0 */
}

/* The first NaN wins, as in a sum; -0 lies below +0. */
static void emit_extreme(jit_emitter *e, const jit_ins *i, int d) {
    uint32_t bits;
    if (is_plain_constant(e, i->y, i->op == VPROG_MAX, &bits)) {
        emit_extreme_with(e, i->op == VPROG_MAX, d, i->y, bits, i->x);
        return;
    }
    if (is_plain_constant(e, i->x, i->op == VPROG_MAX, &bits)) {
        emit_extreme_with(e, i->op == VPROG_MAX, d, i->x, bits, i->y);
        return;
    }
    int a = in_register(e, i->x, T0), b = in_register(e, i->y, T1);
    bool largest = i->op == VPROG_MAX;
    if (e->wide) {
        jit_encode(e, vrangeps, T3, a, jit_reg(b), 0, false, largest ? 5 : 4); /* with the result's own sign */
        compare_floats(e, a, b, UNORDERED);
        jit_encode(e, vaddps, T3, a, jit_reg(b), 2, false, -1);
        op3r(e, vpord, d, T3, T3);
        return;
    }
    op3r(e, largest ? vmaxps : vminps, T3, a, b); /* b where one of them is NaN */
    op3r(e, largest ? vpandd : vpord, T2, a, b); /* of two zeros */
    compare_floats(e, a, b, EQUAL);
    blend(e, T3, T3, T2);
    compare_floats(e, a, a, UNORDERED);
    blend(e, d, T3, a);
}

/* With AVX2 integers are equal or greater, and have signs. */
static void compare_ints(jit_emitter *e, vprog_op op, bool has_sign, int d, int a, int b) {
    bool equal = op == VPROG_EQ || op == VPROG_NE;
    if (op == VPROG_LT || op == VPROG_GE) {
        int other = a;
        a = b, b = other;
    }
    if (!equal && !has_sign) {
        jit_operand sign = jit_const(e, 0x80000000u);
        op3(e, vpxord, T2, a, sign);
        op3(e, vpxord, T3, b, sign);
        a = T2, b = T3;
    }
    op3r(e, equal ? vpcmpeqd : vpcmpgtd, d, a, b);
    if (op == VPROG_NE || op == VPROG_GE || op == VPROG_LE) op3(e, vpxord, d, d, jit_const(e, UINT32_MAX));
}

static void emit_compare(jit_emitter *e, const jit_ins *i, int d) {
    /* EQ NE GE GT LE LT */
    static const uint8_t floats[] = {0x00, 0x04, 0x1d, 0x1e, 0x12, 0x11}, ints[] = {0, 4, 5, 6, 2, 1};
    int a = in_register(e, i->x, T0), b = in_register(e, i->y, T1), which = (int)i->op - VPROG_EQ;
    if (i->type == VPROG_F32) {
        compare_floats(e, a, b, floats[which]);
    } else if (e->wide) {
        jit_encode(e, i->type == VPROG_I32 ? vpcmpd : vpcmpud, 2, a, jit_reg(b), 0, false, ints[which]);
    } else {
        compare_ints(e, i->op, i->type == VPROG_I32, d, a, b);
        return;
    }
    spread(e, d);
}

/* r = the f32 x rounded to bf16, nearest even, in the upper half of each lane; the lower halves are not clean. NaN
 * stays one, made quiet. */
static void round_bf16(jit_emitter *e, int x) {
    shift(e, SHIFT_RIGHT, T3, x, 16);
    jit_operand one = jit_const(e, 1), half = jit_const(e, 0x7fff), quiet = jit_const(e, 0x400000);
    op3(e, vpandd, T3, T3, one);
    op3r(e, vpaddd, T3, T3, x);
    op3(e, vpaddd, T3, T3, half);
    op3(e, vpord, T2, x, quiet);
    compare_floats(e, x, x, UNORDERED);
    blend(e, T3, T3, T2);
}

static void emit_with_constant(jit_emitter *e, jit_opcode op, int d, int x, uint32_t c) {
    op3(e, op, d, x, jit_const(e, c));
}

/* With AVX2: T3 = the lanes of r, which fit 16 bits, next to each other in its lower half. */
static void pack_words(jit_emitter *e, int r) {
    op3r(e, vpackusdw, T3, r, r);
    jit_vex(e, vpermq, T3, 0, jit_reg(T3), false, true, 0x08); /* what the halves of the register have */
}

/* d = x, with one NaN of either sign for all: what becomes an f16. */
static void same_nan(jit_emitter *e, int d, int x) {
    emit_with_constant(e, vpandd, T3, x, 0x80000000u);
    emit_with_constant(e, vpord, T3, T3, 0x7fc00000u);
    compare_floats(e, x, x, UNORDERED);
    blend(e, d, x, T3);
}
static void from_f16(jit_emitter *e, int d, int x) {
    if (e->wide)
        jit_encode(e, vpmovdw, x, 0, jit_reg(T3), 0, false, -1);
    else
        pack_words(e, x);
    op3r(e, vcvtph2ps, d, 0, T3);
}
/* From memory, where nobody else reads it, without a register on the way. */
static bool load_f16(jit_emitter *e, const jit_ins *i, int d) {
    const jit_source *s = i->x < 0 ? &e->sources[~i->x] : NULL;
    if (!s || s->kind != JIT_VECTOR || e->source_uses[~i->x] != 1 || (e->masked && !e->wide)) return false;
    jit_encode(e, vcvtph2ps, d, 0, source_operand(e, s), e->masked ? 1 : 0, true, -1);
    return true;
}

/* Truncates; what is beyond the type is its least or its largest number, NaN is 0. */
static void to_int(jit_emitter *e, vprog_type t, int d, int x) {
    if (t == VPROG_I32) {
        op3r(e, vcvttps2dq, T3, 0, x); /* too small ones are the least number already */
        load(e, &(jit_source){.kind = JIT_CONST, .type = VPROG_F32, .splat = {0, 0, 0, 0x4f}}, T2); /* 2^31 */
        compare_floats(e, x, T2, AT_LEAST);
        load(e, &(jit_source){.kind = JIT_CONST, .type = VPROG_I32, .splat = {0xff, 0xff, 0xff, 0x7f}}, T2);
        blend(e, T3, T3, T2);
    } else {
        emit_with_constant(e, vmaxps, T3, x, t == VPROG_I8 ? 0xc3000000u : 0); /* -128 */
        emit_with_constant(e, vminps, T3, T3, t == VPROG_I8 ? 0x42fe0000u : 0x437f0000u); /* 127, 255 */
        op3r(e, vcvttps2dq, T3, 0, T3);
    }
    op3r(e, vpxord, T2, T2, T2);
    compare_floats(e, x, x, UNORDERED);
    blend(e, d, T3, T2);
}

/* The upper and the lower half are exact, so that their sum is rounded once. */
static void unsigned_to_float(jit_emitter *e, int d, int x) {
    shift(e, SHIFT_RIGHT, T3, x, 16);
    emit_with_constant(e, vpandd, T2, x, 0xffff);
    op3r(e, vcvtdq2ps, T3, 0, T3);
    op3r(e, vcvtdq2ps, T2, 0, T2);
    emit_with_constant(e, vmulps, T3, T3, 0x47800000u); /* 2^16 */
    op3r(e, vaddps, d, T3, T2);
}

/* As simd.inc has it: 1 with the number's sign, or the number and itself. */
static void emit_sign(jit_emitter *e, vprog_type t, int d, int x) {
    if (t == VPROG_I32) {
        emit_with_constant(e, vpminsd, d, x, 1);
        emit_with_constant(e, vpmaxsd, d, d, UINT32_MAX);
        return;
    }
    emit_with_constant(e, vpandd, T2, x, 0x80000000u);
    emit_with_constant(e, vpord, T2, T2, 0x3f800000u);
    op3r(e, vaddps, T3, x, x);
    op3r(e, vpxord, T1, T1, T1);
    compare_floats(e, x, T1, OTHER);
    blend(e, d, T3, T2);
}

static void emit_unary(jit_emitter *e, const jit_ins *i, int d) {
    if (i->op == VPROG_LOAD_F16 && load_f16(e, i, d)) return;
    int x = in_register(e, i->x, T0);
    switch ((int)i->op) {
    case VPROG_NEG:
        if (i->type == VPROG_F32) {
            emit_with_constant(e, vpxord, d, x, 0x80000000u);
        } else {
            op3r(e, vpxord, T3, T3, T3);
            op3r(e, vpsubd, d, T3, x);
        }
        break;
    case VPROG_ABS:
        if (i->type == VPROG_F32)
            emit_with_constant(e, vpandd, d, x, 0x7fffffffu);
        else
            op3r(e, vpabsd, d, 0, x);
        break;
    case VPROG_SQRT: op3r(e, vsqrtps, d, 0, x); break;
    case VPROG_RSQRT:
        op3r(e, vsqrtps, T3, 0, x);
        load(e, &(jit_source){.kind = JIT_CONST, .type = VPROG_F32, .splat = {0, 0, 0x80, 0x3f}}, T2);
        op3r(e, vdivps, d, T2, T3);
        break;
    case VPROG_FLOOR: jit_encode(e, vrndscaleps, d, 0, jit_reg(x), 0, false, 9); break;
    case VPROG_CEIL: jit_encode(e, vrndscaleps, d, 0, jit_reg(x), 0, false, 10); break;
    case VPROG_ROUND_EVEN: jit_encode(e, vrndscaleps, d, 0, jit_reg(x), 0, false, 8); break;
    case VPROG_NOT: emit_with_constant(e, vpxord, d, x, UINT32_MAX); break;
    case VPROG_ROUND_BF16:
        round_bf16(e, x);
        emit_with_constant(e, vpandd, d, T3, 0xffff0000u);
        break;
    case VPROG_STORE_BF16:
        round_bf16(e, x);
        shift(e, SHIFT_RIGHT, d, T3, 16);
        break;
    case VPROG_ROUND_F16:
        same_nan(e, T3, x);
        jit_encode(e, vcvtps2ph, T3, 0, jit_reg(T3), 0, false, 0);
        op3r(e, vcvtph2ps, d, 0, T3);
        break;
    case VPROG_STORE_F16: same_nan(e, d, x); break; /* made narrow on its way to memory, where alone it goes */
    case VPROG_POPCNT: op3r(e, vpopcntd, d, 0, x); break;
    case VPROG_SIGN: emit_sign(e, i->type, d, x); break;
    case VPROG_LOAD_F16:
        shift(e, SHIFT_RIGHT, T3, x, 16);
        from_f16(e, d, T3);
        break;
    case VPROG_CONVERT + VPROG_F32:
        if (i->type == VPROG_B1)
            emit_with_constant(e, vpandd, d, x, 0x3f800000u);
        else if (i->type != VPROG_U32)
            op3r(e, vcvtdq2ps, d, 0, x);
        else if (e->wide)
            op3r(e, vcvtudq2ps, d, 0, x);
        else
            unsigned_to_float(e, d, x);
        break;
    case VPROG_CONVERT + VPROG_I8:
    case VPROG_CONVERT + VPROG_U8: to_int(e, (vprog_type)(i->op - VPROG_CONVERT), d, x); break;
    case VPROG_CONVERT + VPROG_I32:
        if (i->type == VPROG_F32) {
            to_int(e, VPROG_I32, d, x);
            break;
        }
        /* fall through */
    case VPROG_CONVERT + VPROG_U32:
        if (i->type == VPROG_B1) {
            emit_with_constant(e, vpandd, d, x, 1);
            break;
        }
        /* fall through */
    default: /* the same bits: copies, bf16 that a load has widened already, i32 and u32 */
        if (d != x) op3r(e, vpord, d, x, x);
    }
}

static void emit_select(jit_emitter *e, const jit_ins *i, int d) {
    int p = in_register(e, i->x, T0), yes = in_register(e, i->y, T1), no = in_register(e, i->z, T2);
    if (e->wide) {
        op3r(e, vpmovd2m, 2, 0, p);
        blend(e, d, no, yes);
    } else {
        jit_encode(e, vblendvps, d, no, jit_reg(yes), 0, false, jit_vex_number(p) << 4);
    }
}

static bool counts_bits(void) { /* not every processor with AVX-512 does */
    return simd_level() == 2 && __builtin_cpu_supports("avx512vpopcntdq");
}

bool jit_takes(vprog_op op, vprog_type t) {
    bool word = t == VPROG_I32 || t == VPROG_U32, byte = t == VPROG_I8 || t == VPROG_U8;
    if (op < VPROG_OP_COUNT && binary_opcode(op, t).map) return true;
    if (t == VPROG_B1 && (op == VPROG_EQ || op == VPROG_NE || op == VPROG_NOT)) return simd_level() == 1;
    if (op >= VPROG_EQ && op <= VPROG_LT) return t == VPROG_F32 || word;
    switch ((int)op) {
    case VPROG_MUL_HIGH: return word && simd_level() == 1;
    case VPROG_ABS:
    case VPROG_SIGN: return t == VPROG_F32 || t == VPROG_I32;
    case VPROG_MAX:
    case VPROG_MIN:
    case VPROG_SQRT:
    case VPROG_RSQRT:
    case VPROG_FLOOR:
    case VPROG_CEIL:
    case VPROG_ROUND_EVEN:
    case VPROG_ROUND_BF16:
    case VPROG_ROUND_F16:
    case VPROG_LOAD_BF16:
    case VPROG_LOAD_F16:
    case VPROG_STORE_BF16:
    case VPROG_STORE_F16:
    case VPROG_CONVERT + VPROG_I8:
    case VPROG_CONVERT + VPROG_U8: return t == VPROG_F32;
    case VPROG_NEG:
    case VPROG_COPY: return t == VPROG_F32 || word;
    case VPROG_NOT: return word;
    case VPROG_POPCNT: return word && counts_bits();
    case VPROG_SELECT: return t == VPROG_F32 || word;
    case VPROG_CONVERT + VPROG_F32: return t == VPROG_B1 || word || byte;
    case VPROG_CONVERT + VPROG_I32: return t == VPROG_F32 || t == VPROG_U32 || t == VPROG_B1 || byte;
    case VPROG_CONVERT + VPROG_U32: return t == VPROG_I32 || t == VPROG_B1 || byte;
    default: return false;
    }
}

int jit_arity(vprog_op op) {
    if (op == VPROG_SELECT) return 3;
    return op <= VPROG_LT ? 2 : 1;
}

int jit_operand_of(const jit_ins *i, int k) {
    return k == 0 ? i->x : k == 1 ? i->y : i->z;
}

static vprog_type stored_type(const jit_ins *i) {
    if (i->op == VPROG_STORE_BF16 || i->op == VPROG_STORE_F16) return VPROG_U16;
    if (i->op == VPROG_CONVERT + VPROG_I8 || i->op == VPROG_CONVERT + VPROG_U8) return VPROG_U8;
    bool logic = (i->op >= VPROG_AND && i->op <= VPROG_XOR) || i->op == VPROG_NOT;
    if ((i->op >= VPROG_EQ && i->op <= VPROG_LT) || (logic && i->type == VPROG_B1)) return VPROG_B1;
    return VPROG_F32;
}

/* With AVX2: the lanes of r, which fit 1 << size bytes, next to each other; or the first alone. */
static void store_lanes(jit_emitter *e, jit_operand at, int size, int r) {
    static const jit_opcode first[] = {{3, 1, 0x14}, {3, 1, 0x15}, {1, 2, 0x11}}; /* vpextrb, vpextrw, vmovss */
    if (e->masked) {
        jit_vex(e, first[size], r, 0, at, true, false, size == 2 ? -1 : 0);
        return;
    }
    if (size == 2) {
        jit_encode(e, vmovups_store, r, 0, at, 0, false, -1);
        return;
    }
    pack_words(e, r);
    if (size == 0) jit_vex(e, vpackuswb, T3, T3, jit_reg(T3), true, false, -1);
    jit_vex(e, size == 0 ? vmovq_store : vmovups_store, T3, 0, at, true, false, -1);
}

static void store(jit_emitter *e, const jit_ins *i, int r) {
    vprog_type t = stored_type(i);
    jit_operand at = {.kind = AT_POINTER, .ptr = (uint32_t)i->store, .scale = size_log(t)};
    int mask = e->masked ? 1 : 0;
    if (i->op == VPROG_STORE_F16) {
        bool one = e->masked && !e->wide;
        jit_encode(e, vcvtps2ph, r, 0, one ? jit_reg(T3) : at, mask && e->wide ? 1 : 0, false, 0);
        if (one) store_lanes(e, at, size_log(t), T3);
        return;
    }
    if (t == VPROG_B1 || (t == VPROG_U8 && !e->wide)) {
        emit_with_constant(e, vpandd, T3, r, t == VPROG_B1 ? 1 : 0xff);
        r = T3;
    }
    if (e->wide)
        jit_encode(e, size_log(t) == 0 ? vpmovdb : t == VPROG_U16 ? vpmovdw : vmovups_store, r, 0, at, mask, false, -1);
    else
        store_lanes(e, at, size_log(t), r);
}

void jit_emit(jit_emitter *e, const jit_ins *i, int d) {
    if (i->op == VPROG_SELECT)
        emit_select(e, i, d);
    else if ((i->op == VPROG_MAX || i->op == VPROG_MIN) && i->type == VPROG_F32)
        emit_extreme(e, i, d);
    else if (i->op == VPROG_MUL_HIGH)
        emit_mul_high(e, i, d);
    else if (i->op >= VPROG_EQ && i->op <= VPROG_LT)
        emit_compare(e, i, d);
    else if (jit_arity(i->op) == 2)
        emit_binary(e, i, d);
    else
        emit_unary(e, i, d);
    if (i->store >= 0) store(e, i, d);
}
#endif
