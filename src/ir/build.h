/* What the files of typed builders share. */
#ifndef XT_SRC_IR_BUILD_H
#define XT_SRC_IR_BUILD_H

#include "ir/ir.h"

/* An op with one result and no region; `type` NULL lets inference decide. */
ir_value *build_one(ir_builder *b, ir_opcode code, size_t n_in, ir_value *const *in, size_t n_attrs,
                    const ir_attr *attrs, const ir_type *type);
/* False, with a failure in b->status, when `t` is no tensor type. */
bool build_has_type(ir_builder *b, const ir_type *t, const char *op);

/* A new op as `like` describes it (operands, attributes, regions, types copied as they are), in its place in the
 * builder's block, with no check and no use counted: the caller finishes it. `types` NULL takes those of like->out.
 * NULL without memory. */
ir_op *build_raw(const ir_builder *b, const ir_op *like, size_t n_out, const ir_type *const *types);

#endif
