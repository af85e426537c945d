/* needs: common ops merged, which this would undo. keeps: meaning bit for bit. A backward pass reads what the forward
 * pass computed on the way: of a gelu five arrays, which all follow from one by a few instructions an element. What
 * waits in memory across matrix products and convolutions for loops over elements is computed again where it is read,
 * when it follows by elementwise ops from what waits there anyway: less memory at the peak, and one array read in
 * place of several.
 *
 * A stretch is what lies between two products. A value waits when an op of a later stretch reads it. It is
 * computed again when
 *  1. it is a large float array that only elementwise ops read later: what a product reads has to be in memory;
 *  2. all it is made of, through at most MOST_OPS elementwise ops of its own stretch, waits at least as long and has no
 *     wider elements, is told by one number or by none (constants, positions), or is small beside it.
 * Values are looked at in the program's order, so that of a chain the first one stays in memory and the rest
 * follows from it. */
#include "pass/pass.h"

enum { MOST_OPS = 12, LARGE = 512 << 10, SMALL = 16 }; /* SMALL: what has at most a 16th of the elements */

typedef struct place { /* of an op's result, by the op's number in its block */
    uint32_t stretch, until; /* where it is made; the last one that reads it */
    bool again; /* computed again by those that read it later */
    bool in_memory; /* read later by what is not elementwise */
    uint32_t made_in; /* the stretch of `copy` */
    ir_value *copy;
} place;
typedef struct recompute {
    ir_module *m;
    ir_block *block;
    place *places;
    uint64_t epoch;
    xt_status status;
} recompute;

static place *place_of(const recompute *r, const ir_value *v) {
    bool ours = v->def && v->block == r->block && v->index == 0 && (v->mark >> 32) == (r->epoch >> 32);
    return ours ? &r->places[(uint32_t)v->mark] : NULL;
}

static bool is_elementwise(const ir_op *op) {
    return (ir_op_infos[op->code].flags & IR_ELEMENTWISE) && op->n_out == 1 && op->n_regions == 0;
}

static bool is_product(const ir_op *op) {
    return op->code == OP_dot_general || op->code == OP_convolution;
}

/* --- who waits how long --- */
static void note_reads(recompute *r, const ir_op *op, uint32_t stretch, bool inside) {
    for (uint32_t i = 0; i < op->n_in; i++) {
        place *p = place_of(r, op->in[i]);
        if (!p || p->stretch == stretch) continue;
        p->until = stretch;
        p->in_memory |= inside || !is_elementwise(op);
    }
    for (uint32_t k = 0; k < op->n_regions; k++)
        for (const ir_op *o = op->regions[k].block ? op->regions[k].block->first : NULL; o; o = o->next)
            note_reads(r, o, stretch, true);
}

static size_t number_ops(recompute *r) {
    size_t n = 0;
    for (ir_op *op = r->block->first; op; op = op->next, n++)
        for (uint32_t i = 0; i < op->n_out; i++) op->out[i].mark = r->epoch | n;
    return n;
}

static void find_waits(recompute *r) {
    uint32_t stretch = 0, k = 0;
    for (const ir_op *op = r->block->first; op; op = op->next, k++) {
        stretch += is_product(op);
        r->places[k].stretch = r->places[k].until = stretch;
        note_reads(r, op, stretch, false);
    }
}

/* --- what can be computed again --- */
static bool is_made_of_nothing(const ir_value *v) {
    while (v->def && (v->def->code == OP_broadcast_in_dim || v->def->code == OP_reshape)) v = v->def->in[0];
    const ir_literal *l = v->def && v->def->code == OP_constant ? ir_get_literal(v->def) : NULL;
    return v->type->count == 1 || (v->def && v->def->code == OP_iota) || (l && l->splat);
}

/* A loop reads a broadcast array where the smaller one is. */
static const ir_value *what_is_read(const ir_value *v) {
    return v->def && v->def->code == OP_broadcast_in_dim ? v->def->in[0] : v;
}

