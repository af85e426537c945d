/* What a kernel reads and writes other than whole operands in their own order: told thunk by thunk, so that a plan can
 * be checked against the program that it came from (verify_reads.c). */
#ifndef XT_SRC_CPU_VECTOR_ACCESS_H
#define XT_SRC_CPU_VECTOR_ACCESS_H

#include "cpu/vector/view.h"

/* A loop: at each position of the dims, which both views have, `order` says which element of the loop it is and `at`
 * which one of the operand it meets. Strides are in elements; `at` counts from where the thunk's operand starts. */
typedef struct cpu_access {
    uint32_t arg; /* an input, or n_in + an output */
    size_t elem;
    view at, order;
    /* What is read, in the order of the thunk's first result: dense, or blocked as that is. NULL: only that `at` stays
     * inside counts, as where the place depends on data. */
    const ir_value *value;
    bool counts; /* instead of all this: it numbers its elements, in the order of dense arrays */
} cpu_access;

#endif
