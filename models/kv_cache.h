/* Keys and values of the tokens that texts under way have so far: what a pass of generation reads and writes.
 *
 * While a model_options has one, a pass takes T more tokens of each of B texts, [B,T]. Which texts these are, where in
 * its text each token stands and which token's logits are wanted is data, so that all lengths are one program. A pass
 * may be given more tokens than a text has: what it writes behind the last one is written again before it is seen. */
#ifndef XTRAIN_MODELS_KV_CACHE_H
#define XTRAIN_MODELS_KV_CACHE_H

#include "models/models.h"

typedef struct kv_cache {
    int64_t texts, heads, room, width; /* sizes of the states: texts, heads of keys, positions, numbers of a head */
    xt_dtype dtype; /* of the states; sums are f32 */
    /* of each layer [texts * heads * room, width]; a pass leaves the new ones here */
    xt_tensor *keys, *values;
    xt_tensor rows; /* i64 [texts,heads]: the first row of each in those */
    xt_tensor at; /* i64 [B,T]: positions */
    xt_tensor place; /* i64 [B * heads * T]: rows of keys and values */
    xt_tensor text; /* i64 [1]: of one text among several; none: of all */
    xt_tensor last; /* i64 [B]: the token of [B * T] whose logits are wanted */
    /* Of a network with an encoder: what its decoder sees of the texts that were read, as keys and values above, and
     * how many tokens these have, i64 [texts]. A pass that `reads` takes one text whole and leaves them here. */
    bool reads;
    xt_tensor *source_keys, *source_values, source_length;
} kv_cache;
typedef struct kv_attention {
    double scale; /* of the scores, usually 1 / sqrt(D) */
    int64_t window; /* each token sees so many at most; 0 = all */
    xt_tensor bias; /* [B,H,T,room], added to the scores; none: nothing */
} kv_attention;

/* Begins a pass over text `text` (i64 scalar; none: B is all texts) from `position` on (i64 [B]), whose token number
 * `last` (i64 [B], in [0,T)) is wanted. */
void kv_cache_begin(kv_cache *c, xt_tensor tokens, xt_tensor text, xt_tensor position, xt_tensor last);
/* Attention of q [B,H,T,D] over the texts so far, k and v [B,heads,T,D] included: [B,H,T,D]. Each token sees those up
 * to itself. */
xt_tensor kv_cache_attention(kv_cache *c, int64_t layer, xt_tensor q, xt_tensor k, xt_tensor v, kv_attention how);
/* Keys and values [1,heads,S,D] of a text that is read, and attention of q [B,H,T,D] over those of the pass's texts. */
void kv_cache_read(kv_cache *c, int64_t layer, xt_tensor k, xt_tensor v);
xt_tensor kv_cache_source_attention(const kv_cache *c, int64_t layer, xt_tensor q, double scale);
/* x [B,T,C] -> [B,1,C], of the tokens that are wanted */
xt_tensor kv_cache_last(const kv_cache *c, xt_tensor x);

#endif
