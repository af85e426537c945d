/* Where in a line, and in which blocks, a call stands, for who tells calls of one function apart (call_path.c). */
#ifndef XT_SRC_BASE_SRC_PLACE_H
#define XT_SRC_BASE_SRC_PLACE_H

#include "base/base.h"

enum { SRC_SCOPES_MAX = 24 };

/* Of each position that src_chain_from_return_address gives, in its order; 0: not known. All calls of a macro stand
 * where the macro does. */
void src_columns_from_return_address(const void *address, int out[SRC_CHAIN_MAX]);

typedef struct src_scope {
    uint64_t id; /* tells those of one function apart */
    bool block; /* else a function */
} src_scope;

/* The function that the call is in, and the blocks that it stands in there (`for` loops, their bodies) as far as they
 * have variables of their own, the outermost first; those of inlined functions too. How many: 0 without debug
 * information. */
size_t src_scopes_from_return_address(const void *address, src_scope out[SRC_SCOPES_MAX]);

#endif
