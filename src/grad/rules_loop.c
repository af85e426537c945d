/* Derivatives of loops.
 *
 * A loop is turned around into a loop that runs from the last iteration to the first. Iteration j needs the states that
 * the forward loop had before it. Where the number of iterations can be read from the program (a counter from a
 * constant by a constant to a constant: what for loops, scans and fori_loop become), what is needed for every iteration
 * is stored: by the forward loop itself where it stacks such values as rows (xt_scan's does), otherwise by running it
 * once more. Without a known number (a loop until something holds) there is no size for such a store: the iterations
 * are counted, and the states are computed again from the beginning for each, which takes quadratic time but no memory.
 *
 * What regions read from outside without taking it as an operand gets its gradient as a captured value (loop_terms.c:
 * how its parts are summed). */
#include "grad/loop.h"

/* --- states that are stacks --- */
/* A state that counts 0, 1, 2, ...; l->n when there is none. */
static size_t find_counter(const loop *l) {
    const ir_op *ret = ir_block_return(l->body);
    for (size_t i = 0; i < l->n; i++) {
        const ir_value *arg = l->body->args[i];
        const ir_op *next = ret->in[i]->def;
        double first, step;
        if (arg->type->count != 1 || arg->type->rank || !ir_dtype_is_int(arg->type->dtype) || !next ||
            next->code != OP_add)
            continue;
        bool left = next->in[0] == arg;
        if ((left || next->in[1] == arg) && ir_loop_constant(l->c->op, next->in[left], &step) && step == 1 &&
            ir_is_constant(l->c->op->in[i], &first) && first == 0)
            return i;
    }
    return l->n;
}

/* `at` is the number of the iteration (up), or that of the iterations behind it (down). */
static loop_order row_index(const loop *l, const ir_value *at, const ir_block *block) {
    double top;
    if (l->trips < 1 || l->counter >= l->n) return LOOP_NO_ROW;
    const ir_value *i = block->args[l->counter];
    if (at == i) return LOOP_ROW_UP;
    return at->def && at->def->code == OP_subtract && at->def->in[1] == i && ir_is_constant(at->def->in[0], &top) &&
                   top == (double)(l->trips - 1)
               ? LOOP_ROW_DOWN
               : LOOP_NO_ROW;
}

loop_order loop_row(const loop *l, const ir_type *whole, const ir_type *row, ir_value *const *start,
                    const ir_block *block) {
    double zero;
    if (whole->rank == 0 || whole->dims[0] != l->trips || row->rank != whole->rank || row->dims[0] != 1)
        return LOOP_NO_ROW;
    for (uint32_t d = 1; d < whole->rank; d++)
        if (row->dims[d] != whole->dims[d] || !ir_is_constant(start[d], &zero) || zero != 0) return LOOP_NO_ROW;
    return row_index(l, start[0], block);
}

bool loop_is_row_type(const ir_type *row, const ir_type *x) {
    return row->rank == x->rank + 1 && row->dims[0] == 1 &&
           (x->rank == 0 || memcmp(row->dims + 1, x->dims, x->rank * sizeof *x->dims) == 0);
}

/* What writes to state i, which nothing else reads; NULL: there is no such. */
static ir_op *only_update(const loop *l, size_t i) {
    const ir_op *ret = ir_block_return(l->body);
    const ir_value *arg = l->body->args[i];
    ir_op *set = ret->in[i]->def;
    return set && set->code == OP_dynamic_update_slice && set->block == l->body && set->in[0] == arg &&
                   arg->uses == 1 && set->out[0].uses == 1
               ? set
               : NULL;
}

/* Where a state takes one row an iteration, another each time, the gradient of a row is the row of its gradient. */
static xt_status find_rows(loop *l) {
    arena *mem = l->c->b->m->mem;
    l->rows = arena_alloc(mem, (l->n + 1) * sizeof *l->rows);
    l->kept = arena_alloc(mem, (l->n + 1) * sizeof *l->kept);
    if (!l->rows || !l->kept) return status_oom(l->n * sizeof *l->kept, "gradients");
    for (size_t i = 0; i < l->n; i++) {
        ir_op *set = only_update(l, i);
        const loop_order order =
            set ? loop_row(l, set->in[0]->type, set->in[1]->type, set->in + 2, l->body) : LOOP_NO_ROW;
        l->rows[i] = order && !l->c->want[i] ? set : NULL;
        const ir_op *grown = order == LOOP_ROW_UP ? set->in[1]->def : NULL;
        if (!grown || grown->code != OP_reshape || grown->in[0]->block != l->body ||
            !loop_is_row_type(grown->out[0].type, grown->in[0]->type))
            continue;
        l->kept[l->n_kept++] = (loop_kept){.value = grown->in[0], .stack = &((ir_op *)(uintptr_t)l->c->op)->out[i]};
    }
    return NULL;
}

