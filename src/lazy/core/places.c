/* Arrays that functions of the user's fill (places.h). */
#include "lazy/places.h"

#include "lazy/lazy.h"

/* Few places are on the stack: a function that is left by longjmp leaves nothing behind. */
xt_tensor *lazy_places_open(lazy_places *p, const xt_src *src, const char *what, int n) {
    size_t all = (size_t)n + LAZY_SPARE;
    memset(p->few, 0, sizeof p->few);
    p->at = n <= LAZY_FEW ? p->few : base_calloc(all, sizeof *p->at);
    if (!p->at) lazy_error(src, XT_RESOURCE_EXHAUSTED, "%s: no memory for %d tensors", what, n);
    return p->at;
}

void lazy_places_close(lazy_places *p) {
    if (p->at != p->few) base_free(p->at);
    p->at = NULL;
}

bool lazy_places_kept(const xt_src *src, const char *fn, const char *array, const char *count, int n,
                      const xt_tensor *places) {
    for (int k = n; k < n + LAZY_SPARE; k++) {
        if (xt_is_none(places[k])) continue;
        lazy_error(src, XT_INVALID_ARGUMENT, "%s filled %s[%d], but %s is %d: give the number of tensors that it fills",
                   fn, array, k, count, n);
        return false;
    }
    return true;
}
