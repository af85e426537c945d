/* Labels and indices that are looked at on the host, where they come from: a loader's threads, xt_from_data. What is
 * found there, the outermost values of the integers, goes along with the tensor, and a loss over classes, or an op that
 * reads or writes at indices, compares it with its classes or its axis when it is recorded (or replayed). So a label
 * that is no class, or a token that is no row, is an error with the op's line, in the step that would train on it, and
 * costs neither an op, nor an output, nor a read. Of a set that lies on the device (.on_device) all samples are looked
 * at when it is loaded: there the first step knows, also of a sample that a limit would leave out.
 *
 * Under XT_DEBUG=bounds such an op also records the outermost of its integers as the device computes them, whatever
 * they come from, and its step's boundary reads and compares them (lazy_bounds_site, step/bounds_check.c).
 *
 * Invariant: a note is only about values that are all in the tensor; what a tensor is computed from by other ops than
 * reshapes, transposes and casts that keep its numbers has none. */
#ifndef XT_SRC_LAZY_LABELS_H
#define XT_SRC_LAZY_LABELS_H

#include <stdatomic.h>

#include "lazy/lazy.h"

/* The two smallest and the two largest distinct values: with one value that is to be ignored, the outermost of the
 * others is among them. */
enum { LAZY_LOW, LAZY_LOW_2, LAZY_HIGH, LAZY_HIGH_2, LAZY_EXTREMES };
typedef struct lazy_extremes { /* counted */
    atomic_int refs;
    int64_t value[LAZY_EXTREMES]; /* of integers; INT64_MAX (low) and INT64_MIN (high): there is none */
    int64_t at[LAZY_EXTREMES]; /* which element, or which sample of `set` */
    uint32_t set; /* interned: the dataset; 0: elements are counted */
} lazy_extremes;

/* NULL: none, no integers, or no memory for it */
lazy_extremes *lazy_extremes_of(xt_dtype dtype, const void *data, int64_t count);
lazy_extremes *lazy_extremes_retain(lazy_extremes *e);
void lazy_extremes_release(lazy_extremes *e);
void lazy_note_extremes(xt_tensor t, lazy_extremes *e); /* takes e over; NULL: nothing */

typedef struct lazy_classes {
    const char *what; /* "xt_cross_entropy" */
    src_id src;
    bool places; /* of an axis that an op reads or writes at; else classes of a loss, or: */
    bool lengths; /* how many of an axis's count - 1 entries belong to a sequence */
    int64_t first; /* 0, or -count where negative indices count from the end */
    int64_t count, ignore; /* labels are first .. count-1, or `ignore`; INT64_MIN: none is ignored */
    /* set by lazy_labels_fit: what the casts on the way keep; others wrap around, and nothing is known of them */
    int64_t least, most;
} lazy_classes;
/* False with the error pending when `labels` is known to hold one that is no class. In a compiled step function the
 * answer is asked for again at each call. */
bool lazy_labels_fit(const lazy_classes *c, ir_value *labels);
/* The error of a label that is no class, where e knows of one. */
xt_status lazy_labels_check(const lazy_classes *c, const lazy_extremes *e);

/* XT_DEBUG=bounds: an op's labels or indices, to be compared once they are computed. */
typedef struct lazy_bounds_site {
    lazy_classes of;
    uint32_t path; /* the module it is in; 0: none */
    ir_value *extremes; /* i64 [2] of this trace: least, most */
} lazy_bounds_site;
/* The error of a site whose integers were found to be `least` to `most`; NULL: they are inside. */
xt_status lazy_bounds_wrong(const lazy_bounds_site *s, int64_t least, int64_t most);

#endif
