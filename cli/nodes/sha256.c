/* SHA-256 (FIPS 180-4) and HMAC (RFC 2104) over it. Here, so that a launcher needs no library of ciphers. */
#include <string.h>

#include "cli/nodes/nodes_int.h"

enum { BLOCK = 64, ROUNDS = 64 };

typedef struct sha {
    uint32_t h[8];
    uint8_t block[BLOCK];
    size_t filled;
    uint64_t bytes;
} sha;

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int n) {
    return x >> n | x << (32 - n);
}

static void add_block(sha *s, const uint8_t *p) {
    uint32_t w[ROUNDS], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (int i = 16; i < ROUNDS; i++)
        w[i] = w[i - 16] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
               (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(v, s->h, sizeof v);
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t choose = (v[4] & v[5]) ^ (~v[4] & v[6]), major = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        uint32_t a = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) + choose + constants[i] + w[i];
        uint32_t b = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) + major;
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += a;
        v[0] = a + b;
    }
    for (int i = 0; i < 8; i++) s->h[i] += v[i];
}

static void add(sha *s, const void *data, size_t n) {
    const uint8_t *p = data;
    s->bytes += n;
    while (n > 0) {
        size_t k = BLOCK - s->filled < n ? BLOCK - s->filled : n;
        memcpy(s->block + s->filled, p, k);
        s->filled += k;
        p += k;
        n -= k;
        if (s->filled < BLOCK) return;
        add_block(s, s->block);
        s->filled = 0;
    }
}

static void start(sha *s) {
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    *s = (sha){0};
    memcpy(s->h, first, sizeof first);
}

static void finish(sha *s, uint8_t out[NODES_DIGEST]) {
    static const uint8_t padding[BLOCK] = {0x80};
    uint64_t bits = s->bytes * 8;
    uint8_t length[8];
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)(bits >> (56 - 8 * i));
    add(s, padding, 1 + (BLOCK + 55 - s->filled) % BLOCK);
    add(s, length, sizeof length);
    for (int i = 0; i < NODES_DIGEST; i++) out[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

void nodes_sha256(const void *data, size_t n, uint8_t out[NODES_DIGEST]) {
    sha s;
    start(&s);
    add(&s, data, n);
    finish(&s, out);
}

void nodes_hmac(const uint8_t key[NODES_DIGEST], const nodes_piece *pieces, int n, uint8_t out[NODES_DIGEST]) {
    uint8_t pad[2][BLOCK], inner[NODES_DIGEST];
    sha s;
    for (int i = 0; i < BLOCK; i++) {
        uint8_t k = i < NODES_DIGEST ? key[i] : 0;
        pad[0][i] = k ^ 0x36;
        pad[1][i] = k ^ 0x5c;
    }
    start(&s);
    add(&s, pad[0], BLOCK);
    for (int i = 0; i < n; i++) add(&s, pieces[i].p, pieces[i].n);
    finish(&s, inner);
    start(&s);
    add(&s, pad[1], BLOCK);
    add(&s, inner, sizeof inner);
    finish(&s, out);
}

bool nodes_same(const uint8_t *a, const uint8_t *b, size_t n) {
    volatile uint8_t differs = 0;
    for (size_t i = 0; i < n; i++) differs = (uint8_t)(differs | (a[i] ^ b[i]));
    return differs == 0;
}
