/* Emits the code of a run of vector instructions for x86-64 with AVX-512: a loop over sixteen 32-bit lanes, then once
 * more under a mask for what is left. Encodings as in Intel's Software Developer's Manual, volume 2 (EVEX prefix: 2.7;
 * each instruction: chapters 3 to 5).
 *
 * Registers: rdi the pointers, rsi the count, rcx the element, rax a pointer beyond the first eight, the other
 * pointers in `bases`; zmm0 to zmm27 hold values, zmm28 to zmm31 live within one instruction; k1 masks the rest,
 * k2 is a comparison's answer. A bool in a register is 32 bits of ones or zeros per lane, a bf16 is the f32 of
 * the same value. */
#include "cpu/vector/jit.h"

#include "pass/pass.h"

#if defined(__x86_64__)

enum { VALUES = 28, T0 = 28, T1, T2, T3 };
enum { RAX = 0, RCX = 1 };
enum { BASES = 8 };
/* r8 to r11, then rbx, r12, r14, r15, which belong to the caller */
static const int bases[BASES] = {8, 9, 10, 11, 3, 12, 14, 15};

typedef struct opcode { /* opcode map, mandatory prefix, byte */
    uint8_t map, prefix, byte;
} opcode;

typedef struct operand { /* what stands in an instruction's r/m place */
    enum { IN_REG, AT_POINTER, AT_CONST } kind;
    int reg; /* IN_REG */
    uint32_t ptr; /* AT_POINTER */
    int scale; /* AT_POINTER: log2 of the element size; -1: one element for all */
    uint32_t constant; /* AT_CONST: which */
    bool broadcast; /* the instruction spreads one 32-bit element over the lanes */
} operand;

typedef struct emitter {
    uint8_t *code;
    size_t n, cap;
    uint32_t *constants; /* behind the code */
    size_t n_constants, cap_constants;
    struct fixup {
        size_t at, end; /* of the displacement, of the instruction */
        uint32_t constant;
    } * fixups;
    size_t n_fixups, cap_fixups;
    const jit_source *sources;
    const jit_ins *ins;
    size_t n_sources, n_ins;
    int *reg, *source_reg, *last, *source_last, *source_uses; /* where values are, -1 = nowhere; last readers */
    uint32_t used; /* of the value registers, one bit each */
    uint32_t n_ptr;
    bool masked, failed;
} emitter;

/* --- bytes --- */
static void put(emitter *e, unsigned b) {
    if (!VEC_PUSH(e->code, e->n, e->cap, (uint8_t)b)) e->failed = true;
}
static void put32(emitter *e, uint32_t v) {
    for (int i = 0; i < 4; i++) put(e, v >> 8 * i & 0xff);
}
static void put_bytes(emitter *e, const char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) put(e, (uint8_t)bytes[i]);
}
#define PUT(e, text) put_bytes(e, text, sizeof(text) - 1)

static operand reg_operand(int r) {
    return (operand){.kind = IN_REG, .reg = r};
}
static operand const_operand(emitter *e, uint32_t v) {
    operand o = {.kind = AT_CONST, .broadcast = true};
    for (o.constant = 0; o.constant < e->n_constants; o.constant++)
        if (e->constants[o.constant] == v) return o;
    if (!VEC_PUSH(e->constants, e->n_constants, e->cap_constants, v)) e->failed = true;
    return o;
}

/* mov rax, [rdi + 8 * ptr] where the pointer has no register of its own. */
static int base_of(emitter *e, uint32_t ptr) {
    if (ptr < BASES) return bases[ptr];
    PUT(e, "\x48\x8b\x87");
    put32(e, 8 * ptr);
    return RAX;
}

/* One EVEX instruction on 512 bits: `reg` and `vvvv` are its register operands (vvvv 0 where it has none), mask 0 =
 * none. `imm` < 0: no immediate. */
