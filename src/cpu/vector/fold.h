/* What a region folds by, and folding two numbers: shared by reductions, windows and scatters. */
#ifndef XT_SRC_CPU_VECTOR_FOLD_H
#define XT_SRC_CPU_VECTOR_FOLD_H

#include "cpu/vector/simd.h"

bool cpu_fold_of(const ir_region *r, fold_op *out); /* the region is one binary op on its two arguments */
bool cpu_selects_largest(const ir_op *select_and_scatter); /* by GE, and adds: the gradient of max pooling */
float cpu_fold_two(fold_op f, float a, float b);
float cpu_fold_neutral(fold_op f);

#endif
