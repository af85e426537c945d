/* Picks the loops that go with the vector loops in use. */
#include "cpu/vector/lanes.h"
#include "cpu/vector/simd.h"

const lanes_ops *lanes_get(void) {
#if defined(__x86_64__)
    if (simd_get() == &simd_avx512) return &lanes_avx512;
    if (simd_get() == &simd_avx2) return &lanes_avx2;
#endif
    return &lanes_base;
}
