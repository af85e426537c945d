/* Derivatives of control flow and of calls.
 *
 * A branch is turned around inside a branch: the same predicate chooses, and each side computes its forward ops again and then their gradients.
 *
 * A loop is turned around into a loop that runs from the last iteration to the first. Iteration j needs the states that the forward loop had before
 * it. Where the number of iterations can be read from the program (a counter from a constant by a constant to a constant: what for loops, scans and
 * fori_loop become), the forward loop is run once more and stores what is needed for every iteration. Otherwise (a loop until something holds)
 * there is no size for such a store: the iterations are counted, and the states are computed again from the beginning for each, which takes
 * quadratic time but no memory.
 *
 * What regions read from outside without taking it as an operand gets its gradient as a captured value. */
#include "grad/grad_int.h"

static xt_status builder_status(ir_builder *b) {
    xt_status st = b->status;
    b->status = NULL;
    return st;
}

/* A builder at the end of a new block with arguments of these types. */
static xt_status new_region(grad_call *c, size_t n, const ir_type *const *types, ir_builder *out) {
    ir_block *block = ir_block_new(c->b->m);
    if (!block) return status_oom(sizeof *block, "gradients");
    for (size_t i = 0; i < n; i++)
        if (!ir_block_arg(c->b->m, block, types[i])) return status_oom(sizeof *block, "gradients");
    *out = ir_at_end(c->b->m, block);
    out->src = c->b->src;
    out->path = c->b->path;
    return NULL;
}

/* --- branches --------------------------------------------------------------------------------------------------------------------------- */
/* The gradients of one branch by the captured values, in a block that still lacks its return. */
static xt_status branch(grad_call *c, size_t r, size_t n, ir_value *const *captured, ir_builder *in, ir_value **out) {
    const ir_block *from = c->op->regions[r].block;
    ir_value **results, **roots, **seeds;
    XT_TRY(grad_values(c, c->op->n_out, &results));
    XT_TRY(grad_values(c, c->op->n_out, &roots));
    XT_TRY(grad_values(c, c->op->n_out, &seeds));
    XT_TRY(new_region(c, 0, NULL, in));
    XT_TRY(grad_copy_body(in, from, NULL, results));
    grad_inner inner = {in->block, c->walk};
    grad_mark_dependence(&inner);
    size_t n_roots = 0;
    for (size_t i = 0; i < c->op->n_out; i++) {
        if (!c->d_out[i] || !grad_depends(results[i], &inner)) continue;
        roots[n_roots] = results[i];
        seeds[n_roots++] = c->d_out[i];
    }
    return grad_sweep_inner(&inner, in, n_roots, roots, seeds, n, captured, out);
}

xt_status grad_branches(grad_call *c) {
    const ir_op *op = c->op;
    arena *mem = c->b->m->mem;
    size_t n, kept = 0;
    ir_value **captured, **all;
    XT_TRY(grad_captured(c, &captured, &n));
    if (!n) return NULL;
    ir_builder *in = arena_alloc(mem, op->n_regions * sizeof *in);
    ir_block **blocks = arena_alloc(mem, op->n_regions * sizeof *blocks);
    XT_TRY(grad_values(c, op->n_regions * n, &all));
    if (!in || !blocks) return status_oom(op->n_regions * sizeof *in, "gradients");
    for (size_t r = 0; r < op->n_regions; r++) XT_TRY(branch(c, r, n, captured, &in[r], all + r * n));
    for (size_t i = 0; i < n; i++) { /* what no branch gives anything to is left out */
        bool any = false;
        for (size_t r = 0; r < op->n_regions; r++) any |= all[r * n + i] != NULL;
        if (!any) continue;
        captured[kept] = captured[i];
        for (size_t r = 0; r < op->n_regions; r++) all[r * n + kept] = all[r * n + i];
        kept++;
    }
    if (!kept) return NULL;
    for (size_t r = 0; r < op->n_regions; r++) {
        for (size_t i = 0; i < kept; i++)
            if (!all[r * n + i]) all[r * n + i] = grad_zeros(&in[r], captured[i]->type);
        ir_return(&in[r], kept, all + r * n);
        XT_TRY(builder_status(&in[r]));
        blocks[r] = in[r].block;
    }
    ir_op *back = ir_build(c->b, op->code, 1, op->in, 0, NULL, op->n_regions, blocks, 0, NULL);
    if (!back) return NULL; /* the builder says why */
    XT_TRY(grad_values(c, kept, &c->d_captured));
    for (size_t i = 0; i < kept; i++) c->d_captured[i] = &back->out[i];
    c->captured = captured;
    c->n_captured = kept;
    return NULL;
}

