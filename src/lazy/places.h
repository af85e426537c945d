/* Arrays of tensors that functions of the user's fill: what is written behind their end harms nothing, and is an error.
 */
#ifndef XT_SRC_LAZY_PLACES_H
#define XT_SRC_LAZY_PLACES_H

#include <xtrain/tensor.h>

/* Behind the n places that the function was told of lie others, which must stay none. The array is NULL, with an error
 * pending, without memory for it. */
enum { LAZY_FEW = 16, LAZY_SPARE = 32 };
typedef struct lazy_places {
    xt_tensor few[LAZY_FEW + LAZY_SPARE], *at;
} lazy_places;
xt_tensor *lazy_places_open(lazy_places *p, const xt_src *src, const char *what, int n);
void lazy_places_close(lazy_places *p);
/* False, with an error, if fn filled more: "the function of xt_vmap filled out[2], but n_out is 2". For arrays of at
 * least n + LAZY_SPARE places. */
bool lazy_places_kept(const xt_src *src, const char *fn, const char *array, const char *count, int n,
                      const xt_tensor *places);

#endif
