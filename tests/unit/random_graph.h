/* Random image networks with their gradients: convolutions (strides, groups, depthwise, transposed), batch norms, relu
 * and other masks, concatenations, slices, pads, sums, pooling, reshapes, reductions and casts, in either order of
 * dims, as a training step records them. Everything follows from the seed. */
#ifndef XT_TESTS_RANDOM_GRAPH_H
#define XT_TESTS_RANDOM_GRAPH_H

#include <math.h>

#include "base/base.h"
#include "grad/grad.h"

enum { GRAPH_VALUES = 64, GRAPH_LEAVES = 40 };
#define GRAPH_PRODUCTS 4e5 /* of one convolution: the interpreter makes some million a second */

typedef struct graph {
    ir_builder b;
    ir_func *f;
    uint64_t seed, at;
    bool last, half; /* features last; convolutions of bf16 */
    bool narrow; /* few features of many images: what gains by the batch as the innermost dim */
    ir_value *image[GRAPH_VALUES]; /* made so far, rank 4, f32 */
    size_t n;
    ir_value *leaf[GRAPH_LEAVES];
    size_t n_leaves;
} graph;

static inline int64_t draw(graph *g, int64_t n) {
    return (int64_t)(rng_bits(g->seed, 11, g->at++) % (uint64_t)n);
}
static inline int feature_dim(const graph *g) {
    return g->last ? 3 : 1;
}
static inline int space_dim(const graph *g, int i) {
    return g->last ? 1 + i : 2 + i;
}
static inline ir_value *new_leaf(graph *g, size_t rank, const int64_t *dims) {
    if (g->n_leaves == GRAPH_LEAVES) return NULL;
    ir_value *v = ir_func_arg(g->f, ir_tensor(XT_F32, (uint32_t)rank, dims));
    if (v) v->user = 1;
    return g->leaf[g->n_leaves++] = v;
}
static inline ir_value *keep(graph *g, ir_value *v) {
    if (v && g->n < GRAPH_VALUES) g->image[g->n++] = v;
    return v;
}
/* Another image of v's dims (of dims up to features with `features`), or one made of v. */
static inline ir_value *mate(graph *g, ir_value *v, bool features) {
    for (int tries = 0; tries < 12; tries++) {
        ir_value *w = g->image[draw(g, (int64_t)g->n)];
        bool same = w != v;
        for (int i = 0; i < 4; i++)
            same = same && (w->type->dims[i] == v->type->dims[i] || (features && i == feature_dim(g)));
        if (same) return w;
    }
    return draw(g, 2) ? ir_tanh(&g->b, v) : ir_reverse(&g->b, v, 1, (int64_t[]){space_dim(g, 0)});
}

