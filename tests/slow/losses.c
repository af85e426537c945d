/* 40 training steps of the MNIST network on drawn digits: what the plugin tests compare between devices.
 *   losses                  prints "step loss", to 9 digits
 *   losses save DIR         the same, and leaves the state before each step and after the last in DIR
 *   losses from DIR         starts every step from DIR's state, and prints "step loss difference": the largest
 *                           difference of the state after the step from DIR's, as a share of that tensor's largest
 *                           element. Nothing can drift over steps here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xtrain/xtrain.h>

static xt_tensor mnist_net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_relu(xt_max_pool2d(xt_conv2d(m, "conv1", x, 10, 5), 2));
    x = xt_batch_norm(m, "bn1", x);
    x = xt_relu(xt_max_pool2d(xt_conv2d(m, "conv2", x, 20, 5), 2));
    x = xt_batch_norm(m, "bn2", x);
    x = xt_relu(xt_linear(m, "fc1", xt_flatten(x, 1), 50));
    return xt_log_softmax(xt_linear(m, "fc2", x, 10), 1);
}

static void put(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    (void)bytes;
    (void)dtype;
    printf("%d %.9g\n", (int)(intptr_t)user, (double)*(const float *)data);
}

enum { TENSORS = 32, MOST = 20000 };
static float states[2][TENSORS][MOST];

static int file_step(xt_module *net, const char *dir, int64_t step, xt_status (*does)(xt_module *, const char *)) {
    char path[512];
    snprintf(path, sizeof path, "%s/%d.safetensors", dir, (int)step);
    xt_status s = does(net, path);
    if (s) fprintf(stderr, "%s\n", xt_status_message(s));
    return s != NULL;
}

static void read_state(xt_module *net, float state[TENSORS][MOST]) {
    for (int i = 0; i < xt_module_tensors(net); i++) {
        xt_tensor t = xt_module_tensor(net, i);
        if (xt_dtype_of(t) == XT_F32 && xt_numel(t) <= MOST) xt_read(t, state[i], (size_t)xt_numel(t) * sizeof(float));
    }
}

static double difference(const xt_module *net) {
    double worst = 0;
    for (int i = 0; i < xt_module_tensors(net); i++) {
        xt_tensor t = xt_module_tensor(net, i);
        double most = 0, apart = 0;
        for (int64_t e = 0; xt_dtype_of(t) == XT_F32 && e < xt_numel(t); e++) {
            most = fmax(most, fabs((double)states[1][i][e]));
            apart = fmax(apart, fabs((double)states[0][i][e] - (double)states[1][i][e]));
        }
        if (most > 0) worst = fmax(worst, apart / most);
    }
    return worst;
}

int main(int argc, char **argv) {
    const char *dir = argc > 2 ? argv[2] : NULL;
    int save = argc > 2 && !strcmp(argv[1], "save"), from = argc > 2 && !strcmp(argv[1], "from");
    xt_module *net = xt_module_new(mnist_net, NULL);
    xt_optimizer *sgd = xt_sgd(net, .lr = 0.01, .momentum = 0.5);
    xt_loader *loader = xt_loader_new(xt_drawn_digits(5120, 1), .batch = 128, .shuffle = XT_ON);
    if (xt_module_build(net, (xt_spec){XT_F32, {128, 1, 28, 28}})) return 1;
    if (save && file_step(net, dir, 0, xt_save)) return 1;
    if (from && file_step(net, dir, 0, xt_load)) return 1;
    for (xt_batch b; xt_next(loader, &b);) {
        xt_tensor loss = xt_nll_loss(xt_forward(net, b.x), b.y);
        xt_backward(loss);
        xt_optimizer_step(sgd);
        if (!from) {
            xt_when_ready(loss, put, (void *)(intptr_t)b.index);
            if (save && (!xt_mark_step() || file_step(net, dir, b.index + 1, xt_save))) return 1;
            continue;
        }
        xt_keep(loss);
        if (!xt_mark_step()) break;
        read_state(net, states[0]);
        if (file_step(net, dir, b.index + 1, xt_load)) return 1;
        read_state(net, states[1]);
        printf("%d %.9g %.3g\n", (int)b.index, xt_item(loss), difference(net));
        xt_drop(loss);
    }
    return xt_finish();
}
