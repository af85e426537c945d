/* Whether a reduction by a region may fold its elements in another order than theirs. */
#ifndef XT_SRC_CPU_KERNEL_REGION_ORDER_H
#define XT_SRC_CPU_KERNEL_REGION_ORDER_H

#include "ir/ir.h"

typedef enum region_order {
    ORDER_KEPT, /* nothing is known: elements meet as they lie */
    /* any order, unless a float among the results is NaN or zero: which NaN, and which of two zeros, is a
     * matter of order */
    ORDER_SPECIAL,
    ORDER_ANY, /* it commutes */
} region_order;

/* Of a region over n operands, arguments 0..n-1 on the left. Recognises ops that commute, and choices by comparing an
 * operand's two elements (argmax). */
region_order region_order_of(const ir_block *b, size_t n);

#endif