static inline ir_value *convolve(graph *g, ir_value *x) {
    static const int64_t widths[] = {16, 32, 8, 24, 5, 1, 48, 64, 16};
    const int64_t *d = x->type->dims, c = d[feature_dim(g)], in[2] = {d[space_dim(g, 0)], d[space_dim(g, 1)]};
    int64_t k = draw(g, 3) ? 1 : 3, stride = draw(g, 4) == 0 && in[0] > 3 && in[1] > 3 ? 2 : 1, groups = 1;
    int64_t out = draw(g, 3) ? widths[draw(g, (int64_t)BASE_COUNT(widths))] : c;
    if (g->narrow) k = 3, out = 2 + draw(g, 7);
    if (draw(g, 4) == 0 && !g->narrow) groups = draw(g, 2) || c % 2 ? c : 2;
    if (groups == c && c > 1) out = c * (draw(g, 3) ? 1 : 2);
    if (groups == 2 && out % 2) out++;
    if (out > 64) out = c;
    if ((double)(d[0] * in[0] * in[1] * c / groups * out * k * k) > GRAPH_PRODUCTS && !g->narrow) k = 1;
    if ((double)(d[0] * in[0] * in[1] * c / groups * out) > GRAPH_PRODUCTS) out = groups = c;
    int64_t shape[4] = {out, c / groups, k, k}, lasts[4] = {k, k, c / groups, out};
    const int64_t first_space[2] = {2, 3}, last_space[2] = {1, 2}, kernel_space[2] = {0, 1};
    const int64_t strides[2] = {stride, stride}, pad[2] = {k / 2, k / 2};
    ir_conv_dims dims = {.lhs_feature = feature_dim(g), .out_feature = feature_dim(g), .n_spatial = 2};
    dims.rhs_in = g->last ? 2 : 1;
    dims.rhs_out = g->last ? 3 : 0;
    dims.lhs_spatial = dims.out_spatial = g->last ? last_space : first_space;
    dims.rhs_spatial = g->last ? kernel_space : first_space;
    dims.strides = strides;
    dims.pad_low = dims.pad_high = pad;
    dims.feature_groups = groups;
    /* A transposed one: zeros between the pixels, out to twice their number. */
    bool spread = k == 3 && stride == 1 && draw(g, 4) == 0 && in[0] <= 4 && in[1] <= 4;
    const int64_t twice[2] = {2, 2}, one_more[2] = {2, 2};
    if (spread) dims.lhs_dilation = twice, dims.pad_high = one_more;
    ir_value *w = new_leaf(g, 4, g->last ? lasts : shape);
    if (!w) return NULL;
    w = ir_multiply(&g->b, w,
                    ir_splat(&g->b, w->type, 1 / sqrt((double)(c / groups * k * k)))); /* results stay near 1 */
    if (!g->half) return ir_convolution(&g->b, x, w, &dims, IR_PREC_DEFAULT);
    ir_value *y =
        ir_convolution(&g->b, ir_convert(&g->b, x, XT_BF16), ir_convert(&g->b, w, XT_BF16), &dims, IR_PREC_DEFAULT);
    return ir_convert(&g->b, y, XT_F32);
}

static inline ir_value *normalize_batch(graph *g, ir_value *x) {
    int64_t c = x->type->dims[feature_dim(g)];
    ir_value *scale = new_leaf(g, 1, &c), *offset = new_leaf(g, 1, &c), *out[3] = {NULL, NULL, NULL};
    if (!scale || !offset) return NULL;
    /* A large epsilon, for features that are the same everywhere. */
    if (draw(g, 6) == 0)
        return ir_batch_norm_inference(&g->b, x, scale, offset, offset, ir_multiply(&g->b, scale, scale), 0.1f,
                                       feature_dim(g));
    return ir_batch_norm_training(&g->b, x, scale, offset, 0.1f, feature_dim(g), out) ? out[0] : NULL;
}

static inline ir_value *relu(graph *g, ir_value *x) {
    return ir_maximum(&g->b, x, ir_splat(&g->b, x->type, 0));
}

/* Part of an image: features, every other feature, or space. */
static inline ir_value *cut(graph *g, ir_value *x) {
    int64_t start[4] = {0}, limit[4], stride[4] = {1, 1, 1, 1}, f = feature_dim(g), s = space_dim(g, (int)draw(g, 2));
    memcpy(limit, x->type->dims, sizeof limit);
    int64_t c = limit[f];
    switch (draw(g, 4)) {
    case 0: start[f] = c / 2; break;
    case 1: limit[f] = c / 2 ? c / 2 : 1; break;
    case 2: stride[f] = c > 1 ? 2 : 1; break;
    default: start[s] = limit[s] > 3 ? draw(g, 2) : 0; limit[s] -= limit[s] > 3 ? 1 : 0;
    }
    return ir_slice(&g->b, x, start, limit, stride);
}

static inline ir_value *grow(graph *g, ir_value *x) {
    int64_t low[4] = {0}, high[4] = {0}, none[4] = {0}, f = feature_dim(g), c = x->type->dims[f];
    if (draw(g, 2) && c <= 32)
        *(draw(g, 2) ? &low[f] : &high[f]) = c;
    else
        low[space_dim(g, 0)] = 1, high[space_dim(g, 1)] = draw(g, 2);
    return ir_pad(&g->b, x, ir_splat(&g->b, ir_scalar(XT_F32), draw(g, 2) ? 0 : 0.5), low, high, none);
}

