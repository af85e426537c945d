/* Picks the loops that go with the vector loops in use. */
#include "cpu/vector/chwn.h"
#include "cpu/vector/simd.h"

const chwn_ops *chwn_get(void) {
#if defined(__x86_64__)
    if (simd_get() == &simd_avx512) return &chwn_avx512;
    if (simd_get() == &simd_avx2) return &chwn_avx2;
#endif
    return &chwn_base;
}
