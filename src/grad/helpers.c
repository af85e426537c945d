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
    return status_new(XT_UNIMPLEMENTED, src_get(c->op->src), "no derivative of %s.%s: %s; xt_detach its result if none should flow here",
                      info->dialect, info->name, why);
}

bool grad_is_constant(const ir_value *v, double *out) {
    while (v->def && (v->def->code == OP_broadcast_in_dim || v->def->code == OP_reshape || v->def->code == OP_convert)) v = v->def->in[0];
    if (!v->def || v->def->code != OP_constant) return false;
    const ir_literal *lit = ir_get_literal(v->def);
    if (!lit) return false;
    if (out) {
        array a = {lit->type, (void *)lit->data};
        *out = (lit->splat || lit->type->count == 1) && !ir_dtype_is_complex(lit->type->dtype) ? array_get(&a, 0) : NAN;
    }
    return true;
}

ir_opcode grad_region_op(const ir_op *op, size_t r) {
    if (r >= op->n_regions || !op->regions[r].block) return OP_COUNT;
    const ir_block *body = op->regions[r].block;
    const ir_op *only = body->first, *end = ir_block_return(body);
    if (body->n_args != 2 || !only || !end || only->next != end || only->n_in != 2 || only->n_out != 1 || end->n_in != 1) return OP_COUNT;
    if (end->in[0] != &only->out[0]) return OP_COUNT;
    bool straight = only->in[0] == body->args[0] && only->in[1] == body->args[1];
    bool swapped = only->in[0] == body->args[1] && only->in[1] == body->args[0];
    return straight || (swapped && (ir_op_infos[only->code].flags & IR_COMMUTES)) ? only->code : OP_COUNT;
}

static void *no_memory(ir_builder *b) {
    if (!b->status) b->status = status_oom(0, "gradients");
    return NULL;
}

/* Copies the ops of `from` into a new block; values from outside stay as they are. NULL: a nested region, or no memory (then the builder says so). */
static ir_block *copy_block(ir_builder *b, const ir_block *from, size_t n_extra, const ir_type *const *extra) {
    ir_block *to = ir_block_new(b->m);
    if (!to) return no_memory(b);
    struct pair {
        const ir_value *old;
        ir_value *now;
    } *pairs = NULL;
    size_t n = 0, cap = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < from->n_args; i++) {
        struct pair p = {from->args[i], ir_block_arg(b->m, to, from->args[i]->type)};
        ok = p.now && VEC_PUSH(pairs, n, cap, p);
    }
    for (size_t i = 0; ok && i < n_extra; i++) ok = ir_block_arg(b->m, to, extra[i]) != NULL;
    ir_builder inner = ir_at_end(b->m, to);
    inner.src = b->src;
    inner.path = b->path;
    for (const ir_op *op = from->first; ok && op; op = op->next) {
        ir_value **in = arena_alloc(b->m->mem, (op->n_in + 1) * sizeof *in);
        const ir_type **types = arena_alloc(b->m->mem, (op->n_out + 1) * sizeof *types);
        if (op->n_regions) {
            base_free(pairs);
            return NULL;
        }
        if (!in || !types) {
            ok = false;
            break;
        }
        for (size_t i = 0; i < op->n_in; i++) {
            in[i] = op->in[i];
            for (size_t k = 0; k < n; k++)
                if (pairs[k].old == op->in[i]) in[i] = pairs[k].now;
        }
        for (size_t i = 0; i < op->n_out; i++) types[i] = op->out[i].type;
        ir_op *copy = ir_build(&inner, op->code, op->n_in, in, op->n_attrs, op->attrs, 0, NULL, op->n_out, types);
        ok = copy != NULL;
        for (size_t i = 0; ok && i < op->n_out; i++) {
            struct pair p = {&op->out[i], &copy->out[i]};
            ok = VEC_PUSH(pairs, n, cap, p);
        }
    }
    base_free(pairs);
    if (inner.status && !b->status)
        b->status = inner.status;
    else
        xt_status_free(inner.status);
    return ok ? to : no_memory(b);
}

ir_op *grad_clone(grad_call *c, size_t n_in, ir_value *const *in, size_t n_extra, const ir_type *const *extra) {
    const ir_op *op = c->op;
    ir_block **blocks = arena_alloc(c->b->m->mem, (op->n_regions + 1) * sizeof *blocks);
    if (!blocks) return no_memory(c->b);
    for (size_t r = 0; r < op->n_regions; r++)
        if (!(blocks[r] = copy_block(c->b, op->regions[r].block, n_extra, extra))) return NULL;
    return ir_build(c->b, op->code, n_in, in, op->n_attrs, op->attrs, op->n_regions, blocks, 0, NULL);
}
