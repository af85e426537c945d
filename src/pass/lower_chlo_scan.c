/* chlo.scan as a loop: the state is a counter, the carries, and the outputs so far. */
#include "pass/lower_chlo_int.h"

enum { MOST = 32 }; /* inputs, outputs and carries of one scan */

typedef struct scan {
    const ir_op *op;
    size_t n, carries, outputs; /* inputs, ... */
    int64_t dim, size;
} scan;

static value number(ir_builder *b, double v) {
    return ir_splat(b, ir_scalar(XT_I64), v);
}

/* Positions of a box that is one place of the scanned dim: zeros, and `at` there. */
static void starts(ir_builder *b, const scan *s, size_t rank, value at, value *out) {
    for (size_t d = 0; d < rank; d++) out[d] = (int64_t)d == s->dim ? at : number(b, 0);
}

/* One pass through the computation: `in` is the counter, carries and outputs; out the same afterwards. */
static bool step(ir_builder *b, const scan *s, value *in, value *out) {
    value at = in[0], args[2 * MOST], results[2 * MOST], where[IR_MAX_RANK];
    int64_t sizes[IR_MAX_RANK];
    if (ir_get_bool(s->op, IR_A_is_reverse, false)) at = ir_subtract(b, number(b, (double)(s->size - 1)), at);
    for (size_t i = 0; i < s->n; i++) {
        const ir_type *t = s->op->in[i]->type, *part = s->op->regions[0].block->args[i]->type;
        for (uint32_t d = 0; d < t->rank; d++) sizes[d] = (int64_t)d == s->dim ? 1 : t->dims[d];
        starts(b, s, t->rank, at, where);
        args[i] = ir_reshape(b, ir_dynamic_slice(b, s->op->in[i], t->rank, where, sizes), part->rank, part->dims);
    }
    for (size_t i = 0; i < s->carries; i++) args[s->n + i] = in[1 + i];
    /* stands for the computation until its ops are here */
    ir_attr target = ir_attr_string(b, IR_A_call_target_name, "scan");
    ir_op *call = ir_build(b, OP_custom_call, s->n + s->carries, args, 1, &target, 0, NULL, 0, NULL);
    if (!call) return false;
    b->status = ir_inline_body(b->m, s->op->regions[0].block, call, results);
    if (b->status) return false;
    ir_erase(call);
    out[0] = ir_add(b, in[0], number(b, 1));
    for (size_t i = 0; i < s->carries; i++) out[1 + i] = results[s->outputs + i];
    for (size_t i = 0; i < s->outputs; i++) {
        const ir_type *t = s->op->out[i].type;
        for (uint32_t d = 0; d < t->rank; d++) sizes[d] = (int64_t)d == s->dim ? 1 : t->dims[d];
        starts(b, s, t->rank, at, where);
        out[1 + s->carries + i] = ir_dynamic_update_slice(b, in[1 + s->carries + i],
                                                          ir_reshape(b, results[i], t->rank, sizes), t->rank, where);
    }
    return !b->status;
}

static ir_block *region(ir_builder *b, const scan *s, size_t n, value *init, bool body) {
    ir_block *block = ir_block_new(b->m);
    value in[2 * MOST + 1], out[2 * MOST + 1];
    ir_builder inner = ir_at_end(b->m, block);
    inner.src = b->src;
    inner.path = b->path;
    for (size_t i = 0; block && i < n; i++)
        if (!(in[i] = ir_block_arg(b->m, block, init[i]->type))) block = NULL;
    if (!block) {
        b->status = status_oom(sizeof *block, "a loop");
        return NULL;
    }
    if (!body)
        out[0] = ir_compare(&inner, IR_LT, in[0], number(&inner, (double)s->size));
    else
        step(&inner, s, in, out);
    if (!inner.status) ir_return(&inner, body ? n : 1, out);
    b->status = inner.status;
    return b->status ? NULL : block;
}

bool chlo_scan(ir_builder *b, const ir_op *op, value *out) {
    size_t n_seg;
    const int64_t *segments = ir_get_ints(op, IR_A_operandSegmentSizes, &n_seg);
    scan s = {
        .op = op, .n = (size_t)segments[0], .carries = (size_t)segments[1], .dim = ir_get_int(op, IR_A_dimension, 0)};
    s.outputs = op->n_out - s.carries;
    value state[2 * MOST + 1];
    if (op->n_in > MOST || op->n_out > MOST) {
        b->status = status_new(XT_UNIMPLEMENTED, NULL, "a scan of more than %d operands or results", MOST);
        return false;
    }
    s.size = s.n ? op->in[0]->type->dims[s.dim] : ir_get_int(op, IR_A_scan_dim_size, 0);
    size_t n = 0;
    state[n++] = number(b, 0);
    for (size_t i = 0; i < s.carries; i++) state[n++] = op->in[s.n + i];
    for (size_t i = 0; i < s.outputs; i++) state[n++] = ir_splat(b, op->out[i].type, 0);
    for (size_t i = 0; i < n; i++)
        if (!state[i]) return false;
    if (s.size == 0) { /* no place could be cut out of the inputs: the carries are what they began with */
        for (size_t i = 0; i < s.outputs; i++) out[i] = state[1 + s.carries + i];
        for (size_t i = 0; i < s.carries; i++) out[s.outputs + i] = state[1 + i];
        return true;
    }
    ir_block *regions[2] = {region(b, &s, n, state, false), NULL};
    if (regions[0]) regions[1] = region(b, &s, n, state, true);
    ir_op *loop = regions[1] ? ir_build(b, OP_while, n, state, 0, NULL, 2, regions, 0, NULL) : NULL;
    for (size_t i = 0; loop && i < s.outputs; i++) out[i] = &loop->out[1 + s.carries + i];
    for (size_t i = 0; loop && i < s.carries; i++) out[s.outputs + i] = &loop->out[1 + i];
    return loop != NULL;
}
