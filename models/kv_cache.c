/* The cache of keys and values; see kv_cache.h. */
#include "models/kv_cache.h"

#include <math.h>

void kv_cache_begin(kv_cache *c, xt_tensor tokens, xt_tensor text, xt_tensor position, xt_tensor last) {
    int64_t b = xt_dim(tokens, 0), t = xt_dim(tokens, 1);
    c->at = xt_add(xt_unsqueeze(position, 1), xt_arange(t, XT_I64));
    c->text = xt_is_none(text) ? text : xt_reshape(text, 1);
    xt_tensor rows = xt_is_none(text) ? c->rows : xt_index_select(c->rows, 0, c->text);
    c->place = xt_reshape(xt_add(xt_unsqueeze(rows, 2), xt_unsqueeze(c->at, 1)), b * c->heads * t);
    /* Counted, for T is no number that changes from pass to pass: a program has one. */
    c->last = xt_add(last, xt_reshape(xt_slice(xt_reshape(xt_arange(b * t, XT_I64), b, t), 1, 0, 1), b));
}

/* Rows into a state, and all of the pass's texts: [B,heads,room,D]. */
static xt_tensor remember(const kv_cache *c, xt_tensor *state, xt_tensor x) {
    int64_t b = xt_dim(x, 0);
    *state = xt_index_copy(*state, 0, c->place, xt_reshape(x, b * c->heads * xt_dim(x, 2), c->width));
    if (xt_is_none(c->text)) return xt_reshape(*state, c->texts, c->heads, c->room, c->width);
    xt_tensor by_text = xt_reshape(*state, c->texts, c->heads * c->room * c->width);
    return xt_reshape(xt_index_select(by_text, 0, c->text), b, c->heads, c->room, c->width);
}

xt_tensor kv_cache_attention(kv_cache *c, int64_t layer, xt_tensor q, xt_tensor k, xt_tensor v, int64_t window) {
    int64_t b = xt_dim(q, 0), h = xt_dim(q, 1), t = xt_dim(q, 2), d = xt_dim(q, 3), group = h / c->heads;
    xt_tensor keys = remember(c, &c->keys[layer], k), values = remember(c, &c->values[layer], v);
    /* Queries that share a head of keys are rows of one product. */
    q = xt_reshape(xt_mul_scalar(q, 1 / sqrt((double)d)), b, c->heads, group * t, d);
    xt_tensor scores = xt_matmul(q, xt_transpose(keys, 2, 3));
    xt_tensor at = xt_reshape(c->at, b, 1, 1, t, 1), column = xt_arange(c->room, XT_I64), seen = xt_le(column, at);
    if (window) seen = xt_logical_and(seen, xt_gt(xt_add_scalar(column, (double)window), at));
    scores = xt_where(seen, xt_reshape(scores, b, c->heads, group, t, c->room), xt_full(-1e30, XT_F32));
    xt_tensor p = xt_reshape(xt_softmax(scores, -1), b, c->heads, group * t, c->room);
    return xt_reshape(xt_matmul(p, values), b, h, t, d);
}

xt_tensor kv_cache_last(const kv_cache *c, xt_tensor x) {
    int64_t b = xt_dim(x, 0), width = xt_dim(x, 2);
    if (xt_dim(x, 1) == 1) return x;
    return xt_reshape(xt_index_select(xt_reshape(x, b * xt_dim(x, 1), width), 0, c->last), b, 1, width);
}
