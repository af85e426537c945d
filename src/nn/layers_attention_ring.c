/* Attention over a sequence that is divided over devices (ring attention: Liu, Zaharia and Abbeel 2023). Queries stay
 * where they are; keys and values are handed round, and each device puts together what it has seen of them with the
 * running softmax (Milakov and Gimelshein 2018). No device ever has more than its queries' scores for one device's
 * keys: [T/n, T/n] instead of [T, T].
 *
 * A turn is an iteration of a loop, so that one block of scores is alive at a time.
 *
 * It is a program for all devices together as everything else: [B,H,T,D] becomes [B,H,n,t,D], whose dim 2 the mesh
 * divides, and "handed round" is turning that dim by one, which the compiler makes a collective_permute (ours:
 * pass/spmd_turn.c; XLA knows the same pattern). All else happens within one place of dim 2.
 *
 * The derivative computes scores again, as FlashAttention's does (Dao et al. 2022): with p = exp(s - lse),
 *   dv = p^T dy,  ds = p (dy v^T - sum dy y) scale,  dq = ds k,  dk = ds^T q,
 * where sums for keys and values go round with them and are home after n turns. */
#include <math.h>

#include "lazy/mesh/mesh.h"
#include "nn/nn.h"

enum { BLOCK = 2, ROW = 3, LAST = 4, RANK = 5 }; /* dims of [B,H,n,t,D] and of scores [B,H,n,t,t] */

typedef struct ring {
    ir_builder *b;
    int64_t n;
    double scale;
    bool causal;
} ring;

/* What place i has goes to place i + 1. */
static ir_value *turned(const ring *r, ir_value *x) {
    if (!x) return NULL;
    int64_t low[RANK] = {0}, high[RANK], cut[RANK] = {0};
    memcpy(high, x->type->dims, sizeof high);
    cut[BLOCK] = r->n - 1;
    ir_value *last = ir_slice(r->b, x, cut, high, NULL);
    high[BLOCK] = r->n - 1;
    ir_value *both[] = {last, ir_slice(r->b, x, low, high, NULL)};
    return ir_concatenate(r->b, 2, both, BLOCK);
}

/* Products over the dims x_dim and y_dim, at each place apart: [B,H,n,rest of x,rest of y]. */
static ir_value *product(const ring *r, ir_value *x, ir_value *y, int64_t x_dim, int64_t y_dim) {
    static const int64_t batch[] = {0, 1, BLOCK};
    return x && y ? ir_dot_general(r->b, x, y, 3, batch, batch, 1, &x_dim, &y_dim, IR_PREC_DEFAULT) : NULL;
}

static ir_value *wide(const ring *r, ir_value *v) {
    return v ? ir_convert(r->b, v, XT_F32) : NULL;
}
/* [B,H,n,t] at the shape of `like`. */
static ir_value *spread(const ring *r, ir_value *v, const ir_value *like) {
    static const int64_t dims[] = {0, 1, BLOCK, ROW};
    return v && like ? ir_broadcast_in_dim(r->b, v, ir_with_dtype(like->type, v->type->dtype), 4, dims) : NULL;
}
static ir_value *over_last(const ring *r, ir_opcode code, ir_value *v) {
    static const int64_t last = LAST;
    return v ? ir_reduce(r->b, code, v, 1, &last) : NULL;
}
static ir_value *times(const ring *r, ir_value *v, double k) {
    return v ? ir_multiply(r->b, v, ir_splat(r->b, v->type, k)) : NULL;
}

/* q k^T scale, f32, after `turn` (i32) turns of k: place i has then the keys of place i - turn. What may not be seen is
 * -inf: keys of places behind its own, and of its own (turn 0) what comes later. */
static ir_value *scores(const ring *r, ir_value *q, ir_value *k, ir_value *turn) {
    ir_builder *b = r->b;
    ir_value *s = times(r, wide(r, product(r, q, k, LAST, LAST)), r->scale);
    if (!s || !r->causal) return s;
    const ir_type *index = ir_with_dtype(s->type, XT_I32);
    ir_value *turns = ir_broadcast_scalar(b, turn, index),
             *before = ir_compare(b, IR_GE, ir_iota(b, index, BLOCK), turns);
    ir_value *rows = turns ? times(r, turns, (double)s->type->dims[ROW]) : NULL;
    ir_value *earlier =
        rows ? ir_compare(b, IR_GE, ir_add(b, rows, ir_iota(b, index, ROW)), ir_iota(b, index, LAST)) : NULL;
    ir_value *seen = before && earlier ? ir_and(b, before, earlier) : NULL;
    return seen ? ir_select(b, seen, s, ir_splat(b, s->type, -INFINITY)) : NULL;
}

/* --- n turns --- */
enum { TURN, KEYS, VALUES, SUMS, STATE = SUMS + 3 }; /* what a loop carries: both have three sums */
typedef struct fixed { /* what stays where it is */
    ir_value *q, *dy, *lse, *delta;
} fixed;
typedef void (*turn_fn)(const ring *r, const fixed *f, ir_value *const *state, ir_value **next);

