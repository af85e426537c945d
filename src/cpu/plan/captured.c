/* See captured.h. */
#include "cpu/plan/captured.h"

static bool defined_inside(const ir_value *v, const ir_op *op) {
    for (const ir_block *b = v->block; b; b = b->owner ? b->owner->block : NULL)
        if (b->owner == op) return true;
    return false;
}
/* Each value used inside `r` that is defined outside of `op`. */
static bool capture_region(const ir_region *r, const ir_op *op, captured *c) {
    if (!r->block) return true;
    for (const ir_op *o = r->block->first; o; o = o->next) {
        for (uint32_t i = 0; i < o->n_in; i++) {
            const ir_value *v = o->in[i];
            bool known = defined_inside(v, op);
            for (size_t k = 0; k < c->n && !known; k++) known = c->values[k] == v;
            if (!known && !VEC_PUSH(c->values, c->n, c->cap, v)) return false;
        }
        for (uint32_t k = 0; k < o->n_regions; k++)
            if (!capture_region(&o->regions[k], op, c)) return false;
    }
    return true;
}

bool captured_collect(const ir_op *op, captured *c) {
    for (uint32_t k = 0; k < op->n_regions; k++)
        if (!capture_region(&op->regions[k], op, c)) return false;
    return true;
}