/* --- loops: how many iterations --------------------------------------------------------------------------------------------------------- */
typedef struct loop {
    grad_call *c;
    const ir_block *cond, *body;
    size_t n, n_active, n_captured; /* states; those that gradients flow through; captured values */
    size_t *active;
    ir_value **captured;
    int64_t trips; /* -1: not known */
    /* One iteration backwards: from the states before it and the cotangents of the active states after it to those before it, and to the captured
     * values. A block of its own that is copied where it is needed. */
    ir_block *back;
    ir_value **stored; /* per state: [trips, ...], or NULL when `back` does not read it */
    ir_value *count;   /* i64; when trips is not known */
} loop;

/* The number that v always is: a constant, also one that is handed through every iteration unchanged. */
static bool constant_of(const loop *l, const ir_value *v, double *out) {
    if (!v->def && (v->block == l->cond || v->block == l->body)) {
        const ir_op *ret = ir_block_return(l->body);
        if (ret->in[v->index] != l->body->args[v->index]) return false;
        v = l->c->op->in[v->index];
    }
    return v->type->count == 1 && grad_is_constant(v, out);
}

/* ceil((limit - first) / step) when the condition is `counter < limit` or one of its relatives. */
static int64_t trip_count(const loop *l) {
    const ir_op *until = ir_block_return(l->cond)->in[0]->def;
    double first, step, limit;
    if (!until || until->code != OP_compare) return -1;
    ir_cmp_dir dir = (ir_cmp_dir)ir_get_int(until, IR_A_comparison_direction, -1);
    const ir_value *running = until->in[0], *bound = until->in[1];
    if (running->def) { /* limit > counter */
        static const ir_cmp_dir turned[] = {[IR_EQ] = IR_EQ, [IR_NE] = IR_NE, [IR_GE] = IR_LE, [IR_GT] = IR_LT, [IR_LE] = IR_GE, [IR_LT] = IR_GT};
        running = until->in[1];
        bound = until->in[0];
        dir = turned[dir];
    }
    if (running->def || running->block != l->cond || !ir_dtype_is_int(running->type->dtype) || running->type->count != 1) return -1;
    const ir_op *next = ir_block_return(l->body)->in[running->index]->def;
    const ir_value *before = l->body->args[running->index];
    if (!next || (next->code != OP_add && next->code != OP_subtract)) return -1;
    bool left = next->in[0] == before;
    if (!left && (next->in[1] != before || next->code != OP_add)) return -1;
    if (!constant_of(l, next->in[left], &step) || !constant_of(l, bound, &limit)) return -1;
    const ir_value *init = l->c->op->in[running->index];
    if (!grad_is_constant(init, &first)) return -1;
    if (next->code == OP_subtract) step = -step;
    if (dir == IR_GT || dir == IR_GE) first = -first, step = -step, limit = -limit;
    if (dir == IR_GE || dir == IR_LE) limit += 1;
    double span = limit - first;
    if (dir == IR_NE && (step == 0 || span / step != (double)(int64_t)(span / step))) return -1;
    if (dir == IR_NE && step < 0) span = -span, step = -step;
    if (dir == IR_EQ || !(step > 0) || !(span < 1e9)) return -1;
    return span <= 0 ? 0 : (int64_t)((span + step - 1) / step);
}

/* --- loops: one iteration backwards --------------------------------------------------------------------------------------------------------- */
/* States that depend on something wanted, at the start or after some iterations. */
static xt_status find_active(loop *l, grad_inner *in, ir_value *const *results) {
    const ir_op *op = l->c->op;
    l->active = arena_alloc(l->c->b->m->mem, (l->n + 1) * sizeof *l->active);
    if (!l->active) return status_oom(l->n * sizeof *l->active, "gradients");
    for (size_t i = 0; i < l->n; i++)
        if (l->c->want[i]) grad_set_depends(in->block->args[i]);
    for (bool more = true; more;) {
        more = false;
        grad_mark_dependence(in);
        for (size_t i = 0; i < l->n; i++) {
            if (!grad_differentiable(op->in[i]->type) || grad_depends(in->block->args[i], in) || !grad_depends(results[i], in)) continue;
            grad_set_depends(in->block->args[i]);
            more = true;
        }
    }
    for (size_t i = 0; i < l->n; i++)
        if (grad_depends(in->block->args[i], in)) l->active[l->n_active++] = i;
    return NULL;
}

