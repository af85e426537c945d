/* What XT_DEBUG=nan says of a tensor's elements, and which ops it never suspects: for steps (nan_check.c) and for
 * programs from files (from_file_nan.c). */
#ifndef XT_SRC_LAZY_RANGE_H
#define XT_SRC_LAZY_RANGE_H

#include "ir/ir.h"

typedef struct range { /* of the elements of a tensor */
    double low, high; /* of the finite ones; low > high: there is none */
    int64_t count, nan, inf;
} range;

range range_of(const void *data, const ir_type *t); /* t->count elements of a real type */
void range_print(str *out, const range *r); /* "from -1 to 3, 2 NaN" */
/* Ops that only move elements, or are asked for an infinity (a mask of -Inf before a softmax), make none. */
bool range_only_moves(const ir_op *op);

#endif
