/* Objects lie in chunks of 64 KiB, each of one kind and one size. A chunk's places are handed out once, in order; when
 * the last object of a full chunk is freed, its pages go back to the system, and its addresses stay taken. What
 * remains of an object is its row in the chunk's table. Of a kind whose places are used again the freed ones stand in a
 * line, linked in their rows, and the first is used again once there are LATE.
 *
 * A chunk is found from any address inside it by two loads: the upper bits of the address pick a table, the middle
 * ones a chunk. Both are only ever added to. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "base/base.h"
#include "base/fault.h"
#include "base/handle.h"
#include "base/sanitizers.h"

#if BUILT_WITH_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#define CLOSE_TO_USE(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define OPEN_TO_USE(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#define IS_ROOT(p, n) __lsan_register_root_region(p, n)
#else
#define CLOSE_TO_USE(p, n) (void)(p)
#define OPEN_TO_USE(p, n) (void)(p)
#define IS_ROOT(p, n) (void)(p)
#endif

enum {
    CHUNK_BITS = 16,
    CHUNK = 1 << CHUNK_BITS,
    TABLE_BITS = 16,
    ADDRESS_BITS = 48,
    TABLES = 1 << (ADDRESS_BITS - CHUNK_BITS - TABLE_BITS),
    ALIGN = 64, /* objects of two threads share no line of the cache */
    LATE = 1024
};

typedef struct place {
    _Atomic(const void *) needs; /* of a freed one in the line: the next */
    _Atomic(const void *) freed_from;
    _Atomic uint64_t home; /* the thread that it is of no use without; 0: any will do */
    _Atomic int pins;
    _Atomic unsigned char state; /* HANDLE_NULL: not handed out yet */
} place;

typedef struct chunk {
    handle_kind kind;
    size_t stride;
    uint32_t count, used, live; /* used, live: under the lock */
    char *memory;
    place places[];
} chunk;

typedef struct table {
    _Atomic(chunk *) chunks[1 << TABLE_BITS];
} table;

static _Atomic(table *) tables[TABLES];
static chunk *open_chunks[HANDLE_KINDS];
static struct line {
    const void *first, *last;
    size_t n;
} freed[HANDLE_KINDS]; /* under the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local const void *frees_from;
static _Thread_local bool finishing;

const char *handle_word(handle_kind kind) {
    static const char *const words[] = {
#define HANDLE(kind, word, advice, places) word,
#include "base/handle.def"
#undef HANDLE
        "foreign pointer"};
    return words[kind];
}

const char *handle_advice(handle_kind kind) {
    static const char *const advice_of[] = {
#define HANDLE(kind, word, advice, places) advice,
#include "base/handle.def"
#undef HANDLE
    };
    return advice_of[kind];
}

static bool is_used_again(handle_kind kind) {
    enum { ONCE, AGAIN };
    static const bool again[] = {
#define HANDLE(kind, word, advice, places) (places) == AGAIN,
#include "base/handle.def"
#undef HANDLE
    };
    return again[kind];
}

/* --- chunks --- */
static chunk *chunk_at(const void *p) {
    uintptr_t at = (uintptr_t)p >> CHUNK_BITS;
    if (at >> TABLE_BITS >= TABLES) return NULL;
    table *t = atomic_load_explicit(&tables[at >> TABLE_BITS], memory_order_acquire);
    return t ? atomic_load_explicit(&t->chunks[at & ((1 << TABLE_BITS) - 1)], memory_order_acquire) : NULL;
}