static void drop_unused(ir_block *block) {
    for (ir_op *op = block->last, *before; op; op = before) {
        before = op->prev;
        bool used = !ir_op_is_pure(op) || (ir_op_infos[op->code].flags & IR_TERMINATOR);
        for (size_t i = 0; i < op->n_out; i++) used |= op->out[i].uses > 0;
        if (!used) ir_erase(op);
    }
}

/* back: arguments are the states, then the cotangents of the active ones; results the cotangents before, then those of the captured values. */
static xt_status make_back(loop *l) {
    grad_call *c = l->c;
    const ir_op *op = c->op;
    const ir_type **types = arena_alloc(c->b->m->mem, (l->n + 1) * sizeof *types);
    ir_value **results, **roots, **seeds, **leaves, **grads;
    ir_builder b;
    if (!types) return status_oom(l->n * sizeof *types, "gradients");
    for (size_t i = 0; i < l->n; i++) types[i] = op->in[i]->type;
    XT_TRY(new_region(c, l->n, types, &b));
    grad_inner in = {b.block, c->walk};
    XT_TRY(grad_values(c, l->n, &results));
    XT_TRY(grad_copy_body(&b, l->body, b.block->args, results));
    XT_TRY(find_active(l, &in, results));
    XT_TRY(grad_values(c, l->n, &roots));
    XT_TRY(grad_values(c, l->n, &seeds));
    XT_TRY(grad_values(c, l->n + l->n_captured, &leaves));
    XT_TRY(grad_values(c, l->n + l->n_captured, &grads));
    for (size_t i = 0; i < l->n_active; i++) {
        roots[i] = results[l->active[i]];
        seeds[i] = ir_block_arg(b.m, b.block, roots[i]->type);
        leaves[i] = b.block->args[l->active[i]];
        if (!seeds[i]) return status_oom(sizeof *seeds, "gradients");
    }
    if (l->n_captured) memcpy(leaves + l->n_active, l->captured, l->n_captured * sizeof *leaves);
    XT_TRY(grad_sweep_inner(&in, &b, l->n_active, roots, seeds, l->n_active + l->n_captured, leaves, grads));
    for (size_t i = 0; i < l->n_active + l->n_captured; i++)
        if (!grads[i]) grads[i] = grad_zeros(&b, leaves[i]->type);
    ir_return(&b, l->n_active + l->n_captured, grads);
    XT_TRY(builder_status(&b));
    drop_unused(b.block);
    l->back = b.block;
    return NULL;
}

/* --- loops: building new ones ------------------------------------------------------------------------------------------------------------------ */
static ir_value *number(ir_builder *b, double v) {
    return ir_splat(b, ir_scalar(XT_I64), v);
}

/* A loop over `init` whose condition compares argument 0 with a number, or (NULL) asks the original condition about arguments 1.. */
typedef struct new_loop {
    ir_builder cond, body;
    ir_value *const *args; /* of the body */
} new_loop;

static xt_status begin_loop(loop *l, size_t n, ir_value *const *init, ir_cmp_dir dir, ir_value *limit, new_loop *out) {
    const ir_type **types = arena_alloc(l->c->b->m->mem, (n + 1) * sizeof *types);
    if (!types) return status_oom(n * sizeof *types, "gradients");
    for (size_t i = 0; i < n; i++) {
        if (!init[i]) return status_new(XT_INTERNAL, NULL, "a loop of a gradient lacks state %zu", i);
        types[i] = init[i]->type;
    }
    XT_TRY(new_region(l->c, n, types, &out->cond));
    XT_TRY(new_region(l->c, n, types, &out->body));
    out->args = out->body.block->args;
    ir_value *more = NULL;
    if (limit)
        more = ir_compare(&out->cond, dir, out->cond.block->args[0], limit);
    else
        XT_TRY(grad_copy_body(&out->cond, l->cond, out->cond.block->args + 1, &more));
    ir_return(&out->cond, 1, &more);
    return builder_status(&out->cond);
}

