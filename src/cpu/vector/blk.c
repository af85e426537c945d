/* Which loops over blocked images this processor has. */
#include "cpu/vector/blk.h"
#include "cpu/vector/simd.h"

const blk_ops *blk_get(void) {
#if defined(__x86_64__)
    if (simd_level() == 2) return &blk_avx512;
    if (simd_level() == 1) return &blk_avx2;
#endif
    return NULL;
}
