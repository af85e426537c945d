/* A deep net whose activations fill the memory. ./too_big 0: as it is; ./too_big 1: its blocks are computed again in
 * the backward pass. */
#include <stdio.h>
#include <stdlib.h>

#include <xtrain/xtrain.h>

enum { WIDTH = 256, BLOCKS = 16, BATCH = 2048 };

static xt_tensor block(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    xt_tensor h = xt_gelu(xt_linear(m, "up", xt_layer_norm(m, "ln", x), WIDTH));
    return xt_add(x, xt_linear(m, "down", h, WIDTH));
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    const int *checkpoint = user;
    for (int i = 0; i < BLOCKS; i++) {
        xt_module *h = xt_sub(m, "h", i);
        x = *checkpoint ? xt_checkpoint_block(block, h, x, NULL) : block(h, x, NULL);
    }
    return xt_linear(m, "head", x, 10);
}

int main(int argc, char **argv) {
    int checkpoint = argc > 1 && atoi(argv[1]);
    xt_module *m = xt_module_new(net, &checkpoint);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.01);
    xt_loader *samples = xt_sample_loader(.batch = BATCH, .count = 3, .x = {XT_F32, {WIDTH}}, .y = {XT_I64});
    for (xt_batch b; xt_next(samples, &b);) {
        xt_backward(xt_cross_entropy(xt_forward(m, b.x), b.y));
        xt_optimizer_step(sgd);
    }
    int failed = xt_finish();
    printf("peak of device memory: %.1f MiB\n", (double)xt_counter("device_peak_bytes") / 1048576);
    return failed;
}
