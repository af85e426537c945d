/* custom_call @xtrain_inspect_sharding: tells a function of the process that compiles how its operand is divided, and
 * leaves the program. What JAX's debug.inspect_array_sharding becomes (python/xtrain_pjrt/inspect_sharding.py).
 *
 * The op's backend_config has two numbers: `function`, the address of an inspect_function that the process has named
 * (host_function.h), and `id`, which it gets back. */
#include "ir/config.h"
#include "ir/host_function.h"
#include "pass/spmd.h"

typedef int (*inspect_function)(int64_t id, const char *sharding, char *error, size_t error_size);

bool spmd_is_inspect(const ir_op *op) {
    const char *target =
        op->code == OP_custom_call && op->n_in == 1 && op->n_out == 0 ? ir_get_string(op, IR_A_call_target_name) : NULL;
    return target && strcmp(target, "xtrain_inspect_sharding") == 0;
}

xt_status spmd_inspect(const ir_op *op, const char *sharding) {
    void *function;
    char error[4096] = "";
    XT_TRY(host_function_of(op, &function));
    int rc = ((inspect_function)(uintptr_t)function)(ir_config_int(op, "id", 0), sharding, error, sizeof error);
    error[sizeof error - 1] = 0;
    return rc == 0
               ? NULL
               : status_new(XT_INTERNAL, NULL, "%s", *error ? error : "a function that was told of a sharding failed");
}
