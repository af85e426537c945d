/* Which call, function by function: a line alone does not say that where a function of the program's is called from
 * several places. A path is the return addresses from a call into this library out to the program's main, interned. */
#ifndef XT_SRC_BASE_CALL_PATH_H
#define XT_SRC_BASE_CALL_PATH_H

#include "base/base.h"

typedef uint32_t call_path; /* 0: not known */

/* Of the call into this library that returns to `returns_to`, under way in this thread. Unwinds the stack: a
 * microsecond or two. 0 where that address is not found, where there is no memory, and when PATHS_MAX are known. */
call_path call_path_now(const void *returns_to);

/* The lines of the innermost function that both calls were made in, as its debug information has them: that of the call
 * itself, or of the call of a function that leads to it. False: they have none in common, or it is not known. */
bool call_path_fork(call_path a, call_path b, src_id *out_a, src_id *out_b);

#endif
