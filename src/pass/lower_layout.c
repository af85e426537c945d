/* needs: layouts chosen (lower_auto), the program partitioned. keeps: meaning; the arguments and results of main
 * that are not row-major get the type of their memory, whose dims are in the order ENTRY_LAYOUT says, and a
 * transposition each. */
#include "pass/entry_layout.h"

static xt_status lay_argument(ir_module *m, ir_func *f, ir_value *arg, const int64_t *order) {
    const ir_type *t = arg->type;
    int64_t dims[IR_MAX_RANK], back[IR_MAX_RANK];
    for (uint32_t k = 0; k < t->rank; k++) dims[k] = t->dims[order[k]], back[order[k]] = k;
    const ir_type *stored = ir_tensor(t->dtype, t->rank, dims);
    if (!stored) return status_oom(sizeof *stored, "a type");
    arg->type = stored;
    ir_builder b = ir_before(m, f->body->first);
    ir_value *x = ir_transpose(&b, arg, t->rank, back);
    if (b.status) return b.status;
    ir_replace_uses(m, arg, x);
    ir_set_operand(x->def, 0, arg);
    return NULL;
}

xt_status pass_lower_layout(pass_ctx *c, ir_module *m) {
    ir_func *f = entry_func(m);
    ir_op *ret = f ? ir_block_return(f->body) : NULL;
    if (!ret) return NULL;
    for (size_t i = 0; i < f->body->n_args; i++) {
        const int64_t *order = entry_order(entry_arg_attr(f, i, ENTRY_LAYOUT), f->body->args[i]->type);
        if (!order) continue;
        XT_TRY(lay_argument(m, f, f->body->args[i], order));
        c->changed = true;
    }
    for (size_t j = 0; j < f->n_results; j++) {
        const int64_t *order = entry_order(entry_result_attr(f, j, ENTRY_LAYOUT), f->result_types[j]);
        if (!order) continue;
        ir_builder b = ir_before(m, ret);
        ir_value *x = ir_transpose(&b, ret->in[j], f->result_types[j]->rank, order);
        if (b.status) return b.status;
        ir_set_operand(ret, j, x);
        f->result_types[j] = x->type;
        c->changed = true;
    }
    return NULL;
}