static ir_builder new_block(const ring *r, ir_value *const *state) {
    ir_block *block = ir_block_new(r->b->m);
    for (int i = 0; block && i < STATE; i++)
        if (!ir_block_arg(r->b->m, block, state[i]->type)) block = NULL;
    ir_builder b = *r->b;
    if (block) b = ir_at_end(r->b->m, block);
    b.src = r->b->src;
    b.path = r->b->path;
    b.block = block;
    return b;
}

/* state[KEYS] and [VALUES] are what goes round; the sums, [SUMS] on, begin as they are given. */
static const ir_op *turns(const ring *r, const fixed *f, turn_fn one_turn, ir_value **state) {
    ir_value *next[STATE] = {0};
    state[TURN] = ir_splat(r->b, ir_scalar(XT_I32), 0);
    for (int i = 0; i < STATE; i++)
        if (!state[i]) return NULL;
    ir_builder cond = new_block(r, state), body = new_block(r, state);
    if (!cond.block || !body.block) return NULL;
    ir_value *more = ir_compare(&cond, IR_LT, cond.block->args[TURN], ir_splat(&cond, state[TURN]->type, (double)r->n));
    if (more) ir_return(&cond, 1, &more);
    ring inside = *r;
    inside.b = &body;
    one_turn(&inside, f, body.block->args, next);
    next[TURN] = ir_add(&body, body.block->args[TURN], ir_splat(&body, state[TURN]->type, 1));
    next[KEYS] = turned(&inside, body.block->args[KEYS]);
    next[VALUES] = turned(&inside, body.block->args[VALUES]);
    for (int i = 0; i < STATE; i++)
        if (!next[i]) return NULL;
    ir_return(&body, STATE, next);
    if (cond.status || body.status) {
        xt_status_free(cond.status ? body.status : NULL);
        if (!r->b->status) r->b->status = cond.status ? cond.status : body.status;
        return NULL;
    }
    return ir_build(r->b, OP_while, STATE, state, 0, NULL, 2, (ir_block *[]){cond.block, body.block}, 0, NULL);
}

/* --- forward --- */
enum { MAX = SUMS, SUM, Y }; /* [B,H,n,t], [B,H,n,t], [B,H,n,t,D], f32 */

/* In the first turn each row sees itself, so its largest score is finite from there on. */
static void look(const ring *r, const fixed *f, ir_value *const *state, ir_value **next) {
    ir_builder *b = r->b;
    ir_value *v = state[VALUES], *s = scores(r, f->q, state[KEYS], state[TURN]), *most = over_last(r, OP_maximum, s);
    next[MAX] = most ? ir_maximum(b, state[MAX], most) : NULL;
    ir_value *p = next[MAX] ? ir_exponential(b, ir_subtract(b, s, spread(r, next[MAX], s))) : NULL;
    ir_value *sum = over_last(r, OP_add, p);
    ir_value *y = sum ? wide(r, product(r, ir_convert(b, p, v->type->dtype), v, LAST, ROW)) : NULL;
    if (!y) return;
    ir_value *keeps = ir_exponential(b, ir_subtract(b, state[MAX], next[MAX]));
    next[SUM] = ir_add(b, ir_multiply(b, state[SUM], keeps), sum);
    next[Y] = ir_add(b, ir_multiply(b, state[Y], spread(r, keeps, y)), y);
}

static bool forward(const ring *r, ir_value *q, ir_value *k, ir_value *v, ir_value **out_y, ir_value **out_lse) {
    ir_builder *b = r->b;
    const ir_type *y = ir_with_dtype(v->type, XT_F32), *row = ir_tensor(XT_F32, LAST, q->type->dims);
    ir_value *state[STATE] = { [KEYS] = k, [VALUES] = v };
    state[MAX] = ir_splat(b, row, -INFINITY), state[SUM] = ir_splat(b, row, 0), state[Y] = ir_splat(b, y, 0);
    const ir_op *loop = turns(r, &(fixed){.q = q}, look, state);
    if (!loop) return false;
    ir_value *sum = (ir_value *)&loop->out[SUM], *all = (ir_value *)&loop->out[Y];
    ir_value *mean = ir_divide(b, all, spread(r, sum, all));
    *out_y = mean ? ir_convert(b, mean, q->type->dtype) : NULL;
    *out_lse = ir_add(b, (ir_value *)&loop->out[MAX], ir_log(b, sum));
    return *out_y && *out_lse;
}

/* --- backward --- */
enum { DQ = SUMS, DK, DV }; /* f32 */

static ring ring_of(ir_builder *b, const ir_type *q, bool causal) {
    return (ring){b, q->dims[BLOCK], 1 / sqrt((double)(q->dims[LAST] > 0 ? q->dims[LAST] : 1)), causal};
}

static ir_value *added(const ring *r, ir_value *sum, ir_value *more) {
    return more ? ir_add(r->b, sum, wide(r, more)) : NULL;
}

