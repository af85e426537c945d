/* Ranks of which one leaves or goes wrong in step 5, one way a mode; the others train on. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xtrain/xtrain.h>

enum { STEPS = 20000 };
static const char *mode;
static bool is(const char *name) {
    return strcmp(mode, name) == 0;
}
static xt_tensor net_fn(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc2", xt_relu(xt_linear(m, "fc1", x, 16)), 1);
}

static void go_wrong(int s) {
    if (is("exit") && s == 5) exit(0);
    if (is("_exit") && s == 5) _exit(0);
    if (is("signal") && s == 5) raise(SIGUSR2);
    if (is("crash") && s == 5) abort();
    if (is("error") && s == 5) xt_matmul(xt_ones(XT_F32, 2, 3), xt_ones(XT_F32, 2, 3)); /* the wrong shape */
}

static int train(int rank, void *arg) {
    (void)arg;
    bool other = rank == 1;
    int n = is("short") && other ? 7 : is("alone") ? 10 + 40 * rank : is("fine") ? 30 : STEPS;
    static float x[16][8], y[16][1];
    xt_module *net = xt_module_new(net_fn, NULL);
    xt_optimizer *sgd = xt_sgd(net, .lr = 0.01);
    for (int s = 0; s < n; s++) {
        if (other) go_wrong(s);
        if (is("early") && other && s == 5) return 0;
        if (is("code") && other && s == 5) return 7;
        xt_tensor loss = xt_mse_loss(xt_forward(net, xt_from_array(x, XT_F32, 16, 8)), xt_from_array(y, XT_F32, 16, 1));
        if (is("alone")) { /* no exchange: ranks may end when they like */
            xt_when_ready(loss, NULL, NULL);
        } else {
            xt_backward(loss);
            xt_optimizer_step(sgd);
        }
        if (is("item") && s % 2) xt_item(loss);
        if (is("item") && other && s == 5) _exit(0);
        xt_mark_step(); /* the end of a step */
        if (s == 1000) fprintf(stderr, "alive at step 1000\n");
    }
    if (is("alone") && !other) xt_wait();
    return xt_finish();
}

int main(int argc, char **argv) {
    mode = argc > 1 ? argv[1] : "fine";
    return xt_launch(train, NULL);
}
