/* Collectives as functions of everyone's operands; process number = replica * partitions + partition. */
#ifndef XT_SRC_IR_INTERP_COLLECTIVE_H
#define XT_SRC_IR_INTERP_COLLECTIVE_H

#include "ir/interp_int.h"

typedef struct process_grid {
    int64_t replicas, partitions;
} process_grid;

/* The group of process `self` in the op's order: `out` has room for replicas * partitions. 0 members: it is in none,
 * and gets zeros. For collective_permute the group is the whole line of the grid. */
xt_status collective_members(const ir_op *op, const process_grid *g, int64_t self, int64_t *out, size_t *out_n);
/* Results of member `me` of n; in[k] are the operands of member k. */
xt_status collective_compute(interp *c, const ir_op *op, size_t n, const array *const *in, size_t me, array *out);

#endif
