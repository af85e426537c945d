/* Making, changing and removing ops.
 *
 * ir_build first describes the op on the stack, over the caller's own arrays, and lets inference judge it; only a good
 * op is carved from the arena, in one piece: the op, its operand list, its results, attributes and regions lie
 * together. Recording is the hot path of the lazy front end, so nothing here allocates besides that piece unless an op
 * has dozens of results. */
#include "ir/build.h"
#include "ir/infer.h"
#include "ir/types.h"

#include <assert.h>
#include <stdatomic.h>

enum { ON_STACK = 40 };

ir_builder ir_at_end(ir_module *m, ir_block *block) {
    return (ir_builder){.m = m, .block = block};
}
ir_builder ir_before(ir_module *m, ir_op *op) {
    return (ir_builder){.m = m, .block = op->block, .before = op};
}

static void link_op(const ir_builder *b, ir_op *op) {
    ir_block *block = b->block;
    ir_op *next = b->before, *prev = next ? next->prev : block->last;
    op->prev = prev;
    op->next = next;
    if (prev)
        prev->next = op;
    else
        block->first = op;
    if (next)
        next->prev = op;
    else
        block->last = op;
}

ir_op *build_raw(const ir_builder *b, const ir_op *like, size_t n_out, const ir_type *const *types) {
    size_t in_bytes = like->n_in * sizeof *like->in, out_bytes = n_out * sizeof *like->out;
    size_t attr_bytes = like->n_attrs * sizeof *like->attrs, region_bytes = like->n_regions * sizeof *like->regions;
    char *p = arena_alloc(b->m->mem, sizeof(ir_op) + out_bytes + attr_bytes + in_bytes + region_bytes);
    if (!p) return NULL;
    ir_op *op = (ir_op *)p;
    *op = *like;
    op->n_out = (uint32_t)n_out;
    op->block = b->block;
    op->user = 0;
    p += sizeof *op;
    op->out = n_out ? (ir_value *)p : NULL;
    p += out_bytes;
    op->attrs = attr_bytes ? memcpy(p, like->attrs, attr_bytes) : NULL;
    p += attr_bytes;
    op->in = in_bytes ? memcpy(p, like->in, in_bytes) : NULL;
    p += in_bytes;
    op->regions = region_bytes ? memcpy(p, like->regions, region_bytes) : NULL;
    for (uint32_t i = 0; i < n_out; i++)
        op->out[i] = (ir_value){.type = types ? types[i] : like->out[i].type, .def = op, .block = b->block, .index = i};
    link_op(b, op);
    return op;
}

/* A function's signature is what its first return returns, unless it was stated before. */
static bool set_signature(const ir_op *ret) {
    ir_func *f = ret->block->func;
    if (!f || f->result_types || !ret->n_in) return true;
    const ir_type **types = arena_alloc(ret->block->module->mem, ret->n_in * sizeof *types);
    if (!types) return false;
    for (uint32_t i = 0; i < ret->n_in; i++) types[i] = ret->in[i]->type;
    f->result_types = types;
    f->n_results = ret->n_in;
    return true;
}

static xt_status infer_and_make(ir_builder *b, ir_op *like, size_t n_out, const ir_type *const *out_types,
                                ir_op **out) {
    ir_value stated_small[ON_STACK];
    const ir_type *types_small[ON_STACK], **types = types_small;
    size_t n = 0;
    like->n_out = (uint32_t)n_out;
    like->out = n_out <= ON_STACK ? stated_small : arena_alloc(b->m->mem, n_out * sizeof *like->out);
    size_t room = infer_room(like);
    if (room > ON_STACK) types = arena_alloc(b->m->mem, room * sizeof *types);
    if (!like->out || !types) return status_oom(room * sizeof *types, "result types");
    for (size_t i = 0; i < n_out; i++) {
        if (!out_types[i]) {
            xt_status lacking = ir_type_oom("a result type");
            if (lacking) return lacking;
            like->n_out = 0; /* the message lists the stated types that are there: none */
            return infer_fail(like, 0, "stated result type %zu does not exist (a bad shape, or too large)", i);
        }
        like->out[i].type = out_types[i];
    }
    XT_TRY(ir_infer(like, types, &n));
    *out = build_raw(b, like, n, n_out ? out_types : types);
    if (!*out || ((*out)->code == OP_func_return && !set_signature(*out))) return status_oom(sizeof(ir_op), "an op");
    return NULL;
}

