/* Random networks over sequences with their gradients, in the manner of random_graph.h: attention of all heads' shapes
 * (shared keys, rotations, masks of positions, of arguments and of both), scans as loops, running sums, products of
 * sizes that are packed, norms and softmaxes along either dim, gates, embeddings, casts. Values are [B, T, C]. Sizes
 * are the interpreter's: XT_CPU_SMALL=1 makes the compiler treat them as large. Everything follows from the seed. */
#ifndef XT_TESTS_RANDOM_SEQUENCE_H
#define XT_TESTS_RANDOM_SEQUENCE_H

#include "random_graph.h"

static inline int64_t dim_of(const ir_value *v, int i) {
    return v->type->dims[i];
}
static inline ir_value *splat_like(graph *g, const ir_value *x, double v) {
    return ir_splat(&g->b, x->type, v);
}
static inline ir_value *times(graph *g, ir_value *x, double v) {
    return x ? ir_multiply(&g->b, x, splat_like(g, x, v)) : NULL;
}
static inline ir_value *reshaped(graph *g, ir_value *x, size_t n, int64_t a, int64_t b, int64_t c, int64_t d) {
    return ir_reshape(&g->b, x, n, (int64_t[]){a, b, c, d});
}

/* x . w over the last dim of x, which is given to bf16 in some networks; w lies in either order. */
static inline ir_value *linear(graph *g, ir_value *x, int64_t out) {
    int64_t c = dim_of(x, 2), at = draw(g, 2), dims[2] = {at ? out : c, at ? c : out}, last = 2;
    ir_value *w = new_leaf(g, 2, dims);
    if (!x || !w) return NULL;
    w = times(g, w, 1 / sqrt((double)c));
    if (g->half) x = ir_convert(&g->b, x, XT_BF16), w = ir_convert(&g->b, w, XT_BF16);
    ir_value *y = ir_dot_general(&g->b, x, w, 0, NULL, NULL, 1, &last, &at, IR_PREC_DEFAULT);
    if (y && g->half) y = ir_convert(&g->b, y, XT_F32);
    if (!y || draw(g, 2)) return y;
    ir_value *bias = new_leaf(g, 1, &out);
    return bias ? ir_add(&g->b, y, ir_broadcast_in_dim(&g->b, bias, y->type, 1, &last)) : NULL;
}

/* What a reduction over dim d gives, for every element again. */
static inline ir_value *along(graph *g, ir_opcode code, ir_value *x, int64_t d) {
    int64_t to[4], n = 0;
    for (int64_t i = 0; x && i < x->type->rank; i++)
        if (i != d) to[n++] = i;
    ir_value *r = x ? ir_reduce(&g->b, code, x, 1, &d) : NULL;
    return r ? ir_broadcast_in_dim(&g->b, r, x->type, (size_t)n, to) : NULL;
}

static inline ir_value *softmax(graph *g, ir_value *x, int64_t d) {
    if (x && draw(g, 5)) x = ir_subtract(&g->b, x, along(g, OP_maximum, x, d));
    ir_value *e = x ? ir_exponential(&g->b, x) : NULL;
    return e ? ir_divide(&g->b, e, along(g, OP_add, e, d)) : NULL;
}

/* Layer norm, or without the mean, of features or of positions. */
static inline ir_value *normalize(graph *g, ir_value *x, int64_t d) {
    double n = (double)dim_of(x, (int)d);
    int64_t c = dim_of(x, (int)d);
    if (draw(g, 2)) x = ir_subtract(&g->b, x, times(g, along(g, OP_add, x, d), 1 / n));
    ir_value *square = x ? times(g, along(g, OP_add, ir_multiply(&g->b, x, x), d), 1 / n) : NULL;
    if (!square) return NULL;
    ir_value *y = ir_multiply(&g->b, x, ir_rsqrt(&g->b, ir_add(&g->b, square, splat_like(g, x, 0.1))));
    ir_value *scale = draw(g, 3) ? new_leaf(g, 1, &c) : NULL;
    return y && scale ? ir_multiply(&g->b, y, ir_broadcast_in_dim(&g->b, scale, y->type, 1, &d)) : y;
}

static inline ir_value *bend(graph *g, ir_value *x) {
    if (!x) return NULL;
    switch (draw(g, 5)) {
    case 0: return relu(g, x);
    case 1: return ir_tanh(&g->b, x);
    case 2: return ir_multiply(&g->b, x, ir_logistic(&g->b, x));
    case 3: return ir_select(&g->b, ir_compare(&g->b, IR_GT, x, splat_like(g, x, 0)), x, times(g, x, 0.1));
    default: { /* gelu, by tanh */
        ir_value *cube = ir_multiply(&g->b, x, ir_multiply(&g->b, x, x));
        ir_value *t = ir_tanh(&g->b, times(g, ir_add(&g->b, x, times(g, cube, 0.044715)), 0.7978845608));
        return t ? times(g, ir_multiply(&g->b, x, ir_add(&g->b, t, splat_like(g, t, 1))), 0.5) : NULL;
    }
    }
}

