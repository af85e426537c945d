/* Collectives under way (pending.c), and what their thunks share with those that meet at once. */
#ifndef XT_SRC_CPU_RUN_PENDING_H
#define XT_SRC_CPU_RUN_PENDING_H

#include "cpu/run/plan.h"

/* a collective that need not be finished where it is started */
bool cpu_can_start(const cpu_exec *e, const cpu_thunk *t);
xt_status cpu_pending_room(cpu_device *d, const cpu_exec *e); /* a run of e begins */
xt_status cpu_pending_start(const cpu_call *c);
xt_status cpu_pending_finish(cpu_device *d, uint32_t until); /* the first `until` of them are done */
xt_status cpu_pending_poll(cpu_device *d); /* while there are some: as far as the other ranks have come */
void cpu_pending_free(cpu_device *d);

enum { CPU_COLL_PACKED_BYTES = 8 << 20 }; /* operands of at most so much travel together */
/* The fold of a collective's region, where it is one that the engine has. */
bool cpu_coll_fold_of(const ir_op *op, coll_op *out);
/* Says which collective this rank is in, for ranks that wait for it. */
void cpu_coll_note(const cpu_device *d, const cpu_thunk *t);

#endif
