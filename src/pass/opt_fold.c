/* needs: nothing. keeps: meaning as the reference interpreter computes it. Computes what depends on small
 * constants only. A result of more than a few elements is kept only when all its elements are equal, so folding
 * never makes a program's text much longer. Loops, calls and random numbers are left alone: their cost or their
 * point is in running. */
#include "pass/rewrite.h"

#include "ir/interp.h"

enum { MOST_ELEMENTS = 64, MOST_COMPUTED = 4096, MOST_OPERANDS = 16 };

static bool may_fold(const ir_op *op) {
    switch (op->code) {
    case OP_constant:
    case OP_iota:
    case OP_while:
    case OP_optimization_barrier:
    case OP_rng_bit_generator: return false;
    case OP_scatter:
        return false; /* devices drop a window that is partly outside, as XLA does; the interpreter, as the
                         specification says, its elements outside */
    case OP_if:
    case OP_case: return false; /* their regions may read values from outside */
    default: break;
    }
    if (!op->n_out || op->n_in == 0 || op->n_in > MOST_OPERANDS || op->n_out > MOST_OPERANDS || !ir_op_is_pure(op))
        return false;
    const ir_op_info *info = &ir_op_infos[op->code];
    if (info->cls == IR_CLASS_COLLECTIVE || info->cls == IR_CLASS_CONTROL || strcmp(info->dialect, "stablehlo") != 0)
        return false;
    for (uint32_t i = 0; i < op->n_out; i++) {
        const ir_type *t = op->out[i].type;
        if (t->kind != IR_TENSOR || t->count < 0 || t->count > MOST_COMPUTED) return false;
    }
    return true;
}

static xt_status load(const ir_literal *lit, const ir_type *t, array *out) {
    size_t size = xt_dtype_size(t->dtype);
    XT_TRY(array_new(t, out));
    if (!lit->splat) memcpy(out->data, lit->data, (size_t)t->count * size);
    for (int64_t i = 0; lit->splat && i < t->count; i++) memcpy((char *)out->data + (size_t)i * size, lit->data, size);
    return NULL;
}

static bool uniform(const array *a) {
    size_t size = xt_dtype_size(a->type->dtype);
    return a->type->count > 0 && memcmp(a->data, (char *)a->data + size, ((size_t)a->type->count - 1) * size) == 0;
}

/* The results as constants before the op; one that would be long stays computed, and then so do all. */
static xt_status replace(rewriter *r, pass_ctx *c, ir_module *m, ir_op *op, const array *out) {
    for (uint32_t i = 0; i < op->n_out; i++)
        if (out[i].type->count > MOST_ELEMENTS && !uniform(&out[i])) return NULL;
    ir_builder b = ir_before(m, op);
    b.src = op->src;
    b.path = op->path;
    for (uint32_t i = 0; i < op->n_out; i++) {
        ir_attr value = ir_attr_dense(&b, IR_A_value, out[i].type, out[i].data, uniform(&out[i]));
        ir_op *made = ir_build(&b, OP_constant, 0, NULL, 1, &value, 0, NULL, 0, NULL);
        if (!made) return b.status;
        if (!rewrite_value(r, &op->out[i], &made->out[0])) return status_oom(sizeof *made, "constant folding");
    }
    c->changed = true;
    return NULL;
}

static xt_status visit(rewriter *r, pass_ctx *c, ir_op *op, void *module) {
    array in[MOST_OPERANDS] = {0}, out[MOST_OPERANDS] = {0};
    const ir_literal *lits[MOST_OPERANDS];
    xt_status s = NULL;
    if (!may_fold(op)) return NULL;
    uint32_t used = 0;
    for (uint32_t i = 0; i < op->n_out; i++) used += op->out[i].uses;
    if (!used) return NULL;
    for (uint32_t i = 0; i < op->n_in; i++) {
        const ir_op *d = op->in[i]->def;
        lits[i] = d && d->code == OP_constant ? ir_get_literal(d) : NULL;
        if (!lits[i] || lits[i]->type->count > MOST_COMPUTED) return NULL;
    }
    for (uint32_t i = 0; !s && i < op->n_in; i++) s = load(lits[i], lits[i]->type, &in[i]);
    for (uint32_t i = 0; !s && i < op->n_out; i++) s = array_new(op->out[i].type, &out[i]);
    if (!s) {
        xt_status refused = interp_op(module, op, NULL, in, out, NULL, NULL);
        if (!refused) s = replace(r, c, module, op, out);
        xt_status_free(refused); /* what cannot be computed here will say so when it runs */
    }
    for (uint32_t i = 0; i < MOST_OPERANDS; i++) array_free(&in[i]), array_free(&out[i]);
    return s;
}

xt_status pass_opt_fold(pass_ctx *c, ir_module *m) {
    rewriter r = REWRITER_INIT;
    xt_status s = rewrite_module(&r, c, m, visit, m);
    rewriter_deinit(&r);
    return s;
}
