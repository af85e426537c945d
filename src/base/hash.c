/* MurmurHash3's x64 128-bit function (Austin Appleby, public domain), with the two halves of the state seeded apart.
 * Its values are part of file formats (disk cache, checkpoints): they must never change, and a test holds the published
 * ones. Bytes are read little-endian on every machine. Not meant against an adversary. */
#include "base/base.h"

static uint64_t rotate(uint64_t x, int r) {
    return (x << r) | (x >> (64 - r));
}

static uint64_t load64(const unsigned char *p, size_t n) {
    uint64_t v = 0;
    if (n == 8 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
        memcpy(&v, p, 8);
        return v;
    }
    for (size_t i = 0; i < n; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static uint64_t finish(uint64_t x) {
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return x ^ (x >> 33);
}

static const uint64_t mul_a = 0x87c37b91114253d5ULL, mul_b = 0x4cf5ad432745937fULL;

static uint64_t scramble_a(uint64_t k) {
    return rotate(k * mul_a, 31) * mul_b;
}
static uint64_t scramble_b(uint64_t k) {
    return rotate(k * mul_b, 33) * mul_a;
}

hash128 hash_bytes(const void *data, size_t n, hash128 seed) {
    const unsigned char *p = data;
    uint64_t a = seed.lo, b = seed.hi;
    size_t left = n;
    for (; left >= 16; left -= 16, p += 16) {
        a = (rotate(a ^ scramble_a(load64(p, 8)), 27) + b) * 5 + 0x52dce729;
        b = (rotate(b ^ scramble_b(load64(p + 8, 8)), 31) + a) * 5 + 0x38495ab5;
    }
    if (left > 8) b ^= scramble_b(load64(p + 8, left - 8));
    if (left > 0) a ^= scramble_a(load64(p, left < 8 ? left : 8));
    a ^= (uint64_t)n;
    b ^= (uint64_t)n;
    a += b;
    b += a;
    a = finish(a);
    b = finish(b);
    a += b;
    b += a;
    return (hash128){a, b};
}

hash128 hash_mix(hash128 a, hash128 b) {
    unsigned char bytes[16];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(b.lo >> (8 * i));
        bytes[8 + i] = (unsigned char)(b.hi >> (8 * i));
    }
    return hash_bytes(bytes, sizeof bytes, a);
}

bool hash_equal(hash128 a, hash128 b) {
    return a.lo == b.lo && a.hi == b.hi;
}

void hash_hex(hash128 h, char out[33]) {
    snprintf(out, 33, "%016llx%016llx", (unsigned long long)h.lo, (unsigned long long)h.hi);
}
