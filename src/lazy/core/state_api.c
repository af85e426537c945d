/* States of the user's own: the same slots that parameters and batch-norm statistics live in. */
#include "lazy/core/ctx.h"

xt_tensor xt_state_at(const xt_src *src, const char *name, xt_dtype dtype, const int64_t *dims) {
    int rank = 0;
    while (rank < XT_MAX_RANK && dims[rank]) rank++;
    if (!lazy_dims_fit(src, "xt_state", rank, dims)) return lazy_failed_tensor(src);
    return lazy_state_new(src, LAZY_BUFFER, name ? name : "state", dtype, rank, dims, NULL);
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
    lazy_assign(state, value);
}
