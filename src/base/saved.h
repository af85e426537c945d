/* Whole numbers that were read from a file of the library's own (a checkpoint's counters, its position). Anybody may
 * have written the file, or a bit of it may have turned: each number is bounded where it is read, so that no sum or
 * product behind it overflows, and what is refused is told with its name. */
#ifndef XT_SRC_BASE_SAVED_H
#define XT_SRC_BASE_SAVED_H

#include "base/base.h"

/* More steps, epochs, batches or events than any run has: a thousand a second for 35 years. */
#define SAVED_COUNT ((int64_t)1 << 40)
/* The same of what a batch has many of (doubles, as JSON has them, are exact up to here), and of nanoseconds. */
#define SAVED_SAMPLES ((int64_t)1 << 53)
#define SAVED_NS ((int64_t)1 << 62)

/* NULL for text (or a number that is NaN) is what a file without the entry has: refused as well. */
xt_status saved_text(const char *what, const char *text, int64_t least, int64_t most, int64_t *out);
xt_status saved_number(const char *what, double v, int64_t least, int64_t most, int64_t *out);

#endif
