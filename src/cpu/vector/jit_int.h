/* Machine code for x86-64: a loop over as many 32-bit lanes as a register has, then what is left. With AVX-512 there
 * are sixteen lanes, and what is left runs once more under a mask. With AVX2 there are eight, and it runs element by
 * element
 * (`masked` says so too): vectors are loaded as one element for all lanes, of which the first is stored.
 *
 * Registers that no value needs hold the constants that come first in the code: an instruction that reads one from
 * memory takes the processor's path for loads, of which it has fewer than of those for arithmetic.
 *
 * Registers: rdi the pointers, rsi the count, rcx the element, rax a pointer beyond the first eight, the other pointers
 * in `jit_bases`; vector registers hold values, and T0 to T3 live within one instruction (28 to 31, with AVX2 12 to
 * 15); k1 masks the rest, k2 is a comparison's answer, with AVX2 register MASK. A bool in a register is 32 bits of ones
 * or zeros per lane, a bf16 is the f32 of the same value.
 *
 * jit.c: the loop and where values are. jit_emit.c: an instruction of a vector program as instructions of the
 * processor. jit_fold.c: folds. jit_encode.c: an instruction's bytes. */
#ifndef XT_SRC_CPU_VECTOR_JIT_INT_H
#define XT_SRC_CPU_VECTOR_JIT_INT_H

#include "cpu/vector/jit.h"

/* Vector registers by number: with AVX-512 values are in 0 to 27, with AVX2 in 0 to 10. */
enum { JIT_MASK = 27, JIT_T0 = 28 };
enum { JIT_BASES = 8 };
extern const int jit_bases[JIT_BASES];

typedef struct jit_opcode { /* jit_opcode map, mandatory prefix, byte */
    uint8_t map, prefix, byte;
} jit_opcode;

typedef struct jit_operand { /* what stands in an instruction's r/m place */
    enum { IN_REG, AT_POINTER, AT_CONST } kind;
    int reg; /* IN_REG */
    uint32_t ptr; /* AT_POINTER */
    int scale; /* AT_POINTER: log2 of the element size; -1: one element for all */
    uint32_t constant; /* AT_CONST: which */
    bool broadcast; /* the instruction spreads one 32-bit element over the lanes */
} jit_operand;

typedef struct jit_emitter {
    uint8_t *code;
    size_t n, cap;
    uint32_t *constants; /* behind the code */
    size_t n_constants, cap_constants;
    size_t n_resident; /* the first constants are in registers from most_reg - 1 downwards */
    int most_reg, peak; /* registers for values and constants; those that values needed */
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
    const jit_fold *fold; /* NULL: none */
    int sums; /* the first of a fold's registers of partial results; before it, with AVX2, lanes that were NaN */
    bool wide; /* AVX-512 */
    bool masked, failed;
} jit_emitter;

extern const jit_opcode jit_broadcast; /* one 32-bit element to all lanes */
/* --- jit_encode.c; an instruction for which there is no memory sets `failed` --- */
void jit_put(jit_emitter *e, unsigned b);
void jit_put32(jit_emitter *e, uint32_t v);
void jit_put_bytes(jit_emitter *e, const char *bytes, size_t n);
#define JIT_PUT(e, text) jit_put_bytes(e, text, sizeof(text) - 1)
void jit_patch32(jit_emitter *e, size_t at, uint32_t v);
void jit_jump_back(jit_emitter *e, unsigned condition, size_t to);
jit_operand jit_reg(int r);
jit_operand jit_const(jit_emitter *e, uint32_t v); /* the same in every lane; equal ones are kept once */
int jit_vex_number(int r); /* of a register, with AVX2 */
/* One instruction on whole registers: `reg` and `vvvv` are its register operands (vvvv 0 where it has none), mask 0 =
 * none (AVX-512 alone has masks). `imm` < 0: no immediate. */
void jit_encode(jit_emitter *e, jit_opcode op, int reg, int vvvv, jit_operand rm, int mask, bool zero, int imm);
/* One VEX instruction on 256 bits, or on 128 where `half`; `w`: the prefix's bit of that name. */
void jit_vex(jit_emitter *e, jit_opcode op, int reg, int vvvv, jit_operand rm, bool half, bool w, int imm);

/* --- jit_emit.c --- */
int jit_arity(vprog_op op); /* how many operands an instruction reads */
int jit_operand_of(const jit_ins *i, int k);
int jit_take_reg(jit_emitter *e); /* a free register for a value; without one `failed` is set */
void jit_emit(jit_emitter *e, const jit_ins *i,
              int d); /* its result comes into register d, and where it is stored to */
void jit_splat(jit_emitter *e, int r, uint32_t bits);

/* --- jit_fold.c: a fold in the registers of a loop --- */
int jit_fold_sums(const jit_emitter *e); /* registers of partial results */
int jit_fold_registers(const jit_emitter *e); /* how many it takes, the last of them sums */
void jit_fold_begin(jit_emitter *e);
void jit_fold_step(jit_emitter *e, int sum, int value); /* under the mask where there is one */
void jit_fold_end(jit_emitter *e);

#endif
