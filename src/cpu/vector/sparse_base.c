/* Sums of gathered rows for any machine of the architecture. */
#include "cpu/vector/fused.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#endif
#define SPARSE_NAME sparse_base
#define VECTOR 16
#include "cpu/vector/sparse.inc"
