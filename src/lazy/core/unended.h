/* A loop whose step nothing ends: all that it records becomes one program, and what walks through that takes the square
 * of its iterations. One that makes updates by an optimizer ends its steps by itself (iteration.c); what another one
 * repeats is counted here, and told once a process with the cure. */
#ifndef XT_SRC_LAZY_UNENDED_H
#define XT_SRC_LAZY_UNENDED_H

#include "lazy/lazy.h"

typedef enum lazy_repeated {
    LAZY_REPEATED_BACKWARD,
    LAZY_REPEATED_READ,
    LAZY_REPEATED_ASSIGN,
    LAZY_REPEATED_LOG
} lazy_repeated;
/* Another call in that step; `of`: the same one each time that counts (a state that is assigned), else {0}. */
void lazy_repeats(lazy_repeated what, int64_t step, xt_tensor of, const xt_src *src);

#endif