static inline ir_value *pool(graph *g, ir_value *x) {
    int64_t window[4] = {1, 1, 1, 1}, step[4] = {1, 1, 1, 1}, low[4] = {0}, high[4] = {0}, size = 2 + draw(g, 2);
    bool small = x->type->dims[space_dim(g, 0)] < 4 || x->type->dims[space_dim(g, 1)] < 4, average = draw(g, 3) == 0;
    for (int i = 0; i < 2; i++) {
        int s = space_dim(g, i);
        window[s] = size;
        step[s] = small || draw(g, 2) ? 1 : 2;
        low[s] = size / 2;
        high[s] = (size - 1) / 2;
    }
    ir_value *y = ir_reduce_window(&g->b, average ? OP_add : OP_maximum, x, window, step, low, high, NULL, NULL);
    return y && average ? ir_multiply(&g->b, y, ir_splat(&g->b, y->type, 1.0 / (double)(size * size))) : y;
}

/* Groups of features exchanged, by two reshapes and a transpose. */
static inline ir_value *shuffle(graph *g, ir_value *x) {
    const int64_t *d = x->type->dims, c = d[feature_dim(g)], k = c % 4 == 0 && draw(g, 2) ? 4 : c % 2 ? 1 : 2;
    int64_t first[5] = {d[0], k, c / k, d[2], d[3]}, last[5] = {d[0], d[1], d[2], k, c / k};
    ir_value *y = ir_reshape(&g->b, x, 5, g->last ? last : first);
    const int64_t turn_first[5] = {0, 2, 1, 3, 4}, turn_last[5] = {0, 1, 2, 4, 3};
    y = ir_transpose(&g->b, y, 5, g->last ? turn_last : turn_first);
    return ir_reshape(&g->b, y, 4, d);
}

/* Features weighted by what they are on average, per image. */
static inline ir_value *excite(graph *g, ir_value *x) {
    const int64_t space[2] = {space_dim(g, 0), space_dim(g, 1)}, to[2] = {0, feature_dim(g)};
    double n = (double)(x->type->dims[space[0]] * x->type->dims[space[1]]);
    ir_value *sum = ir_reduce(&g->b, OP_add, x, 2, space);
    if (!sum) return NULL;
    ir_value *gate = ir_logistic(&g->b, ir_multiply(&g->b, sum, ir_splat(&g->b, sum->type, 1 / n)));
    return ir_multiply(&g->b, x, ir_broadcast_in_dim(&g->b, gate, x->type, 2, to));
}

static inline ir_value *flatten(graph *g, ir_value *x) { /* a loop in between works on rows */
    const int64_t *d = x->type->dims, rows[2] = {d[0], d[1] * d[2] * d[3]};
    return ir_reshape(&g->b, ir_tanh(&g->b, ir_reshape(&g->b, x, 2, rows)), 4, d);
}

static inline ir_value *layer(graph *g, ir_value *x) {
    int64_t f = feature_dim(g), c = x->type->dims[f];
    ir_value *y, *two[2];
    switch (draw(g, g->narrow ? 12 : 22)) {
    case 0:
    case 1: return convolve(g, x);
    case 2:
    case 3: return (y = convolve(g, x)) ? normalize_batch(g, y) : NULL;
    case 4:
    case 5:
    case 6:
    case 7: return (y = convolve(g, x)) && (y = normalize_batch(g, y)) ? relu(g, y) : NULL;
    case 8:
        return (y = convolve(g, x)) && (y = normalize_batch(g, y)) ? relu(g, ir_add(&g->b, y, mate(g, y, false)))
                                                                   : NULL;
    case 9: return normalize_batch(g, x);
    case 10: return relu(g, x);
    case 11:
        return ir_select(&g->b, ir_compare(&g->b, IR_GT, x, ir_splat(&g->b, x->type, 0)), mate(g, x, false),
                         draw(g, 2) ? x : ir_splat(&g->b, x->type, 0));
    case 12:
    case 13:
        two[0] = x;
        two[1] = mate(g, x, true);
        if (!two[1] || c + two[1]->type->dims[f] > 64) return NULL;
        return ir_concatenate(&g->b, 2, two, f);
    case 14: return cut(g, x);
    case 15: return grow(g, x);
    case 16: return ir_add(&g->b, x, mate(g, x, false));
    case 17: return pool(g, x);
    case 18: return shuffle(g, x);
    case 19: return excite(g, x);
    case 20: return draw(g, 2) ? flatten(g, x) : ir_reverse(&g->b, x, 1, &f);
    default: return ir_convert(&g->b, ir_convert(&g->b, x, g->half ? XT_BF16 : XT_F64), XT_F32);
    }
}