ir_op *ir_build(ir_builder *b, ir_opcode code, size_t n_in, ir_value *const *in, size_t n_attrs, const ir_attr *attrs,
                size_t n_regions, ir_block *const *regions, size_t n_out, const ir_type *const *out_types) {
    if (b->status) return NULL;
    for (size_t i = 0; i < n_in; i++)
        if (!in[i]) return NULL;
    ir_region small[8], *list = n_regions <= 8 ? small : arena_alloc(b->m->mem, n_regions * sizeof *list);
    if (!list) {
        b->status = status_oom(n_regions * sizeof *list, "regions");
        return NULL;
    }
    for (size_t i = 0; i < n_regions; i++) list[i].block = regions[i];
    ir_op like = {.code = code,
                  .src = b->src,
                  .path = b->path,
                  .n_in = (uint32_t)n_in,
                  .n_attrs = (uint32_t)n_attrs,
                  .n_regions = (uint32_t)n_regions,
                  .in = (ir_value **)in,
                  .attrs = (ir_attr *)attrs,
                  .regions = list,
                  .block = b->block};
    ir_op *op = NULL;
    b->status = infer_and_make(b, &like, out_types ? n_out : 0, out_types, &op);
    if (b->status) return NULL;
    for (size_t i = 0; i < n_in; i++) in[i]->uses++;
    for (size_t i = 0; i < n_regions; i++) {
        assert(!regions[i] || !regions[i]->owner);
        if (regions[i]) regions[i]->owner = op;
    }
    return op;
}

uint64_t ir_new_epoch(void) {
    static _Atomic(uint32_t) last;
    return (uint64_t)(0x80000000u | atomic_fetch_add_explicit(&last, 1, memory_order_relaxed)) << 32;
}

void ir_set_operand(ir_op *op, size_t i, ir_value *v) {
    op->in[i]->uses--;
    op->in[i] = v;
    v->uses++;
}

/* Regions nest as deep as the program's text, which the parser bounds; so these may recurse. */
static void replace_from(ir_op *first, ir_value *old, ir_value *with) {
    for (ir_op *op = first; op && old->uses; op = op->next) {
        for (uint32_t i = 0; i < op->n_in; i++)
            if (op->in[i] == old) ir_set_operand(op, i, with);
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (op->regions[r].block) replace_from(op->regions[r].block->first, old, with);
    }
}

/* Readers stand behind what they read, most of them near: a pass that replaces one value after the other would take
 * quadratic time if each walk began at the module's first op. */
void ir_replace_uses(ir_module *m, ir_value *old, ir_value *with) {
    if (old == with) return;
    if (old->def)
        replace_from(old->def->next, old, with);
    else if (old->block)
        replace_from(old->block->first, old, with);
    for (ir_func *f = m->funcs; f && old->uses; f = f->next)
        if (f->body) replace_from(f->body->first, old, with);
}

static void drop_uses(ir_op *op) {
    for (uint32_t i = 0; i < op->n_in; i++) op->in[i]->uses--;
    for (uint32_t r = 0; r < op->n_regions; r++)
        for (ir_op *inner = op->regions[r].block ? op->regions[r].block->first : NULL; inner; inner = inner->next)
            drop_uses(inner);
}

void ir_erase(ir_op *op) {
    for (uint32_t i = 0; i < op->n_out; i++) assert(!op->out[i].uses);
    drop_uses(op);
    if (op->prev)
        op->prev->next = op->next;
    else
        op->block->first = op->next;
    if (op->next)
        op->next->prev = op->prev;
    else
        op->block->last = op->prev;
}
