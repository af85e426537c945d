/* What the type table tells those who were given no type. */
#ifndef XT_SRC_IR_TYPES_H
#define XT_SRC_IR_TYPES_H

#include "base/base.h"

/* Of this thread's last type that was not made: memory was short, for what `what` wants it; NULL: it is no type. */
xt_status ir_type_oom(const char *what);

#endif
