/* Loops, branches and barriers of a partitioned program. What a loop carries has one form in the loop, its body's
 * argument's; what enters, what the body returns and what leaves is brought to it. A branch returns the forms that the
 * results of the op have. Predicates are whole, so that all devices go the same way.
 *
 * A dim along which the body takes slices of a carried tensor (the steps of a scan) stays whole in the loop: divided,
 * it would be joined at each turn. */
#include "pass/spmd.h"

static xt_status oom(void) {
    return status_oom(0, "partitioning");
}

bool spmd_is_control(const ir_op *op) {
    if (op->code != OP_while && op->code != OP_if && op->code != OP_case) return false;
    bool whole = op->n_regions > 0;
    for (uint32_t r = 0; r < op->n_regions; r++) {
        const ir_block *b = op->regions[r].block;
        whole = whole && b && b->last && ir_block_return(b) == b->last;
        whole = whole && (op->code != OP_while || b->n_args == op->n_in);
    }
    return whole && (op->code != OP_while || op->n_regions == 2);
}

xt_status spmd_tie(spmd *s, spmd_op *o) {
    const ir_op *op = o->op;
    size_t n_regions = op->n_regions;
    const ir_value **members = arena_alloc(s->mem, (n_regions + 5) * sizeof *members);
    o->ties = arena_alloc(s->mem, (op->n_out + 1) * sizeof *o->ties);
    if (!members || !o->ties) return oom();
    for (uint32_t i = 0; i < op->n_out; i++) {
        size_t n = 0;
        members[n++] = &op->out[i];
        if (op->code == OP_optimization_barrier)
            members[n++] = op->in[i];
        else if (op->code == OP_while) {
            members[n++] = op->in[i];
            members[n++] = op->regions[0].block->args[i];
            members[n++] = op->regions[1].block->args[i];
            members[n++] = op->regions[1].block->last->in[i];
        } else {
            for (size_t r = 0; r < n_regions; r++) members[n++] = op->regions[r].block->last->in[i];
        }
        XT_TRY(spmd_rule_tie(s->mem, n, members, &o->ties[o->n_ties++]));
    }
    return NULL;
}

/* The form in which the loop carries value i. */
static ir_sharding carried(const spmd *s, const ir_op *op, uint32_t i) {
    const ir_block *body = op->regions[1].block;
    const ir_value *arg = body->args[i];
    ir_sharding form = spmd_value_of(s, arg)->want;
    for (const ir_op *in = body->first; in; in = in->next) {
        if ((in->code != OP_dynamic_slice && in->code != OP_dynamic_update_slice) || in->in[0] != arg) continue;
        const ir_type *part = in->code == OP_dynamic_slice ? in->out[0].type : in->in[1]->type;
        for (uint32_t d = 0; d < part->rank; d++)
            if (part->dims[d] != arg->type->dims[d]) ir_sharding_drop(&form, (int)d);
    }
    return form;
}

/* --- regions --- */
typedef struct outside { /* of a region: where building goes on afterwards */
    ir_builder b;
    ir_value *digits[IR_SHARD_AXES], *partition;
} outside;

static outside enter(spmd *s, ir_block *block) {
    outside o = {.b = s->b, .partition = s->partition};
    memcpy(o.digits, s->digits, sizeof o.digits);
    s->b = ir_at_end(s->m, block);
    s->b.src = o.b.src;
    s->b.path = o.b.path;
    s->open[s->n_open++] = ++s->n_regions;
    return o;
}

static void leave(spmd *s, const outside *o) {
    xt_status st = s->b.status;
    s->b = o->b;
    s->b.status = st;
    memcpy(s->digits, o->digits, sizeof s->digits);
    s->partition = o->partition;
    s->n_open--;
}

/* `forms`: of what the region returns. */
static xt_status emit_block(spmd *s, const ir_block *old, const ir_sharding *forms) {
    for (const ir_op *op = old->first; op != old->last; op = op->next) XT_TRY(spmd_emit_op(s, &s->ops[s->at++]));
    const ir_op *ret = s->ops[s->at++].op;
    s->b.src = ret->src;
    s->b.path = ret->path;
    ir_value **out = arena_alloc(s->mem, (ret->n_in + 1) * sizeof *out);
    for (uint32_t i = 0; out && i < ret->n_in; i++) {
        out[i] = spmd_in_form(s, ret->in[i], &forms[i]);
        if (!out[i]) return s->b.status ? s->b.status : oom();
    }
    if (out) ir_return(&s->b, ret->n_in, out);
    return s->b.status ? s->b.status : s->b.block->last ? NULL : oom();
}

