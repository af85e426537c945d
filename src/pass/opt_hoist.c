/* needs: state that does not change read from outside (opt_loops). keeps: meaning bit for bit. What a loop's body makes
 * of nothing but values from outside is made once, in front of the loop: weights that are scaled, products of what does
 * not change.
 *
 * Not where that costs more than it saves: a result is not larger than what it is made of, which is what the loop would
 * keep in memory instead. Names and windows of arrays (transposes, slices, broadcasts) stay with their readers, which
 * read through them; so do large sums and products of elements that join the loops over elements of those who read
 * them. Barriers hold back what is to be made again inside. */
#include "pass/pass.h"

typedef struct member { /* an op of the body */
    ir_op *op;
    bool unchanging; /* made of nothing but what is outside */
    bool moved; /* its result is made in front of the loop */
    bool wanted; /* and is read by what stays inside */
    bool copied; /* is made in front of the loop, as a result there or for one */
    double leaves; /* bytes outside that it is made of */
    size_t reads; /* where its operands begin in body.reads */
    ir_value *copy;
} member;
typedef struct body {
    ir_block *block;
    member *ops;
    size_t n, cap;
    uint32_t *reads; /* for each operand the member that makes it, NOBODY: it comes from elsewhere */
    size_t n_reads, cap_reads, most_reads; /* most_reads: of one op */
    uint64_t first; /* the mark of the first member's result; those of the others follow */
} body;

enum { NOBODY = UINT32_MAX };

static member *member_of(const body *b, const ir_value *v) {
    return v->mark >= b->first && v->mark < b->first + b->n ? &b->ops[v->mark - b->first] : NULL;
}

static bool is_outside(const ir_block *region, const ir_value *v) {
    for (const ir_block *b = v->block; b; b = b->owner ? b->owner->block : NULL)
        if (b == region) return false;
    return true;
}

/* Regions of reductions and the like: what they read besides their own lies further out than the body. */
static bool regions_read_outside(const ir_block *region, const ir_op *of) {
    for (uint32_t r = 0; r < of->n_regions; r++)
        for (const ir_op *op = of->regions[r].block ? of->regions[r].block->first : NULL; op; op = op->next) {
            if (op->n_regions) return false;
            for (uint32_t i = 0; i < op->n_in; i++)
                if (op->in[i]->block != of->regions[r].block && !is_outside(region, op->in[i])) return false;
        }
    return true;
}

/* A name, a window, or what is made of nothing: free to whoever reads it. */
static bool is_free(const ir_op *op) {
    switch ((int)op->code) {
    case OP_constant:
    case OP_iota:
    case OP_broadcast:
    case OP_broadcast_in_dim:
    case OP_reshape:
    case OP_transpose:
    case OP_slice:
    case OP_reverse:
    case OP_get_tuple_element: return true;
    default: return false;
    }
}

static bool is_slow(const ir_op *op) {
    bool elementwise = ir_op_infos[op->code].flags & IR_ELEMENTWISE || op->code == OP_convert;
    return !elementwise || ir_op_infos[op->code].flags & IR_TRANSCENDENTAL || op->code == OP_divide ||
           op->code == OP_remainder;
}

static bool is_candidate(const body *b, const ir_op *op) {
    if (op->n_out != 1 || op->out[0].type->kind != IR_TENSOR || op->out[0].type->count < 0 || !ir_op_is_pure(op))
        return false;
    switch ((int)op->code) {
    case OP_while:
    case OP_if:
    case OP_case:
    case OP_call:
    case OP_custom_call:
    case OP_optimization_barrier: return false;
    default: return regions_read_outside(b->block, op);
    }
}

/* In order: operands come before their readers. */
static void classify(const body *b, member *x) {
    const ir_op *op = x->op;
    x->unchanging = is_candidate(b, op);
    for (uint32_t i = 0; i < op->n_in && x->unchanging; i++) {
        const member *from = member_of(b, op->in[i]);
        x->unchanging = from ? from->unchanging : is_outside(b->block, op->in[i]);
        x->leaves += from ? from->leaves : (double)ir_type_bytes(op->in[i]->type);
    }
    double bytes = x->unchanging ? (double)ir_type_bytes(op->out[0].type) : 0;
    x->moved = x->unchanging && !is_free(op) && bytes > 0 && bytes <= x->leaves;
}

/* Who stays inside reads it; `in_loop`: as an element of a loop over elements. */
static void read_inside(const body *b, const ir_value *v, bool in_loop) {
    enum { SMALL = 4096 }; /* elements: to begin a loop costs more than to run it */
    member *from = member_of(b, v);
    if (!from || from->wanted) return;
    if (from->moved) {
        from->wanted = !in_loop || is_slow(from->op) || v->type->count <= SMALL;
        if (from->wanted) return;
        from->moved = false;
    } else if (!from->unchanging || !is_free(from->op)) {
        return;
    }
    for (uint32_t i = 0; i < from->op->n_in; i++) read_inside(b, from->op->in[i], in_loop);
}

