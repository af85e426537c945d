/* Which call, function by function: a line alone does not say that where a function of the program's is called from
 * several places. A path is the return addresses from a call into this library out to the program's main, interned. */
#ifndef XT_SRC_BASE_CALL_PATH_H
#define XT_SRC_BASE_CALL_PATH_H

#include "base/base.h"

typedef uint32_t call_path; /* 0: not known */

/* Of the call of `what` (kept) into this library at `line` that returns to `returns_to`, under way in this thread.
 * Unwinds the stack: a microsecond or two. 0 where that address is not found, where there is no memory, and when
 * PATHS_MAX are known. */
call_path call_path_now(const void *returns_to, src_id line, const char *what);

/* Which of the two calls, or of the calls of functions that lead to them, stands further down in the innermost function
 * that both were made in: > 0 a, < 0 b; 0: they are one call, or it is not known. By the lines of the debug
 * information; without it, and of calls on one line (a body that a macro writes), by the addresses, whose order is that
 * of the program but where the compiler moves code, which columns may show: then it is not known. *out_copies, may be
 * NULL: all lines on the two ways are known and the same, and so is what they call; the compiler has copied the call.
 */
int call_path_order(call_path a, call_path b, bool *out_copies);

/* How far out from main the two calls are made by the same calls, in the same blocks of the same functions: of two that
 * are compared with one, that with the greater number is nearer to it. 0: not known, without debug information.
 * *out_block, may be NULL: the innermost that both are in is a block, a loop's body for one. */
size_t call_path_common(call_path a, call_path b, bool *out_block);

#endif
