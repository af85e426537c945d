/* See kept.h. */
#include "pjrt/kept.h"

face_kept *face_kept_new(void) {
    face_kept *k = base_calloc(1, sizeof *k);
    if (!k) return NULL;
    for (uint16_t i = 0; i < FACE_KEPT; i++) k->newer[i] = (uint16_t)(i + 1); /* FACE_KEPT is FACE_NONE */
    k->oldest = k->newest = FACE_NONE;
    return k;
}

/* How many blocks are smaller than n: the place in by_size of the first that is not. */
static size_t smaller(const face_kept *k, size_t n) {
    size_t low = 0, high = k->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (k->block[k->by_size[mid]].size < n)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

bool face_kept_add(face_kept *k, face_block b) {
    uint16_t i = k->free;
    if (i == FACE_NONE || b.size == SIZE_MAX) return false;
    size_t at = smaller(k, b.size + 1); /* behind those of its size, which are older */
    memmove(&k->by_size[at + 1], &k->by_size[at], (k->n - at) * sizeof k->by_size[0]);
    k->by_size[at] = i;
    k->n++;
    k->free = k->newer[i];
    k->block[i] = b;
    k->older[i] = k->newest;
    k->newer[i] = FACE_NONE;
    *(k->newest == FACE_NONE ? &k->oldest : &k->newer[k->newest]) = i;
    k->newest = i;
    return true;
}

static face_block take_at(face_kept *k, size_t at) {
    uint16_t i = k->by_size[at];
    face_block b = k->block[i];
    k->n--;
    memmove(&k->by_size[at], &k->by_size[at + 1], (k->n - at) * sizeof k->by_size[0]);
    *(k->older[i] == FACE_NONE ? &k->oldest : &k->newer[k->older[i]]) = k->newer[i];
    *(k->newer[i] == FACE_NONE ? &k->newest : &k->older[k->newer[i]]) = k->older[i];
    k->newer[i] = k->free;
    k->free = i;
    return b;
}

/* What a larger block would leave over is more: if the smallest that is large enough does not serve, none does. */
face_block face_kept_take(face_kept *k, size_t n) {
    size_t at = smaller(k, n);
    if (at == k->n) return (face_block){0};
    size_t size = k->block[k->by_size[at]].size;
    return size - n <= size / 4 ? take_at(k, smaller(k, size + 1) - 1) : (face_block){0};
}

/* Of its size it is the first: those of the same size are newer. */
face_block face_kept_take_oldest(face_kept *k) {
    return k->n ? take_at(k, smaller(k, k->block[k->oldest].size)) : (face_block){0};
}

size_t face_kept_largest(const face_kept *k) {
    return k->n ? k->block[k->by_size[k->n - 1]].size : 0;
}
