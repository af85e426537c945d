/* Whole arrays of random numbers, by vector code the compiler makes from plain loops: Philox for 64 counters at a time,
 * then Box-Muller in f32. An element depends on seed, stream and its number only, so pieces may be drawn by any thread.
 * No fused multiply-add is used (neither the baseline nor AVX2 as asked for here has one), so all x86 processors give
 * the same bits.
 *
 * ln, sin and cos are S. Moshier's single-precision polynomials (Cephes: logf, sinf, cosf), each within 1 ULP or so
 * of its range. */
#include <math.h>

#include "base/base.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* the vectoriser with its usual cost model */
#endif

enum { BLOCKS = 64, ELEMS = 4 * BLOCKS };
#define INLINE static inline __attribute__((always_inline))

/* Word k of block b in w[k][b]. */
INLINE void philox_blocks(uint64_t seed, uint64_t stream, uint64_t first_block, uint32_t w[4][BLOCKS]) {
    for (int b = 0; b < BLOCKS; b++) {
        uint64_t block = first_block + (uint64_t)b;
        w[0][b] = (uint32_t)block;
        w[1][b] = (uint32_t)(block >> 32);
        w[2][b] = (uint32_t)stream;
        w[3][b] = (uint32_t)(stream >> 32);
    }
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        for (int b = 0; b < BLOCKS; b++) {
            uint64_t p = (uint64_t)0xD2511F53u * w[0][b], q = (uint64_t)0xCD9E8D57u * w[2][b];
            w[0][b] = (uint32_t)(q >> 32) ^ w[1][b] ^ k0;
            w[2][b] = (uint32_t)(p >> 32) ^ w[3][b] ^ k1;
            w[1][b] = (uint32_t)q;
            w[3][b] = (uint32_t)p;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

/* x > 0 and normal. The mantissa is taken into [sqrt(1/2), sqrt(2)). */
INLINE float ln(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    int32_t e = (int32_t)(bits - 0x3f3504f3u) >> 23;
    bits -= (uint32_t)e << 23;
    memcpy(&x, &bits, sizeof x);
    x -= 1;
    float z = x * x;
    float y = 7.0376836292E-2f;
    y = y * x - 1.1514610310E-1f;
    y = y * x + 1.1676998740E-1f;
    y = y * x - 1.2420140846E-1f;
    y = y * x + 1.4249322787E-1f;
    y = y * x - 1.6668057665E-1f;
    y = y * x + 2.0000714765E-1f;
    y = y * x - 2.4999993993E-1f;
    y = y * x + 3.3333331174E-1f;
    y = y * x * z - 2.12194440e-4f * (float)e - 0.5f * z;
    return x + y + 0.693359375f * (float)e;
}

/* The pair of normals of two words: a radius from the first, an angle (in 2^-32 of a turn) from the second. */
INLINE void normal_pair(uint32_t u, uint32_t turn, float *out_cos, float *out_sin) {
    float radius = sqrtf(-2.0f * ln(((float)(int32_t)(u >> 1) + 0.5f) * 0x1p-31f));
    uint32_t quarter = (turn + 0x20000000u) >> 30;
    float t = (float)(int32_t)(turn - (quarter << 30)) * 1.46291807926715968e-9f; /* 2 pi / 2^32: in [-pi/4, pi/4] */
    float z = t * t;
    float s = ((-1.9515295891E-4f * z + 8.3321608736E-3f) * z - 1.6666654611E-1f) * z * t + t;
    float c = ((2.443315711809948E-5f * z - 1.388731625493765E-3f) * z + 4.166664568298827E-2f) * z * z - 0.5f * z + 1;
    float cos_ = quarter & 1 ? s : c, sin_ = quarter & 1 ? c : s;
    *out_cos = radius * ((quarter + 1) & 2 ? -cos_ : cos_);
    *out_sin = radius * (quarter & 2 ? -sin_ : sin_);
}

INLINE void normals(uint64_t seed, uint64_t stream, uint64_t first_block, float out[ELEMS]) {
    uint32_t w[4][BLOCKS];
    float v[4][BLOCKS];
    philox_blocks(seed, stream, first_block, w);
    for (int pair = 0; pair < 4; pair += 2)
        for (int b = 0; b < BLOCKS; b++) normal_pair(w[pair][b], w[pair + 1][b], &v[pair][b], &v[pair + 1][b]);
    for (int b = 0; b < BLOCKS; b++)
        for (int k = 0; k < 4; k++) out[4 * b + k] = v[k][b];
}

INLINE void uniforms(uint64_t seed, uint64_t stream, uint64_t first_block, float out[ELEMS]) {
    uint32_t w[4][BLOCKS];
    philox_blocks(seed, stream, first_block, w);
    for (int b = 0; b < BLOCKS; b++)
        for (int k = 0; k < 4; k++) out[4 * b + k] = (float)(int32_t)(w[k][b] >> 8) * 0x1p-24f;
}

typedef void (*draw_fn)(uint64_t seed, uint64_t stream, uint64_t first_block, float out[ELEMS]);
static void normals_any(uint64_t seed, uint64_t stream, uint64_t first_block, float out[ELEMS]) {
    normals(seed, stream, first_block, out);
}
static void uniforms_any(uint64_t seed, uint64_t stream, uint64_t first_block, float out[ELEMS]) {
    uniforms(seed, stream, first_block, out);
}
#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2")))
AVX2 static void normals_avx2(uint64_t seed, uint64_t stream, uint64_t first_block, float out[ELEMS]) {
    normals(seed, stream, first_block, out);
}
AVX2 static void uniforms_avx2(uint64_t seed, uint64_t stream, uint64_t first_block, float out[ELEMS]) {
    uniforms(seed, stream, first_block, out);
}
static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2");
}
#else
#define normals_avx2 normals_any
#define uniforms_avx2 uniforms_any
static bool has_avx2(void) {
    return false;
}
#endif

static void fill(draw_fn draw, uint64_t seed, uint64_t stream, uint64_t first, size_t n, float *out) {
    float part[ELEMS];
    while (n > 0) {
        size_t skip = first % 4, got = ELEMS - skip;
        if (got > n) got = n;
        bool whole = got == ELEMS;
        draw(seed, stream, first / 4, whole ? out : part);
        if (!whole) memcpy(out, part + skip, got * sizeof *out);
        out += got;
        first += got;
        n -= got;
    }
}

void rng_fill_uniform(uint64_t seed, uint64_t stream, uint64_t first, size_t n, float *out) {
    fill(has_avx2() ? uniforms_avx2 : uniforms_any, seed, stream, first, n, out);
}

void rng_fill_normal(uint64_t seed, uint64_t stream, uint64_t first, size_t n, float *out) {
    fill(has_avx2() ? normals_avx2 : normals_any, seed, stream, first, n, out);
}
