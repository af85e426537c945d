/* The passes of Fourier transforms for any machine of the architecture. */
#include "cpu/vector/fused.h"

#define FFT_NAME fft_base
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#endif
#include "cpu/vector/fft.inc"
