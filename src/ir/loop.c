/* What can be read from a loop without running it: values that are the same number in every iteration, and how often
 * it runs when a counter goes from a constant by a constant to a constant, which is what for loops, scans and
 * fori_loop become. */
#include "ir/interp.h"

#include <math.h>

bool ir_is_constant(const ir_value *v, double *out) {
    while (v->def && (v->def->code == OP_broadcast_in_dim || v->def->code == OP_reshape || v->def->code == OP_convert))
        v = v->def->in[0];
    if (!v->def || v->def->code != OP_constant) return false;
    const ir_literal *lit = ir_get_literal(v->def);
    if (!lit) return false;
    if (out) {
        array a = {lit->type, (void *)lit->data};
        *out = (lit->splat || lit->type->count == 1) && !ir_dtype_is_complex(lit->type->dtype) ? array_get(&a, 0) : NAN;
    }
    return true;
}

bool ir_loop_constant(const ir_op *loop, const ir_value *v, double *out) {
    if (!v->def && (v->block == loop->regions[0].block || v->block == loop->regions[1].block)) {
        const ir_block *body = loop->regions[1].block;
        if (ir_block_return(body)->in[v->index] != body->args[v->index]) return false;
        v = loop->in[v->index];
    }
    return v->type->count == 1 && ir_is_constant(v, out);
}

/* ceil((limit - first) / step) when the condition is `counter < limit` or one of its relatives. */
int64_t ir_trip_count(const ir_op *loop) {
    const ir_block *cond = loop->regions[0].block, *body = loop->regions[1].block;
    const ir_op *until = ir_block_return(cond)->in[0]->def;
    double first, step, limit;
    if (!until || until->code != OP_compare) return -1;
    ir_cmp_dir dir = (ir_cmp_dir)ir_get_int(until, IR_A_comparison_direction, -1);
    const ir_value *running = until->in[0], *bound = until->in[1];
    if (running->def || running->block != cond || ir_loop_constant(loop, running, &limit)) { /* limit > counter */
        static const ir_cmp_dir turned[] = {
            [IR_EQ] = IR_EQ, [IR_NE] = IR_NE, [IR_GE] = IR_LE, [IR_GT] = IR_LT, [IR_LE] = IR_GE, [IR_LT] = IR_GT};
        running = until->in[1];
        bound = until->in[0];
        dir = turned[dir];
    }
    if (running->def || running->block != cond || !ir_dtype_is_int(running->type->dtype) || running->type->count != 1)
        return -1;
    const ir_op *next = ir_block_return(body)->in[running->index]->def;
    const ir_value *before = body->args[running->index];
    if (!next || (next->code != OP_add && next->code != OP_subtract)) return -1;
    bool left = next->in[0] == before;
    if (!left && (next->in[1] != before || next->code != OP_add)) return -1;
    if (!ir_loop_constant(loop, next->in[left], &step) || !ir_loop_constant(loop, bound, &limit)) return -1;
    if (!ir_is_constant(loop->in[running->index], &first)) return -1;
    if (next->code == OP_subtract) step = -step;
    if (dir == IR_GT || dir == IR_GE) first = -first, step = -step, limit = -limit;
    if (dir == IR_GE || dir == IR_LE) limit += 1;
    double span = limit - first;
    if (dir == IR_NE && (step == 0 || span / step != (double)(int64_t)(span / step))) return -1;
    if (dir == IR_NE && step < 0) span = -span, step = -step;
    if (dir == IR_EQ || !(step > 0) || !(span < 1e9)) return -1;
    return span <= 0 ? 0 : (int64_t)((span + step - 1) / step);
}