static void evex(emitter *e, opcode op, int reg, int vvvv, operand rm, int mask, bool zero, int imm) {
    int base = rm.kind == AT_POINTER ? base_of(e, rm.ptr) : rm.kind == IN_REG ? rm.reg : 5;
    bool x = rm.kind == IN_REG && (rm.reg & 16); /* an index, rcx, needs no extension */
    put(e, 0x62);
    put(e, (reg & 8 ? 0u : 0x80u) | (x ? 0u : 0x40u) | (base & 8 ? 0u : 0x20u) | (reg & 16 ? 0u : 0x10u) | op.map);
    put(e, (unsigned)(~vvvv & 15) << 3 | 4u | op.prefix);
    put(e, (zero && mask ? 0x80u : 0u) | 0x40u | (rm.broadcast ? 0x10u : 0u) | (vvvv & 16 ? 0u : 8u) | (unsigned)mask);
    put(e, op.byte);
    unsigned r = (unsigned)(reg & 7) << 3;
    if (rm.kind == IN_REG) {
        put(e, 0xc0u | r | (unsigned)(rm.reg & 7));
    } else if (rm.kind == AT_CONST) {
        put(e, r | 5u);
        struct fixup f = {e->n, e->n + 4 + (imm >= 0), rm.constant};
        if (!VEC_PUSH(e->fixups, e->n_fixups, e->cap_fixups, f)) e->failed = true;
        put32(e, 0);
    } else { /* [base] or [base + rcx * scale], by an SIB byte, which any base but rbp and r13 may stand in */
        put(e, r | 4u);
        put(e, rm.scale < 0 ? 0x20u | (unsigned)(base & 7) : (unsigned)rm.scale << 6 | RCX << 3 | (unsigned)(base & 7));
    }
    if (imm >= 0) put(e, (unsigned)imm);
}

#define OPCODE(name, map, prefix, byte) static const opcode name = {map, prefix, byte};
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
OPCODE(vbroadcastss, 2, 1, 0x18)
OPCODE(vpbroadcastb, 2, 1, 0x78)
OPCODE(vpbroadcastw, 2, 1, 0x79)
OPCODE(vptestmd, 2, 1, 0x27)
#undef OPCODE
enum { SHIFT_LEFT = 6, SHIFT_RIGHT = 2 }; /* vpshiftd's register field says which shift it is */

static void op3(emitter *e, opcode op, int d, int a, operand b) {
    evex(e, op, d, a, b, 0, false, -1);
}
static void op3r(emitter *e, opcode op, int d, int a, int b) {
    op3(e, op, d, a, reg_operand(b));
}
static void shift(emitter *e, int kind, int d, int a, int by) {
    evex(e, vpshiftd, kind, d, reg_operand(a), 0, false, by);
}
static void blend(emitter *e, int d, int if_clear, int if_set) {
    evex(e, vblendmps, d, if_clear, reg_operand(if_set), 2, false, -1);
}
/* r = ones where k2 is set */
static void spread(emitter *e, int r) {
    op3r(e, vpmovm2d, r, 0, 2);
}

/* --- operands --- */
static int size_log(vprog_type t) {
    return t == VPROG_B1 ? 0 : t == VPROG_U16 ? 1 : 2;
}

static operand source_operand(emitter *e, const jit_source *s) {
    if (s->kind != JIT_CONST)
        return (operand){.kind = AT_POINTER,
                         .ptr = s->ptr,
                         .scale = s->kind == JIT_SCALAR ? -1 : size_log(s->type),
                         .broadcast = s->kind == JIT_SCALAR};
    uint32_t v = 0;
    if (s->type == VPROG_B1)
        v = s->splat[0] ? UINT32_MAX : 0;
    else if (s->type == VPROG_U16)
        v = (uint32_t)s->splat[0] << 16 | (uint32_t)s->splat[1] << 24;
    else
        memcpy(&v, s->splat, 4);
    return const_operand(e, v);
}

