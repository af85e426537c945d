/* Memory for what a file says it holds. A file of a few bytes may ask for any amount: before so much is taken, it is
 * compared with the memory at hand, as an allocation that the kernel only promises ends in a kill much later. */
#ifndef XT_SRC_FORMAT_ROOM_H
#define XT_SRC_FORMAT_ROOM_H

#include "base/base.h"

uint64_t room_at_hand(void); /* bytes: of the machine, and of the process's memory cgroup; UINT64_MAX: not known */
/* An error where `bytes` for what `path` holds (a picture, ...) are more than there is. */
xt_status room_for(uint64_t bytes, const char *what, const char *path);
void room_is(uint64_t bytes); /* test hook: so much is at hand; 0: what really is */

#endif
