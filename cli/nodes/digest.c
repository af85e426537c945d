/* What shows that a node knows the secret: SHA-256 and HMAC-SHA-256 (RFC 2104), by libsodium. Neither needs
 * sodium_init, which reads random bytes. */
#include <sodium.h>

#include "cli/nodes/nodes_int.h"

_Static_assert(NODES_DIGEST == crypto_hash_sha256_BYTES && NODES_DIGEST == crypto_auth_hmacsha256_BYTES,
               "digests are SHA-256's");

void nodes_sha256(const void *data, size_t n, uint8_t out[NODES_DIGEST]) {
    crypto_hash_sha256(out, data, n);
}

void nodes_hmac(const uint8_t key[NODES_DIGEST], const nodes_piece *pieces, int n, uint8_t out[NODES_DIGEST]) {
    crypto_auth_hmacsha256_state s;
    crypto_auth_hmacsha256_init(&s, key, NODES_DIGEST);
    for (int i = 0; i < n; i++) crypto_auth_hmacsha256_update(&s, pieces[i].p, pieces[i].n);
    crypto_auth_hmacsha256_final(&s, out);
    sodium_memzero(&s, sizeof s);
}

bool nodes_same(const uint8_t *a, const uint8_t *b, size_t n) {
    return sodium_memcmp(a, b, n) == 0;
}