static const loop_kept *kept_arg(const loop *l, size_t i) {
    for (size_t k = 0; k < l->n_kept; k++)
        if (l->kept[k].value == l->body->args[i]) return &l->kept[k];
    return NULL;
}

/* --- one iteration backwards --- */
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
            if (!grad_differentiable(op->in[i]->type) || l->rows[i] || grad_depends(in->block->args[i], in) ||
                !grad_depends(results[i], in))
                continue;
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

/* The op of `copy` that stands where `op` stands in the body. */
static ir_op *twin(const loop *l, const ir_block *copy, const ir_op *op) {
    ir_op *to = copy->first;
    for (const ir_op *from = l->body->first; from != op; from = from->next) to = to->next;
    return to;
}

static void replace_in(ir_block *block, const ir_value *old, ir_value *with) {
    for (ir_op *op = block ? block->first : NULL; op; op = op->next) {
        for (size_t i = 0; i < op->n_in; i++)
            if (op->in[i] == old) ir_set_operand(op, i, with);
        for (size_t r = 0; r < op->n_regions; r++) replace_in(op->regions[r].block, old, with);
    }
}

/* The cotangents that come into one iteration: of active states as arguments of `back`, of rows as slices of what the
 * loop's result has. */
static xt_status seed_back(loop *l, ir_builder *b, ir_value *const *results, ir_value **roots, ir_value **seeds,
                           size_t *out_n) {
    size_t n = 0;
    for (size_t i = 0; i < l->n_active; i++, n++) {
        roots[n] = results[l->active[i]];
        seeds[n] = ir_block_arg(b->m, b->block, roots[n]->type);
        if (!seeds[n]) return status_oom(sizeof *seeds, "gradients");
    }
    for (size_t i = 0; i < l->n; i++) {
        if (!l->rows[i] || !l->c->d_out[i]) continue;
        const ir_op *set = twin(l, b->block, l->rows[i]);
        roots[n] = set->in[1];
        seeds[n++] = ir_dynamic_slice(b, l->c->d_out[i], set->n_in - 2, set->in + 2, set->in[1]->type->dims);
    }
    *out_n = n;
    return grad_builder_status(b);
}

/* Values that the forward loop keeps are read, not computed again. */
static void use_kept(loop *l, ir_block *back, size_t n_grads, ir_value **grads) {
    for (size_t k = 0; k < l->n_kept; k++) {
        if (!l->kept[k].again) continue;
        replace_in(back, l->kept[k].again, l->kept[k].row);
        for (size_t i = 0; i < n_grads; i++)
            if (grads[i] == l->kept[k].again) grads[i] = l->kept[k].row;
    }
}

/* back: arguments are the states, then rows of what is kept besides, then the cotangents of the active states; results
 * the cotangents before, then what the terms of the captured values' gradients need. */
static xt_status make_back(loop *l) {
    grad_call *c = l->c;
    const ir_op *op = c->op;
    const ir_type **types = arena_alloc(c->b->m->mem, (l->n + 1) * sizeof *types);
    ir_value **results, **roots, **seeds, **leaves, **grads;
    ir_builder b;
    size_t n_roots = 0, n_leaves;
    if (!types) return status_oom(l->n * sizeof *types, "gradients");
    for (size_t i = 0; i < l->n; i++) types[i] = op->in[i]->type;
    XT_TRY(grad_new_region(c, l->n, types, &b));
    grad_inner in = {b.block, c->walk};
    XT_TRY(grad_values(c, l->n, &results));
    XT_TRY(grad_copy_body(&b, l->body, b.block->args, results));
    for (size_t k = 0; k < l->n_kept; k++) {
        const ir_value *v = l->kept[k].value;
        if (!v->def) continue;
        l->kept[k].again = &twin(l, b.block, v->def)->out[v->index];
        if (!(l->kept[k].row = ir_block_arg(b.m, b.block, v->type))) return status_oom(sizeof *v, "gradients");
    }
    XT_TRY(find_active(l, &in, results));
    n_leaves = l->n_active + l->n_captured;
    XT_TRY(grad_values(c, 2 * l->n, &roots));
    XT_TRY(grad_values(c, 2 * l->n, &seeds));
    XT_TRY(grad_values(c, n_leaves, &leaves));
    XT_TRY(grad_values(c, n_leaves, &grads));
    XT_TRY(seed_back(l, &b, results, roots, seeds, &n_roots));
    for (size_t i = 0; i < l->n_active; i++) leaves[i] = b.block->args[l->active[i]];
    if (l->n_captured) memcpy(leaves + l->n_active, l->captured, l->n_captured * sizeof *leaves);
    XT_TRY(grad_sweep_inner(&in, &b, n_roots, roots, seeds, n_leaves, leaves, grads));
    for (size_t i = 0; i < l->n_active; i++)
        if (!grads[i]) grads[i] = grad_zeros(&b, leaves[i]->type);
    XT_TRY(grad_builder_status(&b));
    l->back = b.block;
    use_kept(l, b.block, n_leaves, grads);
    XT_TRY(loop_terms_find(l, grads + l->n_active));
    size_t n = l->n_active;
    XT_TRY(grad_values(c, n + l->n_results, &roots));
    if (n) memcpy(roots, grads, n * sizeof *roots);
    loop_terms_results(l, roots + n);
    ir_return(&b, n + l->n_results, roots);
    XT_TRY(grad_builder_status(&b));
    drop_unused(b.block);
    return NULL;
}

