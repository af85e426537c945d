/* The vector loops for any machine of the architecture. */
#define SIMD_NAME simd_base
#define SIMD_TEXT "base"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#endif
#include "cpu/vector/simd.inc"
