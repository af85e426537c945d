/* Attention layers: GPT-2's and PyTorch's, over one scaled dot product. Scores of what may not be seen become -inf
 * (GPT-2's: -1e30) before the softmax.
 *
 * Tiled (Rabe and Staats 2021), a loop does the same for some rows of queries at a time, and the backward pass computes
 * their scores again: [tile, S] of them are alive at once instead of [T, S]. A row's softmax is over all of its keys
 * either way, so masks, dropout and derivatives need nothing of their own. */
#include <math.h>

#include "lazy/mesh/mesh.h"
#include "nn/nn.h"

#include <xtrain/loop.h>

enum { END = XT_MAX_RANK + 1 };

/* [B,L,heads*D] -> [B,heads,L,D] */
static xt_tensor split_heads(const xt_src *src, xt_tensor x, int64_t heads) {
    const ir_type *t = lazy_type(x);
    if (!t) return x;
    xt_tensor h = xt_reshape_at(src, x, (int64_t[END]){t->dims[0], t->dims[1], heads, t->dims[2] / heads});
    return xt_permute_at(src, h, 4, (int[]){0, 2, 1, 3});
}

static xt_tensor join_heads(const xt_src *src, xt_tensor x) {
    const ir_type *t = lazy_type(x);
    if (!t) return x;
    return xt_reshape_at(src, xt_permute_at(src, x, 4, (int[]){0, 2, 1, 3}),
                         (int64_t[END]){t->dims[0], t->dims[2], t->dims[1] * t->dims[3]});
}

typedef struct attention {
    const xt_src *src;
    xt_module *m; /* whose mode says whether weights are dropped */
    xt_tensor q, k, v; /* [B,heads,T,D], [B,heads,S,D] */
    xt_tensor pairs, keys; /* masks as scores lie, [T,S] or [B,heads,T,S] and [B,1,1,S]; or none */
    bool causal, wants_weights;
    double hidden; /* a score that may not be seen because of causal */
    double dropout;
    nn_row_dropout drops; /* of the tiles */
    int64_t rows; /* T */
} attention;

/* Row i of all sees columns <= i; these are the rows from `first` on (none: from 0) of [...,S]. */
static xt_tensor mask_future(const attention *a, xt_tensor scores, xt_tensor first) {
    const xt_src *src = a->src;
    const ir_type *t = lazy_type(scores);
    if (!t) return scores;
    xt_tensor row = xt_arange_at(src, t->dims[2], XT_I32),
              column = xt_unsqueeze_at(src, xt_arange_at(src, t->dims[3], XT_I32), 0);
    if (!xt_is_none(first)) row = xt_add_at(src, row, first);
    row = xt_unsqueeze_at(src, row, 1);
    return xt_where_at(src, xt_ge_at(src, row, column), scores, nn_number(src, a->hidden, t->dtype));
}

/* bool: true hides; floats are added. */
static xt_tensor apply_mask(const xt_src *src, xt_tensor scores, xt_tensor mask) {
    xt_dtype t = lazy_type(scores) ? xt_dtype_of(scores) : XT_F32;
    if (xt_is_none(mask)) return scores;
    if (xt_dtype_of(mask) == XT_BOOL) return xt_where_at(src, mask, nn_number(src, -INFINITY, t), scores);
    return xt_add_at(src, scores, xt_cast_at(src, mask, t));
}

static xt_tensor scaled_scores(const xt_src *src, xt_tensor q, xt_tensor k) {
    double scale = 1 / sqrt((double)(xt_dim(q, -1) > 0 ? xt_dim(q, -1) : 1));
    xt_tensor s = xt_matmul_at(src, q, xt_transpose_at(src, k, 2, 3));
    return xt_mul_at(src, s, nn_number(src, scale, lazy_type(s) ? xt_dtype_of(s) : XT_F32));
}

