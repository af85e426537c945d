/* Activation checkpointing: the ops of a region are copied to where the backward pass has come to, and the copy is
 * differentiated instead of the original, whose results the program can then forget.
 *
 * Two barriers hold the copy in its place in time, whatever a device's compiler does:
 *  - what the copy reads passes through one together with the cotangents that flow in. So no compiler can see that
 *    the copy computes what was computed before (JAX's remat does the same), nor start it before the backward pass
 *    has arrived;
 *  - what the region gives leaves through another, all of it at once. So the gradients of the region's own parameters
 *    are computed before the pass goes on to earlier regions, and what they were computed from need not wait for the
 *    end of the program. */
#include "grad/grad_int.h"

typedef struct borrowed { /* a mark of somebody else's, put back at the end */
    ir_value *value;
    uint64_t mark;
} borrowed;

typedef struct recompute {
    ir_builder *b;
    const grad_region *region;
    uint64_t epoch;
    borrowed *marks;
    size_t n_marks, cap_marks;
    ir_value **in; /* what the region reads */
    size_t n_in, cap_in;
} recompute;

static xt_status no_memory(void) {
    return status_oom(sizeof(ir_op), "computing a checkpointed block again");
}

static bool seen(const recompute *r, const ir_value *v) {
    return v->mark >> 32 == r->epoch >> 32;
}

static bool borrow(recompute *r, ir_value *v) {
    borrowed m = {v, v->mark};
    if (seen(r, v)) return true;
    v->mark = r->epoch;
    return VEC_PUSH(r->marks, r->n_marks, r->cap_marks, m);
}

/* Borrows the marks of everything the region makes (nested regions of ops included) and lists what it reads
 * from outside. */
static bool survey(recompute *r, const ir_block *block, const ir_op *first, const ir_op *last) {
    for (size_t i = 0; block && i < block->n_args; i++)
        if (!borrow(r, block->args[i])) return false;
    for (const ir_op *op = first; op; op = op->next) {
        for (size_t i = 0; i < op->n_in; i++)
            if (!seen(r, op->in[i]) && (!borrow(r, op->in[i]) || !VEC_PUSH(r->in, r->n_in, r->cap_in, op->in[i])))
                return false;
        for (size_t k = 0; k < op->n_regions; k++)
            if (op->regions[k].block && !survey(r, op->regions[k].block, op->regions[k].block->first, NULL))
                return false;
        for (size_t i = 0; i < op->n_out; i++)
            if (!borrow(r, &op->out[i])) return false;
        if (op == last) break;
    }
    return true;
}

/* Constants pass beside the barrier, so that they can still be folded. */
static bool through_barrier(const ir_value *v) {
    return v->type->kind == IR_TENSOR && !ir_is_constant(v, NULL);
}

/* to[i] and cotangents[i] are in[i] and seeds[i] behind one barrier. */
static xt_status enter(recompute *r, size_t n_seeds, ir_value *const *seeds, ir_value **to, ir_value **cotangents) {
    ir_value **all = arena_alloc(r->b->m->mem, (r->n_in + n_seeds + 1) * sizeof *all);
    if (!all) return no_memory();
    size_t n = 0;
    for (size_t i = 0; i < r->n_in; i++)
        if (through_barrier(r->in[i])) all[n++] = r->in[i];
    memcpy(all + n, seeds, n_seeds * sizeof *all);
    ir_op *barrier = ir_build(r->b, OP_optimization_barrier, n + n_seeds, all, 0, NULL, 0, NULL, 0, NULL);
    if (!barrier) return r->b->status ? NULL : no_memory();
    n = 0;
    for (size_t i = 0; i < r->n_in; i++) {
        to[i] = r->in[i];
        if (!through_barrier(r->in[i])) continue;
        to[i] = &barrier->out[n++];
        to[i]->user = r->in[i]->user;
    }
    for (size_t i = 0; i < n_seeds; i++) cotangents[i] = &barrier->out[n + i];
    return NULL;
}

static void give_back_marks(recompute *r) {
    for (size_t i = r->n_marks; i-- > 0;) r->marks[i].value->mark = r->marks[i].mark;
    r->n_marks = 0;
}

typedef struct matched { /* values of the region whose copies are wanted: replaced by them in place */
    size_t n;
    ir_value *const *old;
    ir_value **now;
} matched;

/* Originals and copies stand in the same order, so two fingers find every pair. */
static void match(const recompute *r, const ir_op *copy, matched *lists, size_t n_lists, size_t n_inner,
                  const grad_region *inner, grad_region *inner_now) {
    for (const ir_op *op = r->region->first;; op = op->next, copy = copy->next) {
        ((ir_op *)(uintptr_t)copy)->user = op->user;
        for (size_t i = 0; i < op->n_out; i++) copy->out[i].user = op->out[i].user;
        for (size_t l = 0; l < n_lists; l++)
            for (size_t i = 0; i < lists[l].n; i++)
                if (lists[l].old[i]->def == op) lists[l].now[i] = &copy->out[lists[l].old[i]->index];
        for (size_t i = 0; i < n_inner; i++) {
            if (inner[i].first == op) inner_now[i].first = copy;
            if (inner[i].last == op) inner_now[i].last = copy;
        }
        if (op == r->region->last) break;
    }
}

