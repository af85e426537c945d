/* The scalar region of a reduce, map, ... as a tape over rows: argument k of the region is a row, results are rows.
 * Elementwise ops on the element types that tapes know, constants included; values from outside are not. */
#ifndef XT_SRC_CPU_VECTOR_REGION_TAPE_H
#define XT_SRC_CPU_VECTOR_REGION_TAPE_H

#include "cpu/vector/tape.h"

enum { REGION_ROW = 1024 }; /* longest row */
/* *out is NULL when the region is something else. Results may be written over the rows of arguments of their
 * size, exactly. */
xt_status region_tape_make(const ir_block *b, tape **out);
/* The same of one op x, x -> x of type t. */
xt_status region_tape_binary(ir_opcode code, xt_dtype t, tape **out);

#endif