/* [B, T, h * d] as [B, h, T, d]. */
static inline ir_value *heads_of(graph *g, ir_value *x, int64_t h) {
    const int64_t turn[4] = {0, 2, 1, 3};
    x = x ? reshaped(g, x, 4, dim_of(x, 0), dim_of(x, 1), h, dim_of(x, 2) / h) : NULL;
    return x ? ir_transpose(&g->b, x, 4, turn) : NULL;
}

/* Positions turned, half by half, as rotary embeddings are. */
static inline ir_value *rotate(graph *g, ir_value *x) {
    int64_t t = dim_of(x, 2), d = dim_of(x, 3), start[4] = {0}, limit[4], dims[2] = {t, d};
    const int64_t to[2] = {2, 3};
    ir_value *half[2], *by[2] = {new_leaf(g, 2, dims), new_leaf(g, 2, dims)};
    if (!by[0] || !by[1] || d < 2) return x;
    for (int k = 0; k < 2; k++) {
        memcpy(limit, x->type->dims, sizeof limit);
        start[3] = k ? d / 2 : 0;
        limit[3] = k ? d : d / 2;
        half[1 - k] = ir_slice(&g->b, x, start, limit, NULL);
        by[k] = ir_broadcast_in_dim(&g->b, by[k], x->type, 2, to);
    }
    half[0] = ir_negate(&g->b, half[0]);
    return ir_add(&g->b, ir_multiply(&g->b, x, by[0]), ir_multiply(&g->b, ir_concatenate(&g->b, 2, half, 3), by[1]));
}

static inline ir_value *hide(graph *g, ir_value *scores) {
    const ir_type *t = scores->type;
    const int64_t pair[2] = {2, 3}, side[2] = {t->dims[2], t->dims[3]};
    int64_t kind = draw(g, 6);
    if (kind < 2) return scores;
    ir_value *see = NULL;
    if (kind != 2) { /* what came before, or lies near */
        ir_value *i = ir_iota(&g->b, ir_tensor(XT_I32, 2, side), 0), *j = ir_iota(&g->b, ir_tensor(XT_I32, 2, side), 1);
        see = ir_compare(&g->b, IR_GE, i, j);
        if (see && kind == 5)
            see = ir_and(&g->b, see, ir_compare(&g->b, IR_LT, ir_subtract(&g->b, i, j), ir_splat(&g->b, i->type, 5)));
        see = see ? ir_broadcast_in_dim(&g->b, see, ir_tensor(XT_BOOL, 4, t->dims), 2, pair) : NULL;
        scores = see ? ir_select(&g->b, see, scores, splat_like(g, scores, draw(g, 2) ? -1e30 : -INFINITY)) : NULL;
    }
    if (kind == 3 || !scores) return scores;
    ir_value *bias = new_leaf(g, 2, side);
    return bias ? ir_add(&g->b, scores, ir_broadcast_in_dim(&g->b, bias, t, 2, pair)) : NULL;
}

static inline ir_value *attention(graph *g, ir_value *x) {
    int64_t h = (int64_t)1 << draw(g, 3), d = 2 + 2 * draw(g, 3), kv = draw(g, 3) ? h : 1, b = dim_of(x, 0);
    const int64_t batch[2] = {0, 1}, last = 3, second = 2, turn[4] = {0, 2, 1, 3}, to[4] = {0, 2, 3, 4};
    ir_value *q = heads_of(g, linear(g, x, h * d), h), *k = heads_of(g, linear(g, x, kv * d), kv);
    ir_value *v = heads_of(g, linear(g, x, kv * d), kv);
    if (!q || !k || !v) return NULL;
    if (draw(g, 3) == 0 && g->n_leaves + 8 < GRAPH_LEAVES) q = rotate(g, q), k = k ? rotate(g, k) : NULL;
    int64_t t = dim_of(x, 1), wide[5] = {b, kv, h / kv, t, d};
    for (int i = 0; i < 2 && kv != h && k && v; i++) { /* each key serves several heads */
        ir_value **w = i ? &v : &k;
        const int64_t skip[4] = {to[0], 1, to[2], to[3]};
        *w = ir_broadcast_in_dim(&g->b, *w, ir_tensor(XT_F32, 5, wide), 4, skip);
        *w = *w ? reshaped(g, *w, 4, b, h, t, d) : NULL;
    }
    ir_value *s = q && k ? ir_dot_general(&g->b, q, k, 2, batch, batch, 1, &last, &last, IR_PREC_DEFAULT) : NULL;
    s = s ? hide(g, times(g, s, 1 / sqrt((double)d))) : NULL;
    ir_value *p = s ? softmax(g, s, 3) : NULL;
    ir_value *y = p && v ? ir_dot_general(&g->b, p, v, 2, batch, batch, 1, &last, &second, IR_PREC_DEFAULT) : NULL;
    y = y ? ir_transpose(&g->b, y, 4, turn) : NULL;
    y = y ? ir_reshape(&g->b, y, 3, (int64_t[]){b, t, h * d}) : NULL;
    return y ? linear(g, y, dim_of(x, 2)) : NULL;
}

