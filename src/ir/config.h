/* Numbers in a custom call's backend_config, where that is a dictionary. */
#ifndef XT_SRC_IR_CONFIG_H
#define XT_SRC_IR_CONFIG_H

#include "ir/ir.h"

int64_t ir_config_int(const ir_op *op, const char *name, int64_t fallback);

/* A dictionary of whole numbers under names that live on, as JAX's FFI takes options; at most 8. */
ir_attr ir_attr_numbers(ir_builder *b, ir_attr_key k, size_t n, const char *const *names, const int64_t *values);

#endif
