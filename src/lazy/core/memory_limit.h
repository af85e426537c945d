/* Which limit of memory was met, as the end of "what helps: ..., or". */
#ifndef XT_SRC_LAZY_MEMORY_LIMIT_H
#define XT_SRC_LAZY_MEMORY_LIMIT_H

#include "base/base.h"

/* text: the device's or the allocator's own, which names XT_MEMORY_LIMIT where that has refused. Else it was the
 * system: the process's addresses (ulimit -v), its group's memory, or all that the machine has. */
void lazy_append_memory_limit(str *out, const char *text);

#endif
