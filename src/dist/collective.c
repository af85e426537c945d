/* Collectives on tensors: options checked, then one StableHLO op each (a mean: a sum and a multiplication). In a run of
 * one rank nothing is recorded but a copy, so that the handle is a new one as with more ranks. */
#include "dist/collective.h"
#include "ir/build.h"
#include "lazy/mesh/mesh.h"
#include "ops/ops.h"

typedef struct call {
    const char *what;
    const xt_src *src;
    ir_builder *b;
    ir_value *x;
    rank_groups g;
    xt_tensor failed;
} call;

static bool fail(call *c, xt_status s) {
    lazy_fail(status_at(status_context(s, "%s", c->what), c->src));
    rank_groups_free(&c->g);
    c->failed = lazy_failed_tensor(c->src);
    return false;
}

/* False after an error, which is c->failed then. */
static bool begin(call *c, const xt_src *src, const char *what, xt_tensor x, const xt_collective_opts *o,
                  bool permutes) {
    *c = (call){.what = what, .src = src, .b = lazy_begin(src)};
    c->x = lazy_value(x);
    if (!c->x) {
        c->failed = lazy_wrap(NULL, what);
        return false;
    }
    if (lazy_spmd())
        return fail(c, status_new(XT_FAILED_PRECONDITION, NULL,
                                  "with a mesh, tensors are those of the whole run and the compiler makes the "
                                  "collectives; xt_shard says where a value lies"));
    xt_status s = rank_groups_read(o, world_get()->size, permutes, &c->g);
    return s ? fail(c, s) : true;
}

static bool axis_of(call *c, int dim, int64_t *out) {
    if (ops_axis(c->src, c->what, c->x->type, dim, out, &c->failed)) return true;
    rank_groups_free(&c->g);
    return false;
}

/* dim is a multiple of the group's size. */
static bool divisible(call *c, int64_t dim) {
    int64_t n = c->x->type->dims[dim];
    ops_text shape;
    if (n % (int64_t)c->g.size == 0) return true;
    return fail(c, status_new(XT_INVALID_ARGUMENT, NULL,
                              "dim %lld of %s has %lld elements, which %zu ranks cannot share evenly; pad it to %lld",
                              (long long)dim, ops_shape(c->x->type, &shape), (long long)n, c->g.size,
                              (long long)((n / (int64_t)c->g.size + 1) * (int64_t)c->g.size)));
}

static ir_value *record(call *c, ir_opcode code, ir_opcode combine, size_t n_more, const ir_attr *more,
                        const ir_type *type) {
    ir_rank_groups g = {c->g.n, c->g.size, c->g.ranks, 0};
    ir_op *op = ir_collective(c->b, code, combine, code == OP_collective_permute ? NULL : &g, 1, &c->x, n_more, more,
                              type ? &type : NULL);
    return op ? &op->out[0] : NULL;
}

static xt_tensor end(call *c, ir_value *v) {
    rank_groups_free(&c->g);
    return lazy_wrap(v, c->what);
}

static bool alone(const call *c) {
    return c->g.size == 1;
}

static ir_opcode combine_of(xt_reduce op) {
    switch (op) {
    case XT_MIN: return OP_minimum;
    case XT_MAX: return OP_maximum;
    case XT_PRODUCT: return OP_multiply;
    case XT_AND: return OP_and;
    case XT_OR: return OP_or;
    default: return OP_add;
    }
}

static ir_value *scaled(const call *c, xt_reduce op, ir_value *v) {
    return op == XT_MEAN && v ? ir_multiply(c->b, v, ir_splat(c->b, v->type, 1.0 / (double)c->g.size)) : v;
}

xt_tensor xt_all_reduce_at(const xt_src *src, xt_tensor x, xt_collective_opts o) {
    call c;
    if (!begin(&c, src, "xt_all_reduce", x, &o, false)) return c.failed;
    xt_status s = rank_reduce_check(o.op, c.x->type->dtype);
    if (s) return fail(&c, s), c.failed;
    if (alone(&c)) return end(&c, ops_copy(c.b, c.x));
    return end(&c, scaled(&c, o.op, record(&c, OP_all_reduce, combine_of(o.op), 0, NULL, NULL)));
}