static void load(emitter *e, const jit_source *s, int r) {
    operand at = source_operand(e, s);
    bool vector = s->kind == JIT_VECTOR;
    int mask = e->masked && vector ? 1 : 0;
    at.broadcast = false; /* the broadcasting moves do it of their own */
    if (s->kind == JIT_CONST || (size_log(s->type) == 2 && !vector)) {
        op3(e, vbroadcastss, r, 0, at);
    } else if (s->type == VPROG_U16) {
        evex(e, vector ? vpmovzxwd : vpbroadcastw, r, 0, at, mask, true, -1);
        shift(e, SHIFT_LEFT, r, r, 16);
    } else if (s->type == VPROG_B1) {
        evex(e, vector ? vpmovzxbd : vpbroadcastb, r, 0, at, mask, true, -1);
        op3r(e, vptestmd, 2, r, r);
        spread(e, r);
    } else {
        evex(e, vmovups_load, r, 0, at, mask, true, -1);
    }
}

static int take_reg(emitter *e) {
    for (int r = 0; r < VALUES; r++)
        if (!(e->used >> r & 1)) {
            e->used |= 1u << r;
            return r;
        }
    e->failed = true; /* the caller tries fewer instructions */
    return 0;
}

/* The register of operand v; a source read once comes into `temporary`, one read more often stays. */
static int in_register(emitter *e, int v, int temporary) {
    if (v >= 0) return e->reg[v];
    int s = ~v;
    if (e->source_reg[s] >= 0) return e->source_reg[s];
    if (e->source_uses[s] > 1 && e->sources[s].kind == JIT_VECTOR) e->source_reg[s] = temporary = take_reg(e);
    load(e, &e->sources[s], temporary);
    return temporary;
}

/* Operand v as memory where the instruction can read it from there: 32-bit elements that nobody else needs in a
 * register. Under the mask the whole instruction is masked, so lanes beyond the end are not touched. */
static operand in_place(emitter *e, int v, int temporary, int *out_mask) {
    *out_mask = 0;
    if (v < 0) {
        const jit_source *s = &e->sources[~v];
        bool once = e->source_uses[~v] == 1 && e->source_reg[~v] < 0;
        if (size_log(s->type) == 2 && (s->kind != JIT_VECTOR || once)) {
            *out_mask = e->masked && s->kind == JIT_VECTOR ? 1 : 0;
            return source_operand(e, s);
        }
    }
    return reg_operand(in_register(e, v, temporary));
}

