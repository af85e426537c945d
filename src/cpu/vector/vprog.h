/* Fused elementwise loops: a short program of vector instructions, run block by block so that everything between its
 * inputs and its results stays in the first-level cache.
 *
 * A vector program computes `count` elements. It is built in SSA form (each vprog_emit gives a new number), then
 * vprog_finish gives registers: blocks of `block` elements in a thread's scratch memory, reused as soon as their value
 * has had its last reader. An operand that lies dense in memory is read where it is, a result is written where it goes.
 * Runs of simple instructions become machine code where that is known (jit.h). */
#ifndef XT_SRC_CPU_VECTOR_VPROG_H
#define XT_SRC_CPU_VECTOR_VPROG_H

#include "cpu/thread/team.h"
#include "cpu/vector/access.h"
#include "cpu/vector/simd.h"

typedef enum vprog_source_kind {
    VPROG_DIRECT, /* dense: element i of the loop is element i of the input */
    VPROG_STRIDED, /* element i is where the view says */
    VPROG_ROWS, /* the same, and the view's last dim is one row of the loop, read in place: vprog_finish chooses it */
    VPROG_SCALAR, /* one element of the input for all */
    VPROG_SPLAT, /* one constant for all */
    VPROG_IOTA /* i / inner % size, as i64, or i32 where elem is 4 */
} vprog_source_kind;
typedef struct vprog_source {
    vprog_source_kind kind;
    uint32_t in; /* which of the thunk's inputs */
    uint32_t elem; /* bytes of one element in memory */
    int64_t offset; /* DIRECT: first element */
    view v; /* STRIDED, ROWS, SCALAR (offset only): collapsed */
    bool counted; /* ROWS: of a table that counts up, not of an input (an IOTA that vprog_finish makes so) */
    int64_t inner, size;
    uint8_t splat[8];
} vprog_source;

typedef struct vprog_builder vprog_builder;
typedef struct vprog vprog;
vprog_builder *vprog_begin(int64_t count);
void vprog_abandon(vprog_builder *b);
/* Each gives the number of a new value; -1 without memory or when the type has no such instruction (then the builder
 * is spoiled). */
int vprog_load(vprog_builder *b, const vprog_source *s, vprog_type t);
int vprog_emit(vprog_builder *b, vprog_op op, vprog_type t, int x, int y, int z); /* t: of the operands */
/* The value that such an instruction of these two operands gives already; -1: none. */
int vprog_find(const vprog_builder *b, vprog_op op, vprog_type t, int x, int y);
/* Is value v one constant for all? Its bits to `out`, as many as its type has. */
bool vprog_splat(const vprog_builder *b, int v, void *out);
/* The number of a value that is one constant for all, new or there already. */
int vprog_constant(vprog_builder *b, vprog_type t, const void *bits);
bool vprog_lacks(const vprog_builder *b); /* a type had no such instruction; otherwise -1 is for want of memory */
void vprog_store(vprog_builder *b, int value, uint32_t out,
                 xt_dtype memory); /* the value is the thunk's output `out` */
enum { VPROG_MOST_PARTS = 16 };
typedef struct vprog_part {
    int value;
    xt_dtype memory;
} vprog_part;
/* Output `out` is 0 < n <= VPROG_MOST_PARTS values in turns, of elements of one size: `width` elements of each, again
 * and again. */
void vprog_interleave(vprog_builder *b, size_t n, const vprog_part *parts, int64_t width, uint32_t out);
/* A builder with the same values and nothing stored; NULL without memory. */
vprog_builder *vprog_fork(const vprog_builder *b);
/* In place of stores: rows of `run` of the value are folded, f32 as simd.h's `fold` would, i32 and u32 to their sum,
 * and output 0 gets one number a row. vprog_finish gives NULL and no error where that is not known as machine code. Run
 * by vprog_run_part alone: parts that are whole rows, or at most MOST_FOLDED elements of one. Extremes: as jit_fold
 * says. */
void vprog_fold(vprog_builder *b, int value, fold_op f, int64_t run);
enum { MOST_FOLDED = 4096, SHORTEST_FOLDED = 64 };
/* Frees b. `out_in_place`: per output, the inputs it may be written over (n_out words). */
xt_status vprog_finish(vprog_builder *b, size_t n_out, vprog **out, uint64_t *out_in_place);
void vprog_free(vprog *t);
/* As cpu_kernel.access, of a thunk that reads these values: its k-th load from memory, or count. */
bool vprog_access(const vprog *t, const ir_value *const *reads, uint32_t k, cpu_access *out);
size_t vprog_scratch_bytes(const vprog *t, int threads);
xt_status vprog_run(const vprog *t, const cpu_team *team, void *const *in, void *const *out, void *scratch);
/* Elements [begin, end) on the calling thread; out: where the first of them goes; scratch: of one thread. */
void vprog_run_part(const vprog *t, int64_t begin, int64_t end, void *const *in, void *const *out, void *scratch);
/* All elements on the calling thread, again and again in the same places: room: of vprog_bound_bytes, which is 0 where
 * there are too many elements for that, or none. */
size_t vprog_bound_bytes(const vprog *t);
void vprog_bind(const vprog *t, void *const *in, void *const *out, void *scratch, void *room);
void vprog_run_bound(const vprog *t, void *const *in, void *room);
/* The first n <= count elements on the calling thread; scratch: of one thread. */
void vprog_run_rows(const vprog *t, int64_t n, void *const *in, void *const *out, void *scratch);

/* bf16 and f16 give VPROG_F32; false for complex, f8 and sub-byte types */
bool vprog_type_of(xt_dtype d, vprog_type *out);
bool vprog_type_of_size(size_t bytes, vprog_type *out); /* for moving elements whatever they mean */
size_t vprog_type_size(vprog_type t);

/* --- from StableHLO (vprog_ops.c) --- */
bool vprog_is_half(xt_dtype d); /* kept as f32 in registers, and rounded after each op */
bool vprog_takes(const ir_op *op); /* an elementwise op on types that have registers */
/* The loop of an op that may fold (a sum, an extreme, ...) and is one of them on numbers as they lie; NULL: it is not.
 */
vprog_fn vprog_one_loop(const ir_op *op);
/* vprog_divide.c: x / y of integers, by a product where y is a constant; one that is there already is not made again.
 */
int vprog_emit_quotient(vprog_builder *b, vprog_type t, int x, int y);
/* such an op on values that are in the vector program */
int vprog_emit_op(vprog_builder *vprog, const ir_op *op, int x, int y, int z);

#endif
