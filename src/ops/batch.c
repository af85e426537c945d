/* Batching: the walk over a body, and the loop over the examples for ops that have no rule (batch.h). */
#include "ops/batch.h"

/* --- which value stands for which --- */
static size_t place(const batch *t, const ir_value *v) {
    size_t i = ((uintptr_t)v >> 4) * (size_t)0x9e3779b97f4a7c15u >> 7;
    for (i &= t->cap_at - 1; t->keys[i] && t->keys[i] != v; i = (i + 1) & (t->cap_at - 1)) continue;
    return i;
}

static bool grow(batch *t) {
    batch more = *t;
    more.cap_at = t->cap_at ? 2 * t->cap_at : 64;
    more.keys = base_calloc(more.cap_at, sizeof *more.keys);
    more.at = base_calloc(more.cap_at, sizeof *more.at);
    if (!more.keys || !more.at) {
        base_free(more.keys);
        base_free(more.at);
        lazy_fail(status_oom(more.cap_at * sizeof *more.at, t->what));
        return false;
    }
    for (size_t i = 0; i < t->cap_at; i++) {
        if (!t->keys[i]) continue;
        size_t to = place(&more, t->keys[i]);
        more.keys[to] = t->keys[i];
        more.at[to] = t->at[i];
    }
    base_free(t->keys);
    base_free(t->at);
    *t = more;
    return true;
}

bool batch_set(batch *t, const ir_value *of, batch_value v) {
    if (2 * t->n_at >= t->cap_at && !grow(t)) return false;
    size_t i = place(t, of);
    t->n_at += !t->keys[i];
    t->keys[i] = of;
    t->at[i] = v;
    return true;
}

batch_value batch_get(const batch *t, const ir_value *v) {
    size_t i = t->cap_at ? place(t, v) : 0;
    if (t->cap_at && t->keys[i]) return t->at[i];
    return (batch_value){v->block == t->loop.body ? NULL : (ir_value *)(uintptr_t)v, false};
}

const ir_type *batch_type(const batch *t, const ir_type *one) {
    int64_t dims[IR_MAX_RANK];
    if (one->kind != IR_TENSOR || one->rank + 1 > XT_MAX_RANK) return NULL;
    dims[0] = t->n;
    memcpy(dims + 1, one->dims, one->rank * sizeof *dims);
    return ir_tensor(one->dtype, one->rank + 1, dims);
}

ir_value *batch_all(batch *t, batch_value v) {
    int64_t axes[IR_MAX_RANK];
    if (!v.v || v.batched) return v.v;
    for (uint32_t i = 0; i < v.v->type->rank; i++) axes[i] = i + 1;
    const ir_type *to = batch_type(t, v.v->type);
    return to ? ir_broadcast_in_dim(t->b, v.v, to, v.v->type->rank, axes) : NULL;
}

/* --- values of the body that the regions of an op read --- */
typedef struct reads {
    ir_value **v;
    size_t n, cap;
} reads;

static bool add_read(reads *r, const ir_block *body, ir_value *v) {
    if (v->block != body) return true;
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i] == v) return true;
    return VEC_PUSH(r->v, r->n, r->cap, v);
}

static bool reads_of(reads *r, const ir_block *body, const ir_op *op, bool operands) {
    for (uint32_t i = 0; operands && i < op->n_in; i++)
        if (!add_read(r, body, op->in[i])) return false;
    for (uint32_t k = 0; k < op->n_regions; k++)
        for (const ir_op *in = op->regions[k].block ? op->regions[k].block->first : NULL; in; in = in->next)
            if (!reads_of(r, body, in, true)) return false;
    return true;
}

static bool any_batched(const batch *t, const reads *r) {
    for (size_t i = 0; i < r->n; i++)
        if (batch_get(t, r->v[i]).batched) return true;
    return false;
}

/* op as it was, at b, reading to[i] for r->v[i]. */
static ir_op *copy(ir_builder *b, const ir_op *op, const reads *r, ir_value **to) {
    if (b->status) return NULL;
    for (size_t i = 0; i < r->n; i++)
        if (!to[i]) return NULL;
    b->status = ir_copy_range(b, op, op, r->n, r->v, to);
    return b->status ? NULL : b->before ? b->before->prev : b->block->last;
}

/* --- an op in a loop over the examples --- */
static ir_value *number(ir_builder *b, int64_t v) {
    return ir_splat(b, ir_scalar(XT_I64), (double)v);
}

static ir_value *row_of(ir_builder *b, ir_value *x, ir_value *at) {
    ir_value *start[IR_MAX_RANK];
    int64_t dims[IR_MAX_RANK];
    const ir_type *t = x->type;
    for (uint32_t i = 0; i < t->rank; i++) {
        start[i] = i ? number(b, 0) : at;
        dims[i] = i ? t->dims[i] : 1;
    }
    return ir_reshape(b, ir_dynamic_slice(b, x, t->rank, start, dims), t->rank - 1, t->dims + 1);
}

