/* Matrix-vector products for any machine of the architecture. */
#include "cpu/vector/fused.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#endif
#define MATVEC_NAME matvec_base
#define VECTOR 16
#include "cpu/vector/matvec.inc"