/* --- building new loops --- */
static ir_value *number(ir_builder *b, double v) {
    return ir_splat(b, ir_scalar(XT_I64), v);
}

/* A loop over `init` whose condition compares argument 0 with a number, or (NULL) asks the original condition about
 * arguments 1.. */
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
    XT_TRY(grad_new_region(l->c, n, types, &out->cond));
    XT_TRY(grad_new_region(l->c, n, types, &out->body));
    out->args = out->body.block->args;
    ir_value *more = NULL;
    if (limit)
        more = ir_compare(&out->cond, dir, out->cond.block->args[0], limit);
    else
        XT_TRY(grad_copy_body(&out->cond, l->cond, out->cond.block->args + 1, &more));
    ir_return(&out->cond, 1, &more);
    return grad_builder_status(&out->cond);
}

static xt_status end_loop(ir_builder *b, new_loop *k, size_t n, ir_value *const *init, ir_value *const *next,
                          ir_op **out) {
    ir_return(&k->body, n, next);
    XT_TRY(grad_builder_status(&k->body));
    *out = ir_build(b, OP_while, n, init, 0, NULL, 2, (ir_block *[]){k->cond.block, k->body.block}, 0, NULL);
    return *out ? NULL : grad_builder_status(b);
}

/* The forward loop over [counter, states], from 0 up to `limit` (NULL: while its own condition holds). */
static xt_status run_forward(loop *l, ir_builder *b, ir_value *limit, ir_op **out) {
    ir_value **init, **next;
    new_loop k;
    XT_TRY(grad_values(l->c, l->n + 1, &init));
    XT_TRY(grad_values(l->c, l->n + 1, &next));
    init[0] = number(b, 0);
    memcpy(init + 1, l->c->op->in, l->n * sizeof *init);
    if (!init[0]) return grad_builder_status(b);
    XT_TRY(begin_loop(l, l->n + 1, init, IR_LT, limit, &k));
    next[0] = ir_add(&k.body, k.args[0], number(&k.body, 1));
    XT_TRY(grad_copy_body(&k.body, l->body, k.args + 1, next + 1));
    return end_loop(b, &k, l->n + 1, init, next, out);
}

/* x as the box [1, ...] of a store [trips, ...] that begins at `at`. */
xt_status loop_box(loop *l, const ir_type *x, ir_builder *b, ir_value *at, int64_t **dims, ir_value ***start) {
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

static bool must_store(const loop *l, size_t i) {
    return l->back->args[i]->uses && i != l->counter && !kept_arg(l, i);
}

/* Runs the loop once more and keeps the states before every iteration, where they are needed and the loop has
 * not kept them. */
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
    for (size_t i = 0; i < l->n; i++) {
        const loop_kept *kept = kept_arg(l, i);
        if (kept && l->back->args[i]->uses) l->stored[i] = kept->stack;
    }
    init[0] = number(b, 0);
    memcpy(init + 1, c->op->in, l->n * sizeof *init);
    for (size_t i = 0; i < l->n; i++) {
        const ir_type *t = c->op->in[i]->type;
        if (!must_store(l, i)) continue;
        XT_TRY(loop_box(l, t, b, NULL, &dims, &start));
        dims[0] = l->trips;
        init[n++] = ir_splat(b, ir_tensor(t->dtype, t->rank + 1, dims), 0);
    }
    if (b->status || n == l->n + 1) return grad_builder_status(b);
    XT_TRY(begin_loop(l, n, init, IR_LT, number(b, (double)l->trips), &k));
    next[0] = ir_add(&k.body, k.args[0], number(&k.body, 1));
    XT_TRY(grad_copy_body(&k.body, l->body, k.args + 1, next + 1));
    size_t at = l->n + 1;
    for (size_t i = 0; i < l->n; i++) {
        if (!must_store(l, i)) continue;
        const ir_type *t = c->op->in[i]->type;
        XT_TRY(loop_box(l, t, &k.body, k.args[0], &dims, &start));
        next[at] = ir_dynamic_update_slice(&k.body, k.args[at], ir_reshape(&k.body, k.args[1 + i], t->rank + 1, dims),
                                           t->rank + 1, start);
        at++;
    }
    XT_TRY(end_loop(b, &k, n, init, next, &op));
    at = l->n + 1;
    for (size_t i = 0; i < l->n; i++)
        if (must_store(l, i)) l->stored[i] = &op->out[at++];
    return NULL;
}