static xt_status emit_region(spmd *s, const ir_op *op, uint32_t r, const ir_sharding *carries,
                             const ir_sharding *returns, ir_block **out) {
    const ir_block *old = op->regions[r].block;
    ir_block *block = *out = ir_block_new(s->m);
    if (!block) return oom();
    for (size_t i = 0; i < old->n_args; i++) {
        spmd_value *v = spmd_value_of(s, old->args[i]);
        v->have = v->want = carries[i];
        v->now = ir_block_arg(s->m, block, ir_shard_type(&s->grid, &carries[i], old->args[i]->type));
        if (!v->now) return oom();
    }
    outside o = enter(s, block);
    xt_status st = emit_block(s, old, returns);
    leave(s, &o);
    return st;
}

xt_status spmd_emit_control(spmd *s, spmd_op *c) {
    ir_op *op = c->op;
    bool loop = op->code == OP_while;
    ir_sharding *forms = arena_alloc(s->mem, (op->n_out + 1) * sizeof *forms), none = ir_sharding_none();
    ir_value **in = arena_alloc(s->mem, (op->n_in + 1) * sizeof *in);
    const ir_type **types = arena_alloc(s->mem, (op->n_out + 1) * sizeof *types);
    ir_block **blocks = arena_alloc(s->mem, (op->n_regions + 1) * sizeof *blocks);
    if (!forms || !in || !types || !blocks) return oom();
    for (int a = 0; a < s->grid.n_axes; a++)
        if (!spmd_axis_index(s, a)) return s->b.status ? s->b.status : oom(); /* made here, regions share them */
    for (uint32_t i = 0; i < op->n_out; i++) {
        forms[i] = loop ? carried(s, op, i) : spmd_value_of(s, &op->out[i])->want;
        types[i] = ir_shard_type(&s->grid, &forms[i], op->out[i].type);
        if (!types[i]) return oom();
    }
    for (uint32_t i = 0; i < op->n_in; i++) {
        in[i] = spmd_in_form(s, op->in[i], loop ? &forms[i] : &none);
        if (!in[i]) return s->b.status ? s->b.status : oom();
    }
    for (uint32_t r = 0; r < op->n_regions; r++)
        XT_TRY(emit_region(s, op, r, forms, loop && r == 0 ? &none : forms, &blocks[r]));
    s->b.src = op->src;
    s->b.path = op->path;
    ir_op *made =
        ir_build(&s->b, op->code, op->n_in, in, op->n_attrs, op->attrs, op->n_regions, blocks, op->n_out, types);
    if (!made) return s->b.status ? s->b.status : oom();
    for (uint32_t i = 0; i < op->n_out; i++) {
        spmd_value *v = spmd_value_of(s, &op->out[i]);
        v->now = &made->out[i];
        v->have = forms[i];
    }
    s->emitted++;
    return NULL;
}

/* Nothing is moved for a barrier: each value passes in the form it has, whatever the others have. */
xt_status spmd_emit_barrier(spmd *s, const ir_op *op) {
    ir_value **in = arena_alloc(s->mem, (op->n_in + 1) * sizeof *in);
    const ir_type **types = arena_alloc(s->mem, (op->n_out + 1) * sizeof *types);
    if (!in || !types) return oom();
    for (uint32_t i = 0; i < op->n_in; i++) {
        in[i] = spmd_value_of(s, op->in[i])->now;
        if (!in[i]) return s->b.status ? s->b.status : oom();
        types[i] = in[i]->type;
    }
    ir_op *made = ir_build(&s->b, op->code, op->n_in, in, op->n_attrs, op->attrs, 0, NULL, op->n_out, types);
    for (uint32_t i = 0; made && i < op->n_out; i++) {
        spmd_value *out = spmd_value_of(s, &op->out[i]);
        out->now = &made->out[i];
        out->have = spmd_value_of(s, op->in[i])->have;
    }
    s->emitted++;
    return made ? NULL : s->b.status ? s->b.status : oom();
}
