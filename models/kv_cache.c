/* The cache of keys and values; see kv_cache.h. */
#include "models/kv_cache.h"

void kv_cache_begin(kv_cache *c, xt_tensor tokens, xt_tensor text, xt_tensor position, xt_tensor last) {
    int64_t b = xt_dim(tokens, 0), t = xt_dim(tokens, 1);
    c->at = xt_add(xt_unsqueeze(position, 1), xt_arange(t, XT_I64));
    c->text = xt_is_none(text) ? text : xt_reshape(text, 1);
    xt_tensor rows = xt_is_none(text) ? c->rows : xt_index_select(c->rows, 0, c->text);
    c->place = xt_reshape(xt_add(xt_unsqueeze(rows, 2), xt_unsqueeze(c->at, 1)), b * c->heads * t);
    /* Counted, for T is no number that changes from pass to pass: a program has one. */
    c->last = xt_add(last, xt_reshape(xt_slice(xt_reshape(xt_arange(b * t, XT_I64), b, t), 1, 0, 1), b));
}

/* Rows into a state. */
static void put(const kv_cache *c, xt_tensor *state, xt_tensor x) {
    xt_tensor rows = xt_reshape(x, xt_dim(x, 0) * c->heads * xt_dim(x, 2), c->width);
    *state = xt_index_copy(*state, 0, c->place, xt_cast(rows, c->dtype));
}

/* All of the pass's texts: f32 [B,heads,room,D]. */
static xt_tensor texts_of(const kv_cache *c, xt_tensor state) {
    if (xt_is_none(c->text)) return xt_cast(xt_reshape(state, c->texts, c->heads, c->room, c->width), XT_F32);
    xt_tensor by_text = xt_reshape(state, c->texts, c->heads * c->room * c->width);
    return xt_cast(xt_reshape(xt_index_select(by_text, 0, c->text), 1, c->heads, c->room, c->width), XT_F32);
}

/* seen: bool, to [B,heads,group,T,room]. Queries that share a head of keys are rows of one product. */
static xt_tensor attend(const kv_cache *c, xt_tensor q, xt_tensor keys, xt_tensor values, xt_tensor seen,
                        const kv_attention *how) {
    int64_t b = xt_dim(q, 0), h = xt_dim(q, 1), t = xt_dim(q, 2), d = xt_dim(q, 3), group = h / c->heads;
    q = xt_reshape(how->scale != 1 ? xt_mul_scalar(q, how->scale) : q, b, c->heads, group * t, d);
    xt_tensor scores = xt_matmul(q, xt_transpose(keys, 2, 3));
    scores = xt_reshape(scores, b, c->heads, group, t, c->room);
    if (!xt_is_none(how->bias)) scores = xt_add(scores, xt_reshape(how->bias, b, c->heads, group, t, c->room));
    scores = xt_where(seen, scores, xt_full(-1e30, XT_F32));
    xt_tensor p = xt_reshape(xt_softmax(scores, -1), b, c->heads, group * t, c->room);
    return xt_reshape(xt_matmul(p, values), b, h, t, d);
}

xt_tensor kv_cache_attention(kv_cache *c, int64_t layer, xt_tensor q, xt_tensor k, xt_tensor v, kv_attention how) {
    xt_tensor at = xt_reshape(c->at, xt_dim(q, 0), 1, 1, xt_dim(q, 2), 1), column = xt_arange(c->room, XT_I64);
    xt_tensor seen = xt_le(column, at);
    if (how.window) seen = xt_logical_and(seen, xt_gt(xt_add_scalar(column, (double)how.window), at));
    put(c, &c->keys[layer], k);
    put(c, &c->values[layer], v);
    return attend(c, q, texts_of(c, c->keys[layer]), texts_of(c, c->values[layer]), seen, &how);
}

void kv_cache_read(kv_cache *c, int64_t layer, xt_tensor k, xt_tensor v) {
    put(c, &c->source_keys[layer], k);
    put(c, &c->source_values[layer], v);
}

xt_tensor kv_cache_source_attention(const kv_cache *c, int64_t layer, xt_tensor q, double scale) {
    xt_tensor length = xt_is_none(c->text) ? c->source_length : xt_index_select(c->source_length, 0, c->text);
    xt_tensor seen = xt_lt(xt_arange(c->room, XT_I64), xt_reshape(length, xt_dim(q, 0), 1, 1, 1, 1));
    return attend(c, q, texts_of(c, c->source_keys[layer]), texts_of(c, c->source_values[layer]), seen,
                  &(kv_attention){.scale = scale});
}

xt_tensor kv_cache_last(const kv_cache *c, xt_tensor x) {
    int64_t b = xt_dim(x, 0), width = xt_dim(x, 2);
    if (xt_dim(x, 1) == 1) return x;
    return xt_reshape(xt_index_select(xt_reshape(x, b * xt_dim(x, 1), width), 0, c->last), b, 1, width);
}
