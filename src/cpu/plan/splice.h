/* Ops that take the place of others. */
#ifndef XT_SRC_CPU_PLAN_SPLICE_H
#define XT_SRC_CPU_PLAN_SPLICE_H

#include "ir/ir.h"

/* What reads `call`'s results, directly or by way of others, and stands before it, moves behind it, in the same order.
 */
xt_status cpu_move_readers(ir_op *call);

#endif