/* True when v is at hand in the stretch `until`, for computing `whole` again there. */
static bool is_at_hand(const recompute *r, const ir_value *v, const ir_value *whole, uint32_t until) {
    if (is_made_of_nothing(v)) return true;
    v = what_is_read(v);
    const place *p = place_of(r, v);
    if (!p) return false;
    if (v->type->count <= whole->type->count / SMALL) return true;
    return !p->again && p->until >= until && xt_dtype_size(v->type->dtype) <= xt_dtype_size(whole->type->dtype);
}

static bool follows(const recompute *r, const ir_value *v, const ir_value *whole, const place *of, int *ops) {
    const ir_op *op = v->def;
    if (++*ops > MOST_OPS || v->type->count != whole->type->count) return false;
    for (uint32_t i = 0; i < op->n_in; i++) {
        const ir_value *in = op->in[i];
        if (is_at_hand(r, in, whole, of->until)) continue;
        const place *p = place_of(r, in);
        if (!p || p->stretch != of->stretch || !is_elementwise(in->def) || !follows(r, in, whole, of, ops))
            return false;
    }
    return true;
}

static bool choose(recompute *r) {
    bool any = false;
    uint32_t k = 0;
    for (const ir_op *op = r->block->first; op; op = op->next, k++) {
        place *p = &r->places[k];
        const ir_type *t = op->n_out == 1 ? op->out[0].type : NULL;
        int ops = 0;
        if (p->until == p->stretch || p->in_memory || !is_elementwise(op) || !ir_dtype_is_float(t->dtype) ||
            ir_type_bytes(t) < LARGE)
            continue;
        p->again = follows(r, &op->out[0], &op->out[0], p, &ops);
        any |= p->again;
    }
    return any;
}

/* --- computing it again --- */
/* What v is to a loop before `reader`, in a later stretch; `whole` is what is computed again there. */
static ir_value *made_again(recompute *r, ir_value *v, const ir_value *whole, uint32_t until, ir_op *reader,
                            uint32_t stretch) {
    place *p = place_of(r, v);
    if (!p || (v != whole && is_at_hand(r, v, whole, until))) return v;
    if (p->copy && p->made_in == stretch) return p->copy;
    ir_op *op = v->def;
    ir_value *in[3];
    for (uint32_t i = 0; i < op->n_in; i++)
        if (!(in[i] = made_again(r, op->in[i], whole, until, reader, stretch))) return NULL;
    ir_builder b = ir_before(r->m, reader);
    b.src = op->src;
    b.path = op->path;
    ir_op *copy = ir_build(&b, op->code, op->n_in, in, op->n_attrs, op->attrs, 0, NULL, 1, &v->type);
    if (!copy) {
        r->status = b.status;
        return NULL;
    }
    p->made_in = stretch;
    return p->copy = &copy->out[0];
}

static void rewrite(recompute *r) {
    uint32_t stretch = 0;
    for (ir_op *op = r->block->first; op && !r->status; op = op->next) {
        stretch += is_product(op);
        for (uint32_t i = 0; i < op->n_in && !r->status; i++) {
            place *p = place_of(r, op->in[i]);
            if (!p || !p->again || p->stretch == stretch) continue;
            ir_value *v = made_again(r, op->in[i], op->in[i], p->until, op, stretch);
            if (v) ir_set_operand(op, i, v);
        }
    }
}

static xt_status recompute_block(pass_ctx *c, ir_module *m, ir_block *block) {
    recompute r = {.m = m, .block = block, .epoch = ir_new_epoch()};
    r.places = base_calloc(number_ops(&r) + 1, sizeof *r.places);
    if (!r.places) return status_oom(sizeof *r.places, "computing values again");
    find_waits(&r);
    if (choose(&r)) {
        rewrite(&r);
        c->changed = true;
    }
    base_free(r.places);
    return r.status;
}

xt_status pass_opt_recompute(pass_ctx *c, ir_module *m) {
    for (ir_func *f = m->funcs; f; f = f->next)
        if (f->body) XT_TRY(recompute_block(c, m, f->body));
    return NULL;
}
