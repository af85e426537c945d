/* A trace of what the device runs: one event a thunk and one a program, between cpu_trace_start and cpu_trace_stop.
 * Off, it costs one relaxed load a program. What comes out is an XSpace message, which PJRT's profiler extension hands
 * on: its planes, lines and events are those of TensorBoard's profile plugin. */
#ifndef XT_SRC_CPU_RUN_TRACE_H
#define XT_SRC_CPU_RUN_TRACE_H

#include "cpu/run/plan.h"

bool cpu_trace_on(void);
void cpu_trace_start(void); /* forgets what an earlier trace holds */
void cpu_trace_stop(void);
uint32_t cpu_trace_run(void); /* the number of the program's run that begins, from 1 */
void cpu_trace_thunk(uint32_t run, const cpu_thunk *t, int64_t begin_ns, int64_t end_ns);
void cpu_trace_program(uint32_t run, const cpu_exec *e, int64_t begin_ns, int64_t end_ns);
void cpu_trace_write(str *out); /* the XSpace; times are clock_ns's */

#endif
