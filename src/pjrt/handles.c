/* Where handles live, and which of them clients hold. A call with a handle that was destroyed, that is another's or
 * that never was one is answered with an error and nothing of it is read: clients in other languages destroy twice, in
 * any order, and from finalizers.
 *
 * What clients hold is made of grains of 64 bytes in chunks. A chunk begins with one word a grain: which kind of handle
 * begins there, and how often it was given out (an event may be, several times). Invariants:
 *  1. A chunk is found by its address in a table that only grows and is read without a lock: a check costs a few loads
 *     and nothing of the handle's memory.
 *  2. Chunks are never given back, so their words can be read whatever address a client passes.
 *  3. The memory of a destroyed handle rests until REST others of its size were destroyed after it: until then no new
 *     handle has the same address.
 *  4. A call pins the handles that it was given until it returns. A handle that is destroyed meanwhile is taken from
 * the client at once, and what it stands for ends with the last call that pins it, on that call's thread: destroying
 *     waits for nobody, and no call reads what is gone. */
#include "base/fault.h"
#include "pjrt/face.h"

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

enum {
    CHUNK = 256 << 10,
    GRAINS = CHUNK / FACE_GRAIN,
    MOST = 64,
    REST = 32,
    PLACES = 1 << 14,
    KIND = 31,
    ENDS = KIND + 1, /* a reference goes when nobody pins it any more */
    PIN = 2 * ENDS,
    PINS = 0xffffff & ~(PIN - 1)
};
#define ONCE (UINT64_C(1) << 24) /* given to a client, once */
typedef struct chunk {
    /* kind, ENDS, PIN * calls that pin it, ONCE * times given; 0: no handle begins here, or nobody holds it. The rest
     * of the chunk are the grains */
    atomic_uint_fast64_t words[GRAINS];
} chunk;

static _Atomic(chunk *) places[PLACES]; /* by address, open addressed, at most half of it used */
static struct {
    pthread_mutex_t lock;
    chunk *open; /* its grains from `next` on have never been used */
    size_t next, chunks;
} store = {.lock = PTHREAD_MUTEX_INITIALIZER, .next = GRAINS};
typedef struct resting {
    struct resting *next;
} resting;
static struct list {
    pthread_mutex_t lock;
    resting *first, *last;
    size_t n;
} lists[MOST + 1] = {[0 ... MOST] = {.lock = PTHREAD_MUTEX_INITIALIZER}}; /* by size in grains, oldest first */

static size_t place_of(uintptr_t address) {
    return (size_t)((uint64_t)(address / CHUNK) * UINT64_C(0x9E3779B97F4A7C15) >> 50);
}

static atomic_uint_fast64_t *word_of(const void *p) {
    uintptr_t at = (uintptr_t)p, base = at - at % CHUNK;
    if (at % FACE_GRAIN) return NULL;
    for (size_t i = place_of(base);; i++) {
        chunk *c = atomic_load_explicit(&places[i % PLACES], memory_order_acquire);
        if (!c) return NULL;
        if ((uintptr_t)c == base) return &c->words[(at - base) / FACE_GRAIN];
    }
}

/* --- memory --- */
/* Under the store's lock. */
static bool open_chunk(void) {
    chunk *c = store.chunks < PLACES / 2 ? base_aligned(CHUNK, CHUNK) : NULL;
    if (!c) return false;
    memset(c, 0, sizeof *c);
    size_t i = place_of((uintptr_t)c);
    while (atomic_load_explicit(&places[i % PLACES], memory_order_relaxed)) i++;
    atomic_store_explicit(&places[i % PLACES], c, memory_order_release);
    ASAN_POISON_MEMORY_REGION((char *)c + sizeof *c, CHUNK - sizeof *c);
    store.open = c;
    store.next = sizeof *c / FACE_GRAIN;
    store.chunks++;
    return true;
}

static void *fresh(size_t grains) {
    void *p = NULL;
    pthread_mutex_lock(&store.lock);
    if (store.next + grains <= GRAINS || open_chunk()) {
        p = (char *)store.open + store.next * FACE_GRAIN;
        store.next += grains;
    }
    pthread_mutex_unlock(&store.lock);
    return p;
}

static void *rested(struct list *l) {
    pthread_mutex_lock(&l->lock);
    resting *p = l->n > REST ? l->first : NULL;
    if (p) {
        l->first = p->next;
        l->n--;
    }
    pthread_mutex_unlock(&l->lock);
    return p;
}

void *face_handle_new(size_t n) {
    size_t grains = (n + FACE_GRAIN - 1) / FACE_GRAIN;
    assert(grains > 0 && grains <= MOST);
    if (base_alloc_must_fail()) return NULL;
    void *p = rested(&lists[grains]);
    if (!p) p = fresh(grains);
    if (!p) return NULL;
    ASAN_UNPOISON_MEMORY_REGION(p, grains * FACE_GRAIN);
    return memset(p, 0, n);
}

