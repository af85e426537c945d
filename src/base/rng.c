/* Philox 4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). Nothing is
 * stored: a draw is a function of seed (the key), stream (the high counter half) and element number (the low half), so
 * any part of an array can be drawn alone and a resumed run draws the same numbers. One block serves four uniforms,
 * four normals or two 64-bit words. */
#include <math.h>

#include "base/base.h"

void philox4x32(uint64_t key, uint64_t counter_lo, uint64_t counter_hi, uint32_t out[4]) {
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t c0 = (uint32_t)counter_lo, c1 = (uint32_t)(counter_lo >> 32), c2 = (uint32_t)counter_hi,
             c3 = (uint32_t)(counter_hi >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p = (uint64_t)0xD2511F53u * c0, q = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(q >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)q;
        c3 = (uint32_t)p;
        k0 += 0x9E3779B9u; /* the golden ratio and sqrt(3) - 1, as the paper's Weyl key schedule has them */
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

float rng_uniform(uint64_t seed, uint64_t stream, uint64_t i) {
    uint32_t w[4];
    philox4x32(seed, i / 4, stream, w);
    return (float)(w[i % 4] >> 8) * 0x1p-24f;
}

/* Words 0,1 give normals 0,1 and words 2,3 give normals 2,3. In double and rounded once, so that libm versions
 * hardly matter. */
float rng_normal(uint64_t seed, uint64_t stream, uint64_t i) {
    uint32_t w[4];
    philox4x32(seed, i / 4, stream, w);
    unsigned pair = (unsigned)(i % 4) & 2u;
    double radius = sqrt(-2.0 * log(((double)w[pair] + 0.5) * 0x1p-32));
    double angle = 6.283185307179586476925 * ((double)w[pair + 1] * 0x1p-32);
    return (float)(radius * (i % 2 ? sin(angle) : cos(angle)));
}

uint64_t rng_bits(uint64_t seed, uint64_t stream, uint64_t i) {
    uint32_t w[4];
    philox4x32(seed, i / 2, stream, w);
    unsigned half = (unsigned)(i % 2) * 2u;
    return (uint64_t)w[half + 1] << 32 | w[half];
}
