/* Activation checkpointing as a call around a block. The trace remembers which ops the block recorded; src/grad
 * computes them again. */
#include "nn/nn.h"

xt_tensor xt_checkpoint_block_at(const xt_src *src, xt_module_fn fn, xt_module *m, xt_tensor x, void *user) {
    if (!fn) return lazy_error(src, XT_INVALID_ARGUMENT, "xt_checkpoint_block: the function is NULL");
    lazy_block block = lazy_block_begin();
    xt_tensor y = fn(m, x, user);
    lazy_block_end(block);
    return y;
}
