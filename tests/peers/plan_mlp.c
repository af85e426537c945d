/* The network of plan_jax.py, to be planned: xtrain plan --topology v5e:2x2 -- ./plan_mlp */
#include <xtrain/xtrain.h>

static xt_tensor mlp(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    for (int i = 0; i < 3; i++) x = xt_relu(xt_linear(xt_sub(m, "layer", i), "fc", x, 512));
    return xt_linear(m, "out", x, 10);
}

int main(void) {
    xt_module *net = xt_module_new(mlp, NULL);
    xt_optimizer *adam = xt_adam(net, .lr = 1e-3);
    xt_loader *loader = xt_sample_loader(.batch = 65536, .count = 2, .x = {XT_F32, {256}}, .y = {XT_I64});
    for (xt_batch b; xt_next(loader, &b);) {
        xt_backward(xt_cross_entropy(xt_forward(net, b.x), b.y));
        xt_optimizer_step(adam);
    }
    return xt_finish();
}