static xt_status end_loop(ir_builder *b, new_loop *k, size_t n, ir_value *const *init, ir_value *const *next, ir_op **out) {
    ir_return(&k->body, n, next);
    XT_TRY(builder_status(&k->body));
    *out = ir_build(b, OP_while, n, init, 0, NULL, 2, (ir_block *[]){k->cond.block, k->body.block}, 0, NULL);
    return *out ? NULL : builder_status(b);
}

/* The forward loop over [counter, states], from 0 up to `limit` (NULL: while its own condition holds). */
static xt_status run_forward(loop *l, ir_builder *b, ir_value *limit, ir_op **out) {
    ir_value **init, **next;
    new_loop k;
    XT_TRY(grad_values(l->c, l->n + 1, &init));
    XT_TRY(grad_values(l->c, l->n + 1, &next));
    init[0] = number(b, 0);
    memcpy(init + 1, l->c->op->in, l->n * sizeof *init);
    if (!init[0]) return builder_status(b);
    XT_TRY(begin_loop(l, l->n + 1, init, IR_LT, limit, &k));
    next[0] = ir_add(&k.body, k.args[0], number(&k.body, 1));
    XT_TRY(grad_copy_body(&k.body, l->body, k.args + 1, next + 1));
    return end_loop(b, &k, l->n + 1, init, next, out);
}

/* x as the box [1, ...] of a store [trips, ...] that begins at `at`. */
static xt_status box_of(loop *l, const ir_type *x, ir_builder *b, ir_value *at, int64_t **dims, ir_value ***start) {
    XT_TRY(grad_ints(l->c, x->rank + 1, dims));
    XT_TRY(grad_values(l->c, x->rank + 1, start));
    (*dims)[0] = 1;
    for (uint32_t i = 0; i < x->rank; i++) {
        (*dims)[i + 1] = x->dims[i];
        (*start)[i + 1] = number(b, 0);
    }
    (*start)[0] = at;
    return NULL;
}

/* Runs the loop once more and keeps the states before every iteration, where they are needed. */
static xt_status store_states(loop *l) {
    grad_call *c = l->c;
    ir_builder *b = c->b;
    ir_value **init, **next, **start;
    int64_t *dims;
    new_loop k;
    ir_op *op;
    size_t n = l->n + 1;
    XT_TRY(grad_values(c, 2 * l->n + 1, &init));
    XT_TRY(grad_values(c, 2 * l->n + 1, &next));
    XT_TRY(grad_values(c, l->n, &l->stored));
    init[0] = number(b, 0);
    memcpy(init + 1, c->op->in, l->n * sizeof *init);
    for (size_t i = 0; i < l->n; i++) {
        const ir_type *t = c->op->in[i]->type;
        if (!l->back->args[i]->uses) continue;
        XT_TRY(box_of(l, t, b, NULL, &dims, &start));
        dims[0] = l->trips;
        init[n++] = ir_splat(b, ir_tensor(t->dtype, t->rank + 1, dims), 0);
    }
    if (b->status) return builder_status(b);
    XT_TRY(begin_loop(l, n, init, IR_LT, number(b, (double)l->trips), &k));
    next[0] = ir_add(&k.body, k.args[0], number(&k.body, 1));
    XT_TRY(grad_copy_body(&k.body, l->body, k.args + 1, next + 1));
    size_t at = l->n + 1;
    for (size_t i = 0; i < l->n; i++) {
        if (!l->back->args[i]->uses) continue;
        const ir_type *t = c->op->in[i]->type;
        XT_TRY(box_of(l, t, &k.body, k.args[0], &dims, &start));
        next[at] = ir_dynamic_update_slice(&k.body, k.args[at], ir_reshape(&k.body, k.args[1 + i], t->rank + 1, dims), t->rank + 1, start);
        at++;
    }
    XT_TRY(end_loop(b, &k, n, init, next, &op));
    at = l->n + 1;
    for (size_t i = 0; i < l->n; i++)
        if (l->back->args[i]->uses) l->stored[i] = &op->out[at++];
    return NULL;
}

