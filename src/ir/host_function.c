/* See host_function.h. */
#include "ir/host_function.h"

#include <stdatomic.h>

#include "ir/config.h"

enum { MOST = 64 };
static _Atomic(uintptr_t) allowed[MOST]; /* no holes; only grows */

int xtrain_allow_host_function(void *function) {
    for (size_t i = 0; i < MOST && function; i++) {
        uintptr_t found = 0;
        if (atomic_compare_exchange_strong(&allowed[i], &found, (uintptr_t)function) || found == (uintptr_t)function)
            return 0;
    }
    return -1;
}

bool host_function_is_callback(const ir_op *op) {
    const char *target = op->code == OP_custom_call ? ir_get_string(op, IR_A_call_target_name) : NULL;
    return target && strcmp(target, "xtrain_host_callback") == 0;
}

xt_status host_function_of(const ir_op *op, void **out) {
    const char *target = ir_get_string(op, IR_A_call_target_name);
    uintptr_t wanted = (uintptr_t)ir_config_int(op, "function", 0);
    *out = (void *)wanted;
    if (!wanted)
        return status_new(XT_INVALID_ARGUMENT, NULL, "custom_call @%s without the address of its function", target);
    for (size_t i = 0; i < MOST; i++)
        if (atomic_load(&allowed[i]) == wanted) return NULL;
    return status_new(
        XT_FAILED_PRECONDITION, NULL,
        "custom_call @%s: its function is none of this process; such a program runs only where it was made", target);
}