static inline bool flows_into(const ir_value *v, void *user) {
    (void)user;
    return v->user != 0;
}

/* Gradients of the last image by all leaves, and the end of the function. */
static inline xt_status finish_graph(graph *g) {
    ir_value *root = g->image[g->n - 1], *out[GRAPH_LEAVES + 3] = {0}, *seed = ir_func_arg(g->f, root->type);
    size_t n = 0;
    for (ir_op *op = g->b.block->first; op; op = op->next) {
        bool any = false;
        for (uint32_t i = 0; i < op->n_in; i++) any |= op->in[i]->user != 0;
        for (uint32_t i = 0; i < op->n_out; i++) op->out[i].user = any;
    }
    XT_TRY(grad_reverse(&g->b, root, seed, g->n_leaves, g->leaf, flows_into, NULL, out));
    for (size_t i = 0; i < g->n_leaves; i++)
        if (out[i]) out[n++] = out[i];
    if (draw(g, 3) || !n) out[n++] = root;
    if (draw(g, 4) == 0) out[n++] = g->image[draw(g, (int64_t)g->n)];
    ir_return(&g->b, n, out);
    xt_status s = g->b.status;
    g->b.status = NULL;
    return s;
}

/* What has been made, with its gradients, as text; the module goes. */
static inline xt_status graph_text(graph *g, ir_module *m, str *out, bool *out_half) {
    xt_status s = g->b.status ? g->b.status : finish_graph(g);
    if (!s) s = ir_verify(m);
    if (!s) s = ir_print(m, 0, out);
    *out_half = g->half;
    ir_module_free(m);
    return s;
}

/* The program of a seed, in text; *out_half: values are rounded to bf16 on the way. */
static inline xt_status random_graph(uint64_t seed, str *out, bool *out_half) {
    static const int64_t features[] = {16, 32, 8, 3, 24, 1, 64, 16, 48}, batches[] = {1, 2, 3, 4, 5, 2, 1, 16};
    graph g = {.seed = seed};
    ir_module *m = ir_module_new();
    if (!m || !(g.f = ir_func_new(m, "main", true))) return status_oom(0, "a test");
    g.b = ir_at_end(m, ir_func_block(g.f));
    g.last = draw(&g, 4) == 0;
    g.half = draw(&g, 4) == 0;
    int64_t n = batches[draw(&g, (int64_t)BASE_COUNT(batches))], c = features[draw(&g, (int64_t)BASE_COUNT(features))];
    g.narrow = draw(&g, 6) == 0;
    if (g.narrow) n = draw(&g, 3) ? 16 : 4 + draw(&g, 14), c = 2 + draw(&g, 4);
    int64_t h = 2 + draw(&g, 6), w = 2 + draw(&g, 6), first[4] = {n, c, h, w}, last[4] = {n, h, w, c};
    keep(&g, new_leaf(&g, 4, g.last ? last : first));
    int64_t layers = 2 + draw(&g, 8);
    for (int64_t i = 0; i < layers && g.n_leaves + 4 < GRAPH_LEAVES; i++)
        keep(&g, layer(&g, draw(&g, 4) ? g.image[g.n - 1] : g.image[draw(&g, (int64_t)g.n)]));
    return graph_text(&g, m, out, out_half);
}

#endif