/* The states before iteration j, where b stands. */
static xt_status states_before(loop *l, ir_builder *b, ir_value *j, ir_value **out) {
    ir_op *again;
    if (!l->stored) {
        XT_TRY(run_forward(l, b, j, &again));
        for (size_t i = 0; i < l->n; i++) out[i] = &again->out[1 + i];
        return NULL;
    }
    for (size_t i = 0; i < l->n; i++) {
        const ir_type *t = l->c->op->in[i]->type;
        ir_value **start;
        int64_t *dims;
        if (!l->stored[i]) {
            out[i] = l->c->op->in[i]; /* nobody reads it */
            continue;
        }
        XT_TRY(box_of(l, t, b, j, &dims, &start));
        out[i] = ir_reshape(b, ir_dynamic_slice(b, l->stored[i], t->rank + 1, start, dims), t->rank, t->dims);
        if (!out[i]) return builder_status(b);
    }
    return NULL;
}

/* From the last iteration to the first, over [j, cotangents of the active states, sums for the captured values]. */
static xt_status run_backward(loop *l, ir_op **out) {
    grad_call *c = l->c;
    ir_builder *b = c->b;
    size_t n = 1 + l->n_active + l->n_captured;
    ir_value **init, **next, **args;
    new_loop k;
    XT_TRY(grad_values(c, n, &init));
    XT_TRY(grad_values(c, n, &next));
    XT_TRY(grad_values(c, l->n + l->n_active, &args));
    init[0] = l->count ? l->count : number(b, (double)l->trips);
    for (size_t i = 0; i < l->n_active; i++) init[1 + i] = grad_d(c, l->active[i]);
    for (size_t i = 0; i < l->n_captured; i++) init[1 + l->n_active + i] = grad_zeros(b, l->captured[i]->type);
    if (b->status) return builder_status(b);
    XT_TRY(begin_loop(l, n, init, IR_GT, number(b, 0), &k));
    ir_value *j = ir_subtract(&k.body, k.args[0], number(&k.body, 1));
    XT_TRY(states_before(l, &k.body, j, args));
    memcpy(args + l->n, k.args + 1, l->n_active * sizeof *args);
    XT_TRY(grad_copy_body(&k.body, l->back, args, next + 1));
    next[0] = j;
    for (size_t i = 1 + l->n_active; i < n; i++) next[i] = ir_add(&k.body, k.args[i], next[i]);
    return end_loop(b, &k, n, init, next, out);
}

/* `back` has been copied to where it belongs; what it read is no longer read by it. */
static void discard(ir_block *block) {
    while (block->last) ir_erase(block->last);
}

xt_status grad_while(grad_call *c) {
    const ir_op *op = c->op;
    loop l = {.c = c, .cond = op->regions[0].block, .body = op->regions[1].block, .n = op->n_in};
    ir_op *again, *back;
    XT_TRY(grad_captured(c, &l.captured, &l.n_captured));
    l.trips = trip_count(&l);
    if (l.trips == 0) {
        for (size_t i = 0; i < l.n; i++) c->d_in[i] = c->d_out[i];
        return NULL;
    }
    XT_TRY(make_back(&l));
    if (l.trips > 0)
        XT_TRY(store_states(&l));
    else {
        XT_TRY(run_forward(&l, c->b, NULL, &again));
        l.count = &again->out[0];
    }
    XT_TRY(run_backward(&l, &back));
    discard(l.back);
    for (size_t i = 0; i < l.n_active; i++)
        if (c->want[l.active[i]]) c->d_in[l.active[i]] = &back->out[1 + i];
    XT_TRY(grad_values(c, l.n_captured, &c->d_captured));
    for (size_t i = 0; i < l.n_captured; i++) c->d_captured[i] = &back->out[1 + l.n_active + i];
    c->captured = l.captured;
    c->n_captured = l.n_captured;
    return NULL;
}

/* --- calls and composites: what they call --------------------------------------------------------------------------------------------------------- */
xt_status grad_call_op(grad_call *c) {
    const ir_op *op = c->op;
    const char *name = ir_get_string(op, op->code == OP_call ? IR_A_callee : IR_A_decomposition);
    const ir_func *f = name ? ir_func_find(c->b->m, name) : NULL;
    if (!f || !f->body || f->body->n_args != op->n_in || !ir_block_return(f->body)) return grad_refuse(c, "its function is not in the module");
    ir_value **results;
    XT_TRY(grad_values(c, op->n_out, &results));
    const ir_op *stop = grad_last_op(c->b);
    XT_TRY(grad_copy_body(c->b, f->body, op->in, results));
    return grad_through(c, stop, results);
}
