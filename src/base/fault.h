/* For allocators that hand out parts of larger blocks: what they give counts as an allocation for
 * base_fail_alloc_after too. */
#ifndef XT_SRC_BASE_FAULT_H
#define XT_SRC_BASE_FAULT_H

#include <stdbool.h>

bool base_alloc_must_fail(void); /* this one is the n-th */

#endif
