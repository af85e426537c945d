/* Attention layers: GPT-2's and PyTorch's, over one scaled dot product. Scores of what may not be seen become -inf
 * (GPT-2's: -1e30) before the softmax. */
#include <math.h>

#include "lazy/mesh/mesh.h"
#include "nn/nn.h"

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

/* Row i sees columns <= i of [T,S]. */
static xt_tensor mask_future(const xt_src *src, xt_tensor scores, double hidden) {
    const ir_type *t = lazy_type(scores);
    if (!t) return scores;
    xt_tensor row = xt_unsqueeze_at(src, xt_arange_at(src, t->dims[2], XT_I32), 1),
              column = xt_unsqueeze_at(src, xt_arange_at(src, t->dims[3], XT_I32), 0);
    return xt_where_at(src, xt_ge_at(src, row, column), scores, nn_number(src, hidden, t->dtype));
}

static xt_tensor scaled_scores(const xt_src *src, xt_tensor q, xt_tensor k) {
    double scale = 1 / sqrt((double)(xt_dim(q, -1) > 0 ? xt_dim(q, -1) : 1));
    xt_tensor s = xt_matmul_at(src, q, xt_transpose_at(src, k, 2, 3));
    return xt_mul_at(src, s, nn_number(src, scale, lazy_type(s) ? xt_dtype_of(s) : XT_F32));
}

static xt_tensor self_attention(const xt_src *src, xt_module *m, const xt_tensor qkv[3], bool causal, double dropout) {
    xt_tensor scores = scaled_scores(src, qkv[0], qkv[1]);
    if (causal) scores = mask_future(src, scores, -1e30);
    xt_tensor p = xt_softmax_at(src, scores, -1);
    return xt_matmul_at(src, xt_dropout_at(src, m, p, dropout), qkv[2]);
}

/* Into how many blocks the positions are cut: each device's of `axes`, if there are any, else tiles. 1: whole; 0 after
 * an error, which is in *failed. */
