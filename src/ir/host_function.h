/* Functions of this process that a program may call by address (custom_call @xtrain_host_callback,
 * @xtrain_inspect_sharding). A program is text from anywhere, so an address in it is a wish: only what the process
 * itself has named is called. */
#ifndef XT_SRC_IR_HOST_FUNCTION_H
#define XT_SRC_IR_HOST_FUNCTION_H

#include "ir/ir.h"

/* Exported by the plugin, beside GetPjrtApi. Returns 0; -1 when too many are known. Once named, a function stays so. */
XT_API int xtrain_allow_host_function(void *function);
/* op is a custom_call @xtrain_host_callback. */
bool host_function_is_callback(const ir_op *op);
/* The function that op's backend_config names as `function`. */
xt_status host_function_of(const ir_op *op, void **out);

#endif