static void look_back(const ring *r, const fixed *f, ir_value *const *state, ir_value **next) {
    ir_builder *b = r->b;
    xt_dtype t = f->q->type->dtype;
    ir_value *s = scores(r, f->q, state[KEYS], state[TURN]);
    ir_value *p = s ? ir_exponential(b, ir_subtract(b, s, spread(r, f->lse, s))) : NULL;
    ir_value *dp = wide(r, product(r, f->dy, state[VALUES], LAST, LAST));
    ir_value *left = p && dp ? ir_multiply(b, p, ir_subtract(b, dp, spread(r, f->delta, dp))) : NULL;
    ir_value *ds = left ? ir_convert(b, times(r, left, r->scale), t) : NULL;
    if (!ds) return;
    next[DQ] = added(r, state[DQ], product(r, ds, state[KEYS], LAST, ROW));
    next[DK] = turned(r, added(r, state[DK], product(r, ds, f->q, ROW, ROW)));
    next[DV] = turned(r, added(r, state[DV], product(r, ir_convert(b, p, t), f->dy, ROW, ROW)));
}

/* saved: q, k, v, y, lse. user: causal or NULL. */
static bool backward(void (*user_fn)(void), void *user, const xt_src *src, const xt_tensor *saved,
                     const xt_tensor *d_out, xt_tensor *d_in) {
    (void)user_fn;
    ir_builder *b = lazy_begin(src);
    ir_value *q = lazy_value(saved[0]), *y = lazy_value(saved[3]), *state[STATE] = {0};
    fixed f = {.q = q, .dy = lazy_value(d_out[0]), .lse = lazy_value(saved[4])};
    state[KEYS] = lazy_value(saved[1]), state[VALUES] = lazy_value(saved[2]);
    if (!q || !y || !f.dy || !f.lse || !state[KEYS] || !state[VALUES]) return false;
    ring r = ring_of(b, q->type, user != NULL);
    f.delta = over_last(&r, OP_add, ir_multiply(b, wide(&r, f.dy), wide(&r, y)));
    state[DQ] = ir_splat(b, ir_with_dtype(q->type, XT_F32), 0);
    state[DK] = ir_splat(b, ir_with_dtype(state[KEYS]->type, XT_F32), 0);
    state[DV] = ir_splat(b, ir_with_dtype(state[VALUES]->type, XT_F32), 0);
    const ir_op *loop = f.delta ? turns(&r, &f, look_back, state) : NULL;
    for (int i = 0; loop && i < 3; i++)
        d_in[i] = lazy_wrap(ir_convert(b, (ir_value *)&loop->out[DQ + i], q->type->dtype), "ring attention");
    return loop && !lazy_pending();
}

/* --- the layer's part --- */
/* [B,H,T,D] as [B,H,n,t,D], dim 2 divided over the axes; batch and heads may be divided besides. */
static ir_value *in_blocks(ir_builder *b, ir_value *x, const char *axes, int64_t n) {
    const lazy_layout *layout = NULL;
    if (!x) return NULL;
    const int64_t *d = x->type->dims;
    ir_value *v = ir_reshape(b, x, RANK, (int64_t[]){d[0], d[1], n, d[2] / n, d[3]});
    const char *lists[] = {NULL, NULL, axes};
    xt_status s = v ? lazy_layout_make(lazy_mesh_of_run(), v->type, 3, lists, "attention", &layout) : NULL;
    if (s && !b->status) b->status = s;
    return v && layout ? ir_annotate_sharding_open(b, v, intern_text(layout->text), 1 << 0 | 1 << 1) : NULL;
}

xt_tensor nn_ring_attention(const xt_src *src, const xt_tensor qkv[3], const char *axes, bool causal) {
    int64_t n = xt_mesh_size(NULL, axes);
    ir_value *in[9] = {0}, *y = NULL, *lse = NULL;
    ir_builder *b = lazy_begin(src);
    const ir_type *whole = lazy_type(qkv[0]);
    for (int i = 0; i < 3; i++) in[i] = in_blocks(b, lazy_value(qkv[i]), axes, n);
    if (!in[0] || !in[1] || !in[2]) return lazy_wrap(NULL, "ring attention");
    xt_no_grad_begin();
    b = lazy_begin(src);
    ring r = ring_of(b, in[0]->type, causal);
    bool ok = forward(&r, in[0], in[1], in[2], &y, &lse);
    xt_no_grad_end_at(NULL);
    lazy_custom g = {backward, NULL, causal ? &in_blocks : NULL, src_intern(src), 3, 5, 1};
    for (int i = 0; i < 3; i++) in[3 + i] = in[i];
    in[6] = y, in[7] = lse, in[8] = y;
    b = lazy_begin(src);
    ir_op *op = ok ? lazy_custom_op(&g, in) : NULL;
    return lazy_wrap(op ? ir_reshape(b, &op->out[8], 4, whole->dims) : NULL, "ring attention");
}
