/* The vector loops for any machine of the architecture. */
#include "cpu/vector/fused.h"

#define SIMD_NAME simd_base
#if defined(__aarch64__)
#define SIMD_TEXT "neon"
#else
#define SIMD_TEXT "base"
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#endif
#if defined(__aarch64__)
#include <arm_neon.h>
#define SIMD_F16_NEON
#endif
#include "cpu/vector/simd.inc"
