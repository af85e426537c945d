/* Every allocation of the library. A test arms a countdown with base_fail_alloc_after and the n-th allocation, from
 * whatever thread, gives NULL once, or with base_fail_alloc_from so does each one behind it; unarmed, the countdown
 * costs one relaxed load. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <fcntl.h>

#include "base/base.h"
#include "base/fault.h"

static _Atomic int64_t fail_countdown = -1; /* allocations until the one that fails, counting it; negative = off */
static atomic_bool fails_from_there;

void base_fail_alloc_after(int64_t n) {
    atomic_store(&fails_from_there, false);
    atomic_store(&fail_countdown, n == 0 ? 1 : n);
}

void base_fail_alloc_from(int64_t n) {
    base_fail_alloc_after(n);
    atomic_store(&fails_from_there, n >= 0);
}

bool base_alloc_must_fail(void) {
    if (atomic_load_explicit(&fail_countdown, memory_order_relaxed) < 0) return false;
    /* Reaching 0 disarms: later calls see a negative number. */
    int64_t left = atomic_fetch_sub(&fail_countdown, 1) - 1;
    if (left > 0) return false;
    if (atomic_load(&fails_from_there))
        atomic_store(&fail_countdown, 1);
    else if (left == 0)
        atomic_store(&fail_countdown, -1);
    return left == 0 || atomic_load(&fails_from_there);
}

/* Large blocks in pages of 2 MiB: filling 500 MiB of weights takes 250 page faults instead of 128,000. Only advice, so
 * failures do not matter. */
static void *in_huge_pages(void *p, size_t n) {
    enum { HUGE = 2 << 20, LARGE = 4 << 20 };
    if (!p || n < LARGE) return p;
    uintptr_t from = ((uintptr_t)p + HUGE - 1) & ~(uintptr_t)(HUGE - 1),
              to = ((uintptr_t)p + n) & ~(uintptr_t)(HUGE - 1);
    if (to > from) madvise((void *)from, to - from, MADV_HUGEPAGE);
    return p;
}

_Atomic uint64_t base_failed_allocations;

static _Thread_local base_failed failed_here;
base_failed base_failed_here(void) {
    return failed_here;
}

/* What is left for small blocks when memory ends, given back then, once: enough for a sentence about it and a clean
 * end, whatever malloc has kept for itself (MALLOC_TOP_PAD_=0: nothing). */
enum { RESERVE = 64 << 10, SMALL = 16 << 10 };
static _Atomic(void *) reserve;
__attribute__((constructor)) static void keep_reserve(void) {
    atomic_store(&reserve, malloc(RESERVE));
}
static bool spends_reserve(size_t n) {
    void *all = n <= SMALL ? atomic_exchange(&reserve, NULL) : NULL;
    free(all);
    return all != NULL;
}

static void *counted(void *p, size_t n) {
    if (p) return p;
    atomic_fetch_add_explicit(&base_failed_allocations, 1, memory_order_relaxed);
    failed_here.count++;
    failed_here.bytes = n;
    return NULL;
}

void *base_malloc(size_t n) {
    if (base_alloc_must_fail()) return counted(NULL, n);
    void *p = malloc(n ? n : 1);
    if (!p && spends_reserve(n)) p = malloc(n ? n : 1);
    return counted(in_huge_pages(p, n), n);
}

void *base_calloc(size_t count, size_t size) {
    size_t n = SIZE_MAX;
    if (!size_mul(count, size, &n) || base_alloc_must_fail()) return counted(NULL, n);
    void *p = calloc(1, n ? n : 1);
    if (!p && spends_reserve(n)) p = calloc(1, n ? n : 1);
    return counted(in_huge_pages(p, n), n);
}

void *base_realloc(void *p, size_t n) {
    if (base_alloc_must_fail()) return counted(NULL, n);
    void *q = realloc(p, n ? n : 1);
    if (!q && spends_reserve(n)) q = realloc(p, n ? n : 1);
    return counted(q, n);
}

