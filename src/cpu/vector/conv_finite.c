/* See conv_finite.h. */
#include "cpu/vector/conv_finite.h"

bool conv_kernel_is_finite(const void *kernel, bool half, const int64_t dims[4], const int64_t steps[4]) {
    bool found = false;
    for (int side = 0; side < 2; side++)
        for (int64_t f = 0; f < dims[side]; f++)
            for (int64_t tap = 0; tap < dims[2] * dims[3]; tap++) {
                int64_t at = f * steps[side] + tap / dims[3] * steps[2] + tap % dims[3] * steps[3];
                uint32_t bits = half ? (uint32_t)((const uint16_t *)kernel)[at] << 16 : ((const uint32_t *)kernel)[at];
                found |= (bits & 0x7f800000u) == 0x7f800000u;
            }
    return !found;
}
