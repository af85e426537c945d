/* What the files of a vector program share: the instructions it is built of, and the form it runs in. vprog.c builds,
 * gives registers and frees; vprog_code.c makes machine code of runs of instructions; vprog_run.c runs. */
#ifndef XT_SRC_CPU_VECTOR_VPROG_INT_H
#define XT_SRC_CPU_VECTOR_VPROG_INT_H

#include "cpu/vector/jit.h"
#include "cpu/vector/vprog.h"

typedef struct ssa_ins { /* defines value number = its index */
    vprog_fn fn; /* NULL: a load */
    int x, y, z; /* operands, -1 = none */
    int source; /* loads */
    vprog_type type; /* of the result */
    uint32_t size; /* bytes of a result element; stores: of memory */
    int store_out; /* output this instruction writes, or -1 */
    int64_t store_at; /* with it, where in the output the loop's first element goes */
    vprog_op op; /* what fn does, and to which type */
    vprog_type of;
} ssa_ins;

enum { SEGMENT_MAX_PTR = 128 };
/* Instructions [begin, end), loads among them aside, that run as machine code. Its pointers are the places of
 * `ptr`'s values. */
typedef struct segment {
    size_t begin, end;
    jit_code *code;
    jit_fn fn;
    uint32_t *ptr;
    size_t n_ptr, cap_ptr;
    bool folds; /* then one pointer more: where a row's answer goes */
} segment;

/* An output that is written by values in turns, from registers, when a block's instructions have run: parts
 * [first, first + n) of those of all such outputs. */
typedef struct vprog_turns {
    uint32_t out, elem;
    int64_t width;
    size_t first, n;
} vprog_turns;

struct vprog_builder {
    int64_t count;
    ssa_ins *ins;
    size_t n, cap;
    vprog_source *sources;
    size_t n_sources, cap_sources;
    struct root {
        int value;
        uint32_t out;
        xt_dtype memory;
    } * roots;
    size_t n_roots, cap_roots;
    vprog_turns *turns;
    size_t n_turns, cap_turns;
    vprog_part *parts; /* of all turns */
    size_t n_parts, cap_parts;
    int folded; /* a value, where `run` is not 0 */
    fold_op fold;
    int64_t run;
    bool failed, lacking;
};

typedef struct vprog_loc { /* where an operand's block is */
    enum {
        LOC_REG,
        LOC_IN,
        LOC_OUT,
        LOC_ONE, /* the same element of an input for all */
        LOC_ROW /* each row of the loop somewhere else in an input */
    } kind;
    uint32_t index, elem; /* IN, OUT, ONE: which; ROW: which of the sources that are read so; element bytes */
    int64_t offset; /* REG: bytes into the scratch; IN, OUT, ONE: first element */
} vprog_loc;
typedef struct vprog_ins {
    vprog_fn fn; /* NULL: load of source x, or machine code */
    const segment *code;
    uint32_t d, x, y, z;
} vprog_ins;
enum { MOST_ROW_SOURCES = 16, SHORTEST_ROW = 64, MOST_ROWS = 4096 / SHORTEST_ROW + 2 /* of a block */ };
struct vprog {
    int64_t count, block, grain;
    int64_t row; /* elements of one; 0: no source is read by rows */
    uint32_t row_sources[MOST_ROW_SOURCES];
    size_t n_row_sources;
    int32_t *counts; /* 0, 1, ...: what row sources that are counted read; or NULL */
    bool folds; /* its rows, of `row` elements */
    fold_op fold;
    vprog_ins *ins, *once; /* once: loads that stay the same for all blocks */
    size_t n, n_once, n_locs, n_sources;
    vprog_loc *locs;
    vprog_source *sources;
    vprog_turns *turns;
    size_t n_turns, n_parts;
    uint32_t *parts; /* values */
    segment *segments;
    size_t n_segments, cap_segments;
    size_t scratch; /* of one thread */
};

/* What a value is to all blocks of a run: the same, so it is loaded once. */
bool vprog_is_constant(const vprog_builder *b, int v);
int vprog_size_class(uint32_t size); /* of an element of 1, 2, 4, 8 bytes: 0 to 3 */

/* --- vprog_rows.c --- */
/* Makes VPROG_ROWS of the strided sources that are rows of one length, and fills t's `row` and `row_sources`; where
 * `code` runs, those that are one element a row as well, and numbers that count up along rows or from row to row. False
 * without memory. */
bool vprog_choose_rows(vprog_builder *b, vprog *t, bool code);
static inline bool vprog_is_row_of_one(const vprog_source *s) { /* one element for all of a row */
    return s->kind == VPROG_ROWS && s->v.strides[s->v.n - 1] == 0;
}

/* --- vprog_code.c --- */
/* Puts instructions that become machine code next to each other: all that can run, of one kind, then of the other. A
 * vector program of one kind only keeps its order. False without memory. */
bool vprog_gather_kinds(vprog_builder *b);
/* Fills t's segments; `last`: last readers over the whole vector program. A source that no code reads is not one
 * element a row any more. False without memory. */
bool vprog_find_segments(vprog_builder *b, vprog *t, const int *last);
void vprog_free_segments(vprog *t);
/* True when an instruction that is no machine code reads v. */
bool vprog_read_slowly(const vprog_builder *b, const vprog *t, int v);

#endif
