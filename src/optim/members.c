/* What an optimizer trains: the parameters of its module, and of all below it. */
#include "nn/nn.h"
#include "optim/optim.h"

bool optim_has(const xt_optimizer *o, int i) {
    return xt_module_tensor_is_param(o->net, i) && nn_below(o->net, xt_module_tensor_name(o->net, i));
}
