/* Fused elementwise loops: a short program of vector instructions, run block by block so that everything between its
 * inputs and its results stays in the first-level cache.
 *
 * A tape computes `count` elements. It is built in SSA form (each tape_emit gives a new number), then tape_finish gives
 * registers: blocks of `block` elements in a thread's scratch memory, reused as soon as their value has had its last
 * reader. An operand that lies dense in memory is read where it is, a result is written where it goes. Runs of simple
 * instructions become machine code where that is known (jit.h). */
#ifndef XT_SRC_CPU_VECTOR_TAPE_H
#define XT_SRC_CPU_VECTOR_TAPE_H

#include "cpu/thread/team.h"
#include "cpu/vector/access.h"
#include "cpu/vector/simd.h"

typedef enum tape_source_kind {
    TAPE_DIRECT, /* dense: element i of the loop is element i of the input */
    TAPE_STRIDED, /* element i is where the view says */
    TAPE_SCALAR, /* one element of the input for all */
    TAPE_SPLAT, /* one constant for all */
    TAPE_IOTA /* i / inner % size, as i64, or i32 where elem is 4 */
} tape_source_kind;
typedef struct tape_source {
    tape_source_kind kind;
    uint32_t in; /* which of the thunk's inputs */
    uint32_t elem; /* bytes of one element in memory */
    int64_t offset; /* DIRECT: first element */
    view v; /* STRIDED, SCALAR (offset only): collapsed */
    int64_t inner, size;
    uint8_t splat[8];
} tape_source;

typedef struct tape_builder tape_builder;
typedef struct tape tape;
tape_builder *tape_begin(int64_t count);
void tape_abandon(tape_builder *b);
/* Each gives the number of a new value; -1 without memory or when the type has no such instruction (then the builder
 * is spoiled). */
int tape_load(tape_builder *b, const tape_source *s, tape_type t);
int tape_emit(tape_builder *b, tape_op op, tape_type t, int x, int y, int z); /* t: of the operands */
bool tape_lacks(const tape_builder *b); /* a type had no such instruction; otherwise -1 is for want of memory */
void tape_store(tape_builder *b, int value, uint32_t out, xt_dtype memory); /* the value is the thunk's output `out` */
/* Frees b. `out_over`: per output, the inputs it may be written over (n_out words). */
xt_status tape_finish(tape_builder *b, size_t n_out, tape **out, uint64_t *out_over);
void tape_free(tape *t);
/* As cpu_kernel.access, of a thunk that reads these values: its k-th load from memory, or count. */
bool tape_access(const tape *t, const ir_value *const *reads, uint32_t k, cpu_access *out);
size_t tape_scratch_bytes(const tape *t, int threads);
xt_status tape_run(const tape *t, const cpu_team *team, void *const *in, void *const *out, void *scratch);
/* Elements [begin, end) on the calling thread; out: where the first of them goes; scratch: of one thread. */
void tape_run_part(const tape *t, int64_t begin, int64_t end, void *const *in, void *const *out, void *scratch);
/* The first n <= count elements on the calling thread; scratch: of one thread. */
void tape_run_rows(const tape *t, int64_t n, void *const *in, void *const *out, void *scratch);

/* bf16 and f16 give TAPE_F32; false for complex, f8 and sub-byte types */
bool tape_type_of(xt_dtype d, tape_type *out);
bool tape_type_of_size(size_t bytes, tape_type *out); /* for moving elements whatever they mean */
size_t tape_type_size(tape_type t);

/* --- from StableHLO (tape_ops.c) --- */
bool tape_is_half(xt_dtype d); /* kept as f32 in registers, and rounded after each op */
bool tape_takes(const ir_op *op); /* an elementwise op on types that have registers */
/* such an op on values that are on the tape */
int tape_emit_op(tape_builder *tape, const ir_op *op, int x, int y, int z);

#endif