static void read_by(const body *b, const ir_op *op) {
    bool in_loop = ir_op_infos[op->code].flags & IR_ELEMENTWISE || op->code == OP_convert;
    for (uint32_t i = 0; i < op->n_in; i++) read_inside(b, op->in[i], in_loop);
    for (uint32_t r = 0; r < op->n_regions; r++)
        for (const ir_op *in = op->regions[r].block ? op->regions[r].block->first : NULL; in; in = in->next)
            read_by(b, in);
}

static xt_status collect(body *b) {
    for (ir_op *op = b->block->first; op; op = op->next) {
        const member x = {.op = op};
        if (!VEC_PUSH(b->ops, b->n, b->cap, x)) return status_oom(sizeof x, "a pass");
    }
    b->first = ir_new_epoch(); /* its lower half is ours */
    for (size_t i = 0; i < b->n; i++)
        if (b->ops[i].op->n_out == 1) b->ops[i].op->out[0].mark = b->first + i;
    for (size_t i = 0; i < b->n; i++) {
        const ir_op *op = b->ops[i].op;
        b->ops[i].reads = b->n_reads;
        if (op->n_in > b->most_reads) b->most_reads = op->n_in;
        for (uint32_t k = 0; k < op->n_in; k++) {
            const member *from = member_of(b, op->in[k]);
            const uint32_t who = from ? (uint32_t)(from - b->ops) : NOBODY;
            if (!VEC_PUSH(b->reads, b->n_reads, b->cap_reads, who)) return status_oom(sizeof who, "a pass");
        }
    }
    for (size_t i = 0; i < b->n; i++) classify(b, &b->ops[i]);
    for (size_t i = b->n; i-- > 0;)
        if (!b->ops[i].unchanging) read_by(b, b->ops[i].op);
    return NULL;
}

/* What is wanted in front of the loop, and what that is made of, from the last op to the first. */
static bool choose(body *b) {
    bool any = false;
    for (size_t i = b->n; i-- > 0;) {
        member *x = &b->ops[i];
        x->copied = x->copied || x->wanted;
        any = any || x->copied;
        for (uint32_t k = 0; k < x->op->n_in && x->copied; k++)
            if (b->reads[x->reads + k] != NOBODY) b->ops[b->reads[x->reads + k]].copied = true;
    }
    return any;
}

static xt_status copy_all(const body *b, ir_module *m, ir_op *loop) {
    ir_value **from = arena_alloc(m->mem, (2 * b->most_reads + 1) * sizeof *from), **to = from + b->most_reads;
    if (!from) return status_oom(b->most_reads * sizeof *from, "a pass");
    for (size_t i = 0; i < b->n; i++) {
        member *x = &b->ops[i];
        size_t n = 0;
        if (!x->copied) continue;
        for (uint32_t k = 0; k < x->op->n_in; k++) {
            if (b->reads[x->reads + k] == NOBODY) continue;
            from[n] = x->op->in[k];
            to[n++] = b->ops[b->reads[x->reads + k]].copy;
        }
        ir_builder at = ir_before(m, loop);
        XT_TRY(ir_copy_range(&at, x->op, x->op, n, from, to));
        x->copy = &loop->prev->out[0];
    }
    return NULL;
}

static void read_copies(const body *b, const ir_block *in) {
    for (ir_op *op = in ? in->first : NULL; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_in; i++) {
            const member *x = member_of(b, op->in[i]);
            if (x && x->wanted) ir_set_operand(op, i, x->copy);
        }
        for (uint32_t r = 0; r < op->n_regions; r++) read_copies(b, op->regions[r].block);
    }
}

static xt_status hoist(pass_ctx *c, ir_module *m, ir_op *loop) {
    body b = {.block = loop->regions[1].block};
    xt_status s = collect(&b);
    if (!s && choose(&b)) {
        s = copy_all(&b, m, loop);
        b.first = ir_new_epoch(); /* copying has lost the marks */
        for (size_t i = 0; i < b.n; i++)
            if (b.ops[i].op->n_out == 1) b.ops[i].op->out[0].mark = b.first + i;
        if (!s) read_copies(&b, b.block);
        c->changed = true;
    }
    base_free(b.ops);
    base_free(b.reads);
    return s;
}

static xt_status walk(pass_ctx *c, ir_module *m, ir_block *b) {
    for (ir_op *op = b ? b->first : NULL; op; op = op->next) {
        for (uint32_t r = 0; r < op->n_regions; r++) XT_TRY(walk(c, m, op->regions[r].block));
        if (op->code == OP_while && op->n_regions == 2 && op->regions[1].block) XT_TRY(hoist(c, m, op));
    }
    return NULL;
}

xt_status pass_opt_hoist(pass_ctx *c, ir_module *m) {
    for (ir_func *f = m->funcs; f; f = f->next) XT_TRY(walk(c, m, f->body));
    return NULL;
}
