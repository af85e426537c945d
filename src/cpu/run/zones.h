/* XT_DEBUG=redzones: memory in which a kernel's mistake shows. Each temporary of a plan lies alone, between two zones
 * of a pattern, and holds the pattern until it is written. Before a thunk runs, what it reads is searched for the
 * pattern (a value, or a part of it, that nobody has written, or that was computed from such); after it, the zones
 * around all that it touches must be as they were. The pattern is a NaN of every float type, whose bits go through
 * arithmetic unchanged. In builds with AddressSanitizer the zones are poisoned, too: compiled code that reads there is
 * stopped at its line; machine code of our own and oneDNN's is not, its writes show in the pattern and what it reads is
 * NaN. */
#ifndef XT_SRC_CPU_RUN_ZONES_H
#define XT_SRC_CPU_RUN_ZONES_H

#include "cpu/run/plan.h"

enum { CPU_ZONE = 256 }; /* bytes; whole vectors beside a place stay inside */

/* Places for the temporaries of a plan whose lives are known; the arena begins and ends with a zone. */
xt_status cpu_zones_offsets(cpu_plan *p);
/* The rest is for plans with `zoned`, and nothing for others. */
void cpu_zones_begin(const cpu_exec *e, void *temps);
void cpu_zones_fill(const cpu_exec *e, void *place, size_t bytes); /* a result, before it is written */
xt_status cpu_zones_look_before(const cpu_call *c);
xt_status cpu_zones_look_after(const cpu_call *c);
static inline xt_status cpu_zones_before(const cpu_call *c) { /* of each thunk: others pay for the question alone */
    return c->exec->plan.zoned ? cpu_zones_look_before(c) : NULL;
}
static inline xt_status cpu_zones_after(const cpu_call *c) {
    return c->exec->plan.zoned ? cpu_zones_look_after(c) : NULL;
}
/* The memory is ordinary again. Tells of a zone that was written by whoever it was, if `s` is no error already. */
xt_status cpu_zones_end(const cpu_exec *e, void *temps, xt_status s);
xt_status cpu_zones_result(const cpu_exec *e, size_t j, const void *data);

#endif
