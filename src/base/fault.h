/* For allocators that hand out parts of larger blocks: what they give counts as an allocation for
 * base_fail_alloc_after too. */
#ifndef XT_SRC_BASE_FAULT_H
#define XT_SRC_BASE_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What of this thread's failed, for whoever finds a result missing and no error that says why. */
typedef struct base_failed {
    uint64_t count;
    size_t bytes; /* of the last */
} base_failed;
base_failed base_failed_here(void);

bool base_alloc_must_fail(void); /* this one is the n-th */
void base_fail_alloc_from(
    int64_t n); /* for tests: the n-th of the next allocations fails, and all behind it; -1: off */

#endif