/* h = tanh(x[:, t] + h w) for each t, as a loop that keeps all h; from either end. */
static inline ir_value *recurrence(graph *g, ir_value *x) {
    int64_t b = dim_of(x, 0), t = dim_of(x, 1), c = dim_of(x, 2), square[2] = {c, c}, start[3] = {0};
    const int64_t limit[3] = {b, 1, c}, one[3] = {b, 1, c}, in = 1, at = 0;
    bool back = draw(g, 2);
    ir_value *w = new_leaf(g, 2, square), *first = ir_slice(&g->b, x, start, limit, NULL);
    if (!w || !first) return NULL;
    const ir_type *number = ir_scalar(XT_I32);
    ir_value *init[3] = {ir_splat(&g->b, number, 0), times(g, ir_reshape(&g->b, first, 2, (int64_t[]){b, c}), 0.5),
                         times(g, x, 0)};
    ir_block *cond = ir_block_new(g->b.m), *body = ir_block_new(g->b.m);
    if (!cond || !body || !init[0] || !init[1] || !init[2]) return NULL;
    ir_builder k = ir_at_end(g->b.m, cond), l = ir_at_end(g->b.m, body);
    for (int i = 0; i < 3; i++) {
        if (!ir_block_arg(g->b.m, cond, init[i]->type) || !ir_block_arg(g->b.m, body, init[i]->type)) return NULL;
    }
    ir_value *more = ir_compare(&k, IR_LT, cond->args[0], ir_splat(&k, number, (double)t));
    ir_return(&k, 1, &more);
    ir_value *i = body->args[0], *h = body->args[1], *zero = ir_splat(&l, number, 0);
    ir_value *where[3] = {zero, back ? ir_subtract(&l, ir_splat(&l, number, (double)(t - 1)), i) : i, zero};
    ir_value *xt = ir_reshape(&l, ir_dynamic_slice(&l, x, 3, where, one), 2, (int64_t[]){b, c});
    ir_value *hw = ir_dot_general(&l, h, ir_multiply(&l, w, ir_splat(&l, w->type, 1 / sqrt((double)c))), 0, NULL, NULL,
                                  1, &in, &at, IR_PREC_DEFAULT);
    h = ir_tanh(&l, ir_add(&l, xt, hw));
    ir_value *next[3] = {ir_add(&l, i, ir_splat(&l, number, 1)), h,
                         h ? ir_dynamic_update_slice(&l, body->args[2], ir_reshape(&l, h, 3, one), 3, where) : NULL};
    ir_return(&l, 3, next);
    g->b.status = g->b.status ? g->b.status : k.status ? k.status : l.status;
    ir_op *loop = ir_build(&g->b, OP_while, 3, init, 0, NULL, 2, (ir_block *[]){cond, body}, 0, NULL);
    return loop ? &loop->out[2] : NULL;
}

static inline ir_value *running(graph *g, ir_value *x) {
    int64_t d = 1 + draw(g, 2), window[3] = {1, 1, 1}, low[3] = {0}, high[3] = {0};
    window[d] = dim_of(x, (int)d);
    (draw(g, 2) ? low : high)[d] = window[d] - 1;
    ir_value *y = ir_reduce_window(&g->b, draw(g, 4) ? OP_add : OP_maximum, x, window, (int64_t[]){1, 1, 1}, low, high,
                                   NULL, NULL);
    return times(g, y, 1 / sqrt((double)window[d]));
}

/* Other positions, fewer or more of them or of the features; put back to what they were by a sum over them, so that
 * later values fit each other. */
