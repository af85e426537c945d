/* Numbers in a custom call's backend_config, where that is a dictionary. */
#ifndef XT_SRC_IR_CONFIG_H
#define XT_SRC_IR_CONFIG_H

#include "ir/ir.h"

int64_t ir_config_int(const ir_op *op, const char *name, int64_t fallback);

#endif
