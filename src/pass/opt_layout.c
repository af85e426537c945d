/* needs: nothing. keeps: meaning bit for bit, but for the order in which a scatter's sums are added.
 *
 * Takes away moves of memory that only a certain order of ops asks for:
 *  1. convert(transpose(x)) whose readers are products, transposes or converts becomes transpose(convert(x)): a product
 *     reads a transposed operand where it lies, and two transposes that meet cancel (mixed precision puts a conversion
 *     between them).
 *  2. x + scatter_add(zeros, indices, updates) becomes scatter_add(x, indices, updates): the gradient of an embedding
 *     that shares its weights with the output layer needs no array of zeros, and no second pass over one that is as
 *     large as the weights. */
#include "pass/pass.h"

enum { READ_BY_OTHERS = 1 }; /* mark of a value: somebody reads it who cannot read it transposed for nothing */

static bool reads_transposed(const ir_op *op) {
    return op->code == OP_dot_general || op->code == OP_dot || op->code == OP_transpose || op->code == OP_convert;
}

static void mark_readers(const ir_block *b, uint64_t epoch) {
    for (const ir_op *op = b->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_in; i++)
            if (!reads_transposed(op) || op->block != op->in[i]->block) op->in[i]->mark = epoch | READ_BY_OTHERS;
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (op->regions[r].block) mark_readers(op->regions[r].block, epoch);
    }
}

/* x with its dims in the order perm; one transpose where x is one already, none where that leads back. */
static ir_value *permuted(ir_builder *b, ir_value *x, const int64_t *perm, size_t n) {
    int64_t both[IR_MAX_RANK];
    bool same = true;
    const int64_t *inner = NULL;
    size_t m;
    if (x->def && x->def->code == OP_transpose) inner = ir_get_ints(x->def, IR_A_permutation, &m);
    for (size_t i = 0; i < n; i++) {
        both[i] = inner ? inner[perm[i]] : perm[i];
        same = same && both[i] == (int64_t)i;
    }
    if (inner) x = x->def->in[0];
    return same ? x : ir_transpose(b, x, n, both);
}

static xt_status sink(pass_ctx *c, ir_module *m, ir_op *op, uint64_t epoch) {
    ir_op *t = op->in[0]->def;
    if (op->code == OP_convert) {
        if (!t || t->code != OP_transpose || t->block != op->block || op->out[0].mark == (epoch | READ_BY_OTHERS) ||
            op->out[0].type->count < 0)
            return NULL;
    } else if (!t || t->code != OP_transpose || op->code != OP_transpose) {
        return NULL;
    }
    size_t n;
    const int64_t *perm = ir_get_ints(op->code == OP_convert ? t : op, IR_A_permutation, &n);
    ir_builder b = ir_before(m, op);
    ir_value *x = op->code == OP_convert ? ir_convert(&b, t->in[0], op->out[0].type->dtype) : op->in[0];
    ir_value *y = x ? permuted(&b, x, perm, n) : NULL;
    if (!y || b.status) return b.status;
    ir_replace_uses(m, &op->out[0], y);
    ir_erase(op);
    if (!t->out[0].uses) ir_erase(t);
    c->changed = true;
    return NULL;
}

static bool is_zeros(const ir_value *v) {
    while (v->def && (v->def->code == OP_broadcast_in_dim || v->def->code == OP_reshape)) v = v->def->in[0];
    const ir_literal *l = v->def && v->def->code == OP_constant ? ir_get_literal(v->def) : NULL;
    static const char zeros[16];
    size_t elem = xt_dtype_size(v->type->dtype);
    return l && (l->splat || l->type->count == 1) && elem <= sizeof zeros && !memcmp(l->data, zeros, elem);
}

static bool adds(const ir_region *r) {
    const ir_op *o = r->block ? r->block->first : NULL;
    return o && o->code == OP_add && r->block->n_args == 2 && o->next == r->block->last && o->next->n_in == 1 &&
           o->next->in[0] == &o->out[0] && o->in[0] != o->in[1] && o->in[0]->block == r->block &&
           o->in[1]->block == r->block && !o->in[0]->def && !o->in[1]->def;
}

static xt_status add_into(pass_ctx *c, ir_module *m, ir_op *op) {
    for (uint32_t i = 0; op->code == OP_add && i < 2; i++) {
        ir_op *s = op->in[i]->def;
        if (!s || s->code != OP_scatter || s->block != op->block || s->n_in != 3 || s->out[0].uses != 1 ||
            !is_zeros(s->in[0]) || !adds(&s->regions[0]))
            continue;
        ir_builder b = ir_before(m, op);
        b.src = s->src;
        b.path = s->path;
        ir_value *in[3] = {op->in[1 - i], s->in[1], s->in[2]};
        ir_block *region = s->regions[0].block;
        const ir_type *type = op->out[0].type;
        region->owner = NULL; /* it moves */
        s->regions[0].block = NULL;
        ir_op *made = ir_build(&b, OP_scatter, 3, in, s->n_attrs, s->attrs, 1, &region, 1, &type);
        if (!made) return b.status;
        ir_replace_uses(m, &op->out[0], &made->out[0]);
        ir_erase(op);
        ir_erase(s);
        c->changed = true;
        return NULL;
    }
    return NULL;
}

static xt_status walk(pass_ctx *c, ir_module *m, ir_block *b, uint64_t epoch) {
    for (ir_op *op = b->first, *next; op; op = next) {
        next = op->next;
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (op->regions[r].block) XT_TRY(walk(c, m, op->regions[r].block, epoch));
        if (op->code == OP_convert || op->code == OP_transpose)
            XT_TRY(sink(c, m, op, epoch));
        else if (op->code == OP_add)
            XT_TRY(add_into(c, m, op));
    }
    return NULL;
}

xt_status pass_opt_layout(pass_ctx *c, ir_module *m) {
    uint64_t epoch = ir_new_epoch();
    for (ir_func *f = m->funcs; f; f = f->next)
        if (f->body) mark_readers(f->body, epoch);
    for (ir_func *f = m->funcs; f; f = f->next)
        if (f->body) XT_TRY(walk(c, m, f->body, epoch));
    return NULL;
}