/* --- instructions --- */
typedef struct binary_row {
    opcode f32, i32, u32;
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
static opcode binary_opcode(vprog_op op, vprog_type t) {
    const binary_row *r = &binaries[op];
    bool logic = op == VPROG_AND || op == VPROG_OR || op == VPROG_XOR;
    return t == VPROG_F32                               ? r->f32
           : t == VPROG_U32                             ? r->u32
           : t == VPROG_I32 || (t == VPROG_B1 && logic) ? r->i32
                                                        : (opcode){0, 0, 0};
}

static void emit_binary(emitter *e, const jit_ins *i, int d) {
    opcode op = binary_opcode(i->op, i->type);
    int x = i->x, y = i->y, mask;
    if (binaries[i->op].commutes && x < 0 && y >= 0) x = i->y, y = i->x;
    int a = in_register(e, x, T0);
    operand b = in_place(e, y, T1, &mask);
    evex(e, op, d, a, b, mask, true, -1);
}

/* The first NaN wins, as in a sum; -0 lies below +0. */
static void emit_extreme(emitter *e, const jit_ins *i, int d) {
    int a = in_register(e, i->x, T0), b = in_register(e, i->y, T1);
    evex(e, vrangeps, T3, a, reg_operand(b), 0, false, i->op == VPROG_MAX ? 5 : 4); /* with the result's own sign */
    evex(e, vcmpps, 2, a, reg_operand(b), 0, false, 3 /* unordered */);
    evex(e, vaddps, T3, a, reg_operand(b), 2, false, -1);
    op3r(e, vpord, d, T3, T3);
}

static void emit_compare(emitter *e, const jit_ins *i, int d) {
    /* EQ NE GE GT LE LT */
    static const uint8_t floats[] = {0x00, 0x04, 0x1d, 0x1e, 0x12, 0x11}, ints[] = {0, 4, 5, 6, 2, 1};
    int a = in_register(e, i->x, T0), b = in_register(e, i->y, T1), which = (int)i->op - VPROG_EQ;
    evex(e,
         i->type == VPROG_F32   ? vcmpps
         : i->type == VPROG_I32 ? vpcmpd
                                : vpcmpud,
         2, a, reg_operand(b), 0, false, i->type == VPROG_F32 ? floats[which] : ints[which]);
    spread(e, d);
}

/* r = the f32 x rounded to bf16, nearest even, in the upper half of each lane; the lower halves are not clean. NaN
 * stays one, made quiet. */
static void round_bf16(emitter *e, int x) {
    shift(e, SHIFT_RIGHT, T3, x, 16);
    operand one = const_operand(e, 1), half = const_operand(e, 0x7fff), quiet = const_operand(e, 0x400000);
    op3(e, vpandd, T3, T3, one);
    op3r(e, vpaddd, T3, T3, x);
    op3(e, vpaddd, T3, T3, half);
    op3(e, vpord, T2, x, quiet);
    evex(e, vcmpps, 2, x, reg_operand(x), 0, false, 3);
    blend(e, T3, T3, T2);
}

static void emit_with_constant(emitter *e, opcode op, int d, int x, uint32_t c) {
    op3(e, op, d, x, const_operand(e, c));
}

static void emit_unary(emitter *e, const jit_ins *i, int d) {
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
    case VPROG_ABS: emit_with_constant(e, vpandd, d, x, 0x7fffffffu); break;
    case VPROG_SQRT: op3r(e, vsqrtps, d, 0, x); break;
    case VPROG_RSQRT:
        op3r(e, vsqrtps, T3, 0, x);
        load(e, &(jit_source){.kind = JIT_CONST, .type = VPROG_F32, .splat = {0, 0, 0x80, 0x3f}}, T2);
        op3r(e, vdivps, d, T2, T3);
        break;
    case VPROG_FLOOR: evex(e, vrndscaleps, d, 0, reg_operand(x), 0, false, 9); break;
    case VPROG_CEIL: evex(e, vrndscaleps, d, 0, reg_operand(x), 0, false, 10); break;
    case VPROG_ROUND_EVEN: evex(e, vrndscaleps, d, 0, reg_operand(x), 0, false, 8); break;
    case VPROG_NOT: emit_with_constant(e, vpxord, d, x, UINT32_MAX); break;
    case VPROG_ROUND_BF16:
        round_bf16(e, x);
        emit_with_constant(e, vpandd, d, T3, 0xffff0000u);
        break;
    case VPROG_STORE_BF16:
        round_bf16(e, x);
        shift(e, SHIFT_RIGHT, d, T3, 16);
        break;
    case VPROG_CONVERT + VPROG_F32:
        if (i->type == VPROG_B1)
            emit_with_constant(e, vpandd, d, x, 0x3f800000u);
        else
            op3r(e, i->type == VPROG_I32 ? vcvtdq2ps : vcvtudq2ps, d, 0, x);
        break;
    default: /* the same bits: copies, bf16 that a load has widened already, i32 and u32 */
        if (d != x) op3r(e, vpord, d, x, x);
    }
}

static void emit_select(emitter *e, const jit_ins *i, int d) {
    int p = in_register(e, i->x, T0), yes = in_register(e, i->y, T1), no = in_register(e, i->z, T2);
    op3r(e, vpmovd2m, 2, 0, p);
    blend(e, d, no, yes);
}

bool jit_takes(vprog_op op, vprog_type t) {
    bool word = t == VPROG_I32 || t == VPROG_U32;
    if (op < VPROG_OP_COUNT && binary_opcode(op, t).map) return true;
    if (op >= VPROG_EQ && op <= VPROG_LT) return t == VPROG_F32 || word;
    switch ((int)op) {
    case VPROG_MAX:
    case VPROG_MIN:
    case VPROG_ABS:
    case VPROG_SQRT:
    case VPROG_RSQRT:
    case VPROG_FLOOR:
    case VPROG_CEIL:
    case VPROG_ROUND_EVEN:
    case VPROG_ROUND_BF16:
    case VPROG_LOAD_BF16:
    case VPROG_STORE_BF16: return t == VPROG_F32;
    case VPROG_NEG:
    case VPROG_COPY: return t == VPROG_F32 || word;
    case VPROG_NOT: return word;
    case VPROG_SELECT: return t == VPROG_F32 || word;
    case VPROG_CONVERT + VPROG_F32: return t == VPROG_B1 || word;
    case VPROG_CONVERT + VPROG_I32: return t == VPROG_U32;
    case VPROG_CONVERT + VPROG_U32: return t == VPROG_I32;
    default: return false;
    }
}

