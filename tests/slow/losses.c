/* 40 training steps of the MNIST network on drawn digits: what the plugin tests compare between devices.
 *   losses DTYPE            f32 or f64; prints "step loss", to 13 digits
 *   losses DTYPE save DIR   the same, and leaves the state before each step and after the last in DIR, the optimizer's
 *                           too
 *   losses DTYPE from DIR   starts every step from DIR's state, and prints "step loss difference": the largest
 *                           difference of the network's state after the step from DIR's, as a share of that tensor's
 *                           largest element. Nothing can drift over steps here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xtrain/xtrain.h>

static xt_dtype dtype = XT_F32;

static xt_tensor mnist_net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_cast(x, dtype);
    x = xt_relu(xt_max_pool2d(xt_conv2d(m, "conv1", x, 10, 5), 2));
    x = xt_batch_norm(m, "bn1", x);
    x = xt_relu(xt_max_pool2d(xt_conv2d(m, "conv2", x, 20, 5), 2));
    x = xt_batch_norm(m, "bn2", x);
    x = xt_relu(xt_linear(m, "fc1", xt_flatten(x, 1), 50));
    return xt_log_softmax(xt_linear(m, "fc2", x, 10), 1);
}

static void put(void *user, const void *data, size_t bytes, xt_dtype of) {
    (void)bytes;
    printf("%d %.13g\n", (int)(intptr_t)user, of == XT_F64 ? *(const double *)data : (double)*(const float *)data);
}

enum { TENSORS = 32, MOST = 20000 };
static double states[2][TENSORS][MOST];
static float singles[MOST];

static int told(xt_status s) {
    if (s) fprintf(stderr, "%s\n", xt_status_message(s));
    return s != NULL;
}

static int file_step(xt_module *net, xt_optimizer *opt, const char *dir, int64_t step, int load) {
    char of_net[512], of_opt[512];
    snprintf(of_net, sizeof of_net, "%s/%d.safetensors", dir, (int)step);
    snprintf(of_opt, sizeof of_opt, "%s/%d.sgd", dir, (int)step);
    return told(load ? xt_load(net, of_net) : xt_save(net, of_net)) ||
           told(load ? xt_optimizer_load(opt, of_opt) : xt_optimizer_save(opt, of_opt));
}

static int64_t elements(xt_tensor t) {
    return xt_dtype_of(t) == dtype && xt_numel(t) <= MOST ? xt_numel(t) : 0;
}

static void read_state(xt_module *net, double state[TENSORS][MOST]) {
    for (int i = 0; i < xt_module_tensors(net); i++) {
        xt_tensor t = xt_module_tensor(net, i);
        int64_t n = elements(t);
        if (n && dtype == XT_F64) xt_read(t, state[i], (size_t)n * sizeof(double));
        if (n && dtype == XT_F32) xt_read(t, singles, (size_t)n * sizeof(float));
        for (int64_t e = 0; dtype == XT_F32 && e < n; e++) state[i][e] = (double)singles[e];
    }
}

static double difference(const xt_module *net) {
    double worst = 0;
    for (int i = 0; i < xt_module_tensors(net); i++) {
        double most = 0, apart = 0;
        for (int64_t e = 0, n = elements(xt_module_tensor(net, i)); e < n; e++) {
            most = fmax(most, fabs(states[1][i][e]));
            apart = fmax(apart, fabs(states[0][i][e] - states[1][i][e]));
        }
        if (most > 0) worst = fmax(worst, apart / most);
    }
    return worst;
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    if (!strcmp(argv[1], "f64")) dtype = XT_F64;
    const char *dir = argc > 3 ? argv[3] : NULL;
    int save = dir && !strcmp(argv[2], "save"), from = dir && !strcmp(argv[2], "from");
    xt_module *net = xt_module_new(mnist_net, NULL);
    xt_optimizer *sgd = xt_sgd(net, .lr = 0.01, .momentum = 0.5);
    xt_loader *loader = xt_loader_new(xt_drawn_digits(5120, 1), .batch = 128, .shuffle = XT_ON);
    if (xt_module_build(net, (xt_spec){XT_F32, {128, 1, 28, 28}})) return 1;
    if ((save || from) && file_step(net, sgd, dir, 0, from)) return 1;
    for (xt_batch b; xt_next(loader, &b);) {
        xt_tensor loss = xt_nll_loss(xt_forward(net, b.x), b.y);
        xt_backward(loss);
        xt_optimizer_step(sgd);
        if (!from) {
            xt_when_ready(loss, put, (void *)(intptr_t)b.index);
            if (save && (!xt_mark_step() || file_step(net, sgd, dir, b.index + 1, 0))) return 1;
            continue;
        }
        xt_keep(loss);
        if (!xt_mark_step()) break;
        read_state(net, states[0]);
        if (file_step(net, sgd, dir, b.index + 1, 1)) return 1;
        read_state(net, states[1]);
        printf("%d %.13g %.3g\n", (int)b.index, xt_item(loss), difference(net));
        xt_drop(loss);
    }
    return xt_finish();
}
