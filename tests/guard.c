/* A malloc under which each allocation ends before a page that nobody may touch: who reads or writes behind one dies at
 * that place, in libraries without sanitizers and in code that is made at run time too. Memory is not zero, and memory
 * that was freed is gone. Preloaded by tests/cli/guarded.sh. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

typedef struct {
    void *map; /* NULL: one of those without a guard */
    size_t mapped, bytes, magic;
} head;
enum { PAGE = 4096, ALIGN = 16, MAGIC = 0x6a2d, FILLED = 1 << 16 };

static head *head_of(void *p) {
    return (head *)((char *)p - sizeof(head));
}

/* A process may have 65,530 mappings and each guard makes two. What comes when so many are there has none: it lies in
 * blocks of which nothing is given back. */
enum { GUARDED_MOST = 28000, BLOCK = 64 << 20 };
static atomic_size_t guarded;

static void *take_unguarded(size_t align, size_t n) {
    static atomic_flag busy = ATOMIC_FLAG_INIT;
    static char *at, *end;
    size_t need;
    if (__builtin_add_overflow(n, align + sizeof(head), &need)) return errno = ENOMEM, NULL;
    while (atomic_flag_test_and_set(&busy)) {
    }
    if (!at || (size_t)(end - at) < need) {
        size_t size = need > BLOCK ? need : BLOCK;
        char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        at = block == MAP_FAILED ? NULL : block;
        end = at ? at + size : NULL;
    }
    char *p = at ? (char *)(((uintptr_t)at + sizeof(head) + align - 1) & ~(uintptr_t)(align - 1)) : NULL;
    if (p) at = p + n;
    atomic_flag_clear(&busy);
    if (!p) return errno = ENOMEM, NULL;
    memset(p, 0xa5, n < FILLED ? n : FILLED);
    *head_of(p) = (head){NULL, 0, n, MAGIC};
    return p;
}

static void *take(size_t align, size_t n) {
    if (align < ALIGN) align = ALIGN;
    if (!n) n = 1;
    if (atomic_load(&guarded) >= GUARDED_MOST) return take_unguarded(align, n);
    size_t mapped;
    if (__builtin_add_overflow(n, align + sizeof(head) + 2 * PAGE, &mapped)) return errno = ENOMEM, NULL;
    mapped = mapped / PAGE * PAGE;
    char *map = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return errno = ENOMEM, NULL;
    char *guard = map + mapped - PAGE;
    mprotect(guard, PAGE, PROT_NONE); /* refused when a process has too many mappings: this one is unguarded then */
    atomic_fetch_add(&guarded, 1);
    char *p = (char *)((uintptr_t)(guard - n) & ~(uintptr_t)(align - 1));
    memset(p, 0xa5, n < FILLED ? n : FILLED);
    *head_of(p) = (head){map, mapped, n, MAGIC};
    return p;
}

void *malloc(size_t n) {
    return take(ALIGN, n);
}
void *calloc(size_t count, size_t each) {
    size_t n;
    if (__builtin_mul_overflow(count, each, &n)) return errno = ENOMEM, NULL;
    void *p = take(ALIGN, n);
    return p ? memset(p, 0, n) : NULL;
}
void free(void *p) {
    if (!p) return;
    head h = *head_of(p);
    if (h.magic != MAGIC) __builtin_trap();
    if (!h.map) return;
    int before = errno;
    munmap(h.map, h.mapped);
    atomic_fetch_sub(&guarded, 1);
    errno = before;
}
void *realloc(void *p, size_t n) {
    void *q = take(ALIGN, n);
    if (!p || !q) return q;
    size_t had = head_of(p)->bytes;
    memcpy(q, p, had < n ? had : n);
    free(p);
    return q;
}
void *memalign(size_t align, size_t n) {
    return take(align, n);
}
void *aligned_alloc(size_t align, size_t n) {
    return take(align, n);
}
int posix_memalign(void **out, size_t align, size_t n) {
    void *p = take(align, n);
    if (!p) return ENOMEM;
    *out = p;
    return 0;
}
size_t malloc_usable_size(void *p) {
    return p ? head_of(p)->bytes : 0;
}