static char *aligned_pages(void) {
    char *p = mmap(NULL, 2 * CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    size_t before = (size_t)(-(uintptr_t)p & (CHUNK - 1));
    if (before) munmap(p, before);
    if (before < CHUNK) munmap(p + before + CHUNK, CHUNK - before);
    return p + before;
}

/* Under the lock. */
static bool enter(chunk *c) {
    uintptr_t at = (uintptr_t)c->memory >> CHUNK_BITS;
    if (at >> TABLE_BITS >= TABLES) return false;
    table *t = atomic_load(&tables[at >> TABLE_BITS]);
    if (!t) {
        if (!(t = base_calloc(1, sizeof *t))) return false;
        atomic_store_explicit(&tables[at >> TABLE_BITS], t, memory_order_release);
    }
    atomic_store_explicit(&t->chunks[at & ((1 << TABLE_BITS) - 1)], c, memory_order_release);
    return true;
}

static chunk *chunk_new(handle_kind kind, size_t stride) {
    uint32_t count = (uint32_t)(CHUNK / stride);
    chunk *c = base_calloc(1, sizeof *c + count * sizeof c->places[0]);
    if (!c) return NULL;
    *c = (chunk){.kind = kind, .stride = stride, .count = count, .memory = aligned_pages()};
    for (uint32_t i = 0; i < count; i++) c->places[i].state = HANDLE_NULL;
    if (c->memory && enter(c)) {
        IS_ROOT(c->memory, CHUNK);
        CLOSE_TO_USE(c->memory, CHUNK);
        return c;
    }
    if (c->memory) munmap(c->memory, CHUNK);
    base_free(c);
    return NULL;
}

/* --- objects --- */
static place *place_of(const void *p, chunk **out_chunk) {
    chunk *c = chunk_at(p);
    size_t offset = c ? (size_t)((const char *)p - c->memory) : 0;
    if (!c || offset % c->stride || offset / c->stride >= c->count) return NULL;
    place *at = &c->places[offset / c->stride];
    if (out_chunk) *out_chunk = c;
    return atomic_load_explicit(&at->state, memory_order_acquire) == HANDLE_NULL ? NULL : at;
}

/* Under the lock. */
static char *never_used(handle_kind kind, size_t stride, chunk **out) {
    chunk *c = open_chunks[kind];
    if (!c || c->used == c->count) c = open_chunks[kind] = chunk_new(kind, stride);
    *out = c;
    return c ? c->memory + c->used++ * stride : NULL;
}

/* Under the lock. */
static char *first_freed(handle_kind kind, chunk **out) {
    struct line *l = &freed[kind];
    const char *p = l->first;
    place *at = place_of(p, out);
    l->first = atomic_load(&at->needs);
    l->n--;
    atomic_store(&at->needs, NULL);
    atomic_store(&at->freed_from, NULL);
    atomic_store(&at->home, 0);
    return (*out)->memory + (p - (*out)->memory);
}

void *handle_new(handle_kind kind, size_t size) {
    size_t stride = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (base_alloc_must_fail()) return NULL;
    assert(stride <= CHUNK);
    pthread_mutex_lock(&lock);
    chunk *c = NULL;
    bool again = freed[kind].n >= LATE;
    char *p = again ? first_freed(kind, &c) : never_used(kind, stride, &c);
    if (p) {
        assert(c->stride == stride);
        OPEN_TO_USE(p, size);
        if (again) memset(p, 0, size);
        atomic_store_explicit(&c->places[(size_t)(p - c->memory) / stride].state, HANDLE_LIVES, memory_order_release);
        c->live++;
    }
    pthread_mutex_unlock(&lock);
    return p;
}

/* Under the lock. */
static void stand_in_line(handle_kind kind, const void *object, place *at) {
    struct line *l = &freed[kind];
    atomic_store(&at->needs, NULL);
    if (l->n++)
        atomic_store(&place_of(l->last, NULL)->needs, object);
    else
        l->first = object;
    l->last = object;
}

void handle_free(void *object) {
    chunk *c = NULL;
    place *at = object ? place_of(object, &c) : NULL;
    if (!at) return;
    atomic_store(&at->freed_from, frees_from);
    atomic_store_explicit(&at->state, finishing ? HANDLE_FINISHED : HANDLE_FREED, memory_order_release);
    pthread_mutex_lock(&lock);
    CLOSE_TO_USE(object, c->stride);
    c->live--;
    if (is_used_again(c->kind))
        stand_in_line(c->kind, object, at);
    else if (c->live == 0 && c->used == c->count)
        madvise(c->memory, CHUNK, MADV_DONTNEED);
    pthread_mutex_unlock(&lock);
}

uint64_t handle_thread(void) {
    static _Atomic uint64_t threads;
    static _Thread_local uint64_t number;
    if (!number) number = atomic_fetch_add(&threads, 1) + 1;
    return number;
}

void handle_settle(void *object) {
    place *at = object ? place_of(object, NULL) : NULL;
    if (at) atomic_store_explicit(&at->home, handle_thread(), memory_order_relaxed);
}

static bool is_elsewhere(const place *at) {
    uint64_t home = atomic_load_explicit(&at->home, memory_order_relaxed);
    return home && home != handle_thread();
}

handle_state handle_look(handle_kind kind, const void *p) {
    chunk *c = NULL;
    if (!p) return HANDLE_NULL;
    place *at = place_of(p, &c);
    if (!at) return kind == HANDLE_status && status_is_static(p) ? HANDLE_LIVES : HANDLE_FOREIGN;
    if (c->kind != kind) return HANDLE_OTHER_KIND;
    handle_state state = (handle_state)atomic_load_explicit(&at->state, memory_order_acquire);
    if (state != HANDLE_LIVES) return state;
    const void *needs = atomic_load_explicit(&at->needs, memory_order_relaxed);
    const place *needed = needs ? place_of(needs, NULL) : NULL;
    if (needs && (!needed || atomic_load_explicit(&needed->state, memory_order_acquire) != HANDLE_LIVES))
        return HANDLE_ORPHAN;
    return is_elsewhere(at) || (needed && is_elsewhere(needed)) ? HANDLE_ELSEWHERE : HANDLE_LIVES;
}

handle_kind handle_kind_of(const void *p) {
    chunk *c = NULL;
    return p && place_of(p, &c) ? c->kind : HANDLE_KINDS;
}

const void *handle_freed_from(const void *p) {
    place *at = p ? place_of(p, NULL) : NULL;
    return at ? atomic_load(&at->freed_from) : NULL;
}

void handle_needs(void *object, const void *needed) {
    place *at = object ? place_of(object, NULL) : NULL;
    if (at) atomic_store(&at->needs, needed);
}

handle_kind handle_needed_kind(const void *object) {
    place *at = object ? place_of(object, NULL) : NULL;
    return at ? handle_kind_of(atomic_load(&at->needs)) : HANDLE_KINDS;
}

void handle_pin(const void *object) {
    place *at = object ? place_of(object, NULL) : NULL;
    if (at) atomic_fetch_add(&at->pins, 1);
}
void handle_unpin(const void *object) {
    place *at = object ? place_of(object, NULL) : NULL;
    if (at) atomic_fetch_sub(&at->pins, 1);
}
bool handle_is_pinned(const void *object) {
    place *at = object ? place_of(object, NULL) : NULL;
    return at && atomic_load(&at->pins) > 0;
}

const void *handle_frees_from(const void *return_address) {
    const void *before = frees_from;
    frees_from = return_address;
    return before;
}
bool handle_finishing(bool on) {
    bool before = finishing;
    finishing = on;
    return before;
}
