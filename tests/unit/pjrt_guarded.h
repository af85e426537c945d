/* Memory between two pages that nobody may touch, so that one byte outside of a span is a fault. */
#ifndef XT_TESTS_PJRT_GUARDED_H
#define XT_TESTS_PJRT_GUARDED_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct guarded {
    char *at; /* the first byte that may be touched */
    size_t size; /* pages in between, in bytes */
} guarded;

static inline guarded guarded_new(size_t least) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (least + page - 1) / page * page;
    char *all = mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mprotect(all + page, size, PROT_READ | PROT_WRITE) != 0) return (guarded){NULL, 0};
    return (guarded){all + page, size};
}

/* n bytes that end at the upper page, or begin at the lower one; all of it is filled with `fill` before. */
static inline char *guarded_span(const guarded *g, size_t n, bool at_end, int fill) {
    memset(g->at, fill, g->size);
    return at_end ? g->at + g->size - n : g->at;
}

static inline void guarded_free(guarded *g) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    munmap(g->at - page, g->size + 2 * page);
}

/* A generator of one's own: the same numbers everywhere. */
typedef struct dice {
    uint64_t state;
} dice;

static inline uint64_t roll(dice *d) {
    d->state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = d->state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}
static inline size_t below(dice *d, size_t n) {
    return (size_t)(roll(d) % n);
}

#endif