static ir_value *with_row(ir_builder *b, ir_value *stack, ir_value *x, ir_value *at) {
    ir_value *start[IR_MAX_RANK];
    int64_t dims[IR_MAX_RANK];
    const ir_type *t = stack->type;
    for (uint32_t i = 0; i < t->rank; i++) {
        start[i] = i ? number(b, 0) : at;
        dims[i] = i ? t->dims[i] : 1;
    }
    return ir_dynamic_update_slice(b, stack, ir_reshape(b, x, t->rank, dims), t->rank, start);
}

static ir_builder new_block(const ir_builder *b, size_t n, ir_value *const *state) {
    ir_builder in = ir_at_end(b->m, ir_block_new(b->m));
    in.src = b->src;
    in.path = b->path;
    for (size_t i = 0; in.block && i < n; i++)
        if (!ir_block_arg(b->m, in.block, state[i]->type)) in.block = NULL;
    return in;
}

/* Reads rows of what is batched, does the op, and writes rows of its results. */
static void one_example(batch *t, const ir_op *op, const reads *r, ir_builder *in, ir_value **to) {
    ir_value **args = in->block->args;
    for (size_t i = 0; i < r->n; i++) {
        batch_value v = batch_get(t, r->v[i]);
        to[i] = v.batched ? row_of(in, v.v, args[0]) : v.v;
    }
    ir_op *one = copy(in, op, r, to);
    if (!one) return;
    lazy_note_copy(op, one, true);
    ir_value *next[IR_MAX_RANK];
    ir_value **all = op->n_out < IR_MAX_RANK ? next : arena_alloc(in->m->mem, (op->n_out + 1) * sizeof *all);
    if (!all) return;
    all[0] = ir_add(in, args[0], number(in, 1));
    for (uint32_t i = 0; i < op->n_out; i++) all[1 + i] = with_row(in, args[1 + i], &one->out[i], args[0]);
    ir_return(in, 1 + (size_t)op->n_out, all);
}

static bool by_loop(batch_call *c, const reads *r) {
    batch *t = c->t;
    ir_builder *b = t->b;
    size_t n = 1 + (size_t)c->op->n_out;
    ir_value **state = arena_alloc(b->m->mem, (n + r->n + 1) * sizeof *state), **to = state + n;
    if (!state) return false;
    state[0] = number(b, 0);
    for (size_t i = 1; i < n; i++) {
        const ir_type *type = batch_type(t, c->op->out[i - 1].type);
        if (!type || !(state[i] = ir_splat(b, type, 0))) return false;
    }
    if (!state[0]) return false;
    ir_builder cond = new_block(b, n, state), body = new_block(b, n, state);
    if (!cond.block || !body.block) return false;
    ir_value *more = ir_compare(&cond, IR_LT, cond.block->args[0], number(&cond, t->n));
    ir_return(&cond, 1, &more);
    one_example(t, c->op, r, &body, to);
    xt_status st = cond.status ? cond.status : body.status;
    if (st) {
        if (cond.status && body.status) xt_status_free(body.status);
        if (!b->status)
            b->status = st;
        else
            xt_status_free(st);
        return false;
    }
    if (!ir_block_return(body.block)) return false;
    ir_op *loop = ir_build(b, OP_while, n, state, 0, NULL, 2, (ir_block *[]){cond.block, body.block}, 0, NULL);
    for (size_t i = 1; loop && i < n; i++) c->out[i - 1] = &loop->out[i];
    return loop != NULL;
}

/* --- the walk --- */
static bool refuse(batch *t, const ir_op *op, const char *why) {
    lazy_fail(status_new(XT_UNIMPLEMENTED, src_get(op->src), "%s: %s.%s inside the function: %s", t->what,
                         ir_op_infos[op->code].dialect, ir_op_infos[op->code].name, why));
    return false;
}

static bool fits(batch *t, const ir_op *op) {
    if (ir_op_infos[op->code].cls == IR_CLASS_COLLECTIVE)
        return refuse(t, op, "an exchange between devices has no examples; do it outside");
    if (op->code == OP_rng) return refuse(t, op, "the device's own random numbers; draw with xt_rand");
    for (uint32_t i = 0; i < op->n_out; i++)
        if (!batch_type(t, op->out[i].type)) return refuse(t, op, "with the examples it has too many dims");
    return true;
}

/* The op that is the same for all examples. */
static bool as_it_was(batch *t, const ir_op *op, const reads *r, ir_value **to) {
    for (size_t i = 0; i < r->n; i++) to[i] = batch_get(t, r->v[i]).v;
    ir_op *same = copy(t->b, op, r, to);
    if (!same) return false;
    lazy_note_copy(op, same, false);
    for (uint32_t i = 0; i < op->n_out; i++)
        if (!batch_set(t, &op->out[i], (batch_value){&same->out[i], false})) return false;
    return true;
}

