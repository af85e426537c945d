/* Bump allocation from blocks that double in size up to 1 MiB. Invariants: blocks before `current` are full or skipped,
 * those after it are empty and kept by arena_reset for reuse; memory handed out is zeroed at that moment, not when a
 * block is made. */
#include "base/base.h"

enum { ALIGN = 16, BLOCK_MIN = 4096, BLOCK_MAX = 1 << 20 };

typedef struct block {
    struct block *next;
    size_t used, cap;
    _Alignas(ALIGN) unsigned char data[];
} block;

struct arena {
    block *first, *current;
    size_t next_cap, bytes;
};

arena *arena_new(void) {
    arena *a = base_calloc(1, sizeof *a);
    if (a) a->next_cap = BLOCK_MIN;
    return a;
}

void arena_free(arena *a) {
    if (!a) return;
    for (block *b = a->first, *next; b; b = next) {
        next = b->next;
        base_free(b);
    }
    base_free(a);
}

void arena_reset(arena *a) {
    for (block *b = a->first; b; b = b->next) b->used = 0;
    a->current = a->first;
    a->bytes = 0;
}

/* A block with room for n bytes becomes the current one: the next kept block if it is large enough, else a new one. */
static bool next_block(arena *a, size_t n) {
    while (a->current && a->current->next) {
        a->current = a->current->next;
        if (a->current->cap >= n) return true;
    }
    size_t cap = n > a->next_cap ? n : a->next_cap, total;
    if (!size_add(sizeof(block), cap, &total)) return false;
    block *b = base_aligned(ALIGN, total);
    if (!b) return false;
    *b = (block){.cap = cap};
    if (a->current)
        a->current->next = b;
    else
        a->first = b;
    a->current = b;
    if (a->next_cap < BLOCK_MAX) a->next_cap *= 2;
    return true;
}

void *arena_alloc(arena *a, size_t n) {
    size_t rounded;
    if (!size_add(n ? n : 1, ALIGN - 1, &rounded)) return NULL;
    rounded &= ~(size_t)(ALIGN - 1);
    if ((!a->current || a->current->cap - a->current->used < rounded) && !next_block(a, rounded)) return NULL;
    void *p = a->current->data + a->current->used;
    a->current->used += rounded;
    a->bytes += rounded;
    return memset(p, 0, rounded);
}

void *arena_copy(arena *a, const void *p, size_t n) {
    void *copy = arena_alloc(a, n);
    if (copy && n) memcpy(copy, p, n);
    return copy;
}

char *arena_strdup(arena *a, const char *s) {
    return arena_copy(a, s, strlen(s) + 1);
}

char *arena_printf(arena *a, const char *fmt, ...) {
    str text = STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&text, fmt, ap);
    va_end(ap);
    char *copy = text.failed ? NULL : arena_strdup(a, str_cstr(&text));
    str_free(&text);
    return copy;
}

size_t arena_bytes(const arena *a) {
    return a->bytes;
}
