/* Free blocks of memory kept for reuse: found by size, given up by age, both without looking at each, as this happens
 * under a device's lock. At most FACE_KEPT blocks; equal calls in equal order give equal blocks. Not safe between
 * threads: the owner locks. */
#ifndef XT_SRC_PJRT_KEPT_H
#define XT_SRC_PJRT_KEPT_H

#include "base/base.h"

typedef struct face_block {
    void *p;
    size_t size;
} face_block;
enum { FACE_KEPT = 512, FACE_NONE = FACE_KEPT };
/* Places of `block` hold kept blocks or wait on a list of free ones. */
typedef struct face_kept {
    size_t n;
    face_block block[FACE_KEPT];
    uint16_t older[FACE_KEPT], newer[FACE_KEPT]; /* neighbours by age; of a free place `newer` is the next free one */
    uint16_t oldest, newest, free;
    uint16_t by_size[FACE_KEPT]; /* places, smallest block first, of equal ones the oldest first */
} face_kept;

face_kept *face_kept_new(void); /* NULL without memory; base_free() ends it, not the blocks */
bool face_kept_add(face_kept *k, face_block b); /* as the newest; false: it is full */
/* The smallest block that serves n, of equal ones the newest, which the processor's caches may hold still: at most a
 * quarter of it may be left over. p NULL: there is none. */
face_block face_kept_take(face_kept *k, size_t n);
face_block face_kept_take_oldest(face_kept *k); /* p NULL: there is none */
size_t face_kept_largest(const face_kept *k); /* bytes */

#endif