static bool for_all(batch *t, const ir_op *op, const reads *all, const reads *inner, ir_value **scratch) {
    batch_value *in = arena_alloc(t->b->m->mem, (op->n_in + 1) * sizeof *in);
    ir_op *before = t->b->before ? t->b->before->prev : t->b->block->last;
    batch_call c = {.t = t, .op = op, .in = in, .out = scratch};
    if (!in || !fits(t, op)) return false;
    for (uint32_t i = 0; i < op->n_in; i++) in[i] = batch_get(t, op->in[i]);
    bool ok = !lazy_is_custom(op) && !any_batched(t, inner) && batch_rule(&c);
    if (!ok && !t->b->status) ok = by_loop(&c, all);
    if (!ok) return false;
    lazy_note_replayed(op, before);
    for (uint32_t i = 0; i < op->n_out; i++) {
        if (!c.out[i]) return false;
        lazy_note_value(&op->out[i], c.out[i]);
        if (!batch_set(t, &op->out[i], (batch_value){c.out[i], true})) return false;
    }
    return true;
}

static bool replay(batch *t, const ir_op *op) {
    reads all = {0}, inner = {0};
    t->b->src = op->src;
    t->b->path = op->path;
    bool ok = reads_of(&all, t->loop.body, op, true) && reads_of(&inner, t->loop.body, op, false);
    size_t n = all.n + op->n_out;
    ir_value **scratch = ok ? base_calloc(n + 1, sizeof *scratch) : NULL;
    if (!scratch) lazy_fail(status_oom(n * sizeof *scratch, t->what));
    ok = scratch && (any_batched(t, &all) ? for_all(t, op, &all, &inner, scratch) : as_it_was(t, op, &all, scratch));
    base_free(scratch);
    base_free(all.v);
    base_free(inner.v);
    return ok;
}

/* The outermost indices of all examples' (XT_DEBUG=bounds) are values of what is around the body now. */
static void outermost(batch *t) {
    int64_t rows = 0, from[2] = {0, 1}, to[2] = {1, 2};
    while (lazy_bounds_count(t->loop.body)) {
        ir_value **site = lazy_bounds_in(t->loop.body, 0);
        batch_value v = batch_get(t, *site);
        for (int i = 0; v.batched && i < 2; i++) {
            if (!v.v) break;
            ir_value *ends[2];
            for (int k = 0; k < 2; k++) {
                ir_value *end = ir_reduce(t->b, k ? OP_maximum : OP_minimum, v.v, 1, &rows);
                ends[k] = end ? ir_slice(t->b, end, &from[k], &to[k], NULL) : NULL;
            }
            v = (batch_value){ends[0] && ends[1] ? ir_concatenate(t->b, 2, ends, 0) : NULL, false};
        }
        if (!v.v) break;
        *site = v.v;
    }
    lazy_bounds_forget(t->loop.body);
}

static void forget(batch *t) {
    lazy_bounds_forget(t->loop.body);
    while (t->loop.body && t->loop.body->last) ir_erase(t->loop.body->last);
    base_free(t->keys);
    base_free(t->at);
    t->keys = NULL;
    t->at = NULL;
    t->n_at = t->cap_at = 0;
}

xt_status batch_begin(batch *t, const char *what, const xt_src *src, int64_t n) {
    *t = (batch){.what = what, .src = src, .n = n};
    return n ? lazy_loop_begin(&t->loop, what, src, n) : lazy_branch_begin(&t->loop, what, src);
}

ir_value *batch_example(batch *t, ir_value *x) {
    ir_builder *b = lazy_begin(t->src);
    ir_value *arg = ir_block_arg(b->m, t->loop.body, ir_tensor(x->type->dtype, x->type->rank - 1, x->type->dims + 1));
    if (!arg || !batch_set(t, arg, (batch_value){x, true})) return NULL;
    if (lazy_needs_grad(x)) lazy_want_grad(arg);
    return arg;
}

bool batch_end(batch *t, size_t n, ir_value *const *results, ir_value **out) {
    xt_status st = lazy_loop_end(&t->loop);
    if (st) lazy_fail(status_at(st, t->src));
    ir_builder *b = t->b = lazy_begin(t->src);
    bool ok = !st;
    if (ok && !t->loop.branch && t->loop.body->args[0]->uses)
        ok = batch_set(t, t->loop.body->args[0], (batch_value){ir_iota(b, ir_tensor(XT_I64, 1, &t->n), 0), true});
    src_id src = b->src;
    uint32_t path = b->path;
    for (const ir_op *op = t->loop.body->first; ok && op; op = op->next) ok = replay(t, op);
    b->src = src;
    b->path = path;
    if (ok) outermost(t);
    for (size_t i = 0; i < n; i++) {
        out[i] = ok ? batch_all(t, batch_get(t, results[i])) : NULL;
        ok = ok && out[i];
    }
    forget(t);
    return ok;
}

void batch_drop(batch *t) {
    if (!t->loop.body) return;
    xt_status_free(lazy_loop_end(&t->loop));
    forget(t);
}
