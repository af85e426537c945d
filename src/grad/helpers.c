/* Small builders and questions that the derivative rules are written with. */
#include "grad/grad_int.h"

#include <math.h>

#include "ir/interp.h"

ir_value *grad_zeros(ir_builder *b, const ir_type *t) {
    return ir_splat(b, t, 0);
}

ir_value *grad_times(ir_builder *b, ir_value *x, double k) {
    return x ? ir_multiply(b, x, ir_splat(b, x->type, k)) : NULL;
}

ir_value *grad_plus(ir_builder *b, ir_value *x, double k) {
    return x ? ir_add(b, x, ir_splat(b, x->type, k)) : NULL;
}

ir_value *grad_scalar(ir_builder *b, xt_dtype t, double k) {
    return ir_splat(b, ir_scalar(t), k);
}

static bool same_dims(const ir_type *a, const ir_type *b) {
    return a->rank == b->rank && (a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

ir_value *grad_reshape_to(ir_builder *b, ir_value *x, const ir_type *t) {
    return !x || same_dims(x->type, t) ? x : ir_reshape(b, x, t->rank, t->dims);
}

ir_value *grad_reverse_dims(ir_builder *b, ir_value *x, size_t n, const int64_t *dims) {
    return n ? ir_reverse(b, x, n, dims) : x;
}

ir_value *grad_sum_all(ir_builder *b, ir_value *x) {
    if (!x || x->type->rank == 0) return x;
    int64_t *dims = arena_alloc(b->m->mem, x->type->rank * sizeof *dims);
    if (!dims) {
        if (!b->status) b->status = status_oom(x->type->rank * sizeof *dims, "gradients");
        return NULL;
    }
    for (uint32_t i = 0; i < x->type->rank; i++) dims[i] = i;
    return ir_reduce(b, OP_add, x, x->type->rank, dims);
}

ir_value *grad_spread(ir_builder *b, ir_value *x, const ir_type *to, size_t n, const int64_t *dims) {
    if (!x) return NULL;
    int64_t *axes = arena_alloc(b->m->mem, (to->rank + 1) * sizeof *axes);
    if (!axes) {
        if (!b->status) b->status = status_oom(to->rank * sizeof *axes, "gradients");
        return NULL;
    }
    size_t kept = 0;
    for (int64_t i = 0; i < (int64_t)to->rank; i++) {
        bool gone = false;
        for (size_t j = 0; j < n; j++) gone |= dims[j] == i;
        if (!gone) axes[kept++] = i;
    }
    return ir_broadcast_in_dim(b, x, ir_with_dtype(to, x->type->dtype), kept, axes);
}

ir_value *grad_d(grad_call *c, size_t i) {
    return c->d_out[i] ? c->d_out[i] : grad_zeros(c->b, c->op->out[i].type);
}

xt_status grad_ints(grad_call *c, size_t n, int64_t **out) {
    *out = arena_alloc(c->b->m->mem, (n + 1) * sizeof **out);
    return *out ? NULL : status_oom(n * sizeof **out, "gradients");
}

xt_status grad_values(grad_call *c, size_t n, ir_value ***out) {
    *out = arena_alloc(c->b->m->mem, (n + 1) * sizeof **out);
    return *out ? NULL : status_oom(n * sizeof **out, "gradients");
}

xt_status grad_refuse(const grad_call *c, const char *why) {
    const ir_op_info *info = &ir_op_infos[c->op->code];
    return status_new(XT_UNIMPLEMENTED, src_get(c->op->src),
                      "no derivative of %s.%s: %s; xt_detach its result if none should flow here", info->dialect,
                      info->name, why);
}

ir_opcode grad_region_op(const ir_op *op, size_t r) {
    if (r >= op->n_regions || !op->regions[r].block) return OP_COUNT;
    const ir_block *body = op->regions[r].block;
    const ir_op *only = body->first, *end = ir_block_return(body);
    if (body->n_args != 2 || !only || !end || only->next != end || only->n_in != 2 || only->n_out != 1 ||
        end->n_in != 1)
        return OP_COUNT;
    if (end->in[0] != &only->out[0]) return OP_COUNT;
    bool straight = only->in[0] == body->args[0] && only->in[1] == body->args[1];
    bool swapped = only->in[0] == body->args[1] && only->in[1] == body->args[0];
    return straight || (swapped && (ir_op_infos[only->code].flags & IR_COMMUTES)) ? only->code : OP_COUNT;
}

static void *no_memory(ir_builder *b) {
    if (!b->status) b->status = status_oom(0, "gradients");
    return NULL;
}

/* Copies `from` into a new block with `extra` arguments more; values from outside stay as they are. NULL: no memory,
 * and the builder says so. */
static ir_block *copy_block(ir_builder *b, const ir_block *from, size_t n_extra, const ir_type *const *extra) {
    ir_block *to = ir_block_new(b->m);
    if (!to) return no_memory(b);
    for (size_t i = 0; i < from->n_args; i++)
        if (!ir_block_arg(b->m, to, from->args[i]->type)) return no_memory(b);
    for (size_t i = 0; i < n_extra; i++)
        if (!ir_block_arg(b->m, to, extra[i])) return no_memory(b);
    ir_builder inner = ir_at_end(b->m, to);
    if (!b->status) b->status = ir_copy_range(&inner, from->first, NULL, from->n_args, from->args, to->args);
    return b->status ? NULL : to;
}

ir_op *grad_clone(grad_call *c, size_t n_in, ir_value *const *in, size_t n_extra, const ir_type *const *extra) {
    const ir_op *op = c->op;
    ir_block **blocks = arena_alloc(c->b->m->mem, (op->n_regions + 1) * sizeof *blocks);
    if (!blocks) return no_memory(c->b);
    for (size_t r = 0; r < op->n_regions; r++)
        if (!(blocks[r] = copy_block(c->b, op->regions[r].block, n_extra, extra))) return NULL;
    return ir_build(c->b, op->code, n_in, in, op->n_attrs, op->attrs, op->n_regions, blocks, 0, NULL);
}

const ir_op *grad_last_op(const ir_builder *b) {
    return b->before ? b->before->prev : b->block->last;
}

/* --- computations with regions --- */
bool grad_within(const ir_value *v, const ir_block *block) {
    for (const ir_block *b = v->block; b; b = b->owner ? b->owner->block : NULL)
        if (b == block) return true;
    return false;
}

static bool any_operand(const ir_block *b, bool (*is)(const ir_value *v, void *user), void *user) {
    for (const ir_op *op = b ? b->first : NULL; op; op = op->next) {
        for (size_t i = 0; i < op->n_in; i++)
            if (is(op->in[i], user)) return true;
        for (size_t r = 0; r < op->n_regions; r++)
            if (any_operand(op->regions[r].block, is, user)) return true;
    }
    return false;
}

typedef struct outside {
    const ir_op *op;
    const grad_walk *w;
    ir_value **list;
    size_t n, cap;
    bool failed;
} outside;

static bool wanted_from_outside(const ir_value *v, const outside *o) {
    for (const ir_block *b = v->block; b; b = b->owner ? b->owner->block : NULL)
        if (b->owner == o->op) return false;
    return grad_differentiable(v->type) && o->w->needs(v, o->w->user);
}

static bool is_wanted(const ir_value *v, void *user) {
    return wanted_from_outside(v, user);
}

bool grad_reads_wanted(const ir_op *op, const grad_walk *w) {
    outside o = {.op = op, .w = w};
    for (size_t r = 0; r < op->n_regions; r++)
        if (any_operand(op->regions[r].block, is_wanted, &o)) return true;
    return false;
}

static bool collect(const ir_value *v, void *user) {
    outside *o = user;
    if (!wanted_from_outside(v, o)) return false;
    for (size_t i = 0; i < o->n; i++)
        if (o->list[i] == v) return false;
    o->failed = !VEC_PUSH(o->list, o->n, o->cap, (ir_value *)(uintptr_t)v);
    return o->failed;
}

xt_status grad_captured(grad_call *c, ir_value ***out, size_t *out_n) {
    outside o = {.op = c->op, .w = c->walk};
    for (size_t r = 0; r < c->op->n_regions; r++) any_operand(c->op->regions[r].block, collect, &o);
    *out = o.failed ? NULL : arena_alloc(c->b->m->mem, (o.n + 1) * sizeof **out);
    *out_n = o.n;
    if (*out && o.n) memcpy(*out, o.list, o.n * sizeof **out);
    base_free(o.list);
    return *out ? NULL : status_oom(o.n * sizeof **out, "gradients");
}

/* A bit of the value words of ops made here, which belong to nobody yet. */
static const uint64_t DEPENDS = (uint64_t)1 << 40;

/* What the module's owner noted on ops and values of a region (that nothing flows through a detached one)
 * holds for copies. */
static void copy_notes(const ir_op *from, ir_op *to, const ir_op *end) {
    for (; from && from != end; from = from->next, to = to->next) {
        to->user = from->user;
        for (size_t i = 0; i < from->n_out; i++) to->out[i].user = from->out[i].user & ~DEPENDS;
        for (size_t r = 0; r < from->n_regions; r++)
            if (from->regions[r].block) copy_notes(from->regions[r].block->first, to->regions[r].block->first, NULL);
    }
}

xt_status grad_builder_status(ir_builder *b) {
    xt_status st = b->status;
    b->status = NULL;
    return st;
}

xt_status grad_new_region(grad_call *c, size_t n, const ir_type *const *types, ir_builder *out) {
    ir_block *block = ir_block_new(c->b->m);
    if (!block) return status_oom(sizeof *block, "gradients");
    for (size_t i = 0; i < n; i++)
        if (!ir_block_arg(c->b->m, block, types[i])) return status_oom(sizeof *block, "gradients");
    *out = ir_at_end(c->b->m, block);
    out->src = c->b->src;
    out->path = c->b->path;
    return NULL;
}

xt_status grad_copy_body(ir_builder *b, const ir_block *from, ir_value *const *args, ir_value **out_results) {
    const ir_op *ret = ir_block_return(from), *before = grad_last_op(b);
    if (b->status) return NULL;
    for (size_t i = 0; i < ret->n_in; i++) {
        ir_value *v = ret->in[i];
        out_results[i] = !v->def && v->block == from ? args[v->index] : v;
    }
    if (from->first == ret) return NULL;
    XT_TRY(ir_copy_range(b, from->first, ret->prev, from->n_args, from->args, args));
    ir_op *copy = before ? before->next : b->block->first;
    copy_notes(from->first, copy, ret);
    for (const ir_op *op = from->first; op != ret; op = op->next, copy = copy->next)
        for (size_t i = 0; i < ret->n_in; i++)
            if (ret->in[i]->def == op) out_results[i] = &copy->out[ret->in[i]->index];
    return NULL;
}

static bool inner_needs(const ir_value *v, void *user) {
    const grad_inner *in = user;
    return grad_within(v, in->block) ? (v->user & DEPENDS) != 0 : in->outer->needs(v, in->outer->user);
}

static bool inner_flows(const ir_value *result, void *user) {
    const grad_inner *in = user;
    return in->outer->flows(result, in->outer->user);
}

bool grad_depends(const ir_value *v, const grad_inner *in) {
    return inner_needs(v, (void *)(uintptr_t)in);
}

void grad_set_depends(ir_value *v) {
    v->user |= DEPENDS;
}

void grad_mark_dependence(grad_inner *in) {
    for (ir_op *op = in->block->first; op; op = op->next) {
        bool any = false;
        for (size_t i = 0; i < op->n_in && !any; i++) any = inner_needs(op->in[i], in);
        for (size_t r = 0; r < op->n_regions && !any; r++) any = any_operand(op->regions[r].block, inner_needs, in);
        for (size_t i = 0; any && i < op->n_out; i++)
            if (grad_differentiable(op->out[i].type)) grad_set_depends(&op->out[i]);
    }
}

xt_status grad_sweep_inner(grad_inner *in, ir_builder *b, size_t n_roots, ir_value *const *roots,
                           ir_value *const *seeds, size_t n, ir_value *const *leaves, ir_value **out) {
    grad_walk w = {.n_roots = n_roots,
                   .roots = roots,
                   .seeds = seeds,
                   .n_leaves = n,
                   .leaves = leaves,
                   .needs = inner_needs,
                   .flows = in->outer->flows ? inner_flows : NULL,
                   .user = in,
                   .custom = in->outer->custom};
    grad_mark_dependence(in);
    return grad_sweep(b, &w, out);
}

/* --- decompositions --- */
static bool everything(const ir_value *v, void *user) {
    (void)v, (void)user;
    return true;
}

xt_status grad_through(grad_call *c, const ir_op *stop, ir_value *const *parts) {
    ir_value **roots, **seeds;
    size_t n = 0;
    XT_TRY(grad_values(c, c->op->n_out, &roots));
    XT_TRY(grad_values(c, c->op->n_out, &seeds));
    for (size_t i = 0; i < c->op->n_out; i++) {
        if (!c->d_out[i]) continue;
        if (!parts[i]) return NULL; /* the builder has the status */
        roots[n] = parts[i];
        seeds[n++] = c->d_out[i];
    }
    grad_walk w = {.stop = stop,
                   .n_roots = n,
                   .roots = roots,
                   .seeds = seeds,
                   .n_leaves = c->op->n_in,
                   .leaves = c->op->in,
                   .needs = everything};
    if (!c->b->status) XT_TRY(grad_sweep(c->b, &w, c->d_in));
    /* A value that stands in two operands would be counted twice. */
    for (size_t i = 1; i < c->op->n_in; i++)
        for (size_t k = 0; k < i; k++)
            if (c->op->in[i] == c->op->in[k] && c->want[k]) c->d_in[i] = NULL;
    return NULL;
}
