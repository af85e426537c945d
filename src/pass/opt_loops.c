/* needs: nothing. keeps: meaning bit for bit. A value that a loop's body hands on as it got it is no state of the loop:
 * the body reads it from outside, as JAX's scans would have it but write it down as state. The loop then carries less,
 * and what is behind such a value (weights, masks) can be seen from within.
 *
 * State that only its own next value is made of, and that nobody reads behind the loop, is dropped: stacks that xt_scan
 * keeps for a backward pass that was not asked for. */
#include "pass/pass.h"

static bool invariant(const ir_op *loop, uint32_t i) {
    const ir_op *ret = ir_block_return(loop->regions[1].block);
    return ret && ret->in[i] == loop->regions[1].block->args[i];
}

static void drop_arg(ir_block *b, uint32_t i) {
    for (size_t k = i; k + 1 < b->n_args; k++) {
        b->args[k] = b->args[k + 1];
        b->args[k]->index = (uint32_t)k;
    }
    b->n_args--;
}

/* The loop without the state that does not change, in its place. */
static xt_status shrink(ir_module *m, ir_op *loop) {
    ir_block *blocks[2] = {loop->regions[0].block, loop->regions[1].block};
    ir_op *ret = ir_block_return(blocks[1]);
    ir_value **in = arena_alloc(m->mem, (loop->n_in + 1) * sizeof *in);
    uint32_t *from = arena_alloc(m->mem, (loop->n_in + 1) * sizeof *from), n = 0, kept = 0;
    if (!in || !from) return status_oom(loop->n_in * sizeof *in, "a pass");
    for (uint32_t i = 0; i < loop->n_in; i++) {
        if (!invariant(loop, i)) {
            from[n] = i;
            in[n++] = loop->in[i];
            continue;
        }
        ir_replace_uses(m, &loop->out[i], loop->in[i]);
        ir_replace_uses(m, blocks[0]->args[i], loop->in[i]);
        ir_replace_uses(m, blocks[1]->args[i], loop->in[i]);
        ret->in[i]->uses--; /* the mark of what goes below */
        ret->in[i] = NULL;
    }
    for (uint32_t i = 0; i < loop->n_in; i++) {
        if (ret->in[kept]) {
            kept++;
            continue;
        }
        for (uint32_t k = kept; k + 1 < ret->n_in; k++) ret->in[k] = ret->in[k + 1];
        ret->n_in--;
        for (int r = 0; r < 2; r++) drop_arg(blocks[r], kept);
    }
    ir_builder b = ir_before(m, loop);
    b.src = loop->src;
    b.path = loop->path;
    for (int r = 0; r < 2; r++) loop->regions[r].block = NULL, blocks[r]->owner = NULL;
    ir_op *made = ir_build(&b, OP_while, n, in, loop->n_attrs, loop->attrs, 2, blocks, 0, NULL);
    if (!made) return b.status ? b.status : status_oom(sizeof *made, "a pass");
    for (uint32_t i = 0; i < n; i++) ir_replace_uses(m, &loop->out[from[i]], &made->out[i]);
    ir_erase(loop);
    return NULL;
}

static void mark_read(const ir_op *op, uint64_t epoch) {
    for (uint32_t i = 0; i < op->n_in; i++) op->in[i]->mark = epoch;
    for (uint32_t r = 0; r < op->n_regions; r++)
        for (const ir_op *in = op->regions[r].block ? op->regions[r].block->first : NULL; in; in = in->next)
            mark_read(in, epoch);
}

/* Marks what the marked values of a block are made of. */
static void mark_back(const ir_block *b, uint64_t epoch) {
    for (const ir_op *op = b->last; op; op = op->prev) {
        bool read = !(ir_op_infos[op->code].flags & IR_TERMINATOR) && !ir_op_is_pure(op);
        for (uint32_t i = 0; i < op->n_out && !read; i++) read = op->out[i].mark == epoch;
        if (read) mark_read(op, epoch);
    }
}

/* State that nobody reads becomes state that does not change. */
static bool freeze_dead(const ir_op *loop) {
    ir_block *cond = loop->regions[0].block, *body = loop->regions[1].block;
    ir_op *ret = ir_block_return(body);
    if (!ret || body->n_args != loop->n_in || cond->n_args != loop->n_in) return false;
    uint64_t epoch = ir_new_epoch();
    bool any = false;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < loop->n_in; i++)
            if (loop->out[i].uses || cond->args[i]->uses || body->args[i]->mark == epoch) {
                more |= ret->in[i]->mark != epoch;
                ret->in[i]->mark = epoch;
            }
        if (more) mark_back(body, epoch);
    }
    for (uint32_t i = 0; i < loop->n_in; i++) {
        if (loop->out[i].uses || cond->args[i]->uses || body->args[i]->mark == epoch || ret->in[i] == body->args[i])
            continue;
        ir_set_operand(ret, i, body->args[i]);
        any = true;
    }
    return any;
}

static xt_status walk(pass_ctx *c, ir_module *m, ir_block *b) {
    for (ir_op *op = b ? b->first : NULL, *next; op; op = next) {
        next = op->next;
        for (uint32_t r = 0; r < op->n_regions; r++) XT_TRY(walk(c, m, op->regions[r].block));
        uint32_t same = 0;
        if (op->code != OP_while || op->n_regions != 2 || !op->regions[0].block || !op->regions[1].block) continue;
        c->changed |= freeze_dead(op);
        for (uint32_t i = 0; i < op->n_in; i++) same += invariant(op, i);
        /* a loop without state is left alone: it never ends, or never begins */
        if (!same || same == op->n_in) continue;
        XT_TRY(shrink(m, op));
        c->changed = true;
    }
    return NULL;
}

xt_status pass_opt_loops(pass_ctx *c, ir_module *m) {
    for (ir_func *f = m->funcs; f; f = f->next) XT_TRY(walk(c, m, f->body));
    return NULL;
}