/* How many operands an instruction reads. */
static int arity(vprog_op op) {
    if (op == VPROG_SELECT) return 3;
    return op <= VPROG_LT ? 2 : 1;
}

static int operand_of(const jit_ins *i, int k) {
    return k == 0 ? i->x : k == 1 ? i->y : i->z;
}

/* --- the loop's body --- */
static vprog_type stored_type(const jit_ins *i) {
    if (i->op == VPROG_STORE_BF16) return VPROG_U16;
    if ((i->op >= VPROG_EQ && i->op <= VPROG_LT) || ((i->op >= VPROG_AND && i->op <= VPROG_XOR) && i->type == VPROG_B1))
        return VPROG_B1;
    return VPROG_F32;
}

static void store(emitter *e, const jit_ins *i, int r) {
    vprog_type t = stored_type(i);
    operand at = {.kind = AT_POINTER, .ptr = (uint32_t)i->store, .scale = size_log(t)};
    int mask = e->masked ? 1 : 0;
    if (t == VPROG_B1) {
        emit_with_constant(e, vpandd, T3, r, 1);
        r = T3;
    }
    evex(e, t == VPROG_B1 ? vpmovdb : t == VPROG_U16 ? vpmovdw : vmovups_store, r, 0, at, mask, false, -1);
}

static void release(emitter *e, int *reg) {
    if (*reg >= 0) e->used &= ~(1u << *reg);
    *reg = -1;
}

static void body(emitter *e) {
    e->used = 0;
    for (size_t s = 0; s < e->n_sources; s++) e->source_reg[s] = -1;
    for (size_t k = 0; k < e->n_ins && !e->failed; k++) {
        const jit_ins *i = &e->ins[k];
        int d = e->reg[k] = take_reg(e);
        if (i->op == VPROG_SELECT)
            emit_select(e, i, d);
        else if ((i->op == VPROG_MAX || i->op == VPROG_MIN) && i->type == VPROG_F32)
            emit_extreme(e, i, d);
        else if (i->op >= VPROG_EQ && i->op <= VPROG_LT)
            emit_compare(e, i, d);
        else if (arity(i->op) == 2)
            emit_binary(e, i, d);
        else
            emit_unary(e, i, d);
        if (i->store >= 0) store(e, i, d);
        for (int a = 0; a < arity(i->op); a++) {
            int v = operand_of(i, a);
            if (v >= 0 && e->last[v] == (int)k) release(e, &e->reg[v]);
            if (v < 0 && e->source_last[~v] == (int)k) release(e, &e->source_reg[~v]);
        }
        if (e->last[k] < 0) release(e, &e->reg[k]);
    }
}

static void count_uses(emitter *e) {
    for (size_t s = 0; s < e->n_sources; s++) e->source_last[s] = -1, e->source_uses[s] = 0;
    for (size_t k = 0; k < e->n_ins; k++) e->last[k] = -1;
    for (size_t k = 0; k < e->n_ins; k++)
        for (int a = 0; a < arity(e->ins[k].op); a++) {
            int v = operand_of(&e->ins[k], a);
            if (v >= 0)
                e->last[v] = (int)k;
            else
                e->source_last[~v] = (int)k, e->source_uses[~v]++;
        }
    for (size_t s = 0; s < e->n_sources; s++)
        if (e->sources[s].kind != JIT_CONST && e->sources[s].ptr >= e->n_ptr) e->n_ptr = e->sources[s].ptr + 1;
    for (size_t k = 0; k < e->n_ins; k++)
        if (e->ins[k].store >= 0 && (uint32_t)e->ins[k].store >= e->n_ptr) e->n_ptr = (uint32_t)e->ins[k].store + 1;
}