/* x's type with dim times `up` divided by `down`. */
static const ir_type *resized(const call *c, int64_t dim, size_t up, size_t down) {
    int64_t dims[XT_MAX_RANK];
    const ir_type *t = c->x->type;
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    if (__builtin_mul_overflow(dims[dim], (int64_t)up, &dims[dim])) return NULL;
    dims[dim] /= (int64_t)down;
    return ir_tensor(t->dtype, t->rank, dims);
}

xt_tensor xt_all_gather_at(const xt_src *src, xt_tensor x, int dim, xt_collective_opts o) {
    call c;
    int64_t axis;
    if (!begin(&c, src, "xt_all_gather", x, &o, false) || !axis_of(&c, dim, &axis)) return c.failed;
    if (alone(&c)) return end(&c, ops_copy(c.b, c.x));
    const ir_type *t = resized(&c, axis, c.g.size, 1);
    if (!t) return fail(&c, status_new(XT_INVALID_ARGUMENT, NULL, "the result is too large")), c.failed;
    ir_attr more = ir_attr_int(IR_A_all_gather_dim, axis);
    return end(&c, record(&c, OP_all_gather, OP_COUNT, 1, &more, t));
}

xt_tensor xt_reduce_scatter_at(const xt_src *src, xt_tensor x, int dim, xt_collective_opts o) {
    call c;
    int64_t axis;
    if (!begin(&c, src, "xt_reduce_scatter", x, &o, false) || !axis_of(&c, dim, &axis) || !divisible(&c, axis))
        return c.failed;
    xt_status s = rank_reduce_check(o.op, c.x->type->dtype);
    if (s) return fail(&c, s), c.failed;
    if (alone(&c) || c.x->type->dims[axis] == 0) return end(&c, ops_copy(c.b, c.x));
    ir_attr more = ir_attr_int(IR_A_scatter_dimension, axis);
    return end(&c, scaled(&c, o.op,
                          record(&c, OP_reduce_scatter, combine_of(o.op), 1, &more, resized(&c, axis, 1, c.g.size))));
}

xt_tensor xt_all_to_all_at(const xt_src *src, xt_tensor x, int split_dim, int concat_dim, xt_collective_opts o) {
    call c;
    int64_t split, concat;
    if (!begin(&c, src, "xt_all_to_all", x, &o, false) || !axis_of(&c, split_dim, &split) ||
        !axis_of(&c, concat_dim, &concat) || !divisible(&c, split))
        return c.failed;
    if (alone(&c)) return end(&c, ops_copy(c.b, c.x));
    ir_attr more[] = {ir_attr_int(IR_A_split_dimension, split), ir_attr_int(IR_A_concat_dimension, concat),
                      ir_attr_int(IR_A_split_count, (int64_t)c.g.size)};
    return end(&c, record(&c, OP_all_to_all, OP_COUNT, BASE_COUNT(more), more, NULL));
}

xt_tensor xt_collective_permute_at(const xt_src *src, xt_tensor x, xt_collective_opts o) {
    call c;
    if (!begin(&c, src, "xt_collective_permute", x, &o, true)) return c.failed;
    if (world_get()->size == 1) return end(&c, c.g.n_pairs ? ops_copy(c.b, c.x) : ir_splat(c.b, c.x->type, 0));
    ir_attr more = ir_attr_ints2(c.b, IR_A_source_target_pairs, c.g.n_pairs, 2, c.g.pairs);
    return end(&c, record(&c, OP_collective_permute, OP_COUNT, 1, &more, NULL));
}

xt_tensor xt_broadcast_at(const xt_src *src, xt_tensor x, xt_collective_opts o) {
    call c;
    if (!begin(&c, src, "xt_broadcast", x, &o, false)) return c.failed;
    if (alone(&c)) return end(&c, ops_copy(c.b, c.x));
    for (size_t row = 0; row < c.g.n; row++) { /* StableHLO: the first of a group sends */
        int64_t *ranks = c.g.ranks + row * c.g.size, root = ranks[o.root];
        memmove(ranks + 1, ranks, (size_t)o.root * sizeof *ranks);
        ranks[0] = root;
    }
    return end(&c, record(&c, OP_collective_broadcast, OP_COUNT, 0, NULL, NULL));
}
