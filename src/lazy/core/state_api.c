/* States of the user's own: the same slots that parameters and batch-norm statistics live in. */
#include "lazy/core/ctx.h"
#include "lazy/core/unended.h"

xt_tensor xt_state_at(const xt_src *src, const char *name, xt_dtype dtype, const int64_t *dims) {
    int rank = 0;
    while (rank < XT_MAX_RANK && dims[rank]) rank++;
    if (!lazy_dims_fit(src, "xt_state", rank, dims)) return lazy_failed_tensor(src);
    return lazy_state_new(src, LAZY_BUFFER, name ? name : "state", dtype, rank, dims, NULL);
}

/* A parameter's new value is a leaf again, as behind torch's no_grad: with the way to the value before it in the graph,
 * xt_backward would add the derivative of one to that of the other. */
static xt_tensor without_history(lazy_ctx *c, xt_tensor value) {
    ir_value *v = lazy_value(value);
    ir_op *op = v ? ir_build(&c->b, OP_reshape, 1, &v, 0, NULL, 0, NULL, 1, &v->type) : NULL;
    if (!op) return value;
    lazy_no_grad_value(&op->out[0]);
    return lazy_wrap(&op->out[0], "xt_assign");
}

void xt_assign_at(const xt_src *src, xt_tensor state, xt_tensor value) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, state) : NULL;
    if (!c) return;
    lazy_begin(src);
    if (s && !s->is_state) {
        lazy_fail(
            status_new(XT_INVALID_ARGUMENT, src,
                       "xt_assign: the tensor is no state; xt_state makes one, and a module's tensors are states"));
        return;
    }
    lazy_repeats(LAZY_REPEATED_ASSIGN, c->step, state, src);
    lazy_assigned it = {state.slot, s ? s->name : 0, src_intern(src)};
    lazy_assign(state, s && s->grad_leaf ? without_history(c, value) : value);
    if (!VEC_PUSH(c->assigned, c->n_assigned, c->cap_assigned, it)) return; /* a report says less */
}
