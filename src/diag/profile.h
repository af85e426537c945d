/* A profile's spans: what profile.c collects and xspace.c writes. */
#ifndef XT_SRC_DIAG_PROFILE_H
#define XT_SRC_DIAG_PROFILE_H

#include "diag/diag.h"

#define OWN_PLANE "/device:CUSTOM:xtrain" /* of our CPU plugin */

enum {
    HOST_THREAD = 1,
    SCOPE_THREAD = 2,
    DEVICE_PROGRAMS = 11,
    DEVICE_OPS = 12,
    FOREIGN_THREADS = 100 /* and up: lines of other devices' traces */
};
typedef enum span_kind { SPAN_OTHER, SPAN_PROGRAM, SPAN_OP } span_kind;

typedef struct span {
    uint32_t name;
    int thread;
    span_kind kind;
    int64_t begin_ns, ns, step; /* step -1: unknown */
    /* of device ops */
    int64_t self_ns, program; /* self: without the ops inside of it; program -1: unknown */
    src_id src;
    uint32_t path, kernel, origin;
    double flops, bytes;
} span;

typedef struct diag_trace {
    span *spans;
    size_t n, cap;
    uint32_t *lines; /* names of the threads from FOREIGN_THREADS on */
    size_t n_lines, cap_lines;
    bool full; /* no memory: what is there is what there will be */
} diag_trace;

/* --- xspace_read.c --- */
typedef struct diag_runs { /* what was started while the trace ran, in order */
    const int64_t *programs, *steps;
    size_t n;
    int64_t began_ns; /* when the device's trace was started */
} diag_runs;
/* Adds what the message tells to `t`. Any bytes will do: what is not understood is left out. */
void diag_read_xspace(diag_trace *t, const char *data, size_t size, const diag_runs *runs);

typedef enum diag_clock { DIAG_CLOCK_OURS, DIAG_CLOCK_SESSION, DIAG_CLOCK_EPOCH } diag_clock;
diag_clock diag_clock_of(int64_t line_ns, int64_t began_ns); /* which clock a line's time is of */
int64_t diag_epoch_ns(void); /* what to add to clock_ns for nanoseconds since 1970 */

/* --- profile.c, xspace.c --- */
double diag_of_roof(double flops, double bytes, double ns); /* percent; NaN when it cannot be told */

/* An XSpace message for TensorBoard: the host's phases, the device's programs and ops with the user's lines, and what
 * else the device's own trace (`space`, may be NULL) has. */
void diag_write_xspace(const span *spans, size_t n, int64_t began_ns, const char *space, size_t size, str *out);

#endif
