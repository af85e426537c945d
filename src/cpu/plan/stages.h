/* The stages that make a plan, in the order in which compile.c runs them. */
#ifndef XT_SRC_CPU_PLAN_STAGES_H
#define XT_SRC_CPU_PLAN_STAGES_H

#include "cpu/plan/build.h"

xt_status cpu_inline(ir_module *m, ir_func *f); /* inline.c: f without calls and dead ops */
xt_status cpu_plan_make(cpu_exec *e, const cpu_lowering *with); /* walk.c */
/* After a stage of planning, with `assigned` once memory is assigned: what the invariants above say, checked. verify.c */
xt_status cpu_plan_verify(const cpu_exec *e, bool assigned);
void cpu_plan_donations(cpu_exec *e); /* buffers.c: fills e->alias */
xt_status cpu_plan_schedule(cpu_exec *e); /* schedule.c: thunks in an order that needs less memory */
/* buffers.c: lifetimes, sharing, offsets; without `reuse` every slot has memory of its own */
xt_status cpu_plan_assign(cpu_exec *e, bool reuse);

#endif
