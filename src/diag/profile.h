/* A profile's spans: what profile.c collects and xspace.c writes. */
#ifndef XT_SRC_DIAG_PROFILE_H
#define XT_SRC_DIAG_PROFILE_H

#include "diag/diag.h"

enum { HOST_THREAD = 1, SCOPE_THREAD = 2, DEVICE_PROGRAMS = 11, DEVICE_OPS = 12 }; /* from 100: other lines of the device's trace */

typedef struct span {
    uint32_t name;
    int thread;
    int64_t begin_ns, ns, step;
    /* of device ops */
    src_id src;
    uint32_t path, kernel;
    double flops, bytes;
} span;

double diag_of_roof(double flops, double bytes, double ns); /* percent; NaN when it cannot be told */

/* xspace.c: an XSpace message for TensorBoard: the host's phases, the device's programs and ops with the user's lines, and what else the device's own trace
 * (`space`, may be NULL) has. */
void diag_write_xspace(const span *spans, size_t n, int64_t began_ns, const char *space, size_t size, str *out);

#endif
