/* Running totals recorded as log2(n) doubling steps (Hillis and Steele 1986: after step k each element holds what the
 * 2^k elements up to it combine to) become one reduce_window over all that lies before, which the CPU's scan kernel
 * reads once. The steps are of the form op(pad(slice(y)), y), the same axis and direction, distances 1, 2, 4, ... in
 * any order: each element then meets each of its predecessors once. */
#include "pass/rewrite.h"

typedef struct chain {
    ir_opcode code;
    int64_t axis, n;
    bool reverse;
    uint64_t distances;
    const ir_value *fill;
} chain;

static bool is_fold(ir_opcode c) {
    return c == OP_add || c == OP_multiply || c == OP_maximum || c == OP_minimum;
}

/* `v` is y moved along one axis, `fill` coming in; the distance, or 0. */
static int64_t moved_by(const ir_value *v, const ir_value *y, int64_t *axis, bool *reverse, const ir_value **fill) {
    const ir_op *pad = v->def, *cut = pad && pad->code == OP_pad ? pad->in[0]->def : NULL;
    size_t n;
    if (!cut || cut->code != OP_slice || cut->in[0] != y || v->type != y->type) return 0;
    const int64_t *low = ir_get_ints(pad, IR_A_edge_padding_low, &n),
                  *high = ir_get_ints(pad, IR_A_edge_padding_high, &n);
    const int64_t *interior = ir_get_ints(pad, IR_A_interior_padding, &n),
                  *start = ir_get_ints(cut, IR_A_start_indices, &n);
    const int64_t *limit = ir_get_ints(cut, IR_A_limit_indices, &n), *stride = ir_get_ints(cut, IR_A_strides, &n);
    int64_t by = 0;
    for (uint32_t d = 0; d < y->type->rank; d++) {
        if (interior[d] || (stride && stride[d] != 1)) return 0;
        if (!low[d] && !high[d]) continue;
        bool forward = low[d] > 0 && high[d] == 0 && start[d] == 0,
             back = high[d] > 0 && low[d] == 0 && limit[d] == y->type->dims[d];
        if (by || (!forward && !back)) return 0;
        by = low[d] + high[d];
        *axis = d;
        *reverse = back;
    }
    *fill = pad->in[1];
    return by;
}

/* True when `fill` changes nothing that it is combined with. */
static bool is_identity(ir_opcode code, const ir_value *fill) {
    pass_literal l;
    xt_dtype t = fill->type->dtype;
    if (!pass_constant(fill, &l) || !l.splat || (t != XT_F32 && t != XT_F64 && t != XT_I32 && t != XT_I64))
        return false;
    double v = t == XT_F32 ? (double)*(const float *)l.lit->data : t == XT_F64 ? *(const double *)l.lit->data : 0;
    int64_t i = t == XT_I32 ? *(const int32_t *)l.lit->data : t == XT_I64 ? *(const int64_t *)l.lit->data : 0;
    bool floats = ir_dtype_is_float(t);
    int64_t least = t == XT_I32 ? INT32_MIN : INT64_MIN, most = t == XT_I32 ? INT32_MAX : INT64_MAX;
    switch ((int)code) {
    case OP_add: return floats ? v == 0 : i == 0;
    case OP_multiply: return floats ? v == 1 : i == 1;
    case OP_maximum: return floats ? v == -__builtin_inf() : i == least;
    default: return floats ? v == __builtin_inf() : i == most;
    }
}

/* The value that the chain of steps ending in `op` starts from; NULL when it is none. */
static const ir_value *start_of(const ir_op *op, chain *c) {
    const ir_value *v = &op->out[0];
    *c = (chain){.code = op->code};
    for (;;) {
        const ir_op *step = v->def;
        int64_t axis = 0, by = 0;
        bool reverse = false;
        const ir_value *fill, *y = NULL;
        for (int k = 0; k < 2 && step && step->code == c->code && !by; k++) {
            y = step->in[1 - k];
            by = moved_by(step->in[k], y, &axis, &reverse, &fill);
        }
        if (!by || (by & (by - 1)) || (c->distances & (uint64_t)by) || !is_identity(c->code, fill)) break;
        if (c->distances && (axis != c->axis || reverse != c->reverse)) break;
        c->axis = axis, c->reverse = reverse, c->fill = fill;
        c->n = v->type->dims[axis];
        c->distances |= (uint64_t)by;
        v = y;
    }
    uint64_t all = c->distances + 1; /* a power of two when no distance is missing */
    return c->distances && (all & c->distances) == 0 && (int64_t)all >= c->n ? v : NULL;
}

static xt_status visit(rewriter *r, pass_ctx *ctx, ir_op *op, void *module) {
    chain c;
    if (!is_fold(op->code) || op->out[0].type->kind != IR_TENSOR || op->out[0].type->count <= 0) return NULL;
    const ir_value *x = start_of(op, &c);
    if (!x || c.n < 8) return NULL;
    int64_t window[IR_MAX_RANK], low[IR_MAX_RANK] = {0}, high[IR_MAX_RANK] = {0};
    for (uint32_t d = 0; d < x->type->rank; d++) window[d] = 1;
    window[c.axis] = c.n;
    (c.reverse ? high : low)[c.axis] = c.n - 1;
    ir_builder b = ir_before(module, op);
    b.src = op->src;
    b.path = op->path;
    ir_value *made = ir_reduce_window(&b, c.code, (ir_value *)(uintptr_t)x, window, NULL, low, high, NULL, NULL);
    if (!made) return b.status;
    if (!rewrite_value(r, &op->out[0], made)) return status_oom(sizeof *made, "a pass");
    ctx->changed = true;
    return NULL;
}

xt_status pass_opt_scan(pass_ctx *c, ir_module *m) {
    rewriter r = REWRITER_INIT;
    xt_status s = rewrite_module(&r, c, m, visit, m);
    rewriter_deinit(&r);
    return s;
}