/* Row j of a stack of values of type t. */
static xt_status row_of(loop *l, ir_builder *b, ir_value *stack, const ir_type *t, ir_value *j, ir_value **out) {
    ir_value **start;
    int64_t *dims;
    XT_TRY(loop_box(l, t, b, j, &dims, &start));
    *out = ir_reshape(b, ir_dynamic_slice(b, stack, t->rank + 1, start, dims), t->rank, t->dims);
    return *out ? NULL : grad_builder_status(b);
}

/* What `back` reads of iteration j, where b stands: the states before it, and rows that are kept besides. */
static xt_status states_before(loop *l, ir_builder *b, ir_value *j, ir_value **out) {
    ir_op *again;
    size_t n = l->n;
    for (size_t k = 0; k < l->n_kept; k++) {
        const loop_kept *kept = &l->kept[k];
        if (!kept->row) continue;
        if (kept->row->uses)
            XT_TRY(row_of(l, b, kept->stack, kept->row->type, j, &out[n]));
        else
            out[n] = kept->stack; /* nobody reads it */
        n++;
    }
    if (!l->stored) {
        XT_TRY(run_forward(l, b, j, &again));
        for (size_t i = 0; i < l->n; i++) out[i] = &again->out[1 + i];
        return NULL;
    }
    for (size_t i = 0; i < l->n; i++) {
        const ir_type *t = l->c->op->in[i]->type;
        out[i] = l->c->op->in[i]; /* where nobody reads it */
        if (i == l->counter)
            out[i] = ir_convert(b, j, t->dtype);
        else if (l->stored[i])
            XT_TRY(row_of(l, b, l->stored[i], t, j, &out[i]));
    }
    return grad_builder_status(b);
}

/* From the last iteration to the first, over [j, cotangents of the active states, what the terms gather]. */
static xt_status run_backward(loop *l, ir_op **out) {
    grad_call *c = l->c;
    ir_builder *b = c->b;
    size_t n = 1 + l->n_active + l->n_states;
    ir_value **init, **next, **args, **results;
    new_loop k;
    XT_TRY(grad_values(c, n, &init));
    XT_TRY(grad_values(c, n, &next));
    XT_TRY(grad_values(c, l->n_active + l->n_results, &results));
    XT_TRY(grad_values(c, l->n + l->n_kept + l->n_active, &args));
    init[0] = l->count ? l->count : number(b, (double)l->trips);
    for (size_t i = 0; i < l->n_active; i++) init[1 + i] = grad_d(c, l->active[i]);
    XT_TRY(loop_terms_begin(l, init + 1 + l->n_active));
    if (b->status) return grad_builder_status(b);
    XT_TRY(begin_loop(l, n, init, IR_GT, number(b, 0), &k));
    ir_value *j = ir_subtract(&k.body, k.args[0], number(&k.body, 1));
    XT_TRY(states_before(l, &k.body, j, args));
    size_t n_before = l->back->n_args - l->n_active;
    for (size_t i = 0; i < l->n_active; i++) args[n_before + i] = k.args[1 + i];
    XT_TRY(grad_copy_body(&k.body, l->back, args, results));
    next[0] = j;
    for (size_t i = 0; i < l->n_active; i++) next[1 + i] = results[i];
    XT_TRY(loop_terms_step(l, &k.body, j, results + l->n_active, k.args + 1 + l->n_active, next + 1 + l->n_active));
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
    l.trips = ir_trip_count(op);
    if (l.trips == 0) {
        for (size_t i = 0; i < l.n; i++) c->d_in[i] = c->d_out[i];
        return NULL;
    }
    l.counter = l.trips > 0 ? find_counter(&l) : l.n;
    XT_TRY(find_rows(&l));
    XT_TRY(make_back(&l));
    if (l.trips > 0)
        XT_TRY(store_states(&l));
    else {
        XT_TRY(run_forward(&l, c->b, NULL, &again));
        l.count = &again->out[0];
    }
    XT_TRY(run_backward(&l, &back));
    for (size_t i = 0; i < l.n_active; i++)
        if (c->want[l.active[i]]) c->d_in[l.active[i]] = &back->out[1 + i];
    XT_TRY(grad_values(c, l.n_captured, &c->d_captured));
    XT_TRY(loop_terms_end(&l, back->out + 1 + l.n_active, c->d_captured));
    discard(l.back);
    c->captured = l.captured;
    c->n_captured = l.n_captured;
    return NULL;
}
