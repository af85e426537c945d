/* Interned strings. Three levels: a cache per thread keyed by the pointer (a hit is checked against the text, because
 * an unloaded module's or a buffer's address can come to hold other text), then a table under a mutex keyed by the
 * text. Texts are read without a lock: see chunk.h. Nothing is ever freed. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"
#include "base/chunk.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static map *ids; /* text -> id, as a pointer-sized number; under the lock */
static const char **_Atomic chunks[CHUNK_COUNT]; /* texts by id */
static uint32_t count = 1; /* ids given out, 0 included; under the lock */

enum { CACHE_BITS = 7 }; /* of each thread, whose stack it lies in */
typedef struct cached {
    const char *pointer;
    const char *text;
    uint32_t id;
} cached;
static _Thread_local cached cache[1 << CACHE_BITS];

const char *intern_text(uint32_t id) {
    if (id == 0) return "";
    uint32_t at, k = chunk_place(id, &at);
    const char **chunk = atomic_load_explicit(&chunks[k], memory_order_acquire);
    return chunk && chunk[at] ? chunk[at] : "";
}

/* A new id for text, whose copy it keeps; 0 without memory. Called under the lock. */
static uint32_t add(const char *s, size_t n) {
    uint32_t at, k = chunk_place(count, &at);
    const char **chunk = atomic_load_explicit(&chunks[k], memory_order_relaxed);
    if (!chunk) {
        chunk = base_calloc(chunk_size(k), sizeof *chunk);
        if (!chunk) return 0;
        atomic_store_explicit(&chunks[k], chunk, memory_order_release);
    }
    if (!ids && !(ids = map_new())) return 0;
    char *copy = base_strndup(s, n);
    if (!copy) return 0;
    if (count == UINT32_MAX || !map_put(ids, s, n, (void *)(uintptr_t)count, NULL)) {
        base_free(copy);
        return 0;
    }
    chunk[at] = copy;
    return count++;
}

uint32_t intern_n(const char *s, size_t n) {
    if (!s) return 0;
    n = strnlen(s, n);
    if (n == 0) return 0;
    pthread_mutex_lock(&lock);
    uint32_t id = ids ? (uint32_t)(uintptr_t)map_get(ids, s, n) : 0;
    if (!id) id = add(s, n);
    pthread_mutex_unlock(&lock);
    return id;
}

uint32_t intern(const char *s) {
    if (!s || !*s) return 0;
    uint64_t spread = (uint64_t)(uintptr_t)s * 0x9E3779B97F4A7C15ULL;
    cached *c = &cache[spread >> (64 - CACHE_BITS)];
    if (c->pointer == s && strcmp(c->text, s) == 0) return c->id;
    uint32_t id = intern_n(s, strlen(s));
    if (id) *c = (cached){s, intern_text(id), id};
    return id;
}
