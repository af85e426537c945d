/* Growth of VEC_PUSH arrays: by half, at least 8 items. */
#include "base/base.h"

bool vec_grow(void **items, size_t *cap, size_t need, size_t item_size) {
    if (need <= *cap) return true;
    size_t grown = *cap + *cap / 2, bytes;
    if (grown < need) grown = need;
    if (grown < 8) grown = 8;
    if (!size_mul(grown, item_size, &bytes)) return false;
    void *p = base_realloc(*items, bytes);
    if (!p) return false;
    *items = p;
    *cap = grown;
    return true;
}