/* What rows q of the queries see, [B,heads,t,D], and their weights averaged over heads, [B,t,S]. No `first`: of all. */
static xt_tensor attend(const attention *a, xt_tensor q, xt_tensor pairs, xt_tensor first, xt_tensor *weights) {
    const xt_src *src = a->src;
    xt_tensor scores = scaled_scores(src, q, a->k);
    if (a->causal) scores = mask_future(a, scores, first);
    scores = apply_mask(src, apply_mask(src, scores, pairs), a->keys);
    xt_tensor p = xt_softmax_at(src, scores, -1);
    p = xt_is_none(first) ? xt_dropout_at(src, a->m, p, a->dropout) : nn_drop_rows(src, &a->drops, p, a->rows, first);
    if (a->wants_weights) *weights = xt_mean_axis_at(src, p, 1);
    return xt_matmul_at(src, p, a->v);
}

/* --- tiles --- */
static void attend_tile(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    const attention *a = user;
    (void)carry;
    y[0] = attend(a, x[1], xt_is_none(a->pairs) ? a->pairs : x[2], x[0], &y[1]);
}

/* [..,T,W] of rank 4 as [n,..,T/n,W], and what a loop made of it back. */
static xt_tensor in_tiles(const xt_src *src, xt_tensor x, int64_t n) {
    const ir_type *t = lazy_type(x);
    if (!t) return x;
    xt_tensor h = xt_reshape_at(src, x, (int64_t[END]){t->dims[0], t->dims[1], n, t->dims[2] / n, t->dims[3]});
    return xt_permute_at(src, h, 5, (int[]){2, 0, 1, 3, 4});
}
static xt_tensor out_of_tiles(const xt_src *src, xt_tensor x) {
    const ir_type *t = lazy_type(x);
    if (!t) return x;
    xt_tensor h = xt_permute_at(src, x, 5, (int[]){1, 2, 0, 3, 4});
    return xt_reshape_at(src, h, (int64_t[END]){t->dims[1], t->dims[2], t->dims[0] * t->dims[3], t->dims[4]});
}

static xt_tensor attend_in_tiles(attention *a, int64_t n, xt_tensor *weights) {
    const xt_src *src = a->src;
    xt_tensor failed, x[3], y[2] = {{0}}, pairs = a->pairs;
    if (!nn_row_dropout_begin(src, a->m, a->dropout, a->q, &a->drops, &failed)) return failed;
    x[0] = xt_mul_at(src, xt_arange_at(src, n, XT_I32), nn_number(src, (double)(a->rows / n), XT_I32));
    x[1] = in_tiles(src, a->q, n);
    if (lazy_type(pairs) && lazy_type(pairs)->rank == 2)
        pairs = xt_unsqueeze_at(src, xt_unsqueeze_at(src, pairs, 0), 0);
    if (!xt_is_none(pairs)) x[2] = in_tiles(src, pairs, n);
    xt_scan_at(src, attend_tile, 0, NULL, xt_is_none(pairs) ? 2 : 3, x, a->wants_weights ? 2 : 1, y,
               XT_OPTS(xt_scan_opts, .recompute = XT_ON, .user = a));
    if (a->wants_weights) /* [n,B,t,S]: as those of one head */
        *weights = xt_squeeze_at(src, out_of_tiles(src, xt_unsqueeze_at(src, y[1], 2)), 1);
    return out_of_tiles(src, y[0]);
}

/* softmax(q k^T / sqrt(D) + masks) v: all rows, or `tile` of them at a time. */
static xt_tensor attention_of(attention *a, int64_t tile, xt_tensor *weights) {
    int64_t T = lazy_type(a->q) ? xt_dim(a->q, 2) : 0;
    a->rows = T;
    return tile && tile < T ? attend_in_tiles(a, T / tile, weights)
                            : attend(a, a->q, a->pairs, (xt_tensor){0}, weights);
}