void base_free(void *p) {
    free(p);
}

/* `n` bytes of fresh pages, aligned to 2 MiB. */
static char *fresh_pages(size_t n) {
    enum { HUGE = 2 << 20 };
    size_t more;
    if (!size_add(n, HUGE, &more)) return NULL;
    char *p = mmap(NULL, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    size_t before = (size_t)(-(uintptr_t)p & (HUGE - 1));
    if (before) munmap(p, before);
    if (more > before + n) munmap(p + before + n, more - before - n);
    return in_huge_pages(p + before, n);
}

/* Blocks of a few MiB follow one another in regions of large pages: of 48 weights of 2 to 9 MiB, each in pages of its
 * own, a sixth would lie in small ones. What is given back is unmapped, so a region needs no book and no place in it
 * is used twice. */
void *base_pages(size_t n) {
    enum { REGION = 64 << 20, ALONE = 16 << 20 };
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char *next;
    static size_t left;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), used;
    if (base_alloc_must_fail() || !size_add(n, page - 1, &used)) return counted(NULL, n);
    used -= used % page;
    if (used >= ALONE) return counted(fresh_pages(used), n);
    pthread_mutex_lock(&lock);
    if (left < used) {
        char *region = fresh_pages(REGION);
        if (region) {
            if (left) munmap(next, left);
            next = region;
            left = REGION;
        }
    }
    char *p = left < used ? NULL : next;
    if (p) next += used, left -= used;
    pthread_mutex_unlock(&lock);
    return counted(p, n);
}

void base_pages_free(void *p, size_t n) {
    if (p) munmap(p, n);
}

const void *base_zeros(size_t n) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const void *zeros;
    static size_t size;
    if (base_alloc_must_fail()) return counted(NULL, n);
    pthread_mutex_lock(&lock);
    if (n > size) { /* the old, smaller one may be in use: it stays, and takes address space only */
        size_t more = 2 * size > n ? 2 * size : n;
        void *p = mmap(NULL, more, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p != MAP_FAILED) {
            madvise(p, more, MADV_HUGEPAGE);
            zeros = p;
            size = more;
        }
    }
    const void *out = n <= size ? zeros : NULL;
    pthread_mutex_unlock(&lock);
    return out;
}

char *base_strdup(const char *s) {
    return base_strndup(s, strlen(s));
}

char *base_strndup(const char *s, size_t n) {
    n = strnlen(s, n);
    char *copy = base_malloc(n + 1);
    if (!copy) return NULL;
    memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

void *base_aligned(size_t align, size_t n) {
    void *p = NULL;
    if (align < sizeof(void *)) align = sizeof(void *);
    if (base_alloc_must_fail() || posix_memalign(&p, align, n ? n : 1)) return counted(NULL, n);
    return in_huge_pages(p, n);
}

static int64_t resident(bool of_its_own) {
    char text[128];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) close(fd);
    if (n <= 0) return 0;
    text[n] = '\0';
    long long pages = 0, shared = 0;
    if (sscanf(text, "%*s %lld %lld", &pages, &shared) != 2) return 0;
    return (int64_t)(pages - (of_its_own ? shared : 0)) * sysconf(_SC_PAGESIZE);
}

int64_t base_rss(void) {
    return resident(false);
}
int64_t base_rss_own(void) {
    return resident(true);
}

bool size_mul(size_t a, size_t b, size_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}

bool size_add(size_t a, size_t b, size_t *out) {
    return !__builtin_add_overflow(a, b, out);
}

bool dims_count(const int64_t *dims, size_t rank, int64_t *out) {
    bool empty = false;
    for (size_t i = 0; i < rank; i++) {
        if (dims[i] < 0) return false;
        empty |= dims[i] == 0;
    }
    *out = 0;
    if (empty) return true; /* however large the other dims are */
    int64_t count = 1;
    for (size_t i = 0; i < rank; i++)
        if (__builtin_mul_overflow(count, dims[i], &count)) return false;
    *out = count;
    return true;
}
