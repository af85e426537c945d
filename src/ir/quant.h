/* Ops on quantized tensors: what quant.def says of each, for the rules (infer_quant.c), the interpreter
 * (interp_quant.c) and the pass that takes such types out of programs (pass/lower_quant.c). */
#ifndef XT_SRC_IR_QUANT_H
#define XT_SRC_IR_QUANT_H

#include "ir/ir.h"

typedef enum quant_kind {
    QUANT_NONE, /* the op takes no quantized tensors */
    QUANT_FLOAT, /* dequantize the operands, compute, quantize the results; all of one base */
    QUANT_ADD, /* the same; scales may go along an axis */
    QUANT_TEST, /* dequantize the operands; the result is i1 */
    QUANT_PRODUCT, /* dequantize, compute, quantize; or of a float and a quantized operand, with a float result */
    QUANT_COUNT, /* of no operand: quantize the result */
    QUANT_CAST, /* uniform_quantize, uniform_dequantize */
    QUANT_MOVE, /* the integers as they are, one element type for all */
    QUANT_MOVE_EACH, /* the integers as they are, result i of operand i's element type */
    QUANT_SHAPE, /* the integers as they are, the axis of the scales moved along */
    QUANT_REGION, /* the op's computations do it, element by element */
    QUANT_ANY /* whatever types there are */
} quant_kind;
quant_kind quant_kind_of(ir_opcode code);
bool quant_takes(const ir_op *op, size_t i); /* operand i may be quantized */
/* An operand, a result or an argument of a computation is quantized. */
bool quant_in_op(const ir_op *op);
/* Such an op whose meaning is arithmetic on what its integers stand for, casts aside. */
bool quant_computes(const ir_op *op);

/* The op as it is on floats: a copy on the stack, quantized operands and results of their expressed types. Of kinds
 * with at most QUANT_VALUES operands (FLOAT to COUNT). */
enum { QUANT_VALUES = 6 };
typedef struct quant_shadow {
    ir_op op;
    ir_value in[QUANT_VALUES], out[QUANT_VALUES];
    ir_value *operands[QUANT_VALUES];
} quant_shadow;
xt_status quant_shadow_of(const ir_op *op, quant_shadow *out);

#endif