/* False after an error, which is *failed. */
static bool tile_fits(const xt_src *src, const char *what, const char *name, const char *positions, int64_t T,
                      int64_t tile, xt_tensor *failed) {
    if (tile >= 0 && (tile == 0 || tile >= T || T % tile == 0)) return true;
    *failed = lazy_error(src, XT_INVALID_ARGUMENT,
                         "%s %s: .tile = %lld does not divide the positions T = %lld of %s; 0: scores of all of them "
                         "at once",
                         what, name, (long long)tile, (long long)T, positions);
    return false;
}

/* softmax(q k^T / sqrt(d)) v with heads side by side in the last dim, as GPT-2 lays them out. */
xt_tensor xt_self_attention_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_attention_opts o) {
    const ir_type *t = lazy_type(x);
    int64_t heads = o.heads;
    if (!t || t->rank != 3 || !ir_dtype_is_float(t->dtype))
        return nn_bad_input(src, "xt_self_attention", name, x, "floats [B,T,C] are needed");
    if (heads < 1 || t->dims[2] % heads)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_self_attention %s: .heads = %lld does not divide the width C = %lld of x", name,
                          (long long)heads, (long long)t->dims[2]);
    int64_t C = t->dims[2], T = t->dims[1];
    const char *axes = nn_context_axes(m);
    bool divided = axes && !nn_drops(m, o.dropout) && T % xt_mesh_size(NULL, axes) == 0;
    xt_tensor failed;
    if (!divided && !tile_fits(src, "xt_self_attention", name, "x", T, o.tile, &failed)) return failed;
    xt_module *sub = xt_sub(m, name, -1);
    xt_tensor qkv = xt_linear_at(src, sub, "c_attn", x, 3 * C, XT_OPTS(xt_linear_opts, )), part[3], y;
    /* the scores, which take most of a long sequence's memory, are the module's own */
    lazy_path_push(sub ? sub->path : name);
    for (int i = 0; i < 3; i++) part[i] = split_heads(src, xt_slice_at(src, qkv, 2, i * C, (i + 1) * C), heads);
    if (divided)
        y = nn_ring_attention(src, part, axes, o.causal == XT_ON);
    else
        y = attention_of(&(attention){.src = src,
                                      .m = m,
                                      .q = part[0],
                                      .k = part[1],
                                      .v = part[2],
                                      .causal = o.causal == XT_ON,
                                      .hidden = -1e30,
                                      .dropout = o.dropout},
                         o.tile, NULL);
    y = join_heads(src, y);
    lazy_path_pop();
    return xt_linear_at(src, sub, "c_proj", y, C, XT_OPTS(xt_linear_opts, ));
}

/* --- torch.nn.MultiheadAttention --- */
typedef struct mha {
    const xt_src *src;
    xt_module *m;
    const char *name;
    const xt_mha_opts *o;
    int64_t heads, E, K, V; /* widths of query, key, value */
    xt_dtype d;
    bool batched;
} mha;

/* [B,L,W], whatever the caller's layout. */
static xt_tensor batch_first(const mha *a, xt_tensor x) {
    if (!a->batched) return xt_unsqueeze_at(a->src, x, 0);
    return a->o->batch_first == XT_ON ? x : xt_transpose_at(a->src, x, 0, 1);
}

static xt_tensor project(const mha *a, xt_tensor x, xt_tensor w, xt_tensor bias, int part) {
    xt_tensor y = xt_matmul_at(a->src, x, xt_transpose_at(a->src, w, 0, 1));
    return xt_is_none(bias) ? y : xt_add_at(a->src, y, xt_slice_at(a->src, bias, 0, part * a->E, (part + 1) * a->E));
}

/* in_proj_weight begins xavier_uniform as one [3E,E] matrix, the separate ones each by itself; biases
 * begin as zeros. */
