/* What the regions of an op read from outside. */
#ifndef XT_SRC_CPU_PLAN_CAPTURED_H
#define XT_SRC_CPU_PLAN_CAPTURED_H

#include "ir/ir.h"

typedef struct captured { /* values of the enclosing block that an op's regions read: inputs after the op's operands */
    const ir_value **values;
    size_t n, cap;
} captured;
bool captured_collect(const ir_op *op, captured *c); /* adds to *c, each value once; false without memory */

#endif
