/* Derivatives of collectives and of what says how values lie over devices: every member's loss counts, so the cotangent of a sum over members is the sum of their cotangents. */
#include "grad/grad_int.h"
#include "ir/sharding.h"

xt_status grad_all_reduce(grad_call *c) {
    const ir_op *op = c->op;
    if (grad_region_op(op, 0) != OP_add) return grad_refuse(c, "only sums over ranks have one");
    ir_value **d;
    XT_TRY(grad_values(c, op->n_in, &d));
    size_t n = 0;
    for (size_t i = 0; i < op->n_in; i++)
        if (c->want[i] && c->d_out[i]) d[n++] = c->d_out[i];
    if (n == 0) return NULL;
    ir_op *sum = grad_clone(c, n, d, 0, NULL);
    if (!sum) return c->b->status ? NULL : grad_refuse(c, "its computation could not be copied");
    n = 0;
    for (size_t i = 0; i < op->n_in; i++)
        if (c->want[i] && c->d_out[i]) c->d_in[i] = &sum->out[n++];
    return NULL;
}

/* A cotangent lies as its value does. */
xt_status grad_custom_call(grad_call *c) {
    if (!ir_is_sharding(c->op)) return grad_refuse(c, "only its author knows what it computes");
    c->d_in[0] = ir_annotate_sharding(c->b, c->d_out[0], ir_sharding_text(c->op->n_attrs, c->op->attrs));
    return NULL;
}