static void project_all(const mha *a, const xt_tensor x[3], xt_tensor out[3]) {
    static const char *const names[3] = {"q_proj_weight", "k_proj_weight", "v_proj_weight"};
    const xt_src *src = a->src;
    int64_t E = a->E, E3 = 3 * E, widths[3] = {E, a->K, a->V};
    bool same = a->K == E && a->V == E, one = same && x[0].slot == x[1].slot && x[1].slot == x[2].slot;
    xt_tensor w[3], bias = {0};
    if (same) {
        xt_tensor all = nn_tensor(src, a->m, a->name, "in_proj_weight", true, NN_UNIFORM, sqrt(6.0 / (double)(E3 + E)),
                                  a->d, 2, (int64_t[]){E3, E});
        for (int i = 0; i < 3; i++) w[i] = one ? all : xt_slice_at(src, all, 0, i * E, (i + 1) * E);
    } else
        for (int i = 0; i < 3; i++)
            w[i] = nn_tensor(src, a->m, a->name, names[i], true, NN_UNIFORM, sqrt(6.0 / (double)(E + widths[i])), a->d,
                             2, (int64_t[]){E, widths[i]});
    if (a->o->bias != XT_OFF) bias = nn_tensor(src, a->m, a->name, "in_proj_bias", true, NN_ZEROS, 0, a->d, 1, &E3);
    if (one) { /* self-attention: one product */
        xt_tensor y = xt_matmul_at(src, batch_first(a, x[0]), xt_transpose_at(src, w[0], 0, 1));
        if (!xt_is_none(bias)) y = xt_add_at(src, y, bias);
        for (int i = 0; i < 3; i++) out[i] = xt_slice_at(src, y, -1, i * E, (i + 1) * E);
    } else
        for (int i = 0; i < 3; i++) out[i] = project(a, batch_first(a, x[i]), w[i], bias, i);
    for (int i = 0; i < 3; i++) out[i] = split_heads(src, out[i], a->heads);
}

/* The caller's masks as scores [B,heads,T,S] want them; false after an error, which is *failed. */
static bool masks_of(const mha *a, attention *of, xt_tensor *failed) {
    const xt_src *src = a->src;
    const ir_type *q = lazy_type(of->q), *keys_type = lazy_type(of->k);
    xt_tensor keys = a->o->key_padding_mask, pairs = a->o->attn_mask;
    if (!q || !keys_type) return true; /* an error goes on */
    int64_t B = q->dims[0], T = q->dims[2], S = keys_type->dims[2];
    if (!xt_is_none(pairs)) {
        const ir_type *p = lazy_type(pairs);
        bool wide = p && p->rank == 3 && p->dims[0] == B * a->heads && p->dims[1] == T && p->dims[2] == S;
        if (!p || (!wide && (p->rank != 2 || p->dims[0] != T || p->dims[1] != S))) {
            *failed =
                nn_bad_input(src, "xt_multihead_attention", a->name, pairs, "attn_mask must be [T,S] or [B*heads,T,S]");
            return false;
        }
        of->pairs = wide ? xt_reshape_at(src, pairs, (int64_t[END]){B, a->heads, T, S}) : pairs;
    }
    if (!xt_is_none(keys)) {
        const ir_type *k = lazy_type(keys);
        bool lone = k && k->rank == 1 && !a->batched;
        if (!k || (lone ? k->dims[0] != S : k->rank != 2 || k->dims[0] != B || k->dims[1] != S)) {
            *failed = nn_bad_input(src, "xt_multihead_attention", a->name, keys, "key_padding_mask must be [B,S]");
            return false;
        }
        of->keys = xt_reshape_at(src, keys, (int64_t[END]){B, 1, 1, S});
    }
    return true;
}