/* The gradients out[i] that are there leave together. */
static xt_status leave(ir_builder *b, size_t n, ir_value **out) {
    ir_value **all = arena_alloc(b->m->mem, (n + 1) * sizeof *all);
    if (!all) return no_memory();
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (out[i]) all[k++] = out[i];
    ir_op *barrier = k > 1 ? ir_build(b, OP_optimization_barrier, k, all, 0, NULL, 0, NULL, 0, NULL) : NULL;
    k = 0;
    for (size_t i = 0; barrier && i < n; i++)
        if (out[i]) out[i] = &barrier->out[k++];
    return NULL;
}

static xt_status differentiate(recompute *r, const grad_walk *w, size_t k, size_t n_seeds, ir_value *const *values,
                               ir_value *const *seeds, grad_recomputed *out) {
    arena *mem = r->b->m->mem;
    size_t n_inner = k - r->region->inside, n_leaves = r->n_in + w->n_leaves;
    const grad_region *inner = w->regions + r->region->inside;
    ir_value **to = arena_alloc(mem, (r->n_in + 1) * sizeof *to),
             **cotangents = arena_alloc(mem, (n_seeds + 1) * sizeof *cotangents);
    ir_value **roots = arena_alloc(mem, (n_seeds + 1) * sizeof *roots),
             **leaves = arena_alloc(mem, (n_leaves + 1) * sizeof *leaves);
    ir_value **grads = arena_alloc(mem, (n_leaves + 1) * sizeof *grads),
             **in = arena_alloc(mem, (r->n_in + 1) * sizeof *in);
    grad_region *inner_now = arena_alloc(mem, (n_inner + 1) * sizeof *inner_now);
    if (!to || !cotangents || !roots || !leaves || !grads || !in || !inner_now) return no_memory();
    if (r->n_in) memcpy(in, r->in, r->n_in * sizeof *in);
    XT_TRY(enter(r, n_seeds, seeds, to, cotangents));
    if (r->b->status) return NULL;
    const ir_op *stop = r->b->before ? r->b->before->prev : r->b->block->last;
    XT_TRY(ir_copy_range(r->b, r->region->first, r->region->last, r->n_in, r->in, to));
    give_back_marks(r);

    for (size_t i = 0; i < n_inner; i++) inner_now[i].inside = inner[i].inside - r->region->inside;
    memcpy(leaves, to, r->n_in * sizeof *leaves);
    for (size_t i = 0; i < n_seeds; i++) roots[i] = values[i];
    matched lists[] = {{n_seeds, values, roots}, {w->n_leaves, w->leaves, leaves + r->n_in}};
    memcpy(leaves + r->n_in, w->leaves, w->n_leaves * sizeof *leaves);
    match(r, stop->next, lists, BASE_COUNT(lists), n_inner, inner, inner_now);

    grad_walk again = {.stop = stop,
                       .n_roots = n_seeds,
                       .roots = roots,
                       .seeds = cotangents,
                       .n_leaves = n_leaves,
                       .leaves = leaves,
                       .needs = w->needs,
                       .flows = w->flows,
                       .user = w->user,
                       .custom = w->custom,
                       .regions = inner_now,
                       .n_regions = n_inner};
    XT_TRY(grad_sweep(r->b, &again, grads));
    for (size_t i = 0; i < w->n_leaves; i++)
        if (leaves[r->n_in + i] == w->leaves[i]) grads[r->n_in + i] = NULL; /* made elsewhere */
    XT_TRY(leave(r->b, n_leaves, grads));
    *out = (grad_recomputed){.n = r->n_in, .in = in, .d_in = grads, .d_leaf = grads + r->n_in};
    return NULL;
}

xt_status grad_recompute(ir_builder *b, const grad_walk *w, size_t k, size_t n_seeds, ir_value *const *values,
                         ir_value *const *seeds, grad_recomputed *out) {
    recompute r = {.b = b, .region = &w->regions[k], .epoch = ir_new_epoch()};
    src_id src = b->src;
    uint32_t path = b->path;
    b->src = r.region->last->src;
    b->path = r.region->last->path;
    xt_status st = survey(&r, NULL, r.region->first, r.region->last) ? NULL : no_memory();
    if (!st) st = differentiate(&r, w, k, n_seeds, values, seeds, out);
    give_back_marks(&r);
    base_free(r.marks);
    base_free(r.in);
    b->src = src;
    b->path = path;
    return st;
}