static inline ir_value *move(graph *g, ir_value *x) {
    int64_t start[3] = {0}, limit[3], d = 1 + draw(g, 2), n = dim_of(x, (int)d), by = 1 + draw(g, n > 2 ? n - 1 : 1);
    const int64_t turn[3] = {0, 2, 1}, none[3] = {0};
    ir_value *part[2];
    memcpy(limit, x->type->dims, sizeof limit);
    switch (draw(g, 4)) {
    case 0: return ir_reverse(&g->b, x, 1, &d);
    case 1: /* rolled */
        if (n < 2) return x;
        by = by < n ? by : n - 1;
        start[d] = by;
        part[0] = ir_slice(&g->b, x, start, limit, NULL);
        start[d] = 0, limit[d] = by;
        part[1] = ir_slice(&g->b, x, start, limit, NULL);
        return ir_concatenate(&g->b, 2, part, d);
    case 2: /* shifted, with zeros or others coming in */
        if (n < 2) return x;
        limit[d] = n - 1;
        start[d] = 1;
        part[0] = ir_slice(&g->b, x, (int64_t[]){0, 0, 0}, limit, NULL);
        return part[0]
                   ? ir_pad(&g->b, part[0], ir_splat(&g->b, ir_scalar(XT_F32), draw(g, 2) ? 0 : 0.5), start, none, none)
                   : NULL;
    default: /* a layer over positions */
        x = ir_transpose(&g->b, x, 3, turn);
        x = x ? linear(g, x, dim_of(x, 2)) : NULL;
        return x ? ir_transpose(&g->b, bend(g, x), 3, turn) : NULL;
    }
}

/* Rows of a table by numbers that the program is given; the gradient is a scatter. */
static inline ir_value *embed(graph *g, int64_t b, int64_t t, int64_t c) {
    const int64_t many[3] = {b, t, 1}, table[2] = {5, c}, offset = 2, collapsed = 0, sizes[2] = {1, c};
    const ir_gather_dims dims = {.n_offset = 1,
                                 .n_collapsed = 1,
                                 .n_index_map = 1,
                                 .offset = &offset,
                                 .collapsed = &collapsed,
                                 .index_map = &collapsed,
                                 .index_vector_dim = 2};
    ir_value *index = ir_func_arg(g->f, ir_tensor(XT_I32, 3, many)), *rows = new_leaf(g, 2, table);
    return index && rows ? ir_gather(&g->b, rows, index, &dims, sizes, false) : NULL;
}

static inline ir_value *other(graph *g, const ir_value *x) {
    for (int tries = 0; tries < 12; tries++) {
        ir_value *w = g->image[draw(g, (int64_t)g->n)];
        if (w != x && w->type == x->type) return w;
    }
    return NULL;
}

static inline ir_value *sequence_layer(graph *g, ir_value *x) {
    int64_t c = dim_of(x, 2), wide = c * (1 + draw(g, 3));
    ir_value *y = NULL, *mate = other(g, x);
    switch (draw(g, 16)) {
    case 0:
    case 1:
    case 2: y = attention(g, x); break;
    case 3:
    case 4: return bend(g, linear(g, x, c));
    case 5:
    case 6: /* a feed-forward block */
        y = bend(g, linear(g, x, wide > 64 ? c : wide));
        y = y ? linear(g, y, c) : NULL;
        break;
    case 7: /* with a gate */
        y = linear(g, x, c);
        y = y ? ir_multiply(&g->b, y, ir_logistic(&g->b, linear(g, x, c))) : NULL;
        break;
    case 8:
    case 9: return normalize(g, x, 2);
    case 10: return normalize(g, x, 1);
    case 11: return recurrence(g, x);
    case 12: return running(g, x);
    case 13: return move(g, x);
    case 14: return draw(g, 2) ? softmax(g, x, 1 + draw(g, 2)) : ir_multiply(&g->b, x, along(g, OP_maximum, x, 1));
    default: return ir_convert(&g->b, ir_convert(&g->b, x, draw(g, 2) ? XT_BF16 : XT_F64), XT_F32);
    }
    return y && draw(g, 3) ? ir_add(&g->b, y, mate ? mate : x) : y;
}

/* The program of a seed, in text; *out_half: values are rounded to bf16 on the way. */
static inline xt_status random_sequence(uint64_t seed, str *out, bool *out_half) {
    static const int64_t features[] = {8, 16, 32, 4, 24, 48, 12, 5, 33}, lengths[] = {16, 24, 32, 40, 17, 8, 3, 64};
    graph g = {.seed = seed};
    ir_module *m = ir_module_new();
    if (!m || !(g.f = ir_func_new(m, "main", true))) return status_oom(0, "a test");
    g.b = ir_at_end(m, ir_func_block(g.f));
    g.half = draw(&g, 4) == 0;
    int64_t c = features[draw(&g, (int64_t)BASE_COUNT(features))], t = lengths[draw(&g, (int64_t)BASE_COUNT(lengths))];
    int64_t dims[3] = {1 + draw(&g, 3), t, c}, layers = 1 + draw(&g, 5);
    keep(&g, draw(&g, 4) ? new_leaf(&g, 3, dims) : embed(&g, dims[0], t, c));
    for (int64_t i = 0; i < layers && g.n_leaves + 16 < GRAPH_LEAVES; i++)
        keep(&g, sequence_layer(&g, draw(&g, 4) ? g.image[g.n - 1] : g.image[draw(&g, (int64_t)g.n)]));
    return graph_text(&g, m, out, out_half);
}

#endif
