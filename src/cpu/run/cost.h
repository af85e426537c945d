/* What an op costs, by the shapes of StableHLO: products 2mnk flops, elementwise ops one an element. */
#ifndef XT_SRC_CPU_RUN_COST_H
#define XT_SRC_CPU_RUN_COST_H

#include "ir/ir.h"

double cpu_op_flops(const ir_op *op);
double cpu_op_transcendentals(const ir_op *op);
/* Of all ops of a block; *out_transcendentals grows by theirs. */
double cpu_block_flops(const ir_block *b, double *out_transcendentals);

#endif
