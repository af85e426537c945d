/* The scalar region of a reduce, map, ... as a vector program over rows: argument k of the region is a row, results are
 * rows. Elementwise ops on the element types that vector programs know, constants included; values from outside are
 * not. */
#ifndef XT_SRC_CPU_VECTOR_REGION_VPROG_H
#define XT_SRC_CPU_VECTOR_REGION_VPROG_H

#include "cpu/vector/vprog.h"

enum { REGION_ROW = 1024 }; /* longest row */
/* *out is NULL when the region is something else. Results may be written over the rows of arguments of their
 * size, exactly. */
xt_status region_vprog_make(const ir_block *b, vprog **out);
/* The same of one op x, x -> x of type t. */
xt_status region_vprog_binary(ir_opcode code, xt_dtype t, vprog **out);

#endif
