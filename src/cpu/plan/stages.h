/* The stages that make a plan; passes.def is their order. */
#ifndef XT_SRC_CPU_PLAN_STAGES_H
#define XT_SRC_CPU_PLAN_STAGES_H

#include "cpu/plan/build.h"

#define STEP(name, phase, checks, condition, what) xt_status cpu_stage_##name(cpu_builder *b);
#define STAGE(name, phase, checks, condition, needs, keeps) xt_status cpu_stage_##name(cpu_builder *b);
#include "pass/passes.def"

void cpu_builder_deinit(cpu_builder *b);
/* After the stage lower: what its groups are, as a text, and whether they are sound. group_verify.c */
void cpu_groups_print(const cpu_builder *b, str *out);
xt_status cpu_groups_verify(const cpu_builder *b);
xt_status cpu_plan_offsets(cpu_plan *p); /* where temporaries lie in the arena, lifetimes being known: offsets.c */
/* After a stage, with `assigned` once memory is assigned: what the invariants of run/plan.h say, checked. verify.c */
xt_status cpu_plan_verify(const cpu_exec *e, bool assigned);
xt_status cpu_plan_broken(const cpu_exec *e, uint32_t thunk, const char *what, uint32_t slot);
xt_status cpu_plan_verify_reads(const cpu_exec *e); /* part of it: verify_reads.c */

#endif
