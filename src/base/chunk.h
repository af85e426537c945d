/* Places the items of a table that only grows, so that readers need no lock: item `id` lives in chunk k at an
 * offset, chunk k holds CHUNK_FIRST << k items, and a chunk never moves once it is published. 22 chunks cover all
 * of uint32_t. */
#ifndef XT_SRC_BASE_CHUNK_H
#define XT_SRC_BASE_CHUNK_H

#include <stdint.h>

enum { CHUNK_FIRST = 1024, CHUNK_COUNT = 22 };

static inline uint32_t chunk_place(uint32_t id, uint32_t *out_offset) {
    uint32_t scaled = id / CHUNK_FIRST + 1;
    uint32_t k = 31u - (uint32_t)__builtin_clz(scaled);
    *out_offset = id - ((1u << k) - 1u) * CHUNK_FIRST;
    return k;
}

static inline uint32_t chunk_size(uint32_t k) {
    return (uint32_t)CHUNK_FIRST << k;
}

#endif
