/* Derivatives of branches and of calls (rules_loop.c: of loops).
 *
 * A branch is turned around inside a branch: the same predicate chooses, and each side computes its forward ops again
 * and then their gradients.
 *
 * What regions read from outside without taking it as an operand gets its gradient as a captured value. */
#include "grad/grad_int.h"

/* --- branches --- */
/* The gradients of one branch by the captured values, in a block that still lacks its return. */
static xt_status branch(grad_call *c, size_t r, size_t n, ir_value *const *captured, ir_builder *in, ir_value **out) {
    const ir_block *from = c->op->regions[r].block;
    ir_value **results, **roots, **seeds;
    XT_TRY(grad_values(c, c->op->n_out, &results));
    XT_TRY(grad_values(c, c->op->n_out, &roots));
    XT_TRY(grad_values(c, c->op->n_out, &seeds));
    XT_TRY(grad_new_region(c, 0, NULL, in));
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
        XT_TRY(grad_builder_status(&in[r]));
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

/* --- calls and composites: what they call --- */
xt_status grad_call_op(grad_call *c) {
    const ir_op *op = c->op;
    const char *name = ir_get_string(op, op->code == OP_call ? IR_A_callee : IR_A_decomposition);
    const ir_func *f = name ? ir_func_find(c->b->m, name) : NULL;
    if (!f || !f->body || f->body->n_args != op->n_in || !ir_block_return(f->body))
        return grad_refuse(c, "its function is not in the module");
    ir_value **results;
    XT_TRY(grad_values(c, op->n_out, &results));
    const ir_op *stop = grad_last_op(c->b);
    XT_TRY(grad_copy_body(c->b, f->body, op->in, results));
    return grad_through(c, stop, results);
}
