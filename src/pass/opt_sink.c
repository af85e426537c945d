/* needs: common ops merged, which this would undo. keeps: meaning bit for bit. What a loop or branch reads from outside
 * and what is made of nothing but constants and positions (numbers, masks) is made again inside. There it costs next to
 * nothing, as part of the loops over elements that read it; from outside it would be an array in memory, and a kernel
 * could not see what is in it. */
#include "pass/pass.h"

enum { MOST_OPS = 16, MOST_DEPTH = 12, SMALL = 16 };

/* All of it in one block, as it is copied from there: in the region of another op it may read what lies further out. */
static bool is_made_of_nothing(const ir_value *v, const ir_block *in, int depth, int *ops) {
    const ir_op *op = v->def;
    if (!op || v->block != in || depth > MOST_DEPTH || ++*ops > MOST_OPS || op->n_out != 1 || op->n_regions)
        return false;
    const ir_literal *l = op->code == OP_constant ? ir_get_literal(op) : NULL;
    switch ((int)op->code) {
    case OP_constant: return l && (l->splat || l->type->count <= SMALL);
    case OP_iota:
    case OP_broadcast_in_dim:
    case OP_reshape:
    case OP_compare:
    case OP_select:
    case OP_and:
    case OP_or:
    case OP_not:
    case OP_add:
    case OP_subtract:
    case OP_convert: break;
    default: return false;
    }
    for (uint32_t i = 0; i < op->n_in; i++)
        if (!is_made_of_nothing(op->in[i], in, depth + 1, ops)) return false;
    return true;
}

static bool is_outside(const ir_block *region, const ir_value *v) {
    for (const ir_block *b = v->block; b; b = b->owner ? b->owner->block : NULL)
        if (b == region) return false;
    return true;
}

typedef struct sinker {
    pass_ctx *c;
    ir_module *m;
    ir_block *region;
    ir_op *first;
} sinker;

static xt_status never(void *user, size_t k, const ir_value *from, ir_value **out) {
    (void)user, (void)k, (void)from;
    *out = NULL;
    return status_new(XT_INTERNAL, NULL, "a constant that depends on an argument");
}

static void made(void *user, const ir_op *from, ir_op *copy) {
    (void)user, (void)from, (void)copy;
}

static void replace_in(ir_block *b, const ir_value *old, ir_value *with) {
    for (ir_op *op = b ? b->first : NULL; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_in; i++)
            if (op->in[i] == old) ir_set_operand(op, i, with);
        for (uint32_t r = 0; r < op->n_regions; r++) replace_in(op->regions[r].block, old, with);
    }
}

/* What `b`, the region or a block in it, reads from outside the region. */
static xt_status sink_reads(sinker *s, ir_block *b) {
    static const ir_copy_hooks hooks = {.leaf = never, .made = made};
    for (ir_op *op = b ? b->first : NULL; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_in; i++) {
            ir_value *v = op->in[i], *copy = NULL;
            int ops = 0;
            if (!is_outside(s->region, v) || !is_made_of_nothing(v, v->block, 0, &ops)) continue;
            ir_builder at = ir_before(s->m, s->first);
            XT_TRY(ir_copy_needed(&at, v, &hooks, &copy));
            replace_in(s->region, v, copy);
            s->c->changed = true;
        }
        for (uint32_t r = 0; r < op->n_regions; r++) XT_TRY(sink_reads(s, op->regions[r].block));
    }
    return NULL;
}

static xt_status walk(pass_ctx *c, ir_module *m, ir_block *b) {
    for (ir_op *op = b ? b->first : NULL; op; op = op->next) {
        bool control = op->code == OP_while || op->code == OP_if || op->code == OP_case;
        for (uint32_t r = 0; r < op->n_regions; r++) {
            ir_block *region = op->regions[r].block;
            sinker s = {.c = c, .m = m, .region = region, .first = region ? region->first : NULL};
            if (control && s.first) XT_TRY(sink_reads(&s, region));
            XT_TRY(walk(c, m, region));
        }
    }
    return NULL;
}

xt_status pass_opt_sink(pass_ctx *c, ir_module *m) {
    for (ir_func *f = m->funcs; f; f = f->next) XT_TRY(walk(c, m, f->body));
    return NULL;
}