static bool inputs_fit(const mha *a, const ir_type *q, const ir_type *k, const ir_type *v, xt_tensor *out) {
    str s = STR_INIT;
    const ir_type *const all[] = {q, k, v};
    *out = (xt_tensor){0};
    bool fits =
        (q->rank == 2 || q->rank == 3) && k->rank == q->rank && v->rank == q->rank && ir_dtype_is_float(q->dtype);
    int length = a->batched && a->o->batch_first == XT_ON ? 1 : 0;
    fits = fits && k->dims[length] == v->dims[length];
    if (fits && a->batched)
        fits = q->dims[1 - length] == k->dims[1 - length] && k->dims[1 - length] == v->dims[1 - length];
    if (fits && (a->heads < 1 || a->E % a->heads != 0)) {
        *out = lazy_error(a->src, XT_INVALID_ARGUMENT,
                          "xt_multihead_attention %s: .heads = %lld does not divide the query's width E = %lld",
                          a->name, (long long)a->heads, (long long)a->E);
        return false;
    }
    if (fits) return true;
    for (size_t i = 0; i < 3; i++) {
        if (i) str_append(&s, ", ");
        ir_type_print(all[i], &s);
    }
    *out = lazy_error(a->src, XT_INVALID_ARGUMENT,
                      "xt_multihead_attention %s: query, key and value are %s; floats %s are needed", a->name,
                      str_cstr(&s),
                      a->o->batch_first == XT_ON ? "[B,T,E], [B,S,K] and [B,S,V]" : "[T,B,E], [S,B,K] and [S,B,V]");
    str_free(&s);
    return false;
}

xt_tensor xt_multihead_attention_at(const xt_src *src, xt_module *m, const char *name, xt_tensor q, xt_tensor k,
                                    xt_tensor v, xt_mha_opts o) {
    const ir_type *tq = lazy_type(q), *tk = lazy_type(k), *tv = lazy_type(v);
    if (!tq || !tk || !tv || !tq->rank || !tk->rank || !tv->rank)
        return nn_bad_input(src, "xt_multihead_attention", name,
                            !tq || !tq->rank   ? q
                            : !tk || !tk->rank ? k
                                               : v,
                            "[T,B,E] floats are needed");
    mha a = {src,
             m,
             name,
             &o,
             o.heads,
             tq->dims[tq->rank - 1],
             tk->dims[tk->rank - 1],
             tv->dims[tv->rank - 1],
             nn_param_dtype(tq),
             tq->rank == 3};
    xt_tensor failed, part[3], weights = lazy_failed_tensor(src);
    if (!inputs_fit(&a, tq, tk, tv, &failed)) return failed;
    int64_t T = tq->dims[a.batched && o.batch_first == XT_ON ? 1 : 0];
    if (!tile_fits(src, "xt_multihead_attention", name, "the query", T, o.tile, &failed)) return failed;
    if (!nn_layer_begin(src, m, name)) return nn_bad_input(src, "xt_multihead_attention", name, (xt_tensor){0}, "");
    project_all(&a, (xt_tensor[]){q, k, v}, part);
    attention of = {.src = src,
                    .m = m,
                    .q = part[0],
                    .k = part[1],
                    .v = part[2],
                    .causal = o.causal == XT_ON,
                    .wants_weights = o.out_weights != NULL,
                    .hidden = -INFINITY,
                    .dropout = o.dropout};
    xt_tensor y = masks_of(&a, &of, &failed) ? join_heads(src, attention_of(&of, o.tile, &weights)) : failed;
    xt_tensor w = nn_tensor(src, m, name, "out_proj.weight", true, NN_UNIFORM, 1 / sqrt((double)a.E), a.d, 2,
                            (int64_t[]){a.E, a.E});
    y = xt_matmul_at(src, y, xt_transpose_at(src, w, 0, 1));
    if (o.bias != XT_OFF)
        y = xt_add_at(src, y, nn_tensor(src, m, name, "out_proj.bias", true, NN_ZEROS, 0, a.d, 1, &a.E));
    if (o.out_weights) *o.out_weights = a.batched ? weights : xt_squeeze_at(src, weights, 0);
    nn_layer_end();
    if (!a.batched) return xt_squeeze_at(src, y, 0);
    return o.batch_first == XT_ON ? y : xt_transpose_at(src, y, 0, 1);
}