static int64_t blocks_of(const xt_src *src, const char *name, const char *axes, bool drops, int64_t T,
                         const xt_attention_opts *o, xt_tensor *failed) {
    if (axes && !drops && T % xt_mesh_size(NULL, axes) == 0) return xt_mesh_size(NULL, axes);
    if (o->tile == 0 || (o->tile >= T && T > 0)) return 1;
    if (o->tile > 0 && T % o->tile == 0 && !drops) return T / o->tile;
    *failed = drops ? lazy_error(src, XT_INVALID_ARGUMENT,
                                 "xt_self_attention %s: .tile = %lld and .dropout = %g: tiles compute their weights "
                                 "again in the backward pass and drop none out; leave one of the two away "
                                 "(xt_dropout of what the layer gives goes with tiles)",
                                 name, (long long)o->tile, o->dropout)
                    : lazy_error(src, XT_INVALID_ARGUMENT,
                                 "xt_self_attention %s: .tile = %lld does not divide the positions T = %lld of x; 0: "
                                 "scores of all of them at once",
                                 name, (long long)o->tile, (long long)T);
    return 0;
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
    int64_t C = t->dims[2];
    const char *axes = nn_context_axes(m);
    bool drops = nn_drops(m, o.dropout);
    xt_tensor failed = {0};
    int64_t blocks = blocks_of(src, name, axes, drops, t->dims[1], &o, &failed);
    if (!blocks) return failed;
    xt_module *sub = xt_sub(m, name, -1);
    xt_tensor qkv = xt_linear_at(src, sub, "c_attn", x, 3 * C, XT_OPTS(xt_linear_opts, )), part[3];
    /* the scores, which take most of a long sequence's memory, are the module's own */
    lazy_path_push(sub ? sub->path : name);
    for (int i = 0; i < 3; i++) part[i] = split_heads(src, xt_slice_at(src, qkv, 2, i * C, (i + 1) * C), heads);
    bool divided = axes && !drops && blocks == xt_mesh_size(NULL, axes);
    xt_tensor y = blocks > 1 || divided ? nn_ring_attention(src, part, blocks, divided ? axes : NULL, o.causal == XT_ON)
                                        : self_attention(src, m, part, o.causal == XT_ON, o.dropout);
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

/* bool: true hides; floats are added. */
static xt_tensor apply_mask(const xt_src *src, xt_tensor scores, xt_tensor mask) {
    xt_dtype t = lazy_type(scores) ? xt_dtype_of(scores) : XT_F32;
    if (xt_dtype_of(mask) == XT_BOOL) return xt_where_at(src, mask, nn_number(src, -INFINITY, t), scores);
    return xt_add_at(src, scores, xt_cast_at(src, mask, t));
}

static xt_tensor mask_scores(const mha *a, xt_tensor scores) {
    const xt_src *src = a->src;
    const ir_type *t = lazy_type(scores);
    xt_tensor keys = a->o->key_padding_mask, pairs = a->o->attn_mask;
    if (!t) return scores;
    int64_t B = t->dims[0], T = t->dims[2], S = t->dims[3];
    if (a->o->causal == XT_ON) scores = mask_future(src, scores, -INFINITY);
    if (!xt_is_none(pairs)) {
        const ir_type *p = lazy_type(pairs);
        bool wide = p && p->rank == 3 && p->dims[0] == B * a->heads && p->dims[1] == T && p->dims[2] == S;
        if (!p || (!wide && (p->rank != 2 || p->dims[0] != T || p->dims[1] != S)))
            return nn_bad_input(src, "xt_multihead_attention", a->name, pairs,
                                "attn_mask must be [T,S] or [B*heads,T,S]");
        scores = apply_mask(src, scores, wide ? xt_reshape_at(src, pairs, (int64_t[END]){B, a->heads, T, S}) : pairs);
    }
    if (!xt_is_none(keys)) {
        const ir_type *k = lazy_type(keys);
        bool lone = k && k->rank == 1 && !a->batched;
        if (!k || (lone ? k->dims[0] != S : k->rank != 2 || k->dims[0] != B || k->dims[1] != S))
            return nn_bad_input(src, "xt_multihead_attention", a->name, keys, "key_padding_mask must be [B,S]");
        scores = apply_mask(src, scores, xt_reshape_at(src, keys, (int64_t[END]){B, 1, 1, S}));
    }
    return scores;
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
    xt_tensor failed, part[3];
    if (!inputs_fit(&a, tq, tk, tv, &failed)) return failed;
    if (!nn_layer_begin(src, m, name)) return nn_bad_input(src, "xt_multihead_attention", name, (xt_tensor){0}, "");
    project_all(&a, (xt_tensor[]){q, k, v}, part);
    xt_tensor p = xt_softmax_at(src, mask_scores(&a, scaled_scores(src, part[0], part[1])), -1);
    p = xt_dropout_at(src, m, p, o.dropout);
    xt_tensor y = join_heads(src, xt_matmul_at(src, p, part[2]));
    xt_tensor w = nn_tensor(src, m, name, "out_proj.weight", true, NN_UNIFORM, 1 / sqrt((double)a.E), a.d, 2,
                            (int64_t[]){a.E, a.E});
    y = xt_matmul_at(src, y, xt_transpose_at(src, w, 0, 1));
    if (o.bias != XT_OFF)
        y = xt_add_at(src, y, nn_tensor(src, m, name, "out_proj.bias", true, NN_ZEROS, 0, a.d, 1, &a.E));
    if (o.out_weights) {
        *o.out_weights = xt_mean_axis_at(src, p, 1);
        if (!a.batched) *o.out_weights = xt_squeeze_at(src, *o.out_weights, 0);
    }
    nn_layer_end();
    if (!a.batched) return xt_squeeze_at(src, y, 0);
    return o.batch_first == XT_ON ? y : xt_transpose_at(src, y, 0, 1);
}
