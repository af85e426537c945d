/* Machine code for runs of simple vector instructions: what a vector program would do instruction by instruction over
 * blocks in the first-level cache, one function does in one pass with everything between operands and results in
 * registers. Bit for bit the same answers: no step is contracted or reordered. Only for x86-64 with AVX2 or AVX-512
 * (F, BW, DQ, VL); elsewhere jit_compile makes nothing and the vector program runs as it is. */
#ifndef XT_SRC_CPU_VECTOR_JIT_H
#define XT_SRC_CPU_VECTOR_JIT_H

#include "cpu/vector/simd.h"

typedef enum jit_source_kind {
    JIT_VECTOR, /* element i of the loop is element i at the pointer */
    JIT_SCALAR, /* one element at the pointer for all */
    JIT_CONST /* one constant for all */
} jit_source_kind;
typedef struct jit_source {
    jit_source_kind kind;
    vprog_type type; /* VPROG_U16: bf16 that VPROG_LOAD_BF16 reads */
    uint32_t ptr; /* VECTOR, SCALAR: which pointer */
    uint8_t splat[8];
} jit_source;
typedef struct jit_ins {
    /* operands: an earlier instruction's number, or ~number of a source; what an instruction has not is 0
     * and never read */
    vprog_op op;
    vprog_type type; /* of the operands, as in simd.h's table */
    int x, y, z;
    int store; /* pointer its result is written to as well, or -1 */
} jit_ins;

/* What becomes of a value besides: its n lanes are folded to one number of its type, f32 in simd.h's order. Of i32 and
 * u32 there are sums alone, with AVX2. Extremes have two answers that
 * ask for a second look by simd.h's loops: NaN where an element is one, and 0, of which it may be the wrong one. */
typedef struct jit_fold {
    fold_op op;
    vprog_type type;
    int value; /* number of an instruction */
    uint32_t result; /* pointer that the answer is written to */
} jit_fold;

typedef struct jit_code jit_code;
/* ptr[k]: where pointer k's first element lies. Reads of an element come before writes of it, as far as the
 * instructions' order says so. */
typedef void (*jit_fn)(void *const *ptr, int64_t n);

bool jit_is_on(void); /* this machine can, and XT_PASSES and XT_CPU_FEATURES do not forbid it */
bool jit_takes(vprog_op op, vprog_type type);
/* NULL when there are not registers enough, or no memory: then fewer instructions may do. Equal code is kept once
 * in a process. */
jit_code *jit_compile(const jit_source *sources, size_t n_sources, const jit_ins *ins, size_t n);
/* With AVX2, of which the partial results take most registers, few programs have room; and n is a multiple of 8. */
jit_code *jit_compile_fold(const jit_source *sources, size_t n_sources, const jit_ins *ins, size_t n,
                           const jit_fold *fold);
bool jit_folds_length(int64_t n); /* may a fold's code be called for n lanes? */
jit_fn jit_function(const jit_code *c);
void jit_release(jit_code *c);

/* jit_memory.c: the bytes as code, shared with equal ones; NULL where the system has no executable memory for us. */
jit_code *jit_code_get(const uint8_t *bytes, size_t n);

#endif
