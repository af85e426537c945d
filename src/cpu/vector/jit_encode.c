/* The bytes of x86-64's vector instructions. Encodings as in Intel's Software Developer's Manual, volume 2 (VEX prefix:
 * 2.3, EVEX: 2.7). */
#include "cpu/vector/jit_int.h"

#if defined(__x86_64__)

enum { RAX = 0, RCX = 1 };
/* r8 to r11, then rbx, r12, r14, r15, which belong to the caller */
const int jit_bases[JIT_BASES] = {8, 9, 10, 11, 3, 12, 14, 15};

void jit_put(jit_emitter *e, unsigned b) {
    if (!VEC_PUSH(e->code, e->n, e->cap, (uint8_t)b)) e->failed = true;
}
void jit_put32(jit_emitter *e, uint32_t v) {
    for (int i = 0; i < 4; i++) jit_put(e, v >> 8 * i & 0xff);
}
void jit_put_bytes(jit_emitter *e, const char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) jit_put(e, (uint8_t)bytes[i]);
}

jit_operand jit_reg(int r) {
    return (jit_operand){.kind = IN_REG, .reg = r};
}
jit_operand jit_const(jit_emitter *e, uint32_t v) {
    jit_operand o = {.kind = AT_CONST, .broadcast = e->wide};
    for (o.constant = 0; o.constant < e->n_constants; o.constant++)
        if (e->constants[o.constant] == v)
            return o.constant < e->n_resident ? jit_reg(e->most_reg - 1 - (int)o.constant) : o;
    if (!VEC_PUSH(e->constants, e->n_constants, e->cap_constants, v)) e->failed = true;
    return o;
}

/* mov rax, [rdi + 8 * ptr] where the pointer has no register of its own. */
static int base_of(jit_emitter *e, uint32_t ptr) {
    if (ptr < JIT_BASES) return jit_bases[ptr];
    JIT_PUT(e, "\x48\x8b\x87");
    jit_put32(e, 8 * ptr);
    return RAX;
}

/* What follows the opcode: the r/m operand, by base `base` where it lies at a pointer, and the immediate. */
static void put_operand(jit_emitter *e, int reg, jit_operand rm, int base, int imm) {
    unsigned r = (unsigned)(reg & 7) << 3;
    if (rm.kind == IN_REG) {
        jit_put(e, 0xc0u | r | (unsigned)(base & 7));
    } else if (rm.kind == AT_CONST) {
        jit_put(e, r | 5u);
        struct fixup f = {e->n, e->n + 4 + (imm >= 0), rm.constant};
        if (!VEC_PUSH(e->fixups, e->n_fixups, e->cap_fixups, f)) e->failed = true;
        jit_put32(e, 0);
    } else { /* [base] or [base + rcx * scale], by an SIB byte, which any base but rbp and r13 may stand in */
        jit_put(e, r | 4u);
        jit_put(e, rm.scale < 0 ? 0x20u | (unsigned)(base & 7)
                                : (unsigned)rm.scale << 6 | RCX << 3 | (unsigned)(base & 7));
    }
    if (imm >= 0) jit_put(e, (unsigned)imm);
}

static int base_or_reg(jit_emitter *e, jit_operand rm) {
    return rm.kind == AT_POINTER ? base_of(e, rm.ptr) : rm.kind == IN_REG ? rm.reg : 5;
}

int jit_vex_number(int r) {
    return r >= JIT_MASK ? r - 16 : r;
}
void jit_vex(jit_emitter *e, jit_opcode op, int reg, int vvvv, jit_operand rm, bool half, bool w, int imm) {
    reg = jit_vex_number(reg), vvvv = jit_vex_number(vvvv);
    int base = base_or_reg(e, rm);
    if (rm.kind == IN_REG) base = jit_vex_number(base);
    jit_put(e, 0xc4);
    jit_put(e, (reg & 8 ? 0u : 0x80u) | 0x40u | (base & 8 ? 0u : 0x20u) | op.map);
    jit_put(e, (w ? 0x80u : 0u) | (unsigned)(~vvvv & 15) << 3 | (half ? 0u : 4u) | op.prefix);
    jit_put(e, op.byte);
    put_operand(e, reg, rm, base, imm);
}

void jit_encode(jit_emitter *e, jit_opcode op, int reg, int vvvv, jit_operand rm, int mask, bool zero, int imm) {
    if (!e->wide) {
        jit_vex(e, op, reg, vvvv, rm, false, false, imm);
        return;
    }
    int base = base_or_reg(e, rm);
    bool x = rm.kind == IN_REG && (rm.reg & 16); /* an index, rcx, needs no extension */
    jit_put(e, 0x62);
    jit_put(e, (reg & 8 ? 0u : 0x80u) | (x ? 0u : 0x40u) | (base & 8 ? 0u : 0x20u) | (reg & 16 ? 0u : 0x10u) | op.map);
    jit_put(e, (unsigned)(~vvvv & 15) << 3 | 4u | op.prefix);
    jit_put(e,
            (zero && mask ? 0x80u : 0u) | 0x40u | (rm.broadcast ? 0x10u : 0u) | (vvvv & 16 ? 0u : 8u) | (unsigned)mask);
    jit_put(e, op.byte);
    put_operand(e, reg, rm, base, imm);
}

void jit_jump_back(jit_emitter *e, unsigned condition, size_t to) {
    jit_put(e, 0x0f);
    jit_put(e, condition);
    jit_put32(e, (uint32_t)((int64_t)to - (int64_t)(e->n + 4)));
}

void jit_patch32(jit_emitter *e, size_t at, uint32_t v) {
    for (int i = 0; i < 4 && at + 4 <= e->n; i++) e->code[at + (size_t)i] = (uint8_t)(v >> 8 * i);
}
#endif