static void jump_back(emitter *e, unsigned condition, size_t to) {
    put(e, 0x0f);
    put(e, condition);
    put32(e, (uint32_t)((int64_t)to - (int64_t)(e->n + 4)));
}

static void patch32(emitter *e, size_t at, uint32_t v) {
    for (int i = 0; i < 4 && at + 4 <= e->n; i++) e->code[at + (size_t)i] = (uint8_t)(v >> 8 * i);
}

static void whole(emitter *e) {
    PUT(e, "\x53\x41\x54\x41\x56\x41\x57"); /* push rbx, r12, r14, r15 */
    for (uint32_t p = 0; p < e->n_ptr && p < BASES; p++) { /* mov base, [rdi + 8 * p] */
        put(e, bases[p] & 8 ? 0x4c : 0x48);
        put(e, 0x8b);
        put(e, 0x47u | (unsigned)(bases[p] & 7) << 3);
        put(e, 8 * p);
    }
    PUT(e, "\x31\xc9\x48\x83\xfe\x10\x0f\x8c"); /* xor ecx, ecx; cmp rsi, 16; jl rest */
    size_t skip = e->n, top;
    put32(e, 0);
    top = e->n;
    e->masked = false;
    body(e);
    PUT(e, "\x48\x83\xc1\x10\x48\x8d\x51\x10\x48\x39\xf2"); /* add rcx, 16; lea rdx, [rcx + 16]; cmp rdx, rsi */
    jump_back(e, 0x8e, top); /* jle */
    patch32(e, skip, (uint32_t)(e->n - skip - 4));
    PUT(e, "\x48\x29\xce\x0f\x84"); /* rest: sub rsi, rcx; jz done */
    size_t done = e->n;
    put32(e, 0);
    /* mov eax, -1; bzhi eax, eax, esi; kmovw k1, eax */
    PUT(e, "\xb8\xff\xff\xff\xff\xc4\xe2\x48\xf5\xc0\xc5\xf8\x92\xc8");
    e->masked = true;
    body(e);
    patch32(e, done, (uint32_t)(e->n - done - 4));
    PUT(e, "\x41\x5f\x41\x5e\x41\x5c\x5b\xc5\xf8\x77\xc3"); /* pop r15, r14, r12, rbx; vzeroupper; ret */
    while (e->n % 4 && !e->failed) put(e, 0xcc);
    size_t pool = e->n;
    for (size_t c = 0; c < e->n_constants; c++) put32(e, e->constants[c]);
    for (size_t f = 0; f < e->n_fixups; f++)
        patch32(e, e->fixups[f].at, (uint32_t)(pool + 4 * e->fixups[f].constant - e->fixups[f].end));
}

jit_code *jit_compile(const jit_source *sources, size_t n_sources, const jit_ins *ins, size_t n) {
    emitter e = {.sources = sources, .n_sources = n_sources, .ins = ins, .n_ins = n};
    jit_code *code = NULL;
    int *room = base_malloc((2 * n + 3 * n_sources + 1) * sizeof *room);
    if (room) {
        e.reg = room, e.last = room + n;
        e.source_reg = room + 2 * n, e.source_last = e.source_reg + n_sources,
        e.source_uses = e.source_last + n_sources;
        count_uses(&e);
        whole(&e);
        if (!e.failed) code = jit_code_get(e.code, e.n);
    }
    base_free(room);
    base_free(e.code);
    base_free(e.constants);
    base_free(e.fixups);
    return code;
}

bool jit_is_on(void) {
    return simd_level() == 2 && pass_is_on("jit");
}
#else
bool jit_is_on(void) {
    return false;
}
bool jit_takes(vprog_op op, vprog_type type) {
    (void)op, (void)type;
    return false;
}
jit_code *jit_compile(const jit_source *sources, size_t n_sources, const jit_ins *ins, size_t n) {
    (void)sources, (void)n_sources, (void)ins, (void)n;
    return NULL;
}
#endif