void face_handle_free(void *p, size_t n) {
    if (!p) return;
    size_t grains = (n + FACE_GRAIN - 1) / FACE_GRAIN;
    assert(atomic_load(word_of(p)) == 0);
    struct list *l = &lists[grains];
    resting *r = p;
    pthread_mutex_lock(&l->lock);
    r->next = NULL;
    if (l->n++)
        l->last->next = r;
    else
        l->first = r;
    l->last = r;
    ASAN_POISON_MEMORY_REGION(r + 1, grains * FACE_GRAIN - sizeof *r); /* before another thread may be given it */
    pthread_mutex_unlock(&l->lock);
}

/* --- who holds it --- */
void face_give(const void *handle, face_handle_kind kind) {
    atomic_uint_fast64_t *word = word_of(handle);
    assert(word);
    uint64_t was = atomic_load_explicit(word, memory_order_relaxed);
    if (!was && kind != FACE_EVENT) { /* an event may be given by two threads; all else to the client it is made for */
        atomic_store_explicit(word, (uint64_t)kind + ONCE, memory_order_release);
        return;
    }
    while (!atomic_compare_exchange_weak_explicit(word, &was, (was ? was : (uint64_t)kind) + ONCE, memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

bool face_take_back(const void *handle, face_handle_kind kind) {
    atomic_uint_fast64_t *word = word_of(handle);
    uint64_t was = word ? atomic_load_explicit(word, memory_order_acquire) : 0, now;
    do {
        if ((was & KIND) != kind || was < ONCE) return false;
        now = was < 2 * ONCE ? 0 : was - ONCE;
    } while (!atomic_compare_exchange_weak_explicit(word, &was, now, memory_order_acq_rel, memory_order_acquire));
    return true;
}

bool face_is_given(const void *handle, face_handle_kind kind) {
    const atomic_uint_fast64_t *word = word_of(handle);
    uint64_t now = word ? atomic_load_explicit(word, memory_order_acquire) : 0;
    return (now & KIND) == kind && now >= ONCE;
}

/* --- pins --- */
static const face_end_fn *_Atomic table_of_ends; /* by kind; set before there is a handle */

void face_set_ends(const face_end_fn *by_kind) {
    atomic_store_explicit(&table_of_ends, by_kind, memory_order_release);
}

static face_end_fn end_of(face_handle_kind kind) {
    return atomic_load_explicit(&table_of_ends, memory_order_acquire)[kind];
}

typedef struct pinned {
    void *handle;
    atomic_uint_fast64_t *word; /* its */
    face_handle_kind kind;
    bool ends; /* a reference goes with the call; else a pin */
} pinned;
enum { FEW = 24 };
struct face_pinning {
    pinned few[FEW], *more; /* of the calls that are under way on this thread, the innermost last; `more` from FEW on */
    size_t n, cap;
    int calls;
    bool no_memory;
};
typedef struct face_pinning pinning;
static _Thread_local pinning mine; /* finding it is a call: once where that does */

static pinned *pinned_at(pinning *m, size_t i) {
    return i < FEW ? &m->few[i] : &m->more[i - FEW];
}

static bool has_room(pinning *m) {
    if (m->n < FEW + m->cap) return true;
    size_t cap = m->cap ? 2 * m->cap : 64;
    pinned *more = base_realloc(m->more, cap * sizeof *more);
    m->no_memory = !more;
    if (!more) return false;
    m->more = more;
    m->cap = cap;
    return true;
}

face_call face_call_begin(void) {
    pinning *m = &mine;
    m->calls++;
    m->no_memory = false;
    return (face_call){m->n, m};
}

/* Of those who find that nobody pins it any more, the one that takes the mark away ends it. An event may be given again
 * meanwhile: then its word stays. */
static void unpin(void *handle, atomic_uint_fast64_t *word, face_handle_kind kind) {
    uint64_t was = atomic_fetch_sub_explicit(word, PIN, memory_order_acq_rel), bare = kind;
    if (!(was & ENDS) || (was & PINS) != PIN) return;
    was = atomic_fetch_and_explicit(word, ~(uint64_t)ENDS, memory_order_acq_rel);
    if (!(was & ENDS)) return;
    atomic_compare_exchange_strong(word, &bare, 0);
    end_of(kind)(handle);
}

void face_call_end(face_call c) {
    pinning *m = c.pinning;
    while (m->n > c.mark) {
        pinned p = *pinned_at(m, --m->n);
        if (p.ends)
            end_of(p.kind)(p.handle);
        else
            unpin(p.handle, p.word, p.kind);
    }
    m->calls--;
    if (m->n || !m->more) return;
    base_free(m->more);
    m->more = NULL;
    m->cap = 0;
}

bool face_hold(const void *handle, face_handle_kind kind) {
    pinning *m = &mine;
    if (!m->calls || !end_of(kind)) return face_is_given(handle, kind);
    atomic_uint_fast64_t *word = word_of(handle);
    uint64_t was = word ? atomic_load_explicit(word, memory_order_acquire) : 0;
    if (!has_room(m)) return false;
    do {
        if ((was & KIND) != kind || was < ONCE) return false;
    } while (!atomic_compare_exchange_weak_explicit(word, &was, was + PIN, memory_order_acq_rel, memory_order_acquire));
    *pinned_at(m, m->n++) = (pinned){(void *)(uintptr_t)handle, word, kind, false};
    return true;
}

/* The last one leaves the end to the calls that pin it, itself among them; where there are none it is this call's. */
bool face_end(const void *handle, face_handle_kind kind) {
    pinning *m = &mine;
    assert(m->calls && end_of(kind));
    atomic_uint_fast64_t *word = word_of(handle);
    uint64_t was = word ? atomic_load_explicit(word, memory_order_acquire) : 0, now;
    bool later;
    if (!has_room(m)) return false;
    do {
        if ((was & KIND) != kind || was < ONCE) return false;
        bool last = was < 2 * ONCE;
        later = last && (was & PINS) && !(was & ENDS);
        now = later ? (was - ONCE + PIN) | ENDS : last && !(was & (PINS | ENDS)) ? 0 : was - ONCE;
    } while (!atomic_compare_exchange_weak_explicit(word, &was, now, memory_order_acq_rel, memory_order_acquire));
    *pinned_at(m, m->n++) = (pinned){(void *)(uintptr_t)handle, word, kind, !later};
    return true;
}

bool face_retire(void *handle, face_handle_kind kind) {
    atomic_uint_fast64_t *word = word_of(handle);
    uint64_t was = atomic_load_explicit(word, memory_order_acquire), now;
    do {
        if ((was & KIND) != kind || was < ONCE) return false;
        now = was & PINS ? (was & (KIND | PINS)) | ENDS : 0;
    } while (!atomic_compare_exchange_weak_explicit(word, &was, now, memory_order_acq_rel, memory_order_acquire));
    return now != 0;
}

xt_status face_no_handle(const void *handle, face_handle_kind kind, const char *function, const char *field) {
    static const char *const names[] = {[FACE_CLIENT] = "client",
                                        [FACE_DEVICE] = "device",
                                        [FACE_DESCRIPTION] = "device description",
                                        [FACE_MEMORY] = "memory",
                                        [FACE_BUFFER] = "buffer",
                                        [FACE_EVENT] = "event",
                                        [FACE_LOADED] = "loaded executable",
                                        [FACE_EXECUTABLE] = "executable",
                                        [FACE_TOPOLOGY] = "topology",
                                        [FACE_TRANSFER] = "transfer manager",
                                        [FACE_TRACKING] = "tracking event",
                                        [FACE_CONTEXT] = "execution context",
                                        [FACE_ALIAS] = "alias callback",
                                        [FACE_LAYOUT] = "memory layout",
                                        [FACE_ERROR] = "error",
                                        [FACE_PENDING] = "pending read",
                                        [FACE_DEPENDENCY] = "pending donation",
                                        [FACE_PROFILER] = "profiler"};
    if (!handle) return status_new(XT_INVALID_ARGUMENT, NULL, "PJRT_%s: %s is NULL", function, field);
    if (mine.no_memory) return status_oom(2 * mine.cap * sizeof(pinned), "the handles of a call");
    const atomic_uint_fast64_t *word = word_of(handle);
    uint64_t now = word ? atomic_load(word) : 0, found = now < ONCE ? 0 : now & KIND;
    if (found)
        return status_new(XT_FAILED_PRECONDITION, NULL,
                          "PJRT_%s: %s is a handle of another kind: found %s, expected %s", function, field,
                          names[found], names[kind]);
    return status_new(XT_FAILED_PRECONDITION, NULL, "PJRT_%s: %s has been destroyed, or is no %s of this plugin's",
                      function, field, names[kind]);
}

xt_status face_check_handle(const void *handle, face_handle_kind kind, const char *function, const char *field) {
    if (handle && (kind == FACE_ANY || face_hold(handle, kind))) return NULL;
    return face_no_handle(handle, kind, function, field);
}

xt_status face_end_handle(const void *handle, face_handle_kind kind, const char *function, const char *field) {
    return handle && face_end(handle, kind) ? NULL : face_no_handle(handle, kind, function, field);
}
